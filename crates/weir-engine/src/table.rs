//! Captures as tables of DataFusion.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use weir_tables::{Predicate, Source, Table};

use crate::ledger::Ledger;
use crate::pushdown::predicate;
use crate::scan::{CaptureScan, Reading};

/// A table over captures, or over files of a record layout.
#[derive(Debug)]
pub(crate) struct CaptureTable {
    table: Table,
    reading: Reading,
    ledger: Arc<Ledger>,
}

impl CaptureTable {
    pub(crate) fn new(table: Table, reading: Reading, ledger: Arc<Ledger>) -> Self {
        Self {
            table,
            reading,
            ledger,
        }
    }
}

#[async_trait]
impl TableProvider for CaptureTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.table.schema())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(filters
            .iter()
            .map(|filter| match predicate(filter, &self.table) {
                Some(_) => TableProviderFilterPushDown::Exact,
                None => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.table.columns().len()).collect(),
        };
        let mut predicates: Vec<Predicate> = filters
            .iter()
            .filter_map(|filter| predicate(filter, &self.table))
            .collect();
        let predicate = match predicates.len() {
            0 | 1 => predicates.pop(),
            _ => Some(Predicate::And(predicates)),
        };
        let bytes = self.reading.sources.iter().filter_map(Source::len).sum();
        self.ledger.plan_bytes(bytes);
        // The first rows are those of the first file, not those that come first: files are read
        // side by side only where all of them are read.
        let partitions_max = match limit {
            Some(_) => 1,
            None => state.config().target_partitions(),
        };
        Ok(Arc::new(CaptureScan::new(
            self.table.clone(),
            projection,
            predicate,
            self.reading.clone(),
            limit,
            partitions_max,
        )))
    }
}
