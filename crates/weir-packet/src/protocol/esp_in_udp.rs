//! IPsec through network address translators: ESP in UDP, beside the key exchange and keepalives
//! on the same port.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "udpencap",
    title: "UDP Encapsulation of IPsec Packets",
    decode,
    on: &[On::UdpPort(4500)],
    fields: &[],
};

/// RFC 3948, 2: a byte 0xff alone keeps the mapping alive; four bytes of 0, which is no SPI, mark
/// the key exchange.
fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    if input.declared == 1 {
        return Ok(Header::new(0, Next::Payload));
    }
    let next = match input.u32_be(0)? {
        0 => Next::Payload,
        _ => Next::Layer(Layer::Esp),
    };
    Ok(Header::new(0, next))
}
