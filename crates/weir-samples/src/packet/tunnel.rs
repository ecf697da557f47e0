//! Headers that carry a packet inside another one: GRE, VXLAN, GTP-U. IP in IP needs none of its
//! own: give [`Ipv4`](super::Ipv4) or [`Ipv6`](super::Ipv6) protocol 4 or 41.

use super::{checksum, length_u16};

/// UDP port of VXLAN (RFC 7348).
pub const VXLAN_PORT: u16 = 4789;
/// UDP port of GTP-U (3GPP TS 29.281).
pub const GTP_U_PORT: u16 = 2152;

/// The optional fields of a GRE header (RFC 2784 and RFC 2890).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gre {
    /// Whether a checksum over header and payload is present.
    pub checksum: bool,
    /// The key, if there is one.
    pub key: Option<u32>,
    /// The sequence number, if there is one.
    pub sequence: Option<u32>,
}

impl Gre {
    /// The header, then a payload of this ethertype.
    #[must_use]
    pub fn packet(&self, ethertype: u16, payload: &[u8]) -> Vec<u8> {
        let flags = (u8::from(self.checksum) << 7)
            | (u8::from(self.key.is_some()) << 5)
            | (u8::from(self.sequence.is_some()) << 4);
        let mut packet = vec![flags, 0];
        packet.extend_from_slice(&ethertype.to_be_bytes());
        if self.checksum {
            packet.extend_from_slice(&[0; 4]);
        }
        for number in [self.key, self.sequence].into_iter().flatten() {
            packet.extend_from_slice(&number.to_be_bytes());
        }
        packet.extend_from_slice(payload);
        if self.checksum {
            let sum = checksum::internet(&packet);
            packet[4..6].copy_from_slice(&sum.to_be_bytes());
        }
        packet
    }
}

/// The VXLAN header (RFC 7348 section 5) with a network identifier of 24 bits, then an Ethernet
/// frame.
#[must_use]
pub fn vxlan(network: u32, frame: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x08, 0, 0, 0];
    packet.extend_from_slice(&(network << 8).to_be_bytes());
    packet.extend_from_slice(frame);
    packet
}

/// A GTP-U message that carries a packet (3GPP TS 29.281 section 5.1, message type 255), with a
/// sequence number if one is given.
#[must_use]
pub fn gtp_u(tunnel: u32, sequence: Option<u16>, packet: &[u8]) -> Vec<u8> {
    let optional = if sequence.is_some() { 4 } else { 0 };
    let mut message = vec![0x30 | if sequence.is_some() { 0x02 } else { 0 }, 255];
    message.extend_from_slice(&length_u16(optional + packet.len()).to_be_bytes());
    message.extend_from_slice(&tunnel.to_be_bytes());
    if let Some(sequence) = sequence {
        message.extend_from_slice(&sequence.to_be_bytes());
        // No N-PDU number and no extension header.
        message.extend_from_slice(&[0, 0]);
    }
    message.extend_from_slice(packet);
    message
}
