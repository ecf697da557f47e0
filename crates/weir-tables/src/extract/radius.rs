//! `radius`: one row a packet of RADIUS.

use std::net::{Ipv4Addr, Ipv6Addr};

use weir_messages::radius::{
    BEGINNING_OCTETS, OCTETS_MAX, PORTS, Packet, code_word, find, is_understood, status_word,
};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, Say};
use super::messages::{Length, Messages, Protocol, Push, Way, columns_with_way};
use super::requests::{OpenRequest, Requests};
use super::value::{SHORTER_THAN_LENGTH, address, frame, number, seconds};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "radius",
    doc: "one row per RADIUS packet, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Radius>::start,
    arguments: super::settings::SECRETS,
    aliases: &[],
};

/// The number of octets of a packet's header (RFC 2865, 3).
const HEADER_OCTETS: u16 = 20;

/// A request is sent again with the same identifier and authenticator; another one may have the same identifier at once
/// (RFC 2865, 2.5 and 3).
#[derive(Default)]
struct Radius(Requests<u8>);

impl Protocol for Radius {
    const NAME: &'static str = "radius";

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        Packet::new(bytes, ports).is_some()
    }

    const READS_SEGMENTS: bool = true;

    /// Over TCP (RFC 6613) and TLS (RFC 6614) packets follow one another.
    fn begins(bytes: &[u8], ports: [u16; 2]) -> bool {
        let first = bytes.first();
        let is_known = first.is_some_and(|code| code_word(*code).is_some());
        let is_port = ports.iter().any(|port| PORTS.contains(port));
        match Self::length(bytes) {
            Length::Wait => is_port && is_known,
            Length::Message { total, .. } => match bytes.get(..total) {
                Some(packet) => Packet::new(packet, ports).is_some(),
                None => is_port && is_known,
            },
            Length::Broken => false,
        }
    }

    fn may_begin(bytes: &[u8]) -> bool {
        Packet::may_begin(bytes)
    }

    fn length(bytes: &[u8]) -> Length {
        let [_, _, high, low, ..] = bytes else {
            return Length::Wait;
        };
        let total = u16::from_be_bytes([*high, *low]);
        match (HEADER_OCTETS..=OCTETS_MAX).contains(&total) {
            true => Length::Message {
                skip: 0,
                total: total.into(),
            },
            false => Length::Broken,
        }
    }

    fn is_expected(ports: [u16; 2]) -> bool {
        ports.iter().any(|port| PORTS.contains(port))
    }

    const FIND_OCTETS: usize = BEGINNING_OCTETS;

    fn find(bytes: &[u8]) -> Option<usize> {
        find(bytes)
    }

    fn is_likely(bytes: &[u8]) -> bool {
        is_understood(bytes)
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let Some(packet) = Packet::new(bytes, way.ports()) else {
            return false;
        };
        let request = match packet.is_response() {
            true => self.0.answer(way, packet.id()),
            false => {
                let content = packet.authenticator().and_then(<[u8]>::first_chunk);
                let content = content.map_or(0, |octets| u128::from_be_bytes(*octets));
                self.0.add_with(way, packet.id(), content);
                None
            }
        };
        let captured = CapturedRadius {
            bytes: bytes.to_vec(),
            ports: way.ports(),
            is_captured: way.missing == 0,
            time_ns: request.and_then(|request| request.until(way)),
            request,
        };
        let cache = Cache::new(FIELDS.len());
        push(way, &RadiusItem { captured, cache });
        true
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        self.0.counted()
    }
}

struct RadiusItem {
    captured: CapturedRadius,
    cache: Cache,
}

impl Item for RadiusItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

/// A message as it was captured, of which a row is made when its columns are read.
struct CapturedRadius {
    bytes: Vec<u8>,
    ports: [u16; 2],
    /// Whether all octets of what carries it were captured.
    is_captured: bool,
    request: Option<OpenRequest>,
    time_ns: Option<i64>,
}

impl CapturedRadius {
    fn packet(&self) -> Option<Packet<'_>> {
        Packet::new(&self.bytes, self.ports)
    }

    fn fault(&self) -> Option<&'static str> {
        let packet = self.packet()?;
        match self.is_captured && !packet.is_whole() {
            true => Some(SHORTER_THAN_LENGTH),
            false => packet.fault(),
        }
    }

    fn attribute(&self, kind: u8) -> Option<&[u8]> {
        self.packet()?.attribute(kind)
    }

    /// Whether the packet carries EAP; `None` where the octets with it may not have been captured.
    fn has_eap(&self) -> Option<bool> {
        let packet = self.packet()?;
        let is_there = packet.attribute(79).is_some();
        (is_there || packet.is_whole()).then_some(is_there)
    }

    fn text(&self, kind: u8) -> Option<String> {
        self.attribute(kind).map(weir_messages::printable)
    }

    fn bytes(&self, kind: u8) -> Option<Value<'_>> {
        self.attribute(kind).map(Value::Bytes)
    }

    fn integer(&self, kind: u8) -> Option<u32> {
        self.packet()?.number(kind)?.try_into().ok()
    }

    fn number(&self, kind: u8) -> Option<Value<'static>> {
        self.integer(kind).and_then(number)
    }

    fn v4(&self, kind: u8) -> Option<Value<'static>> {
        let octets: [u8; 4] = self.attribute(kind)?.try_into().ok()?;
        address(Ipv4Addr::from(octets).into())
    }

    fn v6(&self, kind: u8) -> Option<Value<'static>> {
        let octets: [u8; 16] = self.attribute(kind)?.try_into().ok()?;
        address(Ipv6Addr::from(octets).into())
    }
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<CapturedRadius>>] = &[
    ItemField::new("radius.code", Kind::U8, Say::Value(|s| number(s.packet()?.code())),
        "Code: 1 access request, 2 accept, 3 reject, 4 accounting request, …", "RFC 2865, 3"),
    ItemField::new("radius.code_name", Kind::Text, Say::Value(|s| code_word(s.packet()?.code()).map(Value::Text)),
        "Name of the code: Access-Request, Access-Accept, …", "RFC 2865, 3; RFC 5176"),
    ItemField::new("radius.id", Kind::U8, Say::Value(|s| number(s.packet()?.id())),
        "Packet identifier, the same in request and response", "RFC 2865, 3"),
    ItemField::new("radius.length", Kind::U16, Say::Value(|s| number(s.packet()?.length())),
        "Length of the packet in octets", "RFC 2865, 3"),
    ItemField::new("radius.authenticator", Kind::Bytes, Say::Value(|s| s.packet()?.authenticator().map(Value::Bytes)),
        "Authenticator", "RFC 2865, 3"),
    ItemField::new("radius.time", Kind::F64, Say::Value(|s| seconds(s.time_ns?)),
        "Seconds from the request to this response", "weir"),
    ItemField::new("radius.reqframe", Kind::U64, Say::Value(|s| frame(s.request?.frame)),
        "Number of the record with the request that this answers", "weir"),
    ItemField::new("radius.avp.type", Kind::Numbers, Say::List(|s, list| {
            s.packet().into_iter().flat_map(|packet| packet.attributes()).for_each(|it| list.number(it.kind));
        }), "Types of the attributes; 26 is vendor-specific, 241 to 246 are extended", "RFC 2865, 5"),
    ItemField::new("radius.avp.extended_type", Kind::Numbers, Say::List(|s, list| {
            s.packet().into_iter().flat_map(|packet| packet.attributes()).filter_map(|it| it.extended_type()).for_each(|kind| list.number(kind));
        }), "Extended types of the attributes of the types 241 to 246; 26 is vendor-specific", "RFC 6929, 2.1"),
    ItemField::new("radius.avp.vendor_id", Kind::Numbers, Say::List(|s, list| {
            s.packet().into_iter().flat_map(|packet| packet.vendors()).for_each(|vendor| list.number(vendor));
        }), "Vendor IDs of the vendor-specific attributes, extended ones, too", "RFC 2865, 5.26; RFC 6929, 2.4"),
    ItemField::new("radius.user_name", Kind::Text, Say::Text(|s| s.text(1)),
        "User name", "RFC 2865, 5.1"),
    ItemField::new("radius.nas_ip_address", Kind::Address, Say::Value(|s| s.v4(4)),
        "IPv4 address of the access server (NAS)", "RFC 2865, 5.4"),
    ItemField::new("radius.nas_port", Kind::U32, Say::Value(|s| s.number(5)),
        "Port of the access server (NAS)", "RFC 2865, 5.5"),
    ItemField::new("radius.service_type", Kind::U32, Say::Value(|s| s.number(6)),
        "Service type: 1 login, 2 framed, …", "RFC 2865, 5.6"),
    ItemField::new("radius.framed_ip_address", Kind::Address, Say::Value(|s| s.v4(8)),
        "IPv4 address of the user", "RFC 2865, 5.8"),
    ItemField::new("radius.framed_mtu", Kind::U32, Say::Value(|s| s.number(12)),
        "MTU of the user", "RFC 2865, 5.12"),
    ItemField::new("radius.reply_message", Kind::Text, Say::Text(|s| s.text(18)),
        "Text for the user", "RFC 2865, 5.18"),
    ItemField::new("radius.state", Kind::Bytes, Say::Value(|s| s.bytes(24)),
        "State that the client returns unmodified", "RFC 2865, 5.24"),
    ItemField::new("radius.session_timeout", Kind::U32, Say::Value(|s| s.number(27)),
        "Session timeout in seconds", "RFC 2865, 5.27"),
    ItemField::new("radius.called_station_id", Kind::Text, Say::Text(|s| s.text(30)),
        "Called number; in wireless networks the access point and its SSID", "RFC 2865, 5.30"),
    ItemField::new("radius.calling_station_id", Kind::Text, Say::Text(|s| s.text(31)),
        "Calling number; in wireless networks the MAC address of the client", "RFC 2865, 5.31"),
    ItemField::new("radius.nas_identifier", Kind::Text, Say::Text(|s| s.text(32)),
        "Name of the access server (NAS)", "RFC 2865, 5.32"),
    ItemField::new("radius.acct_status_type", Kind::U32, Say::Value(|s| s.number(40)),
        "Accounting status type: 1 start, 2 stop, 3 interim update", "RFC 2866, 5.1"),
    ItemField::new("radius.acct_status", Kind::Text, Say::Value(|s| status_word(s.integer(40)?).map(Value::Text)),
        "Name of the accounting status type: Start, Stop, Interim-Update", "RFC 2866, 5.1"),
    ItemField::new("radius.acct_input_octets", Kind::U32, Say::Value(|s| s.number(42)),
        "Octets from the user", "RFC 2866, 5.3"),
    ItemField::new("radius.acct_output_octets", Kind::U32, Say::Value(|s| s.number(43)),
        "Octets to the user", "RFC 2866, 5.4"),
    ItemField::new("radius.acct_session_id", Kind::Text, Say::Text(|s| s.text(44)),
        "Identifier of the session", "RFC 2866, 5.5"),
    ItemField::new("radius.acct_session_time", Kind::U32, Say::Value(|s| s.number(46)),
        "Seconds that the session lasted", "RFC 2866, 5.7"),
    ItemField::new("radius.acct_terminate_cause", Kind::U32, Say::Value(|s| s.number(49)),
        "Why the session ended", "RFC 2866, 5.10"),
    ItemField::new("radius.nas_port_type", Kind::U32, Say::Value(|s| s.number(61)),
        "Port type: 15 Ethernet, 19 wireless", "RFC 2865, 5.41"),
    ItemField::new("radius.eap", Kind::Bool, Say::Value(|s| s.has_eap().map(Value::Bool)),
        "The packet carries EAP", "RFC 3579, 3.1"),
    ItemField::new("radius.message_authenticator", Kind::Bytes, Say::Value(|s| s.bytes(80)),
        "Message authenticator", "RFC 3579, 3.2"),
    ItemField::new("radius.nas_ipv6_address", Kind::Address, Say::Value(|s| s.v6(95)),
        "IPv6 address of the access server (NAS)", "RFC 3162, 2.1"),
    ItemField::new("radius.error_cause", Kind::U32, Say::Value(|s| s.number(101)),
        "Why a change of authorization failed", "RFC 5176, 3.5"),
    ItemField::new("radius.fault", Kind::Text, Say::Value(|s| s.fault().map(Value::Text)),
        "Why attributes could not be read: they end behind the packet, are numbers or addresses of another length, were not captured, or the packet is shorter than its length", "weir"),
];
