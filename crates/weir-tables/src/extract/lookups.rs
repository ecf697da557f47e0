//! `lookups`: one row a question with its answer, as Zeek's `dns.log`.

use weir_messages::dns::{
    DnsFault, Lookup, Lookups as Pairs, class_word, opcode_word, rcode_word, type_word,
};
use weir_packet::{Kind, Needs, Value};

use super::dns::{DnsTable, may_be_early, read};
use super::extraction::{Extraction, ItemField, columns};
use super::messages::{Messages, Push, Way, columns_with_way};
use super::value::{by_one_clock, frame, number, seconds};
use crate::row::Item;

pub(super) const EXTRACTION: Extraction = Extraction {
    name: "lookups",
    doc: "one row per DNS question with its answer, in Zeek's words",
    columns: || columns_with_way(columns(&[], FIELDS)),
    needs: &[Needs::All],
    start: Messages::<Lookups>::start,
    arguments: super::settings::SECRETS,
    aliases: &[],
};

#[derive(Default)]
struct Lookups(Pairs<Way>);

/// A lookup that becomes a row.
struct PartlySeen<'l> {
    lookup: &'l Lookup<Way>,
    /// Whether octets of its question or its answer were not captured.
    is_cut: bool,
}

impl PartlySeen<'_> {
    /// The reason why the request or the response cannot be decoded to its end.
    fn fault(&self) -> Option<&'static str> {
        match self.is_cut {
            true => Some("bytes were not captured"),
            false => self.lookup.fault.map(DnsFault::as_str),
        }
    }
}

/// Pushes a lookup with the direction of its question. `now` is the current message, which may lack octets.
fn push_lookup(lookup: &Lookup<Way>, now: Option<&Way>, push: &mut Push<'_>) {
    let answer = now.filter(|now| lookup.answer_frame == Some(now.frame));
    let is_cut = lookup.way.missing > 0 || answer.is_some_and(|answer| answer.missing > 0);
    push(&lookup.way, &LookupItem(PartlySeen { lookup, is_cut }));
}

impl DnsTable for Lookups {
    const NAME: &'static str = "lookups";

    fn take(&mut self, bytes: &[u8], way: &Way, waits: bool, push: &mut Push<'_>) -> Option<bool> {
        let Some((message, seen)) = read(bytes, way) else {
            return Some(false);
        };
        if waits && may_be_early(&message) && !self.0.is_asked(way.conversation(), message.id()) {
            return None;
        }
        // A row has the direction of the query, also where only the response was seen. Responses to a group (RFC 6762, 6) go where
        // queries go, which no group sends.
        let is_back = message.is_response() && !way.dst.address.is_multicast();
        let from = match is_back {
            true => way.back(),
            false => *way,
        };
        self.0.take(&message, seen, &from, &mut |lookup| {
            push_lookup(&lookup, Some(way), push);
        });
        Some(true)
    }

    fn finish(&mut self, push: &mut Push<'_>) -> bool {
        self.0
            .finish(&mut |lookup| push_lookup(&lookup, None, push))
    }

    fn counted(&self) -> Vec<(u64, &'static str)> {
        vec![(
            self.0.given_up(),
            "questions were written without their answers because more than 65,536 waited",
        )]
    }
}

struct LookupItem<'l>(PartlySeen<'l>);

impl Item for LookupItem<'_> {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (FIELDS.get(index)?.get)(&self.0)
    }
}

type LookupGetter = for<'l> fn(&'l PartlySeen<'_>) -> Option<Value<'l>>;

#[rustfmt::skip]
static FIELDS: &[ItemField<LookupGetter>] = &[
    ItemField::new("lookup.trans_id", Kind::U16, |s| number(s.lookup.id),
        "Transaction ID of question and answer", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.rtt", Kind::F64, |s| seconds(by_one_clock(s.lookup.rtt_ns?)?),
        "Seconds from the question to the answer", "weir"),
    ItemField::new("lookup.query", Kind::Text, |s| s.lookup.query.as_deref().map(Value::Text),
        "Name that the question asks for, in lower case", "RFC 1035, 4.1.2"),
    ItemField::new("lookup.qclass", Kind::U16, |s| number(s.lookup.kind?.1),
        "Class of the question", "RFC 1035, 3.2.4"),
    ItemField::new("lookup.qclass_name", Kind::Text, |s| class_word(s.lookup.kind?.1).map(Value::Text),
        "Name of the class: C_INTERNET, …", "RFC 1035, 3.2.4"),
    ItemField::new("lookup.qtype", Kind::U16, |s| number(s.lookup.kind?.0),
        "Type of the question", "RFC 1035, 3.2.2"),
    ItemField::new("lookup.qtype_name", Kind::Text, |s| type_word(s.lookup.kind?.0).map(Value::Text),
        "Name of the type: A, AAAA, …; * for all", "RFC 1035, 3.2.2"),
    ItemField::new("lookup.rcode", Kind::U16, |s| number(s.lookup.rcode?),
        "Response code with the bits of EDNS; NULL without an answer", "RFC 1035, 4.1.1; RFC 6891, 6.1.3"),
    ItemField::new("lookup.rcode_name", Kind::Text, |s| rcode_word(s.lookup.rcode?).map(Value::Text),
        "Name of the response code: NOERROR, NXDOMAIN, …", "RFC 6895, 2.3"),
    ItemField::new("lookup.opcode", Kind::U8, |s| number(s.lookup.opcode),
        "Opcode: 0 query, 4 notify, 5 update", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.opcode_name", Kind::Text, |s| opcode_word(s.lookup.opcode).map(Value::Text),
        "Name of the opcode", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.aa", Kind::Bool, |s| s.lookup.is_authoritative.map(Value::Bool),
        "Authoritative answer; NULL without an answer", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.tc", Kind::Bool, |s| s.lookup.is_truncated.map(Value::Bool),
        "Question or answer was truncated; NULL where one of them was not seen and the other was not truncated", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.rd", Kind::Bool, |s| s.lookup.recursion_desired.map(Value::Bool),
        "Recursion desired by the question, also as an answer repeats it; NULL without a question where the answer does not", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.ra", Kind::Bool, |s| s.lookup.recursion_available.map(Value::Bool),
        "Recursion is available; NULL without an answer", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.z", Kind::U8, |s| number(s.lookup.reserved?),
        "Three formerly reserved bits of the question: 2 authenticated, 1 checking disabled; NULL without a question", "RFC 1035, 4.1.1"),
    ItemField::new("lookup.answers", Kind::Texts, |s| Some(Value::Texts(&s.lookup.answers)).filter(|_| !s.lookup.answers.is_empty()),
        "Records of the answer section, each as a text; names in lower case", "RFC 1035, 4.1.3"),
    ItemField::new("lookup.ttls", Kind::Numbers, |s| Some(Value::Numbers(&s.lookup.ttls)).filter(|_| !s.lookup.ttls.is_empty()),
        "Time to live of each of these records in seconds", "RFC 1035, 4.1.3"),
    ItemField::new("lookup.rejected", Kind::Bool, |s| s.lookup.is_rejected.map(Value::Bool),
        "The answer has a question and no records at all; NULL without an answer", "weir"),
    ItemField::new("lookup.question_frame", Kind::U64, |s| frame(s.lookup.question_frame?),
        "Number of the record with the question", "weir"),
    ItemField::new("lookup.answer_frame", Kind::U64, |s| frame(s.lookup.answer_frame?),
        "Number of the record with the answer", "weir"),
    ItemField::new("lookup.fault", Kind::Text, |s| s.fault().map(Value::Text),
        "Why decoding of the question or the answer stopped: bytes were not captured, or another reason as in dns.fault", "weir"),
];
