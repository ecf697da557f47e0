//! WebSocket on the wire: frames, messages, whole connections (RFC 6455).

mod connection;
mod decoder;
mod direction;
mod frame;
mod handshake;
mod trial;
mod violation;

pub use connection::{Connection, ConnectionEvent};
pub use decoder::{Decoder, DecoderOptions, Event, Message};
pub use direction::Direction;
pub use frame::{Header, Opcode, Sender, framed_bytes, mask};
pub use handshake::Handshake;
pub use violation::{Violation, ViolationKind};
