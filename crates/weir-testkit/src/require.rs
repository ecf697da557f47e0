//! The handling of tests whose peer is not installed, and of captures that the list does not name.
//!
//! On a developer's machine a test without its peer is skipped, and `cargo xtask test` counts and names it at its end.
//! A gate lists in `WEIR_REQUIRE` what it has installed, as in `tshark,zeek-baselines,erlang`, and there a missing
//! peer is a failure: a check that could not run is never taken for one that passed.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that `peer` is not there, and what is therefore not checked.
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
    say(&format!("SKIPPED: no {peer}: {unchecked}\n"));
}

/// Reports captures in `../shared/data` that the list of tests does not name, in the same way as [`missing`]. This is no failure,
/// whatever `WEIR_REQUIRE` lists: a new capture in the folder breaks no test.
pub fn unlisted(names: &[String]) {
    if !names.is_empty() {
        say(&unlisted_line(names));
    }
}

fn unlisted_line(names: &[String]) -> String {
    let (noun, is, was) = match names.len() {
        1 => ("capture", "is", "was"),
        _ => ("captures", "are", "were"),
    };
    format!(
        "{} {noun} in ../shared/data {is} not on crates/weir-testkit/captures.txt and {was} not judged: {}\n",
        names.len(),
        some(names)
    )
}

/// The first of many names, and how many more there are.
pub(crate) fn some(names: &[String]) -> String {
    match names.split_at_checked(NAMES_MAX) {
        Some((first, more @ [_, ..])) => format!("{} and {} more", first.join(", "), more.len()),
        _ => names.join(", "),
    }
}

fn say(line: &str) {
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

/// Names in one line of what is missing or not listed.
const NAMES_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_that_are_not_listed_are_counted_and_named() {
        let names: Vec<String> = (1..=22)
            .map(|number| format!("sip/{number}.pcap"))
            .collect();
        let end = "crates/weir-testkit/captures.txt and was not judged: sip/1.pcap\n";
        let one = format!("1 capture in ../shared/data is not on {end}");
        assert_eq!(unlisted_line(&names[..1]), one);
        let many = unlisted_line(&names);
        let start = "22 captures in ../shared/data are not on crates/weir-testkit/captures.txt and were not judged: sip/1.pcap, ";
        assert!(many.starts_with(start), "{many}");
        assert!(many.ends_with(", sip/20.pcap and 2 more\n"), "{many}");
    }
}
