//! Values of the catalog, and columns of them.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, ListBuilder, StringArray, StringBuilder, TimestampMicrosecondArray, new_null_array,
};
use arrow::datatypes::DataType;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Flag(bool),
    Number(i64),
    Text(String),
    Texts(Vec<String>),
}

impl From<bool> for Cell {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// The default value of a column: NULL if the column is nullable, or PostgreSQL's value for nothing.
pub(crate) fn default(kind: &DataType, may_be_null: bool) -> Cell {
    match kind {
        _ if may_be_null => Cell::Null,
        DataType::Boolean => false.into(),
        DataType::Utf8 => "".into(),
        DataType::List(_) => Cell::Texts(Vec::new()),
        _ => 0.into(),
    }
}

/// A column of values.
pub(crate) fn array(kind: &DataType, cells: &[Cell]) -> ArrayRef {
    let numbers = || {
        cells.iter().map(|cell| match cell {
            Cell::Number(number) => Some(*number),
            _ => None,
        })
    };
    match kind {
        DataType::Boolean => Arc::new(BooleanArray::from_iter(cells.iter().map(
            |cell| match cell {
                Cell::Flag(flag) => Some(*flag),
                _ => None,
            },
        ))),
        DataType::Int16 => {
            let numbers = numbers().map(|number| i16::try_from(number?).ok());
            Arc::new(Int16Array::from_iter(numbers))
        }
        DataType::Int32 => {
            let numbers = numbers().map(|number| i32::try_from(number?).ok());
            Arc::new(Int32Array::from_iter(numbers))
        }
        DataType::Int64 => Arc::new(Int64Array::from_iter(numbers())),
        // Numbers of the catalog that have fractions are whole here, and small.
        DataType::Float32 => {
            let numbers = numbers().map(|number| i16::try_from(number?).ok().map(f32::from));
            Arc::new(Float32Array::from_iter(numbers))
        }
        DataType::Float64 => {
            let numbers = numbers().map(|number| i32::try_from(number?).ok().map(f64::from));
            Arc::new(Float64Array::from_iter(numbers))
        }
        DataType::Timestamp(_, zone) => Arc::new(
            TimestampMicrosecondArray::from_iter(numbers()).with_timezone_opt(zone.clone()),
        ),
        DataType::Binary => Arc::new(BinaryArray::from_iter(cells.iter().map(
            |cell| match cell {
                Cell::Text(text) => Some(text.as_bytes()),
                _ => None,
            },
        ))),
        DataType::List(element) if element.data_type() == &DataType::Utf8 => {
            let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Arc::clone(element));
            for cell in cells {
                match cell {
                    Cell::Texts(texts) => {
                        for text in texts {
                            lists.values().append_value(text);
                        }
                        lists.append(true);
                    }
                    _ => lists.append(false),
                }
            }
            Arc::new(lists.finish())
        }
        DataType::Utf8 => Arc::new(StringArray::from_iter(cells.iter().map(
            |cell| match cell {
                Cell::Text(text) => Some(text.as_str()),
                _ => None,
            },
        ))),
        // The remaining lists, such as those of keys, are always empty.
        other => new_null_array(other, cells.len()),
    }
}
