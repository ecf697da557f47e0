//! The columns that `SELECT * REPLACE (1 AS a)` replaces. The planner ignores a name that no column has, and compares names only as
//! they are written.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableAlias, TableFactor, TableWithJoins, Visitor,
};

use crate::names::Scope;
use crate::walk::walk;

/// Names of columns, some of which may not be there; `None` where not all are known.
type Columns = Option<HashSet<String>>;

/// The columns of the queries in WITH, by the names of these in lower case.
#[derive(Debug, Default)]
pub(crate) struct Queries(HashMap<String, Columns>);

impl Queries {
    /// Adds the queries in the WITH of another one.
    pub(crate) fn add(&mut self, query: &Query, scope: &Scope) {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            let columns = named(self.of_query(&cte.query, scope), Some(&cte.alias));
            let name = cte.alias.name.value.to_ascii_lowercase();
            // Two queries may have the same name at different places.
            let known = self.0.entry(name);
            known.and_modify(|it| *it = None).or_insert(columns);
        }
    }

    /// Gives the names behind REPLACE the case that the columns have.
    ///
    /// # Errors
    /// The name that no column has.
    pub(crate) fn replace(&self, select: &mut Select, scope: &Scope) -> Result<(), String> {
        if !select
            .projection
            .iter()
            .any(|item| replaced(item).is_some())
        {
            return Ok(());
        }
        let columns = self.of_from(&select.from, scope);
        for replaced in select.projection.iter_mut().filter_map(replaced_mut) {
            for item in &mut replaced.items {
                let ReplaceSelectElement {
                    expr,
                    column_name: name,
                    ..
                } = item.as_mut();
                let same = |column: &&String| column.eq_ignore_ascii_case(&name.value);
                match &columns {
                    Some(columns) if columns.contains(&name.value) => {}
                    Some(columns) => match columns.iter().find(same) {
                        Some(column) => name.value.clone_from(column),
                        // The planner has an error for a column that the value is made of.
                        None if mentions(expr, name) => {}
                        None => return Err(name.value.clone()),
                    },
                    None if scope.columns.contains(&name.value) => {}
                    None => name.value = folded(name),
                }
            }
        }
        Ok(())
    }

    fn of_query(&self, query: &Query, scope: &Scope) -> Columns {
        match query.with.is_none() && query.pipe_operators.is_empty() {
            true => self.of_body(&query.body, scope),
            false => None,
        }
    }

    fn of_body(&self, body: &SetExpr, scope: &Scope) -> Columns {
        match body {
            SetExpr::Select(select) => self.of_select(select, scope),
            SetExpr::Query(query) => self.of_query(query, scope),
            SetExpr::SetOperation { left, right, .. } => {
                let mut columns = self.of_body(left, scope)?;
                columns.extend(self.of_body(right, scope)?);
                Some(columns)
            }
            SetExpr::Values(values) => {
                let width = values.rows.first().map_or(0, |row| row.content.len());
                Some((1..=width).map(|at| format!("column{at}")).collect())
            }
            _ => None,
        }
    }

    fn of_select(&self, select: &Select, scope: &Scope) -> Columns {
        let mut columns = HashSet::new();
        for item in &select.projection {
            match item {
                SelectItem::ExprWithAlias { alias, .. } => {
                    columns.insert(folded(alias));
                }
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                    columns.insert(folded(name));
                }
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                    // The first parts may be those of a table, or of the name.
                    let parts: Vec<String> = parts.iter().map(folded).collect();
                    let ends = (0..parts.len()).filter_map(|at| parts.get(at..));
                    columns.extend(ends.map(|end| end.join(".")));
                }
                SelectItem::UnnamedExpr(expr) => {
                    columns.insert(expr.to_string());
                }
                SelectItem::Wildcard(options) if options.opt_rename.is_none() => {
                    columns.extend(self.of_from(&select.from, scope)?);
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(_),
                    options,
                ) if options.opt_rename.is_none() => {
                    columns.extend(self.of_from(&select.from, scope)?);
                }
                _ => return None,
            }
        }
        Some(columns)
    }

    fn of_from(&self, from: &[TableWithJoins], scope: &Scope) -> Columns {
        let mut columns = HashSet::new();
        for TableWithJoins { relation, joins } in from {
            columns.extend(self.of_factor(relation, scope)?);
            for join in joins {
                columns.extend(self.of_factor(&join.relation, scope)?);
            }
        }
        Some(columns)
    }

    fn of_factor(&self, factor: &TableFactor, scope: &Scope) -> Columns {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                named(self.of_table(name, alias.as_ref(), scope), alias.as_ref())
            }
            TableFactor::Derived {
                subquery, alias, ..
            } => named(self.of_query(subquery, scope), alias.as_ref()),
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                let joined = std::slice::from_ref(table_with_joins.as_ref());
                named(self.of_from(joined, scope), alias.as_ref())
            }
            _ => None,
        }
    }

    fn of_table(&self, name: &ObjectName, alias: Option<&TableAlias>, scope: &Scope) -> Columns {
        let name = name.to_string().to_ascii_lowercase();
        let table = alias.map(|alias| alias.name.value.to_ascii_lowercase());
        let columns = match scope.tables.get(table.as_ref().unwrap_or(&name)) {
            Some(Some(columns)) => columns,
            Some(None) => return self.0.get(&name).cloned().flatten(),
            None => &scope.columns,
        };
        // A name of WITH may be that of a view, too, and hides it.
        Some(columns.union(&scope.given).cloned().collect())
    }
}

/// The columns of a table with those that its alias names.
fn named(columns: Columns, alias: Option<&TableAlias>) -> Columns {
    let names = alias.into_iter().flat_map(|alias| &alias.columns);
    let mut columns = columns?;
    columns.extend(names.map(|column| folded(&column.name)));
    Some(columns)
}

/// A name as the planner has it.
fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

/// Whether an expression is made of a column of this name.
fn mentions(expr: &Expr, name: &Ident) -> bool {
    struct Search<'n>(&'n str);
    impl Visitor for Search<'_> {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident) if ident.value.eq_ignore_ascii_case(self.0) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    walk(expr, &mut Search(&name.value)).is_break()
}

const fn replaced(item: &SelectItem) -> Option<&ReplaceSelectItem> {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
            options.opt_replace.as_ref()
        }
        _ => None,
    }
}

const fn replaced_mut(item: &mut SelectItem) -> Option<&mut ReplaceSelectItem> {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => {
            options.opt_replace.as_mut()
        }
        _ => None,
    }
}
