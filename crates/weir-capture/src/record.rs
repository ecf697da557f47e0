//! One captured record, the interface it came from, and the names of the formats.

use std::fmt;

/// One captured record, borrowing from the reader's buffer until the next call.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// Number of the record in this file, counted from 1 as Wireshark's `frame.number`.
    pub number: u64,
    /// Byte offset of the record (or block) in the uncompressed stream.
    pub offset: u64,
    /// Nanoseconds since 1970 UTC; the nearest that there is of a time before 1677 or after 2262, which
    /// [`Reader::times_beyond`](crate::Reader::times_beyond) counts. `None` when the format has no time (pcapng simple
    /// packet block).
    pub time_ns: Option<i64>,
    /// Bytes that the packet had on the wire, as the file says. ERF counts what its record type
    /// counts, which may include a frame check sequence.
    pub wire_len: u32,
    /// LINKTYPE_ number. For `.erf` files 197, and `data` starts with the ERF record header.
    pub link_type: u32,
    /// The interface that captured it.
    pub interface: &'a Interface,
    /// The captured bytes.
    pub data: &'a [u8],
    /// The first pcapng comment of the record, if it is UTF-8.
    pub comment: Option<&'a str>,
    /// pcapng `epb_flags`: direction, reception type, FCS length, link-layer errors.
    pub flags: Option<u32>,
}

/// An interface that records were captured on. Formats without interfaces have one, number 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Interface {
    /// Number of the interface in its section, counted from 0 as Wireshark's `frame.interface_id`.
    pub id: u32,
    /// LINKTYPE_ number of its packets.
    pub link_type: u32,
    /// Most bytes that were captured of a packet; 0 when not limited.
    pub snap_len: u32,
    /// Name, such as `eth0`.
    pub name: Option<String>,
    /// Description, such as a vendor's product name.
    pub description: Option<String>,
    /// Number of the pcapng section that describes it, counted from 0.
    pub section: u32,
    /// The number of bytes of frame check sequence at the end of each packet, if the file has it.
    pub fcs_len: Option<u8>,
}

impl Interface {
    /// An interface about which only the link type is known, for tests and for records that come
    /// from elsewhere than a capture.
    #[must_use]
    pub fn new(link_type: u32) -> Self {
        Self {
            id: 0,
            link_type,
            snap_len: 0,
            name: None,
            description: None,
            section: 0,
            fcs_len: None,
        }
    }
}

/// The format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// The format of libpcap and tcpdump, with its variants.
    Pcap,
    /// The format of Wireshark (draft-ietf-opsawg-pcapng).
    Pcapng,
    /// Endace's extensible record format.
    Erf,
    /// The format of Solaris (RFC 1761).
    Snoop,
    /// Microsoft's Network Monitor, version 2.
    NetMon,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pcap => "pcap",
            Self::Pcapng => "pcapng",
            Self::Erf => "ERF",
            Self::Snoop => "snoop",
            Self::NetMon => "NetMon",
        })
    }
}

/// The compression of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// The capture is not compressed.
    None,
    /// gzip (RFC 1952), one member or several.
    Gzip,
    /// zstd (RFC 8878), one frame or several.
    Zstd,
    /// xz, one stream or several.
    Xz,
    /// bzip2, one stream or several.
    Bzip2,
    /// lz4, one frame or several.
    Lz4,
    /// A member of a zip archive.
    Zip,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Xz => "xz",
            Self::Bzip2 => "bzip2",
            Self::Lz4 => "lz4",
            Self::Zip => "zip",
        })
    }
}
