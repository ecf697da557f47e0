//! A walk over a log of any form, from record to record, past damaged places.

use std::io;

use crate::fault::{Fault, FaultKind};
use crate::forms::Scratch;
use crate::forms::notation::Notation;
use crate::record::Record;
use crate::segment::Segment;

/// The number of bytes of log that are read at a time.
pub(crate) const PIECE_BYTES: u64 = 512 << 10;
/// The number of bytes behind a piece that are read with it, for its last record.
pub(crate) const BEHIND_BYTES: u64 = 8 << 10;

/// A walk over a log from a record's beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogWalk {
    /// The number of places that are no record, line feeds apart.
    pub(crate) damaged: u64,
    /// The number of those that are behind the last record.
    pub(crate) trailing: u64,
    /// The end of the last record.
    pub(crate) end: u64,
    /// The expected offset of the next one.
    pub(crate) next: u64,
    /// Whether the bytes before are damaged, and counted.
    pub(crate) lost: bool,
}

/// The function of a walk at each offset: it returns whether a record begins there, and its length. It gets the bytes
/// from there on, whether nothing follows them, and their offset in the log.
///
/// An error ends the walk.
pub(crate) trait Read: FnMut(&[u8], bool, u64) -> io::Result<Result<usize, Fault>> {}

impl<F: FnMut(&[u8], bool, u64) -> io::Result<Result<usize, Fault>>> Read for F {}

/// Reads every record, and calls `each` with it, its bytes and its offset.
pub(crate) fn each_record<N: Notation>(
    scratch: &mut Scratch,
    mut each: impl FnMut(&Record<'_>, &[u8], u64) -> io::Result<()>,
) -> impl Read {
    move |bytes: &[u8], whole: bool, offset: u64| match N::decode(bytes, whole, scratch) {
        Ok((record, len)) => {
            each(&record, bytes.get(..len).unwrap_or_default(), offset)?;
            Ok(Ok(len))
        }
        Err(fault) => Ok(Err(fault)),
    }
}

impl LogWalk {
    /// Visits every record that begins from `from` on and before `to`. The caller keeps the buffer, because a new one
    /// for half a megabyte costs as much as reading that.
    pub(crate) fn run<N: Notation>(
        &mut self,
        segment: &Segment,
        from: u64,
        to: u64,
        buffer: &mut Vec<u8>,
        read: &mut impl Read,
    ) -> io::Result<()> {
        let mut factor = 1_u64;
        self.next = from;
        self.end = self.end.max(from);
        let to = to.min(segment.len());
        while self.next < to {
            let at = self.next;
            let ends = at.saturating_add(PIECE_BYTES).min(to);
            let behind = BEHIND_BYTES.saturating_mul(factor);
            let count = segment.read_into(at, ends.saturating_add(behind), buffer)?;
            let bytes = buffer.get(..count).unwrap_or_default();
            let last = at.saturating_add(count as u64) >= segment.len();
            let limit = usize::try_from(ends.saturating_sub(at)).unwrap_or(usize::MAX);
            let used = self.piece::<N>(bytes, at, limit, last, read)?;
            self.next = at.saturating_add(used as u64);
            // The record is longer than the bytes that were read, or declares so.
            factor = if used == 0 {
                factor.saturating_mul(4)
            } else {
                1
            };
        }
        Ok(())
    }

    /// Visits the records of a piece that begin before `limit`; returns the number of processed bytes, which are fewer
    /// than `limit` when more have to be read. `last` is true at the end of the log.
    pub(crate) fn piece<N: Notation>(
        &mut self,
        bytes: &[u8],
        offset: u64,
        limit: usize,
        last: bool,
        read: &mut impl Read,
    ) -> io::Result<usize> {
        let mut at = 0_usize;
        while let Some(rest) = bytes
            .get(at..)
            .filter(|rest| at < limit && !rest.is_empty())
        {
            if self.lost {
                match N::resynchronise(bytes, at) {
                    Some(next) => (at, self.lost) = (next, false),
                    None => return Ok(unread::<N>(bytes, at, last)),
                }
                continue;
            }
            match read(rest, last, offset.saturating_add(at as u64))? {
                Ok(len) => {
                    at = at.saturating_add(len);
                    self.end = offset.saturating_add(at as u64);
                    self.trailing = 0;
                }
                Err(fault)
                    if fault.kind == FaultKind::Cut
                        && !last
                        && rest.len() <= N::RECORD_BYTES_MAX =>
                {
                    return Ok(at);
                }
                Err(_) => match N::stray(rest) {
                    0 => {
                        self.damaged = self.damaged.saturating_add(1);
                        self.trailing = self.trailing.saturating_add(1);
                        match N::behind(bytes, at) {
                            Some(next) => at = next,
                            None => self.lost = true,
                        }
                    }
                    stray => at = at.saturating_add(stray),
                },
            }
        }
        Ok(at)
    }
}

/// The number of processed bytes when no record begins after `at`: all but those that may be the beginning of one.
fn unread<N: Notation>(bytes: &[u8], at: usize, last: bool) -> usize {
    match last {
        true => bytes.len(),
        false => bytes.len().saturating_sub(N::KEPT_BYTES).max(at),
    }
}
