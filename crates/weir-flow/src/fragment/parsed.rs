//! A fragment as its packet shows it, and the datagram that it is of.

use weir_bytes::{u8_at, u16_be_at};
use weir_packet::{Ipv4Header, Ipv6FragmentHeader, Layer, Packet};

use super::origin::{Around, Origin};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DatagramKey {
    addresses: [u8; 32],
    identification: u32,
    /// Protocol of IPv4, which belongs to the key there (RFC 791, 3.2); 256 for IPv6.
    protocol: u16,
    /// The network, which distinguishes equal addresses: interface, VLANs, and the network of a tunnel.
    pub(super) network: Network,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Network {
    interface: Option<u32>,
    tunnel: Option<u32>,
    /// The headers around that tunnel, and MPLS labels, sessions and circuits.
    around: Around,
    /// Identifiers of the outermost tags, and how many there are.
    vlans: [u16; VLANS_MAX],
    depth: u8,
}

/// Tags that tell fragments apart; those inside of them do not.
const VLANS_MAX: usize = 4;

impl Network {
    pub(super) fn of(packet: &Packet<'_>, origin: &Origin) -> Self {
        let mut network = Self {
            interface: packet.frame().interface_id,
            tunnel: origin.network,
            around: origin.around,
            ..Self::default()
        };
        let layers = packet.headers();
        let outer = layers.take_while(|(layer, _)| !matches!(layer, Layer::Ipv4 | Layer::Ipv6));
        let mut places = network.vlans.iter_mut();
        for (layer, header) in outer {
            match layer {
                Layer::Vlan | Layer::ServiceVlan => {
                    if let Some(place) = places.next() {
                        *place = u16_be_at(header, 0).unwrap_or(0) & 0x0fff;
                        network.depth += 1;
                    }
                }
                Layer::Sll2
                | Layer::Mpls
                | Layer::Pppoe
                | Layer::ProviderBackbone
                | Layer::FrameRelay => {
                    network.around.take(layer, header);
                }
                _ => {}
            }
        }
        network
    }
}

/// A fragment as its packet shows it.
pub(super) struct Fragment<'p> {
    pub(super) key: DatagramKey,
    pub(super) offset: u32,
    pub(super) more: bool,
    pub(super) payload: &'p [u8],
    pub(super) header: &'p [u8],
    /// The offset in `header` of the protocol number of the payload, and the number.
    pub(super) next: Option<(usize, u8)>,
    pub(super) layer: Layer,
}

pub(super) enum Parsed<'p> {
    Whole,
    Cut,
    Fragment(Fragment<'p>),
}

#[inline]
pub(super) fn parse<'p>(packet: &Packet<'p>) -> Parsed<'p> {
    match packet.network() {
        Some(Layer::Ipv4) => match packet.ipv4() {
            Some(header) if header.is_fragment() => {
                parse_v4(packet, &header).unwrap_or(Parsed::Cut)
            }
            _ => Parsed::Whole,
        },
        Some(Layer::Ipv6) if packet.has(Layer::Ipv6Fragment) => {
            parse_v6(packet).unwrap_or(Parsed::Cut)
        }
        _ => Parsed::Whole,
    }
}

fn parse_v4<'p>(packet: &Packet<'p>, header: &Ipv4Header<'_>) -> Option<Parsed<'p>> {
    let bytes = packet.bytes(Layer::Ipv4)?;
    let (header_len, total) = (header.header_len()?, header.total_len()?.into());
    let mut addresses = [0; 32];
    addresses.get_mut(..8)?.copy_from_slice(header.addresses()?);
    Some(Parsed::Fragment(Fragment {
        key: DatagramKey {
            addresses,
            identification: header.identification()?.into(),
            protocol: header.protocol()?.into(),
            network: Network::default(),
        },
        offset: header.fragment_offset()?,
        more: header.more_fragments()?,
        payload: bytes.get(header_len..total)?,
        header: bytes.get(..header_len)?,
        next: None,
        layer: Layer::Ipv4,
    }))
}

fn parse_v6<'p>(packet: &Packet<'p>) -> Option<Parsed<'p>> {
    let bytes = packet.bytes(Layer::Ipv6)?;
    let total = usize::from(u16_be_at(bytes, 4)?) + 40;
    // The headers in front of the fragment header: each says what the next one is.
    let (mut next_at, mut at) = (6, 40);
    while u8_at(bytes, next_at)? != FRAGMENT {
        if !matches!(u8_at(bytes, next_at)?, HOP_BY_HOP | ROUTING | DESTINATION) {
            // The fragment header belongs to a packet inside this one.
            return Some(Parsed::Whole);
        }
        next_at = at;
        at += (usize::from(u8_at(bytes, at + 1)?) + 1) * 8;
    }
    let fragment = Ipv6FragmentHeader::new(bytes.get(at..)?);
    let (offset, more) = (fragment.fragment_offset()?, fragment.more_fragments()?);
    if !fragment.is_fragment() {
        // Alone: it is the whole packet (RFC 6946).
        return Some(Parsed::Whole);
    }
    Some(Parsed::Fragment(Fragment {
        key: DatagramKey {
            addresses: *bytes.get(8..40)?.first_chunk()?,
            identification: fragment.identification()?,
            protocol: 256,
            network: Network::default(),
        },
        offset,
        more,
        payload: bytes.get(at + 8..total)?,
        header: bytes.get(..at)?,
        next: Some((next_at, fragment.next_header()?)),
        layer: Layer::Ipv6,
    }))
}

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;
