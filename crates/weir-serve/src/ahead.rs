//! Octets of a client that are read while its statement runs, up to a bound: the end of its connection arrives behind all that it has
//! sent, and not at all behind a closed window.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::retained::{Retained, Retention};

/// A stream with two handles: one reads and writes, and the other reads ahead for it.
#[derive(Debug)]
pub(crate) struct Ahead<S>(Arc<Mutex<State<S>>>);

#[derive(Debug)]
struct State<S> {
    stream: S,
    /// Octets that were read ahead, and are not taken yet.
    octets: BytesMut,
    /// The number of octets beyond which nothing is read ahead.
    octets_max: usize,
    /// Whether the stream is at its end, or has failed, behind them.
    is_over: bool,
    /// The memory of what is read ahead of the connection.
    retention: Arc<Retention>,
    /// The counted memory: at least that of the octets.
    retained: Vec<Retained>,
}

impl<S> Ahead<S> {
    /// A stream whose other handle reads so many octets ahead, as far as there is room for them.
    pub(crate) fn new(stream: S, octets_max: usize, retention: Arc<Retention>) -> Self {
        Self(Arc::new(Mutex::new(State {
            stream,
            octets: BytesMut::new(),
            octets_max,
            is_over: false,
            retention,
            retained: Vec::new(),
        })))
    }

    /// Another handle of the stream.
    pub(crate) fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of octets that were read ahead, and are not taken yet.
    pub(crate) fn octets(&self) -> usize {
        self.state().octets.len()
    }

    /// Whether as much was read ahead as may be of one connection.
    pub(crate) fn is_full(&self) -> bool {
        self.state().is_full()
    }
}

impl<S: AsyncRead + Unpin> Ahead<S> {
    /// Reads ahead until the stream is at its end, or has failed. It is not over where no more is read ahead.
    pub(crate) async fn over(&self) {
        std::future::poll_fn(|context| self.state().poll_over(context)).await;
    }
}

impl<S> State<S> {
    fn is_full(&self) -> bool {
        self.octets.len() >= self.octets_max
    }

    /// Whether the next piece may be read ahead; its memory is counted then.
    fn has_room(&mut self) -> bool {
        if self.is_full() {
            return false;
        }
        let held = self.octets.len();
        let counted = self.retained.len().saturating_mul(PIECE_BYTES);
        if held.saturating_add(PIECE_BYTES) > counted {
            match self.retention.add(PIECE_BYTES) {
                Ok(retained) => self.retained.push(retained),
                Err(_) => return false,
            }
        }
        true
    }
}

impl<S: AsyncRead + Unpin> State<S> {
    fn poll_over(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while !self.is_over {
            if !self.has_room() {
                return Poll::Pending;
            }
            let mut piece = [0; PIECE_BYTES];
            let mut buffer = ReadBuf::new(&mut piece);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(read) => {
                    self.octets.extend_from_slice(buffer.filled());
                    self.is_over = read.is_err() || buffer.filled().is_empty();
                }
            }
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Ahead<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut state = self.state();
        if !state.octets.is_empty() {
            let taken = state.octets.len().min(buffer.remaining());
            buffer.put_slice(&state.octets.split_to(taken));
            if state.octets.is_empty() {
                state.octets = BytesMut::new();
                state.retained = Vec::new();
            }
            return Poll::Ready(Ok(()));
        }
        match state.is_over {
            true => Poll::Ready(Ok(())),
            false => Pin::new(&mut state.stream).poll_read(context, buffer),
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Ahead<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.state().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.state().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.state().stream).poll_shutdown(context)
    }
}

/// Octets that are read at once.
const PIECE_BYTES: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn what_was_read_ahead_comes_first_and_has_a_bound() {
        let all = Retention::of_ahead();
        let (mut client, server) = duplex(1 << 20);
        let most = 3 * PIECE_BYTES;
        let mut server = Ahead::new(server, most, Retention::of_one(&all));
        let ahead = server.handle();
        let sent: Vec<u8> = (0..100_000_u32)
            .map(|number| number.to_le_bytes()[0])
            .collect();
        client.write_all(&sent[..10]).await.unwrap();
        assert!(ahead.over().now_or_never().is_none());
        assert!(ahead.octets() == 10 && !ahead.is_full());
        client.write_all(&sent[10..]).await.unwrap();
        assert!(ahead.over().now_or_never().is_none());
        assert!(ahead.octets() < most + PIECE_BYTES && ahead.is_full());
        // The end comes behind the bound, and is seen when what is before it was taken.
        drop(client);
        assert!(ahead.over().now_or_never().is_none());
        let mut taken = vec![0; 90_000];
        server.read_exact(&mut taken).await.unwrap();
        assert_eq!(ahead.octets(), 0);
        assert!(ahead.over().now_or_never().is_some());
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.unwrap();
        assert_eq!([taken, rest].concat(), sent);
    }

    #[tokio::test]
    async fn little_is_read_ahead_where_others_hold_all() {
        let all = Retention::of_ahead();
        let others = Retention::of_one(&all).add(32 << 20).unwrap();
        let (mut client, server) = duplex(1 << 20);
        let mut server = Ahead::new(server, 1 << 20, Retention::of_one(&all));
        let ahead = server.handle();
        client.write_all(&[7; 200_000]).await.unwrap();
        drop(client);
        assert!(ahead.over().now_or_never().is_none());
        assert!(ahead.octets() == 64 << 10 && !ahead.is_full());
        drop(others);
        assert!(ahead.over().now_or_never().is_some());
        let mut octets = Vec::new();
        server.read_to_end(&mut octets).await.unwrap();
        assert_eq!(octets, [7; 200_000]);
        // What was counted is free again.
        Retention::of_one(&all).add(32 << 20).unwrap();
    }
}
