//! `sccp`: one row a message of SCCP over M3UA.

use weir_messages::m3ua::{self, SCCP, Transfer};
use weir_messages::sccp::{Party, SccpMessage, kind_word};
use weir_packet::{Kind, Needs, Value};

use super::extraction::{Extraction, ItemField, columns};
use super::list::{Cache, Say};
use super::messages::{Messages, Protocol, Push, Way, columns_with_way};
use super::value::number;
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "sccp",
    doc: "one row per SCCP message over M3UA, with the addresses of both parties",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Sccp>::start,
    arguments: super::settings::NETWORKS,
    aliases: &[],
};

#[derive(Default)]
struct Sccp {
    /// The number of messages that have the service of SCCP and another form.
    undecoded: u64,
}

/// The identifiers of SCTP payloads that carry SCCP in other ways than M3UA (IANA): M2UA, SUA and M2PA.
pub(super) const OTHER_CARRIERS: [u32; 3] = [2, 4, 5];

/// The SCCP message in a message of M3UA.
pub(super) fn carried<'m>(bytes: &'m [u8], way: &Way) -> Option<Transfer<'m>> {
    let transfer = m3ua::M3uaMessage::new(bytes)?.transfer()?;
    (transfer.service == SCCP && way.transport == "sctp").then_some(transfer)
}

impl Protocol for Sccp {
    const NAME: &'static str = "sccp";

    fn is_datagram(bytes: &[u8], _ports: [u16; 2]) -> bool {
        m3ua::M3uaMessage::new(bytes).is_some()
    }

    fn is_of_other_carrier(payload_protocol: u32) -> bool {
        OTHER_CARRIERS.contains(&payload_protocol)
    }

    fn is_of_carrier(payload_protocol: u32) -> bool {
        payload_protocol == super::m3ua::IDENTIFIER
    }

    fn message(&mut self, bytes: &[u8], way: &Way, push: &mut Push<'_>) -> bool {
        let Some(transfer) = carried(bytes, way) else {
            return false;
        };
        if SccpMessage::new(transfer.user).is_none() {
            self.undecoded = self.undecoded.saturating_add(1);
            return false;
        }
        let item = SccpItem {
            captured: CapturedSccp {
                opc: transfer.opc,
                dpc: transfer.dpc,
                link: transfer.link,
                bytes: transfer.user.to_vec(),
            },
            cache: Cache::new(FIELDS.len()),
        };
        push(way, &item);
        true
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        let text = "messages of M3UA carry SCCP that could not be decoded";
        vec![(self.undecoded, text)]
    }
}

struct SccpItem {
    captured: CapturedSccp,
    cache: Cache,
}

impl Item for SccpItem {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        self.cache.value(FIELDS, index, &self.captured)
    }
}

/// A message as it was captured, of which a row is made when its columns are read.
struct CapturedSccp {
    opc: u32,
    dpc: u32,
    link: u8,
    bytes: Vec<u8>,
}

impl CapturedSccp {
    fn message(&self) -> Option<SccpMessage<'_>> {
        SccpMessage::new(&self.bytes)
    }

    fn called(&self) -> Option<Party<'_>> {
        self.message()?.called
    }

    fn calling(&self) -> Option<Party<'_>> {
        self.message()?.calling
    }

    /// The cause in messages of one of these types.
    fn cause(&self, kinds: &[u8]) -> Option<Value<'static>> {
        let message = self.message().filter(|it| kinds.contains(&it.kind))?;
        number(message.cause?)
    }
}

#[rustfmt::skip]
static FIELDS: &[ItemField<Say<CapturedSccp>>] = &[
    ItemField::new("mtp3.opc", Kind::U32, Say::Value(|s| number(s.opc)),
        "Originating point code", "ITU-T Q.704, 2.2.3"),
    ItemField::new("mtp3.dpc", Kind::U32, Say::Value(|s| number(s.dpc)),
        "Destination point code", "ITU-T Q.704, 2.2.3"),
    ItemField::new("mtp3.sls", Kind::U8, Say::Value(|s| number(s.link)),
        "Signalling link selection", "ITU-T Q.704, 2.2.4"),
    ItemField::new("sccp.message_type", Kind::U8, Say::Value(|s| number(s.message()?.kind)),
        "Message type: 9 unitdata, 17 extended unitdata, 1 connection request, …", "ITU-T Q.713, 2.1"),
    ItemField::new("sccp.message", Kind::Text, Say::Value(|s| kind_word(s.message()?.kind).map(Value::Text)),
        "Name of the message type: UDT, UDTS, XUDT, CR, CC, DT1, …", "ITU-T Q.713, 2.1"),
    ItemField::new("sccp.class", Kind::U8, Say::Value(|s| number(s.message()?.class?)),
        "Protocol class: 0 and 1 connectionless, 2 and 3 connection-oriented", "ITU-T Q.713, 3.6"),
    ItemField::new("sccp.handling", Kind::U8, Say::Value(|s| number(s.message()?.handling?)),
        "Message handling: 8 return the message on error", "ITU-T Q.713, 3.6"),
    ItemField::new("sccp.slr", Kind::U32, Say::Value(|s| number(s.message()?.source_reference?)),
        "Source local reference", "ITU-T Q.713, 3.3"),
    ItemField::new("sccp.dlr", Kind::U32, Say::Value(|s| number(s.message()?.destination_reference?)),
        "Destination local reference", "ITU-T Q.713, 3.2"),
    ItemField::new("sccp.hops", Kind::U8, Say::Value(|s| number(s.message()?.hops?)),
        "Hop counter: relays that the message may still pass", "ITU-T Q.713, 3.18"),
    ItemField::new("sccp.return_cause", Kind::U8, Say::Value(|s| s.cause(&[10, 18, 20])),
        "Return cause: 1 no translation, 3 subsystem failure, …", "ITU-T Q.713, 3.12"),
    ItemField::new("sccp.refusal_cause", Kind::U8, Say::Value(|s| s.cause(&[3])),
        "Refusal cause of a connection", "ITU-T Q.713, 3.15"),
    ItemField::new("sccp.release_cause", Kind::U8, Say::Value(|s| s.cause(&[4])),
        "Release cause of a connection", "ITU-T Q.713, 3.11"),
    ItemField::new("sccp.reset_cause", Kind::U8, Say::Value(|s| s.cause(&[13])),
        "Reset cause of a connection", "ITU-T Q.713, 3.13"),
    ItemField::new("sccp.error_cause", Kind::U8, Say::Value(|s| s.cause(&[15])),
        "Error cause", "ITU-T Q.713, 3.14"),
    ItemField::new("sccp.called.ri", Kind::U8, Say::Value(|s| number(u8::from(s.called()?.by_subsystem))),
        "Called party: routing indicator, 1 by the subsystem number, 0 by the global title", "ITU-T Q.713, 3.4.1"),
    ItemField::new("sccp.called.pc", Kind::U16, Say::Value(|s| number(s.called()?.point_code?)),
        "Called party: point code", "ITU-T Q.713, 3.4.2.1"),
    ItemField::new("sccp.called.ssn", Kind::U8, Say::Value(|s| number(s.called()?.subsystem?)),
        "Called party: subsystem number, 6 HLR, 7 VLR, 8 MSC, 146 CAP, 149 SGSN, …", "ITU-T Q.713, 3.4.2.2"),
    ItemField::new("sccp.called.gti", Kind::U8, Say::Value(|s| number(s.called()?.title_form)),
        "Called party: global title indicator, 0 none", "ITU-T Q.713, 3.4.1"),
    ItemField::new("sccp.called.tt", Kind::U8, Say::Value(|s| number(s.called()?.translation?)),
        "Called party: translation type", "ITU-T Q.713, 3.4.2.3"),
    ItemField::new("sccp.called.np", Kind::U8, Say::Value(|s| number(s.called()?.plan?)),
        "Called party: numbering plan", "ITU-T Q.713, 3.4.2.3.3"),
    ItemField::new("sccp.called.nai", Kind::U8, Say::Value(|s| number(s.called()?.nature?)),
        "Called party: nature of address, 3 national, 4 international number, …", "ITU-T Q.713, 3.4.2.3.1"),
    ItemField::new("sccp.called.digits", Kind::Text, Say::Text(|s| s.called()?.digits()),
        "Called party: digits of the global title", "ITU-T Q.713, 3.4.2.3"),
    ItemField::new("sccp.calling.ri", Kind::U8, Say::Value(|s| number(u8::from(s.calling()?.by_subsystem))),
        "Calling party: routing indicator, 1 by the subsystem number, 0 by the global title", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.pc", Kind::U16, Say::Value(|s| number(s.calling()?.point_code?)),
        "Calling party: point code", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.ssn", Kind::U8, Say::Value(|s| number(s.calling()?.subsystem?)),
        "Calling party: subsystem number", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.gti", Kind::U8, Say::Value(|s| number(s.calling()?.title_form)),
        "Calling party: global title indicator, 0 none", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.tt", Kind::U8, Say::Value(|s| number(s.calling()?.translation?)),
        "Calling party: translation type", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.np", Kind::U8, Say::Value(|s| number(s.calling()?.plan?)),
        "Calling party: numbering plan", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.nai", Kind::U8, Say::Value(|s| number(s.calling()?.nature?)),
        "Calling party: nature of address", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.calling.digits", Kind::Text, Say::Text(|s| s.calling()?.digits()),
        "Calling party: digits of the global title", "ITU-T Q.713, 3.5"),
    ItemField::new("sccp.segmentation.first", Kind::Bool, Say::Value(|s| Some(Value::Bool(s.message()?.segment?.is_first))),
        "First segment of several", "ITU-T Q.713, 3.17"),
    ItemField::new("sccp.segmentation.remaining", Kind::U8, Say::Value(|s| number(s.message()?.segment?.remaining)),
        "Segments still to come", "ITU-T Q.713, 3.17"),
    ItemField::new("sccp.segmentation.slr", Kind::U32, Say::Value(|s| number(s.message()?.segment?.reference)),
        "Segmentation local reference", "ITU-T Q.713, 3.17"),
    ItemField::new("sccp.data", Kind::Bytes, Say::Value(|s| s.message()?.data.map(Value::Bytes)),
        "User data", "ITU-T Q.713, 3.16"),
];
