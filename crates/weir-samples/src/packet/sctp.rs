//! SCTP packets and the chunks of an association's life (RFC 9260).

use super::{checksum, length_u16};
use std::net::Ipv4Addr;

/// A chunk of an SCTP packet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chunk {
    /// A whole user message (both B and E bits set), unfragmented.
    Data {
        /// Transmission sequence number.
        tsn: u32,
        /// Stream identifier.
        stream: u16,
        /// Stream sequence number.
        sequence: u16,
        /// Payload protocol identifier (IANA).
        protocol: u32,
        /// The user's bytes.
        payload: Vec<u8>,
    },
    /// Asks for an association.
    Init(Initiation),
    /// Accepts it, with a state cookie.
    InitAck(Initiation, Vec<u8>),
    /// Acknowledges data up to a TSN, without gaps or duplicates.
    Sack {
        /// The last TSN received in sequence.
        cumulative_tsn: u32,
        /// Advertised receiver window in bytes.
        window: u32,
    },
    /// Asks whether the peer is there, with information to be returned.
    Heartbeat(Vec<u8>),
    /// Answers that.
    HeartbeatAck(Vec<u8>),
    /// Ends the association gracefully; the last TSN received.
    Shutdown(u32),
    /// Answers that.
    ShutdownAck,
    /// Returns the state cookie.
    CookieEcho(Vec<u8>),
    /// Confirms it.
    CookieAck,
    /// Confirms the end.
    ShutdownComplete,
    /// Any other type, with flags and value.
    Other(u8, u8, Vec<u8>),
}

/// The common fields of INIT and INIT ACK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initiation {
    /// The verification tag that the receiver is to use.
    pub tag: u32,
    /// The first TSN that the sender will use.
    pub tsn: u32,
    /// IPv4 addresses of the sender beyond the packet's own (RFC 9260 section 3.3.2.1).
    pub addresses: Vec<Ipv4Addr>,
}

impl Chunk {
    fn write(&self, out: &mut Vec<u8>) {
        let (kind, flags, value) = match self {
            Self::Data {
                tsn,
                stream,
                sequence,
                protocol,
                payload,
            } => {
                let mut value = tsn.to_be_bytes().to_vec();
                value.extend_from_slice(&stream.to_be_bytes());
                value.extend_from_slice(&sequence.to_be_bytes());
                value.extend_from_slice(&protocol.to_be_bytes());
                value.extend_from_slice(payload);
                (0, 3, value)
            }
            Self::Init(initiation) => (1, 0, initiation.value(&[])),
            Self::InitAck(initiation, cookie) => (2, 0, initiation.value(cookie)),
            Self::Sack {
                cumulative_tsn,
                window,
            } => {
                let mut value = cumulative_tsn.to_be_bytes().to_vec();
                value.extend_from_slice(&window.to_be_bytes());
                value.extend_from_slice(&[0; 4]);
                (3, 0, value)
            }
            Self::Heartbeat(info) => (4, 0, parameter(1, info)),
            Self::HeartbeatAck(info) => (5, 0, parameter(1, info)),
            Self::Shutdown(tsn) => (7, 0, tsn.to_be_bytes().to_vec()),
            Self::ShutdownAck => (8, 0, Vec::new()),
            Self::CookieEcho(cookie) => (10, 0, cookie.clone()),
            Self::CookieAck => (11, 0, Vec::new()),
            Self::ShutdownComplete => (14, 0, Vec::new()),
            Self::Other(kind, flags, value) => (*kind, *flags, value.clone()),
        };
        out.extend_from_slice(&[kind, flags]);
        out.extend_from_slice(&length_u16(4 + value.len()).to_be_bytes());
        out.extend_from_slice(&value);
        pad_to_four(out);
    }
}

impl Initiation {
    fn value(&self, cookie: &[u8]) -> Vec<u8> {
        let mut value = self.tag.to_be_bytes().to_vec();
        value.extend_from_slice(&106_496_u32.to_be_bytes());
        // Ten outbound and up to 2,048 inbound streams.
        value.extend_from_slice(&[0, 10, 8, 0]);
        value.extend_from_slice(&self.tsn.to_be_bytes());
        for address in &self.addresses {
            value.extend_from_slice(&parameter(5, &address.octets()));
        }
        // An address needs no padding, and the last parameter's is the chunk's.
        if !cookie.is_empty() {
            value.extend_from_slice(&parameter(7, cookie));
        }
        value
    }
}

/// An SCTP packet: ports, the receiver's verification tag, chunks, and the CRC32c over all.
///
/// # Panics
/// When a chunk exceeds 65,535 bytes.
///
/// ```
/// use weir_samples::packet::{Chunk, sctp};
///
/// assert_eq!(sctp(2905, 2905, 0x1234, &[Chunk::CookieAck]).len(), 16);
/// ```
#[must_use]
pub fn sctp(src_port: u16, dst_port: u16, tag: u32, chunks: &[Chunk]) -> Vec<u8> {
    let mut packet = src_port.to_be_bytes().to_vec();
    packet.extend_from_slice(&dst_port.to_be_bytes());
    packet.extend_from_slice(&tag.to_be_bytes());
    packet.extend_from_slice(&[0; 4]);
    for chunk in chunks {
        chunk.write(&mut packet);
    }
    let crc = checksum::crc32c(&packet);
    packet[8..12].copy_from_slice(&crc.to_le_bytes());
    packet
}

/// A type-length-value parameter without its padding: where it is the last one of a chunk, the
/// padding is the chunk's and does not count in the chunk's length (RFC 9260 section 3.2).
fn parameter(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_be_bytes().to_vec();
    bytes.extend_from_slice(&length_u16(4 + value.len()).to_be_bytes());
    bytes.extend_from_slice(value);
    bytes
}

fn pad_to_four(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}
