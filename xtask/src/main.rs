//! The project's own chores: `cargo xtask` lists them.

mod bench;
mod book;
mod build_bench;
mod cluster;
mod crate_bench;
mod dialect;
mod dist;
mod fuzz;
mod gate;
mod hostile;
mod limit;
mod live;
mod measure;
mod memory;
mod messages;
mod page;
mod payload;
mod peers;
mod publish;
mod python;
mod python_bench;
mod robustness;
mod scan;
mod serve;
mod source;
mod start;
mod suite;
mod tables;
mod tidy;
mod trace;
mod tribeca;
mod truth;
mod untidy;
mod versions;
mod web_vendor;
mod ws;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result, bail};

use crate::gate::Tier;

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test", rest @ ..] => gate::test(rest),
        ["peers", "--anew", rest @ ..] => peers::anew(rest),
        ["ci"] => gate::ci(Tier::Quick, None),
        ["ci", "--from", step] => gate::ci(Tier::Quick, Some(step)),
        ["ci", "--full"] => gate::ci(Tier::Full, None),
        ["ci", "--full", "--from", step] | ["ci", "--from", step, "--full"] => {
            gate::ci(Tier::Full, Some(step))
        }
        [limit::GUARD] => {
            limit::guard(std::io::stdin().lock());
            Ok(())
        }
        ["tidy"] => tidy::run(),
        ["tidy", "--dialect"] => root().and_then(|root| dialect::list(&root, None)),
        ["tidy", "--dialect", name] => root().and_then(|root| dialect::list(&root, Some(name))),
        ["tidy", "--messages"] => root().and_then(|root| {
            print!("{}", messages::written(&messages::all(&root)?));
            Ok(())
        }),
        ["fuzz", rest @ ..] => fuzz::command(rest),
        ["sanitize"] => gate::sanitize(),
        ["python"] => python::check(python::Build::Alone),
        ["python", "--pack"] => python::pack(),
        ["python", "--wheel"] => python::wheel(),
        ["python", "--asan", rest @ ..] => python::asan(rest),
        ["page", rest @ ..] => page::check(python::Build::Alone, rest),
        ["web-vendor"] => web_vendor::command(web_vendor::Mode::Write),
        ["web-vendor", "--check"] => web_vendor::command(web_vendor::Mode::Check),
        ["trace", rest @ ..] => trace::run(rest),
        ["untidy", rest @ ..] => untidy::run(rest),
        ["docs"] => book::make(python::Build::Alone),
        ["publish"] => publish::check(),
        ["dist", rest @ ..] => dist::command(rest),
        ["bench", rest @ ..] => bench::run(rest),
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(u8::from(!words.is_empty()) * 2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

const USAGE: &str = "\
cargo xtask test [--busy] [--at-once N] [ARGS…]
                                     all tests, each program within a limit; ARGS go to cargo test. --busy has four
                                     programs take what they get of the processor meanwhile, --at-once runs N programs
                                     side by side (half as many as there are cores)
cargo xtask peers --anew [ARGS…]     the tests that ask peers (tshark), which are asked again; ARGS go to cargo test
cargo xtask ci                       what a change has to pass: fmt, tidy, clippy, tests, Python, the page
cargo xtask ci --full                the whole gate: documents, licences, packages, sanitizers and fuzzing as well
cargo xtask ci [--full] --from STEP  the gate from a step on, which had failed before
cargo xtask tidy                     rules on the sources that no other tool knows
cargo xtask tidy --dialect [CRATE]   the phrases that xtask/dialect.txt counts, with their places
cargo xtask tidy --messages          every message that users can read, as xtask/messages.txt has them
cargo xtask fuzz [--minutes N] [TARGET…]
                                     every fuzz target: its corpus, and N minutes (2) of free seeds on all cores
cargo xtask sanitize                 the dictionary's tests under address sanitizer, valgrind and miri
cargo xtask python                   the extension module for Python: pytest, mypy, stubtest (WEIR_PYTHON names a python)
cargo xtask python --pack            a wheel of the dev profile, and the README's examples from it
cargo xtask python --wheel            the wheel as users get it, and the README's examples in environments that have nothing else
cargo xtask python --asan [ARGS…]     the extension module's tests under the address sanitizer; ARGS go to pytest
cargo xtask page [--double] [--shots DIR]
                                     the page of weir serve in a real browser: every view, keys, axe-core, no request away
cargo xtask web-vendor [--check]     the files of others in the page of weir serve, from npm; or compare them with it
cargo xtask untidy [--runs N] [--seed S] [--capture FILE] [--program FILE]
                                     captures with packets lost, late, doubled, cut, in pieces …: whether tables say of them
                                     what they say of the tidy ones
cargo xtask docs                     the documents as a site, by mdBook; every link of it is followed
cargo xtask publish                  the libraries packed and built as `cargo publish` would, without uploading
cargo xtask dist [--target TRIPLE]… [--binary PATH] [--out DIR] [--check]
                                     what people install: archives, Debian package, RPM, wheel, formula, image, checksums, SBOM;
                                     --binary takes a program that is there, --check installs all of it where nothing else is
cargo xtask trace KIND BYTES PATH    make a seeded trace: ethernet, frame-relay, atm or atm-erf
cargo xtask bench [NAME]             run a benchmark beside its peers; without NAME, list them
";

/// The chores by their first word, which documents may name.
pub(crate) const CHORES: &[&str] = &[
    "test",
    "peers",
    "ci",
    "tidy",
    "fuzz",
    "sanitize",
    "python",
    "page",
    "web-vendor",
    "docs",
    "publish",
    "dist",
    "trace",
    "untidy",
    "bench",
];

/// The root of the checkout.
fn root() -> Result<PathBuf> {
    // The variable has the checkout of this run: checkouts may share a target directory, and with it this program.
    let here = env::var_os("CARGO_MANIFEST_DIR");
    let here = here.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Ok(Path::new(&here)
        .parent()
        .context("xtask stands in the root")?
        .to_owned())
}

/// The target folder of cargo.
fn target_dir() -> Result<PathBuf> {
    Ok(match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => PathBuf::from(dir),
        None => root()?.join("target"),
    })
}

/// The features of the program that packages have. The workspace is built with them, so that no library is built twice.
const FULL: [&str; 2] = ["--features", "weir-cli/full"];

/// A cargo command in the root.
fn cargo(words: &[&str]) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(words).current_dir(root()?);
    as_from_a_shell(&mut command);
    Ok(command)
}

/// Removes the variables that the cargo running this program has set: build scripts that depend on them, such as ring's, would
/// run again, and all crates above would be rebuilt, each time cargo is started the other way.
fn as_from_a_shell(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let is_of_package = name.to_str().is_some_and(|name| {
            name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        });
        if is_of_package {
            command.env_remove(name);
        }
    }
}

/// Runs a command that has to succeed, saying first how to repeat it.
fn run(command: &mut Command) -> Result<()> {
    let line = announced(command);
    judged(&line, command.status())
}

/// Runs a command like [`run`], within the time limit [`limit::STEP`].
fn run_limited(command: &mut Command) -> Result<()> {
    let line = announced(command);
    judged(&line, limit::status(command, limit::STEP)?)
}

/// Says how to repeat a command.
fn announced(command: &Command) -> String {
    let words: Vec<_> = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let line = words.join(" ");
    eprintln!("$ {line}");
    line
}

fn judged(line: &str, status: std::io::Result<ExitStatus>) -> Result<()> {
    let status = status.with_context(|| format!("cannot start {line}"))?;
    if !status.success() {
        bail!("{line}: {status}");
    }
    Ok(())
}

/// Returns true when a program can be started.
fn installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}
