//! Requests on their way in. The received octets of a message are held until it is complete, or for ever when its
//! client does not continue; therefore the octets of all requests have a limit.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tonic::Status;

use super::status::refused;
use crate::retained::{Retained, Retention};

/// The memory of a request: its bytes are counted until the last of these is dropped.
pub(super) type Counted = Arc<Mutex<Vec<Retained>>>;

/// The body of a request, whose bytes are counted until it is dropped.
pub(super) struct Arriving<B = Incoming> {
    body: B,
    /// The memory of the requests of a connection.
    retention: Arc<Retention>,
    bytes: usize,
    counted: Counted,
}

impl<B> Arriving<B> {
    pub(super) fn new(body: B, retention: &Arc<Retention>) -> Self {
        Self {
            body,
            retention: Arc::clone(retention),
            bytes: 0,
            counted: Counted::default(),
        }
    }

    /// The memory of the request, for an answer that has all of the request in it.
    pub(super) fn counted(&self) -> Counted {
        Arc::clone(&self.counted)
    }

    fn count(&mut self, bytes: usize) -> Result<(), Status> {
        self.bytes = self.bytes.saturating_add(bytes);
        // A short request comes through while others hold all.
        if self.bytes > SHORT_BYTES_MAX {
            let retained = self.retention.add(bytes);
            let retained = retained.map_err(|failure| refused(&failure))?;
            let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
            counted.push(retained);
        }
        Ok(())
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Arriving<B>
where
    B::Error: std::error::Error + Send + Sync + 'static,
{
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let this = self.get_mut();
        let frame = match ready!(Pin::new(&mut this.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            Some(Err(error)) => return Poll::Ready(Some(Err(Status::from_error(Box::new(error))))),
            None => return Poll::Ready(None),
        };
        let counted = frame
            .data_ref()
            .map_or(Ok(()), |data| this.count(data.len()));
        Poll::Ready(Some(counted.map(|()| frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The bytes of a request that are not counted.
const SHORT_BYTES_MAX: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;

    use tonic::Code;

    use super::*;

    /// Frames of these sizes.
    struct Frames(VecDeque<usize>);

    impl Body for Frames {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            let size = self.0.pop_front();
            Poll::Ready(size.map(|size| Ok(Frame::data(Bytes::from(vec![0; size])))))
        }
    }

    /// The frames that come through, and the code of the error behind them.
    fn read(body: &mut Arriving<Frames>) -> (usize, Option<Code>) {
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut count = 0;
        loop {
            match Pin::new(&mut *body).poll_frame(&mut context) {
                Poll::Ready(Some(Ok(_))) => count += 1,
                Poll::Ready(Some(Err(status))) => return (count, Some(status.code())),
                Poll::Ready(None) | Poll::Pending => return (count, None),
            }
        }
    }

    #[test]
    fn unfinished_messages_have_a_limit_and_short_ones_come_through() {
        let all = Retention::of_arrivals(1 << 20);
        let mib = 1 << 20;
        let mut held = Vec::new();
        for _ in 0..8 {
            let one = Retention::of_one(&all);
            let mut body = Arriving::new(Frames(vec![mib; 9].into()), &one);
            // The bytes of one connection.
            assert_eq!(read(&mut body), (8, Some(Code::ResourceExhausted)));
            held.push(body);
        }
        let one = Retention::of_one(&all);
        let mut body = Arriving::new(Frames([mib].into()), &one);
        assert_eq!(read(&mut body), (0, Some(Code::ResourceExhausted)));
        let mut short = Arriving::new(Frames(vec![SHORT_BYTES_MAX / 4; 4].into()), &one);
        assert_eq!(read(&mut short), (4, None));
        let counted = held.pop().map(|body| body.counted());
        // The answer still has the request in it.
        let mut body = Arriving::new(Frames([mib].into()), &one);
        assert_eq!(read(&mut body), (0, Some(Code::ResourceExhausted)));
        drop(counted);
        let mut body = Arriving::new(Frames([mib].into()), &one);
        assert_eq!(read(&mut body), (1, None));
    }
}
