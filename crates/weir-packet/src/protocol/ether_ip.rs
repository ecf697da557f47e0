//! EtherIP: Ethernet frames in IP.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "etherip",
    title: "Ethernet over IP",
    decode,
    on: &[On::IpProtocol(97)],
    fields: &[plain!(
            u8,
            "etherip.ver",
            [Location::bits(Layer::EtherIp, Bits::byte(0).part(4, 4))],
            "Version, 3",
            "RFC 3378, 3",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(2)?;
    Ok(Header::new(2, Next::Layer(Layer::Ethernet)))
}
