//! The TCP streams of a capture: packets in, bytes in order out.

mod chunk;
mod connection;
mod counters;
mod limits;

use std::collections::VecDeque;

use weir_dict::Dict;
use weir_packet::{Decoder, Layer, Packet};

pub use self::chunk::{Chunk, Content, Interest, StreamEnd};
use self::chunk::{ChunkOrigin, ChunkSink};
use self::connection::{Direction, FollowedConnection, NotedNumbers, earlier, other};
pub use self::counters::StreamCounters;
pub use self::limits::StreamLimits;
use crate::clock::Clock;
use crate::course::Turn;
use crate::flow::{Details, Flow};
use crate::fragment::{Defragmenter, FragmentCounters, FragmentLimits, Fragmented, frame_of};
use crate::key::{FlowKey, Sender};
use crate::segment::{ACK, RST, SYN, Segment};
use crate::sighting::Sighting;
use crate::stream::Reassembler;
use crate::tracker::payload;

/// Follows the TCP connections of a capture and gives out what each end sent, in order.
///
/// Fragments of IP are put together first. Of each packet only the outermost IP header counts.
///
/// ```no_run
/// use weir_flow::{Content, Interest, StreamLimits, Streams};
/// # fn packets() -> Vec<weir_packet::Packet<'static>> { Vec::new() }
///
/// let mut streams = Streams::new(StreamLimits::default());
/// for packet in packets() {
///     streams.packet(&packet, |chunk| match chunk.content {
///         // Not the protocol that is looked for: nothing more of it is kept.
///         Content::Bytes(bytes) if chunk.offset == 0 && !weir_flow::is_sip(bytes) => Interest::Ignore,
///         _ => Interest::Follow,
///     });
/// }
/// streams.finish(|chunk| {
///     println!("{} ends", chunk.connection);
///     Interest::Ignore
/// });
/// ```
#[derive(Debug)]
pub struct Streams {
    defragmenter: Defragmenter,
    /// Decodes packets that were put together.
    decoder: Decoder,
    table: StreamTable,
}

/// The connections.
#[derive(Debug)]
struct StreamTable {
    limits: StreamLimits,
    connections: Dict<FlowKey, Box<FollowedConnection>>,
    /// The details of the states of connections, as for flows.
    details: Details,
    /// Keys in the order in which they are looked at, with those that are gone.
    order: VecDeque<(FlowKey, u64)>,
    /// No connection is looked at before this time: the first of `order` was not silent for long enough, and none was removed since.
    looks_from_ns: i64,
    /// The numbers of segments without data of unknown connections, by direction: a connection that began before the capture begins
    /// with its first data.
    noted: Dict<FlowKey, [NotedNumbers; 2]>,
    /// The connections that both sides have closed, and the time. They are kept for a while, as copies of their last packets do not
    /// begin a new connection.
    closed: VecDeque<(FlowKey, u64, i64)>,
    held: usize,
    clock: Clock,
    /// The time that has passed; see [`Clock`].
    now_ns: i64,
    /// The highest time of a packet.
    time_ns: Option<i64>,
    next_number: u64,
    counters: StreamCounters,
}

/// The caller's facts about a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketOf {
    /// The number of its flow.
    pub(crate) flow: u64,
    /// The packet came from the originator of that flow; `None` where that is not known.
    pub(crate) from_originator: Option<bool>,
    /// That is the flow of the connection itself, and not of a tunnel that carries it: a connection ends where its flow
    /// does, so that both always are the same.
    pub(crate) is_own_flow: bool,
    /// The packet was reassembled from fragments, so that its time says nothing about that of other packets.
    pub(crate) is_late: bool,
    /// The scope of its key, as far as the packet itself does not show it; 0 without one.
    pub(crate) scope: u32,
}

/// The connection of a segment.
enum SegmentOwner {
    /// The known connection.
    Is,
    /// A new connection.
    None,
    /// An attempt beside this connection.
    Beside(Box<FollowedConnection>),
}

impl Streams {
    /// A state without connections, and with the default limits for fragments.
    #[must_use]
    pub fn new(limits: StreamLimits) -> Self {
        Self::with_fragments(limits, FragmentLimits::default())
    }

    /// A state without connections.
    #[must_use]
    pub fn with_fragments(limits: StreamLimits, fragments: FragmentLimits) -> Self {
        Self {
            defragmenter: Defragmenter::new(fragments),
            decoder: Decoder::default(),
            table: StreamTable {
                details: Details::new(limits.connections_max),
                limits,
                connections: Dict::new(),
                order: VecDeque::new(),
                looks_from_ns: i64::MIN,
                noted: Dict::new(),
                closed: VecDeque::new(),
                held: 0,
                clock: Clock::new(),
                now_ns: i64::MIN,
                time_ns: None,
                next_number: 1,
                counters: StreamCounters::default(),
            },
        }
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> (StreamCounters, FragmentCounters) {
        (self.table.counters, self.defragmenter.counters())
    }

    /// The number of connections, including ignored ones.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.connections.len()
    }

    /// True without connections.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that wait for something missing.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.table.held
    }

    /// Reads a packet, and reports the data that are in order now. Packets that are not TCP are ignored.
    pub fn packet(&mut self, packet: &Packet<'_>, each: impl FnMut(&Chunk<'_>) -> Interest) {
        self.packet_of(packet, 0, each);
    }

    /// Reads a packet like [`Self::packet`], with the caller's number of its flow: chunks have that of the first packet of their
    /// connection.
    pub fn packet_of(
        &mut self,
        packet: &Packet<'_>,
        flow: u64,
        each: impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        let of = PacketOf {
            flow,
            ..PacketOf::default()
        };
        self.packet_in(packet, None, of, each);
    }

    /// Reads a packet like [`Self::packet_of`], with the facts about it where they are known.
    pub(crate) fn packet_in(
        &mut self,
        packet: &Packet<'_>,
        sighting: Option<&Sighting>,
        of: PacketOf,
        each: impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        match self.defragmenter.packet(packet) {
            Fragmented::Whole | Fragmented::Cut => self.table.packet(packet, sighting, of, each),
            Fragmented::Waits => {}
            Fragmented::Complete { bytes, layer, .. } => {
                let frame = frame_of(packet, bytes);
                let packet = self.decoder.decode_as(frame, layer);
                self.table.packet(&packet, None, of, each);
            }
        }
    }

    /// Reports all waiting data and the end of each stream, in the order of the connections, at the end of the capture.
    pub fn finish(&mut self, each: impl FnMut(&Chunk<'_>) -> Interest) {
        self.table.finish(each);
    }
}

impl StreamTable {
    /// The facts about a packet, in the scope of its key.
    fn sighting(&self, packet: &Packet<'_>, scope: u32) -> Option<Sighting> {
        let mut sighting = Sighting::of_packet(packet, self.limits.scope)?;
        if scope != 0 {
            sighting.key = sighting.key.with_scope(scope);
        }
        Some(sighting)
    }

    fn packet(
        &mut self,
        packet: &Packet<'_>,
        known: Option<&Sighting>,
        of: PacketOf,
        mut each: impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        if packet.transport() != Some(Layer::Tcp) {
            return;
        }
        let Some(sighting) = known.copied().or_else(|| self.sighting(packet, of.scope)) else {
            return;
        };
        let Some(segment) = sighting.segment else {
            return;
        };
        let origin = ChunkOrigin {
            time_ns: sighting.time_ns,
            frame: packet.frame().number,
            flow: of.flow,
            from_originator: of.from_originator,
            is_own_flow: of.is_own_flow,
        };
        if let Some(time_ns) = sighting.time_ns.filter(|_| !of.is_late) {
            self.clock.see(time_ns);
            self.now_ns = self.clock.now_ns();
            self.time_ns = self.time_ns.max(Some(time_ns));
        }
        self.expire(origin, &mut each);
        let bytes = payload(packet).unwrap_or_default();
        self.segment(&sighting, &segment, bytes, origin, &mut each);
    }

    fn segment(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        bytes: &[u8],
        origin: ChunkOrigin,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        let key = sighting.key;
        let connection = match self.connections.get_mut(&key) {
            // Nearly every segment, which is looked up once.
            Some(known) if known.goes_on(sighting, segment, origin) => known,
            _ => {
                if !self.has_connection(sighting, segment, origin, each) {
                    return self.note_numbers(sighting, segment);
                }
                let Some(known) = self.connections.get_mut(&key) else {
                    return;
                };
                known
            }
        };
        let (details, counters) = (&mut self.details, &mut self.counters);
        let (held, limits, now_ns) = (&mut self.held, &self.limits, self.now_ns);
        connection.silence_ns = now_ns.saturating_sub(connection.last_ns);
        connection.last_ns = now_ns;
        connection.note_originator(sighting.sender, &origin);
        let behind_reset = connection.behind_reset(sighting.sender, segment);
        counters.behind_reset_bytes = counters.behind_reset_bytes.saturating_add(behind_reset);
        let is_reset = connection.follow(sighting, segment, details, now_ns);
        if connection.ignored {
            return;
        }
        counters.segments += u64::from(segment.len > 0);
        let before = connection.held();
        let is_to_be_begun = connection.take_in(sighting.sender, segment, bytes);
        let mut out = ChunkSink {
            key: &key,
            connection: connection.number,
            flow: connection.flow,
            originator: connection.originator,
            saw_start: connection.saw_start,
            origin,
            counters,
            interest: Interest::Follow,
            is_last: false,
            each,
        };
        if is_to_be_begun {
            connection.begin_streams(details, &mut out);
        }
        let others = held.saturating_sub(before);
        if connection.is_outlier(sighting.sender, segment, details) {
            let room = limits.bytes_max.saturating_sub(*held);
            let room = room.min(limits.direction_bytes_max);
            connection.keep_outlier(sighting.sender, segment, bytes, room, &mut out);
        } else {
            connection.place_outliers(details, limits, now_ns, &mut out);
            connection.deliver(sighting.sender, segment, bytes, limits, now_ns, &mut out);
        }
        connection.keep_to_limits(sighting.sender, limits, others, &mut out);
        connection.end_directions(is_reset, &mut out);
        if is_reset {
            connection.note_reset();
        }
        if out.interest == Interest::Ignore {
            connection.ignore();
        }
        *held = others + connection.held();
        counters.held_peak = counters.held_peak.max(*held as u64);
        if connection.is_over() && !connection.is_queued_as_closed {
            connection.is_queued_as_closed = true;
            let number = connection.number;
            self.closed.push_back((key, number, now_ns));
        }
    }

    /// Whether a segment is of a connection that is known, or begins one.
    fn has_connection(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        origin: ChunkOrigin,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) -> bool {
        let older = match self.known(sighting, segment, origin, each) {
            SegmentOwner::Is => return true,
            // A segment without SYN and data does not begin a connection.
            SegmentOwner::None if segment.flags & SYN == 0 && segment.len == 0 => return false,
            SegmentOwner::None => None,
            SegmentOwner::Beside(older) => Some(older),
        };
        self.begin(sighting, older, origin, segment, each);
        true
    }

    /// Stores the numbers of a segment without data of an unknown connection.
    #[cold]
    fn note_numbers(&mut self, sighting: &Sighting, segment: &Segment) {
        if segment.flags & (ACK | RST) != ACK {
            return;
        }
        let known = match self.noted.get_mut(&sighting.key) {
            Some(known) => known,
            None => {
                if self.noted.len() >= NOTED_MAX {
                    self.noted = Dict::new();
                }
                let none = [NotedNumbers::default(); 2];
                self.noted.insert(sighting.key, none);
                let Some(known) = self.noted.get_mut(&sighting.key) else {
                    return;
                };
                known
            }
        };
        let [of_low, of_high] = known;
        // The acknowledgment number is about the data of the other side.
        let (own, peer) = match sighting.sender {
            Sender::Low => (of_low, of_high),
            Sender::High => (of_high, of_low),
        };
        peer.acknowledged = Some(earlier(peer.acknowledged, segment.ack));
        if segment.span() == 0 {
            own.sent = Some(earlier(own.sent, segment.seq));
        }
    }

    /// The connection that a segment belongs to. Ends those that are over before it.
    fn known(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        origin: ChunkOrigin,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) -> SegmentOwner {
        let key = &sighting.key;
        loop {
            let Some(known) = self.connections.get_mut(key) else {
                return SegmentOwner::None;
            };
            match known.turn(sighting.sender, segment) {
                Turn::GoesOn if known.is_of_another_flow(sighting, segment, origin) => {
                    self.forget(key, StreamEnd::Forgotten, origin, each);
                    return SegmentOwner::None;
                }
                Turn::GoesOn => return SegmentOwner::Is,
                Turn::Begins => {
                    self.forget(key, StreamEnd::Forgotten, origin, each);
                    return SegmentOwner::None;
                }
                Turn::Attempts => {
                    if let Some(older) = known.older.take() {
                        self.forget(key, StreamEnd::Forgotten, origin, each);
                        return SegmentOwner::Beside(older);
                    }
                    let known = self.remove(key);
                    return known.map_or(SegmentOwner::None, SegmentOwner::Beside);
                }
                Turn::Proves => {
                    if let Some(older) = known.older.take() {
                        self.end_connection(key, older, StreamEnd::Forgotten, origin, each);
                    }
                    return SegmentOwner::Is;
                }
                Turn::Returns => {
                    let older = known.older.take();
                    self.forget(key, StreamEnd::Forgotten, origin, each);
                    if let Some(older) = older {
                        self.order.push_back((*key, older.number));
                        self.connections.insert(*key, older);
                    }
                }
            }
        }
    }

    fn begin(
        &mut self,
        sighting: &Sighting,
        older: Option<Box<FollowedConnection>>,
        origin: ChunkOrigin,
        segment: &Segment,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        let (key, sender) = (sighting.key, sighting.sender);
        while self.connections.len() >= self.limits.connections_max.max(1) {
            if self.forget_closed(i64::MAX) {
                continue;
            }
            let Some((oldest, number)) = self.order.pop_front() else {
                break;
            };
            let is_there = self.connections.get(&oldest).map(|one| one.number) == Some(number);
            if is_there {
                self.counters.evicted += 1;
                self.forget(&oldest, StreamEnd::Forgotten, origin, each);
            }
        }
        if self.order.len() > 2 * self.connections.len() + 64 {
            let connections = &self.connections;
            self.order.retain(|(key, number)| {
                connections.get(key).map(|one| one.number) == Some(*number)
            });
        }
        let number = self.next_number;
        self.next_number += 1;
        self.counters.connections += 1;
        self.order.push_back((key, number));
        // A SYN with ACK answers the side that began.
        let is_answer = segment.flags & (SYN | ACK) == SYN | ACK;
        let noted = match self.noted.is_empty() {
            true => None,
            false => self.noted.remove(&key),
        };
        // Those before a SYN are of another connection.
        let noted = noted.filter(|_| segment.flags & SYN == 0);
        let [of_low, of_high] = noted.unwrap_or_default();
        let direction = |noted| Direction {
            stream: Reassembler::new(self.limits.overlap),
            ended: false,
            noted,
            missing: None,
            far_end: None,
            padded_end: None,
            outlier: None,
            begins_late: false,
        };
        self.connections.insert(
            key,
            Box::new(FollowedConnection {
                number,
                flow: origin.flow,
                originator: if is_answer { other(sender) } else { sender },
                last_ns: self.now_ns,
                silence_ns: 0,
                queued_ns: self.now_ns,
                ignored: false,
                is_queued_as_closed: false,
                track: Flow::begun_by(sighting, self.now_ns, &mut self.details),
                older,
                saw_start: false,
                reset_at: None,
                directions: [direction(of_low), direction(of_high)],
            }),
        );
    }

    /// Removes connections that were silent for too long, of the few that each call examines.
    fn expire(&mut self, origin: ChunkOrigin, each: &mut impl FnMut(&Chunk<'_>) -> Interest) {
        while self.forget_closed(self.now_ns.saturating_sub(CLOSED_NS)) {}
        if self.now_ns < self.looks_from_ns {
            return;
        }
        let idle_ns = i64::try_from(self.limits.idle_ns).unwrap_or(i64::MAX);
        for _ in 0..LOOKS {
            let Some((key, number)) = self.order.front().copied() else {
                return;
            };
            let connection = self.connections.get_mut(&key);
            match connection.filter(|one| one.number == number) {
                Some(one) if one.queued_ns.saturating_add(idle_ns) > self.now_ns => {
                    self.looks_from_ns = one.queued_ns.saturating_add(idle_ns);
                    return;
                }
                Some(one) if one.last_ns.saturating_add(idle_ns) > self.now_ns => {
                    // Not before its last packet, so that the queue stays in order.
                    one.queued_ns = self.now_ns;
                    self.order.push_back((key, number));
                }
                Some(_) => self.forget(&key, StreamEnd::Forgotten, origin, each),
                None => {}
            }
            self.order.pop_front();
        }
    }

    /// Removes the connection that closed first, if it did by `until_ns`.
    fn forget_closed(&mut self, until_ns: i64) -> bool {
        let closed = self
            .closed
            .pop_front_if(|(_, _, since_ns)| *since_ns <= until_ns);
        let Some((key, number, _)) = closed else {
            return false;
        };
        if self
            .connections
            .get(&key)
            .is_some_and(|one| one.number == number)
            && let Some(connection) = self.remove(&key)
        {
            self.held = self.held.saturating_sub(connection.held_by_both());
            self.details.remove(connection.track.detail);
        }
        true
    }

    /// Removes a connection, which may be the first of those that are looked at.
    fn remove(&mut self, key: &FlowKey) -> Option<Box<FollowedConnection>> {
        self.looks_from_ns = i64::MIN;
        self.connections.remove(key)
    }

    /// Reports the waiting data of a connection, and its end.
    fn forget(
        &mut self,
        key: &FlowKey,
        end: StreamEnd,
        origin: ChunkOrigin,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        if let Some(connection) = self.remove(key) {
            self.end_connection(key, connection, end, origin, each);
        }
    }

    /// Reports the waiting data of a connection that was removed, and its end, after those of the older connection.
    fn end_connection(
        &mut self,
        key: &FlowKey,
        mut connection: Box<FollowedConnection>,
        end: StreamEnd,
        origin: ChunkOrigin,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        self.held = self.held.saturating_sub(connection.held_by_both());
        let older = connection.older.take();
        for mut connection in older.into_iter().chain([connection]) {
            self.details.remove(connection.track.detail);
            if connection.ignored {
                continue;
            }
            let mut out = ChunkSink {
                key,
                connection: connection.number,
                flow: connection.flow,
                originator: connection.originator,
                saw_start: connection.saw_start,
                origin,
                counters: &mut self.counters,
                interest: Interest::Follow,
                is_last: false,
                each,
            };
            connection.end_both(end, &mut out);
        }
    }

    fn finish(&mut self, mut each: impl FnMut(&Chunk<'_>) -> Interest) {
        let mut keys: Vec<(u64, FlowKey)> = self
            .connections
            .iter()
            .map(|(key, connection)| (connection.number, *key))
            .collect();
        keys.sort_unstable_by_key(|(number, _)| *number);
        let origin = ChunkOrigin {
            time_ns: self.time_ns,
            frame: 0,
            flow: 0,
            from_originator: None,
            is_own_flow: false,
        };
        for (_, key) in keys {
            self.forget(&key, StreamEnd::CaptureEnd, origin, &mut each);
        }
    }
}

/// The time for which a closed connection is remembered, in which copies of its last segments may arrive (RFC 9293, 3.4.2, has
/// twice the maximum segment lifetime; common systems wait for one minute).
const CLOSED_NS: i64 = 60_000_000_000;

/// Connections that are not known of which the numbers are kept, at most.
const NOTED_MAX: usize = 1 << 12;

/// Connections that one packet looks at, at most, to see whether they were silent for too long.
const LOOKS: usize = 4;
