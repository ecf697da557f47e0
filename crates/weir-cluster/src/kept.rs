//! The jobs whose rows executors keep for their clients. Ballista has the rows of a job removed some minutes after its end, also while
//! its client still reads them. Here they stay while the client renews them, within a limit, and those of a client that is gone go.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The jobs whose rows are kept.
#[derive(Default)]
pub(crate) struct KeptJobs(Mutex<HashMap<String, KeptRows>>);

#[derive(Clone, Copy)]
struct KeptRows {
    renewed: Instant,
    /// The time of the first renewal of a client that reads.
    read_since: Option<Instant>,
}

impl KeptRows {
    fn is_over(&self, now: Instant) -> bool {
        let since = |time| now.saturating_duration_since(time);
        since(self.renewed) > KEPT_FOR || self.read_since.is_some_and(|time| since(time) > READ_MAX)
    }
}

impl KeptJobs {
    fn jobs(&self) -> MutexGuard<'_, HashMap<String, KeptRows>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the rows of a job that is queued now.
    pub(crate) fn keep(&self, job: &str, now: Instant) {
        let rows = KeptRows {
            renewed: now,
            read_since: None,
        };
        self.jobs().insert(job.to_owned(), rows);
    }

    /// Records that the client of a job asks for its status.
    pub(crate) fn ask(&self, job: &str, now: Instant) {
        if let Some(rows) = self.jobs().get_mut(job) {
            rows.renewed = now;
        }
    }

    /// Records that the client of a job still reads its rows. False when they are not kept any more.
    pub(crate) fn read(&self, job: &str, now: Instant) -> bool {
        let mut jobs = self.jobs();
        let Some(rows) = jobs.get_mut(job) else {
            return false;
        };
        rows.renewed = now;
        rows.read_since.get_or_insert(now);
        true
    }

    /// Whether the rows of a job are kept.
    pub(crate) fn contains(&self, job: &str) -> bool {
        self.jobs().contains_key(job)
    }

    /// Forgets a job whose rows are removed. False when they are not kept.
    pub(crate) fn forget(&self, job: &str) -> bool {
        self.jobs().remove(job).is_some()
    }

    /// Forgets the jobs whose rows are kept no longer, and returns them.
    pub(crate) fn take_expired(&self, now: Instant) -> Vec<String> {
        let mut jobs = self.jobs();
        let mut expired: Vec<_> = jobs
            .iter()
            .filter(|(_, rows)| rows.is_over(now))
            .map(|(job, _)| job.clone())
            .collect();
        let too_many = jobs
            .len()
            .saturating_sub(expired.len())
            .saturating_sub(JOBS_MAX);
        if too_many > 0 {
            let others = jobs.iter().filter(|(_, rows)| !rows.is_over(now));
            let mut others: Vec<_> = others.map(|(job, rows)| (rows.renewed, job)).collect();
            others.sort_unstable();
            let oldest = others.into_iter().take(too_many);
            expired.extend(oldest.map(|(_, job)| job.clone()));
        }
        for job in &expired {
            jobs.remove(job);
        }
        expired
    }
}

/// The time for which the rows of a job are kept without a renewal.
pub(crate) const KEPT_FOR: Duration = Duration::from_secs(300);
/// The interval of the renewals of a client that reads.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(60);
/// The time for which a client may read the rows of a job.
const READ_MAX: Duration = Duration::from_secs(24 * 3600);
/// The maximum number of jobs whose rows are kept.
const JOBS_MAX: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of a client that read for longer than five minutes were removed.
    #[test]
    fn rows_are_kept_while_their_client_reads() {
        let jobs = KeptJobs::default();
        let start = Instant::now();
        for job in ["read", "asked", "abandoned", "fetched"] {
            jobs.keep(job, start);
        }
        assert!(jobs.forget("fetched") && !jobs.forget("fetched"));
        assert!(!jobs.read("fetched", start) && !jobs.read("unknown", start));
        let mut now = start;
        for _ in 0..10 {
            now += RENEW_EVERY;
            assert!(jobs.read("read", now));
            jobs.ask("asked", now);
        }
        assert_eq!(jobs.take_expired(now), ["abandoned"]);
        assert!(jobs.contains("read") && jobs.contains("asked"));
        now += KEPT_FOR;
        assert!(jobs.take_expired(now).is_empty());
        assert!(jobs.read("read", now));
        now += Duration::from_secs(1);
        assert_eq!(jobs.take_expired(now), ["asked"]);
        // A client that renews for ever does not keep them for ever.
        while now + RENEW_EVERY < start + READ_MAX {
            assert!(jobs.read("read", now));
            now += RENEW_EVERY;
        }
        assert!(jobs.take_expired(now).is_empty());
        now += 3 * RENEW_EVERY;
        assert!(jobs.read("read", now));
        assert_eq!(jobs.take_expired(now), ["read"]);
        assert!(!jobs.contains("read"));
    }

    #[test]
    fn the_number_of_jobs_is_limited() {
        let jobs = KeptJobs::default();
        let start = Instant::now();
        for number in 0..=JOBS_MAX {
            let later = u64::try_from(number).unwrap();
            jobs.keep(&number.to_string(), start + Duration::from_nanos(later));
        }
        assert_eq!(jobs.take_expired(start), ["0"]);
        assert!(jobs.take_expired(start).is_empty());
        assert_eq!(jobs.jobs().len(), JOBS_MAX);
    }
}
