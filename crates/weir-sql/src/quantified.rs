//! `x = ANY(list)`, `x <> ALL(list)` and the like, with the three truth values of the standard and of PostgreSQL.
//!
//! ANY is the OR of the comparisons with the elements of a list: NULL where none is true and one is unknown. DataFusion
//! returns false there, and its ALL is not planned over lists of addresses. A list that is written out is compared by
//! IN, which supports addresses and vocabularies; other lists by DataFusion's ANY where it is true, and by the function
//! `unknown_in_list` where it is not. Integers beside lists get the type of their elements on the way.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Array, ArrayElemTypeDef, BinaryOperator, DataType, Expr, UnaryOperator, Value, VisitorMut,
};
use weir_functions::lists::UNKNOWN_IN_LIST;

use crate::list_integers;
use crate::names::call;
use crate::reworded::cast;
use crate::statement::Statement;

/// Puts the comparisons of a statement with lists into words that DataFusion plans with their meaning. Comparisons with queries stay.
pub fn reword(statement: &mut Statement) {
    statement.visit_mut(&mut Quantified);
}

struct Quantified;

impl VisitorMut for Quantified {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            list_integers::typed(function);
        }
        let reworded = match &*expr {
            Expr::AnyOp {
                left,
                compare_op,
                right,
                is_some: _,
            } if is_list(right) => any(left, compare_op, right),
            Expr::AllOp {
                left,
                compare_op,
                right,
            } if is_list(right) => {
                let opposite = opposite(compare_op);
                opposite.and_then(|opposite| match any(left, &opposite, right)? {
                    Expr::InList { expr, list, .. } => Some(Expr::InList {
                        expr,
                        list,
                        negated: true,
                    }),
                    any => Some(not(any)),
                })
            }
            _ => None,
        };
        if let Some(reworded) = reworded {
            *expr = reworded;
        }
        ControlFlow::Continue(())
    }
}

/// Returns whether this is a list. A text is not one, and a query is planned elsewhere.
fn is_list(list: &Expr) -> bool {
    match list {
        Expr::Nested(list) => is_list(list),
        Expr::Subquery(_) => false,
        Expr::Value(value) => matches!(value.value, Value::Null),
        _ => true,
    }
}

/// The comparison with any element of a list; `None` for an operator that compares nothing, which the planner refuses.
fn any(value: &Expr, operator: &BinaryOperator, list: &Expr) -> Option<Expr> {
    opposite(operator)?;
    if is_null(list) {
        return Some(cast(literal(Value::Null), DataType::Boolean));
    }
    if *operator == BinaryOperator::Eq
        && let Some(list) = written_out(list)
    {
        return Some(Expr::InList {
            expr: Box::new(value.clone()),
            list,
            negated: false,
        });
    }
    let beside = list_integers::beside(list, value);
    let (elements, element) = beside.unwrap_or_else(|| (list.clone(), value.clone()));
    let any = Expr::AnyOp {
        left: Box::new(element),
        compare_op: operator.clone(),
        right: Box::new(elements),
        is_some: false,
    };
    let is_true = call("coalesce", vec![any, literal(Value::Boolean(false))]);
    let unknown = call(UNKNOWN_IN_LIST, vec![list.clone(), value.clone()]);
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(is_true),
        op: BinaryOperator::Or,
        right: Box::new(unknown),
    })))
}

fn is_null(list: &Expr) -> bool {
    match list {
        Expr::Nested(list) => is_null(list),
        Expr::Value(value) => matches!(value.value, Value::Null),
        _ => false,
    }
}

/// The elements of a list that is written out, of the type that it is cast to; `None` for an empty one, and for lists of lists.
fn written_out(list: &Expr) -> Option<Vec<Expr>> {
    match list {
        Expr::Nested(list) => written_out(list),
        Expr::Array(Array { elem, named: _ }) => {
            let has_lists = elem.iter().any(|elem| matches!(elem, Expr::Array(_)));
            (!elem.is_empty() && !has_lists).then(|| elem.clone())
        }
        Expr::Cast {
            kind,
            expr,
            data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(element, None)),
            array,
            format,
        } => {
            let cast = |elem: Expr| match is_text(&elem, element) {
                true => elem,
                false => Expr::Cast {
                    kind: kind.clone(),
                    expr: Box::new(elem),
                    data_type: (**element).clone(),
                    array: *array,
                    format: format.clone(),
                },
            };
            Some(written_out(expr)?.into_iter().map(cast).collect())
        }
        _ => None,
    }
}

/// Whether a text is cast to text, which changes nothing and hides what the text may mean beside a column.
fn is_text(elem: &Expr, to: &DataType) -> bool {
    let Expr::Value(value) = elem else {
        return false;
    };
    matches!(value.value, Value::SingleQuotedString(_))
        && matches!(to, DataType::Text | DataType::Varchar(None))
}

/// The operator that is true where another is false.
const fn opposite(operator: &BinaryOperator) -> Option<BinaryOperator> {
    Some(match operator {
        BinaryOperator::Eq => BinaryOperator::NotEq,
        BinaryOperator::NotEq => BinaryOperator::Eq,
        BinaryOperator::Lt => BinaryOperator::GtEq,
        BinaryOperator::GtEq => BinaryOperator::Lt,
        BinaryOperator::Gt => BinaryOperator::LtEq,
        BinaryOperator::LtEq => BinaryOperator::Gt,
        _ => return None,
    })
}

fn not(expr: Expr) -> Expr {
    Expr::UnaryOp {
        op: UnaryOperator::Not,
        expr: Box::new(expr),
    }
}

fn literal(value: Value) -> Expr {
    Expr::Value(value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_compared_by_in_or_with_what_is_unknown() {
        for (written, reworded) in [
            ("a = ANY(ARRAY[1, NULL])", "a IN (1, NULL)"),
            ("a <> ALL(ARRAY[1, b])", "a NOT IN (1, b)"),
            (
                "a = ANY((ARRAY['x', NULL])::TEXT[])",
                "a IN ('x', NULL::TEXT)",
            ),
            ("a >= ANY(NULL)", "CAST(NULL AS BOOLEAN)"),
            (
                "a = ANY(b)",
                "(coalesce(a = ANY(b), false) OR unknown_in_list(b, a))",
            ),
            (
                "a < ALL(b)",
                "NOT (coalesce(a >= ANY(b), false) OR unknown_in_list(b, a))",
            ),
            (
                "5 = ANY(b)",
                "(coalesce(list_integer(b, 5) = ANY(b), false) OR unknown_in_list(b, 5))",
            ),
            (
                "-5 < ANY(b)",
                "(coalesce(list_integer(signed_list(b), -5) < ANY(signed_list(b)), false) OR unknown_in_list(b, -5))",
            ),
            (
                "array_replace(b, 5, -5)",
                "array_replace_all(signed_list(b), list_integer(signed_list(b), 5), list_integer(signed_list(b), -5))",
            ),
            (
                "array_has(array_agg(b), 5)",
                "array_has(array_agg(b), list_integer(array_agg(b), 5))",
            ),
            (
                "array_has(array_append(b, 5), 5)",
                "array_has(array_append(b, list_integer(b, 5)), 5)",
            ),
            ("array_has([1, 2], 5)", "array_has([1, 2], 5)"),
            ("a = ANY (SELECT b FROM u)", "a = ANY(SELECT b FROM u)"),
            ("a <> ALL (SELECT b FROM u)", "a <> ALL(SELECT b FROM u)"),
            ("a = ANY('{1}')", "a = ANY('{1}')"),
        ] {
            let sql = format!("SELECT b FROM t WHERE {written}");
            let mut statement = Statement::parse(&sql).unwrap().remove(0);
            reword(&mut statement);
            let text = statement.inner.to_string();
            assert_eq!(text, format!("SELECT b FROM t WHERE {reworded}"));
        }
    }
}
