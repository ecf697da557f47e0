//! The operator that draws rows.

use std::fmt;
use std::sync::Arc;

use crate::plan_node::{named_node, no_expressions, one_input};
use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use datafusion::common::internal_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::{RecordBatchReceiverStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties, SendableRecordBatchStream,
};
use futures::{Stream, StreamExt, TryStreamExt};
use weir_sql::table_sample::{BLOCK_ROWS, Draw};

/// Draws rows of its input by their numbers: the rows of the first partition are the first ones.
#[derive(Debug)]
pub(super) struct SampleExec {
    input: Arc<dyn ExecutionPlan>,
    draw: Draw,
    seed: u64,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SampleExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, draw: Draw, seed: u64) -> Self {
        let mut order = input.equivalence_properties().clone();
        if input.output_partitioning().partition_count() > 1 {
            order.clear_orderings();
        }
        let emission = match draw {
            Draw::Count(_) => EmissionType::Final,
            Draw::Rows(_) | Draw::Blocks(_) => input.pipeline_behavior(),
        };
        let properties = PlanProperties::new(
            order,
            Partitioning::UnknownPartitioning(1),
            emission,
            input.boundedness(),
        );
        Self {
            input,
            draw,
            seed,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// All rows of the input, in the order of partitions, which run concurrently.
    fn rows(
        &self,
        context: &Arc<TaskContext>,
    ) -> Result<impl Stream<Item = Result<RecordBatch>> + use<>> {
        let partitions = self.input.output_partitioning().partition_count();
        let mut streams = Vec::with_capacity(partitions);
        for partition in 0..partitions {
            let mut rows = self.input.execute(partition, Arc::clone(context))?;
            if partitions == 1 {
                streams.push(rows);
                break;
            }
            let mut builder = RecordBatchReceiverStream::builder(self.schema(), BATCHES_AHEAD);
            let sender = builder.tx();
            builder.spawn(async move {
                while let Some(batch) = rows.next().await {
                    if sender.send(batch).await.is_err() {
                        break;
                    }
                }
                Ok(())
            });
            streams.push(builder.build());
        }
        Ok(futures::stream::iter(streams).flatten())
    }
}

impl DisplayAs for SampleExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match kind {
            DisplayFormatType::TreeRender => write!(f, "{}", self.draw),
            _ => write!(f, "Sample: {}", self.draw),
        }
    }
}

impl ExecutionPlan for SampleExec {
    named_node!("Sample");

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.input.output_partitioning().partition_count() <= 1]
    }

    no_expressions!();

    one_input!(|node, input| Self::new(input, node.draw, node.seed));

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("a sample has one partition");
        }
        let baseline = BaselineMetrics::new(&self.metrics, partition);
        let rows = self.rows(&context)?;
        let lots = Lots {
            seed: self.seed,
            next: 0,
        };
        let schema = self.schema();
        let batches = match self.draw {
            Draw::Rows(part) => each(rows, lots, part, 1, baseline).boxed(),
            Draw::Blocks(part) => each(rows, lots, part, BLOCK_ROWS, baseline).boxed(),
            Draw::Count(count) => {
                let reservation = MemoryConsumer::new("Sample").register(context.memory_pool());
                let kept = LowestRows::new(count, reservation);
                let batches = kept.all_of(rows, lots, baseline);
                futures::stream::once(batches)
                    .map_ok(|batches| futures::stream::iter(batches.into_iter().map(Ok)))
                    .try_flatten()
                    .boxed()
            }
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The lots of rows, or of blocks of them.
#[derive(Clone, Copy, Debug)]
struct Lots {
    seed: u64,
    /// The number of the next row.
    next: u64,
}

impl Lots {
    /// A number from all of 64 bits that hangs on the seed and this number alone (SplitMix64: Steele, Lea,
    /// Flood: *Fast splittable pseudorandom number generators*, OOPSLA 2014).
    const fn lot(self, number: u64) -> u64 {
        let mixed = mix(self.seed).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mix(mixed)
    }
}

const fn mix(mut value: u64) -> u64 {
    value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The rows of blocks that are drawn, each with the probability `part`.
fn each(
    rows: impl Stream<Item = Result<RecordBatch>> + Send + 'static,
    mut lots: Lots,
    part: f64,
    block_rows: u64,
    baseline: BaselineMetrics,
) -> impl Stream<Item = Result<RecordBatch>> + Send + 'static {
    // All lots are below it where the part is all.
    let below = (part * 2_f64.powi(64)) as u128;
    rows.map(move |batch| {
        let batch = batch?;
        let first = lots.next;
        lots.next = first.saturating_add(batch.num_rows() as u64);
        let keep = (first..lots.next).map(|row| u128::from(lots.lot(row / block_rows)) < below);
        let keep: BooleanArray = keep.map(Some).collect();
        Ok(filter_record_batch(&batch, &keep)?.record_output(&baseline))
    })
}

/// The rows with the lowest lots so far.
struct LowestRows {
    count: u64,
    batches: Vec<(RecordBatch, Vec<u64>)>,
    rows: u64,
    /// Lots from this on are out, once there are enough below.
    below: Option<u64>,
    reservation: MemoryReservation,
}

impl LowestRows {
    fn new(count: u64, reservation: MemoryReservation) -> Self {
        Self {
            count,
            batches: Vec::new(),
            rows: 0,
            below: None,
            reservation,
        }
    }

    async fn all_of(
        mut self,
        rows: impl Stream<Item = Result<RecordBatch>> + Send,
        mut lots: Lots,
        baseline: BaselineMetrics,
    ) -> Result<Vec<RecordBatch>> {
        let mut rows = std::pin::pin!(rows);
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            let first = lots.next;
            lots.next = first.saturating_add(batch.num_rows() as u64);
            let drawn: Vec<u64> = (first..lots.next).map(|row| lots.lot(row)).collect();
            self.add(batch, drawn)?;
        }
        self.cut()?;
        let batches = self.batches.into_iter();
        Ok(batches
            .map(|(batch, _)| batch.record_output(&baseline))
            .collect())
    }

    fn add(&mut self, batch: RecordBatch, lots: Vec<u64>) -> Result<()> {
        let (batch, lots) = match self.below {
            None => (batch, lots),
            Some(below) => keep_below(&batch, &lots, |lot| lot < below)?,
        };
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.rows = self.rows.saturating_add(batch.num_rows() as u64);
        self.batches.push((batch, lots));
        if self.rows > self.count.saturating_mul(2).saturating_add(SPARE_ROWS) {
            self.cut()?;
        }
        let bytes = self.batches.iter().map(|(batch, lots)| {
            batch
                .get_array_memory_size()
                .saturating_add(lots.len().saturating_mul(8))
        });
        self.reservation.try_resize(bytes.sum())
    }

    /// Leaves the rows that are wanted, of those that came so far.
    fn cut(&mut self) -> Result<()> {
        if self.rows <= self.count {
            return Ok(());
        }
        // Different rows have different lots, since mixing is a bijection: the lot at this place has as many below it.
        let mut lots: Vec<u64> = self
            .batches
            .iter()
            .flat_map(|(_, lots)| lots.iter().copied())
            .collect();
        let at = usize::try_from(self.count).unwrap_or(usize::MAX);
        let (_, below, _) = lots.select_nth_unstable(at);
        let below = *below;
        for (batch, lots) in &mut self.batches {
            (*batch, *lots) = keep_below(batch, lots, |lot| lot < below)?;
        }
        self.batches.retain(|(batch, _)| batch.num_rows() > 0);
        self.rows = self.count;
        self.below = Some(below);
        Ok(())
    }
}

fn keep_below(
    batch: &RecordBatch,
    lots: &[u64],
    keep: impl Fn(u64) -> bool,
) -> Result<(RecordBatch, Vec<u64>)> {
    let flags: BooleanArray = lots.iter().map(|lot| Some(keep(*lot))).collect();
    let batch = filter_record_batch(batch, &flags)?;
    Ok((
        batch,
        lots.iter().copied().filter(|lot| keep(*lot)).collect(),
    ))
}

/// Batches of a partition that may wait for those before it.
const BATCHES_AHEAD: usize = 4;
/// Rows beyond twice the wanted ones that wait until those are cut.
const SPARE_ROWS: u64 = 8_192;
