//! IP Payload Compression. What it carries is compressed and stays closed.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipcomp",
    title: "IP Payload Compression Protocol",
    decode,
    on: &[On::IpProtocol(108)],
    fields: &[
        Field::u8(
            "ipcomp.next_header",
            |p| p.u8(Layer::IpComp, 0),
            "Number of the compressed header",
            "RFC 3173, 3.1",
        ),
        Field::u8(
            "ipcomp.flags",
            |p| p.u8(Layer::IpComp, 1),
            "Flags, reserved",
            "RFC 3173, 3.1",
        ),
        Field::u16(
            "ipcomp.cpi",
            |p| p.u16_be(Layer::IpComp, 2),
            "Compression parameter index",
            "RFC 3173, 3.1",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    Ok(Header::new(4, Next::Payload))
}
