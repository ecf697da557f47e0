//! `flow.service` is what the octets of a connection say, however they are cut into segments.

use std::net::Ipv4Addr;

use weir_flow::Options;
use weir_testkit::Rng;
use weir_testkit::packet::{Chunk, Ipv4, Tcp, protocol, sctp, tcp_flags};

use crate::capture::{self, Sent};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const IP: u32 = 101;

/// The packets of a connection.
struct ServiceConnection {
    port: u16,
    /// Next numbers of client and server.
    next: [u32; 2],
    packets: Vec<Sent>,
}

impl ServiceConnection {
    fn new(port: u16) -> Self {
        let mut connection = Self {
            port,
            next: [1_000, 5_000],
            packets: Vec::new(),
        };
        connection.send(0, tcp_flags::SYN, b"");
        connection.send(1, tcp_flags::SYN | tcp_flags::ACK, b"");
        connection.send(0, tcp_flags::ACK, b"");
        connection
    }

    fn send(&mut self, side: usize, flags: u8, data: &[u8]) {
        let (from, to, ports) = match side {
            0 => (CLIENT, SERVER, (40_000, self.port)),
            _ => (SERVER, CLIENT, (self.port, 40_000)),
        };
        let segment = Tcp::new(ports.0, ports.1)
            .flags(flags)
            .window(60_000)
            .numbers(self.next[side], self.next[1 - side])
            .segment(from.into(), to.into(), data);
        let time_ns = self.packets.len() as i64 * 1_000_000;
        let ip = Ipv4::new(from, to, protocol::TCP).packet(&segment);
        self.packets.push(Sent::new(time_ns, IP, ip));
        let syn = u32::from(flags & tcp_flags::SYN != 0);
        self.next[side] = self.next[side].wrapping_add(data.len() as u32 + syn);
    }

    fn service(&self) -> Option<&'static str> {
        let flows = capture::flows(&self.packets, Options::default());
        assert_eq!(flows.len(), 1);
        flows[0].application.as_str()
    }
}

/// The messages in their order, sent by the client (`>`) or the server (`<`).
type Turns<'t> = &'t [(char, &'t [u8])];

/// The service where each turn is cut into pieces of as many octets as `len` says.
fn cut(port: u16, turns: Turns<'_>, mut len: impl FnMut() -> usize) -> Option<&'static str> {
    let mut connection = ServiceConnection::new(port);
    for (sender, bytes) in turns {
        let mut rest = *bytes;
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(len().clamp(1, rest.len()));
            connection.send(usize::from(*sender == '<'), tcp_flags::ACK, piece);
            rest = after;
        }
    }
    connection.service()
}

#[track_caller]
fn check(port: u16, turns: Turns<'_>, expected: Option<&str>) {
    for len in [usize::MAX, 1, 2, 3, 5, 8, 13, 40] {
        assert_eq!(cut(port, turns, || len), expected, "pieces of {len}");
    }
    let mut random = Rng::new(17);
    for _ in 0..20 {
        let found = cut(port, turns, || random.between(1, 60) as usize);
        assert_eq!(found, expected, "{turns:?}");
    }
}

#[test]
fn a_service_does_not_depend_on_the_size_of_segments() {
    let mysql = b"\x0e\0\0\0\x0a8.0.36\0\x01\0\0\0\0\0";
    let startup = b"\0\0\0\x10\0\x03\0\0user\0me\0";
    let hello = b"\x16\x03\x01\x00\x20\x01\x00\x00\x1c\x03\x03abcdefghijklmnopqrstuvwx";
    let connect = b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04abcd";
    let question = b"\0\x13\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a\0\0\x01\0\x01";
    let open = [&[0xff; 16][..], &[0, 29, 1, 4, 0, 1, 0, 90, 1, 2, 3, 4, 0]].concat();
    let get: &[u8] = b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n";
    let cases: &[(u16, Turns<'_>, Option<&str>)] = &[
        (
            8_088,
            &[('>', get), ('<', b"HTTP/1.1 204 No Content\r\n\r\n")],
            Some("http"),
        ),
        (
            8_088,
            &[('<', b"HTTP/1.0 200 OK\r\n\r\nSSH-2.0-not\r\n")],
            Some("http"),
        ),
        (
            5_070,
            &[('>', b"OPTIONS sip:a@b SIP/2.0\r\nVia: x\r\n\r\n")],
            Some("sip"),
        ),
        (
            5_070,
            &[('>', b"\r\n\r\nINVITE sip:a@b SIP/2.0\r\n\r\n")],
            Some("sip"),
        ),
        (5_070, &[('<', b"SIP/2.0 200 OK\r\n\r\n")], Some("sip")),
        (
            554,
            &[('>', b"OPTIONS rtsp://a RTSP/1.0\r\n\r\n")],
            Some("rtsp"),
        ),
        (
            2_525,
            &[('<', b"220 mail.example ESMTP\r\n"), ('>', b"NOOP\r\n")],
            Some("smtp"),
        ),
        (2_121, &[('<', b"220-Hello\r\n220 FTP\r\n")], Some("ftp")),
        (25, &[('<', b"220 ready\r\n")], Some("smtp")),
        (21, &[('<', b"220-Hello\r\n220 ready\r\n")], Some("ftp")),
        (2_222, &[('<', b"SSH-2.0-OpenSSH_9.2\r\n")], Some("ssh")),
        (8_443, &[('>', hello)], Some("ssl")),
        (1_884, &[('>', connect)], Some("mqtt")),
        (53, &[('>', question)], Some("dns")),
        (3_307, &[('<', mysql)], Some("mysql")),
        (5_433, &[('>', startup)], Some("postgresql")),
        (
            1_080,
            &[('>', b"\x05\x02\0\x02"), ('<', b"\x05\0")],
            Some("socks"),
        ),
        (7_000, &[('>', b"*1\r\n$4\r\nPING\r\n")], Some("redis")),
        (
            5_223,
            &[('>', b"<?xml version=\"1.0\" ?>\r\n<stream:stream to='a'>")],
            Some("xmpp"),
        ),
        (5_223, &[('>', b"<stream:stream to='a'>")], Some("xmpp")),
        (5_223, &[('>', b"<?xml version='1.0'?><a/>")], None),
        (179, &[('>', &open)], Some("bgp")),
        // A line that begins as one of HTTP's does.
        (
            9_999,
            &[('>', b"GET me a coffee\r\n"), ('<', b"no\r\n")],
            None,
        ),
        (9_999, &[('>', b"hello\r\n"), ('<', b"hello\r\n")], None),
    ];
    for (port, turns, expected) in cases {
        check(*port, turns, *expected);
    }
}

#[test]
fn an_answer_that_switches_counts_behind_other_answers() {
    let get: &[u8] = b"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\n\r\n";
    let body = [
        &b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 6000\r\n\r\n"[..],
        &[b'x'; 6_000],
    ]
    .concat();
    let switch: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
    let turns: Turns<'_> = &[('>', get), ('<', &body), ('>', get), ('<', switch)];
    for len in [usize::MAX, 40, 700, 1_400] {
        assert_eq!(cut(8_080, turns, || len), Some("websocket"), "{len}");
    }
    let plain: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
    check(8_080, &[('>', get), ('<', plain)], Some("http"));
}

#[test]
fn segments_out_of_order_twice_or_missing_leave_a_service_to_be_found() {
    let line = b"REGISTER sip:a.example SIP/2.0\r\n";
    let pieces: Vec<&[u8]> = line.chunks(8).collect();
    let orders: &[&[usize]] = &[
        &[0, 1, 2, 3],
        &[1, 0, 3, 2],
        &[3, 2, 1, 0],
        &[0, 0, 1, 3, 1, 2],
    ];
    for order in orders {
        let mut connection = ServiceConnection::new(5_070);
        let start = connection.next[0];
        for index in *order {
            connection.next[0] = start + 8 * *index as u32;
            connection.send(0, tcp_flags::ACK, pieces[*index]);
        }
        assert_eq!(connection.service(), Some("sip"), "{order:?}");
    }
    // The first octets are missing, or were sent before the capture.
    let mut connection = ServiceConnection::new(5_070);
    connection.next[0] += 100;
    connection.send(0, tcp_flags::ACK, line);
    assert_eq!(connection.service(), Some("sip"));
    let mut connection = ServiceConnection::new(5_070);
    connection.packets.clear();
    connection.send(0, tcp_flags::ACK, b"the rest of a message");
    connection.send(0, tcp_flags::ACK, line);
    assert_eq!(connection.service(), Some("sip"));
}

/// The payload protocol identifier says what messages of SCTP are, or else their octets.
#[test]
fn messages_of_sctp_say_what_an_association_carries() {
    let service = |protocol: u32, payload: &[u8]| {
        let data = |tsn, payload: &[u8]| Chunk::Data {
            tsn,
            stream: 0,
            sequence: 0,
            protocol,
            payload: payload.to_vec(),
        };
        let sack = Chunk::Sack {
            cumulative_tsn: 1,
            window: 9_000,
        };
        let chunks = [vec![Chunk::CookieAck], vec![sack, data(1, payload)]];
        let packets: Vec<Sent> = chunks
            .iter()
            .map(|chunks| {
                let packet = sctp(40_000, 2_905, 7, chunks);
                let ip = Ipv4::new(CLIENT, SERVER, 132).packet(&packet);
                Sent::new(0, IP, ip)
            })
            .collect();
        let flows = capture::flows(&packets, Options::default());
        assert_eq!(flows.len(), 1);
        flows[0].application.as_str()
    };
    assert_eq!(service(3, &[1, 0, 1, 1, 0, 0, 0, 8]), Some("m3ua"));
    assert_eq!(service(46, b"whatever"), Some("diameter"));
    assert_eq!(service(0, b"INVITE sip:a@b SIP/2.0\r\n"), Some("sip"));
    assert_eq!(service(0, b"whatever"), None);
}

#[test]
fn diameter_is_found_in_segments_of_any_size() {
    let mut message = vec![
        1, 0, 0, 40, 0x80, 0, 1, 24, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
    ];
    message.extend(b"\0\0\x01\x08\x40\0\0\x11h.example\0\0\0");
    for port in [3_868, 40_001] {
        check(port, &[('>', &message)], Some("diameter"));
        check(port, &[('<', &message)], Some("diameter"));
    }
    message[4] = 0xa0;
    check(3_868, &[('>', &message)], None);
}

/// The search ends after 32 KiB of a direction, with segments of any size.
#[test]
fn a_service_is_looked_for_in_the_first_octets() {
    let rest: &[u8] = b"INVITE sip:a@b SIP/2.0\r\n\r\n";
    for (before, expected) in [(32_000, Some("sip")), (33_000, None)] {
        let before = vec![b'.'; before];
        let turns: Turns<'_> = &[('>', &before), ('<', b"."), ('>', rest)];
        for len in [usize::MAX, 100, 1_400] {
            assert_eq!(cut(5_070, turns, || len), expected, "{len}");
        }
    }
}
