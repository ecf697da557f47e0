//! EtherIP: Ethernet frames in IP.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "etherip",
    title: "Ethernet over IP",
    decode,
    on: &[On::IpProtocol(97)],
    fields: &[Field::u8(
        "etherip.ver",
        |p| Some(p.u8(Layer::EtherIp, 0)? >> 4),
        "Version, 3",
        "RFC 3378, 3",
    )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(2)?;
    Ok(Header::new(2, Next::Layer(Layer::Ethernet)))
}
