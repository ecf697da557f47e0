//! gzip, zstd, xz, bzip2 and lz4: several members, padding, damage, and windows that are too large; members of zip archives.

use std::io::Write;

use crate::common::*;
use flate2::{GzBuilder, write::GzEncoder};
use weir_capture::{Archive, Compression, ErrorKind, Format, Object, ReadOptions, Reader};
use weir_testkit::Limited as _;

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

fn xz(bytes: &[u8]) -> Vec<u8> {
    let options = lzma_rust2::XzOptions::with_preset(1);
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let info = lz4_flex::frame::FrameInfo::new()
        .block_size(lz4_flex::frame::BlockSize::Max64KB)
        .content_checksum(true);
    let mut encoder = lz4_flex::frame::FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compression_is_found_by_content() {
    let file = capture();
    for (bytes, compression) in [
        (file.clone(), Compression::None),
        (gzip(&file), Compression::Gzip),
        (zstd(&file), Compression::Zstd),
        (xz(&file), Compression::Xz),
        (bzip2(&file), Compression::Bzip2),
        (lz4(&file), Compression::Lz4),
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
        parts.iter().flat_map(|part| xz(part)).collect(),
        [xz(b""), vec![0; 8], xz(file), vec![0; 4]].concat(),
        parts.iter().flat_map(|part| bzip2(part)).collect(),
        [bzip2(b""), bzip2(file)].concat(),
        parts.iter().flat_map(|part| lz4(part)).collect(),
        [
            lz4(file),
            b"\x51\x2a\x4d\x18\x03\0\0\0abc".to_vec(),
            lz4(b""),
        ]
        .concat(),
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
    let (xz, bzip2, lz4) = (xz(&file), bzip2(&file), lz4(&file));
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
            "gzip: the data after the last member is not gzip",
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
        (
            "xz cut",
            xz[..xz.len() / 2].to_vec(),
            2400,
            "xz: the file is cut short",
        ),
        (
            "xz without its index",
            xz[..xz.len() - 20].to_vec(),
            RECORDS,
            "xz: the file is cut short",
        ),
        (
            "xz footer",
            changed(&xz, xz.len() - 1),
            RECORDS,
            "xz: the compressed data is damaged",
        ),
        (
            "something after xz",
            [&xz[..], b"something"].concat(),
            RECORDS,
            "xz: the compressed data is damaged",
        ),
        (
            "bzip2 cut",
            bzip2[..bzip2.len() / 2].to_vec(),
            1800,
            "bzip2: the file is cut short",
        ),
        (
            "bzip2 checksum",
            changed(&bzip2, bzip2.len() - 2),
            RECORDS - 1,
            "bzip2: the compressed data is damaged",
        ),
        (
            "something after bzip2",
            [&bzip2[..], b"something"].concat(),
            RECORDS,
            "bzip2: the data after the last stream is not bzip2",
        ),
        (
            "lz4 cut",
            lz4[..lz4.len() / 2].to_vec(),
            1900,
            "lz4: the file is cut short",
        ),
        (
            "lz4 without its end",
            lz4[..lz4.len() - 8].to_vec(),
            RECORDS,
            "lz4: the file is cut short",
        ),
        (
            "lz4 checksum",
            changed(&lz4, lz4.len() - 1),
            RECORDS,
            "lz4: the compressed data is damaged",
        ),
        (
            "something after lz4",
            [&lz4[..], b"something"].concat(),
            RECORDS,
            "lz4: the data after the last frame is not lz4",
        ),
    ] {
        let (kept, error) = read_all(Reader::new(&bytes[..]));
        let error = error.unwrap_or_else(|| panic!("{name}: no error"));
        assert_eq!(error.kind(), ErrorKind::Decompress, "{name}");
        assert!(error.to_string().contains(message), "{name}: {error}");
        assert!(kept.len() >= least, "{name}: {} records", kept.len());
        // The message has the offset of the missing record in the decompressed and in the compressed stream.
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
    let mut options = ReadOptions::default();
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

#[test]
fn an_xz_dictionary_beyond_the_limit_is_refused_with_a_hint() {
    let mut options = lzma_rust2::XzOptions::with_preset(1);
    options.lzma_options.dict_size = 64 << 20;
    let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
    encoder.write_all(&capture()).unwrap();
    let bytes = encoder.finish().unwrap();
    assert!(Reader::new(&bytes[..]).is_ok());
    let mut options = ReadOptions::default();
    options.zstd_window_log_max = 20;
    let error = Reader::with_options(&bytes[..], &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    let told = error.to_string();
    assert!(
        told.contains("the dictionary is larger than the limit"),
        "{told}"
    );
    assert!(error.hint().is_some_and(|hint| hint.contains("xz -dc")));
}

/// Damage of any kind causes no panic, ends the reading, and adds no record.
#[test]
fn no_damage_of_a_compressed_capture_makes_records_up() {
    let file = &capture()[..24 + 100 * 300];
    let (whole, _) = read_all(Reader::new(file));
    for packed in [gzip(file), zstd(file), xz(file), bzip2(file), lz4(file)] {
        for cut in (0..packed.len()).step_by(211) {
            let (kept, _) = read_all(Reader::new(&packed[..cut]));
            assert_eq!(kept[..], whole[..kept.len()]);
            let mut changed = packed.clone();
            changed[cut] ^= 0x10;
            let (kept, _) = read_all(Reader::new(&changed[..]));
            assert!(kept.len() <= 100_000);
        }
    }
}

/// Reads the output of each format's own program, with common options.
#[test]
fn what_xz_bzip2_lz4_and_zip_write_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = capture();
    std::fs::write(folder.path().join("a.pcap"), &file).unwrap();
    for (program, arguments, written) in [
        ("xz", "-k -9 -C sha256", "a.pcap.xz"),
        (
            "xz",
            "-kf -T2 --block-size=100KiB --x86 --lzma2",
            "a.pcap.xz",
        ),
        ("bzip2", "-k -9", "a.pcap.bz2"),
        ("lz4", "-q -f -BD -9", "a.pcap.lz4"),
        ("lz4", "-q -f -B4 -BX --content-size", "a.pcap.lz4"),
    ] {
        let mut command = std::process::Command::new(program);
        command.args(arguments.split(' ')).arg("a.pcap");
        // lz4 writes to standard output where that is no terminal, unless an argument names a file.
        command.args((program == "lz4").then_some(written));
        match command.current_dir(folder.path()).status_limited() {
            Ok(status) => assert!(status.success(), "{program} {arguments}"),
            Err(_) => {
                weir_testkit::missing(program, "what it writes is not read");
                continue;
            }
        }
        let (kept, error) = read_all(weir_capture::open(&folder.path().join(written)));
        assert!(error.is_none(), "{program} {arguments}: {error:?}");
        assert_eq!(kept.len(), RECORDS, "{program} {arguments}");
    }
}

/// Writes a zip archive as `zip` does: a way to compress, names and contents.
fn archive(method: u16, members: &[(&str, &[u8])], as_it_comes: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut directory = Vec::new();
    for (name, content) in members {
        let packed = match method {
            0 => content.to_vec(),
            8 => {
                let level = flate2::Compression::fast();
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), level);
                encoder.write_all(content).unwrap();
                encoder.finish().unwrap()
            }
            12 => bzip2(content),
            93 => zstd(content),
            _ => xz(content),
        };
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut sizes = Vec::new();
        for number in [crc.sum(), packed.len() as u32, content.len() as u32] {
            sizes.extend(number.to_le_bytes());
        }
        let flags: u16 = if as_it_comes { 8 } else { 0 };
        let start = bytes.len() as u32;
        let common = |sizes: &[u8]| {
            let mut fields = vec![20, 0];
            fields.extend(flags.to_le_bytes());
            fields.extend(method.to_le_bytes());
            fields.extend([0; 4]);
            fields.extend(sizes);
            fields.extend((name.len() as u16).to_le_bytes());
            fields
        };
        bytes.extend(b"PK\x03\x04");
        bytes.extend(common(if as_it_comes { &[0; 12] } else { &sizes }));
        bytes.extend([0, 0]);
        bytes.extend(name.as_bytes());
        bytes.extend(&packed);
        if as_it_comes {
            bytes.extend(b"PK\x07\x08");
            bytes.extend(&sizes);
        }
        directory.extend(b"PK\x01\x02\x14\0");
        directory.extend(common(&sizes));
        directory.extend([0; 12]);
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let at = bytes.len() as u32;
    bytes.extend(&directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    let count = members.len() as u16;
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend((directory.len() as u32).to_le_bytes());
    bytes.extend(at.to_le_bytes());
    bytes.extend(b"\x05\0hello");
    bytes
}

type Read = (String, Vec<OwnedRecord>, Option<weir_capture::Error>);

/// All members with their records.
fn read_archive(bytes: &[u8]) -> Result<Vec<Read>, weir_capture::Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zip");
    std::fs::write(&path, bytes).unwrap();
    let archive = Archive::open(&path)?.expect("it is an archive");
    let read = |member: std::sync::Arc<weir_capture::ArchiveMember>| {
        let name = member.name().rsplit_once("x.zip/").unwrap().1.to_owned();
        let (kept, error) = match member.open(0..u64::MAX) {
            Ok(bytes) => read_all(Reader::new(bytes)),
            Err(error) => panic!("{name}: {error}"),
        };
        (name, kept, error)
    };
    Ok(archive.members().into_iter().map(read).collect())
}

#[test]
fn members_of_an_archive_are_read_in_the_order_of_their_names() {
    let (file, short) = (capture(), &capture()[..124]);
    let packed = gzip(&file);
    let members: [(&str, &[u8]); 5] = [
        ("day/b.pcap", &file),
        ("a.pcap", short),
        ("c.pcap.gz", &packed),
        ("__MACOSX/a.pcap", b"x"),
        ("day/", b""),
    ];
    for method in [0, 8, 12, 93, 95] {
        for as_it_comes in [false, true] {
            let bytes = archive(method, &members, as_it_comes);
            // Another program stands in front of an archive that unpacks itself: its directory does not count that. The
            // beginning is the archive's own here, so that it is taken for one.
            let shifted = [&b"PK\x03\x04 and a program"[..], &bytes].concat();
            for bytes in [bytes, shifted] {
                let read = read_archive(&bytes).unwrap();
                let told: Vec<_> = read
                    .iter()
                    .map(|(name, kept, error)| {
                        assert!(error.is_none(), "{method} {name}: {error:?}");
                        (name.as_str(), kept.len())
                    })
                    .collect();
                let expected = [
                    ("a.pcap", 1),
                    ("c.pcap.gz", RECORDS),
                    ("day/b.pcap", RECORDS),
                ];
                assert_eq!(told, expected, "{method} {as_it_comes}");
            }
        }
    }
}

#[test]
fn an_archive_that_is_cut_gives_what_is_there_and_says_so() {
    let (file, short) = (capture(), &capture()[..124]);
    let bytes = archive(8, &[("a.pcap", short), ("b.pcap", &file)], false);
    let read = read_archive(&bytes[..bytes.len() / 2]).unwrap();
    assert_eq!((read[0].1.len(), read[0].2.is_none()), (1, true));
    let error = read[1].2.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::Decompress);
    assert!(
        error
            .to_string()
            .contains("zip: the file is cut short at byte"),
        "{error}"
    );
    assert!(read[1].1.len() > 2000, "{}", read[1].1.len());
    // The members are whole, and the directory is not.
    let read = read_archive(&bytes[..bytes.len() - 40]).unwrap();
    assert_eq!((read[0].1.len(), read[1].1.len()), (1, RECORDS));
    let error = read[1].2.as_ref().unwrap();
    assert!(
        error.to_string().contains("the archive is cut short"),
        "{error}"
    );
    // A member that is not what was put in.
    let mut changed = archive(0, &[("a.pcap", &file)], false);
    changed[1000] ^= 1;
    let read = read_archive(&changed).unwrap();
    let error = read[0].2.as_ref().unwrap();
    assert!(
        error.to_string().contains("the checksum does not match"),
        "{error}"
    );
    assert_eq!(read[0].1.len(), RECORDS);
}

#[test]
fn no_damage_of_an_archive_is_a_panic() {
    let file = &capture()[..24 + 100 * 20];
    let members: [(&str, &[u8]); 2] = [("a.pcap", file), ("b.pcap", file)];
    for as_it_comes in [false, true] {
        let bytes = archive(8, &members, as_it_comes);
        for at in (4..bytes.len()).step_by(3) {
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            for bytes in [&changed[..], &bytes[..at]] {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("x.zip");
                std::fs::write(&path, bytes).unwrap();
                let Ok(Some(archive)) = Archive::open(&path) else {
                    continue;
                };
                for member in archive.members() {
                    if let Ok(bytes) = member.open(0..u64::MAX) {
                        let (kept, _) = read_all(Reader::new(bytes));
                        assert!(kept.len() <= 1000);
                    }
                }
            }
        }
    }
}

#[test]
fn members_are_named_behind_their_archive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("day.ZIP");
    let file = capture();
    let members: [(&str, &[u8]); 3] = [("a.pcap", &file), ("n/b.pcap", &file), ("c.txt", b"c")];
    std::fs::write(&path, archive(8, &members, false)).unwrap();
    let address = format!("{}/*.pcap", path.display());
    let (found, pattern) = Archive::of_address(&address).unwrap();
    assert_eq!((&found, pattern), (&path, "*.pcap"));
    let archive = Archive::open(&path).unwrap().unwrap();
    let named = |pattern: &str| -> Vec<String> {
        let found = archive.matching(pattern).unwrap_or_default();
        let name = |member: &std::sync::Arc<weir_capture::ArchiveMember>| {
            member.name().rsplit_once(".ZIP/").unwrap().1.to_owned()
        };
        found.iter().map(name).collect()
    };
    assert_eq!(named("*.pcap"), ["a.pcap", "n/b.pcap"]);
    assert_eq!(named("n/b.pcap"), ["n/b.pcap"]);
    assert!(archive.matching("d.pcap").is_err());
    assert!(Archive::of_address("no/such.zip/a.pcap").is_none());
    let plain = folder.path().join("plain.zip");
    std::fs::write(&plain, &file).unwrap();
    assert!(Archive::open(&plain).unwrap().is_none());
}
