//! The fragment header of IPv6.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::Field;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipv6.fraghdr",
    title: "IPv6 Fragment Header",
    decode,
    on: &[On::IpExtension(44)],
    fields: &[
        Field::u8(
            "ipv6.fraghdr.nxt",
            |p| p.u8(FRAGMENT, 0),
            "Number of the header that the first fragment begins with",
            "RFC 8200, 4.5",
        ),
        Field::u8(
            "ipv6.fraghdr.reserved_octet",
            |p| p.u8(FRAGMENT, 1),
            "Reserved byte",
            "RFC 8200, 4.5",
        ),
        Field::u16(
            "ipv6.fraghdr.offset",
            |p| Some(p.u16_be(FRAGMENT, 2)? >> 3),
            "Offset of the fragment in units of 8 bytes, as Wireshark shows it; 0 in the first",
            "RFC 8200, 4.5",
        ),
        Field::u8(
            "ipv6.fraghdr.reserved_bits",
            |p| Some(p.u8(FRAGMENT, 3)? >> 1 & 3),
            "Reserved bits",
            "RFC 8200, 4.5",
        ),
        Field::bool(
            "ipv6.fraghdr.more",
            |p| p.bit(FRAGMENT, 3, 1),
            "More fragments follow",
            "RFC 8200, 4.5",
        ),
        Field::u32(
            "ipv6.fraghdr.ident",
            |p| p.u32_be(FRAGMENT, 4),
            "Identification, the same in all fragments of a packet",
            "RFC 8200, 4.5",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    let protocol = input.u8(0)?;
    let next = if input.u16_be(2)? >> 3 == 0 {
        Next::IpProtocol(protocol)
    } else {
        Next::IpFragment(protocol)
    };
    Ok(Header::new(HEADER_LEN, next))
}

const FRAGMENT: Layer = Layer::Ipv6Fragment;
const HEADER_LEN: usize = 8;
