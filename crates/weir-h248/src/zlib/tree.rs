//! Huffman trees as zlib builds them: its heap decides between codes that are equally short.

use weir_deflate::{Built, TreeBuilder};

/// A Huffman tree of at most `N` symbols: how often they occur, then the lengths of their codes.
pub(super) struct Tree<const N: usize> {
    pub(super) frequency: [u32; N],
    pub(super) lengths: [u8; N],
    /// See [`codes`].
    pub(super) codes: [u32; N],
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
        // A branch for each symbol would be one that no processor foresees.
        let mut used = [0_u16; N];
        let mut count = 0_usize;
        for (symbol, times) in (0..).zip(&self.frequency) {
            if let Some(place) = used.get_mut(count) {
                *place = symbol;
            }
            count += usize::from(*times != 0);
        }
        let used = used.get(..count).unwrap_or_default();
        let used = used.iter().map(|symbol| usize::from(*symbol));
        let Built { bits, max_code } =
            builder.build(&self.frequency, used.clone(), max_length, &mut self.lengths);
        (self.bits, self.max_code) = (bits, max_code);
        if count < 2 {
            // There are codes of symbols that do not occur.
            codes(&self.lengths, 0..=max_code, &mut self.codes);
        } else {
            codes(&self.lengths, used, &mut self.codes);
        }
    }
}

/// Codes of the given lengths, the first bit in the lowest place and the length from bit 16 on. No length is above 15.
/// All symbols with a length are among `symbols`, in ascending order.
fn codes(lengths: &[u8], symbols: impl Iterator<Item = usize> + Clone, codes: &mut [u32]) {
    let length = |symbol: usize| lengths.get(symbol).copied().unwrap_or(0) & 15;
    let mut next = [0_u16; 16];
    for symbol in symbols.clone() {
        next[usize::from(length(symbol))] += 1;
    }
    next[0] = 0;
    let mut code = 0_u16;
    for count in &mut next {
        code = (code + std::mem::replace(count, code)) << 1;
    }
    for symbol in symbols {
        let length = length(symbol);
        if length > 0
            && let Some(code) = codes.get_mut(symbol)
        {
            let place = &mut next[usize::from(length)];
            let bits = place.reverse_bits() >> (16 - u16::from(length));
            *code = u32::from(bits) | u32::from(length) << 16;
            *place = place.wrapping_add(1);
        }
    }
}
