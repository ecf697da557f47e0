//! VLAN tags.

use super::{Account, Capture, Draw, How};
use crate::capture::link_type;

/// Puts a tag (IEEE 802.1Q) into the packets of connections. Both directions have one identifier, or each its own, as
/// where a router sends them through different networks. Fragments of a packet have the same.
pub(super) fn add(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let (Some(header), Some(origin)) = (capture.header(frame), frame.origin) else {
            continue;
        };
        let link = capture.link_types.get(frame.interface as usize);
        let ends = draw.connections.ends(&header);
        let random = draw.connection(&ends, None, per_mille);
        let (Some(mut random), Some(&link_type::ETHERNET)) = (random, link) else {
            continue;
        };
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
        let tag = [[0x81, 0x00], vlan.to_be_bytes()].concat();
        frame.bytes.splice(12..12, tag);
        frame.wire_len = frame.wire_len.saturating_add(4);
    }
}
