//! Internet Group Management Protocol.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "igmp",
    title: "Internet Group Management Protocol",
    decode,
    on: &[On::IpProtocol(2)],
    fields: &[
        plain!(
            u8,
            "igmp.type",
            [Location::bits(IGMP, Bits::byte(0))],
            "Type: 0x11 query; 0x12, 0x16 and 0x22 reports of versions 1 to 3; 0x17 leave",
            "RFC 3376, 4",
        ),
        Field::u16(
            "igmp.max_resp",
            |p| {
                // A query of version 1 has 0 there, and no such field.
                let version_1 =
                    is(p, &[QUERY]) && p.u8(IGMP, 1) == Some(0) && p.declared_len(IGMP) == Some(8);
                let code = p
                    .u8(IGMP, 1)
                    .filter(|_| is(p, &[QUERY, REPORT_V2, LEAVE]) && !version_1)?;
                let is_version_3 = is(p, &[QUERY]) && p.declared_len(IGMP)? >= QUERY_V3_LEN;
                Some(if is_version_3 { units(code) } else { code.into() })
            },
            "Time to respond within, in units of 0.1 seconds; NULL in version 1",
            "RFC 3376, 4.1.1",
        ),
        Field::u16(
            "igmp.checksum",
            |p| p.u16_be(IGMP, 2).filter(|_| is(p, CHECKED)),
            "Checksum as it was sent",
            "RFC 3376, 4",
        ),
        Field::address(
            "igmp.maddr",
            |p| match p.u8(IGMP, 0)? {
                QUERY | REPORT_V1 | REPORT_V2 | LEAVE | TRACE | TRACE_RESPONSE => {
                    p.address(IGMP, 4, 4)
                }
                REPORT_V3 if p.u16_be(IGMP, 6)? > 0 => p.address(IGMP, 12, 4),
                _ => None,
            },
            "Multicast group; that of the first record in a report of version 3",
            "RFC 3376, 4",
        ),
        Field::u16(
            "igmp.num_grp_recs",
            |p| p.u16_be(IGMP, 6).filter(|_| is(p, &[REPORT_V3])),
            "Group records in a report of version 3",
            "RFC 3376, 4.2",
        ),
        Field::u8(
            "igmp.record_type",
            |p| {
                p.u8(IGMP, 8)
                    .filter(|_| is(p, &[REPORT_V3]) && p.u16_be(IGMP, 6) != Some(0))
            },
            "Type of the first group record",
            "RFC 3376, 4.2.12",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    match input.u8(0)? {
        PIM_V1 => return Ok(Header::foreign(Next::Layer(Layer::Pim))),
        DVMRP => return Ok(Header::foreign(Next::Payload)),
        _ => {}
    }
    Ok(Header::new(8, Next::Payload))
}

fn is(packet: &Packet<'_>, kinds: &[u8]) -> bool {
    packet.u8(IGMP, 0).is_some_and(|kind| kinds.contains(&kind))
}

/// Units of time that a code of version 3 stands for: from 128 on three bits are an exponent, four a
/// mantissa.
fn units(code: u8) -> u16 {
    match code {
        0..128 => code.into(),
        _ => (u16::from(code & 0x0f) | 0x10) << (u16::from(code >> 4 & 7) + 3),
    }
}

const IGMP: Layer = Layer::Igmp;
/// Queries of version 3 are longer than those before.
const QUERY_V3_LEN: u32 = 12;
/// Protocol Independent Multicast, version 1, came as IGMP.
const PIM_V1: u8 = 0x14;
/// Distance Vector Multicast Routing Protocol came as IGMP too.
const DVMRP: u8 = 0x13;
const TRACE_RESPONSE: u8 = 0x1e;
const TRACE: u8 = 0x1f;
const QUERY: u8 = 0x11;
const REPORT_V1: u8 = 0x12;
const REPORT_V2: u8 = 0x16;
const LEAVE: u8 = 0x17;
const REPORT_V3: u8 = 0x22;
const CHECKED: &[u8] = &[
    QUERY,
    REPORT_V1,
    REPORT_V2,
    REPORT_V3,
    LEAVE,
    TRACE,
    TRACE_RESPONSE,
];
