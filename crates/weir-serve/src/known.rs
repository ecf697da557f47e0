//! Statements that were soon over: the same text is expected to be so again.
//!
//! Where a hundred clients ask at the same moment, nothing else tells the statement of one that is answered at once from those that
//! compute for minutes. A wrong guess costs little: it is a place in the line.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The statements that were soon over, some thousand of them, by what they are hashed to: the key of that is not known to clients.
#[derive(Debug, Default)]
pub(crate) struct KnownStatements {
    hasher: RandomState,
    short: Mutex<Generations>,
}

/// Statements that were named lately, and before.
#[derive(Debug, Default)]
struct Generations {
    now: HashSet<u64>,
    before: HashSet<u64>,
}

impl Generations {
    fn insert(&mut self, statement: u64) {
        if self.now.len() >= GENERATION {
            self.before = std::mem::take(&mut self.now);
        }
        self.now.insert(statement);
    }
}

impl KnownStatements {
    /// What a statement is known by.
    pub(crate) fn name_of(&self, statement: &impl Hash) -> u64 {
        self.hasher.hash_one(statement)
    }

    fn short(&self) -> MutexGuard<'_, Generations> {
        self.short.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a statement was soon over.
    pub(crate) fn is_short(&self, statement: u64) -> bool {
        let mut short = self.short();
        if short.before.remove(&statement) {
            short.insert(statement);
        }
        short.now.contains(&statement)
    }

    /// A statement has ended that took so long. One that is known to be short may take longer where the machine is busy.
    pub(crate) fn took(&self, statement: u64, time: Duration) {
        let mut short = self.short();
        if time <= SHORT {
            short.insert(statement);
        } else if time > LONG {
            short.now.remove(&statement);
            short.before.remove(&statement);
        }
    }
}

/// The time in which a statement is soon over.
const SHORT: Duration = Duration::from_secs(1);
/// The time of one that is not, however busy the machine is.
const LONG: Duration = Duration::from_secs(5);
/// Statements of a generation.
const GENERATION: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_statement_is_expected_to_take_as_long_again() {
        let known = KnownStatements::default();
        let [one, other] = ["SELECT 1", "SELECT 2"].map(|text| known.name_of(&text));
        assert!(one != other && !known.is_short(one));
        known.took(one, SHORT);
        assert!(known.is_short(one) && !known.is_short(other));
        known.took(one, LONG);
        assert!(known.is_short(one));
        known.took(one, LONG * 2);
        assert!(!known.is_short(one));
        known.took(other, LONG);
        assert!(!known.is_short(other));
    }

    #[test]
    fn statements_that_are_not_named_any_more_are_forgotten() {
        let known = KnownStatements::default();
        let statements = GENERATION as u64 * 5;
        for statement in 0..statements {
            known.took(statement, Duration::ZERO);
            assert!(known.is_short(0), "{statement}");
        }
        assert!(!known.is_short(1) && known.is_short(statements - 1));
        let short = known.short();
        assert!(short.now.len() + short.before.len() <= 2 * GENERATION);
    }
}
