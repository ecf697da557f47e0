//! Bytes of a client of the PostgreSQL protocol on their way in: no message is longer than it may be.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Follows the lengths of messages in a stream that comes in pieces of any size.
#[derive(Debug)]
pub(crate) struct Lengths {
    most: usize,
    /// The first message of a connection has no type in front.
    is_first: bool,
    header: [u8; 5],
    header_len: usize,
    rest: usize,
    refused: Option<usize>,
}

impl Lengths {
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            most,
            is_first: true,
            header: [0; 5],
            header_len: 0,
            rest: 0,
            refused: None,
        }
    }

    /// The length of the message that was too long.
    pub(crate) const fn refused(&self) -> Option<usize> {
        self.refused
    }

    /// Takes more bytes; false when a message begins that is too long.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() && self.refused.is_none() {
            if self.rest > 0 {
                let passed = self.rest.min(bytes.len());
                self.rest -= passed;
                bytes = bytes.get(passed..).unwrap_or_default();
                continue;
            }
            let wanted = if self.is_first { 4 } else { 5 };
            let Some((first, others)) = bytes.split_first() else {
                break;
            };
            if let Some(place) = self.header.get_mut(self.header_len) {
                *place = *first;
            }
            self.header_len += 1;
            bytes = others;
            if self.header_len == wanted {
                let [a, b, c, d, e] = self.header;
                let length = match self.is_first {
                    true => u32::from_be_bytes([a, b, c, d]),
                    false => u32::from_be_bytes([b, c, d, e]),
                };
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                let most = if self.is_first { FIRST_MAX } else { self.most };
                // The length counts its own four bytes.
                if length > most || length < 4 {
                    self.refused = Some(length);
                }
                self.rest = length.saturating_sub(4);
                (self.header_len, self.is_first) = (0, false);
            }
        }
        self.refused.is_none()
    }
}

/// A stream whose messages are no longer than they may be.
#[derive(Debug)]
pub(crate) struct Guarded<S> {
    inner: S,
    pub(crate) lengths: Lengths,
}

impl<S> Guarded<S> {
    pub(crate) const fn new(inner: S, lengths: Lengths) -> Self {
        Self { inner, lengths }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.inner).poll_read(context, buffer);
        if let Poll::Ready(Ok(())) = polled {
            let new = buffer.filled().get(before..).unwrap_or_default();
            if !this.lengths.take(new) {
                let error = io::Error::new(io::ErrorKind::InvalidData, "a message is too long");
                return Poll::Ready(Err(error));
            }
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().inner).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().inner).poll_shutdown(context)
    }
}

/// Bytes of the first message: user, database and settings.
const FIRST_MAX: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_found_however_bytes_are_cut() {
        let mut stream = vec![0, 0, 0, 9, 0, 3, 0, 0, 0];
        for length in [4_u32, 5, 100] {
            stream.push(b'Q');
            stream.extend(length.to_be_bytes());
            stream.extend(vec![0x7f; length as usize - 4]);
        }
        for size in 1..stream.len() {
            let mut lengths = Lengths::new(100);
            assert!(
                stream.chunks(size).all(|piece| lengths.take(piece)),
                "{size}"
            );
            let mut lengths = Lengths::new(99);
            assert!(
                !stream.chunks(size).all(|piece| lengths.take(piece)),
                "{size}"
            );
            assert_eq!(lengths.refused(), Some(100));
        }
        for first in [[0, 0, 0, 3], [0x7f, 0xff, 0xff, 0xff], [0xff; 4]] {
            assert!(!Lengths::new(1 << 30).take(&first));
        }
    }
}
