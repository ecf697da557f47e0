//! A source with a look-ahead buffer, counting what is taken from it.

use std::io::{self, Read};

use super::error::InputError;

/// Wraps a [`Read`]. The buffer serves for looking ahead and for feeding decompressors; large plain
/// reads pass it by once it is empty.
pub(crate) struct Source<R> {
    inner: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    capacity: usize,
    consumed: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(inner: R, capacity: usize) -> Self {
        Self {
            inner,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            capacity: capacity.max(CAPACITY_MIN),
            consumed: 0,
        }
    }

    /// Bytes returned so far.
    pub(super) fn consumed(&self) -> u64 {
        self.consumed
    }

    /// The next `count` bytes, fewer at the end of the source. Asks the source for no more than
    /// that, so that the reads which follow stay aligned to large blocks and a pipe is not drained.
    pub(super) fn peek(&mut self, count: usize) -> Result<&[u8], InputError> {
        if self.end - self.start >= count {
            return Ok(self.buffered());
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < count {
            self.buffer.resize(count, 0);
        }
        while self.end < count {
            let Some(free) = self.buffer.get_mut(self.end..count) else {
                break;
            };
            match retry(&mut self.inner, free)? {
                0 => break,
                read => self.end += read,
            }
        }
        Ok(self.buffered())
    }

    /// Reads some bytes; 0 means the end.
    pub(super) fn read(&mut self, out: &mut [u8]) -> Result<usize, InputError> {
        let buffered = self.buffered();
        let read = if buffered.is_empty() {
            retry(&mut self.inner, out)?
        } else {
            let count = buffered.len().min(out.len());
            if let (Some(to), Some(from)) = (out.get_mut(..count), buffered.get(..count)) {
                to.copy_from_slice(from);
            }
            self.start += count;
            count
        };
        self.consumed = self.consumed.saturating_add(read as u64);
        Ok(read)
    }

    /// The buffered bytes; reads first when there are none. Empty at the end.
    pub(super) fn fill(&mut self) -> Result<&[u8], InputError> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() < self.capacity {
                self.buffer.resize(self.capacity, 0);
            }
            self.end = retry(&mut self.inner, &mut self.buffer)?;
        }
        Ok(self.buffered())
    }

    /// The next byte, or `None` at the end.
    pub(super) fn byte(&mut self) -> Result<Option<u8>, InputError> {
        let byte = self.fill()?.first().copied();
        self.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    /// Marks `count` bytes of [`Source::fill`] as taken.
    pub(super) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.consumed = self.consumed.saturating_add(count as u64);
    }

    fn buffered(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }
}

/// One read that is not interrupted and does not claim more bytes than there is room for.
fn retry(inner: &mut impl Read, out: &mut [u8]) -> Result<usize, InputError> {
    loop {
        match inner.read(out) {
            Ok(read) => return Ok(read.min(out.len())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

const CAPACITY_MIN: usize = 4 << 10;
