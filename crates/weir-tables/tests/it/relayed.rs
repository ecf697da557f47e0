//! Messages that probes forward by HEP: segments of TCP are pieces of streams, and what is not read is counted.

use std::net::{Ipv4Addr, SocketAddr};

use weir_messages::hep;
use weir_testkit::packet::{Ipv4, protocol, udp};

use crate::sip::{column, read_with_notes};
use crate::untidy::watchdog;
use crate::untidy_handshakes::hellos;
use crate::wire::{self, Connection, Sent};

const PROBE: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 9);
const COLLECTOR: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 1);
/// The protocol number of TCP.
const TCP: u8 = 6;

/// A message of HEP with what a client (true) or a server at this port sent.
fn message(from_client: bool, port: u16, transport: u8, payload: &[u8]) -> Vec<u8> {
    let ends: [SocketAddr; 2] = [
        ([192, 0, 2, 1], 40_000).into(),
        ([192, 0, 2, 2], port).into(),
    ];
    let [from, to] = match from_client {
        true => ends,
        false => [ends[1], ends[0]],
    };
    hep::write(3, from, to, transport, payload)
}

/// The same with another protocol type.
fn of_type(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut message = message(true, 7_000, 17, payload);
    let place = message.windows(6).position(|it| it == [0, 0, 0, 11, 0, 7]);
    message[place.unwrap() + 6] = kind;
    message
}

fn datagram(message: &[u8]) -> Vec<u8> {
    let datagram = udp(PROBE.into(), COLLECTOR.into(), 40_404, 9_060, message);
    Ipv4::new(PROBE, COLLECTOR, protocol::UDP).packet(&datagram)
}

/// The values of columns of the rows of a table, by rows, and the notes.
fn rows(table: &str, packets: &[Vec<u8>], columns: &[&str]) -> (Vec<Vec<String>>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(packets, &path);
    let (batch, notes) = read_with_notes(table, &[&path], 100);
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    let rows = (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect();
    (rows, notes)
}

/// Checks the rows of segments that a probe sends on in datagrams, and over TCP.
#[track_caller]
fn check(table: &str, port: u16, sent: &[Sent<'_>], columns: &[&str], expected: &[&[&str]]) {
    let messages: Vec<Vec<u8>> = sent
        .iter()
        .map(|(from_client, segment)| message(*from_client, port, TCP, segment))
        .collect();
    let datagrams: Vec<Vec<u8>> = messages.iter().map(|it| datagram(it)).collect();
    let mut segments = Vec::new();
    let ends = [(PROBE, 40_404), (COLLECTOR, 9_060)];
    let mut connection = Connection::open(ends[0], ends[1], &mut segments);
    for piece in messages.concat().chunks(50) {
        connection.send_one(true, piece, &mut segments);
    }
    for packets in [datagrams, segments] {
        let (found, notes) = rows(table, &packets, columns);
        assert_eq!(found, expected, "{table}");
        assert_eq!(notes, Vec::<String>::new(), "{table}");
    }
}

/// A connection that began before the capture, in segments smaller than the header of a message: there were no rows,
/// without a word, or rows of the connection's own ends.
#[test]
fn messages_are_found_in_small_segments_of_a_connection_from_its_middle() {
    let options = |id: &str| {
        let text = format!("OPTIONS sip:b@h SIP/2.0\r\nCall-ID: {id}\r\nContent-Length: 0\r\n\r\n");
        message(true, 5_060, 17, text.as_bytes())
    };
    let cut = message(true, 5_060, 17, b"nothing that is read");
    let stream = [&cut[20..], &options("two"), &options("three")].concat();
    for octets in [1, 2, 5, 11, 50] {
        let mut packets = Vec::new();
        let ends = [(PROBE, 40_404), (COLLECTOR, 9_060)];
        let mut connection = Connection::open(ends[0], ends[1], &mut packets);
        for piece in stream.chunks(octets) {
            connection.send_one(true, piece, &mut packets);
        }
        packets.drain(..3);
        let (found, _) = rows("sip", &packets, &["port.src", "sip.call_id"]);
        assert_eq!(
            found,
            [["40000", "two"], ["40000", "three"]],
            "segments of {octets}"
        );
    }
}

/// There were no rows of HTTP and MQTT, without a word.
#[test]
fn segments_of_tcp_that_a_probe_sent_on_are_read_as_streams() {
    let http: [Sent<'_>; 6] = [
        (true, b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n"),
        (false, b"HTTP/1.1 200 OK\r\nContent-Le"),
        (false, b"ngth: 4\r\n\r\nye"),
        (false, b"s!"),
        (
            true,
            b"POST /b HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi",
        ),
        (
            false,
            b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        ),
    ];
    let columns = [
        "proto",
        "port.src",
        "port.dst",
        "http.request.uri",
        "http.response.code",
        "http.response.body_len",
    ];
    let expected: [&[&str]; 2] = [
        &["tcp", "40000", "8000", "/a", "200", "4"],
        &["tcp", "40000", "8000", "/b", "404", "0"],
    ];
    check("http", 8_000, &http, &columns, &expected);
    // The response is missing; the end of the capture completes the row.
    let expected: [&[&str]; 1] = [&["tcp", "40000", "8000", "/a", "", ""]];
    check("http", 8_000, &http[..1], &columns, &expected);
    let mqtt: [Sent<'_>; 3] = [
        (true, b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04gate"),
        (false, b"\x20\x02\0\0"),
        // Two packets, the second of which goes on in no other segment.
        (true, b"\x30\x05\0\x01ahi\xc0\0"),
    ];
    let columns = ["port.src", "mqtt.msgtype"];
    for port in [1_883, 6_000] {
        let port_text = port.to_string();
        let expected: [&[&str]; 4] = [
            &["40000", "1"],
            &[port_text.as_str(), "2"],
            &["40000", "3"],
            &["40000", "12"],
        ];
        check("mqtt", port, &mqtt, &columns, &expected);
    }
    // The second message of a segment was left out.
    let two = watchdog().repeat(2);
    let (first, second) = two.split_at(70);
    let diameter: [Sent<'_>; 2] = [(true, first), (true, second)];
    let expected: [&[&str]; 2] = [&["tcp", "280"], &["tcp", "280"]];
    let columns = ["proto", "diameter.cmd.code"];
    check("diameter", 3_868, &diameter, &columns, &expected);
    // A request of RADIUS with a user's name, and one of STUN with software, were left out without a word.
    let radius = [&[1, 9, 0, 25][..], &[3; 16], b"\x01\x05bob"].concat();
    let (first, second) = radius.split_at(7);
    let radius: [Sent<'_>; 2] = [(true, first), (true, second)];
    let expected: [&[&str]; 1] = [&["tcp", "1"]];
    check(
        "radius",
        2_083,
        &radius,
        &["proto", "radius.code"],
        &expected,
    );
    let stun = [
        &b"\0\x01\0\x08\x21\x12\xa4\x42"[..],
        &[7; 12],
        b"\x80\x22\0\x04weir",
    ]
    .concat();
    let (first, second) = stun.split_at(5);
    let stun: [Sent<'_>; 2] = [(true, first), (true, second)];
    check("stun", 3_478, &stun, &["proto", "stun.type"], &expected);
}

/// A request to become a WebSocket connection, and its answer.
const UPGRADE: [Sent<'static>; 2] = [
    (
        true,
        b"GET /x HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ),
    (
        false,
        b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ),
];

/// There were no rows of handshakes, of WebSocket connections, and of SIP in these, without a word.
#[test]
fn handshakes_and_websockets_in_segments_that_a_probe_sent_on_are_read() {
    let [client, server] = hellos();
    let (first, second) = client.split_at(20);
    let columns = [
        "tls.handshake.extensions_server_name",
        "tls.cipher_number",
        "port.dst",
    ];
    let expected: [&[&str]; 1] = [&["weir.test", "49199", "8443"]];
    let sent: [Sent<'_>; 3] = [(true, first), (true, second), (false, &server)];
    check("tls", 8_443, &sent, &columns, &expected);

    let sent: [Sent<'_>; 4] = [
        UPGRADE[0],
        UPGRADE[1],
        (true, b"\x81\x82\0\0"),
        (true, b"\0\0hi"),
    ];
    let expected: [&[&str]; 1] = [&["hi"]];
    check(
        "websocket",
        8_083,
        &sent,
        &["websocket.payload.text"],
        &expected,
    );

    let options = b"OPTIONS sip:b@h SIP/2.0\r\nCall-ID: w\r\n\r\n";
    let frame = [&[0x81, 0x80 | options.len() as u8, 0, 0, 0, 0][..], options].concat();
    let sent: [Sent<'_>; 3] = [UPGRADE[0], UPGRADE[1], (true, &frame)];
    let expected: [&[&str]; 1] = [&["ws", "w"]];
    let columns = ["sip.transport", "sip.call_id"];
    check("sip", 8_083, &sent, &columns, &expected);
}

/// Of a message in several segments there was a row with its beginning, and the rest was left out.
#[test]
fn sip_in_several_segments_that_a_probe_sent_on_is_one_message() {
    let message = |id: &str| {
        format!("MESSAGE sip:b@h SIP/2.0\r\nCall-ID: {id}\r\nContent-Length: 5\r\n\r\nhello")
    };
    let columns = ["sip.call_id", "sip.msg_body"];
    let both = [message("one"), message("two")].concat();
    let (one, two) = both.as_bytes().split_at(both.len() / 2);
    let whole: [&[&str]; 2] = [&["one", "hello"], &["two", "hello"]];
    for cut in [4, 9, 20, 26, 30, 50, one.len() - 1] {
        let (first, rest) = both.as_bytes().split_at(cut);
        for cut in [1, 10, rest.len() - two.len(), rest.len() - 2] {
            let (second, third) = rest.split_at(cut);
            let sent: [Sent<'_>; 3] = [(true, first), (true, second), (true, third)];
            check("sip", 5_060, &sent, &columns, &whole);
            check("sip", 7_000, &sent, &columns, &whole);
        }
    }
    // A message does not go on behind the next one, nor behind an answer.
    let cut = &one[..one.len() - 3];
    let in_part: [&[&str]; 2] = [&["one", "he"], &["two", "hello"]];
    check(
        "sip",
        5_060,
        &[(true, cut), (true, two)],
        &columns,
        &in_part,
    );
    check(
        "sip",
        5_060,
        &[(true, cut), (false, two)],
        &columns,
        &in_part,
    );
    check("sip", 5_060, &[(true, cut)], &columns, &in_part[..1]);
}

/// A segment with a part of a message was left out without a word where a table reads each segment by itself.
#[test]
fn segments_of_tcp_that_are_no_message_by_themselves_are_counted() {
    let part = datagram(&message(true, 53, TCP, b"\0\x21\0\x07\x01"));
    let note = "1 datagrams on the protocol's ports are left out because they are not messages that could be decoded";
    for table in ["dns", "lookups"] {
        let (found, notes) = rows(table, std::slice::from_ref(&part), &[]);
        assert_eq!((found.len(), notes), (0, vec![format!("{table}: {note}")]));
    }
}

/// Behind the first message of SIP the others were left out without a word, and the length before the first message of
/// DNS was taken for its beginning.
#[test]
fn all_messages_of_a_segment_that_a_probe_sent_on_are_read() {
    let options = |id: &str| {
        format!("OPTIONS sip:b@h SIP/2.0\r\nCall-ID: {id}\r\nContent-Length: 2\r\n\r\nhi")
    };
    let two = [options("one"), options("two")].join("\r\n");
    let segment = datagram(&message(true, 5_060, TCP, two.as_bytes()));
    let (found, notes) = rows("sip", &[segment], &["sip.call_id", "sip.msg_body"]);
    assert_eq!(found, [["one", "hi"], ["two", "hi"]]);
    assert_eq!(notes, Vec::<String>::new());
    let question = |name: &[u8; 7]| {
        let header = [0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        let message = [&header[..], &[7], name, &[0, 0, 1, 0, 1]].concat();
        [&[0, message.len() as u8][..], &message].concat()
    };
    let [first, second, third] = [b"example", b"invalid", b"missing"].map(question);
    let segment = [&first[..], &second, &third[..9]].concat();
    let segment = datagram(&message(true, 53, TCP, &segment));
    let (found, notes) = rows("dns", &[segment], &["dns.qry.name"]);
    assert_eq!(found, [["example"], ["invalid"]]);
    let note = "dns: 1 datagrams on the protocol's ports are left out because they are not messages that could be decoded";
    assert_eq!(notes, [note]);
}

/// A message of Megaco without and with the header that TCP needs before it (RFC 3525, D.2).
const MEGACO: &[u8] = b"MEGACO/1 [192.0.2.1]:2944\nTransaction=1{Context=1{Subtract=A/1}}";

fn megaco_over_tcp() -> Vec<u8> {
    [&[3, 0, 0, MEGACO.len() as u8 + 4], MEGACO].concat()
}

/// There were no rows of messages in several segments, and those of others were of UDP.
#[test]
fn megaco_in_segments_that_a_probe_sent_on_is_read() {
    let message = megaco_over_tcp();
    let (first, second) = message.split_at(2);
    let (second, third) = second.split_at(20);
    let columns = ["h248.transport", "h248.transaction_id", "h248.command"];
    let expected: [&[&str]; 1] = [&["tcp", "1", "Subtract"]];
    for port in [2_944, 6_000] {
        let sent: [Sent<'_>; 3] = [(true, first), (true, second), (true, third)];
        check("h248", port, &sent, &columns, &expected);
        // Some probes send on messages without their header.
        check("h248", port, &[(true, MEGACO)], &columns, &expected);
    }
}

/// There were no rows of Megaco behind a request for a tunnel, without a word.
#[test]
fn megaco_behind_a_request_for_a_tunnel_is_read() {
    let connect = b"CONNECT gw:2944 HTTP/1.1\r\nHost: gw:2944\r\n\r\n";
    let tunnels: [&[Sent<'_>]; 3] = [
        &[(true, connect), (false, b"HTTP/1.1 200 OK\r\n\r\n")],
        &[
            (true, b"\x05\x01\0"),
            (false, b"\x05\0"),
            (true, b"\x05\x01\0\x01\xc0\0\x02\x02\x0b\x80"),
            (false, b"\x05\0\0\x01\xc0\0\x02\x02\x0b\x80"),
        ],
        &[
            (true, b"\x04\x01\x0b\x80\xc0\0\x02\x02\0"),
            (false, b"\0\x5a\x0b\x80\xc0\0\x02\x02"),
        ],
    ];
    let message = megaco_over_tcp();
    for tunnel in tunnels {
        for octets in [1, 3, 20, 1_000] {
            let mut packets = Vec::new();
            let ends = [(PROBE, 40_404), (COLLECTOR, 3_128)];
            let mut connection = Connection::open(ends[0], ends[1], &mut packets);
            for (from_client, bytes) in tunnel {
                connection.send_one(*from_client, bytes, &mut packets);
            }
            for piece in message.chunks(octets) {
                connection.send_one(true, piece, &mut packets);
            }
            let last = packets.len().to_string();
            let (found, notes) = rows("h248", &packets, &["frame.number", "h248.command"]);
            assert_eq!(found, [[last.as_str(), "Subtract"]], "by {octets}");
            assert_eq!(notes, Vec::<String>::new(), "by {octets}");
        }
    }
}

/// The table of Megaco wants nothing of the connection that asks for a tunnel.
#[test]
fn a_tunnel_of_which_nothing_is_wanted_may_lead_to_a_collector() {
    let mut packets = Vec::new();
    let ends = [(PROBE, 40_404), (COLLECTOR, 3_128)];
    let mut connection = Connection::open(ends[0], ends[1], &mut packets);
    let request = b"CONNECT homer:9060 HTTP/1.1\r\nHost: homer:9060\r\n\r\n";
    connection.send_one(true, request, &mut packets);
    connection.send_one(false, b"HTTP/1.1 200 OK\r\n\r\n", &mut packets);
    connection.send_one(true, &message(true, 2_944, 17, MEGACO), &mut packets);
    let (found, _) = rows("h248", &packets, &["frame.number"]);
    assert_eq!(found.len(), 1);
}

#[test]
fn messages_of_hep_that_are_not_read_are_counted() {
    let report = b"{\"type\": 200, \"ssrc\": 1}";
    let of_types = "messages that HEP carries are of types that are not read, such as reports in JSON and logs";
    let incomplete =
        "messages of HEP were not read because an address, the protocol or their end is missing";
    let whole = message(true, 5_060, 17, b"OPTIONS sip:b@x SIP/2.0\r\n\r\n");
    for (carried, note) in [
        (of_type(5, report), Some(of_types)),
        (of_type(0x64, b"a line of a log"), Some(of_types)),
        (whole[..whole.len() - 1].to_vec(), Some(incomplete)),
        // Some senders only say that they are there.
        (of_type(1, b""), None),
        (of_type(9, b"\x01\0"), None),
    ] {
        for table in ["sip", "rtcp", "dns", "h248"] {
            let (found, notes) = rows(table, &[datagram(&carried)], &["frame.number"]);
            let expected: Vec<String> = note
                .iter()
                .map(|note| format!("{table}: 1 {note}"))
                .collect();
            assert_eq!((found.len(), notes), (0, expected), "{table}");
        }
    }
}
