//! Packets that a capture lacks, packets without their ends, and connections without one direction.

use std::collections::{BTreeMap, BTreeSet};

use super::header::{FIN, RST, SYN};
use super::{Account, Capture, Draw, Ends, How};

/// Leaves packets out.
pub(super) fn loss(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    leave_out(draw, capture, account, |ends, origin, _| {
        draw.frame(ends, origin, per_mille).is_some()
    });
}

/// Leaves out one direction of connections.
pub(super) fn one_direction(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    per_mille: u16,
) {
    leave_out(draw, capture, account, |ends, origin, from_low| {
        let random = draw.connection(ends, None, per_mille);
        random.is_some_and(|mut random| random.percent(50) == from_low) && draw.allows(origin)
    });
}

/// Leaves out the first packets of connections.
pub(super) fn late_beginnings(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, packets): (u16, u16),
) {
    let mut sent: BTreeMap<Ends, u64> = BTreeMap::new();
    leave_out(draw, capture, account, |ends, origin, _| {
        let before = sent.entry(*ends).or_default();
        *before += 1;
        let random = draw.connection(ends, None, per_mille);
        let gone = random.map_or(0, |mut random| random.between(1, u64::from(packets.max(1))));
        *before <= gone && draw.allows(origin)
    });
}

/// Leaves out segments without data of senders that have sent some.
pub(super) fn acks(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    let link_types = capture.link_types.clone();
    let mut have_sent: BTreeSet<(Ends, bool)> = BTreeSet::new();
    capture.frames.retain(|frame| {
        let link_type = link_types.get(frame.interface as usize).copied();
        let header = link_type.and_then(|it| super::IpHeaders::of(it, &frame.bytes));
        let (Some(header), Some(origin)) = (header, frame.origin) else {
            return true;
        };
        let Some(tcp) = header.tcp else {
            return true;
        };
        let ends = draw.connections.ends(&header);
        let way = (ends, header.from_low());
        let has_data = header.payload_range(&frame.bytes).1 > 0;
        if tcp.has(SYN) {
            have_sent.remove(&way);
        } else if has_data {
            have_sent.insert(way);
        }
        let is_ack = !has_data && !tcp.has(SYN | FIN | RST) && have_sent.contains(&way);
        let is_lost = is_ack && draw.frame(&ends, origin, per_mille).is_some();
        if is_lost {
            account.touch(origin, ends, &header, &frame.bytes, How::Unacknowledged);
        }
        !is_lost
    });
}

fn leave_out(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    mut is_lost: impl FnMut(&Ends, usize, bool) -> bool,
) {
    let link_types = capture.link_types.clone();
    capture.frames.retain(|frame| {
        let link_type = link_types.get(frame.interface as usize).copied();
        let header = link_type.and_then(|link_type| super::IpHeaders::of(link_type, &frame.bytes));
        let (Some(header), Some(origin)) = (header, frame.origin) else {
            return true;
        };
        let ends = draw.connections.ends(&header);
        let is_lost = is_lost(&ends, origin, header.from_low());
        if is_lost {
            account.touch(origin, ends, &header, &frame.bytes, How::Lost);
        }
        !is_lost
    });
}

/// Cuts packets, as a capture does that keeps their beginnings only.
pub(super) fn cuts(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, snap_len): (u16, u16),
) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let (Some(header), Some(origin)) = (capture.header(frame), frame.origin) else {
            continue;
        };
        let ends = draw.connections.ends(&header);
        let is_shorter = usize::from(snap_len) < frame.bytes.len().min(header.end);
        if !is_shorter || draw.frame(&ends, origin, per_mille).is_none() {
            continue;
        }
        let kept = usize::from(snap_len).saturating_sub(header.payload());
        let how = How::Cut(u32::try_from(kept).unwrap_or(u32::MAX));
        account.touch(origin, ends, &header, &frame.bytes, how);
        capture.frames[index].bytes.truncate(usize::from(snap_len));
    }
}
