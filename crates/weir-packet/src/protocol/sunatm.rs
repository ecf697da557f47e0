//! PDUs that SunATM devices capture. The columns are those of ATM cells, in `atm.rs`.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::{Frame, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "atm",
    title: "SunATM",
    decode,
    on: &[On::Link(123)],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    let next = match input.u8(0)? & 0x0f {
        LANE => Next::Layer(Layer::LanEmulation),
        _ => Next::Layer(Layer::Aal5),
    };
    Ok(Header::new(4, next))
}

const LANE: u8 = 1;
const ILMI: u8 = 5;
const SIGNALLING: u8 = 6;

/// True for what connects and manages ATM itself, and carries no packets.
pub(super) fn is_signalling(frame: &Frame<'_>) -> bool {
    match frame.data {
        [kind, path, high, low, ..] => {
            matches!(kind & 0x0f, ILMI | SIGNALLING) || [*path, *high, *low] == [0, 0, 5]
        }
        _ => false,
    }
}
