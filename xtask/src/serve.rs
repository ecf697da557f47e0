//! `cargo xtask bench serve`: ten million rows of six columns over each protocol of `weir serve`, beside PostgreSQL with
//! the same table and the same clients.
//!
//! `WEIR_PROGRAM` names a command line that is built already, `WEIR_SERVE_ROWS` another number of rows.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::comparison::Comparison;
use crate::scan::program;
use crate::workspace::{root, target_dir};

const ROWS: u64 = 10_000_000;
/// The maximum growth of the server's resident memory over ten million rows, in megabytes.
const RESIDENT_MAX: f64 = 400.0;
/// The promised speeds relative to PostgreSQL, each with the PostgreSQL client it is compared with.
const PROMISED: &[(&str, &str, f64)] = &[
    ("text by psql", "text by psql", 0.7),
    ("binary by ADBC", "binary by ADBC", 0.7),
    ("rows by JDBC", "rows by JDBC", 0.7),
    ("Flight SQL by ADBC", "binary by ADBC", 2.0),
    ("Arrow over HTTP", "binary by ADBC", 2.0),
];

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let weir = program()?;
    let rows = match std::env::var("WEIR_SERVE_ROWS") {
        Ok(rows) => rows.parse().context("WEIR_SERVE_ROWS is a number")?,
        Err(_) => ROWS,
    };
    let folder = target_dir()?.join("bench-serve");
    fs::create_dir_all(&folder)?;
    let measured = Command::new("python3")
        .arg(root()?.join("benchmarks/serve/clients.py"))
        .arg(&weir)
        .arg(&folder)
        .arg(rows.to_string())
        .stderr(Stdio::inherit())
        .output();
    fs::remove_dir_all(&folder)?;
    let output = measured.context("python3")?;
    let text = String::from_utf8(output.stdout)?;
    print!("{text}");
    if !output.status.success() {
        bail!("the clients failed");
    }
    compare(&text, rows as f64)
}

fn compare(text: &str, rows: f64) -> Result<Vec<Comparison>> {
    let mut idle = 0.0;
    let mut seconds: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
    let mut broken = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line)?;
        let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let resident = row["resident_mb"].as_f64().unwrap_or_default();
        let Some(took) = row["seconds"].as_f64() else {
            idle = resident;
            continue;
        };
        println!(
            "{:<20} {:<12} {:>12.0} rows a second {:>8.0} MB resident",
            word("name"),
            word("who"),
            rows / took,
            resident
        );
        if resident > idle + RESIDENT_MAX {
            broken.push(format!(
                "{}: {resident:.0} MB, {idle:.0} MB idle",
                word("name")
            ));
        }
        let key = (word("name"), word("who"));
        seconds.entry(key).or_default().push(took);
    }
    for turns in seconds.values_mut() {
        turns.sort_by(f64::total_cmp);
    }
    // The result is the median of the turns.
    let took = |name: &str, who: &str| {
        let turns = seconds.get(&(name.to_owned(), who.to_owned()))?;
        turns.get(turns.len() / 2).copied()
    };
    let mut comparisons = Vec::new();
    for (name, peer, times) in PROMISED {
        let (Some(ours), Some(theirs)) = (took(name, "weir"), took(peer, "PostgreSQL")) else {
            println!("{name}: not compared");
            continue;
        };
        if theirs / ours < *times {
            broken.push(format!(
                "{name}: {:.2} times PostgreSQL, {times} promised",
                theirs / ours
            ));
        }
        comparisons.push(Comparison {
            name: format!("a row as {name}"),
            ours: ours / rows * 1e6,
            peer: theirs / rows * 1e6,
            peer_name: format!("PostgreSQL, {peer}"),
            unit: "µs".to_owned(),
        });
    }
    if !broken.is_empty() {
        bail!("{}", broken.join("\n"));
    }
    Ok(comparisons)
}
