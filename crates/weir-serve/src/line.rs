//! The line of statements that wait for a turn, and the order in which they have it.
//!
//! The first of the line is the next, with exceptions: of so many turns one goes past the line, to a client whose last statement was
//! soon over, or else to the statement that has come last of a client without a turn so far; and one to a statement that is known to be
//! soon over. A hundred clients whose statements came at the same moment, each of which takes a process and computes for a while, would
//! otherwise keep the next client until the last of them has begun. One permit is for statements that are known to be soon over alone:
//! where others hold all that there are, such a statement has no others to wait for but those of its kind, and of these the client that
//! has had no turn for longest is the first.
//!
//! A statement that begins takes more of the processor than one that goes on: a process is started, and a plan is made. Few
//! begin at the same time, so that each of them soon has begun.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot::{self, error::RecvError};
use tokio::time::Instant;

/// The line for a number of permits.
#[derive(Debug)]
pub(crate) struct Line {
    state: Mutex<LineState>,
}

#[derive(Debug)]
struct LineState {
    free: usize,
    /// Permits, and places of statements that begin, for statements that are known to be soon over.
    reserved: usize,
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
    /// When its client had the last turn.
    served: Option<Instant>,
    permit: oneshot::Sender<Permit>,
}

/// What a statement waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rank {
    /// It has begun, or needs nothing to begin: it has its permit in the order of the line.
    InOrder,
    /// It begins, and is known to be soon over.
    Short,
    /// It begins, for a client whose last statement was soon over.
    AfterShortOne,
    /// It begins, for another client.
    Begins,
}

impl LineState {
    /// The statement that has the next permit; `None` where no permit is free or no statement is ready for it.
    fn chosen(&self) -> Option<u64> {
        let ready = self.waiting.iter();
        let ready = ready.filter(|(_, waiting)| self.has_room_for(waiting.rank));
        let of = |rank| ready.clone().filter(move |(_, one)| one.rank == rank);
        let first = ready.clone().next();
        let chosen = match self.granted % PAST_THE_LINE_EVERY {
            // Clients without a turn so far come first, of these the last.
            0 => of(Rank::AfterShortOne).next().or_else(|| {
                let others = of(Rank::Begins);
                let new = others.clone().rfind(|(_, one)| one.served.is_none());
                new.or_else(|| others.min_by_key(|(_, one)| one.served))
            }),
            1 => of(Rank::Short).min_by_key(|(_, one)| one.served),
            _ => None,
        };
        chosen.or(first).map(|(number, _)| *number)
    }

    fn has_room_for(&self, rank: Rank) -> bool {
        let (reserved, begins) = match rank {
            Rank::InOrder => (self.reserved, false),
            Rank::Short => (0, true),
            Rank::AfterShortOne | Rank::Begins => (self.reserved, true),
        };
        self.free > reserved && (!begins || self.free_to_begin > reserved)
    }
}

impl Line {
    /// A line for so many permits, of which so many are of statements that begin, and so many more for statements that are known to be
    /// soon over.
    pub(crate) fn new(permits: usize, begin_at_once: usize, reserved: usize) -> Arc<Self> {
        let permits = permits.saturating_add(reserved);
        Arc::new(Self {
            state: Mutex::new(LineState {
                free: permits,
                reserved,
                free_to_begin: begin_at_once.saturating_add(reserved),
                next: 0,
                granted: 0,
                waiting: BTreeMap::new(),
            }),
        })
    }

    fn state(&self) -> MutexGuard<'_, LineState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a permit, for a client that had the last one at this time.
    ///
    /// # Errors
    /// None: a client is in the line until it has its permit.
    pub(crate) async fn take(
        self: &Arc<Self>,
        rank: Rank,
        served: Option<Instant>,
    ) -> Result<Permit, RecvError> {
        let (sender, permit) = oneshot::channel();
        let _place = {
            let mut state = self.state();
            let number = state.next;
            state.next = number.wrapping_add(1);
            let waiting = Waiting {
                rank,
                served,
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
    }

    /// Permits that are there for all statements.
    #[cfg(test)]
    pub(crate) fn free(&self) -> usize {
        let state = self.state();
        state.free.saturating_sub(state.reserved)
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

/// One of so many permits goes past the line, and the next one to a statement that is known to be soon over.
const PAST_THE_LINE_EVERY: u64 = 3;

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;

    type Taken = Pin<Box<dyn Future<Output = Result<Permit, RecvError>>>>;

    /// A statement that waits in the line.
    fn waits(line: &Arc<Line>, rank: Rank) -> Taken {
        served(line, rank, None)
    }

    fn served(line: &Arc<Line>, rank: Rank, at: Option<Instant>) -> Taken {
        let line = Arc::clone(line);
        let mut taken: Taken = Box::pin(async move { line.take(rank, at).await });
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
        line.take(rank, None).now_or_never().unwrap().unwrap()
    }

    /// The statement of another client came behind ninety that had come just before it, each of which started a process.
    #[test]
    fn one_of_three_turns_goes_past_the_line() {
        use Rank::{AfterShortOne, Begins, InOrder};
        let line = Line::new(1, usize::MAX, 0);
        let first = taken(&line, InOrder);
        let waiting = (0..8).map(|_| waits(&line, Begins)).collect();
        // The permits before were the first of three.
        assert_eq!(order(&line, first, waiting), [0, 1, 7, 2, 3, 6, 4, 5]);
        // Those that have begun are never the last that came.
        let line = Line::new(1, usize::MAX, 0);
        let first = taken(&line, InOrder);
        let ranks = [Begins, Begins, Begins, Begins, InOrder, InOrder];
        let waiting = ranks.map(|rank| waits(&line, rank)).into_iter().collect();
        assert_eq!(order(&line, first, waiting), [0, 1, 3, 2, 4, 5]);
        let line = Line::new(1, usize::MAX, 0);
        let first = taken(&line, InOrder);
        let ranks = [Begins, Begins, Begins, AfterShortOne, AfterShortOne, Begins];
        let waiting = ranks.map(|rank| waits(&line, rank)).into_iter().collect();
        assert_eq!(order(&line, first, waiting), [0, 1, 3, 2, 4, 5]);
    }

    /// A short statement of another client waited until ninety others had begun, between which it came.
    #[test]
    fn statements_that_are_known_to_be_short_wait_for_each_other_alone() {
        use Rank::{Begins, InOrder, Short};
        let line = Line::new(2, 1, 1);
        let held = (taken(&line, Begins), taken(&line, InOrder));
        let (mut begins, mut goes_on) = (waits(&line, Begins), waits(&line, InOrder));
        let short = taken(&line, Short);
        let mut next = waits(&line, Short);
        drop(short);
        // The reserved permit is for those that are short alone.
        assert!(begins.as_mut().now_or_never().is_none());
        assert!(goes_on.as_mut().now_or_never().is_none());
        drop(next.as_mut().now_or_never().unwrap());
        drop((begins, goes_on, held));
        assert_eq!(line.free(), 2);
    }

    /// Clients that had sent hundreds of short statements were before one that had sent its first.
    #[test]
    fn clients_without_a_turn_for_long_come_first() {
        use Rank::{Begins, InOrder, Short};
        let times = [3, 1, 2].map(|seconds| Some(Instant::now() + Duration::from_secs(seconds)));
        let line = Line::new(1, usize::MAX, 0);
        let first = taken(&line, InOrder);
        let waiting = times.map(|at| served(&line, Short, at)).into_iter();
        let waiting = waiting.chain([waits(&line, Short)]).collect();
        // The second of three permits is for those that are short.
        assert_eq!(order(&line, first, waiting), [3, 0, 1, 2]);
        let line = Line::new(1, usize::MAX, 0);
        let first = taken(&line, InOrder);
        line.state().granted = 3;
        let waiting = times.map(|at| served(&line, Begins, at)).into_iter();
        let waiting = waiting.chain([waits(&line, Begins)]).collect();
        assert_eq!(order(&line, first, waiting), [3, 0, 1, 2]);
    }

    #[test]
    fn few_begin_at_the_same_time() {
        let line = Line::new(4, 2, 0);
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
        assert_eq!(line.free(), 4);
    }

    #[test]
    fn who_is_given_up_is_not_in_the_line() {
        let line = Line::new(1, 1, 0);
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
