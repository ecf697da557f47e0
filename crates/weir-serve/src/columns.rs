//! Which columns do the files below the roots have?

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use arrow::datatypes::SchemaRef;

use crate::error::Failure;
use crate::files::{FileKind, Listed};
use crate::house::House;
use crate::session::Session;

/// The files below the roots as tables, for clients that browse.
pub(crate) struct Columns {
    house: Arc<House>,
    /// The engine that looks at files: at one after the other.
    session: tokio::sync::Mutex<Session>,
    known: Mutex<HashMap<String, Known>>,
}

/// A file as it was when it was looked at: its size, when it changed, and its columns where it is a table.
type Known = (u64, SystemTime, Option<SchemaRef>);

impl std::fmt::Debug for Columns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Columns").finish_non_exhaustive()
    }
}

impl Columns {
    pub(crate) fn new(house: &Arc<House>) -> Result<Self, Failure> {
        Ok(Self {
            session: tokio::sync::Mutex::new(Session::new(house)?),
            house: Arc::clone(house),
            known: Mutex::default(),
        })
    }

    /// The files that are listed as tables.
    pub(crate) fn tables(&self) -> Vec<Listed> {
        let all = self.house.files.all();
        let tables = all.iter().filter(|file| file.kind != FileKind::Other);
        tables.take(TABLES_MAX).cloned().collect()
    }

    /// The file of a name.
    pub(crate) fn file(&self, name: &str) -> Option<Listed> {
        let all = self.house.files.all();
        all.iter().find(|file| file.name == name).cloned()
    }

    /// The columns of a file, as they were when it was last changed; `None` for what is no table.
    pub(crate) async fn of(&self, file: &Listed) -> Option<SchemaRef> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((size, modified, schema)) = known().get(&file.path)
            && (*size, *modified) == (file.size, file.modified)
        {
            return schema.clone();
        }
        let sql = format!("SELECT * FROM '{}'", file.path.replace('\'', "''"));
        let session = self.session.lock().await;
        let statement = session.parse(&sql).ok().and_then(|mut all| all.pop());
        let described = match statement {
            Some(statement) => session.describe(statement).await.ok(),
            None => None,
        };
        drop(session);
        let schema = described.map(|described| described.schema);
        let mut known = known();
        if known.len() >= TABLES_MAX * 4 {
            known.clear();
        }
        known.insert(
            file.path.clone(),
            (file.size, file.modified, schema.clone()),
        );
        schema
    }
}

/// Files that are listed; others can still be named.
const TABLES_MAX: usize = 1000;
