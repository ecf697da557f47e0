//! Headers of Prism cards in front of 802.11 frames.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "prism",
    title: "Prism capture header",
    decode,
    on: &[On::Link(119)],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let code = input.u32_be(0)?;
    if code & 0xffff_f000 == AVS {
        return Ok(Header::foreign(Next::Layer(Layer::WlanCapture)));
    }
    // The length is in the byte order of the machine that captured: the smaller is right.
    let word = input.u32_be(4)?;
    let len = usize::try_from(word.min(word.swap_bytes())).unwrap_or(usize::MAX);
    if len < 8 {
        return Err(Reason::Invalid {
            field: "prism.msglen",
            value: word,
        });
    }
    input.need(len)?;
    Ok(Header::new(len, Next::Layer(Layer::Wlan)))
}

/// AVS headers carry this link type too.
const AVS: u32 = 0x8021_1000;
