//! Filters over the packets that ICMP errors quote.

use std::net::IpAddr;

use weir_testkit::packet::{Ipv4, Ipv6, Tcp, icmp, icmp_echo, icmpv6, protocol, tcp_flags, udp};

use super::are_selected;

/// Filters over messages that ICMP errors quote, with the numbers of the packets of [`quotes`] that they select, from
/// 1.
const OF_QUOTES: &[(&str, &[u64])] = &[
    ("dns.qry.name", &[1, 2, 3, 6, 8, 9, 14, 15]),
    (
        "dns.qry.name == \"www.example.org\"",
        &[1, 2, 3, 6, 8, 9, 14, 15],
    ),
    ("not dns.qry.name", &[4, 5, 7, 10, 11, 12, 13]),
    (
        "dns.qry.name == \"www.example.org\" && icmp",
        &[2, 3, 8, 9, 14, 15],
    ),
    ("dns.qry.name == \"www.example.org\" && icmpv6", &[6]),
    ("dns.flags.response == 1", &[8, 9]),
    ("dns.a == 192.0.2.80", &[8, 9]),
    ("dns.id == 0x1234", &[1, 2, 3, 4, 6, 8, 9, 14, 15]),
    ("count(dns.a) == 1 and count(dns.qry.name) == 1", &[8, 9]),
    ("count(dns.a) > 1", &[]),
    ("min(dns.id) == 0x1234", &[1, 2, 3, 4, 6, 8, 9, 14, 15]),
    // Where there is no number, what is written is the greatest.
    ("max(dns.id, 1) == 1", &[5, 7, 10, 11, 12, 13]),
    // Neither of the two is the answer to the other, because both are quoted.
    ("dns.time", &[]),
    ("sip.Method == \"OPTIONS\"", &[10]),
    ("sip.Call-ID == \"q\"", &[10]),
    ("ntp.flags.mode == 3", &[11]),
    ("snmp.community == \"public\"", &[12]),
];

/// Datagrams of UDP, and the ICMP errors that quote them whole or truncated: RFC 792 gives 8 octets of the payload of
/// IP at least, RFC 1812 (4.3.2.3) and RFC 4443 (3) as much as fits.
fn quotes() -> Vec<Vec<u8>> {
    let [desk, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let datagram = |ports: (u16, u16), payload: &[u8]| {
        let datagram = udp(desk.into(), server.into(), ports.0, ports.1, payload);
        Ipv4::new(desk, server, protocol::UDP).packet(&datagram)
    };
    let error = |kind: u8, code: u8, quote: &[u8]| {
        Ipv4::new(server, desk, protocol::ICMP).packet(&icmp(kind, code, [0; 4], quote))
    };
    let mut question =
        b"\x12\x34\x01\0\0\x01\0\0\0\0\0\x01\x03www\x07example\x03org\0\0\x01\0\x01".to_vec();
    let mut answer = question.clone();
    (answer[2], answer[7], answer[11]) = (0x81, 1, 0);
    answer.extend(b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x50");
    // The question has an OPT record (RFC 6891).
    question.extend(b"\0\0\x29\x10\0\0\0\0\0\0\0");
    let asked = datagram((40_001, 53), &question);
    let answered = datagram((53, 40_001), &answer);
    let asked_by_6 = {
        let [desk, server] = ["2001:db8::1", "2001:db8::2"].map(|it| it.parse().unwrap());
        let datagram = udp(IpAddr::V6(desk), IpAddr::V6(server), 40_001, 53, &question);
        let asked = Ipv6::new(desk, server, protocol::UDP).packet(&datagram);
        let error = icmpv6(server, desk, 1, 4, [0; 4], &asked);
        Ipv6::new(server, desk, protocol::ICMPV6).packet(&error)
    };
    let options = "OPTIONS sip:b@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK1\r\nFrom: <sip:a@h>;tag=1\r\n\
        To: <sip:b@h>\r\nCall-ID: q\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n";
    let time = [&[0x23][..], &[0; 47]].concat();
    let get = b"\x30\x26\x02\x01\0\x04\x06public\xa0\x19\x02\x04\0\0\0\x01\x02\x01\0\x02\x01\0\x30\x0b\x30\x09\
        \x06\x05\x2b\x06\x01\x02\x01\x05\0";
    vec![
        asked.clone(),
        error(3, 3, &asked),
        // The quotes are cut within OPT, within the name, and after the header of UDP.
        error(11, 0, &asked[..asked.len() - 6]),
        error(3, 1, &asked[..20 + 8 + 20]),
        error(3, 3, &asked[..20 + 8]),
        asked_by_6,
        // An echo request is no error, though its data look like a quoted packet.
        Ipv4::new(desk, server, protocol::ICMP).packet(&icmp_echo(false, 1, 1, &asked)),
        error(3, 3, &answered),
        error(3, 3, &answered),
        error(3, 3, &datagram((5060, 5060), options.as_bytes())),
        error(3, 3, &datagram((123, 123), &time)),
        error(3, 3, &datagram((40_002, 161), get)),
        // A redirect quotes a packet that was forwarded, and is no error.
        error(5, 1, &asked),
        error(3, 13, &datagram((40_003, 9), &question)),
        // A packet of a tunnel is quoted with the datagram in it.
        error(
            11,
            0,
            &Ipv4::new(desk, server, protocol::GRE).packet(&[&[0, 0, 8, 0][..], &asked].concat()),
        ),
    ]
}

/// Filters over quoted segments, with the packets of [`segments`] that they select.
const OF_SEGMENTS: &[(&str, &[u64])] = &[
    ("http.request.method == \"GET\"", &[1, 2, 3, 5, 7, 8]),
    ("http.request.uri == \"/a\"", &[1, 2, 3, 5, 7, 8]),
    ("http.host == \"www.example.org\"", &[1, 2, 7, 8]),
    ("http.request.method && icmp", &[2, 3, 5, 7, 8]),
    ("not http.request.method", &[4, 6, 9, 10, 11, 12, 13, 14]),
    ("dns.qry.name == \"www.example.org\"", &[9, 10]),
    ("sip.Method == \"OPTIONS\"", &[12]),
    ("tls.handshake.type == 1", &[14]),
    // A segment that is only quoted was not sent again: it has the number of its connection, and no place in it.
    ("tcp.analysis.flags", &[]),
    ("tcp.stream == 0", &[1, 2, 3, 7]),
    ("tcp.seq == 100 && tcp.stream == 0", &[2, 3, 7]),
    ("tcp.seq == 120", &[6]),
    ("tcp.nxtseq", &[1]),
    ("tcp.ack == 1", &[1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 14]),
    ("tcp.time_delta", &[1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 14]),
];

/// Segments of TCP, and the errors that quote them whole or truncated.
fn segments() -> Vec<Vec<u8>> {
    let [desk, server] = [[10, 0, 0, 1], [10, 0, 0, 2]].map(std::net::Ipv4Addr::from);
    let segment = |ports: (u16, u16), seq: u32, payload: &[u8]| {
        let tcp = Tcp::new(ports.0, ports.1).numbers(seq, 1);
        let tcp = tcp.flags(tcp_flags::ACK | tcp_flags::PSH);
        let segment = tcp.segment(desk.into(), server.into(), payload);
        Ipv4::new(desk, server, protocol::TCP).packet(&segment)
    };
    let error = |kind: u8, code: u8, quote: &[u8]| {
        Ipv4::new(server, desk, protocol::ICMP).packet(&icmp(kind, code, [0; 4], quote))
    };
    let get = b"GET /a HTTP/1.1\r\nHost: www.example.org\r\n\r\n";
    let first = segment((40_000, 80), 100, get);
    let question = b"\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\x03org\0\0\x01\0\x01";
    let question = [&(question.len() as u16).to_be_bytes(), &question[..]].concat();
    let twice = question.repeat(2);
    let options = "OPTIONS sip:b@h SIP/2.0\r\nVia: SIP/2.0/TCP h;branch=z9hG4bK1\r\nFrom: <sip:a@h>;tag=1\r\n\
        To: <sip:b@h>\r\nCall-ID: q\r\nCSeq: 1 OPTIONS\r\nMax-Forwards: 70\r\nContent-Length: 0\r\n\r\n";
    let hello = hello();
    vec![
        first.clone(),
        // The packet is too big: it is quoted whole, cut within a field, and cut after the ports.
        error(3, 4, &first),
        error(3, 4, &first[..first.len() - 10]),
        error(3, 4, &first[..28]),
        // A request in two segments, each of which is quoted by itself.
        error(3, 4, &segment((40_001, 80), 100, &get[..20])),
        error(3, 4, &segment((40_001, 80), 120, &get[20..])),
        error(11, 0, &first),
        error(11, 0, &segment((40_002, 80), 100, get)),
        error(3, 1, &segment((40_003, 53), 100, &question)),
        error(3, 1, &segment((40_004, 53), 100, &twice)),
        error(3, 1, &segment((40_005, 53), 100, &question)[..60]),
        error(3, 1, &segment((40_006, 5060), 100, options.as_bytes())),
        // A redirect is no error.
        error(5, 1, &first),
        error(3, 4, &segment((40_007, 443), 100, &hello)),
    ]
}

/// Returns the first ClientHello of a recorded session.
fn hello() -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/sessions.pcap");
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = weir_capture::Reader::new(file).unwrap();
    loop {
        let record = reader.next().unwrap().unwrap();
        // The TLS record follows the headers of IP and TCP.
        if let Some(hello @ [0x16, 3, ..]) = record.data.get(40..) {
            return hello.to_vec();
        }
    }
}

/// Only headers of quoted packets were read before, and `dns.qry.name` selected none of them.
#[test]
fn messages_that_errors_of_icmp_quote_are_selected() {
    are_selected(&quotes(), OF_QUOTES, &[]);
    // A quoted message was not sent by the packet, and tables do not have it.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quotes.pcap");
    crate::wire::write(&quotes(), &path);
    let dns = crate::sip::read("dns", &[&path], 100);
    assert_eq!(crate::sip::column(&dns, "frame.number"), ["1"]);
}

/// Until 2026-11 only datagrams were read.
#[test]
fn segments_that_errors_of_icmp_quote_are_selected() {
    are_selected(&segments(), OF_SEGMENTS, &[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segments.pcap");
    crate::wire::write(&segments(), &path);
    let http = crate::sip::read("http", &[&path], 100);
    assert_eq!(crate::sip::column(&http, "http.request.frame"), ["1"]);
}
