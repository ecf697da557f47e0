//! Which permessage-deflate settings fit this WebSocket traffic and this memory budget?

mod advise;
mod deflate;
pub mod exact;
mod input;
mod kind;
mod library;
mod memory;
mod sample;
mod setting;
mod study;
mod wire;

pub use advise::{Advice, Budget, Candidate, CpuTimes, advise, bytes_text};
pub use deflate::{
    Agreed, Bits, DeflateOptions, Deflater, InflateError, InflateErrorKind, InflateOptions,
    Inflated, Inflater, NegotiationError, NegotiationErrorKind, Offer, ServerPolicy, parse_offers,
    parse_response,
};
pub use input::{
    Each, Format, InputError, InputErrorKind, InputMessage, InputOptions, InputReader, InputReport,
    Prefix, read_messages,
};
pub use kind::kind_of;
pub use library::{Library, Snippet, snippet};
pub use memory::{
    Memory, ZlibBuild, connection_memory, deflate_bytes, inflate_bytes, resident_bytes,
};
pub use sample::{Estimate, SampleOptions, Sampled, sample};
pub use setting::{CELLS, Cells, Setting};
pub use study::{Study, StudyClass, StudyOptions, StudyResult};
pub use wire::{
    Connection, ConnectionEvent, Decoder, DecoderOptions, Direction, Event, Handshake, Header,
    Message, Opcode, Sender, Violation, ViolationKind, framed_bytes, mask,
};
