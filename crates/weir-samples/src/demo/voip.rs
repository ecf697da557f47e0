//! A small office that telephones: names, a web page, a port scan, and two calls.

use super::wire::{ACK, SYN, Wire};
use crate::Rng;
use crate::packet::tcp_flags;
use std::io;
use std::net::Ipv4Addr;

const DESK: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 5);
const PHONE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 6);
const INTRUDER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 66);
const RESOLVER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const EXCHANGE: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 2);
const WEB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 80);
const SILENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 99);

/// The capture, and how many packets it has.
pub(super) fn voip_pcap(_: &mut Rng) -> io::Result<(Vec<u8>, u64)> {
    let mut office = Wire::default();
    name(&mut office, 0);
    page(&mut office, 1_000);
    scan(&mut office, 2_000);
    attempt(&mut office, 3_000);
    call(&mut office, 4_000);
    busy(&mut office, 20_000);
    office.pcap(1_700_000_000)
}

/// A DNS lookup.
fn name(office: &mut Wire, at_ms: u64) {
    let mut message = vec![0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    message.extend(b"\x03www\x07example\x03org\0\0\x01\0\x01");
    office.datagram(at_ms, (DESK, 40_001), (RESOLVER, 53), &message);
    message[2..4].copy_from_slice(&[0x81, 0x80]);
    message[7] = 1;
    message.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 80]);
    office.datagram(at_ms + 3, (RESOLVER, 53), (DESK, 40_001), &message);
}

/// A page, of which a segment is sent twice.
fn page(office: &mut Wire, at_ms: u64) {
    let (there, back) = (((DESK, 41_000), (WEB, 80)), ((WEB, 80), (DESK, 41_000)));
    let request = b"GET / HTTP/1.1\r\nHost: www.example.org\r\n\r\n";
    let asked = 1 + request.len() as u32;
    office.segment(at_ms, there, (0, 0), SYN, b"");
    office.segment(at_ms + 20, back, (0, 1), SYN | ACK, b"");
    office.segment(at_ms + 21, there, (1, 1), ACK, b"");
    office.segment(at_ms + 22, there, (1, 1), ACK, request);
    let mut page = b"HTTP/1.1 200 OK\r\nContent-Length: 2963\r\n\r\n".to_vec();
    page.resize(3_000, b'x');
    for (n, piece) in (0..).zip(page.chunks(1_000)) {
        let at_ms = at_ms + 45 + u64::from(n);
        office.segment(at_ms, back, (1 + n * 1_000, asked), ACK, piece);
    }
    office.segment(at_ms + 250, back, (2_001, asked), ACK, &page[2_000..]);
    office.segment(at_ms + 251, there, (asked, 3_001), ACK, b"");
    let end = ACK | tcp_flags::FIN;
    office.segment(at_ms + 300, back, (3_001, asked), end, b"");
    office.segment(at_ms + 301, there, (asked, 3_002), end, b"");
    office.segment(at_ms + 321, back, (3_002, asked + 1), ACK, b"");
}

/// Ports that are tried and closed.
fn scan(office: &mut Wire, at_ms: u64) {
    for port in 21..26_u16 {
        let (there, back) = ((INTRUDER, 50_000 + port), (EXCHANGE, port));
        let at_ms = at_ms + u64::from(port);
        office.segment(at_ms, (there, back), (7, 0), SYN, b"");
        office.segment(at_ms, (back, there), (0, 8), ACK | tcp_flags::RST, b"");
    }
}

/// A server that does not answer.
fn attempt(office: &mut Wire, at_ms: u64) {
    for again in [0, 1_000, 3_000] {
        let ends = ((DESK, 41_001), (SILENT, 443));
        office.segment(at_ms + again, ends, (99, 0), SYN, b"");
    }
}

/// A call over UDP: ringing after a moment, answered, ended by the caller.
fn call(office: &mut Wire, at_ms: u64) {
    let (caller, callee) = ((DESK, 5_060), (EXCHANGE, 5_060));
    let way = "UDP 10.1.0.5:5060;branch=z9hG4bK";
    for (after, from_caller, line, cseq, tagged) in [
        (
            0,
            true,
            "INVITE sip:bob@office.example SIP/2.0",
            "1 INVITE",
            false,
        ),
        (40, false, "SIP/2.0 180 Ringing", "1 INVITE", true),
        (2_040, false, "SIP/2.0 200 OK", "1 INVITE", true),
        (
            2_050,
            true,
            "ACK sip:bob@office.example SIP/2.0",
            "1 ACK",
            true,
        ),
        (
            12_050,
            true,
            "BYE sip:bob@office.example SIP/2.0",
            "2 BYE",
            true,
        ),
        (12_060, false, "SIP/2.0 200 OK", "2 BYE", true),
    ] {
        let branch = format!("{way}{}", cseq.replace(' ', ""));
        let message = sip(line, &branch, ("alice", "bob"), "udp-call", cseq, tagged);
        let (from, to) = if from_caller {
            (caller, callee)
        } else {
            (callee, caller)
        };
        office.datagram(at_ms + after, from, to, &message);
    }
}

/// A call over TCP to a callee who is busy, in segments that do not end where messages do.
fn busy(office: &mut Wire, at_ms: u64) {
    let (there, back) = (
        ((PHONE, 45_000), (EXCHANGE, 5_060)),
        ((EXCHANGE, 5_060), (PHONE, 45_000)),
    );
    let way = "TCP 10.1.0.6:45000;branch=z9hG4bK1";
    let names = ("carol", "bob");
    let invite = sip(
        "INVITE sip:bob@office.example SIP/2.0",
        way,
        names,
        "tcp-call",
        "1 INVITE",
        false,
    );
    let busy = sip(
        "SIP/2.0 486 Busy Here",
        way,
        names,
        "tcp-call",
        "1 INVITE",
        true,
    );
    let ack = sip(
        "ACK sip:bob@office.example SIP/2.0",
        way,
        names,
        "tcp-call",
        "1 ACK",
        true,
    );
    office.segment(at_ms, there, (0, 0), SYN, b"");
    office.segment(at_ms + 5, back, (0, 1), SYN | ACK, b"");
    office.segment(at_ms + 6, there, (1, 1), ACK, b"");
    let (first, second) = invite.split_at(150);
    office.segment(at_ms + 7, there, (1, 1), ACK, first);
    office.segment(at_ms + 8, there, (151, 1), ACK, second);
    let asked = 1 + invite.len() as u32;
    office.segment(at_ms + 100, back, (1, asked), ACK, &busy);
    let answered = 1 + busy.len() as u32;
    office.segment(at_ms + 110, there, (asked, answered), ACK, &ack);
}

fn sip(
    line: &str,
    via: &str,
    (from, to): (&str, &str),
    id: &str,
    cseq: &str,
    tagged: bool,
) -> Vec<u8> {
    let tag = if tagged { ";tag=2" } else { "" };
    format!(
        "{line}\r\nVia: SIP/2.0/{via}\r\nMax-Forwards: 70\r\nFrom: <sip:{from}@office.example>;tag=1\r\n\
         To: <sip:{to}@office.example>{tag}\r\nCall-ID: {id}\r\nCSeq: {cseq}\r\nContent-Length: 0\r\n\r\n"
    )
    .into_bytes()
}
