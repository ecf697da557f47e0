//! The activity of a connection: a statement runs, or the server waits for its client.
//!
//! A client that sends no request, does not finish one, or does not take its rows still occupies one of the connections that the
//! server permits. When all are occupied, the connection whose client has been idle longest is closed for the next client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit, watch};
use tokio::time::Instant;

/// The activity of a connection. The request to close the connection comes through it, too.
#[derive(Debug)]
pub(crate) struct ConnectionActivity {
    state: Mutex<ActivityState>,
    close_reason: watch::Sender<CloseReason>,
    /// The place of the connection in the line of statements that wait for a turn.
    place_in_line: Semaphore,
    /// Its place among the statements of values alone.
    place_of_constants: Semaphore,
    /// Its place among the requests that are about to begin.
    place_to_begin: Semaphore,
}

#[derive(Debug)]
struct ActivityState {
    /// The number of running statements.
    running: usize,
    /// The number of requests whose bodies are being received.
    receiving: usize,
    /// The begin of the wait for the client, while no statement runs.
    since: Instant,
    /// Whether the last statement that has ended was soon over.
    last_was_short: bool,
    /// When a statement of it had its turn last.
    served: Option<Instant>,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseReason {
    /// The connection stays.
    None,
    /// The client does not take its rows, whose memory other connections need.
    UnreadRows,
    /// All permitted connections are occupied, and a new client has come.
    ConnectionLimit,
}

impl ConnectionActivity {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(ActivityState {
                running: 0,
                receiving: 0,
                since: Instant::now(),
                last_was_short: false,
                served: None,
            }),
            close_reason: watch::Sender::new(CloseReason::None),
            place_in_line: Semaphore::new(1),
            place_of_constants: Semaphore::new(1),
            place_to_begin: Semaphore::new(1),
        })
    }

    fn state(&self) -> MutexGuard<'_, ActivityState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a statement as running until the returned guard is dropped.
    pub(crate) fn running(self: &Arc<Self>) -> RunningStatement {
        self.state().running += 1;
        RunningStatement(Arc::clone(self))
    }

    /// Counts the body of a request as being received until the returned guard is dropped.
    pub(crate) fn receiving(self: &Arc<Self>) -> ReceivedBody {
        self.state().receiving += 1;
        ReceivedBody(Arc::clone(self))
    }

    /// Whether the body of a request is being received.
    pub(crate) fn is_receiving(&self) -> bool {
        self.state().receiving > 0
    }

    /// Restarts the wait for the client, which has just sent or taken bytes.
    pub(crate) fn touch(&self) {
        self.state().since = Instant::now();
    }

    /// A statement of the connection has ended that took so long, with the time in which its client did not take the rows.
    pub(crate) fn statement_took(&self, time: Duration) {
        self.state().last_was_short = time <= SHORT;
    }

    /// Whether the last statement that has ended was soon over: the next one is expected to be.
    pub(crate) fn last_was_short(&self) -> bool {
        self.state().last_was_short
    }

    /// A statement of the connection has its turn.
    pub(crate) fn has_turn(&self) {
        self.state().served = Some(Instant::now());
    }

    /// When a statement of the connection had its turn last.
    pub(crate) fn served(&self) -> Option<Instant> {
        self.state().served
    }

    /// The time for which the client has been waited for; `None` while a statement runs, or while the connection is being closed.
    pub(crate) fn idle_for(&self) -> Option<Duration> {
        let state = self.state();
        let is_free = state.running == 0 && *self.close_reason.borrow() == CloseReason::None;
        is_free.then(|| state.since.elapsed())
    }

    /// Waits until no other statement of the connection waits for a turn, of those of values alone or of the others; none does until
    /// the returned permit is dropped. The statements of other clients would otherwise come behind all that one has sent.
    pub(crate) async fn place_in_line(&self, is_constant: bool) -> Option<SemaphorePermit<'_>> {
        let place = match is_constant {
            true => &self.place_of_constants,
            false => &self.place_in_line,
        };
        // The semaphores are never closed.
        place.acquire().await.ok()
    }

    /// Waits until the next request of the connection may begin, or its text be parsed: others do something before, so that a client
    /// that has sent many does not keep the threads that answer all of them.
    pub(crate) async fn may_begin(&self) {
        // The semaphore is never closed.
        let _place = self.place_to_begin.acquire().await;
        tokio::task::yield_now().await;
    }

    /// Closes the connection.
    pub(crate) fn close(&self, reason: CloseReason) {
        self.close_reason.send_replace(reason);
    }

    /// Waits until the connection is to be closed.
    pub(crate) async fn closed(&self) -> CloseReason {
        let mut reasons = self.close_reason.subscribe();
        let reason = reasons
            .wait_for(|reason| *reason != CloseReason::None)
            .await;
        // The sender lives as long as `self`, so that no error occurs.
        reason.map_or(CloseReason::UnreadRows, |reason| *reason)
    }
}

/// A guard: its statement counts as running until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningStatement(Arc<ConnectionActivity>);

impl Drop for RunningStatement {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.running = state.running.saturating_sub(1);
        state.since = Instant::now();
    }
}

/// A guard: the body of its request counts as being received until it is dropped.
#[derive(Debug)]
pub(crate) struct ReceivedBody(Arc<ConnectionActivity>);

impl Drop for ReceivedBody {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.receiving = state.receiving.saturating_sub(1);
    }
}

/// The time in which a statement is soon over.
const SHORT: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_client_is_waited_for_while_no_statement_runs() {
        let activity = ConnectionActivity::new();
        let first = activity.state().since;
        assert!(activity.idle_for().is_some());
        let (one, other) = (activity.running(), activity.running());
        drop(one);
        assert_eq!(activity.idle_for(), None);
        drop(other);
        assert!(activity.idle_for().is_some());
        let second = activity.state().since;
        activity.touch();
        let third = activity.state().since;
        assert!(first < second && second < third);
        assert!(activity.closed().now_or_never().is_none());
        activity.close(CloseReason::ConnectionLimit);
        assert_eq!(activity.closed().await, CloseReason::ConnectionLimit);
        assert_eq!(activity.idle_for(), None);
    }

    #[test]
    fn bodies_are_received_one_by_one_or_several_at_once() {
        let activity = ConnectionActivity::new();
        let (one, other) = (activity.receiving(), activity.receiving());
        drop(one);
        assert!(activity.is_receiving());
        drop(other);
        assert!(!activity.is_receiving());
    }

    #[test]
    fn the_last_statement_of_a_client_says_what_is_expected_of_the_next() {
        let activity = ConnectionActivity::new();
        assert!(!activity.last_was_short());
        activity.statement_took(SHORT);
        assert!(activity.last_was_short());
        activity.statement_took(SHORT * 2);
        assert!(!activity.last_was_short());
    }

    #[tokio::test]
    async fn a_connection_has_one_statement_in_line() {
        let activity = ConnectionActivity::new();
        let place = activity.place_in_line(false).await;
        assert!(activity.place_in_line(false).now_or_never().is_none());
        assert!(activity.place_in_line(true).now_or_never().is_some());
        drop(place);
        assert!(activity.place_in_line(false).now_or_never().is_some());
    }

    /// Thirty-two requests of each of a hundred connections were begun before anything else was done.
    #[tokio::test]
    async fn requests_of_a_connection_begin_one_by_one() {
        let (activity, other) = (ConnectionActivity::new(), ConnectionActivity::new());
        let mut first = Box::pin(activity.may_begin());
        let mut second = Box::pin(activity.may_begin());
        let mut third = Box::pin(other.may_begin());
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_some());
        assert!(second.as_mut().now_or_never().is_none());
        assert!(first.as_mut().now_or_never().is_some());
        // The second has its place now, and others do something first.
        assert!(second.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_some());
    }
}
