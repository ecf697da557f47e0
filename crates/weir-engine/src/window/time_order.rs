//! The plan node that puts the records of a stream into the order of time.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Int64Array, UInt32Array};
use arrow::compute::{SortOptions, interleave_record_batch, take_record_batch};
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
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

use super::length::to_numbers;
use super::pieces::in_pieces;
use crate::plan_node::{named_node, one_input};
use crate::scan_report::ScanReport;

/// The order of time: rows without a time stand behind the others.
pub(crate) fn in_time_order(time: &Arc<dyn PhysicalExpr>) -> PhysicalSortExpr {
    let ascending = SortOptions {
        descending: false,
        nulls_first: false,
    };
    PhysicalSortExpr::new(Arc::clone(time), ascending)
}

/// Holds rows back until no row can come that belongs before them: until the newest row is later by more than the
/// lateness. A row that is later than that itself is left out and counted. Rows of the same time stay in their order.
#[derive(Debug)]
pub(crate) struct TimeOrder {
    input: Arc<dyn ExecutionPlan>,
    time: Arc<dyn PhysicalExpr>,
    lateness_ns: i64,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TimeOrder {
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        time: Arc<dyn PhysicalExpr>,
        lateness_ns: i64,
    ) -> Self {
        let order =
            EquivalenceProperties::new_with_orderings(input.schema(), [[in_time_order(&time)]]);
        let properties = PlanProperties::new(
            order,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Self {
            input,
            time,
            lateness_ns,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for TimeOrder {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lateness = std::time::Duration::from_nanos(self.lateness_ns.unsigned_abs());
        match kind {
            DisplayFormatType::TreeRender => write!(f, "by={}\nlateness={lateness:?}", self.time),
            _ => write!(f, "TimeOrder: by={}; lateness={lateness:?}", self.time),
        }
    }
}

impl ExecutionPlan for TimeOrder {
    named_node!("TimeOrder");

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        f(&self.time)
    }

    one_input!(|node, input| Self::new(input, Arc::clone(&node.time), node.lateness_ns));

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let scan_report = context.session_config().get_extension::<ScanReport>();
        let work = OrderWork {
            time: Arc::clone(&self.time),
            held: BufferedRows::new(self.lateness_ns),
            reservation: MemoryConsumer::new("TimeOrder").register(context.memory_pool()),
            baseline: BaselineMetrics::new(&self.metrics, partition),
            late: MetricBuilder::new(&self.metrics).counter("late", partition),
            scan_report: scan_report.unwrap_or_default(),
        };
        let batches = futures::stream::try_unfold(Some((input, work)), |state| async move {
            let Some((mut input, mut work)) = state else {
                return Ok(None);
            };
            loop {
                match input.next().await {
                    Some(batch) => {
                        if let Some(ready) = work.add(batch?)? {
                            return Ok(Some((ready, Some((input, work)))));
                        }
                    }
                    None => return Ok(work.finish()?.map(|rest| (rest, None))),
                }
            }
        });
        let batches = in_pieces(batches, context.session_config().batch_size());
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
struct OrderWork {
    time: Arc<dyn PhysicalExpr>,
    held: BufferedRows,
    reservation: MemoryReservation,
    baseline: BaselineMetrics,
    late: Count,
    scan_report: Arc<ScanReport>,
}

impl OrderWork {
    fn add(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let elapsed = self.baseline.elapsed_compute().clone();
        let _timer = elapsed.timer();
        let times = self.time.evaluate(&batch)?.into_array(batch.num_rows())?;
        let late = self.held.add(batch, &to_numbers(&times)?)?;
        self.late.add(late);
        let ready = self.held.take(self.held.watermark())?;
        self.reservation.try_resize(self.held.bytes())?;
        Ok(ready.map(|ready| ready.record_output(&self.baseline)))
    }

    fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let rest = self.held.take(None)?;
        Ok(rest.map(|rest| rest.record_output(&self.baseline)))
    }
}

impl Drop for OrderWork {
    /// Counts late records also where the rest of the rows is not read.
    fn drop(&mut self) {
        let (late, lateness_ns) = (self.late.value(), self.held.lateness_ns);
        let lateness = std::time::Duration::from_nanos(lateness_ns.unsigned_abs());
        let left_out = match late {
            0 => return,
            1 => "1 record came too late and is left out".to_owned(),
            late => format!("{late} records came too late and are left out"),
        };
        self.scan_report.add_notes(vec![format!(
            "{left_out}: more than {lateness:?} after later ones; a longer lateness includes them"
        )]);
    }
}

/// Rows that wait, in batches of which each is in order.
#[derive(Debug)]
struct BufferedRows {
    batches: Vec<Run>,
    newest: i64,
    lateness_ns: i64,
}

/// A batch in order, with the times of its rows; those before `from` have left.
#[derive(Debug)]
struct Run {
    batch: RecordBatch,
    times: Vec<i64>,
    from: usize,
}

impl BufferedRows {
    const fn new(lateness_ns: i64) -> Self {
        Self {
            batches: Vec::new(),
            newest: i64::MIN,
            lateness_ns,
        }
    }

    /// No row with an earlier time is taken any more.
    fn watermark(&self) -> Option<i64> {
        Some(self.newest.saturating_sub(self.lateness_ns))
    }

    fn bytes(&self) -> usize {
        let sizes = self.batches.iter().map(|run| {
            let times = run.times.len().saturating_mul(size_of::<i64>());
            run.batch.get_array_memory_size().saturating_add(times)
        });
        sizes.fold(0, usize::saturating_add)
    }

    /// Adds rows that are not late; returns the number of late ones.
    fn add(&mut self, batch: RecordBatch, times: &Int64Array) -> Result<usize> {
        let mut rows: Vec<(i64, u32)> = Vec::with_capacity(times.len());
        let mut in_order = true;
        let mut before = i64::MIN;
        for (row, time) in (0_u32..).zip(times) {
            let time = match time {
                // The row follows all others.
                None => i64::MAX,
                Some(time) if time < self.newest.saturating_sub(self.lateness_ns) => continue,
                Some(time) => {
                    self.newest = self.newest.max(time);
                    time
                }
            };
            in_order &= before <= time;
            before = time;
            rows.push((time, row));
        }
        let late = times.len().saturating_sub(rows.len());
        if rows.is_empty() {
            return Ok(late);
        }
        let batch = if in_order && late == 0 {
            batch
        } else {
            rows.sort_by_key(|(time, _)| *time);
            let order: UInt32Array = rows.iter().map(|(_, row)| *row).collect();
            take_record_batch(&batch, &order)?
        };
        self.batches.push(Run {
            batch,
            times: rows.into_iter().map(|(time, _)| time).collect(),
            from: 0,
        });
        Ok(late)
    }

    /// The rows before a time, in order; all of them for `None`.
    fn take(&mut self, before: Option<i64>) -> Result<Option<RecordBatch>> {
        let mut ready: Vec<(i64, (usize, usize))> = Vec::new();
        let mut only: Option<RecordBatch> = None;
        let mut runs = 0_usize;
        for (index, run) in self.batches.iter_mut().enumerate() {
            let end = match before {
                None => run.times.len(),
                Some(before) => run.times.partition_point(|time| *time < before),
            };
            let Some(times) = run
                .times
                .get(run.from..end)
                .filter(|times| !times.is_empty())
            else {
                continue;
            };
            runs = runs.saturating_add(1);
            only = Some(run.batch.slice(run.from, times.len()));
            ready.extend(
                times
                    .iter()
                    .zip(run.from..end)
                    .map(|(time, row)| (*time, (index, row))),
            );
            run.from = end;
        }
        let rows = match (runs, only) {
            (1, only) => only,
            (0, _) => None,
            _ => {
                // The sort is stable, so that rows of the same time keep their order.
                ready.sort_by_key(|(time, _)| *time);
                let batches: Vec<&RecordBatch> =
                    self.batches.iter().map(|run| &run.batch).collect();
                let places: Vec<(usize, usize)> = ready.iter().map(|(_, place)| *place).collect();
                Some(interleave_record_batch(&batches, &places)?)
            }
        };
        self.batches.retain(|run| run.from < run.times.len());
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{ArrayRef, AsArray};
    use arrow::datatypes::Int64Type;
    use weir_testkit::Rng;

    use super::*;

    fn batch(rows: &[(Option<i64>, i64)]) -> (RecordBatch, Int64Array) {
        let times: Int64Array = rows.iter().map(|(time, _)| *time).collect();
        let numbers: Int64Array = rows.iter().map(|(_, number)| Some(*number)).collect();
        let columns: [(&str, ArrayRef); 2] = [
            ("time", Arc::new(times.clone())),
            ("number", Arc::new(numbers)),
        ];
        (
            RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap(),
            times,
        )
    }

    /// The result equals a sort of the rows that are not late, however they are cut into batches.
    #[test]
    fn rows_leave_in_the_order_of_time_and_late_ones_are_counted() {
        let mut random = Rng::new(41);
        for _ in 0..300 {
            let lateness = random.below(20) as i64;
            let mut now = 0_i64;
            let mut newest = i64::MIN;
            let (mut expected, mut late_expected) = (Vec::new(), 0);
            let mut held = BufferedRows::new(lateness);
            let (mut found, mut late) = (Vec::new(), 0);
            let mut take = |ready: Option<RecordBatch>| {
                let Some(ready) = ready else { return };
                found.extend_from_slice(ready.column(1).as_primitive::<Int64Type>().values());
            };
            let mut number = 0;
            for _ in 0..random.below(12) {
                let mut rows = Vec::new();
                for _ in 0..random.below(9) {
                    now += random.below(4) as i64;
                    number += 1;
                    if random.below(15) == 0 {
                        rows.push((None, number));
                        expected.push((i64::MAX, number));
                        continue;
                    }
                    let time = now - random.below(25) as i64;
                    rows.push((Some(time), number));
                    if time < newest.saturating_sub(lateness) {
                        late_expected += 1;
                    } else {
                        expected.push((time, number));
                        newest = newest.max(time);
                    }
                }
                let (batch, times) = batch(&rows);
                late += held.add(batch, &times).unwrap();
                take(held.take(held.watermark()).unwrap());
                // No row that is held may leave yet.
                let oldest = held
                    .batches
                    .iter()
                    .filter_map(|run| run.times.get(run.from))
                    .min();
                assert!(oldest.is_none_or(|oldest| *oldest >= newest.saturating_sub(lateness)));
            }
            take(held.take(None).unwrap());
            expected.sort_by_key(|(time, _)| *time);
            let expected: Vec<i64> = expected.into_iter().map(|(_, number)| number).collect();
            assert_eq!(found, expected);
            assert_eq!(late, late_expected);
            assert_eq!(held.bytes(), 0);
        }
    }
}
