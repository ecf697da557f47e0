//! `x = ANY(list)` and `x <> ALL(list)`, by which clients send a list as one parameter, as `IN` and `NOT IN`: what a list is compared
//! with decides of which type its values are, which may be an address.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, DataType, Expr, Value, VisitorMut,
};

use super::tree::flag;

/// Rewrites comparisons with lists that are written out, or are a parameter.
pub(super) struct Lists;

impl VisitorMut for Lists {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let found = match expr {
            Expr::AnyOp {
                left,
                compare_op: BinaryOperator::Eq,
                right,
                ..
            } => values(right).map(|list| (left, list, false)),
            Expr::AllOp {
                left,
                compare_op: BinaryOperator::NotEq,
                right,
            } => values(right).map(|list| (left, list, true)),
            _ => None,
        };
        if let Some((left, list, negated)) = found {
            *expr = match list.is_empty() {
                true => flag(negated),
                false => Expr::InList {
                    expr: left.clone(),
                    list,
                    negated,
                },
            };
        }
        ControlFlow::Continue(())
    }
}

/// The values of a list. A parameter without a value stands for one of them.
fn values(list: &Expr) -> Option<Vec<Expr>> {
    match list {
        Expr::Nested(list) => values(list),
        Expr::Array(list) if list.elem.iter().all(is_constant) => Some(list.elem.clone()),
        Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => {
            Some(vec![list.clone()])
        }
        Expr::Cast {
            kind,
            expr,
            data_type: DataType::Array(ArrayElemTypeDef::SquareBracket(element, _)),
            array,
            format,
        } => {
            let values = values(expr)?;
            let is_place = matches!(
                values.as_slice(),
                [Expr::Value(value)] if matches!(value.value, Value::Placeholder(_))
            );
            Some(match is_place {
                false => values,
                true => values
                    .into_iter()
                    .map(|value| Expr::Cast {
                        kind: kind.clone(),
                        expr: Box::new(value),
                        data_type: (**element).clone(),
                        array: *array,
                        format: format.clone(),
                    })
                    .collect(),
            })
        }
        _ => None,
    }
}

fn is_constant(value: &Expr) -> bool {
    match value {
        Expr::Value(_) | Expr::TypedString(_) => true,
        Expr::Nested(value) | Expr::UnaryOp { expr: value, .. } => is_constant(value),
        _ => false,
    }
}
