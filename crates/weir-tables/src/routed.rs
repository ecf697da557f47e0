//! What two copies of a packet have in common that were captured before and behind a router.

use weir_bytes::u16_be_at;

/// Writes what of a frame is the same on both sides of a router. Of IP in Ethernet that is the packet without what a router
/// changes (TTL or hop limit, and the checksum that covers it), behind the tags of its VLANs; of all else the frame.
pub(crate) fn unrouted(link_type: u32, frame: &[u8], out: &mut Vec<u8>) {
    let parts = match link_type {
        ETHERNET => parts(frame),
        _ => None,
    };
    match parts {
        Some(parts) => parts.iter().for_each(|part| out.extend_from_slice(part)),
        None => out.extend_from_slice(frame),
    }
}

/// The parts of a frame that no router changes.
fn parts(frame: &[u8]) -> Option<[&[u8]; 4]> {
    let mut at = ADDRESSES_OCTETS;
    while matches!(u16_be_at(frame, at)?, 0x8100 | 0x88a8) {
        at += 4;
    }
    let tags = frame.get(ADDRESSES_OCTETS..at + 2)?;
    let packet = frame.get(at + 2..)?;
    // What is behind a packet fills its frame up. One of unknown length is taken as it is.
    let (version, length, changed): (u8, usize, [(usize, usize); 2]) = match u16_be_at(frame, at)? {
        0x0800 => (4, u16_be_at(packet, 2)?.into(), [(8, 9), (10, 12)]),
        0x86dd => {
            let payload: usize = u16_be_at(packet, 4)?.into();
            (6, payload + 40, [(7, 8), (8, 8)])
        }
        _ => return None,
    };
    let least = if version == 4 { 20 } else { 40 };
    if packet.first()? >> 4 != version || packet.len() < least || length < least {
        return None;
    }
    let packet = packet.get(..length.min(packet.len()))?;
    let [(ttl, behind_ttl), (checksum, behind)] = changed;
    Some([
        tags,
        packet.get(..ttl)?,
        packet.get(behind_ttl..checksum)?,
        packet.get(behind..)?,
    ])
}

/// Link type of Ethernet.
const ETHERNET: u32 = 1;
/// Octets of its addresses.
const ADDRESSES_OCTETS: usize = 12;

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use weir_testkit::packet::{Ipv4, ethernet, ethertype, protocol};

    use super::*;

    fn key(link_type: u32, frame: &[u8]) -> Vec<u8> {
        let mut key = Vec::new();
        unrouted(link_type, frame, &mut key);
        key
    }

    #[test]
    fn what_a_router_changes_is_left_out() {
        let (from, to) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 1, 1));
        let packet = |ttl: u8, payload: &[u8]| {
            let packet = Ipv4::new(from, to, protocol::UDP).identification(7);
            let mut packet = packet.packet(payload);
            packet[8] = ttl;
            packet[10] = packet[10].wrapping_sub(ttl);
            packet
        };
        let one = ethernet([2; 6], [4; 6], ethertype::IPV4, &packet(64, b"payload!"));
        let mut routed = ethernet([6; 6], [8; 6], ethertype::IPV4, &packet(63, b"payload!"));
        routed.extend([0; 18]);
        assert_eq!(key(1, &one), key(1, &routed));
        // Another packet, another VLAN, and what is no Ethernet.
        let other = ethernet([6; 6], [8; 6], ethertype::IPV4, &packet(63, b"payload?"));
        assert_ne!(key(1, &one), key(1, &other));
        let mut tagged = one.clone();
        tagged.splice(12..12, [0x81, 0, 0, 5]);
        assert_ne!(key(1, &one), key(1, &tagged));
        assert_eq!(key(113, &one), one);
        let mut packet = vec![0x60, 0, 0, 0, 0, 4, 17, 64];
        packet.extend([1; 32]);
        packet.extend([9; 4]);
        let one = ethernet([2; 6], [4; 6], ethertype::IPV6, &packet);
        packet[7] = 60;
        let routed = ethernet([6; 6], [8; 6], ethertype::IPV6, &packet);
        assert_eq!(key(1, &one), key(1, &routed));
        packet[8] = 9;
        let other = ethernet([6; 6], [8; 6], ethertype::IPV6, &packet);
        assert_ne!(key(1, &one), key(1, &other));
        // Nothing is left out of what is cut before its end is known.
        for length in 0..one.len() {
            let cut = &one[..length];
            assert!(key(1, cut) == cut || length >= 14 + 40);
        }
    }
}
