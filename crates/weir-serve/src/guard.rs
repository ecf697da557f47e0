//! Bytes of a client of the PostgreSQL protocol on their way in: no message is longer than it may be, and none gets to
//! pgwire whose parts do not fit into it, since pgwire's readers take for granted that they do. The received octets of
//! incomplete messages have a limit, over all connections, and so has the time in which a message arrives.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use crate::error::{Failure, FailureKind};
use crate::retained::{Retained, Retention};

/// Follows the lengths of messages in a stream that comes in pieces of any size.
#[derive(Debug)]
pub(crate) struct Lengths {
    most: usize,
    /// The first message of a connection has no type in front.
    is_first: bool,
    /// Whether the client still has to show a password: its messages are short until then.
    awaits_password: bool,
    header: [u8; 5],
    header_len: usize,
    rest: usize,
    refused: Option<usize>,
    /// Whether the message that was refused is one that is always short.
    is_refused_as_short: bool,
    /// The kind of the message; 0 is that of the first, which has none.
    kind: u8,
    /// The received part of the first message, which is short.
    first: Vec<u8>,
    /// The parts of another message that are still to come.
    parts: PendingParts,
    /// Whether a message of the authentication has come: the first names a mechanism, those behind it are its own.
    is_answering: bool,
    is_malformed: bool,
    /// The number of messages with texts that have come, and of those that were processed.
    received: u64,
    processed: u64,
    /// The numbers of those with a text that is not UTF-8. They are no more than the messages that are read ahead.
    invalid_texts: VecDeque<u64>,
}

impl Lengths {
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            most,
            is_first: true,
            awaits_password: false,
            header: [0; 5],
            header_len: 0,
            rest: 0,
            refused: None,
            is_refused_as_short: false,
            kind: 0,
            first: Vec::new(),
            parts: PendingParts::none(),
            is_answering: false,
            is_malformed: false,
            received: 0,
            processed: 0,
            invalid_texts: VecDeque::new(),
        }
    }

    /// Limits messages to those of an authentication until the client has shown a password.
    pub(crate) const fn set_awaits_password(&mut self, awaits: bool) {
        self.awaits_password = awaits;
    }

    /// The length of the message that was too long.
    pub(crate) const fn refused(&self) -> Option<usize> {
        self.refused
    }

    /// Whether the message that was too long would be so with any limit of texts.
    pub(crate) const fn is_refused_as_short(&self) -> bool {
        self.is_refused_as_short
    }

    /// Whether a message came whose parts do not fit into it.
    pub(crate) const fn is_malformed(&self) -> bool {
        self.is_malformed
    }

    /// Counts a message with texts that is processed next, and says whether one of them is not UTF-8.
    pub(crate) fn next_has_invalid_text(&mut self) -> bool {
        self.processed = self.processed.saturating_add(1);
        let is_invalid = self.invalid_texts.front() == Some(&self.processed);
        if is_invalid {
            self.invalid_texts.pop_front();
        }
        is_invalid
    }

    /// Whether a message has begun that has not come whole.
    const fn is_within(&self) -> bool {
        self.rest > 0 || self.header_len > 0
    }

    /// Takes more bytes; false when a message is too long, or was received with parts that do not fit into it.
    pub(crate) fn take(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() && self.refused.is_none() && !self.is_malformed {
            if self.rest > 0 {
                let passed = self.rest.min(bytes.len());
                let (part, others) = bytes.split_at_checked(passed).unwrap_or((bytes, &[]));
                match self.kind {
                    0 => self.first.extend_from_slice(part),
                    _ => self.parts.take(part),
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
                let is_short = self.is_first || self.awaits_password || a == b'p';
                let most = match is_short {
                    true => FIRST_MAX.min(self.most),
                    false => self.most,
                };
                // The length counts its own four bytes.
                if length > most || length < 4 {
                    self.refused = Some(length);
                    self.is_refused_as_short = is_short;
                }
                self.rest = length.saturating_sub(4);
                self.kind = if self.is_first { 0 } else { a };
                self.parts = PendingParts::of(self.kind, self.is_answering);
                self.is_answering |= self.kind == b'p';
                (self.header_len, self.is_first) = (0, false);
                if self.rest == 0 && self.refused.is_none() {
                    self.check();
                }
            }
        }
        self.refused.is_none() && !self.is_malformed
    }

    /// Checks a message that was received whole.
    fn check(&mut self) {
        if has_texts(self.kind) {
            self.received = self.received.saturating_add(1);
            if self.parts.has_invalid_text {
                self.invalid_texts.push_back(self.received);
            }
        }
        self.is_malformed = match self.kind {
            0 => !fits_first(&std::mem::take(&mut self.first)),
            _ => !self.parts.is_whole(),
        };
    }
}

/// Whether messages of this kind are statements, or are about them: their texts are read as UTF-8.
const fn has_texts(kind: u8) -> bool {
    matches!(kind, b'P' | b'B' | b'D' | b'C' | b'E' | b'Q')
}

/// The parts of a message that are still to come. They are followed as they come, and not held.
#[derive(Debug)]
struct PendingParts {
    /// The next is the last.
    rest: Vec<MessagePart>,
    /// The octets of a number that have come.
    number: u32,
    number_len: u8,
    is_malformed: bool,
    /// The text at hand.
    text: Utf8,
    has_invalid_text: bool,
}

/// A part of a message.
#[derive(Clone, Copy, Debug)]
enum MessagePart {
    /// A text with its zero.
    Text,
    /// A number of octets.
    Octets(usize),
    /// A count, and items of so many octets.
    Items(usize),
    /// A count, and values with their lengths.
    Values,
    /// A number of values with their lengths, of which -1 stands for NULL.
    Value(u32),
    /// The initial response of a SASL mechanism, of whose length -1 stands for none.
    Initial,
    /// Whatever comes.
    Any,
}

impl PendingParts {
    const fn none() -> Self {
        Self {
            rest: Vec::new(),
            number: 0,
            number_len: 0,
            is_malformed: false,
            text: Utf8::new(),
            has_invalid_text: false,
        }
    }

    /// The parts of a message of this kind that pgwire reads. The first message of an authentication names a mechanism,
    /// those behind it are the mechanism's own.
    fn of(kind: u8, is_answering: bool) -> Self {
        use MessagePart::{Initial, Items, Octets, Text, Values};
        let rest: &[MessagePart] = match kind {
            b'P' => &[Text, Text, Items(4)],
            b'B' => &[Text, Text, Items(2), Values, Items(2)],
            b'D' | b'C' => &[Octets(1), Text],
            b'E' => &[Text, Octets(4)],
            b'Q' | b'f' => &[Text],
            b'p' if !is_answering => &[Text, Initial],
            // pgwire would read what stands in them as further messages, which nothing has checked.
            b'H' | b'S' | b'c' => &[],
            _ => &[MessagePart::Any],
        };
        Self {
            rest: rest.iter().rev().copied().collect(),
            // FunctionCall is obsolete, and no client sends it.
            is_malformed: kind == b'F',
            ..Self::none()
        }
    }

    /// Whether the message had all of its parts, and no other bytes.
    fn is_whole(&self) -> bool {
        let is_over = matches!(self.rest.as_slice(), [] | [MessagePart::Any]);
        is_over && self.number_len == 0 && !self.is_malformed
    }

    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && !self.is_malformed {
            let Some(part) = self.rest.pop() else {
                self.is_malformed = true;
                return;
            };
            bytes = self.take_part(part, bytes);
        }
    }

    /// Takes octets of a part, and returns those after it.
    fn take_part<'b>(&mut self, part: MessagePart, bytes: &'b [u8]) -> &'b [u8] {
        match part {
            MessagePart::Any => {
                self.rest.push(part);
                &[]
            }
            MessagePart::Text => {
                let mut split = bytes.splitn(2, |byte| *byte == 0);
                self.text.take(split.next().unwrap_or_default());
                match split.next() {
                    Some(behind) => {
                        self.has_invalid_text |= !self.text.is_valid();
                        self.text = Utf8::new();
                        behind
                    }
                    None => {
                        self.rest.push(part);
                        &[]
                    }
                }
            }
            MessagePart::Octets(count) => match bytes.split_at_checked(count) {
                Some((_, rest)) => rest,
                None => {
                    self.rest.push(MessagePart::Octets(count - bytes.len()));
                    &[]
                }
            },
            MessagePart::Items(_) | MessagePart::Values => self.take_number(part, 2, bytes),
            MessagePart::Value(0) => bytes,
            MessagePart::Value(_) | MessagePart::Initial => self.take_number(part, 4, bytes),
        }
    }

    /// Takes an octet of a number of `len` octets, and the parts that the whole number announces.
    fn take_number<'b>(&mut self, part: MessagePart, len: u8, bytes: &'b [u8]) -> &'b [u8] {
        let Some((first, rest)) = bytes.split_first() else {
            self.rest.push(part);
            return bytes;
        };
        self.number = (self.number << 8) | u32::from(*first);
        self.number_len += 1;
        if self.number_len < len {
            self.rest.push(part);
            return rest;
        }
        let number = self.number;
        (self.number, self.number_len) = (0, 0);
        let octets = usize::try_from(number.cast_signed());
        match (part, octets) {
            (MessagePart::Items(each), Ok(count)) => {
                self.rest
                    .push(MessagePart::Octets(count.saturating_mul(each)));
            }
            (MessagePart::Values, _) => self.rest.push(MessagePart::Value(number)),
            (MessagePart::Value(left), octets) => {
                self.rest.push(MessagePart::Value(left - 1));
                self.rest.push(MessagePart::Octets(octets.unwrap_or(0)));
            }
            (MessagePart::Initial, Ok(octets)) => self.rest.push(MessagePart::Octets(octets)),
            (MessagePart::Initial, Err(_)) => self.is_malformed = number != u32::MAX,
            _ => self.is_malformed = true,
        }
        // A part without octets is complete.
        while matches!(
            self.rest.last(),
            Some(MessagePart::Octets(0) | MessagePart::Value(0))
        ) {
            self.rest.pop();
        }
        rest
    }
}

/// Follows the octets of a text that comes in pieces, which is to be UTF-8 (RFC 3629, 4).
#[derive(Debug)]
struct Utf8 {
    /// Octets that the character at hand still has to have, and the range of the next of them.
    missing: u8,
    least: u8,
    most: u8,
    is_invalid: bool,
}

impl Utf8 {
    const fn new() -> Self {
        Self {
            missing: 0,
            least: 0x80,
            most: 0xbf,
            is_invalid: false,
        }
    }

    /// Whether the text is valid, if it ends here.
    const fn is_valid(&self) -> bool {
        self.missing == 0 && !self.is_invalid
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.missing == 0 && std::str::from_utf8(bytes).is_ok() {
            return;
        }
        for byte in bytes {
            self.take_octet(*byte);
        }
    }

    fn take_octet(&mut self, byte: u8) {
        if self.missing > 0 {
            self.is_invalid |= !(self.least..=self.most).contains(&byte);
            self.missing -= 1;
            (self.least, self.most) = (0x80, 0xbf);
            return;
        }
        (self.missing, self.least, self.most) = match byte {
            0..=0x7f => (0, 0x80, 0xbf),
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xe1..=0xec | 0xee..=0xef => (2, 0x80, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xf0 => (3, 0x90, 0xbf),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            _ => {
                self.is_invalid = true;
                (0, 0x80, 0xbf)
            }
        };
    }
}

/// Whether the first message is one: a request for TLS or GSSAPI, a cancel, or settings by pairs of texts.
fn fits_first(body: &[u8]) -> bool {
    let Some((number, mut rest)) = body.split_first_chunk() else {
        return false;
    };
    match u32::from_be_bytes(*number) {
        80_877_103 | 80_877_104 => rest.is_empty(),
        80_877_102 => rest.len() >= 8,
        _ => loop {
            let mut texts = rest.splitn(3, |byte| *byte == 0);
            let (name, value) = (texts.next(), texts.next());
            match (name, value, texts.next()) {
                (Some([]), Some([]), None) => return true,
                (Some([_, ..]), Some(_), Some(behind)) => rest = behind,
                _ => return false,
            }
        },
    }
}

/// The received part of messages that were not processed yet.
#[derive(Debug)]
struct Arriving {
    /// The memory of the messages of the connection.
    retention: Arc<Retention>,
    bytes: usize,
    retained: Vec<Retained>,
    /// When the message that has begun has to be whole.
    until: Option<Pin<Box<Sleep>>>,
    /// Why no more is taken.
    refused: Option<Failure>,
}

impl Arriving {
    /// Counts more bytes; false when there is no room for them.
    fn count(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        // A short message comes through while others hold all.
        if self.bytes > SHORT_BYTES_MAX {
            match self.retention.add(bytes) {
                Ok(retained) => self.retained.push(retained),
                Err(failure) => self.refused = Some(failure),
            }
        }
        self.refused.is_none()
    }

    /// A message was taken out, and so many bytes are held behind it.
    fn keep(&mut self, held: usize) {
        self.bytes = held;
        self.until = None;
        if held <= SHORT_BYTES_MAX {
            self.retained.clear();
            return;
        }
        let counted = self.retained.iter().map(Retained::bytes);
        let mut counted = counted.fold(0, usize::saturating_add);
        while let Some(last) = self.retained.pop() {
            let rest = counted.saturating_sub(last.bytes());
            if rest < held {
                self.retained.push(last);
                return;
            }
            counted = rest;
        }
    }

    /// Whether the time of the message that has begun is over.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let until = self
            .until
            .get_or_insert_with(|| Box::pin(sleep(ARRIVES_WITHIN)));
        if until.as_mut().poll(context).is_pending() {
            return false;
        }
        let seconds = ARRIVES_WITHIN.as_secs();
        let message = format!("a message was not complete within {seconds} s");
        self.refused = Some(Failure::new(FailureKind::Timeout, message));
        true
    }
}

/// A stream whose messages are no longer than they may be.
#[derive(Debug)]
pub(crate) struct Guarded<S> {
    inner: S,
    pub(crate) lengths: Lengths,
    arriving: Arriving,
}

impl<S> Guarded<S> {
    /// A stream of a connection for whose messages this is held.
    pub(crate) const fn new(inner: S, lengths: Lengths, retention: Arc<Retention>) -> Self {
        Self {
            inner,
            lengths,
            arriving: Arriving {
                retention,
                bytes: 0,
                retained: Vec::new(),
                until: None,
                refused: None,
            },
        }
    }

    /// The stream itself.
    pub(crate) const fn inner(&self) -> &S {
        &self.inner
    }

    /// Why no more of a message was taken.
    pub(crate) const fn crowded(&self) -> Option<&Failure> {
        self.arriving.refused.as_ref()
    }

    /// A message was taken out; `held` bytes behind it have come, and are still to be.
    pub(crate) fn keep(&mut self, held: usize) {
        self.arriving.keep(held);
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
            if !this.lengths.take(new) || !this.arriving.count(new.len()) {
                let error = io::Error::new(io::ErrorKind::InvalidData, "invalid message format");
                return Poll::Ready(Err(error));
            }
        }
        if polled.is_pending() && this.lengths.is_within() && this.arriving.is_late(context) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
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
/// The bytes of a message that are not counted.
const SHORT_BYTES_MAX: usize = 16 << 10;
/// The time limit for receiving a message.
const ARRIVES_WITHIN: Duration = Duration::from_secs(20);

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

    /// A client without the password took the room of the unfinished messages of all others.
    #[test]
    fn messages_before_the_password_are_short() {
        let first = b"\0\0\0\x09\0\x03\0\0\0";
        let query = |length: usize| {
            let mut message = vec![b'Q'];
            message.extend(u32::try_from(length).unwrap().to_be_bytes());
            message
        };
        let mut lengths = Lengths::new(1 << 20);
        lengths.set_awaits_password(true);
        assert!(lengths.take(first));
        assert!(!lengths.take(&query(FIRST_MAX + 1)));
        assert_eq!(lengths.refused(), Some(FIRST_MAX + 1));
        let mut lengths = Lengths::new(1 << 20);
        lengths.set_awaits_password(true);
        assert!(lengths.take(first));
        lengths.set_awaits_password(false);
        assert!(lengths.take(&query(FIRST_MAX + 1)));
    }

    #[test]
    fn texts_are_utf_8_as_the_standard_library_has_it_however_they_are_cut() {
        let is_valid = |text: &[u8], size: usize| {
            let mut utf8 = Utf8::new();
            text.chunks(size).for_each(|piece| utf8.take(piece));
            utf8.is_valid()
        };
        let octets = [
            0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1,
            0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff,
        ];
        for first in octets {
            for second in octets {
                for third in octets {
                    for fourth in octets {
                        let text = [first, second, third, fourth, b'x'];
                        for text in [&text[..4], &text[..3], &text[..]] {
                            let expected = std::str::from_utf8(text).is_ok();
                            assert_eq!(is_valid(text, 1), expected, "{text:x?}");
                            assert_eq!(is_valid(text, 2), expected, "{text:x?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn messages_with_texts_that_are_not_utf_8_are_counted() {
        let mut stream: Vec<u8> = vec![0, 0, 0, 9, 0, 3, 0, 0, 0];
        for text in [b"\xc3\xa4\0", b"\xe4b\0", b"a\xc3\0", b"abc"] {
            stream.extend(b"Q\0\0\0\x07");
            stream.extend(text);
            stream.extend(b"S\0\0\0\x04");
        }
        // The last message is not complete, since its text has no zero.
        stream.truncate(stream.len() - 5);
        for size in 1..stream.len() {
            let mut lengths = Lengths::new(100);
            for piece in stream.chunks(size) {
                lengths.take(piece);
            }
            let found: Vec<bool> = (0..4).map(|_| lengths.next_has_invalid_text()).collect();
            assert_eq!(found, [false, true, true, false], "{size}");
        }
    }

    /// A hundred incomplete messages held a megabyte each until their clients ended them.
    #[tokio::test]
    async fn what_has_come_of_messages_has_a_limit_and_short_ones_come_through() {
        use tokio::io::AsyncReadExt as _;
        let all = Retention::of_arrivals(1 << 20);
        let message = |length: u32| {
            let mut message = vec![b'Q'];
            message.extend(length.to_be_bytes());
            message.resize(length as usize, b'x');
            message
        };
        let guarded = |bytes: Vec<u8>| {
            let mut lengths = Lengths::new(1 << 20);
            assert!(lengths.take(b"\0\0\0\x09\0\x03\0\0\0"));
            let one = Retention::of_one(&all);
            let stream = tokio::io::join(io::Cursor::new(bytes), tokio::io::sink());
            Guarded::new(stream, lengths, one)
        };
        let mut held = Vec::new();
        for _ in 0..64 {
            let mut stream = guarded(message(1 << 20));
            stream.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
            assert!(stream.lengths.is_within());
            held.push(stream);
        }
        let mut stream = guarded(message(1 << 20));
        assert!(stream.read_exact(&mut vec![0; 1 << 20]).await.is_err());
        let failure = stream.crowded().unwrap();
        assert!(failure.message.contains("unfinished messages"), "{failure}");
        let mut stream = guarded(message(1000));
        stream.read_exact(&mut [0; 1000]).await.unwrap();
        held[0].keep(0);
        let mut stream = guarded(message(1 << 20));
        stream.read_exact(&mut vec![0; 1 << 20]).await.unwrap();
    }

    /// A client that sent message behind message, of 8 MiB together, was disconnected.
    #[tokio::test]
    async fn messages_that_were_taken_out_are_not_held() {
        use tokio::io::AsyncReadExt as _;
        let all = Retention::of_arrivals(1 << 20);
        let mut message = b"Q\0\x01\0\0".to_vec();
        message.resize(0x1_0000, b'x');
        message.push(0);
        let mut lengths = Lengths::new(1 << 20);
        assert!(lengths.take(b"\0\0\0\x09\0\x03\0\0\0"));
        let bytes = message.repeat(300);
        let stream = tokio::io::join(io::Cursor::new(bytes), tokio::io::sink());
        let mut stream = Guarded::new(stream, lengths, Retention::of_one(&all));
        let mut piece = vec![0; 10_000];
        let (mut read, mut taken) = (0, 0);
        loop {
            let octets = stream.read(&mut piece).await.unwrap();
            if octets == 0 {
                break;
            }
            read += octets;
            if read / message.len() > taken {
                taken = read / message.len();
                stream.keep(read % message.len());
            }
            let counted = stream.arriving.retained.iter().map(Retained::bytes);
            assert!(counted.sum::<usize>() < message.len() + 2 * piece.len());
        }
        assert_eq!(taken, 300);
        let mut arriving = stream.arriving;
        for _ in 0..10 {
            assert!(arriving.count(SHORT_BYTES_MAX));
        }
        arriving.keep(3 * SHORT_BYTES_MAX);
        assert_eq!(arriving.retained.len(), 3);
        arriving.keep(2 * SHORT_BYTES_MAX + 1);
        assert_eq!(arriving.retained.len(), 3);
        arriving.keep(SHORT_BYTES_MAX);
        assert!(arriving.retained.is_empty() && arriving.bytes == SHORT_BYTES_MAX);
    }

    #[test]
    fn messages_that_are_cut_inside_do_not_get_to_their_reader() {
        let fits = |kind: u8, body: &[u8]| match kind {
            0 => fits_first(body),
            _ => {
                [1, 2, 3, 7, usize::MAX].map(|size| {
                    let mut parts = PendingParts::of(kind, false);
                    body.chunks(size.min(body.len().max(1)))
                        .for_each(|piece| parts.take(piece));
                    parts.is_whole()
                }) == [true; 5]
            }
        };
        let whole: [(u8, &[u8]); 15] = [
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
            (b'H', b""),
            (b'S', b""),
            (b'c', b""),
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
        // The further messages of a mechanism have no parts.
        let mut lengths = Lengths::new(100);
        assert!(lengths.take(b"\0\0\0\x09\0\x03\0\0\0p\0\0\0\x0bS\0\0\0\0\x01n"));
        assert!(lengths.take(b"p\0\0\0\x07c=b"));
        let mut lengths = Lengths::new(100);
        assert!(lengths.take(b"\0\0\0\x09\0\x03\0\0\0P\0\0\0\x08s\0"));
        assert!(!lengths.take(b"S\0") && lengths.is_malformed());
        assert_eq!(lengths.refused(), None);
        // What stands in a message without parts was read as a message of its own.
        for kind in [b'H', b'S', b'c'] {
            let bind = b"B\0\0\0\x10\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0";
            let carrier = [&[kind, 0, 0, 0, 21][..], &bind[..]].concat();
            for size in [1, 5, 6, carrier.len()] {
                let mut lengths = Lengths::new(100);
                assert!(lengths.take(b"\0\0\0\x09\0\x03\0\0\0"));
                assert!(!carrier.chunks(size).all(|piece| lengths.take(piece)));
                assert!(lengths.is_malformed(), "{kind} {size}");
            }
        }
    }
}
