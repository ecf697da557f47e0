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

use crate::protocol::MESSAGE_BYTES_MAX;

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

    /// The body of a request of a connection for this call, which is counted as it comes.
    pub(crate) fn arriving(&self, body: Body, connection: usize, call: &str) -> Arriving {
        let bytes_max = match LARGE_CALLS.contains(&call) {
            true => usize::MAX,
            false => CALL_BYTES_MAX,
        };
        Arriving {
            body,
            bytes_max,
            fields: FieldCounter::default(),
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
    bytes_max: usize,
    fields: FieldCounter,
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
    fn count(&mut self, bytes: &[u8]) -> Result<(), Status> {
        self.come = self.come.saturating_add(bytes.len());
        if self.come > self.bytes_max {
            return Err(Status::out_of_range(format!(
                "a request of this call has more than {CALL_BYTES_MAX} bytes"
            )));
        }
        self.fields.take(bytes);
        if self.fields.found > FIELDS_MAX {
            return Err(Status::invalid_argument(format!(
                "a message has more than {FIELDS_MAX} fields"
            )));
        }
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
                let bytes = frame.data_ref().cloned().unwrap_or_default();
                self.count(&bytes).err()
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

/// Counts the fields of a gRPC message as it comes, without those of the messages in it: the items of a list take some bytes each, and some
/// hundred when they are decoded, which is before a service has them.
struct FieldCounter {
    /// The bytes that follow before the next tag: those of gRPC's prefix, or the content of a field.
    skip: u64,
    expects: ExpectedNumber,
    /// The number that is read.
    value: u64,
    shift: u32,
    found: u64,
    /// A decoder stops there.
    is_malformed: bool,
}

enum ExpectedNumber {
    Tag,
    Value,
    Length,
}

impl Default for FieldCounter {
    fn default() -> Self {
        Self {
            skip: PREFIX_BYTES,
            expects: ExpectedNumber::Tag,
            value: 0,
            shift: 0,
            found: 0,
            is_malformed: false,
        }
    }
}

impl FieldCounter {
    fn take(&mut self, mut bytes: &[u8]) {
        while !self.is_malformed && self.found <= FIELDS_MAX {
            if self.skip > 0 {
                let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
                let (skipped, rest) = bytes.split_at(skip.min(bytes.len()));
                self.skip -= skipped.len() as u64;
                bytes = rest;
            }
            let Some((byte, rest)) = bytes.split_first() else {
                return;
            };
            bytes = rest;
            self.value |= u64::from(byte & 0x7f) << self.shift;
            if *byte >= 0x80 {
                self.shift += 7;
                self.is_malformed = self.shift >= u64::BITS;
                continue;
            }
            let value = std::mem::take(&mut self.value);
            self.shift = 0;
            self.take_number(value);
        }
    }

    fn take_number(&mut self, value: u64) {
        match self.expects {
            ExpectedNumber::Value => self.expects = ExpectedNumber::Tag,
            ExpectedNumber::Length => {
                self.skip = value;
                self.expects = ExpectedNumber::Tag;
            }
            ExpectedNumber::Tag => {
                self.found += 1;
                // The wire types.
                match value & 7 {
                    0 => self.expects = ExpectedNumber::Value,
                    1 => self.skip = 8,
                    2 => self.expects = ExpectedNumber::Length,
                    5 => self.skip = 4,
                    _ => self.is_malformed = true,
                }
            }
        }
    }
}

/// The calls whose requests have plans or statuses of tasks in them.
const LARGE_CALLS: [&str; 4] = [
    "/ballista.protobuf.SchedulerGrpc/ExecuteQuery",
    "/ballista.protobuf.SchedulerGrpc/UpdateTaskStatus",
    "/ballista.protobuf.ExecutorGrpc/LaunchTask",
    "/ballista.protobuf.ExecutorGrpc/LaunchMultiTask",
];
/// The size of a request of another call, at most.
const CALL_BYTES_MAX: usize = 1 << 20;
/// The fields of a message, at most, without those of messages in it: tasks of an executor, or settings.
const FIELDS_MAX: u64 = 1 << 14;
/// The size of the prefix of a gRPC message: whether it is compressed, and its length.
const PREFIX_BYTES: u64 = 5;
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
        // They have no fields that could be counted.
        let large = Bytes::from(vec![0xff; MESSAGE_BYTES_MAX]);
        let call = LARGE_CALLS[0];
        let arriving = |connection| arrivals.arriving(Body::from(large.clone()), connection, call);
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
        let short = Body::from(vec![0xff; SHORT_BYTES_MAX]);
        assert!(is_taken(&mut arrivals.arriving(short, 1, call)));
        held.pop();
        assert!(is_taken(&mut arriving(5)));
        held.clear();
        assert_eq!(arrivals.held().bytes, 0);
        assert!(arrivals.held().of_connections.is_empty());
    }

    /// Eight million settings of two bytes each took 400 MiB before a service had them.
    #[tokio::test]
    async fn messages_have_a_number_of_fields() {
        let fields = |count: usize| [&[0; 5][..], &[0x0a, 1, b'x'].repeat(count)].concat();
        let most = usize::try_from(FIELDS_MAX).unwrap();
        let taken = |bytes: Vec<u8>, call| {
            // A message comes in pieces of any size.
            let pieces: Vec<_> = bytes.chunks(7).map(|piece| Ok(piece.to_vec())).collect();
            let body = Body::from_stream(futures::stream::iter::<Vec<Result<_, Status>>>(pieces));
            let mut body = Arrivals::default().arriving(body, 1, call);
            loop {
                match polled(&mut body) {
                    Poll::Ready(Some(Ok(_))) => {}
                    Poll::Ready(None) => return true,
                    Poll::Ready(Some(Err(_))) | Poll::Pending => return false,
                }
            }
        };
        assert!(taken(fields(most), LARGE_CALLS[0]));
        assert!(!taken(fields(most + 1), LARGE_CALLS[0]));
        // One field of any size, and something that is no message.
        let long = [&[0; 5][..], &[0x0a, 0x80, 0x80, 0x40], &[1; 1 << 20]].concat();
        assert!(taken(long.clone(), LARGE_CALLS[0]));
        assert!(taken(vec![0xff; 1 << 16], LARGE_CALLS[0]));
        // Other calls have small requests.
        assert!(!taken(long, "/arrow.flight.protocol.FlightService/DoGet"));
        assert!(taken(
            fields(1),
            "/arrow.flight.protocol.FlightService/DoGet"
        ));
    }

    #[tokio::test]
    async fn a_request_has_its_time() {
        let silent = Body::from_stream(futures::stream::pending::<Result<Bytes, Status>>());
        let mut body = Arrivals::default().arriving(silent, 1, LARGE_CALLS[0]);
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
