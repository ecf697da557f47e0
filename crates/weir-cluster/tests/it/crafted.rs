//! Malformed Arrow IPC messages of an impostor: a client and an executor that fetch them report one error for each, and go on. Rows that
//! are gone with their executor are computed again.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow::ipc::{CompressionType, root_as_message};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::{
    Action, ActionType, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo,
    HandshakeRequest, HandshakeResponse, PollInfo, PutResult, SchemaResult, Ticket,
};
use ballista_core::serde::protobuf::ballista_physical_plan_node::PhysicalPlanType as Exchange;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;
use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::scheduler_grpc_server::{SchedulerGrpc, SchedulerGrpcServer};
use ballista_core::serde::protobuf::{
    BallistaPhysicalPlanNode, CancelJobParams, CancelJobResult, CleanJobDataParams,
    CleanJobDataResult, CreateUpdateSessionParams, CreateUpdateSessionResult, ExecuteQueryParams,
    ExecuteQueryResult, ExecuteQuerySuccessResult, ExecutorMetadata,
    ExecutorOperatingSystemSpecification, ExecutorRegistration, ExecutorSpecification,
    ExecutorStoppedParams, ExecutorStoppedResult, GetJobMetricsParams, GetJobMetricsResult,
    GetJobStatusParams, GetJobStatusResult, HeartBeatParams, HeartBeatResult, JobStageMetrics,
    JobStatus, LaunchMultiTaskParams, MultiTaskDefinition, NamedCount, OperatorMetric,
    OperatorWithMetrics, PartitionId, PartitionLocation, PartitionStats, PollWorkParams,
    PollWorkResult, RegisterExecutorParams, RegisterExecutorResult, RemoveSessionParams,
    RemoveSessionResult, ShuffleReaderExecNode, ShuffleReaderPartition, ShuffleWriterExecNode,
    SuccessfulJob, TaskId, TaskStatus, UpdateTaskStatusParams, UpdateTaskStatusResult,
    execute_query_result, job_status, task_status,
};
use datafusion::prelude::SessionContext;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::partitioning::PartitionMethod;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use datafusion_proto::protobuf::{Partitioning, PhysicalExtensionNode, PhysicalPlanNode};
use futures::{Stream, TryStreamExt as _};
use prost::Message as _;
use tonic::{Request, Response, Status, Streaming};
use weir_cluster::{Client, ExecutorOptions, WeirCodec, WorkFolder, run_executor};
use weir_testkit::until;

use crate::samples::{Asks, enter};

type Answer<T> = Result<Response<T>, Status>;
type Items<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

/// The responses of the impostor, and the requests that it received.
#[derive(Default)]
struct State {
    /// The address of its one port.
    port: u16,
    /// The response to each fetch.
    rows: Vec<FlightData>,
    /// The schema of the statement that was submitted last.
    schema: Option<SchemaRef>,
    executor: Option<ExecutorRegistration>,
    /// The ends of tasks, by their job.
    ended: HashMap<String, TaskStatus>,
    /// The metrics of each job.
    metrics: GetJobMetricsResult,
    /// The number of statements that were submitted, and of the first of them whose rows are gone.
    submitted: usize,
    gone: usize,
    /// The executor is gone behind the rows.
    breaks_off: bool,
}

/// A scheduler and an executor at one port, which are not weir.
#[derive(Clone, Default)]
struct Impostor(Arc<Mutex<State>>);

impl Impostor {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let impostor = Self::default();
        impostor.state().port = listener.local_addr().unwrap().port();
        let incoming = futures::stream::unfold(listener, |listener| async {
            let stream = listener.accept().await.map(|(stream, _)| stream);
            Some((stream, listener))
        });
        let server = tonic::transport::Server::builder()
            .add_service(SchedulerGrpcServer::new(impostor.clone()))
            .add_service(FlightServiceServer::new(impostor.clone()));
        tokio::spawn(server.serve_with_incoming(incoming));
        impostor
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.state().port)
    }

    /// The location of its rows.
    fn location(&self, job: &str) -> PartitionLocation {
        let port = u32::from(self.state().port);
        PartitionLocation {
            partition_id: Some(PartitionId {
                job_id: job.to_owned(),
                stage_id: 1,
                partition_id: 0,
            }),
            executor_meta: Some(ExecutorMetadata {
                id: "impostor".to_owned(),
                host: "127.0.0.1".to_owned(),
                port,
                grpc_port: port,
                specification: Some(ExecutorSpecification::default()),
                os_info: Some(ExecutorOperatingSystemSpecification::default()),
            }),
            partition_stats: Some(PartitionStats::default()),
            file_id: Some(0),
            ..PartitionLocation::default()
        }
    }
}

#[tonic::async_trait]
impl SchedulerGrpc for Impostor {
    type ExecuteQueryPushStream = Items<GetJobStatusResult>;

    async fn register_executor(
        &self,
        request: Request<RegisterExecutorParams>,
    ) -> Answer<RegisterExecutorResult> {
        self.state().executor = request.into_inner().metadata;
        Ok(Response::new(RegisterExecutorResult { success: true }))
    }

    async fn heart_beat_from_executor(
        &self,
        _: Request<HeartBeatParams>,
    ) -> Answer<HeartBeatResult> {
        Ok(Response::new(Default::default()))
    }

    async fn update_task_status(
        &self,
        request: Request<UpdateTaskStatusParams>,
    ) -> Answer<UpdateTaskStatusResult> {
        for status in request.into_inner().task_status {
            self.state().ended.insert(status.job_id.clone(), status);
        }
        Ok(Response::new(UpdateTaskStatusResult { success: true }))
    }

    async fn execute_query(
        &self,
        request: Request<ExecuteQueryParams>,
    ) -> Answer<ExecuteQueryResult> {
        let Some(Query::PhysicalPlan(bytes)) = request.into_inner().query else {
            return Err(Status::invalid_argument("another statement"));
        };
        let plan = PhysicalPlanNode::decode(bytes.as_slice()).unwrap();
        let context = SessionContext::new().task_ctx();
        let plan = plan
            .try_into_physical_plan(&context, &WeirCodec::default())
            .unwrap();
        let mut state = self.state();
        state.schema = Some(plan.schema());
        state.submitted += 1;
        drop(state);
        let success = ExecuteQuerySuccessResult {
            job_id: "crafted".to_owned(),
            session_id: "crafted".to_owned(),
        };
        let mut response = Response::new(ExecuteQueryResult {
            operation_id: String::new(),
            result: Some(execute_query_result::Result::Success(success)),
        });
        ballista_core::version::insert_version_header(response.metadata_mut());
        Ok(response)
    }

    async fn get_job_status(
        &self,
        request: Request<GetJobStatusParams>,
    ) -> Answer<GetJobStatusResult> {
        let mut answer = GetJobStatusResult::default();
        if !request.get_ref().job_id.is_empty() {
            answer.status = Some(JobStatus {
                job_id: "crafted".to_owned(),
                status: Some(job_status::Status::Successful(SuccessfulJob {
                    partition_location: vec![self.location("crafted")],
                    ..SuccessfulJob::default()
                })),
                ..JobStatus::default()
            });
        }
        let mut response = Response::new(answer);
        response
            .metadata_mut()
            .insert("weir-ready", "1".parse().unwrap());
        Ok(response)
    }

    async fn get_job_metrics(
        &self,
        _: Request<GetJobMetricsParams>,
    ) -> Answer<GetJobMetricsResult> {
        Ok(Response::new(self.state().metrics.clone()))
    }

    async fn cancel_job(&self, _: Request<CancelJobParams>) -> Answer<CancelJobResult> {
        Ok(Response::new(Default::default()))
    }

    async fn clean_job_data(&self, _: Request<CleanJobDataParams>) -> Answer<CleanJobDataResult> {
        Ok(Response::new(Default::default()))
    }

    async fn executor_stopped(
        &self,
        _: Request<ExecutorStoppedParams>,
    ) -> Answer<ExecutorStoppedResult> {
        Ok(Response::new(Default::default()))
    }

    async fn poll_work(&self, _: Request<PollWorkParams>) -> Answer<PollWorkResult> {
        Err(Status::unimplemented("poll_work"))
    }

    async fn create_update_session(
        &self,
        _: Request<CreateUpdateSessionParams>,
    ) -> Answer<CreateUpdateSessionResult> {
        Err(Status::unimplemented("create_update_session"))
    }

    async fn remove_session(&self, _: Request<RemoveSessionParams>) -> Answer<RemoveSessionResult> {
        Err(Status::unimplemented("remove_session"))
    }

    async fn execute_query_push(
        &self,
        _: Request<ExecuteQueryParams>,
    ) -> Answer<Self::ExecuteQueryPushStream> {
        Err(Status::unimplemented("execute_query_push"))
    }
}

#[tonic::async_trait]
impl FlightService for Impostor {
    type HandshakeStream = Items<HandshakeResponse>;
    type ListFlightsStream = Items<FlightInfo>;
    type DoGetStream = Items<FlightData>;
    type DoPutStream = Items<PutResult>;
    type DoExchangeStream = Items<FlightData>;
    type DoActionStream = Items<arrow_flight::Result>;
    type ListActionsStream = Items<ActionType>;

    async fn do_get(&self, _: Request<Ticket>) -> Answer<Self::DoGetStream> {
        let state = self.state();
        if (1..=state.gone).contains(&state.submitted) {
            return Err(Status::not_found("they are gone"));
        }
        let mut rows: Vec<_> = state.rows.iter().cloned().map(Ok).collect();
        if state.breaks_off {
            rows.push(Err(Status::unavailable("the executor is gone")));
        }
        Ok(Response::new(Box::pin(futures::stream::iter(rows))))
    }

    async fn handshake(
        &self,
        _: Request<Streaming<HandshakeRequest>>,
    ) -> Answer<Self::HandshakeStream> {
        Err(Status::unimplemented("handshake"))
    }

    async fn list_flights(&self, _: Request<Criteria>) -> Answer<Self::ListFlightsStream> {
        Err(Status::unimplemented("list_flights"))
    }

    async fn get_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<FlightInfo> {
        Err(Status::unimplemented("get_flight_info"))
    }

    async fn poll_flight_info(&self, _: Request<FlightDescriptor>) -> Answer<PollInfo> {
        Err(Status::unimplemented("poll_flight_info"))
    }

    async fn get_schema(&self, _: Request<FlightDescriptor>) -> Answer<SchemaResult> {
        Err(Status::unimplemented("get_schema"))
    }

    async fn do_put(&self, _: Request<Streaming<FlightData>>) -> Answer<Self::DoPutStream> {
        Err(Status::unimplemented("do_put"))
    }

    async fn do_exchange(
        &self,
        _: Request<Streaming<FlightData>>,
    ) -> Answer<Self::DoExchangeStream> {
        Err(Status::unimplemented("do_exchange"))
    }

    async fn do_action(&self, _: Request<Action>) -> Answer<Self::DoActionStream> {
        Err(Status::unimplemented("do_action"))
    }

    async fn list_actions(&self, _: Request<Empty>) -> Answer<Self::ListActionsStream> {
        Err(Status::unimplemented("list_actions"))
    }
}

/// A number and a text, as columns of the types of a schema.
fn columns(schema: &SchemaRef) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..ROWS));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(
        (0..ROWS).map(|number| format!("the text of the row {}", number % 10)),
    ));
    let columns = schema.fields().iter().map(|field| match field.data_type() {
        of @ (DataType::Utf8 | DataType::Utf8View) => cast(&texts, of).unwrap(),
        of => cast(&numbers, of).unwrap(),
    });
    RecordBatch::try_new(Arc::clone(schema), columns.collect()).unwrap()
}

/// The messages that a writer of Arrow makes of a batch: its schema, and the rows.
fn messages(batch: RecordBatch, compression: Option<CompressionType>) -> Vec<FlightData> {
    let options = IpcWriteOptions::default()
        .try_with_compression(compression)
        .unwrap();
    let encoder = FlightDataEncoderBuilder::new()
        .with_options(options)
        .with_schema(batch.schema())
        .build(futures::stream::iter([Ok(batch)]));
    let messages = futures::executor::block_on(encoder.try_collect::<Vec<_>>()).unwrap();
    assert_eq!(messages.len(), 2);
    messages
}

/// Writes a number into the header of a message, at the place that a parser of it finds.
fn write(message: &mut FlightData, place: impl Fn(&[u8]) -> usize, number: i64) {
    let mut header = message.data_header.to_vec();
    let place = place(&header);
    header[place..place + 8].copy_from_slice(&number.to_le_bytes());
    message.data_header = header.into();
}

/// The offset of a part of a header.
fn place_of(header: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - header.as_ptr() as usize
}

/// The place of the offset of a buffer, which is followed by its length.
fn buffer(number: usize) -> impl Fn(&[u8]) -> usize {
    move |header| {
        let message = root_as_message(header).unwrap();
        let buffers = message.header_as_record_batch().unwrap().buffers().unwrap();
        place_of(header, buffers.bytes()) + 16 * number
    }
}

/// The place of the length of a column, which is followed by its null count.
fn node(number: usize) -> impl Fn(&[u8]) -> usize {
    move |header| {
        let message = root_as_message(header).unwrap();
        let nodes = message.header_as_record_batch().unwrap().nodes().unwrap();
        place_of(header, nodes.bytes()) + 16 * number
    }
}

/// The place of the length of the batch.
fn rows(header: &[u8]) -> usize {
    let nodes = node(0)(header);
    let of_nodes = nodes..nodes + 32;
    let is_number = |place: &usize| {
        header[*place..*place + 8] == ROWS.to_le_bytes() && !of_nodes.contains(place)
    };
    (0..header.len() - 8).find(is_number).unwrap()
}

/// The place in a body where a buffer begins.
fn begin(message: &FlightData, number: usize) -> usize {
    let header = root_as_message(&message.data_header).unwrap();
    let batch = header.header_as_record_batch().unwrap();
    batch.buffers().unwrap().get(number).offset() as usize
}

fn in_body(message: &mut FlightData, place: usize, bytes: &[u8]) {
    let mut body = message.data_body.to_vec();
    body[place..place + bytes.len()].copy_from_slice(bytes);
    message.data_body = body.into();
}

/// Messages of a number (buffers 0 and 1) and a text (buffers 2 and more), each changed in one way.
fn crafted(schema: &SchemaRef) -> Vec<(String, Vec<FlightData>)> {
    let batch = columns(schema);
    let plain = messages(batch.clone(), None);
    let mut all = Vec::new();
    let mut add = |name: &str, of: &[FlightData], change: &dyn Fn(&mut FlightData)| {
        let mut messages = of.to_vec();
        change(&mut messages[1]);
        assert_ne!(messages, of, "{name} changes nothing");
        all.push((name.to_owned(), messages));
    };
    for number in [1, 3] {
        for (name, offset) in [
            ("beyond the body", 1 << 40),
            ("negative", -8),
            ("of the largest number", i64::MAX),
        ] {
            let name = format!("buffer {number} at an offset {name}");
            add(&name, &plain, &|of| write(of, buffer(number), offset));
        }
        for (name, length) in [
            ("of a terabyte", 1 << 40),
            ("that is negative", -1),
            ("of the largest number", i64::MAX),
            ("that is too short", 8),
        ] {
            let name = format!("buffer {number} with a length {name}");
            let place = move |header: &[u8]| buffer(number)(header) + 8;
            add(&name, &plain, &|of| write(of, place, length));
        }
    }
    for number in [0, 1] {
        for (name, count) in [
            ("2^40", 1 << 40),
            ("2^21", 1 << 21),
            ("-1", -1),
            ("2^63 - 1", i64::MAX),
        ] {
            let name = format!("column {number} of {name} rows");
            add(&name, &plain, &|of| write(of, node(number), count));
        }
        for (name, count) in [("-1", -1), ("2^40", 1 << 40), ("all and one", ROWS + 1)] {
            let name = format!("column {number} with {name} NULLs");
            let place = move |header: &[u8]| node(number)(header) + 8;
            add(&name, &plain, &|of| write(of, place, count));
        }
    }
    for (name, count) in [("2^40", 1 << 40), ("-1", -1), ("2^63 - 1", i64::MAX)] {
        let name = format!("a batch of {name} rows");
        add(&name, &plain, &|of| write(of, rows, count));
    }
    if schema.field(1).data_type() == &DataType::Utf8 {
        let offsets = begin(&plain[1], 3);
        let last = offsets + 4 * ROWS as usize;
        add("a text that ends 120,008 octets on", &plain, &|of| {
            in_body(of, last, &120_008_i32.to_le_bytes());
        });
        add("offsets that go back", &plain, &|of| {
            in_body(of, offsets + 4, &i32::MAX.to_le_bytes());
        });
        add("an offset that is negative", &plain, &|of| {
            in_body(of, offsets + 4, &(-4_i32).to_le_bytes());
        });
        let values = begin(&plain[1], 4);
        add("a text that is not UTF-8", &plain, &|of| {
            in_body(of, values + 2, &[0xff, 0xfe]);
        });
    }
    add("a body that is cut", &plain, &|of| {
        of.data_body = of.data_body.slice(..of.data_body.len() / 2);
    });
    add("no body", &plain, &|of| of.data_body = Vec::new().into());
    add("no header", &plain, &|of| {
        of.data_header = Vec::new().into();
    });
    add("a header of zeros", &plain, &|of| {
        of.data_header = vec![0; 64].into();
    });
    add("a schema in place of rows", &plain, &|of| {
        of.data_header = plain[0].data_header.clone();
    });
    // Arrow allocates the uncompressed length in front of a compressed buffer.
    let compressed = messages(batch.clone(), Some(CompressionType::LZ4_FRAME));
    for (name, length) in [
        ("2^63 - 1", i64::MAX),
        ("2^50", 1 << 50),
        ("2^30", 1 << 30),
        ("-2", -2),
        ("one", 1),
    ] {
        let name = format!("a buffer that says it has {name} octets");
        let place = begin(&compressed[1], 1);
        add(&name, &compressed, &|of| {
            in_body(of, place, &i64::to_le_bytes(length));
        });
    }
    let place = begin(&compressed[1], 1);
    add("an invalid LZ4 frame", &compressed, &|of| {
        in_body(of, place + 8, &[0; 12]);
    });
    let zstd = messages(batch.clone(), Some(CompressionType::ZSTD));
    add("a buffer of zstd", &compressed, &|of| *of = zstd[1].clone());
    // Columns of other types, and fewer columns.
    let first = batch.project(&[0]).unwrap();
    all.push(("a column is missing".to_owned(), messages(first, None)));
    let other: ArrayRef = Arc::new(StringViewArray::from_iter_values(
        (0..ROWS).map(|number| number.to_string()),
    ));
    let other = RecordBatch::try_from_iter([("n", other.clone()), ("s", other)]).unwrap();
    let other = messages(other, None);
    all.push(("columns of other types".to_owned(), other.clone()));
    let mixed = vec![plain[0].clone(), other[1].clone()];
    all.push(("rows of other types than they say".to_owned(), mixed));
    all.push(("nothing".to_owned(), Vec::new()));
    all
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .thread_stack_size(16 << 20)
        .build()
        .unwrap()
}

#[test]
fn a_client_validates_the_rows_of_executors() {
    enter();
    let runtime = runtime();
    let impostor = runtime.block_on(Impostor::start());
    let asks = Asks::by(Client::new(impostor.address(), 2).unwrap());
    let sql = "SELECT frame.number AS n, arrow_cast(frame.layers, 'Utf8') AS s FROM 'day/0.pcap'";
    // The first query records the schema.
    assert!(asks.ask(sql).is_err());
    let schema = impostor.state().schema.clone().unwrap();
    assert_eq!(schema.field(1).data_type(), &DataType::Utf8);
    let batch = columns(&schema);
    for compression in [None, Some(CompressionType::LZ4_FRAME)] {
        impostor.state().rows = messages(batch.clone(), compression);
        assert_eq!(asks.ask(sql).unwrap().rows.len(), ROWS as usize);
    }
    for (name, messages) in crafted(&schema) {
        impostor.state().rows = messages;
        let error = asks.ask(sql).expect_err(&name).to_string();
        assert!(error.contains("sends invalid rows: "), "{name}: {error}");
        assert!(!error.contains('\n'), "{name}: {error}");
    }
    impostor.state().rows = messages(batch, None);
    assert_eq!(asks.ask(sql).unwrap().rows.len(), ROWS as usize);
    // A client took metrics of any size.
    let operator = OperatorWithMetrics {
        operator_type: "x".repeat(17 << 20),
        ..OperatorWithMetrics::default()
    };
    impostor.state().metrics.stages = vec![JobStageMetrics {
        operators: vec![operator],
        ..JobStageMetrics::default()
    }];
    let error = asks.ask(sql).unwrap_err().to_string();
    assert!(error.contains("the metrics of the job"), "{error}");
}

/// The rows of a job that had ended were gone with their executor: the statement failed, although none of them was given out.
#[test]
fn a_statement_whose_rows_are_gone_is_run_again_once() {
    enter();
    let runtime = runtime();
    let impostor = runtime.block_on(Impostor::start());
    let asks = Asks::by(Client::new(impostor.address(), 2).unwrap());
    let sql = "SELECT frame.number AS n, arrow_cast(frame.layers, 'Utf8') AS s FROM 'day/0.pcap'";
    // The first query records the schema.
    assert!(asks.ask(sql).is_err());
    let schema = impostor.state().schema.clone().unwrap();
    let read = NamedCount {
        name: "weir.0.0.records".to_owned(),
        value: 7,
    };
    let operator = OperatorWithMetrics {
        metrics: vec![OperatorMetric {
            metric: Some(Metric::Count(read)),
            ..OperatorMetric::default()
        }],
        ..OperatorWithMetrics::default()
    };
    impostor.state().metrics.stages = vec![JobStageMetrics {
        operators: vec![operator],
        ..JobStageMetrics::default()
    }];
    impostor.state().rows = messages(columns(&schema), None);
    let ask = |gone: usize, breaks_off: bool| {
        let mut state = impostor.state();
        (state.submitted, state.gone, state.breaks_off) = (0, gone, breaks_off);
        drop(state);
        (asks.ask(sql), impostor.state().submitted)
    };
    let (answered, submitted) = ask(1, false);
    let answered = answered.unwrap();
    assert_eq!(answered.rows.len(), ROWS as usize);
    // What was read for the rows that are gone does not count.
    assert_eq!((submitted, answered.records), (2, 7));
    let note = "the statement was run again: the rows of the executor 127.0.0.1:";
    assert!(
        answered.notes.len() == 1 && answered.notes[0].starts_with(note),
        "{:?}",
        answered.notes
    );
    // Rows that are gone each time, and those of which some were given out, are an error.
    for (gone, breaks_off, expected, why) in [
        (2, false, 2, "cannot be fetched: they are gone"),
        (0, true, 1, "cannot be fetched: the executor is gone"),
    ] {
        let (answered, submitted) = ask(gone, breaks_off);
        let error = answered.unwrap_err();
        assert!(error.to_string().ends_with(why), "{error}");
        assert!(error.hint().unwrap().starts_with("run the statement again"));
        assert_eq!(submitted, expected, "{error}");
    }
}

/// A stage that reads the rows of the impostor.
fn stage(impostor: &Impostor, job: &str, schema: &SchemaRef) -> Vec<u8> {
    let reader = ShuffleReaderExecNode {
        partition: vec![ShuffleReaderPartition {
            location: vec![impostor.location("rows")],
        }],
        schema: Some(schema.as_ref().try_into().unwrap()),
        stage_id: 1,
        partitioning: Some(Partitioning {
            partition_method: Some(PartitionMethod::Unknown(1)),
        }),
        upstream_partition_count: 1,
        ..ShuffleReaderExecNode::default()
    };
    let writer = ShuffleWriterExecNode {
        job_id: job.to_owned(),
        stage_id: 2,
        ..ShuffleWriterExecNode::default()
    };
    let node = |of: Exchange, inputs| PhysicalPlanNode {
        physical_plan_type: Some(PhysicalPlanType::Extension(PhysicalExtensionNode {
            node: BallistaPhysicalPlanNode {
                physical_plan_type: Some(of),
            }
            .encode_to_vec(),
            inputs,
        })),
    };
    let reader = node(Exchange::ShuffleReader(reader), Vec::new());
    node(Exchange::ShuffleWriter(writer), vec![reader]).encode_to_vec()
}

/// The status of a task that reads the rows of the impostor.
fn executed(
    runtime: &tokio::runtime::Runtime,
    impostor: &Impostor,
    job: &str,
    schema: &SchemaRef,
) -> task_status::Status {
    let port = impostor.state().executor.as_ref().unwrap().port;
    let task = MultiTaskDefinition {
        job_id: job.to_owned(),
        session_id: "crafted".to_owned(),
        stage_id: 2,
        plan: stage(impostor, job, schema),
        task_ids: vec![TaskId {
            global_output_partition_ids: vec![0],
            vcores_consumed: 1,
            ..TaskId::default()
        }],
        ..MultiTaskDefinition::default()
    };
    runtime.block_on(async {
        let mut executor = ExecutorGrpcClient::new(weir_channel(port));
        let tasks = LaunchMultiTaskParams {
            multi_tasks: vec![task],
            scheduler_endpoint: String::new(),
        };
        let answered = executor.launch_multi_task(tasks).await.unwrap();
        assert!(answered.into_inner().failed_jobs.is_empty(), "{job}");
    });
    let mut ended = None;
    until(job, || {
        ended = impostor.state().ended.remove(job);
        ended.is_some()
    });
    ended.unwrap().status.unwrap()
}

fn weir_channel(port: u32) -> tonic::transport::Channel {
    weir_cluster::Trust::default()
        .endpoint(&format!("127.0.0.1:{port}"))
        .unwrap()
        .timeout(Duration::from_secs(20))
        .connect_lazy()
}

#[test]
fn an_executor_validates_the_rows_of_other_executors() {
    let folder = enter().join("crafted");
    std::fs::create_dir_all(&folder).unwrap();
    let runtime = runtime();
    let impostor = runtime.block_on(Impostor::start());
    let work = Arc::new(WorkFolder::create_in(&folder).unwrap());
    let mut options = ExecutorOptions::new(impostor.address(), work);
    options.cores = 1;
    runtime.spawn(async move { run_executor(&options, std::future::pending()).await });
    until("an executor", || impostor.state().executor.is_some());
    for text in [DataType::Utf8, DataType::Utf8View] {
        let schema = Arc::new(Schema::new(vec![
            Field::new("n", DataType::Int64, true),
            Field::new("s", text.clone(), true),
        ]));
        let check_valid = || {
            for compression in [None, Some(CompressionType::LZ4_FRAME)] {
                impostor.state().rows = messages(columns(&schema), compression);
                let done = executed(&runtime, &impostor, "valid", &schema);
                let task_status::Status::Successful(done) = done else {
                    panic!("{done:?}");
                };
                let rows: u64 = done.partitions.iter().map(|of| of.num_rows).sum();
                assert_eq!(rows, ROWS as u64);
            }
        };
        check_valid();
        for (number, (name, messages)) in crafted(&schema).into_iter().enumerate() {
            impostor.state().rows = messages;
            let job = format!("job{number}");
            let done = executed(&runtime, &impostor, &job, &schema);
            let task_status::Status::Failed(failed) = done else {
                panic!("{text}: {name}: {done:?}");
            };
            assert!(!failed.retryable, "{name}: {failed:?}");
            let error = &failed.error;
            assert!(error.contains("sends invalid rows: "), "{name}: {error}");
        }
        check_valid();
    }
}

/// A number that no other field of a header has.
const ROWS: i64 = 1_237;
