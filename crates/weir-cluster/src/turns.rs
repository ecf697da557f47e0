//! The turns of jobs at the free places of executors.
//!
//! Ballista gives what is free to the running jobs in no order, and to each of them all that it takes: a short statement waited behind
//! hundreds of another client. Here each free place is a turn. It is for the host with the fewest tasks at work, among its clients for
//! the one with the fewest, then for the session, and then for the job with the fewest. Among equals one turn is for the one that
//! has waited longest, one for the latest, and one for the oldest: a job that has just come does not wait until all others have begun, and
//! the first ones do not wait until all others have ended.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ballista_core::JobId;
use ballista_core::execution_plans::{RangeShuffleReaderExec, ShuffleReaderExec};
use ballista_core::serde::protobuf::{AvailableVcores, task_status};
use ballista_core::serde::scheduler::TaskKey;
use ballista_scheduler::cluster::{BoundTask, DistributionPolicy};
use ballista_scheduler::state::execution_graph::{
    ExecutionGraphBox, TaskDescription, create_task_info,
};
use ballista_scheduler::state::execution_stage::{ExecutionStage, RunningStage};
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;

use crate::repeated;

/// The sender of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Submitter {
    /// The host of the peer ([`Peer::host`](crate::peer::Peer::host)).
    pub(crate) host: Option<IpAddr>,
    /// The user and the processes that the client says that it belongs to, in [`CLIENT`](crate::protocol::CLIENT).
    pub(crate) client: String,
    pub(crate) session: String,
}

tokio::task_local! {
    /// The submitter of the job that is queued now. Ballista makes its name, and has no place for its submitter.
    static SUBMITTER: Submitter;
}

/// The names of the host, the client and the session of a job, and of the job itself. Each name has the one before it in it.
type Path = [String; 4];

impl Submitter {
    /// Queues a job of this submitter.
    pub(crate) async fn queue<F: Future>(self, queued: F) -> F::Output {
        SUBMITTER.scope(self, queued).await
    }

    fn path(&self, job: &JobId) -> Path {
        let Self {
            host,
            client,
            session,
        } = self;
        let host = host.map(|host| host.to_string()).unwrap_or_default();
        let client = format!("{host}\n{client}");
        let session = format!("{client}\n{session}");
        let job = format!("{session}\n{job}");
        [host, client, session, job]
    }
}

/// The jobs that are queued or run, and the turns that they have had.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Arc<Mutex<KnownJobs>>);

#[derive(Debug, Default)]
struct KnownJobs {
    jobs: HashMap<JobId, KnownJob>,
    /// The hosts, clients, sessions and jobs by their names.
    shares: HashMap<String, Share>,
    /// The number of jobs and turns so far, which is their time.
    now: u64,
    turns: u64,
}

#[derive(Debug)]
struct KnownJob {
    path: Path,
    queued: Instant,
    has_run: bool,
    /// Its client needs it no longer.
    is_left: bool,
}

/// The times of a host, a client, a session or a job.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    came: u64,
    /// The time of its last turn; before the first one that of its arrival.
    served: u64,
}

/// The jobs that may have tasks to hand out, the next one last.
#[derive(Default)]
struct Line {
    waiting: Vec<(JobId, Path)>,
    /// The places that the jobs of hosts, clients and sessions hold, and those of jobs.
    held: HashMap<String, u64>,
}

impl Turns {
    fn known(&self) -> MutexGuard<'_, KnownJobs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job that is being queued.
    pub(crate) fn enter(&self, job: &str) {
        let submitter = SUBMITTER.try_with(Clone::clone).unwrap_or_default();
        self.known().enter(&JobId::from(job), &submitter);
    }

    /// Records that the client of a job needs it no longer.
    pub(crate) fn leave(&self, job: &str) {
        if let Some(known) = self.known().jobs.get_mut(&JobId::from(job)) {
            known.is_left = true;
        }
    }

    /// Forgets the jobs that have ended.
    pub(crate) fn forget_ended(&self, running: &HashMap<JobId, JobInfoCache>) {
        self.known().forget_ended(running);
    }

    /// The running jobs, and the places that they hold.
    async fn line(&self, running: &HashMap<JobId, JobInfoCache>) -> Line {
        let waiting = self.known().paths(running);
        let mut line = Line::default();
        for (job, path) in waiting {
            let Some(of_job) = running.get(&job) else {
                continue;
            };
            let graph = of_job.execution_graph.read().await;
            let places = held_places(&graph).map(|(_, places)| u64::from(places));
            line.hold(&path, places.sum());
            line.waiting.push((job, path));
        }
        line
    }
}

impl KnownJobs {
    fn enter(&mut self, job: &JobId, submitter: &Submitter) {
        self.now += 1;
        let path = submitter.path(job);
        for name in &path {
            self.shares.entry(name.clone()).or_insert(Share {
                came: self.now,
                served: self.now,
            });
        }
        let known = KnownJob {
            path,
            queued: Instant::now(),
            has_run: false,
            is_left: false,
        };
        self.jobs.insert(job.clone(), known);
    }

    /// Forgets the jobs that do not run, but for those that are still to be planned.
    fn forget_ended(&mut self, running: &HashMap<JobId, JobInfoCache>) {
        self.jobs.retain(|job, known| {
            let is_running = running.contains_key(job);
            known.has_run |= is_running;
            let is_over = known.has_run || known.is_left;
            is_running || (!is_over && known.queued.elapsed() < PLANNED_WITHIN)
        });
        let named: HashSet<&String> = self.jobs.values().flat_map(|of| &of.path).collect();
        self.shares.retain(|name, _| named.contains(name));
    }

    /// The names of the running jobs. Those that have ended are forgotten.
    fn paths(&mut self, running: &HashMap<JobId, JobInfoCache>) -> Vec<(JobId, Path)> {
        for job in running.keys() {
            if !self.jobs.contains_key(job) {
                self.enter(job, &Submitter::default());
            }
        }
        self.forget_ended(running);
        let known = self.jobs.iter().filter(|(_, known)| known.has_run);
        known
            .map(|(job, known)| (job.clone(), known.path.clone()))
            .collect()
    }

    /// The place of a job in the line: the lowest is the next.
    fn rank(&self, path: &Path, held: &HashMap<String, u64>) -> [(u64, u64); 4] {
        path.each_ref().map(|name| {
            let share = self.shares.get(name).copied().unwrap_or_default();
            let order = match self.turns % 3 {
                0 => share.served,
                1 => u64::MAX - share.came,
                _ => share.came,
            };
            (held.get(name).copied().unwrap_or_default(), order)
        })
    }

    /// Puts the next job last.
    fn sort(&self, line: &mut Line) {
        let Line { waiting, held } = line;
        waiting.sort_by_cached_key(|(_, path)| Reverse(self.rank(path, held)));
    }

    /// Records that a job has had its turn.
    fn serve(&mut self, path: &Path) {
        self.turns += 1;
        self.now += 1;
        for name in path {
            if let Some(share) = self.shares.get_mut(name) {
                share.served = self.now;
            }
        }
    }
}

impl Line {
    /// Adds places that a job holds.
    fn hold(&mut self, path: &Path, places: u64) {
        for name in path {
            *self.held.entry(name.clone()).or_default() += places;
        }
    }

    /// A task of the next job that has one, and the names of the job. Jobs without one leave the line.
    async fn next_task(
        &mut self,
        running: &HashMap<JobId, JobInfoCache>,
        free: &mut AvailableVcores,
    ) -> Option<(Path, BoundTask)> {
        while let Some((job, path)) = self.waiting.pop() {
            let Some(of_job) = running.get(&job) else {
                continue;
            };
            let mut graph = of_job.execution_graph.write().await;
            let session = graph.session_id().to_owned();
            let stages = graph.stages();
            let writers = repeated::is_any_repeated(stages).then(|| repeated::writers(stages));
            let stage = graph.fetch_running_stage(&[]);
            let task = stage.and_then(|stage| {
                if let Some(writers) = &writers {
                    stage.plan = repeated::reading_from(&stage.plan, writers).ok()?;
                }
                bound_task(stage, &session, &job, free)
            });
            if let Some(task) = task {
                self.hold(&path, 1);
                self.waiting.push((job, path.clone()));
                return Some((path, task));
            }
        }
        None
    }
}

#[tonic::async_trait]
impl DistributionPolicy for Turns {
    async fn bind_tasks(
        &self,
        mut budgets: Vec<&mut AvailableVcores>,
        running_jobs: Arc<HashMap<JobId, JobInfoCache>>,
    ) -> Result<Vec<BoundTask>> {
        if budgets.iter().all(|of| of.vcores == 0) {
            return Ok(Vec::new());
        }
        let mut line = self.line(&running_jobs).await;
        let mut bound = Vec::new();
        loop {
            // The executor with the most free places has the task.
            let free = budgets.iter_mut().filter(|of| of.vcores > 0);
            let Some(free) = free.max_by_key(|of| of.vcores) else {
                break;
            };
            self.known().sort(&mut line);
            let Some((path, task)) = line.next_task(&running_jobs, free).await else {
                break;
            };
            self.known().serve(&path);
            bound.push(task);
        }
        Ok(bound)
    }

    fn name(&self) -> &'static str {
        "turns"
    }
}

/// The executors of the running tasks of a job, and the places that each task holds.
fn held_places(graph: &ExecutionGraphBox) -> impl Iterator<Item = (&str, u32)> {
    let running = graph.stages().values().filter_map(|stage| match stage {
        ExecutionStage::Running(stage) => Some(stage),
        _ => None,
    });
    let tasks = running.flat_map(|stage| &stage.task_infos);
    tasks.filter_map(|task| match &task.task_status {
        task_status::Status::Running(of) => Some((of.executor_id.as_str(), task.vcores_consumed)),
        _ => None,
    })
}

/// The places that the tasks of jobs hold, by executor.
pub(crate) async fn held_by_executors(
    running: &HashMap<JobId, JobInfoCache>,
) -> HashMap<String, u32> {
    let mut held = HashMap::<String, u32>::new();
    for of_job in running.values() {
        let graph = of_job.execution_graph.read().await;
        for (executor, places) in held_places(&graph) {
            let of_executor = held.entry(executor.to_owned()).or_default();
            *of_executor = of_executor.saturating_add(places);
        }
    }
    held
}

/// The next task of a stage, for a place of an executor: one partition, or all of them where they become one.
fn bound_task(
    stage: &mut RunningStage,
    session: &str,
    job: &JobId,
    free: &mut AvailableVcores,
) -> Option<BoundTask> {
    let most = match is_collapsed(&stage.plan) {
        true => usize::MAX,
        false => 1,
    };
    let partitions = stage.pending.next_slice(most);
    if partitions.is_empty() {
        return None;
    }
    let failures = partitions
        .iter()
        .filter_map(|partition| stage.task_failure_numbers.get(*partition));
    let attempt = failures.max().copied().unwrap_or_default();
    let task_id = stage.task_infos.len();
    let mut task = create_task_info(free.executor_id.clone(), task_id);
    task.global_input_partition_ids.clone_from(&partitions);
    task.vcores_consumed = 1;
    stage.task_infos.push(task);
    free.vcores = free.vcores.saturating_sub(1);
    let task = TaskDescription {
        session_id: session.to_owned(),
        key: TaskKey {
            job_id: job.clone(),
            stage_id: stage.stage_id,
            task_id,
        },
        stage_attempt_num: stage.stage_attempt_num,
        task_attempt: attempt,
        global_input_partition_ids: partitions,
        vcores_consumed: 1,
        plan: Arc::clone(&stage.plan),
        session_config: Arc::clone(&stage.session_config),
    };
    Some((free.executor_id.clone(), task))
}

/// Whether the partitions of a stage become one in it, as Ballista looks for it (`stage_has_input_collapse`): a task with some of them would
/// have a part of the rows that the operators above need together.
fn is_collapsed(writer: &Arc<dyn ExecutionPlan>) -> bool {
    let mut node = writer;
    while let [input] = node.children().as_slice() {
        node = *input;
        if node.downcast_ref::<ShuffleReaderExec>().is_some()
            || node.downcast_ref::<RangeShuffleReaderExec>().is_some()
        {
            return false;
        }
        if node.properties().output_partitioning().partition_count() == 1 {
            return true;
        }
    }
    false
}

/// The time after which a job that was never seen to run is forgotten.
const PLANNED_WITHIN: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use ballista_core::execution_plans::compute_global_output_partition_ids;
    use ballista_core::extension::SessionConfigExt as _;
    use ballista_core::serde::protobuf::{
        ShuffleWritePartition, SuccessfulTask, TaskStatus, job_status,
    };
    use ballista_core::serde::scheduler::{
        ExecutorMetadata, ExecutorOperatingSystemSpecification, ExecutorSpecification,
    };
    use ballista_scheduler::planner::DefaultDistributedPlanner;
    use ballista_scheduler::state::execution_graph::StaticExecutionGraph;
    use datafusion::common::tree_node::{TreeNode as _, TreeNodeRecursion};
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::physical_expr::expressions::Column;
    use datafusion::physical_plan::Partitioning;
    use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
    use datafusion::physical_plan::repartition::RepartitionExec;
    use datafusion::prelude::SessionConfig;

    use super::*;

    /// A table in memory. Ballista gives an `EmptyExec` one partition.
    fn plan(partitions: usize) -> Arc<dyn ExecutionPlan> {
        let schema = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
        let rows = vec![Vec::new(); partitions];
        MemorySourceConfig::try_new_exec(&rows, Arc::new(schema), None).unwrap()
    }

    /// Jobs that run, of one stage each.
    #[derive(Default)]
    struct Jobs {
        turns: Turns,
        running: HashMap<JobId, JobInfoCache>,
    }

    impl Jobs {
        /// Adds a job of so many tasks.
        async fn add(&mut self, host: u8, client: &str, session: &str, job: &str, tasks: usize) {
            let submitter = Submitter {
                host: Some(IpAddr::from([127, 0, 0, host])),
                client: client.to_owned(),
                session: session.to_owned(),
            };
            submitter.queue(async { self.turns.enter(job) }).await;
            self.run(job, session, plan(tasks));
        }

        /// Runs a plan.
        fn run(&mut self, job: &str, session: &str, plan: Arc<dyn ExecutionPlan>) {
            let id = JobId::from(job);
            let graph = StaticExecutionGraph::new(
                "scheduler",
                &id,
                "",
                session,
                plan,
                0,
                Arc::new(SessionConfig::new_with_ballista()),
                &mut DefaultDistributedPlanner::new(),
                None,
            );
            let graph: ExecutionGraphBox = Box::new(graph.unwrap());
            self.running.insert(id, JobInfoCache::new(graph));
        }

        /// The jobs and the executors that have the next turns, where executors have so many places.
        async fn next(&self, places: &[u32]) -> Vec<(String, String)> {
            let mut budgets: Vec<_> = places
                .iter()
                .enumerate()
                .map(|(number, places)| AvailableVcores {
                    executor_id: number.to_string(),
                    vcores: *places,
                })
                .collect();
            let running = Arc::new(self.running.clone());
            let bound = self
                .turns
                .bind_tasks(budgets.iter_mut().collect(), running)
                .await
                .unwrap();
            let taken = budgets.iter().map(|of| of.vcores).sum::<u32>();
            let taken = places.iter().sum::<u32>() - taken;
            assert_eq!(bound.len(), taken as usize);
            let names = bound.into_iter().map(|(executor, task)| {
                assert_eq!(task.vcores_consumed, 1);
                (task.key.job_id.to_string(), executor)
            });
            names.collect()
        }

        /// The next task, for an executor.
        async fn task(&self, executor: &str) -> TaskDescription {
            let mut free = AvailableVcores {
                executor_id: executor.to_owned(),
                vcores: 1,
            };
            let running = Arc::new(self.running.clone());
            let bound = self.turns.bind_tasks(vec![&mut free], running).await;
            bound.unwrap().remove(0).1
        }

        /// Ends a task, which has written its rows.
        async fn end(&self, executor: &str, task: &TaskDescription) {
            let inputs = &task.global_input_partition_ids;
            let partitions = compute_global_output_partition_ids(&task.plan, inputs);
            let partitions = partitions.into_iter().map(|of| ShuffleWritePartition {
                partition_id: of as u64,
                num_rows: 1,
                ..ShuffleWritePartition::default()
            });
            let done = SuccessfulTask {
                executor_id: executor.to_owned(),
                partitions: partitions.collect(),
                ..SuccessfulTask::default()
            };
            let status = TaskStatus {
                task_id: u32::try_from(task.key.task_id).unwrap(),
                job_id: task.key.job_id.to_string(),
                stage_id: u32::try_from(task.key.stage_id).unwrap(),
                stage_attempt_num: u32::try_from(task.stage_attempt_num).unwrap(),
                status: Some(task_status::Status::Successful(done)),
                ..TaskStatus::default()
            };
            let executor = ExecutorMetadata {
                id: executor.to_owned(),
                host: "127.0.0.1".to_owned(),
                port: 1,
                grpc_port: 1,
                specification: ExecutorSpecification::default(),
                os_info: ExecutorOperatingSystemSpecification::default(),
            };
            let job = &self.running[&task.key.job_id];
            let mut graph = job.execution_graph.write().await;
            graph
                .update_task_status(&executor, vec![status], 4, 4)
                .unwrap();
        }

        async fn lose(&self, job: &str, executor: &str) {
            let mut graph = self.running[job].execution_graph.write().await;
            graph.reset_stages_on_lost_executor(executor).unwrap();
        }

        /// The jobs that have the next turns.
        async fn next_jobs(&self, places: u32) -> Vec<String> {
            let next = self.next(&[places]).await;
            next.into_iter().map(|(job, _)| job).collect()
        }
    }

    /// Two hundred jobs of one client kept a short one of another waiting until they had ended.
    #[tokio::test]
    async fn clients_have_turns() {
        let mut jobs = Jobs::default();
        for number in 0..200 {
            let session = format!("session-{number}");
            jobs.add(1, "1000-7", &session, &number.to_string(), 3)
                .await;
        }
        assert_eq!(jobs.next_jobs(2).await, ["0", "199"]);
        // Of another host, and of another client of the same host.
        jobs.add(2, "1000-7", "session", "host", 5).await;
        jobs.add(1, "1000-8", "session", "client", 1).await;
        assert_eq!(jobs.next_jobs(1).await, ["host"]);
        assert_eq!(jobs.next_jobs(1).await, ["host"]);
        let both = jobs.next_jobs(2).await;
        assert!(both.contains(&"client".to_owned()), "{both:?}");
        assert!(both.contains(&"host".to_owned()), "{both:?}");
    }

    #[tokio::test]
    async fn the_latest_and_the_oldest_of_a_client_have_turns() {
        let mut jobs = Jobs::default();
        for job in ["a", "b", "c", "d", "e"] {
            jobs.add(1, "", job, job, 1).await;
        }
        assert_eq!(jobs.next_jobs(4).await, ["a", "e", "b", "c"]);
        jobs.add(1, "", "f", "f", 1).await;
        assert_eq!(jobs.next_jobs(9).await, ["f", "d"]);
        assert!(jobs.next_jobs(9).await.is_empty());
    }

    #[tokio::test]
    async fn jobs_of_a_session_have_as_many_places() {
        let mut jobs = Jobs::default();
        jobs.add(1, "", "session", "long", 100).await;
        assert_eq!(jobs.next_jobs(4).await, ["long"; 4]);
        jobs.add(1, "", "session", "short", 3).await;
        assert_eq!(jobs.next_jobs(3).await, ["short"; 3]);
        assert_eq!(jobs.next_jobs(1).await, ["long"]);
    }

    #[tokio::test]
    async fn tasks_are_spread_over_executors() {
        let mut jobs = Jobs::default();
        jobs.add(1, "", "session", "job", 5).await;
        let next = jobs.next(&[1, 3, 0]).await;
        let of = |executor: &str| next.iter().filter(|(_, of)| of == executor).count();
        assert_eq!((of("0"), of("1"), of("2")), (1, 3, 0));
        assert_eq!(jobs.next(&[4]).await.len(), 1);
    }

    #[tokio::test]
    async fn jobs_that_have_ended_are_forgotten() {
        let mut jobs = Jobs::default();
        jobs.add(1, "", "session", "ended", 1).await;
        jobs.add(1, "", "session", "running", 2).await;
        jobs.next_jobs(2).await;
        jobs.running.remove("ended");
        // It is planned later.
        jobs.turns.enter("queued");
        jobs.next_jobs(1).await;
        let known = jobs.turns.known();
        let mut names: Vec<_> = known.jobs.keys().map(JobId::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["queued", "running"]);
        assert_eq!(known.shares.len(), 8);
    }

    fn hashed(input: Arc<dyn ExecutionPlan>, partitions: usize) -> Arc<dyn ExecutionPlan> {
        let column = Arc::new(Column::new("n", 0));
        let partitioning = Partitioning::Hash(vec![column], partitions);
        Arc::new(RepartitionExec::try_new(input, partitioning).unwrap())
    }

    /// The executors and tasks whose rows the tasks of a stage read, by partition.
    fn read_by(plan: &Arc<dyn ExecutionPlan>) -> Vec<Vec<(String, usize)>> {
        let mut found = Vec::new();
        plan.apply(|node| {
            if let Some(reader) = node.downcast_ref::<ShuffleReaderExec>() {
                found.extend(reader.partition.iter().map(|locations| {
                    let from = locations.iter();
                    from.map(|of| (of.executor_meta.id.clone(), of.map_partition_id))
                        .collect()
                }));
            }
            Ok(TreeNodeRecursion::Continue)
        })
        .unwrap();
        found
    }

    /// An executor was lost with rows that the second of three stages read. All of its tasks were run again, and the third stage read
    /// what the first one of them had written twice: a statement had a wrong answer.
    #[tokio::test]
    async fn rows_of_a_stage_that_was_run_again_are_read_once() {
        let mut jobs = Jobs::default();
        jobs.run("job", "session", hashed(hashed(plan(2), 3), 2));
        for executor in ["lost", "other"] {
            let task = jobs.task(executor).await;
            jobs.end(executor, &task).await;
        }
        let ended = jobs.task("other").await;
        assert_eq!(ended.key.stage_id, 2);
        jobs.end("other", &ended).await;
        jobs.task("other").await;
        jobs.lose("job", "lost").await;
        // The places of the tasks that are not awaited any more are free.
        assert!(held_by_executors(&jobs.running).await.is_empty());
        let again = jobs.task("other").await;
        assert_eq!((again.key.stage_id, again.stage_attempt_num), (1, 1));
        jobs.end("other", &again).await;
        for number in 0..3 {
            let task = jobs.task("other").await;
            assert_eq!((task.key.stage_id, task.stage_attempt_num), (2, 1));
            assert_eq!(read_by(&task.plan)[number].len(), 2);
            jobs.end("other", &task).await;
        }
        let last = jobs.task("other").await;
        assert_eq!(last.key.stage_id, 3);
        let mut read = read_by(&last.plan);
        assert_eq!(read.len(), 2);
        for of_partition in &mut read {
            of_partition.sort_unstable();
            let expected = [0, 1, 2].map(|task| ("other".to_owned(), task));
            assert_eq!(*of_partition, expected);
        }
    }

    /// A task of the last stage was run again while its executor was taken for lost, and its rows were in the answer twice.
    #[tokio::test]
    async fn rows_of_an_answer_that_were_written_again_are_read_once() {
        let mut jobs = Jobs::default();
        jobs.run("job", "session", plan(2));
        let task = jobs.task("lost").await;
        jobs.end("lost", &task).await;
        jobs.lose("job", "lost").await;
        for _ in 0..2 {
            let task = jobs.task("other").await;
            jobs.end("other", &task).await;
        }
        let graph = jobs.running["job"].execution_graph.read().await;
        let Some(job_status::Status::Successful(done)) = &graph.status().status else {
            panic!("the job has not ended");
        };
        let rows = done.partition_location.clone();
        assert_eq!(rows.len(), 3);
        assert!(repeated::is_any_twice(&rows) && !repeated::is_any_twice(&rows[1..]));
        let rows = repeated::rows_from(rows, &repeated::writers(graph.stages()));
        let executors = rows.iter().map(|of| &of.executor_meta.as_ref().unwrap().id);
        assert_eq!(executors.collect::<Vec<_>>(), ["other", "other"]);
    }

    /// A task with a part of the partitions that become one would have a part of the rows.
    #[test]
    fn partitions_that_become_one_are_one_task() {
        let merged =
            |input| -> Arc<dyn ExecutionPlan> { Arc::new(CoalescePartitionsExec::new(input)) };
        assert!(is_collapsed(&merged(plan(1))));
        assert!(is_collapsed(&merged(merged(plan(4)))));
        assert!(!is_collapsed(&merged(plan(4))));
        assert!(!is_collapsed(&plan(1)));
    }

    /// Jobs that their clients removed at once stayed known for as long as no place was free: a client that went on took memory without a
    /// limit.
    #[test]
    fn jobs_that_their_clients_remove_are_forgotten() {
        let turns = Turns::default();
        turns.enter("queued");
        for number in 0..100 {
            let job = format!("left{number}");
            turns.enter(&job);
            turns.leave(&job);
        }
        turns.leave("unknown");
        turns.forget_ended(&HashMap::new());
        let known = turns.known();
        let jobs: Vec<_> = known.jobs.keys().map(JobId::as_str).collect();
        assert_eq!(jobs, ["queued"]);
        // The job, its session, its client and its host.
        assert_eq!(known.shares.len(), 4);
    }
}
