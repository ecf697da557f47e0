//! The fragment header of IPv6.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipv6.fraghdr",
    title: "IPv6 Fragment Header",
    decode,
    on: &[On::IpExtension(44)],
    fields: &[
        plain!(
            u8,
            "ipv6.fraghdr.nxt",
            [Location::bits(FRAGMENT, NEXT_HEADER)],
            "Number of the header that the first fragment begins with",
            "RFC 8200, 4.5",
        ),
        plain!(
            u8,
            "ipv6.fraghdr.reserved_octet",
            [Location::bits(FRAGMENT, Bits::byte(1))],
            "Reserved byte",
            "RFC 8200, 4.5",
        ),
        plain!(
            u16,
            "ipv6.fraghdr.offset",
            [Location::bits(FRAGMENT, OFFSET)],
            "Offset of the fragment in units of 8 bytes, as Wireshark shows it; 0 in the first",
            "RFC 8200, 4.5",
        ),
        plain!(
            u8,
            "ipv6.fraghdr.reserved_bits",
            [Location::bits(FRAGMENT, Bits::byte(3).part(1, 2))],
            "Reserved bits",
            "RFC 8200, 4.5",
        ),
        plain!(
            bool,
            "ipv6.fraghdr.more",
            [Location::bits(FRAGMENT, MORE_FRAGMENTS)],
            "More fragments follow",
            "RFC 8200, 4.5",
        ),
        plain!(
            u32,
            "ipv6.fraghdr.ident",
            [Location::bits(FRAGMENT, IDENTIFICATION)],
            "Identification, the same in all fragments of a packet",
            "RFC 8200, 4.5",
        ),
    ],
};

/// A fragment header of IPv6, read field by field; `None` where it is cut in front of one.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6FragmentHeader<'a>(&'a [u8]);

impl<'a> Ipv6FragmentHeader<'a> {
    /// The header at the start of `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Number of the header that the first fragment begins with.
    #[inline]
    #[must_use]
    pub fn next_header(&self) -> Option<u8> {
        NEXT_HEADER.read(self.0).map(|number| number as u8)
    }

    /// Offset of the payload in the packet's in bytes; 0 in the first fragment.
    #[inline]
    #[must_use]
    pub fn fragment_offset(&self) -> Option<u32> {
        OFFSET.read(self.0).map(|units| units as u32 * 8)
    }

    /// More fragments follow.
    #[inline]
    #[must_use]
    pub fn more_fragments(&self) -> Option<bool> {
        MORE_FRAGMENTS.read(self.0).map(|flag| flag != 0)
    }

    /// The same in all fragments of a packet.
    #[inline]
    #[must_use]
    pub fn identification(&self) -> Option<u32> {
        IDENTIFICATION.read(self.0).map(|value| value as u32)
    }

    /// False when all of the packet is here after all (RFC 6946), and when the header is cut.
    #[inline]
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        self.is_later_fragment() || self.more_fragments() == Some(true)
    }

    /// Whether the packet is a later fragment, without the header of its transport.
    #[inline]
    #[must_use]
    pub fn is_later_fragment(&self) -> bool {
        self.fragment_offset().is_some_and(|offset| offset != 0)
    }
}

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    let protocol = input.u8(0)?;
    let next = if Ipv6FragmentHeader::new(input.bytes).is_later_fragment() {
        Next::IpFragment(protocol)
    } else {
        Next::IpProtocol(protocol)
    };
    Ok(Header::new(HEADER_LEN, next))
}

const FRAGMENT: Layer = Layer::Ipv6Fragment;
const NEXT_HEADER: Bits = Bits::byte(0);
const OFFSET: Bits = Bits::be16(2).part(3, 13);
const MORE_FRAGMENTS: Bits = Bits::flag(3, 0);
const IDENTIFICATION: Bits = Bits::be32(4);
const HEADER_LEN: usize = 8;
