//! ATM LAN emulation: Ethernet frames behind a two-byte client identifier.

use super::{Header, Input, Layer, Next, Protocol};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "lane",
    title: "ATM LAN emulation",
    decode,
    on: &[],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let next = match input.u16_be(0)? {
        CONTROL => Next::Payload,
        _ => Next::Layer(Layer::Ethernet),
    };
    Ok(Header::new(2, next))
}

/// Marks control frames (ATM Forum af-lane-0021, 4.1).
const CONTROL: u16 = 0xff00;
