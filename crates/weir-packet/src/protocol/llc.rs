//! IEEE 802.2 Logical Link Control, and the SNAP header that often follows it.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "llc",
    title: "IEEE 802.2 Logical Link Control",
    decode,
    on: &[On::Link(100), On::Link(11), On::Ethertype(0x8870)],
    fields: &[
        plain!(
            u8,
            "llc.dsap",
            [Location::bits(Layer::Llc, Bits::byte(0))],
            "Destination service access point; 0xAA announces SNAP",
            "IEEE 802.2, 3.3.1",
        ),
        plain!(
            u8,
            "llc.ssap",
            [Location::bits(Layer::Llc, Bits::byte(1))],
            "Source service access point; the lowest bit marks responses",
            "IEEE 802.2, 3.3.1",
        ),
        Field::u16(
            "llc.control",
            |p| control(p.bytes(Layer::Llc)?, 2).map(|(control, _)| control),
            "Control field, 8 bits for unnumbered frames (3 is UI) and 16 for others, low byte first",
            "IEEE 802.2, 5.2",
        ),
        Field::u32(
            "llc.oui",
            |p| Snap::of(p).map(|snap| snap.organisation),
            "SNAP: organisation that defines the protocol number; 0 for ethertypes",
            "IEEE 802, 9.5",
        ),
        Field::u16(
            "llc.type",
            |p| Snap::of(p)?.ethertype(p.u8(Layer::Llc, 2)?),
            "SNAP: ethertype of the payload",
            "RFC 1042",
        ),
        Field::u16(
            "llc.pid",
            |p| Snap::of(p)?.protocol_unless_known(),
            "SNAP: protocol number of an organisation that has no column of its own",
            "IEEE 802, 9.5",
        ),
        Field::u16(
            "llc.cisco_pid",
            |p| Snap::of(p)?.protocol_of(CISCO),
            "SNAP: Cisco's protocol number, such as 0x2000 for CDP",
            "Cisco",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let destination = input.u8(0)?;
    let source = input.u8(1)?;
    let first = input.u8(2)?;
    let unnumbered = first & 3 == 3;
    let control_len = if unnumbered { 1 } else { 2 };
    let len = 2 + control_len;
    input.need(len)?;
    if (destination, source) == (SNAP_SAP, SNAP_SAP) {
        // ATM puts two bytes of padding in front of bridged frames (RFC 2684, 5.2).
        let (snap_len, next) = snap(input, len, first, 2)?;
        return Ok(Header::new(len + snap_len, next));
    }
    if !is_information(first) {
        return Ok(Header::new(len, Next::Payload));
    }
    if destination == ISO_SAP {
        let identifier = input.u8(len)?;
        return Ok(match Next::Nlpid(identifier).layer() {
            Some(_) => Header::new(len + 1, Next::Nlpid(identifier)),
            None => Header::new(len, Next::Payload),
        });
    }
    Ok(Header::new(len, Next::LlcSap(destination)))
}

/// True for the frames that carry a payload: unnumbered and numbered information.
fn is_information(control: u8) -> bool {
    control == UNNUMBERED_INFORMATION || control & 1 == 0
}

/// The control field at `offset`, and its length in bytes.
pub(super) fn control(bytes: &[u8], offset: usize) -> Option<(u16, usize)> {
    let first = weir_bytes::u8_at(bytes, offset)?;
    if first & 3 == 3 {
        Some((u16::from(first), 1))
    } else {
        Some((weir_bytes::u16_le_at(bytes, offset)?, 2))
    }
}

/// Reads a SNAP header at `offset`, behind a control field: its length and what follows. `pad_len`
/// bytes stand in front of bridged frames.
pub(super) fn snap(
    input: &Input<'_>,
    offset: usize,
    control: u8,
    pad_len: usize,
) -> Result<(usize, Next), Reason> {
    input.need(offset.saturating_add(Snap::LEN))?;
    let snap = Snap::at(input.bytes, offset);
    let Some(snap) = snap else {
        return Ok((Snap::LEN, Next::Payload));
    };
    if matches!(snap.organisation, ENCAPSULATED | BRIDGE_TUNNEL | APPLE) {
        return Ok(if is_information(control) {
            (Snap::LEN, Next::Ethertype(snap.protocol))
        } else {
            (Snap::LEN, Next::Payload)
        });
    }
    Ok(match (snap.organisation, snap.protocol) {
        // The payload is Ethernet with or without frame check sequence (RFC 2684, 5.2; RFC 2427, 4.2).
        (IEEE_802_1, 1 | 7) => (Snap::LEN + pad_len, Next::Layer(Layer::Ethernet)),
        _ => (Snap::LEN, Next::Payload),
    })
}

/// A SNAP header: an organisation and a protocol number of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Snap {
    pub(super) organisation: u32,
    pub(super) protocol: u16,
}

impl Snap {
    const LEN: usize = 5;

    pub(super) fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        Some(Self {
            organisation: weir_bytes::u24_be_at(bytes, offset)?,
            protocol: weir_bytes::u16_be_at(bytes, offset.checked_add(3)?)?,
        })
    }

    fn of(packet: &Packet<'_>) -> Option<Self> {
        let bytes = packet.bytes(Layer::Llc)?;
        if bytes.get(..2) != Some(&[SNAP_SAP, SNAP_SAP]) {
            return None;
        }
        let (_, control_len) = control(bytes, 2)?;
        Self::at(bytes, 2 + control_len)
    }

    /// The protocol number, where it is an ethertype.
    pub(super) fn ethertype(self, control: u8) -> Option<u16> {
        (self.has_ethertype() && is_information(control)).then_some(self.protocol)
    }

    fn has_ethertype(self) -> bool {
        matches!(self.organisation, ENCAPSULATED | BRIDGE_TUNNEL)
    }

    fn protocol_of(self, organisation: u32) -> Option<u16> {
        (self.organisation == organisation).then_some(self.protocol)
    }

    /// The protocol number, unless Wireshark shows it under the organisation's own name.
    pub(super) fn protocol_unless_known(self) -> Option<u16> {
        let known = self.has_ethertype() || WITH_OWN_NAME.contains(&self.organisation);
        (!known).then_some(self.protocol)
    }
}

pub(super) const SNAP_SAP: u8 = 0xaa;
const ISO_SAP: u8 = 0xfe;
const CISCO: u32 = 0x00_000c;
pub(super) const UNNUMBERED_INFORMATION: u8 = 0x03;
/// Ethertypes (RFC 1042).
const ENCAPSULATED: u32 = 0;
const IEEE_802_1: u32 = 0x00_80c2;
/// Ethertypes that a translating bridge must not restore as Ethernet II (IEEE 802.1H).
const BRIDGE_TUNNEL: u32 = 0x00_00f8;
const APPLE: u32 = 0x08_0007;
/// Cisco, Apple, Nortel, Force10, IANA, Cimetrics, Apple AWDL, Bluetooth, Cisco WLCCP, Extreme,
/// Foundry.
const WITH_OWN_NAME: &[u32] = &[
    CISCO, APPLE, 0x00_0081, 0x00_01e8, 0x00_005e, 0x00_1090, 0x00_17f2, 0x00_1958, 0x00_4096,
    0x00_e02b, 0x00_e052,
];
