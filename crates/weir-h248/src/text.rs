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
pub(crate) use mini::decode_mini;

/// How text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextOptions {
    /// Insist on what the standard says where others are lenient: a separator behind the version,
    /// the lengths of names and numbers, printable ASCII in quoted strings, nothing but white space
    /// at the end.
    pub strict: bool,
}

impl TextOptions {
    /// Insists on what the standard says.
    #[must_use]
    pub const fn strict() -> Self {
        Self { strict: true }
    }
}

/// How text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextStyle {
    /// As Erlang's megaco writes after it has read: words in lower case, quotes only where they are
    /// needed, sessions descriptions line by line with CR LF, its indentation.
    pub erlang: bool,
}

impl TextStyle {
    /// As Erlang's megaco writes.
    #[must_use]
    pub const fn erlang() -> Self {
        Self { erlang: true }
    }
}
