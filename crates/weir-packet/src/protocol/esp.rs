//! Encapsulating Security Payload of IPsec. What it carries is encrypted and stays closed.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "esp",
    title: "Encapsulating Security Payload",
    decode,
    on: &[On::IpProtocol(50)],
    fields: &[
        Field::u32(
            "esp.spi",
            |p| p.u32_be(Layer::Esp, 0),
            "Security parameters index",
            "RFC 4303, 2.1",
        ),
        Field::u32(
            "esp.sequence",
            |p| p.u32_be(Layer::Esp, 4),
            "Sequence number",
            "RFC 4303, 2.2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    Ok(Header::new(8, Next::Payload))
}
