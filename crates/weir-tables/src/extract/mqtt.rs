//! `mqtt`: one row a packet of MQTT.

use std::cell::OnceCell;
use std::collections::{HashMap, VecDeque};

use weir_messages::mqtt::{
    BEGINNING_OCTETS, ControlPacket, PORT, PropertyValue, begins_with_connect, find,
    has_flags_of_type, is_of_version_5, is_understood, kind, kind_word, length,
    may_begin_with_connect, proof, property,
};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::List;
use super::messages::{Length, Messages, Protocol, Push, Way, columns_with_way, concat_columns};
use super::value::{number, text};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "mqtt",
    doc: "one row per MQTT packet, on any port where a connection begins with CONNECT, or whole packets prove it",
    columns: || columns_with_way(concat_columns(columns(&[], FIELDS), columns(&[], LISTS))),
    needs: &[Needs::All],
    start: Messages::<Mqtt>::start,
    arguments: super::settings::SECRETS,
    aliases: &[("mqtt.conack.flags.sp", "mqtt.session_present")],
};

#[derive(Default)]
struct Mqtt {
    /// The known versions of conversations, in the order in which they began.
    versions: HashMap<u64, u8>,
    order: VecDeque<u64>,
    aliases: Aliases,
    /// The number of messages that may begin with an empty list of properties, as the version is not known.
    unclear: u64,
}

/// The number of connections whose version is stored.
const CONNECTIONS_MAX: usize = 1 << 18;
/// The version whose flags of CONNACK are reserved, and whose subscriptions have a quality of service: 3.1.
const WITHOUT_FLAGS: u8 = 3;
/// The version of connections whose beginning was not seen: 3.1.1.
const USUAL: u8 = 4;
/// The remaining length of CONNACK before version 5, which has properties behind that (MQTT 3.1.1, 3.2.1; MQTT 5.0, 3.2.2.3).
const CONNACK_OCTETS: usize = 2;
/// The version whose packets have properties and reasons: 5.0.
const WITH_PROPERTIES: u8 = 5;

/// The version in which a server answers the CONNECT of a version. Bridges set the highest bit (Mosquitto); one that no standard has
/// is refused as by 3.1.1, or with properties, which say that they are of 5.0.
const fn answered_in(version: u8) -> u8 {
    match version & 0x7f {
        WITHOUT_FLAGS => WITHOUT_FLAGS,
        WITH_PROPERTIES => WITH_PROPERTIES,
        _ => USUAL,
    }
}

impl Mqtt {
    /// The version by which a packet is read, and whether it is known. A CONNACK with properties, and other packets that only version 5
    /// has, say the version of their connection where the CONNECT was not captured. `None` without a fixed header.
    fn version(&mut self, bytes: &[u8], conversation: u64) -> Option<(u8, bool)> {
        let known = self.versions.get(&conversation).copied();
        let first = bytes.first()? >> 4;
        let is_5 = match first {
            kind::CONNACK => length(bytes)?.ok()?.1 > CONNACK_OCTETS,
            _ => known.is_none() && is_of_version_5(bytes),
        };
        if is_5 && known.is_none_or(|version| version < WITH_PROPERTIES) {
            self.remember(conversation, WITH_PROPERTIES);
            return Some((WITH_PROPERTIES, true));
        }
        Some((known.unwrap_or(USUAL), known.is_some()))
    }

    /// Whether the version of a connection is known when its CONNACK comes: by its CONNECT, or by the CONNACK itself.
    fn knows_version(&self, connack: &[u8], conversation: u64) -> bool {
        let octets = length(connack).and_then(Result::ok);
        self.versions.contains_key(&conversation)
            || octets.is_some_and(|(_, octets)| octets > CONNACK_OCTETS)
    }

    fn remember(&mut self, conversation: u64, version: u8) {
        if self.versions.insert(conversation, version).is_none() {
            self.order.push_back(conversation);
            if self.order.len() > CONNECTIONS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.versions.remove(&oldest);
            }
        }
    }
}

/// The topic aliases of senders (MQTT 5.0, 3.3.2.3.4).
#[derive(Default)]
struct Aliases {
    /// The topics by conversation, by whether the sender is its lower end, and by alias.
    topics: HashMap<(u64, bool, u32), Box<[u8]>>,
    octets: usize,
    forgotten: u64,
}

/// The number of octets of topics with an alias that are stored, with the map's overhead for each.
const ALIASED_OCTETS_MAX: usize = 16 << 20;
/// The memory of an entry of the map.
const ALIAS_OCTETS: usize = 64;

impl Aliases {
    /// Returns the topic of a message that has an alias only; stores that of a message that has both.
    fn topic(&mut self, way: &Way, packet: &ControlPacket<'_>) -> Option<String> {
        let alias = packet.property(property::TOPIC_ALIAS)?;
        let is_lower = (way.src.address, way.src.port) < (way.dst.address, way.dst.port);
        let key = (way.conversation(), is_lower, alias);
        let topic = *packet.topics.first()?;
        if topic.is_empty() {
            return Some(weir_messages::printable(self.topics.get(&key)?));
        }
        if self.octets > ALIASED_OCTETS_MAX {
            self.forgotten = self.forgotten.saturating_add(self.topics.len() as u64);
            self.topics.clear();
            self.octets = 0;
        }
        let added = topic.len().saturating_add(ALIAS_OCTETS);
        let old = self.topics.insert(key, topic.into());
        let removed = old.map_or(0, |old| old.len().saturating_add(ALIAS_OCTETS));
        self.octets = self.octets.saturating_add(added).saturating_sub(removed);
        None
    }
}

impl Protocol for Mqtt {
    const NAME: &'static str = "mqtt";
    const MESSAGE_BYTES_MAX: usize = 1 << 20;

    fn is_datagram(_bytes: &[u8], _ports: [u16; 2]) -> bool {
        false
    }

    const READS_SEGMENTS: bool = true;
    const IS_OVER_WEBSOCKET: bool = true;

    fn begins(bytes: &[u8], ports: [u16; 2]) -> bool {
        let is_known = ports.contains(&PORT) && has_flags_of_type(bytes);
        is_known && matches!(length(bytes), None | Some(Ok(_))) || begins_with_connect(bytes)
    }

    fn may_begin(bytes: &[u8]) -> bool {
        may_begin_with_connect(bytes)
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

    const FIND_OCTETS: usize = BEGINNING_OCTETS;

    fn find(bytes: &[u8]) -> Option<usize> {
        find(bytes)
    }

    fn proof(bytes: &[u8]) -> Option<usize> {
        proof(bytes)
    }

    fn is_likely(bytes: &[u8]) -> bool {
        is_understood(bytes)
    }

    fn message_or_wait(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> Option<bool> {
        let first = bytes.first().map(|first| first >> 4);
        // The CONNECT may be captured behind its answer.
        let waits = first == Some(kind::CONNACK) && !self.knows_version(bytes, way.conversation());
        (!waits).then(|| self.message(bytes, way, push))
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let Some((version, is_version_known)) = self.version(bytes, way.conversation()) else {
            return false;
        };
        let Some(packet) = ControlPacket::new(bytes, version) else {
            return false;
        };
        if let Some(connect) = &packet.connect {
            self.remember(way.conversation(), answered_in(connect.version));
        }
        let message = packet.message.unwrap_or_default();
        if !is_version_known && message.first() == Some(&0) {
            self.unclear = self.unclear.saturating_add(1);
        }
        let texts = |all: &[&[u8]]| {
            all.iter()
                .map(|text| weir_messages::printable(text))
                .collect()
        };
        let mut topics: Vec<String> = texts(&packet.topics);
        if let Some(topic) = self.aliases.topic(way, &packet) {
            topics = vec![topic];
        }
        let item = MqttItem {
            topics,
            version,
            is_version_known,
            qualities: packet
                .qualities
                .iter()
                .map(|quality| (*quality).into())
                .collect(),
            packet,
            lists: [const { OnceCell::new() }; LISTS_MAX],
        };
        push(way, &item);
        true
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        vec![
            (
                self.aliases.forgotten,
                "topic aliases were dropped because they took more than 16 MiB, so that mqtt.topic may be empty",
            ),
            (
                self.unclear,
                "messages may begin with the octet of an empty list of properties, because the CONNECT that says the version of their connections was not captured",
            ),
        ]
    }
}

struct MqttItem<'p> {
    packet: ControlPacket<'p>,
    /// The version of its connection.
    version: u8,
    /// The CONNECT was read, or another packet says it.
    is_version_known: bool,
    /// The values of [`LISTS`], which are computed when a column needs them.
    lists: [OnceCell<List>; LISTS_MAX],
    topics: Vec<String>,
    qualities: Vec<u32>,
}

/// The number of columns of [`LISTS`].
const LISTS_MAX: usize = 7;

impl MqttItem<'_> {
    /// A list; NULL when it is empty.
    fn list(&self, index: usize) -> Option<Value<'_>> {
        let field = LISTS.get(index)?;
        let list = self.lists.get(index)?.get_or_init(|| {
            let mut list = List::of(field.kind);
            (field.get)(&self.packet, &mut list);
            list
        });
        list.value()
    }

    /// Returns true for a packet of these kinds; others than messages have flags in version 3.1 only.
    fn is_of(&self, kinds: &[u8]) -> bool {
        let kind = self.packet.kind;
        kinds.contains(&kind) && (kind == kind::PUBLISH || self.version == WITHOUT_FLAGS)
    }

    /// A flag of a packet of these kinds.
    fn flag(&self, kinds: &[u8], bit: u8) -> Option<Value<'static>> {
        self.is_of(kinds)
            .then_some(Value::Bool(self.packet.flags & bit != 0))
    }
}

impl Item for MqttItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        match index.checked_sub(FIELDS.len()) {
            Some(list) => self.list(list),
            None => (FIELDS.get(index)?.get)(self),
        }
    }
}

/// Packets that have a quality of service, or had one in MQTT 3.1.
const WITH_QUALITY: &[u8] = &[
    kind::PUBLISH,
    kind::PUBREL,
    kind::SUBSCRIBE,
    kind::UNSUBSCRIBE,
];

type MqttGetter = for<'i> fn(&'i MqttItem<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<MqttGetter>] = &[
    ItemField::new("mqtt.msgtype", Kind::U8, |m| number(m.packet.kind),
        "Type of the packet", "MQTT 5.0, 2.1.2"),
    ItemField::new("mqtt.type", Kind::Text, |m| kind_word(m.packet.kind).map(Value::Text),
        "Name of the type: CONNECT, PUBLISH, …", "MQTT 5.0, 2.1.2"),
    ItemField::new("mqtt.hdrflags", Kind::U8, |m| number(m.packet.kind << 4 | m.packet.flags),
        "First octet of the fixed header: type and flags", "MQTT 5.0, 2.1"),
    ItemField::new("mqtt.len", Kind::U32, |m| number(m.packet.length as u64),
        "Remaining length: octets after the fixed header", "MQTT 5.0, 2.1.4"),
    ItemField::new("mqtt.protoname", Kind::Text, |m| text(m.packet.connect?.protocol),
        "Protocol name in CONNECT: MQTT or MQIsdp", "MQTT 5.0, 3.1.2.1"),
    ItemField::new("mqtt.ver", Kind::U8, |m| number(m.packet.connect?.version),
        "Protocol version in CONNECT: 3 is 3.1, 4 is 3.1.1, 5 is 5.0", "MQTT 5.0, 3.1.2.2"),
    ItemField::new("mqtt.conflags", Kind::U8, |m| number(m.packet.connect?.flags),
        "Connect flags", "MQTT 5.0, 3.1.2.3"),
    ItemField::new("mqtt.kalive", Kind::U16, |m| number(m.packet.connect?.keep_alive),
        "Keep alive in seconds", "MQTT 5.0, 3.1.2.10"),
    ItemField::new("mqtt.clientid", Kind::Text, |m| text(m.packet.connect?.client),
        "Client identifier", "MQTT 5.0, 3.1.3.1"),
    ItemField::new("mqtt.username", Kind::Text, |m| text(m.packet.connect?.user?),
        "User name", "MQTT 5.0, 3.1.3.5"),
    ItemField::new("mqtt.willtopic", Kind::Text, |m| text(m.packet.connect?.will_topic?),
        "Will topic", "MQTT 5.0, 3.1.3.3"),
    ItemField::new("mqtt.session_present", Kind::Bool, |m| {
            let (flags, _) = m.packet.connected.filter(|_| m.version != WITHOUT_FLAGS)?;
            let is_present = flags & 1 != 0;
            (is_present || m.is_version_known).then_some(Value::Bool(is_present))
        }, "The broker still had a session; NULL in MQTT 3.1, whose CONNACK does not say, and where the version is not known", "MQTT 5.0, 3.2.2.1; MQTT 3.1, 3.2"),
    ItemField::new("mqtt.conack.val", Kind::U8, |m| number(m.packet.connected?.1).filter(|_| m.version < WITH_PROPERTIES),
        "Return code of CONNACK: 0 accepted; NULL in MQTT 5, which has mqtt.reason_code", "MQTT 3.1.1, 3.2.2.3"),
    ItemField::new("mqtt.msgid", Kind::U16, |m| number(m.packet.id?),
        "Packet identifier, the same in packet and answer", "MQTT 5.0, 2.2.1"),
    ItemField::new("mqtt.topic", Kind::Texts, |m| Some(Value::Texts(&m.topics)).filter(|_| !m.topics.is_empty()),
        "Topic of a message, also where a topic alias stands for it; topics that are subscribed or unsubscribed", "MQTT 5.0, 3.3.2.1"),
    ItemField::new("mqtt.qos", Kind::U8, |m| number(m.packet.quality()).filter(|_| m.is_of(WITH_QUALITY)),
        "Quality of service (QoS) of a message; in MQTT 3.1 also of packets that release one, subscribe or unsubscribe", "MQTT 5.0, 3.3.1.2; MQTT 3.1, 2.1"),
    ItemField::new("mqtt.dupflag", Kind::Bool, |m| m.flag(WITH_QUALITY, 8),
        "The packet was sent before (DUP)", "MQTT 5.0, 3.3.1.1; MQTT 3.1, 2.1"),
    ItemField::new("mqtt.retain", Kind::Bool, |m| m.flag(&[kind::PUBLISH], 1),
        "The broker is to keep the message (RETAIN)", "MQTT 5.0, 3.3.1.3"),
    ItemField::new("mqtt.qualities", Kind::Numbers, |m| Some(Value::Numbers(&m.qualities)).filter(|_| !m.qualities.is_empty()),
        "Quality of service (QoS) that subscriptions request, or that the broker grants", "MQTT 5.0, 3.8.3, 3.9.3"),
    ItemField::new("mqtt.msg", Kind::Bytes, |m| m.packet.message.map(Value::Bytes),
        "Payload of a message", "MQTT 5.0, 3.3.3"),
    ItemField::new("mqtt.property.topic_alias", Kind::U16, |m| number(m.packet.property(property::TOPIC_ALIAS)?),
        "MQTT 5: topic alias", "MQTT 5.0, 3.3.2.3.4"),
    ItemField::new("mqtt.property.content_type", Kind::Text, |m| {
            let mut properties = m.packet.properties.iter();
            properties.find_map(|it| match it.value {
                PropertyValue::Text(value) if it.id == property::CONTENT_TYPE => text(value),
                _ => None,
            })
        }, "MQTT 5: MIME type of a message, or of a will", "MQTT 5.0, 3.3.2.3.9"),
    ItemField::new("mqtt.fault", Kind::Text, |m| m.packet.is_cut.then_some(Value::Text("the packet ends within a field")),
        "Why decoding of the packet stopped", "weir"),
];

/// Puts the values of a packet into a list.
type Put = fn(&ControlPacket<'_>, &mut List);

#[rustfmt::skip]
static LISTS: &[ItemField<Put>; LISTS_MAX] = &[
    ItemField::new("mqtt.reason_code", Kind::Numbers, |p, list| list.numbers(&p.reasons),
        "MQTT 5: reason codes of an answer, one for each subscription, or of the end of a connection; 128 and higher are failures",
        "MQTT 5.0, 2.4"),
    ItemField::new("mqtt.property_id", Kind::Numbers, |p, list| {
            p.properties.iter().for_each(|it| list.number(it.id));
        }, "MQTT 5: identifiers of the properties, those of a will after those of the packet", "MQTT 5.0, 2.2.2.2"),
    ItemField::new("mqtt.prop_number", Kind::Numbers, |p, list| {
            p.properties.iter().for_each(|it| if let PropertyValue::Number(number) = it.value && !APART.contains(&it.id) {
                list.number(number);
            });
        }, "MQTT 5: values of properties that are numbers, except maximum quality and topic alias", "MQTT 5.0, 2.2.2.2"),
    ItemField::new("mqtt.property.max_qos", Kind::Numbers, |p, list| {
            p.properties.iter().for_each(|it| if let PropertyValue::Number(number) = it.value && it.id == MAXIMUM_QUALITY {
                list.number(number);
            });
        }, "MQTT 5: highest quality of service that the broker supports", "MQTT 5.0, 3.2.2.3.4"),
    ItemField::new("mqtt.prop_string", Kind::Texts, |p, list| {
            p.properties.iter().for_each(|it| if let PropertyValue::Text(text) = it.value && it.id != property::CONTENT_TYPE {
                list.bytes(text);
            });
        }, "MQTT 5: values of properties that are texts or octets, except content type", "MQTT 5.0, 2.2.2.2"),
    ItemField::new("mqtt.prop_key", Kind::Texts, |p, list| {
            p.properties.iter().for_each(|it| if let PropertyValue::Pair(key, _) = it.value {
                list.bytes(key);
            });
        }, "MQTT 5: names of user properties", "MQTT 5.0, 2.2.2.2"),
    ItemField::new("mqtt.prop_value", Kind::Texts, |p, list| {
            p.properties.iter().for_each(|it| if let PropertyValue::Pair(_, value) = it.value {
                list.bytes(value);
            });
        }, "MQTT 5: values of user properties, in the order of their names", "MQTT 5.0, 2.2.2.2"),
];

/// The property with the highest quality of service (MQTT 5.0, 3.2.2.3.4).
const MAXIMUM_QUALITY: u8 = 0x24;
/// Properties that have columns of their own.
const APART: &[u8] = &[MAXIMUM_QUALITY, property::TOPIC_ALIAS];
