//! IP Payload Compression. The payload is compressed and is not decoded.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipcomp",
    title: "IP Payload Compression Protocol",
    decode,
    on: &[On::IpProtocol(108)],
    fields: &[
        plain!(
            u8,
            "ipcomp.next_header",
            [Location::bits(Layer::IpComp, Bits::byte(0))],
            "Number of the compressed header",
            "RFC 3173, 3.1",
        ),
        plain!(
            u8,
            "ipcomp.flags",
            [Location::bits(Layer::IpComp, Bits::byte(1))],
            "Flags, reserved",
            "RFC 3173, 3.1",
        ),
        plain!(
            u16,
            "ipcomp.cpi",
            [Location::bits(Layer::IpComp, Bits::be16(2))],
            "Compression parameter index",
            "RFC 3173, 3.1",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    Ok(Header::new(4, Next::Payload))
}
