//! `m3ua`: one row a message of M3UA.

use weir_messages::m3ua::{M3uaMessage, Transfer};
use weir_messages::printable;
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, Say};
use super::messages::{Messages, Protocol, Push, Way, columns_with_way};
use super::value::number;
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "m3ua",
    doc: "one row per M3UA message over SCTP",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<M3ua>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
pub(super) struct M3ua;

/// The identifier of SCTP payloads that are M3UA (RFC 4666, 7.1).
pub(super) const IDENTIFIER: u32 = 3;

impl Protocol for M3ua {
    const NAME: &'static str = "m3ua";

    fn is_datagram(bytes: &[u8], _ports: [u16; 2]) -> bool {
        M3uaMessage::new(bytes).is_some()
    }

    fn is_of_carrier(payload_protocol: u32) -> bool {
        payload_protocol == IDENTIFIER
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let is_message = way.transport == "sctp" && M3uaMessage::new(bytes).is_some();
        if is_message {
            let item = M3uaItem {
                captured: CapturedM3ua(bytes.to_vec()),
                cache: Cache::new(FIELDS.len()),
            };
            push(way, &item);
        }
        is_message
    }
}

struct M3uaItem {
    captured: CapturedM3ua,
    cache: Cache,
}

impl Item for M3uaItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

/// A message as it was captured, of which a row is made when its columns are read.
struct CapturedM3ua(Vec<u8>);

impl CapturedM3ua {
    fn message(&self) -> Option<M3uaMessage<'_>> {
        M3uaMessage::new(&self.0)
    }

    fn transfer(&self) -> Option<Transfer<'_>> {
        self.message()?.transfer()
    }

    fn number(&self, tag: u16) -> Option<Value<'static>> {
        number(self.message()?.number(tag)?)
    }

    fn numbers(&self, tag: u16) -> Vec<u32> {
        let value = self.message().and_then(|it| it.parameter(tag));
        let words = value.unwrap_or_default().as_chunks::<4>().0;
        words.iter().map(|word| u32::from_be_bytes(*word)).collect()
    }

    /// Returns half of a status parameter.
    fn status(&self, shift: u32) -> Option<Value<'static>> {
        number(self.message()?.number(0x000d)? >> shift & 0xffff)
    }
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<CapturedM3ua>>] = &[
    ItemField::new("m3ua.version", Kind::U8, Say::Value(|s| number(s.message()?.version())),
        "Version: 1", "RFC 4666, 3.1.1"),
    ItemField::new("m3ua.message_class", Kind::U8, Say::Value(|s| number(s.message()?.class())),
        "Message class: 0 management, 1 transfer, 2 signalling network management, 3 ASP state, 4 ASP traffic, 9 routing key management", "RFC 4666, 3.1.2"),
    ItemField::new("m3ua.message_type", Kind::U8, Say::Value(|s| number(s.message()?.kind())),
        "Message type within the class", "RFC 4666, 3.1.2"),
    ItemField::new("m3ua.message", Kind::Text, Say::Value(|s| s.message()?.name().map(Value::Text)),
        "Name of class and type: DATA, ASPUP, ASPAC_ACK, DUNA, …", "RFC 4666, 3.1.2"),
    ItemField::new("m3ua.message_length", Kind::U32, Say::Value(|s| number(s.message()?.length())),
        "Length of the message in octets", "RFC 4666, 3.1.4"),
    ItemField::new("m3ua.parameter_tag", Kind::Numbers, Say::List(|s, list| s.message().into_iter().flat_map(|it| it.parameters()).for_each(|(tag, _)| list.number(tag))),
        "Tags of the parameters", "RFC 4666, 3.2"),
    ItemField::new("m3ua.network_appearance", Kind::U32, Say::Value(|s| s.number(0x0200)),
        "Network appearance: network that the point codes belong to", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.routing_context", Kind::Numbers, Say::List(|s, list| list.numbers(&s.numbers(0x0006))),
        "Routing context", "RFC 4666, 1.4.2.4"),
    ItemField::new("m3ua.protocol_data_opc", Kind::U32, Say::Value(|s| number(s.transfer()?.opc)),
        "Originating point code", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.protocol_data_dpc", Kind::U32, Say::Value(|s| number(s.transfer()?.dpc)),
        "Destination point code", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.protocol_data_si", Kind::U8, Say::Value(|s| number(s.transfer()?.service)),
        "Service indicator: 3 SCCP, 5 ISUP, …", "RFC 4666, 3.3.1; ITU-T Q.704, 14.2.1"),
    ItemField::new("m3ua.protocol_data_ni", Kind::U8, Say::Value(|s| number(s.transfer()?.network)),
        "Network indicator: 0 international, 2 national", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.protocol_data_mp", Kind::U8, Say::Value(|s| number(s.transfer()?.priority)),
        "Priority", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.protocol_data_sls", Kind::U8, Say::Value(|s| number(s.transfer()?.link)),
        "Signalling link selection", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.protocol_data", Kind::Bytes, Say::Value(|s| Some(Value::Bytes(s.transfer()?.user))),
        "User data of MTP3", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.correlation_identifier", Kind::U32, Say::Value(|s| s.number(0x0013)),
        "Correlation identifier", "RFC 4666, 3.3.1"),
    ItemField::new("m3ua.traffic_mode_type", Kind::U32, Say::Value(|s| s.number(0x000b)),
        "Traffic mode: 1 override, 2 loadshare, 3 broadcast", "RFC 4666, 3.6.1"),
    ItemField::new("m3ua.asp_identifier", Kind::U32, Say::Value(|s| s.number(0x0011)),
        "ASP identifier", "RFC 4666, 3.5.1"),
    ItemField::new("m3ua.error_code", Kind::U32, Say::Value(|s| s.number(0x000c)),
        "Error code: 1 invalid version, 25 invalid routing context, …", "RFC 4666, 3.8.1"),
    ItemField::new("m3ua.status_type", Kind::U16, Say::Value(|s| s.status(16)),
        "Status type of a notification: 1 state of the application server, 2 other", "RFC 4666, 3.8.2"),
    ItemField::new("m3ua.status_info", Kind::U16, Say::Value(|s| s.status(0)),
        "Status information of a notification", "RFC 4666, 3.8.2"),
    ItemField::new("m3ua.affected_point_code_pc", Kind::Numbers, Say::List(|s, list| s.numbers(0x0012).iter().for_each(|code| list.number(code & 0x00ff_ffff))),
        "Affected point codes: reachable, unreachable or congested", "RFC 4666, 3.4.1"),
    ItemField::new("m3ua.info_string", Kind::Text, Say::Text(|s| s.message()?.parameter(0x0004).map(printable)),
        "Info string, for people to read", "RFC 4666, 3.4.1"),
    ItemField::new("m3ua.fault", Kind::Text, Say::Value(|s| s.message()?.fault().map(Value::Text)),
        "Why parameters could not be read: one ends behind the message, there are more than 256, or the data of MTP3 are shorter than their header; or that the length of the message differs from that of the payload that carries it, which is read to its end", "weir"),
];
