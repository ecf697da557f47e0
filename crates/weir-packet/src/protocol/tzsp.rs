//! TaZmen Sniffer Protocol: captured frames sent over UDP.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "tzsp",
    title: "TaZmen Sniffer Protocol",
    decode,
    on: &[On::UdpPort(37008)],
    fields: &[
        plain!(
            u8,
            "tzsp.version",
            [Location::bits(TZSP, Bits::byte(0))],
            "Version, 1",
            "TZSP",
        ),
        plain!(
            u8,
            "tzsp.type",
            [Location::bits(TZSP, Bits::byte(1))],
            "Type: 0 received frame, 1 frame to send, 4 keepalive",
            "TZSP",
        ),
        plain!(
            u16,
            "tzsp.encap",
            [Location::bits(TZSP, Bits::be16(2))],
            "What the frame is: 1 Ethernet, 18 IEEE 802.11",
            "TZSP",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    let mut len = 4_usize;
    if input.u8(1)? > FRAME_TO_SEND {
        return Ok(Header::new(len, Next::Payload));
    }
    // Tagged fields follow, of which only the padding and the last have no length.
    loop {
        match input.u8(len)? {
            TAG_END => break,
            TAG_PADDING => len = len.saturating_add(1),
            _ => {
                let value = usize::from(input.u8(len.saturating_add(1))?);
                len = len.saturating_add(2).saturating_add(value);
            }
        }
    }
    let next = match input.u16_be(2)? {
        1 => Next::Layer(Layer::Ethernet),
        18 => Next::Layer(Layer::Wlan),
        _ => Next::Payload,
    };
    Ok(Header::new(len.saturating_add(1), next))
}

const TZSP: Layer = Layer::Tzsp;
const FRAME_TO_SEND: u8 = 1;
const TAG_PADDING: u8 = 0;
const TAG_END: u8 = 1;
