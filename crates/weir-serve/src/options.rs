//! The options of a server.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How a server works.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// The folders that are read from; at least one.
    pub roots: Vec<PathBuf>,
    /// Where the PostgreSQL protocol is spoken; port 0 takes a free one.
    pub listen: Option<SocketAddr>,
    /// Where HTTP is spoken; port 0 takes a free one.
    pub http: Option<SocketAddr>,
    /// Where Arrow Flight SQL is spoken; port 0 takes a free one.
    pub flight: Option<SocketAddr>,
    /// Statements may write files below the first root.
    pub allow_write: bool,
    /// The password of the PostgreSQL protocol and of Flight SQL.
    pub password: Option<String>,
    /// The token of HTTP and of Flight SQL.
    pub token: Option<String>,
    /// Names other than that of this machine that browsers may call the server by.
    pub host_names: Vec<String>,
    /// A certificate and its key: without TLS nothing is answered then.
    pub tls: Option<TlsFiles>,
    /// What one may ask for, and how many may ask.
    pub limits: Limits,
    /// The program that runs statements in processes of their own; without one they run in this process, and one that takes
    /// too much ends it.
    pub workers: Option<WorkerProgram>,
    /// How the engine of a connection works. Its roots and `read_only` are those of the server.
    pub engine: weir_engine::Options,
}

/// A program that calls [`work`](crate::work) with the options of the server that starts it.
#[derive(Clone, Debug)]
pub struct WorkerProgram {
    /// The program.
    pub program: PathBuf,
    /// Its arguments, in front of the folder of uploads, which the server adds.
    pub arguments: Vec<OsString>,
    /// Variables of the environment that it does not get.
    pub secrets: Vec<String>,
}

/// PEM files of TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificate, and those that it is signed with.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

/// What one may ask for, and how many may ask. Reaching a limit is an error that names it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Rows of an answer; `None` for as many as there are.
    pub rows_max: Option<u64>,
    /// How long a statement may run; `None` for as long as it takes.
    pub time_max: Option<Duration>,
    /// Connections at once, of each protocol.
    pub connections_max: usize,
    /// How long a connection keeps its place for a client that asks for nothing, does not end its request or takes no rows, when
    /// others want it and there are no more.
    pub idle_min: Duration,
    /// Statements that run at once; others wait for their turn, which one that has run for half a second gives away.
    pub queries_max: usize,
    /// Bytes of a message or of the text of a query.
    pub text_bytes_max: usize,
    /// Bytes of a capture that is dropped into the page.
    pub upload_bytes_max: u64,
    /// How long statements may run on when the server ends.
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
