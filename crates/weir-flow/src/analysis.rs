//! Flags of TCP segments that tell of the health of a connection, as Wireshark's analysis of sequence numbers defines them.
//!
//! The conditions are those of the Wireshark User's Guide ("TCP Analysis"); where it leaves something open, what tshark
//! says of captures decides.

use weir_dict::Dict;
use weir_packet::{Field, Get, Packet, fields};

use crate::key::{FlowKey, Sender};
use crate::segment::{ACK, FIN, RST, SYN, Segment, beyond};
use crate::sighting::Sighting;

/// The findings of the analysis about a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Analyzed {
    /// All that applies; see the constants.
    pub flags: u32,
    /// The number of earlier ACKs with the same acknowledgment number, and the number of the packet with the first of them.
    pub duplicate_ack: Option<(u32, u64)>,
    /// The packet whose last octet it acknowledges, and how many nanoseconds ago that was.
    pub acks: Option<(u64, i64)>,
    /// Nanoseconds since the oldest packet that was not acknowledged, and that packet's number; of retransmissions.
    pub timeout: Option<(i64, u64)>,
    /// Nanoseconds from the SYN to the acknowledgment that ends the handshake, once it was seen.
    pub initial_rtt_ns: Option<i64>,
}

impl Analyzed {
    /// The segment has data, a SYN or a FIN that was sent before.
    pub const RETRANSMISSION: u32 = 1;
    /// The segment was sent again within 20 ms of the second or later duplicate acknowledgment that asks for it.
    pub const FAST_RETRANSMISSION: u32 = 1 << 1;
    /// The segment was sent again though all of it was acknowledged.
    pub const SPURIOUS_RETRANSMISSION: u32 = 1 << 2;
    /// The segment is late by less than the connection's first round trip (3 ms where that is not known).
    pub const OUT_OF_ORDER: u32 = 1 << 3;
    /// The segment begins beyond what is known to have been sent: something before it was not captured.
    pub const LOST_SEGMENT: u32 = 1 << 4;
    /// The segment acknowledges what was not captured.
    pub const ACK_LOST_SEGMENT: u32 = 1 << 5;
    /// Only the window differs from that of the segment before.
    pub const WINDOW_UPDATE: u32 = 1 << 6;
    /// The segment ends where the window of the receiver does.
    pub const WINDOW_FULL: u32 = 1 << 7;
    /// The segment has at most one octet, the one before the next expected.
    pub const KEEP_ALIVE: u32 = 1 << 8;
    /// The answer to a keep-alive.
    pub const KEEP_ALIVE_ACK: u32 = 1 << 9;
    /// The segment repeats the last acknowledgment.
    pub const DUPLICATE_ACK: u32 = 1 << 10;
    /// The segment has the next octet alone, while the window of the receiver is zero.
    pub const ZERO_WINDOW_PROBE: u32 = 1 << 11;
    /// The segment answers a zero window probe, and leaves the window at zero.
    pub const ZERO_WINDOW_PROBE_ACK: u32 = 1 << 12;
    /// The segment offers a window of zero.
    pub const ZERO_WINDOW: u32 = 1 << 13;
    /// The segment is a SYN with another initial sequence number than the connection's.
    pub const REUSED_PORTS: u32 = 1 << 14;

    /// Whether one of `flags` is set.
    #[must_use]
    pub const fn is(&self, flags: u32) -> bool {
        self.flags & flags != 0
    }
}

/// Follows connections for what [`Analyzed`] says. Unlike flows they do not end by silence: a keep-alive after hours
/// is one.
#[derive(Debug)]
pub struct Analysis {
    /// Connections are in two halves. Once the young one is full, the old one is forgotten, with all connections that
    /// were silent since the last time that this happened.
    young: Dict<FlowKey, ConnectionHistory>,
    old: Dict<FlowKey, ConnectionHistory>,
    half_max: usize,
    waiting: usize,
    waiting_max: usize,
    forgotten: u64,
    unnoted: u64,
    window_scale: Option<fn(&Packet<'_>) -> Option<u8>>,
}

/// Segments of one direction that wait for their acknowledgment, at most, as in Wireshark.
const DIRECTION_WAITING_MAX: usize = 10_000;

/// Segments of all connections that wait, at most; they take 32 bytes each.
const WAITING_MAX: usize = 4 << 20;

/// The maximum number of connections that are analysed at the same time, whatever the limit of flows is.
const CONNECTIONS_MAX: usize = 1 << 20;

const FAST_NS: i64 = 20_000_000;
const LATE_NS: i64 = 3_000_000;

#[derive(Debug, Default)]
struct ConnectionHistory {
    ends: [DirectionHistory; 2],
    /// When the last SYN came.
    syn_ns: Option<i64>,
    initial_rtt_ns: Option<i64>,
}

/// The state of one direction.
#[derive(Debug, Default)]
struct DirectionHistory {
    /// The number before its first octet.
    start: Option<u32>,
    /// The number after the highest that was sent; 0 before anything was.
    next: u32,
    next_ns: i64,
    next_packet: u64,
    /// The highest number that the peer may acknowledge without a lost segment.
    to_be_acked: Acked,
    ack: u32,
    ack_ns: i64,
    first_of_ack: u64,
    duplicates: u32,
    window: u16,
    scale: Scale,
    /// The window was in a SYN, and is not scaled.
    is_first_window: bool,
    flags: u32,
    waiting: Vec<UnacknowledgedSegment>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Acked {
    #[default]
    Nothing,
    UpTo(u32),
    /// The peer has acknowledged more than was captured: its next ACK is not flagged again.
    Ahead,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scale {
    /// The SYN was not seen.
    #[default]
    Unknown,
    By(u8),
}

/// A segment that was not acknowledged.
#[derive(Clone, Copy, Debug)]
struct UnacknowledgedSegment {
    seq: u32,
    next: u32,
    packet: u64,
    time_ns: i64,
}

impl Analysis {
    /// An analysis of up to `flows_max` connections, a million at most.
    #[must_use]
    pub fn new(flows_max: usize) -> Self {
        Self {
            young: Dict::new(),
            old: Dict::new(),
            half_max: flows_max.min(CONNECTIONS_MAX).div_ceil(2).max(1),
            waiting: 0,
            waiting_max: WAITING_MAX,
            forgotten: 0,
            unnoted: 0,
            window_scale: window_scale(),
        }
    }

    /// Connections that were forgotten for the limit.
    #[must_use]
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Segments whose acknowledgment is not known, because too many others waited for theirs.
    #[must_use]
    pub const fn unnoted(&self) -> u64 {
        self.unnoted
    }

    /// Connections and segments that are held, for tests of the limits.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        (self.young.len() + self.old.len(), self.waiting)
    }

    /// Analyses a packet, the `number`th of the capture; `None` when it is not TCP.
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        sighting: &Sighting,
        number: u64,
    ) -> Option<Analyzed> {
        let segment = sighting.segment?;
        let scale = match segment.flags & SYN {
            0 => None,
            _ => self.window_scale.and_then(|get| get(packet)),
        };
        self.segment(sighting, &segment, scale, number)
    }

    fn segment(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        scale: Option<u8>,
        number: u64,
    ) -> Option<Analyzed> {
        let side = usize::from(sighting.sender == Sender::High);
        self.bring_up(&sighting.key);
        let room = self.waiting_max.saturating_sub(self.waiting);
        let connection = self.young.get_mut(&sighting.key)?;
        let before = connection.waiting();
        let mut sight = Sight {
            segment,
            number,
            now_ns: sighting.time_ns.unwrap_or(0),
            found: Analyzed::default(),
        };
        let is_noted = sight.take(connection, side, scale, room);
        self.unnoted += u64::from(!is_noted);
        let after = connection.waiting();
        self.waiting = (self.waiting + after).saturating_sub(before);
        Some(sight.found)
    }

    /// Makes sure that the connection is among the young ones.
    fn bring_up(&mut self, key: &FlowKey) {
        if self.young.get(key).is_some() {
            return;
        }
        if self.young.len() >= self.half_max {
            let old = std::mem::replace(&mut self.old, std::mem::take(&mut self.young));
            self.forgotten += old.len() as u64;
            let waited: usize = old.iter().map(|(_, one)| one.waiting()).sum();
            self.waiting = self.waiting.saturating_sub(waited);
        }
        let known = self.old.remove(key).unwrap_or_default();
        self.young.insert(*key, known);
    }
}

impl ConnectionHistory {
    fn waiting(&self) -> usize {
        self.ends.iter().map(|end| end.waiting.len()).sum()
    }
}

impl DirectionHistory {
    fn is_next(&self, seq: u32) -> bool {
        self.next == seq
    }

    /// The shift of the window that it offers.
    fn shift(&self) -> Option<u32> {
        match self.scale {
            Scale::Unknown => None,
            Scale::By(_) if self.is_first_window => Some(0),
            // The shift is 14 at most (RFC 7323, 2.3).
            Scale::By(shift) => Some(u32::from(shift.min(14))),
        }
    }
}

/// A segment during its analysis.
struct Sight<'s> {
    segment: &'s Segment,
    number: u64,
    now_ns: i64,
    found: Analyzed,
}

impl Sight<'_> {
    const fn has(&self, flags: u8) -> bool {
        self.segment.flags & flags != 0
    }

    const fn end(&self) -> u32 {
        self.segment.seq.wrapping_add(self.segment.len)
    }

    /// The sequence number after the segment. SYN and FIN take one each.
    const fn next(&self) -> u32 {
        self.end().wrapping_add(self.has(SYN | FIN) as u32)
    }

    /// Analyses a segment, and updates the state. False when its acknowledgment number is not stored.
    fn take(
        &mut self,
        all: &mut ConnectionHistory,
        side: usize,
        scale: Option<u8>,
        room: usize,
    ) -> bool {
        self.begin(all, side, scale);
        let initial_rtt_ns = all.initial_rtt_ns;
        let [low, high] = &mut all.ends;
        let (end, peer) = match side {
            0 => (low, high),
            _ => (high, low),
        };
        self.compare(end, peer);
        let segment = self.segment;
        if segment.ack != end.ack {
            end.first_of_ack = self.number;
            end.duplicates = 0;
        }
        self.find_unseen(peer);
        let is_new = segment.len > 0 || self.has(SYN | FIN);
        if is_new && !self.found.is(Analyzed::KEEP_ALIVE) {
            self.find_repeated(end, peer, initial_rtt_ns.unwrap_or(LATE_NS));
        }
        let is_noted = !is_new || (room > 0 && end.waiting.len() < DIRECTION_WAITING_MAX);
        if is_new && is_noted {
            end.waiting.push(UnacknowledgedSegment {
                seq: segment.seq,
                next: self.next(),
                packet: self.number,
                time_ns: self.now_ns,
            });
        }
        self.go_on(end);
        self.acknowledge(peer);
        self.found.initial_rtt_ns = initial_rtt_ns;
        is_noted
    }

    /// Stores what only the first segments of a connection have.
    fn begin(&mut self, all: &mut ConnectionHistory, side: usize, scale: Option<u8>) {
        let Segment { seq, ack, .. } = *self.segment;
        if self.has(SYN) {
            let start = all.ends.get(side).and_then(|end| end.start);
            if start.is_some_and(|start| start != seq) {
                self.found.flags |= Analyzed::REUSED_PORTS;
                if !self.has(ACK) {
                    *all = ConnectionHistory::default();
                }
            }
        }
        let [low, high] = &mut all.ends;
        let (end, peer) = match side {
            0 => (low, high),
            _ => (high, low),
        };
        let before = if self.has(SYN) {
            seq
        } else {
            seq.wrapping_sub(1)
        };
        end.start.get_or_insert(before);
        if self.has(ACK) {
            peer.start.get_or_insert(ack.wrapping_sub(1));
        }
        if self.has(SYN) {
            end.scale = Scale::By(scale.unwrap_or(0));
            // Both must offer it (RFC 7323, 2.2).
            if self.has(ACK) && (scale.is_none() || peer.scale == Scale::Unknown) {
                (end.scale, peer.scale) = (Scale::By(0), Scale::By(0));
            }
            if !self.has(ACK) {
                all.syn_ns = Some(self.now_ns);
            }
        } else if self.has(ACK) && all.initial_rtt_ns.is_none() {
            // A round trip of no time is not known.
            let elapsed = all.syn_ns.map(|syn_ns| self.now_ns.saturating_sub(syn_ns));
            all.initial_rtt_ns = elapsed.filter(|elapsed| *elapsed != 0);
        }
    }

    /// Compares the numbers of a segment with those of earlier ones.
    fn compare(&mut self, end: &mut DirectionHistory, peer: &mut DirectionHistory) {
        let segment = *self.segment;
        let Segment {
            seq,
            ack,
            len,
            window,
            ..
        } = segment;
        let found = &mut self.found.flags;
        // Most conditions exclude SYN, FIN and RST.
        let is_plain = segment.flags & (SYN | FIN | RST) == 0;
        if len == 1 && end.is_next(seq) && peer.window == 0 {
            *found |= Analyzed::ZERO_WINDOW_PROBE;
            return;
        }
        if window == 0 && is_plain {
            *found |= Analyzed::ZERO_WINDOW;
        }
        if end.next != 0 && beyond(seq, end.next) > 0 && segment.flags & RST == 0 {
            *found |= Analyzed::LOST_SEGMENT;
        }
        if len <= 1 && seq == end.next.wrapping_sub(1) && is_plain {
            *found |= Analyzed::KEEP_ALIVE;
        }
        let full = peer.shift().map(|shift| {
            let window = u32::from(peer.window) << shift;
            peer.ack.wrapping_add(window)
        });
        if len > 0 && full == Some(seq.wrapping_add(len)) && is_plain {
            *found |= Analyzed::WINDOW_FULL;
        }
        // All that follows is an acknowledgment without data that is where it should be.
        if len > 0 || !end.is_next(seq) || !is_plain {
            return;
        }
        let is_same_ack = ack == end.ack;
        if window != 0 && window != end.window && is_same_ack {
            *found |= Analyzed::WINDOW_UPDATE;
        }
        if window != end.window {
            return;
        }
        if window == 0 {
            let took_the_octet = ack == end.ack.wrapping_add(1);
            if peer.flags & Analyzed::ZERO_WINDOW_PROBE != 0 && (is_same_ack || took_the_octet) {
                *found |= Analyzed::ZERO_WINDOW_PROBE_ACK;
                if took_the_octet {
                    peer.next = ack;
                    peer.to_be_acked = Acked::UpTo(ack);
                }
            }
        } else if is_same_ack && peer.flags & Analyzed::KEEP_ALIVE != 0 {
            *found |= Analyzed::KEEP_ALIVE_ACK;
        } else if is_same_ack {
            *found |= Analyzed::DUPLICATE_ACK;
            end.duplicates = end.duplicates.saturating_add(1);
            self.found.duplicate_ack = Some((end.duplicates, end.first_of_ack));
        }
    }

    /// Flags a segment that acknowledges data that was not seen. Once the peer is known to be behind, later segments are
    /// flagged only after the peer was seen to have gone on, or to have caught up.
    fn find_unseen(&mut self, peer: &mut DirectionHistory) {
        let ack = self.segment.ack;
        if !self.has(ACK) {
            return;
        }
        if peer.to_be_acked == Acked::Ahead && ack == peer.next {
            peer.to_be_acked = Acked::UpTo(peer.next);
        }
        if let Acked::UpTo(highest) = peer.to_be_acked
            && beyond(ack, highest) > 0
        {
            self.found.flags |= Analyzed::ACK_LOST_SEGMENT;
            peer.to_be_acked = match beyond(highest, peer.next) < 0 {
                true => Acked::UpTo(peer.next),
                false => Acked::Ahead,
            };
        }
    }

    /// Classifies a segment with sequence numbers that were sent before.
    fn find_repeated(&mut self, end: &DirectionHistory, peer: &DirectionHistory, late_ns: i64) {
        let segment = self.segment;
        let is_behind = end.next != 0 && beyond(segment.seq, end.next) < 0;
        // More than one octet behind a probe is new.
        let is_behind_probe = segment.len > 1 && segment.seq == end.next.wrapping_sub(1);
        if !is_behind || is_behind_probe {
            return;
        }
        let since = |time_ns: i64| self.now_ns.saturating_sub(time_ns);
        let is_within = |time_ns: i64, most: i64| (0..most).contains(&since(time_ns));
        let is_asked_for = peer.duplicates >= 2 && peer.ack == segment.seq;
        if is_asked_for && is_within(peer.ack_ns, FAST_NS) {
            self.found.flags |= Analyzed::FAST_RETRANSMISSION | Analyzed::RETRANSMISSION;
        } else if segment.len > 0 && peer.ack != 0 && beyond(self.end(), peer.ack) <= 0 {
            self.found.flags |= Analyzed::SPURIOUS_RETRANSMISSION | Analyzed::RETRANSMISSION;
        } else if is_within(end.next_ns, late_ns) && end.next != self.next() {
            self.found.flags |= Analyzed::OUT_OF_ORDER;
        } else {
            let oldest = end.waiting.first();
            let (time_ns, packet) = oldest.map_or((end.next_ns, end.next_packet), |oldest| {
                (oldest.time_ns, oldest.packet)
            });
            let elapsed = since(time_ns);
            self.found.flags |= Analyzed::RETRANSMISSION;
            self.found.timeout = (elapsed != 0).then_some((elapsed, packet));
        }
    }

    /// Makes the numbers of the segment the last ones of its direction.
    fn go_on(&mut self, end: &mut DirectionHistory) {
        let (segment, next, was_next) = (self.segment, self.next(), end.next);
        if !self.found.is(Analyzed::ZERO_WINDOW_PROBE) {
            if end.next == 0 || beyond(next, end.next) > 0 {
                end.next = next;
                end.next_ns = self.now_ns;
                end.next_packet = self.number;
            }
            end.to_be_acked = match end.to_be_acked {
                Acked::Nothing => Acked::UpTo(end.next),
                Acked::UpTo(highest) if highest == segment.seq => Acked::UpTo(end.next),
                Acked::Ahead if self.found.is(Analyzed::LOST_SEGMENT) => Acked::UpTo(was_next),
                other => other,
            };
        }
        end.window = segment.window;
        end.ack = segment.ack;
        end.ack_ns = self.now_ns;
        end.is_first_window = self.has(SYN);
        end.flags = self.found.flags;
    }

    /// Drops the segments of the peer that it acknowledges.
    fn acknowledge(&mut self, peer: &mut DirectionHistory) {
        let ack = self.segment.ack;
        let mut acked = None;
        peer.waiting.retain_mut(|one| {
            if one.next == ack {
                acked = acked.or(Some(*one));
                return false;
            }
            let is_waiting = beyond(one.next, ack) > 0;
            if is_waiting && beyond(ack, one.seq) > 0 {
                one.seq = ack;
            }
            is_waiting
        });
        self.found.acks = acked.map(|one| (one.packet, self.now_ns.saturating_sub(one.time_ns)));
    }
}

/// The function that reads the window scale option of a packet.
pub(crate) fn window_scale() -> Option<fn(&Packet<'_>) -> Option<u8>> {
    fields().find_map(|(field, _): (&Field, _)| match field.get {
        Get::U8(get) if field.name == "tcp.options.wscale.shift" => Some(get),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Endpoint;

    const CLIENT: bool = true;
    const SERVER: bool = false;
    const MS: i64 = 1_000_000;

    struct TestConnection {
        analysis: Analysis,
        number: u64,
    }

    impl TestConnection {
        fn new() -> Self {
            Self {
                analysis: Analysis::new(100),
                number: 0,
            }
        }

        /// A segment of the connection `port`, at this millisecond.
        fn of(&mut self, port: u16, from_client: bool, at_ms: i64, segment: Segment) -> Analyzed {
            self.number += 1;
            let client = Endpoint {
                address: "10.0.0.1".parse().unwrap(),
                port,
            };
            let server = Endpoint {
                address: "10.0.0.2".parse().unwrap(),
                port: 80,
            };
            let (from, to) = if from_client {
                (client, server)
            } else {
                (server, client)
            };
            let (key, sender) = FlowKey::new(from, to, 6, 0);
            let sighting = Sighting {
                key,
                sender,
                time_ns: Some(at_ms * MS),
                ip_bytes: 40,
                payload_bytes: segment.len,
                ttl: 64,
                bad_checksum: false,
                segment: Some(segment),
            };
            self.analysis
                .segment(&sighting, &segment, Some(0), self.number)
                .unwrap()
        }

        fn one(&mut self, from_client: bool, at_ms: i64, seq: u32, ack: u32, len: u32) -> Analyzed {
            self.of(4000, from_client, at_ms, plain(seq, ack, len))
        }

        fn open() -> Self {
            let mut run = Self::new();
            let syn = Segment {
                flags: SYN,
                ..plain(99, 0, 0)
            };
            assert_eq!(run.of(4000, CLIENT, 0, syn).flags, 0);
            let answer = Segment {
                flags: SYN | ACK,
                ..plain(999, 100, 0)
            };
            assert_eq!(run.of(4000, SERVER, 10, answer).acks, Some((1, 10 * MS)));
            let ended = run.one(CLIENT, 30, 100, 1000, 0);
            assert_eq!(ended.acks, Some((2, 20 * MS)));
            assert_eq!(
                run.one(CLIENT, 31, 100, 1000, 50).initial_rtt_ns,
                Some(30 * MS)
            );
            run
        }
    }

    fn plain(seq: u32, ack: u32, len: u32) -> Segment {
        Segment {
            seq,
            ack,
            flags: ACK,
            window: 500,
            len,
            is_cut: false,
            scale: None,
            may_be_padding: false,
        }
    }

    #[test]
    fn what_is_sent_again_is_late_or_repeated_by_its_time() {
        let mut run = TestConnection::open();
        assert_eq!(
            run.one(CLIENT, 40, 250, 1000, 50).flags,
            Analyzed::LOST_SEGMENT
        );
        assert_eq!(
            run.one(CLIENT, 41, 150, 1000, 50).flags,
            Analyzed::OUT_OF_ORDER
        );
        let again = run.one(CLIENT, 400, 100, 1000, 50);
        assert_eq!(again.flags, Analyzed::RETRANSMISSION);
        assert_eq!(again.timeout, Some((369 * MS, 4)));
        run.one(SERVER, 401, 1000, 300, 0);
        let spurious = run.one(CLIENT, 402, 200, 1000, 50);
        assert!(spurious.is(Analyzed::SPURIOUS_RETRANSMISSION));
    }

    #[test]
    fn the_third_same_acknowledgment_asks_for_a_fast_retransmission() {
        let mut run = TestConnection::open();
        run.one(SERVER, 50, 1000, 150, 0);
        run.one(CLIENT, 51, 200, 1000, 50);
        for (at_ms, count) in [(52, 1), (53, 2)] {
            let same = run.one(SERVER, at_ms, 1000, 150, 0);
            assert_eq!(same.duplicate_ack, Some((count, 5)));
        }
        let fast = run.one(CLIENT, 60, 150, 1000, 50);
        assert_eq!(
            fast.flags,
            Analyzed::FAST_RETRANSMISSION | Analyzed::RETRANSMISSION
        );
    }

    #[test]
    fn a_window_of_zero_is_probed_and_opened_again() {
        let mut run = TestConnection::open();
        let closed = Segment {
            window: 0,
            ..plain(1000, 150, 0)
        };
        assert_eq!(
            run.of(4000, SERVER, 40, closed).flags,
            Analyzed::ZERO_WINDOW
        );
        assert_eq!(
            run.one(CLIENT, 500, 150, 1000, 1).flags,
            Analyzed::ZERO_WINDOW_PROBE
        );
        let answer = run.of(4000, SERVER, 501, closed).flags;
        assert_eq!(
            answer,
            Analyzed::ZERO_WINDOW | Analyzed::ZERO_WINDOW_PROBE_ACK
        );
        assert_eq!(
            run.one(SERVER, 600, 1000, 150, 0).flags,
            Analyzed::WINDOW_UPDATE
        );
        assert_eq!(
            run.one(CLIENT, 601, 150, 1000, 500).flags,
            Analyzed::WINDOW_FULL
        );
    }

    #[test]
    fn a_keep_alive_and_its_answer_are_no_retransmission_after_hours() {
        let mut run = TestConnection::open();
        run.one(SERVER, 50, 1000, 150, 0);
        assert_eq!(
            run.one(CLIENT, 10_000_000, 149, 1000, 1).flags,
            Analyzed::KEEP_ALIVE
        );
        assert_eq!(
            run.one(SERVER, 10_000_001, 1000, 150, 0).flags,
            Analyzed::KEEP_ALIVE_ACK
        );
    }

    #[test]
    fn an_acknowledgment_of_missing_data_is_reported_once() {
        let mut run = TestConnection::open();
        assert_eq!(
            run.one(SERVER, 50, 1000, 400, 0).flags,
            Analyzed::ACK_LOST_SEGMENT
        );
        assert_eq!(run.one(SERVER, 51, 1000, 500, 0).flags, 0);
        assert_eq!(
            run.one(CLIENT, 52, 500, 1000, 50).flags,
            Analyzed::LOST_SEGMENT
        );
    }

    #[test]
    fn a_new_syn_begins_the_connection_anew() {
        let mut run = TestConnection::open();
        let syn = Segment {
            flags: SYN,
            ..plain(77_777, 0, 0)
        };
        assert_eq!(run.of(4000, CLIENT, 900, syn).flags, Analyzed::REUSED_PORTS);
        assert_eq!(
            run.of(4000, CLIENT, 901, syn).flags,
            Analyzed::RETRANSMISSION
        );
    }

    #[test]
    fn connections_and_waiting_segments_stay_within_their_limits() {
        let mut run = TestConnection::new();
        run.analysis.waiting_max = 300;
        for port in 0..5_000_u16 {
            for at in 0..3 {
                run.of(port, CLIENT, i64::from(port), plain(at * 10 + 1, 1, 10));
            }
            let (connections, waiting) = run.analysis.held();
            assert!(
                connections <= 100 && waiting <= 300,
                "{connections} {waiting}"
            );
        }
        assert!(run.analysis.forgotten() >= 4_900);
        let mut run = TestConnection::new();
        for at in 0..10_010 {
            run.of(1, CLIENT, 1, plain(at * 10 + 1, 1, 10));
        }
        assert_eq!(run.analysis.held().1, DIRECTION_WAITING_MAX);
        assert_eq!(run.analysis.unnoted(), 10);
    }
}
