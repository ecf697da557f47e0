//! Endace's extensible record format: the record header, extension headers, and the headers of
//! multi-channel records, which tell interface and channel.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, mostly_plain, plain};
use crate::shape::{BitsTest, HeaderShape, Location, NextHeader, NextTable, PayloadEnd};
use crate::{ErfHdlc, Frame, LinkType, Options, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "erf",
    title: "Extensible Record Format",
    decode,
    on: &[On::Link(197)],
    fields: &[
        plain!(
            u64,
            "erf.ts",
            [Location::bits(Layer::Erf, Bits::le64(0))],
            "Timestamp: seconds since 1970 and 2^-32 of a second",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.types",
            [Location::bits(Layer::Erf, Bits::byte(8))],
            "Record type, with the bit that announces extension headers",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.types.type",
            [Location::bits(Layer::Erf, Bits::byte(8).part(0, 7))],
            "Record type: 1 HDLC, 2 Ethernet, 3 ATM, 4 AAL5, 5 MC HDLC, 7 MC ATM, 9 MC AAL5, 22 IPv4, 23 IPv6",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.types.ext_header",
            [Location::bits(Layer::Erf, Bits::byte(8).part(7, 1))],
            "1 when extension headers follow",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.flags",
            [Location::bits(Layer::Erf, Bits::byte(9))],
            "Flags",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.flags.cap",
            [Location::bits(Layer::Erf, Bits::byte(9).part(0, 2))],
            "Capture interface, 0 to 3",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.flags.vlen",
            [Location::bits(Layer::Erf, Bits::flag(9, 2))],
            "1 when records vary in length",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.flags.trunc",
            [Location::bits(Layer::Erf, Bits::flag(9, 3))],
            "1 when the record was truncated for lack of buffer space",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.flags.rxe",
            [Location::bits(Layer::Erf, Bits::flag(9, 4))],
            "1 after a receive error",
            "Endace ERF",
        ),
        plain!(
            u8,
            "erf.flags.dse",
            [Location::bits(Layer::Erf, Bits::flag(9, 5))],
            "1 after an error inside the capture card",
            "Endace ERF",
        ),
        plain!(
            u16,
            "erf.rlen",
            [Location::bits(Layer::Erf, Bits::be16(10))],
            "Length of the record in bytes, headers and padding included",
            "Endace ERF",
        ),
        Field::u16(
            "erf.lctr",
            |p| {
                p.u16_be(Layer::Erf, 12)
                    .filter(|_| !is_coloured(kind(p.frame())))
            },
            "Records lost between this one and the one before",
            "Endace ERF",
        ),
        Field::u16(
            "erf.color",
            |p| {
                p.u16_be(Layer::Erf, 12)
                    .filter(|_| is_coloured(kind(p.frame())))
            },
            "Colour from a filter of the capture card, in place of the loss counter",
            "Endace ERF",
        ),
        plain!(
            u16,
            "erf.wlen",
            [Location::bits(Layer::Erf, Bits::be16(14))],
            "Length on the wire in bytes; may include the frame check sequence",
            "Endace ERF",
        ),
        Field::u8(
            "erf.ehdr.types",
            |p| {
                p.u8(Layer::Erf, 8).filter(|kind| kind & EXTENDED != 0)?;
                Some(p.u8(Layer::Erf, 16)? & 0x7f)
            },
            "Type of the first extension header",
            "Endace ERF",
        ),
        Field::u8(
            "erf.eth.off",
            |p| p.u8(Layer::Erf, sub_header(p, is_ethernet)?),
            "Ethernet: bytes that the frame was cut at its start",
            "Endace ERF",
        ),
        // Each kind of record has its multi-channel header; these are the bits of each.
        word(
            "erf.mchdlc",
            |p| multi_channel(p, is_mc_hdlc),
            "MC HDLC header",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.cn",
            [Location::bits(Layer::Erf, Bits::be32(16).part(0, 10)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 0, 10),
            "MC HDLC: connection number",
            "Endace ERF",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.fcse",
            [Location::bits(Layer::Erf, Bits::be32(16).part(24, 1)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 24, 1),
            "MC HDLC: 1 after an FCS error",
            "Endace ERF",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.sre",
            [Location::bits(Layer::Erf, Bits::be32(16).part(25, 1)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 25, 1),
            "MC HDLC: 1 for a record shorter than the minimum",
            "Endace ERF",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.lre",
            [Location::bits(Layer::Erf, Bits::be32(16).part(26, 1)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 26, 1),
            "MC HDLC: 1 for a record longer than the maximum",
            "Endace ERF",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.afe",
            [Location::bits(Layer::Erf, Bits::be32(16).part(27, 1)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 27, 1),
            "MC HDLC: 1 for an aborted frame",
            "Endace ERF",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.oe",
            [Location::bits(Layer::Erf, Bits::be32(16).part(28, 1)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 28, 1),
            "MC HDLC: 1 when the frame was not a whole number of octets",
            "Endace ERF",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.lbe",
            [Location::bits(Layer::Erf, Bits::be32(16).part(29, 1)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 29, 1),
            "MC HDLC: 1 when bytes were lost",
            "Endace ERF",
        ),
        mostly_plain!(
            u32,
            "erf.mchdlc.first",
            [Location::bits(Layer::Erf, Bits::be32(16).part(30, 1)).when(MC_HDLC)],
            |p| bits(p, is_mc_hdlc, 30, 1),
            "MC HDLC: 1 for the first record of a connection",
            "Endace ERF",
        ),
        word(
            "erf.mcraw",
            |p| multi_channel(p, is_mc_raw),
            "MC RAW header",
        ),
        word(
            "erf.mcraw.int",
            |p| bits(p, is_mc_raw, 0, 4),
            "MC RAW: physical interface",
        ),
        word(
            "erf.mcraw.sre",
            |p| bits(p, is_mc_raw, 25, 1),
            "MC RAW: 1 for a record shorter than the minimum",
        ),
        word(
            "erf.mcraw.lre",
            |p| bits(p, is_mc_raw, 26, 1),
            "MC RAW: 1 for a record longer than the maximum",
        ),
        word(
            "erf.mcraw.lbe",
            |p| bits(p, is_mc_raw, 29, 1),
            "MC RAW: 1 when bytes were lost",
        ),
        word(
            "erf.mcraw.first",
            |p| bits(p, is_mc_raw, 30, 1),
            "MC RAW: 1 for the first record",
        ),
        word(
            "erf.mcatm",
            |p| multi_channel(p, is_mc_atm),
            "MC ATM header",
        ),
        word(
            "erf.mcatm.cn",
            |p| bits(p, is_mc_atm, 0, 10),
            "MC ATM: connection number",
        ),
        word(
            "erf.mcatm.mul",
            |p| bits(p, is_mc_atm, 15, 1),
            "MC ATM: 1 for an inverse multiplexed connection",
        ),
        word(
            "erf.mcatm.port",
            |p| bits(p, is_mc_atm, 16, 4),
            "MC ATM: physical port",
        ),
        word(
            "erf.mcatm.lbe",
            |p| bits(p, is_mc_atm, 24, 1),
            "MC ATM: 1 when bytes were lost",
        ),
        word(
            "erf.mcatm.hec",
            |p| bits(p, is_mc_atm, 25, 1),
            "MC ATM: 1 when the header check was wrong and corrected",
        ),
        word(
            "erf.mcatm.crc10",
            |p| bits(p, is_mc_atm, 26, 1),
            "MC ATM: 1 for an OAM cell with a wrong CRC-10",
        ),
        word(
            "erf.mcatm.oamcell",
            |p| bits(p, is_mc_atm, 27, 1),
            "MC ATM: 1 for an OAM cell",
        ),
        word(
            "erf.mcatm.first",
            |p| bits(p, is_mc_atm, 28, 1),
            "MC ATM: 1 for the first record of a connection",
        ),
        word(
            "erf.mcrawl",
            |p| multi_channel(p, is_mc_raw_link),
            "MC RAW link header",
        ),
        word(
            "erf.mcrawl.cn",
            |p| bits(p, is_mc_raw_link, 0, 10),
            "MC RAW link: connection number",
        ),
        word(
            "erf.mcrawl.lbe",
            |p| bits(p, is_mc_raw_link, 29, 1),
            "MC RAW link: 1 when bytes were lost",
        ),
        word(
            "erf.mcrawl.first",
            |p| bits(p, is_mc_raw_link, 30, 1),
            "MC RAW link: 1 for the first record of a connection",
        ),
        word(
            "erf.mcaal5",
            |p| multi_channel(p, is_mc_aal5),
            "MC AAL5 header",
        ),
        word(
            "erf.mcaal5.cn",
            |p| bits(p, is_mc_aal5, 0, 10),
            "MC AAL5: connection number",
        ),
        word(
            "erf.mcaal5.port",
            |p| bits(p, is_mc_aal5, 16, 4),
            "MC AAL5: physical port",
        ),
        word(
            "erf.mcaal5.crcck",
            |p| bits(p, is_mc_aal5, 20, 1),
            "MC AAL5: 1 when the CRC was checked",
        ),
        word(
            "erf.mcaal5.crce",
            |p| bits(p, is_mc_aal5, 21, 1),
            "MC AAL5: 1 after a CRC error",
        ),
        word(
            "erf.mcaal5.lenck",
            |p| bits(p, is_mc_aal5, 22, 1),
            "MC AAL5: 1 when the length was checked",
        ),
        word(
            "erf.mcaal5.lene",
            |p| bits(p, is_mc_aal5, 23, 1),
            "MC AAL5: 1 after a length error",
        ),
        word(
            "erf.mcaal5.first",
            |p| bits(p, is_mc_aal5, 28, 1),
            "MC AAL5: 1 for the first record of a connection",
        ),
        word(
            "erf.mcaal2",
            |p| multi_channel(p, is_mc_aal2),
            "MC AAL2 header",
        ),
        word(
            "erf.mcaal2.cn",
            |p| bits(p, is_mc_aal2, 0, 10),
            "MC AAL2: connection number",
        ),
        word(
            "erf.mcaal2.port",
            |p| bits(p, is_mc_aal2, 16, 4),
            "MC AAL2: physical port",
        ),
        word(
            "erf.mcaal2.cid",
            |p| bits(p, is_mc_aal2, 24, 8),
            "MC AAL2: channel identifier",
        ),
        word("erf.aal2", |p| multi_channel(p, is_aal2), "AAL2 header"),
        word(
            "erf.aal2.cid",
            |p| bits(p, is_aal2, 0, 8),
            "AAL2: channel identifier",
        ),
    ],
};

const fn word(name: &'static str, get: fn(&Packet<'_>) -> Option<u32>, doc: &'static str) -> Field {
    Field::u32(name, get, doc, "Endace ERF")
}

/// Records without extension headers: Ethernet, IP, and HDLC with frame relay in it.
pub(super) const SHAPES: &[HeaderShape] = &[
    shape(20, NextHeader::Layer(Layer::FrameRelay))
        .tests(&[IS_MC_HDLC, RELAY_START, RELAY_GOES_ON, RELAY_ENDS, RELAY_20])
        .enabled(guesses),
    shape(20, NextHeader::Layer(Layer::FrameRelay))
        .tests(&[IS_MC_HDLC, RELAY_START, RELAY_GOES_ON, RELAY_ENDS, PADDED_RELAY_20])
        .enabled(guesses),
    shape(20, NextHeader::Layer(Layer::FrameRelay))
        .tests(&[IS_MC_HDLC])
        .enabled(|options| options.erf_hdlc == ErfHdlc::FrameRelay),
    shape(18, BY_TYPE).tests(&[BitsTest::new(
        Bits::byte(8),
        &[(2, 2), (11, 11), (16, 16), (20, 20)],
    )]),
    shape(16, BY_TYPE).tests(&[BitsTest::new(Bits::byte(8), &[(22, 23)])]),
];

/// `len` bytes of headers, and what the length on the wire says behind them.
const fn shape(len: u32, next: NextHeader) -> HeaderShape {
    HeaderShape {
        end: PayloadEnd::Field {
            bits: Bits::be16(14),
            base: len,
            zero_is_outer: true,
        },
        ..HeaderShape::fixed(len, next)
    }
}

const fn guesses(options: &Options) -> bool {
    matches!(options.erf_hdlc, ErfHdlc::Guess)
}

const BY_TYPE: NextHeader = NextHeader::Number {
    bits: Bits::byte(8),
    table: NextTable::ErfType,
};
/// Records that have the multi-channel header of HDLC, of which those with extension headers are not plain.
const MC_HDLC: &[BitsTest] = &[BitsTest::new(Bits::byte(8).part(0, 7), &[(5, 5), (17, 17)])];
const IS_MC_HDLC: BitsTest = BitsTest::new(Bits::byte(8), &[(5, 5)]);
// The test that distinguishes frame relay from PPP and Cisco HDLC, as `is_frame_relay` does.
const RELAY_START: BitsTest = BitsTest::new(
    Bits::byte(20),
    &[(0, 0x0e), (0x10, 0x8e), (0x90, 0xff)],
);
const RELAY_GOES_ON: BitsTest = BitsTest::new(Bits::flag(20, 0), &[(0, 0)]);
const RELAY_ENDS: BitsTest = BitsTest::new(Bits::flag(21, 0), &[(1, 1)]);
const RELAY_20: BitsTest = BitsTest::new(
    Bits::be16(22),
    &[
        (0x0308, 0x0308),
        (0x0380, 0x0380),
        (0x038e, 0x038e),
        (0x03b1, 0x03b1),
        (0x03cc, 0x03cc),
        (0x03cf, 0x03cf),
        (0x0800, 0x0800),
        (0x86dd, 0x86dd),
    ],
);
const PADDED_RELAY_20: BitsTest = BitsTest::new(Bits::be24(22), &[(0x03_0080, 0x03_0080)]);

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    input.need(HEADER_LEN)?;
    let kind = input.u8(8)? & 0x7f;
    let len = header_len(input.bytes).unwrap_or(usize::MAX);
    input.need(len)?;
    let next = match kind {
        1 | 5 | 10 | 15 | 17 | 19 => hdlc(input, len),
        kind => Next::ErfType(kind),
    };
    let header = Header::new(len, next);
    Ok(match usize::from(input.u16_be(14)?) {
        0 => header,
        wire_len => header.with_total(len.saturating_add(wire_len)),
    })
}

/// The record does not say what its HDLC frames carry.
fn hdlc(input: &Input<'_>, len: usize) -> Next {
    let bytes = input.bytes.get(len..).unwrap_or_default();
    match input.options.erf_hdlc {
        ErfHdlc::Guess if matches!(bytes, [0x0f | 0x8f, ..]) => Next::Layer(Layer::CiscoHdlc),
        ErfHdlc::Guess if is_frame_relay(bytes) => Next::Layer(Layer::FrameRelay),
        ErfHdlc::Guess | ErfHdlc::Ppp => Next::Layer(Layer::Ppp),
        ErfHdlc::Chdlc => Next::Layer(Layer::CiscoHdlc),
        ErfHdlc::FrameRelay => Next::Layer(Layer::FrameRelay),
        ErfHdlc::Mtp2 => Next::Payload,
    }
}

/// A Q.922 address of two bytes, unnumbered information, and an identifier that RFC 2427 names.
/// PPP can't look like that: its frames begin with 0xFF or a protocol number, and 0x03 and 0xCC
/// in these places are no packet of a protocol with such a number.
fn is_frame_relay(bytes: &[u8]) -> bool {
    match bytes {
        [first, second, 0x03, nlpid, rest @ ..] if first & 1 == 0 && second & 1 == 1 => {
            matches!(nlpid, 0xcc | 0x8e | 0x80 | 0x08 | 0xb1 | 0xcf)
                || (*nlpid == 0 && rest.first() == Some(&0x80))
        }
        // Cisco's encapsulation: an ethertype (IPv4, ARP, IPv6, MPLS) right behind the address.
        [first, second, 0x08, 0x00 | 0x06, ..]
        | [first, second, 0x86, 0xdd, ..]
        | [first, second, 0x88, 0x47, ..] => first & 1 == 0 && second & 1 == 1,
        _ => false,
    }
}

/// Bytes of `record` in front of the frame: the record header, extension headers and the header
/// of the record's type; `None` when the record ends within them.
pub(crate) fn header_len(record: &[u8]) -> Option<usize> {
    let kind = *record.get(8)?;
    let sub_header_len = match kind & 0x7f {
        kind if is_ethernet(kind) => 2,
        kind if has_channel(kind) => 4,
        _ => 0,
    };
    let extensions_end = extensions_end(record)?;
    extensions_end.checked_add(sub_header_len)
}

/// Length on the wire of an ERF record's frame, as the record says.
pub(crate) fn wire_len(record: &[u8]) -> Option<u32> {
    weir_bytes::u16_be_at(record, 14).map(u32::from)
}

/// The end of the extension headers of eight bytes each; the first byte's high bit announces another one.
fn extensions_end(record: &[u8]) -> Option<usize> {
    let mut more = *record.get(8)? & EXTENDED != 0;
    let mut offset = HEADER_LEN;
    while more {
        more = *record.get(offset)? & EXTENDED != 0;
        offset = offset.checked_add(8)?;
    }
    Some(offset)
}

/// The record type, when the frame is an ERF record.
fn kind(frame: &Frame<'_>) -> u8 {
    match frame.link_type {
        LinkType::ERF => frame.data.get(8).map_or(0, |kind| kind & 0x7f),
        _ => 0,
    }
}

/// The capture interface of an ERF record.
pub(super) fn interface(frame: &Frame<'_>) -> Option<u8> {
    match frame.link_type {
        LinkType::ERF => frame.data.get(9).map(|flags| flags & 3),
        _ => None,
    }
}

/// VPI and VCI of an ERF record of a cell or PDU.
pub(super) fn connection(frame: &Frame<'_>) -> Option<(u32, u32)> {
    let word = weir_bytes::u32_be_at(frame.data, header_len(frame.data)?)?;
    Some((word >> 20 & 0xff, word >> 4 & 0xffff))
}

/// The part of a connection's identity besides VPI and VCI: the interface, and port and connection of multi-channel records.
pub(super) fn lane(frame: &Frame<'_>) -> u32 {
    let interface = frame.interface_id.unwrap_or_default() & 0xff;
    let Some(card) = interface_bits(frame) else {
        return interface << 16;
    };
    interface << 16 | card
}

fn interface_bits(frame: &Frame<'_>) -> Option<u32> {
    let interface = u32::from(interface(frame)?);
    let channel = if is_mc_atm(kind(frame)) {
        let word = weir_bytes::u32_be_at(frame.data, extensions_end(frame.data)?)?;
        (word >> 16 & 0x0f) << 10 | word & 0x03ff
    } else {
        0
    };
    Some(interface << 14 | channel)
}

/// The channel identifier of an AAL2 record.
pub(super) fn aal2_channel(frame: &Frame<'_>) -> Option<u8> {
    let kind = kind(frame);
    if !is_mc_aal2(kind) && !is_aal2(kind) {
        return None;
    }
    let word = weir_bytes::u32_be_at(frame.data, extensions_end(frame.data)?)?;
    let shift = if is_aal2(kind) { 0 } else { 24 };
    Some((word >> shift & 0xff) as u8)
}

/// Offset of the header that belongs to the record's type, for types that `wanted` takes.
fn sub_header(packet: &Packet<'_>, wanted: fn(u8) -> bool) -> Option<usize> {
    let bytes = packet.bytes(Layer::Erf)?;
    wanted(bytes.get(8)? & 0x7f).then(|| extensions_end(bytes))?
}

fn multi_channel(packet: &Packet<'_>, wanted: fn(u8) -> bool) -> Option<u32> {
    packet.u32_be(Layer::Erf, sub_header(packet, wanted)?)
}

/// `count` bits of the multi-channel header from bit `shift`, counted from the lowest.
fn bits(packet: &Packet<'_>, wanted: fn(u8) -> bool, shift: u32, count: u32) -> Option<u32> {
    let word = multi_channel(packet, wanted)?;
    Some(word >> shift & ((1 << count) - 1))
}

fn is_ethernet(kind: u8) -> bool {
    matches!(kind, 2 | 11 | 16 | 20)
}

fn is_coloured(kind: u8) -> bool {
    matches!(kind, 10 | 11 | 15 | 16 | 17 | 19 | 20)
}

fn is_mc_hdlc(kind: u8) -> bool {
    matches!(kind, 5 | 17)
}

fn is_mc_raw(kind: u8) -> bool {
    kind == 6
}

fn is_mc_atm(kind: u8) -> bool {
    kind == 7
}

fn is_mc_raw_link(kind: u8) -> bool {
    kind == 8
}

fn is_mc_aal5(kind: u8) -> bool {
    kind == 9
}

fn is_mc_aal2(kind: u8) -> bool {
    kind == 12
}

fn is_aal2(kind: u8) -> bool {
    kind == 18
}

/// The record has a word that tells its channel.
fn has_channel(kind: u8) -> bool {
    matches!(kind, 5..=9 | 12 | 17 | 18)
}

const HEADER_LEN: usize = 16;
/// Another (extension) header follows.
const EXTENDED: u8 = 0x80;
