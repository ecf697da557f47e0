//! One column of a batch, ready to be written as text or as JSON.

use std::fmt::{Debug, Write as _};

use arrow::array::{
    AnyDictionaryArray, Array, ArrowPrimitiveType, AsArray, FixedSizeListArray, GenericBinaryArray,
    GenericListArray, GenericStringArray, OffsetSizeTrait, PrimitiveArray, StructArray,
};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowTimestampType, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType,
    DurationSecondType, Field, Fields, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::text::{push_hex, push_json_string};
use super::time::{Zone, push_timestamp};

/// The values of one array, with the work that depends on their type done once.
pub(super) struct Column<'a> {
    /// The numbers are bytes, by the unit in the metadata.
    is_size: bool,
    nulls: Option<NullBuffer>,
    values: ColumnValues<'a>,
}

/// Writes the value of a row.
type Push<'a> = Box<dyn Fn(usize, &mut String) + 'a>;

enum ColumnValues<'a> {
    Null,
    Boolean(Box<dyn Fn(usize) -> bool + 'a>),
    /// Digits that are a JSON number as they stand, however many.
    Number(Push<'a>),
    /// The shortest digits that give the same float back, and its value.
    Float(Push<'a>, Box<dyn Fn(usize) -> f64 + 'a>),
    Text(Box<dyn Fn(usize) -> &'a str + 'a>),
    Bytes(Box<dyn Fn(usize) -> &'a [u8] + 'a>),
    Timestamp(Push<'a>),
    /// The range of rows of the inner column that make up one value.
    List(Box<dyn Fn(usize) -> (usize, usize) + 'a>, Box<Column<'a>>),
    Struct(Vec<(&'a str, Column<'a>)>),
    Map(
        Box<dyn Fn(usize) -> (usize, usize) + 'a>,
        Box<[Column<'a>; 2]>,
    ),
    /// The row of the inner column that holds the value.
    Dictionary(Vec<usize>, Box<Column<'a>>),
    /// The nanoseconds that it is.
    Duration(Box<dyn Fn(usize) -> i128 + 'a>),
    /// The formatter of Arrow, whose text SQL reads, and the nanoseconds of the interval, unless it has months.
    Interval(ArrayFormatter<'a>, Box<dyn Fn(usize) -> Option<i128> + 'a>),
    /// The formatter of Arrow: dates, times, intervals, unions…
    Other(ArrayFormatter<'a>),
}

impl<'a> Column<'a> {
    /// Inspects `array` once.
    ///
    /// # Errors
    /// When Arrow cannot format the type.
    pub(super) fn new(array: &'a dyn Array) -> Result<Self, ArrowError> {
        Ok(Self {
            is_size: false,
            nulls: array.logical_nulls(),
            values: ColumnValues::new(array)?,
        })
    }

    /// The same column, with what its field says of it.
    pub(super) fn with_field(self, field: &Field) -> Self {
        let unit = field.metadata().get(weir_tables::UNIT_KEY);
        Self {
            is_size: unit.is_some_and(|unit| unit == weir_tables::UNIT_BYTES),
            ..self
        }
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        matches!(self.values, ColumnValues::Null)
            || self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Whether all values are texts that are not empty, of digits, letters, `+`, `-`, `.` and `:`, which no format has to quote.
    pub(super) const fn is_plain(&self) -> bool {
        matches!(
            self.values,
            ColumnValues::Boolean(_)
                | ColumnValues::Number(_)
                | ColumnValues::Float(..)
                | ColumnValues::Timestamp(_)
        )
    }

    /// The text of a column of texts, in a row that is not NULL.
    pub(super) fn text(&self, row: usize) -> Option<&'a str> {
        match &self.values {
            ColumnValues::Text(value) => Some(value(row)),
            _ => None,
        }
    }

    /// Appends the exact value; nothing for NULL.
    pub(super) fn push_text(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            return;
        }
        match &self.values {
            ColumnValues::Null => {}
            ColumnValues::Boolean(value) => out.push_str(if value(row) { "true" } else { "false" }),
            ColumnValues::Number(push)
            | ColumnValues::Timestamp(push)
            | ColumnValues::Float(push, _) => {
                push(row, out);
            }
            ColumnValues::Text(value) => out.push_str(value(row)),
            ColumnValues::Bytes(value) => push_hex(out, value(row)),
            ColumnValues::List(..) | ColumnValues::Struct(_) | ColumnValues::Map(..) => {
                self.push_json(row, out);
            }
            ColumnValues::Dictionary(keys, values) => {
                if let Some(&key) = keys.get(row) {
                    values.push_text(key, out);
                }
            }
            ColumnValues::Duration(value) => push_seconds(out, value(row)),
            ColumnValues::Interval(formatter, _) | ColumnValues::Other(formatter) => {
                let _ = write!(out, "{}", formatter.value(row));
            }
        }
    }

    /// Appends the value as [`Self::push_text`], with floats rounded for the eye, durations in readable units and times without
    /// trailing zeros.
    pub(super) fn push_rounded(&self, row: usize, out: &mut String) {
        match &self.values {
            ColumnValues::Float(_, value) if self.is_size && !self.is_null(row) => {
                push_size(out, value(row));
            }
            ColumnValues::Number(push) if self.is_size && !self.is_null(row) => {
                let start = out.len();
                push(row, out);
                let written = out.get(start..).unwrap_or_default();
                if let Ok(bytes) = written.parse() {
                    out.truncate(start);
                    push_size(out, bytes);
                }
            }
            ColumnValues::Float(_, value) if !self.is_null(row) => push_rounded(out, value(row)),
            ColumnValues::Duration(value) if !self.is_null(row) => push_duration(out, value(row)),
            ColumnValues::Interval(_, value) if !self.is_null(row) => match value(row) {
                Some(nanoseconds) => push_duration(out, nanoseconds),
                None => self.push_text(row, out),
            },
            ColumnValues::Timestamp(push) if !self.is_null(row) => {
                let start = out.len();
                push(row, out);
                shorten_time(out, start);
            }
            ColumnValues::Dictionary(keys, values) if !self.is_null(row) => {
                if let Some(&key) = keys.get(row) {
                    values.push_rounded(key, out);
                }
            }
            _ => self.push_text(row, out),
        }
    }

    /// Appends the value as JSON. Integers and decimals keep all their digits; NaN and the
    /// infinities, which JSON lacks, become null.
    pub(super) fn push_json(&self, row: usize, out: &mut String) {
        if self.is_null(row) {
            out.push_str("null");
            return;
        }
        match &self.values {
            ColumnValues::Float(_, value) if !value(row).is_finite() => out.push_str("null"),
            ColumnValues::Null
            | ColumnValues::Boolean(_)
            | ColumnValues::Number(_)
            | ColumnValues::Float(..) => {
                self.push_text(row, out);
            }
            ColumnValues::Text(value) => push_json_string(out, value(row)),
            ColumnValues::Bytes(_) | ColumnValues::Timestamp(_) => {
                out.push('"');
                self.push_text(row, out);
                out.push('"');
            }
            ColumnValues::List(range, values) => {
                let (start, end) = range(row);
                push_between(out, ['[', ']'], start..end, |out, at| {
                    values.push_json(at, out);
                });
            }
            ColumnValues::Struct(fields) => push_between(out, ['{', '}'], fields, |out, field| {
                push_json_string(out, field.0);
                out.push(':');
                field.1.push_json(row, out);
            }),
            ColumnValues::Map(range, entries) => {
                let (start, end) = range(row);
                let [keys, values] = &**entries;
                push_between(out, ['{', '}'], start..end, |out, at| {
                    let mut key = String::new();
                    keys.push_text(at, &mut key);
                    push_json_string(out, &key);
                    out.push(':');
                    values.push_json(at, out);
                });
            }
            ColumnValues::Dictionary(keys, values) => match keys.get(row) {
                Some(&key) => values.push_json(key, out),
                None => out.push_str("null"),
            },
            ColumnValues::Duration(_) => {
                out.push('"');
                self.push_text(row, out);
                out.push('"');
            }
            ColumnValues::Interval(formatter, _) | ColumnValues::Other(formatter) => {
                push_json_string(out, &formatter.value(row).to_string());
            }
        }
    }
}

impl<'a> ColumnValues<'a> {
    fn new(array: &'a dyn Array) -> Result<Self, ArrowError> {
        Ok(match array.data_type() {
            DataType::Null => Self::Null,
            DataType::Boolean => {
                let array = array.as_boolean();
                Self::Boolean(Box::new(|row| array.value(row)))
            }
            DataType::Int8 => integer::<Int8Type>(array),
            DataType::Int16 => integer::<Int16Type>(array),
            DataType::Int32 => integer::<Int32Type>(array),
            DataType::Int64 => integer::<Int64Type>(array),
            DataType::UInt8 => integer::<UInt8Type>(array),
            DataType::UInt16 => integer::<UInt16Type>(array),
            DataType::UInt32 => integer::<UInt32Type>(array),
            DataType::UInt64 => integer::<UInt64Type>(array),
            DataType::Float16 => float::<Float16Type>(array, |value| f64::from(value.to_f32())),
            DataType::Float32 => float::<Float32Type>(array, f64::from),
            DataType::Float64 => float::<Float64Type>(array, |value| value),
            DataType::Decimal32(..) => decimal::<Decimal32Type>(array),
            DataType::Decimal64(..) => decimal::<Decimal64Type>(array),
            DataType::Decimal128(..) => decimal::<Decimal128Type>(array),
            DataType::Decimal256(..) => decimal::<Decimal256Type>(array),
            DataType::Utf8 => string(array.as_string::<i32>()),
            DataType::LargeUtf8 => string(array.as_string::<i64>()),
            DataType::Utf8View => {
                let array = array.as_string_view();
                Self::Text(Box::new(|row| array.value(row)))
            }
            DataType::Binary => bytes(array.as_binary::<i32>()),
            DataType::LargeBinary => bytes(array.as_binary::<i64>()),
            DataType::BinaryView => {
                let array = array.as_binary_view();
                Self::Bytes(Box::new(|row| array.value(row)))
            }
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                Self::Bytes(Box::new(|row| array.value(row)))
            }
            DataType::Duration(unit) => Self::Duration(nanoseconds(array, *unit)),
            DataType::Interval(unit) => {
                let formatter = ArrayFormatter::try_new(array, &FormatOptions::new())?;
                Self::Interval(formatter, interval(array, *unit))
            }
            DataType::Timestamp(unit, zone) => timestamp(array, *unit, Zone::of(zone.as_deref())),
            DataType::List(_) => list(array.as_list::<i32>())?,
            DataType::LargeList(_) => list(array.as_list::<i64>())?,
            DataType::FixedSizeList(_, size) => fixed_size_list(array.as_fixed_size_list(), *size)?,
            DataType::Struct(fields) => structure(array.as_struct(), fields)?,
            DataType::Map(..) => {
                let array = array.as_map();
                let entries = [Column::new(array.keys())?, Column::new(array.values())?];
                Self::Map(offsets(array.value_offsets()), Box::new(entries))
            }
            DataType::Dictionary(..) => dictionary(array.as_any_dictionary())?,
            _ => Self::Other(ArrayFormatter::try_new(array, &FormatOptions::new())?),
        })
    }
}

/// True for the types whose values stand at the right of a table's cell.
pub(super) fn is_number(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_number(values),
        DataType::Duration(_) => true,
        other => other.is_numeric(),
    }
}

/// True for the types that make no sense when cut: part of a number or a time is another one.
pub(super) fn is_whole(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_whole(values),
        DataType::Boolean => true,
        other => is_number(other) || other.is_temporal(),
    }
}

fn integer<T: ArrowPrimitiveType>(array: &dyn Array) -> ColumnValues<'_>
where
    T::Native: itoa::Integer,
{
    let array = array.as_primitive::<T>();
    ColumnValues::Number(Box::new(|row, out| {
        out.push_str(itoa::Buffer::new().format(array.value(row)));
    }))
}

fn float<T: ArrowPrimitiveType>(array: &dyn Array, widen: fn(T::Native) -> f64) -> ColumnValues<'_>
where
    T::Native: Debug,
{
    let array = array.as_primitive::<T>();
    ColumnValues::Float(
        // Debug keeps `.0` and turns to an exponent where the digits would be many.
        Box::new(|row, out| {
            let _ = write!(out, "{:?}", array.value(row));
        }),
        Box::new(move |row| widen(array.value(row))),
    )
}

fn decimal<T: DecimalType>(array: &dyn Array) -> ColumnValues<'_> {
    let array = array.as_primitive::<T>();
    ColumnValues::Number(Box::new(|row, out| {
        out.push_str(&array.value_as_string(row));
    }))
}

fn string<O: OffsetSizeTrait>(array: &GenericStringArray<O>) -> ColumnValues<'_> {
    ColumnValues::Text(Box::new(|row| array.value(row)))
}

fn bytes<O: OffsetSizeTrait>(array: &GenericBinaryArray<O>) -> ColumnValues<'_> {
    ColumnValues::Bytes(Box::new(|row| array.value(row)))
}

fn timestamp(array: &dyn Array, unit: TimeUnit, zone: Zone) -> ColumnValues<'_> {
    fn of<T: ArrowTimestampType>(array: &PrimitiveArray<T>, zone: Zone) -> ColumnValues<'_> {
        ColumnValues::Timestamp(Box::new(move |row, out| {
            push_timestamp(out, array.value(row), T::UNIT, zone);
        }))
    }
    match unit {
        TimeUnit::Second => of::<TimestampSecondType>(array.as_primitive(), zone),
        TimeUnit::Millisecond => of::<TimestampMillisecondType>(array.as_primitive(), zone),
        TimeUnit::Microsecond => of::<TimestampMicrosecondType>(array.as_primitive(), zone),
        TimeUnit::Nanosecond => of::<TimestampNanosecondType>(array.as_primitive(), zone),
    }
}

fn list<O: OffsetSizeTrait>(array: &GenericListArray<O>) -> Result<ColumnValues<'_>, ArrowError> {
    let inner = Column::new(array.values())?;
    Ok(ColumnValues::List(
        offsets(array.value_offsets()),
        Box::new(inner),
    ))
}

fn fixed_size_list(array: &FixedSizeListArray, size: i32) -> Result<ColumnValues<'_>, ArrowError> {
    let size = usize::try_from(size).unwrap_or(0);
    let inner = Column::new(array.values())?;
    Ok(ColumnValues::List(
        Box::new(move |row| {
            let start = row.saturating_mul(size);
            (start, start.saturating_add(size))
        }),
        Box::new(inner),
    ))
}

fn structure<'a>(
    array: &'a StructArray,
    fields: &'a Fields,
) -> Result<ColumnValues<'a>, ArrowError> {
    let columns = fields.iter().zip(array.columns());
    Ok(ColumnValues::Struct(
        columns
            .map(|(field, column)| Ok((field.name().as_str(), Column::new(column)?)))
            .collect::<Result<_, ArrowError>>()?,
    ))
}

fn dictionary(array: &dyn AnyDictionaryArray) -> Result<ColumnValues<'_>, ArrowError> {
    let keys = match array.values().len() {
        0 => Vec::new(),
        _ => array.normalized_keys(),
    };
    Ok(ColumnValues::Dictionary(
        keys,
        Box::new(Column::new(array.values())?),
    ))
}

/// The range that neighbouring offsets span.
fn offsets<O: OffsetSizeTrait>(offsets: &[O]) -> Box<dyn Fn(usize) -> (usize, usize) + '_> {
    Box::new(|row| match offsets.get(row..row.saturating_add(2)) {
        Some([start, end]) => (start.as_usize(), end.as_usize()),
        _ => (0, 0),
    })
}

/// Appends the items of `list`, with commas, between an opening and a closing character.
fn push_between<T>(
    out: &mut String,
    [open, close]: [char; 2],
    list: impl IntoIterator<Item = T>,
    push: impl Fn(&mut String, T),
) {
    out.push(open);
    for (at, item) in list.into_iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        push(out, item);
    }
    out.push(close);
}

/// Appends a float as a terminal shows it: three decimals from 1 up, six significant digits below,
/// without trailing zeros; very large and very small ones with an exponent.
fn push_rounded(out: &mut String, value: f64) {
    let size = value.abs();
    let start = out.len();
    let _ = match size {
        _ if !value.is_finite() || value == 0.0 => write!(out, "{value:?}"),
        _ if !(1e-5..1e15).contains(&size) => write!(out, "{value:.5e}"),
        _ if size >= 1.0 => write!(out, "{value:.3}"),
        _ if size >= 0.1 => write!(out, "{value:.6}"),
        _ if size >= 0.01 => write!(out, "{value:.7}"),
        _ if size >= 0.001 => write!(out, "{value:.8}"),
        _ => write!(out, "{value:.9}"),
    };
    let written = out.get(start..).unwrap_or_default();
    if written.contains('.') && !written.contains('e') {
        let kept = written.trim_end_matches('0').len();
        // `1.` needs one digit after the point.
        let point = usize::from(written.get(..kept).is_some_and(|text| text.ends_with('.')));
        out.truncate(start + kept + point);
    }
}

/// Removes the trailing groups of three zeros from the fraction of the time at `start`, and puts a blank between day and time.
fn shorten_time(out: &mut String, start: usize) {
    let Some(written) = out.get(start..) else {
        return;
    };
    let mut short = written.replacen('T', " ", 1);
    if let Some(point) = short.find('.') {
        let digits = short.get(point + 1..).unwrap_or_default();
        let len = digits
            .find(|digit: char| !digit.is_ascii_digit())
            .unwrap_or(digits.len());
        let fraction = digits.get(..len).unwrap_or_default();
        let mut kept = fraction;
        while let Some(shorter) = kept.strip_suffix("000") {
            kept = shorter;
        }
        let kept_end = match kept.len() {
            0 => point,
            kept => point + 1 + kept,
        };
        short.replace_range(kept_end..point + 1 + len, "");
    }
    out.truncate(start);
    out.push_str(&short);
}

/// The nanoseconds of durations of this unit.
fn nanoseconds(array: &dyn Array, unit: TimeUnit) -> Box<dyn Fn(usize) -> i128 + '_> {
    fn of<T: ArrowPrimitiveType<Native = i64>>(
        array: &dyn Array,
        scale: i128,
    ) -> Box<dyn Fn(usize) -> i128 + '_> {
        let array = array.as_primitive::<T>();
        Box::new(move |row| i128::from(array.value(row)) * scale)
    }
    match unit {
        TimeUnit::Second => of::<DurationSecondType>(array, 1_000_000_000),
        TimeUnit::Millisecond => of::<DurationMillisecondType>(array, 1_000_000),
        TimeUnit::Microsecond => of::<DurationMicrosecondType>(array, 1_000),
        TimeUnit::Nanosecond => of::<DurationNanosecondType>(array, 1),
    }
}

/// The nanoseconds of intervals that have no months.
fn interval(array: &dyn Array, unit: IntervalUnit) -> Box<dyn Fn(usize) -> Option<i128> + '_> {
    match unit {
        IntervalUnit::YearMonth => Box::new(|_| None),
        IntervalUnit::DayTime => {
            let array = array.as_primitive::<IntervalDayTimeType>();
            Box::new(|row| {
                let value = array.value(row);
                Some(
                    i128::from(value.days) * NS_IN_DAY + i128::from(value.milliseconds) * 1_000_000,
                )
            })
        }
        IntervalUnit::MonthDayNano => {
            let array = array.as_primitive::<IntervalMonthDayNanoType>();
            Box::new(|row| {
                let value = array.value(row);
                let nanoseconds =
                    i128::from(value.days) * NS_IN_DAY + i128::from(value.nanoseconds);
                (value.months == 0).then_some(nanoseconds)
            })
        }
    }
}

/// `26.03 seconds`, which weir, DuckDB, PostgreSQL and pandas take for an interval: with all digits that there are.
fn push_seconds(out: &mut String, nanoseconds: i128) {
    if nanoseconds < 0 {
        out.push('-');
    }
    let size = nanoseconds.unsigned_abs();
    let _ = write!(out, "{}", size / NS_IN_S);
    let fraction = size % NS_IN_S;
    if fraction > 0 {
        let digits = format!("{fraction:09}");
        let _ = write!(out, ".{}", digits.trim_end_matches('0'));
    }
    out.push_str(" seconds");
}

/// `999 B`, `18.1 GB`: three digits of a number of bytes, in the units of disks and lines (1 kB is 1,000 B).
fn push_size(out: &mut String, bytes: f64) {
    let mut size = bytes;
    let mut unit = 0;
    // A number that would be rounded to 1,000 is shown in the next unit.
    while size.abs() >= 999.5 && unit + 1 < SIZE_UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    let name = SIZE_UNITS.get(unit).copied().unwrap_or_default();
    let _ = match size.abs() {
        _ if !size.is_finite() => write!(out, "{size}"),
        _ if unit == 0 && size.fract() == 0.0 => write!(out, "{size} {name}"),
        small if small < 9.995 => write!(out, "{size:.2} {name}"),
        small if small < 99.95 => write!(out, "{size:.1} {name}"),
        _ => write!(out, "{size:.0} {name}"),
    };
}

const SIZE_UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const NS_IN_DAY: i128 = 86_400_000_000_000;

/// `15 µs`, `3.25 ms`, `59.986 s`, `1:02:03.5`, `2 d 03:04:05`: with all digits that there are.
fn push_duration(out: &mut String, nanoseconds: i128) {
    let sign = if nanoseconds < 0 { "-" } else { "" };
    let size = nanoseconds.unsigned_abs();
    let fraction = |part: u128, of: u128| {
        let width = of.ilog10() as usize;
        let digits = format!("{part:0width$}");
        match digits.trim_end_matches('0') {
            "" => String::new(),
            digits => format!(".{digits}"),
        }
    };
    let with_unit = |of: u128, unit: &str| {
        let tail = match of {
            1 => String::new(),
            of => fraction(size % of, of),
        };
        format!("{sign}{}{tail} {unit}", size / of)
    };
    let text = match size {
        0 => "0 s".to_owned(),
        size if size < 1_000 => with_unit(1, "ns"),
        size if size < 1_000_000 => with_unit(1_000, "µs"),
        size if size < NS_IN_S => with_unit(1_000_000, "ms"),
        size if size < 60 * NS_IN_S => with_unit(NS_IN_S, "s"),
        _ => {
            let seconds = size / NS_IN_S;
            let tail = fraction(size % NS_IN_S, NS_IN_S);
            let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
            let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
            match days {
                0 => format!("{sign}{hours}:{minutes:02}:{seconds:02}{tail}"),
                days => format!("{sign}{days} d {hours:02}:{minutes:02}:{seconds:02}{tail}"),
            }
        }
    };
    out.push_str(&text);
}

const NS_IN_S: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_a_terminal_have_no_zeros_at_their_ends() {
        for (text, expected) in [
            (
                "2026-11-23T13:46:30.123456789Z",
                "2026-11-23 13:46:30.123456789Z",
            ),
            (
                "2026-11-23T13:46:30.123400000Z",
                "2026-11-23 13:46:30.123400Z",
            ),
            (
                "2026-11-23T13:46:30.120000000+02:00",
                "2026-11-23 13:46:30.120+02:00",
            ),
            ("2026-11-23T13:46:00.000000000", "2026-11-23 13:46:00"),
            ("2026-11-23T13:46:00Z", "2026-11-23 13:46:00Z"),
        ] {
            let mut out = format!("x{text}");
            shorten_time(&mut out, 1);
            assert_eq!(out, format!("x{expected}"));
        }
    }

    #[test]
    fn sizes_are_written_for_the_eye() {
        for (bytes, expected) in [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.00 kB"),
            (1500.0, "1.50 kB"),
            (-99_950.0, "-100 kB"),
            (999_499.0, "999 kB"),
            (999_500.0, "1.00 MB"),
            (18_057_300_000.0, "18.1 GB"),
            (12.5, "12.5 B"),
            (u64::MAX as f64, "18.4 EB"),
            (1e30, "1000000000000 EB"),
            (f64::NAN, "NaN"),
        ] {
            let mut out = String::new();
            push_size(&mut out, bytes);
            assert_eq!(out, expected, "{bytes}");
        }
    }

    #[test]
    fn durations_are_written_for_machines() {
        for (nanoseconds, expected) in [
            (0, "0 seconds"),
            (1, "0.000000001 seconds"),
            (-1_500_000_000, "-1.5 seconds"),
            (-3_000_000, "-0.003 seconds"),
            (184_280_863_461_183_000, "184280863.461183 seconds"),
            (i128::from(i64::MIN), "-9223372036.854775808 seconds"),
        ] {
            let mut out = String::new();
            push_seconds(&mut out, nanoseconds);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn durations_are_written_for_the_eye() {
        for (nanoseconds, expected) in [
            (0, "0 s"),
            (7, "7 ns"),
            (15_000, "15 µs"),
            (3_250_000, "3.25 ms"),
            (-3_000_000, "-3 ms"),
            (1_000_000_000, "1 s"),
            (59_986_000_000, "59.986 s"),
            (90 * 60 * 1_000_000_000, "1:30:00"),
            (61_500_000_000, "0:01:01.5"),
            (184_280_863_461_183_000, "2132 d 21:07:43.461183"),
            (i128::from(i64::MIN), "-106751 d 23:47:16.854775808"),
        ] {
            let mut out = String::new();
            push_duration(&mut out, nanoseconds);
            assert_eq!(out, expected);
        }
    }

    #[test]
    fn floats_are_rounded_for_the_eye() {
        for (value, expected) in [
            (0.0, "0.0"),
            (1.0, "1.0"),
            (-283.456_789, "-283.457"),
            (1_234_567.891_4, "1234567.891"),
            (1.0 / 3.0, "0.333333"),
            (0.25, "0.25"),
            (0.000_123_456_789, "0.000123457"),
            (1e-9, "1.00000e-9"),
            (1.5e300, "1.50000e300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            let mut out = String::from("x");
            push_rounded(&mut out, value);
            assert_eq!(out, format!("x{expected}"));
        }
    }
}
