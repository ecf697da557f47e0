//! Arista's own tag, with which its switches put the time at which a frame came into the frame.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "avsp",
    title: "Arista Vendor Specific Protocol",
    decode,
    on: &[On::Ethertype(0xd28b)],
    fields: &[
        Field::u16(
            "avsp.sub_type",
            |p| p.u16_be(AVSP, 0),
            "What the tag holds: 1 a time",
            "Arista EOS, Ingress Mirroring Metadata and Timestamping",
        ),
        Field::u16(
            "avsp.ver",
            |p| p.u16_be(AVSP, 2).filter(|_| p.u16_be(AVSP, 0) == Some(TIME)),
            "Form of the time: 0x10 and 0x20 are TAI, 0x110 and 0x120 UTC; the seconds have 32 or 16 bits",
            "Arista EOS, Ingress Mirroring Metadata and Timestamping",
        ),
        // Wireshark's names, such as avsp.64sec, are not identifiers in SQL: a part begins with a digit.
        Field::u32(
            "avsp.seconds",
            |p| match seconds_len(p)? {
                4 => p.u32_be(AVSP, 4),
                _ => p.u16_be(AVSP, 4).map(u32::from),
            },
            "Seconds of the time, or their low 16 bits; Wireshark's avsp.64sec and avsp.48sec",
            "Arista EOS, Ingress Mirroring Metadata and Timestamping",
        ),
        Field::u32(
            "avsp.nanoseconds",
            |p| p.u32_be(AVSP, 4 + seconds_len(p)?),
            "Nanoseconds of the time; Wireshark's avsp.64ns and avsp.48ns",
            "Arista EOS, Ingress Mirroring Metadata and Timestamping",
        ),
        Field::u16(
            "avsp.etype",
            |p| match p.u16_be(AVSP, 0)? {
                TIME => p.u16_be(AVSP, 8 + seconds_len(p)?),
                _ => p.u16_be(AVSP, 2),
            },
            "Ethertype of the payload",
            "Arista EOS, Ingress Mirroring Metadata and Timestamping",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    let second = input.u16_be(2)?;
    if input.u16_be(0)? != TIME {
        return Ok(Header::new(4, Next::Ethertype(second)));
    }
    // The length of a time in another form is unknown.
    let Some(len) = seconds_len_of(second) else {
        return Ok(Header::new(4, Next::Payload));
    };
    let at = len.saturating_add(8);
    input.need(at.saturating_add(2))?;
    Ok(Header::new(at + 2, Next::Ethertype(input.u16_be(at)?)))
}

/// Bytes of the seconds in a time of this form.
const fn seconds_len_of(version: u16) -> Option<usize> {
    match version {
        0x0010 | 0x0110 => Some(4),
        0x0020 | 0x0120 => Some(2),
        _ => None,
    }
}

fn seconds_len(packet: &Packet<'_>) -> Option<usize> {
    match packet.u16_be(AVSP, 0)? {
        TIME => seconds_len_of(packet.u16_be(AVSP, 2)?),
        _ => None,
    }
}

const AVSP: Layer = Layer::Arista;
const TIME: u16 = 1;
