//! The numbers of the frames whose octets wait for the end of their message.

use std::collections::VecDeque;

use weir_flow::{Content, Payload};

/// The frames of one direction of a connection, from that on in which the message under way begins.
#[derive(Debug, Default)]
pub(super) struct CameIn {
    /// The frames, each with the number of its octets; frames of one piece are adjacent, and the first of them has the
    /// octets.
    frames: VecDeque<(u64, usize)>,
    octets: usize,
}

/// The number of frames of a message under way, at most: the first of more are left out.
const FRAMES_MAX: usize = 4_096;

impl CameIn {
    /// The frames of the octets before a payload that may belong to its message, and the `others` of the payload.
    pub(super) fn before(&self, others: &[u64]) -> Vec<u64> {
        let before = self.frames.iter().map(|(frame, _)| *frame);
        before.chain(others.iter().copied()).collect()
    }

    /// Adds the frames of a piece, after which the last `held` octets wait.
    pub(super) fn take(&mut self, payload: &Payload<'_>, content: Content<'_>, held: usize) {
        match content {
            Content::Bytes(bytes) => self.add(payload.frame, payload.others, bytes.len(), held),
            _ => self.keep(held),
        }
    }

    /// Adds the frames of a piece of so many octets, after which the last `held` octets wait.
    pub(super) fn add(&mut self, frame: u64, others: &[u64], octets: usize, held: usize) {
        // Nearly always a piece is made of whole messages.
        if held > 0 {
            self.octets = self.octets.saturating_add(octets);
            match self.frames.back_mut() {
                Some((last, more)) if *last == frame && others.is_empty() => {
                    *more = more.saturating_add(octets);
                }
                _ => {
                    let mut octets = octets;
                    for frame in others.iter().chain([&frame]) {
                        self.frames.push_back((*frame, std::mem::take(&mut octets)));
                    }
                }
            }
        }
        self.keep(held);
    }

    /// Leaves the frames of the last `held` octets.
    pub(super) fn keep(&mut self, held: usize) {
        if held == 0 {
            self.frames.clear();
            self.octets = 0;
            return;
        }
        while let Some((_, octets)) = self.frames.front()
            && (self.octets.saturating_sub(*octets) >= held || self.frames.len() > FRAMES_MAX)
        {
            self.octets = self.octets.saturating_sub(*octets);
            self.frames.pop_front();
        }
    }

    /// The number of bytes that the value takes.
    pub(super) fn held_bytes(&self) -> usize {
        let each = size_of::<(u64, usize)>();
        self.frames.capacity().saturating_mul(each)
    }
}
