//! The log that `weir clf write` writes, and the counts of its messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_clf::{Appender, Passage, Recorder, Writer};
use weir_sip::{Digest, Limits, Message};
use weir_tables::Stop;

use super::args::Write;
use crate::failure::Failure;
use crate::message::Messages;
use crate::progress::Passing;

/// The writer of the log, and the flag that reopens its file.
pub(super) struct Log {
    pub(super) writer: Writer,
    pub(super) appender: Appender,
    pub(super) reopen: Arc<AtomicBool>,
}

/// The counts of a run.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) records: u64,
    pub(super) faulty: u64,
    pub(super) damaged: u64,
}

/// A log while it is written.
pub(super) struct Job<'w> {
    pub(super) write: &'w Write,
    pub(super) log: Log,
    pub(super) recorder: Recorder,
    pub(super) tally: Tally,
    /// The progress through the inputs.
    pub(super) passing: Passing,
    /// The flag that ends the run.
    pub(super) stop: Stop,
    pub(super) messages: Messages,
}

impl Job<'_> {
    /// Logs a message; bytes that are not one are counted.
    pub(super) fn message(&mut self, bytes: &[u8], passage: &Passage) -> Result<(), Failure> {
        if !self.wants(passage) {
            return Ok(());
        }
        match Message::parse(bytes, &Limits::default()) {
            Ok(message) => {
                let digest = Digest::of(&message);
                self.tally.faulty += u64::from(message.check().first_error().is_some());
                self.tally.records += 1;
                self.passing.record();
                self.log
                    .push(&self.recorder.record(&message, &digest, passage))
            }
            Err(_) => {
                self.tally.faulty += 1;
                Ok(())
            }
        }
    }

    fn wants(&self, passage: &Passage) -> bool {
        let ports = &self.write.port;
        ports.is_empty()
            || [passage.source, passage.destination]
                .iter()
                .flatten()
                .any(|socket| ports.contains(&socket.port()))
    }

    /// No record has come for a moment: readers of the log have to see all records until then.
    pub(super) fn pause(&mut self) -> Result<(), Failure> {
        self.log.hand_over()
    }
}

impl Log {
    fn push(&mut self, record: &weir_clf::Record<'_>) -> Result<(), Failure> {
        let failed = |error: weir_clf::WriteError| Failure::running(error.to_string());
        if self.reopen.swap(false, Ordering::Relaxed) {
            self.appender.commit().map_err(failed)?;
            self.writer.reopen();
        }
        self.appender.append(record).map_err(failed)
    }

    /// Passes on the formatted records to the writer, without waiting until they are written.
    fn hand_over(&mut self) -> Result<(), Failure> {
        self.appender
            .submit()
            .map_err(|error| Failure::running(error.to_string()))
    }
}
