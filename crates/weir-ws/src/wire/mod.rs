//! WebSocket on the wire: frames, messages, whole connections (RFC 6455).

mod connection;
mod decoder;
mod frame;
mod trial;

pub use connection::{Connection, ConnectionEvent, Direction, Handshake};
pub use decoder::{Decoder, DecoderOptions, Event, Message, Sender, Violation, ViolationKind};
pub use frame::{Header, Opcode, framed_bytes, mask};
