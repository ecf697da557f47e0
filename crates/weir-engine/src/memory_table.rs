//! Tables of rows in memory, which a program brings along.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::TableReference;
use datafusion::datasource::MemTable;
use weir_functions::{Error, ErrorKind};

use crate::engine::Engine;

impl Engine {
    /// Makes rows a table that statements name in FROM, in the place of one of the same name.
    ///
    /// # Errors
    /// When a batch has other columns than the schema.
    pub fn register(
        &self,
        name: &str,
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<(), Error> {
        let failed = |error| Error::from_datafusion(ErrorKind::Plan, error, &[]);
        let table = MemTable::try_new(schema, vec![batches]).map_err(failed)?;
        self.deregister(name)?;
        let registered = self
            .context()
            .register_table(table_name(name), Arc::new(table));
        registered.map(|_| ()).map_err(failed)
    }

    /// Removes a table that was registered; false when there was none.
    ///
    /// # Errors
    /// When the session's catalog fails.
    pub fn deregister(&self, name: &str) -> Result<bool, Error> {
        let known = self.context().deregister_table(table_name(name));
        known
            .map(|table| table.is_some())
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))
    }
}

/// Names are found in lower case, as SQL finds them when they have no quotes.
fn table_name(name: &str) -> TableReference {
    TableReference::bare(name.to_ascii_lowercase())
}
