//! Internet Control Message Protocol. The datagram that an error quotes is decoded behind it.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::checksum::{self, Transport};
use crate::field::{Field, plain};
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader};
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "icmp",
    title: "Internet Control Message Protocol",
    decode,
    on: &[On::IpProtocol(1)],
    fields: &[
        plain!(
            u8,
            "icmp.type",
            [Location::bits(ICMP, Bits::byte(0))],
            "Type of the message",
            "RFC 792; IANA ICMP parameters",
        ),
        plain!(
            u8,
            "icmp.code",
            [Location::bits(ICMP, Bits::byte(1))],
            "Code within the type",
            "RFC 792; IANA ICMP parameters",
        ),
        plain!(
            u16,
            "icmp.checksum",
            [Location::bits(ICMP, Bits::be16(2))],
            "Checksum as it was sent",
            "RFC 792",
        ),
        Field::bool(
            "icmp.checksum_ok",
            |p| {
                p.u16_be(ICMP, 2)?;
                Some(checksum::of(&[Transport::of(p, ICMP)?.bytes]) == 0)
            },
            "The checksum is right; NULL when it cannot be verified: a fragment, a quoted or a cut message",
            "RFC 792",
        ),
        plain!(
            u16,
            "icmp.ident",
            [Location::bits(ICMP, Bits::be16(4)).when(IDENTIFIED)],
            "Identifier of a query or its answer",
            "RFC 792",
        ),
        plain!(
            u16,
            "icmp.ident_le",
            [Location::bits(ICMP, Bits::le16(4)).when(IDENTIFIED)],
            "Identifier in little-endian byte order, as some hosts send it",
            "RFC 792",
        ),
        plain!(
            u16,
            "icmp.seq",
            [Location::bits(ICMP, Bits::be16(6)).when(QUERY)],
            "Sequence number of a query or its answer",
            "RFC 792",
        ),
        plain!(
            u16,
            "icmp.seq_le",
            [Location::bits(ICMP, Bits::le16(6)).when(QUERY)],
            "Sequence number in little-endian byte order, as some hosts send it",
            "RFC 792",
        ),
        Field::u16(
            "icmp.mtu",
            |p| p.u16_be(ICMP, 6).filter(|_| kind(p) == Some((3, 4))),
            "MTU of the next hop, in a message that a packet was too big",
            "RFC 1191, 4",
        ),
        Field::address(
            "icmp.redir_gw",
            |p| {
                p.address(ICMP, 4, 4)
                    .filter(|_| matches!(kind(p), Some((REDIRECT, _))))
            },
            "Gateway address of a redirect",
            "RFC 792",
        ),
        plain!(
            u32,
            "icmp.originate_timestamp",
            [Location::bits(ICMP, Bits::be32(8)).when(TIMESTAMPS)],
            "When the sender last touched a timestamp message, in milliseconds since midnight UTC",
            "RFC 792",
        ),
        plain!(
            u32,
            "icmp.receive_timestamp",
            [Location::bits(ICMP, Bits::be32(12)).when(TIMESTAMPS)],
            "When the answering host received it, in milliseconds since midnight UTC",
            "RFC 792",
        ),
        plain!(
            u32,
            "icmp.transmit_timestamp",
            [Location::bits(ICMP, Bits::be32(16)).when(TIMESTAMPS)],
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
            "Size of each address entry in units of 4 bytes",
            "RFC 1256, 3",
        ),
        Field::u16(
            "icmp.lifetime",
            |p| {
                p.u16_be(ICMP, 6)
                    .filter(|_| matches!(kind(p), Some((ROUTER_ADVERTISEMENT, _))))
            },
            "Lifetime of these addresses in seconds",
            "RFC 1256, 3",
        ),
    ],
};

/// All messages but the errors, which quote a packet.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(4, NextHeader::Payload)
    .tests(&[BitsTest::new(KIND, &[(0, 2), (6, 10), (13, 255)])])];

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

/// Messages that have an identifier and a sequence number.
const QUERY: &[BitsTest] = &[BitsTest::new(KIND, &[(0, 0), (8, 8), (13, 18)])];
/// Messages that have an identifier: as above, and extended echo (RFC 8335).
const IDENTIFIED: &[BitsTest] = &[BitsTest::new(KIND, &[(0, 0), (8, 8), (13, 18), (42, 43)])];
/// Messages about timestamps.
const TIMESTAMPS: &[BitsTest] = &[BitsTest::new(KIND, &[(13, 14)])];
const KIND: Bits = Bits::byte(0);
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
