//! Cisco FabricPath: an Ethernet frame in another, whose addresses name switches.

use super::{Header, Input, Layer, Next, On, Protocol};
use crate::field::Field;
use crate::{Packet, Reason};

pub(super) const PROTOCOL: Protocol = Protocol {
    name: "cfp",
    title: "Cisco FabricPath",
    decode,
    // Only that the ethertype leads to a header that is decoded: `ethernet.rs` hands the frame over whole.
    on: &[On::Ethertype(ETHERTYPE)],
    fields: &[
        Field::address(
            "cfp.d_hmac_mc",
            |p| {
                let is_group = p.bit(CFP, 0, GROUP)?;
                p.address(CFP, 0, 6).filter(|_| is_group)
            },
            "Destination MAC address, where it is multicast or broadcast",
            "Cisco FabricPath",
        ),
        Field::u16(
            "cfp.swid",
            |p| Some(p.u16_be(CFP, switch(p)? + 1)? & 0x0fff),
            "Switch of the destination; of the source where the destination is a group",
            "Cisco FabricPath",
        ),
        Field::u8(
            "cfp.sswid",
            |p| p.u8(CFP, switch(p)? + 3),
            "Sub-switch identifier, for port channels of two switches",
            "Cisco FabricPath",
        ),
        Field::u16(
            "cfp.lid",
            |p| p.u16_be(CFP, switch(p)? + 4),
            "Port within the switch of cfp.swid",
            "Cisco FabricPath",
        ),
        Field::bool(
            "cfp.ooodl",
            |p| p.bit(CFP, switch(p)? + 1, 0x10),
            "Out-of-order delivery is allowed; in a source address: do not learn it",
            "Cisco FabricPath",
        ),
        Field::u16(
            "cfp.etype",
            |p| p.u16_be(CFP, tag_at(p.bytes(CFP)?)?),
            "Ethertype, 0x8903",
            "Cisco FabricPath",
        ),
        Field::u16(
            "cfp.ftag",
            |p| Some(p.u16_be(CFP, tag_at(p.bytes(CFP)?)? + 2)? >> 6),
            "Forwarding tag: the tree that the frame takes, 0 to 1023",
            "Cisco FabricPath",
        ),
        Field::u8(
            "cfp.ttl",
            |p| Some(p.u8(CFP, tag_at(p.bytes(CFP)?)? + 3)? & 0x3f),
            "Time to live: hops left, 0 to 63",
            "Cisco FabricPath",
        ),
    ],
};

fn decode(input: &Input<'_>) -> Result<Header, Reason> {
    let Some(at) = tag_at(input.bytes) else {
        // The ethertype does not stand behind addresses of Ethernet.
        return Ok(Header::foreign(Next::Payload));
    };
    let len = at.saturating_add(TAG_LEN);
    input.need(len)?;
    Ok(Header::new(len, Next::Layer(Layer::Ethernet)))
}

/// Offset of the ethertype of FabricPath behind the addresses, or behind them and a VLAN tag; `None`
/// for frames that are no FabricPath.
pub(super) fn tag_at(frame: &[u8]) -> Option<usize> {
    match weir_bytes::u16_be_at(frame, ADDRESSES_LEN)? {
        ETHERTYPE => Some(ADDRESSES_LEN),
        VLAN | SERVICE_VLAN => {
            let at = ADDRESSES_LEN + TAG_LEN;
            (weir_bytes::u16_be_at(frame, at)? == ETHERTYPE).then_some(at)
        }
        _ => None,
    }
}

/// Offset of the first address that names a switch.
fn switch(packet: &Packet<'_>) -> Option<usize> {
    Some(if packet.bit(CFP, 0, GROUP)? { 6 } else { 0 })
}

const CFP: Layer = Layer::FabricPath;
/// Cisco's Data Center Ethernet.
pub(super) const ETHERTYPE: u16 = 0x8903;
const VLAN: u16 = 0x8100;
const SERVICE_VLAN: u16 = 0x88a8;
const ADDRESSES_LEN: usize = 12;
const TAG_LEN: usize = 4;
/// The bit of an address that makes it a group's.
const GROUP: u8 = 0x01;
