//! Errors of messages, with their places.

use std::fmt;

/// The reason why a message could not be decoded or encoded.
///
/// A decoder's error has a place: octet offset, and for text line and column; what was expected
/// there, and the path of the element that was being read. Cheap to return: one pointer.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Error {
    inner: Box<ErrorFields>,
}

/// The kind of an [`Error`], to branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input ends in the middle of something.
    Cut,
    /// Something else was expected at this place.
    Syntax,
    /// A number, a length or a choice is outside of what the protocol permits.
    Range,
    /// An element is given twice that may be given once, or one is missing.
    Cardinality,
    /// The content is in none of the encodings of this crate.
    UnknownEncoding,
    /// The value has something that the chosen encoding cannot carry: a name without a number, a
    /// path that is no binary identifier, an element of a later version.
    NotEncodable,
    /// A named limit was reached: see [`Limits`](crate::Limits).
    Limit,
}

#[derive(Clone, PartialEq, Eq)]
struct ErrorFields {
    kind: ErrorKind,
    offset: usize,
    position: Option<(usize, usize)>,
    expected: &'static str,
    found: String,
    path: String,
}

impl Error {
    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Offset in octets from the start of the input; 0 when encoding.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.inner.offset
    }

    /// Line of a text, counted from 1.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.inner.position.map(|(line, _)| line)
    }

    /// Column of a text in octets, counted from 1.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.inner.position.map(|(_, column)| column)
    }

    /// The expected tokens or element names, in the terms of the grammar.
    #[must_use]
    pub fn expected(&self) -> &'static str {
        self.inner.expected
    }

    /// The beginning of the octets that were found instead, escaped. Empty at the end of the message.
    #[must_use]
    pub fn found(&self) -> &str {
        &self.inner.found
    }

    /// The elements that enclose the place, from the outside in: `Transaction/Context/Modify`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    pub(crate) fn from_failure(failure: Failure, input: &[u8], text: bool) -> Self {
        let offset = failure.offset.min(input.len());
        let (before, after) = input.split_at_checked(offset).unwrap_or((input, &[]));
        let position = text.then(|| {
            let line = before.iter().filter(|byte| **byte == b'\n').count();
            let start = before
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            (
                line.saturating_add(1),
                offset.saturating_sub(start).saturating_add(1),
            )
        });
        let found = if text {
            let end = after
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap_or(after.len());
            after
                .get(..end.min(24))
                .unwrap_or_default()
                .escape_ascii()
                .to_string()
        } else {
            after
                .iter()
                .take(6)
                .map(|byte| format!("{byte:02x}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mut path = failure.path;
        path.reverse();
        Self {
            inner: Box::new(ErrorFields {
                kind: failure.kind,
                offset,
                position,
                expected: failure.expected,
                found,
                path: path.join("/"),
            }),
        }
    }

    pub(crate) fn new(kind: ErrorKind, expected: &'static str) -> Self {
        Self::from_failure(Failure::new(kind, 0, expected), &[], false)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &self.inner;
        match inner.kind {
            ErrorKind::NotEncodable => write!(f, "cannot encode {}", inner.expected)?,
            ErrorKind::Limit => write!(f, "limit reached: {}", inner.expected)?,
            ErrorKind::Cardinality => write!(f, "{}", inner.expected)?,
            _ => {
                write!(f, "expected {}", inner.expected)?;
                if inner.found.is_empty() {
                    f.write_str(", found the end")?;
                } else {
                    write!(f, ", found `{}`", inner.found)?;
                }
            }
        }
        if inner.kind != ErrorKind::NotEncodable {
            match inner.position {
                Some((line, column)) => write!(f, " at line {line}, column {column}")?,
                None => write!(f, " at offset {}", inner.offset)?,
            }
        }
        if !inner.path.is_empty() {
            write!(f, " in {}", inner.path)?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.inner.kind)
    }
}

impl std::error::Error for Error {}

/// The mark that a decoder has failed; the error is in its [`Failure`]. It is empty, so that every `Result` on the way costs a flag
/// and nothing else.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop;

/// The error of a decoder and its place, while it unwinds.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) offset: usize,
    pub(crate) expected: &'static str,
    /// The path from the inside out.
    pub(crate) path: Vec<&'static str>,
}

impl Failure {
    pub(crate) fn new(kind: ErrorKind, offset: usize, expected: &'static str) -> Self {
        Self {
            kind,
            offset,
            expected,
            path: Vec::new(),
        }
    }
}

/// The failure of a decoder: the first one, because those after it follow from it.
#[derive(Debug, Default)]
pub(crate) struct FirstFailure(Option<Failure>);

impl FirstFailure {
    /// Stops at `offset`, where something else was expected.
    #[cold]
    pub(crate) fn at(&mut self, kind: ErrorKind, offset: usize, expected: &'static str) -> Stop {
        self.0
            .get_or_insert_with(|| Failure::new(kind, offset, expected));
        Stop
    }

    /// Adds the name of an element around the place to the failure's path.
    #[cold]
    pub(crate) fn within(&mut self, element: &'static str, stop: Stop) -> Stop {
        if let Some(failure) = &mut self.0 {
            failure.path.push(element);
        }
        stop
    }

    /// The failure with its offset counted from `octets` before the octets that were read.
    pub(crate) fn behind(self, octets: usize) -> Self {
        Self(self.0.map(|failure| Failure {
            offset: failure.offset.saturating_add(octets),
            ..failure
        }))
    }

    /// The error of the input: without a failure there is no message at `offset`.
    pub(crate) fn into_error(self, offset: usize, input: &[u8], text: bool) -> Error {
        let no_message = || Failure::new(ErrorKind::Syntax, offset, "a message");
        Error::from_failure(self.0.unwrap_or_else(no_message), input, text)
    }
}
