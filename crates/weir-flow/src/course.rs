//! Decides which segments begin and end a TCP connection. Flow table and stream reassembly share it, so that they agree on the
//! connection of each segment.
//!
//! - A SYN begins a connection where the one before it of the same ends is over, or never came about.
//! - Data with other numbers behind the end of a connection begin another one, whose SYN was not captured. In a connection that lives,
//!   a segment of which both numbers are of another one is an attempt, as a SYN is: it may be forged.
//! - A SYN in a connection that lives begins nothing by itself (RFC 9293, 3.10.7.4; RFC 5961, 4.2): it is an attempt
//!   beside that connection until a later segment shows which of both the ends went on with.
//! - A reset ends a connection only where its number lies in the window of its receiver (RFC 5961, 3.2), or, before the
//!   connection is established, where it acknowledges the SYN (RFC 9293, 3.10.7.3).
//! - Two SYNs that cross are one connection (RFC 9293, 3.5).

use crate::flow::{Details, Flow, Side, State};
use crate::key::Sender;
use crate::segment::{ACK, LATE_MAX, RST, SYN, Segment, beyond};

/// The relation of a segment to the known connections of its endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The segment belongs to the known connection, or to the younger one of two.
    GoesOn,
    /// The segment begins a connection, and all known ones are over.
    Begins,
    /// The segment may begin a connection beside the known one, which is open. An earlier attempt has failed.
    Attempts,
    /// The segment shows that the endpoints continue with the younger connection.
    Proves,
    /// The segment belongs to the older connection: the attempt has failed.
    Returns,
}

/// The relation of a segment of `sender` to a connection, and to an older one of the same endpoints that may still be open.
#[inline]
pub(crate) fn turn(flow: &Flow, older: Option<&Flow>, sender: Sender, segment: &Segment) -> Turn {
    match older {
        Some(older) => of_two(flow, older, sender, segment),
        None if segment.flags & SYN != 0 => of_one(flow, sender, segment),
        None if segment.flags & (ACK | RST) != ACK => Turn::GoesOn,
        None => {
            let end = &flow.sides[flow.side_of(sender)];
            // The first segment of a side has no numbers before it.
            let is_near = beyond(segment.seq, end.last).unsigned_abs() <= LATE_MAX.unsigned_abs();
            match is_near {
                true => Turn::GoesOn,
                false => of_far(flow, sender, segment),
            }
        }
    }
}

/// The relation of a segment without SYN to the only connection of its endpoints, when its number is far from the last one that its
/// sender sent: another connection may have begun, whose SYN was not captured.
#[cold]
fn of_far(flow: &Flow, sender: Sender, segment: &Segment) -> Turn {
    let side = flow.side_of(sender);
    let numbers = [
        distance(segment.seq, &flow.sides[side]),
        distance(segment.ack, &flow.sides[1 - side]),
    ];
    let is_far = |ahead: i32| ahead.unsigned_abs() > LATE_MAX.unsigned_abs();
    if !numbers.into_iter().flatten().all(is_far) {
        return Turn::GoesOn;
    }
    let has_data = segment.len > 0;
    if is_over(flow) {
        return match has_data && flow.is(Flow::CLOSED) {
            true => Turn::Begins,
            false => Turn::GoesOn,
        };
    }
    // Numbers that are ahead may be of the same connection, behind a long loss.
    let is_of_another = |ahead: i32| !(0..=LOSS_MAX).contains(&ahead);
    let is_attempt = match numbers {
        [Some(seq), Some(ack)] => is_of_another(seq) || is_of_another(ack),
        // Nothing but SYNs was seen, which were not answered.
        _ => has_data && !lives(flow),
    };
    match is_attempt {
        true => Turn::Attempts,
        false => Turn::GoesOn,
    }
}

/// Octets of a connection that are lost at once in both directions, at most: the largest window (RFC 7323, 2.3).
pub(crate) const LOSS_MAX: i32 = 1 << 30;

/// How far a number is ahead of the nearest one of what a side sent last and what of it was acknowledged last; `None` where its numbers
/// are not known.
fn distance(number: u32, side: &Side) -> Option<i32> {
    let both = [side.last, side.ack].map(|known| beyond(number, known));
    is_known(side).then(|| both[usize::from(both[1].unsigned_abs() < both[0].unsigned_abs())])
}

/// The relation of a SYN to the only connection of its endpoints.
#[cold]
fn of_one(flow: &Flow, sender: Sender, segment: &Segment) -> Turn {
    let [originator, responder] = &flow.sides;
    let closed = [originator, responder].map(|side| side.is(Side::DID_CLOSE));
    if segment.flags & ACK != 0 {
        // A client that was refused has tried again, and that SYN was missed.
        let is_of_another = is_refused(flow) && flow.side_of(sender) == 1;
        if is_of_another && answers(originator, segment.ack) {
            return Turn::Begins;
        }
        // The SYN of a connection behind the end of this one was missed.
        let (end, peer) = (flow.side_of(sender), 1 - flow.side_of(sender));
        let is_repeated =
            segment.seq == flow.sides[end].start || answers(&flow.sides[peer], segment.ack);
        if is_over(flow) && !is_repeated && segment.flags & RST == 0 {
            return Turn::Begins;
        }
        // Only an answer to a SYN that was missed begins anything.
        return match originator.state == State::Inactive {
            true if closed.contains(&true) || segment.seq != responder.start => Turn::Begins,
            _ => Turn::GoesOn,
        };
    }
    let side = flow.side_of(sender);
    let end = &flow.sides[side];
    // The SYN was captured behind its answer, or behind all that was sent.
    let is_reset = flow.sides.iter().any(|side| side.state == State::Reset);
    if !is_reset && !flow.has_syn(side) && is_known(end) && segment.seq == end.start {
        return Turn::GoesOn;
    }
    // A connection that was refused is tried again with the same number.
    if is_over(flow) {
        return Turn::Begins;
    }
    if closed.contains(&true) {
        return Turn::Attempts;
    }
    let crosses =
        side == 1 && originator.state == State::SynSent && responder.state == State::Inactive;
    let is_known = is_known(end) && segment.seq == end.start;
    if crosses || is_known || flow.is_late_syn(side, segment) {
        return Turn::GoesOn;
    }
    match lives(flow) {
        // A reset opens nothing, whatever other flags it has (RFC 9293, 3.10.7.2).
        true if segment.flags & RST != 0 => Turn::GoesOn,
        true => Turn::Attempts,
        false => Turn::Begins,
    }
}

/// The relation of a segment to an attempt, and to the connection that was open when the attempt began.
#[cold]
fn of_two(young: &Flow, old: &Flow, sender: Sender, segment: &Segment) -> Turn {
    let Segment {
        seq, ack, flags, ..
    } = *segment;
    let has = |flag: u8| flags & flag != 0;
    let first = young.sides[0].start.wrapping_add(1);
    let end = &old.sides[old.side_of(sender)];
    let other = &old.sides[1 - old.side_of(sender)];
    if has(SYN) && !has(ACK) {
        return match () {
            () if is_known(end) && seq == end.start => Turn::Returns,
            () if seq == first.wrapping_sub(1) && !is_over(young) => Turn::GoesOn,
            () => Turn::Attempts,
        };
    }
    if !young.has_syn(0) {
        return of_two_begun(young, old, sender, segment);
    }
    let is_of_young = if young.side_of(sender) == 0 {
        !is_known(end) || is_nearer(seq, first, end.last)
    } else if has(ACK) {
        !is_known(other) || is_nearer(ack, first, other.last)
    } else {
        !is_known(end)
    };
    match is_of_young {
        // An attempt that is refused or abandoned does not affect the other connection.
        true if has(RST) => Turn::GoesOn,
        true => Turn::Proves,
        false => Turn::Returns,
    }
}

/// The relation of a segment without SYN to a connection that may have begun before the capture, and to the one that was open when its
/// first segment came. It is proven by a segment of the other end, or by data behind those of the same one.
#[cold]
fn of_two_begun(young: &Flow, old: &Flow, sender: Sender, segment: &Segment) -> Turn {
    let far = |flow: &Flow| {
        let side = flow.side_of(sender);
        let seq = distance(segment.seq, &flow.sides[side]);
        let ack = distance(segment.ack, &flow.sides[1 - side]);
        [seq, ack].map(|ahead| ahead.map(i32::unsigned_abs))
    };
    let is_of_young = match (far(young), far(old)) {
        ([Some(young), _], [Some(old), _]) | ([_, Some(young)], [_, Some(old)]) => young < old,
        _ => true,
    };
    let end = &young.sides[young.side_of(sender)];
    let goes_on = segment.len > 0 && beyond(segment.seq, end.last) >= 0;
    match is_of_young {
        false => Turn::Returns,
        true if segment.flags & RST != 0 => Turn::GoesOn,
        true if end.state == State::Inactive || goes_on => Turn::Proves,
        true => Turn::GoesOn,
    }
}

/// Whether `number` is nearer to `one` than to `other`.
const fn is_nearer(number: u32, one: u32, other: u32) -> bool {
    beyond(number, one).unsigned_abs() < beyond(number, other).unsigned_abs()
}

/// Whether the numbers of a direction are known, from its own segments or from their acknowledgment.
const fn is_known(side: &Side) -> bool {
    let is_active = !matches!(side.state, State::Inactive);
    // Numbers may begin with 0.
    is_active || side.is(Side::ACKNOWLEDGED) || side.start != 0 || side.ack != 0
}

/// True once both ends have closed, or one was reset.
pub(crate) fn is_over(flow: &Flow) -> bool {
    let [originator, responder] = &flow.sides;
    let was_reset = |side: &Side| side.is(Side::DID_CLOSE) && side.state == State::Reset;
    was_reset(originator)
        || was_reset(responder)
        || originator.is(Side::DID_CLOSE) && responder.is(Side::DID_CLOSE)
}

/// Returns true when a connection had only SYNs and the reset that refused them.
fn is_refused(flow: &Flow) -> bool {
    let [originator, responder] = &flow.sides;
    responder.is(Side::DID_CLOSE)
        && responder.state == State::Reset
        && !flow.has_syn(1)
        && beyond(originator.last, originator.start) <= 1
}

/// Returns true when a connection had more than attempts to open it.
fn lives(flow: &Flow) -> bool {
    let [originator, responder] = &flow.sides;
    responder.state != State::Inactive
        || originator.state == State::Partial
        || beyond(originator.last, originator.start) > 1
}

/// Whether an acknowledgment number acknowledges the SYN of a side, with the data that the SYN carried.
pub(crate) const fn answers(side: &Side, ack: u32) -> bool {
    beyond(ack, side.start) > 0 && beyond(side.last, ack) >= 0
}

/// Whether a reset from `side` ends the connection: see RFC 5961, 3.2, and RFC 9293, 3.10.7.3.
///
/// The receiver's window is known by what it acknowledged and by the scale of its SYN; it is taken for as large as it
/// can be. The number that the sender is known to have come to counts too, as acknowledgments may have been missed.
#[cold]
pub(crate) fn accepts_reset(
    flow: &Flow,
    details: &Details,
    side: usize,
    segment: &Segment,
) -> bool {
    let (end, peer) = (&flow.sides[side], &flow.sides[1 - side]);
    let is_refused = peer.state == State::SynSent && end.state == State::Inactive;
    if is_refused && segment.flags & ACK != 0 && answers(peer, segment.ack) {
        return true;
    }
    if !is_known(end) {
        return !is_refused;
    }
    // A peer that has a connection yet acknowledges what it has of it (RFC 5961, 4.2), and that one is reset.
    let answers = details.get(flow.detail).map(|detail| detail.answers);
    let is_challenged = answers.is_some_and(|all| all.acknowledge(segment.seq));
    if is_challenged && end.state == State::SynSent {
        return true;
    }
    let window = i32::from(u16::MAX) << flow.shift(1 - side);
    // One before what was acknowledged is the number of a FIN, or of the SYN that is given up.
    let is_of_end = end.is(Side::FIN) || matches!(end.state, State::SynSent | State::SynAckSent);
    let lowest = if is_of_end { -1 } else { 0 };
    if (lowest..=0).contains(&beyond(segment.seq, end.last)) {
        return true;
    }
    let acked = beyond(segment.seq, end.ack);
    if (lowest..=window).contains(&acked) {
        return true;
    }
    // The receive window may be anywhere in the sent bytes when there are no acknowledgments.
    let is_unacknowledged = beyond(end.ack, end.start) <= 1;
    is_unacknowledged && acked > 0 && beyond(segment.seq, end.last) <= window
}
