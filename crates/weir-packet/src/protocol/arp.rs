//! Address Resolution Protocol, and reverse ARP in the same form.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader};
use crate::{Address, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "arp",
    title: "Address Resolution Protocol",
    decode,
    on: &[On::Ethertype(0x0806), On::Ethertype(0x8035)],
    fields: &[
        plain!(
            u16,
            "arp.hw.type",
            [Location::bits(ARP, Bits::be16(0))],
            "Type of hardware address, 1: Ethernet",
            "RFC 826; IANA ARP parameters",
        ),
        plain!(
            u16,
            "arp.proto.type",
            [Location::bits(ARP, Bits::be16(2))],
            "Ethertype of the protocol address",
            "RFC 826",
        ),
        Field::u8(
            "arp.hw.size",
            |p| p.u8(ARP, 4).filter(|_| !is_atm(p)),
            "Length of a hardware address in bytes",
            "RFC 826",
        ),
        Field::u8(
            "arp.proto.size",
            |p| p.u8(ARP, 5).filter(|_| !is_atm(p)),
            "Length of a protocol address in bytes",
            "RFC 826",
        ),
        plain!(
            u16,
            "arp.opcode",
            [Location::bits(ARP, Bits::be16(6))],
            "Operation: 1 request, 2 reply, 3 and 4 reverse request and reply, 8 and 9 inverse request and reply",
            "RFC 826; RFC 903; RFC 2390",
        ),
        Field::address(
            "arp.src.hw_mac",
            |p| mac(p, Party::Source),
            "MAC address of the sender",
            "RFC 826",
        ),
        Field::bytes(
            "arp.src.hw",
            |p| hardware(p, Party::Source).filter(|_| !is_mac(p)),
            "Hardware address of the sender, where it is no MAC address",
            "RFC 826",
        ),
        Field::address(
            "arp.src.proto_ipv4",
            |p| ipv4(p, Party::Source),
            "IPv4 address of the sender",
            "RFC 826",
        ),
        Field::bytes(
            "arp.src.proto",
            |p| protocol(p, Party::Source).filter(|_| !is_ipv4(p)),
            "Protocol address of the sender, where it is not IPv4",
            "RFC 826",
        ),
        Field::address(
            "arp.dst.hw_mac",
            |p| mac(p, Party::Target),
            "MAC address of the target; zeros in a request",
            "RFC 826",
        ),
        Field::bytes(
            "arp.dst.hw",
            |p| hardware(p, Party::Target).filter(|_| !is_mac(p)),
            "Hardware address of the target, where it is no MAC address",
            "RFC 826",
        ),
        Field::address(
            "arp.dst.proto_ipv4",
            |p| ipv4(p, Party::Target),
            "IPv4 address of the target",
            "RFC 826",
        ),
        Field::bytes(
            "arp.dst.proto",
            |p| protocol(p, Party::Target).filter(|_| !is_ipv4(p)),
            "Protocol address of the target, where it is not IPv4",
            "RFC 826",
        ),
    ],
};

#[derive(Clone, Copy)]
enum Party {
    Source,
    Target,
}

/// Addresses of Ethernet and IPv4.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(28, NextHeader::Payload).tests(&[
    BitsTest::new(Bits::be16(0), &[(1, 1)]),
    BitsTest::new(Bits::be16(4), &[(0x0604, 0x0604)]),
])];

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    let mut len = HEADER_LEN;
    if input.u16_be(0)? == ATM {
        len = ATM_HEADER_LEN;
        for at in ATM_LENGTHS {
            len += usize::from(input.u8(at)? & ATM_LENGTH_MASK);
        }
    } else {
        len += 2 * (usize::from(input.u8(4)?) + usize::from(input.u8(5)?));
    }
    input.need(len)?;
    Ok(Header::new(len, Next::Payload))
}

fn hardware<'a>(packet: &Packet<'a>, party: Party) -> Option<&'a [u8]> {
    address(packet, party, false).filter(|_| !is_atm(packet))
}

fn protocol<'a>(packet: &Packet<'a>, party: Party) -> Option<&'a [u8]> {
    address(packet, party, true)
}

/// One of the addresses: hardware and protocol address of the sender, then of the target.
fn address<'a>(packet: &Packet<'a>, party: Party, protocol: bool) -> Option<&'a [u8]> {
    let is_atm = is_atm(packet);
    // The offsets of the lengths; ATM has two hardware addresses for each, with lengths of their own.
    let (mut at, lengths): (usize, &[usize]) = if is_atm {
        (ATM_HEADER_LEN, &ATM_LENGTHS)
    } else {
        (HEADER_LEN, &[4, 5, 4, 5])
    };
    let half = lengths.len() / 2;
    let wanted = if matches!(party, Party::Source) {
        0
    } else {
        half
    } + if protocol { half - 1 } else { 0 };
    for (index, length) in lengths.iter().enumerate() {
        let mask = if is_atm { ATM_LENGTH_MASK } else { 0xff };
        let len = usize::from(packet.u8(ARP, *length)? & mask);
        if index == wanted {
            return packet.part(ARP, at, len).filter(|bytes| !bytes.is_empty());
        }
        at = at.saturating_add(len);
    }
    None
}

fn mac(packet: &Packet<'_>, party: Party) -> Option<Address> {
    hardware(packet, party)
        .filter(|_| is_mac(packet))
        .and_then(Address::from_bytes)
}

fn ipv4(packet: &Packet<'_>, party: Party) -> Option<Address> {
    protocol(packet, party)
        .filter(|_| is_ipv4(packet))
        .and_then(Address::from_bytes)
}

/// Ethernet and the IEEE 802 networks.
fn is_mac(packet: &Packet<'_>) -> bool {
    packet.u8(ARP, 4) == Some(6) && matches!(packet.u16_be(ARP, 0), Some(1 | 6))
}

/// ATM has a form of its own (RFC 2225, 8.3).
fn is_atm(packet: &Packet<'_>) -> bool {
    packet.u16_be(ARP, 0) == Some(ATM)
}

fn is_ipv4(packet: &Packet<'_>) -> bool {
    let len = if is_atm(packet) { 8 } else { 5 };
    packet.u8(ARP, len) == Some(4) && packet.u16_be(ARP, 2) == Some(0x0800)
}

const ARP: Layer = Layer::Arp;
const HEADER_LEN: usize = 8;
const ATM: u16 = 19;
const ATM_HEADER_LEN: usize = 12;
/// Offsets of the lengths: number, subaddress and protocol address of the sender, then of the target.
const ATM_LENGTHS: [usize; 6] = [4, 5, 8, 9, 10, 11];
/// Bits 6 and 7 of a length say what sort of number it is.
const ATM_LENGTH_MASK: u8 = 0x3f;
