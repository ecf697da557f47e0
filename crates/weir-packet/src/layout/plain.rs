//! Layouts of which every record is alike, and numbers that stand at the same place of each.

use super::field::{Meaning, NONE, Place};
use super::framing::Cutting;
use super::number::Number;
use super::{Layout, Output};

/// An unsigned number at the same place of every record.
#[derive(Clone, Debug, PartialEq)]
pub struct PlainNumber {
    number: Number,
    start: usize,
    /// The same as some bits of a word of eight bytes: offset, shift, mask.
    wide: Option<(usize, u32, u64)>,
}

impl PlainNumber {
    /// The number in a whole record; `None` when the record ends before.
    #[inline]
    #[must_use]
    pub fn read(&self, record: &[u8]) -> Option<u64> {
        if let Some((at, shift, mask)) = self.wide {
            return Some(weir_bytes::u64_be_at(record, at)? >> shift & mask);
        }
        self.number.read(record, self.start)
    }

    /// The number as some bits of a big-endian word of eight bytes of the record: where the word begins, the
    /// bits below the number, and its largest value; `None` when it is not read so.
    #[must_use]
    pub const fn word(&self) -> Option<(usize, u32, u64)> {
        self.wide
    }

    /// Where its bits lie in the record; `None` when they are not side by side.
    #[must_use]
    pub fn bits(&self) -> Option<weir_bytes::Bits> {
        self.number.bits_at(u32::try_from(self.start).ok()?)
    }

    /// The same number shifted to the right by so many bits; `None` when it is not read so.
    #[must_use]
    pub fn shifted_right(&self, bits: u32) -> Option<Self> {
        let (at, shift, mask) = self.small()?;
        let wide = match mask.checked_shr(bits) {
            // There are 64 bits in the word, of which the number has those above `shift`.
            Some(mask) if mask > 0 => (at, shift + bits, mask),
            _ => (at, 0, 0),
        };
        Some(Self {
            wide: Some(wide),
            ..self.clone()
        })
    }

    /// The bits of the number that are in `mask`; `None` when it is not read so.
    #[must_use]
    pub fn masked(&self, mask: u64) -> Option<Self> {
        let (at, shift, own) = self.small()?;
        Some(Self {
            wide: Some((at, shift, own & mask)),
            ..self.clone()
        })
    }

    /// The bits of a number that is not negative as a signed one either.
    fn small(&self) -> Option<(usize, u32, u64)> {
        self.wide.filter(|(_, _, mask)| *mask <= u64::MAX >> 1)
    }

    /// Reads the number in each of the whole records that begin at these places of `window`, as
    /// [`PlainNumber::read`] does. What a record does not have is not `there`.
    pub fn read_each(
        &self,
        window: &[u8],
        records: impl Iterator<Item = usize>,
        values: &mut [u64],
        validity: &mut [bool],
    ) {
        let out = values.iter_mut().zip(validity);
        match self.wide {
            Some((at, shift, mask)) => {
                for (record, (value, validity)) in records.zip(out) {
                    let word = weir_bytes::u64_be_at(window, record + at);
                    *validity = word.is_some();
                    *value = word.unwrap_or_default() >> (shift & 63) & mask;
                }
            }
            None => {
                for (record, (value, validity)) in records.zip(out) {
                    let number = self.number.read(window, record + self.start);
                    *validity = number.is_some();
                    *value = number.unwrap_or_default();
                }
            }
        }
    }
}

impl Layout {
    /// Bytes of each record, when they are the same for all and nothing in a whole record can be
    /// damaged: no kinds, no conditions, no required values.
    #[must_use]
    pub fn plain_record_len(&self) -> Option<usize> {
        let Cutting::Fixed(len) = self.cutting else {
            return None;
        };
        let is_plain = self.steps.is_empty()
            && self.groups == 0
            && self.checks.is_empty()
            && self.fields.iter().all(|field| field.equals.is_none());
        (is_plain && len > 0).then_some(len)
    }

    /// Where the column at this index of [`columns`](Self::columns) lies in every record; `None` when
    /// it is no unsigned number, or not always there.
    #[must_use]
    pub fn plain_number(&self, column: usize) -> Option<PlainNumber> {
        let Output::Field(field) = self.outputs.get(column)? else {
            return None;
        };
        let field = self.fields.get(usize::from(*field))?;
        match (field.place, &field.meaning, field.group) {
            (Place::Fixed { start, .. }, Meaning::Unsigned(number), NONE) => Some(PlainNumber {
                number: number.clone(),
                start: start as usize,
                wide: self
                    .plain_record_len()
                    .and_then(|len| number.in_wide_word(start as usize, len)),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_those_of_the_view() {
        let mut fields = String::new();
        // Every alignment and width, at the start and up to the end of the record.
        for (index, bits) in [4, 8, 16, 3, 1, 24, 7, 9, 40, 16, 5, 11, 32, 12, 4]
            .iter()
            .enumerate()
        {
            fields += &format!("    {{ name = \"f{index}\", bits = {bits} }},\n");
        }
        let text = format!("name = \"x\"\nrecord = {{ length = 24 }}\nfield = [\n{fields}]\n");
        let mut no_other = |_: &str| Err(String::new());
        let layout = Layout::parse(&text, &mut no_other).unwrap();
        assert_eq!(layout.plain_record_len(), Some(24));
        let record: Vec<u8> = (0..24_u8)
            .map(|byte| byte.wrapping_mul(167) ^ 0x5a)
            .collect();
        let mut row = layout.row();
        let view = layout.decode(&record, &mut row);
        for column in 0..layout.columns().len() {
            let plain = layout.plain_number(column).unwrap();
            let expected = match view.value(column) {
                Some(crate::Value::Unsigned(value)) => value,
                Some(crate::Value::Bool(value)) => value.into(),
                other => panic!("{other:?}"),
            };
            assert_eq!(plain.read(&record), Some(expected), "f{column}");
        }
    }
}
