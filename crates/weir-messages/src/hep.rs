//! HEP, the Homer Encapsulation Protocol (EEP): what a proxy, a switch or a probe saw, sent on to a collector with the
//! addresses between which it went. Versions 1 and 2 have a fixed header, version 3 has chunks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use weir_bytes::{u16_be_at, u32_be_at};

/// A datagram of HEP, with the message that it carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hep<'h> {
    /// 1, 2 or 3.
    pub version: u8,
    /// The source of the message.
    pub source: SocketAddr,
    /// The destination of the message.
    pub destination: SocketAddr,
    /// The transport protocol, by its IP protocol number.
    pub protocol: u8,
    /// The protocol type in version 3: 1 SIP, 2 XMPP, 3 SDP, 4 RTP, 5 RTCP, mostly in JSON, 6 MGCP, 7 MEGACO, 8 M2UA, 9 M3UA,
    /// 0x22 and 0x23 reports of quality, 0x32 to 0x39 SIP, DNS, M3UA, Diameter and MAP in JSON, 0x64 lines of logs, and others
    /// without a number that is agreed on. Earlier versions carry SIP.
    pub kind: u8,
    /// The number of the capture agent that saw it.
    pub capture_id: Option<u32>,
    /// The correlation identifier, such as a Call-ID.
    pub correlation_id: Option<&'h [u8]>,
    /// The message.
    pub payload: &'h [u8],
}

/// The message is one of SIP.
pub const SIP: u8 = 1;
/// The message is a report of RTCP, which most senders write in JSON.
const RTCP: u8 = 5;
/// Types of messages that are read nowhere: XMPP, SDP by itself, M2UA, IAX, H.322, H.321, M2PA, reports of quality, RTSP, CDRs,
/// signalling of Verto, and lines of logs.
const OTHERS: [u8; 13] = [2, 3, 8, 10, 11, 12, 13, 0x22, 0x23, 0x37, 0x3c, 0x3d, 0x64];

/// `AF_INET6` of Linux, which is what senders write; others have other numbers.
const FAMILY_V6: [u8; 4] = [10, 28, 30, 23];
const FAMILY_V4: u8 = 2;

impl<'h> Hep<'h> {
    /// Reads a datagram; `None` when it is not HEP, or lacks an address or the message. Compressed messages of version
    /// 3 are not read: see [`is_compressed`].
    #[must_use]
    pub fn parse(bytes: &'h [u8]) -> Option<Self> {
        match bytes {
            [b'H', b'E', b'P', b'3', ..] => Self::chunks(bytes),
            [1 | 2, ..] => Self::fixed(bytes),
            _ => None,
        }
    }

    /// Whether the message is one between both ends, of a protocol that is read. False of reports and of lines of logs, and of
    /// messages that the sender has written in JSON.
    #[must_use]
    pub fn is_message(&self) -> bool {
        let is_json = || matches!(self.payload.trim_ascii_start(), [b'{' | b'[', ..]);
        match self.kind {
            RTCP | 0x32..=0x3b => !OTHERS.contains(&self.kind) && !is_json(),
            kind => !OTHERS.contains(&kind),
        }
    }

    /// Versions 1 and 2: a header of a fixed length, which it states.
    fn fixed(bytes: &'h [u8]) -> Option<Self> {
        let [version, length, family, protocol, rest @ ..] = bytes else {
            return None;
        };
        let ports = (u16_be_at(rest, 0)?, u16_be_at(rest, 2)?);
        let addresses = rest.get(4..)?;
        let (addresses, octets) = match family {
            2 => (pair(addresses, 4)?, 8),
            family if FAMILY_V6.contains(family) => (pair(addresses, 16)?, 32),
            _ => return None,
        };
        // Version 2 has a time and the capture agent's number behind them, with two octets to align it.
        let time = if *version == 2 { 12 } else { 0 };
        let header = 8 + octets + time;
        // Some count these in, most do not.
        let is_length = [header, header - time].contains(&usize::from(*length));
        if !is_length || !matches!(protocol, 6 | 17 | 132) {
            return None;
        }
        Some(Self {
            version: *version,
            source: SocketAddr::new(addresses.0, ports.0),
            destination: SocketAddr::new(addresses.1, ports.1),
            protocol: *protocol,
            kind: SIP,
            // The sender's own byte order is little-endian nearly everywhere.
            capture_id: (*version == 2).then(|| {
                let at = 8 + octets + 8;
                let id = bytes.get(at..).and_then(<[u8]>::first_chunk);
                u32::from(u16::from_le_bytes(id.copied().unwrap_or_default()))
            }),
            correlation_id: None,
            payload: bytes.get(header..).filter(|payload| !payload.is_empty())?,
        })
    }

    fn chunks(bytes: &'h [u8]) -> Option<Self> {
        let mut found = Chunks::default();
        for (vendor, kind, value) in walk(bytes)? {
            // Vendors have chunks of their own.
            if vendor == 0 {
                found.chunk(kind, value);
            }
        }
        let port = |port: Option<u16>| port.unwrap_or(0);
        Some(Self {
            version: 3,
            source: SocketAddr::new(found.source?, port(found.source_port)),
            destination: SocketAddr::new(found.destination?, port(found.destination_port)),
            protocol: found.protocol?,
            kind: found.kind.unwrap_or(0),
            capture_id: found.capture_id,
            correlation_id: found.correlation_id,
            payload: found.payload.filter(|payload| !payload.is_empty())?,
        })
    }
}

/// True of a datagram of version 3 whose message is compressed.
#[must_use]
pub fn is_compressed(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HEP3")
        && walk(bytes)
            .is_some_and(|mut chunks| chunks.any(|(vendor, kind, _)| (vendor, kind) == (0, 16)))
}

/// True of a datagram of version 3 that lacks its end, or has a message without its addresses or its protocol. One without a
/// message only says that its sender is there.
#[must_use]
pub fn is_incomplete(bytes: &[u8]) -> bool {
    let has_message = || {
        let mut chunks = walk(bytes)?;
        Some(chunks.any(|(vendor, kind, value)| (vendor, kind) == (0, 15) && !value.is_empty()))
    };
    bytes.starts_with(b"HEP3") && Hep::parse(bytes).is_none() && has_message().unwrap_or(true)
}

/// The chunks of a datagram whose length is what it says: vendor, type and value of each.
fn walk(bytes: &[u8]) -> Option<impl Iterator<Item = (u16, u16, &[u8])>> {
    let all = bytes.get(..usize::from(u16_be_at(bytes, 4)?))?;
    let mut rest = all.get(6..)?;
    Some(std::iter::from_fn(move || {
        let length = usize::from(u16_be_at(rest, 4)?);
        let (vendor, kind) = (u16_be_at(rest, 0)?, u16_be_at(rest, 2)?);
        let value = rest.get(6..length)?;
        rest = rest.get(length..)?;
        Some((vendor, kind, value))
    }))
}

#[derive(Default)]
struct Chunks<'h> {
    source: Option<IpAddr>,
    destination: Option<IpAddr>,
    source_port: Option<u16>,
    destination_port: Option<u16>,
    protocol: Option<u8>,
    kind: Option<u8>,
    capture_id: Option<u32>,
    correlation_id: Option<&'h [u8]>,
    payload: Option<&'h [u8]>,
}

impl<'h> Chunks<'h> {
    fn chunk(&mut self, kind: u16, value: &'h [u8]) {
        let v4 = || {
            value
                .try_into()
                .ok()
                .map(|octets: [u8; 4]| IpAddr::V4(Ipv4Addr::from(octets)))
        };
        let v6 = || {
            value
                .try_into()
                .ok()
                .map(|octets: [u8; 16]| IpAddr::V6(Ipv6Addr::from(octets)))
        };
        match kind {
            2 => self.protocol = value.first().copied(),
            3 => self.source = v4(),
            4 => self.destination = v4(),
            5 => self.source = v6(),
            6 => self.destination = v6(),
            7 => self.source_port = u16_be_at(value, 0),
            8 => self.destination_port = u16_be_at(value, 0),
            11 => self.kind = value.first().copied(),
            12 => self.capture_id = u32_be_at(value, 0),
            15 => self.payload = Some(value),
            17 => self.correlation_id = Some(value),
            _ => {}
        }
    }
}

/// Two addresses of `octets` each.
fn pair(bytes: &[u8], octets: usize) -> Option<(IpAddr, IpAddr)> {
    let one = |at: usize| -> Option<IpAddr> {
        let octets = bytes.get(at..at + octets)?;
        match octets.len() {
            4 => <[u8; 4]>::try_from(octets).ok().map(IpAddr::from),
            _ => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
        }
    };
    Some((one(0)?, one(octets)?))
}

/// Writes a datagram of version 3 (2 of the `version`s: the fixed header of version 2), as probes do.
#[must_use]
pub fn write(
    version: u8,
    source: SocketAddr,
    destination: SocketAddr,
    protocol: u8,
    payload: &[u8],
) -> Vec<u8> {
    let family = if source.is_ipv4() { FAMILY_V4 } else { 10 };
    let octets = |address: SocketAddr| match address.ip() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let mut out;
    if version == 2 {
        let length = 8 + 2 * octets(source).len();
        out = vec![2, u8::try_from(length).unwrap_or(u8::MAX), family, protocol];
        out.extend(source.port().to_be_bytes());
        out.extend(destination.port().to_be_bytes());
        out.extend(octets(source));
        out.extend(octets(destination));
        out.extend([0; 12]);
        out.extend_from_slice(payload);
        return out;
    }
    out = b"HEP3\0\0".to_vec();
    let mut chunk = |kind: u16, value: &[u8]| {
        out.extend([0, 0]);
        out.extend(kind.to_be_bytes());
        out.extend(
            u16::try_from(6 + value.len())
                .unwrap_or(u16::MAX)
                .to_be_bytes(),
        );
        out.extend_from_slice(value);
    };
    let first = if source.is_ipv4() { 3 } else { 5 };
    chunk(1, &[family]);
    chunk(2, &[protocol]);
    chunk(first, &octets(source));
    chunk(first + 1, &octets(destination));
    chunk(7, &source.port().to_be_bytes());
    chunk(8, &destination.port().to_be_bytes());
    chunk(9, &[0; 4]);
    chunk(10, &[0; 4]);
    chunk(11, &[SIP]);
    chunk(12, &7_u32.to_be_bytes());
    chunk(15, payload);
    let length = u16::try_from(out.len()).unwrap_or(u16::MAX).to_be_bytes();
    if let Some(place) = out.get_mut(4..6) {
        place.copy_from_slice(&length);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_each_version_and_family() {
        for ends in [
            ["10.0.0.1:5060", "192.0.2.7:5070"],
            ["[2001:db8::1]:5060", "[2001:db8::2]:5061"],
        ] {
            let [source, destination] = ends.map(|end| end.parse().unwrap());
            for version in [2, 3] {
                let bytes = write(
                    version,
                    source,
                    destination,
                    17,
                    b"OPTIONS sip:x SIP/2.0\r\n",
                );
                let hep = Hep::parse(&bytes).unwrap();
                assert_eq!((hep.source, hep.destination), (source, destination));
                assert_eq!((hep.version, hep.protocol, hep.kind), (version, 17, SIP));
                assert_eq!(hep.payload, b"OPTIONS sip:x SIP/2.0\r\n");
                for end in 0..bytes.len() {
                    let part = Hep::parse(&bytes[..end]);
                    assert!(version == 2 || part.is_none(), "{end}");
                }
            }
        }
    }

    /// The octets are those of hep-js 1.0.22, by the makers of Homer, with a password and a correlation identifier.
    #[test]
    fn what_homer_s_own_library_writes_is_read() {
        let digits = b"48455033009c000000010007000000000200071100000003000ac0a8640100000004000ac0a801170000\
            0007000813c400000008000813ce00000009000a000000000000000a000a000000000000000b0007000000000c000a000007d1\
            00000013000a323030310000000e000b6d794865700000001100096162630000000f00214f5054494f4e53207369703a624078\
            205349502f322e300d0a0d0a";
        let octet =
            |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        let bytes: Vec<u8> = digits.chunks(2).map(octet).collect();
        let hep = Hep::parse(&bytes).unwrap();
        assert_eq!(hep.source, "192.168.100.1:5060".parse().unwrap());
        assert_eq!(hep.destination, "192.168.1.23:5070".parse().unwrap());
        assert_eq!((hep.protocol, hep.capture_id), (17, Some(2001)));
        assert_eq!(hep.correlation_id, Some(&b"abc"[..]));
        assert_eq!(hep.payload, b"OPTIONS sip:b@x SIP/2.0\r\n\r\n");
    }

    /// The chunks have one of a vendor and one whose length ends within itself.
    #[test]
    fn chunks_of_vendors_are_passed_over_and_a_chunk_without_an_end_ends_the_walk() {
        let source = "10.0.0.1:5060".parse().unwrap();
        let whole = write(3, source, "10.0.0.2:5060".parse().unwrap(), 17, b"INVITE");
        let with = |chunk: &[u8]| {
            let mut bytes = [&whole[..6], chunk, &whole[6..]].concat();
            let length = u16::try_from(bytes.len()).unwrap().to_be_bytes();
            bytes[4..6].copy_from_slice(&length);
            bytes
        };
        let vendor = with(&[0x12, 0x34, 0, 15, 0, 8, b'x', b'y']);
        assert_eq!(Hep::parse(&vendor).unwrap().payload, b"INVITE");
        for length in 0..6 {
            assert_eq!(Hep::parse(&with(&[0, 0, 0, 1, 0, length])), None);
        }
        assert!(is_compressed(&with(&[0, 0, 0, 16, 0, 7, 1])));
        assert!(!is_compressed(&whole));
    }

    #[test]
    fn a_message_of_another_type_and_one_without_its_ends_say_so() {
        let source = "10.0.0.1:5060".parse().unwrap();
        let destination = "10.0.0.2:5060".parse().unwrap();
        let of = |kind: u8, payload: &[u8]| {
            let mut bytes = write(3, source, destination, 6, payload);
            let place = bytes
                .windows(6)
                .position(|octets| octets == [0, 0, 0, 11, 0, 7]);
            bytes[place.unwrap() + 6] = kind;
            Hep::parse(&bytes).unwrap().is_message()
        };
        let request = b"GET / HTTP/1.1\r\n\r\n";
        for kind in [0, SIP, 4, 6, 7, 9, 0x38, 0x50] {
            assert!(of(kind, request), "{kind}");
        }
        assert!(of(RTCP, b"\x80\xc9\0\x01\0\0\0\x01"));
        for kind in [RTCP, 0x32, 0x35, 0x38] {
            assert!(!of(kind, b" {\"a\": 1}"), "{kind}");
        }
        for kind in OTHERS {
            assert!(!of(kind, request), "{kind}");
        }
        let whole = write(3, source, destination, 6, request);
        assert!(!is_incomplete(&whole) && !is_incomplete(b"HEP2"));
        for end in 4..whole.len() {
            assert!(is_incomplete(&whole[..end]), "{end}");
        }
        // The address of the destination is of another family; there is no message at all.
        let mut other = whole.clone();
        let place = other
            .windows(6)
            .position(|octets| octets == [0, 0, 0, 4, 0, 10]);
        other[place.unwrap() + 3] = 14;
        assert!(is_incomplete(&other));
        assert!(!is_incomplete(&write(3, source, destination, 6, b"")));
    }
}
