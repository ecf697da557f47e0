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

mod dialect;
mod guess;
mod rows;

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
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

pub(crate) use dialect::{BYTE_ORDER_MARK, Dialect};
use guess::Guess;
use rows::{DelimitedRows, DelimitedValue};

/// Files of one schema.
#[derive(Debug)]
pub(crate) struct Delimited {
    files: Vec<Location>,
    dialect: Dialect,
    schema: SchemaRef,
}

impl Delimited {
    /// Samples the beginnings of the files: no more than `bytes_max` of each, where that is given.
    ///
    /// # Errors
    /// When one cannot be read or has malformed rows, or when they have different columns; with `bytes_max`, also when its first line
    /// does not end within them.
    pub(crate) fn open(
        files: &[Location],
        dialect: Dialect,
        bytes_max: Option<u64>,
    ) -> Result<Self, String> {
        let mut names: Vec<String> = Vec::new();
        let mut guesses: Vec<Guess> = Vec::new();
        for (index, path) in files.iter().enumerate() {
            let mut rows = DelimitedRows::open_within(path, dialect, bytes_max)?;
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
            see_sample(&mut rows, &mut guesses)?;
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

/// Shows the guesses the rows of a sample: those that lie whole in the bytes that are read.
fn see_sample(rows: &mut DelimitedRows, guesses: &mut [Guess]) -> Result<(), String> {
    let mut seen = 0;
    while seen < SAMPLE_ROWS || rows.bytes < SAMPLE_BYTES {
        let next = rows.next();
        // The row at the end of the bytes may go on behind them.
        if rows.is_cut() || !next? {
            break;
        }
        seen += 1;
        for (index, guess) in guesses.iter_mut().enumerate() {
            guess.see(rows.value(index)?);
        }
    }
    Ok(())
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

/// Rows that the types of columns are taken from, at least.
const SAMPLE_ROWS: u64 = 20_480;
/// Bytes of them.
const SAMPLE_BYTES: u64 = 16 << 20;
