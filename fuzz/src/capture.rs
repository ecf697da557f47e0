//! Reading captures: any bytes, in any pieces.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};

use flate2::write::GzEncoder;
use weir_capture::{Compression, Error, Format, ReadOptions, Reader, record_bytes_max_of};

use crate::bits::Bits;
use crate::dribble::Dribble;

/// Reads arbitrary bytes as pcap.
pub fn pcap(bytes: &[u8]) {
    check(bytes, Some(Format::Pcap));
}

/// Reads arbitrary bytes as pcapng.
pub fn pcapng(bytes: &[u8]) {
    check(bytes, Some(Format::Pcapng));
}

/// Reads arbitrary bytes as snoop, and as NetMon.
pub fn others(bytes: &[u8]) {
    check(bytes, Some(Format::Snoop));
    check(bytes, Some(Format::NetMon));
}

/// Bytes as ERF, and as what they are taken for: ERF has no magic number.
pub fn erf(bytes: &[u8]) {
    check(bytes, Some(Format::Erf));
    check(bytes, None);
}

/// Bytes as a compressed stream, or compressed here and then perhaps damaged. The first byte
/// chooses, the second says where two members meet, the next four where damage is done.
pub fn compressed(bytes: &[u8]) {
    let mut bits = Bits(bytes);
    let mode = bits.u8() % 16;
    let meeting = usize::from(bits.u8());
    let damage = [(bits.u8(), bits.u8()), (bits.u8(), bits.u8())];
    let content = bits.0;
    let (left, right) = content.split_at(meeting.min(content.len()));
    let mut framed = match mode {
        0 => return check(content, None),
        1 => return check(&[b"\x1f\x8b\x08", content].concat(), None),
        2 => return check(&[b"\x28\xb5\x2f\xfd", content].concat(), None),
        // A skippable frame precedes the data, as in files of pzstd.
        3 => [b"\x50\x2a\x4d\x18\x02\0\0\0\xff\xff", &zstd(content)[..]].concat(),
        4 | 5 => [zstd(left), zstd(right)].concat(),
        8 => return check(&[b"\xfd7zXZ\0", content].concat(), None),
        9 => return check(&[b"BZh11A", content].concat(), None),
        10 => return check(&[b"\x04\x22\x4d\x18", content].concat(), None),
        11 => return archive(content),
        12 | 13 => [bzip2(left), bzip2(right)].concat(),
        14 | 15 => [lz4(left), lz4(right)].concat(),
        _ => [gzip(left), gzip(right)].concat(),
    };
    let plain = read(content, &options(None));
    let unframed = read(&framed[..], &options(None));
    if plain.compression == Some(Compression::None) {
        // Both readers give the same records, and the same error at the same place of the content.
        assert_eq!(plain.records, unframed.records);
        assert_eq!(plain.error, unframed.error);
    }
    // A file that is no capture may have a prefix that is one: ERF has no magic number, and a record can end at any place.
    if unframed.compression.is_some() && !is_guessed(content, &unframed) {
        check_prefix(&framed, &unframed, &options(None));
    }
    if mode % 2 == 1 {
        for (place, change) in damage {
            let place = usize::from(place) * framed.len() / 256;
            if let Some(byte) = framed.get_mut(place) {
                *byte ^= change;
            }
        }
        check(&framed, None);
    }
}

/// One record, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnedRecord {
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) time_ns: Option<i64>,
    pub(crate) wire_len: u32,
    pub(crate) link_type: u32,
    pub(crate) interface: u32,
    pub(crate) section: u32,
    pub(crate) name: Option<String>,
    pub(crate) data_len: usize,
    pub(crate) data_hash: u64,
    pub(crate) comment: Option<String>,
    pub(crate) flags: Option<u32>,
}

/// Everything that a capture gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) compression: Option<Compression>,
    pub(crate) records: Vec<OwnedRecord>,
    pub(crate) error: Option<String>,
}

/// The properties that hold for any bytes.
pub(crate) fn check(bytes: &[u8], format: Option<Format>) {
    let options = options(format);
    let whole = read(bytes, &options);
    let pieces = read(Dribble::new(bytes, &[1, 700, 3, 64]), &options);
    assert_same(&whole, &pieces, "the sizes of the pieces change the result");
    let mut roomy = options.clone();
    roomy.buffer_bytes = 9000;
    let one_by_one = read(Dribble::new(bytes, &[1]), &roomy);
    assert_same(
        &whole,
        &one_by_one,
        "the size of the buffer changes the result",
    );
    if whole.compression == Some(Compression::None) && !is_guessed(bytes, &whole) {
        check_prefix(bytes, &whole, &options);
    }
    let mut tight = options.clone();
    tight.record_bytes_max = Some(48);
    tight.block_bytes_max = 64;
    tight.interfaces_max = 2;
    let few = read(bytes, &tight);
    // The variants of pcap are recognized by plausible lengths, which a limit changes.
    if !matches!(format, None | Some(Format::Pcap)) {
        assert_eq!(few.records[..], whole.records[..few.records.len()]);
    }
}

/// A decompressor that meets damage has given more or less of what stands before it, as it was fed.
fn assert_same(one: &Outcome, other: &Outcome, what: &str) {
    let damaged = |outcome: &Outcome| {
        let error = outcome.error.as_deref();
        error.is_some_and(|error| error.contains("the compressed data is damaged"))
    };
    if damaged(one) || damaged(other) {
        let both = one.records.len().min(other.records.len());
        assert_eq!(one.records[..both], other.records[..both], "{what}");
    } else {
        assert_eq!(one, other, "{what}");
    }
}

/// Returns true when the record headers of a pcap are longer than its magic number says. The reader needs two records to see
/// that, and a cut may leave fewer.
fn is_guessed(bytes: &[u8], whole: &Outcome) -> bool {
    let (usual, is_big) = match bytes.get(..4) {
        Some(b"\xa1\xb2\xcd\x34") => (24, true),
        Some(b"\x34\xcd\xb2\xa1") => (24, false),
        Some(b"\xa1\xb2\xc3\xd4") => (16, true),
        Some(b"\xd4\xc3\xb2\xa1") => (16, false),
        _ => return false,
    };
    let [first, second, ..] = &whole.records[..] else {
        return false;
    };
    // The captured length, as the file has it: of some link types a part of it is no data. Before version 2.4 the
    // two lengths stand the other way round.
    let length = |at: u64| {
        let at = usize::try_from(first.offset + at).ok()?;
        let raw = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(u64::from(if is_big {
            u32::from_be_bytes(raw)
        } else {
            u32::from_le_bytes(raw)
        }))
    };
    let taken = second.offset - first.offset;
    let is_usual = |len: Option<u64>| len.is_some_and(|len| usual + len == taken);
    let number = |at: usize| {
        let raw = [bytes[at], bytes[at + 1]];
        if is_big {
            u16::from_be_bytes(raw)
        } else {
            u16::from_le_bytes(raw)
        }
    };
    let is_old = matches!((number(4), number(6)), (2, 0..=3) | (543, _));
    !is_usual(length(8)) && !(is_old && is_usual(length(12)))
}

/// A capture that was cut gives the records before the cut.
fn check_prefix(bytes: &[u8], whole: &Outcome, options: &ReadOptions) {
    for cut in [
        bytes.len() / 3,
        bytes.len() / 2,
        bytes.len().saturating_sub(1),
    ] {
        let cut = read(&bytes[..cut], options);
        assert!(cut.records.len() <= whole.records.len());
        assert_eq!(cut.records[..], whole.records[..cut.records.len()]);
    }
}

pub(crate) fn options(format: Option<Format>) -> ReadOptions {
    let mut options = ReadOptions::default();
    options.buffer_bytes = 4096;
    options.format = format;
    // 1 MiB: what a frame asks for is allocated before its content is seen.
    options.zstd_window_log_max = 20;
    options
}

/// Reads to the end, or to as much as a fuzzer has time for, and checks each record by itself.
pub(crate) fn read(source: impl Read, options: &ReadOptions) -> Outcome {
    let mut reader = match Reader::with_options(source, options) {
        Ok(reader) => reader,
        Err(error) => {
            return Outcome {
                compression: None,
                records: Vec::new(),
                error: Some(error_text(&error)),
            };
        }
    };
    let mut outcome = Outcome {
        compression: Some(reader.compression()),
        records: Vec::new(),
        error: None,
    };
    let mut end = 0;
    loop {
        match reader.next() {
            Ok(Some(record)) => {
                assert_eq!(record.link_type, record.interface.link_type);
                let most = match options.record_bytes_max {
                    Some(most) => most,
                    None => record_bytes_max_of(record.link_type),
                };
                // The length of an ERF record, 16 bits, is a limit of its own.
                if record.link_type != 197 || options.format != Some(Format::Erf) {
                    assert!(record.data.len() <= (most as usize).max(65_535));
                }
                // Each takes up its data and at least 12 bytes of header, behind the one before.
                assert!(record.offset >= end);
                end = record.offset + record.data.len() as u64;
                let mut hasher = DefaultHasher::new();
                record.data.hash(&mut hasher);
                outcome.records.push(OwnedRecord {
                    number: record.number,
                    offset: record.offset,
                    time_ns: record.time_ns,
                    wire_len: record.wire_len,
                    link_type: record.link_type,
                    interface: record.interface.id,
                    section: record.interface.section,
                    name: record.interface.name.clone(),
                    data_len: record.data.len(),
                    data_hash: hasher.finish(),
                    comment: record.comment.map(ToOwned::to_owned),
                    flags: record.flags,
                });
            }
            Ok(None) => break,
            Err(error) => {
                outcome.error = Some(error_text(&error));
                break;
            }
        }
        assert!(reader.bytes_read() >= end);
        if outcome.records.len() >= RECORDS_MAX || end > BYTES_MAX {
            return outcome;
        }
    }
    for _ in 0..2 {
        assert!(matches!(reader.next(), Ok(None)), "an end is an end");
    }
    let numbers = outcome.records.windows(2);
    for pair in numbers {
        assert!(pair[0].number < pair[1].number);
    }
    // Each has a header of at least 12 bytes.
    assert!(outcome.records.len() as u64 * 12 <= reader.bytes_read());
    outcome
}

/// The message, checked as far as any message can be.
fn error_text(error: &Error) -> String {
    let message = error.to_string();
    assert!(!message.is_empty() && !message.ends_with('.'));
    // The offset at which a decompressor notices damage depends on the size of its input chunks.
    let message = match message.rsplit_once(" at byte ") {
        Some((message, place)) if place.ends_with("of the compressed file") => message,
        _ => &message,
    };
    format!("{:?}: {message}", error.kind())
}

/// Bytes as a zip archive: no member gives more than its limits, and each has an end.
fn archive(bytes: &[u8]) {
    let mut file = tempfile::NamedTempFile::new().expect("there is a folder for temporary files");
    let written = file.write_all(&[b"PK\x03\x04", bytes].concat());
    written.expect("the disk takes some kilobytes");
    let Ok(Some(archive)) = weir_capture::Archive::open(file.path()) else {
        return;
    };
    for member in archive.members().into_iter().take(8) {
        if let Ok(bytes) = weir_capture::Object::open(&*member, 0..u64::MAX) {
            read(bytes, &options(None));
        }
    }
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(bytes).expect("a Vec takes all bytes");
    encoder.finish().expect("a Vec takes all bytes")
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).expect("a Vec takes all bytes");
    encoder.finish().expect("a Vec takes all bytes")
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("a Vec takes all bytes");
    encoder.finish().expect("a Vec takes all bytes")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("a Vec takes all bytes")
}

/// Some compressed streams are a thousand times as long when inflated.
const BYTES_MAX: u64 = 1 << 20;
const RECORDS_MAX: usize = 4096;
