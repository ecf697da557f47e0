//! `cargo xtask page`: the page of `weir serve`, driven in a real browser.
//!
//! The checks are `crates/weir-serve/tests/browser/page.py`, which needs Python's standard library only; it starts
//! the server that cargo has built and a chromium without a window. `--shots DIR` keeps a picture of every view, in
//! light and dark, wide and narrow.

use std::process::Command;

use anyhow::{Result, bail};

use crate::limit;
use crate::process::{missing, run};
use crate::python::Build;
use crate::workspace::{cargo, root, target_dir};

/// Builds the command and drives its page; further words go to the script.
pub(crate) fn check(build: Build, words: &[&str]) -> Result<()> {
    run(&mut cargo(build.program())?)?;
    let folder = root()?.join("crates/weir-serve/tests/browser");
    let mut command = Command::new("python3");
    command
        .arg(folder.join("page.py"))
        .arg("--program")
        .arg(target_dir()?.join("debug/weir"))
        .args(words);
    eprintln!("$ {command:?}");
    let Ok(status) = limit::status(&mut command, limit::STEP)? else {
        return missing("python3", "the page of weir serve");
    };
    match status.code() {
        Some(0) => Ok(()),
        Some(NO_BROWSER) => missing("chromium", "the page of weir serve, in a browser"),
        _ => bail!("page.py: {status}"),
    }
}

/// The exit status of the script without a browser.
const NO_BROWSER: i32 = 77;
