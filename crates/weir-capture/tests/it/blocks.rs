//! Records found many at a time are those that are found one by one.

use std::io::Cursor;

use crate::common::*;
use weir_capture::{Block, Options, Reader};

/// A record, as far as a block knows it.
type Known = (u64, i64, u32, u32, Vec<u8>);

/// All records, one by one.
fn one_by_one(bytes: &[u8]) -> Vec<Known> {
    let mut reader = Reader::new(bytes).unwrap();
    let mut records = Vec::new();
    while let Ok(Some(record)) = reader.next() {
        records.push((
            record.number,
            record.time_ns.unwrap_or_default(),
            record.wire_len,
            record.link_type,
            record.data.to_vec(),
        ));
    }
    records
}

/// All records, by blocks where there are some: `pass` says how many of a block are passed over. Also how
/// many came in blocks.
fn by_blocks(bytes: &[u8], mut pass: impl FnMut(usize) -> usize) -> (Vec<Known>, usize) {
    let mut options = Options::default();
    options.buffer_bytes = 4 << 10;
    let mut reader = Reader::with_options(Cursor::new(bytes), &options).unwrap();
    let mut block = Block::new();
    let (mut records, mut in_blocks) = (Vec::new(), 0);
    loop {
        let window = reader.look(64, &mut block);
        let count = pass(block.len());
        for at in 0..count as u8 {
            records.push((
                block.first_number() + u64::from(at),
                block.time_ns(at),
                block.wire_len(at),
                block.link_type(),
                block.data(at, window).to_vec(),
            ));
        }
        in_blocks += count;
        reader.pass(&block, count);
        match reader.next() {
            Ok(Some(record)) => records.push((
                record.number,
                record.time_ns.unwrap_or_default(),
                record.wire_len,
                record.link_type,
                record.data.to_vec(),
            )),
            _ => return (records, in_blocks),
        }
    }
}

#[test]
fn blocks_hold_the_records_that_come_one_by_one() {
    let mut files = vec![pcap()];
    files.extend([Little, Big].map(pcapng));
    for file in files {
        let expected = one_by_one(&file);
        assert!(expected.len() > 300);
        let (found, in_blocks) = by_blocks(&file, |count| count);
        assert_eq!(found, expected);
        assert!(in_blocks * 2 > found.len(), "{in_blocks} in blocks");
        // A part of each block.
        let (found, _) = by_blocks(&file, |count| count / 3);
        assert_eq!(found, expected);
        // Cut anywhere, and with a byte that is wrong.
        for at in (0..file.len()).step_by(997) {
            assert_eq!(
                by_blocks_or_none(&file[..at]),
                expected_or_none(&file[..at])
            );
            let mut damaged = file.clone();
            damaged[at] ^= 0x41;
            assert_eq!(
                by_blocks_or_none(&damaged),
                expected_or_none(&damaged),
                "{at}"
            );
        }
    }
}

fn by_blocks_or_none(bytes: &[u8]) -> Vec<Known> {
    match Reader::new(bytes) {
        Ok(_) => by_blocks(bytes, |count| count).0,
        Err(_) => Vec::new(),
    }
}

fn expected_or_none(bytes: &[u8]) -> Vec<Known> {
    match Reader::new(bytes) {
        Ok(_) => one_by_one(bytes),
        Err(_) => Vec::new(),
    }
}

fn data(number: u32) -> Vec<u8> {
    (0..20 + number % 90)
        .map(|at| (number + at) as u8)
        .collect()
}

fn pcap() -> Vec<u8> {
    let mut file = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 1);
    for number in 0..400 {
        let data = data(number);
        file.extend(pcap_record(Little, (number, 7), &data, 2_000));
    }
    file
}

/// Two sections, interfaces of two link types and clocks, options, packets without a time, and blocks
/// that are no packets in between.
fn pcapng(order: Order) -> Vec<u8> {
    let mut file = Vec::new();
    for round in 0..2_u32 {
        file.extend(section(order));
        for (link_type, resolution) in [(1, 6), (1, 9), (101, 3)] {
            file.extend(interface(
                order,
                link_type,
                0,
                &option(order, 9, &[resolution]),
            ));
        }
        for number in 0..300_u32 {
            let data = data(number + round);
            if number % 50 == 49 {
                file.extend(simple(order, &data, data.len() as u32));
            } else {
                // Runs of each interface, and of both of one link type.
                let interface = if number % 40 < 30 { number % 2 } else { 2 };
                let comment = match number % 7 {
                    0 => option(order, 1, b"hello"),
                    _ => Vec::new(),
                };
                let ticks = 5 << 32 | u64::from(number);
                file.extend(enhanced(order, interface, ticks, &data, 3_000, &comment));
            }
            if number % 60 == 20 {
                // Names: no packet.
                file.extend(block(order, 4, &[0; 4]));
            }
        }
    }
    file
}
