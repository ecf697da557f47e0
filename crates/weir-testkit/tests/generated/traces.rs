//! The large traces, in small.

use crate::oracle;
use crate::scratch::{Scratch, hash};
use std::collections::HashSet;
use std::io;
use weir_testkit::trace::{Trace, atm_cells, atm_erf, ethernet_pcap, frame_relay_erf};

type Generator = fn(&mut Vec<u8>, u64, u64) -> io::Result<Trace>;

const GENERATORS: [(&str, Generator); 4] = [
    ("ethernet.pcap", |out, seed, bytes| {
        ethernet_pcap(out, seed, bytes)
    }),
    ("frame_relay.erf", |out, seed, bytes| {
        frame_relay_erf(out, seed, bytes)
    }),
    ("atm.bin", |out, seed, bytes| atm_cells(out, seed, bytes)),
    ("atm.erf", |out, seed, bytes| atm_erf(out, seed, bytes)),
];

fn generate(generator: Generator, seed: u64, bytes: u64) -> (Vec<u8>, Trace) {
    let mut file = Vec::new();
    let trace = generator(&mut file, seed, bytes).unwrap();
    assert_eq!(trace.bytes, file.len() as u64);
    assert!(file.len() as u64 <= bytes && bytes - (file.len() as u64) < 1_600);
    (file, trace)
}

#[test]
fn the_same_bytes_everywhere() {
    let mut found = String::new();
    for (name, generator) in GENERATORS {
        let (file, trace) = generate(generator, 1, 1_000_000);
        found.push_str(&format!("{name} {} {:016x}\n", trace.records, hash(&file)));
    }
    // A deliberate change of a generator needs the new hashes in `EXPECTED`.
    assert_eq!(found, EXPECTED, "found:\n{found}");
}

#[test]
fn a_longer_trace_begins_with_the_shorter_one() {
    for (name, generator) in GENERATORS {
        let (long, _) = generate(generator, 7, 700_000);
        let (short, _) = generate(generator, 7, 300_001);
        assert_eq!(&long[..short.len()], short, "{name}");
        let (other, _) = generate(generator, 8, 300_001);
        assert_ne!(other, short, "{name}: the seed does nothing");
    }
}

#[test]
fn tshark_finds_nothing_wrong() {
    let scratch = Scratch::new("traces");
    for (name, generator) in GENERATORS {
        if name == "atm.bin" {
            // This format has no header, so tshark cannot detect it; see the test below.
            continue;
        }
        let (bytes, trace) = generate(generator, 1, 600_000);
        let path = scratch.file(name, &bytes);
        // Ports are arbitrary, and a dissector that is chosen by one may dislike what it finds: only
        // damage of what stands below is ours.
        let damaged = format!("({}) && !(tcp.len > 0 || udp.length > 8)", oracle::DAMAGED);
        let filters = ["frame", oracle::BAD_CHECKSUM, &damaged];
        let Some(counts) = oracle::counts(&path, &filters) else {
            return;
        };
        assert_eq!(
            counts,
            [trace.records, 0, 0],
            "{name}: records, bad checksums, damaged"
        );
    }
}

#[test]
fn both_atm_traces_hold_the_same_cells() {
    let (cells, _) = generate(atm_by_64, 3, 64 * 1_000);
    let (records, _) = generate(|out, seed, bytes| atm_erf(out, seed, bytes), 3, 72 * 1_000);
    let (cells, records) = (cells.as_chunks::<64>().0, records.as_chunks::<72>().0);
    assert_eq!((cells.len(), records.len()), (1_000, 1_000));
    for (cell, record) in cells.iter().zip(records) {
        assert_eq!(cell[..8], record[..8], "timestamp");
        assert_eq!(cell[12..], record[16..68], "header and payload");
    }
    // All but the low four bits of the header: VPI and VCI.
    let channels: HashSet<_> = cells
        .iter()
        .map(|cell| (&cell[12..15], cell[15] >> 4))
        .collect();
    assert!(channels.len() > 60, "{}", channels.len());
}

fn atm_by_64(out: &mut Vec<u8>, seed: u64, bytes: u64) -> io::Result<Trace> {
    atm_cells(out, seed, bytes)
}

#[test]
fn the_ethernet_trace_is_like_the_measured_one() {
    // Mean length and the number of port pairs decide what a scan and a grouping cost.
    let (file, trace) = generate(
        |out, seed, bytes| ethernet_pcap(out, seed, bytes),
        1,
        8_000_000,
    );
    let mean = trace.bytes / trace.records;
    assert!((265..300).contains(&mean), "mean record of {mean} bytes");
    let mut pairs = HashSet::new();
    let mut rest = &file[24..];
    while let Some((header, tail)) = rest.split_at_checked(16) {
        let len = u32::from_le_bytes(header[8..12].try_into().unwrap()) as usize;
        let frame = &tail[..len];
        rest = &tail[len..];
        // Untagged IPv4 with TCP or UDP is enough for an estimate.
        if frame[12..15] == [8, 0, 0x45] && matches!(frame[23], 6 | 17) {
            pairs.insert(frame[34..38].to_vec());
        }
    }
    let each = trace.records as usize / pairs.len();
    assert!(
        (1..5).contains(&each),
        "{} records, {} pairs",
        trace.records,
        pairs.len()
    );
}

const EXPECTED: &str = "\
ethernet.pcap 3764 3cdd134f54be5621
frame_relay.erf 3561 99c9c59348dc2c00
atm.bin 15625 df3e88f7a04edeb4
atm.erf 13888 0c607ff89e637ff8
";
