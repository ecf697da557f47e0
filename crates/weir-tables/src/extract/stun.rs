//! `stun`: one row a message of STUN or TURN.

use weir_messages::stun::{
    BEGINNING_OCTETS, HEADER_OCTETS, StunMessage, attribute, begun, class_word, find, length,
    may_begin, method_word,
};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, Say};
use super::messages::{Length, Messages, Protocol, Push, Way, columns_with_way};
use super::requests::{OpenRequest, Requests};
use super::value::{address, frame, number, seconds};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "stun",
    doc: "one row per STUN or TURN message, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Stun>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
pub(super) struct Stun(Requests<[u8; 12]>);

/// The port of servers (RFC 8489, 8).
const PORT: u16 = 3_478;
/// The magic cookie (RFC 8489, 5).
const COOKIE: [u8; 4] = [0x21, 0x12, 0xa4, 0x42];
/// The class of requests.
const REQUEST: u8 = 0;
/// The class of indications, which have no answer.
const INDICATION: u8 = 1;

impl Protocol for Stun {
    const NAME: &'static str = "stun";

    fn is_datagram(bytes: &[u8], _ports: [u16; 2]) -> bool {
        StunMessage::new(bytes).is_some()
    }

    fn may_be_cut(bytes: &[u8], ports: [u16; 2]) -> bool {
        ports.contains(&PORT) || find(bytes) == Some(0)
    }

    /// The data of TURN's channels, and what a relay passes on, have the same ports.
    fn may_be_damaged(bytes: &[u8], _ports: [u16; 2]) -> bool {
        // The length may be wrong.
        bytes.first().is_some_and(|first| *first < 0x40) && bytes.get(4..8) == Some(&COOKIE)
    }

    const READS_SEGMENTS: bool = true;

    fn begins(bytes: &[u8], _ports: [u16; 2]) -> bool {
        length(bytes).is_some()
    }

    fn may_begin(bytes: &[u8]) -> bool {
        may_begin(bytes)
    }

    fn length(bytes: &[u8]) -> Length {
        // This is data on a channel of TURN (RFC 8656, 12.5), padded to the next word.
        if is_of_channel(bytes)
            && let [_, _, high, low, ..] = bytes
        {
            let octets = usize::from(u16::from_be_bytes([*high, *low]));
            return Length::Message {
                skip: 0,
                total: 4 + octets.next_multiple_of(4),
            };
        }
        match length(bytes) {
            Some(total) => Length::Message { skip: 0, total },
            None if bytes.len() < HEADER_OCTETS => Length::Wait,
            None => Length::Broken,
        }
    }

    /// The cookie says that a header is one.
    const FINDS_ANYWHERE: bool = true;
    const FIND_OCTETS: usize = BEGINNING_OCTETS;

    fn find(bytes: &[u8]) -> Option<usize> {
        find(bytes)
    }

    fn begun(bytes: &[u8]) -> usize {
        begun(bytes)
    }

    /// Data on a channel have no cookie: any octets may look like them.
    fn is_likely(bytes: &[u8]) -> bool {
        StunMessage::new(bytes).is_some()
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let Some(message) = StunMessage::new(bytes) else {
            // The data of a channel are between the messages of a connection, and have no row.
            return is_of_channel(bytes);
        };
        let request = match message.class() {
            REQUEST => {
                self.0.add(way, message.id());
                None
            }
            INDICATION => None,
            _ => self.0.answer(way, message.id()),
        };
        let captured = CapturedStun {
            bytes: bytes.to_vec(),
            id: message.id(),
            time_ns: request.and_then(|request| request.until(way)),
            request,
        };
        let cache = Cache::new(FIELDS.len());
        push(way, &StunItem { captured, cache });
        true
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        self.0.counted()
    }
}

/// Whether octets begin as the data of a channel of TURN do, with its number (RFC 8656, 12).
const fn is_of_channel(bytes: &[u8]) -> bool {
    matches!(bytes, [0x40..=0x4f, ..])
}

struct StunItem {
    captured: CapturedStun,
    cache: Cache,
}

impl Item for StunItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

/// A message as it was captured, of which a row is made when its columns are read.
struct CapturedStun {
    bytes: Vec<u8>,
    id: [u8; 12],
    request: Option<OpenRequest>,
    time_ns: Option<i64>,
}

impl CapturedStun {
    fn message(&self) -> Option<StunMessage<'_>> {
        StunMessage::new(&self.bytes)
    }

    fn text(&self, kind: u16) -> Option<String> {
        self.message()?
            .attribute(kind)
            .map(weir_messages::printable)
    }

    fn number(&self, kind: u16) -> Option<Value<'static>> {
        let value = self.message()?.attribute(kind)?;
        number(u32::from_be_bytes(value.try_into().ok()?))
    }

    /// The address and port of the first attribute of one of these types.
    fn end(&self, kinds: &[u16]) -> Option<(std::net::IpAddr, u16)> {
        let message = self.message()?;
        kinds
            .iter()
            .find_map(|kind| message.address(*kind, message.attribute(*kind)?))
    }

    /// All addresses and ports.
    fn ends(&self) -> impl Iterator<Item = (std::net::IpAddr, u16)> {
        let message = self.message();
        let attributes = message.map(|message| message.attributes()).into_iter();
        attributes
            .flatten()
            .filter_map(move |(kind, value)| message?.address(kind, value))
    }
}

/// The attributes with the address from which the server received the request.
const MAPPED: [u16; 2] = [attribute::XOR_MAPPED_ADDRESS, attribute::MAPPED_ADDRESS];

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<CapturedStun>>] = &[
    ItemField::new("stun.type", Kind::U16, Say::Value(|s| number(s.message()?.kind())),
        "Type: class and method", "RFC 8489, 5"),
    ItemField::new("stun.class", Kind::Text, Say::Value(|s| class_word(s.message()?.class()).map(Value::Text)),
        "Class: request, indication, success or error", "RFC 8489, 5"),
    ItemField::new("stun.method", Kind::Text, Say::Value(|s| method_word(s.message()?.method()).map(Value::Text)),
        "Method: Binding, Allocate, Refresh, …", "RFC 8489, 18.2; RFC 8656, 17"),
    ItemField::new("stun.length", Kind::U16, Say::Value(|s| number(s.message()?.length())),
        "Length of the attributes in octets", "RFC 8489, 5"),
    ItemField::new("stun.id", Kind::Bytes, Say::Value(|s| Some(Value::Bytes(&s.id))),
        "Transaction ID", "RFC 8489, 5"),
    ItemField::new("stun.time", Kind::F64, Say::Value(|s| seconds(s.time_ns?)),
        "Seconds from the request to this response", "weir"),
    ItemField::new("stun.response_to", Kind::U64, Say::Value(|s| frame(s.request?.frame)),
        "Number of the record with the request that this answers", "weir"),
    ItemField::new("stun.att.type", Kind::Numbers, Say::List(|s, list| {
            s.message().into_iter().flat_map(|message| message.attributes()).for_each(|it| list.number(it.0));
        }), "Types of the attributes", "RFC 8489, 14"),
    ItemField::new("stun.mapped_address", Kind::Address, Say::Value(|s| address(s.end(&MAPPED)?.0)),
        "Mapped address: the client's address as the server sees it", "RFC 8489, 14.2"),
    ItemField::new("stun.mapped_port", Kind::U16, Say::Value(|s| number(s.end(&MAPPED)?.1)),
        "Mapped port: the client's port as the server sees it", "RFC 8489, 14.2"),
    ItemField::new("stun.relayed_address", Kind::Address, Say::Value(|s| address(s.end(&[attribute::XOR_RELAYED_ADDRESS])?.0)),
        "Relayed address that the server allocated", "RFC 8656, 18.5"),
    ItemField::new("stun.relayed_port", Kind::U16, Say::Value(|s| number(s.end(&[attribute::XOR_RELAYED_ADDRESS])?.1)),
        "Relayed port that the server allocated", "RFC 8656, 18.5"),
    ItemField::new("stun.peer_address", Kind::Address, Say::Value(|s| address(s.end(&[attribute::XOR_PEER_ADDRESS])?.0)),
        "Address of the peer", "RFC 8656, 18.3"),
    ItemField::new("stun.peer_port", Kind::U16, Say::Value(|s| number(s.end(&[attribute::XOR_PEER_ADDRESS])?.1)),
        "Port of the peer", "RFC 8656, 18.3"),
    ItemField::new("stun.att.ipv4", Kind::Texts, Say::List(|s, list| s.ends().filter(|end| end.0.is_ipv4()).for_each(|end| list.text(end.0))),
        "IPv4 addresses of all attributes", "RFC 8489, 14.1"),
    ItemField::new("stun.att.ipv6", Kind::Texts, Say::List(|s, list| s.ends().filter(|end| end.0.is_ipv6()).for_each(|end| list.text(end.0))),
        "IPv6 addresses of all attributes", "RFC 8489, 14.1"),
    ItemField::new("stun.att.port", Kind::Numbers, Say::List(|s, list| s.ends().for_each(|end| list.number(end.1))),
        "Ports of all attributes", "RFC 8489, 14.1"),
    ItemField::new("stun.att.username", Kind::Text, Say::Text(|s| s.text(attribute::USERNAME)),
        "User name", "RFC 8489, 14.3"),
    ItemField::new("stun.att.realm", Kind::Text, Say::Text(|s| s.text(attribute::REALM)),
        "Realm", "RFC 8489, 14.9"),
    ItemField::new("stun.att.software", Kind::Text, Say::Text(|s| s.text(attribute::SOFTWARE)),
        "Software", "RFC 8489, 14.14"),
    ItemField::new("stun.att.error_code", Kind::U16, Say::Value(|s| number(s.message()?.error()?.0)),
        "Error code, 300 to 699", "RFC 8489, 14.8"),
    ItemField::new("stun.att.error.reason", Kind::Text, Say::Text(|s| Some(weir_messages::printable(s.message()?.error()?.1)).filter(|text| !text.is_empty())),
        "Reason phrase of the error", "RFC 8489, 14.8"),
    ItemField::new("stun.att.lifetime", Kind::U32, Say::Value(|s| s.number(attribute::LIFETIME)),
        "Lifetime of an allocation in seconds", "RFC 8656, 18.2"),
    ItemField::new("stun.att.channelnum", Kind::U16, Say::Value(|s| {
            let value = s.message()?.attribute(attribute::CHANNEL_NUMBER)?;
            number(u16::from_be_bytes(value.get(..2)?.try_into().ok()?))
        }), "Channel number", "RFC 8656, 18.1"),
    ItemField::new("stun.att.priority", Kind::U32, Say::Value(|s| s.number(attribute::PRIORITY)),
        "Priority of a candidate", "RFC 8445, 7.1.1"),
    ItemField::new("stun.use_candidate", Kind::Bool, Say::Value(|s| Some(Value::Bool(s.message()?.attribute(attribute::USE_CANDIDATE).is_some()))),
        "The candidate is to be used", "RFC 8445, 7.1.2"),
];
