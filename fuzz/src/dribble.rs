//! A source that hands its bytes out in pieces of odd sizes, as pipes and sockets do.

use std::io::{self, Read};

/// Reads a slice in pieces of the given sizes, in turn; now and then a read is interrupted.
#[derive(Clone)]
pub(crate) struct Dribble<'a> {
    bytes: &'a [u8],
    sizes: &'a [usize],
    turn: usize,
}

impl<'a> Dribble<'a> {
    /// `sizes` are of at least 1 each, and there is at least one.
    pub(crate) fn new(bytes: &'a [u8], sizes: &'a [usize]) -> Self {
        assert!(!sizes.is_empty() && !sizes.contains(&0));
        Self {
            bytes,
            sizes,
            turn: 0,
        }
    }
}

impl Read for Dribble<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.turn += 1;
        if self.turn.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let size = self.sizes[self.turn % self.sizes.len()];
        let count = size.min(out.len()).min(self.bytes.len());
        let (piece, rest) = self.bytes.split_at(count);
        out[..count].copy_from_slice(piece);
        self.bytes = rest;
        Ok(count)
    }
}
