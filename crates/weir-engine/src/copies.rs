//! INTERSECT ALL and EXCEPT ALL count copies, as the standard has it (SQL:2016, part 2, 7.17): of a row that stands m times
//! on the left and n times on the right there are min(m, n) in the one, and max(m − n, 0) in the other.
//!
//! DataFusion plans both as joins that look whether a row is on the right at all. So copies are numbered on both sides, and the number is
//! one more key: the third copy of a row meets a third copy only.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, NullEquality, plan_err};
use datafusion::error::Result;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::{
    Distinct, Expr, Join, JoinConstraint, JoinType, LogicalPlan, Projection, Window, WindowFrame,
};
use datafusion::optimizer::AnalyzerRule;

/// Makes joins that stand for INTERSECT ALL and EXCEPT ALL count copies. The rule follows type coercion: both sides have equal
/// types there.
#[derive(Debug)]
pub(crate) struct CountCopies;

impl AnalyzerRule for CountCopies {
    fn name(&self) -> &'static str {
        "count_copies"
    }

    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let counted = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Join(join) if is_of_copies(&join) => counted(join).map(Transformed::yes),
            plan => Ok(Transformed::no(plan)),
        })?;
        Ok(counted.data)
    }
}

/// No join that a statement writes takes NULLs for equal before the optimizer runs. Without ALL the left side is distinct,
/// and then each row has one copy, which a join counts as well.
fn is_of_copies(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull
        && matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(Distinct::All(_)))
}

fn counted(join: Join) -> Result<LogicalPlan> {
    if join.on.len() > COLUMNS_MAX {
        return plan_err!(
            "INTERSECT ALL and EXCEPT ALL count copies of rows of {COLUMNS_MAX} columns at most, not of {}: name columns in place of *",
            join.on.len()
        );
    }
    let columns: Vec<Expr> = columns(&join.left).collect();
    let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let (left, left_number) = numbered(join.left, left_keys, "copy")?;
    let (right, right_number) = numbered(join.right, right_keys, "other_copy")?;
    let mut on = join.on;
    on.push((left_number, right_number));
    let joined = LogicalPlan::Join(Join::try_new(
        left,
        right,
        on,
        join.filter,
        join.join_type,
        JoinConstraint::On,
        join.null_equality,
        join.null_aware,
    )?);
    Projection::try_new(columns, Arc::new(joined)).map(LogicalPlan::Projection)
}

/// The rows with one column more, which numbers those that have the same keys.
fn numbered(
    input: Arc<LogicalPlan>,
    keys: Vec<Expr>,
    name: &str,
) -> Result<(Arc<LogicalPlan>, Expr)> {
    let mut name = format!("__{name}");
    while input.schema().has_column_with_unqualified_name(&name) {
        name.push('_');
    }
    let mut columns: Vec<Expr> = columns(&input).collect();
    let mut number = WindowFunction::new(row_number_udwf(), Vec::new());
    number.params.partition_by = keys;
    number.params.window_frame = WindowFrame::new(Some(true));
    let number = Expr::from(number);
    let numbered = Column::from_name(number.schema_name().to_string());
    columns.push(Expr::Column(numbered).alias(&name));
    let window = LogicalPlan::Window(Window::try_new(vec![number], input)?);
    let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(window))?);
    Ok((Arc::new(plan), Expr::Column(Column::from_name(name))))
}

/// DataFusion takes the cube of a window's keys to plan it: minutes for the columns of packets.
const COLUMNS_MAX: usize = 100;

fn columns(plan: &LogicalPlan) -> impl Iterator<Item = Expr> {
    plan.schema().columns().into_iter().map(Expr::Column)
}
