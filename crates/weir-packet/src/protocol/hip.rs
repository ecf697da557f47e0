//! Host Identity Protocol.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "hip",
    title: "Host Identity Protocol",
    decode,
    on: &[On::IpProtocol(139)],
    fields: &[
        Field::u8(
            "hip.proto",
            |p| p.u8(Layer::Hip, 0),
            "Number of the header that follows, 59: none",
            "RFC 7401, 5.1",
        ),
        Field::u8(
            "hip.hdr_len",
            |p| p.u8(Layer::Hip, 1),
            "Length in units of 8 bytes beyond the first 8",
            "RFC 7401, 5.1",
        ),
        Field::u8(
            "hip.packet_type",
            |p| Some(p.u8(Layer::Hip, 2)? & 0x7f),
            "Type of the packet",
            "RFC 7401, 5.1",
        ),
        Field::u8(
            "hip.version",
            |p| Some(p.u8(Layer::Hip, 3)? >> 4),
            "Version",
            "RFC 7401, 5.1",
        ),
        Field::u16(
            "hip.checksum",
            |p| p.u16_be(Layer::Hip, 4),
            "Checksum as it was sent",
            "RFC 7401, 5.1.1",
        ),
        Field::u16(
            "hip.controls",
            |p| p.u16_be(Layer::Hip, 6),
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
