//! RADIUS (RFC 2865, RFC 2866, RFC 5176): one packet, and its attributes.

use weir_bytes::{array_at, u8_at, u16_be_at, u32_be_at};

/// Ports of servers: authentication, accounting (both also as they were before), and changes of authorization.
pub const PORTS: [u16; 7] = [1_812, 1_813, 1_645, 1_646, 3_799, 1_700, 2_083];
/// Octets of a header.
const HEADER_OCTETS: usize = 20;
/// The authenticator, behind the length.
const AUTHENTICATOR_AT: usize = 4;
/// Attributes that are numbers of 32 bits or addresses of IPv4 (RFC 2865, RFC 2866, RFC 2869, RFC 5176).
const OF_FOUR_OCTETS: [u8; 31] = [
    4, 5, 6, 7, 8, 10, 12, 13, 15, 16, 27, 28, 37, 38, 40, 41, 42, 43, 45, 46, 47, 48, 49, 51, 52,
    53, 61, 62, 76, 85, 101,
];
/// Longest packet (RFC 2865, 3).
pub const OCTETS_MAX: u16 = 4_096;

/// A packet whose header is there, at least up to its length.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'p>(&'p [u8]);

impl<'p> Packet<'p> {
    /// A view of a packet; `None` for bytes that end before the length of its header does, or whose code or length RADIUS does
    /// not have. Between other ports than [`PORTS`], where these bytes may be anything, the packet must have attributes that
    /// fill it to its last octet.
    #[must_use]
    pub fn new(bytes: &'p [u8], ports: [u16; 2]) -> Option<Self> {
        let length = u16_be_at(bytes, 2)?;
        code_word(u8_at(bytes, 0)?)?;
        let is_length = (HEADER_OCTETS as u16..=OCTETS_MAX).contains(&length);
        if !is_length {
            return None;
        }
        let end = bytes.len().min(length.into());
        let packet = Self(bytes.get(..end)?);
        let is_port = ports.iter().any(|port| PORTS.contains(port));
        let fills = || {
            let octets: usize = packet.attributes().map(|it| 2 + it.value.len()).sum();
            bytes.len() == usize::from(length)
                && octets > 0
                && HEADER_OCTETS + octets == bytes.len()
        };
        (is_port || fills()).then_some(packet)
    }

    /// Whether more octets may make a packet of these on any port: attributes that fill it.
    #[must_use]
    pub fn may_begin(bytes: &[u8]) -> bool {
        if u8_at(bytes, 0).and_then(code_word).is_none() {
            return false;
        }
        let Some(length) = u16_be_at(bytes, 2) else {
            return true;
        };
        let is_length = (HEADER_OCTETS as u16 + 2..=OCTETS_MAX).contains(&length);
        let mut left = usize::from(length).saturating_sub(HEADER_OCTETS);
        let mut rest = bytes.get(HEADER_OCTETS..).unwrap_or_default();
        while let Some(octets) = u8_at(rest, 1).map(usize::from) {
            if octets < 2 || octets > left {
                return false;
            }
            left -= octets;
            rest = rest.get(octets..).unwrap_or_default();
        }
        is_length && bytes.len() < usize::from(length)
    }

    /// Code: 1 request, 2 accept, 3 reject, 4 accounting, ….
    #[must_use]
    pub fn code(&self) -> u8 {
        u8_at(self.0, 0).unwrap_or_default()
    }

    /// Number that request and response share.
    #[must_use]
    pub fn id(&self) -> u8 {
        u8_at(self.0, 1).unwrap_or_default()
    }

    /// Octets, as the header says.
    #[must_use]
    pub fn length(&self) -> u16 {
        u16_be_at(self.0, 2).unwrap_or_default()
    }

    /// Whether all octets of the packet are there.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.0.len() >= usize::from(self.length())
    }

    /// Authenticator; `None` where the packet ends within it.
    #[must_use]
    pub fn authenticator(&self) -> Option<&'p [u8]> {
        self.0.get(AUTHENTICATOR_AT..HEADER_OCTETS)
    }

    /// True for what answers a request.
    #[must_use]
    pub fn is_response(&self) -> bool {
        matches!(self.code(), 2 | 3 | 5 | 11 | 41 | 42 | 44 | 45)
    }

    /// The attributes, as far as they are whole.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'p> {
        Attributes(self.0.get(HEADER_OCTETS..).unwrap_or_default())
    }

    /// What keeps the attributes from being read: the reason why they end before the packet does, or a number or an address of another
    /// length than it has.
    #[must_use]
    pub fn fault(&self) -> Option<&'static str> {
        if !self.is_whole() {
            return Some("bytes were not captured");
        }
        let mut left = self.attributes();
        let mut has_other_length = false;
        let mut is_short = false;
        for attribute in left.by_ref() {
            is_short |= attribute.value.len() < attribute.extended_header_octets();
            let octets = match attribute.kind {
                95 => 16,
                kind if OF_FOUR_OCTETS.contains(&kind) => 4,
                _ => continue,
            };
            has_other_length |= attribute.value.len() != octets;
        }
        if !left.0.is_empty() || is_short {
            return Some("an attribute ends behind the packet, or within its header");
        }
        has_other_length.then_some("a number or an address has another length than its attribute")
    }

    /// The vendors (IANA) of its vendor-specific attributes, extended ones, too: that of one in several fragments comes once.
    pub fn vendors(&self) -> impl Iterator<Item = u32> + use<'p> {
        let mut open = None;
        self.attributes().filter_map(move |attribute| {
            let own = (attribute.kind, attribute.extended_type());
            let goes_on = open == Some(own);
            open = attribute.has_more().then_some(own);
            attribute.vendor().filter(|_| !goes_on)
        })
    }

    /// The first attribute of this type, as a number. Some senders leave out its first octets.
    #[must_use]
    pub fn number(&self, kind: u8) -> Option<u64> {
        let octets = self.attribute(kind)?;
        let is_number = matches!(octets.len(), 1..=4 | 8);
        let number = |sum: u64, octet: &u8| sum << 8 | u64::from(*octet);
        is_number.then(|| octets.iter().fold(0, number))
    }

    /// The first attribute of this type.
    #[must_use]
    pub fn attribute(&self, kind: u8) -> Option<&'p [u8]> {
        let found = self.attributes().find(|it| it.kind == kind)?;
        Some(found.value)
    }
}

/// The offset of the first packet in octets of a stream that may begin with the rest of another one: attributes fill it to its last
/// octet, or standard ones begin it where these octets end, of which the first is whole.
#[must_use]
pub fn find(bytes: &[u8]) -> Option<usize> {
    let is_packet = |rest: &[u8]| {
        let Some(length) = u16_be_at(rest, 2).map(usize::from) else {
            return false;
        };
        match rest.get(..length) {
            Some(packet) => is_understood(packet),
            None => {
                Packet::may_begin(rest)
                    && rest.len() >= BEGINNING_OCTETS
                    && begins_with_standard_attributes(rest)
            }
        }
    };
    let mut all = 0..bytes.len();
    all.find(|at| bytes.get(*at..).is_some_and(is_packet))
}

/// Whether all attributes of a packet that is not whole are standard, as far as they are there, and the first one is whole. The
/// octets within long attributes often look like a header and one attribute of any length.
fn begins_with_standard_attributes(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(HEADER_OCTETS..).unwrap_or_default();
    let mut is_first_whole = false;
    while let [kind, length, ..] = rest {
        // RFC 2865 to 5176, and the extended types (RFC 6929, 10.3).
        if !matches!(*kind, 1..=104 | 241..=246) || *length < 3 {
            return false;
        }
        let Some(after) = rest.get(usize::from(*length)..) else {
            break;
        };
        is_first_whole = true;
        rest = after;
    }
    is_first_whole
}

/// Octets that [`find`] has to see of a packet that is not whole.
pub const BEGINNING_OCTETS: usize = HEADER_OCTETS + 40;

/// True for a whole packet that attributes fill to its last octet.
#[must_use]
pub fn is_understood(bytes: &[u8]) -> bool {
    Packet::new(bytes, [0; 2]).is_some_and(|packet| usize::from(packet.length()) == bytes.len())
}

/// An attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'p> {
    /// The type: 26 is vendor-specific, and 241 to 246 are extended.
    pub kind: u8,
    /// The value.
    pub value: &'p [u8],
}

/// The type of vendor-specific attributes, and the extended type of extended ones (RFC 6929, 2.4).
const VENDOR_SPECIFIC: u8 = 26;

impl Attribute<'_> {
    /// Octets of the value in front of the data: an extended type, and of long attributes flags (RFC 6929, 2.1 and 2.2).
    const fn extended_header_octets(&self) -> usize {
        match self.kind {
            241..=244 => 1,
            245 | 246 => 2,
            _ => 0,
        }
    }

    /// The extended type of an attribute with one of the types 241 to 246 (RFC 6929, 2.1).
    #[must_use]
    pub fn extended_type(&self) -> Option<u8> {
        let octets = self.extended_header_octets();
        u8_at(self.value, 0).filter(|_| octets > 0 && self.value.len() >= octets)
    }

    /// Whether the next attribute goes on with the data of this one, which is a long extended one (RFC 6929, 2.2).
    #[must_use]
    pub fn has_more(&self) -> bool {
        matches!(self.kind, 245 | 246)
            && u8_at(self.value, 1).is_some_and(|flags| flags & 0x80 != 0)
    }

    /// Number of the vendor (IANA) whose attribute it is. Of a long extended attribute in several fragments the first one has it, as
    /// [`Packet::vendors`] knows.
    #[must_use]
    pub fn vendor(&self) -> Option<u32> {
        let kind = match self.kind {
            VENDOR_SPECIFIC => VENDOR_SPECIFIC,
            _ => self.extended_type()?,
        };
        u32_be_at(self.value, self.extended_header_octets()).filter(|_| kind == VENDOR_SPECIFIC)
    }
}

/// The attributes of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'p>(&'p [u8]);

impl<'p> Iterator for Attributes<'p> {
    type Item = Attribute<'p>;

    fn next(&mut self) -> Option<Attribute<'p>> {
        let [kind, length] = array_at(self.0, 0)?;
        let value = self.0.get(2..usize::from(length))?;
        self.0 = self.0.get(usize::from(length)..)?;
        Some(Attribute { kind, value })
    }
}

/// The name of a code (IANA).
#[must_use]
pub const fn code_word(code: u8) -> Option<&'static str> {
    Some(match code {
        1 => "Access-Request",
        2 => "Access-Accept",
        3 => "Access-Reject",
        4 => "Accounting-Request",
        5 => "Accounting-Response",
        11 => "Access-Challenge",
        12 => "Status-Server",
        13 => "Status-Client",
        40 => "Disconnect-Request",
        41 => "Disconnect-ACK",
        42 => "Disconnect-NAK",
        43 => "CoA-Request",
        44 => "CoA-ACK",
        45 => "CoA-NAK",
        _ => return None,
    })
}

/// The name of an accounting status (RFC 2866, 5.1).
#[must_use]
pub const fn status_word(status: u32) -> Option<&'static str> {
    Some(match status {
        1 => "Start",
        2 => "Stop",
        3 => "Interim-Update",
        7 => "Accounting-On",
        8 => "Accounting-Off",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Vec<u8> {
        let mut bytes = vec![1, 7, 0, 36];
        bytes.extend([9; 16]);
        bytes.extend(b"\x01\x05bob\x04\x06\xc0\0\x02\x01\x1a\x05\0\0\x09");
        bytes
    }

    #[test]
    fn a_request_is_read() {
        let bytes = request();
        let packet = Packet::new(&bytes, [5, 6]).unwrap();
        assert_eq!((packet.code(), packet.id(), packet.length()), (1, 7, 36));
        assert_eq!(packet.attribute(1), Some(&b"bob"[..]));
        assert_eq!(packet.attributes().count(), 3);
        assert!(!packet.is_response());
    }

    #[test]
    fn attributes_of_another_length_are_faults() {
        let with = |attributes: &[u8]| {
            let mut bytes = vec![1, 7, 0, 20 + attributes.len() as u8];
            bytes.extend([9; 16]);
            bytes.extend(attributes);
            bytes
        };
        let behind = "an attribute ends behind the packet, or within its header";
        let other = "a number or an address has another length than its attribute";
        for (attributes, number, fault) in [
            (&b"\x05\x06\0\0\x01\x02"[..], Some(258), None),
            (b"\x05\x04\x01\x02", Some(258), Some(other)),
            (b"\x05\x03\x07", Some(7), Some(other)),
            (b"\x05\x02", None, Some(other)),
            (b"\x05\x07\0\0\0\x01\x02", None, Some(other)),
            (b"\x04\x05\x0a\0\0", None, Some(other)),
            // The second attribute does not end, or is shorter than its own header.
            (b"\x05\x06\0\0\0\x07\x01\x09bob", Some(7), Some(behind)),
            (b"\x05\x06\0\0\0\x07\x01\x01", Some(7), Some(behind)),
            (b"\x05\x06\0\0\0\x07\x01", Some(7), Some(behind)),
        ] {
            let bytes = with(attributes);
            let packet = Packet::new(&bytes, [1_812, 6]).unwrap();
            assert_eq!(
                (packet.number(5), packet.fault()),
                (number, fault),
                "{attributes:?}"
            );
            let cut = Packet::new(&bytes[..bytes.len() - 1], [1_812, 6]).unwrap();
            assert_eq!(cut.fault(), Some("bytes were not captured"));
        }
    }

    /// RFC 6929: an attribute with the vendor's number behind an extended type, and long ones in fragments.
    #[test]
    fn extended_attributes_are_read() {
        let read = |attributes: &[u8]| {
            let mut bytes = vec![2, 7, 0, 20 + attributes.len() as u8];
            bytes.extend([9; 16]);
            bytes.extend(attributes);
            let packet = Packet::new(&bytes, [1_812, 6]).unwrap();
            let types = packet.attributes().map(|it| it.extended_type());
            let types: Vec<u8> = types.flatten().collect();
            let vendors: Vec<u32> = packet.vendors().collect();
            (types, vendors, packet.fault().is_some())
        };
        for (attributes, types, vendors, is_fault) in [
            (&b"\x1a\x08\0\0\0\x09\x01\x02"[..], &[] as &[u8], &[9_u32][..], false),
            (b"\xf1\x0a\x1a\0\0\0\x09\x01xy", &[26], &[9], false),
            (b"\xf1\x07\x01\0\0\0\x09", &[1], &[], false),
            (b"\xf6\x0a\x1a\0\0\0\0\x09\x01x", &[26], &[9], false),
            // The second fragment begins with data.
            (
                b"\xf5\x0a\x1a\x80\0\0\0\x09\x01x\xf5\x08\x1a\0yyyy",
                &[26, 26],
                &[9],
                false,
            ),
            // The first attribute has no more, and the types of the others differ.
            (
                b"\xf5\x0a\x1a\0\0\0\0\x09\x01x\xf5\x09\x1a\x80\0\0\0\x0a\x01\xf6\x09\x1a\0\0\0\0\x0b\x01",
                &[26, 26, 26],
                &[9, 10, 11],
                false,
            ),
            // No room for an extended type, for flags, for a vendor.
            (b"\xf1\x02", &[], &[], true),
            (b"\xf5\x03\x1a", &[], &[], true),
            (b"\xf1\x05\x1a\0\0", &[26], &[], false),
        ] {
            let expected = (types.to_vec(), vendors.to_vec(), is_fault);
            assert_eq!(read(attributes), expected, "{attributes:x?}");
        }
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let bytes = request();
        for end in 0..bytes.len() {
            let prefix = &bytes[..end];
            assert!(Packet::new(prefix, [5, 6]).is_none());
            let packet = Packet::new(prefix, [1_812, 6]);
            assert_eq!(packet.is_some(), end >= 4);
            let authenticator = packet.and_then(|it| it.authenticator());
            assert_eq!(authenticator.is_some(), end >= 20);
            let whole = [25, 31].iter().filter(|at| end >= **at).count();
            assert_eq!(
                packet.map_or(0, |it| it.attributes().count()),
                whole,
                "{end}"
            );
        }
    }
}
