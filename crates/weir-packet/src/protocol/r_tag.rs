//! IEEE 802.1CB tags, by which copies of a frame are found.

use weir_bytes::Bits;

use super::ethernet::{LENGTH_MAX, length_or_type};
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ieee8021cb",
    title: "IEEE 802.1CB R-Tag",
    decode,
    on: &[On::Ethertype(0xf1c1)],
    fields: &[
        plain!(
            u16,
            "ieee8021cb.seq",
            [Location::bits(Layer::RTag, Bits::be16(2))],
            "Sequence number, the same in all copies of a frame",
            "IEEE 802.1CB, 7.8",
        ),
        Field::u16(
            "ieee8021cb.etype",
            |p| p.u16_be(Layer::RTag, 4).filter(|kind| *kind > LENGTH_MAX),
            "Ethertype after the tag",
            "IEEE 802.1CB, 7.8",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(6)?;
    Ok(length_or_type(input, 4))
}
