//! Network service headers (RFC 8300).

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "nsh",
    title: "Network Service Header",
    decode,
    on: &[On::Ethertype(0x894f)],
    fields: &[
        plain!(
            u8,
            "nsh.ttl",
            [Location::bits(Layer::Nsh, Bits::be16(0).part(6, 6))],
            "Time to live",
            "RFC 8300, 2.2",
        ),
        plain!(
            u8,
            "nsh.mdtype",
            [Location::bits(Layer::Nsh, Bits::byte(2).part(0, 4))],
            "Type of the metadata: 1 fixed, 2 variable",
            "RFC 8300, 2.2",
        ),
        plain!(
            u32,
            "nsh.spi",
            [Location::bits(Layer::Nsh, Bits::be32(4).part(8, 24))],
            "Service path identifier, 24 bits",
            "RFC 8300, 2.3",
        ),
        plain!(
            u8,
            "nsh.si",
            [Location::bits(Layer::Nsh, Bits::byte(7))],
            "Service index: position in the path",
            "RFC 8300, 2.3",
        ),
        plain!(
            u8,
            "nsh.nextproto",
            [Location::bits(Layer::Nsh, Bits::byte(3))],
            "Protocol of the payload: 1 IPv4, 2 IPv6, 3 Ethernet, 5 MPLS",
            "RFC 8300, 2.2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let words = input.u8(1)? & 0x3f;
    if words < 2 {
        let value = u32::from(words);
        return Err(Reason::Invalid { field: "nsh.length", value });
    }
    let len = usize::from(words) * 4;
    input.need(len)?;
    let next = match input.u8(3)? {
        1 => Next::Layer(Layer::Ipv4),
        2 => Next::Layer(Layer::Ipv6),
        3 => Next::Layer(Layer::Ethernet),
        4 => Next::Layer(Layer::Nsh),
        5 => Next::Layer(Layer::Mpls),
        _ => Next::Payload,
    };
    Ok(Header::new(len, next))
}
