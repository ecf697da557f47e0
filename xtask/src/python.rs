//! `cargo xtask python`: the extension module built, put beside the package, and tested from Python.
//!
//! It is the dev profile's, as all tests: the wheel that users get is made by maturin (`python/README.md`).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::gate::missing;
use crate::{cargo, root, run, target_dir};

/// What is built beside the extension module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// The command line only, which values are compared with.
    Alone,
    /// All that `cargo test --workspace` builds, so that nothing is built twice.
    WithAll,
}

/// Builds and tests the extension module.
pub(crate) fn check(build: Build) -> Result<()> {
    let python = env::var_os("WEIR_PYTHON").unwrap_or_else(|| "python3".into());
    let modules = format!("import sys, {MODULES}; assert sys.version_info >= (3, 10)");
    let found = Command::new(&python).args(["-c", &modules]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        let unchecked = format!(
            "the package for Python 3.10 and later ({MODULES} in python3, or in WEIR_PYTHON)"
        );
        return missing("python", &unchecked);
    }
    // Features of dependencies are those of all packages that one command builds: what is built alone elsewhere is
    // built alone here.
    let commands: &[&[&str]] = match build {
        Build::Alone => &[
            &["build", "-p", "weir-cli"],
            &["build", "-p", "weir-python"],
        ],
        Build::WithAll => &[&["build", "--workspace", "--lib", "--bins", "--tests"]],
    };
    for words in commands {
        run(&mut cargo(words)?)?;
    }
    let folder = root()?.join("python");
    place(&built()?, &folder.join("weir/_weir.abi3.so"))?;
    let program = target_dir()?.join("debug/weir");
    let call = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command
            .args(arguments)
            .current_dir(&folder)
            .env("PYTHONPATH", &folder)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("WEIR_PROGRAM", &program);
        command
    };
    run(&mut call(&["-m", "pytest", "-q", "-p", "no:cacheprovider"]))?;
    let cache = target_dir()?.join("mypy");
    let cached = |command: &mut Command| run(command.env("MYPY_CACHE_DIR", &cache));
    cached(&mut call(&["-m", "mypy", "--strict", "weir"]))?;
    let stubs = [
        "-m",
        "mypy.stubtest",
        "weir._weir",
        "--mypy-config-file",
        "pyproject.toml",
    ];
    cached(&mut call(&stubs))
}

/// The library that cargo has built.
fn built() -> Result<PathBuf> {
    let folder = target_dir()?.join("debug");
    let names = ["lib_weir.so", "lib_weir.dylib"].map(|name| folder.join(name));
    let found = names.into_iter().find(|path| path.exists());
    found.context("cargo has built no extension module")
}

/// Puts the library where Python looks for it: as a new file, since a process may have the old one loaded.
fn place(from: &Path, to: &Path) -> Result<()> {
    let beside = to.with_extension("new");
    fs::copy(from, &beside).with_context(|| format!("{}", from.display()))?;
    fs::rename(&beside, to).with_context(|| format!("{}", to.display()))
}

/// What the tests import.
const MODULES: &str = "pytest, mypy, pyarrow, polars, pandas, duckdb, pytz";
