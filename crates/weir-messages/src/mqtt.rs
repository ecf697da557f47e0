//! MQTT (3.1, 3.1.1 and 5.0): one control packet.

use weir_bytes::{u8_at, u16_be_at};

/// Port of brokers, without TLS.
pub const PORT: u16 = 1_883;

/// Types of packets, by their numbers.
pub mod kind {
    /// A client begins.
    pub const CONNECT: u8 = 1;
    /// The broker answers.
    pub const CONNACK: u8 = 2;
    /// A message.
    pub const PUBLISH: u8 = 3;
    /// Topics are subscribed.
    pub const SUBSCRIBE: u8 = 8;
    /// The sender releases a message of quality 2.
    pub const PUBREL: u8 = 6;
    /// The broker answers.
    pub const SUBACK: u8 = 9;
    /// Topics are no longer wanted.
    pub const UNSUBSCRIBE: u8 = 10;
    /// The broker answers.
    pub const UNSUBACK: u8 = 11;
    /// A message came; so do [`PUBCOMP`] and what is between them say how far it came.
    pub const PUBACK: u8 = 4;
    /// A message of quality 2 is done.
    pub const PUBCOMP: u8 = 7;
    /// A side ends.
    pub const DISCONNECT: u8 = 14;
    /// Authentication continues (version 5).
    pub const AUTH: u8 = 15;
}

/// The name of a type of packet (MQTT 5.0, 2.1.2).
#[must_use]
pub fn kind_word(kind: u8) -> Option<&'static str> {
    const WORDS: [&str; 15] = [
        "CONNECT",
        "CONNACK",
        "PUBLISH",
        "PUBACK",
        "PUBREC",
        "PUBREL",
        "PUBCOMP",
        "SUBSCRIBE",
        "SUBACK",
        "UNSUBSCRIBE",
        "UNSUBACK",
        "PINGREQ",
        "PINGRESP",
        "DISCONNECT",
        "AUTH",
    ];
    WORDS.get(usize::from(kind).checked_sub(1)?).copied()
}

/// Octets of the fixed header and of what follows it; `None` when more must come, and an error when no packet
/// begins here.
pub fn length(bytes: &[u8]) -> Option<Result<(usize, usize), ()>> {
    let first = u8_at(bytes, 0)?;
    if first >> 4 == 0 {
        return Some(Err(()));
    }
    let mut rest = 0_usize;
    for at in 0..4 {
        let octet = u8_at(bytes, 1 + at)?;
        rest |= usize::from(octet & 0x7f) << (7 * at);
        if octet & 0x80 == 0 {
            return Some(Ok((2 + at, rest)));
        }
    }
    Some(Err(()))
}

/// Whether a packet may begin here: its flags are those of its type. 3.1 marks some that were sent before.
#[must_use]
pub fn has_flags_of_type(bytes: &[u8]) -> bool {
    let Some(first) = u8_at(bytes, 0) else {
        return true;
    };
    match (first >> 4, first & 15) {
        (kind::PUBLISH, flags) => flags & 6 != 6,
        (6 | kind::SUBSCRIBE | kind::UNSUBSCRIBE, flags) => flags & 5 == 0,
        (kind, flags) => kind > 0 && flags == 0,
    }
}

/// Whether a stream begins with the CONNECT of a client.
#[must_use]
pub fn begins_with_connect(bytes: &[u8]) -> bool {
    let Some(Ok((header, _))) = length(bytes) else {
        return false;
    };
    let body = bytes.get(header..).unwrap_or_default();
    u8_at(bytes, 0) == Some(CONNECT) && NAMES.iter().any(|name| body.starts_with(name))
}

/// Whether more octets may complete the CONNECT of a client.
#[must_use]
pub fn may_begin_with_connect(bytes: &[u8]) -> bool {
    let is_begun = |body: &[u8]| {
        let mut names = NAMES.iter();
        names.any(|name| body.len() < name.len() && name.starts_with(body))
    };
    u8_at(bytes, 0) == Some(CONNECT)
        && match length(bytes) {
            None => true,
            Some(Err(())) => false,
            Some(Ok((header, _))) => is_begun(bytes.get(header..).unwrap_or_default()),
        }
}

/// The offset of the first packet in octets of a stream that may begin with the rest of one: from there on packets are adjacent,
/// each of the form of its type, up to the end or to an incomplete one. There has to be a packet with a text, or others of eight
/// octets together besides those of two octets: any octets may look like one acknowledgment.
#[must_use]
pub fn find(bytes: &[u8]) -> Option<usize> {
    // Packets that are adjacent from one offset on need not be read again for earlier offsets.
    let mut chains = 0;
    let mut all = 0..bytes.len();
    all.find(|at| {
        let Some(rest) = bytes.get(*at..).filter(|_| chains < CHAINS_MAX) else {
            return false;
        };
        let likely = may_begin(rest);
        chains += usize::from(likely);
        likely && is_chain(rest)
    })
}

/// The number of whole packets in octets within a connection, with the first of which a packet begins: of packets without a text one
/// is counted. `None` where the octets are not adjacent packets that one side sends, the last of which may be incomplete.
#[must_use]
pub fn proof(bytes: &[u8]) -> Option<usize> {
    let mut rest = bytes;
    let mut packets = 0_usize;
    let (mut is_of_client, mut is_of_server, mut is_any_text) = (false, false, false);
    while !rest.is_empty() && packets < PROOF_PACKETS_MAX {
        let packet = match length(rest) {
            None if packets > 0 || has_flags_of_type(rest) => break,
            Some(Ok((header, length))) => rest.get(..header.saturating_add(length)),
            None | Some(Err(())) => return None,
        };
        let Some(packet) = packet else {
            match is_begun(rest, packets > 0) || may_be_short(rest) {
                true => break,
                false => return None,
            }
        };
        let kind = u8_at(packet, 0).unwrap_or_default() >> 4;
        is_of_client |= matches!(
            kind,
            kind::CONNECT | kind::SUBSCRIBE | kind::UNSUBSCRIBE | 12
        );
        is_of_server |= matches!(kind, kind::CONNACK | kind::SUBACK | kind::UNSUBACK | 13);
        if !is_understood(packet) || is_of_client && is_of_server {
            return None;
        }
        packets += 1;
        is_any_text |= has_text(packet);
        rest = rest.get(packet.len()..).unwrap_or_default();
    }
    let counted = if is_any_text { packets } else { packets.min(1) };
    Some(counted)
}

/// Whether a packet of few octets may begin here.
fn may_be_short(bytes: &[u8]) -> bool {
    let is_short = |(_, octets): (usize, usize)| octets <= SHORT_OCTETS_MAX;
    may_begin(bytes) && length(bytes).and_then(Result::ok).is_some_and(is_short)
}

/// Octets that [`find`] has to see of a packet that is not whole: its header, and a topic as most are.
pub const BEGINNING_OCTETS: usize = 5 + 2 + 128;

/// Whether a packet is whole, with the flags, the length and the fields of its type (MQTT 3.1.1 or 5.0), which end where it does.
#[must_use]
pub fn is_understood(bytes: &[u8]) -> bool {
    let mut versions = [4, WITH_PROPERTIES].into_iter();
    versions.any(|version| is_understood_as(bytes, version))
}

/// The same for one version.
fn is_understood_as(bytes: &[u8], version: u8) -> bool {
    let Some(Ok((header, length))) = length(bytes).filter(|_| may_begin(bytes)) else {
        return false;
    };
    let body = bytes.get(header..).unwrap_or_default();
    let mut fields = Fields(body);
    let first = u8_at(bytes, 0).unwrap_or_default();
    let mut packet = ControlPacket {
        kind: first >> 4,
        flags: first & 15,
        ..ControlPacket::default()
    };
    body.len() == length
        && packet.body(&mut fields, version).is_some()
        && (fields.0.is_empty() || packet.may_have_rest(version))
        && packet.topics.iter().all(is_topic)
        && packet.properties.iter().all(Property::is_known)
        && packet.reasons.iter().all(is_reason)
}

/// Whether a whole packet is one of version 5 by itself: a PUBLISH with properties, or another packet that earlier versions do not
/// write so. A CONNECT says its version.
#[must_use]
pub fn is_of_version_5(bytes: &[u8]) -> bool {
    let Some(packet) = ControlPacket::new(bytes, WITH_PROPERTIES) else {
        return false;
    };
    let is_only_5 = match packet.kind {
        kind::CONNECT => false,
        kind::PUBLISH => {
            let mut properties = packet.properties.iter();
            !packet.properties.is_empty()
                && properties.all(|property| OF_PUBLISH.contains(&property.id))
        }
        _ => !is_understood_as(bytes, 4),
    };
    is_only_5 && is_understood_as(bytes, WITH_PROPERTIES)
}

/// The properties that a PUBLISH may have (MQTT 5.0, 3.3.2.3).
const OF_PUBLISH: [u8; 8] = [0x01, 0x02, 0x03, 0x08, 0x09, 0x0b, 0x23, 0x26];

/// Whether flags and length are those of a type of packet.
fn may_begin(bytes: &[u8]) -> bool {
    let (Some(first), Some(Ok((_, length)))) = (u8_at(bytes, 0), length(bytes)) else {
        return false;
    };
    let (kind, flags) = (first >> 4, first & 15);
    match kind {
        kind::CONNECT => flags == 0 && length >= 10,
        kind::PUBLISH => flags & 6 != 6 && length >= 3,
        kind::SUBSCRIBE | kind::UNSUBSCRIBE => flags == 2 && length >= 5,
        kind::SUBACK | kind::UNSUBACK => flags == 0 && length >= 2,
        6 => flags == 2 && length >= 2,
        kind::CONNACK | kind::PUBACK..=kind::PUBCOMP => flags == 0 && length >= 2,
        12 | 13 => flags == 0 && length == 0,
        kind::DISCONNECT | kind::AUTH => flags == 0 && length < 1 << 16,
        _ => false,
    }
}

/// A reason code (MQTT 5.0, 2.4): of those that are no failures few are defined.
const fn is_reason(reason: &u8) -> bool {
    matches!(*reason, 0..=2 | 4 | 0x10 | 0x11 | 0x18 | 0x19 | 0x80..)
}

/// A name of a topic: a text without controls.
fn is_topic(topic: &&[u8]) -> bool {
    str::from_utf8(topic).is_ok_and(|topic| !topic.chars().any(char::is_control))
}

fn is_chain(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let (mut is_sure, mut octets) = (false, 0_usize);
    while !rest.is_empty() {
        let packet = match length(rest) {
            None => return is_sure,
            Some(Err(())) => return false,
            Some(Ok((header, length))) => rest.get(..header.saturating_add(length)),
        };
        match packet {
            None => return is_begun(rest, is_sure),
            Some(packet) if !is_understood(packet) => return false,
            Some(packet) => {
                let counted = if packet.len() > 2 { packet.len() } else { 0 };
                octets = octets.saturating_add(counted);
                is_sure |= octets >= SURE_OCTETS || has_text(packet);
                rest = rest.get(packet.len()..).unwrap_or_default();
            }
        }
    }
    is_sure
}

/// Whether a packet is of a type with the name of the protocol or of topics in it.
fn has_text(packet: &[u8]) -> bool {
    let kind = u8_at(packet, 0).unwrap_or_default() >> 4;
    matches!(
        kind,
        kind::CONNECT | kind::PUBLISH | kind::SUBSCRIBE | kind::UNSUBSCRIBE
    )
}

/// Whether a packet begins whose end is missing: a CONNECT with the name of the protocol, a PUBLISH with its topic, or after other
/// packets its header alone.
fn is_begun(bytes: &[u8], is_sure: bool) -> bool {
    let Some(Ok((header, _))) = length(bytes).filter(|_| may_begin(bytes)) else {
        return false;
    };
    let is_message = u8_at(bytes, 0).is_some_and(|first| first >> 4 == kind::PUBLISH);
    match Fields(bytes.get(header..).unwrap_or_default()).text() {
        Some(topic) if is_message => !topic.is_empty() && is_topic(&topic),
        _ => is_sure || begins_with_connect(bytes),
    }
}

/// Octets of packets without a text by which these are known: two acknowledgments.
const SURE_OCTETS: usize = 8;
/// The number of octets behind the header of a packet for whose end [`proof`] waits although nothing but the header is known.
const SHORT_OCTETS_MAX: usize = 1 << 10;
/// The number of packets that [`proof`] reads, at most.
const PROOF_PACKETS_MAX: usize = 8;
/// The maximum number of offsets from which packets are read.
const CHAINS_MAX: usize = 64;
/// The first octet of a client.
const CONNECT: u8 = kind::CONNECT << 4;
/// The names of the protocol that a client begins, with their lengths.
const NAMES: [&[u8]; 2] = [b"\0\x04MQTT", b"\0\x06MQIsdp"];

/// A packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ControlPacket<'p> {
    /// The type, see [`kind`].
    pub kind: u8,
    /// The flags beside it.
    pub flags: u8,
    /// Octets behind the fixed header.
    pub length: usize,
    /// The fields of a CONNECT.
    pub connect: Option<Connect<'p>>,
    /// The broker's flags, of which the lowest says that there was a session (not in version 3.1, where all are
    /// reserved), and its return code, in version 5 its reason code.
    pub connected: Option<(u8, u8)>,
    /// Number that packet and answer share.
    pub id: Option<u16>,
    /// Topic of a message, or topics that are subscribed.
    pub topics: Vec<&'p [u8]>,
    /// Qualities that are wanted or granted.
    pub qualities: Vec<u8>,
    /// The application message.
    pub message: Option<&'p [u8]>,
    /// Version 5: what became of what is answered, or why a connection ends.
    pub reasons: Vec<u8>,
    /// The properties (version 5), those of a will after those of the packet.
    pub properties: Vec<Property<'p>>,
    /// The packet ends within a field.
    pub is_cut: bool,
}

/// A property of a packet of version 5 (MQTT 5.0, 2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property<'p> {
    /// The identifier (2.2.2.2).
    pub id: u8,
    /// The value.
    pub value: PropertyValue<'p>,
}

impl Property<'_> {
    const fn is_known(&self) -> bool {
        !matches!(self.value, PropertyValue::Unknown)
    }
}

/// The value of a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyValue<'p> {
    /// A number of one to four octets, or of variable length.
    Number(u32),
    /// A text, or octets of any kind.
    Text(&'p [u8]),
    /// The name and the value of a user property.
    Pair(&'p [u8], &'p [u8]),
    /// The identifier is unknown: where its value ends, and what follows, is not known.
    Unknown,
}

/// Identifiers of properties.
pub mod property {
    /// MIME type of a message.
    pub const CONTENT_TYPE: u8 = 0x03;
    /// Number that stands for a topic.
    pub const TOPIC_ALIAS: u8 = 0x23;
}

/// The fields of a CONNECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect<'p> {
    /// `MQTT` or `MQIsdp`.
    pub protocol: &'p [u8],
    /// 3: 3.1, 4: 3.1.1, 5: 5.0.
    pub version: u8,
    /// Flags.
    pub flags: u8,
    /// Seconds within which something must be heard.
    pub keep_alive: u16,
    /// Identifier of the client.
    pub client: &'p [u8],
    /// Topic of the client's will.
    pub will_topic: Option<&'p [u8]>,
    /// User name.
    pub user: Option<&'p [u8]>,
}

/// Topics of a packet that are kept.
const TOPICS_MAX: usize = 1_000;
/// Properties of a packet that are kept.
const PROPERTIES_MAX: usize = 1_000;
/// Version whose packets have properties and reasons.
const WITH_PROPERTIES: u8 = 5;

/// Whether packets of this version have properties and reasons. Those of versions that no standard has are read as of the ones before.
const fn has_properties(version: u8) -> bool {
    version == WITH_PROPERTIES
}

/// Reads fields in their order.
struct Fields<'p>(&'p [u8]);

impl<'p> Fields<'p> {
    fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        let number = u16_be_at(self.0, 0)?;
        self.0 = self.0.get(2..)?;
        Some(number)
    }

    fn text(&mut self) -> Option<&'p [u8]> {
        let length = self.u16()?;
        let (text, rest) = self.0.split_at_checked(length.into())?;
        self.0 = rest;
        Some(text)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from(self.u16()?) << 16 | u32::from(self.u16()?))
    }

    /// A number of one to four octets (MQTT 5.0, 1.5.5).
    fn variable(&mut self) -> Option<u32> {
        let mut number = 0;
        for at in 0..4 {
            let octet = self.u8()?;
            number |= u32::from(octet & 0x7f) << (7 * at);
            if octet & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Adds the properties that stand here in version 5 (MQTT 5.0, 2.2.2).
    fn properties(&mut self, version: u8, properties: &mut Vec<Property<'p>>) -> Option<()> {
        if !has_properties(version) {
            return Some(());
        }
        let length = self.variable()?;
        let all = self.0;
        let of_properties = all.get(..length as usize).unwrap_or(all);
        let mut fields = Fields(of_properties);
        while !fields.0.is_empty() && properties.len() < PROPERTIES_MAX {
            let property = fields.property()?;
            properties.push(property);
            if property.value == PropertyValue::Unknown {
                break;
            }
        }
        self.0 = all.get(length as usize..)?;
        Some(())
    }

    fn property(&mut self) -> Option<Property<'p>> {
        // Identifiers are numbers of variable length; those that are defined have one octet.
        let id = u8::try_from(self.variable()?).unwrap_or(u8::MAX);
        let value = match id {
            0x01 | 0x17 | 0x19 | 0x24 | 0x25 | 0x28..=0x2a => {
                PropertyValue::Number(self.u8()?.into())
            }
            0x13 | 0x21..=0x23 => PropertyValue::Number(self.u16()?.into()),
            0x02 | 0x11 | 0x18 | 0x27 => PropertyValue::Number(self.u32()?),
            0x0b => PropertyValue::Number(self.variable()?),
            0x03 | 0x08 | 0x09 | 0x12 | 0x15 | 0x16 | 0x1a | 0x1c | 0x1f => {
                PropertyValue::Text(self.text()?)
            }
            0x26 => PropertyValue::Pair(self.text()?, self.text()?),
            _ => PropertyValue::Unknown,
        };
        Some(Property { id, value })
    }
}

impl<'p> ControlPacket<'p> {
    /// Reads a whole packet of a connection of this version (5 has properties); what is damaged is read as far as
    /// it goes. `None` when the fixed header is not whole, or its length has more octets than are allowed.
    #[must_use]
    pub fn new(bytes: &'p [u8], version: u8) -> Option<Self> {
        let (header, length) = length(bytes)?.ok()?;
        let first = u8_at(bytes, 0)?;
        let mut packet = Self {
            kind: first >> 4,
            flags: first & 15,
            length,
            ..Self::default()
        };
        let body = bytes.get(header..)?;
        packet.is_cut = packet.body(&mut Fields(body), version).is_none();
        Some(packet)
    }

    /// The number of its first property of this identifier.
    #[must_use]
    pub fn property(&self, id: u8) -> Option<u32> {
        let mut properties = self.properties.iter();
        properties.find_map(|property| match property.value {
            PropertyValue::Number(number) if property.id == id => Some(number),
            _ => None,
        })
    }

    /// Quality of service of a message.
    #[must_use]
    pub const fn quality(&self) -> u8 {
        self.flags >> 1 & 3
    }

    fn body(&mut self, fields: &mut Fields<'p>, version: u8) -> Option<()> {
        match self.kind {
            kind::CONNECT => return self.connect(fields),
            kind::CONNACK => {
                let (flags, code) = (fields.u8()?, fields.u8()?);
                self.connected = Some((flags, code));
                if has_properties(version) {
                    self.reasons.push(code);
                    self.properties(fields, version)?;
                }
            }
            kind::PUBLISH => {
                self.topics.push(fields.text()?);
                if self.quality() > 0 {
                    self.id = Some(fields.u16()?);
                }
                self.properties(fields, version)?;
                self.message = Some(fields.0);
            }
            kind::SUBSCRIBE | kind::UNSUBSCRIBE => {
                self.id = Some(fields.u16()?);
                self.properties(fields, version)?;
                while !fields.0.is_empty() && self.topics.len() < TOPICS_MAX {
                    self.topics.push(fields.text()?);
                    if self.kind == kind::SUBSCRIBE {
                        self.qualities.push(fields.u8()? & 3);
                    }
                }
            }
            kind::SUBACK | kind::UNSUBACK => {
                self.id = Some(fields.u16()?);
                self.properties(fields, version)?;
                let codes: Vec<u8> = fields.0.iter().take(TOPICS_MAX).copied().collect();
                if has_properties(version) {
                    self.reasons.clone_from(&codes);
                }
                if self.kind == kind::SUBACK {
                    self.qualities = codes;
                }
            }
            kind::PUBACK..=kind::PUBCOMP => {
                self.id = Some(fields.u16()?);
                return self.reason(fields, version);
            }
            kind::DISCONNECT | kind::AUTH => return self.reason(fields, version),
            _ => {}
        }
        Some(())
    }

    /// Whether octets may follow the fields that are read of a packet of this type: a message, codes, a password.
    const fn may_have_rest(&self, version: u8) -> bool {
        match self.kind {
            kind::CONNECT | kind::PUBLISH | kind::SUBACK => true,
            kind::UNSUBACK => has_properties(version),
            kind::SUBSCRIBE | kind::UNSUBSCRIBE => self.topics.len() >= TOPICS_MAX,
            _ => false,
        }
    }

    fn properties(&mut self, fields: &mut Fields<'p>, version: u8) -> Option<()> {
        fields.properties(version, &mut self.properties)
    }

    /// Reads a reason and properties, which may be left out (MQTT 5.0, 3.4.2.1, 3.14.2.1).
    fn reason(&mut self, fields: &mut Fields<'p>, version: u8) -> Option<()> {
        if !has_properties(version) || fields.0.is_empty() {
            return Some(());
        }
        self.reasons.push(fields.u8()?);
        if fields.0.is_empty() {
            return Some(());
        }
        self.properties(fields, version)
    }

    fn connect(&mut self, fields: &mut Fields<'p>) -> Option<()> {
        let protocol = fields.text()?;
        let (version, flags, keep_alive) = (fields.u8()?, fields.u8()?, fields.u16()?);
        self.properties(fields, version)?;
        let client = fields.text()?;
        let connect = self.connect.insert(Connect {
            protocol,
            version,
            flags,
            keep_alive,
            client,
            will_topic: None,
            user: None,
        });
        if flags & 4 != 0 {
            fields.properties(version, &mut self.properties)?;
            connect.will_topic = Some(fields.text()?);
            fields.text()?;
        }
        if flags & 0x80 != 0 {
            connect.user = Some(fields.text()?);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONNECT: &[u8] = b"\x10\x1c\0\x04MQTT\x04\xc2\0\x3c\0\x02id\0\x03bob\0\x07passwrd";
    const PUBLISH: &[u8] = b"\x33\x0a\0\x03a/b\0\x07hey";
    const PUBLISH_5: &[u8] = b"\x30\x0b\0\x03a/b\x02\x01\x01hey";
    const SUBSCRIBE: &[u8] = b"\x82\x0c\0\x01\0\x01a\x01\0\x03b/#\x00";

    #[test]
    fn packets_are_read() {
        assert!(begins_with_connect(CONNECT));
        let connect = ControlPacket::new(CONNECT, 4).unwrap().connect.unwrap();
        assert_eq!(
            (connect.client, connect.user),
            (&b"id"[..], Some(&b"bob"[..]))
        );
        assert_eq!((connect.version, connect.keep_alive), (4, 60));
        let publish = ControlPacket::new(PUBLISH, 4).unwrap();
        assert_eq!((publish.quality(), publish.id), (1, Some(7)));
        assert_eq!(
            (publish.topics[0], publish.message),
            (&b"a/b"[..], Some(&b"hey"[..]))
        );
        let publish = ControlPacket::new(PUBLISH_5, 5).unwrap();
        assert_eq!(publish.message, Some(&b"\x01hey"[1..]));
        let subscribe = ControlPacket::new(SUBSCRIBE, 4).unwrap();
        assert_eq!(
            (subscribe.topics.len(), subscribe.qualities),
            (2, vec![1, 0])
        );
    }

    /// Bridges set the highest bit of the version, and clients may ask for one that no standard has.
    #[test]
    fn a_connect_of_another_version_has_no_properties() {
        for version in [0, 3, 4, 6, 0x83, 0x84, 0xff] {
            let mut bytes = CONNECT.to_vec();
            bytes[8] = version;
            let packet = ControlPacket::new(&bytes, 4).unwrap();
            let connect = packet.connect.unwrap();
            assert_eq!((connect.version, packet.is_cut), (version, false));
            assert_eq!(
                (connect.client, connect.user),
                (&b"id"[..], Some(&b"bob"[..]))
            );
        }
    }

    /// MQTT 5.0: 3.3.2, 3.4.2, 3.8.2, 3.11.2, 3.14.2.
    #[test]
    fn packets_of_version_5_are_known_by_their_properties() {
        let of_5: [&[u8]; 6] = [
            PUBLISH_5,
            b"\x30\x0b\0\x03a/b\x03\x23\0\x01hi",
            b"\x82\x09\0\x01\0\0\x03a/b\0",
            b"\x40\x04\0\x02\0\0",
            b"\xb0\x04\0\x01\0\0",
            b"\xe0\x02\0\0",
        ];
        for packet in of_5 {
            assert!(is_of_version_5(packet), "{}", packet.escape_ascii());
        }
        let of_either: [&[u8]; 9] = [
            CONNECT,
            PUBLISH,
            SUBSCRIBE,
            b"\x30\x08\0\x03a/b\0hi",
            b"\x30\x0b\0\x03a/b{\"a\":",
            b"\x90\x04\0\x01\0\0",
            b"\x40\x02\0\x02",
            b"\xc0\0",
            b"\xe0\0",
        ];
        for packet in of_either {
            assert!(!is_of_version_5(packet), "{}", packet.escape_ascii());
        }
    }

    #[test]
    fn whole_packets_of_one_side_are_a_proof() {
        let all = [SUBSCRIBE, PUBLISH, b"\xc0\0", PUBLISH].concat();
        assert_eq!(proof(&all), Some(4));
        assert_eq!(proof(&all.repeat(3)), Some(PROOF_PACKETS_MAX));
        // The last packet may be incomplete.
        assert_eq!(proof(&all[..SUBSCRIBE.len() + 1]), Some(1));
        assert_eq!(proof(&all[..all.len() - 3]), Some(3));
        for end in 0..all.len() {
            assert!(proof(&all[..end]).is_none_or(|packets| packets < 4));
        }
        assert_eq!(proof(b"\xd0\0\xd0\0\x40\x02\0\x07"), Some(1));
        assert_eq!(proof(&[SUBSCRIBE, b"\xd0\0"].concat()), None);
        for other in [
            &b"\x30\x0c\x02\x01\x01\x60\x07\x02\x01\x03\x04\0\x80\0"[..],
            b"GET / HTTP",
            b"\x16\x03\x01\0\x05",
        ] {
            assert_eq!(proof(other), None);
        }
    }

    /// The properties of MQTT 5.0, 2.2.2.2, of each type of value.
    #[test]
    fn properties_are_read() {
        let connect =
            b"\x10\x31\0\x04MQTT\x05\x06\0\x3c\x0d\x11\0\0\x0e\x10\x26\0\x01k\0\x02vv\0\x02id\
            \x0e\x18\0\0\0\x1e\x01\x01\x03\0\x01t\x23\0\x03\0\x01w\0\x01m";
        let packet = ControlPacket::new(connect, 4).unwrap();
        let number = |id, number| Property {
            id,
            value: PropertyValue::Number(number),
        };
        let connect = packet.connect.unwrap();
        assert_eq!(
            (connect.client, connect.will_topic),
            (&b"id"[..], Some(&b"w"[..]))
        );
        assert_eq!(packet.properties.len(), 6, "{packet:?}");
        assert_eq!(packet.properties[0], number(0x11, 3_600));
        assert_eq!(packet.properties[1].value, PropertyValue::Pair(b"k", b"vv"));
        assert_eq!(packet.properties[2], number(0x18, 30));
        assert_eq!(packet.properties[3], number(0x01, 1));
        assert_eq!(packet.properties[4].value, PropertyValue::Text(b"t"));
        assert_eq!(packet.property(property::TOPIC_ALIAS), Some(3));

        for (bytes, reasons, properties, is_cut) in [
            (
                &b"\x20\x06\x01\x00\x03\x21\0\x20"[..],
                &[0_u8][..],
                1,
                false,
            ),
            (b"\x40\x02\0\x07", &[], 0, false),
            (b"\x40\x03\0\x07\x10", &[0x10], 0, false),
            (b"\x40\x08\0\x07\x10\x04\x1f\0\x01r", &[0x10], 1, false),
            (b"\x90\x05\0\x01\0\x01\x87", &[1, 0x87], 0, false),
            (b"\xb0\x05\0\x01\0\0\x11", &[0, 0x11], 0, false),
            (b"\xe0\0", &[], 0, false),
            (b"\xe0\x02\x8b\0", &[0x8b], 0, false),
            // An identifier that is unknown, with another behind it; properties that are longer than the packet.
            (b"\xe0\x06\x8b\x04\x7f\x23\0\x03", &[0x8b], 1, false),
            (b"\xe0\x05\x8b\x09\x23\0\x03", &[0x8b], 1, true),
        ] {
            let packet = ControlPacket::new(bytes, 5).unwrap();
            assert_eq!(packet.reasons, reasons, "{bytes:02x?}");
            assert_eq!(packet.properties.len(), properties, "{bytes:02x?}");
            assert_eq!(packet.is_cut, is_cut, "{bytes:02x?}");
            // Versions before have neither.
            let packet = ControlPacket::new(bytes, 4).unwrap();
            assert!(packet.reasons.is_empty() && packet.properties.is_empty());
        }
        let many = b"\x24\x01".repeat(5_000);
        let publish = [&b"\x30\x95\x4e\0\x01t\x90\x4e"[..], &many].concat();
        assert_eq!(
            ControlPacket::new(&publish, 5).unwrap().properties.len(),
            PROPERTIES_MAX
        );
    }

    /// A capture that begins within a connection has the CONNECT of its client in any number of segments: what it says is not
    /// searched for packets.
    #[test]
    fn a_connect_that_is_not_whole_is_where_it_begins() {
        for end in 8..CONNECT.len() {
            assert_eq!(find(&CONNECT[..end]), Some(0), "{end}");
        }
        // The end of the name of 3.1, the version and what follows.
        assert!(!is_understood(b"\x70\x03\xc2\0\x14"));
        // A PUBCOMP has two octets, or a reason and properties that end where it does; this is a text.
        let text = [&b"pm"[..], &[b'x'; 0x6d]].concat();
        assert!(!is_understood(&text));
        assert_eq!(find(&[&b"text "[..], &text].concat()), None);
        // Octets of a message may look like one acknowledgment.
        let acknowledgment = b"\x40\x02\0\x07";
        assert_eq!(find(&[&b"text "[..], acknowledgment].concat()), None);
        let two = [&b"text "[..], acknowledgment, acknowledgment].concat();
        assert_eq!(find(&two), Some(5));
        assert_eq!(find(b"text \x30\x05\0\x03a/b"), Some(5));
        for known in [
            &b"\x70\x02\0\x07"[..],
            b"\x70\x03\0\x07\x10",
            b"\x70\x08\0\x07\x10\x04\x1f\0\x01r",
            b"\xb0\x02\0\x01",
            b"\xb0\x05\0\x01\0\0\x11",
            b"\x90\x03\0\x01\x80",
            b"\xc0\0",
            CONNECT,
            PUBLISH,
            PUBLISH_5,
            SUBSCRIBE,
        ] {
            assert!(is_understood(known), "{known:02x?}");
        }
        for other in [
            &b"\x70\x03\0\x07"[..],
            b"\xb0\x03\0\x01\x05",
            b"\x20\x03\0\0\x05",
        ] {
            assert!(!is_understood(other), "{other:02x?}");
        }
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        for bytes in [CONNECT, PUBLISH, PUBLISH_5, SUBSCRIBE] {
            for end in 0..bytes.len() {
                let prefix = &bytes[..end];
                assert_eq!(ControlPacket::new(prefix, 5).is_some(), end >= 2);
                assert_eq!(length(prefix).is_some(), end >= 2);
            }
        }
        assert_eq!(length(b"\x30\xff\xff\xff\xff"), Some(Err(())));
    }
}
