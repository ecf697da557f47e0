//! Anything In Anything: signed tunnels of IPv6 in UDP, as the brokers of SixXS had them.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ayiya",
    title: "Anything In Anything",
    decode,
    on: &[On::UdpPort(5072)],
    fields: &[
        Field::u8(
            "ayiya.opcode",
            |p| Some(p.u8(AYIYA, 2)? & 15),
            "1: forward the packet that follows",
            DRAFT,
        ),
        Field::u8(
            "ayiya.nextheader",
            |p| p.u8(AYIYA, 3),
            "Number of the header that follows",
            DRAFT,
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    let identity = 1_usize << (input.u8(0)? >> 4);
    let signature = usize::from(input.u8(1)? >> 4) * 4;
    let len = 8 + identity + signature;
    input.need(len)?;
    let next = match input.u8(2)? & 15 {
        FORWARD => Next::IpProtocol(input.u8(3)?),
        _ => Next::Payload,
    };
    Ok(Header::new(len, next))
}

const AYIYA: Layer = Layer::Ayiya;
const DRAFT: &str = "draft-massar-v6ops-ayiya-02";
const FORWARD: u8 = 1;
