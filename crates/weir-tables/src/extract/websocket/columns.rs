//! The columns of the table `websocket`, and the row from which they get their values.

use std::borrow::Cow;

use weir_flow::Endpoint;
use weir_packet::{Kind, Value};
use weir_ws::{Direction, Handshake, Message, Opcode};

use super::{WebSocketEnds, WebSocketSight};
use crate::extract::extraction::ItemField;
use crate::extract::value::{address, frame, number};
use crate::row::Item;

/// A message, or violations that no message followed.
#[derive(Clone, Debug)]
pub(super) struct MessageRow<'m> {
    pub(super) ends: Cow<'m, WebSocketEnds>,
    pub(super) payload: Cow<'m, [u8]>,
    direction: Direction,
    frame: u64,
    time_ns: Option<i64>,
    message: Option<Facts>,
    violations: String,
}

/// The values of a message besides its payload.
#[derive(Clone, Copy, Debug)]
struct Facts {
    opcode: Opcode,
    compressed: bool,
    fragments: u64,
    payload_wire_bytes: u64,
    frame_bytes: u64,
    offset: u64,
    message_bytes: u64,
    whole: bool,
    distance_max: Option<u32>,
}

impl<'m> MessageRow<'m> {
    pub(super) fn new(
        sight: &WebSocketSight<'m>,
        direction: Direction,
        message: Option<Message<'m>>,
        violations: String,
    ) -> Self {
        Self {
            ends: Cow::Borrowed(sight.ends),
            payload: Cow::Borrowed(message.map_or(&[], |message| message.payload)),
            direction,
            frame: sight.frame,
            time_ns: sight.time_ns,
            message: message.map(|message| Facts {
                opcode: message.opcode,
                compressed: message.compressed,
                fragments: message.fragments,
                payload_wire_bytes: message.payload_wire_bytes,
                frame_bytes: message.frame_bytes,
                offset: message.offset,
                message_bytes: message.payload.len() as u64,
                whole: message.whole,
                distance_max: message.inflated.map(|inflated| inflated.distance_max),
            }),
            violations,
        }
    }

    /// The same with a payload of its own, or without.
    pub(super) fn into_owned(self, keep_payload: bool) -> MessageRow<'static> {
        let payload = match keep_payload {
            true => self.payload.into_owned(),
            false => Vec::new(),
        };
        MessageRow {
            ends: Cow::Owned(self.ends.into_owned()),
            payload: Cow::Owned(payload),
            direction: self.direction,
            frame: self.frame,
            time_ns: self.time_ns,
            message: self.message,
            violations: self.violations,
        }
    }

    fn ends(&self) -> (Endpoint, Endpoint) {
        match self.direction {
            Direction::ToServer => (self.ends.client, self.ends.server),
            Direction::ToClient => (self.ends.server, self.ends.client),
        }
    }

    /// The handshake, when its request was captured.
    fn handshake(&self) -> Option<&Handshake> {
        let handshake = self.ends.handshake.as_ref();
        handshake.filter(|handshake| !handshake.target.is_empty())
    }

    fn is(&self, opcode: Opcode) -> bool {
        self.message.is_some_and(|message| message.opcode == opcode)
    }

    /// The payload of a text message.
    fn text(&self) -> Option<&str> {
        match self.is(Opcode::Text) {
            true => std::str::from_utf8(&self.payload).ok(),
            false => None,
        }
    }

    /// The payload of a message that is neither a readable text nor a control frame.
    fn binary(&self) -> Option<&[u8]> {
        let message = self.message?;
        (!message.opcode.is_control() && self.text().is_none()).then_some(&self.payload)
    }

    /// Status and reason of a close frame.
    fn close(&self) -> Option<(u16, &[u8])> {
        let (status, reason) = self.payload.split_first_chunk::<2>()?;
        self.is(Opcode::Close)
            .then_some((u16::from_be_bytes(*status), reason))
    }
}

impl Item for MessageRow<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        FIELDS.get(index).and_then(|field| (field.get)(self))
    }

    fn record(&self) -> Option<u64> {
        Some(self.frame).filter(|frame| *frame > 0)
    }
}

type MessageGetter = for<'r> fn(&'r MessageRow<'_>) -> Option<Value<'r>>;

const WEIR: &str = "weir";
const FRAMES: &str = "RFC 6455, 5.2";
const DEFLATE: &str = "RFC 7692, 7";

/// The fields have Wireshark's names where it has the same; its values of a frame are here those of the whole message.
pub(super) const FIELDS: &[ItemField<MessageGetter>] = &[
    ItemField::new(
        "frame.number",
        Kind::U64,
        |row| frame(row.frame),
        "number of the packet that completed the message",
        WEIR,
    ),
    ItemField::new(
        "frame.time",
        Kind::Time,
        |row| row.time_ns.map(Value::Time),
        "time of that packet",
        WEIR,
    ),
    ItemField::new(
        "addr.src",
        Kind::Address,
        |row| address(row.ends().0.address),
        "address of the sender",
        "RFC 791, 3.1",
    ),
    ItemField::new(
        "addr.dst",
        Kind::Address,
        |row| address(row.ends().1.address),
        "address of the receiver",
        "RFC 791, 3.1",
    ),
    ItemField::new(
        "port.src",
        Kind::U16,
        |row| number(row.ends().0.port),
        "TCP port of the sender",
        "RFC 9293, 3.1",
    ),
    ItemField::new(
        "port.dst",
        Kind::U16,
        |row| number(row.ends().1.port),
        "TCP port of the receiver",
        "RFC 9293, 3.1",
    ),
    ItemField::new(
        "flow.id",
        Kind::U64,
        |row| number(row.ends.flow),
        "number of the connection's flow, as in flows",
        WEIR,
    ),
    ItemField::new(
        "websocket.connection",
        Kind::U64,
        |row| number(row.ends.connection),
        "number of the TCP connection in the capture, from 1; for an HTTP/2 stream, that number plus 2^32 times the stream's number",
        WEIR,
    ),
    ItemField::new(
        "http2.streamid",
        Kind::U32,
        |row| number(row.ends.stream?),
        "HTTP/2 stream of the connection",
        "RFC 8441, 5",
    ),
    ItemField::new(
        "websocket.direction",
        Kind::Text,
        |row| Some(Value::Text(row.direction.name())),
        "to_server or to_client",
        WEIR,
    ),
    ItemField::new(
        "websocket.opcode",
        Kind::U8,
        |row| {
            row.message
                .map(|message| Value::Unsigned(message.opcode.bits().into()))
        },
        "opcode of the first frame",
        FRAMES,
    ),
    ItemField::new(
        "websocket.type",
        Kind::Text,
        |row| {
            row.message
                .map(|message| Value::Text(message.opcode.name()))
        },
        "text, binary, close, ping or pong",
        FRAMES,
    ),
    ItemField::new(
        "websocket.pmc",
        Kind::Bool,
        |row| row.message.map(|message| Value::Bool(message.compressed)),
        "sent compressed (per-message compression, RSV1)",
        "RFC 7692, 6",
    ),
    ItemField::new(
        "websocket.fragment.count",
        Kind::U32,
        |row| {
            row.message
                .map(|message| Value::Unsigned(message.fragments))
        },
        "number of frames of the message",
        "RFC 6455, 5.4",
    ),
    ItemField::new(
        "websocket.payload_length",
        Kind::U64,
        |row| {
            row.message
                .map(|message| Value::Unsigned(message.payload_wire_bytes))
        },
        "bytes of the payload on the wire",
        FRAMES,
    ),
    ItemField::new(
        "websocket.frame_length",
        Kind::U64,
        |row| {
            row.message
                .map(|message| Value::Unsigned(message.frame_bytes))
        },
        "bytes of the frames, headers included",
        FRAMES,
    ),
    ItemField::new(
        "websocket.message_length",
        Kind::U64,
        |row| {
            row.message
                .map(|message| Value::Unsigned(message.message_bytes))
        },
        "bytes of the message, inflated",
        DEFLATE,
    ),
    ItemField::new(
        "websocket.payload.text",
        Kind::Text,
        |row| row.text().map(Value::Text),
        "the text, inflated",
        "RFC 6455, 5.6",
    ),
    ItemField::new(
        "websocket.payload.binary",
        Kind::Bytes,
        |row| row.binary().map(Value::Bytes),
        "the binary message, inflated; also a text that is not UTF-8",
        "RFC 6455, 5.6",
    ),
    ItemField::new(
        "websocket.payload.close.status_code",
        Kind::U16,
        |row| {
            row.close()
                .map(|(status, _)| Value::Unsigned(status.into()))
        },
        "why the connection is closed",
        "RFC 6455, 7.4",
    ),
    ItemField::new(
        "websocket.payload.close.reason",
        Kind::Text,
        |row| {
            let (_, reason) = row.close()?;
            std::str::from_utf8(reason)
                .ok()
                .filter(|text| !text.is_empty())
                .map(Value::Text)
        },
        "the same in words",
        "RFC 6455, 7.1.6",
    ),
    ItemField::new(
        "websocket.payload.ping",
        Kind::Bytes,
        |row| row.is(Opcode::Ping).then(|| Value::Bytes(&row.payload)),
        "payload of a ping",
        "RFC 6455, 5.5.2",
    ),
    ItemField::new(
        "websocket.payload.pong",
        Kind::Bytes,
        |row| row.is(Opcode::Pong).then(|| Value::Bytes(&row.payload)),
        "payload of a pong",
        "RFC 6455, 5.5.3",
    ),
    ItemField::new(
        "websocket.whole",
        Kind::Bool,
        |row| row.message.map(|message| Value::Bool(message.whole)),
        "the payload is all of the message; false where bytes are missing or cannot be inflated",
        WEIR,
    ),
    ItemField::new(
        "websocket.offset",
        Kind::U64,
        |row| row.message.map(|message| Value::Unsigned(message.offset)),
        "offset of the first frame among the direction's frames",
        WEIR,
    ),
    ItemField::new(
        "websocket.distance_max",
        Kind::U32,
        |row| {
            let distance = row.message?.distance_max?;
            Some(Value::Unsigned(distance.into()))
        },
        "largest backward distance in the compressed message, in bytes",
        "RFC 1951, 3.2.5",
    ),
    ItemField::new(
        "websocket.violations",
        Kind::Text,
        |row| (!row.violations.is_empty()).then_some(Value::Text(&row.violations)),
        "violations of the standards, limits that were reached, bytes that are missing",
        "RFC 6455; RFC 7692",
    ),
    ItemField::new(
        "websocket.target",
        Kind::Text,
        |row| {
            row.handshake()
                .map(|handshake| Value::Text(&handshake.target))
        },
        "target of the handshake's request, such as /chat; NULL when that was not captured",
        "RFC 6455, 4.1",
    ),
    ItemField::new(
        "websocket.host",
        Kind::Text,
        |row| {
            row.handshake()
                .map(|handshake| Value::Text(&handshake.host))
        },
        "host of the handshake's request",
        "RFC 6455, 4.1",
    ),
    ItemField::new(
        "websocket.extensions",
        Kind::Text,
        |row| row.ends.agreed.as_deref().map(Value::Text),
        "negotiated parameters of permessage-deflate",
        "RFC 7692, 7.1",
    ),
    ItemField::new(
        "websocket.mid_stream",
        Kind::Bool,
        |row| Some(Value::Bool(row.ends.mid_stream)),
        "the connection began before the capture; whether messages are compressed is taken from the frames",
        WEIR,
    ),
];
