//! `flow_fragments`: one row an IP fragment, with the flow of its packet.

use std::collections::VecDeque;

use weir_flow::{FragmentOfFlow, Tracker};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::flow_packets::{FRAGMENTS_COPIED, FRAGMENTS_LOST};
use super::note::Note;
use super::value::number;
use crate::Row;
use crate::files::Files;
use crate::row::Item;
use crate::rows::Rows;

/// The extraction of this module.
pub(super) const EXTRACTION: Extraction = Extraction {
    name: "flow_fragments",
    doc: "one row per IP fragment, with the flow number of the fragmented packet",
    columns: || columns(&["frame.file"], FIELDS),
    needs: &[Needs::Transport],
    start: |settings| {
        let mut tracker = Tracker::new(settings.flows.clone());
        tracker.note_fragments();
        Box::new(FlowFragments {
            tracker,
            files: Files::default(),
            last: None,
            lost: 0,
            copied: 0,
        })
    },
    arguments: super::settings::FLOWS,
    aliases: &[],
};

struct FlowFragments {
    tracker: Tracker,
    files: Files,
    /// The fragments of packets that were not complete when the capture ended.
    last: Option<VecDeque<FragmentOfFlow>>,
    /// Fragments whose flow is not known.
    lost: u64,
    /// Copies of fragments whose packet did not come again.
    copied: u64,
}

/// A fragment with the number of its record.
struct FragmentRow {
    record: u64,
    flow: u64,
}

impl FlowFragments {
    fn count_lost(&mut self) {
        for fragment in self.tracker.take_lost_fragments() {
            let count = match fragment.is_copy {
                true => &mut self.copied,
                false => &mut self.lost,
            };
            *count = count.saturating_add(1);
        }
    }

    fn push(&self, rows: &mut Rows, fragment: FragmentOfFlow) {
        let (file, record) = self.files.place(fragment.frame);
        let flow = fragment.flow;
        push_item(rows, file, &FragmentRow { record, flow });
    }
}

impl Extract for FlowFragments {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let number = self.files.number(row.file, row.packet.frame().number);
        let packet = row.packet.with_number(number);
        self.tracker.packet(&packet, |_| {});
        self.count_lost();
        for fragment in self.tracker.take_fragments() {
            self.push(rows, fragment);
        }
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let tracker = &mut self.tracker;
        let mut last = self.last.take().unwrap_or_else(|| {
            tracker.finish(|_| {});
            tracker.take_fragments().into()
        });
        while !rows.is_full() {
            let Some(fragment) = last.pop_front() else {
                break;
            };
            self.push(rows, fragment);
        }
        let has_more = !last.is_empty();
        self.last = Some(last);
        self.count_lost();
        has_more
    }

    fn notes(&self) -> Vec<Note> {
        let counted = [(self.lost, FRAGMENTS_LOST), (self.copied, FRAGMENTS_COPIED)];
        Note::of("flow_fragments", counted).collect()
    }
}

impl Item for FragmentRow {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

type FragmentGetter = for<'i> fn(&'i FragmentRow) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<FragmentGetter>] = &[
    ItemField::new("frame.number", Kind::U64, |f| number(f.record),
        "Number of the record that the fragment came in, from 1", "weir"),
    ItemField::new("flow.id", Kind::U64, |f| number(f.flow),
        "Number of the flow of the fragmented packet, as in flows", "weir"),
];
