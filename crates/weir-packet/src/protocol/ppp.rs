//! The Point-to-Point Protocol, with and without HDLC-like framing.

use super::{Header, Input, Layer, Next, On, Protocol, erf};
use crate::field::Field;
use crate::{Frame, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ppp",
    title: "Point-to-Point Protocol",
    decode,
    on: &[
        On::Link(9),
        On::Link(50),
        On::Link(PPPD),
        On::Link(WITH_DIRECTION),
        On::Ethertype(0x880b),
        On::Nlpid(0xcf),
    ],
    fields: &[
        Field::u8(
            "ppp.direction",
            |p| {
                p.bytes(Layer::Ppp)?;
                match p.frame().link_type.0 {
                    WITH_DIRECTION | PPPD => p.u8(Layer::Ppp, 0).map(|byte| u8::from(byte == 0)),
                    _ => erf::interface(p.frame()).map(|interface| interface & 1),
                }
            },
            "0 sent, 1 received, where the capture says so",
            "LINKTYPE_PPP_PPPD, LINKTYPE_PPP_WITH_DIR",
        ),
        Field::u8(
            "ppp.address",
            |p| {
                let framing = Framing::of_packet(p)?;
                framing
                    .has_address
                    .then(|| p.u8(Layer::Ppp, framing.start))?
            },
            "Address of HDLC-like framing, 0xFF; NULL where it is left out",
            "RFC 1662, 3.1",
        ),
        Field::u8(
            "ppp.control",
            |p| {
                let framing = Framing::of_packet(p)?;
                let offset = framing.start.checked_add(1)?;
                framing.has_address.then(|| p.u8(Layer::Ppp, offset))?
            },
            "Control field of HDLC-like framing, 3; NULL where it is left out",
            "RFC 1662, 3.1",
        ),
        Field::u16(
            "ppp.protocol",
            |p| Some(Framing::of_packet(p)?.protocol(p.bytes(Layer::Ppp)?)?.0),
            "Protocol of the payload: 0x21 IPv4, 0x57 IPv6, 0xC021 LCP",
            "RFC 1661, 2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let framing = Framing::of(input.bytes, direction_len(input.frame.link_type.0));
    let first = input.u8(framing.start)?;
    if is_cisco(first, input.frame) {
        let next = Next::Layer(Layer::CiscoHdlc);
        return Ok(match framing.start {
            0 => Header::foreign(next),
            start => Header::new(start, next),
        });
    }
    let Some((protocol, len)) = framing.protocol(input.bytes) else {
        input.need(framing.protocol_offset().saturating_add(2))?;
        return Ok(Header::new(framing.protocol_offset(), Next::Payload));
    };
    let next = match protocol {
        // Ethertypes in the place of PPP's own numbers are seen on some links.
        0x0800 | 0x86dd => Next::Ethertype(protocol),
        _ => Next::Ppp(protocol),
    };
    Ok(Header::new(
        framing.protocol_offset().saturating_add(len),
        next,
    ))
}

/// The layout of the header, which negotiation may have shortened (RFC 1661, 6.5 and 6.6).
struct Framing {
    /// Bytes of direction in front.
    start: usize,
    /// The address and the control field are there.
    has_address: bool,
}

impl Framing {
    fn of(bytes: &[u8], start: usize) -> Self {
        Self {
            start,
            // 0xFF can't begin a protocol number: it would be one of a single byte, which the
            // standard keeps free for this.
            has_address: bytes.get(start) == Some(&0xff),
        }
    }

    fn of_packet(packet: &Packet<'_>) -> Option<Self> {
        let bytes = packet.bytes(Layer::Ppp)?;
        let framing = Self::of(bytes, direction_len(packet.frame().link_type.0));
        let cisco = bytes
            .get(framing.start)
            .is_some_and(|first| is_cisco(*first, packet.frame()));
        (!cisco).then_some(framing)
    }

    fn protocol_offset(&self) -> usize {
        self.start
            .saturating_add(if self.has_address { 2 } else { 0 })
    }

    /// The protocol number and its length in bytes.
    fn protocol(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        let offset = self.protocol_offset();
        let first = weir_bytes::u8_at(bytes, offset)?;
        if first & 1 == 1 {
            return Some((u16::from(first), 1));
        }
        Some((weir_bytes::u16_be_at(bytes, offset)?, 2))
    }
}

/// The link type puts a byte of direction in front.
fn direction_len(link_type: u32) -> usize {
    usize::from(link_type == WITH_DIRECTION || link_type == PPPD)
}

/// Cisco HDLC's addresses, where the link may carry either. A packet of PPPoE may begin so too.
fn is_cisco(first: u8, frame: &Frame<'_>) -> bool {
    matches!(first, 0x0f | 0x8f)
        && matches!(frame.link_type.0, 0 | 9 | 50 | 197 | PPPD | WITH_DIRECTION)
}

const PPPD: u32 = 166;
const WITH_DIRECTION: u32 = 204;
