//! Filters on the name of a protocol alone.

use std::net::Ipv4Addr;

use weir_testkit::packet::{Ipv4, protocol, udp};

use super::preliminary::preliminary;
use super::{are_selected, are_selected_in, by_weir};
use crate::untidy_handshakes::hellos;

/// Connections: each has its port and the octets sent on it in turn, by the client (true) or the server.
type Talk<'t> = (u16, &'t [(bool, &'t [u8])]);

/// Returns the packets of connections one after another; each is opened by three packets.
fn talks(talks: &[Talk<'_>]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    for (client, (port, sent)) in (40_000..).zip(talks) {
        let ends = [([10, 0, 0, 1], client), ([10, 0, 0, 2], *port)];
        let [client, server] = ends.map(|(address, port)| (address.into(), port));
        let mut one = crate::wire::Connection::open(client, server, &mut packets);
        for (from_client, bytes) in *sent {
            one.send_one(*from_client, bytes, &mut packets);
        }
    }
    packets
}

const PAGE: &[(bool, &[u8])] = &[
    (true, b"GET /x HTTP/1.1\r\nHost: h\r\n\r\n"),
    (
        false,
        b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n0123456789",
    ),
    (false, b"0123456789"),
    (false, b"0123456789"),
    (
        true,
        b"POST /y HTTP/1.1\r\nHost: h\r\nContent-Length: 20\r\n\r\n",
    ),
    (true, b"qqqqqqqqqq"),
    (true, b"qqqqqqqqqq"),
    (
        false,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
    ),
    (false, b"3\r\nxyz\r\n"),
    (false, b"0\r\n\r\n"),
];
const TWO: &[(bool, &[u8])] = &[
    (
        true,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
    ),
    (false, b"\0\0\0\x04\0\0\0\0\0"),
    (true, b"\0\0\x03\x01\x05\0\0\0\x01\x82\x86\x84"),
    (
        false,
        b"\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x02\0\x01\0\0\0\x01hi",
    ),
];
const SHELL: &[(bool, &[u8])] = &[
    (false, b"SSH-2.0-OpenSSH_9.2\r\n"),
    (true, b"SSH-2.0-OpenSSH_9.2\r\n"),
];
/// tshark reads everything that follows on the port of a proxy as HTTP.
const TUNNEL: &[(bool, &[u8])] = &[
    (true, b"CONNECT h:7 HTTP/1.1\r\nHost: h\r\n\r\n"),
    (false, b"HTTP/1.1 200 OK\r\n\r\n"),
    (true, b"\x01\x02\x03\x04\x05"),
    (false, b"\x06\x07\x08\x09\x0a"),
];
const SOCKET: &[(bool, &[u8])] = &[
    (
        true,
        b"GET / HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ),
    (
        false,
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ),
    (false, b"\x81\x02hi"),
    (true, b"\x81\x82\0\0\0\0hi"),
];
const PIECES: &[(bool, &[u8])] = &[
    (true, b"GE"),
    (true, b"T / HT"),
    (true, b"TP/1.1\r\n\r"),
    (true, b"\n"),
];

/// `http` was refused, because fields of messages select only the frames that complete their heads.
#[test]
fn http_is_the_frames_that_carry_octets_of_it() {
    let packets = talks(&[(80, PAGE), (80, TWO), (22, SHELL)]);
    let expected: &[(&str, &[u64])] = &[
        ("http", &[4, 5, 6, 7, 8, 9, 10, 11, 12, 13]),
        ("http2", &[17, 18, 19, 20]),
        ("http && tcp.dstport == 80", &[4, 8, 9, 10]),
        ("tcp.len > 0 && !http && !http2", &[24, 25]),
        ("http.request && http", &[4, 8]),
    ];
    // Each segment is dissected by itself.
    are_selected(&packets, expected, &["tcp.desegment_tcp_streams:FALSE"]);
}

#[test]
fn what_other_protocols_carry_behind_a_head_is_no_http() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("behind.pcap");
    for (talk, expected) in [
        (TUNNEL, &[4, 5][..]),
        (SOCKET, &[4, 5]),
        (PIECES, &[4, 5, 6, 7]),
        (SHELL, &[]),
    ] {
        crate::wire::write(&talks(&[(6_000, talk)]), &path);
        let selected: Vec<u64> = by_weir("http", &path).into_iter().collect();
        assert_eq!(selected, expected);
        assert!(by_weir("http2", &path).is_empty());
    }
    // The response that agrees to HTTP/2 is the last of HTTP/1.
    crate::wire::write(&preliminary(), &path);
    let of = |filter| by_weir(filter, &path).into_iter().collect::<Vec<u64>>();
    assert_eq!(of("http && tcp.srcport == 80"), [5, 7, 10, 11, 12, 17]);
    assert_eq!(of("http2"), [18, 19, 20, 21]);
}

/// Protocols that Wireshark knows by their ports and numbers were refused.
#[test]
fn protocols_that_are_known_by_ports_and_numbers_are_the_packets_that_carry_them() {
    let [client, server] = hellos();
    let files: &[(bool, &[u8])] = &[
        (false, b"220 ready\r\n"),
        (true, b"AUTH TLS\r\n"),
        (false, b"234 go on\r\n"),
        (true, &client),
        (false, &server),
    ];
    let mail: &[(bool, &[u8])] = &[(false, b"+OK ready\r\n"), (true, b"USER alice\r\n")];
    let mut packets = talks(&[(22, SHELL), (21, files), (110, mail)]);
    let [from, to] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Ipv4Addr::from);
    let name = [
        &b"\x12\x34\x01\x10\0\x01\0\0\0\0\0\0\x20"[..],
        &b"CA".repeat(16)[..],
        b"\0\0\x20\0\x01",
    ]
    .concat();
    let initiation = [&b"\x01\0\0\0"[..], &[5; 144]].concat();
    let header = b"\0\0\0\0\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\x05\0\x10\x02\0\0\0\0\0\0\0\0\x1c";
    // 19 to 23: a datagram without data is none of its port's protocol.
    let datagrams: [(u16, u16, &[u8]); 5] = [
        (137, 137, &name),
        (137, 137, b""),
        (
            4_000,
            1_900,
            b"M-SEARCH * HTTP/1.1\r\nHOST: 239.255.255.250:1900\r\n\r\n",
        ),
        (4_001, 51_820, &initiation),
        (4_500, 4_500, header),
    ];
    packets.extend(datagrams.map(|(source, port, payload)| {
        let datagram = udp(from.into(), to.into(), source, port, payload);
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    }));
    let hello = [&b"\x02\x01\0\x2c\x0a\0\0\x01"[..], &[0; 36]].concat();
    packets.push(Ipv4::new(from, to, 89).packet(&hello));
    let expected: &[(&str, &[u64])] = &[
        ("ssh", &[4, 5]),
        ("ssh contains \"OpenSSH\" && tcp.dstport == 22", &[5]),
        ("ftp", &[9, 10, 11]),
        ("pop", &[17, 18]),
        ("pop contains \"alice\"", &[18]),
        ("nbns", &[19]),
        ("nbns[0:2] == 12:34 && len(nbns) == 50", &[19]),
        ("ssdp", &[21]),
        ("ssdp matches \"search\"", &[21]),
        ("wg", &[22]),
        ("isakmp", &[23]),
        ("ospf", &[24]),
        (
            "ip && !(ssh or ftp or pop or ospf) && tcp.len > 0",
            &[12, 13],
        ),
    ];
    are_selected(&packets, expected, &[]);
}

/// Version 2 of GTP was refused, and version 1 has its ports.
#[test]
fn gtp_version_2_is_known_by_its_first_octet() {
    let [from, to] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(Ipv4Addr::from);
    let echo = |first: u8| {
        let message = [first, 1, 0, 4, 0, 0, 0, 1];
        let datagram = udp(from.into(), to.into(), 2_123, 2_123, &message);
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    };
    let expected: &[(&str, &[u64])] = &[("gtpv2", &[1]), ("gtpv2[0] == 40", &[1])];
    are_selected(&[echo(0x40), echo(0x32)], expected, &[]);
}

/// `websocket` was refused, although its messages have fields.
#[test]
fn websocket_is_the_frames_that_complete_a_frame_of_it() {
    are_selected(
        &talks(&[(80, SOCKET), (22, SHELL)]),
        &[("websocket", &[6, 7])],
        &[],
    );
}

/// Octets of messages that may begin in another packet have no offsets.
#[test]
fn octets_of_protocols_that_are_known_by_ports_have_hints() {
    let refused = |filter| {
        let error = weir_tables::DisplayFilter::new(filter).unwrap_err();
        (error.message, error.hint.unwrap_or_default())
    };
    assert_eq!(
        refused("ssh[0:3] == \"SSH\""),
        (
            "a message of ssh may begin in another packet, and has no offsets here".to_owned(),
            "ssh and tcp.payload[0:4] == \"text\" looks at a segment".to_owned(),
        )
    );
    assert_eq!(
        refused("ospf contains 02:01").1,
        "ospf is a condition by itself; ospf and frame contains \"text\" searches its packets"
    );
}

/// They were refused with a filter of `ppp.protocol` to write.
#[test]
fn control_protocols_of_ppp_are_known_by_their_numbers() {
    let frame = |protocol: [u8; 2], message: &[u8]| {
        let mut frame = vec![0_u8; 12];
        frame.extend([0x88, 0x64, 0x11, 0, 0, 1, 0, 2 + message.len() as u8]);
        frame.extend(protocol);
        frame.extend(message);
        frame
    };
    let packets = [
        frame([0xc2, 0x23], b"\x01\x01\0\x0a\x04abcdn"),
        frame([0xc0, 0x23], b"\x01\x01\0\x08\x01a\x01b"),
        frame([0xc0, 0x21], b"\x01\x01\0\x04"),
        frame([0x80, 0x21], b"\x01\x01\0\x04"),
    ];
    let expected: &[(&str, &[u64])] = &[
        ("chap", &[1]),
        ("pap", &[2]),
        ("lcp", &[3]),
        ("ipcp", &[4]),
        ("ppp && !lcp", &[1, 2, 4]),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("links.pcap");
    crate::networks::write(&path, &packets);
    are_selected_in(&path, expected, &[]);
}
