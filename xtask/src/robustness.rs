//! `cargo xtask bench robustness`: mutated captures through every table.

use anyhow::Result;
use weir_testkit::captures;

use crate::workspace::{cargo, root};

/// Runs the program of `weir-tables` that does it, checked against overflow as the tests are, with the words of
/// the command line and the listed captures that lie beside the checkout: a number with its seed is the same mutated
/// capture wherever these are.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let root = root()?;
    let mut command = cargo(&["bench", "--package", "weir-tables", "--bench", "robustness"])?;
    command.args(["--profile", "dev", "--"]);
    let listed = captures::FOLDERS.map(captures::listed).concat();
    if listed.is_empty() {
        let beside = captures::data();
        eprintln!("no captures in {}: generated ones only", beside.display());
    }
    for file in listed {
        command.arg(file.path.canonicalize()?);
    }
    crate::process::run(command.args(words).current_dir(root))
}
