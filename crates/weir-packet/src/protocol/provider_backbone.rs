//! IEEE 802.1ah service instance tags: MAC in MAC.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ieee8021ah",
    title: "IEEE 802.1ah Provider Backbone Bridge",
    decode,
    on: &[On::Ethertype(0x88e7)],
    fields: &[
        plain!(
            u8,
            "ieee8021ah.priority",
            [Location::bits(Layer::ProviderBackbone, Bits::byte(0).part(5, 3))],
            "Priority of the service instance, 0 to 7",
            "IEEE 802.1Q, 9.7",
        ),
        plain!(
            u32,
            "ieee8021ah.isid",
            [Location::bits(Layer::ProviderBackbone, Bits::be32(0).part(0, 24))],
            "Service instance identifier, 24 bits",
            "IEEE 802.1Q, 9.7",
        ),
        plain!(
            address,
            "ieee8021ah.cdst",
            [Location::bytes(Layer::ProviderBackbone, 4, 6)],
            "The customer's destination MAC address",
            "IEEE 802.1Q, 9.7",
        ),
        plain!(
            address,
            "ieee8021ah.csrc",
            [Location::bytes(Layer::ProviderBackbone, 10, 6)],
            "The customer's source MAC address",
            "IEEE 802.1Q, 9.7",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    Ok(Header::new(18, Next::Ethertype(input.u16_be(16)?)))
}
