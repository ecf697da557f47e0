//! Clients that do not wait for a proxy: their first data come in one segment with their request for a tunnel, and the server's first
//! ones in one segment with the proxy's answer.

use crate::untidy_connections::{CLIENT, SERVER, rows};
use crate::untidy_handshakes::hellos;
use crate::wire::{Connection, Sent};

/// What precedes the request for a tunnel, the request, and the answer to it: of SOCKS 5 (RFC 1928), SOCKS 4 and CONNECT (RFC 9110, 9.3.6).
const TUNNELS: [(&[Sent<'_>], &[u8], &[u8]); 5] = [
    (
        &[(true, b"\x05\x01\0"), (false, b"\x05\0")],
        b"\x05\x01\0\x01\x0a\0\0\x09\x1f\x90",
        b"\x05\0\0\x01\x0a\0\0\x09\x1f\x90",
    ),
    (
        &[
            (true, b"\x05\x02\0\x02"),
            (false, b"\x05\x02"),
            (true, b"\x01\x04user\x06secret"),
            (false, b"\x01\0"),
        ],
        b"\x05\x01\0\x03\x07a.local\x1f\x90",
        b"\x05\0\0\x01\x0a\0\0\x09\x1f\x90",
    ),
    (
        &[],
        b"\x05\x01\0\x05\x01\0\x01\x0a\0\0\x09\x1f\x90",
        b"\x05\0\x05\0\0\x01\x0a\0\0\x09\x1f\x90",
    ),
    (
        &[],
        b"\x04\x01\x1f\x90\x0a\0\0\x09user\0",
        b"\0\x5a\x1f\x90\x0a\0\0\x09",
    ),
    (
        &[],
        b"CONNECT a.local:8080 HTTP/1.1\r\nHost: a.local:8080\r\n\r\n",
        b"HTTP/1.1 200 Connection established\r\n\r\n",
    ),
];

/// The connection of a tunnel, with these octets of each side joined to the request and to the answer, and more behind them.
fn joined(number: usize, data: [&[u8]; 2], more: &[Sent<'_>]) -> Vec<Vec<u8>> {
    let (before, request, answer) = TUNNELS[number];
    let [of_client, of_server] = [[request, data[0]].concat(), [answer, data[1]].concat()];
    let mut packets = Vec::new();
    let mut connection = Connection::open(CLIENT, SERVER, &mut packets);
    let words = [(true, &of_client[..]), (false, &of_server[..])];
    for (from_client, bytes) in before.iter().chain(&words).chain(more) {
        connection.send_one(*from_client, bytes, &mut packets);
    }
    packets
}

/// The first exchange had no row.
#[test]
fn requests_that_come_with_that_for_a_tunnel_are_rows() {
    let get = b"GET /1 HTTP/1.1\r\nHost: a.local\r\n\r\n";
    let response = b"HTTP/1.1 201 A\r\nContent-Length: 0\r\n\r\n";
    let second: [Sent<'_>; 2] = [
        (true, b"GET /2 HTTP/1.1\r\nHost: a.local\r\n\r\n"),
        (false, b"HTTP/1.1 202 A\r\nContent-Length: 0\r\n\r\n"),
    ];
    let columns = ["http.request.uri", "http.response.code"];
    for number in 0..TUNNELS.len() {
        let packets = joined(number, [get, response], &second);
        let (mut found, _) = rows("http", &packets, &columns);
        found.retain(|row| row[0].starts_with('/'));
        assert_eq!(found, [["/1", "201"], ["/2", "202"]], "{number}");
    }
}

/// The connection had no rows.
#[test]
fn websockets_that_come_with_the_request_for_a_tunnel_are_read() {
    let upgrade =
        b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let agreed =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let messages: [Sent<'_>; 2] = [(true, b"\x81\x82\0\0\0\0hi"), (false, b"\x81\x02yo")];
    for number in 0..TUNNELS.len() {
        let packets = joined(number, [upgrade, agreed], &messages);
        let (found, notes) = rows("websocket", &packets, &["websocket.payload.text"]);
        assert_eq!(found, [["hi"], ["yo"]], "{number}");
        assert_eq!(notes, Vec::<String>::new(), "{number}");
    }
}

/// The handshake had no row, or one without its server.
#[test]
fn hellos_that_come_with_the_words_of_a_tunnel_are_read() {
    let [client, server] = hellos();
    let columns = ["tls.handshake.extensions_server_name", "tls.cipher_number"];
    for number in 0..TUNNELS.len() {
        let packets = joined(number, [&client, &server], &[]);
        let (found, notes) = rows("tls", &packets, &columns);
        assert_eq!(found, [["weir.test", "49199"]], "{number}");
        assert_eq!(notes, Vec::<String>::new(), "{number}");
    }
}
