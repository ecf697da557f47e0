//! Rows that have been answered, as a table of the session.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::TableReference;
use datafusion::datasource::MemTable;

use crate::engine::Engine;
use crate::error::{Error, ErrorKind};

impl Engine {
    /// Makes rows the table of this name, in the place of what had the name.
    ///
    /// # Errors
    /// When a batch has other columns than the schema.
    pub fn hold(&self, name: &str, schema: SchemaRef, rows: Vec<RecordBatch>) -> Result<(), Error> {
        let failed = |error| Error::from_datafusion(ErrorKind::Plan, error, &[]);
        let table = MemTable::try_new(schema, vec![rows]).map_err(failed)?;
        let name = TableReference::bare(name);
        let context = self.context();
        context
            .deregister_table(name.clone())
            .and_then(|_| context.register_table(name, Arc::new(table)))
            .map_err(failed)?;
        Ok(())
    }
}
