//! Per-packet information: values in front of a frame of another link type.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ppi",
    title: "Per-Packet Information",
    decode,
    on: &[On::Link(192)],
    fields: &[
        Field::u16(
            "ppi.length",
            |p| weir_bytes::u16_le_at(p.bytes(Layer::Ppi)?, 2),
            "Length of this header in bytes",
            "CACE PPI, 3.1",
        ),
        Field::u32(
            "ppi.dlt",
            |p| weir_bytes::u32_le_at(p.bytes(Layer::Ppi)?, 4),
            "Link type of the frame after it",
            "CACE PPI, 3.1",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    let len = usize::from(input.u16_be(2)?.swap_bytes());
    if len < 8 {
        let value = u32::try_from(len).unwrap_or_default();
        return Err(Reason::Invalid {
            field: "ppi.length",
            value,
        });
    }
    input.need(len)?;
    let link_type = input.u32_be(4)?.swap_bytes();
    let next = match Next::Link(link_type) {
        // No value that matters here may nest.
        Next::Link(192) => Next::Payload,
        next => next,
    };
    let header = Header::new(len, next);
    let has_check = input.bytes.get(8..len).is_some_and(has_check_sequence);
    Ok(if has_check {
        header.with_total(input.declared.saturating_sub(4).max(len))
    } else {
        header
    })
}

/// Whether an 802.11-Common value declares that the frame ends with its check sequence.
fn has_check_sequence(mut values: &[u8]) -> bool {
    while let [a, b, c, d, rest @ ..] = values {
        let kind = u16::from_le_bytes([*a, *b]);
        let len = usize::from(u16::from_le_bytes([*c, *d]));
        if kind == 2 {
            return rest.get(8).is_some_and(|flags| flags & 1 != 0);
        }
        values = rest.get(len..).unwrap_or_default();
    }
    false
}
