//! `stream(path)`: the contents of flows in order: "follow this stream" as rows.

use std::cell::OnceCell;
use std::collections::VecDeque;

use weir_flow::{Carried, Content, Interest, Payload, Payloads};
use weir_packet::{Kind, Needs, Packet, Value};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::messages::{Way, WithWay, columns_with_way};
use super::note::Note;
use super::opened::OpenedPayloads;
use super::tunnel::KeptAnswers;
use super::value::number;
use crate::row::Item;
use crate::rows::Rows;
use crate::{Column, Row};

/// The extraction of this module.
pub(super) const EXTRACTION: Extraction = Extraction {
    name: "stream",
    doc: "one row per piece of a TCP stream, in order and without retransmissions, or per datagram of UDP or SCTP",
    columns: all_columns,
    needs: &[Needs::All],
    start: |settings| {
        Box::new(Pieces {
            payloads: match &settings.keylog {
                Some(_) => {
                    let opened = OpenedPayloads::with_settings(settings);
                    Carriers::Opened(Box::new(opened.with_answers(KeptAnswers::All)))
                }
                None => Carriers::Plain(Box::new(settings.payloads())),
            },
            last: None,
        })
    },
    arguments: super::settings::SECRETS,
    aliases: &[],
};

/// A piece of the contents of a flow.
struct StreamPiece<'p> {
    offset: u64,
    data: Option<&'p [u8]>,
    missing: Option<u64>,
    from_originator: Option<bool>,
    text: OnceCell<String>,
}

impl<'p> StreamPiece<'p> {
    /// The piece of a payload; `None` when the payload only marks the end of a stream.
    fn of(payload: &Payload<'p>) -> Option<Self> {
        let (offset, data, missing, from_originator) = match payload.carried {
            Carried::Datagram(bytes) | Carried::Message { bytes, .. } => {
                let missing = Some(payload.missing).filter(|octets| *octets > 0);
                (0, Some(bytes), missing, None)
            }
            Carried::Stream(chunk) => {
                let (data, missing) = match chunk.content {
                    Content::Bytes(bytes) => (Some(bytes), None),
                    Content::Gap(bytes) => (None, Some(bytes)),
                    Content::End(_) => return None,
                };
                (chunk.offset, data, missing, Some(chunk.from_originator))
            }
            _ => return None,
        };
        Some(Self {
            offset,
            data,
            missing,
            from_originator,
            text: OnceCell::new(),
        })
    }
}

type PieceGetter = for<'i> fn(&'i StreamPiece<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<PieceGetter>] = &[
    ItemField::new("flow.from_originator", Kind::Bool, |p| p.from_originator.map(Value::Bool),
        "The flow's originator sent the bytes, as far as was known at that time; NULL for datagrams", "weir"),
    ItemField::new("stream.offset", Kind::U64, |p| number(p.offset),
        "Offset of the bytes in this direction of the TCP stream", "RFC 9293, 3.4"),
    ItemField::new("stream.missing", Kind::U64, |p| p.missing.and_then(number),
        "Bytes that were not captured: for a TCP stream, the whole row stands for them; for a datagram, those after the captured ones, by the length in its header", "weir"),
    ItemField::new("stream.data", Kind::Bytes, |p| p.data.map(Value::Bytes),
        "The bytes", "RFC 9293, 3.1; RFC 768; RFC 9260"),
    ItemField::new("stream.text", Kind::Text, |p| p.data.map(|data| Value::Text(p.text.get_or_init(|| lines(data)))),
        "The bytes as text: line breaks are kept, and a full stop stands for an unprintable byte", "weir"),
];

/// Bytes as readable text, in which lines stay lines.
fn lines(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.extend(chunk.valid().chars().filter_map(|letter| match letter {
            '\r' => None,
            '\n' | '\t' => Some(letter),
            letter if letter.is_control() => Some('.'),
            letter => Some(letter),
        }));
        text.extend(chunk.invalid().iter().map(|_| '.'));
    }
    text
}

impl Item for StreamPiece<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

fn all_columns() -> Vec<Column> {
    columns_with_way(columns(&[], FIELDS))
}

/// Puts the contents of packets in order.
struct Pieces {
    payloads: Carriers,
    /// The pieces that were ready only at the end of the capture.
    last: Option<VecDeque<WaitingPiece>>,
}

/// A piece that waits for its row.
struct WaitingPiece {
    way: Way,
    offset: u64,
    data: Option<Vec<u8>>,
    missing: Option<u64>,
    from_originator: Option<bool>,
}

/// The source of the pieces: as they were sent, or decrypted with secrets.
enum Carriers {
    Plain(Box<Payloads>),
    Opened(Box<OpenedPayloads>),
}

impl Carriers {
    fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&Payload<'_>) -> Interest) {
        match self {
            Self::Plain(payloads) => payloads.packet(packet, each),
            Self::Opened(payloads) => payloads.packet(packet, each),
        }
    }

    fn finish(&mut self, each: &mut dyn FnMut(&Payload<'_>) -> Interest) {
        match self {
            Self::Plain(payloads) => payloads.finish(each),
            Self::Opened(payloads) => payloads.finish(each),
        }
    }

    fn given_up(&self) -> Vec<(u64, &'static str)> {
        match self {
            Self::Plain(payloads) => payloads.given_up().into_iter().collect(),
            Self::Opened(payloads) => payloads.given_up().collect(),
        }
    }
}

impl Extract for Pieces {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        self.payloads.packet(row.packet, &mut |payload| {
            if let Some(piece) = StreamPiece::of(payload) {
                let way = Way::of(payload);
                let item = WithWay {
                    way: &way,
                    own: &piece,
                };
                rows.push_row(&row.with_item(&item));
            }
            Interest::Follow
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let payloads = &mut self.payloads;
        let last = self.last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            payloads.finish(&mut |payload| {
                last.extend(StreamPiece::of(payload).map(|piece| WaitingPiece {
                    way: Way::of(payload),
                    offset: piece.offset,
                    data: piece.data.map(<[u8]>::to_vec),
                    missing: piece.missing,
                    from_originator: piece.from_originator,
                }));
                Interest::Follow
            });
            last
        });
        while !rows.is_full() {
            let Some(kept) = last.pop_front() else {
                return false;
            };
            let piece = StreamPiece {
                offset: kept.offset,
                data: kept.data.as_deref(),
                missing: kept.missing,
                from_originator: kept.from_originator,
                text: OnceCell::new(),
            };
            let item = WithWay {
                way: &kept.way,
                own: &piece,
            };
            push_item(rows, "", &item);
        }
        true
    }

    fn notes(&self) -> Vec<Note> {
        Note::of("stream", self.payloads.given_up()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stay_lines_and_bytes_become_full_stops() {
        assert_eq!(
            lines(b"GET / HTTP/1.1\r\n\x00\xff\tx"),
            "GET / HTTP/1.1\n..\tx"
        );
        assert_eq!(lines("\u{fc}".as_bytes()), "\u{fc}");
    }
}
