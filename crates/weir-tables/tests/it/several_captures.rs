//! Rows that are pushed when a later one of several captures is read: each has the file of its own record.

use std::path::{Path, PathBuf};

use weir_testkit::packet::{Ipv4, protocol, tcp_flags, udp};

use crate::early::{answer, question};
use crate::sip::{column, read_with_notes};
use crate::untidy_connections::{CLIENT, SERVER, segment};
use crate::wire::{self, Connection, HostPort};

fn datagram(from: HostPort, to: HostPort, bytes: &[u8]) -> Vec<u8> {
    let datagram = udp(from.0.into(), to.0.into(), from.1, to.1, bytes);
    Ipv4::new(from.0, to.0, protocol::UDP).packet(&datagram)
}

/// A datagram of no protocol that has a table.
fn other() -> Vec<u8> {
    datagram((CLIENT.0, 4_000), (SERVER.0, 4_001), b"hello there")
}

/// Columns of the rows that a table has of captures, each behind the name of the file of its row. The first capture has one datagram
/// of no protocol, so that none of the others is the first one.
fn rows(table: &str, captures: &[Vec<Vec<u8>>], columns: &[&str]) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let first = vec![other()];
    let mut paths: Vec<PathBuf> = Vec::new();
    for (number, packets) in std::iter::once(&first).chain(captures).enumerate() {
        let path = folder.path().join(format!("{number}.pcap"));
        wire::write(packets, &path);
        paths.push(path);
    }
    let sources: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
    let (batch, _) = read_with_notes(table, &sources, 100);
    let mut values = vec![column(&batch, "frame.file")];
    values.extend(columns.iter().map(|it| column(&batch, it)));
    let prefix = format!("{}/", folder.path().display());
    let value = |column: &Vec<String>, row: usize| column[row].replace(&prefix, "");
    (0..batch.num_rows())
        .map(|row| values.iter().map(|column| value(column, row)).collect())
        .collect()
}

/// The first question was answered in the next capture, and the second one was not.
#[test]
fn questions_are_in_their_own_capture() {
    let server = (SERVER.0, 53);
    let captures = [
        [1, 2]
            .map(|id| datagram(CLIENT, server, &question(id)))
            .to_vec(),
        vec![other(), datagram(server, CLIENT, &answer(1))],
    ];
    let columns = [
        "frame.number",
        "lookup.question_frame",
        "lookup.answer_frame",
    ];
    let expected = [["1.pcap", "1", "1", "2"], ["1.pcap", "2", "2", ""]];
    assert_eq!(rows("lookups", &captures, &columns), expected);
    let columns = ["frame.number", "dns.response_to"];
    let expected = [
        ["1.pcap", "1", ""],
        ["1.pcap", "2", ""],
        ["2.pcap", "2", "1"],
    ];
    assert_eq!(rows("dns", &captures, &columns), expected);
}

/// Of a packet in fragments only the first one was captured: it is read at the end.
#[test]
fn a_first_fragment_alone_is_in_its_own_capture() {
    let datagram = udp(CLIENT.0.into(), SERVER.0.into(), CLIENT.1, 53, &question(1));
    let first = Ipv4::new(CLIENT.0, SERVER.0, protocol::UDP).fragment(0, true);
    let captures = [vec![first.packet(&datagram[..24])], vec![other()]];
    let expected = [["1.pcap", "1"]];
    assert_eq!(rows("dns", &captures, &["frame.number"]), expected);
}

/// The first request was answered in the next capture, and the second one was not: the end of the captures completed its exchange.
#[test]
fn exchanges_are_in_the_capture_of_their_last_message() {
    let request = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    let mut packets = Vec::new();
    let mut answered = Connection::open(CLIENT, SERVER, &mut packets);
    answered.send_one(true, request, &mut packets);
    let mut open = Connection::open((CLIENT.0, 40_001), SERVER, &mut packets);
    open.send_one(true, request, &mut packets);
    let mut next = Vec::new();
    answered.send_one(false, b"HTTP/1.1 204 No\r\n\r\n", &mut next);
    let columns = ["frame.number", "http.request.frame", "http.response.frame"];
    let expected = [["2.pcap", "1", "4", "1"], ["1.pcap", "", "8", ""]];
    assert_eq!(rows("http", &[packets, next], &columns), expected);
}

/// A handshake of DTLS and one of TLS, of which the client's hello was captured.
#[test]
fn hellos_are_in_their_own_capture() {
    let hello = |version: [u8; 2], cookie: &[u8]| {
        let mut hello = version.to_vec();
        hello.extend([0; 33]);
        hello.extend(cookie);
        hello.extend(b"\0\x02\x13\x01\x01\0");
        hello
    };
    let stream = hello([3, 3], b"");
    let octets = stream.len() as u8;
    let mut record = vec![22, 3, 1, 0, octets + 4, 1, 0, 0, octets];
    record.extend(stream);
    let sealed = hello([0xfe, 0xfd], b"\0");
    let octets = sealed.len() as u8;
    let mut of_datagram = vec![22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, octets + 12];
    of_datagram.extend([1, 0, 0, octets, 0, 0, 0, 0, 0, 0, 0, octets]);
    of_datagram.extend(sealed);
    let mut packets = vec![datagram((CLIENT.0, 7_000), (SERVER.0, 7_001), &of_datagram)];
    let mut connection = Connection::open(CLIENT, (SERVER.0, 443), &mut packets);
    connection.send_one(true, &record, &mut packets);
    let columns = ["tls.carrier", "frame.number", "tls.client_hello.frame"];
    let mut found = rows("tls", &[packets, vec![other()]], &columns);
    found.sort();
    let expected = [["1.pcap", "dtls", "1", "1"], ["1.pcap", "tls", "", "5"]];
    assert_eq!(found, expected);
}

/// What follows octets that were not captured waits for them until the end.
#[test]
fn octets_behind_a_gap_are_in_their_own_capture() {
    let message = "OPTIONS sip:b@x SIP/2.0\r\nVia: SIP/2.0/TCP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
                   To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n";
    let server = (SERVER.0, 5_060);
    let mut packets = Vec::new();
    Connection::open(CLIENT, server, &mut packets);
    let behind = segment(CLIENT, server, [101, 1], tcp_flags::ACK, message.as_bytes());
    packets.push(behind);
    let captures = [packets, vec![other()]];
    let expected = [["1.pcap", "4"]];
    assert_eq!(rows("sip", &captures, &["frame.number"]), expected);
    let columns = ["frame.number", "stream.missing"];
    let expected = [
        ["0.pcap", "1", ""],
        ["2.pcap", "1", ""],
        ["1.pcap", "4", "100"],
        ["1.pcap", "4", ""],
    ];
    assert_eq!(rows("stream", &captures, &columns), expected);
}

/// The message of a WebSocket connection waits for octets before it.
#[test]
fn messages_of_a_websocket_are_in_their_own_capture() {
    let upgrade = b"GET /c HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    let switch = b"HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    let mut packets = Vec::new();
    let mut connection = Connection::open(CLIENT, SERVER, &mut packets);
    connection.send_one(true, upgrade, &mut packets);
    connection.send_one(false, switch, &mut packets);
    let numbers = [upgrade.len() + 51, switch.len() + 1].map(|octets| octets as u32);
    let message = b"\x81\x83\0\0\0\0one";
    packets.push(segment(CLIENT, SERVER, numbers, tcp_flags::ACK, message));
    let expected = [["1.pcap", "6"]];
    let found = rows("websocket", &[packets, vec![other()]], &["frame.number"]);
    assert_eq!(found, expected);
}

/// The description of media came in the next capture.
#[test]
fn packets_of_media_are_in_their_own_capture() {
    let (from, to) = ((CLIENT.0, 4_000), (SERVER.0, 5_000));
    let rtp = |number: u8| {
        let packet = [0x80, 0, 0, number, 0, 0, number, 0, 0, 0, 0, 7, 0xd5];
        datagram(from, to, &packet)
    };
    let body = format!("v=0\r\nc=IN IP4 {}\r\nm=audio {} RTP/AVP 0\r\n", to.0, to.1);
    let invite = format!(
        "INVITE sip:b@x SIP/2.0\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKa\r\nFrom: <sip:a@x>;tag=a\r\n\
         To: <sip:b@x>\r\nCall-ID: a\r\nCSeq: 1 INVITE\r\nContent-Type: application/sdp\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let invite = datagram((SERVER.0, 5_060), (CLIENT.0, 5_060), invite.as_bytes());
    let captures = [vec![rtp(0), rtp(1)], vec![invite, rtp(2)]];
    let columns = ["frame.number", "rtp.seq", "rtp.setup_frame"];
    let expected = [
        ["1.pcap", "1", "0", "1"],
        ["1.pcap", "2", "1", "1"],
        ["2.pcap", "2", "2", "1"],
    ];
    assert_eq!(rows("rtp", &captures, &columns), expected);
}
