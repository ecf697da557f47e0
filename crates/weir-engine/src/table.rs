//! Captures as tables of DataFusion.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{internal_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use weir_tables::{Origin, Predicate, Table};

use crate::pushdown::predicate;
use crate::scan::{CaptureScan, Reading, TIME};
use crate::window::TimeOrder;

/// A table over captures, or over files of a record layout.
#[derive(Debug)]
pub(crate) struct CaptureTable {
    table: Table,
    reading: Reading,
}

impl CaptureTable {
    pub(crate) fn new(table: Table, reading: Reading) -> Self {
        Self { table, reading }
    }

    /// The same table with these columns over repeated headers, as far as it has their fields.
    pub(crate) fn with_headers(&self, headers: &HashSet<String>) -> Self {
        let mut names: Vec<&str> = headers.iter().map(String::as_str).collect();
        names.sort_unstable();
        Self {
            table: self.table.with_header_columns(names.into_iter()),
            reading: self.reading.clone(),
        }
    }

    /// Whether the column of a name has values of a record layout, which may be any floats. Those that weir computes are not `-0.0`.
    pub(crate) fn is_of_layout(&self, name: &str) -> bool {
        let mut columns = self.table.columns().iter();
        columns.any(|column| *column.name == *name && matches!(column.origin, Origin::Layout(_)))
    }

    /// The same table with only the columns that have one of these names, in lower case, and those that are needed without being
    /// named.
    pub(crate) fn narrowed(&self, names: &HashSet<String>) -> Self {
        let is_named = |name: &str| {
            names.contains(name) || name == TIME || names.contains(&name.to_ascii_lowercase())
        };
        Self {
            table: self.table.with_columns(|column| is_named(&column.name)),
            reading: self.reading.clone(),
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
        let partitions_max = state.config().target_partitions();
        self.plan(projection, filters, limit, partitions_max)
    }
}

impl CaptureTable {
    /// Reads the columns at `projection` of the rows that pass all filters.
    pub(crate) fn plan(
        &self,
        projection: Vec<usize>,
        filters: &[Expr],
        limit: Option<usize>,
        partitions_max: usize,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut predicates: Vec<Predicate> = filters
            .iter()
            .filter_map(|filter| predicate(filter, &self.table))
            .collect();
        let predicate = match predicates.len() {
            0 | 1 => predicates.pop(),
            _ => Some(Predicate::And(predicates)),
        };
        if let Some(predicate) = &predicate {
            self.read_messages(predicate)?;
        }
        // The first rows are those of the first file, and not those that are read first: files are read concurrently only where all
        // of them are read.
        let partitions_max = match limit {
            Some(_) => 1,
            None => partitions_max,
        };
        let scan = |projection: Vec<usize>, limit| {
            let (table, reading) = (self.table.clone(), self.reading.clone());
            CaptureScan::new(table, projection, predicate, reading, limit, partitions_max)
                .with_filters(filters)
        };
        let time = self.table.schema().index_of(TIME).ok();
        let lateness = self.reading.lateness.filter(|_| !self.reading.sorted);
        Ok(match lateness.zip(time) {
            Some((lateness, time)) => in_time_order(projection, time, lateness, |projection| {
                scan(projection, None)
            })?,
            None => Arc::new(scan(projection, limit)),
        })
    }

    /// Lets display filters read the messages that they ask for, ahead of the packets.
    fn read_messages(&self, predicate: &Predicate) -> Result<()> {
        let sources = &self.reading.sources;
        let is_read_once = sources
            .iter()
            .any(|source| source.is_stdin() || source.is_growing());
        let mut refused = None;
        predicate.visit_filters(&mut |filter| {
            if filter.has_messages() && is_read_once {
                refused = Some(filter.to_string());
            }
            filter.read_messages_of(sources, &self.reading.decode);
        });
        match refused {
            None => Ok(()),
            Some(filter) => plan_err!(
                "{filter} needs fields of messages, which are read before the packets: this works for a file, \
                 and not for a pipe or an interface, which is read only once"
            ),
        }
    }
}

/// A scan whose records come in the order of time, whether the statement reads the times or not.
fn in_time_order(
    projection: Vec<usize>,
    time: usize,
    lateness: Duration,
    scan: impl FnOnce(Vec<usize>) -> CaptureScan,
) -> Result<Arc<dyn ExecutionPlan>> {
    let lateness_ns = i64::try_from(lateness.as_nanos()).unwrap_or(i64::MAX);
    let wanted = projection.len();
    let mut with_time = projection;
    if !with_time.contains(&time) {
        with_time.push(time);
    }
    let is_wanted = with_time.len() == wanted;
    let scan = scan(with_time);
    let Some(time) = scan.time_column() else {
        return internal_err!("a scan lacks the time column that it reads");
    };
    let ordered = TimeOrder::new(Arc::new(scan), time, lateness_ns);
    if is_wanted {
        return Ok(Arc::new(ordered));
    }
    let schema = ordered.schema();
    let columns = schema.fields().iter().enumerate().take(wanted);
    let columns = columns.map(|(index, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), index));
        (column, field.name().clone())
    });
    let columns: Vec<_> = columns.collect();
    Ok(Arc::new(ProjectionExec::try_new(
        columns,
        Arc::new(ordered),
    )?))
}
