//! The lazy levels, 4 to 9: one parse for all memLevels that agree, over links shared by all.

use super::emit::Symbols;
use super::level::{LEVELS, Level, MATCH_MIN, TOO_FAR, distance_max};
use super::links::{Links, LongerMatch, Reach};
use super::window::Window;

/// The position of a message in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageSpan {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Bytes of the context before the message.
    pub(crate) passed: u64,
}

/// Records of the positions of one message, found at first use.
#[derive(Debug, Default)]
pub(crate) struct Found {
    start: usize,
    /// The index and the number of records in `records`, for each position.
    index: Vec<(u32, u16)>,
    records: Vec<LongerMatch>,
    alone: bool,
    chain: usize,
}

const UNKNOWN: u16 = u16::MAX;

impl Found {
    /// Begins with a message. Searches end where no setting's chain is as long as `chain`, and, when
    /// the message stands alone, at its start.
    pub(crate) fn begin(&mut self, span: MessageSpan, alone: bool, chain: usize) {
        self.start = span.start;
        self.alone = alone;
        self.chain = chain;
        self.records.clear();
        self.index.clear();
        self.index.resize(span.end - span.start, (0, UNKNOWN));
    }

    #[inline(always)]
    fn at(&mut self, links: &Links, text: &[u8], position: usize, end: usize) -> &[LongerMatch] {
        let slot = position - self.start;
        let (mut first, mut count) = self.index[slot];
        if count == UNKNOWN {
            first = self.records.len() as u32;
            let mut farthest = distance_max(15);
            if self.alone {
                // A message without context refers to nothing before it, nor to its first byte.
                farthest = farthest.min((position - self.start).saturating_sub(1));
            }
            let reach = Reach {
                farthest,
                chain: self.chain,
            };
            links.find(text, position, end, reach, &mut self.records);
            count = (self.records.len() - first as usize) as u16;
            self.index[slot] = (first, count);
        }
        &self.records[first as usize..first as usize + usize::from(count)]
    }
}

/// The state of a parse.
#[derive(Clone, Copy, Debug)]
struct ParseState {
    position: usize,
    /// Length and distance of the match at the position before; a length of 2 stands for no match.
    length: usize,
    distance: usize,
    /// The byte before is not yet a symbol.
    pending: bool,
    window: Window,
    /// The memLevels that are parsed together.
    mem_levels: u16,
}

/// Parses messages at one lazy level.
#[derive(Debug, Default)]
pub(crate) struct Slow {
    /// Parses that went another way, to be continued.
    forks: Vec<(ParseState, Symbols)>,
    spare: Vec<Symbols>,
}

/// The parse of a message for some memLevels.
pub(crate) struct Parsed<'a> {
    pub(crate) symbols: &'a Symbols,
    pub(crate) mem_levels: u16,
}

impl Slow {
    /// Parses the message at `level` with `window_bits`; calls `each` for every group of
    /// memLevels with the same symbols.
    #[allow(clippy::too_many_arguments, reason = "what a parse hangs on")]
    pub(crate) fn message(
        &mut self,
        text: &[u8],
        links: &Links,
        found: &mut Found,
        span: MessageSpan,
        level: u8,
        window_bits: u8,
        mut each: impl FnMut(&Parsed<'_>),
    ) {
        let window = Window::new(window_bits, span.passed, span.start, span.end);
        let mut symbols = self.spare.pop().unwrap_or_default();
        symbols.begin(window.base);
        let state = ParseState {
            position: span.start,
            length: MATCH_MIN - 1,
            distance: 0,
            pending: false,
            window,
            mem_levels: links.mem_levels,
        };
        self.forks.push((state, symbols));
        while let Some((state, mut symbols)) = self.forks.pop() {
            let mem_levels = self.run(text, links, found, span, level, state, &mut symbols);
            each(&Parsed {
                symbols: &symbols,
                mem_levels,
            });
            self.spare.push(symbols);
        }
    }

    #[allow(clippy::too_many_arguments, reason = "what a parse hangs on")]
    fn run(
        &mut self,
        text: &[u8],
        links: &Links,
        found: &mut Found,
        span: MessageSpan,
        level: u8,
        mut state: ParseState,
        symbols: &mut Symbols,
    ) -> u16 {
        let parameters = LEVELS[usize::from(level) - 1];
        let end = span.end;
        loop {
            let at = state.position;
            if state.window.fill(at) {
                symbols.base(state.window.base);
            }
            if at >= end {
                break;
            }
            let (previous, previous_distance) = (state.length, state.distance);
            state.length = MATCH_MIN - 1;
            if end - at >= MATCH_MIN && previous < parameters.lazy {
                let records = found.at(links, text, at, end);
                if !records.is_empty() {
                    let mut search = ChainSearch {
                        links,
                        at,
                        parameters,
                        previous,
                        window: &state.window,
                        records,
                    };
                    let (best, rest) = search.run(state.mem_levels);
                    if rest != 0 {
                        // Some memLevels find something else: they go on from here by themselves.
                        let mut left = rest;
                        while left != 0 {
                            let (other, more) = search.split(left);
                            let mut fork = state;
                            fork.mem_levels = left & !more;
                            left = more;
                            let mut forked_symbols = self.spare.pop().unwrap_or_default();
                            forked_symbols.clone_from(symbols);
                            fork.step(
                                text,
                                other,
                                previous,
                                previous_distance,
                                &mut forked_symbols,
                            );
                            self.forks.push((fork, forked_symbols));
                        }
                        state.mem_levels &= !rest;
                    }
                    state.step(text, best, previous, previous_distance, symbols);
                    continue;
                }
            }
            state.step(text, None, previous, previous_distance, symbols);
        }
        if state.pending {
            symbols.literal(text[end - 1]);
            symbols.trailing = true;
        }
        state.mem_levels
    }
}

impl ParseState {
    /// One turn of zlib's `deflate_slow` after its search.
    #[inline(always)]
    fn step(
        &mut self,
        text: &[u8],
        found: Option<LongerMatch>,
        previous: usize,
        previous_distance: usize,
        symbols: &mut Symbols,
    ) {
        if let Some(record) = found {
            let (length, distance) = (usize::from(record.length), usize::from(record.distance));
            symbols.farthest = symbols.farthest.max(distance);
            if length > MATCH_MIN || distance <= TOO_FAR {
                self.length = length;
                self.distance = distance;
            }
        }
        if previous >= MATCH_MIN && self.length <= previous {
            symbols.matched(previous, previous_distance);
            self.position += previous - 1;
            self.pending = false;
            self.length = MATCH_MIN - 1;
        } else {
            if self.pending {
                symbols.literal(text[self.position - 1]);
            }
            self.pending = true;
            self.position += 1;
        }
    }
}

/// One search of zlib's `longest_match`, over records instead of a chain.
struct ChainSearch<'a> {
    links: &'a Links,
    at: usize,
    parameters: Level,
    previous: usize,
    window: &'a Window,
    records: &'a [LongerMatch],
}

impl ChainSearch<'_> {
    /// The match that most of `mem_levels` find, and the memLevels that may find another one.
    #[inline(always)]
    fn run(&mut self, mem_levels: u16) -> (Option<LongerMatch>, u16) {
        let limit = (self.at - self.window.base).min(self.window.distance_max);
        // The matches within reach, up to the first one that is long enough to end the search.
        let mut usable = 0;
        for record in self.records {
            let distance = usize::from(record.distance);
            if distance >= limit {
                // Only the first candidate of a chain may be as far as this, and never the first
                // byte of the buffer.
                if distance == self.window.distance_max && distance < self.at - self.window.base {
                    usable += 1;
                }
                break;
            }
            usable += 1;
            if usize::from(record.length) >= self.parameters.nice {
                break;
            }
        }
        self.records = &self.records[..usable];
        match self.records.last() {
            Some(last) if usize::from(last.length) > self.previous => {
                let reach = self.reach(*last);
                if mem_levels & !reach == 0 {
                    (Some(*last), 0)
                } else {
                    let rest = mem_levels & !reach;
                    if rest == mem_levels {
                        // None of them reaches it: the first group decides.
                        let (first, more) = self.split(mem_levels);
                        (first, more)
                    } else {
                        (Some(*last), rest)
                    }
                }
            }
            _ => (None, 0),
        }
    }

    #[inline(always)]
    fn reach(&self, record: LongerMatch) -> u16 {
        let distance = usize::from(record.distance);
        let mut chain = self.parameters.chain;
        if self.previous >= self.parameters.good {
            chain >>= 2;
        }
        if distance >= (self.at - self.window.base).min(self.window.distance_max) {
            chain = 1;
        }
        self.links.reachable(self.at, distance, chain)
    }

    /// The match that the first group of `mem_levels` finds, and those that are not in the group.
    fn split(&self, mem_levels: u16) -> (Option<LongerMatch>, u16) {
        for record in self.records.iter().rev() {
            if usize::from(record.length) <= self.previous {
                break;
            }
            let reach = self.reach(*record) & mem_levels;
            if reach != 0 {
                return (Some(*record), mem_levels & !reach);
            }
        }
        (None, 0)
    }
}
