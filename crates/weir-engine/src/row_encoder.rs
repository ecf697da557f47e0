//! Encoders of rows, made by the embedding program.

use std::fmt;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

/// A file of rows that a [`RowEncoder`] may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowFormat {
    /// Comma-separated values
    Csv(CsvForm),
    /// Tab-separated values
    Tsv,
    /// One JSON array of objects
    Json,
    /// A JSON object a line
    NdJson,
    /// Apache Parquet
    Parquet,
    /// The Arrow IPC file format
    Arrow,
    /// The Arrow IPC stream format
    ArrowStream,
}

impl RowFormat {
    /// The format that the end of a name, or a word after STORED AS, stands for.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "csv" => Self::Csv(CsvForm::default()),
            "tsv" => Self::Tsv,
            "json" => Self::Json,
            "ndjson" | "jsonl" => Self::NdJson,
            "parquet" => Self::Parquet,
            "arrow" | "ipc" => Self::Arrow,
            "arrows" => Self::ArrowStream,
            _ => return None,
        })
    }

    /// The end of the name of a file.
    pub(crate) const fn extension(self) -> &'static str {
        match self {
            Self::Csv(_) => "csv",
            Self::Tsv => "tsv",
            Self::Json => "json",
            Self::NdJson => "ndjson",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::ArrowStream => "arrows",
        }
    }
}

/// What a file of comma-separated values looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CsvForm {
    /// The ASCII character between two values.
    pub delimiter: u8,
    /// Whether the first line has the names of the columns.
    pub has_header: bool,
    /// The ASCII character around values that need quotes.
    pub quote: u8,
    /// Whether all values but NULL stand in quotes.
    pub quotes_all: bool,
    /// The text that stands for NULL. Values that are equal to it stand in quotes.
    pub null: NullText,
}

impl Default for CsvForm {
    fn default() -> Self {
        Self {
            delimiter: b',',
            has_header: true,
            quote: b'"',
            quotes_all: false,
            null: NullText::default(),
        }
    }
}

/// A short text that stands for NULL; by default the empty one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NullText {
    bytes: [u8; NULL_BYTES_MAX],
    len: usize,
}

impl NullText {
    /// The text; `None` where it has more than 32 bytes.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        let mut bytes = [0; NULL_BYTES_MAX];
        let len = text.len();
        bytes.get_mut(..len)?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, len })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

const NULL_BYTES_MAX: usize = 32;

/// The error of an encoder.
pub type EncodeError = Box<dyn std::error::Error + Send + Sync>;

/// Makes the bytes of files out of rows, for `COPY … TO`.
pub trait RowEncoder: fmt::Debug + Send + Sync {
    /// A file of this format.
    ///
    /// # Errors
    /// When the columns have no form in it.
    fn start(
        &self,
        format: RowFormat,
        schema: &SchemaRef,
        out: Box<dyn Write + Send>,
    ) -> Result<Box<dyn RowWriter>, EncodeError>;
}

/// A file of rows at work.
pub trait RowWriter: Send {
    /// Writes the rows of a batch.
    ///
    /// # Errors
    /// When the output refuses the bytes, or a value has no form.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), EncodeError>;

    /// Writes what is held back where it takes more than so many bytes of memory. A format that holds back little does nothing.
    ///
    /// # Errors
    /// As [`Self::write`].
    fn flush_beyond(&mut self, _bytes: usize) -> Result<(), EncodeError> {
        Ok(())
    }

    /// Writes what is still held back.
    ///
    /// # Errors
    /// As [`Self::write`].
    fn finish(self: Box<Self>) -> Result<(), EncodeError>;
}
