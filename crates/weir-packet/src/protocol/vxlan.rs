//! Virtual eXtensible Local Area Network: Ethernet in UDP. The generic protocol extension has the
//! same columns and its own file.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::shape::{HeaderShape, NextHeader};
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "vxlan",
    title: "Virtual eXtensible Local Area Network",
    decode,
    on: &[On::UdpPort(4789)],
    fields: &[
        Field::u16(
            "vxlan.flags",
            |p| match any(p)? {
                Layer::Vxlan => p.u16_be(Layer::Vxlan, 0),
                extended => p.u8(extended, 0).map(u16::from),
            },
            "Flags: 16 bits, or the 8 of the generic protocol extension",
            "RFC 7348, 5; draft-ietf-nvo3-vxlan-gpe, 3",
        ),
        Field::bool(
            "vxlan.flag_i",
            |p| p.bit(Layer::Vxlan, 0, 0x08),
            "The network identifier is valid",
            "RFC 7348, 5",
        ),
        Field::u16(
            "vxlan.gbp",
            |p| p.u16_be(Layer::Vxlan, 2),
            "Group policy identifier",
            "draft-smith-vxlan-group-policy",
        ),
        Field::u32(
            "vxlan.vni",
            |p| Some(p.u32_be(any(p)?, 4)? >> 8),
            "Network identifier, 24 bits (with and without the generic protocol extension)",
            "RFC 7348, 5",
        ),
    ],
};

/// Any header.
pub(super) const SHAPES: &[HeaderShape] =
    &[HeaderShape::fixed(8, NextHeader::Layer(Layer::Ethernet))];

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    Ok(Header::new(8, Next::Layer(Layer::Ethernet)))
}

/// The outermost header of either kind.
fn any(packet: &Packet<'_>) -> Option<Layer> {
    let start = |layer| packet.span(layer).map(|span| span.start);
    match (start(Layer::Vxlan), start(Layer::VxlanGpe)) {
        (Some(plain), Some(extended)) if extended < plain => Some(Layer::VxlanGpe),
        (Some(_), _) => Some(Layer::Vxlan),
        (None, extended) => extended.map(|_| Layer::VxlanGpe),
    }
}
