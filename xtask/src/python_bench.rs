//! `cargo xtask bench python`: packets into a frame of Polars beside Python's readers of captures, memory of a long
//! stream, and what Python adds to a query of the command line.
//!
//! `WEIR_PYTHON` names a Python that has the wheel and the peers: `pip install WHEEL polars scapy pyshark dpkt nfstream`.
//! `WEIR_PROGRAM` names the command line of the same build; without it one is built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::comparison::Comparison;
use crate::measure::{Cost, Subject};
use crate::scan::{megabytes, program};
use crate::trace;
use crate::workspace::{root, target_dir};

/// A reader, and how many bytes of the trace it is given: what takes it some ten seconds. The last of them is how many
/// times as fast weir has to be.
const PEERS: &[(&str, u64, f64)] = &[
    ("scapy", 12_000_000, 100.0),
    ("pyshark", 1_200_000, 1.0),
    ("dpkt", 60_000_000, 10.0),
    ("nfstream", 60_000_000, 1.0),
];
/// The bytes of the trace for weir.
const OURS_BYTES: u64 = 272_000_000;
const STREAM_BYTES: u64 = 1_000_000_000;
const STREAM_RESIDENT_MAX: u64 = 300_000_000;
/// The promised ratio of the processor time from Python to that of the command line.
const CPU_MAX: f64 = 1.1;
const TURNS: usize = 5;

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let python = std::env::var("WEIR_PYTHON").context(
        "WEIR_PYTHON names a Python with the wheel, polars, scapy, pyshark, dpkt and nfstream",
    )?;
    let weir = program()?;
    let folder = target_dir()?.join("bench-python");
    fs::create_dir_all(&folder)?;
    let measured = compare(&python, &weir, &folder);
    // A gigabyte is not left behind.
    fs::remove_dir_all(&folder)?;
    measured
}

fn compare(python: &str, weir: &str, folder: &Path) -> Result<Vec<Comparison>> {
    let mut promises = Promises::default();
    compare_readers(python, folder, &mut promises)?;
    let path = traced(folder, STREAM_BYTES)?;
    stream(python, &path, &mut promises)?;
    for (name, query) in QUERIES {
        let query = query.replace("{}", &path);
        compare_query(name, &query, [python, weir], &mut promises)?;
    }
    let Promises {
        comparisons,
        broken,
    } = promises;
    if !broken.is_empty() {
        bail!("less than is promised:\n{}", broken.join("\n"));
    }
    Ok(comparisons)
}

/// The measurements, and the broken promises.
#[derive(Default)]
struct Promises {
    comparisons: Vec<Comparison>,
    broken: Vec<String>,
}

/// Packets into frames of Polars, beside the peers that are installed.
fn compare_readers(python: &str, folder: &Path, promises: &mut Promises) -> Result<()> {
    let ours = rate(python, "weir", &traced(folder, OURS_BYTES)?)?;
    println!("weir: {ours:.0} packets a second");
    for &(name, bytes, times) in PEERS {
        let known = Command::new(python)
            .args(["-c", &format!("import {name}")])
            .output()?;
        if !known.status.success() {
            println!("{name}: not installed");
            continue;
        }
        let theirs = rate(python, name, &traced(folder, bytes)?)?;
        println!(
            "{name}: {theirs:.0} packets a second; weir {:.0} times",
            ours / theirs
        );
        if ours < times * theirs {
            promises.broken.push(format!(
                "{:.1} times {name}, {times} promised",
                ours / theirs
            ));
        }
        promises.comparisons.push(Comparison {
            name: "a packet into a frame of Polars".to_owned(),
            ours: 1e6 / ours,
            peer: 1e6 / theirs,
            peer_name: name.to_owned(),
            unit: "µs".to_owned(),
        });
    }
    Ok(())
}

/// Memory while a long capture is read batch by batch.
fn stream(python: &str, path: &str, promises: &mut Promises) -> Result<()> {
    let (cost, said) = Subject::new("stream", python, &["-c", STREAM, path]).run()?;
    let resident = megabytes(cost.resident);
    println!(
        "1 GB in batches: {} packets, {resident:.0} MB resident",
        said.trim()
    );
    if cost.resident > STREAM_RESIDENT_MAX {
        promises
            .broken
            .push(format!("{resident:.0} MB resident while 1 GB is streamed"));
    }
    promises.comparisons.push(Comparison {
        name: "resident while 1 GB is streamed".to_owned(),
        ours: resident,
        peer: megabytes(STREAM_RESIDENT_MAX),
        peer_name: "promised".to_owned(),
        unit: "MB".to_owned(),
    });
    Ok(())
}

/// Processor time of a query from Python, and by the command line.
fn compare_query(
    name: &str,
    query: &str,
    [python, weir]: [&str; 2],
    promises: &mut Promises,
) -> Result<()> {
    let from_python = Subject::new(name, python, &["-c", ASK, query]);
    let command_line = Subject::new(name, weir, &["query", "-q", "--format", "csv", query]);
    let mut costs = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (subject, costs) in [&from_python, &command_line].into_iter().zip(&mut costs) {
            costs.push(subject.run()?.0);
        }
    }
    let [ours, theirs] = costs.map(|costs| median(&costs));
    println!(
        "{name}: {ours:.3} s of processor time from Python, {theirs:.3} s by the command line"
    );
    if ours > CPU_MAX * theirs {
        promises.broken.push(format!(
            "{name}: {:.2} times the command line's",
            ours / theirs
        ));
    }
    promises.comparisons.push(Comparison {
        name: name.to_owned(),
        ours,
        peer: theirs,
        peer_name: "command line".to_owned(),
        unit: "s of CPU".to_owned(),
    });
    Ok(())
}

/// Packets a second, without the interpreter's start and imports.
fn rate(python: &str, name: &str, path: &str) -> Result<f64> {
    let script = root()?.join("benchmarks/python/peers.py");
    let script = script.to_string_lossy();
    let (_, said) = Subject::new(name, python, &[&script, name, path]).run()?;
    let said: Value =
        serde_json::from_str(said.trim()).with_context(|| format!("{name}: {said}"))?;
    let packets = said["packets"].as_f64().unwrap_or_default();
    let wall = said["wall"].as_f64().unwrap_or(f64::NAN);
    Ok(packets / wall)
}

/// A trace of so many bytes, made once.
fn traced(folder: &Path, bytes: u64) -> Result<String> {
    let path: PathBuf = folder.join(format!("{bytes}.pcap"));
    let name = path.to_string_lossy().into_owned();
    if !path.exists() {
        trace::run(&["ethernet", &bytes.to_string(), &name])?;
    }
    Ok(name)
}

fn median(costs: &[Cost]) -> f64 {
    let mut cpu: Vec<f64> = costs.iter().map(|cost| cost.cpu).collect();
    cpu.sort_by(f64::total_cmp);
    cpu.get(cpu.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Reads a long capture batch by batch.
const STREAM: &str = "
import sys, weir
query = \"SELECT frame.time, frame.len, ip.src, ip.dst, port.src, port.dst FROM '\" + sys.argv[1] + \"'\"
print(sum(batch.num_rows for batch in weir.sql(query).batches()))
";

/// Runs a query as the command line does: the rows are read to their end.
const ASK: &str = "
import sys, weir
print(*weir.sql(sys.argv[1]).rows(), sep='\\n')
";

/// The queries for Python and the command line, with few rows from much data.
const QUERIES: &[(&str, &str)] = &[
    (
        "groups by address",
        "SELECT ip.proto, ip.ttl, count(*), sum(frame.len) FROM '{}' GROUP BY 1, 2",
    ),
    (
        "a filter",
        "SELECT count(*), sum(frame.len) FROM '{}' WHERE udp.dstport = 53 AND ip.src IS NOT NULL",
    ),
    (
        "flows",
        "SELECT proto, count(*), sum(flow.packets_src) FROM flows('{}') GROUP BY 1",
    ),
];
