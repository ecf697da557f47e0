//! `weir clf write`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use weir_clf::{Extras, Losses, Passage, Recorder, Time, Writer, WriterOptions};
use weir_sip::{Framer, FramerEvent};
use weir_tables::Stop;

use super::args::Write;
use super::job::{Job, Log, Tally};
use super::log::{report_losses, unreadable};
use super::packets;
use crate::args::Global;
use crate::failure::Failure;
use crate::message::{Messages, counted};
use crate::progress::Progress;
use crate::{signals, target};

/// The mark by which editors begin a file of text in UTF-8 (U+FEFF).
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

pub(super) fn run(write: &Write, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    // The writer appends to a log that exists; the guard refuses to overwrite a capture that was named by mistake.
    target::guard(&write.output, global)?;
    for input in &write.inputs {
        if input.as_os_str() != "-" {
            File::open(input).map_err(|error| Failure::file(input, &error))?;
        }
    }
    // The source is opened before the log is created, so that an interface without permission, or an address in use, leaves no log.
    let source = write.source.open()?;
    let extras = Extras {
        headers: write.header.clone(),
        body: write.body,
        message: write.message,
    };
    // An input without an end shows no progress.
    let is_quiet = global.quiet || source.is_some();
    let inputs = write.inputs.iter().map(PathBuf::as_path);
    let (progress, passing) = Progress::of_files(is_quiet, inputs);
    let mut job = Job {
        write,
        passing,
        log: open(write, messages)?,
        recorder: Recorder::new(extras),
        tally: Tally::default(),
        stop: Stop::default(),
        messages,
    };
    signals::end_gracefully(job.stop.flag());
    match source {
        Some((name, source)) => {
            write.source.capture.end_in_time(&job.stop);
            packets::live(&name, source, &write.port, &mut job)?;
        }
        None => job.inputs()?,
    }
    progress.finish();
    let Job { log, tally, .. } = job;
    let losses = close(log, messages)?;
    messages.note(&counted(tally.records, "record"));
    match tally.faulty {
        0 => {}
        1 => {
            messages.note("1 message has errors; it was not logged if it could not be parsed");
        }
        faulty => messages.note(&format!(
            "{faulty} messages have errors; those that could not be parsed were not logged"
        )),
    }
    report_losses(&losses, messages);
    Ok(ExitCode::from(u8::from(tally.damaged > 0)))
}

impl Job<'_> {
    fn inputs(&mut self) -> Result<(), Failure> {
        for input in &self.write.inputs {
            let captured = match input.as_os_str() == "-" {
                true => true,
                false => weir_capture::sniff_path(input)
                    .map_err(|error| Failure::environment(format!("{}: {error}", input.display())))?
                    .is_some(),
            };
            if captured {
                packets::capture(input, self)?;
            } else {
                self.text(input)?;
            }
            if self.stop.is_requested() && input.as_os_str() != "-" {
                self.messages
                    .error("interrupted: the log has the messages that were read until then");
                self.tally.damaged += 1;
                break;
            }
        }
        Ok(())
    }
}

fn open(write: &Write, messages: Messages) -> Result<Log, Failure> {
    let path = &write.output;
    let failed = |error: io::Error| Failure::file(path, &error);
    let mut options = WriterOptions::default();
    options.form = write.form.form();
    options.fsync = write.fsync;
    options.rotate_bytes = write.rotate_size.map(|size| size as u64);
    options.rotate_every = write.rotate_every;
    options.compress = write.compress;
    options.index = !write.no_index;
    let (writer, repair) = Writer::open(path, options).map_err(failed)?;
    if repair.removed_bytes > 0 {
        messages.warning(&format!(
            "{}: {} bytes after the last complete record were removed",
            path.display(),
            repair.removed_bytes
        ));
    }
    if repair.damaged > 0 {
        messages.warning(&format!(
            "{}: {} places are not records",
            path.display(),
            repair.damaged
        ));
        messages.hint(&format!("weir clf check {} shows where", path.display()));
    }
    let reopen = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::clone(&reopen))
        .map_err(failed)?;
    let appender = writer.appender();
    Ok(Log {
        writer,
        appender,
        reopen,
    })
}

fn close(log: Log, messages: Messages) -> Result<Losses, Failure> {
    drop(log.appender);
    let summary = log
        .writer
        .close()
        .map_err(|error| Failure::running(error.to_string()))?;
    for warning in &summary.warnings {
        messages.warning(warning);
    }
    Ok(summary.losses)
}

impl Job<'_> {
    /// Logs a file of consecutive messages, which has no times and no addresses.
    fn text(&mut self, input: &Path) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::file(input, &error);
        let file = File::open(input).map_err(failed)?;
        let modified = file
            .metadata()
            .and_then(|metadata| metadata.modified())
            .map_err(failed)?;
        let since = modified
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        let passage = Passage {
            time: Time {
                seconds: since.as_secs(),
                nanoseconds: since.subsec_nanos(),
            },
            ..Passage::default()
        };
        let before = self.tally.records;
        let mut file = self.passing.through(file);
        let mut framer = Framer::default();
        let mut piece = vec![0; 64 << 10];
        let mut outcome = Ok(());
        let mut lost = 0_u64;
        let mut is_first = true;
        loop {
            let count = file.read(&mut piece).map_err(failed)?;
            let bytes = piece.get(..count).unwrap_or_default();
            // A byte order mark belongs to the file, and to no message.
            let bytes = match std::mem::take(&mut is_first) {
                true => bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes),
                false => bytes,
            };
            let mut each = |event: FramerEvent<'_>| match event {
                FramerEvent::Message { bytes, .. } if outcome.is_ok() => {
                    outcome = self.message(bytes, &passage);
                }
                FramerEvent::Lost { bytes, .. } => lost = lost.saturating_add(bytes),
                _ => {}
            };
            match count {
                0 => framer.finish(&mut each),
                _ => framer.feed(bytes, &mut each),
            }
            if count == 0 {
                break;
            }
        }
        outcome?;
        if self.tally.records == before {
            let error = io::Error::new(
                io::ErrorKind::InvalidData,
                "is not a capture and has no SIP message",
            );
            return Err(unreadable(input, &error));
        }
        self.messages.note(&format!(
            "{}: messages are logged with the time of the file",
            input.display()
        ));
        if lost > 0 {
            self.messages.error(&format!(
                "{}: {lost} bytes are not SIP messages",
                input.display()
            ));
            self.tally.damaged += 1;
        }
        Ok(())
    }
}
