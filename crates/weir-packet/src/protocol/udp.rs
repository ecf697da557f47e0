//! User Datagram Protocol. UDP-Lite, which Wireshark shows under the same names, has its own file.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol, is_doubtful, leads_to_ip};
use crate::checksum::Transport;
use crate::field::{Field, mostly_plain, plain};
use crate::shape::{BitsTest, HeaderLen, HeaderShape, Location, NextHeader, PayloadEnd};
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "udp",
    title: "User Datagram Protocol",
    decode,
    on: &[On::IpProtocol(17)],
    fields: &[
        plain!(
            u16,
            "udp.srcport",
            [
                Location::bits(Layer::Udp, Bits::be16(0)),
                Location::bits(Layer::UdpLite, Bits::be16(0)),
            ],
            "Source port (UDP and UDP-Lite)",
            "RFC 768; RFC 3828, 3.1",
        ),
        plain!(
            u16,
            "udp.dstport",
            [
                Location::bits(Layer::Udp, Bits::be16(2)),
                Location::bits(Layer::UdpLite, Bits::be16(2)),
            ],
            "Destination port (UDP and UDP-Lite)",
            "RFC 768; RFC 3828, 3.1",
        ),
        mostly_plain!(
            u16,
            "udp.length",
            [Location::bits(Layer::Udp, LENGTH)],
            |p| match udp(p)? {
                Layer::Udp => p.u16_be(Layer::Udp, 4),
                // UDP-Lite has no such field; the length of the packet is the datagram's.
                lite => p
                    .u16_be(lite, 4)
                    .and(u16::try_from(p.declared_len(lite)?).ok()),
            },
            "Length of header and data in bytes",
            "RFC 768",
        ),
        mostly_plain!(
            u16,
            "udp.checksum",
            [Location::bits(Layer::Udp, Bits::be16(6))],
            |p| p.u16_be(body(p)?, 6),
            "Checksum as it was sent; 0 in UDP: none",
            "RFC 768",
        ),
        Field::bool(
            "udp.checksum_ok",
            checksum_ok,
            "The checksum is right; NULL when none was sent or it cannot be verified: a fragment, a quoted or a cut datagram",
            "RFC 768; RFC 8200, 8.1; RFC 3828, 3.1",
        ),
        Field::bytes(
            "udp.payload",
            |p| {
                let layer = body(p)?;
                let end = match layer {
                    Layer::Udp => usize::from(p.u16_be(layer, 4)?),
                    _ => 0,
                };
                let bytes = p.bytes(layer)?;
                let end = if end < HEADER_LEN {
                    bytes.len()
                } else {
                    end.min(bytes.len())
                };
                bytes
                    .get(HEADER_LEN..end)
                    .filter(|payload| !payload.is_empty())
            },
            "The captured data bytes; NULL when there are none",
            "RFC 768",
        ),
    ],
};

/// The shape of all headers except that of a jumbogram. A datagram without payload is not a tunnel.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape {
    len_min: 8,
    len: HeaderLen::Fixed,
    end: PayloadEnd::Field {
        bits: LENGTH,
        base: 0,
        zero_is_outer: false,
    },
    tests: &[],
    next: NextHeader::UdpPorts {
        source: Bits::be16(0),
        destination: Bits::be16(2),
    },
    no_next: &[BitsTest::new(LENGTH, &[(8, 8)])],
    enabled: None,
}];

const LENGTH: Bits = Bits::be16(4);

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    let len = usize::from(input.u16_be(4)?);
    if !is_valid(len, input.declared) {
        return Err(Reason::Invalid {
            field: "udp.length",
            value: u32::try_from(len).unwrap_or(u32::MAX),
        });
    }
    let total = if len == 0 { input.declared } else { len };
    let next = if total == HEADER_LEN {
        Next::Payload
    } else {
        by_ports(input)?
    };
    Ok(Header::new(HEADER_LEN, next).with_total(total))
}

/// The protocol of the payload by the ports at the start of a header, and by the content where they leave it open.
#[inline]
pub(super) fn by_ports(input: &Input<'_>) -> Result<Next, Reason> {
    let (source, destination) = (input.u16_be(0)?, input.u16_be(2)?);
    Ok(match is_doubtful(source, destination) {
        true => by_content(input, source, destination),
        false => Next::UdpPorts(source, destination),
    })
}

/// The tunnel of these ports if its content is sound, or data.
#[cold]
fn by_content(input: &Input<'_>, source: u16, destination: u16) -> Next {
    let next = Next::UdpPorts(source, destination);
    let inside = Input {
        bytes: input.bytes.get(HEADER_LEN..).unwrap_or_default(),
        declared: input.declared.saturating_sub(HEADER_LEN),
        ..*input
    };
    match next.layer() {
        Some(layer) if leads_to_ip(&inside, layer) => next,
        _ => Next::Payload,
    }
}

/// The outermost of UDP and UDP-Lite.
pub(crate) fn udp(packet: &Packet<'_>) -> Option<Layer> {
    packet.outermost(Layer::Udp, Layer::UdpLite)
}

/// The length of a jumbogram is 0 (RFC 2675, 4): the packet's end is the datagram's.
fn is_valid(len: usize, declared: usize) -> bool {
    len >= HEADER_LEN || (len == 0 && declared > usize::from(u16::MAX))
}

/// The layer, unless its length field says that it is shorter than its header.
fn body(packet: &Packet<'_>) -> Option<Layer> {
    let layer = udp(packet)?;
    if layer == Layer::Udp {
        let declared = packet.declared_len(layer)? as usize;
        let len = packet.u16_be(layer, 4).map(usize::from);
        return len
            .is_none_or(|len| is_valid(len, declared))
            .then_some(layer);
    }
    Some(layer)
}

fn checksum_ok(packet: &Packet<'_>) -> Option<bool> {
    let layer = udp(packet)?;
    let datagram = Transport::of(packet, layer)?;
    let bytes = datagram.bytes;
    let stated = usize::from(packet.u16_be(layer, 4)?);
    let sum = if layer == Layer::Udp {
        let len = if stated == 0 { bytes.len() } else { stated };
        if packet.u16_be(layer, 6)? == 0 && datagram.is_in_ipv4() {
            return None;
        }
        datagram.with_pseudo_header(17, len, bytes.get(..len)?)?
    } else {
        // The pseudo header of UDP-Lite has the length of the packet, the sum that of its coverage.
        let coverage = if stated == 0 { bytes.len() } else { stated };
        datagram.with_pseudo_header(136, bytes.len(), bytes.get(..coverage)?)?
    };
    Some(sum == 0)
}

const HEADER_LEN: usize = 8;
