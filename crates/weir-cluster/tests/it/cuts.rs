//! One large capture in pieces: the groups equal those of the whole file, and a wrong cut is found before the first row is
//! returned.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use weir_testkit::capture::{Endian, PcapVariant, PcapWriter, link_type};
use weir_testkit::packet::{ethernet, ethertype};
use weir_testkit::trace::{ethernet_pcap, frame_relay_erf};

use crate::samples::{Asks, enter};

/// Large enough for four pieces.
const BYTES: u64 = 18 << 20;
const PIECE: u64 = 5 << 20;
const TIME: u64 = 1_700_000_000_000_000_000;

fn made(name: &str, make: impl FnOnce(BufWriter<File>)) {
    enter();
    if !Path::new(name).exists() {
        make(BufWriter::new(File::create(name).unwrap()));
    }
}

#[test]
fn one_capture_in_pieces_gives_what_it_gives_whole() {
    made("large.pcap", |out| {
        ethernet_pcap(out, 5, BYTES).unwrap();
    });
    made("large.erf", |out| {
        frame_relay_erf(out, 5, BYTES).unwrap();
    });
    let (here, there) = (Asks::here(), Asks::there_in(PIECE));
    for sql in [
        "SELECT count(*), sum(frame.len), avg(ip.len) FROM 'large.pcap'",
        "SELECT port.src, port.dst, count(*), max(frame.time) FROM 'large.pcap' GROUP BY 1, 2",
        "SELECT proto, count(DISTINCT addr.src), min(frame.time) FROM 'large.pcap' GROUP BY 1",
        "SELECT count(*) FROM 'large.pcap' WHERE udp.dstport = 53",
        "SELECT frame.interface_name, erf.flags.cap, count(*) FROM 'large.erf' GROUP BY 1, 2",
        "SELECT frame.file, count(*) FROM 'large.*' GROUP BY 1",
    ] {
        let plan = there.plan(sql);
        assert!(plan.contains("captures cut="), "{plan}");
        let (found, expected) = (there.ask_both(sql), here.ask(sql).unwrap());
        let (found, expected) = (found.sorted(), expected.sorted());
        assert!(
            found.rows == expected.rows,
            "{sql}: {:?}",
            found.rows.first()
        );
        assert_eq!(found.records, expected.records, "{sql}");
        // Both executors together have read each byte once.
        assert_eq!(found.bytes, expected.bytes, "{sql}");
        assert!(found.notes.is_empty(), "{sql}: {:?}", found.notes);
    }
    // Record numbers and rounded sums are those of the whole file.
    for sql in [
        "SELECT max(frame.number) FROM 'large.pcap'",
        "SELECT sum(CAST(frame.len AS double) / 3) FROM 'large.pcap'",
        "SELECT first_value(ip.id) FROM 'large.pcap'",
    ] {
        let plan = there.plan(sql);
        assert!(!plan.contains("captures cut="), "{plan}");
        assert_eq!(there.ask(sql).unwrap().rows, here.ask(sql).unwrap().rows);
    }
}

/// Payloads that are captures look like records wherever a cut falls.
#[test]
fn a_capture_that_carries_captures_is_read_again_in_one_piece() {
    made("carrier.pcap", |out| {
        // Each packet holds records of a capture like the one that it is in, so that a chain of them goes on from
        // packet to packet.
        let inner = PcapWriter::new(
            Vec::new(),
            link_type::ETHERNET,
            262_144,
            PcapVariant::Micro,
            Endian::Little,
        );
        let mut inner = inner.unwrap();
        for number in 0..3_000 {
            let frame = ethernet([2; 6], [4; 6], ethertype::IPV4, &[0x45; 46]);
            inner.packet(TIME + number * 1_000, 60, &frame).unwrap();
        }
        let inner = inner.into_inner();
        let payload = &inner[24..];
        let outer = PcapWriter::new(
            out,
            link_type::ETHERNET,
            262_144,
            PcapVariant::Micro,
            Endian::Little,
        );
        let mut outer = outer.unwrap();
        let len = u32::try_from(payload.len()).unwrap();
        for number in 0..BYTES / u64::from(len) + 1 {
            outer
                .packet(TIME + number * 1_000_000, len, payload)
                .unwrap();
        }
    });
    let sql = "SELECT frame.link_type, count(*), sum(frame.len) FROM 'carrier.pcap' GROUP BY 1";
    let there = Asks::there_in(PIECE);
    let plan = there.plan(sql);
    assert!(plan.contains("captures cut=1"), "{plan}");
    let (found, expected) = (there.ask(sql).unwrap(), Asks::here().ask(sql).unwrap());
    assert_eq!(found.rows, expected.rows);
    assert_eq!(found.records, expected.records);
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.starts_with("carrier.pcap read again in one piece")),
        "{:?}",
        found.notes
    );
}

/// Damage is reported once, as by an engine that reads the whole file.
#[test]
fn a_damaged_capture_in_pieces_tells_of_it_as_whole() {
    made("large.pcap", |out| {
        ethernet_pcap(out, 5, BYTES).unwrap();
    });
    let mut bytes = std::fs::read("large.pcap").unwrap();
    bytes.truncate(bytes.len() - 7);
    std::fs::write("large-cut.pcap", &bytes).unwrap();
    let sql = "SELECT proto, count(*) FROM 'large-cut.pcap' GROUP BY 1";
    let there = Asks::there_in(PIECE);
    let (found, expected) = (
        there.ask(sql).unwrap().sorted(),
        Asks::here().ask(sql).unwrap().sorted(),
    );
    assert_eq!(found.rows, expected.rows);
    assert_eq!(found.errors, expected.errors);
    assert_eq!(expected.errors.len(), 1);
    assert_eq!(found.records, expected.records);
}
