//! Encapsulated Remote Switched Port Analyzer, types II and III: mirrored frames in GRE.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "erspan",
    title: "Encapsulated Remote Switched Port Analyzer",
    decode,
    on: &[On::Ethertype(0x88be), On::Ethertype(0x22eb)],
    fields: &[
        Field::u8(
            "erspan.version",
            |p| Some(p.u8(ERSPAN, 0)? >> 4),
            "Version: 1 is type II, 2 is type III",
            DRAFT,
        ),
        Field::u16(
            "erspan.vlan",
            |p| Some(p.u16_be(known(p)?, 0)? & 0x0fff),
            "VLAN of the mirrored frame",
            DRAFT,
        ),
        Field::u8(
            "erspan.cos",
            |p| Some(p.u8(known(p)?, 2)? >> 5),
            "Class of service of the mirrored frame",
            DRAFT,
        ),
        Field::bool(
            "erspan.truncated",
            |p| p.bit(known(p)?, 2, 4),
            "The mirrored frame was cut",
            DRAFT,
        ),
        Field::u16(
            "erspan.spanid",
            |p| Some(p.u16_be(known(p)?, 2)? & 0x03ff),
            "Session",
            DRAFT,
        ),
        Field::u32(
            "erspan.index",
            |p| Some(p.u32_be(ERSPAN, 4)? & 0x000f_ffff).filter(|_| version(p) == Some(1)),
            "Index of the port that was mirrored (type II)",
            DRAFT,
        ),
        Field::u32(
            "erspan.timestamp",
            |p| p.u32_be(ERSPAN, 4).filter(|_| version(p) == Some(2)),
            "Time of the mirrored frame in ticks of the switch (type III)",
            DRAFT,
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let ethernet = Next::Layer(Layer::Ethernet);
    match input.u8(0)? >> 4 {
        1 => {
            input.need(8)?;
            Ok(Header::new(8, ethernet))
        }
        2 => {
            input.need(12)?;
            let flags = input.u16_be(10)?;
            let len = if flags & SUB_HEADER == 0 { 12 } else { 20 };
            input.need(len)?;
            let next = match flags >> 10 & 0x1f {
                FRAME_IP => Next::Layer(Layer::Ipv4),
                FRAME_ETHERNET => ethernet,
                _ => Next::Payload,
            };
            Ok(Header::new(len, next))
        }
        value => Err(Reason::Invalid {
            field: "erspan.version",
            value: u32::from(value),
        }),
    }
}

/// The layer, where its version is one whose fields are known.
fn known(packet: &Packet<'_>) -> Option<Layer> {
    matches!(version(packet)?, 1 | 2).then_some(ERSPAN)
}

fn version(packet: &Packet<'_>) -> Option<u8> {
    Some(packet.u8(ERSPAN, 0)? >> 4)
}

const ERSPAN: Layer = Layer::Erspan;
const DRAFT: &str = "draft-foschiano-erspan-03";
const SUB_HEADER: u16 = 1;
const FRAME_ETHERNET: u16 = 0;
const FRAME_IP: u16 = 2;
