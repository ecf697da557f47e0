//! The line of statements that wait for a turn, and the order in which they have it.
//!
//! The first of the line is the next, with an exception: of so many turns one goes past the line, to a client whose last statement was
//! soon over, or else to the statement that has come last. A hundred clients whose statements came at the same moment, each of which
//! takes a process and computes for a while, would otherwise keep the next client until the last of them has begun.
//!
//! A statement that begins takes more of the processor than one that goes on: a process is started, and a plan is made. Few
//! begin at the same time, so that each of them soon has begun.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::sync::oneshot::{self, error::RecvError};

/// The line for a number of permits.
#[derive(Debug)]
pub(crate) struct Line {
    state: Mutex<LineState>,
    permits: usize,
    /// Tells that a permit was given back.
    given_back: Notify,
}

#[derive(Debug)]
struct LineState {
    free: usize,
    /// Places of statements that begin.
    free_to_begin: usize,
    /// The number of the next statement in the line.
    next: u64,
    /// Permits that went to statements in the line.
    granted: u64,
    waiting: BTreeMap<u64, Waiting>,
}

/// A statement in the line.
#[derive(Debug)]
struct Waiting {
    rank: Rank,
    permit: oneshot::Sender<Permit>,
}

/// What a statement waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// It has begun, or needs nothing to begin: it has its permit in the order of the line.
    InOrder,
    /// It begins, for a client whose last statement was soon over.
    AfterShortOne,
    /// It begins, for another client.
    Begins,
}

impl LineState {
    /// The statement that has the next permit; `None` where no permit is free or no statement is ready for it.
    fn chosen(&self) -> Option<u64> {
        if self.free == 0 {
            return None;
        }
        let may_begin = self.free_to_begin > 0;
        let ready = self.waiting.iter();
        let ready = ready.map(|(number, waiting)| (*number, waiting.rank));
        let mut ready = ready.filter(|(_, rank)| may_begin || *rank == Rank::InOrder);
        let mut others = ready.clone();
        let (first, _) = ready.next()?;
        if !self.granted.is_multiple_of(PAST_THE_LINE_EVERY) {
            return Some(first);
        }
        let after_short_one = others
            .clone()
            .find(|(_, rank)| *rank == Rank::AfterShortOne);
        let chosen = after_short_one.or_else(|| others.rfind(|(_, rank)| *rank == Rank::Begins));
        Some(chosen.map_or(first, |(number, _)| number))
    }
}

impl Line {
    /// A line for so many permits, of which so many are of statements that begin.
    pub(crate) fn new(permits: usize, begin_at_once: usize) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(LineState {
                free: permits,
                free_to_begin: begin_at_once,
                next: 0,
                granted: 0,
                waiting: BTreeMap::new(),
            }),
            permits,
            given_back: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// None: who waits is in the line until it has its permit.
    pub(crate) async fn take(self: &Arc<Self>, rank: Rank) -> Result<Permit, RecvError> {
        let (sender, permit) = oneshot::channel();
        let _place = {
            let mut state = self.state();
            let number = state.next;
            state.next = number.wrapping_add(1);
            let waiting = Waiting {
                rank,
                permit: sender,
            };
            state.waiting.insert(number, waiting);
            self.hand_out(&mut state);
            Place { line: self, number }
        };
        permit.await
    }

    /// Gives free permits to those that wait.
    fn hand_out(self: &Arc<Self>, state: &mut LineState) {
        while let Some(number) = state.chosen() {
            let Some(waiting) = state.waiting.remove(&number) else {
                return;
            };
            let begins = waiting.rank != Rank::InOrder;
            let permit = Permit {
                line: Some(Arc::clone(self)),
                begins,
            };
            match waiting.permit.send(permit) {
                Ok(()) => {
                    state.free = state.free.saturating_sub(1);
                    state.free_to_begin = state.free_to_begin.saturating_sub(usize::from(begins));
                    state.granted = state.granted.wrapping_add(1);
                }
                // A statement that was given up gives nothing back, as it has taken nothing.
                Err(mut permit) => drop(permit.line.take()),
            }
        }
    }

    fn give_back(self: &Arc<Self>, permits: usize, places_to_begin: usize) {
        let mut state = self.state();
        state.free = state.free.saturating_add(permits);
        state.free_to_begin = state.free_to_begin.saturating_add(places_to_begin);
        self.hand_out(&mut state);
        drop(state);
        self.given_back.notify_waiters();
    }

    /// Waits until all permits are there.
    pub(crate) async fn all_given_back(&self) {
        loop {
            let given_back = self.given_back.notified();
            tokio::pin!(given_back);
            // Notifications from here on are received.
            given_back.as_mut().enable();
            if self.state().free == self.permits {
                return;
            }
            given_back.await;
        }
    }

    /// Permits that are there.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        self.state().free
    }
}

/// The place of a statement in the line, until this is dropped.
struct Place<'l> {
    line: &'l Line,
    number: u64,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // One that has its permit is not in the line any more.
        self.line.state().waiting.remove(&self.number);
    }
}

/// A permit, which is given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    line: Option<Arc<Line>>,
    /// Whether the statement has a place among those that begin.
    begins: bool,
}

impl Permit {
    /// The statement has begun: another one may.
    pub(crate) fn has_begun(&mut self) {
        if std::mem::take(&mut self.begins)
            && let Some(line) = &self.line
        {
            line.give_back(0, 1);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            line.give_back(1, usize::from(self.begins));
        }
    }
}

/// One of so many permits goes past the line.
const PAST_THE_LINE_EVERY: u64 = 3;

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::FutureExt as _;

    use super::*;

    type Taken = Pin<Box<dyn Future<Output = Result<Permit, RecvError>>>>;

    /// A statement that waits in the line.
    fn waits(line: &Arc<Line>, rank: Rank) -> Taken {
        let line = Arc::clone(line);
        let mut taken: Taken = Box::pin(async move { line.take(rank).await });
        assert!(taken.as_mut().now_or_never().is_none());
        taken
    }

    /// The order in which those that wait have the permit, each when the one before has given it back.
    fn order(line: &Arc<Line>, first: Permit, mut waiting: Vec<Taken>) -> Vec<usize> {
        let mut order = Vec::new();
        let mut held = Some(first);
        let mut left: Vec<usize> = (0..waiting.len()).collect();
        while !left.is_empty() {
            drop(held.take());
            for (place, index) in left.clone().into_iter().enumerate() {
                if let Some(permit) = waiting[index].as_mut().now_or_never() {
                    held = permit.ok();
                    order.push(index);
                    left.remove(place);
                    break;
                }
            }
            assert!(held.is_some(), "{order:?}");
        }
        drop(held);
        assert_eq!(line.free(), 1);
        order
    }

    fn taken(line: &Arc<Line>, rank: Rank) -> Permit {
        line.take(rank).now_or_never().unwrap().unwrap()
    }

    /// The statement of another client came behind ninety that had come just before it, each of which started a process.
    #[test]
    fn one_of_three_turns_goes_past_the_line() {
        use Rank::{AfterShortOne, Begins, InOrder};
        let line = Line::new(1, usize::MAX);
        let first = taken(&line, InOrder);
        let waiting = (0..8).map(|_| waits(&line, Begins)).collect();
        // The permits before were the first of three.
        assert_eq!(order(&line, first, waiting), [0, 1, 7, 2, 3, 6, 4, 5]);
        // Those that have begun are never the last that came.
        let line = Line::new(1, usize::MAX);
        let first = taken(&line, InOrder);
        let ranks = [Begins, Begins, Begins, Begins, InOrder, InOrder];
        let waiting = ranks.map(|rank| waits(&line, rank)).into_iter().collect();
        assert_eq!(order(&line, first, waiting), [0, 1, 3, 2, 4, 5]);
        let line = Line::new(1, usize::MAX);
        let first = taken(&line, InOrder);
        let ranks = [Begins, Begins, Begins, AfterShortOne, AfterShortOne, Begins];
        let waiting = ranks.map(|rank| waits(&line, rank)).into_iter().collect();
        assert_eq!(order(&line, first, waiting), [0, 1, 3, 2, 4, 5]);
    }

    #[test]
    fn few_begin_at_the_same_time() {
        let line = Line::new(4, 2);
        let mut one = taken(&line, Rank::Begins);
        let other = taken(&line, Rank::AfterShortOne);
        let mut third = waits(&line, Rank::Begins);
        // Those that go on do not wait for those that begin.
        let goes_on = taken(&line, Rank::InOrder);
        assert!(third.as_mut().now_or_never().is_none());
        one.has_begun();
        one.has_begun();
        let third = third.as_mut().now_or_never().unwrap().unwrap();
        assert_eq!(line.free(), 0);
        drop(other);
        drop((one, third, goes_on));
        let held = [taken(&line, Rank::Begins), taken(&line, Rank::Begins)];
        assert!(line.all_given_back().now_or_never().is_none());
        drop(held);
        assert!(line.all_given_back().now_or_never().is_some());
    }

    #[test]
    fn who_is_given_up_is_not_in_the_line() {
        let line = Line::new(1, 1);
        let held = taken(&line, Rank::Begins);
        let (given_up, next) = (waits(&line, Rank::Begins), waits(&line, Rank::Begins));
        drop(given_up);
        drop(held);
        // One that was given its permit and did not take it gives it back.
        drop(next);
        assert_eq!((line.free(), line.state().waiting.len()), (1, 0));
        assert_eq!(line.state().free_to_begin, 1);
    }
}
