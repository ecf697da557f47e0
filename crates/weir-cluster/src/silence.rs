//! Connections of those who say nothing.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tonic::transport::server::Connected;

/// A connection that ends when nothing that could be a question comes by it for a while: before a token is looked at, each
/// takes one of the files that a process may have open. Later, HTTP/2 asks whether the other side lives.
pub(crate) struct Heard<S> {
    stream: S,
    /// Until when more has to come, and how many bytes came.
    waits: Option<(Pin<Box<Sleep>>, usize)>,
}

impl<S> Heard<S> {
    /// A connection that may be silent for so long.
    pub(crate) fn within(silence_max: Duration, stream: S) -> Self {
        Self {
            stream,
            waits: Some((Box::pin(sleep(silence_max)), 0)),
        }
    }
}

impl<S: Connected> Connected for Heard<S> {
    type ConnectInfo = S::ConnectInfo;

    fn connect_info(&self) -> Self::ConnectInfo {
        self.stream.connect_info()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Heard<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = into.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, into);
        let Some((until, heard)) = &mut this.waits else {
            return read;
        };
        match read {
            Poll::Ready(read) => {
                *heard = heard.saturating_add(into.filled().len().saturating_sub(before));
                if *heard >= QUESTION_MIN {
                    this.waits = None;
                }
                Poll::Ready(read)
            }
            Poll::Pending => {
                ready!(until.as_mut().poll(context));
                Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "nothing is asked",
                )))
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Heard<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// How long a connection may be without a question. A client sends one as soon as it is connected.
pub(crate) const SILENCE_MAX: Duration = Duration::from_secs(5);
/// Bytes that a question has at least: the greeting of HTTP/2 with a frame, or the first message of a handshake. A line of
/// HTTP/1 has fewer, and is answered when it is there.
const QUESTION_MIN: usize = 33;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn who_says_little_is_waited_for_a_while() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            for said in [0, 1, QUESTION_MIN - 1] {
                let (mut other, stream) = tokio::io::duplex(100);
                let mut heard = Heard::within(Duration::from_millis(5), stream);
                other.write_all(&vec![b'x'; said]).await.unwrap();
                heard.read_exact(&mut vec![0; said]).await.unwrap();
                let ended = heard.read_u8().await.unwrap_err();
                assert_eq!(ended.kind(), io::ErrorKind::TimedOut, "{said}");
            }
            let (mut other, stream) = tokio::io::duplex(100);
            let mut heard = Heard::within(Duration::from_secs(60), stream);
            other.write_all(&[b'x'; QUESTION_MIN]).await.unwrap();
            heard.read_exact(&mut [0; QUESTION_MIN]).await.unwrap();
            assert!(heard.waits.is_none());
        });
    }
}
