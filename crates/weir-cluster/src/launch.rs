//! Hands tasks out to executors, in messages that they take.
//!
//! Ballista sends all tasks for an executor in one message, and removes an executor that does not take it. Each task has the whole plan of
//! its stage: a statement with a long list had more than a message holds, and removed one executor after the other for as long as its
//! client waited.

use std::collections::HashSet;

use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::MultiTaskDefinition;
use ballista_core::serde::scheduler::ExecutorMetadata;
use ballista_scheduler::state::executor_manager::ExecutorManager;
use ballista_scheduler::state::task_manager::TaskLauncher;
use prost::Message as _;

use crate::client::MESSAGE_BYTES_MAX;

/// Sends the tasks for an executor in as many messages as it takes.
pub(crate) struct BoundedLauncher;

#[tonic::async_trait]
impl TaskLauncher for BoundedLauncher {
    /// Sends tasks, and returns the jobs whose tasks are rejected. These jobs fail.
    async fn launch_tasks(
        &self,
        executor: &ExecutorMetadata,
        tasks: Vec<MultiTaskDefinition>,
        executor_manager: &ExecutorManager,
    ) -> Result<HashSet<JobId>, BallistaError> {
        let (messages, mut rejected) = messages(tasks);
        for tasks in messages {
            // An executor reports to the scheduler that it was started for.
            let scheduler = String::new();
            let failed = executor_manager.launch_multi_task(&executor.id, tasks, scheduler);
            rejected.extend(failed.await?);
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

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::LaunchMultiTaskParams;

    use super::*;

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
