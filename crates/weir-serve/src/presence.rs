//! The activity of a connection: a statement runs, or the server waits for its client.
//!
//! A client that sends no request, does not finish one, or does not take its rows still occupies one of the connections that the
//! server permits. When all are occupied, the connection whose client has been idle longest is closed for the next client.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The activity of a connection. The request to close the connection comes through it, too.
#[derive(Debug)]
pub(crate) struct Presence {
    state: Mutex<State>,
    closes: watch::Sender<Closes>,
}

#[derive(Debug)]
struct State {
    /// The number of running statements.
    at_work: usize,
    /// The begin of the wait for the client, while no statement runs.
    since: Instant,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closes {
    /// The connection stays.
    Not,
    /// The client does not take its rows, whose memory other connections need.
    ForRows,
    /// All permitted connections are occupied, and a new client has come.
    ForAnother,
}

impl Presence {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::new(State {
                at_work: 0,
                since: Instant::now(),
            }),
            closes: watch::Sender::new(Closes::Not),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a statement as running until the returned guard is dropped.
    pub(crate) fn at_work(self: &Arc<Self>) -> AtWork {
        self.state().at_work += 1;
        AtWork(Arc::clone(self))
    }

    /// Restarts the wait for the client, which has just sent or taken bytes.
    pub(crate) fn touch(&self) {
        self.state().since = Instant::now();
    }

    /// The time for which the client has been waited for; `None` while a statement runs, or while the connection is being closed.
    pub(crate) fn waits_for(&self) -> Option<Duration> {
        let state = self.state();
        let is_free = state.at_work == 0 && *self.closes.borrow() == Closes::Not;
        is_free.then(|| state.since.elapsed())
    }

    /// Closes the connection.
    pub(crate) fn close(&self, why: Closes) {
        self.closes.send_replace(why);
    }

    /// Waits until the connection is to be closed.
    pub(crate) async fn closed(&self) -> Closes {
        let mut closes = self.closes.subscribe();
        let why = closes.wait_for(|why| *why != Closes::Not).await;
        // The sender lives as long as `self`, so that no error occurs.
        why.map_or(Closes::ForRows, |why| *why)
    }
}

/// A guard: its statement counts as running until it is dropped.
#[derive(Debug)]
pub(crate) struct AtWork(Arc<Presence>);

impl Drop for AtWork {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.at_work = state.at_work.saturating_sub(1);
        state.since = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_client_is_waited_for_while_no_statement_is_at_work() {
        let presence = Presence::new();
        let first = presence.state().since;
        assert!(presence.waits_for().is_some());
        let (one, other) = (presence.at_work(), presence.at_work());
        drop(one);
        assert_eq!(presence.waits_for(), None);
        drop(other);
        assert!(presence.waits_for().is_some());
        let second = presence.state().since;
        presence.touch();
        let third = presence.state().since;
        assert!(first < second && second < third);
        assert!(presence.closed().now_or_never().is_none());
        presence.close(Closes::ForAnother);
        assert_eq!(presence.closed().await, Closes::ForAnother);
        assert_eq!(presence.waits_for(), None);
    }
}
