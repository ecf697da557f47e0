//! Questions to the catalog in the words that datafusion-postgres understands.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, SetExpr, Statement, TableAlias, TableFactor, Value, VisitMut, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// The text of a question to the catalog, with what the library has otherwise than PostgreSQL: functions of types are
/// names to it, and never the number 0; there are no composite types; the search path is that of all connections;
/// and the columns of the information schema have PostgreSQL's types.
pub(super) fn for_catalog(sql: &str) -> String {
    let sql = sql
        .replace("typreceive != 0", "typreceive != '-'")
        .replace("typsend != 0", "typsend != '-'")
        .replace("'pg_catalog.array_in'::regproc", "'array_in'")
        .replace(
            "(SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)",
            "false",
        );
    let lower = sql.to_ascii_lowercase();
    if !lower.contains("search_path") && !lower.contains("information_schema") {
        return sql;
    }
    let Ok(mut statements) = Parser::parse_sql(&PostgreSqlDialect {}, &sql) else {
        return sql;
    };
    let mut rewriter = Rewriter {
        is_changed: false,
        columns: information_columns(),
    };
    for statement in &mut statements {
        let _ = VisitMut::visit(statement, &mut rewriter);
    }
    match rewriter.is_changed {
        true => {
            let texts: Vec<String> = statements.iter().map(ToString::to_string).collect();
            texts.join("; ")
        }
        false => sql,
    }
}

struct Rewriter {
    is_changed: bool,
    columns: Option<Box<Query>>,
}

impl VisitorMut for Rewriter {
    type Break = ();

    /// Grafana asks which schemas the search path has by taking it to pieces in a query of its own.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::InSubquery {
            expr: of,
            subquery,
            negated,
        } = expr
            && let SetExpr::Select(_) = subquery.body.as_ref()
            && subquery
                .to_string()
                .contains("current_setting('search_path')")
        {
            self.is_changed = true;
            let path = Value::SingleQuotedString("public".to_owned());
            *expr = Expr::InList {
                expr: of.clone(),
                list: vec![Expr::Value(path.into())],
                negated: *negated,
            };
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
            && name.to_string().replace('"', "") == "information_schema.columns"
            && let Some(columns) = &self.columns
        {
            self.is_changed = true;
            let alias = alias.take().unwrap_or_else(|| TableAlias {
                explicit: true,
                name: Ident::new("columns"),
                columns: Vec::new(),
                at: None,
            });
            *factor = TableFactor::Derived {
                lateral: false,
                subquery: columns.clone(),
                alias: Some(alias),
                sample: None,
            };
        }
        ControlFlow::Continue(())
    }
}

/// The query that `information_schema.columns` stands for.
fn information_columns() -> Option<Box<Query>> {
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, COLUMNS).ok()?;
    match statements.pop()? {
        Statement::Query(query) => Some(query),
        _ => None,
    }
}

const COLUMNS: &str = "SELECT current_database() AS table_catalog, n.nspname AS table_schema, \
     c.relname AS table_name, a.attname AS column_name, a.attnum AS ordinal_position, \
     CAST(NULL AS TEXT) AS column_default, \
     CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS is_nullable, \
     format_type(a.atttypid, a.atttypmod) AS data_type, \
     CAST(NULL AS INT) AS character_maximum_length, CAST(NULL AS INT) AS numeric_precision, \
     CAST(NULL AS INT) AS numeric_scale, current_database() AS udt_catalog, \
     'pg_catalog' AS udt_schema, t.typname AS udt_name, 'NO' AS is_identity, \
     'NEVER' AS is_generated, 'NO' AS is_updatable \
     FROM pg_catalog.pg_attribute a \
     JOIN pg_catalog.pg_class c ON a.attrelid = c.oid \
     JOIN pg_catalog.pg_namespace n ON c.relnamespace = n.oid \
     JOIN pg_catalog.pg_type t ON a.atttypid = t.oid \
     WHERE a.attnum > 0 AND NOT a.attisdropped";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_become_what_the_library_understands() {
        let path = for_catalog(
            "SELECT a FROM t WHERE s IN (SELECT p[n] FROM generate_series(1, array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS n)",
        );
        assert_eq!(path, "SELECT a FROM t WHERE s IN ('public')");
        let columns = for_catalog("SELECT c.udt_name FROM \"information_schema\".\"columns\" AS c");
        assert!(
            columns.contains("t.typname AS udt_name") && columns.ends_with(") AS c"),
            "{columns}"
        );
        let columns = for_catalog("SELECT data_type FROM information_schema.columns");
        assert!(columns.ends_with(") AS columns"), "{columns}");
        for same in [
            "SELECT 1",
            "SHOW search_path",
            "SELECT * FROM information_schema.tables",
        ] {
            assert_eq!(for_catalog(same), same);
        }
    }
}
