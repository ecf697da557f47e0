//! Text: pretty and compact (RFC 3525 Annex B, and the additions of versions 2 and 3).

mod audit;
mod command;
mod context;
mod decode;
mod descriptor;
mod encode;
mod encode_audit;
mod encode_command;
mod encode_context;
mod encode_descriptor;
mod encode_event;
mod encode_service;
mod event;
mod lexer;
mod mid;
mod mini;
mod service;
mod token;
mod writer;

pub use decode::decode_text;
pub use encode::{encode_compact, encode_pretty};
pub(crate) use lexer::BYTE_ORDER_MARK;
pub(crate) use mini::decode_mini;

/// The options of reading text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextOptions {
    /// Reads strictly where others are lenient: a separator after the version, the lengths of names and numbers, printable ASCII in
    /// quoted strings, nothing but white space at the end.
    pub strict: bool,
}

impl TextOptions {
    /// Accepts only the syntax of the standard.
    #[must_use]
    pub const fn strict() -> Self {
        Self { strict: true }
    }
}

/// The style of written text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextStyle {
    /// Writes as Erlang's megaco does after decoding: words in lower case, quotes only where they are needed, session descriptions
    /// line by line with CR LF, its indentation.
    pub erlang: bool,
}

impl TextStyle {
    /// The style of Erlang's megaco.
    #[must_use]
    pub const fn erlang() -> Self {
        Self { erlang: true }
    }
}
