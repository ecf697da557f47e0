//! Networks behind different VLANs that use the same addresses, ports, numbers and Call-IDs.

use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use weir_tables::{Extraction, Scan, ScanOptions, Setting, Settings, Source, Table};
use weir_testkit::capture::{Endian, PcapVariant, PcapWriter};
use weir_testkit::packet::{Ipv4, Tcp, ethernet, ethertype, protocol, udp, vlan};

use crate::sip::column;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const ETHERNET: u16 = 1;

/// A packet behind a tag.
fn behind(tag: u16, ip: &[u8]) -> Vec<u8> {
    let tagged = vlan(0, tag, ethertype::IPV4, ip);
    ethernet([2; 6], [4; 6], ethertype::VLAN, &tagged)
}

/// A segment of the client (true) or of the server, with its sequence and acknowledgment numbers.
fn segment(is_client: bool, numbers: [u32; 2], flags: u8, payload: &[u8]) -> Vec<u8> {
    let [from, to] = match is_client {
        true => [(A, 40_000), (B, 80)],
        false => [(B, 80), (A, 40_000)],
    };
    let header = Tcp::new(from.1, to.1).numbers(numbers[0], numbers[1]);
    let segment = header
        .flags(flags)
        .segment(from.0.into(), to.0.into(), payload);
    Ipv4::new(from.0, to.0, protocol::TCP).packet(&segment)
}

/// Writes frames of Ethernet, a millisecond after one another.
pub(crate) fn write(path: &Path, packets: &[Vec<u8>]) {
    let file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let mut writer =
        PcapWriter::new(file, ETHERNET, 65_535, PcapVariant::Nano, Endian::Little).unwrap();
    for (packet, number) in packets.iter().zip(0..) {
        let time_ns = 1_700_000_000_000_000_000 + number * 1_000_000_u64;
        writer.packet(time_ns, packet.len() as u32, packet).unwrap();
    }
    writer.into_inner().flush().unwrap();
}

/// The rows of a table in which the VLAN tells networks apart.
fn read(table: &str, packets: &[Vec<u8>]) -> RecordBatch {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.pcap");
    write(&path, packets);
    let extraction = Extraction::named(table).unwrap();
    let mut settings = Settings::default();
    let flag = Some(Setting::Flag(true));
    extraction.set(&mut settings, "vlan", flag).unwrap();
    let table = Table::extracted(extraction).with_settings(settings);
    let projection: Vec<usize> = (0..table.columns().len()).collect();
    let sources = vec![Source::capture(&*path)];
    let mut scan = Scan::new(&table, &projection, None, sources, ScanOptions::default());
    let mut batches = Vec::new();
    while let Some(batch) = scan.next_batch().unwrap() {
        batches.push(batch);
    }
    assert!(scan.notes().is_empty(), "{:?}", scan.notes());
    concat_batches(table.schema(), &batches).unwrap()
}

/// Until 2026-11 one connection was made of both.
#[test]
fn connections_in_two_vlans_are_two() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    let mut packets = Vec::new();
    let mut both = |of: &dyn Fn(char) -> Vec<u8>| {
        packets.push(behind(100, &of('1')));
        packets.push(behind(200, &of('2')));
    };
    both(&|_| segment(true, [9, 0], SYN, b""));
    both(&|_| segment(false, [5, 10], SYN | ACK, b""));
    both(&|network| {
        let request = format!("GET /{network} HTTP/1.1\r\nHost: a\r\n\r\n");
        segment(true, [10, 6], ACK, request.as_bytes())
    });
    both(&|network| {
        let head = format!("HTTP/1.1 20{network} x\r\nContent-Length: 0\r\n\r\n");
        segment(false, [6, 38], ACK, head.as_bytes())
    });
    let rows = read("http", &packets);
    assert_eq!(column(&rows, "http.request.uri"), ["/1", "/2"]);
    assert_eq!(column(&rows, "http.response.code"), ["201", "202"]);
    // The numbers of flows are those of the table of flows.
    assert_eq!(column(&rows, "flow.id"), ["1", "2"]);
    let flows = read("flows", &packets);
    assert_eq!(column(&flows, "flow.id"), ["1", "2"]);
    assert_eq!(column(&flows, "flow.vlan"), ["100", "200"]);
    let pieces = read("stream", &packets);
    assert_eq!(column(&pieces, "flow.id"), ["1", "2", "1", "2"]);
}

#[test]
fn calls_with_one_name_in_two_vlans_are_two() {
    let message = |is_request: bool, status: u16| {
        let first = match is_request {
            true => "INVITE sip:b@b SIP/2.0".to_owned(),
            false => format!("SIP/2.0 {status} x"),
        };
        let text = format!(
            "{first}\r\nVia: SIP/2.0/UDP a;branch=z9hG4bK1\r\nFrom: <sip:a@a>;tag=1\r\nTo: <sip:b@b>\r\n\
             Call-ID: one\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n"
        );
        let (from, to) = if is_request { (A, B) } else { (B, A) };
        let datagram = udp(from.into(), to.into(), 5_060, 5_060, text.as_bytes());
        Ipv4::new(from, to, protocol::UDP).packet(&datagram)
    };
    let packets = [
        behind(100, &message(true, 0)),
        behind(200, &message(true, 0)),
        behind(200, &message(false, 486)),
        behind(100, &message(false, 603)),
    ];
    let calls = read("calls", &packets);
    let mut statuses = column(&calls, "call.status");
    statuses.sort();
    assert_eq!(statuses, ["486", "603"]);
}
