//! Splits a stream into messages: TPKT, and headers with Content-Length.
//!
//! A [`Framer`] gets the bytes of one direction as [`Streams`](crate::Streams) gives them and hands
//! messages on, borrowed from what came in wherever a message is not split between two pieces.

use weir_bytes::u16_be_at;

/// The framing of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Framing {
    /// A header of version 3, a reserved byte and the length with the header, big-endian (RFC 1006,
    /// 6): H.248 over TCP. The message is what follows the header.
    Tpkt,
    /// Lines up to an empty one, and as many bytes as `Content-Length`, or its short form `l`, says
    /// (RFC 3261, 18.3): SIP over TCP. The message is all of it. Empty lines before it are keep-alives
    /// (RFC 5626, 4.4.1) and are passed over.
    ContentLength,
}

/// An item that a [`Framer`] finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framed<'a> {
    /// A whole message.
    Message(&'a [u8]),
    /// Bytes that belong to no message: too long, cut by a gap, or without a beginning.
    Skipped(u64),
}

/// Cuts one direction of a stream into messages.
///
/// ```
/// use weir_flow::framing::{Framed, Framer, Framing};
///
/// let mut framer = Framer::new(Framing::Tpkt, 65_536);
/// let mut messages = Vec::new();
/// for piece in [&b"\x03\0\0\x06h"[..], b"i\x03\0\0\x05!"] {
///     framer.bytes(piece, |framed| match framed {
///         Framed::Message(message) => messages.push(message.to_vec()),
///         Framed::Skipped(bytes) => panic!("{bytes}"),
///     });
/// }
/// assert_eq!(messages, [b"hi".to_vec(), b"!".to_vec()]);
/// ```
#[derive(Debug)]
pub struct Framer {
    framing: Framing,
    message_bytes_max: usize,
    /// The beginning of a message whose end did not come yet.
    begun: Vec<u8>,
    /// The framer is behind a gap or damage: no message begins until one is recognised.
    lost: bool,
}

/// The classification of the bytes at an offset.
enum FramingStep {
    /// A message: where it and what belongs to it begin and end.
    Message {
        start: usize,
        end: usize,
        next: usize,
    },
    /// So many bytes are not a message, and are skipped.
    Pass(usize),
    /// More must come.
    Wait,
    /// No message begins here.
    Broken,
}

impl Framer {
    /// A framer at the beginning of a stream. Messages longer than `message_bytes_max` are skipped.
    #[must_use]
    pub const fn new(framing: Framing, message_bytes_max: usize) -> Self {
        Self {
            framing,
            message_bytes_max,
            begun: Vec::new(),
            lost: false,
        }
    }

    /// Bytes that wait for the end of their message.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.begun.len()
    }

    /// Adds the next bytes of the stream.
    pub fn bytes(&mut self, bytes: &[u8], mut each: impl FnMut(Framed<'_>)) {
        if self.begun.is_empty() {
            let used = self.cut(bytes, &mut each);
            self.begun = bytes.get(used..).unwrap_or_default().to_vec();
        } else {
            let mut begun = std::mem::take(&mut self.begun);
            begun.extend_from_slice(bytes);
            let used = self.cut(&begun, &mut each);
            begun.drain(..used.min(begun.len()));
            self.begun = begun;
        }
        if self.begun.len() > self.message_bytes_max.saturating_add(HEADER_BYTES_MAX) {
            each(Framed::Skipped(self.begun.len() as u64));
            self.begun = Vec::new();
            self.lost = true;
        }
    }

    /// Records that bytes are missing: the message that was begun is lost, and the next one must be found.
    pub fn gap(&mut self, mut each: impl FnMut(Framed<'_>)) {
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() {
            each(Framed::Skipped(begun.len() as u64));
        }
        self.lost = true;
    }

    /// Passes on the messages in `bytes`; returns the number of bytes that are done with.
    fn cut(&mut self, bytes: &[u8], each: &mut impl FnMut(Framed<'_>)) -> usize {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            if self.lost {
                let passed = self.find_beginning(rest);
                if passed > 0 {
                    each(Framed::Skipped(passed as u64));
                    at += passed;
                    continue;
                }
            }
            match self.step(rest) {
                FramingStep::Message { start, end, next } => {
                    self.lost = false;
                    each(Framed::Message(rest.get(start..end).unwrap_or_default()));
                    at += next.max(1);
                }
                FramingStep::Pass(len) => at += len.max(1),
                FramingStep::Wait => return at,
                FramingStep::Broken => {
                    self.lost = true;
                    each(Framed::Skipped(1));
                    at += 1;
                }
            }
        }
        at
    }

    fn step(&self, bytes: &[u8]) -> FramingStep {
        match self.framing {
            Framing::Tpkt => self.tpkt(bytes),
            Framing::ContentLength => self.content_length(bytes),
        }
    }

    fn tpkt(&self, bytes: &[u8]) -> FramingStep {
        if bytes.first() != Some(&3) {
            return FramingStep::Broken;
        }
        let Some(len) = u16_be_at(bytes, 2).map(usize::from) else {
            return FramingStep::Wait;
        };
        if len < TPKT_HEADER || len - TPKT_HEADER > self.message_bytes_max {
            return FramingStep::Broken;
        }
        if bytes.len() < len {
            return FramingStep::Wait;
        }
        FramingStep::Message {
            start: TPKT_HEADER,
            end: len,
            next: len,
        }
    }

    fn content_length(&self, bytes: &[u8]) -> FramingStep {
        let blank = bytes
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        if blank > 0 {
            return FramingStep::Pass(blank);
        }
        let head = bytes
            .get(..bytes.len().min(HEADER_BYTES_MAX))
            .unwrap_or_default();
        let Some(head_len) = find(head, b"\r\n\r\n").map(|at| at + 4) else {
            return if head.len() == HEADER_BYTES_MAX {
                FramingStep::Broken
            } else {
                FramingStep::Wait
            };
        };
        let body_len = head.get(..head_len).and_then(stated_length).unwrap_or(0);
        if body_len > self.message_bytes_max {
            return FramingStep::Broken;
        }
        let end = head_len + body_len;
        if bytes.len() < end {
            return FramingStep::Wait;
        }
        FramingStep::Message {
            start: 0,
            end,
            next: end,
        }
    }

    /// The number of bytes to skip until a message may begin.
    fn find_beginning(&self, bytes: &[u8]) -> usize {
        let begins = |rest: &[u8]| match self.framing {
            Framing::Tpkt => rest.starts_with(&[3, 0]) || rest == [3],
            Framing::ContentLength => is_start_line(rest),
        };
        (0..bytes.len())
            .find(|at| bytes.get(*at..).is_some_and(begins))
            .unwrap_or(bytes.len())
    }
}

/// Whether the bytes are a line with a SIP version, or the beginning of one.
fn is_start_line(bytes: &[u8]) -> bool {
    let line = bytes
        .get(..bytes.len().min(LINE_BYTES_MAX))
        .and_then(|line| line.split(|byte| *byte == b'\n').next())
        .unwrap_or_default();
    let line = line.trim_ascii_end();
    bytes.starts_with(b"SIP/2.0 ")
        || line.ends_with(b" SIP/2.0") && line.first().is_some_and(u8::is_ascii_uppercase)
}

/// The value of the last `Content-Length` in a header.
fn stated_length(head: &[u8]) -> Option<usize> {
    head.split(|byte| *byte == b'\n')
        .filter_map(|line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let (name, value) = line.split_at(colon);
            let name = name.trim_ascii();
            let is_it =
                name.eq_ignore_ascii_case(b"content-length") || name.eq_ignore_ascii_case(b"l");
            let value = value.get(1..)?.trim_ascii();
            let value = std::str::from_utf8(value).ok().filter(|_| is_it)?;
            value.parse().ok()
        })
        .next_back()
}

fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    bytes.windows(word.len()).position(|window| window == word)
}

const TPKT_HEADER: usize = 4;
/// Longest header up to the empty line, in bytes.
const HEADER_BYTES_MAX: usize = 65_536;
/// Longest first line of a message that is recognised after a gap, in bytes.
const LINE_BYTES_MAX: usize = 2_048;

#[cfg(test)]
mod tests {
    use super::*;
    use weir_testkit::Rng;

    /// Messages, and what was skipped, of bytes that come in pieces of odd sizes.
    fn run(framing: Framing, bytes: &[u8], random: &mut Rng) -> (Vec<Vec<u8>>, u64) {
        let mut framer = Framer::new(framing, 10_000);
        let (mut messages, mut skipped) = (Vec::new(), 0);
        let mut at = 0;
        while at < bytes.len() {
            let len = 1 + random.below(60) as usize;
            let piece = &bytes[at..(at + len).min(bytes.len())];
            framer.bytes(piece, |framed| match framed {
                Framed::Message(message) => messages.push(message.to_vec()),
                Framed::Skipped(len) => skipped += len,
            });
            at += len;
        }
        (messages, skipped)
    }

    #[test]
    fn messages_in_pieces_of_any_size() {
        let mut random = Rng::new(3);
        for _ in 0..300 {
            let (mut tpkt, mut sip) = (Vec::new(), Vec::new());
            let (mut bodies, mut texts) = (Vec::new(), Vec::new());
            for _ in 0..random.below(8) {
                let len = random.below(100) as usize;
                let body = random.bytes(len);
                tpkt.extend([3, 0, 0, body.len() as u8 + 4]);
                tpkt.extend(&body);
                let name = *random.pick(&["Content-Length", "l", "CONTENT-LENGTH "]);
                let mut text =
                    format!("INFO sip:a SIP/2.0\r\nX: y\r\n{name}: {len}\r\n\r\n").into_bytes();
                text.extend(&body);
                sip.extend(&text);
                if random.below(3) == 0 {
                    sip.extend(b"\r\n\r\n");
                }
                bodies.push(body);
                texts.push(text);
            }
            assert_eq!(run(Framing::Tpkt, &tpkt, &mut random), (bodies, 0));
            assert_eq!(run(Framing::ContentLength, &sip, &mut random), (texts, 0));
        }
    }

    #[test]
    fn after_a_gap_the_next_message_is_found() {
        let mut framer = Framer::new(Framing::ContentLength, 1_000);
        let mut found = Vec::new();
        let mut each = |framed: Framed<'_>| match framed {
            Framed::Message(message) => found.push(message.len() as i64),
            Framed::Skipped(len) => found.push(-(len as i64)),
        };
        framer.bytes(b"INFO sip:a SIP/2.0\r\nl: 50\r\n\r\nhalf", &mut each);
        framer.gap(&mut each);
        framer.bytes(b"rest of the body", &mut each);
        framer.bytes(b"SIP/2.0 200 OK\r\nl: 0\r\n\r\n", &mut each);
        assert_eq!(found, [-33, -16, 24]);
    }

    #[test]
    fn nothing_grows_beyond_its_limit() {
        let mut random = Rng::new(4);
        for framing in [Framing::Tpkt, Framing::ContentLength] {
            let mut framer = Framer::new(framing, 1_000);
            let mut total = 0_u64;
            let mut counted = 0_u64;
            for _ in 0..2_000 {
                let len = 1 + random.below(400) as usize;
                let bytes: Vec<u8> = (0..len)
                    .map(|_| *random.pick(b"\x03\0\r\n: lSIP/2.0\x01"))
                    .collect();
                total += bytes.len() as u64;
                framer.bytes(&bytes, |framed| match framed {
                    Framed::Message(message) => counted += message.len() as u64,
                    Framed::Skipped(len) => counted += len,
                });
                assert!(framer.held() <= 1_000 + HEADER_BYTES_MAX);
            }
            assert!(counted > 0 && counted <= total);
        }
    }
}
