//! `weir clf search`.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use weir_clf::{
    Condition, DialogOptions, Encoder, Field, Form, Item, Query, Record, SearchOptions, Searched,
    Searcher, Segment, Target, Test, all_segments, dialogs, rfc6873,
};

use super::args::Search;
use super::{reader, unreadable, wrote};
use crate::message::Messages;
use crate::session::Failure;

/// Dialogs whose records are kept in memory to be sorted.
const DIALOG_RECORDS_MAX: u64 = 1_000_000;

pub(super) fn run(search: &Search, messages: Messages) -> Result<ExitCode, Failure> {
    let query = search.filter.query()?;
    let failed = |error: io::Error| Failure::environment(error.to_string());
    let paths = match search.only {
        true => search.logs.clone(),
        false => all_segments(&search.logs).map_err(failed)?,
    };
    let (logs, others) = by_form(paths)?;
    if !others.is_empty() {
        return foreign(search, &query, &others, messages, logs.len());
    }
    let mut options = SearchOptions::default();
    options.threads = search.threads;
    options.index = !search.no_index;
    let searcher = Searcher::open(&logs, options).map_err(failed)?;
    if search.explain {
        return explain(&searcher, &query);
    }
    if search.count {
        let searched = searcher.count(&query).map_err(failed)?;
        wrote(writeln!(io::stdout(), "{}", searched.records))?;
        return Ok(close(searched, messages));
    }
    let mut out = Output::new(search.form.form(), search.limit);
    let searched = if search.dialog {
        whole_dialogs(&searcher, &query, &mut out, messages)?
    } else {
        let searched = searcher.search(&query, &mut |found| out.push(&found.record, found.written));
        out.finish()?;
        searched.map_err(failed)?
    };
    Ok(close(searched, messages))
}

/// Logs of RFC 6873, which can be searched at any place, and others.
fn by_form(paths: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    let mut logs = (Vec::new(), Vec::new());
    let mut begin = Vec::new();
    for path in paths {
        let failed = |error: io::Error| Failure::file(&path, &error);
        let segment = Segment::open(&path).map_err(failed)?;
        segment.read(0, 4096, &mut begin).map_err(failed)?;
        match Form::of(&begin) {
            Some(Form::Text | Form::Binary | Form::Json) => logs.1.push(path),
            // One that is damaged at its beginning is searched all the same.
            Some(Form::Rfc6873) | None => logs.0.push(path),
        }
    }
    Ok(logs)
}

fn close(searched: Searched, messages: Messages) -> ExitCode {
    if searched.damaged > 0 {
        messages.error(&match searched.damaged {
            1 => "a place that was read is no record".to_owned(),
            more => format!("{more} places that were read are no record"),
        });
        messages.hint("weir clf check says where");
    }
    ExitCode::from(u8::from(searched.damaged > 0))
}

/// Records on their way to standard output.
pub(super) struct Output {
    encoder: Encoder,
    form: Form,
    left: Option<u64>,
    outcome: Result<bool, Failure>,
    pending: Vec<u8>,
}

impl Output {
    pub(super) fn new(form: Form, limit: Option<u64>) -> Self {
        Self {
            encoder: Encoder::new(form),
            form,
            left: limit,
            outcome: Ok(true),
            pending: Vec::new(),
        }
    }

    /// Gives a record; breaks when no more are wanted.
    pub(super) fn push(&mut self, record: &Record<'_>, written: &[u8]) -> ControlFlow<()> {
        if self.left == Some(0) {
            return ControlFlow::Break(());
        }
        self.left = self.left.map(|left| left.saturating_sub(1));
        if self.form == Form::Rfc6873 && !written.is_empty() {
            // As it stands in the log, to the byte.
            self.pending.extend_from_slice(written);
        } else {
            self.encoder.push(record);
            self.pending.extend_from_slice(self.encoder.bytes());
            self.encoder.clear();
        }
        if self.pending.len() > 64 << 10 {
            self.flush();
        }
        match self.outcome {
            Ok(true) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    pub(super) fn flush(&mut self) {
        if let Ok(true) = self.outcome {
            let mut out = io::stdout().lock();
            self.outcome = wrote(out.write_all(&self.pending).and_then(|()| out.flush()));
        }
        self.pending.clear();
    }

    /// Writes what waits; true while somebody reads.
    pub(super) fn flushed(&mut self) -> bool {
        self.flush();
        matches!(self.outcome, Ok(true))
    }

    /// True while somebody reads.
    pub(super) fn finish(mut self) -> Result<bool, Failure> {
        self.flush();
        self.outcome
    }
}

/// The Call-IDs that are found, then all their records, sorted into dialogs; those dialogs that hold
/// a record that was found.
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
    let call_id = Target::Field(Field::CallId);
    let all = Query::new().and(Condition::new(
        call_id,
        Test::AnyOf(calls.into_iter().collect()),
    ));
    let mut bytes: Vec<Vec<u8>> = Vec::new();
    let again = searcher
        .search(&all, &mut |found| {
            bytes.push(found.written.to_vec());
            match (bytes.len() as u64) < DIALOG_RECORDS_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })
        .map_err(failed)?;
    searched.damaged = searched.damaged.max(again.damaged);
    if bytes.len() as u64 == DIALOG_RECORDS_MAX {
        messages.warning(&format!(
            "only the first {DIALOG_RECORDS_MAX} records were sorted into dialogs"
        ));
        messages.hint("--since and --until make the question smaller");
    }
    let decoded = bytes.iter().filter_map(|bytes| rfc6873::decode(bytes).ok());
    let records: Vec<Record<'_>> = decoded.map(|(record, _)| record).collect();
    for dialog in dialogs(&records, DialogOptions::default()) {
        if !dialog
            .records
            .iter()
            .any(|&place| query.matches(&records[place], &bytes[place]))
        {
            continue;
        }
        for &place in &dialog.records {
            if out.push(&records[place], &bytes[place]).is_break() {
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

/// Logs of the other forms are read from the beginning to the end.
fn foreign(
    search: &Search,
    query: &Query,
    paths: &[PathBuf],
    messages: Messages,
    others: usize,
) -> Result<ExitCode, Failure> {
    if others > 0 || search.dialog || search.explain {
        let message =
            "logs of other forms than RFC 6873 are searched by themselves, record by record";
        let hint = format!("weir clf convert {} --form rfc6873 -o LOG", shown(paths));
        return Err(crate::refusal::Refusal::usage(message, hint).into());
    }
    let mut out = Output::new(search.form.form(), search.limit);
    let mut searched = Searched::default();
    'all: for path in paths {
        let mut reader = reader(path)?;
        while let Some(item) = reader.next().map_err(|error| unreadable(path, &error))? {
            match item {
                Item::Damage(_) => searched.damaged += 1,
                Item::Record { record, .. } => {
                    // Free text is looked for in what the record would be in RFC 6873.
                    let mut encoder = Encoder::new(Form::Rfc6873);
                    encoder.push(&record);
                    if !query.matches(&record, encoder.bytes()) {
                        continue;
                    }
                    searched.records += 1;
                    if !search.count && out.push(&record, b"").is_break() {
                        break 'all;
                    }
                }
            }
        }
    }
    if search.count {
        wrote(writeln!(io::stdout(), "{}", searched.records))?;
    }
    out.finish()?;
    Ok(close(searched, messages))
}

fn shown(paths: &[PathBuf]) -> String {
    let first = paths.first().map_or(Path::new("IN"), PathBuf::as_path);
    first.display().to_string()
}
