//! `ntp`: one row a packet of NTP.

use weir_messages::ntp::{PORT, Packet};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::messages::{Messages, Protocol, Push, Way, columns_with_way};
use super::value::number;
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "ntp",
    doc: "one row per NTP packet of a client, a server or a peer, on any port, and per control or private message on its own",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Ntp>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
struct Ntp;

impl Protocol for Ntp {
    const NAME: &'static str = "ntp";

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        Packet::new(bytes, ports).is_some()
    }

    const REPORTS_CUT: bool = true;

    fn may_be_cut(_bytes: &[u8], ports: [u16; 2]) -> bool {
        ports.contains(&PORT)
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let Some(packet) = Packet::new(bytes, way.ports()) else {
            return false;
        };
        let item = NtpItem {
            packet,
            reference: packet.reference_id(),
            fault: match (way.missing, packet.is_whole()) {
                (1.., _) => Some("bytes were not captured"),
                (0, false) => Some("the packet ends within its header"),
                (0, true) => None,
            },
        };
        push(way, &item);
        true
    }
}

struct NtpItem<'m> {
    packet: Packet<'m>,
    reference: Option<[u8; 4]>,
    fault: Option<&'static str>,
}

impl Item for NtpItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

impl<'m> NtpItem<'m> {
    /// A value that packets of the time have.
    fn of_time<T>(&self, get: impl FnOnce(&Packet<'m>) -> T) -> Option<T> {
        self.packet.is_of_time().then(|| get(&self.packet))
    }

    /// The leap indicator, in the place of which private messages have other flags.
    fn leap(&self) -> Option<u8> {
        Some(self.packet.leap()).filter(|_| self.packet.mode() != PRIVATE)
    }
}

/// The mode of private messages.
const PRIVATE: u8 = 7;

type NtpGetter = for<'i> fn(&'i NtpItem<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<NtpGetter>] = &[
    ItemField::new("ntp.flags.li", Kind::U8, |n| number(n.leap()?),
        "Leap indicator: leap seconds to come; 3 when the clock is not synchronized; NULL in private messages", "RFC 5905, 7.3"),
    ItemField::new("ntp.flags.vn", Kind::U8, |n| number(n.packet.version()),
        "Version", "RFC 5905, 7.3"),
    ItemField::new("ntp.flags.mode", Kind::U8, |n| number(n.packet.mode()),
        "Mode: 1 and 2 peers, 3 client, 4 server, 5 broadcast, 6 control message, 7 private message, of both of which the columns below are NULL", "RFC 5905, 7.3"),
    ItemField::new("ntp.stratum", Kind::U8, |n| number(n.of_time(Packet::stratum)?),
        "Stratum: 1 has a reference clock; 0 unspecified, or a kiss-o'-death packet", "RFC 5905, 7.3"),
    ItemField::new("ntp.ppoll", Kind::U8, |n| number(n.of_time(Packet::poll)?),
        "Poll interval, as a power of two of seconds", "RFC 5905, 7.3"),
    ItemField::new("ntp.precision", Kind::I64, |n| Some(Value::Signed(n.of_time(Packet::precision)?.into())),
        "Precision of the clock, as a power of two of seconds", "RFC 5905, 7.3"),
    ItemField::new("ntp.root_delay", Kind::F64, |n| n.of_time(Packet::root_delay)?.map(Value::Float),
        "Round-trip delay to the reference clock, in seconds", "RFC 5905, 7.3"),
    ItemField::new("ntp.root_disp", Kind::F64, |n| n.of_time(Packet::root_dispersion)?.map(Value::Float),
        "Dispersion to the reference clock, in seconds", "RFC 5905, 7.3"),
    ItemField::new("ntp.refid", Kind::Bytes, |n| Some(Value::Bytes(n.reference.as_ref()?)).filter(|_| n.packet.is_of_time()),
        "Reference ID: source such as GPS, or the address of the server that it follows", "RFC 5905, 7.3"),
    ItemField::new("ntp.reftime", Kind::Time, |n| n.of_time(Packet::reference_time)?.map(Value::Time),
        "Reference timestamp: when the clock was last set", "RFC 5905, 7.3"),
    ItemField::new("ntp.org", Kind::Time, |n| n.of_time(Packet::origin_time)?.map(Value::Time),
        "Origin timestamp: when the client sent the request, by its clock", "RFC 5905, 7.3"),
    ItemField::new("ntp.rec", Kind::Time, |n| n.of_time(Packet::receive_time)?.map(Value::Time),
        "Receive timestamp: when the server received the request, by its clock", "RFC 5905, 7.3"),
    ItemField::new("ntp.xmt", Kind::Time, |n| n.of_time(Packet::transmit_time)?.map(Value::Time),
        "Transmit timestamp: when this packet was sent, by the sender's clock", "RFC 5905, 7.3"),
    ItemField::new("ntp.fault", Kind::Text, |n| n.fault.map(Value::Text),
        "Why not all of the packet is read: bytes were not captured, or the packet ends within its header", "weir"),
];
