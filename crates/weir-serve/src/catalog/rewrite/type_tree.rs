//! The query of asyncpg for types, which it sends before it reads arrays.
//!
//! Its question follows types to those that they are made of in a recursive query, with queries of bases and fields in it
//! that no planner here takes. The types here are PostgreSQL's own, of which only arrays have others in them.

use std::ops::ControlFlow;
use std::sync::LazyLock;

use datafusion::sql::sqlparser::ast::{Expr, Query, Statement, VisitorMut};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use weir_engine::walk_mut;

/// Puts a query of the same answer in the place of the recursive one.
pub(super) struct TypeTree;

impl VisitorMut for TypeTree {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let with = query.with.as_ref().filter(|with| with.recursive);
        let mut names = with.iter().flat_map(|with| &with.cte_tables);
        if names.any(|cte| cte.alias.name.value == "typeinfo_tree")
            && let Some(known) = &*KNOWN
        {
            // The OIDs are a parameter, or the value that has replaced it.
            let mut types = LookedUpTypes(None);
            let _ = walk_mut(query, &mut types);
            *query = known.clone();
            let _ = walk_mut(query, &mut types);
        }
        ControlFlow::Continue(())
    }
}

/// Takes the expression of the OIDs, `any($1::oid[])`, and puts it where it occurs again.
struct LookedUpTypes(Option<Expr>);

impl VisitorMut for LookedUpTypes {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::AnyOp { right, .. } = expr
            && let Expr::Cast { expr: value, .. } = right.as_mut()
        {
            match &self.0 {
                None => self.0 = Some(*value.clone()),
                Some(known) => **value = known.clone(),
            }
        }
        ControlFlow::Continue(())
    }
}

static KNOWN: LazyLock<Option<Query>> = LazyLock::new(|| {
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, QUERY).ok()?;
    match statements.pop()? {
        Statement::Query(query) => Some(*query),
        _ => None,
    }
});

const QUERY: &str = "SELECT oid, ns, name, kind, CAST(NULL AS BIGINT) AS basetype, elemtype, elemdelim, \
     range_subtype, CAST(NULL AS TEXT) AS attrtypoids, CAST(NULL AS TEXT) AS attrnames, depth, \
     CAST(NULL AS TEXT) AS basetype_name, regtype_name(elemtype) AS elemtype_name, \
     regtype_name(range_subtype) AS range_subtype_name \
     FROM (SELECT t.oid, 'pg_catalog' AS ns, t.typname AS name, t.typtype AS kind, nullif(t.typelem, 0) AS elemtype, \
       e.typdelim AS elemdelim, coalesce(r.rngsubtype, m.rngsubtype) AS range_subtype, a.depth AS depth \
       FROM (SELECT oid AS wanted, 0 AS depth FROM pg_catalog.pg_type WHERE oid = ANY($1::oid[]) \
         UNION ALL SELECT typelem, 1 FROM pg_catalog.pg_type WHERE typelem <> 0 AND oid = ANY($1::oid[]) \
         UNION ALL SELECT rngsubtype, 1 FROM pg_catalog.pg_range WHERE rngtypid = ANY($1::oid[]) \
         UNION ALL SELECT rngsubtype, 1 FROM pg_catalog.pg_range WHERE rngmultitypid = ANY($1::oid[])) a \
       JOIN pg_catalog.pg_type t ON t.oid = a.wanted \
       LEFT JOIN pg_catalog.pg_type e ON e.oid = t.typelem AND t.typlen = -1 \
       LEFT JOIN pg_catalog.pg_range r ON r.rngtypid = t.oid \
       LEFT JOIN pg_catalog.pg_range m ON m.rngmultitypid = t.oid) known \
     ORDER BY depth DESC";
