//! Deflating as zlib does at its default level, octet for octet.
//!
//! Erlang's compressed terms are made with zlib; other libraries deflate as well but to other
//! octets. This is what zlib 1.2 does at level 6 with an input of one block: hash chains, lazy
//! matching, and its way of building Huffman trees (RFC 1950, RFC 1951). Inflating is flate2's work.
//!
//! A message is so short that tables would take longer to clear than the message to deflate: nothing
//! here is cleared between messages.

mod tree;

use std::{cell::RefCell, ops::Range};

use tree::{Tree, codes};
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
    let mut out = Vec::with_capacity(input.len() + 64);
    out.extend_from_slice(&[0x78, 0x9c]);
    let mut bits = Bits {
        out,
        pending: 0,
        count: 0,
    };
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

fn adler32(input: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    // The number of octets is so small that sums do not overflow.
    for piece in input.chunks(5552) {
        for octet in piece {
            a += u32::from(*octet);
            b += a;
        }
        a %= 65521;
        b %= 65521;
    }
    b << 16 | a
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch {
        matcher: Matcher {
            text: Vec::new(),
            pairs: Vec::new(),
            len: 0,
            heads: Box::new([0; HASH_SIZE]),
            turn: 0,
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
    /// The last place of every hash, with the number of the input above it.
    heads: Box<[u32; HASH_SIZE]>,
    turn: u32,
    /// The previous position with the same hash for each position, or 0 when there is none.
    previous: Vec<u16>,
}

/// A match may be looked for as far as this beyond the end.
const PADDING: usize = MAX_MATCH + 8;

impl Matcher {
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
        if self.previous.len() < input.len() {
            self.previous.resize(input.len(), 0);
        }
        self.turn = (self.turn + 1) & 0xffff;
        if self.turn == 0 {
            self.heads.fill(0);
            self.turn = 1;
        }
    }

    #[inline(always)]
    fn word(&self, at: usize) -> u64 {
        let octets = self.text.get(at..).and_then(<[u8]>::first_chunk::<8>);
        octets.map_or(0, |octets| u64::from_le_bytes(*octets))
    }

    /// Adds the string at `at` to its chain and returns the previous one. Position 0 stands for no string, so that the
    /// very start is never matched.
    #[inline(always)]
    fn insert(&mut self, at: usize) -> usize {
        let [a, b, c, ..] = self.word(at).to_le_bytes();
        let (Some(head), Some(previous)) =
            (self.heads.get_mut(hash(a, b, c)), self.previous.get_mut(at))
        else {
            return 0;
        };
        *previous = replace(head, self.turn, at);
        usize::from(*previous)
    }

    /// Adds the strings at `places` as [`Self::insert`] does: those within a match, which are not searched for.
    #[inline(always)]
    fn insert_all(&mut self, places: Range<usize>) {
        let octets = self.text.get(places.start..places.end.saturating_add(2));
        let previous = self.previous.get_mut(places.clone());
        let (Some(octets), Some(previous)) = (octets, previous) else {
            return;
        };
        for ((at, three), previous) in places.zip(octets.windows(3)).zip(previous) {
            if let [a, b, c] = *three
                && let Some(head) = self.heads.get_mut(hash(a, b, c))
            {
                *previous = replace(head, self.turn, at);
            }
        }
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
    fn run(&mut self, block: &mut DeflateBlock) {
        let len = self.len;
        let mut at = 0;
        let (mut match_len, mut match_start) = (MIN_MATCH - 1, 0);
        let mut waiting = false;
        while at < len {
            let head = if len - at >= MIN_MATCH {
                self.insert(at)
            } else {
                0
            };
            let (before_len, before_start) = (match_len, match_start);
            match_len = MIN_MATCH - 1;
            if head != 0 && before_len < MAX_LAZY {
                let (longest, found) = self.longest(at, head, before_len);
                match_len = longest;
                match_start = found.unwrap_or(match_start);
                if match_len == MIN_MATCH && at - match_start > TOO_FAR {
                    match_len = MIN_MATCH - 1;
                }
            }
            if before_len >= MIN_MATCH && match_len <= before_len {
                block.matched(before_len - MIN_MATCH, at - 2 - before_start);
                let end = at + before_len - 1;
                self.insert_all(at + 1..end.min((len + 1).saturating_sub(MIN_MATCH)));
                at = end;
                waiting = false;
                match_len = MIN_MATCH - 1;
            } else {
                if waiting {
                    block.literal(self.word(at - 1) as u8);
                }
                waiting = true;
                at += 1;
            }
        }
        if waiting {
            block.literal(self.word(len - 1) as u8);
        }
    }
}

/// The hash of a string by its first three octets.
#[inline(always)]
fn hash(a: u8, b: u8, c: u8) -> usize {
    (usize::from(a) << 10 ^ usize::from(b) << 5 ^ usize::from(c)) & (HASH_SIZE - 1)
}

/// Makes `at` the last place of a hash, and returns the one before of the same input, or 0.
#[inline(always)]
fn replace(head: &mut u32, turn: u32, at: usize) -> u16 {
    let before = if *head >> 16 == turn { *head as u16 } else { 0 };
    *head = turn << 16 | at as u32;
    before
}

/// The symbols of the one block, and its trees.
struct DeflateBlock {
    /// A literal, or [`MATCH`], the length less three in the third octet, and the distance less one.
    symbols: Vec<u32>,
    /// Extra bits of all lengths and distances.
    extra_bits: u64,
    literals: Tree<LITERALS>,
    distances: Tree<DISTANCES>,
    bit_lengths: Tree<BIT_LENGTHS>,
    /// Lengths of the trees in the form in which they are sent: symbol, extra bits, their number.
    sent: Vec<(u8, u8, u8)>,
    builder: TreeBuilder,
}

const MATCH: u32 = 1 << 31;
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
        self.symbols.push(u32::from(octet));
    }

    /// A length less three and a distance less one.
    #[inline(always)]
    fn matched(&mut self, length: usize, distance: usize) {
        let code = length_code(length as u32 + SHORTEST);
        self.literals.add(usize::from(code.number) + FIRST_LENGTH);
        self.extra_bits += u64::from(code.extra_bits);
        let code = distance_code(distance as u32 + NEAREST);
        self.distances.add(usize::from(code.number));
        self.extra_bits += u64::from(code.extra_bits);
        self.symbols
            .push(MATCH | (length as u32) << 16 | distance as u32);
    }

    /// Writes the block in the shortest of the three ways.
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
        // An input has so few symbols that 32 bits are enough.
        let times = |tree: &[u32], lengths: &[u8]| -> u64 {
            let bits = tree.iter().zip(lengths);
            let bits: u32 = bits.map(|(times, length)| times * u32::from(*length)).sum();
            bits.into()
        };
        let fixed = times(&self.literals.frequency, &FIXED_LENGTHS)
            + times(&self.distances.frequency, &[FIXED_DISTANCE; DISTANCES])
            + self.extra_bits;
        let (dynamic, fixed) = ((dynamic + 10) >> 3, (fixed + 10) >> 3);
        if input.len() as u64 + 4 <= dynamic.min(fixed) {
            bits.stored(input);
        } else if fixed <= dynamic {
            bits.put(0b011, 3);
            // The whole alphabet has codes, 288 of literals and lengths.
            let mut literals = [0; LITERALS + 2];
            codes(&FIXED_LENGTHS, 0..LITERALS + 2, &mut literals);
            let distance_lengths = [FIXED_DISTANCE; DISTANCES + 2];
            let mut distances = [0; DISTANCES + 2];
            codes(&distance_lengths, 0..DISTANCES + 2, &mut distances);
            self.symbols(
                &FIXED_LENGTHS,
                &literals,
                &distance_lengths,
                &distances,
                bits,
            );
        } else {
            bits.put(0b101, 3);
            bits.put((self.literals.max_code - 256) as u32, 5);
            bits.put(self.distances.max_code as u32, 5);
            bits.put(bit_length_count as u32 - 4, 4);
            for code in BIT_LENGTH_ORDER.iter().take(bit_length_count) {
                bits.put(u32::from(length(code)), 3);
            }
            for (symbol, extra, count) in &self.sent {
                let tree = &self.bit_lengths;
                bits.symbol(usize::from(*symbol), &tree.lengths, &tree.codes);
                bits.put(u32::from(*extra), u32::from(*count));
            }
            let (l, d) = (&self.literals, &self.distances);
            self.symbols(&l.lengths, &l.codes, &d.lengths, &d.codes, bits);
        }
    }

    fn symbols(
        &self,
        lengths: &[u8],
        codes: &[u16],
        distance_lengths: &[u8],
        distance_codes: &[u16],
        bits: &mut Bits,
    ) {
        for symbol in &self.symbols {
            if symbol & MATCH == 0 {
                bits.symbol(*symbol as usize, lengths, codes);
                continue;
            }
            let length = (symbol >> 16 & 0xff) + SHORTEST;
            let code = length_code(length);
            bits.symbol(usize::from(code.number) + FIRST_LENGTH, lengths, codes);
            bits.put(length - u32::from(code.base), code.extra_bits.into());
            let distance = (symbol & 0xffff) + NEAREST;
            let code = distance_code(distance);
            bits.symbol(code.number.into(), distance_lengths, distance_codes);
            bits.put(distance - u32::from(code.base), code.extra_bits.into());
        }
        bits.symbol(END_OF_BLOCK, lengths, codes);
    }
}

/// The lengths of the fixed codes of literals and lengths (RFC 1951 3.2.6).
const FIXED_LENGTHS: [u8; LITERALS + 2] = {
    let mut lengths = [8; LITERALS + 2];
    let mut code = 144;
    while code < 280 {
        lengths[code] = if code < 256 { 9 } else { 7 };
        code += 1;
    }
    lengths
};
/// The length of the fixed code of each distance.
const FIXED_DISTANCE: u8 = 5;

/// Lengths of codes, repeated ones counted (RFC 1951 3.2.7).
fn run_lengths(lengths: &[u8], max_code: usize, out: &mut Vec<(u8, u8, u8)>) {
    let mut before = None;
    let mut lengths = lengths.get(..=max_code).unwrap_or_default();
    while let Some(current) = lengths.first().copied() {
        let mut run = lengths.iter().take_while(|next| **next == current).count();
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

/// Appends bits, the lowest first.
struct Bits {
    out: Vec<u8>,
    pending: u64,
    /// Fewer than 32 between calls.
    count: u32,
}

impl Bits {
    /// Writes at most 16 bits.
    #[inline(always)]
    fn put(&mut self, value: u32, count: u32) {
        self.pending |= u64::from(value) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out
                .extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.count -= 32;
        }
    }

    #[inline(always)]
    fn symbol(&mut self, symbol: usize, lengths: &[u8], codes: &[u16]) {
        let length = lengths.get(symbol).copied().unwrap_or(0);
        let code = codes.get(symbol).copied().unwrap_or(0);
        self.put(u32::from(code), u32::from(length));
    }

    /// Writes a block of octets as they are (RFC 1951, 3.2.4).
    fn stored(&mut self, octets: &[u8]) {
        self.put(1, 3);
        self.flush();
        let len = octets.len() as u16;
        self.out.extend_from_slice(&len.to_le_bytes());
        self.out.extend_from_slice(&(!len).to_le_bytes());
        self.out.extend_from_slice(octets);
    }

    /// Writes what is left, the last octet with zeros.
    fn flush(&mut self) {
        let octets = self.pending.to_le_bytes();
        let left = octets.get(..self.count.div_ceil(8) as usize);
        self.out.extend_from_slice(left.unwrap_or_default());
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
