//! GPRS Tunnelling Protocol: versions 0 and 1, user plane and the header of the control plane.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "gtp",
    title: "GPRS Tunnelling Protocol",
    decode,
    on: &[On::UdpPort(2152), On::UdpPort(2123)],
    fields: &[
        plain!(
            u8,
            "gtp.flags",
            [Location::bits(GTP, Bits::byte(0))],
            "Version and flags",
            "3GPP TS 29.060, 6",
        ),
        plain!(
            u8,
            "gtp.flags.version",
            [Location::bits(GTP, Bits::byte(0).part(5, 3))],
            "Version, 0 or 1",
            "3GPP TS 29.060, 6",
        ),
        plain!(
            u8,
            "gtp.flags.payload",
            [Location::bits(GTP, Bits::flag(0, 4))],
            "Protocol type: 1 GTP, 0 GTP' of charging",
            "3GPP TS 29.060, 6",
        ),
        Field::bool(
            "gtp.flags.e",
            |p| p.bit(GTP, 0, 4).filter(|_| version(p) == Some(1)),
            "An extension header follows (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::bool(
            "gtp.flags.s",
            |p| p.bit(GTP, 0, 2).filter(|_| version(p) == Some(1)),
            "The sequence number counts (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::bool(
            "gtp.flags.pn",
            |p| p.bit(GTP, 0, 1).filter(|_| version(p) == Some(1)),
            "The N-PDU number counts (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        plain!(
            u8,
            "gtp.message",
            [Location::bits(GTP, Bits::byte(1))],
            "Type of the message; 255: user data",
            "3GPP TS 29.281, 6.1",
        ),
        plain!(
            u16,
            "gtp.length",
            [Location::bits(GTP, Bits::be16(2))],
            "Length of what follows the mandatory header in bytes",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u32(
            "gtp.teid",
            |p| p.u32_be(GTP, 4).filter(|_| version(p) == Some(1)),
            "Tunnel endpoint identifier at the receiver (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u16(
            "gtp.seq_number",
            |p| match version(p)? {
                0 => p.u16_be(GTP, 4),
                _ => p
                    .u16_be(GTP, 8)
                    .filter(|_| p.u8(GTP, 0).is_some_and(|flags| flags & 2 != 0)),
            },
            "Sequence number, where there is one",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u8(
            "gtp.ext_hdr.next",
            |p| {
                p.u8(GTP, 11).filter(|_| {
                    version(p) == Some(1) && p.u8(GTP, 0).is_some_and(|flags| flags & 4 != 0)
                })
            },
            "Type of the first extension header",
            "3GPP TS 29.281, 5.2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let flags = input.u8(0)?;
    match flags >> 5 {
        0 => decode_version_0(input),
        1 => decode_version_1(input, flags),
        // Version 2 has a header of its own, and carries no user data.
        _ => Ok(Header::foreign(Next::Payload)),
    }
}

fn decode_version_0(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(20)?;
    let total = usize::from(input.u16_be(2)?) + 20;
    Ok(Header::new(20, user_data(input, input.u8(1)?, 20)?).with_total(total))
}

fn decode_version_1(input: &Input<'_>, flags: u8) -> Result<Header, Reason> {
    input.need(8)?;
    let message = input.u8(1)?;
    let total = usize::from(input.u16_be(2)?) + 8;
    let mut len = 8;
    if flags & 7 != 0 {
        len = 12;
        let mut next = if flags & 4 == 0 { 0 } else { input.u8(11)? };
        while next != 0 {
            // The length of an extension header counts four bytes; its last byte names the next.
            let units = usize::from(input.u8(len)?);
            if units == 0 {
                return Err(Reason::Invalid {
                    field: "gtp.ext_hdr.length",
                    value: 0,
                });
            }
            len = len.saturating_add(units.saturating_mul(4));
            next = input.u8(len.saturating_sub(1))?;
        }
        input.need(len)?;
    }
    Ok(Header::new(len, user_data(input, message, len)?).with_total(total))
}

/// What a user's packet is, by its first half byte: the header does not say.
fn user_data(input: &Input<'_>, message: u8, at: usize) -> Result<Next, Reason> {
    match message {
        USER_DATA => input.ip_at(at),
        _ => Ok(Next::Payload),
    }
}

fn version(packet: &Packet<'_>) -> Option<u8> {
    Some(packet.u8(GTP, 0)? >> 5)
}

const GTP: Layer = Layer::Gtp;
const USER_DATA: u8 = 255;
