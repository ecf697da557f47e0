//! Programs that a test starts, none of which it waits for without a limit.
//!
//! A program that still runs after [`LIFE`] is ended, with all that it has started, and the test's output names
//! it: a test that waited for its end, its output or a line of it continues, and fails. On systems without `/proc`
//! there is no limit.

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The longest run of a program in a test, more than the slowest one takes on a busy machine.
pub const LIFE: Duration = Duration::from_secs(300);

/// The interval between checks whether a program has ended by itself.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Starts programs as [`Command`] does, with an end.
pub trait Limited {
    /// Spawns the command like [`Command::spawn`], and ends it after [`LIFE`].
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    fn spawn_limited(&mut self) -> io::Result<Child> {
        self.spawn_for(LIFE)
    }

    /// Spawns the command like [`Command::spawn`], and ends it after `life`.
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    fn spawn_for(&mut self, life: Duration) -> io::Result<Child>;

    /// Runs the command like [`Command::output`], for at most [`LIFE`]; standard input is empty.
    ///
    /// # Errors
    /// Those of [`Command::output`].
    fn output_limited(&mut self) -> io::Result<Output>;

    /// Runs the command like [`Command::status`], for at most [`LIFE`].
    ///
    /// # Errors
    /// Those of [`Command::status`].
    fn status_limited(&mut self) -> io::Result<ExitStatus> {
        self.spawn_limited()?.wait()
    }
}

impl Limited for Command {
    fn spawn_for(&mut self, life: Duration) -> io::Result<Child> {
        let child = self.spawn()?;
        let shown = format!("{self:?}");
        let id = child.id();
        if let Some(started) = Process::of(id).filter(Process::is_running) {
            let until = Instant::now() + life;
            thread::Builder::new()
                .name(format!("limit of {id}"))
                .spawn(move || {
                    // The thread runs beside the caller, so a program that ends at once is not delayed.
                    while Instant::now() < until {
                        thread::sleep(POLL_INTERVAL.min(life));
                        if !started.is_still() {
                            return;
                        }
                    }
                    eprintln!(
                        "after {} s this still ran, and was ended: {shown}",
                        life.as_secs_f64()
                    );
                    end_with_descendants(id);
                })?;
        }
        Ok(child)
    }

    fn output_limited(&mut self) -> io::Result<Output> {
        self.stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn_limited()?
            .wait_with_output()
    }
}

/// Waits until `condition` holds, for at most [`LIFE`].
///
/// # Panics
/// When it does not hold by then: `what` was waited for.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + LIFE;
    while !condition() {
        assert!(
            Instant::now() < end,
            "waited {} s for {what}",
            LIFE.as_secs()
        );
        thread::sleep(Duration::from_millis(10));
    }
}

/// Ends a process, and all that it and its children have started and that still has one of them as its parent. Children
/// come last, so that none starts another in the meantime.
pub fn end_with_descendants(id: u32) {
    let mut doomed = vec![id];
    let mut next = 0;
    while let Some(&parent) = doomed.get(next) {
        // A stopped process cannot start children that this loop would miss.
        signal("-STOP", parent);
        doomed.extend(
            Process::all()
                .filter(|process| process.parent == parent)
                .map(|process| process.id),
        );
        next += 1;
    }
    for id in doomed {
        signal("-KILL", id);
    }
}

/// Ends the process group that `leader` was started in as its first process, and all that its processes have started in
/// other groups: SIGTERM, and SIGKILL for what still runs after `grace`. The leader may have ended before; true when
/// there was something to end. On systems without `/proc` only the group is found, and it always has its `grace`.
pub fn end_group(leader: u32, grace: Duration) -> bool {
    let found = Process::of_group(leader);
    let has_proc = Process::of(std::process::id()).is_some();
    if has_proc && found.is_empty() {
        return false;
    }
    signal_group("-TERM", leader);
    for process in &found {
        if process.group != leader {
            signal("-TERM", process.id);
        }
    }
    let end = Instant::now() + grace;
    while Instant::now() < end {
        if has_proc && !found.iter().any(Process::is_still) && Process::of_group(leader).is_empty()
        {
            return true;
        }
        thread::sleep(Duration::from_millis(10));
    }
    // A process that started since then descends from one in `found`, or is in the group.
    for process in Process::of_group(leader) {
        end_with_descendants(process.id);
    }
    for process in found.iter().filter(|process| process.is_still()) {
        end_with_descendants(process.id);
    }
    signal_group("-KILL", leader);
    true
}

fn signal(name: &str, id: u32) {
    send(&[name, &id.to_string()]);
}

fn signal_group(name: &str, leader: u32) {
    send(&[name, "--", &format!("-{leader}")]);
}

/// Sends a signal; a process that has ended already needs none.
fn send(words: &[&str]) {
    let _ = Command::new("kill")
        .args(words)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

/// A process as `/proc` has it.
#[derive(Clone, Copy, Debug)]
struct Process {
    id: u32,
    parent: u32,
    /// The process group, by the number of the process that it was made for.
    group: u32,
    /// The state of proc(5): `Z` is a process that has ended and whose status its parent has not read.
    state: u8,
    /// The start time in ticks since boot, which distinguishes a later process with the same id.
    began: u64,
}

impl Process {
    fn of(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the program, in parentheses, may have any character.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let began = fields.nth(BETWEEN_GROUP_AND_BEGIN)?.parse().ok()?;
        Some(Self {
            id,
            parent,
            group,
            state,
            began,
        })
    }

    fn all() -> impl Iterator<Item = Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(Self::of)
    }

    /// The processes of a group that run, and those that they and what has ended among them have started.
    fn of_group(leader: u32) -> Vec<Self> {
        let all: Vec<Self> = Self::all().collect();
        let mut found: Vec<Self> = all
            .iter()
            .filter(|process| process.group == leader)
            .copied()
            .collect();
        let mut next = 0;
        while let Some(&Self { id, .. }) = found.get(next) {
            let started = all
                .iter()
                .filter(|process| process.parent == id && process.group != leader);
            found.extend(started);
            next += 1;
        }
        found.retain(Self::is_running);
        found
    }

    fn is_running(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }

    /// True while this very process runs.
    fn is_still(&self) -> bool {
        Self::of(self.id).is_some_and(|now| now.is_running() && now.began == self.began)
    }
}

/// Fields of `/proc/PID/stat` between the process group, the fifth, and the time of the start, the twenty-second.
const BETWEEN_GROUP_AND_BEGIN: usize = 22 - 5 - 1;

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};

    use super::*;

    #[test]
    fn a_program_that_does_not_end_is_ended() {
        // The shell waits for a child of its own, which holds the pipe open.
        let mut endless = Command::new("sh");
        endless
            .args(["-c", "sleep 1000 & echo begun; wait"])
            .stdout(Stdio::piped());
        let child = endless.spawn_for(Duration::from_millis(200)).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.stdout, b"begun\n");
        assert!(!output.status.success());
    }

    #[test]
    fn a_program_that_ends_is_left_alone() {
        let output = Command::new("sh")
            .args(["-c", "echo said; echo wrong >&2; exit 3"])
            .output_limited()
            .unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert_eq!(
            (&output.stdout[..], &output.stderr[..]),
            (&b"said\n"[..], &b"wrong\n"[..])
        );
        assert!(Command::new("true").status_limited().unwrap().success());
        assert!(
            Command::new("there is no such program")
                .spawn_limited()
                .is_err()
        );
    }

    /// Starts a shell as the leader of a new process group; it prints a line when all processes of `script` have started.
    fn group(script: &str) -> Child {
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .process_group(0)
            .stdout(Stdio::piped())
            .spawn_limited()
            .unwrap();
        let mut line = String::new();
        let output = shell.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        assert_eq!(line, "begun\n");
        shell
    }

    #[test]
    fn a_group_is_ended_with_what_it_has_started_elsewhere() {
        // The second has a session, and so a group, of its own.
        let mut shell = group("sleep 1000 & setsid sleep 1000 & echo begun; wait");
        let id = shell.id();
        let is_elsewhere = |process: &Process| process.group != id;
        until("a process in a group of its own", || {
            Process::of_group(id).iter().any(is_elsewhere)
        });
        let processes = Process::of_group(id);
        assert_eq!(processes.len(), 3);
        assert!(end_group(id, LIFE));
        assert!(!shell.wait().unwrap().success());
        until("the ends of all", || {
            !processes.iter().any(Process::is_still)
        });
        assert!(!end_group(id, LIFE), "there is nothing left of it");
    }

    #[test]
    fn a_group_that_ignores_the_request_is_ended_in_any_case() {
        // The shell and, since it is ignored there as well, what it starts.
        let mut shell = group("trap '' TERM; sleep 1000 & echo begun; wait");
        let processes = Process::of_group(shell.id());
        assert_eq!(processes.len(), 2);
        assert!(end_group(shell.id(), Duration::from_millis(50)));
        let status = shell.wait().unwrap();
        assert_eq!(status.signal(), Some(9));
        until("the ends of both", || {
            !processes.iter().any(Process::is_still)
        });
    }

    #[test]
    fn what_a_program_leaves_behind_is_ended_by_its_group() {
        let mut shell = group("sleep 1000 & echo begun");
        assert!(shell.wait().unwrap().success());
        assert!(end_group(shell.id(), LIFE));
        assert!(Process::of_group(shell.id()).is_empty());
    }

    #[test]
    fn a_process_is_distinguished_from_a_later_one_of_its_number() {
        let own = Process::of(std::process::id()).unwrap();
        assert!(own.is_still());
        assert!(own.is_running());
        assert!(Process::all().any(|process| (process.id, process.began) == (own.id, own.began)));
        let earlier = Process {
            began: own.began.wrapping_sub(1),
            ..own
        };
        assert!(!earlier.is_still());
    }
}
