//! The grid from a sample of the messages, with confidence intervals.

use crate::exact::{ClassSizes, Engine, EngineOptions};
use crate::setting::{CELLS, Setting};

/// The options of a sample.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SampleOptions {
    /// The options of the engine: cells and threads.
    pub engine: EngineOptions,
    /// Blocks of messages in a row, spread evenly with a random beginning; 24 by default.
    pub blocks: usize,
    /// Bytes of a block, about; 8 KiB by default.
    pub block_bytes: usize,
    /// Bytes of messages that fill the windows before a block and are not counted; 32 KiB by default,
    /// the largest window.
    pub warm_bytes: usize,
    /// The number of times that the blocks are drawn again for the interval (block bootstrap); 400 by default.
    pub resamples: usize,
    /// The confidence level of the interval; 0.95 by default.
    pub confidence: f64,
    /// The same seed draws the same sample.
    pub seed: u64,
}

impl Default for SampleOptions {
    fn default() -> Self {
        Self {
            engine: EngineOptions::default(),
            blocks: 24,
            block_bytes: 8 << 10,
            warm_bytes: 32 << 10,
            resamples: 400,
            confidence: 0.95,
            seed: 1,
        }
    }
}

/// A ratio and where it most likely lies.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Compressed bytes for each byte before.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The grid of a sample.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sampled {
    /// Blocks that were drawn.
    pub blocks: usize,
    /// Bytes of messages in them.
    pub bytes: u64,
    /// The sample has all messages, and the ratios are exact.
    pub complete: bool,
    estimates: Vec<Estimate>,
}

impl Sampled {
    /// The estimate of a setting.
    #[must_use]
    pub fn estimate(&self, setting: Setting) -> Estimate {
        self.estimates
            .get(setting.index())
            .copied()
            .unwrap_or_default()
    }
}

/// Studies blocks of the messages of one context. Takes as long as `blocks * (block_bytes +
/// warm_bytes)` take exactly, however many messages there are.
#[must_use]
pub fn sample(messages: &[&[u8]], options: &SampleOptions) -> Sampled {
    let total: usize = messages.iter().map(|message| message.len()).sum();
    let blocks = options.blocks.clamp(1, 4096);
    let block_bytes = options.block_bytes.max(1);
    let complete = total <= blocks * (block_bytes + options.warm_bytes);
    let mut engine_options = options.engine.clone();
    engine_options.classes_max = blocks + 1;
    let mut engine = Engine::new(engine_options);
    let mut random = Xorshift(options.seed | 1);
    if complete {
        study_all(&mut engine, messages, blocks);
    } else {
        let plan = SamplePlan {
            total,
            blocks,
            block_bytes,
            warm_bytes: options.warm_bytes,
        };
        study_blocks(&mut engine, messages, &plan, &mut random);
    }
    let sizes = engine.finish();
    let drawn: Vec<_> = sizes
        .classes
        .iter()
        .take(blocks)
        .filter(|class| class.bytes > 0)
        .collect();
    // Every setting gets the same draws.
    let mut draws = Vec::new();
    if !complete && !drawn.is_empty() {
        for _ in 0..options.resamples.clamp(1, 100_000) * drawn.len() {
            draws.push((random.next() >> 33) as usize % drawn.len());
        }
    }
    let tail = ((1.0 - options.confidence.clamp(0.0, 1.0)) / 2.0).max(0.0);
    let mut estimates = vec![Estimate::default(); CELLS];
    for setting in Setting::all() {
        estimates[setting.index()] = estimate(setting, &drawn, &draws, tail);
    }
    Sampled {
        blocks: drawn.len(),
        bytes: drawn.iter().map(|class| class.bytes).sum(),
        complete,
        estimates,
    }
}

/// The blocks of a sample: their range and their size.
struct SamplePlan {
    /// Bytes of all messages.
    total: usize,
    blocks: usize,
    block_bytes: usize,
    warm_bytes: usize,
}

/// Marsaglia's xorshift.
struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Studies every message; as many follow each other in a class as in any other.
fn study_all(engine: &mut Engine, messages: &[&[u8]], blocks: usize) {
    for block in 0..blocks as u16 {
        let share = |n: usize| messages.len() * n / blocks;
        for message in &messages[share(block.into())..share(usize::from(block) + 1)] {
            engine.message(message, block);
        }
    }
}

/// Studies one block of each part of the transcript, with a window that the messages before it filled.
fn study_blocks(engine: &mut Engine, messages: &[&[u8]], plan: &SamplePlan, random: &mut Xorshift) {
    let total = plan.total;
    // The last class is what warms up.
    let warm = plan.blocks as u16;
    let mut at = 0;
    let mut passed = 0;
    for block in 0..plan.blocks as u16 {
        // The start is anywhere in the block's part of the transcript.
        let part = total / plan.blocks;
        let offset = part * usize::from(block) + (random.next() >> 11) as usize % part.max(1);
        while at < messages.len() && passed < offset.min(total - plan.block_bytes.min(total)) {
            passed += messages[at].len();
            at += 1;
        }
        let mut end = at;
        let mut bytes = 0;
        while end < messages.len() && (bytes < plan.block_bytes || end == at) {
            bytes += messages[end].len();
            end += 1;
        }
        let mut begin = at;
        let mut bytes = 0;
        while begin > 0 && bytes < plan.warm_bytes {
            begin -= 1;
            bytes += messages[begin].len();
        }
        engine.begin_context();
        for message in &messages[begin..at] {
            engine.message(message, warm);
        }
        for message in &messages[at..end] {
            engine.message(message, block);
        }
    }
}

/// The ratio of a setting over all blocks, and the quantiles at both tails of what the draws give, each
/// as many blocks as there are.
fn estimate(setting: Setting, drawn: &[&ClassSizes], draws: &[usize], tail: f64) -> Estimate {
    let of = |compressed: u64, bytes: u64| match bytes {
        0 => 1.0,
        _ => compressed as f64 / bytes as f64,
    };
    let ratio = of(
        drawn.iter().map(|class| class.compressed(setting)).sum(),
        drawn.iter().map(|class| class.bytes).sum(),
    );
    let mut ratios: Vec<f64> = draws
        .chunks(drawn.len().max(1))
        .map(|draw| {
            let (mut compressed, mut bytes) = (0, 0);
            for &n in draw {
                compressed += drawn[n].compressed(setting);
                bytes += drawn[n].bytes;
            }
            of(compressed, bytes)
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    let quantile = |share: f64| {
        let place = (share * ratios.len() as f64) as usize;
        ratios
            .get(place.min(ratios.len().saturating_sub(1)))
            .copied()
            .unwrap_or(ratio)
    };
    Estimate {
        ratio,
        low: quantile(tail),
        high: quantile(1.0 - tail),
    }
}
