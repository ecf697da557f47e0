//! IEEE 802.11 frames: addresses of all, payload of unprotected data frames.

use super::{Header, Input, Layer, Next, On, Protocol, radiotap};
use crate::field::Field;
use crate::{Address, Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "wlan",
    title: "IEEE 802.11 wireless LAN",
    decode,
    on: &[On::Link(105)],
    fields: &[
        Field::u8(
            "wlan.fc.version",
            |p| Control::of_any(p).map(|control| control.version),
            "Protocol version, 0",
            "IEEE 802.11, 9.2.4.1.2",
        ),
        Field::u8(
            "wlan.fc.type",
            |p| Some(Control::of(p)?.kind),
            "0 management, 1 control, 2 data, 3 extension",
            "IEEE 802.11, 9.2.4.1.3",
        ),
        Field::u8(
            "wlan.fc.subtype",
            |p| Some(Control::of(p)?.subtype),
            "Kind of frame within its type: 8 of type 0 is a beacon, 8 of type 2 QoS data",
            "IEEE 802.11, 9.2.4.1.3",
        ),
        Field::u16(
            "wlan.fc.type_subtype",
            |p| {
                let control = Control::of(p)?;
                let number = u16::from(control.kind << 4 | control.subtype);
                Some(if control.is_extended() {
                    number << 4 | u16::from(control.flags & 0x0f)
                } else {
                    number
                })
            },
            "Type and subtype in one number: 0x08 is a beacon, 0x20 data, 0x28 QoS data",
            "IEEE 802.11, 9.2.4.1.3",
        ),
        Field::bool(
            "wlan.fc.tods",
            |p| Control::of(p)?.flag(TO_DS),
            "To the distribution system",
            "IEEE 802.11, 9.2.4.1.4",
        ),
        Field::bool(
            "wlan.fc.fromds",
            |p| Control::of(p)?.flag(FROM_DS),
            "From the distribution system",
            "IEEE 802.11, 9.2.4.1.4",
        ),
        Field::bool(
            "wlan.fc.frag",
            |p| Control::of(p)?.flag(MORE_FRAGMENTS),
            "More fragments follow",
            "IEEE 802.11, 9.2.4.1.5",
        ),
        Field::bool(
            "wlan.fc.retry",
            |p| Control::of(p)?.flag(0x08),
            "The frame was sent before",
            "IEEE 802.11, 9.2.4.1.6",
        ),
        Field::bool(
            "wlan.fc.pwrmgt",
            |p| Control::of(p)?.flag(0x10),
            "The sender goes into power save",
            "IEEE 802.11, 9.2.4.1.7",
        ),
        Field::bool(
            "wlan.fc.moredata",
            |p| Control::of(p)?.flag(0x20),
            "More frames wait for the receiver",
            "IEEE 802.11, 9.2.4.1.8",
        ),
        Field::bool(
            "wlan.fc.protected",
            |p| Control::of(p)?.flag(PROTECTED),
            "The payload is encrypted",
            "IEEE 802.11, 9.2.4.1.9",
        ),
        Field::bool(
            "wlan.fc.order",
            |p| Control::of(p)?.flag(ORDER),
            "An HT control field is there, or frames must stay in order",
            "IEEE 802.11, 9.2.4.1.10",
        ),
        Field::u16(
            "wlan.duration",
            |p| {
                Control::of(p)?;
                let value = weir_bytes::u16_le_at(p.bytes(wlan(p)?)?, 2)?;
                // The value is an association identifier when the high bit is set.
                (value & 0x8000 == 0).then_some(value)
            },
            "Time in microseconds that the medium is reserved",
            "IEEE 802.11, 9.2.4.2",
        ),
        Field::address(
            "wlan.ra",
            |p| p.address(wlan(p)?, Control::of(p)?.receiver()?, 6),
            "Receiver address",
            "IEEE 802.11, 9.2.4.3.5",
        ),
        Field::address(
            "wlan.ta",
            |p| p.address(wlan(p)?, Control::of(p)?.transmitter()?, 6),
            "Transmitter address",
            "IEEE 802.11, 9.2.4.3.6",
        ),
        Field::address(
            "wlan.da",
            |p| p.address(wlan(p)?, Control::of(p)?.destination()?, 6),
            "Destination address",
            "IEEE 802.11, 9.2.4.3.3",
        ),
        Field::address(
            "wlan.sa",
            |p| p.address(wlan(p)?, Control::of(p)?.source()?, 6),
            "Source address",
            "IEEE 802.11, 9.2.4.3.4",
        ),
        Field::address(
            "wlan.bssid",
            |p| p.address(wlan(p)?, Control::of(p)?.cell()?, 6),
            "Basic service set, as a rule the access point's address",
            "IEEE 802.11, 9.2.4.3.2",
        ),
        Field::u16(
            "wlan.seq",
            |p| Some(sequence(p)? >> 4),
            "Sequence number, 0 to 4095",
            "IEEE 802.11, 9.2.4.4.2",
        ),
        Field::u8(
            "wlan.frag",
            |p| Some((sequence(p)? & 15) as u8),
            "Fragment number, 0 to 15",
            "IEEE 802.11, 9.2.4.4.3",
        ),
        Field::u8(
            "wlan.qos.tid",
            |p| {
                let offset = Control::of(p)?.quality()?;
                Some(p.u8(wlan(p)?, offset)? & 15)
            },
            "Traffic identifier of QoS data, 0 to 15",
            "IEEE 802.11, 9.2.4.5.2",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let is_later_fragment = input.bytes.get(22).is_some_and(|it| it & 15 != 0);
    decode_with(input, input.u8(0)?, input.u8(1)?, is_later_fragment)
}

/// Reads a header whose frame control field has these bytes.
pub(super) fn decode_with(
    input: &Input<'_>,
    first: u8,
    flags: u8,
    is_later_fragment: bool,
) -> Result<Header, Reason> {
    let control = Control::new(first, flags);
    if control.version != 0 {
        // Version 1 has short headers of another shape, others don't exist.
        return Ok(Header::new(2, Next::Payload));
    }
    let len = control.header_len();
    input.need(len)?;
    let opaque = Header::new(len, Next::Payload);
    let has_data = control.kind == DATA && control.subtype & 0x04 == 0;
    if !has_data || control.flags & PROTECTED != 0 || is_later_fragment {
        // No payload, an encrypted one, or a later fragment.
        return Ok(opaque);
    }
    // Some cards pad the header to a multiple of four bytes, which a flag declares.
    let padded = radiotap::flags(input.frame).is_some_and(|flags| flags & radiotap::DATA_PAD != 0);
    let mut len = if padded { len.next_multiple_of(4) } else { len };
    if let Some(offset) = control.quality() {
        let quality = input.u8(offset)?;
        if quality & AGGREGATED != 0 {
            return Ok(Header::new(len, Next::Subframes));
        }
    }
    let rest = input.bytes.get(len..).unwrap_or_default();
    let address = |offset: Option<usize>| offset.and_then(|it| input.bytes.get(it..)?.get(..6));
    let next = match rest {
        [0xaa, 0xaa, ..] => Next::Layer(Layer::Llc),
        // Ethernet frames inside, as some bridges send them.
        _ if rest
            .get(6..12)
            .is_some_and(|it| Some(it) == address(control.source()))
            || rest
                .get(..6)
                .is_some_and(|it| Some(it) == address(control.destination())) =>
        {
            Next::Layer(Layer::Ethernet)
        }
        [0xff, 0xff, ..] => Next::Payload,
        [0, 0, 0xaa, 0xaa, ..] => {
            len += 2;
            Next::Layer(Layer::Llc)
        }
        [] if input.declared <= len => Next::Payload,
        _ => Next::Layer(Layer::Llc),
    };
    Ok(Header::new(len, next))
}

/// The frame control field, which says where everything else is.
#[derive(Clone, Copy)]
struct Control {
    version: u8,
    kind: u8,
    subtype: u8,
    flags: u8,
}

impl Control {
    fn new(first: u8, flags: u8) -> Self {
        Self {
            version: first & 3,
            kind: first >> 2 & 3,
            subtype: first >> 4,
            flags,
        }
    }

    /// The field of a header of version 0.
    fn of(packet: &Packet<'_>) -> Option<Self> {
        Self::of_any(packet).filter(|control| control.version == 0)
    }

    fn of_any(packet: &Packet<'_>) -> Option<Self> {
        let layer = wlan(packet)?;
        let bytes = [packet.u8(layer, 0)?, packet.u8(layer, 1)?];
        let [first, flags] = match layer {
            Layer::WlanOfController => frame_control(bytes),
            _ => bytes,
        };
        Some(Self::new(first, flags))
    }

    /// The low four flags are a longer subtype (IEEE 802.11, 9.2.4.1.3).
    fn is_extended(self) -> bool {
        (self.kind, self.subtype) == (CONTROL, 6)
    }

    /// A flag, in frames in which the bit is one.
    fn flag(self, mask: u8) -> Option<bool> {
        let other =
            self.is_extended() && mask & 0x4f != 0 || self.kind == EXTENSION && self.subtype == 1;
        (!other).then_some(self.flags & mask != 0)
    }

    fn four_addresses(self) -> bool {
        self.kind == DATA && self.flags & (TO_DS | FROM_DS) == TO_DS | FROM_DS
    }

    /// Offset of the QoS control field of data frames that have one.
    fn quality(self) -> Option<usize> {
        let offset = if self.four_addresses() { 30 } else { 24 };
        (self.kind == DATA && self.subtype & 0x08 != 0).then_some(offset)
    }

    fn header_len(self) -> usize {
        let ht_control = if self.flags & ORDER == 0 { 0 } else { 4 };
        match self.kind {
            MANAGEMENT => 24 + ht_control,
            CONTROL => match self.subtype {
                // CTS, ACK.
                12 | 13 => 10,
                // Block ack request, block ack, PS-poll, RTS, CF-end.
                8..=11 | 14 | 15 => 16,
                _ => 10,
            },
            DATA => match self.quality() {
                Some(offset) => offset + 2 + ht_control,
                None if self.four_addresses() => 30,
                None => 24,
            },
            _ => 2,
        }
    }

    fn receiver(self) -> Option<usize> {
        Some(4)
    }

    fn transmitter(self) -> Option<usize> {
        match self.kind {
            MANAGEMENT | DATA => Some(10),
            CONTROL => matches!(self.subtype, 2..=5 | 8..=11 | 15).then_some(10),
            _ => None,
        }
    }

    fn destination(self) -> Option<usize> {
        match (self.kind, self.flags & TO_DS) {
            (MANAGEMENT, _) | (DATA, 0) => Some(4),
            (DATA, _) => Some(16),
            _ => None,
        }
    }

    fn source(self) -> Option<usize> {
        match (self.kind, self.flags & (TO_DS | FROM_DS)) {
            (MANAGEMENT, _) | (DATA, 0 | TO_DS) => Some(10),
            (DATA, FROM_DS) => Some(16),
            (DATA, _) => Some(24),
            (EXTENSION, _) if self.subtype == 1 => Some(4),
            _ => None,
        }
    }

    fn cell(self) -> Option<usize> {
        match (self.kind, self.flags & (TO_DS | FROM_DS)) {
            (MANAGEMENT, _) | (DATA, 0) => Some(16),
            (DATA, TO_DS) => Some(4),
            (DATA, FROM_DS) => Some(10),
            (EXTENSION, _) if self.subtype == 0 => Some(4),
            (CONTROL, _) if self.subtype == POWER_SAVE_POLL => Some(4),
            (CONTROL, _) if self.subtype == CONTENTION_FREE_END => Some(10),
            _ => None,
        }
    }
}

/// The outermost header, on the air or between an access point and its controller.
fn wlan(packet: &Packet<'_>) -> Option<Layer> {
    packet.outermost(Layer::Wlan, Layer::WlanOfController)
}

/// The bytes of the frame control field between an access point and its controller (CAPWAP), in the order of the air. RFC 5416
/// does not mention another order; Cisco's controllers and their peers swap the two, as Wireshark assumes.
///
/// The two lowest bits of the first byte are a version, 0, and those of the second tell the direction,
/// which all data between access points and controllers has. In management frames both are 0: there a
/// second byte of 0 are no flags behind a type. The exception is 10 00, an association request of a
/// station with power management.
pub(super) const fn frame_control([a, b]: [u8; 2]) -> [u8; 2] {
    let is_data = a & 3 == 0 && b & 3 != 0;
    let is_management = a & 0x0f == 0 && b == 0 && a != 0x10;
    if is_data || is_management {
        [a, b]
    } else {
        [b, a]
    }
}

/// Hands each address field of the outermost header to a function until that gives false; gives false when it was stopped. A field
/// may be receiver and destination at once, for example.
pub(super) fn each_address(packet: &Packet<'_>, each: &mut dyn FnMut(Address) -> bool) -> bool {
    let (Some(layer), Some(control)) = (wlan(packet), Control::of(packet)) else {
        return true;
    };
    let offsets = [
        control.receiver(),
        control.transmitter(),
        control.destination(),
        control.source(),
        control.cell(),
    ];
    for offset in ADDRESS_OFFSETS {
        if offsets.contains(&Some(offset))
            && let Some(address) = packet.address(layer, offset, 6)
            && !each(address)
        {
            return false;
        }
    }
    true
}

/// The sequence control field of frames that have one.
fn sequence(packet: &Packet<'_>) -> Option<u16> {
    Control::of(packet).filter(|control| matches!(control.kind, MANAGEMENT | DATA))?;
    weir_bytes::u16_le_at(packet.bytes(wlan(packet)?)?, 22)
}

/// The offsets of the address fields.
const ADDRESS_OFFSETS: [usize; 4] = [4, 10, 16, 24];
const MANAGEMENT: u8 = 0;
const CONTROL: u8 = 1;
const DATA: u8 = 2;
const EXTENSION: u8 = 3;
const POWER_SAVE_POLL: u8 = 10;
const CONTENTION_FREE_END: u8 = 14;
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
pub(super) const MORE_FRAGMENTS: u8 = 0x04;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;
const AGGREGATED: u8 = 0x80;

#[test]
fn frame_control_is_read_in_the_order_in_which_it_makes_sense() {
    for (bytes, first, flags) in [
        // A probe request, data to and from the distribution system, QoS data, protected data: swapped.
        ([0x00, 0x40], 0x40, 0x00),
        ([0x01, 0x08], 0x08, 0x01),
        ([0x11, 0x08], 0x08, 0x11),
        ([0x02, 0x88], 0x88, 0x02),
        ([0x42, 0x88], 0x88, 0x42),
        // The frames are an association request with power management, and one that is sent again.
        ([0x10, 0x00], 0x00, 0x10),
        ([0x08, 0x00], 0x00, 0x08),
        // The bytes are in the order of the air.
        ([0x08, 0x01], 0x08, 0x01),
        ([0x88, 0x42], 0x88, 0x42),
        ([0x40, 0x00], 0x40, 0x00),
        ([0x80, 0x00], 0x80, 0x00),
        ([0x00, 0x00], 0x00, 0x00),
    ] {
        assert_eq!(frame_control(bytes), [first, flags], "{bytes:02x?}");
    }
}
