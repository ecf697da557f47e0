//! Files of JSON that hold an array of rows as tables.
//!
//! DataFusion reads such a file in one piece or not at all: its plans cut files of some size into ranges, which an array
//! does not stand. Here the brackets and commas around the rows are taken away on the way, so that what is left
//! is an object a line, which Arrow reads. Several arrays one behind the other, as several answers in one file are,
//! are read as one. A byte order mark, which Arrow does not stand either, is taken away, too.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::json::ReaderBuilder;
use arrow::json::reader::infer_json_schema;
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

use crate::delimited::BYTE_ORDER_MARK;

/// Files of one schema.
#[derive(Debug)]
pub(crate) struct JsonArrays {
    files: Vec<Location>,
    schema: SchemaRef,
}

impl JsonArrays {
    /// Reads the files through for their columns: what is null in the first rows has a type in later ones. With `bytes_max`, reads the
    /// whole rows in so many bytes at the beginning of each.
    ///
    /// # Errors
    /// When one cannot be read or is no JSON, or when a column is one thing here and another there; with `bytes_max`, also when no row
    /// ends within them, or when they have too many columns.
    pub(crate) fn open(files: &[Location], bytes_max: Option<u64>) -> Result<Self, String> {
        let mut schemas = Vec::new();
        for path in files {
            let failed = |error: &dyn fmt::Display| format!("{path}: {error}");
            let rows = rows(path).map_err(|error| failed(&error))?;
            let inferred = match bytes_max {
                Some(bytes_max) => {
                    let sample = sample(path, rows, bytes_max)?;
                    infer_json_schema(sample.as_slice(), None)
                }
                None => infer_json_schema(rows, None),
            };
            let (schema, _) = inferred.map_err(|error| failed(&error))?;
            if bytes_max.is_some() && schema.fields().len() > SAMPLED_COLUMNS_MAX {
                return Err(format!("{path}: more than {SAMPLED_COLUMNS_MAX} columns"));
            }
            schemas.push(schema);
        }
        let schema = Schema::try_merge(schemas).map_err(|error| error.to_string())?;
        Ok(Self {
            files: files.to_vec(),
            schema: Arc::new(schema),
        })
    }

    /// The same table of some of its files.
    pub(crate) fn of(&self, files: &[Location]) -> Self {
        Self {
            files: files.to_vec(),
            schema: Arc::clone(&self.schema),
        }
    }
}

#[async_trait]
impl TableProvider for JsonArrays {
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
        let part = |path: &Location| -> Arc<dyn PartitionStream> {
            Arc::new(JsonFile {
                path: path.clone(),
                schema: Arc::clone(&self.schema),
            })
        };
        let parts = self.files.iter().map(part).collect();
        let schema = Arc::clone(&self.schema);
        let scan = StreamingTableExec::try_new(schema, parts, projection, [], false, limit)?;
        Ok(Arc::new(scan))
    }
}

/// One file.
struct JsonFile {
    path: Location,
    schema: SchemaRef,
}

impl fmt::Debug for JsonFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)
    }
}

impl PartitionStream for JsonFile {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(&self.schema), 2);
        let sender = builder.tx();
        let (path, schema) = (self.path.clone(), Arc::clone(&self.schema));
        builder.spawn_blocking(move || {
            let failed =
                |error: &dyn fmt::Display| DataFusionError::Execution(format!("{path}: {error}"));
            let rows = rows(&path).map_err(|error| failed(&error))?;
            let batches = ReaderBuilder::new(schema).build(rows);
            for batch in batches.map_err(|error| failed(&error))? {
                let batch = batch.map_err(|error| failed(&error))?;
                if sender.blocking_send(Ok(batch)).is_err() {
                    // The receiver was dropped: no more rows are needed.
                    break;
                }
            }
            Ok(())
        });
        builder.build()
    }
}

/// The rows of a file, each in a line or more of its own.
fn rows(path: &Location) -> io::Result<BufReader<ArrayRows<impl Read + Send + use<>>>> {
    let mut file = BufReader::with_capacity(BUFFER_BYTES, path.open_uncompressed()?);
    if file.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        file.consume(BYTE_ORDER_MARK.len());
    }
    Ok(BufReader::with_capacity(BUFFER_BYTES, ArrayRows::new(file)))
}

/// The whole rows in the first bytes of a file, a line each.
fn sample(path: &Location, rows: impl Read, bytes_max: u64) -> Result<Vec<u8>, String> {
    let mut sample = Vec::new();
    let mut first = rows.take(bytes_max.saturating_add(1));
    let read = first.read_to_end(&mut sample);
    read.map_err(|error| format!("{path}: {error}"))?;
    if sample.len() as u64 > bytes_max {
        let last = sample.iter().rposition(|byte| *byte == b'\n');
        sample.truncate(last.map_or(0, |last| last + 1));
        if sample.trim_ascii().is_empty() {
            return Err(format!(
                "{path}: no whole row lies in its first {bytes_max} bytes"
            ));
        }
    }
    Ok(sample)
}

/// Removes the brackets and commas around rows.
#[derive(Debug)]
struct ArrayRows<R> {
    inner: R,
    /// Brackets and braces that are open, the one around the rows among them.
    depth: u64,
    in_array: bool,
    in_text: bool,
    escaped: bool,
}

impl<R> ArrayRows<R> {
    const fn new(inner: R) -> Self {
        Self {
            inner,
            depth: 0,
            in_array: false,
            in_text: false,
            escaped: false,
        }
    }

    /// The byte that replaces a byte.
    fn passed(&mut self, byte: u8) -> u8 {
        if self.in_text {
            match (self.escaped, byte) {
                (true, _) => self.escaped = false,
                (false, b'\\') => self.escaped = true,
                (false, b'"') => self.in_text = false,
                (false, _) => {}
            }
            return byte;
        }
        match byte {
            b'"' => self.in_text = true,
            b'[' if self.depth == 0 => {
                (self.depth, self.in_array) = (1, true);
                return b'\n';
            }
            b']' if self.in_array && self.depth == 1 => {
                (self.depth, self.in_array) = (0, false);
                return b'\n';
            }
            b',' if self.in_array && self.depth == 1 => return b'\n',
            b'[' | b'{' => self.depth = self.depth.saturating_add(1),
            b']' | b'}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        byte
    }
}

impl<R: Read> Read for ArrayRows<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        for byte in buffer.iter_mut().take(count) {
            *byte = self.passed(*byte);
        }
        if count == 0 && self.in_array {
            // Without the end of the array, rows may be missing.
            let cut = "the file ends before the array does";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, cut));
        }
        Ok(count)
    }
}

const BUFFER_BYTES: usize = 256 << 10;
/// Columns of a file whose beginning is looked at; files of CSV have no more, either.
const SAMPLED_COLUMNS_MAX: usize = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_around_rows_is_taken_away() {
        for (text, expected) in [
            (
                "[{\"a\":[1,2]},{\"a\":[]}]",
                "\n{\"a\":[1,2]}\n{\"a\":[]}\n",
            ),
            ("[]\n[{\"]\":\"\\\"],[\"}]", "\n\n\n\n{\"]\":\"\\\"],[\"}\n"),
            ("{\"a\":1}\n{\"b\":[{}]}", "{\"a\":1}\n{\"b\":[{}]}"),
        ] {
            let mut found = String::new();
            ArrayRows::new(text.as_bytes())
                .read_to_string(&mut found)
                .unwrap();
            assert_eq!(found, expected);
        }
        let mut found = String::new();
        let cut = ArrayRows::new(&b"[{\"a\":1},"[..]).read_to_string(&mut found);
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// Pieces that have a meaning in JSON, in any order: bytes are neither added nor lost nor moved, and only brackets and commas
    /// become line feeds; and an array of rows, by serde_json, becomes a row a line.
    #[test]
    fn any_bytes_pass_and_arrays_come_out_as_their_rows() {
        let mut rng = weir_testkit::Rng::new(20);
        let mut arrays = 0;
        let pieces: [&[u8]; 12] = [
            b"[",
            b"]",
            b"{}",
            b"{\"a\":[1,{}]}",
            b",",
            b"\"],[\"",
            b"1",
            b" ",
            b"\n",
            b"\\",
            b"\"",
            b"\xff",
        ];
        for _ in 0..40_000 {
            let text: Vec<u8> = (0..rng.below(8))
                .flat_map(|_| pieces[rng.below(12) as usize].iter().copied())
                .collect();
            let mut found = Vec::new();
            let outcome = ArrayRows::new(text.as_slice()).read_to_end(&mut found);
            assert_eq!(found.len(), text.len());
            for (before, after) in text.iter().zip(&found) {
                let taken_away = b"[],".contains(before) && *after == b'\n';
                assert!(before == after || taken_away, "{text:?}");
            }
            let Ok(rows) = serde_json::from_slice::<Vec<serde_json::Value>>(&text) else {
                continue;
            };
            outcome.unwrap();
            let lines = serde_json::Deserializer::from_slice(&found).into_iter();
            let lines: Vec<serde_json::Value> = lines.map(Result::unwrap).collect();
            assert_eq!(lines, rows);
            arrays += usize::from(!rows.is_empty());
        }
        assert!(arrays > 20, "{arrays}");
    }
}
