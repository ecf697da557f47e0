//! The comparison itself.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_testkit::captures::{FOLDERS, data};

use crate::captures::{self, Capture};
use crate::compare::{Comparison, Shared};
use crate::tally::Tally;
use crate::{differences, tshark};

#[test]
fn tshark_agrees_on_every_column() {
    if !tshark::is_installed() {
        weir_testkit::missing("tshark", "nothing judges the columns");
        return;
    }
    let shared = Shared::new();
    let scratch = tempfile::tempdir().unwrap();
    let mut captures = Vec::new();
    let mut complete = true;
    if let Some(folder) = std::env::var_os("WEIR_ORACLE_CAPTURES") {
        captures.extend(captures::in_folder(Path::new(&folder)));
        complete = false;
    } else {
        for name in FOLDERS {
            let found = captures::listed(name);
            if found.is_empty() {
                weir_testkit::missing("captures", &data().join(name).display().to_string());
                complete = false;
            }
            captures.extend(found.into_iter().map(|capture| capture.within(name)));
        }
        captures.extend(captures::frames());
        captures.extend(captures::generated(scratch.path()));
    }
    let stride = std::env::var("WEIR_ORACLE_STRIDE").map_or(1, |stride| stride.parse().unwrap());
    complete &= stride == 1;
    // Long captures come first, so that none is left for the end.
    let mut captures: Vec<Capture> = captures.into_iter().step_by(stride).collect();
    captures.sort_by_key(|capture| std::cmp::Reverse(capture.bytes()));

    let tally = Tally::new(&shared, compare_all(&shared, &captures));
    println!("{}", tally.summary());
    println!("columns without a value: {:?}", tally.empty());
    println!("columns that tshark does not have: {:?}", tally.own());
    println!(
        "columns that tshark has too, and of which no value is its: {:?}",
        tally.unchecked()
    );
    let unexpected = tally.unexpected();
    if let Some(path) = std::env::var_os("WEIR_ORACLE_REPORT") {
        std::fs::write(path, unexpected.join("\n") + "\n").unwrap();
    }
    assert!(
        unexpected.is_empty(),
        "{} pairs of capture and column differ that differences.rs does not list:\n{}",
        unexpected.len(),
        unexpected.join("\n")
    );
    assert!(
        tally.percent_equal() >= PERCENT_EQUAL_MIN,
        "{:.3} % of the values are equal, {PERCENT_EQUAL_MIN} % are asked for",
        tally.percent_equal()
    );
    if complete {
        let not_needed = tally.not_needed();
        assert!(
            not_needed.is_empty(),
            "listed differences that no capture has any more: {not_needed:?}"
        );
        assert_eq!(
            tally.unchecked(),
            differences::UNCHECKED,
            "columns that tshark has too and of which no value is compared"
        );
        assert_eq!(
            tally.own(),
            differences::OWN,
            "columns that tshark does not have"
        );
        let empty = tally.empty();
        assert!(empty.is_empty(), "no capture has a value of {empty:?}");
    }
}

/// Compares with [`WORKERS`] processes of tshark at a time.
fn compare_all<'c>(shared: &Shared, captures: &'c [Capture]) -> Vec<(&'c Capture, Comparison)> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let work = || {
        while let Some(capture) = captures.get(next.fetch_add(1, Ordering::Relaxed)) {
            let comparison = shared.compare(capture, preferences(capture));
            results.lock().unwrap().push((capture, comparison));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(work);
        }
    });
    results.into_inner().unwrap()
}

/// The preferences of tshark for facts that a capture does not have itself.
fn preferences(capture: &Capture) -> &'static [&'static str] {
    // ERF does not name the contents of HDLC. Here they are frame relay, as weir recognises by itself.
    match capture.path.extension().and_then(OsStr::to_str) {
        Some("erf") => &["erf.hdlc_type:frelay"],
        _ => &[],
    }
}

const WORKERS: usize = 2;

/// The least percentage of unlisted values that must be equal.
const PERCENT_EQUAL_MIN: f64 = 99.95;
