//! ARCNET, as BSD and Linux capture it.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Frame, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "arcnet",
    title: "ARCNET",
    decode,
    on: &[On::Link(7), On::Link(LINUX)],
    fields: &[
        plain!(
            u8,
            "arcnet.src",
            [Location::bits(Layer::Arcnet, Bits::byte(0))],
            "Source station",
            "ATA 878.1",
        ),
        plain!(
            u8,
            "arcnet.dst",
            [Location::bits(Layer::Arcnet, Bits::byte(1))],
            "Destination station, 0 for all",
            "ATA 878.1",
        ),
        Field::u8(
            "arcnet.protid",
            |p| p.u8(Layer::Arcnet, protocol_offset(p.frame())),
            "Protocol of the payload: 212 IPv4 (RFC 1201), 240 IPv4 (RFC 1051)",
            "RFC 1201",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let offset = protocol_offset(input.frame);
    let protocol = input.u8(offset)?;
    let behind = offset + 1;
    // RFC 1051 has no more; RFC 1201 has a flag for split packets and a sequence number, behind
    // three bytes more in packets whose length falls into a gap of the hardware.
    let exception = input.bytes.get(behind) == Some(&0xff);
    let long = if exception { behind + 7 } else { behind + 3 };
    let (len, next) = match protocol {
        240 => (behind, Next::Layer(Layer::Ipv4)),
        241 => (behind, Next::Ethertype(0x0806)),
        212 => (long, Next::Layer(Layer::Ipv4)),
        213 => (long, Next::Ethertype(0x0806)),
        196 => (long, Next::Layer(Layer::Ipv6)),
        _ => (behind, Next::Payload),
    };
    input.need(len)?;
    Ok(Header::new(len, next))
}

/// Linux has two bytes in front of the protocol that say where the packet lay in the card.
fn protocol_offset(frame: &Frame<'_>) -> usize {
    if frame.link_type.0 == LINUX { 4 } else { 2 }
}

const LINUX: u32 = 129;
