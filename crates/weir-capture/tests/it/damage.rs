//! Damage: the good records come first, then one error that says what is wrong and where.

use std::io::{self, Read};

use crate::common::*;
use weir_capture::{ErrorKind, Format, ReadOptions, Reader, Reason};

const PACKET: [u8; 5] = [0xca, 0xfe, 0xba, 0xbe, 0x55];
const MICROSECONDS: u32 = 0xa1b2_c3d4;

/// Records before the damage, kind, message.
fn read(bytes: &[u8]) -> (usize, ErrorKind, String) {
    let (kept, error) = read_all(Reader::new(bytes));
    let error = error.expect("it is damaged");
    (kept.len(), error.kind(), error.to_string())
}

fn pcap(records: usize) -> Vec<u8> {
    let mut file = pcap_header(Little, MICROSECONDS, (2, 4), 1);
    for _ in 0..records {
        file.extend(pcap_record(Little, (1, 0), &PACKET, 5));
    }
    file
}

fn pcapng(blocks: &[Vec<u8>]) -> Vec<u8> {
    let packet = enhanced(Little, 0, 0, &PACKET, 5, &[]);
    [
        section(Little),
        interface(Little, 1, 0, &[]),
        packet,
        blocks.concat(),
    ]
    .concat()
}

#[test]
fn what_is_no_capture_says_what_it_is() {
    for (bytes, message) in [
        (&b""[..], "not a capture of a known format: it is empty"),
        (
            b"\xd4\xc3",
            "not a capture of a known format: it begins with d4 c3",
        ),
        (
            b"TRSNIFF data    \x1a",
            "not a capture of a known format: it begins with 54 52 53 4e 49 46 46 20",
        ),
    ] {
        let error = Reader::new(bytes).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownFormat);
        assert_eq!(error.to_string(), message);
        assert!(error.hint().is_some());
        assert_eq!(error.location(), None);
    }
}

#[test]
fn damaged_file_headers_are_located() {
    let first_block = |body: &[u8]| block(Little, 0x0a0d_0d0a, body);
    for (bytes, message) in [
        (
            MICROSECONDS.to_le_bytes().to_vec(),
            "pcap file header at byte 0: the file header is cut short: 24 bytes expected, 4 found",
        ),
        (
            pcap_header(Little, 0x1c00_01ab, (2, 4), 1),
            "pcap file header at byte 0: the file header is cut short: 28 bytes expected, 24 found",
        ),
        (
            pcap_header(Big, MICROSECONDS, (1, 0), 1),
            "pcap file header at byte 0: the major version is 1 (0x1), expected 2",
        ),
        (
            section(Little)[..4].to_vec(),
            "pcapng file header at byte 0: the block header is cut short: 12 bytes expected, 4 found",
        ),
        (
            section(Little)[..20].to_vec(),
            "pcapng file header at byte 0: the block is cut short: 28 bytes expected, 20 found",
        ),
        (
            first_block(
                &Bytes::new(Little)
                    .u32(0x1a2b_3c4d)
                    .u16(2)
                    .u16(0)
                    .raw(&[0xff; 8])
                    .bytes,
            ),
            "pcapng file header at byte 0: the version of the section (major << 16 | minor) is \
             131072 (0x20000), expected 1.0 or 1.2",
        ),
        (
            // The length of this section header does not include the padding.
            Bytes::new(Little)
                .u32(0x0a0d_0d0a)
                .u32(18)
                .u32(0x1a2b_3c4d)
                .u32(1)
                .u32(18)
                .bytes,
            "pcapng file header at byte 0: the section header is cut short: 8 bytes expected, 6 found",
        ),
    ] {
        assert_eq!(read(&bytes), (0, ErrorKind::Damaged, message.to_owned()));
    }
}

#[test]
fn damaged_records_are_located() {
    let mut huge = pcap(2);
    huge.extend(
        Bytes::new(Little)
            .u32(1)
            .u32(0)
            .u32(0x7fff_ffff)
            .u32(5)
            .raw(&PACKET)
            .bytes,
    );
    let no_interface = enhanced(Little, 3, 0, &PACKET, 5, &[]);
    let captured = |captured: u32| {
        let body = Bytes::new(Little)
            .u32(0)
            .u32(0)
            .u32(0)
            .u32(captured)
            .u32(5)
            .raw(&PACKET);
        block(Little, 6, &body.bytes)
    };
    let mut closing = enhanced(Little, 0, 0, &PACKET, 5, &[]);
    *closing.last_mut().unwrap() = 1;
    let unknown = block(Little, 0x777, &[0; 100]);
    let erf_time = 1_700_000_000 << 32;
    let erf_records =
        |last: Vec<u8>| [vec![erf(erf_time, 1, 0, &[0; 8], 8); 3].concat(), last].concat();
    for (bytes, records, message) in [
        (
            pcap(3)[..77].to_vec(),
            2,
            "pcap record 3 at byte 66: the record header is cut short: 16 bytes expected, 11 found",
        ),
        (
            pcap(3)[..85].to_vec(),
            2,
            "pcap record 3 at byte 66: the packet is cut short: 5 bytes expected, 3 found",
        ),
        (
            huge,
            2,
            "pcap record 3 at byte 66: the captured length is 2147483647, more than the limit of \
             262144",
        ),
        (
            pcapng(&[no_interface]),
            1,
            "pcapng record 2 at byte 88: the interface number is 3 (0x3), expected the number of an interface described before",
        ),
        (
            pcapng(&[captured(9)]),
            1,
            "pcapng record 2 at byte 88: the captured length is 9, more than the limit of 8",
        ),
        (
            pcapng(&[captured(0xffff_ffff)]),
            1,
            "pcapng record 2 at byte 88: the captured length is 4294967295, more than the limit \
             of 262144",
        ),
        (
            pcapng(&[closing]),
            1,
            "pcapng record 2 at byte 88: the length at the end of the block is 16777256 \
             (0x1000028), expected the length at its beginning",
        ),
        (
            pcapng(&[Bytes::new(Little).u32(6).u32(8).u32(8).bytes]),
            1,
            "pcapng record 2 at byte 88: the length of the block is 8 (0x8), expected at least 12",
        ),
        (
            pcapng(&[block(Little, 6, &[0; 16])]),
            1,
            "pcapng record 2 at byte 88: the length of the block is 28 (0x1c), expected enough for a \
             packet block",
        ),
        (
            pcapng(&[unknown[..50].to_vec()]),
            1,
            "pcapng record 2 at byte 88: the block is cut short: 112 bytes expected, 50 found",
        ),
        (
            pcapng(&[unknown[..10].to_vec()]),
            1,
            "pcapng record 2 at byte 88: the block header is cut short: 12 bytes expected, 10 found",
        ),
        (
            erf_records(erf(erf_time, 1, 0, &[0; 8], 8)[..20].to_vec()),
            3,
            "ERF record 4 at byte 72: the record is cut short: 8 bytes expected, 4 found",
        ),
        (
            erf_records(vec![0; 7]),
            3,
            "ERF record 4 at byte 72: the record header is cut short: 16 bytes expected, 7 found",
        ),
        (
            erf_records(erf(erf_time, 1, 0, &[], 8)),
            3,
            "ERF record 4 at byte 72: the length of the record is 16 (0x10), expected more than 16",
        ),
    ] {
        assert_eq!(
            read(&bytes),
            (records, ErrorKind::Damaged, message.to_owned())
        );
    }
}

#[test]
fn limits_stop_a_file_that_needs_too_much() {
    let mut options = ReadOptions::default();
    options.interfaces_max = 2;
    options.block_bytes_max = 64;
    for (blocks, message) in [
        (
            vec![interface(Little, 1, 0, &[]); 2],
            "pcapng record 2 at byte 108: the number of interfaces is 3, more than the limit of 2",
        ),
        (
            vec![interface(Little, 1, 0, &[0; 80])],
            "pcapng record 2 at byte 88: the length of the block is 100, more than the limit of 64",
        ),
        (
            vec![enhanced(Little, 0, 0, &PACKET, 5, &[0; 80])],
            "pcapng record 2 at byte 88: the length of the packet's options is 83, more than the \
             limit of 64",
        ),
    ] {
        let file = pcapng(&blocks);
        let (kept, error) = read_all(Reader::with_options(&file[..], &options));
        let error = error.unwrap();
        assert_eq!((kept.len(), error.kind()), (1, ErrorKind::Limit));
        assert_eq!(error.to_string(), message);
        assert!(matches!(error.reason(), Some(Reason::TooLarge { .. })));
    }
}

#[test]
fn an_error_of_the_source_comes_after_the_records_before_it() {
    struct Broken<'a>(&'a [u8]);
    impl Read for Broken<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            match self.0.read(out)? {
                0 => Err(io::Error::other("the disk is gone")),
                read => Ok(read),
            }
        }
    }
    let file = pcap(3);
    let (kept, error) = read_all(Reader::new(Broken(&file[..80])));
    let error = error.unwrap();
    assert_eq!((kept.len(), error.kind()), (2, ErrorKind::Io));
    assert_eq!(
        error.to_string(),
        "pcap record 3 at byte 66: the disk is gone"
    );
    let location = error.location().unwrap();
    assert_eq!(
        (location.format, location.record, location.offset),
        (Some(Format::Pcap), 3, 66)
    );
    assert!(std::error::Error::source(&error).is_some());
    // The first record, which is read ahead, gives the same error.
    for len in [24, 30, 42] {
        let (kept, error) = read_all(Reader::new(Broken(&file[..len])));
        assert_eq!((kept.len(), error.unwrap().kind()), (0, ErrorKind::Io));
    }
    // The error is also reported at a boundary between records, where a file could end.
    let (kept, error) = read_all(Reader::new(Broken(&file[..66])));
    assert_eq!((kept.len(), error.unwrap().kind()), (2, ErrorKind::Io));
}

#[test]
fn a_claim_of_much_data_takes_no_memory() {
    // USBPcap may have records of 128 MiB; this file has ten bytes of one.
    let mut file = pcap_header(Little, MICROSECONDS, (2, 4), 249);
    file.extend(
        Bytes::new(Little)
            .u32(1)
            .u32(0)
            .u32(128 << 20)
            .u32(128 << 20)
            .raw(&[0; 10])
            .bytes,
    );
    let before = resident_bytes();
    let mut readers = Vec::new();
    for _ in 0..50 {
        let mut reader = Reader::new(&file[..]).unwrap();
        assert_eq!(reader.next().unwrap_err().kind(), ErrorKind::Damaged);
        readers.push(reader);
    }
    let grown = resident_bytes().saturating_sub(before);
    assert!(
        grown < 64 << 20,
        "{grown} bytes for {} readers",
        readers.len()
    );
}

/// Resident memory of this process; 0 where the system does not say.
fn resident_bytes() -> usize {
    let statistics = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statistics
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
