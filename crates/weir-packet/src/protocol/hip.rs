//! Host Identity Protocol.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "hip",
    title: "Host Identity Protocol",
    decode,
    on: &[On::IpProtocol(139)],
    fields: &[
        plain!(
            u8,
            "hip.proto",
            [Location::bits(Layer::Hip, Bits::byte(0))],
            "Number of the header that follows, 59: none",
            "RFC 7401, 5.1",
        ),
        plain!(
            u8,
            "hip.hdr_len",
            [Location::bits(Layer::Hip, Bits::byte(1))],
            "Length in units of 8 bytes beyond the first 8",
            "RFC 7401, 5.1",
        ),
        plain!(
            u8,
            "hip.packet_type",
            [Location::bits(Layer::Hip, Bits::byte(2).part(0, 7))],
            "Type of the packet",
            "RFC 7401, 5.1",
        ),
        plain!(
            u8,
            "hip.version",
            [Location::bits(Layer::Hip, Bits::byte(3).part(4, 4))],
            "Version",
            "RFC 7401, 5.1",
        ),
        plain!(
            u16,
            "hip.checksum",
            [Location::bits(Layer::Hip, Bits::be16(4))],
            "Checksum as it was sent",
            "RFC 7401, 5.1.1",
        ),
        plain!(
            u16,
            "hip.controls",
            [Location::bits(Layer::Hip, Bits::be16(6))],
            "Controls",
            "RFC 7401, 5.1.2",
        ),
        Field::bytes(
            "hip.hit_sndr",
            |p| p.part(Layer::Hip, 8, 16),
            "Host identity tag of the sender",
            "RFC 7401, 5.1",
        ),
        Field::bytes(
            "hip.hit_rcvr",
            |p| p.part(Layer::Hip, 24, 16),
            "Host identity tag of the receiver",
            "RFC 7401, 5.1",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let len = (usize::from(input.u8(1)?) + 1) * 8;
    input.need(len)?;
    Ok(Header::new(len, Next::Payload))
}
