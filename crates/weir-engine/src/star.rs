//! `SELECT *` of one table, which is the table.
//!
//! DataFusion's planner looks each column of a star up among all columns of its table, and compares each with all before it, which
//! of the hundreds that captures have is most of what planning takes. So such a query is planned with one column in the star's place,
//! and the projection on that column is taken out of the plan. The step that makes texts of addresses would bring all columns back, so it
//! is put behind the physical plan ([`rows_to_text`](weir_functions::address::rows_to_text)).

use std::sync::Arc;

use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan};
use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{
    self, Expr, GroupByExpr, Ident, Query, Select, SelectItem, SetExpr, TableFactor,
};

/// The statement with this column in the place of its star, where it is a plain `SELECT *` of one table, with or without a
/// condition and a limit.
pub(crate) fn narrowed(statement: &DfStatement, column: &str) -> Option<DfStatement> {
    let DfStatement::Statement(statement) = statement else {
        return None;
    };
    let ast::Statement::Query(query) = statement.as_ref() else {
        return None;
    };
    let is_plain = query.with.is_none()
        && query.order_by.is_none()
        && query.fetch.is_none()
        && query.pipe_operators.is_empty();
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    if !is_plain || !is_star_of_one_table(select) {
        return None;
    }
    let mut query: Query = query.as_ref().clone();
    if let SetExpr::Select(select) = query.body.as_mut() {
        let column = Expr::Identifier(Ident::with_quote('"', column));
        select.projection = vec![SelectItem::UnnamedExpr(column)];
    }
    let query = ast::Statement::Query(Box::new(query));
    Some(DfStatement::Statement(Box::new(query)))
}

fn is_star_of_one_table(select: &Select) -> bool {
    let is_grouped = match &select.group_by {
        GroupByExpr::All(_) => true,
        GroupByExpr::Expressions(exprs, _) => !exprs.is_empty(),
    };
    let is_table = |factor: &TableFactor| match factor {
        TableFactor::Table {
            alias,
            args: None,
            sample: None,
            ..
        } => alias.as_ref().is_none_or(|alias| alias.columns.is_empty()),
        _ => false,
    };
    let is_one = match select.from.as_slice() {
        [table] => table.joins.is_empty() && is_table(&table.relation),
        _ => false,
    };
    select.projection == [SelectItem::Wildcard(Default::default())]
        && select.distinct.is_none()
        && select.into.is_none()
        && select.having.is_none()
        && select.qualify.is_none()
        && select.named_window.is_empty()
        && !is_grouped
        && is_one
}

/// The plan of a statement that was [`narrowed`], with all columns; `None` where it is not just a table, a condition and a limit.
pub(crate) fn widened(plan: LogicalPlan) -> Option<LogicalPlan> {
    match plan {
        LogicalPlan::Limit(mut limit) => {
            limit.input = Arc::new(widened(Arc::unwrap_or_clone(limit.input))?);
            Some(LogicalPlan::Limit(limit))
        }
        LogicalPlan::Projection(projection) => {
            let is_column = matches!(projection.expr.as_slice(), [PlanExpr::Column(_)]);
            let is_plain = match projection.input.as_ref() {
                LogicalPlan::Filter(filter) => is_table(&filter.input),
                input => is_table(input),
            };
            (is_column && is_plain).then(|| Arc::unwrap_or_clone(projection.input))
        }
        _ => None,
    }
}

fn is_table(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_table(&alias.input),
        _ => false,
    }
}
