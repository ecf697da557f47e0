//! The progress of jobs, which their clients show: what the pieces of their tasks have read.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::{NamedCount, TaskStatus, task_status};
use tonic::metadata::{MetadataMap, MetadataValue};
use weir_engine::Reports;

use crate::protocol::{PIECES, READERS, RECORDS, SOURCE_BYTES};

/// The progress of jobs.
#[derive(Default)]
pub(crate) struct Progress(Mutex<Jobs>);

/// The progress of jobs, with the order of their arrival.
#[derive(Default)]
struct Jobs {
    read: HashMap<String, Read>,
    order: VecDeque<String>,
    /// The number of reports of all jobs.
    reported: usize,
}

/// The progress of a job.
#[derive(Default)]
struct Read {
    reports: Reports,
    /// The number of reports.
    reported: usize,
    executors: BTreeSet<String>,
}

impl Jobs {
    /// Adds what a piece has read. Where there is too much, the oldest jobs are forgotten: a client that was lost does not remove its job.
    fn add(&mut self, job: &str, executor: &str, count: &NamedCount) {
        if !self.read.contains_key(job) {
            self.order.push_back(job.to_owned());
        }
        let of_job = self.read.entry(job.to_owned()).or_default();
        of_job.reports.take(&count.name, count.value);
        of_job.executors.insert(executor.to_owned());
        of_job.reported += 1;
        self.reported += 1;
        while self.order.len() > JOBS_MAX || self.reported > REPORTS_MAX {
            let Some(oldest) = self.order.pop_front() else {
                break;
            };
            self.remove(&oldest);
        }
    }

    /// Removes what is known of a job; false when it is nothing.
    fn remove(&mut self, job: &str) -> bool {
        let removed = self.read.remove(job);
        let reported = removed.as_ref().map_or(0, |of| of.reported);
        self.reported = self.reported.saturating_sub(reported);
        removed.is_some()
    }
}

impl Progress {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the progress that the pieces of a task report.
    pub(crate) fn take(&self, task: &TaskStatus, executor: &str) {
        if !matches!(task.status, Some(task_status::Status::Successful(_))) {
            return;
        }
        let mut jobs = self.jobs();
        let metrics = task.metrics.iter().flat_map(|set| &set.metrics);
        for metric in metrics {
            if let Some(Metric::Count(count)) = &metric.metric
                && Reports::is_of_progress(&count.name)
            {
                jobs.add(&task.job_id, executor, count);
            }
        }
    }

    /// Forgets a job.
    pub(crate) fn forget(&self, job: &str) {
        let mut jobs = self.jobs();
        if jobs.remove(job) {
            jobs.order.retain(|known| known != job);
        }
    }

    /// Adds the progress of a job to an answer.
    pub(crate) fn add_to(&self, metadata: &mut MetadataMap, job: &str) {
        let jobs = self.jobs();
        let Some(read) = jobs.read.get(job) else {
            return;
        };
        let progress = read.reports.progress();
        for (name, value) in [
            (PIECES, progress.pieces),
            (SOURCE_BYTES, progress.source_bytes),
            (RECORDS, progress.records),
            (READERS, read.executors.len() as u64),
        ] {
            metadata.insert(name, MetadataValue::from(value));
        }
    }
}

/// The maximum number of jobs with progress.
const JOBS_MAX: usize = 1_000;
/// The maximum number of reports of all jobs with progress. A job has two for each piece.
const REPORTS_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn count(piece: usize) -> NamedCount {
        NamedCount {
            name: format!("weir.0.{piece}.records"),
            value: 1,
        }
    }

    fn records(progress: &Progress, job: &str) -> Option<String> {
        let mut metadata = MetadataMap::new();
        progress.add_to(&mut metadata, job);
        let records = metadata.get(RECORDS)?;
        Some(records.to_str().unwrap().to_owned())
    }

    /// An executor that reported pieces without an end took the memory of its scheduler.
    #[test]
    fn the_progress_of_jobs_has_a_limit() {
        let progress = Progress::default();
        let add = |job: &str, piece: usize| progress.jobs().add(job, "executor", &count(piece));
        for piece in 0..3 {
            add("large", piece);
            add("small", 0);
        }
        assert_eq!(records(&progress, "large").as_deref(), Some("3"));
        assert_eq!(records(&progress, "small").as_deref(), Some("1"));
        assert_eq!(progress.jobs().reported, 6);
        progress.jobs().reported = REPORTS_MAX;
        add("new", 0);
        assert_eq!(records(&progress, "large"), None);
        assert_eq!(records(&progress, "small").as_deref(), Some("1"));
        progress.forget("small");
        progress.forget("unknown");
        assert_eq!(progress.jobs().reported, REPORTS_MAX - 5);
        progress.jobs().reported = 1;
        for number in 0..JOBS_MAX {
            add(&number.to_string(), 0);
        }
        assert_eq!(records(&progress, "new"), None);
        assert_eq!(progress.jobs().order.len(), JOBS_MAX);
        assert_eq!(progress.jobs().read.len(), JOBS_MAX);
    }
}
