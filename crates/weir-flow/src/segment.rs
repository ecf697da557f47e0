//! Segments of TCP: their numbers, flags and limits.

/// The fields of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Sequence number of the first byte, or of the SYN.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// The lower eight flag bits of the header.
    pub flags: u8,
    /// The window as it was sent, without scaling.
    pub window: u16,
    /// Bytes of data, captured or not.
    pub len: u32,
    /// Not all of the data were captured.
    pub is_cut: bool,
    /// The window scale of a SYN (RFC 7323, 2.2); `None` without the option.
    pub scale: Option<u8>,
    /// The data are zeros that may only fill the frame up to the least length of Ethernet, counted by the length of the IP packet.
    pub may_be_padding: bool,
}

/// The FIN flag.
pub(crate) const FIN: u8 = 1;
/// The SYN flag.
pub(crate) const SYN: u8 = 2;
/// The RST flag.
pub(crate) const RST: u8 = 4;
/// The PSH flag.
pub(crate) const PSH: u8 = 8;
/// The ACK flag.
pub(crate) const ACK: u8 = 16;
/// The URG flag.
pub(crate) const URG: u8 = 32;

impl Segment {
    /// The numbers that stand in the first octets of a header (RFC 9293, 3.1), with `len` octets of data and no options.
    #[inline]
    pub(crate) const fn of_header(header: &[u8; 16], len: u32) -> Self {
        let [_, _, _, _, s3, s2, s1, s0, a3, a2, a1, a0, _, flags, w1, w0] = *header;
        Self {
            seq: u32::from_be_bytes([s3, s2, s1, s0]),
            ack: u32::from_be_bytes([a3, a2, a1, a0]),
            flags,
            window: u16::from_be_bytes([w1, w0]),
            len,
            is_cut: false,
            scale: None,
            may_be_padding: false,
        }
    }

    /// Octets of a header with its options, as its data offset says.
    #[inline]
    pub(crate) const fn header_len(header: &[u8; 16]) -> u32 {
        (header[12] >> 4) as u32 * 4
    }

    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The number of sequence numbers that it takes: those of its data, SYN and FIN. The data of a RST do not belong to the stream.
    pub(crate) const fn span(&self) -> u32 {
        let data = if self.is(RST) { 0 } else { self.len };
        data.wrapping_add(self.is(SYN) as u32)
            .wrapping_add(self.is(FIN) as u32)
    }
}

/// A jump of a SYN or RST beyond this is not believed.
pub(crate) const JUMP_MAX: i32 = 1 << 20;

/// Octets that were acknowledged before they came, at most, and how far behind the last acknowledgment they are.
pub(crate) const LATE_MAX: i32 = 1 << 24;

/// The signed distance of `a` from `b` in sequence space.
#[inline]
pub(crate) const fn beyond(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}
