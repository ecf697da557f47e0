//! `mqtt`: one row a packet of MQTT.

use std::collections::{HashMap, VecDeque};

use weir_messages::mqtt::{PORT, Packet, begins_with_connect, kind, kind_word, length};
use weir_packet::{Kind, Needs, Value};

use super::messages::{Length, Messages, Protocol, Push, Way, columns_with_way};
use super::value::{filled, number, text};
use super::{Extraction, Item, ItemField, columns};

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "mqtt",
    doc: "one row a packet of MQTT, on any port where a client begins",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: |_| Box::new(Messages::<Mqtt>::default()),
    arguments: &[],
    aliases: &[],
};

#[derive(Default)]
struct Mqtt {
    /// Flows of version 5, whose packets have properties, in the order in which they began.
    properties: HashMap<u64, ()>,
    order: VecDeque<u64>,
}

/// Connections of version 5 that are remembered.
const CONNECTIONS_MAX: usize = 1 << 16;
/// Version of packets with properties.
const WITH_PROPERTIES: u8 = 5;

impl Mqtt {
    fn remember(&mut self, flow: u64, version: u8) {
        if version < WITH_PROPERTIES {
            self.properties.remove(&flow);
        } else if self.properties.insert(flow, ()).is_none() {
            self.order.push_back(flow);
            if self.order.len() > CONNECTIONS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.properties.remove(&oldest);
            }
        }
    }
}

impl Protocol for Mqtt {
    const NAME: &'static str = "mqtt";
    const MESSAGE_BYTES_MAX: usize = 1 << 20;

    fn is_datagram(_bytes: &[u8], _ports: [u16; 2]) -> bool {
        false
    }

    fn begins(bytes: &[u8], ports: [u16; 2]) -> Option<bool> {
        let is_known = ports.contains(&PORT) && matches!(length(bytes), None | Some(Ok(_)));
        (is_known || begins_with_connect(bytes)).then_some(true)
    }

    fn is_expected(ports: [u16; 2]) -> bool {
        ports.contains(&PORT)
    }

    fn length(bytes: &[u8]) -> Length {
        match length(bytes) {
            None => Length::Wait,
            Some(Err(())) => Length::Broken,
            Some(Ok((header, rest))) => Length::Message {
                skip: 0,
                total: header.saturating_add(rest),
            },
        }
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let version = match self.properties.contains_key(&way.flow) {
            true => WITH_PROPERTIES,
            false => 4,
        };
        let Some(packet) = Packet::new(bytes, version) else {
            return false;
        };
        if let Some(connect) = &packet.connect {
            self.remember(way.flow, connect.version);
        }
        let texts = |all: &[&[u8]]| {
            all.iter()
                .map(|text| weir_messages::printable(text))
                .collect()
        };
        let item = MqttItem {
            topics: texts(&packet.topics),
            qualities: packet
                .qualities
                .iter()
                .map(|quality| (*quality).into())
                .collect(),
            packet,
        };
        push(way, &item);
        true
    }
}

struct MqttItem<'p> {
    packet: Packet<'p>,
    topics: Vec<String>,
    qualities: Vec<u32>,
}

impl MqttItem<'_> {
    /// A flag of a packet of these kinds.
    fn flag(&self, kinds: &[u8], bit: u8) -> Option<Value<'static>> {
        kinds
            .contains(&self.packet.kind)
            .then_some(Value::Bool(self.packet.flags & bit != 0))
    }
}

impl Item for MqttItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

/// Packets that have a quality of service, as subscriptions had in MQTT 3.1.
const WITH_QUALITY: &[u8] = &[kind::PUBLISH, kind::SUBSCRIBE];

type Get = for<'i> fn(&'i MqttItem<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<Get>] = &[
    ItemField::new("mqtt.msgtype", Kind::U8, |m| number(m.packet.kind),
        "Type of the packet", "MQTT 5.0, 2.1.2"),
    ItemField::new("mqtt.type", Kind::Text, |m| kind_word(m.packet.kind).map(Value::Text),
        "Name of the type: CONNECT, PUBLISH, …", "MQTT 5.0, 2.1.2"),
    ItemField::new("mqtt.hdrflags", Kind::U8, |m| number(m.packet.kind << 4 | m.packet.flags),
        "Type and flags, as they stand in the first octet", "MQTT 5.0, 2.1"),
    ItemField::new("mqtt.len", Kind::U32, |m| number(m.packet.length as u64),
        "Octets behind the fixed header", "MQTT 5.0, 2.1.4"),
    ItemField::new("mqtt.protoname", Kind::Text, |m| text(m.packet.connect?.protocol),
        "Name of the protocol that a client begins: MQTT or MQIsdp", "MQTT 5.0, 3.1.2.1"),
    ItemField::new("mqtt.ver", Kind::U8, |m| number(m.packet.connect?.version),
        "Version that a client begins: 3 is 3.1, 4 is 3.1.1, 5 is 5.0", "MQTT 5.0, 3.1.2.2"),
    ItemField::new("mqtt.conflags", Kind::U8, |m| number(m.packet.connect?.flags),
        "Flags of a client that begins", "MQTT 5.0, 3.1.2.3"),
    ItemField::new("mqtt.kalive", Kind::U16, |m| number(m.packet.connect?.keep_alive),
        "Seconds within which something must be heard", "MQTT 5.0, 3.1.2.10"),
    ItemField::new("mqtt.clientid", Kind::Text, |m| filled(m.packet.connect?.client),
        "Identifier of the client", "MQTT 5.0, 3.1.3.1"),
    ItemField::new("mqtt.username", Kind::Text, |m| text(m.packet.connect?.user?),
        "User name", "MQTT 5.0, 3.1.3.5"),
    ItemField::new("mqtt.willtopic", Kind::Text, |m| text(m.packet.connect?.will_topic?),
        "Topic of the client's will", "MQTT 5.0, 3.1.3.3"),
    ItemField::new("mqtt.session_present", Kind::Bool, |m| Some(Value::Bool(m.packet.connected?.0)),
        "The broker still had a session", "MQTT 5.0, 3.2.2.1"),
    ItemField::new("mqtt.conack.val", Kind::U8, |m| number(m.packet.connected?.1),
        "What the broker answers: 0 accepted", "MQTT 5.0, 3.2.2.2"),
    ItemField::new("mqtt.msgid", Kind::U16, |m| number(m.packet.id?),
        "Number that packet and answer share", "MQTT 5.0, 2.2.1"),
    ItemField::new("mqtt.topic", Kind::Texts, |m| Some(Value::Texts(&m.topics)).filter(|_| !m.topics.is_empty()),
        "Topic of a message; topics that are subscribed or no longer wanted", "MQTT 5.0, 3.3.2.1"),
    ItemField::new("mqtt.qos", Kind::U8, |m| number(m.packet.quality()).filter(|_| WITH_QUALITY.contains(&m.packet.kind)),
        "Quality of service of a message, or of the packet that subscribes", "MQTT 5.0, 3.3.1.2; MQTT 3.1, 2.1"),
    ItemField::new("mqtt.dupflag", Kind::Bool, |m| m.flag(WITH_QUALITY, 8),
        "The packet was sent before", "MQTT 5.0, 3.3.1.1; MQTT 3.1, 2.1"),
    ItemField::new("mqtt.retain", Kind::Bool, |m| m.flag(&[kind::PUBLISH], 1),
        "The broker is to keep the message", "MQTT 5.0, 3.3.1.3"),
    ItemField::new("mqtt.qualities", Kind::Numbers, |m| Some(Value::Numbers(&m.qualities)).filter(|_| !m.qualities.is_empty()),
        "Qualities of service that subscriptions want, or that the broker grants", "MQTT 5.0, 3.8.3, 3.9.3"),
    ItemField::new("mqtt.msg", Kind::Bytes, |m| m.packet.message.map(Value::Bytes),
        "What a message holds", "MQTT 5.0, 3.3.3"),
];
