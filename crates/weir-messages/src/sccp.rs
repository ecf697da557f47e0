//! SCCP (ITU-T Q.713): one message, with the addresses of both parties.

use std::collections::{HashMap, VecDeque};

use weir_bytes::{array_at, u8_at, u16_le_at};

/// A message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SccpMessage<'m> {
    /// The type: 9 unitdata, 17 extended unitdata, ….
    pub kind: u8,
    /// Class of the protocol: 0 and 1 without, 2 and 3 with connections.
    pub class: Option<u8>,
    /// The handling of messages that cannot be delivered: 8 returns them.
    pub handling: Option<u8>,
    /// Number that the sender gave a connection.
    pub source_reference: Option<u32>,
    /// Number that the receiver gave a connection.
    pub destination_reference: Option<u32>,
    /// The reason why a message came back, or a connection was refused, released, reset or wrong.
    pub cause: Option<u8>,
    /// The remaining number of relays.
    pub hops: Option<u8>,
    /// The called party address: the receiver.
    pub called: Option<Party<'m>>,
    /// The calling party address: the sender.
    pub calling: Option<Party<'m>>,
    /// The segment of a longer message.
    pub segment: Option<Segment>,
    /// The data.
    pub data: Option<&'m [u8]>,
}

/// The parts of a longer message (Q.713, 3.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The segment is the first one.
    pub is_first: bool,
    /// Parts that are still to come.
    pub remaining: u8,
    /// Number that the parts share.
    pub reference: u32,
}

/// An address (Q.713, 3.4 and 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party<'m> {
    /// The message is routed by its subsystem; otherwise by its global title.
    pub by_subsystem: bool,
    /// Form of the global title: 0 none, 4 the one between countries.
    pub title_form: u8,
    /// Point code.
    pub point_code: Option<u16>,
    /// Subsystem: 6 HLR, 7 VLR, 8 MSC, 146 CAP, ….
    pub subsystem: Option<u8>,
    /// Translation type of the global title.
    pub translation: Option<u8>,
    /// Numbering plan of the global title: 1 telephone numbers, ….
    pub plan: Option<u8>,
    /// Encoding of its digits: 1 odd, 2 even.
    pub encoding: Option<u8>,
    /// Nature of the address: 3 national, 4 international, ….
    pub nature: Option<u8>,
    is_odd: bool,
    digits: &'m [u8],
}

impl<'m> Party<'m> {
    fn new(bytes: &'m [u8]) -> Option<Self> {
        let indicator = u8_at(bytes, 0)?;
        let mut at = 1;
        let point_code = (indicator & 1 != 0).then(|| u16_le_at(bytes, at));
        at += if point_code.is_some() { 2 } else { 0 };
        let subsystem = (indicator & 2 != 0).then(|| u8_at(bytes, at));
        at += usize::from(subsystem.is_some());
        let mut party = Self {
            by_subsystem: indicator & 0x40 != 0,
            title_form: indicator >> 2 & 0xf,
            point_code: point_code.flatten().map(|code| code & 0x3fff),
            subsystem: subsystem.flatten(),
            translation: None,
            plan: None,
            encoding: None,
            nature: None,
            is_odd: false,
            digits: &[],
        };
        let title = bytes.get(at..).unwrap_or_default();
        let nature = |at| u8_at(title, at).map(|octet| octet & 0x7f);
        let skip = match party.title_form {
            1 => {
                party.nature = nature(0);
                party.is_odd = u8_at(title, 0).is_some_and(|octet| octet & 0x80 != 0);
                1
            }
            2 => {
                party.translation = u8_at(title, 0);
                1
            }
            form @ (3 | 4) => {
                party.translation = u8_at(title, 0);
                party.plan = u8_at(title, 1).map(|octet| octet >> 4);
                party.encoding = u8_at(title, 1).map(|octet| octet & 0xf);
                party.is_odd = party.encoding == Some(1);
                party.nature = nature(2).filter(|_| form == 4);
                usize::from(form) - 1
            }
            _ => title.len(),
        };
        party.digits = title.get(skip..).unwrap_or_default();
        Some(party)
    }

    /// The digits of the global title; `None` where it has none, or in a form that only a network knows.
    #[must_use]
    pub fn digits(&self) -> Option<String> {
        if self.digits.is_empty() || matches!(self.encoding, Some(0 | 3..)) {
            return None;
        }
        let halves = self
            .digits
            .iter()
            .flat_map(|octet| [octet & 0xf, octet >> 4]);
        let count = self.digits.len() * 2 - usize::from(self.is_odd);
        let digit = |half: u8| char::from_digit(half.into(), 16).unwrap_or('?');
        let text: String = halves.take(count).map(digit).collect();
        Some(text.to_ascii_uppercase())
    }
}

/// Optional parameters of a message that are read.
const OPTIONS_MAX: usize = 64;

impl<'m> SccpMessage<'m> {
    /// Reads a message as far as it goes; `None` when it is empty or its type is not assigned.
    #[must_use]
    pub fn new(bytes: &'m [u8]) -> Option<Self> {
        let kind = u8_at(bytes, 0)?;
        kind_word(kind)?;
        let mut message = Self {
            kind,
            ..Self::default()
        };
        message.read(bytes);
        Some(message)
    }

    fn read(&mut self, bytes: &'m [u8]) -> Option<()> {
        let reference = |at| u24(bytes, at);
        match self.kind {
            // Connection-oriented messages: the references of the connection, then the parameters of the type.
            1 => {
                self.source_reference = reference(1);
                self.classed(u8_at(bytes, 4)?);
                self.called = party(bytes, 5);
                self.options(bytes, 6);
            }
            2 => {
                self.destination_reference = reference(1);
                self.source_reference = reference(4);
                self.classed(u8_at(bytes, 7)?);
                self.options(bytes, 8);
            }
            3 | 15 => {
                self.destination_reference = reference(1);
                self.cause = u8_at(bytes, 4);
                if self.kind == 3 {
                    self.options(bytes, 5);
                }
            }
            4 | 5 | 13 | 14 | 16 => {
                self.destination_reference = reference(1);
                self.source_reference = reference(4);
                match self.kind {
                    4 => {
                        self.cause = u8_at(bytes, 7);
                        self.options(bytes, 8);
                    }
                    13 => self.cause = u8_at(bytes, 7),
                    16 => self.classed(u8_at(bytes, 7)?),
                    _ => {}
                }
            }
            6..=8 | 11 | 12 => {
                self.destination_reference = reference(1);
                self.data = match self.kind {
                    6 => variable(bytes, 5),
                    7 => variable(bytes, 6),
                    11 => variable(bytes, 4),
                    _ => None,
                };
            }
            // The message belongs to no connection.
            9 | 10 => {
                self.classed_or_returned(u8_at(bytes, 1)?);
                self.called = party(bytes, 2);
                self.calling = party(bytes, 3);
                self.data = variable(bytes, 4);
            }
            17 | 18 => {
                self.classed_or_returned(u8_at(bytes, 1)?);
                self.hops = u8_at(bytes, 2);
                self.called = party(bytes, 3);
                self.calling = party(bytes, 4);
                self.data = variable(bytes, 5);
                self.options(bytes, 6);
            }
            19 | 20 => {
                self.classed_or_returned(u8_at(bytes, 1)?);
                self.hops = u8_at(bytes, 2);
                self.called = long(bytes, 3, false).and_then(Party::new);
                self.calling = long(bytes, 5, false).and_then(Party::new);
                self.data = long(bytes, 7, true);
                let pointer = usize::from(u16_le_at(bytes, 9)?);
                if pointer > 0 {
                    self.optional(bytes.get(10 + pointer..)?);
                }
            }
            _ => {}
        }
        Some(())
    }

    /// Class and handling; the latter of class 0 and 1 only.
    fn classed(&mut self, octet: u8) {
        self.class = Some(octet & 0xf);
        self.handling = Some(octet >> 4).filter(|_| octet & 0xf < 2);
    }

    fn classed_or_returned(&mut self, octet: u8) {
        match self.kind {
            10 | 18 | 20 => self.cause = Some(octet),
            _ => self.classed(octet),
        }
    }

    /// The optional part that a pointer at this place leads to.
    fn options(&mut self, bytes: &'m [u8], at: usize) -> Option<()> {
        let pointer = usize::from(u8_at(bytes, at)?);
        if pointer > 0 {
            self.optional(bytes.get(at + pointer..)?);
        }
        Some(())
    }

    fn optional(&mut self, mut bytes: &'m [u8]) -> Option<()> {
        for _ in 0..OPTIONS_MAX {
            let name = u8_at(bytes, 0)?;
            if name == 0 {
                break;
            }
            let length = usize::from(u8_at(bytes, 1)?);
            let value = bytes.get(2..2 + length)?;
            match name {
                0x03 => self.called = Party::new(value),
                0x04 => self.calling = Party::new(value),
                0x0f => self.data = Some(value),
                0x10 => {
                    let first = u8_at(value, 0)?;
                    self.segment = Some(Segment {
                        is_first: first & 0x80 != 0,
                        remaining: first & 0xf,
                        reference: u24(value, 1)?,
                    });
                }
                0x11 => self.hops = u8_at(value, 0),
                _ => {}
            }
            bytes = bytes.get(2 + length..)?;
        }
        Some(())
    }
}

/// The variable parameter that a pointer at this place leads to.
fn variable(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let place = at + usize::from(u8_at(bytes, at)?);
    let length = usize::from(u8_at(bytes, place)?);
    bytes.get(place + 1..place + 1 + length)
}

fn party(bytes: &[u8], at: usize) -> Option<Party<'_>> {
    variable(bytes, at).and_then(Party::new)
}

/// The same of long messages (Q.713, 2.3): pointers of two octets count from their second one.
fn long(bytes: &[u8], at: usize, is_data: bool) -> Option<&[u8]> {
    let place = at + 1 + usize::from(u16_le_at(bytes, at)?);
    let (length, begin) = match is_data {
        true => (u16_le_at(bytes, place)?, place + 2),
        false => (u8_at(bytes, place)?.into(), place + 1),
    };
    bytes.get(begin..begin + usize::from(length))
}

fn u24(bytes: &[u8], at: usize) -> Option<u32> {
    let [low, middle, high] = array_at(bytes, at)?;
    Some(u32::from_le_bytes([low, middle, high, 0]))
}

/// The name of a type of messages (Q.713, table 1).
#[must_use]
pub const fn kind_word(kind: u8) -> Option<&'static str> {
    Some(match kind {
        1 => "CR",
        2 => "CC",
        3 => "CREF",
        4 => "RLSD",
        5 => "RLC",
        6 => "DT1",
        7 => "DT2",
        8 => "AK",
        9 => "UDT",
        10 => "UDTS",
        11 => "ED",
        12 => "EA",
        13 => "RSR",
        14 => "RSC",
        15 => "ERR",
        16 => "IT",
        17 => "XUDT",
        18 => "XUDTS",
        19 => "LUDT",
        20 => "LUDTS",
        _ => return None,
    })
}

/// Puts together what extended unitdata carry in parts.
///
/// Parts come in their order (Q.714, 4.1.1.2.3); one that does not is given up with those before it, and counted.
#[derive(Debug)]
pub struct Reassembly<K> {
    waiting: HashMap<K, IncompleteMessage>,
    /// The keys in the order in which messages began, including completed ones.
    order: VecDeque<(K, u64)>,
    begun: u64,
    whole: Vec<u8>,
    given_up: u64,
}

/// A message whose parts did not all come yet.
#[derive(Debug)]
struct IncompleteMessage {
    remaining: u8,
    bytes: Vec<u8>,
    number: u64,
    /// It was given up: its other parts are ignored.
    is_given_up: bool,
}

/// Messages in parts at one time. Each has 16 parts at most.
pub const PARTS_MAX: usize = 1 << 14;
/// Octets of a part that is put together with others.
const PART_OCTETS_MAX: usize = 255;

impl<K> Default for Reassembly<K> {
    fn default() -> Self {
        Self {
            waiting: HashMap::new(),
            order: VecDeque::new(),
            begun: 0,
            whole: Vec::new(),
            given_up: 0,
        }
    }
}

impl<K: Copy + Eq + std::hash::Hash> Reassembly<K> {
    /// Adds a message; returns its data once all segments are there. `key` distinguishes senders with the same segment reference.
    pub fn take<'p>(&'p mut self, key: K, message: &SccpMessage<'p>) -> Option<&'p [u8]> {
        let data = message.data?;
        let Some(segment) = message
            .segment
            .filter(|segment| !segment.is_first || segment.remaining > 0)
        else {
            return Some(data);
        };
        if data.len() > PART_OCTETS_MAX {
            self.given_up += 1;
            return None;
        }
        if segment.is_first {
            self.begin(key, segment.remaining, Some(data.to_vec()));
            return None;
        }
        // The part before it, or the first one, was not captured, or comes later.
        let goes_on = |waiting: &&mut IncompleteMessage| waiting.remaining == segment.remaining + 1;
        let Some(waiting) = self.waiting.get_mut(&key).filter(goes_on) else {
            match self.waiting.remove(&key) {
                Some(waiting) if waiting.is_given_up => {}
                _ => self.given_up += 1,
            }
            if segment.remaining > 0 {
                self.begin(key, segment.remaining, None);
            }
            return None;
        };
        waiting.remaining = segment.remaining;
        if !waiting.is_given_up {
            waiting.bytes.extend_from_slice(data);
        }
        if segment.remaining > 0 {
            return None;
        }
        let whole = self
            .waiting
            .remove(&key)
            .filter(|waiting| !waiting.is_given_up)?;
        self.whole = whole.bytes;
        Some(&self.whole)
    }

    /// Begins a message, without its first part where that is missing.
    fn begin(&mut self, key: K, remaining: u8, first: Option<Vec<u8>>) {
        self.begun += 1;
        let number = self.begun;
        let waiting = IncompleteMessage {
            remaining,
            is_given_up: first.is_none(),
            bytes: first.unwrap_or_default(),
            number,
        };
        self.forget_begun(key);
        self.waiting.insert(key, waiting);
        self.order.push_back((key, number));
        if self.order.len() > PARTS_MAX
            && let Some((oldest, number)) = self.order.pop_front()
            && self
                .waiting
                .get(&oldest)
                .is_some_and(|waiting| waiting.number == number)
        {
            self.forget_begun(oldest);
        }
    }

    /// Gives up a message that has begun, and counts it.
    fn forget_begun(&mut self, key: K) {
        let begun = self.waiting.remove(&key);
        let is_counted = begun.is_some_and(|waiting| !waiting.is_given_up);
        self.given_up += u64::from(is_counted);
    }

    /// Messages that were given up, with those that wait for parts.
    #[must_use]
    pub fn given_up(&self) -> u64 {
        let waiting = self.waiting.values().filter(|waiting| !waiting.is_given_up);
        self.given_up.saturating_add(waiting.count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TITLE: &[u8] = b"\x0b\x12\x06\0\x11\x04\x94\x71\x01\x21\x43\x05";

    fn unitdata(data: &[u8]) -> Vec<u8> {
        let own = b"\x04\x43\x01\x04\x08";
        let calling = 2 + TITLE.len() as u8;
        let mut bytes = vec![9, 0x81, 3, calling, calling - 1 + own.len() as u8];
        bytes.extend(TITLE);
        bytes.extend(own);
        bytes.push(data.len() as u8);
        bytes.extend(data);
        bytes
    }

    #[test]
    fn unitdata_is_read() {
        let bytes = unitdata(b"tcap");
        let message = SccpMessage::new(&bytes).unwrap();
        assert_eq!(
            (message.class, message.handling, message.data),
            (Some(1), Some(8), Some(&b"tcap"[..]))
        );
        let called = message.called.unwrap();
        assert_eq!(
            (called.subsystem, called.title_form, called.by_subsystem),
            (Some(6), 4, false)
        );
        assert_eq!((called.plan, called.nature), (Some(1), Some(4)));
        assert_eq!(called.digits().unwrap(), "49171012345");
        let calling = message.calling.unwrap();
        assert_eq!(
            (calling.point_code, calling.subsystem, calling.digits()),
            (Some(0x401), Some(8), None)
        );
        assert!(calling.by_subsystem);
    }

    #[test]
    fn every_prefix_is_read_as_far_as_it_goes() {
        let bytes = unitdata(b"tcap");
        for end in 1..bytes.len() {
            assert_eq!(SccpMessage::new(&bytes[..end]).unwrap().data, None);
        }
        assert_eq!(SccpMessage::new(b""), None);
    }

    #[test]
    fn parts_are_put_together_in_their_order_only() {
        fn part(first: u8, data: &'static [u8]) -> SccpMessage<'static> {
            SccpMessage {
                kind: 17,
                segment: Some(Segment {
                    is_first: first & 0x80 != 0,
                    remaining: first & 0xf,
                    reference: 7,
                }),
                data: Some(data),
                ..SccpMessage::default()
            }
        }
        let mut parts = Reassembly::default();
        assert_eq!(parts.take(1, &part(0x82, b"a")), None);
        assert_eq!(parts.take(1, &part(0x01, b"b")), None);
        assert_eq!(parts.take(1, &part(0x00, b"c")), Some(&b"abc"[..]));
        assert_eq!(parts.take(1, &part(0x82, b"a")), None);
        assert_eq!(parts.take(1, &part(0x00, b"c")), None);
        assert_eq!(parts.given_up(), 1);
        for key in 0..2 * PARTS_MAX as u32 {
            assert_eq!(parts.take(key, &part(0x81, b"a")), None);
        }
        assert_eq!(parts.waiting.len(), PARTS_MAX);
        // Those that were begun first, and those that wait.
        assert_eq!(parts.given_up(), 1 + 2 * PARTS_MAX as u64);
        // Messages without their first part, without one between others, and without the last one: each counts once.
        for lost in [0_u8, 1, 2, 3] {
            let mut parts = Reassembly::default();
            for remaining in (0..4_u8).rev().filter(|remaining| *remaining != lost) {
                let first = if remaining == 3 { 0x83 } else { remaining };
                assert_eq!(parts.take(1, &part(first, b"a")), None);
            }
            assert_eq!(parts.given_up(), 1, "{lost}");
            assert_eq!(parts.take(2, &part(0x81, b"a")), None);
            assert_eq!(parts.take(2, &part(0x00, b"b")), Some(&b"ab"[..]));
        }
    }
}
