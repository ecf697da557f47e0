//! The filter and the predicate are compared on random packets: the filter passes what the predicate selects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::LazyLock;

use weir_packet::{Decoder, Frame};
use weir_testkit::packet::{
    Ipv4, Ipv6, Tcp, arp, ethernet, ethertype, icmp_echo, protocol, udp, vlan,
};

use super::*;
use crate::{Row, Table};

/// Runs a program as the kernel does; returns the number of bytes of the packet that pass, 0 for none.
fn run(program: &[Instruction], packet: &[u8]) -> u32 {
    let (mut at, mut accumulator) = (0, 0_u32);
    loop {
        let Instruction {
            code,
            jump_true,
            jump_false,
            constant,
        } = program[at];
        at += 1;
        let load = |len: usize| {
            let start = constant as usize;
            let bytes = packet.get(start..start + len)?;
            Some(
                bytes
                    .iter()
                    .fold(0, |word, byte| word << 8 | u32::from(*byte)),
            )
        };
        let mut jump = |holds: bool| {
            at += usize::from(if holds { jump_true } else { jump_false });
        };
        match code {
            LOAD_WORD | LOAD_HALF | LOAD_BYTE => {
                let len = match code {
                    LOAD_WORD => 4,
                    LOAD_HALF => 2,
                    _ => 1,
                };
                match load(len) {
                    Some(word) => accumulator = word,
                    None => return 0,
                }
            }
            LOAD_LENGTH => accumulator = packet.len() as u32,
            AND => accumulator &= constant,
            SHIFT_RIGHT => accumulator >>= constant,
            JUMP_IF_EQUAL => jump(accumulator == constant),
            JUMP_IF_GREATER => jump(accumulator > constant),
            JUMP_IF_NOT_LESS => jump(accumulator >= constant),
            JUMP_IF_ANY => jump(accumulator & constant != 0),
            RETURN => return constant,
            other => panic!("instruction {other:#x}"),
        }
    }
}

/// Numbers that look random and are the same in every run (xorshift).
struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

const PORTS: [u16; 6] = [53, 80, 443, 4789, 2152, 40_000];
const V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(10, 0, 0, 1),
    Ipv4Addr::new(10, 0, 0, 2),
    Ipv4Addr::new(192, 168, 7, 9),
];

fn v6() -> [Ipv6Addr; 3] {
    ["2001:db8::1", "2001:db8::2", "fe80::5"].map(|text| text.parse().unwrap())
}

/// Returns the payload of an IP packet and its protocol.
fn transport(random: &mut Xorshift, src: IpAddr, dst: IpAddr) -> (u8, Vec<u8>) {
    let (from, to) = (random.pick(&PORTS), random.pick(&PORTS));
    match random.below(4) {
        0 => (protocol::TCP, Tcp::new(from, to).segment(src, dst, b"data")),
        1 => (protocol::ICMP, icmp_echo(false, 1, 1, b"ping")),
        2 => {
            // The packet may be a tunnel with a packet inside.
            let (_, inner) = transport_of_tunnel(random);
            (protocol::UDP, udp(src, dst, from, to, &inner))
        }
        _ => (protocol::UDP, udp(src, dst, from, to, b"hello")),
    }
}

fn transport_of_tunnel(random: &mut Xorshift) -> (u8, Vec<u8>) {
    let (src, dst) = (random.pick(&V4), random.pick(&V4));
    let segment =
        Tcp::new(random.pick(&PORTS), random.pick(&PORTS)).segment(src.into(), dst.into(), b"");
    let packet = Ipv4::new(src, dst, protocol::TCP).packet(&segment);
    let frame = ethernet([2; 6], [4; 6], ethertype::IPV4, &packet);
    let mut vxlan = vec![8, 0, 0, 0, 0, 0, 7, 0];
    vxlan.extend_from_slice(&frame);
    (0, vxlan)
}

fn ip(random: &mut Xorshift) -> (u16, Vec<u8>) {
    if random.below(3) > 0 {
        let (src, dst) = (random.pick(&V4), random.pick(&V4));
        let (number, payload) = transport(random, src.into(), dst.into());
        (
            ethertype::IPV4,
            Ipv4::new(src, dst, number).packet(&payload),
        )
    } else {
        let (src, dst) = (random.pick(&v6()), random.pick(&v6()));
        let (number, payload) = transport(random, src.into(), dst.into());
        (
            ethertype::IPV6,
            Ipv6::new(src, dst, number).packet(&payload),
        )
    }
}

/// Returns a frame, and the bytes that the kernel's filter sees.
fn frame(random: &mut Xorshift) -> (Vec<u8>, Vec<u8>) {
    let (kind, packet) = ip(random);
    let (a, b) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let mut tagged = false;
    let mut frame = match random.below(6) {
        0 => {
            let (sender, target) = ((a, V4[0]), (b, V4[1]));
            ethernet(b, a, ethertype::ARP, &arp(1, sender, target))
        }
        1 | 2 => {
            tagged = true;
            ethernet(b, a, ethertype::VLAN, &vlan(0, 7, kind, &packet))
        }
        _ => ethernet(b, a, kind, &packet),
    };
    // The frame may have damage, options, fragments, or be truncated.
    match random.below(4) {
        0 => {
            let place = 12 + random.below(frame.len().saturating_sub(12).clamp(1, 40));
            if let Some(byte) = frame.get_mut(place) {
                *byte = random.next() as u8;
            }
        }
        1 => {
            let len = random.below(frame.len() + 1);
            frame.truncate(len);
        }
        _ => {}
    }
    let mut seen = frame.clone();
    if tagged && random.below(2) == 0 && seen.len() >= 16 && seen[12..14] == [0x81, 0] {
        seen.drain(12..16);
    }
    (frame, seen)
}

fn column(name: &str) -> Column {
    static TABLE: LazyLock<Table> = LazyLock::new(Table::packets);
    TABLE.columns()[TABLE.position(name).unwrap()].clone()
}

fn predicate(random: &mut Xorshift, depth: usize) -> Predicate {
    let operators = [
        Operator::Equal,
        Operator::NotEqual,
        Operator::Less,
        Operator::LessOrEqual,
        Operator::Greater,
        Operator::GreaterOrEqual,
    ];
    let operator = random.pick(&operators);
    let parts = |random: &mut Xorshift| {
        let count = 1 + random.below(3);
        (0..count)
            .map(|_| predicate(random, depth - 1))
            .collect::<Vec<_>>()
    };
    let v4 = Constant::Bytes(random.pick(&V4).octets().to_vec());
    let v6 = Constant::Bytes(random.pick(&v6()).octets().to_vec());
    let address = random.pick(&[v4, v6]);
    let address_column = |random: &mut Xorshift| {
        let names = [
            "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "addr.src", "addr.dst",
        ];
        column(random.pick(&names))
    };
    let number_column = |random: &mut Xorshift| {
        let names = [
            "tcp.srcport",
            "tcp.dstport",
            "udp.srcport",
            "udp.dstport",
            "port.src",
            "port.dst",
        ];
        column(random.pick(&names))
    };
    let port = Constant::Integer(random.pick(&PORTS).into());
    match random.below(if depth > 0 { 12 } else { 8 }) {
        0 => Predicate::Compare(address_column(random), operator, address),
        1 => Predicate::Compare(number_column(random), operator, port),
        2 => Predicate::In(number_column(random), vec![port, Constant::Integer(80)]),
        3 => {
            let texts = [
                "10.0.0.0/8",
                "10.0.0.2/31",
                "2001:db8::/33",
                "fe80::5",
                "0.0.0.0/0",
            ];
            let network = Network::parse(random.pick(&texts)).unwrap();
            Predicate::Within(address_column(random), network)
        }
        4 => {
            let len = random.pick(&[42, 46, 54, 58, 100]);
            Predicate::Compare(column("frame.len"), operator, Constant::Integer(len))
        }
        5 => {
            let name = random.pick(&["tcp", "udp", "icmp", "gre"]);
            Predicate::Compare(column("proto"), operator, Constant::Text(name.into()))
        }
        6 => {
            let name = random.pick(&["tcp.flags.syn", "tcp.srcport", "udp.length", "ip.src"]);
            Predicate::IsNull(column(name))
        }
        7 => {
            let name = random.pick(&["ip.proto", "ip.ttl"]);
            let number = random.pick(&[6, 17, 64]);
            Predicate::Compare(column(name), operator, Constant::Integer(number))
        }
        8 => Predicate::And(parts(random)),
        9 => Predicate::Or(parts(random)),
        10 => Predicate::In(address_column(random), vec![address]),
        _ => Predicate::Not(Box::new(predicate(random, depth - 1))),
    }
}

#[test]
fn the_filter_lets_through_what_the_predicate_keeps() {
    let mut random = Xorshift(0x5eed_0bf1_1e57_0001);
    let (mut kept, mut dropped) = (0, 0);
    let mut decoder = Decoder::default();
    for _ in 0..4_000 {
        let predicate = predicate(&mut random, 2);
        let Some(program) = compile(&predicate, LinkType::ETHERNET) else {
            continue;
        };
        for _ in 0..25 {
            let (frame, seen) = frame(&mut random);
            let packet = decoder.decode(Frame::new(LinkType::ETHERNET, &frame));
            let keeps = predicate.decide(&Row::new("live", &packet)) == Some(true);
            let passes = run(&program, &seen) != 0;
            assert!(passes || !keeps, "{predicate}\n{frame:02x?}\n{seen:02x?}");
            kept += u64::from(keeps);
            dropped += u64::from(!passes);
        }
    }
    // Both outcomes are frequent enough for the test to mean something.
    assert!(kept > 5_000 && dropped > 5_000, "{kept} {dropped}");
}

/// A packet of IPv4 with these flags and this offset of a fragment, options, and what it carries.
fn packet_v4(fragment: u16, options: &[u8], number: u8, payload: &[u8]) -> Vec<u8> {
    let words = 5 + options.len() / 4;
    let [high, low] = ((words * 4 + payload.len()) as u16).to_be_bytes();
    let [first, second] = fragment.to_be_bytes();
    let version = 0x40 | words as u8;
    let header = [version, 0, high, low, 0, 7, first, second, 64, number, 0, 0];
    let (src, dst) = (V4[0].octets(), V4[1].octets());
    [&header[..], &src[..], &dst[..], options, payload].concat()
}

/// A packet of IPv6 with this length in its header, the number of its next header, and what is behind.
fn packet_v6(length: usize, next: u8, payload: &[u8]) -> Vec<u8> {
    let [high, low] = (length as u16).to_be_bytes();
    let header = [0x60, 0, 0, 0, high, low, next, 64];
    let [src, dst, _] = v6().map(|address| address.octets());
    [&header[..], &src[..], &dst[..], payload].concat()
}

/// Packets with fragments, options, extension headers and packets inside of them, each with the type of Ethernet.
fn unusual() -> Vec<(u16, Vec<u8>)> {
    let (src, dst) = (V4[0].into(), V4[1].into());
    let segment = Tcp::new(53, 80).segment(src, dst, b"data");
    let datagram = udp(src, dst, 53, 80, b"hello");
    let plain = packet_v4(0, &[], protocol::UDP, &datagram);
    let behind = |header: &[u8], payload: &[u8]| [header, payload].concat();
    let mut without_length = packet_v4(0, &[], protocol::TCP, &segment);
    without_length[2..4].fill(0);
    let mut all: Vec<(u16, Vec<u8>)> = [
        packet_v4(0x4000, &[], protocol::TCP, &segment),
        packet_v4(0x8000, &[], protocol::TCP, &segment),
        packet_v4(0x2000, &[], protocol::TCP, &segment),
        packet_v4(0x2001, &[], protocol::UDP, &datagram),
        packet_v4(0x0005, &[], protocol::TCP, &segment),
        packet_v4(0, &[1, 1, 1, 0], protocol::TCP, &segment),
        packet_v4(0x2000, &[1, 1, 1, 0], protocol::UDP, &datagram),
        packet_v4(0, &[], protocol::IPV4, &plain),
        packet_v4(0, &[], 47, &behind(&[0, 0, 8, 0], &plain)),
        // An authentication header.
        packet_v4(
            0,
            &[],
            51,
            &behind(
                &[
                    6, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                ],
                &segment,
            ),
        ),
        without_length,
        plain,
    ]
    .map(|packet| (ethertype::IPV4, packet))
    .into();
    let of_v6 = |next: u8, payload: Vec<u8>| packet_v6(payload.len(), next, &payload);
    let inner = packet_v4(0, &[], protocol::TCP, &segment);
    let packets = [
        of_v6(protocol::TCP, segment.clone()),
        of_v6(protocol::UDP, datagram.clone()),
        // Hop-by-hop options, of which the second are those of a jumbogram (RFC 2675), and no length without any.
        of_v6(0, behind(&[6, 0, 5, 2, 0, 0, 1, 0], &segment)),
        packet_v6(0, 0, &behind(&[6, 0, 0xc2, 4, 0, 1, 0, 0], &segment)),
        packet_v6(0, protocol::TCP, &segment),
        // The first fragment, and a later one.
        of_v6(44, behind(&[6, 0, 0, 1, 0, 0, 0, 7], &segment)),
        of_v6(44, behind(&[17, 0, 0, 9, 0, 0, 0, 7], &datagram)),
        of_v6(60, behind(&[17, 0, 1, 4, 0, 0, 0, 0], &datagram)),
        of_v6(43, behind(&[6, 0, 0, 0, 0, 0, 0, 0], &segment)),
        of_v6(protocol::IPV4, inner),
    ];
    all.extend(packets.map(|packet| (ethertype::IPV6, packet)));
    all
}

/// Frames of Ethernet with a packet: by itself, and behind tags, LLC, PPPoE and a label of MPLS. Each is as it was captured, and as the
/// kernel's filter sees it.
fn frames_with(kind: u16, packet: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let [dst, src] = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
    let tag = |payload: &[u8], kind: u16| vlan(0, 7, kind, payload);
    let plain = ethernet(dst, src, kind, packet);
    let tagged = ethernet(dst, src, ethertype::VLAN, &tag(packet, kind));
    let twice = tag(&tag(packet, kind), ethertype::VLAN);
    let twice = ethernet(dst, src, ethertype::SERVICE_VLAN, &twice);
    let snap = [&[0xaa, 0xaa, 3, 0, 0, 0][..], &kind.to_be_bytes(), packet].concat();
    let snap = ethernet(dst, src, snap.len() as u16, &snap);
    let session: &[u8] = match kind {
        ethertype::IPV4 => &[0x11, 0, 0, 1, 0, 0, 0, 0x21],
        _ => &[0x11, 0, 0, 1, 0, 0, 0, 0x57],
    };
    let session = ethernet(dst, src, 0x8864, &[session, packet].concat());
    let label = [&[0, 0, 0x11, 64][..], packet].concat();
    let label = ethernet(dst, src, 0x8847, &label);
    let mut all: Vec<(Vec<u8>, Vec<u8>)> = [plain, snap, session, label]
        .map(|frame| (frame.clone(), frame))
        .into();
    for frame in [tagged, twice] {
        let mut seen = frame.clone();
        seen.drain(12..16);
        all.push((frame.clone(), seen));
        all.push((frame.clone(), frame));
    }
    all
}

/// What the kernel passes is whole, while the scan may read only the first bytes of it.
#[test]
fn the_filter_lets_through_unusual_packets_and_those_that_are_cut() {
    let mut random = Xorshift(0x5eed_0bf1_1e57_0002);
    let mut decoder = Decoder::default();
    let frames: Vec<(Vec<u8>, Vec<u8>)> = unusual()
        .into_iter()
        .flat_map(|(kind, packet)| frames_with(kind, &packet))
        .collect();
    let (mut kept, mut programs) = (0, 0);
    for _ in 0..300 {
        let predicate = predicate(&mut random, 2);
        let Some(program) = compile(&predicate, LinkType::ETHERNET) else {
            continue;
        };
        programs += 1;
        for (frame, seen) in &frames {
            let passes = run(&program, seen) != 0;
            let cut = random.below(frame.len());
            for data in [frame.as_slice(), &frame[..cut]] {
                let mut captured = Frame::new(LinkType::ETHERNET, data);
                captured.wire_len = frame.len() as u32;
                let packet = decoder.decode(captured);
                let keeps = predicate.decide(&Row::new("live", &packet)) == Some(true);
                assert!(passes || !keeps, "{predicate}\n{data:02x?}\n{seen:02x?}");
                kept += u64::from(keeps);
            }
        }
    }
    assert!(kept > 1_000 && programs > 50, "{kept} {programs}");
}

#[test]
fn the_filter_decides_what_is_plain() {
    let port = |name: &str, port: i128| {
        Predicate::Compare(column(name), Operator::Equal, Constant::Integer(port))
    };
    let packet = |dst: u16| {
        let (src, to) = (V4[0], V4[1]);
        let datagram = udp(src.into(), to.into(), 5000, dst, b"x");
        let packet = Ipv4::new(src, to, protocol::UDP).packet(&datagram);
        (ethernet([2; 6], [4; 6], ethertype::IPV4, &packet), packet)
    };
    for (predicate, dst, expected) in [
        (port("udp.dstport", 53), 53, true),
        (port("udp.dstport", 53), 54, false),
        (port("port.dst", 53), 54, false),
        (
            Predicate::Within(column("ip.src"), Network::parse("10.0.0.0/30").unwrap()),
            1,
            true,
        ),
        (
            Predicate::Within(column("addr.src"), Network::parse("11.0.0.0/8").unwrap()),
            1,
            false,
        ),
        (
            Predicate::Compare(
                column("proto"),
                Operator::Equal,
                Constant::Text("tcp".into()),
            ),
            1,
            false,
        ),
        (
            Predicate::And(vec![port("udp.srcport", 5000), port("udp.dstport", 53)]),
            54,
            false,
        ),
        (
            Predicate::Or(vec![port("udp.srcport", 5000), port("udp.dstport", 53)]),
            54,
            true,
        ),
        (Predicate::Not(Box::new(port("udp.dstport", 53))), 53, false),
    ] {
        let (framed, raw) = packet(dst);
        for (link_type, bytes) in [(LinkType::ETHERNET, framed), (RAW_IP, raw)] {
            let program = compile(&predicate, link_type).unwrap();
            assert_eq!(
                run(&program, &bytes) != 0,
                expected,
                "{predicate} {link_type:?}"
            );
        }
    }
    // There is no filter when no packet can be dropped, for an unsupported link type, or when a jump is too long.
    assert!(compile(&Predicate::IsNull(column("ip.src")), LinkType::ETHERNET).is_none());
    assert!(compile(&port("udp.dstport", 53), LinkType::SUNATM).is_none());
    let many = (0..300).map(Constant::Integer).collect();
    let many = Predicate::In(column("udp.dstport"), many);
    assert!(compile(&many, LinkType::ETHERNET).is_none());
}
