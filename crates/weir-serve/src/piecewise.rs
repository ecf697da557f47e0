//! A socket that is read piece by piece: a client that sends small frames without end has its turns between those of others. The library
//! of HTTP/2 handles all frames that have come before it gives way, and a frame of some octets takes as long as a request of some
//! kilobytes.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A socket of which a piece is read at a time.
#[derive(Debug)]
pub(crate) struct Piecewise<S> {
    socket: S,
    /// Bytes that were read since the last turn of others.
    bytes: usize,
}

impl<S> Piecewise<S> {
    pub(crate) const fn new(socket: S) -> Self {
        Self { socket, bytes: 0 }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Piecewise<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.bytes >= PIECE_BYTES {
            this.bytes = 0;
            // The task comes behind those that wait.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.socket).poll_read(context, buffer);
        this.bytes = match polled {
            Poll::Ready(_) => this.bytes.saturating_add(buffer.filled().len() - before),
            Poll::Pending => 0,
        };
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Piecewise<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().socket).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}

/// Bytes of a piece: a thousand of the smallest frames.
const PIECE_BYTES: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::io::AsyncReadExt;

    use super::*;

    /// Four clients with pings without end kept another waiting for seconds.
    #[tokio::test]
    async fn others_have_a_turn_behind_each_piece() {
        let octets = vec![7; 5 * PIECE_BYTES];
        let mut socket = Piecewise::new(octets.as_slice());
        let mut whole = Vec::new();
        let mut piece = vec![0; PIECE_BYTES / 2];
        let mut turns = 0;
        while whole.len() < octets.len() {
            match socket.read(&mut piece).now_or_never() {
                Some(read) => whole.extend(piece.iter().take(read.unwrap())),
                None => turns += 1,
            }
        }
        assert_eq!((whole, turns), (octets, 4));
    }
}
