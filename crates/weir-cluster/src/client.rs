//! The client of a cluster.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use ballista_core::BALLISTA_VERSION;
use ballista_core::serde::protobuf::execute_query_failure_result::Failure;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, CleanJobDataParams, ExecuteQueryParams, GetJobMetricsParams,
    GetJobStatusParams, KeyValuePair, PartitionLocation, execute_query_result, job_status,
};
use ballista_core::version;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{exec_err, internal_err};
use datafusion::error::{DataFusionError, Result as DfResult};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::displayable;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    SendableRecordBatchStream,
};
use datafusion::prelude::SessionContext;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use prost::Message;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::mpsc::Sender;
use tokio::task::JoinSet;
use tonic::Request;
use tonic::metadata::{AsciiMetadataValue, MetadataMap};
use tonic::transport::Channel;
use weir_engine::{
    Cluster, ErrorKind, PieceExec, PieceProgress, Reports, ScanReport, false_cuts, without_cuts,
};

use crate::check::{Sender as PlanSender, check_plan, is_allowed};
use crate::clock::RunningTime;
use crate::codec::WeirCodec;
use crate::dial::CONNECT;
use crate::error::{Error, chain};
use crate::fetch::Location;
use crate::job_rows::{PendingReports, locations, read};
use crate::kept::RENEW_EVERY;
use crate::protocol::{
    CLIENT, HINT, MESSAGE_BYTES_MAX, PIECES, READERS, READY, RECORDS, REJECTED, RowsRequest,
    SOURCE_BYTES, UNANSWERED_MAX, of_rows,
};
use crate::retry;
use crate::server::engine_state;
use crate::trust::{Trust, error_message, is_hung_up};

/// A client of the scheduler at an address. Clones share their state.
#[derive(Clone, Debug)]
pub struct Client {
    inner: Arc<Inner>,
    /// The size of the pieces of large captures, in bytes.
    piece_bytes: u64,
}

struct Inner {
    /// Host and port.
    scheduler: String,
    trust: Trust,
    partitions: usize,
    session: String,
    /// The number of jobs that are not cancelled or removed yet.
    under_way: Mutex<u64>,
    ended: Condvar,
    seen: Mutex<Vec<String>>,
    runtime: Option<Runtime>,
    handle: Handle,
    /// A session like that of the executors.
    arrival: Arc<TaskContext>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheduler)
    }
}

impl Inner {
    fn under_way(&self) -> std::sync::MutexGuard<'_, u64> {
        self.under_way
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn end_one(&self) {
        *self.under_way() -= 1;
        self.ended.notify_all();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A runtime cannot be shut down by waiting in an async context.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Client {
    /// A client of the scheduler at this host and port, whose plans repartition to this number of partitions.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(scheduler: impl Into<String>, partitions: usize) -> Result<Self, Error> {
        Self::trusted(scheduler, partitions, Trust::default())
    }

    /// Creates a client like [`Self::new`], with authentication.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn trusted(
        scheduler: impl Into<String>,
        partitions: usize,
        trust: Trust,
    ) -> Result<Self, Error> {
        static SESSIONS: AtomicU64 = AtomicU64::new(0);
        let session = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        // The runtime of the session may have no I/O and time drivers.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(1)
            .thread_name("weir-cluster-client")
            .build()
            .map_err(|error| Error::new(format!("cannot start threads: {error}")))?;
        Ok(Self {
            piece_bytes: PIECE_BYTES,
            inner: Arc::new(Inner {
                handle: runtime.handle().clone(),
                arrival: SessionContext::new_with_state(engine_state(&[], None)?).task_ctx(),
                runtime: Some(runtime),
                scheduler: scheduler.into(),
                trust,
                partitions: partitions.max(1),
                session: format!("weir-{}-{now}-{session}", std::process::id()),
                under_way: Mutex::default(),
                ended: Condvar::new(),
                seen: Mutex::default(),
            }),
        })
    }

    /// The same client, which cuts large captures into pieces of about so many bytes.
    #[must_use]
    pub fn with_piece_bytes(self, piece_bytes: u64) -> Self {
        Self {
            piece_bytes,
            ..self
        }
    }

    /// Waits until all jobs are cancelled or removed, or until the timeout. To be called when no result is awaited any more.
    pub fn settle(&self, at_most: Duration) {
        let until = Instant::now() + at_most;
        let mut under_way = self.inner.under_way();
        while *under_way > 0 {
            // The scheduler may be gone.
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                break;
            };
            let waited = self.inner.ended.wait_timeout(under_way, left);
            under_way = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The executors whose rows were fetched so far, as host and port.
    #[must_use]
    pub fn executors(&self) -> Vec<String> {
        let seen = self.inner.seen.lock();
        seen.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Cluster for Client {
    fn sent(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
        let codec = WeirCodec::default();
        let node = PhysicalPlanNode::try_from_physical_plan(Arc::clone(plan), &codec).ok()?;
        // The decoded plan has to equal the original: functions are serialized by name, and some operators lose a field.
        let arrived = node
            .try_into_physical_plan(&self.inner.arrival, &codec)
            .ok()?;
        let written =
            |plan: &Arc<dyn ExecutionPlan>| displayable(plan.as_ref()).indent(false).to_string();
        if written(&arrived) != written(plan) || arrived.schema() != plan.schema() {
            return None;
        }
        let bytes = node.encode_to_vec();
        // The plan has to fit into a message, with the settings.
        if bytes.len() > MESSAGE_BYTES_MAX - (1 << 20) {
            return None;
        }
        // The scheduler would reject it.
        check_plan(&bytes, PlanSender::Client).ok()?;
        Some(Arc::new(ClusterExec::new(self.clone(), Arc::clone(plan))))
    }

    fn partitions(&self) -> usize {
        self.inner.partitions
    }

    fn piece_bytes(&self) -> u64 {
        self.piece_bytes
    }
}

/// Runs its child on the cluster, and returns the rows.
#[derive(Debug)]
struct ClusterExec {
    client: Client,
    plan: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ClusterExec {
    fn new(client: Client, plan: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(plan.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self {
            client,
            plan,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The numbers of stages and pieces. A stage ends at an exchange of rows.
    fn shape(&self) -> (usize, usize) {
        let (mut stages, mut pieces) = (1, 0);
        let walked = self.plan.apply(|node| {
            if matches!(
                node.name(),
                "RepartitionExec" | "CoalescePartitionsExec" | "SortPreservingMergeExec"
            ) {
                stages += 1;
            }
            if let Some(piece) = node.downcast_ref::<PieceExec>() {
                pieces += piece.pieces();
            }
            Ok(TreeNodeRecursion::Continue)
        });
        debug_assert!(walked.is_ok());
        (stages, pieces)
    }
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stages, pieces) = self.shape();
        let separate = match kind {
            DisplayFormatType::TreeRender => "\n",
            _ => {
                f.write_str("ClusterExec: ")?;
                "; "
            }
        };
        write!(
            f,
            "all below runs on the executors of {}{separate}stages={stages}{separate}pieces={pieces}",
            self.client.inner.scheduler
        )
    }
}

impl ExecutionPlan for ClusterExec {
    fn name(&self) -> &'static str {
        "ClusterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.plan]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DfResult<TreeNodeRecursion>,
    ) -> DfResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DfResult<Arc<dyn ExecutionPlan>> {
        let [plan] = children.as_slice() else {
            return internal_err!("ClusterExec has one child");
        };
        Ok(Arc::new(Self::new(self.client.clone(), Arc::clone(plan))))
    }

    fn execute(
        &self,
        _partition: usize,
        context: Arc<TaskContext>,
    ) -> DfResult<SendableRecordBatchStream> {
        let config = context.session_config();
        let settings = config.options().entries().into_iter();
        // The other settings matter to the planner only.
        let settings = settings.filter(|entry| is_allowed(&entry.key));
        let settings = settings.map(|entry| KeyValuePair {
            key: entry.key,
            value: entry.value,
        });
        let request = PlannedQuery {
            plan: Arc::clone(&self.plan),
            settings: settings.collect(),
            operation: context.session_id(),
        };
        let report = config.get_extension::<ScanReport>().unwrap_or_default();
        let client = self.client.clone();
        let mut builder = RecordBatchReceiverStream::builder(self.schema(), 2);
        let sender = builder.tx();
        let handle = self.client.inner.handle.clone();
        builder.spawn(async move {
            // The task is aborted when the stream is dropped.
            let mut run = JoinSet::new();
            run.spawn_on(
                async move { client.run(request, &report, &sender).await },
                &handle,
            );
            match run.join_next().await {
                Some(Ok(outcome)) => outcome,
                Some(Err(error)) => exec_err!("the task of the cluster query failed: {error}"),
                None => Ok(()),
            }
        });
        Ok(builder.build())
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// A plan with its settings.
struct PlannedQuery {
    plan: Arc<dyn ExecutionPlan>,
    settings: Vec<KeyValuePair>,
    operation: String,
}

impl PlannedQuery {
    fn query(&self, session: &str) -> DfResult<ExecuteQueryParams> {
        let codec = WeirCodec::default();
        let plan = PhysicalPlanNode::try_from_physical_plan(Arc::clone(&self.plan), &codec)?;
        Ok(ExecuteQueryParams {
            query: Some(Query::PhysicalPlan(plan.encode_to_vec())),
            settings: self.settings.clone(),
            session_id: session.to_owned(),
            operation_id: self.operation.clone(),
        })
    }
}

/// A job of the scheduler. It is cancelled when this is dropped before all rows are fetched.
struct Job {
    client: Client,
    channel: Channel,
    id: Option<String>,
    /// All rows were fetched, and the job data is to be removed.
    is_fetched: bool,
}

impl Job {
    fn new(client: &Client, channel: &Channel) -> Self {
        *client.inner.under_way() += 1;
        Self {
            client: client.clone(),
            channel: channel.clone(),
            id: None,
            is_fetched: false,
        }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let inner = Arc::clone(&self.client.inner);
        let Some(id) = self.id.take() else {
            inner.end_one();
            return;
        };
        let channel = self.channel.clone();
        let is_fetched = self.is_fetched;
        let handle = inner.handle.clone();
        handle.spawn(async move {
            let mut scheduler = SchedulerGrpcClient::new(channel);
            // A scheduler that is gone has no job.
            if !is_fetched {
                let job = CancelJobParams { job_id: id.clone() };
                let _ = scheduler.cancel_job(job).await;
            }
            let _ = scheduler
                .clean_job_data(CleanJobDataParams {
                    job_id: id,
                    remove_stage_ids: Vec::new(),
                })
                .await;
            inner.end_one();
        });
    }
}

impl Client {
    async fn channel(&self) -> DfResult<Channel> {
        let Inner {
            scheduler, trust, ..
        } = &*self.inner;
        let endpoint = trust
            .calm_endpoint(scheduler)
            .map_err(|error| DataFusionError::Execution(error.to_string()))?;
        let connect = || async {
            let connected = trust.connected(&endpoint).await;
            connected.map_err(|error| chain(&error))
        };
        // A handshake may be under way when newer connections need the place.
        let connected = retry::attempts(connect, |message| is_hung_up(message)).await;
        connected.map_err(|message| {
            DataFusionError::Execution(format!(
                "no scheduler answers at {scheduler}: {}",
                trust.unconnected(&message)
            ))
        })
    }

    /// Waits for an executor: without one the scheduler would queue the job for ever. This is the first request, which also shows
    /// whether the client is authenticated. False when the scheduler does not respond.
    async fn ready(&self, channel: &Channel) -> DfResult<bool> {
        let Inner {
            scheduler, trust, ..
        } = &*self.inner;
        let mut waited = RunningTime::default();
        loop {
            let response = retry::request(|| {
                let mut scheduler = SchedulerGrpcClient::new(channel.clone());
                async move {
                    let nothing = GetJobStatusParams::default();
                    scheduler.get_job_status(nothing).await
                }
            });
            let message = match tokio::time::timeout(CONNECT, response).await {
                Ok(Ok(answered)) => match number(answered.metadata(), READY) {
                    Some(ready) if ready > 0 => return Ok(true),
                    Some(_) => None,
                    None => Some("the response is not that of a weir scheduler".to_owned()),
                },
                Ok(Err(status)) => Some(error_message(&status, trust)),
                Err(_) => return Ok(false),
            };
            if let Some(message) = message {
                return exec_err!("the scheduler at {scheduler} rejects the connection: {message}");
            }
            if waited.read(Instant::now()) > EXECUTORS {
                return exec_err!(
                    "the scheduler {scheduler} has no executor: weir cluster executor --scheduler {scheduler} starts one"
                );
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// A connection to a scheduler that has an executor.
    async fn scheduler(&self) -> DfResult<Channel> {
        let mut channel = self.channel().await?;
        let mut unanswered = 0;
        // A request whose connection is closed meanwhile may get no response.
        while !self.ready(&channel).await? {
            unanswered += 1;
            if unanswered == UNANSWERED_MAX {
                let Inner {
                    scheduler, trust, ..
                } = &*self.inner;
                let message = trust.unanswered("it does not respond");
                return exec_err!("the scheduler at {scheduler} rejects the connection: {message}");
            }
            channel = self.channel().await?;
        }
        Ok(channel)
    }

    /// Runs a plan, and sends its rows.
    async fn run(
        &self,
        mut request: PlannedQuery,
        report: &ScanReport,
        sender: &Sender<DfResult<RecordBatch>>,
    ) -> DfResult<()> {
        let channel = self.scheduler().await?;
        let mut is_run_again = false;
        loop {
            let mut job = Job::new(self, &channel);
            let query = request.query(&self.inner.session)?;
            let watched = Watched::new(report, &request.plan);
            let parts = self
                .finished(query, &mut job, channel.clone(), &watched)
                .await?;
            drop(watched);
            let reports = self.reports(&job, channel.clone()).await?;
            // Checked before the first row is returned: the parts of a capture have to fit together.
            let wrong = false_cuts(&request.plan, &reports)?;
            if !wrong.is_empty() {
                request.plan = without_cuts(request.plan, &wrong)?;
                report.add_notes(vec![format!(
                    "{} read again in one piece: it was not split where a record begins, or it is damaged",
                    wrong.join(", ")
                )]);
                continue;
            }
            // Unsorted rows are returned in the order of the pieces.
            let locations = locations(parts)?;
            self.see(&locations);
            let (schema, trust) = (request.plan.schema(), &self.inner.trust);
            let mut pending = PendingReports::new(reports, report);
            let outcome = tokio::select! {
                read = read(trust, locations, &schema, sender, &mut pending) => read,
                () = renew(job.id.as_deref().unwrap_or_default(), &channel) => Ok(false),
            };
            match outcome {
                Ok(is_fetched) => {
                    job.is_fetched = is_fetched;
                    return Ok(());
                }
                // Once: a statement whose rows end their executors ends two of them.
                Err(lost) if lost.is_lost() && !pending.is_added() && !is_run_again => {
                    is_run_again = true;
                    pending.discard();
                    report.add_notes(vec![format!("the statement was run again: {lost}")]);
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Records the executors whose rows are fetched.
    fn see(&self, locations: &[Location]) {
        let mut seen = self
            .inner
            .seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for Location { host, port, .. } in locations {
            let name = format!("{host}:{port}");
            if !seen.contains(&name) {
                seen.push(name);
            }
        }
    }

    /// Waits until the job has ended, and returns the locations of its rows.
    async fn finished(
        &self,
        query: ExecuteQueryParams,
        job: &mut Job,
        channel: Channel,
        watched: &Watched<'_>,
    ) -> DfResult<Vec<PartitionLocation>> {
        let mut scheduler = SchedulerGrpcClient::new(channel)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
            .max_decoding_message_size(MESSAGE_BYTES_MAX);
        let mut request = Request::new(query);
        version::insert_version_header(request.metadata_mut());
        request.metadata_mut().insert(CLIENT, processes());
        // `execute_query_push` returns the job ID only with the first change of the status: the job could not be cancelled
        // before.
        let answered = scheduler.execute_query(request).await;
        let answered = answered.map_err(|status| refused(status.message()))?;
        let theirs = version::version_from_metadata(answered.metadata());
        version::check_compatibility(Some(BALLISTA_VERSION), theirs)
            .map_err(DataFusionError::Execution)?;
        let id = match answered.into_inner().result {
            Some(execute_query_result::Result::Success(success)) => success.job_id,
            Some(execute_query_result::Result::Failure(failure)) => {
                return Err(refused(match &failure.failure {
                    Some(
                        Failure::SessionNotFound(why)
                        | Failure::PlanParsingFailure(why)
                        | Failure::SqlParsingFailure(why),
                    ) => why,
                    None => "no reason was given",
                }));
            }
            None => return Err(refused("no reason was given")),
        };
        job.id = Some(id.clone());
        let begun = Instant::now();
        let mut is_known = false;
        let mut wait = ASK_FIRST;
        loop {
            let response = retry::request(|| {
                let (mut scheduler, job_id) = (scheduler.clone(), id.clone());
                async move {
                    let params = GetJobStatusParams { job_id };
                    scheduler.get_job_status(params).await
                }
            });
            let reported = match response.await {
                Ok(reported) => {
                    watched.update(reported.metadata());
                    reported.into_inner().status
                }
                Err(status) => {
                    return exec_err!(
                        "the scheduler is not available any more: {}",
                        status.message()
                    );
                }
            };
            // The scheduler may not know a job yet that was queued just now.
            if reported.is_none() && (is_known || begun.elapsed() > QUEUED) {
                return exec_err!(
                    "the scheduler is not available any more: the one at its address does not know the job"
                );
            }
            is_known |= reported.is_some();
            match reported.and_then(|reported| reported.status) {
                Some(job_status::Status::Failed(failed)) => {
                    return Err(job_error(&failed.error));
                }
                Some(job_status::Status::Successful(done)) => {
                    return Ok(done.partition_location);
                }
                _ => {}
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(ASK_AGAIN);
        }
    }

    /// Gets the counters and located errors of the executors.
    async fn reports(&self, job: &Job, channel: Channel) -> DfResult<Reports> {
        let scheduler = SchedulerGrpcClient::new(channel)
            .max_encoding_message_size(MESSAGE_BYTES_MAX)
            .max_decoding_message_size(MESSAGE_BYTES_MAX);
        let answered = retry::request(|| {
            let (mut scheduler, id) = (scheduler.clone(), job.id.clone());
            async move {
                let job_id = id.unwrap_or_default();
                scheduler
                    .get_job_metrics(GetJobMetricsParams { job_id })
                    .await
            }
        });
        let answered = answered.await.map_err(|status| {
            DataFusionError::Execution(format!(
                "the metrics of the job are not available: {}",
                status.message()
            ))
        })?;
        let mut reports = Reports::default();
        let stages = answered.into_inner().stages.into_iter();
        let operators = stages.flat_map(|stage| stage.operators);
        for metric in operators.flat_map(|operator| operator.metrics) {
            if let Some(Metric::Count(count)) = metric.metric {
                reports.take(&count.name, count.value);
            }
        }
        Ok(reports)
    }
}

/// Has the executors keep the rows of a job, without an end: their receiver may take any time.
async fn renew(job: &str, channel: &Channel) {
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        let renewed = retry::request(|| {
            let mut scheduler = SchedulerGrpcClient::new(channel.clone());
            let request = of_rows(job, RowsRequest::Renew);
            async move { scheduler.get_job_status(request).await }
        });
        // Without a scheduler the executors keep them for some time.
        let _ = renewed.await;
    }
}

/// The user, the session of processes, which those that a shell or a script starts have in common, and the machine: several may have
/// one address.
fn processes() -> AsciiMetadataValue {
    let user = rustix::process::getuid().as_raw();
    let session = session();
    let machine = System::host_name().unwrap_or_default();
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-.".contains(*letter);
    let machine: String = machine.chars().filter(is_plain).take(MACHINE_MAX).collect();
    let name = AsciiMetadataValue::try_from(format!("{user}-{session}-{machine}"));
    // All of it is ASCII.
    name.unwrap_or_else(|_| AsciiMetadataValue::from_static(""))
}

/// The session of this process. It is 0 in a container that was entered from outside, where the leader has no number
/// (pid_namespaces(7)): `getsid` of rustix panics there.
fn session() -> u32 {
    let process = Pid::from_u32(std::process::id());
    let mut system = System::new();
    system.refresh_processes_specifics(
        ProcessesToUpdate::Some(&[process]),
        true,
        ProcessRefreshKind::nothing().without_tasks(),
    );
    let session = system
        .process(process)
        .and_then(sysinfo::Process::session_id);
    session.map_or(0, Pid::as_u32)
}

/// Reports the progress of a plan, until this is dropped.
struct Watched<'r> {
    report: &'r ScanReport,
    plan: u64,
    pieces_all: u64,
}

impl<'r> Watched<'r> {
    fn new(report: &'r ScanReport, plan: &Arc<dyn ExecutionPlan>) -> Self {
        static PLANS: AtomicU64 = AtomicU64::new(0);
        let watched = Self {
            report,
            plan: PLANS.fetch_add(1, Ordering::Relaxed),
            pieces_all: pieces_of(plan),
        };
        watched.update(&MetadataMap::new());
        watched
    }

    fn update(&self, metadata: &MetadataMap) {
        let mut progress = PieceProgress::default();
        progress.pieces_all = self.pieces_all;
        let counter = |name| number(metadata, name).unwrap_or(0);
        // A piece that is read again does not count twice.
        progress.pieces = counter(PIECES).min(self.pieces_all);
        progress.source_bytes = counter(SOURCE_BYTES);
        progress.records = counter(RECORDS);
        progress.readers = counter(READERS);
        self.report.set_under_way(self.plan, Some(progress));
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.report.set_under_way(self.plan, None);
    }
}

/// The number of pieces of all scans of a plan.
fn pieces_of(plan: &Arc<dyn ExecutionPlan>) -> u64 {
    let mut readings = HashMap::new();
    let walked = plan.apply(|node| {
        if let Some(piece) = node.downcast_ref::<PieceExec>() {
            // Scans of the same captures share their pieces.
            readings.insert(piece.reading(), piece.pieces() as u64);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    debug_assert!(walked.is_ok());
    readings.values().sum()
}

fn number(metadata: &MetadataMap, name: &str) -> Option<u64> {
    metadata.get(name)?.to_str().ok()?.parse().ok()
}

/// The error of a failed job, in the words and with the hint that its executor has for it.
fn job_error(error: &str) -> DataFusionError {
    let error = reason(error);
    match error.split_once(HINT) {
        Some((message, hint)) => {
            let error = weir_engine::Error::new(ErrorKind::Run, message).with_hint(hint);
            DataFusionError::External(Box::new(error))
        }
        None => DataFusionError::Execution(error),
    }
}

/// The error of a failed job, without the prefixes of Ballista.
fn reason(error: &str) -> String {
    let of_stage = error.strip_prefix("Job failed due to stage ");
    let of_stage = of_stage.and_then(|rest| rest.split_once(" failed: "));
    let mut message = of_stage.map_or(error, |(_, message)| message);
    // These words are those of an engine, and may quote values of any text.
    if message.contains(HINT) {
        return message.trim().to_owned();
    }
    for start in [
        "DataFusion error: ",
        "External error: ",
        "Execution error: ",
    ] {
        if let Some((_, rest)) = message.rsplit_once(start) {
            message = rest;
        }
    }
    let mut message = message.trim();
    // The end of an error in the form of Rust's `Debug`.
    let debug = message.trim_end_matches(')');
    if debug.len() < message.len() && debug.ends_with('"') {
        message = debug.trim_end_matches('"');
    }
    if message.contains(REJECTED) {
        return "an executor rejects the tasks of the statement: their plan is beyond its limits, or it has too many tasks already"
            .to_owned();
    }
    // An executor writes nothing but rows between stages.
    match FULL.iter().find(|full| message.contains(**full)) {
        Some(full) => format!("the work directory of an executor (--work-dir) is full: {full}"),
        None => message.to_owned(),
    }
}

fn refused(why: &str) -> DataFusionError {
    DataFusionError::Execution(format!("the scheduler rejects the statement: {why}"))
}

/// Error texts of systems for a full disk, quota or file size limit.
const FULL: [&str; 4] = [
    "No space left on device",
    "File too large",
    "Disk quota exceeded",
    "There is not enough space on the disk",
];

/// The letters of the name of a machine that are sent.
const MACHINE_MAX: usize = 40;
/// The first and the largest interval of polling the status of a job.
const ASK_FIRST: Duration = Duration::from_millis(4);
const ASK_AGAIN: Duration = Duration::from_millis(64);
/// The time after which a scheduler has to know a queued job.
const QUEUED: Duration = Duration::from_secs(20);

/// Large enough that the search for the start of a piece and the overhead of a task, milliseconds of scheduler and executor, are small
/// beside reading it, which takes at least fifty.
const PIECE_BYTES: u64 = 256 << 20;
/// The time that a client waits for the first executor, while it runs itself.
const EXECUTORS: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::error_text;

    #[test]
    fn a_client_has_a_name_of_limited_length() {
        let name = processes();
        let name = name.to_str().unwrap();
        let user = rustix::process::getuid().as_raw();
        assert!(name.starts_with(&format!("{user}-")), "{name}");
        // A scheduler takes 64 octets.
        assert!(name.len() <= 2 * 10 + 2 + MACHINE_MAX, "{name}");
        assert_eq!(processes(), name);
    }

    #[test]
    fn a_full_work_directory_is_reported_in_plain_words() {
        let message = reason(
            "Job failed due to stage 1 failed: Task failed due to runtime execution error: DataFusionError(Shared(External(\
             ArrowError(IoError(\"No space left on device (os error 28)\", Os { code: 28 }",
        );
        assert_eq!(
            message,
            "the work directory of an executor (--work-dir) is full: No space left on device"
        );
        assert_eq!(reason("Execution error: x is y\")"), "x is y");
        let message =
            reason("Job failed due to stage 1 failed: a.pcap: No such file (os error 2)\n");
        assert_eq!(message, "a.pcap: No such file (os error 2)");
        let message = reason("task could not be prepared or was rejected by executor");
        assert!(message.contains("beyond its limits"), "{message}");
    }

    /// The hint of an error stood behind it, in the same line, and a value that it quoted was taken for the error of a full disk.
    #[test]
    fn the_error_of_an_executor_has_its_hint() {
        let message = "'Execution error: File too large\u{1f}' is no number";
        let error = weir_engine::Error::new(ErrorKind::Run, message).with_hint("try z");
        let found = job_error(&format!(
            "Job failed due to stage 1 failed: {}",
            error_text(&error)
        ));
        let found = weir_engine::Error::from_datafusion(ErrorKind::Run, found, &[]);
        let expected = "'Execution error: File too large ' is no number";
        assert_eq!(found.to_string(), expected);
        assert_eq!(found.hint(), Some("try z"));
    }
}
