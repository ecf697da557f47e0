//! Locator/ID Separation Protocol, the data plane: IP in UDP.

use super::{Header, Input, On, Protocol};
use crate::Reason;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "lisp-data",
    title: "Locator/ID Separation Protocol, data",
    decode,
    on: &[On::UdpPort(4341)],
    fields: &[],
};

/// RFC 9300, 5.1: eight bytes, which do not say which version of IP follows.
fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(8)?;
    Ok(Header::new(8, input.ip_at(8)?))
}
