//! Datagram Congestion Control Protocol.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "dccp",
    title: "Datagram Congestion Control Protocol",
    decode,
    on: &[On::IpProtocol(33)],
    fields: &[
        plain!(
            u16,
            "dccp.srcport",
            [Location::bits(DCCP, Bits::be16(0))],
            "Source port",
            "RFC 4340, 5.1",
        ),
        plain!(
            u16,
            "dccp.dstport",
            [Location::bits(DCCP, Bits::be16(2))],
            "Destination port",
            "RFC 4340, 5.1",
        ),
        plain!(
            u8,
            "dccp.data_offset",
            [Location::bits(DCCP, Bits::byte(4))],
            "Offset of the data in units of 4 bytes",
            "RFC 4340, 5.1",
        ),
        plain!(
            u8,
            "dccp.ccval",
            [Location::bits(DCCP, Bits::byte(5).part(4, 4))],
            "For the congestion control in use",
            "RFC 4340, 5.1",
        ),
        plain!(
            u8,
            "dccp.cscov",
            [Location::bits(DCCP, Bits::byte(5).part(0, 4))],
            "Coverage of the checksum; 0: all",
            "RFC 4340, 9.2",
        ),
        plain!(
            u16,
            "dccp.checksum",
            [Location::bits(DCCP, Bits::be16(6))],
            "Checksum as it was sent",
            "RFC 4340, 9.1",
        ),
        plain!(
            u8,
            "dccp.type",
            [Location::bits(DCCP, Bits::byte(8).part(1, 4))],
            "Type of the packet, 0 to 9",
            "RFC 4340, 5.1",
        ),
        plain!(
            bool,
            "dccp.x",
            [Location::bits(DCCP, Bits::flag(8, 0))],
            "Sequence numbers of 48 bits",
            "RFC 4340, 5.1",
        ),
        Field::u64(
            "dccp.seq_raw",
            |p| match is_extended(p)? {
                true => Some(u64::from(p.u16_be(DCCP, 10)?) << 32 | u64::from(p.u32_be(DCCP, 12)?)),
                false => Some(u64::from(p.u32_be(DCCP, 8)? & 0x00ff_ffff)),
            },
            "Sequence number as it was sent",
            "RFC 4340, 5.1",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(12)?;
    let extended = input.u8(8)? & 1 != 0;
    let len_min = if extended { 16 } else { 12 };
    let len = usize::from(input.u8(4)?) * 4;
    input.need(len_min)?;
    if len < len_min {
        return Err(Reason::Invalid {
            field: "dccp.data_offset",
            value: u32::from(input.u8(4)?),
        });
    }
    input.need(len)?;
    Ok(Header::new(len, Next::Payload))
}

fn is_extended(packet: &Packet<'_>) -> Option<bool> {
    packet.bit(DCCP, 8, 1)
}

const DCCP: Layer = Layer::Dccp;
