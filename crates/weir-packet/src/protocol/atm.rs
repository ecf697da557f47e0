//! ATM cells without header check, as ERF and many recorders write them; and the columns of all
//! three ways in which captures carry ATM.

use weir_bytes::Bits;

use super::{Header, Input, Layer, Next, On, Protocol, erf};
use crate::field::{Field, plain};
use crate::shape::Location;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "atm",
    title: "Asynchronous Transfer Mode cell",
    decode,
    on: &[On::ErfType(3), On::ErfType(7)],
    fields: &[
        Field::u8(
            "atm.vpi",
            |p| match AtmFraming::of(p)? {
                AtmFraming::SunAtm => p.u8(Layer::SunAtm, 1),
                AtmFraming::Cell(layer) => Some((p.u32_be(layer, 0)? >> 20 & 0xff) as u8),
            },
            "Virtual path identifier",
            "ITU-T I.361, 2.2.3",
        ),
        Field::u16(
            "atm.vci",
            |p| match AtmFraming::of(p)? {
                AtmFraming::SunAtm => p.u16_be(Layer::SunAtm, 2),
                AtmFraming::Cell(layer) => Some((p.u32_be(layer, 0)? >> 4 & 0xffff) as u16),
            },
            "Virtual channel identifier",
            "ITU-T I.361, 2.2.3",
        ),
        Field::u8(
            "atm.channel",
            |p| match AtmFraming::of(p)? {
                AtmFraming::SunAtm => p
                    .u8(Layer::SunAtm, 0)
                    .map(|first| u8::from(first & 0x80 == 0)),
                AtmFraming::Cell(_) => erf::interface(p.frame()),
            },
            "Direction or interface: 0 sent, 1 received; in ERF the interface, 0 to 3",
            "LINKTYPE_SUNATM; Endace ERF",
        ),
        plain!(
            u8,
            "atm.payload_type",
            [Location::bits(Layer::Atm, Bits::byte(3).part(1, 3))],
            "Payload type (PTI): below 4 user data, odd for the last cell of an AAL5 PDU; 4 and 5 OAM",
            "ITU-T I.361, 2.2.4",
        ),
        plain!(
            bool,
            "atm.cell_loss_priority",
            [Location::bits(Layer::Atm, Bits::flag(3, 0))],
            "The cell may be dropped first (CLP)",
            "ITU-T I.361, 2.2.5",
        ),
        Field::u8(
            "atm.cid",
            |p| {
                AtmFraming::of(p)?;
                erf::aal2_channel(p.frame())
            },
            "Channel identifier of AAL2",
            "ITU-T I.363.2; Endace ERF",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let word = input.u32_be(0)?;
    let (path, channel) = (word >> 20 & 0xff, word >> 4 & 0xffff);
    let payload_type = word >> 1 & 7;
    // Below 16 a path's channels are for signalling and maintenance, and 0 0 fills idle lines
    // (ITU-T I.361, table 1); of the others, maintenance cells have a payload type of their own.
    let user_data = payload_type < 4 && (channel >= RESERVED_CHANNELS || (path, channel) == (0, 5));
    let next = if user_data {
        let lane = u64::from(erf::lane(input.frame));
        Next::Cell {
            connection: lane << 24 | u64::from(path) << 16 | u64::from(channel),
            last: payload_type & 1 == 1,
        }
    } else {
        Next::Payload
    };
    Ok(Header::new(4, next))
}

/// The framing of ATM in the capture.
enum AtmFraming {
    SunAtm,
    /// A cell header, of a cell or in front of a PDU.
    Cell(Layer),
}

impl AtmFraming {
    fn of(packet: &Packet<'_>) -> Option<Self> {
        if packet.has(Layer::SunAtm) {
            return Some(Self::SunAtm);
        }
        [Layer::Atm, Layer::AtmPdu]
            .into_iter()
            .find(|layer| packet.has(*layer))
            .map(Self::Cell)
    }
}

const RESERVED_CHANNELS: u32 = 16;
