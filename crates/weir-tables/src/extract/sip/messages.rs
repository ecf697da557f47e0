//! Finds the SIP messages of a capture.

use std::net::SocketAddr;

use weir_flow::{Carried, Chunk, Content, Interest, Payload, Sender};
use weir_packet::Packet;
use weir_sip::{Digest, Flow, Framer, FramerEvent, Limits, Message, looks_like_sip};
use weir_ws::{ConnectionEvent, Direction, Event, Opcode};

use super::arrivals::Arrivals;
use super::segments::CutMessages;
use crate::extract::conversation::{Conversation, Cut, Piece};
use crate::extract::followed::{Begin, Followed, Looks};
use crate::extract::note::Note;
use crate::extract::opened::OpenedPayloads;
use crate::extract::settings::Settings;
use crate::extract::tunnel;
use crate::extract::websocket::{self, Connections, WebSocketSight};

/// Finds the SIP messages of a capture, on any port: in datagrams of UDP (RFC 3261, 18), in TCP streams,
/// cut by Content-Length (18.3), in messages of SCTP (RFC 4168) and of WebSocket connections (RFC 7118).
///
/// Fragments and segments are reassembled, and tunnels decoded, as [`weir_flow::Payloads`] does. The buffers of streams
/// are limited to 256 MiB of messages under way.
#[derive(Debug, Default)]
pub struct SipMessages {
    payloads: OpenedPayloads,
    streams: SipFinder,
}

/// A message, with its addresses, transport and time.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SipMessage<'m> {
    /// The bytes.
    pub bytes: &'m [u8],
    /// The addresses, transport and time of the message.
    pub way: SipWay,
    /// The numbers of the other records in which it came, possibly repeated: those of its IP fragments, TCP segments
    /// and SCTP chunks, and of the messages that carry it. Of more than 4,096 the first are left out.
    pub others: &'m [u64],
}

impl<'m> SipMessage<'m> {
    /// The message with its headers. `None` when the octets are not a message within the default limits.
    #[must_use]
    pub fn parsed(&self) -> Option<Message<'m>> {
        Message::parse(self.bytes, &Limits::default()).ok()
    }
}

/// The addresses, transport and time of a message.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct SipWay {
    /// The sockets, with the number of their flow in the table `flows`.
    pub flow: Flow,
    /// The transport.
    pub transport: SipTransport,
    /// The time of the packet that completed it, or of the last one of what there is of it, in nanoseconds since 1970.
    pub time_ns: Option<i64>,
    /// The time that had passed in the capture by then, which deadlines use.
    pub passed_ns: i64,
    /// The number of that packet's record; 0 when the capture's end completed the message.
    pub frame: u64,
}

/// The transport of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SipTransport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// SCTP.
    Sctp,
    /// WebSocket over TCP.
    WebSocket,
}

impl SipTransport {
    /// The name in Via headers, in lower case: `udp`, `tcp`, `sctp`, `ws`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::Sctp => "sctp",
            Self::WebSocket => "ws",
        }
    }
}

/// Finds messages in payloads, with the TCP connections that may carry them.
#[derive(Debug)]
pub(crate) struct SipFinder {
    open: Followed<SipCarrier>,
    web_sockets: Connections,
    cut_messages: CutMessages,
    lost_bytes: u64,
    /// The number of datagrams of which less than the first line was captured.
    cut: u64,
    /// The number of datagrams on the protocol's port that do not begin as a message does.
    other: u64,
}

impl Default for SipFinder {
    fn default() -> Self {
        Self {
            open: Followed::new(HELD_BYTES_MAX),
            web_sockets: Connections::default(),
            cut_messages: CutMessages::default(),
            lost_bytes: 0,
            cut: 0,
            other: 0,
        }
    }
}

/// The contents of a connection.
#[derive(Debug)]
enum SipCarrier {
    Sip(Box<Conversation<Framer>>, [Arrivals; 2]),
    WebSocket,
}

/// The number of bytes of messages under way, of all streams.
const HELD_BYTES_MAX: usize = 256 << 20;
const SIP_PORT: u16 = 5060;
/// The magic cookie of STUN, which follows a type and a length (RFC 8489, 5).
const STUN_COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// The number of octets by which some phones show that they are there.
const KEEP_ALIVE_OCTETS: usize = 4;
/// The number of octets of the longest first line of a possible message.
const LINE_BYTES_MAX: usize = 8_192;
/// The number of octets with which a segment begins that has no more than a part of a first line.
const LINE_BYTES_MIN: usize = 4;

impl SipMessages {
    /// The state before the first packet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the same state with the secrets of the settings, by which TLS is decrypted.
    pub(crate) fn with_settings(settings: &Settings) -> Self {
        Self {
            payloads: OpenedPayloads::with_settings(settings).with_upgrades_of_hep(),
            ..Self::default()
        }
    }

    /// Reads the next packet of the capture, decoded to its transport header, and reports the messages that it
    /// completes.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&SipMessage<'_>)) {
        let streams = &mut self.streams;
        self.payloads
            .packet(packet, &mut |payload| streams.payload(payload, each));
    }

    /// Ends the capture: reports messages that waited for missing segments.
    pub fn finish(&mut self, each: &mut dyn FnMut(&SipMessage<'_>)) {
        let streams = &mut self.streams;
        self.payloads
            .finish(&mut |payload| streams.payload(payload, each));
        streams.finish(each);
    }

    /// The items that were not read, or given up for limits, as text.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let counted = self.streams.counted();
        Note::of("", counted.into_iter().chain(self.payloads.given_up())).collect()
    }
}

/// Returns the addresses, transport and time of a payload.
fn way(payload: &Payload<'_>, transport: SipTransport) -> SipWay {
    let (src, dst) = payload.key.ends(payload.sender);
    SipWay {
        flow: Flow {
            src: src.into(),
            dst: dst.into(),
            number: (payload.flow > 0).then_some(payload.flow),
        },
        transport,
        time_ns: payload.time_ns,
        passed_ns: payload.passed_ns,
        frame: payload.frame,
    }
}

impl SipFinder {
    /// Returns the counters of what was not read, or was given up because of limits, each with its description.
    pub(crate) const fn counted(&self) -> [(u64, &'static str); 4] {
        [
            (
                self.open.given_up(),
                "TCP connections were dropped because incomplete messages took more than 256 MiB",
            ),
            (
                self.lost_bytes,
                "bytes of TCP streams are not part of a complete message",
            ),
            (
                self.cut.saturating_add(self.cut_messages.in_first_line()),
                "datagrams are left out because they were cut within their first line",
            ),
            (
                self.other,
                "datagrams on port 5060 are left out because they do not begin as a SIP message does, as those of SigComp",
            ),
        ]
    }

    /// Reads the next payload, and reports the messages that it completes.
    pub(crate) fn payload(
        &mut self,
        payload: &Payload<'_>,
        each: &mut dyn FnMut(&SipMessage<'_>),
    ) -> Interest {
        let (bytes, transport) = match payload.carried {
            Carried::Datagram(bytes) => match payload.key.protocol() {
                // A probe forwarded a message that came over TCP.
                6 => (bytes, SipTransport::Tcp),
                132 => (bytes, SipTransport::Sctp),
                _ => (bytes, SipTransport::Udp),
            },
            Carried::Message { bytes, .. } => (bytes, SipTransport::Sctp),
            Carried::Stream(chunk) => return self.chunk(payload, chunk, each),
            _ => return Interest::Ignore,
        };
        let joined = match transport {
            // A segment that a probe forwarded may go on with the message of the last one.
            SipTransport::Tcp => {
                let way = way(payload, transport);
                self.cut_messages.join((payload, bytes), &way, each)
            }
            _ => None,
        };
        let (bytes, others) = match &joined {
            Some((bytes, others)) => (bytes.as_slice(), others.as_slice()),
            None => (bytes, payload.others),
        };
        let is_segment = transport == SipTransport::Tcp;
        let is_line = is_segment && bytes.len() >= LINE_BYTES_MIN && may_begin(bytes);
        let is_begun = is_line || looks_like_sip(bytes);
        let ports = payload.key.ports();
        if payload.missing > 0 && !bytes.contains(&b'\n') {
            let is_sip = is_begun || ports.contains(&SIP_PORT);
            self.cut = self.cut.saturating_add(is_sip.into());
        } else if is_begun {
            let way = way(payload, transport);
            let mut rest = bytes;
            // It may have several messages, too.
            while is_segment && let Some((bytes, behind)) = split_first(rest) {
                each(&SipMessage { bytes, way, others });
                rest = behind;
            }
            let may_go_on = is_segment && payload.missing == 0;
            if !may_go_on || !self.cut_messages.keep(rest, (&way, others), each) {
                let bytes = rest;
                each(&SipMessage { bytes, way, others });
            }
        } else if ports.contains(&SIP_PORT) && !is_keep_alive(bytes) {
            self.other = self.other.saturating_add(1);
        }
        Interest::Follow
    }

    /// Ends the capture: reports messages whose end did not come.
    pub(crate) fn finish(&mut self, each: &mut dyn FnMut(&SipMessage<'_>)) {
        self.cut_messages.finish(each);
    }

    fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut dyn FnMut(&SipMessage<'_>),
    ) -> Interest {
        let Self {
            open,
            web_sockets,
            lost_bytes,
            ..
        } = self;
        let ports = [chunk.source().port, chunk.destination().port];
        // A proxy may be on the port.
        let is_known = ports.contains(&SIP_PORT) && !open.is_before(chunk.connection);
        let mut is_sip = false;
        // A WebSocket may come after another request.
        let interest = open.chunk_again(
            Looks::MANY,
            (payload, chunk),
            |bytes, offset| {
                let place = (chunk.saw_start, offset);
                SipCarrier::begins(bytes, place, is_known)
            },
            |stream, payload, chunk| match stream {
                SipCarrier::Sip(conversation, arrivals) => {
                    let packets = arrivals_of(arrivals, chunk.sender);
                    let way = way(payload, SipTransport::Tcp);
                    let before = packets.before(payload.others);
                    let mut others = &*before;
                    let mut waiting = Waiting::before(chunk, conversation);
                    let held = conversation.chunk(chunk, lost_bytes, &mut |bytes, _| {
                        if let Some(waiting) = &mut waiting {
                            waiting.report(bytes, packets, way, each);
                            return true;
                        }
                        each(&SipMessage { bytes, way, others });
                        // The octets that follow began in this piece.
                        others = payload.others;
                        true
                    });
                    is_sip = conversation.is_sure();
                    let held = held?;
                    packets.take(payload, chunk.content, conversation.held_of(chunk.sender));
                    let packets = arrivals.iter().map(Arrivals::held_bytes);
                    Some(held.saturating_add(packets.sum()))
                }
                SipCarrier::WebSocket => {
                    let interest = web_sockets.chunk(payload, chunk, &mut |sight| {
                        if let Some(message) = message_in(sight, payload) {
                            each(&message);
                        }
                    });
                    (interest != Interest::Ignore).then_some(0)
                }
            },
            SipCarrier::is_understood,
        );
        let missed = open.take_missed();
        *lost_bytes = lost_bytes.saturating_add(if is_sip { missed } else { 0 });
        interest
    }
}

/// The first message of several, which ends as its Content-Length says, and the others.
fn split_first(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let message = Message::parse(bytes, &Limits::default()).ok()?;
    let length = Digest::of(&message).content_length?;
    let length = usize::try_from(length).ok()?;
    let end = message.headers_end().checked_add(length)?;
    let (first, behind) = bytes.split_at_checked(end)?;
    let behind = behind.trim_ascii_start();
    let is_next = looks_like_sip(behind) || may_begin(behind);
    is_next.then_some((first, behind))
}

/// True of what keeps the binding of a NAT alive: line ends, a few octets, or STUN (RFC 5626, 3.5).
fn is_keep_alive(bytes: &[u8]) -> bool {
    let is_blank = |byte: &u8| matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n');
    let is_stun = bytes.get(4..8) == Some(&STUN_COOKIE);
    bytes.len() <= KEEP_ALIVE_OCTETS || is_stun || bytes.iter().all(is_blank)
}

const fn arrivals_of([low, high]: &mut [Arrivals; 2], sender: Sender) -> &mut Arrivals {
    match sender {
        Sender::Low => low,
        Sender::High => high,
    }
}

/// The octets of a direction that wait at its end or at a gap: a message whose body is longer than them, and those that stand
/// in what would be its body.
struct Waiting {
    octets: usize,
    /// The address of the first octet, which begins the first message.
    start: Option<usize>,
}

impl Waiting {
    /// `None` before a chunk of octets.
    fn before(chunk: &Chunk<'_>, conversation: &Conversation<Framer>) -> Option<Self> {
        let octets = conversation.held_of(chunk.sender);
        let start = None;
        (!matches!(chunk.content, Content::Bytes(_))).then_some(Self { octets, start })
    }

    /// Reports a message at the packet with its last octet.
    fn report(
        &mut self,
        bytes: &[u8],
        packets: &Arrivals,
        way: SipWay,
        each: &mut dyn FnMut(&SipMessage<'_>),
    ) {
        let address = bytes.as_ptr().addr();
        let start = *self.start.get_or_insert(address);
        let end = address.saturating_sub(start).saturating_add(bytes.len());
        let behind = self.octets.saturating_sub(end);
        let arrived = packets.of_message(bytes.len(), behind);
        let (way, others) = match &arrived {
            Some(arrived) => {
                let (time_ns, frame) = (arrived.time_ns, arrived.frame);
                let way = SipWay {
                    time_ns,
                    frame,
                    ..way
                };
                (way, arrived.others.as_slice())
            }
            None => (way, &[][..]),
        };
        each(&SipMessage { bytes, way, others });
    }
}

/// The SIP message in a WebSocket message (RFC 7118, 5.2), and its way. The message may have come before the payload by
/// which the connection is recognised as one of WebSocket.
fn message_in<'m>(sight: &WebSocketSight<'m>, payload: &Payload<'_>) -> Option<SipMessage<'m>> {
    let ConnectionEvent::Wire(direction, Event::Message(message)) = sight.event else {
        return None;
    };
    if !matches!(message.opcode, Opcode::Text | Opcode::Binary) || !looks_like_sip(message.payload)
    {
        return None;
    }
    let (client, server) = (sight.ends.client.into(), sight.ends.server.into());
    let (src, dst) = match direction {
        Direction::ToServer => (client, server),
        Direction::ToClient => (server, client),
    };
    let of_payload = way(payload, SipTransport::WebSocket);
    Some(SipMessage {
        bytes: message.payload,
        way: SipWay {
            flow: Flow {
                src,
                dst,
                ..of_payload.flow
            },
            time_ns: sight.time_ns,
            frame: sight.frame,
            ..of_payload
        },
        others: sight.others,
    })
}

impl SipCarrier {
    /// Returns false when the connection may carry something else after all.
    const fn is_understood(&self) -> bool {
        match self {
            Self::Sip(conversation, _) => conversation.is_sure(),
            Self::WebSocket => true,
        }
    }

    /// The possible contents of a connection with these first bytes; `place` is whether it was captured from its
    /// beginning, and the number of bytes before them.
    fn begins(bytes: &[u8], place: (bool, u64), is_known: bool) -> Begin<Self> {
        let text = bytes.trim_ascii_start();
        let sip = |is_sure| {
            let framers = [Framer::default(), Framer::default()];
            let conversation = Box::new(Conversation::new(framers, is_sure));
            Begin::With(Self::Sip(conversation, Default::default()))
        };
        let is_first = place.1 == 0;
        if is_first && is_known && place.0 {
            match tunnel::beginning(bytes) {
                tunnel::Beginning::Request => return Begin::Before,
                tunnel::Beginning::Unsure => return Begin::Unsure,
                tunnel::Beginning::Other => {}
            }
        }
        if is_first && text.is_empty() || looks_like_sip(behind_blanks(bytes)) {
            return sip(is_known);
        }
        // The capture may begin within a message that others follow in the same segment.
        let is_from_middle = !place.0;
        if is_from_middle && has_message(bytes) {
            return sip(true);
        }
        let is_before = match websocket::begins(bytes, place) {
            Begin::With(_) => return Begin::With(Self::WebSocket),
            Begin::Likely(..) | Begin::Unsure => return Begin::Unsure,
            Begin::Within(octets) => return Begin::Within(octets),
            Begin::Before => true,
            Begin::Other => false,
        };
        // The first line may go on in the next segment.
        let line_goes_on = is_first
            && text.len() < LINE_BYTES_MAX
            && text.iter().all(|byte| matches!(byte, b' '..=b'~'))
            && text.first().is_some_and(u8::is_ascii_uppercase);
        if is_known || line_goes_on {
            return sip(is_known);
        }
        // Behind something else, too, a first line may come in several segments.
        let last_line = bytes.rsplit(|byte| *byte == b'\n').next();
        let last_line = last_line.unwrap_or_default();
        let last_line = last_line.strip_suffix(b"\r").unwrap_or(last_line);
        if may_begin(text) || is_from_middle && may_begin(last_line) {
            return Begin::Unsure;
        }
        match is_before {
            true => Begin::Before,
            false => Begin::Other,
        }
    }
}

/// The octets behind keep-alives of NUL and white space.
fn behind_blanks(bytes: &[u8]) -> &[u8] {
    let is_blank = |byte: &&u8| **byte == 0 || byte.is_ascii_whitespace();
    let blanks = bytes.iter().take_while(is_blank).count();
    bytes.get(blanks..).unwrap_or_default()
}

/// True of octets with a message behind the first line: a start line, and a header where more octets follow.
fn has_message(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let mut rest = bytes;
    lines.any(|line| {
        rest = rest.get(line.len().saturating_add(1)..).unwrap_or_default();
        // Most lines do not begin a message.
        rest.first().is_some_and(u8::is_ascii_uppercase)
            && rest.contains(&b'\n')
            && looks_like_sip(rest)
            && is_header(rest.split(|byte| *byte == b'\n').nth(1).unwrap_or_default())
    })
}

/// True of the beginning of a header field, or of nothing.
fn is_header(line: &[u8]) -> bool {
    let name = line
        .split(|byte| *byte == b':')
        .next()
        .unwrap_or_default()
        .trim_ascii();
    name.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

/// True of octets that more may make the first line of a message with a usual method, or of a response.
pub(super) fn may_begin(text: &[u8]) -> bool {
    let is_line = !text.is_empty()
        && text.len() < LINE_BYTES_MAX
        && text.iter().all(|byte| matches!(byte, b' '..=b'~'));
    is_line
        && BEGINNINGS
            .iter()
            .any(|begins| begins.starts_with(text) || text.starts_with(begins))
}

/// True of octets that begin with a usual method, or as a response does.
pub(super) fn begins_with_method(text: &[u8]) -> bool {
    BEGINNINGS.iter().any(|begins| text.starts_with(begins))
}

/// The beginnings of messages that [`may_begin`] looks for.
const BEGINNINGS: [&[u8]; 15] = [
    b"ACK ",
    b"BYE ",
    b"CANCEL ",
    b"INFO ",
    b"INVITE ",
    b"MESSAGE ",
    b"NOTIFY ",
    b"OPTIONS ",
    b"PRACK ",
    b"PUBLISH ",
    b"REFER ",
    b"REGISTER ",
    b"SIP/2.0 ",
    b"SUBSCRIBE ",
    b"UPDATE ",
];

impl Cut for Framer {
    fn cut(&mut self, content: Content<'_>, each: &mut dyn FnMut(Piece<'_>)) {
        // The conversation counts these.
        let missing = match content {
            Content::Gap(octets) => octets,
            _ => 0,
        };
        let mut lost = None::<u64>;
        let mut event = |event: FramerEvent<'_>| match event {
            FramerEvent::Message { bytes, .. } => each(Piece::Message(bytes)),
            FramerEvent::Lost { bytes, .. } => {
                lost = Some(lost.unwrap_or_default().saturating_add(bytes));
            }
            _ => {}
        };
        match content {
            Content::Bytes(bytes) => self.feed(bytes, &mut event),
            Content::Gap(missing) => self.gap(missing, &mut event),
            Content::End(_) => self.finish(&mut event),
        }
        if let Some(lost) = lost {
            each(Piece::Lost(lost.saturating_sub(missing)));
        }
    }

    fn held_bytes(&self) -> usize {
        Self::held_bytes(self)
    }

    fn held_of_message(&self) -> usize {
        Self::held_of_message(self)
    }
}

impl<'m> SipMessage<'m> {
    /// Creates a message that was stored, without the other records in which it came.
    pub(crate) const fn new(bytes: &'m [u8], way: SipWay) -> Self {
        Self {
            bytes,
            way,
            others: &[],
        }
    }
}

impl SipWay {
    /// The sender.
    #[must_use]
    pub const fn source(&self) -> SocketAddr {
        self.flow.src
    }

    /// The receiver.
    #[must_use]
    pub const fn destination(&self) -> SocketAddr {
        self.flow.dst
    }
}
