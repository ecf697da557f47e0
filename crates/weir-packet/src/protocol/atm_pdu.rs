//! A whole AAL5 PDU, or an AAL2 packet, behind the header of a cell, as ERF writes them. The
//! columns are those of cells, in `atm.rs`.

use super::{Header, Input, Layer, Next, On, Protocol, erf};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "atm",
    title: "Asynchronous Transfer Mode PDU",
    decode,
    on: &[
        On::ErfType(4),
        On::ErfType(9),
        On::ErfType(12),
        On::ErfType(18),
    ],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let word = input.u32_be(0)?;
    let (path, channel) = (word >> 20 & 0xff, word >> 4 & 0xffff);
    let next = match (path, channel) {
        _ if erf::aal2_channel(input.frame).is_some() => Next::Payload,
        // Signalling and local management.
        (0, 5 | 16) => Next::Payload,
        _ => Next::Layer(Layer::Aal5),
    };
    Ok(Header::new(4, next))
}
