//! Connections in tunnels.

use std::net::Ipv4Addr;

use super::header::{UDP, put_u16};
use super::{Account, Capture, Draw, Frame, How, IpHeaders};
use crate::Rng;
use crate::packet::checksum;

/// Puts all packets of connections, also those that a plan leaves out one by one, into a tunnel of their own: one that had a part of
/// the packets would make two connections of one.
pub(super) fn wrap(draw: &Draw<'_>, capture: &mut Capture, account: &mut Account, per_mille: u16) {
    for index in 0..capture.frames.len() {
        let frame = &capture.frames[index];
        let Some(drawn) = draw.over_ethernet(capture, frame, per_mille) else {
            continue;
        };
        let (header, origin, ends, random) = drawn;
        let Some((bytes, wire_len)) = wrapped(&header, frame, random) else {
            continue;
        };
        let longer = wire_len.saturating_sub(header.end);
        let how = How::Tunnelled(longer as u32);
        account.touch(origin, ends, &header, &frame.bytes, how);
        let frame = &mut capture.frames[index];
        frame.wire_len = wire_len as u32;
        frame.bytes = bytes;
    }
}

/// The frame with the headers of a tunnel, and its length on the wire; `None` where the packet is too long for one.
fn wrapped(header: &IpHeaders, frame: &Frame, mut random: Rng) -> Option<(Vec<u8>, usize)> {
    let number = random.next_u32();
    let [_, high, middle, low] = number.to_be_bytes();
    let kind = random.below(3);
    // VXLAN (RFC 7348, 5) carries frames, the others packets.
    let begin = if kind == 0 { 0 } else { header.ip };
    let inner_len = u16::try_from(header.end.checked_sub(begin)?).ok()?;
    let [len_high, len_low] = inner_len.to_be_bytes();
    let [type_high, type_low] = match header.src.0.is_ipv4() {
        true => [0x08, 0x00],
        false => [0x86, 0xdd],
    };
    let (protocol, port, tunnel) = match kind {
        0 => (UDP, 4_789, vec![8, 0, 0, 0, high, middle, low, 0]),
        // T-PDU of GTPv1-U (3GPP TS 29.281, 5.1).
        1 => (
            UDP,
            2_152,
            vec![0x30, 0xff, len_high, len_low, 0, high, middle, low],
        ),
        // GRE (RFC 2784, 2.1).
        _ => (GRE, 0, vec![0, 0, type_high, type_low]),
    };
    let mut outer = vec![0_u8; IP_OCTETS];
    if protocol == UDP {
        let len = inner_len.checked_add(8 + tunnel.len() as u16)?;
        for word in [port, port, len, 0] {
            outer.extend(u16::to_be_bytes(word));
        }
    }
    outer.extend(tunnel);
    let total = inner_len.checked_add(outer.len() as u16)?;
    let first = LOWEST | (number & 0x00ff_fffe);
    let ends = [first, first + 1];
    let [src, dst] = match header.from_low() {
        true => ends,
        false => [ends[1], ends[0]],
    };
    outer[0] = 0x45;
    put_u16(&mut outer, 2, total);
    outer[8] = 64;
    outer[9] = protocol;
    outer[12..16].copy_from_slice(&Ipv4Addr::from(src).octets());
    outer[16..20].copy_from_slice(&Ipv4Addr::from(dst).octets());
    let sum = checksum::internet(&outer[..IP_OCTETS]);
    put_u16(&mut outer, 10, sum);
    let mut bytes = frame.bytes[..12].to_vec();
    bytes.extend([0x08, 0x00]);
    bytes.extend(outer);
    let wire_len = bytes.len() + usize::from(inner_len);
    let end = header.end.min(frame.bytes.len());
    bytes.extend_from_slice(&frame.bytes[begin..end]);
    Some((bytes, wire_len))
}

const GRE: u8 = 47;
/// Octets of a header of IPv4 without options.
const IP_OCTETS: usize = 20;
/// The first address of the ends of tunnels, which captures do not have.
const LOWEST: u32 = 0x0b00_0000;
