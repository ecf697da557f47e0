//! Linux netfilter log messages, with the packet as one of several values.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "nflog",
    title: "Linux netfilter log",
    decode,
    on: &[On::Link(239)],
    fields: &[
        plain!(
            u8,
            "nflog.family",
            [Location::bits(Layer::Nflog, Bits::byte(0))],
            "Address family: 2 IPv4, 10 IPv6",
            "LINKTYPE_NFLOG",
        ),
        plain!(
            u16,
            "nflog.res_id",
            [Location::bits(Layer::Nflog, Bits::be16(2))],
            "Number of the log group",
            "LINKTYPE_NFLOG",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    let next = match input.u8(0)? {
        2 => Next::Layer(Layer::Ipv4),
        10 => Next::Layer(Layer::Ipv6),
        _ => Next::Payload,
    };
    let mut offset = 4_usize;
    while offset < input.bytes.len() {
        // Length and type are in the byte order of the machine, which is hardly ever big-endian;
        // the length counts the four bytes of both.
        let len = usize::from(input.u16_be(offset)?.swap_bytes());
        let kind = input.u16_be(offset.saturating_add(2))?.swap_bytes();
        if len < 4 {
            let value = u32::try_from(len).unwrap_or_default();
            return Err(Reason::Invalid {
                field: "nflog.tlv_length",
                value,
            });
        }
        if kind == PACKET {
            let header = Header::new(offset.saturating_add(4), next);
            return Ok(header.with_total(offset.saturating_add(len)));
        }
        offset = offset.saturating_add(len).next_multiple_of(4);
    }
    Ok(Header::new(input.bytes.len(), Next::Payload))
}

/// NFULA_PAYLOAD.
const PACKET: u16 = 9;
