//! Multiprotocol Label Switching. Each label of a stack is one header.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "mpls",
    title: "Multiprotocol Label Switching",
    decode,
    on: &[
        On::Ethertype(0x8847),
        On::Ethertype(0x8848),
        On::Ppp(0x0281),
        On::Ppp(0x0283),
        On::IpProtocol(137),
        On::UdpPort(6635),
        On::Link(219),
    ],
    fields: &[
        plain!(
            u32,
            "mpls.label",
            [Location::bits(Layer::Mpls, Bits::be32(0).part(12, 20))],
            "Outermost label, 20 bits",
            "RFC 3032, 2.1",
        ),
        plain!(
            u8,
            "mpls.exp",
            [Location::bits(Layer::Mpls, Bits::byte(2).part(1, 3))],
            "Traffic class (formerly experimental bits) of the outermost label",
            "RFC 3032, 2.1; RFC 5462",
        ),
        plain!(
            u8,
            "mpls.bottom",
            [Location::bits(Layer::Mpls, Bits::flag(2, 0))],
            "1 when the outermost label is the only one",
            "RFC 3032, 2.1",
        ),
        plain!(
            u8,
            "mpls.ttl",
            [Location::bits(Layer::Mpls, Bits::byte(3))],
            "Time to live of the outermost label",
            "RFC 3032, 2.1",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let word = input.u32_be(0)?;
    let label = word >> 12;
    let next = if word & BOTTOM == 0 {
        Next::Layer(Layer::Mpls)
    } else if label == GENERIC_CHANNEL {
        Next::Layer(Layer::AssociatedChannel)
    } else {
        payload(input)
    };
    Ok(Header::new(LEN, next))
}

/// No header says what labels carry, so the first four bits must (RFC 4928, 2; RFC 4385, 3).
fn payload(input: &Input<'_>) -> Next {
    let bytes = input.bytes.get(LEN..).unwrap_or_default();
    let declared = input.declared.saturating_sub(LEN);
    let Some(first) = bytes.first() else {
        return Next::Payload;
    };
    // A MAC address may begin with 4 or 6 too, so that the length field has to fit.
    let fits = |len: Option<usize>| {
        len.is_some_and(|len| len <= declared && len >= declared.saturating_sub(PADDING_MAX))
    };
    let length_at = |offset| weir_bytes::u16_be_at(bytes, offset).map(usize::from);
    match first >> 4 {
        4 if fits(length_at(2)) || !ethernet(bytes, declared) => Next::Layer(Layer::Ipv4),
        6 if fits(length_at(4).map(|len| len.saturating_add(40))) || !ethernet(bytes, declared) => {
            Next::Layer(Layer::Ipv6)
        }
        4 | 6 => Next::Layer(Layer::Ethernet),
        1 => Next::Layer(Layer::AssociatedChannel),
        0 if ethernet(bytes, declared) => Next::Layer(Layer::Ethernet),
        0 => Next::Layer(Layer::PseudowireControl),
        _ => Next::Payload,
    }
}

/// Whether `bytes` can be an Ethernet frame without a control word before it.
fn ethernet(bytes: &[u8], declared: usize) -> bool {
    let Some(kind) = weir_bytes::u16_be_at(bytes, 12) else {
        return false;
    };
    // The source address must be that of one station.
    let one_station = weir_bytes::u8_at(bytes, 6).is_some_and(|first| first & 1 == 0);
    let known = if kind <= 1500 {
        let len = usize::from(kind);
        let rest = declared.saturating_sub(14);
        len >= 3 && len <= rest && (len == rest || declared == 60)
    } else {
        Next::Ethertype(kind).layer().is_some() || matches!(kind, 0x0806 | 0x88cc | 0x8809 | 0x9000)
    };
    one_station && known
}

const LEN: usize = 4;
const BOTTOM: u32 = 0x100;
/// Label 13 announces an associated channel (RFC 5586, 4).
const GENERIC_CHANNEL: u32 = 13;
/// A short IP packet drags the padding of a 60-byte Ethernet frame behind it.
const PADDING_MAX: usize = 46;
