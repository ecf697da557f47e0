//! Tags of seamless redundancy in rings.

use super::ethernet::length_or_type;
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "hsr",
    title: "High-availability Seamless Redundancy",
    decode,
    on: &[On::Ethertype(0x892f)],
    fields: &[
        Field::u16(
            "hsr.sequence_nr",
            |p| p.u16_be(Layer::Hsr, 2),
            "Sequence number, the same in both copies of a frame",
            "IEC 62439-3, 5.7",
        ),
        Field::u16(
            "hsr.lsdu_size",
            |p| Some(p.u16_be(Layer::Hsr, 0)? & 0x0fff),
            "Length in bytes from this tag on",
            "IEC 62439-3, 5.7",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(6)?;
    Ok(length_or_type(input, 4))
}
