//! Requests on their way from clients, and answers on their way to them, of which there are so many at once.
//!
//! A request that does not come whole holds the place of its answer, and what has come of it its memory ([`Arrivals`]). An answer that its client does not take (by a window of HTTP/2 that stays zero) holds what it has: the rows of an executor a file and
//! a thread that reads it, of which a process has 512, and a status of a job its memory. Where as many answers are under way as may be, the one whose
//! client has been waited for longest, to send or to take something, is let go for the next, of the connection that has most of them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http_body::Frame;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};
use tonic::Status;

use crate::arriving::{Arrivals, Arriving};
use crate::peer::Peer;

/// The answers of a server that are under way.
#[derive(Clone)]
pub(crate) struct Answers(Arc<All>);

struct All {
    open: Mutex<OpenAnswers>,
    /// The maximum number of concurrent answers.
    most: usize,
    /// The time for which a client may take nothing while others wait.
    patience: Duration,
    freed: Notify,
    /// The bytes of requests that have arrived.
    arrivals: Arrivals,
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

/// The progress of an answer.
struct Under {
    /// The rest of the answer; `None` before its start and after it was released.
    body: Option<Body>,
    /// The time since which the client has not sent the rest of its request, or has taken nothing of the available answer; `None`
    /// while the server is at work.
    waits: Option<Instant>,
    is_let_go: bool,
    /// The task that waits for the rest of the request.
    reader: Option<Waker>,
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
            arrivals: Arrivals::default(),
        }))
    }

    /// Waits until there is room for another answer.
    pub(crate) async fn enter(&self, connection: usize) -> AnswerSlot {
        loop {
            let freed = self.0.freed.notified();
            tokio::pin!(freed);
            // Notifications from here on are received, also those before the wait below.
            freed.as_mut().enable();
            if let Some(place) = self.try_enter(connection) {
                return place;
            }
            // The released answer frees its memory here, after the lock.
            drop(self.longest_untaken());
            let _ = timeout(POLL_INTERVAL, freed).await;
        }
    }

    /// The connections with an answer that the server works at, or whose client has not been waited for long.
    pub(crate) fn busy_connections(&self) -> HashSet<usize> {
        let open = lock(&self.0.open);
        let now = Instant::now();
        let is_at_work = |answer: &OpenAnswer| {
            let waits = lock(&answer.state).waits;
            waits.is_none_or(|since| now.saturating_duration_since(since) < self.0.patience)
        };
        let busy = open.answers.values().filter(|answer| is_at_work(answer));
        busy.map(|answer| answer.connection).collect()
    }

    fn try_enter(&self, connection: usize) -> Option<AnswerSlot> {
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
                is_let_go: false,
                reader: None,
            }),
        });
        open.answers.insert(number, Arc::clone(&answer));
        Some(AnswerSlot {
            answers: self.clone(),
            number,
            answer,
        })
    }

    /// Lets the answer go whose client has been waited for longest, at least as long as the patience lasts, of the connection with most
    /// answers; gives what is left of it.
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
        state.is_let_go = true;
        if let Some(reader) = state.reader.take() {
            reader.wake();
        }
        state.body.take()
    }
}

/// The place of an answer, until it is dropped.
pub(crate) struct AnswerSlot {
    answers: Answers,
    number: u64,
    answer: Arc<OpenAnswer>,
}

impl Drop for AnswerSlot {
    fn drop(&mut self) {
        lock(&self.answers.0.open).answers.remove(&self.number);
        self.answers.0.freed.notify_waiters();
    }
}

impl AnswerSlot {
    /// The body of the request, for which the place is let go where it does not come.
    fn await_request(&self, body: Body, call: &str) -> Body {
        let arrivals = &self.answers.0.arrivals;
        Body::new(RequestBody {
            body: arrivals.arriving(body, self.answer.connection, call),
            answer: Arc::clone(&self.answer),
        })
    }

    /// The body of the answer, which can be let go from now on.
    fn begin(self, body: Body) -> Body {
        {
            let mut state = lock(&self.answer.state);
            // A request that was let go is answered with its error.
            state.is_let_go = false;
            state.body = Some(body);
            state.waits = Some(Instant::now());
        }
        Body::new(Taken(self))
    }
}

/// The body of a request, as its client sends it.
struct RequestBody {
    body: Arriving,
    answer: Arc<OpenAnswer>,
}

impl HttpBody for RequestBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let answer = Arc::clone(&self.answer);
        let mut state = lock(&answer.state);
        if state.is_let_go {
            let message = "other requests wait, and this one is not complete";
            let status = Status::resource_exhausted(message);
            return Poll::Ready(Some(Err(axum::Error::new(status))));
        }
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            // A request that comes byte by byte does not stop the timeout.
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(_) => (state.waits, state.reader) = (None, None),
            Poll::Pending => {
                state.waits.get_or_insert_with(Instant::now);
                state.reader = Some(context.waker().clone());
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let mut state = lock(&self.answer.state);
        // The server is at work from the end of the request to the start of the answer.
        if state.body.is_none() {
            (state.waits, state.reader) = (None, None);
        }
    }
}

/// The body of an answer, as its client takes it.
struct Taken(AnswerSlot);

impl HttpBody for Taken {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut state = lock(&self.0.answer.state);
        let Some(body) = &mut state.body else {
            let message = "other requests wait, and this response was not read";
            let status = Status::resource_exhausted(message);
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

/// The middleware that has requests wait for the place of their answer.
pub(crate) async fn bounded(
    State(answers): State<Answers>,
    request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<Peer>();
    let place = answers.enter(peer.map_or(0, Peer::connection)).await;
    let (head, body) = request.into_parts();
    let body = place.await_request(body, head.uri.path());
    let request = Request::from_parts(head, body);
    next.run(request).await.map(|body| place.begin(body))
}

/// Answers that are under way at once. The rows of each may hold one of the 512 threads that read files.
const ANSWERS_MAX: usize = 448;
/// The time for which a client may take nothing of an answer while others wait: some operators read one input to its end before
/// they take from the other.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL_INTERVAL: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn polled(body: &mut Body) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut context = Context::from_waker(Waker::noop());
        Pin::new(body).poll_frame(&mut context)
    }

    /// 448 streams of zero windows held all threads that read the rows of an executor, for good.
    #[tokio::test]
    async fn answers_that_are_not_taken_make_room_for_others() {
        let answers = Answers::new(3, Duration::ZERO);
        let of = async |connection| answers.enter(connection).await.begin(Body::from("rows"));
        let (mut one, mut other, mut third) = (of(1).await, of(2).await, of(2).await);
        // The next answer waits for the longest waiting one of the connection with the most answers.
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

    /// 448 requests without a body held all places for good.
    #[tokio::test]
    async fn requests_that_do_not_come_make_room_for_others() {
        let answers = Answers::new(1, Duration::ZERO);
        let place = answers.enter(1).await;
        let silent = Body::from_stream(futures::stream::pending::<Result<Bytes, Status>>());
        let mut request = place.await_request(silent, "");
        assert!(polled(&mut request).is_pending());
        let next = answers.enter(2).await;
        let Poll::Ready(Some(Err(error))) = polled(&mut request) else {
            panic!("the request was not let go");
        };
        let status = Status::from_error(Box::new(error));
        assert_eq!(status.code(), tonic::Code::ResourceExhausted);
        drop(request);
        // The client gets the error.
        let mut answer = place.begin(Body::from("the error"));
        assert!(matches!(polled(&mut answer), Poll::Ready(Some(Ok(_)))));
        drop(answer);
        assert_eq!(lock(&answers.0.open).answers.len(), 1);
        // A request that has come whole keeps its place while the server is at work.
        let mut request = next.await_request(Body::from("a plan"), "");
        assert!(matches!(polled(&mut request), Poll::Ready(Some(Ok(_)))));
        assert!(matches!(polled(&mut request), Poll::Ready(None)));
        drop(request);
        assert!(answers.enter(3).now_or_never().is_none());
    }

    #[tokio::test]
    async fn an_answer_that_has_not_begun_keeps_its_place() {
        let answers = Answers::new(1, Duration::ZERO);
        let place = answers.enter(1).await;
        let mut next = Box::pin(answers.enter(2));
        assert!(next.as_mut().now_or_never().is_none());
        // Data that the server has not made yet does not count against the client.
        let never = Body::from_stream(futures::stream::pending::<Result<Bytes, Status>>());
        let mut body = place.begin(never);
        assert!(polled(&mut body).is_pending());
        assert!(next.as_mut().now_or_never().is_none());
        drop(body);
        next.await;
    }
}
