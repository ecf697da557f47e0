//! The progress of jobs, which their clients show: what the pieces of their tasks have read.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::{TaskStatus, task_status};
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
}

/// The progress of a job.
#[derive(Default)]
struct Read {
    reports: Reports,
    executors: BTreeSet<String>,
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
        let Jobs { read, order } = &mut *jobs;
        let metrics = task.metrics.iter().flat_map(|set| &set.metrics);
        for metric in metrics {
            let Some(Metric::Count(count)) = &metric.metric else {
                continue;
            };
            if !Reports::is_of_progress(&count.name) {
                continue;
            }
            if !read.contains_key(&task.job_id) {
                order.push_back(task.job_id.clone());
                // A client that was lost does not remove its job.
                if order.len() > JOBS_MAX
                    && let Some(oldest) = order.pop_front()
                {
                    read.remove(&oldest);
                }
            }
            let of_job = read.entry(task.job_id.clone()).or_default();
            of_job.reports.take(&count.name, count.value);
            of_job.executors.insert(executor.to_owned());
        }
    }

    /// Forgets a job.
    pub(crate) fn forget(&self, job: &str) {
        let mut jobs = self.jobs();
        if jobs.read.remove(job).is_some() {
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
