//! Decimals beside doubles.

use arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable};

use super::cast;
use crate::address::is_comparison;

/// Makes doubles of decimals that are compared with doubles, or are values of an expression beside them, as PostgreSQL and DuckDB do.
/// The planner would make decimals of both, with 15 digits behind the point, where `1e-17` is 0 and `1e30` has no room.
pub(super) fn as_doubles(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => {
            unified(vec![left.as_mut(), right.as_mut()], true, schema)
        }
        Expr::Between(between) => {
            let bounds = [between.low.as_mut(), between.high.as_mut()];
            let mut values = vec![between.expr.as_mut()];
            values.extend(bounds);
            unified(values, true, schema)
        }
        Expr::InList(list) => {
            let mut values = vec![list.expr.as_mut()];
            values.extend(list.list.iter_mut());
            unified(values, true, schema)
        }
        Expr::Case(case) => {
            let (mut compared, mut results) = (Vec::new(), Vec::new());
            let has_value = case.expr.is_some();
            compared.extend(case.expr.as_deref_mut());
            for (when, then) in &mut case.when_then_expr {
                if has_value {
                    compared.push(when.as_mut());
                }
                results.push(then.as_mut());
            }
            results.extend(case.else_expr.as_deref_mut());
            let is_compared = unified(compared, true, schema);
            unified(results, false, schema) || is_compared
        }
        Expr::ScalarFunction(call) if ONE_OF_ARGUMENTS.contains(&call.func.name()) => {
            unified(call.args.iter_mut().collect(), false, schema)
        }
        _ => false,
    };
    Transformed::new_transformed(expr, is_changed)
}

/// Casts decimals where one of the values is a double; true when there are some. A number that is written with a fraction is a double,
/// too, and becomes a decimal beside decimals that it is not compared with, where it has no more digits than decimals have room for.
pub(super) fn unified(values: Vec<&mut Expr>, are_compared: bool, schema: &DFSchema) -> bool {
    let kinds = values.iter().map(|value| value.get_type(schema).ok());
    let kinds: Vec<Option<DataType>> = kinds.collect();
    let has_double = values.iter().zip(&kinds).any(|(value, kind)| {
        let counts = are_compared || decimal_of(value).is_none();
        counts && kind.as_ref().is_some_and(DataType::is_floating)
    });
    let mut is_changed = false;
    if !has_double {
        let has_decimal = kinds.iter().flatten().any(DataType::is_decimal);
        for value in values {
            if let Some(decimal) = decimal_of(value).filter(|_| has_decimal) {
                *value = Expr::Literal(decimal, None);
                is_changed = true;
            }
        }
        return is_changed;
    }
    for (value, kind) in values.into_iter().zip(kinds) {
        if let Some(kind) = kind.filter(DataType::is_decimal) {
            *value = cast(std::mem::take(value), &kind, &DataType::Float64);
            is_changed = true;
        }
    }
    is_changed
}

/// A number that is written with a fraction, digit by digit: as a double beside a decimal, 99999999.99 would be 99999999.989999999123456.
fn decimal_of(value: &Expr) -> Option<ScalarValue> {
    let Expr::Literal(ScalarValue::Float64(Some(number)), _) = value else {
        return None;
    };
    let text = number.to_string();
    let scale = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let unscaled: i128 = text.replace('.', "").parse().ok()?;
    let digits = unscaled.unsigned_abs().to_string().len().max(scale);
    if scale > FRACTION_MAX || digits - scale > FRACTION_MAX {
        return None;
    }
    let (digits, scale) = (u8::try_from(digits).ok()?, i8::try_from(scale).ok()?);
    Some(ScalarValue::Decimal128(Some(unscaled), digits, scale))
}

/// The digits behind the point, and those in front of it, that the planner has for a double beside a decimal.
const FRACTION_MAX: usize = 15;

/// The functions whose value is that of one of their arguments.
const ONE_OF_ARGUMENTS: &[&str] = &["coalesce", "greatest", "least", "make_array"];
