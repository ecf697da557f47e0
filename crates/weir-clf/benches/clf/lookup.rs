//! Measures the lookup of a Call-ID in a log with a sidecar.

use std::path::{Path, PathBuf};

use weir_clf::{Query, SearchOptions, Searcher};
use weir_testkit::Rng;

use crate::{Calls, alternate, call_of, command, median, query_of, report, time};

/// Measures a searcher that is open already, and one that is opened.
pub(crate) fn in_process(log: &Path, calls: &Calls) {
    let mut options = SearchOptions::default();
    options.resident = true;
    let searcher = Searcher::open(&[log], options).unwrap();
    let mut rng = Rng::new(1);
    let wanted: Vec<Query> = (0..2000)
        .map(|_| query_of(calls, rng.below(calls.ends.len() as u64) as usize))
        .collect();
    for query in &wanted[..200] {
        assert!(searcher.count(query).unwrap().records >= 1);
    }
    let mut each: Vec<f64> = wanted
        .iter()
        .map(|query| time(|| assert!(searcher.count(query).unwrap().records >= 1)) * 1e6)
        .collect();
    each.sort_by(f64::total_cmp);
    println!(
        "lookup: 99 of 100 take at most {:.1} us",
        each[each.len() * 99 / 100]
    );
    report(
        "find a Call-ID, resident sidecar",
        median(each),
        20.0,
        "goal",
        "us",
    );
    let last = query_of(calls, calls.ends.len() - 1);
    let opened = (0..201).map(|_| {
        time(|| {
            let searcher = Searcher::open(&[log], SearchOptions::default()).unwrap();
            assert!(searcher.count(&last).unwrap().records >= 1);
        }) * 1e6
    });
    report(
        "open and find the last Call-ID",
        median(opened.collect()),
        1000.0,
        "an empty process, about",
        "us",
    );
}

/// Measures `weir clf search`, beside a process that does nothing.
pub(crate) fn as_command(log: &Path, calls: &Calls) {
    let Some(weir) = weir() else {
        println!(
            "no release of weir lies beside this benchmark: the lookup as a command is left out \
             (cargo build --release -p weir-cli)"
        );
        return;
    };
    let weir = weir.to_str().unwrap();
    let call = call_of(calls, calls.ends.len() - 1);
    let arguments = [
        "clf",
        "search",
        log.to_str().unwrap(),
        "--call-id",
        &call,
        "--count",
    ];
    assert!(
        crate::succeeds(weir, &arguments),
        "{weir} finds the Call-ID"
    );
    let [search, version, empty] = alternate(
        51,
        [
            &mut || command(weir, &arguments) * 1e3,
            &mut || command(weir, &["--version"]) * 1e3,
            &mut || command("true", &[]) * 1e3,
        ],
    );
    let name = "find the last Call-ID, as a command";
    report(name, search, empty, "an empty process (true)", "ms");
    report(name, search, version, "weir --version", "ms");
}

/// Returns the path of `weir` in the same target directory: benchmarks lie in its folder `deps`.
fn weir() -> Option<PathBuf> {
    let bench = std::env::current_exe().ok()?;
    let weir = bench.parent()?.parent()?.join("weir");
    weir.is_file().then_some(weir)
}
