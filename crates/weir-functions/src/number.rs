//! Arithmetic: one meaning of each operator, over all types of numbers.
//!
//! `+`, `-` and `*` of integers are computed with 64 bits, signed, and fail where these have no room:
//! in the columns' own types `frame.cap_len - frame.len` would wrap around and `udp.srcport + udp.dstport`
//! overflow, without a word. `/` is the quotient of real numbers, whatever is divided, and `//` that of
//! integers; both fail when the divisor is zero. A decimal beside a double is a double. `docs/decisions/0007-division.md` has the reasons.

mod arithmetic;
mod decimal_sum;
mod digest;
mod digits;
mod inputs;
mod mixed;
mod percentile;
mod room;
mod sliding;
mod sum;

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF,
};

use crate::pass::{Inputs, Pass};

/// The methods of an [`AggregateUDFImpl`](datafusion::logical_expr::AggregateUDFImpl) that are those of the function in its field
/// `inner`.
macro_rules! of_inner {
    () => {
        fn name(&self) -> &str {
            self.inner.name()
        }

        fn aliases(&self) -> &[String] {
            self.inner.aliases()
        }

        fn signature(&self) -> &datafusion::logical_expr::Signature {
            self.inner.signature()
        }

        fn return_type(
            &self,
            types: &[arrow::datatypes::DataType],
        ) -> datafusion::error::Result<arrow::datatypes::DataType> {
            self.inner.return_type(types)
        }

        fn state_fields(
            &self,
            args: datafusion::logical_expr::function::StateFieldsArgs<'_>,
        ) -> datafusion::error::Result<Vec<arrow::datatypes::FieldRef>> {
            self.inner.state_fields(args)
        }
    };
}
pub(crate) use of_inner;

pub use arithmetic::{DIV, NEGATIVE, Operation, operation, operations};
pub(crate) use arithmetic::{div, negative};
pub use digest::CENTROIDS_MAX;
pub(crate) use digest::digests;
pub(crate) use digits::{ROUND_DIGITS, TRUNC_DIGITS, to_digits};
pub(crate) use percentile::percentile_cont;
pub(crate) use room::{DECIMAL_IN_ROOM, decimal_in_room};
pub(crate) use sliding::sliding;
pub(crate) use sum::sum;

/// Plans the operators of numbers.
pub struct Arithmetic;

impl Pass for Arithmetic {
    fn node(&self, plan: LogicalPlan, _inputs: &Inputs) -> Result<Transformed<LogicalPlan>> {
        inputs::as_doubles(plan)
    }

    fn expr(&self, expr: Expr, inputs: &Inputs) -> Result<Transformed<Expr>> {
        let schema = inputs.all();
        if let Expr::InSubquery(of) = expr {
            return inputs::within(of, schema);
        }
        mixed::as_doubles(expr, schema)
            .transform_data(|expr| Ok(digits::in_range(expr, schema)))?
            .transform_data(|expr| widen_expr(expr, schema))
    }
}

fn widen_expr(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::BinaryExpr(binary) => Ok(widen_operator(binary, schema)),
        // The least number has no opposite, and those of unsigned columns are signed.
        Expr::Negative(inner) if !matches!(inner.as_ref(), Expr::Literal(..)) => {
            match inner.get_type(schema) {
                Ok(kind) if kind.is_integer() => {
                    let zero = Expr::Literal(ScalarValue::Int64(Some(0)), None);
                    let args = vec![zero, cast(*inner, &kind, &DataType::Int64)];
                    let negated = arithmetic::function(Operation::Subtract).call(args);
                    Ok(Transformed::yes(negated))
                }
                _ => Ok(Transformed::no(Expr::Negative(inner))),
            }
        }
        Expr::ScalarFunction(ScalarFunction { func, mut args }) if func.name() == NEGATIVE => {
            match args.pop() {
                Some(inner) => widen_expr(Expr::Negative(Box::new(inner)), schema)
                    .map(|negated| Transformed::yes(negated.data)),
                None => plan_err!("unary minus needs an operand"),
            }
        }
        // The mean of decimals would be a decimal, cut to four more digits than its values have.
        Expr::AggregateFunction(mut mean) if mean.func.name() == AVG => {
            mean.params.args = of_reals(mean.params.args, schema);
            Ok(Transformed::yes(Expr::AggregateFunction(mean)))
        }
        Expr::WindowFunction(mut mean) if mean.fun.name() == AVG => {
            mean.params.args = of_reals(mean.params.args, schema);
            Ok(Transformed::yes(Expr::WindowFunction(mean)))
        }
        // The value for rows outside becomes one of the column's type, which may have no room for it.
        Expr::WindowFunction(mut neighbour) if matches!(neighbour.fun.name(), "lag" | "lead") => {
            let is_changed = match neighbour.params.args.as_mut_slice() {
                [value, _, outside] => widened(value, outside, schema),
                _ => false,
            };
            let neighbour = Expr::WindowFunction(neighbour);
            Ok(Transformed::new_transformed(neighbour, is_changed))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == DIV => {
            match <[Expr; 2]>::try_from(args) {
                Ok([left, right]) => divided(left, right, schema).map(Transformed::yes),
                Err(args) => Ok(Transformed::no(Expr::ScalarFunction(ScalarFunction {
                    func,
                    args,
                }))),
            }
        }
        Expr::ScalarFunction(part) if part.func.name() == DATE_PART => {
            let found = seconds(&part.args, schema)
                .or_else(|| part_of_duration(&part.args, schema))
                .or_else(|| seconds_of_interval(&part.func, &part.args, schema));
            let is_changed = found.is_some();
            let part = found.unwrap_or(Expr::ScalarFunction(part));
            Ok(Transformed::new_transformed(part, is_changed))
        }
        expr => Ok(Transformed::no(expr)),
    }
}

/// An operator of integers of any width as one of 64 bits, and a division of numbers as one of doubles.
fn widen_operator(
    BinaryExpr { left, op, right }: BinaryExpr,
    schema: &DFSchema,
) -> Transformed<Expr> {
    let types = (left.get_type(schema), right.get_type(schema));
    let (Ok(left_type), Ok(right_type)) = types else {
        return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right }));
    };
    let operation = match (op, Pair::of(&left_type, &right_type)) {
        (Operator::Plus, Some(Pair::Integers)) => Operation::Add,
        (Operator::Minus, Some(Pair::Integers)) => Operation::Subtract,
        (Operator::Multiply, Some(Pair::Integers)) => Operation::Multiply,
        (Operator::Divide, Some(_)) => Operation::Divide,
        _ if left_type.is_decimal() || right_type.is_decimal() => {
            return room::in_room(BinaryExpr { left, op, right }, schema);
        }
        _ => return Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
    };
    let to = match operation {
        Operation::Divide => DataType::Float64,
        _ => DataType::Int64,
    };
    let args = vec![cast(*left, &left_type, &to), cast(*right, &right_type, &to)];
    Transformed::yes(arithmetic::function(operation).call(args))
}

/// Casts an integer to 64 bits where a constant of another type stands beside it; true when it did.
fn widened(value: &mut Expr, beside: &Expr, schema: &DFSchema) -> bool {
    let types = (value.get_type(schema), beside.get_type(schema));
    let (Ok(kind), Ok(of_constant)) = types else {
        return false;
    };
    let is_narrow = kind.is_integer() && !matches!(kind, DataType::Int64 | DataType::UInt64);
    if !is_narrow || !of_constant.is_integer() || kind == of_constant {
        return false;
    }
    *value = cast(std::mem::take(value), &kind, &DataType::Int64);
    true
}

/// The expression `extract(epoch FROM …)`: the seconds of a duration with their fraction, which the engine's own function drops
/// from a second on; and those of a timestamp, which it rounds twice.
fn seconds(args: &[Expr], schema: &DFSchema) -> Option<Expr> {
    let [Expr::Literal(part, _), duration] = args else {
        return None;
    };
    if !is_epoch(part) {
        return None;
    }
    let kind = duration.get_type(schema).ok()?;
    let (DataType::Duration(unit) | DataType::Timestamp(unit, _)) = &kind else {
        return None;
    };
    let in_a_second = in_a_second(*unit);
    let real = |expr: Expr| cast(expr, &DataType::Int64, &DataType::Float64);
    let units = cast(duration.clone(), &kind, &DataType::Int64);
    // Whole seconds and the rest are exact by themselves, and only their sum is rounded.
    let whole = of(units.clone(), Operator::Divide, number(in_a_second));
    let rest = of(units, Operator::Modulo, number(in_a_second));
    let fraction = of(real(rest), Operator::Divide, real(number(in_a_second)));
    Some(of(real(whole), Operator::Plus, fraction))
}

fn is_epoch(part: &ScalarValue) -> bool {
    let part = part.try_as_str().flatten();
    part.is_some_and(|part| part.eq_ignore_ascii_case("epoch"))
}

/// The expression `extract(epoch FROM …)` of an interval, whose years have 365.25 days, as in PostgreSQL and DuckDB: those of the
/// engine's own function have twelve months of 30 days.
fn seconds_of_interval(date_part: &ScalarUDF, args: &[Expr], schema: &DFSchema) -> Option<Expr> {
    let [Expr::Literal(part, _), interval] = args else {
        return None;
    };
    let kind = interval.get_type(schema).ok()?;
    if !is_epoch(part) || !matches!(kind, DataType::Interval(_)) {
        return None;
    }
    let year = Expr::Literal(ScalarValue::Utf8(Some("year".to_owned())), None);
    let years = date_part.call(vec![year, interval.clone()]);
    let years = cast(years, &DataType::Int32, &DataType::Float64);
    let rest = Expr::Literal(ScalarValue::Float64(Some(SECONDS_BESIDE_MONTHS)), None);
    let rest = of(years, Operator::Multiply, rest);
    Some(of(date_part.call(args.to_vec()), Operator::Plus, rest))
}

/// The seconds of the five and a quarter days that a year has beside its twelve months.
const SECONDS_BESIDE_MONTHS: f64 = 453_600.0;

/// The expression `extract(minute FROM …)` of a duration: the minutes beside its hours, as PostgreSQL and DuckDB have them, and not
/// all of its minutes, which the engine's own function counts.
fn part_of_duration(args: &[Expr], schema: &DFSchema) -> Option<Expr> {
    let [Expr::Literal(part, _), duration] = args else {
        return None;
    };
    let kind = duration.get_type(schema).ok()?;
    let DataType::Duration(unit) = &kind else {
        return None;
    };
    // These are the seconds of the part, the parts of a second, and the parts of the next larger part.
    let (seconds, in_second, most): (i64, i64, i64) = match part
        .try_as_str()
        .flatten()?
        .to_ascii_lowercase()
        .trim_end_matches('s')
    {
        "hour" => (3_600, 1, 24),
        "minute" => (60, 1, 60),
        "second" => (1, 1, 60),
        "millisecond" => (1, 1_000, 60_000),
        "microsecond" => (1, 1_000_000, 60_000_000),
        _ => return None,
    };
    let units = cast(duration.clone(), &kind, &DataType::Int64);
    let in_a_second = in_a_second(*unit);
    let value = match in_a_second >= in_second {
        true => {
            let whole = of(
                units,
                Operator::Divide,
                number(in_a_second / in_second * seconds),
            );
            of(whole, Operator::Modulo, number(most))
        }
        false => {
            let rest = of(units, Operator::Modulo, number(in_a_second * 60));
            of(rest, Operator::Multiply, number(in_second / in_a_second))
        }
    };
    Some(cast(value, &DataType::Int64, &DataType::Int32))
}

const fn in_a_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

fn of(left: Expr, op: Operator, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    Expr::BinaryExpr(BinaryExpr { left, op, right })
}

fn number(value: i64) -> Expr {
    Expr::Literal(ScalarValue::Int64(Some(value)), None)
}

/// The function of EXTRACT.
const DATE_PART: &str = "date_part";

/// Decimals as floating-point numbers; other values unchanged.
fn of_reals(args: Vec<Expr>, schema: &DFSchema) -> Vec<Expr> {
    let real = |expr: Expr| match expr.get_type(schema) {
        Ok(kind) if kind.is_decimal() => cast(expr, &kind, &DataType::Float64),
        _ => expr,
    };
    args.into_iter().map(real).collect()
}

/// `left // right`: integers, towards zero, which the engine itself divides with all checks.
fn divided(left: Expr, right: Expr, schema: &DFSchema) -> Result<Expr> {
    let (left_type, right_type) = (left.get_type(schema)?, right.get_type(schema)?);
    // Sums of signed and unsigned numbers are decimals without a fraction; those beyond 64 bits fail to be cast.
    let is_whole = |kind: &DataType| {
        kind.is_integer() || kind.is_null() || matches!(kind, DataType::Decimal128(_, 0))
    };
    if !is_whole(&left_type) || !is_whole(&right_type) {
        return plan_err!(
            "// divides integers, not {left_type} by {right_type}; floor(a / b) divides any numbers"
        );
    }
    let never_negative = |expr: &Expr, kind: &DataType| match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => *value >= 0,
        _ => kind.is_unsigned_integer(),
    };
    // Numbers of more than 63 bits are left what they are where both sides allow it.
    let is_long = left_type == DataType::UInt64 || right_type == DataType::UInt64;
    let unsigned = never_negative(&left, &left_type) && never_negative(&right, &right_type);
    let to = match is_long && unsigned {
        true => DataType::UInt64,
        false => DataType::Int64,
    };
    Ok(Expr::BinaryExpr(BinaryExpr {
        left: Box::new(cast(left, &left_type, &to)),
        op: Operator::Divide,
        right: Box::new(cast(right, &right_type, &to)),
    }))
}

const AVG: &str = "avg";

/// The types of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pair {
    /// Integers that are calculated with as signed ones of 64 bits.
    Integers,
    /// Other numbers. An unsigned one of 64 bits beside a signed one is among them: the engine makes
    /// decimals of them, which have room for both.
    Others,
}

impl Pair {
    /// `None` for what are no two numbers.
    fn of(left: &DataType, right: &DataType) -> Option<Self> {
        if !left.is_numeric() || !right.is_numeric() {
            return None;
        }
        let is_mixed = |one: &DataType, other: &DataType| {
            *one == DataType::UInt64 && other.is_signed_integer()
        };
        let integers = left.is_integer() && right.is_integer();
        Some(
            match integers && !is_mixed(left, right) && !is_mixed(right, left) {
                true => Self::Integers,
                false => Self::Others,
            },
        )
    }
}

/// The expression as one of this type.
fn cast(expr: Expr, from: &DataType, to: &DataType) -> Expr {
    match from == to {
        true => expr,
        false => Expr::Cast(Cast::new(Box::new(expr), to.clone())),
    }
}
