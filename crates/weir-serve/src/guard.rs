//! Bytes of a client of the PostgreSQL protocol on their way in: no message is longer than it may be, and none gets
//! to pgwire whose parts do not fit into it, since pgwire's readers take for granted that they do.

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
    /// What has come of the message; 0 is the kind of the first, which has none.
    kind: u8,
    body: Vec<u8>,
    /// Whether a message of the authentication has come: the first names a mechanism, those behind it are its own.
    is_answering: bool,
    is_malformed: bool,
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
            kind: 0,
            body: Vec::new(),
            is_answering: false,
            is_malformed: false,
        }
    }

    /// The length of the message that was too long.
    pub(crate) const fn refused(&self) -> Option<usize> {
        self.refused
    }

    /// Whether a message came whose parts do not fit into it.
    pub(crate) const fn is_malformed(&self) -> bool {
        self.is_malformed
    }

    /// Takes more bytes; false when a message begins that is too long, or has come with parts that do not fit into it.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() && self.refused.is_none() && !self.is_malformed {
            if self.rest > 0 {
                let passed = self.rest.min(bytes.len());
                let (part, others) = bytes.split_at_checked(passed).unwrap_or((bytes, &[]));
                if is_checked(self.kind) {
                    self.body.extend_from_slice(part);
                }
                self.rest -= passed;
                bytes = others;
                if self.rest == 0 {
                    self.check();
                }
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
                // Messages before the password are short.
                let most = match self.is_first || a == b'p' {
                    true => FIRST_MAX.min(self.most),
                    false => self.most,
                };
                // The length counts its own four bytes.
                if length > most || length < 4 {
                    self.refused = Some(length);
                }
                self.rest = length.saturating_sub(4);
                self.kind = if self.is_first { 0 } else { a };
                (self.header_len, self.is_first) = (0, false);
                if self.rest == 0 && self.refused.is_none() {
                    self.check();
                }
            }
        }
        self.refused.is_none() && !self.is_malformed
    }

    /// Looks at a message that has come whole.
    fn check(&mut self) {
        let body = std::mem::take(&mut self.body);
        let is_own = self.kind == b'p' && self.is_answering;
        self.is_answering |= self.kind == b'p';
        self.is_malformed = is_checked(self.kind) && !is_own && !fits(self.kind, &body);
    }
}

/// Whether the parts of messages of this kind are looked at: those that pgwire reads parts of.
const fn is_checked(kind: u8) -> bool {
    matches!(
        kind,
        0 | b'P' | b'B' | b'D' | b'C' | b'E' | b'Q' | b'f' | b'F' | b'p'
    )
}

/// Whether the parts of a message fit into it, and nothing is left.
fn fits(kind: u8, body: &[u8]) -> bool {
    let mut parts = Parts(body);
    let read = match kind {
        0 => parts.first(),
        b'P' => (|| {
            parts.text()?;
            parts.text()?;
            let count = parts.count()?;
            parts.skip(count.checked_mul(4)?)
        })(),
        b'B' => (|| {
            parts.text()?;
            parts.text()?;
            parts.formats()?;
            for _ in 0..parts.count()? {
                // NULL has the length -1.
                if let Ok(length) = usize::try_from(parts.number()?.cast_signed()) {
                    parts.skip(length)?;
                }
            }
            parts.formats()
        })(),
        b'D' | b'C' => parts.skip(1).and_then(|()| parts.text()),
        b'E' => parts.text().and_then(|()| parts.skip(4)),
        b'Q' | b'f' => parts.text(),
        // SASLInitialResponse: a mechanism, and what it begins with, of which -1 says that there is nothing.
        b'p' => parts.text().and_then(|()| {
            let length = parts.number()?.cast_signed();
            match length {
                -1 => Some(()),
                _ => parts.skip(usize::try_from(length).ok()?),
            }
        }),
        // FunctionCall is obsolete, and no client sends it.
        _ => None,
    };
    read.is_some() && parts.0.is_empty()
}

/// What is left of a message.
struct Parts<'b>(&'b [u8]);

impl Parts<'_> {
    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    /// A text with its zero.
    fn text(&mut self) -> Option<()> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        self.skip(end.checked_add(1)?)
    }

    fn number(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*number))
    }

    fn count(&mut self) -> Option<usize> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(usize::from(u16::from_be_bytes(*number)))
    }

    fn formats(&mut self) -> Option<()> {
        let count = self.count()?;
        self.skip(count.checked_mul(2)?)
    }

    /// The first message: a request for TLS or GSSAPI, a cancel, or settings by pairs of texts.
    fn first(&mut self) -> Option<()> {
        match self.number()? {
            80_877_103 | 80_877_104 => Some(()),
            80_877_102 => {
                self.skip(8)?;
                let rest = self.0.len();
                self.skip(rest)
            }
            _ => {
                while !self.0.starts_with(&[0]) {
                    self.text()?;
                    self.text()?;
                }
                self.skip(1)
            }
        }
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
                let error = io::Error::new(io::ErrorKind::InvalidData, "invalid message format");
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
            stream.push(b'd');
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

    #[test]
    fn messages_that_are_cut_inside_do_not_get_to_their_reader() {
        let whole: [(u8, &[u8]); 12] = [
            (0, b"\x04\xd2\x16\x2f"),
            (0, b"\x04\xd2\x16\x2e\0\0\0\x01\0\0\0\x02"),
            (0, b"\0\x03\0\0user\0me\0\0"),
            (b'P', b"s\0SELECT $1\0\0\x01\0\0\0\x14"),
            (
                b'B',
                b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\x01\0\x01",
            ),
            (b'D', b"Ss\0"),
            (b'C', b"P\0"),
            (b'E', b"\0\0\0\0\0"),
            (b'Q', b"SELECT 1\0"),
            (b'f', b"no\0"),
            (b'p', b"SCRAM-SHA-256\0\0\0\0\x03n,,"),
            (b'p', b"SCRAM-SHA-256\0\xff\xff\xff\xff"),
        ];
        for (kind, body) in whole {
            assert!(fits(kind, body), "{kind} {body:?}");
            for cut in 0..body.len() {
                assert!(!fits(kind, &body[..cut]), "{kind} {:?}", &body[..cut]);
            }
            let more = [body, &[1]].concat();
            assert!(!fits(kind, &more) || body.starts_with(b"\x04\xd2\x16\x2e"));
        }
        assert!(!fits(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"));
        assert!(!fits(b'F', &[0; 8]));
        for odd in [
            &b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,"[..],
            b"SCRAM-SHA-256\0\xff\xff\xff\xfen,,",
            b"SCRAM-SHA-256\0\x80\0\0\0",
            b"SCRAM-SHA-256",
            b"\0",
            b"",
        ] {
            assert!(!fits(b'p', odd), "{odd:?}");
        }
        // What a mechanism goes on with has no parts.
        let mut lengths = Lengths::new(100);
        assert!(lengths.take(b"\0\0\0\x09\0\x03\0\0\0p\0\0\0\x0bS\0\0\0\0\x01n"));
        assert!(lengths.take(b"p\0\0\0\x07c=b"));
        let mut lengths = Lengths::new(100);
        assert!(lengths.take(b"\0\0\0\x09\0\x03\0\0\0P\0\0\0\x08s\0"));
        assert!(!lengths.take(b"S\0") && lengths.is_malformed());
        assert_eq!(lengths.refused(), None);
    }
}
