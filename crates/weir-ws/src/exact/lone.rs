//! A single setting of a lazy level, for studies of so few settings that sharing does not pay.
//!
//! zlib looks at up to 4,096 candidates of a chain of three-byte strings to find the longest match. Here
//! a candidate is looked at only if it may be longer than the best so far: such a match ends with the
//! same four or six bytes one byte further on, and begins with the same ones, so the chain of the rarer
//! of these two strings is followed. Whether zlib would have come as far as a match follows from running
//! counts of its own hash: `count(position) - count(candidate)`. All positions are put into chains
//! ahead of the parse, which at lazy levels does not decide which are.
//!
//! Positions are kept modulo 65,536, and nothing is ever cleared: an entry that is too old, or of another
//! context, seems to lie somewhere in the window, but the text there is compared, and had it been the
//! same, the entry would have been replaced.

use super::emit::Symbols;
use super::level::{LEVELS, Level, MATCH_MAX, MATCH_MIN, TOO_FAR};
use super::links::{common, word};
use super::slow::MessageSpan;
use super::window::Window;

/// Twice the largest window.
const RING: usize = 1 << 16;
const HEAD_BITS: u32 = 15;
const FOUR: usize = 4;
const SIX: usize = 6;
/// Positions that are put into chains at a time.
const AHEAD: usize = 4096;

/// The links of a position: the distances to the previous strings of three bytes (by zlib's hash), four and six with the same hash
/// (0: none), and the count of zlib's hash. They are in one word, since a search needs several of them, and all are written at
/// once.
#[derive(Clone, Copy, Debug, Default)]
struct Link(u64);

impl Link {
    const THREE: u32 = 0;
    const FOUR: u32 = 16;
    const SIX: u32 = 32;
    const COUNT: u32 = 48;

    #[inline(always)]
    fn get<const AT: u32>(self) -> u16 {
        (self.0 >> AT) as u16
    }

    #[inline(always)]
    fn set<const AT: u32>(&mut self, value: u16) {
        self.0 = self.0 & !(0xffff << AT) | u64::from(value) << AT;
    }
}

/// Chains for one memLevel and context.
#[derive(Debug)]
pub(crate) struct Lone {
    mem_level: u8,
    links: Box<[Link; RING]>,
    /// zlib's hashes: the last position with each in the high half, how often it was seen in the low.
    threes: Vec<u32>,
    /// The last position with each hash.
    fours: Box<[u32; 1 << HEAD_BITS]>,
    sixes: Box<[u32; 1 << HEAD_BITS]>,
    /// Positions of the buffer up to which strings of three, four and six bytes are linked.
    linked: [usize; 3],
    /// Added to a position of the buffer.
    bias: u32,
    /// Strings that end here or before are linked.
    ahead: usize,
}

/// The eight bytes at each position of a range; the text is padded.
fn strings_at(text: &[u8], from: usize, to: usize) -> impl Iterator<Item = u64> {
    let range = text.get(from..to.max(from) + 7).unwrap_or_default();
    range
        .array_windows()
        .map(|&eight| u64::from_le_bytes(eight))
}

/// The slot of a string of `N` bytes, the first of `eight`.
#[inline(always)]
fn slot<const N: usize>(eight: u64) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let string = eight << (64 - 8 * N);
    (string.wrapping_mul(MIX) >> (64 - HEAD_BITS)) as usize
}

/// Puts `now` into the place of the position before; gives how far back that is, at most 65,535.
#[inline(always)]
fn replace(head: &mut u32, now: u32) -> u16 {
    let distance = now.wrapping_sub(std::mem::replace(head, now));
    // There is no branch, since both cases are frequent.
    let far = 0u32.wrapping_sub(u32::from(distance > 0xffff));
    (distance | far) as u16
}

fn boxed<T: Copy + Default, const N: usize>() -> Box<[T; N]> {
    vec![T::default(); N]
        .into_boxed_slice()
        .try_into()
        .unwrap_or_else(|_| Box::new([T::default(); N]))
}

/// The parameters of a search.
struct LoneSearch {
    level: Level,
    /// Length of the match at the position before.
    previous: usize,
    /// End of the message.
    end: usize,
}

impl Lone {
    pub(crate) fn new(mem_level: u8) -> Self {
        Self {
            mem_level,
            links: boxed(),
            threes: vec![0; 1 << (mem_level + 7)],
            fours: boxed(),
            sixes: boxed(),
            linked: [0; 3],
            bias: 0,
            ahead: 0,
        }
    }

    /// The message at `span` is looked at next, by itself, wherever it lies.
    pub(crate) fn begin_alone(&mut self, span: MessageSpan) {
        // Strings were linked up to here at most.
        let linked = self.linked.iter().max().copied().unwrap_or_default();
        let next = (linked as u32).wrapping_add(self.bias);
        self.bias = next.wrapping_sub(span.start as u32);
        self.linked = [span.start; 3];
        self.ahead = span.start;
    }

    /// The first `bytes` of the buffer were dropped.
    pub(crate) fn shift(&mut self, bytes: usize) {
        self.bias = self.bias.wrapping_add(bytes as u32);
        for linked in self.linked.iter_mut().chain([&mut self.ahead]) {
            *linked = linked.saturating_sub(bytes);
        }
    }

    /// Puts the strings up to `to` into their chains, and some more, as far as the text is known.
    #[inline(never)]
    fn extend(&mut self, text: &[u8], to: usize, known: usize) {
        let to = to + AHEAD;
        // The longer strings lag behind at places where the text was not known yet: they are linked one kind at a time until they
        // are level, then all together, then those at the end of the text.
        let level = self.linked.iter().max().copied().unwrap_or_default();
        let ends = [MATCH_MIN, FOUR, SIX].map(|bytes| to.min((known + 1).saturating_sub(bytes)));
        let [_, _, all] = ends;
        self.link::<true, false, false>(text, self.linked[0], level.min(ends[0]));
        self.link::<false, true, false>(text, self.linked[1], level.min(ends[1]));
        self.link::<false, false, true>(text, self.linked[2], level.min(ends[2]));
        self.link::<true, true, true>(text, level, all);
        let level = level.max(all);
        self.link::<true, false, false>(text, level, ends[0]);
        self.link::<false, true, false>(text, level, ends[1]);
        for (linked, end) in self.linked.iter_mut().zip(ends) {
            *linked = (*linked).max(end);
        }
        self.ahead = to.min(known);
    }

    /// Puts some of the strings at these positions into their chains.
    #[inline(always)]
    fn link<const THREES: bool, const FOURS: bool, const SIXES: bool>(
        &mut self,
        text: &[u8],
        from: usize,
        to: usize,
    ) {
        let shift = u32::from(self.mem_level + 7).div_ceil(MATCH_MIN as u32);
        let mask = self.threes.len() - 1;
        // The hash is that of zlib: three shifts remove a byte.
        let first = word(text, from) as usize;
        let mut hash = ((first & 0xff) << shift) ^ (first >> 8 & 0xff);
        let (threes, links) = (&mut self.threes[..], &mut *self.links);
        let (fours, sixes) = (&mut *self.fours, &mut *self.sixes);
        let mut now = (from as u32).wrapping_add(self.bias);
        for eight in strings_at(text, from, to) {
            let mut link = Link::default();
            if !(THREES && FOURS && SIXES) {
                link = links[usize::from(now as u16)];
            }
            hash = (hash << shift ^ (eight >> 16 & 0xff) as usize) & mask;
            if THREES && let Some(head) = threes.get_mut(hash) {
                let count = (*head as u16).wrapping_add(1);
                link.set::<{ Link::COUNT }>(count);
                link.set::<{ Link::THREE }>((now as u16).wrapping_sub((*head >> 16) as u16));
                *head = now << 16 | u32::from(count);
            }
            if FOURS {
                link.set::<{ Link::FOUR }>(replace(&mut fours[slot::<FOUR>(eight)], now));
            }
            if SIXES {
                link.set::<{ Link::SIX }>(replace(&mut sixes[slot::<SIX>(eight)], now));
            }
            links[usize::from(now as u16)] = link;
            now = now.wrapping_add(1);
        }
    }

    /// Parses the message at a lazy level (4 to 9). The text is known up to `known`.
    pub(crate) fn message(
        &mut self,
        text: &[u8],
        known: usize,
        span: MessageSpan,
        level: u8,
        window_bits: u8,
        symbols: &mut Symbols,
    ) {
        let level = LEVELS[usize::from(level) - 1];
        let mut window = Window::new(window_bits, span.passed, span.start, span.end);
        symbols.begin(window.base);
        let end = span.end;
        let mut at = span.start;
        let (mut length, mut distance) = (MATCH_MIN - 1, 0);
        let mut pending = false;
        loop {
            if window.fill(at) {
                symbols.base(window.base);
            }
            if at >= end {
                break;
            }
            let (previous, previous_distance) = (length, distance);
            (length, distance) = (MATCH_MIN - 1, 0);
            if previous < level.lazy && end - at >= MATCH_MIN {
                // Searches look at strings up to the end of the longest match.
                let reach = end.min(at + MATCH_MAX);
                if reach > self.ahead {
                    self.extend(text, reach, known);
                }
                let search = LoneSearch {
                    level,
                    previous,
                    end,
                };
                let found = self.longest(text, at, &window, &search);
                if found.1 > 0 && (found.0 > MATCH_MIN || found.1 <= TOO_FAR) {
                    (length, distance) = found;
                }
            }
            if previous >= MATCH_MIN && length <= previous {
                symbols.matched(previous, previous_distance);
                at += previous - 1;
                pending = false;
                length = MATCH_MIN - 1;
            } else {
                if pending {
                    symbols.literal(text[at - 1]);
                }
                pending = true;
                at += 1;
            }
        }
        if pending {
            symbols.literal(text[end - 1]);
            symbols.trailing = true;
        }
    }

    /// zlib's `longest_match`: length and distance of the first of the longest matches at `at` that are
    /// longer than the one before; the distance is 0 without one.
    #[inline(always)]
    fn longest(
        &self,
        text: &[u8],
        at: usize,
        window: &Window,
        search: &LoneSearch,
    ) -> (usize, usize) {
        let most = MATCH_MAX.min(search.end - at);
        let nice = search.level.nice.min(most);
        let reach = Reach::new(at, window, search);
        let (mut best, mut best_distance) = (search.previous, 0);
        // Three bytes are worth a look only if there is no longer match.
        let mut three = false;
        if best < MATCH_MIN {
            best = MATCH_MIN;
            three = true;
        }
        let here = word(text, at);
        while best < nice {
            let need = best + 1;
            let Some(distance) = (if need >= SIX {
                let end = at + need - SIX;
                self.next(
                    text,
                    at,
                    here,
                    Link::get::<{ Link::SIX }>,
                    end,
                    need,
                    best_distance,
                    reach.far,
                )
            } else {
                let end = at + need - FOUR;
                self.next(
                    text,
                    at,
                    here,
                    Link::get::<{ Link::FOUR }>,
                    end,
                    need,
                    best_distance,
                    reach.far,
                )
            }) else {
                break;
            };
            if !self.reaches(at, distance, &reach) {
                break;
            }
            best = common(text, at - distance, at, most);
            best_distance = distance;
        }
        if three && best_distance == 0 {
            return self.three(text, at, here, &reach);
        }
        (best, best_distance)
    }

    /// The nearest match of three bytes, if zlib comes as far.
    #[inline]
    fn three(&self, text: &[u8], at: usize, here: u64, reach: &Reach) -> (usize, usize) {
        let far = reach.far.min(TOO_FAR);
        let now = (at as u16).wrapping_add(self.bias as u16);
        let mut distance = 0;
        loop {
            let step =
                self.links[usize::from(now.wrapping_sub(distance as u16))].get::<{ Link::THREE }>();
            distance += usize::from(step);
            if step == 0 || distance > far {
                return (MATCH_MIN - 1, 0);
            }
            if (word(text, at - distance) ^ here) & 0xff_ffff == 0 {
                if self.reaches(at, distance, reach) {
                    return (MATCH_MIN, distance);
                }
                return (MATCH_MIN - 1, 0);
            }
        }
    }

    /// The distance of the nearest match at `at` of at least `need` bytes that is farther than `after`, and
    /// not farther than `far`. `kind` chooses the
    /// chain, and `end` where the last string of it within the match begins.
    #[allow(clippy::too_many_arguments, reason = "inlined, twice")]
    #[inline(always)]
    fn next(
        &self,
        text: &[u8],
        at: usize,
        here: u64,
        kind: impl Fn(Link) -> u16,
        end: usize,
        need: usize,
        after: usize,
        far: usize,
    ) -> Option<usize> {
        let back = |position: u16| kind(self.links[usize::from(position)]);
        let bias = self.bias as u16;
        let (first, last) = (
            (at as u16).wrapping_add(bias),
            (end as u16).wrapping_add(bias),
        );
        // The string that was last seen farther back is taken for the rarer one.
        let (mut step, anchor) = match (back(first), back(last)) {
            (0, _) | (_, 0) => return None,
            (a, b) if a > b => (a, first),
            (_, b) => (b, last),
        };
        let mut distance = 0;
        loop {
            distance += usize::from(step);
            if step == 0 || distance > far {
                return None;
            }
            if distance > after {
                let differ = here ^ word(text, at - distance);
                let long = if differ != 0 {
                    (differ.trailing_zeros() / 8) as usize >= need
                } else {
                    need <= 8
                        || (text[at - distance + need - 1] == text[at + need - 1]
                            && common(text, at - distance, at, need) == need)
                };
                if long {
                    return Some(distance);
                }
            }
            step = back(anchor.wrapping_sub(distance as u16));
        }
    }

    /// Whether zlib reaches the candidate, whose first three bytes are equal.
    #[inline(always)]
    fn reaches(&self, at: usize, distance: usize, reach: &Reach) -> bool {
        let now = (at as u16).wrapping_add(self.bias as u16);
        let then = now.wrapping_sub(distance as u16);
        let count = |position: u16| self.links[usize::from(position)].get::<{ Link::COUNT }>();
        let rank = count(now).wrapping_sub(count(then));
        usize::from(rank) <= reach.chain && (distance < reach.limit || rank == 1)
    }
}

/// The limits of a search.
struct Reach {
    /// Candidates of the chain.
    chain: usize,
    /// Candidates are nearer than this,
    limit: usize,
    /// but the first of the chain may be as far as this.
    far: usize,
}

impl Reach {
    #[inline(always)]
    fn new(at: usize, window: &Window, search: &LoneSearch) -> Self {
        let behind = at - window.base;
        let limit = behind.min(window.distance_max);
        // The first byte of the buffer is no candidate.
        let far = if window.distance_max < behind {
            limit
        } else {
            limit.saturating_sub(1)
        };
        let chain = if search.previous >= search.level.good {
            search.level.chain >> 2
        } else {
            search.level.chain
        };
        Self { chain, limit, far }
    }
}
