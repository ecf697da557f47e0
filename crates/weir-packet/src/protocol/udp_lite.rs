//! Lightweight User Datagram Protocol: UDP whose checksum covers as much as the sender says.
//! Its ports and checksum are in the columns of UDP, as in Wireshark.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "udplite",
    title: "Lightweight User Datagram Protocol",
    decode,
    on: &[On::IpProtocol(136)],
    fields: &[Field::u16(
        "udp.checksum_coverage",
        |p| p.u16_be(Layer::UdpLite, 4),
        "Bytes that the checksum of UDP-Lite covers, header included; 0: all",
        "RFC 3828, 3.1",
    )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    if input.declared == HEADER_LEN {
        return Ok(Header::new(HEADER_LEN, Next::Payload));
    }
    Ok(Header::new(
        HEADER_LEN,
        Next::UdpPorts(input.u16_be(0)?, input.u16_be(2)?),
    ))
}

const HEADER_LEN: usize = 8;
