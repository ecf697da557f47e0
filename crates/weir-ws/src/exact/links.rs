//! Links to earlier occurrences of the same bytes: one set that serves every setting of the lazy levels.
//!
//! zlib's lazy levels put every position into their hash chains, so what a search finds at a position does not depend
//! on how the text before was parsed. The nearest occurrence of each greater match length (the records of a position)
//! is therefore found once for all levels, windows and memLevels. The settings differ in how far they may look: the
//! distance, which is known, and how many candidates of their own hash chain they look at. The number of candidates in
//! between follows from running counts of each hash: `count(position) - count(candidate)`, for nine hashes.

use super::level::{MATCH_MAX, MATCH_MIN, hash};

/// Lengths of the strings that are linked; longer ones skip more candidates.
const SPANS: [usize; 5] = [3, 4, 6, 10, 20];
const HEAD_BITS: u32 = 16;
const NOWHERE: u32 = u32::MAX;
/// The mark of no link within 65,535 bytes.
const NONE: u16 = 0;

/// The counts of nine hashes (memLevel 1 to 9) up to a position, modulo 65,536.
pub(crate) type HashCounts = [u16; 16];

/// Links and counts of the positions of a buffer.
#[derive(Debug)]
pub(crate) struct Links {
    /// The last position with each hash, for each span, in positions of the buffer.
    heads: Vec<Vec<u32>>,
    /// The distance to the previous position with the same hash, for each span and position.
    back: Vec<Vec<u16>>,
    /// The number of linked positions of each span.
    linked: [usize; SPANS.len()],
    /// Running counts of each hash; empty for memLevels that no setting has.
    counters: Vec<Vec<u16>>,
    counts: Vec<HashCounts>,
    counted: usize,
    /// The memLevels that are wanted; bit 0 is memLevel 1.
    pub(crate) mem_levels: u16,
}

impl Links {
    /// Links for the `wanted` memLevels; others are never reachable.
    pub(crate) fn new(wanted: impl Fn(u8) -> bool) -> Self {
        let counter = |m: u8| {
            if wanted(m) {
                vec![0; 1 << (m + 7)]
            } else {
                Vec::new()
            }
        };
        Self {
            heads: SPANS
                .iter()
                .map(|_| vec![NOWHERE; 1 << HEAD_BITS])
                .collect(),
            back: vec![Vec::new(); SPANS.len()],
            linked: [0; SPANS.len()],
            counters: (1..=9).map(counter).collect(),
            counts: Vec::new(),
            counted: 0,
            mem_levels: (1..=9).fold(0, |mask, m| mask | u16::from(wanted(m)) << (m - 1)),
        }
    }

    /// Removes the first `bytes` of the buffer: the bytes behind them move to its beginning.
    pub(crate) fn shift(&mut self, bytes: usize) {
        if self.counted == 0 {
            return;
        }
        for ((heads, back), linked) in self
            .heads
            .iter_mut()
            .zip(&mut self.back)
            .zip(&mut self.linked)
        {
            let shift = bytes as u32;
            for head in heads.iter_mut() {
                *head = if *head == NOWHERE || *head < shift {
                    NOWHERE
                } else {
                    *head - shift
                };
            }
            back.drain(..bytes.min(*linked));
            *linked = linked.saturating_sub(bytes);
        }
        self.counts.drain(..bytes.min(self.counted));
        self.counted = self.counted.saturating_sub(bytes);
    }

    /// Links and counts everything of `text` that is not yet; `len` bytes of it count, the rest is
    /// padding.
    pub(crate) fn extend(&mut self, text: &[u8], len: usize) {
        for (span, (&bytes, heads)) in SPANS.iter().zip(&mut self.heads).enumerate() {
            let end = (len + 1).saturating_sub(bytes);
            let start = self.linked[span];
            if end <= start {
                continue;
            }
            let back = &mut self.back[span];
            back.resize(end, NONE);
            for (position, back) in back.iter_mut().enumerate().skip(start) {
                let slot = span_hash(text, position, bytes);
                let head = &mut heads[slot];
                let distance = (position as u32).wrapping_sub(*head);
                *back = if *head == NOWHERE || distance > 0xffff {
                    NONE
                } else {
                    distance as u16
                };
                *head = position as u32;
            }
            self.linked[span] = end;
        }
        let end = (len + 1).saturating_sub(MATCH_MIN);
        if end > self.counted {
            self.counts.resize(end, [0; 16]);
            for position in self.counted..end {
                let three = word(text, position) as u32 & 0xff_ffff;
                let row = &mut self.counts[position];
                for (mem_level, counter) in (1..).zip(&mut self.counters) {
                    if counter.is_empty() {
                        continue;
                    }
                    let count = &mut counter[hash(three, mem_level)];
                    *count = count.wrapping_add(1);
                    row[mem_level as usize - 1] = *count;
                }
            }
            self.counted = end;
        }
    }

    /// The memLevels (bit 0 is memLevel 1) for which the candidate `distance` before `position` is among the first `chain` of its
    /// hash chain.
    #[inline(always)]
    pub(crate) fn reachable(&self, position: usize, distance: usize, chain: usize) -> u16 {
        let chain = chain as u16;
        let (here, there) = (&self.counts[position], &self.counts[position - distance]);
        let mut mask = 0u16;
        for m in 0..9 {
            let rank = here[m].wrapping_sub(there[m]);
            mask |= u16::from(rank <= chain) << m;
        }
        mask & self.mem_levels
    }

    /// Appends the records of `position` to `records`: for each distance at which the match becomes
    /// longer than all nearer ones, the distance and the length. Matches end at `end`.
    pub(crate) fn find(
        &self,
        text: &[u8],
        position: usize,
        end: usize,
        reach: Reach,
        records: &mut Vec<LongerMatch>,
    ) {
        let most = MATCH_MAX.min(end - position);
        let far = reach.farthest;
        let mut best = MATCH_MIN - 1;
        let mut span = 0;
        let mut distance = 0;
        let mut steps = 0u32;
        let mut next = self.back_of(0, position);
        loop {
            if next == NONE {
                return;
            }
            distance += usize::from(next);
            if distance > far || distance > position {
                return;
            }
            let candidate = position - distance;
            if text[candidate + best] == text[position + best] {
                let length = common(text, candidate, position, most);
                if length > best {
                    best = length;
                    records.push(LongerMatch {
                        distance: distance as u16,
                        length: length as u16,
                    });
                    if best >= most {
                        return;
                    }
                    // Only longer matches count now, so follow links of longer strings, from the
                    // first that is farther away.
                    let mut longer = span;
                    while longer + 1 < SPANS.len() && SPANS[longer + 1] <= best + 1 {
                        longer += 1;
                    }
                    if longer != span {
                        span = longer;
                        let passed = distance;
                        distance = 0;
                        next = self.back_of(span, position);
                        while next != NONE && distance + usize::from(next) <= passed {
                            distance += usize::from(next);
                            if distance > position {
                                return;
                            }
                            next = self.back_of(span, position - distance);
                        }
                        continue;
                    }
                }
            }
            steps += 1;
            // Counts compare only where the strings do: a link may be a mere collision.
            if steps >= 32 && (word(text, candidate) ^ word(text, position)) & 0xff_ffff == 0 {
                steps = 0;
                if self.reachable(position, distance, reach.chain) == 0 {
                    return;
                }
            }
            next = self.back_of(span, candidate);
        }
    }

    #[inline(always)]
    fn back_of(&self, span: usize, position: usize) -> u16 {
        self.back[span].get(position).copied().unwrap_or(NONE)
    }
}

/// The limits of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// The largest distance.
    pub(crate) farthest: usize,
    /// The longest chain of any setting.
    pub(crate) chain: usize,
}

/// A match that is longer than all nearer ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LongerMatch {
    pub(crate) distance: u16,
    pub(crate) length: u16,
}

/// Eight bytes at a position; the text is padded.
#[inline(always)]
pub(crate) fn word(text: &[u8], position: usize) -> u64 {
    text.get(position..)
        .and_then(<[u8]>::first_chunk::<8>)
        .map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The number of equal bytes at two positions, at most `most`.
#[inline(always)]
pub(crate) fn common(text: &[u8], a: usize, b: usize, most: usize) -> usize {
    let mut length = 0;
    while length < most {
        let differ = word(text, a + length) ^ word(text, b + length);
        if differ != 0 {
            return (length + (differ.trailing_zeros() / 8) as usize).min(most);
        }
        length += 8;
    }
    most
}

#[inline(always)]
fn span_hash(text: &[u8], position: usize, span: usize) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let first = word(text, position);
    let mixed = match span {
        3 => (first << 40).wrapping_mul(MIX),
        4 => (first << 32).wrapping_mul(MIX),
        6 => (first << 16).wrapping_mul(MIX),
        10 => (first.wrapping_mul(MIX) ^ (word(text, position + 2) >> 48)).wrapping_mul(MIX),
        _ => ((first.wrapping_mul(MIX) ^ word(text, position + 8)).wrapping_mul(MIX)
            ^ (word(text, position + 12) >> 32))
            .wrapping_mul(MIX),
    };
    (mixed >> (64 - HEAD_BITS)) as usize
}
