//! The destination options of IPv6, which the node reads that the packet is addressed to. The
//! columns of the options themselves are in the file of the hop-by-hop options.

use weir_bytes::Bits;

use super::{Layer, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::{HeaderLen, HeaderShape, Location, NextHeader, NextTable, PayloadEnd};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipv6.dstopts",
    title: "IPv6 Destination Options",
    decode: super::ipv6_hop_by_hop::decode_extension,
    on: &[On::IpExtension(60)],
    fields: &[
        plain!(
            u8,
            "ipv6.dstopts.nxt",
            [Location::bits(OPTIONS, Bits::byte(0))],
            "Number of the header that follows the destination options",
            "RFC 8200, 4.6",
        ),
        plain!(
            u8,
            "ipv6.dstopts.len",
            [Location::bits(OPTIONS, Bits::byte(1))],
            "Length of the destination options header in units of 8 bytes beyond the first 8",
            "RFC 8200, 4.6",
        ),
        Field::u16(
            "ipv6.dstopts.len_oct",
            |p| Some((u16::from(p.u8(OPTIONS, 1)?) + 1) * 8),
            "Length of the destination options header in bytes",
            "RFC 8200, 4.6",
        ),
    ],
};

/// Any that is there whole.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape {
    len_min: 8,
    len: HeaderLen::Field {
        bits: Bits::byte(1),
        unit: 8,
        base: 8,
    },
    end: PayloadEnd::Outer,
    tests: &[],
    next: NextHeader::Number {
        bits: Bits::byte(0),
        table: NextTable::IpProtocol,
    },
    no_next: &[],
    enabled: None,
}];

const OPTIONS: Layer = Layer::Ipv6DestinationOptions;
