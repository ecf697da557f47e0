//! Layouts of which every record is alike, and numbers that stand at the same place of each.

use weir_bytes::Bits;

use super::field::{FieldPlace, Meaning, NONE};
use super::framing::Cutting;
use super::{ColumnOutput, Layout};

impl Layout {
    /// The number of bytes of each record, when it is the same for all and nothing in a whole record can be damaged: no kinds, no
    /// conditions, no required values.
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

    /// The bits of every record that are the column at this index of [`columns`](Self::columns); `None` when it is not an unsigned
    /// number, or not always present, or its bytes are more than one load.
    #[must_use]
    pub fn plain_number(&self, column: usize) -> Option<Bits> {
        let ColumnOutput::Field(field) = self.outputs.get(column)? else {
            return None;
        };
        let field = self.fields.get(usize::from(*field))?;
        let (FieldPlace::Fixed { start, .. }, Meaning::Unsigned(number), NONE) =
            (field.place, &field.meaning, field.group)
        else {
            return None;
        };
        let bits = number.bits_at(start)?;
        match bits.bytes() {
            1..=4 | 8 => Some(bits),
            _ => number.in_wide_word(start, u32::try_from(self.plain_record_len()?).ok()?),
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
                Some(weir_packet::Value::Unsigned(value)) => value,
                Some(weir_packet::Value::Bool(value)) => value.into(),
                other => panic!("{other:?}"),
            };
            assert_eq!(plain.read(&record), Some(expected), "f{column}");
        }
    }
}
