//! STUN (RFC 8489) and TURN (RFC 8656): one message, and its attributes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use weir_bytes::{array_at, u8_at, u16_be_at, u32_be_at};

/// The magic cookie of all messages since RFC 5389.
pub const COOKIE: u32 = 0x2112_a442;
/// Octets of a header.
pub const HEADER_OCTETS: usize = 20;

/// Types of attributes, by their numbers.
pub mod attribute {
    /// The address that a server sees, not obfuscated.
    pub const MAPPED_ADDRESS: u16 = 0x0001;
    /// The address that a server answers from (RFC 3489, 11.2.5).
    pub const SOURCE_ADDRESS: u16 = 0x0004;
    /// The other address of a server (RFC 3489, 11.2.3).
    pub const CHANGED_ADDRESS: u16 = 0x0005;
    /// User name.
    pub const USERNAME: u16 = 0x0006;
    /// The reason why something failed.
    pub const ERROR_CODE: u16 = 0x0009;
    /// The address that a request came from (RFC 3489, 11.2.11).
    pub const REFLECTED_FROM: u16 = 0x000b;
    /// Number of a channel.
    pub const CHANNEL_NUMBER: u16 = 0x000c;
    /// The lifetime of an allocation.
    pub const LIFETIME: u16 = 0x000d;
    /// The peer's address.
    pub const XOR_PEER_ADDRESS: u16 = 0x0012;
    /// Realm of user names.
    pub const REALM: u16 = 0x0014;
    /// What a peer sent, or what is to be sent to it (RFC 8656, 18.4).
    pub const DATA: u16 = 0x0013;
    /// The address that a relay gives.
    pub const XOR_RELAYED_ADDRESS: u16 = 0x0016;
    /// The address that a server sees, obfuscated.
    pub const XOR_MAPPED_ADDRESS: u16 = 0x0020;
    /// Priority of a candidate (RFC 8445).
    pub const PRIORITY: u16 = 0x0024;
    /// The candidate is to be used (RFC 8445).
    pub const USE_CANDIDATE: u16 = 0x0025;
    /// The address that a server sees, obfuscated, by its number before RFC 5389.
    pub const OLD_XOR_MAPPED_ADDRESS: u16 = 0x8020;
    /// Software.
    pub const SOFTWARE: u16 = 0x8022;
    /// Another server.
    pub const ALTERNATE_SERVER: u16 = 0x8023;
    /// The address that a response is sent from (RFC 5780, 7.3).
    pub const RESPONSE_ORIGIN: u16 = 0x802b;
    /// The other address of a server (RFC 5780, 7.4).
    pub const OTHER_ADDRESS: u16 = 0x802c;
}

/// A message, whose header is there.
#[derive(Clone, Copy, Debug)]
pub struct StunMessage<'m>(&'m [u8]);

impl<'m> StunMessage<'m> {
    /// A view of a message; `None` when these are not the octets of one, from first to last.
    #[must_use]
    pub fn new(bytes: &'m [u8]) -> Option<Self> {
        let whole = length(bytes)?;
        (whole == bytes.len()).then_some(Self(bytes))
    }

    /// Type: class and method.
    #[must_use]
    pub fn kind(&self) -> u16 {
        u16_be_at(self.0, 0).unwrap_or_default()
    }

    /// Class: 0 request, 1 indication, 2 success, 3 error.
    #[must_use]
    pub fn class(&self) -> u8 {
        let kind = self.kind();
        (kind >> 7 & 2 | kind >> 4 & 1) as u8
    }

    /// Method: 1 binding.
    #[must_use]
    pub fn method(&self) -> u16 {
        let kind = self.kind();
        kind >> 2 & 0xf80 | kind >> 1 & 0x70 | kind & 0xf
    }

    /// Octets of the attributes.
    #[must_use]
    pub fn length(&self) -> u16 {
        u16_be_at(self.0, 2).unwrap_or_default()
    }

    /// Number that request and response share.
    #[must_use]
    pub fn id(&self) -> [u8; 12] {
        array_at(self.0, 8).unwrap_or_default()
    }

    /// The attributes, as far as they are whole.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'m> {
        Attributes(self.0.get(HEADER_OCTETS..).unwrap_or_default())
    }

    /// The first attribute of this type.
    #[must_use]
    pub fn attribute(&self, kind: u16) -> Option<&'m [u8]> {
        self.attributes()
            .find(|attribute| attribute.0 == kind)
            .map(|attribute| attribute.1)
    }

    /// The address and port that an attribute holds.
    #[must_use]
    pub fn address(&self, kind: u16, value: &[u8]) -> Option<(IpAddr, u16)> {
        // Obfuscated addresses are combined with the magic cookie and the transaction ID (RFC 8489, 14.2).
        let mask: [u8; 16] = match kind {
            attribute::XOR_PEER_ADDRESS
            | attribute::XOR_RELAYED_ADDRESS
            | attribute::XOR_MAPPED_ADDRESS
            | attribute::OLD_XOR_MAPPED_ADDRESS => array_at(self.0, 4)?,
            attribute::MAPPED_ADDRESS
            | attribute::SOURCE_ADDRESS
            | attribute::CHANGED_ADDRESS
            | attribute::REFLECTED_FROM
            | attribute::ALTERNATE_SERVER
            | attribute::RESPONSE_ORIGIN
            | attribute::OTHER_ADDRESS => [0; 16],
            _ => return None,
        };
        let port = u16_be_at(value, 2)? ^ u16::from_be_bytes([mask[0], mask[1]]);
        let address = match u8_at(value, 1)? {
            1 => IpAddr::from(Ipv4Addr::from(unmasked::<4>(array_at(value, 4)?, mask))),
            2 => IpAddr::from(Ipv6Addr::from(unmasked::<16>(array_at(value, 4)?, mask))),
            _ => return None,
        };
        Some((address, port))
    }

    /// The reason why something failed: 300 to 699, and in words.
    #[must_use]
    pub fn error(&self) -> Option<(u16, &'m [u8])> {
        let value = self.attribute(attribute::ERROR_CODE)?;
        let [class, number] = array_at(value, 2)?;
        Some((
            u16::from(class & 7) * 100 + u16::from(number),
            value.get(4..)?,
        ))
    }
}

/// Octets without the mask that obfuscates them.
fn unmasked<const N: usize>(mut octets: [u8; N], mask: [u8; 16]) -> [u8; N] {
    for (octet, mask) in octets.iter_mut().zip(mask) {
        *octet ^= mask;
    }
    octets
}

/// Octets of the message that begins here; `None` when none does.
#[must_use]
pub fn length(bytes: &[u8]) -> Option<usize> {
    let kind = u16_be_at(bytes, 0)?;
    let length = u16_be_at(bytes, 2)?;
    let is_header =
        kind < 0x4000 && length.is_multiple_of(4) && u32_be_at(bytes, 4) == Some(COOKIE);
    is_header.then_some(HEADER_OCTETS + usize::from(length))
}

/// The offset of the first message in octets of a stream that may begin with the rest of another one: its header has the magic
/// cookie.
#[must_use]
pub fn find(bytes: &[u8]) -> Option<usize> {
    let mut all = 0..bytes.len();
    all.find(|at| bytes.get(*at..).is_some_and(|rest| length(rest).is_some()))
}

/// Whether more octets may make a message of these, which end before the end of the cookie.
#[must_use]
pub fn may_begin(bytes: &[u8]) -> bool {
    let mut shortest = [0; 8];
    let is_short = bytes.len() < shortest.len();
    let [_, _, _, _, cookie @ ..] = &mut shortest;
    *cookie = COOKIE.to_be_bytes();
    let known = shortest.iter_mut().zip(bytes);
    known.for_each(|(octet, known)| *octet = *known);
    is_short && !bytes.is_empty() && length(&shortest).is_some()
}

/// The number of octets at the end of octets without a message for [`find`] with which one may begin; 0 where none may.
#[must_use]
pub fn begun(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(BEGINNING_OCTETS - 1);
    let mut all = last..bytes.len();
    let at = all.find(|at| bytes.get(*at..).is_some_and(may_begin));
    at.map_or(0, |at| bytes.len().saturating_sub(at))
}

/// The number of octets of a message up to the end of its cookie.
pub const BEGINNING_OCTETS: usize = 8;

/// The attributes of a message: type and value.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'m>(&'m [u8]);

impl<'m> Iterator for Attributes<'m> {
    type Item = (u16, &'m [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let kind = u16_be_at(self.0, 0)?;
        let length = usize::from(u16_be_at(self.0, 2)?);
        let value = self.0.get(4..4 + length)?;
        // Values end with the word.
        self.0 = self
            .0
            .get(4 + length.next_multiple_of(4)..)
            .unwrap_or_default();
        Some((kind, value))
    }
}

/// The name of a class.
#[must_use]
pub fn class_word(class: u8) -> Option<&'static str> {
    ["request", "indication", "success", "error"]
        .get(usize::from(class))
        .copied()
}

/// The name of a method (RFC 8489, 18.2; RFC 8656).
#[must_use]
pub const fn method_word(method: u16) -> Option<&'static str> {
    Some(match method {
        1 => "Binding",
        2 => "SharedSecret",
        3 => "Allocate",
        4 => "Refresh",
        6 => "Send",
        7 => "Data",
        8 => "CreatePermission",
        9 => "ChannelBind",
        10 => "Connect",
        11 => "ConnectionBind",
        12 => "ConnectionAttempt",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The response of RFC 5769, 2.2.
    fn response() -> Vec<u8> {
        let mut bytes = vec![0x01, 0x01, 0x00, 0x3c, 0x21, 0x12, 0xa4, 0x42];
        bytes.extend([
            0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86, 0xfa, 0x87, 0xdf, 0xae,
        ]);
        bytes.extend([0x80, 0x22, 0x00, 0x0b]);
        bytes.extend(b"test vector ");
        bytes.extend([
            0x00, 0x20, 0x00, 0x08, 0x00, 0x01, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43,
        ]);
        bytes.extend([0x00, 0x08, 0x00, 0x14]);
        bytes.extend([0; 20]);
        bytes.extend([0x80, 0x28, 0x00, 0x04, 0xc0, 0x7d, 0x4c, 0x96]);
        bytes
    }

    #[test]
    fn the_response_of_rfc_5769_is_read() {
        let bytes = response();
        let message = StunMessage::new(&bytes).unwrap();
        assert_eq!((message.class(), message.method()), (2, 1));
        assert_eq!(
            message.attribute(attribute::SOFTWARE),
            Some(&b"test vector"[..])
        );
        let value = message.attribute(attribute::XOR_MAPPED_ADDRESS).unwrap();
        assert_eq!(
            message.address(attribute::XOR_MAPPED_ADDRESS, value),
            Some((Ipv4Addr::new(192, 0, 2, 1).into(), 32_853))
        );
        assert_eq!(message.attributes().count(), 4);
    }

    #[test]
    fn every_prefix_is_refused_and_its_attributes_end() {
        let bytes = response();
        for end in 0..bytes.len() {
            assert!(StunMessage::new(&bytes[..end]).is_none());
            assert!(StunMessage(&bytes[..end]).attributes().count() <= 4);
        }
    }
}
