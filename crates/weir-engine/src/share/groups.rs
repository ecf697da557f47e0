//! A reading of which all want groups.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::error::Result;

use super::{Places, RowsTable};
use crate::fuse::{Kept, Question, Side, Work};
use crate::ledger::Ledger;

/// The questions of all, and their answers once someone has read.
pub(crate) struct GroupsTable {
    side: Side,
    questions: Vec<Question>,
    places: Places,
    /// `None` before, with an answer for each until it is taken.
    read: Mutex<Option<Vec<Option<Kept>>>>,
}

/// Whose groups a reading gives that is shared with others.
#[derive(Clone, Debug)]
pub(crate) enum GroupsSeat {
    Groups(Arc<GroupsTable>, usize),
    Rows(Arc<RowsTable>, usize),
}

impl GroupsTable {
    pub(super) fn new(side: Side, questions: Vec<Question>) -> Self {
        Self {
            places: Places::new(questions.len()),
            side,
            questions,
            read: Mutex::new(None),
        }
    }

    /// The groups of one: who comes first reads for all.
    fn groups(&self, number: usize, work: &Work) -> Result<Option<Kept>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let answers = match read.take() {
            Some(answers) => answers,
            None => {
                let answers = work.read(&self.side, &self.questions)?;
                if work.is_cancelled() {
                    // It did not read to the end: who still wants groups reads for the others.
                    return Ok(answers.into_iter().nth(number));
                }
                answers.into_iter().map(Some).collect()
            }
        };
        let answers = read.insert(answers);
        Ok(answers.get_mut(number).and_then(Option::take))
    }
}

impl fmt::Debug for GroupsTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupsTable")
            .field("side", &self.side)
            .finish_non_exhaustive()
    }
}

impl GroupsSeat {
    /// Takes the place; false when it was taken before.
    pub(crate) fn sit(&self, ledger: &Ledger) -> Result<bool> {
        match self {
            Self::Groups(table, number) => {
                let sources = &table.side.reading.sources;
                table.places.sit(*number, sources, ledger)
            }
            Self::Rows(table, number) => table.sit_for_groups(*number, ledger),
        }
    }

    /// The groups, once all is read.
    pub(crate) fn groups(&self, work: &Work) -> Result<Option<Kept>> {
        match self {
            Self::Groups(table, number) => table.groups(*number, work),
            Self::Rows(table, number) => table.groups(*number, work),
        }
    }

    /// For EXPLAIN.
    pub(crate) fn described(&self) -> String {
        match self {
            Self::Groups(table, _) => table.places.described(),
            Self::Rows(table, _) => table.described(),
        }
    }
}
