//! Cisco MetaData: the security group of a frame, between its ethertype and its payload.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "cmd",
    title: "Cisco MetaData",
    decode,
    on: &[On::Ethertype(0x8909)],
    fields: &[Field::u16(
        "cmd.sgt",
        |p| p.u16_be(CMD, if is_type_last(p.u16_be(CMD, 0)?) { 4 } else { 6 }),
        "Security group tag of the sender",
        "draft-smith-kandula-sxp, 6",
    )],
};

/// Version, length, options and tag: the ethertype of the payload stands behind them in a frame of
/// Ethernet, and in front of them in GRE.
fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    let first = input.u16_be(0)?;
    let kind = if is_type_last(first) { input.u16_be(6)? } else { first };
    Ok(Header::new(HEADER_LEN, Next::Ethertype(kind)))
}

/// Whether version 1 and length 1 come first, which together are not an ethertype.
fn is_type_last(first: u16) -> bool {
    first == 0x0101
}

const CMD: Layer = Layer::CiscoMetadata;
const HEADER_LEN: usize = 8;
