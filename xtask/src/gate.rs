//! The tests, and the gate that every change passes.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::{book, cargo, fuzz, page, publish, python, root, run, target_dir, tidy};

/// All tests of the workspace. What was skipped is counted and named at the end: tests that pass keep what they
/// say to themselves.
pub(crate) fn test(arguments: &[&str]) -> Result<()> {
    let skipped = target_dir()?.join("skipped-tests.txt");
    if skipped.exists() {
        fs::remove_file(&skipped)?;
    }
    let outcome = run(cargo(&["test", "--workspace"])?
        .args(arguments)
        .env("WEIR_SKIPPED", &skipped));
    let lines = fs::read_to_string(&skipped).unwrap_or_default();
    let mut peers: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines.lines() {
        let line = line.trim_start_matches("SKIPPED: no ");
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

/// Everything that a change has to pass, cheapest first; from a step on where one is named, for who mends what that
/// step found.
pub(crate) fn ci(from: Option<&str>) -> Result<()> {
    const STEPS: &[&str] = &[
        "fmt", "tidy", "clippy", "test", "python", "page", "doc", "docs", "deny", "publish",
        "sanitize", "fuzz",
    ];
    if let Some(from) = from.filter(|from| !STEPS.contains(from)) {
        bail!("the gate has no step {from}: {}", STEPS.join(", "));
    }
    let mut is_skipped = from.is_some();
    let mut step = |name: &str, part: &dyn Fn() -> Result<()>| {
        is_skipped &= from != Some(name);
        match is_skipped {
            true => Ok(()),
            false => step(name, part),
        }
    };
    step("fmt", &|| run(&mut cargo(&["fmt", "--all", "--check"])?))?;
    step("tidy", &tidy::run)?;
    step("clippy", &|| {
        let clippy = ["clippy", "--workspace", "--all-targets", "--"];
        run(cargo(&clippy)?.args(["-D", "warnings"]))
    })?;
    // The test command of the README.
    step("test", &|| test(&[]))?;
    step("python", &|| python::check(python::Build::WithAll))?;
    // `cargo xtask page --double` drives the page over a stand-in that answers by the command line.
    step("page", &|| page::check(python::Build::WithAll, &[]))?;
    step("doc", &|| {
        let docs = [
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ];
        run(cargo(&docs)?.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("docs", &|| book::make(python::Build::WithAll))?;
    step("deny", &deny)?;
    step("publish", &publish::check)?;
    step("sanitize", &sanitize)?;
    // Half a minute, until a run of hours over the new targets has been made by hand.
    step("fuzz", &|| fuzz::command(&["--minutes", "0.5"]))
}

/// Runs a part of the gate, and says how long it took.
fn step(name: &str, part: &dyn Fn() -> Result<()>) -> Result<()> {
    eprintln!("\n== {name}");
    let start = Instant::now();
    part()?;
    eprintln!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// What may come into the build. Not the advisories: they come from a database on the net, and change without us.
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

/// The tests of the crates that have `unsafe` code under the address sanitizer, valgrind and miri, as far
/// as they are installed; says what is skipped.
pub(crate) fn sanitize() -> Result<()> {
    run(Command::new("sh")
        .arg("crates/weir-dict/scripts/sanitize.sh")
        .current_dir(root()?))
}

/// Says that a tool is not there and what is not checked; an error where `WEIR_REQUIRE` lists it.
pub(crate) fn missing(tool: &str, unchecked: &str) -> Result<()> {
    let required = std::env::var("WEIR_REQUIRE").unwrap_or_default();
    if required
        .split(',')
        .any(|name| [tool, "all"].contains(&name.trim()))
    {
        bail!("{tool} is required (WEIR_REQUIRE), and is not there: {unchecked}");
    }
    eprintln!("SKIPPED: no {tool}: {unchecked}");
    Ok(())
}

/// Skipped checks that are named for each peer.
const SKIPPED_SHOWN: usize = 8;
