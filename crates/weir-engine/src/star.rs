//! `SELECT *` of one table, which is the table.
//!
//! DataFusion's planner looks each column of a star up among all columns of its table, and compares each with all before it, which
//! of the hundreds that captures have is most of what planning takes. So such a query is planned with one column in the star's place,
//! and the projection on that column is taken out of the plan. The step that makes texts of addresses would bring all columns back, so it
//! is put behind the physical plan ([`rows_to_text`](weir_functions::address::rows_to_text)).

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr as PlanExpr, LogicalPlan};
use datafusion::optimizer::Optimizer;
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

/// The optimized plan of one that was [`widened`], by few of the session's rules: behind each rule DataFusion compares
/// every column with what it was, and of a table and a limit few rules change anything.
pub(crate) fn optimized(plan: &LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    if !is_bare(plan) {
        return state.optimize(plan);
    }
    let rules = state.optimizers().iter();
    let rules = rules.filter(|rule| RULES.contains(&rule.name())).cloned();
    let optimizer = Optimizer::with_rules(rules.collect());
    let analyzer = state.analyzer();
    let plan = analyzer.execute_and_check(plan.clone(), state.config_options(), |_, _| {})?;
    optimizer.optimize(plan, state, |_, _| {})
}

/// Returns true for a table, with or without a limit.
fn is_bare(plan: &LogicalPlan) -> bool {
    let is_number = |expr: &Option<Box<PlanExpr>>| match expr.as_deref() {
        None | Some(PlanExpr::Literal(ScalarValue::Int64(Some(_)), _)) => true,
        Some(_) => false,
    };
    match plan {
        LogicalPlan::Limit(limit) => {
            is_number(&limit.skip) && is_number(&limit.fetch) && is_table(&limit.input)
        }
        plan => is_table(plan),
    }
}

/// The rules that change a table or a limit.
const RULES: [&str; 3] = ["eliminate_limit", "push_down_limit", "optimize_projections"];

fn is_table(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_table(&alias.input),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::{DataType, Field, Schema};
    use datafusion::datasource::empty::EmptyTable;
    use datafusion::datasource::provider_as_source;
    use datafusion::execution::SessionStateBuilder;
    use datafusion::logical_expr::LogicalPlanBuilder;

    use super::*;

    /// `t`, as the source of a plan.
    fn table() -> LogicalPlanBuilder {
        let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int64, true));
        let table = EmptyTable::new(Arc::new(Schema::new(Vec::from(fields))));
        LogicalPlanBuilder::scan("t", provider_as_source(Arc::new(table)), None).unwrap()
    }

    #[test]
    fn a_table_and_a_limit_become_what_all_rules_make_of_them() {
        let state = SessionStateBuilder::new_with_default_features().build();
        let named = || table().alias("u").unwrap();
        for plan in [
            table(),
            named(),
            table().limit(0, Some(7)).unwrap(),
            table().limit(3, Some(7)).unwrap(),
            table().limit(3, None).unwrap(),
            table().limit(0, Some(0)).unwrap(),
            named().limit(3, Some(7)).unwrap(),
        ] {
            let plan = plan.build().unwrap();
            assert!(is_bare(&plan), "{plan}");
            let all = state.optimize(&plan).unwrap();
            assert_eq!(optimized(&plan, &state).unwrap(), all, "{plan}");
        }
    }

    #[test]
    fn other_plans_are_optimized_by_all_rules() {
        let is_null = PlanExpr::IsNull(Box::new(PlanExpr::Column("a".into())));
        let filtered = table().filter(is_null).unwrap();
        assert!(!is_bare(&filtered.build().unwrap()));
        let text = PlanExpr::Literal(ScalarValue::from("7"), None);
        let limited = table().limit_by_expr(None, Some(text)).unwrap();
        assert!(!is_bare(&limited.build().unwrap()));
    }

    /// A rule that is called otherwise one day would be left out.
    #[test]
    fn the_rules_have_these_names() {
        let known = Optimizer::new().rules;
        let known: Vec<&str> = known.iter().map(|rule| rule.name()).collect();
        assert!(RULES.iter().all(|rule| known.contains(rule)), "{known:?}");
    }
}
