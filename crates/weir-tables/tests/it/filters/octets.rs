//! Filters over the octets of protocols, headers of HTTP, parts of hellos of TLS, and names of values.

use weir_testkit::packet::{Ipv4, protocol, udp};

use super::{are_selected, by_weir};
use crate::wire::Connection;

/// A port, and what each side says: true for the client.
type Talk<'t> = (u16, &'t [(bool, &'t [u8])]);

const SIP: &[u8] = b"INVITE sip:bob@example.net SIP/2.0\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1\r\nFrom: <sip:alice@example.org>;tag=1\r\nTo: <sip:bob@example.net>\r\nCall-ID: one@10.0.0.1\r\nCSeq: 1 INVITE\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n";
const QUESTION: &[u8] = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x07example\x03com\0\0\x01\0\x01";
const REQUEST: &[u8] =
    b"GET /x HTTP/1.1\r\nHost: example.com\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nCache-Control: max-age=60\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";

/// Returns a record of TLS with a handshake message of this type, which ends with this extension.
fn hello(kind: u8, random: u8, suites: &[u8], extension: &[u8]) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend([random; 32]);
    body.extend(b"\x04abcd");
    body.extend(suites);
    body.extend([0, extension.len() as u8]);
    body.extend(extension);
    let mut record = vec![22, 3, 1, 0, body.len() as u8 + 4];
    record.extend([kind, 0, 0, body.len() as u8]);
    record.extend(body);
    record
}

fn packets() -> Vec<Vec<u8>> {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let datagram = |from: u16, to: u16, payload: &[u8]| {
        let datagram = udp(client.into(), server.into(), from, to, payload);
        Ipv4::new(client, server, protocol::UDP).packet(&datagram)
    };
    // 1 to 3.
    let mut packets = vec![
        datagram(4_000, 53, QUESTION),
        datagram(5_060, 5_060, SIP),
        datagram(4_001, 123, &[[0x23].as_slice(), &[0; 46], &[8]].concat()),
    ];
    let question = [&[0, QUESTION.len() as u8][..], QUESTION].concat();
    let first = hello(1, 5, &[0, 2, 0x13, 1, 1, 0], &[0, 43, 0, 5, 4, 3, 4, 3, 3]);
    let second = hello(2, 7, &[0x13, 1, 0], &[0, 43, 0, 2, 3, 4]);
    let (begin, end) = SIP.split_at(150);
    let talks: [Talk<'_>; 4] = [
        // 7, with the handshake before it.
        (53, &[(true, &question)]),
        // 11 and 12.
        (80, &[(true, REQUEST), (false, RESPONSE)]),
        // 16 and 17.
        (5_060, &[(true, begin), (true, end)]),
        // 21 and 22.
        (443, &[(true, &first), (false, &second)]),
    ];
    for (port, (to, sent)) in (40_000..).zip(talks) {
        let mut one = Connection::open((client, port), (server, to), &mut packets);
        for (from_client, bytes) in sent {
            one.send_one(*from_client, bytes, &mut packets);
        }
    }
    packets
}

/// Filters, with the packets that they and tshark select.
const SELECTED: &[(&str, &[u64])] = &[
    ("dns contains \"example\"", &[1, 7]),
    ("dns[0:2] == 12:34", &[1]),
    ("len(dns) == 29", &[1]),
    ("len(dns) == 31", &[7]),
    ("ntp[-1] == 08", &[3]),
    ("ntp.reftime", &[3]),
    ("ntp.reftime == \"1970-01-01 00:00:00\"", &[3]),
    ("len(ip) == 20 and udp", &[1, 2, 3]),
    ("len(udp) == 8", &[1, 2, 3]),
    ("udp[8:3] or ip[20]", &[]),
    ("len(tcp) > 20", &[7, 11, 12, 16, 17, 21, 22]),
    ("udp contains \"alice\"", &[2]),
    ("ip matches \"BOB@\"", &[2, 16]),
    ("udp and sip contains \"INVITE sip\"", &[2]),
    ("udp and sip matches \"bob@EXAMPLE\"", &[2]),
    ("http contains \"example.com\"", &[11]),
    ("http contains \"abc\"", &[12]),
    ("http matches \"^get\"", &[11]),
    ("http.date", &[12]),
    ("http.date contains \"1994\"", &[12]),
    ("http.cache_control", &[11, 12]),
    ("http.cache_control == \"no-cache\"", &[11]),
    ("http.cache_control != \"no-cache\"", &[12]),
    ("http.connection == \"close\"", &[11]),
    ("http.transfer_encoding == \"chunked\"", &[12]),
    ("tls.handshake.session_id", &[21, 22]),
    ("tls.handshake.session_id == 61:62:63:64", &[21, 22]),
    ("tls.handshake.session_id[0] == 61", &[21, 22]),
    ("tls.handshake.random[0:2] == 05:05", &[21]),
    ("tls.handshake.random", &[21, 22]),
    (
        "tls.handshake.extensions.supported_version == 0x0304",
        &[21, 22],
    ),
    (
        "tls.handshake.extensions.supported_version == 0x0303",
        &[21],
    ),
    (
        "tls.handshake.extensions.supported_version == \"TLS 1.3\"",
        &[21, 22],
    ),
    ("ip.proto == \"udp\"", &[1, 2, 3]),
    ("ip.proto in {\"UDP\", 1}", &[1, 2, 3]),
    ("tcp.flags.syn == \"Set\" and tcp.dstport == 80", &[8]),
    ("tcp.flags.syn == \"not set\" and tcp.port == 53", &[6, 7]),
    // What is a word may stand without quotes, and offsets are octal behind 0.
    ("dns.qry.name == example.com", &[1, 7]),
    ("http.host == example.com", &[11]),
    ("http.connection contains close", &[11]),
    ("ip.proto == UDP", &[1, 2, 3]),
    ("tcp.flags.syn == Set and tcp.dstport == 80", &[8]),
    (".tcp.dstport == +80 and http", &[11]),
    ("frame[011] == 11 and frame[0x9] == :11", &[1, 2, 3]),
];

/// Most of these were refused. Slices and lengths of IP and UDP went on behind their header, and times of NTP that are 0 were missing.
#[test]
fn protocols_are_octets_and_values_have_names() {
    are_selected(&packets(), SELECTED, &[]);
}

/// A request and its response, in which headers come in several lines.
fn with_headers_in_several_lines() -> Vec<Vec<u8>> {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let request = b"GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1\r\nX-Forwarded-For: 10.0.0.8\r\n\
        cookie: b=2\r\nX-Forwarded-For: 10.0.0.9\r\n\r\n";
    let response = b"HTTP/1.1 401 No\r\nWWW-Authenticate: Negotiate\r\n\
        WWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n";
    let mut packets = Vec::new();
    let mut one = Connection::open((client, 40_000), (server, 80), &mut packets);
    one.send_one(true, request, &mut packets);
    one.send_one(false, response, &mut packets);
    packets
}

/// Filters over these, with the packets that they and tshark select.
const OF_SEVERAL_LINES: &[(&str, &[u64])] = &[
    ("http.cookie == \"a=1\"", &[4]),
    ("http.cookie == \"b=2\"", &[4]),
    ("http.cookie == \"a=1; b=2\"", &[]),
    ("http.x_forwarded_for == \"10.0.0.9\"", &[4]),
    ("http.www_authenticate contains \"Basic\"", &[5]),
    ("http.accept", &[]),
];

/// Fields of headers had the value of the first line.
#[test]
fn each_line_of_a_header_has_a_value() {
    are_selected(&with_headers_in_several_lines(), OF_SEVERAL_LINES, &[]);
}

/// Parts of headers, and the length of a body as it was sent, were refused.
#[test]
fn credentials_and_pairs_of_cookies_are_fields() {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let request = b"POST / HTTP/1.1\r\nHost: h\r\nAuthorization: Basic YWxpY2U6czNjcmV0\r\n\
        Proxy-Authorization: Basic Ym9iOng=\r\nCookie: a=1; b=2\r\nContent-Length: 4\r\n\r\nabcd";
    let response = b"HTTP/1.1 204 No\r\nAuthorization: Digest YWxpY2U6czNjcmV0\r\n\r\n";
    let mut packets = Vec::new();
    let mut one = Connection::open((client, 40_000), (server, 80), &mut packets);
    one.send_one(true, request, &mut packets);
    one.send_one(false, response, &mut packets);
    let expected: &[(&str, &[u64])] = &[
        ("http.authbasic", &[4]),
        ("http.authbasic == \"alice:s3cret\"", &[4]),
        ("http.authbasic == \"bob:x\"", &[4]),
        ("http.cookie_pair == \"b=2\"", &[4]),
        ("count(http.cookie_pair) == 2", &[4]),
        ("http.content_length_header == \"4\"", &[4]),
    ];
    are_selected(&packets, expected, &[]);
}

/// Headers of SIP without a column were refused.
#[test]
fn headers_of_sip_without_a_column_are_fields() {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let headers =
        b"Allow: INVITE, ACK\r\nAllow: BYE\r\nk: timer\r\nRoute: <sip:a;lr>,\r\n <sip:b;lr>\r\n";
    let begin = SIP.len() - b"Content-Length: 0\r\n\r\n".len();
    let (before, end) = SIP.split_at(begin);
    let packets = [SIP, &[before, headers, end].concat()].map(|message| {
        let datagram = udp(client.into(), server.into(), 5_060, 5_060, message);
        Ipv4::new(client, server, protocol::UDP).packet(&datagram)
    });
    let expected: &[(&str, &[u64])] = &[
        ("sip.Allow", &[2]),
        ("sip.Allow == \"BYE\" && sip.Allow contains \"ACK\"", &[2]),
        ("count(sip.Allow) == 2", &[2]),
        ("sip.Supported == \"timer\"", &[2]),
        ("sip.Route contains \"<sip:b\"", &[2]),
        ("sip and not sip.Route", &[1]),
        ("sip.Record-Route || sip.WWW-Authenticate", &[]),
    ];
    are_selected(&packets, expected, &[]);
}

/// A question to all with two names, and one for the root.
fn questions() -> Vec<Vec<u8>> {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let datagram = |from: u16, to: u16, payload: &[u8]| {
        let datagram = udp(client.into(), server.into(), from, to, payload);
        Ipv4::new(client, server, protocol::UDP).packet(&datagram)
    };
    let two = b"\0\0\0\0\0\x02\0\0\0\0\0\0\x04_ipp\x04_tcp\x05local\0\0\x0c\0\x01\x01x\x05local\0\0\x01\0\x03";
    let root = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\0\0\x02\0\x01";
    vec![datagram(5353, 5353, two), datagram(4_000, 53, root)]
}

/// The class, the length of the name and its labels were those of the first question alone.
#[test]
fn each_question_of_a_message_has_its_fields() {
    let expected: &[(&str, &[u64])] = &[
        ("dns.qry.class == 3", &[1]),
        ("dns.qry.class == 1", &[1, 2]),
        ("dns.qry.name.len == 7", &[1]),
        ("dns.qry.name.len == 15", &[1]),
        ("count(dns.qry.name.len) == 2", &[1]),
        ("dns.qry.name.len == 6 and dns.count.labels == 1", &[2]),
        ("all dns.qry.name.len > 6", &[1]),
        ("dns.count.labels == 2 and dns.count.labels == 3", &[1]),
    ];
    are_selected(&questions(), expected, &[]);
}

/// The parts of a target were refused. A target whose query is empty has none, as in tshark.
#[test]
fn parts_of_the_target_of_a_request_are_fields() {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let mut packets = Vec::new();
    // The fourth packet of each connection.
    for (port, target) in (40_000..).zip(["/x?a=1&b=2", "/y?", "/z"]) {
        let request = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let mut one = Connection::open((client, port), (server, 80), &mut packets);
        one.send_one(true, request.as_bytes(), &mut packets);
    }
    let expected: &[(&str, &[u64])] = &[
        ("http.request.uri", &[4, 8, 12]),
        ("http.request.uri.path", &[4]),
        ("http.request.uri.path == \"/x\"", &[4]),
        ("http.request.uri.query == \"a=1&b=2\"", &[4]),
        ("http.request.uri.query.parameter == \"b=2\"", &[4]),
        ("count(http.request.uri.query.parameter) == 2", &[4]),
    ];
    are_selected(&packets, expected, &[]);
}

/// These protocols were conditions alone.
#[test]
fn radius_mgcp_and_stun_are_octets() {
    let [client, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let datagram = |from: u16, to: u16, payload: &[u8]| {
        let datagram = udp(client.into(), server.into(), from, to, payload);
        Ipv4::new(client, server, protocol::UDP).packet(&datagram)
    };
    // An Access-Request with a user's name (RFC 2865, 5.1), a notification of MGCP, and a binding request of STUN.
    let name = [&[1, 9, 0, 27][..], &[5; 16], b"\x01\x07alice"].concat();
    let packets = [
        datagram(4_000, 1812, &name),
        datagram(
            2_727,
            2_427,
            b"NTFY 2001 aaln/1@example.net MGCP 1.0\r\nO: hd\r\n",
        ),
        datagram(
            4_001,
            3478,
            &[&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat(),
        ),
    ];
    let expected: &[(&str, &[u64])] = &[
        ("radius contains \"alice\"", &[1]),
        ("radius[0] == 01 and len(radius) == 27", &[1]),
        ("mgcp matches \"^ntfy\"", &[2]),
        ("mgcp[0:4] == \"NTFY\"", &[2]),
        ("stun[4:4] == 21:12:a4:42", &[3]),
        ("len(stun) == 20", &[3]),
    ];
    are_selected(&packets, expected, &[]);
}

/// A message that ends in a packet is searched as a whole, also where it began in another one.
#[test]
fn a_message_of_sip_is_searched_where_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sip.pcap");
    crate::wire::write(&packets(), &path);
    for filter in [
        "sip contains \"INVITE sip\"",
        "sip contains \"alice\"",
        "sip matches \"max-forwards: 70\"",
    ] {
        let selected: Vec<u64> = by_weir(filter, &path).into_iter().collect();
        assert_eq!(selected, [2, 17], "{filter}");
    }
}
