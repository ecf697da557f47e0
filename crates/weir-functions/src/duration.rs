//! The difference of two times beside an interval, and intervals beside each other.
//!
//! The difference is a duration, a number of seconds; an interval has months, days and seconds, each for itself. The engine compares
//! the two part by part, so that 25 hours are less than `INTERVAL '1 day'`. In PostgreSQL and DuckDB, a day that is compared has 24
//! hours, and a month 30 days.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Decimal128Array};
use arrow::datatypes::{
    DataType, IntervalMonthDayNano, IntervalMonthDayNanoType, IntervalUnit, TimeUnit,
};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ExprSchema, ScalarValue, exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{
    Between, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF,
};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::address::is_comparison;
use crate::computed::{Arguments, ColumnFunction};
use crate::interval::put_in_words;
use crate::pass::{Inputs, Pass};
use crate::scaled;

/// Gives a NULL beside a time, a date, an interval or a duration a type, as PostgreSQL does: the planner has none for the sum. Plans
/// intervals times numbers.
#[derive(Debug)]
pub(crate) struct UnknownPlanner;

impl ExprPlanner for UnknownPlanner {
    fn plan_binary_op(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_sum = match expr.op {
            BinaryOperator::Plus => true,
            BinaryOperator::Minus => false,
            BinaryOperator::Multiply | BinaryOperator::Divide => {
                return Ok(scaled::planned(expr, schema));
            }
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let RawBinaryExpr { op, left, right } = expr;
        let (left, right) = match (is_unknown(&left, schema), is_unknown(&right, schema)) {
            (true, false) => (typed(left, &right, schema, is_sum), right),
            (false, true) => {
                let right = typed(right, &left, schema, true);
                (left, right)
            }
            _ => (left, right),
        };
        Ok(PlannerResult::Original(RawBinaryExpr { op, left, right }))
    }
}

/// Whether an expression is NULL, or a column of it, without a type.
fn is_unknown(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::Literal(value, _) => *value == ScalarValue::Null,
        Expr::Column(column) => schema
            .field_from_column(column)
            .is_ok_and(|field| field.data_type().is_null()),
        _ => false,
    }
}

/// A NULL beside another value: what moves a time or a date is an interval, and what one is taken from is of its own type.
fn typed(unknown: Expr, beside: &Expr, schema: &DFSchema, moves: bool) -> Expr {
    let kind = match beside.get_type(schema) {
        Ok(
            DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(..)
            | DataType::Time32(_)
            | DataType::Time64(_),
        ) if moves => DataType::Interval(IntervalUnit::MonthDayNano),
        Ok(kind) if kind.is_temporal() => kind,
        _ => return unknown,
    };
    Expr::Cast(Cast::new(Box::new(unknown), kind))
}

/// Makes intervals that durations are compared with durations, those that are compared with each other their lengths, and dates that are
/// moved by an interval timestamps.
pub struct Durations;

impl Pass for Durations {
    /// Rows are in the order of the lengths of intervals.
    fn node(&self, plan: LogicalPlan, inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Sort(mut sort) = plan else {
            return Ok(Transformed::no(plan));
        };
        let mut is_changed = false;
        for key in &mut sort.expr {
            if is_interval(&key.expr, inputs.all()) {
                key.expr = length(std::mem::take(&mut key.expr), inputs.all());
                is_changed = true;
            }
        }
        Ok(Transformed::new_transformed(
            LogicalPlan::Sort(sort),
            is_changed,
        ))
    }

    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        if compares_intervals(&expr, inputs.all()) {
            return Ok(Transformed::yes(by_lengths(expr, inputs.all())));
        }
        refuse_stride(&expr)?;
        if let Some(moved) = moved_date(&expr, inputs.all()) {
            return Ok(Transformed::yes(moved));
        }
        match expr {
            Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(op) => {
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

/// Refuses a stride of `date_bin` that is not longer than 0, as PostgreSQL does: the engine takes a negative one for its opposite.
fn refuse_stride(expr: &Expr) -> Result<()> {
    let stride = match expr {
        Expr::ScalarFunction(call) if call.func.name() == "date_bin" => call.args.first(),
        _ => None,
    };
    let Some(Expr::Literal(stride, _)) = stride else {
        return Ok(());
    };
    let kind = DataType::Interval(IntervalUnit::MonthDayNano);
    match stride.cast_to(&kind) {
        Ok(ScalarValue::IntervalMonthDayNano(Some(stride)))
            if stride.months < 0 || stride.days < 0 || nanoseconds(&stride) <= 0 =>
        {
            plan_err!("date_bin takes an interval that is longer than 0")
        }
        _ => Ok(()),
    }
}

/// A date that is moved by an interval, as a timestamp, which it is in PostgreSQL and DuckDB; `None` for anything else. The engine's
/// answer is a date, without the hours of the interval.
fn moved_date(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = expr else {
        return None;
    };
    let is_date = |expr: &Expr| matches!(expr.get_type(schema), Ok(DataType::Date32));
    let instant = |expr: &Expr| {
        let kind = DataType::Timestamp(TimeUnit::Microsecond, None);
        Box::new(Expr::Cast(Cast::new(Box::new(expr.clone()), kind)))
    };
    let (one, other) = (left.as_ref(), right.as_ref());
    let (left, right) = match op {
        Operator::Plus | Operator::Minus if is_date(one) && is_interval(other, schema) => {
            (instant(one), right.clone())
        }
        Operator::Plus if is_interval(one, schema) && is_date(other) => {
            (left.clone(), instant(other))
        }
        _ => return None,
    };
    Some(Expr::BinaryExpr(BinaryExpr {
        left,
        op: *op,
        right,
    }))
}

/// Whether an expression compares intervals with each other, or with texts, which are intervals then.
fn compares_intervals(expr: &Expr, schema: &DFSchema) -> bool {
    let are_intervals = |first: &Expr, others: &[&Expr]| {
        let mut others = others.iter();
        match first.get_type(schema) {
            Ok(DataType::Interval(_)) => {
                others.all(|other| is_interval(other, schema) || is_text(other, schema))
            }
            Ok(kind) if kind.is_string() => others.all(|other| is_interval(other, schema)),
            _ => false,
        }
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            are_intervals(left.as_ref(), &[right.as_ref()])
        }
        Expr::Between(Between {
            expr, low, high, ..
        }) => are_intervals(expr.as_ref(), &[low.as_ref(), high.as_ref()]),
        Expr::InList(InList { expr, list, .. }) => {
            is_interval(expr, schema)
                && are_intervals(expr.as_ref(), &list.iter().collect::<Vec<_>>())
        }
        _ => false,
    }
}

/// A comparison of intervals as one of their lengths.
fn by_lengths(expr: Expr, schema: &DFSchema) -> Expr {
    let length = |expr: Expr| length(expr, schema);
    let boxed = |expr: Box<Expr>| Box::new(length(*expr));
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => Expr::BinaryExpr(BinaryExpr {
            left: boxed(left),
            op,
            right: boxed(right),
        }),
        Expr::Between(between) => Expr::Between(Between {
            expr: boxed(between.expr),
            negated: between.negated,
            low: boxed(between.low),
            high: boxed(between.high),
        }),
        Expr::InList(of) => Expr::InList(InList {
            expr: boxed(of.expr),
            list: of.list.into_iter().map(length).collect(),
            negated: of.negated,
        }),
        expr => expr,
    }
}

fn is_interval(expr: &Expr, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(DataType::Interval(_)))
}

fn is_text(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|kind| kind.is_string())
}

/// The length of an interval, or of the text of one.
fn length(mut interval: Expr, schema: &DFSchema) -> Expr {
    put_in_words(&mut interval, schema);
    let kind = DataType::Interval(IntervalUnit::MonthDayNano);
    interval_length().call(vec![Expr::Cast(Cast::new(Box::new(interval), kind))])
}

/// `interval_length(a)`, which is compared in the place of an interval: its nanoseconds, of days with 24 hours and months with 30 days.
pub(crate) const INTERVAL_LENGTH: &str = "interval_length";

pub(crate) fn interval_length() -> ScalarUDF {
    let function = ColumnFunction {
        name: INTERVAL_LENGTH,
        arguments: Arguments::Any(1),
        kind: |_, _| Ok(DataType::Decimal128(DIGITS, 0)),
        values: lengths,
    };
    function.udf()
}

fn lengths(_name: &str, columns: &[ArrayRef]) -> Result<ArrayRef> {
    let intervals = match columns {
        [intervals] => intervals.as_primitive_opt::<IntervalMonthDayNanoType>(),
        _ => None,
    };
    let Some(intervals) = intervals else {
        return exec_err!("{INTERVAL_LENGTH} takes an interval");
    };
    let lengths: Decimal128Array = intervals.unary(|interval| nanoseconds(&interval));
    Ok(Arc::new(lengths.with_precision_and_scale(DIGITS, 0)?))
}

/// 2^31 months have 25 digits.
const DIGITS: u8 = 38;

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

/// The number of units in an interval; `None` where it is not a whole number of 64 bits.
fn count(interval: &IntervalMonthDayNano, unit: TimeUnit) -> Option<i64> {
    let nanoseconds = nanoseconds(interval);
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

fn nanoseconds(interval: &IntervalMonthDayNano) -> i128 {
    let days = i128::from(interval.months) * DAYS_OF_MONTH + i128::from(interval.days);
    days * NANOSECONDS_OF_DAY + i128::from(interval.nanoseconds)
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
