//! Programs that end in time, or are killed, so that the gate ends.
//!
//! Each test program is the first process of a group of its own. When its time is over, and when it leaves processes
//! behind, the whole group is ended; the tests that had not finished are named. [`Guard`] ends the groups of
//! an xtask that ends before them, by Ctrl-C as by any other way.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The first word of the chore that [`Guard`] runs.
pub(crate) const GUARD: &str = "guard-of-groups";

/// The time limit of a program that is not a test program of cargo: pytest, mypy, the browser, the examples of documents.
pub(crate) const STEP: Duration = Duration::from_secs(30 * 60);

/// The time limit of a test program on a machine with two busy cores.
const PROGRAM: Duration = Duration::from_secs(10 * 60);

/// Test programs that may take longer, by the crate that they test: tshark reads several hundred captures there, many times.
const LONGER: &[(&str, Duration)] = &[("weir-tables", Duration::from_secs(40 * 60))];

/// The time limit for listing the tests of a program.
const LISTING: Duration = Duration::from_secs(20);

/// The time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);

/// The bytes of a program's output that are stored.
const OUTPUT_MAX: usize = 16 << 20;

/// The time limit of a crate's test programs.
pub(crate) fn of_package(name: &str) -> Duration {
    let longer = LONGER.iter().find(|(package, _)| name == *package);
    longer.map_or(PROGRAM, |(_, limit)| *limit)
}

/// The end of a test program.
#[derive(Debug)]
pub(crate) struct ProgramEnd {
    pub(crate) how: How,
    pub(crate) took: Duration,
    /// The lines of standard output and standard error, in the order of their arrival.
    pub(crate) output: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The program ended with status 0.
    Passed,
    /// The program ended with another status, or by a signal.
    Failed(ExitStatus),
    /// The program exceeded its time limit and was killed. The list has the unfinished tests, if the program can list its tests.
    OverTime(Vec<String>),
}

/// Runs a test program within a limit, as the first process of a group that is ended with it.
pub(crate) fn run_test(
    command: &mut Command,
    limit: Duration,
    guard: &Guard,
) -> io::Result<ProgramEnd> {
    let started = Instant::now();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.process_group(0).spawn()?;
    let group = guard.entered(child.id());
    let output = Arc::new(Mutex::new(Collected::default()));
    let (sender, ends) = channel();
    if let Some(stdout) = child.stdout.take() {
        collect(stdout, OutputStream::Stdout, &output, sender.clone());
    }
    if let Some(stderr) = child.stderr.take() {
        collect(stderr, OutputStream::Stderr, &output, sender.clone());
    }
    drop(sender);
    let status = wait_at_most(&mut child, limit, end_group)?;
    // Processes that the program started may still run and hold its output open.
    drop(group);
    wait_for_both(&ends);
    let took = started.elapsed();
    let (output, finished) = output
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .taken();
    let how = match status {
        Some(status) if status.success() => How::Passed,
        Some(status) => How::Failed(status),
        None => {
            let all = listed(command, guard);
            How::OverTime(all.difference(&finished).cloned().collect())
        }
    };
    Ok(ProgramEnd { how, took, output })
}

/// Waits until both outputs of a program have ended. A process that has left the group may hold them for longer.
fn wait_for_both(ends: &Receiver<()>) {
    let until = Instant::now() + LISTING;
    while ends
        .recv_timeout(until.saturating_duration_since(Instant::now()))
        .is_ok()
    {}
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OutputStream {
    Stdout,
    Stderr,
}

/// The output of a program.
#[derive(Debug, Default)]
struct Collected {
    bytes: Vec<u8>,
    /// Bytes at the beginning that were too many.
    left_out: usize,
    /// The tests that it said to have finished.
    finished: BTreeSet<String>,
}

impl Collected {
    fn add(&mut self, line: &[u8], source: OutputStream) {
        if source == OutputStream::Stdout {
            let text = String::from_utf8_lossy(line);
            self.finished
                .extend(finished_in(&text).map(ToOwned::to_owned));
        }
        self.bytes.extend_from_slice(line);
        if self.bytes.len() > OUTPUT_MAX {
            let dropped = self.bytes.len() - OUTPUT_MAX / 2;
            self.bytes.drain(..dropped);
            self.left_out = self.left_out.saturating_add(dropped);
        }
    }

    fn taken(&mut self) -> (Vec<u8>, BTreeSet<String>) {
        let bytes = std::mem::take(&mut self.bytes);
        let bytes = match self.left_out {
            0 => bytes,
            left_out => [
                format!("({left_out} bytes before are left out)\n").as_bytes(),
                &bytes,
            ]
            .concat(),
        };
        (bytes, std::mem::take(&mut self.finished))
    }
}

/// Collects the lines of one output of a program, and tells when it ends.
fn collect(
    from: impl io::Read + Send + 'static,
    source: OutputStream,
    to: &Arc<Mutex<Collected>>,
    end: Sender<()>,
) {
    let to = Arc::clone(to);
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = Vec::new();
        while io::Read::take(&mut from, OUTPUT_MAX as u64)
            .read_until(b'\n', &mut line)
            .is_ok_and(|count| count > 0)
        {
            to.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .add(&line, source);
            line.clear();
        }
        let _ = end.send(());
    });
}

/// The test that a line of a test program says to have finished.
fn finished_in(line: &str) -> Option<&str> {
    let (name, outcome) = line.strip_prefix("test ")?.rsplit_once(" ... ")?;
    // A mark of a test follows its name.
    let name = name.split(" - should panic").next().unwrap_or(name);
    let is_over = ["ok", "FAILED", "ignored"]
        .iter()
        .any(|word| outcome.trim_end().starts_with(word));
    is_over.then_some(name)
}

/// The tests that a program would run with its arguments; none when it does not say, or has no harness of Rust's.
fn listed(program: &Command, guard: &Guard) -> BTreeSet<String> {
    let mut command = Command::new(program.get_program());
    command
        .args(program.get_args())
        .args(["--list", "--format", "terse"])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    if let Some(folder) = program.get_current_dir() {
        command.current_dir(folder);
    }
    let Ok(mut child) = command.spawn() else {
        return BTreeSet::new();
    };
    let group = guard.entered(child.id());
    let (sender, lines) = channel();
    if let Some(output) = child.stdout.take() {
        thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            let _ = sender.send(lines.map_while(Result::ok).collect::<Vec<_>>());
        });
    }
    let lines = lines.recv_timeout(LISTING).unwrap_or_default();
    drop(group);
    let _ = child.wait();
    let tests = lines.iter().filter_map(|line| line.strip_suffix(": test"));
    tests.map(ToOwned::to_owned).collect()
}

/// Waits for a program; `None` when it was ended, by `end`, since its time was over.
fn wait_at_most(
    child: &mut Child,
    limit: Duration,
    end: impl FnOnce(u32) + Send + 'static,
) -> io::Result<Option<ExitStatus>> {
    let (done, over) = channel::<()>();
    let id = child.id();
    let watch = thread::spawn(move || {
        let is_over = over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
        if is_over {
            end(id);
        }
        is_over
    });
    let status = child.wait();
    drop(done);
    let is_over = watch.join().unwrap_or(false);
    status.map(|status| (!is_over).then_some(status))
}

/// Runs a command like [`Command::status`]; a program that exceeds its time limit is killed, which is an error.
pub(crate) fn status(command: &mut Command, limit: Duration) -> Result<io::Result<ExitStatus>> {
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Ok(Err(error)),
    };
    match wait_at_most(&mut child, limit, weir_testkit::end_with_descendants)? {
        Some(status) => Ok(Ok(status)),
        None => bail!("{}", over(command, limit)),
    }
}

fn over(command: &Command, limit: Duration) -> String {
    let minutes = limit.as_secs() / 60;
    format!("{command:?} had not ended after {minutes} minutes, and was ended")
}

fn end_group(leader: u32) {
    weir_testkit::end_group(leader, GRACE);
}

/// A process that ends the groups which this one has started and not ended itself, when this one ends.
///
/// A process cannot react to SIGKILL, and a process in a group of its own does not see the terminal's Ctrl-C. So the
/// guard, which has a group of its own too, reads the numbers of groups from a pipe, and acts when the pipe ends.
#[derive(Debug)]
pub(crate) struct Guard {
    process: Child,
    groups: Mutex<Option<ChildStdin>>,
}

impl Guard {
    /// Starts it: before cargo is run, which may replace the program that this is.
    pub(crate) fn start() -> Result<Self> {
        let mut process = guard_command()?
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the guard of test programs")?;
        let groups = Mutex::new(process.stdin.take());
        Ok(Self { process, groups })
    }

    /// Adds a process group to the guard. Dropping the returned value, or the end of this process, ends the group.
    pub(crate) fn entered(&self, group: u32) -> Guarded<'_> {
        self.tell('+', group);
        Guarded { guard: self, group }
    }

    fn tell(&self, sign: char, group: u32) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(groups) = groups.as_mut()
            && let Err(error) = writeln!(groups, "{sign}{group}")
        {
            eprintln!("note: the guard of test programs is gone: {error}");
        }
    }

    /// Runs a command as a group in its care, for at most [`STEP`].
    pub(crate) fn status(&self, command: &mut Command) -> Result<io::Result<ExitStatus>> {
        let mut child = match command.process_group(0).spawn() {
            Ok(child) => child,
            Err(error) => return Ok(Err(error)),
        };
        let _group = self.entered(child.id());
        match wait_at_most(&mut child, STEP, end_group)? {
            Some(status) => Ok(Ok(status)),
            None => bail!("{}", over(command, STEP)),
        }
    }

    /// Runs a command as a group in its care, without a limit; its status, and what `read` makes of its output.
    pub(crate) fn output_of<T>(
        &self,
        command: &mut Command,
        read: impl FnOnce(&mut dyn BufRead) -> Result<T>,
    ) -> Result<(ExitStatus, T)> {
        let mut child = command.stdout(Stdio::piped()).process_group(0).spawn()?;
        let _group = self.entered(child.id());
        let output = child.stdout.take().context("standard output is piped")?;
        let read = read(&mut BufReader::new(output))?;
        Ok((child.wait()?, read))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(
            self.groups
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let _ = self.process.wait();
    }
}

/// A group of processes that ends with this value.
#[derive(Debug)]
pub(crate) struct Guarded<'a> {
    guard: &'a Guard,
    group: u32,
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        end_group(self.group);
        self.guard.tell('-', self.group);
    }
}

/// The guard process: at the end of its input it ends the groups that were added and not removed.
pub(crate) fn guard(input: impl BufRead) {
    let mut groups = BTreeSet::new();
    for line in input.lines().map_while(Result::ok) {
        let Some((sign, group)) = line.split_at_checked(1) else {
            continue;
        };
        match (sign, group.parse::<u32>()) {
            ("+", Ok(group)) => groups.insert(group),
            ("-", Ok(group)) => groups.remove(&group),
            _ => false,
        };
    }
    thread::scope(|scope| {
        for group in groups {
            scope.spawn(move || end_group(group));
        }
    });
}

#[cfg(not(test))]
fn guard_command() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(GUARD);
    Ok(command)
}

/// The tests of this program have no chores.
#[cfg(test)]
fn guard_command() -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    let test = "limit::tests::the_guard_of_the_other_tests";
    command
        .args(["--exact", test, "--ignored", "--nocapture"])
        .env(GUARDS, "1");
    Ok(command)
}

/// The variable that distinguishes the guard test from a run of all ignored tests.
#[cfg(test)]
const GUARDS: &str = "WEIR_TEST_IS_GUARD";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "it is started by others"]
    fn the_guard_of_the_other_tests() {
        if std::env::var_os(GUARDS).is_some() {
            guard(io::stdin().lock());
        }
    }

    #[test]
    fn a_program_that_does_not_end_is_ended_and_one_that_does_is_left_alone() {
        let wait = |seconds: &str, limit| {
            let mut sleeper = Command::new("sleep").arg(seconds).spawn().unwrap();
            wait_at_most(&mut sleeper, limit, weir_testkit::end_with_descendants).unwrap()
        };
        assert_eq!(wait("1000", Duration::from_millis(50)), None);
        let ended = wait("0", Duration::from_secs(60));
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
        let own = Command::new(std::env::current_exe().unwrap());
        let all = listed(&own, &Guard::start().unwrap());
        let this = "limit::tests::tests_that_have_finished_are_read_from_what_their_program_says";
        assert!(all.contains(this), "{all:?}");
    }

    #[test]
    fn of_an_output_without_end_the_last_is_kept() {
        let mut collected = Collected::default();
        for number in 0..300 {
            let mut line = vec![b'x'; 100_000];
            line.extend(format!("{number}\n").as_bytes());
            collected.add(&line, OutputStream::Stdout);
        }
        let all = 300 * 100_001 + 10 + 2 * 90 + 3 * 200;
        let left_out = collected.left_out;
        assert_eq!(collected.bytes.len() + left_out, all);
        assert!(collected.bytes.len() <= OUTPUT_MAX);
        let (output, _) = collected.taken();
        let text = String::from_utf8(output).unwrap();
        let start = format!("({left_out} bytes before are left out)\n");
        assert!(text.starts_with(&start));
        assert!(text.ends_with("x299\n"));
    }
}
