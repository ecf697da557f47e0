//! Counters of a scan, for metrics, progress and the closing report.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of one or many scans, shared between threads.
#[derive(Debug, Default)]
pub struct Counters {
    records: AtomicU64,
    bytes: AtomicU64,
    source_bytes: AtomicU64,
    dropped: AtomicU64,
    stopped: AtomicU64,
    unknown_link: AtomicU64,
    compiled: AtomicU64,
    compile_refused: AtomicU64,
    times_beyond: AtomicU64,
    late: AtomicU64,
}

/// The values of [`Counters`] at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Totals {
    /// The number of records read.
    pub records: u64,
    /// The number of bytes of the capture read, after decompression.
    pub bytes: u64,
    /// The number of bytes of the source read, before decompression.
    pub source_bytes: u64,
    /// The number of records that the predicates dropped.
    pub dropped: u64,
    /// The number of records whose decoding stopped early: truncated or damaged packets.
    pub stopped: u64,
    /// The number of those with a link type that is not decoded.
    pub unknown_link: u64,
    /// The number of records that were processed by compiled programs.
    pub compiled: u64,
    /// The number of programs that were not compiled because the system gave no memory for machine code.
    pub compile_refused: u64,
    /// The number of records whose time is before 1677 or after 2262, which 64 bits of nanoseconds do not hold: they
    /// have the nearest time.
    pub times_beyond: u64,
    /// The number of records that merging returned after later ones.
    pub late: u64,
}

impl Totals {
    /// The difference from `before`.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            records: self.records.saturating_sub(before.records),
            bytes: self.bytes.saturating_sub(before.bytes),
            source_bytes: self.source_bytes.saturating_sub(before.source_bytes),
            dropped: self.dropped.saturating_sub(before.dropped),
            stopped: self.stopped.saturating_sub(before.stopped),
            unknown_link: self.unknown_link.saturating_sub(before.unknown_link),
            compiled: self.compiled.saturating_sub(before.compiled),
            compile_refused: self.compile_refused.saturating_sub(before.compile_refused),
            times_beyond: self.times_beyond.saturating_sub(before.times_beyond),
            late: self.late.saturating_sub(before.late),
        }
    }

    /// Notes on the times of records: on those that were replaced, and on those that are out of order.
    #[must_use]
    pub fn notes_of_times(&self) -> Vec<String> {
        let beyond = (self.times_beyond > 0).then(|| {
            format!(
                "{} of {} records have a time before 1677-09-21 or after 2262-04-11, which frame.time cannot hold: it has the nearest possible time",
                self.times_beyond, self.records
            )
        });
        let late = (self.late > 0).then(|| {
            format!(
                "{} of {} records are not in time order, because they come more than {} MiB of records after later ones",
                self.late,
                self.records,
                MERGE_WINDOW_BYTES >> 20
            )
        });
        beyond.into_iter().chain(late).collect()
    }

    pub(crate) fn add(&mut self, more: &Self) {
        self.records += more.records;
        self.bytes += more.bytes;
        self.source_bytes += more.source_bytes;
        self.dropped += more.dropped;
        self.stopped += more.stopped;
        self.unknown_link += more.unknown_link;
        self.compiled += more.compiled;
        self.compile_refused += more.compile_refused;
        self.times_beyond += more.times_beyond;
        self.late += more.late;
    }
}

impl Counters {
    /// Adds the totals of a batch.
    pub fn add(&self, more: &Totals) {
        self.records.fetch_add(more.records, Ordering::Relaxed);
        self.bytes.fetch_add(more.bytes, Ordering::Relaxed);
        self.source_bytes
            .fetch_add(more.source_bytes, Ordering::Relaxed);
        self.dropped.fetch_add(more.dropped, Ordering::Relaxed);
        self.stopped.fetch_add(more.stopped, Ordering::Relaxed);
        self.unknown_link
            .fetch_add(more.unknown_link, Ordering::Relaxed);
        self.compiled.fetch_add(more.compiled, Ordering::Relaxed);
        self.compile_refused
            .fetch_add(more.compile_refused, Ordering::Relaxed);
        self.times_beyond
            .fetch_add(more.times_beyond, Ordering::Relaxed);
        self.late.fetch_add(more.late, Ordering::Relaxed);
    }

    /// Subtracts the counts of a reading that is discarded.
    pub fn take_back(&self, less: &Totals) {
        // The subtraction wraps, as `add` of the complement, so that the sum of all stays right.
        self.add(&Totals {
            records: less.records.wrapping_neg(),
            bytes: less.bytes.wrapping_neg(),
            source_bytes: less.source_bytes.wrapping_neg(),
            dropped: less.dropped.wrapping_neg(),
            stopped: less.stopped.wrapping_neg(),
            unknown_link: less.unknown_link.wrapping_neg(),
            compiled: less.compiled.wrapping_neg(),
            compile_refused: less.compile_refused.wrapping_neg(),
            times_beyond: less.times_beyond.wrapping_neg(),
            late: less.late.wrapping_neg(),
        });
    }

    /// The current values.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals {
            records: self.records.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            source_bytes: self.source_bytes.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            stopped: self.stopped.load(Ordering::Relaxed),
            unknown_link: self.unknown_link.load(Ordering::Relaxed),
            compiled: self.compiled.load(Ordering::Relaxed),
            compile_refused: self.compile_refused.load(Ordering::Relaxed),
            times_beyond: self.times_beyond.load(Ordering::Relaxed),
            late: self.late.load(Ordering::Relaxed),
        }
    }
}

/// The number of bytes of records that wait for earlier ones where sources are merged.
pub(crate) const MERGE_WINDOW_BYTES: usize = 32 << 20;
