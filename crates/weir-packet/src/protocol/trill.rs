//! Transparent interconnection of lots of links (RFC 6325).

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "trill",
    title: "TRILL",
    decode,
    on: &[On::Ethertype(0x22f3)],
    fields: &[
        plain!(
            u16,
            "trill.egress_nick",
            [Location::bits(Layer::Trill, Bits::be16(2))],
            "Nickname of the bridge where the frame leaves",
            "RFC 6325, 3.7",
        ),
        plain!(
            u16,
            "trill.ingress_nick",
            [Location::bits(Layer::Trill, Bits::be16(4))],
            "Nickname of the bridge where the frame came in",
            "RFC 6325, 3.7",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let options_len = usize::from(input.u16_be(0)? >> 6 & 0x1f) * 4;
    input.need(6 + options_len)?;
    Ok(Header::new(6 + options_len, Next::Layer(Layer::Ethernet)))
}
