//! Tags of seamless redundancy in rings.

use weir_bytes::Bits;

use super::ethernet::length_or_type;
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "hsr",
    title: "High-availability Seamless Redundancy",
    decode,
    on: &[On::Ethertype(0x892f)],
    fields: &[
        plain!(
            u16,
            "hsr.sequence_nr",
            [Location::bits(Layer::Hsr, Bits::be16(2))],
            "Sequence number, the same in both copies of a frame",
            "IEC 62439-3, 5.7",
        ),
        plain!(
            u16,
            "hsr.lsdu_size",
            [Location::bits(Layer::Hsr, Bits::be16(0).part(0, 12))],
            "Length in bytes from this tag on",
            "IEC 62439-3, 5.7",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(6)?;
    Ok(length_or_type(input, 4))
}
