//! IEEE 802.5 token ring.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "tr",
    title: "Token Ring",
    decode,
    on: &[On::Link(6)],
    fields: &[
        plain!(
            u8,
            "tr.ac",
            [Location::bits(Layer::TokenRing, Bits::byte(0))],
            "Access control",
            "IEEE 802.5, 3.2.2",
        ),
        plain!(
            u8,
            "tr.fc",
            [Location::bits(Layer::TokenRing, Bits::byte(1))],
            "Frame control",
            "IEEE 802.5, 3.2.3",
        ),
        plain!(
            address,
            "tr.dst",
            [Location::bytes(Layer::TokenRing, 2, 6)],
            "Destination MAC address",
            "IEEE 802.5, 3.2.4",
        ),
        plain!(
            address,
            "tr.src",
            [Location::bytes(Layer::TokenRing, 8, 6)],
            "Source MAC address; the highest bit announces a route",
            "IEEE 802.5, 3.2.4",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(14)?;
    let route_len = if input.u8(8)? & ROUTED == 0 {
        0
    } else {
        usize::from(input.u8(14)? & 0x1f)
    };
    let len = 14 + route_len;
    input.need(len)?;
    let next = if input.u8(1)? >> 6 == 1 {
        Next::Layer(Layer::Llc)
    } else {
        Next::Payload
    };
    Ok(Header::new(len, next))
}

/// The group bit of a source address, free to announce routing information (IEEE 802.5, 3.3).
const ROUTED: u8 = 0x80;
