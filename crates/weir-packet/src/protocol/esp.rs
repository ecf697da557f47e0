//! Encapsulating Security Payload of IPsec. The payload is encrypted and is not decoded.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "esp",
    title: "Encapsulating Security Payload",
    decode,
    on: &[On::IpProtocol(50)],
    fields: &[
        plain!(
            u32,
            "esp.spi",
            [Location::bits(Layer::Esp, Bits::be32(0))],
            "Security parameters index",
            "RFC 4303, 2.1",
        ),
        plain!(
            u32,
            "esp.sequence",
            [Location::bits(Layer::Esp, Bits::be32(4))],
            "Sequence number",
            "RFC 4303, 2.2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    Ok(Header::new(8, Next::Payload))
}
