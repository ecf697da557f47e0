//! `weir serve`: the same tables for other programs.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use weir_live::Interface;
use weir_serve::{CONNECTION_STACK_BYTES, Options, Server, TlsFiles, WorkerProgram};
use weir_tables::{Feed, Predicate};

use crate::allocator;
use crate::args::Global;
use crate::encoder::FileEncoder;
use crate::failure::Failure;
use crate::interface;
use crate::message::Messages;
use crate::quantity::{parse_duration, parse_size};
use crate::secret::{look_at_mode, secret};
use crate::signals;

/// `weir serve`.
#[derive(Args, Debug)]
#[command(
    about = "Serve SQL clients and browsers",
    long_about = "Serve SQL clients and browsers.\n\n\
        Clients query the files below the roots over the PostgreSQL protocol (psql, DBeaver, Grafana, psycopg, \
        ADBC), over HTTP (curl, Polars, a page for browsers) and over Arrow Flight SQL (ADBC, JDBC), with the \
        whole language of 'weir query'. Nothing else is read, and nothing is written without --allow-write. It \
        listens on this machine only, unless a password or token is given, and ends on Ctrl-C or SIGTERM.",
    after_help = SERVE_EXAMPLES
)]
pub(crate) struct Serve {
    /// A folder that statements may read; may be repeated [default: the current folder]
    #[arg(long = "root", value_name = "DIR", help_heading = "Reading")]
    roots: Vec<PathBuf>,
    /// A folder of an object store or of the web that statements may also read: s3://bucket/day/; may be repeated
    #[arg(long = "remote", value_name = "ADDRESS", help_heading = "Reading")]
    remotes: Vec<String>,
    /// An interface, such as eth0 or lo, whose packets are the table `live`
    #[arg(
        long,
        value_name = "INTERFACE",
        help_heading = "Reading",
        long_help = "An interface, such as eth0 or lo, whose packets are the table `live`: FROM live, flows(live), and \
            the page's charts of current traffic. All clients of the server can see these packets. Each \
            statement captures separately, from its own start"
    )]
    live: Option<String>,
    /// Let statements write files below the first root
    #[arg(long, help_heading = "Reading")]
    allow_write: bool,
    /// Address and port of the PostgreSQL protocol; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:5433",
        help_heading = "Listening"
    )]
    listen: SocketAddr,
    /// Address and port of HTTP; port 0 takes a free one
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8080",
        help_heading = "Listening"
    )]
    http: SocketAddr,
    /// Address and port of Arrow Flight SQL, such as 127.0.0.1:31337; port 0 takes a free one [default: not served]
    #[arg(long, value_name = "ADDRESS", help_heading = "Listening")]
    flight: Option<SocketAddr>,
    /// A file with the password of the PostgreSQL protocol and of Flight SQL
    #[arg(long, value_name = "FILE", help_heading = "Listening")]
    password_file: Option<PathBuf>,
    /// A file with the token of HTTP and of Flight SQL
    #[arg(long, value_name = "FILE", help_heading = "Listening")]
    token_file: Option<PathBuf>,
    /// A host name that browsers may use for the server; may be repeated
    #[arg(long = "host-name", value_name = "NAME", help_heading = "Listening")]
    host_names: Vec<String>,
    /// A certificate in PEM; connections without TLS are then refused
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        help_heading = "Listening"
    )]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        help_heading = "Listening"
    )]
    tls_key: Option<PathBuf>,
    /// Maximum rows of an answer [default: no limit]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    max_rows: Option<u64>,
    /// Maximum run time of a statement: 30s, 5m [default: no limit]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Limits")]
    max_time: Option<Duration>,
    /// Maximum open connections of each protocol
    #[arg(long, value_name = "N", default_value_t = 100, help_heading = "Limits")]
    max_connections: usize,
    /// Statements that run at once; others wait, usually for half a second at most
    #[arg(long, value_name = "N", default_value_t = 16, help_heading = "Limits")]
    max_queries: usize,
    /// Maximum size of the text of a query
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1m", help_heading = "Limits")]
    max_text: usize,
    /// Maximum size of all captures uploaded to the page together
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1g", help_heading = "Limits")]
    max_upload: usize,
    /// Memory of all statements together: groups, sorts and joins spill to disk, and beyond it the largest statement fails
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1g", help_heading = "Limits")]
    memory_limit: usize,
    /// Threads that statements run on [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "Limits")]
    threads: Option<NonZeroUsize>,
    /// Run the statements of the server that starts this process, which has its uploads in this folder
    #[arg(long, value_name = "DIR", hide = true)]
    worker: Option<PathBuf>,
}

/// Serves until a signal ends it.
pub(crate) fn run(serve: &Serve, global: Global, messages: Messages) -> Result<ExitCode, Failure> {
    let failed = |error: weir_serve::Error| {
        let failure = Failure::environment(error.to_string());
        match error.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        }
    };
    let mut options = options(serve, global)?;
    if let Some(uploads) = &serve.worker {
        weir_serve::work(options, uploads).map_err(failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    allocator::start_with_settings(allocator::HEAPS_MIN);
    options.password = secret(serve.password_file.as_deref(), PASSWORD, messages)?;
    options.token = secret(serve.token_file.as_deref(), TOKEN, messages)?;
    if let Some(key) = &serve.tls_key {
        look_at_mode(key, messages);
    }
    options.workers = Some(this_program()?);
    let server = Server::start(options).map_err(failed)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("weir-serve")
        // Statements are parsed and dropped on these threads, as deep as they may be.
        .thread_stack_size(CONNECTION_STACK_BYTES)
        // Texts are parsed between two looks at the connections, which takes milliseconds each.
        .event_interval(8)
        .build()
        .map_err(|error| Failure::environment(format!("cannot start threads: {error}")))?;
    // Signals are handled before the first line is printed: a program may wait for it, and then end the server.
    let end = Arc::new(AtomicBool::new(false));
    signals::end_gracefully(&end);
    let mut out = io::stdout().lock();
    let (scheme, flight) = match server.is_secure() {
        true => ("https", "grpc+tls"),
        false => ("http", "grpc"),
    };
    // Programs that start a server read these lines.
    let addresses = [
        server
            .postgres()
            .map(|at| format!("postgresql://{at}/weir\n")),
        server.http().map(|at| format!("{scheme}://{at}/\n")),
        server.flight().map(|at| format!("{flight}://{at}\n")),
    ];
    for line in addresses.into_iter().flatten() {
        out.write_all(line.as_bytes())?;
    }
    out.flush()?;
    messages.note("Ctrl-C ends it");
    let served = server.run_on(runtime, async move {
        // A signal sets a flag, which is polled.
        while !end.load(Ordering::Relaxed) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    });
    served.map_err(failed)?;
    messages.note("ended");
    Ok(ExitCode::SUCCESS)
}

/// The options that a server and its worker processes share.
fn options(serve: &Serve, global: Global) -> Result<Options, Failure> {
    let mut options = Options::default();
    options.roots.clone_from(&serve.roots);
    if options.roots.is_empty() {
        options.roots.push(PathBuf::from("."));
    }
    options.listen = Some(serve.listen);
    options.http = Some(serve.http);
    options.flight = serve.flight;
    options.allow_write = serve.allow_write;
    options.host_names.clone_from(&serve.host_names);
    if let (Some(certificate), Some(key)) = (&serve.tls_cert, &serve.tls_key) {
        options.tls = Some(TlsFiles {
            certificate: certificate.clone(),
            key: key.clone(),
        });
    }
    options.limits.rows_max = serve.max_rows;
    options.limits.time_max = serve.max_time;
    options.limits.connections_max = serve.max_connections;
    options.limits.queries_max = serve.max_queries;
    options.limits.text_bytes_max = serve.max_text;
    options.limits.upload_bytes_max = serve.max_upload as u64;
    options.engine.remote_roots.clone_from(&serve.remotes);
    options.engine.threads = serve.threads.map(NonZeroUsize::get);
    options.engine.memory_limit_bytes = Some(serve.memory_limit);
    options.engine.encoder = Some(Arc::new(FileEncoder));
    options.engine.overwrite = global.overwrite;
    if let Some(interface) = &serve.live {
        options.engine.feed = Some(Arc::new(LiveInterface::new(interface)?));
    }
    Ok(options)
}

/// The command line of worker processes: this program with its own arguments and `--worker`.
fn this_program() -> Result<WorkerProgram, Failure> {
    // The file that this process was started from, even where another has taken its name since.
    let own = PathBuf::from("/proc/self/exe");
    let program = match own.exists() {
        true => own,
        false => std::env::current_exe()?,
    };
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    arguments.push("--worker".into());
    let removed = [PASSWORD, TOKEN].into_iter().chain(allocator::variable());
    Ok(WorkerProgram {
        program,
        arguments,
        secrets: removed.map(str::to_owned).collect(),
    })
}

/// An interface that each statement captures from by itself, as often as there are statements.
#[derive(Debug)]
struct LiveInterface {
    interface: String,
}

impl LiveInterface {
    /// Checks that the interface is there and may be captured from, so that the error comes when the server starts, and
    /// not with a client's first statement.
    fn new(interface: &str) -> Result<Self, Failure> {
        let options = weir_live::CaptureOptions::default();
        drop(Interface::open(interface, &options)?);
        Ok(Self {
            interface: interface.to_owned(),
        })
    }
}

impl Feed for LiveInterface {
    fn name(&self) -> &str {
        &self.interface
    }

    fn start(&self, wanted: Option<&Predicate>) -> io::Result<Box<dyn Read + Send>> {
        let options = weir_live::CaptureOptions::default();
        let interface = Interface::open(&self.interface, &options).map_err(io::Error::other)?;
        let filter = interface::filter(wanted, interface.link_type());
        let never = Arc::new(AtomicBool::new(false));
        let packets = interface.start(&filter, never).map_err(io::Error::other)?;
        Ok(Box::new(packets))
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Variables of the environment with the secrets.
const PASSWORD: &str = "WEIR_SERVE_PASSWORD";
const TOKEN: &str = "WEIR_SERVE_TOKEN";

const SERVE_EXAMPLES: &str = "\
Examples:
  The captures of a folder for psql and a browser:
    weir serve --root captures
    psql postgresql://127.0.0.1:5433/weir -c \"SELECT count(*) FROM 'trace.pcap'\"
    curl -H 'Content-Type: application/sql' -d \"FROM 'trace.pcap' |> LIMIT 5\" \\
        '127.0.0.1:8080/query?format=csv'
  What passes an interface now, as charts in the page and as FROM live:
    weir serve --root captures --live eth0
  For ADBC and JDBC over Arrow Flight SQL as well:
    weir serve --root captures --flight 127.0.0.1:31337
  For others, with a password, a token and TLS:
    weir serve --root captures --listen 0.0.0.0:5433 --http 0.0.0.0:8443 \\
        --password-file pw --token-file tok --tls-cert server.pem --tls-key server.key";
