//! The rows of an answer as JSON, in pieces: a value of megabytes, which may be six times as long as text, is never whole in memory.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, ListArray, RecordBatch,
    UInt64Array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::json::{EXACT_MAX, zoned_format};
use crate::error::{Failure, FailureKind};

/// The rows of a batch on their way out, with commas between them.
pub(super) struct JsonRows {
    columns: Vec<Arc<Cells>>,
    row: usize,
    count: usize,
    is_first: bool,
    /// The values that have begun, the innermost last.
    open: Vec<Open>,
    text: Vec<u8>,
}

/// A column, or the values of its lists.
enum Cells {
    Null,
    Flags(BooleanArray),
    Signed(Int64Array),
    Unsigned(UInt64Array),
    Floats(Float64Array),
    Texts(ArrayRef),
    Bytes(ArrayRef),
    Lists(ListArray, Arc<Cells>),
    /// The displayed value.
    Shown(ArrayRef),
}

/// A value that has begun and has not ended.
enum Open {
    /// A row, with the column that is next.
    Row(usize, usize),
    /// A list: its values, the first of it, the next and the end.
    Items(Arc<Cells>, usize, usize, usize),
    /// A text, and how much of it is written.
    Text(LongText, usize),
    /// Octets, and how many of them are written.
    Bytes(ArrayRef, usize, usize),
}

/// The source of a long text.
enum LongText {
    Array(ArrayRef, usize),
    Made(String),
}

impl LongText {
    fn text(&self) -> &str {
        match self {
            Self::Array(array, row) => text_of(array, *row),
            Self::Made(text) => text,
        }
    }
}

fn text_of(array: &ArrayRef, row: usize) -> &str {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row),
        DataType::Utf8View => array.as_string_view().value(row),
        // A column of texts is one of these.
        _ => "",
    }
}

fn bytes_of(array: &ArrayRef, row: usize) -> &[u8] {
    match array.data_type() {
        DataType::Binary => array.as_binary::<i32>().value(row),
        DataType::LargeBinary => array.as_binary::<i64>().value(row),
        DataType::BinaryView => array.as_binary_view().value(row),
        // A column of octets is one of these.
        _ => &[],
    }
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Run, error.to_string())
}

impl Cells {
    fn new(array: &ArrayRef) -> Result<Arc<Self>, Failure> {
        let to = |kind: &DataType| cast(array, kind).map_err(failed);
        Ok(Arc::new(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => Self::Flags(array.as_boolean().clone()),
            kind if kind.is_signed_integer() => {
                Self::Signed(to(&DataType::Int64)?.as_primitive::<Int64Type>().clone())
            }
            kind if kind.is_unsigned_integer() => {
                let wide = to(&DataType::UInt64)?;
                Self::Unsigned(wide.as_primitive::<UInt64Type>().clone())
            }
            kind if kind.is_floating() => {
                let wide = to(&DataType::Float64)?;
                Self::Floats(wide.as_primitive::<Float64Type>().clone())
            }
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
                Self::Texts(Arc::clone(array))
            }
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                Self::Bytes(Arc::clone(array))
            }
            DataType::Dictionary(_, of) if of.is_string() => Self::Texts(to(of)?),
            DataType::List(_) => {
                let lists = array.as_list::<i32>().clone();
                let values = Self::new(lists.values())?;
                Self::Lists(lists, values)
            }
            _ => Self::Shown(Arc::clone(array)),
        }))
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Null => true,
            Self::Flags(array) => array.is_null(row),
            Self::Signed(array) => array.is_null(row),
            Self::Unsigned(array) => array.is_null(row),
            Self::Floats(array) => array.is_null(row),
            Self::Lists(array, _) => array.is_null(row),
            Self::Texts(array) | Self::Bytes(array) | Self::Shown(array) => array.is_null(row),
        }
    }
}

impl JsonRows {
    /// The first rows of a batch, `most` of them at most, behind others or not.
    ///
    /// # Errors
    /// When a column cannot be written.
    pub(super) fn new(
        batch: &RecordBatch,
        most: usize,
        are_others_before: bool,
    ) -> Result<Self, Failure> {
        let columns = batch.columns().iter().map(Cells::new);
        Ok(Self {
            columns: columns.collect::<Result<_, _>>()?,
            row: 0,
            count: batch.num_rows().min(most),
            is_first: !are_others_before,
            open: Vec::new(),
            text: Vec::new(),
        })
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// When a value cannot be written.
    pub(super) fn next_piece(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        while self.text.len() < PIECE_BYTES {
            let Some(open) = self.open.pop() else {
                if self.row == self.count {
                    break;
                }
                if !std::mem::take(&mut self.is_first) {
                    self.text.push(b',');
                }
                self.text.push(b'[');
                self.open.push(Open::Row(self.row, 0));
                self.row += 1;
                continue;
            };
            self.go_on(open)?;
        }
        let text = std::mem::take(&mut self.text);
        Ok((!text.is_empty()).then_some(text))
    }

    /// Writes the next part of what has begun.
    fn go_on(&mut self, open: Open) -> Result<(), Failure> {
        match open {
            Open::Row(row, column) => {
                let Some(cells) = self.columns.get(column).map(Arc::clone) else {
                    self.text.push(b']');
                    return Ok(());
                };
                if column > 0 {
                    self.text.push(b',');
                }
                self.open.push(Open::Row(row, column + 1));
                self.cell(&cells, row)
            }
            Open::Items(cells, first, next, end) => {
                if next >= end {
                    self.text.push(b']');
                    return Ok(());
                }
                if next > first {
                    self.text.push(b',');
                }
                self.open
                    .push(Open::Items(Arc::clone(&cells), first, next + 1, end));
                self.cell(&cells, next)
            }
            Open::Text(source, written) => {
                let rest = source.text().get(written..).unwrap_or_default();
                let mut len = rest.len().min(PART_BYTES);
                while !rest.is_char_boundary(len) {
                    len -= 1;
                }
                let begin = self.text.len();
                serde_json::to_writer(&mut self.text, rest.get(..len).unwrap_or_default())
                    .map_err(failed)?;
                // The quotes of a part are not those of the text.
                self.text.remove(begin);
                if len < rest.len() {
                    self.text.pop();
                    self.open.push(Open::Text(source, written + len));
                }
                Ok(())
            }
            Open::Bytes(array, row, written) => {
                let rest = bytes_of(&array, row).get(written..).unwrap_or_default();
                let part = rest.get(..PART_BYTES).unwrap_or(rest);
                for byte in part {
                    let digits = [byte >> 4, byte & 15];
                    let digits = digits.map(|digit| HEX.get(usize::from(digit)).copied());
                    self.text.extend(digits.into_iter().flatten());
                }
                match part.len() == rest.len() {
                    true => self.text.push(b'"'),
                    false => {
                        let written = written + part.len();
                        self.open.push(Open::Bytes(array, row, written));
                    }
                }
                Ok(())
            }
        }
    }

    /// Writes a value, or begins one that has parts.
    fn cell(&mut self, cells: &Arc<Cells>, row: usize) -> Result<(), Failure> {
        if cells.is_null(row) {
            self.text.extend_from_slice(b"null");
            return Ok(());
        }
        match &**cells {
            Cells::Null => Ok(()),
            Cells::Flags(array) => self.json(&array.value(row)),
            Cells::Signed(array) => match array.value(row) {
                value if value.unsigned_abs() < EXACT_MAX => self.json(&value),
                value => self.json(&value.to_string()),
            },
            Cells::Unsigned(array) => match array.value(row) {
                value if value < EXACT_MAX => self.json(&value),
                value => self.json(&value.to_string()),
            },
            Cells::Floats(array) => match array.value(row) {
                // JSON has no infinity.
                value if value.is_finite() => self.json(&value),
                value => self.json(&value.to_string()),
            },
            Cells::Texts(array) => {
                let text = text_of(array, row);
                if text.len() <= PART_BYTES {
                    return self.json(text);
                }
                self.text.push(b'"');
                let source = LongText::Array(Arc::clone(array), row);
                self.open.push(Open::Text(source, 0));
                Ok(())
            }
            Cells::Bytes(array) => {
                self.text.push(b'"');
                self.open.push(Open::Bytes(Arc::clone(array), row, 0));
                Ok(())
            }
            Cells::Lists(lists, values) => {
                let at = |row: usize| {
                    let offset = lists.value_offsets().get(row).copied();
                    usize::try_from(offset.unwrap_or(0)).unwrap_or(0)
                };
                let (first, end) = (at(row), at(row + 1));
                self.text.push(b'[');
                let items = Open::Items(Arc::clone(values), first, first, end);
                self.open.push(items);
                Ok(())
            }
            Cells::Shown(array) => {
                let shown = shown(array, row)?;
                self.text.push(b'"');
                self.open.push(Open::Text(LongText::Made(shown), 0));
                Ok(())
            }
        }
    }

    fn json(&mut self, value: &(impl serde::Serialize + ?Sized)) -> Result<(), Failure> {
        serde_json::to_writer(&mut self.text, value).map_err(failed)
    }
}

/// The displayed value.
fn shown(array: &ArrayRef, row: usize) -> Result<String, Failure> {
    let options = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%dT%H:%M:%S%.9f"))
        .with_timestamp_tz_format(Some(zoned_format(array.data_type())));
    let formatter = ArrayFormatter::try_new(array, &options).map_err(failed)?;
    let mut shown = Limited(String::new());
    match write!(shown, "{}", formatter.value(row)) {
        Ok(()) => Ok(shown.0),
        Err(_) if shown.0.len() >= SHOWN_BYTES_MAX => {
            let message = format!(
                "a value has more than {} MiB as text",
                SHOWN_BYTES_MAX >> 20
            );
            Err(Failure::new(FailureKind::Limit, message))
        }
        Err(error) => Err(failed(error)),
    }
}

/// A text that becomes no longer than it may be.
struct Limited(String);

impl std::fmt::Write for Limited {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0.push_str(text);
        match self.0.len() < SHOWN_BYTES_MAX {
            true => Ok(()),
            false => Err(std::fmt::Error),
        }
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";
/// Bytes of a piece.
const PIECE_BYTES: usize = 256 << 10;
/// Bytes of a value that are written at once.
const PART_BYTES: usize = 64 << 10;
/// Bytes of a list of records, or of another value that is written whole.
const SHOWN_BYTES_MAX: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use arrow::array::{
        BinaryArray, DictionaryArray, Int8Array, LargeStringArray, NullArray, StringArray,
        StringViewArray, StructArray, TimestampNanosecondArray, UInt64Array,
    };
    use arrow::datatypes::{Field, Int8Type};
    use serde_json::Value;

    use super::*;

    fn check(columns: Vec<(&str, ArrayRef)>) {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap();
        let expected = super::super::json::rows(&batch, usize::MAX).unwrap();
        let mut rows = JsonRows::new(&batch, usize::MAX, false).unwrap();
        let mut text = b"[".to_vec();
        while let Some(piece) = rows.next_piece().unwrap() {
            assert!(piece.len() < PIECE_BYTES + 6 * PART_BYTES + 100);
            text.extend(piece);
        }
        text.push(b']');
        let written: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(written, Value::Array(expected));
        let mut rows = JsonRows::new(&batch, 1, true).unwrap();
        assert!(rows.next_piece().unwrap().unwrap().starts_with(b",["));
    }

    #[test]
    fn rows_in_pieces_are_the_rows_as_values() {
        let lists = [
            Some(vec![Some(1), None]),
            None,
            Some(vec![]),
            Some(vec![Some(-5)]),
        ];
        let texts: DictionaryArray<Int8Type> = [Some("a"), None, Some("\u{1}\"\\"), Some("é")]
            .into_iter()
            .collect();
        let fields = vec![Arc::new(Field::new("x", DataType::Int8, true))];
        let records = StructArray::new(
            fields.into(),
            vec![Arc::new(Int8Array::from(vec![1, 2, 3, 4])) as _],
            None,
        );
        check(vec![
            ("n", Arc::new(NullArray::new(4))),
            (
                "f",
                Arc::new(BooleanArray::from(vec![
                    Some(true),
                    None,
                    Some(false),
                    None,
                ])),
            ),
            (
                "i",
                Arc::new(Int64Array::from(vec![
                    Some(i64::MIN),
                    None,
                    Some(-1),
                    Some(1 << 53),
                ])),
            ),
            (
                "u",
                Arc::new(UInt64Array::from(vec![
                    Some(u64::MAX),
                    None,
                    Some(1),
                    Some(1 << 53),
                ])),
            ),
            (
                "d",
                Arc::new(Float64Array::from(vec![
                    Some(0.1),
                    None,
                    Some(f64::NAN),
                    Some(1e300),
                ])),
            ),
            (
                "l",
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
            ),
            ("k", Arc::new(texts)),
            ("r", Arc::new(records)),
            (
                "t",
                Arc::new(
                    TimestampNanosecondArray::from(vec![Some(1), None, Some(-1), Some(0)])
                        .with_timezone("UTC"),
                ),
            ),
            (
                "b",
                Arc::new(BinaryArray::from_opt_vec(vec![
                    Some(b"\0\xff"),
                    None,
                    Some(b""),
                    Some(b"x"),
                ])),
            ),
        ]);
        check(Vec::from([(
            "s",
            Arc::new(StringArray::from(vec![Some(""), None])) as ArrayRef,
        )]));
    }

    #[test]
    fn long_values_are_written_in_pieces() {
        let long = "\u{1}é€𝄞\"".repeat(40_000);
        let octets = vec![0xa5; 3 * PART_BYTES + 7];
        let lists = [Some(vec![Some(7); 200_000])];
        check(vec![
            ("a", Arc::new(StringViewArray::from(vec![long.as_str()]))),
            (
                "b",
                Arc::new(LargeStringArray::from(vec!["x".repeat(PART_BYTES + 1)])),
            ),
            ("c", Arc::new(BinaryArray::from(vec![octets.as_slice()]))),
            (
                "d",
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)),
            ),
        ]);
    }
}
