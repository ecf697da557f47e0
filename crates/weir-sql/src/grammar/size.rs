//! Arguments that size something: how large they may be, where what they size is made before a row is read; and how long lists may
//! be that take far longer to plan than to write.

use std::collections::HashSet;

use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArguments, GroupByExpr, JoinConstraint, JoinOperator,
    NamedWindowDefinition, NamedWindowExpr, OrderByKind, PipeOperator, Query, Select,
    UnaryOperator, Value, WindowFrameBound, WindowSpec, WindowType,
};
use weir_functions::number::CENTROIDS_MAX;
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
pub(super) fn look_at_sets<'e>(exprs: impl Iterator<Item = &'e Expr> + Clone) -> Result<(), Error> {
    let hint = "CUBE of n columns is 2^n sets; GROUPING SETS lists only those that are needed";
    let sets = product(exprs.clone());
    if sets > SETS_MAX {
        let message = format!("GROUP BY has more than {SETS_MAX} grouping sets");
        return Err(limit(message).with_hint(hint));
    }
    if sets == 1 {
        return Ok(());
    }
    let mut columns = HashSet::new();
    exprs.for_each(|expr| add_columns(expr, &mut columns));
    // A set has a flag for each column.
    match sets.saturating_mul(columns.len()) {
        0..=SETS_COLUMNS_MAX => Ok(()),
        _ => Err(limit(format!(
            "GROUP BY has {sets} grouping sets of {} columns, and the limit is {SETS_COLUMNS_MAX} for both multiplied",
            columns.len()
        ))
        .with_hint(hint)),
    }
}

/// Adds the columns that the sets of a GROUP BY are made of.
fn add_columns<'e>(expr: &'e Expr, columns: &mut HashSet<&'e Expr>) {
    match expr {
        Expr::Cube(sets) | Expr::Rollup(sets) | Expr::GroupingSets(sets) => {
            sets.iter()
                .flatten()
                .for_each(|expr| add_columns(expr, columns));
        }
        expr => {
            columns.insert(expr);
        }
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
    if let Some("arrow_cast" | "arrow_try_cast") = name.as_deref() {
        return look_at_arrow_type(&function.args);
    }
    let Some((name, (place, most))) = name.and_then(|name| {
        let limit = size_limit(&name)?;
        Some((name, limit))
    }) else {
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
        Size::Known(number) if number <= most => Ok(()),
        Size::Later => Ok(()),
        _ => Err(limit(format!(
            "argument {} of {name} must be a number up to {most}",
            place + 1
        ))),
    }
}

/// The argument that sizes what a function keeps, by its place, and the most that it may be.
#[must_use]
pub fn size_limit(function: &str) -> Option<(usize, u64)> {
    let known = SIZES.iter().find(|(known, _, _)| *known == function);
    known.map(|(_, place, most)| (*place, *most))
}

/// Checks the length of lists in a type, which each row has room for: `CAST(NULL AS INT[1000])`.
///
/// # Errors
/// When it is more than there may be.
pub(super) fn look_at_type(kind: &DataType) -> Result<(), Error> {
    match elements(kind) {
        0..=ELEMENTS_MAX => Ok(()),
        elements => Err(limit(format!(
            "the type {kind} has {elements} elements, and the limit is {ELEMENTS_MAX}"
        ))
        .with_hint("INT[] is the type of lists of any length")),
    }
}

/// Checks the length of lists and bytes in a type of Arrow's: `arrow_cast(NULL, 'FixedSizeList(1000, Int64)')`.
fn look_at_arrow_type(args: &FunctionArguments) -> Result<(), Error> {
    let FunctionArguments::List(list) = args else {
        return Ok(());
    };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(kind)))) = list.args.get(1)
    else {
        return Ok(());
    };
    let kind = kind.value.to_string();
    let elements = kind.split("FixedSize").skip(1).map(|part| {
        let numbers = part.split(|character: char| !character.is_ascii_digit());
        let numbers = numbers.filter(|digits| !digits.is_empty());
        numbers
            .map(|digits| digits.parse().unwrap_or(u64::MAX))
            .max()
            .unwrap_or(1)
    });
    match elements.fold(1, u64::saturating_mul) {
        0..=ELEMENTS_MAX => Ok(()),
        elements => Err(limit(format!(
            "the type {kind} has {elements} elements, and the limit is {ELEMENTS_MAX}"
        ))
        .with_hint("List(Int64) and Binary are types of any length")),
    }
}

/// The elements that a value of a type has, whatever is in it.
fn elements(kind: &DataType) -> u64 {
    match kind {
        DataType::Array(ArrayElemTypeDef::SquareBracket(element, Some(len))) => {
            len.saturating_mul(elements(element))
        }
        DataType::Array(
            ArrayElemTypeDef::SquareBracket(element, None)
            | ArrayElemTypeDef::AngleBracket(element)
            | ArrayElemTypeDef::Parenthesis(element),
        ) => elements(element),
        _ => 1,
    }
}

/// The lists of a statement that take far longer to plan than to write.
#[derive(Default)]
pub(super) struct Lists {
    selected: Count,
    ordered: Count,
    partitioned: Count,
    windows: Count,
    conditions: Count,
    /// The window functions so far of each SELECT around this place.
    around: Vec<usize>,
}

#[derive(Default)]
struct Count {
    all: usize,
    most: usize,
    squares: usize,
}

impl Count {
    /// Adds a list of so many elements. `what` describes the elements and the place, for the message.
    fn add(&mut self, count: usize, (what, place, most): ListLimit) -> Result<(), Error> {
        self.all = self.all.saturating_add(count);
        self.most = self.most.max(count);
        let square = count.saturating_mul(count);
        self.squares = self.squares.saturating_add(square);
        match self.most > most || self.squares > 2 * most * most {
            false => Ok(()),
            true => Err(limit(format!(
                "the statement has too many {what}: {} in all and {} in one {place}, where the limit is {most} in one {place}, and less in each of several",
                self.all, self.most
            ))
            .with_hint("ask for less at once, in several statements")),
        }
    }
}

impl Lists {
    /// Adds what a query orders its rows by.
    ///
    /// # Errors
    /// As all of these: when the lists of the statement so far are longer than they may be.
    pub(super) fn add_query(&mut self, query: &Query) -> Result<(), Error> {
        for operator in &query.pipe_operators {
            match operator {
                PipeOperator::OrderBy { exprs } => self.ordered.add(exprs.len(), ORDERED)?,
                PipeOperator::Where { expr } => {
                    self.conditions.add(conjuncts(expr), CONDITIONS)?;
                }
                PipeOperator::Select { exprs } | PipeOperator::Extend { exprs } => {
                    self.selected.add(exprs.len(), SELECTED)?;
                }
                PipeOperator::Aggregate {
                    full_table_exprs,
                    group_by_expr,
                } => {
                    let exprs = full_table_exprs.len().saturating_add(group_by_expr.len());
                    self.selected.add(exprs, SELECTED)?;
                }
                _ => {}
            }
        }
        match query.order_by.as_ref().map(|order| &order.kind) {
            Some(OrderByKind::Expressions(keys)) => self.ordered.add(keys.len(), ORDERED),
            Some(OrderByKind::All(_)) | None => Ok(()),
        }
    }

    pub(super) fn enter_select(&mut self, select: &Select) -> Result<(), Error> {
        self.around.push(0);
        for NamedWindowDefinition(_, window) in &select.named_window {
            if let NamedWindowExpr::WindowSpec(spec) = window {
                self.add_window(spec)?;
            }
        }
        let conditions = select.selection.iter().chain(&select.having);
        let joins = select.from.iter().flat_map(|table| &table.joins);
        for condition in conditions.chain(joins.filter_map(|join| on(&join.join_operator))) {
            self.conditions.add(conjuncts(condition), CONDITIONS)?;
        }
        self.selected.add(select.projection.len(), SELECTED)
    }

    pub(super) fn leave_select(&mut self) -> Result<(), Error> {
        let windows = self.around.pop().unwrap_or(0);
        self.windows.add(windows, WINDOWS)
    }

    pub(super) fn add_function(&mut self, function: &Function) -> Result<(), Error> {
        if let FunctionArguments::List(list) = &function.args {
            for clause in &list.clauses {
                if let FunctionArgumentClause::OrderBy(keys) = clause {
                    self.ordered.add(keys.len(), ORDERED)?;
                }
            }
        }
        if let (Some(_), Some(windows)) = (&function.over, self.around.last_mut()) {
            *windows += 1;
        }
        match &function.over {
            Some(WindowType::WindowSpec(spec)) => self.add_window(spec),
            Some(WindowType::NamedWindow(_)) | None => Ok(()),
        }
    }

    fn add_window(&mut self, spec: &WindowSpec) -> Result<(), Error> {
        self.partitioned.add(spec.partition_by.len(), PARTITIONED)?;
        self.ordered.add(spec.order_by.len(), ORDERED)
    }
}

/// The conditions of which all must be true.
fn conjuncts(mut condition: &Expr) -> usize {
    let mut count = 1_usize;
    loop {
        match condition {
            Expr::Nested(inner) => condition = inner.as_ref(),
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And,
                right,
            } => {
                count = count.saturating_add(conjuncts(right));
                condition = left.as_ref();
            }
            _ => return count,
        }
    }
}

/// The condition of a join.
const fn on(join: &JoinOperator) -> Option<&Expr> {
    match join {
        JoinOperator::Join(JoinConstraint::On(condition))
        | JoinOperator::Inner(JoinConstraint::On(condition))
        | JoinOperator::Left(JoinConstraint::On(condition))
        | JoinOperator::LeftOuter(JoinConstraint::On(condition))
        | JoinOperator::Right(JoinConstraint::On(condition))
        | JoinOperator::RightOuter(JoinConstraint::On(condition))
        | JoinOperator::FullOuter(JoinConstraint::On(condition)) => Some(condition),
        _ => None,
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
            && rows > FRAME_ROWS_MAX
        {
            return Err(limit(format!(
                "a window frame begins or ends at most {FRAME_ROWS_MAX} rows away"
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

/// The elements of a list, its place, and the limit of its length: planning a list of that length takes some five
/// seconds, and the time grows with the square of the length.
type ListLimit = (&'static str, &'static str, usize);
const SELECTED: ListLimit = ("expressions", "SELECT list", 2048);
const ORDERED: ListLimit = ("keys", "ORDER BY", 512);
/// The orders of so many columns are compared key by key, each with all others.
const PARTITIONED: ListLimit = ("keys", "PARTITION BY", 64);
const CONDITIONS: ListLimit = ("conditions", "WHERE or ON", 512);
const WINDOWS: ListLimit = ("window functions", "SELECT", 256);
/// The limit of PostgreSQL.
const SETS_MAX: usize = 4096;
/// CUBE of twelve columns has 49,152.
const SETS_COLUMNS_MAX: usize = 1 << 16;
/// A batch of 8,192 rows has 256 MiB of them.
const ELEMENTS_MAX: u64 = 4096;
/// Rows between a row and an end of its frame.
pub const FRAME_ROWS_MAX: u64 = 1 << 31;
/// Functions, the argument that sizes what they keep, and the most that it may be.
const SIZES: &[(&str, usize, u64)] = &[
    ("approx_percentile_cont", 2, CENTROIDS_MAX),
    ("approx_percentile_cont_with_weight", 3, CENTROIDS_MAX),
    ("lag", 1, ROWS_MAX),
    ("lead", 1, ROWS_MAX),
    ("nth_value", 1, ROWS_MAX),
    ("ntile", 0, ROWS_MAX),
];
const ROWS_MAX: u64 = 1_000_000;
