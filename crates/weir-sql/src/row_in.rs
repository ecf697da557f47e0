//! `(a, b) IN (SELECT x, y …)` in WHERE, in the words of EXISTS, of which the planner makes a join.
//!
//! A condition that is unknown selects no rows, as one that is false. So IN is that a row equals the value, and NOT IN that no row equals it, or
//! might where a part of either is NULL. In other places IN of several columns has a value, and is refused.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Query, SetExpr, TableFactor, UnaryOperator, Value,
};

use crate::statement::Statement;

/// Rewords the parts of a condition that are joined by AND and OR.
pub(crate) fn reword(condition: &mut Expr) {
    match condition {
        Expr::Nested(inner) => reword(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And | BinaryOperator::Or,
            right,
        } => {
            reword(left);
            reword(right);
        }
        Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: inner,
        } if is_of_rows(inner.as_ref()) => {
            let null = Expr::Value(Value::Null.into());
            let mut inner = std::mem::replace(inner.as_mut(), null);
            negate(&mut inner);
            reword(&mut inner);
            *condition = inner;
        }
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => {
            let negated = *negated;
            if let Expr::Tuple(values) = expr.as_mut()
                && let Some(exists) = exists(values, subquery, negated)
            {
                *condition = exists;
            }
        }
        _ => {}
    }
}

/// Whether an expression is IN of several columns, in parentheses or not.
fn is_of_rows(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_of_rows(inner),
        Expr::InSubquery { expr, .. } => matches!(expr.as_ref(), Expr::Tuple(_)),
        _ => false,
    }
}

fn negate(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => negate(inner),
        Expr::InSubquery { negated, .. } => *negated = !*negated,
        _ => {}
    }
}

/// `EXISTS (SELECT 1 FROM (…) AS __row(__value_0, …) WHERE …)`, with the values and the query that are given.
fn exists(values: &mut Vec<Expr>, rows: &mut Box<Query>, negated: bool) -> Option<Expr> {
    let columns: Vec<String> = (0..values.len()).map(column).collect();
    let columns = columns.join(", ");
    let template = format!("SELECT 1 FROM (SELECT 1) AS {ROW}({columns})");
    let mut subquery = Statement::query_of(&template)?;
    let SetExpr::Select(select) = subquery.body.as_mut() else {
        return None;
    };
    let TableFactor::Derived { subquery: slot, .. } = &mut select.from.first_mut()?.relation else {
        return None;
    };
    std::mem::swap(slot, rows);
    let values = std::mem::take(values).into_iter().enumerate();
    let equal = values.map(|(place, value)| equal(place, value, negated));
    select.selection = equal.reduce(|left, right| operator(left, BinaryOperator::And, right));
    Some(Expr::Exists { subquery, negated })
}

/// The comparison of a column with a part of the value; with `or_unknown` whether they might be equal.
fn equal(place: usize, value: Expr, or_unknown: bool) -> Expr {
    let column = Expr::CompoundIdentifier(vec![Ident::new(ROW), Ident::new(column(place))]);
    let value = Expr::Nested(Box::new(value));
    let equal = operator(column, BinaryOperator::Eq, value);
    match or_unknown {
        true => Expr::IsNotFalse(Box::new(Expr::Nested(Box::new(equal)))),
        false => equal,
    }
}

fn operator(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

fn column(place: usize) -> String {
    format!("__value_{place}")
}

/// The name of a row of the query.
const ROW: &str = "__row";
