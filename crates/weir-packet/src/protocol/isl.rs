//! Cisco's inter-switch links: Ethernet in Ethernet.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "isl",
    title: "Cisco ISL",
    decode,
    on: &[],
    fields: &[
        plain!(
            u16,
            "isl.vlan_id",
            [Location::bits(Layer::Isl, Bits::be16(20).part(1, 15))],
            "VLAN identifier",
            "Cisco ISL",
        ),
        plain!(
            u16,
            "isl.len",
            [Location::bits(Layer::Isl, Bits::be16(12))],
            "Length in bytes from the end of this field to the inner check sequence",
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
