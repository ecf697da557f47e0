//! Reads an object in order, with several requests ahead.

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;

use crate::Error;
use crate::found::FoundObject;
use crate::runtime::{Task, spawn};

/// Reads an object by ranges.
///
/// At any moment it holds the range that is being returned and the ranges under way, at most as many as
/// [`Limits`](crate::Limits) allows. All readers together stay within its `ahead_bytes_max`, except for one range each,
/// without which a reader could wait for ever for others that wait for it.
pub(crate) struct RangeReader {
    object: Arc<FoundObject>,
    /// The position of the next byte that is returned.
    position: u64,
    /// The end of the range that is read ahead.
    ahead_until: u64,
    /// The position of the next request.
    next: u64,
    /// The size of the next request.
    step: u64,
    under_way: VecDeque<Fetch>,
    /// The rest of the current range, and its share of the memory.
    chunk: Bytes,
    held: Option<OwnedSemaphorePermit>,
    /// The number of bytes returned since the last seek.
    given: u64,
}

/// A request that was sent.
struct Fetch {
    task: Task<Result<Bytes, Error>>,
    held: Option<OwnedSemaphorePermit>,
}

impl RangeReader {
    pub(crate) fn new(object: Arc<FoundObject>, range: Range<u64>) -> Self {
        Self {
            position: range.start,
            ahead_until: range.end,
            next: range.start,
            step: object.limits.first_bytes(),
            object,
            under_way: VecDeque::new(),
            chunk: Bytes::new(),
            held: None,
            given: 0,
        }
    }

    /// Moves to another position.
    fn go_to(&mut self, position: u64) {
        self.under_way.clear();
        self.chunk = Bytes::new();
        self.held = None;
        self.position = position;
        self.next = position;
        self.step = self.object.limits.first_bytes();
        self.given = 0;
    }

    /// Fetches the bytes at the position; the chunk is empty at the end.
    fn refill(&mut self) -> io::Result<()> {
        self.held = None;
        let size = self.object.version.size;
        if self.position >= size {
            return Ok(());
        }
        let head = self.object.head();
        if self.under_way.is_empty()
            && let Ok(at) = usize::try_from(self.position)
            && at < head.len()
        {
            self.chunk = head.slice(at..);
            self.next = self.position.saturating_add(self.chunk.len() as u64);
            return Ok(());
        }
        if self.position >= self.ahead_until {
            // More is read than was expected: as much again may follow.
            let more = self.given.max(self.step);
            self.ahead_until = self.position.saturating_add(more);
        }
        self.send(size)?;
        if let Some(fetch) = self.under_way.pop_front() {
            let fetched = fetch.task.wait()?;
            self.chunk = fetched.map_err(Error::into_io)?;
            self.held = fetch.held;
        }
        Ok(())
    }

    /// Sends requests up to the limits.
    fn send(&mut self, size: u64) -> io::Result<()> {
        let limits = self.object.limits;
        while self.under_way.len() < limits.ranges_max.max(1) {
            let is_first = self.under_way.is_empty();
            let until = match is_first {
                true => size,
                false => size.min(self.ahead_until),
            };
            let bytes = self.step.min(until.saturating_sub(self.next));
            if bytes == 0 {
                break;
            }
            let share = u32::try_from(bytes.div_ceil(crate::limits::SHARE_BYTES));
            let share = share.unwrap_or(u32::MAX);
            let held = Arc::clone(&self.object.ahead)
                .try_acquire_many_owned(share)
                .ok();
            if held.is_none() && !is_first {
                break;
            }
            let range = self.next..self.next.saturating_add(bytes);
            self.next = range.end;
            self.step = limits.step_after(self.step);
            let object = Arc::clone(&self.object);
            let task = spawn(async move { object.fetch(range).await })?;
            self.under_way.push_back(Fetch { task, held });
        }
        Ok(())
    }
}

impl Read for RangeReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        if self.chunk.is_empty() {
            self.refill()?;
        }
        let count = self.chunk.len().min(out.len());
        let given = self.chunk.split_to(count);
        if let Some(out) = out.get_mut(..count) {
            out.copy_from_slice(&given);
        }
        self.position = self.position.saturating_add(count as u64);
        self.given = self.given.saturating_add(count as u64);
        Ok(count)
    }
}

impl Seek for RangeReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => self.object.version.size.checked_add_signed(by),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
        };
        let Some(position) = position else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        if position != self.position {
            self.go_to(position);
        }
        Ok(position)
    }
}
