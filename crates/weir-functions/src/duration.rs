//! The difference of two times beside an interval.
//!
//! The difference is a duration, a number of seconds; an interval has months, days and seconds, each for itself. The engine compares
//! the two part by part, so that 25 hours are less than `INTERVAL '1 day'`. In PostgreSQL and DuckDB, a day that is compared has 24
//! hours, and a month 30 days.

use arrow::datatypes::{DataType, IntervalMonthDayNano, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, ExprSchemable, Operator};

use crate::pass::{Inputs, Pass};

/// Makes intervals that durations are compared with durations.
pub struct Durations;

impl Pass for Durations {
    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(op) => {
                let schema = inputs.all();
                let new_right = as_duration(&right, &left, schema);
                let new_left = as_duration(&left, &right, schema);
                let is_changed = new_left.is_some() || new_right.is_some();
                let left = new_left.map_or(left, Box::new);
                let right = new_right.map_or(right, Box::new);
                let compared = Expr::BinaryExpr(BinaryExpr { left, op, right });
                Ok(Transformed::new_transformed(compared, is_changed))
            }
            Expr::Between(Between {
                expr,
                negated,
                low,
                high,
            }) => {
                let schema = inputs.all();
                let new_low = as_duration(&low, &expr, schema);
                let new_high = as_duration(&high, &expr, schema);
                let is_changed = new_low.is_some() || new_high.is_some();
                let low = new_low.map_or(low, Box::new);
                let high = new_high.map_or(high, Box::new);
                let between = Expr::Between(Between {
                    expr,
                    negated,
                    low,
                    high,
                });
                Ok(Transformed::new_transformed(between, is_changed))
            }
            expr => Ok(Transformed::no(expr)),
        }
    }
}

fn compares(op: Operator) -> bool {
    matches!(
        op,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

/// An interval with months or days as a duration of the other side's unit; `None` where the other side is no duration, and where the
/// unit has no such number.
fn as_duration(interval: &Expr, beside: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::Literal(ScalarValue::IntervalMonthDayNano(Some(interval)), _) = interval else {
        return None;
    };
    if interval.months == 0 && interval.days == 0 {
        return None;
    }
    let DataType::Duration(unit) = beside.get_type(schema).ok()? else {
        return None;
    };
    let value = count(interval, unit)?;
    let duration = match unit {
        TimeUnit::Second => ScalarValue::DurationSecond(Some(value)),
        TimeUnit::Millisecond => ScalarValue::DurationMillisecond(Some(value)),
        TimeUnit::Microsecond => ScalarValue::DurationMicrosecond(Some(value)),
        TimeUnit::Nanosecond => ScalarValue::DurationNanosecond(Some(value)),
    };
    Some(Expr::Literal(duration, None))
}

/// How many units an interval is; `None` where it is not a whole number of them that 64 bits hold.
fn count(interval: &IntervalMonthDayNano, unit: TimeUnit) -> Option<i64> {
    let days = i128::from(interval.months) * DAYS_OF_MONTH + i128::from(interval.days);
    let nanoseconds = days * NANOSECONDS_OF_DAY + i128::from(interval.nanoseconds);
    let of_unit = match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    };
    if nanoseconds % of_unit != 0 {
        return None;
    }
    i64::try_from(nanoseconds / of_unit).ok()
}

const DAYS_OF_MONTH: i128 = 30;
const NANOSECONDS_OF_DAY: i128 = 86_400_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_24_hours_and_a_month_30_days() {
        for (interval, unit, expected) in [
            ((0, 1, 0), TimeUnit::Second, Some(86_400)),
            ((1, 0, 0), TimeUnit::Second, Some(2_592_000)),
            ((0, 1, 1_000), TimeUnit::Microsecond, Some(86_400_000_001)),
            ((0, 1, 1), TimeUnit::Microsecond, None),
            ((0, -1, 0), TimeUnit::Millisecond, Some(-86_400_000)),
            ((i32::MAX, 0, 0), TimeUnit::Nanosecond, None),
        ] {
            let (months, days, nanoseconds) = interval;
            let interval = IntervalMonthDayNano::new(months, days, nanoseconds);
            assert_eq!(count(&interval, unit), expected, "{interval:?}");
        }
    }
}
