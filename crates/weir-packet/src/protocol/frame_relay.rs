//! Frame relay: Q.922 addresses, RFC 2427 and Cisco encapsulation.

use weir_bytes::Bits;

use super::llc::{self, Snap, UNNUMBERED_INFORMATION};
use super::{Header, Input, Layer, Next, On, Protocol, chdlc};
use crate::field::{Field, mostly_plain};
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader, NextTable};
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "fr",
    title: "Frame Relay",
    decode,
    on: &[
        On::Link(107),
        On::Link(WITH_DIRECTION),
        On::Ethertype(0x6559),
    ],
    fields: &[
        Field::u32(
            "fr.dlci",
            |p| Some(Address::of(p)?.dlci),
            "Data link connection identifier: 10, 16 or 23 bits",
            "ITU-T Q.922, 3.3.6",
        ),
        mostly_plain!(
            bool,
            "fr.cr",
            [Location::bits(Layer::FrameRelay, Bits::flag(0, 1))],
            |p| Some(first_octet(p)? & 0x02 != 0),
            "Command/response bit",
            "ITU-T Q.922, 3.3.3",
        ),
        mostly_plain!(
            bool,
            "fr.ea",
            [Location::bits(Layer::FrameRelay, Bits::flag(0, 0))],
            |p| Some(first_octet(p)? & 0x01 != 0),
            "Address extension bit of the first octet: false as more octets follow",
            "ITU-T Q.922, 3.3.2",
        ),
        mostly_plain!(
            bool,
            "fr.fecn",
            [Location::bits(Layer::FrameRelay, Bits::flag(1, 3))],
            |p| Some(second_octet(p)? & 0x08 != 0),
            "Forward explicit congestion notification",
            "ITU-T Q.922, 3.3.4",
        ),
        mostly_plain!(
            bool,
            "fr.becn",
            [Location::bits(Layer::FrameRelay, Bits::flag(1, 2))],
            |p| Some(second_octet(p)? & 0x04 != 0),
            "Backward explicit congestion notification",
            "ITU-T Q.922, 3.3.4",
        ),
        mostly_plain!(
            bool,
            "fr.de",
            [Location::bits(Layer::FrameRelay, Bits::flag(1, 1))],
            |p| Some(second_octet(p)? & 0x02 != 0),
            "Discard eligibility: the frame may be dropped first",
            "ITU-T Q.922, 3.3.5",
        ),
        mostly_plain!(
            u8,
            "fr.upper_dlci",
            [Location::bits(Layer::FrameRelay, Bits::byte(0).part(2, 6))],
            |p| Some(first_octet(p)? >> 2),
            "DLCI bits of the first octet",
            "ITU-T Q.922, 3.3.6",
        ),
        mostly_plain!(
            u8,
            "fr.second_dlci",
            [Location::bits(Layer::FrameRelay, Bits::byte(1).part(4, 4))],
            |p| Some(second_octet(p)? >> 4),
            "DLCI bits of the second octet",
            "ITU-T Q.922, 3.3.6",
        ),
        Field::u8(
            "fr.third_dlci",
            |p| {
                let address = Address::of(p)?;
                let octet = p.u8(Layer::FrameRelay, start(p).checked_add(2)?)?;
                (address.len > 3).then_some(octet >> 1)
            },
            "DLCI bits of the third octet of four",
            "ITU-T Q.922, 3.3.6",
        ),
        Field::u8(
            "fr.lower_dlci",
            |p| {
                last_octet(p)
                    .filter(|octet| octet & 0x02 == 0)
                    .map(|octet| octet >> 2)
            },
            "DLCI bits of the last octet of three or four",
            "ITU-T Q.922, 3.3.6",
        ),
        Field::u8(
            "fr.dlcore_control",
            |p| {
                last_octet(p)
                    .filter(|octet| octet & 0x02 != 0)
                    .map(|octet| octet >> 2)
            },
            "DL-CORE control bits in the place of the lower DLCI",
            "ITU-T Q.922, 3.3.7",
        ),
        Field::bool(
            "fr.dc",
            |p| Some(last_octet(p)? & 0x02 != 0),
            "The last octet of three or four holds DL-CORE control bits, not DLCI bits",
            "ITU-T Q.922, 3.3.7",
        ),
        mostly_plain!(
            u8,
            "fr.control",
            [Location::bits(Layer::FrameRelay, Bits::byte(2)).when(&[INFORMATION])],
            |p| match Frame::of(p)?.follows {
                Follows::Nlpid { control, .. } | Follows::Other { control } => Some(control),
                Follows::Cisco { .. } | Follows::Unknown { .. } => None,
            },
            "First octet of the control field: 3 for unnumbered information; NULL in Cisco encapsulation, which has none",
            "RFC 2427, 3; ITU-T Q.922, 3.4",
        ),
        mostly_plain!(
            u8,
            "fr.nlpid",
            [
                Location::bits(Layer::FrameRelay, Bits::byte(3)).when(&[INFORMATION, UNPADDED]),
                Location::bits(Layer::FrameRelay, Bits::byte(4)).when(&[INFORMATION]),
            ],
            |p| match Frame::of(p)?.follows {
                Follows::Nlpid { nlpid, .. } => nlpid,
                _ => None,
            },
            "Network layer protocol identifier, after the pad: 0xCC IPv4, 0x8E IPv6, 0x80 SNAP, 0x08 Q.933, 0xB1 FRF.12, 0xCF PPP",
            "RFC 2427, 3; ISO/IEC TR 9577",
        ),
        Field::u32(
            "fr.snap.oui",
            |p| Some(snap_of(p)?.organisation),
            "SNAP: organisation that defines the protocol number; 0 for ethertypes",
            "RFC 2427, 4",
        ),
        Field::u16(
            "fr.snaptype",
            |p| match Frame::of(p)?.follows {
                Follows::Nlpid { control, .. } => snap_of(p)?.ethertype(control),
                _ => None,
            },
            "SNAP: ethertype of the payload",
            "RFC 2427, 4",
        ),
        Field::u16(
            "fr.snap.pid",
            |p| snap_of(p)?.protocol_unless_known(),
            "SNAP: protocol number of an organisation; 7 with 0x0080C2 is a bridged Ethernet frame",
            "RFC 2427, 4.2",
        ),
        Field::u16(
            "fr.chdlctype",
            |p| match Frame::of(p)?.follows {
                Follows::Cisco { kind } => Some(kind),
                _ => None,
            },
            "Type directly after the address in Cisco encapsulation: an ethertype",
            "Cisco",
        ),
    ],
};

/// An address of two octets; behind it unnumbered information with an identifier or SNAP (RFC 2427, 3
/// and 4.1), perhaps behind a pad, or Cisco's encapsulation of IP.
pub(super) const SHAPES: &[HeaderShape] = &[
    identified(4).tests(&[
        GOES_ON,
        ENDS,
        INFORMATION,
        BitsTest::new(Bits::byte(3), NO_PAD),
    ]),
    identified(5).tests(&[
        GOES_ON,
        ENDS,
        INFORMATION,
        BitsTest::new(Bits::byte(3), &[(0, 0)]),
        BitsTest::new(Bits::byte(4), NO_SNAP),
    ]),
    ethertype(9).tests(&[
        GOES_ON,
        ENDS,
        INFORMATION,
        BitsTest::new(Bits::byte(3), &[(0x80, 0x80)]),
        BitsTest::new(Bits::be24(4), &[(0, 0)]),
    ]),
    ethertype(10).tests(&[
        GOES_ON,
        ENDS,
        INFORMATION,
        BitsTest::new(Bits::be16(3), &[(0x80, 0x80)]),
        BitsTest::new(Bits::be24(5), &[(0, 0)]),
    ]),
    ethertype(4).tests(&[
        GOES_ON,
        ENDS,
        // Link control on DLCI 0 may look like this too.
        BitsTest::new(Bits::be16(0), &[(0x0010, 0x01ff), (0x0210, 0xffff)]),
        BitsTest::new(Bits::be16(2), &[(0x0800, 0x0800), (0x86dd, 0x86dd)]),
    ]),
];

/// A header of `len` octets, the last of which is the identifier.
const fn identified(len: u32) -> HeaderShape {
    let bits = Bits::byte(len - 1);
    let table = NextTable::Nlpid;
    HeaderShape::fixed(len, NextHeader::Number { bits, table })
}

/// A header of `len` octets, the last two of which are an ethertype.
const fn ethertype(len: u32) -> HeaderShape {
    let bits = Bits::be16(len - 2);
    let table = NextTable::Ethertype;
    HeaderShape::fixed(len, NextHeader::Number { bits, table })
}

/// The address continues after its first octet, and ends with the second.
const GOES_ON: BitsTest = BitsTest::new(Bits::flag(0, 0), &[(0, 0)]);
const ENDS: BitsTest = BitsTest::new(Bits::flag(1, 0), &[(1, 1)]);
/// The control field behind an address of two octets.
const INFORMATION: BitsTest = BitsTest::new(Bits::byte(2), &[(3, 3)]);
const UNPADDED: BitsTest = BitsTest::new(Bits::byte(3), &[(1, 0xff)]);
const NO_PAD: &[(u64, u64)] = &[(1, 0x7f), (0x81, 0xff)];
const NO_SNAP: &[(u64, u64)] = &[(0, 0x7f), (0x81, 0xff)];

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let start = direction_len(input.frame.link_type.0);
    let Some(frame) = Frame::at(input.bytes, start) else {
        // The shortest frame that says what it carries.
        let address_len = Address::at(input.bytes, start).map_or(2, |address| address.len);
        input.need(start.saturating_add(address_len).saturating_add(2))?;
        return Ok(Header::new(input.bytes.len(), Next::Payload));
    };
    match frame.follows {
        Follows::Other { .. } => Ok(Header::new(frame.header_len, Next::Payload)),
        Follows::Cisco { kind } => Ok(Header::new(frame.header_len, chdlc::next(kind))),
        Follows::Unknown { ethernet: true } => {
            Ok(Header::new(frame.header_len, Next::Layer(Layer::Ethernet)))
        }
        Follows::Unknown { ethernet: false } => Ok(Header::new(frame.header_len, Next::Payload)),
        Follows::Nlpid { control, nlpid } => {
            let Some(nlpid) = nlpid else {
                return Err(input
                    .need(frame.header_len.saturating_add(1))
                    .err()
                    .unwrap_or(Reason::Invalid {
                        field: "fr.nlpid",
                        value: 0,
                    }));
            };
            if nlpid == SNAP {
                let (len, next) = llc::snap(input, frame.header_len, control, 0)?;
                return Ok(Header::new(frame.header_len.saturating_add(len), next));
            }
            Ok(Header::new(frame.header_len, Next::Nlpid(nlpid)))
        }
    }
}

/// The fields of a frame before its payload.
#[derive(Clone, Copy)]
struct Frame {
    /// Bytes in front of the payload, a SNAP header not counted.
    header_len: usize,
    follows: Follows,
}

/// The field after the address.
#[derive(Clone, Copy)]
enum Follows {
    /// A control field and an identifier (RFC 2427); no identifier when the frame is cut there.
    Nlpid { control: u8, nlpid: Option<u8> },
    /// Cisco's encapsulation.
    Cisco { kind: u16 },
    /// Link control: LAPF on DLCI 0, or XID.
    Other { control: u8 },
    /// None of these headers; perhaps an Ethernet frame without any header around it.
    Unknown { ethernet: bool },
}

impl Frame {
    fn of(packet: &Packet<'_>) -> Option<Self> {
        Self::at(packet.bytes(Layer::FrameRelay)?, start(packet))
    }

    fn at(bytes: &[u8], start: usize) -> Option<Self> {
        let address = Address::at(bytes, start)?;
        let offset = start.checked_add(address.len)?;
        let control = *bytes.get(offset)?;
        if control == UNNUMBERED_INFORMATION {
            return Self::with_control(bytes, offset);
        }
        if address.dlci == 0 || control == EXCHANGE_IDENTIFICATION {
            let (_, len) = llc::control(bytes, offset)?;
            let header_len = offset.checked_add(len)?;
            return Some(Self {
                header_len,
                follows: Follows::Other { control },
            });
        }
        let kind = weir_bytes::u16_be_at(bytes, offset)?;
        if chdlc::is_known(kind) {
            let header_len = offset.checked_add(2)?;
            return Some(Self {
                header_len,
                follows: Follows::Cisco { kind },
            });
        }
        // Numbered frames carry data too. The octets behind the control field have to be an identifier in use then, as
        // the field itself may hold anything.
        if Self::identifier(bytes, offset).is_some_and(is_known) {
            return Self::with_control(bytes, offset);
        }
        let kind = weir_bytes::u16_be_at(bytes, offset.checked_add(12)?);
        let ethernet =
            kind.is_some_and(|kind| kind <= 1500 || Next::Ethertype(kind).layer().is_some());
        Some(Self {
            header_len: offset,
            follows: Follows::Unknown { ethernet },
        })
    }

    /// The octet behind the control field at `offset`, behind a pad if there is one.
    fn identifier(bytes: &[u8], offset: usize) -> Option<u8> {
        let padded = bytes.get(offset) == Some(&PAD);
        let offset = offset.checked_add(usize::from(padded))?;
        let (_, len) = llc::control(bytes, offset)?;
        bytes.get(offset.checked_add(len)?).copied()
    }

    /// A control field at `offset`, a pad where the sender wanted one, and an identifier.
    fn with_control(bytes: &[u8], offset: usize) -> Option<Self> {
        let control = *bytes.get(offset)?;
        let (_, len) = llc::control(bytes, offset)?;
        let mut at = offset.checked_add(len)?;
        if bytes.get(at) == Some(&PAD) {
            at = at.checked_add(1)?;
        }
        let nlpid = bytes.get(at).copied();
        let header_len = at.checked_add(usize::from(nlpid.is_some()))?;
        Some(Self {
            header_len,
            follows: Follows::Nlpid { control, nlpid },
        })
    }
}

/// Whether an identifier is in use on frame relay: those of ISO, Q.933, LMI, SNAP, IPv6, compression, FRF.12, IPv4, PPP.
fn is_known(nlpid: u8) -> bool {
    matches!(
        nlpid,
        0 | 0x08 | 0x09 | 0x80..=0x83 | 0x8e | 0xb0 | 0xb1 | 0xcc | 0xcf
    )
}

/// A Q.922 address.
#[derive(Clone, Copy)]
struct Address {
    dlci: u32,
    /// The length in bytes.
    len: usize,
}

impl Address {
    fn of(packet: &Packet<'_>) -> Option<Self> {
        Self::at(packet.bytes(Layer::FrameRelay)?, start(packet))
    }

    /// Reads octets up to the one with the extension bit. Q.922 has 2 to 4; one alone is read as
    /// DLCI 0, and what stands between the third and the last of more is passed over.
    fn at(bytes: &[u8], start: usize) -> Option<Self> {
        let bytes = bytes.get(start..)?;
        let octet = |index: usize| bytes.get(index).copied();
        let first = octet(0)?;
        if first & EXTENSION != 0 {
            return Some(Self { dlci: 0, len: 1 });
        }
        let second = octet(1)?;
        let upper = u32::from(first >> 2) << 4 | u32::from(second >> 4);
        if second & EXTENSION != 0 {
            return Some(Self {
                dlci: upper,
                len: 2,
            });
        }
        let mut dlci = upper;
        let mut last = 2;
        let third = octet(2)?;
        if third & EXTENSION == 0 {
            dlci = dlci << 7 | u32::from(third >> 1);
            last = 3;
            while octet(last)? & EXTENSION == 0 {
                last += 1;
            }
        }
        let final_octet = octet(last)?;
        if final_octet & 0x02 == 0 {
            dlci = dlci << 6 | u32::from(final_octet >> 2);
        }
        Some(Self {
            dlci,
            len: last + 1,
        })
    }
}

/// The first octet of an address that has more than one.
fn first_octet(packet: &Packet<'_>) -> Option<u8> {
    let octet = packet.u8(Layer::FrameRelay, start(packet))?;
    (octet & EXTENSION == 0).then_some(octet)
}

/// Calls `each` with the extension bit of every octet of such an address until that gives false; gives false when it was stopped.
pub(super) fn each_extension(packet: &Packet<'_>, each: &mut dyn FnMut(u64) -> bool) -> bool {
    if first_octet(packet).is_none() {
        return true;
    }
    let start = start(packet);
    let len = Address::of(packet).map_or(1, |address| address.len);
    let places = start..start.saturating_add(len);
    let mut octets = places.map_while(|at| packet.u8(Layer::FrameRelay, at));
    octets.all(|octet| each((octet & EXTENSION).into()))
}

fn second_octet(packet: &Packet<'_>) -> Option<u8> {
    first_octet(packet)?;
    packet.u8(Layer::FrameRelay, start(packet).checked_add(1)?)
}

/// The last octet of an address of more than two.
fn last_octet(packet: &Packet<'_>) -> Option<u8> {
    let len = Address::of(packet)
        .map(|address| address.len)
        .filter(|len| *len > 2)?;
    packet.u8(
        Layer::FrameRelay,
        start(packet).checked_add(len)?.checked_sub(1)?,
    )
}

fn snap_of(packet: &Packet<'_>) -> Option<Snap> {
    let frame = Frame::of(packet)?;
    match frame.follows {
        Follows::Nlpid {
            nlpid: Some(SNAP), ..
        } => Snap::at(packet.bytes(Layer::FrameRelay)?, frame.header_len),
        _ => None,
    }
}

/// The offset of the address.
fn start(packet: &Packet<'_>) -> usize {
    direction_len(packet.frame().link_type.0)
}

/// Bytes of direction that the link type puts in front.
fn direction_len(link_type: u32) -> usize {
    usize::from(link_type == WITH_DIRECTION)
}

const WITH_DIRECTION: u32 = 206;
const EXTENSION: u8 = 0x01;
const EXCHANGE_IDENTIFICATION: u8 = 0xaf;
const PAD: u8 = 0;
const SNAP: u8 = 0x80;
