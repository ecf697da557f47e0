//! Random mutations of the messages of a cluster: each is accepted or rejected, without a panic.
//!
//! The seeds are in `fuzz/cluster/corpus`, the corpus of the fuzz target. `WEIR_SEEDS=anew` writes them again.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ballista_core::serde::protobuf::action::ActionType;
use ballista_core::serde::protobuf::ballista_physical_plan_node::PhysicalPlanType as Exchange;
use ballista_core::serde::protobuf::execute_query_params::Query;
use ballista_core::serde::protobuf::executor_resource::Resource;
use ballista_core::serde::protobuf::{
    Action, BallistaPhysicalPlanNode, ExecuteQueryParams, ExecutorOperatingSystemSpecification,
    ExecutorRegistration, ExecutorResource, ExecutorSpecification, FailedTask, FetchPartition,
    KeyValuePair, LaunchMultiTaskParams, MultiTaskDefinition, RegisterExecutorParams,
    ShuffleWritePartition, ShuffleWriterExecNode, SuccessfulTask, TaskId, TaskStatus,
    UpdateTaskStatusParams, task_status,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use datafusion_proto::protobuf::{PhysicalExtensionNode, PhysicalPlanNode};
use prost::Message;
use weir_cluster::{WeirCodec, look_at_message};
use weir_engine::{Cluster, Engine, Options};
use weir_testkit::{Rng, mutate};

use crate::samples::enter;

/// Records the plans that would be sent to a cluster, and leaves their execution to the engine.
#[derive(Debug, Default)]
struct Recorder(Mutex<Vec<PhysicalPlanNode>>);

impl Cluster for Recorder {
    fn sent(&self, plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
        let codec = WeirCodec::default();
        let node = PhysicalPlanNode::try_from_physical_plan(Arc::clone(plan), &codec).ok()?;
        self.0.lock().unwrap().push(node);
        None
    }

    fn partitions(&self) -> usize {
        2
    }

    fn piece_bytes(&self) -> u64 {
        1 << 20
    }
}

/// The plans of some statements.
fn plans() -> Vec<PhysicalPlanNode> {
    enter();
    let recorder = Arc::new(Recorder::default());
    let mut options = Options::default();
    options.threads = Some(2);
    options.cluster = Some(Arc::clone(&recorder) as Arc<dyn Cluster>);
    let engine = Engine::new(&options).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(16 << 20)
        .build()
        .unwrap();
    for sql in [
        "SELECT count(*) FROM 'day/[0-3].pcap'",
        "SELECT ip.src, count(*), sum(frame.len) FROM 'day/[01].pcap' WHERE udp.dstport = 5060 GROUP BY 1 ORDER BY 2 DESC LIMIT 5",
        "SELECT frame.number, ip.src FROM 'day/0.pcap' WHERE frame.len BETWEEN 100 AND 200",
        "SELECT sip.method, count(*) FROM sip('day/0.pcap') GROUP BY 1",
        "SELECT a.n, b.n FROM (SELECT ip.src AS s, count(*) AS n FROM 'day/0.pcap' GROUP BY 1) a \
         JOIN (SELECT ip.dst AS s, count(*) AS n FROM 'day/1.pcap' GROUP BY 1) b ON a.s = b.s",
        "SELECT row_number() OVER (PARTITION BY ip.src ORDER BY frame.time) FROM 'day/0.pcap'",
    ] {
        runtime.block_on(async {
            for statement in engine.parse(sql).unwrap() {
                let mut statements = VecDeque::from([statement]);
                engine.plan_next(&mut statements).await.unwrap();
            }
        });
    }
    let plans = recorder.0.lock().unwrap().clone();
    assert!(plans.len() >= 6, "{}", plans.len());
    plans
}

fn stage(plan: PhysicalPlanNode) -> PhysicalPlanNode {
    let writer = ShuffleWriterExecNode {
        job_id: "job".to_owned(),
        stage_id: 1,
        ..ShuffleWriterExecNode::default()
    };
    let node = BallistaPhysicalPlanNode {
        physical_plan_type: Some(Exchange::ShuffleWriter(writer)),
    };
    PhysicalPlanNode {
        physical_plan_type: Some(PhysicalPlanType::Extension(PhysicalExtensionNode {
            node: node.encode_to_vec(),
            inputs: vec![plan],
        })),
    }
}

/// A message of each type, with the byte of its type in front.
fn seeds() -> Vec<(String, Vec<u8>)> {
    let mut seeds = Vec::new();
    let mut add = |name: String, service: u8, message: Vec<u8>| {
        seeds.push((name, [vec![service], message].concat()));
    };
    let setting = |key: &str, value: &str| KeyValuePair {
        key: key.to_owned(),
        value: Some(value.to_owned()),
    };
    let settings = vec![
        setting("datafusion.execution.batch_size", "8192"),
        setting("datafusion.execution.time_zone", "Europe/Berlin"),
        setting("datafusion.optimizer.max_passes", "3"),
    ];
    for (number, plan) in plans().into_iter().enumerate() {
        let bytes = plan.encode_to_vec();
        let task = MultiTaskDefinition {
            job_id: "job".to_owned(),
            session_id: "session".to_owned(),
            stage_id: 1,
            plan: stage(plan.clone()).encode_to_vec(),
            task_ids: vec![TaskId::default()],
            props: settings.clone(),
            ..MultiTaskDefinition::default()
        };
        let request = ExecuteQueryParams {
            session_id: "session".to_owned(),
            settings: settings.clone(),
            query: Some(Query::PhysicalPlan(bytes.clone())),
            ..ExecuteQueryParams::default()
        };
        let tasks = LaunchMultiTaskParams {
            multi_tasks: vec![task],
            scheduler_endpoint: "127.0.0.1:50050".to_owned(),
        };
        add(format!("plan-{number}"), 0, bytes);
        add(format!("stage-{number}"), 1, stage(plan).encode_to_vec());
        add(format!("statement-{number}"), 3, request.encode_to_vec());
        add(format!("tasks-{number}"), 7, tasks.encode_to_vec());
    }
    let status = |status| TaskStatus {
        job_id: "job".to_owned(),
        stage_id: 1,
        status: Some(status),
        ..TaskStatus::default()
    };
    let request = UpdateTaskStatusParams {
        executor_id: "executor".to_owned(),
        task_status: vec![
            status(task_status::Status::Successful(SuccessfulTask {
                executor_id: "executor".to_owned(),
                partitions: vec![ShuffleWritePartition::default()],
                ..SuccessfulTask::default()
            })),
            status(task_status::Status::Failed(FailedTask::default())),
        ],
    };
    add("statuses".to_owned(), 4, request.encode_to_vec());
    let fetch = FetchPartition {
        job_id: "job".to_owned(),
        stage_id: 1,
        ..FetchPartition::default()
    };
    let ticket = Action {
        action_type: Some(ActionType::FetchPartition(fetch)),
        ..Action::default()
    };
    add("ticket".to_owned(), 5, ticket.encode_to_vec());
    let registration = ExecutorRegistration {
        id: "executor".to_owned(),
        host: Some("127.0.0.1".to_owned()),
        port: 50051,
        grpc_port: 50051,
        specification: Some(ExecutorSpecification {
            resources: vec![ExecutorResource {
                resource: Some(Resource::Vcores(2)),
            }],
        }),
        os_info: Some(ExecutorOperatingSystemSpecification::default()),
        ..ExecutorRegistration::default()
    };
    let registered = RegisterExecutorParams {
        metadata: Some(registration),
    };
    add("registration".to_owned(), 6, registered.encode_to_vec());
    seeds
}

fn corpus() -> PathBuf {
    let crates = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    crates.join("../../fuzz/cluster/corpus/cluster_doors")
}

/// A message with the path of the samples replaced by another one of the same length.
fn of_no_machine(mut seed: Vec<u8>) -> Vec<u8> {
    let folder = enter().to_str().unwrap().as_bytes();
    let other = [b"/".to_vec(), vec![b'x'; folder.len() - 1]].concat();
    for at in 0..seed.len().saturating_sub(folder.len()) {
        if seed[at..].starts_with(folder) {
            seed[at..at + folder.len()].copy_from_slice(&other);
        }
    }
    seed
}

#[test]
fn messages_of_a_cluster_are_accepted() {
    let is_anew = std::env::var("WEIR_SEEDS").is_ok_and(|value| value == "anew");
    for (name, seed) in seeds() {
        assert!(look_at_message(&seed), "{name}");
        let path = corpus().join(&name);
        if is_anew {
            fs::create_dir_all(corpus()).unwrap();
            fs::write(&path, of_no_machine(seed)).unwrap();
        }
        // The stored seeds may be plans of another version, and are of the same types.
        assert!(path.exists(), "WEIR_SEEDS=anew writes {}", path.display());
    }
}

#[test]
fn mutated_messages_are_accepted_or_rejected() {
    enter();
    let mut seeds: Vec<_> = fs::read_dir(corpus())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    seeds.sort();
    let seeds: Vec<_> = seeds.iter().map(|path| fs::read(path).unwrap()).collect();
    let mut random = Rng::new(35);
    let (mut let_in, mut slowest) = (0, Duration::ZERO);
    for round in 0..6_000 {
        let mut message = seeds[round % seeds.len()].clone();
        for _ in 0..=round % 3 {
            change(&mut random, &mut message, &seeds);
        }
        let look = || {
            let begun = Instant::now();
            (look_at_message(&message), begun.elapsed())
        };
        let (is_let_in, mut took) = look();
        let_in += u32::from(is_let_in);
        // The first caught panic of Arrow resolves its backtrace, which takes a while, and the machine may be busy.
        if took > SLOW {
            took = took.min(look().1);
        }
        slowest = slowest.max(took);
    }
    for prefix in seeds
        .iter()
        .flat_map(|seed| (0..seed.len()).step_by(7).map(|len| &seed[..len]))
    {
        let _ = look_at_message(prefix);
    }
    // Some mutations change names and numbers to other valid ones, and most do not.
    assert!((1..5_999).contains(&let_in), "{let_in}");
    assert!(slowest < SLOW, "{slowest:?}");
}

const SLOW: Duration = Duration::from_secs(2);

fn change(random: &mut Rng, message: &mut Vec<u8>, others: &[Vec<u8>]) {
    match random.below(4) {
        // Another type, or a length.
        0 => {
            let at = random.below(message.len().max(1) as u64) as usize;
            if let Some(byte) = message.get_mut(at) {
                *byte = random.next_u32() as u8;
            }
        }
        // The end is that of another message.
        1 => {
            let other = random.pick(others);
            let from = random.below(other.len() as u64) as usize;
            let to = random.below(message.len().max(1) as u64) as usize;
            message.truncate(to);
            message.extend_from_slice(&other[from..]);
        }
        _ => mutate::bytes(random, message),
    }
}
