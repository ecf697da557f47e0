//! Address Resolution Protocol, and reverse ARP in the same form.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Address, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "arp",
    title: "Address Resolution Protocol",
    decode,
    on: &[On::Ethertype(0x0806), On::Ethertype(0x8035)],
    fields: &[
        Field::u16("arp.hw.type", |p| p.u16_be(ARP, 0), "Type of hardware address, 1: Ethernet", "RFC 826; IANA ARP parameters"),
        Field::u16("arp.proto.type", |p| p.u16_be(ARP, 2), "Ethertype of the protocol address", "RFC 826"),
        Field::u8("arp.hw.size", |p| p.u8(ARP, 4), "Length of a hardware address in bytes", "RFC 826"),
        Field::u8("arp.proto.size", |p| p.u8(ARP, 5), "Length of a protocol address in bytes", "RFC 826"),
        Field::u16(
            "arp.opcode",
            |p| p.u16_be(ARP, 6),
            "1 request, 2 reply, 3 and 4 those of reverse ARP, 8 and 9 those of inverse ARP",
            "RFC 826; RFC 903; RFC 2390",
        ),
        Field::address("arp.src.hw_mac", |p| mac(p, Party::Source), "MAC address of the sender", "RFC 826"),
        Field::bytes(
            "arp.src.hw",
            |p| hardware(p, Party::Source).filter(|_| !is_mac(p)),
            "Hardware address of the sender, where it is no MAC address",
            "RFC 826",
        ),
        Field::address("arp.src.proto_ipv4", |p| ipv4(p, Party::Source), "IPv4 address of the sender", "RFC 826"),
        Field::bytes(
            "arp.src.proto",
            |p| protocol(p, Party::Source).filter(|_| !is_ipv4(p)),
            "Protocol address of the sender, where it is not IPv4",
            "RFC 826",
        ),
        Field::address("arp.dst.hw_mac", |p| mac(p, Party::Target), "MAC address of the target; zeros in a request", "RFC 826"),
        Field::bytes(
            "arp.dst.hw",
            |p| hardware(p, Party::Target).filter(|_| !is_mac(p)),
            "Hardware address of the target, where it is no MAC address",
            "RFC 826",
        ),
        Field::address("arp.dst.proto_ipv4", |p| ipv4(p, Party::Target), "IPv4 address of the target", "RFC 826"),
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

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    let len = 8 + 2 * (usize::from(input.u8(4)?) + usize::from(input.u8(5)?));
    input.need(len)?;
    Ok(Header::new(len, Next::Payload))
}

fn hardware<'a>(packet: &Packet<'a>, party: Party) -> Option<&'a [u8]> {
    address(packet, party, false)
}

fn protocol<'a>(packet: &Packet<'a>, party: Party) -> Option<&'a [u8]> {
    address(packet, party, true)
}

/// One of the four addresses: hardware and protocol address of the sender, then of the target.
fn address<'a>(packet: &Packet<'a>, party: Party, protocol: bool) -> Option<&'a [u8]> {
    let hardware_len = usize::from(packet.u8(ARP, 4)?);
    let protocol_len = usize::from(packet.u8(ARP, 5)?);
    let at = match party {
        Party::Source => 8,
        Party::Target => 8 + hardware_len + protocol_len,
    };
    let (at, len) = if protocol { (at + hardware_len, protocol_len) } else { (at, hardware_len) };
    packet.part(ARP, at, len).filter(|bytes| !bytes.is_empty())
}

fn mac(packet: &Packet<'_>, party: Party) -> Option<Address> {
    hardware(packet, party).filter(|_| is_mac(packet)).and_then(Address::from_bytes)
}

fn ipv4(packet: &Packet<'_>, party: Party) -> Option<Address> {
    protocol(packet, party).filter(|_| is_ipv4(packet)).and_then(Address::from_bytes)
}

/// Ethernet and the IEEE 802 networks.
fn is_mac(packet: &Packet<'_>) -> bool {
    packet.u8(ARP, 4) == Some(6) && matches!(packet.u16_be(ARP, 0), Some(1 | 6))
}

fn is_ipv4(packet: &Packet<'_>) -> bool {
    packet.u8(ARP, 5) == Some(4) && packet.u16_be(ARP, 2) == Some(0x0800)
}

const ARP: Layer = Layer::Arp;
