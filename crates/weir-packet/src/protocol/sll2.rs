//! Linux cooked captures, version 2. The columns are those of version 1, in `sll.rs`.

use weir_bytes::Bits;

use super::{Header, Input, Next, On, Protocol, sll};
use crate::Reason;
use crate::shape::{BitsTest, HeaderShape, NextHeader, NextTable};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "sll",
    title: "Linux cooked capture, version 2",
    decode,
    on: &[On::Link(276)],
    fields: &[],
};

/// An ethertype on any interface but one of GRE, whose numbers are columns of their own, or of the
/// kernel's messages.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(
    20,
    NextHeader::Number {
        bits: PROTOCOL_NUMBER,
        table: NextTable::Ethertype,
    },
)
.tests(&[
    BitsTest::new(PROTOCOL_NUMBER, sll::HAS_ETHERTYPE),
    BitsTest::new(Bits::be16(8), sll::OF_ETHERTYPES),
])];

const PROTOCOL_NUMBER: Bits = Bits::be16(0);

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(20)?;
    let hardware = input.u16_be(8)?;
    if hardware == sll::HARDWARE_NETLINK {
        return Ok(Header::foreign(Next::Payload));
    }
    let next = sll::follows(hardware, input.u16_be(0)?).next(hardware);
    Ok(Header::new(20, next))
}
