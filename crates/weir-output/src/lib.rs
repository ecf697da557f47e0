//! Writes batches of rows in formats that users read.
//!
//! A [`Writer`] takes Arrow batches one at a time and writes one of the [`Format`]s. It keeps no
//! more than one batch, except for the table, which looks at the first rows to choose its column
//! widths (see `table.rs`) and Parquet, which collects a row group.
//!
//! The rules of all text formats:
//!
//! - a pipe or a file gets every row, every column and every digit;
//! - only a terminal gets colour, rounding, folding and cutting, and the [`Summary`] says so in
//!   words that name the flag which undoes it;
//! - control characters that came from the network never reach a terminal: they are written as
//!   `\x1b`;
//! - bytes are lower-case hexadecimal, timestamps are RFC 3339 in UTC with the digits of their
//!   unit, lists and structs are JSON;
//! - a reader that goes away is no error ([`OutputState::Closed`]).
//!
//! Pictures are made here, too: charts of rows ([`plot`]) and ladders of calls ([`picture`]).
//!
//! ```
//! use std::sync::Arc;
//!
//! use arrow::array::{ArrayRef, RecordBatch, UInt64Array};
//! use weir_output::{Format, OutputOptions, Writer};
//!
//! let counts: ArrayRef = Arc::new(UInt64Array::from(vec![7, 11]));
//! let batch = RecordBatch::try_from_iter([("packets", counts)])?;
//! let out = Box::new(std::io::sink());
//! let mut writer = Writer::new(&OutputOptions::plain(Format::Csv), batch.schema(), out)?;
//! let _ = writer.write(&batch)?;
//! assert_eq!(writer.finish()?.rows, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This crate deliberately does not know where rows come from, which options the user gave, and what is printed on
//! standard error. The one file that it opens is the capture of a row whose packet a terminal shows.

mod binary;
mod column;
mod error;
mod layout;
mod line;
mod markdown;
mod packet;
pub mod picture;
mod pipe;
mod plan;
pub mod plot;
mod rows;
mod separated;
mod summary;
mod table;
#[cfg(test)]
mod tests;
pub mod text;
mod time;
mod value_names;

use std::io::Write;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};

pub use error::{Error, ErrorKind};
pub use rows::unique_names;
pub use separated::CsvForm;
pub use summary::{Summary, grouped};

use pipe::{Pipe, Watch};

/// The format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, clap::ValueEnum)]
pub enum Format {
    /// A drawn table; the default on a terminal
    Table,
    /// Comma-separated with a header line (RFC 4180, lines end with LF); the default in a pipe
    Csv,
    /// Tab-separated with a header line; tab, newline and backslash as \t \n \\, NULL as \N
    Tsv,
    /// One JSON array of objects
    Json,
    /// One JSON object per line
    #[value(alias = "jsonl")]
    Ndjson,
    /// A Markdown table
    #[value(alias = "md")]
    Markdown,
    /// One line per column, to read rows one by one
    #[value(alias = "vertical")]
    Line,
    /// Apache Parquet, compressed with zstd
    Parquet,
    /// Arrow IPC file
    #[value(alias = "ipc")]
    Arrow,
    /// Arrow IPC stream, which is read while it is written
    Arrows,
}

impl Format {
    /// The default format: a table on a terminal, CSV elsewhere.
    pub fn default_for(terminal: bool) -> Self {
        if terminal { Self::Table } else { Self::Csv }
    }

    /// The format that the extension of a file's name selects.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match extension.as_str() {
            "txt" => Self::Table,
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "json" => Self::Json,
            "ndjson" | "jsonl" => Self::Ndjson,
            "md" | "markdown" => Self::Markdown,
            "parquet" | "pq" => Self::Parquet,
            "arrow" | "ipc" => Self::Arrow,
            "arrows" => Self::Arrows,
            _ => return None,
        })
    }

    /// Whether the format is binary, and unreadable on a terminal.
    pub fn is_binary(self) -> bool {
        matches!(self, Self::Parquet | Self::Arrow | Self::Arrows)
    }

    /// Whether several results need an empty line between them. JSON does not: programs read one value after the other.
    pub fn is_set_apart(self) -> bool {
        matches!(
            self,
            Self::Table | Self::Csv | Self::Tsv | Self::Markdown | Self::Line
        )
    }

    /// The name that `--format` takes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Markdown => "markdown",
            Self::Line => "line",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Arrows => "arrows",
        }
    }
}

/// The options of a [`Writer`].
#[derive(Clone, Debug)]
pub struct OutputOptions {
    /// The format of the rows.
    pub format: Format,
    /// Whether a person reads the output at a terminal: allows folding, cutting and rounding.
    pub terminal: bool,
    /// The number of character columns of the terminal; `None` when it is unknown, and then nothing is cut.
    pub width: Option<u16>,
    /// Whether the table may use colour.
    pub colour: bool,
    /// Rows of a table that a terminal shows; `None` for all. Elsewhere without effect.
    pub rows_max: Option<u64>,
    /// Show every column of a table in full, however wide, also those that are NULL throughout.
    pub all_columns: bool,
    /// Show rows at once: the next ones may come much later.
    pub prompt: bool,
    /// A chart instead of the rows.
    pub plot: Option<plot::Plot>,
    /// The output is a file, so that nothing of it appears on a screen while it is written.
    pub is_file: bool,
}

impl OutputOptions {
    /// True of what has no room for a second answer.
    pub fn holds_one(&self) -> bool {
        match self.plot {
            Some(plot) => plot.form.is_picture(),
            None => self.format.is_binary(),
        }
    }

    /// The name of what is written, for errors.
    pub fn what(&self) -> &'static str {
        match self.plot {
            Some(_) => "picture",
            None => self.format.name(),
        }
    }

    /// Output for a program: everything, exact and without colour.
    pub fn plain(format: Format) -> Self {
        Self {
            format,
            terminal: false,
            width: None,
            colour: false,
            rows_max: None,
            all_columns: false,
            prompt: false,
            plot: None,
            is_file: false,
        }
    }

    /// Output for a person: as wide as the terminal on standard output, 40 rows.
    pub fn terminal(format: Format, colour: bool) -> Self {
        Self {
            format,
            terminal: true,
            width: terminal_width(),
            colour,
            rows_max: Some(ROWS_MAX_DEFAULT),
            all_columns: false,
            prompt: false,
            plot: None,
            is_file: false,
        }
    }
}

/// Whether more rows are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum OutputState {
    /// The output takes more.
    Open,
    /// The reader has gone (`weir … | head`): stop working and end quietly with success.
    Closed,
}

/// Writes batches of one schema in one format.
pub struct Writer {
    encoder: Box<dyn Encoder>,
    watch: Watch,
    rows: u64,
}

impl Writer {
    /// Starts an output. No output is written before the first batch or [`Self::finish`], so that a query that fails
    /// early leaves no half a result.
    ///
    /// # Errors
    /// [`Error::BinaryOnTerminal`].
    pub fn new(
        options: &OutputOptions,
        schema: SchemaRef,
        out: Box<dyn Write + Send>,
    ) -> Result<Self, Error> {
        if options.format.is_binary() && options.terminal && options.plot.is_none() {
            return Err(Error::BinaryOnTerminal(options.format));
        }
        let (pipe, watch) = Pipe::new(out);
        let encoder: Box<dyn Encoder> = match options.format {
            _ if let Some(plot) = options.plot => {
                Box::new(plot::Collected::new(plot, options, schema, pipe))
            }
            Format::Table if plan::is_plan(&schema) => {
                Box::new(rows::Rows::new(plan::Plan::new(options), pipe))
            }
            Format::Table => Box::new(table::Table::new(options, &schema, pipe)),
            Format::Csv => {
                let csv = separated::Separated::csv(options, &schema);
                Box::new(rows::Rows::new(csv, pipe))
            }
            Format::Tsv => {
                let tsv = separated::Separated::tsv(options, &schema);
                Box::new(rows::Rows::new(tsv, pipe))
            }
            Format::Json => Box::new(rows::Rows::new(rows::Json::array(&schema), pipe)),
            Format::Ndjson => Box::new(rows::Rows::new(rows::Json::lines(&schema), pipe)),
            Format::Markdown => Box::new(rows::Rows::new(markdown::Markdown::new(&schema), pipe)),
            Format::Line => Box::new(rows::Rows::new(
                line::LineFormat::new(options, &schema),
                pipe,
            )),
            Format::Parquet => Box::new(binary::Parquet::new(&schema, pipe)),
            Format::Arrow => Box::new(binary::Arrow::file(&schema, pipe)),
            Format::Arrows => Box::new(binary::Arrow::stream(&schema, pipe)),
        };
        Ok(Self {
            encoder,
            watch,
            rows: 0,
        })
    }

    /// Starts a file of CSV of another form than that of `-o`.
    pub fn csv(form: CsvForm, schema: &Schema, out: Box<dyn Write + Send>) -> Self {
        let (pipe, watch) = Pipe::new(out);
        let csv = separated::Separated::csv_of_form(form, schema);
        Self {
            encoder: Box::new(rows::Rows::new(csv, pipe)),
            watch,
            rows: 0,
        }
    }

    /// Writes the rows of `batch`.
    ///
    /// # Errors
    /// When the output cannot be written or a value cannot be encoded; not when the reader has
    /// gone.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<OutputState, Error> {
        if self.watch.closed() {
            return Ok(OutputState::Closed);
        }
        match self.encoder.write(batch) {
            Ok(()) => {
                self.rows = self
                    .rows
                    .saturating_add(u64::try_from(batch.num_rows()).unwrap_or(u64::MAX));
                Ok(OutputState::Open)
            }
            Err(_) if self.watch.closed() => Ok(OutputState::Closed),
            Err(error) => Err(error),
        }
    }

    /// Writes what is held back where it takes more than so many bytes of memory: of Parquet, a group of rows.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn flush_beyond(&mut self, bytes: usize) -> Result<(), Error> {
        match self.encoder.flush_beyond(bytes) {
            Err(_) if self.watch.closed() => Ok(()),
            done => done,
        }
    }

    /// Writes the rows that are still held back, and returns what was left out.
    ///
    /// # Errors
    /// As [`Self::write`].
    pub fn finish(mut self) -> Result<Summary, Error> {
        let mut summary = Summary::default();
        if !self.watch.closed() {
            match self.encoder.finish() {
                Ok(done) => summary = done,
                Err(_) if self.watch.closed() => {}
                Err(error) => return Err(error),
            }
        }
        summary.rows = self.rows;
        summary.closed = self.watch.closed();
        Ok(summary)
    }
}

/// The values of rows as text, for documents: as a CSV has them, with what steers a reader spelled out.
///
/// # Errors
/// When a value has no text.
pub fn texts(batch: &RecordBatch) -> Result<Vec<Vec<String>>, Error> {
    let columns = rows::columns(batch).map_err(|error| Error::encode(Format::Csv, error))?;
    let value = |column: &column::Column<'_>, row| {
        let mut value = String::new();
        if !column.is_null(row) {
            column.push_text(row, &mut value);
        }
        text::escaped(&value).into_owned()
    };
    let rows = 0..batch.num_rows();
    Ok(rows
        .map(|row| columns.iter().map(|column| value(column, row)).collect())
        .collect())
}

/// One format at work.
trait Encoder: Send {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error>;
    /// Writes what is held back where it takes more than so many bytes.
    fn flush_beyond(&mut self, _bytes: usize) -> Result<(), Error> {
        Ok(())
    }
    /// Called once, after the last batch.
    fn finish(&mut self) -> Result<Summary, Error>;
}

/// Character columns of the terminal on standard output. `None` when standard output is no terminal, or
/// neither the terminal nor COLUMNS gives them.
pub fn terminal_width() -> Option<u16> {
    let size = terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| width.0);
    size.or_else(|| std::env::var("COLUMNS").ok()?.parse().ok())
}

/// Lines of the terminal on standard output; `None` when standard output is no terminal, or it does not give them.
pub fn terminal_height() -> Option<u16> {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map(|(_, height)| height.0)
}

/// Rows that a table on a terminal shows unless `--rows` says otherwise.
pub const ROWS_MAX_DEFAULT: u64 = 40;
