//! `cargo xtask bench memory`: how much memory long streams need, and more groups than fit.

use std::io::Write;

use anyhow::{Result, bail};

use crate::bench::Comparison;
use crate::measure::{Cost, Subject};
use crate::scan::{build, megabytes};
use crate::{target_dir, trace};

/// Bytes of a long stream.
const STREAM_BYTES: u64 = 10_000_000_000;
/// What it may need with few groups.
const STREAM_RESIDENT_MAX: u64 = 200 << 20;
/// Different sources, each of one packet but for the first of them, which send a second one.
const SOURCES: u32 = 50_000_000;
const SOURCES_TWICE: u32 = 5_000_000;
const MEMORY_LIMIT: &str = "512m";

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let (weir, _) = build(&target_dir()?)?;
    Ok(vec![stream(&weir)?, groups(&weir)?])
}

/// Few groups of many packets: no more memory than the first megabytes need.
fn stream(weir: &str) -> Result<Comparison> {
    let sql = "SELECT proto, count(*), sum(frame.len) FROM '-' GROUP BY proto ORDER BY 2 DESC";
    let subject = Subject::new("stream", weir, &["query", "--format", "csv", sql]);
    let run = |bytes: u64| -> Result<Cost> {
        let feed = move |out: &mut dyn Write| trace::make("ethernet", bytes, out).map(|_| ());
        let (cost, _) = subject.run_with_input(Some(feed))?;
        say(&format!("{} MB, few groups", bytes / 1_000_000), cost);
        Ok(cost)
    };
    let few = run(STREAM_BYTES / 100)?;
    let many = run(STREAM_BYTES)?;
    if many.resident > STREAM_RESIDENT_MAX {
        bail!("{:.1} MB resident for a stream", megabytes(many.resident));
    }
    Ok(Comparison {
        name: "10 GB through a pipe, few groups, resident".to_owned(),
        ours: megabytes(many.resident),
        peer: megabytes(few.resident),
        peer_name: "weir, 100 MB through the pipe".to_owned(),
        unit: "MB".to_owned(),
    })
}

/// More groups than fit: they spill, and the answer is right.
fn groups(weir: &str) -> Result<Comparison> {
    let sql = "SELECT count(*), sum(packets), min(packets), max(packets), sum(bytes) FROM
        (SELECT ip.src, count(*) AS packets, sum(frame.len) AS bytes FROM '-' GROUP BY ip.src)";
    let run = |name: &str, options: &[&str]| -> Result<Cost> {
        let arguments = [&["query", "--format", "csv", sql], options].concat();
        let subject = Subject::new(name, weir, &arguments);
        let (cost, answer) = subject.run_with_input(Some(sources))?;
        let packets = u64::from(SOURCES) + u64::from(SOURCES_TWICE);
        let bytes = packets * FRAME.len() as u64;
        let expected = format!("{SOURCES},{packets},1,2,{bytes}");
        match answer.lines().nth(1) {
            Some(row) if row == expected => {}
            row => bail!("{name}: {row:?} and not {expected}"),
        }
        say(name, cost);
        Ok(cost)
    };
    let limited = run(
        "50 M groups, --memory-limit 512m",
        &["--memory-limit", MEMORY_LIMIT],
    )?;
    let free = run("50 M groups, no limit", &[])?;
    Ok(Comparison {
        name: "50 M groups, --memory-limit 512m, resident".to_owned(),
        ours: megabytes(limited.resident),
        peer: megabytes(free.resident),
        peer_name: "weir, without a limit".to_owned(),
        unit: "MB".to_owned(),
    })
}

fn say(name: &str, cost: Cost) {
    println!(
        "{name:<34} {:>7.1} s, CPU {:>7.1} s, resident {:>7.1} MB",
        cost.wall,
        cost.cpu,
        megabytes(cost.resident)
    );
}

/// A pcap of packets from all sources.
fn sources(out: &mut dyn Write) -> Result<()> {
    let mut header = Vec::new();
    header.extend(0xa1b2_c3d4_u32.to_le_bytes());
    header.extend([2, 0, 4, 0]);
    for word in [0, 0, 65_535, 1_u32] {
        header.extend(word.to_le_bytes());
    }
    out.write_all(&header)?;
    let len = u32::try_from(FRAME.len())?;
    let mut record = Vec::new();
    for word in [0, 0, len, len] {
        record.extend(word.to_le_bytes());
    }
    record.extend(FRAME);
    let address = record.len() - FRAME.len() + SOURCE_AT;
    let mut many = Vec::new();
    for source in (0..SOURCES).chain(0..SOURCES_TWICE) {
        // Neighbours in time are none in the table.
        let source = source.wrapping_mul(0x9e37_79b1);
        if let Some(bytes) = record.get_mut(address..address + 4) {
            bytes.copy_from_slice(&source.to_be_bytes());
        }
        many.extend(&record);
        if many.len() > 1 << 20 {
            out.write_all(&many)?;
            many.clear();
        }
    }
    out.write_all(&many)?;
    Ok(())
}

/// Ethernet, IPv4, UDP without data.
const FRAME: [u8; 42] = [
    2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, // Ethernet
    0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1, // IPv4
    0x13, 0x88, 0, 53, 0, 8, 0, 0, // UDP
];
/// Where the source address is in it.
const SOURCE_AT: usize = 26;
