//! The reader of rows between stages, and what their writer is given.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_core::execution_plans::ShuffleReaderExec;
use ballista_core::serde::scheduler::PartitionLocation;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use datafusion::common::internal_datafusion_err;
use datafusion::common::tree_node::{Transformed, TreeNode as _, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coalesce::LimitedBatchCoalescer;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream, replace_children_if_necessary,
};
use datafusion::prelude::SessionConfig;
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use weir_engine::{cooperative, count_unnested_rows, count_window_rows};

use crate::fetch::{FetchError, Location, fetch};
use crate::layout::{self, DeclaredExec};
use crate::pool::ConnectionPool;

/// Makes the stages of an executor, whose readers validate the rows of other executors, whose window functions count the rows that they
/// hold, whose writers are given the columns that their plan declares, and whose tasks can be cancelled.
pub(crate) struct ValidatingEngine {
    /// The ID of this executor.
    executor: String,
    pool: ConnectionPool,
    engine: DefaultExecutionEngine,
}

impl ValidatingEngine {
    /// The stages of the executor with this ID.
    pub(crate) fn new(executor: String, pool: ConnectionPool) -> Self {
        Self {
            executor,
            pool,
            engine: DefaultExecutionEngine::new(),
        }
    }
}

impl ExecutionEngine for ValidatingEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let plan = plan
            .transform(|node| {
                Ok(match node.downcast_ref::<ShuffleReaderExec>() {
                    Some(reader) => Transformed::yes(Arc::new(ValidatingReaderExec {
                        reader: Arc::new(reader.clone()),
                        executor: self.executor.clone(),
                        work_dir: work_dir.to_owned(),
                        pool: self.pool.clone(),
                        metrics: ExecutionPlanMetricsSet::new(),
                    })),
                    None => Transformed::no(node),
                })
            })?
            .data;
        let plan = count_unnested_rows(count_window_rows(plan)?)?;
        // The operator that writes the rows of the stage.
        let inputs = plan.children().into_iter().cloned();
        let inputs = inputs.map(|input| {
            let input = DeclaredExec::new(cooperative(input)?);
            Ok(Arc::new(input) as Arc<dyn ExecutionPlan>)
        });
        let inputs = inputs.collect::<Result<_>>()?;
        let plan = replace_children_if_necessary(plan, inputs)?;
        self.engine.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        )
    }
}

/// Reads what a [`ShuffleReaderExec`] would. That one is left with the files of this executor's own work folder.
#[derive(Clone, Debug)]
struct ValidatingReaderExec {
    reader: Arc<ShuffleReaderExec>,
    /// The ID of this executor.
    executor: String,
    work_dir: String,
    pool: ConnectionPool,
    metrics: ExecutionPlanMetricsSet,
}

impl ValidatingReaderExec {
    /// Whether rows lie in the own work folder. Their file has the number of its task, which a stage that is run again gives once more: a task
    /// of an earlier attempt may have left a file of the same name here, or a part of one, and another executor has written the rows.
    fn is_local(&self, of: &PartitionLocation) -> bool {
        of.executor_meta.id == self.executor
            && of.path(&self.work_dir).is_ok_and(|path| path.exists())
    }

    /// The rows in files of the own work folder.
    fn local(
        &self,
        locations: Vec<PartitionLocation>,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let reader = ShuffleReaderExec::try_new(
            self.reader.stage_id,
            vec![locations],
            self.schema(),
            Partitioning::UnknownPartitioning(1),
        )?;
        reader
            .with_work_dir(self.work_dir.clone())
            .execute(0, context)
    }
}

impl DisplayAs for ValidatingReaderExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reader.fmt_as(kind, f)
    }
}

impl ExecutionPlan for ValidatingReaderExec {
    fn name(&self) -> &'static str {
        "ValidatingReaderExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.reader.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let place = if self.reader.broadcast { 0 } else { partition };
        let locations = self.reader.partition.get(place).cloned();
        let locations =
            locations.ok_or_else(|| internal_datafusion_err!("there is no partition {place}"))?;
        let (local, remote): (Vec<_>, Vec<_>) =
            locations.into_iter().partition(|of| self.is_local(of));
        let batch_size = context.session_config().batch_size();
        let (pool, schema) = (self.pool.clone(), self.schema());
        let remote = futures::stream::iter(remote)
            .map(move |location| remote_rows(pool.clone(), location, Arc::clone(&schema)))
            .buffered(FETCHES)
            .try_flatten();
        let declared = self.schema();
        let rows = self.local(local, context)?.chain(remote);
        let rows = rows.map(move |batch| layout::declared(batch?, &declared));
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let rows = coalesced(rows.boxed(), self.schema(), batch_size).inspect(move |batch| {
            if let Ok(batch) = batch {
                metrics.record_output(batch.num_rows());
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The rows of a location on another executor.
async fn remote_rows(
    pool: ConnectionPool,
    location: PartitionLocation,
    schema: SchemaRef,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let of = Location {
        host: location.executor_meta.host.clone(),
        port: location.executor_meta.port,
        layout: location.layout().into(),
        partition: location.partition_id.clone().into(),
        file_id: location.file_id,
    };
    let mut attempt = 1;
    let (connection, rows) = loop {
        let opened = async {
            let connection = pool.acquire(&of.host, of.port).await?;
            let rows = fetch(connection.client.clone(), &of, Arc::clone(&schema)).await?;
            Ok((connection, rows))
        };
        match opened.await {
            Ok(opened) => break opened,
            Err(FetchError::Lost(_)) if attempt < ATTEMPTS => {
                attempt += 1;
                tokio::time::sleep(ATTEMPT_AFTER).await;
            }
            Err(error) => return Err(failed(&location, error)),
        }
    };
    let rows = rows.map_err(move |error| failed(&location, error));
    // A connection whose fetch was not read to its end is closed.
    let rows = futures::stream::try_unfold(
        (Box::pin(rows), Some(connection)),
        move |(mut rows, mut connection)| {
            let pool = pool.clone();
            async move {
                match rows.try_next().await? {
                    Some(batch) => Ok(Some((batch, (rows, connection)))),
                    None => {
                        if let Some(connection) = connection.take() {
                            pool.release(connection);
                        }
                        Ok(None)
                    }
                }
            }
        },
    );
    Ok(rows.boxed())
}

/// The error of a task that could not read the rows of a location. When they are lost, the scheduler has them computed again; it
/// knows that from Ballista's own error.
fn failed(location: &PartitionLocation, error: FetchError) -> DataFusionError {
    let executor = &location.executor_meta;
    match error {
        FetchError::Lost(message) => BallistaError::FetchFailed(
            executor.id.clone(),
            location.partition_id.stage_id,
            location.partition_id.partition_id,
            message,
        )
        .into_datafusion(),
        FetchError::Malformed(_) => DataFusionError::Execution(format!(
            "the executor {}:{} sends {error}",
            executor.host, executor.port
        )),
    }
}

/// Small batches put together to batches of about so many rows.
fn coalesced(
    rows: BoxStream<'static, Result<RecordBatch>>,
    schema: SchemaRef,
    batch_size: usize,
) -> impl futures::Stream<Item = Result<RecordBatch>> {
    let batches = LimitedBatchCoalescer::new(schema, batch_size, None);
    futures::stream::try_unfold(
        (rows, batches, false),
        |(mut rows, mut batches, mut is_over)| async move {
            loop {
                if let Some(batch) = batches.next_completed_batch() {
                    return Ok(Some((batch, (rows, batches, is_over))));
                }
                if is_over {
                    return Ok(None);
                }
                match rows.try_next().await? {
                    Some(batch) if batch.num_rows() == 0 => {}
                    Some(batch) => {
                        batches.push_batch(batch)?;
                    }
                    None => {
                        batches.finish()?;
                        is_over = true;
                    }
                }
            }
        },
    )
}

/// Fetches that a task has open at once.
const FETCHES: usize = 4;
/// Attempts to fetch rows before they are said to be lost.
const ATTEMPTS: u32 = 3;
const ATTEMPT_AFTER: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use std::fs::File;

    use arrow::array::{ArrayRef, Int64Array};
    use arrow::ipc::writer::StreamWriter;
    use ballista_core::extension::SessionConfigExt as _;
    use ballista_core::serde::scheduler::{
        ExecutorMetadata, ExecutorOperatingSystemSpecification, ExecutorSpecification, PartitionId,
        PartitionStats,
    };
    use tokio::runtime::Handle;

    use super::*;
    use crate::trust::Trust;

    /// The location of what the third task of a stage has written for one partition.
    fn written_by(executor: &str) -> PartitionLocation {
        PartitionLocation {
            map_partition_id: 3,
            partition_id: PartitionId {
                job_id: JobId::from("job"),
                stage_id: 2,
                partition_id: 0,
            },
            executor_meta: ExecutorMetadata {
                id: executor.to_owned(),
                host: "127.0.0.1".to_owned(),
                // Nothing listens there.
                port: 1,
                grpc_port: 1,
                specification: ExecutorSpecification::default(),
                os_info: ExecutorOperatingSystemSpecification::default(),
            },
            partition_stats: PartitionStats::default(),
            file_id: Some(3),
            is_sort_shuffle: false,
        }
    }

    /// A stage was run again, and what a task of the first attempt had left was read in the place of what another executor had
    /// written: rows were missing where that task had been cancelled.
    #[tokio::test]
    async fn rows_of_another_executor_are_not_read_from_a_file_of_the_same_name() {
        let work = tempfile::tempdir().unwrap();
        let folder = work.path().join("job/2/0");
        std::fs::create_dir_all(&folder).unwrap();
        let column: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
        let batch = RecordBatch::try_from_iter([("n", column)]).unwrap();
        let file = File::create(folder.join("data-3.arrow")).unwrap();
        let mut writer = StreamWriter::try_new(file, &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
        let read = async |executor: &str| {
            let reader = ShuffleReaderExec::try_new(
                2,
                vec![vec![written_by(executor)]],
                batch.schema(),
                Partitioning::UnknownPartitioning(1),
            );
            let reader = ValidatingReaderExec {
                reader: Arc::new(reader.unwrap()),
                executor: "this".to_owned(),
                work_dir: work.path().to_string_lossy().into_owned(),
                pool: ConnectionPool::new(Trust::default(), Handle::current()),
                metrics: ExecutionPlanMetricsSet::new(),
            };
            let config = SessionConfig::new_with_ballista();
            let context = Arc::new(TaskContext::default().with_session_config(config));
            let rows = reader.execute(0, context).unwrap();
            rows.try_collect::<Vec<_>>().await
        };
        assert_eq!(read("this").await.unwrap(), std::slice::from_ref(&batch));
        assert!(read("another").await.is_err());
    }
}
