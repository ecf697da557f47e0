//! The sides of a cluster that answer: a scheduler, and executors.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ballista_core::config::BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK;
use ballista_core::error::BallistaError;
use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::protobuf::GetJobStatusParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tonic::Status;
use tonic::transport::Endpoint;
use weir_engine::{Engine, PieceSettings};

use crate::client::{MESSAGE_BYTES_MAX, said_by};
use crate::codec::WeirCodec;
use crate::doors;
use crate::error::Error;
use crate::trust::{CONNECT, Trust, chain};
use crate::work::WorkFolder;
use crate::worker::{Equipment, Teller, Worker};

/// How soon those who have gone are missed.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeats {
    /// An executor is heard of this often.
    pub every: Duration,
    /// An executor that was not heard of for so long has gone.
    pub lost_after: Duration,
}

impl Default for Heartbeats {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(2),
            lost_after: Duration::from_secs(10),
        }
    }
}

/// A scheduler that is to be started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchedulerOptions {
    /// Where it listens; port 0 takes a free one.
    pub listen: SocketAddr,
    /// The name or address that executors call it by, where that is not the one it listens at.
    pub advertise: Option<String>,
    /// How soon executors that have gone are missed.
    pub heartbeats: Heartbeats,
    /// The network is the user's own: whoever reaches it may ask and answer.
    pub trusted_network: bool,
    /// How executors and clients are known.
    pub trust: Trust,
}

impl Default for SchedulerOptions {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)),
            advertise: None,
            heartbeats: Heartbeats::default(),
            trusted_network: false,
            trust: Trust::default(),
        }
    }
}

/// An executor that is to be started.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecutorOptions {
    /// Host and port of the scheduler.
    pub scheduler: String,
    /// The address that it listens at.
    pub listen: IpAddr,
    /// The name or address that others call it by, where that is not the one it listens at.
    pub advertise: Option<String>,
    /// The port that it listens at; 0 takes a free one.
    pub port: u16,
    /// Where rows between stages lie.
    pub work: Arc<WorkFolder>,
    /// Bytes that all tasks together may hold.
    pub memory_limit_bytes: Option<usize>,
    /// Tasks that run at once.
    pub cores: usize,
    /// Folders that captures must lie in; any are read when there are none.
    pub roots: Vec<PathBuf>,
    /// Databases that functions of addresses ask.
    pub geoip: Vec<PathBuf>,
    /// How soon it is missed when it has gone.
    pub heartbeats: Heartbeats,
    /// The network is the user's own: whoever reaches it may ask for whatever it can read.
    pub trusted_network: bool,
    /// How the scheduler, other executors and clients are known.
    pub trust: Trust,
}

impl ExecutorOptions {
    /// An executor of the scheduler at this host and port, which keeps rows in this folder.
    #[must_use]
    pub fn new(scheduler: impl Into<String>, work: Arc<WorkFolder>) -> Self {
        Self {
            scheduler: scheduler.into(),
            listen: IpAddr::from([127, 0, 0, 1]),
            advertise: None,
            port: 0,
            work,
            memory_limit_bytes: None,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            roots: Vec::new(),
            geoip: Vec::new(),
            heartbeats: Heartbeats::default(),
            trusted_network: false,
            trust: Trust::default(),
        }
    }
}

/// A scheduler that listens.
pub struct Scheduler {
    listener: TcpListener,
    config: SchedulerConfig,
    trust: Trust,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scheduler({:?})", self.listener)
    }
}

impl Scheduler {
    /// Listens.
    ///
    /// # Errors
    /// When the address is taken, or is not this machine's own and the network was not said to be trusted.
    pub async fn bind(options: &SchedulerOptions) -> Result<Self, Error> {
        guarded(options.listen.ip(), options.trusted_network, &options.trust)?;
        let failed = |error: std::io::Error| Error::new(format!("{}: {error}", options.listen));
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        let state = planning_state()?;
        let of_session = state.clone();
        let lost_after = seconds(options.heartbeats.lost_after);
        let advertise = options.advertise.clone();
        let config = SchedulerConfig {
            external_host: advertise.unwrap_or_else(|| host(at.ip())),
            bind_host: at.ip().to_string(),
            bind_port: at.port(),
            task_distribution: TaskDistributionPolicy::RoundRobin,
            grpc_server_max_decoding_message_size: message_bytes(),
            grpc_server_max_encoding_message_size: message_bytes(),
            grpc_client_max_message_size: message_bytes(),
            executor_timeout_seconds: lost_after,
            expire_dead_executor_interval_seconds: lost_after.div_ceil(4).max(1),
            no_executors_grace_period_seconds: lost_after.max(1),
            finished_job_state_clean_up_interval_seconds: 600,
            override_config_producer: Some(Arc::new(config)),
            override_session_builder: Some(Arc::new(move |config| {
                Ok(SessionStateBuilder::new_from_existing(of_session.clone())
                    .with_config(config)
                    .build())
            })),
            override_physical_codec: Some(Arc::new(WeirCodec::default())),
            override_create_grpc_client_endpoint: Some(options.trust.endpoints()),
            ..SchedulerConfig::default()
        };
        Ok(Self {
            listener,
            config,
            trust: options.trust.clone(),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        let address = self.listener.local_addr();
        address.map_err(|error| Error::new(error.to_string()))
    }

    /// Schedules until it is dropped.
    ///
    /// # Errors
    /// When it cannot be started, or its socket fails.
    pub async fn run(self) -> Result<(), Error> {
        let failed = |error: BallistaError| Error::new(error.to_string());
        let config = Arc::new(self.config);
        let cluster = BallistaCluster::new_from_config(&config)
            .await
            .map_err(failed)?;
        let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, config)
            .await
            .map_err(failed)?;
        doors::schedule(self.listener, scheduler, &self.trust).await
    }
}

/// Runs tasks until `end`, or until the scheduler has gone for long. At its end the executor takes no more tasks, says so to
/// its scheduler, and has some seconds for those that run.
///
/// # Errors
/// When the scheduler cannot be reached or refuses, or the address is not this machine's own and the network was not said to
/// be trusted.
pub async fn run_executor(
    options: &ExecutorOptions,
    end: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Error> {
    let (ends, ended) = watch::channel(false);
    tokio::spawn(async move {
        end.await;
        ends.send_replace(true);
    });
    let serves = Arc::new(AtomicBool::new(false));
    let given_up = {
        let (mut ended, serves) = (ended.clone(), Arc::clone(&serves));
        async move {
            wanted(&mut ended).await;
            // It ends in order, which it does not come to where it has only just begun to serve.
            if serves.load(Ordering::Relaxed) {
                tokio::time::sleep(END_MAX).await;
            }
        }
    };
    tokio::select! {
        outcome = serve_tasks(options, ended, serves) => outcome,
        () = given_up => Ok(()),
    }
}

/// How often an executor looks for rows of jobs that nobody has ended, and how long nothing may have been added to them.
const CLEAN_EVERY: Duration = Duration::from_secs(300);
const KEPT_MAX: Duration = Duration::from_secs(3600);

/// How long an executor may take to its end. Its scheduler is told at once, and has others do what is unfinished.
const END_MAX: Duration = Duration::from_secs(3);

/// Waits until the executor is to end.
async fn wanted(ended: &mut watch::Receiver<bool>) {
    if ended.wait_for(|ended| *ended).await.is_err() {
        // Whoever could have said so has gone without.
        std::future::pending::<()>().await;
    }
}

/// Runs tasks until `ended`; `serves` says since when there is something to end in order.
async fn serve_tasks(
    options: &ExecutorOptions,
    mut ended: watch::Receiver<bool>,
    serves: Arc<AtomicBool>,
) -> Result<(), Error> {
    let trust = &options.trust;
    guarded(options.listen, options.trusted_network, trust)?;
    host_and_port(&options.scheduler)?;
    let work_dir = options.work.path().to_string_lossy().into_owned();
    introduced(&options.scheduler, trust).await?;
    // There is one door for rows and tasks.
    let failed = |error: std::io::Error| Error::new(format!("{}: {error}", options.listen));
    let door = TcpListener::bind((options.listen, options.port))
        .await
        .map_err(failed)?;
    let port = door.local_addr().map_err(failed)?.port();
    let state = engine_state(&options.geoip)?;
    let mut settings = PieceSettings::default();
    settings.memory_limit_bytes = options
        .memory_limit_bytes
        .map(|bytes| bytes / options.cores.max(1));
    settings.threads = Some(1);
    settings.geoip.clone_from(&options.geoip);
    settings.roots.clone_from(&options.roots);
    let settings = Arc::new(settings);
    let advertise = options.advertise.clone();
    let equipment = Equipment {
        host: advertise.unwrap_or_else(|| host(options.listen)),
        port,
        cores: options.cores.max(1),
        work_dir,
        memory_limit_bytes: options.memory_limit_bytes,
        trust: trust.clone(),
        config: Arc::new(move || config().with_extension(Arc::clone(&settings))),
        functions: BallistaFunctionRegistry::from(&state),
    };
    let (finishes, finished) = mpsc::unbounded_channel();
    let worker = Arc::new(Worker::new(equipment, finishes)?);
    let scheduler = trust.calm_endpoint(&options.scheduler)?.connect_lazy();
    let mut teller = Teller::new(&worker, scheduler);
    let ends = |said: String| {
        Error::new(format!(
            "the executor of {} ends: {said}",
            options.scheduler
        ))
    };
    let mut services = JoinSet::new();
    services.spawn(doors::execute(door, Arc::clone(&worker), trust.clone()));
    serves.store(true, Ordering::Relaxed);
    let telling = teller.clone().tell(finished);
    services.spawn(async move {
        telling.await;
        Ok(())
    });
    teller
        .register()
        .await
        .map_err(|error| ends(error.to_string()))?;
    let work = Arc::clone(&options.work);
    services.spawn(async move {
        loop {
            tokio::time::sleep(CLEAN_EVERY).await;
            let work = Arc::clone(&work);
            let cleaned = tokio::task::spawn_blocking(move || work.remove_older_than(KEPT_MAX));
            cleaned
                .await
                .map_err(|error| Error::new(error.to_string()))?;
        }
    });
    let (living, every) = (teller.clone(), options.heartbeats.every);
    services.spawn(async move { Err(living.live(every).await) });
    tokio::select! {
        Some(over) = services.join_next() => {
            let over = over.map_err(|error| ends(error.to_string()))?;
            return Err(ends(over.err().map_or_else(|| "it does not listen any more".to_owned(), |error| error.to_string())));
        }
        () = wanted(&mut ended) => {}
    }
    // Rows are given until the last task has come to its end.
    teller.end(&worker).await;
    Ok(())
}

/// What sessions of both sides begin with.
fn config() -> SessionConfig {
    // Each piece is a task: it goes to whoever is free, and alone is done again when that one is lost.
    SessionConfig::new_with_ballista().set_u64(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1)
}

/// Plans are only cut by a scheduler; the functions in them must have names that it knows.
fn planning_state() -> Result<SessionState, Error> {
    engine_state(&[])
}

pub(crate) fn engine_state(geoip: &[PathBuf]) -> Result<SessionState, Error> {
    let mut options = weir_engine::Options::default();
    options.geoip = geoip.to_vec();
    let engine = Engine::new(&options).map_err(|error| Error::new(error.to_string()))?;
    Ok(engine.session_state())
}

/// Finds out whether a scheduler lets in who wants to work for it; one that does not listen yet is waited for.
async fn introduced(scheduler: &str, trust: &Trust) -> Result<(), Error> {
    let endpoint = trust.endpoint(scheduler)?.connect_timeout(CONNECT);
    let until = Instant::now() + SCHEDULER;
    let mut unanswered = 0;
    loop {
        // A connection that is ended while a question is on its way may leave it without a word.
        let Ok(met) = tokio::time::timeout(ANSWER, asked(&endpoint)).await else {
            unanswered += 1;
            if unanswered == UNANSWERED_MAX {
                let said = trust.unanswered("it says nothing");
                return Err(Error::new(format!(
                    "the scheduler at {scheduler} does not let in: {said}"
                )));
            }
            continue;
        };
        match met {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(status)) => {
                return Err(Error::new(format!(
                    "the scheduler at {scheduler} does not let in: {}",
                    said_by(&status, trust)
                )));
            }
            Err(error) => {
                let said = chain(&error);
                let is_starting = said.contains("refused") || said.contains("dns");
                if !is_starting || Instant::now() > until {
                    let said = trust.unconnected(&said);
                    return Err(Error::new(format!(
                        "no scheduler answers at {scheduler}: {said}"
                    )));
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        }
    }
}

/// Asks a scheduler after no job: whether there is a connection, and what it says.
async fn asked(endpoint: &Endpoint) -> Result<Result<(), Status>, tonic::transport::Error> {
    let channel = endpoint.connect().await?;
    let nothing = GetJobStatusParams::default();
    let asked = SchedulerGrpcClient::new(channel)
        .get_job_status(nothing)
        .await;
    Ok(asked.map(|_| ()))
}

/// Refuses to listen where strangers could ask.
fn guarded(address: IpAddr, is_trusted: bool, trust: &Trust) -> Result<(), Error> {
    trust.check_member()?;
    if address.is_loopback() || is_trusted || trust.keeps_strangers_out() {
        return Ok(());
    }
    Err(Error::new(format!(
        "{address} can be reached from other machines, and whoever reaches a cluster reads what its executors can read"
    ))
    .with_hint(
        "a token of 32 characters or more lets in who has it (--token-file), and --tls-cert, --tls-key and --tls-ca who has a certificate; --trusted-network says that only your own machines are in that network",
    ))
}

/// The parts of `HOST:PORT`.
///
/// # Errors
/// When it is none.
pub fn host_and_port(text: &str) -> Result<(String, u16), Error> {
    let parts = text.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse().ok()?;
        (!host.is_empty()).then(|| (host.to_owned(), port))
    });
    parts.ok_or_else(|| {
        Error::new(format!("{text} is no host and port")).with_hint("write 127.0.0.1:50050")
    })
}

fn host(address: IpAddr) -> String {
    match address {
        IpAddr::V6(address) => format!("[{address}]"),
        IpAddr::V4(address) => address.to_string(),
    }
}

fn seconds(duration: Duration) -> u64 {
    duration.as_secs().max(1)
}

fn message_bytes() -> u32 {
    u32::try_from(MESSAGE_BYTES_MAX).unwrap_or(u32::MAX)
}

/// How long an executor waits for a scheduler that does not listen yet.
const SCHEDULER: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What a connection with its handshake and an answer may take.
const ANSWER: Duration = Duration::from_secs(10);
/// Questions without an answer, after which a scheduler is given up.
pub(crate) const UNANSWERED_MAX: u32 = 3;

/// Where a scheduler listens by default.
pub const DEFAULT_PORT: u16 = 50050;
