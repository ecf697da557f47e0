//! What all connections share.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::sync::watch;
use weir_engine::{ScanReport, SharedMemory};

use crate::error::Error;
use crate::files::Files;
use crate::options::Options;
use crate::retained::Retention;
use crate::turn::Turns;

/// What all connections share.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) options: Options,
    /// The threads that statements run on.
    pub(crate) workers: Handle,
    pub(crate) files: Files,
    /// Turns of statements.
    pub(crate) turns: Arc<Turns>,
    /// What is held for clients between their messages.
    pub(crate) retention: Arc<Retention>,
    /// The memory of all statements together, where it has a limit.
    memory: Option<SharedMemory>,
    pub(crate) metrics: Metrics,
    /// Becomes true when the server is to end.
    pub(crate) ending: watch::Receiver<bool>,
    /// Captures that were dropped into the page.
    pub(crate) uploads: TempDir,
    /// Those that are not whole yet.
    pub(crate) arriving: TempDir,
    /// Bytes of both.
    pub(crate) uploaded_bytes: AtomicU64,
    roots: Vec<PathBuf>,
    running: Mutex<HashMap<String, Arc<Running>>>,
}

/// A statement at work, for who asks how it goes or wants it to end.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) scan_report: Arc<ScanReport>,
    pub(crate) started: Instant,
    pub(crate) end: tokio::sync::Notify,
}

impl House {
    pub(crate) fn new(
        options: Options,
        workers: Handle,
        ending: watch::Receiver<bool>,
    ) -> Result<Self, Error> {
        if options.roots.is_empty() {
            return Err(Error::new("no folder to read from").with_hint("name one: --root captures"));
        }
        let mut roots = Vec::new();
        for root in &options.roots {
            let folder = root
                .canonicalize()
                .map_err(|error| Error::new(format!("{}: {error}", root.display())))?;
            if !folder.is_dir() {
                return Err(Error::new(format!("{} is not a folder", root.display())));
            }
            roots.push(folder);
        }
        let folder = || {
            let mut builder = tempfile::Builder::new();
            let made = builder.prefix("weir-serve-").tempdir();
            made.map_err(|error| Error::new(format!("no temporary folder: {error}")))
        };
        let (uploads, arriving) = (folder()?, folder()?);
        let kept = uploads
            .path()
            .canonicalize()
            .map_err(|error| Error::new(format!("no temporary folder: {error}")))?;
        roots.push(kept);
        Ok(Self {
            turns: Turns::new(options.limits.queries_max, WAITING_BYTES_MAX),
            files: Files::new(roots.clone()),
            retention: Retention::of_all(),
            memory: (options.engine.memory_limit_bytes)
                .map(|bytes| SharedMemory::new(bytes, options.limits.queries_max)),
            options,
            workers,
            metrics: Metrics::default(),
            ending,
            uploads,
            arriving,
            uploaded_bytes: AtomicU64::new(0),
            roots,
            running: Mutex::default(),
        })
    }

    /// How an engine of a connection works.
    pub(crate) fn engine_options(&self) -> weir_engine::Options {
        let mut options = self.options.engine.clone();
        options.root = None;
        options.roots.clone_from(&self.roots);
        options.read_only = !self.options.allow_write;
        options.shared_memory.clone_from(&self.memory);
        // What ends the sources of one connection does not end those of another.
        options.stop = weir_tables::Stop::default();
        options
    }

    /// The statements at work that have names.
    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is counted.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) connections: AtomicU64,
    pub(crate) connections_open: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) queries: AtomicU64,
    pub(crate) queries_running: AtomicU64,
    pub(crate) queries_failed: AtomicU64,
    pub(crate) queries_cancelled: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) rows: AtomicU64,
    pub(crate) records: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl Metrics {
    /// Adds to a counter.
    pub(crate) fn add(counter: &AtomicU64, number: u64) {
        counter.fetch_add(number, Ordering::Relaxed);
    }

    /// The counters in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        for (name, kind, help, counter) in [
            (
                "connections_total",
                "counter",
                "Connections that were opened",
                &self.connections,
            ),
            (
                "connections_open",
                "gauge",
                "Connections that are open",
                &self.connections_open,
            ),
            (
                "connections_refused_total",
                "counter",
                "Connections beyond the limit",
                &self.connections_refused,
            ),
            (
                "queries_total",
                "counter",
                "Statements that were begun",
                &self.queries,
            ),
            (
                "queries_running",
                "gauge",
                "Statements that run",
                &self.queries_running,
            ),
            (
                "queries_failed_total",
                "counter",
                "Statements that failed",
                &self.queries_failed,
            ),
            (
                "queries_cancelled_total",
                "counter",
                "Statements that nobody waited for to their end",
                &self.queries_cancelled,
            ),
            (
                "panics_total",
                "counter",
                "Statements that a fault of the program ended",
                &self.panics,
            ),
            ("rows_total", "counter", "Rows that were given", &self.rows),
            (
                "records_total",
                "counter",
                "Records of captures that were read",
                &self.records,
            ),
            (
                "bytes_total",
                "counter",
                "Bytes of captures that were read",
                &self.bytes,
            ),
        ] {
            let value = counter.load(Ordering::Relaxed);
            // Writing into a String does not fail.
            let _ = write!(
                text,
                "# HELP weir_{name} {help}\n# TYPE weir_{name} {kind}\nweir_{name} {value}\n"
            );
        }
        text
    }
}

/// One more, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    house: Arc<House>,
    gauge: fn(&Metrics) -> &AtomicU64,
}

impl Counted {
    pub(crate) fn new(house: &Arc<House>, gauge: fn(&Metrics) -> &AtomicU64) -> Self {
        gauge(&house.metrics).fetch_add(1, Ordering::Relaxed);
        Self {
            house: Arc::clone(house),
            gauge,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.gauge)(&self.house.metrics).fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes of rows that wait for clients, of all statements together.
const WAITING_BYTES_MAX: usize = 128 << 20;
