//! The servers of a cluster: scheduler and executors.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ballista_core::config::BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK;
use ballista_core::error::BallistaError;
use ballista_core::extension::SessionConfigExt;
use ballista_core::ids::new_instance_id;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::protobuf::GetJobStatusParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::{BallistaCodec, BallistaLogicalExtensionCodec};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::metrics::default_metrics_collector;
use ballista_scheduler::scheduler_server::{JobIdGenerator, SchedulerServer};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tonic::Status;
use tonic::transport::Endpoint;
use weir_engine::{Engine, PieceSettings};

use crate::codec::WeirCodec;
use crate::contact::{Contact, LastContact};
use crate::error::{Error, chain};
use crate::heartbeats::LiveExecutors;
use crate::launch::BoundedLauncher;
use crate::protocol::{MESSAGE_BYTES_MAX, UNANSWERED_MAX};
use crate::retry;
use crate::services::{self, JobRecords};
use crate::trust::{Trust, error_message, is_hung_up};
use crate::turns::Turns;
use crate::work::WorkFolder;
use crate::worker::{Equipment, StatusReporter, Worker};

/// The heartbeats of executors.
#[derive(Clone, Copy, Debug)]
pub struct Heartbeats {
    /// The interval of heartbeats.
    pub every: Duration,
    /// The time without a heartbeat after which an executor is lost.
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

/// The options of a scheduler.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SchedulerOptions {
    /// The address to listen on; port 0 takes a free port.
    pub listen: SocketAddr,
    /// The host that executors connect to, if it differs from the listen address.
    pub advertise: Option<String>,
    /// The heartbeats of executors.
    pub heartbeats: Heartbeats,
    /// The network is trusted: no authentication is required on addresses that are not loopback.
    pub trusted_network: bool,
    /// The authentication of executors and clients.
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

/// The options of an executor.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExecutorOptions {
    /// The host and port of the scheduler.
    pub scheduler: String,
    /// The address to listen on.
    pub listen: IpAddr,
    /// The host that others connect to, if it differs from the listen address.
    pub advertise: Option<String>,
    /// The port to listen on; 0 takes a free port.
    pub port: u16,
    /// The directory of rows between stages.
    pub work: Arc<WorkFolder>,
    /// The memory limit of all tasks together.
    pub memory_limit_bytes: Option<usize>,
    /// The number of concurrent tasks.
    pub cores: usize,
    /// The directories that captures must lie in; without any, all captures are readable.
    pub roots: Vec<PathBuf>,
    /// The databases of GeoIP functions.
    pub geoip: Vec<PathBuf>,
    /// The heartbeats to the scheduler.
    pub heartbeats: Heartbeats,
    /// The network is trusted: no authentication is required on addresses that are not loopback.
    pub trusted_network: bool,
    /// The authentication of the scheduler, other executors and clients.
    pub trust: Trust,
    /// Is sent when the scheduler does not answer any more, and when it answers again.
    pub contact: Option<mpsc::UnboundedSender<Contact>>,
}

impl ExecutorOptions {
    /// An executor of the scheduler at this host and port, with this work directory.
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
            contact: None,
        }
    }
}

/// A scheduler that is bound to its address.
pub struct Scheduler {
    listener: TcpListener,
    config: SchedulerConfig,
    turns: Turns,
    trust: Trust,
}

impl fmt::Debug for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scheduler({:?})", self.listener)
    }
}

impl Scheduler {
    /// Binds the address.
    ///
    /// # Errors
    /// When the address is in use, or is not loopback and authentication is neither configured nor waived.
    pub async fn bind(options: &SchedulerOptions) -> Result<Self, Error> {
        guarded(options.listen.ip(), options.trusted_network, &options.trust)?;
        let failed = |error: std::io::Error| Error::new(format!("{}: {error}", options.listen));
        let listener = TcpListener::bind(options.listen).await.map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        let state = planning_state()?;
        let of_session = state.clone();
        let lost_after = seconds(options.heartbeats.lost_after);
        let advertise = options.advertise.clone();
        let turns = Turns::default();
        let config = SchedulerConfig {
            external_host: advertise.unwrap_or_else(|| host(at.ip())),
            bind_host: at.ip().to_string(),
            bind_port: at.port(),
            task_distribution: TaskDistributionPolicy::Custom(Arc::new(turns.clone())),
            grpc_server_max_decoding_message_size: message_bytes(),
            grpc_server_max_encoding_message_size: message_bytes(),
            grpc_client_max_message_size: message_bytes(),
            executor_timeout_seconds: lost_after,
            expire_dead_executor_interval_seconds: lost_after.div_ceil(4).max(1),
            // A job without an executor is cancelled by the time that passes for this process (`services.rs`).
            no_executors_grace_period_seconds: u64::from(u32::MAX),
            // The rows of a job are removed when its client does not read them any more (`kept.rs`).
            finished_job_data_clean_up_interval_seconds: 0,
            finished_job_state_clean_up_interval_seconds: 600,
            job_id_generator: Some(Arc::new(RandomJobIds(turns.clone()))),
            override_config_producer: Some(Arc::new(config)),
            override_session_builder: Some(Arc::new(move |config| {
                Ok(SessionStateBuilder::new_from_existing(of_session.clone())
                    .with_config(config)
                    .build())
            })),
            override_create_grpc_client_endpoint: Some(options.trust.endpoints()?),
            ..SchedulerConfig::default()
        };
        Ok(Self {
            listener,
            config,
            turns,
            trust: options.trust.clone(),
        })
    }

    /// The address that it is bound to.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn address(&self) -> Result<SocketAddr, Error> {
        let address = self.listener.local_addr();
        address.map_err(|error| Error::new(error.to_string()))
    }

    /// Serves until it is dropped.
    ///
    /// # Errors
    /// When the scheduler cannot be started, or its socket fails.
    pub async fn run(self) -> Result<(), Error> {
        let failed = |error: BallistaError| Error::new(error.to_string());
        let config = Arc::new(self.config);
        let cluster = BallistaCluster::new_from_config(&config)
            .await
            .map_err(failed)?;
        let jobs = cluster.job_state();
        let executors = Arc::new(LiveExecutors::default());
        let cluster = BallistaCluster::new(executors, Arc::clone(&jobs));
        let logical = Arc::new(BallistaLogicalExtensionCodec::default());
        let codec = BallistaCodec::new(logical, Arc::new(WeirCodec::default()));
        let records = JobRecords {
            turns: self.turns,
            ..JobRecords::default()
        };
        let launcher = BoundedLauncher::new(records.rejections.clone(), records.losses.clone());
        let lost_after = Duration::from_secs(config.executor_timeout_seconds);
        let mut scheduler =
            SchedulerServer::<LogicalPlanNode, PhysicalPlanNode>::new_with_task_launcher(
                config.scheduler_endpoint(),
                cluster,
                codec,
                config,
                default_metrics_collector().map_err(failed)?,
                Arc::new(launcher),
            );
        scheduler.init().await.map_err(failed)?;
        services::schedule(
            self.listener,
            scheduler,
            jobs,
            records,
            lost_after,
            &self.trust,
        )
        .await
    }
}

/// Runs tasks until `end`, or until the scheduler has refused several heartbeats; one that does not answer is waited for. A graceful shutdown takes no more tasks, deregisters the
/// executor, and waits some seconds for running tasks.
///
/// # Errors
/// When the scheduler cannot be reached or rejects the executor, or the address is not loopback and authentication is neither
/// configured nor waived.
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
            // An executor that has not begun to serve has no graceful shutdown.
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

/// The interval of looking whether the work directory is there.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The interval of asking whether the jobs of tasks are known.
const ASK_EVERY: Duration = Duration::from_secs(10);
/// The interval of the removal of abandoned job data, and its minimum age.
const CLEAN_EVERY: Duration = Duration::from_secs(300);
const KEPT_MAX: Duration = Duration::from_secs(3600);

/// The timeout of the graceful shutdown. The scheduler reassigns unfinished tasks at once.
const END_MAX: Duration = Duration::from_secs(3);

/// Waits for the request to end the executor.
async fn wanted(ended: &mut watch::Receiver<bool>) {
    if ended.wait_for(|ended| *ended).await.is_err() {
        // The sender is gone without a request to end.
        std::future::pending::<()>().await;
    }
}

/// Makes random names of jobs: a client that guesses one can read the rows of the job. Ballista's own names are the time in
/// milliseconds.
struct RandomJobIds(Turns);

#[tonic::async_trait]
impl JobIdGenerator for RandomJobIds {
    async fn next_id(&self) -> String {
        // A UUID, without the hyphens, which a job ID does not have.
        let id = new_instance_id().replace('-', "");
        self.0.enter(&id);
        id
    }
}

/// The configuration of an executor that listens at this port.
fn equipment(options: &ExecutorOptions, port: u16) -> Result<Equipment, Error> {
    let state = engine_state(&options.geoip, options.memory_limit_bytes)?;
    let cores = options.cores.max(1);
    let mut settings = PieceSettings::default();
    settings.memory_limit_bytes = options.memory_limit_bytes.map(|bytes| bytes / cores);
    settings.threads = Some(1);
    settings.geoip.clone_from(&options.geoip);
    settings.roots.clone_from(&options.roots);
    let settings = Arc::new(settings);
    let advertise = options.advertise.clone();
    Ok(Equipment {
        host: advertise.unwrap_or_else(|| host(options.listen)),
        port,
        cores,
        work_dir: options.work.path().to_string_lossy().into_owned(),
        memory_limit_bytes: options.memory_limit_bytes,
        trust: options.trust.clone(),
        config: Arc::new(move || config().with_extension(Arc::clone(&settings))),
        functions: BallistaFunctionRegistry::from(&state),
    })
}

/// Runs tasks until `ended`; `serves` is set once a graceful shutdown makes sense.
async fn serve_tasks(
    options: &ExecutorOptions,
    mut ended: watch::Receiver<bool>,
    serves: Arc<AtomicBool>,
) -> Result<(), Error> {
    let trust = &options.trust;
    guarded(options.listen, options.trusted_network, trust)?;
    host_and_port(&options.scheduler)?;
    introduced(&options.scheduler, trust).await?;
    // Rows and tasks are served at one port.
    let address = SocketAddr::from((options.listen, options.port));
    let failed = |error: std::io::Error| Error::new(format!("{address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let (finishes, finished) = mpsc::unbounded_channel();
    let worker = Arc::new(Worker::new(equipment(options, port)?, finishes)?);
    let scheduler = trust.channel(&trust.calm_endpoint(&options.scheduler)?);
    let reporter = StatusReporter::new(&worker, scheduler);
    let ends = |message: String| {
        Error::new(format!(
            "the executor of {} ends: {message}",
            options.scheduler
        ))
    };
    let mut services = JoinSet::new();
    services.spawn(services::execute(
        listener,
        Arc::clone(&worker),
        trust.clone(),
    ));
    serves.store(true, Ordering::Relaxed);
    let reporting = reporter.clone().report(finished);
    services.spawn(async move {
        reporting.await;
        Ok(())
    });
    reporter
        .register()
        .await
        .map_err(|error| ends(error.to_string()))?;
    let work = Arc::clone(&options.work);
    services.spawn(async move {
        loop {
            work.restore()?;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    });
    let (work, of_jobs) = (Arc::clone(&options.work), reporter.clone());
    services.spawn(async move {
        loop {
            tokio::time::sleep(CLEAN_EVERY).await;
            let cleaned = remove_abandoned(&work, &of_jobs).await;
            cleaned.map_err(|error| Error::new(error.to_string()))?;
        }
    });
    services.spawn(end_unknown(Arc::clone(&worker), reporter.clone()));
    let (living, every) = (reporter.clone(), options.heartbeats.every);
    let contact = LastContact::new(options.contact.clone());
    services.spawn(async move { Err(living.live(every, contact).await) });
    tokio::select! {
        Some(over) = services.join_next() => {
            let over = over.map_err(|error| ends(error.to_string()))?;
            return Err(ends(over.err().map_or_else(|| "a service has ended".to_owned(), |error| error.to_string())));
        }
        () = wanted(&mut ended) => {}
    }
    // Rows are served until the last task has ended.
    reporter.end(&worker).await;
    Ok(())
}

/// Ends the tasks of jobs that the scheduler does not know, until it is dropped.
async fn end_unknown(worker: Arc<Worker>, jobs: StatusReporter) -> Result<(), Error> {
    let mut unknown = BTreeSet::new();
    loop {
        tokio::time::sleep(ASK_EVERY).await;
        let is_known = |job: String| {
            let jobs = jobs.clone();
            async move { jobs.keeps_rows(&job).await }
        };
        unknown = worker.end_unknown(&unknown, is_known).await;
    }
}

/// Removes the rows of jobs that were neither written nor read for some time, and that the scheduler does not know any more.
async fn remove_abandoned(work: &Arc<WorkFolder>, jobs: &StatusReporter) -> Result<(), JoinError> {
    let of_executor = Arc::clone(work);
    let old = spawn_blocking(move || of_executor.older_than(KEPT_MAX)).await?;
    for job in old {
        if !jobs.keeps_rows(&job).await {
            let of_executor = Arc::clone(work);
            spawn_blocking(move || of_executor.remove(&job)).await?;
        }
    }
    Ok(())
}

/// The session configuration of scheduler and executors.
fn config() -> SessionConfig {
    // Each piece is a task of its own: any free executor takes it, and it alone is repeated when that one is lost.
    SessionConfig::new_with_ballista().set_u64(BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, 1)
}

/// The scheduler divides plans into stages only, but has to resolve the functions in them by name.
fn planning_state() -> Result<SessionState, Error> {
    engine_state(&[], None)
}

/// The functions of an engine. Where its memory has a limit, so have the values that a function makes of one batch of rows.
pub(crate) fn engine_state(
    geoip: &[PathBuf],
    memory_limit_bytes: Option<usize>,
) -> Result<SessionState, Error> {
    let mut options = weir_engine::Options::default();
    options.geoip = geoip.to_vec();
    options.memory_limit_bytes = memory_limit_bytes;
    let engine = Engine::new(&options).map_err(|error| Error::new(error.to_string()))?;
    Ok(engine.session_state())
}

/// Checks that the scheduler accepts this executor. A scheduler that does not listen yet is waited for.
async fn introduced(scheduler: &str, trust: &Trust) -> Result<(), Error> {
    let endpoint = trust.endpoint(scheduler)?;
    let until = Instant::now() + SCHEDULER;
    let mut unanswered = 0;
    loop {
        // A request whose connection is closed meanwhile may get no response.
        let Ok(met) = tokio::time::timeout(ANSWER, check_connection(&endpoint, trust)).await else {
            unanswered += 1;
            if unanswered == UNANSWERED_MAX {
                let message = trust.unanswered("it does not respond");
                return Err(Error::new(format!(
                    "the scheduler at {scheduler} rejects the connection: {message}"
                )));
            }
            continue;
        };
        match met {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(status)) => {
                return Err(Error::new(format!(
                    "the scheduler at {scheduler} rejects the connection: {}",
                    error_message(&status, trust)
                )));
            }
            Err(error) => {
                let message = chain(&error);
                let is_starting = message.contains("refused") || message.contains("dns");
                if !is_starting || Instant::now() > until {
                    let message = trust.unconnected(&message);
                    return Err(Error::new(format!(
                        "no scheduler answers at {scheduler}: {message}"
                    )));
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }
}

/// Sends a status request without a job ID, to test the connection and the authentication.
async fn check_connection(
    endpoint: &Endpoint,
    trust: &Trust,
) -> Result<Result<(), Status>, tonic::transport::Error> {
    let connect = || trust.connected(endpoint);
    let channel = retry::attempts(connect, |error| is_hung_up(&chain(error))).await?;
    let response = retry::request(|| {
        let mut scheduler = SchedulerGrpcClient::new(channel.clone());
        async move {
            let nothing = GetJobStatusParams::default();
            scheduler.get_job_status(nothing).await
        }
    });
    Ok(response.await.map(|_| ()))
}

/// Rejects an address that other machines can reach, if there is no authentication.
fn guarded(address: IpAddr, is_trusted: bool, trust: &Trust) -> Result<(), Error> {
    trust.check_member()?;
    if address.is_loopback() || is_trusted || trust.keeps_strangers_out() {
        return Ok(());
    }
    Err(Error::new(format!(
        "{address} is reachable from other machines, and every peer of a cluster can read what its executors can read"
    ))
    .with_hint(
        "authenticate peers by a token of 32 characters or more (--token-file) or by certificates (--tls-cert, --tls-key, --tls-ca); --trusted-network declares that only your own machines are in that network",
    ))
}

/// The parts of `HOST:PORT`.
///
/// # Errors
/// When the text is not a host and a port.
pub fn host_and_port(text: &str) -> Result<(String, u16), Error> {
    let parts = text.rsplit_once(':').and_then(|(host, port)| {
        let port = port.parse().ok()?;
        (!host.is_empty()).then(|| (host.to_owned(), port))
    });
    parts.ok_or_else(|| {
        Error::new(format!("{text} is not a host and port")).with_hint("write 127.0.0.1:50050")
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

/// The time that an executor waits for a scheduler that does not listen yet.
const SCHEDULER: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(200);
/// The timeout of a connection with its handshake and a response.
const ANSWER: Duration = Duration::from_secs(10);

/// The default port of a scheduler.
pub const DEFAULT_PORT: u16 = 50050;

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::{DataType, Field};
    use datafusion::common::ScalarValue;
    use datafusion::config::ConfigOptions;
    use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

    use super::*;
    use crate::check;

    /// Names of jobs were times, by which a client could find the rows of others.
    #[tokio::test]
    async fn names_of_jobs_are_random() {
        let options = SchedulerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            ..SchedulerOptions::default()
        };
        let scheduler = Scheduler::bind(&options).await.unwrap();
        let names = scheduler.config.job_id_generator.unwrap();
        let (one, other) = (names.next_id().await, names.next_id().await);
        for name in [&one, &other] {
            assert!(check::job_id(name).is_ok(), "{name}");
            assert_eq!(name.len(), 32);
        }
        assert!(!other.starts_with(&one[..8]), "{one} {other}");
    }

    /// `repeat` made 2 GiB of each batch of rows at an executor with a limit of 300 MiB.
    #[test]
    fn functions_of_an_executor_with_a_memory_limit_are_bounded() {
        let parent = tempfile::tempdir().unwrap();
        let work = Arc::new(WorkFolder::create_in(parent.path()).unwrap());
        let mut options = ExecutorOptions::new("127.0.0.1:1", work);
        options.memory_limit_bytes = Some(300 << 20);
        let functions = equipment(&options, 1).unwrap().functions;
        let repeat = &functions.scalar_functions["repeat"];
        let fields = [DataType::Utf8, DataType::Int64, DataType::Utf8];
        let [text, times, return_field] =
            fields.map(|kind| Arc::new(Field::new("value", kind, true)));
        let args = ScalarFunctionArgs {
            args: vec![
                ColumnarValue::Scalar(ScalarValue::from("x")),
                ColumnarValue::Scalar(ScalarValue::from(200_i64 << 20)),
            ],
            arg_fields: vec![text, times],
            number_rows: 1,
            return_field,
            config_options: Arc::new(ConfigOptions::new()),
        };
        let refused = repeat.invoke_with_args(args).unwrap_err().to_string();
        assert!(refused.contains("the limit is 128 MiB"), "{refused}");
    }
}
