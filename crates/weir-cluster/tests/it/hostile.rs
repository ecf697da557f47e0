//! Messages of attackers: plans of other programs, and invalid names, counts and settings. The services reject each of them, no
//! file is touched, and the cluster continues to answer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::writer::StreamWriter;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::{Action as FlightAction, Ticket};
use ballista_core::serde::protobuf::action::ActionType;
use ballista_core::serde::protobuf::ballista_physical_plan_node::PhysicalPlanType as Exchange;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::execute_query_result::Result as Queued;
use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    Action, BallistaPhysicalPlanNode, CancelJobParams, ChaosExecNode, CleanJobDataParams,
    CreateUpdateSessionParams, ExecuteQueryParams, ExecutorRegistration, FailedTask,
    FetchPartition, GetJobStatusParams, KeyValuePair, LaunchMultiTaskParams, LaunchMultiTaskResult,
    LaunchTaskParams, MultiTaskDefinition, RegisterExecutorParams, RemoveJobDataParams,
    ShuffleWriterExecNode, TaskDefinition, TaskId, TaskStatus, UpdateTaskStatusParams, task_status,
};
use ballista_core::version;
use datafusion::prelude::{CsvReadOptions, SessionContext};
use datafusion_proto::physical_plan::{AsExecutionPlan, DefaultPhysicalExtensionCodec};
use datafusion_proto::protobuf::partitioning::PartitionMethod;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use datafusion_proto::protobuf::{
    EmptyExecNode, MemoryScanExecNode, Partitioning, PhysicalExtensionNode, PhysicalPlanNode,
    RepartitionExecNode,
};
use prost::Message;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use weir_cluster::{
    Client, ExecutorOptions, LocalCluster, Scheduler, SchedulerOptions, WorkFolder, run_executor,
};

use crate::samples::{Asks, cluster, enter};

const QUESTION: &str = "SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY 1";

/// A connection whose user agent has this version.
fn channel(to: &str) -> Channel {
    let agent = format!(
        "weir/{} plans/{}",
        env!("CARGO_PKG_VERSION"),
        weir_cluster::FORMAT
    );
    let endpoint = Endpoint::from_shared(format!("http://{to}")).unwrap();
    let endpoint = endpoint.user_agent(agent).unwrap();
    endpoint.timeout(Duration::from_secs(20)).connect_lazy()
}

/// The services of the cluster that the tests share.
struct Endpoints {
    executor: String,
    asks: Asks,
}

impl Endpoints {
    fn open() -> Self {
        enter();
        let asks = Asks::there();
        asks.ask_both(QUESTION);
        let executors = asks.client.as_ref().unwrap().executors();
        Self {
            executor: executors[0].clone(),
            asks,
        }
    }

    fn tasks(&self) -> ExecutorGrpcClient<Channel> {
        ExecutorGrpcClient::new(channel(&self.executor))
    }

    fn scheduler() -> SchedulerGrpcClient<Channel> {
        SchedulerGrpcClient::new(channel(&cluster().scheduler().to_string()))
    }

    fn answers(&self) {
        assert_eq!(
            self.asks.ask(QUESTION).unwrap().sorted().rows,
            Asks::here().ask(QUESTION).unwrap().sorted().rows
        );
    }
}

fn refused<T>(answered: Result<T, Status>, code: Code, expected: &str) {
    let status = answered
        .err()
        .unwrap_or_else(|| panic!("{expected}: taken"));
    assert_eq!(status.code(), code, "{expected}: {status:?}");
    assert!(
        status.message().contains(expected),
        "{expected}: {status:?}"
    );
    assert!(!status.message().contains(char::is_control), "{status:?}");
}

/// The jobs whose tasks an executor rejects. The reason of each is behind its name.
fn rejected(answered: &LaunchMultiTaskResult) -> Vec<&str> {
    let entries = answered.failed_jobs.iter();
    entries
        .map(|entry| entry.split_once(' ').unwrap().0)
        .collect()
}

fn node(kind: PhysicalPlanType) -> PhysicalPlanNode {
    PhysicalPlanNode {
        physical_plan_type: Some(kind),
    }
}

fn empty(partitions: u32) -> PhysicalPlanNode {
    node(PhysicalPlanType::Empty(EmptyExecNode {
        schema: Some(Default::default()),
        partitions,
    }))
}

fn extension(bytes: Vec<u8>, inputs: Vec<PhysicalPlanNode>) -> PhysicalPlanNode {
    node(PhysicalPlanType::Extension(PhysicalExtensionNode {
        node: bytes,
        inputs,
    }))
}

fn exchange(of: Exchange, inputs: Vec<PhysicalPlanNode>) -> PhysicalPlanNode {
    extension(
        BallistaPhysicalPlanNode {
            physical_plan_type: Some(of),
        }
        .encode_to_vec(),
        inputs,
    )
}

/// The plan of a stage.
fn stage(job: &str, plan: PhysicalPlanNode) -> PhysicalPlanNode {
    let writer = ShuffleWriterExecNode {
        job_id: job.to_owned(),
        stage_id: 1,
        ..Default::default()
    };
    exchange(Exchange::ShuffleWriter(writer), vec![plan])
}

fn dealt_out(count: u64) -> PhysicalPlanNode {
    dealt_out_by(PartitionMethod::RoundRobin(count))
}

fn dealt_out_by(method: PartitionMethod) -> PhysicalPlanNode {
    node(PhysicalPlanType::Repartition(Box::new(
        RepartitionExecNode {
            input: Some(Box::new(empty(1))),
            partitioning: Some(Partitioning {
                partition_method: Some(method),
            }),
            preserve_order: false,
        },
    )))
}

/// A protobuf field of type bytes.
fn field(tag: u32, bytes: &[u8]) -> Vec<u8> {
    let mut field = Vec::new();
    prost::encoding::bytes::encode(tag, &bytes.to_vec(), &mut field);
    field
}

/// Piece nodes whose embedded plan has a piece node, and so on.
fn nested(levels: usize) -> PhysicalPlanNode {
    let mut plan = empty(1);
    for _ in 0..levels {
        let piece = field(1, &plan.encode_to_vec());
        let mut bytes = b"\xffweir\x00".to_vec();
        prost::encoding::uint32::encode(1, &weir_cluster::FORMAT, &mut bytes);
        bytes.extend(field(4, &piece));
        plan = extension(bytes, vec![empty(1)]);
    }
    plan
}

/// A scan of a file and a sink of another one, as DataFusion plans them.
async fn foreign(secret: &Path, target: &Path) -> [(&'static str, PhysicalPlanNode); 2] {
    let context = SessionContext::new();
    let options = CsvReadOptions::new().has_header(false).file_extension("");
    let scan = context
        .read_csv(secret.to_str().unwrap(), options)
        .await
        .unwrap();
    let scan = scan.create_physical_plan().await.unwrap();
    let copy = format!("COPY (SELECT 1) TO '{}' STORED AS CSV", target.display());
    let sink = context
        .sql(&copy)
        .await
        .unwrap()
        .create_physical_plan()
        .await
        .unwrap();
    [("CsvScan", scan), ("CsvSink", sink)].map(|(name, plan)| {
        let codec = DefaultPhysicalExtensionCodec {};
        (
            name,
            PhysicalPlanNode::try_from_physical_plan(plan, &codec).unwrap(),
        )
    })
}

async fn submit(plan: &PhysicalPlanNode, settings: Vec<KeyValuePair>) -> Result<(), Status> {
    asked_by(Query::PhysicalPlan(plan.encode_to_vec()), settings).await
}

async fn asked_by(query: Query, settings: Vec<KeyValuePair>) -> Result<(), Status> {
    let mut request = Request::new(ExecuteQueryParams {
        session_id: "stranger".to_owned(),
        operation_id: "stranger".to_owned(),
        settings,
        query: Some(query),
    });
    version::insert_version_header(request.metadata_mut());
    Endpoints::scheduler()
        .execute_query(request)
        .await
        .map(|_| ())
}

fn folder(name: &str) -> PathBuf {
    let folder = enter().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().unwrap()
}

#[test]
fn plans_of_other_programs_are_rejected() {
    let endpoints = Endpoints::open();
    let folder = folder("hostile-plans");
    let (secret, target) = (folder.join("secret"), folder.join("written.csv"));
    std::fs::write(&secret, "a secret of the executor's user\n").unwrap();
    // The scheduler endpoint of a message must not be contacted.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let endpoint = listener.local_addr().unwrap().to_string();
    runtime().block_on(async {
        for (name, plan) in foreign(&secret, &target).await {
            refused(
                submit(&plan, Vec::new()).await,
                Code::PermissionDenied,
                name,
            );
            let nested_once = node(PhysicalPlanType::Merge(Box::new(
                datafusion_proto::protobuf::CoalescePartitionsExecNode {
                    input: Some(Box::new(plan.clone())),
                    fetch: None,
                },
            )));
            refused(
                submit(&nested_once, Vec::new()).await,
                Code::PermissionDenied,
                name,
            );
            let plan = stage("stranger", plan).encode_to_vec();
            let task = TaskDefinition {
                job_id: "stranger".to_owned(),
                session_id: "stranger".to_owned(),
                stage_id: 1,
                plan: plan.clone(),
                ..TaskDefinition::default()
            };
            let tasks = LaunchTaskParams {
                tasks: vec![task],
                scheduler_endpoint: endpoint.clone(),
            };
            refused(
                endpoints.tasks().launch_task(tasks).await,
                Code::PermissionDenied,
                name,
            );
            let task = MultiTaskDefinition {
                job_id: "stranger".to_owned(),
                session_id: "stranger".to_owned(),
                stage_id: 1,
                plan,
                task_ids: vec![TaskId {
                    vcores_consumed: 1,
                    ..TaskId::default()
                }],
                ..MultiTaskDefinition::default()
            };
            let tasks = LaunchMultiTaskParams {
                multi_tasks: vec![task],
                scheduler_endpoint: endpoint.clone(),
            };
            let answered = endpoints
                .tasks()
                .launch_multi_task(tasks)
                .await
                .unwrap()
                .into_inner();
            assert_eq!(rejected(&answered), ["stranger"], "{name}");
        }
        // A node that sleeps, a shuffle writer of a client, and a logical plan.
        let chaos = exchange(
            Exchange::ChaosExec(ChaosExecNode::default()),
            vec![empty(1)],
        );
        refused(
            submit(&chaos, Vec::new()).await,
            Code::PermissionDenied,
            "Chaos",
        );
        refused(
            submit(&stage("job", empty(1)), Vec::new()).await,
            Code::PermissionDenied,
            "Ballista",
        );
        let logical = Query::LogicalPlan(Vec::new());
        refused(
            asked_by(logical, Vec::new()).await,
            Code::PermissionDenied,
            "physical plan",
        );
        // The status of a valid task goes to the configured scheduler, which ignores it as unknown.
        let task = TaskDefinition {
            job_id: "stranger".to_owned(),
            session_id: "stranger".to_owned(),
            stage_id: 1,
            plan: stage("stranger", empty(1)).encode_to_vec(),
            global_output_partition_ids: vec![0],
            vcores_consumed: 1,
            ..TaskDefinition::default()
        };
        let tasks = LaunchTaskParams {
            tasks: vec![task],
            scheduler_endpoint: endpoint,
        };
        endpoints.tasks().launch_task(tasks).await.unwrap();
    });
    endpoints.answers();
    assert!(listener.accept().is_err(), "another endpoint was contacted");
    assert!(!target.exists(), "a file was written");
}

/// A table in memory with a number and a flag, which is said to have these columns.
fn table(columns: &[(&str, DataType)]) -> PhysicalPlanNode {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1_i64 << 30; 8]));
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![None::<bool>; 8]));
    let batch = RecordBatch::try_from_iter([("n", numbers), ("b", flags)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let fields: Vec<_> = columns
        .iter()
        .map(|(name, kind)| Field::new(*name, kind.clone(), true))
        .collect();
    let schema = Schema::new(fields);
    node(PhysicalPlanType::MemoryScan(MemoryScanExecNode {
        partitions: vec![writer.into_inner().unwrap()],
        schema: Some((&schema).try_into().unwrap()),
        ..MemoryScanExecNode::default()
    }))
}

/// Numbers that were declared as the offsets of texts ended the executors that read them in the next stage.
#[test]
fn tables_with_other_columns_than_declared_are_refused() {
    let endpoints = Endpoints::open();
    runtime().block_on(async {
        let declared = [("n", DataType::Int64), ("b", DataType::Boolean)];
        submit(&table(&declared), Vec::new()).await.unwrap();
        for declared in [
            vec![("s", DataType::Utf8)],
            vec![("s", DataType::Utf8), ("t", DataType::Null)],
            vec![("n", DataType::Int32), ("b", DataType::Boolean)],
        ] {
            refused(
                submit(&table(&declared), Vec::new()).await,
                Code::InvalidArgument,
                "other types",
            );
            let task = MultiTaskDefinition {
                job_id: "declared".to_owned(),
                session_id: "declared".to_owned(),
                plan: stage("declared", table(&declared)).encode_to_vec(),
                task_ids: vec![TaskId::default()],
                ..MultiTaskDefinition::default()
            };
            let tasks = LaunchMultiTaskParams {
                multi_tasks: vec![task],
                scheduler_endpoint: String::new(),
            };
            let answered = endpoints.tasks().launch_multi_task(tasks).await.unwrap();
            let answered = answered.into_inner();
            assert_eq!(rejected(&answered), ["declared"]);
            let why = &answered.failed_jobs[0];
            assert!(why.contains("other types"), "{why}");
        }
    });
    endpoints.answers();
}

#[test]
fn depths_counts_and_settings_are_bounded() {
    let endpoints = Endpoints::open();
    runtime().block_on(async {
        for levels in [2, 100, 3_000, 20_000] {
            refused(
                submit(&nested(levels), Vec::new()).await,
                Code::PermissionDenied,
                "weir",
            );
            let task = MultiTaskDefinition {
                job_id: "deep".to_owned(),
                session_id: "deep".to_owned(),
                plan: stage("deep", nested(levels)).encode_to_vec(),
                task_ids: vec![TaskId::default()],
                ..MultiTaskDefinition::default()
            };
            let tasks = LaunchMultiTaskParams {
                multi_tasks: vec![task],
                scheduler_endpoint: String::new(),
            };
            let answered = endpoints
                .tasks()
                .launch_multi_task(tasks)
                .await
                .unwrap()
                .into_inner();
            assert_eq!(rejected(&answered), ["deep"]);
        }
        for plan in [dealt_out(1 << 40), dealt_out(u64::MAX), empty(u32::MAX)] {
            refused(
                submit(&plan, Vec::new()).await,
                Code::InvalidArgument,
                "partitions",
            );
        }
        // Ballista panics at it where the rows of a stage are written.
        refused(
            submit(&dealt_out_by(PartitionMethod::Unknown(3)), Vec::new()).await,
            Code::InvalidArgument,
            "which rows go where",
        );
        for (key, value, code) in [
            (
                "ballista.scheduler.max_partitions_per_task",
                "0",
                Code::PermissionDenied,
            ),
            (
                "ballista.testing.chaos_execution.enabled",
                "true",
                Code::PermissionDenied,
            ),
            (
                "datafusion.execution.batch_size",
                "1099511627776",
                Code::InvalidArgument,
            ),
            (
                "ballista.optimizer.broadcast_join_threshold_bytes",
                "x",
                Code::PermissionDenied,
            ),
            (
                "datafusion.optimizer.hash_join_single_partition_threshold",
                "x",
                Code::InvalidArgument,
            ),
            (
                "datafusion.optimizer.nothing_of_that_name",
                "1",
                Code::InvalidArgument,
            ),
        ] {
            let setting = KeyValuePair {
                key: key.to_owned(),
                value: Some(value.to_owned()),
            };
            refused(submit(&empty(1), vec![setting.clone()]).await, code, key);
            let session = CreateUpdateSessionParams {
                session_id: "s".to_owned(),
                settings: vec![setting],
            };
            let answered = Endpoints::scheduler().create_update_session(session).await;
            refused(answered, Code::Unimplemented, "settings");
        }
    });
    endpoints.answers();
}

#[test]
fn statuses_of_unknown_tasks_are_rejected() {
    let endpoints = Endpoints::open();
    runtime().block_on(async {
        let failed = || Some(task_status::Status::Failed(FailedTask::default()));
        for (job, task_id, status, code, expected) in [
            (
                "nothing",
                0,
                failed(),
                Code::NotFound,
                "none of the 1 tasks",
            ),
            (
                "nothing",
                u32::MAX,
                failed(),
                Code::NotFound,
                "none of the 1 tasks",
            ),
            ("nothing", 0, None, Code::InvalidArgument, "has not ended"),
            (
                "../nothing",
                0,
                failed(),
                Code::InvalidArgument,
                "is not a valid job ID",
            ),
        ] {
            let task = TaskStatus {
                job_id: job.to_owned(),
                task_id,
                status,
                ..TaskStatus::default()
            };
            let request = UpdateTaskStatusParams {
                executor_id: "stranger".to_owned(),
                task_status: vec![task],
            };
            refused(
                Endpoints::scheduler().update_task_status(request).await,
                code,
                expected,
            );
        }
        // Executors without resources, a host or a port.
        for metadata in [
            None,
            Some(ExecutorRegistration::default()),
            Some(ExecutorRegistration {
                id: "e".to_owned(),
                host: Some("127.0.0.1".to_owned()),
                port: 1,
                ..ExecutorRegistration::default()
            }),
            Some(ExecutorRegistration {
                id: "e".to_owned(),
                port: 70_000,
                ..ExecutorRegistration::default()
            }),
        ] {
            let answered = Endpoints::scheduler()
                .register_executor(RegisterExecutorParams { metadata })
                .await;
            assert_eq!(answered.unwrap_err().code(), Code::InvalidArgument);
        }
    });
    endpoints.answers();
}

#[test]
fn job_ids_are_not_paths() {
    let endpoints = Endpoints::open();
    let folder = folder("hostile-names");
    std::fs::create_dir_all(folder.join("1/0")).unwrap();
    let decoy = folder.join("1/0/data-0.arrow");
    std::fs::write(&decoy, "a secret").unwrap();
    let climbing = format!("../../../../../../../..{}", folder.display());
    runtime().block_on(async {
        for job in [
            "..",
            "../..",
            "/etc",
            climbing.as_str(),
            folder.to_str().unwrap(),
        ] {
            let mut scheduler = Endpoints::scheduler();
            let message = "is not a valid job ID";
            let job_id = || job.to_owned();
            let request = GetJobStatusParams { job_id: job_id() };
            refused(
                scheduler.get_job_status(request).await,
                Code::InvalidArgument,
                message,
            );
            let request = CancelJobParams { job_id: job_id() };
            refused(
                scheduler.cancel_job(request).await,
                Code::InvalidArgument,
                message,
            );
            let request = CleanJobDataParams {
                job_id: job_id(),
                remove_stage_ids: Vec::new(),
            };
            refused(
                scheduler.clean_job_data(request).await,
                Code::InvalidArgument,
                message,
            );
            let request = RemoveJobDataParams {
                job_id: job_id(),
                remove_stage_ids: vec![1],
            };
            refused(
                endpoints.tasks().remove_job_data(request).await,
                Code::InvalidArgument,
                message,
            );
            let plan = stage(job, empty(1)).encode_to_vec();
            let task = TaskDefinition {
                job_id: "job".to_owned(),
                session_id: "s".to_owned(),
                plan,
                ..TaskDefinition::default()
            };
            let tasks = LaunchTaskParams {
                tasks: vec![task],
                scheduler_endpoint: String::new(),
            };
            refused(
                endpoints.tasks().launch_task(tasks).await,
                Code::InvalidArgument,
                message,
            );
            let fetch = FetchPartition {
                job_id: job_id(),
                stage_id: 1,
                ..FetchPartition::default()
            };
            let action = Action {
                action_type: Some(ActionType::FetchPartition(fetch)),
                ..Action::default()
            };
            let bytes = action.encode_to_vec();
            let mut rows = FlightServiceClient::new(channel(&endpoints.executor));
            refused(
                rows.do_get(Ticket::new(bytes.clone())).await,
                Code::InvalidArgument,
                message,
            );
            let action = FlightAction::new("IO_BLOCK_TRANSPORT", bytes);
            refused(rows.do_action(action).await, Code::Unimplemented, "do_get");
        }
    });
    assert_eq!(std::fs::read_to_string(&decoy).unwrap(), "a secret");
    endpoints.answers();
}

/// Rows of jobs went five minutes after their end, also while their clients read them.
#[test]
fn rows_are_kept_for_jobs_that_are_known() {
    let endpoints = Endpoints::open();
    runtime().block_on(async {
        let mut request = Request::new(ExecuteQueryParams {
            session_id: "reader".to_owned(),
            operation_id: "reader".to_owned(),
            settings: Vec::new(),
            query: Some(Query::PhysicalPlan(empty(1).encode_to_vec())),
        });
        version::insert_version_header(request.metadata_mut());
        let queued = Endpoints::scheduler().execute_query(request).await.unwrap();
        let Some(Queued::Success(queued)) = queued.into_inner().result else {
            panic!("the plan is rejected");
        };
        let ask = async |job: &str, asked: &str| {
            let job_id = job.to_owned();
            let mut request = Request::new(GetJobStatusParams { job_id });
            let asked = asked.parse().unwrap();
            request.metadata_mut().insert("weir-rows", asked);
            let answered = Endpoints::scheduler().get_job_status(request).await;
            let answered = answered.unwrap();
            let kept = answered.metadata().get("weir-rows").unwrap();
            kept.to_str().unwrap().to_owned()
        };
        for asked in ["ask", "renew", "ask"] {
            assert_eq!(ask(&queued.job_id, asked).await, "1");
            assert_eq!(ask("unknown", asked).await, "0");
        }
        let cleaned = CleanJobDataParams {
            job_id: queued.job_id.clone(),
            remove_stage_ids: Vec::new(),
        };
        let mut scheduler = Endpoints::scheduler();
        scheduler.clean_job_data(cleaned).await.unwrap();
        for asked in ["ask", "renew"] {
            assert_eq!(ask(&queued.job_id, asked).await, "0");
        }
        // A client that comes too late has the reason.
        let fetch = FetchPartition {
            job_id: "unknown".to_owned(),
            stage_id: 1,
            ..FetchPartition::default()
        };
        let action = Action {
            action_type: Some(ActionType::FetchPartition(fetch)),
            ..Action::default()
        };
        let mut rows = FlightServiceClient::new(channel(&endpoints.executor));
        let fetched = rows.do_get(Ticket::new(action.encode_to_vec())).await;
        refused(fetched, Code::NotFound, "does not have the rows");
    });
    endpoints.answers();
}

/// Requests to cancel and to remove a job of any name went on to all executors.
#[test]
fn jobs_that_are_not_known_are_neither_cancelled_nor_removed() {
    let endpoints = Endpoints::open();
    let works = std::fs::read_dir(enter().join("work")).unwrap();
    let rows: Vec<PathBuf> = works
        .map(|work| work.unwrap().path().join("elsewhere"))
        .collect();
    for folder in &rows {
        std::fs::create_dir(folder).unwrap();
    }
    runtime().block_on(async {
        let mut scheduler = Endpoints::scheduler();
        let job_id = || "elsewhere".to_owned();
        for _ in 0..2 {
            let request = CancelJobParams { job_id: job_id() };
            let cancelled = scheduler.cancel_job(request).await.unwrap();
            assert!(!cancelled.into_inner().cancelled);
            let request = CleanJobDataParams {
                job_id: job_id(),
                remove_stage_ids: Vec::new(),
            };
            scheduler.clean_job_data(request).await.unwrap();
        }
    });
    endpoints.answers();
    for folder in &rows {
        std::fs::remove_dir(folder).unwrap();
    }
}

/// Web pages can send requests to this machine, by HTTP/1.1 or with an Origin.
#[test]
fn requests_of_web_pages_are_rejected() {
    use std::io::{Read as _, Write as _};

    let endpoints = Endpoints::open();
    let agent = format!(
        "weir/{} plans/{}",
        env!("CARGO_PKG_VERSION"),
        weir_cluster::FORMAT
    );
    let scheduler = cluster().scheduler().to_string();
    for (address, call) in [
        (&scheduler, "ballista.protobuf.SchedulerGrpc/GetJobStatus"),
        (&scheduler, "ballista.protobuf.SchedulerGrpc/ExecuteQuery"),
        (
            &endpoints.executor,
            "ballista.protobuf.ExecutorGrpc/CancelTasks",
        ),
        (
            &endpoints.executor,
            "arrow.flight.protocol.FlightService/DoGet",
        ),
    ] {
        for head in ["", "Origin: http://page.example\r\n"] {
            let mut stream = std::net::TcpStream::connect(address).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_secs(10)))
                .unwrap();
            let request = format!(
                "POST /{call} HTTP/1.1\r\nHost: page.example\r\nUser-Agent: {agent}\r\n{head}\
                 Content-Type: application/grpc\r\nContent-Length: 5\r\nConnection: close\r\n\r\n\0\0\0\0\0"
            );
            stream.write_all(request.as_bytes()).unwrap();
            let mut answered = String::new();
            stream.read_to_string(&mut answered).unwrap();
            let answered = answered.to_lowercase();
            assert!(answered.contains("grpc-status: 7"), "{call}: {answered}");
            // A check of health got the status 200, whatever page it asked for.
            assert!(answered.starts_with("http/1.1 403"), "{call}: {answered}");
        }
    }
    runtime().block_on(async {
        let mut request = Request::new(GetJobStatusParams::default());
        let origin = "http://page.example".parse().unwrap();
        request.metadata_mut().insert("origin", origin);
        let answered = Endpoints::scheduler().get_job_status(request).await;
        refused(answered, Code::PermissionDenied, "without an Origin");
    });
    endpoints.answers();
}

/// The directories of rows have mode 0700. The files in them have mode 0600 where the process is an executor and nothing else, which
/// the tests of the command hold.
#[test]
fn work_directories_are_private() {
    use std::os::unix::fs::PermissionsExt as _;

    Endpoints::open().answers();
    let work = enter().join("work");
    let folders: Vec<_> = std::fs::read_dir(work)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(folders.len(), 2, "{folders:?}");
    for folder in folders {
        let mode = folder.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder:?}");
    }
}

/// An executor with `--root` connects neither to object stores nor to the web, whatever the statement is.
#[test]
fn an_executor_with_a_root_fetches_no_address() {
    let folder = folder("hostile-root");
    let web = weir_testkit::web::WebServer::start(weir_testkit::web::Faults::default());
    let capture = std::fs::read(enter().join("demo/voip.pcap")).unwrap();
    web.put("voip.pcap", capture);
    let address = web.url("voip.pcap");
    for (is_kept_in, sql) in [
        (false, "SELECT ip.src, count(*) FROM '@' GROUP BY 1"),
        (true, "SELECT ip.src, count(*) FROM '@' GROUP BY 1"),
        (true, "SELECT sip.method FROM sip('@')"),
        (true, "SELECT count(*) FROM packets('@', merge => true)"),
        (
            true,
            "SELECT frame.number FROM '@' WHERE udp.dstport = 5060",
        ),
    ] {
        let runtime = runtime();
        let mut options = SchedulerOptions::default();
        options.listen.set_port(0);
        let scheduler = runtime.block_on(Scheduler::bind(&options)).unwrap();
        let at = scheduler.address().unwrap().to_string();
        runtime.spawn(scheduler.run());
        let work = Arc::new(WorkFolder::create_in(&folder).unwrap());
        let mut options = ExecutorOptions::new(at.clone(), work);
        options.cores = 1;
        if is_kept_in {
            options.roots.push(enter().join("day"));
        }
        runtime.spawn(async move { run_executor(&options, std::future::pending()).await });
        let asks = Asks::by(Client::new(at, 2).unwrap());
        let planned = std::sync::atomic::AtomicUsize::new(0);
        let result = asks.ask_after(&sql.replace('@', &address), || {
            planned.store(web.requests(), Ordering::Relaxed);
        });
        let since = web.requests() - planned.into_inner();
        match is_kept_in {
            true => {
                assert!(result.is_err(), "{sql}: {result:?}");
                assert_eq!(since, 0, "{sql}");
            }
            false => assert!(!result.unwrap().rows.is_empty() && since > 0, "{sql}"),
        }
        runtime.shutdown_timeout(Duration::from_millis(200));
    }
}

/// Opens a connection that completes no request: some send nothing, and some send a beginning.
fn open_silent(to: &str, number: usize) -> std::net::TcpStream {
    use std::io::Write as _;

    let mut stream = std::net::TcpStream::connect(to).unwrap();
    let octets: &[u8] = match number % 3 {
        0 => b"",
        1 => b"PRI * HTTP/2.0\r\n",
        _ => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    };
    // The server may have closed the connection already.
    let _ = stream.write_all(octets);
    stream
}

/// Idle connections do not exhaust the file descriptors of a process: there are more of them here than a low limit, and the
/// oldest ones are closed in favour of new ones. A client whose connection is among those that are closed connects again.
#[test]
fn idle_connections_do_not_block_others() {
    // A cluster of its own keeps other tests out of this.
    let folder = enter().join("idle");
    std::fs::create_dir_all(&folder).unwrap();
    let attacked = LocalCluster::start_below(&folder, 1, None).unwrap();
    let expected = Asks::here().ask(QUESTION).unwrap().sorted().rows;
    let client = attacked.client(3).unwrap();
    let answers = |client: &Client| {
        let answered = Asks::by(client.clone()).ask(QUESTION).unwrap();
        assert_eq!(answered.sorted().rows, expected);
    };
    answers(&client);
    for to in [
        attacked.scheduler().to_string(),
        client.executors()[0].clone(),
    ] {
        let silent: Vec<_> = (0..260).map(|number| open_silent(&to, number)).collect();
        answers(&client);
        // The number of open ones is that of pending connections.
        weir_testkit::until("closed connections", || {
            silent.iter().filter(|stream| is_open(stream)).count() <= 64
        });
        // New silent connections arrive all the time.
        let is_answered = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut silent = std::collections::VecDeque::new();
                let mut number = 0;
                // Ports of the system run out where there are tens of thousands.
                while !is_answered.load(Ordering::Relaxed) && number < 4_000 {
                    number += 1;
                    silent.push_back(open_silent(&to, number));
                    silent.drain(..silent.len().saturating_sub(500));
                }
            });
            let answered: Vec<_> = (0..20)
                .map(|_| Asks::by(attacked.client(3).unwrap()).ask(QUESTION))
                .collect();
            is_answered.store(true, Ordering::Relaxed);
            for answered in answered {
                assert_eq!(answered.unwrap().sorted().rows, expected);
            }
        });
    }
}

fn is_open(stream: &std::net::TcpStream) -> bool {
    use std::io::{ErrorKind, Read as _};

    stream.set_nonblocking(true).unwrap();
    let mut stream = stream;
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return false,
            // The SETTINGS frame of the server.
            Ok(_) => {}
            Err(error) => return error.kind() == ErrorKind::WouldBlock,
        }
    }
}
