//! Prepared statements of a connection.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_engine::Parameter;

use crate::error::{Failure, FailureKind};
use crate::retained::Retained;
use crate::secret::random_name;

/// A prepared statement.
#[derive(Debug)]
pub(super) struct Prepared {
    pub(super) text: String,
    /// The number of its parameters.
    pub(super) parameters: usize,
    /// The values that were given last, a row for each time that it is to run.
    rows: Mutex<Arc<ParameterRows>>,
    /// The memory of the statement, which is counted while this exists.
    _retained: Retained,
}

/// Rows of values, with their memory, which is counted while this exists. All executions share them.
#[derive(Debug, Default)]
pub(super) struct ParameterRows {
    values: Vec<Values>,
    _retained: Option<Retained>,
}

impl ParameterRows {
    /// One row, to try how a statement is planned with some.
    pub(super) fn one_of(rows: &[Values]) -> Self {
        let one = typed(rows).or_else(|| rows.first().cloned());
        Self {
            values: one.into_iter().collect(),
            _retained: None,
        }
    }

    /// Values to plan a statement with, where those of the first row do not have the types of all others.
    pub(super) fn typed(&self) -> Option<Values> {
        typed(&self.values)
    }

    /// The values of a row. There are none where none are bound.
    pub(super) fn get(&self, row: usize) -> &[(String, Parameter)] {
        self.values.get(row).map_or(&[], Vec::as_slice)
    }

    /// The number of rows. Without values a statement runs once.
    pub(super) fn len(&self) -> usize {
        self.values.len().max(1)
    }
}

/// Values of `$1`, `$2` and so on.
pub(super) type Values = Vec<(String, Parameter)>;

/// The first row with values of further ones in the places of NULLs, which have no type; `None` where no NULL has another value.
fn typed(rows: &[Values]) -> Option<Values> {
    let (first, others) = rows.split_first()?;
    let mut typed: Option<Values> = None;
    for (place, (_, value)) in first.iter().enumerate() {
        if has_type(value) {
            continue;
        }
        let mut others = others.iter().filter_map(|row| row.get(place));
        let other = others.find(|(_, other)| has_type(other));
        let Some((_, other)) = other else {
            continue;
        };
        let typed = typed.get_or_insert_with(|| first.clone());
        if let Some((_, value)) = typed.get_mut(place) {
            value.clone_from(other);
        }
    }
    typed
}

/// Whether a value has a type: NULL has none, and neither has a list of nothing else.
fn has_type(value: &Parameter) -> bool {
    match value {
        Parameter::Null => false,
        Parameter::List(values) => values.iter().any(has_type),
        _ => true,
    }
}

impl Prepared {
    /// The values that it runs with: none but for statements that have no parameters.
    pub(super) fn rows(&self) -> Arc<ParameterRows> {
        Arc::clone(&self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Binds values for the next execution.
    ///
    /// # Errors
    /// When there are more or fewer of them than parameters.
    pub(super) fn bind(&self, rows: Vec<Values>, retained: Retained) -> Result<(), Failure> {
        let wanted = self.parameters;
        if let Some(other) = rows.iter().find(|row| row.len() != wanted) {
            let given = other.len();
            let message =
                format!("the number of values is {given}, and that of parameters {wanted}");
            return Err(Failure::new(FailureKind::Plan, message));
        }
        let rows = Arc::new(ParameterRows {
            values: rows,
            _retained: Some(retained),
        });
        *self.rows.lock().unwrap_or_else(PoisonError::into_inner) = rows;
        Ok(())
    }
}

/// The prepared statements of a connection, by their handles.
#[derive(Debug, Default)]
pub(super) struct Shelf(Mutex<HashMap<String, Arc<Prepared>>>);

impl Shelf {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Prepared>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a statement, and says its handle.
    ///
    /// # Errors
    /// When the connection has too many.
    pub(super) fn add(
        &self,
        text: String,
        parameters: usize,
        retained: Retained,
    ) -> Result<String, Failure> {
        let handle = random_name()?;
        let mut all = self.all();
        if all.len() >= PREPARED_MAX {
            let message = format!("a connection has {PREPARED_MAX} prepared statements at most");
            return Err(Failure::new(FailureKind::Limit, message)
                .with_hint("close those that are not used"));
        }
        let prepared = Prepared {
            text,
            parameters,
            rows: Mutex::default(),
            _retained: retained,
        };
        all.insert(handle.clone(), Arc::new(prepared));
        Ok(handle)
    }

    /// The statement of a handle.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn get(&self, handle: &str) -> Result<Arc<Prepared>, Failure> {
        let found = self.all().get(handle).cloned();
        found.ok_or_else(|| {
            Failure::new(FailureKind::Plan, "prepared statement does not exist")
                .with_hint("it lives as long as its connection, or until it is closed")
        })
    }

    pub(super) fn remove(&self, handle: &str) {
        self.all().remove(handle);
    }
}

const PREPARED_MAX: usize = 1000;
