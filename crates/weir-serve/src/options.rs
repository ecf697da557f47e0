//! The options of a server.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of a server.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The folders that are read from; at least one.
    pub roots: Vec<PathBuf>,
    /// The address of the PostgreSQL protocol; port 0 takes a free port.
    pub listen: Option<SocketAddr>,
    /// The address of HTTP; port 0 takes a free port.
    pub http: Option<SocketAddr>,
    /// The address of Arrow Flight SQL; port 0 takes a free port.
    pub flight: Option<SocketAddr>,
    /// Statements may write files below the first root.
    pub allow_write: bool,
    /// The password of the PostgreSQL protocol and of Flight SQL.
    pub password: Option<String>,
    /// The token of HTTP and of Flight SQL.
    pub token: Option<String>,
    /// Names other than that of this machine that browsers may call the server by.
    pub host_names: Vec<String>,
    /// The certificate and its key, which make TLS mandatory.
    pub tls: Option<TlsFiles>,
    /// The limits of requests and clients.
    pub limits: Limits,
    /// The program that runs statements in separate processes; without one they run in this process, and one that takes too much
    /// memory ends it.
    pub workers: Option<WorkerProgram>,
    /// The options of the engine of a connection. Its roots and `read_only` are those of the server.
    pub engine: weir_engine::Options,
}

/// A program that calls [`work`](crate::work) with the options of the server that starts it.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// The program.
    pub program: PathBuf,
    /// The arguments of the program, before the folder of uploads, which the server appends.
    pub arguments: Vec<OsString>,
    /// Variables of the environment that it does not get.
    pub secrets: Vec<String>,
}

/// PEM files of TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those that it is signed with.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// The limits of requests and clients. Reaching a limit is an error that names it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Rows of an answer; `None` for as many as there are.
    pub rows_max: Option<u64>,
    /// The time limit of a statement; `None` is without a limit.
    pub time_max: Option<Duration>,
    /// Connections at once, of each protocol.
    pub connections_max: usize,
    /// The minimum time that a connection keeps its place while its client is idle, does not complete its request or takes no rows,
    /// when there are no more places for others.
    pub idle_min: Duration,
    /// The number of statements that run at the same time; others wait for their turn, which a statement gives up after half a
    /// second.
    pub queries_max: usize,
    /// Bytes of a message or of the text of a query.
    pub text_bytes_max: usize,
    /// Bytes of a capture that is dropped into the page.
    pub upload_bytes_max: u64,
    /// The time for which statements may continue when the server ends.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rows_max: None,
            time_max: None,
            connections_max: 100,
            idle_min: Duration::from_secs(1),
            queries_max: 16,
            text_bytes_max: 1 << 20,
            upload_bytes_max: 1 << 30,
            grace: Duration::from_secs(5),
        }
    }
}
