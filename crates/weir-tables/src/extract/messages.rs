//! Tables with a row for each message of a protocol: how messages are found, on any port, and the columns that all of
//! them have.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use weir_flow::{Carried, Chunk, Content, Endpoint, Interest, Payload, Sender};
use weir_packet::{Frame, Kind, Packet, Value};

use super::conversation::{Conversation, Cut, Piece};
use super::early::{EarlyAnswer, EarlyAnswers};
use super::extraction::{Extract, ItemField, columns, push_item};
use super::followed::{Begin, Followed, Looks};
use super::note::Note;
use super::opened::OpenedPayloads;
use super::over_websocket::OverWebSocket;
use super::settings::Settings;
use super::tunnel;
use super::value::{address, frame, number};
use crate::row::Item;
use crate::rows::Rows;
use crate::{Column, Origin, Row};

/// The flow, the endpoints and the time of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way {
    /// The number of its flow; 0 where that is not known.
    pub(super) flow: u64,
    pub(super) src: Endpoint,
    pub(super) dst: Endpoint,
    /// The transport: `udp`, `tcp` or `sctp`, or [`EAPOL`].
    pub(super) transport: &'static str,
    pub(super) time_ns: Option<i64>,
    /// The time that had passed in the capture by then, which deadlines use: see [`Payload::passed_ns`].
    pub(super) passed_ns: i64,
    /// The number of the record, from 1, among those of all files where the table [keeps](Extract::keeps_records) such numbers; 0
    /// when the capture's end completed it.
    pub(super) frame: u64,
    /// The number of octets at the end of the datagram that were not captured.
    pub(super) missing: u64,
    /// The identification of the datagram's outermost header of IPv4, by which copies of it are known; `None` where it is 0, or nothing
    /// needs it.
    pub(super) identification: Option<u16>,
}

/// What carries EAP on a link (IEEE 802.1X), which has no addresses of IP and no ports.
const EAPOL: &str = "eapol";

impl Way {
    /// The time of a packet of EAP on a link.
    pub(super) fn on_link(frame: &Frame<'_>) -> Self {
        let end = Endpoint {
            address: Ipv6Addr::UNSPECIFIED.into(),
            port: 0,
        };
        Self {
            flow: 0,
            src: end,
            dst: end,
            transport: EAPOL,
            time_ns: frame.time_ns,
            passed_ns: 0,
            frame: frame.number,
            missing: 0,
            identification: None,
        }
    }

    /// Both ends, the sender first, where they have addresses of IP.
    fn ends(&self) -> Option<[Endpoint; 2]> {
        (self.transport != EAPOL).then_some([self.src, self.dst])
    }

    /// The flow, endpoints and time of a payload.
    pub(super) fn of(payload: &Payload<'_>) -> Self {
        let (src, dst) = payload.key.ends(payload.sender);
        Self {
            flow: payload.flow,
            src,
            dst,
            transport: match payload.carried {
                Carried::Stream(_) => "tcp",
                Carried::Message { .. } => "sctp",
                // A probe forwarded a message that came over TCP.
                Carried::Datagram(_) if payload.key.protocol() == 6 => "tcp",
                Carried::Datagram(_) if payload.key.protocol() == 132 => "sctp",
                _ => "udp",
            },
            time_ns: payload.time_ns,
            passed_ns: payload.passed_ns,
            frame: payload.frame,
            missing: payload.missing,
            identification: None,
        }
    }

    /// The same way with the identification of the packet that carries its datagram. Messages of a stream have none: several may come
    /// in one packet.
    fn within(self, packet: &Packet<'_>, carried: &Carried<'_>) -> Self {
        let id = packet.ipv4().and_then(|header| header.identification());
        let is_datagram = matches!(carried, Carried::Datagram(_));
        Self {
            identification: id.filter(|id| is_datagram && *id != 0),
            ..self
        }
    }

    /// Copies time and record of the next message of the same direction.
    pub(super) const fn go_on(&mut self, next: &Self) {
        self.time_ns = next.time_ns;
        self.passed_ns = next.passed_ns;
        self.frame = next.frame;
        self.missing = next.missing;
    }

    /// A number of both ends, the same in both directions. That of their flow is no part of it: the contents of a tunnel, and
    /// messages that a probe forwarded by HEP, belong to one flow, whatever their ends are, and tunnels over UDP have another
    /// flow for each direction (VXLAN, RFC 7348, 5). The number is keyed, so that no capture can be made in which two
    /// conversations share one, and takes a few products, as it is computed for every message.
    pub(super) fn conversation(&self) -> u64 {
        static KEYS: LazyLock<[u64; 2]> = LazyLock::new(|| {
            let random = RandomState::new();
            [random.hash_one(0), random.hash_one(1) | 1]
        });
        let [start, multiplier] = *KEYS;
        let (low, high) = (self.src.min(self.dst), self.src.max(self.dst));
        let mut number = start;
        let mut mix = |word: u64| {
            let product = u128::from(number ^ word) * u128::from(multiplier);
            number = product as u64 ^ (product >> 64) as u64;
        };
        mix(u64::from(low.port) << 16 | u64::from(high.port));
        for end in [low, high] {
            match end.address {
                IpAddr::V4(address) => mix(u32::from(address).into()),
                IpAddr::V6(address) => {
                    let address = u128::from(address);
                    mix(address as u64);
                    mix((address >> 64) as u64);
                }
            }
        }
        number
    }

    /// The ports of both ends.
    pub(super) const fn ports(&self) -> [u16; 2] {
        [self.src.port, self.dst.port]
    }

    /// Both ends, the sender first.
    pub(super) const fn pair(&self) -> (Endpoint, Endpoint) {
        (self.src, self.dst)
    }

    /// The opposite direction.
    pub(super) const fn back(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            ..self
        }
    }

    fn v4(end: Endpoint) -> Option<Value<'static>> {
        address(end.address).filter(|_| end.address.is_ipv4())
    }

    fn v6(end: Endpoint) -> Option<Value<'static>> {
        address(end.address).filter(|_| end.address.is_ipv6())
    }
}

type WayGetter = fn(&Way) -> Option<Value<'static>>;

/// The columns of [`Way`], which come before a table's own.
#[rustfmt::skip]
static WAY: &[ItemField<WayGetter>] = &[
    ItemField::new("frame.number", Kind::U64, |way| frame(way.frame),
        "Number of the record with the last octet of the row's message, from 1; NULL when the end of the capture completed it", "weir"),
    ItemField::new("frame.time", Kind::Time, |way| way.time_ns.map(Value::Time),
        "Capture time of that record", "weir"),
    ItemField::new("flow.id", Kind::U64, |way| number(way.flow).filter(|_| way.flow > 0),
        "Number of the flow, as in flows", "weir"),
    ItemField::new("proto", Kind::Text, |way| Some(Value::Text(way.transport)),
        "Transport protocol: udp, tcp or sctp; eapol of handshakes in 802.1X", "RFC 768; RFC 9293; RFC 9260"),
    ItemField::new("addr.src", Kind::Address, |way| address(way.ends()?[0].address),
        "Address of the sender", "RFC 791, 3.1; RFC 8200, 3"),
    ItemField::new("port.src", Kind::U16, |way| number(way.ends()?[0].port),
        "Port of the sender", "RFC 768; RFC 9293, 3.1"),
    ItemField::new("addr.dst", Kind::Address, |way| address(way.ends()?[1].address),
        "Address of the receiver", "RFC 791, 3.1; RFC 8200, 3"),
    ItemField::new("port.dst", Kind::U16, |way| number(way.ends()?[1].port),
        "Port of the receiver", "RFC 768; RFC 9293, 3.1"),
    ItemField::new("ip.src", Kind::Address, |way| Way::v4(way.ends()?[0]),
        "IPv4 address of the sender", "RFC 791, 3.1"),
    ItemField::new("ip.dst", Kind::Address, |way| Way::v4(way.ends()?[1]),
        "IPv4 address of the receiver", "RFC 791, 3.1"),
    ItemField::new("ipv6.src", Kind::Address, |way| Way::v6(way.ends()?[0]),
        "IPv6 address of the sender", "RFC 8200, 3"),
    ItemField::new("ipv6.dst", Kind::Address, |way| Way::v6(way.ends()?[1]),
        "IPv6 address of the receiver", "RFC 8200, 3"),
];

/// The columns of a table whose rows have a way: the file, the way, then its own.
pub(super) fn columns_with_way(own: Vec<Column>) -> Vec<Column> {
    let way = columns(&["frame.file"], WAY);
    offset_columns(way, WAY.len(), own)
}

/// The columns of an item whose values are those of `first`, then those of `second`.
pub(super) fn concat_columns(first: Vec<Column>, second: Vec<Column>) -> Vec<Column> {
    let items = first.len();
    offset_columns(first, items, second)
}

/// Columns with further ones, whose values follow the first `items` values of an item.
fn offset_columns(mut all: Vec<Column>, items: usize, further: Vec<Column>) -> Vec<Column> {
    all.extend(further.into_iter().map(|column| Column {
        origin: match column.origin {
            Origin::Item(index) => Origin::Item(index + items),
            other => other,
        },
        ..column
    }));
    all
}

/// A row: its way, and its other values.
pub(super) struct WithWay<'i> {
    pub(super) way: &'i Way,
    pub(super) own: &'i dyn Item,
}

impl Item for WithWay<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        match index.checked_sub(WAY.len()) {
            Some(own) => self.own.value(own),
            None => (WAY.get(index)?.get)(self.way),
        }
    }

    fn record(&self) -> Option<u64> {
        let frame = Some(self.way.frame).filter(|frame| *frame > 0);
        frame.or_else(|| self.own.record())
    }
}

/// Pushes a row with its way.
pub(super) type Push<'p> = dyn FnMut(&Way, &dyn Item) + 'p;

/// A protocol whose messages are rows.
pub(super) trait Protocol: Default + Send + 'static {
    /// The table's name.
    const NAME: &'static str;
    /// The number of bytes of the longest message of a stream.
    const MESSAGE_BYTES_MAX: usize = 1 << 16;

    /// Returns whether a datagram between these ports is a message.
    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool;

    /// Whether segments of TCP that a probe sent on are pieces of a stream, and not each a message.
    const READS_SEGMENTS: bool = false;

    /// Whether binary messages of WebSocket connections are pieces of a stream of the protocol, too.
    const IS_OVER_WEBSOCKET: bool = false;

    /// The first message of a segment of TCP that a probe sent on by itself, and the octets behind it.
    fn of_segment(bytes: &[u8]) -> (&[u8], &[u8]) {
        (bytes, &[])
    }

    /// The first message of a user message of SCTP, and the octets behind it where these begin with another one.
    fn of_user_message(bytes: &[u8]) -> (&[u8], &[u8]) {
        (bytes, &[])
    }

    /// Returns whether a stream between these ports with these first bytes has messages.
    fn begins(_bytes: &[u8], _ports: [u16; 2]) -> bool {
        false
    }

    /// Returns whether further bytes may make these the beginning of such a stream. On any port, only few bytes may.
    fn may_begin(bytes: &[u8]) -> bool {
        !bytes.is_empty() && Self::length(bytes) == Length::Wait
    }

    /// Returns whether the ports are those of the protocol.
    fn is_expected(_ports: [u16; 2]) -> bool {
        false
    }

    /// Returns whether a datagram between these ports, of which these bytes were captured, is counted as a truncated
    /// message.
    fn may_be_cut(_bytes: &[u8], ports: [u16; 2]) -> bool {
        Self::is_expected(ports)
    }

    /// Returns whether a datagram between these ports that is no message is counted.
    fn may_be_damaged(bytes: &[u8], ports: [u16; 2]) -> bool {
        Self::may_be_cut(bytes, ports)
    }

    /// Returns true for the identifiers of SCTP payloads that may carry messages in a way that is not read.
    fn is_of_other_carrier(_payload_protocol: u32) -> bool {
        false
    }

    /// Returns true for the identifiers of SCTP payloads that are messages of the protocol, or of the one that carries it.
    fn is_of_carrier(_payload_protocol: u32) -> bool {
        false
    }

    /// Whether a column marks truncated messages.
    const REPORTS_CUT: bool = false;

    /// Returns the end of the message at the beginning of these bytes of a stream.
    fn length(_bytes: &[u8]) -> Length {
        Length::Broken
    }

    /// The offset of the first message in octets that may begin with the rest of another one.
    fn find(_bytes: &[u8]) -> Option<usize> {
        None
    }

    /// Whether what [`Self::find`] finds is certain between any ports.
    const FINDS_ANYWHERE: bool = false;

    /// The number of octets of a message that [`Self::find`] needs; 0 where it finds none.
    const FIND_OCTETS: usize = 0;

    /// The number of octets at the end of octets in which [`Self::find`] finds no message, with which one may begin.
    fn begun(bytes: &[u8]) -> usize {
        bytes.len().min(Self::FIND_OCTETS.saturating_sub(1))
    }

    /// The number of whole messages in octets within a connection, with the first of which a message begins, where these are a part
    /// of the proof that it carries the protocol.
    fn proof(_bytes: &[u8]) -> Option<usize> {
        None
    }

    /// Returns true for a possible whole message of a stream in octets that may be the rest of another one.
    fn is_likely(_bytes: &[u8]) -> bool {
        true
    }

    /// Makes rows of a message; returns false when these bytes are no message of the protocol.
    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool;

    /// Makes rows as [`Self::message`], but returns `None` for an answer whose question is not known: it has no rows
    /// yet, and may wait.
    fn message_or_wait(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> Option<bool> {
        Some(self.message(bytes, way, push))
    }

    /// Ends the capture: pushes a row for an open entry; returns false when there is none.
    fn finish(&mut self, _push: &mut Push<'_>) -> bool {
        false
    }

    /// The counters of what was given up.
    fn counted(&self) -> Vec<(u64, &'static str)> {
        Vec::new()
    }
}

/// The end of a message of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// More bytes are needed.
    Wait,
    /// No message begins here.
    Broken,
    /// The message has `total` bytes, of which the first `skip` are not read.
    Message { skip: usize, total: usize },
}

/// Reads the messages of a protocol out of captures.
pub(super) struct Messages<P> {
    payloads: OpenedPayloads,
    over_websocket: Option<OverWebSocket>,
    streams: Followed<Conversation<Framer<P>>>,
    lost_bytes: u64,
    cut: CutDatagrams,
    protocol: P,
    early: EarlyAnswers,
    /// The messages that were complete only at the end of the capture.
    last: Option<VecDeque<(Vec<u8>, Way)>>,
}

/// The numbers of datagrams that were not captured in full, and of others without a row.
#[derive(Debug, Default)]
struct CutDatagrams {
    /// The number of those without a row.
    left_out: u64,
    /// The number of those whose rows do not mark the missing octets.
    in_part: u64,
    /// The number of whole datagrams on the protocol's ports that are no messages.
    damaged: u64,
    /// The number of messages of SCTP with payloads that are not read.
    of_other_carriers: u64,
    /// The number of whole messages of SCTP with the protocol's identifier that are no messages of it.
    of_carrier: u64,
}

impl CutDatagrams {
    /// Counts a datagram if it was truncated, or has no row; `is_read` is true when it has one.
    #[inline]
    fn take<P: Protocol>(&mut self, bytes: &[u8], way: &Way, is_read: bool) {
        let is_cut = way.missing > 0;
        // Segments of TCP that a probe sent on come one by one, too.
        let is_damaged = || ["udp", "tcp"].contains(&way.transport) && !bytes.is_empty();
        let count = match is_read {
            true if is_cut && !P::REPORTS_CUT => &mut self.in_part,
            false if is_cut && P::may_be_cut(bytes, way.ports()) => &mut self.left_out,
            false if !is_cut && is_damaged() && P::may_be_damaged(bytes, way.ports()) => {
                &mut self.damaged
            }
            _ => return,
        };
        *count = count.saturating_add(1);
    }

    /// Counts a message of SCTP if its payload may carry messages in a way that is not read, or should be one and is not.
    fn take_carrier<P: Protocol>(&mut self, carried: &Carried<'_>, way: &Way) {
        let Carried::Message { protocol, bytes } = carried else {
            return;
        };
        let count = if P::is_of_other_carrier(*protocol) {
            &mut self.of_other_carriers
        } else if P::is_of_carrier(*protocol) && !P::is_datagram(bytes, way.ports()) {
            match way.missing > 0 {
                true => &mut self.left_out,
                false => &mut self.of_carrier,
            }
        } else {
            return;
        };
        *count = count.saturating_add(1);
    }
}

/// The number of octets of a direction by which a protocol is proved.
const PROOF_OCTETS_MAX: usize = 1 << 12;
/// The number of bytes of messages under way, of all streams.
const HELD_BYTES_MAX: usize = 256 << 20;

impl<P: Protocol> Default for Messages<P> {
    fn default() -> Self {
        Self {
            payloads: Self::payloads(&Settings::default()),
            over_websocket: P::IS_OVER_WEBSOCKET.then(OverWebSocket::default),
            streams: Followed::new(HELD_BYTES_MAX),
            lost_bytes: 0,
            cut: CutDatagrams::default(),
            protocol: P::default(),
            early: EarlyAnswers::default(),
            last: None,
        }
    }
}

impl<P: Protocol> Messages<P> {
    /// Starts the messages of a protocol. TLS that carries them is decrypted with the secrets of the settings, if there are any.
    pub(super) fn start(settings: &Settings) -> Box<dyn Extract> {
        Box::new(Self {
            payloads: Self::payloads(settings),
            ..Self::default()
        })
    }

    /// The payloads of the protocol, with the secrets of the settings, by which TLS is decrypted.
    fn payloads(settings: &Settings) -> OpenedPayloads {
        let payloads = OpenedPayloads::with_settings(settings);
        match P::READS_SEGMENTS {
            true => payloads.with_segments_of_hep(),
            false => payloads,
        }
    }

    /// Reads a chunk of a TCP connection, and the WebSocket messages in it where these may carry the protocol.
    fn stream(
        over_websocket: Option<&mut OverWebSocket>,
        streams: &mut Followed<Conversation<Framer<P>>>,
        lost_bytes: &mut u64,
        (payload, chunk): (&Payload<'_>, &Chunk<'_>),
        each: &mut dyn FnMut(&[u8], &Way) -> bool,
    ) -> Interest {
        let mut piece = |payload: &Payload<'_>, chunk: &Chunk<'_>| {
            Self::chunk(streams, lost_bytes, (payload, chunk), each)
        };
        match over_websocket {
            Some(over_websocket) => over_websocket.chunk(payload, chunk, &mut piece),
            None => piece(payload, chunk),
        }
    }

    fn chunk(
        streams: &mut Followed<Conversation<Framer<P>>>,
        lost_bytes: &mut u64,
        (payload, chunk): (&Payload<'_>, &Chunk<'_>),
        each: &mut dyn FnMut(&[u8], &Way) -> bool,
    ) -> Interest {
        let ports = [chunk.source().port, chunk.destination().port];
        let looks = Looks::at_beginning(chunk, P::is_expected(ports));
        let ports = match streams.is_before(chunk.connection) {
            true => [0; 2],
            false => ports,
        };
        // Earlier octets may be missing, and those of the other direction before these show what the connection carries.
        let is_behind_gap = streams.is_behind_gap(chunk.connection);
        let is_within = |offset: u64| !chunk.saw_start || offset > 0;
        let other = match chunk.sender {
            Sender::Low => Sender::High,
            Sender::High => Sender::Low,
        };
        let lost = Some(other).filter(|_| is_behind_gap);
        let interest = streams.chunk_again(
            looks,
            (payload, chunk),
            |bytes, offset| match Self::begin(bytes, is_within(offset), ports, lost) {
                // These may be the first octets of a side of which the other one's are missing.
                Begin::Other if is_behind_gap => Self::proof(bytes),
                begin => begin,
            },
            |conversation, payload, chunk| {
                let way = Way::of(payload);
                conversation.chunk(chunk, lost_bytes, &mut |bytes, _| each(bytes, &way))
            },
            Conversation::is_sure,
        );
        *lost_bytes = lost_bytes.saturating_add(streams.take_missed());
        interest
    }

    /// Classifies octets of a connection between any ports, of which octets are missing, by the whole messages in them.
    fn proof(bytes: &[u8]) -> Begin<Conversation<Framer<P>>> {
        match P::proof(bytes.get(..PROOF_OCTETS_MAX).unwrap_or(bytes)) {
            Some(messages) => Begin::Likely(Conversation::new(Default::default(), true), messages),
            None => Begin::Other,
        }
    }

    /// Classifies octets of a connection that is not followed; those within it, and those of the direction that is not whole (`lost`), may
    /// be the rest of a message.
    fn begin(
        bytes: &[u8],
        is_within: bool,
        ports: [u16; 2],
        lost: Option<Sender>,
    ) -> Begin<Conversation<Framer<P>>> {
        let from_beginning = || {
            let framers = [Sender::Low, Sender::High].map(|side| match lost == Some(side) {
                true => Framer::within(),
                false => Framer::default(),
            });
            Begin::With(Conversation::new(framers, true))
        };
        let within = || {
            let framers = [Framer::within(), Framer::within()];
            Begin::With(Conversation::new(framers, true))
        };
        let is_message = || {
            let length = P::length(bytes);
            matches!(length, Length::Message { skip, total } if bytes.get(skip..total).is_some_and(P::is_likely))
        };
        // A proxy may lead to a server of the protocol, also on its port.
        if !is_within && !P::begins(bytes, [0; 2]) && !is_message() {
            match tunnel::beginning(bytes) {
                tunnel::Beginning::Request => return Begin::Before,
                tunnel::Beginning::Unsure => return Begin::Unsure,
                tunnel::Beginning::Other => {}
            }
        }
        let is_expected = P::is_expected(ports);
        let is_searched = is_within && (P::FINDS_ANYWHERE || is_expected);
        // The first message may be damaged.
        let may_follow = is_searched || P::FINDS_ANYWHERE && is_expected;
        match P::begins(bytes, ports) {
            // The port alone may be the reason, and the octets the rest of a message.
            true if is_within && P::FIND_OCTETS > 0 => within(),
            true => from_beginning(),
            // The capture may begin within a message that others follow in the same segment.
            false if may_follow && P::find(bytes).is_some() => within(),
            false if P::may_begin(bytes) => Begin::Unsure,
            // A header may go on in the next segment.
            false if is_searched => match P::begun(bytes) {
                0 => Begin::Other,
                octets => Begin::Within(octets),
            },
            false if is_within => Self::proof(bytes),
            false => Begin::Other,
        }
    }
}

/// Makes rows of a message, and of the answers that waited for it; an answer whose question is not known waits itself.
/// Returns false when these bytes are no message of the protocol.
fn take<P: Protocol>(
    protocol: &mut P,
    early: &mut EarlyAnswers,
    (bytes, way): (&[u8], &Way),
    push: &mut Push<'_>,
) -> bool {
    let Some(is_read) = protocol.message_or_wait(bytes, way, push) else {
        return early.keep(bytes, way) || protocol.message(bytes, way, push);
    };
    early.take_answers(way, &mut |EarlyAnswer { bytes, way }| {
        protocol.message_or_wait(bytes, way, push).is_some()
    });
    is_read
}

impl<P: Protocol> Extract for Messages<P> {
    fn keeps_records(&self) -> bool {
        true
    }

    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            payloads,
            over_websocket,
            streams,
            lost_bytes,
            cut,
            protocol,
            early,
            ..
        } = self;
        payloads.packet(row.packet, &mut |payload| {
            let way = Way::of(payload).within(row.packet, &payload.carried);
            let mut push = |way: &Way, own: &dyn Item| {
                rows.push_row(&row.with_item(&WithWay { way, own }));
            };
            while let Some(EarlyAnswer { bytes, way }) = early.take_due(way.passed_ns) {
                protocol.message(&bytes, &way, &mut push);
            }
            match payload.carried {
                Carried::Datagram(bytes) | Carried::Message { bytes, .. } => {
                    let divided = |bytes| match way.transport {
                        "tcp" => P::of_segment(bytes),
                        "sctp" => P::of_user_message(bytes),
                        _ => (bytes, Default::default()),
                    };
                    let (bytes, mut rest) = divided(bytes);
                    let is_read = P::is_datagram(bytes, way.ports())
                        && take(protocol, early, (bytes, &way), &mut push);
                    cut.take::<P>(bytes, &way, is_read);
                    while !rest.is_empty() {
                        let (bytes, behind) = divided(rest);
                        // Octets that are not all of a message are those of one that goes on in the next segment.
                        let is_whole = bytes.len() < rest.len() || way.transport == "sctp";
                        let is_read = is_whole
                            && P::is_datagram(bytes, way.ports())
                            && take(protocol, early, (bytes, &way), &mut push);
                        cut.take::<P>(bytes, &way, is_read);
                        rest = behind;
                    }
                    cut.take_carrier::<P>(&payload.carried, &way);
                    Interest::Follow
                }
                Carried::Stream(chunk) => {
                    let (over, piece) = (over_websocket.as_mut(), (payload, chunk));
                    Self::stream(over, streams, lost_bytes, piece, &mut |bytes, way| {
                        take(protocol, early, (bytes, way), &mut push)
                    })
                }
                _ => Interest::Ignore,
            }
        });
    }

    fn finish(&mut self, rows: &mut Rows) -> bool {
        let Self {
            payloads,
            over_websocket,
            streams,
            lost_bytes,
            cut,
            protocol,
            early,
            last,
        } = self;
        let last = last.get_or_insert_with(|| {
            let mut last = VecDeque::new();
            payloads.finish(&mut |payload| match payload.carried {
                Carried::Stream(chunk) => {
                    let (over, piece) = (over_websocket.as_mut(), (payload, chunk));
                    Self::stream(over, streams, lost_bytes, piece, &mut |bytes, way| {
                        last.push_back((bytes.to_vec(), *way));
                        true
                    })
                }
                // This is the first of the fragments of a packet whose others did not come.
                Carried::Datagram(bytes) | Carried::Message { bytes, .. } => {
                    let way = Way::of(payload);
                    let is_read = P::is_datagram(bytes, way.ports());
                    if is_read {
                        last.push_back((bytes.to_vec(), way));
                    }
                    cut.take::<P>(bytes, &way, is_read);
                    Interest::Ignore
                }
                _ => Interest::Ignore,
            });
            last
        });
        while !rows.is_full() {
            let mut push = |way: &Way, own: &dyn Item| push_item(rows, "", &WithWay { way, own });
            // The questions of waiting answers may be among the last messages.
            if last.is_empty()
                && let Some(EarlyAnswer { bytes, way }) = early.take_oldest()
            {
                protocol.message(&bytes, &way, &mut push);
                continue;
            }
            match last.pop_front() {
                Some((bytes, way)) => {
                    protocol.message(&bytes, &way, &mut push);
                }
                None if protocol.finish(&mut push) => {}
                None => return false,
            }
        }
        true
    }

    fn notes(&self) -> Vec<Note> {
        let own = [
            (
                self.streams.given_up(),
                "TCP connections were dropped because incomplete messages took more than 256 MiB",
            ),
            (
                self.lost_bytes,
                "bytes of TCP streams are not part of a complete message",
            ),
            (
                self.streams.not_understood(),
                "TCP connections on the protocol's ports carried no message that could be decoded",
            ),
            (
                self.cut.left_out,
                "datagrams are left out because too little of them was captured",
            ),
            (
                self.cut.in_part,
                "datagrams were not captured completely: their rows have the captured part",
            ),
            (
                self.cut.damaged,
                "datagrams on the protocol's ports are left out because they are not messages that could be decoded",
            ),
            (
                self.cut.of_other_carriers,
                "SCTP messages of M2UA, SUA and M2PA, which may carry others, are not read",
            ),
            (
                self.cut.of_carrier,
                "SCTP messages of M3UA are left out because they could not be decoded",
            ),
        ];
        let over_websocket = self.over_websocket.iter().flat_map(OverWebSocket::counted);
        let counted = own
            .into_iter()
            .chain(self.protocol.counted())
            .chain(over_websocket)
            .chain(self.payloads.given_up());
        Note::of(P::NAME, counted).collect()
    }
}

/// Cuts one direction of a stream by [`Protocol::length`].
#[derive(Debug)]
pub(super) struct Framer<P> {
    /// The beginning of a message whose end did not come yet.
    begun: Vec<u8>,
    /// Whether the next octets may be the rest of a message.
    is_lost: bool,
    protocol: std::marker::PhantomData<P>,
}

impl<P> Default for Framer<P> {
    fn default() -> Self {
        Self {
            begun: Vec::new(),
            is_lost: false,
            protocol: std::marker::PhantomData,
        }
    }
}

impl<P: Protocol> Framer<P> {
    /// Creates a framer that begins within a message.
    pub(super) fn within() -> Self {
        Self {
            is_lost: true,
            ..Self::default()
        }
    }

    /// Reports the whole messages in `bytes`; returns the number of processed bytes.
    fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(Piece<'_>)) -> usize {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.is_lost {
                let (lost, is_found) = Self::search(rest);
                if lost > 0 {
                    each(Piece::Lost(lost as u64));
                }
                at += lost;
                if !is_found {
                    return at;
                }
                self.is_lost = false;
                continue;
            }
            match P::length(rest) {
                Length::Message { skip, total }
                    if total <= P::MESSAGE_BYTES_MAX + HEADER_BYTES_MAX =>
                {
                    let Some(message) = rest.get(skip..total.max(1)) else {
                        return at;
                    };
                    each(Piece::Message(message));
                    at += total.max(1);
                    continue;
                }
                Length::Wait if rest.len() < HEADER_BYTES_MAX => return at,
                _ if P::FIND_OCTETS > 0 => {
                    each(Piece::Lost(1));
                    at += 1;
                    self.is_lost = true;
                    continue;
                }
                // The next message begins with the next piece, if anywhere.
                _ => {}
            }
            each(Piece::Lost(rest.len() as u64));
            return bytes.len();
        }
        bytes.len()
    }

    /// The number of octets before the next message, and whether a message begins after them.
    fn search(bytes: &[u8]) -> (usize, bool) {
        if P::FIND_OCTETS == 0 || Self::is_chain(bytes) {
            return (0, true);
        }
        match P::find(bytes) {
            Some(at) => (at, true),
            // Octets that may be the beginning of a message wait for more.
            None => (bytes.len().saturating_sub(P::FIND_OCTETS - 1), false),
        }
    }

    /// Returns whether the octets are adjacent whole messages up to the end, or to the beginning of a last one.
    fn is_chain(bytes: &[u8]) -> bool {
        let mut rest = bytes;
        while let Length::Message { skip, total } = P::length(rest) {
            let total = total.max(1);
            match rest.get(skip..total) {
                Some(message) if !P::is_likely(message) => return false,
                Some(_) if rest.len() == total => return true,
                Some(_) => rest = rest.get(total..).unwrap_or_default(),
                None => return rest.len() < bytes.len(),
            }
        }
        rest.len() < bytes.len() && P::length(rest) == Length::Wait
    }
}

/// The number of bytes that [`Protocol::length`] may need, at most.
const HEADER_BYTES_MAX: usize = 64;

impl<P: Protocol> Cut for Framer<P> {
    fn cut(&mut self, content: Content<'_>, each: &mut dyn FnMut(Piece<'_>)) {
        match content {
            // The rest of a message ended with the last piece.
            Content::Bytes(bytes)
                if self.is_lost && !self.begun.is_empty() && Self::is_chain(bytes) =>
            {
                let begun = std::mem::take(&mut self.begun);
                each(Piece::Lost(begun.len() as u64));
                let done = self.take(bytes, each);
                self.begun = bytes.get(done..).unwrap_or_default().to_vec();
            }
            Content::Bytes(bytes) if self.begun.is_empty() => {
                let done = self.take(bytes, each);
                self.begun = bytes.get(done..).unwrap_or_default().to_vec();
            }
            Content::Bytes(bytes) => {
                let mut begun = std::mem::take(&mut self.begun);
                begun.extend_from_slice(bytes);
                let done = self.take(&begun, each);
                begun.drain(..done.min(begun.len()));
                self.begun = begun;
            }
            Content::Gap(_) | Content::End(_) => {
                let begun = std::mem::take(&mut self.begun);
                if !begun.is_empty() {
                    each(Piece::Lost(begun.len() as u64));
                }
                self.is_lost = true;
            }
        }
    }

    fn held_bytes(&self) -> usize {
        self.begun.capacity()
    }
}
