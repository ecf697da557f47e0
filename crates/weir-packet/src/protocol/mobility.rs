//! Mobility header of Mobile IPv6.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "mipv6",
    title: "Mobile IPv6 Mobility Header",
    decode,
    // 62 was its number before it had one.
    on: &[On::IpProtocol(135), On::IpProtocol(62)],
    fields: &[
        plain!(
            u8,
            "mip6.proto",
            [Location::bits(MOBILITY, Bits::byte(0))],
            "Number of the header that follows, 59: none",
            "RFC 6275, 6.1.1",
        ),
        plain!(
            u8,
            "mip6.hlen",
            [Location::bits(MOBILITY, Bits::byte(1))],
            "Length in units of 8 bytes beyond the first 8",
            "RFC 6275, 6.1.1",
        ),
        plain!(
            u8,
            "mip6.mhtype",
            [Location::bits(MOBILITY, Bits::byte(2))],
            "Type of the message",
            "RFC 6275, 6.1.1",
        ),
        plain!(
            u16,
            "mip6.csum",
            [Location::bits(MOBILITY, Bits::be16(4))],
            "Checksum as it was sent",
            "RFC 6275, 6.1.1",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let next = input.u8(0)?;
    let len = (usize::from(input.u8(1)?) + 1) * 8;
    input.need(len)?;
    Ok(Header::new(len, Next::IpProtocol(next)))
}

const MOBILITY: Layer = Layer::Mobility;
