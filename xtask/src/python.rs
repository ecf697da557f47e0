//! `cargo xtask python`: the extension module built, packed, put beside the package, and tested from Python.
//!
//! It is the dev profile's, as all tests. `cargo xtask python --wheel` makes the wheel that users get.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{missing, run, run_limited};
use crate::workspace::{as_from_a_shell, cargo, root, target_dir};

/// The packages that are built together with the extension module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// The command line only, which values are compared with.
    Alone,
    /// All packages of `cargo xtask test`, so that cargo builds each only once.
    WithAll,
}

impl Build {
    /// The arguments of cargo for the extension module. Cargo unifies the features of all packages of one command, so a package
    /// that is built alone elsewhere is built alone here.
    const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &["build", "-p", "weir-python"],
            Self::WithAll => Self::ALL,
        }
    }

    /// The arguments of cargo for the program.
    pub(crate) const fn program(self) -> &'static [&'static str] {
        match self {
            Self::Alone => &["build", "-p", "weir-cli", "--features", "weir-cli/full"],
            Self::WithAll => Self::ALL,
        }
    }

    const ALL: &'static [&'static str] = &[
        "build",
        "--workspace",
        "--features",
        "weir-cli/full",
        "--lib",
        "--bins",
        "--tests",
    ];
}

/// Builds the wheel for users, and runs the README's examples in environments with the wheel alone, or with one of its optional
/// libraries, installed by pip.
pub(crate) fn wheel() -> Result<()> {
    let python = env::var_os("WEIR_PYTHON").unwrap_or_else(|| "python3".into());
    let folder = root()?.join("python");
    let out = target_dir()?.join("wheels");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let mut maturin = Command::new(&python);
    maturin.args(["-m", "maturin", "build", "--release", "--out"]);
    as_from_a_shell(&mut maturin);
    run(maturin.arg(&out).current_dir(&folder))?;
    let wheel = only_wheel(&out)?;
    run(Command::new(&python)
        .arg(folder.join("check_wheel.py"))
        .arg(&wheel)
        .arg(WHEEL_MB_MAX))?;
    let place = target_dir()?.join("wheel-environments");
    for (extra, modules) in ENVIRONMENTS {
        let environment = place.join(if extra.is_empty() { "nothing" } else { extra });
        if environment.exists() {
            fs::remove_dir_all(&environment)?;
        }
        run(Command::new(&python).args(["-m", "venv"]).arg(&environment))?;
        let own = environment.join("bin/python");
        let named = match *extra {
            "" => wheel.display().to_string(),
            extra => format!("{}[{extra}]", wheel.display()),
        };
        run(Command::new(&own).args(["-m", "pip", "install", "--quiet", &named]))?;
        run(readme(&own)?.args(*modules))?;
    }
    fs::remove_dir_all(&place)?;
    println!("{}", wheel.display());
    Ok(())
}

/// Builds the extension module with the address sanitizer, and runs its tests with it; arguments go to pytest.
///
/// The crate of the module is instrumented: what PyO3's macros expand to, what hands batches to and from Python, and
/// all generic code that it makes of arrow, PyO3 and the engine. Linked libraries stay as they were built, and are
/// checked where they allocate, frees, copies and compares, since the sanitizer's runtime stands in front of the C
/// library. Our other crates with `unsafe` code are `cargo xtask sanitize`'s.
pub(crate) fn asan(arguments: &[&str]) -> Result<()> {
    let python = env::var_os("WEIR_PYTHON").unwrap_or_else(|| "python3".into());
    let target = target_dir()?.join("asan");
    fs::create_dir_all(&target)?;
    run(&mut cargo(Build::Alone.program())?)?;
    run(&mut cargo(Build::Alone.words())?)?;
    // The stable compiler takes a sanitizer's option only with RUSTC_BOOTSTRAP. The wrapper sets it for this one crate:
    // build scripts look at the variable, too, and everything would be built anew.
    let wrapper = target.join("rustc");
    fs::write(
        &wrapper,
        "#!/bin/sh\ncase \"$*\" in *-Zsanitizer=*) export RUSTC_BOOTSTRAP=1 ;; esac\nexec \"$@\"\n",
    )?;
    run(Command::new("chmod").arg("+x").arg(&wrapper))?;
    let build = ["rustc", "-p", "weir-python", "--lib", "--"];
    run(cargo(&build)?
        .args([
            "-Zsanitizer=address",
            "-Cunsafe-allow-abi-mismatch=sanitizer",
        ])
        .env("RUSTC_WRAPPER", &wrapper))?;
    let place_of = target.join("package");
    let package = place_of.join("weir");
    fs::create_dir_all(&package)?;
    let sources = root()?.join("python");
    for entry in fs::read_dir(sources.join("weir"))? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|found| found != "so");
        if let (true, Some(name)) = (is_source && path.is_file(), path.file_name()) {
            fs::copy(&path, package.join(name))?;
        }
    }
    let module = package.join("_weir.abi3.so");
    place(&built()?, &module)?;
    let symbols = fs::read(&module)?;
    if !symbols
        .windows(INSTRUMENTED.len())
        .any(|window| window == INSTRUMENTED)
    {
        bail!("the module was built without the sanitizer");
    }
    let runtime = Command::new("cc")
        .arg("-print-file-name=libasan.so")
        .output()?;
    let runtime = String::from_utf8(runtime.stdout)?;
    let mut tests = Command::new(&python);
    tests
        .args([
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--import-mode",
            "importlib",
        ])
        .arg("-c")
        .arg(sources.join("pyproject.toml"))
        .arg("--rootdir")
        .arg(&sources)
        .arg(sources.join("tests"))
        // Memory that stays is what the sanitizer holds back on purpose.
        .args([
            "--deselect",
            "tests/test_process.py::test_a_thousand_queries_leave_nothing_behind",
        ])
        .args(arguments)
        // The package that was built here is what is imported, not the sources beside the tests.
        .current_dir(&place_of)
        .env("LD_PRELOAD", runtime.trim())
        // Leaks of Python and its libraries at exit are not weir's.
        .env("ASAN_OPTIONS", "detect_leaks=0:abort_on_error=1")
        .env("PYTHONMALLOC", "malloc")
        .env("PYTHONPATH", &place_of)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("WEIR_PROGRAM", target_dir()?.join("debug/weir"));
    run(&mut tests)
}

/// The symbol that code calls when the address sanitizer has instrumented it.
const INSTRUMENTED: &[u8] = b"__asan_report_load8";

/// Extras of the wheel, and what the README's examples then have to have run with.
const ENVIRONMENTS: &[(&str, &[&str])] = &[
    ("", &[]),
    ("polars", &["polars"]),
    ("pandas", &["pandas", "pyarrow"]),
    ("duckdb", &["duckdb"]),
    ("plot", &["altair", "vl_convert"]),
    ("datafusion", &["datafusion"]),
];

/// The maximum size of a wheel, in megabytes.
const WHEEL_MB_MAX: &str = "60";

/// Runs the README's examples with the package that the interpreter has installed, not with the sources.
fn readme(python: &Path) -> Result<Command> {
    let mut command = Command::new(python);
    // `-I`: neither the script's folder nor the environment has a say in what is imported.
    command.arg("-I").arg(root()?.join("python/run_readme.py"));
    Ok(command)
}

/// Packs a wheel of the dev profile, and runs the README's examples from it. It is no step of the gate, since maturin asks
/// cargo with other variables of the environment, for which all of DataFusion is built again.
pub(crate) fn pack() -> Result<()> {
    let python = env::var_os("WEIR_PYTHON").unwrap_or_else(|| "python3".into());
    run(&mut cargo(Build::Alone.words())?)?;
    packed(&python, Build::Alone)
}

/// Packs the built module with maturin, checks the wheel, and runs the README's examples from it without other
/// libraries. The module is not rebuilt: a stand-in for cargo gives maturin the result of the earlier build.
fn packed(python: &OsStr, build: Build) -> Result<()> {
    let out = target_dir()?.join("packing");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    fs::create_dir_all(&out)?;
    let stand_in = out.join("cargo");
    let real = env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let words = build.words().join(" ");
    let script = format!(
        "#!/bin/sh\ncase $1 in\n\
         rustc) cd '{}' && exec '{real}' {words} --message-format json-render-diagnostics ;;\n\
         *) exec '{real}' \"$@\" ;;\nesac\n",
        root()?.display()
    );
    fs::write(&stand_in, script)?;
    run(Command::new("chmod").arg("+x").arg(&stand_in))?;
    let mut maturin = Command::new(python);
    maturin
        .args([
            "-m",
            "maturin",
            "build",
            "--profile",
            "dev",
            "--auditwheel",
            "skip",
        ])
        .args(["--compression-method", "stored", "--out"]);
    maturin.arg(&out).current_dir(root()?.join("python"));
    run(maturin.env("CARGO", &stand_in))?;
    let wheel = only_wheel(&out)?;
    run(Command::new(python)
        .arg(root()?.join("python/check_wheel.py"))
        .arg(&wheel))?;
    let environment = out.join("environment");
    run(Command::new(python)
        .args(["-m", "venv", "--without-pip"])
        .arg(&environment))?;
    let own = environment.join("bin/python");
    let place = "import sysconfig; print(sysconfig.get_path('platlib'))";
    let place = Command::new(&own)
        .args(["-I", "-c", place])
        .output()?
        .stdout;
    let place = String::from_utf8(place)?;
    // A wheel is an archive of what stands there.
    run(Command::new(python)
        .args(["-m", "zipfile", "-e"])
        .arg(&wheel)
        .arg(place.trim()))?;
    run(&mut readme(&own)?)?;
    fs::remove_dir_all(&out)?;
    Ok(())
}

/// The only wheel of a folder.
fn only_wheel(folder: &Path) -> Result<PathBuf> {
    let mut wheels = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            wheels.push(path);
        }
    }
    match <[_; 1]>::try_from(wheels) {
        Ok([wheel]) => Ok(wheel),
        Err(wheels) => bail!("{} wheels were made, not one", wheels.len()),
    }
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
    if build == Build::Alone {
        run(&mut cargo(build.program())?)?;
    }
    run(&mut cargo(build.words())?)?;
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
    let tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider"];
    run_limited(&mut call(&tests))?;
    let cache = target_dir()?.join("mypy");
    let cached = |command: &mut Command| run_limited(command.env("MYPY_CACHE_DIR", &cache));
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

/// The modules that the tests import.
const MODULES: &str = "pytest, mypy, maturin, pyarrow, polars, pandas, duckdb, pytz, IPython, nbclient, ipykernel, \
     altair, vl_convert, datafusion";
