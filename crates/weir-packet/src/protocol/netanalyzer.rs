//! Hilscher netANALYZER: four bytes in front of an Ethernet frame.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "netanalyzer",
    title: "Hilscher netANALYZER",
    decode,
    on: &[On::Link(240), On::Link(TRANSPARENT)],
    fields: &[Field::u8(
        "netanalyzer.port",
        |p| Some(p.u8(Layer::Netanalyzer, 1)? >> 6),
        "Port of the device",
        "LINKTYPE_NETANALYZER",
    )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    // In transparent mode the preamble and the start delimiter are there too.
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
