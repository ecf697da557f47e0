//! Why a record was not understood to its end.

use std::fmt;

use super::Layout;

/// The reason why a record was not understood to its end. Plain data, made without allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop<'a> {
    /// The field that could not be read; empty for the record as a whole.
    pub field: &'a str,
    /// The offset in bytes from the start of the record.
    pub offset: usize,
    /// The reason.
    pub reason: StopReason,
}

/// The reason of a [`Stop`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The record ends before the field does.
    Cut {
        /// Bytes that the record would need.
        needed: usize,
        /// Bytes that it has.
        available: usize,
    },
    /// The field does not have the value that `equals` requires.
    Unequal,
    /// A computed place or length is negative or beyond the longest record.
    OutOfRange {
        /// The value of the expression.
        value: i64,
    },
    /// An expression overflowed, divided by zero or needs a field that the record does not have.
    NoValue,
    /// The bytes that end the field or the record are not there.
    Unterminated,
    /// The length of the record is not possible.
    Length {
        /// The value in the record.
        value: i64,
        /// The bytes that its fixed fields take.
        least: usize,
        /// The limit of the layout.
        most: usize,
    },
    /// The file does not start with the magic value of the layout.
    Magic,
}

/// A [`Stop`] by the field's index.
#[derive(Clone, Copy, Debug)]
pub(super) struct Halt {
    pub(super) field: u16,
    pub(super) offset: usize,
    pub(super) reason: StopReason,
}

impl fmt::Display for Stop<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{} ", self.field)?;
        }
        write!(f, "at byte {}: {}", self.offset, self.reason)
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Cut { needed, available } => {
                write!(f, "cut, {needed} bytes needed, {available} available")
            }
            Self::Unequal => f.write_str("not the value that the layout requires"),
            Self::OutOfRange { value } => write!(f, "{value} is not a valid offset or length"),
            Self::NoValue => f.write_str("its expression has no value for this record"),
            Self::Unterminated => f.write_str("its terminating bytes are missing"),
            Self::Length { value, least, most } => {
                write!(
                    f,
                    "a record of {value} bytes, allowed are {least} to {most}"
                )
            }
            Self::Magic => f.write_str("not a file of this layout: its magic value differs"),
        }
    }
}

impl Layout {
    pub(super) fn stop(&self, halt: Halt) -> Stop<'_> {
        let field = self.fields.get(usize::from(halt.field));
        Stop {
            field: field.map_or("", |field| &field.name),
            offset: halt.offset,
            reason: halt.reason,
        }
    }
}
