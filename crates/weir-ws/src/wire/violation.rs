//! Violations of the standards by frames and messages, and the rules that a frame can break by itself.

use super::frame::{Header, Opcode, Sender, mask};
use crate::deflate::InflateErrorKind;

/// Something that the standards forbid, or a limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The kind.
    pub kind: ViolationKind,
    /// Offset in the direction's bytes of the frame.
    pub offset: u64,
}

/// The kinds of [`Violation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ViolationKind {
    /// RSV2 or RSV3 is set, or RSV1 without an extension (RFC 6455 section 5.2).
    ReservedBit,
    /// RSV1 in a frame that does not begin a data message (RFC 7692 section 6.1).
    CompressedBit,
    /// A reserved opcode.
    ReservedOpcode,
    /// A control frame in fragments.
    FragmentedControl,
    /// A control frame of more than 125 bytes.
    LongControl,
    /// A length in more bytes than necessary, or with its highest bit set.
    Length,
    /// The client did not mask a frame, or the server did.
    Masking,
    /// A continuation frame without a message to continue.
    ContinuationAlone,
    /// A new message before the previous one was finished.
    Unfinished,
    /// A data frame after a close frame.
    AfterClose,
    /// A text that is not UTF-8.
    Utf8,
    /// A close frame of one byte, or with a status code that may not be sent (RFC 6455 section 7.4).
    CloseCode,
    /// A message beyond [`DecoderOptions::message_bytes_max`](super::DecoderOptions::message_bytes_max): only its beginning is given.
    TooLong,
    /// A message that inflates beyond [`InflateOptions::message_bytes_max`](crate::InflateOptions::message_bytes_max).
    Bomb,
    /// A message that cannot be inflated.
    Inflate(InflateErrorKind),
    /// Distances beyond the negotiated window (RFC 7692 section 7.1.2).
    Window,
    /// References to earlier messages, although the sender is not to keep its window.
    Takeover,
    /// The direction ends in the middle of a frame or message, or could not be read to its end.
    Cut,
    /// Bytes that were not captured, which is no fault of the sender. Decoding continues where the begin of the next
    /// frame is known.
    Gap,
}

impl ViolationKind {
    /// The name in a few words, such as `reserved opcode`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::ReservedBit => "reserved bit set",
            Self::CompressedBit => "RSV1 in a frame that does not begin a message",
            Self::ReservedOpcode => "reserved opcode",
            Self::FragmentedControl => "control frame in fragments",
            Self::LongControl => "control frame longer than 125 bytes",
            Self::Length => "length in more bytes than necessary",
            Self::Masking => "masked by the server or not masked by the client",
            Self::ContinuationAlone => "continuation frame without a message to continue",
            Self::Unfinished => "new message before the previous one was finished",
            Self::AfterClose => "data after a close frame",
            Self::Utf8 => "text is not UTF-8",
            Self::CloseCode => "close frame without a valid status",
            Self::TooLong => "message beyond the limit",
            Self::Bomb => "message inflates beyond the limit",
            Self::Inflate(InflateErrorKind::WindowLost) => {
                "refers to messages that were not captured"
            }
            Self::Inflate(_) => "message cannot be inflated",
            Self::Window => "distance beyond the negotiated window",
            Self::Takeover => "refers to earlier messages without context takeover",
            Self::Cut => "not read to its end",
            Self::Gap => "bytes were not captured",
        }
    }

    /// Whether the sender broke RFC 6455 or RFC 7692; false for bytes that the capture lacks, and for limits.
    #[must_use]
    pub fn is_fault(self) -> bool {
        !matches!(
            self,
            Self::Cut
                | Self::Gap
                | Self::TooLong
                | Self::Bomb
                | Self::Inflate(InflateErrorKind::WindowLost)
        )
    }
}

impl ViolationKind {
    /// Whether earlier bytes are missing from the capture, which is no fault of this message.
    pub(super) const fn is_of_capture(self) -> bool {
        matches!(self, Self::Inflate(InflateErrorKind::WindowLost))
    }
}

impl Header {
    /// Reports what the header violates by itself, whatever frames came before it. Masking is checked when the sender is known;
    /// RSV1 is reserved unless the connection uses permessage-deflate.
    pub fn check(
        &self,
        sender: Option<Sender>,
        uses_deflate: bool,
        each: &mut impl FnMut(ViolationKind),
    ) {
        let control = self.opcode.is_control();
        if self.rsv2 || self.rsv3 || (self.rsv1 && !uses_deflate) {
            each(ViolationKind::ReservedBit);
        }
        if self.rsv1 && (control || self.opcode == Opcode::Continuation) {
            each(ViolationKind::CompressedBit);
        }
        if matches!(self.opcode, Opcode::Reserved(_)) {
            each(ViolationKind::ReservedOpcode);
        }
        if control && !self.fin {
            each(ViolationKind::FragmentedControl);
        }
        if control && self.payload_len > 125 {
            each(ViolationKind::LongControl);
        }
        if self.header_len > self.shortest_len() || self.payload_len >> 63 != 0 {
            each(ViolationKind::Length);
        }
        match sender {
            Some(Sender::Client) if self.mask.is_none() => each(ViolationKind::Masking),
            Some(Sender::Server) if self.mask.is_some() => each(ViolationKind::Masking),
            _ => {}
        }
    }

    /// Returns false when the frame is a whole text message, not compressed, and this payload of it is not UTF-8.
    #[must_use]
    pub fn is_valid_text(&self, payload: &[u8]) -> bool {
        if self.opcode != Opcode::Text || !self.fin || self.rsv1 {
            return true;
        }
        let mut text = payload.to_vec();
        mask(self.mask.unwrap_or_default(), 0, &mut text);
        std::str::from_utf8(&text).is_ok()
    }
}
