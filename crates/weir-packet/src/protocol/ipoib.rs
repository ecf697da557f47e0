//! IP over InfiniBand, with the 40 bytes of a global route header in front: where the packet had none,
//! the last 20 of them are the destination's address.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipoib",
    title: "IP over InfiniBand",
    decode,
    on: &[On::Link(242)],
    fields: &[
        Field::u8(
            "ipoib.grh.ipver",
            |p| Some((route(p)? >> 28) as u8),
            "Version in the global route header, 6",
            "InfiniBand Architecture Specification, 8.3",
        ),
        Field::u8(
            "ipoib.grh.tclass",
            |p| Some((route(p)? >> 20 & 0xff) as u8),
            "Traffic class in the global route header",
            "InfiniBand Architecture Specification, 8.3",
        ),
        Field::u32(
            "ipoib.grh.flowlabel",
            |p| Some(route(p)? & 0x000f_ffff),
            "Flow label in the global route header",
            "InfiniBand Architecture Specification, 8.3",
        ),
        Field::u32(
            "ipoib.grh.sqpn",
            |p| route(p).and(Some(p.u32_be(IPOIB, 4)? & QUEUE_PAIR)),
            "Queue pair of the source, where there is a global route header",
            "LINKTYPE_IPOIB",
        ),
        Field::address(
            "ipoib.grh.sgid",
            |p| route(p).and(p.address(IPOIB, 8, 16)),
            "Global identifier of the source, where there is a global route header",
            "InfiniBand Architecture Specification, 8.3",
        ),
        Field::u32(
            "ipoib.daddr.qpn",
            |p| match p.u32_be(IPOIB, 0)? {
                0 => Some(p.u32_be(IPOIB, 20)? & QUEUE_PAIR),
                _ => None,
            },
            "Queue pair of the destination, where there is no global route header",
            "RFC 4391, 9.1.1",
        ),
        Field::address(
            "ipoib.dgid",
            |p| p.address(IPOIB, 24, 16),
            "Global identifier of the destination",
            "RFC 4391, 9.1.1",
        ),
        Field::u16(
            "ipoib.type",
            |p| p.u16_be(IPOIB, 40),
            "Ethertype of the payload",
            "RFC 4391, 6",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    Ok(Header::new(HEADER_LEN, Next::Ethertype(input.u16_be(40)?)))
}

/// The first word of the global route header, which is 0 where there is none.
fn route(packet: &Packet<'_>) -> Option<u32> {
    packet.u32_be(IPOIB, 0).filter(|word| *word != 0)
}

const IPOIB: Layer = Layer::Ipoib;
const HEADER_LEN: usize = 44;
const QUEUE_PAIR: u32 = 0x00ff_ffff;
