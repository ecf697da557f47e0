//! The records of TLS for display filters: a row for each record that a frame completes or begins with, for each
//! handshake message in it, for the hellos of QUIC, and for each datagram of DTLS and of QUIC. It is not a table of SQL,
//! whose `tls` has a row for each handshake.

mod carried;
mod datagrams;

use std::collections::HashMap;

use weir_flow::{Carried, FlowKey, Interest, Payload, Payloads, Sender};
use weir_messages::tls::{
    Carrier, ClientHello, QuicHeader, ServerHello, Session, SessionState, Stamp, begins_with_hello,
    has_quic_long_header, is_of_datagram_records, is_quic_initial, may_begin_with_hello,
    quic_headers, ssl2_hello,
};
use weir_packet::{Kind, Needs, Value};

use self::carried::{CarriedRecords, RecordStream};
use self::datagrams::{DatagramRecord, datagram_records};
use super::extraction::{Extract, Extraction, ItemField, columns};
use super::followed::Followed;
use super::messages::Way;
use super::note::Note;
use super::value::number;
use crate::Row;
use crate::row::Item;
use crate::rows::Rows;

/// The extraction of this module.
pub(crate) const EXTRACTION: Extraction = Extraction {
    name: "tls_records",
    doc: "one row per TLS record",
    columns: || columns(&["frame.number"], OWN),
    needs: &[Needs::All],
    start: |_| Box::new(Records::default()),
    arguments: &[],
    aliases: &[],
};

/// The columns that are true for frames of a protocol.
const IS_TLS: &str = "tls.is_there";
const IS_DTLS: &str = "dtls.is_there";
const IS_QUIC: &str = "quic.is_there";

/// The column that is true for frames of a protocol.
pub(crate) fn is_there(protocol: &str) -> Option<&'static str> {
    match protocol {
        "tls" | "ssl" => Some(IS_TLS),
        "dtls" => Some(IS_DTLS),
        "quic" => Some(IS_QUIC),
        _ => None,
    }
}

/// Returns whether this extraction has the field.
pub(crate) fn has(name: &str) -> bool {
    let is_field = ![IS_TLS, IS_DTLS, IS_QUIC].contains(&name);
    is_field && OWN.iter().any(|field| field.name == name)
}

/// A record, or a message in one.
#[derive(Clone, Debug, Default)]
struct RecordRow {
    kind: Option<u8>,
    /// Whether the type hides an encrypted one, as in TLS 1.3.
    is_opaque: bool,
    version: Option<u16>,
    length: Option<u16>,
    message: Option<u8>,
    /// The number of octets of a hello's session ID.
    session_id_length: Option<u8>,
    /// The rest of a hello.
    hello: Option<Hello>,
    /// The level and the description.
    alert: Option<[u8; 2]>,
    /// The protocol of a datagram, which is no record.
    datagram: Option<Carrier>,
    /// A packet of QUIC.
    quic: Option<QuicPacket>,
    /// A record of DTLS, or the type of a message in one.
    record: Option<DatagramRecord>,
    datagram_message: Option<u8>,
}

impl RecordRow {
    /// Returns true when the record is of this content type, and NULL otherwise.
    fn flag(&self, kind: u8) -> Option<Value<'static>> {
        (self.kind == Some(kind)).then_some(Value::Bool(true))
    }

    /// A hello in the form of SSL 2 (RFC 5246, E.2), whose record is the message. It has no content type, and Wireshark gives its
    /// challenge as a field other than the random of later hellos.
    fn of_ssl2_hello(body: &[u8]) -> Self {
        let hello = ClientHello::parse_ssl2(body).ok();
        let session_id = hello.map(|hello| hello.session_id);
        Self {
            version: Some(SSL2),
            length: u16::try_from(body.len()).ok(),
            message: Some(CLIENT_HELLO),
            session_id_length: session_id
                .as_ref()
                .and_then(|session_id| u8::try_from(session_id.len()).ok()),
            hello: session_id.map(|session_id| Hello {
                session_id,
                ..Hello::default()
            }),
            ..Self::default()
        }
    }

    /// A message of the handshake, of a hello with its fields as far as they are there.
    fn of_message(message: &[u8]) -> Self {
        let parts = message.split_first_chunk::<MESSAGE_HEADER_OCTETS>();
        let is_hello = matches!(message.first(), Some(&(CLIENT_HELLO | SERVER_HELLO)));
        Self {
            kind: Some(HANDSHAKE),
            message: message.first().copied(),
            session_id_length: message.get(SESSION_ID_AT).filter(|_| is_hello).copied(),
            hello: parts.and_then(|(header, body)| Hello::read(header[0], body)),
            ..Self::default()
        }
    }

    /// A datagram of a protocol.
    fn of_datagram(carrier: Carrier) -> Self {
        Self {
            datagram: Some(carrier),
            ..Self::default()
        }
    }

    /// A packet of QUIC, or a datagram of which none could be read.
    fn of_quic(packet: Option<QuicPacket>) -> Self {
        Self {
            quic: packet,
            ..Self::of_datagram(Carrier::Quic)
        }
    }

    /// Returns true for a datagram of this protocol or, without one, for a record of TLS, and NULL otherwise.
    fn is_of(&self, datagram: Option<Carrier>) -> Option<Value<'static>> {
        (self.datagram == datagram).then_some(Value::Bool(true))
    }
}

/// The header of a packet of QUIC.
#[derive(Clone, Debug)]
struct QuicPacket {
    first: u8,
    fixed_bit: Option<bool>,
    /// The type of a long header, and whether it is one of version 2.
    kind: Option<(u8, bool)>,
    version: Option<u32>,
    destination: Option<Box<[u8]>>,
    source: Option<Box<[u8]>>,
}

impl QuicPacket {
    /// The packet with this header in a datagram, whose receiver may have been called by one of these IDs.
    fn new(header: &QuicHeader<'_>, datagram: &[u8], ids: &[Box<[u8]>]) -> Self {
        let called = datagram.get(1..).unwrap_or_default();
        let known = || {
            let mut known = ids.iter().rev().map(|id| &**id);
            known.find(|id| called.starts_with(id))
        };
        Self {
            first: header.first,
            fixed_bit: header.fixed_bit(),
            kind: header.kind().map(|kind| (kind, header.is_of_version_2())),
            version: header.version,
            destination: header.destination.or_else(known).map(Into::into),
            source: header.source.map(Into::into),
        }
    }

    const fn is_long(&self) -> bool {
        self.version.is_some()
    }

    /// The type, as version 2 numbers it or as others do.
    fn kind_of(&self, is_version_2: bool) -> Option<u8> {
        let (kind, is_of_2) = self.kind?;
        (is_of_2 == is_version_2).then_some(kind)
    }

    /// The number of octets of a connection ID of a long header.
    fn octets_of(&self, id: Option<&[u8]>) -> Option<Value<'static>> {
        number(id.filter(|_| self.is_long())?.len() as u64)
    }
}

/// The connection IDs that the two ends of a conversation of QUIC chose last.
type QuicIds = [Vec<Box<[u8]>>; 2];

/// Connection IDs of an end that are known, at most.
const QUIC_IDS_MAX: usize = 2;

/// The parts of a hello that are fields of both sides.
#[derive(Clone, Debug, Default)]
struct Hello {
    session_id: Vec<u8>,
    /// The random value, which a hello in the form of SSL 2 lacks.
    random: Option<[u8; 32]>,
    /// The versions that the client supports, or the one that the server chose, by extension.
    versions: Vec<u32>,
}

impl Hello {
    /// Reads the body of a message of this type.
    fn read(kind: u8, body: &[u8]) -> Option<Self> {
        match kind {
            CLIENT_HELLO => Some(Self::from(&ClientHello::parse(body, false).ok()?)),
            SERVER_HELLO => Some(Self::from(&ServerHello::parse(body).ok()?)),
            _ => None,
        }
    }
}

impl From<&ClientHello> for Hello {
    fn from(hello: &ClientHello) -> Self {
        Self {
            session_id: hello.session_id.clone(),
            random: Some(hello.random),
            versions: hello.versions.iter().copied().map(u32::from).collect(),
        }
    }
}

impl From<&ServerHello> for Hello {
    fn from(hello: &ServerHello) -> Self {
        Self {
            session_id: hello.session_id.clone(),
            random: Some(hello.random),
            versions: hello.chosen_version.into_iter().map(u32::from).collect(),
        }
    }
}

type RecordGetter = for<'r> fn(&'r RecordRow) -> Option<Value<'r>>;

#[rustfmt::skip]
const OWN: &[ItemField<RecordGetter>] = &[
    ItemField::new(IS_TLS, Kind::Bool, |r| r.is_of(None), "The frame has a TLS record", RFC),
    ItemField::new(IS_DTLS, Kind::Bool, |r| r.is_of(Some(Carrier::Dtls)), "The frame has records of DTLS", DTLS),
    ItemField::new(IS_QUIC, Kind::Bool, |r| r.is_of(Some(Carrier::Quic)), "The frame has packets of QUIC", "RFC 9000, 17"),
    ItemField::new("dtls.record.content_type", Kind::U8, |r| number(r.record.as_ref()?.kind), "Content type of the record", DTLS),
    ItemField::new("dtls.record.version", Kind::U16, |r| number(r.record.as_ref()?.version), "Version in the record's header", DTLS),
    ItemField::new("dtls.record.epoch", Kind::U16, |r| number(r.record.as_ref()?.epoch), "Epoch of the record", DTLS),
    ItemField::new("dtls.record.sequence_number", Kind::U64, |r| number(r.record.as_ref()?.sequence), "Sequence number of the record", DTLS),
    ItemField::new("dtls.record.length", Kind::U16, |r| number(r.record.as_ref()?.length), "Octets of the record after its header", DTLS),
    ItemField::new("dtls.handshake.type", Kind::U8, |r| number(r.datagram_message?), "Type of the handshake message", "RFC 6347, 4.2.2"),
    ItemField::new("quic.header_form", Kind::U8, |r| number(u8::from(r.quic.as_ref()?.is_long())), "1 of a long header, 0 of a short one", QUIC),
    ItemField::new("quic.fixed_bit", Kind::Bool, |r| r.quic.as_ref()?.fixed_bit.map(Value::Bool), "Fixed bit of the header", QUIC),
    ItemField::new("quic.short", Kind::Bool, |r| (!r.quic.as_ref()?.is_long()).then_some(Value::Bool(true)), "Short header", QUIC),
    ItemField::new("quic.spin_bit", Kind::Bool,
        |r| r.quic.as_ref().filter(|it| !it.is_long()).map(|it| Value::Bool(it.first & 0x20 != 0)), "Spin bit of a short header", QUIC),
    ItemField::new("quic.long.packet_type", Kind::U8, |r| number(r.quic.as_ref()?.kind_of(false)?), "Type of a long header, except of version 2", QUIC),
    ItemField::new("quic.long.packet_type_v2", Kind::U8, |r| number(r.quic.as_ref()?.kind_of(true)?), "Type of a long header of version 2", "RFC 9369, 3.2"),
    ItemField::new("quic.version", Kind::U32, |r| number(r.quic.as_ref()?.version?), "Version of a long header", QUIC),
    ItemField::new("quic.dcil", Kind::U8, |r| { let it = r.quic.as_ref()?; it.octets_of(it.destination.as_deref()) },
        "Octets of the destination connection ID of a long header", QUIC),
    ItemField::new("quic.dcid", Kind::Bytes, |r| r.quic.as_ref()?.destination.as_deref().filter(|id| !id.is_empty()).map(Value::Bytes),
        "Destination connection ID", QUIC),
    ItemField::new("quic.scil", Kind::U8, |r| { let it = r.quic.as_ref()?; it.octets_of(it.source.as_deref()) },
        "Octets of the source connection ID", QUIC),
    ItemField::new("quic.scid", Kind::Bytes, |r| r.quic.as_ref()?.source.as_deref().filter(|id| !id.is_empty()).map(Value::Bytes),
        "Source connection ID", QUIC),
    ItemField::new("tls.record.content_type", Kind::U8, |r| number(r.kind?).filter(|_| !r.is_opaque && r.length.is_some()),
        "Content type of the record", RFC),
    ItemField::new("tls.record.opaque_type", Kind::U8, |r| number(r.kind?).filter(|_| r.is_opaque),
        "Content type of an encrypted TLS 1.3 record", RFC),
    ItemField::new("tls.record.version", Kind::U16, |r| number(r.version?), "Version in the record's header", RFC),
    ItemField::new("tls.record.length", Kind::U16, |r| number(r.length?), "Octets of the record after its header", RFC),
    ItemField::new("tls.handshake", Kind::Bool, |r| r.flag(HANDSHAKE), "Handshake message", RFC),
    ItemField::new("tls.handshake.type", Kind::U8, |r| number(r.message?), "Type of the handshake message", RFC),
    ItemField::new("tls.handshake.session_id_length", Kind::U8, |r| number(r.session_id_length?),
        "Octets of the session ID in a hello", "RFC 5246, 7.4.1"),
    ItemField::new("tls.handshake.session_id", Kind::Bytes,
        |r| r.hello.as_ref().map(|it| it.session_id.as_slice()).filter(|id| !id.is_empty()).map(Value::Bytes),
        "Session ID in a hello", "RFC 5246, 7.4.1"),
    ItemField::new("tls.handshake.random", Kind::Bytes,
        |r| r.hello.as_ref()?.random.as_ref().map(|random| Value::Bytes(random.as_slice())),
        "Random of a hello", "RFC 8446, 4.1.2"),
    ItemField::new("tls.handshake.extensions.supported_version", Kind::Numbers,
        |r| r.hello.as_ref().map(|it| it.versions.as_slice()).filter(|them| !them.is_empty()).map(Value::Numbers),
        "Versions that the client supports, or the one that the server chose", "RFC 8446, 4.2.1"),
    ItemField::new("tls.change_cipher_spec", Kind::Bool, |r| r.flag(CHANGE), "ChangeCipherSpec message: what follows is encrypted", RFC),
    ItemField::new("tls.app_data", Kind::Bool, |r| r.flag(DATA), "Encrypted application data", RFC),
    ItemField::new("tls.alert_message", Kind::Bool, |r| r.flag(ALERT), "Alert message", RFC),
    ItemField::new("tls.alert_message.level", Kind::U8, |r| number(r.alert?[0]), "Level of the alert", RFC),
    ItemField::new("tls.alert_message.desc", Kind::U8, |r| number(r.alert?[1]), "Description of the alert", RFC),
];

const RFC: &str = "RFC 8446, 5.1";
const QUIC: &str = "RFC 9000, 17";
const DTLS: &str = "RFC 6347, 4.1";
const CHANGE: u8 = 20;
const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const DATA: u8 = 23;
/// The number of octets of a record, at most, with the overhead of encryption.
const RECORD_OCTETS_MAX: usize = (1 << 14) + 2_048;
const HEADER_OCTETS: usize = 5;
const MESSAGE_HEADER_OCTETS: usize = 4;
/// Octets of a hello that are kept, at most, with its header.
const HELLO_OCTETS_MAX: usize = 1 << 16;
/// The number of octets of a connection in which a hello is searched for.
const SEARCH_BYTES_MAX: usize = 1 << 16;
/// The number of octets under way, of all connections.
const HELD_BYTES_MAX: usize = 256 << 20;
/// The number of conversations of QUIC whose hellos are awaited.
const QUIC_MAX: usize = 1 << 14;
/// The number of UDP conversations that are known to carry QUIC.
const QUIC_KNOWN_MAX: usize = 1 << 18;
const CLIENT_HELLO: u8 = 1;
/// The version that Wireshark gives records in the form of SSL 2, which have none.
const SSL2: u16 = 2;
/// The number of octets in front of a hello in the form of SSL 2: its length.
const SSL2_HEADER_OCTETS: usize = 2;
/// The type of a ServerHello, whose version is read.
const SERVER_HELLO: u8 = 2;
/// The offset of the length of the session ID in both hellos: behind the header, the version and the random value.
const SESSION_ID_AT: usize = MESSAGE_HEADER_OCTETS + 2 + 32;

impl Item for RecordRow {
    fn value(&self, index: usize) -> Option<Value<'_>> {
        (OWN.get(index)?.get)(self)
    }
}

/// A connection.
#[derive(Default)]
struct RecordConnection {
    /// The number of octets that were searched before TLS began.
    seen: usize,
    is_tls: bool,
    /// Whether the server chose TLS 1.3.
    is_private: bool,
    sides: [RecordSide; 2],
}

#[derive(Default)]
struct RecordSide {
    /// A record whose end did not come yet.
    begun: Vec<u8>,
    is_sealed: bool,
    /// The header of a message that goes on in the next record, and what came of a hello.
    message: Vec<u8>,
    /// The number of octets of a message that continue in the next record.
    passing: usize,
}

/// The callback for a record.
type OnRecord<'e> = dyn FnMut(RecordRow) + 'e;

impl RecordConnection {
    /// Reads octets of a side; returns false when the connection carries something else.
    fn take(&mut self, side: usize, bytes: &[u8], each: &mut OnRecord<'_>) -> bool {
        let Some(one) = self.sides.get_mut(side) else {
            return false;
        };
        let mut may_be_ssl2 = false;
        if !self.is_tls {
            let is_first = self.seen == one.begun.len();
            self.seen = self.seen.saturating_add(bytes.len());
            self.is_tls = one.begins(bytes, is_first);
            if !self.is_tls {
                return self.seen <= SEARCH_BYTES_MAX;
            }
            may_be_ssl2 = true;
        }
        let mut begun = std::mem::take(&mut one.begun);
        let (is_first, mut is_told) = (begun.is_empty(), false);
        begun.extend_from_slice(bytes);
        let mut rest = begun.as_slice();
        if may_be_ssl2 && let Some(hello) = ssl2_hello(rest) {
            each(RecordRow::of_ssl2_hello(hello));
            is_told = true;
            rest = rest
                .get(SSL2_HEADER_OCTETS + hello.len()..)
                .unwrap_or_default();
        }
        while rest.len() >= HEADER_OCTETS {
            if !is_header(rest) {
                // Wireshark shows it as continuation data.
                each(RecordRow::default());
                rest = &[];
                break;
            }
            let length = rest
                .get(3..5)
                .map_or(0, |it| usize::from(it[0]) << 8 | usize::from(it[1]));
            let Some((record, behind)) = rest.split_at_checked(HEADER_OCTETS + length) else {
                break;
            };
            one.record(record, &mut self.is_private, each);
            is_told = true;
            rest = behind;
        }
        // Wireshark dissects a frame at the beginning of a record, and not at its continuation.
        if is_first && !is_told && is_header(rest) {
            each(RecordRow::default());
        }
        one.begun = rest.to_vec();
        true
    }

    /// Octets of a side were not captured: the end of a frame that `is_cut`, which has what is there of its last record, or others.
    fn gap(&mut self, side: usize, is_cut: bool, each: &mut OnRecord<'_>) {
        let is_read = is_cut && self.is_tls;
        let Some(side) = self.sides.get_mut(side) else {
            return;
        };
        let begun = std::mem::take(&mut side.begun);
        if is_read && is_header(&begun) {
            let goes_on = !side.message.is_empty();
            side.record(&begun, &mut self.is_private, each);
            if side.message.len() >= MESSAGE_HEADER_OCTETS && !goes_on {
                each(RecordRow::of_message(&side.message));
            }
        }
        side.message = Vec::new();
        side.passing = 0;
    }

    fn held(&self) -> usize {
        let [one, other] = &self.sides;
        let octets = [&one.begun, &one.message, &other.begun, &other.message];
        octets.map(Vec::capacity).iter().sum::<usize>() + size_of::<Self>()
    }
}

impl RecordSide {
    /// Returns whether TLS begins with the stored octets and these, or with these alone. Octets that may become a
    /// beginning are stored.
    fn begins(&mut self, bytes: &[u8], is_first: bool) -> bool {
        let begins = |all: &[u8], is_first| is_first && is_header(all) || begins_with_hello(all);
        let may_begin = |all: &[u8], is_first| {
            let is_header = is_first && all.len() < HEADER_OCTETS && is_header_begun(all);
            is_header || may_begin_with_hello(all)
        };
        if !self.begun.is_empty() {
            let all = [self.begun.as_slice(), bytes].concat();
            if begins(&all, is_first) {
                return true;
            }
            if may_begin(&all, is_first) {
                self.begun = all;
                return false;
            }
        }
        let is_first = is_first && self.begun.is_empty();
        self.begun = Vec::new();
        let begins = begins(bytes, is_first);
        if !begins && may_begin(bytes, is_first) {
            self.begun = bytes.to_vec();
        }
        begins
    }

    /// Reads a whole record with its header.
    fn record(&mut self, record: &[u8], is_private: &mut bool, each: &mut OnRecord<'_>) {
        let Some((&[kind, v1, v0, l1, l0], body)) = record.split_first_chunk::<HEADER_OCTETS>()
        else {
            return;
        };
        let mut said = RecordRow {
            kind: Some(kind),
            is_opaque: kind == DATA && *is_private,
            version: Some(u16::from_be_bytes([v1, v0])),
            length: Some(u16::from_be_bytes([l1, l0])),
            ..RecordRow::default()
        };
        match (kind, body) {
            // One within a message changes nothing.
            (CHANGE, _) => self.is_sealed |= self.message.is_empty(),
            (ALERT, &[level, description]) if !self.is_sealed => {
                said.alert = Some([level, description]);
            }
            _ => {}
        }
        each(said);
        if kind == HANDSHAKE && !self.is_sealed {
            self.messages(body, is_private, each);
        }
    }

    /// Reports the messages that begin in a record of the handshake.
    fn messages(&mut self, body: &[u8], is_private: &mut bool, each: &mut OnRecord<'_>) {
        let mut rest = body;
        while !rest.is_empty() {
            let lacking = MESSAGE_HEADER_OCTETS.saturating_sub(self.message.len());
            if lacking > 0 {
                let (header, behind) = rest.split_at(lacking.min(rest.len()));
                self.message.extend_from_slice(header);
                rest = behind;
                let Some(&[_, a, b, c]) = self.message.first_chunk::<MESSAGE_HEADER_OCTETS>()
                else {
                    return;
                };
                self.passing = u32::from_be_bytes([0, a, b, c]) as usize;
            }
            let (there, behind) = rest.split_at(self.passing.min(rest.len()));
            rest = behind;
            self.passing -= there.len();
            let most = match self.message.first() {
                Some(&(CLIENT_HELLO | SERVER_HELLO)) => HELLO_OCTETS_MAX,
                _ => 0,
            };
            let room = most.saturating_sub(self.message.len());
            self.message
                .extend_from_slice(there.get(..room).unwrap_or(there));
            if self.passing > 0 {
                return;
            }
            let message = std::mem::take(&mut self.message);
            let said = RecordRow::of_message(&message);
            *is_private |= message.first() == Some(&SERVER_HELLO)
                && said
                    .hello
                    .as_ref()
                    .is_some_and(|hello| hello.versions.iter().any(|version| *version >= 0x0304));
            each(said);
        }
    }
}

/// Returns true for the header of a record.
fn is_header(bytes: &[u8]) -> bool {
    let [CHANGE..=DATA, 3, 0..=4, high, low, ..] = bytes else {
        return false;
    };
    usize::from(u16::from_be_bytes([*high, *low])) <= RECORD_OCTETS_MAX
}

/// Returns true for the first octets of a header.
fn is_header_begun(bytes: &[u8]) -> bool {
    let mut header = [DATA, 3, 0, 0, 0];
    let known = header.iter_mut().zip(bytes);
    known.for_each(|(octet, known)| *octet = *known);
    is_header(&header)
}

/// The state of the search for records.
struct Records {
    payloads: Payloads,
    streams: Followed<RecordStream>,
    carried: CarriedRecords,
    /// The session of each QUIC conversation, and which of the two hellos have their rows.
    quic: HashMap<FlowKey, (Box<Session>, [bool; 2])>,
    /// The conversations in which QUIC has begun.
    known_quic: HashMap<FlowKey, QuicIds>,
    given_up: u64,
    /// The number of datagrams of QUIC in conversations of which there are too many to be known.
    unknown: u64,
}

impl Default for Records {
    fn default() -> Self {
        Self {
            payloads: Payloads::new(),
            streams: Followed::new(HELD_BYTES_MAX),
            carried: CarriedRecords::new(),
            quic: HashMap::new(),
            known_quic: HashMap::new(),
            given_up: 0,
            unknown: 0,
        }
    }
}

/// Reports the packets of a datagram of QUIC by their headers, and keeps the connection IDs of its sender, this side.
fn packets(mut ids: Option<&mut QuicIds>, side: usize, datagram: &[u8], each: &mut OnRecord<'_>) {
    let mut headers = quic_headers(datagram).peekable();
    if headers.peek().is_none() {
        each(RecordRow::of_quic(None));
    }
    for header in headers {
        let of_receiver = ids.as_ref().and_then(|ids| ids.get(1 - (side & 1)));
        let of_receiver = of_receiver.map(Vec::as_slice).unwrap_or_default();
        let packet = QuicPacket::new(&header, datagram, of_receiver);
        let of_sender = ids.as_mut().and_then(|ids| ids.get_mut(side));
        if let (Some(known), Some(id)) = (of_sender, &packet.source)
            && packet.fixed_bit.is_some()
            && !id.is_empty()
            && !known.contains(id)
        {
            if known.len() >= QUIC_IDS_MAX {
                known.remove(0);
            }
            known.push(id.clone());
        }
        each(RecordRow::of_quic(Some(packet)));
    }
}

/// Reads a datagram, which may complete a ClientHello or ServerHello in QUIC; returns true when there are too many
/// connections.
fn datagram(
    open: &mut HashMap<FlowKey, (Box<Session>, [bool; 2])>,
    payload: &Payload<'_>,
    bytes: &[u8],
    each: &mut OnRecord<'_>,
) -> bool {
    if !open.contains_key(payload.key) {
        if !is_quic_initial(bytes) {
            return false;
        }
        if open.len() >= QUIC_MAX {
            return true;
        }
        let session = Box::new(Session::new(Carrier::Quic));
        open.insert(*payload.key, (session, [false; 2]));
    }
    let Some((session, told)) = open.get_mut(payload.key) else {
        return false;
    };
    let stamp = Stamp {
        time_ns: payload.time_ns,
        frame: payload.frame,
    };
    let side = usize::from(payload.sender == Sender::High);
    let is_over = session.datagram(side, bytes, stamp) != SessionState::More;
    let client = session.client.as_ref().map(Hello::from);
    let server = session.server.as_ref().map(Hello::from);
    let hellos = [(CLIENT_HELLO, client), (SERVER_HELLO, server)];
    for ((message, hello), told) in hellos.into_iter().zip(told.iter_mut()) {
        if let Some(hello) = hello
            && !std::mem::replace(told, true)
        {
            each(RecordRow {
                kind: Some(HANDSHAKE),
                message: Some(message),
                session_id_length: u8::try_from(hello.session_id.len()).ok(),
                hello: Some(hello),
                ..RecordRow::default()
            });
        }
    }
    if is_over {
        open.remove(payload.key);
    }
    false
}

impl Extract for Records {
    fn packet(&mut self, row: &Row<'_>, rows: &mut Rows) {
        let Self {
            payloads,
            streams,
            carried,
            quic,
            known_quic,
            given_up,
            unknown,
        } = self;
        carried.link(row.packet, &mut |record| {
            rows.push_row(&row.with_item(&record));
        });
        payloads.packet(row.packet, &mut |payload| {
            let mut each = |record: RecordRow| {
                rows.push_row(&row.with_item(&record));
            };
            match payload.carried {
                Carried::Stream(chunk) => {
                    let side = usize::from(payload.sender == Sender::High);
                    streams.chunk(
                        chunk,
                        |bytes| Some(RecordStream::before(bytes, Way::of(payload).ports())),
                        |stream| {
                            let content = (chunk.frame, chunk.content);
                            let goes_on = stream.take(side, content, &mut each);
                            (goes_on && !chunk.is_last).then(|| stream.held())
                        },
                    )
                }
                Carried::Datagram(bytes) => {
                    if carried.datagram(payload, bytes, &mut each) {
                        return Interest::Follow;
                    }
                    if is_of_datagram_records(bytes, payload.missing) {
                        each(RecordRow::of_datagram(Carrier::Dtls));
                        datagram_records(bytes, &mut each);
                    } else if known_quic.contains_key(payload.key) || has_quic_long_header(bytes) {
                        if known_quic.len() < QUIC_KNOWN_MAX {
                            known_quic.entry(*payload.key).or_default();
                        }
                        let ids = known_quic.get_mut(payload.key);
                        *unknown += u64::from(ids.is_none());
                        let side = usize::from(payload.sender == Sender::High);
                        packets(ids, side, bytes, &mut each);
                    }
                    *given_up += u64::from(datagram(quic, payload, bytes, &mut each));
                    Interest::Follow
                }
                // Messages of SCTP may be those of DTLS (RFC 6083).
                Carried::Message { bytes, .. } => {
                    if is_of_datagram_records(bytes, payload.missing) {
                        each(RecordRow::of_datagram(Carrier::Dtls));
                        datagram_records(bytes, &mut each);
                    }
                    Interest::Ignore
                }
                _ => Interest::Ignore,
            }
        });
    }

    fn notes(&self) -> Vec<Note> {
        let counted = [
            self.streams.given_up(),
            self.given_up,
            self.unknown,
            self.carried.channels_given_up(),
            self.carried.talks_given_up(),
            self.carried.cut(),
        ];
        let words = [
            "TCP connections were dropped in the search for TLS records because they took too much memory",
            "QUIC datagrams were not decoded because too many conversations began",
            "QUIC datagrams were in more conversations than are known: those behind them with short headers are not found",
            "control channels of OpenVPN were given up because more than 4,096 were open",
            "messages of TLS in EAP were left out because more than 4,096 conversations were open",
            "packets of EAP in 802.1X were not read because they were not captured completely",
        ];
        let counted = counted.into_iter().zip(words);
        Note::of("display filter", counted.chain(self.payloads.given_up())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(
        stream: &mut RecordConnection,
        side: usize,
        bytes: &[u8],
    ) -> Vec<(Option<u8>, Option<u8>)> {
        let mut found = Vec::new();
        stream.take(side, bytes, &mut |record| {
            found.push((record.kind, record.message));
        });
        found
    }

    /// A server's hello of TLS 1.3 in records of any size: the type of the record behind it hides another one.
    #[test]
    fn hellos_in_small_records_are_read() {
        let extension = [0, 43, 0, 2, 3, 4];
        let mut hello = vec![2, 0, 0, 46, 3, 3];
        hello.extend([7; 32]);
        hello.extend([0, 0x13, 1, 0, 0, 6]);
        hello.extend(extension);
        for octets in [1, 3, 4, 20, 100] {
            let mut stream = RecordConnection::default();
            let mut found = Vec::new();
            let records = hello
                .chunks(octets)
                .flat_map(|piece| [&[22, 3, 3, 0, piece.len() as u8][..], piece].concat());
            let mut bytes: Vec<u8> = records.collect();
            bytes.extend([23, 3, 3, 0, 1, 9]);
            stream.take(1, &bytes, &mut |record| {
                found.extend(record.message.map(|message| (message, false)));
                if record.kind == Some(DATA) {
                    found.push((DATA, record.is_opaque));
                }
            });
            assert_eq!(found, [(SERVER_HELLO, false), (DATA, true)], "{octets}");
        }
    }

    /// Until 2026-11 the table of handshakes alone had these, and display filters refused them.
    #[test]
    fn hellos_have_a_session_a_random_and_versions() {
        let mut client = vec![1, 0, 0, 54, 3, 3];
        client.extend([5; 32]);
        client.extend([2, 8, 9, 0, 2, 0x13, 1, 1, 0]);
        client.extend([0, 9, 0, 43, 0, 5, 4, 3, 4, 3, 3]);
        let mut stream = RecordConnection::default();
        let mut found = Vec::new();
        for piece in client.chunks(30) {
            let record = [&[22, 3, 1, 0, piece.len() as u8][..], piece].concat();
            stream.take(0, &record, &mut |record| found.extend(record.hello));
        }
        let [hello] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(hello.session_id, [8, 9]);
        assert_eq!(hello.random, Some([5; 32]));
        assert_eq!(hello.versions, [0x0304, 0x0303]);
    }

    /// Until 2026-11 such a hello was a frame of TLS without any field. The values of the fields are those that RFC 5246, E.2 has for
    /// the octets; version 0x0002 and the lack of a content type are tshark's.
    #[test]
    fn a_hello_in_the_form_of_ssl_2_is_a_client_hello() {
        let mut hello = vec![0x80, 9 + 6 + 16 + 16, 1, 3, 1, 0, 6, 0, 16, 0, 16];
        hello.extend([0, 0, 0x39, 1, 0, 0x80]);
        hello.extend([7; 16]);
        hello.extend([8; 16]);
        for octets in [1, 3, 20, hello.len()] {
            let mut stream = RecordConnection::default();
            let mut found = Vec::new();
            for piece in hello.chunks(octets) {
                stream.take(0, piece, &mut |record| found.push(record));
            }
            let [record] = found.as_slice() else {
                panic!("{octets}: {found:?}");
            };
            assert_eq!((record.kind, record.message), (None, Some(1)));
            assert_eq!((record.version, record.length), (Some(2), Some(47)));
            assert_eq!(record.session_id_length, Some(16));
            let said = record.hello.as_ref().unwrap();
            assert_eq!(
                (said.session_id.as_slice(), said.random),
                (&[7; 16][..], None)
            );
            let answer = [22, 3, 1, 0, 4, 14, 0, 0, 0];
            let wanted = [(Some(22), None), (Some(22), Some(14))];
            assert_eq!(of(&mut stream, 1, &answer), wanted);
        }
        // Records follow the hello in the same segment.
        let mut stream = RecordConnection::default();
        hello.extend([21, 3, 1, 0, 2, 1, 0]);
        let wanted = [(None, Some(1)), (Some(21), None)];
        assert_eq!(of(&mut stream, 0, &hello), wanted);
    }

    #[test]
    fn a_frame_has_the_records_that_it_completes() {
        let mut stream = RecordConnection::default();
        // Two messages, of which the second continues in the next record.
        let first = [22, 3, 1, 0, 9, 14, 0, 0, 0, 11, 0, 0, 9, 1];
        assert_eq!(of(&mut stream, 0, &first[..8]), [(None, None)]);
        assert_eq!(of(&mut stream, 0, &first[8..9]), []);
        let wanted = [(22, None), (22, Some(14))];
        let wanted = wanted.map(|(kind, message)| (Some(kind), message));
        assert_eq!(of(&mut stream, 0, &first[9..]), wanted);
        assert_eq!(
            of(&mut stream, 0, &[22, 3, 1, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]),
            [(Some(22), None), (Some(22), Some(11))]
        );
        // The header of a message, too, may come in several records.
        assert_eq!(
            of(&mut stream, 0, &[22, 3, 1, 0, 2, 16, 0]),
            [(Some(22), None)]
        );
        assert_eq!(
            of(&mut stream, 0, &[22, 3, 1, 0, 4, 0, 2, 1, 2]),
            [(Some(22), None), (Some(22), Some(16))]
        );
        // A change of cipher spec within a message changes nothing, and one between messages does.
        let behind = [22, 3, 1, 0, 5, 16, 0, 0, 2, 1];
        assert_eq!(of(&mut stream, 0, &behind), [(Some(22), None)]);
        assert_eq!(of(&mut stream, 0, &[20, 3, 1, 0, 1, 1]), [(Some(20), None)]);
        assert_eq!(
            of(&mut stream, 0, &[22, 3, 1, 0, 1, 2]),
            [(Some(22), None), (Some(22), Some(16))]
        );
        assert_eq!(of(&mut stream, 0, &[20, 3, 1, 0, 1, 1]), [(Some(20), None)]);
        // The record is encrypted: its types are not read.
        assert_eq!(
            of(&mut stream, 0, &[22, 3, 1, 0, 4, 14, 0, 0, 0]),
            [(Some(22), None)]
        );
        assert_eq!(of(&mut stream, 1, b"GET / HTTP/1.1"), [(None, None)]);
    }

    /// A frame that was cut had no fields of the record whose end it lacks.
    #[test]
    fn a_frame_that_was_cut_has_what_is_there_of_its_record() {
        let mut hello = vec![22, 3, 1, 0, 58, 1, 0, 0, 54, 3, 3];
        hello.extend([5; 32]);
        hello.extend([2, 8, 9, 0, 2]);
        let mut stream = RecordConnection::default();
        assert_eq!(of(&mut stream, 0, &hello), [(None, None)]);
        let mut found = Vec::new();
        stream.gap(0, true, &mut |record| found.push(record));
        let [record, message] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!((record.kind, record.message), (Some(HANDSHAKE), None));
        assert_eq!((record.version, record.length), (Some(0x0301), Some(58)));
        assert_eq!(message.message, Some(CLIENT_HELLO));
        assert_eq!(message.session_id_length, Some(2));
        assert_eq!(message.hello.as_ref().unwrap().random, Some([5; 32]));
        // Octets behind the frame were lost.
        assert_eq!(of(&mut stream, 0, &hello), [(None, None)]);
        let mut found = Vec::new();
        stream.gap(0, false, &mut |record| found.push(record));
        assert_eq!(found.len(), 0);
    }

    /// Until 2026-11 display filters refused the fields of QUIC. The values are tshark's.
    #[test]
    fn packets_of_quic_have_the_fields_of_their_headers() {
        let [first, client, server] = [&b"original"[..], b"client", b"server"];
        let long = |kind: u8, ids: [&[u8]; 2]| {
            let mut packet = vec![0xc0 | kind << 4, 0, 0, 0, 1];
            for id in ids {
                packet.push(id.len() as u8);
                packet.extend(id);
            }
            // Of an Initial packet the token, and of all the length.
            packet.extend(&[0_u8, 1, 7][usize::from(kind != 0)..]);
            packet
        };
        let short = |id: &[u8]| [&[0x41][..], id, &[0; 20]].concat();
        let mut ids: QuicIds = Default::default();
        let mut fields_of = |side: usize, packets: &[Vec<u8>]| {
            let mut found = Vec::new();
            super::packets(Some(&mut ids), side, &packets.concat(), &mut |record| {
                let packet = record.quic.unwrap();
                let [destination, source] = [&packet.destination, &packet.source]
                    .map(|id| String::from_utf8(id.as_deref().unwrap_or_default().into()).unwrap());
                found.push((packet.kind_of(false), destination, source));
            });
            found
        };
        let row = |kind: Option<u8>, [destination, source]: [&[u8]; 2]| {
            let [destination, source] =
                [destination, source].map(|id| String::from_utf8(id.to_vec()).unwrap());
            (kind, destination, source)
        };
        let asked = row(Some(0), [first, client]);
        assert_eq!(fields_of(0, &[long(0, [first, client])]), [asked]);
        let answer = [
            long(0, [client, server]),
            long(2, [client, server]),
            short(client),
        ];
        let answered = [
            row(Some(0), [client, server]),
            row(Some(2), [client, server]),
            row(None, [client, b""]),
        ];
        assert_eq!(fields_of(1, &answer), answered);
        assert_eq!(fields_of(0, &[short(server)]), [row(None, [server, b""])]);
        // An ID that was not seen, and octets behind a packet that do not belong to its connection.
        assert_eq!(fields_of(0, &[short(b"another")]), [row(None, [b"", b""])]);
        let padded = [long(2, [server, client]), short(b"another")];
        let padded = fields_of(0, &padded);
        assert_eq!(padded, [row(Some(2), [server, client])]);
    }

    #[test]
    fn what_begins_as_something_else_is_no_tls_before_a_hello() {
        let mut stream = RecordConnection::default();
        assert_eq!(of(&mut stream, 0, b"EHLO mail"), []);
        assert_eq!(of(&mut stream, 0, &[23, 3, 1, 0, 1, 1]), []);
        assert!(!stream.is_tls);
    }
}
