//! The executors of a scheduler, how long ago each was heard of, and its free places.
//!
//! Ballista compares the times of heartbeats by the clock of the system. A clock that was set forward lost all executors at once, and failed
//! their jobs; after one that was set back, an executor that had ended was waited for. A scheduler that had stood still lost those
//! whose heartbeats waited to be read. Here the time since a heartbeat is that during which this process ran.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ballista_core::JobId;
use ballista_core::error::{BallistaError, Result};
use ballista_core::serde::protobuf::{AvailableVcores, ExecutorHeartbeat};
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata};
use ballista_scheduler::cluster::memory::InMemoryClusterState;
use ballista_scheduler::cluster::{BoundTask, ClusterState, ClusterStateEventStream, ExecutorSlot};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::task_manager::JobInfoCache;

use crate::clock::RunningTime;
use crate::turns::held_by_executors;
use crate::worker::now_ms;

/// The executors of a scheduler, in memory.
#[derive(Default)]
pub(crate) struct LiveExecutors {
    executors: InMemoryClusterState,
    last: Mutex<LastHeartbeats>,
}

/// When executors were heard of, by the time that has passed for this process.
#[derive(Default)]
struct LastHeartbeats {
    clock: RunningTime,
    executors: HashMap<String, Duration>,
}

/// The time since which there is no executor.
#[derive(Default)]
pub(crate) struct Absence(Option<Instant>);

impl Absence {
    /// The time for which there has been no executor; zero while there is one.
    pub(crate) fn read(&mut self, is_there_one: bool, now: Instant) -> Duration {
        if is_there_one {
            self.0 = None;
            return Duration::ZERO;
        }
        now.saturating_duration_since(*self.0.get_or_insert(now))
    }
}

impl LastHeartbeats {
    fn record(&mut self, executor: &str, now: Instant) {
        let passed = self.clock.read(now);
        self.executors.insert(executor.to_owned(), passed);
    }

    /// The heartbeat, as if it had been sent as long ago by the clock of the system as time has passed for this process.
    fn dated(
        &mut self,
        mut heartbeat: ExecutorHeartbeat,
        now: Instant,
        now_seconds: u64,
    ) -> ExecutorHeartbeat {
        let passed = self.clock.read(now);
        if let Some(heard) = self.executors.get(&heartbeat.executor_id) {
            let age = passed.saturating_sub(*heard).as_secs();
            heartbeat.timestamp = now_seconds.saturating_sub(age);
        }
        heartbeat
    }
}

impl LiveExecutors {
    fn last(&self) -> MutexGuard<'_, LastHeartbeats> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that there is room for an executor, or that it is known.
    fn check_room(&self, executor: &str) -> Result<()> {
        let last = self.last();
        if last.executors.len() < EXECUTORS_MAX || last.executors.contains_key(executor) {
            return Ok(());
        }
        Err(BallistaError::General(format!(
            "the scheduler has {EXECUTORS_MAX} executors, which is its limit"
        )))
    }

    /// The places that no task of these jobs holds, of these executors or of all. Ballista counts places when tasks begin and end: those
    /// of tasks whose stage is run again were never given back, and those of rejected tasks twice.
    async fn free_places(
        &self,
        jobs: &HashMap<JobId, JobInfoCache>,
        executors: Option<&HashSet<String>>,
    ) -> Vec<AvailableVcores> {
        let held = held_by_executors(jobs).await;
        let known = self.executors.registered_executor_metadata().await;
        let known = known.into_iter();
        known
            .filter(|of| executors.is_none_or(|executors| executors.contains(&of.id)))
            .map(|of| {
                let held = held.get(&of.id).copied().unwrap_or_default();
                AvailableVcores {
                    vcores: of.specification.vcores.saturating_sub(held),
                    executor_id: of.id,
                }
            })
            .collect()
    }
}

#[tonic::async_trait]
impl ClusterState for LiveExecutors {
    async fn bind_schedulable_tasks(
        &self,
        distribution: TaskDistributionPolicy,
        active_jobs: Arc<HashMap<JobId, JobInfoCache>>,
        executors: Option<HashSet<String>>,
    ) -> Result<Vec<BoundTask>> {
        if let TaskDistributionPolicy::Custom(policy) = &distribution {
            let mut free = self.free_places(&active_jobs, executors.as_ref()).await;
            let bound = policy.bind_tasks(free.iter_mut().collect(), active_jobs);
            return Ok(bound.await?);
        }
        self.executors
            .bind_schedulable_tasks(distribution, active_jobs, executors)
            .await
    }

    async fn unbind_tasks(&self, executor_slots: Vec<ExecutorSlot>) -> Result<()> {
        self.executors.unbind_tasks(executor_slots).await
    }

    async fn register_executor(
        &self,
        metadata: ExecutorMetadata,
        spec: ExecutorData,
    ) -> Result<()> {
        let id = metadata.id.clone();
        self.check_room(&id)?;
        // A registration that is refused is no sign of the executor that has this name.
        self.executors.register_executor(metadata, spec).await?;
        self.last().record(&id, Instant::now());
        Ok(())
    }

    async fn save_executor_metadata(&self, metadata: ExecutorMetadata) -> Result<()> {
        let id = metadata.id.clone();
        self.check_room(&id)?;
        self.executors.save_executor_metadata(metadata).await?;
        self.last().record(&id, Instant::now());
        Ok(())
    }

    async fn get_executor_metadata(&self, executor_id: &str) -> Result<ExecutorMetadata> {
        self.executors.get_executor_metadata(executor_id).await
    }

    async fn registered_executor_metadata(&self) -> Vec<ExecutorMetadata> {
        self.executors.registered_executor_metadata().await
    }

    async fn save_executor_heartbeat(&self, heartbeat: ExecutorHeartbeat) -> Result<()> {
        self.check_room(&heartbeat.executor_id)?;
        self.last().record(&heartbeat.executor_id, Instant::now());
        self.executors.save_executor_heartbeat(heartbeat).await
    }

    async fn remove_executor(&self, executor_id: &str) -> Result<()> {
        self.executors.remove_executor(executor_id).await?;
        self.last().executors.remove(executor_id);
        Ok(())
    }

    fn executor_heartbeats(&self) -> HashMap<String, ExecutorHeartbeat> {
        let heartbeats = self.executors.executor_heartbeats().into_iter();
        let (now, now_seconds) = (Instant::now(), now_ms() / 1_000);
        let mut last = self.last();
        heartbeats
            .map(|(id, heartbeat)| (id, last.dated(heartbeat, now, now_seconds)))
            .collect()
    }

    fn get_executor_heartbeat(&self, executor_id: &str) -> Option<ExecutorHeartbeat> {
        let heartbeat = self.executors.get_executor_heartbeat(executor_id)?;
        let (now, now_seconds) = (Instant::now(), now_ms() / 1_000);
        Some(self.last().dated(heartbeat, now, now_seconds))
    }

    async fn cluster_state_events(&self) -> Result<ClusterStateEventStream> {
        self.executors.cluster_state_events().await
    }
}

/// The maximum number of executors of a scheduler.
const EXECUTORS_MAX: usize = 4096;

#[cfg(test)]
mod tests {
    use ballista_core::serde::scheduler::{
        ExecutorOperatingSystemSpecification, ExecutorSpecification,
    };

    use super::*;
    use crate::clock::STEP_MAX;

    fn heartbeat(timestamp: u64) -> ExecutorHeartbeat {
        ExecutorHeartbeat {
            executor_id: "executor".to_owned(),
            timestamp,
            ..ExecutorHeartbeat::default()
        }
    }

    /// All executors were lost at once, with their jobs, when the clock was set forward; after it was set back, one that had ended
    /// was not lost for as long.
    #[test]
    fn the_age_of_a_heartbeat_does_not_depend_on_a_clock_that_is_set() {
        let mut last = LastHeartbeats::default();
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        last.record("executor", start);
        for now_seconds in [1_000_000, 1_003_600, 996_400] {
            let dated = last.dated(heartbeat(1_000_000), later(2), now_seconds);
            assert_eq!(dated.timestamp, now_seconds - 2);
        }
        for second in 3..=20 {
            let dated = last.dated(heartbeat(1_000_000), later(second), 996_400);
            assert_eq!(dated.timestamp, 996_400 - second);
        }
        last.record("executor", later(21));
        let dated = last.dated(heartbeat(0), later(22), 1_000_000);
        assert_eq!(dated.timestamp, 999_999);
        let of_another = ExecutorHeartbeat {
            executor_id: "unknown".to_owned(),
            ..heartbeat(7)
        };
        assert_eq!(last.dated(of_another, later(22), 1_000_000).timestamp, 7);
    }

    /// A scheduler that had stood still lost executors whose heartbeats waited to be read.
    #[test]
    fn time_during_which_a_scheduler_stood_still_does_not_count() {
        let mut last = LastHeartbeats::default();
        let start = Instant::now();
        last.record("executor", start);
        let dated = last.dated(heartbeat(0), start + Duration::from_secs(600), 1_000_000);
        assert_eq!(dated.timestamp, 1_000_000 - STEP_MAX.as_secs());
        // An earlier time is not read again.
        let dated = last.dated(heartbeat(0), start, 1_000_000);
        assert_eq!(dated.timestamp, 1_000_000 - STEP_MAX.as_secs());
    }

    #[test]
    fn the_time_without_an_executor_begins_anew_behind_one() {
        let mut absence = Absence::default();
        let start = Instant::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        for (is_there_one, second, expected) in [
            (false, 0, 0),
            (false, 7, 7),
            (true, 8, 0),
            (true, 9, 0),
            (false, 20, 0),
            (false, 23, 3),
        ] {
            let lasts = absence.read(is_there_one, later(second));
            assert_eq!(lasts, Duration::from_secs(expected), "{second}");
        }
    }

    #[tokio::test]
    async fn executors_that_are_removed_are_forgotten() {
        let state = LiveExecutors::default();
        let beat = heartbeat(7);
        state.save_executor_heartbeat(beat).await.unwrap();
        let known = state.get_executor_heartbeat("executor").unwrap();
        assert!(known.timestamp > 7 && state.executor_heartbeats().len() == 1);
        state.remove_executor("executor").await.unwrap();
        assert!(state.get_executor_heartbeat("executor").is_none());
        assert!(state.last().executors.is_empty());
    }

    /// A peer that registered executors under new names took memory without a limit, and one that registered an executor again kept it among
    /// those that are alive.
    #[tokio::test]
    async fn executors_have_a_limit_and_each_its_own_name() {
        let state = LiveExecutors::default();
        let register = async || {
            let metadata = ExecutorMetadata {
                id: "executor".to_owned(),
                host: "127.0.0.1".to_owned(),
                port: 1,
                grpc_port: 1,
                specification: ExecutorSpecification::default(),
                os_info: ExecutorOperatingSystemSpecification::default(),
            };
            let places = ExecutorData {
                executor_id: "executor".to_owned(),
                total_vcores: 1,
                available_vcores: 1,
            };
            state.register_executor(metadata, places).await
        };
        register().await.unwrap();
        let heard = Duration::from_secs(77);
        let known = |time| state.last().executors.insert("executor".to_owned(), time);
        known(heard);
        assert!(register().await.is_err());
        assert_eq!(known(heard), Some(heard));
        let beat = async |number: usize| {
            let beat = ExecutorHeartbeat {
                executor_id: number.to_string(),
                ..heartbeat(7)
            };
            state.save_executor_heartbeat(beat).await
        };
        for number in 1..EXECUTORS_MAX {
            beat(number).await.unwrap();
        }
        let refused = beat(0).await.unwrap_err().to_string();
        assert!(refused.contains("4096 executors"), "{refused}");
        beat(1).await.unwrap();
        state.remove_executor("1").await.unwrap();
        beat(0).await.unwrap();
    }
}
