//! One reused buffer between a stream and the parsers.
//!
//! A buffer the size of the cache, refilled by large reads, costs less than a fresh memory map of
//! the file (figures in `benches/README.md`), and works for pipes as well.

use std::io::Read;

use crate::{
    Compression, Options,
    input::{Input, InputError, Watch},
};

/// A window on the stream that slides forward.
pub(crate) struct Buffer<R: Read> {
    input: Input<R>,
    /// Whether the source is slow; `None` when nothing would follow from that.
    watch: Option<Watch<R>>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the stream of `bytes[start]`.
    offset: u64,
    /// Bytes asked for in one read.
    chunk: usize,
    ended: bool,
    /// The source failed; told once the bytes before the failure are used up.
    failure: Option<InputError>,
}

impl<R: Read> Buffer<R> {
    pub(crate) fn new(source: R, options: &Options) -> Result<Self, InputError> {
        Ok(Self::of(Input::new(source, options)?, options))
    }

    /// Of a source that is not compressed, whatever it begins with.
    pub(crate) fn of_plain(source: R, options: &Options) -> Self {
        Self::of(Input::plain(source, options), options)
    }

    fn of(input: Input<R>, options: &Options) -> Self {
        let chunk = options.buffer_bytes.max(CHUNK_MIN);
        Self {
            input,
            watch: None,
            bytes: vec![0; chunk],
            start: 0,
            end: 0,
            offset: 0,
            chunk,
            ended: false,
            failure: None,
        }
    }

    /// Reads ahead on a thread of its own, if the source is slow.
    pub(crate) fn may_read_ahead(&mut self)
    where
        R: Send + 'static,
    {
        self.watch = Some(Watch::new());
    }

    /// The bytes that are here.
    #[inline]
    pub(crate) fn window(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// Where `window()` begins, for [`Buffer::slice`]; valid until the next `ensure` or `skip`.
    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.start
    }

    /// Bytes at a position taken from [`Buffer::position`].
    #[inline]
    pub(crate) fn slice(&self, position: usize, len: usize) -> &[u8] {
        // Both were within the window when the record was found.
        self.bytes
            .get(position..position.saturating_add(len))
            .unwrap_or_default()
    }

    /// Offset in the stream of the first byte of `window()`.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Counts offsets from `offset` on.
    pub(crate) fn start_at(&mut self, offset: u64) {
        self.offset = offset;
    }

    pub(crate) fn compression(&self) -> Compression {
        self.input.compression()
    }

    pub(crate) fn source_bytes(&self) -> u64 {
        match self.input.compression() {
            Compression::None => self.offset,
            _ => self.input.source_bytes(),
        }
    }

    /// Passes over `count` bytes of the window.
    #[inline]
    pub(crate) fn consume(&mut self, count: usize) {
        let count = count.min(self.end - self.start);
        self.start += count;
        self.offset += count as u64;
    }

    /// Makes the window at least `count` bytes long. False when the stream ends before; the window
    /// is then all that is left. Fails when the source did.
    pub(crate) fn ensure(&mut self, count: usize) -> Result<bool, InputError> {
        match (self.try_ensure(count), self.failure.take()) {
            (true, failure) => {
                self.failure = failure;
                Ok(true)
            }
            (false, Some(failure)) => Err(failure),
            (false, None) => Ok(false),
        }
    }

    /// Makes the window at least `count` bytes long. False when the stream ends before, for
    /// whatever reason: `ensure` tells.
    ///
    /// The buffer doubles only when it is full, so it never holds more than twice what has arrived.
    pub(crate) fn try_ensure(&mut self, count: usize) -> bool {
        if self.end - self.start >= count {
            return true;
        }
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while self.end < count && !self.ended {
            if self.end == self.bytes.len() {
                let larger = self.bytes.len().saturating_mul(2);
                self.bytes.resize(larger, 0);
            }
            // No more than a chunk, even after a large record has made the buffer large: what is
            // read next should still be in the cache when it is looked at.
            let limit = self
                .chunk
                .max(count.min(self.end.saturating_add(self.chunk)));
            let limit = limit.min(self.bytes.len());
            let Some(free) = self.bytes.get_mut(self.end..limit) else {
                break;
            };
            let outcome = match &mut self.watch {
                None => self.input.read(free),
                Some(watch) => {
                    let (outcome, is_slow) = watch.read(&mut self.input, free);
                    if is_slow && let Some(watch) = self.watch.take() {
                        watch.begin(&mut self.input);
                    }
                    outcome
                }
            };
            match outcome {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) => {
                    // After a pause there may be more.
                    let paused = error.is_pause();
                    self.failure = Some(error);
                    if paused {
                        break;
                    }
                    self.ended = true;
                }
            }
        }
        self.end >= count
    }

    /// Passes over `count` bytes of the stream, however many. Gives how many there were.
    pub(crate) fn skip(&mut self, count: u64) -> Result<u64, InputError> {
        let mut left = count;
        loop {
            let here = (self.end - self.start) as u64;
            let step = left.min(here);
            self.consume(step as usize);
            left -= step;
            if left == 0 {
                return Ok(count);
            }
            match self.ensure(1) {
                Ok(true) => {}
                Ok(false) => return Ok(count - left),
                // What was passed over would be forgotten.
                Err(error) if error.is_pause() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

const CHUNK_MIN: usize = 4 << 10;
