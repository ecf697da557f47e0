//! What does this Megaco message say, and how is it said in another encoding?

#[macro_use]
mod wire;

mod arena;
mod codec;
mod error;
pub mod message;
mod name;
mod options;
pub mod packages;
pub mod sdp;
mod text;
mod visit;
mod zlib;

pub use arena::Arena;
pub use codec::{
    ErlOptions, decode_ber, decode_erl, decode_per, encode_ber, encode_erl, encode_per,
};
pub use error::{Error, ErrorKind};
pub use message::{Message, media::LocalRemote};
pub use name::{BinaryId, Name, TerminationId, Value};
pub use options::{BinaryOptions, Both, Limits, Names, TerminationIds};
pub use text::{
    Mini, TextOptions, TextStyle, decode_mini, decode_text, encode_compact, encode_pretty,
};
pub use visit::Visitor;
