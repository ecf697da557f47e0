//! IEEE 802.1BR tags, which tell the port of a bridge's extender.

use weir_bytes::Bits;

use super::ethernet::{LENGTH_MAX, length_or_type};
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "etag",
    title: "IEEE 802.1BR E-Tag",
    decode,
    on: &[On::Ethertype(0x893f)],
    fields: &[
        plain!(
            u16,
            "etag.ecid_base",
            [Location::bits(Layer::ETag, Bits::be16(2).part(0, 12))],
            "Identifier of the port, without its extension",
            "IEEE 802.1BR, 7.5",
        ),
        Field::u16(
            "etag.etype",
            |p| p.u16_be(Layer::ETag, 6).filter(|kind| *kind > LENGTH_MAX),
            "Ethertype after the tag",
            "IEEE 802.1BR, 7.5",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    Ok(length_or_type(input, 6))
}
