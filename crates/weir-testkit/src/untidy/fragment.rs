//! Packets of IPv4 in fragments.

use super::header::put_u16;
use super::{Account, Capture, Draw, Frame, How, IpHeaders};
use crate::packet::checksum;

/// Sends packets in fragments (RFC 791, 3.2), in their order. Those between hosts that send fragments anyhow stay as they are.
pub(super) fn divide(
    draw: &Draw<'_>,
    capture: &mut Capture,
    account: &mut Account,
    (per_mille, octets): (u16, u16),
) {
    let frames = std::mem::take(&mut capture.frames);
    let mut all = Vec::with_capacity(frames.len());
    for frame in frames {
        match fragments(draw, capture, account, &frame, (per_mille, octets)) {
            Some(fragments) => all.extend(fragments),
            None => all.push(frame),
        }
    }
    capture.frames = all;
}

fn fragments(
    draw: &Draw<'_>,
    capture: &Capture,
    account: &mut Account,
    frame: &Frame,
    (per_mille, octets): (u16, u16),
) -> Option<Vec<Frame>> {
    let (header, origin) = (capture.header(frame)?, frame.origin?);
    let ends = draw.connections.ends(&header);
    let mut random = draw.frame(&ends, origin, per_mille)?;
    let is_whole = !header.is_fragment && header.is_whole(&frame.bytes);
    let is_ipv4 = header.src.0.is_ipv4() && header.is_plain;
    if !is_whole || !is_ipv4 || ends != header.ends() {
        return None;
    }
    let payload = &frame.bytes[header.transport..header.end];
    let most = u64::from(octets / 8).max(EIGHTS_MIN);
    let len = random.between(EIGHTS_MIN, most) as usize * 8;
    if payload.len() <= len {
        return None;
    }
    let count = payload.len().div_ceil(len);
    let piece = |(at, piece): (usize, &[u8])| {
        let bytes = fragment((&header, frame, origin), (at * len, piece), at + 1 < count);
        Frame {
            wire_len: bytes.len() as u32,
            bytes,
            ..frame.clone()
        }
    };
    let all = payload.chunks(len).enumerate().map(piece).collect();
    let how = How::Fragmented(count as u32);
    account.touch(origin, ends, &header, &frame.bytes, how);
    Some(all)
}

/// The frame with a part of the payload of its packet. All packets have an identification of their own.
fn fragment(
    (header, frame, origin): (&IpHeaders, &Frame, usize),
    (offset, piece): (usize, &[u8]),
    has_more: bool,
) -> Vec<u8> {
    let mut bytes = frame.bytes[..header.transport].to_vec();
    bytes.extend_from_slice(piece);
    let ip = header.ip;
    let len = bytes.len() - ip;
    let more = if has_more { MORE_FRAGMENTS } else { 0 };
    put_u16(&mut bytes, ip + 2, len as u16);
    put_u16(&mut bytes, ip + 4, origin as u16);
    put_u16(&mut bytes, ip + 6, more | (offset / 8) as u16);
    put_u16(&mut bytes, ip + 10, 0);
    let sum = checksum::internet(&bytes[ip..header.transport]);
    put_u16(&mut bytes, ip + 10, sum);
    bytes
}

/// Eights of octets of all fragments but the last, at least: those of a header of TCP.
const EIGHTS_MIN: u64 = 3;
/// The flag MF.
const MORE_FRAGMENTS: u16 = 0x2000;
