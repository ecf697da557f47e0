//! The link types of captures (the LINKTYPE_ registry of the pcap formats).

/// What a captured frame starts with: a LINKTYPE_ number of the pcap and pcapng formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkType(pub u32);

impl LinkType {
    /// BSD loopback: a protocol family in the byte order of the capturing host.
    pub const NULL: Self = Self(0);
    /// IEEE 802.3 Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// SunATM devices: direction and type, VPI, VCI, then the PDU.
    pub const SUNATM: Self = Self(123);
    /// Endace ERF record, header included.
    pub const ERF: Self = Self(197);

    /// Bytes of `data` that the capturing system put before the frame and that do not count in
    /// `frame.len`, as Wireshark counts: the ERF header, SunATM's four bytes, and the like.
    #[inline]
    #[must_use]
    pub fn pseudo_header_len(self, data: &[u8]) -> u32 {
        match self {
            Self::ETHERNET => 0,
            _ => self.rare_pseudo_header_len(data),
        }
    }

    fn rare_pseudo_header_len(self, data: &[u8]) -> u32 {
        match self.0 {
            // SunATM: direction, VPI, VCI.
            123 => 4,
            // ERF: record header, extension headers, the header of the record's type.
            197 => crate::protocol::erf_header_len(data)
                .and_then(|len| u32::try_from(len).ok())
                .unwrap_or(u32::MAX),
            // Linux IrDA and LAPD: a cooked header.
            144 | 177 => 16,
            // MTP2: direction and link; Bluetooth H4: direction; Bluetooth monitor: opcode.
            139 | 201 | 254 => 4,
            // SITA.
            196 => 5,
            // PPP and frame relay with a byte of direction.
            204 | 206 => 1,
            // I2C: bus and flags.
            209 => 5,
            // NFC LLCP: adapter and direction.
            245 => 2,
            _ => 0,
        }
    }

    /// Length on the wire that the capturing system's own header in `data` tells, which counts
    /// more than what the capture says: ERF's, whose records are padded.
    #[inline]
    pub(crate) fn inner_wire_len(self, data: &[u8]) -> Option<u32> {
        match self {
            Self::ERF => crate::protocol::erf_wire_len(data),
            _ => None,
        }
    }

    /// True for a link type that has a number in the registry (up to 2025), decoded or not. A
    /// frame of one that is not decoded is a row without columns, and no damage.
    pub(crate) const fn is_registered(self) -> bool {
        matches!(self.0, 0..=19 | 32 | 50..=51 | 98..=109 | 112..=166 | 169..=301)
    }
}
