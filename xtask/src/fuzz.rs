//! Fuzzing: every target from its corpus, and then from random seeds.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use crate::process::{missing, run};
use crate::workspace::{root, target_dir};

/// Minutes of free seeds over all targets and processors, without `--minutes`.
const MINUTES: f64 = 2.0;

/// A target as `fuzz/Cargo.toml` describes it.
#[derive(Debug)]
struct FuzzTarget {
    name: String,
    max_len: i64,
    dictionary: Option<String>,
}

/// The result of a target's run.
#[derive(Debug)]
struct Outcome {
    name: String,
    /// Inputs that it was fed, as libFuzzer counts them.
    inputs: u64,
    peak_mib: u64,
    /// The input that broke a promise, under `fuzz/corpus`.
    found: Option<PathBuf>,
    /// The last lines of its standard error.
    stderr_end: String,
}

/// `cargo xtask fuzz [--minutes N] [TARGET…]`: the corpus of each target, and then inputs that grow from it with
/// a seed of their own each time, for `N` minutes over all targets on all processors.
pub(crate) fn command(words: &[&str]) -> Result<()> {
    let (minutes, asked) = arguments(words)?;
    let fuzz = root()?.join("fuzz");
    let mut targets = targets(&fuzz)?;
    if let Some(unknown) = asked
        .iter()
        .find(|asked| targets.iter().all(|target| target.name != **asked))
    {
        let known: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
        bail!(
            "no fuzz target is called {unknown}; there are {}",
            known.join(", ")
        );
    }
    targets.retain(|target| asked.is_empty() || asked.contains(&target.name.as_str()));
    let nightly = cargo_nightly(&["--version"]).output();
    if !nightly.is_ok_and(|output| output.status.success()) {
        return missing(
            "nightly",
            "fuzzing needs it (rustup toolchain install nightly)",
        );
    }
    if !cargo_nightly(&["fuzz", "--version"])
        .output()?
        .status
        .success()
    {
        return missing("cargo-fuzz", "fuzzing (cargo install cargo-fuzz)");
    }
    // Beside the directory of the stable compiler: the two would throw each other's work away.
    let target_dir = with_ending(&target_dir()?, "-fuzz");
    run(cargo_nightly(&["fuzz", "build"])
        .current_dir(&fuzz)
        .env("CARGO_TARGET_DIR", &target_dir))?;
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let seconds = (minutes * 60.0 * processors as f64 / targets.len() as f64).ceil() as u64;
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.subsec_nanos() | 1;
    eprintln!(
        "fuzzing {} targets for {seconds} s each on {processors} processors, seed {seed}",
        targets.len()
    );
    let outcomes = all(&fuzz, &target_dir, &targets, seconds, seed, processors);
    judged(outcomes?)
}

/// The minutes and the targets that the arguments name.
fn arguments<'w>(words: &[&'w str]) -> Result<(f64, Vec<&'w str>)> {
    let (mut minutes, mut asked) = (MINUTES, Vec::new());
    let mut words = words.iter();
    while let Some(&word) = words.next() {
        if word == "--minutes" {
            let number = words.next().context("--minutes takes a number")?;
            minutes = number
                .parse()
                .ok()
                .filter(|minutes: &f64| minutes.is_finite() && *minutes > 0.0)
                .with_context(|| format!("--minutes takes a number above 0, and got {number}"))?;
        } else {
            asked.push(word);
        }
    }
    Ok((minutes, asked))
}

/// Prints the result of each target; fails where an input broke a promise.
fn judged(outcomes: Vec<Outcome>) -> Result<()> {
    let mut found = Vec::new();
    for outcome in outcomes {
        match &outcome.found {
            None => eprintln!(
                "ok      {}: {} inputs, at most {} MiB",
                outcome.name, outcome.inputs, outcome.peak_mib
            ),
            Some(path) => {
                eprintln!(
                    "FAILED  {}: {}\n{}",
                    outcome.name,
                    path.display(),
                    outcome.stderr_end
                );
                found.push(path.display().to_string());
            }
        }
    }
    if !found.is_empty() {
        bail!(
            "{} inputs break promises; they are kept in the corpus, where `cargo test --no-default-features` in \
             fuzz/ runs them: {}",
            found.len(),
            found.join(", ")
        );
    }
    Ok(())
}

/// The targets, as `fuzz/Cargo.toml` lists them.
fn targets(fuzz: &Path) -> Result<Vec<FuzzTarget>> {
    let manifest: toml::Table = fs::read_to_string(fuzz.join("Cargo.toml"))?.parse()?;
    let listed = manifest
        .get("package")
        .and_then(|package| package.get("metadata")?.get("targets")?.as_table())
        .context("fuzz/Cargo.toml has no package.metadata.targets")?;
    listed
        .iter()
        .map(|(name, facts)| {
            let max_len = facts.get("max_len").and_then(toml::Value::as_integer);
            let dictionary = facts.get("dictionary").and_then(toml::Value::as_str);
            Ok(FuzzTarget {
                name: name.clone(),
                max_len: max_len.with_context(|| format!("{name} has no max_len"))?,
                dictionary: dictionary.map(ToOwned::to_owned),
            })
        })
        .collect()
}

/// Runs the targets, as many at a time as there are processors.
fn all(
    fuzz: &Path,
    target_dir: &Path,
    targets: &[FuzzTarget],
    seconds: u64,
    seed: u32,
    processors: usize,
) -> Result<Vec<Outcome>> {
    let next = AtomicUsize::new(0);
    let outcomes = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(target) = targets.get(index) else {
                        return;
                    };
                    let outcome = one(fuzz, target_dir, target, seconds, seed);
                    if let Ok(mut outcomes) = outcomes.lock() {
                        outcomes.insert(index, outcome);
                    }
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap_or_default();
    outcomes.into_values().collect()
}

/// Runs one target. New inputs go to a separate folder, so that the corpus does not change; an input that breaks a promise is
/// added to the corpus, which the tests read.
fn one(
    fuzz: &Path,
    target_dir: &Path,
    target: &FuzzTarget,
    seconds: u64,
    seed: u32,
) -> Result<Outcome> {
    let name = &target.name;
    let scratch = target_dir.join("found").join(name);
    let artifacts = scratch.join("artifacts");
    // Leftover files of an earlier run are not results of this one.
    if scratch.exists() {
        fs::remove_dir_all(&scratch)?;
    }
    fs::create_dir_all(&artifacts)?;
    let corpus = fuzz.join("corpus").join(name);
    let mut command = cargo_nightly(&["fuzz", "run", name]);
    command
        .current_dir(fuzz)
        .env("CARGO_TARGET_DIR", target_dir)
        // Freed memory that is kept to find uses of it counts as memory in use.
        .env("ASAN_OPTIONS", "quarantine_size_mb=32")
        .stdin(Stdio::null())
        .arg(&scratch)
        .arg(&corpus)
        .arg("--")
        .arg(format!("-seed={seed}"))
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={}", target.max_len))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .args(["-timeout=5", "-rss_limit_mb=512", "-malloc_limit_mb=64"])
        .arg("-print_final_stats=1");
    if let Some(dictionary) = &target.dictionary {
        let path = fuzz.join("dictionaries").join(format!("{dictionary}.dict"));
        command.arg(format!("-dict={}", path.display()));
    }
    let output = command
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let statistic = |name: &str| {
        let line = stderr.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse().ok())
            .unwrap_or(0)
    };
    let found = match output.status.success() {
        true => None,
        false => {
            Some(keep(&artifacts, &corpus).with_context(|| format!("{name} failed:\n{stderr}"))?)
        }
    };
    Ok(Outcome {
        name: name.clone(),
        inputs: statistic("stat::number_of_executed_units:"),
        peak_mib: statistic("stat::peak_rss_mb:"),
        found,
        stderr_end: end_of(&stderr),
    })
}

/// Moves the input that broke a promise into the corpus.
fn keep(artifacts: &Path, corpus: &Path) -> Result<PathBuf> {
    let artifact = fs::read_dir(artifacts)?
        .next()
        .context("it left no input behind")??;
    let name = artifact.file_name().to_string_lossy().into_owned();
    let kept = corpus.join(format!("found_{name}"));
    fs::copy(artifact.path(), &kept)?;
    Ok(kept)
}

/// The message of a failure without libFuzzer's progress and the stack's frames.
fn end_of(stderr: &str) -> String {
    let lines: Vec<&str> = stderr
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("    #"))
        .collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}

/// A path with more behind its last name.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Cargo with the compiler that fuzzing needs.
fn cargo_nightly(words: &[&str]) -> Command {
    let toolchain = std::env::var("FUZZ_TOOLCHAIN").unwrap_or_else(|_| "nightly".to_owned());
    let mut command = Command::new("rustup");
    command.args(["run", &toolchain, "cargo"]).args(words);
    // Set by the cargo that runs this program, for its own compiler.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO");
    command
}
