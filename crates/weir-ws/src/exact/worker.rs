//! The work of one thread: parses messages for the settings, and adds up their sizes.

use super::block::Costs;
use super::emit::{Memo, Symbols};
use super::fast::Fast;
use super::hashes::Hashes;
use super::level::{FAST_LEVELS, distance_max};
use super::links::Links;
use super::lone::Lone;
use super::slow::{Found, MessageSpan, Slow};
use crate::setting::{CELLS, Cells, Setting};

/// A message in the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferedMessage {
    pub(crate) span: MessageSpan,
    pub(crate) class: u16,
}

/// The input of all work.
pub(crate) struct StudyInput<'a> {
    pub(crate) text: &'a [u8],
    pub(crate) messages: &'a [BufferedMessage],
    pub(crate) links: &'a Links,
    pub(crate) hashes: &'a Hashes,
    pub(crate) cells: Cells,
    /// [`few_lazy`].
    pub(crate) few: bool,
    /// Then those without takeover.
    pub(crate) alone: &'a [Setting],
}

/// The state of one thread.
#[derive(Debug)]
pub(crate) struct Worker {
    slow: Slow,
    found: Found,
    symbols: Symbols,
    costs: Costs,
    memo: Memo,
    fast: Vec<Fast>,
    /// The single settings without takeover, by memLevel.
    lone: Vec<Option<Lone>>,
    pub(crate) sizes: Vec<Box<[u64; CELLS]>>,
}

impl Worker {
    pub(crate) fn new(cells: Cells) -> Self {
        Self {
            slow: Slow::default(),
            found: Found::default(),
            symbols: Symbols::default(),
            costs: Costs::new(),
            memo: Memo::new(
                Setting::all()
                    .filter(|&s| cells.contains(s))
                    .nth(1)
                    .is_some(),
            ),
            fast: if cells.takeover(false) {
                (1..=9).map(|mem_level| Fast::new(15, mem_level)).collect()
            } else {
                Vec::new()
            },
            lone: (1..=9)
                .map(|mem_level| {
                    let wanted = cells.takeover(false) && cells.lazy() && few_lazy(cells);
                    (wanted && cells.mem_level(mem_level)).then(|| Lone::new(mem_level))
                })
                .collect(),
            sizes: Vec::new(),
        }
    }

    pub(crate) fn classes(&mut self, classes: usize) {
        while self.sizes.len() < classes {
            self.sizes.push(Box::new([0; CELLS]));
        }
    }

    /// All messages with one fast setting, with takeover.
    pub(crate) fn fast(&mut self, shared: &StudyInput<'_>, level: u8, fast: &mut Fast) {
        let (window_bits, mem_level) = (fast.window_bits(), fast.mem_level());
        let index = Setting {
            takeover: true,
            window_bits,
            level,
            mem_level,
        }
        .index();
        for message in shared.messages {
            let span = message.span;
            let bytes = if span.start == span.end {
                1
            } else {
                if span.passed == 0 {
                    fast.reset();
                }
                let (text, hashes) = (shared.text, shared.hashes);
                fast.message(text, hashes, span, level, window_bits, &mut self.symbols);
                self.memo
                    .message_bytes(&self.symbols, span.start, mem_level, &mut self.costs)
            };
            self.sizes[usize::from(message.class)][index] += bytes;
        }
    }

    /// All messages with one lazy setting, with takeover.
    pub(crate) fn lone(&mut self, shared: &StudyInput<'_>, setting: Setting, lone: &mut Lone) {
        let known = shared.messages.last().map_or(0, |last| last.span.end);
        for message in shared.messages {
            let span = message.span;
            let bytes = if span.start == span.end {
                1
            } else {
                let (level, window_bits) = (setting.level, setting.window_bits);
                lone.message(
                    shared.text,
                    known,
                    span,
                    level,
                    window_bits,
                    &mut self.symbols,
                );
                self.memo.message_bytes(
                    &self.symbols,
                    span.start,
                    setting.mem_level,
                    &mut self.costs,
                )
            };
            self.sizes[usize::from(message.class)][setting.index()] += bytes;
        }
    }

    /// Some messages with all settings that do not depend on the messages before, or only on their
    /// text.
    pub(crate) fn pieces(&mut self, shared: &StudyInput<'_>, range: std::ops::Range<usize>) {
        for message in &shared.messages[range] {
            let span = message.span;
            if span.start == span.end {
                self.empty(shared, message.class);
                continue;
            }
            if shared.few {
                self.lazy_alone(shared, message);
            } else if shared.cells.lazy() {
                for takeover in [true, false] {
                    if shared.cells.takeover(takeover) {
                        let chain = shared.cells.chain_max();
                        self.found.begin(span, !takeover, chain);
                        self.lazy(shared, message, takeover);
                    }
                }
            }
            if shared.cells.takeover(false) {
                self.fast_alone(shared, message);
            }
        }
    }

    /// An empty message is one byte, and touches no window.
    fn empty(&mut self, shared: &StudyInput<'_>, class: u16) {
        // Eight bits are computed as nine.
        let computed = |setting: &Setting| {
            let nine = setting.window_bits == 9 && shared.cells.window(9);
            let eight = setting.with_window_bits(8);
            setting.window_bits > 8
                && (shared.cells.contains(*setting) || (nine && shared.cells.contains(eight)))
        };
        for setting in Setting::all().filter(computed) {
            // The others are counted in `fast`.
            let by_itself = usize::from(setting.level) <= FAST_LEVELS || shared.few;
            if !by_itself || !setting.takeover {
                self.sizes[usize::from(class)][setting.index()] += 1;
            }
        }
    }

    fn lazy(&mut self, shared: &StudyInput<'_>, message: &BufferedMessage, takeover: bool) {
        let mut span = message.span;
        if !takeover {
            span.passed = 0;
        }
        let sizes = &mut self.sizes[usize::from(message.class)];
        for level in FAST_LEVELS as u8 + 1..=9 {
            if !shared.cells.level(level) {
                continue;
            }
            let mut collapse = Collapse::default();
            let mut bytes = [0u64; 9];
            for window_bits in (9..=15).rev() {
                if !shared.cells.window(window_bits) {
                    continue;
                }
                if !collapse.same(window_bits, span) {
                    collapse = Collapse::begin();
                    self.costs.stored_wanted = false;
                    let (costs, memo) = (&mut self.costs, &mut self.memo);
                    self.slow.message(
                        shared.text,
                        shared.links,
                        &mut self.found,
                        span,
                        level,
                        window_bits,
                        |parsed| {
                            collapse.farthest = collapse.farthest.max(parsed.symbols.farthest);
                            let whole = parsed.symbols.list.len();
                            let mut same: Option<u64> = None;
                            for mem_level in (1..=9u8).rev() {
                                if parsed.mem_levels >> (mem_level - 1) & 1 == 0
                                    || !shared.cells.mem_level(mem_level)
                                {
                                    continue;
                                }
                                // One block is one block, however long it could have become.
                                let one = whole < (1 << (mem_level + 6)) - 1;
                                let size = match same {
                                    Some(size) if one => size,
                                    _ => memo.message_bytes(
                                        parsed.symbols,
                                        span.start,
                                        mem_level,
                                        costs,
                                    ),
                                };
                                same = one.then_some(size);
                                bytes[usize::from(mem_level) - 1] = size;
                            }
                        },
                    );
                    collapse.stored = self.costs.stored_wanted;
                }
                for mem_level in 1..=9u8 {
                    if shared.cells.mem_level(mem_level) {
                        let setting = Setting {
                            takeover,
                            window_bits,
                            level,
                            mem_level,
                        };
                        sizes[setting.index()] += bytes[usize::from(mem_level) - 1];
                    }
                }
            }
        }
    }

    /// A few settings of lazy levels without takeover.
    fn lazy_alone(&mut self, shared: &StudyInput<'_>, message: &BufferedMessage) {
        let span = MessageSpan {
            passed: 0,
            ..message.span
        };
        let sizes = &mut self.sizes[usize::from(message.class)];
        for setting in shared.alone {
            let Some(lone) = &mut self.lone[usize::from(setting.mem_level) - 1] else {
                continue;
            };
            lone.begin_alone(span);
            lone.message(
                shared.text,
                span.end,
                span,
                setting.level,
                setting.window_bits,
                &mut self.symbols,
            );
            sizes[setting.index()] += self.memo.message_bytes(
                &self.symbols,
                span.start,
                setting.mem_level,
                &mut self.costs,
            );
        }
    }

    /// The fast levels without takeover.
    fn fast_alone(&mut self, shared: &StudyInput<'_>, message: &BufferedMessage) {
        let span = MessageSpan {
            passed: 0,
            ..message.span
        };
        let sizes = &mut self.sizes[usize::from(message.class)];
        for level in 1..=FAST_LEVELS as u8 {
            if !shared.cells.level(level) {
                continue;
            }
            for mem_level in 1..=9u8 {
                if !shared.cells.mem_level(mem_level) {
                    continue;
                }
                let fast = &mut self.fast[usize::from(mem_level) - 1];
                let mut collapse = Collapse::default();
                let mut bytes = 0;
                for window_bits in (9..=15).rev() {
                    if !shared.cells.window(window_bits) {
                        continue;
                    }
                    if !collapse.same(window_bits, span) {
                        self.costs.stored_wanted = false;
                        fast.begin_alone(span);
                        fast.message(
                            shared.text,
                            shared.hashes,
                            span,
                            level,
                            window_bits,
                            &mut self.symbols,
                        );
                        bytes = self.memo.message_bytes(
                            &self.symbols,
                            span.start,
                            mem_level,
                            &mut self.costs,
                        );
                        collapse = Collapse::begin();
                        collapse.farthest = self.symbols.farthest;
                        collapse.stored = self.costs.stored_wanted;
                    }
                    let setting = Setting {
                        takeover: false,
                        window_bits,
                        level,
                        mem_level,
                    };
                    sizes[setting.index()] += bytes;
                }
            }
        }
    }
}

/// Whether there are so few settings of lazy levels that each is faster by itself.
pub(crate) fn few_lazy(cells: Cells) -> bool {
    let count =
        |from: u8, to: u8, has: &dyn Fn(u8) -> bool| (from..=to).filter(|&n| has(n)).count();
    let levels = count(FAST_LEVELS as u8 + 1, 9, &|level| cells.level(level));
    let windows = count(9, 15, &|bits| cells.window(bits));
    let mem_levels = count(1, 9, &|mem_level| cells.mem_level(mem_level));
    levels * windows * mem_levels <= FEW
}

/// Lazy settings that together take as long by themselves as with links that they share.
const FEW: usize = 4;

/// When a smaller window gives what a larger one gave: no search chose anything farther than it
/// reaches, and no block tests whether its beginning is still in the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Collapse {
    known: bool,
    farthest: usize,
    stored: bool,
}

impl Collapse {
    fn begin() -> Self {
        Self {
            known: true,
            ..Self::default()
        }
    }

    fn same(&self, window_bits: u8, span: MessageSpan) -> bool {
        let reach = distance_max(window_bits);
        self.known && self.farthest < reach && !(self.stored && span.end - span.start > reach)
    }
}
