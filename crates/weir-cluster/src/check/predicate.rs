//! Validation of the filters of scans, which are serialized logical expressions.

use datafusion_proto::protobuf::logical_expr_node::ExprType;
use datafusion_proto::protobuf::{BinaryExprNode, CaseNode, LogicalExprNode, ScalarUdfExprNode};
use weir_engine::{like_weight, pattern_weight};

use super::expression::{deeper, function, has_pattern, operator, weight_of};
use super::value::PatternWeight;
use super::{Checked, Refused, decoded, shown, value};

/// Validates a serialized filter.
pub(super) fn predicate(bytes: &[u8]) -> Checked {
    expression(&decoded("the filter of a scan", bytes)?, 0)
}

fn all(nodes: &[LogicalExprNode], depth: usize) -> Checked {
    nodes.iter().try_for_each(|node| expression(node, depth))
}

fn some(node: Option<&LogicalExprNode>, depth: usize) -> Checked {
    match node {
        Some(node) => expression(node, depth),
        None => Err(Refused::malformed("the operand of a filter is missing")),
    }
}

fn both(one: Option<&LogicalExprNode>, other: Option<&LogicalExprNode>, depth: usize) -> Checked {
    some(one, depth)?;
    some(other, depth)
}

fn matched(
    text: Option<&LogicalExprNode>,
    by: Option<&LogicalExprNode>,
    weight: PatternWeight,
    depth: usize,
) -> Checked {
    if let Some(by) = by {
        pattern(by, weight);
    }
    both(text, by, depth)
}

fn binary(of: &BinaryExprNode, depth: usize) -> Checked {
    operator(&of.op)?;
    if let Some(weight) = weight_of(&of.op) {
        of.operands.iter().for_each(|node| pattern(node, weight));
    }
    match of.operands.as_slice() {
        [] | [_] => Err(Refused::malformed("the operands of a filter are missing")),
        operands => all(operands, deeper(depth, operands.len())?),
    }
}

/// Validates the values of a list.
fn listed(nodes: &[LogicalExprNode], depth: usize) -> Checked {
    nodes.iter().try_for_each(|node| match &node.expr_type {
        Some(ExprType::Literal(literal)) => value::listed(literal),
        _ => expression(node, depth),
    })
}

fn case(of: &CaseNode, depth: usize) -> Checked {
    for of in of.expr.iter().chain(&of.else_expr) {
        expression(of, depth)?;
    }
    of.when_then_expr.iter().try_for_each(|branch| {
        some(branch.when_expr.as_ref(), depth)?;
        some(branch.then_expr.as_ref(), depth)
    })
}

fn call(of: &ScalarUdfExprNode, depth: usize) -> Checked {
    function(&of.fun_name, of.fun_definition.as_ref())?;
    if has_pattern(&of.fun_name) {
        let patterns = of.args.iter().skip(1).take(1);
        patterns.for_each(|node| pattern(node, pattern_weight));
    }
    all(&of.args, depth)
}

fn expression(node: &LogicalExprNode, depth: usize) -> Checked {
    let depth = deeper(depth, 1)?;
    let Some(kind) = &node.expr_type else {
        return Err(Refused::malformed("the filter of a scan is empty"));
    };
    match kind {
        ExprType::Column(_) => Ok(()),
        ExprType::Literal(literal) => value::scalar(Some(literal)),
        ExprType::Alias(of) => some(of.expr.as_deref(), depth),
        ExprType::BinaryExpr(of) => binary(of, depth),
        ExprType::IsNullExpr(of) => some(of.expr.as_deref(), depth),
        ExprType::IsNotNullExpr(of) => some(of.expr.as_deref(), depth),
        ExprType::NotExpr(of) => some(of.expr.as_deref(), depth),
        ExprType::Negative(of) => some(of.expr.as_deref(), depth),
        ExprType::IsTrue(of) => some(of.expr.as_deref(), depth),
        ExprType::IsFalse(of) => some(of.expr.as_deref(), depth),
        ExprType::IsUnknown(of) => some(of.expr.as_deref(), depth),
        ExprType::IsNotTrue(of) => some(of.expr.as_deref(), depth),
        ExprType::IsNotFalse(of) => some(of.expr.as_deref(), depth),
        ExprType::IsNotUnknown(of) => some(of.expr.as_deref(), depth),
        ExprType::Between(of) => {
            some(of.expr.as_deref(), depth)?;
            both(of.low.as_deref(), of.high.as_deref(), depth)
        }
        ExprType::Case(of) => case(of, depth),
        ExprType::Cast(of) => {
            value::data_type(of.arrow_type.as_ref(), 1)?;
            some(of.expr.as_deref(), depth)
        }
        ExprType::TryCast(of) => {
            value::data_type(of.arrow_type.as_ref(), 1)?;
            some(of.expr.as_deref(), depth)
        }
        ExprType::InList(of) => {
            some(of.expr.as_deref(), depth)?;
            listed(&of.list, depth)
        }
        ExprType::Like(of) => matched(
            of.expr.as_deref(),
            of.pattern.as_deref(),
            like_weight,
            depth,
        ),
        ExprType::Ilike(of) => matched(
            of.expr.as_deref(),
            of.pattern.as_deref(),
            like_weight,
            depth,
        ),
        ExprType::SimilarTo(of) => matched(
            of.expr.as_deref(),
            of.pattern.as_deref(),
            pattern_weight,
            depth,
        ),
        ExprType::ScalarUdfExpr(of) => call(of, depth),
        ExprType::AggregateUdfExpr(of) => never(&of.fun_name),
        ExprType::HigherOrderUdfExpr(of) => never(&of.fun_name),
        ExprType::WindowExpr(_)
        | ExprType::GroupingSet(_)
        | ExprType::Cube(_)
        | ExprType::Rollup(_)
        | ExprType::Wildcard(_)
        | ExprType::Placeholder(_)
        | ExprType::Unnest(_)
        | ExprType::Lambda(_)
        | ExprType::LambdaVariable(_) => Err(Refused::not_allowed(
            "a filter of a scan over more than one row",
        )),
        ExprType::ScalarSubqueryExpr(_) => {
            Err(Refused::not_allowed("a subquery in a filter of a scan"))
        }
    }
}

fn pattern(node: &LogicalExprNode, weight: PatternWeight) {
    let inner = match &node.expr_type {
        Some(ExprType::Literal(literal)) => return value::pattern(literal, weight),
        Some(ExprType::Cast(cast)) => cast.expr.as_deref(),
        Some(ExprType::TryCast(cast)) => cast.expr.as_deref(),
        _ => None,
    };
    if let Some(inner) = inner {
        pattern(inner, weight);
    }
}

fn never(name: &str) -> Checked {
    Err(Refused::not_allowed(format!(
        "the function {} in a filter of a scan",
        shown(name)
    )))
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn texts_of_filters_are_not_joined_by_an_operator() {
        let of_operator = |op: &str| {
            let column = LogicalExprNode {
                expr_type: Some(ExprType::Column(Default::default())),
            };
            let binary = BinaryExprNode {
                op: op.to_owned(),
                operands: vec![column.clone(), column],
            };
            let node = LogicalExprNode {
                expr_type: Some(ExprType::BinaryExpr(binary)),
            };
            predicate(&node.encode_to_vec())
        };
        of_operator("Eq").unwrap();
        assert!(of_operator("StringConcat").is_err());
    }
}
