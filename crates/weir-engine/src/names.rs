//! Dotted names: from what the user wrote to the column that is meant.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ExprWithAlias, ExprWithAliasAndOrderBy, Ident, PipeOperator, Query, SelectItem, SetExpr,
    VisitorMut,
};

/// The columns and the table names that a statement can mean.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// Names of the columns that hold a dot, of every table of the statement.
    pub(crate) dotted: HashSet<String>,
    /// Aliases and names of tables, lower case.
    pub(crate) tables: HashSet<String>,
}

impl Scope {
    /// A visitor that turns compound identifiers that name a dotted column into that column.
    pub(crate) const fn resolver(&self) -> NameResolver<'_> {
        NameResolver { scope: self }
    }

    fn resolve_expr(&self, expr: &mut Expr) {
        match expr {
            Expr::Identifier(ident) if ident.quote_style == Some('"') => {
                if let Some(name) = self.column(std::slice::from_ref(ident)) {
                    ident.value = name;
                }
            }
            Expr::CompoundIdentifier(parts) => {
                if let Some(resolved) = self.resolve_compound(parts) {
                    *expr = resolved;
                }
            }
            _ => {}
        }
    }

    /// `ip.src` is a column; `p.ip.src` is that column of `p`, when a table is called `p`. A table
    /// name wins over the first part of a column name.
    fn resolve_compound(&self, parts: &[Ident]) -> Option<Expr> {
        let (first, rest) = parts.split_first()?;
        if self.tables.contains(&first.value.to_ascii_lowercase()) && !rest.is_empty() {
            if let Some(name) = self.column(rest) {
                let column = Ident::with_quote('"', name);
                return Some(Expr::CompoundIdentifier(vec![first.clone(), column]));
            }
            if rest.len() == 1 {
                return None;
            }
        }
        self.column(parts)
            .map(|name| Expr::Identifier(Ident::with_quote('"', name)))
    }

    /// The dotted column that these parts name: as they are, then without regard to case, then
    /// with Wireshark's hyphens as underscores.
    fn column(&self, parts: &[Ident]) -> Option<String> {
        let written = parts
            .iter()
            .map(|part| part.value.as_str())
            .collect::<Vec<_>>()
            .join(".");
        let lower = written.to_ascii_lowercase();
        let underscored = lower.replace('-', "_");
        [written, lower, underscored]
            .into_iter()
            .find(|name| self.dotted.contains(name))
    }
}

/// See [`Scope::resolver`].
pub(crate) struct NameResolver<'s> {
    scope: &'s Scope,
}

impl VisitorMut for NameResolver<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.scope.resolve_expr(expr);
        ControlFlow::Continue(())
    }
}

/// Names each computed column of the answer by the text that the user wrote, before names are
/// resolved: `sum(frame.len)` rather than the planner's own spelling.
pub(crate) fn keep_written_names(query: &mut Query) {
    if let SetExpr::Select(select) = query.body.as_mut() {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && let Some(alias) = written_name(expr)
            {
                let expr = std::mem::replace(expr, Expr::Identifier(alias.clone()));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
    }
    for operator in &mut query.pipe_operators {
        if let PipeOperator::Aggregate {
            full_table_exprs, ..
        } = operator
        {
            for ExprWithAliasAndOrderBy { expr, .. } in full_table_exprs {
                let ExprWithAlias { expr, alias } = expr;
                if alias.is_none() {
                    *alias = written_name(expr);
                }
            }
        }
    }
}

fn written_name(expr: &Expr) -> Option<Ident> {
    match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_) => None,
        _ => Some(Ident::with_quote('"', expr.to_string())),
    }
}

/// Up to three of `names` that are close to `wanted`, the closest first.
pub fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = wanted.to_ascii_lowercase();
    let limit = (wanted.len() / 3).clamp(1, 4);
    let mut close: Vec<(usize, &str)> = names
        .filter_map(|name| {
            let distance = strsim::damerau_levenshtein(&wanted, name);
            let same_field = || {
                let field = |name: &'n str| name.rsplit('.').next();
                wanted.rsplit('.').next() == field(name) && wanted.len() > 4
            };
            (distance <= limit || same_field()).then_some((distance, name))
        })
        .collect();
    close.sort_unstable();
    close.dedup();
    close.into_iter().map(|(_, name)| name).take(3).collect()
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::ast::VisitMut;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn resolve(sql: &str) -> String {
        let scope = Scope {
            dotted: ["ip.src", "frame.len", "sip.call_id", "sip.from.user"]
                .map(str::to_owned)
                .into(),
            tables: ["p", "ip"].map(str::to_owned).into(),
        };
        let mut statements = Parser::parse_sql(&GenericDialect {}, sql).unwrap();
        let _ = statements.visit(&mut scope.resolver());
        statements[0].to_string()
    }

    #[test]
    fn dotted_names_become_columns() {
        for (written, meant) in [
            ("SELECT frame.len FROM p", "SELECT \"frame.len\" FROM p"),
            ("SELECT FRAME.Len FROM p", "SELECT \"frame.len\" FROM p"),
            ("SELECT p.ip.src FROM p", "SELECT p.\"ip.src\" FROM p"),
            ("SELECT \"sip.Call-ID\" FROM p", "SELECT \"sip.call_id\" FROM p"),
            ("SELECT sip.from.user FROM p", "SELECT \"sip.from.user\" FROM p"),
            // A struct column of another file, or a name that is not there, stays as it is.
            ("SELECT s.field FROM p", "SELECT s.field FROM p"),
            // A table called ip wins over the first part of ip.src.
            ("SELECT ip.src FROM ip", "SELECT ip.src FROM ip"),
            (
                "SELECT max(frame.len) FROM p WHERE frame.len > 3 GROUP BY p.ip.src",
                "SELECT max(\"frame.len\") FROM p WHERE \"frame.len\" > 3 GROUP BY p.\"ip.src\"",
            ),
        ] {
            assert_eq!(resolve(written), meant);
        }
    }

    #[test]
    fn near_names_are_found() {
        let names = ["ip.src", "ip.dst", "ipv6.src", "udp.dstport", "frame.len"];
        assert_eq!(nearest("ip.scr", names.into_iter()), ["ip.src"]);
        assert_eq!(nearest("udp.dport", names.into_iter()), ["udp.dstport"]);
        assert!(nearest("xyz", names.into_iter()).is_empty());
    }
}
