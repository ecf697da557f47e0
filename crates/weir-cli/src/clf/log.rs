//! A log as it is read, and what is reported of one that is read or written.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use weir_clf::{Losses, Reader, ReaderOptions, Segment};

use crate::failure::Failure;
use crate::message::Messages;
use crate::progress::Passing;
use crate::refusal::Refusal;

/// Reads a log of any form, plain or compressed, counting what passes; `-` is standard input.
pub(super) fn reader(path: &Path, passing: &Passing) -> Result<Reader<Box<dyn io::Read>>, Failure> {
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
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Failure {
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
pub(super) fn wrote(outcome: io::Result<()>) -> Result<bool, Failure> {
    match outcome {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::running(format!(
            "cannot write the result: {error}"
        ))),
    }
}

pub(super) fn report_losses(losses: &Losses, messages: Messages) {
    for (_, text, count) in losses.iter() {
        messages.note(&format!("{count} {text}"));
    }
}

/// The first places that are no record, and how many more there are.
#[derive(Default)]
pub(super) struct Damages {
    pub(super) count: u64,
}

impl Damages {
    /// Damaged places that are reported one by one.
    const REPORTED_MAX: u64 = 10;

    pub(super) fn report(&mut self, path: &Path, damage: &weir_clf::Damage, messages: Messages) {
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
    pub(super) fn close(&self, messages: Messages) -> ExitCode {
        if self.count > Self::REPORTED_MAX {
            messages.error(&format!(
                "{} more such places",
                self.count - Self::REPORTED_MAX
            ));
        }
        ExitCode::from(u8::from(self.count > 0))
    }
}
