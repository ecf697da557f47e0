//! `weir clf search`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use weir_clf::{
    Condition, DialogOptions, Encoder, Field, Form, Found, Query, Record, Scratch, SearchOptions,
    Searched, Searcher, Target, Test, all_segments, dialogs,
};

use super::args::SearchArgs;
use super::log::wrote;
use crate::args::Global;
use crate::failure::Failure;
use crate::message::Messages;
use crate::progress::{Done, Progress, stdout_is_file};

/// Records that are sorted into dialogs, at most.
const DIALOG_RECORDS_MAX: usize = 1_000_000;
/// Bytes of records that wait to be written, at most but for the last record.
const PENDING_BYTES_MAX: usize = 64 << 10;

pub(super) fn run(
    search: &SearchArgs,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let query = search.filter.query()?;
    let failed = |error: io::Error| Failure::environment(error.to_string());
    let paths = match search.only {
        true => search.logs.clone(),
        false => all_segments(&search.logs).map_err(failed)?,
    };
    let mut options = SearchOptions::default();
    options.threads = search.threads;
    options.index = !search.no_index;
    let searcher = Searcher::open(&paths, options).map_err(failed)?;
    if search.explain {
        return explain(&searcher, &query);
    }
    let passed = searcher.passed().clone();
    let progress = Progress::of(global.quiet, move || Done {
        bytes: passed.bytes(),
        records: passed.records(),
        bytes_total: Some(passed.planned_bytes()),
        ..Done::default()
    });
    if search.count {
        let searched = searcher.count(&query).map_err(failed)?;
        progress.finish();
        wrote(writeln!(io::stdout(), "{}", searched.records))?;
        return Ok(close(searched, messages));
    }
    let mut out = Output::new(search.form.form(), search.limit, progress.clone());
    let searched = if search.dialog {
        whole_dialogs(&searcher, &query, &mut out, messages)?
    } else {
        let searched = searcher.search(&query, &mut |found| out.push(&found));
        out.finish()?;
        searched.map_err(failed)?
    };
    progress.finish();
    Ok(close(searched, messages))
}

pub(super) fn close(searched: Searched, messages: Messages) -> ExitCode {
    if searched.damaged > 0 {
        messages.error(&match searched.damaged {
            1 => "a place in the log is not a record".to_owned(),
            more => format!("{more} places in the log are not records"),
        });
        messages.hint("weir clf check shows where");
    }
    ExitCode::from(u8::from(searched.damaged > 0))
}

/// Records on their way to standard output.
pub(super) struct Output {
    encoder: Encoder,
    form: Form,
    /// The number of records that are still wanted; `None` without a limit.
    left: Option<u64>,
    /// False once the reader of standard output has gone.
    outcome: Result<bool, Failure>,
    pending: Vec<u8>,
    /// The bar, which is removed before records are written to a terminal.
    progress: Progress,
    /// Standard output is a file.
    is_file: bool,
}

impl Output {
    pub(super) fn new(form: Form, limit: Option<u64>, progress: Progress) -> Self {
        Self {
            progress,
            is_file: stdout_is_file(),
            encoder: Encoder::new(form),
            form,
            left: limit,
            outcome: Ok(true),
            pending: Vec::new(),
        }
    }

    /// Adds a record; breaks when no more are wanted.
    pub(super) fn push(&mut self, found: &Found<'_>) -> ControlFlow<()> {
        self.give(&found.record, found.written, found.form)
    }

    /// Adds a record by its bytes in a log of this form; breaks when no more are wanted.
    pub(super) fn give(
        &mut self,
        record: &Record<'_>,
        written: &[u8],
        form: Form,
    ) -> ControlFlow<()> {
        if self.left == Some(0) {
            return ControlFlow::Break(());
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.form == form {
            // The record is written as in the log, byte by byte.
            self.pending.extend_from_slice(written);
        } else {
            self.encoder.push(record);
            self.pending.extend_from_slice(self.encoder.bytes());
            self.encoder.clear();
        }
        if self.pending.len() > PENDING_BYTES_MAX {
            self.flush();
        }
        match self.outcome {
            Ok(true) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    pub(super) fn flush(&mut self) {
        if let Ok(true) = self.outcome {
            if !self.is_file && !self.pending.is_empty() {
                self.progress.finish();
            }
            let mut out = io::stdout().lock();
            self.outcome = wrote(out.write_all(&self.pending).and_then(|()| out.flush()));
        }
        self.pending.clear();
    }

    /// Writes what waits; false when the reader of standard output has gone.
    pub(super) fn flushed(&mut self) -> bool {
        self.flush();
        matches!(self.outcome, Ok(true))
    }

    /// Writes what waits as [`Self::flushed`], and returns the first failure of a write.
    pub(super) fn finish(mut self) -> Result<bool, Failure> {
        self.flush();
        self.outcome
    }
}

/// Writes the dialogs that have a record that matches: finds the Call-IDs of these, and sorts all their records into dialogs.
fn whole_dialogs(
    searcher: &Searcher,
    query: &Query,
    out: &mut Output,
    messages: Messages,
) -> Result<Searched, Failure> {
    let failed = |error: io::Error| Failure::environment(error.to_string());
    let mut calls: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut searched = searcher
        .search(query, &mut |found| {
            if let Some(call) = found.record.value(Field::CallId) {
                calls.insert(call.to_vec());
            }
            ControlFlow::Continue(())
        })
        .map_err(failed)?;
    if calls.is_empty() {
        return Ok(searched);
    }
    let (bytes, damaged) = records_of(searcher, calls, messages)?;
    searched.damaged = searched.damaged.max(damaged);
    let mut scratches: Vec<Scratch> = Vec::new();
    scratches.resize_with(bytes.len(), Scratch::default);
    // Each was read as a record before it was given.
    let decoded = bytes.iter().zip(&mut scratches);
    let records: Vec<Record<'_>> = decoded
        .filter_map(|((form, bytes), scratch)| form.decode(bytes, scratch).ok())
        .map(|(record, _)| record)
        .collect();
    for dialog in dialogs(&records, DialogOptions::default()) {
        if !dialog
            .records
            .iter()
            .any(|&place| query.matches(&records[place], &bytes[place].1))
        {
            continue;
        }
        for &place in &dialog.records {
            let (form, written) = &bytes[place];
            if out.give(&records[place], written, *form).is_break() {
                break;
            }
        }
    }
    out.flush();
    match &out.outcome {
        Ok(_) => Ok(searched),
        Err(_) => std::mem::replace(&mut out.outcome, Ok(false)).map(|_| searched),
    }
}

/// A record in memory: the form of its log, and its bytes as they stand there.
type StoredRecord = (Form, Vec<u8>);

/// The records with these Call-IDs, and the number of damaged places that were passed.
fn records_of(
    searcher: &Searcher,
    calls: BTreeSet<Vec<u8>>,
    messages: Messages,
) -> Result<(Vec<StoredRecord>, u64), Failure> {
    let calls = Condition::new(
        Target::Field(Field::CallId),
        Test::AnyOf(calls.into_iter().collect()),
    );
    let mut records: Vec<StoredRecord> = Vec::new();
    let searched = searcher
        .search(&Query::new().and(calls), &mut |found| {
            records.push((found.form, found.written.to_vec()));
            match records.len() < DIALOG_RECORDS_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })
        .map_err(|error| Failure::environment(error.to_string()))?;
    if records.len() == DIALOG_RECORDS_MAX {
        messages.warning(&format!(
            "only the first {DIALOG_RECORDS_MAX} records were sorted into dialogs"
        ));
        messages.hint("use --since and --until to narrow the search");
    }
    Ok((records, searched.damaged))
}

/// Prints how each log would be searched.
fn explain(searcher: &Searcher, query: &Query) -> Result<ExitCode, Failure> {
    let plan = searcher
        .plan(query)
        .map_err(|error| Failure::environment(error.to_string()))?;
    let mut text = String::new();
    for segment in &plan.segments {
        let how = match (segment.zones, segment.keyed) {
            (0, _) => "no index, scanned".to_owned(),
            (zones, true) => format!("key looked up, {} of {zones} zones", segment.zones_read),
            (zones, false) => format!("{} of {zones} zones", segment.zones_read),
        };
        text += &format!(
            "{}: {how}, {} of {} bytes\n",
            segment.path.display(),
            segment.bytes_read,
            segment.bytes
        );
    }
    wrote(io::stdout().write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}
