//! IPv4 with options, IPv6 with extension headers, and fragments of both.

use super::{checksum, length_u16};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Protocol numbers of IPv4 and next-header numbers of IPv6 (IANA).
pub mod protocol {
    /// IPv6 hop-by-hop options.
    pub const HOP_BY_HOP: u8 = 0;
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// IPv4 in IP.
    pub const IPV4: u8 = 4;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// IPv6 in IP.
    pub const IPV6: u8 = 41;
    /// IPv6 routing header.
    pub const ROUTING: u8 = 43;
    /// IPv6 fragment header.
    pub const FRAGMENT: u8 = 44;
    /// GRE.
    pub const GRE: u8 = 47;
    /// Encapsulating security payload.
    pub const ESP: u8 = 50;
    /// Authentication header.
    pub const AUTHENTICATION: u8 = 51;
    /// ICMPv6.
    pub const ICMPV6: u8 = 58;
    /// IPv6: nothing follows.
    pub const NO_NEXT_HEADER: u8 = 59;
    /// IPv6 destination options.
    pub const DESTINATION_OPTIONS: u8 = 60;
    /// OSPF.
    pub const OSPF: u8 = 89;
    /// SCTP.
    pub const SCTP: u8 = 132;
}

/// An IPv4 header (RFC 791). Lengths and checksum are filled in.
///
/// ```
/// use weir_samples::packet::{Ipv4, protocol};
///
/// let header = Ipv4::new([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), protocol::UDP).ttl(3);
/// let packet = header.packet(&[0; 8]);
/// assert_eq!((packet[0], packet[3], packet[8]), (0x45, 28, 3));
/// ```
#[derive(Clone, Debug)]
pub struct Ipv4 {
    src: Ipv4Addr,
    dst: Ipv4Addr,
    protocol: u8,
    ttl: u8,
    service: u8,
    identification: u16,
    dont_fragment: bool,
    more_fragments: bool,
    offset_bytes: usize,
    options: Vec<u8>,
}

impl Ipv4 {
    /// A header with TTL 64, identification 0, not fragmented, no options.
    #[must_use]
    pub const fn new(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8) -> Self {
        Self {
            src,
            dst,
            protocol,
            ttl: 64,
            service: 0,
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            offset_bytes: 0,
            options: Vec::new(),
        }
    }

    setters! {
        /// Sets the time to live.
        ttl: u8;
        /// Sets the byte that holds DSCP (high six bits) and ECN.
        service: u8;
        /// Sets the identification.
        identification: u16;
    }

    /// Forbids fragmentation.
    #[must_use]
    pub const fn dont_fragment(mut self) -> Self {
        self.dont_fragment = true;
        self
    }

    /// Makes the packet a fragment that begins at `offset_bytes`, a multiple of eight.
    #[must_use]
    pub const fn fragment(mut self, offset_bytes: usize, more_fragments: bool) -> Self {
        self.offset_bytes = offset_bytes;
        self.more_fragments = more_fragments;
        self
    }

    /// Sets the options, which are filled up with end-of-list bytes to a multiple of four.
    #[must_use]
    pub fn options(mut self, options: &[u8]) -> Self {
        self.options = options.to_vec();
        self.options.resize(options.len().next_multiple_of(4), 0);
        self
    }

    /// The header and `payload` behind it.
    ///
    /// # Panics
    /// When header and payload exceed 65,535 bytes.
    #[must_use]
    pub fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let header_len = 20 + self.options.len();
        let offset = length_u16(self.offset_bytes) / 8;
        let flags = (u16::from(self.dont_fragment) << 14) | (u16::from(self.more_fragments) << 13);
        let mut packet = Vec::with_capacity(header_len + payload.len());
        packet.extend_from_slice(&[0x40 | (header_len / 4) as u8, self.service]);
        packet.extend_from_slice(&length_u16(header_len + payload.len()).to_be_bytes());
        packet.extend_from_slice(&self.identification.to_be_bytes());
        packet.extend_from_slice(&(flags | offset).to_be_bytes());
        packet.extend_from_slice(&[self.ttl, self.protocol, 0, 0]);
        packet.extend_from_slice(&self.src.octets());
        packet.extend_from_slice(&self.dst.octets());
        packet.extend_from_slice(&self.options);
        let sum = checksum::internet(&packet);
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
        packet.extend_from_slice(payload);
        packet
    }

    /// `payload` cut into packets of at most `mtu` bytes, all with this header.
    #[must_use]
    pub fn fragments(&self, payload: &[u8], mtu: usize) -> Vec<Vec<u8>> {
        let room = mtu.saturating_sub(20 + self.options.len()).max(8) / 8 * 8;
        let mut packets = Vec::new();
        for (index, part) in payload.chunks(room).enumerate() {
            let offset = index * room;
            let more = offset + part.len() < payload.len();
            packets.push(self.clone().fragment(offset, more).packet(part));
        }
        packets
    }
}

/// An IPv6 header with its chain of extension headers (RFC 8200). Lengths and next-header numbers
/// are filled in; the extension headers stand in the order of the calls.
///
/// ```
/// use weir_samples::packet::{Ipv6, protocol};
///
/// let (src, dst) = ("2001:db8::1".parse()?, "2001:db8::2".parse()?);
/// let header = Ipv6::new(src, dst, protocol::UDP).hop_by_hop(&[5, 2, 0, 0]);
/// let packet = header.packet(&[0; 8]);
/// assert_eq!((packet[6], packet[40], packet.len()), (protocol::HOP_BY_HOP, protocol::UDP, 56));
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ipv6 {
    src: Ipv6Addr,
    dst: Ipv6Addr,
    protocol: u8,
    hop_limit: u8,
    traffic_class: u8,
    flow_label: u32,
    /// Number and bytes of each extension header; the first byte is set when it is written.
    extensions: Vec<(u8, Vec<u8>)>,
}

impl Ipv6 {
    /// A header with hop limit 64 and no extension headers.
    #[must_use]
    pub const fn new(src: Ipv6Addr, dst: Ipv6Addr, protocol: u8) -> Self {
        Self {
            src,
            dst,
            protocol,
            hop_limit: 64,
            traffic_class: 0,
            flow_label: 0,
            extensions: Vec::new(),
        }
    }

    setters! {
        /// Sets the hop limit.
        hop_limit: u8;
        /// Sets the traffic class.
        traffic_class: u8;
        /// Sets the flow label (20 bits).
        flow_label: u32;
    }

    /// Adds a hop-by-hop options header with these options, padded as RFC 8200 section 4.2 says.
    #[must_use]
    pub fn hop_by_hop(self, options: &[u8]) -> Self {
        self.extension(protocol::HOP_BY_HOP, options_header(options))
    }

    /// Adds a destination options header with these options, padded likewise.
    #[must_use]
    pub fn destination_options(self, options: &[u8]) -> Self {
        self.extension(protocol::DESTINATION_OPTIONS, options_header(options))
    }

    /// Adds a routing header with a list of addresses behind four bytes of type-specific data:
    /// type 0 and 2 (all zero), or 4, the segment routing header (last entry and no flags).
    #[must_use]
    pub fn routing(self, kind: u8, segments_left: u8, addresses: &[Ipv6Addr]) -> Self {
        let mut header = vec![
            0,
            (addresses.len() * 2) as u8,
            kind,
            segments_left,
            0,
            0,
            0,
            0,
        ];
        if kind == 4 {
            header[4] = addresses.len().saturating_sub(1) as u8;
        }
        for address in addresses {
            header.extend_from_slice(&address.octets());
        }
        self.extension(protocol::ROUTING, header)
    }

    /// Adds a fragment header; the offset is in bytes, a multiple of eight.
    ///
    /// # Panics
    /// When the offset exceeds 65,535.
    #[must_use]
    pub fn fragment(self, offset_bytes: usize, more_fragments: bool, identification: u32) -> Self {
        let word = (length_u16(offset_bytes) & !7) | u16::from(more_fragments);
        let mut header = vec![0, 0];
        header.extend_from_slice(&word.to_be_bytes());
        header.extend_from_slice(&identification.to_be_bytes());
        self.extension(protocol::FRAGMENT, header)
    }

    /// Adds an authentication header (RFC 4302) with a check value of twelve given bytes.
    #[must_use]
    pub fn authentication(self, spi: u32, sequence: u32, check: [u8; 12]) -> Self {
        // The length counts words of four bytes, less two.
        let mut header = vec![0, 4, 0, 0];
        header.extend_from_slice(&spi.to_be_bytes());
        header.extend_from_slice(&sequence.to_be_bytes());
        header.extend_from_slice(&check);
        self.extension(protocol::AUTHENTICATION, header)
    }

    /// Adds any extension header; its first byte is replaced by the next header's number.
    #[must_use]
    pub fn extension(mut self, number: u8, header: Vec<u8>) -> Self {
        self.extensions.push((number, header));
        self
    }

    /// The headers and `payload` behind them.
    ///
    /// # Panics
    /// When extension headers and payload exceed 65,535 bytes.
    #[must_use]
    pub fn packet(&self, payload: &[u8]) -> Vec<u8> {
        let extensions_len: usize = self.extensions.iter().map(|(_, header)| header.len()).sum();
        let word =
            (6 << 28) | (u32::from(self.traffic_class) << 20) | (self.flow_label & 0x000f_ffff);
        let mut packet = Vec::with_capacity(40 + extensions_len + payload.len());
        packet.extend_from_slice(&word.to_be_bytes());
        packet.extend_from_slice(&length_u16(extensions_len + payload.len()).to_be_bytes());
        packet.extend_from_slice(&[self.next_after(0), self.hop_limit]);
        packet.extend_from_slice(&self.src.octets());
        packet.extend_from_slice(&self.dst.octets());
        for (index, (_, header)) in self.extensions.iter().enumerate() {
            let start = packet.len();
            packet.extend_from_slice(header);
            if let Some(first) = packet.get_mut(start) {
                *first = self.next_after(index + 1);
            }
        }
        packet.extend_from_slice(payload);
        packet
    }

    /// `payload` cut into packets of at most `mtu` bytes, each with a fragment header last.
    #[must_use]
    pub fn fragments(&self, payload: &[u8], mtu: usize, identification: u32) -> Vec<Vec<u8>> {
        let headers: usize = 48 + self.extensions.iter().map(|(_, h)| h.len()).sum::<usize>();
        let room = mtu.saturating_sub(headers).max(8) / 8 * 8;
        let mut packets = Vec::new();
        for (index, part) in payload.chunks(room).enumerate() {
            let offset = index * room;
            let more = offset + part.len() < payload.len();
            packets.push(
                self.clone()
                    .fragment(offset, more, identification)
                    .packet(part),
            );
        }
        packets
    }

    fn next_after(&self, index: usize) -> u8 {
        self.extensions
            .get(index)
            .map_or(self.protocol, |(number, _)| *number)
    }
}

/// Two bytes (next header and length) and options, filled up with Pad1 or PadN to eight bytes.
fn options_header(options: &[u8]) -> Vec<u8> {
    let mut header = vec![0, 0];
    header.extend_from_slice(options);
    let padded_len = header.len().next_multiple_of(8);
    match padded_len - header.len() {
        0 => {}
        1 => header.push(0),
        missing => {
            header.extend_from_slice(&[1, (missing - 2) as u8]);
            header.resize(padded_len, 0);
        }
    }
    header[1] = (padded_len / 8 - 1) as u8;
    header
}
