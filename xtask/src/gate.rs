//! The tests, and the gate that every change passes.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::process::{missing, run};
use crate::suite::Suite;
use crate::workspace::{FULL, cargo, root, target_dir};
use crate::{book, fuzz, page, publish, python, tidy, versions};

/// The answers of peers that tests accept (`weir_testkit::peer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Also the cached answers, unless `WEIR_PEERS` forbids them.
    Kept,
    /// Only those that peers give now.
    Anew,
}

/// Runs all tests of the workspace, or those of the packages that `arguments` to cargo test name.
pub(crate) fn test(arguments: &[&str]) -> Result<()> {
    let cargo = arguments
        .split(|word| *word == "--")
        .next()
        .unwrap_or_default();
    match cargo
        .iter()
        .any(|word| word.starts_with("-p") || word.starts_with("--package"))
    {
        true => tests(arguments, Answers::Kept),
        false => workspace(arguments, Answers::Kept),
    }
}

fn workspace(arguments: &[&str], answers: Answers) -> Result<()> {
    tests(&[&["--workspace"], &FULL[..], arguments].concat(), answers)
}

/// The tests that `words` to cargo test select. Skipped tests are counted and named at the end: tests that pass keep
/// what they say to themselves.
pub(crate) fn tests(words: &[&str], answers: Answers) -> Result<()> {
    let skipped = target_dir()?.join("skipped-tests.txt");
    if skipped.exists() {
        fs::remove_file(&skipped)?;
    }
    let mut suite = Suite::new(words)?;
    suite.set("WEIR_SKIPPED", &skipped);
    if answers == Answers::Anew {
        suite.set("WEIR_PEERS", "anew");
    }
    let outcome = suite.run();
    let lines = fs::read_to_string(&skipped).unwrap_or_default();
    let mut peers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines.lines() {
        let Some(line) = line.strip_prefix("SKIPPED: no ") else {
            // Captures that are not on the list of those that tests read.
            eprintln!("{line}");
            continue;
        };
        let (peer, unchecked) = line.split_once(": ").unwrap_or((line, ""));
        peers.entry(peer).or_default().push(unchecked);
    }
    for (peer, unchecked) in &mut peers {
        unchecked.dedup();
        eprintln!(
            "SKIPPED: {} checks, since there is no {peer}:",
            unchecked.len()
        );
        for unchecked in unchecked.iter().take(SKIPPED_SHOWN) {
            eprintln!("    {unchecked}");
        }
        if let Some(more @ 1..) = unchecked.len().checked_sub(SKIPPED_SHOWN) {
            eprintln!("    and {more} more");
        }
    }
    if peers.is_empty() && outcome.is_ok() {
        eprintln!("no check was skipped");
    }
    outcome
}

/// The extent of the gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tier {
    /// The checks that every change must pass before it lands.
    Quick,
    /// All that there is, with what needs tools that are built from source.
    Full,
}

impl Tier {
    const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }

    /// The words of the chore that runs it.
    const fn chore(self) -> &'static str {
        match self {
            Self::Quick => "cargo xtask ci",
            Self::Full => "cargo xtask ci --full",
        }
    }
}

/// A part of the gate.
struct GateStep {
    name: &'static str,
    tier: Tier,
    /// The command that runs the step alone.
    alone: &'static str,
    run: fn(Tier) -> Result<()>,
}

/// The parts of the gate, cheapest first.
const STEPS: &[GateStep] = &[
    GateStep {
        name: "fmt",
        tier: Tier::Quick,
        alone: "cargo fmt --all --check",
        run: |_| run(&mut cargo(&["fmt", "--all", "--check"])?),
    },
    GateStep {
        name: "tidy",
        tier: Tier::Quick,
        alone: "cargo xtask tidy",
        run: |_| tidy::run(),
    },
    GateStep {
        name: "clippy",
        tier: Tier::Quick,
        alone: "cargo clippy --workspace --all-targets --features weir-cli/full -- -D warnings",
        run: |_| {
            // The first pass checks the program without features, beside libraries whose features the workspace unifies.
            for features in [&[][..], &FULL] {
                let mut clippy = cargo(&["clippy", "--workspace", "--all-targets"])?;
                run(clippy.args(features).args(["--", "-D", "warnings"]))?;
            }
            Ok(())
        },
    },
    GateStep {
        name: "core",
        tier: Tier::Quick,
        alone: "cargo check && cargo test --workspace --test core",
        run: |tier| {
            // `cargo run` builds this variant: beside other members of the workspace, libraries have features that they lack
            // there.
            run(&mut cargo(&["check"])?)?;
            let alone: &[&str] = match tier {
                Tier::Quick => &[],
                Tier::Full => &["serve", "cluster", "remote"],
            };
            for feature in alone {
                run(&mut cargo(&[
                    "check",
                    "--features",
                    &format!("weir-cli/{feature}"),
                ])?)?;
            }
            tests(&["--workspace", "--test", "core"], Answers::Kept)
        },
    },
    GateStep {
        name: "test",
        tier: Tier::Quick,
        alone: "cargo xtask test",
        // All test programs run even after a failure, because the next run of the gate takes another hour.
        run: |tier| {
            let answers = match tier {
                Tier::Quick => Answers::Kept,
                Tier::Full => Answers::Anew,
            };
            workspace(&["--no-fail-fast"], answers)
        },
    },
    GateStep {
        name: "python",
        tier: Tier::Quick,
        alone: "cargo xtask python",
        run: |_| python::check(python::Build::WithAll),
    },
    GateStep {
        name: "page",
        tier: Tier::Quick,
        alone: "cargo xtask page",
        // `cargo xtask page --double` drives the page over a stand-in that answers by the command line.
        run: |_| page::check(python::Build::WithAll, &[]),
    },
    GateStep {
        name: "doc",
        tier: Tier::Full,
        alone: "RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --features weir-cli/full",
        run: |_| {
            let docs = [
                "doc",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ];
            run(cargo(&docs)?.args(FULL).env("RUSTDOCFLAGS", "-D warnings"))
        },
    },
    GateStep {
        name: "docs",
        tier: Tier::Full,
        alone: "cargo xtask docs",
        run: |_| book::make(python::Build::WithAll),
    },
    GateStep {
        name: "deny",
        tier: Tier::Full,
        alone: "cargo deny check bans licenses sources",
        run: |_| deny(),
    },
    GateStep {
        name: "publish",
        tier: Tier::Full,
        alone: "cargo xtask publish",
        run: |_| publish::check(),
    },
    GateStep {
        name: "sanitize",
        tier: Tier::Full,
        alone: "cargo xtask sanitize",
        run: |_| sanitize(),
    },
    GateStep {
        name: "fuzz",
        tier: Tier::Full,
        alone: "cargo xtask fuzz --minutes 0.5",
        // Half a minute, until a run of hours over the new targets has been made by hand.
        run: |_| fuzz::command(&["--minutes", "0.5"]),
    },
];

/// Runs the steps of the gate, or those from the step `from` on, to continue after a failed step was fixed. When all steps have
/// passed, `gate.json` in the target folder names the commit.
pub(crate) fn ci(tier: Tier, from: Option<&str>) -> Result<()> {
    let steps: Vec<&GateStep> = STEPS
        .iter()
        .filter(|step| tier == Tier::Full || step.tier == tier)
        .collect();
    let first = match from {
        None => 0,
        Some(from) => match steps.iter().position(|step| step.name == from) {
            Some(first) => first,
            None => {
                let names: Vec<&str> = steps.iter().map(|step| step.name).collect();
                bail!("{} has no step {from}: {}", tier.chore(), names.join(", "));
            }
        },
    };
    let versions = versions::all();
    eprintln!("what runs here:");
    for (name, version) in &versions {
        eprintln!("    {name}: {version}");
    }
    let _compiled = CompiledHere;
    // The commit is taken at the start: commits made during the run are not checked.
    let state = Checkout::now();
    let mut passed = Vec::new();
    for step in steps.into_iter().skip(first) {
        eprintln!("\n== {}", step.name);
        let start = Instant::now();
        let outcome = (step.run)(tier);
        let seconds = start.elapsed().as_secs_f64();
        outcome.with_context(|| {
            format!(
                "the step {name} failed after {seconds:.0} s; to see it again: {}; to go on from it: {} --from {name}",
                step.alone,
                tier.chore(),
                name = step.name,
            )
        })?;
        eprintln!("== {}: {seconds:.0} s", step.name);
        passed.push((step.name, seconds));
    }
    eprintln!("\nthe gate ({}) passed:", tier.name());
    for (name, seconds) in &passed {
        eprintln!("    {name:<10}{seconds:>7.0} s");
    }
    let all: f64 = passed.iter().map(|(_, seconds)| seconds).sum();
    eprintln!("    {:<10}{all:>7.0} s", "all");
    match from {
        Some(from) => eprintln!("not all of it: it began at {from}, so no gate.json was written"),
        None => state.keep(tier, &passed, &versions)?,
    }
    Ok(())
}

/// Writes the path of the checkout at the end of the gate, passed or not: the target folder was then compiled from the sources of
/// that checkout. A killed gate writes nothing, and the next `.ci/run` compiles the whole workspace.
struct CompiledHere;

impl Drop for CompiledHere {
    fn drop(&mut self) {
        let written = target_dir().and_then(|folder| {
            let checkout = root()?.canonicalize()?;
            Ok(fs::write(
                folder.join("gate-checkout"),
                format!("{}\n", checkout.display()),
            )?)
        });
        if let Err(error) = written {
            eprintln!("note: the next gate compiles the workspace anew: {error:#}");
        }
    }
}

/// The commit under test.
struct Checkout {
    commit: Option<String>,
    is_clean: bool,
}

impl Checkout {
    /// The state that git reports; a checkout without git has no commit.
    fn now() -> Self {
        let git = |words: &[&str]| {
            let output = Command::new("git")
                .args(words)
                .current_dir(root().ok()?)
                .output()
                .ok()?;
            let said = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| said.trim().to_owned())
        };
        Self {
            commit: git(&["rev-parse", "HEAD"]),
            is_clean: git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty()),
        }
    }

    /// Writes `gate.json`: what has passed, when, how long each step took, and beside which versions.
    fn keep(self, tier: Tier, passed: &[(&str, f64)], versions: &[(String, String)]) -> Result<()> {
        let finished = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let steps: Vec<_> = passed
            .iter()
            .map(
                |(name, seconds)| json!({"name": name, "seconds": (seconds * 10.0).round() / 10.0}),
            )
            .collect();
        let versions: serde_json::Map<_, _> = versions
            .iter()
            .map(|(name, version)| (name.clone(), version.clone().into()))
            .collect();
        let Self { commit, is_clean } = self;
        let gate = json!({
            "commit": commit,
            "clean": is_clean,
            "tier": tier.name(),
            "finished_unix_seconds": finished,
            "steps": steps,
            "versions": versions,
        });
        let path = target_dir()?.join("gate.json");
        let beside = path.with_extension("json.new");
        fs::write(&beside, format!("{gate:#}\n"))?;
        fs::rename(&beside, &path)?;
        eprintln!("{}", path.display());
        Ok(())
    }
}

/// Checks licences and sources of dependencies. Advisories are left out: they come from a database on the web and change without
/// a commit.
fn deny() -> Result<()> {
    let found = cargo(&["deny", "--version"])?.output();
    if !found.is_ok_and(|output| output.status.success()) {
        return missing(
            "cargo-deny",
            "licences and sources (cargo install cargo-deny)",
        );
    }
    let words = ["deny", "check", "bans", "licenses", "sources"];
    run(&mut cargo(&words)?)
}

/// Runs the tests of the crates with `unsafe` code under the address sanitizer, valgrind and miri, as far as these are installed;
/// missing tools are reported.
pub(crate) fn sanitize() -> Result<()> {
    run(Command::new("sh")
        .arg("crates/weir-dict/scripts/sanitize.sh")
        .current_dir(root()?))
}

/// Skipped checks that are named for each peer.
const SKIPPED_SHOWN: usize = 8;
