//! Authentication Header of IPsec. The protected headers stay readable behind it.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::Reason;
use crate::field::{Field, plain};
use crate::shape::Location;

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "ah",
    title: "Authentication Header",
    decode,
    on: &[On::IpExtension(51)],
    fields: &[
        plain!(
            u8,
            "ah.next_header",
            [Location::bits(AH, Bits::byte(0))],
            "Number of the header that follows",
            "RFC 4302, 2.1",
        ),
        plain!(
            u8,
            "ah.length",
            [Location::bits(AH, Bits::byte(1))],
            "Length in units of 4 bytes beyond the first 8",
            "RFC 4302, 2.2",
        ),
        plain!(
            u32,
            "ah.spi",
            [Location::bits(AH, Bits::be32(4))],
            "Security parameters index",
            "RFC 4302, 2.4",
        ),
        plain!(
            u32,
            "ah.sequence",
            [Location::bits(AH, Bits::be32(8))],
            "Sequence number",
            "RFC 4302, 2.5",
        ),
        Field::bytes(
            "ah.icv",
            |p| {
                let len = len(p.u8(AH, 1)?);
                p.bytes(AH)?
                    .get(HEADER_LEN_MIN..len)
                    .filter(|icv| !icv.is_empty())
            },
            "Integrity check value",
            "RFC 4302, 2.6",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let next = input.u8(0)?;
    let len = len(input.u8(1)?);
    input.need(len.max(HEADER_LEN_MIN))?;
    if len < HEADER_LEN_MIN {
        return Err(Reason::Invalid {
            field: "ah.length",
            value: u32::from(input.u8(1)?),
        });
    }
    Ok(Header::new(len, Next::IpProtocol(next)))
}

fn len(units: u8) -> usize {
    (usize::from(units) + 2) * 4
}

const AH: Layer = Layer::Authentication;
const HEADER_LEN_MIN: usize = 12;
