//! Fields of messages: columns of the tables of extractions, evaluated frame by frame.
//!
//! A message belongs to the frame that completed it, as in Wireshark, and one that an ICMP error quotes to the frame of
//! the error. Each relation has a bit for each frame, so that a capture of a hundred million packets takes 12 MB for
//! each relation.

mod gathered;
mod headers;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{
    DataType, Float64Type, Int64Type, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use weir_filter::Quantifier;
use weir_packet::{Address, Kind, Options as DecodeOptions};

use super::{At, FieldValue, Test, Type, nanoseconds};
use crate::extract::{conversations, descriptions, http_frames, tls_records};
use crate::{
    Constant, EXTRACTIONS, Extraction, Operator, Origin, Predicate, Row, Scan, ScanOptions, Source,
    Table,
};
use gathered::Gathered;
pub(super) use gathered::borrowed;
use headers::{Header, UriPart};

/// A field of messages, and the columns with its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct MessageField {
    table: &'static Extraction,
    /// Columns that have its values, each with the column that numbers the frame.
    places: Vec<(String, &'static str)>,
    /// Whether the texts are addresses.
    is_address: bool,
    /// The field is of HTTP/2, or of earlier versions, which share a table; `None` for other protocols.
    is_http2: Option<bool>,
    /// The column that must be true, or must have a value if it is no flag, for a message to have the field.
    only: Option<&'static str>,
    /// The header in lists of header lines whose values are those of the field.
    header: Option<Header>,
    /// The part of the target of a request that is the value.
    uri_part: Option<UriPart>,
    /// A value that is not known is 0 in the message, and in the field.
    has_zeros: bool,
}

impl MessageField {
    /// The field of this name, in lower case, and the type of its values.
    pub(super) fn named(name: &str) -> Option<(Self, Type)> {
        let (mut field, kind) = Self::of_table(name)?;
        field.is_http2 = match field.table.name {
            "http" => Some(name.starts_with("http2.")),
            _ => None,
        };
        field.has_zeros = TIMES_OF_ZERO.contains(&name);
        field.only = match field.has_zeros {
            true => Some(IS_OF_TIME),
            false => OF_RESPONSES.contains(&name).then_some(IS_RESPONSE),
        };
        Some((field, kind))
    }

    fn of_table(name: &str) -> Option<(Self, Type)> {
        let name = name.replace('-', "_");
        if let Some((_, table, places)) = PLACED.iter().find(|(known, ..)| *known == name) {
            let places = places.iter();
            let places = places.map(|(column, frame)| ((*column).to_owned(), *frame));
            return Self::at(Extraction::named(table)?, places.collect());
        }
        if let Some(header) = Header::of(&name) {
            let places = [
                ("http.request.line", REQUEST),
                ("http.response.line", RESPONSE),
            ];
            let places = places.map(|(column, frame)| (column.to_owned(), frame));
            let (mut field, kind) = Self::at(Extraction::named("http")?, places.into())?;
            field.header = Some(header);
            return Some((field, kind));
        }
        if let Some(header) = Header::of_sip(&name) {
            let places = vec![("sip.msg_hdr".to_owned(), FRAME)];
            let (mut field, kind) = Self::at(Extraction::named("sip")?, places)?;
            field.header = Some(header);
            return Some((field, kind));
        }
        if let Some(part) = UriPart::of(&name) {
            let places = vec![("http.request.uri".to_owned(), REQUEST)];
            let (mut field, kind) = Self::at(Extraction::named("http")?, places)?;
            field.uri_part = Some(part);
            return Some((field, kind));
        }
        if conversations::has(&name) {
            return Self::at(&conversations::EXTRACTION, vec![(name, FRAME)]);
        }
        if tls_records::has(&name) {
            return Self::at(&tls_records::EXTRACTION, vec![(name, FRAME)]);
        }
        if descriptions::has(&name) {
            return Self::at(&descriptions::EXTRACTION, vec![(name, FRAME)]);
        }
        let is_of_packets = PACKETS.iter().any(|prefix| name.starts_with(prefix));
        if is_of_packets || !name.contains('.') || OWN.contains(&name.as_str()) {
            return None;
        }
        let mut tables = EXTRACTIONS.iter();
        tables.find_map(|table| {
            let columns = (table.columns)();
            let has = |wanted: &str| {
                columns.iter().any(|column| {
                    *column.name == *wanted && matches!(column.origin, Origin::Item(_))
                })
            };
            let is_known = !APART.contains(&table.name) && has(FRAME) && has(&name);
            is_known.then(|| Self::at(table, vec![(name.clone(), FRAME)]))?
        })
    }

    /// The test for frames with a message of a protocol.
    pub(super) fn protocol(name: &str) -> Option<Self> {
        if let Some(column) = tls_records::is_there(name) {
            let places = vec![(column.to_owned(), FRAME)];
            return Some(Self::at(&tls_records::EXTRACTION, places)?.0);
        }
        if let Some(column) = http_frames::is_there(name) {
            let places = vec![(column.to_owned(), http_frames::FRAME)];
            return Some(Self::at(&http_frames::EXTRACTION, places)?.0);
        }
        if name == "sdp" {
            let places = vec![(FRAME.to_owned(), FRAME)];
            return Some(Self::at(&descriptions::EXTRACTION, places)?.0);
        }
        let (_, table, frames) = PROTOCOLS.iter().find(|(known, ..)| *known == name)?;
        let places = frames.iter().map(|frame| ((*frame).to_owned(), *frame));
        Some(Self {
            table: Extraction::named(table)?,
            places: places.collect(),
            is_address: false,
            is_http2: None,
            only: None,
            header: None,
            uri_part: None,
            has_zeros: false,
        })
    }

    fn at(table: &'static Extraction, places: Vec<(String, &'static str)>) -> Option<(Self, Type)> {
        let columns = (table.columns)();
        let (first, _) = places.first()?;
        let column = columns.iter().find(|column| *column.name == **first)?;
        let is_address = ADDRESSES.contains(&first.as_str());
        let kind = match column.kind {
            _ if is_address => Type::Address,
            Kind::Bool => Type::Flag,
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::I64 | Kind::Numbers => {
                Type::Number
            }
            Kind::F64 => Type::Seconds,
            Kind::Time => Type::Time,
            Kind::Address => Type::Address,
            Kind::Bytes => Type::Bytes,
            Kind::Text | Kind::Texts => Type::Text,
        };
        let field = Self {
            table,
            places,
            is_address,
            is_http2: None,
            only: None,
            header: None,
            uri_part: None,
            has_zeros: false,
        };
        Some((field, kind))
    }

    /// The name of the field in SQL.
    pub(super) fn in_sql(&self) -> String {
        let column = self.places.first().map_or(FRAME, |(column, _)| column);
        let name = self.table.name;
        if *self.table == conversations::EXTRACTION {
            return "SQL compares any two columns; FROM flow_packets('trace.pcap') has flow.id, tcp.seq_raw and tcp.analysis.* for each packet".to_owned();
        }
        if *self.table == http_frames::EXTRACTION {
            return "SQL compares any two columns; http('trace.pcap') has a row for each exchange"
                .to_owned();
        }
        if *self.table == tls_records::EXTRACTION {
            return "SQL compares any two columns; tls('trace.pcap') has a row for each handshake"
                .to_owned();
        }
        if *self.table == descriptions::EXTRACTION {
            return "SQL compares any two columns; sip('trace.pcap') has sip.msg_body".to_owned();
        }
        format!("SQL compares any two columns: SELECT {column} FROM {name}('trace.pcap') WHERE …")
    }
}

/// The number of the frame that completed a message.
const FRAME: &str = "frame.number";

/// Tables whose rows are no messages, or are several at once; the fields that they have are in [`PLACED`].
const APART: &[&str] = &[
    "flows",
    "flow_packets",
    "flow_fragments",
    "stream",
    "calls",
    "call_packets",
    "lookups",
    "media",
    "http",
    "tls",
];

/// Beginnings of names that headers have.
const PACKETS: &[&str] = &[
    "frame.", "addr.", "port.", "ip.", "ipv6.", "tcp.", "udp.", "sctp.", "flow.", "eth.", "vlan.",
];

/// Columns of weir that Wireshark does not have by that name, with that meaning, or of the same protocols.
const OWN: &[&str] = &[
    // Wireshark has it over TCP only.
    "dns.length",
    "dns.qry.names",
    "dns.qry.types",
    "dns.qry.classes",
    "dns.qry.name_lengths",
    "dns.qry.label_counts",
    "mtp3.opc",
    "mtp3.dpc",
    "mtp3.sls",
    // Wireshark has SDP there, whatever protocol carried the description.
    "rtp.setup_method",
];

/// Fields of DNS that Wireshark has in responses only. A column marks these.
const OF_RESPONSES: &[&str] = &["dns.flags.authoritative", "dns.flags.recavail"];
/// Times of NTP that a sender without one leaves 0, for which the table has NULL, and Wireshark the beginning of 1970.
const TIMES_OF_ZERO: &[&str] = &["ntp.reftime", "ntp.org", "ntp.rec", "ntp.xmt"];
const IS_RESPONSE: &str = "dns.flags.response";
/// The column of NTP that control and private messages do not have, which have no times either.
const IS_OF_TIME: &str = "ntp.stratum";

/// Texts that are addresses.
const ADDRESSES: &[&str] = &[
    "dns.a",
    "dns.aaaa",
    "dhcp.hw.mac_addr",
    "dhcp.option.router",
    "dhcp.option.domain_name_server",
    "stun.att.ipv4",
    "stun.att.ipv6",
];

/// A field of Wireshark's, the table that has it, and the columns with its values, each with that of the frame's
/// number.
type Placed = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const REQUEST: &str = "http.request.frame";
const RESPONSE: &str = "http.response.frame";
const INFO: &str = "http.info_frame";
const CLIENT: &str = "tls.client_hello.frame";
const SERVER: &str = "tls.server_hello.frame";

/// Fields that are not a column of their name beside `frame.number`. A field that a table has for requests only, and
/// Wireshark for responses too, is not here: a filter would select half of the frames.
#[rustfmt::skip]
const PLACED: &[Placed] = &[
    ("dns.qry.name", "dns", &[("dns.qry.names", FRAME)]),
    ("dns.qry.type", "dns", &[("dns.qry.types", FRAME)]),
    ("dns.qry.class", "dns", &[("dns.qry.classes", FRAME)]),
    ("dns.qry.name.len", "dns", &[("dns.qry.name_lengths", FRAME)]),
    ("dns.count.labels", "dns", &[("dns.qry.label_counts", FRAME)]),
    ("dns.response_in", "dns", &[(FRAME, "dns.response_to")]),
    ("radius.rspframe", "radius", &[(FRAME, "radius.reqframe")]),
    ("snmp.response_in", "snmp", &[(FRAME, "snmp.response_to")]),
    ("stun.response_in", "stun", &[(FRAME, "stun.response_to")]),
    ("http.request_in", "http", &[(REQUEST, RESPONSE)]),
    ("http.response_in", "http", &[(RESPONSE, REQUEST)]),
    ("http.request.method", "http", &[("http.request.method", REQUEST)]),
    ("http.request.uri", "http", &[("http.request.uri", REQUEST)]),
    ("http.request.full_uri", "http", &[("http.request.full_uri", REQUEST)]),
    ("http.request.version", "http", &[("http.request.version", REQUEST)]),
    ("http.request.line", "http", &[("http.request.line", REQUEST)]),
    ("http.host", "http", &[("http.host", REQUEST)]),
    ("http.user_agent", "http", &[("http.user_agent", REQUEST)]),
    ("http.referer", "http", &[("http.referer", REQUEST)]),
    ("http.authorization", "http", &[("http.authorization", REQUEST)]),
    ("http.response.code", "http", &[("http.response.code", RESPONSE), ("http.info_code", INFO)]),
    ("http.response.phrase", "http", &[("http.response.phrase", RESPONSE), ("http.info_phrase", INFO)]),
    ("http.response.version", "http", &[("http.response.version", RESPONSE), ("http.info_version", INFO)]),
    ("http.response.line", "http", &[("http.response.line", RESPONSE)]),
    ("http.server", "http", &[("http.server", RESPONSE)]),
    ("http.location", "http", &[("http.location", RESPONSE)]),
    ("http.last_modified", "http", &[("http.last_modified", RESPONSE)]),
    ("http.set_cookie", "http", &[("http.set_cookie", RESPONSE)]),
    ("http.content_type", "http", &[("http.request.content_type", REQUEST), ("http.content_type", RESPONSE)]),
    ("http.content_length", "http", &[("http.request.content_length", REQUEST), ("http.content_length", RESPONSE)]),
    ("http.time", "http", &[("http.time", RESPONSE)]),
    ("http.request", "http", &[(REQUEST, REQUEST)]),
    ("http.response", "http", &[(RESPONSE, RESPONSE), (INFO, INFO)]),
    ("http2.headers.authority", "http", &[("http.host", REQUEST)]),
    ("http2.headers.method", "http", &[("http.request.method", REQUEST)]),
    ("http2.headers.path", "http", &[("http.request.uri", REQUEST)]),
    ("http2.headers.user_agent", "http", &[("http.user_agent", REQUEST)]),
    ("http2.headers.referer", "http", &[("http.referer", REQUEST)]),
    ("http2.headers.authorization", "http", &[("http.authorization", REQUEST)]),
    ("http2.headers.status", "http", &[("http.response.code", RESPONSE), ("http.info_code", INFO)]),
    ("http2.headers.server", "http", &[("http.server", RESPONSE)]),
    ("http2.headers.location", "http", &[("http.location", RESPONSE)]),
    ("http2.headers.last_modified", "http", &[("http.last_modified", RESPONSE)]),
    ("http2.headers.set_cookie", "http", &[("http.set_cookie", RESPONSE)]),
    ("http2.headers.date", "http", &[("http.date", RESPONSE)]),
    ("http2.headers.content_type", "http", &[("http.request.content_type", REQUEST), ("http.content_type", RESPONSE)]),
    ("http2.headers.content_length", "http", &[("http.request.content_length", REQUEST), ("http.content_length", RESPONSE)]),
    ("tls.handshake.extensions_server_name", "tls", &[("tls.handshake.extensions_server_name", CLIENT)]),
    ("tls.handshake.extensions_alpn_str", "tls", &[("tls.handshake.extensions_alpn_str", CLIENT), ("tls.next_protocol", SERVER)]),
    ("tls.handshake.ciphersuite", "tls", &[("tls.handshake.ciphersuite", CLIENT), ("tls.cipher_number", SERVER)]),
    ("tls.handshake.extension.type", "tls", &[("tls.handshake.extension.type", CLIENT), ("tls.server.extension.type", SERVER)]),
    ("tls.handshake.version", "tls", &[("tls.handshake.version", CLIENT), ("tls.server.version", SERVER)]),
    ("tls.handshake.extensions_supported_group", "tls", &[("tls.handshake.extensions_supported_group", CLIENT)]),
    ("tls.handshake.ja3", "tls", &[("tls.handshake.ja3", CLIENT)]),
    ("tls.handshake.ja3_full", "tls", &[("tls.handshake.ja3_full", CLIENT)]),
    ("tls.handshake.ja3s", "tls", &[("tls.handshake.ja3s", SERVER)]),
    ("tls.handshake.ja3s_full", "tls", &[("tls.handshake.ja3s_full", SERVER)]),
    ("tls.handshake.ja4", "tls", &[("tls.handshake.ja4", CLIENT)]),
];

/// The versions of a request and of its response, which differ where a request of HTTP/1.1 is an upgrade to HTTP/2.
const VERSIONS: [(&str, &str); 3] = [
    (REQUEST, "http.request.version"),
    (RESPONSE, "http.response.version"),
    (INFO, "http.info_version"),
];
/// The value of `http.version` for HTTP/2.
const HTTP2: &str = "HTTP/2";

/// Rows of a protocol with other names in Wireshark: the table, a column, and its value in them.
const EXCEPT: &[(&str, &str, &str)] = &[("tls", "tls.carrier", "dtls")];

/// Protocols whose messages make a frame one of the protocol, with the columns of the frame numbers.
const PROTOCOLS: &[(&str, &str, &[&str])] = &[
    ("sip", "sip", &[FRAME]),
    ("rtp", "rtp", &[FRAME]),
    ("rtcp", "rtcp", &[FRAME]),
    ("radius", "radius", &[FRAME]),
    ("stun", "stun", &[FRAME]),
    ("mqtt", "mqtt", &[FRAME]),
    ("diameter", "diameter", &[FRAME]),
    ("mgcp", "mgcp", &[FRAME]),
    ("m3ua", "m3ua", &[FRAME]),
    ("sccp", "sccp", &[FRAME]),
    ("tcap", "tcap", &[FRAME]),
    ("websocket", "websocket", &[FRAME]),
];

/// A comparison with fields of messages.
#[derive(Debug)]
pub(super) struct FieldTest {
    field: MessageField,
    test: Test,
}

impl FieldTest {
    pub(super) const fn new(field: MessageField, test: Test) -> Self {
        Self { field, test }
    }

    /// Whether the comparison must be true of all values of a frame.
    const fn is_of_all(&self) -> bool {
        matches!(
            self.test,
            Test::Compare(Quantifier::All, ..)
                | Test::Matches(Quantifier::All, ..)
                | Test::In(Quantifier::All, ..)
        )
    }
}

/// The tests of a filter on messages, and the frames of each file with messages that pass them.
#[derive(Debug, Default)]
pub(super) struct Messages {
    relations: OnceLock<Vec<FieldTest>>,
    files: OnceLock<(Vec<Source>, DecodeOptions)>,
    /// The frames of the first file, which mostly is the only one.
    first: OnceLock<Answers>,
    more: Mutex<HashMap<String, Arc<Answers>>>,
    notes: Mutex<Vec<String>>,
}

/// The frames of a file, for each relation.
#[derive(Debug)]
struct Answers {
    file: String,
    relations: Vec<Answer>,
}

/// The frames for which a relation holds.
#[derive(Clone, Debug, Default)]
struct Answer {
    passed: Frames,
    /// The frames that have values, where the relation holds for all others, too: `max(dns.id, 5) == 5`.
    valued: Option<Frames>,
}

impl Answer {
    fn contains(&self, number: u64) -> bool {
        let has_none = |valued: &Frames| !valued.contains(number);
        self.passed.contains(number) || self.valued.as_ref().is_some_and(has_none)
    }
}

/// What the messages that were read say about a relation.
#[derive(Default)]
struct Verdict {
    passed: Frames,
    failed: Frames,
    /// The values that are judged together.
    gathered: Option<Gathered>,
}

impl Verdict {
    fn of(relation: &FieldTest) -> Self {
        let takes_all = relation.test.takes_all_values();
        Self {
            gathered: takes_all.then(Gathered::default),
            ..Self::default()
        }
    }

    /// The frames, and the number of cells that were left out.
    fn finish(mut self, relation: &FieldTest) -> (Answer, u64) {
        let mut answer = Answer::default();
        let mut late = 0;
        if let Some(gathered) = self.gathered {
            let test = &relation.test;
            let (valued, left_out) = gathered.finish(test, &mut self.passed);
            late = left_out;
            answer.valued = test.holds(&At::Values(&[])).then_some(valued);
        } else if relation.is_of_all() {
            self.passed.remove_all(&self.failed);
        }
        answer.passed = self.passed;
        (answer, late)
    }
}

/// A set of numbers of frames.
#[derive(Clone, Debug, Default)]
struct Frames(Vec<u64>);

impl Frames {
    fn place(number: u64) -> Option<(usize, u32)> {
        Some((usize::try_from(number / 64).ok()?, (number % 64) as u32))
    }

    fn insert(&mut self, number: u64) {
        let Some((word, bit)) = Self::place(number) else {
            return;
        };
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        if let Some(word) = self.0.get_mut(word) {
            *word |= 1 << bit;
        }
    }

    fn contains(&self, number: u64) -> bool {
        let word = Self::place(number).and_then(|(word, bit)| Some((self.0.get(word)?, bit)));
        word.is_some_and(|(word, bit)| word >> bit & 1 == 1)
    }

    fn remove_all(&mut self, others: &Self) {
        for (word, other) in self.0.iter_mut().zip(&others.0) {
            *word &= !other;
        }
    }
}

impl Messages {
    pub(super) fn set_relations(&self, relations: Vec<FieldTest>) {
        self.relations.get_or_init(|| relations);
    }

    fn relations(&self) -> &[FieldTest] {
        self.relations.get().map_or(&[], Vec::as_slice)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.relations().is_empty()
    }

    pub(super) fn set_files(&self, files: &[Source], decode: &DecodeOptions) {
        if !self.is_empty() {
            self.files.get_or_init(|| (files.to_vec(), decode.clone()));
        }
    }

    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *notes)
    }

    /// Returns whether the frame of a row has a message for which this relation holds.
    pub(super) fn hold(&self, relation: usize, row: &Row<'_>) -> bool {
        let number = row.packet.frame().number;
        let is_among = |answers: &Answers| {
            let answer = answers.relations.get(relation);
            answer.is_some_and(|answer| answer.contains(number))
        };
        let first = self.first.get_or_init(|| self.read(row.file));
        if first.file == row.file {
            return is_among(first);
        }
        let mut more = self.more.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answers) = more.get(row.file) {
            return is_among(answers);
        }
        let answers = Arc::new(self.read(row.file));
        more.insert(row.file.to_owned(), Arc::clone(&answers));
        is_among(&answers)
    }

    /// Reads a file for all relations, each table once.
    fn read(&self, file: &str) -> Answers {
        let relations = self.relations();
        let mut answers = vec![Answer::default(); relations.len()];
        let source = self.files.get().and_then(|(files, decode)| {
            let source = files.iter().find(|source| source.shown() == file)?;
            Some((source, decode))
        });
        if let Some((source, decode)) = source {
            let mut done: Vec<&str> = Vec::new();
            for FieldTest { field, .. } in relations {
                if !done.contains(&field.table.name) {
                    done.push(field.table.name);
                    self.read_table(field.table, source, decode, &mut answers);
                }
            }
        }
        Answers {
            file: file.to_owned(),
            relations: answers,
        }
    }

    fn read_table(
        &self,
        extraction: &'static Extraction,
        source: &Source,
        decode: &DecodeOptions,
        answers: &mut [Answer],
    ) {
        let table = Table::extracted(extraction);
        let mut projection: Vec<usize> = Vec::new();
        let mut place = |name: &str| {
            let position = table.position(name)?;
            let known = projection.iter().position(|known| *known == position);
            Some(known.unwrap_or_else(|| {
                projection.push(position);
                projection.len() - 1
            }))
        };
        // The comparisons, with the columns of their values and of their frames.
        let mut questions: Vec<(usize, &FieldTest, MessageColumns)> = Vec::new();
        for (number, relation) in self.relations().iter().enumerate() {
            if relation.field.table == extraction {
                let places = relation.field.places.iter();
                questions.extend(places.filter_map(|(column, frame)| {
                    let version = VERSIONS.iter().find(|(of, _)| of == frame);
                    let version = version.and_then(|(_, version)| place(version));
                    let places = MessageColumns {
                        values: place(column)?,
                        numbers: place(frame)?,
                        version: version.zip(relation.field.is_http2),
                        only: match relation.field.only {
                            Some(column) => Some(place(column)?),
                            None => None,
                        },
                    };
                    Some((number, relation, places))
                }));
            }
        }
        let mut verdicts: Vec<Verdict> = self.relations().iter().map(Verdict::of).collect();
        let options = ScanOptions {
            decode: decode.clone(),
            // The conversations of quoted headers are those of the packets around them.
            quotes: *extraction != conversations::EXTRACTION,
            ..ScanOptions::default()
        };
        let wanted = wanted(&table, extraction);
        let mut scan = Scan::new(&table, &projection, wanted, vec![source.clone()], options);
        loop {
            match scan.next_batch() {
                Ok(Some(batch)) => {
                    for (number, relation, places) in &questions {
                        if let Some(verdict) = verdicts.get_mut(*number) {
                            decide(relation, &batch, *places, verdict);
                        }
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.note([format!("{}: {error}", extraction.name)]);
                    break;
                }
            }
        }
        let relations = self.relations().iter().zip(verdicts).zip(answers);
        for ((relation, verdict), answer) in relations {
            if relation.field.table == extraction {
                let (found, late) = verdict.finish(relation);
                *answer = found;
                if late > 0 {
                    self.note([format!(
                        "display filter: {late} messages came long after others of their frames, and count, max and min are without them"
                    )]);
                }
            }
        }
        // The scan of the packets reports damage of the file.
        self.note(scan.notes());
    }

    fn note(&self, more: impl IntoIterator<Item = String>) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.extend(more);
    }
}

/// The columns of a batch with the values of a field, the numbers of its frames, and the version of HTTP with the flag
/// whether that has to be 2.
#[derive(Clone, Copy)]
struct MessageColumns {
    values: usize,
    numbers: usize,
    version: Option<(usize, bool)>,
    /// A column that must be true.
    only: Option<usize>,
}

/// The rows of a table that display filters have, where these are not all.
fn wanted(table: &Table, extraction: &Extraction) -> Option<Predicate> {
    EXCEPT
        .iter()
        .find(|(table, ..)| *table == extraction.name)
        .and_then(|(_, column, word)| {
            let column = table.columns().get(table.position(column)?)?.clone();
            let word = Constant::Text((*word).to_owned());
            Some(Predicate::Compare(column, Operator::NotEqual, word))
        })
}

/// Tests each message of a batch.
fn decide(
    relation: &FieldTest,
    batch: &RecordBatch,
    places: MessageColumns,
    verdict: &mut Verdict,
) {
    let columns = batch.columns();
    let (Some(values), Some(numbers)) = (columns.get(places.values), columns.get(places.numbers))
    else {
        return;
    };
    let is_of_field = |row: usize| {
        places.version.is_none_or(|(column, is_http2)| {
            let versions = columns.get(column);
            let versions = versions.and_then(|versions| versions.as_string_view_opt());
            versions.is_some_and(|versions| {
                let is_2 = versions.is_valid(row) && versions.value(row) == HTTP2;
                is_2 == is_http2
            })
        })
    };
    let is_wanted = |row: usize| {
        places.only.is_none_or(|column| {
            columns.get(column).is_some_and(|values| {
                let flags = values.as_boolean_opt();
                values.is_valid(row) && flags.is_none_or(|flags| flags.value(row))
            })
        })
    };
    let Some(numbers) = numbers.as_primitive_opt::<UInt64Type>() else {
        return;
    };
    for (row, number) in numbers.iter().enumerate() {
        let has_value = relation.field.has_zeros || values.is_valid(row);
        let Some(number) = number.filter(|_| has_value && is_of_field(row) && is_wanted(row))
        else {
            continue;
        };
        let cell = Cell {
            values,
            row,
            is_address: relation.field.is_address,
            header: relation.field.header,
            uri_part: relation.field.uri_part,
            has_zeros: relation.field.has_zeros,
        };
        if cell.lacks_part() {
            continue;
        }
        let test = &relation.test;
        let passed = &mut verdict.passed;
        match &mut verdict.gathered {
            Some(gathered) => gathered.add(number, &cell, test, passed),
            None if test.holds(&At::Message(&cell)) => passed.insert(number),
            None => verdict.failed.insert(number),
        }
    }
}

/// A value of a column, or a list of them.
pub(super) struct Cell<'a> {
    values: &'a ArrayRef,
    row: usize,
    is_address: bool,
    /// The values are those of this header in a list of lines.
    header: Option<Header>,
    /// The value is this part of it.
    uri_part: Option<UriPart>,
    /// NULL is 0.
    has_zeros: bool,
}

impl Cell<'_> {
    /// Whether it is a list of lines without the header, or a target without the part.
    fn lacks_part(&self) -> bool {
        (self.header.is_some() || self.uri_part.is_some()) && self.each(&mut |_| false)
    }

    /// Passes each value to `f` until that returns false. Returns false when it was stopped.
    pub(super) fn each(&self, f: &mut dyn FnMut(FieldValue<'_>) -> bool) -> bool {
        let row = self.row;
        if self.has_zeros && self.values.is_null(row) {
            return f(FieldValue::Number(0));
        }
        match self.values.data_type() {
            DataType::List(_) => {
                let list = self.values.as_list::<i32>().value(row);
                let mut each = |value: FieldValue<'_>| {
                    let Some(header) = self.header else {
                        return f(value);
                    };
                    match &value {
                        FieldValue::Bytes(line) => {
                            header.each(line, &mut |found| f(FieldValue::Bytes(found.into())))
                        }
                        FieldValue::Number(_) => true,
                    }
                };
                (0..list.len()).all(|at| one(&list, at, self.is_address, &mut each))
            }
            _ => {
                let mut each = |value: FieldValue<'_>| match (value, self.uri_part, self.header) {
                    (FieldValue::Bytes(uri), Some(part), _) => {
                        part.each(&uri, &mut |found| f(FieldValue::Bytes(found.into())))
                    }
                    (FieldValue::Bytes(text), None, Some(header)) => {
                        header.each_in_text(&text, &mut |found| f(FieldValue::Bytes(found.into())))
                    }
                    (FieldValue::Number(_), Some(_), _) => true,
                    (value, ..) => f(value),
                };
                one(self.values, row, self.is_address, &mut each)
            }
        }
    }
}

fn one(
    values: &ArrayRef,
    row: usize,
    is_address: bool,
    f: &mut dyn FnMut(FieldValue<'_>) -> bool,
) -> bool {
    if values.is_null(row) {
        return true;
    }
    let text = match values.data_type() {
        DataType::Utf8 => values.as_string::<i32>().value(row),
        DataType::Utf8View => values.as_string_view().value(row),
        DataType::BinaryView => {
            return f(FieldValue::Bytes(values.as_binary_view().value(row).into()));
        }
        kind => {
            let number = match kind {
                DataType::Boolean => i128::from(values.as_boolean().value(row)),
                DataType::UInt8 => values.as_primitive::<UInt8Type>().value(row).into(),
                DataType::UInt16 => values.as_primitive::<UInt16Type>().value(row).into(),
                DataType::UInt32 => values.as_primitive::<UInt32Type>().value(row).into(),
                DataType::UInt64 => values.as_primitive::<UInt64Type>().value(row).into(),
                DataType::Int64 => values.as_primitive::<Int64Type>().value(row).into(),
                DataType::Float64 => nanoseconds(values.as_primitive::<Float64Type>().value(row)),
                DataType::Timestamp(..) => values
                    .as_primitive::<TimestampNanosecondType>()
                    .value(row)
                    .into(),
                _ => return true,
            };
            return f(FieldValue::Number(number));
        }
    };
    match is_address.then(|| text.parse::<Address>()) {
        Some(Ok(address)) => f(FieldValue::Bytes(address.as_bytes().into())),
        Some(Err(_)) => true,
        None => f(FieldValue::Bytes(text.as_bytes().into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_messages_are_columns_that_are_there() {
        for (field, table, places) in PLACED {
            let columns = (Extraction::named(table).unwrap().columns)();
            for name in places.iter().flat_map(|(column, frame)| [column, frame]) {
                let is_there = columns.iter().any(|column| *column.name == **name);
                assert!(is_there, "{field}: {name}");
            }
            assert!(MessageField::named(field).is_some(), "{field}");
        }
        for (name, table, frames) in PROTOCOLS {
            let columns = (Extraction::named(table).unwrap().columns)();
            for frame in *frames {
                assert!(
                    columns.iter().any(|column| &*column.name == *frame),
                    "{name}"
                );
            }
        }
        for (name, kind) in [
            ("sip.Method", Type::Text),
            ("dns.flags.rcode", Type::Number),
            ("dns.flags.response", Type::Flag),
            ("dns.time", Type::Seconds),
            ("dns.a", Type::Address),
            ("dhcp.hw.mac_addr", Type::Address),
            ("dns.response_in", Type::Number),
            ("stun.response-in", Type::Number),
            ("tls.handshake.session_id_length", Type::Number),
            ("quic.version", Type::Number),
            ("quic.dcid", Type::Bytes),
            ("quic.fixed_bit", Type::Flag),
            ("radius.User_Name", Type::Text),
            ("sdp.media.port", Type::Number),
            ("sdp.connection_info.address", Type::Text),
        ] {
            let found = MessageField::named(&name.to_ascii_lowercase());
            assert_eq!(found.map(|(_, found)| found), Some(kind), "{name}");
        }
        for name in [
            "dns.length",
            "tls.cipher",
            "http.whole",
            "flow.id",
            "ip.src",
            "tcp.port",
            "lookup.query",
            "rtp.setup_method",
            "sdp.is_there",
        ] {
            assert_eq!(MessageField::named(name), None, "{name}");
        }
    }

    #[test]
    fn protocols_of_datagrams_are_conditions() {
        for name in ["tls", "ssl", "dtls", "quic"] {
            assert!(MessageField::protocol(name).is_some(), "{name}");
            assert_eq!(MessageField::named(&format!("{name}.is_there")), None);
        }
    }

    #[test]
    fn frames_are_a_set() {
        let mut frames = Frames::default();
        for number in [1, 64, 65, 1000] {
            frames.insert(number);
        }
        assert!(frames.contains(64) && frames.contains(1000));
        assert!(!frames.contains(63) && !frames.contains(u64::MAX));
        let mut others = Frames::default();
        others.insert(64);
        frames.remove_all(&others);
        assert!(!frames.contains(64) && frames.contains(65));
    }
}
