//! IEEE 802.1ad service tags: the outer tag of provider bridges.

use weir_bytes::Bits;

use super::ethernet::length_or_type;
use super::{Header, Input, Layer, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::{HeaderShape, Location};
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ieee8021ad",
    title: "IEEE 802.1ad Provider Bridge",
    decode,
    on: &[On::Ethertype(SERVICE_TAG)],
    fields: &[
        plain!(
            u8,
            "ieee8021ad.priority",
            [Location::bits(Layer::ServiceVlan, Bits::byte(0).part(5, 3))],
            "Priority of the outermost service tag, 0 to 7",
            "IEEE 802.1Q, 9.6",
        ),
        plain!(
            u8,
            "ieee8021ad.dei",
            [Location::bits(Layer::ServiceVlan, Bits::flag(0, 4))],
            "1 when the frame may be dropped first",
            "IEEE 802.1Q, 9.6",
        ),
        Field::u16(
            "ieee8021ad.id",
            |p| identifier(p, 0).filter(|_| !doubled(p)),
            "VLAN identifier of a single service tag, 0 to 4095",
            "IEEE 802.1Q, 9.6",
        ),
        Field::u16(
            "ieee8021ad.svid",
            |p| identifier(p, 0).filter(|_| doubled(p)),
            "Service VLAN identifier where two service tags follow each other",
            "IEEE 802.1Q, 9.6",
        ),
        Field::u16(
            "ieee8021ad.cvid",
            |p| identifier(p, 4).filter(|_| doubled(p)),
            "Customer VLAN identifier: that of the second of two service tags",
            "IEEE 802.1Q, 9.6",
        ),
    ],
};

/// The shapes are those of a customer's tag.
pub(super) const SHAPES: &[HeaderShape] = super::vlan::SHAPES;

fn identifier(packet: &Packet<'_>, offset: usize) -> Option<u16> {
    Some(packet.u16_be(Layer::ServiceVlan, offset)? & 0x0fff)
}

/// Another service tag follows the outermost one.
fn doubled(packet: &Packet<'_>) -> bool {
    packet.u16_be(Layer::ServiceVlan, 2) == Some(SERVICE_TAG)
}

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    Ok(length_or_type(input, 2))
}

const SERVICE_TAG: u16 = 0x88a8;
