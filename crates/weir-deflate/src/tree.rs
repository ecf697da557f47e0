//! Huffman trees as zlib builds them: its heap decides between codes that are equally short.

use crate::tables::LITERALS;

/// Builds trees of alphabets of up to 286 symbols; a loop over many reuses it.
///
/// An entry of its heap is `count << 32 | depth << 16 | node`. Nodes compare by count and depth only, and where these
/// are equal the one that was compared first wins.
#[derive(Debug)]
pub struct TreeBuilder {
    entries: [u64; LITERALS + 4],
    /// Nodes in the order in which they left the heap.
    order: [u64; 2 * LITERALS + 4],
    parents: [u16; 2 * LITERALS + 4],
    lengths: [u8; 2 * LITERALS + 4],
}

/// The cost of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Built {
    /// Bits of all symbols with these codes, without extra bits.
    pub bits: u64,
    /// The largest symbol that has a code.
    pub max_code: usize,
}

impl Default for TreeBuilder {
    fn default() -> Self {
        Self::new()
    }
}

#[allow(
    clippy::indexing_slicing,
    reason = "places come from the tree itself, whose size is fixed"
)]
impl TreeBuilder {
    /// A builder with nothing in it.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            entries: [0; LITERALS + 4],
            order: [0; 2 * LITERALS + 4],
            parents: [0; 2 * LITERALS + 4],
            lengths: [0; 2 * LITERALS + 4],
        }
    }

    /// Builds the tree of the symbols that `used` gives, in ascending order, each with its count above 0, and writes
    /// the lengths of their codes, of at most `length_max` bits; lengths of other symbols stay as they are, but for
    /// those that zlib adds so that there are two codes at least.
    ///
    /// # Panics
    ///
    /// When the alphabet has more than 286 symbols, or `lengths` has no place for one that is used.
    #[inline]
    pub fn build(
        &mut self,
        counts: &[u32],
        used: impl Iterator<Item = usize>,
        length_max: u8,
        lengths: &mut [u8],
    ) -> Built {
        let mut len = 0;
        let mut max: Option<usize> = None;
        for symbol in used {
            len += 1;
            self.entries[len] = u64::from(counts[symbol]) << 32 | symbol as u64;
            max = Some(symbol);
        }
        // The tree needs at least two codes, so that one bit is sent even for a single symbol.
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
        self.entries[len + 1] = u64::MAX;
        for place in (1..=len / 2).rev() {
            self.sink(place, len);
        }
        let symbols = counts.len();
        let mut node = symbols;
        let mut done = 0;
        while len >= 2 {
            let least = self.entries[1];
            self.entries[1] = self.entries[len];
            self.entries[len] = u64::MAX;
            len -= 1;
            self.sink(1, len);
            let next = self.entries[1];
            self.order[done] = least;
            self.order[done + 1] = next;
            done += 2;
            self.parents[(least & 0xffff) as usize] = node as u16;
            self.parents[(next & 0xffff) as usize] = node as u16;
            let depth = ((least >> 16) & 0xffff).max((next >> 16) & 0xffff) + 1;
            let count = (least >> 32) + (next >> 32);
            self.entries[1] = count << 32 | depth << 16 | node as u64;
            node += 1;
            self.sink(1, len);
        }
        let root = (self.entries[1] & 0xffff) as usize;
        let bits = self.lengths(root, done, symbols, length_max, lengths);
        Built {
            bits: bits - forced_bits,
            max_code: max.unwrap_or_default(),
        }
    }

    /// zlib's `pqdownheap`. Behind the last entry stands one that is larger than all: so the lesser of two children is
    /// found without a branch, which no processor foresees.
    #[inline(always)]
    fn sink(&mut self, mut at: usize, len: usize) {
        let value = self.entries[at];
        let mut child = at * 2;
        while child <= len {
            let (left, right) = (self.entries[child], self.entries[child + 1]);
            let is_right = right >> 16 <= left >> 16;
            let least = if is_right { right } else { left };
            if value >> 16 <= least >> 16 {
                break;
            }
            self.entries[at] = least;
            at = child + usize::from(is_right);
            child = at * 2;
        }
        self.entries[at] = value;
    }

    /// zlib's `gen_bitlen`; gives the bits of all symbols.
    fn lengths(
        &mut self,
        root: usize,
        done: usize,
        symbols: usize,
        length_max: u8,
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
            if length > length_max {
                length = length_max;
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
            let mut length = usize::from(length_max) - 1;
            while counts[length] == 0 {
                length -= 1;
            }
            counts[length] -= 1;
            counts[length + 1] += 2;
            counts[usize::from(length_max)] -= 1;
            overflow -= 2;
        }
        // Once more, the least frequent symbols first.
        bits = 0;
        let leaves = self.order[..done].iter();
        let mut leaves = leaves.filter(|entry| ((*entry & 0xffff) as usize) < symbols);
        for length in (1..=length_max).rev() {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn built(counts: &[u32], length_max: u8) -> (Built, Vec<u8>) {
        let mut lengths = vec![0; counts.len()];
        let used = (0..counts.len()).filter(|&symbol| counts[symbol] > 0);
        let built = TreeBuilder::new().build(counts, used, length_max, &mut lengths);
        (built, lengths)
    }

    #[test]
    fn one_symbol_and_none_have_two_codes_and_cost_what_is_sent() {
        assert_eq!(
            built(&[0; 30], 15),
            (
                Built {
                    bits: 0,
                    max_code: 1
                },
                [&[1, 1][..], &[0; 28]].concat()
            )
        );
        let (tree, lengths) = built(&[0, 0, 0, 9], 15);
        assert_eq!((tree.bits, tree.max_code), (9, 3));
        assert_eq!(lengths, [1, 0, 0, 1]);
    }

    /// Counts that grow like Fibonacci's numbers make the longest codes: no code is longer than it may be, and Kraft's
    /// sum stays 1.
    #[test]
    fn codes_keep_their_greatest_length_and_stay_complete() {
        let mut counts = vec![1_u32, 1];
        while counts.len() < 30 {
            counts.push(counts[counts.len() - 1] + counts[counts.len() - 2]);
        }
        for length_max in [7, 15] {
            let (tree, lengths) = built(&counts, length_max);
            assert!(
                lengths
                    .iter()
                    .all(|&length| (1..=length_max).contains(&length))
            );
            let sum: u32 = lengths
                .iter()
                .map(|&length| 1 << (length_max - length))
                .sum();
            assert_eq!(sum, 1 << length_max);
            let bits: u64 = counts
                .iter()
                .zip(&lengths)
                .map(|(&count, &length)| u64::from(count) * u64::from(length))
                .sum();
            assert_eq!(tree.bits, bits);
        }
    }
}
