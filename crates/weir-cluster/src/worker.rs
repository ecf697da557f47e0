//! Runs the tasks of an executor, and reports their status to the scheduler.
//!
//! It uses the parts of Ballista's executor, but not its executor process: that one serves tasks at a port without authentication,
//! reports statuses to any address that a message names, ends for good when its heartbeats were overdue, and removes directories
//! that it did not create.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ballista_core::BALLISTA_PROTOCOL_VERSION;
use ballista_core::error::BallistaError;
use ballista_core::ids::new_instance_id;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::protobuf::executor_resource::Resource;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    ExecutionError, ExecutorOperatingSystemSpecification, ExecutorRegistration, ExecutorResource,
    ExecutorSpecification, ExecutorStatus, ExecutorStoppedParams, FailedTask, HeartBeatParams,
    MultiTaskDefinition, OperatorMetricsSet, RegisterExecutorParams, RunningTaskInfo,
    ShuffleWritePartition, SuccessfulTask, TaskStatus, UpdateTaskStatusParams, executor_status,
    task_status,
};
use ballista_core::serde::scheduler::TaskDefinition;
use ballista_core::serde::scheduler::TaskKey;
use ballista_core::serde::scheduler::from_proto::get_task_definition_vec;
use ballista_core::serde::{BallistaCodec, BallistaLogicalExtensionCodec};
use ballista_core::{ConfigProducer, RuntimeProducer};
use ballista_executor::execution_engine::ExecutionEngine;
use ballista_executor::executor::{Executor, TasksDrainedFuture};
use ballista_executor::metrics::LoggingMetricsCollector;
use ballista_executor::runtime_cache::{DefaultSessionRuntimeCache, MemoryPoolPolicy};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::FutureExt;
use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tonic::transport::Channel;
use tonic::{Code, Status};
use weir_engine::ErrorKind;

use crate::check::{ERROR_BYTES_MAX, STATUSES_MAX};
use crate::codec::WeirCodec;
use crate::contact::LastContact;
use crate::error::Error;
use crate::pool::ConnectionPool;
use crate::protocol::{MESSAGE_BYTES_MAX, RowsRequest, are_kept, error_text, of_rows};
use crate::retry;
use crate::shuffle::ValidatingEngine;
use crate::tasks::{TakenTask, Tasks};
use crate::trust::Trust;
use crate::work::remove_earlier;

/// The configuration of a worker.
pub(crate) struct Equipment {
    /// The host and port that others connect to.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The number of concurrent tasks.
    pub(crate) cores: usize,
    /// The directory of rows between stages.
    pub(crate) work_dir: String,
    /// The memory limit of all tasks together; `None` for most of the memory of the machine.
    pub(crate) memory_limit_bytes: Option<usize>,
    /// The authentication of other executors.
    pub(crate) trust: Trust,
    /// Makes the configuration of sessions.
    pub(crate) config: ConfigProducer,
    pub(crate) functions: BallistaFunctionRegistry,
}

/// The status of a task that has ended, which takes room until it is reported.
pub(crate) type EndedStatus = (TaskStatus, OwnedSemaphorePermit);

/// Runs the tasks of an executor.
pub(crate) struct Worker {
    executor: Executor,
    engine: Arc<dyn ExecutionEngine>,
    codec: BallistaCodec,
    /// Waits for tasks, and has the connections to other executors. Each task has a thread of its own, so that services and heartbeats
    /// respond while tasks run.
    threads: Option<Runtime>,
    places: Arc<Semaphore>,
    /// The capacity of tasks that go on when they are cancelled.
    given_up: Arc<Semaphore>,
    /// The capacity of tasks that are queued, run, or are to be reported.
    room: Arc<Semaphore>,
    /// The tasks that wait or run.
    tasks: Tasks,
    finished: mpsc::UnboundedSender<EndedStatus>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A runtime cannot be shut down by waiting in an async context.
        if let Some(threads) = self.threads.take() {
            threads.shutdown_background();
        }
    }
}

impl Worker {
    /// A worker, which sends the statuses of tasks to `finished`.
    ///
    /// # Errors
    /// When no threads can be started, or there is less than a byte of memory for each core.
    pub(crate) fn new(
        equipment: Equipment,
        finished: mpsc::UnboundedSender<EndedStatus>,
    ) -> Result<Self, Error> {
        let cores = equipment.cores.max(1);
        let registration = registration(&equipment);
        let threads = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .worker_threads(cores)
            .thread_name("weir-task")
            .thread_stack_size(STACK_BYTES)
            .build()
            .map_err(|error| Error::new(format!("cannot start threads: {error}")))?;
        let pool = ConnectionPool::new(equipment.trust.clone(), threads.handle().clone());
        let engine: Arc<dyn ExecutionEngine> =
            Arc::new(ValidatingEngine::new(registration.id.clone(), pool));
        let work_dir = equipment.work_dir.clone();
        let base: RuntimeProducer = Arc::new(move |_| {
            RuntimeEnvBuilder::new()
                .with_temp_file_path(work_dir.clone())
                .build_arc()
        });
        let of_core = equipment.memory_limit_bytes.unwrap_or_else(most_of_memory) / cores;
        if of_core == 0 {
            return Err(Error::new(format!(
                "the memory limit is less than a byte for each of {cores} cores"
            )));
        }
        let shared: MemoryPoolPolicy = Arc::new(move |base, _, taken| {
            // A task says how many cores it takes.
            let bytes = of_core.saturating_mul((taken.max(1) as usize).min(cores));
            RuntimeEnvBuilder::from_runtime_env(&base)
                .with_memory_pool(Arc::new(FairSpillPool::new(bytes)))
                .build_arc()
        });
        let of_task: RuntimeProducer = {
            let (base, shared) = (Arc::clone(&base), Arc::clone(&shared));
            Arc::new(move |config| shared(base(config)?, config, 1))
        };
        let sessions = DefaultSessionRuntimeCache::new(base, shared, SESSIONS);
        let executor = Executor::new(
            registration,
            &equipment.work_dir,
            of_task,
            equipment.config,
            Arc::new(equipment.functions),
            Arc::new(LoggingMetricsCollector::default()),
            cores,
            Arc::clone(&engine),
        );
        let logical = Arc::new(BallistaLogicalExtensionCodec::default());
        Ok(Self {
            executor: executor.with_session_runtime_cache(Some(Arc::new(sessions))),
            engine,
            codec: BallistaCodec::new(logical, Arc::new(WeirCodec::default())),
            threads: Some(threads),
            places: Arc::new(Semaphore::new(cores)),
            given_up: Arc::new(Semaphore::new(GIVEN_UP_MAX)),
            room: Arc::new(Semaphore::new(TASKS_MAX)),
            tasks: Tasks::default(),
            finished,
        })
    }

    /// Queues the tasks of a stage.
    ///
    /// # Errors
    /// When the plan cannot be decoded, the queue is full, or the job has ended.
    pub(crate) fn take(self: &Arc<Self>, tasks: MultiTaskDefinition) -> Result<(), BallistaError> {
        let functions = &self.executor.function_registry;
        let tasks = get_task_definition_vec::<LogicalPlanNode, PhysicalPlanNode>(
            tasks,
            Arc::clone(&self.executor.runtime_producer),
            self.executor.produce_config(),
            functions.scalar_functions.clone(),
            functions.aggregate_functions.clone(),
            functions.window_functions.clone(),
            functions.higher_order_functions.clone(),
            self.codec.clone(),
        )?;
        let Some(threads) = &self.threads else {
            return Err(BallistaError::Cancelled);
        };
        for task in tasks {
            let room = Arc::clone(&self.room).try_acquire_owned();
            let room = room.map_err(|_| {
                BallistaError::General(format!(
                    "{TASKS_MAX} tasks are queued already, or wait to be reported"
                ))
            })?;
            let taken = self.tasks.take(key_of(&task))?;
            let worker = Arc::clone(self);
            threads.spawn(async move {
                let status = worker.run(task, taken).await;
                // The receiver is dropped when the executor ends.
                let _ = worker.finished.send((status, room));
            });
        }
        Ok(())
    }

    /// Waits for a place, and runs a task.
    async fn run(self: &Arc<Self>, task: TaskDefinition, mut taken: TakenTask) -> TaskStatus {
        let earlier = taken.take_earlier();
        let place = async {
            earlier.await;
            Arc::clone(&self.places).acquire_owned().await
        };
        let place = tokio::select! {
            biased;
            why = taken.cancelled() => Err(why),
            place = place => place.map_err(|_| BallistaError::Cancelled),
        };
        let mut status = TaskStatus {
            task_id: u32::try_from(task.task_id).unwrap_or(u32::MAX),
            job_id: task.job_id.to_string(),
            stage_id: u32::try_from(task.stage_id).unwrap_or(u32::MAX),
            stage_attempt_num: u32::try_from(task.stage_attempt_num).unwrap_or(u32::MAX),
            launch_time: task.launch_time,
            start_exec_time: now_ms(),
            ..TaskStatus::default()
        };
        // Every task gets a status, even after a panic: its job would otherwise wait for it for ever.
        let done = match place {
            Ok(place) => {
                let ended = self.ended(task, &mut taken).await;
                drop(place);
                status.metrics = ended.metrics;
                ended.done
            }
            Err(why) => Err(why),
        };
        status.end_exec_time = end_ms(status.start_exec_time, now_ms());
        status.status = Some(match done {
            Ok(done) => task_status::Status::Successful(done),
            Err(error) => task_status::Status::Failed(bounded(failed(error))),
        });
        status
    }

    /// Runs a task on a thread of its own. A call of a function is not cancelled: a task that goes on when it is cancelled is given up, and
    /// its place is free.
    async fn ended(self: &Arc<Self>, task: TaskDefinition, taken: &mut TakenTask) -> EndedTask {
        let (cancels, cancelled) = oneshot::channel();
        let (ends, mut ended) = oneshot::channel();
        let worker = Arc::clone(self);
        let thread = std::thread::Builder::new()
            .name("weir-task".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                // The receiver is gone when the executor ends.
                let _ = ends.send(worker.run_here(task, cancelled));
            });
        if let Err(error) = thread {
            return EndedTask::failed(no_thread(&error));
        }
        let why = tokio::select! {
            biased;
            ended = &mut ended => return EndedTask::of(ended.ok()),
            why = taken.cancelled() => why,
        };
        // The task may have ended already.
        let _ = cancels.send(why);
        if let Ok(ended) = tokio::time::timeout(GIVEN_UP_AFTER, &mut ended).await {
            return EndedTask::of(ended.ok());
        }
        let Ok(given_up) = Arc::clone(&self.given_up).try_acquire_owned() else {
            return EndedTask::of(ended.await.ok());
        };
        tokio::spawn(async move {
            // An error says that the thread has panicked.
            let _ = ended.await;
            drop(given_up);
        });
        EndedTask::failed(BallistaError::Cancelled)
    }

    /// Runs a task on this thread.
    fn run_here(
        &self,
        task: TaskDefinition,
        cancelled: oneshot::Receiver<BallistaError>,
    ) -> EndedTask {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .thread_name("weir-task")
            .thread_stack_size(STACK_BYTES)
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return EndedTask::failed(no_thread(&error)),
        };
        let mut metrics = Vec::new();
        let done = AssertUnwindSafe(self.done(task, cancelled, &mut metrics)).catch_unwind();
        let done = runtime.block_on(done);
        // Calls that go on in other threads are not waited for.
        runtime.shutdown_background();
        EndedTask {
            done: done.unwrap_or_else(|_| Err(panicked())),
            metrics,
        }
    }

    async fn done(
        &self,
        task: TaskDefinition,
        cancelled: oneshot::Receiver<BallistaError>,
        metrics: &mut Vec<OperatorMetricsSet>,
    ) -> Result<SuccessfulTask, BallistaError> {
        let key = key_of(&task);
        if task.stage_attempt_num > 0 {
            remove_earlier(&self.executor.work_dir, &key);
        }
        let stage = self.engine.create_query_stage_exec(
            task.job_id.clone(),
            task.stage_id,
            task.task_id,
            task.global_output_partition_ids,
            task.plan,
            &self.executor.work_dir,
            &task.session_config,
        )?;
        let runtime = self.executor.produce_runtime_for_session(
            &task.session_id,
            &task.session_config,
            task.vcores_consumed,
        )?;
        let functions = &task.function_registry;
        let context = Arc::new(TaskContext::new(
            Some(format!(
                "{}/{}/{}",
                task.job_id, task.stage_id, task.task_id
            )),
            task.session_id,
            task.session_config,
            functions.scalar_functions.clone(),
            functions.higher_order_functions.clone(),
            functions.aggregate_functions.clone(),
            functions.window_functions.clone(),
            runtime,
        ));
        let executor = &self.executor;
        let running = executor.execute_query_stage(key.clone(), Arc::clone(&stage), context);
        let mut running = pin!(running);
        // The executor knows the task once it has been polled.
        let written = tokio::select! {
            biased;
            written = &mut running => written,
            Ok(why) = cancelled => {
                let TaskKey { job_id, stage_id, task_id } = key;
                // The task may have ended already.
                let _ = executor.cancel_task(job_id, stage_id, task_id).await;
                running.await.map_err(|_| why)
            }
        };
        let measured = stage
            .collect_plan_metrics()
            .into_iter()
            .map(TryInto::try_into);
        // A failed task reports its located errors, too.
        *metrics = measured
            .collect::<Result<_, BallistaError>>()
            .unwrap_or_default();
        let partitions: Vec<ShuffleWritePartition> = written?;
        Ok(SuccessfulTask {
            executor_id: self.id().to_owned(),
            partitions,
            task_column_stats: stage.collect_column_stats(),
            ..SuccessfulTask::default()
        })
    }

    /// Cancels tasks that wait or run.
    pub(crate) fn cancel(&self, tasks: Vec<RunningTaskInfo>) {
        for task in tasks {
            self.tasks.cancel(&TaskKey {
                job_id: task.job_id.into(),
                stage_id: task.stage_id as usize,
                task_id: task.task_id as usize,
            });
        }
    }

    /// Cancels the tasks of a job whose rows are removed.
    pub(crate) fn end_job(&self, job: &str) {
        self.tasks.end_job(job);
    }

    /// Ends the tasks of jobs that the scheduler does not know for the second time, and returns the unknown jobs: a scheduler that was
    /// started again cancels no tasks of the one before. A task may arrive just before its job is known.
    pub(crate) async fn end_unknown<F>(
        &self,
        unknown: &BTreeSet<String>,
        is_known: impl Fn(String) -> F,
    ) -> BTreeSet<String>
    where
        F: Future<Output = bool>,
    {
        let mut still_unknown = BTreeSet::new();
        for job in self.tasks.jobs() {
            if is_known(job.clone()).await {
                continue;
            }
            if unknown.contains(&job) {
                self.end_job(&job);
            }
            still_unknown.insert(job);
        }
        still_unknown
    }

    /// The directory of rows between stages.
    pub(crate) fn work_dir(&self) -> &str {
        &self.executor.work_dir
    }

    fn id(&self) -> &str {
        &self.executor.metadata.id
    }
}

/// How a task has ended, and what its operators have counted.
struct EndedTask {
    done: Result<SuccessfulTask, BallistaError>,
    metrics: Vec<OperatorMetricsSet>,
}

impl EndedTask {
    fn failed(error: BallistaError) -> Self {
        Self {
            done: Err(error),
            metrics: Vec::new(),
        }
    }

    /// The end that the thread of a task has sent; `None` when the thread has panicked.
    fn of(sent: Option<Self>) -> Self {
        sent.unwrap_or_else(|| Self::failed(panicked()))
    }
}

fn panicked() -> BallistaError {
    let message = "an operator panicked: the standard error of the executor shows where";
    BallistaError::Internal(message.to_owned())
}

fn no_thread(error: &std::io::Error) -> BallistaError {
    BallistaError::General(format!("cannot start threads: {error}"))
}

/// Reports the statuses of tasks and heartbeats to the scheduler.
#[derive(Clone)]
pub(crate) struct StatusReporter {
    scheduler: SchedulerGrpcClient<Channel>,
    registration: ExecutorRegistration,
}

impl StatusReporter {
    pub(crate) fn new(worker: &Worker, scheduler: Channel) -> Self {
        Self {
            scheduler: SchedulerGrpcClient::new(scheduler)
                .max_encoding_message_size(MESSAGE_BYTES_MAX)
                .max_decoding_message_size(MESSAGE_BYTES_MAX),
            registration: worker.executor.metadata.clone(),
        }
    }

    /// Registers the executor. The scheduler connects to its port before it responds.
    pub(crate) async fn register(&self) -> Result<(), Error> {
        let registered = retry::request(|| {
            let mut scheduler = self.scheduler.clone();
            let metadata = Some(self.registration.clone());
            async move {
                scheduler
                    .register_executor(RegisterExecutorParams { metadata })
                    .await
            }
        });
        registered
            .await
            .map(|_| ())
            .map_err(|status| Error::new(status.message()))
    }

    /// Sends heartbeats; returns an error when the scheduler has refused several in a row. A scheduler that has removed the executor, or
    /// that was started again, registers it at a heartbeat.
    pub(crate) async fn live(self, every: Duration, mut contact: LastContact) -> Error {
        loop {
            let active = executor_status::Status::Active(String::new());
            if let Err(error) = contact.record(self.beat(active).await) {
                return error;
            }
            tokio::time::sleep(every).await;
        }
    }

    async fn beat(&self, status: executor_status::Status) -> Result<(), Status> {
        let params = HeartBeatParams {
            executor_id: self.registration.id.clone(),
            metrics: Vec::new(),
            status: Some(ExecutorStatus {
                status: Some(status),
            }),
            metadata: Some(self.registration.clone()),
        };
        let received = retry::request(|| {
            let (mut scheduler, params) = (self.scheduler.clone(), params.clone());
            async move { scheduler.heart_beat_from_executor(params).await }
        });
        received.await.map(|_| ())
    }

    /// Reports the statuses of ended tasks, until the sender is dropped.
    pub(crate) async fn report(self, mut finished: mpsc::UnboundedReceiver<EndedStatus>) {
        let mut ended = Vec::new();
        while finished.recv_many(&mut ended, STATUSES_MAX).await > 0 {
            let (reported, _room): (Vec<_>, Vec<_>) = ended.drain(..).unzip();
            if !self.is_refused(reported.clone()).await {
                continue;
            }
            // One status refuses the whole message.
            for status in reported {
                let failed = refused(&status);
                if self.is_refused(vec![status]).await {
                    self.is_refused(vec![failed]).await;
                }
            }
        }
    }

    /// Reports statuses, as soon as the scheduler answers: a job would wait for a task whose status is lost. True when the scheduler
    /// refuses them, for which it would wait as well. A scheduler that has ended the job, or that was restarted, ignores the status.
    async fn is_refused(&self, task_status: Vec<TaskStatus>) -> bool {
        let params = UpdateTaskStatusParams {
            executor_id: self.registration.id.clone(),
            task_status,
        };
        let code = loop {
            let answered = retry::request(|| {
                let (mut scheduler, params) = (self.scheduler.clone(), params.clone());
                async move { scheduler.update_task_status(params).await }
            });
            match answered.await.err() {
                Some(status) if retry::is_lost(&status) => {
                    tokio::time::sleep(REPORT_AGAIN).await;
                }
                answered => break answered.map(|status| status.code()),
            }
        };
        // The latter two are those of a message that is too large.
        matches!(
            code,
            Some(Code::InvalidArgument | Code::OutOfRange | Code::ResourceExhausted)
        )
    }

    /// Whether the rows of a job are still needed. A scheduler that does not answer may need them.
    pub(crate) async fn keeps_rows(&self, job: &str) -> bool {
        let answered = retry::request(|| {
            let mut scheduler = self.scheduler.clone();
            let request = of_rows(job, RowsRequest::Ask);
            async move { scheduler.get_job_status(request).await }
        });
        let answered = answered.await.ok();
        answered.and_then(|answered| are_kept(answered.metadata())) != Some(false)
    }

    /// Deregisters the executor, and waits for running tasks.
    pub(crate) async fn end(mut self, worker: &Worker) {
        // A scheduler that is gone has no tasks for it.
        let _ = self
            .beat(executor_status::Status::Terminating(String::new()))
            .await;
        let request = ExecutorStoppedParams {
            executor_id: self.registration.id.clone(),
            reason: "the executor was asked to end".to_owned(),
        };
        let _ = self.scheduler.executor_stopped(request).await;
        TasksDrainedFuture(Arc::new(worker.executor.clone())).await;
    }
}

/// The status of a task whose own status the scheduler refuses.
fn refused(status: &TaskStatus) -> TaskStatus {
    let failed = FailedTask {
        error: "the scheduler refuses the status of the task: its numbers or texts are beyond the limits"
            .to_owned(),
        failed_reason: Some(FailedReason::ExecutionError(ExecutionError {})),
        ..FailedTask::default()
    };
    TaskStatus {
        metrics: Vec::new(),
        status: Some(task_status::Status::Failed(failed)),
        ..status.clone()
    }
}

fn key_of(task: &TaskDefinition) -> TaskKey {
    TaskKey {
        job_id: task.job_id.clone(),
        stage_id: task.stage_id,
        task_id: task.task_id,
    }
}

/// The failure of a task. Ballista has the error in the form of Rust's `Debug`.
fn failed(error: BallistaError) -> FailedTask {
    let message = error_text(&worded(&error));
    let mut failed = FailedTask::from(error);
    if matches!(failed.failed_reason, Some(FailedReason::ExecutionError(_))) {
        failed.error = message;
    }
    failed
}

/// The innermost error, in the words of an engine.
fn worded(error: &BallistaError) -> weir_engine::Error {
    match error {
        BallistaError::DataFusionError(error) => {
            if let DataFusionError::External(inner) = error.find_root()
                && let Some(inner) = inner.downcast_ref::<BallistaError>()
            {
                return worded(inner);
            }
            weir_engine::Error::of_datafusion(ErrorKind::Run, error)
        }
        BallistaError::ArrowError(error) => weir_engine::Error::of_arrow(ErrorKind::Run, error),
        other => weir_engine::Error::new(ErrorKind::Run, other.to_string()),
    }
}

/// A failure whose text a scheduler takes.
fn bounded(mut failed: FailedTask) -> FailedTask {
    let end = failed.error.floor_char_boundary(ERROR_BYTES_MAX);
    failed.error.truncate(end);
    failed
}

fn registration(equipment: &Equipment) -> ExecutorRegistration {
    let cores = u32::try_from(equipment.cores.max(1)).unwrap_or(u32::MAX);
    ExecutorRegistration {
        id: new_instance_id(),
        host: Some(equipment.host.clone()),
        port: u32::from(equipment.port),
        grpc_port: u32::from(equipment.port),
        specification: Some(ExecutorSpecification {
            resources: vec![ExecutorResource {
                resource: Some(Resource::Vcores(cores)),
            }],
        }),
        os_info: Some(ExecutorOperatingSystemSpecification::default()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    }
}

/// Most of the memory of this machine, or of the control group of this process.
fn most_of_memory() -> usize {
    let mut system = sysinfo::System::new();
    system.refresh_memory();
    let of_group = system.cgroup_limits().map(|limits| limits.total_memory);
    let bytes = of_group.unwrap_or(u64::MAX).min(system.total_memory());
    usize::try_from(bytes / 10 * 7).unwrap_or(usize::MAX)
}

/// The end of a task. The clock may have been set back since its start.
fn end_ms(start: u64, now: u64) -> u64 {
    now.max(start)
}

pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

/// The maximum number of tasks that are queued, run, or are to be reported.
const TASKS_MAX: usize = 10_000;
/// The time after which a cancelled task is given up. Operators look whether it is cancelled many times a second.
const GIVEN_UP_AFTER: Duration = Duration::from_secs(2);
/// The number of tasks that may go on when they are given up. Those beyond it keep their places.
const GIVEN_UP_MAX: usize = 32;
/// The number of cached sessions.
const SESSIONS: usize = 16;
/// The interval of reporting statuses to a scheduler that does not answer.
const REPORT_AGAIN: Duration = Duration::from_secs(1);
const STACK_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::path::Path;
    use std::sync::Mutex;

    use arrow::datatypes::DataType;
    use arrow::error::ArrowError;
    use ballista_core::extension::SessionConfigExt as _;
    use ballista_core::serde::protobuf::ballista_physical_plan_node::PhysicalPlanType as Exchange;
    use ballista_core::serde::protobuf::{BallistaPhysicalPlanNode, ShuffleWriterExecNode, TaskId};
    use datafusion::logical_expr::{ColumnarValue, Volatility, create_udf};
    use datafusion::prelude::{SessionConfig, SessionContext};
    use datafusion_proto::physical_plan::AsExecutionPlan as _;
    use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
    use datafusion_proto::protobuf::{EmptyExecNode, PhysicalExtensionNode};
    use prost::Message as _;
    use weir_testkit::until;

    use super::*;
    use crate::check;

    /// A worker of one core, and the statuses of its tasks.
    fn worker(folder: &Path) -> (Arc<Worker>, mpsc::UnboundedReceiver<EndedStatus>) {
        worker_with(folder, BallistaFunctionRegistry::default())
    }

    fn worker_with(
        folder: &Path,
        functions: BallistaFunctionRegistry,
    ) -> (Arc<Worker>, mpsc::UnboundedReceiver<EndedStatus>) {
        let equipment = Equipment {
            host: "127.0.0.1".to_owned(),
            port: 1,
            cores: 1,
            work_dir: folder.to_string_lossy().into_owned(),
            memory_limit_bytes: Some(1 << 20),
            trust: Trust::default(),
            config: Arc::new(SessionConfig::new_with_ballista),
            functions,
        };
        let (finishes, finished) = mpsc::unbounded_channel();
        (
            Arc::new(Worker::new(equipment, finishes).unwrap()),
            finished,
        )
    }

    /// A task of a job, which has no rows.
    fn tasks(job: &str) -> MultiTaskDefinition {
        let empty = PhysicalPlanType::Empty(EmptyExecNode {
            schema: Some(Default::default()),
            ..EmptyExecNode::default()
        });
        let plan = PhysicalPlanNode {
            physical_plan_type: Some(empty),
        };
        MultiTaskDefinition {
            task_ids: vec![TaskId::default()],
            job_id: job.to_owned(),
            stage_id: 1,
            plan: plan.encode_to_vec(),
            ..MultiTaskDefinition::default()
        }
    }

    /// A task of a job that writes the rows of this statement.
    async fn tasks_of(job: &str, sql: &str, session: &SessionContext) -> MultiTaskDefinition {
        let plan = session.sql(sql).await.unwrap();
        let plan = plan.create_physical_plan().await.unwrap();
        let codec = WeirCodec::default();
        let plan = PhysicalPlanNode::try_from_physical_plan(plan, &codec).unwrap();
        let writer = ShuffleWriterExecNode {
            job_id: job.to_owned(),
            stage_id: 1,
            ..ShuffleWriterExecNode::default()
        };
        let writer = BallistaPhysicalPlanNode {
            physical_plan_type: Some(Exchange::ShuffleWriter(writer)),
        };
        let stage = PhysicalPlanType::Extension(PhysicalExtensionNode {
            node: writer.encode_to_vec(),
            inputs: vec![plan],
        });
        let stage = PhysicalPlanNode {
            physical_plan_type: Some(stage),
        };
        MultiTaskDefinition {
            task_ids: vec![TaskId {
                global_output_partition_ids: vec![0],
                vcores_consumed: 1,
                ..TaskId::default()
            }],
            plan: stage.encode_to_vec(),
            ..tasks(job)
        }
    }

    /// The next task that has ended.
    async fn ended_task(finished: &mut mpsc::UnboundedReceiver<EndedStatus>) -> EndedStatus {
        let ended = tokio::time::timeout(Duration::from_secs(60), finished.recv()).await;
        ended.unwrap().unwrap()
    }

    /// The next task that has failed.
    async fn failed_job(finished: &mut mpsc::UnboundedReceiver<EndedStatus>) -> String {
        let (status, _) = ended_task(finished).await;
        assert!(matches!(
            status.status,
            Some(task_status::Status::Failed(_))
        ));
        status.job_id
    }

    /// Ends of tasks waited without a limit for a scheduler that did not answer.
    #[tokio::test]
    async fn a_task_has_its_room_until_its_end_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let (worker, mut finished) = worker(folder.path());
        worker.take(tasks("job")).unwrap();
        let ended = ended_task(&mut finished).await;
        assert_eq!(worker.room.available_permits(), TASKS_MAX - 1);
        drop(ended);
        assert_eq!(worker.room.available_permits(), TASKS_MAX);
    }

    /// A task that waited behind others ran to its end, although its job was cancelled.
    #[tokio::test]
    async fn a_task_that_waits_is_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let (worker, mut finished) = worker(folder.path());
        let place = Arc::clone(&worker.places).acquire_owned().await.unwrap();
        worker.take(tasks("job")).unwrap();
        worker.cancel(vec![RunningTaskInfo {
            job_id: "job".to_owned(),
            stage_id: 1,
            ..RunningTaskInfo::default()
        }]);
        assert_eq!(failed_job(&mut finished).await, "job");
        worker.end_job("job");
        assert!(worker.take(tasks("job")).is_err());
        drop(place);
    }

    /// A call of a function that did not end, such as a match of a long text, held the place of its task when the statement had been
    /// interrupted, and all statements behind it waited.
    #[tokio::test]
    async fn a_cancelled_task_whose_function_goes_on_gives_its_place_away() {
        let folder = tempfile::tempdir().unwrap();
        let (enters, entered) = std::sync::mpsc::channel();
        let (leaves, left) = std::sync::mpsc::channel::<()>();
        let left = Mutex::new(left);
        let hold = create_udf(
            "hold",
            vec![DataType::Int64],
            DataType::Int64,
            // It is not called before the statement runs.
            Volatility::Volatile,
            Arc::new(move |arguments: &[ColumnarValue]| {
                enters.send(()).unwrap();
                // The sender is dropped at the end of the test.
                let _ = left.lock().unwrap().recv();
                Ok(arguments[0].clone())
            }),
        );
        let session = SessionContext::new();
        session.register_udf(hold);
        let functions = BallistaFunctionRegistry::from(&session.state());
        let (worker, mut finished) = worker_with(folder.path(), functions);
        let held = tasks_of("held", "SELECT hold(1) AS x", &session).await;
        worker.take(held).unwrap();
        let wait = move || entered.recv_timeout(Duration::from_secs(60));
        tokio::task::spawn_blocking(wait).await.unwrap().unwrap();
        let next = tasks_of("next", "SELECT 1 AS x", &session).await;
        worker.take(next).unwrap();
        worker.end_job("held");
        assert_eq!(failed_job(&mut finished).await, "held");
        let (status, _) = ended_task(&mut finished).await;
        assert_eq!(status.job_id, "next");
        let done = status.status;
        assert!(
            matches!(done, Some(task_status::Status::Successful(_))),
            "{done:?}"
        );
        assert_eq!(worker.given_up.available_permits(), GIVEN_UP_MAX - 1);
        drop(leaves);
        until("the thread ends", || {
            worker.given_up.available_permits() == GIVEN_UP_MAX
        });
    }

    /// The writer of a task that had been given up wrote to the file of the task that was run in its place.
    #[tokio::test]
    async fn a_task_that_is_run_again_has_a_file_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let rows = folder.path().join("job/1/0/data-0.arrow");
        fs::create_dir_all(rows.parent().unwrap()).unwrap();
        let mut earlier = File::create(&rows).unwrap();
        let mut again = tasks_of("job", "SELECT 1 AS x", &SessionContext::new()).await;
        again.stage_attempt_num = 1;
        let (worker, mut finished) = worker(folder.path());
        worker.take(again).unwrap();
        let (status, _) = ended_task(&mut finished).await;
        let done = status.status;
        assert!(
            matches!(done, Some(task_status::Status::Successful(_))),
            "{done:?}"
        );
        let written = fs::read(&rows).unwrap();
        earlier.write_all(b"the end").unwrap();
        assert_eq!(fs::read(&rows).unwrap(), written);
    }

    /// Tasks of a scheduler that had ended held their places until their own ends.
    #[tokio::test]
    async fn tasks_of_jobs_that_no_scheduler_knows_are_cancelled() {
        let folder = tempfile::tempdir().unwrap();
        let (worker, mut finished) = worker(folder.path());
        let place = Arc::clone(&worker.places).acquire_owned().await.unwrap();
        for job in ["known", "lost"] {
            worker.take(tasks(job)).unwrap();
        }
        let is_known = |job: String| std::future::ready(job == "known");
        let unknown = worker.end_unknown(&BTreeSet::new(), is_known).await;
        assert_eq!(unknown, BTreeSet::from(["lost".to_owned()]));
        assert!(finished.try_recv().is_err());
        worker.end_unknown(&unknown, is_known).await;
        assert_eq!(failed_job(&mut finished).await, "lost");
        assert_eq!(worker.tasks.jobs(), BTreeSet::from(["known".to_owned()]));
        drop(place);
    }

    /// Users were shown `DataFusionError(Shared(External(…))))`.
    #[test]
    fn a_failed_task_has_the_message_of_the_innermost_error() {
        let within = |error: DataFusionError| {
            let shared = DataFusionError::Shared(Arc::new(error));
            let error = DataFusionError::External(Box::new(shared));
            failed(BallistaError::DataFusionError(Box::new(error)))
        };
        let plain = within(DataFusionError::Execution("x is y".to_owned()));
        assert_eq!(plain.error, "x is y");
        let by_zero = || Box::new(ArrowError::DivideByZero);
        let expected = "division by zero\u{1f}a / nullif(b, 0) is NULL where b is 0";
        let divided = within(DataFusionError::ArrowError(by_zero(), None));
        assert_eq!(divided.error, expected);
        assert_eq!(failed(BallistaError::ArrowError(by_zero())).error, expected);
        let error = weir_engine::Error::new(ErrorKind::Source, "no file");
        let error = error.with_hint("look for it");
        let hinted = within(DataFusionError::External(Box::new(error)));
        assert_eq!(hinted.error, "no file\u{1f}look for it");
        // Lost rows are computed again.
        let lost = BallistaError::FetchFailed("e".to_owned(), 1, 2, "gone".to_owned());
        let lost = within(lost.into_datafusion());
        assert!(matches!(
            lost.failed_reason,
            Some(FailedReason::FetchPartitionError(_))
        ));
    }

    /// A scheduler refuses a status whose end lies before its start.
    #[test]
    fn a_task_during_which_the_clock_was_set_back_is_reported() {
        let ended = |end| TaskStatus {
            job_id: "job".to_owned(),
            launch_time: 5_000,
            start_exec_time: 5_000,
            end_exec_time: end,
            status: Some(task_status::Status::Failed(FailedTask {
                failed_reason: Some(FailedReason::ExecutionError(ExecutionError {})),
                ..FailedTask::default()
            })),
            ..TaskStatus::default()
        };
        let taken = |end| check::finished(&ended(end), "executor").is_ok();
        assert!(!taken(3_000));
        assert!(taken(end_ms(5_000, 3_000)));
        assert_eq!(end_ms(5_000, 7_000), 7_000);
    }
}
