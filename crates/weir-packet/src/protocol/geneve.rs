//! Generic Network Virtualization Encapsulation: any protocol in UDP, with options.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "geneve",
    title: "Generic Network Virtualization Encapsulation",
    decode,
    on: &[On::UdpPort(6081)],
    fields: &[
        Field::u8(
            "geneve.version",
            |p| Some(p.u8(GENEVE, 0)? >> 6),
            "Version, 0",
            "RFC 8926, 3.4",
        ),
        Field::u8(
            "geneve.flags",
            |p| p.u8(GENEVE, 1),
            "Flags",
            "RFC 8926, 3.4",
        ),
        Field::bool(
            "geneve.flags.oam",
            |p| p.bit(GENEVE, 1, 0x80),
            "A control message of the endpoints",
            "RFC 8926, 3.4",
        ),
        Field::bool(
            "geneve.flags.critical",
            |p| p.bit(GENEVE, 1, 0x40),
            "An option must be understood",
            "RFC 8926, 3.4",
        ),
        Field::u16(
            "geneve.proto_type",
            |p| p.u16_be(GENEVE, 2),
            "Ethertype of the payload",
            "RFC 8926, 3.4",
        ),
        Field::u32(
            "geneve.vni",
            |p| Some(p.u32_be(GENEVE, 4)? >> 8),
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
