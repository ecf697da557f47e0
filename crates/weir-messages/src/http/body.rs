//! The framing of bodies (RFC 9112, 6 and 7).

use super::head::{Head, RequestLine, StatusLine};

/// The rest of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    /// A number of octets.
    Length(u64),
    /// The length of a chunk.
    ChunkSize,
    /// A number of octets of a chunk, and its line end.
    Chunk(u64),
    /// The line end behind a chunk.
    ChunkEnd,
    /// Fields behind the last chunk.
    Trailers,
    /// All that comes.
    Connection,
}

/// The result of a step through a body.
pub(super) enum BodyStep {
    /// The number of octets that were used; 0 when more have to come.
    Used(usize),
    /// There is no body: these octets begin the next message.
    None,
    /// The body is malformed.
    Broken,
}

/// Octets of a line of chunks, at most.
const LINE_OCTETS_MAX: usize = 4_096;

/// The transfer of a body (RFC 9112, 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transfer {
    /// There is no coding, or one that changes nothing (RFC 2616, 3.6).
    Plain,
    Chunked,
    /// The last coding is one without an end.
    Unknown,
}

impl Transfer {
    fn of<L>(head: &Head<L>) -> Self {
        let codings = head
            .all("transfer-encoding")
            .flat_map(|value| value.split(','));
        let names = codings.map(|coding| coding.split(';').next().unwrap_or_default().trim());
        match names.filter(|name| !name.is_empty()).last() {
            Some(last) if last.eq_ignore_ascii_case("chunked") => Self::Chunked,
            Some(last) if !last.eq_ignore_ascii_case("identity") => Self::Unknown,
            _ => Self::Plain,
        }
    }
}

/// The lengths that a head gives, `None` for a value that is not a number: several fields or values may give one (RFC 9112, 6.3).
fn lengths<L>(head: &Head<L>) -> impl Iterator<Item = Option<u64>> {
    let values = head
        .all("content-length")
        .flat_map(|value| value.split(','));
    values.map(str::trim).map(|value| {
        let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
        value.parse().ok().filter(|_| is_number)
    })
}

/// The first length that is one; where none is, the number that the first value begins with, as software of C reads it.
fn length<L>(head: &Head<L>) -> Option<u64> {
    lengths(head).flatten().next().or_else(|| {
        let value = head.field("content-length")?.trim();
        let value = value.strip_prefix('+').unwrap_or(value);
        let end = value.find(|letter: char| !letter.is_ascii_digit());
        value.get(..end.unwrap_or(value.len()))?.parse().ok()
    })
}

/// Whether a head has contradictory or malformed framing.
pub(super) fn is_ambiguous<L>(head: &Head<L>) -> bool {
    let mut all = lengths(head);
    let Some(first) = all.next() else {
        return Transfer::of(head) == Transfer::Unknown;
    };
    first.is_none() || all.any(|other| other != first) || Transfer::of(head) != Transfer::Plain
}

impl Body {
    pub(super) fn of_request(head: &Head<RequestLine>) -> Self {
        match Transfer::of(head) {
            Transfer::Chunked => Self::ChunkSize,
            _ => Self::Length(length(head).unwrap_or(0)),
        }
    }

    /// The framing of a response to a request of this method.
    pub(super) fn of_response(head: &Head<StatusLine>, method: Option<&str>) -> Self {
        let code = head.line.code;
        let is_tunnel = method == Some("CONNECT") && code / 100 == 2;
        if method == Some("HEAD") || is_tunnel || matches!(code, 100..=199 | 204 | 304) {
            return Self::Length(0);
        }
        match Transfer::of(head) {
            Transfer::Chunked => Self::ChunkSize,
            // A length does not count beside a coding (RFC 9112, 6.3).
            Transfer::Unknown => Self::Connection,
            Transfer::Plain => length(head).map_or(Self::Connection, Self::Length),
        }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self, Self::Length(0))
    }

    pub(super) const fn ends_with_connection(&self) -> bool {
        matches!(self, Self::Connection)
    }

    /// Returns whether nothing was read of a body that a head announces, which the response to HEAD does not have (RFC 9110, 9.3.2).
    pub(super) const fn may_be_none(&self) -> bool {
        matches!(self, Self::Length(1..) | Self::ChunkSize | Self::Connection)
    }

    /// Returns whether a chunk or its end has to come.
    pub(super) const fn awaits_chunk(&self) -> bool {
        matches!(
            self,
            Self::ChunkSize | Self::Chunk(_) | Self::ChunkEnd | Self::Trailers
        )
    }

    /// Passes over octets that were not captured; false when it is not known what they were.
    pub(super) fn pass(&mut self, octets: u64) -> bool {
        match self {
            Self::Connection => true,
            Self::Length(left) | Self::Chunk(left) if *left > octets => {
                *left -= octets;
                true
            }
            Self::Length(left) if *left == octets => {
                *left = 0;
                true
            }
            Self::Chunk(left) if *left == octets => {
                *self = Self::ChunkEnd;
                true
            }
            _ => false,
        }
    }

    /// Reads the octets that belong to the body, and reports its content.
    pub(super) fn take(&mut self, bytes: &[u8], content: &mut dyn FnMut(&[u8])) -> BodyStep {
        match self {
            Self::Connection => {
                content(bytes);
                BodyStep::Used(bytes.len())
            }
            Self::Length(left) => BodyStep::Used(upto(left, bytes, content)),
            Self::Chunk(left) => {
                let used = upto(left, bytes, content);
                if *left == 0 {
                    *self = Self::ChunkEnd;
                }
                BodyStep::Used(used)
            }
            Self::ChunkSize | Self::ChunkEnd | Self::Trailers => self.line(bytes),
        }
    }

    /// A line between chunks.
    fn line(&mut self, bytes: &[u8]) -> BodyStep {
        let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
            return match bytes.len() > LINE_OCTETS_MAX {
                true => BodyStep::Broken,
                false => BodyStep::Used(0),
            };
        };
        let line = bytes.get(..end).unwrap_or_default().trim_ascii();
        match self {
            Self::ChunkEnd if line.is_empty() => *self = Self::ChunkSize,
            Self::Trailers if line.is_empty() => *self = Self::Length(0),
            Self::Trailers => {}
            Self::ChunkSize => {
                let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
                let digits = std::str::from_utf8(digits.trim_ascii()).unwrap_or_default();
                // A size has no sign (RFC 9112, 7.1); the standard library accepts one.
                match u64::from_str_radix(digits, 16) {
                    Ok(_) if digits.starts_with('+') => return BodyStep::Broken,
                    Ok(0) => *self = Self::Trailers,
                    Ok(size) => *self = Self::Chunk(size),
                    Err(_) => return BodyStep::Broken,
                }
            }
            _ => return BodyStep::Broken,
        }
        BodyStep::Used(end + 1)
    }
}

/// Reads at most `left` octets.
fn upto(left: &mut u64, bytes: &[u8], content: &mut dyn FnMut(&[u8])) -> usize {
    let used = usize::try_from(*left)
        .unwrap_or(usize::MAX)
        .min(bytes.len());
    content(bytes.get(..used).unwrap_or_default());
    *left -= used as u64;
    used
}
