//! Finding the messages of a stream (RFC 3261 §18.3, RFC 5626 §3.5.1).

use std::borrow::Cow;

use memchr::memchr;

use crate::header::HeaderName;
use crate::limits::Limits;
use crate::method::Method;
use crate::scan::{decimal, is_token, split_once, trim, trim_end};
use crate::start::Start;

/// An item of a [`Framer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramerEvent<'a> {
    /// One message: a whole one, or the head of one whose body is longer than the limits, or ends at a gap or with the stream,
    /// with as much of the body as belongs to it.
    Message {
        /// Offset of its first byte in the stream.
        offset: u64,
        /// The bytes, to the end of the body. [`Message`](crate::Message) says that a body is not whole
        /// ([`FaultKind::BodyShort`](crate::FaultKind::BodyShort)) or was left out
        /// ([`FaultKind::BodyLong`](crate::FaultKind::BodyLong)).
        bytes: &'a [u8],
    },
    /// A double line end: a client keeps the connection alive.
    Ping,
    /// A single line end: the answer to it.
    Pong,
    /// Bytes that are not a message: also a head that is longer than the limits or was cut, and the body that is longer than
    /// the limits.
    Lost {
        /// Offset of the first of them in the stream.
        offset: u64,
        /// The number of bytes.
        bytes: u64,
    },
}

/// Cuts a stream into messages by Content-Length. A message without one has no body.
///
/// The found messages do not depend on the pieces in which the stream comes. A message that lies in one piece is lent
/// out of it; only what lacks its end is copied. After bytes that are no message the framer looks for the next line
/// that begins one. It does the same within a body that is longer than the limits, and within one that is longer than the
/// rest of the stream, or than what there is before a gap; a message may also begin right behind a body that was passed over.
///
/// ```
/// use weir_sip::{Framer, FramerEvent};
///
/// let mut framer = Framer::default();
/// let mut found = Vec::new();
/// for piece in [&b"BYE sip:h SIP/2.0\r\nl: 2\r\n"[..], b"\r\nhi\r\n\r\n"] {
///     framer.feed(piece, &mut |event| found.push(format!("{event:?}").len()));
/// }
/// assert_eq!(found.len(), 2); // a message and a ping
/// ```
#[derive(Clone, Debug, Default)]
pub struct Framer {
    limits: Limits,
    /// The bytes that wait for more.
    held: Vec<u8>,
    /// The number of bytes that were searched for the end of the head.
    searched: usize,
    /// Length of the message whose body has yet to come; 0 when that is not known.
    until: usize,
    /// The offset in the stream of the first waiting byte, or of the next one.
    offset: u64,
    /// Bytes before `offset` that are no message and have not been reported.
    lost: u64,
    /// The offset behind the body, by its Content-Length, of the last message that was reported without all of it.
    body_end: u64,
}

/// The next step, by the waiting bytes.
enum FramerStep {
    /// More bytes have to come before it is known. The next search begins behind these, which were searched in vain.
    More(usize),
    /// A message of this length, which is not all there.
    Until(usize),
    Message(usize),
    /// The head of a message, of this length, and the length of its body, which is longer than the limits.
    Head(usize, u64),
    Ping,
    Pong,
    Skip(usize),
}

impl Framer {
    /// A framer with limits of one's own.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            held: Vec::new(),
            searched: 0,
            until: 0,
            offset: 0,
            lost: 0,
            body_end: 0,
        }
    }

    /// Adds the next bytes of the stream, and reports the messages that they complete.
    pub fn feed(&mut self, piece: &[u8], each: &mut impl FnMut(FramerEvent<'_>)) {
        if self.held.is_empty() {
            let used = self.walk(piece, false, each);
            self.held
                .extend_from_slice(piece.get(used..).unwrap_or_default());
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(piece);
            let used = self.walk(&held, false, each);
            held.drain(..used);
            self.held = held;
        }
    }

    /// Ends the stream, and gives what was left. The next bytes begin another one.
    pub fn finish(&mut self, each: &mut impl FnMut(FramerEvent<'_>)) {
        let held = std::mem::take(&mut self.held);
        let used = self.walk(&held, true, each);
        self.skip(held.len().saturating_sub(used));
        self.report_lost(each);
        *self = Self::new(self.limits);
    }

    /// Says that `missing` bytes of the stream are not there: a message that waited for the end of its body is reported with
    /// as much of it as there is, what else waited is lost, and the next message is looked for.
    pub fn gap(&mut self, missing: u64, each: &mut impl FnMut(FramerEvent<'_>)) {
        let held = std::mem::take(&mut self.held);
        if self.until > 0 {
            self.body_end = self.offset.saturating_add(self.until as u64);
        }
        let used = self.walk(&held, true, each);
        self.skip(held.len().saturating_sub(used));
        self.forget();
        self.offset = self.offset.saturating_add(missing);
        self.lost = self.lost.saturating_add(missing);
        self.report_lost(each);
    }

    /// Bytes that wait for more; no more than the limits of one message.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.held.len()
    }

    /// Waiting bytes that may be a part of a message; 0 where these are line ends, which may be a part of a keep-alive.
    #[must_use]
    pub fn held_of_message(&self) -> usize {
        let is_of_line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        match self.held.iter().all(is_of_line_end) {
            true => 0,
            false => self.held.len(),
        }
    }

    /// Reports everything that `bytes` complete; returns the number of bytes that were used.
    fn walk(
        &mut self,
        bytes: &[u8],
        is_end: bool,
        each: &mut impl FnMut(FramerEvent<'_>),
    ) -> usize {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..).unwrap_or_default();
            if rest.is_empty() {
                return at;
            }
            let len = match self.step(rest, is_end) {
                FramerStep::More(searched) => {
                    self.searched = searched;
                    return at;
                }
                FramerStep::Until(len) => {
                    self.until = len;
                    return at;
                }
                FramerStep::Skip(len) => {
                    let len = self.to_body_end(len);
                    self.skip(len);
                    at = at.saturating_add(len);
                    self.forget();
                    continue;
                }
                FramerStep::Message(len) => {
                    self.report_message(rest.get(..len).unwrap_or_default(), each);
                    len
                }
                FramerStep::Head(len, body_len) => {
                    self.report_message(rest.get(..len).unwrap_or_default(), each);
                    let body = self.offset.saturating_add(len as u64);
                    self.body_end = body.saturating_add(body_len);
                    len
                }
                FramerStep::Ping => {
                    self.report_lost(each);
                    each(FramerEvent::Ping);
                    4
                }
                FramerStep::Pong => {
                    self.report_lost(each);
                    each(FramerEvent::Pong);
                    2
                }
            };
            self.forget();
            self.offset = self.offset.saturating_add(len as u64);
            at = at.saturating_add(len);
        }
    }

    /// Begins with the next message.
    fn forget(&mut self) {
        self.searched = 0;
        self.until = 0;
    }

    fn skip(&mut self, len: usize) {
        self.lost = self.lost.saturating_add(len as u64);
        self.offset = self.offset.saturating_add(len as u64);
    }

    /// The number of bytes from here to the end of a body that is passed over; 0 outside of one.
    fn left_of_body(&self) -> usize {
        let left = self.body_end.saturating_sub(self.offset);
        usize::try_from(left).unwrap_or(usize::MAX)
    }

    /// The number of bytes to be passed over of `len`, which may go beyond the end of a body: behind that a message may begin
    /// within a line.
    fn to_body_end(&self, len: usize) -> usize {
        match self.left_of_body() {
            0 => len,
            left => len.min(left),
        }
    }

    fn report_message(&mut self, bytes: &[u8], each: &mut impl FnMut(FramerEvent<'_>)) {
        self.report_lost(each);
        each(FramerEvent::Message {
            offset: self.offset,
            bytes,
        });
    }

    fn report_lost(&mut self, each: &mut impl FnMut(FramerEvent<'_>)) {
        if self.lost > 0 {
            each(FramerEvent::Lost {
                offset: self.offset.saturating_sub(self.lost),
                bytes: self.lost,
            });
            self.lost = 0;
        }
    }

    fn step(&self, bytes: &[u8], is_end: bool) -> FramerStep {
        if self.until > 0 {
            return of_length(bytes, self.until, is_end);
        }
        if self.lost == 0
            && let Some(step) = keep_alive(bytes, is_end)
        {
            return step;
        }
        if self.searched == 0 {
            // Some keep-alives are NUL, or end with it, or are half a line end; no message begins with these or with a space.
            let before = bytes
                .iter()
                .take_while(|byte| matches!(byte, 0 | b' ' | b'\t' | b'\r' | b'\n'));
            let before = before.count();
            if before > 0 {
                return FramerStep::Skip(before);
            }
            // A message begins here if the first line, up to the limit of its length, is a start line.
            match memchr(b'\n', bytes.get(..LINE_BYTES_MAX).unwrap_or(bytes)) {
                Some(end) => {
                    let line = trim_end(bytes.get(..end).unwrap_or_default());
                    let left = self.left_of_body();
                    if left > 0 && begins_behind(line, left) {
                        return FramerStep::Skip(left);
                    }
                    match behind_keep_alive(line) {
                        Some(0) => {}
                        Some(before) => return FramerStep::Skip(before),
                        None => return FramerStep::Skip(end.saturating_add(1)),
                    }
                }
                None if bytes.len() >= LINE_BYTES_MAX => return FramerStep::Skip(LINE_BYTES_MAX),
                None => return FramerStep::More(0),
            }
        }
        let limit = self.limits.head_bytes_max;
        let head = bytes.get(..limit).unwrap_or(bytes);
        let Some(head_len) = head_len(head, self.searched) else {
            return if bytes.len() >= limit {
                // All that was searched goes, so that no byte is searched twice.
                FramerStep::Skip(head.len())
            } else {
                FramerStep::More(head.len().max(1))
            };
        };
        let body_len = content_length(head.get(..head_len).unwrap_or_default());
        // The headers are understood without the body, in which other messages may stand.
        if body_len > self.limits.body_bytes_max as u64 {
            return FramerStep::Head(head_len, body_len);
        }
        let len = usize::try_from(body_len)
            .map_or(usize::MAX, |body_len| head_len.saturating_add(body_len));
        of_length(bytes, len, is_end)
    }
}

/// The step at a message of this length. At the stream's end it is as long as it can be.
fn of_length(bytes: &[u8], len: usize, is_end: bool) -> FramerStep {
    if bytes.len() >= len {
        FramerStep::Message(len)
    } else if is_end {
        FramerStep::Message(cut_len(bytes))
    } else {
        FramerStep::Until(len)
    }
}

/// The length of a message whose body is longer than the rest of the stream: to the next message, which then begins in what
/// would be the body, or to the end.
fn cut_len(bytes: &[u8]) -> usize {
    let mut at = head_len(bytes, 0).unwrap_or(bytes.len());
    while let Some(rest) = bytes.get(at..)
        && let Some(end) = memchr(b'\n', rest)
    {
        let (line, behind) = rest
            .split_at_checked(end.saturating_add(1))
            .unwrap_or((rest, &[]));
        if Start::parse(trim_end(line)).is_some() && begins_with_header(behind) {
            return at;
        }
        at = at.saturating_add(line.len());
    }
    bytes.len()
}

/// Whether the first line is a header, which the text of a body seldom has behind a start line.
fn begins_with_header(bytes: &[u8]) -> bool {
    let line = bytes.split(|byte| *byte == b'\n').next();
    line.and_then(|line| split_once(line, b':'))
        .is_some_and(|(name, _)| is_token(trim_end(name)))
}

/// Whether a sound start line of a known kind stands behind the first `left` octets of a line.
fn begins_behind(line: &[u8], left: usize) -> bool {
    match line.get(left..).and_then(Start::parse) {
        Some((Start::Request { method, .. }, None)) => !matches!(method, Method::Other(_)),
        Some((Start::Status { .. }, None)) => true,
        _ => false,
    }
}

/// The number of octets before the start line at the end of a line: those of a keep-alive without a line end of its own, such as
/// `jaK` or octets that are not text. `None` without a start line.
fn behind_keep_alive(line: &[u8]) -> Option<usize> {
    let is_start = |at: &usize| {
        let rest = line.get(*at..).unwrap_or_default();
        Start::parse(rest).is_some()
    };
    let word = line
        .iter()
        .position(|byte| *byte == b' ')
        .unwrap_or(line.len());
    let first = line.get(..word).unwrap_or_default();
    let status = memchr::memmem::find(first, b"SIP/");
    let known = || {
        // A method of capital letters, or of other words, may be an unknown one.
        let is_behind_other = |before: &usize| {
            let (other, method) = first.split_at_checked(*before).unwrap_or_default();
            !matches!(Method::new(method), Method::Other(_))
                && !other.iter().all(u8::is_ascii_uppercase)
                && !other.last().is_some_and(|byte| b"-._".contains(byte))
        };
        (1..first.len().min(KEEP_ALIVE_BYTES_MAX)).find(is_behind_other)
    };
    let at = status.or_else(known).filter(is_start);
    at.or_else(|| Some(0).filter(is_start))
}

/// Line ends between messages (RFC 5626 §3.5.1, RFC 3261 §7.5).
fn keep_alive(bytes: &[u8], is_end: bool) -> Option<FramerStep> {
    match bytes {
        [b'\r', b'\n', b'\r', b'\n', ..] => Some(FramerStep::Ping),
        [b'\r'] | [b'\r', b'\n'] | [b'\r', b'\n', b'\r'] if !is_end => Some(FramerStep::More(0)),
        [b'\r', b'\n', ..] => Some(FramerStep::Pong),
        _ => None,
    }
}

/// The length of start line and headers with the empty line behind them. The first `searched` bytes
/// are known not to have its end.
fn head_len(bytes: &[u8], searched: usize) -> Option<usize> {
    let mut at = searched.saturating_sub(END_OF_HEAD_BYTES);
    loop {
        let rest = bytes.get(at..)?;
        let end = memchr(b'\n', rest)?.saturating_add(1);
        at = at.saturating_add(end);
        match rest.get(end..)? {
            [b'\n', ..] => return at.checked_add(1),
            [b'\r', b'\n', ..] => return at.checked_add(2),
            _ => {}
        }
    }
}

/// The value of the first Content-Length; 0 without a valid one.
fn content_length(head: &[u8]) -> u64 {
    let mut lines = head.split(|byte| *byte == b'\n').peekable();
    while let Some(first) = lines.next() {
        if !matches!(first.first(), Some(b'c' | b'C' | b'l' | b'L')) {
            continue;
        }
        // A field continues in lines that begin with white space (RFC 3261, 7.3.1).
        let mut field = Cow::Borrowed(first);
        while let Some(more) = lines.next_if(|line| matches!(line.first(), Some(b' ' | b'\t'))) {
            field.to_mut().extend_from_slice(more);
        }
        let Some((name, value)) = split_once(&field, b':') else {
            continue;
        };
        if HeaderName::of(trim(name)) == HeaderName::ContentLength {
            return decimal(trim(value)).unwrap_or(0);
        }
    }
    0
}

/// Bytes of a first line on a stream, at most.
const LINE_BYTES_MAX: usize = 8192;

/// Bytes of a keep-alive that stand before a message, at most.
const KEEP_ALIVE_BYTES_MAX: usize = 64;

/// LF CR LF: bytes to go back, so that an end of the head is found that two pieces share.
const END_OF_HEAD_BYTES: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(stream: &[u8], limits: Limits) -> Vec<String> {
        let mut framer = Framer::new(limits);
        let mut found = Vec::new();
        let mut each = |event: FramerEvent<'_>| found.push(shown(event));
        framer.feed(stream, &mut each);
        framer.finish(&mut each);
        found
    }

    fn shown(event: FramerEvent<'_>) -> String {
        match event {
            FramerEvent::Message { offset, bytes } => format!("message {offset}+{}", bytes.len()),
            FramerEvent::Lost { offset, bytes } => format!("lost {offset}+{bytes}"),
            other => format!("{other:?}").to_lowercase(),
        }
    }

    const BYE: &[u8] = b"BYE sip:h SIP/2.0\r\nl: 2\r\n\r\nhi";

    #[test]
    fn messages_and_keep_alives() {
        let stream = [BYE, b"\r\n\r\n\r\n", BYE, b"\r\n"].concat();
        assert_eq!(
            frame(&stream, Limits::default()),
            ["message 0+29", "ping", "pong", "message 35+29", "pong"]
        );
    }

    #[test]
    fn the_next_message_is_found_behind_bytes_that_are_none() {
        let stream = [b"garbage\r\nmore\r\n\r\n", BYE, b"tail"].concat();
        assert_eq!(
            frame(&stream, Limits::default()),
            ["lost 0+17", "message 17+29", "lost 46+4"]
        );
    }

    #[test]
    fn a_length_may_be_in_the_next_line() {
        for header in [
            "l: 2",
            "Content-Length:\r\n 2",
            "Content-Length\r\n\t: 2",
            "Content-Length :\r\n\t \r\n 2",
            "Contact: <sip:a>\r\n l: 7\r\nl: 2\r\n ",
        ] {
            let message = format!("BYE sip:h SIP/2.0\r\n{header}\r\n\r\nhi");
            let found = frame(format!("{message}{message}").as_bytes(), Limits::default());
            let len = message.len();
            let expected = [format!("message 0+{len}"), format!("message {len}+{len}")];
            assert_eq!(found, expected, "{header:?}");
        }
    }

    #[test]
    fn messages_behind_other_keep_alives_are_found() {
        let stream = [BYE, b"\r\n\0", BYE, b"\0\0", BYE, b"\0\r\n\r\n", BYE].concat();
        let found = frame(&stream, Limits::default());
        let messages = found.iter().filter(|event| event.starts_with("message"));
        assert_eq!(messages.count(), 4, "{found:?}");
        let lost = |event: &String| -> Option<u64> {
            event
                .strip_prefix("lost ")?
                .rsplit('+')
                .next()?
                .parse()
                .ok()
        };
        let lost: u64 = found.iter().filter_map(lost).sum();
        assert!((4..=8).contains(&lost), "{found:?}");
    }

    /// Keep-alives without a line end of their own.
    #[test]
    fn messages_right_behind_other_octets_are_found() {
        let ok: &[u8] = b"SIP/2.0 200 OK\r\nl: 0\r\n\r\n";
        for keep_alive in [&b"jaK"[..], b"\r", b"\n", b"0000", b"\xff\xff", b"\0\r\0"] {
            for message in [BYE, ok] {
                let stream = [message, keep_alive, message, keep_alive, message].concat();
                for size in [1, 2, 5, stream.len()] {
                    let mut framer = Framer::default();
                    let mut found = Vec::new();
                    for piece in stream.chunks(size) {
                        framer.feed(piece, &mut |event| {
                            if let FramerEvent::Message { bytes, .. } = event {
                                found.push(bytes.to_vec());
                            }
                        });
                    }
                    assert_eq!(found, [message; 3], "{keep_alive:?} by {size}");
                }
            }
        }
        // Methods that are not known here.
        let found = frame(
            b"XBYE sip:h SIP/2.0\r\n\r\nX-BYE sip:h SIP/2.0\r\n\r\n",
            Limits::default(),
        );
        assert_eq!(found, ["message 0+22", "message 22+23"]);
    }

    #[test]
    fn what_is_longer_than_the_limits_is_passed_over() {
        let mut limits = Limits {
            body_bytes_max: 1,
            ..Limits::default()
        };
        let stream = [BYE, b"\r\nBYE sip:h SIP/2.0\r\n\r\n"].concat();
        assert_eq!(
            frame(&stream, limits),
            ["message 0+27", "lost 27+4", "message 31+21"]
        );
        limits.body_bytes_max = 2;
        limits.head_bytes_max = 24;
        assert_eq!(frame(&stream, limits), ["lost 0+31", "message 31+21"]);
    }

    /// A message right behind a long body without a line end was lost.
    #[test]
    fn a_message_begins_right_behind_a_body_that_is_longer_than_the_limits() {
        let limits = Limits {
            body_bytes_max: 1,
            ..Limits::default()
        };
        for (len, text) in [(100, "x y"), (8_192, "x y"), (20_000, "x y"), (300, "x")] {
            let head = format!("INFO sip:h SIP/2.0\r\nl: {len}\r\n\r\n");
            let body = text.repeat(len).into_bytes();
            let stream = [head.as_bytes(), &body[..len], b"BYE sip:h SIP/2.0\r\n\r\n"].concat();
            let (at, end) = (head.len(), head.len() + len);
            assert_eq!(
                frame(&stream, limits),
                [
                    format!("message 0+{at}"),
                    format!("lost {at}+{len}"),
                    format!("message {end}+21"),
                ]
            );
        }
    }

    /// A Content-Length that is larger than the rest of the stream took the message and all behind it.
    #[test]
    fn a_body_that_ends_with_the_stream_ends_at_the_next_message() {
        let head = "INVITE sip:h SIP/2.0\r\nl: 99999\r\n\r\n";
        let at = head.len();
        for (behind, expected) in [
            ("", vec![format!("message 0+{at}")]),
            ("v=0\r\n", vec![format!("message 0+{}", at + 5)]),
            (
                "v=0\r\nACK sip:h SIP/2.0\r\nl: 0\r\n\r\nBYE sip:h SIP/2.0\r\nl: 2\r\n\r\nhi",
                vec![
                    format!("message 0+{}", at + 5),
                    format!("message {}+27", at + 5),
                    format!("message {}+29", at + 32),
                ],
            ),
            // The first octet of the body begins the next message, which is cut, too.
            (
                "BYE sip:h SIP/2.0\r\nl: 9\r\n\r\nhi",
                vec![format!("message 0+{at}"), format!("message {at}+29")],
            ),
            // The next message is cut within its head.
            (
                "BYE sip:h SIP/2.0\r\nl: 9\r\n",
                vec![format!("message 0+{at}"), format!("lost {at}+25")],
            ),
            // A start line without a header, and one within a line, begin no message.
            (
                "SIP/2.0 200 OK\r\n\r\na BYE sip:h SIP/2.0 b\r\nl: 9\r\n",
                vec![format!("message 0+{}", at + 47)],
            ),
        ] {
            let stream = format!("{head}{behind}");
            let found = frame(stream.as_bytes(), Limits::default());
            assert_eq!(found, expected, "{behind:?}");
        }
    }

    #[test]
    fn a_gap_costs_the_message_it_is_in() {
        let mut framer = Framer::default();
        let mut found = Vec::new();
        let mut each = |event: FramerEvent<'_>| found.push(shown(event));
        framer.feed(&BYE[..20], &mut each);
        framer.gap(100, &mut each);
        framer.feed(b"rest\r\n", &mut each);
        framer.feed(BYE, &mut each);
        assert_eq!(framer.held_bytes(), 0);
        framer.finish(&mut each);
        assert_eq!(found, ["lost 0+120", "lost 120+6", "message 126+29"]);
    }

    /// Such a message was lost as a whole.
    #[test]
    fn a_gap_in_a_body_ends_its_message() {
        let mut framer = Framer::default();
        let mut found = Vec::new();
        let mut each = |event: FramerEvent<'_>| found.push(shown(event));
        let head = b"INFO sip:h SIP/2.0\r\nl: 200\r\n\r\n";
        framer.feed(head, &mut each);
        framer.feed(&[b'x'; 50], &mut each);
        framer.gap(30, &mut each);
        // The next message begins right behind the body.
        framer.feed(&[b'x'; 120], &mut each);
        framer.feed(BYE, &mut each);
        // A gap that goes beyond the body, and one right behind a head.
        framer.feed(head, &mut each);
        framer.gap(500, &mut each);
        framer.feed(b"rest\r\n", &mut each);
        framer.feed(BYE, &mut each);
        framer.finish(&mut each);
        assert_eq!(
            found,
            [
                "message 0+80",
                "lost 80+30",
                "lost 110+120",
                "message 230+29",
                "message 259+30",
                "lost 289+500",
                "lost 789+6",
                "message 795+29",
            ]
        );
    }
}
