//! pcapng: blocks, sections, interfaces, options and times.

use crate::common::*;
use weir_capture::{Format, ReadOptions, Reader};

const PACKET: [u8; 5] = [0xca, 0xfe, 0xba, 0xbe, 0x55];
/// 2023-11-14 22:13:20 in microseconds.
const TICKS: u64 = 1_700_000_000_000_000;

#[test]
fn every_packet_block_is_read_in_both_byte_orders() {
    for order in [Little, Big] {
        let options = [
            option(order, 1, "first".as_bytes()),
            option(order, 1, b"second"),
            option(order, 2, &Bytes::new(order).u32(0x0102_0304).bytes),
            option(order, 0, &[]),
        ]
        .concat();
        let file = [
            section(order),
            interface(order, 1, 0, &[]),
            interface(order, 107, 3, &[]),
            enhanced(order, 1, TICKS, &PACKET, 60, &options),
            obsolete(order, 0, TICKS + 1, &PACKET, 61),
            simple(order, &PACKET, 5),
        ];
        let offsets: Vec<u64> = file
            .iter()
            .scan(0, |end, block| {
                let start = *end;
                *end += block.len() as u64;
                Some(start)
            })
            .collect();
        let expected = OwnedRecord {
            number: 1,
            offset: offsets[3],
            time_ns: Some(1_700_000_000_000_000_000),
            wire_len: 60,
            link_type: 107,
            interface: 1,
            section: 0,
            data: PACKET.to_vec(),
            comment: Some("first".to_owned()),
            flags: Some(0x0102_0304),
        };
        let plain = OwnedRecord {
            link_type: 1,
            interface: 0,
            comment: None,
            flags: None,
            ..expected.clone()
        };
        let kept = records(&file.concat());
        assert_eq!(kept.len(), 3);
        assert_eq!(kept[0], expected);
        assert_eq!(
            kept[1],
            OwnedRecord {
                number: 2,
                offset: offsets[4],
                time_ns: Some(1_700_000_000_000_001_000),
                wire_len: 61,
                ..plain.clone()
            }
        );
        assert_eq!(
            kept[2],
            OwnedRecord {
                number: 3,
                offset: offsets[5],
                time_ns: None,
                wire_len: 5,
                ..plain
            }
        );
    }
}

#[test]
fn a_simple_packet_is_as_long_as_the_first_interface_captures() {
    let file = [
        section(Little),
        interface(Little, 1, 4, &[]),
        simple(Little, &PACKET[..4], 100),
        simple(Little, &PACKET[..3], 3),
    ]
    .concat();
    let kept = records(&file);
    assert_eq!((kept[0].data.len(), kept[0].wire_len), (4, 100));
    assert_eq!((kept[1].data.len(), kept[1].wire_len), (3, 3));
}

#[test]
fn sections_bring_their_own_byte_order_and_interfaces() {
    let file = [
        section(Little),
        interface(Little, 1, 0, &[]),
        interface(Little, 101, 0, &[]),
        enhanced(Little, 1, TICKS, &PACKET, 5, &[]),
        section(Big),
        interface(Big, 113, 0, &option(Big, 9, &[9])),
        enhanced(Big, 0, TICKS, &PACKET, 5, &[]),
        section(Little),
        interface(Little, 107, 0, &[]),
        enhanced(Little, 0, TICKS, &PACKET, 5, &[]),
    ]
    .concat();
    let kept: Vec<_> = records(&file)
        .iter()
        .map(|kept| {
            (
                kept.number,
                kept.section,
                kept.interface,
                kept.link_type,
                kept.time_ns,
            )
        })
        .collect();
    let microseconds = Some(TICKS as i64 * 1000);
    assert_eq!(
        kept,
        [
            (1, 0, 1, 101, microseconds),
            (2, 1, 0, 113, Some(TICKS as i64)),
            (3, 2, 0, 107, microseconds),
        ]
    );
}

#[test]
fn times_count_in_units_of_the_interface() {
    // if_tsresol, if_tsoffset, units, nanoseconds.
    let cases = [
        (6, 0, TICKS, 1_700_000_000_000_000_000),
        (9, 0, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (0, 0, 1_700_000_000, 1_700_000_000_000_000_000),
        (3, 7, 1_700_000_000_001, 1_700_000_007_001_000_000),
        (12, 0, 1_999, 1),
        (12, 0, 12_345_678_901_234_567_890, 12_345_678_901_234_567),
        (19, 0, 170_000_000_000_000, 17_000),
        (29, 0, u64::MAX, 0),
        (127, 0, u64::MAX, 0),
        (0x80, 0, 1_700_000_000, 1_700_000_000_000_000_000),
        (
            0x8a,
            0,
            1_700_000_000 << 10 | 512,
            1_700_000_000_500_000_000,
        ),
        (0xa0, -1, 1_700_000_000 << 32 | 1, 1_699_999_999_000_000_000),
        (0xbf, 0, 1 << 63, 1_000_000_000),
        (0xff, 0, u64::MAX, 0),
        // Beyond what 64 bits hold: the ends of time.
        (0, 0, u64::MAX, i64::MAX),
        (6, i64::MAX, TICKS, i64::MAX),
        (6, i64::MIN, TICKS, i64::MIN),
        (6, -1_700_000_001, TICKS, -1_000_000_000),
    ];
    for order in [Little, Big] {
        for (resolution, offset, ticks, expected) in cases {
            let offset = match order {
                Little => i64::to_le_bytes(offset),
                Big => i64::to_be_bytes(offset),
            };
            let options = [option(order, 9, &[resolution]), option(order, 14, &offset)].concat();
            let file = [
                section(order),
                interface(order, 1, 0, &options),
                enhanced(order, 0, ticks, &PACKET, 5, &[]),
            ]
            .concat();
            assert_eq!(
                records(&file)[0].time_ns,
                Some(expected),
                "resolution {resolution:#x}, {ticks} units"
            );
        }
    }
}

#[test]
fn interfaces_have_names() {
    let options = [
        option(Little, 2, b"eth0\0"),
        option(Little, 3, "Ethernet on the left".as_bytes()),
        option(Little, 13, &[32]),
        option(Little, 0, &[]),
        option(Little, 2, b"after the end"),
    ]
    .concat();
    let file = [
        section(Little),
        interface(Little, 1, 1500, &options),
        interface(Little, 1, 0, &option(Little, 2, &[0xff, 0xfe])),
        enhanced(Little, 0, TICKS, &PACKET, 5, &[]),
    ]
    .concat();
    let mut reader = Reader::new(&file[..]).unwrap();
    let record = reader.next().unwrap().unwrap();
    assert_eq!(record.interface.name.as_deref(), Some("eth0"));
    assert_eq!(
        record.interface.description.as_deref(),
        Some("Ethernet on the left")
    );
    assert_eq!(
        (record.interface.snap_len, record.interface.fcs_len),
        (1500, Some(4))
    );
    assert_eq!(reader.interfaces().len(), 2);
    assert_eq!(
        (reader.interfaces()[1].id, &reader.interfaces()[1].name),
        (1, &None)
    );
    assert_eq!(reader.format(), Format::Pcapng);
}

#[test]
fn blocks_that_are_not_packets_are_passed_over_whatever_their_size() {
    // Names, statistics, secrets, unknown, local.
    for kind in [4, 5, 10, 0x777, 0x8000_0001] {
        for len in [0, 8, 5_000, 1_000_000] {
            let file = [
                section(Little),
                block(Little, kind, &vec![0xee; len]),
                interface(Little, 1, 0, &[]),
                block(Little, kind, &vec![0xee; len]),
                enhanced(Little, 0, TICKS, &PACKET, 5, &[]),
                block(Little, kind, &vec![0xee; len]),
            ]
            .concat();
            let mut options = ReadOptions::default();
            options.buffer_bytes = 4096;
            options.block_bytes_max = 4096;
            let (kept, error) = read_all(Reader::with_options(&file[..], &options));
            assert!(error.is_none(), "{kind} {len}: {error:?}");
            assert_eq!((kept.len(), kept[0].number), (1, 1), "{kind} {len}");
        }
    }
}

#[test]
fn frame_numbers_count_the_blocks_that_wireshark_counts() {
    for kind in [0x0bad, 0x4000_0bad, 9, 0x204, 0x216, 0x221] {
        let file = [
            section(Little),
            interface(Little, 1, 0, &[]),
            enhanced(Little, 0, TICKS, &PACKET, 5, &[]),
            block(Little, kind, &[0; 32]),
            enhanced(Little, 0, TICKS, &PACKET, 5, &[]),
        ]
        .concat();
        let numbers: Vec<_> = records(&file).iter().map(|kept| kept.number).collect();
        assert_eq!(numbers, [1, 3], "block type {kind:#x}");
    }
}

#[test]
fn damaged_options_cost_only_themselves() {
    // Longer than the block; cut within the head; a comment that is not UTF-8; flags of 3 bytes.
    let flags = option(Little, 2, &[9, 0, 0, 0]);
    for (options, comment, found_flags) in [
        (
            Bytes::new(Little).raw(&flags).u16(1).u16(400).u32(7).bytes,
            None,
            Some(9),
        ),
        (
            Bytes::new(Little).raw(&flags).u32(0x0001_0001).bytes,
            None,
            Some(9),
        ),
        (
            [option(Little, 1, &[0xff]), flags.clone()].concat(),
            None,
            Some(9),
        ),
        (
            [option(Little, 2, &[1, 2, 3]), option(Little, 1, b"x")].concat(),
            Some("x"),
            None,
        ),
        (Vec::new(), None, None),
    ] {
        let file = [
            section(Little),
            interface(Little, 1, 0, &Bytes::new(Little).u16(2).u16(400).bytes),
            enhanced(Little, 0, TICKS, &PACKET, 5, &options),
            enhanced(Little, 0, TICKS, &PACKET, 5, &[]),
        ]
        .concat();
        let kept = records(&file);
        assert_eq!(kept.len(), 2);
        assert_eq!(
            (kept[0].comment.as_deref(), kept[0].flags),
            (comment, found_flags)
        );
    }
}

#[test]
fn a_block_whose_length_leaves_out_the_padding_is_read() {
    let body = Bytes::new(Little)
        .u32(0)
        .u32(0)
        .u32(0)
        .u32(5)
        .u32(5)
        .raw(&PACKET)
        .bytes;
    let len = body.len() as u32 + 12;
    let odd = Bytes::new(Little)
        .u32(6)
        .u32(len)
        .raw(&body)
        .pad()
        .u32(len)
        .bytes;
    let file = [
        section(Little),
        interface(Little, 1, 0, &[]),
        odd,
        enhanced(Little, 0, TICKS, &PACKET, 5, &[]),
    ]
    .concat();
    assert_eq!(records(&file).len(), 2);
}
