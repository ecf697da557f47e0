//! Packets of RTP in front of the description of their sockets: they are of the call if their stream goes on behind it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use weir_flow::Endpoint;

use super::frames;
use crate::extract::media::Sight;

/// The sockets and the source of a stream.
type Key = (Endpoint, Endpoint, u32);

/// The packets that wait for a description.
#[derive(Default)]
pub(super) struct EarlyPackets {
    streams: HashMap<Key, EarlyStream>,
    /// The streams in the order of their first packets.
    order: VecDeque<Key>,
    /// The number of packets of all streams.
    packets: usize,
    forgotten: u64,
    /// Packets that are of a call, with its Call-ID.
    ready: VecDeque<(Arc<str>, u64)>,
}

/// The packets of a stream.
#[derive(Default)]
struct EarlyStream {
    /// The time that had passed by the last one, in nanoseconds.
    last_ns: i64,
    frames: Vec<u64>,
}

/// The number of packets that wait at one time.
const PACKETS_MAX: usize = 1 << 20;
/// The silence behind which a stream is another one, in nanoseconds.
const SILENCE_NS: i64 = 300_000_000_000;

impl EarlyPackets {
    /// The number of packets that were given up because there were more than 1,048,576.
    pub(super) const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Reads a packet of media: keeps it where there is no description, and makes those of its stream ready where there is one.
    pub(super) fn sight(&mut self, sight: &Sight<'_>, others: &[u64]) {
        let Sight::Rtp(sight) = sight else {
            return;
        };
        let way = &sight.way;
        let key = (way.src, way.dst, sight.packet.ssrc());
        match sight.announced.as_deref() {
            None => self.keep(key, way.passed_ns, frames(way.frame, others)),
            Some(announced) => {
                if let Some(call_id) = &announced.call_id {
                    self.give_out(key, way.passed_ns, call_id);
                }
            }
        }
    }

    /// Removes a packet that is of a call.
    pub(super) fn pop(&mut self) -> Option<(Arc<str>, u64)> {
        self.ready.pop_front()
    }

    fn keep(&mut self, key: Key, now_ns: i64, frames: Vec<u64>) {
        if !self.streams.contains_key(&key) {
            self.order.push_back(key);
        }
        let stream = self.streams.entry(key).or_default();
        if now_ns.saturating_sub(stream.last_ns) > SILENCE_NS {
            self.packets = self.packets.saturating_sub(stream.frames.len());
            stream.frames.clear();
        }
        stream.last_ns = now_ns;
        self.packets = self.packets.saturating_add(frames.len());
        stream.frames.extend(frames);
        while self.packets > PACKETS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            let gone = self.streams.remove(&oldest).unwrap_or_default();
            self.packets = self.packets.saturating_sub(gone.frames.len());
            self.forgotten = self.forgotten.saturating_add(gone.frames.len() as u64);
        }
    }

    fn give_out(&mut self, key: Key, now_ns: i64, call_id: &str) {
        let Some(stream) = self.streams.remove(&key) else {
            return;
        };
        self.order.retain(|known| *known != key);
        self.packets = self.packets.saturating_sub(stream.frames.len());
        if now_ns.saturating_sub(stream.last_ns) <= SILENCE_NS {
            let call_id: Arc<str> = call_id.into();
            let frames = stream.frames.into_iter();
            self.ready
                .extend(frames.map(|frame| (Arc::clone(&call_id), frame)));
        }
    }
}
