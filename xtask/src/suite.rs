//! The tests of the workspace: cargo builds them, and each of their programs is run from here, within a limit of its own.

use std::collections::VecDeque;
use std::env;
use std::fmt;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::limit::{self, Guard, Guarded, How, ProgramEnd};
use crate::process::{announced, judged};
use crate::workspace::cargo;

/// The test programs to run, and how many at once.
#[derive(Debug, Default)]
pub(crate) struct Suite<'a> {
    /// The words to `cargo test`, what goes to test programs apart.
    cargo: Vec<&'a str>,
    /// The words to test programs.
    programs: Vec<&'a str>,
    /// Programs that run at the same time.
    at_once: usize,
    is_busy: bool,
    /// Variables of the environment of all tests.
    environment: Vec<(&'static str, PathBuf)>,
}

/// Options of `cargo test` that a word of their own follows; a word behind any other is the name of tests.
const VALUED: &[&str] = &[
    "--bench",
    "--bin",
    "--color",
    "--config",
    "--example",
    "--exclude",
    "--features",
    "--jobs",
    "--manifest-path",
    "--package",
    "--profile",
    "--target",
    "--target-dir",
    "--test",
    "-F",
    "-Z",
    "-j",
    "-p",
];

/// Options of `cargo test` that choose test programs, whose documents' examples are not run.
const TARGETS: &[&str] = &[
    "--all-targets",
    "--bench",
    "--benches",
    "--bin",
    "--bins",
    "--example",
    "--examples",
    "--lib",
    "--test",
    "--tests",
];

/// Programs that are busy beside the tests of `--busy`.
const BUSY: usize = 4;

/// A limit is so many times as long where others are busy.
const BUSY_LIMITS: u32 = 3;

/// Crates whose tests talk over the loopback interface or capture there: one of their programs runs at a time.
const LOOPBACK: &[&str] = &[
    "weir-cli",
    "weir-cluster",
    "weir-live",
    "weir-remote",
    "weir-serve",
];

impl<'a> Suite<'a> {
    /// Parses `words`: those of `cargo test`, and the suite's own `--busy` and `--at-once N`.
    pub(crate) fn new(words: &[&'a str]) -> Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        // Each program has as many threads as there are cores.
        let mut suite = Self {
            at_once: (cores / 2).max(1),
            ..Self::default()
        };
        let mut words = words.iter().copied();
        let mut is_value = false;
        while let Some(word) = words.next() {
            match word {
                "--" => {
                    suite.programs.extend(words);
                    break;
                }
                "--busy" => suite.is_busy = true,
                "--at-once" => {
                    let number = words.next().and_then(|number| number.parse().ok());
                    suite.at_once = number
                        .filter(|number| *number > 0)
                        .context("--at-once takes a number")?;
                }
                name if !name.starts_with('-') && !is_value => suite.programs.insert(0, name),
                word => suite.cargo.push(word),
            }
            is_value = VALUED.contains(&word);
        }
        Ok(suite)
    }

    /// Sets an environment variable for all tests.
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<PathBuf>) {
        self.environment.push((name, value.into()));
    }

    fn has(&self, option: &str) -> bool {
        self.cargo
            .iter()
            .any(|word| word.split('=').next() == Some(option))
    }

    fn chooses_targets(&self) -> bool {
        TARGETS.iter().any(|option| self.has(option))
    }

    /// Builds and runs all; an error names the programs that failed.
    pub(crate) fn run(&self) -> Result<()> {
        let guard = Guard::start()?;
        let is_of_examples = self.has("--doc");
        let built = match is_of_examples {
            true => Built::default(),
            false => self.build(&guard)?,
        };
        if self.has("--no-run") {
            return Ok(());
        }
        let _busy = self.is_busy.then(|| Busy::start(&guard)).transpose()?;
        let mut failed = self.run_programs(built.programs, &guard, &mut std::io::stderr())?;
        let has_examples = is_of_examples || (built.has_examples && !self.chooses_targets());
        if has_examples
            && (failed.is_empty() || self.has("--no-fail-fast"))
            && let Err(error) = self.run_examples(&guard)
        {
            eprintln!("error: {error:#}");
            failed.push("--doc".to_owned());
        }
        match failed.as_slice() {
            [] => Ok(()),
            [one] => bail!("a test program failed: {one}"),
            several => bail!(
                "{} test programs failed:\n    {}",
                several.len(),
                several.join("\n    ")
            ),
        }
    }

    /// Builds the test programs with cargo.
    fn build(&self, guard: &Guard) -> Result<Built> {
        let mut command = cargo(&["test"])?;
        command
            .args(&self.cargo)
            .args(["--no-run", "--message-format", "json-render-diagnostics"]);
        let line = announced(&command);
        let outcome = guard.output_of(&mut command, |messages| {
            let mut built = Built::default();
            for message in messages.lines() {
                built.add(&message?)?;
            }
            Ok(built)
        });
        let (status, mut built) = outcome.with_context(|| format!("cannot run {line}"))?;
        judged(&line, Ok(status))?;
        built.programs.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(built)
    }

    /// Runs the examples of documents with cargo.
    fn run_examples(&self, guard: &Guard) -> Result<()> {
        let mut command = cargo(&["test"])?;
        command
            .args(&self.cargo)
            .envs(self.environment.iter().cloned());
        if !self.has("--doc") {
            command.arg("--doc");
        }
        command.arg("--").args(&self.programs);
        let line = announced(&command);
        judged(&line, guard.status(&mut command)?)
    }

    /// Runs the programs, and writes how each ended; the words that name those which failed.
    fn run_programs(
        &self,
        programs: Vec<Program>,
        guard: &Guard,
        out: &mut dyn Write,
    ) -> Result<Vec<String>> {
        let mut programs = programs;
        if self.at_once > 1 {
            // The longest programs start first, so that none of them runs alone at the end.
            programs.sort_by_key(|program| std::cmp::Reverse(program.limit));
        }
        let line = ProgramQueue::new(programs);
        let (sender, messages) = channel();
        let mut failed = Vec::new();
        thread::scope(|scope| {
            for _ in 0..self.at_once {
                let (line, sender) = (&line, sender.clone());
                scope.spawn(move || {
                    while let Some(program) = line.next() {
                        let _ = sender.send(format!("     Running {program}\n").into_bytes());
                        let ended = self.run_one(&program, guard);
                        let is_good = ended.as_ref().is_ok_and(|ended| ended.how == How::Passed);
                        let _ = sender.send(self.report(&program, ended));
                        line.done(&program, is_good || self.has("--no-fail-fast"));
                        if !is_good {
                            line.failed(program.name());
                        }
                    }
                });
            }
            drop(sender);
            for message in messages {
                out.write_all(&message)?;
                out.flush()?;
            }
            anyhow::Ok(())
        })?;
        failed.append(&mut line.into_failed());
        Ok(failed)
    }

    fn run_one(&self, program: &Program, guard: &Guard) -> Result<ProgramEnd> {
        let mut command = program.command();
        command
            .args(&self.programs)
            .envs(self.environment.iter().cloned());
        let limit = match self.is_busy {
            true => program.limit * BUSY_LIMITS,
            false => program.limit,
        };
        limit::run_test(&mut command, limit, guard)
            .with_context(|| format!("cannot start {}", program.path.display()))
    }

    /// The output of a program that has ended, and the verdict on it.
    fn report(&self, program: &Program, ended: Result<ProgramEnd>) -> Vec<u8> {
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => return format!("      FAILED {program}: {error:#}\n").into_bytes(),
        };
        let seconds = ended.took.as_secs_f64();
        let mut report = ended.output.clone();
        if report.last().is_some_and(|last| *last != b'\n') {
            report.push(b'\n');
        }
        let line = match &ended.how {
            How::Passed => format!(
                "      Passed {program} in {seconds:.1} s: {}\n",
                result(&ended.output)
            ),
            How::Failed(status) => {
                format!("      FAILED {program} after {seconds:.1} s: {status}\n")
            }
            How::OverTime(unfinished) => {
                let which = match unfinished.as_slice() {
                    [] => "which of its tests had not finished is not known".to_owned(),
                    names => format!(
                        "these tests had not finished:\n    {}",
                        names.join("\n    ")
                    ),
                };
                format!(
                    "      FAILED {program}: it had not ended after {seconds:.1} s, and was ended; {which}\n"
                )
            }
        };
        report.extend_from_slice(line.as_bytes());
        report
    }
}

/// The last line in which a test program says how many tests passed, without its beginning.
fn result(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let said = text
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("test result: ok. "));
    said.unwrap_or("status 0")
        .split("; finished in")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The output of cargo's build.
#[derive(Debug, Default)]
struct Built {
    programs: Vec<Program>,
    /// True when a library has doc tests.
    has_examples: bool,
}

impl Built {
    /// Reads one of cargo's messages, in JSON.
    fn add(&mut self, message: &str) -> Result<()> {
        // Build scripts and macros may write lines of their own.
        let Ok(message) = serde_json::from_str::<Value>(message) else {
            return Ok(());
        };
        if message["reason"] != "compiler-artifact" {
            return Ok(());
        }
        let id = message["package_id"].as_str().unwrap_or_default();
        self.has_examples |= id.starts_with("path+") && message["target"]["doctest"] == true;
        if message["profile"]["test"] == true
            && let Some(path) = message["executable"].as_str()
        {
            let program = Program::new(path, &message).with_context(|| {
                format!("cargo's message of a test program lacks something: {message}")
            })?;
            self.programs.push(program);
        }
        Ok(())
    }
}

/// A test program.
#[derive(Debug)]
struct Program {
    package: String,
    version: String,
    /// The folder of the package, in which cargo starts it.
    folder: PathBuf,
    kind: String,
    target: String,
    path: PathBuf,
    /// The arguments before those of all programs.
    arguments: Vec<String>,
    limit: Duration,
}

impl Program {
    fn new(path: &str, message: &Value) -> Option<Self> {
        let manifest = Path::new(message["manifest_path"].as_str()?);
        let (package, version) = named(message["package_id"].as_str()?)?;
        Some(Self {
            limit: limit::of_package(package),
            package: package.to_owned(),
            version: version.to_owned(),
            folder: manifest.parent()?.to_owned(),
            kind: message["target"]["kind"][0].as_str()?.to_owned(),
            target: message["target"]["name"].as_str()?.to_owned(),
            path: path.into(),
            arguments: Vec::new(),
        })
    }

    /// Cargo's order: by package, the library first.
    fn order(&self) -> (&str, u8, &str) {
        let kind = match self.kind.as_str() {
            "bin" => 1,
            "example" => 2,
            "test" => 3,
            "bench" => 4,
            _ => 0,
        };
        (&self.package, kind, &self.target)
    }

    /// The words to `cargo test` that run it alone.
    fn name(&self) -> String {
        let Self {
            package, target, ..
        } = self;
        match self.kind.as_str() {
            kind @ ("bin" | "example" | "test" | "bench") => {
                format!("-p {package} --{kind} {target}")
            }
            _ => format!("-p {package} --lib"),
        }
    }

    fn is_on_loopback(&self) -> bool {
        LOOPBACK.contains(&self.package.as_str())
    }

    /// The command as cargo would run it.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        crate::workspace::as_from_a_shell(&mut command);
        command
            .args(&self.arguments)
            .current_dir(&self.folder)
            .env(
                "CARGO",
                env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            )
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_MANIFEST_PATH", self.folder.join("Cargo.toml"))
            .env("CARGO_PKG_NAME", &self.package)
            .env("CARGO_PKG_VERSION", &self.version);
        command
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Name and version in cargo's name of a package: `path+file:///…/weir-cli#0.1.0`, or `…/weir#_weir@0.1.0` where
/// the folder has another name.
fn named(id: &str) -> Option<(&str, &str)> {
    let (place, rest) = id.split_once('#')?;
    match rest.split_once('@') {
        Some(both) => Some(both),
        None => Some((place.rsplit('/').next()?, rest)),
    }
}

/// The programs that wait for their turn.
#[derive(Debug)]
struct ProgramQueue {
    state: Mutex<LineState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LineState {
    waiting: VecDeque<Program>,
    is_loopback_taken: bool,
    failed: Vec<String>,
}

impl ProgramQueue {
    fn new(programs: Vec<Program>) -> Self {
        let waiting = programs.into();
        Self {
            state: Mutex::new(LineState {
                waiting,
                ..LineState::default()
            }),
            changed: Condvar::new(),
        }
    }

    /// The next program that may run; none when no more will.
    fn next(&self) -> Option<Program> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if state.waiting.is_empty() {
                return None;
            }
            let taken = state.is_loopback_taken;
            let first = state
                .waiting
                .iter()
                .position(|program| !(taken && program.is_on_loopback()));
            if let Some(program) = first.and_then(|first| state.waiting.remove(first)) {
                state.is_loopback_taken |= program.is_on_loopback();
                return Some(program);
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A program has ended; those that wait are run only where `goes_on`.
    fn done(&self, program: &Program, goes_on: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if program.is_on_loopback() {
            state.is_loopback_taken = false;
        }
        if !goes_on {
            state.waiting.clear();
        }
        self.changed.notify_all();
    }

    fn failed(&self, name: String) {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .failed
            .push(name);
    }

    fn into_failed(self) -> Vec<String> {
        self.state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .failed
    }
}

/// Programs that take all of the processor that they get, until this value is dropped.
#[derive(Debug)]
struct Busy<'g>(Vec<(Child, Guarded<'g>)>);

impl<'g> Busy<'g> {
    fn start(guard: &'g Guard) -> Result<Self> {
        let mut busy = Self(Vec::new());
        for _ in 0..BUSY {
            let mut shell = Command::new("sh");
            // The last word is its name in lists of processes.
            shell.args(["-c", "while :; do :; done", &busy_name(std::process::id())]);
            std::os::unix::process::CommandExt::process_group(&mut shell, 0);
            let child = shell
                .stdin(Stdio::null())
                .spawn()
                .context("cannot start sh")?;
            let group = guard.entered(child.id());
            busy.0.push((child, group));
        }
        eprintln!("{BUSY} programs are busy beside the tests");
        Ok(busy)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        for (mut child, group) in self.0.drain(..) {
            drop(group);
            let _ = child.wait();
        }
    }
}

fn busy_name(owner: u32) -> String {
    format!("busy-beside-{owner}")
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::fs;

    use weir_testkit::Limited as _;

    use super::*;

    /// A shell script that behaves like a Rust test program; `acts` is its behaviour when it does not list its tests.
    fn program(package: &str, target: &str, acts: &str) -> Program {
        let script = format!(
            "case \"$*\" in *--list*) echo 'a::ends: test'; echo 'a::hangs: test'; exit;; esac; {acts}"
        );
        Program {
            package: package.to_owned(),
            version: "0.1.0".to_owned(),
            folder: env::temp_dir(),
            kind: "test".to_owned(),
            target: target.to_owned(),
            path: "sh".into(),
            arguments: vec![
                "-c".to_owned(),
                script,
                format!("{target}-{}", std::process::id()),
            ],
            limit: Duration::from_secs(100),
        }
    }

    fn passes(package: &str, target: &str) -> Program {
        let said = "test a::ends ... ok\\ntest result: ok. 1 passed; 0 failed; finished in 0.00s";
        program(package, target, &format!("printf 'SECRET\\n{said}\\n'"))
    }

    fn fails(package: &str, target: &str) -> Program {
        program(
            package,
            target,
            "echo 'test a::ends ... FAILED'; echo WHY >&2; exit 101",
        )
    }

    fn hangs(package: &str, target: &str) -> Program {
        let sleeper = sleeper(std::process::id());
        let acts =
            format!("echo 'test a::ends ... ok'; sleep {sleeper} & setsid sleep {sleeper} & wait");
        Program {
            limit: Duration::from_secs(3),
            ..program(package, target, &acts)
        }
    }

    /// A number of seconds that no other process sleeps for.
    fn sleeper(owner: u32) -> String {
        format!("10000.{owner}")
    }

    /// The processes that have a word on their command line.
    fn running(word: &str) -> usize {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
        lines
            .filter(|line| {
                line.split(|byte| *byte == 0)
                    .any(|argument| argument == word.as_bytes())
            })
            .count()
    }

    fn run(suite: &Suite<'_>, programs: Vec<Program>) -> (Vec<String>, String) {
        let guard = Guard::start().unwrap();
        let mut out = Vec::new();
        let failed = suite.run_programs(programs, &guard, &mut out).unwrap();
        (failed, masked(&String::from_utf8(out).unwrap()))
    }

    /// A report without its times.
    fn masked(report: &str) -> String {
        let words = report.split_inclusive([' ', '\n']);
        words
            .map(|word| match word.trim_end().parse::<f64>() {
                Ok(_) if word.contains('.') => "T ",
                _ => word,
            })
            .collect()
    }

    #[test]
    fn the_result_of_a_program_that_passes_is_reported() {
        let suite = Suite::new(&[]).unwrap();
        let (failed, report) = run(&suite, vec![passes("a", "passes")]);
        assert_eq!(failed, Vec::<String>::new());
        let mut lines: Vec<&str> = report.lines().collect();
        // The two outputs of a program are read side by side.
        lines[1..4].sort_unstable();
        assert_eq!(
            lines,
            [
                "     Running -p a --test passes",
                "SECRET",
                "test a::ends ... ok",
                "test result: ok. 1 passed; 0 failed; finished in 0.00s",
                "      Passed -p a --test passes in T s: 1 passed; 0 failed",
            ]
        );
    }

    #[test]
    fn of_a_program_that_fails_all_output_is_shown_and_no_other_is_begun() {
        let both = || vec![fails("a", "fails"), passes("b", "passes")];
        let suite = Suite::new(&["--at-once", "1"]).unwrap();
        let (failed, report) = run(&suite, both());
        assert_eq!(failed, ["-p a --test fails"]);
        let mut lines: Vec<&str> = report.lines().collect();
        // The two outputs of a program are read side by side.
        lines[1..3].sort_unstable();
        assert_eq!(
            lines,
            [
                "     Running -p a --test fails",
                "WHY",
                "test a::ends ... FAILED",
                "      FAILED -p a --test fails after T s: exit status: 101",
            ]
        );
        let suite = Suite::new(&["--at-once", "1", "--no-fail-fast"]).unwrap();
        let (failed, report) = run(&suite, both());
        assert_eq!(failed, ["-p a --test fails"]);
        assert!(
            report.contains("      Passed -p b --test passes"),
            "{report}"
        );
    }

    #[test]
    fn a_program_that_hangs_is_ended_with_all_its_processes_and_its_tests_are_named() {
        let suite = Suite::new(&["--no-fail-fast", "--at-once", "1"]).unwrap();
        let (failed, report) = run(&suite, vec![hangs("a", "hangs"), passes("b", "passes")]);
        assert_eq!(failed, ["-p a --test hangs"]);
        let hung = "     Running -p a --test hangs\ntest a::ends ... ok\n      FAILED -p a --test hangs: it had not ended after T s, and was ended; \
                    these tests had not finished:\n    a::hangs\n     Running -p b --test passes\n";
        assert!(report.starts_with(hung), "{report}");
        let passed = "      Passed -p b --test passes in T s: 1 passed; 0 failed\n";
        assert!(report.ends_with(passed), "{report}");
        assert_eq!(running(&sleeper(std::process::id())), 0);
    }

    #[test]
    fn what_a_program_leaves_behind_is_ended() {
        let sleeper = format!("20000.{}", std::process::id());
        let leaves = program(
            "a",
            "leaves",
            &format!("sleep {sleeper} & echo 'test a::ends ... ok'"),
        );
        let (failed, report) = run(&Suite::new(&[]).unwrap(), vec![leaves]);
        assert_eq!(failed, Vec::<String>::new());
        assert!(report.ends_with("in T s: status 0\n"), "{report}");
        assert_eq!(running(&sleeper), 0);
    }

    #[test]
    fn a_program_that_cannot_be_started_has_failed() {
        let missing = Program {
            path: "/nonexistent/test".into(),
            ..passes("a", "missing")
        };
        let (failed, report) = run(&Suite::new(&[]).unwrap(), vec![missing]);
        assert_eq!(failed, ["-p a --test missing"]);
        assert!(
            report.contains("FAILED -p a --test missing: cannot start /nonexistent/test"),
            "{report}"
        );
    }

    #[test]
    fn programs_run_side_by_side_but_those_on_loopback() {
        // Each waits for the other, which only comes when it runs at the same time.
        let folder = env::temp_dir().join(format!("xtask-suite-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let meets = |package: &str, own: &str, other: &str| {
            let at = folder.display();
            let acts = format!("touch {at}/{own}; until [ -e {at}/{other} ]; do sleep 0.01; done");
            Program {
                limit: Duration::from_secs(60),
                ..program(package, own, &acts)
            }
        };
        let suite = Suite::new(&["--at-once", "2"]).unwrap();
        let (failed, report) = run(
            &suite,
            vec![meets("a", "one", "two"), meets("b", "two", "one")],
        );
        assert_eq!(failed, Vec::<String>::new(), "{report}");
        // Two programs that use loopback run one after the other.
        let pair = vec![passes("weir-cli", "first"), passes("weir-serve", "second")];
        let (_, report) = run(&suite, pair);
        let place = |text: &str| report.find(text).unwrap();
        assert!(
            place("Passed -p weir-cli") < place("Running -p weir-serve"),
            "{report}"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn words_are_those_of_cargo_or_of_programs() {
        let suite = Suite::new(&[
            "--test",
            "it",
            "name",
            "-p=a",
            "--busy",
            "--at-once",
            "7",
            "--",
            "--exact",
        ])
        .unwrap();
        assert_eq!(suite.cargo, ["--test", "it", "-p=a"]);
        assert_eq!(suite.programs, ["name", "--exact"]);
        assert!(suite.is_busy && suite.at_once == 7);
        assert!(suite.chooses_targets());
        let suite = Suite::new(&["--workspace", "--features", "weir-cli/full"]).unwrap();
        assert_eq!(suite.programs, Vec::<&str>::new());
        assert!(!suite.chooses_targets() && !suite.is_busy);
        for wrong in [
            &["--at-once"][..],
            &["--at-once", "0"],
            &["--at-once", "many"],
        ] {
            assert!(Suite::new(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn test_programs_are_found_in_what_cargo_says() {
        let mut built = Built::default();
        let artifact = |id: &str, kind: &str, test: bool, executable: &str| {
            serde_json::json!({
                "reason": "compiler-artifact",
                "package_id": id,
                "manifest_path": "/w/crates/weir-cli/Cargo.toml",
                "target": {"kind": [kind], "name": "it", "doctest": kind == "lib"},
                "profile": {"test": test},
                "executable": (!executable.is_empty()).then_some(executable),
            })
            .to_string()
        };
        let own = "path+file:///w/crates/weir-tables#0.1.0";
        built.add("a line of a build script").unwrap();
        built
            .add(&artifact(
                "registry+https://x#serde@1.0.0",
                "lib",
                false,
                "",
            ))
            .unwrap();
        assert!(!built.has_examples);
        built
            .add(&artifact(own, "bin", false, "/t/debug/weir"))
            .unwrap();
        built
            .add(&artifact(own, "test", true, "/t/debug/deps/it-1"))
            .unwrap();
        built
            .add(&artifact(
                "path+file:///w/crates/weir-ws/oracle#weir-zlib@0.1.0",
                "lib",
                true,
                "/t/deps/z",
            ))
            .unwrap();
        assert!(built.has_examples);
        let names: Vec<String> = built.programs.iter().map(Program::name).collect();
        assert_eq!(names, ["-p weir-tables --test it", "-p weir-zlib --lib"]);
        let limits: Vec<u64> = built
            .programs
            .iter()
            .map(|program| program.limit.as_secs() / 60)
            .collect();
        assert_eq!(limits, [40, 10]);
        assert!(
            built
                .add(&artifact("nonsense", "test", true, "/t/x"))
                .is_err()
        );
    }

    #[test]
    #[ignore = "it is started by another"]
    fn runs_until_it_is_ended() {
        if env::var_os(ENDLESS).is_none() {
            return;
        }
        let guard = Guard::start().unwrap();
        let _busy = Busy::start(&guard).unwrap();
        let endless = Program {
            limit: Duration::from_secs(250),
            ..hangs("a", "hangs")
        };
        let suite = Suite::new(&[]).unwrap();
        suite
            .run_programs(vec![endless], &guard, &mut std::io::sink())
            .unwrap();
    }

    const ENDLESS: &str = "WEIR_TEST_IS_ENDLESS";

    #[test]
    fn whatever_ends_it_nothing_is_left_running() {
        for signal in ["-INT", "-TERM", "-KILL"] {
            let mut child = Command::new(env::current_exe().unwrap())
                .args([
                    "--exact",
                    "suite::tests::runs_until_it_is_ended",
                    "--ignored",
                ])
                .env(ENDLESS, "1")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn_limited()
                .unwrap();
            let (sleeper, busy) = (sleeper(child.id()), busy_name(child.id()));
            weir_testkit::until("what it starts", || {
                running(&sleeper) == 2 && running(&busy) == BUSY
            });
            let sent = Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status_limited();
            assert!(sent.unwrap().success());
            assert!(!child.wait().unwrap().success());
            weir_testkit::until("the ends of all", || {
                running(&sleeper) == 0 && running(&busy) == 0
            });
        }
    }

    #[test]
    fn busy_programs_end_with_the_tests() {
        let guard = Guard::start().unwrap();
        let name = busy_name(std::process::id());
        let busy = Busy::start(&guard).unwrap();
        weir_testkit::until("four shells", || running(&name) == BUSY);
        drop(busy);
        assert_eq!(running(&name), 0);
    }
}
