//! Lightweight User Datagram Protocol: UDP whose checksum covers as much as the sender says.
//! Its ports and checksum are in the columns of UDP, as in Wireshark.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol, udp};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "udplite",
    title: "Lightweight User Datagram Protocol",
    decode,
    on: &[On::IpProtocol(136)],
    fields: &[plain!(
            u16,
            "udp.checksum_coverage",
            [Location::bits(Layer::UdpLite, Bits::be16(4))],
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
        udp::by_ports(input)?,
    ))
}

const HEADER_LEN: usize = 8;
