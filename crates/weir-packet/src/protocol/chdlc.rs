//! Cisco HDLC: an address, a zero, an ethertype.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "chdlc",
    title: "Cisco HDLC",
    decode,
    on: &[On::Link(104)],
    fields: &[
        plain!(
            u8,
            "chdlc.address",
            [Location::bits(Layer::CiscoHdlc, Bits::byte(0))],
            "0x0F unicast, 0x8F multicast",
            "Cisco HDLC",
        ),
        plain!(
            u8,
            "chdlc.control",
            [Location::bits(Layer::CiscoHdlc, Bits::byte(1))],
            "Always 0",
            "Cisco HDLC",
        ),
        plain!(
            u16,
            "chdlc.protocol",
            [Location::bits(Layer::CiscoHdlc, Bits::be16(2))],
            "Ethertype of the payload, or 0x8035 for keepalives (SLARP), 0x2000 for CDP",
            "Cisco HDLC",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    Ok(Header::new(4, next(input.u16_be(2)?)))
}

/// The protocol of a type number of Cisco HDLC. 0x8035 is RARP on Ethernet and SLARP here.
pub(super) fn next(kind: u16) -> Next {
    match kind {
        SLARP | ISO => Next::Payload,
        kind => Next::Ethertype(kind),
    }
}

/// True for a type that is in use behind the address of Cisco HDLC or frame relay, where other
/// encapsulations have to be told from Cisco's.
pub(super) fn is_known(kind: u16) -> bool {
    let others = [
        0x0111, 0x0600, 0x2000, 0x4242, 0x6003, 0x8038, 0x809b, 0x80f3, 0x8137,
    ];
    matches!(
        kind,
        SLARP | ISO | 0x0800 | 0x6558 | 0x86dd | 0x8847 | 0x8848
    ) || others.contains(&kind)
}

const SLARP: u16 = 0x8035;
const ISO: u16 = 0xfefe;
