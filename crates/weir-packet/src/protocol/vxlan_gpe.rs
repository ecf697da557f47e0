//! The generic protocol extension of VXLAN: any protocol in UDP.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "vxlan",
    title: "Generic Protocol Extension for VXLAN",
    decode,
    on: &[On::UdpPort(4790)],
    fields: &[plain!(
            u8,
            "vxlan.next_proto",
            [Location::bits(Layer::VxlanGpe, Bits::byte(3))],
            "Payload: 1 IPv4, 2 IPv6, 3 Ethernet, 4 NSH, 5 MPLS",
            "draft-ietf-nvo3-vxlan-gpe, 3.2",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    let next = match input.u8(3)? {
        1 => Next::Layer(Layer::Ipv4),
        2 => Next::Layer(Layer::Ipv6),
        3 => Next::Layer(Layer::Ethernet),
        4 => Next::Layer(Layer::Nsh),
        5 => Next::Ethertype(0x8847),
        _ => Next::Payload,
    };
    Ok(Header::new(8, next))
}
