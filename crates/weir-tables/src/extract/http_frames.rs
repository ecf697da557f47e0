//! The frames of HTTP for display filters: a row for each frame that carries octets of heads and bodies, or of HTTP/2.
//! It is not a table of SQL, whose `http` has a row for each exchange.

use std::collections::VecDeque;

use weir_flow::{Carried, Chunk, Content, Interest, Payload, Sender};
use weir_messages::http::{Carries, Connection, ConnectionState, looks_like_http};
use weir_messages::tls::Stamp;
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extract, Extraction, ItemField, columns, push_item};
use super::followed::Followed;
use super::note::Note;
use super::opened::OpenedPayloads;
use super::tunnel::KeptAnswers;
use super::value::frame;
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

/// The extraction of this module.
pub(crate) const EXTRACTION: Extraction = Extraction {
    name: "http_frames",
    doc: "one row per frame with octets of HTTP",
    columns: || columns(&[], OWN),
    needs: &[Needs::All],
    start: |_| Box::new(Frames::default()),
    arguments: &[],
    aliases: &[],
};

/// The column with the number of a frame.
pub(crate) const FRAME: &str = "http.frame";

/// The column that is true for frames of a protocol.
pub(crate) fn is_there(protocol: &str) -> Option<&'static str> {
    match protocol {
        "http" => Some("http.is_there"),
        "http2" => Some("http2.is_there"),
        _ => None,
    }
}

/// A frame that carries octets of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Carrier {
    frame: u64,
    is_two: bool,
}

type FrameGetter = fn(&Carrier) -> Option<Value<'static>>;

#[rustfmt::skip]
const OWN: &[ItemField<FrameGetter>] = &[
    ItemField::new(FRAME, Kind::U64, |c| frame(c.frame), "Number of the frame", "weir"),
    ItemField::new("http.is_there", Kind::Bool, |c| (!c.is_two).then_some(Value::Bool(true)),
        "The frame has octets of HTTP/1", "RFC 9112"),
    ItemField::new("http2.is_there", Kind::Bool, |c| c.is_two.then_some(Value::Bool(true)),
        "The frame has octets of HTTP/2", "RFC 9113"),
];

impl Item for Carrier {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (OWN.get(index)?.get)(self)
    }
}

/// The number of octets of a connection in which HTTP is searched for.
const SEARCH_BYTES_MAX: usize = 1 << 16;
/// The number of frames with the first octets of a head, at most.
const BEGUN_MAX: usize = 64;
/// The number of octets under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;

/// A TCP connection.
struct FrameConnection {
    connection: Connection,
    /// The number of octets that were searched.
    seen: usize,
    /// The frames of each side with the first octets of a possible head.
    begun: [Vec<u64>; 2],
}

impl FrameConnection {
    fn new() -> Self {
        Self {
            connection: Connection::searching(),
            seen: 0,
            begun: [Vec::new(), Vec::new()],
        }
    }

    /// Reads a chunk; returns the number of octets that stay buffered, `None` when nothing more is needed.
    fn take(&mut self, chunk: &Chunk<'_>, each: &mut dyn FnMut(Carrier)) -> Option<usize> {
        let side = usize::from(chunk.sender == Sender::High);
        self.connection.at(side, chunk.offset, chunk.acknowledged);
        let state = match chunk.content {
            Content::Bytes(bytes) => self.bytes(side, bytes, chunk, each),
            Content::Gap(missing) => {
                self.connection.gap(side, missing, &mut |_| {});
                ConnectionState::More
            }
            Content::End(_) => {
                self.connection.end(side, &mut |_| {});
                ConnectionState::More
            }
        };
        let goes_on = self.connection.is_found() || self.seen <= SEARCH_BYTES_MAX;
        let is_over = chunk.is_last || state == ConnectionState::Over || !goes_on;
        (!is_over).then(|| self.connection.held())
    }

    fn bytes(
        &mut self,
        side: usize,
        bytes: &[u8],
        chunk: &Chunk<'_>,
        each: &mut dyn FnMut(Carrier),
    ) -> ConnectionState {
        let stamp = Stamp {
            time_ns: chunk.time_ns,
            frame: chunk.frame,
        };
        let (was_found, before) = (self.connection.is_found(), self.connection.carries(side));
        let state = self.connection.take(side, bytes, stamp, &mut |_| {});
        self.seen = self.seen.saturating_add(bytes.len());
        let Some(begun) = self.begun.get_mut(side) else {
            return state;
        };
        let is_two = match (before, self.connection.carries(side)) {
            (Carries::Http2, _) => true,
            // A response that agrees to HTTP/2 is one of HTTP/1.
            (_, Carries::Http2) => !was_found,
            (Carries::Http1, _) | (_, Carries::Http1) => false,
            // After a head of HTTP the connection carries something else.
            (Carries::Other, Carries::Other) if looks_like_http(bytes) => false,
            (_, Carries::Unsure) => {
                if begun.len() < BEGUN_MAX {
                    begun.push(chunk.frame);
                }
                return state;
            }
            (_, Carries::Other) => {
                begun.clear();
                return state;
            }
        };
        for frame in begun.drain(..).chain([chunk.frame]) {
            each(Carrier { frame, is_two });
        }
        state
    }
}

/// Finds the frames of HTTP.
struct Frames {
    payloads: OpenedPayloads,
    streams: Followed<FrameConnection>,
    /// The frames that were known only at the end of the capture.
    last: Option<VecDeque<Carrier>>,
    file: String,
}

impl Default for Frames {
    fn default() -> Self {
        Self {
            payloads: OpenedPayloads::default().with_answers(KeptAnswers::Heads),
            streams: Followed::new(HELD_BYTES_MAX),
            last: None,
            file: String::new(),
        }
    }
}

/// Reads a payload of a connection.
fn payload(
    streams: &mut Followed<FrameConnection>,
    payload: &Payload<'_>,
    each: &mut dyn FnMut(Carrier),
) -> Interest {
    match payload.carried {
        Carried::Stream(chunk) => streams.chunk_or_gap(
            chunk,
            |_| Some(FrameConnection::new()),
            |stream| stream.take(chunk, each),
        ),
        _ => Interest::Ignore,
    }
}

impl Extract for Frames {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        if self.file != row.file {
            row.file.clone_into(&mut self.file);
        }
        let Self {
            payloads, streams, ..
        } = self;
        payloads.packet(row.packet, &mut |one| {
            payload(streams, one, &mut |carrier| {
                rows.push_row(&row.with_item(&carrier));
            })
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self {
            payloads,
            streams,
            last,
            file,
        } = self;
        let last = last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            payloads
                .finish(&mut |one| payload(streams, one, &mut |carrier| last.push_back(carrier)));
            last
        });
        rows.take_waiting(last, |rows, carrier| push_item(rows, file, &carrier))
    }

    fn notes(&self) -> Vec<Note> {
        let own = [(
            self.streams.given_up(),
            "TCP connections were dropped because incomplete messages took more than 256 MiB",
        )];
        Note::of(
            "display filter",
            own.into_iter().chain(self.payloads.given_up()),
        )
        .collect()
    }
}
