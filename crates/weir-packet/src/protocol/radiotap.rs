//! Radiotap: what a wireless card tells of a frame, in front of the frame.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Frame, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "radiotap",
    title: "Radiotap",
    decode,
    on: &[On::Link(LINK_TYPE)],
    fields: &[
        plain!(
            u8,
            "radiotap.version",
            [Location::bits(Layer::Radiotap, Bits::byte(0))],
            "Version, 0",
            "radiotap.org",
        ),
        Field::u16(
            "radiotap.length",
            |p| weir_bytes::u16_le_at(p.bytes(Layer::Radiotap)?, 2),
            "Length of this header in bytes",
            "radiotap.org",
        ),
        Field::u64(
            "radiotap.mactime",
            |p| weir_bytes::u64_le_at(p.bytes(Layer::Radiotap)?, value(p, TIME)?),
            "Microseconds of the card's clock when the first bit came in",
            "radiotap.org, TSFT",
        ),
        Field::u8(
            "radiotap.flags",
            |p| p.u8(Layer::Radiotap, value(p, FLAGS)?),
            "Flags: 0x10 the frame ends with its FCS, 0x40 the FCS is wrong",
            "radiotap.org, Flags",
        ),
        Field::u16(
            "radiotap.channel.freq",
            |p| weir_bytes::u16_le_at(p.bytes(Layer::Radiotap)?, value(p, CHANNEL)?),
            "Frequency of the channel in MHz",
            "radiotap.org, Channel",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    let len = usize::from(input.u16_be(2)?.swap_bytes());
    if len < 8 {
        let value = u32::try_from(len).unwrap_or_default();
        return Err(Reason::Invalid {
            field: "radiotap.length",
            value,
        });
    }
    input.need(len)?;
    let header = Header::new(len, Next::Layer(Layer::Wlan));
    let has_check = find(input.bytes, FLAGS)
        .and_then(|offset| input.bytes.get(offset))
        .is_some_and(|flags| flags & CHECK_SEQUENCE != 0);
    Ok(if has_check {
        header.with_total(input.declared.saturating_sub(4).max(len))
    } else {
        header
    })
}

/// The flags of a frame of this link type.
pub(super) fn flags(frame: &Frame<'_>) -> Option<u8> {
    if frame.link_type.0 != LINK_TYPE {
        return None;
    }
    frame.data.get(find(frame.data, FLAGS)?).copied()
}

fn value(packet: &Packet<'_>, bit: u32) -> Option<usize> {
    let bytes = packet.bytes(Layer::Radiotap)?;
    // Later versions, if there ever are any, have another number.
    bytes.first().filter(|version| **version == 0)?;
    find(bytes, bit)
}

/// Offset of the value that `bit` of the first presence word announces, one of the first four.
/// Values stand in the order of their bits, each aligned to its size from the header's start.
fn find(bytes: &[u8], bit: u32) -> Option<usize> {
    let len = usize::from(weir_bytes::u16_le_at(bytes, 2)?);
    let present = weir_bytes::u32_le_at(bytes, 4)?;
    if present >> bit & 1 == 0 {
        return None;
    }
    let mut offset = 8_usize;
    let mut word = present;
    while word & MORE_WORDS != 0 && offset < len {
        word = weir_bytes::u32_le_at(bytes, offset)?;
        offset = offset.checked_add(4)?;
    }
    // Size of the values of time, flags, rate and channel, which are aligned as the second says.
    let sizes = [(8, 8), (1, 1), (1, 1), (4, 2)];
    for (index, (size, align)) in (0..).zip(sizes) {
        if present >> index & 1 == 0 {
            continue;
        }
        offset = offset.checked_next_multiple_of(align)?;
        if index == bit {
            return (offset.checked_add(size)? <= len).then_some(offset);
        }
        offset = offset.checked_add(size)?;
    }
    None
}

const LINK_TYPE: u32 = 127;
const TIME: u32 = 0;
const FLAGS: u32 = 1;
const CHANNEL: u32 = 3;
const MORE_WORDS: u32 = 1 << 31;
const CHECK_SEQUENCE: u8 = 0x10;
/// The 802.11 header is filled up to a multiple of four bytes.
pub(super) const DATA_PAD: u8 = 0x20;
