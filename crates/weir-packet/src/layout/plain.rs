//! Layouts of which every record is alike, and numbers that stand at the same place of each.

use super::field::{Meaning, NONE, Place};
use super::framing::Cutting;
use super::number::Number;
use super::{Layout, Output};

/// An unsigned number at the same place of every record.
#[derive(Clone, Debug)]
pub struct PlainNumber {
    number: Number,
    start: usize,
}

impl PlainNumber {
    /// The number in a record; `None` when the record ends before.
    #[inline]
    #[must_use]
    pub fn read(&self, record: &[u8]) -> Option<u64> {
        self.number.read(record, self.start)
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
            }),
            _ => None,
        }
    }
}
