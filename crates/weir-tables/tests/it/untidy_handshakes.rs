//! Handshakes of TLS of which one side was captured before what comes first on the other.

use weir_testkit::packet::tcp_flags;

use crate::untidy_connections::{CLIENT, SERVER, rows, segment};
use crate::wire::Sent;

/// Segments in the order in which they are sent.
fn segments(sent: &[Sent<'_>]) -> Vec<Vec<u8>> {
    let mut numbers = [1, 1];
    let mut packets = Vec::new();
    for (from_client, bytes) in sent {
        let [client, server] = numbers;
        let (from, to, own, at) = match from_client {
            true => (CLIENT, SERVER, [client, server], 0),
            false => (SERVER, CLIENT, [server, client], 1),
        };
        packets.push(segment(from, to, own, tcp_flags::ACK, bytes));
        numbers[at] += bytes.len() as u32;
    }
    packets
}

fn record(kind: u8, body: &[u8]) -> Vec<u8> {
    let message = [&[kind, 0, 0, body.len() as u8][..], body].concat();
    [&[22, 3, 1, 0, message.len() as u8][..], &message].concat()
}

/// The hellos of both sides (RFC 5246, 7.4.1), the client's with the name of a server.
pub(crate) fn hellos() -> [Vec<u8>; 2] {
    let begun = [&[3, 3][..], &[7; 32], &[0]].concat();
    let name = b"\0\x12\0\0\0\x0e\0\x0c\0\0\x09weir.test";
    let client = [&begun[..], b"\0\x02\xc0\x2f\x01\0", name].concat();
    let server = [&begun[..], b"\xc0\x2f\0"].concat();
    [record(1, &client), record(2, &server)]
}

#[track_caller]
fn is_read(packets: &[Vec<u8>], what: &str) {
    let columns = [
        "tls.handshake.extensions_server_name",
        "tls.cipher_number",
        "port.dst",
    ];
    let (found, notes) = rows("tls", packets, &columns);
    assert_eq!(found, [["weir.test", "49199", "8080"]], "{what}");
    assert_eq!(notes, Vec::<String>::new(), "{what}");
}

/// The answer to the request for TLS was taken for what follows the client's hello: the handshake had no row, or one without its server.
#[test]
fn the_answer_to_a_request_for_tls_may_be_captured_behind_the_hello() {
    let [client, server] = hellos();
    let texts: [&[Sent<'_>]; 3] = [
        &[
            (false, b"220 mail\r\n"),
            (true, b"STARTTLS\r\n"),
            (false, b"220 go ahead\r\n"),
        ],
        // PostgreSQL.
        &[(true, b"\0\0\0\x08\x04\xd2\x16\x2f"), (false, b"S")],
        &[
            (true, b"CONNECT h:443 HTTP/1.1\r\n\r\n"),
            (false, b"HTTP/1.1 200 OK\r\n\r\n"),
        ],
    ];
    for text in texts {
        for size in [20, 40, client.len()] {
            let pieces = client.chunks(size).map(|piece| (true, piece));
            let sent: Vec<Sent<'_>> = text
                .iter()
                .copied()
                .chain(pieces)
                .chain([(false, &server[..])])
                .collect();
            for late in text.len()..sent.len() {
                let mut packets = segments(&sent);
                let answer = packets.remove(text.len() - 1);
                packets.insert(late - 1, answer);
                let what = format!("{} by {size}, {late}", text.len());
                is_read(&packets, &what);
            }
        }
    }
}

/// What was captured of the server's hello before the client's one began was dropped.
#[test]
fn the_server_may_begin_in_the_capture() {
    let [client, server] = hellos();
    for at in 1..server.len() {
        let (begun, rest) = server.split_at(at);
        let sent = [(true, &client[..]), (false, begun), (false, rest)];
        let mut packets = segments(&sent);
        packets.swap(0, 1);
        is_read(&packets, &at.to_string());
    }
}
