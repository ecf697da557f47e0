//! WebSocket connections of which a part of the handshake was lost.

use weir_testkit::packet::tcp_flags;

use crate::untidy_connections::{CLIENT, SERVER, rows, segment};
use crate::wire::Connection;

const REQUEST: &[u8] =
    b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
const RESPONSE: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
/// A masked message of a client, and one of a server.
const MESSAGES: [&[u8]; 2] = [b"\x81\x82\0\0\0\0hi", b"\x81\x02yo"];

/// A connection from its SYN on, with six messages in turn, without the packets of these numbers behind its handshake of TCP.
fn without(lost: &[usize]) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    Connection::open(CLIENT, SERVER, &mut packets);
    let mut numbers = [1, 1];
    let messages = MESSAGES.into_iter().cycle().take(6);
    for (at, bytes) in [REQUEST, RESPONSE].into_iter().chain(messages).enumerate() {
        let [client, server] = numbers;
        let (from, to, own) = match at % 2 {
            0 => (CLIENT, SERVER, [client, server]),
            _ => (SERVER, CLIENT, [server, client]),
        };
        if !lost.contains(&at) {
            packets.push(segment(from, to, own, tcp_flags::ACK, bytes));
        }
        numbers[at % 2] += bytes.len() as u32;
    }
    packets
}

#[test]
fn messages_behind_a_lost_handshake_are_read() {
    let columns = ["websocket.payload.text", "websocket.mid_stream"];
    let read = |lost: &[usize]| {
        let (mut found, notes) = rows("websocket", &without(lost), &columns);
        found.sort();
        (found, notes)
    };
    let expected = |count: [usize; 2], is_mid_stream: &str| {
        let [hi, yo] = ["hi", "yo"].map(|text| vec![text.to_owned(), is_mid_stream.to_owned()]);
        [vec![hi; count[0]], vec![yo; count[1]]].concat()
    };
    assert_eq!(read(&[]), (expected([3, 3], "false"), Vec::new()));
    // One head shows what the connection is.
    for lost in [0, 1] {
        let (found, notes) = read(&[lost]);
        assert_eq!(found, expected([3, 3], "false"), "{lost} {notes:?}");
    }
    let (found, notes) = read(&[0, 1]);
    assert_eq!(found, expected([3, 3], "true"), "{notes:?}");
}
