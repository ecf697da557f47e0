//! pcap and its variants: what a reader gives for captures made byte by byte.

use crate::common::*;
use weir_capture::{Compression, Format, ReadOptions, Reader};

const PACKET: [u8; 5] = [0xca, 0xfe, 0xba, 0xbe, 0x55];
const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const PATCHED: u32 = 0xa1b2_cd34;

#[test]
fn every_magic_and_byte_order_is_read() {
    // Magic, bytes after the file header, bytes after the record header, nanoseconds of 3 units.
    let cases = [
        (MICROSECONDS, 0, 0, 3_000),
        (NANOSECONDS, 0, 0, 3),
        (PATCHED, 0, 8, 3_000),
        (PATCHED, 0, 12, 3_000),
        (MICROSECONDS, 0, 8, 3_000),
        (MICROSECONDS, 0, 4, 3_000),
        (0x1c00_01ac, 4, 0, 3),
        (0x1c00_01ab, 4, 0, 3_000),
    ];
    for order in [Little, Big] {
        for (magic, file_more, record_more, nanoseconds) in cases {
            let mut file = pcap_header(order, magic, (2, 4), 1);
            file.extend(vec![7; file_more]);
            let start = file.len() as u64;
            for second in 0..4 {
                let more = vec![0; record_more];
                file.extend(pcap_record_with(
                    order,
                    (second, 3),
                    &PACKET,
                    60 + second,
                    &more,
                ));
            }
            let kept = records(&file);
            assert_eq!(kept.len(), 4, "{order:?} {magic:x} {record_more}");
            for (record, second) in kept.iter().zip(0_u32..) {
                let record_len = 16 + record_more as u64 + 5;
                let expected = OwnedRecord {
                    number: u64::from(second) + 1,
                    offset: start + u64::from(second) * record_len,
                    time_ns: Some(i64::from(second) * 1_000_000_000 + nanoseconds),
                    wire_len: 60 + second,
                    link_type: 1,
                    interface: 0,
                    section: 0,
                    data: PACKET.to_vec(),
                    comment: None,
                    flags: None,
                };
                assert_eq!(*record, expected, "{order:?} {magic:x} {record_more}");
            }
        }
    }
}

#[test]
fn the_order_of_the_lengths_depends_on_the_version() {
    // Version; the two lengths of the record header; captured and wire length that are meant.
    let cases = [
        ((2, 4), (3, 9), (3, 9)),
        ((2, 5), (3, 9), (3, 9)),
        ((2, 3), (3, 9), (3, 9)),
        ((2, 3), (9, 3), (3, 9)),
        ((2, 2), (9, 3), (3, 9)),
        ((2, 0), (9, 3), (3, 9)),
        ((543, 0), (9, 3), (3, 9)),
    ];
    for (version, lengths, (captured, wire_len)) in cases {
        let mut file = pcap_header(Little, MICROSECONDS, version, 1);
        let record = Bytes::new(Little)
            .u32(1)
            .u32(2)
            .u32(lengths.0)
            .u32(lengths.1);
        file.extend(record.raw(&[1, 2, 3]).bytes);
        let kept = records(&file);
        assert_eq!(kept.len(), 1, "{version:?} {lengths:?}");
        assert_eq!(
            (kept[0].data.len(), kept[0].wire_len),
            (captured, wire_len),
            "{version:?}"
        );
    }
}

#[test]
fn aix_has_link_types_and_nanoseconds_of_its_own() {
    for (network, link_type) in [(6, 1), (9, 6), (15, 10), (24, 0)] {
        let mut file = pcap_header(Big, MICROSECONDS, (2, 2), network);
        file.extend(pcap_record(Big, (1, 999_999_999), &PACKET, 5));
        let kept = records(&file);
        assert_eq!(
            (kept[0].link_type, kept[0].time_ns),
            (link_type, Some(1_999_999_999))
        );
    }
    // Link type 1 is not a known interface type, so this is an old libpcap.
    let mut file = pcap_header(Big, MICROSECONDS, (2, 2), 1);
    file.extend(pcap_record(Big, (1, 999_999), &PACKET, 5));
    assert_eq!(records(&file)[0].time_ns, Some(1_999_999_000));
}

#[test]
fn the_upper_half_of_the_link_type_is_the_length_of_the_check_sequence() {
    for (network, link_type, fcs_len) in [
        (0x2400_0001, 1, Some(4)),
        (0x1400_006b, 107, Some(2)),
        (0x3000_0084, 132, None),
        (1, 1, None),
    ] {
        let file = pcap_header(Little, MICROSECONDS, (2, 4), network);
        let reader = Reader::new(&file[..]).unwrap();
        let interface = &reader.interfaces()[0];
        assert_eq!(
            (interface.link_type, interface.fcs_len),
            (link_type, fcs_len)
        );
        assert_eq!(interface.snap_len, 65_535);
        assert_eq!(
            (reader.format(), reader.compression()),
            (Format::Pcap, Compression::None)
        );
    }
}

#[test]
fn a_fraction_of_more_than_a_second_carries_into_the_seconds() {
    for (magic, time, expected) in [
        (MICROSECONDS, (1, 1_000_000), 2_000_000_000),
        (NANOSECONDS, (1, 1_000_000_000), 2_000_000_000),
        (
            MICROSECONDS,
            (u32::MAX, u32::MAX),
            4_294_971_589_967_295_000,
        ),
        (NANOSECONDS, (u32::MAX, u32::MAX), 4_294_967_299_294_967_295),
    ] {
        let mut file = pcap_header(Little, magic, (2, 4), 1);
        file.extend(pcap_record(Little, time, &PACKET, 5));
        assert_eq!(records(&file)[0].time_ns, Some(expected));
    }
}

#[test]
fn records_without_data_and_with_more_data_than_wire_are_ordinary() {
    let mut file = pcap_header(Little, MICROSECONDS, (2, 4), 1);
    file.extend(pcap_record(Little, (5, 0), &[], 60));
    file.extend(pcap_record(Little, (4, 0), &PACKET, 2));
    let kept = records(&file);
    assert_eq!((kept[0].data.len(), kept[0].wire_len), (0, 60));
    assert_eq!((kept[1].data.len(), kept[1].wire_len), (5, 2));
    assert!(kept[1].time_ns < kept[0].time_ns);
}

#[test]
fn a_record_larger_than_the_buffer_is_read_whole() {
    let large: Vec<u8> = (0..=255).cycle().take(200_000).collect();
    let mut file = pcap_header(Little, MICROSECONDS, (2, 4), 1);
    for _ in 0..3 {
        file.extend(pcap_record(Little, (1, 0), &large, 200_000));
        file.extend(pcap_record(Little, (1, 0), &PACKET, 5));
    }
    let mut options = ReadOptions::default();
    options.buffer_bytes = 1;
    let source = Dribble::new(&file[..], 70_000, 3);
    let (kept, error) = read_all(Reader::with_options(source, &options));
    assert!(error.is_none());
    assert_eq!(kept.len(), 6);
    assert!(kept.iter().step_by(2).all(|record| record.data == large));
}

#[test]
fn the_limit_on_a_record_depends_on_the_link_type_and_on_the_options() {
    let read = |link_type: u32, len: u32, limit: Option<u32>| {
        let mut file = pcap_header(Little, MICROSECONDS, (2, 4), link_type);
        file.extend(pcap_record(Little, (1, 0), &vec![0; len as usize], len));
        let mut options = ReadOptions::default();
        options.record_bytes_max = limit;
        read_all(Reader::with_options(&file[..], &options)).0.len()
    };
    assert_eq!(read(1, 262_144, None), 1);
    assert_eq!(read(1, 262_145, None), 0);
    assert_eq!(read(1, 262_145, Some(300_000)), 1);
    assert_eq!(read(249, 262_145, None), 1);
    assert_eq!(read(249, 262_145, Some(1_000)), 0);
}

#[test]
fn a_pipe_gives_its_first_packet_before_the_second_comes() {
    // The reader returns one part per call, and fails the test when it is read beyond the last part.
    struct Parts(Vec<Vec<u8>>);
    impl std::io::Read for Parts {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let part = self.0.first_mut().expect("nothing was asked for in vain");
            let len = part.len().min(out.len());
            out[..len].copy_from_slice(&part[..len]);
            part.drain(..len);
            if part.is_empty() {
                self.0.remove(0);
            }
            Ok(len)
        }
    }
    for magic in [MICROSECONDS, NANOSECONDS] {
        let header = pcap_header(Little, magic, (2, 4), 1);
        let record = pcap_record(Little, (1, 0), &PACKET, 5);
        let mut reader = Reader::new(Parts(vec![header, record.clone(), record])).unwrap();
        for number in 1..=2 {
            assert_eq!(reader.next().unwrap().unwrap().number, number);
        }
    }
}

#[test]
fn the_longer_header_of_ixia_is_known_when_it_arrives_byte_by_byte() {
    const IXIA: u32 = 0x1c00_01ac;
    let header = pcap_header(Little, IXIA, (2, 4), 1);
    let mut options = ReadOptions::default();
    options.format = Some(Format::Pcap);
    let reader = |bytes: &[u8]| {
        let source = Dribble::new(std::io::Cursor::new(bytes.to_vec()), 1, 3);
        read_all(Reader::with_options(source, &options))
    };
    // Four bytes short of the header of this variant.
    let (_, error) = reader(&header);
    assert!(
        error
            .unwrap()
            .to_string()
            .contains("28 bytes expected, 24 found")
    );
    let record = pcap_record(Little, (1, 0), &PACKET, 5);
    let (kept, error) = reader(&[header, vec![0; 4], record].concat());
    assert!(error.is_none());
    assert_eq!(kept[0].data, PACKET);
}
