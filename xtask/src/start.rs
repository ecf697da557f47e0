//! `cargo xtask bench start`: what weir costs before it has read anything, and its size.
//!
//! `WEIR_PROGRAM=path/to/weir` measures that program instead of one that is built; `WEIR_PYTHON` names the interpreter
//! that imports the package, whose extension module is the one that `cargo xtask python` has placed.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::build_bench::{megabytes, sizes};
use crate::comparison::Comparison;
use crate::measure::{Cost, Subject, median};
use crate::process::installed;
use crate::scan::program;
use crate::workspace::root;

/// The runs of each command, after one warm-up run. A run takes milliseconds and varies as much.
const ROUNDS: usize = 31;
/// Multiples of `true` for `--version`, and of sqlite3 for a query of an empty capture, that are aimed at.
const GOALS: (f64, f64) = (3.0, 4.0);
/// Milliseconds of processor time that are aimed at.
const GOALS_MS: [(&str, f64); 2] = [(ALL_COLUMNS, 15.0), (IMPORT, 30.0)];
/// Megabytes of the stripped program that are aimed at, core and full.
const GOALS_SIZE: (f64, f64) = (60.0, 100.0);

const VERSION: &str = "weir --version";
const EMPTY: &str = "empty capture";
const ALL_COLUMNS: &str = "SELECT * … LIMIT 1";
const IMPORT: &str = "import weir";
const PYTHON: &str = "python3 -c pass";

/// Runs the benchmark.
pub(crate) fn run() -> Result<Vec<Comparison>> {
    let weir = program()?;
    let folder = std::env::temp_dir().join("weir-bench-start");
    fs::create_dir_all(&folder)?;
    let outcome = measure(&weir, &folder);
    fs::remove_dir_all(&folder)?;
    let comparisons = outcome?;
    size(&weir)?;
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
    // This is the header of a pcap file of Ethernet, without records.
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
        Subject::new(VERSION, weir, &["--version"]),
        query(EMPTY, &count),
        query(ALL_COLUMNS, &all),
        Subject::new(
            "weir clf search",
            weir,
            &["clf", "search", &log, "--method", "BYE"],
        ),
    ];
    for (name, program, arguments) in [
        ("sqlite3", "sqlite3", &[":memory:", "select 1"][..]),
        ("tshark -v", "tshark", &["-v"]),
    ] {
        match installed(program) {
            true => subjects.push(Subject::new(name, program, arguments)),
            false => println!("{name} is not there, and is left out"),
        }
    }
    subjects.extend(of_python()?);
    let measured = alternate(&subjects)?;
    report(&measured)
}

/// The commands of Python: an empty program, duckdb, and the import of weir.
fn of_python() -> Result<Vec<Subject>> {
    let python = std::env::var("WEIR_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    // The command may be a script that looks for the interpreter.
    let own = Subject::new(
        "python3",
        &python,
        &["-c", "import sys; print(sys.executable)"],
    )
    .run();
    let Ok((_, python)) = own else {
        println!("{python} is not there, and what it would run is left out");
        return Ok(Vec::new());
    };
    let code = |name: &str, code: &str| Subject::new(name, python.trim(), &["-c", code]);
    let mut subjects = vec![code(PYTHON, "pass")];
    match code("duckdb", "import duckdb").run() {
        Ok(_) => subjects.push(code(
            "duckdb",
            "import duckdb; duckdb.sql('select 1').fetchall()",
        )),
        Err(_) => println!("duckdb is not there, and is left out"),
    }
    let package = root()?.join("python");
    let import = format!(
        "import sys; sys.path.insert(0, {:?}); import weir",
        package.display().to_string()
    );
    let import = code(IMPORT, &import);
    match (package.join("weir/_weir.abi3.so").exists(), import.run()) {
        (true, Ok(_)) => subjects.push(import),
        (true, Err(error)) => println!("{IMPORT} fails, and is left out: {error}"),
        (false, _) => println!(
            "the extension module is not there (cargo xtask python), and {IMPORT} is left out"
        ),
    }
    Ok(subjects)
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
    let mut comparisons = Vec::new();
    for (name, peer, goal) in [
        (VERSION, "true", Some(GOALS.0)),
        (EMPTY, "sqlite3", Some(GOALS.1)),
        (EMPTY, "duckdb", None),
        (VERSION, "tshark -v", None),
        (IMPORT, PYTHON, None),
    ] {
        let (Some(row), Some(peer)) = (named(name), named(peer)) else {
            continue;
        };
        let goal = goal.map_or_else(String::new, |goal| format!(" (goal at most {goal})"));
        println!(
            "{name}: {:.2} times {}{goal}",
            row.cpu() / peer.cpu(),
            peer.name
        );
        let mut compare = |ours, theirs, unit: &str| {
            comparisons.push(Comparison {
                name: name.to_owned(),
                ours,
                peer: theirs,
                peer_name: peer.name.clone(),
                unit: unit.to_owned(),
            });
        };
        compare(row.cpu(), peer.cpu(), "ms of CPU");
        compare(row.faults() as f64, peer.faults() as f64, "page faults");
    }
    for (name, goal) in GOALS_MS {
        let Some(row) = named(name) else { continue };
        println!("{name}: {:.2} ms of CPU (goal {goal})", row.cpu());
        comparisons.push(Comparison {
            name: name.to_owned(),
            ours: row.cpu(),
            peer: goal,
            peer_name: "the goal".to_owned(),
            unit: "ms of CPU".to_owned(),
        });
    }
    Ok(comparisons)
}

/// The size of the program, and without its symbols, as packages carry it.
fn size(weir: &str) -> Result<()> {
    let (bytes, stripped) = sizes(Path::new(weir))?;
    println!("the program: {:.1} MB", megabytes(bytes));
    match stripped {
        Some(stripped) => println!(
            "stripped: {:.1} MB (goals of releases: core {}, full {})",
            megabytes(stripped),
            GOALS_SIZE.0,
            GOALS_SIZE.1
        ),
        None => println!("strip is not there: the size without symbols is left out"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_faults_pages() {
        let before = faults_of_children().unwrap();
        Subject::new("true", "true", &[]).run().unwrap();
        assert!(faults_of_children().unwrap() > before);
    }
}
