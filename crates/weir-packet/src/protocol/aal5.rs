//! AAL5 PDUs: what they carry (RFC 2684), and their trailer.

use super::{Header, Input, Layer, Next, Protocol, erf, raw_ip, sunatm};
use crate::field::Field;
use crate::{AtmVcMux, Frame, LinkType, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "aal5",
    title: "ATM adaptation layer 5",
    decode,
    on: &[],
    fields: &[
        Field::u16(
            "atm.cells",
            |p| {
                let declared = p
                    .declared_len(Layer::Aal5)
                    .filter(|_| has_trailer(p.frame()))?;
                (declared % 48 == 0).then(|| u16::try_from(declared / 48).ok())?
            },
            "Cells that the PDU takes, its trailer included",
            "ITU-T I.363.5, 9.2.1",
        ),
        Field::u16(
            "atm.aal5t_len",
            |p| Some(trailer_of(p)?.payload_len),
            "Length of the payload in bytes, as the PDU's trailer says",
            "ITU-T I.363.5, 9.2.1.2",
        ),
        Field::u32(
            "atm.aal5t_crc",
            |p| Some(trailer_of(p)?.checksum),
            "CRC-32 in the PDU's trailer",
            "ITU-T I.363.5, 9.2.1.2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let payload_len = Trailer::of(input.bytes, input.declared)
        .filter(|_| has_trailer(input.frame))
        .map(|it| it.payload_len.into());
    let bytes = input
        .bytes
        .get(..payload_len.unwrap_or(usize::MAX))
        .unwrap_or(input.bytes);
    let header = match input.options.atm_vc_mux {
        _ if is_signalling(input.frame) => Header::new(0, Next::Payload),
        AtmVcMux::Guess => guess(bytes),
        _ if bytes.starts_with(&LLC_SNAP) => Header::new(0, Next::Layer(Layer::Llc)),
        AtmVcMux::Llc => Header::new(0, Next::Layer(Layer::Llc)),
        AtmVcMux::Ip => Header::new(0, raw_ip::by_version(bytes)),
        AtmVcMux::BridgedEthernet => Header::new(PAD_LEN, Next::Layer(Layer::Ethernet)),
        AtmVcMux::Ppp => Header::new(0, Next::Layer(Layer::Ppp)),
        AtmVcMux::Opaque => Header::new(0, Next::Payload),
    };
    Ok(match payload_len {
        Some(len) => header.with_total(len),
        None => header,
    })
}

/// True for the connections by which ATM itself is managed: Q.2931 and ILMI.
fn is_signalling(frame: &Frame<'_>) -> bool {
    match frame.link_type {
        LinkType::SUNATM => sunatm::is_signalling(frame),
        LinkType::ERF => matches!(erf::connection(frame), Some((0, 5 | 16))),
        _ => false,
    }
}

/// Guesses the contents of a PDU by its first bytes. RFC 2684 leaves it to configuration whether there is an LLC header, and which
/// protocol follows without one.
fn guess(bytes: &[u8]) -> Header {
    let byte = |index: usize| bytes.get(index).copied().unwrap_or_default();
    let frame_relay = |at: usize| {
        byte(at) == 0x03
            && (matches!(byte(at + 1), 0xcc | 0x8e) || (byte(at + 1), byte(at + 2)) == (0, 0x80))
    };
    let (len, next) = match bytes {
        [0xaa, 0xaa, 0x03, ..] | [0xfe, 0xfe, 0x03, ..] => (0, Next::Layer(Layer::Llc)),
        // Less can't hold a header of any of these.
        _ if bytes.len() < 8 => (0, Next::Payload),
        // LAN emulation (af-lane-0021): a client's number, two addresses, a type and its packet.
        [
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            0x08,
            0x00,
            0x45..=0x4f,
            ..,
        ]
        | [_, _, _, _, _, _, _, _, _, _, _, _, _, _, 0x08, 0x06, 0, ..]
        | [
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            0x86,
            0xdd,
            0x60..=0x6f,
            ..,
        ] if !bytes.starts_with(&[0, 0]) => (0, Next::Layer(Layer::LanEmulation)),
        // PPP with IPv4 (RFC 2364).
        [_, 0x21, ..] => (0, Next::Layer(Layer::Ppp)),
        // Bridged Ethernet without LLC is padded by two zeros (RFC 2684, 6.2).
        [0, 0, ..] => (PAD_LEN, Next::Layer(Layer::Ethernet)),
        // Frame relay interworking (FRF.5) with an address of two or four bytes.
        _ if frame_relay(2) || frame_relay(4) => (0, Next::Layer(Layer::FrameRelay)),
        _ => (0, raw_ip::by_version(bytes)),
    };
    Header::new(len, next)
}

fn trailer_of(packet: &Packet<'_>) -> Option<Trailer> {
    if !has_trailer(packet.frame()) {
        return None;
    }
    let declared = usize::try_from(packet.declared_len(Layer::Aal5)?).ok()?;
    Trailer::of(packet.bytes(Layer::Aal5)?, declared)
}

/// SunATM devices hand over PDUs without padding and trailer.
fn has_trailer(frame: &Frame<'_>) -> bool {
    frame.link_type != LinkType::SUNATM
}

/// The last eight bytes of a PDU.
struct Trailer {
    payload_len: u16,
    checksum: u32,
}

impl Trailer {
    /// The trailer of a PDU of `declared` bytes; `None` when it was cut off or left out, which a
    /// length tells that doesn't fit.
    fn of(bytes: &[u8], declared: usize) -> Option<Self> {
        if bytes.len() < declared {
            return None;
        }
        let room = bytes.len().checked_sub(8)?;
        let payload_len = weir_bytes::u16_be_at(bytes, room.checked_add(2)?)?;
        let padding = room.checked_sub(usize::from(payload_len))?;
        let trailer = Self {
            payload_len,
            checksum: weir_bytes::u32_be_at(bytes, room.checked_add(4)?)?,
        };
        (payload_len > 0 && padding < 48).then_some(trailer)
    }
}

const LLC_SNAP: [u8; 3] = [0xaa, 0xaa, 0x03];
const PAD_LEN: usize = 2;
