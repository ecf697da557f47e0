//! The hop-by-hop options of IPv6, which every router reads, and the options that this header and
//! the destination options have in common.
//!
//! The columns of the options are those of the first of the two headers that has one.

use weir_bytes::{Bits, u8_at, u16_be_at, u32_be_at};

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Address, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipv6.hopopts",
    title: "IPv6 Hop-by-Hop Options",
    decode: decode_extension,
    on: &[On::IpExtension(0)],
    fields: &[
        plain!(
            u8,
            "ipv6.hopopts.nxt",
            [Location::bits(OPTIONS, Bits::byte(0))],
            "Number of the header that follows the hop-by-hop options",
            "RFC 8200, 4.3",
        ),
        plain!(
            u8,
            "ipv6.hopopts.len",
            [Location::bits(OPTIONS, Bits::byte(1))],
            "Length of the hop-by-hop options header in units of 8 bytes beyond the first 8",
            "RFC 8200, 4.3",
        ),
        Field::u16(
            "ipv6.hopopts.len_oct",
            |p| Some((u16::from(p.u8(OPTIONS, 1)?) + 1) * 8),
            "Length of the hop-by-hop options header in bytes",
            "RFC 8200, 4.3",
        ),
        Field::u8(
            "ipv6.opt.type",
            |p| u8_at(first(p)?, 0),
            "Type of the first option",
            "RFC 8200, 4.2",
        ),
        Field::u8(
            "ipv6.opt.type.action",
            |p| Some(u8_at(option(p, |kind| kind != PAD_1)?, 0)? >> 6),
            "What a node that does not know the first option other than Pad1 does: 0 skips it, 1 drops the packet, 2 and 3 also report it",
            "RFC 8200, 4.2",
        ),
        Field::bool(
            "ipv6.opt.type.change",
            |p| Some(u8_at(option(p, |kind| kind != PAD_1)?, 0)? & 0x20 != 0),
            "The first option other than Pad1 may change on the way",
            "RFC 8200, 4.2",
        ),
        Field::u8(
            "ipv6.opt.length",
            |p| u8_at(option(p, |kind| kind != PAD_1)?, 1),
            "Length of the first option's data in bytes",
            "RFC 8200, 4.2",
        ),
        Field::u16(
            "ipv6.opt.router_alert",
            |p| u16_be_at(option(p, |kind| kind == ROUTER_ALERT)?, 2),
            "Value of the router alert option; 0: multicast listener discovery",
            "RFC 2711, 2.1",
        ),
        Field::u32(
            "ipv6.opt.jumbo",
            |p| u32_be_at(option(p, |kind| kind == JUMBO_PAYLOAD)?, 2),
            "Length of a jumbogram's payload in bytes, above 65,535",
            "RFC 2675, 2",
        ),
        Field::u8(
            "ipv6.opt.tel",
            |p| u8_at(option(p, |kind| kind == TUNNEL_LIMIT)?, 2),
            "Tunnel encapsulation limit: further tunnels that are allowed",
            "RFC 2473, 4.1.1",
        ),
        Field::address(
            "ipv6.opt.mipv6.home_address",
            |p| Address::from_bytes(option(p, |kind| kind == HOME_ADDRESS)?.get(2..18)?),
            "Home address of a mobile node",
            "RFC 6275, 6.3",
        ),
    ],
};

/// Reads a header of the common form: next header, length beyond 8 bytes in units of 8.
pub(super) fn decode_extension(input: &Input<'_>) -> Result<Header, Reason> {
    let next = input.u8(0)?;
    let len = (usize::from(input.u8(1)?) + 1) * 8;
    input.need(len)?;
    Ok(Header::new(len, Next::IpProtocol(next)))
}

fn first<'a>(packet: &Packet<'a>) -> Option<&'a [u8]> {
    option(packet, |_| true)
}

/// The first option whose type `wanted` accepts, from its type byte to the end of its data.
fn option<'a>(packet: &Packet<'a>, wanted: fn(u8) -> bool) -> Option<&'a [u8]> {
    let [one, two] = [Layer::Ipv6HopByHop, Layer::Ipv6DestinationOptions].map(|layer| {
        let bytes = packet.bytes(layer)?;
        let len = (usize::from(u8_at(bytes, 1)?) + 1) * 8;
        bytes.get(2..len.min(bytes.len()))
    });
    one.and_then(|options| option_in(options, wanted))
        .or_else(|| two.and_then(|options| option_in(options, wanted)))
}

fn option_in(rest: &[u8], wanted: fn(u8) -> bool) -> Option<&[u8]> {
    find_in(rest, |kind, _| wanted(kind))
}

/// Calls `each` with what `get` has of every option of both kinds of headers, those in tunnels too, until that gives
/// false; gives false when it was stopped.
pub(super) fn each_option(
    packet: &Packet<'_>,
    get: fn(&[u8]) -> Option<u8>,
    each: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let of = [Layer::Ipv6HopByHop, Layer::Ipv6DestinationOptions];
    let mut headers = packet.headers().filter(|(layer, _)| of.contains(layer));
    headers.all(|(_, header)| {
        let len = u8_at(header, 1).map_or(0, |len| (usize::from(len) + 1) * 8);
        let options = header.get(2..len.min(header.len())).unwrap_or_default();
        let stopped = find_in(options, |_, option| {
            get(option).is_some_and(|number| !each(number.into()))
        });
        stopped.is_none()
    })
}

/// The length of an option that states one.
pub(super) fn option_len(option: &[u8]) -> Option<u8> {
    kind_but_pad_1(option)?;
    u8_at(option, 1)
}

/// The type of an option, with what its bits say; `None` for Pad1, which is a single byte.
pub(super) fn kind_but_pad_1(option: &[u8]) -> Option<u8> {
    u8_at(option, 0).filter(|kind| *kind != PAD_1)
}

fn find_in<'o>(
    mut rest: &'o [u8],
    mut wanted: impl FnMut(u8, &'o [u8]) -> bool,
) -> Option<&'o [u8]> {
    loop {
        let kind = *rest.first()?;
        let len = match kind {
            PAD_1 => 1,
            _ => usize::from(u8_at(rest, 1).unwrap_or(0)) + 2,
        };
        let option = rest.get(..len.min(rest.len()))?;
        if wanted(kind, option) {
            return Some(option);
        }
        rest = rest.get(len..)?;
    }
}

const PAD_1: u8 = 0;
const TUNNEL_LIMIT: u8 = 4;
const ROUTER_ALERT: u8 = 5;
const JUMBO_PAYLOAD: u8 = 0xc2;
const HOME_ADDRESS: u8 = 0xc9;
const OPTIONS: Layer = Layer::Ipv6HopByHop;
