//! The exact grid beside brute force, one exact setting, and ingest, in CPU time.
//!
//!     cargo bench -p weir-ws --bench study [-- MEGABYTES [TRANSCRIPT]]
//!
//! Brute force is stock zlib, cell by cell, on the same messages in the same run; on more than
//! 1 MB it runs 18 cells over the whole transcript (each level with and without takeover, windows and
//! memLevels in turn), says so, and takes the other cells to cost as much on average. Both take all the
//! threads of the machine. CPU time, because a machine may be busy with other things. Lines that begin with `row` are for
//! `cargo xtask bench ws`: name, ours, the peer's, the peer, the unit. `ONLY=TEXT` in the environment
//! runs the parts of the grid whose name has it, and nothing else.
#![allow(clippy::unwrap_used, reason = "a benchmark may panic")]

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_ws::exact::{ClassSizes, Engine, EngineOptions};
use weir_ws::{CELLS, Cells, Format, InputOptions, Setting, read_messages};

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let megabytes: f64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(4.0);
    let text = match arguments.next() {
        Some(path) => std::fs::read(path).unwrap(),
        None => chat((megabytes * 1e6) as usize),
    };
    let messages: Vec<&[u8]> = text
        .split(|&b| b == b'\n')
        .filter(|m| !m.is_empty())
        .collect();
    let bytes = bytes_of(&messages);
    println!(
        "{} messages, {:.2} MB, {:.0} bytes each; zlib {}",
        messages.len(),
        bytes as f64 / 1e6,
        bytes as f64 / messages.len() as f64,
        weir_zlib::version()
    );

    match std::env::var("ONLY") {
        Ok(only) => parts(&messages, &only),
        Err(_) => {
            ingests(&text, &messages);
            one(&messages);
            grid(&messages);
        }
    }
}

fn ingests(text: &[u8], messages: &[&[u8]]) {
    let lines_ours = ingest("lines", Format::Lines, text);
    let har = archive(messages);
    let har_ours = ingest("HAR", Format::Har, &har);
    let lines_peer = peer("std's lines", text.len(), || {
        std::io::BufRead::split(text, b'\n')
            .map(|line| line.unwrap().len())
            .sum()
    });
    let har_peer = peer("serde_json", har.len(), || {
        let value: serde_json::Value = serde_json::from_slice(&har).unwrap();
        let messages = &value["log"]["entries"][0]["_webSocketMessages"];
        let data = messages
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["data"].as_str());
        data.map(|data| data.unwrap().len()).sum()
    });
    row(
        "read 1 GB of lines",
        lines_ours,
        lines_peer,
        "std's BufRead",
        "s CPU",
    );
    row(
        "read 1 GB of HAR",
        har_ours,
        har_peer,
        "serde_json",
        "s CPU",
    );
}

/// Parts of the grid, each by itself.
fn parts(messages: &[&[u8]], only: &str) {
    let parts = [
        ("all 1,296 cells", Cells::all()),
        (
            "levels 1-3, takeover",
            Cells::all().only_takeover(true).only_levels(1..=3),
        ),
        (
            "levels 1-3, no takeover",
            Cells::all().only_takeover(false).only_levels(1..=3),
        ),
        (
            "levels 4-9, takeover",
            Cells::all().only_takeover(true).only_levels(4..=9),
        ),
        (
            "levels 4-9, no takeover",
            Cells::all().only_takeover(false).only_levels(4..=9),
        ),
        ("one: 15/8 level 6 takeover", Cells::one(Setting::ZLIB)),
        (
            "one: 15/8 level 1 takeover",
            Cells::one(Setting {
                level: 1,
                ..Setting::ZLIB
            }),
        ),
        (
            "one: 15/8 level 6 no takeover",
            Cells::one(Setting::ZLIB.with_takeover(false)),
        ),
    ];
    for (name, cells) in parts {
        if name.contains(only) {
            ours(name, messages, cells);
        }
    }
}

/// The sizes of some cells, and the CPU seconds that they took.
fn ours(name: &str, messages: &[&[u8]], cells: Cells) -> (ClassSizes, f64) {
    let mut options = EngineOptions::default();
    options.cells = cells;
    let begin = cpu_seconds();
    let mut engine = Engine::new(options);
    for message in messages {
        engine.message(message, 0);
    }
    let sizes = engine.finish().total();
    let seconds = cpu_seconds() - begin;
    let cells = Setting::all().filter(|&s| cells.contains(s)).count();
    println!(
        "ours   {name:30} {seconds:8.2} s CPU, {:7.1} MB/s a cell",
        bytes_of(messages) as f64 * cells as f64 / seconds / 1e6
    );
    (sizes, seconds)
}

/// The compressed size of the messages with zlib, and the CPU seconds.
fn theirs(messages: &[&[u8]], setting: Setting) -> (u64, f64) {
    let begin = thread_cpu_seconds();
    let window_bits = setting.window_bits.max(9);
    let mut deflate =
        weir_zlib::Deflate::new(setting.level, window_bits, setting.mem_level, 0).unwrap();
    let (mut total, mut out) = (0, Vec::new());
    for message in messages {
        if !setting.takeover {
            deflate.reset();
        }
        out.clear();
        deflate.message(message, &mut out);
        total += out.len() as u64;
    }
    (total, thread_cpu_seconds() - begin)
}

/// [`theirs`] for several settings, on as many threads as [`Engine`] takes.
fn theirs_of(messages: &[&[u8]], settings: &[Setting]) -> Vec<(u64, f64)> {
    let threads = EngineOptions::default().threads;
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![(0, 0.0); settings.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&setting) = settings.get(n) else {
                        return;
                    };
                    let one = theirs(messages, setting);
                    found.lock().unwrap()[n] = one;
                }
            });
        }
    });
    found.into_inner().unwrap()
}

fn bytes_of(messages: &[&[u8]]) -> usize {
    messages.iter().map(|message| message.len()).sum()
}

/// One setting, three times in turns with zlib, on 20 MB at most.
fn one(messages: &[&[u8]]) {
    let mut left = 20_000_000;
    let fits = |message: &&&[u8]| {
        left -= message.len() as i64;
        left > 0
    };
    let some: Vec<&[u8]> = messages.iter().take_while(fits).copied().collect();
    let setting = Setting::ZLIB;
    let (mut our, mut their) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let (sizes, seconds) = ours("one: 15/8 level 6 takeover", &some, Cells::one(setting));
        our.push(seconds);
        let (total, seconds) = theirs(&some, setting);
        assert_eq!(total, sizes.compressed(setting));
        their.push(seconds);
    }
    our.sort_by(f64::total_cmp);
    their.sort_by(f64::total_cmp);
    let name = format!("one setting, {:.0} MB", bytes_of(&some) as f64 / 1e6);
    let zlib = format!("zlib {}", weir_zlib::version());
    row(&name, our[1], their[1], &zlib, "s CPU");
}

fn grid(messages: &[&[u8]]) {
    let bytes = bytes_of(messages);
    let (sizes, ours) = ours("all 1,296 cells", messages, Cells::all());
    let sample: Vec<Setting> = if bytes <= 1_000_000 {
        Setting::all().collect()
    } else {
        (0..18u8)
            .map(|n| Setting {
                takeover: n % 2 == 0,
                level: n / 2 + 1,
                window_bits: 8 + (n * 3 + n / 8) % 8,
                mem_level: 1 + (n * 5 + n / 9) % 9,
            })
            .collect()
    };
    let mut theirs_all = 0.0;
    for (&setting, (total, seconds)) in sample.iter().zip(theirs_of(messages, &sample)) {
        assert_eq!(total, sizes.compressed(setting), "{setting}");
        if sample.len() < 100 {
            println!("zlib   {:30} {seconds:8.2} s CPU", setting.to_string());
        }
        theirs_all += seconds;
    }
    let theirs = theirs_all * CELLS as f64 / sample.len() as f64;
    println!(
        "zlib   {:30} {theirs:8.2} s CPU, {:7.1} MB/s a cell ({} cells run, all equal to ours)",
        "all 1,296 cells",
        bytes as f64 * CELLS as f64 / theirs / 1e6,
        sample.len()
    );
    println!("ratio  {:.1} times faster than brute force", theirs / ours);
    println!("peak   {:.1} MB resident", peak_megabytes());
    let name = format!("all 1,296 settings, {:.0} MB", bytes as f64 / 1e6);
    let brute = format!(
        "zlib {}, {} settings run",
        weir_zlib::version(),
        sample.len()
    );
    row(&name, ours, theirs, &brute, "s CPU");
}

fn row(name: &str, ours: f64, peer: f64, peer_name: &str, unit: &str) {
    println!("row\t{name}\t{ours}\t{peer}\t{peer_name}\t{unit}");
}

/// CPU seconds that a peer takes for a gigabyte.
fn peer(name: &str, bytes: usize, mut run: impl FnMut() -> usize) -> f64 {
    let begin = cpu_seconds();
    let mut read = 0;
    while cpu_seconds() - begin < 0.5 {
        assert!(run() > 0);
        read += bytes;
    }
    let seconds = (cpu_seconds() - begin) / read as f64 * 1e9;
    println!("peer   {name:30} {:8.2} GB/s", 1.0 / seconds);
    seconds
}

/// Reads a transcript from memory until half a second has passed: CPU seconds for a gigabyte.
fn ingest(name: &str, format: Format, bytes: &[u8]) -> f64 {
    let begin = cpu_seconds();
    let (mut read, mut found) = (0, 0);
    while cpu_seconds() - begin < 0.5 {
        let mut each = |message: &weir_ws::InputMessage<'_>| found += message.payload.len();
        read_messages(bytes, format, InputOptions::default(), &mut each).unwrap();
        read += bytes.len();
    }
    assert!(found > 0);
    let seconds = (cpu_seconds() - begin) / read as f64 * 1e9;
    println!("ingest {name:30} {:8.2} GB/s", 1.0 / seconds);
    seconds
}

/// The messages as a browser's archive has them.
fn archive(messages: &[&[u8]]) -> Vec<u8> {
    let mut text = String::from(r#"{"log":{"creator":{},"entries":[{"_webSocketMessages":["#);
    for (n, message) in messages.iter().enumerate() {
        let data = String::from_utf8_lossy(message)
            .replace('\\', "\\\\")
            .replace('"', "\\\"");
        let comma = if n > 0 { "," } else { "" };
        write!(
            text,
            r#"{comma}{{"type":"receive","time":{n}.5,"opcode":1,"data":"{data}"}}"#
        )
        .unwrap();
    }
    text.push_str("]}]}}");
    text.into_bytes()
}

/// CPU seconds of this process, all threads.
fn cpu_seconds() -> f64 {
    cpu_seconds_in("/proc/self/stat")
}

/// CPU seconds of this thread.
fn thread_cpu_seconds() -> f64 {
    cpu_seconds_in("/proc/thread-self/stat")
}

fn cpu_seconds_in(path: &str) -> f64 {
    let stat = std::fs::read_to_string(path).unwrap();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap()
        .split_whitespace()
        .collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}

fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<f64>()
        .unwrap()
        / 1e3
}

/// A chat in JSON with words of a Zipf-like distribution: about 130 bytes a message.
fn chat(bytes: usize) -> Vec<u8> {
    let mut seed = 88_172_645_463_325_252u64;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let word = |n: u64| {
        let mut word = String::new();
        let mut n = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        for _ in 0..2 + n % 4 {
            word.push(char::from(b"bcdfghklmnprstvw"[(n % 16) as usize]));
            n /= 16;
            word.push(char::from(b"aeiou"[(n % 5) as usize]));
            n /= 5;
        }
        word
    };
    let mut text = String::with_capacity(bytes + 1000);
    let mut time = 0u64;
    while text.len() < bytes {
        time += next() % 20;
        let (h, m, s) = (time / 3600 % 24, time / 60 % 60, time % 60);
        let sender = word(next() % 40);
        write!(
            text,
            r#"{{"type":"msg","timestamp":"{h:02}:{m:02}:{s:02}","sender":"{sender}","msg":""#
        )
        .unwrap();
        for n in 0..1 + next() % 16 {
            if n > 0 {
                text.push(' ');
            }
            // About Zipf: the exponent of a uniform number.
            let rank = ((next() % 1_000_000) as f64 / 1e6 * 9.0).exp2() as u64 * (1 + next() % 8);
            text.push_str(&word(rank));
        }
        text.push_str("\"}\n");
    }
    text.into_bytes()
}
