//! Control and Provisioning of Wireless Access Points, the control channel: messages, as a rule in DTLS.

use super::capwap::{bits_of, header_len, is_later_fragment};
use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "capwap",
    title: "Control And Provisioning of Wireless Access Points, control",
    decode,
    on: &[On::UdpPort(5246)],
    fields: &[
        Field::u32(
            "capwap.control.header.message_type",
            |p| p.u32_be(CONTROL, message(p)?),
            "Type of the message: 1 discovery request, 2 its response, 3 join request, 13 echo request",
            "RFC 5415, 4.5.1.1",
        ),
        Field::u8(
            "capwap.control.header.sequence_number",
            |p| p.u8(CONTROL, message(p)? + 4),
            "Sequence number, the same in request and response",
            "RFC 5415, 4.5.1.2",
        ),
        Field::u16(
            "capwap.control.header.message_element_length",
            |p| p.u16_be(CONTROL, message(p)? + 5),
            "Length of what follows the sequence number, in bytes",
            "RFC 5415, 4.5.1.3",
        ),
        Field::u8(
            "capwap.control.header.flags",
            |p| p.u8(CONTROL, message(p)? + 7),
            "Flags, 0",
            "RFC 5415, 4.5.1.4",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let Some(len) = header_len(input)? else {
        return Ok(Header::new(4, Next::Payload));
    };
    let bits = input.u32_be(0)? & 0x00ff_ffff;
    if is_later_fragment(bits, input.u16_be(6)?) {
        return Ok(Header::new(len, Next::Payload));
    }
    let len = len.saturating_add(MESSAGE_HEADER_LEN);
    input.need(len)?;
    Ok(Header::new(len, Next::Payload))
}

/// The offset of the message's header, unless it is in an earlier fragment.
fn message(packet: &Packet<'_>) -> Option<usize> {
    let bits = bits_of(packet, CONTROL)?;
    let offset = packet.u16_be(CONTROL, 6)?;
    (!is_later_fragment(bits, offset)).then_some((bits >> 19) as usize * 4)
}

const CONTROL: Layer = Layer::CapwapControl;
const MESSAGE_HEADER_LEN: usize = 8;
