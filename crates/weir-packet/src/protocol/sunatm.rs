//! PDUs that SunATM devices capture. The columns are those of ATM cells, in `atm.rs`.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "atm",
    title: "SunATM",
    decode,
    on: &[On::Link(123)],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    let signalling = (input.u8(1)?, input.u16_be(2)?) == (0, 5);
    let next = match input.u8(0)? & 0x0f {
        LANE => Next::Layer(Layer::LanEmulation),
        ILMI | SIGNALLING => Next::Payload,
        _ if signalling => Next::Payload,
        _ => Next::Layer(Layer::Aal5),
    };
    Ok(Header::new(4, next))
}

const LANE: u8 = 1;
const ILMI: u8 = 5;
const SIGNALLING: u8 = 6;
