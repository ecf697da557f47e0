//! Tags of switch chips between an Ethernet frame's addresses and its type.

use super::ethernet::length_or_type;
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "switch_tag",
    title: "Ethernet with a switch chip's tag",
    decode,
    on: &[
        On::Link(BROADCOM),
        On::Link(MARVELL),
        On::Link(MARVELL_TYPED),
    ],
    fields: &[
        plain!(
            address,
            "switch_tag.dst",
            [Location::bytes(Layer::SwitchTag, 0, 6)],
            "Destination MAC address",
            "LINKTYPE_DSA_TAG_DSA, LINKTYPE_DSA_TAG_EDSA, LINKTYPE_DSA_TAG_BRCM",
        ),
        plain!(
            address,
            "switch_tag.src",
            [Location::bytes(Layer::SwitchTag, 6, 6)],
            "Source MAC address",
            "LINKTYPE_DSA_TAG_DSA, LINKTYPE_DSA_TAG_EDSA, LINKTYPE_DSA_TAG_BRCM",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let tag_len = if input.frame.link_type.0 == MARVELL_TYPED {
        8
    } else {
        4
    };
    let offset = 12 + tag_len;
    input.need(offset + 2)?;
    Ok(length_or_type(input, offset))
}

const BROADCOM: u32 = 281;
const MARVELL: u32 = 284;
const MARVELL_TYPED: u32 = 285;
