//! The state of a session after its statements so far: views, tables, prepared statements and settings.
//!
//! A process that runs a statement of the session does these again first, unless it did them itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast;
use weir_engine::{Recipe, Statement};

use crate::error::{Failure, FailureKind};
use crate::retained::{Retained, Retention, of_statement};

/// The statements that have changed a session, in their order.
#[derive(Debug)]
pub(crate) struct Log {
    /// The state that they lead to.
    pub(crate) id: u64,
    entries: Vec<SessionStatement>,
}

/// A statement that changes its session.
#[derive(Debug)]
pub(crate) struct SessionStatement {
    change: Change,
    recipe: Recipe,
    /// The memory of the entry, which is counted while this exists.
    _retained: Retained,
}

impl SessionStatement {
    /// The entry of a statement; `None` for one that changes nothing.
    ///
    /// # Errors
    /// When its connection holds too much already, or another process could not make it again.
    pub(crate) fn of(
        statement: &Statement,
        retention: &Arc<Retention>,
    ) -> Result<Option<Self>, Failure> {
        let Some(change) = Change::of(statement) else {
            return Ok(None);
        };
        let recipe = statement.recipe().cloned();
        let recipe = recipe.ok_or_else(|| {
            Failure::new(
                FailureKind::Run,
                "a session remembers statements as they were sent",
            )
        })?;
        let bytes = of_statement(recipe.text.as_bytes(), 0);
        Ok(Some(Self {
            change,
            recipe,
            _retained: retention.add(bytes)?,
        }))
    }
}

/// The change of a session by a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Change {
    /// The setting of a name.
    Set(String),
    /// Makes a view or a table of a name.
    Makes(String),
    /// Drops views or tables.
    Drops(Vec<String>),
    Prepares(String),
    Deallocates(String),
    DeallocatesAll,
    /// Rows of a table, or something else.
    Other,
}

impl Change {
    /// The change by a statement; `None` for a query.
    fn of(statement: &Statement) -> Option<Self> {
        use ast::Statement as S;
        if let Some(made) = statement.made() {
            return Some(Self::Makes(made.name));
        }
        let DfStatement::Statement(parsed) = statement.parsed() else {
            return None;
        };
        let named = |name: &ast::Ident| name.value.to_lowercase();
        match parsed.as_ref() {
            S::Set(ast::Set::SingleAssignment { variable, .. }) => {
                Some(Self::Set(variable.to_string().to_lowercase()))
            }
            S::Drop { .. } => Some(Self::Drops(statement.dropped())),
            S::Prepare { name, .. } => Some(Self::Prepares(named(name))),
            S::Deallocate { name, .. } => {
                let is_all = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("all");
                Some(match is_all {
                    true => Self::DeallocatesAll,
                    false => Self::Deallocates(named(name)),
                })
            }
            S::Insert(_) | S::Update { .. } | S::Delete(_) => Some(Self::Other),
            _ => (!statement.gives_rows()).then_some(Self::Other),
        }
    }
}

impl Default for Log {
    fn default() -> Self {
        Self {
            // A session without changes has an own state, too: an engine lists the files of its queries.
            id: Self::next_id(),
            entries: Vec::new(),
        }
    }
}

impl Log {
    /// Whether its statements have set values, and nothing else.
    pub(crate) fn is_of_settings(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.all(|entry| matches!(entry.change, Change::Set(_)))
    }

    /// Whether there are prepared statements among those that are remembered.
    pub(crate) fn has_prepared(&self) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| matches!(entry.change, Change::Prepares(_)))
    }

    /// A number for a state that no session has been in.
    pub(crate) fn next_id() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// The statements that lead to the state.
    pub(crate) fn recipes(&self) -> impl Iterator<Item = &Recipe> {
        self.entries.iter().map(|entry| &entry.recipe)
    }

    /// Refuses a change where there are too many already.
    ///
    /// # Errors
    /// When there are.
    pub(crate) fn may_take(&self) -> Result<(), Failure> {
        if self.entries.len() < ENTRIES_MAX {
            return Ok(());
        }
        let message =
            format!("a session remembers {ENTRIES_MAX} views, settings and changes at most");
        Err(Failure::new(FailureKind::Limit, message)
            .with_hint("drop views that are not used, or reconnect"))
    }

    /// Adds a statement that has run, after which the session is in the state `id`.
    pub(crate) fn push(&mut self, id: u64, entry: SessionStatement) {
        self.id = id;
        match &entry.change {
            Change::Set(name) => {
                // Views in between were planned with the value before.
                if let Some(last) = self.entries.last()
                    && last.change == Change::Set(name.clone())
                {
                    self.entries.pop();
                }
            }
            Change::Deallocates(name) => {
                let prepared = Change::Prepares(name.clone());
                self.entries.retain(|entry| entry.change != prepared);
                return;
            }
            Change::DeallocatesAll => {
                self.entries
                    .retain(|entry| !matches!(entry.change, Change::Prepares(_)));
                return;
            }
            Change::Drops(names) if self.take_back(names) => return,
            _ => {}
        }
        self.entries.push(entry);
    }

    /// Removes the statements that made these, if no later statement can depend on them; false otherwise.
    fn take_back(&mut self, names: &[String]) -> bool {
        let is_made = |entry: &SessionStatement| match &entry.change {
            Change::Makes(name) => names.contains(name),
            _ => false,
        };
        let made = self.entries.iter().filter(|entry| is_made(entry)).count();
        let first = self.entries.iter().position(is_made);
        let Some(first) = first.filter(|_| made == names.len()) else {
            return false;
        };
        let is_alone = self.entries.iter().skip(first).all(|entry| {
            is_made(entry) || matches!(entry.change, Change::Set(_) | Change::Prepares(_))
        });
        if is_alone {
            self.entries.retain(|entry| !is_made(entry));
        }
        is_alone
    }
}

/// Statements that a session remembers.
const ENTRIES_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn after(sql: &str) -> Vec<String> {
        let retention = Retention::of_one(&Retention::of_all());
        let mut log = Log::default();
        for statement in Statement::parse(sql).unwrap() {
            if let Some(entry) = SessionStatement::of(&statement, &retention).unwrap() {
                log.push(Log::next_id(), entry);
            }
        }
        let statements = log.recipes().map(|recipe| recipe.statement().unwrap());
        statements
            .map(|statement| statement.parsed().to_string())
            .collect()
    }

    #[test]
    fn questions_change_nothing() {
        let questions = "SELECT 1; EXPLAIN SELECT 1; COPY (SELECT 1) TO 'x.csv'; SHOW TABLES; EXECUTE p(1); DESCRIBE 'x.pcap'";
        assert!(after(questions).is_empty());
        assert_ne!(Log::default().id, Log::default().id);
    }

    #[test]
    fn what_is_let_go_leaves_nothing_where_nothing_was_made_of_it() {
        assert!(after("CREATE VIEW v AS SELECT 1; DROP VIEW v").is_empty());
        assert!(after("PREPARE p AS SELECT 1; DEALLOCATE P").is_empty());
        assert!(after("PREPARE p AS SELECT 1; PREPARE q AS SELECT 2; DEALLOCATE ALL").is_empty());
        let zones = "SET TIME ZONE 'UTC'; SET TIME ZONE '+02:00'; CREATE VIEW v AS SELECT 1; SET TIME ZONE 'UTC'; DROP VIEW v";
        assert_eq!(after(zones).len(), 2);
        let others =
            "CREATE VIEW v AS SELECT 1 AS a; CREATE VIEW w AS SELECT a FROM v; DROP VIEW v";
        assert_eq!(after(others).len(), 3);
        let again = "CREATE VIEW v AS SELECT 1; CREATE OR REPLACE VIEW v AS SELECT 2; DROP VIEW v";
        assert_eq!(after(again).len(), 3);
        let tables =
            "CREATE TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2); SELECT 3 AS a INTO u";
        assert_eq!(after(tables).len(), 3);
    }
}
