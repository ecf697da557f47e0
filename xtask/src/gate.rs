//! The tests, and the gate that every change passes.

use std::process::Command;

use anyhow::Result;

use crate::{cargo, installed, root, run, tidy};

/// All tests of the workspace.
pub(crate) fn test(arguments: &[&str]) -> Result<()> {
    for (peer, part) in [("tshark", "the comparison of every column with Wireshark's")] {
        if !installed(peer) {
            eprintln!("note: {peer} is not installed: {part} is skipped");
        }
    }
    if !root()?.join("../shared/data").is_dir() {
        eprintln!("note: ../shared/data is not there: tests over real captures are skipped");
    }
    run(cargo(&["test", "--workspace"])?.args(arguments))
}

/// Everything that a change has to pass, cheapest first.
pub(crate) fn ci() -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"])?)?;
    tidy::run()?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    run(&mut cargo(&clippy)?)?;
    test(&[])?;
    let docs = [
        "doc",
        "--workspace",
        "--no-deps",
        "--document-private-items",
    ];
    run(cargo(&docs)?.env("RUSTDOCFLAGS", "-D warnings"))?;
    match cargo(&["deny", "--version"])?.output() {
        Ok(output) if output.status.success() => {
            // Not the advisories: they come from a database on the net, and change without us.
            run(&mut cargo(&[
                "deny", "check", "bans", "licenses", "sources",
            ])?)?;
        }
        _ => eprintln!("SKIPPED: cargo deny is not installed (cargo install cargo-deny)"),
    }
    sanitize()?;
    fuzz()
}

/// The tests of crates that have `unsafe` code under the address sanitizer, valgrind and miri, as far
/// as they are installed; says what is skipped.
pub(crate) fn sanitize() -> Result<()> {
    run(Command::new("sh")
        .arg("crates/weir-dict/scripts/sanitize.sh")
        .current_dir(root()?))
}

/// Every fuzz target for a few seconds.
pub(crate) fn fuzz() -> Result<()> {
    let has_nightly = Command::new("cargo")
        .args(["+nightly", "--version"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !has_nightly {
        eprintln!(
            "SKIPPED: fuzzing needs the nightly toolchain (rustup toolchain install nightly)"
        );
        return Ok(());
    }
    run(Command::new("bash")
        .arg("fuzz/smoke.sh")
        .current_dir(root()?))
}
