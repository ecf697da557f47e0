//! The state that all connections share.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use futures::FutureExt;
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use weir_engine::{ScanReport, SharedMemory};

use crate::activity::ConnectionActivity;
use crate::catalog::{ClientSettings, FileCatalog, Registered};
use crate::columns::Columns;
use crate::deadline::Deadline;
use crate::error::{Error, Failure, FailureKind};
use crate::files::Files;
use crate::folder::Folder;
use crate::function_lists::FunctionLists;
use crate::handshake::Handshakes;
use crate::line::Rank;
use crate::load::Load;
use crate::options::Options;
use crate::retained::{Retention, of_statement};
use crate::turn::{StatementKind, Turn, Turns};
use crate::workers::Pool;

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    /// The threads that statements run on.
    pub(crate) workers: Handle,
    pub(crate) files: Arc<Files>,
    /// The catalog of every session.
    catalog: Arc<FileCatalog>,
    /// Turns of statements.
    pub(crate) turns: Arc<Turns>,
    /// Handshakes of TLS, at every door.
    pub(crate) handshakes: Handshakes,
    /// The limit of concurrent parsing and planning of large requests.
    pub(crate) load: Load,
    /// The memory that clients hold between their messages.
    pub(crate) retention: Arc<Retention>,
    /// The places for views of the page and studies, which the server's own process computes: their memory and time are not those
    /// of a statement.
    pub(crate) views: Arc<Semaphore>,
    pub(crate) studies: Arc<Semaphore>,
    /// Counts the answers in Parquet, which hold rows back.
    pub(crate) parquet_answers: Arc<()>,
    /// The memory of messages that have not been received whole.
    pub(crate) arrivals: Arc<Retention>,
    /// The memory of messages that are read ahead while statements of their clients run.
    pub(crate) ahead: Arc<Retention>,
    /// The memory of all statements together, where it has a limit.
    memory: Option<SharedMemory>,
    pub(crate) metrics: Metrics,
    /// Becomes true when the server is to end.
    pub(crate) ending: watch::Receiver<bool>,
    /// Captures that were dropped into the page; a process that runs statements takes none.
    uploads: Option<Uploads>,
    /// Bytes of both.
    pub(crate) uploaded_bytes: AtomicU64,
    roots: Vec<PathBuf>,
    /// The functions and tables as HTTP lists them, once a client has asked.
    pub(crate) function_lists: OnceLock<FunctionLists>,
    /// The processes that statements run in.
    pool: OnceLock<Arc<Pool>>,
    running: Mutex<HashMap<String, Arc<Running>>>,
}

/// The folders of captures that were dropped into the page.
#[derive(Debug)]
pub(crate) struct Uploads {
    /// The folder of complete uploads.
    pub(crate) whole: TempDir,
    /// The folder of uploads that are not complete yet.
    pub(crate) arriving: TempDir,
    /// Bytes of those that are whole, by their names.
    sizes: Mutex<HashMap<String, u64>>,
    /// The folder that both lie in, with all else that the server writes for itself.
    pub(crate) folder: Arc<Folder>,
}

impl Uploads {
    /// Bytes of those that are whole, by their names.
    pub(crate) fn sizes(&self) -> MutexGuard<'_, HashMap<String, u64>> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement at work, for requests that ask for its progress or end it.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) scan_report: Arc<ScanReport>,
    pub(crate) started: Instant,
    pub(crate) end: tokio::sync::Notify,
}

impl Shared {
    /// The state of a server, whose uploads have folders of their own.
    pub(crate) fn new(
        options: Options,
        workers: Handle,
        ending: watch::Receiver<bool>,
    ) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            Error::new(format!("cannot create a temporary folder: {error}"))
        };
        let folder = Folder::create_in(&std::env::temp_dir()).map_err(failed)?;
        let uploads = Uploads {
            whole: folder.within("uploads-").map_err(failed)?,
            arriving: folder.within("arriving-").map_err(failed)?,
            sizes: Mutex::default(),
            folder: Arc::new(folder),
        };
        let program = options.workers.clone();
        let shared = Self::with(options, workers, ending, Some(uploads))?;
        if let (Some(mut program), Some(uploads)) = (program, &shared.uploads) {
            program.arguments.push(uploads.whole.path().into());
            let pool = Pool::new(
                program,
                &uploads.folder,
                &shared.roots,
                &shared.workers,
                &shared.turns,
                shared.options.engine.memory_limit_bytes,
                shared.options.limits.queries_max,
            );
            let pool =
                pool.map_err(|error| Error::new(format!("cannot start threads: {error}")))?;
            let _ = shared.pool.set(pool);
        }
        Ok(shared)
    }

    /// The state of a process that runs the statements of a server.
    pub(crate) fn of_worker(
        options: Options,
        workers: Handle,
        ending: watch::Receiver<bool>,
    ) -> Result<Self, Error> {
        Self::with(options, workers, ending, None)
    }

    fn with(
        options: Options,
        workers: Handle,
        ending: watch::Receiver<bool>,
        uploads: Option<Uploads>,
    ) -> Result<Self, Error> {
        if options.roots.is_empty() {
            return Err(Error::new("no folder to read from").with_hint("name one: --root captures"));
        }
        let mut roots = Vec::new();
        let uploaded = uploads.as_ref().map(|uploads| uploads.whole.path());
        for root in options.roots.iter().map(PathBuf::as_path).chain(uploaded) {
            let folder = root
                .canonicalize()
                .map_err(|error| Error::new(format!("{}: {error}", root.display())))?;
            if !folder.is_dir() {
                return Err(Error::new(format!("{} is not a folder", root.display())));
            }
            roots.push(folder);
        }
        let files = Arc::new(Files::new(roots.clone()));
        let catalog = Columns::here(&files, engine_options(&options, &roots));
        Ok(Self {
            catalog: Arc::new(FileCatalog::new(catalog, !options.allow_write)),
            turns: Turns::new(
                options.limits.queries_max,
                // In a process for statements, rows wait only in its pipe, which limits them.
                match uploads {
                    Some(_) => WAITING_BYTES_MAX,
                    None => usize::MAX,
                },
                // Each has a process.
                options.workers.as_ref().map(|_| WAITING_MAX),
            ),
            files,
            handshakes: Handshakes::new(),
            load: Load::new(),
            retention: Retention::of_all(),
            views: Arc::new(Semaphore::new(VIEWS_MAX)),
            studies: Arc::new(Semaphore::new(1)),
            parquet_answers: Arc::default(),
            arrivals: Retention::of_arrivals(options.limits.text_bytes_max),
            ahead: Retention::of_ahead(),
            memory: (options.engine.memory_limit_bytes)
                .map(|bytes| SharedMemory::new(bytes, options.limits.queries_max)),
            options,
            workers,
            metrics: Metrics::default(),
            ending,
            uploads,
            uploaded_bytes: AtomicU64::new(0),
            roots,
            function_lists: OnceLock::new(),
            pool: OnceLock::new(),
            running: Mutex::default(),
        })
    }

    /// The folders that statements read, without links in their paths.
    pub(crate) fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The processes that statements run in; `None` where they run in this one.
    pub(crate) fn pool(&self) -> Option<&Arc<Pool>> {
        self.pool.get()
    }

    /// The folders of uploads.
    ///
    /// # Errors
    /// In a process that runs statements, which takes none.
    pub(crate) fn uploads(&self) -> Result<&Uploads, Failure> {
        let none = || {
            Failure::new(
                FailureKind::Refused,
                "uploads are not enabled on this server",
            )
        };
        self.uploads.as_ref().ok_or_else(none)
    }

    /// The options of the engine of a connection.
    pub(crate) fn engine_options(&self, settings: &Arc<ClientSettings>) -> weir_engine::Options {
        let mut options = engine_options(&self.options, &self.roots);
        options.shared_memory.clone_from(&self.memory);
        options.catalog = Some(Arc::new(Registered {
            files: Arc::clone(&self.catalog),
            settings: Arc::clone(settings),
        }));
        options
    }

    /// Waits for something that a statement needs to begin, unless the server ends before.
    ///
    /// # Errors
    /// When it does.
    pub(crate) async fn unless_ending<T>(
        &self,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut ending = self.ending.clone();
        tokio::select! {
            biased;
            () = ending.wait_for(|ending| *ending).map(drop) => {
                Err(Failure::new(FailureKind::Ending, Failure::ENDING))
            }
            done = work => Ok(done),
        }
    }

    /// Waits until a turn comes, before the time of its statement is over and before the server ends. One statement of a connection
    /// is in line at a time.
    ///
    /// # Errors
    /// When one of them comes first.
    pub(crate) async fn turn(
        &self,
        deadline: Deadline,
        kind: StatementKind,
        connection: Option<&ConnectionActivity>,
    ) -> Result<Turn, Failure> {
        let taken = async {
            let is_constant = kind == StatementKind::Constant;
            let _place = match connection {
                Some(connection) => connection.place_in_line(is_constant).await,
                None => None,
            };
            let last_was_short = connection.is_some_and(ConnectionActivity::last_was_short);
            let rank = match kind {
                StatementKind::Constant => return self.turns.take_for_constant().await,
                StatementKind::Short => Rank::Short,
                StatementKind::Other if last_was_short => Rank::AfterShortOne,
                StatementKind::Other => Rank::Begins,
            };
            let served = connection.and_then(ConnectionActivity::served);
            self.turns.take(rank, served).await
        };
        let taken = deadline.within(self.unless_ending(taken)).await??;
        if let Some(connection) = connection {
            connection.has_turn();
        }
        // The semaphore is never closed, so this error does not occur.
        taken.map_err(|_| Failure::new(FailureKind::Ending, Failure::ENDING))
    }

    /// Waits until a text of so many bytes may be parsed and planned, which takes so many, as [`Load::take`] does, and no longer than
    /// until the server ends.
    ///
    /// # Errors
    /// When the time is over before, the server ends, or too many wait already.
    pub(crate) async fn room_for(
        &self,
        text: &[u8],
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        self.room_of(of_statement(text, 0), text.len()).await
    }

    /// Waits until so many bytes may be taken for a text, as [`Self::room_for`] does.
    ///
    /// # Errors
    /// As those of [`Self::room_for`].
    pub(crate) async fn room_of(
        &self,
        bytes: usize,
        text_bytes: usize,
    ) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let deadline = Deadline::new(&self.options.limits, None);
        let taken = self.load.take(bytes, text_bytes);
        deadline.within(self.unless_ending(taken)).await??
    }

    /// The statements at work that have names.
    pub(crate) fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The options of an engine that reads files below the roots.
fn engine_options(options: &Options, roots: &[PathBuf]) -> weir_engine::Options {
    let is_read_only = !options.allow_write;
    let mut options = options.engine.clone();
    options.root = None;
    options.roots = roots.to_vec();
    options.read_only = is_read_only;
    // The stop of one connection does not end the sources of another.
    options.stop = weir_tables::Stop::default();
    options
}

/// The counters of the server.
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

    /// The counters in the text format of Prometheus, with those of the worker processes.
    pub(crate) fn text(&self, pool: Option<&Arc<Pool>>) -> String {
        use std::fmt::Write as _;
        let mut text = String::new();
        for (name, kind, help, value) in EXPOSED {
            let value = value(self, pool);
            // Writing into a String does not fail.
            let _ = write!(
                text,
                "# HELP weir_{name} {help}\n# TYPE weir_{name} {kind}\nweir_{name} {value}\n"
            );
        }
        text
    }
}

/// The value of a metric of the server and its worker processes.
type MetricValue = fn(&Metrics, Option<&Arc<Pool>>) -> u64;

/// The metrics of Prometheus: the name of each behind `weir_`, its type, its help text and its value.
const EXPOSED: &[(&str, &str, &str, MetricValue)] = &[
    (
        "connections_total",
        "counter",
        "Connections that were opened",
        |metrics, _| load(&metrics.connections),
    ),
    (
        "connections_open",
        "gauge",
        "Connections that are open",
        |metrics, _| load(&metrics.connections_open),
    ),
    (
        "connections_refused_total",
        "counter",
        "Connections beyond the limit",
        |metrics, _| load(&metrics.connections_refused),
    ),
    (
        "queries_total",
        "counter",
        "Statements that were started",
        |metrics, _| load(&metrics.queries),
    ),
    (
        "queries_running",
        "gauge",
        "Statements that are running",
        |metrics, _| load(&metrics.queries_running),
    ),
    (
        "queries_failed_total",
        "counter",
        "Statements that failed",
        |metrics, _| load(&metrics.queries_failed),
    ),
    (
        "queries_cancelled_total",
        "counter",
        "Statements that were cancelled, or whose clients left",
        |metrics, _| load(&metrics.queries_cancelled),
    ),
    (
        "panics_total",
        "counter",
        "Statements that an internal error ended",
        |metrics, pool| load(&metrics.panics) + pool.map_or(0, |pool| load(&pool.panics)),
    ),
    (
        "processes",
        "gauge",
        "Processes that run statements or wait for some",
        |_, pool| pool.map_or(0, |pool| pool.processes() as u64),
    ),
    (
        "processes_lost_total",
        "counter",
        "Processes that ended, or were killed, before their statements",
        |_, pool| pool.map_or(0, |pool| load(&pool.lost)),
    ),
    (
        "processes_lost_for_memory_total",
        "counter",
        "Lost processes that were killed for the memory of all",
        |_, pool| pool.map_or(0, |pool| load(&pool.lost_for_memory)),
    ),
    (
        "processes_lost_for_disk_total",
        "counter",
        "Lost processes that were killed for the disk of all",
        |_, pool| pool.map_or(0, |pool| load(&pool.lost_for_disk)),
    ),
    (
        "processes_lost_occupied_total",
        "counter",
        "Lost processes that were killed because their statement went on behind its end",
        |_, pool| pool.map_or(0, |pool| load(&pool.lost_occupied)),
    ),
    (
        "rows_total",
        "counter",
        "Rows that were returned",
        |metrics, _| load(&metrics.rows),
    ),
    (
        "records_total",
        "counter",
        "Records of captures that were read",
        |metrics, _| load(&metrics.records),
    ),
    (
        "bytes_total",
        "counter",
        "Bytes of captures that were read",
        |metrics, _| load(&metrics.bytes),
    ),
];

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// One more, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    shared: Arc<Shared>,
    gauge: fn(&Metrics) -> &AtomicU64,
}

impl Counted {
    pub(crate) fn new(shared: &Arc<Shared>, gauge: fn(&Metrics) -> &AtomicU64) -> Self {
        gauge(&shared.metrics).fetch_add(1, Ordering::Relaxed);
        Self {
            shared: Arc::clone(shared),
            gauge,
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.gauge)(&self.shared.metrics).fetch_sub(1, Ordering::Relaxed);
    }
}

/// Bytes of rows that wait for clients, of all statements together.
const WAITING_BYTES_MAX: usize = 128 << 20;
/// Views that are made at once.
const VIEWS_MAX: usize = 2;
/// Statements in processes that wait for their clients.
const WAITING_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// Waiting statements went on until the end of the time that statements have to finish.
    #[tokio::test]
    async fn what_waits_to_begin_is_refused_when_the_server_ends() {
        let root = tempfile::tempdir().unwrap();
        let mut options = Options {
            roots: vec![root.path().to_path_buf()],
            ..Options::default()
        };
        options.limits.queries_max = 1;
        let (end, ending) = watch::channel(false);
        let shared = Shared::of_worker(options, Handle::current(), ending).unwrap();
        let long = "1,".repeat(100_000);
        let never = Deadline::new(&shared.options.limits, None);
        let begun = (
            shared.room_for(long.as_bytes()).await.unwrap(),
            shared
                .turn(never, StatementKind::Other, None)
                .await
                .unwrap(),
        );
        let mut text = Box::pin(shared.room_for(long.as_bytes()));
        let mut turn = Box::pin(shared.turn(never, StatementKind::Other, None));
        assert!(text.as_mut().now_or_never().is_none());
        assert!(turn.as_mut().now_or_never().is_none());
        end.send(true).unwrap();
        assert_eq!(text.await.unwrap_err().kind, FailureKind::Ending);
        assert_eq!(turn.await.unwrap_err().kind, FailureKind::Ending);
        drop(begun);
    }

    /// Three thousand requests of a few connections kept those of others waiting for seconds.
    #[tokio::test]
    async fn each_connection_has_one_statement_in_line() {
        let root = tempfile::tempdir().unwrap();
        let mut options = Options {
            roots: vec![root.path().to_path_buf()],
            ..Options::default()
        };
        options.limits.queries_max = 1;
        let (_end, ending) = watch::channel(false);
        let shared = Shared::of_worker(options, Handle::current(), ending).unwrap();
        let never = Deadline::new(&shared.options.limits, None);
        let (many, other) = (ConnectionActivity::new(), ConnectionActivity::new());
        let begun = shared
            .turn(never, StatementKind::Other, None)
            .await
            .unwrap();
        let mut first = Box::pin(shared.turn(never, StatementKind::Other, Some(&many)));
        let mut second = Box::pin(shared.turn(never, StatementKind::Other, Some(&many)));
        let mut third = Box::pin(shared.turn(never, StatementKind::Other, Some(&other)));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        drop(begun);
        let begun = first.await.unwrap();
        assert!(second.as_mut().now_or_never().is_none());
        drop(begun);
        let begun = third.await.unwrap();
        assert!(second.as_mut().now_or_never().is_none());
        drop(begun);
        drop(second.await.unwrap());
    }
}
