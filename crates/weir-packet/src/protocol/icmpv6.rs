//! Internet Control Message Protocol for IPv6, with neighbour and multicast listener discovery.
//! The packet that an error quotes is decoded behind it.

use weir_bytes::{Bits, u8_at};

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::checksum::Transport;
use crate::field::{Field, plain};
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader};
use crate::{Address, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "icmpv6",
    title: "Internet Control Message Protocol for IPv6",
    decode,
    on: &[On::IpProtocol(58)],
    fields: &[
        plain!(
            u8,
            "icmpv6.type",
            [Location::bits(ICMPV6, Bits::byte(0))],
            "Type of the message",
            "RFC 4443, 2.1; IANA ICMPv6 parameters",
        ),
        plain!(
            u8,
            "icmpv6.code",
            [Location::bits(ICMPV6, Bits::byte(1))],
            "Code within the type",
            "RFC 4443, 2.1; IANA ICMPv6 parameters",
        ),
        plain!(
            u16,
            "icmpv6.checksum",
            [Location::bits(ICMPV6, Bits::be16(2))],
            "Checksum as it was sent",
            "RFC 4443, 2.3",
        ),
        Field::bool(
            "icmpv6.checksum_ok",
            |p| {
                p.u16_be(ICMPV6, 2)?;
                let message = Transport::of(p, ICMPV6)?;
                Some(message.with_pseudo_header(58, message.bytes.len(), message.bytes)? == 0)
            },
            "The checksum is right; NULL when it cannot be verified: a fragment, a quoted or a cut message",
            "RFC 4443, 2.3",
        ),
        plain!(
            u16,
            "icmpv6.echo.identifier",
            [
                Location::bits(ICMPV6, Bits::be16(4))
                    .when(&[BitsTest::new(KIND, &[(128, 129), (160, 161)])]),
            ],
            "Identifier of an echo or extended echo request or reply",
            "RFC 4443, 4.1; RFC 8335, 2",
        ),
        plain!(
            u16,
            "icmpv6.echo.sequence_number",
            [Location::bits(ICMPV6, Bits::be16(6)).when(&[BitsTest::new(KIND, &[(128, 129)])])],
            "Sequence number of an echo request or reply",
            "RFC 4443, 4.1",
        ),
        Field::u32(
            "icmpv6.mtu",
            |p| p.u32_be(ICMPV6, 4).filter(|_| is(p, &[PACKET_TOO_BIG])),
            "MTU of the next hop, in a message that a packet was too big",
            "RFC 4443, 3.2",
        ),
        Field::u32(
            "icmpv6.pointer",
            |p| p.u32_be(ICMPV6, 4).filter(|_| is(p, &[PARAMETER_PROBLEM])),
            "Offset of the problem in the packet that is quoted",
            "RFC 4443, 3.4",
        ),
        Field::u8(
            "icmpv6.nd.ra.cur_hop_limit",
            |p| p.u8(ICMPV6, 4).filter(|_| is(p, ROUTER_ADVERTISEMENT)),
            "Hop limit that a router recommends",
            "RFC 4861, 4.2",
        ),
        Field::u8(
            "icmpv6.nd.ra.flag",
            |p| p.u8(ICMPV6, 5).filter(|_| is(p, ROUTER_ADVERTISEMENT)),
            "Flags of a router advertisement",
            "RFC 4861, 4.2; RFC 5175",
        ),
        Field::u16(
            "icmpv6.nd.ra.router_lifetime",
            |p| p.u16_be(ICMPV6, 6).filter(|_| is(p, ROUTER_ADVERTISEMENT)),
            "Lifetime as a default router in seconds",
            "RFC 4861, 4.2",
        ),
        Field::u32(
            "icmpv6.nd.ra.reachable_time",
            |p| p.u32_be(ICMPV6, 8).filter(|_| is(p, ROUTER_ADVERTISEMENT)),
            "Milliseconds for which a neighbour is considered reachable",
            "RFC 4861, 4.2",
        ),
        Field::u32(
            "icmpv6.nd.ra.retrans_timer",
            |p| p.u32_be(ICMPV6, 12).filter(|_| is(p, ROUTER_ADVERTISEMENT)),
            "Milliseconds between neighbour solicitations",
            "RFC 4861, 4.2",
        ),
        Field::address(
            "icmpv6.nd.ns.target_address",
            |p| {
                p.address(ICMPV6, 8, 16)
                    .filter(|_| is(p, &[NEIGHBOR_SOLICITATION]))
            },
            "Address that a neighbour solicitation asks for",
            "RFC 4861, 4.3",
        ),
        Field::u32(
            "icmpv6.nd.na.flag",
            |p| {
                p.u32_be(ICMPV6, 4)
                    .filter(|_| is(p, &[NEIGHBOR_ADVERTISEMENT]))
            },
            "Flags of a neighbour advertisement",
            "RFC 4861, 4.4",
        ),
        Field::bool(
            "icmpv6.nd.na.flag.r",
            |p| {
                p.bit(ICMPV6, 4, 0x80)
                    .filter(|_| is(p, &[NEIGHBOR_ADVERTISEMENT]))
            },
            "The neighbour is a router",
            "RFC 4861, 4.4",
        ),
        Field::bool(
            "icmpv6.nd.na.flag.s",
            |p| {
                p.bit(ICMPV6, 4, 0x40)
                    .filter(|_| is(p, &[NEIGHBOR_ADVERTISEMENT]))
            },
            "The advertisement was solicited",
            "RFC 4861, 4.4",
        ),
        Field::bool(
            "icmpv6.nd.na.flag.o",
            |p| {
                p.bit(ICMPV6, 4, 0x20)
                    .filter(|_| is(p, &[NEIGHBOR_ADVERTISEMENT]))
            },
            "The advertisement overrides what is known",
            "RFC 4861, 4.4",
        ),
        Field::address(
            "icmpv6.nd.na.target_address",
            |p| {
                p.address(ICMPV6, 8, 16)
                    .filter(|_| is(p, &[NEIGHBOR_ADVERTISEMENT]))
            },
            "Address that a neighbour advertisement is about",
            "RFC 4861, 4.4",
        ),
        Field::address(
            "icmpv6.nd.rd.target_address",
            |p| {
                p.address(ICMPV6, 8, 16)
                    .filter(|_| is(p, &[NEIGHBOR_REDIRECT]))
            },
            "Better first hop of a redirect",
            "RFC 4861, 4.5",
        ),
        Field::address(
            "icmpv6.rd.na.destination_address",
            |p| {
                p.address(ICMPV6, 24, 16)
                    .filter(|_| is(p, &[NEIGHBOR_REDIRECT]))
            },
            "Destination that is redirected",
            "RFC 4861, 4.5",
        ),
        Field::u8(
            "icmpv6.opt.type",
            |p| u8_at(option(p, |_| true)?, 0),
            "Type of the first option of neighbour discovery",
            "RFC 4861, 4.6",
        ),
        Field::u8(
            "icmpv6.opt.length",
            |p| u8_at(option(p, |_| true)?, 1),
            "Length of the first option in units of 8 bytes",
            "RFC 4861, 4.6",
        ),
        Field::bytes(
            "icmpv6.opt.linkaddr",
            |p| option(p, |kind| matches!(kind, 1 | 2))?.get(2..),
            "Link-layer address of the source or the target",
            "RFC 4861, 4.6.1",
        ),
        Field::bytes(
            "icmpv6.opt.src_linkaddr",
            |p| option(p, |kind| kind == 1)?.get(2..),
            "Link-layer address of the source",
            "RFC 4861, 4.6.1",
        ),
        Field::bytes(
            "icmpv6.opt.target_linkaddr",
            |p| option(p, |kind| kind == 2)?.get(2..),
            "Link-layer address of the target",
            "RFC 4861, 4.6.1",
        ),
        Field::u8(
            "icmpv6.opt.prefix.length",
            |p| u8_at(option(p, |kind| matches!(kind, PREFIX | ROUTE))?, 2),
            "Length of the first prefix in bits, of the link or of a route",
            "RFC 4861, 4.6.2; RFC 4191, 2.3",
        ),
        Field::address(
            "icmpv6.opt.prefix",
            |p| prefix(find(p, |option| prefix(option).is_some())?),
            "First prefix of the link or of a route",
            "RFC 4861, 4.6.2; RFC 4191, 2.3",
        ),
    ],
};

/// All messages but the errors, which quote a packet.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(4, NextHeader::Payload)
    .tests(&[BitsTest::new(KIND, &[(0, 0), (5, 136), (138, 255)])])];

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN_MIN)?;
    match input.u8(0)? {
        1..=PARAMETER_PROBLEM => {
            input.need(ERROR_LEN)?;
            Ok(Header::new(ERROR_LEN, Next::Quote(Layer::Ipv6)))
        }
        NEIGHBOR_REDIRECT => decode_redirect(input),
        _ => Ok(Header::new(HEADER_LEN_MIN, Next::Payload)),
    }
}

/// A redirect quotes the packet that is to go another way in an option, among others (RFC 4861, 4.6.3).
fn decode_redirect(input: &Input<'_>) -> Result<Header, Reason> {
    let mut at = OPTIONS_OF_REDIRECT;
    while input.declared > at {
        let kind = input.u8(at)?;
        let len = usize::from(input.u8(at.saturating_add(1))?) * 8;
        let end = at.saturating_add(len);
        if kind == REDIRECTED && len > REDIRECTED_LEN {
            let len = at.saturating_add(REDIRECTED_LEN);
            input.need(len)?;
            return Ok(Header::new(len, Next::Quote(Layer::Ipv6)).with_total(end));
        }
        if len == 0 {
            break;
        }
        at = end;
    }
    Ok(Header::new(HEADER_LEN_MIN, Next::Payload))
}

fn is(packet: &Packet<'_>, kinds: &[u8]) -> bool {
    packet
        .u8(ICMPV6, 0)
        .is_some_and(|kind| kinds.contains(&kind))
}

/// The first option of neighbour discovery whose type `wanted` accepts, from its type on.
fn option<'a>(packet: &Packet<'a>, wanted: fn(u8) -> bool) -> Option<&'a [u8]> {
    find(packet, |option| option.first().is_some_and(|kind| wanted(*kind)))
}

/// The first option that `wanted` accepts, which is given it as far as it was captured.
fn find<'a>(packet: &Packet<'a>, mut wanted: impl FnMut(&[u8]) -> bool) -> Option<&'a [u8]> {
    let start = match packet.u8(ICMPV6, 0)? {
        // Inverse discovery (RFC 3122, 2), mobile prefix advertisements (RFC 6275, 6.8), certification path
        // solicitations (RFC 3971, 6.4), mobility protocols (RFC 4065, 3; RFC 5568, 6.1).
        ROUTER_SOLICITATION | 141 | 142 | 147 | 148 | 150 | 154 => 8,
        // Certification path advertisements (RFC 3971, 6.4).
        149 => 12,
        134 => 16,
        NEIGHBOR_SOLICITATION | NEIGHBOR_ADVERTISEMENT => 24,
        NEIGHBOR_REDIRECT => OPTIONS_OF_REDIRECT,
        _ => return None,
    };
    let mut rest = packet.bytes(ICMPV6)?.get(start..)?;
    loop {
        rest.first()?;
        let len = usize::from(u8_at(rest, 1).unwrap_or(0)) * 8;
        let option = rest.get(..len.max(2).min(rest.len()))?;
        if wanted(option) {
            return Some(option);
        }
        if len == 0 {
            return None;
        }
        rest = rest.get(len..)?;
    }
}

/// The prefix that an option has: all of it, or of a route as much as its length needs.
fn prefix(option: &[u8]) -> Option<Address> {
    match *option.first()? {
        PREFIX => Address::from_bytes(option.get(16..32)?),
        ROUTE => {
            let written = option.get(8..).filter(|written| !written.is_empty())?;
            let mut prefix = [0; 16];
            for (byte, written) in prefix.iter_mut().zip(written) {
                *byte = *written;
            }
            Address::from_bytes(&prefix)
        }
        _ => None,
    }
}

/// Calls `each` with the byte at `at` of every option until that gives false; gives false when it was stopped.
pub(super) fn each_option(
    packet: &Packet<'_>,
    at: usize,
    each: &mut dyn FnMut(u64) -> bool,
) -> bool {
    find(packet, |option| u8_at(option, at).is_some_and(|byte| !each(byte.into()))).is_none()
}

const KIND: Bits = Bits::byte(0);
const ICMPV6: Layer = Layer::Icmpv6;
const HEADER_LEN_MIN: usize = 4;
const ERROR_LEN: usize = 8;
const PACKET_TOO_BIG: u8 = 2;
const PARAMETER_PROBLEM: u8 = 4;
const ROUTER_SOLICITATION: u8 = 133;
const ROUTER_ADVERTISEMENT: &[u8] = &[134];
const NEIGHBOR_SOLICITATION: u8 = 135;
const NEIGHBOR_ADVERTISEMENT: u8 = 136;
const NEIGHBOR_REDIRECT: u8 = 137;
const PREFIX: u8 = 3;
/// Route information (RFC 4191, 2.3).
const ROUTE: u8 = 24;
const REDIRECTED: u8 = 4;
/// Bytes of that option in front of the packet.
const REDIRECTED_LEN: usize = 8;
const OPTIONS_OF_REDIRECT: usize = 40;
