//! Arguments that size something: how large they may be, where what they size is made before a row is read.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    NamedWindowDefinition, NamedWindowExpr, Select, UnaryOperator, Value, WindowFrameBound,
    WindowSpec, WindowType,
};
use weir_functions::{Error, ErrorKind};

/// Checks the grouping sets of a SELECT, and its named window frames.
///
/// # Errors
/// When there are more sets than there may be, or a frame is longer than it may be.
pub(super) fn look_at_select(select: &Select) -> Result<(), Error> {
    for NamedWindowDefinition(_, window) in &select.named_window {
        if let NamedWindowExpr::WindowSpec(spec) = window {
            look_at_frame(spec)?;
        }
    }
    match &select.group_by {
        GroupByExpr::Expressions(exprs, _) => look_at_sets(exprs.iter()),
        GroupByExpr::All(_) => Ok(()),
    }
}

/// Checks the grouping sets of a GROUP BY: CUBE of n columns has 2^n of them.
///
/// # Errors
/// When there are more than there may be.
pub(super) fn look_at_sets<'e>(exprs: impl Iterator<Item = &'e Expr>) -> Result<(), Error> {
    match product(exprs) {
        0..=SETS_MAX => Ok(()),
        _ => Err(
            limit(format!("GROUP BY has more than {SETS_MAX} grouping sets")).with_hint(
                "CUBE of n columns is 2^n sets; GROUPING SETS lists only those that are needed",
            ),
        ),
    }
}

fn product<'e>(exprs: impl Iterator<Item = &'e Expr>) -> usize {
    exprs.map(sets).fold(1, usize::saturating_mul)
}

fn sets(expr: &Expr) -> usize {
    match expr {
        Expr::Cube(columns) => match columns.len() {
            count @ 0..32 => 1 << count,
            _ => usize::MAX,
        },
        Expr::Rollup(columns) => columns.len().saturating_add(1),
        Expr::GroupingSets(sets) => {
            let sets = sets.iter().map(|set| product(set.iter()));
            sets.fold(0, usize::saturating_add)
        }
        _ => 1,
    }
}

/// Checks the arguments of a function, and its window frame.
///
/// # Errors
/// When one is larger than it may be, or not known before a row is read.
pub(super) fn look_at_arguments(function: &Function) -> Result<(), Error> {
    if let Some(WindowType::WindowSpec(spec)) = &function.over {
        look_at_frame(spec)?;
    }
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let name = name.map(|name| name.value.to_ascii_lowercase());
    let known = SIZES
        .iter()
        .find(|(known, _, _)| Some(*known) == name.as_deref());
    let Some((name, place, most)) = known else {
        return Ok(());
    };
    // The value stands behind the arguments then.
    let place = place.saturating_sub(usize::from(!function.within_group.is_empty()));
    let FunctionArguments::List(list) = &function.args else {
        return Ok(());
    };
    let argument = list.args.get(place).map(|argument| match argument {
        FunctionArg::Unnamed(argument)
        | FunctionArg::Named { arg: argument, .. }
        | FunctionArg::ExprNamed { arg: argument, .. } => argument,
    });
    let Some(FunctionArgExpr::Expr(argument)) = argument else {
        return Ok(());
    };
    match number(argument) {
        Size::Known(number) if number <= *most => Ok(()),
        Size::Later => Ok(()),
        _ => Err(limit(format!(
            "argument {} of {name} must be a number up to {most}",
            place + 1
        ))),
    }
}

fn look_at_frame(spec: &WindowSpec) -> Result<(), Error> {
    let Some(frame) = &spec.window_frame else {
        return Ok(());
    };
    let bounds = [Some(&frame.start_bound), frame.end_bound.as_ref()];
    for bound in bounds.into_iter().flatten() {
        let (WindowFrameBound::Preceding(Some(rows)) | WindowFrameBound::Following(Some(rows))) =
            bound
        else {
            continue;
        };
        // Times and texts of times are bounds of RANGE, which allocate nothing.
        if let Size::Known(rows) = number(rows)
            && rows > FRAME_MAX
        {
            return Err(limit(format!(
                "a window frame begins or ends at most {FRAME_MAX} rows away"
            ))
            .with_hint("UNBOUNDED PRECEDING and UNBOUNDED FOLLOWING have no number"));
        }
    }
    Ok(())
}

/// The known size of an argument.
enum Size {
    Known(u64),
    /// A parameter, whose value takes its place before the statement runs.
    Later,
    Unknown,
}

/// The number that an expression is, without its sign.
fn number(expr: &Expr) -> Size {
    match expr {
        Expr::Nested(expr) | Expr::Cast { expr, .. } => number(expr),
        Expr::UnaryOp {
            op: UnaryOperator::Minus | UnaryOperator::Plus,
            expr,
        } => number(expr),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(_) => Size::Later,
            // The planner refuses a number that is not whole.
            Value::Number(digits, _) if !digits.contains(['.', 'e', 'E']) => {
                Size::Known(digits.parse().unwrap_or(u64::MAX))
            }
            _ => Size::Unknown,
        },
        _ => Size::Unknown,
    }
}

fn limit(message: String) -> Error {
    Error::new(ErrorKind::Limit, message)
}

/// The limit of PostgreSQL.
const SETS_MAX: usize = 4096;
/// Rows between a row and an end of its frame.
const FRAME_MAX: u64 = 1 << 31;
/// Functions, the argument that sizes what they keep, and the most that it may be.
const SIZES: &[(&str, usize, u64)] = &[
    ("approx_percentile_cont", 2, CENTROIDS_MAX),
    ("approx_percentile_cont_with_weight", 3, CENTROIDS_MAX),
    ("lag", 1, ROWS_MAX),
    ("lead", 1, ROWS_MAX),
    ("nth_value", 1, ROWS_MAX),
    ("ntile", 0, ROWS_MAX),
];
const CENTROIDS_MAX: u64 = 10_000;
const ROWS_MAX: u64 = 1_000_000;
