//! The control word of an Ethernet pseudowire.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "pwethcw",
    title: "Pseudowire Ethernet control word",
    decode,
    on: &[],
    fields: &[plain!(
            u16,
            "pweth.cw.sequence_number",
            [Location::bits(Layer::PseudowireControl, Bits::be16(2))],
            "Sequence number of the pseudowire; 0 when not used",
            "RFC 4448, 4.6",
        )],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(4)?;
    Ok(Header::new(4, Next::Layer(Layer::Ethernet)))
}
