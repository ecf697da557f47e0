//! Parses Wireshark's display filters.
//!
//! ```
//! use weir_filter::{Filter, parse};
//!
//! let filter = parse("tcp.port == 443 && !(ip.addr == 10.0.0.0/8)")?;
//! assert!(matches!(filter, Filter::And(..)));
//! let error = parse("tcp.port = 443 or").unwrap_err();
//! assert_eq!((error.start, error.end), (17, 17));
//! # Ok::<(), weir_filter::Error>(())
//! ```
//!
//! [`parse`] gives the tree of what is written, as Wireshark 4 reads it: AND binds closer than OR, `!=` means
//! that all values differ, a name alone asks whether it is there. A tree nests no deeper than [`DEPTH_MAX`], and no
//! input makes the parser panic.
//!
//! This crate deliberately does not know which fields there are, what their types are, nor packets: literals
//! without quotes stay text, because only a field says whether `10:20` is a MAC address or two bytes.

mod capture_filter;
mod parser;
mod token;

use std::fmt;

pub use parser::parse;

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// All hold.
    And(Vec<Filter>),
    /// One holds.
    Or(Vec<Filter>),
    /// The inner filter does not hold.
    Not(Box<Filter>),
    /// There is a value (for a calculated number: one that is not 0).
    Exists(Operand),
    /// Values stand in a relation.
    Compare {
        /// The quantifier of the values.
        quantifier: Quantifier,
        /// Left of the sign.
        left: Operand,
        /// The sign.
        relation: ComparisonOperator,
        /// Right of the sign.
        right: Operand,
    },
    /// A value is in a set.
    In {
        /// The quantifier of the values.
        quantifier: Quantifier,
        /// The operand.
        operand: Operand,
        /// The set: single values, and ranges from a first to a last.
        set: Vec<(Operand, Option<Operand>)>,
    },
}

/// The number of values of a field for which a relation must be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// At least one value.
    Any,
    /// All, of which there is at least one.
    All,
}

/// A comparison of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ComparisonOperator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// The bytes are somewhere in the value.
    Contains,
    /// The regular expression fits, without regard to case.
    Matches,
}

/// A source of values.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand {
    /// The kind.
    pub kind: OperandKind,
    /// The start in the text, in bytes.
    pub start: usize,
    /// The end.
    pub end: usize,
}

/// See [`Operand`].
#[derive(Clone, Debug, PartialEq)]
pub enum OperandKind {
    /// A field, a protocol, or a literal without quotes: a number, an address, bytes.
    Word(String),
    /// A field of those headers that have these numbers among the ones of their kind, from the outermost, which is 1: `ip.src#2`,
    /// `ip.src#[1-2,-1]`.
    Layer(String, Vec<Range>),
    /// Text in double quotes, its escapes resolved.
    Text(Vec<u8>),
    /// A character in single quotes.
    Character(u8),
    /// Parts of the bytes of a value, one behind the other.
    Slice(Box<Operand>, Vec<Range>),
    /// The result of a function.
    Call(String, Vec<Operand>),
    /// A calculation.
    Calculated(ArithmeticOperator, Box<Operand>, Box<Operand>),
}

/// A calculation with two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
}

/// A range of bytes, or of headers of a kind. Negative offsets count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first byte.
    pub first: i32,
    /// The end.
    pub end: RangeEnd,
}

/// See [`Range`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeEnd {
    /// A number of bytes.
    Length(u32),
    /// The last byte.
    Last(i32),
    /// The end of the value.
    Open,
}

impl Range {
    /// The part of these bytes; `None` when they are too short.
    #[must_use]
    pub fn of<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        let place = |place: i32| match usize::try_from(place) {
            Ok(place) => Some(place),
            Err(_) => bytes
                .len()
                .checked_sub(usize::try_from(place.unsigned_abs()).ok()?),
        };
        let first = place(self.first)?;
        let end = match self.end {
            RangeEnd::Length(length) => first.checked_add(usize::try_from(length).ok()?)?,
            RangeEnd::Last(last) => place(last)?.checked_add(1)?,
            RangeEnd::Open => bytes.len(),
        };
        bytes.get(first..end).filter(|part| !part.is_empty())
    }

    /// Whether the header of this number is one of these; the last one has the number `last`.
    #[must_use]
    pub fn has(&self, number: u32, last: u32) -> bool {
        let place = |place: i32| match i64::from(place) {
            place @ ..0 => place + i64::from(last) + 1,
            place => place,
        };
        let first = place(self.first);
        let end = match self.end {
            RangeEnd::Length(length) => first + i64::from(length) - 1,
            RangeEnd::Last(end) => place(end),
            RangeEnd::Open => i64::MAX,
        };
        (first..=end).contains(&i64::from(number))
    }
}

/// The maximum depth of a filter.
pub const DEPTH_MAX: usize = 64;

/// The error of a text that is not a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The description.
    pub message: String,
    /// The text to write instead.
    pub hint: Option<String>,
    /// The start in the text, in bytes.
    pub start: usize,
    /// The end.
    pub end: usize,
}

impl Error {
    /// An error at a place.
    #[must_use]
    pub fn new(message: impl Into<String>, start: usize, end: usize) -> Self {
        Self {
            message: message.into(),
            hint: None,
            start,
            end,
        }
    }

    /// The same error with what to write.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The filter with a line below it that points at the place.
    #[must_use]
    pub fn with_caret(&self, text: &str) -> String {
        let before = text.get(..self.start).unwrap_or(text);
        let at = text.get(self.start..self.end).unwrap_or_default();
        let tabs_kept = |part: &str| -> String {
            let kept = part.chars();
            kept.map(|c| if c == '\t' { '\t' } else { ' ' }).collect()
        };
        format!(
            "{text}\n{}{}",
            tabs_kept(before),
            "^".repeat(at.chars().count().max(1))
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
