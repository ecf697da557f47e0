//! BSD loopback: an address family in front of the packet.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "null",
    title: "BSD loopback",
    decode,
    on: &[On::Link(0), On::Link(108)],
    fields: &[
        Field::u32(
            "null.family",
            |p| match family(p.bytes(Layer::Null)?, is_loop(p))? {
                Family::Address(family) => Some(family),
                Family::Ethertype(_) => None,
            },
            "Address family: 2 is IPv4; 24, 28 or 30 is IPv6, by system",
            "LINKTYPE_NULL, LINKTYPE_LOOP",
        ),
        Field::u16(
            "null.type",
            |p| match family(p.bytes(Layer::Null)?, is_loop(p))? {
                Family::Ethertype(kind) => Some(kind),
                Family::Address(_) => None,
            },
            "Ethertype, which some systems put in the place of an address family",
            "LINKTYPE_NULL",
        ),
    ],
};

fn is_loop(packet: &Packet<'_>) -> bool {
    packet.frame().link_type.0 == LOOP
}

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    // ISDN drivers of FreeBSD capture PPP under this link type.
    if input.bytes.starts_with(&[0xff, 0x03]) {
        return Ok(Header::foreign(Next::Layer(Layer::Ppp)));
    }
    input.need(LEN)?;
    let version = input.bytes.get(LEN).map_or(0, |first| first >> 4);
    let next = match family(input.bytes, input.frame.link_type.0 == LOOP) {
        Some(Family::Ethertype(kind)) => Next::Ethertype(kind),
        Some(Family::Address(2)) => Next::Layer(Layer::Ipv4),
        // BSD/OS, NetBSD and OpenBSD; FreeBSD; Darwin.
        Some(Family::Address(24 | 28 | 30)) => Next::Layer(Layer::Ipv6),
        // Linux, Windows and Solaris; the numbers have other meanings on BSD.
        Some(Family::Address(10 | 23 | 26)) if version == 6 => Next::Layer(Layer::Ipv6),
        _ => Next::Payload,
    };
    Ok(Header::new(LEN, next))
}

enum Family {
    Address(u32),
    Ethertype(u16),
}

/// The family. Link type 0 has it in the byte order of the machine that captured, which the bytes
/// themselves must tell; IRIX and UNICOS write 16 bits and two zeros; old libpcap on Linux wrote
/// two zeros and an ethertype. Families are small, ethertypes are not.
fn family(bytes: &[u8], is_loop: bool) -> Option<Family> {
    let little = weir_bytes::u32_le_at(bytes, 0)?;
    if bytes.starts_with(&[0xff, 0x03]) && !is_loop {
        return None;
    }
    let number = if is_loop {
        return Some(Family::Address(little.swap_bytes()));
    } else if little & 0xffff_0000 != 0 {
        if little & 0xff00_0000 == 0 && little & 0x00ff_0000 < 0x0006_0000 {
            little >> 16
        } else {
            little.swap_bytes()
        }
    } else if little & 0xff == 0 && little & 0xff00 < 0x0600 {
        little >> 8
    } else {
        little
    };
    if number > 1500 {
        return Some(Family::Ethertype((number & 0xffff) as u16));
    }
    Some(Family::Address(number))
}

const LEN: usize = 4;
const LOOP: u32 = 108;
