//! Bodies of requests on their way in. The received octets of a request are held until it is complete, or for ever when
//! its client does not continue; therefore these octets have a limit, of a connection and of all together, and so has
//! the time.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use http_body::Frame;
use tokio::time::{Sleep, sleep};
use tonic::Status;

use crate::client::MESSAGE_BYTES_MAX;

/// The bytes of requests that have come in part.
#[derive(Clone, Default)]
pub(crate) struct Arrivals(Arc<Mutex<ReceivedBytes>>);

#[derive(Default)]
struct ReceivedBytes {
    bytes: usize,
    of_connections: HashMap<usize, usize>,
}

impl Arrivals {
    fn held(&self) -> MutexGuard<'_, ReceivedBytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body of a request of a connection, which is counted as it comes.
    pub(crate) fn arriving(&self, body: Body, connection: usize) -> Arriving {
        Arriving {
            body,
            arrivals: self.clone(),
            connection,
            come: 0,
            counted: 0,
            until: Box::pin(sleep(ARRIVES_WITHIN)),
        }
    }
}

/// The body of a request that has come in part.
pub(crate) struct Arriving {
    body: Body,
    arrivals: Arrivals,
    connection: usize,
    /// The bytes that have come.
    come: usize,
    /// The bytes among those that are held: all of a request that is not short.
    counted: usize,
    until: Pin<Box<Sleep>>,
}

impl Arriving {
    /// Counts what has come.
    fn count(&mut self, bytes: usize) -> Result<(), Status> {
        self.come = self.come.saturating_add(bytes);
        // A short one comes through while others hold all.
        if self.come <= SHORT_BYTES_MAX {
            return Ok(());
        }
        let mut held = self.arrivals.held();
        let new = self.come - self.counted;
        let all = held.bytes.saturating_add(new);
        let of_connection = held.of_connections.get(&self.connection).copied();
        let of_connection = of_connection.unwrap_or_default().saturating_add(new);
        if all > HELD_BYTES_MAX || of_connection > CONNECTION_BYTES_MAX {
            return Err(Status::resource_exhausted(
                "incomplete requests hold too much memory: send fewer large ones at once",
            ));
        }
        held.bytes = all;
        held.of_connections.insert(self.connection, of_connection);
        self.counted = self.come;
        Ok(())
    }
}

impl Drop for Arriving {
    fn drop(&mut self) {
        if self.counted == 0 {
            return;
        }
        let mut held = self.arrivals.held();
        held.bytes = held.bytes.saturating_sub(self.counted);
        let left = held.of_connections.get_mut(&self.connection).map(|bytes| {
            *bytes = bytes.saturating_sub(self.counted);
            *bytes
        });
        if left == Some(0) {
            held.of_connections.remove(&self.connection);
        }
    }
}

impl HttpBody for Arriving {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let refused = match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                self.count(bytes).err()
            }
            Poll::Pending => self.until.as_mut().poll(context).is_ready().then(|| {
                let seconds = ARRIVES_WITHIN.as_secs();
                Status::deadline_exceeded(format!(
                    "the request was not complete within {seconds} s"
                ))
            }),
            Poll::Ready(_) => None,
        };
        match refused {
            Some(status) => Poll::Ready(Some(Err(axum::Error::new(status)))),
            None => polled,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// The size of a request that is not counted.
const SHORT_BYTES_MAX: usize = 64 << 10;
/// The maximum bytes of the requests of one connection.
const CONNECTION_BYTES_MAX: usize = 4 * MESSAGE_BYTES_MAX;
/// The maximum bytes of all requests together.
const HELD_BYTES_MAX: usize = 4 * CONNECTION_BYTES_MAX;
/// The time limit for a request to arrive.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    fn polled(body: &mut Arriving) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut context = Context::from_waker(std::task::Waker::noop());
        Pin::new(body).poll_frame(&mut context)
    }

    fn is_taken(body: &mut Arriving) -> bool {
        matches!(polled(body), Poll::Ready(Some(Ok(_))))
    }

    /// 448 requests of 16 MiB without their last octet held 7 GiB.
    #[tokio::test]
    async fn requests_that_come_in_part_have_a_limit_and_short_ones_come_through() {
        let arrivals = Arrivals::default();
        let large = Bytes::from(vec![0; MESSAGE_BYTES_MAX]);
        let arriving = |connection| arrivals.arriving(Body::from(large.clone()), connection);
        let mut held = Vec::new();
        for connection in 1..=4 {
            for _ in 0..4 {
                let mut body = arriving(connection);
                assert!(is_taken(&mut body));
                held.push(body);
            }
            assert!(!is_taken(&mut arriving(connection)));
        }
        assert!(!is_taken(&mut arriving(5)));
        let short = Body::from(vec![0; SHORT_BYTES_MAX]);
        assert!(is_taken(&mut arrivals.arriving(short, 1)));
        held.pop();
        assert!(is_taken(&mut arriving(5)));
        held.clear();
        assert_eq!(arrivals.held().bytes, 0);
        assert!(arrivals.held().of_connections.is_empty());
    }

    #[tokio::test]
    async fn a_request_has_its_time() {
        let silent = Body::from_stream(futures::stream::pending::<Result<Bytes, Status>>());
        let mut body = Arrivals::default().arriving(silent, 1);
        assert!(polled(&mut body).is_pending());
        let limit = tokio::time::Instant::now() + ARRIVES_WITHIN;
        assert!(body.until.deadline() <= limit);
        // That time is over.
        body.until.as_mut().reset(tokio::time::Instant::now());
        let next = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        let Some(Err(error)) = next.await else {
            panic!("the request has come");
        };
        let status = Status::from_error(Box::new(error));
        assert_eq!(status.code(), tonic::Code::DeadlineExceeded);
    }
}
