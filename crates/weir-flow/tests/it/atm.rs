//! IP over AAL5: the decoder puts cells together, and what they carry are flows as any other.

use std::net::Ipv4Addr;

use weir_flow::Options;
use weir_testkit::capture::{ErfRecord, ErfWriter, erf_type};
use weir_testkit::packet::{CellHeader, Ipv4, aal5_llc, aal5_unit, ethertype, protocol, udp};

use crate::capture;

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// The cells of a datagram of 1,000 bytes from `port`, on a virtual channel of its own.
fn cells(port: u16) -> Vec<[u8; 52]> {
    let datagram = udp(A.into(), B.into(), port, 9_999, &[7; 1_000]);
    let packet = Ipv4::new(A, B, protocol::UDP).packet(&datagram);
    let unit = aal5_unit(&aal5_llc(ethertype::IPV4, &packet), 0);
    CellHeader::new(0, port).segment(&unit)
}

#[test]
fn datagrams_in_cells_are_packets_of_flows() {
    let mut channels = [cells(100), cells(101), cells(102)];
    // One cell is lost: the checksum of its PDU does not hold.
    channels[2].remove(5);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cells.erf");
    let mut writer = ErfWriter::new(std::fs::File::create(&path).unwrap());
    for index in 0..channels[0].len() {
        for cell in channels.iter().filter_map(|cells| cells.get(index)) {
            let record = ErfRecord {
                kind: erf_type::ATM,
                payload: cell,
                ..ErfRecord::default()
            };
            writer.record(1_000_000_000, &record).unwrap();
        }
    }
    drop(writer);
    let flows = capture::flows(&capture::read(&path), Options::default());
    let found: Vec<_> = flows
        .iter()
        .map(|flow| {
            (
                flow.originator.port,
                flow.sent.packets,
                flow.sent.payload_bytes,
            )
        })
        .collect();
    assert_eq!(found, [(100, 1, 1_000), (101, 1, 1_000)]);
}
