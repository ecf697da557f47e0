//! The state of a flow in the table: 176 bytes, and more for irregular flows only.

use crate::clock::Clock;
use crate::detect::{Application, RtpHeader};
use crate::history::{Event, First, More};
use crate::key::{FlowKey, Sender};
use crate::ports::is_server;
use crate::ranges::Ranges;
use crate::segment::{ACK, FIN, JUMP_MAX, RST, SYN, Segment, beyond};
use crate::sighting::Sighting;
use crate::slab::{NONE, Slab, Slot};

/// State of one end of a TCP connection, as Zeek tells them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// No packet of this end was seen.
    #[default]
    Inactive,
    /// The side sent a SYN.
    SynSent,
    /// The side sent a SYN with ACK, although it was taken for the originator.
    SynAckSent,
    /// The side sent segments without a SYN before them.
    Partial,
    Established,
    /// The side sent a FIN.
    Closed,
    /// The side sent a RST.
    Reset,
}

/// Steps of RTP's sequence number from one packet to the next that is taken for its successor: some may be lost.
const RTP_STEP_MAX: u32 = 16;

/// One end of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Side {
    packets: u32,
    ip_bytes_low: u32,
    payload_bytes_low: u32,
    /// Sequence number of the SYN, or one below the first one seen.
    pub(crate) start: u32,
    /// One beyond the last sequence number seen.
    pub(crate) last: u32,
    /// The highest number that the peer has acknowledged.
    pub(crate) ack: u32,
    ip_bytes_high: u16,
    payload_bytes_high: u16,
    pub(crate) state: State,
    pub(crate) previous_state: State,
    pub(crate) flags: u8,
    /// Time to live of the first packet.
    pub(crate) ttl: u8,
}

impl Side {
    /// A packet was counted for it.
    pub(crate) const SEEN: u8 = 1;
    /// The side sent a FIN.
    pub(crate) const FIN: u8 = 2;
    /// The FIN is in the history: all data before it were seen.
    pub(crate) const DID_CLOSE: u8 = 4;
    /// The FIN waits for missing data.
    pub(crate) const CLOSE_WAITS: u8 = 8;
    /// A packet of it went through the TCP state machine, or was counted for UDP and the like.
    pub(crate) const ACTIVE: u8 = 16;
    /// Only acknowledgments of its data were seen: `start` is one below the first acknowledgment, `ack` the highest one
    /// behind that.
    pub(crate) const ACKNOWLEDGED: u8 = 32;

    #[inline]
    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(crate) fn count(&mut self, ip_bytes: u32, payload_bytes: u32) {
        self.packets = self.packets.saturating_add(1);
        let (low, carry) = self.ip_bytes_low.overflowing_add(ip_bytes);
        self.ip_bytes_low = low;
        self.ip_bytes_high = self.ip_bytes_high.saturating_add(carry.into());
        let (low, carry) = self.payload_bytes_low.overflowing_add(payload_bytes);
        self.payload_bytes_low = low;
        self.payload_bytes_high = self.payload_bytes_high.saturating_add(carry.into());
    }

    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    pub(crate) const fn ip_bytes(&self) -> u64 {
        (self.ip_bytes_high as u64) << 32 | self.ip_bytes_low as u64
    }

    pub(crate) const fn payload_bytes(&self) -> u64 {
        (self.payload_bytes_high as u64) << 32 | self.payload_bytes_low as u64
    }

    /// Resets the counts, after a partial result.
    pub(crate) fn forget_counts(&mut self) {
        self.packets = 0;
        self.ip_bytes_low = 0;
        self.ip_bytes_high = 0;
        self.payload_bytes_low = 0;
        self.payload_bytes_high = 0;
    }

    /// See [`FlowTable::follow_rtp`](crate::FlowTable). Fields that only TCP needs hold its values in a flow of
    /// datagrams: `start` is the source, `last` its last sequence number, `ack` the packets in a row.
    pub(crate) fn follow_rtp(&mut self, header: RtpHeader) -> u32 {
        let step = u32::from(header.sequence).wrapping_sub(self.last) & 0xffff;
        let goes_on = self.ack > 0 && self.start == header.source;
        match step {
            // A copy of the last packet, or a reordered one.
            0 | 0xfff0..=0xffff if goes_on => return self.ack,
            1..=RTP_STEP_MAX if goes_on => self.ack = self.ack.saturating_add(1),
            _ => self.ack = 1,
        }
        self.start = header.source;
        self.last = header.sequence.into();
        self.ack
    }

    pub(crate) fn set_state(&mut self, state: State) {
        if state != self.state {
            self.previous_state = self.state;
            self.state = state;
        }
    }

    /// True once it was established and while it is, or was then closed in order.
    pub(crate) fn is_clean(&self) -> bool {
        self.state == State::Established
            || self.state == State::Closed && self.previous_state == State::Established
    }
}

/// A flow in the table. Fields that each packet reads stand first, in the order of memory, so that a packet of an
/// established connection touches three cache lines, wherever the flow lies.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) key: FlowKey,
    /// The originator and the responder.
    pub(crate) sides: [Side; 2],
    /// Kinds of events that are in the history already, the responder's ten bits higher.
    pub(crate) seen: u32,
    pub(crate) last_ns: i64,
    pub(crate) number: u64,
    /// The rarer facts, or [`NONE`].
    pub(crate) detail: u32,
    /// The time from the SYN to the ACK that completes the handshake, in nanoseconds; 0 while it is unknown.
    pub(crate) round_trip_ns: u32,
    pub(crate) flags: u8,
    pub(crate) application: Application,
    pub(crate) slot: u16,
    /// The number of partial records that were reported.
    pub(crate) part: u16,
    /// Shifts of the windows of both ends (RFC 7323), four bits each, the responder's higher; see [`Flow::shift`].
    pub(crate) shifts: u8,
    /// The clock of `last_ns` and `mark_ns`; see [`Clock`].
    pub(crate) clock: u8,
    pub(crate) first_ns: i64,
    /// Time of the last SYN until the handshake is over; then, of a closed flow, when it closed.
    pub(crate) mark_ns: i64,
    pub(crate) history: First,
    pub(crate) previous: u32,
    pub(crate) next: u32,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            key: FlowKey::unused(),
            sides: [Side::default(); 2],
            first_ns: 0,
            last_ns: 0,
            mark_ns: 0,
            number: 0,
            history: First::default(),
            round_trip_ns: 0,
            detail: NONE,
            previous: NONE,
            next: NONE,
            seen: 0,
            slot: 0,
            part: 0,
            shifts: u8::MAX,
            clock: 0,
            flags: 0,
            application: Application::Unknown,
        }
    }
}

impl Slot for Flow {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}

impl Flow {
    /// The originator is the key's high end.
    pub(crate) const ORIGINATOR_IS_HIGH: u8 = 1;
    /// Some of the connection was before the first packet.
    pub(crate) const PARTIAL: u8 = 2;
    /// Closed by both ends, or reset.
    pub(crate) const CLOSED: u8 = 4;
    /// The flow began with a SYN, and has the short timeout of attempts until the SYN is answered.
    pub(crate) const ATTEMPT: u8 = 8;
    /// A SYN of the originator and its answer were seen.
    pub(crate) const HANDSHAKE: u8 = 16;
    /// The slot is in use.
    pub(crate) const LIVE: u8 = 32;
    /// The search for the application in its payload has ended.
    pub(crate) const DETECTED: u8 = 64;
    /// The flow is not in the index: an attempt of the same endpoints has its key.
    pub(crate) const HIDDEN: u8 = 128;

    /// The flow that begins with a packet.
    pub(crate) fn begun_by(sighting: &Sighting, now_ns: i64, details: &mut Details) -> Self {
        let mut flow = Self {
            key: sighting.key,
            first_ns: now_ns,
            last_ns: now_ns,
            mark_ns: now_ns,
            flags: match sighting.sender {
                Sender::High => Self::LIVE | Self::ORIGINATOR_IS_HIGH,
                Sender::Low => Self::LIVE,
            },
            ..Self::default()
        };
        if comes_from_server(sighting) {
            flow.flip(details);
        }
        flow
    }

    /// The shift of windows of `side`; the maximum of RFC 7323, 2.3, if it is unknown.
    pub(crate) fn shift(&self, side: usize) -> u8 {
        (self.shifts >> (4 * side) & 15).min(14)
    }

    /// Stores the window scale of a SYN. Windows are scaled only if both sides offer it (RFC 7323, 2.2).
    pub(crate) fn note_shift(&mut self, side: usize, segment: &Segment) {
        self.shifts = match segment.scale {
            None => 0,
            Some(shift) => self.shifts & !(15 << (4 * side)) | shift.min(14) << (4 * side),
        };
    }

    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Index of the sender among the sides: 0 for the originator.
    #[inline]
    pub(crate) fn side_of(&self, sender: Sender) -> usize {
        let is_high = sender == Sender::High;
        usize::from(is_high != self.is(Self::ORIGINATOR_IS_HIGH))
    }

    /// True once a SYN of a side was seen, with or without ACK.
    pub(crate) const fn has_syn(&self, side: usize) -> bool {
        self.seen & 1 << (Event::Syn as u32 + 10 * side as u32) != 0
    }

    /// True of a SYN of a side whose data were captured before it.
    pub(crate) fn is_late_syn(&self, side: usize, segment: &Segment) -> bool {
        let end = &self.sides[side];
        let before = beyond(end.start, segment.seq);
        segment.is(SYN)
            && !self.has_syn(side)
            && end.state != State::Inactive
            && (0..=JUMP_MAX).contains(&before)
    }

    /// Reads a bit of each cache line that a packet reads, so that they are in the caches.
    #[inline]
    pub(crate) fn touch(&self) -> u32 {
        u32::from(self.key.low().port) ^ self.sides[0].packets ^ self.sides[1].last ^ self.detail
    }

    /// True of a segment that carries an established connection on, see
    /// [`FlowTable::go_on`](crate::FlowTable).
    #[inline]
    pub(crate) fn goes_on(&self, side: usize, segment: &Segment) -> bool {
        const OF_FLAGS: u8 = SYN | FIN | RST | ACK;
        const OF_END: u8 = Side::SEEN | Side::ACTIVE | Side::DID_CLOSE | Side::CLOSE_WAITS;
        let [originator, responder] = &self.sides;
        let (end, peer) = match side {
            0 => (originator, responder),
            _ => (responder, originator),
        };
        let event = if segment.len > 0 {
            Event::Data
        } else {
            Event::Ack
        };
        let one_past = segment.seq.wrapping_add(segment.len);
        segment.flags & OF_FLAGS == ACK
            && segment.window != 0
            && segment.len <= JUMP_MAX.unsigned_abs()
            && !segment.is_cut
            && self.flags & (Self::LIVE | Self::CLOSED | Self::HIDDEN) == Self::LIVE
            // The ACK that ends the handshake is still to come.
            && (side == 1 || !self.is(Self::HANDSHAKE) || self.round_trip_ns != 0)
            && self.seen & 1 << (event as u32 + 10 * side as u32) != 0
            && end.state == State::Established
            && peer.state == State::Established
            && end.flags & OF_END == Side::SEEN | Side::ACTIVE
            && peer.flags & (Side::DID_CLOSE | Side::CLOSE_WAITS) == 0
            && segment.seq == end.last
            && one_past >= segment.seq
            && segment.ack >= peer.ack
            && beyond(segment.ack, peer.ack) >= 0
            && beyond(peer.last, segment.ack) >= 0
    }

    /// Processes a segment for which [`Self::goes_on`] is true, as most are. The result equals that of the full path; without one,
    /// nothing has changed.
    #[inline]
    pub(crate) fn go_on(
        &mut self,
        side: usize,
        segment: &Segment,
        now_ns: i64,
        details: &mut Details,
    ) -> bool {
        if !self.goes_on(side, segment)
            || self.detail != NONE && !self.detail_goes_on(side, segment, details)
        {
            return false;
        }
        let [originator, responder] = &mut self.sides;
        let (end, peer) = match side {
            0 => (originator, responder),
            _ => (responder, originator),
        };
        end.last = segment.seq.wrapping_add(segment.len);
        peer.ack = segment.ack;
        self.last_ns = self.last_ns.max(now_ns);
        true
    }

    /// True where the details of the flow have no part in a segment for which [`Self::goes_on`] is true: no octets that it
    /// acknowledges are missing, and no answer or earlier connection waits for a proof.
    #[inline(never)]
    fn detail_goes_on(&self, side: usize, segment: &Segment, details: &mut Details) -> bool {
        let end = &self.sides[side];
        let Some(detail) = details.get_mut(self.detail) else {
            return false;
        };
        let goes_on = detail.older.is_none()
            && detail.answers.is_empty()
            && !detail.sides[1 - side].misses_data()
            && beyond(end.last, end.ack) >= 0;
        if goes_on && segment.len > 0 {
            detail.sides[side].tail = segment.seq;
        }
        goes_on
    }

    /// Converts the times of deadlines to the current clock. The time of the last packet stays as it was stamped.
    #[cold]
    pub(crate) fn change_clock(&mut self, clock: &Clock, details: &mut Details) {
        let last_ns = self.last_ns;
        let (before, now) = (self.clock, clock.current());
        let ahead_ns = clock.behind_ns(before).saturating_sub(clock.behind_ns(now));
        self.clock = now;
        self.last_ns = self.last_ns.saturating_add(ahead_ns);
        self.mark_ns = self.mark_ns.saturating_add(ahead_ns);
        if let Some(detail) = details.of(self) {
            detail.last_ns = detail.last_ns.max(last_ns);
            detail.moved_ns = detail.moved_ns.saturating_add(ahead_ns);
        }
    }

    /// The time of the first packet on the current clock of the flow.
    #[inline]
    pub(crate) fn began_ns(&self, details: &Details) -> i64 {
        let detail = details.get(self.detail);
        let moved_ns = detail.map_or(0, |detail| detail.moved_ns);
        self.first_ns.saturating_add(moved_ns)
    }

    /// Takes a packet that came before those that were counted, which is no segment of TCP, for the first one of the flow. True
    /// when its sender has become the originator.
    #[cold]
    pub(crate) fn begin_with(
        &mut self,
        sighting: &Sighting,
        now_ns: i64,
        details: &mut Details,
    ) -> bool {
        self.first_ns = now_ns;
        let turns = self.side_of(sighting.sender) == 1 && !comes_from_server(sighting);
        if turns {
            self.turn_round(details);
        }
        turns
    }

    /// Turns originator and responder round, and says so in the history.
    pub(crate) fn flip(&mut self, details: &mut Details) {
        self.turn_round(details);
        self.note(Event::Flip, 0, details);
    }

    fn turn_round(&mut self, details: &mut Details) {
        self.sides.swap(0, 1);
        self.shifts = self.shifts.rotate_left(4);
        self.flags ^= Self::ORIGINATOR_IS_HIGH;
        self.flags &= !Self::PARTIAL;
        self.seen = (self.seen & 0x3ff) << 10 | self.seen >> 10 & 0x3ff;
        if let Some(detail) = details.get_mut(self.detail) {
            detail.sides.swap(0, 1);
        }
    }

    /// Turns a connection round whose first packet was an answer: its history begins as if the answer had
    /// come from the responder.
    #[cold]
    pub(crate) fn flip_answer(&mut self, details: &mut Details) {
        let partial = self.flags & Self::PARTIAL;
        self.history = First::default();
        self.flip(details);
        self.flags |= partial;
        self.note(Event::Handshake, 1, details);
    }

    /// Adds a letter to the history.
    pub(crate) fn note(&mut self, event: Event, side: usize, details: &mut Details) {
        if !self.history.push(event, side == 1)
            && let Some(detail) = details.of(self)
        {
            detail.history.push(event, side == 1);
        }
    }

    /// Adds a letter the first time only; true when it was there before.
    #[inline]
    pub(crate) fn note_once(&mut self, event: Event, side: usize, details: &mut Details) -> bool {
        let bit = 1 << (event as u32 + 10 * side as u32);
        if self.seen & bit != 0 {
            return true;
        }
        self.seen |= bit;
        self.note(event, side, details);
        false
    }

    /// Adds a letter the 1st, 10th, 100th… time.
    pub(crate) fn note_scaled(
        &mut self,
        event: Event,
        side: usize,
        count: u32,
        details: &mut Details,
    ) {
        if is_power_of_ten(count) {
            self.note(event, side, details);
        }
    }
}

/// Whether the first packet of a flow looks like an answer.
fn comes_from_server(sighting: &Sighting) -> bool {
    let (from, to) = match sighting.sender {
        Sender::Low => (sighting.key.low(), sighting.key.high()),
        Sender::High => (sighting.key.high(), sighting.key.low()),
    };
    let protocol = sighting.key.protocol();
    let is_tcp = protocol == TCP;
    let servers = (is_server(protocol, from.port), is_server(protocol, to.port));
    match (servers, &sighting.segment) {
        ((false, _), _) => false,
        (_, None) if is_tcp => false,
        ((true, to_server), Some(segment)) => {
            let syn = segment.flags & SYN != 0;
            let handshake = syn && segment.flags & ACK != 0;
            // The sender of a SYN is the originator. Where both are servers' ports, a SYN ACK may be a scan.
            (!syn || handshake) && (!to_server || !syn && from.port < to.port)
        }
        ((true, to_server), None) => !to_server && !is_broadcast(&to.address),
    }
}

fn is_broadcast(address: &std::net::IpAddr) -> bool {
    matches!(address, std::net::IpAddr::V4(four) if four.is_broadcast())
}

const TCP: u8 = 6;

const fn is_power_of_ten(mut count: u32) -> bool {
    while count >= 10 && count.is_multiple_of(10) {
        count /= 10;
    }
    count == 1
}

/// The state that few flows have.
#[derive(Debug)]
pub(crate) struct Detail {
    pub(crate) sides: [SideDetail; 2],
    /// How far the clock of the flow is ahead of the one of its first packet.
    pub(crate) moved_ns: i64,
    /// The highest time of a packet by a clock that is no longer the flow's.
    pub(crate) last_ns: i64,
    pub(crate) history: More,
    /// Answers to a SYN that differ, until one is confirmed, and acknowledgments before any.
    pub(crate) answers: Answers,
    /// The flow of the same key that this one hides, where it is an attempt.
    pub(crate) older: Option<u32>,
    link: u32,
}

/// The last answers to a SYN.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    at: [Option<SynAnswer>; Self::MAX],
}

/// The number of a SYN ACK and what it acknowledges, or those of an acknowledgment without a SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SynAnswer {
    seq: u32,
    ack: u32,
    has_syn: bool,
}

impl Answers {
    /// Most of them; the oldest goes when there are more.
    const MAX: usize = 4;

    /// Adds a SYN ACK.
    pub(crate) fn add(&mut self, seq: u32, ack: u32) {
        self.push(SynAnswer {
            seq,
            ack,
            has_syn: true,
        });
    }

    /// Adds an acknowledgment without a SYN: a challenge (RFC 5961, 4.2), or one that was captured before the SYN ACK.
    pub(crate) fn add_acknowledgment(&mut self, seq: u32, ack: u32) {
        self.push(SynAnswer {
            seq,
            ack,
            has_syn: false,
        });
    }

    fn push(&mut self, answer: SynAnswer) {
        if !self.at.contains(&Some(answer)) {
            self.at.rotate_right(1);
            self.at[0] = Some(answer);
        }
    }

    /// The SYN ACK for which `is_it` is true: its number and what it acknowledges.
    pub(crate) fn find(&self, is_it: impl Fn(u32, u32) -> bool) -> Option<(u32, u32)> {
        let answers = self.at.iter().flatten().filter(|answer| answer.has_syn);
        let mut numbers = answers.map(|answer| (answer.seq, answer.ack));
        numbers.find(|(seq, ack)| is_it(*seq, *ack))
    }

    /// Whether an answer acknowledges this number.
    pub(crate) fn acknowledge(&self, number: u32) -> bool {
        let mut answers = self.at.iter().flatten();
        answers.any(|answer| answer.ack == number)
    }

    /// True without entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.at.iter().all(Option::is_none)
    }

    /// Removes all of them: one was confirmed.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The state that few sides of flows have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SideDetail {
    /// The number of segments with data that have nothing new, without keep-alives.
    pub(crate) retransmissions: u32,
    /// Segments below the highest number seen that fill a hole.
    pub(crate) out_of_order: u32,
    /// The number of retransmissions by Zeek's definition, which includes keep-alives.
    pub(crate) old_segments: u32,
    pub(crate) zero_windows: u32,
    pub(crate) gaps: u32,
    pub(crate) bad_checksums: u32,
    pub(crate) missed_bytes: u64,
    /// The offset of the last RST from the start.
    pub(crate) reset_at: Option<u32>,
    /// The number of times that `last` and `ack` wrapped around.
    pub(crate) wraps: u32,
    pub(crate) ack_wraps: u32,
    /// Numbers that were not seen.
    pub(crate) holes: Ranges,
    /// Numbers of segments that were seen and not captured whole, as a snap length cuts them.
    pub(crate) cut: Ranges,
    /// Numbers that were counted as missed: their segments may come yet, as captures may have acknowledgments before
    /// what they acknowledge.
    pub(crate) given_up: Ranges,
    /// Numbers that were counted as missed behind the highest one that was seen.
    pub(crate) ahead: u32,
    /// The first number of the segment that holds the highest one.
    pub(crate) tail: u32,
    /// The numbers of a segment that does not count yet; see [`TcpUpdate::is_outlier`](crate::tcp::TcpUpdate).
    pub(crate) outlier: Option<(u32, u32)>,
}

impl SideDetail {
    /// Resets the counts, after a partial result.
    pub(crate) fn forget_counts(&mut self) {
        self.retransmissions = 0;
        self.out_of_order = 0;
        self.zero_windows = 0;
        self.missed_bytes = 0;
        self.ahead = 0;
        self.wraps = 0;
        self.ack_wraps = 0;
    }
}

impl Default for Detail {
    fn default() -> Self {
        Self {
            sides: [SideDetail::default(); 2],
            moved_ns: 0,
            last_ns: i64::MIN,
            history: More::default(),
            answers: Answers::default(),
            older: None,
            link: 0,
        }
    }
}

impl Slot for Detail {
    fn link(&mut self) -> &mut u32 {
        &mut self.link
    }
}

/// The details of all flows that have any.
#[derive(Debug)]
pub(crate) struct Details {
    slab: Slab<Detail>,
    max: usize,
    /// Flows that went without, as there were too many.
    pub(crate) refused: u64,
}

impl Details {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            slab: Slab::new(max),
            max,
            refused: 0,
        }
    }

    pub(crate) fn get(&self, id: u32) -> Option<&Detail> {
        self.slab.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Detail> {
        self.slab.get_mut(id)
    }

    /// The detail of a flow, which is made when there is none yet; `None` when there are too many.
    pub(crate) fn of(&mut self, flow: &mut Flow) -> Option<&mut Detail> {
        if flow.detail == NONE {
            if self.slab.len() >= self.max {
                self.refused += 1;
                return None;
            }
            flow.detail = self.slab.insert(Detail::default())?;
        }
        self.slab.get_mut(flow.detail)
    }

    /// True while one more flow can have details.
    pub(crate) fn has_room(&self) -> bool {
        self.slab.len() < self.max
    }

    pub(crate) fn remove(&mut self, id: u32) {
        if id != NONE {
            self.slab.remove(id);
        }
    }

    pub(crate) fn allocated_bytes(&self) -> usize {
        self.slab.allocated_bytes()
    }
}

const _: () = assert!(size_of::<Flow>() <= 176);
const _: () = assert!(size_of::<Detail>() <= 448);
