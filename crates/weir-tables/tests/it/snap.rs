//! Captures with a snap length, which cut datagrams and messages: what is there has a row that says so, or is counted.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;

use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, protocol, udp};

use crate::sip::{column, read_with_notes};
use crate::untidy_handshakes::hellos;
use crate::wire::Connection;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Writes a capture of UDP between the ports of DHCP, with `snap_len` octets of each packet.
fn cut_to(datagrams: &[&[u8]], snap_len: usize, path: &Path) {
    let datagrams: Vec<_> = datagrams.iter().map(|it| (true, *it)).collect();
    cut_between([68, 67], &datagrams, snap_len, path);
}

/// Writes a capture between these ports, from the first to the second (true) or back.
fn cut_between(ports: [u16; 2], datagrams: &[(bool, &[u8])], snap_len: usize, path: &Path) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    for (time, (is_there, datagram)) in (0..).zip(datagrams) {
        let [from, to] = match is_there {
            true => [(CLIENT, ports[0]), (SERVER, ports[1])],
            false => [(SERVER, ports[1]), (CLIENT, ports[0])],
        };
        let segment = udp(from.0.into(), to.0.into(), from.1, to.1, datagram);
        let packet = Ipv4::new(from.0, to.0, protocol::UDP).packet(&segment);
        let captured = &packet[..packet.len().min(snap_len)];
        let time = 1_700_000_000_000_000_000 + time * 1_000_000;
        writer.packet(time, packet.len() as u32, captured).unwrap();
    }
    writer.into_inner().flush().unwrap();
}

/// Writes packets of which that with the index `at` is captured in part, or not at all.
fn write_cut(packets: &[Vec<u8>], at: usize, captured: Option<usize>, path: &Path) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let (variant, endian) = (PcapVariant::Nano, Endian::Little);
    let mut writer = PcapWriter::new(file, 101, 65_535, variant, endian).unwrap();
    for (number, packet) in packets.iter().enumerate() {
        let captured = match captured {
            _ if number != at => packet.len(),
            Some(captured) => captured,
            None => continue,
        };
        let octets = packet.len() as u32;
        writer
            .packet(number as u64, octets, &packet[..captured])
            .unwrap();
    }
    writer.into_inner().flush().unwrap();
}

/// A truncated answer had its captured part, without a fault.
#[test]
fn lookups_of_messages_that_were_cut_say_so() {
    let question = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x01\0\x01";
    let mut answer = question.to_vec();
    (answer[2], answer[7]) = (0x81, 2);
    for last in [1, 2] {
        answer.extend(b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02");
        answer.push(last);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let messages = [(true, &question[..]), (false, &answer)];
    let columns = ["lookup.query", "lookup.answers", "lookup.fault"];
    let missing = "bytes were not captured";
    for (captured, expected) in [
        (answer.len(), ["a.example", "192.0.2.1, 192.0.2.2", ""]),
        (answer.len() - 16, ["a.example", "192.0.2.1", missing]),
        (question.len(), ["a.example", "", missing]),
    ] {
        cut_between([4_000, 53], &messages, 28 + captured, &path);
        let (batch, _) = read_with_notes("lookups", &[&path], 10);
        let found = columns.map(|it| column(&batch, it)[0].clone());
        assert_eq!(found.map(|it| it.replace(['[', ']'], "")), expected);
    }
    // This answer is shorter than its counts say, though it was captured in full.
    let short = &answer[..answer.len() - 16];
    cut_between(
        [4_000, 53],
        &[(true, question), (false, short)],
        1_000,
        &path,
    );
    let (batch, _) = read_with_notes("lookups", &[&path], 10);
    let fault = "the message ends within a field";
    assert_eq!(column(&batch, "lookup.fault"), [fault]);
}

/// Truncated packets of RTP have their original length; those without their last octet, which is the length of the
/// padding, were not recognised. A truncated report is counted.
#[test]
fn media_that_were_cut_are_media() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let packets = |first: u8| -> Vec<Vec<u8>> {
        let one = |n: u8| {
            let mut packet = vec![first, 8, 0, n, 0, 0, n, 160, 0, 0, 0, 7];
            packet.extend([0xd5; 156]);
            packet.extend([0xd5, 0xd5, 0xd5, 4]);
            packet
        };
        (0..30).map(one).collect()
    };
    for (first, captured, length, missing) in [
        (0x80, 200, "160", ""),
        (0x80, 28 + 12, "160", "160"),
        (0x80, 28 + 20, "160", "152"),
        (0xa0, 200, "156", ""),
        (0xa0, 28 + 20, "", "152"),
    ] {
        let packets = packets(first);
        let datagrams: Vec<_> = packets.iter().map(|it| (true, it.as_slice())).collect();
        cut_between([6_000, 7_000], &datagrams, captured, &path);
        let (batch, _) = read_with_notes("rtp", &[&path], 100);
        let expected = |it: &str| vec![it.to_owned(); 30];
        assert_eq!(column(&batch, "rtp.payload_len"), expected(length));
        assert_eq!(column(&batch, "rtp.missing"), expected(missing));
    }
    let report = b"\x80\xc9\0\x01\0\0\0\x07\x81\xca\0\x02\0\0\0\x07\x01\0\0\0";
    for (captured, found) in [(28 + 20, 2), (28 + 12, 1)] {
        cut_between([6_001, 7_001], &[(true, report)], captured, &path);
        let (batch, notes) = read_with_notes("rtcp", &[&path], 10);
        let is_counted = notes
            .iter()
            .any(|it| it.contains("not captured completely"));
        assert_eq!(
            (batch.num_rows(), is_counted),
            (found, found < 2),
            "{notes:?}"
        );
    }
}

/// A row had no name of the server where the hello of the client was cut, or was not captured, and did not say so.
#[test]
fn handshakes_whose_hello_was_cut_say_so() {
    let [client, server] = hellos();
    let mut packets = Vec::new();
    let ends = [(CLIENT, 40_000), (SERVER, 8_443)];
    let mut connection = Connection::open(ends[0], ends[1], &mut packets);
    let hello = packets.len();
    connection.send_one(true, &client, &mut packets);
    connection.send_one(false, &server, &mut packets);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let whole = packets[hello].len();
    for (captured, name) in [
        (Some(whole), "weir.test"),
        (Some(whole - 20), ""),
        (None, ""),
    ] {
        write_cut(&packets, hello, captured, &path);
        let (batch, _) = read_with_notes("tls", &[&path], 10);
        let names = column(&batch, "tls.handshake.extensions_server_name");
        assert_eq!(names, [name], "{captured:?}");
        assert_eq!(column(&batch, "tls.cipher_number"), ["49199"]);
        let fault = &column(&batch, "tls.fault")[0];
        assert_eq!(fault.is_empty(), captured == Some(whole), "{fault}");
    }
}

/// Nothing of a hello was read whose end was cut, although the name of its server was captured.
#[test]
fn hellos_that_were_cut_have_what_is_there() {
    let [mut client, server] = hellos();
    let protocol = b"\0\x10\0\x05\0\x03\x02h2";
    client.extend_from_slice(protocol);
    // The lengths of the record, of the message and of its extensions.
    for length in [4, 8, 51] {
        client[length] += protocol.len() as u8;
    }
    let mut packets = Vec::new();
    let ends = [(CLIENT, 40_000), (SERVER, 8_443)];
    let mut connection = Connection::open(ends[0], ends[1], &mut packets);
    let hello = packets.len();
    connection.send_one(true, &client, &mut packets);
    connection.send_one(false, &server, &mut packets);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    for (cut, name) in [
        (0, "weir.test"),
        (1, "weir.test"),
        (9, "weir.test"),
        (10, ""),
    ] {
        let captured = packets[hello].len() - cut;
        write_cut(&packets, hello, Some(captured), &path);
        let (batch, _) = read_with_notes("tls", &[&path], 10);
        let value = |field: &str| column(&batch, field)[0].clone();
        assert_eq!(value("tls.handshake.extensions_server_name"), name, "{cut}");
        assert_eq!(value("tls.client_hello.frame"), (hello + 1).to_string());
        assert_eq!(value("tls.cipher_number"), "49199");
        // No fingerprint is that of the whole hello, and what is behind the cut is not known.
        for field in [
            "tls.handshake.ja3",
            "tls.handshake.ja4",
            "tls.handshake.early_data",
        ] {
            assert_eq!(value(field).is_empty(), cut > 0, "{field} {cut}");
        }
        assert_eq!(value("tls.fault").is_empty(), cut == 0, "{cut}");
    }
}

/// Packets of which less than a header was captured were not counted.
#[test]
fn media_without_their_headers_are_counted() {
    let description = "v=0\r\nc=IN IP4 10.0.0.1\r\nm=audio 4000 RTP/AVP 0\r\n";
    let invite = format!(
        "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>\r\n\
         Call-ID: c\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{description}",
        description.len()
    );
    let mut packet = vec![0x80, 0, 0, 1, 0, 0, 0, 160, 0, 0, 0, 7];
    packet.extend([0x55; 160]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    for (captured, rows) in [(28 + 12, 2), (28 + 11, 0), (28 + 1, 0), (28, 0)] {
        let file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
        let (variant, endian) = (PcapVariant::Nano, Endian::Little);
        let mut writer = PcapWriter::new(file, 101, 65_535, variant, endian).unwrap();
        let all = [
            (5_060, invite.as_bytes()),
            (4_000, &packet),
            (4_000, &packet),
        ];
        for (time_ns, (port, datagram)) in (0..).zip(all) {
            let to = Ipv4Addr::new(10, 0, 0, 1);
            let segment = udp(SERVER.into(), to.into(), port, port, datagram);
            let packet = Ipv4::new(SERVER, to, protocol::UDP).packet(&segment);
            let most = if port == 5_060 {
                packet.len()
            } else {
                captured
            };
            let captured = &packet[..most];
            writer
                .packet(time_ns, packet.len() as u32, captured)
                .unwrap();
        }
        writer.into_inner().flush().unwrap();
        for table in ["rtp", "media"] {
            let (batch, notes) = read_with_notes(table, &[&path], 10);
            let counted = "2 datagrams between sockets of media were cut within the header";
            let is_counted = notes.iter().any(|it| it.contains(counted));
            let rows = if table == "media" { rows.min(1) } else { rows };
            assert_eq!(
                (batch.num_rows(), is_counted),
                (rows, rows == 0),
                "{captured} {table} {notes:?}"
            );
        }
    }
}

/// A table, the ports of a datagram, its octets, the number of captured ones, the number of rows then, and the note.
type CutCase<'c> = (&'c str, [u16; 2], &'c [u8], usize, usize, &'c str);

/// Messages of which a snap length left too little were not counted, nor were the missing parts of others.
#[test]
fn datagrams_that_were_cut_are_counted() {
    let snmp = b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x05\x02\x01\0\x02\x01\0\x30\x0e\x30\x0c\x06\x08\
        +\x06\x01\x02\x01\x01\x01\0\x05\0";
    let mut radius = b"\x01\x05\0\x1c".to_vec();
    radius.extend([7; 16]);
    radius.extend(b"\x01\x08abcdef");
    let binding = b"\0\x01\0\x08\x21\x12\xa4\x42abcdefghijkl\x80\x22\0\x04weir";
    let call = b"CRCX 1 ep@gw MGCP 1.0\r\nC: 1\r\nM: sendrecv\r\n";
    let invite = b"OPTIONS sip:alice@example.org SIP/2.0\r\nCall-ID: c\r\n\r\n";
    let mut ntp = [0; 48];
    ntp[0] = 0x23;
    let question = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x01\0\x01";
    let mut request = vec![0; 240];
    request[..4].copy_from_slice(&[1, 1, 6, 0]);
    request[236..].copy_from_slice(b"\x63\x82\x53\x63");
    let (left_out, in_part) = ("too little of them", "were not captured completely");
    let cases: [CutCase<'_>; 14] = [
        ("snmp", [40_000, 161], snmp, 10, 0, left_out),
        ("radius", [40_000, 1_812], &radius, 24, 1, in_part),
        ("radius", [40_000, 1_812], &radius, 3, 0, left_out),
        ("stun", [40_000, 50_000], binding, 24, 0, left_out),
        ("stun", [40_000, 3_478], binding, 4, 0, left_out),
        ("mgcp", [2_727, 2_427], call, 30, 1, in_part),
        ("mgcp", [2_727, 2_427], call, 8, 0, left_out),
        ("ntp", [123, 123], &ntp, 3, 0, left_out),
        (
            "sip",
            [5_060, 5_060],
            invite,
            26,
            0,
            "within their first line",
        ),
        (
            "sip",
            [5_060, 5_060],
            invite,
            1,
            0,
            "within their first line",
        ),
        (
            "sip",
            [40_000, 40_001],
            invite,
            26,
            0,
            "within their first line",
        ),
        ("dns", [40_000, 53], question, 3, 0, left_out),
        ("lookups", [40_000, 53], question, 8, 0, left_out),
        ("dhcp", [68, 67], &request, 7, 0, left_out),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    for (table, ports, datagram, captured, rows, note) in cases {
        for (captured, rows, is_counted) in [(captured, rows, true), (datagram.len(), 1, false)] {
            cut_between(ports, &[(true, datagram)], 28 + captured, &path);
            let (batch, notes) = read_with_notes(table, &[&path], 10);
            let has_note = notes.iter().any(|it| it.contains(note));
            assert_eq!(
                (batch.num_rows(), has_note),
                (rows, is_counted),
                "{table} {captured} {notes:?}"
            );
        }
    }
    // The octets that are missing may have been those of EAP.
    for (captured, has_eap) in [(24, ""), (radius.len(), "false")] {
        let datagrams: [(bool, &[u8]); 1] = [(true, &radius)];
        cut_between([40_000, 1_812], &datagrams, 28 + captured, &path);
        let (batch, _) = read_with_notes("radius", &[&path], 10);
        assert_eq!(column(&batch, "radius.eap"), [has_eap], "{captured}");
    }
    // A column marks the truncated message.
    cut_between([40_000, 53], &[(true, question)], 28 + 23, &path);
    let (batch, notes) = read_with_notes("dns", &[&path], 10);
    assert_eq!(column(&batch, "dns.fault"), ["bytes were not captured"]);
    assert!(notes.is_empty(), "{notes:?}");
}

/// A packet of NTP that was cut, or that ends within its header, had no row.
#[test]
fn packets_of_ntp_that_were_cut_have_what_is_there() {
    let mut packet = [0; 48];
    packet[..3].copy_from_slice(&[0x23, 2, 6]);
    packet[4] = 1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let columns = ["ntp.flags.mode", "ntp.stratum", "ntp.root_delay"];
    for (octets, delay) in [(40, "256"), (8, "256"), (4, "")] {
        let whole: [(bool, &[u8]); 1] = [(true, &packet)];
        let part: [(bool, &[u8]); 1] = [(true, &packet[..octets])];
        for (datagram, captured, fault) in [
            (whole, 28 + octets, "bytes were not captured"),
            (part, usize::MAX, "the packet ends within its header"),
        ] {
            cut_between([123, 123], &datagram, captured, &path);
            let (batch, notes) = read_with_notes("ntp", &[&path], 10);
            let [mode, stratum, root] = columns.map(|it| column(&batch, it)[0].clone());
            assert_eq!([mode, stratum], ["3", "2"], "{octets}");
            assert_eq!(root.trim_end_matches(".0"), delay, "{octets}");
            assert_eq!(column(&batch, "ntp.fault"), [fault], "{octets}");
            assert!(notes.is_empty(), "{notes:?}");
        }
    }
}

/// A message of DNS that was cut, or that ends, within its header had no row.
#[test]
fn messages_of_dns_that_were_cut_have_what_is_there() {
    let question = b"\0\x07\x01\0\0\x01\0\0\0\0\0\0\x01a\x07example\0\0\x01\0\x01";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let columns = [
        "dns.id",
        "dns.flags",
        "dns.count.queries",
        "dns.count.answers",
        "dns.count.add_rr",
    ];
    for (octets, expected) in [
        (4, ["7", "256", "", "", ""]),
        (6, ["7", "256", "1", "", ""]),
        (11, ["7", "256", "1", "0", ""]),
        (12, ["7", "256", "1", "0", "0"]),
    ] {
        let whole: [(bool, &[u8]); 1] = [(true, question)];
        let part: [(bool, &[u8]); 1] = [(true, &question[..octets])];
        for (datagram, captured, fault) in [
            (whole, 28 + octets, "bytes were not captured"),
            (part, usize::MAX, "the message ends within a field"),
        ] {
            cut_between([40_000, 53], &datagram, captured, &path);
            let (batch, notes) = read_with_notes("dns", &[&path], 10);
            let found = columns.map(|it| column(&batch, it).join(" "));
            assert_eq!(found, expected, "{octets}");
            assert_eq!(column(&batch, "dns.fault"), [fault], "{octets}");
            assert!(notes.is_empty(), "{notes:?}");
        }
    }
}

/// A packet of RADIUS that was cut, or that ends, within its header had no row.
#[test]
fn packets_of_radius_that_were_cut_have_what_is_there() {
    let mut packet = b"\x01\x05\0\x1c".to_vec();
    packet.extend([7; 16]);
    packet.extend(b"\x01\x08abcdef");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let columns = ["radius.code_name", "radius.id", "radius.length"];
    for octets in [4, 12, 19, 20] {
        let whole: [(bool, &[u8]); 1] = [(true, &packet)];
        let part: [(bool, &[u8]); 1] = [(true, &packet[..octets])];
        for (datagram, captured, fault) in [
            (whole, 28 + octets, "bytes were not captured"),
            (
                part,
                usize::MAX,
                "the message is shorter than its length says",
            ),
        ] {
            cut_between([40_000, 1_812], &datagram, captured, &path);
            let (batch, _) = read_with_notes("radius", &[&path], 10);
            let found = columns.map(|it| column(&batch, it).join(" "));
            assert_eq!(found, ["Access-Request", "5", "28"], "{octets}");
            assert_eq!(column(&batch, "radius.fault"), [fault], "{octets}");
        }
    }
}

/// A message of SNMP that was cut, or that ends before its length says, had no row.
#[test]
fn messages_of_snmp_that_were_cut_have_what_is_there() {
    let message = b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x05\x02\x01\0\x02\x01\0\x30\x0e\x30\x0c\x06\x08\
        +\x06\x01\x02\x01\x01\x01\0\x05\0";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let columns = ["snmp.community", "snmp.pdu", "snmp.request_id", "snmp.name"];
    let (cut, short) = (
        "bytes were not captured",
        "the message is shorter than its length says",
    );
    for (octets, expected, fault) in [
        (40, ["public", "get-request", "5", "1.3.6.1.2.1.1.1.0"], ""),
        (38, ["public", "get-request", "5", ""], cut),
        (20, ["public", "get-request", "5", ""], cut),
        (15, ["public", "get-request", "", ""], cut),
        (13, ["public", "", "", ""], cut),
    ] {
        let whole: [(bool, &[u8]); 1] = [(true, message)];
        let part: [(bool, &[u8]); 1] = [(true, &message[..octets])];
        // The capture ends there, or the message itself.
        let own = if fault.is_empty() { "" } else { short };
        for (datagram, captured, fault) in [(whole, 28 + octets, fault), (part, usize::MAX, own)] {
            cut_between([40_000, 161], &datagram, captured, &path);
            let (batch, notes) = read_with_notes("snmp", &[&path], 10);
            let found = columns.map(|it| column(&batch, it)[0].replace(['[', ']', '"'], ""));
            assert_eq!(found, expected, "{octets}");
            assert_eq!(column(&batch, "snmp.fault"), [fault], "{octets}");
            assert!(notes.is_empty(), "{notes:?}");
        }
    }
}

/// Hellos of DTLS that were truncated within their first header, and first packets of QUIC that were truncated
/// anywhere, were not counted.
#[test]
fn hellos_of_datagrams_that_were_cut_are_counted() {
    let mut hello =
        b"\x16\xfe\xfd\0\0\0\0\0\0\0\0\0\x36\x01\0\0\x2a\0\0\0\0\0\0\0\x2a\xfe\xfd".to_vec();
    hello.extend([7; 32]);
    hello.extend(b"\0\0\0\x02\xc0\x2b\x01\0");
    let mut initial = b"\xc3\0\0\0\x01\x08abcdefgh\0\0\x44\x9e".to_vec();
    initial.extend([9; 1_182]);
    let mut data = hello.clone();
    data[0] = 23;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    for (datagram, port, captured, rows, counted) in [
        (&hello, 40_001, hello.len(), 1, None),
        (&hello, 40_001, hello.len() - 1, 1, None),
        (&hello, 40_001, 15, 0, Some("neither hello was captured")),
        (&hello, 40_001, 14, 0, Some("too little of them")),
        (&hello, 40_001, 3, 0, Some("too little of them")),
        (&hello, 40_001, 2, 0, None),
        (&hello, 5_684, 2, 0, Some("too little of them")),
        (&hello, 5_684, 0, 0, Some("too little of them")),
        (&data, 5_684, 14, 0, None),
        (&initial, 443, 600, 0, Some("too little of them")),
        (&initial, 443, 8, 0, Some("too little of them")),
        (
            &initial,
            443,
            initial.len(),
            0,
            Some("were not read because the client's"),
        ),
    ] {
        cut_between([40_000, port], &[(true, datagram)], 28 + captured, &path);
        let (batch, notes) = read_with_notes("tls", &[&path], 10);
        let has_note = counted.is_none_or(|note| notes.iter().any(|it| it.contains(note)));
        let is_so =
            batch.num_rows() == rows && has_note && notes.len() == usize::from(counted.is_some());
        assert!(
            is_so,
            "{port} {captured}: {} rows, {notes:?}",
            batch.num_rows()
        );
    }
}

/// The message is that of RFC 2131, 2, with options of RFC 2132, 3.2 and 9.6.
#[test]
fn datagrams_that_were_cut_say_so() {
    let mut request = vec![0; 236];
    request[..4].copy_from_slice(&[1, 1, 6, 0]);
    request.extend([
        0x63, 0x82, 0x53, 0x63, 53, 1, 3, 12, 4, b'h', b'o', b's', b't', 255,
    ]);
    let without_end = &request[..request.len() - 1];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    let headers = 20 + 8;
    let all = request.len();
    let columns = ["dhcp.option.dhcp", "dhcp.option.hostname", "dhcp.fault"];
    for (captured, expected) in [
        (all, ["3", "host", ""]),
        (all - 1, ["3", "host", "bytes were not captured"]),
        (245, ["3", "", "bytes were not captured"]),
        (236, ["", "", "bytes were not captured"]),
        (54, ["", "", "bytes were not captured"]),
        (8, ["", "", "bytes were not captured"]),
    ] {
        cut_to(&[&request], headers + captured, &path);
        let (batch, _) = read_with_notes("dhcp", &[&path], 10);
        assert_eq!(columns.map(|it| column(&batch, it)[0].clone()), expected);
        let (batch, _) = read_with_notes("stream", &[&path], 10);
        let missing = match all - captured {
            0 => String::new(),
            missing => missing.to_string(),
        };
        assert_eq!(column(&batch, "stream.missing"), [missing], "{captured}");
    }
    // These messages were captured in full, and have a fault themselves.
    cut_to(&[without_end, &request[..242]], usize::MAX, &path);
    let (batch, _) = read_with_notes("dhcp", &[&path], 10);
    let faults = [
        "the options have no end",
        "an option is longer than the rest of the message",
    ];
    assert_eq!(column(&batch, "dhcp.fault"), faults);
    let (batch, _) = read_with_notes("stream", &[&path], 10);
    assert_eq!(column(&batch, "stream.missing"), ["", ""]);
    // These have a row as far as they go. They were counted only.
    let mut long_address = request.clone();
    long_address[2] = 20;
    let mut other_operation = request.clone();
    other_operation[0] = 3;
    let messages: [&[u8]; 3] = [&request[..14], &long_address, &other_operation];
    cut_to(&messages, usize::MAX, &path);
    let (batch, notes) = read_with_notes("dhcp", &[&path], 10);
    let found = ["dhcp.flags", "dhcp.ip.client", "dhcp.option.hostname"]
        .map(|it| column(&batch, it).join(" "));
    assert_eq!(found, ["0 0 0", " \0\0\0\0 \0\0\0\0", " host host"]);
    let faults = [
        "the message ends within its fixed part",
        "the hardware address is longer than its field",
        "the operation is neither 1 nor 2",
    ];
    assert_eq!(column(&batch, "dhcp.fault"), faults);
    assert!(notes.is_empty(), "{notes:?}");
}

/// Messages that were cut in front of their Call-ID belong to no call, and nothing said so.
#[test]
fn messages_without_a_call_id_are_counted() {
    let invite = b"INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK1\r\nFrom: <sip:a@x>;tag=1\r\nTo: <sip:b@x>\r\n\
        Call-ID: c\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    for (captured, rows) in [(invite.len(), 1), (60, 0)] {
        let datagrams = [(true, &invite[..])];
        cut_between([5_060, 5_060], &datagrams, 20 + 8 + captured, &path);
        for table in ["calls", "call_packets"] {
            let (batch, notes) = read_with_notes(table, &[&path], 10);
            let is_counted = notes.iter().any(|it| it.contains("have no valid Call-ID"));
            assert_eq!(
                (batch.num_rows(), is_counted),
                (rows, rows == 0),
                "{captured} {table} {notes:?}"
            );
        }
    }
}

/// A message that was cut within a tag began another call, and one without its To a call without a party.
#[test]
fn messages_that_were_cut_within_from_or_to_are_of_no_call() {
    let invite = b"INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bK1\r\nCall-ID: c\r\nCSeq: 1 INVITE\r\n\
        From: <sip:a@x>;tag=12\r\nTo: <sip:b@x>\r\nContent-Length: 0\r\n\r\n";
    let behind = |text: &[u8]| {
        let at = invite.windows(text.len()).position(|it| it == text);
        at.unwrap() + text.len()
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    for (captured, rows) in [
        (invite.len(), 1),
        (behind(b"To: <sip:b@x>\r\n"), 1),
        (behind(b"To: <sip:b@x>"), 0),
        (behind(b"To: <sip"), 0),
        (behind(b"tag=12\r\n"), 0),
        (behind(b"tag=1"), 0),
        (behind(b"1 INVITE\r\n"), 0),
        (behind(b"CSeq: 1 INV"), 0),
    ] {
        let datagrams = [(true, &invite[..])];
        cut_between([5_060, 5_060], &datagrams, 20 + 8 + captured, &path);
        let (batch, notes) = read_with_notes("calls", &[&path], 10);
        let is_counted = notes.iter().any(|it| it.contains("belong to no call"));
        assert_eq!(
            (batch.num_rows(), is_counted),
            (rows, rows == 0),
            "{captured} {notes:?}"
        );
        let host = column(&batch, "call.to.host");
        assert_eq!(host, vec!["x"; rows], "{captured}");
    }
}
