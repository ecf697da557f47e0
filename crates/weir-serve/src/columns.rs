//! The columns of the files below the roots.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arrow::datatypes::SchemaRef;
use weir_engine::{Described, Engine, Options, Statement};

use crate::error::Failure;
use crate::files::{FileKind, Files, Listed};
use crate::session::Session;
use crate::shared::Shared;

/// The files below the roots as tables, for clients that browse.
pub(crate) struct Columns {
    files: Arc<Files>,
    looks: tokio::sync::Mutex<Looks>,
    known: Mutex<HashMap<String, CachedColumns>>,
}

/// The session that opens files, one after the other.
enum Looks {
    /// A session, whose statements may run in another process.
    Elsewhere(Box<Session>),
    /// An engine in this process, once it is made.
    Here(Box<Options>, Option<Box<Engine>>),
}

/// A file as it was when it was looked at: its size, when it changed, and its columns where it is a table.
type CachedColumns = (u64, SystemTime, Option<Arc<FileColumns>>);

/// The columns of a file.
#[derive(Debug, PartialEq)]
pub(crate) struct FileColumns {
    pub(crate) schema: SchemaRef,
    /// The columns that columns of addresses come from.
    pub(crate) origins: Vec<Option<String>>,
}

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columns").finish_non_exhaustive()
    }
}

impl Columns {
    pub(crate) fn new(shared: &Arc<Shared>) -> Result<Self, Failure> {
        let session = Box::new(Session::new(shared)?);
        Ok(Self::with(&shared.files, Looks::Elsewhere(session)))
    }

    /// The columns that an engine with these options finds in this process.
    pub(crate) fn here(files: &Arc<Files>, options: Options) -> Self {
        Self::with(files, Looks::Here(Box::new(options), None))
    }

    fn with(files: &Arc<Files>, looks: Looks) -> Self {
        Self {
            files: Arc::clone(files),
            looks: tokio::sync::Mutex::new(looks),
            known: Mutex::default(),
        }
    }

    /// The files that are listed as tables.
    pub(crate) fn tables(&self) -> Vec<Listed> {
        let all = self.files.all();
        let tables = all.iter().filter(|file| file.kind != FileKind::Other);
        tables.take(TABLES_MAX).cloned().collect()
    }

    /// The columns of a file, as they were when it was last changed; `None` for what is no table.
    pub(crate) async fn of(&self, file: &Listed) -> Option<SchemaRef> {
        let known = self.described(file).await?;
        Some(Arc::clone(&known.schema))
    }

    /// The columns of a file, and where its addresses come from.
    pub(crate) async fn described(&self, file: &Listed) -> Option<Arc<FileColumns>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((size, modified, columns)) = known().get(&file.path)
            && (*size, *modified) == (file.size, file.modified)
        {
            return columns.clone();
        }
        let sql = format!("SELECT * FROM {}", weir_engine::quote_literal(&file.path));
        let described = self.looks.lock().await.at(&sql).await;
        let columns = described.map(|described| {
            Arc::new(FileColumns {
                schema: described.schema,
                origins: described.address_origins,
            })
        });
        let mut known = known();
        // Most captures have the same columns, which are held once.
        let columns = columns.map(|columns| {
            let mut others = known.values().filter_map(|(_, _, others)| others.as_ref());
            let same = others.find(|others| ***others == *columns);
            same.map_or(columns, Arc::clone)
        });
        if known.len() >= TABLES_MAX * 4 {
            known.clear();
        }
        known.insert(
            file.path.clone(),
            (file.size, file.modified, columns.clone()),
        );
        columns
    }
}

impl Looks {
    async fn at(&mut self, sql: &str) -> Option<Described> {
        match self {
            Self::Elsewhere(session) => {
                let statement = session.parse(sql).ok()?.pop()?;
                session.describe(statement).await.ok()
            }
            Self::Here(options, engine) => {
                if engine.is_none() {
                    *engine = Some(Box::new(Engine::new(options).ok()?));
                }
                let statement = Statement::parse(sql).ok()?.pop()?;
                engine.as_ref()?.describe(statement).await.ok()
            }
        }
    }
}

/// Files that are listed; others can still be named.
const TABLES_MAX: usize = 1000;
