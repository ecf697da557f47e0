//! What a test does when the peer that judges it is not there.
//!
//! On a developer's machine such a test is skipped, and `cargo xtask test` counts and names it at its end. A
//! gate lists in `WEIR_REQUIRE` what it has installed, as in `tshark,zeek-baselines,erlang`, and there a missing
//! peer is a failure: a check that could not run is never taken for one that passed.

use std::fs::OpenOptions;
use std::io::Write;

/// Says that `peer` is not there, and what is therefore not checked.
///
/// The line goes to standard error and, where `WEIR_SKIPPED` names a file, to its end: the test runner swallows
/// the output of tests that pass.
///
/// # Panics
///
/// `WEIR_REQUIRE` lists the peer (names between commas; `all` stands for every one).
pub fn missing(peer: &str, unchecked: &str) {
    let required = std::env::var("WEIR_REQUIRE").unwrap_or_default();
    let is_required = required
        .split(',')
        .any(|name| matches!(name.trim(), name if name == peer || name == "all"));
    assert!(
        !is_required,
        "{peer} is required (WEIR_REQUIRE), and is not there: {unchecked}"
    );
    let line = format!("SKIPPED: no {peer}: {unchecked}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("WEIR_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(path);
        // One write a line: tests run side by side.
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
        if let Err(error) = written {
            eprintln!("note: WEIR_SKIPPED cannot be written: {error}");
        }
    }
}
