//! The plan node of a join that forgets.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, new_null_array};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinSide, JoinType, NullEquality, internal_err};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::{
    EquivalenceProperties, LexRequirement, OrderingRequirements, PhysicalExpr,
    PhysicalSortRequirement,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, SendableRecordBatchStream,
};
use futures::StreamExt;

use super::bounds::Bounds;
use super::place;
use super::side::BufferedSide;
use crate::plan_node::named_node;
use crate::window::time_order::in_time_order;

/// Joins two inputs in the order of time on keys and a range of times. It reads the side that is
/// behind, and forgets rows that the other side has passed.
#[derive(Debug)]
pub(crate) struct IntervalJoin {
    inputs: [Arc<dyn ExecutionPlan>; 2],
    spec: Arc<Match>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// The condition of a join.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) on: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
    /// The whole condition; the bounds follow from it.
    pub(crate) filter: JoinFilter,
    pub(crate) times: [Arc<dyn PhysicalExpr>; 2],
    pub(crate) bounds: Bounds,
    pub(crate) join_type: JoinType,
    pub(crate) null_equality: NullEquality,
    pub(crate) schema: SchemaRef,
}

impl IntervalJoin {
    pub(crate) fn new(
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
        spec: Arc<Match>,
    ) -> Self {
        let unbounded = [&left, &right]
            .into_iter()
            .find(|input| input.boundedness().is_unbounded());
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&spec.schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            unbounded.map_or(Boundedness::Bounded, ExecutionPlanProperties::boundedness),
        );
        Self {
            inputs: [left, right],
            spec,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for IntervalJoin {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separate = match kind {
            DisplayFormatType::TreeRender => "\n",
            _ => {
                f.write_str("IntervalJoin: ")?;
                "; "
            }
        };
        let spec = &self.spec;
        write!(f, "type={}", spec.join_type)?;
        let on: Vec<String> = spec
            .on
            .iter()
            .map(|(left, right)| format!("{left} = {right}"))
            .collect();
        write!(f, "{separate}on={}", on.join(", "))?;
        let [left, right] = &spec.times;
        let (low, high) = (Apart(spec.bounds.low), Apart(spec.bounds.high));
        write!(
            f,
            "{separate}keeps={right} from {low} to {high} after {left}"
        )
    }
}

/// A difference of times.
struct Apart(i64);

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{:?}", Duration::from_nanos(self.0.unsigned_abs()))
    }
}

impl ExecutionPlan for IntervalJoin {
    named_node!("IntervalJoin");

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition; 2])
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        let times = self.spec.times.iter();
        times
            .map(|time| {
                let requirement = PhysicalSortRequirement::from(in_time_order(time));
                LexRequirement::new([requirement]).map(OrderingRequirements::new)
            })
            .collect()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let mut recursion = TreeNodeRecursion::Continue;
        for (left, right) in &self.spec.on {
            recursion = recursion.visit_sibling(|| f(left))?;
            recursion = recursion.visit_sibling(|| f(right))?;
        }
        recursion.visit_sibling(|| f(self.spec.filter.expression()))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match <[_; 2]>::try_from(children) {
            Ok([left, right]) => Ok(Arc::new(Self::new(left, right, Arc::clone(&self.spec)))),
            Err(_) => internal_err!("a join has two inputs"),
        }
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let work = JoinWork::new(self, partition, &context)?;
        let batches = futures::stream::try_unfold(work, |mut work| async move {
            Ok(work.next().await?.map(|batch| (batch, work)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            batches,
        )))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// One execution.
struct JoinWork {
    spec: Arc<Match>,
    inputs: [Option<SendableRecordBatchStream>; 2],
    sides: [BufferedSide; 2],
    /// The rows that have come and were not yet compared with the other side.
    probing: Option<Probe>,
    rows_max: usize,
    reservation: MemoryReservation,
    baseline: BaselineMetrics,
    /// The most rows that were held at once.
    held_rows_max: Count,
}

/// Rows of one side, from one number up to another.
#[derive(Clone, Copy)]
struct Probe {
    side: usize,
    next: u64,
    end: u64,
}

impl JoinWork {
    fn new(node: &IntervalJoin, partition: usize, context: &Arc<TaskContext>) -> Result<Self> {
        let spec = Arc::clone(&node.spec);
        let [left, right] = &node.inputs;
        let [left_time, right_time] = &spec.times;
        let (left_on, right_on) = spec.on.iter().cloned().unzip();
        let nulls = spec.null_equality;
        let sides = [
            BufferedSide::new(&left.schema(), Arc::clone(left_time), left_on, nulls)?,
            BufferedSide::new(&right.schema(), Arc::clone(right_time), right_on, nulls)?,
        ];
        Ok(Self {
            inputs: [
                Some(left.execute(partition, Arc::clone(context))?),
                Some(right.execute(partition, Arc::clone(context))?),
            ],
            sides,
            spec,
            probing: None,
            rows_max: context.session_config().batch_size().max(1),
            reservation: MemoryConsumer::new("IntervalJoin").register(context.memory_pool()),
            baseline: BaselineMetrics::new(&node.metrics, partition),
            held_rows_max: MetricBuilder::new(&node.metrics).counter("held_rows_max", partition),
        })
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let elapsed = self.baseline.elapsed_compute().clone();
            let timer = elapsed.timer();
            let found = match self.probing {
                Some(probe) => self.probe(probe)?,
                None => self.let_go()?,
            };
            drop(timer);
            match found {
                Some(batch) if batch.num_rows() > 0 => {
                    return Ok(Some(batch.record_output(&self.baseline)));
                }
                Some(_) => continue,
                None => {}
            }
            if !self.read().await? {
                return Ok(None);
            }
        }
    }

    /// Reads more of the side that is behind; false at the end of both.
    async fn read(&mut self) -> Result<bool> {
        let [left, right] = &self.sides;
        let left_is_behind = left.frontier <= right.frontier;
        let order = if left_is_behind { [0, 1] } else { [1, 0] };
        let open = |place: &usize| matches!(self.inputs.get(*place), Some(Some(_)));
        let Some(side) = order.into_iter().find(open) else {
            return Ok(false);
        };
        let (Some(Some(input)), Some(rows)) = (self.inputs.get_mut(side), self.sides.get_mut(side))
        else {
            return internal_err!("a join has two sides");
        };
        match input.next().await {
            Some(batch) => {
                let batch = batch?;
                let end = batch.num_rows() as u64;
                let next = rows.add(batch)?;
                let end = next.saturating_add(end);
                self.probing = Some(Probe { side, next, end });
            }
            None => {
                rows.frontier = i64::MAX;
                if let Some(input) = self.inputs.get_mut(side) {
                    *input = None;
                }
            }
        }
        let [left, right] = &self.sides;
        self.reservation
            .try_resize(left.bytes().saturating_add(right.bytes()))?;
        let held = usize::try_from(left.len().saturating_add(right.len())).unwrap_or(usize::MAX);
        let most = held.saturating_sub(self.held_rows_max.value());
        self.held_rows_max.add(most);
        Ok(true)
    }

    /// Compares rows that have come with those that the other side holds; an empty batch when there
    /// is more to compare.
    fn probe(&mut self, mut probe: Probe) -> Result<Option<RecordBatch>> {
        let [left, right] = &self.sides;
        let Bounds { low, high, .. } = self.spec.bounds;
        let (mut lefts, mut rights) = (Vec::new(), Vec::new());
        while probe.next < probe.end && lefts.len() < self.rows_max {
            let number = probe.next;
            probe.next = number.saturating_add(1);
            if probe.side == place(JoinSide::Left) {
                let Some((key, time)) = left.row(number) else {
                    continue;
                };
                let (low, high) = (time.saturating_add(low), time.saturating_add(high));
                rights.extend(right.matching(key, low, high));
                lefts.resize(rights.len(), number);
            } else {
                let Some((key, time)) = right.row(number) else {
                    continue;
                };
                let (low, high) = (time.saturating_sub(high), time.saturating_sub(low));
                lefts.extend(left.matching(key, low, high));
                rights.resize(lefts.len(), number);
            }
        }
        self.probing = (probe.next < probe.end).then_some(probe);
        let pairs = self.meet(lefts, rights)?;
        Ok(Some(pairs))
    }

    /// Joins candidate pairs; returns the matching ones as rows of the answer.
    fn meet(&mut self, mut lefts: Vec<u64>, mut rights: Vec<u64>) -> Result<RecordBatch> {
        if !lefts.is_empty() {
            let keep = self.filter(&lefts, &rights)?;
            let mut kept = keep.iter();
            lefts.retain(|_| kept.next() == Some(&true));
            let mut kept = keep.iter();
            rights.retain(|_| kept.next() == Some(&true));
        }
        let [left, right] = &mut self.sides;
        lefts.iter().for_each(|number| left.set_matched(*number));
        rights.iter().for_each(|number| right.set_matched(*number));
        let gives_pairs = matches!(
            self.spec.join_type,
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full
        );
        if lefts.is_empty() || !gives_pairs {
            return Ok(RecordBatch::new_empty(Arc::clone(&self.spec.schema)));
        }
        let rows = lefts.len();
        let mut columns = self.all_columns(0, &lefts)?;
        columns.extend(self.all_columns(1, &rights)?);
        self.batch(columns, rows)
    }

    /// The pairs for which the condition is true.
    fn filter(&self, lefts: &[u64], rights: &[u64]) -> Result<Vec<bool>> {
        let filter = &self.spec.filter;
        let [left, right] = &self.sides;
        let mut columns = Vec::with_capacity(filter.column_indices().len());
        for column in filter.column_indices() {
            columns.extend(match column.side {
                JoinSide::Left => left.columns(lefts, &[column.index])?,
                _ => right.columns(rights, &[column.index])?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(lefts.len()));
        let schema = Arc::clone(filter.schema());
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        let holds = filter
            .expression()
            .evaluate(&batch)?
            .into_array(lefts.len())?;
        let holds = holds.as_boolean();
        Ok(holds.iter().map(|holds| holds == Some(true)).collect())
    }

    fn all_columns(&self, side: usize, numbers: &[u64]) -> Result<Vec<ArrayRef>> {
        let Some(side) = self.sides.get(side) else {
            return internal_err!("a join has two sides");
        };
        let columns: Vec<usize> = (0..side.width()).collect();
        side.columns(numbers, &columns)
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.spec.schema);
        Ok(RecordBatch::try_new_with_options(
            schema, columns, &options,
        )?)
    }

    /// Drops rows that can match no more; returns those that an outer, semi or anti join has for them. `None` when there are none.
    fn let_go(&mut self) -> Result<Option<RecordBatch>> {
        let Bounds { low, high, .. } = self.spec.bounds;
        for side in [0, 1] {
            let [left, right] = &self.sides;
            let (own, other, reach) = match side {
                0 => (left, right, high),
                _ => (right, left, low.saturating_neg()),
            };
            // The end of the other side drops all rows.
            let until = match other.frontier {
                i64::MAX => i64::MAX,
                frontier => frontier.saturating_sub(reach),
            };
            let leaving = own.leaving(until, self.rows_max);
            if leaving.is_empty() {
                continue;
            }
            let returned = returned_alone(self.spec.join_type, side);
            let rows = leaving
                .iter()
                .filter(|(_, matched)| returned == Some(*matched));
            let rows: Vec<u64> = rows.map(|(number, _)| *number).collect();
            let batch = self.alone(side, &rows)?;
            if let Some(own) = self.sides.get_mut(side) {
                own.forget(leaving.len());
            }
            return Ok(Some(batch));
        }
        Ok(None)
    }

    /// Rows of one side without a partner.
    fn alone(&self, side: usize, rows: &[u64]) -> Result<RecordBatch> {
        let schema = &self.spec.schema;
        if rows.is_empty() {
            return Ok(RecordBatch::new_empty(Arc::clone(schema)));
        }
        let mut columns = self.all_columns(side, rows)?;
        let missing = schema.fields().len().saturating_sub(columns.len());
        let nulls = |from: usize| {
            let fields = schema.fields().iter().skip(from).take(missing);
            fields.map(|field| new_null_array(field.data_type(), rows.len()))
        };
        let columns = match side {
            0 => {
                columns.extend(nulls(columns.len()));
                columns
            }
            _ => nulls(0).chain(columns).collect(),
        };
        self.batch(columns, rows.len())
    }
}

/// The rows of a side that are returned without a partner: those with a match, those without one, or neither.
const fn returned_alone(join_type: JoinType, side: usize) -> Option<bool> {
    match (join_type, side) {
        (JoinType::Left | JoinType::Full | JoinType::LeftAnti, 0)
        | (JoinType::Right | JoinType::Full | JoinType::RightAnti, 1) => Some(false),
        (JoinType::LeftSemi, 0) | (JoinType::RightSemi, 1) => Some(true),
        _ => None,
    }
}
