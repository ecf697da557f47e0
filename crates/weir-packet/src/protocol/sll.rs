//! Linux cooked captures, version 1, and the columns of both versions.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, mostly_plain, plain};
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader, NextTable};
use crate::{Address, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "sll",
    title: "Linux cooked capture",
    decode,
    on: &[On::Link(113)],
    fields: &[
        mostly_plain!(
            u16,
            "sll.pkttype",
            [
                Location::bits(Layer::Sll, Bits::be16(0)),
                Location::bits(Layer::Sll2, Bits::byte(10)),
            ],
            |p| Some(Cooked::of(p)?.packet_type),
            "Direction: 0 to us, 1 broadcast, 2 multicast, 3 to others, 4 from us",
            "LINKTYPE_LINUX_SLL",
        ),
        mostly_plain!(
            u16,
            "sll.hatype",
            [Location::bits(Layer::Sll, Bits::be16(2)), Location::bits(Layer::Sll2, Bits::be16(8))],
            |p| Some(Cooked::of(p)?.hardware),
            "ARPHRD_ number of the interface: 1 is Ethernet",
            "LINKTYPE_LINUX_SLL",
        ),
        mostly_plain!(
            u16,
            "sll.halen",
            [
                Location::bits(Layer::Sll, Bits::be16(4)),
                Location::bits(Layer::Sll2, Bits::byte(11)),
            ],
            |p| Some(Cooked::of(p)?.address_len),
            "Length of the sender's link-layer address in bytes",
            "LINKTYPE_LINUX_SLL",
        ),
        Field::address(
            "sll.src.eth",
            |p| Cooked::of(p)?.address(6),
            "The sender's MAC address",
            "LINKTYPE_LINUX_SLL",
        ),
        Field::address(
            "sll.src.ipv4",
            |p| Cooked::of(p)?.address(4),
            "The sender's address on links whose addresses are IPv4",
            "LINKTYPE_LINUX_SLL",
        ),
        mostly_plain!(
            u16,
            "sll.etype",
            [
                Location::bits(Layer::Sll, Bits::be16(14)),
                Location::bits(Layer::Sll2, Bits::be16(0)),
            ],
            |p| match Cooked::of(p)?.follows() {
                Follows::Ethertype(number) => Some(number),
                Follows::Linux(_) | Follows::Gre(_) => None,
            },
            "Ethertype of the payload",
            "LINKTYPE_LINUX_SLL",
        ),
        Field::u16(
            "sll.ltype",
            |p| match Cooked::of(p)?.follows() {
                Follows::Linux(number) => Some(number),
                Follows::Ethertype(_) | Follows::Gre(_) => None,
            },
            "Linux's own number of the payload where it has no ethertype: 4 is LLC",
            "LINKTYPE_LINUX_SLL",
        ),
        Field::u16(
            "sll.gretype",
            |p| match Cooked::of(p)?.follows() {
                Follows::Gre(number) => Some(number),
                Follows::Ethertype(_) | Follows::Linux(_) => None,
            },
            "Protocol number of the payload on GRE tunnels",
            "LINKTYPE_LINUX_SLL",
        ),
        plain!(
            u32,
            "sll.ifindex",
            [Location::bits(Layer::Sll2, Bits::be32(4))],
            "Linux's number of the interface (version 2 only)",
            "LINKTYPE_LINUX_SLL2",
        ),
    ],
};

/// An ethertype on any interface but one of GRE, whose numbers are columns of their own, or of the
/// kernel's messages.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(
    16,
    NextHeader::Number {
        bits: PROTOCOL_NUMBER,
        table: NextTable::Ethertype,
    },
)
.tests(&[
    BitsTest::new(PROTOCOL_NUMBER, HAS_ETHERTYPE),
    BitsTest::new(Bits::be16(2), OF_ETHERTYPES),
])];

const PROTOCOL_NUMBER: Bits = Bits::be16(14);

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(16)?;
    let hardware = input.u16_be(2)?;
    if hardware == HARDWARE_NETLINK {
        return Ok(Header::foreign(Next::Payload));
    }
    let next = follows(hardware, input.u16_be(14)?).next(hardware);
    Ok(Header::new(16, next))
}

/// The header of either version.
struct Cooked<'a> {
    packet_type: u16,
    hardware: u16,
    address_len: u16,
    address: &'a [u8],
    protocol: Option<u16>,
}

impl<'a> Cooked<'a> {
    fn of(packet: &Packet<'a>) -> Option<Self> {
        if let Some(bytes) = packet.bytes(Layer::Sll) {
            let number = |offset| weir_bytes::u16_be_at(bytes, offset);
            return Some(Self {
                packet_type: number(0)?,
                hardware: number(2)?,
                address_len: number(4)?,
                address: bytes.get(6..14)?,
                protocol: number(14),
            });
        }
        let bytes = packet.bytes(Layer::Sll2)?;
        let number = |offset| weir_bytes::u16_be_at(bytes, offset);
        Some(Self {
            packet_type: u16::from(*bytes.get(10)?),
            hardware: number(8)?,
            address_len: u16::from(*bytes.get(11)?),
            address: bytes.get(12..20)?,
            protocol: number(0),
        })
    }

    fn address(&self, len: usize) -> Option<Address> {
        if usize::from(self.address_len) != len {
            return None;
        }
        Address::from_bytes(self.address.get(..len)?)
    }

    fn follows(&self) -> Follows {
        follows(self.hardware, self.protocol.unwrap_or_default())
    }
}

/// The meaning of a protocol number, which depends on the interface's type.
#[derive(Clone, Copy)]
pub(super) enum Follows {
    Ethertype(u16),
    Linux(u16),
    Gre(u16),
}

pub(super) fn follows(hardware: u16, protocol: u16) -> Follows {
    if protocol <= LINUX_OWN_MAX {
        return Follows::Linux(protocol);
    }
    match hardware {
        HARDWARE_GRE => Follows::Gre(protocol),
        _ => Follows::Ethertype(protocol),
    }
}

impl Follows {
    /// The protocol of the payload on an interface of this type.
    pub(super) fn next(self, hardware: u16) -> Next {
        match (self, hardware) {
            (Self::Ethertype(number) | Self::Gre(number), _) => Next::Ethertype(number),
            (Self::Linux(_), HARDWARE_FRAME_RELAY) => Next::Layer(Layer::FrameRelay),
            (Self::Linux(_), HARDWARE_RADIOTAP) => Next::Layer(Layer::Radiotap),
            (Self::Linux(3), _) => Next::Layer(Layer::Ethernet),
            (Self::Linux(4), _) => Next::Layer(Layer::Llc),
            (Self::Linux(7), _) => Next::Layer(Layer::Ppp),
            (Self::Linux(_), _) => Next::Payload,
        }
    }
}

/// ARPHRD_FRAD.
const HARDWARE_FRAME_RELAY: u16 = 770;
/// ARPHRD_IEEE80211_RADIOTAP.
const HARDWARE_RADIOTAP: u16 = 803;
/// ARPHRD_NETLINK: messages of the kernel, whose header is laid out the same but is no cooked one.
pub(super) const HARDWARE_NETLINK: u16 = 824;
/// ARPHRD_IPGRE.
const HARDWARE_GRE: u16 = 778;
/// Numbers that are ethertypes, on interfaces of these kinds.
pub(super) const HAS_ETHERTYPE: &[(u64, u64)] = &[(LINUX_OWN_MAX as u64 + 1, u16::MAX as u64)];
pub(super) const OF_ETHERTYPES: &[(u64, u64)] = &[
    (0, HARDWARE_GRE as u64 - 1),
    (HARDWARE_GRE as u64 + 1, HARDWARE_NETLINK as u64 - 1),
    (HARDWARE_NETLINK as u64 + 1, u16::MAX as u64),
];
/// Linux's numbers below the first ethertype.
const LINUX_OWN_MAX: u16 = 0x0600;
