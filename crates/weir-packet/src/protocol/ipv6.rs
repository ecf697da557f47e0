//! Internet Protocol version 6. Its extension headers are protocols of their own.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::plain;
use crate::shape::{BitsTest, HeaderLen, HeaderShape, Location, NextHeader, NextTable, PayloadEnd};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipv6",
    title: "Internet Protocol version 6",
    decode,
    on: &[
        On::Ethertype(0x86dd),
        On::Link(229),
        On::ErfType(23),
        On::IpProtocol(41),
        On::Nlpid(0x8e),
        On::Ppp(0x0057),
    ],
    fields: &[
        plain!(
            u8,
            "ipv6.version",
            [Location::bits(IPV6, Bits::byte(0).part(4, 4))],
            "Version, 6",
            "RFC 8200, 3",
        ),
        plain!(
            u8,
            "ipv6.tclass",
            [Location::bits(IPV6, Bits::be16(0).part(4, 8)).when(VALID)],
            "Traffic class: differentiated services codepoint and congestion notification",
            "RFC 8200, 7",
        ),
        plain!(
            u8,
            "ipv6.tclass.dscp",
            [Location::bits(IPV6, Bits::be16(0).part(6, 6)).when(VALID)],
            "Differentiated services codepoint, 0 to 63",
            "RFC 2474, 3",
        ),
        plain!(
            u8,
            "ipv6.tclass.ecn",
            [Location::bits(IPV6, Bits::be16(0).part(4, 2)).when(VALID)],
            "Explicit congestion notification: 0 not capable, 1 and 2 capable, 3 congestion experienced",
            "RFC 3168, 5",
        ),
        plain!(
            u32,
            "ipv6.flow",
            [Location::bits(IPV6, Bits::be32(0).part(0, 20)).when(VALID)],
            "Flow label, 20 bits; 0: none",
            "RFC 6437",
        ),
        plain!(
            u16,
            "ipv6.plen",
            [Location::bits(IPV6, PAYLOAD_LEN).when(VALID)],
            "Length of what follows this header in bytes; 0 in jumbograms",
            "RFC 8200, 3",
        ),
        plain!(
            u8,
            "ipv6.nxt",
            [Location::bits(IPV6, NEXT_HEADER).when(VALID)],
            "Number of the header that follows: an extension header or the payload's protocol",
            "RFC 8200, 3; IANA protocol numbers",
        ),
        plain!(
            u8,
            "ipv6.hlim",
            [Location::bits(IPV6, HOP_LIMIT).when(VALID)],
            "Hop limit: hops left",
            "RFC 8200, 3",
        ),
        plain!(
            address,
            "ipv6.src",
            [Location::bytes(IPV6, 8, 16).when(VALID)],
            "Source address",
            "RFC 8200, 3",
        ),
        plain!(
            address,
            "ipv6.dst",
            [Location::bytes(IPV6, 24, 16).when(VALID)],
            "Destination address as the header holds it; a routing header may lead further",
            "RFC 8200, 3",
        ),
    ],
};

/// Any header but that of a jumbogram.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape {
    len_min: 40,
    len: HeaderLen::Fixed,
    end: PayloadEnd::Field {
        bits: PAYLOAD_LEN,
        base: 40,
        zero_is_outer: false,
    },
    tests: VALID,
    next: NextHeader::Number {
        bits: NEXT_HEADER,
        table: NextTable::IpProtocol,
    },
    no_next: &[],
    enabled: None,
}];

/// The tests of an IPv6 header.
const VALID: &[BitsTest] = &[BitsTest::new(Bits::byte(0).part(4, 4), &[(6, 6)])];
const PAYLOAD_LEN: Bits = Bits::be16(4);
const NEXT_HEADER: Bits = Bits::byte(6);
const HOP_LIMIT: Bits = Bits::byte(7);

/// A header of IPv6, read field by field; `None` where it is cut in front of one.
#[derive(Clone, Copy, Debug)]
pub struct Ipv6Header<'a>(&'a [u8]);

impl<'a> Ipv6Header<'a> {
    /// The header at the start of `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Bytes behind the header as it says; 0 in jumbograms.
    #[inline]
    #[must_use]
    pub fn payload_len(&self) -> Option<u16> {
        PAYLOAD_LEN.read(self.0).map(|len| len as u16)
    }

    /// Number of the header that follows.
    #[inline]
    #[must_use]
    pub fn next_header(&self) -> Option<u8> {
        NEXT_HEADER.read(self.0).map(|number| number as u8)
    }

    /// Hops left.
    #[inline]
    #[must_use]
    pub fn hop_limit(&self) -> Option<u8> {
        HOP_LIMIT.read(self.0).map(|hops| hops as u8)
    }

    /// Source and destination, sixteen bytes each.
    #[inline]
    #[must_use]
    pub fn addresses(&self) -> Option<&'a [u8]> {
        self.0.get(8..40)
    }
}

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let version = input.u8(0)? >> 4;
    if version != 6 {
        if version == 4 {
            // Some senders put IPv4 behind the number of IPv6.
            return Ok(Header::foreign(Next::Layer(Layer::Ipv4)));
        }
        return Err(Reason::Invalid {
            field: "ipv6.version",
            value: u32::from(version),
        });
    }
    input.need(HEADER_LEN)?;
    let header = Header::new(HEADER_LEN, Next::IpProtocol(input.u8(6)?));
    Ok(match usize::from(input.u16_be(4)?) {
        // A jumbogram, or segmentation offload: the frame's end is the packet's.
        0 => header,
        payload => header.with_total(payload.saturating_add(HEADER_LEN)),
    })
}

const IPV6: Layer = Layer::Ipv6;
const HEADER_LEN: usize = 40;
