//! `cargo xtask bench memory`: how much memory long streams need, more groups than fit, and every kind of
//! question under every limit.
//!
//! `WEIR_PROGRAM=path/to/weir cargo xtask bench memory` measures that program, and the grid of questions and
//! limits alone, which takes a minute or two.

use std::io::Write;

use anyhow::{Result, bail};

use crate::comparison::Comparison;
use crate::measure::{Cost, Subject};
use crate::scan::{build, megabytes};
use crate::trace;
use crate::workspace::target_dir;

/// Bytes of a long stream.
const STREAM_BYTES: u64 = 10_000_000_000;
/// The promised resident memory with few groups.
const STREAM_RESIDENT_MAX: u64 = 200 << 20;
/// Different sources, each of one packet but for the first of them, which send a second one.
const SOURCES: u32 = 50_000_000;
const SOURCES_TWICE: u32 = 5_000_000;
const MEMORY_LIMIT: &str = "512m";

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    if let Ok(weir) = std::env::var("WEIR_PROGRAM") {
        return grid(&weir);
    }
    let (weir, _) = build(&target_dir()?)?;
    let mut comparisons = grid(&weir)?;
    comparisons.extend([stream(&weir)?, groups(&weir)?]);
    Ok(comparisons)
}

/// Measures the resident memory of each query under each limit, and compares it with the promise.
fn grid(weir: &str) -> Result<Vec<Comparison>> {
    let folder = std::env::temp_dir().join("weir-bench-memory");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("mixed.pcap");
    let mut out = std::io::BufWriter::new(std::fs::File::create(&path)?);
    mixed(&mut out)?;
    drop(out);
    let mut comparisons = Vec::new();
    let mut broken = Vec::new();
    println!(
        "{} packets; resident in MB, at most {OFFSET_MB} + {FACTOR} times the limit:\n{:<26} {:>9} {}",
        MIXED,
        "",
        "no limit",
        LIMITS.map(|(name, _)| format!("{name:>9}")).join(" ")
    );
    for (name, sql) in GRID {
        let run = |options: &[&str]| -> Result<(Cost, bool)> {
            let mut arguments = vec!["query", "--format", "csv", sql];
            arguments.extend(options);
            Subject::new(name, weir, &arguments)
                .within(&folder)
                .run_in_any_case()
        };
        let (free, _) = run(&[])?;
        let mut line = format!("{name:<26} {:>9.0}", megabytes(free.resident));
        for (limit, bytes) in LIMITS {
            let (cost, succeeded) = run(&["--memory-limit", limit])?;
            let resident = megabytes(cost.resident);
            let promised = OFFSET_MB + FACTOR * megabytes(bytes);
            let mark = if succeeded { ' ' } else { '!' };
            line.push_str(&format!(" {resident:>8.0}{mark}"));
            if resident > promised {
                broken.push(format!(
                    "{name}, {limit}: {resident:.0} MB, {promised:.0} promised"
                ));
            }
            comparisons.push(Comparison {
                name: format!("{name}, {limit}"),
                ours: resident,
                peer: promised,
                peer_name: "promised".to_owned(),
                unit: "MB".to_owned(),
            });
        }
        println!("{line}");
    }
    println!("!: refused, because it does not fit and cannot be spilled");
    if !broken.is_empty() {
        bail!("more than is promised:\n{}", broken.join("\n"));
    }
    Ok(comparisons)
}

/// Questions that keep much, in each of the ways in which that is kept, and that give little.
const GRID: &[(&str, &str)] = &[
    (
        "groups",
        "SELECT count(*), max(n) FROM (SELECT ip.src, ip.dst, count(*) AS n, sum(frame.len) FROM 'mixed.pcap' GROUP BY 1, 2)",
    ),
    (
        "two DISTINCT by group",
        "SELECT count(*), max(a), max(b) FROM (SELECT ip.dst, count(DISTINCT ip.src) AS a, count(DISTINCT udp.srcport) AS b FROM 'mixed.pcap' GROUP BY 1)",
    ),
    (
        "two DISTINCT, few groups",
        "SELECT count(*), max(a), max(b) FROM (SELECT udp.dstport % 100, count(DISTINCT ip.src) AS a, count(DISTINCT ip.dst) AS b FROM 'mixed.pcap' GROUP BY 1)",
    ),
    (
        "DISTINCT beside a count",
        "SELECT count(*), max(a), max(n) FROM (SELECT ip.dst, count(*) AS n, avg(frame.len), count(DISTINCT ip.src) AS a FROM 'mixed.pcap' GROUP BY 1)",
    ),
    (
        "DISTINCT beside a median",
        "SELECT count(*), max(a), max(m) FROM (SELECT ip.dst, count(DISTINCT ip.src) AS a, median(frame.len) AS m FROM 'mixed.pcap' GROUP BY 1)",
    ),
    (
        "DISTINCT with ROLLUP",
        "SELECT count(*), max(a) FROM (SELECT ip.dst, count(DISTINCT ip.src) AS a, count(DISTINCT udp.srcport) FROM 'mixed.pcap' GROUP BY ROLLUP(ip.dst))",
    ),
    (
        "two DISTINCT of all",
        "SELECT count(DISTINCT ip.src), count(DISTINCT ip.dst), count(*) FROM 'mixed.pcap'",
    ),
    (
        "SELECT DISTINCT",
        "SELECT count(*) FROM (SELECT DISTINCT ip.src, udp.srcport FROM 'mixed.pcap')",
    ),
    (
        "sort and number",
        "SELECT max(n), max(s) FROM (SELECT row_number() OVER (ORDER BY udp.srcport, frame.number) AS n, frame.number AS s FROM 'mixed.pcap')",
    ),
    (
        "before, by sender",
        "SELECT max(gap) FROM (SELECT frame.time - lag(frame.time) OVER (PARTITION BY ip.src ORDER BY frame.time) AS gap FROM 'mixed.pcap')",
    ),
    (
        "median by group",
        "SELECT count(*), max(m) FROM (SELECT ip.dst, median(udp.srcport) AS m FROM 'mixed.pcap' GROUP BY 1)",
    ),
    (
        "approx_distinct by group",
        "SELECT count(*), max(m) FROM (SELECT ip.dst, approx_distinct(ip.src) AS m FROM 'mixed.pcap' GROUP BY 1)",
    ),
    (
        "texts put together",
        "SELECT count(*), max(m) FROM (SELECT ip.dst, length(string_agg(proto, ' ')) AS m FROM 'mixed.pcap' GROUP BY 1)",
    ),
    (
        "join",
        "SELECT count(*), max(a.frame.len) FROM 'mixed.pcap' a JOIN 'mixed.pcap' b ON a.ip.src = b.ip.src AND a.udp.srcport = b.udp.srcport",
    ),
    (
        "flows",
        "SELECT count(*), max(flow.packets_src) FROM flows('mixed.pcap')",
    ),
];

/// Limits, and their bytes.
const LIMITS: [(&str, u64); 3] = [("64m", 64 << 20), ("256m", 256 << 20), ("1g", 1 << 30)];
/// The promised resident memory: an offset in megabytes for everything but groups, sorts and joins (the program, buffers, batches
/// in flight), plus a multiple of the limit, which counts the used bytes but not the overhead of the allocator.
const OFFSET_MB: f64 = 250.0;
const FACTOR: f64 = 2.0;
/// Packets of the grid's capture.
const MIXED: u32 = 2_000_000;

/// A pcap of datagrams with a million senders and 65,536 receivers, each port as likely as any.
fn mixed(out: &mut dyn Write) -> Result<()> {
    let mut random = weir_testkit::Rng::new(14);
    let mut record = pcap_header(out)?;
    let at = record.len() - FRAME.len();
    for number in 0..MIXED {
        let (src, dst) = (random.below(1 << 20) as u32, random.below(1 << 16) as u32);
        let [_, b, c, d] = src.to_be_bytes();
        let [_, _, e, f] = dst.to_be_bytes();
        let ports = random.next_u32().to_be_bytes();
        for (place, bytes) in [
            (0, &(1_700_000_000 + number / 1_000).to_le_bytes()),
            (4, &(number % 1_000).to_le_bytes()),
            (at + SOURCE_AT, &[10, b, c, d]),
            (at + SOURCE_AT + 4, &[11, 0, e, f]),
            (at + SOURCE_AT + 8, &ports),
        ] {
            if let Some(field) = record.get_mut(place..place + 4) {
                field.copy_from_slice(bytes);
            }
        }
        out.write_all(&record)?;
    }
    Ok(out.flush()?)
}

/// Writes the header of a pcap, and gives a record to go on with.
fn pcap_header(out: &mut dyn Write) -> Result<Vec<u8>> {
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
    Ok(record)
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
    let mut record = pcap_header(out)?;
    let address = record.len() - FRAME.len() + SOURCE_AT;
    let mut many = Vec::new();
    for source in (0..SOURCES).chain(0..SOURCES_TWICE) {
        // Packets that follow each other get addresses that lie apart in the table of groups.
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
/// The offset of the source address in the frame.
const SOURCE_AT: usize = 26;
