//! The rows that answer a statement.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result as DfResult;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, execute_stream_partitioned};
use futures::StreamExt;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;

use crate::error::{Error, ErrorKind};

/// The answer to a statement: batches of rows, as they come.
///
/// Several partitions of the plan run side by side; their rows are given one partition after the
/// other, so that files are answered in their order.
pub struct Answer {
    schema: SchemaRef,
    partitions: std::vec::IntoIter<Receiver<DfResult<RecordBatch>>>,
    current: Option<Receiver<DfResult<RecordBatch>>>,
    // Dropping the answer stops what still runs.
    tasks: JoinSet<()>,
}

impl Answer {
    pub(crate) fn start(
        schema: SchemaRef,
        plan: Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
    ) -> Result<Self, Error> {
        let streams = execute_stream_partitioned(plan, Arc::clone(context))
            .map_err(|error| Error::from_datafusion(ErrorKind::Plan, error, &[]))?;
        let mut tasks = JoinSet::new();
        let mut partitions = Vec::with_capacity(streams.len());
        for mut stream in streams {
            let (sender, receiver) = channel(BATCHES_AHEAD);
            partitions.push(receiver);
            tasks.spawn(async move {
                while let Some(batch) = stream.next().await {
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
            tasks,
        })
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
                Some(Err(error)) => {
                    return Err(Error::from_datafusion(ErrorKind::Run, error, &[]));
                }
                None => self.current = None,
            }
        }
    }
}

/// Batches of a partition that may wait for the partitions before it.
const BATCHES_AHEAD: usize = 4;
