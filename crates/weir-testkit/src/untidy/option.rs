//! Packets of IP with options.

use std::net::IpAddr;

use super::header::put_u16;
use super::{Account, Capture, Draw, How, IpHeaders};
use crate::Rng;
use crate::packet::checksum;

/// Adds an option to whole packets without one.
pub(super) fn add(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let (Some(header), Some(origin)) = (capture.header(frame), frame.origin) else {
            continue;
        };
        let ends = draw.connections.ends(&header);
        let Some(random) = draw.frame(&ends, origin, per_mille) else {
            continue;
        };
        // Longer packets would not fill the shortest frame any more.
        let may_fill = header.may_be_padding(&frame.bytes);
        let Some(bytes) = with_option(&header, &frame.bytes, random).filter(|_| !may_fill) else {
            continue;
        };
        account.touch(origin, ends, &header, &frame.bytes, How::Optional);
        let frame = &mut capture.frames[index];
        let longer = bytes.len() - frame.bytes.len();
        frame.wire_len = frame.wire_len.saturating_add(longer as u32);
        frame.bytes = bytes;
    }
}

/// The frame with a router alert of IPv4, or with an extension header of IPv6 that has padding only; `None` where the packet is too long,
/// has one already, or is not whole.
fn with_option(header: &IpHeaders, bytes: &[u8], mut random: Rng) -> Option<Vec<u8>> {
    if !header.is_plain || header.is_fragment || !header.is_whole(bytes) {
        return None;
    }
    let len = header.end - header.ip;
    let (ip, at) = (header.ip, header.transport);
    let mut frame = bytes.to_vec();
    match header.src.0 {
        IpAddr::V4(_) => {
            let len = u16::try_from(len + ROUTER_ALERT.len()).ok()?;
            frame.splice(at..at, ROUTER_ALERT);
            frame[ip] = 0x46;
            put_u16(&mut frame, ip + 2, len);
            put_u16(&mut frame, ip + 10, 0);
            let sum = checksum::internet(&frame[ip..at + ROUTER_ALERT.len()]);
            put_u16(&mut frame, ip + 10, sum);
        }
        IpAddr::V6(_) => {
            // What carries no connection is left as it is, such as neighbours' messages.
            if header.protocol == ICMPV6 {
                return None;
            }
            let extension = [header.protocol, 0, 1, 4, 0, 0, 0, 0];
            let len = u16::try_from(len - IPV6_OCTETS + extension.len()).ok()?;
            frame.splice(at..at, extension);
            frame[ip + 6] = *random.pick(&[HOP_BY_HOP, DESTINATION]);
            put_u16(&mut frame, ip + 4, len);
        }
    }
    Some(frame)
}

/// The option of RFC 2113.
const ROUTER_ALERT: [u8; 4] = [0x94, 4, 0, 0];
/// Octets of a header of IPv6.
const IPV6_OCTETS: usize = 40;
const ICMPV6: u8 = 58;
/// The extension headers with options.
const HOP_BY_HOP: u8 = 0;
const DESTINATION: u8 = 60;
