//! Deflating as zlib does at its default level, octet for octet.
//!
//! Erlang's compressed terms are made with zlib; other libraries deflate as well but to other
//! octets. This is what zlib 1.2 does at level 6 with an input of one block: hash chains, lazy
//! matching, and its way of building Huffman trees (RFC 1950, RFC 1951). Inflating is flate2's work.
//!
//! A message is so short that tables would take longer to clear than the message to deflate: nothing
//! here is cleared between messages.

mod tree;

use std::cell::RefCell;

use tree::Tree;
use weir_deflate::{
    BIT_LENGTH_ORDER, BIT_LENGTHS, DISTANCES, END_OF_BLOCK, FIRST_LENGTH, LITERALS, TreeBuilder,
    distance_code, length_code,
};

/// The longest input that is one block and one window for zlib, with room to spare.
pub(crate) const INPUT_MAX: usize = 16_000;

const MIN_MATCH: usize = 3;
const MAX_MATCH: usize = 258;
const GOOD_LENGTH: usize = 8;
const MAX_LAZY: usize = 16;
const NICE_LENGTH: usize = 128;
const MAX_CHAIN: usize = 128;
/// A match of three octets further away than this is not worth it.
const TOO_FAR: usize = 4096;
const HASH_SIZE: usize = 1 << 15;

/// The zlib stream of `input`; `None` when it is longer than [`INPUT_MAX`].
pub(crate) fn deflate(input: &[u8]) -> Option<Vec<u8>> {
    if input.len() > INPUT_MAX {
        return None;
    }
    // No block is longer than a stored one, whose octets have seven in front with the two of the stream, and a word is
    // written at its end.
    let mut bits = Bits {
        out: vec![0; input.len() + 32],
        end: 0,
        pending: 0,
        count: 0,
    };
    bits.put(0x9c78, 16);
    bits.pass_on();
    SCRATCH.with_borrow_mut(|scratch| {
        let Scratch { matcher, block } = scratch;
        matcher.begin(input);
        block.begin();
        matcher.run(block);
        block.write(input, &mut bits);
    });
    bits.flush();
    let mut out = bits.out;
    out.extend_from_slice(&adler32(input).to_be_bytes());
    Some(out)
}

/// The sums of RFC 1950, eight octets at a time: a word has four of them in lanes of 16 bits, and a product adds all
/// lanes up in the highest, with or without weights.
fn adler32(input: &[u8]) -> u32 {
    const ALTERNATE: u64 = 0x00ff_00ff_00ff_00ff;
    let (mut a, mut b) = (1_u64, 0_u64);
    // The number of octets is so small that sums do not overflow.
    for piece in input.chunks(1 << 16) {
        let (words, rest) = piece.as_chunks::<8>();
        for word in words {
            let word = u64::from_le_bytes(*word);
            let (even, odd) = (word & ALTERNATE, word >> 8 & ALTERNATE);
            b += 8 * a
                + (even.wrapping_mul(0x0008_0006_0004_0002) >> 48)
                + (odd.wrapping_mul(0x0007_0005_0003_0001) >> 48);
            a += (even + odd).wrapping_mul(0x0001_0001_0001_0001) >> 48;
        }
        for octet in rest {
            a += u64::from(*octet);
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    (b << 16 | a) as u32
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        matcher: Matcher {
            text: Vec::new(),
            pairs: Vec::new(),
            hashes: Vec::new(),
            len: 0,
            heads: Box::new([0; HASH_SIZE]),
            base: 0,
            previous: Vec::new(),
        },
        block: DeflateBlock::new(),
    });
}

/// The buffers that are reused between inputs.
struct Scratch {
    matcher: Matcher,
    block: DeflateBlock,
}

/// Finds what is repeated.
struct Matcher {
    /// The input, and zeros: words are read beyond its end.
    text: Vec<u8>,
    /// Each octet of it with the one behind: one check of bounds for each candidate instead of three.
    pairs: Vec<u16>,
    len: usize,
    /// The hash of each three octets.
    hashes: Vec<u16>,
    /// The last place of every hash, counted from `base` on; what is below is of inputs before.
    heads: Box<[u32; HASH_SIZE]>,
    base: u32,
    /// The previous position with the same hash for each position, or 0 when there is none: position 0 stands for no
    /// string, so that the very start is never matched.
    previous: Vec<u16>,
}

/// A match may be looked for as far as this beyond the end.
const PADDING: usize = MAX_MATCH + 8;

impl Matcher {
    #[inline(never)]
    fn begin(&mut self, input: &[u8]) {
        self.text.clear();
        self.text.extend_from_slice(input);
        self.text.resize(input.len() + PADDING, 0);
        self.len = input.len();
        let behind = self.text.get(1..).unwrap_or_default();
        let pairs = self.text.iter().zip(behind);
        let pairs = pairs.map(|(low, high)| u16::from_le_bytes([*low, *high]));
        self.pairs.clear();
        self.pairs.extend(pairs);
        self.link();
    }

    /// Links every position with the previous one of its hash. zlib does so while it searches, but as it does so for
    /// all positions in their order, a search sees the same.
    fn link(&mut self) {
        let text = self.text.as_slice();
        let behind = |by: usize| text.get(by..).unwrap_or_default().iter();
        let threes = text.iter().zip(behind(1)).zip(behind(2));
        let hashes = threes.map(|((a, b), c)| {
            (u16::from(*a) << 10 ^ u16::from(*b) << 5 ^ u16::from(*c)) & (HASH_SIZE - 1) as u16
        });
        let linked = (self.len + 1).saturating_sub(MIN_MATCH);
        self.hashes.clear();
        self.hashes.extend(hashes.take(linked));
        if self.base > u32::MAX - 2 * INPUT_MAX as u32 {
            self.heads.fill(0);
            self.base = 0;
        }
        let (heads, base) = (&mut self.heads, self.base);
        let previous = self.hashes.iter().zip(base..).map(|(hash, place)| {
            let head = &mut heads[usize::from(*hash) & (HASH_SIZE - 1)];
            std::mem::replace(head, place).saturating_sub(base) as u16
        });
        self.previous.clear();
        self.previous.extend(previous);
        self.previous.resize(self.len, 0);
        self.base += self.len as u32;
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let octets = self.text.get(at..).and_then(<[u8]>::first_chunk::<8>);
        octets.map_or(0, |octets| u64::from_le_bytes(*octets))
    }

    #[inline(always)]
    fn pair(&self, at: usize) -> u16 {
        self.pairs.get(at).copied().unwrap_or(0)
    }

    /// The number of equal octets at two positions, at most `most`.
    #[inline(always)]
    fn alike(&self, one: usize, other: usize, most: usize) -> usize {
        let mut len = 0;
        while len < most {
            let differs = self.word(one + len) ^ self.word(other + len);
            if differs != 0 {
                return (len + differs.trailing_zeros() as usize / 8).min(most);
            }
            len += 8;
        }
        most
    }

    /// The length and place of the first of the longest matches that are longer than `best`.
    #[inline]
    fn longest(&self, at: usize, first: usize, best: usize) -> (usize, Option<usize>) {
        let ahead = self.len - at;
        let nice = NICE_LENGTH.min(ahead);
        let most = MAX_MATCH.min(ahead);
        let mut chain = if best >= GOOD_LENGTH {
            MAX_CHAIN >> 2
        } else {
            MAX_CHAIN
        };
        let mut best = best;
        let mut found = None;
        let mut candidate = first;
        let mut end = self.pair(at + best - 1);
        loop {
            if self.pair(candidate + best - 1) == end {
                let len = self.alike(candidate, at, most);
                if len > best {
                    (best, found) = (len, Some(candidate));
                    if len >= nice {
                        break;
                    }
                    end = self.pair(at + best - 1);
                }
            }
            candidate = self.previous.get(candidate).copied().map_or(0, usize::from);
            chain -= 1;
            if candidate == 0 || chain == 0 {
                break;
            }
        }
        (best.min(ahead), found)
    }

    /// zlib's `deflate_slow`.
    #[inline(never)]
    fn run(&self, block: &mut DeflateBlock) {
        let len = self.len;
        let mut at = 0;
        let (mut match_len, mut match_start) = (MIN_MATCH - 1, 0);
        let mut waiting = false;
        while at < len {
            let head = self.previous.get(at).copied().map_or(0, usize::from);
            let (before_len, before_start) = (match_len, match_start);
            match_len = MIN_MATCH - 1;
            // A longer match ends with three octets whose hash has been before, too.
            let offset = before_len - (MIN_MATCH - 1);
            let behind = self.previous.get(at + offset);
            let is_behind = behind.is_some_and(|place| usize::from(*place) > offset);
            if head != 0 && is_behind && before_len < MAX_LAZY {
                let (longest, found) = self.longest(at, head, before_len);
                match_len = longest;
                match_start = found.unwrap_or(match_start);
                if match_len == MIN_MATCH && at - match_start > TOO_FAR {
                    match_len = MIN_MATCH - 1;
                }
            }
            if before_len >= MIN_MATCH && match_len <= before_len {
                block.matched(before_len - MIN_MATCH, at - 2 - before_start);
                at += before_len - 1;
                waiting = false;
                match_len = MIN_MATCH - 1;
            } else {
                if waiting {
                    block.literal(self.text.get(at - 1).copied().unwrap_or(0));
                }
                waiting = true;
                at += 1;
            }
        }
        if waiting {
            block.literal(self.text.get(len - 1).copied().unwrap_or(0));
        }
    }
}

/// The symbols of the one block, and its trees.
struct DeflateBlock {
    symbols: Vec<Symbol>,
    /// Extra bits of all lengths and distances.
    extra_bits: u64,
    literals: Tree<LITERALS>,
    distances: Tree<DISTANCES>,
    bit_lengths: Tree<BIT_LENGTHS>,
    /// Lengths of the trees in the form in which they are sent: symbol, extra bits, their number.
    sent: Vec<(u8, u8, u8)>,
    builder: TreeBuilder,
}

/// A literal, or a match as it is sent.
#[derive(Clone, Copy)]
struct Symbol {
    /// A literal, or [`FIRST_LENGTH`] and the number of a length code.
    number: u16,
    /// The number of the distance code.
    distance: u8,
    /// The numbers of the extra bits, and these.
    length_bits: u8,
    distance_bits: u8,
    length_extra: u8,
    distance_extra: u16,
}

/// The offset of lengths and distances in their symbols.
const SHORTEST: u32 = 3;
const NEAREST: u32 = 1;

impl DeflateBlock {
    fn new() -> Self {
        Self {
            symbols: Vec::new(),
            extra_bits: 0,
            literals: Tree::new(),
            distances: Tree::new(),
            bit_lengths: Tree::new(),
            sent: Vec::new(),
            builder: TreeBuilder::new(),
        }
    }

    fn begin(&mut self) {
        self.symbols.clear();
        self.extra_bits = 0;
        self.literals.clear();
        self.distances.clear();
        self.bit_lengths.clear();
        self.sent.clear();
    }

    #[inline(always)]
    fn literal(&mut self, octet: u8) {
        self.literals.add(usize::from(octet));
        self.symbols.push(Symbol {
            number: octet.into(),
            distance: 0,
            length_bits: 0,
            distance_bits: 0,
            length_extra: 0,
            distance_extra: 0,
        });
    }

    /// A length less three and a distance less one.
    #[inline(always)]
    fn matched(&mut self, length: usize, distance: usize) {
        let (length, distance) = (length as u32 + SHORTEST, distance as u32 + NEAREST);
        let (of_length, of_distance) = (length_code(length), distance_code(distance));
        let number = of_length.number + FIRST_LENGTH as u16;
        self.literals.add(number.into());
        self.distances.add(usize::from(of_distance.number));
        self.extra_bits += u64::from(of_length.extra_bits + of_distance.extra_bits);
        self.symbols.push(Symbol {
            number,
            distance: of_distance.number as u8,
            length_bits: of_length.extra_bits,
            distance_bits: of_distance.extra_bits,
            length_extra: (length - u32::from(of_length.base)) as u8,
            distance_extra: (distance - u32::from(of_distance.base)) as u16,
        });
    }

    /// Writes the block in the shortest of the three ways.
    #[inline(never)]
    fn write(&mut self, input: &[u8], bits: &mut Bits) {
        self.literals.add(END_OF_BLOCK);
        self.literals.build(&mut self.builder, 15);
        self.distances.build(&mut self.builder, 15);
        run_lengths(
            &self.literals.lengths,
            self.literals.max_code,
            &mut self.sent,
        );
        run_lengths(
            &self.distances.lengths,
            self.distances.max_code,
            &mut self.sent,
        );
        let mut sent_extra = 0;
        for (symbol, _, extra) in &self.sent {
            self.bit_lengths.add(usize::from(*symbol));
            sent_extra += u64::from(*extra);
        }
        self.bit_lengths.build(&mut self.builder, 7);
        let length = |code: &usize| self.bit_lengths.lengths.get(*code).copied().unwrap_or(0);
        let bit_length_count = BIT_LENGTH_ORDER
            .iter()
            .rposition(|code| length(code) != 0)
            .map_or(4, |last| (last + 1).max(4));
        let dynamic = self.literals.bits
            + self.distances.bits
            + self.extra_bits
            + self.bit_lengths.bits
            + sent_extra
            + 3 * bit_length_count as u64
            + 14;
        // Literals below 144 and the longest lengths have eight bits (RFC 1951, 3.2.6).
        let times = |from: usize, to: usize| -> u64 {
            let frequency = self.literals.frequency.get(from..to);
            frequency.unwrap_or_default().iter().sum::<u32>().into()
        };
        let matches: u32 = self.distances.frequency.iter().sum();
        let fixed = 8 * (self.symbols.len() as u64 + 1) + times(144, 256) - times(256, 280)
            + u64::from(FIXED_DISTANCE) * u64::from(matches)
            + self.extra_bits;
        let (dynamic, fixed) = ((dynamic + 10) >> 3, (fixed + 10) >> 3);
        if input.len() as u64 + 4 <= dynamic.min(fixed) {
            bits.stored(input);
        } else if fixed <= dynamic {
            bits.put(0b011, 3);
            self.symbols(&FIXED_LITERALS, &FIXED_DISTANCES, bits);
        } else {
            bits.put(0b101, 3);
            bits.put((self.literals.max_code - 256) as u32, 5);
            bits.put(self.distances.max_code as u32, 5);
            bits.put(bit_length_count as u32 - 4, 4);
            for code in BIT_LENGTH_ORDER.iter().take(bit_length_count) {
                bits.put(u32::from(length(code)), 3);
                bits.pass_on();
            }
            for (symbol, extra, count) in &self.sent {
                bits.symbol(usize::from(*symbol), &self.bit_lengths.codes);
                bits.put(u32::from(*extra), u32::from(*count));
                bits.pass_on();
            }
            self.symbols(&self.literals.codes, &self.distances.codes, bits);
        }
    }

    /// A code has 15 bits at most: no more than 48 are put between two calls that pass them on.
    #[inline(never)]
    fn symbols(&self, literals: &[u32], distances: &[u32], bits: &mut Bits) {
        for symbol in &self.symbols {
            bits.symbol(symbol.number.into(), literals);
            if usize::from(symbol.number) >= FIRST_LENGTH {
                bits.put(symbol.length_extra.into(), symbol.length_bits.into());
                bits.symbol(symbol.distance.into(), distances);
                bits.put(symbol.distance_extra.into(), symbol.distance_bits.into());
            }
            bits.pass_on();
        }
        bits.symbol(END_OF_BLOCK, literals);
        bits.pass_on();
    }
}

/// The fixed codes of literals and lengths as `codes` gives codes (RFC 1951, 3.2.6).
static FIXED_LITERALS: [u32; LITERALS + 2] = {
    let mut codes = [0; LITERALS + 2];
    let mut symbol = 0_u16;
    while (symbol as usize) < codes.len() {
        let (length, code) = match symbol {
            0..144 => (8, 0b0011_0000 + symbol),
            144..256 => (9, 0b1_1001_0000 + (symbol - 144)),
            256..280 => (7, symbol - 256),
            _ => (8, 0b1100_0000 + (symbol - 280)),
        };
        codes[symbol as usize] = (code.reverse_bits() >> (16 - length)) as u32 | length << 16;
        symbol += 1;
    }
    codes
};
/// The fixed codes of distances.
static FIXED_DISTANCES: [u32; DISTANCES] = {
    let mut codes = [0; DISTANCES];
    let mut symbol = 0_u16;
    while (symbol as usize) < codes.len() {
        codes[symbol as usize] =
            (symbol.reverse_bits() >> (16 - FIXED_DISTANCE)) as u32 | FIXED_DISTANCE << 16;
        symbol += 1;
    }
    codes
};
/// The length of the fixed code of each distance.
const FIXED_DISTANCE: u32 = 5;

/// Lengths of codes, repeated ones counted (RFC 1951 3.2.7).
fn run_lengths(lengths: &[u8], max_code: usize, out: &mut Vec<(u8, u8, u8)>) {
    let mut before = None;
    let mut lengths = lengths.get(..=max_code).unwrap_or_default();
    while let Some(current) = lengths.first().copied() {
        let mut run = run_of(lengths, current);
        lengths = lengths.get(run..).unwrap_or_default();
        while run > 0 {
            // A length that differs from the one before is sent once, before its repeats.
            let fresh = current != 0 && before != Some(current);
            let (most, least) = match (current, fresh) {
                (0, _) => (138, 3),
                (_, true) => (7, 4),
                (_, false) => (6, 3),
            };
            let count = run.min(most);
            run -= count;
            before = Some(current);
            if count < least {
                out.extend(std::iter::repeat_n((current, 0, 0), count));
            } else if current != 0 {
                if fresh {
                    out.push((current, 0, 0));
                }
                out.push((16, (count - usize::from(fresh)) as u8 - 3, 2));
            } else if count <= 10 {
                out.push((17, count as u8 - 3, 3));
            } else {
                out.push((18, count as u8 - 11, 7));
            }
        }
    }
}

/// The number of octets at the beginning that are `current`, eight of them looked at together: most runs are of zeros,
/// and long, or of one.
#[inline(always)]
fn run_of(lengths: &[u8], current: u8) -> usize {
    let mut run = 0;
    while let Some(word) = lengths.get(run..).and_then(<[u8]>::first_chunk::<8>) {
        let differs = u64::from_le_bytes(*word) ^ u64::from_le_bytes([current; 8]);
        if differs != 0 {
            return run + differs.trailing_zeros() as usize / 8;
        }
        run += 8;
    }
    let rest = lengths.get(run..).unwrap_or_default();
    run + rest.iter().take_while(|next| **next == current).count()
}

/// Appends bits, the lowest first.
struct Bits {
    /// What is written, and zeros behind it.
    out: Vec<u8>,
    /// The number of octets that are written.
    end: usize,
    pending: u64,
    /// Fewer than 8 behind [`Self::pass_on`], and never more than 63.
    count: u32,
}

impl Bits {
    /// Writes at most 16 bits.
    #[inline(always)]
    fn put(&mut self, value: u32, count: u32) {
        self.pending |= u64::from(value) << (self.count & 63);
        self.count += count;
    }

    /// Appends the octets that are whole.
    #[inline(always)]
    fn pass_on(&mut self) {
        // A copy of a known size is one store; what is too much is written over.
        let room = self.out.get_mut(self.end..);
        if let Some(word) = room.and_then(<[u8]>::first_chunk_mut::<8>) {
            *word = self.pending.to_le_bytes();
        }
        self.end += (self.count / 8) as usize;
        self.pending >>= self.count & 56;
        self.count &= 7;
    }

    /// Writes a symbol by codes as `codes` gives them.
    #[inline(always)]
    fn symbol(&mut self, symbol: usize, codes: &[u32]) {
        let code = codes.get(symbol).copied().unwrap_or(0);
        self.put(code & 0xffff, code >> 16);
    }

    /// Writes a block of octets as they are (RFC 1951, 3.2.4).
    fn stored(&mut self, octets: &[u8]) {
        self.put(1, 3);
        self.flush();
        let len = octets.len() as u16;
        self.out.extend_from_slice(&len.to_le_bytes());
        self.out.extend_from_slice(&(!len).to_le_bytes());
        self.out.extend_from_slice(octets);
        self.end = self.out.len();
    }

    /// Writes what is left, the last octet with zeros, and leaves nothing behind it.
    fn flush(&mut self) {
        self.out.truncate(self.end);
        let octets = self.pending.to_le_bytes();
        let left = octets.get(..self.count.div_ceil(8) as usize);
        self.out.extend_from_slice(left.unwrap_or_default());
        self.end = self.out.len();
        (self.pending, self.count) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by zlib 1.2.13 at its default level.
    #[test]
    fn octets_are_those_of_zlib() {
        for (input, expected) in [
            (&b""[..], &b"\x78\x9c\x03\x00\x00\x00\x00\x01"[..]),
            (
                b"aaaaaaaaaaaaaaaaaaaa",
                b"\x78\x9c\x4b\x4c\xc4\x04\x00\x4f\xa6\x07\x95",
            ),
        ] {
            assert_eq!(
                deflate(input).unwrap(),
                expected,
                "{}",
                input.escape_ascii()
            );
        }
    }

    #[test]
    fn what_is_deflated_inflates_again() {
        let mut state = 1_u32;
        for len in (0..300).chain([1000, 5000, INPUT_MAX]) {
            for symbols in [1, 2, 4, 30, 256] {
                let input: Vec<u8> = (0..len)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        ((state >> 16) % symbols) as u8
                    })
                    .collect();
                let stream = deflate(&input).unwrap();
                let mut output = vec![0; input.len() + 1];
                let mut inflater = flate2::Decompress::new(true);
                let status =
                    inflater.decompress(&stream, &mut output, flate2::FlushDecompress::Finish);
                assert!(
                    matches!(status, Ok(flate2::Status::StreamEnd)),
                    "{len} {symbols}"
                );
                assert_eq!(inflater.total_out() as usize, input.len());
                assert_eq!(output[..input.len()], input);
            }
        }
        assert!(deflate(&vec![0; INPUT_MAX + 1]).is_none());
    }
}
