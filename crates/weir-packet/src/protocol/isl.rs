//! Cisco's inter-switch links: Ethernet in Ethernet.

use super::{Header, Input, Layer, Next, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "isl",
    title: "Cisco ISL",
    decode,
    on: &[],
    fields: &[
        Field::u16(
            "isl.vlan_id",
            |p| Some(p.u16_be(Layer::Isl, 20)? >> 1),
            "VLAN identifier",
            "Cisco ISL",
        ),
        Field::u16(
            "isl.len",
            |p| p.u16_be(Layer::Isl, 12),
            "Length in bytes from behind this field to the inner check sequence",
            "Cisco ISL",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let kind = input.u8(5)? >> 4;
    input.need(26)?;
    let next = match kind {
        0 => Next::Layer(Layer::Ethernet),
        _ => Next::Payload,
    };
    Ok(Header::new(26, next))
}

/// True for a frame to one of the two groups that are kept for ISL.
pub(super) fn is_isl(bytes: &[u8]) -> bool {
    matches!(bytes, [0x01 | 0x0c, 0x00, 0x0c, 0x00, 0x00, ..])
}
