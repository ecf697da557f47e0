//! Transmission Control Protocol.

use weir_bytes::{Bits, u8_at, u16_be_at, u32_be_at};

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::checksum::Transport;
use crate::field::{Field, plain};
use crate::shape::{BitsTest, HeaderLen, HeaderShape, Location, NextHeader, PayloadEnd};
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "tcp",
    title: "Transmission Control Protocol",
    decode,
    on: &[On::IpProtocol(6)],
    fields: &[
        plain!(
            u16,
            "tcp.srcport",
            [Location::bits(TCP, Bits::be16(0))],
            "Source port",
            "RFC 9293, 3.1",
        ),
        plain!(
            u16,
            "tcp.dstport",
            [Location::bits(TCP, Bits::be16(2))],
            "Destination port",
            "RFC 9293, 3.1",
        ),
        plain!(
            u32,
            "tcp.seq_raw",
            [Location::bits(TCP, Bits::be32(4))],
            "Sequence number as it was sent",
            "RFC 9293, 3.1",
        ),
        plain!(
            u32,
            "tcp.ack_raw",
            [Location::bits(TCP, Bits::be32(8)).when(BODY)],
            "Acknowledgment number as it was sent",
            "RFC 9293, 3.1",
        ),
        Field::u8(
            "tcp.hdr_len",
            |p| Some((p.u8(TCP, 12)? >> 4) * 4),
            "Length of the header with its options in bytes, 20 to 60",
            "RFC 9293, 3.1",
        ),
        Field::u32(
            "tcp.len",
            |p| {
                // The length of the data in other fragments, or of what an error message left out, is unknown.
                let header_len = u32::from(p.u8(TCP, 12)? >> 4) * 4;
                let len = p.declared_len(TCP)?.checked_sub(header_len)?;
                (!p.is_fragment(TCP) && !p.is_quoted(TCP)).then_some(len)
            },
            "Length of the data in bytes, captured or not; NULL in a fragment and where an error message quotes it",
            "RFC 9293, 3.1",
        ),
        plain!(
            u16,
            "tcp.flags",
            [Location::bits(TCP, Bits::be16(12).part(0, 12)).when(BODY)],
            "The twelve bits from the reserved ones to FIN",
            "RFC 9293, 3.1",
        ),
        Field::bool(
            "tcp.flags.res",
            |p| p.bit(body(p)?, 12, 0x0e),
            "One of the three reserved bits is set",
            "RFC 9293, 3.1",
        ),
        plain!(
            bool,
            "tcp.flags.ae",
            [Location::bits(TCP, Bits::flag(12, 0)).when(BODY)],
            "Accurate ECN (once the nonce sum)",
            "RFC 9768, 3.1",
        ),
        plain!(
            bool,
            "tcp.flags.cwr",
            [Location::bits(TCP, Bits::flag(13, 7)).when(BODY)],
            "Congestion window reduced",
            "RFC 3168, 6.1",
        ),
        plain!(
            bool,
            "tcp.flags.ece",
            [Location::bits(TCP, Bits::flag(13, 6)).when(BODY)],
            "ECN echo",
            "RFC 3168, 6.1",
        ),
        plain!(
            bool,
            "tcp.flags.urg",
            [Location::bits(TCP, Bits::flag(13, 5)).when(BODY)],
            "The urgent pointer is valid",
            "RFC 9293, 3.1",
        ),
        plain!(
            bool,
            "tcp.flags.ack",
            [Location::bits(TCP, Bits::flag(13, 4)).when(BODY)],
            "The acknowledgment number is valid",
            "RFC 9293, 3.1",
        ),
        plain!(
            bool,
            "tcp.flags.push",
            [Location::bits(TCP, Bits::flag(13, 3)).when(BODY)],
            "Push: pass the data on at once",
            "RFC 9293, 3.1",
        ),
        plain!(
            bool,
            "tcp.flags.reset",
            [Location::bits(TCP, Bits::flag(13, 2)).when(BODY)],
            "Reset the connection",
            "RFC 9293, 3.1",
        ),
        plain!(
            bool,
            "tcp.flags.syn",
            [Location::bits(TCP, Bits::flag(13, 1)).when(BODY)],
            "Synchronise sequence numbers",
            "RFC 9293, 3.1",
        ),
        plain!(
            bool,
            "tcp.flags.fin",
            [Location::bits(TCP, Bits::flag(13, 0)).when(BODY)],
            "No more data from the sender",
            "RFC 9293, 3.1",
        ),
        Field::write(
            "tcp.flags.str",
            |p, out| {
                let Some(flags) = body(p).and_then(|tcp| p.u16_be(tcp, 12)) else {
                    return Ok(false);
                };
                for (index, letter) in FLAG_LETTERS.iter().enumerate() {
                    out.write_char(if flags & 0x0800 >> index != 0 {
                        *letter
                    } else {
                        '·'
                    })?;
                }
                Ok(true)
            },
            "The twelve flags as letters, a middle dot for one that is not set: RRRACEUAPRSF",
            "RFC 9293, 3.1",
        ),
        plain!(
            u16,
            "tcp.window_size_value",
            [Location::bits(TCP, Bits::be16(14)).when(BODY)],
            "Receive window as it was sent, not scaled",
            "RFC 9293, 3.1",
        ),
        plain!(
            u16,
            "tcp.checksum",
            [Location::bits(TCP, Bits::be16(16)).when(BODY)],
            "Checksum as it was sent",
            "RFC 9293, 3.1",
        ),
        Field::bool(
            "tcp.checksum_ok",
            |p| {
                let segment = Transport::of(p, TCP)?;
                p.u16_be(body(p)?, 16)?;
                let sum = segment.with_pseudo_header(
                    PROTOCOL_NUMBER,
                    segment.bytes.len(),
                    segment.bytes,
                )?;
                Some(sum == 0)
            },
            "The checksum is right; NULL when it cannot be verified: a fragment, a quoted or a cut segment",
            "RFC 9293, 3.1",
        ),
        plain!(
            u16,
            "tcp.urgent_pointer",
            [Location::bits(TCP, Bits::be16(18)).when(BODY)],
            "Offset of the end of urgent data",
            "RFC 9293, 3.1",
        ),
        Field::bytes(
            "tcp.options",
            |p| options(p).filter(|options| !options.is_empty()),
            "All options with their padding",
            "RFC 9293, 3.2",
        ),
        Field::u8(
            "tcp.option_kind",
            |p| u8_at(find(p, |_, _| true)?, 0),
            "Kind of the first option",
            "RFC 9293, 3.2",
        ),
        Field::u8(
            "tcp.option_len",
            |p| u8_at(find(p, |kind, _| kind > NO_OPERATION)?, 1),
            "Length of the first option that states one, in bytes",
            "RFC 9293, 3.2",
        ),
        Field::u16(
            "tcp.options.mss_val",
            |p| u16_be_at(option(p, MAXIMUM_SEGMENT_SIZE, 4)?, 2),
            "Maximum segment size in bytes",
            "RFC 9293, 3.7.1",
        ),
        Field::u8(
            "tcp.options.wscale.shift",
            |p| u8_at(option(p, WINDOW_SCALE, 3)?, 2),
            "Window scale: how far the sender's later windows are to be shifted left",
            "RFC 7323, 2.2",
        ),
        Field::bytes(
            "tcp.options.sack_perm",
            |p| option(p, SACK_PERMITTED, 2),
            "The selective acknowledgment permitted option itself; NULL when it is absent",
            "RFC 2018, 2",
        ),
        Field::u32(
            "tcp.options.sack_le",
            |p| u32_be_at(find(p, is_sack)?, 2),
            "Left edge of the first block received out of order",
            "RFC 2018, 3",
        ),
        Field::u32(
            "tcp.options.sack_re",
            |p| u32_be_at(find(p, is_sack)?, 6),
            "Right edge of the first block received out of order",
            "RFC 2018, 3",
        ),
        Field::u32(
            "tcp.options.timestamp.tsval",
            |p| u32_be_at(option(p, TIMESTAMPS, 10)?, 2),
            "Timestamp of the sender, in ticks of its own",
            "RFC 7323, 3.2",
        ),
        Field::u32(
            "tcp.options.timestamp.tsecr",
            |p| u32_be_at(option(p, TIMESTAMPS, 10)?, 6),
            "Timestamp that the sender echoes",
            "RFC 7323, 3.2",
        ),
        Field::u16(
            "tcp.options.user_to_val",
            |p| Some(u16_be_at(option(p, USER_TIMEOUT, 4)?, 2)? & 0x7fff),
            "User timeout in minutes, or in seconds when the first bit of the option is 0",
            "RFC 5482, 3",
        ),
        Field::u8(
            "tcp.options.mptcp.subtype",
            |p| Some(u8_at(find(p, |kind, len| kind == MULTIPATH && len >= 3)?, 2)? >> 4),
            "Subtype of the multipath option",
            "RFC 8684, 3",
        ),
        Field::bytes(
            "tcp.payload",
            |p| {
                let payload = p.bytes(TCP)?.get(header_len(p)?..)?;
                (!payload.is_empty() && !p.bit(TCP, 13, 0x04)?).then_some(payload)
            },
            "The captured data bytes; NULL without any, and in a reset, whose bytes are a text about its cause",
            "RFC 9293, 3.1; RFC 1122, 4.2.2.12",
        ),
    ],
};

/// Any header that is there with its options.
pub(super) const SHAPES: &[HeaderShape] = &[HeaderShape {
    len_min: 20,
    len: HeaderLen::Field {
        bits: DATA_OFFSET,
        unit: 4,
        base: 0,
    },
    end: PayloadEnd::Outer,
    tests: &[BitsTest::new(DATA_OFFSET, &[(5, 15)])],
    next: NextHeader::Payload,
    no_next: &[],
    enabled: None,
}];

/// Unless the header says that it is shorter than it must be: then what lies behind the sequence number
/// is not to be trusted.
const BODY: &[BitsTest] = &[BitsTest::new(DATA_OFFSET, &[(5, 15)]).or_cut()];
const DATA_OFFSET: Bits = Bits::byte(12).part(4, 4);

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN_MIN)?;
    let len = usize::from(input.u8(12)? >> 4) * 4;
    if len < HEADER_LEN_MIN {
        return Err(Reason::Invalid {
            field: "tcp.hdr_len",
            value: u32::try_from(len).unwrap_or(u32::MAX),
        });
    }
    input.need(len)?;
    Ok(Header::new(len, Next::Payload))
}

/// The header's length; `None` when it was cut in front of it or is shorter than its fixed part.
fn header_len(packet: &Packet<'_>) -> Option<usize> {
    let len = usize::from(packet.u8(TCP, 12)? >> 4) * 4;
    (len >= HEADER_LEN_MIN).then_some(len)
}

/// The options as far as they were captured.
fn options<'a>(packet: &Packet<'a>) -> Option<&'a [u8]> {
    let bytes = packet.bytes(TCP)?;
    bytes.get(HEADER_LEN_MIN..header_len(packet)?.min(bytes.len()))
}

/// The first option whose kind and length `wanted` accepts, from its kind to its end or that of what
/// was captured. The walk ends at an option that says it is longer than the room for options.
fn find<'a>(packet: &Packet<'a>, mut wanted: impl FnMut(u8, usize) -> bool) -> Option<&'a [u8]> {
    let mut rest = options(packet)?;
    let mut room = header_len(packet)?.saturating_sub(HEADER_LEN_MIN);
    loop {
        let kind = *rest.first()?;
        let len = match kind {
            END_OF_OPTIONS | NO_OPERATION => 1,
            _ => usize::from(u8_at(rest, 1)?),
        };
        if len > room || len == 0 || (len == 1 && kind > NO_OPERATION) {
            return None;
        }
        if wanted(kind, len) {
            return rest.get(..len.min(rest.len()));
        }
        if kind == END_OF_OPTIONS {
            return None;
        }
        rest = rest.get(len..)?;
        room = room.saturating_sub(len);
    }
}

/// Calls `each` with the kind of every option until that gives false; gives false when it was stopped.
pub(super) fn each_option(packet: &Packet<'_>, each: &mut dyn FnMut(u64) -> bool) -> bool {
    find(packet, |kind, _| !each(kind.into())).is_none()
}

/// Calls `each` with the length of every option that states one until that gives false; gives false when it was stopped.
pub(super) fn each_option_len(packet: &Packet<'_>, each: &mut dyn FnMut(u64) -> bool) -> bool {
    let found = find(packet, |kind, len| {
        kind > NO_OPERATION && !each(u64::try_from(len).unwrap_or(u64::MAX))
    });
    found.is_none()
}

/// Calls `each` with the number at an offset of every block of selective acknowledgment until that gives false; gives false when it
/// was stopped.
pub(super) fn each_sack_edge(
    packet: &Packet<'_>,
    offset: usize,
    each: &mut dyn FnMut(u64) -> bool,
) -> bool {
    let option = find(packet, is_sack).unwrap_or_default();
    let mut blocks = option.get(2..).unwrap_or_default().chunks(SACK_BLOCK_LEN);
    blocks.all(|block| u32_be_at(block, offset).is_none_or(|edge| each(edge.into())))
}

/// Calls `each` with the subtype of every multipath option until that gives false; gives false when it was stopped.
pub(super) fn each_subtype(packet: &Packet<'_>, each: &mut dyn FnMut(u64) -> bool) -> bool {
    // A header has room for a dozen.
    let mut subtypes = (0_usize..).map_while(|number| {
        let mut before = number;
        let option = find(packet, |kind, len| {
            if kind != MULTIPATH || len < 3 {
                return false;
            }
            let is_wanted = before == 0;
            before = before.saturating_sub(1);
            is_wanted
        })?;
        Some(u8_at(option, 2)? >> 4)
    });
    subtypes.all(|subtype| each(subtype.into()))
}

/// The first option of `kind` that has the `len` bytes that it must have.
fn option<'a>(packet: &Packet<'a>, kind: u8, len: usize) -> Option<&'a [u8]> {
    find(packet, |found, found_len| found == kind && found_len == len)
}

/// Selective acknowledgment of at least one block.
fn is_sack(kind: u8, len: usize) -> bool {
    kind == SACK && len >= 10 && (len - 2).is_multiple_of(8)
}

/// The layer, unless the header says that it is shorter than it must be: then what lies behind the
/// sequence number is not to be trusted.
#[inline]
fn body(packet: &Packet<'_>) -> Option<Layer> {
    packet
        .u8(TCP, 12)
        .is_none_or(|byte| byte >> 4 >= 5)
        .then_some(TCP)
}

const TCP: Layer = Layer::Tcp;
const PROTOCOL_NUMBER: u8 = 6;
const HEADER_LEN_MIN: usize = 20;
/// The letters of `tcp.flags.str` for set flags, from the highest bit on (RFC 9293, 3.1).
pub const FLAG_LETTERS: [char; 12] = ['R', 'R', 'R', 'A', 'C', 'E', 'U', 'A', 'P', 'R', 'S', 'F'];
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const SACK_BLOCK_LEN: usize = 8;
const TIMESTAMPS: u8 = 8;
const USER_TIMEOUT: u8 = 28;
const MULTIPATH: u8 = 30;
