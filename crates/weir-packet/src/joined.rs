//! Columns that join what Wireshark splits: addresses of either IP version, ports of any transport.

use weir_bytes::Bits;

use crate::field::{Field, Needs, plain};
use crate::shape::Location;
use crate::{Layer, Packet};

/// See the module.
pub(crate) static FIELDS: &[(Field, Needs)] = &[
    (
        plain!(
            address,
            "addr.src",
            [
                Location::bytes(Layer::Ipv4, 12, 4),
                Location::bytes(Layer::Ipv6, 8, 16),
            ],
            "Source address of the outermost IP header, IPv4 or IPv6",
            "RFC 791, 3.1; RFC 8200, 3",
        ),
        Needs::Network,
    ),
    (
        plain!(
            address,
            "addr.dst",
            [
                Location::bytes(Layer::Ipv4, 16, 4),
                Location::bytes(Layer::Ipv6, 24, 16),
            ],
            "Destination address of the outermost IP header, IPv4 or IPv6",
            "RFC 791, 3.1; RFC 8200, 3",
        ),
        Needs::Network,
    ),
    (
        Field::u16(
            "port.src",
            |p| port(p, SOURCE_PORT),
            "Source port of TCP, UDP, UDP-Lite, SCTP or DCCP above the outermost IP header; NULL in later fragments",
            "RFC 9293, 3.1; RFC 768; RFC 3828; RFC 9260, 3.1; RFC 4340, 5.1",
        )
        .exactly_at(&ports(SOURCE_PORT)),
        Needs::Transport,
    ),
    (
        Field::u16(
            "port.dst",
            |p| port(p, DESTINATION_PORT),
            "Destination port of TCP, UDP, UDP-Lite, SCTP or DCCP above the outermost IP header; NULL in later fragments",
            "RFC 9293, 3.1; RFC 768; RFC 3828; RFC 9260, 3.1; RFC 4340, 5.1",
        )
        .exactly_at(&ports(DESTINATION_PORT)),
        Needs::Transport,
    ),
    (
        Field::write(
            "proto",
            |p, out| {
                let Some(number) = p.ip_protocol() else {
                    return Ok(false);
                };
                match protocol_name(number) {
                    Some(name) => out.write_str(name)?,
                    None => write!(out, "{number}")?,
                }
                Ok(true)
            },
            "Protocol above the outermost IP header and its extension headers: its name in lower case, or its number",
            "IANA protocol numbers",
        ),
        Needs::Transport,
    ),
];

/// A port of the header above the outermost IP header.
const fn ports(port: Bits) -> [Location; 5] {
    [
        Location::bits(Layer::Tcp, port),
        Location::bits(Layer::Udp, port),
        Location::bits(Layer::UdpLite, port),
        Location::bits(Layer::Sctp, port),
        Location::bits(Layer::Dccp, port),
    ]
}

/// The ports of all protocols that have some, TCP, UDP, UDP-Lite, SCTP and DCCP.
const SOURCE_PORT: Bits = Bits::be16(0);
const DESTINATION_PORT: Bits = Bits::be16(2);

impl Packet<'_> {
    /// Source and destination port of TCP, UDP, UDP-Lite, SCTP or DCCP above the outermost IP header.
    #[inline]
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        Some((port(self, SOURCE_PORT)?, port(self, DESTINATION_PORT)?))
    }
}

#[inline]
fn port(packet: &Packet<'_>, port: Bits) -> Option<u16> {
    let header = packet.bytes(with_ports(packet)?)?;
    port.read(header).map(|port| port as u16)
}

#[inline]
fn with_ports(packet: &Packet<'_>) -> Option<Layer> {
    packet.transport().filter(|layer| {
        matches!(
            layer,
            Layer::Tcp | Layer::Udp | Layer::UdpLite | Layer::Sctp | Layer::Dccp
        )
    })
}

/// Keyword of an IP protocol number (IANA), in lower case, as the column `proto` has it; `None` for
/// numbers that have none here.
#[must_use]
pub fn protocol_name(number: u8) -> Option<&'static str> {
    Some(match number {
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        33 => "dccp",
        41 => "ipv6",
        46 => "rsvp",
        47 => "gre",
        50 => "esp",
        51 => "ah",
        55 => "mobile",
        58 => "icmpv6",
        59 => "ipv6-nonxt",
        88 => "eigrp",
        89 => "ospf",
        103 => "pim",
        112 => "vrrp",
        108 => "ipcomp",
        115 => "l2tp",
        132 => "sctp",
        135 => "mobility",
        136 => "udplite",
        137 => "mpls-in-ip",
        139 => "hip",
        140 => "shim6",
        _ => return None,
    })
}
