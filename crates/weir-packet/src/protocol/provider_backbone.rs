//! IEEE 802.1ah service instance tags: MAC in MAC.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ieee8021ah",
    title: "IEEE 802.1ah Provider Backbone Bridge",
    decode,
    on: &[On::Ethertype(0x88e7)],
    fields: &[
        Field::u8(
            "ieee8021ah.priority",
            |p| Some(p.u8(Layer::ProviderBackbone, 0)? >> 5),
            "Priority of the service instance, 0 to 7",
            "IEEE 802.1Q, 9.7",
        ),
        Field::u32(
            "ieee8021ah.isid",
            |p| Some(p.u32_be(Layer::ProviderBackbone, 0)? & 0x00ff_ffff),
            "Service instance identifier, 24 bits",
            "IEEE 802.1Q, 9.7",
        ),
        Field::address(
            "ieee8021ah.cdst",
            |p| p.address(Layer::ProviderBackbone, 4, 6),
            "The customer's destination MAC address",
            "IEEE 802.1Q, 9.7",
        ),
        Field::address(
            "ieee8021ah.csrc",
            |p| p.address(Layer::ProviderBackbone, 10, 6),
            "The customer's source MAC address",
            "IEEE 802.1Q, 9.7",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    Ok(Header::new(18, Next::Ethertype(input.u16_be(16)?)))
}
