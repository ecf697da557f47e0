//! Layer 2 Tunneling Protocol, version 2: PPP in UDP.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "l2tp",
    title: "Layer 2 Tunneling Protocol",
    decode,
    on: &[On::UdpPort(1701)],
    fields: &[
        plain!(
            u8,
            "l2tp.type",
            [Location::bits(L2TP, Bits::byte(0).part(7, 1))],
            "1: control message, 0: data message",
            "RFC 2661, 3.1",
        ),
        plain!(
            bool,
            "l2tp.length_bit",
            [Location::bits(L2TP, Bits::flag(0, 6))],
            "A length is present",
            "RFC 2661, 3.1",
        ),
        plain!(
            bool,
            "l2tp.seq_bit",
            [Location::bits(L2TP, Bits::flag(0, 3))],
            "Sequence numbers are present",
            "RFC 2661, 3.1",
        ),
        plain!(
            u8,
            "l2tp.version",
            [Location::bits(L2TP, Bits::byte(1).part(0, 4))],
            "Version, 2",
            "RFC 2661, 3.1",
        ),
        Field::u16(
            "l2tp.length",
            |p| match is_control_of_version_3(p) {
                true => p.u16_be(L2TP, LENGTH_OF_VERSION_3),
                false => p.u16_be(L2TP, parts(p)?.length?),
            },
            "Length of the message in bytes",
            "RFC 2661, 3.1; RFC 3931, 3.2.1",
        ),
        Field::u16(
            "l2tp.tunnel",
            |p| p.u16_be(L2TP, parts(p)?.tunnel),
            "Tunnel at the receiver",
            "RFC 2661, 3.1",
        ),
        Field::u16(
            "l2tp.session",
            |p| p.u16_be(L2TP, parts(p)?.tunnel + 2),
            "Session in the tunnel",
            "RFC 2661, 3.1",
        ),
        Field::u16(
            "l2tp.ns",
            |p| match is_control_of_version_3(p) {
                true => p.u16_be(L2TP, SEQUENCE_OF_VERSION_3),
                false => p.u16_be(L2TP, parts(p)?.sequence?),
            },
            "Sequence number",
            "RFC 2661, 3.1; RFC 3931, 3.2.1",
        ),
    ],
};

/// The offsets of the parts, and the end of those of a fixed length.
struct L2tpOffsets {
    length: Option<usize>,
    tunnel: usize,
    sequence: Option<usize>,
    offset: Option<usize>,
    end: usize,
}

impl L2tpOffsets {
    fn new(flags: u16) -> Self {
        let mut end = 2;
        let mut part = |present: bool, len: usize| {
            let offset = end;
            end += if present { len } else { 0 };
            present.then_some(offset)
        };
        let length = part(flags & 0x4000 != 0, 2);
        let tunnel = part(true, 4).unwrap_or(2);
        let sequence = part(flags & 0x0800 != 0, 4);
        let offset = part(flags & 0x0200 != 0, 2);
        Self {
            length,
            tunnel,
            sequence,
            offset,
            end,
        }
    }
}

fn parts(packet: &Packet<'_>) -> Option<L2tpOffsets> {
    let flags = packet.u16_be(L2TP, 0)?;
    (flags & VERSION_MASK == 2).then(|| L2tpOffsets::new(flags))
}

/// Whether it is a control message of version 3, whose header has a length and sequence numbers (RFC 3931, 3.2.1).
fn is_control_of_version_3(packet: &Packet<'_>) -> bool {
    let flags = packet.u16_be(L2TP, 0);
    flags.is_some_and(|flags| flags & CONTROL_OF_VERSION_3_MASK == CONTROL_OF_VERSION_3)
}

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let flags = input.u16_be(0)?;
    if flags & VERSION_MASK != 2 {
        // The payload type of a data message of version 3 is in earlier control messages only.
        return Ok(Header::new(2, Next::Payload));
    }
    let parts = L2tpOffsets::new(flags);
    input.need(parts.end)?;
    let mut len = parts.end;
    if let Some(offset) = parts.offset {
        len = len.saturating_add(usize::from(input.u16_be(offset)?));
        input.need(len)?;
    }
    let is_control = flags & 0x8000 != 0;
    let next = if is_control || input.declared <= len {
        Next::Payload
    } else {
        Next::Layer(Layer::Ppp)
    };
    let header = Header::new(len, next);
    Ok(match parts.length {
        Some(offset) => header.with_total(usize::from(input.u16_be(offset)?).max(len)),
        None => header,
    })
}

const L2TP: Layer = Layer::L2tp;
const VERSION_MASK: u16 = 15;
/// The bits for the type, the length and sequence numbers, and the version, as a control message has them.
const CONTROL_OF_VERSION_3: u16 = 0xc803;
const CONTROL_OF_VERSION_3_MASK: u16 = 0xc80f;
const LENGTH_OF_VERSION_3: usize = 2;
const SEQUENCE_OF_VERSION_3: usize = 8;
