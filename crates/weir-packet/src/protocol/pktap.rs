//! Apple's packet tap: what macOS and iOS know of a packet, its process among it, in front of the packet.

use weir_bytes::{u16_le_at, u32_le_at};

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "pktap",
    title: "Apple packet tap",
    decode,
    // 149 is for users to give a meaning; Apple's is known by its first words.
    on: &[On::Link(258), On::Link(USER_2)],
    fields: &[
        Field::u32(
            "pktap.hdrlen",
            |p| word(p, 0),
            "Length of the header in bytes, 108 or more",
            "LINKTYPE_PKTAP; XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.rectype",
            |p| word(p, 4),
            "Kind of record: 1 is a packet",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.dlt",
            |p| word(p, 8),
            "Link type of the packet",
            "XNU, bsd/net/pktap.h",
        ),
        Field::text(
            "pktap.ifname",
            |p| name(p, 12, 24),
            "Name of the interface",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.flags",
            |p| word(p, 36),
            "Flags: 1 in, 2 out, 4 of a process that acts for another",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.pfamily",
            |p| word(p, 40),
            "Protocol family: 2 is IPv4, 30 IPv6",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.llhdrlen",
            |p| word(p, 44),
            "Length of the packet's link-layer header in bytes",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.lltrlrlen",
            |p| word(p, 48),
            "Length of the packet's link-layer trailer in bytes",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.pid",
            |p| word(p, 52),
            "Process that sent or received the packet; 4294967295: none",
            "XNU, bsd/net/pktap.h",
        ),
        Field::text(
            "pktap.cmdname",
            |p| name(p, 56, 20),
            "Name of that process; NULL where there is none",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.svc_class",
            |p| word(p, 76),
            "Service class",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u16(
            "pktap.iftype",
            |p| u16_le_at(pktap(p)?, 80),
            "Type of the interface: 6 is Ethernet",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u16(
            "pktap.ifunit",
            |p| u16_le_at(pktap(p)?, 82),
            "Number of the interface among those of its name",
            "XNU, bsd/net/pktap.h",
        ),
        Field::u32(
            "pktap.epid",
            |p| word(p, 84),
            "Process on whose behalf that process acted; 4294967295: none",
            "XNU, bsd/net/pktap.h",
        ),
        Field::text(
            "pktap.ecmdname",
            |p| name(p, 88, 20),
            "Name of the process on whose behalf it acted; NULL where there is none",
            "XNU, bsd/net/pktap.h",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    if input.frame.link_type.0 == USER_2 && !is_header(input.bytes) {
        return Ok(Header::foreign(Next::Payload));
    }
    input.need(HEADER_LEN_MIN)?;
    let number = |offset| input.u32_be(offset).map(u32::swap_bytes);
    let len = number(0)?;
    let header_len = usize::try_from(len).unwrap_or(usize::MAX);
    if header_len < HEADER_LEN_MIN {
        return Err(Reason::Invalid {
            field: "pktap.hdrlen",
            value: len,
        });
    }
    input.need(header_len)?;
    let next = match (number(4)?, number(8)?) {
        // A tap does not contain another tap.
        (PACKET, dlt) if dlt != PKTAP_LINK && dlt != USER_2 => Next::Link(dlt),
        _ => Next::Payload,
    };
    Ok(Header::new(header_len, next))
}

/// Whether this is a current header: its length, a packet, a link type of two bytes.
fn is_header(bytes: &[u8]) -> bool {
    let is_small = |offset, most| u32_le_at(bytes, offset).is_some_and(|number| number <= most);
    u32_le_at(bytes, 0).is_some_and(|len| (108..=512).contains(&len))
        && is_small(4, PACKET)
        && is_small(8, 0xffff)
}

fn pktap<'a>(packet: &Packet<'a>) -> Option<&'a [u8]> {
    let bytes = packet.bytes(Layer::Pktap)?;
    // A shorter header is invalid.
    bytes.get(..HEADER_LEN_MIN.min(bytes.len()))
}

fn word(packet: &Packet<'_>, offset: usize) -> Option<u32> {
    u32_le_at(pktap(packet)?, offset)
}

/// A name of up to `len` bytes, which a zero ends.
fn name<'a>(packet: &Packet<'a>, offset: usize, len: usize) -> Option<&'a str> {
    let bytes = pktap(packet)?.get(offset..)?.get(..len)?;
    let bytes = bytes.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

const HEADER_LEN_MIN: usize = 108;
const PACKET: u32 = 1;
const PKTAP_LINK: u32 = 258;
const USER_2: u32 = 149;
