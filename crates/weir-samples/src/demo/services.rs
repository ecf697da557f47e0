//! The requests of machines of a small site: an address, names, the time, pages, a counter, and some traffic that should not be
//! there.

use super::wire::{ACK, SYN, Wire, WireConnection, WireEnd};
use crate::Rng;
use crate::packet::{
    Ipv4, Mac, arp, ethernet, ethertype, icmp, mpls, protocol, tcp_flags, udp, vlan,
};
use std::io;
use std::net::Ipv4Addr;

const LAPTOP: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 21);
const PRINTER: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 30);
const SENSOR: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 40);
const INFECTED: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 77);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 4, 0, 5);
const SHOP: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 10);
const OLD_SHOP: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const VIDEO: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 44);
const MASTER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 66);
const TIME: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 123);

/// Cards of makers that are registered, as [`crate::packet::Mac`].
const LAPTOP_CARD: Mac = [0x3c, 0x22, 0xfb, 0x10, 0x20, 0x30];
const PRINTER_CARD: Mac = [0x3c, 0xd9, 0x2b, 0x01, 0x02, 0x03];
const GATEWAY_CARD: Mac = [0x00, 0x1b, 0x54, 0xaa, 0xbb, 0xcc];
const OTHER_CARD: Mac = [0xb8, 0x27, 0xeb, 0x66, 0x66, 0x66];

/// A client's first packet of QUIC version 1 to `video.example.org`, sealed as RFC 9001, 5.2 says.
const QUIC_INITIAL: &[u8] = include_bytes!("quic_initial.bin");
/// The certificate of `shop.example.org`, signed by itself.
const CERTIFICATE: &[u8] = include_bytes!("shop.der");

/// The capture, and how many packets it has.
pub(super) fn services_pcap(_: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut site = Wire::default();
    lease(&mut site, 0);
    pretender(&mut site, 400);
    names(&mut site, 1_000);
    time(&mut site, 3_000);
    counters(&mut site, 3_500);
    user(&mut site, 4_000);
    sensor(&mut site, 5_000);
    page(&mut site, 6_000);
    secured(&mut site, 8_000, (SHOP, 443), 0x0303);
    secured(&mut site, 9_000, (OLD_SHOP, 443), 0x0301);
    video(&mut site, 10_000);
    closed(&mut site, 11_000);
    tagged(&mut site, 12_000);
    beacon(&mut site, 13_000);
    site.pcap(1_767_268_800)
}

/// A machine requests an address and gets it (RFC 2131).
fn lease(site: &mut Wire, at_ms: u64) {
    let message = |kind: u8, op: u8, yours: Ipv4Addr, options: &[u8]| {
        let mut message = vec![op, 1, 6, 0, 0x3d, 0x1d, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        message.extend(yours.octets());
        message.extend([0; 8]);
        message.extend(LAPTOP_CARD);
        message.extend([0; 10 + 64 + 128]);
        message.extend([99, 130, 83, 99, 53, 1, kind]);
        message.extend(options);
        message.push(255);
        message
    };
    let none = Ipv4Addr::UNSPECIFIED;
    let (client, server) = ((none, 68), (GATEWAY, 67));
    let everybody = Ipv4Addr::BROADCAST;
    let asks = b"\x0c\x0alaptop-ann\x37\x03\x01\x03\x06";
    let mut wants = vec![50, 4];
    wants.extend(LAPTOP.octets());
    wants.extend(asks);
    let mut gives = vec![54, 4];
    gives.extend(GATEWAY.octets());
    gives.extend([51, 4, 0, 0, 0x0e, 0x10, 1, 4, 255, 255, 255, 0, 3, 4]);
    gives.extend(GATEWAY.octets());
    for (after, from, to, body) in [
        (0, client, (everybody, 67), message(1, 1, none, asks)),
        (12, server, (LAPTOP, 68), message(2, 2, LAPTOP, &gives)),
        (20, client, (everybody, 67), message(3, 1, none, &wants)),
        (31, server, (LAPTOP, 68), message(5, 2, LAPTOP, &gives)),
    ] {
        let (dst, src) = match from.0 == none {
            true => ([0xff; 6], LAPTOP_CARD),
            false => (LAPTOP_CARD, GATEWAY_CARD),
        };
        site.frame(at_ms + after, datagram(dst, src, from, to, &body));
    }
}

/// An Ethernet frame with a datagram.
fn datagram(dst: Mac, src: Mac, from: WireEnd, to: WireEnd, payload: &[u8]) -> Vec<u8> {
    let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, payload);
    let packet = Ipv4::new(from.0, to.0, protocol::UDP).packet(&datagram);
    ethernet(dst, src, ethertype::IPV4, &packet)
}

/// A laptop asks for the gateway's address; the gateway answers, and so does another machine.
fn pretender(site: &mut Wire, at_ms: u64) {
    let asked = arp(1, (LAPTOP_CARD, LAPTOP), ([0; 6], GATEWAY));
    let answer = arp(2, (GATEWAY_CARD, GATEWAY), (LAPTOP_CARD, LAPTOP));
    let other = arp(2, (OTHER_CARD, GATEWAY), (LAPTOP_CARD, LAPTOP));
    let printer = arp(1, (PRINTER_CARD, PRINTER), ([0; 6], GATEWAY));
    for (after, dst, src, packet) in [
        (0, [0xff; 6], LAPTOP_CARD, asked),
        (1, LAPTOP_CARD, GATEWAY_CARD, answer),
        (2, LAPTOP_CARD, OTHER_CARD, other),
        (40, [0xff; 6], PRINTER_CARD, printer),
    ] {
        let frame = ethernet(dst, src, ethertype::ARP, &packet);
        site.frame(at_ms + after, frame);
    }
}

/// Queries of DNS: for a name that exists, for one that does not, and one without an answer.
fn names(site: &mut Wire, at_ms: u64) {
    let question = |id: u16, name: &[&str]| {
        let mut message = id.to_be_bytes().to_vec();
        message.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
        for label in name {
            message.push(label.len() as u8);
            message.extend(label.as_bytes());
        }
        message.extend([0, 0, 1, 0, 1]);
        message
    };
    let resolver = (GATEWAY, 53);
    let there = question(1, &["shop", "example", "org"]);
    let mut found = there.clone();
    found[2..4].copy_from_slice(&[0x81, 0x80]);
    found[7] = 1;
    found.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4]);
    found.extend(SHOP.octets());
    site.datagram(at_ms, (LAPTOP, 50_001), resolver, &there);
    site.datagram(at_ms + 18, resolver, (LAPTOP, 50_001), &found);
    for (number, label) in (0..).zip(["qwpzk", "xjvbn", "mmrtq"]) {
        let asked = question(10 + number, &[label, "example", "net"]);
        let mut missing = asked.clone();
        missing[2..4].copy_from_slice(&[0x81, 0x83]);
        let from = (INFECTED, 51_000 + number);
        let at_ms = at_ms + 200 + u64::from(number) * 50;
        site.datagram(at_ms, from, resolver, &asked);
        site.datagram(at_ms + 25, resolver, from, &missing);
    }
    let silent = question(20, &["files", "example", "org"]);
    site.datagram(at_ms + 600, (PRINTER, 50_002), (SERVER, 53), &silent);
    site.datagram(at_ms + 1_600, (PRINTER, 50_002), (SERVER, 53), &silent);
}

/// The time (RFC 5905).
fn time(site: &mut Wire, at_ms: u64) {
    let mut asked = vec![0x23, 0, 6, 0xec];
    asked.resize(48, 0);
    asked[40..44].copy_from_slice(&3_976_257_603_u32.to_be_bytes());
    let mut answer = asked.clone();
    answer[..4].copy_from_slice(&[0x24, 2, 6, 0xe9]);
    answer[12..16].copy_from_slice(&[192, 0, 2, 1]);
    answer.copy_within(40..48, 24);
    answer[32..36].copy_from_slice(&3_976_257_603_u32.to_be_bytes());
    let (from, to) = ((LAPTOP, 50_100), (TIME, 123));
    site.datagram(at_ms, from, to, &asked);
    site.datagram(at_ms + 22, to, from, &answer);
}

/// A counter of the printer is read (RFC 3416).
fn counters(site: &mut Wire, at_ms: u64) {
    let pdu = |kind: u8, value: &[u8]| {
        let name = b"\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00";
        let wrap = |tag: u8, inside: &[u8]| {
            let mut outside = vec![tag, inside.len() as u8];
            outside.extend(inside);
            outside
        };
        let binding = wrap(0x30, &[name.as_slice(), value].concat());
        let bindings = wrap(0x30, &binding);
        let pdu = [
            b"\x02\x01\x07\x02\x01\x00\x02\x01\x00".as_slice(),
            &bindings,
        ]
        .concat();
        let body = [b"\x02\x01\x01\x04\x06public".as_slice(), &wrap(kind, &pdu)].concat();
        wrap(0x30, &body)
    };
    let (from, to) = ((SERVER, 40_161), (PRINTER, 161));
    site.datagram(at_ms, from, to, &pdu(0xa0, b"\x05\x00"));
    site.datagram(at_ms + 6, to, from, &pdu(0xa2, b"\x43\x02\x30\x39"));
}

/// A user logs in, and another is refused (RFC 2865).
fn user(site: &mut Wire, at_ms: u64) {
    let message = |code: u8, id: u8, attributes: &[&[u8]]| {
        let mut message = vec![code, id, 0, 0];
        message.extend([0x5a; 16]);
        for attribute in attributes {
            message.extend(*attribute);
        }
        let length = message.len() as u16;
        message[2..4].copy_from_slice(&length.to_be_bytes());
        message
    };
    let server = (SERVER, 1_812);
    for (number, (name, accepted)) in (1..).zip([("ann", true), ("mallory", false)]) {
        let mut user = vec![1, 2 + name.len() as u8];
        user.extend(name.as_bytes());
        let station = b"\x1f\x133C-22-FB-10-20-30";
        let port = b"\x05\x06\x00\x00\x00\x07";
        let from = (GATEWAY, 48_000 + u16::from(number));
        let at_ms = at_ms + u64::from(number) * 100;
        let asked = message(1, number, &[&user, station, port]);
        let (code, attributes): (u8, &[u8]) = match accepted {
            true => (2, b"\x12\x09welcome"),
            false => (3, b"\x12\x0cno such us"),
        };
        site.datagram(at_ms, from, server, &asked);
        site.datagram(
            at_ms + 9,
            server,
            from,
            &message(code, number, &[attributes]),
        );
    }
}

/// A sensor says how warm it is (MQTT 3.1.1).
fn sensor(site: &mut Wire, at_ms: u64) {
    let packet = |kind: u8, parts: &[&[u8]]| {
        let body = parts.concat();
        let mut packet = vec![kind, body.len() as u8];
        packet.extend(body);
        packet
    };
    let mut on = site.connect(at_ms, (SENSOR, 46_000), (SERVER, 1_883));
    let hello = packet(0x10, &[b"\0\x04MQTT\x04\x02\0\x3c", b"\0\x08sensor-4"]);
    site.send(at_ms + 10, &mut on, 0, &hello);
    site.send(at_ms + 14, &mut on, 1, &packet(0x20, &[b"\0\0"]));
    for (number, reading) in (0..).zip(["{\"t\": 21.5}", "{\"t\": 21.7}"]) {
        let publish = packet(0x30, &[b"\0\x0asite/4/air", reading.as_bytes()]);
        site.send(at_ms + 100 + number * 500, &mut on, 0, &publish);
    }
}

/// Pages: one that is slow, one that is not there, and a password that everybody can read.
fn page(site: &mut Wire, at_ms: u64) {
    let mut on = site.connect(at_ms, (LAPTOP, 52_000), (SERVER, 80));
    let form = "user=ann&password=hunter2";
    let asked = [
        "GET /report HTTP/1.1\r\nHost: intranet.example\r\nUser-Agent: Browser/9.1\r\n\r\n"
            .to_owned(),
        "GET /nothing HTTP/1.1\r\nHost: intranet.example\r\nUser-Agent: Browser/9.1\r\n\r\n"
            .to_owned(),
        format!(
            "POST /login HTTP/1.1\r\nHost: intranet.example\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        ),
    ];
    let answers = [
        (
            740,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nreport",
        ),
        (12, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        (
            25,
            "HTTP/1.1 302 Found\r\nLocation: /report\r\nContent-Length: 0\r\n\r\n",
        ),
    ];
    let mut at_ms = at_ms + 10;
    for (asked, (after, answer)) in asked.iter().zip(answers) {
        site.send(at_ms, &mut on, 0, asked.as_bytes());
        at_ms += after;
        site.send(at_ms, &mut on, 1, answer.as_bytes());
        at_ms += 60;
    }
}

/// A record of TLS.
fn record(kind: u8, version: u16, body: &[u8]) -> Vec<u8> {
    let mut record = vec![kind];
    record.extend(version.to_be_bytes());
    record.extend((body.len() as u16).to_be_bytes());
    record.extend(body);
    record
}

/// A message of a handshake.
fn handshake(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend(&(body.len() as u32).to_be_bytes()[1..]);
    message.extend(body);
    message
}

/// A connection over TLS of this version, with a certificate that can be read.
fn secured(site: &mut Wire, at_ms: u64, server: WireEnd, version: u16) {
    let name = b"shop.example.org";
    let sized = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    let extension = |kind: u16, body: &[u8]| [&kind.to_be_bytes()[..], &sized(body)].concat();
    let named = [&[0][..], &sized(name)].concat();
    let mut extensions = extension(0, &sized(&named));
    extensions.extend(extension(10, &sized(&[0, 29, 0, 23])));
    extensions.extend(extension(11, &[1, 0]));
    if version == 0x0303 {
        extensions.extend(extension(13, &sized(&[4, 3, 8, 4, 4, 1])));
        extensions.extend(extension(16, &sized(b"\x02h2\x08http/1.1")));
    }
    let mut hello = version.to_be_bytes().to_vec();
    hello.extend((0..32).map(|at| 0x10 + at));
    hello.push(0);
    let ciphers: &[u8] = match version {
        0x0303 => &[0xc0, 0x2b, 0xc0, 0x2f, 0xc0, 0x0a, 0, 0x9c],
        _ => &[0xc0, 0x0a, 0, 0x35, 0, 0x0a],
    };
    hello.extend(sized(ciphers));
    hello.extend([1, 0]);
    hello.extend(sized(&extensions));
    let mut answer = version.to_be_bytes().to_vec();
    answer.extend((0..32).map(|at| 0x80 + at));
    answer.extend([0, ciphers[0], ciphers[1], 0]);
    let mut list = (CERTIFICATE.len() as u32).to_be_bytes()[1..].to_vec();
    list.extend(CERTIFICATE);
    let mut certificates = (list.len() as u32).to_be_bytes()[1..].to_vec();
    certificates.extend(list);
    let hello_and_certificates = [
        handshake(2, &answer),
        handshake(11, &certificates),
        handshake(14, b""),
    ]
    .concat();
    let mut on: WireConnection = site.connect(at_ms, (LAPTOP, 53_000 + version), server);
    let first = record(22, 0x0301, &handshake(1, &hello));
    site.send(at_ms + 10, &mut on, 0, &first);
    site.send(
        at_ms + 40,
        &mut on,
        1,
        &record(22, version, &hello_and_certificates),
    );
    let sealed = |kind: u8, length: usize| record(kind, version, &vec![0x99; length]);
    let key = record(22, version, &handshake(16, &[0x41; 66]));
    let finished = [key, record(20, version, &[1]), sealed(22, 40)].concat();
    site.send(at_ms + 60, &mut on, 0, &finished);
    let finished = [record(20, version, &[1]), sealed(22, 40)].concat();
    site.send(at_ms + 90, &mut on, 1, &finished);
    site.send(at_ms + 100, &mut on, 0, &sealed(23, 300));
    site.send(at_ms + 130, &mut on, 1, &sealed(23, 900));
}

/// A video over QUIC: its first packet can be read, what follows is sealed.
fn video(site: &mut Wire, at_ms: u64) {
    let (from, to) = ((LAPTOP, 54_000), (VIDEO, 443));
    site.datagram(at_ms, from, to, QUIC_INITIAL);
    let mut sealed = vec![0x40];
    sealed.extend([0xa5; 700]);
    for number in 0..5 {
        site.datagram(at_ms + 40 + number * 10, to, from, &sealed);
    }
}

/// A closed port: the machine sends an ICMP error that quotes the packet.
fn closed(site: &mut Wire, at_ms: u64) {
    let (from, to) = ((LAPTOP, 55_000), (PRINTER, 9_101));
    let sent = udp(from.0.into(), to.0.into(), from.1, to.1, b"hello?");
    let sent = Ipv4::new(from.0, to.0, protocol::UDP).packet(&sent);
    let unreachable = icmp(3, 3, [0; 4], &sent);
    let unreachable = Ipv4::new(PRINTER, LAPTOP, protocol::ICMP).packet(&unreachable);
    let (laptop, printer) = (LAPTOP_CARD, PRINTER_CARD);
    site.frame(at_ms, ethernet(printer, laptop, ethertype::IPV4, &sent));
    site.frame(
        at_ms + 1,
        ethernet(laptop, printer, ethertype::IPV4, &unreachable),
    );
}

/// Frames with two tags, and packets with two labels.
fn tagged(site: &mut Wire, at_ms: u64) {
    for number in 0..6_u16 {
        let from = (LAPTOP, 56_000);
        let to = (SERVER, 7_000 + number);
        let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, b"tagged");
        let packet = Ipv4::new(from.0, to.0, protocol::UDP).packet(&datagram);
        let at_ms = at_ms + u64::from(number) * 10;
        let inner = vlan(0, 10 + number % 2, ethertype::IPV4, &packet);
        let outer = vlan(0, 100, ethertype::VLAN, &inner);
        let (dst, src) = (GATEWAY_CARD, LAPTOP_CARD);
        site.frame(at_ms, ethernet(dst, src, ethertype::VLAN, &outer));
        let labelled = mpls(&[16_001, 24 + u32::from(number % 3)], 60, &packet);
        site.frame(at_ms + 5, ethernet(dst, src, ethertype::MPLS, &labelled));
    }
}

/// A machine calls home each minute.
fn beacon(site: &mut Wire, at_ms: u64) {
    for number in 0..10_u16 {
        let ends = ((INFECTED, 57_000 + number), (MASTER, 8_443));
        let back = (ends.1, ends.0);
        let at_ms = at_ms + u64::from(number) * 60_000 + u64::from(number % 3) * 7;
        site.segment(at_ms, ends, (0, 0), SYN, b"");
        site.segment(at_ms + 30, back, (0, 1), SYN | ACK, b"");
        site.segment(at_ms + 31, ends, (1, 1), ACK, b"");
        site.segment(at_ms + 32, ends, (1, 1), ACK, b"alive");
        site.segment(at_ms + 70, back, (1, 6), ACK | tcp_flags::RST, b"");
    }
}
