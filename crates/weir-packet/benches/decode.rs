//! The cost of decoding a packet: `cargo bench -p weir-packet --bench decode`.
//!
//! Prints nanoseconds a packet, the best of several runs over packets that differ in their ports, so
//! that no branch is learnt by heart. "full" decodes every header; "ports" stops at the transport.

use std::hint::black_box;
use std::time::Instant;

use weir_packet::{Decoder, Frame, Get, LinkType, Needs, Options, fields};

fn main() {
    // `cargo test --benches` runs this too: then once is enough.
    let rounds = if std::env::args().any(|arg| arg == "--bench") {
        20_000
    } else {
        1
    };
    let ethernet_tcp = packets(|n| ethernet(0x0800, &ipv4(6, &tcp(n))));
    let ethernet_udp = packets(|n| ethernet(0x0800, &ipv4(17, &udp(n, b"a payload"))));
    let ethernet_vlan_ipv6_udp = packets(|n| {
        let tagged = [&[0, 7, 0x86, 0xdd][..], &ipv6(17, &udp(n, b"a payload"))].concat();
        ethernet(0x8100, &tagged)
    });
    let vxlan = packets(|n| {
        let inner = ethernet(0x0800, &ipv4(6, &tcp(n)));
        let mut outer = udp(n, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &inner].concat());
        outer[2..4].copy_from_slice(&4789_u16.to_be_bytes());
        ethernet(0x0800, &ipv4(17, &outer))
    });
    for (name, packets) in [
        ("ethernet/ipv4/tcp", &ethernet_tcp),
        ("ethernet/ipv4/udp", &ethernet_udp),
        ("ethernet/vlan/ipv6/udp", &ethernet_vlan_ipv6_udp),
        ("ethernet/ipv4/udp/vxlan/ethernet/ipv4/tcp", &vxlan),
    ] {
        for (depth, needs) in [
            ("full", &[Needs::All][..]),
            ("ports", &[Needs::Transport]),
            ("addresses", &[Needs::Network]),
            ("record", &[Needs::Record]),
        ] {
            let mut decoder = Decoder::new(Options::default(), needs.iter().copied());
            let ns = best(rounds, packets, |bytes| {
                black_box(decoder.decode(Frame::new(LinkType::ETHERNET, bytes)));
            });
            println!("{name:45} {depth:10} {ns:6.1} ns");
        }
    }
    let five = five_tuple();
    let mut decoder = Decoder::new(Options::default(), five.iter().map(|(_, needs)| *needs));
    let ns = best(rounds, &ethernet_tcp, |bytes| {
        let packet = decoder.decode(Frame::new(LinkType::ETHERNET, bytes));
        for (get, _) in &five {
            match get {
                Get::Address(get) => drop(black_box(get(&packet))),
                Get::U16(get) => drop(black_box(get(&packet))),
                Get::U8(get) => drop(black_box(get(&packet))),
                _ => unreachable!("the five columns have these types"),
            }
        }
    });
    println!(
        "{:45} {:10} {ns:6.1} ns",
        "ethernet/ipv4/tcp, five columns read", ""
    );
}

fn five_tuple() -> Vec<(Get, Needs)> {
    ["addr.src", "addr.dst", "port.src", "port.dst", "ip.proto"]
        .iter()
        .filter_map(|name| fields().find(|(field, _)| field.name == *name))
        .map(|(field, needs)| (field.get, needs))
        .collect()
}

fn best(rounds: u32, packets: &[Vec<u8>], mut decode: impl FnMut(&[u8])) -> f64 {
    (0..rounds)
        .map(|_| {
            let start = Instant::now();
            for packet in packets {
                decode(packet);
            }
            start.elapsed().as_secs_f64() * 1e9 / packets.len() as f64
        })
        .fold(f64::INFINITY, f64::min)
}

fn packets(make: impl Fn(u16) -> Vec<u8>) -> Vec<Vec<u8>> {
    (0..256).map(make).collect()
}

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [
        &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2],
        &kind.to_be_bytes()[..],
        payload,
    ]
    .concat()
}

fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = u16::try_from(20 + payload.len()).unwrap_or(u16::MAX);
    let mut bytes = vec![
        0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    [&bytes, payload].concat()
}

fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; 40];
    bytes[0] = 0x60;
    bytes[4..6].copy_from_slice(
        &u16::try_from(payload.len())
            .unwrap_or(u16::MAX)
            .to_be_bytes(),
    );
    bytes[6] = protocol;
    [&bytes, payload].concat()
}

fn tcp(port: u16) -> Vec<u8> {
    let ports = [port.to_be_bytes(), 443_u16.to_be_bytes()].concat();
    [
        &ports[..],
        &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x18, 1, 0, 0, 0, 0, 0],
        b"a payload",
    ]
    .concat()
}

fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(8 + payload.len()).unwrap_or(u16::MAX);
    [
        &port.to_be_bytes()[..],
        &53_u16.to_be_bytes(),
        &len.to_be_bytes(),
        &[0, 0],
        payload,
    ]
    .concat()
}
