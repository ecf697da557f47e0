//! The lengths of windows, and the numbers that times are.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::error::Result;

/// The type of the starts of windows over a column of this type: times in nanoseconds, or numbers.
pub(crate) fn window_type(function: &str, over: &DataType) -> Result<DataType> {
    match over {
        DataType::Timestamp(_, zone) => Ok(DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())),
        DataType::Date32 | DataType::Date64 => Ok(DataType::Timestamp(TimeUnit::Nanosecond, None)),
        kind if kind.is_integer() => Ok(DataType::Int64),
        DataType::Null => Ok(DataType::Timestamp(TimeUnit::Nanosecond, None)),
        other => plan_err!("{function} takes a time or a whole number first, not {other}"),
    }
}

/// A length of time in nanoseconds, or of records; `what` names it in errors.
pub(crate) fn length(window: &DataType, value: &ScalarValue, what: &str) -> Result<i64> {
    let is_time = matches!(window, DataType::Timestamp(_, _));
    let has_months = match value {
        ScalarValue::IntervalMonthDayNano(Some(interval)) => interval.months != 0,
        ScalarValue::IntervalYearMonth(_) => true,
        _ => false,
    };
    let length = if is_time && has_months {
        return plan_err!("{what} cannot have months or years, whose length varies; write days");
    } else if is_time && is_interval(value) {
        nanoseconds(value)
    } else if !is_time && value.data_type().is_integer() {
        match value.cast_to(&DataType::Int64)? {
            ScalarValue::Int64(number) => number,
            _ => None,
        }
    } else if is_time {
        return plan_err!("{what} must be an interval, such as INTERVAL '1 second', not {value}");
    } else {
        let found = match is_interval(value) {
            true => "an interval".to_owned(),
            false => value.to_string(),
        };
        return plan_err!("{what} must be a whole number for windows over numbers, not {found}");
    };
    match length {
        Some(length) if length > 0 => Ok(length),
        Some(_) => plan_err!("{what} must be greater than zero"),
        None => plan_err!("{what} is out of range"),
    }
}

const fn is_interval(value: &ScalarValue) -> bool {
    matches!(
        value,
        ScalarValue::IntervalMonthDayNano(Some(_))
            | ScalarValue::IntervalDayTime(Some(_))
            | ScalarValue::DurationSecond(Some(_))
            | ScalarValue::DurationMillisecond(Some(_))
            | ScalarValue::DurationMicrosecond(Some(_))
            | ScalarValue::DurationNanosecond(Some(_))
    )
}

/// The nanoseconds of an interval; `None` when it has months, is no interval, or is out of range.
pub(crate) fn nanoseconds(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::IntervalMonthDayNano(Some(interval)) if interval.months == 0 => {
            let days = i64::from(interval.days).checked_mul(DAY_NS)?;
            days.checked_add(interval.nanoseconds)
        }
        ScalarValue::IntervalDayTime(Some(interval)) => {
            let days = i64::from(interval.days).checked_mul(DAY_NS)?;
            let rest = i64::from(interval.milliseconds).checked_mul(1_000_000)?;
            days.checked_add(rest)
        }
        ScalarValue::DurationSecond(Some(value)) => value.checked_mul(1_000_000_000),
        ScalarValue::DurationMillisecond(Some(value)) => value.checked_mul(1_000_000),
        ScalarValue::DurationMicrosecond(Some(value)) => value.checked_mul(1_000),
        ScalarValue::DurationNanosecond(Some(value)) => Some(*value),
        _ => None,
    }
}

/// The origin of windows: the first record is number 1, so that a window of a thousand holds a thousand.
pub(crate) const fn origin(window: &DataType) -> i64 {
    match window {
        DataType::Int64 => 1,
        _ => 0,
    }
}

/// The start of the window of this length that `value` is in.
pub(crate) const fn start(value: i64, length: i64, origin: i64) -> i64 {
    // A length is more than zero.
    let into = value.saturating_sub(origin).rem_euclid(length);
    value.saturating_sub(into)
}

/// Times in nanoseconds, and unchanged integers.
pub(crate) fn to_numbers(values: &ArrayRef) -> Result<Int64Array> {
    let numbers = match values.data_type() {
        DataType::Timestamp(TimeUnit::Nanosecond, _) | DataType::Int64 => {
            cast(values, &DataType::Int64)?
        }
        DataType::Timestamp(_, _) | DataType::Date32 | DataType::Date64 => {
            let times = cast(values, &DataType::Timestamp(TimeUnit::Nanosecond, None))?;
            cast(&times, &DataType::Int64)?
        }
        _ => cast(values, &DataType::Int64)?,
    };
    Ok(numbers.as_primitive::<Int64Type>().clone())
}

/// The other way round, for starts of windows.
pub(crate) fn from_numbers(numbers: Int64Array, window: &DataType) -> Result<ArrayRef> {
    let numbers: &dyn Array = &numbers;
    Ok(cast(numbers, window)?)
}

const DAY_NS: i64 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_begin_at_multiples_also_before_the_epoch_and_at_the_ends() {
        for (value, length, origin, expected) in [
            (0, 10, 0, 0),
            (9, 10, 0, 0),
            (10, 10, 0, 10),
            (-1, 10, 0, -10),
            (1, 1000, 1, 1),
            (1000, 1000, 1, 1),
            (1001, 1000, 1, 1001),
            (0, 1000, 1, -999),
            (i64::MIN, 10, 0, i64::MIN),
            (i64::MAX, 10, 0, i64::MAX - 7),
        ] {
            assert_eq!(start(value, length, origin), expected, "{value} {length}");
        }
    }
}
