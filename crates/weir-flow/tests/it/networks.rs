//! Fragments of networks that use the same addresses, and those whose rest never comes.

use std::net::Ipv4Addr;

use weir_flow::{Carried, Interest, Options, Payloads, Scope};
use weir_packet::{Decoder, Frame, LinkType};
use weir_testkit::packet::{Ipv4, ethernet, ethertype, protocol, udp, vlan};

use crate::capture::{self, ETHERNET, Sent, decode};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const SECOND: i64 = 1_000_000_000;

/// A datagram of so many octets, all of them `byte`, in fragments behind a tag.
fn fragments(time_ns: i64, tags: &[u16], byte: u8, len: usize) -> Vec<Sent> {
    let payload = udp(A.into(), B.into(), 7, 53, &vec![byte; len]);
    let parts = Ipv4::new(A, B, protocol::UDP).identification(7);
    let parts = match len {
        ..1_400 => vec![parts.packet(&payload)],
        _ => parts.fragments(&payload, 1_500),
    };
    let parts = parts.into_iter().map(|mut bytes| {
        let mut kind = ethertype::IPV4;
        for tag in tags.iter().rev() {
            bytes = vlan(0, *tag, kind, &bytes);
            kind = ethertype::VLAN;
        }
        Sent::new(time_ns, ETHERNET, ethernet([2; 6], [4; 6], kind, &bytes))
    });
    parts.collect()
}

/// Frame, length and first octet of each datagram.
fn datagrams(packets: &[Sent]) -> Vec<(u64, usize, u8)> {
    let mut found = Vec::new();
    let mut take = |payload: &weir_flow::Payload<'_>| {
        if let Carried::Datagram(bytes) = payload.carried {
            let is_one = bytes.iter().all(|byte| *byte == bytes[0]);
            // The datagrams of GTP and L2TP themselves begin with their headers.
            let is_tunnel = matches!(bytes[0], 0x30 | 0);
            assert!(is_one || is_tunnel, "of two networks");
            found.push((payload.frame, bytes.len(), bytes[0]));
        }
        Interest::Follow
    };
    let mut payloads = Payloads::new();
    decode(packets, |packet| payloads.packet(packet, &mut take));
    payloads.finish(&mut take);
    found
}

#[test]
fn fragments_of_two_networks_are_not_put_together() {
    for [one, other] in [
        [&[100][..], &[200]],
        [&[], &[1]],
        [&[5, 1], &[5, 2]],
        [&[5], &[5, 5]],
    ] {
        let one = fragments(0, one, b'1', 2_000);
        let other = fragments(0, other, b'2', 2_000);
        let packets = [&one[0], &other[0], &other[1], &one[1]].map(Sent::clone);
        assert_eq!(datagrams(&packets), [(3, 2_000, b'2'), (4, 2_000, b'1')]);
    }
    // Two interfaces.
    let parts = [b'1', b'2'].map(|byte| fragments(0, &[], byte, 2_000));
    let mut found = Vec::new();
    let (mut payloads, mut decoder) = (Payloads::new(), Decoder::default());
    for (interface, part) in [(0, 0), (1, 0), (1, 1), (0, 1)] {
        let mut frame = Frame::new(LinkType(ETHERNET), &parts[interface][part].bytes);
        frame.interface_id = Some(interface as u32);
        payloads.packet(&decoder.decode(frame), &mut |payload| {
            if let Carried::Datagram(bytes) = payload.carried {
                found.push((bytes[0], bytes[1_999]));
            }
            Interest::Follow
        });
    }
    assert_eq!(found, [(b'2', b'2'), (b'1', b'1')]);
}

/// A capture of all interfaces of a machine says by the index in each packet's header where it was seen.
#[test]
fn fragments_of_two_interfaces_of_a_cooked_capture_are_not_put_together() {
    const LINUX_SLL2: u32 = 276;
    let cooked = |interface: u8, part: &Sent| {
        let header = [8_u8, 0, 0, 0, 0, 0, 0, interface, 0, 1, 0, 6];
        let address = [2_u8, 2, 2, 2, 2, 2, 0, 0];
        // The packet is behind the header of Ethernet.
        let bytes = [&header[..], &address, &part.bytes[14..]].concat();
        Sent::new(0, LINUX_SLL2, bytes)
    };
    let [one, other] = [b'1', b'2'].map(|byte| fragments(0, &[], byte, 2_000));
    let packets = [
        cooked(2, &one[0]),
        cooked(3, &other[0]),
        cooked(3, &other[1]),
        cooked(2, &one[1]),
    ];
    assert_eq!(datagrams(&packets), [(3, 2_000, b'2'), (4, 2_000, b'1')]);
}

/// A sender may use an identification again while fragments of the packet before are missing.
#[test]
fn packets_with_one_identification_are_not_mixed() {
    let sent = |len, order: &[(u8, usize)]| {
        let parts = |byte| fragments(0, &[9], byte, len);
        let packets = order.iter().map(|(byte, part)| parts(*byte)[*part].clone());
        packets.collect::<Vec<_>>()
    };
    let (one, other) = (b'1', b'2');
    // The rest of the first one is lost.
    let packets = sent(2_000, &[(one, 0), (other, 0), (other, 1)]);
    assert_eq!(datagrams(&packets), [(3, 2_000, other), (1, 1_472, one)]);
    // Both come at one time: the checksum says whose a fragment is.
    let packets = sent(2_000, &[(one, 0), (other, 0), (one, 1), (other, 1)]);
    assert_eq!(datagrams(&packets), [(3, 2_000, one), (4, 2_000, other)]);
    let packets = sent(4_000, &[(one, 0), (one, 1), (other, 0), (one, 2)]);
    assert_eq!(datagrams(&packets), [(4, 4_000, one), (3, 1_472, other)]);
    // A second fragment of either of them, and no third one.
    let packets = sent(3_000, &[(one, 0), (other, 0), (one, 1)]);
    assert_eq!(datagrams(&packets), [(1, 1_472, one), (2, 1_472, other)]);
    // Fragments of both, of which neither is whole.
    let packets = sent(4_000, &[(one, 0), (other, 0), (one, 1), (other, 2)]);
    assert_eq!(datagrams(&packets), [(1, 1_472, one), (2, 1_472, other)]);
    // Some send the last fragment first.
    let packets = sent(2_000, &[(one, 1), (other, 1), (other, 0)]);
    assert_eq!(datagrams(&packets), [(3, 2_000, other)]);
    let packets = sent(2_000, &[(one, 1), (other, 1), (one, 0), (other, 0)]);
    assert_eq!(datagrams(&packets), [(3, 2_000, one), (4, 2_000, other)]);
    // The same fragment twice is no other packet.
    let packets = sent(2_000, &[(one, 0), (one, 0), (one, 1)]);
    assert_eq!(datagrams(&packets), [(3, 2_000, one)]);
    let flows = capture::flows(
        &sent(2_000, &[(one, 0), (other, 0), (one, 1), (other, 1)]),
        Options::default(),
    );
    assert_eq!((flows.len(), flows[0].sent.packets), (1, 2), "{flows:#?}");
}

/// Tunnels of other ends, or of other labels and identifiers, carry other networks.
#[test]
fn fragments_of_two_tunnels_are_not_put_together() {
    let inner = |byte: u8| {
        let payload = udp(A.into(), B.into(), 7, 53, &[byte; 2_000]);
        let parts = Ipv4::new(A, B, protocol::UDP).identification(7);
        parts.fragments(&payload, 1_500)
    };
    let gateways = [8, 9].map(|last| Ipv4Addr::new(192, 0, 2, last));
    let same = Ipv4Addr::new(192, 0, 2, 1);
    let in_ip = |network: usize, ip: &[u8]| {
        let outer = Ipv4::new(gateways[network], same, 4).packet(ip);
        ethernet([2; 6], [4; 6], ethertype::IPV4, &outer)
    };
    let in_gre = |network: usize, ip: &[u8]| {
        let gre = [&[0, 0, 8, 0][..], ip].concat();
        let outer = Ipv4::new(gateways[network], same, 47).packet(&gre);
        ethernet([2; 6], [4; 6], ethertype::IPV4, &outer)
    };
    let in_vlans = |network: usize, ip: &[u8]| {
        let outer = Ipv4::new(gateways[0], same, 4).packet(ip);
        let tagged = vlan(0, 5 + network as u16, ethertype::IPV4, &outer);
        ethernet([2; 6], [4; 6], ethertype::VLAN, &tagged)
    };
    let in_gtp = |network: usize, ip: &[u8]| {
        let length = (ip.len() as u16).to_be_bytes();
        let header = [0x30, 0xff, length[0], length[1], 0, 0, 0, network as u8];
        let datagram = [&header[..], ip].concat();
        let datagram = udp(gateways[0].into(), same.into(), 2_152, 2_152, &datagram);
        let outer = Ipv4::new(gateways[0], same, protocol::UDP).packet(&datagram);
        ethernet([2; 6], [4; 6], ethertype::IPV4, &outer)
    };
    let behind_label = |network: usize, ip: &[u8]| {
        let label = [&[0, 1, (network as u8 * 16) | 1, 64][..], ip].concat();
        ethernet([2; 6], [4; 6], 0x8847, &label)
    };
    let in_pppoe = |network: usize, ip: &[u8]| {
        let length = (ip.len() as u16 + 2).to_be_bytes();
        let header = [0x11, 0, 0, network as u8, length[0], length[1], 0, 0x21];
        ethernet([2; 6], [4; 6], 0x8864, &[&header[..], ip].concat())
    };
    let in_l2tp = |network: usize, ip: &[u8]| {
        let header = [0, 2, 0, 7, 0, network as u8, 0xff, 3, 0, 0x21];
        let datagram = [&header[..], ip].concat();
        let datagram = udp(gateways[0].into(), same.into(), 1_701, 1_701, &datagram);
        let outer = Ipv4::new(gateways[0], same, protocol::UDP).packet(&datagram);
        ethernet([2; 6], [4; 6], ethertype::IPV4, &outer)
    };
    let in_backbone = |network: usize, ip: &[u8]| {
        let inner = ethernet([6; 6], [8; 6], ethertype::IPV4, ip);
        let tagged = [&[0, 0, 0, network as u8][..], &inner].concat();
        ethernet([2; 6], [4; 6], 0x88e7, &tagged)
    };
    type Around<'a> = &'a dyn Fn(usize, &[u8]) -> Vec<u8>;
    let tunnels: [(&str, Around<'_>); 8] = [
        ("IP in IP", &in_ip),
        ("GRE", &in_gre),
        ("IP in IP in two VLANs", &in_vlans),
        ("GTP", &in_gtp),
        ("MPLS", &behind_label),
        ("PPPoE", &in_pppoe),
        ("L2TP", &in_l2tp),
        ("a backbone of a provider", &in_backbone),
    ];
    for (name, around) in tunnels {
        let parts = [inner(b'1'), inner(b'2')];
        let sent = |network: usize, part: usize| {
            Sent::new(0, ETHERNET, around(network, &parts[network][part]))
        };
        let packets = [sent(0, 0), sent(1, 0), sent(1, 1), sent(0, 1)];
        let found = datagrams(&packets);
        let found: Vec<_> = found.iter().filter(|one| one.1 == 2_000).collect();
        assert_eq!(found, [&(3, 2_000, b'2'), &(4, 2_000, b'1')], "{name}");
        let mut options = Options::default();
        options.tunnels = weir_flow::Tunnels::Inner;
        let flows = capture::flows(&packets, options);
        let bytes: u64 = flows.iter().map(|flow| flow.sent.payload_bytes).sum();
        assert_eq!(bytes, 4_000, "{name}: {flows:#?}");
    }
}

/// The outermost VLAN tells the contents of tunnels apart, too, unless the tunnel has an identifier of its own.
#[test]
fn tunnels_in_two_vlans_carry_two_flows() {
    let packets = [5, 6].map(|tag| {
        let datagram = udp(A.into(), B.into(), 7, 53, b"x");
        let inner = Ipv4::new(A, B, protocol::UDP).packet(&datagram);
        let outer = Ipv4::new(B, A, 4).packet(&inner);
        let tagged = vlan(0, tag, ethertype::IPV4, &outer);
        let bytes = ethernet([2; 6], [4; 6], ethertype::VLAN, &tagged);
        Sent::new(0, ETHERNET, bytes)
    });
    let mut options = Options::default();
    options.scope = Scope::Vlan;
    options.tunnels = weir_flow::Tunnels::Inner;
    let flows = capture::flows(&packets, options);
    let mut vlans: Vec<_> = flows.iter().map(|flow| flow.key.vlan()).collect();
    vlans.sort_unstable();
    assert_eq!(vlans, [Some(5), Some(6)]);
}

#[test]
fn what_was_put_together_keeps_its_tag() {
    let mut packets = fragments(0, &[100], b'1', 5);
    packets.extend(fragments(1, &[100], b'1', 2_000));
    packets.extend(fragments(2, &[100], b'1', 3_000).into_iter().take(2));
    let mut options = Options::default();
    options.scope = Scope::Vlan;
    let flows = capture::flows(&packets, options);
    assert_eq!(flows.len(), 1, "{flows:#?}");
    assert_eq!((flows[0].key.vlan(), flows[0].sent.packets), (Some(100), 3));
}

/// RFC 8200, 4.5, has a minute; a capture may end before.
#[test]
fn the_first_part_is_read_when_the_rest_never_comes() {
    let first = |at: i64, byte| fragments(at * SECOND, &[9], byte, 3_000).swap_remove(0);
    let last = |at: i64, byte| fragments(at * SECOND, &[9], byte, 3_000).swap_remove(2);
    let another = |at: i64, byte| {
        let mut sent = first(at, byte);
        // Another identification.
        sent.bytes[23] = byte;
        sent
    };
    let packets = [
        first(0, b'1'),
        another(50, b'2'),
        another(70, b'3'),
        last(71, b'4'),
    ];
    assert_eq!(
        datagrams(&packets),
        [(1, 1_472, b'1'), (2, 1_472, b'2'), (3, 1_472, b'3')]
    );
    let flows = capture::flows(&packets, Options::default());
    assert_eq!((flows.len(), flows[0].sent.packets), (1, 3), "{flows:#?}");
    assert_eq!((flows[0].first_ns, flows[0].last_ns), (0, 70 * SECOND));
    let mut payloads = Payloads::new();
    decode(&packets, |packet| {
        payloads.packet(packet, &mut |_| Interest::Follow);
    });
    payloads.finish(&mut |_| Interest::Follow);
    let counters = payloads.counters().fragments;
    assert_eq!((counters.timed_out, counters.unfinished), (1, 3));
}

/// A fragment before others has a multiple of eight octets. An address without a prefix fits no network, and is read as
/// it is.
#[test]
fn a_first_part_of_an_odd_length_is_read() {
    let odd = |byte: u8, cut: usize| {
        let mut sent = fragments(0, &[9], byte, 3_000).swap_remove(0);
        let len = sent.bytes.len() - cut;
        sent.bytes.truncate(len);
        // The length of IPv4, behind Ethernet and one tag, and another identification.
        let total = u16::try_from(len - 18).unwrap();
        sent.bytes[20..22].copy_from_slice(&total.to_be_bytes());
        sent.bytes[23] = byte;
        sent
    };
    let packets = [odd(b'1', 3), odd(b'2', 1_000 + 5)];
    assert_eq!(datagrams(&packets), [(1, 1_469, b'1'), (2, 467, b'2')]);
    let flows = capture::flows(&packets, Options::default());
    assert_eq!((flows.len(), flows[0].sent.packets), (1, 2), "{flows:#?}");
}

/// The captured part of a first fragment that a snap length has cut is read, and the other fragments are no datagrams.
#[test]
fn a_first_part_that_was_cut_is_read() {
    let mut packets = fragments(0, &[9], b'1', 3_000);
    for sent in &mut packets {
        sent.bytes.truncate(200);
    }
    // The headers of Ethernet, a tag, IPv4 and UDP precede the payload.
    assert_eq!(datagrams(&packets), [(1, 200 - 18 - 20 - 8, b'1')]);
}
