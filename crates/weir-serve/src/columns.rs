//! The columns of the files below the roots.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use weir_engine::{Described, Engine, Options, Statement};

use crate::error::{Failure, FailureKind};
use crate::files::{FileKind, Files, Listed};

/// The files below the roots as tables, for clients that browse.
pub(crate) struct Columns {
    files: Arc<Files>,
    describer: tokio::sync::Mutex<Box<dyn Describer>>,
    known: Mutex<Known>,
    /// The permits for long columns on their way to clients, one for each KiB.
    room: Arc<Semaphore>,
}

/// The files that were looked at.
#[derive(Default)]
struct Known {
    files: HashMap<String, CachedColumns>,
    /// The bytes that their columns hold, about.
    bytes: usize,
    /// The time since which files that are no tables are among them.
    failures_since: Option<Instant>,
}

/// What says which columns the answers of statements have.
#[async_trait]
pub(crate) trait Describer: Send {
    /// The answer of the one statement of a text; `None` where it has none.
    async fn answer_of(&mut self, sql: &str) -> Option<Described>;
}

/// An engine in this process, once it is made.
struct OwnEngine {
    options: Options,
    engine: Option<Engine>,
}

#[async_trait]
impl Describer for OwnEngine {
    async fn answer_of(&mut self, sql: &str) -> Option<Described> {
        if self.engine.is_none() {
            self.engine = Some(Engine::new(&self.options).ok()?);
        }
        let statement = Statement::parse(sql).ok()?.pop()?;
        self.engine.as_ref()?.describe(statement).await.ok()
    }
}

/// A file as it was when it was looked at: its size, when it changed, and its columns where it is a table.
type CachedColumns = (u64, SystemTime, Option<Arc<FileColumns>>);

/// The columns of a file.
#[derive(Debug)]
pub(crate) struct FileColumns {
    pub(crate) schema: SchemaRef,
    /// The columns that columns of addresses come from.
    pub(crate) origins: Vec<Option<String>>,
    /// The message with the columns, once a client of Flight SQL has requested it.
    message: OnceLock<Bytes>,
}

impl PartialEq for FileColumns {
    fn eq(&self, other: &Self) -> bool {
        self.schema == other.schema && self.origins == other.origins
    }
}

impl FileColumns {
    /// The message with the columns, which is made for the first client that requests it.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(crate) fn message<E>(
        &self,
        make: impl FnOnce(&Schema) -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        if let Some(message) = self.message.get() {
            return Ok(message.clone());
        }
        let made = make(&self.schema)?;
        Ok(self.message.get_or_init(|| made).clone())
    }

    /// The bytes that the columns and their message hold, about.
    fn held_bytes(&self) -> usize {
        let origins = self.origins.iter().flatten().map(String::len);
        let fields = self.schema.fields().size();
        fields.saturating_mul(2).saturating_add(origins.sum())
    }
}

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columns").finish_non_exhaustive()
    }
}

impl Columns {
    /// The columns that the answers of such a describer have.
    pub(crate) fn new(files: &Arc<Files>, describer: Box<dyn Describer>) -> Self {
        Self {
            files: Arc::clone(files),
            describer: tokio::sync::Mutex::new(describer),
            known: Mutex::default(),
            room: Arc::new(Semaphore::new(ROOM_KIB)),
        }
    }

    /// The columns that an engine with these options finds in this process.
    pub(crate) fn here(files: &Arc<Files>, mut options: Options) -> Self {
        options.sample_bytes_max = Some(LISTED_BYTES_MAX);
        let engine = None;
        Self::new(files, Box::new(OwnEngine { options, engine }))
    }

    /// The files that are listed as tables.
    pub(crate) fn tables(&self) -> Vec<Listed> {
        let all = self.files.all();
        let tables = all.iter().filter(|file| file.kind != FileKind::Other);
        tables.take(TABLES_MAX).cloned().collect()
    }

    /// Waits until the message of columns, of so many bytes, may be sent; the permit is held until the client has taken it. Messages as
    /// captures have them need none.
    ///
    /// # Errors
    /// When clients do not take the messages that are on their way.
    pub(crate) async fn room(&self, bytes: usize) -> Result<Option<OwnedSemaphorePermit>, Failure> {
        let kib = bytes.div_ceil(1024);
        if kib <= FREE_KIB {
            return Ok(None);
        }
        let kib = u32::try_from(kib.min(ROOM_KIB)).unwrap_or(u32::MAX);
        let permits = Arc::clone(&self.room).acquire_many_owned(kib);
        match tokio::time::timeout(ROOM_WAIT, permits).await {
            // The semaphore is never closed.
            Ok(permits) => Ok(permits.ok()),
            Err(_) => Err(Failure::new(
                FailureKind::Limit,
                "other clients do not take the long columns of tables that they have requested",
            )
            .with_hint("try again, or request the tables without their columns")),
        }
    }

    /// The columns of a file, as they were when it was last changed, and where its addresses come from; `None` for what is no table.
    pub(crate) async fn described(&self, file: &Listed) -> Option<Arc<FileColumns>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known().forget_failures();
        if let Some(columns) = known().get(file) {
            return columns;
        }
        let sql = format!("SELECT * FROM {}", weir_engine::quote_literal(&file.path));
        let mut describer = self.describer.lock().await;
        // Another client may have asked for the same file meanwhile.
        if let Some(columns) = known().get(file) {
            return columns;
        }
        let described = describer.answer_of(&sql).await;
        let columns = described.map(|described| {
            Arc::new(FileColumns {
                schema: described.schema,
                origins: described.address_origins,
                message: OnceLock::new(),
            })
        });
        let cached = (file.size, file.modified, columns);
        known().insert(file.path.clone(), cached)
    }
}

impl Known {
    /// What is known of a file that has not changed since: its columns, or that it is no table.
    fn get(&self, file: &Listed) -> Option<Option<Arc<FileColumns>>> {
        let (size, modified, columns) = self.files.get(&file.path)?;
        ((*size, *modified) == (file.size, file.modified)).then(|| columns.clone())
    }

    /// Discards the files that are no tables, after a while: one may have been away, or have had no room, when it was looked at.
    fn forget_failures(&mut self) {
        if self
            .failures_since
            .is_some_and(|since| since.elapsed() >= FAILURES_FOR)
        {
            self.failures_since = None;
            self.files.retain(|_, (_, _, columns)| columns.is_some());
        }
    }

    /// Keeps the columns of the file at a path, and gives them as they are kept.
    fn insert(&mut self, path: String, cached: CachedColumns) -> Option<Arc<FileColumns>> {
        let (size, modified, columns) = cached;
        if columns.is_none() && self.failures_since.is_none() {
            self.failures_since = Some(Instant::now());
        }
        // Most captures have the same columns, which are held once.
        let same = columns.as_ref().and_then(|columns| {
            let mut others = self
                .files
                .values()
                .filter_map(|(_, _, others)| others.as_ref());
            others.find(|others| **others == *columns).cloned()
        });
        let is_shared = same.is_some();
        let columns = same.or(columns);
        let own = columns.as_ref().map_or(0, |columns| columns.held_bytes());
        let bytes = self.bytes.saturating_add(if is_shared { 0 } else { own });
        self.bytes = bytes;
        if self.files.len() >= TABLES_MAX * 4 || bytes > KNOWN_BYTES_MAX {
            self.files.clear();
            self.bytes = own;
        }
        self.files.insert(path, (size, modified, columns.clone()));
        columns
    }
}

/// Bytes of a file of CSV or JSON that the columns in lists are taken from: a small file may be compressed from many, and lists are of all
/// files.
pub(crate) const LISTED_BYTES_MAX: u64 = 4 << 20;
/// Files that are listed; others can still be named.
const TABLES_MAX: usize = 1000;
/// Bytes of columns that are kept; those of a capture have one megabyte.
const KNOWN_BYTES_MAX: usize = 64 << 20;
/// The time for which a file that is no table is not looked at again, unless it changes.
const FAILURES_FOR: Duration = Duration::from_secs(60);
/// KiB of long messages with columns on their way to clients.
const ROOM_KIB: usize = 16 << 10;
/// KiB of a message that is sent without a permit: that of a capture has a hundred.
const FREE_KIB: usize = 192;
/// The longest wait for a permit.
const ROOM_WAIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow::datatypes::{DataType, Field};

    use super::*;

    fn columns(name: String) -> Arc<FileColumns> {
        Arc::new(FileColumns {
            schema: Arc::new(Schema::new(vec![Field::new(name, DataType::Utf8, true)])),
            origins: vec![None],
            message: OnceLock::new(),
        })
    }

    /// Forty clients that requested the columns of all captures kept others from being answered for five seconds.
    #[test]
    fn messages_of_equal_columns_are_made_once() {
        let mut known = Known::default();
        let mut insert = |path: &str, name: &str| {
            let cached = (1, SystemTime::UNIX_EPOCH, Some(columns(name.to_owned())));
            known.insert(path.to_owned(), cached).unwrap()
        };
        let (one, other) = (insert("a.pcap", "frame"), insert("b.pcap", "frame"));
        assert!(Arc::ptr_eq(&one, &other));
        assert!(!Arc::ptr_eq(&one, &insert("c.csv", "a")));
        let made = one.message(|_| Ok::<_, Infallible>(Bytes::from_static(b"made")));
        let kept = other.message(|_| Ok::<_, Infallible>(Bytes::from_static(b"made again")));
        assert_eq!(
            (made, kept),
            (Ok(Bytes::from("made")), Ok(Bytes::from("made")))
        );
        assert!(
            columns("a".to_owned())
                .message(|_| Err::<Bytes, _>(()))
                .is_err()
        );
    }

    /// The columns of a thousand files with names of a megabyte were kept for good.
    #[test]
    fn columns_that_are_kept_have_a_limit() {
        let mut known = Known::default();
        let mut files_max = 0;
        for number in 0..200 {
            let name = format!("{number}{}", "x".repeat(1_000_000));
            let cached = (1, SystemTime::UNIX_EPOCH, Some(columns(name)));
            assert!(known.insert(number.to_string(), cached).is_some());
            assert!(known.bytes <= KNOWN_BYTES_MAX, "{}", known.bytes);
            let held = known
                .files
                .values()
                .filter_map(|(_, _, columns)| columns.as_ref());
            let held: usize = held.map(|columns| columns.held_bytes()).sum();
            assert_eq!(held, known.bytes);
            files_max = files_max.max(known.files.len());
        }
        assert!(files_max > 10, "{files_max}");
    }

    /// A file that was away when its columns were looked for was no table until it changed.
    #[tokio::test(flavor = "multi_thread")]
    async fn files_that_are_no_tables_are_looked_at_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        let file = Listed {
            name: "x.csv".to_owned(),
            path: path.to_str().unwrap().to_owned(),
            size: 4,
            modified: SystemTime::UNIX_EPOCH,
            kind: FileKind::Table,
        };
        let columns = Columns::here(&Arc::new(Files::new(Vec::new())), Options::default());
        assert!(columns.described(&file).await.is_none());
        std::fs::write(&path, "x\n1\n").unwrap();
        assert!(columns.described(&file).await.is_none());
        let since = Instant::now().checked_sub(FAILURES_FOR).unwrap();
        columns.known.lock().unwrap().failures_since = Some(since);
        let described = columns.described(&file).await.unwrap();
        assert_eq!(described.schema.field(0).name(), "x");
    }

    /// A file that takes long was looked at once for each client that waited for its columns.
    #[tokio::test]
    async fn clients_that_wait_for_the_columns_of_a_file_have_it_looked_at_once() {
        struct Counter(Arc<AtomicUsize>);
        #[async_trait]
        impl Describer for Counter {
            async fn answer_of(&mut self, _sql: &str) -> Option<Described> {
                self.0.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
                None
            }
        }
        let file = Listed {
            name: "x.csv".to_owned(),
            path: "x.csv".to_owned(),
            size: 4,
            modified: SystemTime::UNIX_EPOCH,
            kind: FileKind::Table,
        };
        let count = Arc::new(AtomicUsize::new(0));
        let describer = Box::new(Counter(Arc::clone(&count)));
        let columns = Columns::new(&Arc::new(Files::new(Vec::new())), describer);
        let found = tokio::join!(columns.described(&file), columns.described(&file));
        assert_eq!(found, (None, None));
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn long_columns_have_room_for_so_many_at_a_time() {
        let files = Arc::new(Files::new(Vec::new()));
        let columns = Columns::here(&files, Options::default());
        let long = || columns.room(2 << 20);
        let mut held = Vec::new();
        for _ in 0..8 {
            held.push(long().await.unwrap().unwrap());
        }
        let failure = long().await.unwrap_err();
        assert!(failure.message.contains("do not take"), "{failure}");
        assert!(columns.room(100 << 10).await.unwrap().is_none());
        held.pop();
        assert!(long().await.unwrap().is_some());
    }
}
