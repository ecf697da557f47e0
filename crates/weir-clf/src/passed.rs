//! The progress of reading logs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The progress of a search or an index run, which another thread may watch. Clones share the same counts.
///
/// A call costs the load of one atomic; no two figures are of the same instant.
#[derive(Clone, Debug, Default)]
pub struct Passed(Arc<PassedCounts>);

#[derive(Debug, Default)]
struct PassedCounts {
    bytes: AtomicU64,
    planned_bytes: AtomicU64,
    records: AtomicU64,
}

impl Passed {
    /// The number of bytes of log that were read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.bytes.load(Ordering::Relaxed)
    }

    /// The number of bytes of log that the searches begun so far read if they are not ended early.
    #[must_use]
    pub fn planned_bytes(&self) -> u64 {
        self.0.planned_bytes.load(Ordering::Relaxed)
    }

    /// The number of records that were found: by a search those that match, by [`crate::index_passing`] all.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.0.records.load(Ordering::Relaxed)
    }

    pub(crate) fn plan(&self, bytes: u64) {
        self.0.planned_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, bytes: u64, records: u64) {
        self.0.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.records.fetch_add(records, Ordering::Relaxed);
    }
}
