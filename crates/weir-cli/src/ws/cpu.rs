//! Measurements of the CPU time of stock zlib for a message, with each setting, on this machine.
//!
//! Streams of stock zlib run over a part of the messages, and the fastest of a few runs counts, so
//! that what else the machine does hardly shows. Of the memLevels three are run; times in between
//! are interpolated.

use std::time::{Duration, Instant};

use weir_ws::{Cells, CpuTimes, Setting};
use weir_zlib::Deflate;

/// Bytes of messages that are run with each setting.
pub(super) const RUN_BYTES_MAX: usize = 32 << 10;
const MEM_LEVELS: [u8; 3] = [1, 5, 9];
const RUNS: usize = 3;
/// When this much time has gone, a single run of each setting has to do.
const PATIENCE: Duration = Duration::from_secs(3);

/// Measures the settings of `cells`, scaled to `mean_bytes`, the mean length of all messages. `None` when there are no messages.
pub(super) fn measure(messages: &[&[u8]], cells: Cells, mean_bytes: f64) -> Option<CpuTimes> {
    let part = part(messages);
    let bytes: usize = part.iter().map(|message| message.len()).sum();
    if bytes == 0 {
        return None;
    }
    let begun = Instant::now();
    let mut times = vec![None; weir_ws::CELLS];
    for setting in Setting::all() {
        let near = MEM_LEVELS.contains(&setting.mem_level);
        // Eight bits are deflated with nine.
        let wanted = (1..=9).any(|mem_level| {
            let same = setting.with_mem_level(mem_level);
            let eight = same.with_window_bits(8);
            cells.contains(same) || (setting.window_bits == 9 && cells.contains(eight))
        });
        if !near || !wanted || setting.window_bits == 8 {
            continue;
        }
        let runs = if begun.elapsed() < PATIENCE { RUNS } else { 1 };
        let fastest = (0..runs).filter_map(|_| run(&part, setting)).min();
        times[setting.index()] =
            fastest.map(|time| time.as_secs_f64() * 1e6 * mean_bytes / bytes as f64);
    }
    Some(CpuTimes::from_fn(|setting| interpolated(&times, setting)))
}

/// The first messages, the last of them cut when it is too long.
fn part<'m>(messages: &[&'m [u8]]) -> Vec<&'m [u8]> {
    let mut left = RUN_BYTES_MAX;
    let mut part = Vec::new();
    for message in messages {
        if left == 0 {
            break;
        }
        let cut = message.get(..left).unwrap_or(message);
        left -= cut.len();
        part.push(cut);
    }
    part
}

fn run(messages: &[&[u8]], setting: Setting) -> Option<Duration> {
    let Setting {
        level,
        window_bits,
        mem_level,
        ..
    } = setting;
    let mut deflate = Deflate::new(level, window_bits.max(9), mem_level, 0)?;
    let mut out = Vec::with_capacity(RUN_BYTES_MAX + 1024);
    let begun = Instant::now();
    for message in messages {
        if !setting.takeover {
            deflate.reset();
        }
        out.clear();
        deflate.message(message, &mut out);
    }
    Some(begun.elapsed())
}

fn interpolated(times: &[Option<f64>], setting: Setting) -> f64 {
    let at = |mem_level: u8| {
        let measured = setting
            .with_mem_level(mem_level)
            .with_window_bits(setting.window_bits.max(9));
        times.get(measured.index()).copied().flatten()
    };
    let (low, high) = if setting.mem_level <= 5 {
        (1, 5)
    } else {
        (5, 9)
    };
    match (at(low), at(high)) {
        (Some(one), Some(other)) => {
            let share = f64::from(setting.mem_level - low) / f64::from(high - low);
            one + (other - one) * share
        }
        _ => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mem_level_gets_a_time_and_long_messages_are_cut() {
        let message = "{\"type\":\"msg\",\"text\":\"it was the best of times\"}".repeat(3);
        let messages = vec![message.as_bytes(); 500];
        let cells = Cells::all().only_levels([1, 9]).only_windows([15]);
        let times = measure(&messages, cells, message.len() as f64).unwrap();
        for mem_level in 1..=9 {
            let of = |level| {
                times.micros(Setting {
                    level,
                    mem_level,
                    ..Setting::ZLIB
                })
            };
            assert!(
                of(1) > 0.0 && of(9) > 0.0,
                "{mem_level}: {} {}",
                of(1),
                of(9)
            );
        }
        assert!(
            times.micros(Setting::ZLIB).is_nan(),
            "level 6 was not asked for"
        );
        let long = vec![b'x'; 3 * RUN_BYTES_MAX];
        assert_eq!(part(&[b"ab", &long]).concat().len(), RUN_BYTES_MAX);
        assert!(measure(&[], cells, 0.0).is_none());
        let eight = Cells::all().only_windows([8]).only_levels([1]);
        let times = measure(&messages, eight, 1.0).unwrap();
        let setting = Setting {
            level: 1,
            window_bits: 8,
            ..Setting::ZLIB
        };
        assert!(times.micros(setting) > 0.0);
    }
}
