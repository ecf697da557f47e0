//! The fragment header of IPv6.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::plain;
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ipv6.fraghdr",
    title: "IPv6 Fragment Header",
    decode,
    on: &[On::IpExtension(44)],
    fields: &[
        plain!(
            u8,
            "ipv6.fraghdr.nxt",
            [Location::bits(FRAGMENT, Bits::byte(0))],
            "Number of the header that the first fragment begins with",
            "RFC 8200, 4.5",
        ),
        plain!(
            u8,
            "ipv6.fraghdr.reserved_octet",
            [Location::bits(FRAGMENT, Bits::byte(1))],
            "Reserved byte",
            "RFC 8200, 4.5",
        ),
        plain!(
            u16,
            "ipv6.fraghdr.offset",
            [Location::bits(FRAGMENT, Bits::be16(2).part(3, 13))],
            "Offset of the fragment in units of 8 bytes, as Wireshark shows it; 0 in the first",
            "RFC 8200, 4.5",
        ),
        plain!(
            u8,
            "ipv6.fraghdr.reserved_bits",
            [Location::bits(FRAGMENT, Bits::byte(3).part(1, 2))],
            "Reserved bits",
            "RFC 8200, 4.5",
        ),
        plain!(
            bool,
            "ipv6.fraghdr.more",
            [Location::bits(FRAGMENT, Bits::flag(3, 0))],
            "More fragments follow",
            "RFC 8200, 4.5",
        ),
        plain!(
            u32,
            "ipv6.fraghdr.ident",
            [Location::bits(FRAGMENT, Bits::be32(4))],
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
