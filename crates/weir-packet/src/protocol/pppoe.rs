//! PPP over Ethernet, discovery and session stage.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "pppoe",
    title: "PPP over Ethernet",
    decode,
    on: &[On::Ethertype(0x8863), On::Ethertype(0x8864), On::Link(51)],
    fields: &[
        plain!(
            u8,
            "pppoe.version",
            [Location::bits(Layer::Pppoe, Bits::byte(0).part(4, 4))],
            "Version, 1",
            "RFC 2516, 4",
        ),
        plain!(
            u8,
            "pppoe.type",
            [Location::bits(Layer::Pppoe, Bits::byte(0).part(0, 4))],
            "Type, 1",
            "RFC 2516, 4",
        ),
        plain!(
            u8,
            "pppoe.code",
            [Location::bits(Layer::Pppoe, Bits::byte(1))],
            "What the packet is: 0 session data, 9 PADI, 7 PADO, 0x19 PADR, 0x65 PADS, 0xA7 PADT",
            "RFC 2516, 5",
        ),
        plain!(
            u16,
            "pppoe.session_id",
            [Location::bits(Layer::Pppoe, Bits::be16(2))],
            "Session number",
            "RFC 2516, 4",
        ),
        plain!(
            u16,
            "pppoe.payload_length",
            [Location::bits(Layer::Pppoe, Bits::be16(4))],
            "Length of the payload in bytes, this header not counted",
            "RFC 2516, 4",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(LEN)?;
    let next = match input.u8(1)? {
        // PADI, PADO, PADR, PADS, PADT, and the extensions for radio links (RFC 5578).
        0x09 | 0x07 | 0x19 | 0x65 | 0xa7 | 0x0a..=0x0c | 0xd3 | 0xd4 => Next::Payload,
        _ => Next::Layer(Layer::Ppp),
    };
    let payload_len = usize::from(input.u16_be(4)?);
    Ok(Header::new(LEN, next).with_total(LEN + payload_len))
}

const LEN: usize = 6;
