//! Functions whose values depend on the order of rows, and have no ORDER BY: `row_number() OVER ()`, `lag(x) OVER ()`, `array_agg(x)`.
//!
//! The order is that of the files, and within them that of the records. Files that are read side by side come in another one each time, so
//! that those below such a function are read one after the other: captures, files of texts, and those that DataFusion reads, of which it
//! would read parts of one file side by side, too.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{
    Transformed, TransformedResult, TreeNode as _, TreeNodeRecursion,
};
use datafusion::config::ConfigOptions;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::window::PlainAggregateWindowExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use futures::{StreamExt as _, stream};

use crate::plan_node::named_rule;
use crate::scan::CaptureScan;

/// Reads files one after the other below functions that depend on the order of rows.
#[derive(Debug)]
pub(crate) struct ReadInFileOrder {
    /// Also below aggregates: not where sources have no end, behind which there would be no others.
    pub(crate) aggregates: bool,
}

impl PhysicalOptimizerRule for ReadInFileOrder {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            let aggregate = node.downcast_ref::<AggregateExec>();
            let is_aggregate = self.aggregates && aggregate.is_some_and(aggregate_hangs_on_order);
            if !is_aggregate && !windows_hang_on_order(&node) {
                return Ok(Transformed::no(node));
            }
            let node = in_sequence(node)?;
            Ok(Transformed::new(node, true, TreeNodeRecursion::Jump))
        })
        .data()
    }

    named_rule!("read_in_file_order");
}

/// The plan with files that are read one after the other.
pub(crate) fn in_sequence(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        if let Some(scan) = plan.downcast_ref::<CaptureScan>() {
            return Ok(match scan.in_sequence() {
                Some(scan) => Transformed::yes(Arc::new(scan) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            });
        }
        if let Some(scan) = plan.downcast_ref::<StreamingTableExec>() {
            return Ok(match streams_in_sequence(scan)? {
                Some(scan) => Transformed::yes(Arc::new(scan) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(plan),
            });
        }
        let source = plan.downcast_ref::<DataSourceExec>();
        let config = source.and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        Ok(match config.map(files_in_sequence) {
            Some(config) => {
                let scan = DataSourceExec::from_data_source(config);
                Transformed::yes(scan as Arc<dyn ExecutionPlan>)
            }
            None => Transformed::no(plan),
        })
    })
    .data()
}

/// Files that DataFusion reads, in one group. A scan that says how its rows are divided is not divided further.
fn files_in_sequence(config: &FileScanConfig) -> FileScanConfig {
    let groups = config.file_groups.iter();
    let files = groups.flat_map(FileGroup::iter).cloned().collect();
    FileScanConfigBuilder::from(config.clone())
        .with_file_groups(vec![FileGroup::new(files)])
        .with_output_partitioning(Some(Partitioning::UnknownPartitioning(1)))
        .with_preserve_order(true)
        .build()
}

/// Files whose rows the engine makes itself; `None` where there is one, or they have no end.
fn streams_in_sequence(scan: &StreamingTableExec) -> Result<Option<StreamingTableExec>> {
    let parts = scan.partitions();
    if parts.len() < 2 || scan.is_infinite() {
        return Ok(None);
    }
    let schema = scan.partition_schema();
    let part: Arc<dyn PartitionStream> = Arc::new(InSequence {
        schema: Arc::clone(schema),
        parts: parts.clone(),
    });
    let projection = scan.projection().as_ref().map(|columns| columns.to_vec());
    StreamingTableExec::try_new(
        Arc::clone(schema),
        vec![part],
        projection.as_ref(),
        [],
        false,
        scan.limit(),
    )
    .map(Some)
}

/// Several streams as one; each is begun when the one before it has ended.
#[derive(Debug)]
struct InSequence {
    schema: SchemaRef,
    parts: Vec<Arc<dyn PartitionStream>>,
}

impl PartitionStream for InSequence {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let parts = stream::iter(self.parts.clone());
        let batches = parts.flat_map(move |part| part.execute(Arc::clone(&context)));
        Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches,
        ))
    }
}

/// Whether a value of a window function depends on the order of rows: it has no ORDER BY, and is not an aggregate of all rows.
pub(crate) fn windows_hang_on_order(node: &Arc<dyn ExecutionPlan>) -> bool {
    let bounded = node.downcast_ref::<BoundedWindowAggExec>();
    let functions = match (bounded, node.downcast_ref::<WindowAggExec>()) {
        (Some(window), _) => window.window_expr(),
        (None, Some(window)) => window.window_expr(),
        (None, None) => return false,
    };
    functions.iter().any(|function| {
        let frame = function.get_window_frame();
        let is_of_all = frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded();
        let aggregate = function.as_any().downcast_ref::<PlainAggregateWindowExpr>();
        let is_aggregate =
            aggregate.is_some_and(|of| !BY_ORDER.contains(&of.get_aggregate_expr().fun().name()));
        function.order_by().is_empty() && !(is_of_all && is_aggregate)
    })
}

/// Whether a value of an aggregate depends on the order of rows. That of distinct values has none.
fn aggregate_hangs_on_order(aggregate: &AggregateExec) -> bool {
    aggregate.aggr_expr().iter().any(|function| {
        let is_ordered = function.is_distinct() || !function.order_bys().is_empty();
        !is_ordered && BY_ORDER.contains(&function.fun().name())
    })
}

/// Aggregates whose values depend on the order of rows.
pub(crate) const BY_ORDER: [&str; 5] = [
    "first_value",
    "last_value",
    "nth_value",
    "array_agg",
    "string_agg",
];
