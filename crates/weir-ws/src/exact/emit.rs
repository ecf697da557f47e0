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
    #[cold]
    pub(crate) fn base(&mut self, base: usize) {
        self.bases.push((self.list.len(), base));
    }

    /// True when everything of the message was in the buffer all the time.
    pub(crate) fn storable(&self, start: usize) -> bool {
        self.bases.last().is_none_or(|&(_, base)| start >= base)
    }

    /// Bytes of the message that the symbols stand for, beginning at `start` of the buffer, with
    /// zlib's symbol buffer of `1 << (mem_level + 6)`.
    pub(crate) fn message_bytes(&self, start: usize, mem_level: u8, costs: &mut Costs) -> u64 {
        let most = (1usize << (mem_level + 6)) - 1;
        if self.list.len() < most {
            let bytes: usize = self.list.iter().map(|&symbol| stands_for(symbol)).sum();
            let storable = self.storable(start);
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

/// The symbols of several messages and their sizes, to see whether the next window gives the same.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    symbols: Vec<Symbol>,
    /// For each message: the end of its symbols, and its size; `None` when the size may hang on the
    /// window.
    messages: Vec<(usize, Option<u64>)>,
}

impl Memory {
    pub(crate) fn clear(&mut self) {
        self.symbols.clear();
        self.messages.clear();
    }

    pub(crate) fn push(&mut self, symbols: &Symbols, start: usize, bytes: u64) {
        self.symbols.extend_from_slice(&symbols.list);
        let size = symbols.storable(start).then_some(bytes);
        self.messages.push((self.symbols.len(), size));
    }

    /// The size of the `index`th message, if it had these very symbols.
    pub(crate) fn size(&self, index: usize, symbols: &Symbols, start: usize) -> Option<u64> {
        let &(end, size) = self.messages.get(index)?;
        let begin = match index {
            0 => 0,
            _ => self.messages[index - 1].0,
        };
        size.filter(|_| symbols.list == self.symbols[begin..end] && symbols.storable(start))
    }
}
