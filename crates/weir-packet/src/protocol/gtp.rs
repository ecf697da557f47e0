//! GPRS Tunnelling Protocol: versions 0 and 1, user plane and the header of the control plane, and the
//! header of GTP', which carries charging records.

use std::fmt;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "gtp",
    title: "GPRS Tunnelling Protocol",
    decode,
    on: &[On::UdpPort(2152), On::UdpPort(2123)],
    fields: &[
        Field::u8(
            "gtp.flags",
            |p| p.u8(gtp(p)?, 0),
            "Version and flags",
            "3GPP TS 29.060, 6",
        ),
        Field::u8(
            "gtp.flags.version",
            |p| Some(p.u8(gtp(p)?, 0)? >> 5).filter(|_| kind(p) != Some(GtpHeaderKind::Prime)),
            "Version, 0 or 1; NULL in GTP'",
            "3GPP TS 29.060, 6",
        ),
        Field::u8(
            "gtp.prim.flags.version",
            |p| Some(p.u8(gtp(p)?, 0)? >> 5).filter(|_| kind(p) == Some(GtpHeaderKind::Prime)),
            "Version of GTP', 0 to 2",
            "3GPP TS 32.295, 6.1",
        ),
        Field::u8(
            "gtp.flags.payload",
            |p| Some(p.u8(gtp(p)?, 0)? >> 4 & 1),
            "Protocol type: 1 GTP, 0 GTP' of charging",
            "3GPP TS 29.060, 6",
        ),
        Field::u8(
            "gtp.flags.reserved",
            |p| {
                let flags = p.u8(gtp(p)?, 0)?;
                Some(match kind(p)? {
                    GtpHeaderKind::Version1 => flags >> 3 & 1,
                    GtpHeaderKind::Version0 | GtpHeaderKind::Prime => flags >> 1 & 7,
                })
            },
            "Reserved bits: one, which is 0, in version 1; three, which are 1, in version 0 and GTP'",
            "3GPP TS 29.060, 6; GSM 09.60, 6; 3GPP TS 32.295, 6.1",
        ),
        Field::bool(
            "gtp.flags.hdr_length",
            |p| {
                let flags = p.u8(gtp(p)?, 0)?;
                (kind(p)? == GtpHeaderKind::Prime && flags >> 5 == 0).then_some(flags & 1 != 0)
            },
            "The header of GTP' version 0 has 6 bytes, else 20",
            "3GPP TS 32.295, 6.1",
        ),
        Field::bool(
            "gtp.flags.snn",
            |p| p.bit(only(p, GtpHeaderKind::Version0)?, 0, 1),
            "An SNDCP N-PDU number is present (version 0)",
            "GSM 09.60, 6",
        ),
        Field::bool(
            "gtp.flags.e",
            |p| p.bit(only(p, GtpHeaderKind::Version1)?, 0, 4),
            "An extension header follows (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::bool(
            "gtp.flags.s",
            |p| p.bit(only(p, GtpHeaderKind::Version1)?, 0, 2),
            "The sequence number is valid (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::bool(
            "gtp.flags.pn",
            |p| p.bit(only(p, GtpHeaderKind::Version1)?, 0, 1),
            "The N-PDU number is valid (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u8(
            "gtp.message",
            |p| p.u8(gtp(p)?, 1),
            "Type of the message; 255: user data",
            "3GPP TS 29.281, 6.1",
        ),
        Field::u16(
            "gtp.length",
            |p| p.u16_be(gtp(p)?, 2),
            "Length of what follows the mandatory header in bytes",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u32(
            "gtp.teid",
            |p| p.u32_be(only(p, GtpHeaderKind::Version1)?, 4),
            "Tunnel endpoint identifier at the receiver (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u16(
            "gtp.seq_number",
            |p| match kind(p)? {
                GtpHeaderKind::Version0 | GtpHeaderKind::Prime => p.u16_be(gtp(p)?, 4),
                GtpHeaderKind::Version1 => p.u16_be(gtp(p)?, 8).filter(|_| has_flag(p, 2)),
            },
            "Sequence number, where there is one",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u16(
            "gtp.flow_label",
            |p| p.u16_be(only(p, GtpHeaderKind::Version0)?, 6),
            "Flow label, by which the receiver knows the flow (version 0)",
            "GSM 09.60, 6",
        ),
        Field::u8(
            "gtp.sndcp_number",
            |p| p.u8(only(p, GtpHeaderKind::Version0)?, 8),
            "Number of the N-PDU of SNDCP (version 0)",
            "GSM 09.60, 6",
        ),
        Field::write(
            "gtp.tid",
            write_tunnel,
            "Tunnel identifier: the digits of the IMSI and the NSAPI (version 0)",
            "GSM 09.60, 6",
        ),
        Field::u8(
            "gtp.npdu_number",
            |p| p.u8(only(p, GtpHeaderKind::Version1)?, 10).filter(|_| has_flag(p, 1)),
            "N-PDU number, where there is one (version 1)",
            "3GPP TS 29.281, 5.1",
        ),
        Field::u8(
            "gtp.ext_hdr.next",
            |p| p.u8(only(p, GtpHeaderKind::Version1)?, 11).filter(|_| has_flag(p, 4)),
            "Type of the first extension header",
            "3GPP TS 29.281, 5.2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    // Version 2 has a header of its own, and carries no user data.
    decode_with(input, 1)
}

/// Reads a header whose version is `version_max` or less.
pub(super) fn decode_with(input: &Input<'_>, version_max: u8) -> Result<Header, Reason> {
    let flags = input.u8(0)?;
    if flags >> 5 > version_max {
        return Ok(Header::foreign(Next::Payload));
    }
    match GtpHeaderKind::of(flags) {
        GtpHeaderKind::Version0 => decode_fixed(input, LEN_OF_VERSION_0),
        GtpHeaderKind::Version1 => decode_version_1(input, flags),
        GtpHeaderKind::Prime if flags >> 5 == 0 && flags & 1 == 0 => decode_fixed(input, LEN_OF_VERSION_0),
        GtpHeaderKind::Prime => {
            input.need(LEN_OF_PRIME)?;
            let total = usize::from(input.u16_be(2)?).saturating_add(LEN_OF_PRIME);
            Ok(Header::new(LEN_OF_PRIME, Next::Payload).with_total(total))
        }
    }
}

fn decode_fixed(input: &Input<'_>, len: usize) -> Result<Header, Reason> {
    input.need(len)?;
    let total = usize::from(input.u16_be(2)?).saturating_add(len);
    Ok(Header::new(len, user_data(input, input.u8(1)?, len)?).with_total(total))
}

fn decode_version_1(input: &Input<'_>, flags: u8) -> Result<Header, Reason> {
    input.need(8)?;
    let message = input.u8(1)?;
    let total = usize::from(input.u16_be(2)?) + 8;
    let mut len = 8;
    if flags & 7 != 0 {
        len = 12;
        let mut next = if flags & 4 == 0 { 0 } else { input.u8(11)? };
        while next != 0 {
            // The length of an extension header counts four bytes; its last byte names the next.
            let units = usize::from(input.u8(len)?);
            if units == 0 {
                return Err(Reason::Invalid {
                    field: "gtp.ext_hdr.length",
                    value: 0,
                });
            }
            len = len.saturating_add(units.saturating_mul(4));
            next = input.u8(len.saturating_sub(1))?;
        }
        input.need(len)?;
    }
    Ok(Header::new(len, user_data(input, message, len)?).with_total(total))
}

/// The protocol of a user's packet, by its first half byte: the header does not have it.
fn user_data(input: &Input<'_>, message: u8, at: usize) -> Result<Next, Reason> {
    match message {
        USER_DATA => input.ip_at(at),
        _ => Ok(Next::Payload),
    }
}

/// The kind of a header, by its first byte.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GtpHeaderKind {
    Version0,
    /// And, on the port of charging, what calls itself version 2 and is laid out the same.
    Version1,
    Prime,
}

impl GtpHeaderKind {
    const fn of(flags: u8) -> Self {
        match (flags & 0x10, flags >> 5) {
            (0, _) => Self::Prime,
            (_, 0) => Self::Version0,
            _ => Self::Version1,
        }
    }
}

/// The outermost header on any of the ports.
fn gtp(packet: &Packet<'_>) -> Option<Layer> {
    packet.outermost(Layer::Gtp, Layer::GtpPrime)
}

fn kind(packet: &Packet<'_>) -> Option<GtpHeaderKind> {
    Some(GtpHeaderKind::of(packet.u8(gtp(packet)?, 0)?))
}

/// The layer, where the header is of that sort.
fn only(packet: &Packet<'_>, wanted: GtpHeaderKind) -> Option<Layer> {
    gtp(packet).filter(|_| kind(packet) == Some(wanted))
}

fn has_flag(packet: &Packet<'_>, mask: u8) -> bool {
    gtp(packet).and_then(|layer| packet.bit(layer, 0, mask)) == Some(true)
}

/// Two digits a byte, the low four bits first. Beyond 9 they are written as hexadecimal digits (F stands
/// for none, and an NSAPI may be 10 to 15), where Wireshark has a blank.
fn write_tunnel(packet: &Packet<'_>, out: &mut dyn fmt::Write) -> Result<bool, fmt::Error> {
    let Some(digits) = only(packet, GtpHeaderKind::Version0).and_then(|layer| packet.part(layer, 12, 8)) else {
        return Ok(false);
    };
    for digit in digits.iter().flat_map(|byte| [byte & 15, byte >> 4]) {
        write!(out, "{digit:x}")?;
    }
    Ok(true)
}

/// GTP' has had versions 0 to 2.
pub(super) const VERSION_MAX_OF_CHARGING: u8 = 2;
const LEN_OF_VERSION_0: usize = 20;
const LEN_OF_PRIME: usize = 6;
const USER_DATA: u8 = 255;
