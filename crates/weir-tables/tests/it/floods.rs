//! Floods stay within the limits, and the notes at the end describe the consequences.

use std::net::Ipv4Addr;

use weir_tables::{Extraction, Scan, ScanOptions, Setting, Settings, Source, Table};
use weir_testkit::packet::{Ipv4, Tcp, protocol, tcp_flags};

use crate::wire::write;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Returns the notes of a table about packets that are a millisecond apart.
fn notes(name: &str, arguments: &[(&str, u64)], packets: &[Vec<u8>]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("flood.pcap");
    write(packets, &path);
    let extraction = Extraction::named(name).unwrap();
    let mut settings = Settings::default();
    for (argument, value) in arguments {
        let value = Some(Setting::Number(*value));
        extraction.set(&mut settings, argument, value).unwrap();
    }
    let table = Table::extracted(extraction).with_settings(settings);
    let sources = vec![Source::capture(&path)];
    let mut scan = Scan::new(&table, &[0], None, sources, ScanOptions::default());
    while scan.next_batch().unwrap().is_some() {}
    assert!(scan.take_errors().is_empty());
    scan.notes()
}

fn segment(port: u16, flags: u8, seq: u32, payload: &[u8]) -> Vec<u8> {
    let segment = Tcp::new(port, 5_060).flags(flags).numbers(seq, 1).segment(
        CLIENT.into(),
        SERVER.into(),
        payload,
    );
    Ipv4::new(CLIENT, SERVER, protocol::TCP).packet(&segment)
}

#[track_caller]
fn check(notes: &[String], expected: &str) {
    assert!(
        notes.iter().any(|note| note.contains(expected)),
        "{notes:?}"
    );
}

#[test]
fn of_syns() {
    let packets: Vec<Vec<u8>> = (0..3_000)
        .map(|port| segment(port, tcp_flags::SYN, 7, &[]))
        .collect();
    let notes = notes("flows", &[("flows_max", 1_000)], &packets);
    check(
        &notes,
        "2000 flows ended early: more than 1,000 at one time",
    );
}

#[test]
fn of_first_fragments() {
    let header = Ipv4::new(CLIENT, SERVER, protocol::UDP);
    let packets: Vec<Vec<u8>> = (0..17_000)
        .map(|id| {
            header
                .clone()
                .identification(id)
                .fragment(0, true)
                .packet(&[0; 8])
        })
        .collect();
    check(
        &notes("flows", &[], &packets),
        "616 packets dropped: more than 16,384, or 64 MiB, waited for fragments",
    );
    check(
        // No rest of a message has come.
        &notes("sip", &[], &packets),
        "17000 packets were dropped because their fragments",
    );
}

/// A fragment without the first one of its packet is in no flow, and was not counted when it waited at the end of the capture.
#[test]
fn fragments_that_wait_when_the_capture_ends_are_counted() {
    let header = Ipv4::new(CLIENT, SERVER, protocol::UDP).identification(7);
    let packets = [header.fragment(8, false).packet(&[0; 8])];
    check(
        &notes("flows", &[], &packets),
        "1 packets incomplete: other fragments had not come when the capture ended",
    );
}

#[test]
fn of_tiny_segments_behind_a_missing_one() {
    let mut packets = vec![segment(9, tcp_flags::SYN, 0, &[])];
    packets.extend((1..30_000).map(|n| segment(9, tcp_flags::ACK, 1 + 2 * n, b"x")));
    check(
        &notes("sip", &[], &packets),
        "times a gap in a TCP stream was skipped",
    );
}
