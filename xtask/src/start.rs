//! `cargo xtask bench start`: what weir costs before it has read anything, its size, and what building it costs.
//!
//! `WEIR_PROGRAM=path/to/weir` measures that program instead of one that is built; `WEIR_BUILD=1` builds the program
//! from nothing in a folder of its own too, which takes an hour of processor time, and tells the crates that it went to.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bench::Comparison;
use crate::measure::{Cost, Subject, median};
use crate::scan::program;
use crate::{cargo, installed};

/// Runs of each command, after one that does not count. They take milliseconds, and differ by as much.
const ROUNDS: usize = 31;
/// Multiples of `true` for `--version`, and of sqlite3 for a query of an empty capture, that are aimed at.
const GOALS: (f64, f64) = (3.0, 5.0);
/// Milliseconds of processor time that are aimed at: version, an empty query, `SELECT * … LIMIT 1`.
const GOALS_MS: (f64, f64, f64) = (2.5, 6.0, 12.0);
/// Megabytes of the stripped program, and minutes of the build on two cores, that are aimed at.
const GOALS_SIZE: (f64, f64) = (90.0, 15.0);

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let weir = program()?;
    let folder = std::env::temp_dir().join("weir-bench-start");
    fs::create_dir_all(&folder)?;
    let outcome = measure(&weir, &folder);
    fs::remove_dir_all(&folder)?;
    let comparisons = outcome?;
    size(&weir)?;
    if std::env::var_os("WEIR_BUILD").is_some() {
        build_time()?;
    }
    Ok(comparisons)
}

/// One command: its costs, and the pages that the system had to give it.
struct Measured {
    name: String,
    costs: Vec<Cost>,
    faults: Vec<u64>,
}

impl Measured {
    fn cpu(&self) -> f64 {
        median(&self.costs, |cost| cost.cpu) * 1e3
    }

    fn wall(&self) -> f64 {
        median(&self.costs, |cost| cost.wall) * 1e3
    }

    fn faults(&self) -> u64 {
        let mut faults = self.faults.clone();
        faults.sort_unstable();
        faults.get(faults.len() / 2).copied().unwrap_or_default()
    }
}

fn measure(weir: &str, folder: &Path) -> Result<Vec<Comparison>> {
    let empty = folder.join("empty.pcap");
    // The header of a pcap file of Ethernet, and no record.
    let header: [u32; 6] = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1];
    fs::write(&empty, header.map(u32::to_le_bytes).concat())?;
    let samples = folder.join("demo");
    let samples = samples.to_str().context("the path of a folder is UTF-8")?;
    Subject::new("demo", weir, &["demo", "--no-tour", samples]).run()?;
    let calls = format!("{samples}/calls.pcap");
    let log = format!("{samples}/calls.clf");
    Subject::new("clf write", weir, &["clf", "write", &calls, "-o", &log]).run()?;
    let count = format!("SELECT count(*) FROM '{}'", empty.display());
    let all = format!("SELECT * FROM '{calls}' LIMIT 1");
    let query =
        |name: &str, sql: &str| Subject::new(name, weir, &["query", "-q", "--format", "csv", sql]);
    let mut subjects = vec![
        Subject::new("true", "true", &[]),
        Subject::new("weir --version", weir, &["--version"]),
        query("empty capture", &count),
        query("SELECT * … LIMIT 1", &all),
        Subject::new(
            "weir clf search",
            weir,
            &["clf", "search", &log, "--method", "BYE"],
        ),
    ];
    for (name, program, arguments) in [
        ("sqlite3", "sqlite3", &[":memory:", "select 1"][..]),
        ("tshark -v", "tshark", &["-v"]),
        (
            "duckdb",
            "python3",
            &["-c", "import duckdb; duckdb.sql('select 1').fetchall()"],
        ),
    ] {
        let there = match name {
            "duckdb" => Subject::new(name, program, &["-c", "import duckdb"])
                .run()
                .is_ok(),
            _ => installed(program),
        };
        match there {
            true => subjects.push(Subject::new(name, program, arguments)),
            false => println!("{name} is not there, and is left out"),
        }
    }
    let measured = alternate(&subjects)?;
    report(&measured)
}

/// Runs the subjects in turn.
fn alternate(subjects: &[Subject]) -> Result<Vec<Measured>> {
    let mut measured: Vec<Measured> = subjects
        .iter()
        .map(|subject| Measured {
            name: subject.name.clone(),
            costs: Vec::new(),
            faults: Vec::new(),
        })
        .collect();
    for round in 0..=ROUNDS {
        for (subject, measured) in subjects.iter().zip(&mut measured) {
            let before = faults_of_children()?;
            let (cost, _) = subject.run()?;
            if round > 0 {
                measured.costs.push(cost);
                measured.faults.push(faults_of_children()? - before);
            }
        }
    }
    Ok(measured)
}

/// Pages that the children which ended were given without reading a disk: field 11 of proc(5)'s `stat`, `cminflt`.
fn faults_of_children() -> Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat").context("page faults are read from /proc")?;
    let (_, behind) = stat
        .rsplit_once(") ")
        .context("the name stands in brackets")?;
    let word = behind.split(' ').nth(8).context("it has eleven fields")?;
    Ok(word.parse()?)
}

fn report(measured: &[Measured]) -> Result<Vec<Comparison>> {
    println!(
        "{:<22} {:>9} {:>9} {:>8}",
        "", "CPU ms", "wall ms", "faults"
    );
    for row in measured {
        println!(
            "{:<22} {:>9.2} {:>9.2} {:>8}",
            row.name,
            row.cpu(),
            row.wall(),
            row.faults()
        );
    }
    let named = |name: &str| measured.iter().find(|row| row.name == name);
    let (version, empty, all) = (
        named("weir --version").context("it was measured")?,
        named("empty capture").context("it was measured")?,
        named("SELECT * … LIMIT 1").context("it was measured")?,
    );
    for (row, goal) in [
        (version, GOALS_MS.0),
        (empty, GOALS_MS.1),
        (all, GOALS_MS.2),
    ] {
        println!("{}: {:.2} ms of CPU (goal {goal})", row.name, row.cpu());
    }
    let mut comparisons = Vec::new();
    for (row, peer, goal) in [
        (version, "true", Some(GOALS.0)),
        (empty, "sqlite3", Some(GOALS.1)),
        (empty, "duckdb", None),
        (version, "tshark -v", None),
    ] {
        let Some(peer) = named(peer) else { continue };
        let goal = goal.map_or_else(String::new, |goal| format!(" (goal at most {goal})"));
        println!(
            "{}: {:.2} times {}{goal}",
            row.name,
            row.cpu() / peer.cpu(),
            peer.name
        );
        comparisons.push(Comparison {
            name: row.name.clone(),
            ours: row.cpu(),
            peer: peer.cpu(),
            peer_name: peer.name.clone(),
            unit: "ms of CPU".to_owned(),
        });
    }
    Ok(comparisons)
}

/// The size of the program without its symbols, which packages carry.
fn size(weir: &str) -> Result<()> {
    let stripped = std::env::temp_dir().join("weir-bench-stripped");
    let mut strip = Command::new("strip");
    crate::run(strip.arg("-o").arg(&stripped).arg(weir))?;
    let bytes = fs::metadata(&stripped)?.len();
    fs::remove_file(&stripped)?;
    println!(
        "the program: {:.1} MB, stripped {:.1} MB (goal {})",
        megabytes(fs::metadata(weir)?.len()),
        megabytes(bytes),
        GOALS_SIZE.0
    );
    Ok(())
}

fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// Builds the program in an empty folder, and tells how long that took, and the crates that took longest.
fn build_time() -> Result<()> {
    let target = std::env::temp_dir().join("weir-bench-build");
    if target.exists() {
        fs::remove_dir_all(&target)?;
    }
    let started = Instant::now();
    let mut build = cargo(&["build", "--release", "--package", "weir-cli", "--timings"])?;
    crate::run(build.env("CARGO_TARGET_DIR", &target))?;
    let wall = started.elapsed().as_secs_f64();
    let page = fs::read_to_string(target.join("cargo-timings/cargo-timing.html"))?;
    let crates = durations(&page)?;
    let total: f64 = crates.values().sum();
    println!(
        "built from nothing in {:.1} minutes (goal {} on two cores), {:.1} minutes of crates",
        wall / 60.0,
        GOALS_SIZE.1,
        total / 60.0
    );
    let mut crates: Vec<(String, f64)> = crates.into_iter().collect();
    crates.sort_by(|a, b| b.1.total_cmp(&a.1));
    for (name, seconds) in crates.iter().take(20) {
        println!("{name:<34} {seconds:>8.1} s");
    }
    fs::remove_dir_all(&target)?;
    Ok(())
}

/// Seconds of each crate, of the page that `cargo build --timings` writes.
fn durations(page: &str) -> Result<BTreeMap<String, f64>> {
    let data = page
        .split_once("const UNIT_DATA = ")
        .and_then(|(_, behind)| behind.split_once(";\n"))
        .context("cargo's page of timings has no UNIT_DATA")?;
    let units: Vec<Value> = serde_json::from_str(data.0)?;
    let mut crates = BTreeMap::new();
    for unit in &units {
        let (Some(name), Some(seconds)) = (unit["name"].as_str(), unit["duration"].as_f64()) else {
            bail!("cargo's page of timings has a unit without name or duration: {unit}");
        };
        *crates.entry(name.to_owned()).or_default() += seconds;
    }
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_summed_over_their_units() {
        let page = "<script>\nconst UNIT_DATA = [{\"name\":\"a\",\"duration\":1.5},{\"name\":\"b\",\"duration\":2.0},\
                    {\"name\":\"a\",\"duration\":0.5}];\nconst CONCURRENCY = [];";
        let crates = durations(page).unwrap();
        assert_eq!(crates.get("a"), Some(&2.0));
        assert_eq!(crates.len(), 2);
        assert!(durations("<html>").is_err());
    }

    #[test]
    fn a_child_faults_pages() {
        let before = faults_of_children().unwrap();
        Subject::new("true", "true", &[]).run().unwrap();
        assert!(faults_of_children().unwrap() > before);
    }
}
