//! The offsets of a packet's headers (link, IP, TCP and UDP), as far as doses need them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::capture::link_type as link;
use crate::packet::checksum;

/// The two ends of a connection, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ends {
    /// IP protocol.
    pub protocol: u8,
    /// Address and port; port 0 where the protocol has none, or a fragment does not say it.
    pub low: (IpAddr, u16),
    /// The other end.
    pub high: (IpAddr, u16),
}

impl Ends {
    /// The ends of a packet from one socket to another. Only TCP and UDP have ports.
    #[must_use]
    pub fn new(protocol: u8, src: (IpAddr, u16), dst: (IpAddr, u16)) -> Self {
        let has_ports = matches!(protocol, TCP | UDP);
        let named = |(address, port): (IpAddr, u16)| (address, if has_ports { port } else { 0 });
        let (src, dst) = (named(src), named(dst));
        Self {
            protocol,
            low: src.min(dst),
            high: src.max(dst),
        }
    }

    /// The same without ports.
    #[must_use]
    pub const fn hosts(mut self) -> Self {
        self.low.1 = 0;
        self.high.1 = 0;
        self
    }

    /// A number that differs for different ends, as far as 60 bits can.
    pub(super) fn number(&self) -> u64 {
        let mut number = u64::from(self.protocol);
        for (address, port) in [self.low, self.high] {
            let octets = match address {
                IpAddr::V4(address) => address.octets().to_vec(),
                IpAddr::V6(address) => address.octets().to_vec(),
            };
            for octet in octets.into_iter().chain(port.to_be_bytes()) {
                // This is FNV-1a.
                number = (number ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        number >> 4
    }
}

/// The headers of a packet of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpHeaders {
    /// The offset of the IP header.
    pub ip: usize,
    /// The offset of the transport header, or of the payload of a fragment.
    pub transport: usize,
    /// The end of the packet by its own length; it lies beyond the captured octets when the packet was cut.
    pub end: usize,
    /// The protocol that it carries.
    pub protocol: u8,
    /// Source address, and port of TCP or UDP, else 0.
    pub src: (IpAddr, u16),
    /// Destination.
    pub dst: (IpAddr, u16),
    /// A part of a packet.
    pub is_fragment: bool,
    /// Neither options nor extension headers stand between IP and transport.
    pub is_plain: bool,
    /// TCP's own header, when all of it was captured.
    pub tcp: Option<Tcp>,
}

/// A header of TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// CWR, ECE, URG, ACK, PSH, RST, SYN, FIN.
    pub flags: u8,
    /// The offset of the payload.
    pub payload: usize,
}

/// FIN of TCP's flags.
pub(super) const FIN: u8 = 0x01;
/// SYN of TCP's flags.
pub(super) const SYN: u8 = 0x02;
/// RST of TCP's flags.
pub(super) const RST: u8 = 0x04;
/// PSH of TCP's flags.
pub(super) const PSH: u8 = 0x08;
/// ACK of TCP's flags.
pub(super) const ACK: u8 = 0x10;
/// URG of TCP's flags.
pub(super) const URG: u8 = 0x20;

/// Octets of the shortest payload of Ethernet, 46, without the headers of IPv4 and TCP.
const FILLER_OCTETS_MAX: usize = 6;

pub(super) const TCP: u8 = 6;
pub(super) const UDP: u8 = 17;

impl IpHeaders {
    /// Reads the headers; `None` when they are not there, or not whole.
    #[must_use]
    pub fn of(link_type: u16, bytes: &[u8]) -> Option<Self> {
        let ip = ip_offset(link_type, bytes)?;
        let mut header = match bytes.get(ip)? >> 4 {
            4 => Self::ipv4(ip, bytes)?,
            6 => Self::ipv6(ip, bytes)?,
            _ => return None,
        };
        let is_first = !header.is_fragment || header.is_first_fragment(bytes);
        if matches!(header.protocol, TCP | UDP) && is_first {
            header.src.1 = u16_at(bytes, header.transport)?;
            header.dst.1 = u16_at(bytes, header.transport + 2)?;
        }
        if header.protocol == TCP && !header.is_fragment {
            header.tcp = Tcp::of(bytes, header.transport);
        }
        Some(header)
    }

    fn ipv4(ip: usize, bytes: &[u8]) -> Option<Self> {
        let header_len = usize::from(bytes.get(ip)? & 0x0f) * 4;
        let fixed = bytes.get(ip..ip + 20)?;
        if header_len < 20 || bytes.len() < ip + header_len {
            return None;
        }
        let total_len = usize::from(u16_at(bytes, ip + 2)?);
        let fragment = u16_at(bytes, ip + 6)? & 0x3fff;
        let address = |at: usize| {
            let octets: [u8; 4] = fixed.get(at..at + 4)?.try_into().ok()?;
            Some(IpAddr::V4(Ipv4Addr::from(octets)))
        };
        if total_len < header_len {
            return None;
        }
        Some(Self {
            ip,
            transport: ip + header_len,
            end: ip + total_len,
            protocol: fixed[9],
            src: (address(12)?, 0),
            dst: (address(16)?, 0),
            is_fragment: fragment != 0,
            is_plain: header_len == 20,
            tcp: None,
        })
    }

    fn ipv6(ip: usize, bytes: &[u8]) -> Option<Self> {
        let fixed = bytes.get(ip..ip + 40)?;
        let payload_len = usize::from(u16_at(bytes, ip + 4)?);
        let address = |at: usize| {
            let octets: [u8; 16] = fixed.get(at..at + 16)?.try_into().ok()?;
            Some(IpAddr::V6(Ipv6Addr::from(octets)))
        };
        if payload_len == 0 {
            return None;
        }
        let mut header = Self {
            ip,
            transport: ip + 40,
            end: ip + 40 + payload_len,
            protocol: fixed[6],
            src: (address(8)?, 0),
            dst: (address(24)?, 0),
            is_fragment: false,
            is_plain: true,
            tcp: None,
        };
        // These are hop-by-hop options, routing, fragment, authentication and destination options.
        while matches!(header.protocol, 0 | 43 | 44 | 51 | 60) && !header.is_fragment {
            let at = header.transport;
            let len = usize::from(*bytes.get(at + 1)?);
            let header_len = match header.protocol {
                44 => 8,
                51 => (len + 2) * 4,
                _ => (len + 1) * 8,
            };
            header.is_fragment = header.protocol == 44;
            header.is_plain = false;
            header.protocol = *bytes.get(at)?;
            header.transport = at + header_len;
        }
        Some(header)
    }

    fn is_first_fragment(&self, bytes: &[u8]) -> bool {
        let offset = match self.src.0 {
            IpAddr::V4(_) => u16_at(bytes, self.ip + 6).map(|field| field & 0x1fff),
            IpAddr::V6(_) => u16_at(bytes, self.transport - 6).map(|field| field >> 3),
        };
        offset == Some(0)
    }

    /// The ends of the packet.
    #[must_use]
    pub fn ends(&self) -> Ends {
        Ends::new(self.protocol, self.src, self.dst)
    }

    /// The two hosts, and the protocol.
    #[must_use]
    pub fn hosts(&self) -> Ends {
        self.ends().hosts()
    }

    /// Returns true when the lower end sent the packet.
    #[must_use]
    pub fn from_low(&self) -> bool {
        self.src <= self.dst
    }

    /// Returns true when no octet of the packet is missing.
    #[must_use]
    pub const fn is_whole(&self, bytes: &[u8]) -> bool {
        self.end <= bytes.len()
    }

    /// The offset of the transport's payload.
    #[must_use]
    pub fn payload(&self) -> usize {
        match self.tcp {
            Some(tcp) => tcp.payload,
            None if self.protocol == UDP && !self.is_fragment => self.transport + 8,
            None => self.transport,
        }
    }

    /// The number of the payload's first octet in its stream, 0 of what is no TCP, and how many octets it has.
    #[must_use]
    pub fn payload_range(&self, _bytes: &[u8]) -> (u32, u32) {
        let octets = u32::try_from(self.end.saturating_sub(self.payload())).unwrap_or(u32::MAX);
        match self.tcp {
            Some(tcp) => {
                let first = tcp.seq.wrapping_add(u32::from(tcp.flags & SYN != 0));
                (first, octets)
            }
            None => (0, octets),
        }
    }

    /// Returns true when the packet can be rewritten: a whole TCP segment behind plain headers.
    #[must_use]
    pub const fn is_rewritable(&self, bytes: &[u8]) -> bool {
        self.is_plain && !self.is_fragment && self.is_whole(bytes) && self.tcp.is_some()
    }

    /// Returns true when the payload is a few zeros, which may only fill the shortest frame of Ethernet, counted by a wrong length.
    pub(super) fn may_be_padding(&self, bytes: &[u8]) -> bool {
        let payload = bytes.get(self.payload()..self.end).unwrap_or_default();
        let is_short = (1..=FILLER_OCTETS_MAX).contains(&payload.len());
        is_short && payload.iter().all(|octet| *octet == 0)
    }

    /// The frame with another transport segment, its lengths and checksums right. Padding behind the packet is left
    /// out.
    pub(super) fn with_segment(&self, bytes: &[u8], segment: &[u8]) -> Vec<u8> {
        let mut frame = bytes[..self.transport].to_vec();
        frame.extend_from_slice(segment);
        let ip_len = frame.len() - self.ip;
        match self.src.0 {
            IpAddr::V4(_) => {
                put_u16(&mut frame, self.ip + 2, ip_len as u16);
                put_u16(&mut frame, self.ip + 10, 0);
                let sum = checksum::internet(&frame[self.ip..self.transport]);
                put_u16(&mut frame, self.ip + 10, sum);
            }
            IpAddr::V6(_) => put_u16(&mut frame, self.ip + 4, (ip_len - 40) as u16),
        }
        put_u16(&mut frame, self.transport + 16, 0);
        let sum = checksum::transport(self.src.0, self.dst.0, TCP, &frame[self.transport..]);
        put_u16(&mut frame, self.transport + 16, sum);
        frame
    }
}

impl Tcp {
    fn of(bytes: &[u8], at: usize) -> Option<Self> {
        let fixed = bytes.get(at..at + 20)?;
        let header_len = usize::from(fixed[12] >> 4) * 4;
        if header_len < 20 || bytes.len() < at + header_len {
            return None;
        }
        Some(Self {
            seq: u32_at(fixed, 4)?,
            ack: u32_at(fixed, 8)?,
            flags: fixed[13],
            payload: at + header_len,
        })
    }

    /// True of a flag.
    #[must_use]
    pub const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

/// The offset of the IP header in a frame.
fn ip_offset(link_type: u16, bytes: &[u8]) -> Option<usize> {
    let is_ip = |ethertype: u16| matches!(ethertype, 0x0800 | 0x86dd);
    match link_type {
        link::ETHERNET => {
            let mut at = 12;
            while matches!(u16_at(bytes, at)?, 0x8100 | 0x88a8) {
                at += 4;
            }
            match u16_at(bytes, at)? {
                0x8847 => behind_labels(bytes, at + 2),
                ethertype => is_ip(ethertype).then_some(at + 2),
            }
        }
        // The link types of raw IP of OpenBSD and others, as files have them, and those for IPv4 or IPv6 only.
        link::RAW | 12 | 14 | 228 | 229 => Some(0),
        link::NULL | link::LOOP => Some(4),
        link::LINUX_SLL => is_ip(u16_at(bytes, 14)?).then_some(16),
        link::LINUX_SLL2 => is_ip(u16_at(bytes, 0)?).then_some(20),
        _ => None,
    }
}

/// The offset behind the labels of MPLS (RFC 3032), the lowest of which says that it is the last one.
fn behind_labels(bytes: &[u8], mut at: usize) -> Option<usize> {
    while u32_at(bytes, at)? & 0x100 == 0 {
        at += 4;
    }
    Some(at + 4)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let octets = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes([octets[0], octets[1]]))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let octets = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
    Some(u32::from_be_bytes(octets))
}

pub(super) fn put_u16(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

pub(super) fn put_u32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
