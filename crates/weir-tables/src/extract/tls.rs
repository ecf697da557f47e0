//! `tls`: one row a handshake of TLS, DTLS or QUIC.

mod columns;

use std::collections::{HashMap, VecDeque};

use weir_flow::{Carried, Chunk, Content, FlowKey, Interest, Payload, Sender};
use weir_messages::tls::{
    Carrier, Session, Stamp, Told, begins_with_datagram_hello, begins_with_hello, is_quic_initial,
    may_begin_with_hello,
};
use weir_packet::{Needs, Value};

use self::columns::FIELDS;
use super::followed::Followed;
use super::list::Cache;
use super::messages::{Way, WithWay, columns_with_way};
use super::opened::OpenedPayloads;
use super::{Extract, Extraction, Item, columns, in_words, push_item};
use crate::Row;
use crate::scan::Rows;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "tls",
    doc: "one row a handshake of TLS, DTLS or QUIC, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: |_| Box::new(Tls::default()),
    arguments: &[],
    aliases: &[],
};

/// A handshake, and the way of its client.
struct TlsRow {
    session: Session,
    cache: Cache,
}

impl Item for TlsRow {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.session)
    }
}

/// What a TCP connection carries, as far as it is known.
enum Stream {
    /// Other things so far. A handshake may come: mail, databases and proxies begin in clear.
    Searching {
        /// Octets that were looked at, of each side.
        seen: [usize; 2],
        /// What may be the beginning of a hello.
        begun: [Vec<u8>; 2],
    },
    Session(Box<Session>),
}

/// Handshakes over datagrams.
#[derive(Default)]
struct Datagrams {
    open: HashMap<FlowKey, Talk>,
    /// In the order in which they began.
    order: VecDeque<FlowKey>,
    given_up: u64,
}

/// A handshake over datagrams.
struct Talk {
    /// `None` once its row was given out.
    session: Option<Box<Session>>,
    way: Way,
    /// Who sent what has the way.
    side: usize,
}

#[derive(Default)]
struct Tls {
    payloads: OpenedPayloads,
    found: Sessions,
    /// What was complete only when the capture ended.
    last: Option<VecDeque<(Box<Session>, Way)>>,
    file: String,
}

struct Sessions {
    streams: Followed<Stream>,
    datagrams: Datagrams,
    too_long: u64,
    certificates_dropped: u64,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            streams: Followed::new(HELD_BYTES_MAX),
            datagrams: Datagrams::default(),
            too_long: 0,
            certificates_dropped: 0,
        }
    }
}

/// Bytes of messages under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;
/// Octets of a side of a connection among which a hello is looked for.
const SEARCH_BYTES_MAX: usize = 1 << 16;
/// Handshakes over datagrams at one time.
const DATAGRAMS_MAX: usize = 1 << 14;
/// After so long, the same ends begin anew.
const ANEW_NS: i64 = 60_000_000_000;

/// Takes a handshake that is over, with the way of what ended it.
type Each<'e> = dyn FnMut(Box<Session>, Way) + 'e;

impl Sessions {
    fn payload(&mut self, payload: &Payload<'_>, each: &mut Each<'_>) -> Interest {
        let way = Way::of(payload);
        let side = usize::from(payload.sender == Sender::High);
        let mut counted = |session: Box<Session>, way: Way| {
            self.too_long = self.too_long.saturating_add(session.too_long);
            let dropped = session.certificates_dropped;
            self.certificates_dropped = self.certificates_dropped.saturating_add(dropped);
            if session.is_seen() {
                each(session, way);
            }
        };
        match payload.carried {
            Carried::Stream(chunk) => chunked(&mut self.streams, chunk, &way, side, &mut counted),
            Carried::Datagram(bytes) => {
                self.datagrams
                    .take(payload.key, bytes, &way, side, &mut counted);
                Interest::Follow
            }
            _ => Interest::Ignore,
        }
    }
}

/// The way of a handshake, from client to server, by that of something that this side sent.
fn directed(session: &Session, way: Way, side: usize) -> Way {
    match session.client_side() == Some(side) {
        true => way,
        false => way.back(),
    }
}

/// Takes a piece of a TCP stream.
fn chunked(
    streams: &mut Followed<Stream>,
    chunk: &Chunk<'_>,
    way: &Way,
    side: usize,
    each: &mut Each<'_>,
) -> Interest {
    let stamp = Stamp {
        time_ns: way.time_ns,
        frame: way.frame,
    };
    streams.chunk(
        chunk,
        |_| {
            Some(Stream::Searching {
                seen: [0; 2],
                begun: Default::default(),
            })
        },
        |stream| {
            let told = stream.take(chunk.content, side, stamp);
            let is_over = chunk.is_last || told != Told::More;
            if is_over {
                let stream = std::mem::replace(stream, Stream::nothing());
                if let Stream::Session(session) = stream {
                    let way = directed(&session, *way, side);
                    each(session, way);
                }
                return None;
            }
            Some(stream.held())
        },
    )
}

impl Stream {
    fn nothing() -> Self {
        Self::Searching {
            seen: [0; 2],
            begun: Default::default(),
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::Searching { begun, .. } => begun.iter().map(Vec::len).sum(),
            Self::Session(session) => session.held() + size_of::<Session>(),
        }
    }

    fn take(&mut self, content: Content<'_>, side: usize, stamp: Stamp) -> Told {
        match (self, content) {
            (Self::Session(session), Content::Bytes(bytes)) => session.stream(side, bytes, stamp),
            (Self::Session(session), Content::Gap(_)) => {
                session.gap(side);
                Told::More
            }
            (_, Content::End(_)) => Told::More,
            (Self::Searching { begun, .. }, Content::Gap(_)) => {
                *begun = Default::default();
                Told::More
            }
            (this @ Self::Searching { .. }, Content::Bytes(bytes)) => {
                let Self::Searching { seen, begun } = &mut *this else {
                    return Told::NotTls;
                };
                let (Some(seen), Some(begun)) = (seen.get_mut(side), begun.get_mut(side)) else {
                    return Told::NotTls;
                };
                *seen = seen.saturating_add(bytes.len());
                let all = match begun.is_empty() {
                    true => bytes,
                    false => {
                        begun.extend_from_slice(bytes);
                        begun.as_slice()
                    }
                };
                if begins_with_hello(all) {
                    let mut session = Box::new(Session::new(Carrier::Tls));
                    let told = session.stream(side, all, stamp);
                    *this = Self::Session(session);
                    return told;
                }
                if may_begin_with_hello(all) {
                    if begun.is_empty() {
                        *begun = bytes.to_vec();
                    }
                } else {
                    *begun = Vec::new();
                }
                match *seen > SEARCH_BYTES_MAX {
                    true => Told::NotTls,
                    false => Told::More,
                }
            }
        }
    }
}

impl Datagrams {
    fn take(&mut self, key: &FlowKey, bytes: &[u8], way: &Way, side: usize, each: &mut Each<'_>) {
        let carrier = if begins_with_datagram_hello(bytes) {
            Some(Carrier::Dtls)
        } else if is_quic_initial(bytes) {
            Some(Carrier::Quic)
        } else {
            None
        };
        let stamp = Stamp {
            time_ns: way.time_ns,
            frame: way.frame,
        };
        let now = way.time_ns.unwrap_or_default();
        match (self.open.get_mut(key), carrier) {
            (Some(talk), carrier) => {
                let then = talk.way.time_ns.unwrap_or_default();
                if talk.session.is_none() && now.saturating_sub(then) > ANEW_NS {
                    talk.session = carrier.map(|carrier| Box::new(Session::new(carrier)));
                }
                talk.way.time_ns = way.time_ns;
            }
            (None, Some(carrier)) => {
                if self.order.len() >= DATAGRAMS_MAX {
                    self.forget_oldest(each);
                }
                self.order.push_back(*key);
                let session = Some(Box::new(Session::new(carrier)));
                let way = *way;
                self.open.insert(*key, Talk { session, way, side });
            }
            (None, None) => return,
        }
        let Some(talk) = self.open.get_mut(key) else {
            return;
        };
        let told = match &mut talk.session {
            Some(session) => session.datagram(side, bytes, stamp),
            None => return,
        };
        if told != Told::More
            && let Some(session) = talk.session.take()
        {
            let way = directed(&session, *way, side);
            each(session, way);
        }
    }

    fn forget_oldest(&mut self, each: &mut Each<'_>) {
        let Some(talk) = self
            .order
            .pop_front()
            .and_then(|key| self.open.remove(&key))
        else {
            return;
        };
        if let Some(session) = talk.session {
            self.given_up = self.given_up.saturating_add(1);
            let way = directed(&session, talk.way, talk.side);
            each(session, way);
        }
    }

    /// What is open when the capture ends.
    fn finish(&mut self, each: &mut Each<'_>) {
        while let Some(key) = self.order.pop_front() {
            if let Some(talk) = self.open.remove(&key)
                && let Some(session) = talk.session
            {
                let way = directed(&session, talk.way, talk.side);
                each(session, way);
            }
        }
    }
}

impl Extract for Tls {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        if self.file != row.file {
            row.file.clone_into(&mut self.file);
        }
        let Self {
            payloads, found, ..
        } = self;
        payloads.packet(row.packet, &mut |payload| {
            found.payload(payload, &mut |session, way| {
                let own = TlsRow::new(session);
                let item = WithWay {
                    way: &way,
                    own: &own,
                };
                rows.push_row(&row.with_item(&item));
            })
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self {
            payloads,
            found,
            last,
            file,
        } = self;
        let last = last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            let mut keep = |session: Box<Session>, way: Way| last.push_back((session, way));
            payloads.finish(&mut |payload| found.payload(payload, &mut keep));
            found.datagrams.finish(&mut |session, way| {
                if session.is_seen() {
                    keep(session, way);
                }
            });
            last
        });
        while !rows.is_full() {
            let Some((session, way)) = last.pop_front() else {
                return false;
            };
            let own = TlsRow::new(session);
            let item = WithWay {
                way: &way,
                own: &own,
            };
            push_item(rows, file, &item);
        }
        true
    }

    fn notes(&self) -> Vec<String> {
        let found = &self.found;
        let own = [
            (
                found.streams.given_up(),
                "TCP connections were given up because messages under way took more than 256 MiB",
            ),
            (
                found.datagrams.given_up,
                "handshakes over UDP were given out early because more than 16,384 were open",
            ),
            (
                found.too_long,
                "messages of handshakes were passed over because they are longer than 256 KiB",
            ),
            (
                found.certificates_dropped,
                "certificates were left out of chains of more than 32",
            ),
        ];
        let counted = own.into_iter().chain(self.payloads.given_up());
        in_words(counted)
            .map(|note| format!("tls: {note}"))
            .collect()
    }
}

impl TlsRow {
    fn new(session: Box<Session>) -> Self {
        Self {
            session: *session,
            cache: Cache::new(FIELDS.len()),
        }
    }
}
