//! The position of zlib's window.
//!
//! Distances alone do not decide what zlib may refer to: the very first byte of its buffer is
//! never matched (index 0 means "none"), and a block whose beginning has left the buffer cannot be
//! stored. Both depend on when the buffer slides, so that is followed here.

use super::level::{LOOKAHEAD_MIN, distance_max};

/// zlib's sliding buffer of twice the window, in positions of the whole stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Position of the buffer's first byte.
    pub(crate) base: usize,
    /// Position after the last byte that was read into the buffer.
    filled: usize,
    /// End of the message.
    end: usize,
    size: usize,
    /// Largest distance of a match.
    pub(crate) distance_max: usize,
}

impl Window {
    /// The buffer when a message from `start` to `end` is about to be read, in a stream after `passed` bytes.
    ///
    /// A buffer slides by one window as soon as the position is `window + distance_max` beyond its
    /// base, and is looked at before every message; so its base follows from the position alone.
    #[inline]
    pub(crate) fn new(window_bits: u8, passed: u64, start: usize, end: usize) -> Self {
        let size = 1usize << window_bits;
        let distance_max = distance_max(window_bits);
        let slides = passed.saturating_sub(distance_max as u64) >> window_bits;
        let within = (passed - (slides << window_bits)) as usize;
        let mut window = Self {
            base: start - within,
            filled: start,
            end,
            size,
            distance_max,
        };
        window.read();
        window
    }

    fn read(&mut self) {
        self.filled = self.end.min(self.base + 2 * self.size);
    }

    /// zlib's `fill_window`, when the lookahead at `position` is too short; true when the buffer slid.
    #[inline(always)]
    pub(crate) fn fill(&mut self, position: usize) -> bool {
        if self.filled - position >= LOOKAHEAD_MIN {
            return false;
        }
        let slides = position >= self.base + self.size + self.distance_max;
        if slides {
            self.base += self.size;
        }
        self.read();
        slides
    }
}
