//! The executors that are lost while they run tasks of a job.
//!
//! The tasks of an executor that is lost are given to the others. A task that ends the process of its executor, by the memory that it
//! takes for instance, would end all executors of a cluster, one after the other. So a job fails once it has lost [`LOST_MAX`] of them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ballista_core::serde::protobuf::{MultiTaskDefinition, TaskStatus};

/// The running tasks of jobs, and the number of executors that each job has lost.
#[derive(Clone, Default)]
pub(crate) struct Losses(Arc<Mutex<HashMap<String, JobLosses>>>);

/// A task that an executor runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunningTask {
    job: String,
    stage: u32,
    number: u32,
}

impl RunningTask {
    /// The tasks of stages that are sent to an executor.
    pub(crate) fn sent(tasks: &[MultiTaskDefinition]) -> Vec<Self> {
        let of_stage = |of: &MultiTaskDefinition| -> Vec<Self> {
            let ids = of.task_ids.iter();
            ids.map(|task| Self {
                job: of.job_id.clone(),
                stage: of.stage_id,
                number: task.task_id,
            })
            .collect()
        };
        tasks.iter().flat_map(of_stage).collect()
    }

    /// The tasks whose ends an executor reports.
    pub(crate) fn reported(statuses: &[TaskStatus]) -> Vec<Self> {
        let of_status = |of: &TaskStatus| Self {
            job: of.job_id.clone(),
            stage: of.stage_id,
            number: of.task_id,
        };
        statuses.iter().map(of_status).collect()
    }
}

#[derive(Default)]
struct JobLosses {
    /// The stages and numbers of the tasks that an executor was sent and has not reported, by the ID of the executor.
    running: HashMap<String, HashSet<(u32, u32)>>,
    lost: usize,
}

impl Losses {
    fn jobs(&self) -> MutexGuard<'_, HashMap<String, JobLosses>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that tasks are sent to an executor.
    pub(crate) fn launch(&self, executor: &str, tasks: &[RunningTask]) {
        let mut jobs = self.jobs();
        for task in tasks {
            let job = jobs.entry(task.job.clone()).or_default();
            let running = job.running.entry(executor.to_owned()).or_default();
            running.insert((task.stage, task.number));
        }
    }

    /// Records that an executor has ended tasks, or has not taken them.
    pub(crate) fn end(&self, executor: &str, tasks: &[RunningTask]) {
        let mut jobs = self.jobs();
        for task in tasks {
            let Some(job) = jobs.get_mut(&task.job) else {
                continue;
            };
            let Some(running) = job.running.get_mut(executor) else {
                continue;
            };
            running.remove(&(task.stage, task.number));
            if running.is_empty() {
                job.running.remove(executor);
            }
        }
    }

    /// Records that an executor ends because it was asked to: no job loses it.
    pub(crate) fn leave(&self, executor: &str) {
        for job in self.jobs().values_mut() {
            job.running.remove(executor);
        }
    }

    /// The executors that run tasks of a job, as far as is known.
    pub(crate) fn executors(&self, job: &str) -> Vec<String> {
        let jobs = self.jobs();
        let of_job = jobs.get(job);
        of_job.map_or_else(Vec::new, |of| of.running.keys().cloned().collect())
    }

    /// Records that executors are gone while they ran tasks of a job. True when the job has lost too many.
    pub(crate) fn lose(&self, job: &str, gone: &[String]) -> bool {
        let mut jobs = self.jobs();
        let Some(of_job) = jobs.get_mut(job) else {
            return false;
        };
        for executor in gone {
            if of_job.running.remove(executor).is_some() {
                of_job.lost += 1;
            }
        }
        of_job.lost >= LOST_MAX
    }

    /// Forgets the jobs that do not run any more.
    pub(crate) fn retain(&self, runs: impl Fn(&str) -> bool) {
        self.jobs().retain(|job, _| runs(job));
    }
}

/// The number of executors that a job may not lose.
pub(crate) const LOST_MAX: usize = 2;

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::TaskId;

    use super::*;

    fn tasks(job: &str, numbers: &[u32]) -> Vec<RunningTask> {
        let task_id = |number: &u32| TaskId {
            task_id: *number,
            ..TaskId::default()
        };
        RunningTask::sent(&[MultiTaskDefinition {
            job_id: job.to_owned(),
            stage_id: 1,
            task_ids: numbers.iter().map(task_id).collect(),
            ..MultiTaskDefinition::default()
        }])
    }

    fn reported(job: &str, task_id: u32) -> Vec<RunningTask> {
        RunningTask::reported(&[TaskStatus {
            job_id: job.to_owned(),
            stage_id: 1,
            task_id,
            ..TaskStatus::default()
        }])
    }

    /// A task that took all memory of its executor ended one executor after the other.
    #[test]
    fn a_job_loses_two_executors_at_most() {
        let losses = Losses::default();
        let gone = |executor: &str| [executor.to_owned()];
        assert!(!losses.lose("job", &gone("first")));
        losses.launch("first", &tasks("job", &[0, 1]));
        losses.launch("first", &tasks("other", &[0]));
        assert_eq!(losses.executors("job"), ["first"]);
        assert!(!losses.lose("job", &gone("first")));
        // It is counted once, and its tasks are given to others.
        assert!(!losses.lose("job", &gone("first")));
        losses.launch("second", &tasks("job", &[0, 1]));
        assert!(losses.lose("job", &gone("second")));
        assert!(losses.lose("job", &[]));
        assert!(!losses.lose("other", &gone("first")));
        losses.retain(|job| job == "other");
        assert!(losses.executors("job").is_empty() && !losses.lose("job", &[]));
        assert_eq!(losses.jobs().len(), 1);
    }

    #[test]
    fn an_executor_without_tasks_of_a_job_is_no_loss() {
        let losses = Losses::default();
        for executor in ["ended", "stopped", "unreached"] {
            losses.launch(executor, &tasks("job", &[0, 1]));
        }
        losses.end("ended", &reported("job", 0));
        losses.end("ended", &reported("unknown", 0));
        assert_eq!(losses.executors("job").len(), 3);
        losses.end("ended", &reported("job", 1));
        losses.leave("stopped");
        losses.end("unreached", &tasks("job", &[0, 1]));
        assert!(losses.executors("job").is_empty());
        let all = ["ended", "stopped", "unreached"].map(str::to_owned);
        assert!(!losses.lose("job", &all));
    }
}
