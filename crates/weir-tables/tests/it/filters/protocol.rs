//! Filters on the name of a protocol alone.

use super::preliminary::preliminary;
use super::{are_selected, by_weir};

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
