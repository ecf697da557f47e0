//! `SHOW FUNCTIONS`: the list of functions as a table.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use weir_functions::list::{self, FunctionEntry};
use weir_functions::{Error, ErrorKind};
use weir_sql::Statement;

/// The query that `SHOW FUNCTIONS [LIKE 'pattern']` is.
pub(crate) fn query(context: &SessionContext, pattern: Option<&str>) -> Result<Statement, Error> {
    let entries = list::all(&context.state());
    let column = |get: fn(&FunctionEntry) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(entries.iter().map(get)))
    };
    let failed = |error| Error::from_datafusion(ErrorKind::Plan, error, &[]);
    let batch = RecordBatch::try_from_iter([
        ("function", column(|entry| &entry.name)),
        ("kind", column(|entry| entry.kind)),
        ("example", column(|entry| &entry.example)),
        ("meaning", column(|entry| &entry.meaning)),
    ])
    .map_err(|error| failed(error.into()))?;
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]]).map_err(failed)?;
    context
        .deregister_table(FUNCTIONS)
        .and_then(|_| context.register_table(FUNCTIONS, Arc::new(table)))
        .map_err(failed)?;
    let condition = match pattern {
        None => String::new(),
        Some(pattern) => format!(" WHERE function ILIKE {}", weir_sql::quote_literal(pattern)),
    };
    let sql = format!("SELECT * FROM {FUNCTIONS}{condition} ORDER BY function, kind");
    let mut statements = Statement::parse(&sql)?;
    statements
        .pop()
        .ok_or_else(|| Error::new(ErrorKind::Plan, "SHOW FUNCTIONS is not a query"))
}

/// The table of functions.
const FUNCTIONS: &str = "weir_functions";
