//! Linux Classical IP over ATM: LLC or nothing before IP.

use super::{Header, Input, Layer, Next, On, Protocol, raw_ip};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "clip",
    title: "Classical IP over ATM",
    decode,
    // Below 100 are numbers that Linux used before 106 was given.
    on: &[On::Link(106), On::Link(16), On::Link(18), On::Link(19)],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let next = if input.bytes.starts_with(&[0xaa, 0xaa, 0x03]) {
        Next::Layer(Layer::Llc)
    } else {
        match raw_ip::by_version(input.bytes) {
            // Only IP stands here: another version is a bad header of IP.
            Next::Payload if !input.bytes.is_empty() => Next::Layer(Layer::Ipv4),
            next => next,
        }
    };
    Ok(Header::new(0, next))
}
