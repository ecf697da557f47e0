//! Control and Provisioning of Wireless Access Points: the data channel, which carries frames in UDP,
//! and the columns of the transport header, which the control channel has too.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "capwap.data",
    title: "Control And Provisioning of Wireless Access Points, data",
    decode,
    on: &[On::UdpPort(5247)],
    fields: &[
        Field::u8(
            "capwap.preamble.version",
            |p| Some(p.u8(capwap(p)?, 0)? >> 4),
            "Version, 0",
            "RFC 5415, 4.1",
        ),
        Field::u8(
            "capwap.preamble.type",
            |p| Some(p.u8(capwap(p)?, 0)? & 15),
            "What follows: 0 this header, 1 DTLS",
            "RFC 5415, 4.1",
        ),
        Field::u8(
            "capwap.header.length",
            |p| Some((bits(p)? >> 19) as u8),
            "Length of the header in units of 4 bytes",
            "RFC 5415, 4.3",
        ),
        Field::u8(
            "capwap.header.rid",
            |p| Some((bits(p)? >> 14 & 31) as u8),
            "Radio of the access point, 0 to 31",
            "RFC 5415, 4.3",
        ),
        Field::u8(
            "capwap.header.wbid",
            |p| Some((bits(p)? >> 9 & 31) as u8),
            "Wireless binding: 1 is IEEE 802.11",
            "RFC 5415, 4.3",
        ),
        Field::u16(
            "capwap.header.flags",
            |p| Some((bits(p)? & 0x1ff) as u16),
            "The flags T, F, L, W, M and K, and three reserved bits",
            "RFC 5415, 4.3",
        ),
        Field::bool(
            "capwap.header.flags.t",
            |p| flag(p, NATIVE),
            "The payload is in the native format of the wireless network, else IEEE 802.3",
            "RFC 5415, 4.3",
        ),
        Field::bool(
            "capwap.header.flags.f",
            |p| flag(p, FRAGMENT),
            "The packet is a fragment",
            "RFC 5415, 4.3",
        ),
        Field::bool(
            "capwap.header.flags.l",
            |p| flag(p, 0x40),
            "The fragment is the last",
            "RFC 5415, 4.3",
        ),
        Field::bool(
            "capwap.header.flags.w",
            |p| flag(p, 0x20),
            "The header has wireless specific information",
            "RFC 5415, 4.3",
        ),
        Field::bool(
            "capwap.header.flags.m",
            |p| flag(p, RADIO_MAC),
            "The header has the radio's MAC address",
            "RFC 5415, 4.3",
        ),
        Field::bool(
            "capwap.header.flags.k",
            |p| flag(p, KEEP_ALIVE),
            "The packet keeps the data channel alive",
            "RFC 5415, 4.3",
        ),
        Field::u16(
            "capwap.header.fragment.id",
            |p| bits(p).and(p.u16_be(capwap(p)?, 4)),
            "Identifier of the packet of which this is a fragment",
            "RFC 5415, 4.3",
        ),
        Field::u16(
            "capwap.header.fragment.offset",
            |p| bits(p).and(Some(p.u16_be(capwap(p)?, 6)? >> 3)),
            "Offset of the fragment in units of 8 bytes",
            "RFC 5415, 4.3",
        ),
        Field::u8(
            "capwap.header.mac.length",
            mac_len,
            "Length of the radio's MAC address in bytes",
            "RFC 5415, 4.3",
        ),
        Field::address(
            "capwap.header.mac.eui48",
            |p| match mac_len(p)? {
                6 => p.address(capwap(p)?, MAC_AT + 1, 6),
                _ => None,
            },
            "MAC address of the radio, of 6 bytes",
            "RFC 5415, 4.3",
        ),
        Field::address(
            "capwap.header.mac.eui64",
            |p| match mac_len(p)? {
                8 => p.address(capwap(p)?, MAC_AT + 1, 8),
                _ => None,
            },
            "MAC address of the radio, of 8 bytes",
            "RFC 5415, 4.3",
        ),
        Field::u8(
            "capwap.header.wireless.length",
            |p| {
                flag(p, 0x20).filter(|is_there| *is_there)?;
                let mac_len = mac_len(p).map_or(0, |len| usize::from(len) + 1);
                p.u8(capwap(p)?, MAC_AT + mac_len.next_multiple_of(4))
            },
            "Length of the wireless specific information in bytes",
            "RFC 5415, 4.3",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let Some(len) = header_len(input)? else {
        return Ok(Header::new(PREAMBLE_LEN, Next::Payload));
    };
    let bits = input.u32_be(0)? & 0x00ff_ffff;
    let binding = bits >> 9 & 31;
    let next = if bits & KEEP_ALIVE != 0 || is_later_fragment(bits, input.u16_be(6)?) {
        Next::Payload
    } else if bits & NATIVE == 0 {
        Next::Layer(Layer::Ethernet)
    } else if binding == IEEE_802_11 {
        Next::Layer(Layer::WlanOfController)
    } else {
        Next::Payload
    };
    Ok(Header::new(len, next))
}

/// Length of the transport header; `None` where the preamble says that DTLS stands in its place.
pub(super) fn header_len(input: &Input<'_>) -> Result<Option<usize>, Reason> {
    if input.u8(0)? & 15 != 0 {
        input.need(PREAMBLE_LEN)?;
        return Ok(None);
    }
    input.need(HEADER_LEN_MIN)?;
    let len = usize::from(input.u8(1)? >> 3) * 4;
    if len < HEADER_LEN_MIN {
        return Err(Reason::Invalid {
            field: "capwap.header.length",
            value: u32::from(input.u8(1)? >> 3),
        });
    }
    input.need(len)?;
    Ok(Some(len))
}

/// Whether the flags and the fragment's offset are those of a later fragment.
pub(super) const fn is_later_fragment(bits: u32, offset: u16) -> bool {
    bits & FRAGMENT != 0 && offset >> 3 != 0
}

/// The outermost header of either channel.
fn capwap(packet: &Packet<'_>) -> Option<Layer> {
    packet.outermost(Layer::Capwap, Layer::CapwapControl)
}

/// The three bytes behind the preamble's first, of headers that are no DTLS.
pub(super) fn bits_of(packet: &Packet<'_>, layer: Layer) -> Option<u32> {
    let word = packet.u32_be(layer, 0)?;
    (word >> 24 & 15 == 0).then_some(word & 0x00ff_ffff)
}

fn bits(packet: &Packet<'_>) -> Option<u32> {
    bits_of(packet, capwap(packet)?)
}

fn flag(packet: &Packet<'_>, mask: u32) -> Option<bool> {
    Some(bits(packet)? & mask != 0)
}

fn mac_len(packet: &Packet<'_>) -> Option<u8> {
    flag(packet, RADIO_MAC).filter(|is_there| *is_there)?;
    packet.u8(capwap(packet)?, MAC_AT)
}

const PREAMBLE_LEN: usize = 4;
const HEADER_LEN_MIN: usize = 8;
/// Offset of the length of the radio's MAC address.
const MAC_AT: usize = 8;
/// T: the lowest bit of octet 2, counted from 0; the other flags are in octet 3.
const NATIVE: u32 = 0x100;
const FRAGMENT: u32 = 0x80;
const RADIO_MAC: u32 = 0x10;
const KEEP_ALIVE: u32 = 0x08;
const IEEE_802_11: u32 = 1;
