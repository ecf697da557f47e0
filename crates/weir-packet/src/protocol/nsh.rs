//! Network service headers (RFC 8300).

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "nsh",
    title: "Network Service Header",
    decode,
    on: &[On::Ethertype(0x894f)],
    fields: &[
        Field::u8(
            "nsh.ttl",
            |p| Some((p.u16_be(Layer::Nsh, 0)? >> 6 & 0x3f) as u8),
            "Time to live",
            "RFC 8300, 2.2",
        ),
        Field::u8(
            "nsh.mdtype",
            |p| Some(p.u8(Layer::Nsh, 2)? & 15),
            "Type of the metadata: 1 fixed, 2 variable",
            "RFC 8300, 2.2",
        ),
        Field::u32(
            "nsh.spi",
            |p| Some(p.u32_be(Layer::Nsh, 4)? >> 8),
            "Service path identifier, 24 bits",
            "RFC 8300, 2.3",
        ),
        Field::u8(
            "nsh.si",
            |p| p.u8(Layer::Nsh, 7),
            "Service index: position in the path",
            "RFC 8300, 2.3",
        ),
        Field::u8(
            "nsh.nextproto",
            |p| p.u8(Layer::Nsh, 3),
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
