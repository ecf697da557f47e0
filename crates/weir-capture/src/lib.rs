//! Reads and writes captures in their file formats.
//!
//! Whatever it is: pcap, pcapng, ERF, snoop or NetMon 2; plain, or compressed by gzip, zstd, xz, bzip2 or lz4; a file, a
//! member of a zip archive, a pipe, or several files in the order of time. Format and compression are found by content.
//!
//! ```
//! # let capture = b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0\
//! #     \x01\0\0\0\x02\0\0\0\x04\0\0\0\x3c\0\0\0\xca\xfe\xba\xbe";
//! let mut reader = weir_capture::Reader::new(&capture[..])?;
//! assert_eq!(reader.format(), weir_capture::Format::Pcap);
//! let mut wire_bytes = 0;
//! while let Some(record) = reader.next()? {
//!     println!("{}: {} of {} bytes", record.number, record.data.len(), record.wire_len);
//!     wire_bytes += record.wire_len;
//! }
//! assert_eq!(wire_bytes, 60);
//! # Ok::<(), weir_capture::Error>(())
//! ```
//!
//! Damage is ordinary: a capture that is cut short gives all of its good records, then one
//! [`Error`] that says what is wrong and where, then its end.
//!
//! This crate deliberately does not know what is in a packet (that is weir-packet's question), nor
//! about tables, threads or standard input: anything that implements [`Read`](std::io::Read) is a
//! source, and anything that implements [`Write`](std::io::Write) is where a [`Writer`] puts records. It opens files
//! and nothing else: what lies elsewhere is an [`Object`] that the caller has found.

mod buffer;
mod confined;
mod detect;
mod erf;
mod error;
mod files;
mod framing;
mod input;
mod knowledge;
mod merge;
mod netmon;
mod object;
mod options;
mod pattern;
mod pcap;
mod pcapng;
mod pieces;
mod plausible;
mod reader;
mod record;
mod repeated;
mod snoop;
mod split;
mod stream;
mod write;
mod zip;

pub use confined::{Opener, confine, lies_below, open_local};
pub use detect::{other_compression, sniff};
pub use error::{Error, ErrorKind, Location, Reason};
pub use files::{
    CaptureFile, expand, expand_within, from_home, is_capture_at, is_capture_name, open, open_with,
    read_small, shown, sniff_path, sniff_reader, uncompressed_name,
};
pub use framing::RecordFraming;
pub use input::Uncompressed;
pub use merge::{FileError, Merge};
pub use object::{Object, ReadObject, is_remote, redacted};
pub use options::{ReadOptions, RepeatsKey, record_bytes_max_of};
pub use pattern::NamePattern;
pub use pieces::Pieces;
pub use reader::Reader;
pub use record::{Compression, Format, Interface, Record};
pub use split::{Certificate, PartSource, Split};
pub use write::{WriteError, WriteRecord, Writer};
pub use zip::{Archive, ArchiveMember};

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
