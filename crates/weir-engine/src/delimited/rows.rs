//! The rows of a delimited file, one after the other.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, StringArray, StringBuilder};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, SchemaRef};
use weir_tables::Location;

use super::dialect::{BYTE_ORDER_MARK, Dialect};

/// A value of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelimitedValue<'a> {
    Null,
    /// An empty text, or the lack of anything else.
    Empty,
    Text(&'a str),
}

/// The rows of a file, one after the other.
pub(super) struct DelimitedRows {
    path: Location,
    input: BufReader<Box<dyn Read + Send>>,
    dialect: Dialect,
    pub(super) names: Vec<String>,
    /// The text of the current row, one field behind the other.
    text: Vec<u8>,
    fields: Vec<(Range<usize>, bool)>,
    /// The line in which the current row begins, and the line that is read next.
    line: u64,
    next_line: u64,
    pub(super) bytes: u64,
    /// The bytes that are read.
    bytes_max: u64,
}

impl DelimitedRows {
    pub(super) fn open(path: &Location, dialect: Dialect) -> Result<Self, String> {
        Self::open_within(path, dialect, None)
    }

    /// The rows in the first bytes of a file, the last of which may be cut; all rows where there is no limit.
    pub(super) fn open_within(
        path: &Location,
        dialect: Dialect,
        bytes_max: Option<u64>,
    ) -> Result<Self, String> {
        let failed = |error: io::Error| format!("{path}: {error}");
        let mut input: Box<dyn Read + Send> = path.open_uncompressed().map_err(failed)?;
        if let Some(bytes_max) = bytes_max {
            input = Box::new(input.take(bytes_max));
        }
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
            bytes_max: bytes_max.unwrap_or(u64::MAX),
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
            if rows.is_cut() {
                let bytes_max = rows.bytes_max;
                return Err(format!(
                    "{path}: no whole row lies in its first {bytes_max} bytes"
                ));
            }
            rows.names = rows.header()?;
        }
        Ok(rows)
    }

    /// Whether the current row ends where the bytes that are read do: it may go on behind them.
    pub(super) const fn is_cut(&self) -> bool {
        self.bytes.saturating_add(BYTE_ORDER_MARK.len() as u64) >= self.bytes_max
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
    pub(super) fn next(&mut self) -> Result<bool, String> {
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
            let count = self.fields.len();
            return Err(self.fault(&format!(
                "{count} fields, where the first line has {wanted}"
            )));
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
    pub(super) fn value(&self, index: usize) -> Result<DelimitedValue<'_>, String> {
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
            Err(_) => Err(self.fault("a value is not UTF-8")),
        }
    }

    /// The next rows as a batch; `None` at the end.
    pub(super) fn batch(
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
            return Err(self.fault("a quote is opened and not closed"));
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
            return Err(self.fault(&format!("more than {FIELDS_MAX} fields")));
        }
        if self.text.len() > RECORD_BYTES_MAX {
            let most = RECORD_BYTES_MAX >> 20;
            return Err(self.fault(&format!(
                "a row of more than {most} MiB; is a quote not closed?"
            )));
        }
        Ok(())
    }

    /// An error with the place of the current row.
    fn fault(&self, message: &str) -> String {
        format!("{}, line {}: {message}", self.path, self.line)
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

/// The column of a list of words.
const WORD: &str = "word";
const BATCH_ROWS: usize = 8_192;
const BATCH_BYTES: usize = 16 << 20;
const BUFFER_BYTES: usize = 256 << 10;
/// A row that is longer is not one.
const RECORD_BYTES_MAX: usize = 64 << 20;
/// The maximum number of columns: some times those of the widest table.
const FIELDS_MAX: usize = 16_384;

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
}
