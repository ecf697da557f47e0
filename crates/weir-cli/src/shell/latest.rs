//! The rows of the last answer, which are the table `_`.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use weir_engine::Engine;

use crate::failure::Failure;
use weir_output::unique_names;

/// Rows as they come.
pub(super) struct Latest {
    schema: SchemaRef,
    rows: Vec<RecordBatch>,
    bytes: usize,
    is_too_large: bool,
}

impl Latest {
    /// None yet, of an answer with these columns.
    pub(super) fn new(schema: &Schema) -> Self {
        let names = unique_names(schema);
        let fields = schema.fields().iter().zip(names).map(|(field, name)| {
            // Any column may have a NULL: the rows are not known yet.
            Field::new(name, field.data_type().clone(), true)
                .with_metadata(field.metadata().clone())
        });
        Self {
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            rows: Vec::new(),
            bytes: 0,
            is_too_large: false,
        }
    }

    /// Adds rows.
    pub(super) fn push(&mut self, batch: &RecordBatch) {
        self.bytes = self.bytes.saturating_add(batch.get_array_memory_size());
        if self.is_too_large || self.bytes > BYTES_MAX {
            self.is_too_large = true;
            self.rows.clear();
            return;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = batch.columns().to_vec();
        let renamed =
            RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        match renamed {
            Ok(batch) => self.rows.push(batch),
            // Types that are not those that were announced: it would be no table.
            Err(_) => self.is_too_large = true,
        }
    }

    /// Makes them the table; gives a note when they are not all there.
    ///
    /// # Errors
    /// When the engine does not take them.
    pub(super) fn hold(self, engine: &Engine) -> Result<Option<String>, Failure> {
        if self.is_too_large {
            let most = BYTES_MAX >> 20;
            return Ok(Some(format!(
                "{NAME} still has the previous answer: this one takes more than {most} MiB"
            )));
        }
        engine.register(NAME, self.schema, self.rows)?;
        Ok(None)
    }
}

/// The name of the table.
pub(super) const NAME: &str = "_";

/// Bytes of rows that are held.
const BYTES_MAX: usize = 256 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{ArrayRef, Int32Array};
    use arrow::datatypes::DataType;

    #[test]
    fn columns_of_one_name_become_columns_of_a_table() {
        let fields = ["n", "n"].map(|name| Field::new(name, DataType::Int32, false));
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let column: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let columns = vec![Arc::clone(&column), column];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        let mut latest = Latest::new(&schema);
        latest.push(&batch);
        let names: Vec<&str> = latest.rows[0]
            .schema_ref()
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        assert_eq!(names, ["n", "n_2"]);
        let engine = Engine::new(&weir_engine::Options::default()).unwrap();
        assert_eq!(latest.hold(&engine).unwrap(), None);
    }
}
