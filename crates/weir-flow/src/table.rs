//! The flows that are going on.

use std::hash::BuildHasher;

use weir_dict::{Dict, ProcessKey};

use crate::clock::Clock;
use crate::course::{self, Turn};
use crate::detect::{Application, RtpHeader};
use crate::flow::{Details, Flow, Side, State};
use crate::history::{Event, History};
use crate::key::FlowKey;
use crate::missing;
use crate::options::{Counters, Options};
use crate::record::{ConnState, End, FlowRecord, Totals};
use crate::segment::{SYN, beyond};
use crate::sighting::Sighting;
use crate::slab::{NONE, Slab};
use crate::tcp::{self, TcpUpdate};
use crate::wheel::Wheel;

/// Keeps flows, and gives out each one when it is over.
///
/// A packet allocates nothing unless its flow is new, and no packet waits for more than
/// [`FlowTable::LOOKS`] flows to be looked at. Flows are found by a keyed hash of 32 bits in a
/// [`Dict`] that grows a few hundred entries at a time; those few whose hashes collide stand in
/// another by their whole keys.
///
/// ```
/// use weir_flow::{Endpoint, FlowKey, FlowTable, Options, Sighting};
///
/// let here = Endpoint { address: "10.0.0.1".parse().unwrap(), port: 4000 };
/// let there = Endpoint { address: "10.0.0.2".parse().unwrap(), port: 53 };
/// let mut table = FlowTable::new(Options::default());
/// let mut flows = Vec::new();
/// for (from, to, time_ns) in [(here, there, 0), (there, here, 1_000)] {
///     let (key, sender) = FlowKey::new(from, to, 17, 0);
///     let sighting = Sighting {
///         key, sender, time_ns: Some(time_ns), ip_bytes: 60, payload_bytes: 32, ttl: 64,
///         bad_checksum: false, segment: None,
///     };
///     table.packet(&sighting, |flow| flows.push(flow));
/// }
/// table.finish(|flow| flows.push(flow));
/// assert_eq!(flows.len(), 1);
/// assert_eq!(flows[0].state.as_str(), "SF");
/// assert_eq!(flows[0].sent.ip_bytes, 60);
/// ```
#[derive(Debug)]
pub struct FlowTable {
    options: Options,
    by_hash: Dict<u32, u32>,
    by_key: Dict<FlowKey, u32>,
    flows: Slab<Flow>,
    details: Details,
    wheel: Wheel,
    clock: Clock,
    next_number: u64,
    counters: Counters,
}

/// The flow that a packet was counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of the flow, as [`FlowRecord::number`].
    pub number: u64,
    /// The packet came from the originator.
    pub from_originator: bool,
    /// The first packet of the flow.
    pub is_first: bool,
    id: u32,
}

/// The flow of a packet.
enum PacketOwner {
    /// A known flow.
    Is(u32),
    /// A new flow.
    None,
    /// An attempt beside this flow.
    Beside(u32),
}

impl FlowTable {
    /// Flows that one packet looks at, at most, to see whether they are over.
    pub const LOOKS: usize = 32;

    /// Packets of a batch that are looked up together.
    pub const BATCH: usize = 64;

    /// An empty table.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            details: Details::new(options.details_max),
            by_hash: Dict::new(),
            by_key: Dict::new(),
            flows: Slab::new(options.flows_max),
            options,
            wheel: Wheel::new(),
            clock: Clock::new(),
            next_number: 1,
            counters: Counters::default(),
        }
    }

    /// The number of active flows.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.flows.len()
    }

    /// True without flows.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        Counters {
            details_refused: self.details.refused,
            ..self.counters
        }
    }

    /// Bytes asked of the allocator.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.by_hash.allocated_bytes()
            + self.by_key.allocated_bytes()
            + self.flows.allocated_bytes()
            + self.details.allocated_bytes()
    }

    /// The limits and timeouts.
    #[must_use]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// Counts a packet to its flow. Flows that are over are handed to `ended`.
    #[inline]
    pub fn packet(&mut self, sighting: &Sighting, ended: impl FnMut(FlowRecord)) -> Option<Seen> {
        let hash = hash_of(&sighting.key);
        let id = self.find(hash, &sighting.key);
        let now_ns = self.see(sighting);
        self.take_in(sighting, now_ns, hash, id, true, ended)
    }

    /// Reads a reassembled packet like [`Self::packet`]: time does not advance with it.
    #[cold]
    pub(crate) fn late(
        &mut self,
        sighting: &Sighting,
        ended: impl FnMut(FlowRecord),
    ) -> Option<Seen> {
        let hash = hash_of(&sighting.key);
        let id = self.find(hash, &sighting.key);
        let now_ns = sighting.time_ns.unwrap_or(0);
        let mut seen = self.take_in(sighting, now_ns, hash, id, true, ended)?;
        if let Some(flow) = self.flows.get_mut(seen.id)
            && sighting.segment.is_none()
            && flow.part == 0
            && now_ns < flow.first_ns
        {
            seen.from_originator |= flow.begin_with(sighting, now_ns, &mut self.details);
        }
        Some(seen)
    }

    /// Reads many packets like [`Self::packet`]. The cost is a third when there are many flows, as up to [`Self::BATCH`] flows
    /// are looked up together.
    #[inline]
    pub fn packets(&mut self, sightings: &[Sighting], mut ended: impl FnMut(FlowRecord)) {
        for batch in sightings.chunks(Self::BATCH) {
            let mut hashes = [0; Self::BATCH];
            let mut ids = [NONE; Self::BATCH];
            for (hash, sighting) in hashes.iter_mut().zip(batch) {
                *hash = hash_of(&sighting.key);
            }
            let hashes = hashes.get(..batch.len()).unwrap_or_default();
            self.by_hash.get_batch(hashes, |index, id| {
                if let (Some(place), Some(id)) = (ids.get_mut(index), id) {
                    *place = *id;
                }
            });
            // Reading all of them first has their cache misses overlap.
            let mut touched = 0;
            for id in ids.get(..batch.len()).unwrap_or_default() {
                if let Some(flow) = self.flows.get(*id) {
                    touched ^= flow.touch();
                }
            }
            std::hint::black_box(touched);
            for ((sighting, hash), id) in batch.iter().zip(hashes).zip(ids) {
                // Packets before it in the batch may have changed the found flow.
                let now_ns = self.see(sighting);
                self.take_in(sighting, now_ns, *hash, id, false, &mut ended);
            }
        }
    }

    /// Sets the application of a flow.
    pub fn set_application(&mut self, seen: &Seen, application: Application, is_final: bool) {
        if let Some(flow) = self.flows.get_mut(seen.id)
            && flow.number == seen.number
        {
            flow.application = application;
            if is_final {
                flow.flags |= Flow::DETECTED;
            }
        }
    }

    /// The application of a flow as known so far; `None` once it is final.
    #[must_use]
    pub fn open_application(&self, seen: &Seen) -> Option<Application> {
        let flow = self.flows.get(seen.id)?;
        let is_open = flow.number == seen.number && !flow.is(Flow::DETECTED);
        is_open.then_some(flow.application)
    }

    /// Records a packet that may be RTP. Returns the number of consecutive packets of its source, each a little later than the one
    /// before, as far as the packets of that sender were recorded.
    pub(crate) fn follow_rtp(&mut self, seen: &Seen, header: RtpHeader) -> u32 {
        let flow = self.flows.get_mut(seen.id);
        let Some(flow) = flow.filter(|flow| flow.number == seen.number) else {
            return 0;
        };
        flow.sides[usize::from(!seen.from_originator)].follow_rtp(header)
    }

    /// The number of the first octet of the sender of `seen`, where its SYN was seen.
    pub(crate) fn first_number(&self, seen: &Seen) -> Option<u32> {
        let flow = self.flows.get(seen.id)?;
        let side = usize::from(!seen.from_originator);
        flow.has_syn(side)
            .then(|| flow.sides[side].start.wrapping_add(1))
    }

    /// Packets of the sender of `seen` so far, with this one.
    #[must_use]
    pub fn packets_of(&self, seen: &Seen) -> u32 {
        let flow = self.flows.get(seen.id);
        flow.map_or(0, |flow| {
            flow.sides[usize::from(!seen.from_originator)].packets()
        })
    }

    /// The time that has passed by the packets so far; see [`Clock`].
    pub(crate) const fn passed_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// Reports the flows that have timed out at `now_ns`, after looking at no more than `looks` flows. True when there may be more.
    pub fn expire(&mut self, now_ns: i64, looks: usize, mut ended: impl FnMut(FlowRecord)) -> bool {
        self.clock.see(now_ns);
        self.end_due(looks, &mut ended)
    }

    fn end_due(&mut self, looks: usize, ended: &mut impl FnMut(FlowRecord)) -> bool {
        let now_ns = self.clock.now_ns();
        for _ in 0..looks {
            let Some(id) = self.wheel.due(now_ns) else {
                return false;
            };
            let Some(flow) = self.flows.get(id) else {
                return false;
            };
            let deadline = self.deadline(flow);
            if deadline <= now_ns {
                self.end_one(id, None, ended);
            } else {
                self.wheel.remove(&mut self.flows, id);
                self.wheel.insert(&mut self.flows, id, deadline);
            }
        }
        true
    }

    /// Reports all flows, in the order of their last lookup, at the end of the capture.
    pub fn finish(&mut self, mut ended: impl FnMut(FlowRecord)) {
        while let Some(id) = self.wheel.first() {
            self.end_one(id, Some(End::CaptureEnd), &mut ended);
        }
    }

    #[inline]
    fn is_at(&self, id: u32, key: &FlowKey) -> bool {
        let flow = self.flows.get(id);
        flow.is_some_and(|flow| {
            flow.flags & (Flow::LIVE | Flow::HIDDEN) == Flow::LIVE && flow.key == *key
        })
    }

    #[inline]
    fn find(&self, hash: u32, key: &FlowKey) -> u32 {
        match self.by_hash.get(&hash) {
            Some(id) if self.is_at(*id, key) => *id,
            _ if self.by_key.is_empty() => NONE,
            _ => self.by_key.get(key).copied().unwrap_or(NONE),
        }
    }

    /// Advances to the time of a packet, and returns it; without a time, that of the packet before.
    #[inline]
    fn see(&mut self, sighting: &Sighting) -> i64 {
        match sighting.time_ns {
            Some(time_ns) => {
                self.clock.see(time_ns);
                time_ns
            }
            None => self.clock.current_ns().max(0),
        }
    }

    #[inline]
    fn take_in(
        &mut self,
        sighting: &Sighting,
        now_ns: i64,
        hash: u32,
        mut id: u32,
        is_sure: bool,
        mut ended: impl FnMut(FlowRecord),
    ) -> Option<Seen> {
        self.counters.packets += 1;
        if !self.wheel.is_quiet(self.clock.now_ns()) {
            self.end_due(Self::LOOKS, &mut ended);
        }
        if let Some(seen) = self.go_on(id, sighting, now_ns) {
            return Some(seen);
        }
        // The flow that was found may have ended, and may have hidden another flow.
        if !(is_sure && id == NONE || self.is_at(id, &sighting.key)) {
            id = self.find(hash, &sighting.key);
        }
        // There may be no flow, or one that has just ended.
        let known = self.known(id, sighting, &mut ended);
        let is_first = !matches!(known, PacketOwner::Is(_));
        let id = match known {
            PacketOwner::Is(id) => {
                self.cut(id, now_ns, &mut ended);
                id
            }
            PacketOwner::None => self.begin(sighting, hash, now_ns, &mut ended)?,
            PacketOwner::Beside(older) => {
                self.begin_beside(older, sighting, hash, now_ns, &mut ended)?
            }
        };
        let flow = self.flows.get_mut(id)?;
        if flow.clock != self.clock.current() {
            flow.change_clock(&self.clock, &mut self.details);
        }
        let side = flow.side_of(sighting.sender);
        note(flow, &mut self.details, side, sighting, now_ns);
        Some(Seen {
            number: flow.number,
            // A flip may have happened.
            from_originator: flow.side_of(sighting.sender) == 0,
            is_first,
            id,
        })
    }

    /// Counts the most common packet: a segment of an established connection without missing data, in order, that acknowledges what
    /// was seen. The result equals that of the full path; without one, nothing has changed.
    #[inline]
    fn go_on(&mut self, id: u32, sighting: &Sighting, now_ns: i64) -> Option<Seen> {
        let segment = sighting.segment.as_ref()?;
        let flow = self.flows.get_mut(id)?;
        let idle_ns = idle_ns(sighting.key.protocol(), &self.options);
        let is_over = flow.last_ns.saturating_add(idle_ns) <= self.clock.current_ns();
        if flow.key != sighting.key
            || is_over
            || flow.clock != self.clock.current()
            || sighting.bad_checksum
            || self.options.active_ns.is_some()
        {
            return None;
        }
        let side = flow.side_of(sighting.sender);
        if !flow.go_on(side, segment, now_ns, &mut self.details) {
            return None;
        }
        flow.sides[side].count(sighting.ip_bytes, sighting.payload_bytes);
        Some(Seen {
            number: flow.number,
            from_originator: side == 0,
            is_first: false,
            id,
        })
    }

    /// The flow of a packet, where `id` is the flow that has its key. Reports the flows that end before the packet.
    #[inline]
    fn known(
        &mut self,
        mut id: u32,
        sighting: &Sighting,
        ended: &mut impl FnMut(FlowRecord),
    ) -> PacketOwner {
        loop {
            if !self.is_at(id, &sighting.key) {
                return PacketOwner::None;
            }
            let Some(flow) = self.flows.get(id) else {
                return PacketOwner::None;
            };
            let older = self.older(flow);
            if self.deadline(flow) <= self.clock.now_ns() {
                self.end_one(id, None, ended);
                id = older.unwrap_or(NONE);
                continue;
            }
            let Some(segment) = &sighting.segment else {
                return PacketOwner::Is(id);
            };
            let beside = older.and_then(|id| self.flows.get(id));
            match course::turn(flow, beside, sighting.sender, segment) {
                Turn::GoesOn => return PacketOwner::Is(id),
                Turn::Begins => {
                    self.end_one(id, Some(End::Reused), ended);
                    return PacketOwner::None;
                }
                Turn::Attempts => {
                    let Some(older) = older else {
                        return PacketOwner::Beside(id);
                    };
                    self.end_one(id, Some(End::Reused), ended);
                    return PacketOwner::Beside(older);
                }
                Turn::Proves => {
                    self.end_one(older.unwrap_or(NONE), Some(End::Reused), ended);
                    return PacketOwner::Is(id);
                }
                Turn::Returns => {
                    self.end_one(id, Some(End::Reused), ended);
                    id = older.unwrap_or(NONE);
                }
            }
        }
    }

    /// The deadline of a flow without further packets, in elapsed time.
    #[inline]
    fn deadline(&self, flow: &Flow) -> i64 {
        let behind_ns = self.clock.behind_ns(flow.clock);
        deadline(flow, &self.details, &self.options).saturating_add(behind_ns)
    }

    /// The flow that an attempt hides.
    fn older(&self, flow: &Flow) -> Option<u32> {
        let older = self.details.get(flow.detail)?.older?;
        let found = self.flows.get(older)?;
        (found.is(Flow::HIDDEN) && found.key == flow.key).then_some(older)
    }

    /// Begins the flow of an attempt in front of an open one, which ends if no more flows can have details.
    #[cold]
    fn begin_beside(
        &mut self,
        older: u32,
        sighting: &Sighting,
        hash: u32,
        now_ns: i64,
        ended: &mut impl FnMut(FlowRecord),
    ) -> Option<u32> {
        if !self.details.has_room() {
            self.end_one(older, Some(End::Reused), ended);
            return self.begin(sighting, hash, now_ns, ended);
        }
        self.forget_key(older);
        if let Some(flow) = self.flows.get_mut(older) {
            flow.flags |= Flow::HIDDEN;
        }
        let id = self.begin(sighting, hash, now_ns, ended)?;
        // The flow may have been reported to make room.
        let is_there = self
            .flows
            .get(older)
            .is_some_and(|flow| flow.is(Flow::HIDDEN));
        let flow = self.flows.get_mut(id)?;
        if is_there && let Some(detail) = self.details.of(flow) {
            detail.older = Some(older);
        }
        Some(id)
    }

    /// Reports a part of a long flow.
    #[inline]
    fn cut(&mut self, id: u32, now_ns: i64, ended: &mut impl FnMut(FlowRecord)) {
        let Some(active_ns) = self.options.active_ns else {
            return;
        };
        let Some(flow) = self.flows.get_mut(id) else {
            return;
        };
        let passed_ns = |time_ns: i64, clock| time_ns.saturating_add(self.clock.behind_ns(clock));
        let began_ns = passed_ns(flow.began_ns(&self.details), flow.clock);
        let lasted_ns = passed_ns(now_ns, self.clock.current()).saturating_sub(began_ns);
        if u64::try_from(lasted_ns).unwrap_or(0) < active_ns {
            return;
        }
        ended(record(flow, &self.details, End::Active));
        if flow.clock != self.clock.current() {
            flow.change_clock(&self.clock, &mut self.details);
        }
        flow.part = flow.part.saturating_add(1);
        flow.first_ns = now_ns;
        flow.last_ns = now_ns;
        flow.sides.iter_mut().for_each(Side::forget_counts);
        for side in &mut flow.sides {
            // The bytes that were given out already are not counted again.
            if side.state != State::Inactive {
                let top = if beyond(side.ack, side.last) > 0 {
                    side.ack
                } else {
                    side.last
                };
                side.start = top.wrapping_sub(1);
                side.ack = if beyond(side.ack, side.start) < 0 {
                    side.start
                } else {
                    side.ack
                };
            }
        }
        if let Some(detail) = self.details.get_mut(flow.detail) {
            (detail.moved_ns, detail.last_ns) = (0, i64::MIN);
            for side in &mut detail.sides {
                side.forget_counts();
            }
        }
    }

    /// Begins a flow.
    fn begin(
        &mut self,
        sighting: &Sighting,
        hash: u32,
        now_ns: i64,
        ended: &mut impl FnMut(FlowRecord),
    ) -> Option<u32> {
        if self.flows.len() >= self.options.flows_max {
            let id = self.wheel.first()?;
            self.counters.evicted += 1;
            self.end_one(id, Some(End::Evicted), ended);
        }
        if self.flows.len() == 0 {
            self.wheel.start(self.clock.now_ns());
        }
        let key = sighting.key;
        let flow = Flow {
            number: self.next_number,
            clock: self.clock.current(),
            ..Flow::begun_by(sighting, now_ns, &mut self.details)
        };
        let mut first_deadline = now_ns.saturating_add(idle_ns(key.protocol(), &self.options));
        if sighting
            .segment
            .is_some_and(|segment| segment.flags & SYN != 0)
        {
            first_deadline = after(now_ns, self.options.tcp_attempt_ns);
        }
        let id = self.flows.insert(flow)?;
        self.find_by_key(key, hash, id);
        let behind_ns = self.clock.behind_ns(self.clock.current());
        let first_deadline = first_deadline.saturating_add(behind_ns);
        self.wheel.insert(&mut self.flows, id, first_deadline);
        self.next_number += 1;
        self.counters.flows += 1;
        self.counters.flows_peak = self.counters.flows_peak.max(self.flows.len() as u64);
        Some(id)
    }

    /// Makes flow `id` the one of its key.
    fn find_by_key(&mut self, key: FlowKey, hash: u32, id: u32) {
        let mut collides = false;
        self.by_hash
            .entry(hash)
            .and_modify(|_| collides = true)
            .or_insert(id);
        if collides {
            self.by_key.insert(key, id);
        }
    }

    /// Removes flow `id` from the index.
    fn forget_key(&mut self, id: u32) {
        let Some(flow) = self.flows.get(id).filter(|flow| !flow.is(Flow::HIDDEN)) else {
            return;
        };
        let hash = hash_of(&flow.key);
        if self.by_hash.get(&hash) == Some(&id) {
            self.by_hash.remove(&hash);
        } else {
            self.by_key.remove(&flow.key);
        }
    }

    /// Reports a flow and removes it. The flow that it hides is in the index again.
    fn end_one(&mut self, id: u32, end: Option<End>, ended: &mut impl FnMut(FlowRecord)) {
        self.wheel.remove(&mut self.flows, id);
        self.forget_key(id);
        let Some(flow) = self.flows.remove(id) else {
            return;
        };
        if let Some(older) = self.older(&flow) {
            self.find_by_key(flow.key, hash_of(&flow.key), older);
            if let Some(older) = self.flows.get_mut(older) {
                older.flags &= !Flow::HIDDEN;
            }
        }
        let end = end.unwrap_or(if flow.is(Flow::CLOSED) {
            End::Closed
        } else {
            End::Idle
        });
        ended(record(&flow, &self.details, end));
        self.details.remove(flow.detail);
    }
}

#[inline]
fn hash_of(key: &FlowKey) -> u32 {
    let hash = ProcessKey.hash_one(key);
    (hash ^ hash >> 32) as u32
}

fn after(time_ns: i64, duration_ns: u64) -> i64 {
    time_ns.saturating_add(i64::try_from(duration_ns).unwrap_or(i64::MAX))
}

fn idle_ns(protocol: u8, options: &Options) -> i64 {
    let ns = match protocol {
        TCP => options.tcp_idle_ns,
        UDP | UDP_LITE => options.udp_idle_ns,
        ICMP | ICMPV6 => options.icmp_idle_ns,
        SCTP => options.sctp_idle_ns,
        _ => options.other_idle_ns,
    };
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The deadline of a flow without further packets.
#[inline]
fn deadline(flow: &Flow, details: &Details, options: &Options) -> i64 {
    if flow.is(Flow::CLOSED) {
        return after(flow.mark_ns, options.tcp_close_ns);
    }
    let waits = matches!(flow.sides[0].state, State::SynSent | State::SynAckSent)
        && flow.sides[1].state == State::Inactive
        // The other direction has data that were not captured.
        && beyond(flow.sides[0].last, flow.sides[0].start) <= 1;
    if flow.is(Flow::ATTEMPT) && waits {
        return after(flow.began_ns(details), options.tcp_attempt_ns);
    }
    flow.last_ns
        .saturating_add(idle_ns(flow.key.protocol(), options))
}

/// Counts a packet to `side` of its flow.
#[inline]
fn note(flow: &mut Flow, details: &mut Details, side: usize, sighting: &Sighting, now_ns: i64) {
    let mut connection = TcpUpdate { flow, details };
    if sighting.bad_checksum {
        connection.count(side, Event::Checksum, |detail| &mut detail.bad_checksums);
        return;
    }
    let TcpUpdate { flow, .. } = &mut connection;
    let end = &mut flow.sides[side];
    if !end.is(Side::SEEN) {
        end.flags |= Side::SEEN;
        end.ttl = sighting.ttl;
    }
    end.count(sighting.ip_bytes, sighting.payload_bytes);
    if let Some(segment) = &sighting.segment {
        connection.segment(side, segment, now_ns);
        return;
    }
    end.flags |= Side::ACTIVE;
    flow.last_ns = flow.last_ns.max(now_ns);
    if matches!(flow.key.protocol(), UDP | UDP_LITE) {
        let TcpUpdate { flow, details } = connection;
        flow.note_once(Event::Data, side, details);
    }
}

fn record(flow: &Flow, details: &Details, end: End) -> FlowRecord {
    let detail = details.get(flow.detail);
    let more = detail.map(|detail| detail.history).unwrap_or_default();
    let history = History::new(flow.history, more);
    let ends = if flow.is(Flow::ORIGINATOR_IS_HIGH) {
        [flow.key.high(), flow.key.low()]
    } else {
        [flow.key.low(), flow.key.high()]
    };
    let is_last = end != End::Active;
    let [sent, received] = [0, 1].map(|side| totals(flow, details, side, is_last));
    FlowRecord {
        number: flow.number,
        part: flow.part,
        key: flow.key,
        originator: ends[0],
        responder: ends[1],
        first_ns: flow.first_ns,
        last_ns: flow
            .last_ns
            .max(detail.map_or(i64::MIN, |detail| detail.last_ns)),
        sent,
        received,
        state: conn_state(
            flow,
            &history,
            sent.stream_bytes == 0 && received.stream_bytes == 0,
        ),
        history,
        round_trip_ns: (flow.round_trip_ns > 0).then_some(flow.round_trip_ns),
        application: flow.application,
        end,
    }
}

fn totals(flow: &Flow, details: &Details, side: usize, is_last: bool) -> Totals {
    let end = &flow.sides[side];
    let detail = details.get(flow.detail).map(|detail| detail.sides[side]);
    let detail = detail.unwrap_or_default();
    Totals {
        packets: end.packets().into(),
        ip_bytes: end.ip_bytes(),
        payload_bytes: end.payload_bytes(),
        stream_bytes: match flow.key.protocol() {
            TCP => tcp::bytes_by_sequence(flow, details, side),
            _ => end.payload_bytes(),
        },
        retransmissions: detail.retransmissions,
        out_of_order: detail.out_of_order,
        zero_windows: detail.zero_windows,
        missed_bytes: missing::missed_bytes(&detail, is_last),
        ttl: end.is(Side::SEEN).then_some(end.ttl),
    }
}

/// Zeek's `conn_state`, by its script `base/protocols/conn/main.zeek`.
fn conn_state(flow: &Flow, history: &History, is_empty: bool) -> ConnState {
    let [originator, responder] = &flow.sides;
    match flow.key.protocol() {
        UDP | UDP_LITE => {
            return match (originator.is(Side::ACTIVE), responder.is(Side::ACTIVE)) {
                (true, true) => ConnState::Sf,
                (true, false) => ConnState::S0,
                (false, true) => ConnState::Shr,
                (false, false) => ConnState::Oth,
            };
        }
        TCP => {}
        _ => return ConnState::Oth,
    }
    let is_silent = |state| matches!(state, State::Inactive | State::Partial);
    let (from, to) = (originator.state, responder.state);
    match (from, to) {
        (State::SynSent | State::SynAckSent, State::Reset) => ConnState::Rej,
        (State::Reset, State::Reset) if is_empty => ConnState::Rej,
        (_, State::Reset) if is_silent(from) => ConnState::Rstrh,
        (_, State::Reset) => ConnState::Rstr,
        (State::Reset, _) if is_silent(to) => {
            if is_attempt_then_reset(history.as_str()) {
                ConnState::Rstos0
            } else {
                ConnState::Oth
            }
        }
        (State::Reset, _) => ConnState::Rsto,
        (State::Closed, State::Closed) => ConnState::Sf,
        (State::Closed, _) if is_silent(to) => ConnState::Sh,
        (State::Closed, _) => ConnState::S2,
        (_, State::Closed) if is_silent(from) => ConnState::Shr,
        (_, State::Closed) => ConnState::S3,
        (State::SynSent, State::Inactive) => ConnState::S0,
        (State::Established, State::Established) => ConnState::S1,
        _ => ConnState::Oth,
    }
}

/// Whether the history is a SYN of the originator and its RST, without anything in between that speaks against an attempt: Zeek's
/// `\^?S[^HAFGIQ]*R.*`.
fn is_attempt_then_reset(history: &str) -> bool {
    let history = history.strip_prefix('^').unwrap_or(history);
    let Some(after_syn) = history.strip_prefix('S') else {
        return false;
    };
    let between = after_syn.split('R').next().unwrap_or_default();
    after_syn.contains('R') && !between.contains(['H', 'A', 'F', 'G', 'I', 'Q'])
}

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMPV6: u8 = 58;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;
