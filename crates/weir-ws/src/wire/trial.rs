//! Decides whether the bytes of a connection without its handshake are those of WebSocket.

use super::decoder::{Decoder, DecoderOptions, Event};
use super::direction::Direction;
use super::frame::Sender;

/// Bytes of a connection that are on trial, until their protocol is known.
///
/// Nearly any bytes can be taken for the beginning of a frame, so frames alone prove little. A connection passes with both
/// directions, whose frames the client masks and the server does not (RFC 6455 section 5.1); some whole messages; and
/// not one violation.
#[derive(Debug)]
pub(super) struct Trial {
    decoders: [Decoder; 2],
    messages: [u32; 2],
    finished: [bool; 2],
    bytes: Vec<u8>,
    /// Direction and length of each piece.
    pieces: Vec<(Direction, usize)>,
}

/// The verdict of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// More has to come.
    Open,
    /// The bytes are those of WebSocket.
    WebSocket,
    /// The bytes are something else, or it took too long to decide.
    Other,
}

/// The required number of whole messages of both directions, with one of each at least.
const MESSAGES_MIN: u32 = 4;
/// Bytes, and pieces, of a connection on trial, at most.
const BYTES_MAX: usize = 256 << 10;
const PIECES_MAX: usize = 4_096;

impl Trial {
    pub(super) fn new(options: DecoderOptions) -> Self {
        let decoder = |sender| {
            Decoder::mid_stream(DecoderOptions {
                sender: Some(sender),
                ..options
            })
        };
        Self {
            decoders: [decoder(Sender::Client), decoder(Sender::Server)],
            messages: [0; 2],
            finished: [false; 2],
            bytes: Vec::new(),
            pieces: Vec::new(),
        }
    }

    /// Adds the next bytes of one direction.
    pub(super) fn feed(&mut self, direction: Direction, bytes: &[u8]) -> Verdict {
        let room = BYTES_MAX.saturating_sub(self.bytes.len());
        if bytes.len() > room || self.pieces.len() >= PIECES_MAX {
            return Verdict::Other;
        }
        self.bytes.extend_from_slice(bytes);
        self.pieces.push((direction, bytes.len()));
        self.judge(direction, |decoder, each| decoder.feed(bytes, each))
    }

    /// Whether bytes of a direction were fed.
    pub(super) fn has_begun(&self, direction: Direction) -> bool {
        self.pieces.iter().any(|(fed, _)| *fed == direction)
    }

    /// Ends one direction.
    pub(super) fn finish(&mut self, direction: Direction) -> Verdict {
        self.finished[direction.slot()] = true;
        match self.judge(direction, Decoder::finish) {
            // A connection that has ended without a verdict is something else.
            Verdict::Open if self.finished == [true; 2] => Verdict::Other,
            Verdict::Open if self.messages[direction.slot()] == 0 => Verdict::Other,
            verdict => verdict,
        }
    }

    fn judge(
        &mut self,
        direction: Direction,
        read: impl FnOnce(&mut Decoder, &mut dyn FnMut(Event<'_>)),
    ) -> Verdict {
        let slot = direction.slot();
        let Self {
            decoders, messages, ..
        } = self;
        let mut breaks_rules = false;
        let count = &mut messages[slot];
        read(&mut decoders[slot], &mut |event| match event {
            Event::Message(_) => *count = count.saturating_add(1),
            // That the messages before were not captured is no fault.
            Event::Violation(violation) => breaks_rules |= !violation.kind.is_of_capture(),
        });
        let [to_server, to_client] = *messages;
        if breaks_rules {
            Verdict::Other
        } else if to_server > 0
            && to_client > 0
            && to_server.saturating_add(to_client) >= MESSAGES_MIN
        {
            Verdict::WebSocket
        } else {
            Verdict::Open
        }
    }

    /// The directions that have ended, to the server and to the client.
    pub(super) const fn finished(&self) -> [bool; 2] {
        self.finished
    }

    /// The pieces as they came, each with its direction.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Direction, &[u8])> {
        let mut start = 0_usize;
        self.pieces.iter().map(move |&(direction, len)| {
            let end = start.saturating_add(len);
            let piece = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            (direction, piece)
        })
    }

    /// Bytes of memory that are held.
    pub(super) fn held_bytes(&self) -> usize {
        let decoders: usize = self.decoders.iter().map(Decoder::held_bytes).sum();
        let pieces = self
            .pieces
            .capacity()
            .saturating_mul(size_of::<(Direction, usize)>());
        decoders
            .saturating_add(self.bytes.capacity())
            .saturating_add(pieces)
    }
}
