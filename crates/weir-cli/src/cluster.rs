//! `weir cluster`: several machines that answer together; and the handle by which `weir query` asks them.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, Subcommand};
use tokio::sync::mpsc;
use weir_cluster::{
    Client, Contact, DEFAULT_PORT, ExecutorOptions, Heartbeats, LocalCluster, Scheduler,
    SchedulerOptions, TlsFiles, Trust, WorkFolder, create_private_files, host_and_port,
    run_executor,
};

use crate::allocator;
use crate::args::Databases;
use crate::failure::Failure;
use crate::message::Messages;
use crate::quantity::{parse_duration, parse_size};
use crate::refusal::Refusal;
use crate::secret::{look_at_mode, secret};
use crate::signals;

/// `weir cluster`.
#[derive(Args, Debug)]
#[command(
    about = "Run SQL queries on several machines",
    long_about = "Run SQL queries on several machines.\n\n\
        One scheduler assigns the captures of a statement to executors, which read them from a folder that has \
        the same name on all machines, or from an object store. 'weir query --cluster HOST:PORT' runs a query; \
        'weir query --cluster local' starts a whole cluster in one process, as a first try.",
    after_help = CLUSTER_EXAMPLES
)]
pub(crate) struct Cluster {
    #[command(subcommand)]
    command: ClusterCommand,
}

#[derive(Debug, Subcommand)]
enum ClusterCommand {
    /// Run the scheduler, which assigns work to executors
    Scheduler(SchedulerArgs),
    /// Run an executor, which does the work of a scheduler
    Executor(ExecutorArgs),
    /// Print the token for clients
    #[command(long_about = "Print the token for clients.\n\n\
        The token of the cluster allows a program to query, schedule and execute. The token for clients allows \
        queries only: write it to a separate file, for --token-file of 'weir query'.")]
    ClientToken(KnownBy),
}

#[derive(Args, Debug)]
struct SchedulerArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value_t = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)))]
    listen: SocketAddr,
    /// Host name under which executors reach this machine [default: the address of --listen]
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    #[command(flatten)]
    network: Network,
}

#[derive(Args, Debug)]
struct ExecutorArgs {
    /// Address of the scheduler
    #[arg(long, value_name = "HOST:PORT")]
    scheduler: String,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::from([127, 0, 0, 1]))]
    listen: IpAddr,
    /// Host name under which others reach this machine [default: the address of --listen]
    #[arg(long, value_name = "HOST")]
    advertise: Option<String>,
    /// Port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Folder for rows between the stages of a statement [default: the system's temporary folder]
    #[arg(
        long,
        value_name = "DIR",
        help_heading = "Resources",
        long_help = "Folder for rows between the stages of a statement [default: the system's temporary folder]. The \
            executor creates a folder weir-executor-… in it and removes this folder when it ends; it touches \
            nothing else in DIR, except such folders that killed executors of the same user have left there"
    )]
    work_dir: Option<PathBuf>,
    /// Memory for groups, sorts and joins of all tasks together: 2g [default: most of the machine's]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, help_heading = "Resources")]
    memory_limit: Option<usize>,
    /// Tasks that run at once [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "Resources")]
    cores: Option<NonZeroUsize>,
    /// A folder that executors may read captures from; may be repeated [default: any folder]
    #[arg(long = "root", value_name = "DIR", help_heading = "Reading")]
    roots: Vec<PathBuf>,
    #[command(flatten)]
    databases: Databases,
    #[command(flatten)]
    network: Network,
}

#[derive(Args, Debug)]
struct Network {
    /// Listen on addresses that other machines can reach
    #[arg(
        long,
        help_heading = "Network",
        long_help = "Listen on addresses that other machines can reach, without certificates: any machine that reaches a \
            scheduler or an executor can read what the executors can read. Only for networks in which every \
            machine is trusted"
    )]
    trusted_network: bool,
    #[command(flatten)]
    known: KnownBy,
    /// Time without a sign of life after which an executor counts as lost
    #[arg(long, value_name = "TIME", value_parser = parse_duration, default_value = "10s", help_heading = "Network")]
    lost_after: Duration,
}

/// The certificates and the token by which the nodes of a cluster authenticate each other.
#[derive(Args, Debug)]
pub(crate) struct KnownBy {
    /// The certificate of this program for the cluster, in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires_all = ["tls_key", "tls_ca"],
        help_heading = "Network",
        long_help = "The certificate of this program for the cluster, in PEM: scheduler, executors and clients then use \
            TLS, and each needs a certificate that --tls-ca signed, for the name or address under which it is \
            reached"
    )]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        help_heading = "Network"
    )]
    tls_key: Option<PathBuf>,
    /// The CA certificates that sign the certificates of the cluster, in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        help_heading = "Network"
    )]
    tls_ca: Option<PathBuf>,
    /// A file with the token of the cluster
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Network",
        long_help = "A file with the token of the cluster, which the variable WEIR_CLUSTER_TOKEN can also give. The token \
            itself is never sent. A cluster on one machine needs no file: the scheduler, the executors and the \
            queries of a user find weir/cluster-token in the user's cache folder, which the first of them \
            creates (mode 0600)"
    )]
    token_file: Option<PathBuf>,
    /// Use no token, not even on this machine
    #[arg(
        long,
        conflicts_with = "token_file",
        help_heading = "Network",
        long_help = "Use no token, not even on this machine: all users of the machine can run queries, read what the \
            executors can read, and act as executors"
    )]
    no_token: bool,
}

impl KnownBy {
    /// The credentials of a node. Without any, the nodes of one machine use the token of their user.
    fn trust(&self, is_here: bool, messages: Messages) -> Result<Trust, Failure> {
        let files = match (&self.tls_cert, &self.tls_key, &self.tls_ca) {
            (Some(certificate), Some(key), Some(authorities)) => Some(TlsFiles {
                certificate: certificate.clone(),
                key: key.clone(),
                authorities: authorities.clone(),
            }),
            _ => None,
        };
        let token = match self.no_token {
            true => None,
            false => secret(self.token_file.as_deref(), "WEIR_CLUSTER_TOKEN", messages)?,
        };
        if let Some(files) = &files {
            look_at_mode(&files.key, messages);
        }
        let is_of_user = is_here && files.is_none() && token.is_none() && !self.no_token;
        let trust = match is_of_user {
            true => Trust::of_user(),
            false => Trust::new(files.as_ref(), token),
        };
        trust.map_err(failed)
    }

    const fn is_given(&self) -> bool {
        self.tls_cert.is_some() || self.token_file.is_some()
    }
}

impl Network {
    fn heartbeats(&self) -> Heartbeats {
        Heartbeats {
            every: (self.lost_after / 5).max(Duration::from_secs(1)),
            lost_after: self.lost_after,
        }
    }
}

/// Schedules or executes until a signal ends it.
pub(crate) fn run(cluster: &Cluster, messages: Messages) -> Result<ExitCode, Failure> {
    if let ClusterCommand::Executor(executor) = &cluster.command {
        let cores = executor.cores;
        let cores = cores.or_else(|| std::thread::available_parallelism().ok());
        allocator::start_with_settings(cores.map_or(1, NonZeroUsize::get));
    }
    // `client-token` writes to standard output alone. The one thread that runs already waits for signals, and creates no files.
    create_private_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("weir-cluster")
        // Plans of many steps are walked recursively.
        .thread_stack_size(STACK_BYTES)
        .build()
        .map_err(|error| Failure::environment(format!("cannot start threads: {error}")))?;
    let end = Arc::new(AtomicBool::new(false));
    signals::end_gracefully(&end);
    match &cluster.command {
        ClusterCommand::Scheduler(scheduler) => {
            let outcome = runtime.block_on(schedule(scheduler, end, messages));
            runtime.shutdown_timeout(THREADS_END);
            outcome?;
        }
        ClusterCommand::ClientToken(known) => {
            let token = known.trust(true, messages)?.client_token();
            let token = token.ok_or_else(|| {
                Refusal::usage("there is no token", "--token-file names a file with one")
            })?;
            std::io::stdout().write_all(format!("{token}\n").as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        ClusterCommand::Executor(executor) => {
            let work = work_folder(executor.work_dir.as_deref(), messages)?;
            let outcome = runtime.block_on(execute(executor, Arc::clone(&work), end, messages));
            // The folder goes when the threads that write to it have ended.
            runtime.shutdown_timeout(THREADS_END);
            drop(work);
            outcome?;
        }
    }
    messages.note("ended");
    Ok(ExitCode::SUCCESS)
}

async fn schedule(
    scheduler: &SchedulerArgs,
    end: Arc<AtomicBool>,
    messages: Messages,
) -> Result<(), Failure> {
    let mut options = SchedulerOptions::default();
    options.listen = scheduler.listen;
    options.advertise.clone_from(&scheduler.advertise);
    options.heartbeats = scheduler.network.heartbeats();
    options.trusted_network = scheduler.network.trusted_network;
    let network = &scheduler.network;
    let is_here = scheduler.listen.ip().is_loopback() && !network.trusted_network;
    options.trust = network.known.trust(is_here, messages)?;
    let scheduler = Scheduler::bind(&options).await.map_err(failed)?;
    let address = scheduler.address().map_err(failed)?;
    // Programs that start it read this line.
    let mut out = std::io::stdout();
    out.write_all(format!("{address}\n").as_bytes())?;
    out.flush()?;
    messages.note("Ctrl-C ends it");
    tokio::select! {
        outcome = scheduler.run() => outcome.map_err(failed),
        () = set(end) => Ok(()),
    }
}

/// Waits until a signal has set the flag, which is polled.
async fn set(end: Arc<AtomicBool>) {
    while !end.load(Ordering::Relaxed) {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// A folder that this executor alone works in, below `--work-dir` or the system's folder for temporary files.
fn work_folder(parent: Option<&Path>, messages: Messages) -> Result<Arc<WorkFolder>, Failure> {
    let temporary = std::env::temp_dir();
    let work = WorkFolder::create_in(parent.unwrap_or(&temporary)).map_err(failed)?;
    for folder in work.abandoned() {
        let folder = folder.display();
        messages.note(&format!(
            "removed {folder}, which a killed executor had left"
        ));
    }
    if parent.is_some() {
        let folder = work.path().display();
        messages.note(&format!(
            "rows between stages are kept in {folder}, until it ends"
        ));
    }
    Ok(Arc::new(work))
}

async fn execute(
    executor: &ExecutorArgs,
    work: Arc<WorkFolder>,
    end: Arc<AtomicBool>,
    messages: Messages,
) -> Result<(), Failure> {
    let mut options = ExecutorOptions::new(executor.scheduler.clone(), work);
    options.listen = executor.listen;
    options.advertise.clone_from(&executor.advertise);
    options.port = executor.port;
    options.memory_limit_bytes = executor.memory_limit;
    if let Some(cores) = executor.cores {
        options.cores = cores.get();
    }
    options.roots.clone_from(&executor.roots);
    options.geoip.clone_from(&executor.databases.geoip);
    options.heartbeats = executor.network.heartbeats();
    options.trusted_network = executor.network.trusted_network;
    let network = &executor.network;
    let is_here = executor.listen.is_loopback() && !network.trusted_network;
    let is_here = is_here && is_of_this_machine(&executor.scheduler);
    options.trust = network.known.trust(is_here, messages)?;
    messages.note(&format!(
        "an executor of {}; Ctrl-C ends it",
        executor.scheduler
    ));
    let (changes, contact) = mpsc::unbounded_channel();
    options.contact = Some(changes);
    tokio::select! {
        outcome = run_executor(&options, set(end)) => outcome.map_err(failed),
        () = show_contact(&executor.scheduler, contact, messages) => Ok(()),
    }
}

/// Shows when the scheduler does not answer any more, and when it answers again, without an end.
async fn show_contact(
    scheduler: &str,
    mut contact: mpsc::UnboundedReceiver<Contact>,
    messages: Messages,
) {
    while let Some(change) = contact.recv().await {
        match change {
            Contact::Lost(why) => messages.warning(&format!(
                "the scheduler {scheduler} does not answer, and the executor keeps trying: {why}"
            )),
            Contact::Regained => {
                messages.warning(&format!("the scheduler {scheduler} answers again"));
            }
        }
    }
    std::future::pending::<()>().await;
}

/// A cluster that statements are sent to.
pub(crate) struct ClusterHandle {
    client: Client,
    /// The cluster, when it is in this process. It ends when this is dropped.
    _local: Option<LocalCluster>,
}

impl ClusterHandle {
    /// The cluster at `HOST:PORT`, or a new one in this process for `local`.
    pub(crate) fn at(
        name: &str,
        known: &KnownBy,
        threads: Option<usize>,
        memory_limit: Option<usize>,
        messages: Messages,
    ) -> Result<Self, Failure> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let executors = threads.unwrap_or(cores).max(2);
        if name == "local" {
            if known.is_given() {
                return Err(Refusal::usage(
                    "a cluster in this process takes no certificates and no token: no other program reaches it",
                    "leave out --tls-cert and --token-file",
                )
                .into());
            }
            let local = LocalCluster::start(executors, memory_limit).map_err(failed)?;
            let client = local.client(executors).map_err(failed)?;
            return Ok(Self {
                client,
                _local: Some(local),
            });
        }
        host_and_port(name).map_err(failed)?;
        let partitions = threads.unwrap_or(PARTITIONS);
        let trust = known.trust(is_of_this_machine(name), messages)?;
        let client = Client::trusted(name, partitions, trust).map_err(failed)?;
        Ok(Self {
            client,
            _local: None,
        })
    }

    /// The client that an engine sends plans to.
    pub(crate) fn client(&self) -> Arc<Client> {
        Arc::new(self.client.clone())
    }

    /// Waits until the cluster has heard that all statements have ended, those among them that were given up.
    pub(crate) fn settle(&self) {
        self.client.settle(SETTLE);
    }
}

/// Whether a host is this machine's loopback, which no other machine reaches.
fn is_of_this_machine(name: &str) -> bool {
    let Ok((host, _)) = host_and_port(name) else {
        return false;
    };
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = address
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

fn failed(error: weir_cluster::Error) -> Failure {
    let failure = Failure::environment(error.to_string());
    match error.hint() {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time for which the program waits at the end for threads that still run.
const THREADS_END: Duration = Duration::from_millis(500);
/// The time for which the end of the program waits until the scheduler has the message.
const SETTLE: Duration = Duration::from_secs(2);
/// Partitions of groups and joins without --threads: few messages, and work for some machines.
const PARTITIONS: usize = 8;
const STACK_BYTES: usize = 16 << 20;

const CLUSTER_EXAMPLES: &str = "\
Examples:
  A scheduler and two executors on this machine, and a query:
    weir cluster scheduler
    weir cluster executor --scheduler 127.0.0.1:50050 --cores 1
    weir cluster executor --scheduler 127.0.0.1:50050 --cores 1
    weir query --cluster 127.0.0.1:50050 \"SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY 1\"
  All of it in one process, for a first try:
    weir query --cluster local \"SELECT ip.src, count(*) FROM 'day/*.pcap' GROUP BY 1\"
  On several machines, all with the same token (openssl rand -hex 32 > token):
    weir cluster scheduler --listen 0.0.0.0:50050 --advertise head --token-file token
    weir cluster executor --scheduler head:50050 --listen 0.0.0.0 --advertise node1 \\
        --token-file token
    weir cluster client-token --token-file token > ask-only
    weir query --cluster head:50050 --token-file ask-only \"…\"
  As before, each with a certificate of the same authority, too:
    weir cluster scheduler --listen 0.0.0.0:50050 --advertise head \\
        --tls-cert head.pem --tls-key head.key --tls-ca ca.pem --token-file token
    weir cluster executor --scheduler head:50050 --listen 0.0.0.0 --advertise node1 \\
        --tls-cert node1.pem --tls-key node1.key --tls-ca ca.pem --token-file token
    weir query --cluster head:50050 --tls-cert me.pem --tls-key me.key --tls-ca ca.pem \\
        --token-file token \"…\"";
