//! The size of a block of symbols: stored, with the fixed codes, or with dynamic codes.
//!
//! zlib's choice and its very lengths are reproduced, including the tie-breaking of its heap, but
//! nothing is written. Where a lower bound shows that the fixed codes win, no tree is built.

use weir_deflate::{
    BIT_LENGTH_ORDER, Built, DISTANCES, END_OF_BLOCK, FIRST_LENGTH, LITERALS, TreeBuilder,
    distance_code, length_code,
};

/// A literal (the byte) or a match (`MATCH | (length - 3) << 16 | distance`).
pub(crate) type Symbol = u32;

/// Marks a match.
pub(crate) const MATCH: u32 = 1 << 31;

/// Bits of a match length less 3 with the fixed codes, extra bits included.
static LENGTH_BITS: [u8; 256] = length_bits();

const fn length_bits() -> [u8; 256] {
    let mut bits = [0; 256];
    let mut length = 0;
    while length < 256 {
        let code = length_code(length as u32 + 3);
        // Codes 256 to 279 have seven bits, those from 280 on eight.
        bits[length] = code.extra_bits
            + if code.number as usize + FIRST_LENGTH < 280 {
                7
            } else {
                8
            };
        length += 1;
    }
    bits
}

/// Bits of a literal with the fixed codes.
#[inline(always)]
pub(crate) fn literal_bits(byte: u8) -> u32 {
    8 + u32::from(byte >= 144)
}

/// Bits of a match with the fixed codes.
#[inline(always)]
pub(crate) fn match_bits(length: usize, distance: usize) -> u32 {
    let extra = distance_code(distance as u32).extra_bits;
    u32::from(LENGTH_BITS[(length - 3) & 0xff]) + 5 + u32::from(extra)
}

/// The statistics of a block, by which its type is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockStatistics {
    /// Bits of all its symbols with the fixed codes, without the end of the block.
    pub(crate) fixed_bits: u64,
    /// Bytes that it stands for.
    pub(crate) bytes: usize,
    /// All of its bytes are still in zlib's buffer.
    pub(crate) storable: bool,
}

/// Measures blocks; keeps its tables between calls.
#[derive(Debug)]
pub(crate) struct Costs {
    trees: Trees,
    /// Blocks that were measured, and how many of them needed trees.
    pub(crate) blocks: u64,
    pub(crate) trees_built: u64,
    /// A block would have been stored, had it still been in the buffer or otherwise.
    pub(crate) stored_wanted: bool,
}

impl Costs {
    pub(crate) fn new() -> Self {
        Self {
            trees: Trees::new(),
            blocks: 0,
            trees_built: 0,
            stored_wanted: false,
        }
    }

    /// The bit position after the block, when it begins at `bits`.
    pub(crate) fn add(&mut self, bits: u64, symbols: &[Symbol], block: BlockStatistics) -> u64 {
        self.blocks += 1;
        // Seven bits for the end of the block.
        let fixed = block.fixed_bits + 7;
        let fixed_bytes = (fixed + 3 + 7) >> 3;
        self.trees.count(symbols);
        let mut best = fixed;
        let mut best_bytes = fixed_bytes;
        if fixed > self.trees.lower_bound() {
            self.trees_built += 1;
            let own = self.trees.own_bits(fixed);
            let own_bytes = (own + 3 + 7) >> 3;
            if own_bytes < fixed_bytes {
                best = own;
                best_bytes = own_bytes;
            }
        }
        self.trees.clear();
        let stored = block.bytes as u64 + 4;
        if stored <= best_bytes {
            self.stored_wanted = true;
            if block.storable {
                return ((bits + 3).next_multiple_of(8)) + stored * 8;
            }
        }
        bits + 3 + best
    }
}

/// A set of up to 320 small numbers, walked in order.
#[derive(Clone, Copy, Debug, Default)]
struct Set([u64; 5]);

impl Set {
    #[inline(always)]
    fn insert(&mut self, n: usize) {
        self.0[n >> 6] |= 1 << (n & 63);
    }

    fn each(&self, mut f: impl FnMut(usize)) {
        for (word, &bits) in self.0.iter().enumerate() {
            let mut bits = bits;
            while bits != 0 {
                f(word * 64 + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
    }
}

/// The symbols of an alphabet that a block uses, in order: all readers share one loop, whose end the
/// processor predicts wrongly only once.
#[derive(Debug)]
struct Used {
    list: [u16; LITERALS + 2],
    len: usize,
}

impl Used {
    fn new() -> Self {
        Self {
            list: [0; LITERALS + 2],
            len: 0,
        }
    }

    fn fill(&mut self, set: &mut Set) {
        self.len = 0;
        std::mem::take(set).each(|n| {
            if let Some(place) = self.list.get_mut(self.len) {
                *place = n as u16;
                self.len += 1;
            }
        });
    }

    #[inline(always)]
    fn iter(&self) -> impl Iterator<Item = usize> {
        let used = self.list.get(..self.len).unwrap_or_default();
        used.iter().map(|&n| usize::from(n))
    }
}

/// Frequencies, and zlib's trees over them.
#[derive(Debug)]
struct Trees {
    literals: [u32; LITERALS + 2],
    distances: [u32; DISTANCES],
    /// The literals and lengths that were counted so far.
    seen: Set,
    seen_distances: u32,
    used_literals: Used,
    used_distances: Used,
    /// Extra bits of lengths and distances.
    extra_bits: u64,
    /// Sum of `f log2 f` over the literals and lengths, and over the distances.
    literal_sum: u64,
    distance_sum: u64,
    literal_count: u32,
    distance_count: u32,
    lens: [u8; LITERALS + DISTANCES + 4],
    builder: TreeBuilder,
    logs: &'static Logs,
}

/// `f log2 f` in 1/65,536 bits.
const LOG_ONE: f64 = 65_536.0;
const LOG_TABLE: usize = 1024;

/// `x log2 x` in 1/65,536 bits, rounded down, for small `x`.
#[derive(Debug)]
struct Logs([u64; LOG_TABLE]);

static LOGS: std::sync::LazyLock<Logs> = std::sync::LazyLock::new(|| {
    let mut table = [0; LOG_TABLE];
    for (x, value) in table.iter_mut().enumerate().skip(2) {
        *value = ((x as f64) * (x as f64).log2() * LOG_ONE) as u64;
    }
    Logs(table)
});

impl Logs {
    /// The product for any `x`.
    #[inline(always)]
    fn of(&self, x: u32) -> u64 {
        match self.0.get(x as usize) {
            Some(&value) => value,
            None => (f64::from(x) * f64::from(x).log2() * LOG_ONE) as u64,
        }
    }

    /// Bits that `count` symbols take at the least, when `sum` is not less than the sum of [`Logs::of`]
    /// over the frequencies of each.
    #[inline(always)]
    fn shannon(&self, count: u32, sum: u64) -> u64 {
        self.of(count).saturating_sub(sum) >> 16
    }

    /// Shannon's bound for some frequencies, and one bit a symbol at the least.
    fn entropy(&self, counts: &[u32]) -> u64 {
        let (mut all, mut sum) = (0, 0);
        for &count in counts {
            all += count;
            sum += self.of(count) + 1;
        }
        self.shannon(all, sum).max(all.into())
    }
}

impl Trees {
    fn new() -> Self {
        Self {
            literals: [0; LITERALS + 2],
            distances: [0; DISTANCES],
            seen: Set::default(),
            seen_distances: 0,
            used_literals: Used::new(),
            used_distances: Used::new(),
            extra_bits: 0,
            literal_sum: 0,
            distance_sum: 0,
            literal_count: 0,
            distance_count: 0,
            lens: [0; LITERALS + DISTANCES + 4],
            builder: TreeBuilder::new(),
            logs: &LOGS,
        }
    }

    fn count(&mut self, symbols: &[Symbol]) {
        let mut extra = 0;
        let mut matches = 0;
        self.literals[END_OF_BLOCK] = 1;
        self.seen.insert(END_OF_BLOCK);
        for &symbol in symbols {
            if symbol & MATCH == 0 {
                let byte = (symbol & 0xff) as usize;
                self.literals[byte] += 1;
                self.seen.insert(byte);
            } else {
                let code = length_code(((symbol >> 16) & 0xff) + 3);
                let place = FIRST_LENGTH + usize::from(code.number);
                extra += u32::from(code.extra_bits);
                self.literals[place] += 1;
                self.seen.insert(place);
                let code = distance_code(symbol & 0xffff);
                extra += u32::from(code.extra_bits);
                self.distances[usize::from(code.number)] += 1;
                self.seen_distances |= 1 << code.number;
                matches += 1;
            }
        }
        self.literal_count = symbols.len() as u32 + 1;
        self.distance_count = matches;
        self.extra_bits = u64::from(extra);
        self.used_literals.fill(&mut self.seen);
        let mut distances = Set([
            u64::from(std::mem::take(&mut self.seen_distances)),
            0,
            0,
            0,
            0,
        ]);
        self.used_distances.fill(&mut distances);
        let logs = self.logs;
        let sum = |used: &Used, counts: &[u32]| {
            let of = |n| counts.get(n).map_or(0, |&count| logs.of(count) + 1);
            used.iter().map(of).sum()
        };
        self.literal_sum = sum(&self.used_literals, &self.literals);
        self.distance_sum = sum(&self.used_distances, &self.distances);
    }

    fn clear(&mut self) {
        for n in self.used_literals.iter() {
            self.literals[n] = 0;
        }
        for n in self.used_distances.iter() {
            self.distances[n] = 0;
        }
    }

    /// No own codes can take fewer bits than this: Shannon's bound for the symbols, and for the
    /// header what any lengths of these symbols' codes cost at the very least.
    fn lower_bound(&self) -> u64 {
        let mut header = CodeLengths::default();
        header.add(&self.used_literals);
        header.kinds = self.used_literals.len as u32;
        if self.used_distances.len < 2 {
            // Two codes are sent even for one, and the forced one is next to zero.
            header.lengths += 1;
        } else {
            header.add(&self.used_distances);
        }
        // A Huffman code has at least one bit for each symbol.
        let literals = self.logs.shannon(self.literal_count, self.literal_sum);
        let literals = literals.max(self.literal_count.into());
        literals + self.distance_bound() + self.extra_bits + header.bound(self.logs)
    }

    fn distance_bound(&self) -> u64 {
        let bits = self.logs.shannon(self.distance_count, self.distance_sum);
        bits.max(self.distance_count.into())
    }

    /// The bits of the block with dynamic codes, as zlib builds them, without the three bits of the block's header; or, once they
    /// are known to be at least `enough`, any number from there on.
    fn own_bits(&mut self, enough: u64) -> u64 {
        let Built {
            bits: literal_bits,
            max_code: literal_max,
        } = self.builder.build(
            &self.literals,
            self.used_literals.iter(),
            15,
            &mut self.lens,
        );
        let distance_bound = self.distance_bound();
        let (literal_lens, distance_lens) = self.lens.split_at_mut(LITERALS + 2);
        let mut lengths = [0u32; 19];
        let mut extra = scan(&literal_lens[..=literal_max], &mut lengths);
        literal_lens[..=literal_max].fill(0);
        // Whatever the distances bring, the lengths of the literals are known now.
        let known = literal_bits + self.extra_bits + 14;
        let bound = known
            + u64::from(extra)
            + distance_bound
            + self.logs.entropy(&lengths)
            + 3 * (sent(|n| lengths[n] > 0) as u64 + 1)
            + 1;
        if bound >= enough {
            return bound;
        }
        let Built {
            bits: distance_bits,
            max_code: distance_max,
        } = self.builder.build(
            &self.distances,
            self.used_distances.iter(),
            15,
            distance_lens,
        );
        extra += scan(&distance_lens[..=distance_max], &mut lengths);
        distance_lens[..=distance_max].fill(0);
        let mut set = Set::default();
        for (n, &count) in lengths.iter().enumerate() {
            if count > 0 {
                set.insert(n);
            }
        }
        let mut used = Used::new();
        used.fill(&mut set);
        let mut lens = [0u8; 20];
        let length_bits = self.builder.build(&lengths, used.iter(), 7, &mut lens).bits;
        known
            + distance_bits
            + length_bits
            + u64::from(extra)
            + 3 * (sent(|n| lens[n] > 0) as u64 + 1)
    }
}

/// The last place of [`BIT_LENGTH_ORDER`] that has to be sent.
fn sent(used: impl Fn(usize) -> bool) -> usize {
    let mut sent = 18;
    while sent >= 3 && !used(BIT_LENGTH_ORDER[sent]) {
        sent -= 1;
    }
    sent
}

/// The code lengths as far as they are known before the codes: which are zero. The others are taken for one symbol, which bounds
/// their cost from below.
#[derive(Clone, Copy, Debug, Default)]
struct CodeLengths {
    /// Single zeros; short and long runs of zeros.
    zeros: u32,
    short_runs: u32,
    long_runs: u32,
    /// Lengths that are sent by themselves, or repeats, at the least.
    lengths: u32,
    /// Literals and match lengths that have a code.
    kinds: u32,
}

impl CodeLengths {
    fn add(&mut self, used: &Used) {
        let mut next = 0;
        let mut run = 0u32;
        for n in used.iter() {
            if n > next {
                self.close(run);
                run = 0;
                self.gap(n - next);
            }
            run += 1;
            next = n + 1;
        }
        self.close(run);
    }

    #[inline(always)]
    fn gap(&mut self, mut zeros: usize) {
        if zeros > 138 {
            self.long_runs += 1;
            zeros -= 138;
        }
        match zeros {
            0..=2 => self.zeros += zeros as u32,
            3..=10 => self.short_runs += 1,
            _ => self.long_runs += 1,
        }
    }

    /// A run of lengths is at least one length, and a repeat for every six after it. (A repeat
    /// stands for no less than three.)
    #[inline(always)]
    fn close(&mut self, run: u32) {
        if run > 0 {
            let rest = run - 1;
            self.lengths += 1 + rest / 6 + u32::from(!rest.is_multiple_of(6));
        }
    }

    fn bound(self, logs: &Logs) -> u64 {
        // A complete code over n symbols has one of log2(n) bits or fewer. `BIT_LENGTH_ORDER` has short
        // lengths late: 4 at index 11, 5 at 9, 6 at 7, 7 at 5, and none before 4.
        let sent = match self.kinds {
            0..=31 => 12,
            32..=63 => 10,
            64..=127 => 8,
            128..=255 => 6,
            _ => 5,
        };
        // All codes have the same length only where their number is a power of two.
        let other = u32::from(!self.kinds.is_power_of_two() && self.lengths > 1);
        let codes = logs.entropy(&[
            self.zeros,
            self.short_runs,
            self.long_runs,
            self.lengths - other,
            other,
        ]);
        14 + 3 * sent + codes + u64::from(3 * self.short_runs + 7 * self.long_runs)
    }
}

/// Counts the symbols that code lengths are sent with; gives the bits beside the codes.
fn scan(lens: &[u8], counts: &mut [u32; 19]) -> u32 {
    let mut extra = 0;
    let mut at = 0;
    let mut previous = None;
    while let Some(&len) = lens.get(at) {
        let mut run = 1;
        while lens.get(at + run) == Some(&len) {
            run += 1;
        }
        at += run;
        if len == 0 {
            while run > 0 {
                let taken = run.min(138);
                match taken {
                    1 | 2 => counts[0] += taken as u32,
                    3..=10 => {
                        counts[17] += 1;
                        extra += 3;
                    }
                    _ => {
                        counts[18] += 1;
                        extra += 7;
                    }
                }
                run -= taken;
                previous = Some(0);
            }
        } else {
            while run > 0 {
                // A length that differs from the one before is sent once, before its repeats.
                let fresh = previous != Some(len);
                let most = if fresh { 7 } else { 6 };
                let least = if fresh { 4 } else { 3 };
                let taken = run.min(most);
                if taken < least {
                    counts[len as usize] += taken as u32;
                } else {
                    if fresh {
                        counts[len as usize] += 1;
                    }
                    counts[16] += 1;
                    extra += 2;
                }
                run -= taken;
                previous = Some(len);
            }
        }
    }
    extra
}
