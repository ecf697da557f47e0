//! The plan node of aggregates over windows.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{Array, ArrayRef};
use arrow::compute::take;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{
    EquivalenceProperties, LexRequirement, OrderingRequirements, PhysicalExpr,
    PhysicalSortRequirement,
};
use datafusion::physical_expr_common::utils::evaluate_expressions_to_arrays;
use datafusion::physical_plan::aggregates::{AggregateMode, aggregate_expressions, evaluate_many};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt;

use super::assign::{Assigner, Window};
use super::groups::Groups;
use super::pieces::in_pieces;
use super::time_order::in_time_order;
use crate::plan_node::{named_node, one_input};

/// Aggregates by a window and other keys. Where its input is in the order of what the windows cut,
/// groups leave as soon as their window is over, and only open ones are held.
#[derive(Clone, Debug)]
pub(crate) struct WindowAggregate {
    input: Arc<dyn ExecutionPlan>,
    spec: Arc<WindowSpec>,
    /// Windows close before the end.
    streaming: bool,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The computation of a window aggregate.
#[derive(Debug)]
pub(crate) struct WindowSpec {
    pub(crate) window: Window,
    /// The keys with their names; that at `window_index` is the window.
    pub(crate) keys: Vec<(Arc<dyn PhysicalExpr>, String)>,
    pub(crate) window_index: usize,
    pub(crate) aggregates: Vec<Arc<AggregateFunctionExpr>>,
    pub(crate) filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
    pub(crate) schema: SchemaRef,
}

impl WindowSpec {
    /// The type of the window's column.
    fn window_type(&self) -> DataType {
        let field = self.schema.fields().get(self.window_index);
        field.map_or(DataType::Null, |field| field.data_type().clone())
    }

    /// A length as people write it.
    fn described(&self, length: i64) -> String {
        match self.window_type() {
            DataType::Timestamp(_, _) => {
                format!("{:?}", Duration::from_nanos(length.unsigned_abs()))
            }
            _ => length.to_string(),
        }
    }
}

impl WindowAggregate {
    /// The node. With `streaming` the input is in the order of the windows, or will be sorted.
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        spec: Arc<WindowSpec>,
        streaming: bool,
    ) -> Self {
        let emission = match streaming {
            true => EmissionType::Incremental,
            false => EmissionType::Final,
        };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&spec.schema)),
            Partitioning::UnknownPartitioning(1),
            emission,
            input.boundedness(),
        );
        Self {
            input,
            spec,
            streaming,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for WindowAggregate {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (assign, separate) = match kind {
            DisplayFormatType::TreeRender => ("=", "\n"),
            _ => {
                f.write_str("WindowAggregate: ")?;
                ("=", "; ")
            }
        };
        let list = |keys: &[Arc<dyn PhysicalExpr>]| -> String {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            keys.join(", ")
        };
        let long = |length: i64| self.spec.described(length);
        match &self.spec.window {
            Window::Fixed { over, size, slide } => {
                write!(f, "windows of{assign}{over} by {}", long(*size))?;
                if size != slide {
                    write!(f, " every {}", long(*slide))?;
                }
            }
            Window::Session { over, gap, keys } => {
                write!(f, "sessions of{assign}{over} with a gap of {}", long(*gap))?;
                if !keys.is_empty() {
                    write!(f, "{separate}for each{assign}{}", list(keys))?;
                }
            }
            Window::ClosedBy { predicate, keys } => {
                write!(f, "windows closed by{assign}{predicate}")?;
                if !keys.is_empty() {
                    write!(f, "{separate}for each{assign}{}", list(keys))?;
                }
            }
        }
        let keys: Vec<&str> = self
            .spec
            .keys
            .iter()
            .map(|(_, name)| name.as_str())
            .collect();
        write!(f, "{separate}groups by{assign}{}", keys.join(", "))?;
        if !self.spec.aggregates.is_empty() {
            let names: Vec<&str> = self.spec.aggregates.iter().map(|one| one.name()).collect();
            write!(f, "{separate}computes{assign}{}", names.join(", "))?;
        }
        let leave = match self.streaming {
            true => "when their window ends",
            false => "at the end",
        };
        write!(f, "{separate}groups leave{assign}{leave}")
    }
}

impl ExecutionPlan for WindowAggregate {
    named_node!("WindowAggregate");

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let over = self.spec.window.over().filter(|_| self.streaming);
        let requirement = over.and_then(|over| {
            let requirement = PhysicalSortRequirement::from(in_time_order(over));
            LexRequirement::new([requirement]).map(OrderingRequirements::new)
        });
        vec![requirement]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for (key, _) in &self.spec.keys {
            recursion = recursion.visit_sibling(|| f(key))?;
        }
        for aggregate in &self.spec.aggregates {
            for argument in aggregate.expressions() {
                recursion = recursion.visit_sibling(|| f(&argument))?;
            }
        }
        for filter in self.spec.filters.iter().flatten() {
            recursion = recursion.visit_sibling(|| f(filter))?;
        }
        Ok(recursion)
    }

    one_input!(|node, input| Self::new(input, Arc::clone(&node.spec), node.streaming));

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let work = AggregateWork::new(self, partition, &context)?;
        let rows_max = context.session_config().batch_size();
        let schema = Arc::clone(&self.spec.schema);
        let batches = futures::stream::try_unfold(Some((input, work)), |state| async move {
            let Some((mut input, mut work)) = state else {
                return Ok::<_, DataFusionError>(None);
            };
            loop {
                match input.next().await {
                    Some(batch) => {
                        if let Some(closed) = work.add(&batch?)? {
                            return Ok(Some((closed, Some((input, work)))));
                        }
                    }
                    None => return Ok(work.finish()?.map(|rest| (rest, None))),
                }
            }
        });
        let batches = in_pieces(batches, rows_max);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// One execution.
struct AggregateWork {
    spec: Arc<WindowSpec>,
    arguments: Vec<Vec<Arc<dyn PhysicalExpr>>>,
    assigner: Assigner,
    groups: Groups,
    streaming: bool,
    reservation: MemoryReservation,
    baseline: BaselineMetrics,
    /// The most groups that were open at once.
    open_groups_max: Count,
}

impl AggregateWork {
    fn new(node: &WindowAggregate, partition: usize, context: &TaskContext) -> Result<Self> {
        let spec = Arc::clone(&node.spec);
        let kinds = spec.schema.fields().iter().take(spec.keys.len());
        let kinds: Vec<DataType> = kinds.map(|field| field.data_type().clone()).collect();
        Ok(Self {
            arguments: aggregate_expressions(&spec.aggregates, &AggregateMode::Single, 0)?,
            assigner: Assigner::new(&spec.window, spec.window_type(), &node.input.schema())?,
            groups: Groups::new(&kinds, spec.aggregates.clone())?,
            spec,
            streaming: node.streaming,
            reservation: MemoryConsumer::new("WindowAggregate").register(context.memory_pool()),
            baseline: BaselineMetrics::new(&node.metrics, partition),
            open_groups_max: MetricBuilder::new(&node.metrics)
                .counter("open_groups_max", partition),
        })
    }

    /// Adds rows; returns the groups that have closed.
    fn add(&mut self, batch: &RecordBatch) -> Result<Option<RecordBatch>> {
        let elapsed = self.baseline.elapsed_compute().clone();
        let _timer = elapsed.timer();
        if batch.num_rows() == 0 {
            return Ok(None);
        }
        let assigned = self.assigner.assign(batch)?;
        let pick = |column: ArrayRef| -> Result<ArrayRef> {
            match &assigned.rows {
                Some(rows) => Ok(take(&column, rows, None)?),
                None => Ok(column),
            }
        };
        let mut keys = Vec::with_capacity(self.spec.keys.len());
        for (index, (key, _)) in self.spec.keys.iter().enumerate() {
            keys.push(if index == self.spec.window_index {
                Arc::clone(&assigned.windows)
            } else {
                pick(key.evaluate(batch)?.into_array(batch.num_rows())?)?
            });
        }
        let mut arguments = Vec::with_capacity(self.arguments.len());
        for columns in evaluate_many(&self.arguments, batch)? {
            arguments.push(columns.into_iter().map(pick).collect::<Result<Vec<_>>>()?);
        }
        let mut filters = Vec::with_capacity(self.spec.filters.len());
        for filter in &self.spec.filters {
            filters.push(match filter {
                None => None,
                Some(filter) => {
                    let values = evaluate_expressions_to_arrays([filter], batch)?;
                    values.into_iter().next().map(pick).transpose()?
                }
            });
        }
        self.groups
            .add(&keys, &assigned.closes, &arguments, &filters)?;
        let most = self
            .groups
            .len()
            .saturating_sub(self.open_groups_max.value());
        self.open_groups_max.add(most);
        let closed = match self.streaming {
            true => {
                self.assigner.forget(assigned.now)?;
                self.groups.take_closed(assigned.now)?
            }
            false => None,
        };
        let held = self.groups.size().saturating_add(self.assigner.size());
        self.reservation.try_resize(held)?;
        self.output(closed)
    }

    /// Returns the groups that are open at the end.
    fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let rest = self.groups.take_all()?;
        self.output(rest)
    }

    fn output(&self, columns: Option<Vec<ArrayRef>>) -> Result<Option<RecordBatch>> {
        let Some(columns) = columns else {
            return Ok(None);
        };
        let rows = columns.first().map(Array::len);
        let options = RecordBatchOptions::new().with_row_count(rows);
        let schema = Arc::clone(&self.spec.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        Ok(Some(batch.record_output(&self.baseline)))
    }
}
