//! Expressions that are planned several times: rules replace some by several that each contain their operands, or look at the types of
//! these again and again. Where they lie within each other, that multiplies.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{BinaryExpr, Cast, TryCast};
use datafusion::logical_expr::{Case, Expr, Operator};

/// Adds the number of expressions within this one that are planned again. It is not counted beyond the limit, so that counting takes
/// no longer than planning may.
pub(crate) fn add(counted: usize, expression: &Expr) -> usize {
    let mut count = counted;
    count_within(expression, 1, &mut count);
    count
}

fn count_within(expression: &Expr, times: usize, count: &mut usize) {
    *count = count.saturating_add(times - 1);
    if *count > REPEATED_MAX {
        return;
    }
    stacker::maybe_grow(ROOM_BYTES, STACK_BYTES, || {
        if let Expr::Case(case) = expression
            && case.expr.is_none()
        {
            return count_within_case(case, times, count);
        }
        let times = times.saturating_mul(repetitions(expression));
        // The walk fails only where its closure does.
        let _ = expression.apply_children(|operand| {
            count_within(operand, times, count);
            Ok(TreeNodeRecursion::Continue)
        });
    });
}

/// Where the values are truth values, each condition stands beside its value, and negated beside the next one.
fn count_within_case(case: &Case, times: usize, count: &mut usize) {
    let values = || {
        let values = case.when_then_expr.iter().map(|(_, then)| then);
        values.chain(&case.else_expr)
    };
    let of_condition = match values().any(|value| is_other_constant(value)) {
        true => times,
        false => times.saturating_mul(2),
    };
    for (when, _) in &case.when_then_expr {
        count_within(when, of_condition, count);
    }
    for value in values() {
        count_within(value, times, count);
    }
}

/// Whether an expression is a constant, and no truth value.
fn is_other_constant(expression: &Expr) -> bool {
    match expression {
        Expr::Literal(value, _) => !matches!(value, ScalarValue::Null | ScalarValue::Boolean(_)),
        _ => false,
    }
}

/// How many times the operands of an expression are planned, as measured.
fn repetitions(expression: &Expr) -> usize {
    match expression {
        Expr::Between(_) => 2,
        Expr::ScalarFunction(call) => match call.func.name() {
            "coalesce" | "nvl" | "nvl2" => 2,
            "date_part" | "starts_with" => 3,
            "array_has_all" | "array_has_any" => 4,
            _ => 1,
        },
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if is_arithmetic(*op) && (is_decimal(left) || is_decimal(right)) =>
        {
            3
        }
        _ => 1,
    }
}

const fn is_arithmetic(op: Operator) -> bool {
    matches!(
        op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    )
}

/// Whether an expression is a cast to a decimal.
fn is_decimal(expression: &Expr) -> bool {
    let to = match expression {
        Expr::Cast(Cast { field, .. }) | Expr::TryCast(TryCast { field, .. }) => field.data_type(),
        _ => return false,
    };
    matches!(to, DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// The number of expressions that are planned again, at most: BETWEEN in fourteen levels, planned for some seconds.
pub(crate) const REPEATED_MAX: usize = 1 << 16;
const ROOM_BYTES: usize = 1 << 20;
const STACK_BYTES: usize = 8 << 20;
