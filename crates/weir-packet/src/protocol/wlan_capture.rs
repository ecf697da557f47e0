//! AVS headers in front of 802.11 frames.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "wlancap",
    title: "AVS wireless capture header",
    decode,
    on: &[On::Link(163)],
    fields: &[Field::u32(
        "wlancap.length",
        |p| p.u32_be(Layer::WlanCapture, 4),
        "Length of this header in bytes",
        "AVS capture header",
    )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let word = input.u32_be(4)?;
    let len = usize::try_from(word).unwrap_or(usize::MAX);
    if len < 8 {
        return Err(Reason::Invalid {
            field: "wlancap.length",
            value: word,
        });
    }
    input.need(len)?;
    Ok(Header::new(len, Next::Layer(Layer::Wlan)))
}
