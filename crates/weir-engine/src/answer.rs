//! The rows that answer a statement.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::execution_plan::reset_plan_states;
use datafusion::physical_plan::{ExecutionPlan, collect, execute_stream_partitioned};
use futures::StreamExt;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use weir_functions::{Error, ErrorKind};

use crate::copy::{self, Copy};
use crate::live::with_groups;
use crate::live_session::Live;
use crate::scan_report::ScanReport;

/// The answer to a statement: batches of rows, as they come.
///
/// Several partitions of the plan run side by side; their rows are given one partition after the
/// other, so that files are answered in their order.
pub struct Answer {
    schema: SchemaRef,
    partitions: std::vec::IntoIter<Receiver<Result<RecordBatch, Error>>>,
    current: Option<Receiver<Result<RecordBatch, Error>>>,
    growing: bool,
    streams: bool,
    snapshot: Option<Snapshot>,
    /// The running plan; its metrics count at the end what it has spilled.
    spills: Option<Spills>,
    // Dropping the answer stops what still runs.
    tasks: JoinSet<()>,
}

impl Answer {
    pub(crate) fn start(
        schema: SchemaRef,
        plan: Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
    ) -> Result<Self, Error> {
        let spills = Spills {
            plan: Arc::clone(&plan),
            scan_report: context.session_config().get_extension().unwrap_or_default(),
        };
        let streams = execute_stream_partitioned(plan, Arc::clone(context))
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        let mut tasks = JoinSet::new();
        let mut partitions = Vec::with_capacity(streams.len());
        for mut stream in streams {
            let (sender, receiver) = channel(BATCHES_AHEAD);
            partitions.push(receiver);
            tasks.spawn(async move {
                while let Some(batch) = stream.next().await {
                    let batch =
                        batch.map_err(|error| Error::from_datafusion(ErrorKind::Run, error, &[]));
                    if sender.send(batch).await.is_err() {
                        break;
                    }
                }
            });
        }
        Ok(Self {
            schema,
            partitions: partitions.into_iter(),
            current: None,
            growing: false,
            streams: true,
            snapshot: None,
            spills: Some(spills),
            tasks,
        })
    }

    /// The answer to a `COPY`: the number of rows that were written.
    pub(crate) fn copied(records: Self, copy: Copy) -> Self {
        let (sender, receiver) = channel(BATCHES_AHEAD);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // A receiver that was dropped needs no count.
            let _ = sender.send(copy.run(records).await).await;
        });
        Self {
            schema: copy::count_schema(),
            partitions: vec![receiver].into_iter(),
            current: None,
            growing: false,
            streams: true,
            snapshot: None,
            // The records have the counts of what was spilled.
            spills: None,
            tasks,
        }
    }

    /// The answer over a source that has no end of its own.
    pub(crate) fn growing(self, snapshot: Option<Snapshot>, streams: bool) -> Self {
        Self {
            growing: true,
            streams,
            snapshot,
            ..self
        }
    }

    /// Whether the answer ends only when the engine is stopped.
    #[must_use]
    pub const fn is_growing(&self) -> bool {
        self.growing
    }

    /// Whether rows come as soon as their packets do, and not only at the end.
    #[must_use]
    pub const fn streams(&self) -> bool {
        self.streams
    }

    /// A way to look at the answer as it stands, for groups over a source without an end.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.snapshot.clone()
    }

    /// The columns of the answer: plain Arrow types, addresses as text.
    #[must_use]
    pub const fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Waits until everything has ended: what a scan reports it has reported by then, and a panic
    /// is no end of the rows.
    async fn end(&mut self) -> Result<Option<RecordBatch>, Error> {
        while let Some(ended) = self.tasks.join_next().await {
            if let Err(error) = ended {
                return Err(Error::new(ErrorKind::Run, error.to_string()));
            }
        }
        if let Some(spills) = self.spills.take() {
            spills.report();
        }
        Ok(None)
    }

    /// The next batch; `None` at the end.
    ///
    /// # Errors
    /// When the statement fails while it runs. Rows already given stay valid.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            let Some(receiver) = &mut self.current else {
                self.current = self.partitions.next();
                if self.current.is_none() {
                    return self.end().await;
                }
                continue;
            };
            match receiver.recv().await {
                Some(Ok(batch)) if batch.num_rows() == 0 => {}
                Some(Ok(batch)) => return Ok(Some(batch)),
                Some(Err(error)) => return Err(error),
                None => self.current = None,
            }
        }
    }
}

/// The operators of a plan that spill to disk under a memory limit.
struct Spills {
    plan: Arc<dyn ExecutionPlan>,
    scan_report: Arc<ScanReport>,
}

impl Spills {
    /// Notes what was spilled, if anything was.
    fn report(self) {
        let (mut files, mut bytes) = (0, 0);
        let mut plans = vec![self.plan];
        while let Some(plan) = plans.pop() {
            if let Some(metrics) = plan.metrics() {
                files += metrics.spill_count().unwrap_or(0);
                bytes += metrics.spilled_bytes().unwrap_or(0);
            }
            plans.extend(plan.children().into_iter().cloned());
        }
        if files > 0 {
            self.scan_report.add_notes(vec![format!(
                "{:.1} MiB were spilled to disk, in {files} files, to stay within the memory limit",
                bytes as f64 / f64::from(1 << 20)
            )]);
        }
    }
}

/// A view of an answer before its end: the whole of it, as if the source had ended now.
#[derive(Clone)]
pub struct Snapshot {
    live: Arc<Live>,
    plan: Arc<dyn ExecutionPlan>,
    context: Arc<TaskContext>,
}

impl Snapshot {
    pub(crate) const fn new(
        live: Arc<Live>,
        plan: Arc<dyn ExecutionPlan>,
        context: Arc<TaskContext>,
    ) -> Self {
        Self {
            live,
            plan,
            context,
        }
    }

    /// The current rows; `None` when the end has come, and the answer itself is complete.
    ///
    /// # Errors
    /// When what follows the groups fails.
    pub async fn rows(&self) -> Result<Option<Vec<RecordBatch>>, Error> {
        let Some(groups) = self.live.request_groups() else {
            return Ok(None);
        };
        let Ok(groups) = groups.await else {
            return Ok(None);
        };
        let failed = |error| Error::from_datafusion(ErrorKind::Run, error, &[]);
        let plan = with_groups(Arc::clone(&self.plan), &groups).map_err(failed)?;
        // The dynamic filters of a sort of these groups must not apply to the answer.
        let plan = reset_plan_states(plan).map_err(failed)?;
        let rows = collect(plan, Arc::clone(&self.context)).await;
        rows.map(Some).map_err(failed)
    }
}

/// Batches of a partition that may wait for the partitions before it.
const BATCHES_AHEAD: usize = 4;
