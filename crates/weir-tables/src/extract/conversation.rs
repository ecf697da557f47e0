//! A TCP connection whose two directions are cut into messages.

use weir_flow::{Chunk, Content, Sender};

/// Cuts one direction of a connection into messages.
pub(crate) trait Cut {
    /// Reads the next content, and reports the pieces that it completes.
    fn cut(&mut self, content: Content<'_>, each: &mut dyn FnMut(Piece<'_>));

    /// The number of bytes that wait for the end of their message.
    fn held_bytes(&self) -> usize;

    /// The number of these that may be a part of a message.
    fn held_of_message(&self) -> usize {
        self.held_bytes()
    }
}

/// A piece of a direction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Piece<'p> {
    /// A candidate of a message.
    Message(&'p [u8]),
    /// A number of captured bytes that belong to no whole message.
    Lost(u64),
}

/// Both directions of a connection.
#[derive(Debug)]
pub(crate) struct Conversation<F> {
    framers: [F; 2],
    /// Whether a message was found, or the port is that of the protocol.
    is_sure: bool,
    /// The number of bytes that were not captured, as long as no message was found.
    missing: u64,
}

impl<F: Cut> Conversation<F> {
    pub(crate) const fn new(framers: [F; 2], is_sure: bool) -> Self {
        Self {
            framers,
            is_sure,
            missing: 0,
        }
    }

    /// Returns whether a message was found, or the port is that of the protocol.
    pub(crate) const fn is_sure(&self) -> bool {
        self.is_sure
    }

    /// The number of bytes of a direction that wait for the end of their message.
    pub(crate) fn held_of(&self, sender: Sender) -> usize {
        let side = usize::from(sender == Sender::High);
        self.framers.get(side).map_or(0, Cut::held_of_message)
    }

    /// Reads a chunk. `each` gets a candidate of a message, and whether the connection certainly has messages, and
    /// returns whether it is one. Returns the number of bytes that stay buffered; `None` when nothing more of the
    /// connection is needed, as it is over or carries something else.
    pub(crate) fn chunk(
        &mut self,
        chunk: &Chunk<'_>,
        lost_bytes: &mut u64,
        each: &mut dyn FnMut(&[u8], bool) -> bool,
    ) -> Option<usize> {
        let side = usize::from(chunk.sender == Sender::High);
        let is_sure = &mut self.is_sure;
        let mut goes_on = true;
        // What is lost before the first message counts once there is one.
        let mut lost_before = 0_u64;
        let framer = self.framers.get_mut(side)?;
        framer.cut(chunk.content, &mut |piece| match piece {
            Piece::Message(bytes) => {
                let is_message = each(bytes, *is_sure);
                if *is_sure && !is_message {
                    *lost_bytes = lost_bytes.saturating_add(bytes.len() as u64);
                }
                *is_sure |= is_message;
                goes_on = *is_sure;
            }
            Piece::Lost(bytes) if *is_sure => *lost_bytes = lost_bytes.saturating_add(bytes),
            Piece::Lost(bytes) => {
                lost_before = lost_before.saturating_add(bytes);
                goes_on = false;
            }
        });
        // What was not captured may have been whole messages.
        if let Content::Gap(octets) = chunk.content {
            self.missing = self.missing.saturating_add(octets);
        }
        if self.is_sure {
            let missing = std::mem::take(&mut self.missing);
            *lost_bytes = lost_bytes
                .saturating_add(lost_before)
                .saturating_add(missing);
        }
        let held = self.framers.iter().map(Cut::held_bytes).sum();
        (goes_on && !chunk.is_last).then_some(held)
    }
}
