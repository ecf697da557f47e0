//! Memory that a client has the server hold between its messages: prepared statements and the values of parameters.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Failure, Kind};

/// Bytes that are held for clients: for one connection, or for all.
#[derive(Debug)]
pub(crate) struct Retention {
    bytes: AtomicUsize,
    bytes_max: usize,
    /// That of all connections, for that of one.
    all: Option<Arc<Retention>>,
}

impl Retention {
    /// That of a server.
    pub(crate) fn of_all() -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicUsize::new(0),
            bytes_max: ALL_BYTES_MAX,
            all: None,
        })
    }

    /// That of a connection.
    pub(crate) fn of_one(all: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicUsize::new(0),
            bytes_max: ONE_BYTES_MAX,
            all: Some(Arc::clone(all)),
        })
    }

    /// Counts so many bytes until what is given back is dropped.
    ///
    /// # Errors
    /// When more would be held than may be.
    pub(crate) fn add(self: &Arc<Self>, bytes: usize) -> Result<Retained, Failure> {
        let added = |of: &Self| {
            let before = of.bytes.fetch_add(bytes, Ordering::Relaxed);
            let fits = before.saturating_add(bytes) <= of.bytes_max;
            if !fits {
                of.bytes.fetch_sub(bytes, Ordering::Relaxed);
            }
            fits
        };
        let refused = |who: &str, most: usize| {
            let mib = most >> 20;
            let message = format!("prepared statements and values of {who} take {mib} MiB at most");
            Err(Failure::new(Kind::Limit, message)
                .with_hint("close those that are not used, or send the statement as it is"))
        };
        if !added(self) {
            return refused("a connection", self.bytes_max);
        }
        if let Some(all) = &self.all
            && !added(all)
        {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            return refused("all connections", all.bytes_max);
        }
        Ok(Retained {
            of: Arc::clone(self),
            bytes,
        })
    }
}

/// Bytes that are held until this is dropped.
#[derive(Debug)]
pub(crate) struct Retained {
    of: Arc<Retention>,
    bytes: usize,
}

impl Drop for Retained {
    fn drop(&mut self) {
        for of in [Some(&self.of), self.of.all.as_ref()].into_iter().flatten() {
            of.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// What a statement takes: its text, its tree and its columns.
pub(crate) const fn of_statement(text: usize, columns: usize) -> usize {
    // The tree of a text of 1 MB takes 5 MB.
    text.saturating_mul(6)
        .saturating_add(columns.saturating_mul(256))
        .saturating_add(4096)
}

/// What values of parameters take.
pub(crate) const fn of_values(bytes: usize) -> usize {
    bytes.saturating_add(1024)
}

/// Bytes of the statements and values of all connections together.
const ALL_BYTES_MAX: usize = 128 << 20;
/// Bytes of the statements and values of one connection.
const ONE_BYTES_MAX: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

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
}
