//! Questions to the catalog in the words that datafusion-pg-catalog understands.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, SetExpr,
    Statement, TableAlias, TableFactor, Value, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use weir_engine::{parse_postgres, walk_mut};

/// The text of a question to the catalog, with what the library has otherwise than PostgreSQL: functions of types are
/// names to it, and never the number 0; there are no composite types; the search path is that of all connections;
/// the columns of the information schema have PostgreSQL's types; nobody has granted anything to anybody; and what takes
/// up room are files.
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
    if !REWRITTEN.iter().any(|word| lower.contains(word)) {
        return sql;
    }
    let Ok(mut statements) = parse_postgres(&sql) else {
        return sql;
    };
    let mut rewriter = Rewriter {
        is_changed: false,
        columns: information_columns(),
    };
    for statement in &mut statements {
        let _ = walk_mut(statement, &mut rewriter);
    }
    match rewriter.is_changed {
        true => {
            let texts: Vec<String> = statements.iter().map(ToString::to_string).collect();
            texts.join("; ")
        }
        false => sql,
    }
}

/// What a question has in it if anything of it is to be said otherwise.
const REWRITTEN: &[&str] = &[
    "array(",
    "array_to_string",
    "boot_val",
    "colliculocale",
    "information_schema",
    "search_path",
    "_size(",
    "tableoid",
];

/// Columns of grants and settings that are lists in PostgreSQL, and always NULL here, where nothing is granted.
const NEVER_SET: &[&str] = &[
    "attacl",
    "datacl",
    "defaclacl",
    "fdwacl",
    "lanacl",
    "nspacl",
    "paracl",
    "proacl",
    "relacl",
    "reloptions",
    "setconfig",
    "spcacl",
    "srvacl",
    "typacl",
];

/// Columns, and those that have what they would have.
const RENAMED: &[(&str, &str)] = &[("boot_val", "setting"), ("colliculocale", "colllocale")];

/// Functions that say how much room a table takes up, by its number: files are looked up by name.
const SIZES: &[&str] = &[
    "pg_indexes_size",
    "pg_relation_size",
    "pg_table_size",
    "pg_total_relation_size",
];

struct Rewriter {
    is_changed: bool,
    columns: Option<Box<Query>>,
}

impl VisitorMut for Rewriter {
    type Break = ();

    /// Lists that only a query could fill are empty, since what they are asked of is: roles of roles, grants, policies.
    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let instead = match expr {
            Expr::Function(function) => instead_of(function),
            Expr::CompoundIdentifier(parts) => column_instead_of(parts),
            _ => None,
        };
        if let Some(instead) = instead {
            self.is_changed = true;
            *expr = instead;
        }
        ControlFlow::Continue(())
    }

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

/// What stands for a column that the library does not have: the table that a row of the catalog is from is always the
/// same, and some go by the name of another version of PostgreSQL.
fn column_instead_of(parts: &[Ident]) -> Option<Expr> {
    let (last, table) = parts.split_last()?;
    if last.value == "tableoid" {
        return Some(number(0));
    }
    let (_, known) = RENAMED.iter().find(|(name, _)| last.value == *name)?;
    let mut parts = table.to_vec();
    parts.push(Ident::new(*known));
    Some(Expr::CompoundIdentifier(parts))
}

/// What stands for the call of a function that the library does not have, or has otherwise.
fn instead_of(function: &Function) -> Option<Expr> {
    let name = function
        .name
        .0
        .last()?
        .as_ident()?
        .value
        .to_ascii_lowercase();
    let first = first_argument(function);
    match name.as_str() {
        "array" if matches!(function.args, FunctionArguments::Subquery(_)) => Some(text("{}")),
        "array_to_string" if first.is_some_and(is_never_set) => parsed("CAST(NULL AS TEXT)"),
        "pg_database_size" => parsed("weir_database_size()"),
        "pg_indexes_size" => Some(number(0)),
        size if SIZES.contains(&size) => match first? {
            // There are no indexes and no other things with numbers of their own.
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., of, column] if column.value == "oid" => {
                    parsed(&format!("weir_table_size({of}.relname)"))
                }
                _ => Some(number(0)),
            },
            Expr::Cast { expr, .. } => size_of_named(expr),
            other => size_of_named(other),
        },
        _ => None,
    }
}

/// The size of a table that is named by a text, quoted as an identifier or plain.
fn size_of_named(name: &Expr) -> Option<Expr> {
    let Expr::Value(value) = name else {
        return None;
    };
    let Value::SingleQuotedString(name) = &value.value else {
        return None;
    };
    let plain = name
        .strip_prefix('"')
        .and_then(|name| name.strip_suffix('"'));
    let name = plain.unwrap_or(name).replace('\'', "''");
    parsed(&format!("weir_table_size('{name}')"))
}

/// Is this a list that is always NULL, or one that a query would fill?
fn is_never_set(list: &Expr) -> bool {
    let text = list.to_string().to_ascii_lowercase();
    let column = text.rsplit('.').next().unwrap_or(&text);
    NEVER_SET.contains(&column) || text.contains("array(select")
}

fn first_argument(function: &Function) -> Option<&Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.first()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

fn number(value: u32) -> Expr {
    Expr::Value(Value::Number(value.to_string(), false).into())
}

fn text(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_owned()).into())
}

fn parsed(sql: &str) -> Option<Expr> {
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(sql).ok()?;
    parser.parse_expr().ok()
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
        let sizes = for_catalog(
            "SELECT pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)), pg_total_relation_size('\"a b.pcap\"'::regclass) FROM pg_catalog.pg_class c",
        );
        assert!(
            sizes.contains("(weir_table_size(c.relname))")
                && sizes.contains("weir_table_size('a b.pcap')"),
            "{sizes}"
        );
        let roles = for_catalog(
            "SELECT ARRAY(SELECT b.rolname FROM pg_catalog.pg_roles b) AS memberof, array_to_string(n.nspacl, E'\\n'), array_to_string(n.names, ',')",
        );
        assert_eq!(
            roles,
            "SELECT '{}' AS memberof, CAST(NULL AS TEXT), array_to_string(n.names, ',')"
        );
        for same in [
            "SELECT 1",
            "SHOW search_path",
            "SELECT * FROM information_schema.tables",
        ] {
            assert_eq!(for_catalog(same), same);
        }
    }
}
