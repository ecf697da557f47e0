//! Parquet files, Arrow IPC files and Arrow IPC streams.

use std::io::{self, BufWriter, Write as _};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringBuilder};
use arrow::datatypes::{DataType, Field, IntervalUnit, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use super::column::Column;
use super::pipe::Pipe;
use super::rows::unique_names;
use super::{Encoder, Error, Format, Summary};

/// Writes Parquet with zstd. Types that Parquet lacks (calendar intervals, unions) become text.
pub(super) struct Parquet {
    schema: SchemaRef,
    /// Handed to the writer when there is something to write.
    pipe: Option<Pipe>,
    writer: Option<ArrowWriter<Pipe>>,
}

impl Parquet {
    pub(super) fn new(schema: &Schema, pipe: Pipe) -> Self {
        Self {
            schema: renamed(schema, true),
            pipe: Some(pipe),
            writer: None,
        }
    }

    fn writer(&mut self) -> Result<&mut ArrowWriter<Pipe>, Error> {
        if let Some(pipe) = self.pipe.take() {
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_created_by(concat!("weir ", env!("CARGO_PKG_VERSION")).to_owned())
                .set_max_row_group_bytes(Some(ROW_GROUP_BYTES))
                .build();
            let writer = ArrowWriter::try_new(pipe, Arc::clone(&self.schema), Some(properties));
            self.writer = Some(writer.map_err(parquet_error)?);
        }
        self.writer
            .as_mut()
            .ok_or_else(|| Error::encode(Format::Parquet, "the file could not be started"))
    }
}

impl Encoder for Parquet {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let batch =
            recast(batch, &self.schema).map_err(|error| Error::encode(Format::Parquet, error))?;
        self.writer()?.write(&batch).map_err(parquet_error)
    }

    fn flush_beyond(&mut self, bytes: usize) -> Result<(), Error> {
        match &mut self.writer {
            Some(writer) if writer.memory_size() > bytes => writer.flush().map_err(parquet_error),
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> Result<Summary, Error> {
        self.writer()?.finish().map_err(parquet_error)?;
        Ok(Summary::default())
    }
}

/// Writes the Arrow IPC file format, or the stream format, flushed after every batch.
pub(super) struct Arrow {
    schema: SchemaRef,
    form: ArrowForm,
}

/// The two forms: a file has an index at its end, which a stream does without.
enum ArrowForm {
    /// No batch has been written yet.
    FileToBe(Option<Pipe>),
    StreamToBe(Option<Pipe>),
    File(FileWriter<BufWriter<Pipe>>),
    Stream(StreamWriter<BufWriter<Pipe>>),
}

impl Arrow {
    pub(super) fn file(schema: &Schema, pipe: Pipe) -> Self {
        Self {
            schema: renamed(schema, false),
            form: ArrowForm::FileToBe(Some(pipe)),
        }
    }

    pub(super) fn stream(schema: &Schema, pipe: Pipe) -> Self {
        Self {
            schema: renamed(schema, false),
            form: ArrowForm::StreamToBe(Some(pipe)),
        }
    }

    fn begin(&mut self) -> Result<(), Error> {
        let begun = match &mut self.form {
            ArrowForm::FileToBe(pipe) => pipe.take().map(|pipe| {
                FileWriter::try_new(BufWriter::new(pipe), &self.schema).map(ArrowForm::File)
            }),
            ArrowForm::StreamToBe(pipe) => pipe.take().map(|pipe| {
                StreamWriter::try_new(BufWriter::new(pipe), &self.schema).map(ArrowForm::Stream)
            }),
            ArrowForm::File(_) | ArrowForm::Stream(_) => return Ok(()),
        };
        match begun {
            Some(form) => self.form = form.map_err(arrow_error)?,
            None => return Err(Error::encode(Format::Arrow, "it could not be started")),
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Error> {
        match &mut self.form {
            ArrowForm::File(writer) => writer.get_mut().flush()?,
            ArrowForm::Stream(writer) => writer.get_mut().flush()?,
            ArrowForm::FileToBe(_) | ArrowForm::StreamToBe(_) => {}
        }
        Ok(())
    }
}

impl Encoder for Arrow {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let batch = recast(batch, &self.schema).map_err(arrow_error)?;
        self.begin()?;
        match &mut self.form {
            ArrowForm::File(writer) => writer.write(&batch).map_err(arrow_error)?,
            ArrowForm::Stream(writer) => writer.write(&batch).map_err(arrow_error)?,
            ArrowForm::FileToBe(_) | ArrowForm::StreamToBe(_) => {}
        }
        self.flush()
    }

    fn finish(&mut self) -> Result<Summary, Error> {
        self.begin()?;
        match &mut self.form {
            ArrowForm::File(writer) => writer.finish().map_err(arrow_error)?,
            ArrowForm::Stream(writer) => writer.finish().map_err(arrow_error)?,
            ArrowForm::FileToBe(_) | ArrowForm::StreamToBe(_) => {}
        }
        self.flush()?;
        Ok(Summary::default())
    }
}

/// The schema with a different name for each column; `for_parquet`, types that Parquet lacks become text.
fn renamed(schema: &Schema, for_parquet: bool) -> SchemaRef {
    let fields: Vec<Field> = schema
        .fields()
        .iter()
        .zip(unique_names(schema))
        .map(|(field, name)| {
            let field = field.as_ref().clone().with_name(name);
            if for_parquet && !fits_parquet(field.data_type()) {
                return Field::new(field.name(), DataType::Utf8, true);
            }
            field
        })
        .collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The columns of `batch` under the given schema.
fn recast(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let column = |(array, field): (&ArrayRef, &Arc<Field>)| {
        if array.data_type() == field.data_type() || fits_parquet(array.data_type()) {
            return Ok(Arc::clone(array));
        }
        let column = Column::new(array)?;
        let mut texts = StringBuilder::new();
        let mut text = String::new();
        for row in 0..array.len() {
            text.clear();
            column.push_text(row, &mut text);
            texts.append_option((!column.is_null(row)).then_some(&text));
        }
        Ok(Arc::new(texts.finish()) as ArrayRef)
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column);
    RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns.collect::<Result<_, ArrowError>>()?,
        &RecordBatchOptions::new().with_row_count(Some(batch.num_rows())),
    )
}

/// False for the types for which the Parquet writer has no form, on any level.
fn fits_parquet(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(IntervalUnit::MonthDayNano) | DataType::Union(..) => false,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => fits_parquet(field.data_type()),
        DataType::Struct(fields) => {
            !fields.is_empty() && fields.iter().all(|field| fits_parquet(field.data_type()))
        }
        DataType::Dictionary(_, values) => fits_parquet(values),
        DataType::RunEndEncoded(_, values) => fits_parquet(values.data_type()),
        _ => true,
    }
}

fn parquet_error(error: ParquetError) -> Error {
    let ParquetError::External(source) = error else {
        return Error::encode(Format::Parquet, error);
    };
    match source.downcast::<io::Error>() {
        Ok(source) => Error::Write(*source),
        Err(source) => Error::encode(Format::Parquet, ParquetError::External(source)),
    }
}

fn arrow_error(error: ArrowError) -> Error {
    match error {
        ArrowError::IoError(_, source) => Error::Write(source),
        other => Error::encode(Format::Arrow, other),
    }
}

/// A row group is written when it has grown to this, which bounds what the writer holds.
const ROW_GROUP_BYTES: usize = 64 << 20;
