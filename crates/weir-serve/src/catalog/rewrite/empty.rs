//! Queries that need a row of a relation that has none.
//!
//! Of tables here there are no keys, indexes, triggers or policies, and clients ask for them in the ways of PostgreSQL that
//! are furthest from what is planned: composites, functions of rows in SELECT, correlated lists. A join with a relation
//! that has no rows has none, so that nothing else of such a query has to be understood but the names of its columns.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident,
    JoinOperator, LimitClause, Query, Select, SelectItem, SetExpr, SetOperator, TableFactor,
    TableWithJoins, Value, Visitor, VisitorMut,
};
use weir_engine::walk;

use super::names::{given_names, relation_parts};
use super::title;
use super::tree::{
    call, called, flag, found_or_on, ident_name, null, number, plain_parts, text, text_of,
};
use crate::catalog::relation::RELATIONS;
use crate::catalog::rows::{INFORMATION_RELATIONS_WITH_ROWS, RELATIONS_WITH_ROWS};
use crate::catalog::table::OWN;

/// Puts queries without a table in the places of those that have no rows.
#[derive(Default)]
pub(super) struct Empty {
    given: HashSet<String>,
}

impl VisitorMut for Empty {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.given.extend(given_names(query));
        if self.is_empty(query)
            && let Some(columns) = columns(&query.body)
            && let Some(select) = first_select(&mut query.body)
        {
            clear(select, columns);
            let select = select.clone();
            *query.body = SetExpr::Select(Box::new(select));
            query.order_by = None;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let instead = match &*expr {
            Expr::Exists { subquery, negated } if self.is_empty(subquery) => Some(flag(*negated)),
            Expr::InSubquery {
                subquery, negated, ..
            } if self.is_empty(subquery) => Some(flag(*negated)),
            Expr::Subquery(subquery) if self.is_empty(subquery) => Some(null()),
            Expr::Subquery(subquery) if self.counts_none(subquery) => Some(number(0)),
            Expr::Function(function) if called(expr).as_deref() == Some("array") => {
                match &function.args {
                    FunctionArguments::Subquery(query) if self.is_empty(query) => Some(call(
                        "arrow_cast",
                        vec![call("make_array", Vec::new()), text("List(Utf8)")],
                    )),
                    _ => None,
                }
            }
            _ => None,
        };
        if let Some(instead) = instead {
            *expr = instead;
        }
        ControlFlow::Continue(())
    }
}

impl Empty {
    /// Whether a query needs rows of what has none.
    fn is_empty(&self, query: &Query) -> bool {
        query.pipe_operators.is_empty() && self.is_empty_set(&query.body)
    }

    /// Whether a query counts rows where there can be none of them.
    fn counts_none(&self, query: &Query) -> bool {
        let is_one_row = match &query.limit_clause {
            None => true,
            Some(LimitClause::LimitOffset {
                limit: Some(limit),
                offset: None,
                ..
            }) => is_positive(limit),
            Some(_) => false,
        };
        let SetExpr::Select(select) = query.body.as_ref() else {
            return false;
        };
        let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
            select.projection.as_slice()
        else {
            return false;
        };
        is_one_row
            && query.with.is_none()
            && query.fetch.is_none()
            && query.pipe_operators.is_empty()
            && matches!(item, Expr::Function(function) if function.over.is_none())
            && called(item).as_deref() == Some("count")
            && select.having.is_none()
            && !is_grouped(select)
            && self.has_no_rows(select)
    }

    fn is_empty_set(&self, set: &SetExpr) -> bool {
        match set {
            SetExpr::Select(select) => self.is_empty_select(select),
            SetExpr::Query(query) => self.is_empty(query),
            SetExpr::SetOperation {
                op, left, right, ..
            } => match op {
                SetOperator::Union => self.is_empty_set(left) && self.is_empty_set(right),
                SetOperator::Intersect => self.is_empty_set(left) || self.is_empty_set(right),
                _ => self.is_empty_set(left),
            },
            _ => false,
        }
    }

    fn is_empty_select(&self, select: &Select) -> bool {
        // An aggregate of no rows is a row.
        (is_grouped(select) || !aggregates(select)) && self.has_no_rows(select)
    }

    /// Whether a SELECT is made of no rows. A relation that is not in the catalog is left to the engine.
    fn has_no_rows(&self, select: &Select) -> bool {
        select.into.is_none()
            && (select.from.iter().any(|tables| self.is_empty_join(tables))
                || select.selection.as_ref().is_some_and(is_never))
            && !select.from.is_empty()
            && self.is_of_catalog(select)
    }

    /// Whether the rows of a list of joins need rows of what has none.
    fn is_empty_join(&self, tables: &TableWithJoins) -> bool {
        let mut is_empty = self.is_empty_factor(&tables.relation);
        for join in &tables.joins {
            let joined = self.is_empty_factor(&join.relation);
            is_empty = match &join.join_operator {
                JoinOperator::Join(_)
                | JoinOperator::Inner(_)
                | JoinOperator::CrossJoin(_)
                | JoinOperator::LeftSemi(_) => is_empty || joined,
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => is_empty,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => joined,
                JoinOperator::FullOuter(_) => is_empty && joined,
                _ => false,
            };
        }
        is_empty
    }

    fn is_empty_factor(&self, factor: &TableFactor) -> bool {
        match factor {
            TableFactor::Table {
                name, args: None, ..
            } => relation_parts(name, &self.given).is_some_and(|(schema, name)| {
                let filled = if schema == OWN {
                    RELATIONS_WITH_ROWS
                } else {
                    INFORMATION_RELATIONS_WITH_ROWS
                };
                crate::catalog::relation::relation(
                    Some(if schema == OWN {
                        "pg_catalog"
                    } else {
                        "information_schema"
                    }),
                    &name,
                )
                .is_some()
                    && !filled.contains(&name.as_str())
            }),
            // Lists that are never set have no elements.
            TableFactor::Table {
                name,
                args: Some(arguments),
                ..
            } => {
                let is_unnest = plain_parts(name).and_then(|mut parts| parts.pop());
                let list = arguments.args.first();
                is_unnest.as_deref() == Some("unnest")
                    && matches!(list, Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(list)))
                        if is_never_set(list))
            }
            TableFactor::UNNEST { array_exprs, .. } => array_exprs.iter().any(is_never_set),
            TableFactor::Derived { subquery, .. } => self.is_empty(subquery),
            TableFactor::NestedJoin {
                table_with_joins, ..
            } => self.is_empty_join(table_with_joins),
            _ => false,
        }
    }

    /// Whether a SELECT names relations of the catalog only.
    fn is_of_catalog(&self, select: &Select) -> bool {
        struct Others<'g>(&'g HashSet<String>);
        impl Visitor for Others<'_> {
            type Break = ();
            /// A query that writes is refused, and not skipped.
            fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
                let asks = matches!(
                    query.body.as_ref(),
                    SetExpr::Select(_)
                        | SetExpr::Query(_)
                        | SetExpr::Values(_)
                        | SetExpr::SetOperation { .. }
                );
                found_or_on(!asks)
            }
            fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
                let is_other = match factor {
                    TableFactor::Table {
                        name, args: None, ..
                    } => relation_parts(name, self.0).is_none(),
                    _ => false,
                };
                found_or_on(is_other)
            }
        }
        walk(select, &mut Others(&self.given)).is_continue()
    }
}

fn is_grouped(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::Expressions(expressions, _) => !expressions.is_empty(),
        GroupByExpr::All(_) => true,
    }
}

/// Whether an expression is a whole number above zero.
fn is_positive(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(&value.value, Value::Number(digits, _)
        if digits.parse::<u64>().is_ok_and(|number| number > 0)))
}

/// Whether a condition is false for all rows of the catalog: types are neither composites nor domains nor enums, have the collation
/// of their columns, and no privileges are granted.
fn is_never(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => is_never(inner),
        Expr::BinaryOp { left, op, right } => match op {
            BinaryOperator::And => is_never(left) || is_never(right),
            BinaryOperator::Eq => is_of_users(left, std::slice::from_ref(right)),
            BinaryOperator::NotEq => matches!(
                (column_name(left).as_deref(), column_name(right).as_deref()),
                (Some("attcollation" | "typcollation"), Some("typcollation"))
            ),
            _ => false,
        },
        Expr::InList {
            expr,
            list,
            negated: false,
        } => is_of_users(expr, list),
        Expr::IsNotNull(list) => is_never_set(list),
        _ => false,
    }
}

/// Whether a condition compares a column with the kind of user-defined types.
fn is_of_users<'e, E: std::borrow::Borrow<Expr> + 'e>(column: &Expr, values: &'e [E]) -> bool {
    column_name(column).as_deref() == Some("typtype")
        && values
            .iter()
            .all(|value| matches!(text_of(value.borrow()), Some("c" | "d" | "e")))
}

/// Whether an expression is a column of lists that are NULL in every row: options and grants.
fn is_never_set(expr: &Expr) -> bool {
    let Some(name) = column_name(expr) else {
        return false;
    };
    let mut columns = RELATIONS.iter().flat_map(|relation| &relation.columns);
    columns.any(|column| column.name == name && column.is_array && column.may_be_null)
}

fn column_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(ident_name(ident)),
        Expr::CompoundIdentifier(parts) => parts.last().map(ident_name),
        Expr::Nested(inner) => column_name(inner),
        _ => None,
    }
}

/// Whether a SELECT is an aggregate; one within a query that is a value is not its own.
pub(super) fn aggregates(select: &Select) -> bool {
    struct Finder {
        depth: usize,
    }
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            self.depth = self.depth.saturating_sub(1);
            ControlFlow::Continue(())
        }
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_plain = matches!(expr, Expr::Function(function) if function.over.is_none());
            let name = called(expr).filter(|_| is_plain && self.depth == 0);
            let name = name.unwrap_or_default();
            found_or_on(AGGREGATES.contains(&name.as_str()))
        }
    }
    select.having.is_some() || walk(&select.projection, &mut Finder { depth: 0 }).is_break()
}

/// The names of the columns; `None` where a `*` stands for some.
fn columns(set: &SetExpr) -> Option<Vec<Ident>> {
    let item = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.clone()),
        SelectItem::UnnamedExpr(expr) => {
            let name = title::title(expr).unwrap_or_else(|| "?column?".to_owned());
            Some(Ident::with_quote('"', name))
        }
        _ => None,
    };
    match set {
        SetExpr::Select(select) => select.projection.iter().map(item).collect(),
        SetExpr::Query(query) => columns(&query.body),
        SetExpr::SetOperation { left, .. } => columns(left),
        _ => None,
    }
}

fn first_select(set: &mut SetExpr) -> Option<&mut Select> {
    match set {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&mut query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

/// Leaves columns of NULL without rows.
fn clear(select: &mut Select, columns: Vec<Ident>) {
    let mut seen = HashSet::new();
    let columns = columns.into_iter().enumerate().map(|(index, mut alias)| {
        if !seen.insert(alias.value.clone()) {
            alias = Ident::with_quote('"', format!("{}_{index}", alias.value));
        }
        SelectItem::ExprWithAlias {
            expr: null(),
            alias,
        }
    });
    select.projection = columns.collect();
    select.distinct = None;
    select.from.clear();
    select.selection = Some(flag(false));
    select.group_by = GroupByExpr::Expressions(Vec::new(), Vec::new());
    select.having = None;
    select.named_window.clear();
    select.qualify = None;
}

const AGGREGATES: &[&str] = &[
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "count",
    "every",
    "first_value",
    "json_agg",
    "jsonb_agg",
    "max",
    "min",
    "string_agg",
    "sum",
];
