//! Formats that write one row after the other without any state.

use std::io::Write as _;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};
use arrow::error::ArrowError;

use super::column::Column;
use super::pipe::Pipe;
use super::text::push_json_string;
use super::{Encoder, Error, Format, Summary};

/// A format that writes row by row.
pub(super) trait RowFormat: Send {
    /// The name for error messages.
    fn format(&self) -> Format;
    /// Appends what stands before the first row.
    fn push_head(&mut self, out: &mut String);
    /// Appends a row.
    fn push_row(&mut self, columns: &[Column<'_>], row: usize, out: &mut String);
    /// Appends what stands after the last row.
    fn push_tail(&mut self, out: &mut String);
}

/// Writes a [`RowFormat`], flushed after every batch so that a live query shows its rows at once.
pub(super) struct Rows<F> {
    format: F,
    pipe: Pipe,
    buffer: String,
    begun: bool,
}

impl<F: RowFormat> Rows<F> {
    pub(super) fn new(format: F, pipe: Pipe) -> Self {
        Self {
            format,
            pipe,
            buffer: String::new(),
            begun: false,
        }
    }

    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.format.push_head(&mut self.buffer);
        }
    }

    fn drain(&mut self) -> Result<(), Error> {
        let result = self.pipe.write_all(self.buffer.as_bytes());
        self.buffer.clear();
        Ok(result?)
    }
}

impl<F: RowFormat> Encoder for Rows<F> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        self.begin();
        let columns = columns(batch).map_err(|error| Error::encode(self.format.format(), error))?;
        for row in 0..batch.num_rows() {
            self.format.push_row(&columns, row, &mut self.buffer);
            if self.buffer.len() >= BUFFER_BYTES {
                self.drain()?;
            }
        }
        self.drain()?;
        Ok(self.pipe.flush()?)
    }

    fn finish(&mut self) -> Result<Summary, Error> {
        self.begin();
        self.format.push_tail(&mut self.buffer);
        self.drain()?;
        self.pipe.flush()?;
        Ok(Summary::default())
    }
}

/// The columns of a batch.
pub(super) fn columns(batch: &RecordBatch) -> Result<Vec<Column<'_>>, ArrowError> {
    let schema = batch.schema_ref();
    let columns = batch.columns().iter().zip(schema.fields());
    columns
        .map(|(array, field)| Ok(Column::new(array.as_ref())?.with_field(field)))
        .collect()
}

/// JSON objects, in an array or one a line.
pub(super) struct Json {
    /// The text before each value: the brace or comma, the quoted name and the colon.
    keys: Vec<String>,
    array: bool,
    first: bool,
}

impl Json {
    /// One array of all rows, a row a line.
    pub(super) fn array(schema: &Schema) -> Self {
        Self::new(schema, true)
    }

    /// One object a line.
    pub(super) fn lines(schema: &Schema) -> Self {
        Self::new(schema, false)
    }

    fn new(schema: &Schema, array: bool) -> Self {
        let keys = unique_names(schema)
            .into_iter()
            .enumerate()
            .map(|(at, name)| {
                let mut key = String::from(if at == 0 { "{" } else { "," });
                push_json_string(&mut key, &name);
                key.push(':');
                key
            });
        Self {
            keys: keys.collect(),
            array,
            first: true,
        }
    }
}

impl RowFormat for Json {
    fn format(&self) -> Format {
        match self.array {
            true => Format::Json,
            false => Format::Ndjson,
        }
    }

    fn push_head(&mut self, out: &mut String) {
        if self.array {
            out.push('[');
        }
    }

    fn push_row(&mut self, columns: &[Column<'_>], row: usize, out: &mut String) {
        if self.array {
            out.push_str(if self.first { "\n" } else { ",\n" });
            self.first = false;
        }
        for (key, column) in self.keys.iter().zip(columns) {
            out.push_str(key);
            column.push_json(row, out);
        }
        out.push_str(if self.keys.is_empty() { "{}" } else { "}" });
        if !self.array {
            out.push('\n');
        }
    }

    fn push_tail(&mut self, out: &mut String) {
        if self.array {
            out.push_str(if self.first { "]\n" } else { "\n]\n" });
        }
    }
}

/// Column names, where a name that came before gets `_2`, `_3`… so that no object or file holds
/// one twice.
pub fn unique_names(schema: &Schema) -> Vec<String> {
    let mut taken: std::collections::HashSet<String> = schema
        .fields()
        .iter()
        .map(|field| field.name().clone())
        .collect();
    let mut seen = std::collections::HashSet::new();
    let unique = |field: &std::sync::Arc<Field>| {
        let name = field.name();
        if seen.insert(name.clone()) {
            return name.clone();
        }
        let mut number = 2_u64;
        loop {
            let candidate = format!("{name}_{number}");
            if taken.insert(candidate.clone()) {
                return candidate;
            }
            number = number.saturating_add(1);
        }
    };
    schema.fields().iter().map(unique).collect()
}

/// Text is written in pieces of about this size.
const BUFFER_BYTES: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::DataType;

    #[test]
    fn a_name_that_comes_twice_gets_a_number_that_is_free() {
        let fields: Vec<_> = ["x", "x", "x_2", "x", "y"]
            .map(|name| Field::new(name, DataType::Null, true))
            .into();
        assert_eq!(
            unique_names(&Schema::new(fields)),
            ["x", "x_3", "x_2", "x_4", "y"]
        );
    }
}
