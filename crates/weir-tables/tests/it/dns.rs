//! `dns` over generated messages: the flags and counts of kinds of messages, and zones that come in pieces.

use std::net::Ipv4Addr;

use weir_testkit::Rng;
use weir_testkit::packet::{Ipv4, protocol, udp};

use crate::sip::{column, ipv4_column, read};
use crate::wire::{self, Connection};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// A header with these flags and counts, and what follows it.
fn message(flags: u16, counts: [u16; 4], rest: &[u8]) -> Vec<u8> {
    let mut bytes = 7_u16.to_be_bytes().to_vec();
    bytes.extend(flags.to_be_bytes());
    bytes.extend(counts.iter().flat_map(|count| count.to_be_bytes()));
    bytes.extend(rest);
    bytes
}

/// Returns the rows of `dns` of these packets: the columns' values with commas between; NULL is empty.
fn rows(packets: &[Vec<u8>], columns: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(packets, &path);
    let batch = read("dns", &[&path], 100);
    let columns: Vec<Vec<String>> = columns.iter().map(|it| column(&batch, it)).collect();
    let row = |row: usize| -> Vec<&str> { columns.iter().map(|column| &*column[row]).collect() };
    (0..batch.num_rows()).map(|it| row(it).join(",")).collect()
}

fn datagram(port: u16, message: &[u8]) -> Vec<u8> {
    let datagram = udp(CLIENT.into(), SERVER.into(), port, port, message);
    Ipv4::new(CLIENT, SERVER, protocol::UDP).packet(&datagram)
}

/// The flags are those of tshark 4.0: only responses have AA and RA, queries have AD only where it is set, and LLMNR
/// has flags of its own (RFC 4795, 2.1.1).
#[test]
fn flags_are_those_of_the_kind_of_message() {
    let question = b"\x03abc\0\0\x01\0\x01";
    let columns = [
        "dns.flags.authoritative",
        "dns.flags.conflict",
        "dns.flags.truncated",
        "dns.flags.recdesired",
        "dns.flags.tentative",
        "dns.flags.recavail",
        "dns.flags.z",
        "dns.flags.authenticated",
        "dns.flags.checkdisable",
        "dns.flags.rcode",
    ];
    for (port, flags, expected) in [
        (53, 0x0000, ",,false,false,,,false,,false,"),
        (53, 0x07f0, ",,true,true,,,true,true,true,"),
        (53, 0x8000, "false,,false,false,,false,false,false,false,0"),
        (53, 0x87ff, "true,,true,true,,true,true,true,true,15"),
        (5353, 0x8400, "true,,false,false,,false,false,false,false,0"),
        (5355, 0x0000, ",false,false,,false,,,,,"),
        (5355, 0x07f0, ",true,true,,true,,,,,"),
        (5355, 0x87f0, ",true,true,,true,,,,,0"),
    ] {
        let packet = datagram(port, &message(flags, [1, 0, 0, 0], question));
        assert_eq!(rows(&[packet], &columns), [expected], "{port} {flags:04x}");
    }
}

/// The sections of an update are others (RFC 2136, 2.2).
#[test]
fn counts_of_updates_have_names_of_their_own() {
    let zone = b"\x07example\0\0\x06\0\x01";
    let columns = [
        "dns.count.queries",
        "dns.count.zones",
        "dns.count.answers",
        "dns.count.prerequisites",
        "dns.count.auth_rr",
        "dns.count.updates",
        "dns.count.add_rr",
        "dns.qry.name",
        "dns.qry.name.len",
        "dns.count.labels",
    ];
    for (flags, expected) in [
        (0x0100, "1,,0,,0,,0,example,7,1"),
        (0x2800, ",1,,0,,0,0,example,7,1"),
        (0xa800, ",1,,0,,0,0,example,7,1"),
    ] {
        let packet = datagram(53, &message(flags, [1, 0, 0, 0], zone));
        assert_eq!(rows(&[packet], &columns), [expected], "{flags:04x}");
    }
    let names = ["dns.qry.name", "dns.qry.name.len", "dns.count.labels"];
    for (name, expected) in [(&b"\0"[..], "<Root>,6,1"), (b"\x03a\0b\0", "a\\000b,3,1")] {
        let question = [name, b"\0\x01\0\x01"].concat();
        let packet = datagram(53, &message(0x0100, [1, 0, 0, 0], &question));
        assert_eq!(rows(&[packet], &names), [expected]);
    }
}

#[test]
fn each_message_of_a_zone_answers_the_question() {
    let mut packets = Vec::new();
    let mut random = Rng::new(1);
    let mut zone = Connection::open((CLIENT, 40_000), (SERVER, 53), &mut packets);
    let mut send = |is_client: bool, message: &[u8], packets: &mut Vec<Vec<u8>>| {
        let length = u16::try_from(message.len()).unwrap().to_be_bytes();
        let framed = [&length, message].concat();
        zone.send(is_client, &framed, 1_000, &mut random, packets);
    };
    let question = b"\x07example\0\0\xfc\0\x01";
    let record = b"\x01a\x07example\0\0\x01\0\x01\0\0\0\x3c\0\x04\x01\x02\x03\x04";
    let null = b"\x01a\0\0\x0a\0\x01\0\0\0\x3c\0\x03a\0b";
    send(true, &message(0, [1, 0, 0, 0], question), &mut packets);
    let first = [&question[..], record].concat();
    send(false, &message(0x8400, [1, 1, 0, 0], &first), &mut packets);
    send(
        false,
        &message(0x8400, [0, 2, 0, 0], &record.repeat(2)),
        &mut packets,
    );
    send(false, &message(0x8400, [0, 1, 0, 0], null), &mut packets);
    let columns = [
        "dns.response_to",
        "dns.repeat",
        "dns.a",
        "dns.null",
        "dns.fault",
    ];
    assert_eq!(
        rows(&packets, &columns),
        [
            ",false,,,",
            "4,false,[1.2.3.4],,",
            "4,false,[1.2.3.4, 1.2.3.4],,",
            "4,false,,a\0b,",
        ]
    );
}

/// Until 2026-11 the row of a response to a group had the group as the one that asks.
#[test]
fn a_response_to_a_group_is_from_its_sender() {
    let group = Ipv4Addr::new(224, 0, 0, 251);
    let record = b"\x03abc\x05local\0\0\x01\0\x01\0\0\0\x78\0\x04\x0a\0\0\x01";
    let response = message(0x8400, [0, 1, 0, 0], record);
    let sent = |to: Ipv4Addr| {
        let datagram = udp(SERVER.into(), to.into(), 5353, 5353, &response);
        Ipv4::new(SERVER, to, protocol::UDP).packet(&datagram)
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    wire::write(&[sent(group), sent(CLIENT)], &path);
    let batch = read("lookups", &[&path], 100);
    let answers = column(&batch, "lookup.answers");
    let [sources, destinations] = ["ip.src", "ip.dst"].map(|name| ipv4_column(&batch, name));
    assert_eq!(sources, ["10.0.0.2", "10.0.0.1"]);
    assert_eq!(destinations, ["224.0.0.251", "10.0.0.2"]);
    assert_eq!(answers[0], answers[1]);
}
