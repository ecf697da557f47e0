//! Linux cooked captures, version 2. Its columns are those of version 1, in `sll.rs`.

use super::{Header, Input, Next, On, Protocol, sll};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "sll",
    title: "Linux cooked capture, version 2",
    decode,
    on: &[On::Link(276)],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(20)?;
    let hardware = input.u16_be(8)?;
    if hardware == sll::HARDWARE_NETLINK {
        return Ok(Header::foreign(Next::Payload));
    }
    let next = sll::follows(hardware, input.u16_be(0)?).next(hardware);
    Ok(Header::new(20, next))
}
