//! Hands tasks out to executors, in messages that they take.
//!
//! Ballista sends all tasks for an executor in one message, and removes an executor that does not take it. Each task has the whole plan of
//! its stage: a statement with a long list had more than a message holds, and removed one executor after the other for as long as its
//! client waited.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::MultiTaskDefinition;
use ballista_core::serde::scheduler::ExecutorMetadata;
use ballista_scheduler::state::executor_manager::ExecutorManager;
use ballista_scheduler::state::task_manager::TaskLauncher;
use prost::Message as _;

use crate::check::Refused;
use crate::losses::{LOST_MAX, Losses, RunningTask};
use crate::protocol::MESSAGE_BYTES_MAX;

/// The reasons for which tasks were not launched lately, by their jobs. Ballista has no place for a reason: an executor writes it
/// behind the name of the job ([`rejection`]).
#[derive(Clone, Default)]
pub(crate) struct Rejections(Arc<Mutex<VecDeque<(String, String)>>>);

impl Rejections {
    fn known(&self) -> MutexGuard<'_, VecDeque<(String, String)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the first reason for which an executor rejects tasks of a job.
    fn note(&self, job: &str, why: &str) {
        if !why.is_empty() {
            // An executor may send any text.
            let why = Refused::malformed(why);
            let message = format!("an executor rejects the tasks of the statement: {why}");
            self.insert(job, message);
        }
    }

    /// Notes that a job has lost as many executors as it may.
    fn note_losses(&self, job: &str) {
        let message = format!(
            "{LOST_MAX} executors were lost while they ran its tasks, and it is not run again: it may take more memory than they have"
        );
        self.insert(job, message);
    }

    fn insert(&self, job: &str, message: String) {
        let mut known = self.known();
        if known.iter().any(|(of, _)| of == job) {
            return;
        }
        known.push_back((job.to_owned(), message));
        if known.len() > REJECTIONS_MAX {
            known.pop_front();
        }
    }

    /// The reason for which tasks of a job were not launched, as an error message.
    pub(crate) fn reason(&self, job: &str) -> Option<String> {
        let known = self.known();
        let of_job = known.iter().find(|(of, _)| of == job);
        of_job.map(|(_, why)| why.clone())
    }
}

/// A job whose tasks an executor rejects, with the reason.
pub(crate) fn rejection(job: &str, why: &Refused) -> String {
    format!("{job} {why}")
}

/// Sends the tasks for an executor in as many messages as it takes, but not those of a job that has lost too many executors.
pub(crate) struct BoundedLauncher {
    rejections: Rejections,
    losses: Losses,
}

impl BoundedLauncher {
    pub(crate) const fn new(rejections: Rejections, losses: Losses) -> Self {
        Self { rejections, losses }
    }

    /// The jobs of tasks that have lost too many executors.
    async fn failing(
        &self,
        tasks: &[MultiTaskDefinition],
        executor_manager: &ExecutorManager,
    ) -> HashSet<JobId> {
        let jobs: HashSet<&str> = tasks.iter().map(|task| task.job_id.as_str()).collect();
        let mut failing = HashSet::new();
        for job in jobs {
            let mut gone = Vec::new();
            for executor in self.losses.executors(job) {
                // An error says that the executor is not registered.
                let known = executor_manager.get_executor_metadata(&executor).await;
                if known.is_err() {
                    gone.push(executor);
                }
            }
            if self.losses.lose(job, &gone) {
                self.rejections.note_losses(job);
                failing.insert(JobId::from(job.to_owned()));
            }
        }
        failing
    }
}

#[tonic::async_trait]
impl TaskLauncher for BoundedLauncher {
    /// Sends tasks, and returns the jobs whose tasks are rejected. These jobs fail.
    async fn launch_tasks(
        &self,
        executor: &ExecutorMetadata,
        mut tasks: Vec<MultiTaskDefinition>,
        executor_manager: &ExecutorManager,
    ) -> Result<HashSet<JobId>, BallistaError> {
        let failing = self.failing(&tasks, executor_manager).await;
        tasks.retain(|task| !failing.contains(&JobId::from(task.job_id.clone())));
        let (messages, mut rejected) = messages(tasks);
        for job in &rejected {
            self.rejections.note(job.as_str(), TOO_LARGE);
        }
        rejected.extend(failing);
        for tasks in messages {
            let running = RunningTask::sent(&tasks);
            self.losses.launch(&executor.id, &running);
            let sent: HashSet<String> = tasks.iter().map(|task| task.job_id.clone()).collect();
            // An executor reports to the scheduler that it was started for.
            let scheduler = String::new();
            let failed = executor_manager.launch_multi_task(&executor.id, tasks, scheduler);
            // An executor that is gone already has not taken them.
            let failed = failed
                .await
                .inspect_err(|_| self.losses.end(&executor.id, &running));
            for entry in failed? {
                let (job, why) = entry
                    .as_str()
                    .split_once(' ')
                    .unwrap_or((entry.as_str(), ""));
                // It rejects no other jobs than those of its tasks.
                if sent.contains(job) {
                    self.rejections.note(job, why);
                    rejected.insert(JobId::from(job.to_owned()));
                }
            }
        }
        Ok(rejected)
    }
}

/// Tasks in messages that executors take, and the jobs whose tasks are too large for a message.
fn messages(tasks: Vec<MultiTaskDefinition>) -> (Vec<Vec<MultiTaskDefinition>>, HashSet<JobId>) {
    let mut messages: Vec<Vec<MultiTaskDefinition>> = Vec::new();
    let mut too_large = HashSet::new();
    let mut bytes = 0;
    for task in tasks {
        let size = task.encoded_len().saturating_add(FIELD_BYTES_MAX);
        if size > TASKS_BYTES_MAX {
            too_large.insert(JobId::from(task.job_id));
            continue;
        }
        match messages.last_mut() {
            Some(message) if bytes + size <= TASKS_BYTES_MAX => {
                message.push(task);
                bytes += size;
            }
            _ => {
                messages.push(vec![task]);
                bytes = size;
            }
        }
    }
    (messages, too_large)
}

/// The size of the tasks of a message, at most; its other fields are short.
const TASKS_BYTES_MAX: usize = MESSAGE_BYTES_MAX - 1024;
/// The size of the tag and the length of a field, at most.
const FIELD_BYTES_MAX: usize = 16;
/// The number of jobs whose reasons are kept. Their clients ask several times a second.
const REJECTIONS_MAX: usize = 1_000;
const TOO_LARGE: &str = "a task is larger than a message, which has 16 MiB at most";

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::LaunchMultiTaskParams;

    use super::*;

    #[test]
    fn reasons_of_rejections_are_bounded() {
        let rejections = Rejections::default();
        rejections.note("job", "");
        assert_eq!(rejections.reason("job"), None);
        rejections.note("job", &format!("deep\n{}", "x".repeat(10_000)));
        rejections.note("job", "another");
        rejections.note_losses("job");
        let why = rejections.reason("job").unwrap();
        assert!(
            why.contains("rejects the tasks of the statement: deep x") && why.len() < 1_000,
            "{why}"
        );
        for number in 0..REJECTIONS_MAX {
            rejections.note(&number.to_string(), "deep");
        }
        assert_eq!(rejections.reason("job"), None);
        assert_eq!(rejections.known().len(), REJECTIONS_MAX);
    }

    /// Four tasks of a plan of five megabytes were a message of twenty.
    #[test]
    fn tasks_are_sent_in_messages_that_executors_take() {
        let task = |job: &str, bytes: usize| MultiTaskDefinition {
            job_id: job.to_owned(),
            plan: vec![0; bytes],
            ..MultiTaskDefinition::default()
        };
        let (sent, too_large) = messages(vec![
            task("first", 5 << 20),
            task("first", 5 << 20),
            task("large", MESSAGE_BYTES_MAX),
            task("first", 5 << 20),
            task("first", 5 << 20),
            task("second", TASKS_BYTES_MAX - 64),
            task("third", 100),
            task("third", 100),
        ]);
        assert_eq!(too_large, HashSet::from([JobId::from("large".to_owned())]));
        assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1, 1, 2]);
        for multi_tasks in sent {
            let message = LaunchMultiTaskParams {
                multi_tasks,
                scheduler_endpoint: String::new(),
            };
            assert!(message.encoded_len() <= MESSAGE_BYTES_MAX);
        }
        assert!(messages(Vec::new()).0.is_empty());
    }
}
