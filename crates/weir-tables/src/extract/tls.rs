//! `tls`: one row a handshake of TLS, DTLS or QUIC.

mod columns;
mod datagrams;
mod eap;
mod eapol;
mod openvpn;
mod tds;

use std::collections::VecDeque;

use weir_flow::{Carried, Chunk, Content, Interest, Payload, Sender};
use weir_messages::tls::{
    Carrier, Session, SessionState, Stamp, begins_with_hello, is_of_datagram_records,
    may_begin_with_hello,
};
use weir_packet::{Needs, Packet, Value};

use self::columns::{FIELDS, has_times_outside};
use self::datagrams::Datagrams;
use self::eap::once;
use self::openvpn::{OpenVpnChannels, OpenVpnStream};
use super::extraction::{Extract, Extraction, columns, push_item};
use super::followed::Followed;
use super::list::Cache;
use super::media::{TurnConnections, data_of_peer};
use super::messages::{Way, WithWay, columns_with_way};
use super::note::Note;
use super::opened::OpenedPayloads;
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

pub(super) use self::eap::{EapTalks, TalkReader};
pub(super) use self::eapol::EapOnLink;
pub(super) use self::tds::{TdsPackets, begins_with_packed_hello, may_begin_with_packed_hello};

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "tls",
    doc: "one row per TLS, DTLS or QUIC handshake, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: |settings| {
        Box::new(Tls {
            payloads: OpenedPayloads::with_settings(settings).with_segments_of_hep(),
            ..Tls::default()
        })
    },
    arguments: super::settings::NETWORKS,
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

    fn record(&self) -> Option<u64> {
        let Session {
            client_stamp,
            server_stamp,
            ..
        } = &self.session;
        let mut hellos = [server_stamp.frame, client_stamp.frame].into_iter();
        hellos.find(|frame| *frame > 0)
    }
}

/// The number of octets of the longest record of TLS 1.2, sealed (RFC 5246, 6.2.3).
const RECORD_OCTETS_MAX: u16 = (1 << 14) + 2_048;

/// The contents of a TCP connection, as far as they are known.
enum TlsCarrier {
    /// No handshake so far. One may come: mail, databases and proxies begin in plain text.
    Searching {
        /// The number of octets of each side that were searched.
        seen: [usize; 2],
        /// The possible beginning of a hello.
        begun: [Vec<u8>; 2],
        /// Records follow octets that are missing, among which the hellos may be.
        has_records: bool,
        /// Octets of each side are missing.
        gaps: [bool; 2],
    },
    Session {
        session: Box<Session>,
        late: Option<LateText>,
    },
    /// The session is in packets of TDS.
    Packed {
        session: Box<Session>,
        packets: TdsPackets,
    },
    /// The control channel of OpenVPN.
    OpenVpn(OpenVpnStream),
}

/// A side that has not begun TLS yet, of a connection in which plain text came before the hello of the other side: its answer to the
/// request for TLS may be captured behind that hello.
#[derive(Clone, Copy)]
struct LateText {
    side: usize,
    /// The number of octets that were passed over.
    passed: usize,
    /// The hello of the other side is one of SSL 2, so that its answer may be one, too.
    is_ssl2: bool,
}

/// A TCP connection.
struct TlsStream {
    carrier: TlsCarrier,
    /// The number of octets of each side that were captured, or are known to be missing.
    captured: [u64; 2],
    /// The number of octets of each side that the other one has acknowledged.
    acknowledged: [u64; 2],
}

impl TlsStream {
    /// The state before these first octets of a connection between these ports.
    fn before(bytes: &[u8], ports: [u16; 2]) -> Self {
        let openvpn = OpenVpnStream::beginning(bytes, ports);
        Self {
            carrier: openvpn.map_or_else(TlsCarrier::nothing, TlsCarrier::OpenVpn),
            captured: [0; 2],
            acknowledged: [0; 2],
        }
    }

    /// Notes how far both sides are.
    fn note_octets(&mut self, chunk: &Chunk<'_>, side: usize) {
        let octets = match chunk.content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Gap(octets) => octets,
            Content::End(_) => 0,
        };
        let captured = &mut self.captured[side & 1];
        *captured = chunk.offset.saturating_add(octets).max(*captured);
        let acknowledged = &mut self.acknowledged[1 - (side & 1)];
        *acknowledged = chunk.acknowledged.unwrap_or(0).max(*acknowledged);
    }

    /// Whether the other side had received octets of this one behind the last ones that were captured. The number of a FIN is none
    /// of an octet.
    const fn lacks_end(&self, side: usize) -> bool {
        self.acknowledged[side & 1] > self.captured[side & 1].saturating_add(1)
    }
}

impl LateText {
    /// Whether octets of the side are text that comes late. Records of TLS begin with their type, and hellos of SSL 2 with a bit.
    fn has(&mut self, bytes: &[u8]) -> bool {
        let is_record = |first: &u8| match first {
            20..=26 => true,
            0x80.. => self.is_ssl2,
            _ => false,
        };
        self.passed = self.passed.saturating_add(bytes.len());
        !bytes.first().is_some_and(is_record) && self.passed <= SEARCH_BYTES_MAX
    }
}

#[derive(Default)]
struct Tls {
    payloads: OpenedPayloads,
    found: Sessions,
    /// The handshakes that were complete only at the end of the capture.
    last: Option<VecDeque<(Box<Session>, Way)>>,
}

struct Sessions {
    streams: Followed<TlsStream>,
    turn: TurnConnections,
    datagrams: Datagrams,
    openvpn: OpenVpnChannels,
    eap: EapTalks<Session>,
    counts: HandshakeCounts,
}

/// The numbers of handshakes, and of their parts, that rows lack.
#[derive(Default)]
struct HandshakeCounts {
    too_long: u64,
    certificates_dropped: u64,
    without_hello: u64,
    times_outside: u64,
}

impl HandshakeCounts {
    /// Reports a handshake with a hello, and counts what its row lacks.
    fn pass(&mut self, session: Box<Session>, way: Way, each: &mut OnHandshake<'_>) {
        self.too_long = self.too_long.saturating_add(session.too_long);
        let dropped = session.certificates_dropped;
        self.certificates_dropped = self.certificates_dropped.saturating_add(dropped);
        self.pass_last(session, way, each);
    }

    /// Reports a handshake that is open when the capture ends.
    fn pass_last(&mut self, session: Box<Session>, way: Way, each: &mut OnHandshake<'_>) {
        let is_outside = has_times_outside(&session);
        self.times_outside = self.times_outside.saturating_add(is_outside.into());
        match session.is_seen() {
            true => each(session, way),
            false => self.without_hello = self.without_hello.saturating_add(1),
        }
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            streams: Followed::new(HELD_BYTES_MAX),
            turn: TurnConnections::new(HELD_BYTES_MAX),
            datagrams: Datagrams::default(),
            openvpn: OpenVpnChannels::default(),
            eap: EapTalks::new(),
            counts: HandshakeCounts::default(),
        }
    }
}

/// The number of bytes of messages under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;
/// The type of records with messages of a handshake.
const HANDSHAKE: u8 = 22;
/// The number of octets of a side of a connection in which a hello is searched for.
const SEARCH_BYTES_MAX: usize = 1 << 16;

/// The callback for a handshake that is over, with the way of its last octets.
type OnHandshake<'e> = dyn FnMut(Box<Session>, Way) + 'e;

impl Sessions {
    fn payload(&mut self, payload: &Payload<'_>, each: &mut OnHandshake<'_>) -> Interest {
        let way = Way::of(payload);
        let side = usize::from(payload.sender == Sender::High);
        let Self {
            streams,
            turn,
            datagrams,
            openvpn,
            eap,
            counts,
        } = self;
        let mut counted = |session: Box<Session>, way: Way| counts.pass(session, way, each);
        match payload.carried {
            Carried::Stream(chunk) => {
                let is_turn_alone = turn.is_alone(chunk.connection);
                let is_of_turn = turn.chunk(chunk, &mut |bytes| {
                    if let Some((data, _)) = records_of_peer(bytes, 0) {
                        datagrams.take(payload.key, data, &way, side, &mut counted);
                    }
                });
                let (interest, unread) = match is_turn_alone {
                    true => (Interest::Ignore, UnreadStream::None),
                    false => chunked(streams, chunk, &way, side, &mut counted),
                };
                match unread {
                    UnreadStream::None => {}
                    UnreadStream::Records => {
                        counts.without_hello = counts.without_hello.saturating_add(1);
                    }
                    UnreadStream::OpenVpn => openvpn.count_unread(),
                }
                if is_of_turn && interest == Interest::Ignore {
                    turn.leave_alone(chunk.connection);
                    return Interest::Follow;
                }
                interest
            }
            Carried::Datagram(bytes) => {
                let mut with_side = |session: Box<Session>, way: Way, side: usize| {
                    let way = directed(&session, way, side);
                    counted(session, way);
                };
                let is_read = openvpn.take(payload.key, bytes, &way, side, &mut with_side)
                    || eap.take(payload.key, bytes, &way, side, &mut once(&mut with_side));
                if !is_read {
                    let of_peer = records_of_peer(bytes, payload.missing);
                    let (bytes, missing) = of_peer.unwrap_or((bytes, payload.missing));
                    let way = Way { missing, ..way };
                    datagrams.take(payload.key, bytes, &way, side, &mut counted);
                }
                Interest::Follow
            }
            // Messages of SCTP may be those of DTLS (RFC 6083).
            Carried::Message { bytes, .. } => {
                if is_of_datagram_records(bytes, payload.missing) {
                    datagrams.take(payload.key, bytes, &way, side, &mut counted);
                }
                Interest::Ignore
            }
            _ => Interest::Ignore,
        }
    }

    /// Reads a packet of EAP that a link carries.
    fn link(&mut self, packet: &Packet<'_>, each: &mut OnHandshake<'_>) {
        let Some(on_link) = EapOnLink::of(packet) else {
            return;
        };
        let Self { eap, counts, .. } = self;
        let mut with_side = |session: Box<Session>, way: Way, side: usize| {
            let way = directed(&session, way, side);
            counts.pass(session, way, each);
        };
        let way = Way::on_link(packet.frame());
        eap.take_on_link(&on_link, &way, &mut once(&mut with_side));
    }

    /// Reports the handshakes over datagrams that are open when the capture ends.
    fn finish(&mut self, each: &mut OnHandshake<'_>) {
        let Self {
            datagrams,
            openvpn,
            eap,
            counts,
            ..
        } = self;
        let mut counted = |session: Box<Session>, way: Way| counts.pass_last(session, way, each);
        datagrams.finish(&mut counted);
        let mut with_side = |session: Box<Session>, way: Way, side: usize| {
            let way = directed(&session, way, side);
            counted(session, way);
        };
        openvpn.finish(&mut with_side);
        eap.finish(&mut once(&mut with_side));
    }
}

/// The records of DTLS in a message that a server of TURN passes on between its client and a peer, and the number of their octets that were
/// not captured.
fn records_of_peer(bytes: &[u8], missing: u64) -> Option<(&[u8], u64)> {
    data_of_peer(bytes, missing).filter(|(data, missing)| is_of_datagram_records(data, *missing))
}

/// A connection that has ended without a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnreadStream {
    /// The connection carries no records, and none that are known to be missing.
    None,
    /// It has records and no hellos, as octets before them are missing.
    Records,
    /// It is the control channel of OpenVPN, in which no TLS was found.
    OpenVpn,
}

/// The direction of a handshake, from client to server, by that of a message of this side.
fn directed(session: &Session, way: Way, side: usize) -> Way {
    match session.client_side() == Some(side) {
        true => way,
        false => way.back(),
    }
}

/// Reads a chunk of a TCP stream. Returns, too, whether it ends a connection that has no row.
fn chunked(
    streams: &mut Followed<TlsStream>,
    chunk: &Chunk<'_>,
    way: &Way,
    side: usize,
    each: &mut OnHandshake<'_>,
) -> (Interest, UnreadStream) {
    let stamp = Stamp {
        time_ns: way.time_ns,
        frame: way.frame,
    };
    let mut unread = UnreadStream::None;
    let interest = streams.chunk(
        chunk,
        |bytes| Some(TlsStream::before(bytes, way.ports())),
        |stream| {
            stream.note_octets(chunk, side);
            let carrier = &mut stream.carrier;
            carrier.note_records(chunk, side);
            if let (TlsCarrier::Session { session, .. }, false) = (&mut *carrier, chunk.saw_start) {
                session.begins_within(side);
            }
            let told = carrier.take(chunk.content, side, stamp);
            let is_over = chunk.is_last || told != SessionState::More;
            if is_over {
                match std::mem::replace(carrier, TlsCarrier::nothing()) {
                    TlsCarrier::Session { mut session, .. }
                    | TlsCarrier::Packed { mut session, .. } => {
                        let is_open = chunk.is_last && session.established() != Some(true);
                        for side in (0..2).filter(|side| is_open && stream.lacks_end(*side)) {
                            session.gap(side);
                        }
                        let way = directed(&session, *way, side);
                        each(session, way);
                    }
                    TlsCarrier::OpenVpn(openvpn) => match openvpn.end(stamp) {
                        Some(session) => {
                            let way = directed(&session, *way, side);
                            each(session, way);
                        }
                        None => unread = UnreadStream::OpenVpn,
                    },
                    TlsCarrier::Searching { has_records, .. } if has_records => {
                        unread = UnreadStream::Records;
                    }
                    TlsCarrier::Searching { .. } => {}
                }
                return None;
            }
            Some(carrier.held())
        },
    );
    (interest, unread)
}

/// The octets behind a change of cipher spec, which a client sends in front of its second hello (RFC 8446, D.4).
fn behind_change(octets: &[u8]) -> &[u8] {
    match octets {
        [20, 3, 0..=4, 0, 1, 1, behind @ ..] => behind,
        _ => octets,
    }
}

/// True of octets that begin with the header of a record (RFC 8446, 5.1 and 5.2).
fn begins_with_record(bytes: &[u8]) -> bool {
    match bytes {
        [20..=23, 3, 1..=4, high, low, ..] => {
            (1..=RECORD_OCTETS_MAX).contains(&u16::from_be_bytes([*high, *low]))
        }
        _ => false,
    }
}

impl TlsCarrier {
    fn nothing() -> Self {
        Self::Searching {
            seen: [0; 2],
            begun: Default::default(),
            has_records: false,
            gaps: [false; 2],
        }
    }

    /// Notes whether records follow octets that are missing.
    fn note_records(&mut self, chunk: &Chunk<'_>, side: usize) {
        let Self::Searching {
            seen, has_records, ..
        } = self
        else {
            return;
        };
        if let Content::Bytes(bytes) = chunk.content
            && let Some(seen) = seen.get(side)
        {
            let is_behind_gap = chunk.saw_start && chunk.offset > *seen as u64;
            *has_records |= is_behind_gap && begins_with_record(bytes);
        }
    }

    fn held(&self) -> usize {
        match self {
            Self::Searching { begun, .. } => begun.iter().map(Vec::len).sum(),
            Self::Session { session, .. } | Self::Packed { session, .. } => {
                session.held() + size_of::<Session>()
            }
            Self::OpenVpn(openvpn) => openvpn.held(),
        }
    }

    fn take(&mut self, content: Content<'_>, side: usize, stamp: Stamp) -> SessionState {
        match (self, content) {
            (Self::OpenVpn(openvpn), content) => openvpn.take(content, side, stamp),
            (Self::Session { session, late }, Content::Bytes(bytes)) => {
                if let Some(text) = late.as_mut().filter(|late| late.side == side) {
                    if text.has(bytes) {
                        return SessionState::More;
                    }
                    *late = None;
                }
                session.stream(side, bytes, stamp)
            }
            (Self::Session { session, .. }, Content::Gap(_)) => {
                session.gap(side);
                SessionState::More
            }
            (Self::Packed { session, packets }, Content::Bytes(bytes)) => {
                session.stream(side, &packets.take(side, bytes), stamp)
            }
            (Self::Packed { session, packets }, Content::Gap(octets)) => {
                packets.gap(side, octets);
                session.gap(side);
                SessionState::More
            }
            (_, Content::End(_)) => SessionState::More,
            (Self::Searching { begun, gaps, .. }, Content::Gap(_)) => {
                *begun = Default::default();
                gaps[side & 1] = true;
                SessionState::More
            }
            (this @ Self::Searching { .. }, Content::Bytes(bytes)) => {
                this.search(bytes, side, stamp)
            }
        }
    }

    /// Looks for a hello in the next octets of a direction, with which the session begins.
    fn search(&mut self, bytes: &[u8], side: usize, stamp: Stamp) -> SessionState {
        let Self::Searching {
            seen, begun, gaps, ..
        } = self
        else {
            return SessionState::NotTls;
        };
        let gaps = *gaps;
        let mut both = seen.iter().zip(begun.iter());
        let is_behind_text = both.any(|(seen, begun)| *seen > begun.len());
        let [low, high] = begun;
        let (begun, other) = match side {
            0 => (low, high),
            _ => (high, low),
        };
        let Some(seen) = seen.get_mut(side) else {
            return SessionState::NotTls;
        };
        *seen = seen.saturating_add(bytes.len());
        let all = match begun.is_empty() {
            true => bytes,
            false => {
                begun.extend_from_slice(bytes);
                begun.as_slice()
            }
        };
        // A hello may also begin with these octets, behind others that were something else.
        let starts = [all, bytes].map(behind_change);
        let mut packed = starts.iter().copied();
        if let Some(octets) = packed.find(|octets| begins_with_packed_hello(octets)) {
            let mut session = Box::new(Session::new(Carrier::Tls));
            let mut packets = TdsPackets::default();
            session.lacks_before(gaps);
            let told = session.stream(side, &packets.take(side, octets), stamp);
            *self = Self::Packed { session, packets };
            return told;
        }
        let mut hellos = starts.iter().copied();
        if let Some(hello) = hellos.find(|octets| begins_with_hello(octets)) {
            let is_ssl2 = hello.first().is_some_and(|first| *first >= 0x80);
            let mut session = Box::new(Session::new(Carrier::Tls));
            session.lacks_before(gaps);
            let mut told = session.stream(side, hello, stamp);
            let side = 1 - (side & 1);
            // The beginning of the other hello was captured before this one, behind octets that may begin a hello, too.
            let first = other.iter().position(|octet| *octet == HANDSHAKE);
            let begun = first.and_then(|first| other.get(first..));
            let begun = begun.filter(|octets| may_begin_with_hello(octets));
            if let Some(octets) = begun.filter(|_| told == SessionState::More) {
                told = session.stream(side, octets, stamp);
            }
            let late = LateText {
                side,
                passed: 0,
                is_ssl2,
            };
            let late = Some(late).filter(|_| is_behind_text && begun.is_none());
            *self = Self::Session { session, late };
            return told;
        }
        let mut begins = starts.iter().copied();
        let begins = begins
            .find(|octets| may_begin_with_hello(octets) || may_begin_with_packed_hello(octets));
        *begun = begins.map_or_else(Vec::new, <[u8]>::to_vec);
        match *seen > SEARCH_BYTES_MAX {
            true => SessionState::NotTls,
            false => SessionState::More,
        }
    }
}

impl Extract for Tls {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            payloads, found, ..
        } = self;
        let mut push = |session: Box<Session>, way: Way| {
            let own = TlsRow::new(session);
            let item = WithWay {
                way: &way,
                own: &own,
            };
            rows.push_row(&row.with_item(&item));
        };
        found.link(row.packet, &mut push);
        payloads.packet(row.packet, &mut |payload| found.payload(payload, &mut push));
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self {
            payloads,
            found,
            last,
        } = self;
        let last = last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            let mut keep = |session: Box<Session>, way: Way| last.push_back((session, way));
            payloads.finish(&mut |payload| found.payload(payload, &mut keep));
            found.finish(&mut keep);
            last
        });
        rows.take_waiting(last, |rows, (session, way)| {
            let own = TlsRow::new(session);
            let item = WithWay {
                way: &way,
                own: &own,
            };
            push_item(rows, "", &item);
        })
    }

    fn notes(&self) -> Vec<Note> {
        let found = &self.found;
        let own = [
            (
                found
                    .streams
                    .given_up()
                    .saturating_add(found.turn.given_up()),
                "TCP connections were dropped because incomplete messages took more than 256 MiB",
            ),
            (
                found.datagrams.given_up(),
                "handshakes over UDP were written early because more than 16,384 were open, or 16 between the same ports",
            ),
            (
                found
                    .openvpn
                    .given_up()
                    .saturating_add(found.eap.given_up()),
                "handshakes in OpenVPN or EAP were written early because more than 4,096 were open",
            ),
            (
                found.datagrams.unopened(),
                "QUIC Initial packets were not read because the client's first one, which gives their keys, was not captured before or soon after",
            ),
            (
                found.datagrams.of_unknown_version(),
                "QUIC datagrams were not read because the keys of their version are not known",
            ),
            (
                found.datagrams.cut(),
                "datagrams with a DTLS or QUIC hello were not read because too little of them was captured",
            ),
            (
                found
                    .counts
                    .without_hello
                    .saturating_add(found.datagrams.without_hello()),
                "handshakes have no row because neither hello was captured completely",
            ),
            (
                found.eap.cut(),
                "packets of EAP in 802.1X were not read because they were not captured completely",
            ),
            (
                found.openvpn.unread(),
                "connections of OpenVPN have no row because their control channel is encrypted, or was not captured from its beginning",
            ),
            (
                found.counts.times_outside,
                "handshakes have a certificate with a time before 1677-09-21 or after 2262-04-11, which the columns cannot hold: they have the nearest possible time",
            ),
            (
                found.counts.too_long,
                "handshake messages were skipped because they are longer than 256 KiB",
            ),
            (
                found.counts.certificates_dropped,
                "certificates were left out of chains of more than 32",
            ),
        ];
        let counted = own.into_iter().chain(self.payloads.given_up());
        Note::of("tls", counted).collect()
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
