//! Cisco's VN tags, which tell the virtual interface.

use weir_bytes::Bits;

use super::ethernet::{LENGTH_MAX, length_or_type};
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "vntag",
    title: "Cisco VN-Tag",
    decode,
    on: &[On::Ethertype(0x8926)],
    fields: &[
        plain!(
            u16,
            "vntag.dst",
            [Location::bits(Layer::VnTag, Bits::be16(0).part(0, 14))],
            "Destination virtual interface",
            "Cisco VN-Tag",
        ),
        plain!(
            u16,
            "vntag.src",
            [Location::bits(Layer::VnTag, Bits::be16(2).part(0, 12))],
            "Source virtual interface",
            "Cisco VN-Tag",
        ),
        Field::u16(
            "vntag.etype",
            |p| p.u16_be(Layer::VnTag, 4).filter(|kind| *kind > LENGTH_MAX),
            "Ethertype after the tag",
            "Cisco VN-Tag",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(6)?;
    Ok(length_or_type(input, 4))
}
