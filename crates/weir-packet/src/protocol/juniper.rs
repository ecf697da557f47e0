//! Headers that Juniper's routers write in front of frames.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol, raw_ip};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "juniper",
    title: "Juniper capture header",
    decode,
    on: &[
        On::Link(ETHERNET),
        On::Link(PPP),
        On::Link(FRAME_RELAY),
        On::Link(CISCO_HDLC),
    ],
    fields: &[plain!(
            u8,
            "juniper.direction",
            [Location::bits(Layer::Juniper, Bits::flag(3, 0))],
            "0 out, 1 in",
            "Juniper",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    if !input.bytes.starts_with(b"MGC") {
        return Ok(Header::new(4, Next::Payload));
    }
    let flags = input.u8(3)?;
    let len = if flags & EXTENDED == 0 {
        4
    } else {
        6 + usize::from(input.u16_be(4)?)
    };
    input.need(len)?;
    if flags & NO_LINK_LAYER != 0 {
        // An address family in the place of the link layer.
        let packet = input.bytes.get(len.saturating_add(4)..).unwrap_or_default();
        return Ok(Header::new(
            len.saturating_add(4),
            raw_ip::by_version(packet),
        ));
    }
    let next = match input.frame.link_type.0 {
        PPP => Layer::Ppp,
        FRAME_RELAY => Layer::FrameRelay,
        CISCO_HDLC => Layer::CiscoHdlc,
        _ => Layer::Ethernet,
    };
    Ok(Header::new(len, Next::Layer(next)))
}

const ETHERNET: u32 = 178;
const PPP: u32 = 179;
const FRAME_RELAY: u32 = 180;
const CISCO_HDLC: u32 = 181;
const EXTENDED: u8 = 0x80;
const NO_LINK_LAYER: u8 = 0x02;
