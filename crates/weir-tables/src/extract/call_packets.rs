//! `call_packets`: one row a packet that carries signalling or media of a call.

mod early;

use std::collections::VecDeque;

use weir_packet::{Kind, Needs, Value};
use weir_sip::Digest;

use self::early::EarlyPackets;
use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::media::{Finder, Sight};
use super::note::Note;
use super::sip::SipMessage;
use super::value::number;
use crate::Row;
use crate::files::Files;
use crate::row::Item;
use crate::rows::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "call_packets",
    doc: "one row per packet that carries a SIP message, a part of one, or media that SIP announced",
    columns: || columns(&["frame.file"], FIELDS),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(CallPackets {
            finder: Finder::default().with_settings(settings),
            files: Files::default(),
            early: EarlyPackets::default(),
            last: None,
            unnamed: 0,
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

struct CallPackets {
    /// Media by content, too, as they may come before the description of their sockets.
    finder: Finder,
    files: Files,
    early: EarlyPackets,
    /// The packets of messages and of media that were complete, or given up, only at the end of the capture.
    last: Option<VecDeque<(String, &'static str, Vec<u64>)>>,
    /// Messages without a Call-ID.
    unnamed: u64,
}

/// A packet of a call.
struct CallPacket<'p> {
    record: u64,
    call_id: &'p str,
    protocol: &'static str,
}

impl Extract for CallPackets {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let number = self.files.number(row.file, row.packet.frame().number);
        let packet = row.packet.with_number(number);
        let Self {
            finder,
            files,
            early,
            unnamed,
            ..
        } = self;
        let files = &*files;
        // Messages and media are passed to the same rows, one after the other.
        let rows = std::cell::RefCell::new(rows);
        finder.packet_with_sip(
            &packet,
            &mut |message| {
                let Some(call_id) = call_id(message) else {
                    *unnamed = unnamed.saturating_add(1);
                    return;
                };
                let frames = frames(message.way.frame, message.others);
                push(*rows.borrow_mut(), files, &frames, (&call_id, "SIP"));
            },
            &mut |sight, others| {
                early.sight(sight, others);
                if let Some((call_id, protocol, frame)) = of_call(sight) {
                    let frames = frames(frame, others);
                    push(*rows.borrow_mut(), files, &frames, (call_id, protocol));
                }
            },
        );
        let rows = rows.into_inner();
        while !rows.is_full()
            && let Some((call_id, frame)) = early.pop()
        {
            push(rows, files, &[frame], (&call_id, "RTP"));
        }
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let (finder, unnamed) = (&mut self.finder, &mut self.unnamed);
        let early = &mut self.early;
        let last = self.last.get_or_insert_with(|| {
            // Messages and media are passed to the same list, one after the other.
            let last = std::cell::RefCell::new(VecDeque::new());
            finder.finish(
                &mut |message| {
                    let call_id = call_id(message);
                    *unnamed = unnamed.saturating_add(u64::from(call_id.is_none()));
                    let frames = frames(message.way.frame, message.others);
                    let found = call_id.map(|id| (id, "SIP", frames));
                    last.borrow_mut().extend(found);
                },
                &mut |sight, others| {
                    early.sight(sight, others);
                    if let Some((call_id, protocol, frame)) = of_call(sight) {
                        let found = (call_id.to_owned(), protocol, frames(frame, others));
                        last.borrow_mut().push_back(found);
                    }
                },
            );
            let mut last = last.into_inner();
            early.adopt(&|way| finder.late(way));
            while let Some((call_id, frame)) = early.pop() {
                last.push_back((call_id.to_string(), "RTP", vec![frame]));
            }
            last
        });
        rows.take_waiting(last, |rows, (call_id, protocol, frames)| {
            push(rows, &self.files, &frames, (&call_id, protocol));
        })
    }

    fn notes(&self) -> Vec<Note> {
        let unnamed = (
            self.unnamed,
            "messages are left out because they have no valid Call-ID",
        );
        let early = (
            self.early.forgotten(),
            "packets of media that no description was captured for were not remembered, and are left out if one follows",
        );
        Note::of(
            "call_packets",
            self.finder.counted().into_iter().chain([unnamed, early]),
        )
        .collect()
    }
}

/// The Call-ID, the protocol and the record of media that SIP announced.
fn of_call<'s>(sight: &'s Sight<'_>) -> Option<(&'s str, &'static str, u64)> {
    let (frame, announced, protocol) = match sight {
        Sight::Rtp(sight) => (sight.way.frame, sight.announced.as_deref(), "RTP"),
        Sight::Rtcp(_, way, announced) => (way.frame, *announced, "RTCP"),
        Sight::Fax(sight) => (sight.way.frame, Some(&*sight.announced), "T.38"),
    };
    let call_id = announced?.call_id.as_deref()?;
    Some((call_id, protocol, frame))
}

/// The Call-ID of a message, as `sip.call_id` has it.
fn call_id(message: &SipMessage<'_>) -> Option<String> {
    let parsed = message.parsed()?;
    let call_id = Digest::of(&parsed).call_id?;
    Some(String::from_utf8_lossy(call_id).into_owned())
}

/// Returns each number once, in order; without the 0 of the capture's end.
fn frames(last: u64, others: &[u64]) -> Vec<u64> {
    let mut frames: Vec<u64> = others.iter().copied().chain([last]).collect();
    frames.retain(|number| *number > 0);
    frames.sort_unstable();
    frames.dedup();
    frames
}

fn push(rows: &mut Rows, files: &Files, frames: &[u64], (call_id, protocol): (&str, &'static str)) {
    for number in frames {
        let (file, record) = files.place(*number);
        let packet = CallPacket {
            record,
            call_id,
            protocol,
        };
        push_item(rows, file, &packet);
    }
}

impl Item for CallPacket<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

type CallPacketGetter = for<'i> fn(&'i CallPacket<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<CallPacketGetter>] = &[
    ItemField::new("frame.number", Kind::U64, |p| number(p.record),
        "Number of the record, from 1; a message in several records has a row for each", "weir"),
    ItemField::new("sip.call_id", Kind::Text, |p| Some(Value::Text(p.call_id)),
        "Call-ID of the message, or of the one that announced the media", "RFC 3261, 20.8"),
    ItemField::new("call.protocol", Kind::Text, |p| Some(Value::Text(p.protocol)),
        "Protocol of the packet: SIP, RTP, RTCP or T.38", "RFC 3261; RFC 3550; ITU-T T.38"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_several_files_are_distinguished() {
        let mut files = Files::default();
        let numbers = [("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 3)]
            .map(|(file, record)| files.number(file, record));
        assert_eq!(
            frames(numbers[2], &[numbers[4], 0, numbers[1], numbers[2]])
                .into_iter()
                .map(|number| files.place(number))
                .collect::<Vec<_>>(),
            [("a", 2), ("a", 3), ("b", 1)]
        );
    }
}
