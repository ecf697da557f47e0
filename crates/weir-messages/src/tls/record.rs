//! Records of a stream (RFC 8446, 5.1) and the messages of the handshake in them.

use weir_bytes::{u16_be_at, u24_be_at};

use super::session::HANDSHAKE_OCTETS_MAX;

/// When something came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Time in nanoseconds.
    pub time_ns: Option<i64>,
    /// Number of the record of the capture.
    pub frame: u64,
}

/// What a record or a message carries.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'p> {
    /// A whole message of the handshake.
    Handshake(u8, &'p [u8]),
    /// A hello in the form of SSL 2.
    Ssl2Hello(&'p [u8]),
    /// Level and description.
    Alert(u8, u8),
    /// What follows in this direction is private.
    ChangeCipherSpec,
    /// Private data.
    Data,
    /// A message that was too long.
    TooLong,
}

/// Octets of a record, at most: 2^14, and what encryption adds.
const RECORD_OCTETS_MAX: usize = (1 << 14) + 2_048;
const HEADER_OCTETS: usize = 5;

/// True when a stream begins with a hello, of a client or of a server.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    if ssl2_hello(bytes).is_some() {
        return true;
    }
    let is_record = matches!(bytes, [22, 3, 0..=4, _, _, 1 | 2, 0, ..]);
    let length = u16_be_at(bytes, 3).map_or(0, usize::from);
    // A hello has a version, 32 random octets, a session and a suite, at least.
    is_record
        && (42..=RECORD_OCTETS_MAX).contains(&length)
        && u24_be_at(bytes, 6).is_some_and(|length| length >= 38)
}

/// The hello in the form of SSL 2 that a stream begins with, when all of it is there (RFC 5246, E.2). Its lengths
/// agree, and it asks for SSL 3 or later.
fn ssl2_hello(bytes: &[u8]) -> Option<&[u8]> {
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

/// One direction of a stream.
#[derive(Debug, Default)]
pub(super) struct Direction {
    /// A record whose end did not come yet.
    begun: Vec<u8>,
    /// Messages whose end did not come yet.
    handshake: Vec<u8>,
    /// Octets of a message that is passed over.
    passing: usize,
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

    /// Octets are missing.
    pub(super) fn gap(&mut self) {
        self.begun = Vec::new();
        self.handshake = Vec::new();
        self.passing = 0;
        self.is_lost = true;
    }

    /// Takes the next octets; false when they are no records.
    pub(super) fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(&mut Self, Part<'_>)) -> bool {
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
        each: &mut dyn FnMut(&mut Self, Part<'_>),
    ) -> Option<usize> {
        let mut at = 0;
        if !std::mem::replace(&mut self.has_begun, true)
            && let Some(hello) = ssl2_hello(bytes)
        {
            each(self, Part::Ssl2Hello(hello));
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

    fn record(&mut self, kind: u8, body: &[u8], each: &mut dyn FnMut(&mut Self, Part<'_>)) {
        match kind {
            20 => each(self, Part::ChangeCipherSpec),
            21 if !self.is_private => {
                if let [level, description] = body {
                    each(self, Part::Alert(*level, *description));
                }
            }
            22 if !self.is_private => self.messages(body, each),
            22 | 23 => each(self, Part::Data),
            _ => {}
        }
    }

    /// The messages that a record completes.
    fn messages(&mut self, body: &[u8], each: &mut dyn FnMut(&mut Self, Part<'_>)) {
        let passed = self.passing.min(body.len());
        self.passing -= passed;
        let mut all = std::mem::take(&mut self.handshake);
        all.extend_from_slice(body.get(passed..).unwrap_or_default());
        let mut at = 0;
        while let Some([kind, a, b, c, after @ ..]) = all.get(at..) {
            let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
            if length > HANDSHAKE_OCTETS_MAX {
                each(self, Part::TooLong);
                let there = length.min(after.len());
                self.passing = length - there;
                at += 4 + there;
                continue;
            }
            let Some(message) = after.get(..length) else {
                break;
            };
            each(self, Part::Handshake(*kind, message));
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
    /// The message under way: its number, its type, its length and what is there of it.
    begun: Option<(u16, u8, usize)>,
    octets: Vec<u8>,
}

/// True when a datagram begins with a hello of DTLS, of a client or of a server.
#[must_use]
pub fn begins_datagram(bytes: &[u8]) -> bool {
    matches!(
        bytes,
        [
            22,
            0xfe,
            0xfd | 0xff,
            0,
            0,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            1..=3,
            0,
            ..
        ]
    )
}

impl Datagrams {
    pub(super) fn held(&self) -> usize {
        self.octets.capacity()
    }

    /// Takes a datagram (RFC 6347, 4.1 and 4.2.2).
    pub(super) fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(Part<'_>)) {
        let mut rest = bytes;
        while let [kind, 0xfe, 0xfd | 0xff, epoch_high, epoch_low, ..] = rest {
            let is_clear = [*epoch_high, *epoch_low] == [0, 0];
            let Some(length) = u16_be_at(rest, 11) else {
                return;
            };
            let end = 13 + usize::from(length);
            let Some(body) = rest.get(13..end) else {
                return;
            };
            match (kind, is_clear) {
                (20, _) => each(Part::ChangeCipherSpec),
                (21, true) => {
                    if let [level, description] = body {
                        each(Part::Alert(*level, *description));
                    }
                }
                (22, true) => self.fragments(body, each),
                _ => each(Part::Data),
            }
            rest = rest.get(end..).unwrap_or_default();
        }
    }

    /// The fragments of messages in a record. Those that come in another order are passed over.
    fn fragments(&mut self, body: &[u8], each: &mut dyn FnMut(Part<'_>)) {
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
                return;
            };
            rest = rest.get(12 + there..).unwrap_or_default();
            if length > HANDSHAKE_OCTETS_MAX {
                each(Part::TooLong);
                continue;
            }
            if offset == 0 && there == length {
                each(Part::Handshake(*kind, octets));
                continue;
            }
            if offset == 0 {
                self.begun = Some((number, *kind, length));
                self.octets.clear();
            }
            if self.begun == Some((number, *kind, length)) && offset == self.octets.len() {
                self.octets.extend_from_slice(octets);
                if self.octets.len() == length {
                    each(Part::Handshake(*kind, &self.octets));
                    self.begun = None;
                    self.octets = Vec::new();
                }
            }
        }
    }
}
