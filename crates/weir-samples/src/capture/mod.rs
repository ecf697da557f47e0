//! Capture files: pcap, pcapng and ERF, written to any [`std::io::Write`].
//!
//! Times are nanoseconds since 1970 in UTC; each writer rounds them down to what its file can say.
//! The writers do not buffer: hand them a `BufWriter` or a `Vec<u8>`.

mod erf;
mod pcap;
mod pcapng;

pub use erf::{ErfRecord, ErfWriter, erf_flags, erf_timestamp, erf_type, mc_atm, mc_hdlc};
pub use pcap::{PcapVariant, PcapWriter};
pub use pcapng::{Interface, PcapngWriter, option_code};

/// The order of the bytes of a file's own numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Endian {
    /// Least significant byte first.
    #[default]
    Little,
    /// Most significant byte first.
    Big,
}

impl Endian {
    /// The bytes of `value`.
    #[must_use]
    pub const fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// The bytes of `value`.
    #[must_use]
    pub const fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }

    /// The bytes of `value`.
    #[must_use]
    pub const fn u64(self, value: u64) -> [u8; 8] {
        match self {
            Self::Little => value.to_le_bytes(),
            Self::Big => value.to_be_bytes(),
        }
    }
}

/// Link types of pcap and pcapng (the tcpdump group's registry), those that builders here serve.
pub mod link_type {
    /// BSD null: an address family in the machine's byte order.
    pub const NULL: u16 = 0;
    /// Ethernet.
    pub const ETHERNET: u16 = 1;
    /// PPP, with or without HDLC framing.
    pub const PPP: u16 = 9;
    /// PPP in HDLC-like framing.
    pub const PPP_HDLC: u16 = 50;
    /// AAL5 payload in RFC 2684 LLC encapsulation.
    pub const ATM_RFC1483: u16 = 100;
    /// IPv4 or IPv6 without link header.
    pub const RAW: u16 = 101;
    /// Cisco HDLC.
    pub const CISCO_HDLC: u16 = 104;
    /// Frame relay.
    pub const FRAME_RELAY: u16 = 107;
    /// OpenBSD loopback: an address family, most significant byte first.
    pub const LOOP: u16 = 108;
    /// Linux cooked, version 1.
    pub const LINUX_SLL: u16 = 113;
    /// SunATM.
    pub const SUNATM: u16 = 123;
    /// ERF records.
    pub const ERF: u16 = 197;
    /// Linux cooked, version 2.
    pub const LINUX_SLL2: u16 = 276;
}

/// A length as a 32-bit field holds it.
#[track_caller]
fn length_u32(len: usize) -> u32 {
    let Ok(len) = u32::try_from(len) else {
        panic!("{len} bytes do not fit a 32-bit length field");
    };
    len
}
