//! Solaris IP observability.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipnet",
    title: "Solaris IPNET",
    decode,
    on: &[On::Link(226)],
    fields: &[
        Field::u8(
            "ipnet.family",
            |p| p.u8(Layer::Ipnet, 1),
            "Address family: 2 IPv4, 26 IPv6",
            "LINKTYPE_IPNET",
        ),
        Field::u32(
            "ipnet.ifindex",
            |p| p.u32_be(Layer::Ipnet, 8),
            "Number of the interface",
            "LINKTYPE_IPNET",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(24)?;
    let next = match input.u8(1)? {
        2 => Next::Layer(Layer::Ipv4),
        26 => Next::Layer(Layer::Ipv6),
        _ => Next::Payload,
    };
    Ok(Header::new(24, next))
}
