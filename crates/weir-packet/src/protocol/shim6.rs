//! Shim6, the level 3 multihoming shim of IPv6.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "shim6",
    title: "Level 3 Multihoming Shim Protocol for IPv6",
    decode,
    on: &[On::IpExtension(140)],
    fields: &[
        plain!(
            u8,
            "shim6.nxt",
            [Location::bits(Layer::Shim6, Bits::byte(0))],
            "Number of the header that follows",
            "RFC 5533, 5.1",
        ),
        plain!(
            u8,
            "shim6.len",
            [Location::bits(Layer::Shim6, Bits::byte(1))],
            "Length in units of 8 bytes beyond the first 8",
            "RFC 5533, 5.1",
        ),
        plain!(
            bool,
            "shim6.p",
            [Location::bits(Layer::Shim6, Bits::flag(2, 7))],
            "True in a payload header, false in a control message",
            "RFC 5533, 5.1",
        ),
        Field::u8(
            "shim6.type",
            |p| p.u8(Layer::Shim6, 2).filter(|kind| kind & 0x80 == 0),
            "Type of the control message",
            "RFC 5533, 5.3",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let next = input.u8(0)?;
    let len = (usize::from(input.u8(1)?) + 1) * 8;
    input.need(len)?;
    Ok(Header::new(len, Next::IpProtocol(next)))
}
