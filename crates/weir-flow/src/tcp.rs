//! The state of a TCP connection, packet by packet, as Zeek follows it.

use crate::course;
use crate::flow::{Details, Flow, Side, SideDetail, State};
use crate::history::Event;
use crate::segment::{ACK, FIN, JUMP_MAX, LATE_MAX, RST, SYN, Segment, beyond};
use crate::slab::NONE;

/// Data without any acknowledgment beyond this mean that the acknowledgments go another way.
const UNACKNOWLEDGED_MAX: u64 = 16_384;

/// A flow and the facts of others, while a segment changes them.
pub(crate) struct TcpUpdate<'t> {
    pub(crate) flow: &'t mut Flow,
    pub(crate) details: &'t mut Details,
}

impl TcpUpdate<'_> {
    /// Processes a segment of `side` at `now_ns`. False for a reset that is ignored.
    #[inline]
    pub(crate) fn segment(&mut self, side: usize, segment: &Segment, now_ns: i64) -> bool {
        if segment.is(RST) && !course::accepts_reset(self.flow, self.details, side, segment) {
            self.pass_over(side, now_ns);
            return false;
        }
        // A flip may make the sender the other side.
        let mut side = side;
        // A SYN ACK alone may be a scan, whose sender is the originator. Only further segments make it an answer.
        let goes_on = !segment.is(SYN | FIN | RST) && (segment.len > 0 || segment.is(ACK));
        if goes_on && self.flow.history.is_only(Event::Handshake) {
            self.flow.flip_answer(self.details);
            side = 1 - side;
        }
        let peer = 1 - side;
        self.note_partial(side, segment);
        let is_answer_to_it = self.note_answer(side, segment);
        self.confirm(side, segment);
        if self.is_outlier(side, segment) {
            self.flow.last_ns = self.flow.last_ns.max(now_ns);
            return true;
        }
        let old_last = self.begin(side, segment);
        self.refute(side, segment, old_last);
        let relative = segment.seq.wrapping_sub(self.flow.sides[side].start);
        let underflow = self.is_before_start(side, segment.seq, old_last);
        self.note_flags(side, segment, relative);
        self.note_window(side, segment);
        if !(self.flow.sides[0].is(Side::DID_CLOSE) && self.flow.sides[1].is(Side::DID_CLOSE)) {
            self.flow.last_ns = self.flow.last_ns.max(now_ns);
        }
        if segment.is(FIN) {
            self.flow.sides[side].flags |= Side::FIN;
        }
        let acknowledged = if segment.is(ACK) && is_answer_to_it {
            self.acknowledge(peer, segment)
        } else {
            None
        };
        let advance = self.advance(side, segment);
        // A FIN alone may show too that data before it are missing, and so may the number of an acknowledgment.
        let is_ahead = !segment.is(SYN) && (1..=JUMP_MAX).contains(&advance);
        let places = segment.len > 0 || segment.is(FIN) || is_ahead;
        if places && !segment.is(RST) {
            match underflow {
                true => self.place_before(side, segment),
                false => self.place_data(side, segment, old_last, advance),
            }
        }
        let closes = self.change_state(&mut side, segment);
        if let Some(from) = acknowledged {
            self.find_gaps(1 - side, from, segment.ack);
        }
        self.note_round_trip(side, segment, now_ns);
        self.flow.sides[side].flags |= Side::ACTIVE;
        for end in [side, 1 - side] {
            let waits = self.flow.sides[end].is(Side::CLOSE_WAITS);
            if waits || closes && end == side {
                self.close(end);
            }
        }
        true
    }

    /// The number of the first octet of `side`, as far as the handshake says.
    pub(crate) fn first_number(&self, side: usize) -> Option<u32> {
        let end = &self.flow.sides[side];
        let is_known = self.flow.has_syn(side);
        is_known.then(|| end.start.wrapping_add(1))
    }

    /// Counts a packet that does not change the state.
    #[cold]
    fn pass_over(&mut self, side: usize, now_ns: i64) {
        let Self { flow, details } = self;
        flow.note_once(Event::Reset, side, details);
        flow.last_ns = flow.last_ns.max(now_ns);
    }

    /// Stores the options of a SYN, and an answer that may not be the one that is confirmed. False for an answer to another SYN
    /// than the known one.
    #[inline]
    fn note_answer(&mut self, side: usize, segment: &Segment) -> bool {
        let [originator, responder] = &self.flow.sides;
        if !segment.is(SYN) {
            let is_open = originator.state == State::SynSent && responder.state == State::Inactive;
            return !is_open || side == 0 || self.note_challenge(segment);
        }
        self.flow.note_shift(side, segment);
        let [originator, responder] = &self.flow.sides;
        if side == 0 || !segment.is(ACK) || originator.state == State::Inactive {
            return true;
        }
        let is_answer_to_it =
            course::answers(originator, segment.ack) || originator.state == State::Partial;
        let is_second = responder.state == State::Established && responder.start != segment.seq;
        let before = responder.start;
        let has_no_data = beyond(responder.last, before) <= 1;
        if is_answer_to_it && (!is_second || !has_no_data) {
            return true;
        }
        let first = originator.start.wrapping_add(1);
        let Self { flow, details } = self;
        if let Some(detail) = details.of(flow) {
            if is_second {
                detail.answers.add(before, first);
            }
            detail.answers.add(segment.seq, segment.ack);
        }
        is_answer_to_it
    }

    /// Stores an acknowledgment before the SYN was answered. False for one of another connection.
    #[cold]
    fn note_challenge(&mut self, segment: &Segment) -> bool {
        let Self { flow, details } = self;
        let originator = &flow.sides[0];
        // A FIN may acknowledge what is captured behind it.
        let is_ahead = (1..=LATE_MAX).contains(&beyond(segment.ack, originator.last));
        let is_of_it = course::answers(originator, segment.ack) || segment.is(FIN) && is_ahead;
        if !segment.is(ACK) || segment.is(RST) || is_of_it {
            return true;
        }
        if let Some(detail) = details.of(flow) {
            let answers = &mut detail.answers;
            answers.add_acknowledgment(segment.seq, segment.ack);
        }
        false
    }

    /// Chooses among different answers to a SYN the one that the originator acknowledges, or that the data of the responder
    /// continue.
    #[inline]
    fn confirm(&mut self, side: usize, segment: &Segment) {
        if segment.is(SYN | RST) || self.flow.detail == NONE {
            return;
        }
        self.confirm_answer(side, segment);
    }

    #[cold]
    fn confirm_answer(&mut self, side: usize, segment: &Segment) {
        let Self { flow, details } = self;
        let Some(detail) = details.get_mut(flow.detail) else {
            return;
        };
        let before = |number: u32| number.wrapping_sub(1);
        let confirmed = match side {
            0 if !segment.is(ACK) => None,
            0 => detail
                .answers
                .find(|seq, ack| ack == segment.seq && seq == before(segment.ack)),
            _ if segment.len == 0 => None,
            _ => detail.answers.find(|seq, _| seq == before(segment.seq)),
        };
        let Some((seq, ack)) = confirmed else {
            return;
        };
        detail.answers.clear();
        for (index, start) in [before(ack), seq].into_iter().enumerate() {
            let end = &mut flow.sides[index];
            if end.start == start {
                continue;
            }
            end.start = start;
            end.last = start.wrapping_add(1);
            end.ack = match index {
                0 => ack,
                _ => start,
            };
            let side = &mut detail.sides[index];
            side.wraps = u32::from(end.last < start);
            side.ack_wraps = u32::from(end.ack < start);
            side.holes.clear();
            side.cut.clear();
            side.given_up.clear();
            side.ahead = 0;
        }
    }

    fn note_partial(&mut self, side: usize, segment: &Segment) {
        let flow = &mut *self.flow;
        if flow.sides[side].is(Side::ACTIVE) {
            return;
        }
        let partial = if side == 0 {
            !segment.is(SYN) || segment.is(ACK)
        } else {
            flow.is(Flow::PARTIAL) || !segment.is(SYN)
        };
        flow.flags = flow.flags & !Flow::PARTIAL | if partial { Flow::PARTIAL } else { 0 };
    }

    /// Begins the numbers of a side that was not seen, or begins them again. Gives the highest
    /// number seen before this segment.
    #[inline]
    fn begin(&mut self, side: usize, segment: &Segment) -> u32 {
        if segment.is(SYN) && self.flow.is_late_syn(side, segment) {
            return self.begin_before(side, segment);
        }
        let one_past = segment.seq.wrapping_add(segment.span());
        let has_syn = self.flow.has_syn(side);
        if self.flow.sides[side].is(Side::ACKNOWLEDGED)
            && let Some(last) = self.begin_acknowledged(side, segment)
        {
            return last;
        }
        let end = &mut self.flow.sides[side];
        let begins_with_0 = end.state == State::Inactive && segment.seq == 0;
        let again = match end.state {
            State::Inactive => {
                // Acknowledgments without data may have shown the numbers.
                let has_numbers = end.last != end.start;
                let is_begun =
                    has_numbers && (0..=LATE_MAX).contains(&beyond(segment.seq, end.last));
                if segment.is(SYN) {
                    !has_numbers || segment.seq != end.start
                } else if is_begun {
                    false
                } else {
                    // The start is set as if a SYN had been seen, so that the first byte has the number 1.
                    end.start = segment.seq.wrapping_sub(1);
                    end.ack = end.start;
                    end.last = segment.seq;
                    false
                }
            }
            // A SYN in the middle of the data is ignored (RFC 5961, 4.2).
            State::Established if has_syn && beyond(end.last, end.start) > 1 => false,
            State::SynSent | State::SynAckSent | State::Established | State::Partial => {
                segment.is(SYN)
                    && (segment.seq != end.start || end.state as u8 >= State::Partial as u8)
            }
            // A RST with numbers of its own may have been forged.
            State::Reset => segment.is(SYN) && end.previous_state == State::Inactive,
            State::Closed => false,
        };
        if again {
            end.start = segment.seq;
            end.ack = segment.seq;
            end.last = one_past;
            if let Some(detail) = self.details.get_mut(self.flow.detail) {
                let detail = &mut detail.sides[side];
                detail.wraps = 0;
                detail.ack_wraps = 0;
                detail.holes.clear();
                detail.cut.clear();
                detail.given_up.clear();
                detail.ahead = 0;
            }
            self.note_first_wrap(side);
            // The numbers after the SYN are new.
            return segment.seq.wrapping_add(1);
        }
        let last = end.last;
        if begins_with_0 {
            self.note_first_wrap(side);
        }
        last
    }

    /// Counts the wrap of numbers that come by 0 where they begin, as those of a SYN with the highest number do.
    fn note_first_wrap(&mut self, side: usize) {
        let Self { flow, details } = self;
        let end = &flow.sides[side];
        if end.last < end.start
            && let Some(detail) = details.of(flow)
        {
            detail.sides[side].wraps = 1;
        }
    }

    /// Begins the numbers of a side of which only acknowledgments were seen: they start there, as the first acknowledgment was that
    /// of its SYN. Returns the highest number before this segment; `None` when the numbers begin with the segment.
    #[cold]
    fn begin_acknowledged(&mut self, side: usize, segment: &Segment) -> Option<u32> {
        let saw_syn = self.flow.has_syn(1 - side);
        let end = &mut self.flow.sides[side];
        end.flags &= !Side::ACKNOWLEDGED;
        let known = end.start.wrapping_add(1);
        let first = segment.seq.wrapping_add(segment.is(SYN).into());
        let goes_on = match segment.is(SYN) {
            true => first == known,
            false => saw_syn && (0..=LATE_MAX).contains(&beyond(first, known)),
        };
        if goes_on {
            end.last = known;
            self.note_first_wrap(side);
            return Some(known);
        }
        // The data of the segment and all that follow are counted anew; with other numbers, all data are.
        let from = match segment.is(SYN) || beyond(first, known) < 0 {
            true => known,
            false => first,
        };
        let top = end.ack;
        if beyond(top, from) > 0 {
            self.take_back(side, from, top, top);
        }
        None
    }

    /// Moves the beginning of a side to a SYN that was captured after its data: the data in between were not captured.
    #[cold]
    fn begin_before(&mut self, side: usize, segment: &Segment) -> u32 {
        let Self { flow, details } = self;
        let end = &mut flow.sides[side];
        let (from, to) = (segment.seq.wrapping_add(1), end.start.wrapping_add(1));
        let is_acknowledged = beyond(end.ack, end.start) > 0;
        if !is_acknowledged {
            end.ack = segment.seq;
        }
        let is_before_wrap = segment.seq > end.start;
        end.start = segment.seq;
        let last = end.last;
        if is_before_wrap && let Some(detail) = details.of(flow) {
            let detail = &mut detail.sides[side];
            detail.wraps = detail.wraps.saturating_add(1);
            detail.ack_wraps = detail.ack_wraps.saturating_add(is_acknowledged.into());
        }
        match is_acknowledged {
            _ if from == to => {}
            true => self.miss(side, from, to),
            false => self.add_hole(side, from, to),
        }
        last
    }

    fn note_flags(&mut self, side: usize, segment: &Segment, relative: u32) {
        let (syn, fin, rst) = (segment.is(SYN), segment.is(FIN), segment.is(RST));
        let Self { flow, details } = self;
        match u8::from(syn) + u8::from(fin) + u8::from(rst) {
            0 if segment.len > 0 => {
                flow.note_once(Event::Data, side, details);
            }
            0 if segment.is(ACK) => {
                flow.note_once(Event::Ack, side, details);
            }
            0 => {}
            1 if syn => {
                let event = if segment.is(ACK) {
                    Event::Handshake
                } else {
                    Event::Syn
                };
                // Both kinds share a bit: a second one counts when its number differs.
                let bit = 1 << (Event::Syn as u32 + 10 * side as u32);
                if flow.seen & bit == 0 || relative != 0 {
                    flow.note(event, side, details);
                }
                flow.seen |= bit;
            }
            1 if fin => {
                let end = &flow.sides[side];
                let at = relative.wrapping_add(segment.len);
                let last_fin = end.last.wrapping_sub(end.start).wrapping_sub(1);
                if flow.note_once(Event::Fin, side, details) && at != last_fin {
                    flow.note(Event::Fin, side, details);
                }
            }
            1 => {
                let seen = flow.note_once(Event::Reset, side, details);
                let Some(detail) = details.of(flow) else {
                    return;
                };
                let before = detail.sides[side].reset_at.replace(relative);
                if seen && before != Some(relative) {
                    flow.note(Event::Reset, side, details);
                }
            }
            _ if fin && rst => {
                flow.note_once(Event::Inconsistent, side, details);
            }
            _ => {
                flow.note_once(Event::MultiFlag, side, details);
            }
        }
    }

    #[inline]
    fn note_window(&mut self, side: usize, segment: &Segment) {
        // A window of zero does not matter after a FIN of the peer or a RST, because no more data follow.
        if segment.window == 0
            && !segment.is(RST)
            && self.flow.sides[1 - side].state != State::Closed
            && self.flow.sides[side].state != State::Reset
        {
            self.count(side, Event::ZeroWindow, |detail| &mut detail.zero_windows);
        }
    }

    /// Counts something that is rare, with its letter at the 1st, 10th, 100th… time.
    pub(crate) fn count(
        &mut self,
        side: usize,
        event: Event,
        counter: impl FnOnce(&mut SideDetail) -> &mut u32,
    ) {
        let Self { flow, details } = self;
        if let Some(detail) = details.of(flow) {
            let counter = counter(&mut detail.sides[side]);
            *counter = counter.saturating_add(1);
            let count = *counter;
            flow.note_scaled(event, side, count, details);
        }
    }

    /// Processes an acknowledgment of the data of `peer`. Returns the number up to which they were seen or given up before.
    #[inline]
    fn acknowledge(&mut self, peer: usize, segment: &Segment) -> Option<u32> {
        if self.flow.sides[peer].state == State::Inactive {
            self.acknowledge_unseen(peer, segment);
            return None;
        }
        if self.flow.detail != NONE && !segment.is(RST) {
            self.confirm_outlier(peer, segment.ack);
        }
        // The acknowledgment number of a RST is not trusted.
        if segment.is(RST) || !self.is_believed(peer, segment) {
            return None;
        }
        let end = &mut self.flow.sides[peer];
        let before = end.ack;
        let advance = beyond(segment.ack, before);
        // More likely broken than a large connection that happens to come by 0.
        if segment.ack == 0 && advance > JUMP_MAX || advance <= 0 {
            return None;
        }
        end.ack = segment.ack;
        if segment.ack < before {
            let Self { flow, details } = self;
            if let Some(detail) = details.of(flow) {
                detail.sides[peer].ack_wraps += 1;
            }
        }
        Some(before)
    }

    /// Processes an acknowledgment of `peer`, of which no segment with a number of its own was seen: the first one is the start of its
    /// numbers, and data that later ones acknowledge were not captured.
    #[cold]
    fn acknowledge_unseen(&mut self, peer: usize, segment: &Segment) {
        let is_near = self.is_near(1 - peer, segment);
        let saw_syn = self.flow.has_syn(1 - peer);
        let end = &mut self.flow.sides[peer];
        if end.is(Side::ACKNOWLEDGED) || end.last != end.start {
            let first = match end.last == end.start {
                true => end.start.wrapping_add(1),
                false => end.last,
            };
            let known = match beyond(end.ack, first) > 0 {
                true => end.ack,
                false => first,
            };
            let advance = beyond(segment.ack, known);
            if advance > 0 && advance <= LATE_MAX && is_near && !segment.is(RST) {
                end.ack = segment.ack;
                self.miss(peer, known, segment.ack);
                return;
            }
            // The first one may have been of another connection.
            let is_sure = saw_syn || known != first || !is_near;
            if is_sure || advance.unsigned_abs() <= LATE_MAX.unsigned_abs() {
                return;
            }
        }
        // The start is set as if a SYN had been seen.
        end.start = segment.ack.wrapping_sub(1);
        end.ack = end.start;
        end.last = end.start;
        end.flags |= Side::ACKNOWLEDGED;
    }

    /// Whether an acknowledgment of `peer` may be that of its receiver. On an established connection it is, as in Zeek; otherwise
    /// it has to be near the numbers that were seen of both sides.
    #[inline]
    fn is_believed(&self, peer: usize, segment: &Segment) -> bool {
        let end = &self.flow.sides[peer];
        if self.flow.sides.iter().all(Side::is_clean) {
            return true;
        }
        let is_ahead = |of: u32| beyond(segment.ack, of) > LATE_MAX;
        self.is_near(1 - peer, segment) && !(is_ahead(end.last) && is_ahead(end.ack))
    }

    /// True of a segment whose number is near the highest one of its sender.
    fn is_near(&self, side: usize, segment: &Segment) -> bool {
        beyond(segment.seq, self.flow.sides[side].last).unsigned_abs() <= JUMP_MAX.unsigned_abs()
    }

    /// Moves the highest number on. Gives how far the segment is beyond it.
    #[inline]
    fn advance(&mut self, side: usize, segment: &Segment) -> i32 {
        let one_past = segment.seq.wrapping_add(segment.span());
        let end = &mut self.flow.sides[side];
        let advance = beyond(one_past, end.last);
        let jumps = !(-JUMP_MAX..=JUMP_MAX).contains(&advance);
        let moves = if (segment.is(SYN) || segment.is(RST)) && jumps {
            false
        } else if segment.is(FIN) && end.last == end.start.wrapping_add(1) {
            // Only SYN and FIN of a large connection were captured.
            true
        } else {
            end.state != State::Reset && advance > 0
        };
        if moves {
            let wrapped = one_past < end.last;
            end.last = one_past;
            if wrapped {
                let Self { flow, details } = self;
                if let Some(detail) = details.of(flow) {
                    detail.sides[side].wraps += 1;
                }
            }
        } else if !jumps && end.state != State::Reset && segment.len > 0 && advance <= 0 {
            self.count(side, Event::Retransmission, |detail| {
                &mut detail.old_segments
            });
        }
        advance
    }

    /// Finds the holes that data leave or fill.
    #[inline]
    fn place_data(&mut self, side: usize, segment: &Segment, old_last: u32, advance: i32) {
        let from = segment.seq.wrapping_add(segment.is(SYN).into());
        let to = from.wrapping_add(segment.len);
        let ack = self.flow.sides[side].ack;
        let top = if beyond(ack, old_last) > 0 {
            ack
        } else {
            old_last
        };
        // A FIN has a number, too.
        let past = to.wrapping_add(segment.is(FIN).into());
        let is_late =
            self.flow.detail != NONE && !segment.is_cut && self.take_back(side, from, past, top);
        if beyond(from, old_last) >= 0 {
            // Data that were acknowledged without having been seen are given up.
            if beyond(from, top) > 0 {
                self.add_hole(side, top, from);
            }
            if segment.is_cut {
                self.place_cut(side, from, to);
            }
            if let Some(detail) = self.details.get_mut(self.flow.detail) {
                detail.sides[side].tail = from;
            }
            return;
        }
        if segment.len == 0 {
            // A FIN that was overtaken fills the hole that its number was taken for.
            if segment.is(FIN) {
                self.fill(side, segment, from, past);
            }
            return;
        }
        if segment.is_cut {
            self.cut_in_holes(side, from, to);
            self.place_cut(side, old_last, to);
        }
        let keep_alive = segment.len == 1 && beyond(from, old_last) == -1;
        let filled = self.fill(side, segment, from, past);
        if advance > 0 || keep_alive {
            return;
        }
        let Self { flow, details } = self;
        if let Some(detail) = details.of(flow) {
            let detail = &mut detail.sides[side];
            let counter = if filled || is_late {
                &mut detail.out_of_order
            } else {
                &mut detail.retransmissions
            };
            *counter = counter.saturating_add(1);
        }
    }

    /// The state machine; true when the segment closes its side. `side` changes with a flip.
    #[inline]
    fn change_state(&mut self, side: &mut usize, segment: &Segment) -> bool {
        match self.flow.sides[*side].state {
            State::Inactive => self.leave_inactive(side, segment),
            State::SynSent | State::SynAckSent => {
                let end = &mut self.flow.sides[*side];
                if segment.is(FIN) {
                    end.set_state(State::Closed);
                }
                if segment.is(RST) {
                    end.set_state(State::Reset);
                }
                segment.is(FIN) || segment.is(RST)
            }
            State::Established | State::Partial => self.leave_established(*side, segment),
            State::Closed => {
                // A RST after the FINs of both sides is ignored.
                let peer_closed = self.flow.sides[1 - *side].state == State::Closed;
                if segment.is(RST) && !peer_closed {
                    let end = &mut self.flow.sides[*side];
                    end.set_state(State::Reset);
                    return !end.is(Side::DID_CLOSE);
                }
                false
            }
            State::Reset => false,
        }
    }

    fn leave_inactive(&mut self, side: &mut usize, segment: &Segment) -> bool {
        if segment.is(SYN) {
            if *side == 0 && !segment.is(ACK) && self.flow.has_syn(1) {
                self.begin_answered();
            } else if *side == 0 {
                let state = if segment.is(ACK) {
                    State::SynAckSent
                } else {
                    State::SynSent
                };
                self.flow.sides[0].set_state(state);
                self.flow.flags |= Flow::ATTEMPT;
            } else {
                self.answer(side, segment);
            }
        }
        let (me, peer) = (*side, 1 - *side);
        if segment.is(FIN) {
            self.flow.sides[me].set_state(State::Closed);
        }
        if segment.is(RST) {
            self.flow.sides[me].set_state(State::Reset);
        }
        if self.flow.sides[me].state == State::Inactive {
            if me == 1 && segment.len == 0 && self.flow.sides[0].state == State::SynSent {
                // Some acknowledge a SYN before they answer it.
            } else if segment.is(ACK) && self.flow.sides[peer].state == State::Established {
                // Only the SYN was missed.
                self.flow.sides[me].set_state(State::Established);
                self.flow.flags &= !Flow::PARTIAL;
            } else {
                self.flow.sides[me].set_state(State::Partial);
            }
        }
        segment.is(FIN) || segment.is(RST)
    }

    /// A SYN of the originator that was captured behind its answer.
    #[cold]
    fn begin_answered(&mut self) {
        let [originator, responder] = &mut self.flow.sides;
        originator.set_state(State::Established);
        if responder.state == State::SynAckSent {
            responder.set_state(State::Established);
        }
        self.flow.flags |= Flow::ATTEMPT;
    }

    /// A SYN of the responder.
    fn answer(&mut self, side: &mut usize, segment: &Segment) {
        let originator = &self.flow.sides[0];
        let reversed = !segment.is(ACK)
            && originator.state == State::SynAckSent
            && segment.seq == self.flow.sides[1].start;
        if reversed {
            // The answer was captured before the SYN.
            self.flow.flip(self.details);
            *side = 0;
            self.flow.sides[1].set_state(State::Established);
            self.flow.sides[0].set_state(State::Established);
            return;
        }
        if originator.state == State::SynSent {
            self.flow.sides[0].set_state(State::Established);
            if segment.is(ACK) {
                self.flow.flags |= Flow::HANDSHAKE;
            }
        }
        self.flow.sides[1].set_state(State::Established);
    }

    fn leave_established(&mut self, side: usize, segment: &Segment) -> bool {
        let peer = self.flow.sides[1 - side];
        let end = &mut self.flow.sides[side];
        if segment.is(SYN)
            && !segment.is(ACK)
            && end.state == State::Partial
            && peer.state == State::Inactive
        {
            end.set_state(State::SynSent);
        }
        if segment.is(FIN) && !segment.is(RST) {
            end.set_state(State::Closed);
            if peer.state == State::Reset && peer.previous_state == State::Closed {
                // The peer's RST followed its FIN: an orderly end after all.
                self.flow.sides[1 - side].set_state(State::Closed);
            }
        }
        if segment.is(RST) {
            self.flow.sides[side].set_state(State::Reset);
        }
        segment.is(FIN) || segment.is(RST)
    }

    /// Measures the time from the last SYN to the ACK that completes the handshake, as Wireshark's `initial_rtt`.
    #[inline]
    fn note_round_trip(&mut self, side: usize, segment: &Segment, now_ns: i64) {
        let flow = &mut *self.flow;
        if flow.is(Flow::CLOSED) {
            return;
        }
        if segment.is(SYN) {
            if !segment.is(ACK) && side == 0 {
                flow.mark_ns = now_ns;
            }
        } else if flow.is(Flow::HANDSHAKE)
            && flow.round_trip_ns == 0
            && side == 0
            && segment.is(ACK)
            && !segment.is(RST)
        {
            let elapsed = now_ns.saturating_sub(flow.mark_ns).max(0);
            flow.round_trip_ns = u32::try_from(elapsed).unwrap_or(u32::MAX).max(1);
        }
    }

    /// Notes the close of a side when all before it was seen; else it waits.
    fn close(&mut self, side: usize) {
        if self.flow.sides[side].is(Side::DID_CLOSE) {
            return;
        }
        if self.is_pending(side) {
            self.flow.sides[side].flags |= Side::CLOSE_WAITS;
            return;
        }
        let peer = self.flow.sides[1 - side];
        let end = &mut self.flow.sides[side];
        end.flags = end.flags & !Side::CLOSE_WAITS | Side::DID_CLOSE;
        let complete =
            end.state == State::Reset || peer.is(Side::DID_CLOSE) || peer.state == State::Inactive;
        if complete && !self.flow.is(Flow::CLOSED) {
            self.flow.flags |= Flow::CLOSED;
            self.flow.mark_ns = self.flow.last_ns;
        }
    }

    /// True while data of `side` are missing, or of its peer were not acknowledged.
    fn is_pending(&self, side: usize) -> bool {
        let detail = self.details.get(self.flow.detail);
        if detail.is_some_and(|detail| detail.sides[side].misses_data()) {
            return true;
        }
        let peer = &self.flow.sides[1 - side];
        let sent = peer.last.wrapping_sub(u32::from(peer.is(Side::FIN)));
        let unacknowledged = beyond(peer.ack, peer.start) <= 1
            && u64::from(sent.wrapping_sub(peer.start)) > UNACKNOWLEDGED_MAX;
        self.flow.sides[side].state != State::Reset
            && peer.state != State::Inactive
            && peer.payload_bytes() > 0
            && beyond(sent, peer.ack) > 0
            && !unacknowledged
    }

    /// True for a number from before the connection, as far as the highest one tells.
    #[inline]
    fn is_before_start(&self, side: usize, seq: u32, old_last: u32) -> bool {
        let end = &self.flow.sides[side];
        let back = i64::from(beyond(seq, old_last));
        if back >= 0 {
            return false;
        }
        let detail = self.details.get(self.flow.detail);
        let wraps = detail.map_or(0, |detail| detail.sides[side].wraps);
        let reached = full(old_last, wraps).saturating_sub(i64::from(end.start));
        reached.saturating_add(back) < 0
    }
}

/// A sequence number with its wraps.
fn full(number: u32, wraps: u32) -> i64 {
    i64::from(wraps) << 32 | i64::from(number)
}

/// Payload bytes of a side by its sequence numbers, as Zeek's `orig_bytes` and `resp_bytes`.
pub(crate) fn bytes_by_sequence(flow: &Flow, details: &Details, side: usize) -> u64 {
    let (end, peer) = (&flow.sides[side], &flow.sides[1 - side]);
    if end.state == State::Inactive {
        return 0;
    }
    let detail = details.get(flow.detail).map(|detail| detail.sides[side]);
    let (wraps, ack_wraps) = detail.map_or((0, 0), |detail| (detail.wraps, detail.ack_wraps));
    let acknowledged = beyond(end.ack, end.start);
    if end.previous_state == State::SynSent
        && end.state == State::Reset
        && peer.state == State::Inactive
        && !(0..=1).contains(&acknowledged)
    {
        // A connection of before, found half open and given up.
        return 0;
    }
    let top = full(end.last, wraps).max(full(end.ack, ack_wraps));
    let size = top.saturating_sub(i64::from(end.start));
    let size = if size < 0 { 0 } else { size as u64 };
    // Neither the SYN, which is counted even where none was seen, nor the FIN is data.
    let size = size.saturating_sub(1);
    size.saturating_sub(u64::from(end.is(Side::FIN)))
}
