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
    /// The broker answers.
    pub const SUBACK: u8 = 9;
    /// Topics are no longer wanted.
    pub const UNSUBSCRIBE: u8 = 10;
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

/// True when a stream begins as a client of MQTT does.
#[must_use]
pub fn begins_with_connect(bytes: &[u8]) -> bool {
    let Some(Ok((header, _))) = length(bytes) else {
        return false;
    };
    let body = bytes.get(header..).unwrap_or_default();
    u8_at(bytes, 0) == Some(0x10)
        && (body.starts_with(b"\0\x04MQTT") || body.starts_with(b"\0\x06MQIsdp"))
}

/// A packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet<'p> {
    /// Its type, see [`kind`].
    pub kind: u8,
    /// The flags beside it.
    pub flags: u8,
    /// Octets behind the fixed header.
    pub length: usize,
    /// What it says.
    pub connect: Option<Connect<'p>>,
    /// Whether there was a session, and the broker's return code.
    pub connected: Option<(bool, u8)>,
    /// Number that packet and answer share.
    pub id: Option<u16>,
    /// Topic of a message, or topics that are subscribed.
    pub topics: Vec<&'p [u8]>,
    /// Qualities that are wanted or granted.
    pub qualities: Vec<u8>,
    /// What a message holds.
    pub message: Option<&'p [u8]>,
}

/// What a client says when it begins.
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

    /// Passes over the properties of version 5.
    fn properties(&mut self, version: u8) -> Option<()> {
        if version < 5 {
            return Some(());
        }
        let mut length = 0_usize;
        for at in 0..4 {
            let octet = self.u8()?;
            length |= usize::from(octet & 0x7f) << (7 * at);
            if octet & 0x80 == 0 {
                self.0 = self.0.get(length..)?;
                return Some(());
            }
        }
        None
    }
}

impl<'p> Packet<'p> {
    /// Reads a whole packet of a connection of this version (5 has properties); what is damaged is read as far as
    /// it goes. `None` when it is none.
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
        packet.body(&mut Fields(body), version);
        Some(packet)
    }

    /// Quality of service of a message.
    #[must_use]
    pub const fn quality(&self) -> u8 {
        self.flags >> 1 & 3
    }

    fn body(&mut self, fields: &mut Fields<'p>, version: u8) -> Option<()> {
        match self.kind {
            kind::CONNECT => self.connect = Connect::new(fields),
            kind::CONNACK => self.connected = Some((fields.u8()? & 1 != 0, fields.u8()?)),
            kind::PUBLISH => {
                self.topics.push(fields.text()?);
                if self.quality() > 0 {
                    self.id = Some(fields.u16()?);
                }
                fields.properties(version)?;
                self.message = Some(fields.0);
            }
            kind::SUBSCRIBE | kind::UNSUBSCRIBE => {
                self.id = Some(fields.u16()?);
                fields.properties(version)?;
                while !fields.0.is_empty() && self.topics.len() < TOPICS_MAX {
                    self.topics.push(fields.text()?);
                    if self.kind == kind::SUBSCRIBE {
                        self.qualities.push(fields.u8()? & 3);
                    }
                }
            }
            kind::SUBACK => {
                self.id = Some(fields.u16()?);
                fields.properties(version)?;
                self.qualities = fields.0.iter().take(TOPICS_MAX).copied().collect();
            }
            4..=7 | 11 => self.id = Some(fields.u16()?),
            _ => {}
        }
        Some(())
    }
}

impl<'p> Connect<'p> {
    fn new(fields: &mut Fields<'p>) -> Option<Self> {
        let protocol = fields.text()?;
        let (version, flags, keep_alive) = (fields.u8()?, fields.u8()?, fields.u16()?);
        fields.properties(version)?;
        let client = fields.text()?;
        let mut connect = Self {
            protocol,
            version,
            flags,
            keep_alive,
            client,
            will_topic: None,
            user: None,
        };
        connect.rest(fields);
        Some(connect)
    }

    fn rest(&mut self, fields: &mut Fields<'p>) -> Option<()> {
        if self.flags & 4 != 0 {
            fields.properties(self.version)?;
            self.will_topic = Some(fields.text()?);
            fields.text()?;
        }
        if self.flags & 0x80 != 0 {
            self.user = Some(fields.text()?);
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
        let connect = Packet::new(CONNECT, 4).unwrap().connect.unwrap();
        assert_eq!(
            (connect.client, connect.user),
            (&b"id"[..], Some(&b"bob"[..]))
        );
        assert_eq!((connect.version, connect.keep_alive), (4, 60));
        let publish = Packet::new(PUBLISH, 4).unwrap();
        assert_eq!((publish.quality(), publish.id), (1, Some(7)));
        assert_eq!(
            (publish.topics[0], publish.message),
            (&b"a/b"[..], Some(&b"hey"[..]))
        );
        let publish = Packet::new(PUBLISH_5, 5).unwrap();
        assert_eq!(publish.message, Some(&b"\x01hey"[1..]));
        let subscribe = Packet::new(SUBSCRIBE, 4).unwrap();
        assert_eq!(
            (subscribe.topics.len(), subscribe.qualities),
            (2, vec![1, 0])
        );
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        for bytes in [CONNECT, PUBLISH, PUBLISH_5, SUBSCRIBE] {
            for end in 0..bytes.len() {
                let prefix = &bytes[..end];
                assert_eq!(Packet::new(prefix, 5).is_some(), end >= 2);
                assert_eq!(length(prefix).is_some(), end >= 2);
            }
        }
        assert_eq!(length(b"\x30\xff\xff\xff\xff"), Some(Err(())));
    }
}
