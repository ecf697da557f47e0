//! Runs `.slt` files: statements and their answers, as in SQLite's sqllogictest. (Its Rust crate
//! brings another clap, rand and itertools into the build, and has DataFusion built a second time
//! for a feature of a crate that both use; what is needed of it fits here.)
//!
//! ```text
//! # a comment
//! query [names] [sorted]
//! SELECT proto, count(*) FROM 'net.pcap' GROUP BY proto
//! ----
//! udp    4
//!
//! query error
//! SELECT ip.scr FROM 'net.pcap'
//! ----
//! error: no column named ip.scr
//! hint: did you mean ip.src?
//!
//! damage
//! ----
//! cut.pcap: pcap record 8 …
//! ```
//!
//! Records are separated by empty lines. `names` puts the names of the columns first; `sorted` sorts
//! the rows where SQL gives no order. `damage` takes what the scan_report has noted since it was asked
//! last, `notes` what else was noted. `engine merge` and `engine threads 4` start a new engine. NULL is `NULL`, empty text is
//! `(empty)`, and values are separated by a tabulator; a text that would be taken for one of the three, or that
//! begins or ends with a blank, stands in quotation marks with Rust's escapes. Times and sizes that differ from run to
//! run are `<masked>`. With `WEIR_BLESS=1` in the environment the answers are written into the file.

use std::fmt::Write as _;

use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use weir_engine::{Engine, Error, Options};

use crate::samples;

/// Runs `tests/slt/NAME.slt`.
pub(crate) fn check(name: &str) {
    samples::enter();
    let path = format!("{}/tests/slt/{name}.slt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let mut engine = Runner::new(&options());
    let mut blessed = String::new();
    let mut wrong = String::new();
    let mut line = 1;
    for part in text.trim_end().split("\n\n") {
        let part = format!("{part}\n");
        let (question, expected) = match part.split_once("\n----\n") {
            Some((question, expected)) => (question, Some(expected.trim_end())),
            None => (part.trim_end(), None),
        };
        let found = engine.answer(question);
        let found = found.as_deref().map(str::trim_end);
        if found != expected {
            let found = found.unwrap_or("nothing");
            let expected = expected.unwrap_or("nothing");
            write!(
                wrong,
                "{path}:{line}\n{question}\nexpected:\n{expected}\nfound:\n{found}\n\n"
            )
            .unwrap();
        }
        blessed.push_str(question);
        if let Some(found) = found {
            blessed.push_str("\n----\n");
            blessed.push_str(found);
        }
        blessed.truncate(blessed.trim_end().len());
        blessed.push_str("\n\n");
        line += part.lines().count() + 1;
    }
    if std::env::var_os("WEIR_BLESS").is_some() {
        blessed.truncate(blessed.trim_end().len());
        blessed.push('\n');
        std::fs::write(&path, blessed).unwrap();
        return;
    }
    assert!(
        wrong.is_empty(),
        "\n{wrong}WEIR_BLESS=1 writes what was found"
    );
}

/// Two threads everywhere, so that plans are the same on every machine.
fn options() -> Options {
    let mut options = Options::default();
    options.threads = Some(2);
    options
}

/// An engine that answers in text.
pub(crate) struct Runner {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
}

/// The rows of an answer, and the names of its columns.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) names: Vec<String>,
    pub(crate) rows: Vec<String>,
}

impl Runner {
    pub(crate) fn new(options: &Options) -> Self {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).thread_stack_size(16 << 20);
        Self {
            runtime: runtime.build().unwrap(),
            engine: Engine::new(options).unwrap(),
        }
    }

    /// The rows that a text of statements gives, of all statements one after the other.
    pub(crate) fn rows(&self, sql: &str) -> Result<Rows, Error> {
        self.all_rows(sql, rows_of)
    }

    fn all_rows(&self, sql: &str, rows_of: fn(&RecordBatch) -> Vec<String>) -> Result<Rows, Error> {
        let answers = self.answers_as(sql, rows_of)?;
        let names = answers.last().map(|last| last.names.clone());
        Ok(Rows {
            names: names.unwrap_or_default(),
            rows: answers.into_iter().flat_map(|answer| answer.rows).collect(),
        })
    }

    /// The answers to a text of statements, which share readings as they do on the command line.
    pub(crate) fn answers(&self, sql: &str) -> Result<Vec<Rows>, Error> {
        self.answers_as(sql, rows_of)
    }

    fn answers_as(
        &self,
        sql: &str,
        rows_of: fn(&RecordBatch) -> Vec<String>,
    ) -> Result<Vec<Rows>, Error> {
        let mut statements = self.engine.parse(sql)?.into();
        let mut answers = Vec::new();
        self.runtime.block_on(async {
            loop {
                let planned = self.engine.plan_next(&mut statements).await?;
                if planned.is_empty() {
                    return Ok(answers);
                }
                for planned in planned {
                    let mut answer = self.engine.start(planned)?;
                    let fields = answer.schema().fields().iter();
                    let names = fields.map(|field| field.name().clone()).collect();
                    let mut rows = Vec::new();
                    while let Some(batch) = answer.next().await? {
                        rows.extend(rows_of(&batch));
                    }
                    answers.push(Rows { names, rows });
                }
            }
        })
    }

    /// The notes since the last call.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.engine.scan_report().take_notes()
    }

    pub(crate) fn totals(&self) -> weir_tables::Totals {
        self.engine.scan_report().counters().totals()
    }

    /// The damage that was found since the last call.
    pub(crate) fn errors(&self) -> Vec<String> {
        let errors = self.engine.scan_report().take_errors();
        errors.iter().map(ToString::to_string).collect()
    }

    /// The answer to a record of the file; `None` for records without one.
    fn answer(&mut self, question: &str) -> Option<String> {
        let question = question
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect::<Vec<_>>()
            .join("\n");
        let (directive, sql) = question.split_once('\n').unwrap_or((&question, ""));
        let words: Vec<&str> = directive.split_whitespace().collect();
        match words.as_slice() {
            [] => None,
            ["engine", settings @ ..] => {
                let mut options = options();
                match settings {
                    ["merge"] => options.merge = true,
                    ["threads", threads] => options.threads = Some(threads.parse().unwrap()),
                    [] => {}
                    other => panic!("engine {other:?}"),
                }
                *self = Self::new(&options);
                None
            }
            ["damage"] => {
                let errors = self.engine.scan_report().take_errors();
                let mut lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
                // Files are read side by side.
                lines.sort();
                Some(lines.join("\n"))
            }
            ["notes"] => Some(self.notes().join("\n")),
            ["query", "error"] => Some(match self.rows(sql) {
                Ok(_) => "no error".to_owned(),
                Err(error) => message(&error),
            }),
            ["query", modes @ ..] => Some(match self.all_rows(sql, without_ambiguity) {
                Ok(Rows { names, mut rows }) => {
                    if modes.contains(&"sorted") {
                        rows.sort();
                    }
                    if modes.contains(&"names") {
                        rows.insert(0, names.join("\t"));
                    }
                    mask(&rows.join("\n"))
                }
                Err(error) => message(&error),
            }),
            other => panic!("unknown record {other:?}"),
        }
    }
}

fn message(error: &Error) -> String {
    match error.hint() {
        Some(hint) => format!("error: {error}\nhint: {hint}"),
        None => format!("error: {error}"),
    }
}

/// Rows whose values are separated by blanks, for tests that know what is in them.
pub(crate) fn rows_of(batch: &RecordBatch) -> Vec<String> {
    let plain = |value: String, is_null: bool| match value.is_empty() && !is_null {
        true => "(empty)".to_owned(),
        false => value.trim_end().to_owned(),
    };
    joined_rows(batch, " ", &plain)
}

/// The rows as texts that distinguish all values.
fn without_ambiguity(batch: &RecordBatch) -> Vec<String> {
    let exact = |value: String, is_null: bool| {
        // A plan ends with a line.
        let value = value.trim_end_matches('\n');
        let is_ambiguous = value == "(empty)"
            || (value == "NULL" && !is_null)
            || value.contains(['\t', '\r'])
            || value.contains("\n\n")
            || value.starts_with('"')
            || value.trim_matches(' ') != value;
        match value {
            "" if !is_null => "(empty)".to_owned(),
            _ if is_ambiguous => format!("{value:?}"),
            _ => value.to_owned(),
        }
    };
    joined_rows(batch, "\t", &exact)
}

fn joined_rows(
    batch: &RecordBatch,
    separator: &str,
    written: &dyn Fn(String, bool) -> String,
) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> = batch
        .columns()
        .iter()
        .map(|column| {
            (
                column,
                ArrayFormatter::try_new(column.as_ref(), &options).unwrap(),
            )
        })
        .collect();
    (0..batch.num_rows())
        .map(|row| {
            let values = columns.iter().map(|(column, formatter)| {
                written(formatter.value(row).to_string(), column.is_null(row))
            });
            values.collect::<Vec<_>>().join(separator)
        })
        .collect()
}

/// Hides what differs from run to run: times, and sizes that depend on them, in the metrics of
/// EXPLAIN ANALYZE.
fn mask(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let Some((plan, metrics)) = line.split_once("metrics=[") else {
            lines.push(line.to_owned());
            continue;
        };
        let metrics = metrics
            .split(", ")
            .map(|metric| match metric.split_once('=') {
                Some((name, _))
                    if ["time", "compute", "bytes"]
                        .iter()
                        .any(|end| name.ends_with(end))
                        && name != "bytes" =>
                {
                    format!("{name}=<masked>")
                }
                _ => metric.trim_end_matches(']').to_owned(),
            });
        let metrics = metrics.collect::<Vec<_>>().join(", ");
        lines.push(format!("{plan}metrics=[{metrics}]"));
    }
    lines.join("\n")
}
