//! The columns of a batch, made ready to be written value by value.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, RecordBatch, StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Field, IntervalMonthDayNanoType, IntervalUnit, Schema, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType,
};
use arrow_pg::datatypes::encode_recordbatch;
use pgwire::api::Type;
use pgwire::api::results::FieldInfo;
use pgwire::messages::data::DataRow;

use super::failed;
use super::style::Style;
use crate::error::Failure;

/// The encoding of a column.
pub(super) enum EncodedColumn {
    Bool(BooleanArray),
    I16(ArrayRef),
    I32(ArrayRef),
    I64(ArrayRef),
    /// Numbers of 32 bits without a sign.
    Oid(ArrayRef),
    F32(ArrayRef),
    F64(ArrayRef),
    /// The text itself.
    Text(ArrayRef),
    Inet(StringArray),
    Mac(StringArray),
    Bytes(Bytes),
    /// Numbers as decimal digits.
    Numeric(ArrayRef),
    /// Microseconds since 1970, with the zone that text is written in.
    Timestamp(Vec<i64>, Option<arrow::array::timezone::Tz>, bool, ArrayRef),
    Date(ArrayRef),
    Time(ArrayRef),
    /// Months, days and microseconds.
    Interval(Vec<(i32, i32, i64)>, ArrayRef),
    /// The library's encoding, value by value, for lists and records.
    Other(Vec<DataRow>),
    /// The displayed value.
    Shown(ArrayRef),
}

pub(super) enum Bytes {
    View(BinaryViewArray),
    Plain(BinaryArray),
    Large(LargeBinaryArray),
    Fixed(FixedSizeBinaryArray),
}

impl Bytes {
    pub(super) fn value(&self, row: usize) -> &[u8] {
        match self {
            Self::View(array) => array.value(row),
            Self::Plain(array) => array.value(row),
            Self::Large(array) => array.value(row),
            Self::Fixed(array) => array.value(row),
        }
    }

    fn is_null(&self, row: usize) -> bool {
        match self {
            Self::View(array) => array.is_null(row),
            Self::Plain(array) => array.is_null(row),
            Self::Large(array) => array.is_null(row),
            Self::Fixed(array) => array.is_null(row),
        }
    }
}

impl EncodedColumn {
    /// Makes a column ready to be written.
    pub(super) fn new(
        array: &ArrayRef,
        field: &Field,
        info: &FieldInfo,
        style: Style,
        finer: &mut bool,
    ) -> Result<Self, Failure> {
        let to = |kind: &DataType| cast(array, kind).map_err(|error| failed(&error));
        match *info.datatype() {
            Type::INET => return Ok(Self::Inet(to(&DataType::Utf8)?.as_string::<i32>().clone())),
            Type::MACADDR => return Ok(Self::Mac(to(&DataType::Utf8)?.as_string::<i32>().clone())),
            Type::OID | Type::XID => return Ok(Self::Oid(to(&DataType::Int64)?)),
            _ => {}
        }
        Ok(match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean().clone()),
            DataType::Int8 | DataType::UInt8 | DataType::Int16 => Self::I16(to(&DataType::Int16)?),
            DataType::Int32 | DataType::UInt16 => Self::I32(to(&DataType::Int32)?),
            DataType::UInt32 | DataType::Int64 => Self::I64(to(&DataType::Int64)?),
            DataType::UInt64
            | DataType::Decimal32(..)
            | DataType::Decimal64(..)
            | DataType::Decimal128(..)
            | DataType::Decimal256(..) => Self::Numeric(Arc::clone(array)),
            DataType::Float16 | DataType::Float32 => Self::F32(to(&DataType::Float32)?),
            DataType::Float64 => Self::F64(Arc::clone(array)),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
                Self::Text(to(&DataType::Utf8)?)
            }
            DataType::Dictionary(_, value) => {
                let field = Field::new("", value.as_ref().clone(), true);
                Self::new(&to(value)?, &field, info, style, finer)?
            }
            DataType::Binary => Self::Bytes(Bytes::Plain(array.as_binary::<i32>().clone())),
            DataType::LargeBinary => Self::Bytes(Bytes::Large(array.as_binary::<i64>().clone())),
            DataType::BinaryView => Self::Bytes(Bytes::View(array.as_binary_view().clone())),
            DataType::FixedSizeBinary(_) => {
                Self::Bytes(Bytes::Fixed(array.as_fixed_size_binary().clone()))
            }
            DataType::Timestamp(unit, zone) => {
                let micros = micros(array, *unit, finer);
                let parsed = zone.as_deref().map(str::parse).transpose();
                let parsed = parsed.map_err(|error| failed(&error))?;
                Self::Timestamp(micros, parsed, zone.is_some(), Arc::clone(array))
            }
            DataType::Date32 | DataType::Date64 => Self::Date(to(&DataType::Date32)?),
            DataType::Time32(_) | DataType::Time64(_) => {
                Self::Time(to(&DataType::Time64(TimeUnit::Nanosecond))?)
            }
            DataType::Duration(unit) => {
                Self::Interval(durations(array, *unit, finer), Arc::clone(array))
            }
            DataType::Interval(_) => {
                let whole = to(&DataType::Interval(IntervalUnit::MonthDayNano))?;
                Self::Interval(intervals(&whole, finer), Arc::clone(array))
            }
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
            | DataType::Struct(_)
                if *info.datatype() != Type::TEXT =>
            {
                Self::Other(nested(array, field, info, style)?)
            }
            _ => Self::Shown(Arc::clone(array)),
        })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Bool(array) => array.is_null(row),
            Self::Inet(array) | Self::Mac(array) => array.is_null(row),
            Self::Bytes(bytes) => bytes.is_null(row),
            Self::I16(array)
            | Self::I32(array)
            | Self::I64(array)
            | Self::Oid(array)
            | Self::F32(array)
            | Self::F64(array)
            | Self::Text(array)
            | Self::Numeric(array)
            | Self::Date(array)
            | Self::Time(array)
            | Self::Shown(array)
            | Self::Timestamp(_, _, _, array)
            | Self::Interval(_, array) => array.is_null(row),
            // The library encodes NULL as well.
            Self::Other(_) => false,
        }
    }
}

/// The values of a column of lists or records as the library encodes them.
fn nested(
    array: &ArrayRef,
    field: &Field,
    info: &FieldInfo,
    style: Style,
) -> Result<Vec<DataRow>, Failure> {
    let schema = Arc::new(Schema::new(vec![field.clone()]));
    let one =
        RecordBatch::try_new(schema, vec![Arc::clone(array)]).map_err(|error| failed(&error))?;
    let infos = Arc::new(vec![info.clone().with_format_options(style.options())]);
    let rows: Result<Vec<_>, _> = encode_recordbatch(infos, one).collect();
    rows.map_err(|error| failed(&error))
}

/// Microseconds since 1970.
fn micros(array: &ArrayRef, unit: TimeUnit, finer: &mut bool) -> Vec<i64> {
    match unit {
        TimeUnit::Second => {
            let values = array.as_primitive::<TimestampSecondType>().values();
            values
                .iter()
                .map(|value| value.saturating_mul(1_000_000))
                .collect()
        }
        TimeUnit::Millisecond => {
            let values = array.as_primitive::<TimestampMillisecondType>().values();
            values
                .iter()
                .map(|value| value.saturating_mul(1000))
                .collect()
        }
        TimeUnit::Microsecond => {
            let values = array.as_primitive::<TimestampMicrosecondType>().values();
            values.to_vec()
        }
        TimeUnit::Nanosecond => {
            let values = array.as_primitive::<TimestampNanosecondType>();
            *finer = values.iter().flatten().any(|value| value % 1000 != 0);
            values
                .values()
                .iter()
                .map(|value| value.div_euclid(1000))
                .collect()
        }
    }
}

/// Durations as intervals.
fn durations(array: &ArrayRef, unit: TimeUnit, finer: &mut bool) -> Vec<(i32, i32, i64)> {
    let whole = |micros: i64| (0, 0, micros);
    match unit {
        TimeUnit::Second => {
            let values = array.as_primitive::<DurationSecondType>().values();
            values
                .iter()
                .map(|value| whole(value.saturating_mul(1_000_000)))
                .collect()
        }
        TimeUnit::Millisecond => {
            let values = array.as_primitive::<DurationMillisecondType>().values();
            values
                .iter()
                .map(|value| whole(value.saturating_mul(1000)))
                .collect()
        }
        TimeUnit::Microsecond => {
            let values = array.as_primitive::<DurationMicrosecondType>().values();
            values.iter().map(|value| whole(*value)).collect()
        }
        TimeUnit::Nanosecond => {
            let values = array.as_primitive::<DurationNanosecondType>();
            *finer = values.iter().flatten().any(|value| value % 1000 != 0);
            values
                .values()
                .iter()
                .map(|value| whole(value.div_euclid(1000)))
                .collect()
        }
    }
}

/// Months, days and microseconds of intervals.
fn intervals(array: &ArrayRef, finer: &mut bool) -> Vec<(i32, i32, i64)> {
    let values = array.as_primitive::<IntervalMonthDayNanoType>().values();
    let parts = values.iter().map(|value| {
        *finer |= value.nanoseconds % 1000 != 0;
        (value.months, value.days, value.nanoseconds.div_euclid(1000))
    });
    parts.collect()
}
