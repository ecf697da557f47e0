//! The routing header of IPv6: nodes to visit on the way.

use weir_bytes::Bits;

use super::{Layer, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Address, Packet};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipv6.routing",
    title: "IPv6 Routing Header",
    decode: super::ipv6_hop_by_hop::decode_extension,
    on: &[On::IpExtension(43)],
    fields: &[
        plain!(
            u8,
            "ipv6.routing.nxt",
            [Location::bits(ROUTING, Bits::byte(0))],
            "Number of the header that follows",
            "RFC 8200, 4.4",
        ),
        plain!(
            u8,
            "ipv6.routing.len",
            [Location::bits(ROUTING, Bits::byte(1))],
            "Length in units of 8 bytes beyond the first 8",
            "RFC 8200, 4.4",
        ),
        Field::u16(
            "ipv6.routing.len_oct",
            |p| Some((u16::from(p.u8(ROUTING, 1)?) + 1) * 8),
            "Length of the header in bytes",
            "RFC 8200, 4.4",
        ),
        plain!(
            u8,
            "ipv6.routing.type",
            [Location::bits(ROUTING, Bits::byte(2))],
            "Type: 0 source route (deprecated), 2 mobile IPv6, 3 RPL, 4 segment routing",
            "RFC 8200, 4.4; IANA IPv6 routing types",
        ),
        plain!(
            u8,
            "ipv6.routing.segleft",
            [Location::bits(ROUTING, Bits::byte(3))],
            "Nodes still to be visited",
            "RFC 8200, 4.4",
        ),
        Field::address(
            "ipv6.routing.src.addr",
            |p| address(p, 0, 8),
            "First address of a source route (type 0)",
            "RFC 2460, 4.4",
        ),
        Field::address(
            "ipv6.routing.mipv6.home_address",
            |p| address(p, 2, 8),
            "Home address of the mobile node (type 2)",
            "RFC 6275, 6.4",
        ),
        Field::u8(
            "ipv6.routing.srh.last_entry",
            |p| p.u8(ROUTING, 4).filter(|_| is(p, 4)),
            "Index of the last element of the segment list (type 4)",
            "RFC 8754, 2",
        ),
        Field::u8(
            "ipv6.routing.srh.flags",
            |p| p.u8(ROUTING, 5).filter(|_| is(p, 4)),
            "Flags of the segment routing header (type 4)",
            "RFC 8754, 2",
        ),
        Field::bytes(
            "ipv6.routing.srh.tag",
            |p| p.part(ROUTING, 6, 2).filter(|_| is(p, 4)),
            "Tag of packets of one class (type 4)",
            "RFC 8754, 2",
        ),
        Field::address(
            "ipv6.routing.srh.addr",
            |p| address(p, 4, 8),
            "First address of the segment list, which is the last to be visited (type 4)",
            "RFC 8754, 2",
        ),
    ],
};

fn is(packet: &Packet<'_>, kind: u8) -> bool {
    packet.u8(ROUTING, 2) == Some(kind)
}

/// The address at `offset` of a routing header of type `kind` that is long enough.
fn address(packet: &Packet<'_>, kind: u8, offset: usize) -> Option<Address> {
    let len = (usize::from(packet.u8(ROUTING, 1)?) + 1) * 8;
    if !is(packet, kind) || len < offset + 16 {
        return None;
    }
    packet.address(ROUTING, offset, 16)
}

const ROUTING: Layer = Layer::Ipv6Routing;
