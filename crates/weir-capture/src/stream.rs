//! The common part of all formats: the buffer, the count of records, the interfaces, and errors with their places.

use std::io::Read;

use crate::{
    Error, Format, Interface, Record,
    buffer::Buffer,
    error::{Location, Reason},
    input::InputError,
};

/// A stream of records in the middle of being read.
pub(crate) struct Stream<R: Read> {
    pub(crate) buffer: Buffer<R>,
    pub(crate) interfaces: Vec<Interface>,
    /// Lines of key logs of TLS that came so far.
    pub(crate) secrets: Vec<u8>,
    /// Number of the last record.
    pub(crate) number: u64,
    /// Records whose time was beyond what [`Record::time_ns`] holds.
    pub(crate) times_beyond: u64,
    pub(crate) format: Format,
    /// Records that begin here or behind are left to others.
    pub(crate) stop: u64,
}

/// A found record, as positions in the buffer, so that no borrow lasts until its use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundRecord {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) time_ns: Option<i64>,
    pub(crate) wire_len: u32,
    pub(crate) flags: Option<u32>,
    /// Index of the interface.
    pub(crate) interface: usize,
    pub(crate) data: Span,
    pub(crate) comment: Option<Span>,
}

/// Bytes in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) position: usize,
    pub(crate) len: usize,
}

impl<R: Read> Stream<R> {
    /// The record at a place that a parser found; valid until it looks for the next one.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "as Reader::next")]
    pub(crate) fn record(&self, found: &FoundRecord) -> Option<Record<'_>> {
        let interface = self.interfaces.get(found.interface)?;
        Some(Record {
            number: found.number,
            offset: found.offset,
            time_ns: found.time_ns,
            wire_len: found.wire_len,
            link_type: interface.link_type,
            interface,
            data: self.slice(found.data),
            comment: match found.comment {
                Some(comment) => std::str::from_utf8(self.slice(comment)).ok(),
                None => None,
            },
            flags: found.flags,
        })
    }

    /// The time of a record in nanoseconds since 1970, or the nearest that 64 bits hold: then the record is counted.
    #[inline]
    pub(crate) fn held(&mut self, time_ns: i128) -> i64 {
        match i64::try_from(time_ns) {
            Ok(time_ns) => time_ns,
            Err(_) => {
                self.times_beyond = self.times_beyond.saturating_add(1);
                if time_ns < 0 { i64::MIN } else { i64::MAX }
            }
        }
    }

    /// The part of the window in which records may begin and end.
    #[inline]
    pub(crate) fn window_to_stop(&self) -> &[u8] {
        let window = self.buffer.window();
        let left = self.stop.saturating_sub(self.buffer.offset());
        match usize::try_from(left) {
            Ok(left) => window.get(..left).unwrap_or(window),
            Err(_) => window,
        }
    }

    /// The next record belongs to others.
    #[inline]
    pub(crate) fn is_at_stop(&self) -> bool {
        self.buffer.offset() >= self.stop
    }

    #[inline]
    fn slice(&self, span: Span) -> &[u8] {
        self.buffer.slice(span.position, span.len)
    }

    /// Makes the window `count` bytes long, between records: false when nothing is left.
    #[cold]
    #[inline(never)]
    pub(crate) fn more(&mut self, count: usize, part: &'static str) -> Result<bool, Error> {
        match self.buffer.ensure(count) {
            Ok(false) if self.buffer.window().is_empty() => Ok(false),
            Ok(true) => Ok(true),
            Ok(false) => Err(self.cut(part, count, 0)),
            Err(error) => Err(self.input_error(error)),
        }
    }

    /// Makes the window `count` bytes long, within a record whose header of `header_len` bytes is
    /// there already.
    #[cold]
    #[inline(never)]
    pub(crate) fn need(
        &mut self,
        count: usize,
        header_len: usize,
        part: &'static str,
    ) -> Result<(), Error> {
        match self.buffer.ensure(count) {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.cut(part, count, header_len)),
            Err(error) => Err(self.input_error(error)),
        }
    }

    fn cut(&self, part: &'static str, count: usize, header_len: usize) -> Error {
        self.damaged(Reason::Cut {
            part,
            needed: count.saturating_sub(header_len) as u64,
            available: self.buffer.window().len().saturating_sub(header_len) as u64,
        })
    }

    /// An error of the source, with the place at which the next record would be.
    pub(crate) fn input_error(&self, error: InputError) -> Error {
        Error::from(error).at(self.location())
    }

    /// Damage in the next record.
    #[cold]
    #[inline(never)]
    pub(crate) fn damaged(&self, reason: Reason) -> Error {
        Error::damaged(reason, self.location())
    }

    /// A limit reached by the next record.
    #[cold]
    #[inline(never)]
    pub(crate) fn limit(&self, part: &'static str, limit: u64, found: u64) -> Error {
        Error::limit(Reason::TooLarge { part, limit, found }, self.location())
    }

    /// The place of the next record.
    pub(crate) fn location(&self) -> Location {
        Location {
            format: Some(self.format),
            record: self.number + 1,
            offset: self.buffer.offset(),
        }
    }
}
