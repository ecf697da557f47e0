//! `weir clf`: SIP logs written, searched, converted, watched and checked.

mod args;
mod check;
mod convert;
mod packets;
mod search;
mod tail;
mod write;

use std::io;
use std::path::Path;
use std::process::ExitCode;

pub(crate) use args::Clf;
use args::ClfCommand;
use weir_clf::{Losses, Reader, ReaderOptions, Segment};

use crate::args::Global;
use crate::message::Messages;
use crate::progress::Passing;
use crate::refusal::Refusal;
use crate::session::Failure;

/// Runs one of the commands.
pub(crate) fn run(clf: &Clf, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    match &clf.command {
        ClfCommand::Write(write) => write::run(write, global, messages),
        ClfCommand::Search(search) => search::run(search, global, messages),
        ClfCommand::Convert(convert) => convert::convert(convert, global, messages),
        ClfCommand::Anonymize(anonymize) => convert::anonymize(anonymize, global, messages),
        ClfCommand::Index(index) => check::index(index, global, messages),
        ClfCommand::Check(check) => check::check(check, global, messages),
        ClfCommand::Tail(tail) => tail::run(tail, messages),
    }
}

/// Reads a log of any form, plain or compressed, counting what passes; `-` is standard input.
fn reader(path: &Path, passing: &Passing) -> Result<Reader<Box<dyn io::Read>>, Failure> {
    let source: Box<dyn io::Read> = if path.as_os_str() == "-" {
        Box::new(passing.through(io::stdin()))
    } else {
        // Opened as a segment for what that finds wrong; read from the beginning.
        let segment = Segment::open(path).map_err(|error| Failure::file(path, &error))?;
        Box::new(passing.through(segment.into_reader()))
    };
    Ok(Reader::with_options(source, ReaderOptions::default()))
}

/// A log that begins like no form, with what to do about it.
fn unreadable(path: &Path, error: &io::Error) -> Failure {
    if error.kind() == io::ErrorKind::InvalidData {
        let message = format!("{}: {error}", path.display());
        return Refusal::usage(
            message,
            "weir clf write creates a log from captures and SIP messages",
        )
        .into();
    }
    Failure::file(path, error)
}

/// The outcome of writing. A reader that has closed its end is no failure.
fn wrote(outcome: io::Result<()>) -> Result<bool, Failure> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::running(format!(
            "cannot write the result: {error}"
        ))),
    }
}

fn report_losses(losses: &Losses, messages: Messages) {
    for (_, text, count) in losses.iter() {
        messages.note(&format!("{count} {text}"));
    }
}

/// The first places that are no record, and how many more there are.
#[derive(Default)]
struct Damages {
    count: u64,
}

impl Damages {
    /// Damaged places that are reported one by one.
    const REPORTED_MAX: u64 = 10;

    fn report(&mut self, path: &Path, damage: &weir_clf::Damage, messages: Messages) {
        self.count = self.count.saturating_add(1);
        if self.count <= Self::REPORTED_MAX {
            messages.error(&format!(
                "{}: byte {}: {}; {} bytes skipped",
                path.display(),
                damage.offset,
                damage.fault,
                damage.len
            ));
        }
    }

    /// The exit status.
    fn close(&self, messages: Messages) -> ExitCode {
        if self.count > Self::REPORTED_MAX {
            messages.error(&format!(
                "{} more such places",
                self.count - Self::REPORTED_MAX
            ));
        }
        ExitCode::from(u8::from(self.count > 0))
    }
}
