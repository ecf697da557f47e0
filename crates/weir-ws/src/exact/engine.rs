//! Runs the grid over a stream of messages, in constant memory.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::fast::Fast;
use super::hashes::Hashes;
use super::level::FAST_LEVELS;
use super::links::Links;
use super::lone::Lone;
use super::slow::MessageSpan;
use super::worker::{BufferedMessage, StudyInput, Worker, few_lazy};
use crate::setting::{CELLS, Cells, Setting};

/// The options of an [`Engine`]: its settings, and its limits of memory and threads.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EngineOptions {
    /// The settings whose sizes are wanted; all by default.
    pub cells: Cells,
    /// Threads; by default as many as the machine offers.
    pub threads: usize,
    /// Bytes of messages that are gathered before they are worked on; 64 KiB by default. A longer
    /// message is worked on by itself.
    pub batch_bytes: usize,
    /// Longer messages are not studied but counted in [`Sizes::too_long`]; 64 MiB by default.
    pub message_bytes_max: usize,
    /// Classes of messages with sums of their own; messages of further ones go to the last. 256 by
    /// default.
    pub classes_max: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            cells: Cells::all(),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            batch_bytes: 64 << 10,
            message_bytes_max: 64 << 20,
            classes_max: 256,
        }
    }
}

/// Compressed bytes of all messages, for every setting of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sizes {
    /// One entry for each class of messages that was seen.
    pub classes: Vec<ClassSizes>,
    /// Messages that were longer than [`EngineOptions::message_bytes_max`], and not studied.
    pub too_long: u64,
}

/// [`Sizes`] of one class of messages.
#[derive(Clone, PartialEq, Eq)]
pub struct ClassSizes {
    /// The number of messages.
    pub messages: u64,
    /// Their bytes before compression.
    pub bytes: u64,
    cells: Box<[u64; CELLS]>,
}

impl std::fmt::Debug for ClassSizes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClassSizes")
            .field("messages", &self.messages)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl Default for ClassSizes {
    fn default() -> Self {
        Self {
            messages: 0,
            bytes: 0,
            cells: Box::new([0; CELLS]),
        }
    }
}

impl ClassSizes {
    /// Compressed bytes with a setting; 0 where [`EngineOptions::cells`] left it out.
    #[must_use]
    pub fn compressed(&self, setting: Setting) -> u64 {
        self.cells[setting.index()]
    }

    /// The ratio of compressed to uncompressed bytes; 1 when there were none.
    #[must_use]
    pub fn ratio(&self, setting: Setting) -> f64 {
        if self.bytes == 0 {
            return 1.0;
        }
        self.compressed(setting) as f64 / self.bytes as f64
    }

    /// Adds the sizes of another class.
    pub fn merge(&mut self, other: &Self) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        for (cell, more) in self.cells.iter_mut().zip(other.cells.iter()) {
            *cell += more;
        }
    }
}

impl Sizes {
    /// All classes together.
    #[must_use]
    pub fn total(&self) -> ClassSizes {
        let mut total = ClassSizes::default();
        for class in &self.classes {
            total.merge(class);
        }
        total
    }
}

/// Computes to the byte what stock zlib would make of a stream of messages, for all settings at
/// once: see the [module's documentation](crate::exact).
#[derive(Debug)]
pub struct Engine {
    options: EngineOptions,
    /// History, then the messages that are gathered, then padding.
    text: Vec<u8>,
    len: usize,
    messages: Vec<BufferedMessage>,
    /// Bytes of the context so far.
    passed: u64,
    links: Links,
    hashes: Hashes,
    chains: Vec<Mutex<Vec<(u8, Fast)>>>,
    /// Lazy settings with takeover, when there are few.
    lone: Vec<Mutex<(Setting, Lone)>>,
    workers: Vec<Mutex<Worker>>,
    meta: Vec<(u64, u64)>,
    too_long: u64,
}

/// Bytes that zlib's widest window may still refer to: twice the window, as its buffer.
const HISTORY: usize = 1 << 16;
/// Words are read beyond the end.
const PADDING: usize = 32;
/// Bytes of messages in one piece of work.
const PIECE: usize = 8 << 10;

impl Engine {
    /// Begins with an empty context.
    #[must_use]
    pub fn new(options: EngineOptions) -> Self {
        let cells = options.cells;
        let mut chains = Vec::new();
        if cells.takeover(true) {
            for level in 1..=FAST_LEVELS as u8 {
                for mem_level in (1..=9).rev() {
                    if cells.level(level) && cells.mem_level(mem_level) {
                        let windows = (9..=15).rev().filter(|&bits| cells.window(bits));
                        chains.push(Mutex::new(
                            windows
                                .map(|bits| (level, Fast::new(bits, mem_level)))
                                .collect(),
                        ));
                    }
                }
            }
        }
        let lone = few(cells, true);
        let threads = options.threads.clamp(1, 256);
        Self {
            workers: (0..threads)
                .map(|_| Mutex::new(Worker::new(cells)))
                .collect(),
            options,
            text: Vec::new(),
            len: 0,
            messages: Vec::new(),
            passed: 0,
            links: Links::new(|m| cells.mem_level(m)),
            hashes: Hashes::default(),
            chains,
            lone: lone
                .map(|setting| Mutex::new((setting, Lone::new(setting.mem_level))))
                .collect(),
            meta: Vec::new(),
            too_long: 0,
        }
    }

    /// The messages that follow belong to another connection (or direction): with takeover, they
    /// begin with an empty window.
    pub fn begin_context(&mut self) {
        self.passed = 0;
    }

    /// Studies one message. `class` is any small number; each has sums of its own.
    pub fn message(&mut self, payload: &[u8], class: u16) {
        if payload.len() > self.options.message_bytes_max {
            self.too_long += 1;
            return;
        }
        let last = self.options.classes_max.clamp(1, 1 << 16) - 1;
        let class = class.min(u16::try_from(last).unwrap_or(u16::MAX));
        let slot = usize::from(class);
        if self.meta.len() <= slot {
            self.meta.resize(slot + 1, (0, 0));
        }
        self.meta[slot].0 += 1;
        self.meta[slot].1 += payload.len() as u64;
        if self.gathered() + payload.len() > self.options.batch_bytes && !self.messages.is_empty() {
            self.work();
        }
        self.text.truncate(self.len);
        self.text.extend_from_slice(payload);
        let start = self.len;
        self.len += payload.len();
        self.messages.push(BufferedMessage {
            span: MessageSpan {
                start,
                end: self.len,
                passed: self.passed,
            },
            class,
        });
        self.passed += payload.len() as u64;
        if self.messages.len() >= 1 << 16 {
            self.work();
        }
    }

    /// The sizes of all messages so far.
    #[must_use]
    pub fn finish(mut self) -> Sizes {
        self.work();
        let mut classes: Vec<ClassSizes> = self
            .meta
            .iter()
            .map(|&(messages, bytes)| ClassSizes {
                messages,
                bytes,
                ..ClassSizes::default()
            })
            .collect();
        for worker in self.workers {
            let worker = worker
                .into_inner()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            for (class, cells) in classes.iter_mut().zip(&worker.sizes) {
                for (cell, more) in class.cells.iter_mut().zip(cells.iter()) {
                    *cell += more;
                }
            }
        }
        let cells = self.options.cells;
        for class in &mut classes {
            class.finish(cells);
        }
        Sizes {
            classes,
            too_long: self.too_long,
        }
    }

    fn gathered(&self) -> usize {
        self.messages
            .first()
            .map_or(0, |first| self.len - first.span.start)
    }

    /// Works on what is gathered.
    fn work(&mut self) {
        if self.messages.is_empty() {
            return;
        }
        self.text.truncate(self.len);
        self.text.resize(self.len + PADDING, 0);
        let cells = self.options.cells;
        let linked = cells.lazy() && !few_lazy(cells);
        let alone: Vec<Setting> = few(cells, false).collect();
        if linked {
            self.links.extend(&self.text, self.len);
        }
        if (1..=FAST_LEVELS as u8).any(|level| cells.level(level)) {
            // The last two strings of the batch before could not be hashed then.
            let from = self.messages[0].span.start.saturating_sub(2);
            self.hashes
                .fill(&self.text, from, self.len, |m| cells.mem_level(m));
        }
        let jobs = Jobs {
            shared: StudyInput {
                text: &self.text,
                messages: &self.messages,
                links: &self.links,
                hashes: &self.hashes,
                cells,
                few: few_lazy(cells),
                alone: &alone,
            },
            lone: &self.lone,
            chains: &self.chains,
            pieces: match linked || cells.takeover(false) {
                true => pieces(&self.messages),
                false => Vec::new(),
            },
            classes: self.meta.len(),
            next: AtomicUsize::new(0),
        };
        let threads = self.workers.len().min(jobs.count().max(1));
        if threads == 1 || self.gathered() < 4096 {
            jobs.run(&self.workers[0]);
        } else {
            std::thread::scope(|scope| {
                for worker in &self.workers[1..threads] {
                    scope.spawn(|| jobs.run(worker));
                }
                jobs.run(&self.workers[0]);
            });
        }
        self.messages.clear();
        self.shift();
    }

    /// Drops all but the history.
    fn shift(&mut self) {
        let bytes = self.len.saturating_sub(HISTORY);
        // Moving the window costs time; a short batch can wait.
        if bytes < HISTORY {
            return;
        }
        self.text.drain(..bytes);
        self.len -= bytes;
        self.links.shift(bytes);
        for lone in &mut self.lone {
            let lone = lone
                .get_mut()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            lone.1.shift(bytes);
        }
        for chain in &mut self.chains {
            let chain = chain
                .get_mut()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            for (_, fast) in chain {
                fast.shift(bytes);
            }
        }
    }
}

/// Messages in a row, put together as long as they make no more than a piece.
fn pieces(messages: &[BufferedMessage]) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut from = 0;
    while from < messages.len() {
        let start = messages[from].span.start;
        let mut to = from + 1;
        while to < messages.len() && messages[to].span.end - start <= PIECE {
            to += 1;
        }
        pieces.push(from..to);
        from = to;
    }
    pieces
}

/// The jobs of workers. The long ones come first: one for each level and memLevel whose chains depend on the parse.
struct Jobs<'a> {
    shared: StudyInput<'a>,
    lone: &'a [Mutex<(Setting, Lone)>],
    chains: &'a [Mutex<Vec<(u8, Fast)>>],
    pieces: Vec<Range<usize>>,
    classes: usize,
    next: AtomicUsize,
}

impl Jobs<'_> {
    fn count(&self) -> usize {
        self.lone.len() + self.chains.len() + self.pieces.len()
    }

    /// Runs jobs on a worker until none is left.
    fn run(&self, worker: &Mutex<Worker>) {
        let mut worker = worker
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        worker.classes(self.classes);
        loop {
            let job = self.next.fetch_add(1, Ordering::Relaxed);
            if job >= self.count() {
                return;
            }
            let (chain, piece) = (
                job.wrapping_sub(self.lone.len()),
                job.wrapping_sub(self.lone.len() + self.chains.len()),
            );
            if let Some(lone) = self.lone.get(job) {
                let (setting, lone) = &mut *lone
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                worker.lone(&self.shared, *setting, lone);
            } else if let Some(chain) = self.chains.get(chain) {
                let mut chain = chain
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                for (level, fast) in chain.iter_mut() {
                    worker.fast(&self.shared, *level, fast);
                }
            } else if let Some(range) = self.pieces.get(piece) {
                worker.pieces(&self.shared, range.clone());
            }
        }
    }
}

/// The lazy settings of some cells, if there are only few of them. Eight bits are computed as nine.
fn few(cells: Cells, takeover: bool) -> impl Iterator<Item = Setting> {
    let wanted = cells.takeover(takeover) && cells.lazy() && few_lazy(cells);
    Setting::all().filter(move |setting| {
        wanted
            && setting.takeover == takeover
            && usize::from(setting.level) > FAST_LEVELS
            && cells.level(setting.level)
            && setting.window_bits > 8
            && cells.window(setting.window_bits)
            && cells.mem_level(setting.mem_level)
    })
}

impl ClassSizes {
    /// zlib deflates with 9 bits where 8 were requested.
    fn finish(&mut self, cells: Cells) {
        if !cells.window(8) {
            return;
        }
        for setting in Setting::all().filter(|setting| setting.window_bits == 8) {
            let nine = setting.with_window_bits(9);
            self.cells[setting.index()] = self.cells[nine.index()];
            if !cells.contains(nine) {
                self.cells[nine.index()] = 0;
            }
        }
    }
}
