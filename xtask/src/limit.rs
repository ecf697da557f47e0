//! Programs that come to an end, or are ended, so that the gate does.
//!
//! `cargo xtask test` has cargo run each test program by `xtask limited-test`, which passes its output on and, when its time
//! is over, ends it with all that it has started and names the tests that had not come to their ends.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::target_dir;

/// The first word of the chore that cargo runs test programs by.
pub(crate) const WORD: &str = "limited-test";

/// What a step's program may take that is not a test program of cargo's: pytest, mypy, the browser.
pub(crate) const STEP: Duration = Duration::from_secs(30 * 60);

/// What a test program may take on a machine of two cores that does other things as well.
const PROGRAM: Duration = Duration::from_secs(10 * 60);

/// Test programs that may take longer, by the crate that they test: tshark reads several hundred captures there, many times.
const LONGER: &[(&str, Duration)] = &[("weir-tables", Duration::from_secs(40 * 60))];

/// How long a test program may take to list its tests.
const LISTING: Duration = Duration::from_secs(20);

/// Has cargo give each test program that it runs a limit.
pub(crate) fn each_program(tests: &mut Command) -> Result<()> {
    let host = Command::new("rustc").arg("-vV").output()?;
    let host = String::from_utf8(host.stdout)?;
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc -vV names no host")?;
    let variable = format!(
        "CARGO_TARGET_{}_RUNNER",
        host.to_uppercase().replace(['-', '.'], "_")
    );
    if std::env::var_os(&variable).is_some() {
        bail!("{variable} is taken: tests are run without it");
    }
    // Cargo may build this program anew while it runs the tests of the workspace.
    let folder = target_dir()?.join("limited-test");
    fs::create_dir_all(&folder)?;
    let beside = folder.join(format!("xtask-{}", std::process::id()));
    fs::copy(std::env::current_exe()?, &beside)?;
    let runner = folder.join("xtask");
    fs::rename(&beside, &runner)?;
    let runner = runner
        .to_str()
        .filter(|path| !path.contains(char::is_whitespace))
        .context("the path of the target folder has spaces, which cargo's runner cannot have")?;
    tests.env(variable, format!("{runner} {WORD}"));
    Ok(())
}

/// Runs a test program as cargo would, within its limit.
pub(crate) fn run_test(program: &str, arguments: &[&str]) -> ExitCode {
    match limited_test(program, arguments) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {program}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn limited_test(program: &str, arguments: &[&str]) -> Result<u8> {
    // Cargo starts a test program in the folder of the package that it tests.
    let package = std::env::current_dir()?;
    let package = package.file_name().unwrap_or_default();
    let longer = LONGER.iter().find(|(name, _)| package == *name);
    let limit = longer.map_or(PROGRAM, |(_, limit)| *limit);
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped());
    let mut child = command.spawn()?;
    let output = child.stdout.take().context("it has an output")?;
    let ended = spread(output);
    match wait_at_most(&mut child, limit)? {
        Some(status) => {
            // What it started may still hold its output.
            let _ = ended.recv_timeout(LISTING);
            use std::os::unix::process::ExitStatusExt as _;
            Ok(match (status.code(), status.signal()) {
                (Some(code), _) => u8::try_from(code).unwrap_or(1),
                (None, signal) => {
                    eprintln!("error: {program} ended by signal {}", signal.unwrap_or(0));
                    101
                }
            })
        }
        None => {
            let finished = ended.recv_timeout(LISTING).unwrap_or_default();
            eprintln!(
                "error: {program} had not ended after {} minutes, and was ended",
                limit.as_secs() / 60
            );
            let all = listed(Path::new(program), arguments);
            let unfinished: Vec<&String> = all.difference(&finished).collect();
            match unfinished.is_empty() {
                true => eprintln!("which of its tests had not finished is not known"),
                false => eprintln!("these tests had not finished:"),
            }
            for name in unfinished {
                eprintln!("    {name}");
            }
            Ok(101)
        }
    }
}

/// Passes on what a test program writes; at its end, the tests that it said to have finished.
fn spread(output: impl io::Read + Send + 'static) -> Receiver<BTreeSet<String>> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut finished = BTreeSet::new();
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        loop {
            line.clear();
            match output.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => {}
            }
            let mut out = io::stdout().lock();
            // Whoever reads may have gone; the tests go on.
            let _ = out.write_all(&line).and_then(|()| out.flush());
            let text = String::from_utf8_lossy(&line);
            finished.extend(finished_in(&text).map(ToOwned::to_owned));
        }
        let _ = sender.send(finished);
    });
    receiver
}

/// The test that a line of a test program says to have finished.
fn finished_in(line: &str) -> Option<&str> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    // What a test is marked with stands behind its name.
    let name = name.split(" - should panic").next().unwrap_or(name);
    let is_over = ["ok", "FAILED", "ignored"]
        .iter()
        .any(|word| outcome.trim_end().starts_with(word));
    is_over.then_some(name)
}

/// The tests that a program would run with these arguments; none when it does not say, or is no test program of cargo's.
fn listed(program: &Path, arguments: &[&str]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(["--list", "--format", "terse"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else {
        return names;
    };
    let Some(output) = child.stdout.take() else {
        return names;
    };
    let (sender, lines) = channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines();
        let _ = sender.send(lines.map_while(Result::ok).collect::<Vec<_>>());
    });
    let lines = lines.recv_timeout(LISTING).unwrap_or_default();
    weir_testkit::end_with_descendants(child.id());
    let _ = child.wait();
    let tests = lines.iter().filter_map(|line| line.strip_suffix(": test"));
    names.extend(tests.map(ToOwned::to_owned));
    names
}

/// Waits for a program; `None` when it was ended since its time was over.
fn wait_at_most(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let (done, over) = channel::<()>();
    let id = child.id();
    let watch = thread::spawn(move || {
        let is_over = over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if is_over {
            weir_testkit::end_with_descendants(id);
        }
        is_over
    });
    let status = child.wait();
    drop(done);
    let is_over = watch.join().unwrap_or(false);
    status.map(|status| (!is_over).then_some(status))
}

/// As [`Command::status`]; an error when the program was ended since its time was over.
pub(crate) fn status(command: &mut Command, limit: Duration) -> Result<io::Result<ExitStatus>> {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Err(error)),
    };
    match wait_at_most(&mut child, limit)? {
        Some(status) => Ok(Ok(status)),
        None => bail!(
            "{command:?} had not ended after {} minutes, and was ended",
            limit.as_secs() / 60
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_ended_and_one_that_does_is_left_alone() {
        let sleeps = |seconds: &str| Command::new("sleep").arg(seconds).spawn().unwrap();
        let ended = wait_at_most(&mut sleeps("1000"), Duration::from_millis(50)).unwrap();
        assert_eq!(ended, None);
        let ended = wait_at_most(&mut sleeps("0"), Duration::from_secs(60)).unwrap();
        assert!(ended.is_some_and(|status| status.success()));
        let mut endless = Command::new("sh");
        endless.args(["-c", "sleep 1000; echo"]);
        let refused = status(&mut endless, Duration::from_millis(50)).unwrap_err();
        assert!(
            refused.to_string().contains("\"sleep 1000; echo\""),
            "{refused}"
        );
    }

    #[test]
    fn tests_that_have_finished_are_read_from_what_their_program_says() {
        for (line, name) in [
            (
                "test clf::calls_are_logged ... ok\n",
                Some("clf::calls_are_logged"),
            ),
            ("test a::b ... FAILED\n", Some("a::b")),
            ("test a::c - should panic ... ok\n", Some("a::c")),
            (
                "test a::d ... ignored, it is started by another\n",
                Some("a::d"),
            ),
            ("test a::e has been running for over 60 seconds\n", None),
            ("test result: ok. 3 passed; 0 failed\n", None),
            ("running 3 tests\n", None),
        ] {
            assert_eq!(finished_in(line), name, "{line}");
        }
        // This very program lists its tests.
        let own = std::env::current_exe().unwrap();
        let all = listed(&own, &[]);
        let this = "limit::tests::tests_that_have_finished_are_read_from_what_their_program_says";
        assert!(all.contains(this), "{all:?}");
    }
}
