//! Values as the page takes them: numbers that JavaScript holds exactly are numbers, all others text.

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, UInt64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde_json::{Value, json};

use crate::error::{Failure, FailureKind};

/// The word for the type of a column.
pub(super) fn kind(field: &Field, origin: Option<&str>) -> &'static str {
    match origin {
        Some(name) if name.starts_with("ip.") || name.starts_with("ipv6.") => return "ip",
        Some(name) if name.starts_with("eth.") => return "mac",
        _ => {}
    }
    match field.data_type() {
        kind if kind.is_signed_integer() => "int",
        kind if kind.is_unsigned_integer() => "uint",
        kind if kind.is_floating() => "float",
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => "decimal",
        DataType::Boolean => "bool",
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 => "time",
        DataType::Duration(_)
        | DataType::Interval(_)
        | DataType::Time32(_)
        | DataType::Time64(_) => "duration",
        kind if kind.is_binary() => "bytes",
        DataType::FixedSizeBinary(_) => "bytes",
        kind if kind.is_list() => "list",
        DataType::Struct(_) | DataType::Map(..) => "struct",
        _ => "text",
    }
}

/// The rows of a batch, `most` of them at most.
pub(super) fn rows(batch: &RecordBatch, most: usize) -> Result<Vec<Value>, Failure> {
    let count = batch.num_rows().min(most);
    let mut rows = vec![Vec::with_capacity(batch.num_columns()); count];
    for array in batch.columns() {
        let values = values(array, count)?;
        for (row, value) in rows.iter_mut().zip(values) {
            row.push(value);
        }
    }
    Ok(rows.into_iter().map(Value::Array).collect())
}

fn values(array: &ArrayRef, count: usize) -> Result<Vec<Value>, Failure> {
    let failed =
        |error: arrow::error::ArrowError| Failure::new(FailureKind::Run, error.to_string());
    let each = |value: &dyn Fn(usize) -> Value| -> Vec<Value> {
        (0..count)
            .map(|row| {
                if array.is_null(row) {
                    Value::Null
                } else {
                    value(row)
                }
            })
            .collect()
    };
    Ok(match array.data_type() {
        DataType::Null => vec![Value::Null; count],
        DataType::Boolean => each(&|row| json!(array.as_boolean().value(row))),
        kind if kind.is_signed_integer() => {
            let wide = cast(array, &DataType::Int64).map_err(failed)?;
            let wide = wide.as_primitive::<Int64Type>();
            each(&|row| {
                let value = wide.value(row);
                exact(value, value.unsigned_abs() < EXACT_MAX)
            })
        }
        kind if kind.is_unsigned_integer() => {
            let wide = cast(array, &DataType::UInt64).map_err(failed)?;
            let wide = wide.as_primitive::<UInt64Type>();
            each(&|row| {
                let value = wide.value(row);
                exact(value, value < EXACT_MAX)
            })
        }
        kind if kind.is_floating() => {
            let wide = cast(array, &DataType::Float64).map_err(failed)?;
            let wide = wide.as_primitive::<Float64Type>();
            each(&|row| {
                let value = wide.value(row);
                // JSON has no infinity.
                exact(value, value.is_finite())
            })
        }
        DataType::List(_) => lists(array.as_list::<i32>(), count)?,
        _ => displayed(array, count)?,
    })
}

/// A number as it is, or as text where JavaScript does not hold it exactly.
fn exact<T: Into<Value> + ToString>(value: T, is_exact: bool) -> Value {
    match is_exact {
        true => value.into(),
        false => Value::String(value.to_string()),
    }
}

fn lists(lists: &ListArray, count: usize) -> Result<Vec<Value>, Failure> {
    let mut all = Vec::with_capacity(count);
    for row in 0..count {
        all.push(match lists.is_null(row) {
            true => Value::Null,
            false => {
                let items = lists.value(row);
                Value::Array(values(&items, items.len())?)
            }
        });
    }
    Ok(all)
}

/// The values as Arrow displays them.
fn displayed(array: &ArrayRef, count: usize) -> Result<Vec<Value>, Failure> {
    let failed =
        |error: arrow::error::ArrowError| Failure::new(FailureKind::Run, error.to_string());
    // All nine digits, so that times of a column are as long as each other and sort as texts.
    let zoned = zoned_format(array.data_type());
    let options = FormatOptions::default()
        .with_timestamp_format(Some("%Y-%m-%dT%H:%M:%S%.9f"))
        .with_timestamp_tz_format(Some(zoned));
    let formatter = ArrayFormatter::try_new(array, &options).map_err(failed)?;
    let mut all = Vec::with_capacity(count);
    for row in 0..count {
        all.push(match array.is_null(row) {
            true => Value::Null,
            false => json!(formatter.value(row).try_to_string().map_err(failed)?),
        });
    }
    Ok(all)
}

/// The format of times with this zone.
pub(super) fn zoned_format(kind: &DataType) -> &'static str {
    match kind {
        DataType::Timestamp(_, Some(zone)) if &**zone == "UTC" => "%Y-%m-%dT%H:%M:%S%.9fZ",
        _ => "%Y-%m-%dT%H:%M:%S%.9f%:z",
    }
}

/// Whole numbers below are held exactly by JavaScript.
pub(super) const EXACT_MAX: u64 = 1 << 53;
