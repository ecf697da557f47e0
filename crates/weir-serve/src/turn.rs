//! Turns of statements: so many of them compute at once, and the others wait.
//!
//! A statement whose client has not taken the rows that are there computes nothing. It gives its turn back, and gets in line
//! again when there is room for more rows, so that clients that read slowly, or not at all, keep no other from being answered.
//! The rows that wait for clients are counted: where there are too many, the statement that has waited longest is ended.
//!
//! A statement that has a process of its own and has computed for a while steps aside where others wait: it goes on, beside those that have
//! a turn and with less of the processor, so that statements that take long, or never end, keep no short one from being answered.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore, mpsc};

/// The turns of a server.
#[derive(Debug)]
pub(crate) struct Turns {
    free: Arc<Semaphore>,
    at_once: u32,
    /// Statements that wait for a turn.
    in_line: AtomicUsize,
    /// Places of statements that have stepped aside.
    aside: Arc<Semaphore>,
    queue: Mutex<Queue>,
    /// Statements that wait for their clients.
    waiting_max: usize,
    /// Bytes of rows that wait for their clients.
    bytes_max: usize,
}

/// Statements whose rows wait for their clients.
#[derive(Debug, Default)]
struct Queue {
    bytes: usize,
    next: u64,
    /// In the order in which they began to wait.
    waiting: BTreeMap<u64, Arc<Notify>>,
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
    /// So many statements compute at once, and so many bytes of rows wait for clients, of so many statements at most.
    pub(crate) fn new(at_once: usize, bytes_max: usize, waiting_max: Option<usize>) -> Arc<Self> {
        let at_once = at_once.clamp(1, Semaphore::MAX_PERMITS.min(1 << 20));
        Arc::new(Self {
            free: Arc::new(Semaphore::new(at_once)),
            at_once: u32::try_from(at_once).unwrap_or(u32::MAX),
            in_line: AtomicUsize::new(0),
            aside: Arc::new(Semaphore::new(ASIDE_MAX)),
            queue: Mutex::default(),
            waiting_max: waiting_max
                .unwrap_or(usize::MAX)
                .min(at_once.saturating_mul(WAITING_SHARE)),
            bytes_max,
        })
    }

    /// Waits for a turn.
    pub(crate) async fn take(self: &Arc<Self>) -> Result<Turn, AcquireError> {
        let permit = self.permit().await?;
        Ok(Turn {
            turns: Arc::clone(self),
            permit: Arc::new(Mutex::new(Some(permit))),
            aside: Mutex::default(),
        })
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        let _in_line = InLine::new(&self.in_line);
        Arc::clone(&self.free).acquire_owned().await
    }

    /// Waits until no statement has a turn.
    pub(crate) async fn all_given_back(&self) {
        // It cannot be closed: it is as long as this is.
        let _ = self.free.acquire_many(self.at_once).await;
    }

    /// Ends the statement that has waited longest for its client; false when none waits.
    pub(crate) fn end_longest_waiting(&self) -> bool {
        let first = self.queue().waiting.pop_first();
        match first {
            Some((_, ended)) => {
                ended.notify_one();
                true
            }
            None => false,
        }
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
            let first = queue.waiting.pop_first();
            let (_, ended) = first.ok_or(Unsent::Displaced)?;
            ended.notify_one();
        }
        queue.bytes = wanted;
        Ok(Counted {
            turns: Arc::clone(self),
            bytes,
        })
    }

    /// Enters a statement into the list of those that wait for their clients.
    fn wait(self: &Arc<Self>) -> Waiting {
        let ended = Arc::new(Notify::new());
        let mut queue = self.queue();
        if queue.waiting.len() >= self.waiting_max
            && let Some((_, first)) = queue.waiting.pop_first()
        {
            first.notify_one();
        }
        let number = queue.next;
        queue.next = number.wrapping_add(1);
        queue.waiting.insert(number, Arc::clone(&ended));
        Waiting {
            turns: Arc::clone(self),
            number,
            ended,
        }
    }
}

/// Rows that are on their way to a client, until they are dropped.
#[derive(Debug)]
pub(crate) struct Counted {
    turns: Arc<Turns>,
    bytes: usize,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut queue = self.turns.queue();
        queue.bytes = queue.bytes.saturating_sub(self.bytes);
    }
}

/// A statement that waits for its client, until it is dropped.
struct Waiting {
    turns: Arc<Turns>,
    number: u64,
    ended: Arc<Notify>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.turns.queue().waiting.remove(&self.number);
    }
}

/// The turn of a statement.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Arc<Turns>,
    permit: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    /// Its place among those that have stepped aside.
    aside: Mutex<Option<OwnedSemaphorePermit>>,
}

/// Gives a turn back when it is dropped, whatever the statement is doing: planning cannot be interrupted.
#[derive(Debug)]
pub(crate) struct GiveBack(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl Drop for GiveBack {
    fn drop(&mut self) {
        drop(release(&self.0));
    }
}

fn release(permit: &Mutex<Option<OwnedSemaphorePermit>>) -> Option<OwnedSemaphorePermit> {
    permit.lock().unwrap_or_else(PoisonError::into_inner).take()
}

impl Drop for Turn {
    fn drop(&mut self) {
        drop(release(&self.permit));
    }
}

impl Turn {
    /// What gives this turn back.
    pub(crate) fn give_back(&self) -> GiveBack {
        GiveBack(Arc::clone(&self.permit))
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
        let item = item(self.turns.count(bytes)?);
        let item = match to.try_send(item) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(Unsent::Gone),
            Err(TrySendError::Full(item)) => item,
        };
        drop(release(&self.permit));
        let waiting = self.turns.wait();
        let room = tokio::select! {
            room = to.reserve() => room.map_err(|_| Unsent::Gone)?,
            () = waiting.ended.notified() => return Err(Unsent::Displaced),
        };
        drop(waiting);
        room.send(item);
        if self.is_aside() {
            return Ok(());
        }
        let permit = self.turns.permit().await.map_err(|_| Unsent::Gone)?;
        let mut place = self.permit.lock().unwrap_or_else(PoisonError::into_inner);
        *place = Some(permit);
        Ok(())
    }
}

impl Turn {
    fn is_aside(&self) -> bool {
        let aside = self.aside.lock().unwrap_or_else(PoisonError::into_inner);
        aside.is_some()
    }

    /// Gives the turn to another, once that waits and this one has computed for a while. The statement goes on.
    pub(crate) async fn step_aside(&self) {
        loop {
            tokio::time::sleep(SLICE).await;
            if self.turns.in_line.load(Ordering::Relaxed) == 0 {
                continue;
            }
            // Where too many have stepped aside, turns are kept.
            let Ok(place) = Arc::clone(&self.turns.aside).try_acquire_owned() else {
                continue;
            };
            // One that waits for its client has no turn, and needs none when it goes on.
            *self.aside.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
            drop(release(&self.permit));
            return;
        }
    }
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

/// How long a statement computes before it steps aside for those that wait.
const SLICE: Duration = Duration::from_millis(500);
/// Statements that have stepped aside.
const ASIDE_MAX: usize = 64;
/// Statements that may wait for their clients for each that may compute.
const WAITING_SHARE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn free(turns: &Turns) -> usize {
        turns.free.available_permits()
    }

    #[tokio::test]
    async fn who_waits_for_a_client_has_no_turn() {
        let turns = Turns::new(1, 1000, None);
        let (sender, mut receiver) = mpsc::channel(1);
        let turn = turns.take().await.unwrap();
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
        let other = turns.take().await.unwrap();
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
            let turn = turns.take().await.unwrap();
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
        let turn = turns.take().await.unwrap();
        turn.hand_on(&sender, 50, |counted| counted).await.unwrap();
        assert_eq!(tasks.remove(0).await.unwrap(), Err(Unsent::Displaced));
        let second = tokio::time::timeout(Duration::from_millis(10), &mut tasks[0]).await;
        assert!(second.is_err(), "the second waits on");
        // What the first had in its channel is freed with its answer.
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
        let long = Arc::new(turns.take().await.unwrap());
        let aside = tokio::spawn({
            let long = Arc::clone(&long);
            async move { long.step_aside().await }
        });
        // There is one turn: this waits until the other has stepped aside.
        let other = turns.take().await.unwrap();
        aside.await.unwrap();
        // It goes on without a turn, and hands its rows on.
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

    #[tokio::test]
    async fn so_many_wait_at_most() {
        let turns = Turns::new(1, 1 << 20, None);
        let mut kept = Vec::new();
        for _ in 0..=WAITING_SHARE {
            kept.push(turns.wait());
        }
        assert_eq!(turns.queue().waiting.len(), WAITING_SHARE);
        kept[0].ended.notified().await;
    }
}
