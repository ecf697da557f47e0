//! Statuses with absurd numbers, from an executor that gets real tasks: each is refused and counted, and the scheduler continues.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ballista_core::BALLISTA_PROTOCOL_VERSION;
use ballista_core::serde::protobuf::executor_grpc_server::{ExecutorGrpc, ExecutorGrpcServer};
use ballista_core::serde::protobuf::executor_resource::Resource;
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelTasksParams, CancelTasksResult, ExecutionError, ExecutorOperatingSystemSpecification,
    ExecutorRegistration, ExecutorResource, ExecutorSpecification, ExecutorStatus,
    ExecutorStoppedParams, FailedTask, GetJobStatusParams, HeartBeatParams, LaunchMultiTaskParams,
    LaunchMultiTaskResult, LaunchTaskParams, LaunchTaskResult, MultiTaskDefinition, NamedCount,
    OperatorMetric, OperatorMetricsSet, RegisterExecutorParams, RemoveJobDataParams,
    RemoveJobDataResult, ShuffleWritePartition, StopExecutorParams, StopExecutorResult,
    SuccessfulTask, TaskColumnStats, TaskStatus, UpdateTaskStatusParams, executor_status,
    task_status,
};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};
use weir_cluster::{Client, Scheduler, SchedulerOptions, Trust};
use weir_testkit::until;

use crate::samples::{Asks, enter};

type Answer<T> = Result<Response<T>, Status>;

/// An executor that takes tasks, or rejects them, and runs none.
#[derive(Clone, Default)]
struct Idle {
    tasks: Arc<Mutex<Vec<MultiTaskDefinition>>>,
    /// The reason for which it rejects tasks.
    rejects: Option<&'static str>,
}

#[tonic::async_trait]
impl ExecutorGrpc for Idle {
    async fn launch_task(&self, _: Request<LaunchTaskParams>) -> Answer<LaunchTaskResult> {
        Err(Status::unimplemented("launch_task"))
    }

    async fn launch_multi_task(
        &self,
        request: Request<LaunchMultiTaskParams>,
    ) -> Answer<LaunchMultiTaskResult> {
        let tasks = request.into_inner().multi_tasks;
        let failed_jobs = match self.rejects {
            Some(why) => tasks
                .iter()
                .flat_map(|task| [format!("{} {why}", task.job_id), "another job".to_owned()])
                .collect(),
            None => Vec::new(),
        };
        self.tasks.lock().unwrap().extend(tasks);
        Ok(Response::new(LaunchMultiTaskResult { failed_jobs }))
    }

    async fn stop_executor(&self, _: Request<StopExecutorParams>) -> Answer<StopExecutorResult> {
        Ok(Response::new(StopExecutorResult {}))
    }

    async fn cancel_tasks(&self, _: Request<CancelTasksParams>) -> Answer<CancelTasksResult> {
        Ok(Response::new(CancelTasksResult { cancelled: true }))
    }

    async fn remove_job_data(
        &self,
        _: Request<RemoveJobDataParams>,
    ) -> Answer<RemoveJobDataResult> {
        Ok(Response::new(RemoveJobDataResult {}))
    }
}

/// Serves an executor, and returns its port.
async fn serve(idle: Idle) -> u32 {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let incoming = futures::stream::unfold(listener, |listener| async {
        let stream = listener.accept().await.map(|(stream, _)| stream);
        Some((stream, listener))
    });
    let server = tonic::transport::Server::builder().add_service(ExecutorGrpcServer::new(idle));
    tokio::spawn(server.serve_with_incoming(incoming));
    port.into()
}

fn registration(port: u32) -> ExecutorRegistration {
    ExecutorRegistration {
        id: ID.to_owned(),
        host: Some("127.0.0.1".to_owned()),
        port,
        grpc_port: port,
        specification: Some(ExecutorSpecification {
            resources: vec![ExecutorResource {
                resource: Some(Resource::Vcores(64)),
            }],
        }),
        os_info: Some(ExecutorOperatingSystemSpecification::default()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    }
}

/// The status of a task that an executor was given.
fn status_of(task: &MultiTaskDefinition) -> TaskStatus {
    TaskStatus {
        task_id: task.task_ids[0].task_id,
        job_id: task.job_id.clone(),
        stage_id: task.stage_id,
        stage_attempt_num: task.stage_attempt_num,
        launch_time: task.launch_time,
        ..TaskStatus::default()
    }
}

/// Statuses of a task that has ended well, each with one absurdity.
fn absurd(task: &MultiTaskDefinition) -> Vec<(&'static str, TaskStatus)> {
    let done = |change: &dyn Fn(&mut SuccessfulTask)| {
        let mut of = SuccessfulTask {
            executor_id: ID.to_owned(),
            partitions: vec![ShuffleWritePartition::default()],
            ..SuccessfulTask::default()
        };
        change(&mut of);
        TaskStatus {
            status: Some(task_status::Status::Successful(of)),
            ..status_of(task)
        }
    };
    let measured = |metrics: Vec<Metric>| {
        let metrics = metrics.into_iter().map(|metric| OperatorMetric {
            metric: Some(metric),
            partition: Some(0),
        });
        TaskStatus {
            metrics: vec![OperatorMetricsSet {
                metrics: metrics.collect(),
            }],
            ..done(&|_| {})
        }
    };
    let records = NamedCount {
        name: "weir.0.0.records".to_owned(),
        value: u64::MAX,
    };
    let long = FailedTask {
        error: "x".repeat(1 << 20),
        ..FailedTask::default()
    };
    vec![
        ("rows", done(&|of| of.partitions[0].num_rows = u64::MAX)),
        ("bytes", done(&|of| of.partitions[0].num_bytes = 1 << 60)),
        (
            "batches",
            done(&|of| of.partitions[0].num_batches = u64::MAX),
        ),
        (
            // Each is below the limit.
            "rows of a task",
            done(&|of| {
                of.partitions[0].num_rows = 1 << 47;
                let other = of.partitions[0];
                of.partitions.push(other);
            }),
        ),
        (
            "partition",
            done(&|of| of.partitions[0].partition_id = u64::MAX),
        ),
        (
            "file",
            done(&|of| of.partitions[0].file_id = Some(u64::MAX)),
        ),
        (
            "partitions",
            done(&|of| of.partitions = vec![ShuffleWritePartition::default(); 70_000]),
        ),
        (
            "NULLs",
            done(&|of| {
                of.task_column_stats = vec![TaskColumnStats {
                    null_count: u64::MAX,
                    ..TaskColumnStats::default()
                }];
            }),
        ),
        ("rows", measured(vec![Metric::OutputRows(u64::MAX); 2])),
        ("records", measured(vec![Metric::Count(records)])),
        ("metrics", measured(vec![Metric::OutputRows(1); 300_000])),
        (
            "operators",
            TaskStatus {
                metrics: vec![OperatorMetricsSet::default(); 5_000],
                ..done(&|_| {})
            },
        ),
        (
            "no value",
            TaskStatus {
                metrics: vec![OperatorMetricsSet {
                    metrics: vec![OperatorMetric::default()],
                }],
                ..done(&|_| {})
            },
        ),
        (
            "milliseconds",
            TaskStatus {
                end_exec_time: u64::MAX,
                ..done(&|_| {})
            },
        ),
        (
            "error",
            TaskStatus {
                status: Some(task_status::Status::Failed(long)),
                ..status_of(task)
            },
        ),
    ]
}

async fn report_statuses(
    scheduler: &mut SchedulerGrpcClient<Channel>,
    task_status: Vec<TaskStatus>,
) -> Result<(), Status> {
    let request = UpdateTaskStatusParams {
        executor_id: ID.to_owned(),
        task_status,
    };
    scheduler.update_task_status(request).await.map(|_| ())
}

/// The number of reports that the scheduler says it has refused.
async fn refusals(scheduler: &mut SchedulerGrpcClient<Channel>) -> usize {
    let response = scheduler
        .get_job_status(GetJobStatusParams::default())
        .await;
    let answered = response.unwrap();
    let number = answered.metadata().get("weir-refused").unwrap();
    number.to_str().unwrap().parse().unwrap()
}

fn is_refused(answered: Result<(), Status>, expected: &str) {
    let status = answered.expect_err(expected);
    assert_eq!(
        status.code(),
        Code::InvalidArgument,
        "{expected}: {status:?}"
    );
    assert!(
        status.message().contains(expected),
        "{expected}: {status:?}"
    );
    assert!(status.message().len() < 200, "{status:?}");
}

/// A scheduler with this executor, the connection to it, and its client.
fn start(
    idle: &Idle,
) -> (
    tokio::runtime::Runtime,
    SchedulerGrpcClient<Channel>,
    u32,
    Asks,
) {
    enter();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut options = SchedulerOptions::default();
    options.listen.set_port(0);
    options.heartbeats.lost_after = Duration::from_secs(120);
    let scheduler = runtime.block_on(Scheduler::bind(&options)).unwrap();
    let address = scheduler.address().unwrap().to_string();
    runtime.spawn(scheduler.run());
    let port = runtime.block_on(serve(idle.clone()));
    let endpoint = Trust::default().endpoint(&address).unwrap();
    let channel = {
        let _runtime = runtime.enter();
        endpoint.timeout(Duration::from_secs(20)).connect_lazy()
    };
    let mut to = SchedulerGrpcClient::new(channel).max_encoding_message_size(16 << 20);
    let metadata = Some(registration(port));
    let registered = to.register_executor(RegisterExecutorParams { metadata });
    runtime.block_on(registered).unwrap();
    let asks = Asks::by(Client::new(address, 2).unwrap());
    (runtime, to, port, asks)
}

/// A statement whose tasks an executor rejects had an error that guessed at two reasons.
#[test]
fn the_reason_of_a_rejection_reaches_the_client() {
    let idle = Idle {
        rejects: Some("the plan is\tof Tuesday"),
        ..Idle::default()
    };
    let (runtime, _, _, asks) = start(&idle);
    let error = asks.ask("SELECT count(*) FROM 'day/0.pcap'").unwrap_err();
    let error = error.to_string();
    assert!(
        error.contains("an executor rejects the tasks of the statement: the plan is of Tuesday"),
        "{error}"
    );
    runtime.shutdown_timeout(Duration::from_millis(200));
}

#[test]
fn statuses_with_absurd_numbers_are_refused_and_counted() {
    let idle = Idle::default();
    let (runtime, mut to, port, asks) = start(&idle);
    std::thread::scope(|threads| {
        let query = threads.spawn(|| asks.ask("SELECT count(*) FROM 'day/0.pcap'"));
        let mut task = None;
        until("a task", || {
            task = idle.tasks.lock().unwrap().first().cloned();
            task.is_some()
        });
        let task = task.unwrap();
        runtime.block_on(async {
            let absurd = absurd(&task);
            for (expected, status) in &absurd {
                is_refused(
                    report_statuses(&mut to, vec![status.clone()]).await,
                    expected,
                );
            }
            let many = vec![status_of(&task); 257];
            is_refused(report_statuses(&mut to, many).await, "statuses");
            let long = "x".repeat(2_000);
            let beat = HeartBeatParams {
                executor_id: ID.to_owned(),
                metadata: Some(registration(port)),
                status: Some(ExecutorStatus {
                    status: Some(executor_status::Status::Active(long.clone())),
                }),
                ..HeartBeatParams::default()
            };
            let beaten = to.heart_beat_from_executor(beat).await;
            is_refused(beaten.map(|_| ()), "status of an executor");
            let end = ExecutorStoppedParams {
                executor_id: ID.to_owned(),
                reason: long,
            };
            is_refused(to.executor_stopped(end).await.map(|_| ()), "reason");
            assert_eq!(refusals(&mut to).await, absurd.len() + 3);
            // The scheduler still handles the end of this task, and of its job with it.
            let failed = FailedTask {
                error: "the end of the test".to_owned(),
                failed_reason: Some(FailedReason::ExecutionError(ExecutionError {})),
                ..FailedTask::default()
            };
            let failed = TaskStatus {
                status: Some(task_status::Status::Failed(failed)),
                ..status_of(&task)
            };
            report_statuses(&mut to, vec![failed]).await.unwrap();
        });
        let error = query.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("the end of the test"), "{error}");
    });
    runtime.shutdown_timeout(Duration::from_millis(200));
}

const ID: &str = "idle";
