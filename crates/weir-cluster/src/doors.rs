//! The doors of a scheduler and of an executor: what Ballista serves, behind those that ask who comes in.
//!
//! An executor of Ballista takes tasks at a port whose server nobody can put anything before. Where callers are asked who they
//! are, that port is one of this machine only (127.0.0.1), tasks and rows come in by one door of ours, and a task that did
//! not come by it is not run: the door adds a word to each task that only this process knows.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use ballista_core::JobId;
use ballista_core::client::BallistaClient;
use ballista_core::client_pool::{BallistaClientPool, PooledClient};
use ballista_core::error::BallistaError;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;
use ballista_core::serde::protobuf::executor_grpc_server::{ExecutorGrpc, ExecutorGrpcServer};
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::scheduler_grpc_server::{SchedulerGrpc, SchedulerGrpcServer};
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CancelTasksParams, CancelTasksResult, CleanJobDataParams,
    CleanJobDataResult, CreateUpdateSessionParams, CreateUpdateSessionResult, ExecuteQueryParams,
    ExecuteQueryResult, ExecutorRegistration, ExecutorStoppedParams, ExecutorStoppedResult,
    GetJobMetricsParams, GetJobMetricsResult, GetJobStatusParams, GetJobStatusResult,
    HeartBeatParams, HeartBeatResult, KeyValuePair, LaunchMultiTaskParams, LaunchMultiTaskResult,
    LaunchTaskParams, LaunchTaskResult, PollWorkParams, PollWorkResult, RegisterExecutorParams,
    RegisterExecutorResult, RemoveJobDataParams, RemoveJobDataResult, RemoveSessionParams,
    RemoveSessionResult, StopExecutorParams, StopExecutorResult, TaskStatus,
    UpdateTaskStatusParams, UpdateTaskStatusResult, task_status,
};
use ballista_core::utils::GrpcClientConfig;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use ballista_executor::flight_service::BallistaFlightService;
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion::common::extensions_options;
use datafusion::config::ConfigExtension;
use datafusion::error::DataFusionError;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::service::Routes;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Server};
use tonic::{Request, Response, Status};
use weir_engine::Reports;

use crate::client::MESSAGE_BYTES_MAX;
use crate::error::Error;
use crate::trust::{Trust, admitted, is_same};

type BallistaScheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;
type Answer<T> = Result<Response<T>, Status>;

/// Serves what those ask who may come in, until `end`.
async fn serve(
    listener: TcpListener,
    routes: Routes,
    pages: Router,
    trust: &Trust,
    end: impl Future<Output = ()>,
) -> Result<(), Error> {
    let routes = routes
        .prepare()
        .into_axum_router()
        .layer(from_fn_with_state(trust.clone(), admitted));
    let server = Server::builder()
        .accept_http1(true)
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE));
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    trust
        .server(server)?
        .add_routes(Routes::from(pages.merge(routes)))
        .serve_with_incoming_shutdown(incoming, end)
        .await
        .map_err(|error| Error::new(crate::trust::chain(&error)))
}

/// Schedules for those who may come in.
pub(crate) async fn schedule(
    listener: TcpListener,
    scheduler: BallistaScheduler,
    trust: &Trust,
) -> Result<(), Error> {
    let ready = scheduler.clone();
    // What asks whether a machine lives has no certificate of the cluster, where there are none.
    let pages = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route(
            "/readyz",
            get(move || async move {
                match ready.is_ready() {
                    true => (StatusCode::OK, "ready"),
                    false => (StatusCode::SERVICE_UNAVAILABLE, "no executor"),
                }
            }),
        );
    let door = SchedulerDoor {
        scheduler,
        one_door: trust.is_asked(),
        jobs: Mutex::default(),
    };
    let service = SchedulerGrpcServer::new(door)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(MESSAGE_BYTES_MAX);
    let never = std::future::pending();
    serve(listener, Routes::new(service), pages, trust, never).await
}

/// A scheduler that says how far its jobs are, and knows by which door its executors are reached.
struct SchedulerDoor {
    scheduler: BallistaScheduler,
    /// Executors take tasks where they give rows.
    one_door: bool,
    jobs: Mutex<Jobs>,
}

/// How far jobs are, and in which order they came.
#[derive(Default)]
struct Jobs {
    read: HashMap<String, Read>,
    order: VecDeque<String>,
}

/// What was read of a job.
#[derive(Default)]
struct Read {
    reports: Reports,
    executors: BTreeSet<String>,
}

impl SchedulerDoor {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self, metadata: &mut Option<ExecutorRegistration>) {
        if let Some(metadata) = metadata.as_mut().filter(|_| self.one_door) {
            metadata.grpc_port = metadata.port;
        }
    }

    /// Takes up what the pieces of a task say that they have read.
    fn take(&self, task: &TaskStatus, executor: &str) {
        if !matches!(task.status, Some(task_status::Status::Successful(_))) {
            return;
        }
        let mut jobs = self.jobs();
        let Jobs { read, order } = &mut *jobs;
        let metrics = task.metrics.iter().flat_map(|set| &set.metrics);
        for metric in metrics {
            let Some(Metric::Count(count)) = &metric.metric else {
                continue;
            };
            if !Reports::is_of_progress(&count.name) {
                continue;
            }
            if !read.contains_key(&task.job_id) {
                order.push_back(task.job_id.clone());
                // Somebody who has gone does not say that a job is over.
                if order.len() > JOBS_MAX
                    && let Some(oldest) = order.pop_front()
                {
                    read.remove(&oldest);
                }
            }
            let of_job = read.entry(task.job_id.clone()).or_default();
            of_job.reports.take(&count.name, count.value);
            of_job.executors.insert(executor.to_owned());
        }
    }

    fn forget(&self, job: &str) {
        let mut jobs = self.jobs();
        if jobs.read.remove(job).is_some() {
            jobs.order.retain(|known| known != job);
        }
    }

    fn tell(&self, job: &str, metadata: &mut MetadataMap) {
        let jobs = self.jobs();
        let Some(read) = jobs.read.get(job) else {
            return;
        };
        let progress = read.reports.progress();
        for (name, value) in [
            (PIECES, progress.pieces),
            (SOURCE_BYTES, progress.source_bytes),
            (RECORDS, progress.records),
            (READERS, read.executors.len() as u64),
        ] {
            metadata.insert(name, MetadataValue::from(value));
        }
    }
}

#[tonic::async_trait]
impl SchedulerGrpc for SchedulerDoor {
    type ExecuteQueryPushStream = <BallistaScheduler as SchedulerGrpc>::ExecuteQueryPushStream;

    async fn poll_work(&self, request: Request<PollWorkParams>) -> Answer<PollWorkResult> {
        SchedulerGrpc::poll_work(&self.scheduler, request).await
    }

    async fn register_executor(
        &self,
        mut request: Request<RegisterExecutorParams>,
    ) -> Answer<RegisterExecutorResult> {
        self.reached(&mut request.get_mut().metadata);
        SchedulerGrpc::register_executor(&self.scheduler, request).await
    }

    async fn heart_beat_from_executor(
        &self,
        mut request: Request<HeartBeatParams>,
    ) -> Answer<HeartBeatResult> {
        self.reached(&mut request.get_mut().metadata);
        SchedulerGrpc::heart_beat_from_executor(&self.scheduler, request).await
    }

    async fn update_task_status(
        &self,
        request: Request<UpdateTaskStatusParams>,
    ) -> Answer<UpdateTaskStatusResult> {
        let told = request.get_ref();
        for task in &told.task_status {
            self.take(task, &told.executor_id);
        }
        SchedulerGrpc::update_task_status(&self.scheduler, request).await
    }

    async fn create_update_session(
        &self,
        request: Request<CreateUpdateSessionParams>,
    ) -> Answer<CreateUpdateSessionResult> {
        SchedulerGrpc::create_update_session(&self.scheduler, request).await
    }

    async fn remove_session(
        &self,
        request: Request<RemoveSessionParams>,
    ) -> Answer<RemoveSessionResult> {
        SchedulerGrpc::remove_session(&self.scheduler, request).await
    }

    async fn execute_query_push(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> Answer<Self::ExecuteQueryPushStream> {
        SchedulerGrpc::execute_query_push(&self.scheduler, request).await
    }

    async fn execute_query(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> Answer<ExecuteQueryResult> {
        SchedulerGrpc::execute_query(&self.scheduler, request).await
    }

    /// How a job is, with how much of it was read. Of no job: whether there is an executor.
    async fn get_job_status(
        &self,
        request: Request<GetJobStatusParams>,
    ) -> Answer<GetJobStatusResult> {
        let job = request.get_ref().job_id.clone();
        if job.is_empty() {
            let mut response = Response::new(GetJobStatusResult::default());
            let ready = MetadataValue::from(u64::from(self.scheduler.is_ready()));
            response.metadata_mut().insert(READY, ready);
            return Ok(response);
        }
        let mut response = SchedulerGrpc::get_job_status(&self.scheduler, request).await?;
        self.tell(&job, response.metadata_mut());
        Ok(response)
    }

    async fn get_job_metrics(
        &self,
        request: Request<GetJobMetricsParams>,
    ) -> Answer<GetJobMetricsResult> {
        SchedulerGrpc::get_job_metrics(&self.scheduler, request).await
    }

    async fn executor_stopped(
        &self,
        request: Request<ExecutorStoppedParams>,
    ) -> Answer<ExecutorStoppedResult> {
        SchedulerGrpc::executor_stopped(&self.scheduler, request).await
    }

    async fn cancel_job(&self, request: Request<CancelJobParams>) -> Answer<CancelJobResult> {
        self.forget(&request.get_ref().job_id);
        SchedulerGrpc::cancel_job(&self.scheduler, request).await
    }

    async fn clean_job_data(
        &self,
        request: Request<CleanJobDataParams>,
    ) -> Answer<CleanJobDataResult> {
        self.forget(&request.get_ref().job_id);
        SchedulerGrpc::clean_job_data(&self.scheduler, request).await
    }
}

/// Gives rows to all who ask, until `end`: where nobody is asked who they are, tasks have a port of their own.
pub(crate) async fn give_rows(
    at: SocketAddr,
    work_dir: String,
    end: impl Future<Output = ()>,
) -> Result<(), Error> {
    Server::builder()
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE))
        .add_service(rows_of(work_dir))
        .serve_with_shutdown(at, end)
        .await
        .map_err(|error| Error::new(crate::trust::chain(&error)))
}

/// The service that gives the rows of a folder.
fn rows_of(work_dir: String) -> FlightServiceServer<BallistaFlightService> {
    FlightServiceServer::new(BallistaFlightService::new(work_dir))
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
}

/// Gives rows and takes tasks for those who may come in; tasks go on to the port of this machine that Ballista takes them at.
pub(crate) async fn execute(
    listener: TcpListener,
    work_dir: String,
    tasks: u16,
    pass: Arc<str>,
    trust: &Trust,
    end: impl Future<Output = ()>,
) -> Result<(), Error> {
    let inner = Channel::from_shared(format!("http://127.0.0.1:{tasks}"))
        .map_err(|error| Error::new(error.to_string()))?
        .connect_lazy();
    let inner = ExecutorGrpcClient::new(inner)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(MESSAGE_BYTES_MAX);
    let door = ExecutorGrpcServer::new(ExecutorDoor { inner, pass })
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(MESSAGE_BYTES_MAX);
    let routes = Routes::new(door).add_service(rows_of(work_dir));
    serve(listener, routes, Router::new(), trust, end).await
}

struct ExecutorDoor {
    inner: ExecutorGrpcClient<Channel>,
    pass: Arc<str>,
}

impl ExecutorDoor {
    /// Says that a task came by the door.
    fn let_pass(&self, settings: &mut Vec<KeyValuePair>) {
        settings.push(KeyValuePair {
            key: format!("{}.pass", Pass::PREFIX),
            value: Some(self.pass.to_string()),
        });
    }
}

#[tonic::async_trait]
impl ExecutorGrpc for ExecutorDoor {
    async fn launch_task(&self, request: Request<LaunchTaskParams>) -> Answer<LaunchTaskResult> {
        let mut tasks = request.into_inner();
        for task in &mut tasks.tasks {
            self.let_pass(&mut task.props);
        }
        self.inner.clone().launch_task(tasks).await
    }

    async fn launch_multi_task(
        &self,
        request: Request<LaunchMultiTaskParams>,
    ) -> Answer<LaunchMultiTaskResult> {
        let mut tasks = request.into_inner();
        for task in &mut tasks.multi_tasks {
            self.let_pass(&mut task.props);
        }
        self.inner.clone().launch_multi_task(tasks).await
    }

    async fn stop_executor(
        &self,
        request: Request<StopExecutorParams>,
    ) -> Answer<StopExecutorResult> {
        self.inner.clone().stop_executor(request.into_inner()).await
    }

    async fn cancel_tasks(&self, request: Request<CancelTasksParams>) -> Answer<CancelTasksResult> {
        self.inner.clone().cancel_tasks(request.into_inner()).await
    }

    async fn remove_job_data(
        &self,
        request: Request<RemoveJobDataParams>,
    ) -> Answer<RemoveJobDataResult> {
        self.inner
            .clone()
            .remove_job_data(request.into_inner())
            .await
    }
}

extensions_options! {
    /// What a task has that came by the door.
    pub(crate) struct Pass {
        /// The word that the door adds.
        pub pass: String, default = String::new()
    }
}

impl ConfigExtension for Pass {
    const PREFIX: &'static str = "weir_door";
}

/// Runs tasks that came by the door.
pub(crate) struct Guarded {
    engine: DefaultExecutionEngine,
    pass: Arc<str>,
}

impl Guarded {
    pub(crate) fn new(pass: Arc<str>) -> Self {
        let pool: Arc<dyn BallistaClientPool> = Arc::new(Connections::default());
        Self {
            engine: DefaultExecutionEngine::with_client_pool(pool),
            pass,
        }
    }
}

impl ExecutionEngine for Guarded {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> datafusion::error::Result<Arc<dyn QueryStageExecutor>> {
        let given = config.options().extensions.get::<Pass>();
        if !given.is_some_and(|given| is_same(&given.pass, &self.pass)) {
            return Err(DataFusionError::Execution(
                "a task that did not come by the door of the executor is not run".to_owned(),
            ));
        }
        self.engine.create_query_stage_exec(
            job_id, stage_id, task_id, partitions, plan, work_dir, config,
        )
    }
}

/// Connections to other executors that were used before: a handshake costs more than a small part of a shuffle. Ballista's
/// own pool is not to be had from outside.
#[derive(Default)]
struct Connections {
    idle: Arc<Mutex<Vec<Idle>>>,
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connections")
    }
}

struct Idle {
    to: (String, u16),
    client: BallistaClient,
}

#[async_trait::async_trait]
impl BallistaClientPool for Connections {
    async fn acquire(
        &self,
        host: &str,
        port: u16,
        config: &GrpcClientConfig,
        endpoint: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<PooledClient, BallistaError> {
        let to = (host.to_owned(), port);
        let known = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let place = idle.iter().rposition(|idle| idle.to == to);
            place.map(|place| idle.remove(place).client)
        };
        let client = match known {
            Some(client) => client,
            None => {
                BallistaClient::try_new(
                    host,
                    port,
                    config.max_message_size,
                    config.use_tls,
                    endpoint,
                    config.io_retries_times,
                    config.io_retry_wait_time_ms,
                    config.initial_connection_window_size,
                    config.initial_stream_window_size,
                )
                .await?
            }
        };
        let idle = Arc::clone(&self.idle);
        let give_back = move |client| {
            let mut idle = idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push(Idle { to, client });
            let too_many = idle.len().saturating_sub(IDLE_MAX);
            // Those of machines that have gone are not used again, and come to the front.
            idle.drain(..too_many);
        };
        Ok(PooledClient::new(client, Box::new(give_back)))
    }

    async fn evict_idle(&self) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.clear();
    }
}

/// What the answers about a job say beside how it is.
pub(crate) const PIECES: &str = "weir-pieces";
pub(crate) const SOURCE_BYTES: &str = "weir-source-bytes";
pub(crate) const RECORDS: &str = "weir-records";
pub(crate) const READERS: &str = "weir-readers";
/// What the answer about no job says: whether there is an executor.
pub(crate) const READY: &str = "weir-ready";
/// Jobs of which is known how far they are.
const JOBS_MAX: usize = 1_000;
const IDLE_MAX: usize = 64;
const KEEP_ALIVE: Duration = Duration::from_secs(20);
