//! Protocol Independent Multicast. The packet that a register message carries is decoded behind it.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "pim",
    title: "Protocol Independent Multicast",
    decode,
    on: &[On::IpProtocol(103)],
    fields: &[
        Field::u8(
            "pim.version",
            |p| match p.u8(PIM, 0)? {
                VERSION_1 => Some(p.u8(PIM, 4)? >> 4),
                first => Some(first >> 4),
            },
            "Version, 1 or 2",
            "RFC 7761, 4.9",
        ),
        Field::u8(
            "pim.type",
            |p| {
                p.u8(PIM, 0)
                    .filter(|first| *first != VERSION_1)
                    .map(|first| first & 15)
            },
            "Type of the message: 0 hello, 1 register …",
            "RFC 7761, 4.9",
        ),
        plain!(
            u16,
            "pim.cksum",
            [Location::bits(PIM, Bits::be16(2))],
            "Checksum as it was sent",
            "RFC 7761, 4.9",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    if input.u8(0)? != VERSION_2_REGISTER {
        return Ok(Header::new(4, Next::Payload));
    }
    // A null register has no payload, or a dummy header.
    Ok(Header::new(8, input.ip_at(8)?))
}

const PIM: Layer = Layer::Pim;
/// Version 1 came as IGMP, whose type stands first.
const VERSION_1: u8 = 0x14;
const VERSION_2_REGISTER: u8 = 0x21;
