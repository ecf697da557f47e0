//! What the scans of a session have read and found damaged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use weir_tables::{Counters, SourceError};

/// Shared by all scans of an engine; the caller reads it for progress and for its closing report.
#[derive(Debug, Default)]
pub struct ScanReport {
    pub(crate) counters: std::sync::Arc<Counters>,
    errors: Mutex<Vec<SourceError>>,
    notes: Mutex<Vec<String>>,
    stdin_taken: AtomicBool,
    source_bytes: std::sync::atomic::AtomicU64,
}

impl ScanReport {
    /// What was read so far, over all scans.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Bytes of the files that the scans planned so far will read, before decompression.
    #[must_use]
    pub fn planned_bytes(&self) -> u64 {
        self.source_bytes.load(Ordering::Relaxed)
    }

    /// The damage found since the last call, in the order in which it was found.
    #[must_use]
    pub fn take_errors(&self) -> Vec<SourceError> {
        std::mem::take(&mut *lock(&self.errors))
    }

    /// What else the user should know since the last call: limits that were reached.
    #[must_use]
    pub fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.notes))
    }

    pub(crate) fn plan_bytes(&self, bytes: u64) {
        self.source_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn add_errors(&self, errors: Vec<SourceError>) {
        lock(&self.errors).extend(errors);
    }

    /// Notes are told once, however often a statement is planned.
    pub fn add_notes(&self, notes: Vec<String>) {
        let mut known = lock(&self.notes);
        for note in notes {
            if !known.contains(&note) {
                known.push(note);
            }
        }
    }

    /// True for the first caller only: standard input can be read once. Scans call it; who reads
    /// something else from there calls it before.
    pub fn take_stdin(&self) -> bool {
        !self.stdin_taken.swap(true, Ordering::Relaxed)
    }
}

fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
