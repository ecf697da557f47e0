//! Where Megaco messages lie in packets: UDP, SCTP and TCP, by port and by content.

use weir_bytes::{u8_at, u16_be_at, u32_be_at};
use weir_h248::{Arena, DecodeOptions, Encoding, decode_as, detect, tpkt};
use weir_packet::{Layer, Packet};

/// Ports of the protocol: text, binary (RFC 3525 D.1).
const PORTS: [u16; 2] = [2944, 2945];
/// SCTP's payload protocol identifier of H.248 (H.248.4).
const SCTP_PAYLOAD: u32 = 7;
const SCTP_HEADER: usize = 12;
const SCTP_DATA: u8 = 0;
const SCTP_DATA_HEADER: usize = 16;
const UDP_HEADER: usize = 8;

/// A message in a packet.
#[derive(Clone, Copy, Debug)]
pub struct Lifted<'p> {
    /// Its octets.
    pub octets: &'p [u8],
    /// Its encoding, as its first octets look.
    pub encoding: Encoding,
    /// What carries it: `udp`, `tcp` or `sctp`.
    pub transport: &'static str,
}

/// Gives every message in a packet to `each`, in order. On the protocol's ports (2944, 2945), and
/// under its SCTP identifier, whatever looks like a message in some encoding; elsewhere over UDP what
/// begins as only a message does and decodes.
///
/// A message over TCP counts when it lies in one segment as a whole; the number of octets that belong
/// to others is given.
pub fn lift<'p>(packet: &Packet<'p>, each: &mut dyn FnMut(Lifted<'p>)) -> usize {
    let Some(layer) = packet.transport() else {
        return 0;
    };
    if packet.is_quoted(layer) || packet.is_fragment(layer) {
        return 0;
    }
    let Some(bytes) = packet.bytes(layer) else {
        return 0;
    };
    let port = |offset| u16_be_at(bytes, offset).is_some_and(|port| PORTS.contains(&port));
    let known = port(0) || port(2);
    match layer {
        Layer::Udp => {
            let payload = bytes.get(UDP_HEADER..).unwrap_or_default();
            if let Some(encoding) = found(payload, known) {
                each(Lifted {
                    octets: payload,
                    encoding,
                    transport: "udp",
                });
            }
            0
        }
        Layer::Sctp => {
            sctp(bytes, known, each);
            0
        }
        Layer::Tcp if known => tcp(bytes, each),
        _ => 0,
    }
}

fn found(payload: &[u8], known: bool) -> Option<Encoding> {
    let encoding = detect(payload)?;
    if known || surely(payload, encoding) {
        Some(encoding)
    } else {
        None
    }
}

/// Whether octets on any port are a message: they begin as nothing else does, and decode.
fn surely(payload: &[u8], encoding: Encoding) -> bool {
    let begins = match encoding {
        Encoding::Pretty | Encoding::Compact => {
            let text = payload.trim_ascii_start();
            let word = text.get(..7).unwrap_or_default();
            text.starts_with(b"!/") || word.eq_ignore_ascii_case(b"MEGACO/")
        }
        // SEQUENCE, [1] message, [0] version: within the first octets, whatever the lengths.
        Encoding::Ber => {
            let head = payload.get(..16).unwrap_or(payload);
            head.windows(3)
                .any(|octets| matches!(octets, [0x80, 1, 1..=3]))
        }
        Encoding::Erl => {
            let head = payload.get(..24).unwrap_or(payload);
            head.windows(13).any(|octets| octets == b"MegacoMessage")
        }
        // Nearly everything that begins with a small octet could be PER.
        _ => false,
    };
    begins && decode_as(encoding, payload, &Arena::new(), &DecodeOptions::default()).is_ok()
}

fn sctp<'p>(bytes: &'p [u8], known: bool, each: &mut dyn FnMut(Lifted<'p>)) {
    let mut at = SCTP_HEADER;
    while let Some(len) = u16_be_at(bytes, at.saturating_add(2)) {
        let chunk = bytes.get(at..).unwrap_or_default();
        let len = usize::from(len);
        // First and last fragment at once; what lies in several is not put together.
        let whole = u8_at(chunk, 0) == Some(SCTP_DATA) && u8_at(chunk, 1).unwrap_or(0) & 3 == 3;
        let payload = chunk
            .get(..len)
            .unwrap_or(chunk)
            .get(SCTP_DATA_HEADER..)
            .unwrap_or_default();
        if whole
            && (known || u32_be_at(chunk, 12) == Some(SCTP_PAYLOAD))
            && let Some(encoding) = detect(payload)
        {
            each(Lifted {
                octets: payload,
                encoding,
                transport: "sctp",
            });
        }
        // Chunks begin at multiples of four octets; one without a length ends the walk.
        if len < 4 {
            return;
        }
        at = at.saturating_add(len.next_multiple_of(4));
    }
}

/// Messages behind TPKT headers; gives how many octets are left over.
fn tcp<'p>(bytes: &'p [u8], each: &mut dyn FnMut(Lifted<'p>)) -> usize {
    let header = usize::from(u8_at(bytes, 12).unwrap_or(0) >> 4).saturating_mul(4);
    let mut rest = bytes.get(header.max(20)..).unwrap_or_default();
    while let Ok(Some((octets, used))) = tpkt(rest) {
        if let Some(encoding) = detect(octets) {
            each(Lifted {
                octets,
                encoding,
                transport: "tcp",
            });
        }
        rest = rest.get(used..).unwrap_or_default();
    }
    rest.len()
}
