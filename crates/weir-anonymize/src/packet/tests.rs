//! Packets of all kinds that are known, before and after.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use weir_testkit::packet::checksum::{internet, transport};
use weir_testkit::packet::{
    Gre, Ipv4, Ipv6, Tcp, TcpOption, arp, ethernet, ethertype, icmp, icmpv6_echo, mpls, neighbour,
    protocol, udp, vlan,
};

use crate::Anonymizer;

const A: Ipv4Addr = Ipv4Addr::new(203, 113, 97, 61);
const B: Ipv4Addr = Ipv4Addr::new(198, 151, 77, 229);
const C: Ipv6Addr = Ipv6Addr::new(
    0x2a01, 0x4f8, 0x1234, 0x5678, 0x9abc, 0xdef1, 0x2345, 0x6789,
);
const D: Ipv6Addr = Ipv6Addr::new(
    0x2a02, 0x26f7, 0x8765, 0x4321, 0xcba9, 0x1fed, 0x5432, 0x9876,
);
const CARDS: [[u8; 6]; 2] = [
    [0x3c, 0x22, 0xfb, 0xa1, 0xb2, 0xc3],
    [0xb8, 0x27, 0xeb, 0xd4, 0xe5, 0xf6],
];

fn frame(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    ethernet(CARDS[0], CARDS[1], ethertype, payload)
}

/// Packets of all kinds that are known, with addresses in their payloads too.
fn packets() -> Vec<Vec<u8>> {
    let text = format!("INVITE sip:{A}@{B} from {C} \u{1}").into_bytes();
    let payload = [&text[..], &A.octets(), &C.octets(), &CARDS[0]].concat();
    let four = |number: u8, payload: &[u8]| Ipv4::new(A, B, number).packet(payload);
    let six = |number: u8, payload: &[u8]| Ipv6::new(C, D, number).packet(payload);
    let tcp = Tcp::new(40_000, 443).numbers(1, 2).options(&[
        TcpOption::MaximumSegmentSize(1_460),
        TcpOption::Timestamps(5, 6),
    ]);
    let tcp4 = four(protocol::TCP, &tcp.segment(A.into(), B.into(), &payload));
    let udp4 = four(
        protocol::UDP,
        &udp(A.into(), B.into(), 5_060, 5_060, &payload),
    );
    let tcp6 = six(protocol::TCP, &tcp.segment(C.into(), D.into(), &payload));
    let udp6 = six(protocol::UDP, &udp(C.into(), D.into(), 53, 53, &payload));
    let unreachable = icmp(3, 3, [0; 4], &udp4);
    let mut record_route = vec![7, 11, 12];
    record_route.extend(A.octets());
    record_route.extend(B.octets());
    record_route.push(0);
    vec![
        frame(ethertype::IPV4, &tcp4),
        frame(ethertype::IPV4, &udp4),
        frame(ethertype::IPV6, &tcp6),
        frame(ethertype::IPV6, &udp6),
        frame(ethertype::IPV4, &four(protocol::ICMP, &unreachable)),
        frame(
            ethertype::IPV4,
            &Ipv4::new(A, B, protocol::UDP)
                .options(&record_route)
                .packet(&udp(A.into(), B.into(), 1, 2, &payload)),
        ),
        frame(
            ethertype::IPV6,
            &six(58, &icmpv6_echo(C, D, false, 1, 2, &payload)),
        ),
        frame(
            ethertype::IPV6,
            &six(58, &neighbour(C, D, true, C, CARDS[0])),
        ),
        frame(ethertype::ARP, &arp(2, (CARDS[0], A), (CARDS[1], B))),
        frame(
            ethertype::VLAN,
            &vlan(0, 5, ethertype::VLAN, &vlan(0, 6, ethertype::IPV4, &tcp4)),
        ),
        frame(ethertype::MPLS, &mpls(&[16, 17], 64, &udp4)),
        frame(
            ethertype::IPV4,
            &four(47, &Gre::default().packet(ethertype::IPV4, &tcp4)),
        ),
        frame(ethertype::IPV4, &four(4, &udp4)),
        frame(ethertype::IPV4, &four(41, &udp6)),
        // The last packets have unknown protocols.
        frame(0x1234, &payload),
        frame(ethertype::IPV4, &four(99, &payload)),
    ]
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|part| part == wanted)
}

#[test]
fn no_address_is_left_anywhere() {
    let anonymizer = Anonymizer::new(b"key");
    let texts = [A.to_string(), B.to_string(), C.to_string(), D.to_string()];
    for (number, packet) in packets().into_iter().enumerate() {
        let mut other = packet.clone();
        assert!(anonymizer.packet(1, &mut other));
        assert_eq!(packet.len(), other.len());
        let octets: [&[u8]; 6] = [
            &A.octets(),
            &B.octets(),
            &C.octets(),
            &D.octets(),
            &CARDS[0],
            &CARDS[1],
        ];
        for wanted in octets.into_iter().chain(texts.iter().map(String::as_bytes)) {
            assert!(!holds(&other, wanted), "packet {number}: {wanted:02x?}");
        }
    }
}

#[test]
fn checksums_are_right_where_they_were() {
    let anonymizer = Anonymizer::new(b"key");
    let ends: [(IpAddr, IpAddr); 2] = [
        (anonymizer.ip(A.into()), anonymizer.ip(B.into())),
        (anonymizer.ip(C.into()), anonymizer.ip(D.into())),
    ];
    for (number, packet) in packets().into_iter().enumerate() {
        let mut other = packet.clone();
        anonymizer.packet(1, &mut other);
        let whole = |from: usize, len: usize| &other[from..from + len];
        match number {
            0 | 1 | 4 | 5 => {
                let header = usize::from(other[14] & 15) * 4;
                assert_eq!(internet(whole(14, header)), 0, "packet {number}");
                let len = usize::from(u16::from_be_bytes([other[16], other[17]]));
                let segment = whole(14 + header, len - header);
                let sum = match other[23] {
                    1 => internet(segment),
                    kind => transport(ends[0].0, ends[0].1, kind, segment),
                };
                assert_eq!(sum, 0, "packet {number}");
                if number == 4 {
                    // The header that is quoted.
                    assert_eq!(internet(&segment[8..28]), 0);
                }
            }
            2 | 3 | 6 | 7 => {
                let len = usize::from(u16::from_be_bytes([other[18], other[19]]));
                let segment = whole(54, len);
                let sum = transport(ends[1].0, ends[1].1, other[20], segment);
                assert_eq!(sum, 0, "packet {number}");
            }
            _ => {}
        }
    }
}

/// The payloads of later fragments became zeros, and the checksum in the first one did not include that.
#[test]
fn checksums_of_datagrams_in_fragments_are_right_when_they_are_put_together() {
    let anonymizer = Anonymizer::new(b"key");
    let data: Vec<u8> = (0..4_001_u32).map(|number| (number * 7) as u8).collect();
    let echo = icmp(8, 0, [1, 2, 3, 4], &data);
    let mut wrong = udp(A.into(), B.into(), 9, 9, &data);
    wrong[6] ^= 1;
    let four = |number: u8, payload: &[u8]| Ipv4::new(A, B, number).fragments(payload, 1_500);
    let six = |payload: &[u8]| Ipv6::new(C, D, protocol::UDP).fragments(payload, 1_500, 77);
    for (kind, header, number, fragments) in [
        (
            228,
            20,
            17,
            four(protocol::UDP, &udp(A.into(), B.into(), 9, 9, &data)),
        ),
        // The anonymized datagram does not show that its checksum was wrong.
        (228, 20, 17, four(protocol::UDP, &wrong)),
        (228, 20, 1, four(protocol::ICMP, &echo)),
        (229, 48, 17, six(&udp(C.into(), D.into(), 9, 9, &data))),
    ] {
        assert!(fragments.len() > 2);
        let mut whole = Vec::new();
        for mut fragment in fragments {
            assert!(anonymizer.packet(kind, &mut fragment));
            whole.extend_from_slice(&fragment[header..]);
        }
        let (src, dst): (IpAddr, IpAddr) = match kind {
            228 => (anonymizer.ip(A.into()), anonymizer.ip(B.into())),
            _ => (anonymizer.ip(C.into()), anonymizer.ip(D.into())),
        };
        let sum = match number {
            1 => internet(&whole),
            number => transport(src, dst, number, &whole),
        };
        assert_eq!(sum, 0, "{kind} {number}");
        assert!(whole[8..].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn what_is_kept_is_where_it_was() {
    let anonymizer = Anonymizer::new(b"key");
    let mut packet = packets().remove(0);
    let before = packet.clone();
    anonymizer.packet(1, &mut packet);
    // Ports, numbers, flags and options of TCP; length, identification, lifetime and protocol of IP.
    assert_eq!(packet[34..50], before[34..50]);
    assert_eq!(packet[52..66], before[52..66]);
    assert_eq!(packet[14..24], before[14..24]);
    assert_eq!(packet[26..30], anonymizer.ipv4(A).octets());
    let payload = 34 + usize::from(packet[46] >> 4) * 4;
    assert!(packet[payload..].iter().all(|byte| *byte == 0));
}

/// Bytes from the network are hostile: cut and random ones too.
#[test]
fn every_prefix_and_random_bytes_are_survived() {
    let anonymizer = Anonymizer::new(b"key");
    for packet in packets() {
        for len in 0..packet.len() {
            for link_type in [0, 1, 9, 12, 101, 108, 113, 228, 229, 276, 9_999] {
                let mut cut = packet[..len].to_vec();
                let known = anonymizer.packet(link_type, &mut cut);
                assert_eq!(known, link_type != 9_999);
                assert!(known || cut.iter().all(|byte| *byte == 0));
            }
        }
    }
    let mut seed = 7_u64;
    for _ in 0..20_000 {
        let mut bytes = [0_u8; 80];
        for byte in &mut bytes {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (seed >> 56) as u8;
        }
        bytes[0] = [0x45, 0x46, 0x60, bytes[0]][usize::from(bytes[1] & 3)];
        anonymizer.packet(101, &mut bytes);
    }
}

/// A segment of which a part was not captured: the rest of the payload counts as it was.
#[test]
fn a_cut_packet_has_no_address_either() {
    let anonymizer = Anonymizer::new(b"key");
    for packet in packets() {
        for len in 0..packet.len() {
            let mut cut = packet[..len].to_vec();
            anonymizer.packet(1, &mut cut);
            assert!(!holds(&cut, &A.octets()) && !holds(&cut, &CARDS[0]));
        }
    }
}
