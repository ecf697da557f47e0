//! The report of the scans of a session: what was read and found damaged.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::execution::TaskContext;
use weir_tables::{Counters, SourceError};

/// The progress of a statement on a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PieceProgress {
    /// Pieces that were read.
    pub pieces: u64,
    /// All pieces; 0 when they are not known.
    pub pieces_all: u64,
    /// Bytes of the files in them.
    pub source_bytes: u64,
    /// Records in them.
    pub records: u64,
    /// Machines that have read one.
    pub readers: u64,
}

/// Damaged places, each once: a statement may read a file twice.
#[derive(Debug, Default)]
struct Damage {
    found: Vec<SourceError>,
    /// Their texts.
    known: HashSet<String>,
}

/// Shared by all scans of an engine; the caller reads it for progress and for its closing report.
#[derive(Debug, Default)]
pub struct ScanReport {
    pub(crate) counters: Arc<Counters>,
    damage: Mutex<Damage>,
    notes: Mutex<Vec<String>>,
    stdin_taken: AtomicBool,
    source_bytes: std::sync::atomic::AtomicU64,
    under_way: Mutex<BTreeMap<u64, PieceProgress>>,
    readers: std::sync::atomic::AtomicU64,
}

impl ScanReport {
    /// The report of the session that a plan runs in, or one of its own where the session has none.
    pub(crate) fn of(context: &TaskContext) -> Arc<Self> {
        let config = context.session_config();
        config.get_extension().unwrap_or_default()
    }

    /// The counters of all scans so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes of the files that the scans planned so far will read, before decompression.
    #[must_use]
    pub fn planned_bytes(&self) -> u64 {
        self.source_bytes.load(Ordering::Relaxed)
    }

    /// The progress of the plans that a cluster runs now; `None` when there is none. It is not yet part of the counters.
    #[must_use]
    pub fn under_way(&self) -> Option<PieceProgress> {
        let under_way = self.under_way.lock();
        let under_way = under_way.unwrap_or_else(PoisonError::into_inner);
        under_way
            .values()
            .copied()
            .reduce(|one, other| PieceProgress {
                pieces: one.pieces.saturating_add(other.pieces),
                pieces_all: one.pieces_all.saturating_add(other.pieces_all),
                source_bytes: one.source_bytes.saturating_add(other.source_bytes),
                records: one.records.saturating_add(other.records),
                readers: one.readers.max(other.readers),
            })
    }

    /// Sets the progress of a plan that a cluster runs, by its number; `None` when the plan has ended.
    pub fn set_under_way(&self, plan: u64, progress: Option<PieceProgress>) {
        let under_way = self.under_way.lock();
        let mut under_way = under_way.unwrap_or_else(PoisonError::into_inner);
        match progress {
            Some(progress) => {
                self.readers.fetch_max(progress.readers, Ordering::Relaxed);
                under_way.insert(plan, progress);
            }
            None => {
                under_way.remove(&plan);
            }
        }
    }

    /// Machines of a cluster that have read for a plan, at most, since the last call.
    #[must_use]
    pub fn take_readers(&self) -> u64 {
        self.readers.swap(0, Ordering::Relaxed)
    }

    /// The damage found since the last call, in the order in which it was found. A place that was read several times is there once.
    #[must_use]
    pub fn take_errors(&self) -> Vec<SourceError> {
        std::mem::take(&mut *lock(&self.damage)).found
    }

    /// The notes since the last call: limits that were reached.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notes))
    }

    /// Adds to the bytes that the scans planned so far will read.
    pub fn plan_bytes(&self, bytes: u64) {
        self.source_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_errors(&self, errors: Vec<SourceError>) {
        let mut damage = lock(&self.damage);
        for error in errors {
            if damage.known.insert(error.to_string()) {
                damage.found.push(error);
            }
        }
    }

    /// Each note is reported once, however often a statement is planned.
    pub fn add_notes(&self, notes: Vec<String>) {
        let mut known = lock(&self.notes);
        for note in notes {
            if !known.contains(&note) {
                known.push(note);
            }
        }
    }

    /// Returns true for the first caller only: standard input can be read once. Scans call it, and so does code that
    /// reads something else from standard input, before it reads.
    pub fn take_stdin(&self) -> bool {
        !self.stdin_taken.swap(true, Ordering::Relaxed)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
