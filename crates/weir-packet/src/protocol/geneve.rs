//! Generic Network Virtualization Encapsulation: any protocol in UDP, with options.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "geneve",
    title: "Generic Network Virtualization Encapsulation",
    decode,
    on: &[On::UdpPort(6081)],
    fields: &[
        plain!(
            u8,
            "geneve.version",
            [Location::bits(GENEVE, Bits::byte(0).part(6, 2))],
            "Version, 0",
            "RFC 8926, 3.4",
        ),
        plain!(
            u8,
            "geneve.flags",
            [Location::bits(GENEVE, Bits::byte(1))],
            "Flags",
            "RFC 8926, 3.4",
        ),
        plain!(
            bool,
            "geneve.flags.oam",
            [Location::bits(GENEVE, Bits::flag(1, 7))],
            "A control message of the endpoints",
            "RFC 8926, 3.4",
        ),
        plain!(
            bool,
            "geneve.flags.critical",
            [Location::bits(GENEVE, Bits::flag(1, 6))],
            "An option must be understood",
            "RFC 8926, 3.4",
        ),
        plain!(
            u16,
            "geneve.proto_type",
            [Location::bits(GENEVE, Bits::be16(2))],
            "Ethertype of the payload",
            "RFC 8926, 3.4",
        ),
        plain!(
            u32,
            "geneve.vni",
            [Location::bits(GENEVE, NETWORK_IDENTIFIER)],
            "Network identifier, 24 bits",
            "RFC 8926, 3.4",
        ),
        Field::bytes(
            "geneve.options",
            |p| {
                p.part(GENEVE, 8, usize::from(p.u8(GENEVE, 0)? & 0x3f) * 4)
                    .filter(|options| !options.is_empty())
            },
            "All options",
            "RFC 8926, 3.5",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let first = input.u8(0)?;
    if first >> 6 != 0 {
        return Err(Reason::Invalid {
            field: "geneve.version",
            value: u32::from(first >> 6),
        });
    }
    let len = 8 + usize::from(first & 0x3f) * 4;
    input.need(len)?;
    let next = match input.u16_be(2)? {
        BRIDGED_ETHERNET => Next::Layer(Layer::Ethernet),
        ethertype => Next::Ethertype(ethertype),
    };
    Ok(Header::new(len, next))
}

const GENEVE: Layer = Layer::Geneve;
const BRIDGED_ETHERNET: u16 = 0x6558;
pub(super) const NETWORK_IDENTIFIER: Bits = Bits::be32(4).part(8, 24);
