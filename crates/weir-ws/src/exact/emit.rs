//! The symbols of one message, and what they cost as a message.

use super::block::{Block, Costs, MATCH, Symbol, literal_bits, match_bits};

/// Symbols of a message as a parse gives them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    pub(crate) list: Vec<Symbol>,
    /// Bits of all of them with the fixed codes.
    fixed_bits: u64,
    /// Where zlib's buffer began: from the symbol of this index on, the base.
    bases: Vec<(usize, usize)>,
    /// The largest distance that a search chose, used or not.
    pub(crate) farthest: usize,
    /// The last symbol is a literal that zlib adds after its loop, without looking whether the
    /// block is full.
    pub(crate) trailing: bool,
}

impl Symbols {
    pub(crate) fn begin(&mut self, base: usize) {
        self.list.clear();
        self.fixed_bits = 0;
        self.bases.clear();
        self.bases.push((0, base));
        self.farthest = 0;
        self.trailing = false;
    }

    #[inline(always)]
    pub(crate) fn literal(&mut self, byte: u8) {
        self.fixed_bits += u64::from(literal_bits(byte));
        self.list.push(u32::from(byte));
    }

    #[inline(always)]
    pub(crate) fn matched(&mut self, length: usize, distance: usize) {
        self.fixed_bits += u64::from(match_bits(length, distance));
        self.list
            .push(MATCH | ((length - 3) as u32) << 16 | distance as u32);
    }

    /// The buffer slid before the next symbol.
    #[inline(always)]
    pub(crate) fn base(&mut self, base: usize) {
        if self.bases.last().is_none_or(|last| last.1 != base) {
            self.bases.push((self.list.len(), base));
        }
    }

    /// Bytes of the message that the symbols stand for, beginning at `start` of the buffer, with
    /// zlib's symbol buffer of `1 << (mem_level + 6)`.
    pub(crate) fn message_bytes(&self, start: usize, mem_level: u8, costs: &mut Costs) -> u64 {
        let most = (1usize << (mem_level + 6)) - 1;
        if self.list.len() < most {
            let bytes: usize = self.list.iter().map(|&symbol| stands_for(symbol)).sum();
            let storable = self.bases.last().is_none_or(|&(_, base)| start >= base);
            let block = Block {
                fixed_bits: self.fixed_bits,
                bytes,
                storable,
            };
            return closed(costs.add(0, &self.list, block));
        }
        let mut bits = 0;
        let mut begin = start;
        let mut index = 0;
        for symbols in self.list.chunks(most) {
            let mut fixed_bits = 0;
            let mut bytes = 0;
            for &symbol in symbols {
                if symbol & MATCH == 0 {
                    fixed_bits += u64::from(literal_bits(symbol as u8));
                    bytes += 1;
                } else {
                    let length = stands_for(symbol);
                    fixed_bits += u64::from(match_bits(length, (symbol & 0xffff) as usize));
                    bytes += length;
                }
            }
            index += symbols.len();
            // A full block is sent before zlib looks at its buffer again; the last one after.
            let last = index == self.list.len() && (symbols.len() < most || self.trailing);
            let storable = self
                .bases
                .iter()
                .rev()
                .find(|&&(from, _)| last || from < index)
                .is_none_or(|&(_, base)| begin >= base);
            let block = Block {
                fixed_bits,
                bytes,
                storable,
            };
            bits = costs.add(bits, symbols, block);
            begin += bytes;
        }
        closed(bits)
    }
}

/// Whole bytes with the empty stored block of the flush, whose last four bytes are not sent.
fn closed(bits: u64) -> u64 {
    (bits + 3).div_ceil(8)
}

#[inline(always)]
fn stands_for(symbol: Symbol) -> usize {
    if symbol & MATCH == 0 {
        1
    } else {
        ((symbol >> 16) & 0xff) as usize + 3
    }
}
