//! FDDI. Captures have the bits of each address byte in the order of the fibre, reversed.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Address, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "fddi",
    title: "Fiber Distributed Data Interface",
    decode,
    on: &[On::Link(10)],
    fields: &[
        plain!(
            u8,
            "fddi.fc",
            [Location::bits(Layer::Fddi, Bits::byte(0))],
            "Frame control",
            "ISO 9314-2, 7.3.3",
        ),
        Field::address(
            "fddi.dst",
            |p| reversed(p, 1),
            "Destination MAC address",
            "ISO 9314-2, 7.3.4",
        ),
        Field::address(
            "fddi.src",
            |p| reversed(p, 7),
            "Source MAC address",
            "ISO 9314-2, 7.3.4",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(13)?;
    // Asynchronous LLC frames with long addresses.
    let next = match input.u8(0)? {
        0x50..=0x5f => Next::Layer(Layer::Llc),
        _ => Next::Payload,
    };
    Ok(Header::new(13, next))
}

fn reversed(packet: &Packet<'_>, offset: usize) -> Option<Address> {
    let bytes = packet
        .bytes(Layer::Fddi)?
        .get(offset..)?
        .first_chunk::<6>()?;
    Address::from_bytes(&bytes.map(u8::reverse_bits))
}
