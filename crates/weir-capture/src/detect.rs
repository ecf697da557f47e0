//! Recognises the format of a capture.

use std::{fmt::Write, io::Read};

use crate::{Error, Format, buffer::Buffer, erf, netmon, pcap, pcapng, snoop};

/// The format of a capture that begins with these uncompressed bytes, or `None` when they are not
/// the beginning of one.
///
/// pcap shows in 4 bytes, NetMon in 6, snoop in 8 and pcapng in 12. ERF has no magic number and is recognised by a chain of
/// at least three plausible records, for which some kilobytes should be given.
#[must_use]
pub fn sniff(prefix: &[u8]) -> Option<Format> {
    magic(prefix).or_else(|| erf::sniff(prefix).then_some(Format::Erf))
}

/// Finds the format by the first bytes of the uncompressed stream, reading no more of it than it
/// takes to tell.
pub(crate) fn detect<R: Read>(buffer: &mut Buffer<R>) -> Result<Format, Error> {
    buffer.ensure(MAGIC_BYTES)?;
    if let Some(format) = magic(buffer.window()) {
        return Ok(format);
    }
    if erf::detect(buffer)? {
        return Ok(Format::Erf);
    }
    Err(unknown(buffer.window()))
}

fn magic(prefix: &[u8]) -> Option<Format> {
    if pcap::sniff(prefix) {
        Some(Format::Pcap)
    } else if pcapng::sniff(prefix) {
        Some(Format::Pcapng)
    } else if snoop::sniff(prefix) {
        Some(Format::Snoop)
    } else if netmon::sniff(prefix) {
        Some(Format::NetMon)
    } else {
        None
    }
}

/// The error of a stream that is no capture, with the format that it looks like.
fn unknown(bytes: &[u8]) -> Error {
    if bytes.is_empty() {
        return Error::unknown_format(
            "it is empty".to_owned(),
            "the capturing program may not have written anything yet",
        );
    }
    let mut found = String::from("it begins with");
    for byte in bytes.iter().take(SHOWN_BYTES) {
        // Writing to a string does not fail.
        let _ = write!(found, " {byte:02x}");
    }
    if let Some((name, hint)) = other_compression(bytes) {
        return Error::unknown_format(format!("it is compressed with {name}"), hint);
    }
    Error::unknown_format(
        found,
        "pcap, pcapng, ERF, snoop and NetMon 2 are read; `editcap -F pcapng FILE NEW.pcapng` converts the other \
         formats that Wireshark knows",
    )
}

/// The compression of a stream that is not unpacked here, and what to do about it.
#[must_use]
pub fn other_compression(bytes: &[u8]) -> Option<(&'static str, &'static str)> {
    let (_, name, hint) = OTHER_COMPRESSIONS
        .iter()
        .find(|(magic, ..)| bytes.starts_with(magic))?;
    Some((name, hint))
}

/// The first bytes of unsupported compressions, with their names and tools.
const OTHER_COMPRESSIONS: [(&[u8], &str, &str); 4] = [
    (
        b"PK\x03\x04",
        "zip",
        "an archive must be a local file, FROM 'x.zip' or 'x.zip/member.pcap'; for others: unzip -p FILE | weir …",
    ),
    (
        b"\x02\x21\x4c\x18",
        "the legacy frames of lz4",
        "for this one: lz4 -dc FILE | weir query \"… FROM '-'\"",
    ),
    (
        b"7z\xbc\xaf\x27\x1c",
        "7-Zip",
        "for this one: 7z x -so FILE | weir query \"… FROM '-'\"",
    ),
    (
        b"\x1f\x9d",
        "compress",
        "for this one: gzip -dc FILE | weir query \"… FROM '-'\"",
    ),
];

const MAGIC_BYTES: usize = 12;
const SHOWN_BYTES: usize = 8;
