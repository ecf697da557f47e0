//! A whole AAL5 PDU, or an AAL2 packet, after the header of a cell, as in ERF. The columns are those of cells, in `atm.rs`.

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
    input.need(4)?;
    let next = match erf::aal2_channel(input.frame) {
        Some(_) => Next::Payload,
        None => Next::Layer(Layer::Aal5),
    };
    Ok(Header::new(4, next))
}
