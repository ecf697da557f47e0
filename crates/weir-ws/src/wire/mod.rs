//! WebSocket on the wire: frames, messages, whole connections (RFC 6455).

mod connection;
mod decoder;
mod frame;
mod trial;
mod violation;

pub use connection::{Connection, ConnectionEvent, Direction, Handshake};
pub use decoder::{Decoder, DecoderOptions, Event, Message};
pub use frame::{Header, Opcode, Sender, framed_bytes, mask};
pub use violation::{Violation, ViolationKind};
