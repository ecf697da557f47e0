//! The form of a log's records, and its recognition.

use crate::forms::{binary, text};

/// The form of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// RFC 6873 with RFC 7355: text with pointers.
    #[default]
    Rfc6873,
    /// draft-gurbani-sipping-clf-01: a line of words.
    Text,
    /// draft-roach-sipping-clf-syntax-00: binary, with pointers.
    Binary,
    /// A JSON object a line.
    Json,
}

impl Form {
    /// All forms.
    pub const ALL: [Self; 4] = [Self::Rfc6873, Self::Text, Self::Binary, Self::Json];

    /// The name of the form in commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rfc6873 => "rfc6873",
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Json => "json",
        }
    }

    /// The form of a log by its beginning; `None` when it has the beginning of no form, or is empty.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let begin = bytes.get(stray_bytes(bytes)..)?.trim_ascii_start();
        match begin.first()? {
            b'{' => Some(Self::Json),
            b'A' if begin.iter().take(7).skip(1).all(u8::is_ascii_hexdigit) => Some(Self::Rfc6873),
            // A draft's line begins with the time.
            digit if digit.is_ascii_digit() && text::is_line(begin) => Some(Self::Text),
            _ if binary::is_record(bytes) => Some(Self::Binary),
            _ => None,
        }
    }
}

/// The mark by which some programs begin a text in UTF-8 (U+FEFF). It is within a log where files were put together.
pub(crate) const BYTE_ORDER_MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Returns the number of first bytes that may stand between two records of a log of lines: line feeds, carriage returns, and
/// byte order marks.
pub(crate) fn stray_bytes(bytes: &[u8]) -> usize {
    let mut rest = bytes;
    while let Some(next) = rest
        .strip_prefix(b"\n")
        .or_else(|| rest.strip_prefix(b"\r"))
        .or_else(|| rest.strip_prefix(&BYTE_ORDER_MARK))
    {
        rest = next;
    }
    bytes.len().saturating_sub(rest.len())
}
