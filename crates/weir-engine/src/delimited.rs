//! Comma-separated and tab-separated files as tables.
//!
//! DataFusion's own reader takes an empty field and `""` for the same, drops the zone of times, and cuts
//! files at line ends that lie within quotes. Here:
//!
//! - CSV is RFC 4180, with LF or CRLF. An empty field is NULL, `""` is the empty text (in a column of
//!   anything else than text it is NULL).
//! - TSV has no quotes: `\t`, `\n`, `\r` and `\\` are characters, `\N` is NULL, an empty field is the empty
//!   text (NULL in other columns).
//! - The first line has the names. The type of a column is the narrowest that all values of a sample fit
//!   into: at least [`SAMPLE_ROWS`] rows and [`SAMPLE_BYTES`] bytes, so that most files are seen whole. Digits
//!   with a leading zero stay text, as do numbers beyond 64 bits. Times with a zone become UTC.
//! - A list of words (`.txt`) is one column of text, `word`, with a row a line, whatever stands in it. Blank lines, and those that
//!   begin with `#`, make no row; blanks around a word do not belong to it.
//! - A value behind the sample that does not fit is an error that names its place.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, StringBuilder};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use weir_tables::Location;

/// The way in which fields are separated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Commas, and quotes.
    Csv,
    /// Tabs, and backslashes.
    Tsv,
    /// A word a line, without names.
    Words,
}

impl Dialect {
    const fn separator(self) -> u8 {
        match self {
            // Lines of words have no fields: what ends one ends a line.
            Self::Words => b'\n',
            Self::Csv => b',',
            Self::Tsv => b'\t',
        }
    }
}

/// Files of one schema.
#[derive(Debug)]
pub(crate) struct Delimited {
    files: Vec<Location>,
    dialect: Dialect,
    schema: SchemaRef,
}

impl Delimited {
    /// Samples the beginnings of the files.
    ///
    /// # Errors
    /// When one cannot be read or has malformed rows, or when they have different columns.
    pub(crate) fn open(files: &[Location], dialect: Dialect) -> Result<Self, String> {
        let mut names: Vec<String> = Vec::new();
        let mut guesses: Vec<Guess> = Vec::new();
        for (index, path) in files.iter().enumerate() {
            let mut rows = DelimitedRows::open(path, dialect)?;
            let own = rows.names.clone();
            match index {
                0 => {
                    guesses.resize_with(own.len(), Guess::default);
                    names = own;
                }
                _ if own != names => {
                    let first = files.first().map_or(path, |first| first);
                    return Err(format!("{path}: its columns differ from those of {first}"));
                }
                _ => {}
            }
            let mut seen = 0;
            while (seen < SAMPLE_ROWS || rows.bytes < SAMPLE_BYTES) && rows.next()? {
                seen += 1;
                for (index, guess) in guesses.iter_mut().enumerate() {
                    guess.see(rows.value(index)?);
                }
            }
        }
        let fields = names.iter().zip(&guesses);
        let type_of = |guess: &Guess| match dialect {
            // The next line may be anything.
            Dialect::Words => DataType::Utf8,
            Dialect::Csv | Dialect::Tsv => guess.data_type(),
        };
        let fields: Vec<Field> = fields
            .map(|(name, guess)| Field::new(name, type_of(guess), true))
            .collect();
        Ok(Self {
            files: files.to_vec(),
            dialect,
            schema: Arc::new(Schema::new(fields)),
        })
    }

    /// The same table of some of its files.
    pub(crate) fn of(&self, files: &[Location]) -> Self {
        Self {
            files: files.to_vec(),
            dialect: self.dialect,
            schema: Arc::clone(&self.schema),
        }
    }
}

/// The type of a column that has these values.
pub(crate) fn type_of_texts<'t>(texts: impl Iterator<Item = &'t str>) -> DataType {
    let mut guess = Guess::default();
    texts.for_each(|text| guess.see(DelimitedValue::Text(text)));
    guess.data_type()
}

#[async_trait]
impl TableProvider for Delimited {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema = Arc::new(self.schema.project(&projection)?);
        let part = |path: &Location| -> Arc<dyn PartitionStream> {
            Arc::new(DelimitedFile {
                path: path.clone(),
                dialect: self.dialect,
                columns: self.schema.fields().len(),
                projection: projection.clone(),
                schema: Arc::clone(&schema),
            })
        };
        let parts = self.files.iter().map(part).collect();
        let scan = StreamingTableExec::try_new(Arc::clone(&schema), parts, None, [], false, limit)?;
        Ok(Arc::new(scan))
    }
}

/// One file.
struct DelimitedFile {
    path: Location,
    dialect: Dialect,
    /// The number of columns that the file must have.
    columns: usize,
    projection: Vec<usize>,
    schema: SchemaRef,
}

impl fmt::Debug for DelimitedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)
    }
}

impl PartitionStream for DelimitedFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let sender = builder.tx();
        let (path, dialect, columns) = (self.path.clone(), self.dialect, self.columns);
        let (projection, schema) = (self.projection.clone(), Arc::clone(&self.schema));
        builder.spawn_blocking(move || {
            let mut rows =
                DelimitedRows::open(&path, dialect).map_err(DataFusionError::Execution)?;
            if rows.names.len() != columns {
                let message = format!("{path}: its columns have changed");
                return Err(DataFusionError::Execution(message));
            }
            loop {
                let batch = rows.batch(&projection, &schema);
                let batch = batch.map_err(DataFusionError::Execution)?;
                let Some(batch) = batch else {
                    return Ok(());
                };
                if sender.blocking_send(Ok(batch)).is_err() {
                    // The receiver was dropped: no more rows are needed.
                    return Ok(());
                }
            }
        });
        builder.build()
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelimitedValue<'a> {
    Null,
    /// An empty text, or the lack of anything else.
    Empty,
    Text(&'a str),
}

/// The rows of a file, one after the other.
struct DelimitedRows {
    path: Location,
    input: BufReader<Box<dyn Read + Send>>,
    dialect: Dialect,
    names: Vec<String>,
    /// The text of the current row, one field behind the other.
    text: Vec<u8>,
    fields: Vec<(Range<usize>, bool)>,
    /// The line in which the current row begins, and the line that is read next.
    line: u64,
    next_line: u64,
    bytes: u64,
}

impl DelimitedRows {
    fn open(path: &Location, dialect: Dialect) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{path}: {error}");
        let input: Box<dyn Read + Send> = path.open_uncompressed().map_err(failed)?;
        let mut rows = Self {
            path: path.clone(),
            input: BufReader::with_capacity(BUFFER_BYTES, input),
            dialect,
            names: Vec::new(),
            text: Vec::new(),
            fields: Vec::new(),
            line: 1,
            next_line: 1,
            bytes: 0,
        };
        if rows
            .input
            .fill_buf()
            .map_err(failed)?
            .starts_with(BYTE_ORDER_MARK)
        {
            rows.input.consume(BYTE_ORDER_MARK.len());
        }
        if dialect == Dialect::Words {
            rows.names.push(WORD.to_owned());
        } else if rows.record()? {
            rows.names = rows.header()?;
        }
        Ok(rows)
    }

    /// The names of the columns: a column without one is called by its number, and one whose name came before
    /// gets a number.
    fn header(&self) -> Result<Vec<String>, String> {
        let mut names: Vec<String> = Vec::new();
        let mut taken = HashSet::new();
        let mut numbers = HashMap::new();
        for index in 0..self.fields.len() {
            let name = match self.value(index)? {
                DelimitedValue::Text(name) => name.to_owned(),
                DelimitedValue::Null | DelimitedValue::Empty => format!("column_{}", index + 1),
            };
            let mut free = name.clone();
            while !taken.insert(free.clone()) {
                let number = numbers.entry(name.clone()).or_insert(1_u64);
                *number += 1;
                free = format!("{name}_{number}");
            }
            names.push(free);
        }
        Ok(names)
    }

    /// Goes to the next row; false at the end.
    fn next(&mut self) -> Result<bool, String> {
        loop {
            if !self.record()? {
                return Ok(false);
            }
            let wanted = self.names.len();
            if self.dialect == Dialect::Words && !self.trim_word() {
                continue;
            }
            if self.fields.len() == wanted {
                return Ok(true);
            }
            // An empty line is a row only where a row is one value.
            if self.text.is_empty() && self.fields.len() == 1 {
                continue;
            }
            return Err(format!(
                "{}, line {}: {} fields, where the first line has {wanted}",
                self.path,
                self.line,
                self.fields.len()
            ));
        }
    }

    /// Reads the current line as a word; returns false when it is blank.
    fn trim_word(&mut self) -> bool {
        let line = self.text.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return false;
        }
        let begin = self.text.len() - self.text.trim_ascii_start().len();
        let end = begin + line.len();
        self.fields.clear();
        self.fields.push((begin..end, false));
        true
    }

    /// The value of a field of the current row.
    fn value(&self, index: usize) -> Result<DelimitedValue<'_>, String> {
        let (range, marked) = match self.fields.get(index) {
            Some((range, marked)) => (range.clone(), *marked),
            None => return Ok(DelimitedValue::Null),
        };
        let bytes = self.text.get(range).unwrap_or_default();
        if bytes.is_empty() {
            // Quotes mark an empty text in CSV, and \N marks a NULL in TSV.
            let null = marked == (self.dialect == Dialect::Tsv);
            return Ok(if null {
                DelimitedValue::Null
            } else {
                DelimitedValue::Empty
            });
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(DelimitedValue::Text(text)),
            Err(_) => Err(format!(
                "{}, line {}: a value is not UTF-8",
                self.path, self.line
            )),
        }
    }

    /// The next rows as a batch; `None` at the end.
    fn batch(
        &mut self,
        projection: &[usize],
        schema: &SchemaRef,
    ) -> Result<Option<RecordBatch>, String> {
        let mut columns: Vec<StringBuilder> = Vec::new();
        columns.resize_with(projection.len(), StringBuilder::new);
        let texts: Vec<bool> = schema
            .fields()
            .iter()
            .map(|field| *field.data_type() == DataType::Utf8)
            .collect();
        let mut lines = Vec::new();
        let mut bytes = 0;
        while lines.len() < BATCH_ROWS && bytes < BATCH_BYTES && self.next()? {
            lines.push(self.line);
            bytes += self.text.len();
            for ((builder, index), is_text) in columns.iter_mut().zip(projection).zip(&texts) {
                match self.value(*index)? {
                    DelimitedValue::Text(text) => builder.append_value(text),
                    DelimitedValue::Empty if *is_text => builder.append_value(""),
                    DelimitedValue::Null | DelimitedValue::Empty => builder.append_null(),
                }
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let arrays: Result<Vec<ArrayRef>, String> = columns
            .iter_mut()
            .zip(schema.fields())
            .map(|(builder, field)| self.typed(builder.finish(), field, &lines))
            .collect();
        let options = RecordBatchOptions::new().with_row_count(Some(lines.len()));
        RecordBatch::try_new_with_options(Arc::clone(schema), arrays?, &options)
            .map(Some)
            .map_err(|error| error.to_string())
    }

    /// Texts as what their column is.
    fn typed(&self, texts: StringArray, field: &Field, lines: &[u64]) -> Result<ArrayRef, String> {
        if *field.data_type() == DataType::Utf8 {
            return Ok(Arc::new(texts));
        }
        let lenient = CastOptions {
            safe: true,
            ..CastOptions::default()
        };
        let array = cast_with_options(&texts, field.data_type(), &lenient)
            .map_err(|error| error.to_string())?;
        let lost = (0..texts.len()).find(|row| array.is_null(*row) && texts.is_valid(*row));
        match lost {
            None => Ok(array),
            Some(row) => Err(format!(
                "{}, line {}: '{}' is not a {}, the type of {} in the rows from which it was inferred",
                self.path,
                lines.get(row).copied().unwrap_or_default(),
                texts.value(row),
                match field.data_type() {
                    DataType::Timestamp(..) => "time".to_owned(),
                    other => other.to_string(),
                },
                field.name(),
            )),
        }
    }

    /// Reads a record into `text` and `fields`; false at the end of the file.
    fn record(&mut self) -> Result<bool, String> {
        self.text.clear();
        self.fields.clear();
        self.line = self.next_line;
        let mut state = RecordState::Start;
        let mut begin = 0;
        let mut marked = false;
        // The last byte is a carriage return that stands in the file as such.
        let mut returned = false;
        let separator = self.dialect.separator();
        loop {
            let available = self
                .input
                .fill_buf()
                .map_err(|error| format!("{}: {error}", self.path))?;
            if available.is_empty() {
                return self.last_record(state, begin, marked);
            }
            let mut used = 0;
            let mut ended = false;
            for &byte in available {
                used += 1;
                self.next_line += u64::from(byte == b'\n');
                match (state, byte) {
                    (RecordState::Quoted, b'"') => state = RecordState::QuoteInQuoted,
                    (RecordState::Quoted, other) => {
                        self.text.push(other);
                        returned = false;
                    }
                    (RecordState::QuoteInQuoted, b'"') => {
                        self.text.push(b'"');
                        state = RecordState::Quoted;
                    }
                    (RecordState::Escape, byte) => {
                        (state, returned) = (RecordState::Plain, false);
                        match byte {
                            b'N' if self.text.len() == begin => marked = true,
                            other => push_escaped(&mut self.text, other),
                        }
                    }
                    (_, byte) if byte == separator && byte != b'\n' => {
                        self.fields.push((begin..self.text.len(), marked));
                        begin = self.text.len();
                        (state, marked, returned) = (RecordState::Start, false, false);
                    }
                    (state_before, b'\n') => {
                        // The carriage return belongs to CRLF; within quotes it would be part of the value.
                        if state_before == RecordState::Plain && returned {
                            self.text.pop();
                        }
                        self.fields.push((begin..self.text.len(), marked));
                        ended = true;
                        break;
                    }
                    (RecordState::Start, b'"') if self.dialect == Dialect::Csv => {
                        (state, marked) = (RecordState::Quoted, true);
                    }
                    (RecordState::QuoteInQuoted, b'\r') => {}
                    (_, b'\\') if self.dialect == Dialect::Tsv => state = RecordState::Escape,
                    (_, other) => {
                        self.text.push(other);
                        (state, returned) = (RecordState::Plain, other == b'\r');
                    }
                }
            }
            self.bytes += used as u64;
            self.input.consume(used);
            self.check_size()?;
            if ended {
                return Ok(true);
            }
        }
    }

    /// Ends the record that the end of the file ends, if there is one.
    fn last_record(
        &mut self,
        state: RecordState,
        begin: usize,
        marked: bool,
    ) -> Result<bool, String> {
        if state == RecordState::Quoted {
            return Err(format!(
                "{}, line {}: a quote is opened and not closed",
                self.path, self.line
            ));
        }
        let nothing = self.fields.is_empty() && state == RecordState::Start;
        if state == RecordState::Escape {
            self.text.push(b'\\');
        }
        if !nothing {
            self.fields.push((begin..self.text.len(), marked));
        }
        Ok(!nothing)
    }

    fn check_size(&self) -> Result<(), String> {
        if self.fields.len() > FIELDS_MAX {
            return Err(format!(
                "{}, line {}: more than {FIELDS_MAX} fields",
                self.path, self.line
            ));
        }
        if self.text.len() > RECORD_BYTES_MAX {
            return Err(format!(
                "{}, line {}: a row of more than {} MiB; is a quote not closed?",
                self.path,
                self.line,
                RECORD_BYTES_MAX >> 20
            ));
        }
        Ok(())
    }
}

/// Appends the character that a backslash and this byte stand for.
fn push_escaped(text: &mut Vec<u8>, byte: u8) {
    match byte {
        b't' => text.push(b'\t'),
        b'n' => text.push(b'\n'),
        b'r' => text.push(b'\r'),
        b'\\' => text.push(b'\\'),
        other => text.extend([b'\\', other]),
    }
}

/// The position of the reader in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RecordState {
    /// The reader is at the first byte of a field.
    Start,
    /// The reader is in a field.
    Plain,
    /// Between quotes.
    Quoted,
    /// The reader is behind a quote that ends the field, or is the first of two.
    QuoteInQuoted,
    /// The reader is behind a backslash.
    Escape,
}

/// The types that the values of a column may have.
#[derive(Debug)]
struct Guess {
    seen: bool,
    boolean: bool,
    signed: bool,
    unsigned: bool,
    float: bool,
    /// No column of integers alone has to be one of floats, which would lose digits.
    integers: bool,
    date: bool,
    instant: bool,
    wall_clock: bool,
}

impl Default for Guess {
    fn default() -> Self {
        Self {
            seen: false,
            boolean: true,
            signed: true,
            unsigned: true,
            float: true,
            integers: true,
            date: true,
            instant: true,
            wall_clock: true,
        }
    }
}

impl Guess {
    fn see(&mut self, value: DelimitedValue<'_>) {
        let DelimitedValue::Text(text) = value else {
            return;
        };
        self.seen = true;
        self.boolean &= text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
        let integer = is_integer(text);
        self.signed &= integer && text.parse::<i64>().is_ok();
        self.unsigned &= integer && text.parse::<u64>().is_ok();
        self.integers &= integer;
        self.float &= is_float(text) || (integer && text.len() <= FLOAT_DIGITS_MAX);
        self.date &= is_date(text);
        let zone = time_zone(text);
        self.instant &= zone == Some(true);
        self.wall_clock &= zone == Some(false);
    }

    fn data_type(&self) -> DataType {
        let is_time = self.instant || self.wall_clock;
        match self {
            Self { seen: false, .. } => DataType::Utf8,
            Self { boolean: true, .. } => DataType::Boolean,
            Self { signed: true, .. } => DataType::Int64,
            Self { unsigned: true, .. } => DataType::UInt64,
            Self {
                float: true,
                integers: false,
                ..
            } => DataType::Float64,
            Self { date: true, .. } => DataType::Date32,
            _ if is_time => {
                let zone = self.instant.then(|| "UTC".into());
                DataType::Timestamp(TimeUnit::Nanosecond, zone)
            }
            _ => DataType::Utf8,
        }
    }
}

/// Digits that are the shortest way to write a number: a leading zero is part of a name.
fn is_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_padded = digits.len() > 1 && digits.starts_with('0');
    !digits.is_empty() && !is_padded && digits.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_float(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if matches!(digits, "NaN" | "inf") {
        return true;
    }
    let known =
        |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-');
    let is_padded = digits.len() > 1
        && digits.starts_with('0')
        && digits.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits.contains(['.', 'e', 'E'])
        && !is_padded
        && digits.bytes().all(known)
        && text.parse::<f64>().is_ok()
}

/// The column of a list of words.
const WORD: &str = "word";
/// Digits that a double keeps.
const FLOAT_DIGITS_MAX: usize = 15;

/// `2026-11-22`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 10
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            4 | 7 => *byte == b'-',
            _ => byte.is_ascii_digit(),
        })
}

/// Whether a time such as `2026-11-22T03:00:00.5`, with a T or a blank, has a time zone; `None` when the text is not a time, or not
/// one that nanoseconds since 1970 can represent.
fn time_zone(text: &str) -> Option<bool> {
    let (date, time) = text.split_once(['T', ' '])?;
    let year: u32 = date.get(..4)?.parse().ok()?;
    if !is_date(date) || !(1678..=2261).contains(&year) {
        return None;
    }
    let (clock, rest) = time.split_at_checked(8)?;
    let is_clock = clock.bytes().enumerate().all(|(at, byte)| match at {
        2 | 5 => byte == b':',
        _ => byte.is_ascii_digit(),
    });
    if !is_clock {
        return None;
    }
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if !(1..=9).contains(&digits) {
                return None;
            }
            fraction.get(digits..)?
        }
        None => rest,
    };
    match zone.as_bytes() {
        [] => Some(false),
        [b'Z'] => Some(true),
        [b'+' | b'-', a, b, b':', c, d] | [b'+' | b'-', a, b, c, d] => {
            let digits = [a, b, c, d].into_iter().all(u8::is_ascii_digit);
            digits.then_some(true)
        }
        _ => None,
    }
}

/// Rows that the types of columns are taken from, at least.
const SAMPLE_ROWS: u64 = 20_480;
/// Bytes of them.
const SAMPLE_BYTES: u64 = 16 << 20;
const BATCH_ROWS: usize = 8_192;
const BATCH_BYTES: usize = 16 << 20;
const BUFFER_BYTES: usize = 256 << 10;
/// A row that is longer is not one.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// The maximum number of columns: some times those of the widest table.
const FIELDS_MAX: usize = 16_384;
/// The byte order mark with which some programs begin a text in UTF-8; it is not part of the text (RFC 3629, 6).
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests {
    use super::*;

    /// All rows, NULL as `-` and the empty text as `""`; or what is wrong.
    fn rows(text: &str, dialect: Dialect) -> Result<Vec<String>, String> {
        let file = std::env::temp_dir().join(format!(
            "weir-delimited-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&file, text).unwrap();
        let mut rows = DelimitedRows::open(&(&file).into(), dialect)?;
        let mut found = vec![rows.names.join("|")];
        while rows.next()? {
            let values = (0..rows.fields.len()).map(|index| match rows.value(index).unwrap() {
                DelimitedValue::Null => "-".to_owned(),
                DelimitedValue::Empty => "\"\"".to_owned(),
                DelimitedValue::Text(text) => text.to_owned(),
            });
            found.push(values.collect::<Vec<_>>().join("|"));
        }
        std::fs::remove_file(file).unwrap();
        Ok(found)
    }

    /// Any bytes are rows of the header's width, or one error with its place.
    #[test]
    fn any_bytes_are_rows_or_an_error() {
        let mut rng = weir_testkit::Rng::new(21);
        let file = std::env::temp_dir().join(format!("weir-delimited-any-{}", std::process::id()));
        let mut read = 0;
        for _ in 0..4_000 {
            let bytes: Vec<u8> = (0..rng.below(30))
                .map(|_| b",\t\"\\\r\nabN\xff"[rng.below(10) as usize])
                .collect();
            std::fs::write(&file, &bytes).unwrap();
            for dialect in [Dialect::Csv, Dialect::Tsv] {
                let all = || -> Result<u64, String> {
                    let mut rows = DelimitedRows::open(&(&file).into(), dialect)?;
                    let mut count = 0;
                    while rows.next()? {
                        assert_eq!(rows.fields.len(), rows.names.len());
                        for index in 0..rows.fields.len() {
                            rows.value(index)?;
                        }
                        count += 1;
                    }
                    Ok(count)
                };
                match all() {
                    Ok(rows) => read += rows,
                    Err(error) => assert!(error.contains(", line "), "{error}"),
                }
            }
        }
        std::fs::remove_file(file).unwrap();
        assert!(read > 500, "{read}");
    }

    /// Any text that is written between quotes (RFC 4180, 2) is read as it was.
    #[test]
    fn quoted_values_come_back() {
        let mut rng = weir_testkit::Rng::new(22);
        for _ in 0..300 {
            let width = 1 + rng.below(4) as usize;
            let mut text = vec!["h"; width].join(",");
            let mut expected = Vec::new();
            for _ in 0..rng.below(6) {
                let values: Vec<String> = (0..width)
                    .map(|_| {
                        (0..1 + rng.below(6))
                            .map(|_| ['a', ',', '"', '\r', '\n', 'é', '\t'][rng.below(7) as usize])
                            .collect()
                    })
                    .collect();
                let quoted = values
                    .iter()
                    .map(|value| format!("\"{}\"", value.replace('"', "\"\"")));
                text += &format!("\r\n{}", quoted.collect::<Vec<_>>().join(","));
                expected.push(values.join("|"));
            }
            assert_eq!(
                rows(&text, Dialect::Csv).unwrap()[1..],
                expected,
                "{text:?}"
            );
        }
    }

    #[test]
    fn null_and_the_empty_text_are_distinguished() {
        for (text, expected) in [
            ("a,b\n1,\n,\"\"\n", &["a|b", "1|-", "-|\"\""][..]),
            (
                "a,b\r\n1,\r\n\"x\r\ny\",\"q\"\"q\"\r\n",
                &["a|b", "1|-", "x\r\ny|q\"q"],
            ),
            (
                "\u{feff}a,a,,a\n1,2,3,4",
                &["a|a_2|column_3|a_3", "1|2|3|4"],
            ),
            ("a\n\n\"\"\nx\n", &["a", "-", "\"\"", "x"]),
            ("a,b\n\n1,2\n\n", &["a|b", "1|2"]),
            ("a,b\n1,", &["a|b", "1|-"]),
            ("", &[""]),
        ] {
            assert_eq!(rows(text, Dialect::Csv).unwrap(), expected, "{text:?}");
        }
        for (text, expected) in [
            ("a\tb\n1\t\\N\n\t\"q\"\n", &["a|b", "1|-", "\"\"|\"q\""][..]),
            ("a\n\\\\N\\t\\n\\r\\x\n", &["a", "\\N\t\n\r\\x"]),
            ("a\nx\\r\ny\r\n", &["a", "x\r", "y"]),
            ("a\tb\r\n\\N\tx\\", &["a|b", "-|x\\"]),
        ] {
            assert_eq!(rows(text, Dialect::Tsv).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_row_is_an_error_with_its_line() {
        for (text, wanted) in [
            (
                "a,b\n1,2\n1,2,3\n",
                "line 3: 3 fields, where the first line has 2",
            ),
            ("a,b\n\"x\ny\",2\n1\n", "line 4: 1 fields"),
            ("a\n\"x\n", "line 2: a quote is opened and not closed"),
        ] {
            let error = rows(text, Dialect::Csv).unwrap_err();
            assert!(error.contains(wanted), "{error}");
        }
    }

    #[test]
    fn types_are_the_narrowest_that_lose_nothing() {
        let instant = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
        let wall_clock = DataType::Timestamp(TimeUnit::Nanosecond, None);
        for (values, expected) in [
            (&["1", "-2", "0"][..], DataType::Int64),
            (&["1", "18446744073709551615"], DataType::UInt64),
            (&["1", "18446744073709551616"], DataType::Utf8),
            (&["18446744073709551616", "1.5"], DataType::Utf8),
            (&["-1", "18446744073709551615"], DataType::Utf8),
            (&["007", "1"], DataType::Utf8),
            (&["+4930", "1"], DataType::Utf8),
            (&["1", "0.5", "-1e-7", "NaN", "-inf"], DataType::Float64),
            (&["00.5"], DataType::Utf8),
            (&["true", "FALSE"], DataType::Boolean),
            (&["2026-11-22"], DataType::Date32),
            (
                &["2026-11-22T03:00:00Z", "2026-11-22 03:00:00.123456789+0100"],
                instant,
            ),
            (
                &["2026-11-22T03:00:00", "2026-11-22 03:00:00.5"],
                wall_clock,
            ),
            (
                &["2026-11-22T03:00:00", "2026-11-22T03:00:00Z"],
                DataType::Utf8,
            ),
            (&["9999-11-22T03:00:00Z"], DataType::Utf8),
            (&["10.0.0.1", "1"], DataType::Utf8),
            (&[], DataType::Utf8),
        ] {
            let mut guess = Guess::default();
            for value in values {
                guess.see(DelimitedValue::Text(value));
            }
            guess.see(DelimitedValue::Null);
            guess.see(DelimitedValue::Empty);
            assert_eq!(guess.data_type(), expected, "{values:?}");
        }
    }
}
