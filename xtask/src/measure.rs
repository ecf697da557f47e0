//! The cost of a command, as the operating system accounts for it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use wait4::Wait4;

/// The cost of one run of a command.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// Seconds from start to end.
    pub(crate) wall: f64,
    /// Seconds of processor time, in user and kernel mode.
    pub(crate) cpu: f64,
    /// Those of them that were spent in kernel mode.
    pub(crate) system: f64,
    /// Bytes resident at the peak.
    pub(crate) resident: u64,
}

/// A command to measure.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    /// Name in tables.
    pub(crate) name: String,
    program: String,
    arguments: Vec<String>,
    folder: Option<PathBuf>,
}

impl Subject {
    pub(crate) fn new(name: &str, program: &str, arguments: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            program: program.to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            folder: None,
        }
    }

    /// The same command, run in `folder`.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    fn command(&self) -> Command {
        // A program shares the memory of the process that starts it until it is loaded, and Linux counts the peak of that as its own:
        // the traces that were made in this process would be resident in all programs.
        let _ = fs::write("/proc/self/clear_refs", "5");
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stderr(Stdio::null());
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command
    }

    /// Runs it once: its cost and what it wrote to standard output.
    pub(crate) fn run(&self) -> Result<(Cost, String)> {
        self.run_with_input(None::<fn(&mut dyn Write) -> Result<()>>)
    }

    /// Runs it once, and gives its cost and whether it succeeded.
    pub(crate) fn run_in_any_case(&self) -> Result<(Cost, bool)> {
        let mut command = self.command();
        command.stdout(Stdio::null()).stdin(Stdio::null());
        let started = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", self.program))?;
        let ended = child.wait4()?;
        let cost = Cost {
            wall: started.elapsed().as_secs_f64(),
            cpu: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
            system: ended.rusage.stime.as_secs_f64(),
            resident: ended.rusage.maxrss,
        };
        Ok((cost, ended.status.success()))
    }

    /// Runs it once with what `feed` writes as its standard input.
    pub(crate) fn run_with_input(
        &self,
        feed: Option<impl FnOnce(&mut dyn Write) -> Result<()> + Send>,
    ) -> Result<(Cost, String)> {
        let mut command = self.command();
        command.stdout(Stdio::piped());
        command.stdin(match feed {
            Some(_) => Stdio::piped(),
            None => Stdio::from(File::open("/dev/null")?),
        });
        let started = Instant::now();
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", self.program))?;
        let mut stdout = child.stdout.take().context("standard output is piped")?;
        let stdin = child.stdin.take();
        let mut text = String::new();
        thread::scope(|scope| -> Result<()> {
            let feeder = feed
                .zip(stdin)
                .map(|(feed, mut stdin)| scope.spawn(move || feed(&mut stdin)));
            stdout.read_to_string(&mut text)?;
            match feeder.map(thread::ScopedJoinHandle::join) {
                Some(Ok(outcome)) => outcome,
                Some(Err(_)) => bail!("the feeder of {} failed", self.name),
                None => Ok(()),
            }
        })?;
        let ended = child.wait4()?;
        if !ended.status.success() {
            bail!("{}: {}", self.name, ended.status);
        }
        let cost = Cost {
            wall: started.elapsed().as_secs_f64(),
            cpu: (ended.rusage.utime + ended.rusage.stime).as_secs_f64(),
            system: ended.rusage.stime.as_secs_f64(),
            resident: ended.rusage.maxrss,
        };
        Ok((cost, text))
    }
}

/// Runs the subjects in turn, `rounds` times after one round that does not count; gives each
/// subject's costs, and what it wrote in the last round.
pub(crate) fn alternate(subjects: &[Subject], rounds: usize) -> Result<Vec<(Vec<Cost>, String)>> {
    let mut results = vec![(Vec::new(), String::new()); subjects.len()];
    for round in 0..=rounds {
        for (subject, (costs, text)) in subjects.iter().zip(&mut results) {
            let (cost, output) = subject.run()?;
            if round > 0 {
                costs.push(cost);
            }
            *text = output;
        }
    }
    Ok(results)
}

/// The median of a figure over runs.
pub(crate) fn median(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> f64 {
    let mut values: Vec<f64> = costs.iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
