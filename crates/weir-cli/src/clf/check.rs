//! `weir clf check` and `weir clf index`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use weir_clf::{
    Damage, FaultKind, Form, Item, Passed, Query, SearchOptions, Searcher, Segment, coverage,
    index_passing, rfc6873, sidecar_path,
};

use super::args::{Check, Logs};
use super::log::{Damages, reader, unreadable};
use crate::args::Global;
use crate::failure::Failure;
use crate::message::{Messages, counted};
use crate::progress::{Done, Passing, Progress};
use crate::refusal::Refusal;

pub(super) fn check(
    check: &Check,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let logs = check.logs.iter().map(PathBuf::as_path);
    let (progress, passing) = Progress::of_files(global.quiet, logs);
    let mut damages = Damages::default();
    for path in &check.logs {
        let mut records = 0_u64;
        let mut reader = reader(path, &passing)?;
        // A record is checked by its bytes, which the reader does not keep.
        let segment = match path.as_os_str() == "-" {
            true => None,
            false => Some(Segment::open(path).map_err(|error| Failure::file(path, &error))?),
        };
        let mut written = Vec::new();
        loop {
            let item = reader.next().map_err(|error| unreadable(path, &error))?;
            let (offset, len) = match item {
                None => break,
                Some(Item::Damage(damage)) => {
                    damages.report(path, &damage, messages);
                    continue;
                }
                Some(Item::Record { offset, len, .. }) => (offset, len as u64),
            };
            records = records.saturating_add(1);
            passing.record();
            let (Some(segment), Some(Form::Rfc6873)) = (&segment, reader.form()) else {
                continue;
            };
            segment
                .read(offset, offset.saturating_add(len), &mut written)
                .map_err(|error| Failure::file(path, &error))?;
            match rfc6873::check(&written) {
                Ok(_) => {}
                Err(fault) if fault.kind == FaultKind::OptionalLength && !check.strict => {}
                Err(fault) => damages.report(path, &Damage { offset, len, fault }, messages),
            }
        }
        let count = counted(records, "record");
        messages.note(&format!("{}: {count}", path.display()));
        if let Some(segment) = &segment {
            sidecar(path, segment, records, messages, &mut damages)?;
        }
    }
    progress.finish();
    Ok(damages.close(messages))
}

/// Whether the sidecar fits, and has all records.
fn sidecar(
    path: &Path,
    segment: &Segment,
    records: u64,
    messages: Messages,
    damages: &mut Damages,
) -> Result<(), Failure> {
    if !sidecar_path(path).exists() {
        return Ok(());
    }
    let failed = |error: std::io::Error| Failure::file(path, &error);
    let Some(covered) = coverage(segment).map_err(failed)? else {
        messages.warning(&format!(
            "{}: the sidecar does not match the log and is not used",
            path.display()
        ));
        messages.hint(&format!("weir clf index {} rebuilds it", path.display()));
        return Ok(());
    };
    let searcher = Searcher::open(&[path], SearchOptions::default()).map_err(failed)?;
    let found = searcher.count(&Query::new()).map_err(failed)?.records;
    let whole = covered.log_bytes == segment.len();
    if found != records || (whole && covered.records != records) {
        damages.count = damages.count.saturating_add(1);
        messages.error(&format!(
            "{}: the sidecar has {} records, the log {records}",
            path.display(),
            covered.records
        ));
        messages.hint(&format!("weir clf index {} rebuilds it", path.display()));
    }
    Ok(())
}

pub(super) fn index(logs: &Logs, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let mut damaged = 0_u64;
    // A log that cannot be opened is reported in its turn.
    let opened = logs.logs.iter().map(|path| Segment::open(path).ok());
    let bytes_total = opened.map(|log| Some(log?.len())).sum();
    let passed = Passed::default();
    let seen = passed.clone();
    let progress = Progress::of(global.quiet, move || Done {
        bytes: seen.bytes(),
        records: seen.records(),
        bytes_total,
        ..Done::default()
    });
    for path in &logs.logs {
        let failed = |error: std::io::Error| Failure::file(path, &error);
        let mut reader = reader(path, &Passing::default())?;
        // A file whose first bytes belong to no form is refused.
        let _ = reader.next().map_err(|error| unreadable(path, &error))?;
        let segment = Segment::open(path).map_err(failed)?;
        let made = index_passing(&segment, &passed).map_err(|error| refused(path, &error))?;
        damaged = damaged.saturating_add(made.damaged);
        messages.note(&format!(
            "{}: {}, {} bytes of index for {} of log",
            path.display(),
            counted(made.records, "record"),
            made.sidecar_bytes,
            made.log_bytes
        ));
        if made.damaged > 0 {
            messages.error(&format!(
                "{}: {} places are not records",
                path.display(),
                made.damaged
            ));
            messages.hint(&format!("weir clf check {} shows where", path.display()));
        }
    }
    progress.finish();
    Ok(ExitCode::from(u8::from(damaged > 0)))
}

/// The reason why a log got no index, with what to do about it where something can be done.
fn refused(path: &Path, error: &std::io::Error) -> Failure {
    if error.kind() != std::io::ErrorKind::Unsupported {
        return Failure::file(path, error);
    }
    let hint = format!(
        "weir clf convert {} --format text -o LOG writes them out",
        path.display()
    );
    Refusal::usage(format!("{}: {error}", path.display()), hint).into()
}
