//! Rules on the sources and documents that no other tool knows.

use std::path::Path;

use anyhow::{Result, bail};

use crate::sources::visit;
use crate::workspace::root;
use crate::{dialect, messages, truth};

/// Lines of a source file, at most, its tests apart (house rule: look for the second noun at 800).
const FILE_LINES_MAX: usize = 1_200;

/// Checks the rules; lists everything that breaks one.
pub(crate) fn run() -> Result<()> {
    let root = root()?;
    let mut faults = Vec::new();
    for folder in ["crates", "xtask", "fuzz/fuzz_targets"] {
        visit(&root.join(folder), &mut |path, text| {
            check(path.strip_prefix(&root).unwrap_or(path), text, &mut faults);
        })?;
    }
    faults.extend(truth::faults(&root)?);
    faults.extend(dialect::faults(&root)?);
    faults.extend(messages::faults(&root)?);
    if !faults.is_empty() {
        bail!("tidy found {} faults:\n{}", faults.len(), faults.join("\n"));
    }
    eprintln!("tidy: ok");
    Ok(())
}

fn check(path: &Path, text: &str, faults: &mut Vec<String>) {
    let mut fault = |line: usize, what: &str| {
        faults.push(format!("{}:{line}: {what}", path.display()));
    };
    let code = text.split("\n#[cfg(test)]\nmod ").next().unwrap_or(text);
    let lines = code.lines().count();
    if lines > FILE_LINES_MAX {
        let limit = format!("{lines} lines, {FILE_LINES_MAX} are allowed: split it by noun");
        fault(lines, &limit);
    }
    let first = text.lines().find(|line| !line.starts_with("#!"));
    let is_code_only = path.components().any(|part| part.as_os_str() == "tests");
    if !is_code_only && !first.is_some_and(|line| line.starts_with("//!")) {
        fault(1, "a file begins by saying what it is (//!)");
    }
    for (index, line) in text.lines().enumerate() {
        // Spelled in pieces, so that this file does not break its own rule.
        for word in [
            concat!("TO", "DO"),
            concat!("FIX", "ME"),
            concat!("XX", "X:"),
        ] {
            if line.contains(word) {
                fault(
                    index + 1,
                    "unfinished work does not land: do it, or open an issue",
                );
            }
        }
        if is_code_only && line.contains(concat!("SKIPPED", ":")) {
            fault(
                index + 1,
                "a test that is skipped says so by weir_testkit::missing",
            );
        }
        let is_started = [".output()", ".spawn()"]
            .iter()
            .any(|call| line.contains(call));
        if is_code_only && is_started {
            fault(
                index + 1,
                "a test starts programs by weir_testkit::Limited: it waits for none without a limit",
            );
        }
        if line.ends_with([' ', '\t']) {
            fault(index + 1, "white space at the end of the line");
        }
    }
}
