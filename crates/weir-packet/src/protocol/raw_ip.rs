//! IP without a link layer: the version number tells which.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::shape::{BitsTest, HeaderShape, NextHeader};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "raw",
    title: "Raw IP",
    decode,
    on: &[On::Link(12), On::Link(14), On::Link(101)],
    fields: &[],
};

/// The payload begins like a header of IP.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(0, NextHeader::IpVersion)
    .tests(&[BitsTest::new(Bits::byte(0).part(4, 4), &[(4, 4), (6, 6)])])];

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    // Some ISDN drivers capture PPP under this link type.
    if input.bytes.starts_with(&[0xff, 0x03]) {
        return Ok(Header::foreign(Next::Layer(Layer::Ppp)));
    }
    Ok(Header::new(0, by_version(input.bytes)))
}

/// IPv4, IPv6 or neither, by the first four bits.
pub(super) fn by_version(bytes: &[u8]) -> Next {
    match bytes.first().map(|first| first >> 4) {
        Some(4) => Next::Layer(Layer::Ipv4),
        Some(6) => Next::Layer(Layer::Ipv6),
        _ => Next::Payload,
    }
}
