//! Octets of a TCP connection that were not captured: what was acknowledged and not seen, and what lies before octets that
//! were seen.
//!
//! Numbers that were not seen wait as a hole until they come, are acknowledged, or the flow ends. The bytes of segments
//! that were not captured whole wait apart from these. Bytes that were counted as missing and come after all are
//! subtracted again.

use crate::course::LOSS_MAX;
use crate::flow::{Flow, Side, SideDetail, State};
use crate::history::Event;
use crate::ranges::{Ranges, Removed};
use crate::segment::{FIN, LATE_MAX, RST, SYN, Segment, beyond};
use crate::slab::NONE;
use crate::tcp::TcpUpdate;

impl TcpUpdate<'_> {
    /// Counts what `side`'s peer acknowledged from `from` to `to` and was not seen, or not captured.
    pub(crate) fn find_gaps(&mut self, side: usize, from: u32, to: u32) {
        let Self { flow, details } = self;
        let end = flow.sides[side];
        // The first acknowledgment of a connection whose start was not captured is no evidence of missing data.
        let begin = (0..=2).contains(&beyond(to, end.start)) && flow.is(Flow::PARTIAL);
        let clean = flow.sides.iter().all(Side::is_clean);
        let mut missed = Missed::default();
        if let Some(detail) = details.get_mut(flow.detail) {
            missed.give_up(&mut detail.sides[side], to);
        }
        // Beyond what was seen at all.
        let mut known = end.last;
        if known == end.start {
            // The SYN that is counted though none was seen.
            known = known.wrapping_add(1);
        }
        if beyond(from, known) > 0 {
            known = from;
        }
        // Data behind a reset are not taken in, whether they were captured or not.
        if beyond(to, known) > 0 && !begin && end.state != State::Reset {
            missed.push((known, to));
            self.note_ahead(side, known, to);
        }
        for (from, to) in missed.ranges() {
            self.miss(side, from, to);
            // Zeek counts missing data of connections that are established, or closed in order.
            if clean {
                self.count(side, Event::Gap, |detail| &mut detail.gaps);
            }
        }
    }

    /// Notes that the numbers from `from` to `to` are counted, which are behind all that was seen.
    #[cold]
    fn note_ahead(&mut self, side: usize, from: u32, to: u32) {
        let Self { flow, details } = self;
        let end = flow.sides[side];
        // The SYN that is counted though none was seen.
        let is_syn = end.last == end.start && from == end.last.wrapping_add(1);
        let begins = from == end.last || is_syn;
        if let Some(detail) = details.of(flow) {
            let detail = &mut detail.sides[side];
            let before = if begins { 0 } else { detail.ahead };
            detail.ahead = before.saturating_add(to.wrapping_sub(from));
        }
    }

    /// Takes back what was acknowledged behind all that was seen when its sender goes on where it stood: it had not sent it
    /// yet. An endpoint answers such an acknowledgment with one of its own, which has this number (RFC 9293, 3.10.7.4). Without a
    /// segment that says so, packets that were not captured are the likelier reason: receivers acknowledge what they have.
    #[inline]
    pub(crate) fn refute(&mut self, side: usize, segment: &Segment, last: u32) {
        let end = &self.flow.sides[side];
        if self.flow.detail != NONE
            && segment.seq == last
            && beyond(end.ack, last) > 0
            && !segment.is(SYN | RST)
        {
            self.take_back_ahead(side, last);
        }
    }

    #[cold]
    fn take_back_ahead(&mut self, side: usize, last: u32) {
        let Self { flow, details } = self;
        let end = &mut flow.sides[side];
        let Some(detail) = details.get_mut(flow.detail) else {
            return;
        };
        let detail = &mut detail.sides[side];
        let ahead = detail.ahead.min(end.ack.wrapping_sub(last));
        if ahead == 0 {
            return;
        }
        // Bytes that were acknowledged before the first segment of the side are not among them, and are subtracted as
        // they come.
        let from = end.ack.wrapping_sub(ahead);
        detail.ahead = 0;
        detail.missed_bytes = detail.missed_bytes.saturating_sub(ahead.into());
        detail.given_up.remove(from, end.ack);
        if end.ack < from {
            detail.ack_wraps = detail.ack_wraps.saturating_sub(1);
        }
        // The bytes in between are missing once bytes behind them are seen, or once they are acknowledged again.
        end.ack = from;
    }

    /// Whether a segment is farther ahead of all that was seen and acknowledged of its side than a window reaches, and nothing else shows
    /// that the connection has come so far: it may be forged, and its receiver would not take it (RFC 9293, 3.10.7.4). It counts once
    /// the next one of its side goes on behind it, or the receiver acknowledges it, as behind a long loss of packets.
    #[inline]
    pub(crate) fn is_outlier(&mut self, side: usize, segment: &Segment) -> bool {
        let end = &self.flow.sides[side];
        !segment.is(SYN | FIN | RST)
            && end.state != State::Inactive
            && beyond(segment.seq, end.last) > LATE_MAX
            && beyond(segment.seq, end.ack) > LATE_MAX
            && self.is_alone(side, segment)
    }

    #[cold]
    fn is_alone(&mut self, side: usize, segment: &Segment) -> bool {
        let Self { flow, details } = self;
        let Some(detail) = details.of(flow) else {
            return false;
        };
        let is_ahead = |number: u32, to: u32| (0..=LOSS_MAX).contains(&beyond(number, to));
        // An acknowledgment without data that comes twice is alone, too.
        let goes_on = |(from, to): (u32, u32)| {
            is_ahead(segment.seq, to) && (segment.len > 0 || segment.seq != from)
        };
        // One that the connection has passed by says nothing more.
        let [of_side, of_peer] = [side, 1 - side].map(|side| {
            let outlier = detail.sides[side].outlier;
            outlier.filter(|(_, to)| beyond(*to, flow.sides[side].last) > 0)
        });
        let is_answer = of_peer.is_some_and(|(from, _)| is_ahead(segment.ack, from));
        if of_side.is_some_and(goes_on) {
            self.place_outlier(side);
            return false;
        }
        if !is_answer {
            let to = segment.seq.wrapping_add(segment.len);
            detail.sides[side].outlier = Some((segment.seq, to));
        }
        !is_answer
    }

    /// The peer of a side acknowledges a number: a segment of the side that was far ahead counts when all before it was received.
    #[cold]
    pub(crate) fn confirm_outlier(&mut self, side: usize, ack: u32) {
        let detail = self.details.get(self.flow.detail);
        let outlier = detail.and_then(|detail| detail.sides[side].outlier);
        if outlier.is_some_and(|(from, _)| (0..=LATE_MAX).contains(&beyond(ack, from))) {
            self.place_outlier(side);
        }
    }

    /// Takes in the numbers of a segment that was far ahead of its side.
    fn place_outlier(&mut self, side: usize) {
        let Self { flow, details } = self;
        let detail = details.get_mut(flow.detail);
        let Some(detail) = detail.map(|detail| &mut detail.sides[side]) else {
            return;
        };
        let end = &mut flow.sides[side];
        let Some((from, to)) = detail.outlier.take() else {
            return;
        };
        if beyond(to, end.last) <= 0 {
            return;
        }
        let top = if beyond(end.ack, end.last) > 0 {
            end.ack
        } else {
            end.last
        };
        detail.wraps = detail.wraps.saturating_add((to < end.last).into());
        detail.tail = from;
        end.last = to;
        if beyond(from, top) > 0 {
            self.add_hole(side, top, from);
        }
    }

    /// Records a hole. If there is no room for it, it counts as missed before it is acknowledged.
    #[cold]
    pub(crate) fn add_hole(&mut self, side: usize, from: u32, to: u32) {
        let Self { flow, details } = self;
        let detail = details.of(flow);
        if let Some((from, to)) = detail.and_then(|detail| detail.sides[side].holes.add(from, to)) {
            self.miss(side, from, to);
        }
    }

    /// Removes the numbers of a segment from the holes. True when there were any.
    pub(crate) fn fill(&mut self, side: usize, segment: &Segment, from: u32, to: u32) -> bool {
        let Some(detail) = self.details.get_mut(self.flow.detail) else {
            return false;
        };
        let detail = &mut detail.sides[side];
        let cut = match segment.is_cut {
            true => Removed::default(),
            false => detail.cut.remove(from, to),
        };
        let hole = detail.holes.remove(from, to);
        // A range for which there is no more room counts now, rather than never.
        for (from, to) in [cut.lost, hole.lost].into_iter().flatten() {
            self.miss(side, from, to);
        }
        hole.any
    }

    /// Counts the numbers from `from` to `to` as missed, until they come after all.
    #[cold]
    pub(crate) fn miss(&mut self, side: usize, from: u32, to: u32) {
        let Self { flow, details } = self;
        let Some(detail) = details.of(flow) else {
            return;
        };
        let detail = &mut detail.sides[side];
        let missed = to.wrapping_sub(from);
        detail.missed_bytes = detail.missed_bytes.saturating_add(missed.into());
        if missed <= LATE_MAX.unsigned_abs() {
            // Ranges of the previous round of sequence numbers do not count.
            detail.given_up.remove(from, to);
            detail.given_up.add(from, to);
        }
    }

    /// Subtracts the numbers from `from` to `to` from the missed ones, because they were captured after all. `top` is the highest
    /// number that was seen or acknowledged before. True when there were any.
    pub(crate) fn take_back(&mut self, side: usize, from: u32, to: u32, top: u32) -> bool {
        let to = if beyond(to, top) > 0 { top } else { to };
        let Some(detail) = self.details.get_mut(self.flow.detail) else {
            return false;
        };
        if beyond(to, from) <= 0 || beyond(top, to) > LATE_MAX {
            return false;
        }
        let detail = &mut detail.sides[side];
        let count = detail.given_up.count_within(from, to);
        if count == 0 {
            return false;
        }
        detail.given_up.remove(from, to);
        detail.missed_bytes = detail.missed_bytes.saturating_sub(count.into());
        true
    }

    /// Takes back data from before the first segment of a side, which came late: they were counted when they were acknowledged. A side
    /// without a SYN begins with them, and so it does with data just before it where the connection began in the capture.
    #[cold]
    pub(crate) fn place_before(&mut self, side: usize, segment: &Segment) {
        let end = self.flow.sides[side];
        if segment.is_cut || segment.is(SYN) || self.flow.has_syn(side) {
            return;
        }
        let top = if beyond(end.ack, end.last) > 0 {
            end.ack
        } else {
            end.last
        };
        let to = segment.seq.wrapping_add(segment.len);
        let is_next = to == end.start.wrapping_add(1) && self.flow.has_syn(1 - side);
        if !self.take_back(side, segment.seq, to, top) && !is_next {
            return;
        }
        let Self { flow, details } = self;
        let Some(detail) = details.of(flow) else {
            return;
        };
        let detail = &mut detail.sides[side];
        detail.out_of_order = detail.out_of_order.saturating_add(1);
        let start = segment.seq.wrapping_sub(1);
        let is_acknowledged = beyond(end.ack, end.start) > 0;
        if start > end.start {
            // The numbers begin before 0.
            detail.wraps = detail.wraps.saturating_add(1);
            detail.ack_wraps = detail.ack_wraps.saturating_add(is_acknowledged.into());
        }
        flow.sides[side].start = start;
        if !is_acknowledged {
            flow.sides[side].ack = start;
        }
    }

    /// Records data whose segment was seen and not captured whole. Zeek ignores such a segment, so that its data are missing when
    /// they are acknowledged.
    #[cold]
    pub(crate) fn place_cut(&mut self, side: usize, from: u32, to: u32) {
        let Self { flow, details } = self;
        let ack = flow.sides[side].ack;
        // Data that were acknowledged before their segment are counted already.
        let from = if beyond(ack, from) > 0 { ack } else { from };
        if beyond(to, from) <= 0 {
            return;
        }
        let detail = details.of(flow);
        // A range too many counts before it is acknowledged, rather than never.
        if let Some((from, to)) = detail.and_then(|detail| detail.sides[side].cut.add(from, to)) {
            self.miss(side, from, to);
        }
    }

    /// The parts of the numbers from `from` to `to` that were not seen before, of a segment that was not
    /// captured whole.
    #[cold]
    pub(crate) fn cut_in_holes(&mut self, side: usize, from: u32, to: u32) {
        let detail = self.details.get(self.flow.detail);
        let Some(holes) = detail.map(|detail| detail.sides[side].holes) else {
            return;
        };
        for &(start, end) in holes.as_slice() {
            let start = if beyond(from, start) > 0 { from } else { start };
            let end = if beyond(end, to) > 0 { to } else { end };
            if beyond(end, start) > 0 {
                self.place_cut(side, start, end);
            }
        }
    }
}

impl SideDetail {
    /// True while data are missing that were not acknowledged yet.
    pub(crate) const fn misses_data(&self) -> bool {
        !self.holes.is_empty() || !self.cut.is_empty()
    }

    /// Octets that were never acknowledged and are missing all the same, as others were seen behind them.
    fn missing_before_others(&self) -> u64 {
        let len = |&(from, to): &(u32, u32)| u64::from(to.wrapping_sub(from));
        let is_likely = |range: &&(u32, u32)| len(range) <= LATE_MAX.unsigned_abs().into();
        let holes = self.holes.as_slice().iter().filter(is_likely).map(len);
        let cut = self.cut.as_slice().first();
        let cut = cut.map_or(0, |first| self.cut.count_within(first.0, self.tail));
        holes.sum::<u64>().saturating_add(cut.into())
    }
}

/// Octets of a side that were not captured, as far as that is known when its flow is given out, for the last time or
/// not: what is not acknowledged may come yet.
pub(crate) fn missed_bytes(detail: &SideDetail, is_last: bool) -> u64 {
    let waiting = match is_last {
        true => detail.missing_before_others(),
        false => 0,
    };
    detail.missed_bytes.saturating_add(waiting)
}

/// The numbers that one acknowledgment leaves missing: ordered ranges, of which adjacent ones are merged.
#[derive(Default)]
struct Missed {
    at: [(u32, u32); 2 * Ranges::MAX + 1],
    count: usize,
}

impl Missed {
    /// Removes the unseen numbers below `to`, and those that were not captured.
    fn give_up(&mut self, detail: &mut SideDetail, to: u32) {
        loop {
            let hole = detail.holes.as_slice().first();
            let cut = detail.cut.as_slice().first();
            let is_hole = match (hole, cut) {
                (Some(hole), Some(cut)) => beyond(hole.0, cut.0) <= 0,
                (hole, _) => hole.is_some(),
            };
            let ranges = match is_hole {
                true => &mut detail.holes,
                false => &mut detail.cut,
            };
            // The first of both begins beyond `to`, so the other one does too.
            let Some(range) = ranges.give_up(to) else {
                return;
            };
            self.push(range);
        }
    }

    fn push(&mut self, range: (u32, u32)) {
        let last = self.count.checked_sub(1);
        if let Some(last) = last.and_then(|last| self.at.get_mut(last))
            && last.1 == range.0
        {
            last.1 = range.1;
        } else if let Some(place) = self.at.get_mut(self.count) {
            *place = range;
            self.count += 1;
        }
    }

    fn ranges(self) -> impl Iterator<Item = (u32, u32)> {
        self.at.into_iter().take(self.count)
    }
}
