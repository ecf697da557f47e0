//! Internet Protocol version 4.

use weir_bytes::{Bits, u8_at, u16_be_at};

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, mostly_plain, plain};
use crate::shape::{BitsTest, HeaderLen, HeaderShape, Location, NextHeader, NextTable, PayloadEnd};
use crate::{Address, Packet, Reason, checksum};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ip",
    title: "Internet Protocol version 4",
    decode,
    on: &[
        On::Ethertype(0x0800),
        On::Link(228),
        On::ErfType(22),
        On::IpProtocol(4),
        On::LlcSap(0x06),
        On::Nlpid(0xcc),
        On::Ppp(0x0021),
    ],
    fields: &[
        plain!(
            u8,
            "ip.version",
            [Location::bits(IP, VERSION), Location::bits(Layer::Ipv6, VERSION)],
            "Version of the outermost IP header, 4 or 6",
            "RFC 791, 3.1; RFC 8200, 3",
        ),
        Field::u8(
            "ip.hdr_len",
            |p| Some(u8::try_from(header_len(p)?).unwrap_or(u8::MAX)),
            "Length of the header with its options in bytes, 20 to 60",
            "RFC 791, 3.1",
        ),
        plain!(
            u8,
            "ip.dsfield",
            [Location::bits(IP, Bits::byte(1)).when(VALID)],
            "Differentiated services field",
            "RFC 2474, 3",
        ),
        plain!(
            u8,
            "ip.dsfield.dscp",
            [Location::bits(IP, Bits::byte(1).part(2, 6)).when(VALID)],
            "Differentiated services codepoint, 0 to 63",
            "RFC 2474, 3",
        ),
        plain!(
            u8,
            "ip.dsfield.ecn",
            [Location::bits(IP, Bits::byte(1).part(0, 2)).when(VALID)],
            "Explicit congestion notification: 0 not capable, 1 and 2 capable, 3 congestion experienced",
            "RFC 3168, 5",
        ),
        mostly_plain!(
            u32,
            "ip.len",
            [Location::bits(IP, TOTAL_LEN)],
            |p| match p.u16_be(valid(p)?, 2)? {
                // Segmentation offload: the adapter would have filled it in.
                0 => p.declared_len(IP),
                len => Some(u32::from(len)),
            },
            "Length of header and payload in bytes; that of the frame's payload where the header has 0",
            "RFC 791, 3.1",
        )
        .or_wider(),
        plain!(
            u16,
            "ip.id",
            [Location::bits(IP, IDENTIFICATION).when(VALID)],
            "Identification, the same in all fragments of a datagram",
            "RFC 6864",
        ),
        plain!(
            u8,
            "ip.flags",
            [Location::bits(IP, Bits::byte(6).part(5, 3)).when(VALID)],
            "Flags: 4 reserved, 2 don't fragment, 1 more fragments",
            "RFC 791, 3.1",
        ),
        plain!(
            bool,
            "ip.flags.rb",
            [Location::bits(IP, Bits::flag(6, 7)).when(VALID)],
            "Reserved bit",
            "RFC 791, 3.1",
        ),
        plain!(
            bool,
            "ip.flags.df",
            [Location::bits(IP, Bits::flag(6, 6)).when(VALID)],
            "Don't fragment",
            "RFC 791, 3.1",
        ),
        plain!(
            bool,
            "ip.flags.mf",
            [Location::bits(IP, MORE_FRAGMENTS).when(VALID)],
            "More fragments follow",
            "RFC 791, 3.1",
        ),
        plain!(
            u16,
            "ip.frag_offset",
            [Location::bits(IP, FRAGMENT_OFFSET).when(VALID)],
            "Offset of the fragment in its datagram in units of 8 bytes, as Wireshark shows it; 0 in the first",
            "RFC 791, 3.1",
        ),
        plain!(
            u8,
            "ip.ttl",
            [Location::bits(IP, TIME_TO_LIVE).when(VALID)],
            "Time to live: hops left",
            "RFC 791, 3.1",
        ),
        plain!(
            u8,
            "ip.proto",
            [Location::bits(IP, PROTOCOL_NUMBER).when(VALID)],
            "Protocol number of the payload",
            "RFC 791, 3.1; IANA protocol numbers",
        ),
        plain!(
            u16,
            "ip.checksum",
            [Location::bits(IP, Bits::be16(10)).when(VALID)],
            "Checksum of the header as it was sent",
            "RFC 791, 3.1",
        ),
        Field::bool(
            "ip.checksum_ok",
            |p| Some(checksum::of(&[p.part(valid(p)?, 0, header_len(p)?)?]) == 0),
            "The header's checksum is right; NULL when the header was cut",
            "RFC 1071",
        ),
        plain!(
            address,
            "ip.src",
            [Location::bytes(IP, 12, 4).when(VALID)],
            "Source address",
            "RFC 791, 3.1",
        ),
        plain!(
            address,
            "ip.dst",
            [Location::bytes(IP, 16, 4).when(VALID)],
            "Destination address",
            "RFC 791, 3.1",
        ),
        Field::u8(
            "ip.opt.type",
            |p| u8_at(option(p, |_| true)?, 0),
            "Type of the first option",
            "RFC 791, 3.1",
        ),
        Field::bool(
            "ip.opt.type.copy",
            |p| Some(u8_at(option(p, |_| true)?, 0)? & 0x80 != 0),
            "The first option is copied into every fragment",
            "RFC 791, 3.1",
        ),
        Field::u8(
            "ip.opt.type.class",
            |p| Some(u8_at(option(p, |_| true)?, 0)? >> 5 & 3),
            "Class of the first option: 0 control, 2 debugging and measurement",
            "RFC 791, 3.1",
        ),
        Field::u8(
            "ip.opt.type.number",
            |p| Some(u8_at(option(p, |_| true)?, 0)? & 0x1f),
            "Number of the first option within its class",
            "RFC 791, 3.1",
        ),
        Field::u8(
            "ip.opt.len",
            |p| u8_at(option(p, |kind| kind > NO_OPERATION)?, 1),
            "Length of the first option that has one, in bytes with type and length",
            "RFC 791, 3.1",
        ),
        Field::u8(
            "ip.opt.ptr",
            |p| {
                u8_at(
                    option(p, |kind| {
                        matches!(kind, RECORD_ROUTE | TIME_STAMP | LOOSE_ROUTE | STRICT_ROUTE)
                    })?,
                    2,
                )
            },
            "Pointer into the first route or time stamp option, from 1 at its type",
            "RFC 791, 3.1",
        ),
        Field::u16(
            "ip.opt.ra",
            |p| u16_be_at(option(p, |kind| kind == ROUTER_ALERT)?, 2),
            "Value of the router alert option; 0: every router is to look at the packet",
            "RFC 2113, 2.1",
        ),
    ],
};

/// Any header whose total length is not left to the adapter, with or without options. Behind a later
/// fragment's there is no header.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape {
    len_min: 20,
    len: HeaderLen::Field {
        bits: HEADER_WORDS,
        unit: 4,
        base: 0,
    },
    end: PayloadEnd::Field {
        bits: TOTAL_LEN,
        base: 0,
        zero_is_outer: false,
    },
    tests: VALID,
    next: NextHeader::Number {
        bits: PROTOCOL_NUMBER,
        table: NextTable::IpProtocol,
    },
    no_next: &[BitsTest::new(FRAGMENT_OFFSET, &[(1, 0x1fff)])],
    enabled: None,
}];

/// The tests of an IPv4 header: without them its fields have no meaning.
const VALID: &[BitsTest] = &[
    BitsTest::new(VERSION, &[(4, 4)]),
    BitsTest::new(HEADER_WORDS, &[(5, 15)]),
];
const VERSION: Bits = Bits::byte(0).part(4, 4);
const HEADER_WORDS: Bits = Bits::byte(0).part(0, 4);
const TOTAL_LEN: Bits = Bits::be16(2);
const IDENTIFICATION: Bits = Bits::be16(4);
const FRAGMENT_OFFSET: Bits = Bits::be16(6).part(0, 13);
const MORE_FRAGMENTS: Bits = Bits::flag(6, 5);
const TIME_TO_LIVE: Bits = Bits::byte(8);
const PROTOCOL_NUMBER: Bits = Bits::byte(9);

/// A header of IPv4, read field by field; `None` where it is cut in front of one.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4Header<'a>(&'a [u8]);

impl<'a> Ipv4Header<'a> {
    /// The header at the start of `bytes`.
    #[inline]
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The length in bytes, options included.
    #[inline]
    #[must_use]
    pub fn header_len(&self) -> Option<usize> {
        HEADER_WORDS.read(self.0).map(|words| words as usize * 4)
    }

    /// Length of header and payload in bytes as the header says; 0 where segmentation offload left it out.
    #[inline]
    #[must_use]
    pub fn total_len(&self) -> Option<u16> {
        TOTAL_LEN.read(self.0).map(|len| len as u16)
    }

    /// The same in all fragments of a datagram.
    #[inline]
    #[must_use]
    pub fn identification(&self) -> Option<u16> {
        IDENTIFICATION.read(self.0).map(|value| value as u16)
    }

    /// Number of the payload's protocol.
    #[inline]
    #[must_use]
    pub fn protocol(&self) -> Option<u8> {
        PROTOCOL_NUMBER.read(self.0).map(|number| number as u8)
    }

    /// Hops left.
    #[inline]
    #[must_use]
    pub fn time_to_live(&self) -> Option<u8> {
        TIME_TO_LIVE.read(self.0).map(|hops| hops as u8)
    }

    /// Source and destination, four bytes each.
    #[inline]
    #[must_use]
    pub fn addresses(&self) -> Option<&'a [u8]> {
        self.0.get(12..20)
    }

    /// Offset of the payload in the datagram's in bytes; 0 in the first fragment, and in a datagram that
    /// is whole.
    #[inline]
    #[must_use]
    pub fn fragment_offset(&self) -> Option<u32> {
        FRAGMENT_OFFSET.read(self.0).map(|units| units as u32 * 8)
    }

    /// More fragments follow.
    #[inline]
    #[must_use]
    pub fn more_fragments(&self) -> Option<bool> {
        MORE_FRAGMENTS.read(self.0).map(|flag| flag != 0)
    }

    /// Whether the packet is a fragment.
    #[inline]
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        self.is_later_fragment() || self.more_fragments() == Some(true)
    }

    /// Whether the packet is a later fragment, without the header of its transport.
    #[inline]
    #[must_use]
    pub fn is_later_fragment(&self) -> bool {
        self.fragment_offset().is_some_and(|offset| offset != 0)
    }

    /// The bits of the fragment offset, in units of eight bytes.
    #[must_use]
    pub const fn fragment_offset_bits() -> Bits {
        FRAGMENT_OFFSET
    }
}

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let first = input.u8(0)?;
    if first >> 4 != 4 {
        if first >> 4 == 6 {
            // Some senders put IPv6 behind the number of IPv4.
            return Ok(Header::foreign(Next::Layer(Layer::Ipv6)));
        }
        return Err(Reason::Invalid {
            field: "ip.version",
            value: u32::from(first >> 4),
        });
    }
    let len = usize::from(first & 15) * 4;
    if len < HEADER_LEN_MIN {
        return Err(Reason::Invalid {
            field: "ip.hdr_len",
            value: u32::from(first & 15) * 4,
        });
    }
    input.need(len)?;
    let protocol = input.u8(9)?;
    let next = if Ipv4Header::new(input.bytes).is_later_fragment() {
        Next::IpFragment(protocol)
    } else {
        Next::IpProtocol(protocol)
    };
    let header = Header::new(len, next);
    match usize::from(input.u16_be(2)?) {
        // Segmentation offload leaves the total length 0: the frame's end is the packet's.
        0 => Ok(header),
        total if total < len => Err(Reason::Invalid {
            field: "ip.len",
            value: u32::try_from(total).unwrap_or(u32::MAX),
        }),
        total => Ok(header.with_total(total)),
    }
}

/// The layer, unless the first byte says that this is no header of IPv4: then the fields behind it
/// have no meaning.
#[inline]
fn valid(packet: &Packet<'_>) -> Option<Layer> {
    let first = packet.u8(IP, 0)?;
    (first >> 4 == 4 && first & 15 >= 5).then_some(IP)
}

fn header_len(packet: &Packet<'_>) -> Option<usize> {
    let first = packet.u8(IP, 0)?;
    (first >> 4 == 4).then(|| usize::from(first & 15) * 4)
}

/// The first option whose type is assigned and that `wanted` accepts, from its type byte on.
fn option<'a>(packet: &Packet<'a>, mut wanted: impl FnMut(u8) -> bool) -> Option<&'a [u8]> {
    each_known(packet, |kind, _| wanted(kind))
}

/// The values of [`option`], with the option's bytes.
fn each_known<'a>(
    packet: &Packet<'a>,
    mut wanted: impl FnMut(u8, &'a [u8]) -> bool,
) -> Option<&'a [u8]> {
    let bytes = packet.bytes(IP)?;
    let end = header_len(packet)?.min(bytes.len());
    let mut rest = bytes.get(HEADER_LEN_MIN..end)?;
    loop {
        let kind = *rest.first()?;
        let len = match kind {
            END_OF_OPTIONS | NO_OPERATION => 1,
            _ => usize::from(u8_at(rest, 1).unwrap_or(0)).max(2),
        };
        let option = rest.get(..len.min(rest.len()))?;
        if KNOWN_OPTIONS.contains(&kind) && wanted(kind, option) {
            return Some(option);
        }
        if kind == END_OF_OPTIONS {
            return None;
        }
        rest = rest.get(len..)?;
    }
}

/// Calls `each` with what `get` has of every option until that gives false; gives false when it was stopped.
pub(super) fn each_option(
    packet: &Packet<'_>,
    get: fn(&[u8]) -> Option<u8>,
    each: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let stopped = each_known(packet, |_, option| {
        get(option).is_some_and(|number| !each(number.into()))
    });
    stopped.is_none()
}

/// The length of an option that states one.
pub(super) fn option_len(option: &[u8]) -> Option<u8> {
    u8_at(option, 0).filter(|kind| *kind > NO_OPERATION)?;
    u8_at(option, 1)
}

impl Packet<'_> {
    /// The address of `len` bytes at `offset` of the outermost header of `layer`; `len` is 4 for
    /// IPv4, 6 for MAC-48, 8 for EUI-64 and 16 for IPv6.
    #[inline]
    #[must_use]
    pub fn address(&self, layer: Layer, offset: usize, len: usize) -> Option<Address> {
        Address::from_bytes(self.part(layer, offset, len)?)
    }
}

const IP: Layer = Layer::Ipv4;
const HEADER_LEN_MIN: usize = 20;
/// Types of options that a standard gives a meaning (IANA IP parameters); noise has others.
const KNOWN_OPTIONS: &[u8] = &[
    END_OF_OPTIONS,
    NO_OPERATION,
    RECORD_ROUTE,
    11, // MTU probe, RFC 1191
    12, // MTU reply
    25, // quick start, RFC 4782
    TIME_STAMP,
    82,  // traceroute, RFC 1393
    130, // security, RFC 1108
    LOOSE_ROUTE,
    133, // extended security
    134, // commercial security
    136, // stream identifier
    STRICT_ROUTE,
    ROUTER_ALERT,
    149, // selective directed broadcast, RFC 6814
];
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const RECORD_ROUTE: u8 = 7;
const TIME_STAMP: u8 = 68;
const LOOSE_ROUTE: u8 = 131;
const STRICT_ROUTE: u8 = 137;
const ROUTER_ALERT: u8 = 148;
