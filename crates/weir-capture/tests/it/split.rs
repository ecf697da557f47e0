//! A file read in parts gives what it gives in one: whatever the format, the number of parts, and
//! whether the places where records begin were guessed rightly.

use std::io::Cursor;

use crate::common::*;
use weir_capture::{ReadOptions, Reader, Split};

/// Reads part after part as if they had been read side by side; gives the records, and how many parts
/// could not be used.
fn read_in_parts(bytes: &[u8], parts: usize) -> Option<(Vec<OwnedRecord>, usize)> {
    let options = ReadOptions::default();
    let split = Split::new(Cursor::new(bytes), parts, &options).unwrap()?;
    assert!((2..=parts).contains(&split.parts()));
    let mut whole: Option<(Reader<_>, Vec<OwnedRecord>)> = None;
    let mut given_up = 0;
    for part in 0..split.parts() {
        let source = split.source(part, Cursor::new(bytes)).unwrap();
        let mut reader = split.reader(part, source, &options).unwrap();
        let mut kept = drain(&mut reader);
        whole = Some(match whole {
            None => (reader, kept),
            Some((mut before, mut all)) => {
                let numbered = before_number(&all);
                if split.follows(&before, part, &mut reader) {
                    for record in &mut kept {
                        record.number += numbered;
                    }
                    all.extend(kept);
                    (reader, all)
                } else {
                    given_up += 1;
                    split.read_on(&mut before, part);
                    all.extend(drain(&mut before));
                    (before, all)
                }
            }
        });
    }
    whole.map(|(_, kept)| (kept, given_up))
}

fn before_number(kept: &[OwnedRecord]) -> u64 {
    kept.last().map_or(0, |record| record.number)
}

fn drain<R: std::io::Read>(reader: &mut Reader<R>) -> Vec<OwnedRecord> {
    let mut kept = Vec::new();
    while let Ok(Some(record)) = reader.next() {
        kept.push(OwnedRecord::new(&record));
    }
    kept
}

/// Sizes of packets that follow no pattern.
fn sizes(count: usize) -> impl Iterator<Item = (u32, Vec<u8>)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..count).map(move |index| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let len = (state % 1400) as usize + 14;
        let data = (0..len).map(|at| (state >> (at % 57)) as u8).collect();
        (index as u32, data)
    })
}

fn pcap(order: Order, count: usize) -> Vec<u8> {
    let mut bytes = pcap_header(order, 0xa1b2_c3d4, (2, 4), 1);
    for (index, data) in sizes(count) {
        let time = (1_700_000_000 + index / 100, index % 1_000_000);
        bytes.extend(pcap_record(order, time, &data, data.len() as u32));
    }
    bytes
}

fn pcapng(order: Order, count: usize, interfaces_at: &[usize]) -> Vec<u8> {
    let mut bytes = section(order);
    let mut interfaces = 0;
    for (index, data) in sizes(count) {
        if interfaces_at.contains(&(index as usize)) {
            bytes.extend(interface(order, 1, 0, &[]));
            interfaces += 1;
        }
        let ticks = 1_700_000_000_000_000 + u64::from(index);
        bytes.extend(enhanced(
            order,
            interfaces - 1,
            ticks,
            &data,
            data.len() as u32,
            &[],
        ));
    }
    bytes
}

fn erf_file(count: usize, late_port: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (index, data) in sizes(count) {
        let port = match late_port {
            true => u8::from(index as usize > count / 3),
            false => (index % 3) as u8,
        };
        let timestamp = (1_700_000_000 + u64::from(index)) << 32;
        let mut rest = vec![0, 0];
        rest.extend(&data);
        bytes.extend(erf(timestamp, 2, port, &rest, data.len() as u16));
    }
    bytes
}

#[test]
fn parts_give_what_the_whole_gives() {
    for (name, bytes) in [
        ("pcap", pcap(Little, 6000)),
        ("pcap, the other order", pcap(Big, 6000)),
        ("pcapng", pcapng(Little, 6000, &[0])),
        ("pcapng, the other order", pcapng(Big, 6000, &[0])),
        ("erf", erf_file(6000, false)),
    ] {
        let expected = records(&bytes);
        for parts in 2..6 {
            let (found, given_up) = read_in_parts(&bytes, parts).unwrap();
            assert!(found == expected, "{name} in {parts} parts");
            assert_eq!(given_up, 0, "{name} in {parts} parts");
        }
    }
}

#[test]
fn a_part_without_the_needed_descriptions_is_read_again() {
    for (name, bytes) in [
        (
            "an interface described late",
            pcapng(Little, 6000, &[0, 1500]),
        ),
        ("a port that shows late", erf_file(20_000, true)),
    ] {
        let (found, given_up) = read_in_parts(&bytes, 2).unwrap();
        assert!(found == records(&bytes), "{name}");
        assert_eq!(given_up, 1, "{name}");
    }
}

#[test]
fn a_capture_inside_a_capture_does_not_mislead() {
    // A record so large that all of what is looked at lies inside the other capture.
    let inner = pcap(Little, 3000);
    assert!(inner.len() > 1 << 20);
    let mut bytes = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 189);
    for second in 0..3 {
        bytes.extend(pcap_record(
            Little,
            (1_700_000_000 + second, 0),
            &inner,
            inner.len() as u32,
        ));
    }
    let expected = records(&bytes);
    let (found, given_up) = read_in_parts(&bytes, 3).unwrap();
    assert!(found == expected);
    assert!(given_up > 0, "the test is to mislead");
    // Cut into packets, the inner capture does not mislead: a chain ends where a packet does.
    let mut bytes = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 1);
    for (second, packet) in inner.chunks(1448).enumerate() {
        let time = (1_700_000_000 + second as u32, 0);
        bytes.extend(pcap_record(Little, time, packet, packet.len() as u32));
    }
    let (found, given_up) = read_in_parts(&bytes, 2).unwrap();
    assert!(found == records(&bytes));
    assert_eq!(given_up, 0);
}

#[test]
fn damage_ends_a_capture_in_parts_as_it_ends_one_in_one() {
    let mut bytes = pcap(Little, 6000);
    let second = records(&bytes).get(2000).unwrap().offset as usize;
    // A length beyond every limit.
    bytes[second + 8..second + 12].fill(0x7f);
    let (expected, error) = read_all(Reader::new(&bytes[..]));
    assert!(error.is_some());
    let (found, _) = read_in_parts(&bytes, 3).unwrap();
    assert!(found == expected);
}

#[test]
fn what_cannot_be_split_is_left_whole() {
    let options = ReadOptions::default();
    let compressed = {
        use std::io::Write;
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&pcap(Little, 500)).unwrap();
        gzip.finish().unwrap()
    };
    let one_large = {
        let mut bytes = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 189);
        bytes.extend(pcap_record(Little, (1, 0), &vec![7; 3 << 20], 3 << 20));
        bytes
    };
    for bytes in [compressed, one_large, pcap(Little, 0)] {
        assert!(
            Split::new(Cursor::new(&bytes), 2, &options)
                .unwrap()
                .is_none()
        );
    }
}
