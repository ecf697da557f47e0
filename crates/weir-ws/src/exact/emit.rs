//! The symbols of one message, and what they cost as a message.

use super::block::{BlockStatistics, Costs, MATCH, Symbol, literal_bits, match_bits};

/// Symbols of a message as a parse gives them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Symbols {
    pub(crate) list: Vec<Symbol>,
    /// Bits of all of them with the fixed codes.
    fixed_bits: u64,
    /// The starts of zlib's buffer: the base from the symbol of this index on.
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

    /// Whether the whole message was in the buffer all the time.
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
            let block = BlockStatistics {
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
            let block = BlockStatistics {
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

/// Lists of symbols with their sizes: settings often produce the same list for a message, which is measured once then. Lists are
/// compared whole, so that hash collisions do not matter.
#[derive(Debug)]
pub(crate) struct Memo {
    slots: Vec<SymbolSlot>,
    lists: Vec<Symbol>,
    used: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct SymbolSlot {
    hash: u64,
    begin: u32,
    /// Symbols; 0 is an empty slot.
    len: u32,
    bytes: u32,
    stored_wanted: bool,
}

const SLOT_BITS: u32 = 16;
/// 4 MiB of symbols.
const MEMO_SYMBOLS_MAX: usize = 1 << 20;

impl Memo {
    /// A single setting has no other to share with: nothing is remembered then.
    pub(crate) fn new(several: bool) -> Self {
        let slots = if several { 1 << SLOT_BITS } else { 0 };
        Self {
            slots: vec![SymbolSlot::default(); slots],
            lists: Vec::new(),
            used: 0,
        }
    }

    /// The size as [`Symbols::message_bytes`], which is computed at most once for a remembered list.
    pub(crate) fn message_bytes(
        &mut self,
        symbols: &Symbols,
        start: usize,
        mem_level: u8,
        costs: &mut Costs,
    ) -> u64 {
        let list = symbols.list.as_slice();
        // The size of several blocks, or of one that cannot be stored, depends on more than the symbols.
        let one = list.len() < (1 << (mem_level + 6)) - 1;
        let long = list.len() > MEMO_SYMBOLS_MAX / 64;
        if self.slots.is_empty() || !one || long || !symbols.storable(start) {
            return symbols.message_bytes(start, mem_level, costs);
        }
        let hash = hash(list);
        let mut at = (hash >> (64 - SLOT_BITS)) as usize;
        while let Some(slot) = self.slots.get(at).filter(|slot| slot.len > 0) {
            let begin = slot.begin as usize;
            if slot.hash == hash && self.lists.get(begin..begin + slot.len as usize) == Some(list) {
                costs.stored_wanted |= slot.stored_wanted;
                return slot.bytes.into();
            }
            at = (at + 1) & ((1 << SLOT_BITS) - 1);
        }
        let before = std::mem::take(&mut costs.stored_wanted);
        let bytes = symbols.message_bytes(start, mem_level, costs);
        if self.used > self.slots.len() / 8 * 5 || self.lists.len() > MEMO_SYMBOLS_MAX {
            self.slots.fill(SymbolSlot::default());
            self.lists.clear();
            self.used = 0;
            at = (hash >> (64 - SLOT_BITS)) as usize;
        }
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = SymbolSlot {
                hash,
                begin: self.lists.len() as u32,
                len: list.len() as u32,
                bytes: bytes as u32,
                stored_wanted: costs.stored_wanted,
            };
            self.lists.extend_from_slice(list);
            self.used += 1;
        }
        costs.stored_wanted |= before;
        bytes
    }
}

fn hash(list: &[Symbol]) -> u64 {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = list.len() as u64;
    let mut pairs = list.chunks_exact(2);
    for pair in &mut pairs {
        let two = u64::from(pair[0]) << 32 | u64::from(pair[1]);
        hash = (hash.rotate_left(23) ^ two).wrapping_mul(MIX);
    }
    for &symbol in pairs.remainder() {
        hash = (hash.rotate_left(23) ^ u64::from(symbol)).wrapping_mul(MIX);
    }
    hash ^ hash >> 32
}
