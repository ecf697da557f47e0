//! Internet Control Message Protocol. The datagram that an error quotes is decoded behind it.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::checksum::{self, Transport};
use crate::field::Field;
use crate::shape::{BitsTest, HeaderShape, NextHeader};
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "icmp",
    title: "Internet Control Message Protocol",
    decode,
    on: &[On::IpProtocol(1)],
    fields: &[
        Field::u8(
            "icmp.type",
            |p| p.u8(ICMP, 0),
            "Type of the message",
            "RFC 792; IANA ICMP parameters",
        ),
        Field::u8(
            "icmp.code",
            |p| p.u8(ICMP, 1),
            "Code within the type",
            "RFC 792; IANA ICMP parameters",
        ),
        Field::u16(
            "icmp.checksum",
            |p| p.u16_be(ICMP, 2),
            "Checksum as it was sent",
            "RFC 792",
        ),
        Field::bool(
            "icmp.checksum_ok",
            |p| {
                p.u16_be(ICMP, 2)?;
                Some(checksum::of(&[Transport::of(p, ICMP)?.bytes]) == 0)
            },
            "The checksum is right; NULL when it can't be told: a fragment, a quoted or a cut message",
            "RFC 792",
        ),
        Field::u16(
            "icmp.ident",
            |p| p.u16_be(identified(p)?, 4),
            "Identifier of a query or its answer",
            "RFC 792",
        ),
        Field::u16(
            "icmp.ident_le",
            |p| p.u16_be(identified(p)?, 4).map(u16::swap_bytes),
            "Identifier as hosts send it that forget the byte order",
            "RFC 792",
        ),
        Field::u16(
            "icmp.seq",
            |p| p.u16_be(query(p)?, 6),
            "Sequence number of a query or its answer",
            "RFC 792",
        ),
        Field::u16(
            "icmp.seq_le",
            |p| p.u16_be(query(p)?, 6).map(u16::swap_bytes),
            "Sequence number as hosts send it that forget the byte order",
            "RFC 792",
        ),
        Field::u16(
            "icmp.mtu",
            |p| p.u16_be(ICMP, 6).filter(|_| kind(p) == Some((3, 4))),
            "MTU of the next hop, in the message that a packet was too big",
            "RFC 1191, 4",
        ),
        Field::address(
            "icmp.redir_gw",
            |p| {
                p.address(ICMP, 4, 4)
                    .filter(|_| matches!(kind(p), Some((REDIRECT, _))))
            },
            "Router to use instead",
            "RFC 792",
        ),
        Field::u32(
            "icmp.originate_timestamp",
            |p| p.u32_be(timestamps(p)?, 8),
            "When the sender last touched a timestamp message, in milliseconds since midnight UTC",
            "RFC 792",
        ),
        Field::u32(
            "icmp.receive_timestamp",
            |p| p.u32_be(timestamps(p)?, 12),
            "When the answering host got it, in milliseconds since midnight UTC",
            "RFC 792",
        ),
        Field::u32(
            "icmp.transmit_timestamp",
            |p| p.u32_be(timestamps(p)?, 16),
            "When the answering host sent it, in milliseconds since midnight UTC",
            "RFC 792",
        ),
        Field::address(
            "icmp.address_mask",
            |p| {
                p.address(ICMP, 8, 4)
                    .filter(|_| matches!(kind(p), Some((MASK_REQUEST | MASK_REPLY, _))))
            },
            "Address mask of the network",
            "RFC 950, appendix I",
        ),
        Field::u8(
            "icmp.num_addrs",
            |p| {
                p.u8(ICMP, 4)
                    .filter(|_| matches!(kind(p), Some((ROUTER_ADVERTISEMENT, _))))
            },
            "Addresses that a router advertises",
            "RFC 1256, 3",
        ),
        Field::u8(
            "icmp.addr_entry_size",
            |p| {
                p.u8(ICMP, 5)
                    .filter(|_| matches!(kind(p), Some((ROUTER_ADVERTISEMENT, _))))
            },
            "Size of each of them in units of 4 bytes",
            "RFC 1256, 3",
        ),
        Field::u16(
            "icmp.lifetime",
            |p| {
                p.u16_be(ICMP, 6)
                    .filter(|_| matches!(kind(p), Some((ROUTER_ADVERTISEMENT, _))))
            },
            "Seconds for which they are valid",
            "RFC 1256, 3",
        ),
    ],
};

/// All messages but the errors, which quote a packet.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(4, NextHeader::Payload)
    .tests(&[BitsTest::new(Bits::byte(0), &[(0, 2), (6, 10), (13, 255)])])];

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN_MIN)?;
    let next = match input.u8(0)? {
        UNREACHABLE | SOURCE_QUENCH | REDIRECT | TIME_EXCEEDED | PARAMETER_PROBLEM => {
            Next::Quote(Layer::Ipv4)
        }
        _ => return Ok(Header::new(HEADER_LEN_MIN, Next::Payload)),
    };
    input.need(ERROR_LEN)?;
    Ok(Header::new(ERROR_LEN, next))
}

fn kind(packet: &Packet<'_>) -> Option<(u8, u8)> {
    Some((packet.u8(ICMP, 0)?, packet.u8(ICMP, 1)?))
}

/// ICMP, when the message is one that has an identifier and a sequence number.
fn query(packet: &Packet<'_>) -> Option<Layer> {
    matches!(kind(packet)?.0, 0 | 8 | 13..=18).then_some(ICMP)
}

/// ICMP, when the message is one that has an identifier: as above, and extended echo (RFC 8335).
fn identified(packet: &Packet<'_>) -> Option<Layer> {
    matches!(kind(packet)?.0, 0 | 8 | 13..=18 | 42 | 43).then_some(ICMP)
}

/// ICMP, when the message is about timestamps.
fn timestamps(packet: &Packet<'_>) -> Option<Layer> {
    matches!(kind(packet)?.0, 13 | 14).then_some(ICMP)
}

const ICMP: Layer = Layer::Icmp;
const HEADER_LEN_MIN: usize = 4;
const ERROR_LEN: usize = 8;
const UNREACHABLE: u8 = 3;
const SOURCE_QUENCH: u8 = 4;
const REDIRECT: u8 = 5;
const ROUTER_ADVERTISEMENT: u8 = 9;
const TIME_EXCEEDED: u8 = 11;
const PARAMETER_PROBLEM: u8 = 12;
const MASK_REQUEST: u8 = 17;
const MASK_REPLY: u8 = 18;
