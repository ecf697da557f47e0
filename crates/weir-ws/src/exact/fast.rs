//! The levels 1 to 3, each setting with hash chains of its own, as zlib has them: here the chains depend
//! on the parse.

use super::emit::Symbols;
use super::hashes::Hashes;
use super::level::{LEVELS, MATCH_MAX, MATCH_MIN};
use super::links::{common, word};
use super::slow::MessageSpan;
use super::window::Window;

/// The chains of one setting, for one context.
#[derive(Debug)]
pub(crate) struct Fast {
    window_bits: u8,
    mem_level: u8,
    /// The last position with each hash, plus `bias`.
    heads: Vec<u32>,
    /// The distance from each position in the window to the previous one with the same hash, at most 65,535.
    back: Vec<u16>,
    bias: u32,
    /// Above everything in `heads`; only for messages by themselves.
    top: u32,
    /// Positions before the next message that are not in a chain yet.
    missing: usize,
}

/// The parameters of a search.
#[derive(Clone, Copy)]
struct FastSearch {
    /// Slots of the chains less one.
    mask: usize,
    /// Only longer matches count.
    best: usize,
    /// The maximum number of candidates to compare.
    chain: usize,
    /// A match this long ends the search.
    nice: usize,
}

impl Fast {
    pub(crate) fn new(window_bits: u8, mem_level: u8) -> Self {
        Self {
            window_bits,
            mem_level,
            heads: vec![0; 1 << (mem_level + 7)],
            back: vec![0; 1 << window_bits],
            // The bias keeps positions away from zero, which stands for an empty entry.
            bias: 1 << 17,
            top: 1 << 17,
            missing: 0,
        }
    }

    pub(crate) fn window_bits(&self) -> u8 {
        self.window_bits
    }

    pub(crate) fn mem_level(&self) -> u8 {
        self.mem_level
    }

    /// Begins a new context, in the same buffer, at or after all that was seen.
    pub(crate) fn reset(&mut self) {
        self.missing = 0;
    }

    /// Begins a new context with the message at `span`, wherever it lies: all that is in the chains
    /// comes to lie before it.
    pub(crate) fn begin_alone(&mut self, span: MessageSpan) {
        self.missing = 0;
        if self.top >= 1 << 31 {
            self.heads.fill(0);
            self.top = 1 << 17;
        }
        self.bias = self.top.wrapping_sub(span.start as u32);
        self.top += (span.end - span.start) as u32;
    }

    /// The first `bytes` of the buffer were dropped.
    pub(crate) fn shift(&mut self, bytes: usize) {
        let bias = self.bias.saturating_add(bytes as u32);
        if bias < 1 << 31 {
            self.bias = bias;
            return;
        }
        // Rarely: bring the positions down again, by so many that `back` stays where it is.
        let down = (bias - (1 << 17)) & !0xffff;
        for head in &mut self.heads {
            *head = head.saturating_sub(down);
        }
        self.bias = bias - down;
    }

    #[inline(always)]
    fn insert(&mut self, hash: u16, at: usize, mask: usize) -> usize {
        let head = &mut self.heads[usize::from(hash)];
        let now = (at as u32).wrapping_add(self.bias);
        let distance = now.wrapping_sub(*head);
        *head = now;
        self.back[now as usize & mask] = distance.min(0xffff) as u16;
        distance as usize
    }

    /// zlib's `longest_match`: length and distance of the first of the longest matches at `at` that are
    /// longer than `search.best`; the distance is 0 without one. `distance` is that of the first
    /// candidate of the chain.
    #[inline(always)]
    fn longest(
        &self,
        text: &[u8],
        at: usize,
        end: usize,
        window: &Window,
        mut distance: usize,
        search: FastSearch,
    ) -> (usize, usize) {
        let FastSearch {
            mask,
            mut best,
            mut chain,
            nice,
        } = search;
        let mut best_distance = 0;
        let behind = at - window.base;
        let limit = behind.min(window.distance_max);
        // Only the first candidate may be as far away as the window allows, and the first byte of the
        // buffer is no candidate.
        if distance < limit || (distance == window.distance_max && distance < behind) {
            let most = MATCH_MAX.min(end - at);
            let nice = nice.min(most);
            let here = word(text, at);
            // Compares eight bytes first: most matches are no longer.
            loop {
                let from = at - distance;
                let differ = here ^ word(text, from);
                let length = if differ != 0 {
                    ((differ.trailing_zeros() / 8) as usize).min(most)
                } else if best < 8 || text[from + best] == text[at + best] {
                    common(text, from, at, most)
                } else {
                    0
                };
                if length > best {
                    best = length;
                    best_distance = distance;
                    if length >= nice {
                        break;
                    }
                }
                chain -= 1;
                let slot = (from as u32).wrapping_add(self.bias) as usize & mask;
                distance += usize::from(self.back[slot]);
                if chain == 0 || distance >= limit {
                    break;
                }
            }
        }
        (best, best_distance)
    }

    /// The last strings of the message before reach into this one.
    #[inline]
    fn begin(&mut self, hash_of: &[u16], hash_base: usize, span: MessageSpan, mask: usize) {
        let length = span.end - span.start;
        while self.missing > 0 && length + self.missing >= MATCH_MIN {
            let before = span.start - self.missing;
            self.insert(hash_of[before - hash_base], before, mask);
            self.missing -= 1;
        }
    }

    /// The last strings of this message wait for the next one.
    #[inline]
    fn end(&mut self, span: MessageSpan) {
        let seen = (span.passed as usize).saturating_add(span.end - span.start);
        self.missing = (MATCH_MIN - 1).min(seen);
    }

    /// Parses the message at `level` (1 to 3) with at most the window bits that were given to
    /// [`Self::new`].
    pub(crate) fn message(
        &mut self,
        text: &[u8],
        hashes: &Hashes,
        span: MessageSpan,
        level: u8,
        window_bits: u8,
        symbols: &mut Symbols,
    ) {
        let hash_of = hashes.of(self.mem_level);
        let parameters = LEVELS[usize::from(level) - 1];
        let mut window = Window::new(window_bits, span.passed, span.start, span.end);
        symbols.begin(window.base);
        let mask = (1usize << window_bits) - 1;
        let end = span.end;
        self.begin(hash_of, hashes.base, span, mask);
        let mut at = span.start;
        while at < end {
            if window.fill(at) {
                symbols.base(window.base);
            }
            let mut best = 0;
            let mut best_distance = 0;
            let ahead = end - at;
            if ahead >= MATCH_MIN {
                let first = self.insert(hash_of[at - hashes.base], at, mask);
                let search = FastSearch {
                    mask,
                    best: MATCH_MIN - 1,
                    chain: parameters.chain,
                    nice: parameters.nice,
                };
                (best, best_distance) = self.longest(text, at, end, &window, first, search);
            }
            if best >= MATCH_MIN {
                symbols.farthest = symbols.farthest.max(best_distance);
                symbols.matched(best, best_distance);
                if best <= parameters.lazy && ahead - best >= MATCH_MIN {
                    let first = at + 1 - hashes.base;
                    for (inside, &hash) in (at + 1..).zip(&hash_of[first..first + best - 1]) {
                        self.insert(hash, inside, mask);
                    }
                }
                at += best;
            } else {
                symbols.literal(text[at]);
                at += 1;
            }
        }
        if window.fill(at) {
            symbols.base(window.base);
        }
        self.end(span);
    }
}
