//! Huffman trees as zlib builds them: its heap decides between codes that are equally short.

use super::LITERALS;

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

    pub(super) fn build(&mut self, heap: &mut Heap, max_length: u8) {
        (self.bits, self.max_code) = heap.build(&self.frequency, max_length, &mut self.lengths);
        codes(&self.lengths, self.max_code, &mut self.codes);
    }
}

/// Codes of the given lengths, the first bit in the lowest place.
pub(super) fn codes(lengths: &[u8], max_code: usize, codes: &mut [u16]) {
    let mut counts = [0_u16; 17];
    let lengths = lengths.get(..=max_code).unwrap_or_default();
    for length in lengths {
        if let Some(count) = counts.get_mut(usize::from(*length)) {
            *count += 1;
        }
    }
    counts[0] = 0;
    let mut next = [0_u16; 17];
    let mut code = 0_u16;
    for (place, shorter) in next.iter_mut().skip(1).zip(counts).take(15) {
        code = (code + shorter) << 1;
        *place = code;
    }
    for (code, length) in codes.iter_mut().zip(lengths) {
        if let Some(place) = next.get_mut(usize::from(*length))
            && *length > 0
        {
            *code = place.reverse_bits() >> (16 - u16::from(*length));
            *place = place.wrapping_add(1);
        }
    }
}

/// zlib's heap of tree nodes. An entry is `frequency << 32 | depth << 16 | node`; nodes compare by
/// frequency and depth only, and where these are equal the one that was asked about first wins.
pub(super) struct Heap {
    entries: [u64; LITERALS + 2],
    /// Nodes in the order in which they left the heap.
    order: [u64; 2 * LITERALS],
    parents: [u16; 2 * LITERALS],
    lengths: [u8; 2 * LITERALS],
}

#[allow(
    clippy::indexing_slicing,
    reason = "places come from the tree itself, whose size is fixed"
)]
impl Heap {
    pub(super) fn new() -> Self {
        Self {
            entries: [0; LITERALS + 2],
            order: [0; 2 * LITERALS],
            parents: [0; 2 * LITERALS],
            lengths: [0; 2 * LITERALS],
        }
    }

    #[inline(always)]
    fn sink(&mut self, from: usize, len: usize) {
        let value = self.entries[from];
        let mut at = from;
        let mut child = at * 2;
        while child <= len {
            if child < len && self.entries[child + 1] >> 16 <= self.entries[child] >> 16 {
                child += 1;
            }
            if value >> 16 <= self.entries[child] >> 16 {
                break;
            }
            self.entries[at] = self.entries[child];
            at = child;
            child *= 2;
        }
        self.entries[at] = value;
    }

    /// Lengths of codes, as zlib's `build_tree` finds them; gives the bits of all symbols and the
    /// largest symbol that has a code.
    fn build(&mut self, frequency: &[u32], max_length: u8, lengths: &mut [u8]) -> (u64, usize) {
        let mut len = 0;
        let mut max: Option<usize> = None;
        for (symbol, times) in frequency.iter().enumerate() {
            if *times != 0 {
                len += 1;
                self.entries[len] = u64::from(*times) << 32 | symbol as u64;
                max = Some(symbol);
            }
        }
        // At least two codes, even if there is but one symbol.
        let mut forced_bits = 0;
        while len < 2 {
            let node = match max {
                Some(symbol) if symbol < 2 => symbol + 1,
                _ => 0,
            };
            max = Some(max.map_or(node, |max| max.max(node)));
            len += 1;
            self.entries[len] = 1 << 32 | node as u64;
            forced_bits += 1;
        }
        for place in (1..=len / 2).rev() {
            self.sink(place, len);
        }
        let mut node = frequency.len();
        let mut done = 0;
        while len >= 2 {
            let least = self.entries[1];
            self.entries[1] = self.entries[len];
            len -= 1;
            self.sink(1, len);
            let next = self.entries[1];
            self.order[done] = least;
            self.order[done + 1] = next;
            done += 2;
            self.parents[(least & 0xffff) as usize] = node as u16;
            self.parents[(next & 0xffff) as usize] = node as u16;
            let depth = ((least >> 16) & 0xffff).max((next >> 16) & 0xffff) + 1;
            let times = (least >> 32) + (next >> 32);
            self.entries[1] = times << 32 | depth << 16 | node as u64;
            node += 1;
            self.sink(1, len);
        }
        let root = (self.entries[1] & 0xffff) as usize;
        let symbols = frequency.len();
        let bits = self.lengths(root, done, symbols, max_length, lengths);
        (bits - forced_bits, max.unwrap_or_default())
    }

    /// zlib's `gen_bitlen`.
    fn lengths(
        &mut self,
        root: usize,
        done: usize,
        symbols: usize,
        max_length: u8,
        lengths: &mut [u8],
    ) -> u64 {
        let mut counts = [0_i32; 17];
        let mut overflow = 0;
        let mut bits = 0;
        self.lengths[root] = 0;
        for place in (0..done).rev() {
            let entry = self.order[place];
            let node = (entry & 0xffff) as usize;
            let mut length = self.lengths[usize::from(self.parents[node])] + 1;
            if length > max_length {
                length = max_length;
                overflow += 1;
            }
            self.lengths[node] = length;
            if node < symbols {
                counts[usize::from(length)] += 1;
                lengths[node] = length;
                bits += (entry >> 32) * u64::from(length);
            }
        }
        if overflow == 0 {
            return bits;
        }
        while overflow > 0 {
            let mut length = usize::from(max_length) - 1;
            while counts[length] == 0 {
                length -= 1;
            }
            counts[length] -= 1;
            counts[length + 1] += 2;
            counts[usize::from(max_length)] -= 1;
            overflow -= 2;
        }
        // Once more, the least frequent symbols first.
        bits = 0;
        let leaves = self.order[..done].iter();
        let mut leaves = leaves.filter(|entry| ((*entry & 0xffff) as usize) < symbols);
        for length in (1..=max_length).rev() {
            for _ in 0..counts[usize::from(length)] {
                let Some(entry) = leaves.next() else {
                    return bits;
                };
                lengths[(entry & 0xffff) as usize] = length;
                bits += (entry >> 32) * u64::from(length);
            }
        }
        bits
    }
}
