//! Huffman trees as zlib builds them: its heap decides between codes that are equally short.

use weir_deflate::{Built, TreeBuilder};

/// A Huffman tree of at most `N` symbols: how often they occur, then the lengths of their codes.
pub(super) struct Tree<const N: usize> {
    pub(super) frequency: [u32; N],
    pub(super) lengths: [u8; N],
    pub(super) codes: [u16; N],
    pub(super) max_code: usize,
    /// Bits that the symbols take with these codes, without extra bits.
    pub(super) bits: u64,
}

impl<const N: usize> Tree<N> {
    pub(super) fn new() -> Self {
        Self {
            frequency: [0; N],
            lengths: [0; N],
            codes: [0; N],
            max_code: 0,
            bits: 0,
        }
    }

    pub(super) fn clear(&mut self) {
        self.frequency = [0; N];
        self.lengths = [0; N];
    }

    #[inline(always)]
    pub(super) fn add(&mut self, symbol: usize) {
        if let Some(frequency) = self.frequency.get_mut(symbol) {
            *frequency += 1;
        }
    }

    pub(super) fn build(&mut self, builder: &mut TreeBuilder, max_length: u8) {
        let frequency = self.frequency.iter().enumerate();
        let used = frequency
            .filter(|(_, times)| **times != 0)
            .map(|(symbol, _)| symbol);
        let Built { bits, max_code } =
            builder.build(&self.frequency, used, max_length, &mut self.lengths);
        (self.bits, self.max_code) = (bits, max_code);
        codes(&self.lengths, self.max_code, &mut self.codes);
    }
}

/// Codes of the given lengths, the first bit in the lowest place. No length is above 15.
pub(super) fn codes(lengths: &[u8], max_code: usize, codes: &mut [u16]) {
    let lengths = lengths.get(..=max_code).unwrap_or_default();
    // The codes are for the lengths from 1 on; most symbols of a message are not in it, and have length 0.
    let mut next = [0_u16; 16];
    for length in lengths {
        next[usize::from(length & 15)] += 1;
    }
    next[0] = 0;
    let mut code = 0_u16;
    for count in &mut next {
        code = (code + std::mem::replace(count, code)) << 1;
    }
    for (code, length) in codes.iter_mut().zip(lengths) {
        if *length > 0 {
            let place = &mut next[usize::from(length & 15)];
            *code = place.reverse_bits() >> (16 - u16::from(*length & 15));
            *place = place.wrapping_add(1);
        }
    }
}
