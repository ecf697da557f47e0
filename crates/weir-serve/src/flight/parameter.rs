//! Values of parameters as Arrow has them.

use std::collections::HashMap;

use arrow::array::{AnyDictionaryArray, Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, TimeUnit, UInt64Type};
use arrow::ipc::{self, Message, MessageHeader, root_as_message};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_flight::FlightData;
use chrono::{DateTime, SecondsFormat};
use tonic::Status;
use weir_engine::Parameter;

use super::bitmaps::Layout;
use super::field_types;
use super::flow::plain_type;
use super::prepared::Values;
use crate::error::{Failure, FailureKind};
use crate::retained::check_list;

/// The schema of the parameters of a statement: text where the type is unknown.
pub(super) fn schema(inferred: &[Option<DataType>]) -> Schema {
    let fields = inferred.iter().enumerate().map(|(index, inferred)| {
        let kind = match inferred {
            None | Some(DataType::Null) => DataType::Utf8,
            Some(kind) => plain_type(kind),
        };
        Field::new(format!("${}", index + 1), kind, true)
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// Passes on a message whose rows are not compressed, and whose buffers lie within it; `layout` is that of the last schema. Arrow's
/// reader allocates the length that stands in front of a compressed buffer before it decompresses anything, so that eight octets would
/// end the process; and it panics where a buffer ends behind the message, or a bitmap of NULLs before its column.
///
/// # Errors
/// When the rows are compressed, a buffer is not in the message or too short, or a schema has types that no parameter has.
pub(super) fn checked(layout: &mut Layout, data: FlightData) -> Result<FlightData, Status> {
    // The reader reports a malformed header.
    let message = root_as_message(&data.data_header).ok();
    let schema = message.and_then(|message| message.header_as_schema());
    if schema.is_some_and(|schema| !field_types::are_known(schema)) {
        return Err(Status::invalid_argument(
            "the schema of the parameters is malformed Arrow data, or has types that no parameter has",
        ));
    }
    if let Some(schema) = schema {
        *layout = Layout::of(schema);
    }
    let Some(batch) = message.and_then(batch_of) else {
        return Ok(data);
    };
    if batch.compression().is_some() {
        return Err(Status::invalid_argument(
            "the values of parameters are compressed, and only uncompressed ones are accepted",
        ));
    }
    let body_bytes = data.data_body.len();
    let is_within = |offset: i64, length: i64| {
        let end = offset.checked_add(length);
        offset >= 0
            && length >= 0
            && end.is_some_and(|end| usize::try_from(end).is_ok_and(|end| end <= body_bytes))
    };
    let mut buffers = batch
        .buffers()
        .into_iter()
        .flat_map(|buffers| buffers.iter());
    if !buffers.all(|buffer| is_within(buffer.offset(), buffer.length())) {
        return Err(Status::invalid_argument(
            "the parameter values are malformed Arrow data: a buffer ends behind its message",
        ));
    }
    match message.is_none_or(|message| layout.has_bitmaps(message)) {
        true => Ok(data),
        false => Err(Status::invalid_argument(
            "the parameter values are malformed Arrow data: a bitmap of NULLs is shorter than its column",
        )),
    }
}

/// The rows of a message.
fn batch_of(message: Message<'_>) -> Option<ipc::RecordBatch<'_>> {
    match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => message.header_as_dictionary_batch()?.data(),
        _ => None,
    }
}

/// The rows of a batch as values of `$1`, `$2` and so on.
///
/// # Errors
/// When a value is of a type that no parameter has.
pub(super) fn rows(batch: &RecordBatch) -> Result<Vec<Values>, Failure> {
    let mut rows: Vec<Values> = vec![Vec::with_capacity(batch.num_columns()); batch.num_rows()];
    for (column, number) in batch.columns().iter().zip(1_usize..) {
        let name = number.to_string();
        let values = values(column)
            .map_err(|failure| Failure::new(failure.kind, format!("${name}: {failure}")))?;
        for (row, value) in rows.iter_mut().zip(values) {
            row.push((name.clone(), value));
        }
    }
    Ok(rows)
}

/// The number of the values of a batch, those of its lists too, and the bytes of their texts, before any of them is made: a batch of some
/// bytes may name one text thousands of times, or have a list of two thousand million nulls.
pub(super) fn size(batch: &RecordBatch) -> (usize, usize) {
    let columns = batch.columns().iter().map(|column| size_of_array(column));
    columns.fold((0, 0), sum)
}

fn sum(one: (usize, usize), other: (usize, usize)) -> (usize, usize) {
    (one.0.saturating_add(other.0), one.1.saturating_add(other.1))
}

fn size_of_array(array: &dyn Array) -> (usize, usize) {
    let count = array.len();
    // The lengths of views are their lowest 32 bits.
    let viewed = |views: &[u128]| {
        let lengths = views.iter().map(|view| view & u128::from(u32::MAX));
        lengths.fold(0, |bytes: usize, length| {
            bytes.saturating_add(usize::try_from(length).unwrap_or(usize::MAX))
        })
    };
    match array.data_type() {
        DataType::Utf8View => (count, viewed(array.as_string_view().views())),
        DataType::BinaryView => (count, viewed(array.as_binary_view().views())),
        DataType::List(_) => sum((count, 0), size_of_array(array.as_list::<i32>().values())),
        DataType::LargeList(_) => sum((count, 0), size_of_array(array.as_list::<i64>().values())),
        DataType::FixedSizeList(..) => {
            let values = array.as_fixed_size_list().values();
            sum((count, 0), size_of_array(values))
        }
        // What lists of a dictionary take is not known without making them.
        DataType::Dictionary(_, kind)
            if kind.is_nested() || matches!(**kind, DataType::Dictionary(..)) =>
        {
            (usize::MAX, 0)
        }
        DataType::Dictionary(..) => size_of_dictionary(array.as_any_dictionary()),
        // Each is a text with its sign, its point and a zero in front.
        DataType::Decimal32(precision, _)
        | DataType::Decimal64(precision, _)
        | DataType::Decimal128(precision, _)
        | DataType::Decimal256(precision, _) => {
            let bytes = usize::from(*precision).saturating_add(3);
            (count, count.saturating_mul(bytes))
        }
        // Values of other types are as long as what has come of them.
        _ => (count, array.to_data().get_slice_memory_size().unwrap_or(0)),
    }
}

fn size_of_dictionary(dictionary: &dyn AnyDictionaryArray) -> (usize, usize) {
    let values = dictionary.values();
    let mut known = HashMap::new();
    let Ok(keys) = cast(dictionary.keys(), &DataType::UInt64) else {
        return (usize::MAX, 0);
    };
    let named = keys.as_primitive::<UInt64Type>().iter().map(|key| {
        let place = key.and_then(|key| usize::try_from(key).ok());
        // Keys without a value are refused when the values are made.
        let place = place.filter(|place| *place < values.len());
        place.map_or((1, 0), |place| {
            *known
                .entry(place)
                .or_insert_with(|| size_of_array(&values.slice(place, 1)))
        })
    });
    named.fold((0, 0), sum)
}

fn values(array: &ArrayRef) -> Result<Vec<Parameter>, Failure> {
    let failed =
        |error: arrow::error::ArrowError| Failure::new(FailureKind::Plan, error.to_string());
    let to = |kind: &DataType| cast(array, kind).map_err(failed);
    let count = array.len();
    // A dictionary may have no value where its key is not null, so that nulls are those of the cast values.
    let each = |array: &dyn Array, value: &dyn Fn(usize) -> Parameter| {
        let one = |row| match array.is_null(row) {
            true => Parameter::Null,
            false => value(row),
        };
        (0..count).map(one).collect::<Vec<_>>()
    };
    Ok(match array.data_type() {
        DataType::Null => vec![Parameter::Null; count],
        DataType::Boolean => {
            let flags = array.as_boolean();
            each(flags, &|row| Parameter::Boolean(flags.value(row)))
        }
        kind if kind.is_signed_integer() => {
            let wide = to(&DataType::Int64)?;
            let wide = wide.as_primitive::<Int64Type>();
            each(wide, &|row| Parameter::Integer(wide.value(row).into()))
        }
        kind if kind.is_unsigned_integer() => {
            let wide = to(&DataType::UInt64)?;
            let wide = wide.as_primitive::<UInt64Type>();
            each(wide, &|row| Parameter::Integer(wide.value(row).into()))
        }
        kind if kind.is_floating() => {
            let wide = to(&DataType::Float64)?;
            let wide = wide.as_primitive::<Float64Type>();
            each(wide, &|row| Parameter::Float(wide.value(row)))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            let texts = to(&DataType::Utf8)?;
            let texts = texts.as_string::<i32>();
            each(texts, &|row| Parameter::Text(texts.value(row).to_owned()))
        }
        DataType::Binary
        | DataType::LargeBinary
        | DataType::BinaryView
        | DataType::FixedSizeBinary(_) => {
            let bytes = to(&DataType::Binary)?;
            let bytes = bytes.as_binary::<i32>();
            each(bytes, &|row| Parameter::Bytes(bytes.value(row).to_vec()))
        }
        DataType::Timestamp(unit, zone) => times(array, *unit, zone.is_some())?,
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => lists(array)?,
        DataType::Dictionary(_, kind) => values(&to(kind)?)?,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimals(array, *precision, *scale)?,
        DataType::Date32 => texts(array, &|text| Some(Parameter::Text(text.to_owned())))?,
        DataType::Date64 => {
            let milliseconds = times(array, TimeUnit::Millisecond, false)?;
            milliseconds.into_iter().map(day).collect()
        }
        other => return Err(unknown(other)),
    })
}

/// Times of a column, which are written without a zone when it has none.
fn times(array: &ArrayRef, unit: TimeUnit, is_zoned: bool) -> Result<Vec<Parameter>, Failure> {
    let numbers = cast(array, &DataType::Int64)
        .map_err(|error| Failure::new(FailureKind::Plan, error.to_string()))?;
    let numbers = numbers.as_primitive::<Int64Type>().iter();
    let time = |number: Option<i64>| -> Result<Parameter, Failure> {
        let Some(number) = number else {
            return Ok(Parameter::Null);
        };
        let instant = match unit {
            TimeUnit::Second => DateTime::from_timestamp(number, 0),
            TimeUnit::Millisecond => DateTime::from_timestamp_millis(number),
            TimeUnit::Microsecond => DateTime::from_timestamp_micros(number),
            TimeUnit::Nanosecond => Some(DateTime::from_timestamp_nanos(number)),
        };
        let instant = instant
            .ok_or_else(|| Failure::new(FailureKind::Plan, "the year of a time is out of range"))?;
        let text = instant.to_rfc3339_opts(SecondsFormat::Nanos, true);
        Ok(Parameter::Time(match is_zoned {
            true => text,
            false => text.trim_end_matches('Z').to_owned(),
        }))
    };
    numbers.map(time).collect()
}

/// The day of a time.
fn day(time: Parameter) -> Parameter {
    match time {
        Parameter::Time(text) => {
            let day = text.split_once('T').map_or(&*text, |(day, _)| day);
            Parameter::Text(day.to_owned())
        }
        other => other,
    }
}

/// Decimal numbers, which have the type of their column: its digits stand in each of them, with zeros in front. Numbers without a
/// fraction are whole ones, which stand where a decimal number does not, as in LIMIT.
fn decimals(array: &ArrayRef, precision: u8, scale: i8) -> Result<Vec<Parameter>, Failure> {
    let scale = usize::try_from(scale).unwrap_or(0);
    let digits = usize::from(precision).saturating_sub(scale);
    texts(array, &|text| {
        if scale == 0
            && let Ok(whole) = text.parse()
        {
            return Some(Parameter::Integer(whole));
        }
        let (sign, plain) = match text.strip_prefix('-') {
            Some(plain) => ("-", plain),
            None => ("", text),
        };
        let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
        let point = if part.is_empty() { "" } else { "." };
        let written = format!("{sign}{whole:0>digits$}{point}{part}");
        Some(Parameter::Decimal(written))
    })
}

/// Whether a value is a decimal number.
pub(super) fn has_decimals(rows: &[Values]) -> bool {
    rows.iter().flatten().any(|(_, value)| is_decimal(value))
}

fn is_decimal(value: &Parameter) -> bool {
    match value {
        Parameter::Decimal(_) => true,
        Parameter::List(values) => values.iter().any(is_decimal),
        _ => false,
    }
}

/// Puts the nearest floating-point numbers in the places of decimal numbers.
pub(super) fn round_decimals(rows: &mut [Values]) {
    for (_, value) in rows.iter_mut().flatten() {
        round_decimal(value);
    }
}

fn round_decimal(value: &mut Parameter) {
    match value {
        Parameter::Decimal(text) => {
            if let Ok(number) = text.parse() {
                *value = Parameter::Float(number);
            }
        }
        Parameter::List(values) => values.iter_mut().for_each(round_decimal),
        _ => {}
    }
}

fn lists(array: &ArrayRef) -> Result<Vec<Parameter>, Failure> {
    let kind = match plain_type(array.data_type()) {
        DataType::FixedSizeList(item, _) => DataType::List(item),
        other => other,
    };
    let lists =
        cast(array, &kind).map_err(|error| Failure::new(FailureKind::Plan, error.to_string()))?;
    let Some(lists) = lists.as_list_opt::<i32>() else {
        return Err(unknown(array.data_type()));
    };
    let mut all = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        all.push(match lists.is_null(row) {
            true => Parameter::Null,
            false => {
                let list = lists.value(row);
                check_list(list.len())?;
                Parameter::List(values(&list)?)
            }
        });
    }
    Ok(all)
}

/// The values as texts.
fn texts(
    array: &ArrayRef,
    value: &dyn Fn(&str) -> Option<Parameter>,
) -> Result<Vec<Parameter>, Failure> {
    let failed =
        |error: arrow::error::ArrowError| Failure::new(FailureKind::Plan, error.to_string());
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array, &options).map_err(failed)?;
    let mut all = Vec::with_capacity(array.len());
    for row in 0..array.len() {
        all.push(match array.is_null(row) {
            true => Parameter::Null,
            false => {
                let text = formatter.value(row).try_to_string().map_err(failed)?;
                value(&text).ok_or_else(|| unknown(array.data_type()))?
            }
        });
    }
    Ok(all)
}

fn unknown(kind: &DataType) -> Failure {
    Failure::new(
        FailureKind::Plan,
        format!("parameters of type {kind} are not supported"),
    )
    .with_hint("pass it as text")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Date32Array, Date64Array, Decimal128Array, DictionaryArray, FixedSizeListArray,
        Float32Array, Int8Array, Int32Array, ListArray, NullArray, StringArray, StringViewArray,
        TimestampMicrosecondArray, TimestampSecondArray, UInt64Array,
    };
    use arrow::datatypes::{Int8Type, Int32Type};
    use arrow_flight::utils::batches_to_flight_data;
    use tonic::Code;

    use super::*;

    /// Ten thousand rows of one text of a megabyte, and lists of nulls, took all memory of the server.
    #[test]
    fn values_are_counted_before_they_are_made() {
        let text = "x".repeat(1000);
        let views = StringViewArray::from(vec![text.as_str(); 3]);
        assert_eq!(size_of_array(&views), (3, 3000));
        let texts = StringArray::from(vec![text.as_str(), "y"]);
        let keys = Int8Array::from(vec![Some(0), Some(0), None, Some(1), Some(0)]);
        let dictionary = DictionaryArray::try_new(keys, Arc::new(texts)).unwrap();
        let (count, bytes) = size_of_array(&dictionary);
        assert!(count == 5 && (3001..4000).contains(&bytes), "{bytes}");
        let nulls: ArrayRef = Arc::new(NullArray::new(2_000_000_000));
        let item = Arc::new(Field::new_list_field(DataType::Null, true));
        let fixed = FixedSizeListArray::new(item, 2_000_000_000, nulls, None);
        assert_eq!(size_of_array(&fixed), (2_000_000_001, 0));
        let batch = RecordBatch::try_from_iter([
            ("$1", Arc::new(views) as ArrayRef),
            ("$2", Arc::new(Int32Array::from(vec![1, 2, 3])) as ArrayRef),
        ]);
        assert_eq!(size(&batch.unwrap()), (6, 3012));
    }

    /// Arrow's reader panicked, which was counted as an error of the program.
    #[test]
    fn buffers_lie_within_their_message() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a text", "another"]));
        let batch = RecordBatch::try_from_iter([("$1", texts)]).unwrap();
        let schema = batch.schema();
        let messages = batches_to_flight_data(&schema, vec![batch]).unwrap();
        assert_eq!(messages.len(), 2);
        let mut layout = Layout::default();
        for message in messages {
            assert_eq!(checked(&mut layout, message.clone()).unwrap(), message);
            let mut cut = message;
            if !cut.data_body.is_empty() {
                cut.data_body.truncate(8);
                let refused = checked(&mut layout, cut).unwrap_err();
                assert_eq!(refused.code(), Code::InvalidArgument);
            }
        }
    }

    /// Arrow's reader panicked at an integer of 33 bits.
    #[test]
    fn schemas_have_types_that_arrow_knows() {
        let numbers: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("$1", numbers)]).unwrap();
        let messages = batches_to_flight_data(&batch.schema(), vec![batch]).unwrap();
        let schema = messages.first().unwrap();
        assert!(checked(&mut Layout::default(), schema.clone()).is_ok());
        // One of the bytes of 32 is the width.
        let places = (0..schema.data_header.len()).filter(|place| schema.data_header[*place] == 32);
        let refused = places.filter(|place| {
            let mut header = schema.data_header.to_vec();
            header[*place] = 33;
            let mut changed = schema.clone();
            changed.data_header = header.into();
            let refused = checked(&mut Layout::default(), changed);
            refused.is_err_and(|status| status.code() == Code::InvalidArgument)
        });
        assert!(refused.count() > 0);
    }

    fn check(array: ArrayRef, expected: &[Parameter]) {
        assert_eq!(values(&array).unwrap(), expected, "{array:?}");
    }

    fn text(text: &str) -> Parameter {
        Parameter::Text(text.to_owned())
    }

    #[test]
    fn values_are_what_clients_send() {
        check(Arc::new(NullArray::new(1)), &[Parameter::Null]);
        check(
            Arc::new(Int32Array::from(vec![Some(-1), None])),
            &[Parameter::Integer(-1), Parameter::Null],
        );
        check(
            Arc::new(UInt64Array::from(vec![u64::MAX])),
            &[Parameter::Integer(u64::MAX.into())],
        );
        check(
            Arc::new(Float32Array::from(vec![0.5])),
            &[Parameter::Float(0.5)],
        );
        check(Arc::new(StringArray::from(vec!["é"])), &[text("é")]);
        check(
            Arc::new("a b".split(' ').collect::<DictionaryArray<Int8Type>>()),
            &[text("a"), text("b")],
        );
        check(
            Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC")),
            &[Parameter::Time("1970-01-01T00:00:00.000001000Z".to_owned())],
        );
        check(Arc::new(Date32Array::from(vec![1])), &[text("1970-01-02")]);
        let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1), None])]);
        let fixed = [Some([Some(1), None])];
        let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(fixed, 2);
        let lists: [ArrayRef; 2] = [Arc::new(list), Arc::new(fixed)];
        for list in lists {
            check(
                list,
                &[Parameter::List(vec![
                    Parameter::Integer(1),
                    Parameter::Null,
                ])],
            );
        }
        let none: ArrayRef = Arc::new(arrow::array::DurationSecondArray::from(vec![1]));
        assert!(values(&none).is_err());
    }

    #[test]
    fn times_of_all_years_are_what_clients_send() {
        // The year 3000 has no nanoseconds of 64 bits, and was NULL.
        check(
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(32_503_680_000_000_000),
                None,
            ])),
            &[
                Parameter::Time("3000-01-01T00:00:00.000000000".to_owned()),
                Parameter::Null,
            ],
        );
        let never: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX]));
        assert!(values(&never).is_err());
        let never: ArrayRef = Arc::new(Date64Array::from(vec![i64::MAX]));
        assert!(values(&never).is_err());
        check(
            Arc::new(Date64Array::from(vec![Some(86_400_000), None])),
            &[text("1970-01-02"), Parameter::Null],
        );
    }

    #[test]
    fn decimals_have_the_type_of_their_column() {
        let decimals = |values: Vec<i128>, precision: u8, scale: i8| -> ArrayRef {
            let values = Decimal128Array::from(values);
            Arc::new(values.with_precision_and_scale(precision, scale).unwrap())
        };
        let decimal = |text: &str| Parameter::Decimal(text.to_owned());
        check(
            decimals(vec![125, -300, 5], 4, 2),
            &[decimal("01.25"), decimal("-03.00"), decimal("00.05")],
        );
        let long = 12_345_678_901_234_567_890_123_456_789_012_345_678;
        let digits = "1234567890123456789012345678.9012345678";
        check(decimals(vec![long], 38, 10), &[decimal(digits)]);
        check(decimals(vec![25], 2, 2), &[decimal("0.25")]);
        check(decimals(vec![5], 9, 0), &[Parameter::Integer(5)]);
        check(decimals(vec![5], 9, -2), &[Parameter::Integer(500)]);
    }

    #[test]
    fn decimals_become_floating_point_numbers_where_nothing_else_is_planned() {
        let row = |value: Parameter| vec![("1".to_owned(), value)];
        let decimal = Parameter::Decimal("-01.25".to_owned());
        let mut rows = vec![
            row(Parameter::Integer(1)),
            row(Parameter::List(vec![decimal.clone(), Parameter::Null])),
            row(decimal),
        ];
        assert!(!has_decimals(&rows[..1]) && has_decimals(&rows[..2]) && has_decimals(&rows[2..]));
        round_decimals(&mut rows);
        let float = Parameter::Float(-1.25);
        let list = Parameter::List(vec![float.clone(), Parameter::Null]);
        assert_eq!(rows, [row(Parameter::Integer(1)), row(list), row(float)]);
    }
}
