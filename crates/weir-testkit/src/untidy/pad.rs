//! Octets behind packets: what fills frames of Ethernet up to 60 octets, and trailers of switches.

use super::{Account, Capture, Draw, How};
use crate::capture::link_type;

/// Adds zeros or other octets behind whole packets.
pub(super) fn add(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, octets): (u16, u16),
) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let (Some(header), Some(origin)) = (capture.header(frame), frame.origin) else {
            continue;
        };
        let link = capture.link_types.get(frame.interface as usize);
        let is_whole =
            header.is_whole(&frame.bytes) && frame.wire_len as usize == frame.bytes.len();
        if !is_whole || link != Some(&link_type::ETHERNET) {
            continue;
        }
        let ends = draw.connections.ends(&header);
        let Some(mut random) = draw.frame(&ends, origin, per_mille) else {
            continue;
        };
        let count = random.between(1, u64::from(octets.max(1))) as usize;
        let filler = match random.percent(50) {
            true => 0,
            false => random.below(256) as u8,
        };
        let how = How::Padded(count as u32);
        account.touch(origin, ends, &header, &frame.bytes, how);
        let frame = &mut capture.frames[index];
        frame.bytes.resize(frame.bytes.len() + count, filler);
        frame.wire_len = frame.wire_len.saturating_add(count as u32);
    }
}
