//! A line of the text draft that is composed before it is known whether anything in it has to be escaped.

use crate::decimal::push_decimal;
use crate::forms::copy::copy_field;
use crate::forms::escape::has_none_below;
use crate::optional::Optionals;
use crate::record::{ABSENT, Field, Record, present};

/// The buffer for a line, which is reused for each record.
#[derive(Debug)]
pub(crate) struct Line {
    bytes: Box<[u8; LINE_BYTES]>,
    /// The second with whose digits the line begins.
    second: u64,
    /// The offset of the first word after them.
    begin: usize,
}

/// The number of bytes of the longest line that is composed in this way.
const LINE_BYTES: usize = 2048;
/// The number of words of the longest line, without its time.
const WORDS: usize = 10;

/// A value, and a tag or [`ABSENT`].
type Word<'a> = (&'a [u8], &'a [u8]);

impl Default for Line {
    fn default() -> Self {
        let mut bytes = Box::new([0; LINE_BYTES]);
        bytes[..2].copy_from_slice(b"0 ");
        Self {
            bytes,
            second: 0,
            begin: 2,
        }
    }
}

impl Line {
    /// The line of a request. `None` when a word has to be escaped, the Contact is not plain, or the line is long.
    pub(crate) fn request(
        &mut self,
        record: &Record<'_>,
        host: &[u8],
        method: &[u8],
    ) -> Option<&[u8]> {
        let of = |field: Field| (record.field(field), ABSENT);
        let before = [
            (host, ABSENT),
            (record.user, ABSENT),
            (method, ABSENT),
            of(Field::RequestUri),
            (record.field(Field::FromUri), record.field(Field::FromTag)),
            (record.field(Field::ToUri), record.field(Field::ToTag)),
            of(Field::CallId),
        ];
        let after = [of(Field::ServerTxn), of(Field::ClientTxn)];
        self.write(record, &before, &after)
    }

    /// Composes the line of a response, as [`Line::request`].
    pub(crate) fn response(&mut self, record: &Record<'_>, method: &[u8]) -> Option<&[u8]> {
        let of = |field: Field| (record.field(field), ABSENT);
        let before = [
            of(Field::ServerTxn),
            of(Field::ClientTxn),
            of(Field::Status),
            (method, ABSENT),
            (record.field(Field::ToUri), record.field(Field::ToTag)),
        ];
        self.write(record, &before, &[])
    }

    #[inline]
    fn write(
        &mut self,
        record: &Record<'_>,
        before: &[Word<'_>],
        after: &[Word<'_>],
    ) -> Option<&[u8]> {
        let contact = plain_contact(record.optional)?;
        if record.time.seconds != self.second {
            self.begin_with(record.time.seconds);
        }
        let begin = self.begin;
        let mut pen = Pen {
            bytes: &mut *self.bytes,
            at: begin,
            plain: true,
        };
        let mut ends = [begin; WORDS];
        let mut places = ends.iter_mut();
        for (word, place) in before.iter().zip(&mut places) {
            *place = pen.word(word);
        }
        if let Some(place) = places.next() {
            *place = pen.contact(contact);
        }
        for (word, place) in after.iter().zip(&mut places) {
            *place = pen.word(word);
        }
        let (plain, end) = (pen.plain, pen.at.checked_sub(1)?);
        if !plain || !has_none_below::<b'!'>(self.bytes.get(begin..end)?) {
            return None;
        }
        // Spaces among the words would be found, and come last.
        let words = before.len().saturating_add(after.len());
        for &end in ends.iter().take(words) {
            *self.bytes.get_mut(end)? = b' ';
        }
        let stop = end.checked_add(2)?;
        self.bytes.get_mut(end..stop)?.copy_from_slice(b"\r\n");
        self.bytes.get(..stop)
    }

    /// Writes the digits of a second. Most records are of the same second as the one before.
    #[cold]
    fn begin_with(&mut self, second: u64) {
        let mut digits = Vec::with_capacity(21);
        push_decimal(second, 1, &mut digits);
        digits.push(b' ');
        for (place, digit) in self.bytes.iter_mut().zip(&digits) {
            *place = *digit;
        }
        (self.second, self.begin) = (second, digits.len());
    }
}

/// Writes words one behind the other.
struct Pen<'a> {
    bytes: &'a mut [u8],
    at: usize,
    /// True while all written words fit, and no word can be mistaken for something else.
    plain: bool,
}

impl Pen<'_> {
    /// Writes a word and returns the offset of its separator, for which a `-` stands.
    #[inline(always)]
    fn word(&mut self, (value, tag): &Word<'_>) -> usize {
        self.plain &= stands_alone(value);
        self.value(value);
        if let Some(tag) = present(tag) {
            self.plain &= stands_alone(tag);
            let at = self.at.wrapping_sub(1);
            let place = self.bytes.get_mut(at..).unwrap_or_default();
            if let Some(place) = place.first_chunk_mut() {
                *place = *b";tag=";
            }
            self.at = at.wrapping_add(5);
            self.value(tag);
        }
        self.at.wrapping_sub(1)
    }

    /// Writes the Contact in quotes, or the absent one.
    #[inline(always)]
    fn contact(&mut self, contact: Option<&[u8]>) -> usize {
        let Some(contact) = contact else {
            self.value(b"\"-\"");
            return self.at.wrapping_sub(1);
        };
        // An empty value would be written as absent; a Contact of several bytes is not empty.
        self.value(b"\"");
        self.at = self.at.wrapping_sub(1);
        self.value(contact);
        self.at = self.at.wrapping_sub(1);
        self.value(b"\"");
        self.at.wrapping_sub(1)
    }

    #[inline(always)]
    fn value(&mut self, value: &[u8]) {
        let next = copy_field(self.bytes, self.at, value, b'-');
        self.plain &= next > self.at;
        self.at = next;
    }
}

/// Returns whether a word cannot be mistaken for an unparsable one, an earlier one, an extension or a quoted one.
#[inline(always)]
const fn stands_alone(value: &[u8]) -> bool {
    !matches!(value, [b'"', ..] | b"?" | b"+" | b"--")
}

/// The Contact that is the only optional field, when it is written as it is; `Some(None)` when there is no optional
/// field.
#[inline]
fn plain_contact(optional: Optionals<'_>) -> Option<Option<&[u8]>> {
    if optional.is_empty() {
        return Some(None);
    }
    let mut fields = optional.iter();
    let field = fields.next().filter(|field| !field.base64)?;
    let contact = field.contact().filter(|contact| contact.len() > 1)?;
    let plain = memchr::memchr3(b'"', b'\\', b'%', contact).is_none();
    (plain && fields.next().is_none()).then_some(Some(contact))
}
