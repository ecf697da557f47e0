//! Groups of rows without an end that DataFusion's aggregates compute, which can be looked at as they stand.
//!
//! DataFusion's own operator gives its groups at the end only, and forgets them as it gives them. Here each batch of
//! rows becomes a batch of states, states are put together now and then, and the groups are what the states come to: at
//! every request, and at the end. [`FusedAggregate`](crate::fuse::FusedAggregate) has such groups of its own.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, SendableRecordBatchStream, collect,
};
use futures::{StreamExt, TryStreamExt};

use crate::exchange::behind_exchanges;
use crate::live_session::Live;
use crate::plan_node::{named_node, no_expressions};

/// See the module.
#[derive(Debug)]
pub(crate) struct LiveGroups {
    steps: AggregateSteps,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

/// An aggregate in its steps: rows to states, states to fewer states, states to groups.
#[derive(Clone, Debug)]
struct AggregateSteps {
    group_by: Arc<PhysicalGroupBy>,
    functions: Vec<Arc<AggregateFunctionExpr>>,
    filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
    /// The schema of the rows.
    rows: SchemaRef,
    /// The schema of the states.
    states: SchemaRef,
    /// The schema of the groups.
    groups: SchemaRef,
}

impl LiveGroups {
    /// The same groups as this plan's, when it is an aggregate that is not done in another way: it does not end
    /// by itself before its input does, and no node depends on the order of the groups.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Self>> {
        let Some(top) = plan.downcast_ref::<AggregateExec>() else {
            return Ok(None);
        };
        let bottom = match top.mode() {
            AggregateMode::Single | AggregateMode::SinglePartitioned => top,
            AggregateMode::Final | AggregateMode::FinalPartitioned => {
                match behind_exchanges(top.input()).downcast_ref::<AggregateExec>() {
                    Some(bottom) if *bottom.mode() == AggregateMode::Partial => bottom,
                    _ => return Ok(None),
                }
            }
            AggregateMode::Partial | AggregateMode::PartialReduce => return Ok(None),
        };
        let ends_early = top.limit_options().is_some() || bottom.limit_options().is_some();
        if ends_early || top.properties().output_ordering().is_some() {
            return Ok(None);
        }
        let mut input = Arc::clone(behind_exchanges(bottom.input()));
        if input.output_partitioning().partition_count() > 1 {
            input = Arc::new(CoalescePartitionsExec::new(input));
        }
        let mut steps = AggregateSteps {
            group_by: Arc::new(bottom.group_expr().clone()),
            functions: bottom.aggr_expr().to_vec(),
            filters: bottom.filter_expr().to_vec(),
            rows: bottom.input_schema(),
            states: Arc::clone(&top.schema()),
            groups: top.schema(),
        };
        steps.states = steps.partial(&[])?.schema();
        let same = steps.last(&[])?.schema() == steps.groups;
        Ok(same.then(|| Self::new(steps, input)))
    }

    fn new(steps: AggregateSteps, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&steps.groups)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            steps,
            input,
            properties: Arc::new(properties),
        }
    }
}

impl AggregateSteps {
    fn of(&self, mode: AggregateMode, batches: &[RecordBatch]) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, group_by, filters) = match mode {
            AggregateMode::Partial => {
                (&self.rows, Arc::clone(&self.group_by), self.filters.clone())
            }
            // The filter was applied when rows became states.
            _ => {
                let filters = vec![None; self.filters.len()];
                (&self.states, Arc::new(self.group_by.as_final()), filters)
            }
        };
        let input =
            MemorySourceConfig::try_new_exec(&[batches.to_vec()], Arc::clone(schema), None)?;
        let rows = Arc::clone(&self.rows);
        let functions = self.functions.clone();
        let aggregate = AggregateExec::try_new(mode, group_by, functions, filters, input, rows)?;
        Ok(Arc::new(aggregate))
    }

    fn partial(&self, rows: &[RecordBatch]) -> Result<Arc<dyn ExecutionPlan>> {
        self.of(AggregateMode::Partial, rows)
    }

    fn fewer(&self, states: &[RecordBatch]) -> Result<Arc<dyn ExecutionPlan>> {
        self.of(AggregateMode::PartialReduce, states)
    }

    fn last(&self, states: &[RecordBatch]) -> Result<Arc<dyn ExecutionPlan>> {
        self.of(AggregateMode::Final, states)
    }
}

/// States of the rows so far.
struct States {
    steps: AggregateSteps,
    context: Arc<TaskContext>,
    reservation: MemoryReservation,
    batches: Vec<RecordBatch>,
    rows: usize,
    /// Rows at which they are put together again.
    rows_max: usize,
}

impl States {
    fn new(steps: AggregateSteps, context: Arc<TaskContext>) -> Self {
        Self {
            steps,
            reservation: MemoryConsumer::new("LiveGroups").register(context.memory_pool()),
            context,
            batches: Vec::new(),
            rows: 0,
            rows_max: ROWS_MIN,
        }
    }

    async fn add(&mut self, rows: RecordBatch) -> Result<()> {
        let partial = self.steps.partial(&[rows])?;
        self.hold(collect(partial, Arc::clone(&self.context)).await?);
        if self.rows > self.rows_max || self.batches.len() > BATCHES_MAX {
            let fewer = self.steps.fewer(&self.batches)?;
            let fewer = collect(fewer, Arc::clone(&self.context)).await?;
            self.batches.clear();
            self.rows = 0;
            self.hold(fewer);
            self.rows_max = ROWS_MIN.max(self.rows.saturating_mul(2));
        }
        let bytes = self.batches.iter().map(RecordBatch::get_array_memory_size);
        self.reservation.try_resize(bytes.sum())
    }

    fn hold(&mut self, states: Vec<RecordBatch>) {
        let states = states.into_iter().filter(|batch| batch.num_rows() > 0);
        for batch in states {
            self.rows = self.rows.saturating_add(batch.num_rows());
            self.batches.push(batch);
        }
    }

    /// The groups as they stand.
    async fn groups(&self) -> Result<Vec<RecordBatch>> {
        let last = self.steps.last(&self.batches)?;
        collect(last, Arc::clone(&self.context)).await
    }

    /// Reads all rows, and sends the groups to requests in between.
    async fn read(mut self, mut rows: SendableRecordBatchStream, live: &Live) -> Result<Self> {
        loop {
            let taken = tokio::select! {
                batch = rows.next() => match batch {
                    Some(batch) => Some(batch?),
                    None => return Ok(self),
                },
                () = live.awoken() => None,
            };
            if let Some(batch) = taken {
                self.add(batch).await?;
            }
            if let Some(sender) = live.take_request() {
                // A receiver that was dropped needs no groups.
                let _ = sender.send(self.groups().await?);
            }
        }
    }
}

impl DisplayAs for LiveGroups {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !matches!(kind, DisplayFormatType::TreeRender) {
            f.write_str("LiveGroups: ")?;
        }
        let names = |f: &mut fmt::Formatter<'_>, names: Vec<&str>| f.write_str(&names.join(", "));
        f.write_str("groups by=")?;
        let keys = self.steps.group_by.expr().iter();
        names(f, keys.map(|(_, name)| name.as_str()).collect())?;
        f.write_str("; computes=")?;
        let functions = self.steps.functions.iter();
        names(f, functions.map(|function| function.name()).collect())
    }
}

impl ExecutionPlan for LiveGroups {
    named_node!("LiveGroups");

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    no_expressions!();

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.unwrap_or_else(|| Arc::clone(&self.input));
        Ok(Arc::new(Self::new(self.steps.clone(), input)))
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let live = context.session_config().get_extension::<Live>();
        let live = live.unwrap_or_default();
        let rows = self.input.execute(0, Arc::clone(&context))?;
        let states = States::new(self.steps.clone(), context);
        let groups = async move {
            let outcome = states.read(rows, &live).await;
            live.close();
            let groups = outcome?.groups().await?;
            Ok::<_, DataFusionError>(futures::stream::iter(groups.into_iter().map(Ok)))
        };
        let groups = futures::stream::once(groups).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            groups,
        )))
    }
}

/// States that are not put together again, however few groups there are.
const ROWS_MIN: usize = 8192;
/// Batches of states that may wait to be put together: packets that come slowly come one by one.
const BATCHES_MAX: usize = 64;
