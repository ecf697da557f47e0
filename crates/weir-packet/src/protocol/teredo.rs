//! Teredo: IPv6 in UDP through network address translators.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "teredo",
    title: "Teredo IPv6 over UDP Tunneling",
    decode,
    on: &[On::UdpPort(3544)],
    fields: &[Field::bytes(
        "teredo.auth.nonce",
        |p| {
            let (id, authentication) = (p.u8(TEREDO, 2)?, p.u8(TEREDO, 3)?);
            let at = 4 + usize::from(id) + usize::from(authentication);
            p.part(TEREDO, at, 8)
                .filter(|_| p.u16_be(TEREDO, 0) == Some(AUTHENTICATION))
        },
        "Nonce of the authentication indication",
        "RFC 4380, 5.1.1",
    )],
};

/// An authentication and an origin indication may stand in front of the IPv6 packet.
fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let mut len = 0;
    if input.u16_be(0)? == AUTHENTICATION {
        len = 13 + usize::from(input.u8(2)?) + usize::from(input.u8(3)?);
        input.need(len)?;
    }
    if input.declared >= len + 2 && input.u16_be(len)? == ORIGIN {
        len += 8;
        input.need(len)?;
    }
    match input.ip_at(len)? {
        Next::Payload if len == 0 => Ok(Header::foreign(Next::Payload)),
        next => Ok(Header::new(len, next)),
    }
}

const TEREDO: Layer = Layer::Teredo;
const AUTHENTICATION: u16 = 1;
const ORIGIN: u16 = 0;
