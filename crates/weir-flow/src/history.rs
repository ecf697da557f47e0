//! Zeek's history of a connection: a letter for each kind of packet, in the order of their coming.
//!
//! Upper case is the originator's, lower case the responder's.

use std::fmt;

/// The event of a letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Event {
    /// A SYN without ACK.
    Syn,
    /// A SYN with ACK.
    Handshake,
    /// An ACK without data.
    Ack,
    /// Data.
    Data,
    Fin,
    Reset,
    /// A wrong checksum.
    Checksum,
    /// Bytes that were acknowledged and never seen.
    Gap,
    /// Data that do not go beyond what was seen before.
    Retransmission,
    ZeroWindow,
    /// FIN and RST in one.
    Inconsistent,
    /// SYN with FIN or RST.
    MultiFlag,
    /// The direction was turned round.
    Flip,
}

const LETTERS: &[u8; 13] = b"SHADFRCGTWIQ^";

/// The first letters, five bits each and four for their number, as a flow holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct First(u64);

/// The letters after those, five bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct More(u128);

impl First {
    const MAX: u64 = 12;
    const COUNT_SHIFT: u32 = 60;

    /// Adds a letter; false when there is no room.
    #[inline]
    pub(crate) fn push(&mut self, event: Event, from_responder: bool) -> bool {
        let count = self.0 >> Self::COUNT_SHIFT;
        if count >= Self::MAX {
            return false;
        }
        self.0 |= (event as u64 | u64::from(from_responder) << 4) << (count * 5);
        self.0 += 1 << Self::COUNT_SHIFT;
        true
    }

    /// Whether the history is this letter of the originator only.
    #[inline]
    pub(crate) const fn is_only(self, event: Event) -> bool {
        self.0 == event as u64 | 1 << Self::COUNT_SHIFT
    }
}

impl More {
    const MAX: u128 = 24;
    const COUNT_SHIFT: u32 = 120;

    /// Adds a letter; beyond the limit, remembers only that there was one more.
    pub(crate) fn push(&mut self, event: Event, from_responder: bool) {
        let count = self.0 >> Self::COUNT_SHIFT;
        if count < Self::MAX {
            let code = event as u128 | u128::from(from_responder) << 4;
            self.0 |= code << (count * 5);
        }
        if count <= Self::MAX {
            self.0 += 1 << Self::COUNT_SHIFT;
        }
    }
}

/// A history as text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct History {
    letters: [u8; Self::LETTERS_MAX + 1],
    len: u8,
}

impl History {
    /// Letters that are kept. Where there were more, a `+` follows the last one.
    pub const LETTERS_MAX: usize = (First::MAX as usize) + (More::MAX as usize);

    pub(crate) fn new(first: First, more: More) -> Self {
        let mut history = Self {
            letters: [0; Self::LETTERS_MAX + 1],
            len: 0,
        };
        for index in 0..first.0 >> First::COUNT_SHIFT {
            history.add(letter((first.0 >> (index * 5)) as u8));
        }
        let count = more.0 >> More::COUNT_SHIFT;
        for index in 0..count.min(More::MAX) {
            history.add(letter((more.0 >> (index * 5)) as u8));
        }
        if count > More::MAX {
            history.add(b'+');
        }
        history
    }

    fn add(&mut self, letter: u8) {
        if let Some(place) = self.letters.get_mut(usize::from(self.len)) {
            *place = letter;
            self.len += 1;
        }
    }

    /// The letters; empty for flows of protocols without any.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let letters = self.letters.get(..usize::from(self.len));
        letters
            .and_then(|letters| std::str::from_utf8(letters).ok())
            .unwrap_or_default()
    }
}

fn letter(code: u8) -> u8 {
    let letter = LETTERS.get(usize::from(code & 15)).copied().unwrap_or(b'?');
    if code & 16 != 0 {
        letter.to_ascii_lowercase()
    } else {
        letter
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_come_back_in_order_and_end_with_a_plus() {
        let (mut first, mut more) = (First::default(), More::default());
        let mut expected = String::new();
        for number in 0..40 {
            let (event, name, responder) = match number % 3 {
                0 => (Event::Syn, 'S', false),
                1 => (Event::Flip, '^', true),
                _ => (Event::Retransmission, 't', true),
            };
            if !first.push(event, responder) {
                more.push(event, responder);
            }
            if number < History::LETTERS_MAX {
                expected.push(name);
                assert_eq!(History::new(first, more).as_str(), expected);
            } else {
                assert_eq!(History::new(first, more).as_str(), expected.clone() + "+");
            }
        }
    }
}
