//! Validation of physical expressions.

use std::cmp::Ordering;

use datafusion::scalar::ScalarValue as Scalar;
use datafusion_proto::protobuf::physical_aggregate_expr_node::AggregateFunction;
use datafusion_proto::protobuf::physical_expr_node::ExprType;
use datafusion_proto::protobuf::physical_window_expr_node::WindowFunction;
use datafusion_proto::protobuf::{
    JoinFilter, JoinOn, PhysicalBinaryExprNode, PhysicalExprNode, PhysicalSortExprNode,
    PhysicalWindowExprNode, WindowFrame, WindowFrameBound, WindowFrameBoundType, WindowFrameUnits,
    window_frame,
};
use datafusion_proto_common::protobuf_common::scalar_value::Value;
use weir_engine::{FRAME_ROWS_MAX, like_weight, pattern_weight};

use super::value::PatternWeight;
use super::{Checked, Refused, counted, rows, shown, value};

/// Validates an expression that is required.
pub(super) fn needed(node: Option<&PhysicalExprNode>) -> Checked {
    match node {
        Some(node) => expression(node, 0),
        None => Err(Refused::malformed(
            "the expression of an operator is missing",
        )),
    }
}

pub(super) fn each(nodes: &[PhysicalExprNode]) -> Checked {
    nodes.iter().try_for_each(|node| expression(node, 0))
}

pub(super) fn sorted(nodes: &[PhysicalSortExprNode]) -> Checked {
    counted("keys of a sort", nodes.len() as u64, KEYS_MAX)?;
    nodes.iter().try_for_each(|node| sort(node, 0))
}

pub(super) fn joined(on: &[JoinOn], filter: Option<&JoinFilter>) -> Checked {
    counted("keys of a join", on.len() as u64, KEYS_MAX)?;
    for on in on {
        needed(on.left.as_ref())?;
        needed(on.right.as_ref())?;
    }
    match filter {
        Some(filter) => {
            value::schema(filter.schema.as_ref())?;
            needed(filter.expression.as_ref())
        }
        None => Ok(()),
    }
}

pub(super) fn window(node: &PhysicalWindowExprNode) -> Checked {
    windowed(node, 0)
}

/// Validates the bounds of a window frame. A frame ends no earlier than it begins, and one of rows or groups no further away than in the
/// text of a statement: DataFusion adds the numbers to those of rows, and subtracts its beginning from its end.
pub(super) fn frame(frame: Option<&WindowFrame>) -> Checked {
    let Some(frame) = frame else {
        return Ok(());
    };
    let end = frame
        .end_bound
        .as_ref()
        .map(|window_frame::EndBound::Bound(end)| end);
    let start = frame.start_bound.as_ref();
    for bound in start.into_iter().chain(end) {
        if bound.bound_value.is_some() {
            value::scalar(bound.bound_value.as_ref())?;
        }
    }
    let is_ordered = match frame.window_frame_units() {
        WindowFrameUnits::Range => is_ordered_range(start, end)?,
        WindowFrameUnits::Rows | WindowFrameUnits::Groups => place(start)? <= place(end)?,
    };
    match is_ordered {
        true => Ok(()),
        false => Err(Refused::malformed("a window frame ends before it begins")),
    }
}

/// Whether a frame of a range of values ends no earlier than it begins.
fn is_ordered_range(
    start: Option<&WindowFrameBound>,
    end: Option<&WindowFrameBound>,
) -> Result<bool, Refused> {
    use WindowFrameBoundType::{CurrentRow, Following, Preceding};
    let kind = |bound: Option<&WindowFrameBound>| {
        bound.map_or(CurrentRow, WindowFrameBound::window_frame_bound_type)
    };
    let (from, to) = (distance(start)?, distance(end)?);
    let (nearer, farther) = match (kind(start), kind(end)) {
        (Preceding, CurrentRow | Following) | (CurrentRow, CurrentRow | Following) => {
            return Ok(true);
        }
        (CurrentRow | Following, Preceding) | (Following, CurrentRow) => return Ok(false),
        (Preceding, Preceding) => (to, from),
        (Following, Following) => (from, to),
    };
    Ok(match (nearer, farther) {
        (_, None) => true,
        (None, Some(_)) => false,
        // Values of different types have no order.
        (Some(nearer), Some(farther)) => matches!(
            nearer.partial_cmp(&farther),
            Some(Ordering::Less | Ordering::Equal)
        ),
    })
}

/// The distance of a bound of a range from the current row, which is not negative; `None` where there is no end.
fn distance(bound: Option<&WindowFrameBound>) -> Result<Option<Scalar>, Refused> {
    let Some(value) = bound.and_then(|bound| bound.bound_value.as_ref()) else {
        return Ok(None);
    };
    let distance = rows::caught(|| Scalar::try_from(value))
        .map_err(|_| Refused::malformed("the bound of a window frame cannot be decoded"))?;
    if distance.is_null() {
        return Ok(None);
    }
    let zero = Scalar::new_zero(&distance.data_type());
    match zero.is_ok_and(|zero| distance < zero) {
        true => Err(Refused::malformed(
            "the bound of a window frame is negative",
        )),
        false => Ok(Some(distance)),
    }
}

/// The place of a bound of rows or groups, counted from the current one. A bound that is missing is the current row.
fn place(bound: Option<&WindowFrameBound>) -> Result<i64, Refused> {
    let Some(bound) = bound else {
        return Ok(0);
    };
    let value = bound.bound_value.as_ref().and_then(|of| of.value.as_ref());
    let rows = match value {
        None | Some(Value::NullValue(_)) => i64::MAX,
        Some(Value::Uint64Value(rows)) => {
            counted("rows to the end of a window frame", *rows, FRAME_ROWS_MAX)?;
            i64::try_from(*rows).unwrap_or(i64::MAX)
        }
        Some(_) => {
            return Err(Refused::malformed(
                "the bound of a window frame is not a number of rows",
            ));
        }
    };
    Ok(match bound.window_frame_bound_type() {
        WindowFrameBoundType::CurrentRow => 0,
        WindowFrameBoundType::Preceding => -rows,
        WindowFrameBoundType::Following => rows,
    })
}

/// Validates the reference to a function. The functions of weir are looked up by name, and have no serialized definition.
pub(super) fn function(name: &str, definition: Option<&Vec<u8>>) -> Checked {
    match definition {
        None => Ok(()),
        Some(bytes) if bytes.is_empty() => Ok(()),
        Some(_) => Err(Refused::not_allowed(format!(
            "the serialized definition of the function {}",
            shown(name)
        ))),
    }
}

/// Validates the argument that sizes what a function keeps, as the text of a statement is: it is allocated before a row is read.
fn sized(name: &str, args: &[PhysicalExprNode]) -> Checked {
    let Some((place, most)) = weir_engine::size_limit(name) else {
        return Ok(());
    };
    let Some(argument) = args.get(place) else {
        return Ok(());
    };
    let number = match &argument.expr_type {
        Some(ExprType::Literal(literal)) => match &literal.value {
            Some(
                Value::Int8Value(number) | Value::Int16Value(number) | Value::Int32Value(number),
            ) => u64::from(number.unsigned_abs()),
            Some(Value::Int64Value(number)) => number.unsigned_abs(),
            Some(
                Value::Uint8Value(number) | Value::Uint16Value(number) | Value::Uint32Value(number),
            ) => u64::from(*number),
            Some(Value::Uint64Value(number)) => *number,
            Some(Value::NullValue(_)) => 0,
            _ => u64::MAX,
        },
        _ => u64::MAX,
    };
    match number <= most {
        true => Ok(()),
        false => Err(Refused::malformed(format!(
            "argument {} of {} is not a number up to {most}",
            place + 1,
            shown(name)
        ))),
    }
}

/// Validates a binary operator. In weir's plans a function with bounded values stands in the place of `||`.
pub(super) fn operator(name: &str) -> Checked {
    match name {
        "StringConcat" => Err(Refused::not_allowed("the operator ||")),
        _ => Ok(()),
    }
}

/// The weight of the pattern of a binary operator that matches one.
pub(super) fn weight_of(operator: &str) -> Option<PatternWeight> {
    match operator {
        _ if operator.starts_with("Regex") => Some(pattern_weight),
        _ if operator.ends_with("LikeMatch") => Some(like_weight),
        _ => None,
    }
}

/// Whether the second argument of a function is a regular expression.
pub(super) fn has_pattern(function: &str) -> bool {
    function.starts_with("regexp_")
}

fn pattern(node: &PhysicalExprNode, weight: PatternWeight) {
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

/// The depth of an expression with so many operands. DataFusion makes a tree of binary expressions of them.
pub(super) fn deeper(depth: usize, operands: usize) -> Result<usize, Refused> {
    match depth.saturating_add(operands.max(1)) {
        depth if depth <= DEPTH_MAX => Ok(depth),
        depth => Err(Refused::too_many(
            "levels of an expression",
            depth as u64,
            DEPTH_MAX as u64,
        )),
    }
}

fn all(nodes: &[PhysicalExprNode], depth: usize) -> Checked {
    nodes.iter().try_for_each(|node| expression(node, depth))
}

fn some(node: Option<&PhysicalExprNode>, depth: usize) -> Checked {
    match node {
        Some(node) => expression(node, depth),
        None => Err(Refused::malformed(
            "the operand of an expression is missing",
        )),
    }
}

fn sort(node: &PhysicalSortExprNode, depth: usize) -> Checked {
    some(node.expr.as_deref(), depth)
}

fn windowed(node: &PhysicalWindowExprNode, depth: usize) -> Checked {
    function(&node.name, node.fun_definition.as_ref())?;
    if let Some(
        WindowFunction::UserDefinedAggrFunction(name)
        | WindowFunction::UserDefinedWindowFunction(name),
    ) = &node.window_function
    {
        sized(name, &node.args)?;
    }
    all(&node.args, depth)?;
    let keys = node.partition_by.len().saturating_add(node.order_by.len());
    counted("keys of a window", keys as u64, KEYS_MAX)?;
    all(&node.partition_by, depth)?;
    node.order_by
        .iter()
        .try_for_each(|node| sort(node, depth))?;
    frame(node.window_frame.as_ref())
}

fn binary(of: &PhysicalBinaryExprNode, depth: usize) -> Checked {
    operator(&of.op)?;
    if let Some(weight) = weight_of(&of.op) {
        of.r.iter().for_each(|node| pattern(node, weight));
        of.operands.iter().for_each(|node| pattern(node, weight));
    }
    match of.operands.as_slice() {
        [] => {
            some(of.l.as_deref(), depth)?;
            some(of.r.as_deref(), depth)
        }
        operands => all(operands, deeper(depth, operands.len())?),
    }
}

/// Validates the values of a list.
fn listed(nodes: &[PhysicalExprNode], depth: usize) -> Checked {
    nodes.iter().try_for_each(|node| match &node.expr_type {
        Some(ExprType::Literal(literal)) => value::listed(literal),
        _ => expression(node, depth),
    })
}

fn expression(node: &PhysicalExprNode, depth: usize) -> Checked {
    let depth = deeper(depth, 1)?;
    let Some(kind) = &node.expr_type else {
        return Err(Refused::malformed("the plan has an empty expression"));
    };
    match kind {
        ExprType::Column(_) | ExprType::UnknownColumn(_) => Ok(()),
        ExprType::Literal(literal) => value::scalar(Some(literal)),
        ExprType::BinaryExpr(of) => binary(of, depth),
        ExprType::AggregateExpr(aggregate) => {
            function(&aggregate.human_display, aggregate.fun_definition.as_ref())?;
            if let Some(AggregateFunction::UserDefinedAggrFunction(name)) =
                &aggregate.aggregate_function
            {
                sized(name, &aggregate.expr)?;
            }
            all(&aggregate.expr, depth)?;
            aggregate
                .ordering_req
                .iter()
                .try_for_each(|node| sort(node, depth))
        }
        ExprType::IsNullExpr(of) => some(of.expr.as_deref(), depth),
        ExprType::IsNotNullExpr(of) => some(of.expr.as_deref(), depth),
        ExprType::NotExpr(of) => some(of.expr.as_deref(), depth),
        ExprType::Negative(of) => some(of.expr.as_deref(), depth),
        ExprType::Sort(of) => sort(of, depth),
        ExprType::Case(case) => {
            for of in case.expr.iter().chain(&case.else_expr) {
                expression(of, depth)?;
            }
            case.when_then_expr.iter().try_for_each(|branch| {
                some(branch.when_expr.as_ref(), depth)?;
                some(branch.then_expr.as_ref(), depth)
            })
        }
        ExprType::Cast(cast) => {
            value::data_type(cast.arrow_type.as_ref(), 1)?;
            some(cast.expr.as_deref(), depth)
        }
        ExprType::TryCast(cast) => {
            value::data_type(cast.arrow_type.as_ref(), 1)?;
            some(cast.expr.as_deref(), depth)
        }
        ExprType::InList(list) => {
            some(list.expr.as_deref(), depth)?;
            listed(&list.list, depth)
        }
        ExprType::LikeExpr(like) => {
            like.pattern
                .iter()
                .for_each(|node| pattern(node, like_weight));
            some(like.expr.as_deref(), depth)?;
            some(like.pattern.as_deref(), depth)
        }
        ExprType::WindowExpr(of) => windowed(of, depth),
        ExprType::ScalarUdf(of) => {
            function(&of.name, of.fun_definition.as_ref())?;
            value::data_type(of.return_type.as_ref(), 1)?;
            if has_pattern(&of.name) {
                let patterns = of.args.iter().skip(1).take(1);
                patterns.for_each(|node| pattern(node, pattern_weight));
            }
            all(&of.args, depth)
        }
        ExprType::Extension(_) => Err(Refused::not_allowed("an extension expression")),
        ExprType::HashExpr(_) => Err(Refused::not_allowed("a hash expression")),
        ExprType::ScalarSubquery(_) => Err(Refused::not_allowed("a subquery in an expression")),
        ExprType::DynamicFilter(_) => Err(Refused::not_allowed("a dynamic filter")),
        ExprType::HigherOrderUdf(of) => Err(Refused::not_allowed(format!(
            "the higher-order function {}",
            shown(&of.name)
        ))),
        ExprType::Lambda(_) | ExprType::LambdaVariable(_) => {
            Err(Refused::not_allowed("a lambda expression"))
        }
        ExprType::RangeExpr(_) => Err(Refused::not_allowed("a range expression")),
    }
}

/// Keys of a sort, of a window or of a join, at most. DataFusion compares orderings key by key.
pub(super) const KEYS_MAX: u64 = 1024;
/// The maximum depth of an expression. DataFusion walks expressions recursively.
const DEPTH_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType;
    use datafusion_proto::protobuf::{PhysicalAggregateExprNode, PhysicalColumn};
    use datafusion_proto_common::protobuf_common::{ArrowType, ScalarValue};

    use super::*;

    /// A percentile of 2^40 centroids was allocated before a row was read, and ended one executor after the other.
    #[test]
    fn arguments_that_size_something_are_bounded() {
        let node = |kind| PhysicalExprNode {
            expr_id: None,
            expr_type: Some(kind),
        };
        let literal = |number| {
            node(ExprType::Literal(ScalarValue {
                value: Some(Value::Int64Value(number)),
            }))
        };
        let percentile = |args| {
            let name = "approx_percentile_cont".to_owned();
            let aggregate = PhysicalAggregateExprNode {
                aggregate_function: Some(AggregateFunction::UserDefinedAggrFunction(name)),
                expr: args,
                ..PhysicalAggregateExprNode::default()
            };
            needed(Some(&node(ExprType::AggregateExpr(aggregate))))
        };
        percentile(vec![literal(1), literal(1)]).unwrap();
        percentile(vec![literal(1), literal(1), literal(100)]).unwrap();
        let column = node(ExprType::Column(PhysicalColumn::default()));
        for centroids in [literal(1 << 40), literal(-(1 << 40)), column] {
            let refused = percentile(vec![literal(1), literal(1), centroids]);
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains("argument 3 of approx"), "{refused}");
        }
        let of_window = |name: &str, args| {
            let function = WindowFunction::UserDefinedWindowFunction(name.to_owned());
            window(&PhysicalWindowExprNode {
                window_function: Some(function),
                args,
                ..PhysicalWindowExprNode::default()
            })
        };
        of_window("lag", vec![literal(1), literal(-1)]).unwrap();
        for (name, args) in [
            ("lag", vec![literal(1), literal(i64::MIN)]),
            ("lead", vec![literal(1), literal(1 << 40)]),
            ("nth_value", vec![literal(1), literal(1 << 40)]),
            ("ntile", vec![literal(1 << 40)]),
        ] {
            assert!(of_window(name, args).is_err(), "{name}");
        }
    }

    /// A frame up to 2^64 rows behind its row, and one that ends before it begins, overflowed when they were computed.
    #[test]
    fn frames_end_behind_their_start_and_not_too_far_away() {
        use WindowFrameBoundType::{CurrentRow, Following, Preceding};
        let bound = |kind: WindowFrameBoundType, rows: Option<u64>| WindowFrameBound {
            window_frame_bound_type: kind.into(),
            bound_value: rows.map(|rows| ScalarValue {
                value: Some(Value::Uint64Value(rows)),
            }),
        };
        let checked = |units: WindowFrameUnits, start, end| {
            frame(Some(&WindowFrame {
                window_frame_units: units.into(),
                start_bound: Some(start),
                end_bound: Some(window_frame::EndBound::Bound(end)),
            }))
        };
        let far = Some(FRAME_ROWS_MAX);
        let farther = Some(FRAME_ROWS_MAX + 1);
        for units in [WindowFrameUnits::Rows, WindowFrameUnits::Groups] {
            for (start, end) in [
                (bound(Preceding, None), bound(Following, None)),
                (bound(Preceding, None), bound(CurrentRow, None)),
                (bound(Preceding, far), bound(Following, far)),
                (bound(Following, Some(1)), bound(Following, Some(1))),
                (bound(Preceding, Some(2)), bound(Preceding, Some(1))),
            ] {
                checked(units, start, end).unwrap();
            }
            for (start, end) in [
                (bound(Preceding, farther), bound(CurrentRow, None)),
                (bound(CurrentRow, None), bound(Following, Some(u64::MAX))),
                (bound(Following, Some(5)), bound(Preceding, Some(5))),
                (bound(Preceding, Some(1)), bound(Preceding, Some(2))),
                (bound(CurrentRow, None), bound(Preceding, None)),
            ] {
                assert!(checked(units, start, end).is_err(), "{units:?}");
            }
            let text = WindowFrameBound {
                window_frame_bound_type: Preceding.into(),
                bound_value: Some(ScalarValue {
                    value: Some(Value::Utf8Value("2".to_owned())),
                }),
            };
            assert!(checked(units, text, bound(CurrentRow, None)).is_err());
        }
        // Values of RANGE are those of a column.
        let (start, end) = (bound(Preceding, farther), bound(Following, farther));
        checked(WindowFrameUnits::Range, start, end).unwrap();
        frame(Some(&WindowFrame::default())).unwrap();
    }

    /// A range of values that ends before it begins made an operator panic.
    #[test]
    fn ranges_of_values_end_behind_their_start() {
        use WindowFrameBoundType::{CurrentRow, Following, Preceding};
        let bound = |kind: WindowFrameBoundType, value| WindowFrameBound {
            window_frame_bound_type: kind.into(),
            bound_value: Some(ScalarValue { value: Some(value) }),
        };
        let number = |kind, number| bound(kind, Value::Int64Value(number));
        let null = ArrowType::try_from(&DataType::Null).unwrap();
        let unbounded = |kind| bound(kind, Value::NullValue(null.clone()));
        let current = || WindowFrameBound {
            window_frame_bound_type: CurrentRow.into(),
            bound_value: None,
        };
        let checked = |start, end| {
            frame(Some(&WindowFrame {
                window_frame_units: WindowFrameUnits::Range.into(),
                start_bound: Some(start),
                end_bound: Some(window_frame::EndBound::Bound(end)),
            }))
        };
        for (start, end) in [
            (number(Preceding, 5), number(Following, 5)),
            (number(Preceding, 5), number(Preceding, 5)),
            (number(Preceding, 5), number(Preceding, 0)),
            (number(Following, 5), number(Following, i64::MAX)),
            (unbounded(Preceding), number(Preceding, 5)),
            (unbounded(Preceding), current()),
            (current(), unbounded(Following)),
            (number(Following, 5), unbounded(Following)),
        ] {
            checked(start, end).unwrap();
        }
        let text = || bound(Following, Value::Utf8Value("5".to_owned()));
        for (start, end) in [
            (number(Following, 5), number(Preceding, 5)),
            (number(Preceding, 4), number(Preceding, 5)),
            (number(Following, 5), number(Following, 4)),
            (number(Preceding, 5), unbounded(Preceding)),
            (number(Following, 5), current()),
            (current(), number(Preceding, 5)),
            (number(Preceding, -1), number(Following, 5)),
            (number(Preceding, 1), number(Following, i64::MIN)),
            (number(Following, 5), text()),
        ] {
            assert!(
                checked(start.clone(), end.clone()).is_err(),
                "{start:?} {end:?}"
            );
        }
    }

    /// Forty projections of `a || a` over each other would make a text of a tebibyte.
    #[test]
    fn texts_are_not_joined_by_an_operator() {
        let of_operator = |op: &str| {
            let column = PhysicalExprNode {
                expr_id: None,
                expr_type: Some(ExprType::Column(PhysicalColumn::default())),
            };
            let binary = PhysicalBinaryExprNode {
                op: op.to_owned(),
                l: Some(Box::new(column.clone())),
                r: Some(Box::new(column)),
                ..PhysicalBinaryExprNode::default()
            };
            needed(Some(&PhysicalExprNode {
                expr_id: None,
                expr_type: Some(ExprType::BinaryExpr(Box::new(binary))),
            }))
        };
        of_operator("Plus").unwrap();
        let refused = of_operator("StringConcat").unwrap_err().to_string();
        assert!(refused.contains("||"), "{refused}");
    }
}
