//! The study of a transcript: every setting, for each direction and each kind of message.

use std::collections::HashMap;

use crate::exact::{ClassSizes, Engine, EngineOptions};
use crate::input::InputMessage;
use crate::kind::kind_of;
use crate::wire::{Direction, Opcode, framed_bytes};

/// The options of a study, with its limits.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StudyOptions {
    /// The options of the engine.
    pub engine: EngineOptions,
    /// The maximum number of kinds of messages; the rest is `other`. 48 by default.
    pub kinds_max: usize,
    /// The bytes of messages of all connections besides the first that are kept until the end; 16 MiB by default. Beyond it the
    /// connection with the most is processed; if it continues afterwards its window begins anew, which [`StudyResult::windows_cut`]
    /// counts.
    pub kept_bytes_max: usize,
    /// Connections that are followed, in both directions; the messages of further ones go to
    /// [`StudyResult::connections_left_out`]. 65,536 by default.
    pub connections_max: usize,
}

impl Default for StudyOptions {
    fn default() -> Self {
        Self {
            engine: EngineOptions::default(),
            kinds_max: 48,
            kept_bytes_max: 16 << 20,
            connections_max: 1 << 16,
        }
    }
}

/// The messages of one direction and kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StudyClass {
    /// The direction, if it is known.
    pub direction: Option<Direction>,
    /// Their kind, see [`kind_of`].
    pub kind: String,
    /// Bytes before compression and with every setting.
    pub sizes: ClassSizes,
    /// The number of messages that had up to `2^n` bytes and more than half of that.
    pub histogram: [u64; 33],
    /// Bytes with frame headers, without compression.
    pub framed_bytes: u64,
}

/// The result of a [`Study`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StudyResult {
    /// Directions and kinds, those with the most bytes first.
    pub classes: Vec<StudyClass>,
    /// Connections and directions, each with a window of its own.
    pub contexts: u64,
    /// Windows that began anew for want of memory; their sizes with takeover are a little too large.
    pub windows_cut: u64,
    /// Messages of connections beyond [`StudyOptions::connections_max`].
    pub connections_left_out: u64,
    /// Messages beyond the engine's limit.
    pub too_long: u64,
}

impl StudyResult {
    /// All messages of a direction; of every one with `None`.
    #[must_use]
    pub fn total(&self, direction: Option<Direction>) -> ClassSizes {
        let mut total = ClassSizes::default();
        for class in &self.classes {
            if direction.is_none() || class.direction == direction {
                total.merge(&class.sizes);
            }
        }
        total
    }

    /// The histograms of all classes together.
    #[must_use]
    pub fn histogram(&self) -> [u64; 33] {
        let mut all = [0; 33];
        for class in &self.classes {
            for (all, count) in all.iter_mut().zip(class.histogram) {
                *all += count;
            }
        }
        all
    }
}

/// Collects messages in the order in which they were sent, and computes the sizes of every setting.
///
/// ```
/// use weir_ws::{Format, InputOptions, Setting, Study, StudyOptions, read_messages};
///
/// let transcript = "{\"type\":\"msg\",\"text\":\"hi\"}\n".repeat(20);
/// let mut study = Study::new(StudyOptions::default());
/// read_messages(transcript.as_bytes(), Format::Lines, InputOptions::default(), &mut |message| {
///     study.message(message);
/// })?;
/// let result = study.finish();
/// assert_eq!(result.classes[0].kind, r#"{type="msg",text}"#);
/// assert!(result.total(None).ratio(Setting::ZLIB) < 0.4);
/// # Ok::<(), weir_ws::InputError>(())
/// ```
#[derive(Debug)]
pub struct Study {
    options: StudyOptions,
    classes: Vec<Class>,
    by_name: HashMap<(Option<Direction>, String), u16>,
    /// The first context goes straight to its engine.
    first: Option<ConnectionKey>,
    first_engine: Engine,
    rest_engine: Engine,
    pending: HashMap<ConnectionKey, PendingMessages>,
    pending_bytes: usize,
    order: u64,
    windows_cut: u64,
    left_out: u64,
}

type ConnectionKey = (u64, Option<Direction>);

#[derive(Debug)]
struct Class {
    direction: Option<Direction>,
    kind: String,
    histogram: [u64; 33],
    framed_bytes: u64,
}

/// Messages of one context that wait.
#[derive(Debug, Default)]
struct PendingMessages {
    order: u64,
    bytes: Vec<u8>,
    ends: Vec<(usize, u16)>,
    worked: bool,
}

impl Study {
    /// An empty study.
    #[must_use]
    pub fn new(options: StudyOptions) -> Self {
        let mut engine = options.engine.clone();
        engine.classes_max = 1 << 16;
        Self {
            first_engine: Engine::new(engine.clone()),
            rest_engine: Engine::new(engine),
            options,
            classes: Vec::new(),
            by_name: HashMap::new(),
            first: None,
            pending: HashMap::new(),
            pending_bytes: 0,
            order: 0,
            windows_cut: 0,
            left_out: 0,
        }
    }

    /// Adds a message; control frames are skipped, since they are never compressed.
    pub fn message(&mut self, message: &InputMessage<'_>) {
        if message.opcode.is_control() {
            return;
        }
        let key = (message.connection, message.direction);
        let first = *self.first.get_or_insert(key);
        if key != first
            && !self.pending.contains_key(&key)
            && self.pending.len() >= self.options.connections_max
        {
            self.left_out += 1;
            return;
        }
        let class = self.class(message);
        let payload = message.payload;
        if payload.len() > self.options.engine.message_bytes_max || key == first {
            self.first_engine.message(payload, class);
            return;
        }
        let order = self.order;
        self.order += 1;
        let messages = self.pending.entry(key).or_insert_with(|| PendingMessages {
            order,
            ..PendingMessages::default()
        });
        if messages.worked && messages.ends.is_empty() {
            self.windows_cut += 1;
        }
        messages.bytes.extend_from_slice(payload);
        messages.ends.push((messages.bytes.len(), class));
        // An empty message takes some memory too.
        self.pending_bytes += payload.len() + 16;
        if self.pending_bytes > self.options.kept_bytes_max {
            let largest = self
                .pending
                .iter()
                .max_by_key(|(_, messages)| messages.bytes.len() + 16 * messages.ends.len())
                .map(|(&key, _)| key);
            if let Some(key) = largest {
                self.work(key);
            }
        }
    }

    fn class(&mut self, message: &InputMessage<'_>) -> u16 {
        let kind = kind_of(message.payload, message.opcode == Opcode::Binary);
        let mut name = (message.direction, kind);
        let number = match self.by_name.get(&name) {
            Some(&number) => number,
            None => {
                if self.by_name.len() >= self.options.kinds_max.max(1) {
                    name.1 = "other".to_owned();
                }
                let next = self.classes.len() as u16;
                match self.by_name.get(&name) {
                    Some(&number) => number,
                    None => {
                        self.classes.push(Class {
                            direction: name.0,
                            kind: name.1.clone(),
                            histogram: [0; 33],
                            framed_bytes: 0,
                        });
                        self.by_name.insert(name, next);
                        next
                    }
                }
            }
        };
        let class = &mut self.classes[usize::from(number)];
        let bits = usize::BITS - message.payload.len().saturating_sub(1).leading_zeros();
        class.histogram[(bits as usize).min(32)] += 1;
        let masked = message.direction == Some(Direction::ToServer);
        class.framed_bytes += framed_bytes(message.payload.len() as u64, 0, masked);
        number
    }

    fn work(&mut self, key: ConnectionKey) {
        let Some(messages) = self.pending.get_mut(&key) else {
            return;
        };
        self.rest_engine.begin_context();
        let mut begin = 0;
        for &(end, class) in &messages.ends {
            let payload = messages.bytes.get(begin..end).unwrap_or_default();
            self.rest_engine.message(payload, class);
            begin = end;
        }
        self.pending_bytes -= messages.bytes.len() + 16 * messages.ends.len();
        messages.bytes = Vec::new();
        messages.ends = Vec::new();
        messages.worked = true;
    }

    /// Works on what is left, and gives the sizes.
    #[must_use]
    pub fn finish(mut self) -> StudyResult {
        let mut keys: Vec<(u64, ConnectionKey)> = self
            .pending
            .iter()
            .map(|(&key, messages)| (messages.order, key))
            .collect();
        keys.sort_unstable_by_key(|&(order, _)| order);
        for (_, key) in keys {
            self.work(key);
        }
        let first = self.first_engine.finish();
        let rest = self.rest_engine.finish();
        let mut classes: Vec<StudyClass> = self
            .classes
            .into_iter()
            .enumerate()
            .map(|(number, class)| {
                let mut sizes = ClassSizes::default();
                for found in [&first, &rest] {
                    if let Some(more) = found.classes.get(number) {
                        sizes.merge(more);
                    }
                }
                StudyClass {
                    direction: class.direction,
                    kind: class.kind,
                    sizes,
                    histogram: class.histogram,
                    framed_bytes: class.framed_bytes,
                }
            })
            .collect();
        classes.sort_by_key(|class| std::cmp::Reverse(class.sizes.bytes));
        StudyResult {
            classes,
            contexts: u64::from(self.first.is_some()) + self.pending.len() as u64,
            windows_cut: self.windows_cut,
            connections_left_out: self.left_out,
            too_long: first.too_long + rest.too_long,
        }
    }
}
