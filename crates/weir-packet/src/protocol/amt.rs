//! Automatic Multicast Tunneling: multicast packets in UDP.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "amt",
    title: "Automatic Multicast Tunneling",
    decode,
    on: &[On::UdpPort(2268)],
    fields: &[plain!(
            u8,
            "amt.type",
            [Location::bits(Layer::Amt, Bits::byte(0).part(0, 4))],
            "Type of the message: 6 carries a multicast packet",
            "RFC 7450, 5.1",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let len = match input.u8(0)? & 15 {
        MEMBERSHIP_QUERY | MEMBERSHIP_UPDATE => 12,
        MULTICAST_DATA => 2,
        _ => return Ok(Header::new(1, Next::Payload)),
    };
    input.need(len)?;
    Ok(Header::new(len, input.ip_at(len)?))
}

const MEMBERSHIP_QUERY: u8 = 4;
const MEMBERSHIP_UPDATE: u8 = 5;
const MULTICAST_DATA: u8 = 6;
