//! The ways in which the fields of a line are separated.

/// The way in which fields are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Commas, and quotes.
    Csv,
    /// Tabs, and backslashes.
    Tsv,
    /// A word a line, without names.
    Words,
}

impl Dialect {
    pub(super) const fn separator(self) -> u8 {
        match self {
            // Lines of words have no fields: what ends one ends a line.
            Self::Words => b'\n',
            Self::Csv => b',',
            Self::Tsv => b'\t',
        }
    }
}

/// The byte order mark with which some programs begin a text in UTF-8; it is not part of the text (RFC 3629, 6).
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
