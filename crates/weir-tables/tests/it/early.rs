//! Answers in `lookups` that were captured a moment before their questions, as happens when the packets of two taps are
//! merged late.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;

use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, protocol, udp};

use crate::sip::{column, read_with_notes};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A datagram of the client (true) or of the server, after its time of capture in milliseconds.
type Datagram<'d> = (u64, bool, &'d [u8]);

fn write(path: &Path, port: u16, datagrams: &[Datagram<'_>]) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut writer = PcapWriter::new(file, 101, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    for (time_ms, is_client, datagram) in datagrams {
        let [from, to] = match is_client {
            true => [(CLIENT, 40_000), (SERVER, port)],
            false => [(SERVER, port), (CLIENT, 40_000)],
        };
        let segment = udp(from.0.into(), to.0.into(), from.1, to.1, datagram);
        let packet = Ipv4::new(from.0, to.0, protocol::UDP).packet(&segment);
        let time_ns = 1_700_000_000_000_000_000 + time_ms * 1_000_000;
        writer
            .packet(time_ns, packet.len() as u32, &packet)
            .unwrap();
    }
    writer.into_inner().flush().unwrap();
}

/// The values of columns of the rows of a table, by rows; NULL is empty.
fn rows_of(
    table: &str,
    port: u16,
    columns: &[&str],
    datagrams: &[Datagram<'_>],
) -> Vec<Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    write(&path, port, datagrams);
    let (batch, notes) = read_with_notes(table, &[&path], 10_000);
    assert!(notes.is_empty(), "{table}: {notes:?}");
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column[row].clone()).collect())
        .collect()
}

/// A question for a name, which an answer with this identifier repeats.
pub(crate) fn question(id: u8) -> Vec<u8> {
    let mut bytes = vec![0, id, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, b'a'];
    bytes.extend(b"\x07example\0\0\x01\0\x01");
    bytes
}

/// The answer to [`question`].
pub(crate) fn answer(id: u8) -> Vec<u8> {
    let mut bytes = question(id);
    (bytes[2], bytes[7]) = (0x81, 1);
    bytes.extend(b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\xc0\0\x02\x01");
    bytes
}

#[test]
fn a_lookup_whose_answer_came_first_was_two() {
    let columns = ["lookup.question_frame", "lookup.answer_frame", "lookup.rtt"];
    let (question, answer) = (question(7), answer(7));
    let found = |between_ms| {
        let sent = [(0, false, &*answer), (between_ms, true, &*question)];
        rows_of("lookups", 53, &columns, &sent)
    };
    assert_eq!(found(1), [["2", "1", "-0.001"]]);
    assert_eq!(found(1_000), [["2", "1", "-1.0"]]);
    assert_eq!(found(1_001), [["", "1", ""], ["2", "", ""]]);
    // An answer has a row of its own if there is no question, or if the question has its answer already.
    let sent = [(0, false, &*answer)];
    assert_eq!(rows_of("lookups", 53, &columns, &sent), [["", "1", ""]]);
    let sent = [
        (0, true, &*question),
        (1, false, &*answer),
        (2, false, &*answer),
    ];
    let expected = [["1", "2", "0.001"], ["", "3", ""]];
    assert_eq!(rows_of("lookups", 53, &columns, &sent), expected);
    // Each packet is captured twice.
    let sent = [
        (0, false, &*answer),
        (1, false, &*answer),
        (2, true, &*question),
        (3, true, &*question),
    ];
    let expected = [["3", "1", "-0.002"], ["4", "2", "-0.002"]];
    assert_eq!(rows_of("lookups", 53, &columns, &sent), expected);
}

#[test]
fn answers_that_wait_in_any_number_have_their_rows() {
    let answer = answer(7);
    for count in [1, 64, 65, 1_000] {
        let sent: Vec<Datagram<'_>> = (0..count).map(|_| (0, false, &*answer)).collect();
        let rows = rows_of("lookups", 53, &["lookup.answer_frame"], &sent);
        let mut frames: Vec<i64> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
        frames.sort_unstable();
        assert_eq!(frames, (1..=count).collect::<Vec<_>>());
    }
}

/// A question that was sent again had the copy of the answer to the first one, as a mirror port gives it.
#[test]
fn the_copy_of_an_answer_answers_no_question_that_was_sent_again() {
    let packet = |is_client: bool, identification: u16, bytes: &[u8]| {
        let [from, to] = match is_client {
            true => [(CLIENT, 40_000), (SERVER, 53)],
            false => [(SERVER, 53), (CLIENT, 40_000)],
        };
        let segment = udp(from.0.into(), to.0.into(), from.1, to.1, bytes);
        let header = Ipv4::new(from.0, to.0, protocol::UDP);
        header.identification(identification).packet(&segment)
    };
    let packets = [
        packet(true, 1, &question(7)),
        packet(true, 2, &question(7)),
        packet(false, 8, &answer(7)),
        packet(false, 8, &answer(7)),
        packet(false, 9, &answer(7)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mirrored.pcap");
    crate::wire::write(&packets, &path);
    let (batch, _) = read_with_notes("lookups", &[&path], 100);
    assert_eq!(column(&batch, "lookup.question_frame"), ["1", "", "2"]);
    assert_eq!(column(&batch, "lookup.answer_frame"), ["3", "4", "5"]);
}

/// A packet in GRE, from one end of a tunnel to the other.
fn in_tunnel(packet: &[u8]) -> Vec<u8> {
    let carried = [&[0, 0, 8, 0][..], packet].concat();
    Ipv4::new(CLIENT, SERVER, protocol::GRE).packet(&carried)
}

/// What a tunnel carries is one flow: the questions of two clients with the same number are two.
#[test]
fn clients_in_a_tunnel_have_the_answers_to_their_own_questions() {
    let [first, second] = [3, 4].map(|last| Ipv4Addr::new(10, 0, 0, last));
    let datagram = |from: Ipv4Addr, to: Ipv4Addr, ports: (u16, u16), bytes: &[u8]| {
        let segment = udp(from.into(), to.into(), ports.0, ports.1, bytes);
        in_tunnel(&Ipv4::new(from, to, protocol::UDP).packet(&segment))
    };
    let packets = [
        datagram(first, SERVER, (40_000, 53), &question(7)),
        datagram(second, SERVER, (40_000, 53), &question(7)),
        datagram(SERVER, second, (53, 40_000), &answer(7)),
        datagram(SERVER, first, (53, 40_000), &answer(7)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tunnel.pcap");
    crate::wire::write(&packets, &path);
    let (batch, _) = read_with_notes("dns", &[&path], 100);
    assert_eq!(column(&batch, "dns.response_to"), ["", "", "2", "1"]);
    let (batch, _) = read_with_notes("lookups", &[&path], 100);
    assert_eq!(column(&batch, "lookup.question_frame"), ["2", "1"]);
    assert_eq!(column(&batch, "lookup.answer_frame"), ["3", "4"]);
}

/// A packet in VXLAN: the port of the sender is made of what the packet carries (RFC 7348, 5).
fn in_vxlan(from: Ipv4Addr, to: Ipv4Addr, port: u16, packet: &[u8]) -> Vec<u8> {
    let header = b"\x08\0\0\0\0\0\x05\0\x02\0\0\0\0\x01\x02\0\0\0\0\x02\x08\0";
    let carried = [&header[..], packet].concat();
    let segment = udp(from.into(), to.into(), port, 4_789, &carried);
    Ipv4::new(from, to, protocol::UDP).packet(&segment)
}

/// The directions of a tunnel over UDP have ports, and so flows, of their own: no answer had its question.
#[test]
fn questions_and_answers_in_a_tunnel_over_udp_belong_to_each_other() {
    let [first, second] = [1, 2].map(|last| Ipv4Addr::new(192, 0, 2, last));
    let request = udp(CLIENT.into(), SERVER.into(), 40_000, 53, &question(7));
    let request = Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&request);
    let response = udp(SERVER.into(), CLIENT.into(), 53, 40_000, &answer(7));
    let response = Ipv4::new(SERVER, CLIENT, protocol::UDP).packet(&response);
    let packets = [
        in_vxlan(first, second, 50_001, &request),
        in_vxlan(second, first, 50_002, &response),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tunnel.pcap");
    crate::wire::write(&packets, &path);
    let (batch, _) = read_with_notes("dns", &[&path], 100);
    assert_eq!(column(&batch, "dns.response_to"), ["", "1"]);
    let (batch, _) = read_with_notes("lookups", &[&path], 100);
    assert_eq!(column(&batch, "lookup.question_frame"), ["1"]);
    assert_eq!(column(&batch, "lookup.answer_frame"), ["2"]);
}

/// Two clients of MQTT in a tunnel have a version each.
#[test]
fn clients_in_a_tunnel_have_their_own_versions() {
    let mut packets = Vec::new();
    let broker = (SERVER, 1_883);
    let mut open = |port| crate::wire::Connection::open((CLIENT, port), broker, &mut packets);
    let (mut new, mut old) = (open(40_000), open(40_001));
    let connect = b"\x10\x0d\0\x04MQTT\x05\x02\0\x3c\0\0\0";
    new.send_one(true, connect, &mut packets);
    let connect = b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0";
    old.send_one(true, connect, &mut packets);
    new.send_one(false, b"\x20\x03\0\0\0", &mut packets);
    old.send_one(false, b"\x20\x02\0\0", &mut packets);
    let packets: Vec<Vec<u8>> = packets.iter().map(|packet| in_tunnel(packet)).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tunnel.pcap");
    crate::wire::write(&packets, &path);
    let (batch, _) = read_with_notes("mqtt", &[&path], 100);
    // The response of version 5 has a reason in its place.
    assert_eq!(column(&batch, "mqtt.conack.val"), ["", "", "", "0"]);
}

/// What a probe sends on of a connection of TCP has the length before the message (RFC 1035, 4.2.2), or has it not.
#[test]
fn messages_of_tcp_that_a_probe_sent_on_are_read() {
    let ends = ["192.0.2.1:40000", "192.0.2.2:53"].map(|end| end.parse().unwrap());
    let message = question(7);
    let with_length = [&(message.len() as u16).to_be_bytes()[..], &message].concat();
    let sent_on = |payload: &Vec<u8>| {
        let hep = weir_messages::hep::write(3, ends[0], ends[1], 6, payload);
        let segment = udp(CLIENT.into(), SERVER.into(), 5_000, 9_060, &hep);
        Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&segment)
    };
    let packets = [message, with_length].each_ref().map(sent_on);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hep.pcap");
    crate::wire::write(&packets, &path);
    let (batch, _) = read_with_notes("dns", &[&path], 100);
    assert_eq!(column(&batch, "dns.qry.name"), ["a.example", "a.example"]);
    assert_eq!(column(&batch, "dns.id"), ["7", "7"]);
    let (batch, _) = read_with_notes("lookups", &[&path], 100);
    let names = column(&batch, "lookup.query");
    assert_eq!(names, ["a.example", "a.example"]);
}
