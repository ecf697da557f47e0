//! Rows of Arrow as rows of the PostgreSQL protocol, in text and in binary.
//!
//! Integers that PostgreSQL has no type for (64 bits without a sign) are `numeric`, addresses `inet` or `macaddr`
//! where the column that they come from tells which, times have microseconds. What is finer than that is cut and
//! told ([`Encoder::told`]).

use std::net::IpAddr;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, RecordBatch, StringArray,
};
use arrow::compute::cast;
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Field, Float32Type,
    Float64Type, Int16Type, Int32Type, Int64Type, IntervalMonthDayNanoType, Schema,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt64Type,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_pg::datatypes::{encode_recordbatch, field_into_pg_type};
use bytes::{BufMut, BytesMut};
use chrono::{DateTime, Datelike, NaiveDate, Offset, TimeZone, Timelike};
use pgwire::api::Type;
use pgwire::api::portal::Format;
use pgwire::api::results::{FieldFormat, FieldInfo};
use pgwire::messages::data::DataRow;

use crate::catalog::named_type;
use crate::error::{Failure, FailureKind};
use crate::workers::bytes_of;

/// The columns of an answer as the protocol describes them.
pub(crate) fn fields(
    schema: &Schema,
    origins: &[Option<String>],
    format: &Format,
) -> Vec<FieldInfo> {
    let columns = schema.fields().iter().enumerate();
    columns
        .map(|(index, field)| {
            let origin = origins.get(index).and_then(Option::as_deref);
            let kind = type_of(field, origin);
            FieldInfo::new(
                field.name().clone(),
                None,
                None,
                kind,
                format.format_for(index),
            )
        })
        .collect()
}

/// The type of a column.
pub(crate) fn type_of(field: &Arc<Field>, origin: Option<&str>) -> Type {
    if let Some(origin) = origin {
        if origin.starts_with("ip.") || origin.starts_with("ipv6.") {
            return Type::INET;
        }
        if origin.starts_with("eth.") {
            return Type::MACADDR;
        }
    }
    if let Some(known) = named_type(field) {
        return known;
    }
    match field.data_type() {
        DataType::Null => Type::TEXT,
        DataType::Decimal256(..) | DataType::Decimal32(..) | DataType::Decimal64(..) => {
            Type::NUMERIC
        }
        DataType::Float16 => Type::FLOAT4,
        DataType::Dictionary(_, value) => type_of(
            &Arc::new(Field::new("", value.as_ref().clone(), true)),
            None,
        ),
        _ => field_into_pg_type(field).unwrap_or(Type::TEXT),
    }
}

/// The encoding of a column.
enum EncodedColumn {
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

enum Bytes {
    View(BinaryViewArray),
    Plain(BinaryArray),
    Large(LargeBinaryArray),
    Fixed(FixedSizeBinaryArray),
}

impl Bytes {
    fn value(&self, row: usize) -> &[u8] {
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

/// Writes batches of one answer.
pub(crate) struct Encoder {
    fields: Arc<Vec<FieldInfo>>,
    /// Columns whose times are finer than the protocol.
    finer: Vec<bool>,
}

impl Encoder {
    pub(crate) fn new(fields: Arc<Vec<FieldInfo>>) -> Self {
        Self {
            finer: vec![false; fields.len()],
            fields,
        }
    }

    /// The notice about values that were cut.
    pub(crate) fn told(&self) -> Option<String> {
        let columns = self.fields.iter().zip(&self.finer);
        let names: Vec<&str> = columns
            .filter(|(_, finer)| **finer)
            .map(|(field, _)| field.name())
            .collect();
        (!names.is_empty()).then(|| {
            format!(
                "{} {} nanoseconds, which this protocol does not carry: they are truncated to microseconds; CAST(… AS TEXT) keeps them",
                names.join(", "),
                if names.len() == 1 { "has" } else { "have" }
            )
        })
    }

    /// Bytes that the rows of a batch take, about: a buffer that grows to what a long value takes is twice as large.
    fn written_bytes(&self, batch: &RecordBatch) -> usize {
        let columns = self.fields.iter().enumerate().map(|(index, field)| {
            let bytes = batch.columns().get(index).map_or(0, bytes_of);
            match *field.datatype() == Type::BYTEA && field.format() == FieldFormat::Text {
                true => bytes.saturating_mul(2),
                false => bytes,
            }
        });
        let few = batch.num_rows() * self.fields.len() * 12;
        columns.fold(few, usize::saturating_add)
    }

    /// The rows of a batch.
    pub(crate) fn rows(&mut self, batch: &RecordBatch) -> Result<Vec<DataRow>, Failure> {
        let schema = batch.schema();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (index, array) in batch.columns().iter().enumerate() {
            let Some(field) = self.fields.get(index) else {
                return Err(Failure::new(
                    FailureKind::Run,
                    "cached plan must not change result type",
                ));
            };
            let mut finer = false;
            columns.push(column(array, schema.field(index), field, &mut finer)?);
            if let Some(known) = self.finer.get_mut(index) {
                *known |= finer;
            }
        }
        let count = i16::try_from(columns.len()).map_err(|_| {
            Failure::new(
                FailureKind::Limit,
                "the protocol has 32,767 columns at most",
            )
        })?;
        let mut arena = BytesMut::with_capacity(self.written_bytes(batch));
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            for (column, field) in columns.iter().zip(self.fields.iter()) {
                write(
                    column,
                    row,
                    field.format() == FieldFormat::Binary,
                    &mut arena,
                )?;
            }
            rows.push(DataRow::new(arena.split(), count));
        }
        Ok(rows)
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Run,
        format!("a value cannot be sent in this protocol: {error}"),
    )
}

/// Makes a column ready to be written.
fn column(
    array: &ArrayRef,
    field: &Field,
    info: &FieldInfo,
    finer: &mut bool,
) -> Result<EncodedColumn, Failure> {
    let to = |kind: &DataType| cast(array, kind).map_err(|error| failed(&error));
    if *info.datatype() == Type::INET || *info.datatype() == Type::MACADDR {
        let text = to(&DataType::Utf8)?.as_string::<i32>().clone();
        return Ok(match *info.datatype() == Type::INET {
            true => EncodedColumn::Inet(text),
            false => EncodedColumn::Mac(text),
        });
    }
    if *info.datatype() == Type::OID || *info.datatype() == Type::XID {
        return Ok(EncodedColumn::Oid(to(&DataType::Int64)?));
    }
    Ok(match array.data_type() {
        DataType::Boolean => EncodedColumn::Bool(array.as_boolean().clone()),
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => {
            EncodedColumn::I16(to(&DataType::Int16)?)
        }
        DataType::Int32 | DataType::UInt16 => EncodedColumn::I32(to(&DataType::Int32)?),
        DataType::UInt32 | DataType::Int64 => EncodedColumn::I64(to(&DataType::Int64)?),
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => EncodedColumn::Numeric(Arc::clone(array)),
        DataType::Float16 | DataType::Float32 => EncodedColumn::F32(to(&DataType::Float32)?),
        DataType::Float64 => EncodedColumn::F64(Arc::clone(array)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => {
            EncodedColumn::Text(to(&DataType::Utf8)?)
        }
        DataType::Dictionary(_, value) => {
            let plain = to(value)?;
            return column(
                &plain,
                &Field::new("", value.as_ref().clone(), true),
                info,
                finer,
            );
        }
        DataType::Binary => EncodedColumn::Bytes(Bytes::Plain(array.as_binary::<i32>().clone())),
        DataType::LargeBinary => {
            EncodedColumn::Bytes(Bytes::Large(array.as_binary::<i64>().clone()))
        }
        DataType::BinaryView => EncodedColumn::Bytes(Bytes::View(array.as_binary_view().clone())),
        DataType::FixedSizeBinary(_) => {
            EncodedColumn::Bytes(Bytes::Fixed(array.as_fixed_size_binary().clone()))
        }
        DataType::Timestamp(unit, zone) => {
            let micros = micros(array, *unit, finer);
            let parsed = zone.as_deref().map(str::parse).transpose();
            let parsed = parsed.map_err(|error| failed(&error))?;
            EncodedColumn::Timestamp(micros, parsed, zone.is_some(), Arc::clone(array))
        }
        DataType::Date32 | DataType::Date64 => EncodedColumn::Date(to(&DataType::Date32)?),
        DataType::Time32(_) | DataType::Time64(_) => {
            EncodedColumn::Time(to(&DataType::Time64(TimeUnit::Nanosecond))?)
        }
        DataType::Duration(unit) => {
            let values = durations(array, *unit, finer);
            EncodedColumn::Interval(values, Arc::clone(array))
        }
        DataType::Interval(_) => {
            let whole = to(&DataType::Interval(
                arrow::datatypes::IntervalUnit::MonthDayNano,
            ))?;
            let values = whole.as_primitive::<IntervalMonthDayNanoType>();
            let parts = values.values().iter().map(|value| {
                *finer |= value.nanoseconds % 1000 != 0;
                (value.months, value.days, value.nanoseconds.div_euclid(1000))
            });
            EncodedColumn::Interval(parts.collect(), Arc::clone(array))
        }
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::Struct(_)
            if *info.datatype() != Type::TEXT =>
        {
            let schema = Arc::new(Schema::new(vec![field.clone()]));
            let one = RecordBatch::try_new(schema, vec![Arc::clone(array)])
                .map_err(|error| failed(&error))?;
            let infos = Arc::new(vec![info.clone()]);
            let rows: Result<Vec<_>, _> = encode_recordbatch(infos, one).collect();
            EncodedColumn::Other(rows.map_err(|error| failed(&error))?)
        }
        _ => EncodedColumn::Shown(Arc::clone(array)),
    })
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

/// Writes a value behind its length.
fn sized(out: &mut BytesMut, write: impl FnOnce(&mut BytesMut)) -> Result<(), Failure> {
    let begin = out.len();
    out.put_i32(0);
    write(out);
    let length = i32::try_from(out.len() - begin - 4).map_err(|_| {
        Failure::new(
            FailureKind::Limit,
            "a value of the protocol has 2 GiB at most",
        )
    })?;
    if let Some(place) = out.get_mut(begin..begin + 4) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Ok(())
}

/// Appends text.
fn text(out: &mut BytesMut, value: impl std::fmt::Display) {
    use std::fmt::Write as _;
    // Writing to a buffer in memory does not fail.
    let _ = write!(out, "{value}");
}

fn write(
    column: &EncodedColumn,
    row: usize,
    binary: bool,
    out: &mut BytesMut,
) -> Result<(), Failure> {
    let is_null = match column {
        EncodedColumn::Bool(array) => array.is_null(row),
        EncodedColumn::Inet(array) | EncodedColumn::Mac(array) => array.is_null(row),
        EncodedColumn::Bytes(bytes) => bytes.is_null(row),
        EncodedColumn::I16(array)
        | EncodedColumn::I32(array)
        | EncodedColumn::I64(array)
        | EncodedColumn::Oid(array)
        | EncodedColumn::F32(array)
        | EncodedColumn::F64(array)
        | EncodedColumn::Text(array)
        | EncodedColumn::Numeric(array)
        | EncodedColumn::Date(array)
        | EncodedColumn::Time(array)
        | EncodedColumn::Shown(array)
        | EncodedColumn::Timestamp(_, _, _, array)
        | EncodedColumn::Interval(_, array) => array.is_null(row),
        EncodedColumn::Other(rows) => {
            out.extend_from_slice(rows.get(row).map(|row| &*row.data).unwrap_or_default());
            return Ok(());
        }
    };
    if is_null {
        out.put_i32(-1);
        return Ok(());
    }
    let bad = |value: &str| failed(&format!("{value} is not an address"));
    match column {
        EncodedColumn::Bool(array) if binary => {
            sized(out, |out| out.put_u8(array.value(row).into()))
        }
        EncodedColumn::Bool(array) => sized(out, |out| {
            out.put_u8(if array.value(row) { b't' } else { b'f' });
        }),
        EncodedColumn::I16(array) => {
            let value = array.as_primitive::<Int16Type>().value(row);
            sized(out, |out| {
                if binary {
                    out.put_i16(value);
                } else {
                    text(out, value);
                }
            })
        }
        EncodedColumn::I32(array) => {
            let value = array.as_primitive::<Int32Type>().value(row);
            sized(out, |out| {
                if binary {
                    out.put_i32(value);
                } else {
                    text(out, value);
                }
            })
        }
        EncodedColumn::I64(array) => {
            let value = array.as_primitive::<Int64Type>().value(row);
            sized(out, |out| {
                if binary {
                    out.put_i64(value);
                } else {
                    text(out, value);
                }
            })
        }
        EncodedColumn::Oid(array) => {
            let value = array.as_primitive::<Int64Type>().value(row);
            sized(out, |out| {
                if binary {
                    out.put_u32(u32::try_from(value).unwrap_or_default());
                } else {
                    text(out, value);
                }
            })
        }
        EncodedColumn::F32(array) => {
            let value = array.as_primitive::<Float32Type>().value(row);
            sized(out, |out| {
                if binary {
                    out.put_f32(value);
                } else {
                    float(out, value.into(), value);
                }
            })
        }
        EncodedColumn::F64(array) => {
            let value = array.as_primitive::<Float64Type>().value(row);
            sized(out, |out| {
                if binary {
                    out.put_f64(value);
                } else {
                    float(out, value, value);
                }
            })
        }
        EncodedColumn::Text(array) => {
            let value = array.as_string::<i32>().value(row);
            sized(out, |out| out.put_slice(value.as_bytes()))
        }
        EncodedColumn::Inet(array) if binary => {
            let value = array.value(row);
            let address: IpAddr = value.parse().map_err(|_| bad(value))?;
            sized(out, |out| match address {
                IpAddr::V4(address) => {
                    out.put_slice(&[2, 32, 0, 4]);
                    out.put_slice(&address.octets());
                }
                IpAddr::V6(address) => {
                    out.put_slice(&[3, 128, 0, 16]);
                    out.put_slice(&address.octets());
                }
            })
        }
        EncodedColumn::Mac(array) if binary => {
            let value = array.value(row);
            let octets: Result<Vec<u8>, _> = value
                .split(':')
                .map(|part| u8::from_str_radix(part, 16))
                .collect();
            let octets = octets.ok().filter(|octets| octets.len() == 6);
            let octets = octets.ok_or_else(|| bad(value))?;
            sized(out, |out| out.put_slice(&octets))
        }
        EncodedColumn::Inet(array) | EncodedColumn::Mac(array) => {
            sized(out, |out| out.put_slice(array.value(row).as_bytes()))
        }
        EncodedColumn::Bytes(bytes) if binary => sized(out, |out| out.put_slice(bytes.value(row))),
        EncodedColumn::Bytes(bytes) => sized(out, |out| {
            out.put_slice(b"\\x");
            for byte in bytes.value(row) {
                text(out, format_args!("{byte:02x}"));
            }
        }),
        EncodedColumn::Numeric(array) => {
            let digits = digits(array, row)?;
            match binary {
                true => sized(out, |out| numeric(out, &digits)),
                false => sized(out, |out| out.put_slice(digits.as_bytes())),
            }
        }
        EncodedColumn::Timestamp(micros, zone, is_instant, _) => {
            let value = micros.get(row).copied().unwrap_or_default();
            if binary {
                return sized(out, |out| {
                    out.put_i64(value.saturating_sub(POSTGRES_EPOCH_MICROS));
                });
            }
            let instant = DateTime::from_timestamp_micros(value)
                .ok_or_else(|| failed(&format!("{value} µs is not a time")))?;
            let offset = zone.as_ref().map_or(0, |zone| {
                let offset = zone.offset_from_utc_datetime(&instant.naive_utc());
                offset.fix().local_minus_utc()
            });
            let local = instant.naive_utc() + chrono::TimeDelta::seconds(offset.into());
            sized(out, |out| {
                date(out, local.date());
                out.put_u8(b' ');
                clock(
                    out,
                    i64::from(local.num_seconds_from_midnight()) * 1_000_000
                        + i64::from(local.nanosecond() / 1000),
                );
                if *is_instant {
                    let (sign, offset) = if offset < 0 {
                        ('-', -offset)
                    } else {
                        ('+', offset)
                    };
                    text(out, format_args!("{sign}{:02}", offset / 3600));
                    if offset % 3600 != 0 {
                        text(out, format_args!(":{:02}", offset % 3600 / 60));
                    }
                    if offset % 60 != 0 {
                        text(out, format_args!(":{:02}", offset % 60));
                    }
                }
                if local.year() <= 0 {
                    out.put_slice(b" BC");
                }
            })
        }
        EncodedColumn::Date(array) => {
            let days = array.as_primitive::<Date32Type>().value(row);
            if binary {
                return sized(out, |out| {
                    out.put_i32(days.saturating_sub(POSTGRES_EPOCH_DAYS));
                });
            }
            let day = NaiveDate::from_epoch_days(days)
                .ok_or_else(|| failed(&format!("day {days} is not a date")))?;
            sized(out, |out| {
                date(out, day);
                if day.year() <= 0 {
                    out.put_slice(b" BC");
                }
            })
        }
        EncodedColumn::Time(array) => {
            let micros = array.as_primitive::<Time64NanosecondType>().value(row) / 1000;
            sized(out, |out| {
                if binary {
                    out.put_i64(micros);
                } else {
                    clock(out, micros);
                }
            })
        }
        EncodedColumn::Interval(values, _) => {
            let (months, days, micros) = values.get(row).copied().unwrap_or_default();
            sized(out, |out| match binary {
                true => {
                    out.put_i64(micros);
                    out.put_i32(days);
                    out.put_i32(months);
                }
                false => interval(out, months, days, micros),
            })
        }
        EncodedColumn::Shown(array) => {
            let options = FormatOptions::default();
            let formatter =
                ArrayFormatter::try_new(array, &options).map_err(|error| failed(&error))?;
            let shown = formatter
                .value(row)
                .try_to_string()
                .map_err(|error| failed(&error))?;
            sized(out, |out| out.put_slice(shown.as_bytes()))
        }
        EncodedColumn::Other(_) => Ok(()),
    }
}

/// A number with a fraction as PostgreSQL writes it: the shortest digits that give it back.
fn float(out: &mut BytesMut, value: f64, shown: impl std::fmt::Display + std::fmt::LowerExp) {
    let size = value.abs();
    if value.is_nan() {
        out.put_slice(b"NaN");
    } else if value.is_infinite() {
        out.put_slice(if value > 0.0 {
            b"Infinity"
        } else {
            b"-Infinity"
        });
    } else if size != 0.0 && !(1e-5..1e15).contains(&size) {
        text(out, format_args!("{shown:e}"));
    } else {
        text(out, shown);
    }
}

fn date(out: &mut BytesMut, day: NaiveDate) {
    // The year before 1 is the first before Christ.
    let year = if day.year() > 0 {
        day.year()
    } else {
        1 - day.year()
    };
    text(
        out,
        format_args!("{year:04}-{:02}-{:02}", day.month(), day.day()),
    );
}

fn clock(out: &mut BytesMut, micros: i64) {
    let seconds = micros / 1_000_000;
    text(
        out,
        format_args!(
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        ),
    );
    fraction(out, micros % 1_000_000);
}

/// Microseconds without zeros at the end.
fn fraction(out: &mut BytesMut, micros: i64) {
    if micros != 0 {
        let digits = format!("{micros:06}");
        text(out, format_args!(".{}", digits.trim_end_matches('0')));
    }
}

fn interval(out: &mut BytesMut, months: i32, days: i32, micros: i64) {
    let mut parts: Vec<String> = Vec::new();
    for (number, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        match number {
            0 => {}
            1 => parts.push(format!("1 {unit}")),
            number => parts.push(format!("{number} {unit}s")),
        }
    }
    if !parts.is_empty() && micros == 0 {
        return text(out, parts.join(" "));
    }
    if !parts.is_empty() {
        text(out, parts.join(" "));
        out.put_u8(b' ');
    }
    if micros < 0 {
        out.put_u8(b'-');
    }
    let size = micros.unsigned_abs();
    clock(out, i64::try_from(size).unwrap_or(i64::MAX));
}

/// A whole or decimal number in digits.
fn digits(array: &ArrayRef, row: usize) -> Result<String, Failure> {
    Ok(match array.data_type() {
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Decimal128(..) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Decimal256(..) => array.as_primitive::<Decimal256Type>().value_as_string(row),
        _ => {
            let options = FormatOptions::default();
            let formatter =
                ArrayFormatter::try_new(array, &options).map_err(|error| failed(&error))?;
            formatter
                .value(row)
                .try_to_string()
                .map_err(|error| failed(&error))?
        }
    })
}

/// A number in digits as binary `numeric`: groups of four digits, counted from the point.
fn numeric(out: &mut BytesMut, digits: &str) {
    let (sign, plain) = match digits.strip_prefix('-') {
        Some(plain) => (0x4000_u16, plain),
        None => (0, digits),
    };
    let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
    let whole = whole.trim_start_matches('0');
    let mut groups: Vec<u16> = Vec::new();
    let value = |group: &str| group.parse::<u16>().unwrap_or_default();
    let head = whole.len() % 4;
    let mut rest = whole;
    if head > 0 {
        let (first, others) = whole.split_at(head);
        groups.push(value(first));
        rest = others;
    }
    while !rest.is_empty() {
        let (first, others) = rest.split_at(4.min(rest.len()));
        groups.push(value(first));
        rest = others;
    }
    let mut weight = i16::try_from(groups.len()).unwrap_or(i16::MAX) - 1;
    let mut rest = part;
    while !rest.is_empty() {
        let (first, others) = rest.split_at(4.min(rest.len()));
        groups.push(value(&format!("{first:0<4}")));
        rest = others;
    }
    let zeros = groups.iter().take_while(|group| **group == 0).count();
    groups.drain(..zeros);
    weight -= i16::try_from(zeros).unwrap_or_default();
    while groups.last() == Some(&0) {
        groups.pop();
    }
    if groups.is_empty() {
        weight = 0;
    }
    out.put_u16(u16::try_from(groups.len()).unwrap_or(u16::MAX));
    out.put_i16(weight);
    out.put_u16(if groups.is_empty() { 0 } else { sign });
    out.put_u16(u16::try_from(part.len()).unwrap_or(u16::MAX));
    for group in groups {
        out.put_u16(group);
    }
}

/// The fields of a row: their bytes, `None` for NULL.
pub(crate) fn values(row: &DataRow) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest: &[u8] = &row.data;
    std::iter::from_fn(move || {
        let (length, others) = rest.split_first_chunk::<4>()?;
        let length = i32::from_be_bytes(*length);
        match usize::try_from(length) {
            Ok(length) => {
                let (value, others) = others.split_at_checked(length)?;
                rest = others;
                Some(Some(value))
            }
            Err(_) => {
                rest = others;
                Some(None)
            }
        }
    })
}

const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;
const POSTGRES_EPOCH_DAYS: i32 = 10_957;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_has_groups_of_four_digits() {
        for (digits, expected) in [
            ("0", vec![0, 0, 0, 0, 0, 0, 0, 0]),
            ("18446744073709551615", {
                let mut bytes = vec![0, 5, 0, 4, 0, 0, 0, 0];
                for group in [1844_u16, 6744, 737, 955, 1615] {
                    bytes.extend(group.to_be_bytes());
                }
                bytes
            }),
            ("-12.05", vec![0, 2, 0, 0, 0x40, 0, 0, 2, 0, 12, 1, 0xf4]),
            ("0.0001", vec![0, 1, 0xff, 0xff, 0, 0, 0, 4, 0, 1]),
            ("10000", vec![0, 1, 0, 1, 0, 0, 0, 0, 0, 1]),
        ] {
            let mut out = BytesMut::new();
            numeric(&mut out, digits);
            assert_eq!(out.to_vec(), expected, "{digits}");
        }
    }

    #[test]
    fn times_and_lengths_of_time_are_written_as_postgresql_writes_them() {
        let written = |write: &dyn Fn(&mut BytesMut)| {
            let mut out = BytesMut::new();
            write(&mut out);
            String::from_utf8(out.to_vec()).unwrap()
        };
        assert_eq!(
            written(&|out| interval(out, 14, 1, 1_500_000)),
            "1 year 2 mons 1 day 00:00:01.5"
        );
        assert_eq!(written(&|out| interval(out, 0, 0, -1)), "-00:00:00.000001");
        assert_eq!(written(&|out| interval(out, 0, 3, 0)), "3 days");
        assert_eq!(written(&|out| interval(out, 0, 0, 0)), "00:00:00");
        assert_eq!(written(&|out| float(out, 0.1, 0.1)), "0.1");
        assert_eq!(written(&|out| float(out, 1e300, 1e300)), "1e300");
        assert_eq!(written(&|out| float(out, f64::NAN, f64::NAN)), "NaN");
    }
}
