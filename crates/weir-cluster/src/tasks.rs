//! The tasks of an executor that wait for a place or run. Ballista's executor can cancel a task only while it runs: one that waits, or
//! whose job has ended before it arrives, would run to its end.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ballista_core::error::BallistaError;
use ballista_core::serde::scheduler::TaskKey;
use tokio::sync::oneshot;

/// The tasks of an executor that have not ended.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<KnownTasks>>);

#[derive(Default)]
struct KnownTasks {
    /// The tasks by the number of their arrival. A stage that is repeated has tasks of the same keys.
    taken: HashMap<u64, (TaskKey, oneshot::Sender<BallistaError>)>,
    arrivals: u64,
    /// The jobs that have ended lately, the oldest first.
    ended: VecDeque<String>,
}

/// A task that waits or runs, until this is dropped.
pub(crate) struct TakenTask {
    tasks: Tasks,
    number: u64,
    cancelled: oneshot::Receiver<BallistaError>,
}

impl Tasks {
    fn known(&self) -> MutexGuard<'_, KnownTasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task that has arrived.
    ///
    /// # Errors
    /// When its job has ended.
    pub(crate) fn take(&self, key: TaskKey) -> Result<TakenTask, BallistaError> {
        let mut known = self.known();
        if known.ended.iter().any(|job| *job == key.job_id.as_str()) {
            return Err(job_has_ended());
        }
        let (cancel, cancelled) = oneshot::channel();
        let number = known.arrivals;
        known.arrivals += 1;
        known.taken.insert(number, (key, cancel));
        Ok(TakenTask {
            tasks: self.clone(),
            number,
            cancelled,
        })
    }

    /// The jobs of the tasks that wait or run.
    pub(crate) fn jobs(&self) -> BTreeSet<String> {
        let known = self.known();
        let jobs = known.taken.values();
        jobs.map(|(key, _)| key.job_id.to_string()).collect()
    }

    /// Cancels a task.
    pub(crate) fn cancel(&self, key: &TaskKey) {
        self.cancel_each(|of| (of == key).then_some(BallistaError::Cancelled));
    }

    /// Cancels the tasks of a job, and rejects those that are still to arrive.
    pub(crate) fn end_job(&self, job: &str) {
        let mut known = self.known();
        if !known.ended.iter().any(|ended| ended == job) {
            known.ended.push_back(job.to_owned());
        }
        if known.ended.len() > ENDED_MAX {
            known.ended.pop_front();
        }
        drop(known);
        self.cancel_each(|of| (of.job_id.as_str() == job).then(job_has_ended));
    }

    fn cancel_each(&self, why: impl Fn(&TaskKey) -> Option<BallistaError>) {
        let mut known = self.known();
        let cancelled: Vec<_> = known
            .taken
            .iter()
            .filter_map(|(number, (key, _))| Some((*number, why(key)?)))
            .collect();
        for (number, why) in cancelled {
            if let Some((_, cancel)) = known.taken.remove(&number) {
                // The receiver is dropped when the task ends meanwhile.
                let _ = cancel.send(why);
            }
        }
    }
}

impl TakenTask {
    /// Waits until the task is cancelled, and returns the reason. Not to be called again after that.
    pub(crate) async fn cancelled(&mut self) -> BallistaError {
        (&mut self.cancelled)
            .await
            .unwrap_or(BallistaError::Cancelled)
    }
}

impl Drop for TakenTask {
    fn drop(&mut self) {
        self.tasks.known().taken.remove(&self.number);
    }
}

fn job_has_ended() -> BallistaError {
    BallistaError::General("the job of the task has ended".to_owned())
}

/// The maximum number of ended jobs whose tasks are rejected. A task arrives within seconds, or not at all.
const ENDED_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn key(job: &str, task_id: usize) -> TaskKey {
        TaskKey {
            job_id: job.to_owned().into(),
            stage_id: 1,
            task_id,
        }
    }

    fn reason(task: &mut TakenTask) -> Option<String> {
        let cancelled = task.cancelled().now_or_never();
        cancelled.map(|why| why.to_string())
    }

    #[test]
    fn tasks_are_cancelled_one_by_one_or_with_their_job() {
        let tasks = Tasks::default();
        let mut first = tasks.take(key("job", 1)).unwrap();
        let mut again = tasks.take(key("job", 1)).unwrap();
        let mut second = tasks.take(key("job", 2)).unwrap();
        let mut other = tasks.take(key("other", 1)).unwrap();
        tasks.cancel(&key("job", 1));
        assert!(reason(&mut first).is_some() && reason(&mut again).is_some());
        assert_eq!(reason(&mut second), None);
        tasks.end_job("job");
        let why = reason(&mut second).unwrap();
        assert!(why.contains("has ended"), "{why}");
        // The message with a task may arrive behind the one that ends its job.
        assert!(tasks.take(key("job", 3)).is_err());
        assert_eq!(reason(&mut other), None);
        drop(other);
        assert!(tasks.known().taken.is_empty());
        for number in 0..=ENDED_MAX {
            tasks.end_job(&number.to_string());
        }
        assert_eq!(tasks.known().ended.len(), ENDED_MAX);
        assert!(tasks.take(key("job", 4)).is_ok());
    }
}
