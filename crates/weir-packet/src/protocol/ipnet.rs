//! Solaris IP observability.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipnet",
    title: "Solaris IPNET",
    decode,
    on: &[On::Link(226)],
    fields: &[
        plain!(
            u8,
            "ipnet.family",
            [Location::bits(Layer::Ipnet, Bits::byte(1))],
            "Address family: 2 IPv4, 26 IPv6",
            "LINKTYPE_IPNET",
        ),
        plain!(
            u32,
            "ipnet.ifindex",
            [Location::bits(Layer::Ipnet, Bits::be32(8))],
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
