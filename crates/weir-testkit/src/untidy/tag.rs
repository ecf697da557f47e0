//! VLAN tags, and labels of MPLS.

use super::header::u16_at;
use super::{Account, Capture, Draw, How};

/// Puts a tag (IEEE 802.1Q) into the packets of connections. Both directions have one identifier, or each its own, as
/// where a router sends them through different networks. Fragments of a packet have the same. With `is_double`, one of a provider
/// (IEEE 802.1ad) stands before it.
pub(super) fn add(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    per_mille: u16,
    is_double: bool,
) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let Some(drawn) = draw.over_ethernet(capture, frame, per_mille) else {
            continue;
        };
        let (header, origin, ends, mut random) = drawn;
        if !draw.allows(origin) {
            continue;
        }
        let one = random.between(1, 4_094) as u16;
        let other = match random.percent(50) {
            true => one,
            false => random.between(1, 4_094) as u16,
        };
        let vlan = if header.from_low() { one } else { other };
        account.touch(origin, ends, &header, &frame.bytes, How::Tagged(vlan));
        let frame = &mut capture.frames[index];
        let mut tags = [[0x81, 0x00], vlan.to_be_bytes()].concat();
        if is_double {
            tags.splice(0..0, [0x88, 0xa8, 0x00, 0x64]);
        }
        frame.wire_len = frame.wire_len.saturating_add(tags.len() as u32);
        frame.bytes.splice(12..12, tags);
    }
}

/// Puts a tag without a VLAN into the packets of one direction of connections: its identifier is 0, and only its priority says something.
pub(super) fn prioritize(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    per_mille: u16,
) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let Some(drawn) = draw.over_ethernet(capture, frame, per_mille) else {
            continue;
        };
        let (header, origin, ends, mut random) = drawn;
        let is_tagged = random.percent(50) == header.from_low();
        if !is_tagged || !draw.allows(origin) {
            continue;
        }
        let priority = random.below(8) as u8;
        account.touch(origin, ends, &header, &frame.bytes, How::Tagged(0));
        let frame = &mut capture.frames[index];
        frame.wire_len = frame.wire_len.saturating_add(4);
        frame.bytes.splice(12..12, [0x81, 0x00, priority << 5, 0]);
    }
}

/// Puts labels (RFC 3032) before the packets of connections.
pub(super) fn label(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, count): (u16, u8),
) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let Some(drawn) = draw.over_ethernet(capture, frame, per_mille) else {
            continue;
        };
        let (header, origin, ends, mut random) = drawn;
        let type_at = header.ip - 2;
        let ethertype = u16_at(&frame.bytes, type_at);
        let is_plain = matches!(ethertype, Some(0x0800 | 0x86dd)) && header.is_whole(&frame.bytes);
        if !is_plain || count == 0 || !draw.allows(origin) {
            continue;
        }
        let mut labels = Vec::new();
        for before in (0..count).rev() {
            // The numbers up to 15 have meanings; the lowest label says that it is the last one.
            let number = random.between(16, 0xf_ffff) as u32;
            let is_lowest = u32::from(before == 0);
            labels.extend(((number << 12) | (is_lowest << 8) | 64).to_be_bytes());
        }
        let how = How::Labelled(u32::from(count));
        account.touch(origin, ends, &header, &frame.bytes, how);
        let frame = &mut capture.frames[index];
        frame.wire_len = frame.wire_len.saturating_add(labels.len() as u32);
        frame.bytes[type_at..header.ip].copy_from_slice(&[0x88, 0x47]);
        frame.bytes.splice(header.ip..header.ip, labels);
    }
}
