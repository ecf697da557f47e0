//! IEEE 802.1Q tags; several stand behind each other in QinQ.

use weir_bytes::Bits;

use super::ethernet::{ETHERTYPE_MIN, LENGTH_MAX, length_or_type};
use super::{Header, Input, Layer, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader, NextTable};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "vlan",
    title: "IEEE 802.1Q Virtual LAN",
    decode,
    // 0x9100 is what equipment before IEEE 802.1ad used for the outer tag.
    on: &[On::Ethertype(0x8100), On::Ethertype(0x9100)],
    fields: &[
        plain!(
            u8,
            "vlan.priority",
            [Location::bits(Layer::Vlan, Bits::byte(0).part(5, 3))],
            "Priority of the outermost tag, 0 to 7",
            "IEEE 802.1Q, 9.6",
        ),
        plain!(
            bool,
            "vlan.dei",
            [Location::bits(Layer::Vlan, Bits::flag(0, 4))],
            "The frame may be dropped first (drop eligible; formerly canonical format)",
            "IEEE 802.1Q, 9.6",
        ),
        plain!(
            u16,
            "vlan.id",
            [Location::bits(Layer::Vlan, Bits::be16(0).part(0, 12))],
            "VLAN identifier of the outermost tag, 0 to 4095",
            "IEEE 802.1Q, 9.6",
        ),
        plain!(
            u16,
            "vlan.etype",
            [
                Location::bits(Layer::Vlan, ETHERTYPE)
                    .when(&[BitsTest::new(ETHERTYPE, &[(LENGTH_MAX as u64 + 1, u16::MAX as u64)])]),
            ],
            "Ethertype after the outermost tag",
            "IEEE 802.1Q, 9.4",
        ),
        plain!(
            u16,
            "vlan.len",
            [
                Location::bits(Layer::Vlan, ETHERTYPE)
                    .when(&[BitsTest::new(ETHERTYPE, &[(0, LENGTH_MAX as u64)])]),
            ],
            "Length of the payload in bytes where the tag is followed by LLC",
            "IEEE 802.1Q, 9.4",
        ),
    ],
};

/// The shapes of a tag before an ethertype, which service tags have, too.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(
    4,
    NextHeader::Number {
        bits: ETHERTYPE,
        table: NextTable::Ethertype,
    },
)
.tests(&[BitsTest::new(
    ETHERTYPE,
    &[(ETHERTYPE_MIN as u64, u16::MAX as u64)],
)])];

const ETHERTYPE: Bits = Bits::be16(2);

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    Ok(length_or_type(input, 2))
}
