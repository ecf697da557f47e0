//! Errors of reading a capture, with their places.

use std::{fmt, io};

use crate::{Compression, Format};

/// The reason why a capture could not be opened, or why reading stopped.
///
/// The message says what was expected, what was found and where, but not in which file: the caller
/// knows the path. Cheap to return: one pointer.
#[derive(Debug)]
#[non_exhaustive]
pub struct Error {
    inner: Box<ErrorFields>,
}

/// The kind of an [`Error`], to branch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// No file has that path, or none matches the pattern.
    NotFound,
    /// The operating system refused to open or to read.
    Io,
    /// The content is not a capture of a known format.
    UnknownFormat,
    /// The capture is cut short or damaged; all records before the damage were given.
    Damaged,
    /// The layer of gzip, zstd, xz, bzip2, lz4 or zip is cut short or damaged; all records before it were given.
    Decompress,
    /// A named limit of [`ReadOptions`](crate::ReadOptions) was reached.
    Limit,
}

/// The place where reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Location {
    /// The format that was being read, once known.
    pub format: Option<Format>,
    /// Number of the record that could not be read, counted from 1; 0 for the file header.
    pub record: u64,
    /// Byte offset in the uncompressed stream of the thing that could not be read.
    pub offset: u64,
}

/// The reason why the bytes at a [`Location`] are invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The stream ends in the middle of something.
    Cut {
        /// The name of the cut part, such as `packet data`.
        part: &'static str,
        /// Bytes that it should have.
        needed: u64,
        /// Bytes that are there.
        available: u64,
    },
    /// A field has a value that it cannot have.
    Unexpected {
        /// The field.
        part: &'static str,
        /// The valid values, as text.
        expected: &'static str,
        /// The value.
        found: u64,
    },
    /// A length or a count is beyond its limit.
    TooLarge {
        /// The name of the part that is too large.
        part: &'static str,
        /// The limit.
        limit: u64,
        /// The value in the file.
        found: u64,
    },
}

#[derive(Debug)]
struct ErrorFields {
    kind: ErrorKind,
    detail: Detail,
    location: Option<Location>,
    hint: Option<&'static str>,
}

#[derive(Debug)]
enum Detail {
    NotFound(String),
    Pattern(String),
    Io(io::Error),
    Unknown(String),
    Reason(Reason),
    Compressed(Compression, DecompressFailure),
}

/// The error of the layer that inflates a stream.
#[derive(Debug)]
pub(crate) struct DecompressFailure {
    /// The description.
    pub(crate) what: &'static str,
    /// The decoder's own word for it, if it has one.
    pub(crate) code: Option<String>,
    /// Byte offset in the compressed source.
    pub(crate) source_offset: u64,
    /// A limit was reached, rather than damage found.
    pub(crate) limit: bool,
}

impl DecompressFailure {
    /// The failure of damaged data.
    pub(crate) fn damage(what: &'static str, code: Option<String>, source_offset: u64) -> Self {
        Self {
            what,
            code,
            source_offset,
            limit: false,
        }
    }
}

impl fmt::Display for DecompressFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if let Some(code) = &self.code {
            write!(f, " ({code})")?;
        }
        let offset = self.source_offset;
        write!(f, " at byte {offset} of the compressed file")
    }
}

impl Error {
    fn new(kind: ErrorKind, detail: Detail) -> Self {
        Self {
            inner: Box::new(ErrorFields {
                kind,
                detail,
                location: None,
                hint: None,
            }),
        }
    }

    pub(crate) fn not_found(pattern: &str, hint: &'static str) -> Self {
        Self::new(ErrorKind::NotFound, Detail::NotFound(pattern.to_owned())).with_hint(hint)
    }

    pub(crate) fn pattern(message: String) -> Self {
        Self::new(ErrorKind::NotFound, Detail::Pattern(message))
            .with_hint("in a pattern, * matches any name, ** any folders, [[] a bracket")
    }

    pub(crate) fn io(source: io::Error) -> Self {
        let kind = match source.kind() {
            io::ErrorKind::NotFound => ErrorKind::NotFound,
            _ => ErrorKind::Io,
        };
        Self::new(kind, Detail::Io(source))
    }

    pub(crate) fn folder() -> Self {
        Self::io(io::ErrorKind::IsADirectory.into())
            .with_hint("a pattern such as FOLDER/*.pcap reads the captures in it")
    }

    pub(crate) fn unknown_format(found: String, hint: &'static str) -> Self {
        Self::new(ErrorKind::UnknownFormat, Detail::Unknown(found)).with_hint(hint)
    }

    pub(crate) fn damaged(reason: Reason, location: Location) -> Self {
        Self::new(ErrorKind::Damaged, Detail::Reason(reason)).at(location)
    }

    pub(crate) fn limit(reason: Reason, location: Location) -> Self {
        Self::new(ErrorKind::Limit, Detail::Reason(reason)).at(location)
    }

    pub(crate) fn decompress(compression: Compression, failure: DecompressFailure) -> Self {
        let kind = if failure.limit {
            ErrorKind::Limit
        } else {
            ErrorKind::Decompress
        };
        let hint = match (failure.limit, compression) {
            (true, Compression::Zstd) => Some("`zstd -d --long=31` decompresses it first"),
            (true, Compression::Xz) => {
                Some("decompress it first: xz -dc FILE | weir query \"… FROM '-'\"")
            }
            _ => None,
        };
        let error = Self::new(kind, Detail::Compressed(compression, failure));
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    pub(crate) fn at(mut self, location: Location) -> Self {
        self.inner.location = Some(location);
        self
    }

    /// Marks the error as one of the bytes before the first record.
    pub(crate) fn in_file_header(mut self) -> Self {
        if let Some(location) = &mut self.inner.location {
            location.record = 0;
        }
        self
    }

    pub(crate) fn with_hint(mut self, hint: &'static str) -> Self {
        self.inner.hint = Some(hint);
        self
    }

    /// The kind, to branch on.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.inner.kind
    }

    /// Whether the source has no data for now (its read failed with [`io::ErrorKind::WouldBlock`]): at the next call, the reader
    /// continues where it was. Only a plain source can pause, not a compressed one.
    #[must_use]
    pub fn is_pause(&self) -> bool {
        matches!(&self.inner.detail, Detail::Io(source) if source.kind() == io::ErrorKind::WouldBlock)
    }

    /// The next thing to try, where it is known: half a sentence without a final full stop.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.inner.hint
    }

    /// The place where reading stopped, if reading had begun.
    #[must_use]
    pub fn location(&self) -> Option<Location> {
        self.inner.location
    }

    /// The reason of [`ErrorKind::Damaged`] and [`ErrorKind::Limit`].
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        match self.inner.detail {
            Detail::Reason(reason) => Some(reason),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = &self.inner.location {
            write!(f, "{location}: ")?;
        }
        match &self.inner.detail {
            Detail::NotFound(pattern) if pattern.is_empty() => {
                f.write_str("the name of the file is empty")
            }
            Detail::NotFound(pattern) => write!(f, "no file matches {pattern}"),
            Detail::Pattern(message) => write!(f, "the pattern is not valid: {message}"),
            Detail::Io(source) => write!(f, "{source}"),
            Detail::Unknown(found) => write!(f, "not a capture of a known format: {found}"),
            Detail::Reason(reason) => write!(f, "{reason}"),
            Detail::Compressed(compression, failure) => write!(f, "{compression}: {failure}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.detail {
            Detail::Io(source) => Some(source),
            _ => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(format) = self.format {
            write!(f, "{format} ")?;
        }
        match self.record {
            0 => write!(f, "file header")?,
            record => write!(f, "record {record}")?,
        }
        write!(f, " at byte {}", self.offset)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cut {
                part,
                needed,
                available,
            } => write!(
                f,
                "{part} is cut short: {needed} bytes expected, {available} found"
            ),
            Self::Unexpected {
                part,
                expected,
                found,
            } => write!(f, "{part} is {found} (0x{found:x}), expected {expected}"),
            Self::TooLarge { part, limit, found } => {
                write!(f, "{part} is {found}, more than the limit of {limit}")
            }
        }
    }
}
