//! IEEE 802.1AE MAC security: the tag, and the payload where it is not encrypted.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "macsec",
    title: "IEEE 802.1AE MAC security",
    decode,
    on: &[On::Ethertype(0x88e5)],
    fields: &[
        plain!(
            u8,
            "macsec.an",
            [Location::bits(Layer::Macsec, Bits::byte(0).part(0, 2))],
            "Association number, 0 to 3",
            "IEEE 802.1AE, 9.6",
        ),
        plain!(
            u32,
            "macsec.pn",
            [Location::bits(Layer::Macsec, Bits::be32(2))],
            "Packet number",
            "IEEE 802.1AE, 9.8",
        ),
        Field::u16(
            "macsec.etype",
            |p| {
                let tag = *p.bytes(Layer::Macsec)?.first()?;
                p.u16_be(Layer::Macsec, tag_len(tag))
                    .filter(|_| !is_encrypted(tag))
            },
            "Ethertype of a payload that is not encrypted",
            "IEEE 802.1AE, 9.3",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let tag = input.u8(0)?;
    let len = tag_len(tag);
    input.need(len)?;
    if is_encrypted(tag) {
        return Ok(Header::new(len, Next::Payload));
    }
    let header = Header::new(len + 2, Next::Ethertype(input.u16_be(len)?));
    // An integrity check value ends the frame.
    let total = input.declared.saturating_sub(CHECK_LEN).max(len + 2);
    Ok(header.with_total(total))
}

fn tag_len(tag: u8) -> usize {
    if tag & EXPLICIT_CHANNEL == 0 { 6 } else { 14 }
}

/// Encrypted, or changed by compression.
fn is_encrypted(tag: u8) -> bool {
    tag & 0x0c != 0
}

/// The channel's identifier of eight bytes is there.
const EXPLICIT_CHANNEL: u8 = 0x20;
const CHECK_LEN: usize = 16;
