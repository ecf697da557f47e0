//! Times at the ends of what formats and 64 bits of nanoseconds hold: 1677-09-21 to 2262-04-11.

use weir_capture::Reader;

use crate::common::{Order::Little, *};

/// The times of the records, and how many are counted as beyond.
fn times(file: &[u8]) -> (Vec<i64>, u64) {
    let mut reader = Reader::new(file).unwrap();
    let mut times = Vec::new();
    while let Some(record) = reader.next().unwrap() {
        times.push(record.time_ns.unwrap());
    }
    (times, reader.times_beyond())
}

const SECOND: i64 = 1_000_000_000;
/// The last whole second that there is, and the first.
const LAST: i64 = 9_223_372_036;
const FIRST: i64 = -9_223_372_036;

/// Such times were given as others without a word.
#[test]
fn times_of_pcapng_that_do_not_fit_are_counted() {
    // if_tsoffset, seconds, what is given, whether it is the time.
    for (offset, seconds, expected, fits) in [
        (0, LAST as u64, LAST * SECOND, true),
        (0, LAST as u64 + 1, i64::MAX, false),
        (0, u64::MAX, i64::MAX, false),
        (LAST - 5, 5, LAST * SECOND, true),
        (LAST - 5, 6, i64::MAX, false),
        (FIRST, 0, FIRST * SECOND, true),
        (FIRST - 1, 0, i64::MIN, false),
        (FIRST - 1, 1, FIRST * SECOND, true),
    ] {
        let options = [
            option(Little, 9, &[0]),
            option(Little, 14, &i64::to_le_bytes(offset)),
        ]
        .concat();
        let file = [
            section(Little),
            interface(Little, 1, 0, &options),
            enhanced(Little, 0, seconds, &[1], 1, &[]),
            obsolete(Little, 0, seconds, &[2], 1),
            simple(Little, &[3], 1),
        ]
        .concat();
        let mut reader = Reader::new(&file[..]).unwrap();
        for time in [Some(expected), Some(expected), None] {
            assert_eq!(reader.next().unwrap().unwrap().time_ns, time);
        }
        assert!(reader.next().unwrap().is_none());
        let beyond = if fits { 0 } else { 2 };
        assert_eq!(reader.times_beyond(), beyond, "{offset} and {seconds} s");
    }
}

/// Their seconds have 32 bits, and end on 2106-02-07.
#[test]
fn times_of_pcap_and_erf_fit() {
    let last = i64::from(u32::MAX);
    for (magic, unit_ns) in [(0xa1b2_c3d4, 1_000), (0xa1b2_3c4d, 1)] {
        let file = [
            pcap_header(Little, magic, (2, 4), 1),
            pcap_record(Little, (u32::MAX, 999_999), &[1], 1),
            // More than a second carries into the seconds.
            pcap_record(Little, (u32::MAX, u32::MAX), &[2], 1),
        ]
        .concat();
        let expected = [999_999, last].map(|fraction| last * SECOND + fraction * unit_ns);
        assert_eq!(times(&file), (expected.to_vec(), 0));
    }
    let file = erf(u64::MAX, 1, 0, &[0; 8], 8);
    assert_eq!(times(&file), (vec![(last + 1) * SECOND], 0));
}

/// The file header of NetMon has a year of 16 bits, to which frames add 64 bits of microseconds.
#[test]
fn times_of_netmon_that_do_not_fit_are_counted() {
    let file = |year: u16, delta_us: u64| {
        let start = [year, 4, 0, 11, 23, 47, 16, 0].map(u16::to_le_bytes);
        let mut file = b"GMBU\x00\x02\x01\x00".to_vec();
        file.extend(start.as_flattened());
        // The frame table follows one frame of a byte; the header has its offset and length.
        file.extend([128 + 17, 4].map(u32::to_le_bytes).as_flattened());
        file.resize(128, 0);
        file.extend(delta_us.to_le_bytes());
        file.extend([1, 1].map(u32::to_le_bytes).as_flattened());
        file.push(0x55);
        file.extend(128_u32.to_le_bytes());
        file
    };
    // 2262-04-11 23:47:16 is the last whole second.
    let last = LAST * SECOND;
    assert_eq!(times(&file(2262, 0)), (vec![last], 0));
    assert_eq!(times(&file(2262, 854_775)), (vec![last + 854_775_000], 0));
    assert_eq!(times(&file(2262, 854_776)), (vec![i64::MAX], 1));
    assert_eq!(times(&file(2263, 0)), (vec![i64::MAX], 1));
    assert_eq!(times(&file(2024, u64::MAX)), (vec![i64::MAX], 1));
}
