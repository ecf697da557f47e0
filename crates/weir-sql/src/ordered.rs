//! Keys of an order that name a column of the tables by the name that the answer gives to another value: `SELECT -n AS n … ORDER BY n + 1, t.n`.
//!
//! As in PostgreSQL, a key that is a name alone is the column of the answer; within an expression, and with a table in front, a name is
//! that of the tables' column. The planner takes the former for the column of the answer, and finds two columns of the latter. So such keys
//! become columns of a query in FROM, which the answer leaves out.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor,
    TableWithJoins, Visitor,
};

use crate::reworded::mentions;
use crate::statement::Statement;
use crate::walk::walk;

/// Puts such a query in the place of one with such keys.
pub(crate) fn by_columns_of_tables(query: &mut Query) {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &mut query.order_by)
    else {
        return;
    };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else {
        return;
    };
    let Some(names) = Names::of(select) else {
        return;
    };
    if !query.pipe_operators.is_empty() || !keys.iter().any(|key| names.hide(&key.expr)) {
        return;
    }
    let all = keys.iter_mut().map(|key| &mut key.expr);
    let moved: Vec<&mut Expr> = all.filter(|key| !names.have(key)).collect();
    if moved.iter().any(|key| names.are_in(key)) {
        return;
    }
    let columns: Vec<Ident> = (0..moved.len()).map(column).collect();
    let listed: Vec<String> = columns.iter().map(ToString::to_string).collect();
    let template = format!(
        "SELECT * EXCLUDE ({}) FROM (SELECT 1) AS __ordered",
        listed.join(", ")
    );
    let Some(mut outer) = Statement::query_of(&template) else {
        return;
    };
    let mut inner = select.clone();
    for (key, alias) in moved.into_iter().zip(columns) {
        let expr = std::mem::replace(key, Expr::Identifier(alias.clone()));
        inner
            .projection
            .push(SelectItem::ExprWithAlias { expr, alias });
    }
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let Some(TableWithJoins {
            relation: TableFactor::Derived { subquery, .. },
            ..
        }) = select.from.first_mut()
    {
        *subquery.body = SetExpr::Select(inner);
        query.body = outer.body;
    }
}

fn column(place: usize) -> Ident {
    Ident::new(format!("__sorted_{place}"))
}

/// The names of a SELECT.
struct Names<'s> {
    /// Those that it gives, and to what.
    given: Vec<(&'s Ident, &'s Expr)>,
    /// Those of tables.
    tables: Vec<&'s Ident>,
}

impl<'s> Names<'s> {
    /// `None` where a query in FROM would not have the columns of the SELECT, each by its name, and where rows are grouped: keys may
    /// be those of groups there, which have the names of columns of tables, too.
    fn of(select: &'s Select) -> Option<Self> {
        let mut all = HashSet::new();
        let mut given = Vec::new();
        for item in &select.projection {
            let name = match item {
                SelectItem::ExprWithAlias { expr, alias } => {
                    given.push((alias, expr));
                    alias.value.clone()
                }
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    parts.last()?.value.clone()
                }
                SelectItem::UnnamedExpr(expr) => expr.to_string(),
                _ => return None,
            };
            if !all.insert(name.to_lowercase()) {
                return None;
            }
        }
        let is_grouped =
            !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
        if is_grouped || select.distinct.is_some() {
            return None;
        }
        let joins = select.from.iter().flat_map(|from| &from.joins);
        let joined = joins.map(|join| &join.relation);
        let first = select.from.iter().map(|from| &from.relation);
        let tables = first.chain(joined).filter_map(table_name).collect();
        Some(Self { given, tables })
    }

    /// Whether a key means a column of the tables whose name the answer has for something else.
    fn hide(&self, key: &Expr) -> bool {
        if let Expr::Identifier(_) | Expr::Value(_) = key {
            return false;
        }
        self.given.iter().any(|(alias, of)| {
            (mentions(key, alias) && mentions(of, alias)) || self.with_table(key, alias)
        })
    }

    /// Whether a key is a column of the answer, by name or by number.
    fn have(&self, key: &Expr) -> bool {
        match key {
            Expr::Value(_) => true,
            Expr::Identifier(name) => {
                let is_it = |(alias, _): &(&Ident, &Expr)| is_same(alias, name);
                self.given.iter().any(is_it)
            }
            _ => false,
        }
    }

    /// Whether a name that is, as far as is known, that of the answer alone stands in an expression.
    fn are_in(&self, key: &Expr) -> bool {
        let mut given = self.given.iter();
        given.any(|(alias, of)| mentions(key, alias) && !mentions(of, alias))
    }

    /// Whether a name stands in an expression behind that of a table.
    fn with_table(&self, key: &Expr, name: &Ident) -> bool {
        let mut found = Qualified {
            names: self,
            name,
            is_there: false,
        };
        let _: ControlFlow<()> = walk(key, &mut found);
        found.is_there
    }
}

/// Looks for a name behind that of a table.
struct Qualified<'n> {
    names: &'n Names<'n>,
    name: &'n Ident,
    is_there: bool,
}

impl Visitor for Qualified<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [table, name] = parts.as_slice()
        {
            let mut tables = self.names.tables.iter();
            self.is_there |= is_same(name, self.name) && tables.any(|it| is_same(it, table));
        }
        ControlFlow::Continue(())
    }
}

fn is_same(one: &Ident, other: &Ident) -> bool {
    one.value.eq_ignore_ascii_case(&other.value)
}

/// The name by which expressions have a table.
fn table_name(factor: &TableFactor) -> Option<&Ident> {
    match factor {
        TableFactor::Derived {
            alias: Some(alias), ..
        }
        | TableFactor::Table {
            alias: Some(alias), ..
        } => Some(&alias.name),
        TableFactor::Table { name, .. } => name.0.last()?.as_ident(),
        _ => None,
    }
}
