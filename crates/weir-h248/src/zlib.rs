//! Deflating as zlib does at its default level, octet for octet.
//!
//! Erlang's compressed terms are made with zlib; other libraries deflate as well but to other
//! octets. This is what zlib 1.2 does at level 6 with an input of one block: hash chains, lazy
//! matching, and its way of building Huffman trees (RFC 1950, RFC 1951). Inflating is flate2's work.

use std::cell::RefCell;

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

const LENGTH_CODES: usize = 29;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
const BIT_LENGTHS: usize = 19;
const END_OF_BLOCK: usize = 256;
const HEAP: usize = 2 * LITERALS + 1;

const LENGTH_EXTRA: [u8; LENGTH_CODES] = [
    0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
];
const LENGTH_BASE: [u16; LENGTH_CODES] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128,
    160, 192, 224, 255,
];
const DISTANCE_EXTRA: [u8; DISTANCES] = [
    0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13,
    13,
];
const DISTANCE_BASE: [u16; DISTANCES] = [
    0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536,
    2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576,
];
const BIT_LENGTH_EXTRA: [u8; BIT_LENGTHS] =
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3, 7];
const BIT_LENGTH_ORDER: [usize; BIT_LENGTHS] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// A literal, or a match.
#[derive(Clone, Copy)]
enum Symbol {
    Literal(u8),
    /// Length less three, distance less one.
    Match(u16, u16),
}

/// The zlib stream of `input`; nothing when it is longer than [`INPUT_MAX`].
pub(crate) fn deflate(input: &[u8]) -> Option<Vec<u8>> {
    if input.len() > INPUT_MAX {
        return None;
    }
    let symbols = HEADS.with_borrow_mut(|head| Matcher::new(input, head).symbols());
    let mut bits = Bits {
        out: vec![0x78, 0x9c],
        pending: 0,
        count: 0,
    };
    Block::of(&symbols).write(input, &symbols, &mut bits);
    bits.flush();
    let mut out = bits.out;
    out.extend_from_slice(&adler32(input).to_be_bytes());
    Some(out)
}

fn adler32(input: &[u8]) -> u32 {
    let (mut a, mut b) = (1_u32, 0_u32);
    for octet in input {
        a = (a + u32::from(*octet)) % 65521;
        b = (b + a) % 65521;
    }
    b << 16 | a
}

thread_local! {
    /// The last place of every hash: zeros between inputs. To clear it for every message would take
    /// longer than to deflate one.
    static HEADS: RefCell<Vec<u16>> = RefCell::new(vec![0; HASH_SIZE]);
}

/// Finds what is repeated.
struct Matcher<'i, 'h> {
    input: &'i [u8],
    head: &'h mut [u16],
    previous: Vec<u16>,
}

impl Drop for Matcher<'_, '_> {
    fn drop(&mut self) {
        for at in 0..self.input.len() {
            let hash = self.hash(at);
            if let Some(head) = self.head.get_mut(hash) {
                *head = 0;
            }
        }
    }
}

impl<'i, 'h> Matcher<'i, 'h> {
    fn new(input: &'i [u8], head: &'h mut [u16]) -> Self {
        Self {
            input,
            head,
            previous: vec![0; input.len()],
        }
    }

    fn octet(&self, at: usize) -> u8 {
        self.input.get(at).copied().unwrap_or(0)
    }

    /// Enters the string at `at` into its chain and gives the one before. Place 0 means none, which
    /// is why nothing ever matches the very start.
    fn insert(&mut self, at: usize) -> usize {
        let hash = self.hash(at);
        let Some(head) = self.head.get_mut(hash) else {
            return 0;
        };
        let before = *head;
        *head = at as u16;
        if let Some(place) = self.previous.get_mut(at) {
            *place = before;
        }
        usize::from(before)
    }

    #[inline]
    fn hash(&self, at: usize) -> usize {
        let octets = match self.input.get(at..).and_then(<[u8]>::first_chunk::<3>) {
            Some(octets) => *octets,
            None => [self.octet(at), self.octet(at + 1), self.octet(at + 2)],
        };
        let [a, b, c] = octets.map(usize::from);
        ((a << 10) ^ (b << 5) ^ c) & (HASH_SIZE - 1)
    }

    /// How many octets are alike at two places, at most `most`.
    #[inline]
    fn alike(&self, one: usize, other: usize, most: usize) -> usize {
        let input = self.input;
        let one = input.get(one..).unwrap_or_default();
        let other = input.get(other..).unwrap_or_default();
        let mut len = 0_usize;
        while len < most {
            let a = one.get(len..).and_then(<[u8]>::first_chunk::<8>);
            let b = other.get(len..).and_then(<[u8]>::first_chunk::<8>);
            let (Some(a), Some(b)) = (a, b) else {
                while len < most && one.get(len) == other.get(len) {
                    len += 1;
                }
                return len;
            };
            let differs = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
            if differs != 0 {
                return (len + differs.trailing_zeros() as usize / 8).min(most);
            }
            len += 8;
        }
        most
    }

    fn longest(&self, at: usize, first: usize, best: usize) -> (usize, Option<usize>) {
        let ahead = self.input.len() - at;
        let nice = NICE_LENGTH.min(ahead);
        let mut chain = if best >= GOOD_LENGTH {
            MAX_CHAIN >> 2
        } else {
            MAX_CHAIN
        };
        let mut best = best;
        let mut found = None;
        let mut candidate = first;
        loop {
            let ends_alike = self.octet(candidate + best) == self.octet(at + best)
                && self.octet(candidate + best - 1) == self.octet(at + best - 1);
            if ends_alike {
                let len = self.alike(candidate, at, MAX_MATCH.min(ahead));
                if len > best {
                    (best, found) = (len, Some(candidate));
                    if len >= nice {
                        break;
                    }
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

    fn symbols(mut self) -> Vec<Symbol> {
        let len = self.input.len();
        let mut symbols = Vec::with_capacity(len);
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
                let distance = at - 1 - before_start;
                symbols.push(Symbol::Match(
                    (before_len - MIN_MATCH) as u16,
                    (distance - 1) as u16,
                ));
                let end = at + before_len - 1;
                for next in at + 1..end {
                    if next + MIN_MATCH <= len {
                        self.insert(next);
                    }
                }
                at = end;
                waiting = false;
                match_len = MIN_MATCH - 1;
            } else {
                if waiting {
                    symbols.push(Symbol::Literal(self.octet(at - 1)));
                }
                waiting = true;
                at += 1;
            }
        }
        if waiting {
            symbols.push(Symbol::Literal(self.octet(len - 1)));
        }
        symbols
    }
}

/// The code of every length less three.
static LENGTH_CODE: [u8; 256] = {
    let mut codes = [0; 256];
    let mut code = 0;
    while code < LENGTH_CODES {
        // The last has one length for itself.
        let mut length = LENGTH_BASE[code] as usize;
        while length < codes.len() {
            codes[length] = code as u8;
            length += 1;
        }
        code += 1;
    }
    codes
};

#[inline]
fn length_code(length: u16) -> usize {
    let code = LENGTH_CODE.get(usize::from(length)).copied();
    usize::from(code.unwrap_or_default())
}

/// Each power of two has two codes.
#[inline]
fn distance_code(distance: u16) -> usize {
    if distance < 2 {
        return usize::from(distance);
    }
    let top = distance.ilog2();
    2 * top as usize + usize::from(distance >> (top - 1) & 1)
}

/// A Huffman tree: how often its symbols occur, then the lengths of their codes.
struct Tree {
    frequency: Vec<u32>,
    lengths: Vec<u8>,
    codes: Vec<u16>,
    max_code: usize,
    /// Bits that the symbols take with these codes.
    bits: u64,
}

impl Tree {
    fn new(size: usize) -> Self {
        Self {
            frequency: vec![0; size],
            lengths: vec![0; size],
            codes: vec![0; size],
            max_code: 0,
            bits: 0,
        }
    }

    fn add(&mut self, symbol: usize, times: u32) {
        if let Some(frequency) = self.frequency.get_mut(symbol) {
            *frequency += times;
        }
    }

    fn length(&self, symbol: usize) -> u8 {
        self.lengths.get(symbol).copied().unwrap_or(0)
    }

    /// Lengths of codes, as zlib's `build_tree` and `gen_bitlen` find them.
    #[allow(
        clippy::indexing_slicing,
        reason = "places come from the tree itself, whose size is fixed"
    )]
    fn build(&mut self, extra: impl Fn(usize) -> u8, max_length: usize) {
        let elements = self.frequency.len();
        let mut frequency = vec![0_u32; 2 * elements + 1];
        frequency[..elements].copy_from_slice(&self.frequency);
        let mut depth = vec![0_u8; 2 * elements + 1];
        let mut parent = vec![0_usize; 2 * elements + 1];
        let mut heap = Heap {
            places: vec![0; HEAP],
            len: 0,
        };
        let mut top = HEAP;
        let mut max_code = 0;
        for (symbol, times) in self.frequency.iter().enumerate() {
            if *times != 0 {
                heap.len += 1;
                heap.places[heap.len] = symbol;
                max_code = symbol;
            }
        }
        let mut forced_bits = 0;
        let mut any = heap.len > 0;
        while heap.len < 2 {
            let node = if max_code < 2 && any {
                max_code += 1;
                max_code
            } else if !any {
                any = true;
                max_code = 0;
                0
            } else {
                0
            };
            heap.len += 1;
            heap.places[heap.len] = node;
            frequency[node] = 1;
            forced_bits += 1;
        }
        self.max_code = max_code;
        for place in (1..=heap.len / 2).rev() {
            heap.sink(place, &frequency, &depth);
        }
        let mut node = elements;
        while heap.len >= 2 {
            let n = heap.places[1];
            heap.places[1] = heap.places[heap.len];
            heap.len -= 1;
            heap.sink(1, &frequency, &depth);
            let m = heap.places[1];
            top -= 2;
            heap.places[top + 1] = n;
            heap.places[top] = m;
            frequency[node] = frequency[n] + frequency[m];
            depth[node] = depth[n].max(depth[m]) + 1;
            (parent[n], parent[m]) = (node, node);
            heap.places[1] = node;
            node += 1;
            heap.sink(1, &frequency, &depth);
        }
        top -= 1;
        heap.places[top] = heap.places[1];
        let mut lengths = vec![0_usize; 2 * elements + 1];
        let mut counts = vec![0_usize; max_length + 2];
        let mut overflow = 0_isize;
        let mut bits = 0_u64;
        for place in top + 1..HEAP {
            let n = heap.places[place];
            let mut length = lengths[parent[n]] + 1;
            if length > max_length {
                length = max_length;
                overflow += 1;
            }
            lengths[n] = length;
            if n > max_code || n >= elements {
                continue;
            }
            counts[length] += 1;
            bits += u64::from(frequency[n]) * (length as u64 + u64::from(extra(n)));
        }
        if overflow > 0 {
            while overflow > 0 {
                let mut length = max_length - 1;
                while counts[length] == 0 {
                    length -= 1;
                }
                counts[length] -= 1;
                counts[length + 1] += 2;
                counts[max_length] -= 1;
                overflow -= 2;
            }
            let mut place = HEAP;
            for length in (1..=max_length).rev() {
                let mut left = counts[length];
                while left > 0 {
                    place -= 1;
                    let m = heap.places[place];
                    if m > max_code || m >= elements {
                        continue;
                    }
                    if lengths[m] != length {
                        bits = bits.wrapping_add(
                            (length as u64)
                                .wrapping_sub(lengths[m] as u64)
                                .wrapping_mul(u64::from(frequency[m])),
                        );
                        lengths[m] = length;
                    }
                    left -= 1;
                }
            }
        }
        self.bits = bits - forced_bits;
        self.lengths = lengths[..elements]
            .iter()
            .map(|length| *length as u8)
            .collect();
        self.codes = codes(&self.lengths);
    }
}

/// Codes of the given lengths, the first bit in the lowest place.
fn codes(lengths: &[u8]) -> Vec<u16> {
    let mut counts = [0_u16; 17];
    for length in lengths.iter().filter(|length| **length > 0) {
        if let Some(count) = counts.get_mut(usize::from(*length)) {
            *count += 1;
        }
    }
    let mut next = [0_u16; 17];
    let mut code = 0_u16;
    for (place, shorter) in next.iter_mut().skip(1).zip(counts).take(15) {
        code = (code + shorter) << 1;
        *place = code;
    }
    lengths
        .iter()
        .map(|length| match next.get_mut(usize::from(*length)) {
            Some(place) if *length > 0 => {
                let code = *place;
                *place = place.wrapping_add(1);
                code.reverse_bits() >> (16 - u16::from(*length))
            }
            _ => 0,
        })
        .collect()
}

struct Heap {
    places: Vec<usize>,
    len: usize,
}

impl Heap {
    #[allow(
        clippy::indexing_slicing,
        reason = "places come from the tree itself, whose size is fixed"
    )]
    fn sink(&mut self, from: usize, frequency: &[u32], depth: &[u8]) {
        let smaller = |a: usize, b: usize| (frequency[a], depth[a]) <= (frequency[b], depth[b]);
        let value = self.places[from];
        let mut at = from;
        let mut child = from * 2;
        while child <= self.len {
            if child < self.len && smaller(self.places[child + 1], self.places[child]) {
                child += 1;
            }
            if smaller(value, self.places[child]) {
                break;
            }
            self.places[at] = self.places[child];
            at = child;
            child *= 2;
        }
        self.places[at] = value;
    }
}

/// The trees of one block.
struct Block {
    literals: Tree,
    distances: Tree,
    bit_lengths: Tree,
    /// Lengths of the trees in the form in which they are sent: symbol, extra bits, their number.
    sent: Vec<(usize, u32, u32)>,
    bit_length_count: usize,
}

impl Block {
    fn of(symbols: &[Symbol]) -> Self {
        let mut literals = Tree::new(LITERALS);
        let mut distances = Tree::new(DISTANCES);
        literals.add(END_OF_BLOCK, 1);
        for symbol in symbols {
            match symbol {
                Symbol::Literal(octet) => literals.add(usize::from(*octet), 1),
                Symbol::Match(length, distance) => {
                    literals.add(length_code(*length) + END_OF_BLOCK + 1, 1);
                    distances.add(distance_code(*distance), 1);
                }
            }
        }
        literals.build(literal_extra, 15);
        distances.build(|code| DISTANCE_EXTRA.get(code).copied().unwrap_or(0), 15);
        let mut sent = Vec::new();
        let mut bit_lengths = Tree::new(BIT_LENGTHS);
        for tree in [&literals, &distances] {
            run_lengths(&tree.lengths, tree.max_code, &mut sent);
        }
        for (symbol, _, _) in &sent {
            bit_lengths.add(*symbol, 1);
        }
        bit_lengths.build(|code| BIT_LENGTH_EXTRA.get(code).copied().unwrap_or(0), 7);
        let bit_length_count = BIT_LENGTH_ORDER
            .iter()
            .rposition(|code| bit_lengths.length(*code) != 0)
            .map_or(4, |last| (last + 1).max(4));
        Self {
            literals,
            distances,
            bit_lengths,
            sent,
            bit_length_count,
        }
    }

    fn write(&self, input: &[u8], symbols: &[Symbol], bits: &mut Bits) {
        let dynamic = self.literals.bits
            + self.distances.bits
            + self.bit_lengths.bits
            + 3 * self.bit_length_count as u64
            + 14;
        let fixed: u64 = symbols
            .iter()
            .map(|symbol| match symbol {
                Symbol::Literal(octet) => u64::from(fixed_length(usize::from(*octet))),
                Symbol::Match(length, distance) => {
                    let code = length_code(*length) + END_OF_BLOCK + 1;
                    let extra = DISTANCE_EXTRA
                        .get(distance_code(*distance))
                        .copied()
                        .unwrap_or(0);
                    u64::from(fixed_length(code) + literal_extra(code) + 5 + extra)
                }
            })
            .sum::<u64>()
            + 7;
        let (dynamic, fixed) = ((dynamic + 10) >> 3, (fixed + 10) >> 3);
        if input.len() as u64 + 4 <= dynamic.min(fixed) {
            bits.put(1, 3);
            bits.flush();
            let len = input.len() as u16;
            bits.out.extend_from_slice(&len.to_le_bytes());
            bits.out.extend_from_slice(&(!len).to_le_bytes());
            bits.out.extend_from_slice(input);
        } else if fixed <= dynamic {
            bits.put(0b011, 3);
            let lengths: Vec<u8> = (0..LITERALS + 2).map(fixed_length).collect();
            self.symbols(
                symbols,
                &lengths,
                &codes(&lengths),
                &[5; 32],
                &codes(&[5; 32]),
                bits,
            );
        } else {
            bits.put(0b101, 3);
            bits.put((self.literals.max_code - 256) as u32, 5);
            bits.put(self.distances.max_code as u32, 5);
            bits.put(self.bit_length_count as u32 - 4, 4);
            for code in BIT_LENGTH_ORDER.iter().take(self.bit_length_count) {
                bits.put(u32::from(self.bit_lengths.length(*code)), 3);
            }
            for (symbol, extra, count) in &self.sent {
                bits.symbol(*symbol, &self.bit_lengths.lengths, &self.bit_lengths.codes);
                bits.put(*extra, *count);
            }
            let (l, d) = (&self.literals, &self.distances);
            self.symbols(symbols, &l.lengths, &l.codes, &d.lengths, &d.codes, bits);
        }
    }

    fn symbols(
        &self,
        symbols: &[Symbol],
        lengths: &[u8],
        codes: &[u16],
        distance_lengths: &[u8],
        distance_codes: &[u16],
        bits: &mut Bits,
    ) {
        for symbol in symbols {
            match symbol {
                Symbol::Literal(octet) => bits.symbol(usize::from(*octet), lengths, codes),
                Symbol::Match(length, distance) => {
                    let code = length_code(*length);
                    bits.symbol(code + END_OF_BLOCK + 1, lengths, codes);
                    let base = LENGTH_BASE.get(code).copied().unwrap_or(0);
                    let extra = LENGTH_EXTRA.get(code).copied().unwrap_or(0);
                    bits.put(u32::from(length - base), u32::from(extra));
                    let code = distance_code(*distance);
                    bits.symbol(code, distance_lengths, distance_codes);
                    let base = DISTANCE_BASE.get(code).copied().unwrap_or(0);
                    let extra = DISTANCE_EXTRA.get(code).copied().unwrap_or(0);
                    bits.put(u32::from(distance - base), u32::from(extra));
                }
            }
        }
        bits.symbol(END_OF_BLOCK, lengths, codes);
    }
}

fn literal_extra(code: usize) -> u8 {
    code.checked_sub(END_OF_BLOCK + 1)
        .and_then(|code| LENGTH_EXTRA.get(code).copied())
        .unwrap_or(0)
}

fn fixed_length(code: usize) -> u8 {
    match code {
        0..=143 => 8,
        144..=255 => 9,
        256..=279 => 7,
        _ => 8,
    }
}

/// Lengths of codes, repeated ones counted (RFC 1951 3.2.7).
fn run_lengths(lengths: &[u8], max_code: usize, out: &mut Vec<(usize, u32, u32)>) {
    let mut before = None;
    let mut count = 0_u32;
    let limits = |next: Option<u8>, current: Option<u8>| match next {
        Some(0) => (138, 3),
        _ if next == current => (6, 3),
        _ => (7, 4),
    };
    let (mut most, mut least) = limits(lengths.first().copied(), None);
    for code in 0..=max_code {
        let Some(current) = lengths.get(code).copied() else {
            return;
        };
        let next = if code == max_code {
            None
        } else {
            lengths.get(code + 1).copied()
        };
        count += 1;
        if count < most && next == Some(current) {
            continue;
        }
        if count < least {
            (0..count).for_each(|_| out.push((usize::from(current), 0, 0)));
        } else if current != 0 {
            if before != Some(current) {
                out.push((usize::from(current), 0, 0));
                count -= 1;
            }
            out.push((16, count - 3, 2));
        } else if count <= 10 {
            out.push((17, count - 3, 3));
        } else {
            out.push((18, count - 11, 7));
        }
        count = 0;
        before = Some(current);
        (most, least) = limits(next, Some(current));
    }
}

/// Appends bits, the lowest first.
struct Bits {
    out: Vec<u8>,
    pending: u64,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u32, count: u32) {
        self.pending |= u64::from(value) << self.count;
        self.count += count;
        while self.count >= 8 {
            self.out.push(self.pending as u8);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    fn symbol(&mut self, symbol: usize, lengths: &[u8], codes: &[u16]) {
        let length = lengths.get(symbol).copied().unwrap_or(0);
        let code = codes.get(symbol).copied().unwrap_or(0);
        self.put(u32::from(code), u32::from(length));
    }

    fn flush(&mut self) {
        if self.count > 0 {
            self.out.push(self.pending as u8);
            (self.pending, self.count) = (0, 0);
        }
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
