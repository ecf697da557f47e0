//! One setting for so many connections and so much memory.

use crate::exact::ClassSizes;
use crate::memory::{ZlibBuild, connection_memory, deflate_bytes, inflate_bytes};
use crate::setting::{CELLS, Setting};

/// CPU time of compressing one message, for every setting, in microseconds.
#[derive(Clone, Debug)]
pub struct CpuTimes {
    micros: Vec<f64>,
    pub(crate) measured: bool,
}

impl CpuTimes {
    /// The times of measurements: `measure` returns the microseconds a message of each setting.
    #[must_use]
    pub fn from_fn(measure: impl FnMut(Setting) -> f64) -> Self {
        Self {
            micros: Setting::all().map(measure).collect(),
            measured: true,
        }
    }

    /// False for an [`estimate`](Self::estimate).
    #[must_use]
    pub fn is_measured(&self) -> bool {
        self.measured
    }

    /// An estimate for stock zlib, from measurements on short JSON messages (133 bytes) on one core
    /// of a server of about 2020: good to a factor of two, and better for comparing settings with
    /// each other than as a number. `message_bytes` is the mean length.
    #[must_use]
    pub fn estimate(message_bytes: f64) -> Self {
        // Microseconds by level, with takeover, 15 window bits and memLevel 8.
        const LEVELS: [f64; 9] = [4.7, 4.9, 5.3, 5.9, 6.3, 7.8, 8.7, 10.8, 10.8];
        // The fixed cost of a message: trees that are built and discarded.
        const EACH: f64 = 2.5;
        let model = |setting: Setting| {
            let level = LEVELS[usize::from(setting.level.clamp(1, 9)) - 1];
            let bytes = (level - EACH) / 133.0 * message_bytes;
            // A reset clears the hash table of 2^(memLevel + 8) bytes, at about 10 GB/s.
            let reset = if setting.takeover {
                0.0
            } else {
                f64::from(1u32 << (u32::from(setting.mem_level) + 8)) / 10_000.0
            };
            EACH + bytes + reset
        };
        Self {
            measured: false,
            ..Self::from_fn(model)
        }
    }

    /// Microseconds of a setting.
    #[must_use]
    pub fn micros(&self, setting: Setting) -> f64 {
        self.micros
            .get(setting.index())
            .copied()
            .unwrap_or_default()
    }
}

/// The resources of the service.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Budget {
    /// Connections at the same time.
    pub connections: u64,
    /// Bytes for all compression contexts together.
    pub memory_bytes: u64,
    /// Cores for compressing; `None`: no limit.
    pub cores: Option<f64>,
    /// Messages a second of all connections together, for the CPU; `None`: not known.
    pub messages_per_second: Option<f64>,
    /// The library's zlib.
    pub build: ZlibBuild,
}

impl Budget {
    /// A budget of memory for this number of connections.
    #[must_use]
    pub fn new(connections: u64, memory_bytes: u64) -> Self {
        Self {
            connections,
            memory_bytes,
            cores: None,
            messages_per_second: None,
            build: ZlibBuild::STOCK,
        }
    }
}

/// A setting with what it costs and brings.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// The setting, at both ends: the windows of both directions are limited to its bits, and
    /// takeover is on or off for both.
    pub setting: Setting,
    /// Compressed bytes for each byte before.
    pub ratio: f64,
    /// Bytes that a connection's contexts allocate at the server once it received a message.
    pub connection_bytes: u64,
    /// The part of the compressor.
    pub deflate_bytes: u64,
    /// Bytes of all connections together, with one shared context a core without takeover.
    pub memory_bytes: u64,
    /// CPU time of compressing a message.
    pub micros: f64,
    /// Cores that are busy compressing, if the rate is known.
    pub cores: Option<f64>,
    /// No other setting is as good in ratio, CPU and memory, and better in one.
    pub on_front: bool,
    /// The setting fits memory and cores.
    pub fits: bool,
}

/// The result of [`advise`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Advice {
    /// Every setting of the grid that was studied, in its order.
    pub candidates: Vec<Candidate>,
    /// The recommended setting; `None` when compression does not pay or nothing fits.
    pub chosen: Option<Candidate>,
    /// Why, in a sentence or two.
    pub reason: String,
    /// Bytes on the wire that the chosen setting saves of each 100.
    pub saved_percent: f64,
    /// The warnings about it.
    pub warnings: Vec<String>,
    /// The CPU times were measured on this traffic, not estimated.
    pub cpu_measured: bool,
}

impl Advice {
    /// The settings that are not beaten in every respect, smallest ratio first.
    #[must_use]
    pub fn front(&self) -> Vec<Candidate> {
        let mut front: Vec<Candidate> = self
            .candidates
            .iter()
            .filter(|candidate| candidate.on_front)
            .copied()
            .collect();
        front.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        front
    }
}

/// Ratios that differ by less are the same to a network, and the cheaper setting wins.
const SAME: f64 = 0.005;

/// Picks a setting for the messages of `sizes` within `budget`: among those that fit, the smallest
/// ratio, give or take half a percent of the bytes; among these the least memory, then the least CPU.
///
/// Settings that `sizes` does not have (left out of the study) are left out here. Costs one pass
/// over the grid, and one over pairs of settings.
#[must_use]
pub fn advise(sizes: &ClassSizes, times: &CpuTimes, budget: &Budget) -> Advice {
    let mut candidates: Vec<Candidate> = (0..CELLS)
        .map(Setting::from_index)
        .filter(|&setting| sizes.compressed(setting) > 0)
        .map(|setting| candidate(setting, sizes, times, budget))
        .collect();
    mark_front(&mut candidates);
    let chosen = choose(&candidates);
    let reason = match &chosen {
        None if candidates.is_empty() => "no setting was studied".to_owned(),
        None if candidates.iter().any(|c| c.fits) => {
            "compression does not pay: no setting that fits makes these messages smaller".to_owned()
        }
        None => format!(
            "nothing fits: even without context takeover the shared contexts or the CPU go beyond \
             the budget of {} for {} connections",
            bytes_text(budget.memory_bytes),
            budget.connections
        ),
        Some(chosen) => reason(chosen, &candidates, budget),
    };
    Advice {
        saved_percent: chosen.map_or(0.0, |chosen| (1.0 - chosen.ratio) * 100.0),
        cpu_measured: times.measured,
        candidates,
        chosen,
        reason,
        warnings: chosen.map_or_else(Vec::new, |chosen| warnings(chosen.setting)),
    }
}

/// The costs of a setting, and whether it fits.
fn candidate(setting: Setting, sizes: &ClassSizes, times: &CpuTimes, budget: &Budget) -> Candidate {
    let memory = connection_memory(setting, setting, budget.build);
    let shared = if setting.takeover {
        0
    } else {
        let contexts = budget.cores.unwrap_or(1.0).max(1.0).ceil() as u64;
        let one = deflate_bytes(setting.window_bits, setting.mem_level, budget.build)
            + inflate_bytes(setting.window_bits, budget.build).1;
        one.saturating_mul(contexts)
    };
    let memory_bytes = memory
        .total()
        .saturating_mul(budget.connections)
        .saturating_add(shared);
    let micros = times.micros(setting);
    let cores = budget.messages_per_second.map(|rate| rate * micros / 1e6);
    let enough = match (cores, budget.cores) {
        (Some(needed), Some(most)) => needed <= most,
        _ => true,
    };
    Candidate {
        setting,
        ratio: sizes.ratio(setting),
        connection_bytes: memory.total(),
        deflate_bytes: memory.deflate,
        memory_bytes,
        micros,
        cores,
        on_front: false,
        fits: memory_bytes <= budget.memory_bytes && enough,
    }
}

/// The warnings about a setting.
fn warnings(chosen: Setting) -> Vec<String> {
    let mut warnings = Vec::new();
    if chosen.window_bits == 8 {
        warnings.push(
            "zlib deflates with 9 bits where 8 are negotiated; its distances stay below 256, so \
             receivers with 8 can read it, but some libraries refuse 8"
                .to_owned(),
        );
    }
    if chosen.takeover {
        warnings.push(
            "secrets and text that an attacker chooses must not share a compressed connection: \
             lengths tell whether they agree (CRIME, BREACH)"
                .to_owned(),
        );
    }
    warnings.push(
        "a client that does not offer client_max_window_bits compresses with 15 bits, and \
         inflating it takes a window of 32 KiB"
            .to_owned(),
    );
    warnings
}

fn mark_front(candidates: &mut [Candidate]) {
    // The candidates are sorted by ratio, so that only earlier ones can be better.
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    let key = |c: &Candidate| (c.ratio, c.memory_bytes as f64, c.micros);
    order.sort_by(|&a, &b| {
        let (a, b) = (key(&candidates[a]), key(&candidates[b]));
        a.0.total_cmp(&b.0)
            .then(a.1.total_cmp(&b.1))
            .then(a.2.total_cmp(&b.2))
    });
    let mut front: Vec<(u64, f64)> = Vec::new();
    for n in order {
        let candidate = &mut candidates[n];
        let beaten = front.iter().any(|&(memory, micros)| {
            memory <= candidate.memory_bytes && micros <= candidate.micros
        });
        if !beaten {
            candidate.on_front = true;
            front.push((candidate.memory_bytes, candidate.micros));
        }
    }
}

fn choose(candidates: &[Candidate]) -> Option<Candidate> {
    let fitting = || candidates.iter().filter(|c| c.fits && c.ratio < 1.0);
    let best = fitting().map(|c| c.ratio).min_by(f64::total_cmp)?;
    // The grid has 8 bits as well as 9, which is the same stream: name the honest one.
    let has_nine = candidates.iter().any(|c| c.setting.window_bits == 9);
    fitting()
        .filter(|c| c.ratio <= best + SAME)
        .filter(|c| c.setting.window_bits != 8 || !has_nine)
        .min_by(|a, b| {
            a.memory_bytes
                .cmp(&b.memory_bytes)
                .then(a.micros.total_cmp(&b.micros))
                .then(a.ratio.total_cmp(&b.ratio))
        })
        .copied()
}

fn reason(chosen: &Candidate, candidates: &[Candidate], budget: &Budget) -> String {
    let all = candidates.iter().min_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let mut text = format!(
        "{} leaves {:.1} % of the bytes and takes {} for {} connections ({} each)",
        chosen.setting,
        chosen.ratio * 100.0,
        bytes_text(chosen.memory_bytes),
        budget.connections,
        bytes_text(chosen.connection_bytes),
    );
    if let Some(cores) = chosen.cores {
        text.push_str(&format!(", {cores:.2} cores"));
    }
    if let Some(all) = all
        && !all.fits
        && all.ratio < chosen.ratio
    {
        text.push_str(&format!(
            "; the smallest would be {} with {:.1} %, which takes {}",
            all.setting,
            all.ratio * 100.0,
            bytes_text(all.memory_bytes)
        ));
        if let Some(cores) = all.cores {
            text.push_str(&format!(" and {cores:.2} cores"));
        }
    }
    text
}

/// `1.5 GiB` and the like, exact below 1 KiB.
#[must_use]
pub fn bytes_text(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {}", UNITS[unit])
    }
}
