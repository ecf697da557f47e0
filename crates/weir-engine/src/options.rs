//! The options of an engine, for the embedding program.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool};
use weir_packet::Options as DecodeOptions;
use weir_tables::{CaptureTee, Compile, Feed, Stop};

use crate::catalog::Catalog;
use crate::cluster::Cluster;
use crate::row_encoder::RowEncoder;

/// Memory that the statements of several engines share: what one holds the others do not get.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    pub(crate) pool: Arc<dyn MemoryPool>,
    pub(crate) statements: usize,
}

impl SharedMemory {
    /// A limit of `bytes` for `statements` concurrent statements.
    #[must_use]
    pub fn new(bytes: usize, statements: usize) -> Self {
        Self {
            pool: Arc::new(FairSpillPool::new(bytes)),
            statements: statements.max(1),
        }
    }
}

/// The options of an engine.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Threads that a query may use; `None` for as many as the machine has cores.
    pub threads: Option<usize>,
    /// Bytes that groups, sorts and joins may hold before they spill to disk; `None` for no limit.
    pub memory_limit_bytes: Option<usize>,
    /// The memory that this engine shares with others, in place of one of its own of `memory_limit_bytes`.
    pub shared_memory: Option<SharedMemory>,
    /// Leaves aggregates to DataFusion's own operators instead of computing them while captures are
    /// decoded: slower, with the same answers.
    pub unfused: bool,
    /// When what aggregates ask of each record is compiled to machine code. The answers are the same.
    pub compile: Compile,
    /// Reads several captures of one FROM at once, in the order of time.
    pub merge: bool,
    /// The lateness of records in answers in the order of time; `None` leaves it to each source: a second for standard input where
    /// windows need the order, and unlimited for files, which are read whole before windows close.
    pub lateness: Option<Duration>,
    /// The decoding of ambiguous traffic.
    pub decode: DecodeOptions,
    /// Captures are read on as they grow, until [`Engine::stop`](crate::Engine::stop) is set.
    pub follow: bool,
    /// The source of the table `live`.
    pub feed: Option<Arc<dyn Feed>>,
    /// Keeps the packets of sources without an end that are taken up.
    pub tee: Option<CaptureTee>,
    /// Brings sources without an end to theirs.
    pub stop: Stop,
    /// Lets `COPY … TO` take the place of captures that are there.
    pub overwrite: bool,
    /// Writes the files of `COPY … TO` that are no captures; without one DataFusion's own writers do.
    pub encoder: Option<Arc<dyn RowEncoder>>,
    /// The time zone that instants are given in: a name of the time zone database, or an offset such as
    /// `+02:00`. `None` for UTC. `SET TIME ZONE` sets another.
    pub time_zone: Option<String>,
    /// The folder that statements stay in: names of files begin there, and do not lead out of it.
    pub root: Option<PathBuf>,
    /// More folders that statements may read from: a name is looked for in each, in their order.
    pub roots: Vec<PathBuf>,
    /// Databases in MaxMind's format that `geoip_country`, `geoip_city`, `asn` and `as_org` ask, the first that has an
    /// answer giving it.
    pub geoip: Vec<PathBuf>,
    /// Folders of object stores or of the web (`s3://bucket/day/`) that statements may read from, besides files. When there are
    /// none, statements that are confined to folders read no addresses, and others read all.
    pub remote_roots: Vec<String>,
    /// Options of object stores besides those of the environment, by the names of the crate object_store, such as `aws_region`.
    pub remote_settings: Vec<(String, String)>,
    /// Refuses statements that write files, open them by DataFusion's own means, or change how the engine
    /// works: what a server lets strangers ask.
    pub read_only: bool,
    /// Refuses pipes, devices and standard input, and follows no captures: the statement came from another machine, and they may have no
    /// end.
    pub files_only: bool,
    /// Bytes at the beginning of each file of CSV or JSON that its columns are taken from: for lists of files, which describe them and
    /// do not read their rows. `None` for all of JSON, and of CSV for a sample that most files fit into.
    pub sample_bytes_max: Option<u64>,
    /// The folder that names of files begin in, where that is not the process's own.
    pub folder: Option<PathBuf>,
    /// Tables and functions besides those of captures.
    pub catalog: Option<Arc<dyn Catalog>>,
    /// Other machines that read captures and put together what they have read.
    pub cluster: Option<Arc<dyn Cluster>>,
}
