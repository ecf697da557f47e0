//! `snmp`: one row a message of SNMP.

use weir_messages::printable;
use weir_messages::snmp::{PORTS, Pdu, Security, SnmpMessage, Trap, clipped, kind_word};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::messages::{Length, Messages, Protocol, Push, Way, columns_with_way};
use super::requests::{OpenRequest, Requests};
use super::value::{SHORTER_THAN_LENGTH, address, frame, number, seconds};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "snmp",
    doc: "one row per SNMP message, on any port",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Snmp>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
struct Snmp(Requests<i32>);

/// A response.
const RESPONSE: u8 = 2;
/// A report, which answers a request that could not be read.
const REPORT: u8 = 8;

/// The tag of a message, and of the header behind the version of version 3.
const SEQUENCE: u8 = 0x30;
/// The tag of the community that stands there in older versions.
const OCTETS: u8 = 0x04;

/// The octets of the tag and the length with which a message begins, and the length; `None` where more octets are needed.
fn header(bytes: &[u8]) -> Option<(usize, usize)> {
    let octets_of_length = match *bytes.get(1)? {
        length @ 0..=0x7f => return Some((2, usize::from(length))),
        length => usize::from(length & 0x7f),
    };
    let octets = bytes.get(2..2 + octets_of_length)?;
    let length = octets.iter().fold(0_usize, |sum, octet| {
        sum.saturating_mul(256).saturating_add((*octet).into())
    });
    Some((2 + octets_of_length, length))
}

/// Whether octets are the first ones of a message, as far as they came: its version, and the tag behind it.
fn may_be_message(bytes: &[u8]) -> bool {
    let behind = header(bytes).and_then(|(octets, _)| bytes.get(octets..));
    let [kind, length, version, next] =
        [0_usize, 1, 2, 3].map(|at| behind.and_then(|behind| behind.get(at)));
    kind.is_none_or(|kind| *kind == 2)
        && length.is_none_or(|length| *length == 1)
        && version.is_none_or(|version| matches!(version, 0 | 1 | 3))
        && next.is_none_or(|next| matches!(*next, OCTETS | SEQUENCE))
}

impl Protocol for Snmp {
    const NAME: &'static str = "snmp";

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        let is_message = |bytes: &[u8]| SnmpMessage::new(bytes, ports).is_some();
        bytes.first() == Some(&SEQUENCE)
            && (is_message(bytes)
                || Self::is_expected(ports)
                    && clipped(bytes).is_some_and(|bytes| is_message(&bytes)))
    }

    const REPORTS_CUT: bool = true;

    fn may_be_cut(_bytes: &[u8], ports: [u16; 2]) -> bool {
        ports.iter().any(|port| PORTS.contains(port))
    }

    /// Over TCP messages follow one another (RFC 3430, 2.1).
    fn begins(bytes: &[u8], ports: [u16; 2]) -> bool {
        match Self::length(bytes) {
            Length::Message { total, .. } => bytes
                .get(..total)
                .is_some_and(|message| Self::is_datagram(message, ports)),
            _ => false,
        }
    }

    fn may_begin(bytes: &[u8]) -> bool {
        match Self::length(bytes) {
            Length::Wait => !bytes.is_empty(),
            Length::Message { total, .. } => bytes.len() < total && may_be_message(bytes),
            Length::Broken => false,
        }
    }

    fn length(bytes: &[u8]) -> Length {
        match bytes {
            [] | [SEQUENCE] => return Length::Wait,
            // SNMP has no other forms of a length (RFC 3417, 8).
            [SEQUENCE, 0..=0x7f | 0x81..=0x84, ..] => {}
            _ => return Length::Broken,
        }
        match header(bytes) {
            Some((octets, length)) if length <= Self::MESSAGE_BYTES_MAX => Length::Message {
                skip: 0,
                total: octets + length,
            },
            Some(_) => Length::Broken,
            None => Length::Wait,
        }
    }

    fn is_likely(bytes: &[u8]) -> bool {
        Self::is_datagram(bytes, [0; 2])
    }

    fn is_expected(ports: [u16; 2]) -> bool {
        ports.iter().any(|port| PORTS.contains(port))
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let part = clipped(bytes).filter(|_| Self::is_expected(way.ports()));
        let lacks = match (way.missing, part.is_some()) {
            (1.., _) => Some("bytes were not captured"),
            (0, true) => Some(SHORTER_THAN_LENGTH),
            (0, false) => None,
        };
        let bytes = part.as_deref().unwrap_or(bytes);
        let Some(message) = SnmpMessage::new(bytes, way.ports()) else {
            return false;
        };
        let mut request = None;
        if let Some((pdu, id)) = message.pdu.as_ref().and_then(|pdu| Some((pdu, pdu.id?))) {
            match pdu.kind {
                RESPONSE => request = self.0.answer(way, id),
                // An engine reports its name when it gets a request without it; the same request is sent again then.
                REPORT => self.0.forget(way, id),
                0 | 1 | 3 | 5 | 6 => self.0.add(way, id),
                _ => {}
            }
        }
        let texts = |pdu: &Pdu<'_>| {
            pdu.values
                .iter()
                .map(weir_messages::snmp::Value::text)
                .collect()
        };
        let item = SnmpItem {
            values: message.pdu.as_ref().map(texts).unwrap_or_default(),
            community: message.community.map(printable),
            user: message.security.and_then(|it| it.user).map(printable),
            context: message.security.and_then(|it| it.context).map(printable),
            time_ns: request.and_then(|request| request.until(way)),
            request,
            message,
            lacks,
        };
        push(way, &item);
        true
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        self.0.counted()
    }
}

struct SnmpItem<'m> {
    message: SnmpMessage<'m>,
    community: Option<String>,
    user: Option<String>,
    context: Option<String>,
    values: Vec<String>,
    request: Option<OpenRequest>,
    time_ns: Option<i64>,
    /// The fault of a message of which octets are missing.
    lacks: Option<&'static str>,
}

impl<'m> SnmpItem<'m> {
    const fn pdu(&self) -> Option<&Pdu<'m>> {
        self.message.pdu.as_ref()
    }

    fn trap(&self) -> Option<&Trap> {
        self.pdu()?.trap.as_ref()
    }

    fn security(&self) -> Option<&Security<'m>> {
        self.message.security.as_ref()
    }

    /// A number that GetBulk has, or all other PDUs.
    fn either(&self, of_bulk: bool, get: fn(&Pdu<'m>) -> Option<i32>) -> Option<Value<'static>> {
        let pdu = self.pdu().filter(|pdu| (pdu.kind == 5) == of_bulk)?;
        get(pdu).map(|number| Value::Signed(number.into()))
    }
}

impl Item for SnmpItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(self)
    }
}

type SnmpGetter = for<'i> fn(&'i SnmpItem<'_>) -> Option<Value<'i>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<SnmpGetter>] = &[
    ItemField::new("snmp.version", Kind::U8, |s| number(s.message.version),
        "Version: 0 is SNMPv1, 1 is SNMPv2c, 3 is SNMPv3", "RFC 1157, 4; RFC 3412, 6.1"),
    ItemField::new("snmp.community", Kind::Text, |s| s.community.as_deref().map(Value::Text),
        "Community of versions 1 and 2c", "RFC 1157, 4"),
    ItemField::new("snmp.data", Kind::U8, |s| number(s.pdu()?.kind),
        "PDU type: 0 get, 1 get next, 2 response, 3 set, 4 trap, 5 get bulk, 6 inform, 7 trap of version 2, 8 report", "RFC 3416, 3"),
    ItemField::new("snmp.pdu", Kind::Text, |s| kind_word(s.pdu()?.kind).map(Value::Text),
        "Name of the PDU type: get-request, get-next-request, get-response, …", "RFC 3416, 3"),
    ItemField::new("snmp.request_id", Kind::I64, |s| s.pdu()?.id.map(|id| Value::Signed(id.into())),
        "Request ID, the same in request and response", "RFC 3416, 3"),
    ItemField::new("snmp.error_status", Kind::I64, |s| s.either(false, |pdu| pdu.error),
        "Error status: 0 none, 2 no such name, 5 general, …", "RFC 3416, 3"),
    ItemField::new("snmp.error_index", Kind::I64, |s| s.either(false, |pdu| pdu.index),
        "Number of the variable with the error, from 1", "RFC 3416, 3"),
    ItemField::new("snmp.non_repeaters", Kind::I64, |s| s.either(true, |pdu| pdu.error),
        "Non-repeaters of get bulk: variables that are not repeated", "RFC 3416, 3"),
    ItemField::new("snmp.max_repetitions", Kind::I64, |s| s.either(true, |pdu| pdu.index),
        "Max-repetitions of get bulk", "RFC 3416, 3"),
    ItemField::new("snmp.name", Kind::Texts, |s| Some(Value::Texts(&s.pdu()?.names)).filter(|_| s.pdu().is_some_and(|pdu| !pdu.names.is_empty())),
        "Names of the variables: object identifiers", "RFC 3416, 3"),
    ItemField::new("snmp.values", Kind::Texts, |s| Some(Value::Texts(&s.values)).filter(|_| !s.values.is_empty()),
        "Values of the variables as texts: unprintable octets in hexadecimal digits; nothing for NULL", "RFC 3416, 3"),
    ItemField::new("snmp.time", Kind::F64, |s| seconds(s.time_ns?),
        "Seconds from the request to this response", "weir"),
    ItemField::new("snmp.response_to", Kind::U64, |s| frame(s.request?.frame),
        "Number of the record with the request that this answers", "weir"),
    ItemField::new("snmp.enterprise", Kind::Text, |s| Some(Value::Text(&s.trap()?.enterprise)),
        "Enterprise of a version 1 trap, an object identifier", "RFC 1157, 4.1.6"),
    ItemField::new("snmp.agent_addr", Kind::Address, |s| address(s.trap()?.agent?.into()),
        "Agent address of a version 1 trap", "RFC 1157, 4.1.6"),
    ItemField::new("snmp.generic_trap", Kind::I64, |s| Some(Value::Signed(s.trap()?.generic.into())),
        "Generic trap: 0 cold start, 1 warm start, 2 link down, 3 link up, 4 authentication failure, 6 enterprise-specific", "RFC 1157, 4.1.6"),
    ItemField::new("snmp.specific_trap", Kind::I64, |s| Some(Value::Signed(s.trap()?.specific.into())),
        "Specific trap of the enterprise", "RFC 1157, 4.1.6"),
    ItemField::new("snmp.time_stamp", Kind::U32, |s| number(s.trap()?.uptime),
        "Uptime of the trap's sender in hundredths of a second", "RFC 1157, 4.1.6"),
    ItemField::new("snmp.msgid", Kind::U32, |s| number(s.security()?.id?),
        "Message ID of version 3", "RFC 3412, 6.2"),
    ItemField::new("snmp.msgflags", Kind::U8, |s| number(s.security()?.flags),
        "Message flags of version 3: 1 authenticated, 2 encrypted, 4 reportable", "RFC 3412, 6.4"),
    ItemField::new("snmp.msgsecuritymodel", Kind::U32, |s| number(s.security()?.model?),
        "Security model of version 3: 3 user-based, 4 transport", "RFC 3411, 5"),
    ItemField::new("snmp.msgauthoritativeengineid", Kind::Bytes, |s| Some(Value::Bytes(s.security()?.engine)).filter(|_| s.security().is_some_and(|it| !it.engine.is_empty())),
        "ID of the authoritative engine", "RFC 3414, 2.4"),
    ItemField::new("snmp.msgauthoritativeengineboots", Kind::U32, |s| number(s.security()?.boots?),
        "Number of restarts of the authoritative engine", "RFC 3414, 2.4"),
    ItemField::new("snmp.msgauthoritativeenginetime", Kind::U32, |s| number(s.security()?.time?),
        "Seconds since the last restart of the authoritative engine", "RFC 3414, 2.4"),
    ItemField::new("snmp.msgusername", Kind::Text, |s| s.user.as_deref().map(Value::Text),
        "User name of version 3", "RFC 3414, 2.4"),
    ItemField::new("snmp.contextname", Kind::Text, |s| s.context.as_deref().map(Value::Text),
        "Context name", "RFC 3412, 7.1"),
    ItemField::new("snmp.fault", Kind::Text, |s| {
            let lacks = s.lacks.map(Value::Text);
            lacks.or_else(|| s.message.fault().map(|fault| Value::Text(fault.as_str())))
        }, "Why the message could not be read to its end: bytes were not captured, it is shorter than its length says, a damaged PDU, number, name or list of variables, or more than 1,000 of these", "weir"),
];
