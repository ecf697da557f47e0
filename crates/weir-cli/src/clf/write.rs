//! `weir clf write`.

use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_clf::{
    Appender, Encoder, Extras, Form, Losses, Passage, Recorder, Time, Writer, WriterOptions,
};
use weir_sip::{Digest, Framer, FramerEvent, Limits, Message};

use super::args::Write;
use super::packets::Packets;
use super::{tell_losses, unreadable};
use crate::message::Messages;
use crate::session::Failure;

/// Where records go.
enum Log {
    /// A log of RFC 6873, which goes on and may be rotated.
    Writer {
        writer: Writer,
        appender: Appender,
        reopen: Arc<AtomicBool>,
    },
    /// A file of another form.
    File { file: File, encoder: Encoder },
}

/// What was done.
#[derive(Default)]
struct Tally {
    records: u64,
    faulty: u64,
    damaged: u64,
}

pub(super) fn run(write: &Write, messages: Messages) -> Result<ExitCode, Failure> {
    let mut log = open(write, messages)?;
    let extras = Extras {
        headers: write.header.clone(),
        body: write.body,
        message: write.message,
    };
    let mut recorder = Recorder::new(extras);
    let mut tally = Tally::default();
    for input in &write.inputs {
        let captured = match input.as_os_str() == "-" {
            true => true,
            false => weir_capture::sniff_path(input)
                .map_err(|error| Failure::environment(format!("{}: {error}", input.display())))?
                .is_some(),
        };
        if captured {
            captures(input, &mut log, &mut recorder, &mut tally, messages)?;
        } else {
            text(input, &mut log, &mut recorder, &mut tally, messages)?;
        }
    }
    let losses = close(log, &write.output, messages)?;
    messages.note(&format!("{} records", tally.records));
    if tally.faulty > 0 {
        messages.note(&format!("{} messages were not sound in all", tally.faulty));
    }
    tell_losses(&losses, messages);
    Ok(ExitCode::from(u8::from(tally.damaged > 0)))
}

fn open(write: &Write, messages: Messages) -> Result<Log, Failure> {
    let path = &write.output;
    let failed = |error: io::Error| Failure::file(path, &error);
    if write.form.form() != Form::Rfc6873 {
        let file = File::create(path).map_err(failed)?;
        return Ok(Log::File {
            file,
            encoder: Encoder::new(write.form.form()),
        });
    }
    let mut options = WriterOptions::default();
    options.fsync = write.fsync;
    options.rotate_bytes = write.rotate_size.map(|size| size as u64);
    options.rotate_every = write.rotate_every.map(Duration::from_secs);
    options.compress = write.compress;
    options.index = !write.no_index;
    let (writer, repair) = Writer::open(path, options).map_err(failed)?;
    if repair.removed_bytes > 0 {
        messages.warning(&format!(
            "{}: {} bytes behind the last whole record were cut off",
            path.display(),
            repair.removed_bytes
        ));
    }
    if repair.damaged > 0 {
        messages.warning(&format!(
            "{}: {} places are no record",
            path.display(),
            repair.damaged
        ));
        messages.hint(&format!("weir clf check {} says where", path.display()));
    }
    let reopen = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGHUP, Arc::clone(&reopen))
        .map_err(failed)?;
    let appender = writer.appender();
    Ok(Log::Writer {
        writer,
        appender,
        reopen,
    })
}

fn close(log: Log, path: &Path, messages: Messages) -> Result<Losses, Failure> {
    match log {
        Log::File { mut file, encoder } => {
            file.write_all(encoder.bytes())
                .map_err(|error| Failure::file(path, &error))?;
            Ok(encoder.losses())
        }
        Log::Writer {
            writer, appender, ..
        } => {
            drop(appender);
            let summary = writer
                .close()
                .map_err(|error| Failure::environment(error.to_string()))?;
            for warning in &summary.warnings {
                messages.warning(warning);
            }
            Ok(summary.losses)
        }
    }
}

impl Log {
    fn push(&mut self, record: &weir_clf::Record<'_>) -> Result<(), Failure> {
        match self {
            Self::Writer {
                writer,
                appender,
                reopen,
            } => {
                let failed = |error: weir_clf::WriteError| Failure::environment(error.to_string());
                if reopen.swap(false, Ordering::Relaxed) {
                    appender.commit().map_err(failed)?;
                    writer.reopen();
                }
                appender.append(record).map_err(failed)
            }
            Self::File { file, encoder } => {
                encoder.push(record);
                if encoder.bytes().len() > 256 << 10 {
                    let wrote = file.write_all(encoder.bytes());
                    wrote.map_err(|error| Failure::environment(format!("the log: {error}")))?;
                    encoder.clear();
                }
                Ok(())
            }
        }
    }
}

/// One message; what is none is counted.
fn message(
    bytes: &[u8],
    passage: &Passage,
    log: &mut Log,
    recorder: &mut Recorder,
    tally: &mut Tally,
) -> Result<(), Failure> {
    match Message::parse(bytes, &Limits::default()) {
        Ok(message) => {
            let digest = Digest::of(&message);
            tally.faulty += u64::from(message.check().first_error().is_some());
            tally.records += 1;
            log.push(&recorder.record(&message, &digest, passage))
        }
        Err(_) => {
            tally.faulty += 1;
            Ok(())
        }
    }
}

fn captures(
    input: &Path,
    log: &mut Log,
    recorder: &mut Recorder,
    tally: &mut Tally,
    messages: Messages,
) -> Result<(), Failure> {
    let failed =
        |error: weir_capture::Error| Failure::environment(format!("{}: {error}", input.display()));
    let source: Box<dyn Read> = match input.as_os_str() == "-" {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(input).map_err(|error| Failure::file(input, &error))?),
    };
    let mut reader = weir_capture::Reader::new(source).map_err(failed)?;
    let mut packets = Packets::default();
    let mut untimed = 0_u64;
    let mut outcome = Ok(());
    let mut take = |bytes: &[u8], passage: &Passage, tally: &mut Tally| {
        if outcome.is_ok() {
            outcome = message(bytes, passage, log, recorder, tally);
        }
        outcome.is_ok()
    };
    let mut goes_on = true;
    while goes_on {
        let record = match reader.next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => {
                messages.error(&format!("{}: {error}", input.display()));
                tally.damaged += 1;
                break;
            }
        };
        untimed += u64::from(record.time_ns.is_none());
        packets.take(&record, &mut |bytes, passage| {
            goes_on &= take(bytes, passage, tally);
        });
    }
    packets.finish(&mut |bytes, passage| {
        take(bytes, passage, tally);
    });
    outcome?;
    if untimed > 0 {
        messages.warning(&format!(
            "{}: {untimed} packets have no time; logged as 1970",
            input.display()
        ));
    }
    for note in packets.notes() {
        messages.note(&format!("{}: {note}", input.display()));
    }
    Ok(())
}

/// Messages one behind the other in a file, which says nothing of time and addresses.
fn text(
    input: &Path,
    log: &mut Log,
    recorder: &mut Recorder,
    tally: &mut Tally,
    messages: Messages,
) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file(input, &error);
    let mut file = File::open(input).map_err(failed)?;
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
    let before = tally.records;
    let mut framer = Framer::default();
    let mut piece = vec![0; 64 << 10];
    let mut outcome = Ok(());
    let mut lost = 0_u64;
    loop {
        let count = file.read(&mut piece).map_err(failed)?;
        let mut each = |event: FramerEvent<'_>| match event {
            FramerEvent::Message { bytes, .. } if outcome.is_ok() => {
                outcome = message(bytes, &passage, log, recorder, tally);
            }
            FramerEvent::Lost { bytes, .. } => lost = lost.saturating_add(bytes),
            _ => {}
        };
        match count {
            0 => framer.finish(&mut each),
            count => framer.feed(piece.get(..count).unwrap_or_default(), &mut each),
        }
        if count == 0 {
            break;
        }
    }
    outcome?;
    if tally.records == before {
        let error = io::Error::new(
            io::ErrorKind::InvalidData,
            "is no capture and has no SIP message",
        );
        return Err(unreadable(input, &error));
    }
    messages.note(&format!(
        "{}: messages are logged with the time of the file",
        input.display()
    ));
    if lost > 0 {
        messages.error(&format!(
            "{}: {lost} bytes are no SIP message",
            input.display()
        ));
        tally.damaged += 1;
    }
    Ok(())
}
