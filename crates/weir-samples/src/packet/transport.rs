//! TCP with options, UDP, ICMP and ICMPv6.

use super::{checksum, length_u16, protocol};
use std::net::{IpAddr, Ipv6Addr};

/// The flags of a TCP header (RFC 9293 section 3.1).
pub mod tcp_flags {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronise sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgement number counts.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer counts.
    pub const URG: u8 = 0x20;
}

/// An option of a TCP header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TcpOption {
    /// The no-operation option of one byte.
    NoOperation,
    /// Maximum segment size (RFC 9293).
    MaximumSegmentSize(u16),
    /// Window scale (RFC 7323).
    WindowScale(u8),
    /// Selective acknowledgement is permitted (RFC 2018).
    SackPermitted,
    /// Selectively acknowledged ranges (RFC 2018), first sequence number and the one after the
    /// last.
    Sack(Vec<(u32, u32)>),
    /// Timestamp value and echo reply (RFC 7323).
    Timestamps(u32, u32),
    /// Any kind with its data.
    Other(u8, Vec<u8>),
}

impl TcpOption {
    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::NoOperation => out.push(1),
            Self::MaximumSegmentSize(size) => {
                out.extend_from_slice(&[2, 4]);
                out.extend_from_slice(&size.to_be_bytes());
            }
            Self::WindowScale(shift) => out.extend_from_slice(&[3, 3, *shift]),
            Self::SackPermitted => out.extend_from_slice(&[4, 2]),
            Self::Sack(ranges) => {
                out.extend_from_slice(&[5, (2 + ranges.len() * 8) as u8]);
                for (first, after) in ranges {
                    out.extend_from_slice(&first.to_be_bytes());
                    out.extend_from_slice(&after.to_be_bytes());
                }
            }
            Self::Timestamps(value, echo) => {
                out.extend_from_slice(&[8, 10]);
                out.extend_from_slice(&value.to_be_bytes());
                out.extend_from_slice(&echo.to_be_bytes());
            }
            Self::Other(kind, data) => {
                out.extend_from_slice(&[*kind, (2 + data.len()) as u8]);
                out.extend_from_slice(data);
            }
        }
    }
}

/// A TCP header (RFC 9293). Data offset and checksum are filled in.
///
/// ```
/// use weir_samples::packet::{Tcp, TcpOption, tcp_flags};
///
/// let syn = Tcp::new(40_000, 443)
///     .flags(tcp_flags::SYN)
///     .options(&[TcpOption::MaximumSegmentSize(1460)]);
/// let segment = syn.segment([10, 0, 0, 1].into(), [10, 0, 0, 2].into(), b"");
/// assert_eq!(segment.len(), 24);
/// ```
#[derive(Clone, Debug)]
pub struct Tcp {
    src_port: u16,
    dst_port: u16,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    urgent: u16,
    options: Vec<u8>,
}

impl Tcp {
    /// A header with flag ACK, zero sequence numbers and a window of 64,240.
    #[must_use]
    pub const fn new(src_port: u16, dst_port: u16) -> Self {
        Self {
            src_port,
            dst_port,
            seq: 0,
            ack: 0,
            flags: tcp_flags::ACK,
            window: 64_240,
            urgent: 0,
            options: Vec::new(),
        }
    }

    /// Sets sequence and acknowledgement numbers.
    #[must_use]
    pub const fn numbers(mut self, seq: u32, ack: u32) -> Self {
        self.seq = seq;
        self.ack = ack;
        self
    }

    setters! {
        /// Sets the flags, see [`tcp_flags`].
        flags: u8;
        /// Sets the window as it stands in the header.
        window: u16;
        /// Sets the urgent pointer.
        urgent: u16;
    }

    /// Sets the options, filled up with no-operations to a multiple of four bytes.
    #[must_use]
    pub fn options(mut self, options: &[TcpOption]) -> Self {
        self.options.clear();
        for option in options {
            option.write(&mut self.options);
        }
        let padded_len = self.options.len().next_multiple_of(4);
        self.options.resize(padded_len, 1);
        self
    }

    /// The header and `payload`, checksummed for these addresses.
    #[must_use]
    pub fn segment(&self, src: IpAddr, dst: IpAddr, payload: &[u8]) -> Vec<u8> {
        let header_len = 20 + self.options.len();
        let mut segment = Vec::with_capacity(header_len + payload.len());
        segment.extend_from_slice(&self.src_port.to_be_bytes());
        segment.extend_from_slice(&self.dst_port.to_be_bytes());
        segment.extend_from_slice(&self.seq.to_be_bytes());
        segment.extend_from_slice(&self.ack.to_be_bytes());
        segment.extend_from_slice(&[((header_len / 4) as u8) << 4, self.flags]);
        segment.extend_from_slice(&self.window.to_be_bytes());
        segment.extend_from_slice(&[0, 0]);
        segment.extend_from_slice(&self.urgent.to_be_bytes());
        segment.extend_from_slice(&self.options);
        segment.extend_from_slice(payload);
        let sum = checksum::transport(src, dst, protocol::TCP, &segment);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        segment
    }
}

/// A UDP datagram (RFC 768), checksummed for these addresses.
///
/// # Panics
/// When header and payload exceed 65,535 bytes.
#[must_use]
pub fn udp(src: IpAddr, dst: IpAddr, src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = udp_unchecked(src_port, dst_port, payload);
    // A sum of zero is sent as all ones, since zero says that there is no checksum.
    let sum = match checksum::transport(src, dst, protocol::UDP, &datagram) {
        0 => 0xffff,
        sum => sum,
    };
    datagram[6..8].copy_from_slice(&sum.to_be_bytes());
    datagram
}

/// A UDP datagram with checksum 0, that is, without one, as tunnels over IPv4 send it.
///
/// # Panics
/// When header and payload exceed 65,535 bytes.
#[must_use]
pub fn udp_unchecked(src_port: u16, dst_port: u16, payload: &[u8]) -> Vec<u8> {
    let mut datagram = Vec::with_capacity(8 + payload.len());
    datagram.extend_from_slice(&src_port.to_be_bytes());
    datagram.extend_from_slice(&dst_port.to_be_bytes());
    datagram.extend_from_slice(&length_u16(8 + payload.len()).to_be_bytes());
    datagram.extend_from_slice(&[0, 0]);
    datagram.extend_from_slice(payload);
    datagram
}

/// An ICMP message (RFC 792): type, code, the four bytes of the rest of the header, the body.
#[must_use]
pub fn icmp(kind: u8, code: u8, rest: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0];
    message.extend_from_slice(&rest);
    message.extend_from_slice(body);
    let sum = checksum::internet(&message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// An ICMP echo request, or the reply to one.
#[must_use]
pub fn icmp_echo(reply: bool, identifier: u16, sequence: u16, body: &[u8]) -> Vec<u8> {
    icmp(
        if reply { 0 } else { 8 },
        0,
        two_words(identifier, sequence),
        body,
    )
}

/// An ICMPv6 message (RFC 4443), checksummed for these addresses.
#[must_use]
pub fn icmpv6(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    kind: u8,
    code: u8,
    rest: [u8; 4],
    body: &[u8],
) -> Vec<u8> {
    let mut message = vec![kind, code, 0, 0];
    message.extend_from_slice(&rest);
    message.extend_from_slice(body);
    let sum = checksum::transport(src.into(), dst.into(), protocol::ICMPV6, &message);
    message[2..4].copy_from_slice(&sum.to_be_bytes());
    message
}

/// An ICMPv6 echo request, or the reply to one.
#[must_use]
pub fn icmpv6_echo(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    reply: bool,
    identifier: u16,
    sequence: u16,
    body: &[u8],
) -> Vec<u8> {
    let kind = if reply { 129 } else { 128 };
    icmpv6(src, dst, kind, 0, two_words(identifier, sequence), body)
}

/// A neighbour solicitation, or with `advertisement` the answer (RFC 4861 sections 4.3 and 4.4),
/// with the sender's link-layer address as its option.
#[must_use]
pub fn neighbour(
    src: Ipv6Addr,
    dst: Ipv6Addr,
    advertisement: bool,
    target: Ipv6Addr,
    mac: [u8; 6],
) -> Vec<u8> {
    // An advertisement is solicited and overrides what is cached.
    let (kind, flags, option) = if advertisement {
        (136, 0x60, 2)
    } else {
        (135, 0, 1)
    };
    let mut body = target.octets().to_vec();
    body.extend_from_slice(&[option, 1]);
    body.extend_from_slice(&mac);
    icmpv6(src, dst, kind, 0, [flags, 0, 0, 0], &body)
}

fn two_words(first: u16, second: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (first.to_be_bytes(), second.to_be_bytes());
    [a, b, c, d]
}
