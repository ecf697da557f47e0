//! The processes of a server: those that wait for a statement, and those at work.

use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::Thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::link::{
    Cancelled, Link, Octets, PROMPT, Priority, Received, Shortage, Watched, own_bytes_of_server,
};
use super::victims::{Held, KEPT_BYTES, left, most_set_aside, victims};
use super::wire::{Reply, broken};
use crate::error::{Failure, FailureKind};
use crate::folder::Folder;
use crate::options::WorkerProgram;
use crate::turn::{StatementKind, Turns};

/// The processes of a server.
#[derive(Debug)]
pub(crate) struct Pool {
    program: WorkerProgram,
    /// The folder of spilled rows.
    folder: Arc<Folder>,
    /// The folders that statements read, and may write.
    roots: Vec<PathBuf>,
    threads: Handle,
    pub(super) turns: Arc<Turns>,
    /// Octets that all statements may hold together.
    memory_limit_bytes: Option<usize>,
    idle_max: usize,
    idle: Mutex<Vec<Link>>,
    /// The process reserved for statements of values alone.
    spare: Mutex<Option<Link>>,
    /// Tells that it is there.
    spare_is_back: Notify,
    /// Counts those that are kept for such statements, whether they are at work or not.
    prompt: Arc<()>,
    /// One is being started that waits for a statement.
    is_warming: AtomicBool,
    /// The processes with a statement, and ended processes until they are gone.
    at_work: Mutex<Vec<Arc<Watched>>>,
    /// Statements that are about to have a process.
    starting: AtomicU64,
    /// The places of statements that start although there is no memory.
    beyond: Arc<Semaphore>,
    /// The thread that looks at the memory of the processes, which rests while no statement is at work.
    looks: OnceLock<Thread>,
    /// Processes that were ended before their statements, and those that ended by themselves.
    pub(crate) lost: AtomicU64,
    /// Those of them that were ended for the memory of all.
    pub(crate) lost_for_memory: AtomicU64,
    /// Those of them that were ended for the disk of all.
    pub(crate) lost_for_disk: AtomicU64,
    /// Those of them that were ended because their statement went on behind its end.
    pub(crate) lost_occupied: AtomicU64,
    /// The number of statements that ended by a panic in a process, which has reported it and continues.
    pub(crate) panics: AtomicU64,
}

pub(super) fn lock<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A pool whose processes are started and looked at on these threads.
    pub(crate) fn new(
        program: WorkerProgram,
        folder: &Arc<Folder>,
        roots: &[PathBuf],
        threads: &Handle,
        turns: &Arc<Turns>,
        memory_limit_bytes: Option<usize>,
        queries_max: usize,
    ) -> std::io::Result<Arc<Self>> {
        let pool = Arc::new(Self {
            program,
            folder: Arc::clone(folder),
            roots: roots.to_vec(),
            threads: threads.clone(),
            turns: Arc::clone(turns),
            memory_limit_bytes,
            idle_max: queries_max.clamp(1, IDLE_MAX),
            idle: Mutex::default(),
            spare: Mutex::default(),
            spare_is_back: Notify::new(),
            prompt: Arc::default(),
            is_warming: AtomicBool::new(false),
            at_work: Mutex::default(),
            starting: AtomicU64::new(0),
            beyond: Arc::new(Semaphore::new(BEYOND_MAX)),
            looks: OnceLock::new(),
            lost: AtomicU64::new(0),
            lost_for_memory: AtomicU64::new(0),
            lost_for_disk: AtomicU64::new(0),
            lost_occupied: AtomicU64::new(0),
            panics: AtomicU64::new(0),
        });
        if let Some(limit) = memory_limit_bytes {
            pool.watch(limit as u64)?;
        }
        pool.warm_up();
        Ok(pool)
    }

    /// Starts the thread that watches the memory of the processes, independently of all other work of the server.
    fn watch(self: &Arc<Self>, limit: u64) -> std::io::Result<()> {
        let pool = Arc::downgrade(self);
        let looks = std::thread::Builder::new().name("weir-memory".to_owned());
        let looks = looks.spawn(move || look_at_memory(&pool, limit))?;
        // The thread is set once.
        let _ = self.looks.set(looks.thread().clone());
        Ok(())
    }

    /// Processes that are there.
    pub(crate) fn processes(&self) -> usize {
        let spare = usize::from(lock(&self.spare).is_some());
        lock(&self.idle).len() + lock(&self.at_work).len() + spare
    }

    /// Starts a process for the next statement.
    fn warm_up(self: &Arc<Self>) {
        if self.is_warming.swap(true, Ordering::Relaxed) {
            return;
        }
        let prompt = (!self.has_prompt()).then(|| Arc::clone(&self.prompt));
        let pool = Arc::downgrade(self);
        let (program, folder) = (self.program.clone(), Arc::clone(&self.folder));
        self.threads.spawn(async move {
            let link = Link::start(&program, &folder, prompt).await;
            if let Some(pool) = pool.upgrade() {
                pool.is_warming.store(false, Ordering::Relaxed);
                // A statement that finds none says why.
                if let Ok(link) = link {
                    pool.put_back(link);
                }
            }
        });
    }

    /// A process for a statement of the session in this state, preferably one that is in it already.
    pub(super) async fn take(
        self: &Arc<Self>,
        session_id: u64,
        priority: &Arc<Priority>,
    ) -> Result<BusyProcess, Failure> {
        let is_constant = priority.kind == StatementKind::Constant;
        let _starting = match priority.kind {
            StatementKind::Constant => Starting::new(self, None),
            kind => self.room(kind).await,
        };
        let waiting = match (self.idle_for(session_id, priority.kind), is_constant) {
            (None, true) => self.spare().await,
            (waiting, _) => waiting,
        };
        let link = match waiting {
            Some(link) => link,
            None => {
                let prompt = is_constant.then(|| Arc::clone(&self.prompt));
                Link::start(&self.program, &self.folder, prompt).await?
            }
        };
        priority.set_process(&link.watched);
        link.watched.set_of_constant(is_constant);
        lock(&self.at_work).push(Arc::clone(&link.watched));
        if let Some(looks) = self.looks.get() {
            looks.unpark();
        }
        Ok(BusyProcess {
            pool: Arc::clone(self),
            link: Some(link),
            priority: Arc::clone(priority),
            is_done: false,
            is_occupied: false,
            grace: GRACE,
            written: Vec::new(),
        })
    }

    /// A process that waits for a statement, preferably the last one in this state of a session. While statements are at work, the last
    /// is for those that are known to be soon over: the others start one.
    fn idle_for(self: &Arc<Self>, session_id: u64, kind: StatementKind) -> Option<Link> {
        let (link, is_last) = {
            let mut idle = lock(&self.idle);
            // A process may have been ended for the memory of all while it returned.
            idle.retain(|link| !link.watched.is_over());
            let is_only = idle.len() == 1 && self.idle_max > 1;
            if is_only && kind == StatementKind::Other && !lock(&self.at_work).is_empty() {
                return None;
            }
            let same = idle.iter().rposition(|link| {
                let session = link.session;
                session.is_some_and(|(id, _)| id == session_id)
            });
            // The process that has been idle longest belongs to no session that is at work now.
            let place = same.or_else(|| (!idle.is_empty()).then_some(0))?;
            (idle.remove(place), idle.is_empty())
        };
        if is_last {
            self.refill();
        }
        Some(link)
    }

    /// Whether there is a process for statements of values alone, or one starts.
    fn has_prompt(&self) -> bool {
        Arc::strong_count(&self.prompt) > 1
    }

    /// The process that is kept for statements of values alone, which is waited for where another has it: it has it for a moment.
    async fn spare(&self) -> Option<Link> {
        let back = async {
            while self.has_prompt() {
                let is_back = self.spare_is_back.notified();
                let link = lock(&self.spare).take();
                if link.is_some() {
                    return link;
                }
                is_back.await;
            }
            None
        };
        tokio::time::timeout(SPARE_WITHIN, back)
            .await
            .ok()
            .flatten()
    }

    /// The folders that a `COPY` to a name may be writing into.
    pub(super) fn folders_of(&self, target: &str) -> Vec<PathBuf> {
        let target = Path::new(target);
        if target.components().any(|part| part == Component::ParentDir) {
            return Vec::new();
        }
        let targets = self.roots.iter().map(|root| (root, root.join(target)));
        let within = targets.filter(|(root, target)| target.starts_with(root));
        within
            .filter_map(|(_, target)| target.parent().map(Path::to_path_buf))
            .collect()
    }

    /// Waits until there is memory for another process, for a moment only: then a few statements start at the same time, and
    /// those that hold too much are ended. The statement counts as starting until the result is dropped. One that is known to be soon
    /// over needs little memory, and not for long.
    async fn room(self: &Arc<Self>, kind: StatementKind) -> Starting {
        let Some(limit) = self.memory_limit_bytes else {
            return Starting::new(self, None);
        };
        let is_short = kind == StatementKind::Short;
        let looks = if is_short { SHORT_LOOKS } else { ROOM_LOOKS };
        for _ in 0..looks {
            if let Some(starting) = self.starting_within(self.left(limit as u64)) {
                return starting;
            }
            self.turns.end_longest_waiting();
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        if is_short {
            return Starting::new(self, None);
        }
        // Some of the running statements are ended for it, when the sum exceeds the limit. The semaphore is never closed.
        let beyond = Arc::clone(&self.beyond).acquire_owned().await.ok();
        Starting::new(self, beyond)
    }

    /// Octets that the processes of all statements may hold: rows that wait in the server's own process are taken from what they may hold
    /// besides the limit, and so is what that process holds otherwise, for texts of statements that are large or that were.
    fn left(&self, limit: u64) -> u64 {
        left(limit, self.turns.bytes() as u64, own_bytes_of_server())
    }

    /// Counts a statement as starting, if the others hold no more than the limit. Processes that are being ended count until they
    /// are gone.
    fn starting_within(self: &Arc<Self>, limit: u64) -> Option<Starting> {
        // Other threads read the list only after this process is counted.
        let at_work = lock(&self.at_work);
        let others = self.starting.load(Ordering::Relaxed);
        let held = at_work
            .iter()
            .map(|watched| watched.expected_bytes())
            .fold(others.saturating_mul(BASE_BYTES), u64::saturating_add);
        (held <= limit).then(|| Starting::new(self, None))
    }

    /// Octets of the processes that wait for a statement.
    fn idle_bytes(&self) -> u64 {
        let idle = lock(&self.idle);
        let held = idle.iter().map(|link| link.watched.own_bytes());
        held.fold(0, u64::saturating_add)
    }

    /// Ends the processes that wait for a statement and have kept memory of the last.
    fn end_idle(&self) {
        let is_large = |link: &mut Link| link.watched.taken_bytes() > FRESH_BYTES;
        let ended: Vec<Link> = lock(&self.idle).extract_if(.., is_large).collect();
        for link in ended {
            self.threads.spawn(link.end(Vec::new()));
        }
    }

    /// Octets of its own that the next statement may hold before it spills.
    pub(super) fn share(&self) -> Option<usize> {
        let limit = self.memory_limit_bytes?;
        let others = u32::try_from(lock(&self.at_work).len()).unwrap_or(u32::MAX);
        // A single process has all of the memory, two have a half each, and so on down to an eighth.
        let halvings = u32::BITS - others.saturating_sub(1).leading_zeros();
        Some(limit >> halvings.min(3))
    }

    /// Starts a process if too few are idle, and one for trivial statements if that is missing.
    fn refill(self: &Arc<Self>) {
        let idle = lock(&self.idle).len();
        let is_wanted = idle < self.idle_max.min(AT_REST) && self.processes() <= self.idle_max;
        if is_wanted || !self.has_prompt() {
            self.warm_up();
        }
    }

    fn put_back(self: &Arc<Self>, link: Link) {
        let is_large = link.watched.taken_bytes() > KEPT_BYTES;
        if link.prompt.is_some() {
            match is_large {
                true => drop(link),
                // The process that was started beside it ends.
                false => drop(lock(&self.spare).replace(link)),
            }
            self.spare_is_back.notify_one();
            self.refill();
            return;
        }
        let mut idle = lock(&self.idle);
        match !is_large && idle.len() < self.idle_max {
            true => idle.push(link),
            false => drop(link),
        }
        drop(idle);
        self.refill();
    }

    /// Ends a process, which counts until it is gone, and removes what it was writing into these folders.
    async fn end(self: Arc<Self>, link: Link, written: Vec<PathBuf>) {
        let watched = Arc::clone(&link.watched);
        link.end(written).await;
        self.forget(&watched);
        self.refill();
    }

    /// Counts a process that takes no statement any more.
    fn count_lost(&self, watched: &Watched, is_occupied: bool) {
        self.lost.fetch_add(1, Ordering::Relaxed);
        let of_reason = match watched.shortage() {
            Some(Shortage::Memory) => &self.lost_for_memory,
            Some(Shortage::Disk) => &self.lost_for_disk,
            None if is_occupied => &self.lost_occupied,
            None => return,
        };
        of_reason.fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the statement that has set most rows aside, where all together have set more aside than they leave free on the disk.
    fn look_at_disk(&self, at_work: &[Arc<Watched>]) {
        // The rows of one that was ended are being removed.
        let is_for_disk = |watched: &Arc<Watched>| watched.shortage() == Some(Shortage::Disk);
        if at_work.iter().any(is_for_disk) {
            return;
        }
        let held = at_work.iter().filter(|watched| !watched.is_over());
        let held = held.map(|watched| (watched.spilled_bytes(), watched));
        if let Some(watched) = most_set_aside(held.collect(), self.folder.free_bytes()) {
            watched.end_for(Shortage::Disk);
        }
    }

    fn forget(&self, watched: &Arc<Watched>) {
        lock(&self.at_work).retain(|other| !Arc::ptr_eq(other, watched));
    }
}

/// A statement that is about to have a process, until this is dropped.
struct Starting {
    pool: Arc<Pool>,
    _beyond: Option<OwnedSemaphorePermit>,
}

impl Starting {
    fn new(pool: &Arc<Pool>, beyond: Option<OwnedSemaphorePermit>) -> Self {
        pool.starting.fetch_add(1, Ordering::Relaxed);
        Self {
            pool: Arc::clone(pool),
            _beyond: beyond,
        }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.pool.starting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Ends statements where all together hold more than they may: as many as it takes. Processes that wait for one go first.
fn look_at_memory(pool: &Weak<Pool>, limit: u64) {
    // The priority is that of this thread only. Where raising it is not permitted, the thread has the normal one.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, PROMPT);
    let mut disk_seen = Instant::now();
    loop {
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let at_work = lock(&pool.at_work).clone();
        if at_work.is_empty() {
            drop(pool);
            std::thread::park_timeout(REST);
            continue;
        }
        if disk_seen.elapsed() >= REST {
            pool.look_at_disk(&at_work);
            disk_seen = Instant::now();
        }
        // Ended processes already return their memory, and those of trivial statements have too little to matter.
        let held = at_work.iter();
        let held = held.filter(|watched| !watched.is_over() && !watched.is_of_constant());
        let held = held.map(|watched| {
            let place = watched
                .holder()
                .and_then(|holder| pool.turns.place_of(&holder));
            Held {
                bytes: watched.own_bytes(),
                place,
                is_new: watched.is_new(),
                process: watched,
            }
        });
        let held: Vec<_> = held.collect();
        let all = held.iter().map(|one| one.bytes);
        let all = all.fold(0, u64::saturating_add);
        let starting = pool.starting.load(Ordering::Relaxed);
        let starting = starting.saturating_mul(BASE_BYTES);
        let limit = pool.left(limit).saturating_sub(starting);
        if all.saturating_add(pool.idle_bytes()) > limit {
            pool.end_idle();
        }
        for watched in victims(held, limit) {
            // The client gets the reason in place of its rows.
            watched.end_for(Shortage::Memory);
        }
        drop(pool);
        std::thread::sleep(match all > limit / 2 {
            true => LOOK_AGAIN,
            false => POLL_INTERVAL,
        });
    }
}

/// A process that runs a statement. When this is dropped before its end, the process is asked to cancel the statement, and killed
/// when it does not.
#[derive(Debug)]
pub(super) struct BusyProcess {
    pool: Arc<Pool>,
    link: Option<Link>,
    priority: Arc<Priority>,
    pub(super) is_done: bool,
    /// Its statement goes on behind its end.
    is_occupied: bool,
    pub(super) grace: Duration,
    /// The folders that its statement may be writing into.
    pub(super) written: Vec<PathBuf>,
}

impl BusyProcess {
    pub(super) fn link(&mut self) -> Result<&mut Link, Failure> {
        self.link.as_mut().ok_or_else(|| broken("it has ended"))
    }

    pub(super) async fn next(&mut self) -> Result<Received, Failure> {
        let (turns, holder) = (Arc::clone(&self.pool.turns), self.priority.holder());
        let octets = Octets::Counted(&turns, &holder);
        let mut next = self.link()?.next(octets).await;
        if let Ok((Reply::Occupied, ..)) = next {
            self.is_occupied = true;
            next = self.link()?.next(octets).await;
        }
        match next {
            Ok((Reply::Failed(failure), ..)) => {
                if failure.kind == FailureKind::Internal {
                    self.pool.panics.fetch_add(1, Ordering::Relaxed);
                }
                self.is_done = true;
                self.link()?.session = None;
                Err(failure)
            }
            Err(failure) => {
                self.lose();
                Err(failure)
            }
            Ok(reply) => Ok(reply),
        }
    }

    /// Lets a process go that takes no statement any more.
    pub(super) fn lose(&mut self) {
        if let Some(link) = self.link.take() {
            self.pool.count_lost(&link.watched, self.is_occupied);
            let written = std::mem::take(&mut self.written);
            let pool = Arc::clone(&self.pool);
            self.pool.threads.spawn(pool.end(link, written));
        }
    }
}

impl Drop for BusyProcess {
    fn drop(&mut self) {
        if self.is_done && self.is_occupied {
            return self.lose();
        }
        let Some(mut link) = self.link.take() else {
            return;
        };
        let pool = Arc::clone(&self.pool);
        let is_low = self.priority.is_low();
        if self.is_done {
            pool.forget(&link.watched);
            match is_low {
                true => pool.refill(),
                false => pool.put_back(link),
            }
            return;
        }
        let grace = self.grace;
        let written = std::mem::take(&mut self.written);
        link.session = None;
        self.pool.threads.spawn(async move {
            let cancelled = link.cancel(grace).await;
            if cancelled != Cancelled::Free {
                pool.count_lost(&link.watched, cancelled == Cancelled::Occupied);
                pool.end(link, written).await;
                return;
            }
            pool.forget(&link.watched);
            match is_low {
                true => pool.refill(),
                false => pool.put_back(link),
            }
        });
    }
}

/// Processes that wait for statements.
const IDLE_MAX: usize = 4;
/// Processes that are started to wait for statements: for any, and for one that is known to be soon over.
const AT_REST: usize = 2;
/// The time to wait for the process reserved for trivial statements before another is started.
const SPARE_WITHIN: Duration = Duration::from_secs(1);
/// Octets that a process that has just been started may take.
const FRESH_BYTES: u64 = 4 << 20;
/// Octets of a process before its first statement.
const BASE_BYTES: u64 = 16 << 20;
/// Statements that start at once where there is no memory for them.
const BEYOND_MAX: usize = 2;
/// The number of checks for memory before another process starts.
const ROOM_LOOKS: u32 = 15;
/// The same for a statement that is known to be soon over.
const SHORT_LOOKS: u32 = 2;
/// The interval in which the memory of running processes is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// The same where they hold more than half of what they may.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The interval in which the thread checks whether the server still exists while nothing runs, and how much is free on the disk.
const REST: Duration = Duration::from_secs(1);
/// The time in which a process has to cancel a statement whose client has gone.
const GRACE: Duration = Duration::from_millis(250);
