//! One reused buffer between a stream and the parsers.
//!
//! A buffer the size of the cache, refilled by large reads, costs less than a fresh memory map of
//! the file (figures in `benches/README.md`), and works for pipes as well.

use std::io::Read;

use crate::{
    Compression, ReadOptions,
    input::{Input, InputError, Watch},
    pieces::Pieces,
};

/// A window on the stream that slides forward.
pub(crate) struct Buffer<R: Read> {
    input: Input<R>,
    /// The measurement whether the source is slow; `None` when it would have no effect.
    watch: Option<Watch<R>>,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the stream of `bytes[start]`.
    offset: u64,
    /// The size of reads.
    pieces: Pieces,
    ended: bool,
    /// The failure of the source, returned when the bytes before it are used up.
    failure: Option<InputError>,
}

impl<R: Read> Buffer<R> {
    pub(crate) fn new(source: R, options: &ReadOptions) -> Result<Self, InputError> {
        Ok(Self::of(Input::new(source, options)?, options))
    }

    /// A buffer of an uncompressed source, whose first bytes are not checked.
    pub(crate) fn of_plain(source: R, options: &ReadOptions) -> Self {
        Self::of(Input::plain(source, options), options)
    }

    fn of(input: Input<R>, options: &ReadOptions) -> Self {
        let chunk = options.buffer_bytes.max(CHUNK_MIN);
        Self {
            input,
            watch: None,
            // The window begins somewhere in the first pages.
            bytes: vec![0; chunk.saturating_add(Pieces::MARGIN)],
            start: 0,
            end: 0,
            offset: 0,
            pieces: Pieces::new(chunk),
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

    /// The position of `window()`, for [`Buffer::slice`]; valid until the next `ensure` or `skip`.
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

    /// Makes the window at least `count` bytes long. False when the stream ends before, for the reason that `ensure` returns.
    ///
    /// The buffer doubles only when it is full, so it never holds more than twice what has arrived.
    pub(crate) fn try_ensure(&mut self, count: usize) -> bool {
        if self.end - self.start >= count {
            return true;
        }
        self.move_rest();
        while self.end - self.start < count && !self.ended {
            if self.end == self.bytes.len() {
                let larger = self.bytes.len().saturating_mul(2);
                self.bytes.resize(larger, 0);
            }
            let limit = self.read_limit(count);
            let Some(free) = self.bytes.get_mut(self.end..limit) else {
                break;
            };
            let (input, watch) = (&mut self.input, &mut self.watch);
            let outcome = self.pieces.read(free, |free| match watch {
                None => input.read(free),
                Some(watching) => {
                    let (outcome, is_slow) = watching.read(input, free);
                    if is_slow && let Some(watching) = watch.take() {
                        watching.begin(input);
                    }
                    outcome
                }
            });
            match outcome {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) => {
                    // The input may have more bytes after a pause.
                    let paused = error.is_pause();
                    self.failure = Some(error);
                    if paused {
                        break;
                    }
                    self.ended = true;
                }
            }
        }
        self.end - self.start >= count
    }

    /// Moves the window to where the next read begins at a good place.
    fn move_rest(&mut self) {
        let room = self.pieces.len().saturating_add(Pieces::MARGIN);
        if self.bytes.len() < room {
            self.bytes.resize(room, 0);
        }
        let rest = self.end - self.start;
        let position = self.offset.wrapping_add(rest as u64);
        let place = Pieces::place(&self.bytes, rest, position);
        self.bytes
            .copy_within(self.start..self.end, place.saturating_sub(rest));
        (self.start, self.end) = (place - rest, place);
    }

    /// The end of the next read.
    ///
    /// No more than a piece, even after a large record has made the buffer large: what is read next should still be in the
    /// cache when it is looked at.
    fn read_limit(&self, count: usize) -> usize {
        let len = self.end - self.start;
        let piece = self.pieces.len();
        let window = piece.max(count.min(len.saturating_add(piece)));
        self.start.saturating_add(window).min(self.bytes.len())
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
                // The bytes that were skipped would be forgotten.
                Err(error) if error.is_pause() => {}
                Err(error) => return Err(error),
            }
        }
    }
}

const CHUNK_MIN: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::pieces::{AHEAD, PAGE};

    /// Zeros, and where reads of them began: in a page of memory, and in one of the file.
    struct Noted {
        position: usize,
        len: usize,
        begun: Arc<Mutex<Vec<(usize, usize)>>>,
    }

    impl Read for Noted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let place = buffer.as_ptr().addr() % PAGE;
            self.begun
                .lock()
                .unwrap()
                .push((place, self.position % PAGE));
            let count = buffer.len().min(self.len - self.position);
            buffer[..count].fill(0);
            self.position += count;
            Ok(count)
        }
    }

    #[test]
    fn reads_begin_a_good_way_behind_their_place_in_the_file() {
        for (record, buffer_bytes) in [
            (53, 64 << 10),
            (24, 4 << 10),
            (1514, 256 << 10),
            (9000, 16 << 10),
        ] {
            let begun = Arc::<Mutex<Vec<(usize, usize)>>>::default();
            let source = Noted {
                position: 0,
                len: 2 << 20,
                begun: Arc::clone(&begun),
            };
            let options = ReadOptions {
                buffer_bytes,
                ..ReadOptions::default()
            };
            let mut buffer = Buffer::of_plain(source, &options);
            let mut passed = 0;
            while buffer.ensure(record).unwrap() {
                assert!(buffer.window().len() >= record);
                buffer.consume(record);
                passed += record;
            }
            assert_eq!(passed + buffer.window().len(), 2 << 20);
            let begun = begun.lock().unwrap();
            assert!(begun.len() > 8, "{record}");
            for (place, position) in begun.iter() {
                assert_eq!(*place, (position + AHEAD) % PAGE, "{record}");
            }
        }
    }

    /// Numbers in a row, so that a byte that is lost or comes twice shows.
    struct Numbered(u64);

    impl Read for Numbered {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            for byte in &mut *buffer {
                *byte = (self.0 % 251) as u8;
                self.0 += 1;
            }
            Ok(buffer.len())
        }
    }

    #[test]
    fn no_byte_is_lost_while_pieces_of_several_sizes_are_tried() {
        const RECORD: usize = 4099;
        let mut buffer = Buffer::of_plain(Numbered(0), &ReadOptions::default());
        let (mut passed, mut sizes) = (0_u64, Vec::new());
        while passed < 30 << 20 {
            assert!(buffer.ensure(RECORD).unwrap());
            sizes.push(buffer.pieces.len());
            let record = &buffer.window()[..RECORD];
            for (byte, number) in record.iter().zip(passed..) {
                assert_eq!(*byte, (number % 251) as u8, "{number}");
            }
            buffer.consume(RECORD);
            passed += RECORD as u64;
        }
        assert!(sizes.contains(&Pieces::USUAL) && sizes.contains(&Pieces::LARGE));
    }

    #[test]
    fn records_that_are_larger_than_the_buffer_are_read_whole() {
        let source = Noted {
            position: 0,
            len: 1 << 20,
            begun: Arc::default(),
        };
        let options = ReadOptions {
            buffer_bytes: 4 << 10,
            ..ReadOptions::default()
        };
        let mut buffer = Buffer::of_plain(source, &options);
        for record in [1, 300_000, 5, 70_000, 4096, 500_000] {
            assert!(buffer.ensure(record).unwrap());
            assert!(buffer.window().len() >= record);
            buffer.consume(record);
        }
        assert!(!buffer.ensure(1 << 20).unwrap());
    }
}
