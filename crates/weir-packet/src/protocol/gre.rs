//! Generic Routing Encapsulation, version 0 and the version 1 of PPTP.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "gre",
    title: "Generic Routing Encapsulation",
    decode,
    on: &[On::IpProtocol(47), On::UdpPort(4754)],
    fields: &[
        plain!(
            u16,
            "gre.flags_and_version",
            [Location::bits(GRE, Bits::be16(0))],
            "Flags and version",
            "RFC 2784, 2; RFC 2637, 4.1",
        ),
        plain!(
            bool,
            "gre.flags.checksum",
            [Location::bits(GRE, Bits::flag(0, 7))],
            "A checksum is present",
            "RFC 2784, 2.1",
        ),
        plain!(
            bool,
            "gre.flags.routing",
            [Location::bits(GRE, Bits::flag(0, 6))],
            "Source routes are present",
            "RFC 1701",
        ),
        plain!(
            bool,
            "gre.flags.key",
            [Location::bits(GRE, Bits::flag(0, 5))],
            "A key is present",
            "RFC 2890, 2",
        ),
        plain!(
            bool,
            "gre.flags.sequence_number",
            [Location::bits(GRE, Bits::flag(0, 4))],
            "A sequence number is present",
            "RFC 2890, 2",
        ),
        plain!(
            u8,
            "gre.flags.version",
            [Location::bits(GRE, Bits::byte(1).part(0, 3))],
            "Version: 1 for PPTP",
            "RFC 2784, 2.3.1",
        ),
        plain!(
            u16,
            "gre.proto",
            [Location::bits(GRE, Bits::be16(2))],
            "Ethertype of the payload",
            "RFC 2784, 2.4",
        ),
        Field::u16(
            "gre.checksum",
            |p| p.u16_be(GRE, parts(p)?.checksum?),
            "Checksum of header and payload as it was sent",
            "RFC 2784, 2.5",
        ),
        Field::u32(
            "gre.key",
            |p| key(p.bytes(GRE)?),
            "Key of the tunnel (version 0)",
            "RFC 2890, 2.1",
        ),
        Field::u16(
            "gre.key.payload_length",
            |p| p.u16_be(GRE, parts(p)?.key?).filter(|_| is_pptp(p)),
            "Length of the payload in bytes (version 1)",
            "RFC 2637, 4.1",
        ),
        Field::u16(
            "gre.key.call_id",
            |p| p.u16_be(GRE, parts(p)?.key? + 2).filter(|_| is_pptp(p)),
            "Call of the session at the receiver (version 1)",
            "RFC 2637, 4.1",
        ),
        Field::u32(
            "gre.sequence_number",
            |p| p.u32_be(GRE, parts(p)?.sequence?),
            "Sequence number",
            "RFC 2890, 2.2; RFC 2637, 4.1",
        ),
        Field::u32(
            "gre.ack_number",
            |p| p.u32_be(GRE, parts(p)?.acknowledgment?),
            "Highest sequence number received (version 1)",
            "RFC 2637, 4.1",
        ),
    ],
};

/// Offsets of the optional parts, and where the source routes or the payload begin.
struct GreOffsets {
    checksum: Option<usize>,
    key: Option<usize>,
    sequence: Option<usize>,
    acknowledgment: Option<usize>,
    end: usize,
}

impl GreOffsets {
    fn new(flags: u16) -> Self {
        let mut end = 4;
        let mut part = |present: bool| {
            let offset = end;
            end += if present { 4 } else { 0 };
            present.then_some(offset)
        };
        Self {
            checksum: part(flags & (CHECKSUM | ROUTING) != 0),
            key: part(flags & KEY != 0),
            sequence: part(flags & SEQUENCE != 0),
            acknowledgment: part(flags & ACKNOWLEDGMENT != 0 && flags & VERSION_MASK == 1),
            end,
        }
    }
}

fn parts(packet: &Packet<'_>) -> Option<GreOffsets> {
    packet.u16_be(GRE, 0).map(GreOffsets::new)
}

/// The key, in headers of the version whose key is the same in both directions.
pub(super) fn key(header: &[u8]) -> Option<u32> {
    let flags = weir_bytes::u16_be_at(header, 0)?;
    let at = GreOffsets::new(flags).key?;
    weir_bytes::u32_be_at(header, at).filter(|_| flags & VERSION_MASK == 0)
}

fn is_pptp(packet: &Packet<'_>) -> bool {
    packet.u8(GRE, 1).is_some_and(|flags| flags & 7 == 1)
}

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let flags = input.u16_be(0)?;
    let protocol = input.u16_be(2)?;
    let mut len = GreOffsets::new(flags).end;
    input.need(len)?;
    if flags & ROUTING != 0 {
        len = routes_end(input, len)?;
    }
    let next = match protocol {
        BRIDGED_ETHERNET => Next::Layer(Layer::Ethernet),
        WCCP => {
            // A redirect header of four bytes, unless the packet follows at once (version 1 of WCCP).
            if input.u8(len).is_ok_and(|first| first >> 4 != 4) {
                len += 4;
            }
            Next::Layer(Layer::Ipv4)
        }
        // Type I of ERSPAN has neither sequence number nor header.
        ERSPAN_II if flags & SEQUENCE == 0 => Next::Layer(Layer::Ethernet),
        ARUBA_FIRST..=ARUBA_LAST => Next::Layer(Layer::Wlan),
        // A keepalive: the whole header is the answer that it asks for.
        0 => Next::Payload,
        _ => Next::Ethertype(protocol),
    };
    if input.declared <= len {
        return Ok(Header::new(len, Next::Payload));
    }
    Ok(Header::new(len, next))
}

/// Passes over the source route entries (RFC 1701): the last has no address family and no length.
fn routes_end(input: &Input<'_>, mut at: usize) -> Result<usize, Reason> {
    loop {
        let family = input.u16_be(at)?;
        let len = usize::from(input.u8(at.saturating_add(3))?);
        at = at.saturating_add(4).saturating_add(len);
        input.need(at)?;
        if family == 0 && len == 0 {
            return Ok(at);
        }
    }
}

const GRE: Layer = Layer::Gre;
const CHECKSUM: u16 = 0x8000;
const ROUTING: u16 = 0x4000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
const ACKNOWLEDGMENT: u16 = 0x0080;
const VERSION_MASK: u16 = 7;
const BRIDGED_ETHERNET: u16 = 0x6558;
const WCCP: u16 = 0x883e;
// The access points of one maker send IEEE 802.11 frames under these.
const ARUBA_FIRST: u16 = 0x8200;
const ARUBA_LAST: u16 = 0x83ff;
const ERSPAN_II: u16 = 0x88be;
