//! `cargo xtask bench build [--release]`: the cost of building the program from nothing, and its size.
//!
//! Each build has an empty target folder, and the sources of all crates before it starts. The core and the program with
//! all features are built in the dev profile, or with `--release` in that of packages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use wait4::Wait4;

use crate::comparison;
use crate::measure::Subject;
use crate::process::{announced, installed, run};
use crate::workspace::{cargo, target_dir};

/// A way to build the program.
struct BuildKind {
    name: &'static str,
    words: &'static [&'static str],
    /// The folder of the profile in the target folder.
    folder: &'static str,
    goals: Goals,
}

/// The goals for a build on two idle cores.
#[derive(Default)]
struct Goals {
    /// Minutes by the clock from the first command to its answer.
    answer: Option<f64>,
    /// Minutes by the clock of the build.
    build: Option<f64>,
    /// Megabytes of the program without its symbols.
    stripped: Option<f64>,
}

const DEV: &[BuildKind] = &[
    BuildKind {
        name: "core, dev",
        words: &[],
        folder: "debug",
        goals: Goals {
            answer: Some(8.0),
            build: None,
            stripped: None,
        },
    },
    BuildKind {
        name: "full, dev",
        words: &["--features", "full"],
        folder: "debug",
        goals: Goals {
            answer: None,
            build: None,
            stripped: None,
        },
    },
];

const RELEASE: &[BuildKind] = &[
    BuildKind {
        name: "core, release",
        words: &["--release"],
        folder: "release",
        goals: Goals {
            answer: None,
            build: Some(25.0),
            stripped: Some(60.0),
        },
    },
    BuildKind {
        name: "full, release",
        words: &["--release", "--features", "full"],
        folder: "release",
        goals: Goals {
            answer: None,
            build: Some(40.0),
            stripped: Some(100.0),
        },
    },
];

/// Crates that are printed of each build; the saved figures have all.
const CRATES_SHOWN: usize = 20;

/// Runs the benchmark; `words` are its arguments.
pub(crate) fn command(words: &[&str]) -> Result<()> {
    let (name, kinds) = match words {
        [] => ("build", DEV),
        ["--release"] => ("build-release", RELEASE),
        _ => bail!("cargo xtask bench build takes --release or nothing"),
    };
    run(&mut cargo(&["fetch", "--locked"])?)?;
    if !installed("strip") {
        println!("strip is not there: sizes without symbols are left out");
    }
    let mut records = Vec::new();
    for kind in kinds {
        let target = target_dir()?.join("bench/build");
        let mut build = cargo(&["build", "--locked", "--package", "weir-cli"])?;
        build.args(kind.words);
        let built = Built::from_nothing(&mut build, &target, &Path::new(kind.folder).join("weir"))?;
        let program = target.join(kind.folder).join("weir");
        let samples = target.join("demo");
        let words = [
            "demo",
            samples
                .to_str()
                .context("the path of the target folder is UTF-8")?,
        ];
        let (demo, _) =
            Subject::new("demo", program.to_str().context("as is this")?, &words).run()?;
        fs::remove_dir_all(&target)?;
        let rows = built.rows(kind, demo.wall);
        show(&rows, &built);
        records.extend(rows.iter().map(Figure::record));
        let all: BTreeMap<&str, f64> = built
            .units
            .iter()
            .map(|(name, unit)| (name.as_str(), *unit))
            .collect();
        records.push(json!({"name": format!("{}: seconds by crate", kind.name), "crates": all}));
    }
    comparison::save(name, &records)
}

/// A figure and its goal.
struct Figure {
    name: String,
    ours: f64,
    unit: &'static str,
    goal: Option<f64>,
}

impl Figure {
    fn record(&self) -> Value {
        let Self {
            name,
            ours,
            unit,
            goal,
        } = self;
        match goal {
            None => json!({"name": name, "ours": ours, "unit": unit}),
            Some(goal) => json!({
                "name": name, "ours": ours, "unit": unit, "peer": goal, "peer_name": "the goal", "ratio": goal / ours,
            }),
        }
    }
}

/// The cost of a build, and its result.
#[derive(Debug)]
struct Built {
    wall: f64,
    /// Seconds of processor time of cargo and all that it started.
    cpu: f64,
    /// Names and versions that were compiled, build scripts' libraries among them.
    crates: usize,
    /// Seconds by the clock of each crate's compilers and build scripts, several of which run at once.
    units: BTreeMap<String, f64>,
    bytes: u64,
    /// The size without symbols, if `strip` is installed.
    stripped: Option<u64>,
}

impl Built {
    /// Runs a build in an empty target folder; `program` is what it makes there.
    fn from_nothing(build: &mut Command, target: &Path, program: &Path) -> Result<Self> {
        if target.exists() {
            fs::remove_dir_all(target)?;
        }
        build.arg("--timings").env("CARGO_TARGET_DIR", target);
        // The variables that the gate sets for its own builds are removed, so that this build has cargo's defaults.
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| {
                name == "CARGO_INCREMENTAL" || name.starts_with("CARGO_PROFILE_")
            }) {
                build.env_remove(name);
            }
        }
        let line = announced(build);
        let started = Instant::now();
        let ended = build
            .spawn()
            .with_context(|| format!("cannot start {line}"))?
            .wait4()?;
        let wall = started.elapsed().as_secs_f64();
        if !ended.status.success() {
            bail!("{line}: {}", ended.status);
        }
        let page = fs::read_to_string(target.join("cargo-timings/cargo-timing.html"))?;
        let (crates, units) = units(&page)?;
        let (bytes, stripped) = sizes(&target.join(program))?;
        let cpu = (ended.rusage.utime + ended.rusage.stime).as_secs_f64();
        Ok(Self {
            wall,
            cpu,
            crates,
            units,
            bytes,
            stripped,
        })
    }

    fn rows(&self, kind: &BuildKind, demo: f64) -> Vec<Figure> {
        let row = |what: &str, ours: f64, unit, goal| Figure {
            name: format!("{}: {what}", kind.name),
            ours,
            unit,
            goal,
        };
        let minutes = |goal: Option<f64>| goal.map(|minutes| minutes * 60.0);
        let mut rows = vec![
            row("by the clock", self.wall, "s", minutes(kind.goals.build)),
            row(
                "with the demo's tour",
                self.wall + demo,
                "s",
                minutes(kind.goals.answer),
            ),
            row("processor time", self.cpu, "s", None),
            row("crates", self.crates as f64, "crates", None),
            row("the program", megabytes(self.bytes), "MB", None),
        ];
        if let Some(stripped) = self.stripped {
            rows.push(row(
                "the program, stripped",
                megabytes(stripped),
                "MB",
                kind.goals.stripped,
            ));
        }
        rows
    }
}

fn show(rows: &[Figure], built: &Built) {
    println!();
    for Figure {
        name,
        ours,
        unit,
        goal,
    } in rows
    {
        let goal = goal.map_or_else(String::new, |goal| format!(" (goal {goal:.0})"));
        println!("{name:<40} {ours:>9.1} {unit}{goal}");
    }
    let mut units: Vec<(&String, &f64)> = built.units.iter().collect();
    units.sort_by(|a, b| b.1.total_cmp(a.1));
    println!("the crates that took longest:");
    for (name, seconds) in units.into_iter().take(CRATES_SHOWN) {
        println!("    {name:<36} {seconds:>9.1} s");
    }
}

/// Bytes of a program, and of the same without symbols where `strip` is there.
pub(crate) fn sizes(program: &Path) -> Result<(u64, Option<u64>)> {
    let bytes = fs::metadata(program)?.len();
    if !installed("strip") {
        return Ok((bytes, None));
    }
    let place = std::env::temp_dir().join(format!("weir-bench-stripped-{}", std::process::id()));
    run(Command::new("strip").arg("-o").arg(&place).arg(program))?;
    let stripped = fs::metadata(&place)?.len();
    fs::remove_file(&place)?;
    Ok((bytes, Some(stripped)))
}

pub(crate) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// The number of compiled crates and the seconds of each name, from the page of `cargo build --timings`: its JSON output needs a
/// nightly toolchain.
fn units(page: &str) -> Result<(usize, BTreeMap<String, f64>)> {
    let data = page
        .split_once("const UNIT_DATA = ")
        .and_then(|(_, behind)| behind.split_once(";\n"))
        .context("cargo's page of timings has no UNIT_DATA")?;
    let found: Vec<Value> = serde_json::from_str(data.0)?;
    let mut crates = BTreeSet::new();
    let mut units = BTreeMap::new();
    for unit in &found {
        let (Some(name), Some(seconds)) = (unit["name"].as_str(), unit["duration"].as_f64()) else {
            bail!("cargo's page of timings has a unit without name or duration: {unit}");
        };
        crates.insert((name, unit["version"].as_str()));
        *units.entry(name.to_owned()).or_default() += seconds;
    }
    Ok((crates.len(), units))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_summed_over_their_units() {
        let page = "<script>\nconst UNIT_DATA = [{\"name\":\"a\",\"version\":\"1\",\"duration\":1.5},\
                    {\"name\":\"b\",\"version\":\"1\",\"duration\":2.0},{\"name\":\"a\",\"version\":\"1\",\"duration\":0.5},\
                    {\"name\":\"a\",\"version\":\"2\",\"duration\":1}];\nconst CONCURRENCY = [];";
        let (crates, units) = units(page).unwrap();
        assert_eq!(units.get("a"), Some(&3.0));
        assert_eq!((crates, units.len()), (3, 2));
        assert!(super::units("<html>").is_err());
    }

    #[test]
    fn a_build_from_nothing_is_measured() {
        let folder = std::env::temp_dir().join(format!("weir-bench-build-{}", std::process::id()));
        fs::create_dir_all(folder.join("src")).unwrap();
        let manifest =
            "[package]\nname = 'one'\nversion = '0.1.0'\nedition = '2024'\n[workspace]\n";
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
        fs::write(folder.join("src/main.rs"), "fn main() {}\n").unwrap();
        let target = folder.join("target");
        // The measurement removes files that the target folder already has.
        fs::create_dir_all(&target).unwrap();
        fs::write(target.join("left"), "").unwrap();
        let mut build = cargo(&["build", "--offline"]).unwrap();
        build.current_dir(&folder);
        let built = Built::from_nothing(&mut build, &target, Path::new("debug/one")).unwrap();
        assert!(!target.join("left").exists());
        assert_eq!(built.crates, 1);
        assert_eq!(built.units.keys().collect::<Vec<_>>(), ["one"]);
        assert!(built.cpu > 0.0);
        assert!(built.stripped.is_none_or(|stripped| stripped < built.bytes));
        let kind = RELEASE.first().unwrap();
        let stripped = 30_000_000;
        let rows = Built {
            wall: 1500.0,
            stripped: Some(stripped),
            ..built
        }
        .rows(kind, 2.0);
        let first = json!({
            "name": "core, release: by the clock", "ours": 1500.0, "unit": "s", "peer": 1500.0, "peer_name": "the goal",
            "ratio": 1.0,
        });
        assert_eq!(rows.first().unwrap().record(), first);
        assert_eq!(rows.get(1).unwrap().record()["ours"], 1502.0);
        assert_eq!(rows.last().unwrap().record()["ratio"], 2.0);
        fs::remove_dir_all(&folder).unwrap();
    }
}
