//! Finds the WebSocket connections of a capture, and reports their handshakes, messages and violations.

use weir_flow::{Carried, Chunk, Content, Interest, Payload};
use weir_messages::http::{self, StreamsBegin};
use weir_packet::Packet;
use weir_ws::{Header, Opcode, Sender};

use super::frames::Arrival;
use super::sight::{MESSAGE_BYTES_MAX, WebSocketSight};
use super::socket::OneSocket;
use super::streams::Streams;
use crate::extract::followed::{Begin, Followed, Looks};
use crate::extract::note::Note;
use crate::extract::opened::OpenedPayloads;
use crate::extract::settings::Settings;

/// Finds WebSocket connections among the TCP connections of a capture and reads them: those whose
/// handshake is there (RFC 6455 section 4), and those that began before the capture, by their frames.
///
/// All memory is limited: connections and data that wait for missing segments by
/// [`StreamLimits`](weir_flow::StreamLimits), a message by [`DecoderOptions`](weir_ws::DecoderOptions), and all messages and windows together.
#[derive(Debug, Default)]
pub struct WebSockets {
    payloads: OpenedPayloads,
    followed: Connections,
}

/// The connections by their numbers.
#[derive(Debug)]
pub(crate) struct Connections {
    open: Followed<KnownConnection>,
    gap_bytes: u64,
    /// The number of bytes behind a request whose response was not captured.
    unread_bytes: u64,
    /// The number of connections without a handshake that broke a rule.
    dropped: u64,
    /// The number of HTTP/2 streams that were not read because of the limit.
    refused: u64,
    /// The number of HTTP/2 streams whose request or response was not seen.
    unanswered: u64,
}

/// A TCP connection.
#[derive(Debug)]
enum KnownConnection {
    /// The connection becomes a WebSocket connection, or was one before the capture.
    One(Box<OneSocket>),
    /// The streams of the connection may become WebSockets.
    Two(Box<Streams>),
}

/// The number of bytes of messages under way and windows, of all connections.
const HELD_BYTES_MAX: usize = 512 << 20;

impl WebSockets {
    /// The state before the first packet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates the same state with the secrets of the settings, by which TLS is decrypted.
    pub(crate) fn with_settings(settings: &Settings) -> Self {
        Self {
            payloads: OpenedPayloads::with_settings(settings).with_segments_of_hep(),
            ..Self::default()
        }
    }

    /// Reads the next packet of the capture, decoded to its transport header.
    pub fn packet(&mut self, packet: &Packet<'_>, each: &mut dyn FnMut(&WebSocketSight<'_>)) {
        let followed = &mut self.followed;
        self.payloads
            .packet(packet, &mut |payload| match payload.carried {
                Carried::Stream(chunk) => followed.chunk(payload, chunk, each),
                _ => Interest::Ignore,
            });
    }

    /// Ends the capture: reports events that waited for missing segments.
    pub fn finish(&mut self, each: &mut dyn FnMut(&WebSocketSight<'_>)) {
        let followed = &mut self.followed;
        self.payloads.finish(&mut |payload| match payload.carried {
            Carried::Stream(chunk) => followed.chunk(payload, chunk, each),
            _ => Interest::Ignore,
        });
    }

    /// The counters of what was given up because of limits, as text.
    #[must_use]
    pub fn notes(&self) -> Vec<Note> {
        let counted = [
            (
                self.followed.dropped,
                "WebSocket connections without a handshake were read up to their first violation",
            ),
            (
                self.followed.refused,
                "WebSocket connections over HTTP/2 were not read because more than 1,024 were open in one TCP connection",
            ),
            (
                self.followed.unanswered,
                "HTTP/2 streams that may be WebSocket connections were not read because their request or response was not captured",
            ),
        ];
        let all = self.followed.counted().into_iter().chain(counted);
        Note::of("", all.chain(self.payloads.given_up())).collect()
    }
}

impl Connections {
    /// The counters of what is missing of connections, or was given up because of limits.
    pub(crate) const fn counted(&self) -> [(u64, &'static str); 3] {
        [
            (
                self.open.given_up(),
                "WebSocket connections were dropped because messages and windows took more than 512 MiB",
            ),
            (
                self.gap_bytes,
                "bytes of WebSocket connections were not captured",
            ),
            (
                self.unread_bytes,
                "bytes of WebSocket connections were not read because the handshake before them was not captured completely",
            ),
        ]
    }

    pub(crate) fn chunk(
        &mut self,
        payload: &Payload<'_>,
        chunk: &Chunk<'_>,
        each: &mut dyn FnMut(&WebSocketSight<'_>),
    ) -> Interest {
        let Self {
            open,
            gap_bytes,
            unread_bytes,
            dropped,
            refused,
            unanswered,
        } = self;
        // Behind a gap, the handshake may be what is missing.
        let is_behind_gap = open.is_behind_gap(chunk.connection);
        let place = |offset| match is_behind_gap {
            true => (false, 0),
            false => (chunk.saw_start, offset),
        };
        open.chunk_again(
            Looks::MANY,
            (payload, chunk),
            |bytes, offset| match begins(bytes, place(offset)) {
                Begin::With(opening) => Begin::With(KnownConnection::new(chunk, opening)),
                Begin::Likely(..) | Begin::Unsure => Begin::Unsure,
                Begin::Within(octets) => Begin::Within(octets),
                Begin::Before => Begin::Before,
                Begin::Other => Begin::Other,
            },
            |known, payload, chunk| {
                let now = Arrival::of(payload, chunk);
                if let Content::Gap(bytes) = chunk.content {
                    *gap_bytes = gap_bytes.saturating_add(bytes);
                }
                match known {
                    KnownConnection::One(socket) => {
                        let waiting = match chunk.content {
                            Content::Gap(_) => socket.socket().bytes_behind_heads(),
                            _ => 0,
                        };
                        let goes_on = socket.chunk(chunk, now, each);
                        if !goes_on {
                            *unread_bytes = unread_bytes.saturating_add(waiting);
                        }
                        let broke = socket.socket().is_mid_stream() && !goes_on;
                        *dropped = dropped.saturating_add(broke.into());
                        (goes_on && !chunk.is_last).then(|| socket.socket().held_bytes())
                    }
                    KnownConnection::Two(streams) => {
                        streams.chunk(chunk, now, each);
                        let counts = streams.take_counts();
                        *dropped = dropped.saturating_add(counts.dropped);
                        *refused = refused.saturating_add(counts.refused);
                        *unanswered = unanswered.saturating_add(counts.unanswered);
                        (!chunk.is_last).then(|| streams.held_bytes())
                    }
                }
            },
            // Another request or another answer may precede the handshake.
            |known| match known {
                KnownConnection::One(socket) => socket.socket().is_open(),
                KnownConnection::Two(_) => true,
            },
        )
    }
}

impl KnownConnection {
    fn new(chunk: &Chunk<'_>, opening: Opening) -> Self {
        let socket = |from_client| Self::One(Box::new(OneSocket::new(chunk, from_client)));
        let streams =
            |is_whole, from_client| Self::Two(Box::new(Streams::new(chunk, is_whole, from_client)));
        match opening {
            Opening::Client => socket(true),
            Opening::Server => socket(false),
            Opening::StreamsOfClient => streams(true, true),
            Opening::StreamsOfServer => streams(true, false),
            Opening::StreamsFromMiddle { from_client } => streams(false, from_client),
        }
    }
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            open: Followed::new(HELD_BYTES_MAX),
            gap_bytes: 0,
            unread_bytes: 0,
            dropped: 0,
            refused: 0,
            unanswered: 0,
        }
    }
}

/// The classification of the first bytes of a connection that may carry WebSockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// A client's request, or its frames.
    Client,
    /// A server's response, or its frames.
    Server,
    /// A client's preface of HTTP/2.
    StreamsOfClient,
    /// A server's settings of HTTP/2.
    StreamsOfServer,
    /// Frames of HTTP/2 that carry frames of WebSocket, of a connection that began before the capture.
    StreamsFromMiddle { from_client: bool },
}

/// Classifies the first bytes of a connection. After a SYN, and after another message, a connection has a handshake:
/// the place is whether the SYN was captured, and how many bytes are before these.
pub(crate) fn begins(bytes: &[u8], (saw_start, offset): (bool, u64)) -> Begin<Opening> {
    match http::Streams::begins(bytes) {
        StreamsBegin::Client => return Begin::With(Opening::StreamsOfClient),
        StreamsBegin::Server => return Begin::With(Opening::StreamsOfServer),
        StreamsBegin::Unsure => return Begin::Unsure,
        StreamsBegin::Other => {}
    }
    let is_start = saw_start || offset > 0;
    match first_bytes(bytes, is_start) {
        Begin::With(true) => Begin::With(Opening::Client),
        Begin::With(false) => Begin::With(Opening::Server),
        Begin::Likely(..) | Begin::Unsure => Begin::Unsure,
        Begin::Within(octets) => Begin::Within(octets),
        // Another request, or an answer to one, precedes the handshake at times.
        Begin::Before | Begin::Other if http::looks_like_http(bytes) => Begin::Before,
        Begin::Before | Begin::Other if is_start => Begin::Other,
        Begin::Before | Begin::Other => streams_from_middle(bytes).into(),
    }
}

/// The first data in frames of HTTP/2 show which side the client is: it masks its frames.
fn streams_from_middle(bytes: &[u8]) -> Option<Opening> {
    let data = http::Streams::first_data(bytes).filter(|data| !data.is_empty())?;
    let from_client = data.get(1)? & 0x80 != 0;
    are_frames(data, from_client).then_some(Opening::StreamsFromMiddle { from_client })
}

/// Returns whether the first bytes are a client's, where they may be a WebSocket's. Without a handshake, all bytes have
/// to look like frames: only clients mask.
fn first_bytes(bytes: &[u8], is_start: bool) -> Begin<bool> {
    let begins = |with: &[u8]| with.starts_with(bytes) || bytes.starts_with(with);
    if bytes.is_empty() {
        return Begin::Other;
    }
    if begins(b"GET ") {
        let is_whole = bytes.windows(4).any(|end| end == b"\r\n\r\n");
        let word: &[u8] = b"websocket";
        let upgrades = || {
            bytes
                .windows(word.len())
                .any(|at| at.eq_ignore_ascii_case(word))
        };
        return (!is_whole || upgrades()).then_some(true).into();
    }
    if begins(b"HTTP/1.") {
        // Any other response is one to an earlier request: to a page, or to CONNECT.
        return match bytes.get(9) {
            None => Begin::Unsure,
            Some(b'1') => Begin::With(false),
            Some(_) => Begin::Other,
        };
    }
    if is_start {
        return Begin::Other;
    }
    if Header::parse(bytes).is_none() {
        return Begin::Unsure;
    }
    let masked = bytes.get(1).is_some_and(|octet| octet & 0x80 != 0);
    are_frames(bytes, masked).then_some(masked).into()
}

/// Returns whether there is a chain of frames from here on, the first of which is whole or a control frame or the
/// beginning of a message.
fn are_frames(bytes: &[u8], masked: bool) -> bool {
    let sender = match masked {
        true => Sender::Client,
        false => Sender::Server,
    };
    let mut rest = bytes;
    let mut first = true;
    while !rest.is_empty() {
        let Some(header) = Header::parse(rest) else {
            return !first;
        };
        let mut is_plausible = !(first && header.opcode == Opcode::Continuation && !header.fin);
        header.check(Some(sender), true, &mut |_| is_plausible = false);
        if !is_plausible {
            return false;
        }
        let after = rest
            .get(usize::from(header.header_len)..)
            .unwrap_or_default();
        let Some(payload) = usize::try_from(header.payload_len)
            .ok()
            .and_then(|len| after.get(..len))
        else {
            // The frame continues in the next segment.
            return header.payload_len <= MESSAGE_BYTES_MAX as u64;
        };
        if !header.is_valid_text(payload) {
            return false;
        }
        rest = after.get(payload.len()..).unwrap_or_default();
        first = false;
    }
    !first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_tell_whose_they_are() {
        let side = |bytes: &[u8], is_start| match first_bytes(bytes, is_start) {
            Begin::With(from_client) => Some(from_client),
            _ => None,
        };
        let cases: &[(&[u8], Option<bool>)] = &[
            (b"", None),
            (b"G", Some(true)),
            (b"GET /chat HTTP/1.1\r\nUpg", Some(true)),
            (b"GET / HTTP/1.1\r\nUpgrade: WebSocket\r\n\r\n", Some(true)),
            (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", None),
            (b"HTTP/1.1 101 Switching", Some(false)),
            (b"HTTP/1.1 103 Early Hints", Some(false)),
            (b"HTTP/1.1 ", None),
            (b"HTTP/1.1 200 Connection established\r\n\r\n", None),
            (b"POST / HTTP/1.1\r\n", None),
            (b"\x81\x02hi", Some(false)),
            (b"\x81\x82\0\0\0\0hi\x89\x80\0\0\0\0", Some(true)),
            // A text that continues later is a server's; bytes that are not UTF-8 are no WebSocket's.
            (b"\x81\x7e\x10\x00abc", Some(false)),
            (b"\x81\x02\xff\xff", None),
            // These are DNS over TCP, TLS, SSH and SIP.
            (b"\x00\x1d\x12\x34\x01\x00\x00\x01", None),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", None),
            (b"SSH-2.0-OpenSSH_9.2\r\n", None),
            (b"INVITE sip:a@b SIP/2.0\r\n", None),
            // These are a frame whose length could be shorter, and a masked and an unmasked one.
            (b"\x81\x7e\x00\x02hi", None),
            (b"\x81\x02hi\x81\x82\0\0\0\0hi", None),
        ];
        for (bytes, expected) in cases {
            let shown = bytes.escape_ascii();
            assert_eq!(side(bytes, false), *expected, "{shown}");
            // A SYN is followed by a handshake.
            let is_http = bytes.starts_with(b"G") || bytes.starts_with(b"HTTP");
            let expected = expected.filter(|_| is_http);
            assert_eq!(side(bytes, true), expected, "{shown}");
        }
        // More bytes are needed to recognise these.
        let unsure: [(&[u8], bool); 4] = [
            (b"H", true),
            (b"HTTP/1.1 ", true),
            (b"\x81", false),
            (b"\x82\x7e\x01", false),
        ];
        for (bytes, is_start) in unsure {
            let found = first_bytes(bytes, is_start);
            assert!(matches!(found, Begin::Unsure), "{}", bytes.escape_ascii());
        }
    }
}
