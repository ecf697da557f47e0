//! Cisco's VN tags, which tell the virtual interface.

use super::ethernet::{LENGTH_MAX, length_or_type};
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "vntag",
    title: "Cisco VN-Tag",
    decode,
    on: &[On::Ethertype(0x8926)],
    fields: &[
        Field::u16(
            "vntag.dst",
            |p| Some(p.u16_be(Layer::VnTag, 0)? & 0x3fff),
            "Destination virtual interface",
            "Cisco VN-Tag",
        ),
        Field::u16(
            "vntag.src",
            |p| Some(p.u16_be(Layer::VnTag, 2)? & 0x0fff),
            "Source virtual interface",
            "Cisco VN-Tag",
        ),
        Field::u16(
            "vntag.etype",
            |p| p.u16_be(Layer::VnTag, 4).filter(|kind| *kind > LENGTH_MAX),
            "Ethertype behind the tag",
            "Cisco VN-Tag",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(6)?;
    Ok(length_or_type(input, 4))
}
