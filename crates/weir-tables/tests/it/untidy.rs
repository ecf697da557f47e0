//! Captures of traffic that is not tidy, with the known facts about each: streams that begin anew, copies, missing
//! beginnings, lost messages. `../shared/data/reports/README.md` lists their origins.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use weir_testkit::Rng;
use weir_testkit::packet::{Chunk, Ipv4, Tcp, protocol, sctp, tcp_flags, udp};

use crate::sip::{column, read_with_notes};
use crate::untidy_segments::streams;
use crate::wire::{self, Connection, Sent};

pub(crate) const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A capture of the reports; `None` without them.
fn report(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data/reports")
        .join(format!("{name}.pcap"));
    if !path.exists() {
        weir_testkit::missing("captures", &path.display().to_string());
        return None;
    }
    Some(path)
}

/// Compares columns of the rows of a table with the expected ones; NULL is empty.
#[track_caller]
fn are(name: &str, table: &str, columns: &[&str], rows: &[&[&str]]) {
    let Some(path) = report(name) else {
        return;
    };
    let (batch, _) = read_with_notes(table, &[&path], 100);
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    let mut found: Vec<Vec<&str>> = (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| &*column[row]).collect())
        .collect();
    found.sort();
    let mut rows: Vec<Vec<&str>> = rows.iter().map(|row| row.to_vec()).collect();
    rows.sort();
    assert_eq!(found, rows, "{table}('{name}')");
}

/// The second and the third packet of such a frame (IEEE 802.11, 9.3.2.2) were missing from the table.
#[test]
fn packets_of_an_aggregate_are_packets() {
    are(
        "a-msdu--amsdu-3",
        "flows",
        &["proto"],
        &[&["tcp"], &["udp"]],
    );
    are(
        "a-msdu--amsdu-3",
        "dns",
        &["dns.qry.name", "frame.number"],
        &[&["a", "1"]],
    );
}

#[test]
fn streams_of_rtp_that_begin_anew_lose_nothing() {
    let columns = ["media.packets", "media.lost", "media.late", "media.gaps"];
    are(
        "rtp-begins-anew--ts-back",
        "media",
        &columns,
        &[&["200", "0", "0", "0"]],
    );
    are(
        "rtp-begins-anew--restart-ahead",
        "media",
        &columns,
        &[&["400", "0", "0", "0"]],
    );
    for name in ["rtp-begins-anew--ts-back", "rtp-begins-anew--restart-ahead"] {
        if let Some(path) = report(name) {
            let (batch, _) = read_with_notes("media", &[&path], 10);
            let mos: f64 = column(&batch, "media.mos")[0].parse().unwrap();
            assert!(mos > 4.3, "{name}: {mos}");
        }
    }
}

#[test]
fn events_are_no_drift_and_copies_no_other_stream() {
    if let Some(path) = report("rtp-events--onekey") {
        let (batch, _) = read_with_notes("media", &[&path], 10);
        let number = |name: &str| column(&batch, name)[0].parse::<f64>().unwrap();
        assert!(number("media.clock_drift").abs() < 50.0);
        assert!(number("media.skew_max").abs() < 5.0);
    }
    let columns = ["media.packets", "media.duplicates", "media.missing"];
    are(
        "rtp-twice--duplicated",
        "media",
        &columns,
        &[&["1000", "500", "0"]],
    );
    let columns = ["media.dtmf", "media.events"];
    are("dtmf--late-end", "media", &columns, &[&["12", "2"]]);
}

#[test]
fn media_are_those_of_their_calls() {
    let columns = ["sip.call_id", "call.lost"];
    are(
        "media-of-calls--port-reused-same-ssrc",
        "calls",
        &columns,
        &[&["first", "0"], &["second", "0"]],
    );
    let columns = ["media.type", "media.codec"];
    are(
        "bundle--bundle",
        "media",
        &columns,
        &[&["audio", "opus"], &["video", "VP8"]],
    );
}

/// There was no word of messages of M3UA with a wrong length, which had no rows, nor of SCCP of an unknown type, nor of what is no TCAP.
#[test]
fn messages_of_m3ua_that_cannot_be_read_are_counted() {
    let of_version = |version: u8, tsn: u32, length: u8, sccp: &[u8]| {
        let octets = 16 + sccp.len() as u8;
        let mut payload = vec![version, 0, 1, 1, 0, 0, 0, length, 2, 16, 0, octets];
        payload.extend(b"\0\0\0\x01\0\0\0\x02\x03\x02\0\0");
        payload.extend(sccp);
        let chunk = Chunk::Data {
            tsn,
            stream: 0,
            sequence: tsn as u16,
            protocol: 3,
            payload,
        };
        let packet = sctp(2_905, 2_905, 1, &[chunk]);
        Ipv4::new(CLIENT, SERVER, protocol::SCTP).packet(&packet)
    };
    let packet = |tsn: u32, length: u8, sccp: &[u8]| of_version(1, tsn, length, sccp);
    let unknown = b"\x77\0\0\0";
    let packets = [
        packet(1, 28, unknown),
        packet(2, 40, unknown),
        packet(3, 0, unknown),
        of_version(2, 4, 28, unknown),
    ];
    let columns = ["m3ua.protocol_data_dpc", "m3ua.fault"];
    let other_length = "the length of the message differs from that of the payload that carries it";
    let expected = [["2", ""], ["2", other_length], ["2", other_length]];
    assert_eq!(columns_of("m3ua", &packets, &columns), expected);
    let note = "1 SCTP messages of M3UA are left out because they could not be decoded";
    let expected = (3, vec![format!("m3ua: {note}")]);
    assert_eq!(rows("m3ua", &packets), expected);
    let other = "3 messages of M3UA carry SCCP that could not be decoded";
    let expected = (0, vec![format!("sccp: {note}"), format!("sccp: {other}")]);
    assert_eq!(rows("sccp", &packets), expected);
    let unitdata = b"\x09\0\x03\x05\x07\x02\x42\x06\x02\x42\x06\x04\xff\xff\xff\xff";
    let note =
        "tcap: 1 messages of SCCP between subsystems of MAP carry no TCAP that could be decoded";
    let expected = (0, vec![note.to_owned()]);
    assert_eq!(rows("tcap", &[packet(1, 40, unitdata)]), expected);
    // A transaction ID of six octets.
    let begin =
        b"\x09\0\x03\x05\x07\x02\x42\x06\x02\x42\x06\x14\x62\x12\x48\x06\x01\x02\x03\x04\x05\x06\
        \x6c\x08\xa1\x06\x02\x01\x01\x02\x01\x02";
    let columns = ["tcap.localvalue", "tcap.fault"];
    let expected = [["2", "a transaction ID of none or more than four octets"]];
    assert_eq!(
        columns_of("tcap", &[packet(1, 56, begin)], &columns),
        expected
    );
}

#[test]
fn options_of_dhcp_are_those_of_all_fields() {
    let columns = ["dhcp.file", "dhcp.option.domain_name"];
    if let Some(path) = report("dhcp-overload--overload") {
        let (batch, _) = read_with_notes("dhcp", &[&path], 10);
        let files = column(&batch, columns[0]);
        assert_eq!(files[..3], ["boot.img", "boot.img", ""]);
        assert_eq!(
            column(&batch, columns[1])[..3],
            ["good.example", "evil.example", "evil.example"]
        );
    }
}

#[test]
fn hellos_are_found_in_small_records_and_from_either_side() {
    let name = "tls.handshake.extensions_server_name";
    are(
        "small-first-record--rec-20",
        "tls",
        &[name],
        &[&["www.site.example"]],
    );
    are(
        "dtls--server-first",
        "tls",
        &["port.src", "port.dst"],
        &[&["4000", "443"]],
    );
}

/// Connections of the same ports, packets of the server before the client's, Retry, several packets in a datagram and
/// hellos in several datagrams (RFC 9000, 5.2, 7.2 and 12.2): each hello has its row.
#[test]
fn connections_of_quic_are_known_by_their_identifiers() {
    let Some(path) = report("quic-ports--quic") else {
        return;
    };
    let (batch, notes) = read_with_notes("tls", &[&path], 100);
    let columns = [
        "port.src",
        "port.dst",
        "tls.handshake.extensions_server_name",
        "tls.server_hello.frame",
        "quic.dcid",
    ];
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    let mut found: Vec<[&str; 4]> = (0..batch.num_rows())
        .map(|row| std::array::from_fn(|at| &*columns[at][row]))
        .collect();
    found.sort_unstable();
    let (video, large) = ("video.site.example", "large.site.example");
    let expected = [
        ["1001", "443", video, "2"],
        ["1002", "443", video, "4"],
        ["1003", "443", video, "6"],
        ["1004", "443", video, "8"],
        ["1005", "443", large, "11"],
        ["1006", "443", large, "14"],
        ["1007", "443", large, "17"],
        ["1008", "443", large, "21"],
        ["1009", "443", video, "25"],
        ["1010", "443", large, "30"],
        ["1011", "443", video, "32"],
        ["1012", "443", video, "34"],
        ["1013", "443", video, "37"],
        ["1014", "443", video, "38"],
        ["1015", "443", video, "41"],
        ["1016", "443", video, "43"],
        ["1017", "443", video, "45"],
        ["1018", "443", "second.site.example", "52"],
        ["1018", "443", video, "47"],
        ["1019", "443", "second.site.example", "56"],
        ["1019", "443", video, "49"],
    ];
    assert_eq!(found[..expected.len()], expected, "{notes:?}");
    assert!(found.contains(&["1020", "443", large, "53"]), "{found:?}");
    assert!(found.len() <= expected.len() + 2, "{found:?}");
}

#[test]
fn responses_are_those_of_their_requests() {
    let columns = ["http.request.uri", "http.response.code"];
    let all: [&[&str]; 5] = [
        &["/r1", "200"],
        &["/r2", "201"],
        &["/r3", "202"],
        &["/r4", "203"],
        &["/r5", "206"],
    ];
    are(
        "http-order-of-directions--third-request-late",
        "http",
        &columns,
        &all,
    );
    are(
        "http-loss-in-body--chunked-one-lost",
        "http",
        &columns,
        &all,
    );
    are(
        "http-body-where-none-is--head-with-body",
        "http",
        &columns,
        &all,
    );
    let lost: [&[&str]; 6] = [
        &["/r1", ""],
        &["/r2", "201"],
        &["/r3", "202"],
        &["/r4", "203"],
        &["/r5", "206"],
        &["/r6", "207"],
    ];
    are(
        "http-lost-response--resp1-lost-slow",
        "http",
        &columns,
        &lost,
    );
    let columns = ["http.request.uri", "http.request.body_len"];
    are(
        "http-early-answer--early-413",
        "http",
        &columns,
        &[&["/big", "3000"], &["/next", "0"]],
    );
}

#[test]
fn messages_are_found_behind_what_precedes_them() {
    let count = |name: &str, table: &str| {
        report(name).map(|path| read_with_notes(table, &[&path], 100).0.num_rows())
    };
    for (name, table, rows) in [
        ("websocket-behind-another-answer--401", "websocket", 2),
        (
            "websocket-behind-another-answer--early-hints",
            "websocket",
            2,
        ),
        ("middle-of-a-connection--diameter-3868-tail", "diameter", 10),
        ("short-first-segment--first3", "sip", 5),
        ("proxy-header--proxy-5070-v1-0", "sip", 3),
    ] {
        if let Some(found) = count(name, table) {
            assert_eq!(found, rows, "{table}('{name}')");
        }
    }
}

/// Returns the number of rows that a table has of these packets, and its notes.
pub(crate) fn rows(table: &str, packets: &[Vec<u8>]) -> (usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(packets, &path);
    let (batch, notes) = read_with_notes(table, &[&path], 100);
    (batch.num_rows(), notes)
}

/// A message of Diameter: a watchdog with its sender's name and realm.
pub(crate) fn watchdog() -> Vec<u8> {
    let mut bytes = vec![
        1, 0, 0, 56, 0x80, 0, 1, 24, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1,
    ];
    bytes.extend(b"\0\0\x01\x08\x40\0\0\x11h.example\0\0\0");
    bytes.extend(b"\0\0\x01\x28\x40\0\0\x0fexample\0");
    bytes
}

/// Segments of a connection that began before the capture.
pub(crate) fn from_the_middle(port: u16, pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut seq = 1_000;
    let segment = |piece: &&[u8]| {
        let tcp = Tcp::new(40_000, port).flags(tcp_flags::ACK).numbers(seq, 1);
        let segment = tcp.segment(CLIENT.into(), SERVER.into(), piece);
        seq += piece.len() as u32;
        Ipv4::new(CLIENT, SERVER, protocol::TCP).packet(&segment)
    };
    pieces.iter().map(segment).collect()
}

/// A capture of a connection that was opened with a handshake; each segment has the sender (true for the client), the
/// number of its first octet, and its acknowledgment number.
pub(crate) fn capture(segments: &[(bool, u32, u32, &[u8])]) -> Vec<Vec<u8>> {
    let ends = [(CLIENT, 40_000), (SERVER, 8_000)];
    let mut packets = Vec::new();
    Connection::open(ends[0], ends[1], &mut packets);
    packets.extend(segments.iter().map(|(from_client, seq, ack, bytes)| {
        let [from, to] = if *from_client {
            ends
        } else {
            [ends[1], ends[0]]
        };
        let tcp = Tcp::new(from.1, to.1)
            .flags(tcp_flags::ACK)
            .numbers(1 + seq, 1 + ack);
        let segment = tcp.segment(from.0.into(), to.0.into(), bytes);
        Ipv4::new(from.0, to.0, protocol::TCP).packet(&segment)
    }));
    packets
}

/// Columns of the rows of a table, in their order.
pub(crate) fn columns_of(table: &str, packets: &[Vec<u8>], columns: &[&str]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(packets, &path);
    let (batch, _) = read_with_notes(table, &[&path], 100);
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect()
}

#[test]
fn a_message_behind_a_hole_has_the_packet_that_carried_it() {
    let columns = ["frame.number", "sip.method"];
    if let Some(path) = report("message-behind-a-hole--call-one-lost-before") {
        let (batch, _) = read_with_notes("sip", &[&path], 100);
        let found: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
        let invite = found[1]
            .iter()
            .position(|method| method == "INVITE")
            .unwrap();
        assert_eq!(found[0][invite], "5");
        let frames: Vec<u64> = found[0].iter().map(|it| it.parse().unwrap()).collect();
        assert!(frames.is_sorted(), "{frames:?}");
    }
    let query = |id: u8| {
        [
            b"\0\x17\0",
            &[id][..],
            b"\x01\0\0\x01\0\0\0\0\0\0\x01",
            &[b'a' + id],
            b"\x03net\0\0\x01\0\x01",
        ]
        .concat()
    };
    let answer = |id: u8| {
        let mut bytes = query(id);
        bytes[4] = 0x81;
        bytes
    };
    let (first, second) = (query(1), query(2));
    let len = first.len() as u32;
    let (to_first, to_second) = (answer(1), answer(2));
    // The packet of the first question comes last, or not at all.
    let mut packets = capture(&[
        (true, len, 0, &second),
        (false, 0, 2 * len, &to_second),
        (false, len, 2 * len, &to_first),
        (true, 0, 0, &first),
    ]);
    let columns = [
        "frame.number",
        "dns.qry.name",
        "dns.flags.response",
        "dns.time",
    ];
    let found = columns_of("dns", &packets, &columns);
    let row = |frame: &str, name: &str, response: &str, time: &str| {
        [frame, name, response, time].map(str::to_owned).to_vec()
    };
    let late = row("7", "b.net", "false", "");
    let question = row("4", "c.net", "false", "");
    let answered = row("5", "c.net", "true", "0.001");
    assert_eq!(found[..3], [late, question.clone(), answered.clone()]);
    packets.pop();
    let found = columns_of("dns", &packets, &columns);
    let other = row("6", "b.net", "true", "");
    assert_eq!(found, [question, answered, other]);
}

#[test]
fn a_connection_from_the_middle_is_looked_at_again_and_one_without_messages_is_counted() {
    let message = watchdog();
    for port in [3_868, 5_999] {
        let mut pieces: Vec<&[u8]> = vec![b"the rest of one"; 10];
        pieces.extend([&message[..]; 3]);
        let (found, notes) = rows("diameter", &from_the_middle(port, &pieces));
        assert_eq!((found, notes), (3, Vec::new()), "{port}");
    }
    let rubbish: Vec<&[u8]> = vec![b"nothing of it"; 100];
    let (found, notes) = rows("diameter", &from_the_middle(3_868, &rubbish));
    assert_eq!(found, 0);
    assert_eq!(
        notes,
        [
            "diameter: 1 TCP connections on the protocol's ports carried no message that could be decoded"
        ]
    );
    // Between other ports no message is expected.
    let (found, notes) = rows("diameter", &from_the_middle(5_999, &rubbish));
    assert_eq!((found, notes), (0, Vec::new()));
}

/// Datagrams on the ports of a protocol that are no messages of it, and SCCP over other protocols than M3UA, were left out
/// without a word.
#[test]
fn what_the_ports_of_a_protocol_carry_is_a_message_or_counted() {
    let between = |port: u16, bytes: &[u8]| {
        let datagram = udp(CLIENT.into(), SERVER.into(), 40_000, port, bytes);
        Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram)
    };
    let ports = [
        ("lookups", 53),
        ("dhcp", 67),
        ("ntp", 123),
        ("snmp", 161),
        ("radius", 1_812),
        ("mgcp", 2_427),
    ];
    for (table, port) in ports {
        let other = b"\xffnothing";
        let packets = [
            between(port, other),
            between(port, b""),
            between(5_999, other),
        ];
        let note = "1 datagrams on the protocol's ports are left out because they are not messages that could be decoded";
        let expected = (0, vec![format!("{table}: {note}")]);
        assert_eq!(rows(table, &packets), expected);
    }
    let packets = [
        between(2_944, b"nothing"),
        between(2_944, b"\r\n"),
        between(5_999, b"nothing"),
    ];
    let note = "h248: 1 datagrams and SCTP messages of Megaco are left out because they begin as no message does";
    assert_eq!(rows("h248", &packets), (0, vec![note.to_owned()]));
    let cookie = b"\0\x01\0\0\x21\x12\xa4\x42abcdefghijkl";
    let all: [&[u8]; 5] = [
        b"\xf8compressed",
        b"\r\n\r\n",
        b"\0\0\0\0\0\0",
        b"jaK\0",
        cookie,
    ];
    let packets = all.map(|bytes| between(5_060, bytes));
    let note = "sip: 1 datagrams on port 5060 are left out because they do not begin as a SIP message does, as those of SigComp";
    assert_eq!(rows("sip", &packets), (0, vec![note.to_owned()]));
    // A link status message of M2PA (RFC 4165, 2.3.2).
    let mut data = vec![0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 5];
    data.extend(b"\x01\0\x0b\x02\0\0\0\x14\0\xff\xff\xff\0\xff\xff\xff\0\0\0\x04");
    let packet = sctp(3_565, 3_565, 1, &[Chunk::Other(0, 3, data)]);
    let packets = [Ipv4::new(CLIENT, SERVER, protocol::SCTP).packet(&packet)];
    for table in ["sccp", "tcap"] {
        let note = "1 SCTP messages of M2UA, SUA and M2PA, which may carry others, are not read";
        let expected = (0, vec![format!("{table}: {note}")]);
        assert_eq!(rows(table, &packets), expected);
    }
}

/// Datagrams that begin as a message of SIP, and whose first line cannot be decoded, were left out without a word.
#[test]
fn messages_of_sip_whose_first_line_cannot_be_decoded_are_counted() {
    let between = |bytes: &[u8]| {
        let datagram = udp(CLIENT.into(), SERVER.into(), 5_060, 5_060, bytes);
        Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram)
    };
    let packets = [
        // A version without its second number.
        between(b"SIP/2 200 OK\r\nCall-ID: a\r\n\r\n"),
        // All lines end with CR alone.
        between(b"INVITE sip:b@x SIP/2.0\rCall-ID: a\r\r"),
        between(b"SIP/2.0 200 OK\r\nCall-ID: a\r\n\r\n"),
    ];
    let note = "sip: 2 messages are left out because their first line could not be decoded";
    assert_eq!(rows("sip", &packets), (1, vec![note.to_owned()]));
}

/// Reports of calls with SRTP were left out without a word.
#[test]
fn encrypted_reports_are_counted() {
    let between = |ports: [u16; 2], bytes: &[u8]| {
        let datagram = udp(CLIENT.into(), SERVER.into(), ports[0], ports[1], bytes);
        Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram)
    };
    let body = format!("v=0\r\nc=IN IP4 {SERVER}\r\nm=audio 5000 RTP/SAVP 0\r\n");
    let invite = format!(
        "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
         To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // A sender report whose octets behind the sender are encrypted, with the index and the tag (RFC 3711, 3.4).
    let report = [&b"\x80\xc8\0\x06\0\0\0\x01"[..], &[0x5a; 34]].concat();
    let packets = [
        between([5_060, 5_060], invite.as_bytes()),
        between([4_001, 5_001], &report),
        // These sockets were not announced.
        between([4_001, 6_001], &report),
    ];
    let note = "rtcp: 1 RTCP datagrams between sockets of media are left out because they are encrypted (SRTCP) or damaged";
    assert_eq!(rows("rtcp", &packets), (0, vec![note.to_owned()]));
}

/// RFC 4571: packets of RTP over TCP were left out.
#[test]
fn media_over_tcp_are_read() {
    let invite = |profile: &str| {
        let body = format!("v=0\r\nc=IN IP4 {SERVER}\r\nm=audio 5000 {profile} 0\r\n");
        let invite = format!(
            "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
             To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let ends = (CLIENT.into(), SERVER.into());
        let datagram = udp(ends.0, ends.1, 5_060, 5_060, invite.as_bytes());
        Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram)
    };
    let framed = |bytes: &[u8]| [&[0, bytes.len() as u8][..], bytes].concat();
    let media: Vec<u8> = (1..6).flat_map(|number| framed(&rtp(number))).collect();
    let check = framed(b"\0\x01\0\0\x21\x12\xa4\x42transaction.");
    let connection = |mut packets: Vec<Vec<u8>>, sent: &[u8], most| {
        let ends = [(CLIENT, 40_000), (SERVER, 5_000)];
        let mut connection = Connection::open(ends[0], ends[1], &mut packets);
        // ICE over TCP is recognised by its first message.
        let first = sent.len().min(22);
        connection.send_one(true, &sent[..first], &mut packets);
        connection.send(true, &sent[first..], most, &mut Rng::new(7), &mut packets);
        packets
    };
    let columns = ["rtp.seq", "proto", "sip.call_id"];
    for most in [1, 30, 1_000] {
        let packets = connection(vec![invite("TCP/RTP/AVP")], &media, most);
        let found = columns_of("rtp", &packets, &columns);
        let expected: Vec<[String; 3]> = (1..6)
            .map(|number| [number.to_string(), "tcp".to_owned(), "a".to_owned()])
            .collect();
        assert_eq!(found, expected, "{most}");
        let packets = connection(Vec::new(), &[&check[..], &media].concat(), most);
        assert_eq!(rows("rtp", &packets), (5, Vec::new()), "{most}");
        // Without a description, octets behind lengths may be anything.
        let packets = connection(Vec::new(), &media, most);
        assert_eq!(rows("rtp", &packets), (0, Vec::new()), "{most}");
    }
    let note = "media: 1 media in descriptions are over TLS (RFC 8122), and are read only with its secrets";
    let sealed = [invite("TCP/TLS/RTP/SAVP")];
    assert_eq!(rows("media", &sealed), (0, vec![note.to_owned()]));
}

/// A packet of RTP with this number.
fn rtp(number: u8) -> Vec<u8> {
    let header = [
        0x80, 0, 0, number, 0, 0, 0, number, 0, 0, 0, 7, 0xd5, 0xd5, 0xd5,
    ];
    header.to_vec()
}

/// Media that a client and a server of TURN send each other for a peer were left out, over TCP without a word.
#[test]
fn media_of_a_relay_are_read() {
    let channel = |number| [&b"\x40\x01\0\x0f"[..], &rtp(number)].concat();
    let padded = |number| [&channel(number)[..], &[0]].concat();
    let indication = |number| {
        let header = b"\0\x16\0\x14\x21\x12\xa4\x42transaction.\0\x13\0\x0f";
        [&header[..], &rtp(number), &[0]].concat()
    };
    let messages = [
        indication(1),
        channel(2),
        padded(3),
        padded(4),
        indication(5),
    ];
    let datagrams = messages.each_ref().map(|bytes| {
        let datagram = udp(CLIENT.into(), SERVER.into(), 40_000, 3_478, bytes);
        Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram)
    });
    assert_eq!(rows("rtp", &datagrams), (5, Vec::new()));
    // Over TCP all data are padded (RFC 8656, 12.5).
    let sent = [
        indication(1),
        padded(2),
        padded(3),
        padded(4),
        indication(5),
    ]
    .concat();
    for most in [1, 30, 1_000] {
        let mut packets = Vec::new();
        let mut connection = Connection::open((CLIENT, 40_000), (SERVER, 3_478), &mut packets);
        connection.send_one(true, &sent[..8], &mut packets);
        connection.send(true, &sent[8..], most, &mut Rng::new(7), &mut packets);
        let columns = ["rtp.seq", "proto", "port.dst", "rtp.payload_len"];
        let expected: Vec<Vec<String>> = (1..=5)
            .map(|number| {
                [&*number.to_string(), "tcp", "3478", "3"]
                    .map(str::to_owned)
                    .to_vec()
            })
            .collect();
        assert_eq!(columns_of("rtp", &packets, &columns), expected, "{most}");
        assert_eq!(rows("media", &packets), (1, Vec::new()), "{most}");
    }
}

/// Requests of HTTP/2 have rows without the connection's beginning, and of HTTP/1 behind the rest of a long body. A
/// connection between ports of HTTP that has none was left out without a word.
#[test]
fn http_is_read_from_the_middle_or_counted() {
    let frames =
        b"\0\0\x08\0\x01\0\0\0\x05the rest\0\0\x07\x01\x05\0\0\0\x07\x82\x86\x04\x02/b\xc0";
    let packets = from_the_middle(6_000, &[b"the rest", frames]);
    let columns = ["http.request.method", "http.request.uri", "http.fault"];
    let expected = [["GET", "/b", "bytes were not captured"]];
    assert_eq!(columns_of("http", &packets, &columns), expected);
    let body = [1; 1_000];
    let mut pieces = vec![&body[..]; 100];
    let (found, notes) = rows("http", &from_the_middle(8_080, &pieces));
    let note =
        "http: 1 TCP connections on the protocol's ports carried no message that could be decoded";
    assert_eq!((found, notes), (0, vec![note.to_owned()]));
    let (found, notes) = rows("http", &from_the_middle(5_999, &pieces));
    assert_eq!((found, notes), (0, Vec::new()));
    pieces.push(b"GET /late HTTP/1.1\r\nHost: h\r\n\r\n");
    let (found, notes) = rows("http", &from_the_middle(8_080, &pieces));
    assert_eq!((found, notes), (1, Vec::new()));
    // The request is in one segment with the rest of the body.
    let rest = b"the end=1GET /behind HTTP/1.1\r\nHost: h\r\n\r\n";
    let packets = from_the_middle(8_080, &[rest]);
    let columns = ["http.request.method", "http.request.uri"];
    assert_eq!(columns_of("http", &packets, &columns), [["GET", "/behind"]]);
}

/// Segments of a client behind the handshake of its connection, without the first `lost` octets.
pub(crate) fn without_the_first(port: u16, lost: usize, bytes: &[u8], size: usize) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    Connection::open((CLIENT, 40_000), (SERVER, port), &mut packets);
    let mut seq = 1 + lost as u32;
    for piece in bytes[lost..].chunks(size) {
        let tcp = Tcp::new(40_000, port).flags(tcp_flags::ACK).numbers(seq, 1);
        let segment = tcp.segment(CLIENT.into(), SERVER.into(), piece);
        seq += piece.len() as u32;
        packets.push(Ipv4::new(CLIENT, SERVER, protocol::TCP).packet(&segment));
    }
    packets
}

/// The handshake was captured, and the first segment behind it was lost.
#[test]
fn a_connection_whose_first_segment_was_lost_is_looked_at_again() {
    let messages = watchdog().repeat(10);
    for port in [3_868, 5_999] {
        let (found, _) = rows("diameter", &without_the_first(port, 28, &messages, 28));
        assert_eq!(found, 9, "{port}");
    }
    let (found, _) = rows("diameter", &without_the_first(3_868, 41, &messages, 100));
    assert_eq!(found, 9);
}

/// Octets of the client that were read before the server's first message showed what the connection carries were taken for the beginning
/// of a message, though those before them are missing, and all behind them were its rest.
#[test]
fn a_direction_without_its_first_octets_is_searched_where_the_other_one_shows_the_protocol() {
    let message = |name: u8, is_answer: bool| {
        let flags: &[u8] = if is_answer { &[0x81, 0x80] } else { &[1, 0] };
        let question = [b'\x01', name, 4, b't', b'e', b's', b't', 0, 0, 1, 0, 1];
        let message = [&[0, name][..], flags, &[0, 1, 0, 0, 0, 0, 0, 0], &question].concat();
        [&[0, message.len() as u8][..], &message].concat()
    };
    let octets = message(b'a', false).len() as u32;
    let [first, answer, second, last] = [(b'a', false), (b'a', true), (b'b', false), (b'b', true)]
        .map(|(name, is_answer)| message(name, is_answer));
    let segments = [
        (true, 8, 0, &first[8..23]),
        (true, 23, 0, &first[23..]),
        (false, 0, octets, &answer[..]),
        (true, octets, octets, &second[..]),
        (false, octets, 2 * octets, &last[..]),
    ];
    let found = columns_of(
        "dns",
        &capture(&segments),
        &["dns.qry.name", "dns.flags.response"],
    );
    let expected = [["a.test", "true"], ["b.test", "false"], ["b.test", "true"]];
    assert_eq!(found, expected);
}

/// The first message behind octets of NUL in the same segment was left out on ports other than 5060, without a word.
#[test]
fn a_message_of_sip_behind_a_keep_alive_in_its_segment_is_read() {
    let message = b"OPTIONS sip:b@h SIP/2.0\r\nCall-ID: one\r\nContent-Length: 0\r\n\r\n";
    for before in [&b"\0\0\0\0"[..], b"\r\n\0", b"\0", b"\r\n\r\n", b""] {
        let bytes = [before, message].concat();
        for port in [5_060, 6_000] {
            let (found, _) = rows("sip", &without_the_first(port, 0, &bytes, 1_000));
            assert_eq!(found, 1, "{} on {port}", before.escape_ascii());
        }
    }
}

/// Both hellos of such a connection are missing, of which there was no word.
#[test]
fn a_connection_of_tls_whose_hellos_were_lost_is_counted() {
    let records = b"\x14\x03\x03\0\x01\x01\x17\x03\x03\0\x04data";
    let note = "tls: 1 handshakes have no row because neither hello was captured completely";
    let bytes = [&[0; 300][..], records].concat();
    for port in [443, 6_000] {
        let (found, notes) = rows("tls", &without_the_first(port, 300, &bytes, 100));
        assert_eq!((found, notes), (0, vec![note.to_owned()]), "{port}");
    }
    // Other octets behind a gap are none of TLS.
    let bytes = [&[0; 300][..], b"+OK nothing of TLS"].concat();
    let (found, notes) = rows("tls", &without_the_first(110, 300, &bytes, 100));
    assert_eq!((found, notes), (0, Vec::new()));
}

/// Between ports of the protocol a request for a tunnel was taken for its first octets: there was nothing of what follows.
#[test]
fn a_proxy_on_the_port_of_the_protocol_leads_to_its_server() {
    let options = b"OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
        To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let megaco = b"\x03\0\0\x44MEGACO/1 [192.0.2.1]:2944\nTransaction=1{Context=1{Subtract=A/1}}";
    let [dns, _, _, radius, stun] = streams();
    let connect: &[u8] = b"CONNECT h:53 HTTP/1.1\r\nHost: h:53\r\n\r\n";
    let socks_5: [Sent<'_>; 4] = [
        (true, b"\x05\x01\0"),
        (false, b"\x05\0"),
        (true, b"\x05\x01\0\x01\xc0\0\x02\x02\x0b\x80"),
        (false, b"\x05\0\0\x01\xc0\0\x02\x02\x0b\x80"),
    ];
    let socks_4: [Sent<'_>; 2] = [
        (true, b"\x04\x01\0\x35\xc0\0\x02\x02user\0"),
        (false, b"\0\x5a\0\x35\xc0\0\x02\x02"),
    ];
    let tunnels: [&[Sent<'_>]; 3] = [
        &[(true, connect), (false, b"HTTP/1.1 200 OK\r\n\r\n")],
        &socks_5,
        &socks_4,
    ];
    let watchdog = watchdog();
    let messages: [(&str, u16, &[u8]); 6] = [
        ("dns", 53, &dns.2[0]),
        ("radius", 2_083, &radius.2[0]),
        ("stun", 3_478, &stun.2[0]),
        ("diameter", 3_868, &watchdog),
        ("h248", 2_944, megaco),
        ("sip", 5_060, options),
    ];
    for (table, port, message) in messages {
        for (number, tunnel) in tunnels.iter().enumerate() {
            let mut packets = Vec::new();
            let ends = [(CLIENT, 40_000), (SERVER, port)];
            let mut connection = Connection::open(ends[0], ends[1], &mut packets);
            for (from_client, bytes) in *tunnel {
                connection.send_one(*from_client, bytes, &mut packets);
            }
            connection.send_one(true, message, &mut packets);
            let last = packets.len().to_string();
            let found = columns_of(table, &packets, &["frame.number"]);
            assert_eq!(found, [[last.as_str()]], "{table} {number}");
        }
    }
}

/// MQTT 5.0, 6: packets may be divided among WebSocket messages in any way. There were no rows of them.
#[test]
fn packets_of_mqtt_in_websocket_messages_are_read() {
    let upgrade = b"GET /mqtt HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n";
    let switch = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n";
    let masked = |bytes: &[u8]| [&[0x82, 0x80 | bytes.len() as u8, 0, 0, 0, 0][..], bytes].concat();
    let connect = b"\x10\x10\0\x04MQTT\x04\x02\0\x3c\0\x04gate";
    let mut packets = Vec::new();
    let ends = [(CLIENT, 40_000), (SERVER, 8_083)];
    let mut connection = Connection::open(ends[0], ends[1], &mut packets);
    connection.send_one(true, upgrade, &mut packets);
    connection.send_one(false, switch, &mut packets);
    connection.send_one(true, &masked(&connect[..10]), &mut packets);
    let rest = [&connect[10..], b"\xc0\0"].concat();
    connection.send_one(true, &masked(&rest), &mut packets);
    connection.send_one(false, b"\x82\x04\x20\x02\0\0", &mut packets);
    // A message that is no packet, such as one of text.
    connection.send_one(false, b"\x81\x02hi", &mut packets);
    let columns = ["frame.number", "port.src", "mqtt.msgtype"];
    let expected = [
        ["7", "40000", "1"],
        ["7", "40000", "12"],
        ["8", "8083", "2"],
    ];
    assert_eq!(columns_of("mqtt", &packets, &columns), expected);
    let (_, notes) = rows("mqtt", &packets);
    assert_eq!(notes, Vec::<String>::new());
}

/// Pages of any usual size come before the request that upgrades their connection.
#[test]
fn a_websocket_behind_long_pages_is_read() {
    let get = b"GET /page HTTP/1.1\r\nHost: h\r\n\r\n";
    let page = [
        b"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n".to_vec(),
        vec![b'x'; 90_000],
    ]
    .concat();
    let upgrade =
        b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let switch = b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";
    let mut random = Rng::new(2);
    for pages in [1, 3, 9] {
        let mut packets = Vec::new();
        let ends = [(CLIENT, 40_000), (SERVER, 8_000)];
        let mut connection = Connection::open(ends[0], ends[1], &mut packets);
        for _ in 0..pages {
            connection.send_one(true, get, &mut packets);
            connection.send(false, &page, 1_400, &mut random, &mut packets);
        }
        connection.send_one(true, upgrade, &mut packets);
        connection.send_one(false, switch, &mut packets);
        connection.send_one(false, b"\x81\x02hi", &mut packets);
        let (found, notes) = rows("websocket", &packets);
        assert_eq!((found, notes), (1, Vec::new()), "{pages} pages");
    }
}

/// When the rest of a fragmented message never comes, its beginning is read, at the end of the capture, too.
#[test]
fn first_fragments_are_messages_at_the_end_of_the_capture() {
    let question = |id: u8| {
        let mut bytes = vec![0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a' + id];
        bytes.extend(b"\x03net\0\0\x01\0\x01");
        bytes.extend([b'Z'; 300]);
        let datagram = udp(CLIENT.into(), SERVER.into(), 40_000, 53, &bytes);
        let ip = Ipv4::new(CLIENT, SERVER, protocol::UDP).identification(id.into());
        ip.fragments(&datagram, 124).swap_remove(0)
    };
    // The first one comes twice, and belongs to where it was first.
    let packets: Vec<Vec<u8>> = [0, 1, 2, 0].map(question).into();
    let columns = ["frame.number", "dns.qry.name"];
    let found = columns_of("dns", &packets, &columns);
    assert_eq!(found, [["1", "a.net"], ["2", "b.net"], ["3", "c.net"]]);
}

/// Headers of the PROXY protocol (2.1 and 2.2), in segments of any size, precede the octets of a client.
#[test]
fn headers_of_the_proxy_protocol_are_taken_off_before_every_protocol() {
    let mut binary = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    binary.extend([192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x34, 0x56, 0x78]);
    let text = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n".to_vec();
    let sip = b"OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
        To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let connect = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";
    let message = watchdog();
    let protocols: [(&str, &[u8]); 4] = [
        ("http", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        ("sip", sip),
        ("diameter", &message),
        ("mqtt", connect),
    ];
    let mut random = Rng::new(1);
    for header in [binary, text, b"PROXY UNKNOWN\r\n".to_vec()] {
        for (table, client) in protocols {
            for most in [1, 20, 10_000] {
                let mut packets = Vec::new();
                let ends = [(CLIENT, 40_000), (SERVER, 6_000)];
                let mut connection = Connection::open(ends[0], ends[1], &mut packets);
                connection.send(true, &header, most, &mut random, &mut packets);
                connection.send(true, client, 1 << 40, &mut random, &mut packets);
                let (found, notes) = rows(table, &packets);
                assert_eq!((found, notes), (1, Vec::new()), "{table} by {most}");
            }
        }
    }
}
