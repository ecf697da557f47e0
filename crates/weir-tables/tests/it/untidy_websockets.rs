//! WebSocket connections of which a part of the handshake was lost.

use weir_testkit::packet::tcp_flags;

use crate::untidy::{capture, columns_of};
use crate::untidy_connections::{CLIENT, SERVER, rows, segment};
use crate::wire::Connection;

const REQUEST: &[u8] =
    b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
const RESPONSE: &[u8] =
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
/// A masked message of a client, and one of a server.
const MESSAGES: [&[u8]; 2] = [b"\x81\x82\0\0\0\0hi", b"\x81\x02yo"];

/// A connection from its SYN on, with six messages in turn: the packets of these numbers behind its handshake of TCP.
fn of(packets_sent: &[usize]) -> Vec<Vec<u8>> {
    let mut numbers = [1, 1];
    let messages = MESSAGES.into_iter().cycle().take(6);
    let mut all = Vec::new();
    for (at, bytes) in [REQUEST, RESPONSE].into_iter().chain(messages).enumerate() {
        let [client, server] = numbers;
        let (from, to, own) = match at % 2 {
            0 => (CLIENT, SERVER, [client, server]),
            _ => (SERVER, CLIENT, [server, client]),
        };
        all.push(segment(from, to, own, tcp_flags::ACK, bytes));
        numbers[at % 2] += bytes.len() as u32;
    }
    let mut packets = Vec::new();
    Connection::open(CLIENT, SERVER, &mut packets);
    packets.extend(packets_sent.iter().map(|at| all[*at].clone()));
    packets
}

/// The same without these packets.
fn without(lost: &[usize]) -> Vec<Vec<u8>> {
    let sent: Vec<usize> = (0..8).filter(|at| !lost.contains(at)).collect();
    of(&sent)
}

#[test]
fn messages_behind_a_lost_handshake_are_read() {
    let columns = ["websocket.payload.text", "websocket.mid_stream"];
    let read = |lost: &[usize]| {
        let (mut found, notes) = rows("websocket", &without(lost), &columns);
        found.sort();
        (found, notes)
    };
    let expected = |is_mid_stream: &str| {
        let [hi, yo] = ["hi", "yo"].map(|text| vec![text.to_owned(), is_mid_stream.to_owned()]);
        [vec![hi; 3], vec![yo; 3]].concat()
    };
    assert_eq!(read(&[]), (expected("false"), Vec::new()));
    // One head shows what the connection is.
    for lost in [0, 1] {
        let (found, notes) = read(&[lost]);
        assert_eq!(found, expected("false"), "{notes:?}");
    }
    let (found, notes) = read(&[0, 1]);
    assert_eq!(found, expected("true"), "{notes:?}");
}

/// A message that was captured before the response, or before it was known that the response is missing, had the number and the
/// time of the packet that showed it.
#[test]
fn a_message_that_was_captured_before_the_response_has_its_own_packet() {
    let columns = ["frame.number", "websocket.payload.text"];
    for order in [
        &[0, 2, 1, 3, 4, 5][..],
        &[0, 2, 4, 1, 3, 5],
        &[0, 2, 3, 4, 5],
    ] {
        let (mut found, notes) = rows("websocket", &of(order), &columns);
        found.sort();
        let messages = order.iter().zip(4..).filter(|(at, _)| **at > 1);
        let expected: Vec<Vec<String>> = messages
            .map(|(at, number)| {
                let text = if at % 2 == 0 { "hi" } else { "yo" };
                vec![number.to_string(), text.to_owned()]
            })
            .collect();
        assert_eq!(found, expected, "{order:?} {notes:?}");
    }
}

/// Where a segment within the response was lost, the rest of it was taken for another protocol, and nothing behind it was read.
#[test]
fn messages_behind_a_response_of_which_a_part_was_lost_are_read() {
    let [asked, agreed] = [REQUEST.len(), RESPONSE.len()].map(|octets| octets as u32);
    let [hi, yo] = MESSAGES;
    let told = agreed + yo.len() as u32;
    let is_read = |begin: usize, end: usize| {
        let mut segments = vec![(true, 0, 0, REQUEST)];
        if begin > 0 {
            segments.push((false, 0, asked, &RESPONSE[..begin]));
        }
        segments.push((false, end as u32, asked, &RESPONSE[end..]));
        segments.push((false, agreed, asked, yo));
        segments.push((true, asked, told, hi));
        columns_of(
            "websocket",
            &capture(&segments),
            &["websocket.payload.text"],
        )
    };
    for (begin, end) in [(20, 40), (4, 13), (0, 30), (60, 75)] {
        assert_eq!(is_read(begin, end), [["yo"], ["hi"]], "{begin} to {end}");
    }
}
