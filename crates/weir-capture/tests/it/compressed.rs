//! gzip and zstd: several members, padding, damage, and windows that are too large.

use std::io::Write;

use crate::common::*;
use flate2::{GzBuilder, write::GzEncoder};
use weir_capture::{Compression, ErrorKind, Format, Options, Reader};

const RECORDS: usize = 5_000;

/// A pcap that compresses well but not to nothing: half a megabyte.
fn capture() -> Vec<u8> {
    let mut file = pcap_header(Little, 0xa1b2_c3d4, (2, 4), 1);
    let mut random = 1_u32;
    for number in 0..RECORDS as u32 {
        let data: Vec<u8> = (0..84)
            .map(|_| {
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (random >> 28) as u8
            })
            .collect();
        file.extend(pcap_record(Little, (number, 0), &data, 84));
    }
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

#[test]
fn compression_is_found_by_content() {
    let file = capture();
    for (bytes, compression) in [
        (file.clone(), Compression::None),
        (gzip(&file), Compression::Gzip),
        (zstd(&file), Compression::Zstd),
        // A skippable frame first, as pzstd writes.
        (
            [b"\x50\x2a\x4d\x18\x04\0\0\0abcd".to_vec(), zstd(&file)].concat(),
            Compression::Zstd,
        ),
    ] {
        let mut reader = Reader::new(&bytes[..]).unwrap();
        assert_eq!(
            (reader.compression(), reader.format()),
            (compression, Format::Pcap)
        );
        let mut count = 0;
        let mut source_bytes = 0;
        while let Some(record) = reader.next().unwrap() {
            count += 1;
            assert_eq!(record.number, count);
            assert!(reader.source_bytes() >= source_bytes);
            source_bytes = reader.source_bytes();
        }
        assert_eq!(count, RECORDS as u64);
        assert_eq!(reader.bytes_read(), file.len() as u64);
        assert_eq!(reader.source_bytes(), bytes.len() as u64);
    }
}

#[test]
fn members_and_frames_follow_each_other() {
    let file = &capture()[..24 + 100 * 800];
    let parts: Vec<_> = file.chunks(9_000).collect();
    for bytes in [
        parts.iter().flat_map(|part| gzip(part)).collect::<Vec<_>>(),
        parts.iter().flat_map(|part| zstd(part)).collect(),
        [gzip(file), gzip(b""), vec![0; 512]].concat(),
        [gzip(b""), gzip(file)].concat(),
        [zstd(b""), zstd(file), zstd(b"")].concat(),
        {
            let named = GzBuilder::new()
                .filename("x.pcap")
                .comment("of us")
                .extra(vec![1, 2, 3]);
            let mut encoder = named.write(Vec::new(), flate2::Compression::fast());
            encoder.write_all(file).unwrap();
            encoder.finish().unwrap()
        },
    ] {
        for most in [2, 100, 1 << 20] {
            let (kept, error) = read_all(Reader::new(Dribble::new(&bytes[..], most, 7)));
            assert!(error.is_none(), "{error:?}");
            assert_eq!(kept.len(), 800);
        }
    }
}

#[test]
fn damage_comes_after_the_records_before_it() {
    let file = capture();
    let (gzip, zstd) = (gzip(&file), zstd(&file));
    let changed = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x55;
        bytes
    };
    let last = gzip.len() - 1;
    for (name, bytes, least, message) in [
        (
            "gzip cut",
            gzip[..gzip.len() / 2].to_vec(),
            2400,
            "gzip: the file is cut short",
        ),
        (
            "gzip without trailer",
            gzip[..last - 3].to_vec(),
            RECORDS,
            "gzip: the file is cut short",
        ),
        (
            "gzip length",
            changed(&gzip, last),
            RECORDS,
            "gzip: the length does not match the data",
        ),
        (
            "gzip checksum",
            changed(&gzip, last - 4),
            RECORDS,
            "gzip: the checksum does not match",
        ),
        (
            "something after gzip",
            [&gzip[..], b"something"].concat(),
            RECORDS,
            "gzip: what follows the last member is not gzip",
        ),
        (
            "zstd cut",
            zstd[..zstd.len() / 2].to_vec(),
            1200,
            "zstd: the file is cut short",
        ),
        (
            "zstd checksum",
            zstd[..zstd.len() - 1].to_vec(),
            2400,
            "zstd: the file is cut short",
        ),
        (
            "something after zstd",
            [&zstd[..], b"something"].concat(),
            RECORDS,
            "zstd: the compressed data is damaged (Unknown frame descriptor)",
        ),
    ] {
        let (kept, error) = read_all(Reader::new(&bytes[..]));
        let error = error.unwrap_or_else(|| panic!("{name}: no error"));
        assert_eq!(error.kind(), ErrorKind::Decompress, "{name}");
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert!(kept.len() >= least, "{name}: {} records", kept.len());
        // Where the record would be, in both streams.
        let offset = 24 + 100 * kept.len() as u64;
        let start = format!("pcap record {} at byte {offset}: ", kept.len() + 1);
        assert!(error.to_string().starts_with(&start), "{name}: {error}");
        assert!(
            error.to_string().ends_with(" of the compressed file"),
            "{name}: {error}"
        );
    }
}

#[test]
fn blocks_before_a_damaged_one_are_given_even_when_the_decoder_sees_both_at_once() {
    let file = capture();
    // Frames of one block each: the second is damaged, in its block header.
    let (left, right) = file.split_at(100_024);
    let mut second = zstd(right);
    second[9] ^= 0xff;
    let bytes = [zstd(left), second].concat();
    let (kept, error) = read_all(Reader::new(&bytes[..]));
    assert_eq!(error.unwrap().kind(), ErrorKind::Decompress);
    assert!(kept.len() >= 1000, "{} records", kept.len());
    // One frame of several blocks, cut anywhere: never fewer than the whole blocks before.
    let whole = zstd(&file);
    for eighth in 1..8 {
        let (kept, _) = read_all(Reader::new(&whole[..whole.len() * eighth / 8]));
        let blocks = eighth * file.len() / 8 / (128 << 10);
        assert!(
            kept.len() + 10 >= blocks * (128 << 10) / 100,
            "{eighth}: {}",
            kept.len()
        );
    }
}

#[test]
fn a_window_beyond_the_limit_is_refused_with_a_hint() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(24).unwrap();
    encoder.write_all(&capture()).unwrap();
    let bytes = encoder.finish().unwrap();
    assert!(Reader::new(&bytes[..]).is_ok());
    let mut options = Options::default();
    options.zstd_window_log_max = 20;
    let error = Reader::with_options(&bytes[..], &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(
        error
            .to_string()
            .contains("the window is larger than the limit"),
        "{error}"
    );
    assert!(error.hint().is_some());
}

#[test]
fn what_is_compressed_but_no_capture_is_unknown() {
    for bytes in [gzip(b"time,source\n1,2\n"), zstd(b""), gzip(b"")] {
        let error = Reader::new(&bytes[..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::UnknownFormat);
    }
}
