//! Intervals that are multiplied and divided by numbers, as PostgreSQL does it.
//!
//! A fraction of a month becomes days, 30 for a month, and one of a day a part of 24 hours; fractions are rounded to the sixth digit
//! before they are passed on. Constants become one while a statement is planned: strides of `date_bin` and frames of windows are constants.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray as _, IntervalMonthDayNanoArray};
use arrow::datatypes::{
    DataType, Float64Type, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit,
};
use arrow::error::ArrowError;
use datafusion::common::{DFSchema, ScalarValue, exec_datafusion_err, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::planner::{PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Cast, Expr, ExprSchemable as _, ScalarUDF};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::computed::{Arguments, ColumnFunction};

/// The function that plans have for `interval * number`.
pub(crate) const INTERVAL_TIMES: &str = "interval_times";

/// The function that plans have for `interval / number`.
pub(crate) const INTERVAL_OVER: &str = "interval_over";

/// The functions of both operators.
pub(crate) fn all() -> [ScalarUDF; 2] {
    [function(false), function(true)]
}

fn function(divides: bool) -> ScalarUDF {
    let function = ColumnFunction {
        name: if divides {
            INTERVAL_OVER
        } else {
            INTERVAL_TIMES
        },
        arguments: Arguments::Any(2),
        kind: |_, _| Ok(KIND),
        values: |name, columns| values(name, columns, name == INTERVAL_OVER),
    };
    function.udf()
}

const KIND: DataType = DataType::Interval(IntervalUnit::MonthDayNano);

/// Plans `*` and `/` of an interval and a number; other operands are returned as they are.
pub(crate) fn planned(expr: RawBinaryExpr, schema: &DFSchema) -> PlannerResult<RawBinaryExpr> {
    let types = (expr.left.get_type(schema), expr.right.get_type(schema));
    let (Ok(left), Ok(right)) = types else {
        return PlannerResult::Original(expr);
    };
    let divides = expr.op == BinaryOperator::Divide;
    let (interval, number) = match (&left, &right) {
        (DataType::Interval(_), kind) if is_number(kind) => (expr.left, expr.right),
        (kind, DataType::Interval(_)) if is_number(kind) && !divides => (expr.right, expr.left),
        _ => return PlannerResult::Original(expr),
    };
    if let Some(constant) = constant(&interval, &number, divides) {
        return PlannerResult::Planned(constant);
    }
    let cast = |expr: Expr, kind: DataType| Expr::Cast(Cast::new(Box::new(expr), kind));
    let args = vec![cast(interval, KIND), cast(number, DataType::Float64)];
    PlannerResult::Planned(function(divides).call(args))
}

fn is_number(kind: &DataType) -> bool {
    kind.is_numeric() || kind.is_null()
}

/// The interval that constants make; `None` for others, and where there is an error, which a row of the statement has.
fn constant(interval: &Expr, number: &Expr, divides: bool) -> Option<Expr> {
    let (Expr::Literal(interval, _), Expr::Literal(number, _)) = (interval, number) else {
        return None;
    };
    let ScalarValue::IntervalMonthDayNano(Some(interval)) = interval else {
        return None;
    };
    let ScalarValue::Float64(Some(number)) = number.cast_to(&DataType::Float64).ok()? else {
        return None;
    };
    let scaled = scaled(*interval, number, divides).ok()?;
    let scaled = ScalarValue::IntervalMonthDayNano(Some(scaled));
    Some(Expr::Literal(scaled, None))
}

fn values(name: &str, columns: &[ArrayRef], divides: bool) -> Result<ArrayRef> {
    let (intervals, numbers) = match columns {
        [intervals, numbers] => (
            intervals.as_primitive_opt::<IntervalMonthDayNanoType>(),
            numbers.as_primitive_opt::<Float64Type>(),
        ),
        _ => (None, None),
    };
    let (Some(intervals), Some(numbers)) = (intervals, numbers) else {
        return exec_err!("{name} takes an interval and a number");
    };
    let pairs = intervals.iter().zip(numbers.iter());
    let values = pairs.map(|pair| match pair {
        (Some(interval), Some(number)) => scaled(interval, number, divides).map(Some),
        _ => Ok(None),
    });
    let values = values.collect::<Result<IntervalMonthDayNanoArray>>()?;
    Ok(Arc::new(values))
}

fn scaled(
    interval: IntervalMonthDayNano,
    number: f64,
    divides: bool,
) -> Result<IntervalMonthDayNano> {
    if divides && number == 0.0 {
        return Err(ArrowError::DivideByZero.into());
    }
    let part = |value: f64| match divides {
        true => value / number,
        false => value * number,
    };
    let (months, days) = (
        part(f64::from(interval.months)),
        part(f64::from(interval.days)),
    );
    let of_months = rounded(months.fract() * DAYS_OF_MONTH);
    let seconds = rounded((days.fract() + of_months.fract()) * SECONDS_OF_DAY);
    let of_seconds = (seconds / SECONDS_OF_DAY).trunc();
    let seconds = seconds - of_seconds * SECONDS_OF_DAY;
    let days = days.trunc() + of_months.trunc() + of_seconds;
    let nanoseconds = part(interval.nanoseconds as f64) + seconds * NANOSECONDS_OF_SECOND;
    let scaled = whole(months, MONTHS_END)
        .zip(whole(days, MONTHS_END))
        .zip(whole(nanoseconds.round_ties_even(), NANOSECONDS_END));
    let Some(((months, days), nanoseconds)) = scaled else {
        return Err(exec_datafusion_err!("an interval is out of range"));
    };
    // Both are below 2^31.
    let (months, days) = (months as i32, days as i32);
    Ok(IntervalMonthDayNano::new(months, days, nanoseconds))
}

/// The number without its fraction, where it is smaller than the end, on both sides of zero.
fn whole(number: f64, end: f64) -> Option<i64> {
    (number.abs() < end).then_some(number as i64)
}

/// The number with six digits behind the point.
fn rounded(number: f64) -> f64 {
    (number * 1_000_000.0).round_ties_even() / 1_000_000.0
}

const DAYS_OF_MONTH: f64 = 30.0;
const SECONDS_OF_DAY: f64 = 86_400.0;
const NANOSECONDS_OF_SECOND: f64 = 1_000_000_000.0;
/// The number 2^31: months and days have 32 bits.
const MONTHS_END: f64 = 2_147_483_648.0;
/// The number 2^63: nanoseconds have 64 bits.
const NANOSECONDS_END: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000_000_000;

    #[test]
    fn fractions_of_months_become_days_and_those_of_days_hours() {
        for (interval, number, divides, expected) in [
            ((0, 0, MINUTE), 5.0, false, (0, 0, 5 * MINUTE)),
            ((1, 0, 0), 1.5, false, (1, 15, 0)),
            ((1, 1, 0), 0.5, false, (0, 15, 12 * 60 * MINUTE)),
            ((-1, 0, 0), 1.5, false, (-1, -15, 0)),
            ((12, 0, 0), 5.0, true, (2, 12, 0)),
            ((0, 1, 0), 4.0, true, (0, 0, 6 * 60 * MINUTE)),
            ((0, 0, 60 * MINUTE), 4.0, true, (0, 0, 15 * MINUTE)),
            ((0, 0, MINUTE), 0.0, false, (0, 0, 0)),
        ] {
            let (months, days, nanoseconds) = interval;
            let interval = IntervalMonthDayNano::new(months, days, nanoseconds);
            let (months, days, nanoseconds) = expected;
            let expected = IntervalMonthDayNano::new(months, days, nanoseconds);
            let found = scaled(interval, number, divides).unwrap();
            assert_eq!(found, expected, "{interval:?} {number}");
        }
    }

    #[test]
    fn what_has_no_room_is_an_error() {
        let interval = IntervalMonthDayNano::new(1, 1, 1);
        for number in [1e30, f64::NAN, f64::INFINITY] {
            let error = scaled(interval, number, false).unwrap_err();
            assert!(error.to_string().contains("an interval is out of range"));
        }
        let error = scaled(interval, 0.0, true).unwrap_err();
        assert!(error.to_string().contains("Divide by zero"));
    }
}
