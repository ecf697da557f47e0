//! Virtual eXtensible Local Area Network: Ethernet in UDP. The generic protocol extension has the
//! same columns and its own file.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::plain;
use crate::shape::{HeaderShape, Location, NextHeader};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "vxlan",
    title: "Virtual eXtensible Local Area Network",
    decode,
    on: &[On::UdpPort(4789)],
    fields: &[
        plain!(
            u16,
            "vxlan.flags",
            [
                Location::bits(Layer::Vxlan, Bits::be16(0)),
                Location::bits(Layer::VxlanGpe, Bits::byte(0)),
            ],
            "Flags: 16 bits, or the 8 of the generic protocol extension",
            "RFC 7348, 5; draft-ietf-nvo3-vxlan-gpe, 3",
        ),
        plain!(
            bool,
            "vxlan.flag_i",
            [Location::bits(Layer::Vxlan, HAS_IDENTIFIER)],
            "The network identifier is valid",
            "RFC 7348, 5",
        ),
        plain!(
            u16,
            "vxlan.gbp",
            [Location::bits(Layer::Vxlan, Bits::be16(2))],
            "Group policy identifier",
            "draft-smith-vxlan-group-policy",
        ),
        plain!(
            u32,
            "vxlan.vni",
            [Location::bits(Layer::Vxlan, VNI), Location::bits(Layer::VxlanGpe, VNI)],
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

/// The same with and without the generic protocol extension.
const VNI: Bits = Bits::be32(4).part(8, 24);

/// The identifier, when the header says that it is valid.
pub(super) fn network_identifier(header: &[u8]) -> Option<u32> {
    let is_valid = HAS_IDENTIFIER.read(header)? != 0;
    let identifier = VNI.read(header)? as u32;
    is_valid.then_some(identifier)
}

const HAS_IDENTIFIER: Bits = Bits::flag(0, 3);
