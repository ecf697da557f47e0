//! Queries as values.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArguments,
    GroupByExpr, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, UnaryOperator,
    Value, VisitorMut,
};
use weir_engine::walk_mut;

use super::empty::aggregates;
use super::tree::{call, flag, plain_parts};
use crate::catalog::table::{INFORMATION, OWN};

/// Makes an aggregate of a scalar subquery over relations of the catalog: a correlated one is planned as an aggregate only, and has
/// at most one row here, as PostgreSQL demands.
pub(super) struct Subqueries;

impl VisitorMut for Subqueries {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Subquery(query) => {
                if let Some(select) = plain_select(query)
                    && is_of_catalog(select)
                    && !aggregates(select)
                {
                    if let Some(value) = value(select) {
                        *value = call("first_value", vec![value.clone()]);
                    }
                    query.order_by = None;
                }
            }
            Expr::Function(function) if is_array(function) => {
                if let FunctionArguments::Subquery(query) = &function.args
                    && let Some(query) = list(query)
                {
                    *expr = Expr::Subquery(query);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let _ = walk_mut(&mut select.projection, &mut Memberships);
        ControlFlow::Continue(())
    }
}

/// Makes a look into a list of `a IN (SELECT …)`, which is planned as a condition of rows only.
struct Memberships;

impl VisitorMut for Memberships {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::InSubquery {
            expr: value,
            subquery,
            negated,
        } = expr
            && let Some(list) = list(subquery)
        {
            let has = call("array_has", vec![Expr::Subquery(list), *value.clone()]);
            let has = call("coalesce", vec![has, flag(false)]);
            *expr = match *negated {
                true => Expr::UnaryOp {
                    op: UnaryOperator::Not,
                    expr: Box::new(has),
                },
                false => has,
            };
        }
        ControlFlow::Continue(())
    }
}

fn is_array(function: &Function) -> bool {
    let name = plain_parts(&function.name).unwrap_or_default();
    name == ["array"] && matches!(function.args, FunctionArguments::Subquery(_))
}

/// The SELECT that a query is, unless it is grouped or cut.
fn plain_select(query: &mut Query) -> Option<&mut Select> {
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return None;
    }
    let SetExpr::Select(select) = query.body.as_mut() else {
        return None;
    };
    let is_plain = matches!(&select.group_by, GroupByExpr::Expressions(all, _) if all.is_empty())
        && select.distinct.is_none()
        && select.having.is_none()
        && !select.from.is_empty();
    is_plain.then_some(select)
}

/// The one column of a SELECT.
fn value(select: &mut Select) -> Option<&mut Expr> {
    match select.projection.as_mut_slice() {
        [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] => Some(expr),
        _ => None,
    }
}

/// `ARRAY(SELECT a … ORDER BY b)` as a query of `array_agg(a ORDER BY b)`.
fn list(query: &Query) -> Option<Box<Query>> {
    let mut query = Box::new(query.clone());
    let order = query.order_by.take();
    let select = plain_select(&mut query)?;
    let value = value(select)?;
    let element = value.clone();
    *value = call("array_agg", vec![element.clone()]);
    if let Some(OrderByKind::Expressions(mut order)) = order.map(|order| order.kind)
        && let Expr::Function(Function {
            args: FunctionArguments::List(list),
            ..
        }) = value
    {
        for by in &mut order {
            if matches!(&by.expr, Expr::Value(number) if matches!(number.value, Value::Number(..)))
            {
                by.expr = element.clone();
            }
        }
        list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(element))];
        list.clauses.push(FunctionArgumentClause::OrderBy(order));
    }
    Some(query)
}

fn is_of_catalog(select: &Select) -> bool {
    let mut tables = select.from.iter().flat_map(|tables| {
        let joined = tables.joins.iter().map(|join| &join.relation);
        std::iter::once(&tables.relation).chain(joined)
    });
    tables.all(|factor| match factor {
        TableFactor::Table {
            name, args: None, ..
        } => {
            let parts = plain_parts(name).unwrap_or_default();
            matches!(parts.as_slice(), [schema, _] if [OWN, INFORMATION].contains(&schema.as_str()))
        }
        _ => false,
    })
}
