//! The TCP streams of a capture: packets in, bytes in order out.

use std::collections::VecDeque;

use weir_dict::Dict;
use weir_packet::{Decoder, Layer, Packet};

use crate::clock::Clock;
use crate::course::{self, Turn};
use crate::flow::{Details, Flow, Side};
use crate::fragment::{
    Defragmenter, FragmentCounters, FragmentLimits, Fragmented, Overlap, frame_of,
};
use crate::key::{Endpoint, FlowKey, Scope, Sender};
use crate::sighting::Sighting;
use crate::slab::NONE;
use crate::stream::{Carrier, Part, Reassembler};
use crate::tcp::{self, ACK, FIN, RST, SYN, Segment, beyond};
use crate::tracker::payload;

/// Limits of [`Streams`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamLimits {
    /// The parts of a key besides addresses and ports.
    pub scope: Scope,
    /// The policy for overlapping segments; the first bytes win by default.
    pub overlap: Overlap,
    /// The maximum number of concurrent connections; 65,536 by default. Beyond it the one that is idle for longest, as far as is
    /// known, is forgotten.
    pub connections_max: usize,
    /// Most bytes of memory that wait in one direction of a connection; 1 MiB by default. What is
    /// missing is given up when there are more.
    pub direction_bytes_max: usize,
    /// Most bytes of memory that wait in all; 256 MiB by default. The connection that would need
    /// more gives up what it misses.
    pub bytes_max: usize,
    /// The time for which acknowledged bytes that were not captured are waited for, in nanoseconds; 1 second by default, as
    /// captures may have packets in another order than the network. Later data of the receiver wait meanwhile, so that a response
    /// follows its request.
    pub patience_ns: u64,
    /// The idle timeout of connections; 5 minutes by default.
    pub idle_ns: u64,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            scope: Scope::Addresses,
            overlap: Overlap::First,
            connections_max: 1 << 16,
            direction_bytes_max: 1 << 20,
            bytes_max: 256 << 20,
            patience_ns: 1_000_000_000,
            idle_ns: 300_000_000_000,
        }
    }
}

/// The counters of [`Streams`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamCounters {
    /// Segments with data taken in.
    pub segments: u64,
    /// Connections begun.
    pub connections: u64,
    /// Bytes given out.
    pub bytes: u64,
    /// Bytes missing in what was given out.
    pub missing_bytes: u64,
    /// Connections forgotten because there were too many.
    pub evicted: u64,
    /// Times that something missing was given up because too much waited for it.
    pub overflows: u64,
    /// Most bytes of memory that waited at one time.
    pub held_peak: u64,
}

/// A piece of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Number of the connection in the order of the first packets, from 1.
    pub connection: u64,
    /// The number that [`Streams::packet_of`] got with the connection's first packet; 0 of [`Streams::packet`].
    pub flow: u64,
    /// The endpoints and the protocol.
    pub key: &'a FlowKey,
    /// The side that sent it.
    pub sender: Sender,
    /// The sender began the connection, as far as is known: it sent the SYN, or the first packet.
    pub from_originator: bool,
    /// Time of the packet that carried it, in nanoseconds since 1970: of a gap the packet behind it, of an end the packet
    /// that ended the stream.
    pub time_ns: Option<i64>,
    /// Number of that packet's frame; 0 where the capture's end ended the stream.
    pub frame: u64,
    /// Bytes of the other direction that the sender had acknowledged in that packet. `None` where that is not known.
    pub acknowledged: Option<u64>,
    /// The offset in the stream, including gaps.
    pub offset: u64,
    /// A SYN of the connection was seen: at offset 0 are the first bytes of the direction.
    pub saw_start: bool,
    /// Nothing more comes of the connection, in either direction.
    pub is_last: bool,
    /// The content.
    pub content: Content<'a>,
}

/// The content of a [`Chunk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Bytes, borrowed from the packet wherever they are contiguous.
    Bytes(&'a [u8]),
    /// A number of bytes that were not captured.
    Gap(u64),
    /// Nothing more comes in this direction.
    End(StreamEnd),
}

/// Why a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StreamEnd {
    /// The stream ended by a FIN.
    Finished,
    /// The connection ended by a RST of either side.
    Reset,
    /// The idle timeout has passed, the table was full, or a new connection uses the same ports.
    Forgotten,
    /// The capture ended.
    CaptureEnd,
}

/// Whether a connection is worth following.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Go on.
    Follow,
    /// Nothing more of it is wanted, in either direction: it costs a look-up a packet from now on.
    Ignore,
}

impl Chunk<'_> {
    /// The end that sent it.
    #[must_use]
    pub fn source(&self) -> Endpoint {
        self.key.ends(self.sender).0
    }

    /// The end that received it.
    #[must_use]
    pub fn destination(&self) -> Endpoint {
        self.key.ends(self.sender).1
    }
}

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
    /// The acknowledgment numbers of segments without data of unknown connections, by direction: a connection that began before the
    /// capture begins with its first data.
    acknowledged: Dict<FlowKey, [Option<u32>; 2]>,
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

#[derive(Debug)]
struct FollowedConnection {
    number: u64,
    flow: u64,
    originator: Sender,
    last_ns: i64,
    /// Queued when it was last looked at.
    queued_ns: i64,
    ignored: bool,
    is_queued_as_closed: bool,
    /// The state of the connection, followed as the flow table does.
    track: Flow,
    /// A connection of the same ends that may live yet, where this is an attempt to open another one.
    older: Option<Box<FollowedConnection>>,
    /// A SYN of either end was seen.
    saw_start: bool,
    directions: [Direction; 2],
}

#[derive(Debug)]
struct Direction {
    stream: Reassembler,
    ended: bool,
    /// The acknowledgment number of the receiver before any segment of the direction.
    acknowledged: Option<u32>,
    /// The bytes that are acknowledged and missing.
    missing: Option<Missing>,
}

/// Something that the receiver acknowledged and that was not seen, in front of what was seen.
#[derive(Clone, Copy, Debug)]
struct Missing {
    since_ns: i64,
    /// The highest number that was acknowledged.
    ack: u32,
}

/// The caller's facts about a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketOf {
    /// The number of its flow.
    pub(crate) flow: u64,
    /// That is the flow of the connection itself, and not of a tunnel that carries it: a connection ends where its flow
    /// does, so that both always are the same.
    pub(crate) is_own_flow: bool,
    /// The packet was reassembled from fragments, so that its time says nothing about that of other packets.
    pub(crate) is_late: bool,
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

/// The fields of a chunk besides its content.
#[derive(Clone, Copy)]
struct Occasion {
    time_ns: Option<i64>,
    frame: u64,
    /// The flow of the packet, which becomes that of connections that begin with it.
    flow: u64,
    /// That number is one of a flow of the connection itself: another one is another connection.
    is_own_flow: bool,
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
                acknowledged: Dict::new(),
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
        self.packet_in(packet, of, each);
    }

    /// Reads a packet like [`Self::packet_of`].
    pub(crate) fn packet_in(
        &mut self,
        packet: &Packet<'_>,
        of: PacketOf,
        each: impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        match self.defragmenter.packet(packet) {
            Fragmented::Whole | Fragmented::Cut => self.table.packet(packet, of, each),
            Fragmented::Waits => {}
            Fragmented::Complete { bytes, layer, .. } => {
                let frame = frame_of(packet, bytes);
                let packet = self.decoder.decode_as(frame, layer);
                self.table.packet(&packet, of, each);
            }
        }
    }

    /// Reports all waiting data and the end of each stream, in the order of the connections, at the end of the capture.
    pub fn finish(&mut self, each: impl FnMut(&Chunk<'_>) -> Interest) {
        self.table.finish(each);
    }
}

impl StreamTable {
    fn packet(
        &mut self,
        packet: &Packet<'_>,
        of: PacketOf,
        mut each: impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        if packet.transport() != Some(Layer::Tcp) {
            return;
        }
        let Some(sighting) = Sighting::of_packet(packet, self.limits.scope) else {
            return;
        };
        let Some(segment) = sighting.segment else {
            return;
        };
        let occasion = Occasion {
            time_ns: sighting.time_ns,
            frame: packet.frame().number,
            flow: of.flow,
            is_own_flow: of.is_own_flow,
        };
        if let Some(time_ns) = sighting.time_ns.filter(|_| !of.is_late) {
            self.clock.see(time_ns);
            self.now_ns = self.clock.now_ns();
            self.time_ns = self.time_ns.max(Some(time_ns));
        }
        self.expire(occasion, &mut each);
        let bytes = payload(packet).unwrap_or_default();
        self.segment(&sighting, &segment, bytes, occasion, &mut each);
    }

    fn segment(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        bytes: &[u8],
        occasion: Occasion,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        let key = sighting.key;
        let older = match self.known(sighting, segment, occasion, each) {
            SegmentOwner::Is => None,
            // A segment without SYN and data does not begin a connection.
            SegmentOwner::None if segment.flags & SYN == 0 && segment.len == 0 => {
                return self.note_acknowledged(sighting, segment);
            }
            SegmentOwner::None => Some(None),
            SegmentOwner::Beside(older) => Some(Some(older)),
        };
        if let Some(older) = older {
            self.begin(sighting, older, occasion, segment, each);
        }
        let Self {
            connections,
            details,
            counters,
            held,
            limits,
            now_ns,
            ..
        } = self;
        let Some(connection) = connections.get_mut(&key) else {
            return;
        };
        connection.last_ns = *now_ns;
        let is_reset = connection.follow(sighting, segment, details, *now_ns);
        if connection.ignored {
            return;
        }
        counters.segments += u64::from(segment.len > 0);
        let before = connection.held();
        let is_to_be_begun = connection.take_in(sighting.sender, segment, bytes);
        let mut out = Out {
            key: &key,
            connection: connection.number,
            flow: connection.flow,
            originator: connection.originator,
            saw_start: connection.saw_start,
            occasion,
            counters,
            interest: Interest::Follow,
            is_last: false,
            each,
        };
        if is_to_be_begun {
            connection.begin_streams(details, &mut out);
        }
        connection.deliver(sighting.sender, segment, bytes, limits, *now_ns, &mut out);
        let others = held.saturating_sub(before);
        connection.keep_to_limits(sighting.sender, limits, others, &mut out);
        connection.end_directions(is_reset, &mut out);
        if out.interest == Interest::Ignore {
            connection.ignore();
        }
        *held = others + connection.held();
        counters.held_peak = counters.held_peak.max(*held as u64);
        if connection.is_over() && !connection.is_queued_as_closed {
            connection.is_queued_as_closed = true;
            let number = connection.number;
            self.closed.push_back((key, number, self.now_ns));
        }
    }

    /// Stores the acknowledgment number of a segment without data of an unknown connection.
    #[cold]
    fn note_acknowledged(&mut self, sighting: &Sighting, segment: &Segment) {
        if segment.flags & (ACK | RST) != ACK {
            return;
        }
        let known = match self.acknowledged.get_mut(&sighting.key) {
            Some(known) => known,
            None => {
                if self.acknowledged.len() >= ACKNOWLEDGED_MAX {
                    self.acknowledged = Dict::new();
                }
                self.acknowledged.insert(sighting.key, [None; 2]);
                let Some(known) = self.acknowledged.get_mut(&sighting.key) else {
                    return;
                };
                known
            }
        };
        let [of_low, of_high] = known;
        // The acknowledgment number is about the data of the other side.
        let place = match sighting.sender {
            Sender::Low => of_high,
            Sender::High => of_low,
        };
        *place = Some(earlier(*place, segment.ack));
    }

    /// The connection that a segment belongs to. Ends those that are over before it.
    fn known(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        occasion: Occasion,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) -> SegmentOwner {
        let key = &sighting.key;
        loop {
            let Some(known) = self.connections.get_mut(key) else {
                return SegmentOwner::None;
            };
            let older = known.older.as_deref().map(|older| &older.track);
            match course::turn(&known.track, older, sighting.sender, segment) {
                Turn::GoesOn if known.is_of_another_flow(sighting, segment, occasion) => {
                    self.forget(key, StreamEnd::Forgotten, occasion, each);
                    return SegmentOwner::None;
                }
                Turn::GoesOn => return SegmentOwner::Is,
                Turn::Begins => {
                    self.forget(key, StreamEnd::Forgotten, occasion, each);
                    return SegmentOwner::None;
                }
                Turn::Attempts => {
                    if let Some(older) = known.older.take() {
                        self.forget(key, StreamEnd::Forgotten, occasion, each);
                        return SegmentOwner::Beside(older);
                    }
                    let known = self.connections.remove(key);
                    return known.map_or(SegmentOwner::None, SegmentOwner::Beside);
                }
                Turn::Proves => {
                    if let Some(older) = known.older.take() {
                        self.end_connection(key, older, StreamEnd::Forgotten, occasion, each);
                    }
                    return SegmentOwner::Is;
                }
                Turn::Returns => {
                    let older = known.older.take();
                    self.forget(key, StreamEnd::Forgotten, occasion, each);
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
        occasion: Occasion,
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
                self.forget(&oldest, StreamEnd::Forgotten, occasion, each);
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
        let acknowledged = match self.acknowledged.is_empty() {
            true => None,
            false => self.acknowledged.remove(&key),
        };
        let [of_low, of_high] = acknowledged.unwrap_or_default();
        let direction = |acknowledged| Direction {
            stream: Reassembler::new(self.limits.overlap),
            ended: false,
            acknowledged,
            missing: None,
        };
        self.connections.insert(
            key,
            Box::new(FollowedConnection {
                number,
                flow: occasion.flow,
                originator: if is_answer { other(sender) } else { sender },
                last_ns: self.now_ns,
                queued_ns: self.now_ns,
                ignored: false,
                is_queued_as_closed: false,
                track: Flow::begun_by(sighting, self.now_ns, &mut self.details),
                older,
                saw_start: false,
                directions: [direction(of_low), direction(of_high)],
            }),
        );
    }

    /// Forgets connections that were silent for too long. Looks at a few.
    fn expire(&mut self, occasion: Occasion, each: &mut impl FnMut(&Chunk<'_>) -> Interest) {
        while self.forget_closed(self.now_ns.saturating_sub(CLOSED_NS)) {}
        let idle_ns = i64::try_from(self.limits.idle_ns).unwrap_or(i64::MAX);
        for _ in 0..LOOKS {
            let Some((key, number)) = self.order.front().copied() else {
                return;
            };
            let connection = self.connections.get_mut(&key);
            match connection.filter(|one| one.number == number) {
                Some(one) if one.queued_ns.saturating_add(idle_ns) > self.now_ns => return,
                Some(one) if one.last_ns.saturating_add(idle_ns) > self.now_ns => {
                    // Not before its last packet, so that the queue stays in order.
                    one.queued_ns = self.now_ns;
                    self.order.push_back((key, number));
                }
                Some(_) => self.forget(&key, StreamEnd::Forgotten, occasion, each),
                None => {}
            }
            self.order.pop_front();
        }
    }

    /// Forgets the connection that closed first, if it did by `until_ns`.
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
            && let Some(connection) = self.connections.remove(&key)
        {
            self.held = self.held.saturating_sub(connection.held_by_both());
            self.details.remove(connection.track.detail);
        }
        true
    }

    /// Reports the waiting data of a connection, and its end.
    fn forget(
        &mut self,
        key: &FlowKey,
        end: StreamEnd,
        occasion: Occasion,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        if let Some(connection) = self.connections.remove(key) {
            self.end_connection(key, connection, end, occasion, each);
        }
    }

    /// Reports the waiting data of a connection that was removed, and its end, after those of the older connection.
    fn end_connection(
        &mut self,
        key: &FlowKey,
        mut connection: Box<FollowedConnection>,
        end: StreamEnd,
        occasion: Occasion,
        each: &mut impl FnMut(&Chunk<'_>) -> Interest,
    ) {
        self.held = self.held.saturating_sub(connection.held_by_both());
        let older = connection.older.take();
        for mut connection in older.into_iter().chain([connection]) {
            self.details.remove(connection.track.detail);
            if connection.ignored {
                continue;
            }
            let mut out = Out {
                key,
                connection: connection.number,
                flow: connection.flow,
                originator: connection.originator,
                saw_start: connection.saw_start,
                occasion,
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
        let occasion = Occasion {
            time_ns: self.time_ns,
            frame: 0,
            flow: 0,
            is_own_flow: false,
        };
        for (_, key) in keys {
            self.forget(&key, StreamEnd::CaptureEnd, occasion, &mut each);
        }
    }
}

impl FollowedConnection {
    fn direction_mut(&mut self, sender: Sender) -> &mut Direction {
        &mut self.directions[usize::from(sender == Sender::High)]
    }

    fn held(&self) -> usize {
        self.directions.iter().map(|one| one.stream.held()).sum()
    }

    fn is_over(&self) -> bool {
        self.directions.iter().all(|one| one.ended)
    }

    /// The memory of this connection and of the one beside it.
    fn held_by_both(&self) -> usize {
        let older = self.older.as_deref();
        self.held().saturating_add(older.map_or(0, Self::held))
    }

    /// Whether the flow table has begun another flow with a segment, after a silence or an attempt that was not answered in time.
    /// Copies of segments of a closed connection do not begin one here.
    fn is_of_another_flow(
        &self,
        sighting: &Sighting,
        segment: &Segment,
        occasion: Occasion,
    ) -> bool {
        if !occasion.is_own_flow || occasion.flow == self.flow {
            return false;
        }
        let end = &self.track.sides[self.track.side_of(sighting.sender)];
        let is_new = segment.len > 0 && beyond(segment.seq.wrapping_add(segment.len), end.last) > 0;
        is_new || !self.track.is(Flow::CLOSED)
    }

    /// Updates the state of the connection by a segment. True for a reset that ends it.
    fn follow(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        details: &mut Details,
        now_ns: i64,
    ) -> bool {
        let flow = &mut self.track;
        let side = flow.side_of(sighting.sender);
        if flow.go_on(side, segment, now_ns) {
            return false;
        }
        flow.sides[side].flags |= Side::SEEN;
        let counts = tcp::Connection { flow, details }.segment(side, segment, now_ns);
        counts && segment.flags & RST != 0
    }

    /// Begins the streams at the numbers of the handshake, unless data were reported already.
    #[cold]
    fn begin_streams<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        details: &mut Details,
        out: &mut Out<'_, F>,
    ) {
        for sender in [Sender::Low, Sender::High] {
            let flow = &mut self.track;
            let side = flow.side_of(sender);
            let first = tcp::Connection { flow, details }.first_number(side);
            if let Some(first) = first {
                let stream = &mut self.direction_mut(sender).stream;
                stream.restart(first, |offset, part, carrier| {
                    out.part(sender, offset, part, carrier);
                });
            }
        }
    }

    fn ignore(&mut self) {
        self.ignored = true;
        for direction in &mut self.directions {
            direction.stream = Reassembler::new(Overlap::First);
        }
    }

    /// Notes where the streams begin. True when the handshake may say it otherwise than what was known.
    fn take_in(&mut self, sender: Sender, segment: &Segment, bytes: &[u8]) -> bool {
        // A reset begins nothing, whatever other flags it has.
        if segment.flags & (SYN | RST) != SYN {
            return self.track.detail != NONE;
        }
        self.saw_start = true;
        let first = segment.seq.wrapping_add(1);
        self.direction_mut(sender).stream.begin(first);
        if segment.flags & ACK != 0 && bytes.is_empty() {
            // The segment answers a SYN that was not captured, or that follows in the capture.
            self.direction_mut(other(sender)).stream.begin(segment.ack);
        }
        true
    }

    /// Hands on what a segment makes ready in its own direction, and what its acknowledgment gives up
    /// in the other one.
    fn deliver<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        sender: Sender,
        segment: &Segment,
        bytes: &[u8],
        limits: &StreamLimits,
        now_ns: i64,
        out: &mut Out<'_, F>,
    ) {
        let is_reset = segment.flags & RST != 0;
        let acknowledged = if segment.flags & ACK != 0 && !is_reset {
            self.acknowledge(sender, segment.ack, limits, now_ns, out)
        } else {
            None
        };
        let first = segment.seq.wrapping_add((segment.flags & SYN != 0).into());
        let direction = self.direction_mut(sender);
        let is_late = |missing: Missing| missing.is_late(limits, now_ns);
        if direction.missing.is_some_and(is_late)
            && direction.stream.offset_of(first) > Some(direction.stream.offset())
        {
            self.skip_hole(sender, out);
            self.hold_back(out);
        }
        let direction = self.direction_mut(sender);
        let has_missing = direction.missing.is_some();
        if has_missing {
            direction.stream.hold_back(true);
        }
        if segment.len > 0 && !is_reset && !direction.ended {
            if let Some(ack) = direction.acknowledged.take() {
                direction.stream.begin_behind(ack, first);
            }
            let carrier = Carrier {
                acknowledged,
                ..out.occasion.carrier()
            };
            let each = |offset, part: Part<'_>, carrier| out.part(sender, offset, part, carrier);
            direction
                .stream
                .data(first, bytes, segment.len, carrier, each);
        }
        if segment.flags & FIN != 0 {
            direction.stream.finish(first.wrapping_add(segment.len));
        }
        if has_missing {
            direction.look_again();
            self.hold_back(out);
        }
    }

    /// Reads the acknowledgment of the other direction, and gives up bytes that are missing there for too long. Returns the
    /// number of acknowledged bytes of that direction, if it is known.
    #[inline]
    fn acknowledge<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        sender: Sender,
        ack: u32,
        limits: &StreamLimits,
        now_ns: i64,
        out: &mut Out<'_, F>,
    ) -> Option<u64> {
        let sender = other(sender);
        let direction = self.direction_mut(sender);
        if !direction.stream.began() {
            direction.acknowledged = Some(earlier(direction.acknowledged, ack));
            return None;
        }
        let acknowledged = direction.stream.offset_of(ack);
        if direction.stream.has_hole() && !direction.stream.is_before(ack) {
            let missing = direction.missing.get_or_insert(Missing {
                since_ns: now_ns,
                ack,
            });
            if beyond(ack, missing.ack) > 0 {
                missing.ack = ack;
            }
            if missing.is_late(limits, now_ns) {
                self.skip_hole(sender, out);
            }
            self.hold_back(out);
        } else if direction.missing.take().is_some() {
            self.hold_back(out);
        }
        acknowledged.filter(|_| self.direction_mut(sender).stream.is_start_known())
    }

    /// Gives up the bytes that are missing before the first waiting piece of a direction, and reports that piece. False when no
    /// piece waits.
    fn skip_hole<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        sender: Sender,
        out: &mut Out<'_, F>,
    ) -> bool {
        let direction = self.direction_mut(sender);
        direction.missing = None;
        direction
            .stream
            .give_first(|offset, part, carrier| out.part(sender, offset, part, carrier))
    }

    /// Lets each direction wait for what is missing of the other one, as what it sends may answer that; gives out what
    /// waits no longer.
    fn hold_back<F: FnMut(&Chunk<'_>) -> Interest>(&mut self, out: &mut Out<'_, F>) {
        for sender in [Sender::Low, Sender::High] {
            let waits = self.direction_mut(other(sender)).missing.is_some();
            self.direction_mut(sender).stream.hold_back(waits);
        }
        let is_next = |stream: &Reassembler| !stream.is_held_back() && !stream.has_hole();
        while let Some(sender) = self.next_of_both(is_next) {
            let stream = &mut self.direction_mut(sender).stream;
            stream.give_first(|offset, part, carrier| out.part(sender, offset, part, carrier));
        }
    }

    /// The direction with what comes next, of those that something waits in and that `is_next` lets through: what had all
    /// that it acknowledges before it, else what was captured first.
    fn next_of_both(&self, is_next: impl Fn(&Reassembler) -> bool) -> Option<Sender> {
        let [low, high] = &self.directions;
        let both = [
            (Sender::Low, &low.stream, &high.stream),
            (Sender::High, &high.stream, &low.stream),
        ];
        let waiting = both.into_iter().filter_map(|(sender, own, other)| {
            let carrier = own.waits().filter(|_| is_next(own))?;
            let had_all = carrier.acknowledged <= Some(other.offset());
            Some((!had_all, carrier.frame, sender))
        });
        let first = waiting.min_by_key(|(lacks_some, frame, _)| (*lacks_some, *frame));
        first.map(|(.., sender)| sender)
    }

    /// Gives up missing bytes while the waiting pieces exceed their limit; other connections hold `others` bytes.
    fn keep_to_limits<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        sender: Sender,
        limits: &StreamLimits,
        others: usize,
        out: &mut Out<'_, F>,
    ) {
        let (bytes_max, direction_max) = (limits.bytes_max, limits.direction_bytes_max);
        loop {
            let stream = &self.direction_mut(sender).stream;
            let (held, has_hole) = (stream.held(), stream.has_hole());
            if held <= direction_max && held.saturating_add(others) <= bytes_max {
                return;
            }
            // A direction without a gap waits for the other one.
            let late = if has_hole { sender } else { other(sender) };
            let was_waiting = self.skip_hole(late, out);
            self.hold_back(out);
            if !was_waiting {
                return;
            }
            out.counters.overflows += 1;
        }
    }

    /// Ends the directions that a FIN or RST ends.
    fn end_directions<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        is_reset: bool,
        out: &mut Out<'_, F>,
    ) {
        if is_reset {
            self.end_both(StreamEnd::Reset, out);
            return;
        }
        for sender in [Sender::Low, Sender::High] {
            if self.direction_mut(sender).stream.is_over() {
                self.end(sender, StreamEnd::Finished, out);
            }
        }
    }

    /// Reports the waiting data of both directions, in the order of capture, and their ends.
    fn end_both<F: FnMut(&Chunk<'_>) -> Interest>(&mut self, end: StreamEnd, out: &mut Out<'_, F>) {
        while let Some(sender) = self.next_of_both(|_| true) {
            let stream = &mut self.direction_mut(sender).stream;
            stream.give_first(|offset, part, carrier| out.part(sender, offset, part, carrier));
        }
        for sender in [Sender::Low, Sender::High] {
            self.end(sender, end, out);
        }
    }

    /// Reports the waiting data of a direction, and its end.
    fn end<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        sender: Sender,
        end: StreamEnd,
        out: &mut Out<'_, F>,
    ) {
        let last = out.occasion.carrier();
        let direction = self.direction_mut(sender);
        if direction.ended {
            return;
        }
        direction.ended = true;
        direction.missing = None;
        direction.stream.give_up(last, |offset, part, carrier| {
            out.part(sender, offset, part, carrier);
        });
        let offset = direction.stream.offset();
        out.is_last = self.is_over();
        out.hand_on(sender, offset, last, Content::End(end));
    }
}

impl Missing {
    /// Whether the bytes were missing for as long as the limits allow.
    fn is_late(self, limits: &StreamLimits, now_ns: i64) -> bool {
        let patience_ns = i64::try_from(limits.patience_ns).unwrap_or(i64::MAX);
        now_ns.saturating_sub(self.since_ns) >= patience_ns
    }
}

impl Direction {
    /// Forgets that something is missing once it came.
    fn look_again(&mut self) {
        let stream = &self.stream;
        let is_missing = |missing: &Missing| stream.has_hole() && !stream.is_before(missing.ack);
        self.missing = self.missing.filter(is_missing);
    }
}

impl Occasion {
    const fn carrier(&self) -> Carrier {
        Carrier {
            time_ns: self.time_ns,
            frame: self.frame,
            acknowledged: None,
        }
    }
}

/// The destination of chunks.
struct Out<'o, F> {
    key: &'o FlowKey,
    connection: u64,
    flow: u64,
    originator: Sender,
    saw_start: bool,
    occasion: Occasion,
    counters: &'o mut StreamCounters,
    interest: Interest,
    is_last: bool,
    each: &'o mut F,
}

impl<F: FnMut(&Chunk<'_>) -> Interest> Out<'_, F> {
    fn part(&mut self, sender: Sender, offset: u64, part: Part<'_>, carrier: Carrier) {
        let content = match part {
            Part::Bytes(bytes) => {
                self.counters.bytes += bytes.len() as u64;
                Content::Bytes(bytes)
            }
            Part::Gap(len) => {
                self.counters.missing_bytes = self.counters.missing_bytes.saturating_add(len);
                Content::Gap(len)
            }
        };
        self.hand_on(sender, offset, carrier, content);
    }

    fn hand_on(&mut self, sender: Sender, offset: u64, carrier: Carrier, content: Content<'_>) {
        if self.interest == Interest::Ignore {
            return;
        }
        self.interest = (self.each)(&Chunk {
            connection: self.connection,
            flow: self.flow,
            key: self.key,
            sender,
            from_originator: sender == self.originator,
            time_ns: carrier.time_ns,
            frame: carrier.frame,
            acknowledged: carrier.acknowledged,
            offset,
            saw_start: self.saw_start,
            is_last: self.is_last,
            content,
        });
    }
}

/// The earlier one of what a receiver acknowledged before anything of the other direction was seen: what it had received in
/// between may have been captured behind its acknowledgments.
fn earlier(known: Option<u32>, ack: u32) -> u32 {
    known
        .filter(|known| beyond(ack, *known) >= 0)
        .unwrap_or(ack)
}

const fn other(sender: Sender) -> Sender {
    match sender {
        Sender::Low => Sender::High,
        Sender::High => Sender::Low,
    }
}

/// The time for which a closed connection is remembered, in which copies of its last segments may arrive (RFC 9293, 3.4.2, has
/// twice the maximum segment lifetime; common systems wait for one minute).
const CLOSED_NS: i64 = 60_000_000_000;

/// Connections that are not known of which it is kept what their ends acknowledged, at most.
const ACKNOWLEDGED_MAX: usize = 1 << 12;

/// Connections that one packet looks at, at most, to see whether they were silent for too long.
const LOOKS: usize = 4;
