//! Answers on their way to clients, of which there are so many at once.
//!
//! An answer that its client does not take (by a window of HTTP/2 that stays zero) holds what it has: the rows of an executor a file and
//! a thread that reads it, of which a process has 512, and a status of a job its memory. Where as many answers are under way as may be, the one whose
//! client has taken nothing for longest is let go for the next, of the connection that has most of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body::Frame;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tonic::Status;

use crate::silence::Peer;

/// The answers of a server that are under way.
#[derive(Clone)]
pub(crate) struct Answers(Arc<All>);

struct All {
    open: Mutex<OpenAnswers>,
    /// How many there are at once.
    most: usize,
    /// How long a client may take nothing while others wait.
    patience: Duration,
    freed: Notify,
}

#[derive(Default)]
struct OpenAnswers {
    next: u64,
    answers: BTreeMap<u64, Arc<OpenAnswer>>,
}

/// An answer of a connection.
struct OpenAnswer {
    connection: usize,
    state: Mutex<Under>,
}

/// How far an answer is.
struct Under {
    /// What is left of it; `None` before it begins, and when it was let go.
    body: Option<Body>,
    /// Since when its client has taken nothing of what is there; `None` while there is nothing.
    waits: Option<Instant>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Default for Answers {
    fn default() -> Self {
        Self::new(ANSWERS_MAX, PATIENCE)
    }
}

impl Answers {
    fn new(most: usize, patience: Duration) -> Self {
        Self(Arc::new(All {
            open: Mutex::default(),
            most,
            patience,
            freed: Notify::new(),
        }))
    }

    /// Waits until there is room for another answer.
    async fn enter(&self, connection: usize) -> Place {
        loop {
            let freed = self.0.freed.notified();
            tokio::pin!(freed);
            // What is notified from now on is noticed.
            freed.as_mut().enable();
            if let Some(place) = self.try_enter(connection) {
                return place;
            }
            // What is let go frees its memory here, and not under the lock.
            drop(self.longest_untaken());
            let _ = timeout(LOOK_EVERY, freed).await;
        }
    }

    fn try_enter(&self, connection: usize) -> Option<Place> {
        let mut open = lock(&self.0.open);
        if open.answers.len() >= self.0.most {
            return None;
        }
        let number = open.next;
        open.next = number.wrapping_add(1);
        let answer = Arc::new(OpenAnswer {
            connection,
            state: Mutex::new(Under {
                body: None,
                waits: None,
            }),
        });
        open.answers.insert(number, Arc::clone(&answer));
        Some(Place {
            answers: self.clone(),
            number,
            answer,
        })
    }

    /// What is left of the answer whose client has taken nothing for longest, at least as long as the patience lasts, of the connection with most
    /// answers.
    fn longest_untaken(&self) -> Option<Body> {
        let mut open = lock(&self.0.open);
        let mut of_connection = HashMap::<usize, usize>::new();
        for answer in open.answers.values() {
            *of_connection.entry(answer.connection).or_default() += 1;
        }
        let now = Instant::now();
        let waits = open.answers.iter().filter_map(|(number, answer)| {
            let waited = now.saturating_duration_since(lock(&answer.state).waits?);
            let count = of_connection.get(&answer.connection).copied();
            (waited >= self.0.patience).then_some((count, waited, Reverse(*number)))
        });
        let (_, _, Reverse(number)) = waits.max()?;
        let answer = open.answers.remove(&number)?;
        drop(open);
        self.0.freed.notify_waiters();
        let mut state = lock(&answer.state);
        state.waits = None;
        state.body.take()
    }
}

/// The place of an answer, until it is dropped.
struct Place {
    answers: Answers,
    number: u64,
    answer: Arc<OpenAnswer>,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.answers.0.open).answers.remove(&self.number);
        self.answers.0.freed.notify_waiters();
    }
}

impl Place {
    /// The body of the answer, which can be let go from now on.
    fn begin(self, body: Body) -> Body {
        *lock(&self.answer.state) = Under {
            body: Some(body),
            waits: Some(Instant::now()),
        };
        Body::new(Taken(self))
    }
}

/// The body of an answer, as its client takes it.
struct Taken(Place);

impl HttpBody for Taken {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut state = lock(&self.0.answer.state);
        let Some(body) = &mut state.body else {
            let said = "other requests wait, and this answer was not taken";
            let status = Status::resource_exhausted(said);
            return Poll::Ready(Some(Err(axum::Error::new(status))));
        };
        let polled = Pin::new(body).poll_frame(context);
        state.waits = polled.is_ready().then(Instant::now);
        polled
    }

    fn is_end_stream(&self) -> bool {
        let state = lock(&self.0.answer.state);
        state.body.as_ref().is_some_and(HttpBody::is_end_stream)
    }
}

/// The middleware that has answers wait for their place.
pub(crate) async fn bounded(
    State(answers): State<Answers>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>();
    let place = answers.enter(peer.map_or(0, Peer::connection)).await;
    next.run(request).await.map(|body| place.begin(body))
}

/// Answers that are under way at once. The rows of each may hold one of the 512 threads that read files.
const ANSWERS_MAX: usize = 448;
/// How long a client may take nothing of an answer while others wait: some operators read one of their inputs to its end before they take
/// of the other.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn polled(body: &mut Body) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        Pin::new(body).poll_frame(&mut context)
    }

    /// 448 streams of zero windows held all threads that read the rows of an executor, for good.
    #[tokio::test]
    async fn answers_that_are_not_taken_make_room_for_others() {
        let answers = Answers::new(3, Duration::ZERO);
        let of = async |connection| answers.enter(connection).await.begin(Body::from("rows"));
        let (mut one, mut other, mut third) = (of(1).await, of(2).await, of(2).await);
        // The next waits for the one that waits longest, of the connection with most answers.
        let mut next = of(3).await;
        assert!(matches!(polled(&mut other), Poll::Ready(Some(Err(_)))));
        for taken in [&mut one, &mut third, &mut next] {
            assert!(matches!(polled(taken), Poll::Ready(Some(Ok(_)))));
        }
        drop(one);
        assert_eq!(lock(&answers.0.open).answers.len(), 2);
        drop(of(4).await);
        drop((other, third, next));
        assert!(lock(&answers.0.open).answers.is_empty());
    }

    #[tokio::test]
    async fn an_answer_that_has_not_begun_keeps_its_place() {
        let answers = Answers::new(1, Duration::ZERO);
        let place = answers.enter(1).await;
        let mut next = Box::pin(answers.enter(2));
        assert!(next.as_mut().now_or_never().is_none());
        // What its server has not made yet is not the client's to take.
        let never = Body::from_stream(futures::stream::pending::<Result<Bytes, Status>>());
        let mut body = place.begin(never);
        assert!(polled(&mut body).is_pending());
        assert!(next.as_mut().now_or_never().is_none());
        drop(body);
        next.await;
    }
}
