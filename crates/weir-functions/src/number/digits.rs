//! Digits of numbers that are rounded.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Case, Expr, ExprSchemable};

use super::{cast, number};

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

/// The digits of a decimal.
const DIGITS_MAX: u8 = 38;

/// A number that has no digits beyond those that remain is itself.
fn with_digits(call: ScalarFunction, kind: &DataType) -> Transformed<Expr> {
    let [value, digits] = call.args.as_slice() else {
        return Transformed::no(Expr::ScalarFunction(call));
    };
    let count = match digits {
        Expr::Literal(ScalarValue::Int64(Some(count)), _) => Some(*count),
        Expr::Literal(..) => return Transformed::no(Expr::ScalarFunction(call)),
        _ => None,
    };
    if count.is_some_and(|count| (-30..=15).contains(&count)) {
        return Transformed::no(Expr::ScalarFunction(call));
    }
    let value = cast(value.clone(), kind, &DataType::Float64);
    let rounded = |digits: Expr| call.func.call(vec![value.clone(), digits]);
    let outcome = match count {
        Some(LAST_DIGIT..) => value.clone(),
        Some(..FIRST_DIGIT) => rounded(number(FIRST_DIGIT)),
        _ => {
            let least = Box::new(number(FIRST_DIGIT));
            let is_less = Box::new(digits.clone().lt(number(FIRST_DIGIT)));
            let held = Case::new(None, vec![(is_less, least)], Some(Box::new(digits.clone())));
            let whole = |sign: f64| {
                let whole = sign * WHOLE_FROM;
                Expr::Literal(ScalarValue::Float64(Some(whole)), None)
            };
            let is_whole = value.clone().gt_eq(whole(1.0));
            let is_whole = is_whole.or(value.clone().lt_eq(whole(-1.0)));
            let is_itself = digits.clone().gt_eq(number(LAST_DIGIT));
            let is_itself = is_itself.or(digits.clone().gt(number(0)).and(is_whole));
            Expr::Case(Case::new(
                None,
                vec![(Box::new(is_itself), Box::new(value.clone()))],
                Some(Box::new(rounded(Expr::Case(held)))),
            ))
        }
    };
    let to = match kind {
        DataType::Float32 => DataType::Float32,
        _ => DataType::Float64,
    };
    Transformed::yes(cast(outcome, &DataType::Float64, &to))
}

/// The places of digits before and behind the point, for which ten has a power that is a double, also times a number below `WHOLE_FROM`.
const FIRST_DIGIT: i64 = -300;
const LAST_DIGIT: i64 = 290;

/// Doubles from here on have no fraction.
const WHOLE_FROM: f64 = 9_007_199_254_740_992.0;
