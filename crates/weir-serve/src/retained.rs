//! Memory that a client has the server hold: prepared statements and the values of parameters between its messages, messages that
//! have come in part, and those that are read ahead while a statement runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use weir_engine::Parameter;

use crate::error::{Failure, FailureKind};

/// Bytes that are held for clients: for one connection, or for all.
#[derive(Debug)]
pub(crate) struct Retention {
    what: &'static str,
    bytes: AtomicUsize,
    bytes_max: usize,
    bytes_of_one_max: usize,
    /// The bytes of a connection that are not counted with those of all, so that short statements are possible when other
    /// connections hold the maximum.
    own_max: usize,
    own: AtomicUsize,
    /// The retention of all connections, where this is the one of a connection.
    all: Option<Arc<Retention>>,
}

impl Retention {
    /// The retention of the prepared statements and values of a server.
    pub(crate) fn of_all() -> Arc<Self> {
        Arc::new(Self {
            what: "prepared statements and values",
            bytes: AtomicUsize::new(0),
            bytes_max: ALL_BYTES_MAX,
            bytes_of_one_max: ONE_BYTES_MAX,
            own_max: OWN_BYTES_MAX,
            own: AtomicUsize::new(0),
            all: None,
        })
    }

    /// The retention of the messages of a server that have come in part, each of which has at most `message_bytes_max` bytes.
    pub(crate) fn of_arrivals(message_bytes_max: usize) -> Arc<Self> {
        let one = message_bytes_max.saturating_mul(2).max(ONE_ARRIVALS_MAX);
        Arc::new(Self {
            what: "unfinished messages",
            bytes: AtomicUsize::new(0),
            bytes_max: ALL_ARRIVALS_MAX.max(one),
            bytes_of_one_max: one,
            own_max: 0,
            own: AtomicUsize::new(0),
            all: None,
        })
    }

    /// The retention of the messages of a server that are read ahead while statements of their clients run. Short ones are when others
    /// hold all.
    pub(crate) fn of_ahead() -> Arc<Self> {
        Arc::new(Self {
            what: "messages behind statements",
            bytes: AtomicUsize::new(0),
            bytes_max: ALL_AHEAD_MAX,
            bytes_of_one_max: ALL_AHEAD_MAX,
            own_max: OWN_BYTES_MAX,
            own: AtomicUsize::new(0),
            all: None,
        })
    }

    /// The retention of a connection.
    pub(crate) fn of_one(all: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            what: all.what,
            bytes: AtomicUsize::new(0),
            bytes_max: all.bytes_of_one_max,
            bytes_of_one_max: all.bytes_of_one_max,
            own_max: all.own_max,
            own: AtomicUsize::new(0),
            all: Some(Arc::clone(all)),
        })
    }

    /// Counts `bytes` as held until the returned guard is dropped.
    ///
    /// # Errors
    /// When a limit would be exceeded.
    pub(crate) fn add(self: &Arc<Self>, bytes: usize) -> Result<Retained, Failure> {
        let added = |to: &AtomicUsize, most: usize| {
            let before = to.fetch_add(bytes, Ordering::Relaxed);
            let fits = before.saturating_add(bytes) <= most;
            if !fits {
                to.fetch_sub(bytes, Ordering::Relaxed);
            }
            fits
        };
        let refused = |holder: &str, most: usize| {
            let mib = most >> 20;
            let message = format!("{} of {holder} take {mib} MiB at most", self.what);
            Err(Failure::new(FailureKind::Limit, message)
                .with_hint("close those that are not used, or send the statement as it is"))
        };
        if !added(&self.bytes, self.bytes_max) {
            return refused("a connection", self.bytes_max);
        }
        let is_own = added(&self.own, self.own_max);
        if let Some(all) = &self.all
            && !is_own
            && !added(&all.bytes, all.bytes_max)
        {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return refused("all connections", all.bytes_max);
        }
        Ok(Retained {
            of: Arc::clone(self),
            bytes,
            is_own,
        })
    }
}

/// A guard: its bytes count as held until it is dropped.
#[derive(Debug)]
pub(crate) struct Retained {
    of: Arc<Retention>,
    bytes: usize,
    is_own: bool,
}

impl Retained {
    /// The bytes that count as held.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        self.of.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        let beside = match (self.is_own, &self.of.all) {
            (true, _) => Some(&self.of.own),
            (false, all) => all.as_ref().map(|all| &all.bytes),
        };
        if let Some(beside) = beside {
            beside.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// The memory of a statement: its text, its tree and its columns.
pub(crate) fn of_statement(text: impl AsRef<[u8]>, columns: usize) -> usize {
    let text = text.as_ref();
    text.len()
        .saturating_mul(6)
        .saturating_add(words(text).min(WORDS_MAX).saturating_mul(WORD_BYTES))
        .saturating_add(columns.saturating_mul(256))
        .saturating_add(4096)
}

/// The words of a text, at least as many as it has: those in quotes and comments count, too.
fn words(text: &[u8]) -> usize {
    let mut count = 0_usize;
    let mut is_within = false;
    for byte in text {
        let is_plain = byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
        let is_word = !(byte.is_ascii_whitespace() || is_plain && is_within);
        count = count.saturating_add(usize::from(is_word));
        is_within = is_plain;
    }
    count
}

/// The memory of `count` parameter values that have `bytes` bytes together.
pub(crate) const fn of_values(count: usize, bytes: usize) -> usize {
    count
        .saturating_mul(VALUE_BYTES)
        .saturating_add(bytes)
        .saturating_add(1024)
}

/// Checks that a list, each of whose values is an expression of several hundred bytes in its statement, is not too long.
///
/// # Errors
/// When it is.
pub(crate) fn check_list(count: usize) -> Result<(), Failure> {
    if count <= LIST_VALUES_MAX {
        return Ok(());
    }
    let message = format!("an array has {LIST_VALUES_MAX} values at most");
    Err(Failure::new(FailureKind::Limit, message))
}

/// The memory of the expression that stands for a value in a statement, of which a list has one for each of its values.
pub(crate) fn of_expression(value: &Parameter) -> usize {
    match value {
        Parameter::List(values) => values
            .iter()
            .map(of_expression)
            .fold(WORD_BYTES, usize::saturating_add),
        Parameter::Text(text) => text.len().saturating_add(WORD_BYTES),
        Parameter::Bytes(bytes) => bytes.len().saturating_mul(2).saturating_add(WORD_BYTES),
        _ => WORD_BYTES,
    }
}

/// The memory of the expression that a value of so many bytes becomes in a statement, and of the value beside it.
pub(crate) const fn of_bound(bytes: usize) -> usize {
    bytes
        .saturating_mul(2)
        .saturating_add(WORD_BYTES + VALUE_BYTES)
}

/// The memory of the name of a statement or a portal, which stands in lists of names, and of `bytes` beside it.
pub(crate) const fn of_name(name: &str, bytes: usize) -> usize {
    name.len()
        .saturating_mul(4)
        .saturating_add(bytes)
        .saturating_add(512)
}

/// The number of values of a list that is a parameter.
const LIST_VALUES_MAX: usize = 200_000;
/// Bytes of a value besides its content.
const VALUE_BYTES: usize = 64;
/// Bytes of a word in a tree: the tree of a list of 95,000 numbers and as many commas takes 41 MB.
const WORD_BYTES: usize = 220;
/// The number of words of a text beyond which it is refused.
const WORDS_MAX: usize = 200_000;
/// Bytes of the statements and values of all connections together.
const ALL_BYTES_MAX: usize = 128 << 20;
/// Bytes of the statements and values of one connection.
const ONE_BYTES_MAX: usize = 16 << 20;
/// The bytes of short statements, values and messages of a connection that are not counted with those of all.
const OWN_BYTES_MAX: usize = 64 << 10;
/// Bytes of the unfinished messages of all connections together.
const ALL_ARRIVALS_MAX: usize = 64 << 20;
/// Bytes that are read ahead of all connections together.
const ALL_AHEAD_MAX: usize = 32 << 20;
/// Bytes of the unfinished messages of one connection.
const ONE_ARRIVALS_MAX: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_for_what_their_tree_takes() {
        for (text, count) in [
            ("", 0),
            ("SELECT 1,a_b FROM 'x y'", 9),
            ("  a+-b\n", 4),
            ("é ü", 2),
        ] {
            assert_eq!(words(text.as_bytes()), count, "{text}");
        }
        let many = of_statement("1,".repeat(1000), 0);
        let few = of_statement("x".repeat(2000), 0);
        assert_eq!(many - few, 1999 * WORD_BYTES);
    }

    /// Thousands of numbers counted as one, so that a hundred clients put theirs into statements at the same moment.
    #[test]
    fn each_value_that_is_bound_counts() {
        assert_eq!(of_bound(8), 8 * 2 + WORD_BYTES + VALUE_BYTES);
        assert!(of_bound(8) * 5000 > 1 << 20);
        assert_eq!(of_bound(usize::MAX), usize::MAX);
    }

    #[test]
    fn neither_one_connection_nor_all_together_hold_more_than_they_may() {
        let all = Retention::of_all();
        let mut held = Vec::new();
        for _ in 0..ALL_BYTES_MAX / ONE_BYTES_MAX {
            let one = Retention::of_one(&all);
            held.push(one.add(ONE_BYTES_MAX - 1).unwrap());
            let refused = one.add(2).unwrap_err();
            assert!(refused.message.contains("of a connection take 16 MiB"));
        }
        let one = Retention::of_one(&all);
        let refused = one.add(ONE_BYTES_MAX).unwrap_err();
        assert!(refused.message.contains("of all connections"), "{refused}");
        held.pop();
        let last = one.add(ONE_BYTES_MAX).unwrap();
        drop((held, last));
        assert_eq!(all.bytes.load(Ordering::Relaxed), 0);
        assert_eq!(one.bytes.load(Ordering::Relaxed), 0);
    }

    /// Eight connections that held 16 MiB each kept all others from preparing `SELECT 1`.
    #[test]
    fn short_statements_are_held_where_others_hold_all() {
        let all = Retention::of_all();
        let mut held = Vec::new();
        for _ in 0..ALL_BYTES_MAX / ONE_BYTES_MAX {
            held.push(Retention::of_one(&all).add(ONE_BYTES_MAX).unwrap());
        }
        let one = Retention::of_one(&all);
        let mut short = Vec::new();
        for _ in 0..OWN_BYTES_MAX / 8192 {
            short.push(one.add(8192).unwrap());
        }
        let refused = one.add(8192).unwrap_err();
        assert!(refused.message.contains("of all connections"), "{refused}");
        short.pop();
        short.push(one.add(8192).unwrap());
        drop((short, held));
        for count in [&all.bytes, &one.bytes, &one.own] {
            assert_eq!(count.load(Ordering::Relaxed), 0);
        }
    }
}
