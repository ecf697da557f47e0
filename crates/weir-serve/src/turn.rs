//! Turns of statements: so many of them compute at once, and the others wait.
//!
//! A statement whose client has not taken the rows that are there computes nothing. It gives its turn back, and gets in line
//! again when there is room for more rows, so that clients that read slowly, or not at all, keep no other from being answered.
//! The rows that wait for clients are counted: where there are too many, the statement that has waited longest is ended.
//!
//! Rows of a process are counted before they are read, with all that becomes of them on their way to the client, until the client has
//! them: a statement reads on when there is room. A holder ([`Holder`]) is a statement with such rows. Where others
//! want room that it has kept for a while, it is ended, and its connection with it if the client takes nothing.
//!
//! A statement that has a process of its own and has computed for a while steps aside where others wait: it goes on,
//! beside those that have a turn and with less of the processor, so that statements that take long, or never end, keep
//! no short one from being answered. A statement without room for its rows computes nothing, and gives up its permit at
//! once.
//!
//! Statements of values alone ([`is_constant`](crate::constant::is_constant)) have turns of their own where others have all: as many as wait, they are not behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::oneshot::error::RecvError;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

use crate::activity::{CloseReason, ConnectionActivity, RunningStatement};
use crate::known::KnownStatements;
use crate::line::{Line, Permit, Rank};

/// The turns of a server.
#[derive(Debug)]
pub(crate) struct Turns {
    free: Arc<Line>,
    /// The permits of statements of values alone.
    of_constants: Arc<Line>,
    /// Statements that were soon over.
    pub(crate) known: KnownStatements,
    /// Statements that wait for a turn.
    in_line: AtomicUsize,
    /// Places of statements that have stepped aside.
    aside: Arc<Semaphore>,
    queue: Mutex<Queue>,
    /// Statements that wait for their clients.
    waiting_max: usize,
    /// Bytes of rows that wait for their clients.
    bytes_max: usize,
    /// The time for which a statement may keep rows that its client does not take while others need the room.
    kept_for: Duration,
    /// Tells that there is more room for rows.
    freed: Notify,
}

/// Statements whose rows wait for their clients.
#[derive(Debug, Default)]
struct Queue {
    bytes: usize,
    next: u64,
    /// The waiting statements, in the order in which they began to wait.
    waiting: BTreeMap<u64, QueuedStatement>,
    /// The statements that want room for rows, the smallest first. Statements that have rows on their way come behind
    /// those that have none.
    wanting: BTreeSet<(bool, usize, u64)>,
}

/// A statement in the list of those that wait.
#[derive(Debug)]
struct QueuedStatement {
    since: Instant,
    holder: Arc<Holder>,
    /// Bytes of rows that it holds; `None` where it waits to hand some on.
    bytes: Option<usize>,
}

impl Queue {
    /// Adds a waiting statement.
    fn enter(&mut self, holder: &Arc<Holder>, bytes: Option<usize>) -> u64 {
        let number = self.number();
        let entry = QueuedStatement {
            since: Instant::now(),
            holder: Arc::clone(holder),
            bytes,
        };
        self.waiting.insert(number, entry);
        number
    }

    fn number(&mut self) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }

    /// The statement that has waited longest, at least so long, and has not been ended.
    fn longest_waiting(&self, at_least: Duration) -> Option<Arc<Holder>> {
        let mut entries = self.waiting.values();
        let first = entries.find(|entry| !entry.holder.is_ended())?;
        (first.since.elapsed() >= at_least).then(|| Arc::clone(&first.holder))
    }

    /// Whether rows of a statement are on their way to its client.
    fn has_rows(&self, holder: &Arc<Holder>) -> bool {
        let mut entries = self.waiting.values();
        entries.any(|entry| entry.bytes.is_some() && Arc::ptr_eq(&entry.holder, holder))
    }

    /// Statements that wait to hand rows on.
    fn handing_on(&self) -> usize {
        let entries = self.waiting.values();
        let waits = |entry: &&QueuedStatement| entry.bytes.is_none() && !entry.holder.is_ended();
        entries.filter(waits).count()
    }

    /// Bytes of rows of statements that were ended, and that are about to be freed.
    fn leaving(&self) -> usize {
        let ended = self
            .waiting
            .values()
            .filter(|entry| entry.holder.is_ended());
        let bytes = ended.filter_map(|entry| entry.bytes);
        bytes.fold(0, usize::saturating_add)
    }
}

/// A statement whose rows may have to make room for those of others.
#[derive(Debug, Default)]
pub(crate) struct Holder {
    is_ended: AtomicBool,
    ended: Notify,
    /// There is no room for its next rows.
    wants_room: AtomicBool,
    /// The connection of its client.
    connection: OnceLock<Arc<ConnectionActivity>>,
}

impl Holder {
    /// Sets the connection of its client, which is closed if the client takes nothing when the statement is ended.
    pub(crate) fn set_connection(&self, connection: Arc<ConnectionActivity>) {
        // A statement has one client.
        let _ = self.connection.set(connection);
    }

    /// Counts the statement as running for its client until the returned guard is dropped.
    fn running_statement(&self) -> Option<RunningStatement> {
        self.connection.get().map(ConnectionActivity::running)
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Relaxed)
    }

    /// Waits until the statement is to end.
    pub(crate) async fn ended(&self) {
        let ended = self.ended.notified();
        tokio::pin!(ended);
        // Notifications from here on are received.
        ended.as_mut().enable();
        if !self.is_ended() {
            ended.await;
        }
    }

    /// Ends the statement. Its rows are dropped when the client asks for more, or when the connection is closed.
    pub(crate) fn end(self: &Arc<Self>) {
        self.is_ended.store(true, Ordering::Relaxed);
        self.ended.notify_waiters();
        let Some(connection) = self.connection.get().cloned() else {
            return;
        };
        let holder = Arc::downgrade(self);
        let closes = async move {
            tokio::time::sleep(CLOSED_AFTER).await;
            if holder.strong_count() > 0 {
                connection.close(CloseReason::UnreadRows);
            }
        };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(closes);
        }
    }
}

/// What is known of a statement before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// It has values alone.
    Constant,
    /// It was soon over when it ran before.
    Short,
    Other,
}

/// Why rows were not handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsent {
    /// The client has gone.
    Gone,
    /// Too many rows wait for clients, and these have waited longest.
    Displaced,
}

impl Turns {
    /// The number of statements that compute at the same time, and the maximum of bytes of rows that wait for clients, and of their
    /// statements.
    pub(crate) fn new(at_once: usize, bytes_max: usize, waiting_max: Option<usize>) -> Arc<Self> {
        Self::keeping(at_once, bytes_max, waiting_max, KEPT_FOR)
    }

    fn keeping(
        at_once: usize,
        bytes_max: usize,
        waiting_max: Option<usize>,
        kept_for: Duration,
    ) -> Arc<Self> {
        let at_once = at_once.clamp(1, 1 << 20);
        // Statements that have a process each start it when they begin.
        let (begin_at_once, reserved) = match waiting_max {
            Some(_) => (cores().saturating_add(MORE_BEGIN), RESERVED),
            None => (usize::MAX, 0),
        };
        Arc::new(Self {
            free: Line::new(at_once, begin_at_once, reserved),
            of_constants: Line::new(CONSTANTS_AT_ONCE, usize::MAX, 0),
            known: KnownStatements::default(),
            in_line: AtomicUsize::new(0),
            aside: Arc::new(Semaphore::new(ASIDE_MAX)),
            queue: Mutex::default(),
            waiting_max: waiting_max
                .unwrap_or(usize::MAX)
                .min(at_once.saturating_mul(WAITING_SHARE)),
            bytes_max,
            kept_for,
            freed: Notify::new(),
        })
    }

    /// Waits for a turn of a statement that begins, of a client that had its last turn at this time.
    pub(crate) async fn take(
        self: &Arc<Self>,
        rank: Rank,
        served: Option<Instant>,
    ) -> Result<Turn, RecvError> {
        let permit = self.permit(rank, served).await?;
        Ok(self.turn(permit))
    }

    /// Whether statements wait for a turn.
    pub(crate) fn has_line(&self) -> bool {
        self.in_line.load(Ordering::Relaxed) > 0
    }

    /// Waits for a turn of a statement of values alone.
    pub(crate) async fn take_for_constant(self: &Arc<Self>) -> Result<Turn, RecvError> {
        let permit = tokio::select! {
            biased;
            permit = self.free.take(Rank::InOrder, None) => permit?,
            permit = self.of_constants.take(Rank::InOrder, None) => permit?,
        };
        Ok(self.turn(permit))
    }

    fn turn(self: &Arc<Self>, permit: Permit) -> Turn {
        Turn {
            begun: Instant::now(),
            turns: Arc::clone(self),
            permit: Arc::new(Mutex::new(Some(permit))),
            is_aside: AtomicBool::new(false),
            aside: Mutex::default(),
            holder: Arc::default(),
            running_statement: Mutex::default(),
        }
    }

    async fn permit(&self, rank: Rank, served: Option<Instant>) -> Result<Permit, RecvError> {
        let _in_line = InLine::new(&self.in_line);
        self.free.take(rank, served).await
    }

    /// Ends the statement that has waited longest for its client; false when none waits.
    pub(crate) fn end_longest_waiting(&self) -> bool {
        let first = self.queue().longest_waiting(Duration::ZERO);
        first.as_ref().map(Holder::end).is_some()
    }

    /// Bytes of rows on their way to clients.
    pub(crate) fn bytes(&self) -> usize {
        self.queue().bytes
    }

    /// The place of a statement among those that wait for their clients; the lowest has waited longest.
    pub(crate) fn place_of(&self, holder: &Arc<Holder>) -> Option<u64> {
        let queue = self.queue();
        let mut entries = queue.waiting.iter();
        let place = entries.find(|(_, entry)| Arc::ptr_eq(&entry.holder, holder));
        place.map(|(number, _)| *number)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts rows that are about to wait for their client.
    fn count(self: &Arc<Self>, bytes: usize) -> Result<Counted, Unsent> {
        let mut queue = self.queue();
        let wanted = queue.bytes.saturating_add(bytes);
        if wanted > self.bytes_max && queue.bytes > 0 {
            // The rows of those that are ended are freed as soon as their tasks notice it.
            let first = queue.longest_waiting(Duration::ZERO);
            first.ok_or(Unsent::Displaced)?.end();
        }
        queue.bytes = wanted;
        Ok(Counted {
            turns: Arc::clone(self),
            bytes,
            number: None,
        })
    }

    /// Waits until there is room for rows of so many bytes, which are counted then. Statements that want little come
    /// first. A statement that has kept rows for a while is ended for them.
    pub(crate) async fn reserve(self: &Arc<Self>, bytes: usize, holder: &Arc<Holder>) -> Counted {
        let wanting = Wanting::new(self, bytes.min(self.bytes_max), holder);
        let _wants = WantsRoom(holder);
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if let Some(counted) = self.try_reserve(&wanting, holder) {
                return counted;
            }
            holder.wants_room.store(true, Ordering::Relaxed);
            let _ = tokio::time::timeout(POLL_INTERVAL, freed).await;
        }
    }

    fn try_reserve(
        self: &Arc<Self>,
        wanting: &Wanting<'_>,
        holder: &Arc<Holder>,
    ) -> Option<Counted> {
        let mut queue = self.queue();
        let (_, bytes, _) = wanting.key;
        if queue.wanting.first() != Some(&wanting.key) {
            return None;
        }
        let wanted = queue.bytes.saturating_add(bytes);
        if wanted > self.bytes_max {
            // A statement whose own client has not taken its rows yet waits for that client.
            if wanted.saturating_sub(queue.leaving()) > self.bytes_max
                && !queue.has_rows(holder)
                && let Some(longest) = queue.longest_waiting(self.kept_for)
            {
                longest.end();
            }
            return None;
        }
        queue.bytes = wanted;
        let number = queue.enter(holder, Some(bytes));
        Some(Counted {
            turns: Arc::clone(self),
            bytes,
            number: Some(number),
        })
    }

    /// Enters a statement into the list of those that wait for their clients.
    fn wait(self: &Arc<Self>, holder: &Arc<Holder>) -> ClientWait {
        let mut queue = self.queue();
        if queue.handing_on() >= self.waiting_max
            && let Some(first) = queue.longest_waiting(Duration::ZERO)
        {
            first.end();
        }
        let number = queue.enter(holder, None);
        ClientWait {
            turns: Arc::clone(self),
            number,
        }
    }
}

/// A statement that may want room for rows, until this is dropped.
struct WantsRoom<'h>(&'h Holder);

impl Drop for WantsRoom<'_> {
    fn drop(&mut self) {
        self.0.wants_room.store(false, Ordering::Relaxed);
    }
}

/// Room that is wanted for rows, until this is dropped.
struct Wanting<'t> {
    turns: &'t Turns,
    key: (bool, usize, u64),
}

impl<'t> Wanting<'t> {
    fn new(turns: &'t Turns, bytes: usize, holder: &Arc<Holder>) -> Self {
        let mut queue = turns.queue();
        let key = (queue.has_rows(holder), bytes, queue.number());
        queue.wanting.insert(key);
        Self { turns, key }
    }
}

impl Drop for Wanting<'_> {
    fn drop(&mut self) {
        self.turns.queue().wanting.remove(&self.key);
        // The next one may find room.
        self.turns.freed.notify_waiters();
    }
}

/// Rows that are on their way to a client, until they are dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    turns: Arc<Turns>,
    bytes: usize,
    /// The number among those that wait, if its statement can be ended for others.
    number: Option<u64>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut queue = self.turns.queue();
        queue.bytes = queue.bytes.saturating_sub(self.bytes);
        if let Some(number) = self.number {
            queue.waiting.remove(&number);
        }
        drop(queue);
        self.turns.freed.notify_waiters();
    }
}

/// A statement that waits for its client, until it is dropped.
struct ClientWait {
    turns: Arc<Turns>,
    number: u64,
}

impl Drop for ClientWait {
    fn drop(&mut self) {
        self.turns.queue().waiting.remove(&self.number);
    }
}

/// The turn of a statement.
#[derive(Debug)]
pub(crate) struct Turn {
    begun: Instant,
    turns: Arc<Turns>,
    permit: Arc<Mutex<Option<Permit>>>,
    is_aside: AtomicBool,
    /// The permit of a turn that has stepped aside and still computes.
    aside: Mutex<Option<OwnedSemaphorePermit>>,
    holder: Arc<Holder>,
    /// Counts as a running statement of the connection, while the statement does not wait for the client.
    running_statement: Mutex<Option<RunningStatement>>,
}

/// Returns a turn when it is dropped, whatever the statement does: planning cannot be interrupted.
#[derive(Debug)]
pub(crate) struct GiveBack(Arc<Mutex<Option<Permit>>>);

impl Drop for GiveBack {
    fn drop(&mut self) {
        drop(release(&self.0));
    }
}

fn release(permit: &Mutex<Option<Permit>>) -> Option<Permit> {
    permit.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(release(&self.permit));
        if let Some(connection) = self.holder.connection.get() {
            connection.statement_took(self.begun.elapsed());
        }
    }
}

impl Turn {
    /// The guard that returns this turn.
    pub(crate) fn give_back(&self) -> GiveBack {
        GiveBack(Arc::clone(&self.permit))
    }

    /// Names the connection of the client that the statement runs for.
    pub(crate) fn set_connection(&self, connection: &Arc<ConnectionActivity>) {
        self.holder.set_connection(Arc::clone(connection));
        self.set_running_statement(self.holder.running_statement());
    }

    /// The time for which the statement has the turn, or has gone on without it.
    pub(crate) fn held_for(&self) -> Duration {
        self.begun.elapsed()
    }

    /// The statement has a process and a plan: another one may begin.
    pub(crate) fn has_begun(&self) {
        let mut permit = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permit) = permit.as_mut() {
            permit.has_begun();
        }
    }

    fn set_running_statement(&self, running_statement: Option<RunningStatement>) {
        *self
            .running_statement
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = running_statement;
    }

    /// The statement, for those that make it end.
    pub(crate) const fn holder(&self) -> &Arc<Holder> {
        &self.holder
    }

    /// Hands rows of so many bytes on to the client. While there is no room for them, others have the turn.
    ///
    /// # Errors
    /// When the client has gone, or too many rows wait for clients and these have waited longest.
    pub(crate) async fn hand_on<T>(
        &self,
        to: &mpsc::Sender<T>,
        bytes: usize,
        item: impl FnOnce(Counted) -> T,
    ) -> Result<(), Unsent> {
        let counted = self.turns.count(bytes)?;
        self.hand_on_counted(to, item(counted)).await
    }

    /// Hands on what is counted already, or needs not to be.
    ///
    /// # Errors
    /// As [`Self::hand_on`].
    pub(crate) async fn hand_on_counted<T>(
        &self,
        to: &mpsc::Sender<T>,
        item: T,
    ) -> Result<(), Unsent> {
        let item = match to.try_send(item) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(Unsent::Gone),
            Err(TrySendError::Full(item)) => item,
        };
        drop(release(&self.permit));
        let waiting = self.turns.wait(&self.holder);
        self.set_running_statement(None);
        let room = tokio::select! {
            room = to.reserve() => room.map_err(|_| Unsent::Gone)?,
            () = self.holder.ended() => return Err(Unsent::Displaced),
        };
        drop(waiting);
        self.set_running_statement(self.holder.running_statement());
        room.send(item);
        if self.is_aside.load(Ordering::Relaxed) {
            return Ok(());
        }
        let permit = self.turns.permit(Rank::InOrder, None).await;
        let permit = permit.map_err(|_| Unsent::Gone)?;
        let mut place = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(permit);
        Ok(())
    }
}

impl Turn {
    /// Passes the turn on once a statement waits for one and this one has computed for a while or lacks room for its rows. The
    /// statement continues. `computed_for` says for how long it has a process; one that waits for that computes nothing, and would only
    /// make another wait for the next.
    pub(crate) async fn step_aside(
        &self,
        kind: StatementKind,
        computed_for: impl Fn() -> Option<Duration>,
    ) {
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            let wants_room = self.holder.wants_room.load(Ordering::Relaxed);
            let is_over = has_computed_long(kind, computed_for());
            let is_due = wants_room || is_over || self.begun.elapsed() >= STARTS_WITHIN;
            if !is_due || !self.turns.has_line() {
                continue;
            }
            // The turn stays when too many computing statements have stepped aside.
            let place = Arc::clone(&self.turns.aside).try_acquire_owned().ok();
            if place.is_none() && !wants_room {
                continue;
            }
            // A statement that waits for its client has no turn, and needs none when it continues.
            *self.aside.lock().unwrap_or_else(PoisonError::into_inner) = place;
            self.is_aside.store(true, Ordering::Relaxed);
            drop(release(&self.permit));
            return;
        }
    }
}

/// Whether a statement of a kind that has had a process for this time is to step aside for others.
fn has_computed_long(kind: StatementKind, computed_for: Option<Duration>) -> bool {
    let slice = match kind {
        StatementKind::Other => SLICE,
        StatementKind::Constant | StatementKind::Short => SLICE_OF_SHORT,
    };
    computed_for.is_some_and(|time| time >= slice)
}

/// The cores that processes have.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// One more in a line, until it is dropped.
struct InLine<'l>(&'l AtomicUsize);

impl<'l> InLine<'l> {
    fn new(line: &'l AtomicUsize) -> Self {
        line.fetch_add(1, Ordering::Relaxed);
        Self(line)
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The time that a statement computes before it steps aside for waiting ones.
const SLICE: Duration = Duration::from_millis(500);
/// The same of one that is expected to be soon over, and takes longer where the machine is busy: behind those that have stepped aside it
/// would take seconds.
const SLICE_OF_SHORT: Duration = Duration::from_millis(2500);
/// The time in which a statement has a process, or gives its turn to others nevertheless.
const STARTS_WITHIN: Duration = Duration::from_secs(3);
/// Statements that begin at the same time, beside one for each core and one that is known to be soon over.
const MORE_BEGIN: usize = 1;
/// Statements that are known to be soon over, beside those that compute at the same time.
const RESERVED: usize = 1;
/// Statements that have stepped aside.
const ASIDE_MAX: usize = 64;
/// Statements of values alone that have turns of their own.
const CONSTANTS_AT_ONCE: usize = 2;
/// Statements that may wait for their clients for each that may compute.
const WAITING_SHARE: usize = 16;
/// The time that a statement may keep the room of its rows from others. A client takes some seconds for one of tens of megabytes.
const KEPT_FOR: Duration = Duration::from_secs(2);
/// The interval at which a statement that wants room checks for one that has kept rows too long, and a computing statement checks
/// for waiting ones.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The time in which the client of an ended statement has to take the error, before its connection is closed.
const CLOSED_AFTER: Duration = Duration::from_millis(250);

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn free(turns: &Turns) -> usize {
        turns.free.free()
    }

    #[tokio::test]
    async fn who_waits_for_a_client_has_no_turn() {
        let turns = Turns::new(1, 1000, None);
        let (sender, mut receiver) = mpsc::channel(1);
        let turn = turns.take(Rank::Begins, None).await.unwrap();
        turn.hand_on(&sender, 10, |counted| (1, counted))
            .await
            .unwrap();
        assert_eq!(free(&turns), 0);
        let waits = tokio::spawn(async move {
            turn.hand_on(&sender, 10, |counted| (2, counted))
                .await
                .unwrap();
            (turn, sender)
        });
        // Another has its turn meanwhile.
        let other = turns.take(Rank::Begins, None).await.unwrap();
        assert_eq!(turns.queue().bytes, 20);
        assert_eq!(receiver.recv().await.unwrap().0, 1);
        // The second comes without a turn: it is there.
        assert_eq!(receiver.recv().await.unwrap().0, 2);
        assert_eq!(turns.queue().bytes, 0);
        drop(other);
        let (turn, sender) = waits.await.unwrap();
        assert_eq!((free(&turns), turns.queue().waiting.len()), (0, 0));
        drop(receiver);
        let gone = turn.hand_on(&sender, 10, |counted| (3, counted)).await;
        assert_eq!(gone, Err(Unsent::Gone));
        drop(turn.give_back());
        assert_eq!((free(&turns), turns.queue().bytes), (1, 0));
    }

    #[tokio::test]
    async fn the_one_that_has_waited_longest_makes_room() {
        let turns = Turns::new(2, 100, None);
        let mut tasks = Vec::new();
        let mut receivers = Vec::new();
        for _ in 0..2 {
            let (sender, receiver) = mpsc::channel(1);
            receivers.push(receiver);
            let turn = turns.take(Rank::Begins, None).await.unwrap();
            turn.hand_on(&sender, 20, |counted| counted).await.unwrap();
            let before = turns.queue().next;
            tasks.push(tokio::spawn(async move {
                turn.hand_on(&sender, 20, |counted| counted).await
            }));
            while turns.queue().next == before {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!((free(&turns), turns.queue().bytes), (2, 80));
        let (sender, _receiver) = mpsc::channel(1);
        let turn = turns.take(Rank::Begins, None).await.unwrap();
        turn.hand_on(&sender, 50, |counted| counted).await.unwrap();
        assert_eq!(tasks.remove(0).await.unwrap(), Err(Unsent::Displaced));
        let second = tokio::time::timeout(Duration::from_millis(10), &mut tasks[0]).await;
        assert!(second.is_err(), "the second waits on");
        // The rows of the first in its channel are freed with its answer.
        assert_eq!(turns.queue().bytes, 110);
        drop(receivers.remove(0));
        assert_eq!(turns.queue().bytes, 90);
        // Only the second statement can be ended now, and then the new one itself.
        let (closed, other) = mpsc::channel(1);
        drop(other);
        let gone = turn.hand_on(&closed, 50, |counted| counted).await;
        assert_eq!(gone, Err(Unsent::Gone));
        assert_eq!(tasks.remove(0).await.unwrap(), Err(Unsent::Displaced));
        let full = turn.hand_on(&sender, 50, |counted| counted).await;
        assert_eq!(full, Err(Unsent::Displaced));
    }

    #[tokio::test]
    async fn one_that_takes_long_steps_aside_for_those_that_wait() {
        let turns = Turns::new(1, 1000, None);
        let long = Arc::new(turns.take(Rank::Begins, None).await.unwrap());
        let aside = tokio::spawn({
            let long = Arc::clone(&long);
            async move { long.step_aside(StatementKind::Other, || Some(SLICE)).await }
        });
        // There is one turn: this waits until the other has stepped aside.
        let other = turns.take(Rank::Begins, None).await.unwrap();
        aside.await.unwrap();
        // The statement continues without a turn, and passes its rows on.
        let (sender, mut receiver) = mpsc::channel(1);
        for number in 0..2 {
            let sent = long.hand_on(&sender, 10, |counted| (number, counted));
            let taken = async {
                match number {
                    0 => None,
                    _ => receiver.recv().await,
                }
            };
            let (sent, _) = tokio::join!(sent, taken);
            sent.unwrap();
        }
        assert_eq!(turns.aside.available_permits(), ASIDE_MAX - 1);
        drop(long);
        assert_eq!(turns.aside.available_permits(), ASIDE_MAX);
        drop(other);
        assert_eq!(free(&turns), 1);
    }

    /// A statement that was known to be soon over went behind all that compute for long once it had taken half a second.
    #[test]
    fn one_that_is_expected_to_be_short_has_time_before_it_steps_aside() {
        use StatementKind::{Constant, Other, Short};
        for (kind, time, expected) in [
            (Other, None, false),
            (Other, Some(SLICE / 2), false),
            (Other, Some(SLICE), true),
            (Short, Some(SLICE * 2), false),
            (Constant, Some(SLICE * 2), false),
            (Short, Some(SLICE_OF_SHORT), true),
        ] {
            assert_eq!(has_computed_long(kind, time), expected, "{kind:?} {time:?}");
        }
    }

    /// A hundred statements whose rows had no room kept `SELECT 1` waiting for seconds.
    #[tokio::test]
    async fn one_that_has_no_room_for_its_rows_steps_aside_at_once() {
        let turns = Turns::keeping(1, 100, None, Duration::from_secs(3600));
        let kept = turns.reserve(100, &Arc::default()).await;
        let first = Arc::new(turns.take(Rank::Begins, None).await.unwrap());
        let wants = tokio::spawn({
            let (turns, first) = (Arc::clone(&turns), Arc::clone(&first));
            async move { turns.reserve(50, first.holder()).await }
        });
        while !first.holder().wants_room.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
        // All places of those that compute are taken.
        let places = u32::try_from(ASIDE_MAX).unwrap();
        let all = Arc::clone(&turns.aside).acquire_many_owned(places).await;
        let aside = tokio::spawn({
            let first = Arc::clone(&first);
            async move { first.step_aside(StatementKind::Other, || None).await }
        });
        let second = turns.take(Rank::Begins, None).await.unwrap();
        aside.await.unwrap();
        drop(kept);
        drop(wants.await.unwrap());
        assert!(!first.holder().wants_room.load(Ordering::Relaxed));
        // The statement continues without a turn.
        let (sender, mut receiver) = mpsc::channel(1);
        first.hand_on_counted(&sender, 1).await.unwrap();
        let (sent, taken) = tokio::join!(first.hand_on_counted(&sender, 2), receiver.recv());
        assert_eq!((sent, taken), (Ok(()), Some(1)));
        drop((second, all));
        assert_eq!(free(&turns), 1);
    }

    #[tokio::test]
    async fn statements_of_values_alone_are_behind_no_others() {
        let turns = Turns::new(1, 1000, None);
        let first = turns.take_for_constant().await.unwrap();
        assert_eq!(free(&turns), 0, "a turn that is free is taken first");
        let mut line = (0..3)
            .map(|_| Box::pin(turns.take(Rank::Begins, None)))
            .collect::<Vec<_>>();
        assert!(
            line.iter_mut()
                .all(|one| one.as_mut().now_or_never().is_none())
        );
        let of_their_own = [
            turns.take_for_constant().await.unwrap(),
            turns.take_for_constant().await.unwrap(),
        ];
        assert!(turns.take_for_constant().now_or_never().is_none());
        drop(of_their_own);
        assert_eq!(turns.of_constants.free(), CONSTANTS_AT_ONCE);
        drop((first, line));
        assert_eq!(free(&turns), 1);
    }

    #[tokio::test]
    async fn rows_are_counted_before_they_are_read_and_small_ones_come_first() {
        let turns = Turns::keeping(1, 100, None, Duration::from_secs(3600));
        let (first, second) = (Arc::default(), Arc::default());
        let kept = turns.reserve(60, &first).await;
        assert_eq!(turns.place_of(&first), Some(1));
        // More than all is all, which is waited for.
        let large = tokio::spawn({
            let (turns, second) = (Arc::clone(&turns), Arc::clone(&second));
            async move { turns.reserve(1000, &second).await }
        });
        while turns.queue().wanting.is_empty() {
            tokio::task::yield_now().await;
        }
        let small = turns.reserve(40, &second).await;
        assert!(!large.is_finished() && !first.is_ended());
        drop((small, kept));
        let counted = large.await.unwrap();
        assert_eq!((counted.bytes, turns.queue().bytes), (100, 100));
        drop(counted);
        let queue = turns.queue();
        assert!(queue.waiting.is_empty() && queue.wanting.is_empty() && queue.bytes == 0);
    }

    #[tokio::test]
    async fn rows_that_are_kept_make_room_for_those_of_others() {
        let turns = Turns::keeping(1, 100, None, Duration::ZERO);
        let (first, second, third) = (Arc::default(), Arc::default(), Arc::default());
        let connection = ConnectionActivity::new();
        Holder::set_connection(&first, Arc::clone(&connection));
        let kept = turns.reserve(60, &first).await;
        let taken = turns.reserve(30, &second).await;
        // The second has rows on their way, and waits for its own client.
        assert!(turns.reserve(20, &second).now_or_never().is_none());
        assert!(!first.is_ended());
        // The second statement comes after the third, which has no rows.
        let more = tokio::spawn({
            let (turns, second) = (Arc::clone(&turns), Arc::clone(&second));
            async move { turns.reserve(20, &second).await }
        });
        while turns.queue().wanting.is_empty() {
            tokio::task::yield_now().await;
        }
        let waits = tokio::spawn({
            let (turns, third) = (Arc::clone(&turns), Arc::clone(&third));
            async move { turns.reserve(50, &third).await }
        });
        // The statement that has kept its rows longest is ended, and its connection closed, as its client takes nothing.
        first.ended().await;
        assert_eq!(connection.closed().await, CloseReason::UnreadRows);
        assert!(!waits.is_finished() && !second.is_ended());
        drop((kept, first));
        assert_eq!(waits.await.unwrap().bytes, 50);
        drop(taken);
        assert_eq!(more.await.unwrap().bytes, 20);
    }

    #[tokio::test]
    async fn the_client_of_a_statement_that_was_ended_may_take_its_message() {
        let connection = ConnectionActivity::new();
        let holder = Arc::<Holder>::default();
        holder.set_connection(Arc::clone(&connection));
        holder.end();
        drop(holder);
        // The task that would close it has ended.
        while Arc::strong_count(&connection) > 1 {
            tokio::task::yield_now().await;
        }
        assert!(connection.idle_for().is_some());
    }

    #[tokio::test]
    async fn so_many_wait_at_most() {
        let turns = Turns::new(1, 1 << 20, None);
        let mut kept = Vec::new();
        let holders: Vec<Arc<Holder>> = (0..=WAITING_SHARE).map(|_| Arc::default()).collect();
        for holder in &holders {
            kept.push(turns.wait(holder));
        }
        assert_eq!(turns.queue().handing_on(), WAITING_SHARE);
        holders[0].ended().await;
        assert!(!holders[1].is_ended());
    }
}
