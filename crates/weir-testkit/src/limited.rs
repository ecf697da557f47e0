//! Programs that a test starts, none of which it waits for without a limit.
//!
//! A program that still runs after [`LIFE`] is ended, with all that it has started, and the test's output says which
//! one it was: whoever waited for its end, its output or a line of it goes on, and fails. On systems without `/proc`
//! there is no limit.

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long a program of a test may run: longer than a busy machine takes for the longest of them.
pub const LIFE: Duration = Duration::from_secs(300);

/// How often is looked whether a program has ended by itself.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Starts programs as [`Command`] does, with an end.
pub trait Limited {
    /// As [`Command::spawn`], for at most [`LIFE`].
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    fn spawn_limited(&mut self) -> io::Result<Child> {
        self.spawn_for(LIFE)
    }

    /// As [`Command::spawn`], for at most `life`.
    ///
    /// # Errors
    /// Those of [`Command::spawn`].
    fn spawn_for(&mut self, life: Duration) -> io::Result<Child>;

    /// As [`Command::output`], after at most [`LIFE`]; standard input is empty.
    ///
    /// # Errors
    /// Those of [`Command::output`].
    fn output_limited(&mut self) -> io::Result<Output>;

    /// As [`Command::status`], after at most [`LIFE`].
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
                    // What ends at once is not held back by the thread that watches it.
                    while Instant::now() < until {
                        thread::sleep(LOOK_EVERY.min(life));
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
        // What is ended cannot start anything that would be missed.
        signal("-STOP", parent);
        doomed.extend(
            Process::all()
                .filter(|it| it.parent == parent)
                .map(|it| it.id),
        );
        next += 1;
    }
    for id in doomed {
        signal("-KILL", id);
    }
}

fn signal(name: &str, id: u32) {
    // Who is gone already needs none.
    let _ = Command::new("kill")
        .args([name, &id.to_string()])
        .stderr(Stdio::null())
        .status();
}

/// A process as `/proc` has it.
#[derive(Clone, Copy, Debug)]
struct Process {
    id: u32,
    parent: u32,
    /// The state of proc(5): `Z` has ended, and its parent has not asked for its status.
    state: u8,
    /// Ticks since the system's start, by which a later process of the same number is told apart.
    began: u64,
}

impl Process {
    fn of(id: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the program, in parentheses, may have any character.
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let began = fields.nth(BETWEEN_PARENT_AND_BEGIN)?.parse().ok()?;
        Some(Self {
            id,
            parent,
            state,
            began,
        })
    }

    fn all() -> impl Iterator<Item = Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.filter_map(Self::of)
    }

    fn is_running(&self) -> bool {
        !matches!(self.state, b'Z' | b'X')
    }

    /// True while this very process runs.
    fn is_still(&self) -> bool {
        Self::of(self.id).is_some_and(|now| now.is_running() && now.began == self.began)
    }
}

/// Fields of `/proc/PID/stat` between the parent, the fourth, and the time of the start, the twenty-second.
const BETWEEN_PARENT_AND_BEGIN: usize = 22 - 4 - 1;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_a_program_that_does_not_end_goes_on() {
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

    #[test]
    fn a_process_is_told_from_a_later_one_of_its_number() {
        let own = Process::of(std::process::id()).unwrap();
        assert!(own.is_still());
        assert!(own.is_running());
        assert!(Process::all().any(|it| (it.id, it.began) == (own.id, own.began)));
        let earlier = Process {
            began: own.began.wrapping_sub(1),
            ..own
        };
        assert!(!earlier.is_still());
    }
}
