//! Columns as Python's values, without any loss: what has nanoseconds keeps them.

use std::ops::RangeInclusive;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, StructArray};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, DurationNanosecondType, Fields, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, IntervalUnit,
    Time64NanosecondType, TimeUnit, TimestampNanosecondType, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::error::{ErrorClass, failure};

/// The rows of a batch.
pub(crate) fn rows<'py>(
    py: Python<'py>,
    batch: &RecordBatch,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let mut columns = Vec::with_capacity(batch.num_columns());
    for array in batch.columns() {
        columns.push(column(py, array)?.into_iter());
    }
    (0..batch.num_rows())
        .map(|_| {
            // Every column has a value in every row.
            let row: Vec<_> = columns.iter_mut().filter_map(Iterator::next).collect();
            PyTuple::new(py, row)
        })
        .collect()
}

type PythonValues<'py> = PyResult<Vec<Bound<'py, PyAny>>>;

/// Numbers, and what Python has a type of the same width for.
macro_rules! primitive {
    ($py:expr, $array:expr, $type:ty) => {
        $array
            .as_primitive::<$type>()
            .iter()
            .map(|value| value.into_bound_py_any($py))
            .collect()
    };
}

/// Converts numbers to Python objects with a function of `weir._values`.
macro_rules! made {
    ($py:expr, $array:expr, $type:ty, $make:expr) => {{
        let make = $py.import("weir._values")?.getattr($make)?;
        $array
            .as_primitive::<$type>()
            .iter()
            .map(|value| match value {
                Some(value) => make.call1((value,)),
                None => Ok($py.None().into_bound($py)),
            })
            .collect()
    }};
}

/// The values of a column.
fn column<'py>(py: Python<'py>, array: &ArrayRef) -> PythonValues<'py> {
    match array.data_type() {
        DataType::Null => Ok(vec![py.None().into_bound(py); array.len()]),
        DataType::Boolean => {
            let values = array.as_boolean().iter();
            values.map(|value| value.into_bound_py_any(py)).collect()
        }
        DataType::Int8 => primitive!(py, array, Int8Type),
        DataType::Int16 => primitive!(py, array, Int16Type),
        DataType::Int32 => primitive!(py, array, Int32Type),
        DataType::Int64 => primitive!(py, array, Int64Type),
        DataType::UInt8 => primitive!(py, array, UInt8Type),
        DataType::UInt16 => primitive!(py, array, UInt16Type),
        DataType::UInt32 => primitive!(py, array, UInt32Type),
        DataType::UInt64 => primitive!(py, array, UInt64Type),
        DataType::Float32 => primitive!(py, array, Float32Type),
        DataType::Float64 => primitive!(py, array, Float64Type),
        DataType::Utf8View => texts(py, array.as_string_view().iter()),
        DataType::Utf8 => texts(py, array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(py, array.as_string::<i64>().iter()),
        DataType::BinaryView => bytes(py, array.as_binary_view().iter()),
        DataType::Binary => bytes(py, array.as_binary::<i32>().iter()),
        DataType::LargeBinary => bytes(py, array.as_binary::<i64>().iter()),
        DataType::FixedSizeBinary(_) => bytes(py, array.as_fixed_size_binary().iter()),
        DataType::Timestamp(_, zone) => timestamps(py, array, zone.as_ref()),
        DataType::Duration(_) => {
            match nanoseconds(array, &DataType::Duration(TimeUnit::Nanosecond)) {
                Some(array) => made!(py, array, DurationNanosecondType, "duration"),
                None => as_text(py, array),
            }
        }
        DataType::Time32(_) | DataType::Time64(_) => {
            match nanoseconds(array, &DataType::Time64(TimeUnit::Nanosecond)) {
                Some(array) => made!(py, array, Time64NanosecondType, "time"),
                None => as_text(py, array),
            }
        }
        DataType::Date32 => {
            let mut days = array.as_primitive::<Date32Type>().iter().flatten();
            match days.all(|day| DAYS.contains(&day)) {
                true => made!(py, array, Date32Type, "date"),
                false => as_text(py, array),
            }
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => intervals(py, array),
        DataType::Decimal128(_, scale) => decimals(py, array, *scale),
        DataType::Dictionary(_, values) => column(py, &converted(array, values)?),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            lists.iter().map(|list| items(py, list)).collect()
        }
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            lists.iter().map(|list| items(py, list)).collect()
        }
        DataType::FixedSizeList(..) => {
            let lists = array.as_fixed_size_list();
            lists.iter().map(|list| items(py, list)).collect()
        }
        DataType::Struct(fields) => structures(py, array.as_struct(), fields),
        _ => as_text(py, array),
    }
}

/// The days that Python has, from those of the year 1 to those of 9999, counted from 1970-01-01.
const DAYS: RangeInclusive<i32> = -719_162..=2_932_896;

fn timestamps<'py>(
    py: Python<'py>,
    array: &ArrayRef,
    zone: Option<&Arc<str>>,
) -> PythonValues<'py> {
    let wanted = DataType::Timestamp(TimeUnit::Nanosecond, zone.cloned());
    let Some(array) = nanoseconds(array, &wanted) else {
        return as_text(py, array);
    };
    let make = py.import("weir._values")?.getattr("timestamp")?;
    let zone = match zone {
        Some(zone) => zone.to_string().into_bound_py_any(py)?,
        None => py.None().into_bound(py),
    };
    let values = array.as_primitive::<TimestampNanosecondType>().iter();
    values
        .map(|value| match value {
            Some(value) => make.call1((value, &zone)),
            None => Ok(py.None().into_bound(py)),
        })
        .collect()
}

fn intervals<'py>(py: Python<'py>, array: &ArrayRef) -> PythonValues<'py> {
    let make = py.import("weir._values")?.getattr("Interval")?;
    let values = array.as_primitive::<IntervalMonthDayNanoType>().iter();
    values
        .map(|value| match value {
            Some(value) => make.call1((value.months, value.days, value.nanoseconds)),
            None => Ok(py.None().into_bound(py)),
        })
        .collect()
}

fn decimals<'py>(py: Python<'py>, array: &ArrayRef, scale: i8) -> PythonValues<'py> {
    let make = py.import("weir._values")?.getattr("decimal")?;
    let values = array.as_primitive::<Decimal128Type>().iter();
    values
        .map(|value| match value {
            Some(value) => make.call1((value, scale)),
            None => Ok(py.None().into_bound(py)),
        })
        .collect()
}

/// A dictionary for each row.
fn structures<'py>(py: Python<'py>, structure: &StructArray, fields: &Fields) -> PythonValues<'py> {
    let mut columns = Vec::with_capacity(fields.len());
    for array in structure.columns() {
        columns.push(column(py, array)?.into_iter());
    }
    (0..structure.len())
        .map(|row| {
            let of_row = PyDict::new(py);
            for (field, values) in fields.iter().zip(&mut columns) {
                of_row.set_item(field.name(), values.next())?;
            }
            Ok(match structure.is_null(row) {
                true => py.None().into_bound(py),
                false => of_row.into_any(),
            })
        })
        .collect()
}

fn items<'py>(py: Python<'py>, list: Option<ArrayRef>) -> PyResult<Bound<'py, PyAny>> {
    Ok(match list {
        Some(list) => PyList::new(py, column(py, &list)?)?.into_any(),
        None => py.None().into_bound(py),
    })
}

fn texts<'py, 'v>(
    py: Python<'py>,
    values: impl Iterator<Item = Option<&'v str>>,
) -> PythonValues<'py> {
    let one = |value: Option<&str>| match value {
        Some(text) => PyString::new(py, text).into_any(),
        None => py.None().into_bound(py),
    };
    Ok(values.map(one).collect())
}

fn bytes<'py, 'v>(
    py: Python<'py>,
    values: impl Iterator<Item = Option<&'v [u8]>>,
) -> PythonValues<'py> {
    let one = |value: Option<&[u8]>| match value {
        Some(bytes) => PyBytes::new(py, bytes).into_any(),
        None => py.None().into_bound(py),
    };
    Ok(values.map(one).collect())
}

/// The same in nanoseconds, unless these do not fit 64 bits.
fn nanoseconds(array: &ArrayRef, wanted: &DataType) -> Option<ArrayRef> {
    let cast = cast(array, wanted).ok()?;
    (cast.null_count() == array.null_count()).then_some(cast)
}

fn converted(array: &ArrayRef, wanted: &DataType) -> PyResult<ArrayRef> {
    cast(array, wanted).map_err(|error| failed(&error))
}

/// The text that Arrow writes for values without a Python type.
fn as_text<'py>(py: Python<'py>, array: &ArrayRef) -> PythonValues<'py> {
    let options = FormatOptions::default();
    let formatter =
        ArrayFormatter::try_new(array.as_ref(), &options).map_err(|error| failed(&error))?;
    (0..array.len())
        .map(|row| match array.is_null(row) {
            true => Ok(py.None().into_bound(py)),
            false => formatter.value(row).to_string().into_bound_py_any(py),
        })
        .collect()
}

fn failed(error: &ArrowError) -> PyErr {
    failure(ErrorClass::Run, &error.to_string(), None)
}
