//! GPRS Tunnelling Protocol on the port of version 0 and of charging (GTP'). The columns are those of `gtp.rs`.

use super::{Header, Input, On, Protocol, gtp};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "gtpprime",
    title: "GPRS Tunnelling Protocol, version 0 and prime",
    decode,
    on: &[On::UdpPort(3386)],
    fields: &[],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    gtp::decode_with(input, gtp::VERSION_MAX_OF_CHARGING)
}
