//! AVS headers in front of 802.11 frames.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "wlancap",
    title: "AVS wireless capture header",
    decode,
    on: &[On::Link(163)],
    fields: &[plain!(
            u32,
            "wlancap.length",
            [Location::bits(Layer::WlanCapture, Bits::be32(4))],
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
