//! The faults of records, with their places.

use std::fmt;

/// The reason why bytes are not a record, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The offset from the expected beginning of the record.
    pub offset: usize,
    /// The kind of the fault.
    pub kind: FaultKind,
}

/// The kinds of [`Fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The record continues beyond the end: it is truncated, or still being written.
    Cut,
    /// The record begins in another way than its form requires.
    Version,
    /// A length is no number, or contradicts the content.
    Length,
    /// A pointer is no number, or leads outside the record or to a place without a separator before it.
    Pointer,
    /// A separator or the final line feed is missing, or stands at another place.
    Separator,
    /// The time cannot be read.
    Time,
    /// The flags cannot be read.
    Flags,
    /// A field is empty or missing, or there are more fields than the form has.
    Field,
    /// An optional field cannot be read.
    Optional,
    /// The length of an optional field is not that of its value. Logs differ in what they count, so only a check
    /// reports this.
    OptionalLength,
    /// The record is longer than the reader's limit.
    Limit,
    /// The bytes are zeros, as a machine leaves them that stops while it writes.
    Zeros,
    /// The line is not JSON, or not an object that is a record.
    Json,
    /// A `+` of the text draft refers to a value of an earlier line.
    Reference,
}

impl FaultKind {
    /// The fault as text.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Cut => "the record is cut short",
            Self::Version => "no record begins here",
            Self::Length => "the record's length is wrong",
            Self::Pointer => "a pointer does not point to a field",
            Self::Separator => "a separator is missing or out of place",
            Self::Time => "the time cannot be read",
            Self::Flags => "the flags cannot be read",
            Self::Field => "a field is missing or is not a number",
            Self::Optional => "an optional field cannot be read",
            Self::OptionalLength => {
                "the length of an optional field differs from that of its value"
            }
            Self::Limit => "the record is longer than the limit",
            Self::Zeros => "zeros instead of a record",
            Self::Json => "not a JSON object that is a record",
            Self::Reference => "the line refers to an earlier one",
        }
    }
}

impl Fault {
    pub(crate) const fn at(offset: usize, kind: FaultKind) -> Self {
        Self { offset, kind }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} (byte {} of the record)",
            self.kind.text(),
            self.offset
        )
    }
}

impl std::error::Error for Fault {}
