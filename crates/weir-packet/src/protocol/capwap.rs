//! Control and Provisioning of Wireless Access Points, the data channel: frames in UDP.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "capwap.data",
    title: "Control And Provisioning of Wireless Access Points, data",
    decode,
    on: &[On::UdpPort(5247)],
    fields: &[
        plain!(
            bool,
            "capwap.header.flags.t",
            [Location::bits(CAPWAP, Bits::flag(3, 0))],
            "The payload is in the native format of the wireless network, else IEEE 802.3",
            "RFC 5415, 4.3",
        ),
        plain!(
            bool,
            "capwap.header.flags.f",
            [Location::bits(CAPWAP, Bits::flag(4, 7))],
            "The packet is a fragment",
            "RFC 5415, 4.3",
        ),
        plain!(
            bool,
            "capwap.header.flags.k",
            [Location::bits(CAPWAP, Bits::flag(4, 3))],
            "The packet keeps the channel alive",
            "RFC 5415, 4.3",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    if input.u8(0)? & 15 != 0 {
        // DTLS follows in the place of a header.
        return Ok(Header::foreign(Next::Payload));
    }
    input.need(8)?;
    let len = usize::from(input.u8(1)? >> 3) * 4;
    input.need(len)?;
    let is_native = input.u8(3)? & 1 != 0;
    let flags = input.u8(4)?;
    let binding = input.u8(2)? >> 1 & 0x1f;
    let later_fragment = flags & FRAGMENT != 0 && input.u16_be(6)? >> 3 != 0;
    let next = if flags & KEEPALIVE != 0 || later_fragment {
        Next::Payload
    } else if !is_native {
        Next::Layer(Layer::Ethernet)
    } else if binding == IEEE_802_11 {
        Next::Layer(Layer::Wlan)
    } else {
        Next::Payload
    };
    Ok(Header::new(len, next))
}

const CAPWAP: Layer = Layer::Capwap;
const FRAGMENT: u8 = 0x80;
const KEEPALIVE: u8 = 0x08;
const IEEE_802_11: u8 = 1;
