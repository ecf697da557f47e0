//! The names that statements can have in them, with their meaning: what `weir fields` and `weir functions` list, and
//! what the session has made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_engine::FunctionEntry;
use weir_tables::Table;

use super::named_tables::{TableOrigin, TableUse};
use crate::fields;
use crate::session::Session;
use weir_output::text::is_control;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CatalogColumn {
    pub(super) name: String,
    /// The meaning of the name, or its type if there is no description.
    pub(super) meaning: String,
}

/// The tables that the statements of a session have made.
#[derive(Debug, Default)]
pub(super) struct SessionTables {
    names: Vec<String>,
    /// A capture is open, so that its tables have plain names.
    pub(super) is_open: bool,
    /// Columns of tables that were requested, by how they are written in FROM.
    columns: HashMap<String, Arc<[CatalogColumn]>>,
}

impl SessionTables {
    pub(super) fn add(&mut self, name: &str) {
        if !self.has(name) {
            self.names.push(name.to_owned());
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.names.retain(|known| known != name);
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Views and tables, in the order in which they were made.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Files and views may be others by now.
    pub(super) fn forget_columns(&mut self) {
        self.columns.clear();
    }
}

/// A table by its name, with its columns.
type Listed = (&'static str, Arc<[CatalogColumn]>);

/// All names.
#[derive(Clone)]
pub(super) struct Catalog {
    session: Arc<Session>,
    known: Arc<Mutex<SessionTables>>,
    tables: Arc<Vec<Listed>>,
    functions: Arc<Vec<FunctionEntry>>,
}

impl Catalog {
    /// The names of a session.
    pub(super) fn new(session: &Arc<Session>, known: &Arc<Mutex<SessionTables>>) -> Self {
        let tables = fields::tables();
        let tables = tables.iter().map(|(name, table)| (*name, columns(table)));
        Self {
            session: Arc::clone(session),
            known: Arc::clone(known),
            tables: Arc::new(tables.collect()),
            functions: Arc::new(session.engine().functions()),
        }
    }

    /// Functions, those that are tables among them.
    pub(super) fn functions(&self) -> &[FunctionEntry] {
        &self.functions
    }

    pub(super) fn known(&self) -> MutexGuard<'_, SessionTables> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The columns of packets: for a statement without FROM yet, and for commands that take fields.
    pub(super) fn packets(&self) -> Arc<[CatalogColumn]> {
        self.of_table("packets").unwrap_or_default()
    }

    fn of_table(&self, name: &str) -> Option<Arc<[CatalogColumn]>> {
        let mut tables = self.tables.iter();
        let (_, columns) = tables.find(|(known, _)| *known == name)?;
        Some(Arc::clone(columns))
    }

    /// The columns of a table as a statement names it; none when they are not to be had.
    pub(super) fn columns(&self, table: &TableUse) -> Arc<[CatalogColumn]> {
        match &table.origin {
            TableOrigin::Call(name) => match self.of_table(name) {
                Some(columns) => columns,
                None => self.described(&table.text),
            },
            TableOrigin::Name(name) => {
                let (is_known, is_open) = {
                    let known = self.known();
                    (known.has(name), known.is_open)
                };
                match self.of_table(name).filter(|_| is_open) {
                    Some(columns) => columns,
                    None if is_known => self.described(&table.text),
                    None => Arc::default(),
                }
            }
            TableOrigin::File(file) if is_rows(file) => self.described(&table.text),
            TableOrigin::File(_) => self.packets(),
            TableOrigin::Other => Arc::default(),
        }
    }

    /// The columns that the engine says a table has.
    fn described(&self, text: &str) -> Arc<[CatalogColumn]> {
        // Remote files are not looked up with every key.
        if text.contains("://") {
            return Arc::default();
        }
        if let Some(columns) = self.known().columns.get(text) {
            return Arc::clone(columns);
        }
        let columns = self.plan(text).unwrap_or_default();
        let mut known = self.known();
        known.columns.insert(text.to_owned(), Arc::clone(&columns));
        columns
    }

    fn plan(&self, text: &str) -> Option<Arc<[CatalogColumn]>> {
        let sql = format!("SELECT * FROM {text} LIMIT 0");
        let statement = self.session.parse(&sql).ok()?.pop()?;
        let planned = self.session.plan(statement, None).ok()??;
        let packets = self.packets();
        let schema = planned.schema();
        let columns = schema.fields().iter().map(|field| {
            // A view of packets has their columns with their meaning.
            let known = packets.iter().find(|column| column.name == *field.name());
            let meaning = known.map_or_else(
                || field.data_type().to_string(),
                |column| column.meaning.clone(),
            );
            CatalogColumn {
                name: field.name().clone(),
                meaning,
            }
        });
        // A name from a file may steer the terminal.
        let harmless = columns.filter(|column| !column.name.chars().any(is_control));
        Some(harmless.collect())
    }
}

fn columns(table: &Table) -> Arc<[CatalogColumn]> {
    let columns = table.columns().iter().map(|column| CatalogColumn {
        name: column.name.to_string(),
        meaning: column.doc.to_string(),
    });
    columns.collect()
}

/// True for files of rows and not of packets, by their names.
fn is_rows(file: &str) -> bool {
    let name = file.to_ascii_lowercase();
    ROWS.iter().any(|end| name.ends_with(end))
}

/// The extensions of such files.
pub(super) const ROWS: &[&str] = &[
    ".csv", ".tsv", ".json", ".ndjson", ".jsonl", ".parquet", ".pq", ".arrow", ".ipc", ".arrows",
];
