//! Places of calls. A call holds tens of kilobytes from its beginning until the client has its answer, also while it waits for a
//! turn; therefore all calls of all connections have a limit, beyond which requests wait unread.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tonic::Status;
use tonic::body::Body;

use super::arriving::Counted;

/// The places of the calls of a connection.
#[derive(Clone, Debug)]
pub(super) struct Places {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

impl Places {
    /// The places of all connections.
    pub(super) fn of_all() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(ALL_MAX))
    }

    /// The places of a connection: some of its own, so that others do not keep it waiting, and those of all.
    pub(super) fn of_one(all: &Arc<Semaphore>) -> Self {
        Self {
            own: Arc::new(Semaphore::new(OWN_MAX)),
            all: Arc::clone(all),
        }
    }

    /// Waits for a place.
    pub(super) async fn take(self) -> Option<OwnedSemaphorePermit> {
        let place = tokio::select! {
            biased;
            place = self.own.acquire_owned() => place,
            place = self.all.acquire_owned() => place,
        };
        // The semaphores are never closed.
        place.ok()
    }
}

/// The body of an answer, whose call has its place until the client has all of it.
pub(super) struct Placed {
    body: Body,
    _place: Option<OwnedSemaphorePermit>,
    /// The memory of a request that the answer repeats.
    _counted: Option<Counted>,
}

impl Placed {
    pub(super) const fn new(
        body: Body,
        place: Option<OwnedSemaphorePermit>,
        counted: Option<Counted>,
    ) -> Self {
        Self {
            body,
            _place: place,
            _counted: counted,
        }
    }
}

impl hyper::body::Body for Placed {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Calls of a connection that do not wait for those of others.
const OWN_MAX: usize = 4;
/// Calls of all connections beside these: 256 that wait for a turn hold 20 MB.
const ALL_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    /// Ninety-nine connections with 32 calls each held 250 MB.
    #[test]
    fn calls_have_places_of_their_connection_and_of_all() {
        let all = Places::of_all();
        let (one, other) = (Places::of_one(&all), Places::of_one(&all));
        let take = |places: &Places| places.clone().take().now_or_never().flatten();
        let mut held: Vec<_> = (0..OWN_MAX + ALL_MAX).map(|_| take(&one)).collect();
        assert!(held.iter().all(Option::is_some));
        assert!(take(&one).is_none());
        let others: Vec<_> = (0..OWN_MAX).map(|_| take(&other)).collect();
        assert!(others.iter().all(Option::is_some));
        assert!(take(&other).is_none());
        held.truncate(OWN_MAX + ALL_MAX - 1);
        let placed = Placed::new(Body::empty(), take(&other), None);
        assert!(take(&other).is_none());
        drop(placed);
        assert!(take(&other).is_some());
    }
}
