//! Packets of RTP in front of the description of their sockets: they are of the call if their stream goes on behind it.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use weir_flow::Endpoint;

use super::frames;
use crate::extract::media::{Announcement, Sight};
use crate::extract::messages::Way;

/// The sockets and the source of a stream.
type Key = (Endpoint, Endpoint, u32);

/// The packets that wait for a description.
#[derive(Default)]
pub(super) struct EarlyPackets {
    streams: HashMap<Key, EarlyStream>,
    /// The streams in the order of their first packets, by their numbers.
    order: BTreeMap<u64, Key>,
    /// The number of the next stream.
    next: u64,
    /// The number of packets of all streams.
    packets: usize,
    forgotten: u64,
    /// Packets that are of a call, with its Call-ID.
    ready: VecDeque<(Arc<str>, u64)>,
}

/// The packets of a stream.
struct EarlyStream {
    number: u64,
    /// The ends and the time of the last one.
    way: Way,
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
            None if others.is_empty() && way.frame > 0 => {
                self.keep(key, way, &[way.frame]);
            }
            None => self.keep(key, way, &frames(way.frame, others)),
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

    /// Makes the packets ready for whose sockets `find` has an announcement at the end of the capture, as media of a description
    /// that waited for a lost segment.
    pub(super) fn adopt(&mut self, find: &dyn Fn(&Way) -> Option<Arc<Announcement>>) {
        while let Some((_, key)) = self.order.pop_first() {
            let way = self.streams.get(&key).map(|stream| stream.way);
            if let Some(way) = way
                && let Some(found) = find(&way)
                && let Some(call_id) = &found.call_id
            {
                self.give_out(key, way.passed_ns, call_id);
            }
        }
    }

    fn keep(&mut self, key: Key, way: &Way, frames: &[u64]) {
        let stream = self.streams.entry(key).or_insert_with(|| {
            let number = self.next;
            self.next = self.next.saturating_add(1);
            self.order.insert(number, key);
            EarlyStream {
                number,
                way: *way,
                frames: Vec::new(),
            }
        });
        if way.passed_ns.saturating_sub(stream.way.passed_ns) > SILENCE_NS {
            self.packets = self.packets.saturating_sub(stream.frames.len());
            stream.frames.clear();
        }
        stream.way = *way;
        self.packets = self.packets.saturating_add(frames.len());
        stream.frames.extend_from_slice(frames);
        while self.packets > PACKETS_MAX
            && let Some((_, oldest)) = self.order.pop_first()
        {
            let gone = self.streams.remove(&oldest);
            let packets = gone.map_or(0, |gone| gone.frames.len());
            self.packets = self.packets.saturating_sub(packets);
            self.forgotten = self.forgotten.saturating_add(packets as u64);
        }
    }

    fn give_out(&mut self, key: Key, now_ns: i64, call_id: &str) {
        let Some(stream) = self.streams.remove(&key) else {
            return;
        };
        self.order.remove(&stream.number);
        self.packets = self.packets.saturating_sub(stream.frames.len());
        if now_ns.saturating_sub(stream.way.passed_ns) <= SILENCE_NS {
            let call_id: Arc<str> = call_id.into();
            let frames = stream.frames.into_iter();
            self.ready
                .extend(frames.map(|frame| (Arc::clone(&call_id), frame)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looking through all streams for one that has its description takes the square of their number.
    #[test]
    fn streams_leave_and_come_again() {
        let end = |port| Endpoint {
            address: [10, 0, 0, 1].into(),
            port,
        };
        let key = |ssrc| (end(4000), end(5000), ssrc);
        let way = |passed_ns| Way {
            flow: 1,
            src: end(4000),
            dst: end(5000),
            transport: "udp",
            time_ns: None,
            passed_ns,
            frame: 1,
            missing: 0,
            identification: None,
        };
        let mut early = EarlyPackets::default();
        for ssrc in 0..100_000 {
            early.keep(key(ssrc), &way(1), &[ssrc.into()]);
        }
        for ssrc in 1..100_000 {
            early.give_out(key(ssrc), 2, "call");
        }
        early.keep(key(5), &way(3), &[7, 8]);
        let known: Vec<_> = early.order.values().copied().collect();
        assert_eq!(known, [key(0), key(5)]);
        assert_eq!((early.packets, early.ready.len()), (3, 99_999));
        // A stream that was silent for long is another one.
        early.give_out(key(0), SILENCE_NS + 2, "call");
        assert_eq!((early.packets, early.ready.len()), (2, 99_999));
    }
}
