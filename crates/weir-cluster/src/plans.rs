//! The plans of jobs that a scheduler holds. Ballista holds the plan of each job until some minutes after its end, and any number of
//! them: here they have a limit, one host has half of it at most, and one client so many jobs. The plan of a job whose rows its client
//! has fetched goes at once. A job whose client does not ask for its status any more is abandoned: a client that was killed cannot
//! cancel it. Where no executor is left, no job goes on.

use std::collections::VecDeque;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ballista_core::JobId;
use ballista_core::serde::protobuf::{JobStatus, job_status};
use ballista_scheduler::cluster::JobState;

use crate::check::Refused;
use crate::turns::Submitter;

/// The plans of jobs that are queued, run, or have ended lately.
pub(crate) struct Plans {
    jobs: Arc<dyn JobState>,
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    /// The places of plans that are not queued yet.
    reserved: Vec<Place>,
    /// The plans in the order of their arrival.
    plans: VecDeque<HeldPlan>,
}

/// What a plan takes, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    host: Option<IpAddr>,
    client: String,
    bytes: usize,
}

struct HeldPlan {
    job: JobId,
    place: Place,
    /// True when the client no longer needs the plan.
    is_forgotten: bool,
    /// The time when the job was queued, and when its client asked for the status last. The clock of the system may be set meanwhile.
    queued: Instant,
    asked: Instant,
    cancelled: Option<Cancelled>,
}

/// Why a job is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    /// Its client has cancelled it.
    Client,
    /// Its client did not ask for its status.
    Abandoned,
    /// There was no executor for so long.
    NoExecutor(Duration),
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client => f.write_str("its client has cancelled it"),
            Self::Abandoned => write!(
                f,
                "its client did not ask for its status for {} s, and it was cancelled",
                ABANDONED_AFTER.as_secs()
            ),
            Self::NoExecutor(time) => write!(
                f,
                "no executor is left, and none has registered for {} s: weir cluster executor starts one",
                time.as_secs()
            ),
        }
    }
}

/// The place of a plan that is not queued yet. The place is given back when this is dropped.
pub(crate) struct Reserved {
    held: Arc<Mutex<Held>>,
    place: Place,
}

/// The state of a job, as far as its plan is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// The job is queued or runs.
    Needed,
    /// The job has ended, and its client may ask for its status.
    Ended,
    /// Ballista has removed it, or it was never planned.
    Gone,
}

fn lock(held: &Mutex<Held>) -> MutexGuard<'_, Held> {
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Held {
    /// The limit that another plan would exceed.
    ///
    /// # Errors
    /// When there is one.
    fn check(&self, place: &Place) -> Result<(), Refused> {
        let held = self.plans.iter().map(|plan| &plan.place);
        let held = held.chain(&self.reserved);
        let of_host = held.filter(|of| of.host == place.host);
        let bytes: usize = of_host.clone().map(|of| of.bytes).sum();
        let jobs = of_host.filter(|of| of.client == place.client).count();
        if jobs >= CLIENT_JOBS_MAX {
            return Err(Refused::exhausted(format!(
                "{jobs} statements of this client are queued, run, or have just ended, which is the limit of a client: it has to wait until some of them end"
            )));
        }
        if bytes.saturating_add(place.bytes) > HOST_BYTES_MAX {
            return Err(Refused::exhausted(format!(
                "the plans of jobs of this host that are queued, run, or have just ended hold {bytes} bytes, and a host has {HOST_BYTES_MAX} at most"
            )));
        }
        if self.bytes.saturating_add(place.bytes) > HELD_BYTES_MAX {
            return Err(Refused::exhausted(format!(
                "the plans of jobs that are queued, run, or have just ended hold {HELD_BYTES_MAX} bytes, and there is no room for another"
            )));
        }
        Ok(())
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut held = lock(&self.held);
        let reserved = held.reserved.iter().position(|of| *of == self.place);
        if let Some(reserved) = reserved {
            held.reserved.swap_remove(reserved);
            held.bytes = held.bytes.saturating_sub(self.place.bytes);
        }
    }
}

impl Reserved {
    /// Holds the plan for a job that is queued now.
    pub(crate) fn keep(self, job: &str, now: Instant) {
        let place = self.place.clone();
        let mut held = lock(&self.held);
        held.bytes = held.bytes.saturating_add(place.bytes);
        held.plans.push_back(HeldPlan {
            job: JobId::from(job.to_owned()),
            place,
            is_forgotten: false,
            queued: now,
            asked: now,
            cancelled: None,
        });
    }
}

impl Plans {
    pub(crate) fn new(jobs: Arc<dyn JobState>) -> Self {
        Self {
            jobs,
            held: Arc::default(),
        }
    }

    /// Reserves a place for a plan of so many bytes. If there is none, the plans of jobs that have ended are removed, as far as their
    /// clients did not ask for them for some time.
    ///
    /// # Errors
    /// When the plans of other jobs hold all, or those of the same host or client as much as they may.
    pub(crate) async fn reserve(
        &self,
        bytes: usize,
        submitter: &Submitter,
        now: Instant,
    ) -> Result<Reserved, Refused> {
        let place = Place {
            host: submitter.host,
            client: submitter.client.clone(),
            bytes: bytes.max(PLAN_BYTES_MIN),
        };
        if let Ok(reserved) = self.try_reserve(&place) {
            return Ok(reserved);
        }
        self.remove_ended(now, true).await;
        self.try_reserve(&place)
    }

    fn try_reserve(&self, place: &Place) -> Result<Reserved, Refused> {
        let mut held = lock(&self.held);
        held.check(place)?;
        held.bytes = held.bytes.saturating_add(place.bytes);
        held.reserved.push(place.clone());
        Ok(Reserved {
            held: Arc::clone(&self.held),
            place: place.clone(),
        })
    }

    /// Removes the plan of a job as soon as it has ended: its client does not ask for it any more. False when this is known, or the job is
    /// not.
    pub(crate) fn forget(&self, job: &str) -> bool {
        let mut held = lock(&self.held);
        let plan = held.plans.iter_mut().find(|plan| plan.job.as_str() == job);
        plan.is_some_and(|plan| !std::mem::replace(&mut plan.is_forgotten, true))
    }

    /// Records that the client of a job cancels it. False when it is cancelled already, or is not known.
    pub(crate) fn cancel(&self, job: &str) -> bool {
        let mut held = lock(&self.held);
        let plan = held.plans.iter_mut().find(|plan| plan.job.as_str() == job);
        plan.is_some_and(|plan| {
            let is_first = plan.cancelled.is_none();
            plan.cancelled.get_or_insert(Cancelled::Client);
            is_first
        })
    }

    /// Records that the client of a job asks for its status. Returns why the job was cancelled, if it was.
    pub(crate) fn ask(&self, job: &str, now: Instant) -> Option<Cancelled> {
        let mut held = lock(&self.held);
        let plan = held.plans.iter_mut().find(|plan| plan.job.as_str() == job);
        plan.and_then(|plan| {
            plan.asked = now;
            plan.cancelled
        })
    }

    /// Whether a job was queued so long ago that it is not planned any more, if it still is not.
    pub(crate) fn is_late(&self, job: &str, now: Instant) -> bool {
        let held = lock(&self.held);
        let plan = held.plans.iter().find(|plan| plan.job.as_str() == job);
        plan.is_some_and(|plan| now.saturating_duration_since(plan.queued) >= PLANNED_WITHIN)
    }

    /// The jobs that are queued or run, and that are to be cancelled: those whose clients have not asked for their status for so long that
    /// they are gone, and all where there was no executor for so long. Ballista does not cancel a job that is queued: it is among them again
    /// when it runs.
    pub(crate) async fn to_cancel(
        &self,
        now: Instant,
        no_executor_for: Option<Duration>,
    ) -> Vec<JobId> {
        let since = |time| now.saturating_duration_since(time);
        let why = |plan: &HeldPlan| match plan.cancelled {
            None if since(plan.asked) > ABANDONED_AFTER => Some(Cancelled::Abandoned),
            None => no_executor_for.map(Cancelled::NoExecutor),
            known => known,
        };
        let known: Vec<_> = {
            let held = lock(&self.held);
            let plans = held.plans.iter();
            plans
                .filter_map(|plan| Some((plan.job.clone(), since(plan.queued), why(plan)?)))
                .collect()
        };
        let mut jobs = Vec::new();
        for (job, queued_for, why) in known {
            let status = self.jobs.get_job_status(&job).await.ok().flatten();
            if fate(status.as_ref(), queued_for) != Fate::Needed {
                continue;
            }
            let runs = status.is_some_and(|of| {
                let status = of.status.as_ref();
                matches!(status, Some(job_status::Status::Running(_)))
            });
            let mut held = lock(&self.held);
            let plan = held.plans.iter_mut().find(|plan| plan.job == job);
            let is_first = plan.is_some_and(|plan| plan.cancelled.replace(why).is_none());
            if is_first || runs {
                jobs.push(job);
            }
        }
        jobs
    }

    /// Removes the plans of jobs that have ended and are forgotten; if there `is_need`, also those of other jobs that have ended, and
    /// whose clients did not ask for their status for some time.
    pub(crate) async fn remove_ended(&self, now: Instant, is_need: bool) {
        let since = |time| now.saturating_duration_since(time);
        let known: Vec<_> = {
            let held = lock(&self.held);
            let plans = held.plans.iter();
            plans
                .map(|plan| {
                    let is_unneeded = is_need && since(plan.asked) > ASKED_FOR;
                    let is_forgotten = plan.is_forgotten || is_unneeded;
                    (plan.job.clone(), since(plan.queued), is_forgotten)
                })
                .collect()
        };
        for (job, queued_for, is_forgotten) in known {
            let status = self.jobs.get_job_status(&job).await.ok().flatten();
            let found = fate(status.as_ref(), queued_for);
            let is_over = match found {
                Fate::Needed => false,
                Fate::Ended => is_forgotten,
                Fate::Gone => true,
            };
            if !is_over {
                continue;
            }
            if found == Fate::Gone {
                // Ballista would have a job whose planner has panicked among those that are queued, without an end.
                let _ = self.jobs.fail_unscheduled_job(&job, String::new()).await;
            }
            // An error for a job that is gone is only a line in Ballista's log.
            let _ = self.jobs.remove_job(&job).await;
            let mut held = lock(&self.held);
            if let Some(place) = held.plans.iter().position(|plan| plan.job == job)
                && let Some(plan) = held.plans.remove(place)
            {
                held.bytes = held.bytes.saturating_sub(plan.place.bytes);
            }
        }
    }
}

/// The state of a job that was queued so long ago.
fn fate(status: Option<&JobStatus>, queued_for: Duration) -> Fate {
    let status = status.and_then(|status| status.status.as_ref());
    match status {
        Some(job_status::Status::Running(_)) => Fate::Needed,
        // A job that is queued for longer made the planner panic.
        Some(job_status::Status::Queued(_)) if queued_for > QUEUED_MAX => Fate::Gone,
        Some(job_status::Status::Queued(_)) => Fate::Needed,
        Some(job_status::Status::Successful(_) | job_status::Status::Failed(_)) => Fate::Ended,
        // Ballista may not know a job yet that was queued just now.
        None if queued_for < KNOWN_WITHIN => Fate::Needed,
        None => Fate::Gone,
    }
}

/// The maximum bytes of all plans, as messages; in the memory of a scheduler they take some ten times as much.
const HELD_BYTES_MAX: usize = 64 << 20;
/// The maximum bytes of the plans of one host. Another host has room for its own.
const HOST_BYTES_MAX: usize = HELD_BYTES_MAX / 2;
/// The maximum number of jobs of one client.
const CLIENT_JOBS_MAX: usize = 1_000;
/// The minimum that a plan counts, because a job needs more memory than its plan.
const PLAN_BYTES_MIN: usize = 16 << 10;
/// The time without a request for its status after which an ended job makes room for others.
const ASKED_FOR: Duration = Duration::from_secs(30);
/// The time without a request for the status of a job after which its client is gone. Clients ask several times a second.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);
/// The time limit for planning a job.
const PLANNED_WITHIN: Duration = Duration::from_secs(60);
/// The time after which the plan of a job that is still queued makes room for others.
const QUEUED_MAX: Duration = Duration::from_secs(120);
/// The time within which Ballista knows a job that is queued.
const KNOWN_WITHIN: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use ballista_core::serde::protobuf::{QueuedJob, RunningJob, SuccessfulJob};
    use ballista_scheduler::cluster::BallistaCluster;
    use ballista_scheduler::config::SchedulerConfig;

    use super::*;

    async fn plans() -> Plans {
        let config = SchedulerConfig::default();
        let cluster = BallistaCluster::new_from_config(&config).await.unwrap();
        Plans::new(cluster.job_state())
    }

    fn client(host: u8, client: &str) -> Submitter {
        Submitter {
            host: Some(IpAddr::from([127, 0, 0, host])),
            client: client.to_owned(),
            session: "session".to_owned(),
        }
    }

    /// Clients queued plans of 16 MiB until there was no memory.
    #[tokio::test]
    async fn plans_of_jobs_have_a_limit() {
        let plans = plans().await;
        let large = HELD_BYTES_MAX / 4;
        let (other, start) = (client(9, ""), Instant::now());
        for number in 0..4 {
            let id = format!("job-{number}");
            plans
                .jobs
                .accept_job(&JobId::from(id.clone()), "", 1_000)
                .unwrap();
            plans
                .reserve(large, &client(number / 2, ""), start)
                .await
                .unwrap()
                .keep(&id, start);
        }
        let refused = plans.reserve(1, &other, start).await.err().unwrap();
        assert_eq!(
            tonic::Status::from(refused).code(),
            tonic::Code::ResourceExhausted
        );
        // A job that has ended makes room when its client has had time to ask for it, or as soon as the client forgets it.
        let fail = async |id: &str| {
            let job = JobId::from(id.to_owned());
            plans
                .jobs
                .fail_unscheduled_job(&job, "the reason".to_owned())
                .await
                .unwrap();
        };
        fail("job-1").await;
        let waited = start + ASKED_FOR;
        assert!(plans.reserve(1, &other, waited).await.is_err());
        // A client that asks again still has it.
        plans.ask("job-1", waited);
        let later = waited + ASKED_FOR;
        assert!(plans.reserve(1, &other, later).await.is_err());
        let later = later + Duration::from_secs(1);
        drop(plans.reserve(large, &other, later).await.unwrap());
        assert_eq!(lock(&plans.held).bytes, 3 * large);
        // The others are queued for longer than planning takes.
        let ended = start + QUEUED_MAX + Duration::from_secs(1);
        plans.remove_ended(ended, false).await;
        assert_eq!(lock(&plans.held).bytes, 0);
        for id in ["job-0", "job-1", "job-2", "job-3"] {
            let job = JobId::from(id.to_owned());
            let status = plans.jobs.get_job_status(&job).await.unwrap();
            assert!(status.is_none(), "{id}");
        }
        assert_eq!(plans.jobs.pending_job_number(), 0);
        for number in 4..8 {
            let id = format!("job-{number}");
            plans
                .jobs
                .accept_job(&JobId::from(id.clone()), "", 1_000)
                .unwrap();
            plans
                .reserve(large, &client(number / 2, ""), ended)
                .await
                .unwrap()
                .keep(&id, ended);
        }
        plans.forget("job-5");
        plans.remove_ended(ended, false).await;
        let reserved = plans.reserve(1, &other, ended).await;
        assert!(reserved.is_err(), "it is still queued");
        fail("job-5").await;
        plans.remove_ended(ended, false).await;
        let job = JobId::from("job-5".to_owned());
        assert!(plans.jobs.get_job_status(&job).await.unwrap().is_none());
        // A plan that is not queued returns its place.
        drop(plans.reserve(large, &other, ended).await.unwrap());
        plans
            .reserve(large, &other, ended)
            .await
            .unwrap()
            .keep("job-8", ended);
    }

    /// One client queued statements until there was no room for those of others.
    #[tokio::test]
    async fn plans_of_a_client_and_of_a_host_have_a_limit() {
        let plans = plans().await;
        let now = Instant::now();
        let reserve = async |bytes: usize, host: u8, name: &str| {
            let reserved = plans.reserve(bytes, &client(host, name), now).await;
            reserved.map_err(|refused| refused.to_string())
        };
        let mut reserved = Vec::new();
        for number in 0..CLIENT_JOBS_MAX {
            let place = reserve(1, 1, "many").await.unwrap();
            if number % 2 == 0 {
                let id = format!("job-{number}");
                let job = JobId::from(id.clone());
                plans.jobs.accept_job(&job, "", 1_000).unwrap();
                place.keep(&id, now);
            } else {
                reserved.push(place);
            }
        }
        let refused = reserve(1, 1, "many").await.err().unwrap();
        assert!(
            refused.starts_with("1000 statements of this client"),
            "{refused}"
        );
        // Another client of the same host, another host, and the same client once one of its statements is gone.
        reserve(1, 1, "one").await.unwrap();
        reserve(HOST_BYTES_MAX, 2, "many").await.unwrap();
        let refused = reserve(HOST_BYTES_MAX, 1, "one").await.err().unwrap();
        assert!(refused.contains("jobs of this host"), "{refused}");
        reserved.pop();
        reserve(1, 1, "many").await.unwrap();
        let refused = reserve(HOST_BYTES_MAX + 1, 3, "").await.err().unwrap();
        assert!(refused.contains("hold 0 bytes"), "{refused}");
    }

    /// The job of a client that was killed ran to its end, and held its places for hours.
    #[tokio::test]
    async fn a_job_whose_client_is_gone_is_abandoned() {
        let plans = plans().await;
        let start = Instant::now();
        for id in ["asked", "silent", "failed"] {
            let job = JobId::from(id.to_owned());
            plans.jobs.accept_job(&job, "", 1_000).unwrap();
            let reserved = plans.reserve(1, &client(1, ""), start).await;
            reserved.unwrap().keep(id, start);
        }
        let failed = JobId::from("failed".to_owned());
        let reason = "the reason".to_owned();
        plans
            .jobs
            .fail_unscheduled_job(&failed, reason)
            .await
            .unwrap();
        let later = start + ABANDONED_AFTER;
        assert!(plans.to_cancel(later, None).await.is_empty());
        assert_eq!(plans.ask("asked", later), None);
        let later = later + Duration::from_secs(1);
        let silent = JobId::from("silent".to_owned());
        assert_eq!(plans.to_cancel(later, None).await, [silent]);
        // A client that stood still learns why its job was cancelled.
        assert_eq!(plans.ask("silent", later), Some(Cancelled::Abandoned));
        assert_eq!(plans.ask("asked", later), None);
        assert!(!plans.is_late("asked", start) && !plans.is_late("unknown", later));
        assert!(plans.is_late("asked", start + PLANNED_WITHIN));
        for id in ["failed", "unknown"] {
            assert_eq!(plans.ask(id, later), None);
        }
    }

    /// Each request to cancel or to remove a job, of any name, went on to all executors, and was remembered for ten minutes.
    #[tokio::test]
    async fn a_job_is_cancelled_once_and_removed_once() {
        let plans = plans().await;
        let start = Instant::now();
        plans
            .jobs
            .accept_job(&JobId::from("job".to_owned()), "", 1_000)
            .unwrap();
        let reserved = plans.reserve(1, &client(1, ""), start).await;
        reserved.unwrap().keep("job", start);
        assert!(!plans.cancel("unknown") && !plans.forget("unknown"));
        assert!(plans.cancel("job") && !plans.cancel("job"));
        assert_eq!(plans.ask("job", start), Some(Cancelled::Client));
        assert!(plans.forget("job") && !plans.forget("job"));
        // It is cancelled again when it runs.
        let later = start + ABANDONED_AFTER * 2;
        assert!(plans.to_cancel(later, None).await.is_empty());
        assert_eq!(plans.ask("job", later), Some(Cancelled::Client));
    }

    /// Times of the system's clock were compared: behind one that was set back, a job waited for executors without an end. So did a job that
    /// was queued when the last executor had just been lost.
    #[tokio::test]
    async fn jobs_end_where_no_executor_is_left() {
        let plans = plans().await;
        let start = Instant::now();
        for id in ["early", "late", "failed"] {
            let job = JobId::from(id.to_owned());
            plans.jobs.accept_job(&job, "", u64::MAX).unwrap();
            let reserved = plans.reserve(1, &client(1, ""), start).await;
            reserved.unwrap().keep(id, start);
        }
        let failed = JobId::from("failed".to_owned());
        let reason = "the reason".to_owned();
        plans
            .jobs
            .fail_unscheduled_job(&failed, reason)
            .await
            .unwrap();
        assert!(plans.to_cancel(start, None).await.is_empty());
        let time = Duration::from_secs(10);
        let jobs = ["early", "late"].map(|id| JobId::from(id.to_owned()));
        assert_eq!(plans.to_cancel(start, Some(time)).await, jobs);
        let why = plans.ask("late", start);
        assert_eq!(why, Some(Cancelled::NoExecutor(time)));
        assert_eq!(
            why.unwrap().to_string(),
            "no executor is left, and none has registered for 10 s: weir cluster executor starts one"
        );
        assert_eq!(plans.ask("failed", start), None);
    }

    #[test]
    fn plans_are_needed_until_their_jobs_end() {
        let status = |status| JobStatus {
            status: Some(status),
            ..JobStatus::default()
        };
        let queued = status(job_status::Status::Queued(QueuedJob { queued_at: 1_000 }));
        assert_eq!(fate(Some(&queued), QUEUED_MAX), Fate::Needed);
        assert_eq!(fate(Some(&queued), QUEUED_MAX * 2), Fate::Gone);
        let running = status(job_status::Status::Running(RunningJob::default()));
        assert_eq!(fate(Some(&running), Duration::MAX), Fate::Needed);
        let ended = SuccessfulJob {
            ended_at: 5_000,
            ..SuccessfulJob::default()
        };
        let ended = status(job_status::Status::Successful(ended));
        assert_eq!(fate(Some(&ended), Duration::ZERO), Fate::Ended);
        assert_eq!(fate(None, Duration::ZERO), Fate::Needed);
        assert_eq!(fate(None, KNOWN_WITHIN), Fate::Gone);
    }
}
