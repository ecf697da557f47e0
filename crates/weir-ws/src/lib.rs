//! Which permessage-deflate settings fit this WebSocket traffic and this memory budget?

mod deflate;
pub mod exact;
mod memory;
mod setting;
mod wire;

pub use deflate::{
    Agreed, Bits, DeflateOptions, Deflater, InflateError, InflateErrorKind, InflateOptions,
    Inflated, Inflater, NegotiationError, NegotiationErrorKind, Offer, ServerPolicy, parse_offers,
    parse_response,
};
pub use memory::{
    Memory, ZlibBuild, connection_memory, deflate_bytes, inflate_bytes, resident_bytes,
};
pub use setting::{CELLS, Cells, Setting};
pub use wire::{
    Connection, ConnectionEvent, Decoder, DecoderOptions, Direction, Event, Handshake, Header,
    Message, Opcode, Sender, Violation, ViolationKind, framed_bytes, mask,
};
