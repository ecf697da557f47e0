//! Hilscher netANALYZER: four bytes in front of an Ethernet frame.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "netanalyzer",
    title: "Hilscher netANALYZER",
    decode,
    on: &[On::Link(240), On::Link(TRANSPARENT)],
    fields: &[plain!(
            u8,
            "netanalyzer.port",
            [Location::bits(Layer::Netanalyzer, Bits::byte(1).part(6, 2))],
            "Port of the device",
            "LINKTYPE_NETANALYZER",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    // Transparent mode has the preamble and the start delimiter, too.
    let len = if input.frame.link_type.0 == TRANSPARENT {
        12
    } else {
        4
    };
    input.need(len)?;
    let header = Header::new(len, Next::Layer(Layer::Ethernet));
    // Both end with the frame check sequence.
    Ok(header.with_total(input.declared.saturating_sub(4).max(len)))
}

const TRANSPARENT: u32 = 241;
