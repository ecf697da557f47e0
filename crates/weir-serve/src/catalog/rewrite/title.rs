//! Columns of answers of the catalog are called as PostgreSQL calls them.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    DataType, Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr,
    VisitorMut,
};

use super::names::asks_catalog;
use super::tree::ident_name;

/// Names the columns of the outermost query, which have their texts as names otherwise. A column that a `*` beside it repeats gets
/// a name of its own, since a plan has each column once.
#[derive(Default)]
pub(super) struct Titles {
    is_inside: bool,
    asks_catalog: bool,
}

impl VisitorMut for Titles {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if !std::mem::replace(&mut self.is_inside, true) {
            self.asks_catalog = asks_catalog(query);
            if self.asks_catalog
                && let Some(select) = first_select(&mut query.body)
            {
                let mut taken = HashSet::new();
                for item in &mut select.projection {
                    name(item, &mut taken);
                }
            }
        }
        match self.asks_catalog {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Expr::Identifier(ident) = last(expr)
                && ROW_COLUMNS.contains(&ident.value.as_str())
            {
                let (expr, alias) = (expr.clone(), ident);
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        let wildcards: Vec<Option<String>> =
            select.projection.iter().filter_map(wildcard).collect();
        if !wildcards.is_empty() {
            for item in &mut select.projection {
                apart(item, &wildcards);
            }
        }
        ControlFlow::Continue(())
    }
}

/// The name of a column without its table, or the expression itself.
fn last(expr: &Expr) -> Expr {
    match expr {
        Expr::CompoundIdentifier(parts) => match parts.last() {
            Some(last) => Expr::Identifier(last.clone()),
            None => expr.clone(),
        },
        other => other.clone(),
    }
}

fn first_select(body: &mut SetExpr) -> Option<&mut Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&mut query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

/// Names a column whose name is its text as PostgreSQL does, and replaces an object by its name.
fn name(item: &mut SelectItem, taken: &mut HashSet<String>) {
    let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
        return;
    };
    let written = expr.to_string();
    let title = title(expr);
    if let Expr::Cast {
        data_type, kind, ..
    } = &*expr
        && is_thing(data_type)
    {
        *expr = Expr::Cast {
            kind: kind.clone(),
            expr: Box::new(expr.clone()),
            data_type: DataType::Text,
            array: false,
            format: None,
        };
    }
    if let SelectItem::ExprWithAlias { alias, .. } = item
        && alias.quote_style == Some('"')
        && alias.value == written
        && let Some(title) = title
        // A plan has each name once.
        && taken.insert(title.clone())
    {
        alias.value = title;
    }
}

/// Whether a type is one whose values are numbers of things, and shown as their names.
fn is_thing(data_type: &DataType) -> bool {
    let name = data_type.to_string().to_ascii_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    ["regclass", "regtype", "regnamespace", "regrole"].contains(&name)
}

/// The name that PostgreSQL gives to the column of an expression.
pub(super) fn title(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(ident) => Some(ident_name(ident)),
        Expr::CompoundIdentifier(parts) => parts.last().map(ident_name),
        Expr::Function(function) => function.name.0.last()?.as_ident().map(ident_name),
        Expr::Nested(inner) => title(inner),
        Expr::Cast {
            expr, data_type, ..
        } => title(expr).or_else(|| {
            let name = data_type.to_string().to_ascii_lowercase();
            Some(name.rsplit('.').next().unwrap_or(&name).to_owned())
        }),
        Expr::Case { .. } => Some("case".to_owned()),
        Expr::Exists { .. } => Some("exists".to_owned()),
        Expr::Array(_) => Some("array".to_owned()),
        _ => None,
    }
}

/// The table of a `*`, if it names one; `None` for what is no `*`.
#[allow(clippy::option_option, reason = "a star need not name a table")]
fn wildcard(item: &SelectItem) -> Option<Option<String>> {
    match item {
        SelectItem::Wildcard(_) => Some(None),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            Some(name.0.last()?.as_ident().map(ident_name))
        }
        _ => None,
    }
}

fn apart(item: &mut SelectItem, wildcards: &[Option<String>]) {
    let SelectItem::UnnamedExpr(expr) = item else {
        return;
    };
    let (table, column) = match &*expr {
        Expr::Identifier(ident) => (None, ident_name(ident)),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [.., table, column] => (Some(ident_name(table)), ident_name(column)),
            _ => return,
        },
        _ => return,
    };
    let repeats = |of: &Option<String>| of.is_none() || table.is_none() || *of == table;
    if wildcards.iter().any(repeats) {
        *item = SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: Ident::with_quote('"', format!("{column}_1")),
        };
    }
}

/// The system columns of a row of PostgreSQL, which become values without a name.
const ROW_COLUMNS: &[&str] = &["xmin", "xmax", "tableoid", "ctid"];
