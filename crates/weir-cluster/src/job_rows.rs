//! The rows of a job that has ended, as its client fetches them.
//!
//! An executor that is gone takes the rows with it that it has written. A client that has given out none of the rows runs its statement
//! again; otherwise the statement fails.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use ballista_core::serde::protobuf::PartitionLocation;
use datafusion::common::internal_err;
use datafusion::error::{DataFusionError, Result as DfResult};
use futures::stream::BoxStream;
use futures::{StreamExt as _, TryStreamExt as _};
use tokio::sync::mpsc::Sender;
use weir_engine::{ErrorKind, Reports, ScanReport};

use crate::dial::CONNECT;
use crate::fetch::{FetchError, Location, connect, fetch};
use crate::retry;
use crate::trust::Trust;

/// What the executors of a job have read. It counts once the rows of the job do, and otherwise when this is dropped, unless the job is run
/// again.
pub(crate) struct PendingReports<'r> {
    reports: Option<Reports>,
    report: &'r ScanReport,
}

impl<'r> PendingReports<'r> {
    pub(crate) fn new(reports: Reports, report: &'r ScanReport) -> Self {
        Self {
            reports: Some(reports),
            report,
        }
    }

    /// Forgets it: the job is run again.
    pub(crate) fn discard(&mut self) {
        self.reports = None;
    }

    /// Adds it to what the session has read.
    fn add(&mut self) {
        if let Some(reports) = self.reports.take() {
            reports.tell(self.report);
        }
    }

    /// Whether rows of the job were given out.
    pub(crate) const fn is_added(&self) -> bool {
        self.reports.is_none()
    }
}

impl Drop for PendingReports<'_> {
    fn drop(&mut self) {
        self.add();
    }
}

/// Rows that an executor does not give.
pub(crate) struct Unfetched {
    host: String,
    port: u16,
    error: FetchError,
}

impl Unfetched {
    /// Whether another executor can compute the rows again.
    pub(crate) const fn is_lost(&self) -> bool {
        matches!(self.error, FetchError::Lost(_))
    }
}

impl fmt::Display for Unfetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, error } = self;
        match error {
            FetchError::Lost(_) => write!(
                f,
                "the rows of the executor {host}:{port} cannot be fetched: {error}"
            ),
            FetchError::Malformed(_) => write!(f, "the executor {host}:{port} sends {error}"),
        }
    }
}

impl From<Unfetched> for DataFusionError {
    fn from(unfetched: Unfetched) -> Self {
        let message = unfetched.to_string();
        if !unfetched.is_lost() {
            return Self::Execution(message);
        }
        let error = weir_engine::Error::new(ErrorKind::Run, message)
            .with_hint("run the statement again: other executors compute its rows");
        Self::External(Box::new(error))
    }
}

/// The locations of the rows of a job, in the order of the pieces.
///
/// # Errors
/// When the scheduler does not say where some are.
pub(crate) fn locations(mut parts: Vec<PartitionLocation>) -> DfResult<Vec<Location>> {
    parts.sort_by_key(|part| {
        let partition = part.partition_id.as_ref();
        (
            partition.map(|partition| partition.partition_id),
            part.map_partition_id,
        )
    });
    parts.into_iter().map(location).collect()
}

fn location(part: PartitionLocation) -> DfResult<Location> {
    let layout = part.layout();
    let (Some(executor), Some(partition)) = (part.executor_meta, part.partition_id) else {
        return internal_err!("the job status has an incomplete partition location");
    };
    Ok(Location {
        host: executor.host,
        port: u16::try_from(executor.port).unwrap_or_default(),
        partition,
        file_id: part.file_id,
        layout: layout.into(),
    })
}

/// Sends the rows of a job. False when their receiver is gone before their end.
///
/// # Errors
/// When an executor does not give its rows.
pub(crate) async fn read(
    trust: &Trust,
    locations: Vec<Location>,
    schema: &SchemaRef,
    sender: &Sender<DfResult<RecordBatch>>,
    pending: &mut PendingReports<'_>,
) -> Result<bool, Unfetched> {
    for location in locations {
        let mut batches = rows_at(trust, location, schema).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            // The receiver may end with the first batch.
            pending.add();
            if sender.send(Ok(batch)).await.is_err() {
                return Ok(false);
            }
        }
    }
    pending.add();
    Ok(true)
}

/// The rows of a partition on an executor.
async fn rows_at(
    trust: &Trust,
    location: Location,
    schema: &SchemaRef,
) -> Result<BoxStream<'static, Result<RecordBatch, Unfetched>>, Unfetched> {
    let begun = Instant::now();
    let open = || async {
        let to = connect(trust, &location.host, location.port).await?;
        fetch(to, &location, Arc::clone(schema)).await
    };
    // A machine that does not answer at all is waited for once.
    let is_lost =
        |error: &FetchError| matches!(error, FetchError::Lost(_)) && begun.elapsed() < CONNECT;
    let rows = retry::attempts(open, is_lost).await;
    let Location { host, port, .. } = location;
    let unfetched = move |error: FetchError| Unfetched {
        host: host.clone(),
        port,
        error,
    };
    match rows {
        Ok(rows) => Ok(rows.map_err(unfetched).boxed()),
        Err(error) => Err(unfetched(error)),
    }
}
