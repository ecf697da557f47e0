//! ERF: recognised without a magic number, read without a file header.

use crate::common::*;
use weir_capture::{ErrorKind, Format, ReadOptions, Reader, sniff};

/// 2023-11-14 22:13:20 and a half.
const TIME: u64 = 1_700_000_000 << 32 | 1 << 31;
const PAD: u8 = 48;

#[test]
fn records_are_given_whole_with_their_header() {
    let payload = [0x55; 64];
    let file: Vec<u8> = (0..4_u8)
        .flat_map(|number| erf(TIME + u64::from(number), 1, 4 | number, &payload, 60))
        .collect();
    let kept = records(&file);
    assert_eq!(kept.len(), 4);
    for (record, number) in kept.iter().zip(0_u32..) {
        let expected = OwnedRecord {
            number: u64::from(number) + 1,
            offset: u64::from(number) * 80,
            time_ns: Some(1_700_000_000_500_000_000 + i64::from(number > 2)),
            wire_len: 60,
            link_type: 197,
            interface: number,
            section: 0,
            data: file[number as usize * 80..][..80].to_vec(),
            comment: None,
            flags: None,
        };
        assert_eq!(*record, expected);
    }
}

#[test]
fn the_fraction_of_a_second_is_rounded_as_wireshark_does() {
    for (fraction, nanoseconds) in [
        (0, 0),
        (1, 0),
        (2, 0),
        (3, 1),
        (1 << 31, 500_000_000),
        (0xffff_ffff, 1_000_000_000),
    ] {
        let file = erf(5 << 32 | fraction, 1, 0, &[0; 8], 8);
        assert_eq!(
            records(&file)[0].time_ns,
            Some(5_000_000_000 + nanoseconds),
            "{fraction}"
        );
    }
    // The last second that the format has.
    let file = erf(u64::MAX, 1, 0, &[0; 8], 8);
    assert_eq!(records(&file)[0].time_ns, Some(4_294_967_296_000_000_000));
}

#[test]
fn ports_become_interfaces_in_the_order_of_their_first_records() {
    let file: Vec<u8> = [(1, 2), (1, 2), (1, 0xf9), (PAD, 3), (1, 2), (1, 0)]
        .into_iter()
        .flat_map(|(kind, flags)| erf(TIME, kind, flags, &[0; 8], 8))
        .collect();
    let interfaces: Vec<_> = records(&file).iter().map(|kept| kept.interface).collect();
    assert_eq!(interfaces, [0, 0, 1, 0, 3]);
}

#[test]
fn padding_is_passed_over_and_not_counted() {
    let file: Vec<u8> = (0..5)
        .flat_map(|_| {
            [
                erf(0, PAD, 0, &[0; 16], 0),
                erf(TIME, 3, 0, &[0; 52], 52),
                erf(0, PAD, 0, &[], 0),
            ]
        })
        .flatten()
        .collect();
    let numbers: Vec<_> = records(&file).iter().map(|kept| kept.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
}

#[test]
fn a_chain_of_records_is_recognised() {
    let chain = |count: u64, step: u64, kind: u8, rest: &[u8]| -> Vec<u8> {
        (0..count)
            .flat_map(|number| {
                erf(
                    TIME.wrapping_add(number.wrapping_mul(step)),
                    kind,
                    0,
                    rest,
                    60,
                )
            })
            .collect()
    };
    let year = (366 * 24 * 3600) << 32;
    let extended = [
        &[0x83, 0, 0, 0, 0, 0, 0, 0, 0x04, 0, 0, 0, 0, 0, 0, 0][..],
        &[0; 8],
    ]
    .concat();
    for (file, expected) in [
        (chain(30, 1 << 32, 1, &[0; 64]), true),
        // One record that is the whole file.
        (chain(1, 0, 2, &[0; 64]), true),
        (chain(3, year, 7, &[0; 56]), true),
        (chain(3, year + (1 << 32), 7, &[0; 56]), false),
        // Ports interleave up to a second out of order.
        (chain(9, (1_u64 << 32).wrapping_neg(), 5, &[0; 64]), true),
        (chain(9, (2_u64 << 32).wrapping_neg(), 5, &[0; 64]), false),
        (chain(9, 1, 1 | 0x80, &extended), true),
        // Extension headers without an end.
        (chain(9, 1, 1 | 0x80, &[0x83; 24]), false),
        (chain(9, 1, 0, &[0; 64]), false),
        (chain(9, 1, 100, &[0; 64]), false),
        (chain(9, 1, PAD, &[0; 64]), false),
        // The largest records, more than one of which is beyond the buffer.
        (chain(9, 1, 27, &[0; 65_519]), true),
        (b"time,source,destination\n".repeat(3_000), false),
        (vec![0; 100_000], false),
    ] {
        let mut options = ReadOptions::default();
        options.buffer_bytes = 4096;
        let (kept, error) = read_all(Reader::with_options(
            Dribble::new(&file[..], 999, 1),
            &options,
        ));
        let found = error.is_none_or(|error| error.kind() != ErrorKind::UnknownFormat);
        assert_eq!(found, expected, "{:02x?}", &file[..16]);
        assert_eq!(!kept.is_empty(), expected);
    }
}

#[test]
fn a_prefix_is_recognised_once_it_holds_three_records() {
    let file: Vec<u8> = (0..4)
        .flat_map(|n| erf(TIME + n, 1, 0, &[0; 64], 60))
        .collect();
    for (len, expected) in [(0, None), (80, None), (239, None), (240, Some(Format::Erf))] {
        assert_eq!(sniff(&file[..len]), expected, "{len} bytes");
    }
}

#[test]
fn the_format_is_recognised() {
    // The record type is one that detection does not recognise.
    let file = erf(TIME, 100, 0, &[0; 64], 60);
    assert!(Reader::new(&file[..]).is_err());
    let mut options = ReadOptions::default();
    options.format = Some(Format::Erf);
    let (kept, error) = read_all(Reader::with_options(&file[..], &options));
    assert!(error.is_none());
    assert_eq!(kept[0].data, file);
}

#[test]
fn the_format_is_recognised_however_the_bytes_arrive() {
    // Bytes that are no record follow three that are: this is a damaged ERF file, not another kind of file.
    let mut file: Vec<u8> = (0..3)
        .flat_map(|n| erf(TIME + n, 1, 0, &[0; 64], 60))
        .collect();
    file.extend([0x8c; 40]);
    let (whole, whole_error) = read_all(Reader::new(&file[..]));
    for most in [1, 7, 100] {
        let (pieces, error) = read_all(Reader::new(Dribble::new(&file[..], most, 9)));
        assert_eq!(pieces, whole);
        assert_eq!(
            error.map(|error| error.to_string()),
            whole_error.as_ref().map(ToString::to_string)
        );
    }
    assert_eq!(whole.len(), 3);
}
