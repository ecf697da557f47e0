//! Frame relay: Q.922 addresses, the ways to carry IP (RFC 2427), and the signalling of a link.

use super::link::snap;

/// The address of a frame (ITU-T Q.922 section 3.3), in one of the lengths that Q.922 has.
///
/// ```
/// use weir_samples::packet::FrameRelay;
///
/// let address = FrameRelay::new(100);
/// assert_eq!(address.address(), [0x18, 0x41]);
/// let frame = address.ip(&[0x45, 0x00]);
/// assert_eq!(frame, [0x18, 0x41, 0x03, 0xcc, 0x45, 0x00]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRelay {
    /// Data link connection identifier: 10, 16 or 23 bits for addresses of 2, 3 or 4 bytes.
    pub dlci: u32,
    /// Length of the address: 2, 3 or 4 bytes. Anything else is written as 2.
    pub address_bytes: u8,
    /// Command or response.
    pub command: bool,
    /// Forward explicit congestion notification.
    pub forward_congestion: bool,
    /// Backward explicit congestion notification.
    pub backward_congestion: bool,
    /// Eligible to be discarded.
    pub discard_eligible: bool,
}

impl FrameRelay {
    /// An address of two bytes with no flag set.
    #[must_use]
    pub const fn new(dlci: u32) -> Self {
        Self::with_address_bytes(dlci, 2)
    }

    /// An address of 2, 3 or 4 bytes with no flag set.
    #[must_use]
    pub const fn with_address_bytes(dlci: u32, address_bytes: u8) -> Self {
        Self {
            dlci,
            address_bytes,
            command: false,
            forward_congestion: false,
            backward_congestion: false,
            discard_eligible: false,
        }
    }

    /// The address alone. The last byte has the address extension bit; its D/C bit is 0.
    #[must_use]
    pub fn address(&self) -> Vec<u8> {
        let dlci = self.dlci;
        let flags = (u8::from(self.forward_congestion) << 3)
            | (u8::from(self.backward_congestion) << 2)
            | (u8::from(self.discard_eligible) << 1);
        let command = u8::from(self.command) << 1;
        let bits = |shift: u32, mask: u32| ((dlci >> shift) & mask) as u8;
        match self.address_bytes {
            3 => vec![
                (bits(10, 0x3f) << 2) | command,
                (bits(6, 0x0f) << 4) | flags,
                (bits(0, 0x3f) << 2) | 1,
            ],
            4 => vec![
                (bits(17, 0x3f) << 2) | command,
                (bits(13, 0x0f) << 4) | flags,
                bits(6, 0x7f) << 1,
                (bits(0, 0x3f) << 2) | 1,
            ],
            _ => vec![
                (bits(4, 0x3f) << 2) | command,
                (bits(0, 0x0f) << 4) | flags | 1,
            ],
        }
    }

    /// Address, control 0x03 (unnumbered information), NLPID, payload.
    #[must_use]
    pub fn nlpid(&self, nlpid: u8, payload: &[u8]) -> Vec<u8> {
        let mut frame = self.address();
        frame.extend_from_slice(&[0x03, nlpid]);
        frame.extend_from_slice(payload);
        frame
    }

    /// IPv4 behind NLPID 0xCC.
    #[must_use]
    pub fn ip(&self, packet: &[u8]) -> Vec<u8> {
        self.nlpid(nlpid::IPV4, packet)
    }

    /// IPv6 behind NLPID 0x8E.
    #[must_use]
    pub fn ipv6(&self, packet: &[u8]) -> Vec<u8> {
        self.nlpid(nlpid::IPV6, packet)
    }

    /// A pad byte, NLPID 0x80 and a SNAP header with organisation zero, so that the payload starts
    /// on an even byte (RFC 2427 section 4.1).
    #[must_use]
    pub fn snap(&self, ethertype: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = self.address();
        frame.extend_from_slice(&[0x03, 0x00, nlpid::SNAP]);
        frame.extend_from_slice(&snap([0, 0, 0], ethertype, payload));
        frame
    }

    /// Cisco's encapsulation: the ethertype directly behind the address.
    #[must_use]
    pub fn cisco(&self, ethertype: u16, payload: &[u8]) -> Vec<u8> {
        let mut frame = self.address();
        frame.extend_from_slice(&ethertype.to_be_bytes());
        frame.extend_from_slice(payload);
        frame
    }

    /// A whole bridged Ethernet frame without FCS: SNAP with organisation 0080C2, type 0007
    /// (RFC 2427 section 4.2).
    #[must_use]
    pub fn bridged_ethernet(&self, frame: &[u8]) -> Vec<u8> {
        let mut bytes = self.address();
        bytes.extend_from_slice(&[0x03, 0x00, nlpid::SNAP]);
        bytes.extend_from_slice(&snap([0x00, 0x80, 0xc2], 0x0007, frame));
        bytes
    }

    /// A status message of ITU-T Q.933 annex A (permanent virtual circuits) on DLCI 0.
    #[must_use]
    pub fn lmi(message: &Lmi<'_>) -> Vec<u8> {
        Self::new(0).nlpid(nlpid::Q933, &message.body())
    }
}

/// Network layer protocol identifiers (ISO/IEC TR 9577).
pub mod nlpid {
    /// Call control and link management of Q.933.
    pub const Q933: u8 = 0x08;
    /// A SNAP header follows.
    pub const SNAP: u8 = 0x80;
    /// IPv6.
    pub const IPV6: u8 = 0x8e;
    /// IPv4.
    pub const IPV4: u8 = 0xcc;
    /// PPP (RFC 1973).
    pub const PPP: u8 = 0xcf;
}

/// A message of the local management interface (ITU-T Q.933 annex A).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lmi<'a> {
    /// The user's side asks.
    StatusEnquiry {
        /// Whether the message requests the state of every circuit, or only sequence numbers.
        full: bool,
        /// The sender's sequence number.
        send: u8,
        /// The last number received.
        received: u8,
    },
    /// The network's side answers.
    Status {
        /// The sender's sequence number.
        send: u8,
        /// The last number received.
        received: u8,
        /// Each circuit's DLCI (10 bits) and whether it is active. An empty list gives an answer without circuits.
        circuits: &'a [(u16, bool)],
    },
}

impl Lmi<'_> {
    fn body(&self) -> Vec<u8> {
        let (kind, full, send, received, circuits) = match *self {
            Self::StatusEnquiry {
                full,
                send,
                received,
            } => (0x75, full, send, received, &[][..]),
            Self::Status {
                send,
                received,
                circuits,
            } => (0x7d, !circuits.is_empty(), send, received, circuits),
        };
        let mut body = vec![0x00, kind];
        body.extend_from_slice(&[0x51, 0x01, u8::from(!full)]);
        body.extend_from_slice(&[0x53, 0x02, send, received]);
        for &(dlci, active) in circuits {
            let high = (dlci >> 4) as u8 & 0x3f;
            let low = 0x80 | ((dlci & 0x0f) << 3) as u8;
            let status = if active { 0x82 } else { 0x80 };
            body.extend_from_slice(&[0x57, 0x03, high, low, status]);
        }
        body
    }
}
