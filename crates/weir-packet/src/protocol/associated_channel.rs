//! The associated channel of a pseudowire or a label switched path.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "pwach",
    title: "Pseudowire associated channel",
    decode,
    on: &[],
    fields: &[plain!(
            u16,
            "pwach.channel_type",
            [Location::bits(Layer::AssociatedChannel, Bits::be16(2))],
            "What the channel carries: 0x21 IPv4, 0x57 IPv6, others maintenance",
            "RFC 4385, 5",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let next = match input.u16_be(2)? {
        0x0021 => Next::Layer(Layer::Ipv4),
        0x0057 => Next::Layer(Layer::Ipv6),
        _ => Next::Payload,
    };
    Ok(Header::new(4, next))
}
