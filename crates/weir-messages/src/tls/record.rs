//! Records of a stream (RFC 8446, 5.1) and the messages of the handshake in them.

use std::collections::{BTreeMap, BTreeSet};

use weir_bytes::{u16_be_at, u24_be_at, u32_be_at};

/// Octets of a message of the handshake, at most.
pub const HANDSHAKE_OCTETS_MAX: usize = 1 << 18;

/// When something came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Time in nanoseconds.
    pub time_ns: Option<i64>,
    /// Number of the record of the capture.
    pub frame: u64,
}

/// The contents of a record or a message.
#[derive(Clone, Copy, Debug)]
pub(super) enum RecordPart<'p> {
    /// A whole message of the handshake.
    Handshake(u8, &'p [u8]),
    /// The first octets of a client's hello, whose rest was not captured.
    CutHello(&'p [u8]),
    /// The first octets of a chain of certificates, whose rest was not captured.
    CutChain(&'p [u8]),
    /// A hello in the form of SSL 2.
    Ssl2Hello(&'p [u8]),
    /// Level and description.
    Alert(u8, u8),
    /// The following records of this direction are encrypted.
    ChangeCipherSpec,
    /// Something sealed, in a record of this type; 0 where that is sealed, too.
    Data(u8),
    /// A message that was too long.
    TooLong,
}

/// Octets of a record, at most: 2^14, and what encryption adds.
const RECORD_OCTETS_MAX: usize = (1 << 14) + 2_048;
const HEADER_OCTETS: usize = 5;

/// The classification of the first octets of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beginning {
    Hello,
    /// More octets are needed.
    Unsure,
    Other,
}

/// Whether a stream begins with a hello, of a client or of a server.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    beginning(bytes) == Beginning::Hello
}

/// Whether more octets may make a hello of the beginning of a stream: with 36 octets of its own records it is known.
#[must_use]
pub fn may_begin(bytes: &[u8]) -> bool {
    bytes.len() <= BEGINNING_OCTETS_MAX && beginning(bytes) == Beginning::Unsure
}

/// Octets in which a hello shows, at most, with other records between its own.
const BEGINNING_OCTETS_MAX: usize = 512;

/// Octets of a hello that tell it: type, length and version.
const HELLO_OCTETS: usize = 6;

/// A hello may come in as many records as it has octets (RFC 8446, 5.1): its first octets are put together. Empty records, and
/// those of other types between them, break the rules there, and are passed over.
fn beginning(bytes: &[u8]) -> Beginning {
    if ssl2_hello(bytes).is_some() {
        return Beginning::Hello;
    }
    if may_be_ssl2_hello(bytes) {
        return Beginning::Unsure;
    }
    let mut hello = [0; HELLO_OCTETS];
    let (mut known, mut rest) = (0, bytes);
    while known < HELLO_OCTETS {
        let header = rest.get(..HEADER_OCTETS).unwrap_or(rest);
        let is_between = known > 0 && matches!(header, [20 | 21, ..]);
        let is_type = is_between || header.first().is_none_or(|kind| *kind == 22);
        let is_version = header.get(1).is_none_or(|major| *major == 3)
            && header.get(2).is_none_or(|minor| *minor <= 4);
        if !is_type || !is_version {
            return Beginning::Other;
        }
        let Some(length) = u16_be_at(header, 3).map(usize::from) else {
            return Beginning::Unsure;
        };
        if length > RECORD_OCTETS_MAX {
            return Beginning::Other;
        }
        let body = rest.get(HEADER_OCTETS..).unwrap_or_default();
        let here = body.get(..length).unwrap_or(body);
        if is_between {
            if here.len() < length {
                return Beginning::Unsure;
            }
            rest = body.get(length..).unwrap_or_default();
            continue;
        }
        for (place, octet) in hello.iter_mut().skip(known).zip(here) {
            *place = *octet;
        }
        known += here.len();
        rest = body.get(here.len()..).unwrap_or_default();
        let said = hello.get(..known.min(HELLO_OCTETS)).unwrap_or(&hello);
        if !may_be_hello(said) {
            return Beginning::Other;
        }
        if here.len() < length && known < HELLO_OCTETS {
            return Beginning::Unsure;
        }
    }
    Beginning::Hello
}

/// Whether these are the first octets of a hello, which has a version, 32 random octets, a session and a suite at least.
fn may_be_hello(said: &[u8]) -> bool {
    let is_length = u24_be_at(said, 1).is_none_or(|length| (38..1 << 16).contains(&length));
    let has_version = said.get(4).is_none_or(|major| matches!(major, 3 | 0x7f))
        && said
            .get(5)
            .is_none_or(|minor| said.get(4) != Some(&3) || *minor <= 4);
    said.first().is_none_or(|kind| matches!(kind, 1 | 2)) && is_length && has_version
}

/// Whether these are the first octets of a message with certificates (RFC 5246, 7.4.2), which has the length of their list, too.
fn may_be_chain(said: &[u8]) -> bool {
    let lengths = u24_be_at(said, 1).zip(u24_be_at(said, 4));
    lengths.is_some_and(|(message, list)| message == list.saturating_add(3))
}

/// The hello in the form of SSL 2 that a stream begins with, when all of it is there (RFC 5246, E.2). Its lengths
/// agree, and it asks for SSL 3 or later. The hello is without the two octets of its length, as
/// [`ClientHello::parse_ssl2`](super::ClientHello::parse_ssl2) reads it.
#[must_use]
pub fn ssl2_hello(bytes: &[u8]) -> Option<&[u8]> {
    let length = u16_be_at(bytes, 0).filter(|length| length & 0x8000 != 0)? & 0x7fff;
    let body = bytes.get(2..2 + usize::from(length))?;
    let [1, 3, 0..=4, ..] = body else {
        return None;
    };
    let [suites, session, challenge] = [3, 5, 7].map(|at| u16_be_at(body, at).map(usize::from));
    let (suites, session, challenge) = (suites?, session?, challenge?);
    let is_one = suites > 0
        && suites % 3 == 0
        && matches!(session, 0 | 16)
        && (16..=32).contains(&challenge)
        && 9 + suites + session + challenge == body.len();
    is_one.then_some(body)
}

/// Whether more octets may make such a hello of these, the first ones of a stream.
fn may_be_ssl2_hello(bytes: &[u8]) -> bool {
    if bytes.first().is_none_or(|high| high & 0x80 == 0) {
        return false;
    }
    let Some(length) = u16_be_at(bytes, 0).map(|length| usize::from(length & 0x7fff)) else {
        return true;
    };
    let body = bytes.get(2..).unwrap_or_default();
    let [suites, session, challenge] = [3, 5, 7].map(|at| u16_be_at(body, at));
    body.len() < length
        && length >= SSL2_HELLO_OCTETS_MIN
        && body.first().is_none_or(|kind| *kind == 1)
        && body.get(1).is_none_or(|major| *major == 3)
        && body.get(2).is_none_or(|minor| *minor <= 4)
        && suites.is_none_or(|suites| suites > 0 && suites % 3 == 0)
        && session.is_none_or(|session| matches!(session, 0 | 16))
        && challenge.is_none_or(|challenge| (16..=32).contains(&challenge))
}

/// Octets of a hello in the form of SSL 2, at least: its fields, a suite and a challenge.
const SSL2_HELLO_OCTETS_MIN: usize = 9 + 3 + 16;

/// One direction of a stream.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// A record whose end did not come yet.
    begun: Vec<u8>,
    /// Messages whose end did not come yet.
    handshake: Vec<u8>,
    /// Octets of a message that is passed over.
    passing: usize,
    /// The level of an alert whose description did not come yet.
    alert: Option<u8>,
    /// Something came that was read.
    has_begun: bool,
    pub(super) is_private: bool,
    is_lost: bool,
}

impl Direction {
    /// Octets that wait.
    pub(super) fn held(&self) -> usize {
        self.begun.capacity() + self.handshake.capacity()
    }

    /// Octets are missing: the messages that a record has in front of them are read, and as much of a client's hello, or of a chain of
    /// certificates, as is there.
    pub(super) fn gap(&mut self, each: &mut dyn FnMut(&mut Self, RecordPart<'_>)) {
        let begun = std::mem::take(&mut self.begun);
        if let [22, _, _, _, _, body @ ..] = begun.as_slice()
            && !self.is_private
        {
            self.messages(body, each);
        }
        let handshake = std::mem::take(&mut self.handshake);
        match handshake.as_slice() {
            [1, _, _, _, body @ ..] if may_be_hello(&handshake) => {
                each(self, RecordPart::CutHello(body));
            }
            [11, _, _, _, body @ ..] if may_be_chain(&handshake) => {
                each(self, RecordPart::CutChain(body));
            }
            _ => {}
        }
        self.passing = 0;
        self.alert = None;
        self.is_lost = true;
    }

    /// Adds the next octets; returns false when they are not records.
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&mut Self, RecordPart<'_>),
    ) -> bool {
        if self.is_lost {
            if !is_header(bytes) {
                return true;
            }
            self.is_lost = false;
        }
        if self.begun.is_empty() {
            let Some(done) = self.records(bytes, each) else {
                return false;
            };
            self.begun = bytes.get(done..).unwrap_or_default().to_vec();
            return true;
        }
        let mut begun = std::mem::take(&mut self.begun);
        begun.extend_from_slice(bytes);
        let Some(done) = self.records(&begun, each) else {
            return false;
        };
        begun.drain(..done.min(begun.len()));
        self.begun = begun;
        true
    }

    /// Reads whole records; gives how many octets are done with, `None` when something is no record.
    fn records(
        &mut self,
        bytes: &[u8],
        each: &mut dyn FnMut(&mut Self, RecordPart<'_>),
    ) -> Option<usize> {
        let mut at = 0;
        if !self.has_begun && may_be_ssl2_hello(bytes) {
            return Some(at);
        }
        if !std::mem::replace(&mut self.has_begun, true)
            && let Some(hello) = ssl2_hello(bytes)
        {
            each(self, RecordPart::Ssl2Hello(hello));
            at = 2 + hello.len();
        }
        loop {
            let rest = bytes.get(at..)?;
            if rest.len() < HEADER_OCTETS {
                return Some(at);
            }
            if !is_header(rest) {
                return None;
            }
            let end = HEADER_OCTETS + usize::from(u16_be_at(rest, 3)?);
            let Some(body) = rest.get(HEADER_OCTETS..end) else {
                return Some(at);
            };
            at += end;
            self.record(*rest.first()?, body, each);
        }
    }

    fn record(&mut self, kind: u8, body: &[u8], each: &mut dyn FnMut(&mut Self, RecordPart<'_>)) {
        // A change of cipher spec stands between messages, and one within a message changes nothing.
        let is_within = self.passing > 0 || !self.handshake.is_empty();
        match kind {
            20 if is_within && !self.is_private => {}
            20 => each(self, RecordPart::ChangeCipherSpec),
            21 if !self.is_private => self.alerts(body, each),
            22 if !self.is_private => self.messages(body, each),
            22 | 23 => each(self, RecordPart::Data(kind)),
            _ => {}
        }
    }

    /// The alerts that a record completes: one may have several, and a part of one (RFC 5246, 6.2.1). What is sealed has other levels.
    fn alerts(&mut self, body: &[u8], each: &mut dyn FnMut(&mut Self, RecordPart<'_>)) {
        let begun = self.alert.take().into_iter();
        let all: Vec<u8> = begun.chain(body.iter().copied()).collect();
        let mut levels = all.iter().step_by(2);
        if all.len() != 2 && !levels.all(|level| matches!(level, 1 | 2)) {
            return;
        }
        let (alerts, rest) = all.as_chunks::<2>();
        for [level, description] in alerts {
            each(self, RecordPart::Alert(*level, *description));
        }
        self.alert = rest.first().copied();
    }

    /// The messages that a record completes.
    fn messages(&mut self, body: &[u8], each: &mut dyn FnMut(&mut Self, RecordPart<'_>)) {
        let passed = self.passing.min(body.len());
        self.passing -= passed;
        let mut all = std::mem::take(&mut self.handshake);
        all.extend_from_slice(body.get(passed..).unwrap_or_default());
        let mut at = 0;
        while let Some([kind, a, b, c, after @ ..]) = all.get(at..) {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > HANDSHAKE_OCTETS_MAX {
                each(self, RecordPart::TooLong);
                let there = length.min(after.len());
                self.passing = length - there;
                at += 4 + there;
                continue;
            }
            let Some(message) = after.get(..length) else {
                break;
            };
            each(self, RecordPart::Handshake(*kind, message));
            at += 4 + length;
        }
        all.drain(..at.min(all.len()));
        self.handshake = all;
    }
}

/// True for the header of a record.
fn is_header(bytes: &[u8]) -> bool {
    let length = u16_be_at(bytes, 3).map_or(0, usize::from);
    matches!(bytes, [20..=24, 3, 0..=4, _, _, ..]) && length <= RECORD_OCTETS_MAX
}

/// One direction of DTLS.
#[derive(Debug, Default)]
pub(super) struct Datagrams {
    /// The messages under way, as their fragments may be mixed; that which began last is the last one.
    begun: Vec<BegunMessage>,
    /// The numbers of whole messages, which sent again have the same ones (RFC 6347, 4.2.2).
    whole: BTreeSet<u16>,
    /// The numbers of records in clear, which sent again have others (RFC 6347, 4.1).
    clear: BTreeSet<u64>,
    /// The end of a record with messages was not captured.
    is_cut: bool,
}

/// A message of DTLS that came in part.
#[derive(Debug)]
struct BegunMessage {
    /// Its number, its type and its length.
    name: (u16, u8, usize),
    /// The fragments by their offsets.
    fragments: BTreeMap<usize, Vec<u8>>,
}

/// Fragments of a message that are kept, at most.
const FRAGMENTS_MAX: usize = 256;
/// Messages of DTLS under way in one direction, at most: a server sends five at once.
const BEGUN_MAX: usize = 8;
/// Numbers of messages that are kept, and of records, at most.
const NUMBERS_MAX: usize = 256;

/// Whether a datagram begins with a DTLS hello, of a client or of a server.
#[must_use]
pub fn begins_datagram(bytes: &[u8]) -> bool {
    is_datagram_header(bytes)
        && matches!(bytes, [22, _, _, 0, 0, ..])
        && matches!(bytes.get(13..), Some([1..=3, 0, ..]))
}

/// Whether these first octets of a datagram may be those of a DTLS hello whose header was not captured whole.
#[must_use]
pub fn may_begin_datagram(bytes: &[u8]) -> bool {
    let is_version = matches!(bytes, [22, 0xfe, 0xfd | 0xff, ..] | [22, 1, 0, 0, 0, ..]);
    let is_clear = bytes.iter().skip(3).take(2).all(|octet| *octet == 0);
    let is_hello = bytes.get(13).is_none_or(|kind| (1..=3).contains(kind));
    bytes.len() < HELLO_HEADER_OCTETS && is_version && is_clear && is_hello
}

/// Octets up to the length of a hello's message.
const HELLO_HEADER_OCTETS: usize = 15;

/// The random value of the client hello at the beginning of a datagram, as far as its first fragment has it (RFC 6347, 4.2.2).
#[must_use]
pub fn random_of_datagram(bytes: &[u8]) -> Option<[u8; 32]> {
    let is_first = begins_datagram(bytes)
        && matches!(bytes.get(13..), Some([1, ..]))
        && bytes.get(19..22) == Some(&[0; 3])
        && u24_be_at(bytes, 22).is_some_and(|octets| octets >= 34);
    let random = bytes.get(27..59)?.try_into().ok()?;
    is_first.then_some(random)
}

/// Whether a datagram consists of records of DTLS (RFC 6347, 4.1), as far as it was captured: so many octets of its end were not.
#[must_use]
pub fn is_of_records(bytes: &[u8], missing: u64) -> bool {
    let mut rest = bytes;
    while is_datagram_header(rest) {
        // The length of a record with a connection ID is behind that, which the handshake has agreed on (RFC 9146, 4).
        if rest.first() == Some(&RECORD_WITH_ID) {
            return true;
        }
        let length = u16_be_at(rest, DATAGRAM_HEADER_OCTETS - 2).map(usize::from);
        let behind = length.and_then(|length| rest.get(DATAGRAM_HEADER_OCTETS + length..));
        match behind {
            Some([]) => return true,
            Some(behind) => rest = behind,
            None => return missing > 0,
        }
    }
    // The header of a further record may be cut, too.
    missing > 0 && rest.len() < 3 && rest.len() < bytes.len()
}

/// The content type of a record with a connection ID.
const RECORD_WITH_ID: u8 = 25;
/// Octets of the header of a record of DTLS.
const DATAGRAM_HEADER_OCTETS: usize = 13;

/// True for the header of a record of DTLS 1.0, 1.2, or what OpenSSL had for 1.0 before there was an RFC.
const fn is_datagram_header(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [20..=25, 0xfe, 0xfd | 0xff, ..] | [20..=25, 1, 0, ..]
    )
}

impl Datagrams {
    pub(super) fn held(&self) -> usize {
        let fragments = self
            .begun
            .iter()
            .flat_map(|message| message.fragments.values());
        fragments.map(Vec::capacity).sum()
    }

    /// Whether a message did not come, or a part of one, in front of others that came, or was not captured to its end.
    pub(super) fn lacks_messages(&self) -> bool {
        let mut begun = self.begun.iter().map(|message| message.name.0);
        self.is_cut || has_hole(&self.whole) || begun.any(|number| !self.whole.contains(&number))
    }

    /// Whether a record in clear did not come in front of others that came. What it had may have been sent again.
    pub(super) fn lacks_records(&self) -> bool {
        has_hole(&self.clear)
    }

    /// The first octets of the body of a client's hello that came in part.
    pub(super) fn begun_hello(&self) -> Option<Vec<u8>> {
        let mut begun = self.begun.iter();
        begun
            .find(|message| message.name.1 == 1)
            .map(BegunMessage::beginning)
    }

    /// Reads a datagram (RFC 6347, 4.1 and 4.2.2).
    pub(super) fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(RecordPart<'_>)) {
        let mut rest = bytes;
        while let [kind, _, _, epoch_high, epoch_low, ..] = rest
            && is_datagram_header(rest)
        {
            let is_clear = [*epoch_high, *epoch_low] == [0, 0];
            let number = u16_be_at(rest, 5).zip(u32_be_at(rest, 7));
            if let Some((high, low)) = number.filter(|_| is_clear)
                && self.clear.len() < NUMBERS_MAX
            {
                self.clear.insert(u64::from(high) << 32 | u64::from(low));
            }
            let Some(length) = u16_be_at(rest, 11) else {
                return;
            };
            let end = 13 + usize::from(length);
            let Some(body) = rest.get(13..end) else {
                if *kind == 22 && is_clear {
                    self.cut_record(rest.get(13..).unwrap_or_default(), each);
                }
                return;
            };
            match (kind, is_clear) {
                (20, _) => each(RecordPart::ChangeCipherSpec),
                (21, true) => {
                    if let [level, description] = body {
                        each(RecordPart::Alert(*level, *description));
                    }
                }
                (22, true) => {
                    self.messages(body, each);
                }
                _ => each(RecordPart::Data(*kind)),
            }
            rest = rest.get(end..).unwrap_or_default();
        }
        // What DTLS 1.3 encrypts has another header (RFC 9147, 4).
        if matches!(rest, [0x20..=0x3f, ..]) {
            each(RecordPart::Data(0));
        }
    }

    /// The fragments of messages in a record whose end was not captured: of a client's hello, what is there.
    fn cut_record(&mut self, body: &[u8], each: &mut dyn FnMut(RecordPart<'_>)) {
        self.is_cut = true;
        let rest = self.messages(body, each);
        let is_of_hello = rest.first() == Some(&1) && u24_be_at(rest, 6) == Some(0);
        if let Some(hello) = rest.get(12..).filter(|_| is_of_hello) {
            each(RecordPart::CutHello(hello));
        }
    }

    /// The fragments of messages in a record. Returns what is behind the last whole one.
    fn messages<'b>(&mut self, body: &'b [u8], each: &mut dyn FnMut(RecordPart<'_>)) -> &'b [u8] {
        let mut rest = body;
        while let (Some(kind), Some(length), Some(number), Some(offset), Some(there)) = (
            rest.first(),
            u24_be_at(rest, 1),
            u16_be_at(rest, 4),
            u24_be_at(rest, 6),
            u24_be_at(rest, 9),
        ) {
            let (length, offset, there) = (length as usize, offset as usize, there as usize);
            let Some(octets) = rest.get(12..12 + there) else {
                return rest;
            };
            rest = rest.get(12 + there..).unwrap_or_default();
            if length > HANDSHAKE_OCTETS_MAX {
                self.note_whole(number);
                each(RecordPart::TooLong);
                continue;
            }
            if offset == 0 && there == length {
                self.note_whole(number);
                each(RecordPart::Handshake(*kind, octets));
                continue;
            }
            if let Some(message) = self.fragment((number, *kind, length), offset, octets) {
                self.note_whole(number);
                each(RecordPart::Handshake(*kind, &message));
            }
        }
        rest
    }

    fn note_whole(&mut self, number: u16) {
        if self.whole.len() < NUMBERS_MAX {
            self.whole.insert(number);
        }
    }

    /// Begins a message; returns its place.
    fn begin(&mut self, name: (u16, u8, usize)) -> usize {
        if self.begun.len() >= BEGUN_MAX {
            self.begun.remove(0);
        }
        let fragments = BTreeMap::new();
        self.begun.push(BegunMessage { name, fragments });
        self.begun.len() - 1
    }

    /// Stores a fragment; those of one message come in any order, and may overlap (RFC 6347, 4.2.3). Gives the message when all
    /// of it is there.
    fn fragment(
        &mut self,
        name: (u16, u8, usize),
        offset: usize,
        octets: &[u8],
    ) -> Option<Vec<u8>> {
        let known = self.begun.iter().position(|message| message.name == name);
        let at = known.unwrap_or_else(|| self.begin(name));
        let begun = self.begun.get_mut(at)?;
        let is_inside = offset.saturating_add(octets.len()) <= name.2;
        if octets.is_empty() || !is_inside || begun.fragments.len() >= FRAGMENTS_MAX {
            return None;
        }
        let known = begun.fragments.entry(offset).or_default();
        if known.len() < octets.len() {
            *known = octets.to_vec();
        }
        let message = begun.put_together()?;
        self.begun.remove(at);
        Some(message)
    }
}

/// Whether a number between the first and the last one is missing.
fn has_hole<T: Ord + Copy + Into<u64>>(numbers: &BTreeSet<T>) -> bool {
    let ends = numbers.first().zip(numbers.last());
    ends.is_some_and(|(first, last)| {
        let (first, last): (u64, u64) = ((*first).into(), (*last).into());
        last.saturating_sub(first) >= numbers.len() as u64
    })
}

impl BegunMessage {
    /// The octets in front of the first one that did not come.
    fn beginning(&self) -> Vec<u8> {
        let mut message: Vec<u8> = Vec::new();
        for (offset, octets) in &self.fragments {
            let Some(known) = message.len().checked_sub(*offset) else {
                break;
            };
            message.extend_from_slice(octets.get(known..).unwrap_or_default());
        }
        message
    }

    /// The message, when all of it is there.
    fn put_together(&self) -> Option<Vec<u8>> {
        let (_, _, length) = self.name;
        let mut end = 0;
        for (offset, octets) in &self.fragments {
            if *offset > end {
                return None;
            }
            end = end.max(offset + octets.len());
        }
        if end < length {
            return None;
        }
        let mut message = Vec::with_capacity(length);
        for (offset, octets) in &self.fragments {
            let known = message.len().saturating_sub(*offset);
            message.extend_from_slice(octets.get(known..).unwrap_or_default());
        }
        Some(message)
    }
}
