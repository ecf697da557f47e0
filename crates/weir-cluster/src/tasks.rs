//! The tasks of an executor that wait for a place or run. Ballista's executor can cancel a task only while it runs: one that waits, or
//! whose job has ended before it arrives, would run to its end.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ballista_core::error::BallistaError;
use ballista_core::serde::scheduler::TaskKey;
use tokio::sync::{oneshot, watch};

/// The tasks of an executor that have not ended.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<KnownTasks>>);

#[derive(Default)]
struct KnownTasks {
    /// The tasks by their keys. A stage that is repeated has several tasks of the same key.
    taken: HashMap<TaskKey, Vec<KnownTask>>,
    arrivals: u64,
    /// The jobs that have ended lately, the oldest first.
    ended: VecDeque<String>,
}

struct KnownTask {
    /// The number of its arrival.
    number: u64,
    /// Cancels it, once.
    cancel: Option<oneshot::Sender<BallistaError>>,
    /// Its sender is dropped when it has ended.
    ended: watch::Receiver<()>,
}

/// A task that waits or runs, until this is dropped.
pub(crate) struct TakenTask {
    tasks: Tasks,
    key: TaskKey,
    number: u64,
    cancelled: oneshot::Receiver<BallistaError>,
    /// The ends of the earlier tasks of the same key, which write the same files.
    earlier: Vec<watch::Receiver<()>>,
    _ends: watch::Sender<()>,
}

impl Tasks {
    fn known(&self) -> MutexGuard<'_, KnownTasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task that has arrived, and cancels those of the same key: their stage is run again.
    ///
    /// # Errors
    /// When its job has ended, or its stage was repeated too often while its earlier tasks go on.
    pub(crate) fn take(&self, key: TaskKey) -> Result<TakenTask, BallistaError> {
        let mut known = self.known();
        if known.ended.iter().any(|job| *job == key.job_id.as_str()) {
            return Err(job_has_ended());
        }
        let number = known.arrivals;
        known.arrivals += 1;
        let of_key = known.taken.entry(key.clone()).or_default();
        // Each task waits for all earlier ones of its key.
        if of_key.len() >= REPEATED_MAX {
            return Err(BallistaError::General(format!(
                "{REPEATED_MAX} tasks with the same number are queued or run already"
            )));
        }
        let mut earlier = Vec::new();
        for of in &mut *of_key {
            of.cancel(BallistaError::Cancelled);
            earlier.push(of.ended.clone());
        }
        let (cancel, cancelled) = oneshot::channel();
        let (ends, ended) = watch::channel(());
        of_key.push(KnownTask {
            number,
            cancel: Some(cancel),
            ended,
        });
        Ok(TakenTask {
            tasks: self.clone(),
            key,
            number,
            cancelled,
            earlier,
            _ends: ends,
        })
    }

    /// The jobs of the tasks that wait or run.
    pub(crate) fn jobs(&self) -> BTreeSet<String> {
        let known = self.known();
        let keys = known.taken.keys();
        keys.map(|key| key.job_id.to_string()).collect()
    }

    /// Cancels a task. A message names thousands, so that the others are not walked through.
    pub(crate) fn cancel(&self, key: &TaskKey) {
        for task in self.known().taken.get_mut(key).into_iter().flatten() {
            task.cancel(BallistaError::Cancelled);
        }
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
        for (key, tasks) in &mut known.taken {
            if key.job_id.as_str() == job {
                for task in tasks {
                    task.cancel(job_has_ended());
                }
            }
        }
    }
}

impl KnownTask {
    fn cancel(&mut self, why: BallistaError) {
        if let Some(cancel) = self.cancel.take() {
            // The receiver is dropped when the task ends meanwhile.
            let _ = cancel.send(why);
        }
    }
}

impl TakenTask {
    /// Takes what is ready when the earlier tasks of the same key have ended.
    pub(crate) fn take_earlier(&mut self) -> impl Future<Output = ()> + use<> {
        let earlier = std::mem::take(&mut self.earlier);
        async move {
            for mut ended in earlier {
                // An error says that the sender is gone.
                let _ = ended.changed().await;
            }
        }
    }

    /// Waits until the task is cancelled, and returns the reason. Not to be called again after that.
    pub(crate) async fn cancelled(&mut self) -> BallistaError {
        (&mut self.cancelled)
            .await
            .unwrap_or(BallistaError::Cancelled)
    }
}

impl Drop for TakenTask {
    fn drop(&mut self) {
        let mut known = self.tasks.known();
        if let Some(of_key) = known.taken.get_mut(&self.key) {
            of_key.retain(|task| task.number != self.number);
            if of_key.is_empty() {
                known.taken.remove(&self.key);
            }
        }
    }
}

fn job_has_ended() -> BallistaError {
    BallistaError::General("the job of the task has ended".to_owned())
}

/// The maximum number of ended jobs whose tasks are rejected. A task arrives within seconds, or not at all.
const ENDED_MAX: usize = 1_000;
/// The maximum number of tasks of one key. Ballista repeats a stage a few times.
const REPEATED_MAX: usize = 64;

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

    /// A stage that was run again has tasks of the same names, which would write to files that the earlier ones still write to.
    #[test]
    fn a_task_of_a_stage_that_is_run_again_waits_for_the_earlier_one() {
        let tasks = Tasks::default();
        let mut first = tasks.take(key("job", 1)).unwrap();
        let mut other = tasks.take(key("job", 2)).unwrap();
        assert!(first.take_earlier().now_or_never().is_some());
        let mut second = tasks.take(key("job", 1)).unwrap();
        let mut third = tasks.take(key("job", 1)).unwrap();
        assert!(reason(&mut first).is_some() && reason(&mut second).is_some());
        assert!(reason(&mut other).is_none() && reason(&mut third).is_none());
        let (mut of_second, mut of_third) = (
            Box::pin(second.take_earlier()),
            Box::pin(third.take_earlier()),
        );
        assert!((&mut of_second).now_or_never().is_none());
        drop(first);
        assert!((&mut of_second).now_or_never().is_some());
        assert!((&mut of_third).now_or_never().is_none());
        drop(second);
        assert!((&mut of_third).now_or_never().is_some());
    }

    /// Ten thousand tasks of one number held 50,000,000 ends of each other.
    #[test]
    fn tasks_with_the_same_number_have_a_limit() {
        let tasks = Tasks::default();
        let take = || tasks.take(key("job", 1));
        let mut taken: Vec<_> = (0..REPEATED_MAX).map(|_| take().unwrap()).collect();
        let refused = take().err().unwrap().to_string();
        assert!(refused.contains("the same number"), "{refused}");
        let other = tasks.take(key("job", 2)).unwrap();
        taken.pop();
        let last = take().unwrap();
        assert_eq!(last.earlier.len(), REPEATED_MAX - 1);
        drop((taken, last, other));
        assert!(tasks.known().taken.is_empty());
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
        drop((first, again, second, other));
        assert!(tasks.known().taken.is_empty());
        for number in 0..=ENDED_MAX {
            tasks.end_job(&number.to_string());
        }
        assert_eq!(tasks.known().ended.len(), ENDED_MAX);
        assert!(tasks.take(key("job", 4)).is_ok());
    }
}
