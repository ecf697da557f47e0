//! Ethernet II and IEEE 802.3.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol, fabric_path, isl};
use crate::Reason;
use crate::field::plain;
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader, NextTable};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "eth",
    title: "Ethernet",
    decode,
    on: &[
        On::Link(1),
        On::Ethertype(0x6558),
        On::IpProtocol(143),
        On::ErfType(2),
        On::ErfType(11),
        On::ErfType(16),
        On::ErfType(20),
    ],
    fields: &[
        plain!(
            address,
            "eth.dst",
            [Location::bytes(Layer::Ethernet, 0, 6)],
            "Destination MAC address",
            "IEEE 802.3, 3.2.4",
        ),
        plain!(
            address,
            "eth.src",
            [Location::bytes(Layer::Ethernet, 6, 6)],
            "Source MAC address",
            "IEEE 802.3, 3.2.5",
        ),
        plain!(
            u16,
            "eth.type",
            [
                Location::bits(Layer::Ethernet, ETHERTYPE)
                    .when(&[
                        BitsTest::new(
                            ETHERTYPE,
                            &[(0, 0), (ETHERTYPE_MIN as u64, u16::MAX as u64)],
                        ),
                    ]),
            ],
            "Ethertype of the payload; NULL in 802.3 frames, which hold a length there",
            "IEEE 802.3, 3.2.6",
        ),
        plain!(
            u16,
            "eth.len",
            [
                Location::bits(Layer::Ethernet, ETHERTYPE)
                    .when(&[BitsTest::new(ETHERTYPE, &[(1, LENGTH_MAX as u64)])]),
            ],
            "Length of the payload in bytes in 802.3 frames; NULL in Ethernet II frames",
            "IEEE 802.3, 3.2.6",
        ),
    ],
};

/// Ethernet II. A frame with a length in the place of the type has link control behind it.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape::fixed(
    14,
    NextHeader::Number {
        bits: ETHERTYPE,
        table: NextTable::Ethertype,
    },
)
.tests(&[
    // FabricPath makes the addresses something else, and so it does behind a tag.
    BitsTest::new(
        ETHERTYPE,
        &[
            (ETHERTYPE_MIN as u64, FABRIC_PATH - 1),
            (FABRIC_PATH + 1, u16::MAX as u64),
        ],
    ),
    BitsTest::new(
        Bits::be16(16),
        &[(0, FABRIC_PATH - 1), (FABRIC_PATH + 1, u16::MAX as u64)],
    )
    .or_cut(),
])];

const FABRIC_PATH: u64 = fabric_path::ETHERTYPE as u64;

const ETHERTYPE: Bits = Bits::be16(12);

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    let header = length_or_type(input, 12);
    // Ethertypes come first, as hardly any other frame has to be looked at again.
    match header.next {
        Next::Layer(Layer::Llc) if isl::is_isl(input.bytes) => {
            Ok(Header::foreign(Next::Layer(Layer::Isl)))
        }
        Next::Ethertype(fabric_path::ETHERTYPE | 0x8100 | 0x88a8)
            if fabric_path::tag_at(input.bytes).is_some() =>
        {
            Ok(Header::foreign(Next::Layer(Layer::FabricPath)))
        }
        _ => Ok(header),
    }
}

/// The payload of a length or type field at `offset`: that of an ethertype, or as many bytes of LLC as the length declares.
#[inline]
pub(super) fn length_or_type(input: &Input<'_>, offset: usize) -> Header {
    let len = offset.saturating_add(2);
    let kind = weir_bytes::u16_be_at(input.bytes, offset).unwrap_or_default();
    if kind >= ETHERTYPE_MIN {
        return Header::new(len, Next::Ethertype(kind));
    }
    if kind > LENGTH_MAX || kind == 0 {
        return Header::new(len, Next::Payload);
    }
    // Novell's raw 802.3 puts IPX, which starts with FF FF, where LLC belongs.
    let next = match weir_bytes::u16_be_at(input.bytes, len) {
        Some(0xffff) => Next::Payload,
        _ => Next::Layer(Layer::Llc),
    };
    Header::new(len, next).with_total(len.saturating_add(usize::from(kind)))
}

const HEADER_LEN: usize = 14;
/// The field is a length up to this value (IEEE 802.3, 3.2.6); the few values in between are undefined.
pub(super) const LENGTH_MAX: u16 = 1500;
/// The field is a type from this value on (IEEE 802.3, 3.2.6).
pub(super) const ETHERTYPE_MIN: u16 = 0x0600;
