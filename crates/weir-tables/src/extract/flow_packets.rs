//! `flow_packets(path)`: one row a packet, with the flow that it belongs to.

use weir_flow::Tracker;
use weir_packet::{Kind, Needs, Value};

use super::value::number;
use super::{Extract, Extraction, Item, ItemField, columns};
use crate::scan::Rows;
use crate::{Column, Row, Table};

/// See the module.
pub(super) const EXTRACTION: Extraction = Extraction {
    name: "flow_packets",
    doc: "one row a packet, as packets has it, with the number of its flow",
    columns: own_and_packets,
    needs: &[Needs::Transport],
    start: |settings| Box::new(FlowPackets(Tracker::new(settings.flows.clone()))),
    arguments: super::settings::FLOWS,
    aliases: &[],
};

/// The columns of the packets table behind those of its own.
fn own_and_packets() -> Vec<Column> {
    let mut all = columns(&[], OWN);
    all.extend(Table::packets().columns().iter().cloned());
    all
}

/// The flow that a packet was counted to.
struct Counted {
    id: Option<u64>,
    from_originator: Option<bool>,
}

type Get = for<'i> fn(&'i Counted) -> Option<Value<'i>>;

const OWN: &[ItemField<Get>] = &[
    ItemField::new(
        "flow.id",
        Kind::U64,
        |c| number(c.id?),
        "Number of the packet's flow, as in flows; NULL without IP, and of fragments before the last one",
        "weir",
    ),
    ItemField::new(
        "flow.from_originator",
        Kind::Bool,
        |c| c.from_originator.map(Value::Bool),
        "The flow's originator sent it, as far as was known then",
        "weir",
    ),
];

impl Item for Counted {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (OWN.get(index)?.get)(self)
    }
}

/// Counts packets to flows, and forgets flows that are over.
struct FlowPackets(Tracker);

impl Extract for FlowPackets {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let seen = self.0.packet(row.packet, |_| {});
        let item = Counted {
            id: seen.map(|seen| seen.number),
            from_originator: seen.map(|seen| seen.from_originator),
        };
        rows.push_row(&row.with_item(&item));
    }
}
