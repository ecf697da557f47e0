//! The activity of a connection: a statement runs, or the server waits for its client.
//!
//! A client that waits for nothing, that does not end its request, or that does not take its answer holds a place that others may want. Where
//! there are no places left, the connection whose client has been waited for longest gives its own to the next one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// The activity of a connection, by which it is closed, too.
#[derive(Debug)]
pub(crate) struct Presence {
    state: Mutex<State>,
    closes: watch::Sender<Closes>,
}

#[derive(Debug)]
struct State {
    /// Statements at work.
    at_work: usize,
    /// Since when the client is waited for, where none is.
    since: Instant,
}

/// Why a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closes {
    /// The connection stays.
    Not,
    /// The client does not take rows whose room others need.
    ForRows,
    /// Another wants its place.
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

    /// A statement of it is at work until what is given back is dropped.
    pub(crate) fn at_work(self: &Arc<Self>) -> AtWork {
        self.state().at_work += 1;
        AtWork(Arc::clone(self))
    }

    /// The client has done something: it is waited for from now on.
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
        // The sender is there as long as this is.
        why.map_or(Closes::ForRows, |why| *why)
    }
}

/// A statement at work.
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
