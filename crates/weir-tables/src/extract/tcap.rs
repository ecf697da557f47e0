//! `tcap`: one row a message of TCAP over SCCP.

use weir_messages::sccp::{self, Reassembly};
use weir_messages::tcap::{Component, TcapFault, TcapMessage, component_word, kind_word, map_word};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, Say};
use super::messages::{Messages, Protocol, Push, Way, columns_with_way};
use super::requests::{OpenRequest, Requests};
use super::value::{frame, number, seconds};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "tcap",
    doc: "one row per TCAP message over SCCP and M3UA: its transaction and its operations",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Tcap>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
struct Tcap {
    /// The parts by the point codes of sender and receiver, and the number that they share.
    parts: Reassembly<(u32, u32, u32)>,
    open: Requests<u64>,
    /// The number of messages between subsystems of MAP that are no TCAP.
    undecoded: u64,
}

impl Protocol for Tcap {
    const NAME: &'static str = "tcap";

    fn is_datagram(bytes: &[u8], ports: [u16; 2]) -> bool {
        <super::m3ua::M3ua as Protocol>::is_datagram(bytes, ports)
    }

    fn is_of_other_carrier(payload_protocol: u32) -> bool {
        super::sccp::OTHER_CARRIERS.contains(&payload_protocol)
    }

    fn is_of_carrier(payload_protocol: u32) -> bool {
        payload_protocol == super::m3ua::IDENTIFIER
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let Some(transfer) = super::sccp::carried(bytes, way) else {
            return false;
        };
        let Some(outer) = sccp::SccpMessage::new(transfer.user) else {
            return false;
        };
        let reference = outer.segment.map_or(0, |segment| segment.reference);
        let key = (transfer.opc, transfer.dpc, reference);
        let whole = self.parts.take(key, &outer);
        let subsystem = |party: Option<sccp::Party<'_>>| party.and_then(|it| it.subsystem);
        let subsystems = [subsystem(outer.called), subsystem(outer.calling)];
        let Some(message) = whole.and_then(TcapMessage::new) else {
            let is_undecoded = whole.is_some() && is_of_map(&subsystems);
            self.undecoded = self.undecoded.saturating_add(is_undecoded.into());
            return false;
        };
        let request = message.destination.and_then(transaction);
        let request = request.and_then(|id| self.open.answer(way, id));
        if let Some(id) = message.origin.and_then(transaction) {
            self.open.add(way, id);
        }
        let digits = |party: Option<sccp::Party<'_>>| party.and_then(|it| it.digits());
        let captured = CapturedTcap {
            opc: transfer.opc,
            dpc: transfer.dpc,
            subsystems,
            digits: [digits(outer.called), digits(outer.calling)],
            kind: message.kind,
            origin: message.origin.map(<[u8]>::to_vec),
            destination: message.destination.map(<[u8]>::to_vec),
            abort_cause: message.abort_cause,
            context: message.context,
            result: message.result,
            components: message.components,
            fault: message.fault,
            time_ns: request.and_then(|request| request.until(way)),
            request,
        };
        let cache = Cache::new(FIELDS.len());
        push(way, &TcapItem { captured, cache });
        true
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        let mut counted = self.open.counted();
        counted.push((
            self.parts.given_up(),
            "segmented messages were dropped because segments were not captured or came out of order, or more than 16,384 waited",
        ));
        counted.push((
            self.undecoded,
            "messages of SCCP between subsystems of MAP carry no TCAP that could be decoded",
        ));
        counted
    }
}

/// Whether one of the subsystems belongs to MAP.
fn is_of_map(subsystems: &[Option<u8>; 2]) -> bool {
    subsystems.iter().flatten().any(|it| MAP.contains(it))
}

/// The number of a transaction identifier, whose length counts; `None` for those that are empty or too long to be told apart by a
/// number.
fn transaction(octets: &[u8]) -> Option<u64> {
    let number = |sum: u64, octet: &u8| sum << 8 | u64::from(*octet);
    let length = octets.len() as u64;
    matches!(length, 1..=7).then(|| octets.iter().fold(length, number))
}

struct TcapItem {
    captured: CapturedTcap,
    cache: Cache,
}

impl Item for TcapItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

/// A message as it was captured, of which a row is made when its columns are read.
struct CapturedTcap {
    opc: u32,
    dpc: u32,
    /// The subsystems of the called and the calling party.
    subsystems: [Option<u8>; 2],
    digits: [Option<String>; 2],
    kind: u8,
    origin: Option<Vec<u8>>,
    destination: Option<Vec<u8>>,
    abort_cause: Option<u8>,
    context: Option<String>,
    result: Option<i64>,
    components: Vec<Component>,
    fault: Option<TcapFault>,
    request: Option<OpenRequest>,
    time_ns: Option<i64>,
}

/// Subsystems of MAP (3GPP TS 23.003, 8).
const MAP: [u8; 12] = [5, 6, 7, 8, 9, 10, 145, 147, 148, 149, 150, 251];

impl CapturedTcap {
    fn is_map(&self) -> bool {
        is_of_map(&self.subsystems)
    }

    fn first(&self, get: fn(&Component) -> Option<i64>) -> Option<Value<'static>> {
        self.components.iter().find_map(get).map(Value::Signed)
    }
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<CapturedTcap>>] = &[
    ItemField::new("mtp3.opc", Kind::U32, Say::Value(|s| number(s.opc)),
        "Originating point code", "ITU-T Q.704, 2.2.3"),
    ItemField::new("mtp3.dpc", Kind::U32, Say::Value(|s| number(s.dpc)),
        "Destination point code", "ITU-T Q.704, 2.2.3"),
    ItemField::new("sccp.called.ssn", Kind::U8, Say::Value(|s| number(s.subsystems[0]?)),
        "Called party: subsystem number, 6 HLR, 7 VLR, 8 MSC, 146 CAP, 149 SGSN, …", "ITU-T Q.713, 3.4.2.2"),
    ItemField::new("sccp.called.digits", Kind::Text, Say::Value(|s| s.digits[0].as_deref().map(Value::Text)),
        "Called party: digits of the global title", "ITU-T Q.713, 3.4.2.3"),
    ItemField::new("sccp.calling.ssn", Kind::U8, Say::Value(|s| number(s.subsystems[1]?)),
        "Calling party: subsystem number", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.digits", Kind::Text, Say::Value(|s| s.digits[1].as_deref().map(Value::Text)),
        "Calling party: digits of the global title", "ITU-T Q.713, 3.5"),
    ItemField::new("tcap.message", Kind::Text, Say::Value(|s| kind_word(s.kind).map(Value::Text)),
        "begin, continue, end, abort or unidirectional", "ITU-T Q.773, 3.1"),
    ItemField::new("tcap.otid", Kind::Bytes, Say::Value(|s| s.origin.as_deref().map(Value::Bytes)),
        "Originating transaction ID", "ITU-T Q.773, 3.1"),
    ItemField::new("tcap.dtid", Kind::Bytes, Say::Value(|s| s.destination.as_deref().map(Value::Bytes)),
        "Destination transaction ID", "ITU-T Q.773, 3.1"),
    ItemField::new("tcap.p_abortcause", Kind::U8, Say::Value(|s| number(s.abort_cause?)),
        "P-Abort cause: 0 unrecognized message type, 1 unrecognized transaction ID, …", "ITU-T Q.773, 3.1"),
    ItemField::new("tcap.application_context_name", Kind::Text, Say::Value(|s| s.context.as_deref().map(Value::Text)),
        "Application context name: an object identifier, 0.4.0.0.1.0.… is MAP", "ITU-T Q.773, 3.2"),
    ItemField::new("tcap.result", Kind::I64, Say::Value(|s| s.result.map(Value::Signed)),
        "Result of the dialogue: 0 accepted, 1 rejected", "ITU-T Q.773, 3.2"),
    ItemField::new("tcap.component_name", Kind::Texts, Say::List(|s, list| s.components.iter().filter_map(|it| component_word(it.kind)).for_each(|word| list.text(word))),
        "Types of the components: invoke, returnResultLast, returnError, reject, returnResultNotLast", "ITU-T Q.773, 3.2"),
    ItemField::new("tcap.invokeid", Kind::I64, Say::Value(|s| s.first(|it| it.invoke)),
        "Invoke ID of the first component", "ITU-T Q.773, 3.2"),
    ItemField::new("tcap.invokeids", Kind::Texts, Say::List(|s, list| s.components.iter().filter_map(|it| it.invoke).for_each(|id| list.text(id))),
        "Invoke IDs of all components", "ITU-T Q.773, 3.2"),
    ItemField::new("tcap.linkedid", Kind::I64, Say::Value(|s| s.first(|it| it.linked)),
        "First linked ID of the components", "ITU-T Q.773, 3.2"),
    ItemField::new("tcap.localvalue", Kind::I64, Say::Value(|s| s.first(|it| it.operation)),
        "Code of the first operation: in MAP 2 update location, 45 routing for a short message, …", "ITU-T Q.773, 3.2; 3GPP TS 29.002, 17.5"),
    ItemField::new("tcap.localvalues", Kind::Texts, Say::List(|s, list| s.components.iter().filter_map(|it| it.operation).for_each(|code| list.text(code))),
        "Codes of all operations", "ITU-T Q.773, 3.2"),
    ItemField::new("tcap.operation", Kind::Text, Say::Value(|s| {
            let operation = s.components.iter().find_map(|it| it.operation);
            operation.filter(|_| s.is_map()).and_then(map_word).map(Value::Text)
        }), "Name of the first operation, where one of the subsystems belongs to MAP", "3GPP TS 29.002, 17.5"),
    ItemField::new("tcap.error", Kind::I64, Say::Value(|s| s.first(|it| it.error)),
        "Code of the first error", "ITU-T Q.773, 3.2; 3GPP TS 29.002, 17.5"),
    ItemField::new("tcap.time", Kind::F64, Say::Value(|s| seconds(s.time_ns?)),
        "Seconds from the other side's first message of this transaction to this one", "weir"),
    ItemField::new("tcap.response_to", Kind::U64, Say::Value(|s| frame(s.request?.frame)),
        "Number of the record with that message", "weir"),
    ItemField::new("tcap.fault", Kind::Text, Say::Value(|s| s.fault.map(|fault| Value::Text(fault.as_str()))),
        "Why decoding of the message stopped", "weir"),
];
