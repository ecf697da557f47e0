//! A connection has the same rows in segments of any size, from its first octets on: each row is at the packet that
//! carries its last octet.

use std::net::Ipv4Addr;

use arrow::datatypes::DataType;
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::sip::{column, read_with_notes};
use crate::wire::{self, Connection, Sent};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// A port on which no protocol is expected.
const PORT: u16 = 6_000;
/// The number of packets of the handshake.
const OPENING: usize = 3;

/// Returns a connection whose messages are cut into segments of `octets` octets; and the number of the last packet of
/// each message.
fn cut(sent: &[Sent<'_>], octets: usize) -> (Vec<Vec<u8>>, Vec<usize>) {
    let mut packets = Vec::new();
    let mut connection = Connection::open((CLIENT, 40_000), (SERVER, PORT), &mut packets);
    let mut ends = Vec::new();
    for (from_client, message) in sent {
        for piece in message.chunks(octets) {
            connection.send_one(*from_client, piece, &mut packets);
        }
        ends.push(packets.len());
    }
    (packets, ends)
}

/// Returns the columns of a table, without times and durations; numbers of frames are converted by `frame`.
fn columns_of(
    table: &str,
    packets: &[Vec<u8>],
    frame: impl Fn(usize) -> usize,
) -> Vec<(String, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(packets, &path);
    let (batch, notes) = read_with_notes(table, &[&path], 100);
    assert_eq!(notes, Vec::<String>::new(), "{table}");
    let schema = batch.schema();
    let fields = schema.fields().iter().filter(|field| {
        let is_time = matches!(
            field.data_type(),
            DataType::Timestamp(..) | DataType::Float64
        );
        !is_time && field.name() != "frame.file"
    });
    fields
        .map(|field| {
            let name = field.name();
            let mut values = column(&batch, name);
            let is_frame = ["frame", ".number", "_to"]
                .iter()
                .any(|end| name.ends_with(end));
            if is_frame {
                for value in values.iter_mut().filter(|value| !value.is_empty()) {
                    *value = frame(value.parse().unwrap()).to_string();
                }
            }
            (name.clone(), values)
        })
        .collect()
}

/// Checks that a table has this number of rows of a connection, and the same ones in segments of any size.
#[track_caller]
fn is_the_same(table: &str, sent: &[Sent<'_>], rows: usize) {
    let (whole, _) = cut(sent, usize::MAX);
    for octets in [1, 2, 3, 7] {
        let (packets, ends) = cut(sent, octets);
        let expected = columns_of(table, &whole, |frame| {
            match frame.checked_sub(OPENING + 1) {
                Some(message) => ends[message],
                None => frame,
            }
        });
        assert_eq!(expected[0].1.len(), rows, "{table}");
        let found = columns_of(table, &packets, |frame| frame);
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(found, expected, "{table} by {octets}");
        }
    }
}

/// Of a header in several lines the columns had the first one, as of the cookies of HTTP/2, which browsers send apart.
#[test]
fn headers_in_several_lines_are_one_value() {
    let request = b"GET / HTTP/1.1\r\nCookie: a=1\r\nAccept: text/html\r\ncookie: b=2\r\n\
        Accept: */*\r\nX-Forwarded-For: 10.0.0.8\r\nX-Forwarded-For: 10.0.0.9\r\n\r\n";
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\
        Cache-Control: private\r\nServer: s\r\n\r\n0\r\n\r\n";
    let (packets, _) = cut(&[(true, &request[..]), (false, &response[..])], usize::MAX);
    let columns = columns_of("http", &packets, |frame| frame);
    let value = |name: &str| {
        let column = columns.iter().find(|(column, _)| column == name);
        column.unwrap().1[0].clone()
    };
    assert_eq!(value("http.cookie"), "a=1; b=2");
    assert_eq!(value("http.accept"), "text/html, */*");
    assert_eq!(value("http.x_forwarded_for"), "10.0.0.8, 10.0.0.9");
    assert_eq!(value("http.transfer_encoding"), "gzip, chunked");
    assert_eq!(value("http.cache_control"), "private");
    assert_eq!(value("http.accept_language"), "");
}

/// The exchanges have heads and bodies that are sent separately.
const HTTP: [&[Sent<'_>]; 4] = [
    &[
        (
            true,
            b"PROPPATCH /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
        ),
        (true, b"hello"),
        (
            false,
            b"HTTP/1.1 207 Multi-Status\r\nContent-Length: 2\r\n\r\n",
        ),
        (false, b"ok"),
    ],
    &[
        (true, b"SUBSCRIBE /b HTTP/1.1\r\nHost: h\r\n\r\n"),
        (
            false,
            b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n",
        ),
    ],
    &[
        (
            true,
            b"POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n",
        ),
        (true, b"hi"),
        (false, b"HTTP/1.1 100 Continue\r\n\r\n"),
        (false, b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
    ],
    &[
        (true, b"GET /d HTTP/1.1\r\nHost: h\r\n\r\n"),
        (false, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"),
        (false, b"yes"),
    ],
];

#[test]
fn requests_of_http_have_their_responses() {
    for first in 0..HTTP.len() {
        is_the_same("http", &HTTP[first..].concat(), HTTP.len() - first);
    }
    let simple: [Sent<'_>; 3] = [
        (true, b"GET /old\r\n"),
        (false, b"<"),
        (false, b"p>old</p>"),
    ];
    is_the_same("http", &simple, 1);
}

/// SNMP over TCP (RFC 3430) was left out without a word.
#[test]
fn messages_of_snmp_have_their_requests() {
    let request = b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x07\x02\x01\0\x02\x01\0\
        \x30\x0e\x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x01\0\x05\0";
    // A length may have more octets than it needs.
    let response =
        b"\x30\x82\0\x2a\x02\x01\x01\x04\x06public\xa2\x1d\x02\x01\x07\x02\x01\0\x02\x01\0\
        \x30\x12\x30\x10\x06\x08\x2b\x06\x01\x02\x01\x01\x01\0\x04\x04desc";
    let sent: [Sent<'_>; 3] = [(true, request), (false, response), (true, request)];
    is_the_same("snmp", &sent, 3);
    // A message of LDAP begins alike.
    let bind = b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\0\x80\0";
    is_the_same("snmp", &[(true, &bind[..])], 0);
}

/// The response to a request that was not captured is taken for that of the next one, which says that it may be another's.
#[test]
fn a_first_request_that_is_lost_is_known_to_be() {
    let sent: [Sent<'_>; 4] = [
        (true, b"GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"),
        (true, b"GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"),
        (false, b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"),
        (false, b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"),
    ];
    let (mut packets, _) = cut(&sent, usize::MAX);
    packets.remove(OPENING);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(&packets, &path);
    let (batch, _) = read_with_notes("http", &[&path], 100);
    let targets = column(&batch, "http.request.uri");
    let codes = column(&batch, "http.response.code");
    let faults = column(&batch, "http.fault");
    let mut rows = targets.iter().zip(&codes).zip(&faults);
    let ((_, code), fault) = rows.find(|((target, _), _)| *target == "/2").unwrap();
    let is_its_own = code == "202";
    assert!(
        is_its_own || fault.contains("belong to another request"),
        "{targets:?} {codes:?} {faults:?}"
    );
}

/// A body lacks octets of its length where its connection ended, and not where the capture did.
#[test]
fn a_body_that_its_connection_cuts_says_so() {
    let sent: [Sent<'_>; 2] = [
        (true, b"GET /1 HTTP/1.1\r\nHost: h\r\n\r\n"),
        (false, b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"),
    ];
    let unended = "a body without its end";
    for (end, fault) in [
        (Some((false, tcp_flags::FIN)), unended),
        (Some((true, tcp_flags::RST)), unended),
        (Some((true, tcp_flags::FIN)), ""),
        (None, ""),
    ] {
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, PORT), &mut packets);
        for (from_client, message) in sent {
            connection.send_one(from_client, message, &mut packets);
        }
        if let Some((from_client, flag)) = end {
            connection.close(from_client, flag, &mut packets);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.pcap");
        wire::write(&packets, &path);
        let (batch, _) = read_with_notes("http", &[&path], 100);
        assert_eq!(column(&batch, "http.fault"), [fault], "{end:?}");
    }
}

#[test]
fn settings_of_http_2_may_come_first() {
    let client = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" as &[u8],
        b"\0\0\0\x04\0\0\0\0\0",
        // The fields are `:method GET`, `:scheme http` and `:path /` (RFC 7541, Appendix A).
        b"\0\0\x03\x01\x05\0\0\0\x01\x82\x86\x84",
    ]
    .concat();
    let server: &[u8] = b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64";
    let response: &[u8] = b"\0\0\x01\x01\x05\0\0\0\x01\x88";
    is_the_same(
        "http",
        &[(false, server), (true, &client), (false, response)],
        1,
    );
}

fn sip(first: &str, method: &str) -> Vec<u8> {
    format!(
        "{first}\r\nVia: SIP/2.0/TCP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\nTo: <sip:b@x>\r\n\
        Call-ID: a\r\nCSeq: 1 {method}\r\nContent-Length: 0\r\n\r\n"
    )
    .into_bytes()
}

#[test]
fn messages_of_sip_are_found() {
    let request = sip("OPTIONS sip:b@x SIP/2.0", "OPTIONS");
    let response = sip("SIP/2.0 200 OK", "OPTIONS");
    is_the_same("sip", &[(true, &request), (false, &response)], 2);
    is_the_same("sip", &[(false, &response), (true, &request)], 2);
}

/// What a proxy of SOCKS (RFC 1928) says first is no message.
#[test]
fn messages_of_sip_are_found_behind_something_else() {
    let request = sip("INVITE sip:b@example.com SIP/2.0", "INVITE");
    let response = sip("SIP/2.0 200 OK", "INVITE");
    for octets in [1, 2, 3, 7, 20, 1_400] {
        let (packets, _) = cut(
            &[
                (true, b"\x05\x01\0"),
                (false, b"\x05\0"),
                (true, b"\x05\x01\0\x01\x0a\0\0\x09\x17\x70"),
                (false, b"\x05\0\0\x01\x0a\0\0\x09\x17\x70"),
                (true, &request),
                (false, &response),
            ],
            octets,
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made.pcap");
        wire::write(&packets, &path);
        let (batch, _) = read_with_notes("sip", &[&path], 100);
        assert_eq!(column(&batch, "sip.method"), ["INVITE", ""], "{octets}");
    }
}

/// The requests by which clients ask proxies for connections, with the answers (RFC 9110, 9.3.6; RFC 1928).
const TUNNELS: [&[Sent<'_>]; 4] = [
    &[
        (
            true,
            b"CONNECT 10.0.0.9:3868 HTTP/1.1\r\nHost: 10.0.0.9:3868\r\n\r\n",
        ),
        (
            false,
            b"HTTP/1.1 200 Connection established\r\nVia: proxy\r\n\r\n",
        ),
    ],
    &[
        (true, b"\x05\x01\0"),
        (false, b"\x05\0"),
        (true, b"\x05\x01\0\x01\x0a\0\0\x09\x0f\x1c"),
        (false, b"\x05\0\0\x01\x0a\0\0\x09\x0f\x1c"),
    ],
    &[
        (true, b"\x05\x02\0\x02"),
        (false, b"\x05\x02"),
        (true, b"\x01\x04user\x06secret"),
        (false, b"\x01\0"),
        (true, b"\x05\x01\0\x03\x07a.local\x0f\x1c"),
        (false, b"\x05\0\0\x01\x0a\0\0\x09\x0f\x1c"),
    ],
    &[
        (true, b"\x04\x01\x0f\x1c\x0a\0\0\x09user\0"),
        (false, b"\0\x5a\x0f\x1c\x0a\0\0\x09"),
    ],
];

/// Messages on a connection that a proxy has made are read as those without one.
#[test]
fn messages_behind_a_proxy_are_found() {
    let lengthened = |message: &[u8]| [&[0, message.len() as u8], message].concat();
    let question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\0\0\x01\0\x01";
    let answer = b"\x12\x34\x81\x80\0\x01\0\x01\0\0\0\0\x03www\x07example\0\0\x01\0\x01\
        \xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\x01\x02\x03";
    let watchdog = |flags: u8, number: u8| {
        let origin = b"\0\0\x01\x08\x40\0\0\x0cpeer";
        let mut message = vec![1, 0, 0, 32, flags, 0, 1, 24, 0, 0, 0, 0];
        message.extend([0, 0, 0, number, 0, 0, 0, number]);
        message.extend(origin);
        message
    };
    let dns = [lengthened(question), lengthened(answer)];
    let diameter = [watchdog(0x80, 7), watchdog(0, 7)];
    let connect = b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04gate".to_vec();
    let mqtt = [connect, b"\x20\x02\0\0".to_vec()];
    let radius = |code: u8, attributes: &[u8]| {
        let mut packet = vec![code, 7, 0, 20 + attributes.len() as u8];
        packet.extend(1..=16);
        packet.extend(attributes);
        packet
    };
    let radius = [
        radius(1, b"\x01\x06alic\x02\x0c0123456789"),
        radius(2, b"\x06\x06\0\0\0\x02"),
    ];
    let all = [
        ("dns", dns),
        ("diameter", diameter),
        ("mqtt", mqtt),
        ("radius", radius),
    ];
    for (table, [request, response]) in all {
        for tunnel in TUNNELS {
            let messages = [(true, &request[..]), (false, &response[..])];
            for octets in [1, 2, 3, 7, usize::MAX] {
                let (packets, ends) = cut(&[tunnel, &messages].concat(), octets);
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("made.pcap");
                wire::write(&packets, &path);
                // Octets of the proxy may be counted as those of no message.
                let (batch, _) = read_with_notes(table, &[&path], 100);
                let numbers = column(&batch, "frame.number");
                let expected: Vec<String> =
                    ends[tunnel.len()..].iter().map(usize::to_string).collect();
                assert_eq!(numbers, expected, "{table} by {octets}, {tunnel:?}");
            }
        }
    }
}

/// A message of HEP's version 3 from a probe, with the payload of a packet of UDP.
fn hep(payload: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::new();
    let mut chunk = |kind: u16, value: &[u8]| {
        chunks.extend([0, 0]);
        chunks.extend(kind.to_be_bytes());
        chunks.extend((6 + value.len() as u16).to_be_bytes());
        chunks.extend(value);
    };
    chunk(1, &[2]);
    chunk(2, &[17]);
    chunk(3, &[192, 0, 2, 1]);
    chunk(4, &[192, 0, 2, 2]);
    chunk(7, &5_060_u16.to_be_bytes());
    chunk(8, &5_060_u16.to_be_bytes());
    chunk(9, &1_700_000_000_u32.to_be_bytes());
    chunk(10, &0_u32.to_be_bytes());
    chunk(11, &[1]);
    chunk(15, payload);
    let length = 6 + chunks.len() as u16;
    [b"HEP3", &length.to_be_bytes()[..], &chunks].concat()
}

#[test]
fn messages_that_probes_sent_on_are_found() {
    let first = hep(&sip("OPTIONS sip:b@x SIP/2.0", "OPTIONS"));
    let second = hep(&sip("SIP/2.0 200 OK", "OPTIONS"));
    is_the_same("sip", &[(true, &first), (true, &second)], 2);
}

/// Behind a request for a tunnel, and behind a header of the PROXY protocol.
#[test]
fn messages_that_probes_sent_on_are_found_behind_a_proxy() {
    let request = hep(&sip("OPTIONS sip:b@x SIP/2.0", "OPTIONS"));
    let response = hep(&sip("SIP/2.0 200 OK", "OPTIONS"));
    let messages: [Sent<'_>; 2] = [(true, &request), (true, &response)];
    let proxied: [Sent<'_>; 1] = [(true, b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 9060\r\n")];
    for tunnel in TUNNELS.into_iter().chain([&proxied[..]]) {
        for octets in [1, 3, 7, 40, usize::MAX] {
            let (packets, ends) = cut(&[tunnel, &messages].concat(), octets);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("made.pcap");
            wire::write(&packets, &path);
            // Octets of the proxy may be counted as those of no message.
            let (batch, _) = read_with_notes("sip", &[&path], 100);
            let expected: Vec<String> = ends[tunnel.len()..].iter().map(usize::to_string).collect();
            let numbers = column(&batch, "frame.number");
            assert_eq!(numbers, expected, "{octets}, {tunnel:?}");
        }
    }
}

#[test]
fn messages_of_web_sockets_are_found() {
    let get: &[u8] =
        b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    let switched: &[u8] =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    // The frames are a masked and an unmasked "Hello" (RFC 6455, 5.7).
    let hello: [Sent<'_>; 2] = [
        (true, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58"),
        (false, b"\x81\x05Hello"),
    ];
    let opened = [(true, get), (false, switched)];
    is_the_same("websocket", &[&opened[..], &hello].concat(), 2);
    // The upgrade may follow requests that open no WebSocket, one of them with a body of more octets than a piece has.
    let body = format!(
        "POST /login HTTP/1.1\r\nHost: h\r\nContent-Length: 300\r\n\r\n{}",
        "x".repeat(300)
    );
    let posted: [Sent<'_>; 2] = [
        (true, body.as_bytes()),
        (false, b"HTTP/1.1 204 No Content\r\n\r\n"),
    ];
    for before in [&posted[..], HTTP[3], &[&posted, HTTP[3], HTTP[0]].concat()] {
        is_the_same("websocket", &[before, &opened, &hello].concat(), 2);
    }
    // Preliminary responses are sent separately or together with the final one.
    let hints: Sent<'_> = (false, b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    let with_hints = [opened[0], hints, hints, opened[1], hello[0], hello[1]];
    is_the_same("websocket", &with_hints, 2);
}

/// A message of Diameter with its sender's name (RFC 6733, 5.5).
fn watchdog(flags: u8) -> Vec<u8> {
    let mut bytes = vec![1, 0, 0, 40, flags, 0, 1, 24];
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]);
    bytes.extend(b"\0\0\x01\x08\x40\0\0\x11h.example\0\0\0");
    bytes
}

#[test]
fn messages_of_diameter_are_found() {
    let (request, answer) = (watchdog(0x80), watchdog(0));
    let sent: [Sent<'_>; 3] = [(true, &request), (false, &answer), (true, &request)];
    is_the_same("diameter", &sent, 3);
}

#[test]
fn packets_of_mqtt_are_found() {
    let sent: [Sent<'_>; 4] = [
        (true, b"\x10\x0e\0\x04MQTT\x04\x02\0\x3c\0\x02id"),
        (false, b"\x20\x02\0\0"),
        (true, b"\x30\x07\0\x03a/bhi"),
        (true, b"\xe0\0"),
    ];
    is_the_same("mqtt", &sent, 4);
    let old: [Sent<'_>; 1] = [(true, b"\x10\x10\0\x06MQIsdp\x03\x02\0\x3c\0\x02id")];
    is_the_same("mqtt", &old, 1);
}

/// Returns a question for an address, and its answer (RFC 1035, 4.1 and 4.2.2).
fn lookup(id: u8) -> [Vec<u8>; 2] {
    let name = b"\x03www\x07example\x03net\0\0\x01\0\x01";
    let question = [&[0, 33, 0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], &name[..]].concat();
    let head = [0, 49, 0, id, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0];
    let record = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01";
    [question, [&head, &name[..], record].concat()]
}

#[test]
fn messages_of_dns_are_found() {
    let [first, to_first] = lookup(1);
    let [second, to_second] = lookup(2);
    let sent: [Sent<'_>; 4] = [
        (true, &first),
        (false, &to_first),
        (true, &second),
        (false, &to_second),
    ];
    is_the_same("dns", &sent, 4);
    is_the_same("lookups", &sent, 2);
}

#[test]
fn messages_of_stun_and_packets_of_radius_are_found() {
    // The messages are a Binding request with software, and its success response (RFC 8489, 5).
    let mut request = b"\0\x01\0\x08\x21\x12\xa4\x42".to_vec();
    request.extend([7; 12]);
    let mut success = request.clone();
    success[..2].copy_from_slice(&[1, 1]);
    for message in [&mut request, &mut success] {
        message.extend(b"\x80\x22\0\x04weir");
    }
    is_the_same("stun", &[(true, &request), (false, &success)], 2);
    // The data of a channel of TURN are no message (RFC 8656, 12.5), and were counted as lost bytes.
    let data = b"\x40\x01\0\x05hello\0\0\0";
    let sent: [Sent<'_>; 4] = [
        (true, &request),
        (false, &success),
        (true, data),
        (true, &request),
    ];
    is_the_same("stun", &sent, 3);
    // The packets are a request with a user's name, and an accept with a text (RFC 2865, 3 and 5.1).
    let packet = |code: u8, attribute: &[u8]| {
        let length = 20 + attribute.len() as u8;
        [&[code, 9, 0, length], &[3; 16][..], attribute].concat()
    };
    let (request, accept) = (packet(1, b"\x01\x05bob"), packet(2, b"\x12\x04ok"));
    is_the_same("radius", &[(true, &request), (false, &accept)], 2);
}

/// These connections begin like messages of some protocol, and never become one.
#[test]
fn a_connection_that_becomes_nothing_has_no_rows() {
    let mut question = lookup(1)[0].clone();
    question[..2].copy_from_slice(&[0xff, 0xff]);
    question.resize(70_000, b'a');
    let radius = [&b"\x01\0\x0f\xff"[..], &[1, 2].repeat(2_100)].concat();
    let sent: [&[u8]; 5] = [
        &question,
        &radius,
        b"\x01\0\0\x28\0\0\x01\x18 and nothing that is a pair of Diameter",
        b"\x10\x0e\0\x04MQTX, and more",
        b"SUBSCRIBE to no version of HTTP\r\nand so on\r\n\r\n",
    ];
    for bytes in sent {
        for table in [
            "dns",
            "radius",
            "diameter",
            "mqtt",
            "stun",
            "http",
            "sip",
            "websocket",
        ] {
            let (packets, _) = cut(&[(true, bytes)], 7);
            let rows = &columns_of(table, &packets, |frame| frame)[0].1;
            assert_eq!(rows.len(), 0, "{table}: {}", bytes[..30].escape_ascii());
        }
    }
}

/// A message that has begun, and lacks an octet, is not completed by the octets behind the gap.
#[test]
fn a_beginning_with_a_hole_is_none() {
    let [question, _] = lookup(1);
    let request = watchdog(0x80);
    for (table, message) in [("dns", &question), ("diameter", &request)] {
        let mut packets = Vec::new();
        let ends = [(CLIENT, 40_000), (SERVER, PORT)];
        Connection::open(ends[0], ends[1], &mut packets);
        // The third octet is missing.
        for (at, octet) in message.iter().enumerate().filter(|(at, _)| *at != 2) {
            let tcp = Tcp::new(40_000, PORT)
                .flags(tcp_flags::ACK)
                .numbers(1 + at as u32, 1);
            let segment = tcp.segment(CLIENT.into(), SERVER.into(), &[*octet]);
            packets.push(Ipv4::new(CLIENT, SERVER, protocol::TCP).packet(&segment));
        }
        assert_eq!(
            columns_of(table, &packets, |frame| frame)[0].1.len(),
            0,
            "{table}"
        );
    }
}
