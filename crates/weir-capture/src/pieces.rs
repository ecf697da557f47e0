//! The size and the destination of reads of a file.

use std::time::{Duration, Instant};

/// Pieces in which a file is read into one reused buffer.
///
/// The size that costs least differs from processor to processor: where a piece fits the second cache, what was read is found there,
/// but some (AMD, Zen 4) copy half as fast again to memory that lies in that cache as to memory that does not. It differs within a
/// file, too, by how much of it lies together in the kernel's cache. So some megabytes of a large file are read in pieces of two
/// sizes in turn, now and then, and the rest in those that cost less.
#[derive(Debug)]
pub struct Pieces {
    len: usize,
    trial: Trial,
    /// Rounds of this trial, and how many of them the large pieces won.
    rounds: u32,
    won: u32,
}

/// The state of the trial.
#[derive(Clone, Copy, Debug)]
enum Trial {
    /// Compression is never tried.
    Never,
    /// The number of bytes until the next round.
    Rest(usize),
    /// The number of pieces of the usual size that were read in this round, and their nanoseconds.
    Usual(u32, u64),
    /// The number of large pieces and their nanoseconds, beside the time of a MiB in those of the usual size.
    Large(u32, u64, u64),
}

impl Pieces {
    /// Bytes of a piece, before others are tried.
    pub const USUAL: usize = 256 << 10;
    /// Bytes of a piece, at most.
    pub const LARGE: usize = 1 << 20;
    /// A buffer has so many bytes more than a piece at least, for the rest in front of it.
    pub const MARGIN: usize = 2 * PAGE;

    /// Pieces of so many bytes; where they are as large as usual, others may be tried.
    #[must_use]
    pub const fn new(len: usize) -> Self {
        let trial = match len {
            Self::USUAL => Trial::Rest(REST_FIRST),
            _ => Trial::Never,
        };
        Self {
            len,
            trial,
            rounds: 0,
            won: 0,
        }
    }

    /// Bytes of the next piece.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a piece has some")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The position in a buffer of the next piece, which has `rest` unused bytes before it, and is read from `position` of the
    /// file.
    ///
    /// The kernel copies from its pages by `rep movsb`, which takes two to five times as long on processors of AMD where the
    /// target lies as far in its page as the source, or a few octets (1 to some 31) further: which of both it is differs from model
    /// to model. A quarter of a page is far from either; half a cache line more spares those of Intel a tenth.
    #[must_use]
    pub fn place(buffer: &[u8], rest: usize, position: u64) -> usize {
        let page_start = match buffer.as_ptr().align_offset(PAGE) {
            offset if offset < PAGE => offset,
            _ => 0,
        };
        let in_page = (position % PAGE as u64) as usize;
        let place = page_start.saturating_add((in_page + AHEAD) % PAGE);
        let missing = rest.saturating_sub(place).next_multiple_of(PAGE);
        match place.saturating_add(missing) {
            place if place.saturating_add(PAGE) <= buffer.len() => place,
            _ => rest,
        }
    }

    /// Reads a piece, or a part of one, into `out`.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn read<E>(
        &mut self,
        out: &mut [u8],
        read: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<usize, E> {
        if matches!(self.trial, Trial::Never) {
            return read(out);
        }
        let begun = Instant::now();
        let asked = out.len();
        let count = read(out)?;
        // A source that returns small parts is not a file in the page cache.
        if count == asked && asked >= self.len / 2 {
            self.took(count, begun.elapsed());
        }
        Ok(count)
    }

    /// A read of so many bytes took so long.
    fn took(&mut self, bytes: usize, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let cost = nanoseconds.saturating_mul(1 << 20) / (bytes as u64).max(1);
        // The first ones of either size find the cache as the others left it.
        let sum = |number: u32, first: u32, sum: u64| match number < first {
            true => 0,
            false => sum.saturating_add(cost),
        };
        self.trial = match self.trial {
            Trial::Never => Trial::Never,
            Trial::Rest(left) if left > bytes => Trial::Rest(left - bytes),
            Trial::Rest(_) => {
                (self.rounds, self.won, self.len) = (0, 0, Self::USUAL);
                Trial::Usual(0, 0)
            }
            Trial::Usual(number, before) => {
                let all = sum(number, USUAL_FIRST, before);
                match number + 1 {
                    USUAL_READ => {
                        self.len = Self::LARGE;
                        Trial::Large(0, 0, all / u64::from(USUAL_READ - USUAL_FIRST))
                    }
                    number => Trial::Usual(number, all),
                }
            }
            Trial::Large(number, before, usual) => {
                let all = sum(number, LARGE_FIRST, before);
                match number + 1 {
                    LARGE_READ => self.judge(usual, all / u64::from(LARGE_READ - LARGE_FIRST)),
                    number => Trial::Large(number, all, usual),
                }
            }
        };
    }

    /// A MiB took so long in pieces of either size.
    fn judge(&mut self, usual: u64, large: u64) -> Trial {
        self.rounds += 1;
        // Data in the L2 cache is processed faster, too.
        self.won += u32::from(large < usual - usual / 8);
        self.len = Self::USUAL;
        if self.rounds < ROUNDS {
            return Trial::Usual(0, 0);
        }
        if self.won > ROUNDS / 2 {
            self.len = Self::LARGE;
        }
        Trial::Rest(REST)
    }
}

/// Octets of a page of memory, and of a file's in the kernel's cache.
pub(crate) const PAGE: usize = 4 << 10;
/// The distance by which octets are further in a page of the buffer than in a page of the file.
pub(crate) const AHEAD: usize = PAGE / 4 + 32;
/// Pieces of a round, and how many of them are not counted.
const USUAL_READ: u32 = 16;
const USUAL_FIRST: u32 = 4;
const LARGE_READ: u32 = 3;
const LARGE_FIRST: u32 = 1;
/// Rounds of a trial: something else may run in some. It takes 35 MiB.
const ROUNDS: u32 = 5;
/// Bytes in front of the first trial, and between two.
const REST_FIRST: usize = 8 << 20;
const REST: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads so many bytes in pieces of which a MiB costs so many nanoseconds; gives how long the next one is.
    fn read(pieces: &mut Pieces, mut bytes: usize, usual: u64, large: u64) -> usize {
        let mut number = 0_u64;
        while bytes > 0 {
            let len = pieces.len();
            let cost = if len == Pieces::LARGE { large } else { usual };
            // Other work slows a third of the rounds.
            number += 1;
            let cost = if number % 57 < 19 { 5 * cost } else { cost };
            pieces.took(len, Duration::from_nanos(cost * len as u64 / (1 << 20)));
            bytes = bytes.saturating_sub(len);
        }
        pieces.len()
    }

    #[test]
    fn large_pieces_are_read_where_they_cost_less() {
        for (usual, large, expected) in [
            (80_000, 50_000, Pieces::LARGE),
            (50_000, 50_000, Pieces::USUAL),
            (50_000, 60_000, Pieces::USUAL),
            (50_000, 48_000, Pieces::USUAL),
            (0, 0, Pieces::USUAL),
            (1 << 40, 0, Pieces::LARGE),
        ] {
            let mut pieces = Pieces::new(Pieces::USUAL);
            assert_eq!(read(&mut pieces, REST_FIRST, usual, large), Pieces::USUAL);
            assert_eq!(read(&mut pieces, 50 << 20, usual, large), expected);
            // Further behind in the file it is the other way around.
            let turned = match expected {
                Pieces::LARGE => Pieces::USUAL,
                _ => Pieces::LARGE,
            };
            let (usual, large) = match turned {
                Pieces::LARGE => (80_000, 50_000),
                _ => (50_000, 80_000),
            };
            assert_eq!(read(&mut pieces, 310 << 20, usual, large), turned);
        }
    }

    #[test]
    fn a_size_that_was_chosen_stays() {
        for len in [4 << 10, 64 << 10, 512 << 10, 4 << 20] {
            let mut pieces = Pieces::new(len);
            for _ in 0..1000 {
                pieces.took(len, Duration::from_millis(1));
            }
            assert_eq!(pieces.len(), len);
        }
    }

    #[test]
    fn a_file_that_comes_in_parts_tries_nothing() {
        let mut pieces = Pieces::new(Pieces::USUAL);
        let mut out = vec![0; Pieces::USUAL];
        for _ in 0..1000 {
            let parts = pieces.read::<()>(&mut out, |out| Ok(out.len() / 4));
            assert_eq!(parts, Ok(Pieces::USUAL / 4));
            assert_eq!(pieces.read(&mut out, |_| Err(())), Err(()));
        }
        assert!(matches!(pieces.trial, Trial::Rest(REST_FIRST)));
        while pieces.len() == Pieces::USUAL {
            pieces.read::<()>(&mut out, |out| Ok(out.len())).unwrap();
        }
        assert!(matches!(pieces.trial, Trial::Large(..)));
    }

    #[test]
    fn the_rest_stands_in_front_of_a_piece_wherever_there_is_room() {
        let buffer = vec![0; Pieces::USUAL + Pieces::MARGIN];
        for rest in [0, 1, 31, 4095, 4096, 5000, 100_000, Pieces::USUAL] {
            for position in [0, 1, 1056, 3072, 4095, 1 << 40] {
                let place = Pieces::place(&buffer, rest, position);
                assert!(place >= rest && place < buffer.len(), "{rest} {position}");
                let far = (buffer.as_ptr().addr() + place).wrapping_sub(position as usize) % PAGE;
                assert_eq!(far, AHEAD, "{rest} {position}");
            }
        }
        assert_eq!(Pieces::place(&buffer, buffer.len(), 7), buffer.len());
        assert_eq!(Pieces::place(&[], 0, 7), 0);
    }
}
