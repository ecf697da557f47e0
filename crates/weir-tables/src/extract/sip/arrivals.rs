//! The packets whose octets wait for the end of their message, with their times.

use std::collections::VecDeque;

use weir_flow::{Content, Payload};

/// The packets of one direction of a connection, from that on in which the message under way begins.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    packets: VecDeque<Arrival>,
    octets: usize,
}

/// A packet.
#[derive(Debug)]
struct Arrival {
    frame: u64,
    time_ns: Option<i64>,
    octets: usize,
    /// The other frames that carried the octets.
    others: Box<[u64]>,
}

/// The packets of a message among the octets that waited.
#[derive(Debug)]
pub(super) struct Arrived {
    /// The frame of the last octet.
    pub(super) frame: u64,
    /// The time of the last octet.
    pub(super) time_ns: Option<i64>,
    /// The other frames.
    pub(super) others: Vec<u64>,
}

/// The number of packets of a message under way, at most: the first of more are left out.
const PACKETS_MAX: usize = 4_096;

impl Arrivals {
    /// The frames of the octets before a payload that may belong to its message, and the `others` of the payload.
    pub(super) fn before(&self, others: &[u64]) -> Vec<u64> {
        let mut frames = Vec::new();
        for packet in &self.packets {
            frames.extend_from_slice(&packet.others);
            frames.push(packet.frame);
        }
        frames.extend_from_slice(others);
        frames
    }

    /// Adds the packet of a piece, after which the last `held` octets wait.
    pub(super) fn take(&mut self, payload: &Payload<'_>, content: Content<'_>, held: usize) {
        // Nearly always a piece is made of whole messages.
        if let Content::Bytes(bytes) = content
            && held > 0
        {
            self.octets = self.octets.saturating_add(bytes.len());
            self.packets.push_back(Arrival {
                frame: payload.frame,
                time_ns: payload.time_ns,
                octets: bytes.len(),
                others: payload.others.into(),
            });
        }
        self.keep(held);
    }

    /// Leaves the packets of the last `held` octets.
    fn keep(&mut self, held: usize) {
        if held == 0 {
            self.packets.clear();
            self.octets = 0;
            return;
        }
        while let Some(first) = self.packets.front()
            && (self.octets.saturating_sub(first.octets) >= held
                || self.packets.len() > PACKETS_MAX)
        {
            self.octets = self.octets.saturating_sub(first.octets);
            self.packets.pop_front();
        }
    }

    /// The packets of a message of `len` waiting octets, behind which `behind` others wait; `None` where none waits.
    pub(super) fn of_message(&self, len: usize, behind: usize) -> Option<Arrived> {
        let mut last = None;
        let mut others = Vec::new();
        let mut octets = 0_usize;
        for packet in self.packets.iter().rev() {
            if octets >= behind.saturating_add(len) {
                break;
            }
            octets = octets.saturating_add(packet.octets);
            if octets <= behind {
                continue;
            }
            match last {
                None => last = Some(packet),
                Some(_) => others.push(packet.frame),
            }
            others.extend(packet.others.iter().rev());
        }
        others.reverse();
        // The packets of a message that many others follow may have been left out.
        let last = last.or(self.packets.front())?;
        Some(Arrived {
            frame: last.frame,
            time_ns: last.time_ns,
            others,
        })
    }

    /// The number of bytes that the value takes.
    pub(super) fn held_bytes(&self) -> usize {
        let each = size_of::<Arrival>();
        let others: usize = self.packets.iter().map(|packet| packet.others.len()).sum();
        let packets = self.packets.capacity().saturating_mul(each);
        packets.saturating_add(others.saturating_mul(size_of::<u64>()))
    }
}
