//! The files of `COPY … TO` are those that `-o` writes.

use std::io::Write;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use weir_engine::{EncodeError, RowEncoder, RowFormat, RowWriter};

use crate::message::chain;
use weir_output::{self as output, Format, OutputOptions, Writer};

/// Writes the formats of `-o`.
#[derive(Debug)]
pub(crate) struct FileEncoder;

impl RowEncoder for FileEncoder {
    fn start(
        &self,
        format: RowFormat,
        schema: &SchemaRef,
        out: Box<dyn Write + Send>,
    ) -> Result<Box<dyn RowWriter>, EncodeError> {
        let format = match format {
            RowFormat::Csv(form) => {
                let form = output::CsvForm {
                    delimiter: form.delimiter,
                    has_header: form.has_header,
                    quote: form.quote,
                    quotes_all: form.quotes_all,
                    null: form.null.as_str().to_owned(),
                };
                return Ok(Box::new(Encoded(Writer::csv(form, schema, out))));
            }
            RowFormat::Tsv => Format::Tsv,
            RowFormat::Json => Format::Json,
            RowFormat::NdJson => Format::Ndjson,
            RowFormat::Parquet => Format::Parquet,
            RowFormat::Arrow => Format::Arrow,
            RowFormat::ArrowStream => Format::Arrows,
            other => return Err(format!("rows cannot be encoded as {other:?}").into()),
        };
        let writer = Writer::new(&OutputOptions::plain(format), Arc::clone(schema), out);
        Ok(Box::new(Encoded(
            writer.map_err(|error| with_causes(&error))?,
        )))
    }
}

struct Encoded(Writer);

impl RowWriter for Encoded {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), EncodeError> {
        // A pipe whose reader has gone takes the rest as it took the beginning.
        self.0
            .write(batch)
            .map(|_| ())
            .map_err(|error| with_causes(&error))
    }

    fn flush_beyond(&mut self, bytes: usize) -> Result<(), EncodeError> {
        self.0
            .flush_beyond(bytes)
            .map_err(|error| with_causes(&error))
    }

    fn finish(self: Box<Self>) -> Result<(), EncodeError> {
        self.0
            .finish()
            .map(|_| ())
            .map_err(|error| with_causes(&error))
    }
}

/// The error with its causes in one text, since only the text of an encoder's error is reported.
fn with_causes(error: &output::Error) -> EncodeError {
    chain(error).into()
}
