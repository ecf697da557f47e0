//! SNMP (RFC 1157, RFC 3416, RFC 3412): one message.

use std::net::Ipv4Addr;

use weir_bytes::u8_at;

use crate::ber::{self, Ber, INTEGER, OBJECT, OCTETS, SEQUENCE, integer, object, unsigned};

/// Ports of agents, and of those that get traps.
pub const PORTS: [u16; 2] = [161, 162];
/// The user-based security model (RFC 3414, 1.5.2).
const USER_BASED: u32 = 3;
/// The flag of messages whose PDU is encrypted (RFC 3412, 6.4).
const ENCRYPTED: u8 = 2;
/// Variables of a message that are kept.
pub const VARIABLES_MAX: usize = 1_000;

/// The values within each other of a message of version 3 down to those of a variable.
const DEPTH: usize = 6;

/// What is whole of a message that ends before its length says, as a message with the lengths of what is there; `None` for one that does not.
#[must_use]
pub fn clipped(bytes: &[u8]) -> Option<Vec<u8>> {
    let is_short = bytes.first() == Some(&SEQUENCE) && Ber(bytes).next().is_none();
    is_short.then(|| ber::clipped(bytes, DEPTH))
}

/// A message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnmpMessage<'m> {
    /// 0: version 1, 1: version 2c, 3: version 3.
    pub version: u8,
    /// Community, of versions 1 and 2c.
    pub community: Option<&'m [u8]>,
    /// The security parameters of version 3.
    pub security: Option<Security<'m>>,
    /// The PDU; `None` where it is encrypted or damaged.
    pub pdu: Option<Pdu<'m>>,
}

/// The header and security parameters of a message of version 3 (RFC 3412, 6; RFC 3414, 2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Security<'m> {
    /// Number of the message; `None` where it is out of its range.
    pub id: Option<u32>,
    /// Flags: 1 authenticated, 2 encrypted, 4 a report is wanted.
    pub flags: u8,
    /// The security model: 3 user-based, 4 transport; `None` where it is out of its range. The user-based one alone has an
    /// authoritative engine and a user in its parameters.
    pub model: Option<u32>,
    /// The authoritative engine.
    pub engine: &'m [u8],
    /// The number of boots of the engine.
    pub boots: Option<u32>,
    /// The seconds since the last boot of the engine.
    pub time: Option<u32>,
    /// User name, which may be empty.
    pub user: Option<&'m [u8]>,
    /// Name of the context.
    pub context: Option<&'m [u8]>,
}

/// A PDU: a request, a response or a notification with its variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pdu<'m> {
    /// 0 get, 1 get next, 2 response, 3 set, 4 trap of version 1, 5 get bulk, 6 inform, 7 trap, 8 report.
    pub kind: u8,
    /// Number that request and response share.
    pub id: Option<i32>,
    /// Error status; of get bulk the variables that are not repeated.
    pub error: Option<i32>,
    /// Variable with the error; of get bulk the most repetitions.
    pub index: Option<i32>,
    /// The fields of a trap of version 1.
    pub trap: Option<Trap>,
    /// Names of variables.
    pub names: Vec<String>,
    /// Their values.
    pub values: Vec<Value<'m>>,
    /// What of it could not be read.
    pub fault: Option<SnmpFault>,
}

/// The reason why a message could not be read to its end, or as what it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnmpFault {
    /// The PDU ends behind the message, lacks fields, or is of an unknown type.
    Pdu,
    /// A number in front of the variables has another type, or has no place in 32 bits.
    Number,
    /// The list of variables, or one of them, does not end within the PDU, or is something else.
    Variables,
    /// The name of a variable is empty, does not end, or has a part beyond 64 bits.
    Name,
    /// More variables than [`VARIABLES_MAX`].
    TooMany,
}

impl SnmpFault {
    /// The fault as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pdu => "the PDU is damaged, or of an unknown type",
            Self::Number => "a number of the PDU is damaged or out of range",
            Self::Variables => "the variables are damaged",
            Self::Name => "the name of a variable is no object identifier",
            Self::TooMany => "more than 1,000 variables",
        }
    }
}

/// The fields of a trap of version 1 (RFC 1157, 4.1.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trap {
    /// The enterprise of the sender.
    pub enterprise: String,
    /// The address of the agent.
    pub agent: Option<Ipv4Addr>,
    /// 0 cold start, 1 warm start, 2 link down, 3 link up, 4 authentication failure, 5 EGP, 6 of the enterprise.
    pub generic: i32,
    /// The specific trap of the enterprise.
    pub specific: i32,
    /// Hundredths of seconds since the sender began.
    pub uptime: u32,
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value<'m> {
    /// Integer.
    Integer(i64),
    /// Counter, gauge or time ticks.
    Unsigned(u64),
    /// Octets.
    Octets(&'m [u8]),
    /// Object identifier.
    Object(String),
    /// Address.
    Address(Ipv4Addr),
    /// None, or why there is none: no such object, no such instance, the end.
    Null,
    /// The octets of a value of another type, or of one that is malformed for its type.
    Other(&'m [u8]),
}

impl Value<'_> {
    /// The value as text: printable octets as they are, others in hexadecimal digits.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Integer(number) => number.to_string(),
            Self::Unsigned(number) => number.to_string(),
            Self::Object(name) => name.clone(),
            Self::Address(address) => address.to_string(),
            Self::Null => String::new(),
            Self::Octets(octets) => crate::text::octets(octets),
            Self::Other(octets) => crate::text::digits(octets),
        }
    }
}

fn small(number: i64) -> Option<i32> {
    i32::try_from(number).ok()
}

fn value<'m>(tag: u8, contents: &'m [u8]) -> Option<Value<'m>> {
    Some(match tag {
        INTEGER => Value::Integer(integer(contents)?),
        OCTETS => Value::Octets(contents),
        OBJECT => Value::Object(object(contents)?),
        0x40 => Value::Address(<[u8; 4]>::try_from(contents).ok()?.into()),
        0x41..=0x43 | 0x46 | 0x47 => Value::Unsigned(unsigned(contents)?),
        0x05 | 0x80..=0x82 => Value::Null,
        _ => Value::Other(contents),
    })
}

impl<'m> SnmpMessage<'m> {
    /// Reads a message; what is damaged behind its head is read as far as it goes. `None` when the head is not there.
    /// Between other ports than [`PORTS`] the whole message must be there and hold a PDU.
    #[must_use]
    pub fn new(bytes: &'m [u8], ports: [u16; 2]) -> Option<Self> {
        let mut outer = Ber(bytes);
        let mut fields = outer.sequence()?;
        let version = fields.integer()?;
        let mut message = Self {
            version: u8::try_from(version).ok()?,
            ..Self::default()
        };
        match version {
            0 | 1 => {
                message.community = Some(fields.of(OCTETS)?);
                message.pdu = pdu(fields);
            }
            3 => {
                let mut header = fields.sequence()?;
                let id = header.integer()?;
                header.integer()?;
                let flags = header.of(OCTETS)?;
                let flags = u8_at(flags, 0)?;
                let mut security = Security {
                    id: u32::try_from(id).ok(),
                    flags,
                    model: header.integer().and_then(|model| u32::try_from(model).ok()),
                    ..Security::default()
                };
                let parameters = Ber(fields.of(OCTETS)?);
                if security.model == Some(USER_BASED) {
                    security.parameters(parameters);
                }
                // An encrypted PDU is an octet string.
                if let Some(mut scoped) = fields.sequence() {
                    scoped.of(OCTETS)?;
                    security.context = scoped.of(OCTETS);
                    message.pdu = pdu(scoped);
                }
                message.security = Some(security);
            }
            _ => return None,
        }
        let is_port = ports.iter().any(|port| PORTS.contains(port));
        let has_id = |pdu: &Pdu<'_>| pdu.id.is_some() || pdu.trap.is_some();
        let is_sure = outer.0.is_empty() && message.pdu.as_ref().is_some_and(has_id);
        (is_port || is_sure).then_some(message)
    }

    /// The reason why the message could not be read to its end; `None` of one that is encrypted.
    #[must_use]
    pub fn fault(&self) -> Option<SnmpFault> {
        let is_encrypted = self.security.is_some_and(|it| it.flags & ENCRYPTED != 0);
        match &self.pdu {
            Some(pdu) => pdu.fault,
            None if is_encrypted => None,
            None => Some(SnmpFault::Pdu),
        }
    }
}

impl<'m> Security<'m> {
    /// Reads the parameters of the user-based model.
    fn parameters(&mut self, mut outer: Ber<'m>) -> Option<()> {
        let mut fields = outer.sequence()?;
        self.engine = fields.of(OCTETS)?;
        // The value is not negative, but some engines leave out the leading zero of the encoding.
        self.boots = u32::try_from(unsigned(fields.of(INTEGER)?)?).ok();
        self.time = u32::try_from(unsigned(fields.of(INTEGER)?)?).ok();
        self.user = Some(fields.of(OCTETS)?);
        Some(())
    }
}

fn pdu<'m>(mut fields: Ber<'m>) -> Option<Pdu<'m>> {
    let (tag, contents) = fields.next()?;
    let mut pdu = Pdu {
        kind: tag.checked_sub(0xa0).filter(|kind| *kind <= 8)?,
        ..Pdu::default()
    };
    let mut fields = Ber(contents);
    if pdu.kind == 4 {
        let enterprise = object(fields.of(OBJECT)?)?;
        let (_, agent) = fields.next()?;
        let (generic, specific) = (small(fields.integer()?)?, small(fields.integer()?)?);
        let (_, uptime) = fields.next()?;
        pdu.trap = Some(Trap {
            enterprise,
            agent: <[u8; 4]>::try_from(agent).ok().map(Ipv4Addr::from),
            generic,
            specific,
            uptime: u32::try_from(unsigned(uptime)?).ok()?,
        });
    } else {
        let mut number = || fields.integer().and_then(small);
        (pdu.id, pdu.error, pdu.index) = (number(), number(), number());
        if pdu.id.is_none() || pdu.error.is_none() || pdu.index.is_none() {
            pdu.fault = Some(SnmpFault::Number);
        }
    }
    let fault = variables(&mut pdu, fields);
    pdu.fault = pdu.fault.or(fault);
    Some(pdu)
}

/// Reads the variables, as far as they go.
fn variables<'m>(pdu: &mut Pdu<'m>, mut fields: Ber<'m>) -> Option<SnmpFault> {
    let Some(mut list) = fields.sequence() else {
        return Some(SnmpFault::Variables);
    };
    let mut fault = None;
    while !list.0.is_empty() {
        if pdu.names.len() >= VARIABLES_MAX {
            return Some(SnmpFault::TooMany);
        }
        let Some((octets, tag, contents)) = variable(&mut list) else {
            return Some(SnmpFault::Variables);
        };
        let name = object(octets);
        let is_ended = octets.last().is_some_and(|last| last & 0x80 == 0);
        if name.is_none() || !is_ended {
            fault = Some(SnmpFault::Name);
        }
        // A malformed identifier is shown by its octets; some agents write the empty identifier without any.
        pdu.names
            .push(name.unwrap_or_else(|| crate::text::digits(octets)));
        let value = value(tag, contents).unwrap_or(Value::Other(contents));
        pdu.values.push(value);
    }
    fault
}

/// The octets of the name of the next variable, and the tag and the contents of its value.
fn variable<'m>(list: &mut Ber<'m>) -> Option<(&'m [u8], u8, &'m [u8])> {
    let mut variable = list.sequence()?;
    let name = variable.of(OBJECT)?;
    let (tag, contents) = variable.next()?;
    Some((name, tag, contents))
}

/// The name of a PDU (RFC 3416, 3).
#[must_use]
pub fn kind_word(kind: u8) -> Option<&'static str> {
    const WORDS: [&str; 9] = [
        "get-request",
        "get-next-request",
        "get-response",
        "set-request",
        "trap",
        "getBulkRequest",
        "informRequest",
        "snmpV2-trap",
        "report",
    ];
    WORDS.get(usize::from(kind)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &[u8] =
        b"\x30\x2c\x02\x01\x00\x04\x06public\xa0\x1f\x02\x01\x26\x02\x01\x00\x02\x01\x00\
        \x30\x14\x30\x12\x06\x08\x2b\x06\x01\x02\x01\x01\x02\x00\x06\x06\x2b\x06\x01\x84\x0c\x02";

    #[test]
    fn a_message_is_read() {
        let message = SnmpMessage::new(GET, [1, 2]).unwrap();
        assert_eq!(
            (message.version, message.community),
            (0, Some(&b"public"[..]))
        );
        let pdu = message.pdu.unwrap();
        assert_eq!((pdu.kind, pdu.id, pdu.error), (0, Some(38), Some(0)));
        assert_eq!(pdu.names, ["1.3.6.1.2.1.1.2.0"]);
        assert_eq!(pdu.values[0].text(), "1.3.6.1.524.2");
    }

    #[test]
    fn every_prefix_is_refused_or_read_as_far_as_it_goes() {
        for end in 0..GET.len() {
            assert_eq!(SnmpMessage::new(&GET[..end], [161, 2]), None);
        }
        // The lengths end with the octets that are there.
        for end in 13..GET.len() {
            let mut bytes = GET[..end].to_vec();
            bytes[1] = (end - 2) as u8;
            let message = SnmpMessage::new(&bytes, [161, 2]).unwrap();
            assert_eq!(message.community, Some(&b"public"[..]));
            assert!(message.pdu.is_none());
        }
    }

    #[test]
    fn every_prefix_has_the_values_that_are_whole() {
        assert_eq!(clipped(GET), None);
        for end in 0..GET.len() {
            let bytes = clipped(&GET[..end]);
            assert_eq!(bytes.is_some(), end > 0, "{end}");
            let bytes = bytes.unwrap_or_default();
            let message = SnmpMessage::new(&bytes, [161, 2]);
            assert_eq!(message.is_some(), end >= 13, "{end}");
            let pdu = message.and_then(|message| message.pdu);
            assert_eq!(pdu.is_some(), end >= 15, "{end}");
            let id = pdu.and_then(|pdu| pdu.id);
            assert_eq!(id, (end >= 18).then_some(38), "{end}");
        }
        // Values within values are not followed without a limit.
        let deep = b"\x30\x84\x7f\xff\xff\xff".repeat(50_000);
        assert!(clipped(&deep).unwrap().len() <= 6 * DEPTH);
    }

    /// RFC 3411, 5: 1 to 3 are models of versions 1 and 2c and the user-based one, 4 is that of transports, whose parameters are empty
    /// (RFC 5591, 5.1).
    #[test]
    fn the_user_based_model_alone_has_an_engine_and_a_user() {
        let engine = b"\x30\x11\x04\x02id\x02\x01\x07\x02\x01\x09\x04\x01u\x04\0\x04\0";
        let of = |model: u8, parameters: &[u8]| {
            let header = [2, 1, 5, 2, 2, 5, 0xdc, 4, 1, 4, 2, 1, model];
            let scoped = b"\x30\x11\x04\0\x04\0\xa0\x0b\x02\x01\x26\x02\x01\0\x02\x01\0\x30\0";
            let mut body = vec![2, 1, 3, 0x30, header.len() as u8];
            body.extend(header);
            body.extend([4, parameters.len() as u8]);
            body.extend(parameters);
            body.extend(scoped);
            let mut bytes = vec![0x30, body.len() as u8];
            bytes.extend(body);
            bytes
        };
        for (model, parameters, is_user_based) in [
            (3, &engine[..], true),
            (4, b"", false),
            // Parameters of an unknown model that look like those of the user-based one.
            (9, engine, false),
        ] {
            let bytes = of(model, parameters);
            let message = SnmpMessage::new(&bytes, [1, 2]).unwrap();
            assert_eq!(message.pdu.unwrap().id, Some(0x26));
            let security = message.security.unwrap();
            assert_eq!((security.id, security.model), (Some(5), Some(model.into())));
            let expected = match is_user_based {
                true => (&b"id"[..], Some(7), Some(9), Some(&b"u"[..])),
                false => (&b""[..], None, None, None),
            };
            let found = (
                security.engine,
                security.boots,
                security.time,
                security.user,
            );
            assert_eq!(found, expected, "{model}");
        }
    }

    /// One malformed value took away all names and values from it on.
    #[test]
    fn malformed_values_have_their_octets() {
        let variables = [
            &b"\x30\x0a\x06\x06\x2b\x06\x01\x02\x01\x02\x06\x00"[..],
            b"\x30\x0c\x06\x06\x2b\x06\x01\x02\x01\x01\x40\x02\x01\x02",
            b"\x30\x0b\x06\x06\x2b\x06\x01\x02\x01\x01\x02\x01\x05",
        ]
        .concat();
        let mut list = [
            &b"\xa2\x30\x02\x01\x01\x02\x01\x00\x02\x01\x00\x30"[..],
            &variables[..],
        ]
        .concat();
        list.insert(12, variables.len() as u8);
        list[1] = (list.len() - 2) as u8;
        let mut bytes = [&b"\x30\x00\x02\x01\x01\x04\x01p"[..], &list[..]].concat();
        bytes[1] = (bytes.len() - 2) as u8;
        let pdu = SnmpMessage::new(&bytes, [161, 2]).unwrap().pdu.unwrap();
        let values: Vec<String> = pdu.values.iter().map(Value::text).collect();
        assert_eq!(values, ["", "0102", "5"]);
        assert_eq!(pdu.names.len(), 3);
    }

    /// Variables from a damaged name on, or all of them behind a damaged number, were left out without a word.
    #[test]
    fn what_is_damaged_is_a_fault() {
        fn tlv(tag: u8, contents: &[u8]) -> Vec<u8> {
            [&[tag, contents.len() as u8][..], contents].concat()
        }
        let with = |kind: u8, numbers: &[u8], list: &[u8]| {
            let pdu = tlv(kind, &[numbers, list].concat());
            tlv(0x30, &[&b"\x02\x01\x01\x04\x01p"[..], &pdu].concat())
        };
        let second = b"\x30\x08\x06\x03\x2b\x06\x02\x02\x01\x05";
        let named = |name: &[u8]| {
            let first = tlv(0x30, &[tlv(6, name), vec![5, 0]].concat());
            tlv(0x30, &[&first[..], second].concat())
        };
        let numbers = b"\x02\x01\x07\x02\x01\0\x02\x01\0";
        let sound = named(b"\x2b\x06\x01");
        let cut = tlv(0x30, b"\x30\x20\x06\x01\x2b\x05\0");
        let long_arc = [&[0x2b_u8][..], &[0xff; 12], &[0x7f]].concat();
        let digits = "2bffffffffffffffffffffffff7f";
        for (bytes, names, fault) in [
            (
                with(0xa2, numbers, &sound),
                &["1.3.6.1", "1.3.6.2"][..],
                None,
            ),
            (
                with(0xa2, numbers, &named(b"")),
                &["", "1.3.6.2"],
                Some(SnmpFault::Name),
            ),
            (
                with(0xa2, numbers, &named(b"\x2b\xff")),
                &["1.3", "1.3.6.2"],
                Some(SnmpFault::Name),
            ),
            (
                with(0xa2, numbers, &named(&long_arc)),
                &[digits, "1.3.6.2"],
                Some(SnmpFault::Name),
            ),
            (with(0xa2, numbers, &cut), &[], Some(SnmpFault::Variables)),
            (with(0xa2, numbers, b""), &[], Some(SnmpFault::Variables)),
            (
                with(0xa2, b"\x02\0\x02\x01\0\x02\x01\0", &sound),
                &["1.3.6.1", "1.3.6.2"],
                Some(SnmpFault::Number),
            ),
            (with(0xa9, numbers, &sound), &[], Some(SnmpFault::Pdu)),
        ] {
            let message = SnmpMessage::new(&bytes, [161, 2]).unwrap();
            assert_eq!(message.fault(), fault, "{bytes:x?}");
            let found = message.pdu.unwrap_or_default().names;
            assert_eq!(found, names, "{bytes:x?}");
        }
    }

    #[test]
    fn numbers_of_any_length_are_survived() {
        assert_eq!(integer(&[0xff, 0x7f]), Some(-129));
        assert_eq!(integer(&[1; 9]), None);
        assert_eq!(
            unsigned(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
            Some(u64::MAX)
        );
        assert_eq!(object(&[0xff; 20]), None);
        assert_eq!(object(&[0x88, 0x37, 0]).unwrap(), "2.999.0");
    }
}
