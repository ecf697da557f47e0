//! The fields of records: their positions, and the meaning of their bytes.

use std::str;

use super::expression::{EvalError, Expr, FieldScope};
use super::number::Number;
use super::time::Time;
use weir_packet::{Address, Value};

/// A field whose place is known or will be known when the record's steps have run.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: Box<str>,
    pub(super) meaning: Meaning,
    pub(super) place: FieldPlace,
    /// The group that must be present for the field to be; [`NONE`] for a field of every record.
    pub(super) group: u16,
    /// The number of steps after which the field can be read.
    pub(super) ready: u16,
    pub(super) equals: Option<Equals>,
    /// Index of its enumeration, or [`NONE`].
    pub(super) enumeration: u16,
}

/// No group, no kind, no enumeration.
pub(super) const NONE: u16 = u16::MAX;

/// The position of a field in its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FieldPlace {
    /// Always at the same bytes.
    Fixed { start: u32, len: u32 },
    /// Found while the record is decoded.
    Slot(u16),
}

/// The position of a field of variable position, as decoding has found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum FieldSlot {
    #[default]
    Absent,
    Span {
        start: u32,
        len: u32,
    },
    /// The value of a computed field.
    Number(i64),
}

/// The meaning of the bytes of a field.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Unsigned(Number),
    Signed(Number),
    Bool(Number),
    /// An IEEE 754 number of 32 or 64 bits.
    Float(Number),
    /// An address in network order.
    Address,
    /// An IPv4 address with its least significant byte first.
    Ipv4Reversed,
    Time(Time),
    Bytes(Option<Box<[u8]>>),
    Text {
        ascii: bool,
        trim: Trim,
        until: Option<Box<[u8]>>,
    },
    /// ASCII digits in this base.
    Digits(u32),
    /// A computed number; it lies in its slot.
    Computed,
}

/// The padding (NUL and space) that is cut off a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trim {
    End,
    Both,
    Nothing,
}

/// The value that a field must have.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Equals {
    /// A number; negative ones as two's complement of 64 bits.
    Number(u64),
    Bytes(Box<[u8]>),
}

/// A record whose steps have run, or are not needed for the fields that are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownFields<'a> {
    pub(super) fields: &'a [Field],
    pub(super) bytes: &'a [u8],
    pub(super) slots: &'a [FieldSlot],
    pub(super) groups: &'a [bool],
}

impl FieldScope for KnownFields<'_> {
    #[inline]
    fn field(&self, field: u16) -> Result<i64, EvalError> {
        let field = self.get(field).ok_or(EvalError::Absent)?;
        // The frequent case beforehand, so that it is inlined.
        if let (FieldPlace::Fixed { start, .. }, Meaning::Unsigned(number), NONE) =
            (field.place, &field.meaning, field.group)
            && let Some(value) = number.read(self.bytes, start as usize)
            && let Ok(value) = i64::try_from(value)
        {
            return Ok(value);
        }
        self.integer(field)
    }

    fn record_len(&self) -> i64 {
        i64::try_from(self.bytes.len()).unwrap_or(i64::MAX)
    }
}

impl<'a> KnownFields<'a> {
    #[inline]
    pub(super) fn get(&self, field: u16) -> Option<&'a Field> {
        self.fields.get(usize::from(field))
    }

    /// Start and length of a field that the record has; its bytes may be missing nevertheless.
    #[inline]
    pub(super) fn span(&self, field: &Field) -> Option<(usize, usize)> {
        if field.group != NONE && !*self.groups.get(usize::from(field.group))? {
            return None;
        }
        match field.place {
            FieldPlace::Fixed { start, len } => Some((start as usize, len as usize)),
            FieldPlace::Slot(slot) => match self.slots.get(usize::from(slot))? {
                FieldSlot::Span { start, len } => Some((*start as usize, *len as usize)),
                _ => None,
            },
        }
    }

    fn computed(&self, field: &Field) -> Option<i64> {
        let FieldPlace::Slot(slot) = field.place else {
            return None;
        };
        let present =
            field.group == NONE || self.groups.get(usize::from(field.group)) == Some(&true);
        match self.slots.get(usize::from(slot)) {
            Some(FieldSlot::Number(value)) if present => Some(*value),
            _ => None,
        }
    }

    /// The value as expressions see it.
    pub(super) fn integer(&self, field: &Field) -> Result<i64, EvalError> {
        if let Meaning::Computed = field.meaning {
            return self.computed(field).ok_or(EvalError::Absent);
        }
        let (start, len) = self.span(field).ok_or(EvalError::Absent)?;
        let cut = || EvalError::Cut(start.saturating_add(len));
        match &field.meaning {
            Meaning::Unsigned(number) | Meaning::Bool(number) => {
                let value = number.read(self.bytes, start).ok_or_else(cut)?;
                let value = i64::try_from(value).map_err(|_| EvalError::Arithmetic)?;
                let flag = matches!(field.meaning, Meaning::Bool(_));
                Ok(if flag { i64::from(value != 0) } else { value })
            }
            Meaning::Signed(number) => number.read_signed(self.bytes, start).ok_or_else(cut),
            Meaning::Digits(radix) => {
                let digits = part(self.bytes, start, len).ok_or_else(cut)?;
                parse_digits(digits, *radix).ok_or(EvalError::Absent)
            }
            _ => Err(EvalError::Absent),
        }
    }

    /// The value of a field, `None` when the record does not have it or its bytes make none.
    pub(super) fn value(&self, field: &'a Field) -> Option<Value<'a>> {
        if let Meaning::Computed = field.meaning {
            return self.computed(field).map(Value::Signed);
        }
        let (start, len) = self.span(field)?;
        match &field.meaning {
            Meaning::Unsigned(number) => number.read(self.bytes, start).map(Value::Unsigned),
            Meaning::Signed(number) => number.read_signed(self.bytes, start).map(Value::Signed),
            Meaning::Bool(number) => {
                let value = number.read(self.bytes, start)?;
                Some(Value::Bool(value != 0))
            }
            Meaning::Time(time) => time.read(self.bytes, start).map(Value::Time),
            _ => self.rare_value(field, start, len),
        }
    }

    fn rare_value(&self, field: &'a Field, start: usize, len: usize) -> Option<Value<'a>> {
        let bytes = part(self.bytes, start, len)?;
        Some(match &field.meaning {
            Meaning::Float(number) => {
                let bits = number.read(self.bytes, start)?;
                Value::Float(match u32::try_from(bits) {
                    Ok(bits) if number.width() == 32 => f64::from(f32::from_bits(bits)),
                    _ => f64::from_bits(bits),
                })
            }
            Meaning::Address => Value::Address(Address::from_bytes(bytes)?),
            Meaning::Ipv4Reversed => {
                let mut four = <[u8; 4]>::try_from(bytes).ok()?;
                four.reverse();
                Value::Address(Address::from_bytes(&four)?)
            }
            Meaning::Bytes(until) => Value::Bytes(before(bytes, until.as_deref())),
            Meaning::Text { ascii, trim, until } => {
                let text = before(bytes, until.as_deref());
                Value::Text(text_of(trimmed(text, *trim), *ascii)?)
            }
            Meaning::Digits(radix) => Value::Signed(parse_digits(bytes, *radix)?),
            _ => return None,
        })
    }

    /// False when the field is there and holds something else than it must.
    pub(super) fn agrees(&self, field: &Field) -> bool {
        let (Some(equals), Some((start, len))) = (&field.equals, self.span(field)) else {
            return true;
        };
        match (equals, &field.meaning) {
            (Equals::Number(expected), Meaning::Unsigned(number) | Meaning::Bool(number)) => {
                number.read(self.bytes, start) == Some(*expected)
            }
            (Equals::Number(expected), Meaning::Signed(number)) => {
                let value = number.read_signed(self.bytes, start);
                value.map(i64::cast_unsigned) == Some(*expected)
            }
            (Equals::Number(expected), _) => {
                self.integer(field).map(i64::cast_unsigned) == Ok(*expected)
            }
            (Equals::Bytes(expected), _) => {
                part(self.bytes, start, len).is_some_and(|bytes| *bytes == **expected)
            }
        }
    }
}

#[inline]
fn part(bytes: &[u8], start: usize, len: usize) -> Option<&[u8]> {
    bytes.get(start..)?.get(..len)
}

/// Offset of the first `mark` in `bytes`.
pub(super) fn find(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    let first = *mark.first()?;
    let mut from = 0;
    loop {
        let rest = bytes.get(from..)?;
        let at = from + rest.iter().position(|byte| *byte == first)?;
        if bytes.get(at..)?.starts_with(mark) {
            return Some(at);
        }
        from = at + 1;
    }
}

fn before<'a>(bytes: &'a [u8], mark: Option<&[u8]>) -> &'a [u8] {
    let end = mark.and_then(|mark| find(bytes, mark));
    end.and_then(|end| bytes.get(..end)).unwrap_or(bytes)
}

fn trimmed(bytes: &[u8], trim: Trim) -> &[u8] {
    let text = |byte: &u8| !matches!(byte, 0 | b' ');
    let (start, end) = match trim {
        Trim::Nothing => return bytes,
        Trim::End => (0, bytes.iter().rposition(text)),
        Trim::Both => (
            bytes.iter().position(text).unwrap_or(0),
            bytes.iter().rposition(text),
        ),
    };
    end.and_then(|end| bytes.get(start..=end))
        .unwrap_or_default()
}

/// The bytes as text. A character that the end of the field cuts is dropped; other bytes that are no
/// text make no value.
fn text_of(bytes: &[u8], ascii: bool) -> Option<&str> {
    match str::from_utf8(bytes) {
        Ok(text) => (!ascii || text.is_ascii()).then_some(text),
        Err(error) if !ascii && error.error_len().is_none() => {
            str::from_utf8(bytes.get(..error.valid_up_to())?).ok()
        }
        Err(_) => None,
    }
}

/// ASCII digits with an optional sign, padded with spaces or NULs on either side.
fn parse_digits(bytes: &[u8], radix: u32) -> Option<i64> {
    let digits = trimmed(bytes, Trim::Both);
    i64::from_str_radix(str::from_utf8(digits).ok()?, radix).ok()
}

impl Expr {
    /// The number of steps after which the expression can be evaluated.
    pub(super) fn ready(&self, fields: &[Field]) -> u16 {
        let steps = self
            .fields()
            .filter_map(|field| fields.get(usize::from(field)));
        steps.map(|field| field.ready).max().unwrap_or(0)
    }

    /// End of the bytes that the expression looks at and that always lie at the same place.
    pub(super) fn fixed_end(&self, fields: &[Field]) -> u32 {
        let fields = self
            .fields()
            .filter_map(|field| fields.get(usize::from(field)));
        fields.map(Field::fixed_end).max().unwrap_or(0)
    }
}

impl Field {
    /// The value of an unsigned number at a fixed position of every record, which is the frequent case and costs next to nothing;
    /// for anything else the result of `other`.
    #[inline]
    pub(super) fn plain<'a>(
        &self,
        bytes: &[u8],
        other: impl FnOnce() -> Option<Value<'a>>,
    ) -> Option<Value<'a>> {
        match (self.place, &self.meaning, self.group) {
            (FieldPlace::Fixed { start, .. }, Meaning::Unsigned(number), NONE) => {
                number.read(bytes, start as usize).map(Value::Unsigned)
            }
            _ => other(),
        }
    }

    /// End of a field that every record has at the same place.
    pub(super) fn fixed_end(&self) -> u32 {
        match self.place {
            FieldPlace::Fixed { start, len } if self.group == NONE => start.saturating_add(len),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_lose_padding_and_half_characters() {
        for (bytes, trim, ascii, expected) in [
            (&b"eth0\0\0 "[..], Trim::End, true, Some("eth0")),
            (b"  7 ", Trim::End, true, Some("  7")),
            (b"  7 ", Trim::Both, true, Some("7")),
            (b" 7\0", Trim::Nothing, true, Some(" 7\0")),
            (b"\0\0", Trim::Both, false, Some("")),
            (b"caf\xc3\xa9", Trim::End, false, Some("caf\u{e9}")),
            (b"caf\xc3", Trim::End, false, Some("caf")),
            (b"caf\xc3\xa9", Trim::End, true, None),
            (b"\xff!", Trim::End, false, None),
        ] {
            assert_eq!(text_of(trimmed(bytes, trim), ascii), expected, "{bytes:?}");
        }
    }

    #[test]
    fn digits() {
        for (bytes, radix, expected) in [
            (&b"0042"[..], 10, Some(42)),
            (b"  -7\0", 10, Some(-7)),
            (b"+7", 10, Some(7)),
            (b"755 ", 8, Some(0o755)),
            (b"00Ff", 16, Some(255)),
            (b"", 10, None),
            (b"   ", 10, None),
            (b"4 2", 10, None),
            (b"99999999999999999999", 10, None),
        ] {
            assert_eq!(parse_digits(bytes, radix), expected, "{bytes:?}");
        }
    }

    #[test]
    fn marks_are_found() {
        assert_eq!(find(b"aab", b"ab"), Some(1));
        assert_eq!(find(b"aab\r\n", b"\r\n"), Some(3));
        assert_eq!(find(b"aa", b"ab"), None);
        assert_eq!(find(b"", b"a"), None);
        assert_eq!(find(b"a", b""), None);
    }
}
