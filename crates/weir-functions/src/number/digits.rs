//! Digits of numbers that are rounded.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::compute::binary;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue, exec_err};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF};

use super::cast;
use crate::computed::{Arguments, ColumnFunction};

/// Keeps `round`, `trunc`, `ceil` and `floor` within the range of their types. The engine multiplies a double by a power of ten, and divides
/// it by that again: NaN where the power is infinite or zero; and it leaves decimals of `ceil` and `floor` no room for another digit.
pub(super) fn in_range(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let Expr::ScalarFunction(call) = expr else {
        return Transformed::no(expr);
    };
    let name = call.func.name();
    let is_known = matches!(name, "ceil" | "floor" | "round" | "trunc");
    let kind = match call.args.first() {
        Some(value) if is_known => value.get_type(schema).ok(),
        _ => None,
    };
    match kind {
        Some(DataType::Decimal128(..) | DataType::Decimal256(..)) if name == "round" => {
            with_known_digits(call)
        }
        Some(kind @ DataType::Decimal128(..)) => with_room(call, &kind),
        Some(kind @ (DataType::Float32 | DataType::Float64)) => with_digits(call, &kind),
        Some(kind) if kind.is_integer() && name == "trunc" => with_digits(call, &kind),
        _ => Transformed::no(Expr::ScalarFunction(call)),
    }
}

/// `ceil(9.9::decimal(2, 1))` has three digits.
fn with_room(mut call: ScalarFunction, kind: &DataType) -> Transformed<Expr> {
    let wider = match kind {
        DataType::Decimal128(digits, scale) if *digits < DIGITS_MAX && *scale > 0 => {
            DataType::Decimal128(digits + 1, *scale)
        }
        _ => return Transformed::no(Expr::ScalarFunction(call)),
    };
    if !matches!(call.func.name(), "ceil" | "floor") {
        return Transformed::no(Expr::ScalarFunction(call));
    }
    for value in &mut call.args {
        *value = cast(std::mem::take(value), kind, &wider);
    }
    Transformed::yes(Expr::ScalarFunction(call))
}

/// `round(a, 1)` of a decimal has the type of one digit, which the engine knows by a literal. It casts that to the type of its own, which is
/// no literal until it has been folded, and takes the rounded decimal for one of other digits meanwhile: comparisons failed.
fn with_known_digits(mut call: ScalarFunction) -> Transformed<Expr> {
    let mut is_changed = false;
    if let Some(given) = call.args.get_mut(1)
        && let Some(count) = constant(given)
    {
        let digits = Expr::Literal(ScalarValue::Int32(Some(count)), None);
        is_changed = *given != digits;
        *given = digits;
    }
    Transformed::new_transformed(Expr::ScalarFunction(call), is_changed)
}

/// The whole number that an expression is, with a cast or a sign in front of it.
fn constant(expr: &Expr) -> Option<i32> {
    match expr {
        Expr::Literal(value, _) if value.data_type().is_integer() => {
            match value.cast_to(&DataType::Int32).ok()? {
                ScalarValue::Int32(count) => count,
                _ => None,
            }
        }
        Expr::Cast(cast) if cast.field.data_type().is_integer() => constant(&cast.expr),
        Expr::Negative(inner) => constant(inner)?.checked_neg(),
        _ => None,
    }
}

/// The digits of a decimal.
const DIGITS_MAX: u8 = 38;

/// A number that has no digits beyond those that remain is itself.
fn with_digits(call: ScalarFunction, kind: &DataType) -> Transformed<Expr> {
    let [value, digits] = call.args.as_slice() else {
        return Transformed::no(Expr::ScalarFunction(call));
    };
    let is_common = match digits {
        Expr::Literal(ScalarValue::Int64(Some(count)), _) => (-30..=15).contains(count),
        Expr::Literal(..) => true,
        _ => false,
    };
    if is_common {
        return Transformed::no(Expr::ScalarFunction(call));
    }
    let name = match call.func.name() {
        "round" => ROUND_DIGITS,
        _ => TRUNC_DIGITS,
    };
    let value = cast(value.clone(), kind, &DataType::Float64);
    let outcome = to_digits(name).call(vec![value, digits.clone()]);
    let to = match kind {
        DataType::Float32 => DataType::Float32,
        _ => DataType::Float64,
    };
    Transformed::yes(cast(outcome, &DataType::Float64, &to))
}

/// `round_digits(x, n)`: a double with the digits up to the nth one behind the point, or before it where the number is negative.
pub(crate) const ROUND_DIGITS: &str = "round_digits";
/// `trunc_digits(x, n)`: the same, rounded towards zero.
pub(crate) const TRUNC_DIGITS: &str = "trunc_digits";

/// The function of one of these names.
pub(crate) fn to_digits(name: &'static str) -> ScalarUDF {
    let function = ColumnFunction {
        name,
        arguments: Arguments::Coerced(|_, _| Ok(vec![DataType::Float64, DataType::Int64])),
        kind: |_, _| Ok(DataType::Float64),
        values: held,
    };
    function.udf()
}

fn held(name: &str, columns: &[ArrayRef]) -> Result<ArrayRef> {
    let [values, digits] = columns else {
        return exec_err!("{name} takes a number and its digits");
    };
    let whole = match name {
        ROUND_DIGITS => f64::round,
        _ => f64::trunc,
    };
    let values = values.as_primitive::<Float64Type>();
    let held: Float64Array = binary(
        values,
        digits.as_primitive::<Int64Type>(),
        |value, digits| {
            if digits >= LAST_DIGIT || digits > 0 && value.abs() >= WHOLE_FROM {
                return value;
            }
            let power = 10_f64.powi(digits.max(FIRST_DIGIT) as i32);
            whole(value * power) / power
        },
    )?;
    Ok(Arc::new(held))
}

/// The places of digits before and behind the point, for which ten has a power that is a double, also times a number below `WHOLE_FROM`.
const FIRST_DIGIT: i64 = -300;
const LAST_DIGIT: i64 = 290;

/// Doubles from here on have no fraction.
const WHOLE_FROM: f64 = 9_007_199_254_740_992.0;
