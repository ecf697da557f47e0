//! Messages out of the bytes of one direction.

use super::frame::{Header, Opcode, Sender, mask};
use super::violation::{Violation, ViolationKind};
use crate::deflate::{InflateError, InflateErrorKind, InflateOptions, Inflated, Inflater};

/// The options of a [`Decoder`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DecoderOptions {
    /// The endpoint that sends; `None` when it is unknown, and then masking is not checked.
    pub sender: Option<Sender>,
    /// The parameters of permessage-deflate for this direction, when it was negotiated.
    pub inflate: Option<InflateOptions>,
    /// The bytes of a message on the wire that are kept; 64 MiB by default. The beginning of a longer one is returned, with
    /// [`ViolationKind::TooLong`].
    pub message_bytes_max: usize,
}

impl Default for DecoderOptions {
    fn default() -> Self {
        Self {
            sender: None,
            inflate: None,
            message_bytes_max: 64 << 20,
        }
    }
}

/// A message, or a control frame.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Message<'a> {
    /// Text, binary, close, ping, pong, or reserved.
    pub opcode: Opcode,
    /// The payload, unmasked, and inflated when that was negotiated and possible.
    pub payload: &'a [u8],
    /// RSV1 was set: the message was sent compressed.
    pub compressed: bool,
    /// The properties of the inflated message.
    pub inflated: Option<Inflated>,
    /// The number of its frames.
    pub fragments: u64,
    /// Bytes of the payloads of its frames, as they were sent.
    pub payload_wire_bytes: u64,
    /// Bytes of its frames, headers included.
    pub frame_bytes: u64,
    /// Offset in the direction's bytes of the first frame.
    pub offset: u64,
    /// The payload is all that was sent, inflated where it was compressed. Otherwise it is the part that could be
    /// read, and the violations before the message give the reason.
    pub whole: bool,
}

/// An event of a [`Decoder`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A message or control frame.
    Message(Message<'a>),
    /// A violation; one that belongs to a message comes right before it.
    Violation(Violation),
}

/// Reads the frames of one direction and puts messages together.
///
/// ```
/// use weir_ws::{Decoder, DecoderOptions, Event};
///
/// let mut decoder = Decoder::new(DecoderOptions::default());
/// let mut texts = Vec::new();
/// decoder.feed(b"\x01\x03Hel\x89\x00\x80\x02lo", &mut |event| {
///     if let Event::Message(message) = event {
///         texts.push((message.opcode.name(), message.payload.to_vec()));
///     }
/// });
/// assert_eq!(texts, [("ping", vec![]), ("text", b"Hello".to_vec())]);
/// ```
#[derive(Debug)]
pub struct Decoder {
    options: DecoderOptions,
    inflater: Option<Inflater>,
    /// A header that is not whole yet.
    head: Vec<u8>,
    /// The frame whose payload is being read.
    frame: Option<PendingFrame>,
    /// The payload of `message` as far as it was read; that of a control frame is in `control`.
    payload: Vec<u8>,
    control: Vec<u8>,
    inflated: Vec<u8>,
    message: Option<PendingMessage>,
    closed: bool,
    /// The start of the next frame is unknown.
    is_out_of_sync: bool,
    /// Bytes were skipped because the start of the next frame was unknown.
    has_passed: bool,
    offset: u64,
}

#[derive(Clone, Copy, Debug)]
struct PendingFrame {
    header: Header,
    offset: u64,
    done: u64,
}

/// A data message of which frames are still to come.
#[derive(Clone, Copy, Debug)]
struct PendingMessage {
    opcode: Opcode,
    compressed: bool,
    fragments: u64,
    payload_wire_bytes: u64,
    frame_bytes: u64,
    offset: u64,
    too_long: bool,
    /// A part was not captured; the payload ends before it.
    has_gap: bool,
}

impl Decoder {
    /// The state at the beginning of a direction, after the handshake.
    #[must_use]
    pub fn new(options: DecoderOptions) -> Self {
        Self {
            inflater: options.inflate.map(Inflater::new),
            options,
            head: Vec::new(),
            frame: None,
            payload: Vec::new(),
            control: Vec::new(),
            inflated: Vec::new(),
            message: None,
            closed: false,
            is_out_of_sync: false,
            has_passed: false,
            offset: 0,
        }
    }

    /// A decoder of a direction whose beginning was not seen.
    pub(super) fn mid_stream(options: DecoderOptions) -> Self {
        let mut decoder = Self::new(options);
        if let Some(inflater) = &mut decoder.inflater {
            inflater.lose_window();
        }
        decoder
    }

    /// Skips bytes that were not captured. When they are within one frame, the decoder continues after them and reports the
    /// message as far as it goes; otherwise it reports nothing until a piece consists of whole frames (of the sender, if known)
    /// whose first one does not continue a message.
    pub fn gap(&mut self, bytes: u64, each: &mut dyn FnMut(Event<'_>)) {
        if self.is_out_of_sync {
            self.offset = self.offset.saturating_add(bytes);
            return;
        }
        if bytes == 0 {
            return;
        }
        violate(each, ViolationKind::Gap, self.offset);
        self.offset = self.offset.saturating_add(bytes);
        if let Some(inflater) = &mut self.inflater {
            inflater.lose_window();
        }
        let Some(mut frame) = self.frame else {
            self.lose();
            return;
        };
        let left = frame.header.payload_len.saturating_sub(frame.done);
        if bytes > left {
            self.lose();
            return;
        }
        frame.done = frame.done.saturating_add(bytes);
        if let (false, Some(message)) = (frame.header.opcode.is_control(), &mut self.message) {
            message.has_gap = true;
        }
        self.frame = Some(frame);
        if frame.done == frame.header.payload_len {
            self.frame = None;
            self.end_frame(&frame, each);
        }
    }

    fn lose(&mut self) {
        self.is_out_of_sync = true;
        self.frame = None;
        self.message = None;
        self.head = Vec::new();
        self.payload = Vec::new();
    }

    /// Adds the next bytes, in pieces of any size, and reports what they complete. The time is linear in the bytes and in those
    /// that they inflate to.
    pub fn feed(&mut self, bytes: &[u8], each: &mut dyn FnMut(Event<'_>)) {
        if self.is_out_of_sync && !self.are_frames(bytes) {
            self.offset = self.offset.saturating_add(bytes.len() as u64);
            self.has_passed |= !bytes.is_empty();
            return;
        }
        self.is_out_of_sync = false;
        let mut rest = bytes;
        loop {
            let Some(mut frame) = self.frame else {
                if rest.is_empty() {
                    return;
                }
                // A header has at most 14 bytes: give it one more until it is whole.
                while let Some((&byte, after)) = rest.split_first() {
                    self.head.push(byte);
                    rest = after;
                    if let Some(header) = Header::parse(&self.head) {
                        self.begin(header, each);
                        break;
                    }
                }
                continue;
            };
            let left = frame.header.payload_len - frame.done;
            let taken = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (piece, after) = rest.split_at(taken);
            rest = after;
            self.take(&frame, piece);
            frame.done += taken as u64;
            self.offset += taken as u64;
            if frame.done < frame.header.payload_len {
                self.frame = Some(frame);
                return;
            }
            self.frame = None;
            self.end_frame(&frame, each);
        }
    }

    fn check(&self, header: &Header, each: &mut impl FnMut(ViolationKind)) {
        header.check(self.options.sender, self.inflater.is_some(), each);
    }

    /// Whether the bytes consist of whole frames that the sender may write behind a message or a control frame.
    fn are_frames(&self, bytes: &[u8]) -> bool {
        if self.options.sender.is_none() {
            return false;
        }
        let mut rest = bytes;
        while let Some(header) = Header::parse(rest) {
            let is_first = rest.len() == bytes.len();
            let mut is_plausible = !(is_first && header.opcode == Opcode::Continuation);
            self.check(&header, &mut |_| is_plausible = false);
            let begin = usize::from(header.header_len);
            let end = usize::try_from(header.payload_len)
                .ok()
                .and_then(|len| len.checked_add(begin));
            let Some((frame, behind)) = end.and_then(|end| rest.split_at_checked(end)) else {
                return false;
            };
            if !is_plausible || !header.is_valid_text(frame.get(begin..).unwrap_or_default()) {
                return false;
            }
            if behind.is_empty() {
                return true;
            }
            rest = behind;
        }
        false
    }

    /// The memory in bytes that the unfinished message and the window take, approximately.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let window = self.inflater.as_ref().map_or(0, Inflater::held_bytes);
        self.payload.capacity() + self.inflated.capacity() + self.control.capacity() + window
    }

    /// The number of the last bytes that belong to a message or a frame that is not whole yet, or lie between them; those that
    /// were not captured, too.
    #[must_use]
    pub fn under_way_bytes(&self) -> u64 {
        let message = self.message.map(|message| message.offset);
        let begin = message.or(self.frame.map(|frame| frame.offset));
        let frames = begin.map_or(0, |begin| self.offset.saturating_sub(begin));
        frames.saturating_add(self.head.len() as u64)
    }

    /// Ends the direction, and reports a frame or message that is not whole.
    pub fn finish(&mut self, each: &mut dyn FnMut(Event<'_>)) {
        let under_way = self.frame.is_some() || !self.head.is_empty() || self.message.is_some();
        let is_out_of_sync = std::mem::take(&mut self.is_out_of_sync);
        if under_way || is_out_of_sync || std::mem::take(&mut self.has_passed) {
            violate(each, ViolationKind::Cut, self.offset);
            self.frame = None;
            self.head.clear();
            self.message = None;
        }
    }

    fn begin(&mut self, header: Header, each: &mut dyn FnMut(Event<'_>)) {
        let offset = self.offset;
        self.offset += u64::from(header.header_len);
        self.head.clear();
        let mut wrong = |kind| violate(each, kind, offset);
        let control = header.opcode.is_control();
        self.check(&header, &mut wrong);
        if control {
            self.control.clear();
        } else {
            if self.closed {
                wrong(ViolationKind::AfterClose);
            }
            let continues = header.opcode == Opcode::Continuation;
            match &self.message {
                None if continues => wrong(ViolationKind::ContinuationAlone),
                Some(_) if !continues => wrong(ViolationKind::Unfinished),
                _ => {}
            }
            if !continues || self.message.is_none() {
                self.payload.clear();
                self.message = Some(PendingMessage {
                    opcode: header.opcode,
                    compressed: header.rsv1 && !continues,
                    fragments: 0,
                    payload_wire_bytes: 0,
                    frame_bytes: 0,
                    offset,
                    too_long: false,
                    has_gap: false,
                });
            }
        }
        self.frame = Some(PendingFrame {
            header,
            offset,
            done: 0,
        });
    }

    fn take(&mut self, frame: &PendingFrame, piece: &[u8]) {
        let control = frame.header.opcode.is_control();
        if !control && self.message.is_some_and(|message| message.has_gap) {
            return;
        }
        let payload = if control {
            &mut self.control
        } else {
            &mut self.payload
        };
        let room = self
            .options
            .message_bytes_max
            .saturating_sub(payload.len())
            .min(piece.len());
        let begin = payload.len();
        payload.extend_from_slice(piece.get(..room).unwrap_or_default());
        if room < piece.len()
            && let (false, Some(message)) = (control, &mut self.message)
        {
            message.too_long = true;
        }
        if let Some(key) = frame.header.mask {
            mask(
                key,
                frame.done,
                payload.get_mut(begin..).unwrap_or_default(),
            );
        }
    }

    fn end_frame(&mut self, frame: &PendingFrame, each: &mut dyn FnMut(Event<'_>)) {
        let header = &frame.header;
        let frame_bytes = u64::from(header.header_len).saturating_add(header.payload_len);
        if header.opcode.is_control() {
            if header.opcode == Opcode::Close {
                self.closed = true;
                if !close_is_valid(&self.control) {
                    violate(each, ViolationKind::CloseCode, frame.offset);
                }
            }
            each(Event::Message(Message {
                opcode: header.opcode,
                payload: &self.control,
                compressed: false,
                inflated: None,
                fragments: 1,
                payload_wire_bytes: header.payload_len,
                frame_bytes,
                offset: frame.offset,
                whole: true,
            }));
            return;
        }
        let Some(message) = &mut self.message else {
            return;
        };
        message.fragments += 1;
        message.payload_wire_bytes = message
            .payload_wire_bytes
            .saturating_add(header.payload_len);
        message.frame_bytes = message.frame_bytes.saturating_add(frame_bytes);
        if header.fin {
            let message = *message;
            self.message = None;
            self.end_message(message, each);
        }
    }

    fn end_message(&mut self, pending: PendingMessage, each: &mut dyn FnMut(Event<'_>)) {
        let mut wrong = |kind| violate(each, kind, pending.offset);
        if pending.too_long {
            wrong(ViolationKind::TooLong);
        }
        let mut inflated = None;
        let mut readable = !pending.has_gap;
        let mut payload = &self.payload;
        if let (true, Some(inflater)) = (pending.compressed, &mut self.inflater) {
            self.inflated.clear();
            match inflater.message(&self.payload, &mut self.inflated) {
                Ok(seen) => {
                    if seen.beyond_window > 0 {
                        wrong(ViolationKind::Window);
                    }
                    if seen.beyond_message > 0 {
                        wrong(ViolationKind::Takeover);
                    }
                    inflated = Some(seen);
                }
                Err(InflateError {
                    kind: InflateErrorKind::Limit,
                    ..
                }) => {
                    wrong(ViolationKind::Bomb);
                    readable = false;
                }
                Err(error) => {
                    // Bytes that were not captured are reported as a gap already.
                    if !pending.has_gap {
                        wrong(ViolationKind::Inflate(error.kind));
                    }
                    readable = false;
                }
            }
            if pending.has_gap {
                inflater.lose_window();
            }
            payload = &self.inflated;
        } else if pending.compressed {
            readable = false;
        }
        if pending.opcode == Opcode::Text
            && readable
            && !pending.too_long
            && std::str::from_utf8(payload).is_err()
        {
            wrong(ViolationKind::Utf8);
        }
        each(Event::Message(Message {
            opcode: pending.opcode,
            payload,
            compressed: pending.compressed,
            inflated,
            fragments: pending.fragments,
            payload_wire_bytes: pending.payload_wire_bytes,
            frame_bytes: pending.frame_bytes,
            offset: pending.offset,
            whole: readable && !pending.too_long,
        }));
        // The memory of a message that inflated to far more than others is released.
        self.payload.shrink_to(1 << 20);
        self.inflated.shrink_to(1 << 20);
    }
}

fn violate(each: &mut dyn FnMut(Event<'_>), kind: ViolationKind, offset: u64) {
    each(Event::Violation(Violation { kind, offset }));
}

/// Whether the payload of a close frame is valid (RFC 6455 sections 5.5.1 and 7.4).
fn close_is_valid(payload: &[u8]) -> bool {
    match payload.split_first_chunk::<2>() {
        None => payload.is_empty(),
        Some((code, reason)) => {
            let code = u16::from_be_bytes(*code);
            let known = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
            known && std::str::from_utf8(reason).is_ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(bytes: &[u8], options: DecoderOptions) -> (Vec<ViolationKind>, Vec<Vec<u8>>) {
        let mut whole = (Vec::new(), Vec::new());
        for piece in [bytes.len().max(1), 1] {
            let mut decoder = Decoder::new(options);
            let mut found = (Vec::new(), Vec::new());
            let mut each = |event: Event<'_>| match event {
                Event::Violation(violation) => found.0.push(violation.kind),
                Event::Message(message) => found.1.push(message.payload.to_vec()),
            };
            for piece in bytes.chunks(piece) {
                decoder.feed(piece, &mut each);
            }
            decoder.finish(&mut each);
            if piece > 1 || bytes.len() <= 1 {
                whole = found;
            } else {
                assert_eq!(found, whole, "in pieces of one byte");
            }
        }
        whole
    }

    /// One lost segment of many frames ended the reading of its direction.
    #[test]
    fn frames_behind_a_gap_are_found_at_the_beginning_of_a_piece() {
        let hello: &[u8] = b"\x81\x85\x01\x02\x03\x04Igohn\x89\x80\x01\x02\x03\x04";
        let gap = "bytes were not captured";
        let cut = "not read to its end";
        let cases: &[(&[Piece<'_>], &[&str])] = &[
            (
                &[(hello, 20), (hello, 0)],
                &["Hello true", " true", gap, "Hello true", " true"],
            ),
            (
                &[(hello, 20), (hello, 9), (hello, 0)],
                &[
                    "Hello true",
                    " true",
                    gap,
                    "Hello true",
                    " true",
                    gap,
                    "Hello true",
                    " true",
                ],
            ),
            // The rest of something, what is not masked, and a message whose beginning is missing.
            (
                &[(hello, 20), (&hello[3..], 0), (hello, 0)],
                &["Hello true", " true", gap, "Hello true", " true", cut],
            ),
            (
                &[(hello, 20), (b"\x81\x05Hello", 0)],
                &["Hello true", " true", gap, cut],
            ),
            (
                &[(hello, 20), (b"\x80\x80\x01\x02\x03\x04", 0)],
                &["Hello true", " true", gap, cut],
            ),
            (
                &[(hello, 20), (b"\x81\x81\0\0\0\0\xff", 0)],
                &["Hello true", " true", gap, cut],
            ),
        ];
        for (pieces, expected) in cases {
            let options = DecoderOptions {
                sender: Some(Sender::Client),
                ..DecoderOptions::default()
            };
            assert_eq!(with_gaps(pieces, options), *expected);
        }
    }

    #[test]
    fn every_violation_is_reported() {
        use ViolationKind as V;
        let plain = DecoderOptions::default();
        let deflate = DecoderOptions {
            inflate: Some(InflateOptions {
                message_bytes_max: 1000,
                window_bits: 8,
                takeover: false,
            }),
            ..plain
        };
        let server = DecoderOptions {
            sender: Some(Sender::Server),
            message_bytes_max: 4,
            ..plain
        };
        let cases: &[(&[u8], DecoderOptions, &[V])] = &[
            (b"\x81\x02hi", plain, &[]),
            (b"\xc1\x02hi", plain, &[V::ReservedBit]),
            (b"\xa1\x02hi", plain, &[V::ReservedBit]),
            (b"\x83\x00", plain, &[V::ReservedOpcode]),
            (b"\x09\x00", plain, &[V::FragmentedControl]),
            (b"\x81\x7e\x00\x02hi", plain, &[V::Length]),
            (b"\x80\x02hi", plain, &[V::ContinuationAlone]),
            (b"\x01\x02hi\x81\x02ho", plain, &[V::Unfinished]),
            (b"\x88\x02\x03\xe8\x81\x00", plain, &[V::AfterClose]),
            (b"\x88\x01\x03", plain, &[V::CloseCode]),
            (b"\x88\x02\x03\xed", plain, &[V::CloseCode]),
            (b"\x81\x02\xc3\x28", plain, &[V::Utf8]),
            (b"\x81\x05he", plain, &[V::Cut]),
            (b"\x81", plain, &[V::Cut]),
            (b"\x01\x02hi", plain, &[V::Cut]),
            (b"\x81\x82\0\0\0\0hi", server, &[V::Masking]),
            (b"\x82\x05hello", server, &[V::TooLong]),
            (
                b"\x41\x04\xf2\x48\xcd\xc9\xc0\x03\xc9\x07\x00",
                deflate,
                &[V::CompressedBit],
            ),
            (
                b"\xc1\x01\x07",
                deflate,
                &[V::Inflate(InflateErrorKind::BlockType)],
            ),
            (b"\xc1\x01\x00", deflate, &[]),
        ];
        for (bytes, options, expected) in cases {
            let found = kinds(bytes, *options).0;
            assert_eq!(found, *expected, "{bytes:x?}");
        }
    }

    #[test]
    fn a_bomb_is_capped_and_reported() {
        let mut payload = Vec::new();
        let mut deflater = crate::Deflater::new(crate::DeflateOptions::default());
        deflater.message(&vec![0; 1 << 20], &mut payload);
        let mut frame = Vec::new();
        Header {
            fin: true,
            rsv1: true,
            rsv2: false,
            rsv3: false,
            opcode: Opcode::Binary,
            mask: None,
            payload_len: payload.len() as u64,
            header_len: 0,
        }
        .write(&mut frame);
        frame.extend(&payload);
        let options = DecoderOptions {
            inflate: Some(InflateOptions {
                message_bytes_max: 10_000,
                ..InflateOptions::default()
            }),
            ..DecoderOptions::default()
        };
        let (violations, messages) = kinds(&frame, options);
        assert_eq!(violations, [ViolationKind::Bomb]);
        assert!(messages[0].len() <= 10_000);
    }
    /// Bytes, and how many are missing after them.
    type Piece<'p> = (&'p [u8], u64);

    fn with_gaps(pieces: &[Piece<'_>], options: DecoderOptions) -> Vec<String> {
        let mut decoder = Decoder::new(options);
        let mut found = Vec::new();
        let mut each = |event: Event<'_>| {
            found.push(match event {
                Event::Violation(violation) => violation.kind.name().to_owned(),
                Event::Message(message) => {
                    let text = String::from_utf8_lossy(message.payload);
                    format!("{text} {}", message.whole)
                }
            });
        };
        for (bytes, gap) in pieces {
            decoder.feed(bytes, &mut each);
            decoder.gap(*gap, &mut each);
        }
        decoder.finish(&mut each);
        found
    }

    #[test]
    fn a_gap_within_a_frame_costs_its_message_and_a_longer_one_the_rest() {
        let plain = DecoderOptions::default();
        let gap = "bytes were not captured";
        let cut = "not read to its end";
        let hello: &[u8] = b"\x81\x05Hello";
        let cases: &[(&[Piece<'_>], &[&str])] = &[
            (
                &[(b"\x81\x05He", 2), (b"o", 0), (hello, 0)],
                &[gap, "He false", "Hello true"],
            ),
            (
                &[(b"\x81\x05He", 3), (hello, 0)],
                &[gap, "He false", "Hello true"],
            ),
            (&[(b"\x81\x05He", 4), (hello, 0)], &[gap, cut]),
            (&[(b"\x81", 1), (hello, 0)], &[gap, cut]),
            (&[(hello, 7), (hello, 0)], &["Hello true", gap, cut]),
            (&[(hello, 7), (hello, 3)], &["Hello true", gap, cut]),
        ];
        for (pieces, expected) in cases {
            assert_eq!(with_gaps(pieces, plain), *expected, "{pieces:x?}");
        }
    }

    #[test]
    fn what_refers_to_a_message_with_a_gap_is_not_made_up() {
        let deflate = DecoderOptions {
            inflate: Some(InflateOptions::default()),
            ..DecoderOptions::default()
        };
        let mut deflater = crate::Deflater::new(crate::DeflateOptions::default());
        let mut frame = |text: &str| {
            let mut frame = vec![0xc1, 0];
            deflater.message(text.as_bytes(), &mut frame);
            frame[1] = frame.len() as u8 - 2;
            frame
        };
        let [first, second, other, fourth] = [
            "the quick brown fox",
            "the quick brown fox",
            "JUMPS",
            "JUMPS JUMPS",
        ]
        .map(&mut frame);
        let (begin, _) = first.split_at(4);
        let hole = (first.len() - 4) as u64;
        let pieces: &[Piece<'_>] = &[(begin, hole), (&second, 0), (&other, 0), (&fourth, 0)];
        let found = with_gaps(pieces, deflate);
        let lost = "refers to messages that were not captured";
        assert_eq!(found[0], "bytes were not captured");
        assert!(found[1].ends_with(" false"), "{found:?}");
        assert_eq!(found[2], lost);
        assert!(found[3].ends_with(" false"), "{found:?}");
        assert_eq!(found[4..], ["JUMPS true", "JUMPS JUMPS true"]);

        // The same when the beginning of the direction was not seen at all.
        let mut decoder = Decoder::mid_stream(deflate);
        let mut kinds = Vec::new();
        decoder.feed(&second, &mut |event| {
            if let Event::Violation(violation) = event {
                kinds.push((violation.kind, violation.kind.is_fault()));
            }
        });
        let lost = ViolationKind::Inflate(InflateErrorKind::WindowLost);
        assert_eq!(kinds, [(lost, false)]);
    }
}
