//! A TCP connection whose streams are followed: its state, its two directions and what they miss.

use super::chunk::{Chunk, ChunkOrigin, ChunkSink, Content, Interest, StreamEnd};
use super::counters::StreamCounters;
use super::limits::StreamLimits;
use crate::course::{self, Turn};
use crate::flow::{Details, Flow, Side};
use crate::fragment::Overlap;
use crate::key::Sender;
use crate::segment::{ACK, FIN, LATE_MAX, RST, SYN, Segment, beyond};
use crate::sighting::Sighting;
use crate::slab::NONE;
use crate::stream::{Carrier, Part, Reassembler};
use crate::tcp;

#[derive(Debug)]
pub(super) struct FollowedConnection {
    pub(super) number: u64,
    pub(super) flow: u64,
    pub(super) originator: Sender,
    pub(super) last_ns: i64,
    /// The time without a packet before the last one.
    pub(super) silence_ns: i64,
    /// Queued when it was last looked at.
    pub(super) queued_ns: i64,
    pub(super) ignored: bool,
    pub(super) is_queued_as_closed: bool,
    /// The state of the connection, followed as the flow table does.
    pub(super) track: Flow,
    /// A connection of the same ends that may live yet, where this is an attempt to open another one.
    pub(super) older: Option<Box<FollowedConnection>>,
    /// A SYN of either end was seen.
    pub(super) saw_start: bool,
    /// The next number of each direction where a reset has ended both, as far as it is known.
    pub(super) reset_at: Option<[Option<u32>; 2]>,
    pub(super) directions: [Direction; 2],
}

#[derive(Debug)]
pub(super) struct Direction {
    pub(super) stream: Reassembler,
    pub(super) ended: bool,
    /// What was seen before any data of the direction.
    pub(super) noted: NotedNumbers,
    /// The bytes that are acknowledged and missing.
    pub(super) missing: Option<Missing>,
    /// The number of a FIN that was not accepted: it may be the end behind a long loss, if the receiver acknowledges it.
    pub(super) far_end: Option<u32>,
    /// The number of a FIN whose data may be padding, if they are: it is the end if the receiver acknowledges it.
    pub(super) padded_end: Option<u32>,
    /// The segment that does not count yet, as the state of the connection says.
    pub(super) outlier: Option<Box<Outlier>>,
    /// The stream was given out from a later number on than the one behind the SYN, which was captured behind it.
    pub(super) begins_late: bool,
}

/// The numbers of a direction before its data, where no SYN says at which one it begins: the lowest ones of each kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NotedNumbers {
    /// The acknowledgment number of the receiver.
    pub(super) acknowledged: Option<u32>,
    /// The number of a segment without data, of which a keep-alive may have one less.
    pub(super) sent: Option<u32>,
    /// The receiver acknowledged before it had sent anything, and its SYN was seen: no data were sent before the capture.
    pub(super) is_of_handshake: bool,
}

impl NotedNumbers {
    /// The number at which a direction begins whose first data have the number `first`: what is between them may come yet.
    fn start(self, first: u32) -> Option<u32> {
        let is_ahead = |sent: &u32| (2..=LATE_MAX).contains(&beyond(first, *sent));
        match (self.acknowledged, self.sent.filter(is_ahead)) {
            (Some(acknowledged), Some(sent)) => Some(earlier(Some(acknowledged), sent)),
            (acknowledged, sent) => acknowledged.or(sent),
        }
    }
}

/// A segment that is far ahead of its direction, as one that is forged, or behind a long loss of packets.
#[derive(Debug)]
pub(super) struct Outlier {
    segment: Segment,
    bytes: Vec<u8>,
    origin: ChunkOrigin,
}

impl Outlier {
    /// The memory that it takes.
    fn held(&self) -> usize {
        self.bytes.capacity() + size_of::<Self>()
    }

    /// The numbers by which the state of the connection knows it.
    const fn numbers(segment: &Segment) -> (u32, u32) {
        (segment.seq, segment.seq.wrapping_add(segment.len))
    }
}

/// Something that the receiver acknowledged and that was not seen, in front of what was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    pub(super) since_ns: i64,
    /// The highest number that was acknowledged.
    pub(super) ack: u32,
}

impl FollowedConnection {
    fn direction_mut(&mut self, sender: Sender) -> &mut Direction {
        &mut self.directions[usize::from(sender == Sender::High)]
    }

    pub(super) fn held(&self) -> usize {
        self.directions.iter().map(Direction::held).sum()
    }

    pub(super) fn is_over(&self) -> bool {
        self.directions.iter().all(|one| one.ended)
    }

    /// Takes the originator from the flow of a packet.
    pub(super) fn note_originator(&mut self, sender: Sender, origin: &ChunkOrigin) {
        match origin.from_originator {
            _ if origin.flow != self.flow => {}
            Some(true) => self.originator = sender,
            Some(false) => self.originator = other(sender),
            None => {}
        }
    }

    /// Notes where a reset has ended the directions.
    pub(super) fn note_reset(&mut self) {
        let next = |direction: &Direction| direction.stream.next_number();
        self.reset_at = Some(self.directions.each_ref().map(next));
    }

    /// The number of new bytes of a segment behind a reset, which are not read: the receiver of the reset may have sent them before it
    /// came, or it may be forged.
    pub(super) fn behind_reset(&mut self, sender: Sender, segment: &Segment) -> u64 {
        let Some([low, high]) = &mut self.reset_at else {
            return 0;
        };
        let next = match sender {
            Sender::Low => low,
            Sender::High => high,
        };
        let end = segment.seq.wrapping_add(segment.len);
        let new = beyond(end, next.unwrap_or(segment.seq));
        if segment.flags & (SYN | RST) != 0 || !(1..=LATE_MAX).contains(&new) {
            return 0;
        }
        *next = Some(end);
        u64::from(new.unsigned_abs().min(segment.len))
    }

    /// The memory of this connection and of the one beside it.
    pub(super) fn held_by_both(&self) -> usize {
        let older = self.older.as_deref();
        self.held().saturating_add(older.map_or(0, Self::held))
    }

    /// The relation of a segment to the connection, and to an older one.
    pub(super) fn turn(&self, sender: Sender, segment: &Segment) -> Turn {
        let older = self.older.as_deref().map(|older| &older.track);
        course::turn(&self.track, older, sender, segment)
    }

    /// Whether a segment belongs to the connection, and ends nothing.
    pub(super) fn goes_on(
        &self,
        sighting: &Sighting,
        segment: &Segment,
        origin: ChunkOrigin,
    ) -> bool {
        self.turn(sighting.sender, segment) == Turn::GoesOn
            && !self.is_of_another_flow(sighting, segment, origin)
    }

    /// Whether the flow table has begun another flow with a segment, after a silence or an attempt that was not answered in time.
    /// Copies of segments of a closed connection do not begin one here.
    pub(super) fn is_of_another_flow(
        &self,
        sighting: &Sighting,
        segment: &Segment,
        origin: ChunkOrigin,
    ) -> bool {
        if !origin.is_own_flow || origin.flow == self.flow {
            return false;
        }
        let end = &self.track.sides[self.track.side_of(sighting.sender)];
        let is_new = segment.len > 0 && beyond(segment.seq.wrapping_add(segment.len), end.last) > 0;
        is_new || !self.track.is(Flow::CLOSED)
    }

    /// Updates the state of the connection by a segment. True for a reset that ends it.
    pub(super) fn follow(
        &mut self,
        sighting: &Sighting,
        segment: &Segment,
        details: &mut Details,
        now_ns: i64,
    ) -> bool {
        let flow = &mut self.track;
        let side = flow.side_of(sighting.sender);
        if flow.go_on(side, segment, now_ns, details) {
            return false;
        }
        flow.sides[side].flags |= Side::SEEN;
        let counts = tcp::TcpUpdate { flow, details }.segment(side, segment, now_ns);
        counts && segment.flags & RST != 0
    }

    /// The numbers of the segment of a direction that does not count yet.
    fn outlier(&self, sender: Sender, details: &Details) -> Option<(u32, u32)> {
        let side = self.track.side_of(sender);
        details.get(self.track.detail)?.sides[side].outlier
    }

    /// Whether a segment with data does not count yet.
    pub(super) fn is_outlier(&self, sender: Sender, segment: &Segment, details: &Details) -> bool {
        self.track.detail != NONE
            && segment.flags & (SYN | FIN | RST) == 0
            && self.outlier(sender, details) == Some(Outlier::numbers(segment))
    }

    /// Keeps a segment that does not count yet, when it takes no more than `room`, in place of an earlier one.
    #[cold]
    pub(super) fn keep_outlier<F>(
        &mut self,
        sender: Sender,
        segment: &Segment,
        bytes: &[u8],
        room: usize,
        out: &mut ChunkSink<'_, F>,
    ) {
        let direction = self.direction_mut(sender);
        let kept = direction.outlier.as_ref().map(|kept| kept.segment);
        // A segment that was captured twice is kept once.
        if segment.len == 0 || kept.is_some_and(|kept| kept.seq == segment.seq) {
            return;
        }
        direction.drop_outlier(out.counters);
        let outlier = Outlier {
            segment: *segment,
            bytes: bytes.to_vec(),
            origin: out.origin,
        };
        match outlier.held() <= room {
            true => direction.outlier = Some(Box::new(outlier)),
            false => {
                let all = &mut out.counters.outlier_bytes;
                *all = all.saturating_add(segment.len.into());
            }
        }
    }

    /// Processes the segments that were stored, and count now.
    pub(super) fn place_outliers<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        details: &Details,
        limits: &StreamLimits,
        now_ns: i64,
        out: &mut ChunkSink<'_, F>,
    ) {
        for sender in [Sender::Low, Sender::High] {
            let kept = &self.directions[usize::from(sender == Sender::High)].outlier;
            let Some(numbers) = kept
                .as_ref()
                .map(|outlier| Outlier::numbers(&outlier.segment))
            else {
                continue;
            };
            if self.outlier(sender, details) == Some(numbers) {
                continue;
            }
            if let Some(kept) = self.direction_mut(sender).outlier.take() {
                let origin = std::mem::replace(&mut out.origin, kept.origin);
                self.deliver(sender, &kept.segment, &kept.bytes, limits, now_ns, out);
                out.origin = origin;
            }
        }
    }

    /// Begins the streams at the numbers of the handshake, unless data were reported already.
    #[cold]
    pub(super) fn begin_streams<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        details: &mut Details,
        out: &mut ChunkSink<'_, F>,
    ) {
        for sender in [Sender::Low, Sender::High] {
            let flow = &mut self.track;
            let side = flow.side_of(sender);
            let first = tcp::TcpUpdate { flow, details }.first_number(side);
            if let Some(first) = first {
                let direction = self.direction_mut(sender);
                direction.stream.restart(first, |offset, part, carrier| {
                    out.part(sender, offset, part, carrier);
                });
                direction.begins_late = direction.stream.offset_of(first).is_none();
            }
        }
    }

    pub(super) fn ignore(&mut self) {
        self.ignored = true;
        for direction in &mut self.directions {
            direction.stream = Reassembler::new(Overlap::First);
            direction.outlier = None;
        }
    }

    /// Notes where the streams begin. True when the handshake may say it otherwise than what was known.
    pub(super) fn take_in(&mut self, sender: Sender, segment: &Segment, bytes: &[u8]) -> bool {
        // A reset begins nothing, whatever other flags it has.
        if segment.flags & (SYN | RST) != SYN {
            return self.track.detail != NONE;
        }
        self.saw_start = true;
        let first = segment.seq.wrapping_add(1);
        self.direction_mut(sender).stream.begin(first);
        if segment.flags & ACK != 0 && (bytes.is_empty() || segment.may_be_padding) {
            // The segment answers a SYN that was not captured, or that follows in the capture.
            self.direction_mut(other(sender)).stream.begin(segment.ack);
        }
        true
    }

    /// Passes on what a segment makes ready in its own direction, and what its acknowledgment gives up
    /// in the other one.
    pub(super) fn deliver<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        sender: Sender,
        segment: &Segment,
        bytes: &[u8],
        limits: &StreamLimits,
        now_ns: i64,
        out: &mut ChunkSink<'_, F>,
    ) {
        let is_reset = segment.flags & RST != 0;
        let acknowledged = if segment.flags & ACK != 0 && !is_reset {
            self.acknowledge(sender, segment.ack, limits, now_ns, out)
        } else {
            None
        };
        let first = segment.seq.wrapping_add((segment.flags & SYN != 0).into());
        let is_keep_alive = self.is_keep_alive(sender, segment, bytes);
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
        let has_data = segment.len > 0 && !is_keep_alive;
        let has_number = has_data || segment.flags & FIN != 0;
        if has_number && !is_reset && !direction.stream.began() {
            direction.begin_with(first);
        }
        if segment.span() == 0 && !is_reset && !direction.stream.began() {
            direction.noted.sent = Some(earlier(direction.noted.sent, first));
        }
        if has_data && !is_reset && !direction.ended {
            let carrier = Carrier {
                acknowledged,
                ..out.origin.carrier()
            };
            let each = |offset, part: Part<'_>, carrier| out.part(sender, offset, part, carrier);
            let stream = &mut direction.stream;
            match segment.may_be_padding {
                true => stream.doubtful(first, bytes, carrier, each),
                false => stream.data(first, bytes, segment.len, carrier, each),
            }
            let before = direction.stream.take_before();
            // The octet of a keep-alive is no data.
            if segment.len > 1 && (!out.saw_start || direction.begins_late) {
                let all = &mut out.counters.before_bytes;
                *all = all.saturating_add(before);
            }
        }
        if segment.flags & FIN != 0 {
            direction.finish(first, segment);
            let each = |offset, part: Part<'_>, carrier| out.part(sender, offset, part, carrier);
            direction.stream.go_on(each);
        }
        if has_missing {
            direction.look_again();
            self.hold_back(out);
        }
    }

    /// Whether a segment is a keep-alive with an octet of 0 (RFC 9293, 3.8.4): it comes after a silence, and its receiver has acknowledged
    /// the number of that octet before. Where the octet that was sent with this number was not captured, the one of the keep-alive does
    /// not stand for it. Data that were captured behind their acknowledgment come sooner.
    fn is_keep_alive(&self, sender: Sender, segment: &Segment, bytes: &[u8]) -> bool {
        if segment.len != 1 || !matches!(bytes, [0]) || segment.flags & (SYN | FIN | RST) != 0 {
            return false;
        }
        let next = segment.seq.wrapping_add(1);
        let end = &self.track.sides[self.track.side_of(sender)];
        let direction = &self.directions[usize::from(sender == Sender::High)];
        let is_old = (0..=LATE_MAX).contains(&beyond(end.ack, next));
        is_old && self.silence_ns >= KEEP_ALIVE_NS || direction.noted.acknowledged == Some(next)
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
        out: &mut ChunkSink<'_, F>,
    ) -> Option<u64> {
        let (receiver, sender) = (sender, other(sender));
        if !self.direction_mut(sender).stream.began() {
            let own = &self.direction_mut(receiver).stream;
            let is_first = out.saw_start && own.began() && own.offset() == 0;
            let noted = &mut self.direction_mut(sender).noted;
            noted.acknowledged = Some(earlier(noted.acknowledged, ack));
            noted.is_of_handshake |= is_first;
            return None;
        }
        let direction = self.direction_mut(sender);
        if let Some(end) = direction.far_end
            && ack == end.wrapping_add(1)
        {
            direction.far_end = None;
            direction.stream.finish_acknowledged(end);
        }
        if let Some(end) = direction.padded_end
            && ack == end.wrapping_add(1)
        {
            direction.padded_end = None;
            direction.stream.finish_acknowledged(end);
        }
        let each = |offset, part: Part<'_>, carrier| out.part(sender, offset, part, carrier);
        direction.stream.acknowledged(ack, each);
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
        out: &mut ChunkSink<'_, F>,
    ) -> bool {
        let direction = self.direction_mut(sender);
        direction.missing = None;
        direction
            .stream
            .give_first(|offset, part, carrier| out.part(sender, offset, part, carrier))
    }

    /// Lets each direction wait for what is missing of the other one, as what it sends may answer that; gives out what
    /// waits no longer.
    fn hold_back<F: FnMut(&Chunk<'_>) -> Interest>(&mut self, out: &mut ChunkSink<'_, F>) {
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
    pub(super) fn keep_to_limits<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        sender: Sender,
        limits: &StreamLimits,
        others: usize,
        out: &mut ChunkSink<'_, F>,
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
    pub(super) fn end_directions<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        is_reset: bool,
        out: &mut ChunkSink<'_, F>,
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
    pub(super) fn end_both<F: FnMut(&Chunk<'_>) -> Interest>(
        &mut self,
        end: StreamEnd,
        out: &mut ChunkSink<'_, F>,
    ) {
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
        out: &mut ChunkSink<'_, F>,
    ) {
        let last = out.origin.carrier();
        let direction = self.direction_mut(sender);
        if direction.ended {
            return;
        }
        direction.ended = true;
        direction.missing = None;
        direction.drop_outlier(out.counters);
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
    /// The memory of what waits.
    fn held(&self) -> usize {
        let outlier = self.outlier.as_ref().map_or(0, |outlier| outlier.held());
        self.stream.held().saturating_add(outlier)
    }

    /// Begins the stream in front of its first data, or its FIN, as what was noted says: what is between them may come yet. What does not
    /// come was sent before the capture, if the connection was.
    fn begin_with(&mut self, first: u32) {
        let noted = std::mem::take(&mut self.noted);
        match noted.start(first) {
            Some(start) if !noted.is_of_handshake => self.stream.begin_behind(start, first),
            Some(start) if (1..=LATE_MAX).contains(&beyond(first, start)) => {
                self.stream.begin(start);
            }
            _ => {}
        }
    }

    /// Notes the end that a FIN says. Where its data may be padding, the receiver's acknowledgment decides, unless padding is known of
    /// the direction.
    fn finish(&mut self, first: u32, segment: &Segment) {
        let is_open = segment.may_be_padding && !self.stream.is_padded();
        let end = match segment.may_be_padding && !is_open {
            true => first,
            false => first.wrapping_add(segment.len),
        };
        if is_open {
            self.padded_end = Some(first);
            self.far_end = Some(end);
        } else if !self.stream.finish(end) {
            self.far_end = Some(end);
        }
    }

    /// Drops the segment that does not count.
    fn drop_outlier(&mut self, counters: &mut StreamCounters) {
        if let Some(outlier) = self.outlier.take() {
            let all = &mut counters.outlier_bytes;
            *all = all.saturating_add(outlier.segment.len.into());
        }
    }

    /// Removes the record of a missing piece once it came.
    fn look_again(&mut self) {
        let stream = &self.stream;
        let is_missing = |missing: &Missing| stream.has_hole() && !stream.is_before(missing.ack);
        self.missing = self.missing.filter(is_missing);
    }
}

/// The silence before a keep-alive, at least: common systems take one or more seconds.
const KEEP_ALIVE_NS: i64 = 500_000_000;

/// The earlier one of two numbers that were noted before anything of a direction was seen, such as what its receiver acknowledged: what
/// it had received in between may have been captured behind its acknowledgments.
pub(super) fn earlier(known: Option<u32>, ack: u32) -> u32 {
    known
        .filter(|known| beyond(ack, *known) >= 0)
        .unwrap_or(ack)
}

pub(super) const fn other(sender: Sender) -> Sender {
    match sender {
        Sender::Low => Sender::High,
        Sender::High => Sender::Low,
    }
}
