//! The gRPC services of a scheduler and of an executor: the services of Ballista, behind authentication and validation.
//!
//! Each message is validated ([`crate::check`]) before Ballista handles it: Ballista would run any plan, and accept any name and
//! count.
//!
//! An executor has one port, for tasks and rows.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use ballista_core::JobId;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::execute_query_result;
use ballista_core::serde::protobuf::executor_grpc_server::{ExecutorGrpc, ExecutorGrpcServer};
use ballista_core::serde::protobuf::executor_resource::Resource;
use ballista_core::serde::protobuf::scheduler_grpc_server::{SchedulerGrpc, SchedulerGrpcServer};
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CancelTasksParams, CancelTasksResult, CleanJobDataParams,
    CleanJobDataResult, CreateUpdateSessionParams, CreateUpdateSessionResult, ExecuteQueryParams,
    ExecuteQueryResult, ExecutorRegistration, ExecutorStoppedParams, ExecutorStoppedResult,
    FailedJob, GetJobMetricsParams, GetJobMetricsResult, GetJobStatusParams, GetJobStatusResult,
    HeartBeatParams, HeartBeatResult, JobStatus, LaunchMultiTaskParams, LaunchMultiTaskResult,
    LaunchTaskParams, LaunchTaskResult, MultiTaskDefinition, PartitionLocation, PollWorkParams,
    PollWorkResult, RegisterExecutorParams, RegisterExecutorResult, RemoveJobDataParams,
    RemoveJobDataResult, RemoveSessionParams, RemoveSessionResult, StopExecutorParams,
    StopExecutorResult, TaskId, TaskStatus, UpdateTaskStatusParams, UpdateTaskStatusResult,
    job_status, task_status,
};
use ballista_scheduler::cluster::JobState;
use ballista_scheduler::scheduler_server::SchedulerServer;
use ballista_scheduler::state::execution_stage::ExecutionStage;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::Stream;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tonic::metadata::MetadataValue;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::{Request, Response, Status};

use crate::answering::{Answers, bounded};
use crate::check::{self, Checked, Refused, Sender, check_plan};
use crate::clock::RunningClock;
use crate::connections::accept;
use crate::error::{Error, chain};
use crate::heartbeats::Absence;
use crate::kept::KeptJobs;
use crate::launch::{Rejections, rejection};
use crate::losses::{Losses, RunningTask};
use crate::panics::{self, caught, caught_in};
use crate::peer::{Connections, Peer};
use crate::plans::Plans;
use crate::progress::Progress;
use crate::protocol::{CLIENT, MESSAGE_BYTES_MAX, READY, REJECTED, RENEW, ROWS};
use crate::repeated::{is_any_twice, rows_from, writers};
use crate::rows::RowService;
use crate::trust::{Trust, admitted};
use crate::turns::{Submitter, Turns};
use crate::worker::{Worker, now_ms};

type BallistaScheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;
type ServiceResponse<T> = Result<Response<T>, Status>;

/// Serves authenticated requests, until it is dropped.
async fn serve(
    listener: TcpListener,
    routes: Routes,
    pages: Router,
    trust: &Trust,
) -> Result<(), Error> {
    let answers = Answers::default();
    let routes = routes
        .prepare()
        .into_axum_router()
        .layer(from_fn_with_state(answers.clone(), bounded))
        .layer(from_fn_with_state(trust.clone(), admitted));
    let routes = Routes::from(pages.merge(routes));
    trust.check_member()?;
    let (to_known, known) = mpsc::channel(ACCEPTED_MAX);
    let served = Server::builder()
        .accept_http1(true)
        .http2_keepalive_interval(Some(KEEP_ALIVE))
        .http2_keepalive_timeout(Some(KEEP_ALIVE))
        .max_concurrent_streams(STREAMS_MAX)
        .http2_max_header_list_size(HEADERS_MAX)
        .http2_max_pending_accept_reset_streams(Some(RESETS_MAX))
        .http2_max_local_error_reset_streams(Some(RESETS_MAX))
        .add_routes(routes)
        .serve_with_incoming(connections(known));
    let served = tokio::select! {
        served = served => served,
        () = accept(listener, Connections::default(), answers, trust.clone(), to_known) => Ok(()),
    };
    served.map_err(|error| Error::new(chain(&error)))
}

/// The stream of accepted connections.
fn connections<S>(mut accepted: mpsc::Receiver<S>) -> impl Stream<Item = std::io::Result<S>> {
    futures::stream::poll_fn(move |context| {
        accepted.poll_recv(context).map(|stream| stream.map(Ok))
    })
}

/// What is known of the jobs of a scheduler beside their state.
#[derive(Clone, Default)]
pub(crate) struct JobRecords {
    /// The reasons that executors give for rejections.
    pub(crate) rejections: Rejections,
    /// The executors that jobs lose.
    pub(crate) losses: Losses,
    /// The turns that jobs have.
    pub(crate) turns: Turns,
}

/// Serves the scheduler, whose jobs have this state and these records. Jobs that have no executor for so long are cancelled.
pub(crate) async fn schedule(
    listener: TcpListener,
    scheduler: BallistaScheduler,
    jobs: Arc<dyn JobState>,
    records: JobRecords,
    lost_after: Duration,
    trust: &Trust,
) -> Result<(), Error> {
    let ready = scheduler.clone();
    // Load balancers have no token, so that the health checks work without one where there are no certificates of files.
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
    let plans = Arc::new(Plans::new(Arc::clone(&jobs)));
    let kept = Arc::<KeptJobs>::default();
    let clock = RunningClock::default();
    let ended = ended(
        scheduler.clone(),
        Arc::clone(&plans),
        Arc::clone(&kept),
        records.clone(),
        clock.clone(),
        lost_after,
    );
    let validated = ValidatedScheduler {
        scheduler,
        state: jobs,
        plans,
        kept,
        records,
        progress: Progress::default(),
        refused: AtomicU64::new(0),
        clock,
    };
    let service = SchedulerGrpcServer::new(validated)
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(MESSAGE_BYTES_MAX);
    tokio::select! {
        served = serve(listener, Routes::new(service), pages, trust) => served,
        error = ended => Err(error),
    }
}

/// Waits until the event loop of the scheduler has ended. It launches all tasks, and all jobs wait for ever once it has
/// panicked. Meanwhile removes the plans of jobs that have ended, cancels jobs whose clients are gone, and those that have no executor for
/// so long, and has rows removed that their clients do not read any more.
async fn ended(
    scheduler: BallistaScheduler,
    plans: Arc<Plans>,
    kept: Arc<KeptJobs>,
    records: JobRecords,
    clock: RunningClock,
    lost_after: Duration,
) -> Error {
    let mut absence = Absence::default();
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let now = clock.now();
        plans.remove_ended(now, false).await;
        let running = scheduler.state.task_manager.get_running_job_cache();
        let runs = |job: &str| running.contains_key(&JobId::from(job.to_owned()));
        records.losses.retain(runs);
        records.turns.forget_ended(&running);
        let absent_for = absence.read(scheduler.is_ready(), now);
        let no_executor_for = (absent_for >= lost_after).then_some(absent_for);
        for job in plans.to_cancel(now, no_executor_for).await {
            let job_id = job.into_inner();
            // An error is that of the event loop, which is checked below.
            let _ = SchedulerGrpc::cancel_job(&scheduler, Request::new(CancelJobParams { job_id }))
                .await;
        }
        for job_id in kept.take_expired(now) {
            let remove_stage_ids = Vec::new();
            let cleaned = CleanJobDataParams {
                job_id,
                remove_stage_ids,
            };
            let _ = SchedulerGrpc::clean_job_data(&scheduler, Request::new(cleaned)).await;
        }
        // An empty status of the executor with the latest heartbeat is posted: the status of a lost executor is not.
        let known = scheduler.state.executor_manager.get_executors_state().await;
        let last = known
            .into_iter()
            .flatten()
            .max_by_key(|(_, heard_of, _)| *heard_of);
        let Some((executor, _, _)) = last else {
            continue;
        };
        let nothing = UpdateTaskStatusParams {
            executor_id: executor.id,
            task_status: Vec::new(),
        };
        if let Err(status) =
            SchedulerGrpc::update_task_status(&scheduler, Request::new(nothing)).await
        {
            return Error::new(format!(
                "the event loop of the scheduler has ended: {}",
                status.message()
            ));
        }
    }
}

/// The service of a scheduler: it validates requests, adds the progress of jobs to their status, and sets the port of executors.
struct ValidatedScheduler {
    scheduler: BallistaScheduler,
    /// The jobs, and what Ballista keeps of those that have ended.
    state: Arc<dyn JobState>,
    plans: Arc<Plans>,
    kept: Arc<KeptJobs>,
    records: JobRecords,
    progress: Progress,
    /// The number of refused reports of executors.
    refused: AtomicU64,
    /// The clock of what clients ask.
    clock: RunningClock,
}

impl ValidatedScheduler {
    /// Counts what executors report and the scheduler refuses.
    fn counting<T>(&self, checked: Result<T, Refused>) -> Result<T, Refused> {
        if checked.is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        checked
    }

    /// The statuses of tasks that run on this executor. Ballista does not check that a status is of a known task.
    async fn of_tasks(
        &self,
        executor: &str,
        task_statuses: Vec<TaskStatus>,
    ) -> Result<Vec<TaskStatus>, Refused> {
        check::executor_id(executor)?;
        check::statuses(task_statuses.len())?;
        let running = self.scheduler.state.task_manager.get_running_job_cache();
        let mut known: Vec<TaskStatus> = Vec::new();
        for status in task_statuses {
            check::job_id(&status.job_id)?;
            check::finished(&status, executor)?;
            let Some(job) = running.get(&JobId::from(status.job_id.clone())) else {
                continue;
            };
            let graph = job.execution_graph.read().await;
            let is_repeated = known.iter().any(|of| {
                (of.task_id, of.stage_id, &of.job_id)
                    == (status.task_id, status.stage_id, &status.job_id)
            });
            let stage = graph.stages().get(&(status.stage_id as usize));
            if !is_repeated && stage.is_some_and(|stage| runs_in(stage, &status, executor)) {
                known.push(status);
            }
        }
        Ok(known)
    }

    /// The rows of a job that has ended. Where those of a partition are in several places, tasks were run again.
    async fn rows(&self, job: &str, rows: Vec<PartitionLocation>) -> Vec<PartitionLocation> {
        if !is_any_twice(&rows) {
            return rows;
        }
        let job = JobId::from(job);
        let running = self.scheduler.state.task_manager.get_running_job_cache();
        let written = match running.get(&job) {
            Some(of_job) => Some(writers(of_job.execution_graph.read().await.stages())),
            None => {
                let graph = self.state.get_execution_graph(&job).await;
                graph.ok().flatten().map(|graph| writers(graph.stages()))
            }
        };
        match written {
            Some(written) => rows_from(rows, &written),
            None => rows,
        }
    }
}

/// Validates the metadata of an executor, and sets its gRPC port to its Flight port: it has one port.
pub(crate) fn reached(metadata: &mut Option<ExecutorRegistration>) -> Checked {
    let Some(metadata) = metadata else {
        return Err(Refused::malformed("the executor has no metadata"));
    };
    check::executor_id(&metadata.id)?;
    check::port(metadata.port)?;
    match &metadata.host {
        Some(host) => check::host(host)?,
        None => return Err(Refused::malformed("the executor has no host")),
    }
    let resources = metadata.specification.iter().flat_map(|of| &of.resources);
    let cores: u64 = resources
        .filter_map(|of| of.resource.as_ref())
        .map(|Resource::Vcores(cores)| u64::from(*cores))
        .fold(0, u64::saturating_add);
    check::described(metadata)?;
    if !(1..=CORES_MAX).contains(&cores) {
        return Err(Refused::malformed(format!(
            "the executor has {cores} cores, and the range is 1 to {CORES_MAX}"
        )));
    }
    metadata.grpc_port = metadata.port;
    Ok(())
}

/// Validates a heartbeat.
pub(crate) fn beaten(reported: &mut HeartBeatParams) -> Checked {
    check::beat(reported)?;
    reached(&mut reported.metadata)?;
    match &reported.metadata {
        Some(of) if of.id == reported.executor_id => Ok(()),
        _ => Err(Refused::malformed(
            "the executor ID is not that of the metadata",
        )),
    }
}

/// The submitter of a statement.
fn submitter(request: &Request<ExecuteQueryParams>) -> Submitter {
    let client = request.metadata().get(CLIENT);
    let client = client.and_then(|client| client.to_str().ok());
    let client = client.filter(|client| client.len() <= CLIENT_LEN_MAX);
    Submitter {
        host: request.extensions().get::<Peer>().and_then(Peer::host),
        client: client.unwrap_or_default().to_owned(),
        session: request.get_ref().session_id.clone(),
    }
}

/// Makes a failure of a job that is still to be planned after so long: a panic of the planner has no other end.
fn end_lost(job: &mut JobStatus, now_ms: u64) {
    let Some(job_status::Status::Queued(queued)) = &job.status else {
        return;
    };
    job.status = Some(job_status::Status::Failed(FailedJob {
        error: "the scheduler could not plan it: its standard error may say why".to_owned(),
        queued_at: queued.queued_at,
        started_at: now_ms,
        ended_at: now_ms,
    }));
}

/// Whether a status can be that of a task of a stage: the task exists, it has not succeeded before, and it does not run on
/// another executor. Ballista ignores the status of a task that was reset meanwhile.
fn runs_in(stage: &ExecutionStage, status: &TaskStatus, executor: &str) -> bool {
    let attempt = status.stage_attempt_num as usize;
    match stage {
        ExecutionStage::Running(stage) => {
            let task = stage.task_infos.get(status.task_id as usize);
            attempt <= stage.stage_attempt_num
                && task.is_some_and(|task| match &task.task_status {
                    task_status::Status::Running(of) => of.executor_id == executor,
                    task_status::Status::Failed(_) => true,
                    task_status::Status::Successful(_) => false,
                })
        }
        ExecutionStage::UnResolved(stage) => {
            attempt.checked_add(1) == Some(stage.stage_attempt_num)
        }
        _ => false,
    }
}

#[tonic::async_trait]
impl SchedulerGrpc for ValidatedScheduler {
    type ExecuteQueryPushStream = <BallistaScheduler as SchedulerGrpc>::ExecuteQueryPushStream;

    async fn poll_work(
        &self,
        _request: Request<PollWorkParams>,
    ) -> ServiceResponse<PollWorkResult> {
        Err(Status::unimplemented(
            "poll_work is not supported: tasks are pushed to executors",
        ))
    }

    async fn register_executor(
        &self,
        mut request: Request<RegisterExecutorParams>,
    ) -> ServiceResponse<RegisterExecutorResult> {
        self.counting(reached(&mut request.get_mut().metadata))?;
        SchedulerGrpc::register_executor(&self.scheduler, request).await
    }

    async fn heart_beat_from_executor(
        &self,
        mut request: Request<HeartBeatParams>,
    ) -> ServiceResponse<HeartBeatResult> {
        self.counting(beaten(request.get_mut()))?;
        SchedulerGrpc::heart_beat_from_executor(&self.scheduler, request).await
    }

    async fn update_task_status(
        &self,
        mut request: Request<UpdateTaskStatusParams>,
    ) -> ServiceResponse<UpdateTaskStatusResult> {
        let reported = request.get_mut();
        let count = reported.task_status.len();
        let ended = RunningTask::reported(&reported.task_status);
        let known = self.of_tasks(
            &reported.executor_id,
            std::mem::take(&mut reported.task_status),
        );
        reported.task_status = self.counting(known.await)?;
        self.records.losses.end(&reported.executor_id, &ended);
        if reported.task_status.is_empty() {
            return Err(Status::not_found(format!(
                "none of the {count} tasks runs on the executor that reports them"
            )));
        }
        for task in &reported.task_status {
            self.progress.take(task, &reported.executor_id);
        }
        SchedulerGrpc::update_task_status(&self.scheduler, request).await
    }

    async fn create_update_session(
        &self,
        _request: Request<CreateUpdateSessionParams>,
    ) -> ServiceResponse<CreateUpdateSessionResult> {
        Err(Status::unimplemented(
            "create_update_session is not supported: settings are part of execute_query",
        ))
    }

    async fn remove_session(
        &self,
        request: Request<RemoveSessionParams>,
    ) -> ServiceResponse<RemoveSessionResult> {
        check::session_id(&request.get_ref().session_id)?;
        SchedulerGrpc::remove_session(&self.scheduler, request).await
    }

    async fn execute_query_push(
        &self,
        _request: Request<ExecuteQueryParams>,
    ) -> ServiceResponse<Self::ExecuteQueryPushStream> {
        Err(Status::unimplemented(
            "execute_query_push is not supported: get_job_status has the status of a job",
        ))
    }

    /// Queues a physical plan. SQL text and logical plans would be planned by Ballista, with every source and sink that
    /// DataFusion has.
    async fn execute_query(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> ServiceResponse<ExecuteQueryResult> {
        let requested = request.get_ref();
        check::session_id(&requested.session_id)?;
        check::check_settings(&requested.settings)?;
        match &requested.query {
            Some(Query::PhysicalPlan(plan)) => check_plan(plan, Sender::Client)?,
            _ => return Err(Refused::not_allowed("a query that is not a physical plan").into()),
        }
        let submitter = submitter(&request);
        let bytes = requested.encoded_len();
        let plan = self.plans.reserve(bytes, &submitter, self.clock.now());
        let plan = plan.await?;
        let queued = SchedulerGrpc::execute_query(&self.scheduler, request);
        let queued = submitter.queue(caught_in(queued)).await;
        let queued = queued.unwrap_or_else(|| Err(Refused::malformed(PANICKED).into()))?;
        if let Some(execute_query_result::Result::Success(of)) = &queued.get_ref().result {
            let now = self.clock.now();
            plan.keep(&of.job_id, now);
            self.kept.keep(&of.job_id, now);
        }
        Ok(queued)
    }

    /// The status of a job, with its progress; or whether its rows are kept ([`of_rows`](crate::protocol::of_rows)). Without a job ID: whether there is an
    /// executor, the number of refused reports of executors, and that of messages at which a reader panicked.
    async fn get_job_status(
        &self,
        request: Request<GetJobStatusParams>,
    ) -> ServiceResponse<GetJobStatusResult> {
        let job = request.get_ref().job_id.clone();
        if job.is_empty() {
            let mut response = Response::new(GetJobStatusResult::default());
            let ready = MetadataValue::from(u64::from(self.scheduler.is_ready()));
            response.metadata_mut().insert(READY, ready);
            let refused = MetadataValue::from(self.refused.load(Ordering::Relaxed));
            response.metadata_mut().insert(REFUSED, refused);
            let panics = MetadataValue::from(panics::count());
            response.metadata_mut().insert(PANICS, panics);
            return Ok(response);
        }
        check::job_id(&job)?;
        let now = self.clock.now();
        if let Some(asked) = request.metadata().get(ROWS) {
            let are_kept = match asked == RENEW {
                true => self.kept.read(&job, now),
                false => self.kept.contains(&job),
            };
            let mut response = Response::new(GetJobStatusResult::default());
            let are_kept = MetadataValue::from(u64::from(are_kept));
            response.metadata_mut().insert(ROWS, are_kept);
            return Ok(response);
        }
        self.kept.ask(&job, now);
        let cancelled = self.plans.ask(&job, now);
        let mut response = SchedulerGrpc::get_job_status(&self.scheduler, request).await?;
        if let Some(status) = &mut response.get_mut().status {
            if self.plans.is_late(&job, now) {
                end_lost(status, now_ms());
            }
            if let Some(job_status::Status::Successful(done)) = &mut status.status {
                let rows = std::mem::take(&mut done.partition_location);
                done.partition_location = self.rows(&job, rows).await;
            }
            if let Some(job_status::Status::Failed(failed)) = &mut status.status {
                if let Some(why) = cancelled {
                    failed.error = why.to_string();
                } else if failed.error.contains(REJECTED)
                    && let Some(why) = self.records.rejections.reason(&job)
                {
                    failed.error = why;
                }
            }
        }
        self.progress.add_to(response.metadata_mut(), &job);
        Ok(response)
    }

    async fn get_job_metrics(
        &self,
        request: Request<GetJobMetricsParams>,
    ) -> ServiceResponse<GetJobMetricsResult> {
        check::job_id(&request.get_ref().job_id)?;
        SchedulerGrpc::get_job_metrics(&self.scheduler, request).await
    }

    async fn executor_stopped(
        &self,
        request: Request<ExecutorStoppedParams>,
    ) -> ServiceResponse<ExecutorStoppedResult> {
        self.counting(check::stopped(request.get_ref()))?;
        self.records.losses.leave(&request.get_ref().executor_id);
        SchedulerGrpc::executor_stopped(&self.scheduler, request).await
    }

    async fn cancel_job(
        &self,
        request: Request<CancelJobParams>,
    ) -> ServiceResponse<CancelJobResult> {
        let job = &request.get_ref().job_id;
        check::job_id(job)?;
        self.progress.forget(job);
        self.records.turns.leave(job);
        self.kept.forget(job);
        // Ballista would send it on to all executors, and remember it for minutes.
        if !self.plans.cancel(job) {
            return Ok(Response::new(CancelJobResult { cancelled: false }));
        }
        SchedulerGrpc::cancel_job(&self.scheduler, request).await
    }

    async fn clean_job_data(
        &self,
        request: Request<CleanJobDataParams>,
    ) -> ServiceResponse<CleanJobDataResult> {
        let job = &request.get_ref().job_id;
        check::job_id(job)?;
        self.progress.forget(job);
        self.records.turns.leave(job);
        let (is_held, are_kept) = (self.plans.forget(job), self.kept.forget(job));
        if !is_held && !are_kept {
            return Ok(Response::new(CleanJobDataResult {}));
        }
        SchedulerGrpc::clean_job_data(&self.scheduler, request).await
    }
}

/// The Flight service for the rows in a directory.
fn rows_of(work_dir: String) -> FlightServiceServer<RowService> {
    FlightServiceServer::new(RowService::new(work_dir))
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(MESSAGE_BYTES_MAX)
}

/// Serves an executor: tasks and rows.
pub(crate) async fn execute(
    listener: TcpListener,
    worker: Arc<Worker>,
    trust: Trust,
) -> Result<(), Error> {
    let rows = rows_of(worker.work_dir().to_owned());
    let tasks = ExecutorGrpcServer::new(ValidatedExecutor { worker })
        .max_encoding_message_size(MESSAGE_BYTES_MAX)
        .max_decoding_message_size(MESSAGE_BYTES_MAX);
    let routes = Routes::new(tasks).add_service(rows);
    serve(listener, routes, Router::new(), &trust).await
}

struct ValidatedExecutor {
    worker: Arc<Worker>,
}

impl ValidatedExecutor {
    fn take(&self, mut tasks: MultiTaskDefinition) -> Checked {
        check::job_id(&tasks.job_id)?;
        check::session_id(&tasks.session_id)?;
        check::launched(&tasks.task_ids)?;
        let literals = check::literal_bytes(&tasks.plan, Sender::Scheduler)?;
        tasks.props = check::allowed_settings(tasks.props)?;
        check::bound_batch_rows(&mut tasks.props, literals);
        // A panic would be an error of the call: the scheduler would send the tasks to the next executor.
        match caught(|| self.worker.take(tasks)) {
            Some(taken) => taken.map_err(|error| Refused::malformed(error.to_string())),
            None => Err(Refused::malformed(PANICKED)),
        }
    }
}

#[tonic::async_trait]
impl ExecutorGrpc for ValidatedExecutor {
    async fn launch_task(
        &self,
        request: Request<LaunchTaskParams>,
    ) -> ServiceResponse<LaunchTaskResult> {
        for task in request.into_inner().tasks {
            self.take(MultiTaskDefinition {
                task_ids: vec![TaskId {
                    task_id: task.task_id,
                    task_attempt_num: task.task_attempt_num,
                    global_output_partition_ids: task.global_output_partition_ids,
                    vcores_consumed: task.vcores_consumed,
                }],
                job_id: task.job_id,
                stage_id: task.stage_id,
                stage_attempt_num: task.stage_attempt_num,
                plan: task.plan,
                session_id: task.session_id,
                launch_time: task.launch_time,
                props: task.props,
            })?;
        }
        Ok(Response::new(LaunchTaskResult { success: true }))
    }

    /// Launches tasks. The response lists the jobs whose tasks are rejected, each with the reason, and the scheduler fails these jobs. After an error
    /// of the call, the scheduler would remove the executor, and send the same tasks to the next one.
    async fn launch_multi_task(
        &self,
        request: Request<LaunchMultiTaskParams>,
    ) -> ServiceResponse<LaunchMultiTaskResult> {
        let mut failed_jobs = BTreeMap::new();
        for tasks in request.into_inner().multi_tasks {
            let job = tasks.job_id.clone();
            if let Err(why) = self.take(tasks) {
                failed_jobs.entry(job).or_insert(why);
            }
        }
        let failed_jobs = failed_jobs.iter().map(|(job, why)| rejection(job, why));
        Ok(Response::new(LaunchMultiTaskResult {
            failed_jobs: failed_jobs.collect(),
        }))
    }

    /// Does not stop the executor. A scheduler calls this when heartbeats of the executor are overdue, and registers the executor
    /// again at the next heartbeat. Only the user stops an executor.
    async fn stop_executor(
        &self,
        _request: Request<StopExecutorParams>,
    ) -> ServiceResponse<StopExecutorResult> {
        Ok(Response::new(StopExecutorResult {}))
    }

    async fn cancel_tasks(
        &self,
        request: Request<CancelTasksParams>,
    ) -> ServiceResponse<CancelTasksResult> {
        let tasks = request.into_inner().task_infos;
        for task in &tasks {
            check::job_id(&task.job_id)?;
        }
        self.worker.cancel(tasks);
        Ok(Response::new(CancelTasksResult { cancelled: true }))
    }

    async fn remove_job_data(
        &self,
        request: Request<RemoveJobDataParams>,
    ) -> ServiceResponse<RemoveJobDataResult> {
        let requested = request.into_inner();
        check::job_id(&requested.job_id)?;
        let job = Path::new(self.worker.work_dir()).join(&requested.job_id);
        let folders = match requested.remove_stage_ids.as_slice() {
            [] => {
                self.worker.end_job(&requested.job_id);
                vec![job]
            }
            stages => stages
                .iter()
                .map(|stage| job.join(stage.to_string()))
                .collect(),
        };
        for folder in folders {
            match tokio::fs::remove_dir_all(&folder).await {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Status::internal(format!(
                        "the rows of the job {}: {error}",
                        requested.job_id
                    )));
                }
                _ => {}
            }
        }
        Ok(Response::new(RemoveJobDataResult {}))
    }
}

/// The reason for a plan at which DataFusion panics.
const PANICKED: &str = "the plan cannot be decoded: a reader failed at it";
/// Metadata of the response without a job ID: the number of statuses, heartbeats and registrations of executors that were refused.
const REFUSED: &str = "weir-refused";
/// Metadata of the same response: the number of messages at which a reader panicked.
const PANICS: &str = "weir-panics";
/// The maximum length of the name that a client gives itself.
const CLIENT_LEN_MAX: usize = 64;
/// The maximum number of cores of an executor.
const CORES_MAX: u64 = 4096;
/// The interval between checks of the event loop.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// The maximum number of concurrent requests of a connection. A stage fetches the rows of all its inputs at the same time.
const STREAMS_MAX: u32 = 1024;
/// The maximum size of the headers of a request.
const HEADERS_MAX: u32 = 16 << 10;
/// The maximum number of streams that a peer has reset and the server has not taken note of (CVE-2023-44487), and of those that
/// the server has reset for errors of the peer; beyond it the connection is closed.
const RESETS_MAX: usize = 64;
/// The capacity of the queue of accepted connections.
const ACCEPTED_MAX: usize = 16;

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::{QueuedJob, RunningJob};

    use super::*;

    /// A panic of its planner left a job queued, and its client waiting, for ever.
    #[test]
    fn a_job_that_is_never_planned_fails() {
        let queued = QueuedJob { queued_at: 1_000 };
        let mut job = JobStatus {
            status: Some(job_status::Status::Queued(queued)),
            ..JobStatus::default()
        };
        end_lost(&mut job, 61_000);
        assert!(matches!(job.status, Some(job_status::Status::Failed(_))));
        let mut job = JobStatus {
            status: Some(job_status::Status::Running(RunningJob::default())),
            ..JobStatus::default()
        };
        end_lost(&mut job, 61_000);
        assert!(matches!(job.status, Some(job_status::Status::Running(_))));
    }
}
