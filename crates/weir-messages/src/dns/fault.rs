//! The reasons why a message cannot be read.

use std::fmt;

/// The reason why a message cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DnsFault {
    /// The message ends within an entry.
    Short,
    /// A name is longer than 255 octets.
    NameTooLong,
    /// A name points forwards, in circles, or more often than [`POINTERS_MAX`](super::POINTERS_MAX) times.
    Pointer,
    /// A label of a type that is not known.
    Label,
    /// The data of a record are no such data.
    Data,
}

impl DnsFault {
    /// The fault as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Short => "the message ends within a field",
            Self::NameTooLong => "a name of more than 255 octets",
            Self::Pointer => "a name with invalid compression pointers",
            Self::Label => "a label of an unknown type",
            Self::Data => "data that does not fit its type",
        }
    }
}

impl fmt::Display for DnsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for DnsFault {}
