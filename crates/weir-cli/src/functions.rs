//! `weir functions` and `weir tables`: what SQL has, with meaning and example.

use std::process::ExitCode;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use clap::Args;
use weir_engine::{Engine, FunctionEntry, Options};

use crate::args::{Global, OutputArgs};
use crate::failure::Failure;
use crate::fields::listed;
use crate::message::Messages;
use crate::refusal::Refusal;

/// `weir functions` and `weir tables`.
#[derive(Args, Debug)]
pub(crate) struct Functions {
    /// Only entries whose name or meaning contains this text, in upper or lower case
    pub(crate) pattern: Option<String>,
    /// The output options.
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

/// Lists the functions that the pattern lets through.
pub(crate) fn run(
    list: &Functions,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let engine = Engine::new(&Options::default())?;
    let batch = matching(&engine, list.pattern.as_deref())?;
    listed(&batch, &list.output, global, messages)
}

/// Lists the tables that the pattern lets through.
pub(crate) fn tables(
    list: &Functions,
    global: Global,
    messages: Messages,
) -> Result<ExitCode, Failure> {
    let engine = Engine::new(&Options::default())?;
    let mut entries = engine.functions();
    entries.push(live());
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    let batch = table_rows(entries, list.pattern.as_deref())?;
    listed(&batch, &list.output, global, messages)
}

/// The functions of an engine that a pattern lets through, as rows.
pub(crate) fn matching(engine: &Engine, pattern: Option<&str>) -> Result<RecordBatch, Failure> {
    let mut entries = engine.functions();
    entries.retain(|entry| is_wanted(entry, pattern));
    none_is_refused(&entries, pattern, "function")?;
    batch(
        &[
            ("function", &|entry| entry.name.clone()),
            ("kind", &|entry| entry.kind.to_owned()),
            ("example", &|entry| entry.example.clone()),
            ("meaning", &|entry| entry.meaning.clone()),
        ],
        &entries,
    )
}

/// The tables of the session and of the engine that match a pattern, as rows.
pub(crate) fn matching_tables(
    engine: &Engine,
    pattern: Option<&str>,
    own: &[FunctionEntry],
) -> Result<RecordBatch, Failure> {
    let mut entries = own.to_vec();
    entries.extend(engine.functions());
    table_rows(entries, pattern)
}

fn table_rows(
    mut entries: Vec<FunctionEntry>,
    pattern: Option<&str>,
) -> Result<RecordBatch, Failure> {
    entries.retain(|entry| entry.kind == "table" && is_wanted(entry, pattern));
    none_is_refused(&entries, pattern, "table")?;
    batch(
        &[
            ("table", &|entry| entry.name.clone()),
            ("meaning", &|entry| entry.meaning.clone()),
            ("example", &|entry| entry.example.clone()),
        ],
        &entries,
    )
}

/// The table that is no function, and stands in the place of paths.
fn live() -> FunctionEntry {
    FunctionEntry {
        name: "live".to_owned(),
        kind: "table",
        example: "SELECT sip.method, sip.r_uri FROM sip(live)".to_owned(),
        meaning: "packets as they cross an interface, in weir live; the other tables of packets read them as name(live)"
            .to_owned(),
    }
}

fn is_wanted(entry: &FunctionEntry, pattern: Option<&str>) -> bool {
    pattern.is_none_or(|pattern| {
        let pattern = pattern.to_lowercase();
        [&entry.name, &entry.meaning]
            .iter()
            .any(|text| text.to_lowercase().contains(&pattern))
    })
}

fn none_is_refused(
    entries: &[FunctionEntry],
    pattern: Option<&str>,
    what: &str,
) -> Result<(), Failure> {
    match pattern {
        Some(pattern) if entries.is_empty() => Err(Refusal::usage(
            format!("no {what} has '{pattern}' in its name or meaning"),
            format!("'weir {what}s' lists all"),
        )
        .into()),
        _ => Ok(()),
    }
}

/// A column's name, and what an entry has in it.
type Listed<'l> = (&'static str, &'l dyn Fn(&FunctionEntry) -> String);

fn batch(columns: &[Listed<'_>], entries: &[FunctionEntry]) -> Result<RecordBatch, Failure> {
    let columns = columns.iter().map(|(name, get)| {
        let column: ArrayRef = Arc::new(entries.iter().map(get).map(Some).collect::<StringArray>());
        (*name, column)
    });
    RecordBatch::try_from_iter(columns).map_err(|error| Failure::environment(error.to_string()))
}
