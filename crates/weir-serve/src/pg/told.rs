//! Questions to the catalog that are answered without asking it.
//!
//! datafusion-pg-catalog fills the catalog with PostgreSQL's own indexes, keys and functions, of which none is of a table
//! here, and does not plan much of what clients ask of them (`_pg_expandarray`, composites). What needs a row of such a
//! relation has no rows: that is said here, with the names of the columns that were asked for.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{
    self, Expr, GroupByExpr, Ident, JoinOperator, ObjectName, Query, Select, SelectItem, SetExpr,
    SetOperator, Statement, TableFactor, TableWithJoins, Visitor,
};
use futures::stream;
use pgwire::api::Type;
use pgwire::api::results::{DataRowEncoder, FieldFormat, FieldInfo, QueryResponse};
use weir_engine::{parse_postgres, walk};

/// An answer that is known: its columns, which are text, and its row, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) columns: Vec<String>,
    row: Option<Vec<String>>,
    /// How many parameters the question has.
    pub(super) parameters: usize,
}

impl Told {
    /// One value, and the name of its column.
    pub(super) fn one(column: &str, value: impl Into<String>) -> Self {
        Self {
            columns: vec![column.to_owned()],
            row: Some(vec![value.into()]),
            parameters: 0,
        }
    }

    /// What is known of the answer to a text.
    pub(super) fn of(sql: &str) -> Option<Self> {
        let words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words.trim_end_matches(';').to_ascii_lowercase();
        if words == MAX_INDEX_KEYS {
            return Some(Self::one("setting", "32"));
        }
        let statements = parse_postgres(sql).ok()?;
        let [Statement::Query(query)] = &statements[..] else {
            return None;
        };
        if !is_empty(query) && !words.contains(TYPES_OF_USERS) {
            return None;
        }
        let mut parameters = Parameters(0);
        let _ = walk(query, &mut parameters);
        Some(Self {
            columns: columns(query)?,
            row: None,
            parameters: parameters.0,
        })
    }

    /// The columns as they are described.
    pub(super) fn fields(&self) -> Vec<FieldInfo> {
        let columns = self.columns.iter();
        columns
            .map(|name| FieldInfo::new(name.clone(), None, None, Type::TEXT, FieldFormat::Text))
            .collect()
    }

    /// The row, or none.
    pub(super) fn rows(&self) -> QueryResponse {
        let fields = Arc::new(self.fields());
        let row = self.row.as_ref().map(|values| {
            let mut encoder = DataRowEncoder::new(Arc::clone(&fields));
            for value in values {
                encoder.encode_field(value)?;
            }
            Ok(encoder.take_row())
        });
        QueryResponse::new(fields, stream::iter(row))
    }
}

/// Whether a query needs rows of what no table here has.
fn is_empty(query: &Query) -> bool {
    fn of_set(set: &SetExpr) -> bool {
        match set {
            SetExpr::Select(select) => of_select(select),
            SetExpr::Query(query) => is_empty(query),
            SetExpr::SetOperation {
                op, left, right, ..
            } => match op {
                SetOperator::Union => of_set(left) && of_set(right),
                SetOperator::Intersect => of_set(left) || of_set(right),
                _ => of_set(left),
            },
            _ => false,
        }
    }
    of_set(&query.body)
}

fn of_select(select: &Select) -> bool {
    let is_grouped = match &select.group_by {
        GroupByExpr::Expressions(expressions, _) => !expressions.is_empty(),
        GroupByExpr::All(_) => true,
    };
    // An aggregate of nothing is a row.
    (is_grouped || !aggregates(select)) && select.from.iter().any(of_joins)
}

/// Whether the rows of a list of joins need rows of what no table here has.
fn of_joins(tables: &TableWithJoins) -> bool {
    let mut empty = of_factor(&tables.relation);
    for join in &tables.joins {
        let joined = of_factor(&join.relation);
        empty = match &join.join_operator {
            JoinOperator::Join(_)
            | JoinOperator::Inner(_)
            | JoinOperator::CrossJoin(_)
            | JoinOperator::LeftSemi(_) => empty || joined,
            JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => empty,
            JoinOperator::Right(_) | JoinOperator::RightOuter(_) => joined,
            JoinOperator::FullOuter(_) => empty && joined,
            _ => false,
        };
    }
    empty
}

fn of_factor(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table {
            name, args: None, ..
        } => is_absent(name),
        TableFactor::Derived { subquery, .. } => is_empty(subquery),
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => of_joins(table_with_joins),
        _ => false,
    }
}

fn is_absent(name: &ObjectName) -> bool {
    let parts: Vec<String> = name
        .0
        .iter()
        .map(|part| part.to_string().trim_matches('"').to_ascii_lowercase())
        .collect();
    let name = match &parts[..] {
        [name] => name,
        [schema, name] if schema == "pg_catalog" => name,
        _ => return false,
    };
    ABSENT.contains(&name.as_str())
}

fn aggregates(select: &Select) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function) if function.over.is_none() => {
                    let name = function.name.0.last().map(ToString::to_string);
                    let name = name.unwrap_or_default().to_ascii_lowercase();
                    match AGGREGATES.contains(&name.as_str()) {
                        true => ControlFlow::Break(()),
                        false => ControlFlow::Continue(()),
                    }
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    select.having.is_some() || walk(&select.projection, &mut Finder).is_break()
}

/// The names of the columns; `None` where only the catalog knows them.
fn columns(query: &Query) -> Option<Vec<String>> {
    let mut set = query.body.as_ref();
    loop {
        set = match set {
            SetExpr::Select(select) => {
                return select.projection.iter().map(column).collect();
            }
            SetExpr::Query(query) => &query.body,
            SetExpr::SetOperation { left, .. } => left,
            _ => return None,
        };
    }
}

fn column(item: &SelectItem) -> Option<String> {
    fn of(ident: &Ident) -> String {
        match ident.quote_style {
            Some(_) => ident.value.clone(),
            None => ident.value.to_ascii_lowercase(),
        }
    }
    Some(match item {
        SelectItem::ExprWithAlias { alias, .. } => of(alias),
        SelectItem::UnnamedExpr(Expr::Identifier(ident)) => of(ident),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => of(parts.last()?),
        SelectItem::UnnamedExpr(Expr::Function(function)) => {
            function.name.0.last()?.to_string().to_ascii_lowercase()
        }
        SelectItem::UnnamedExpr(_) => "?column?".to_owned(),
        _ => return None,
    })
}

/// The largest number of a parameter.
struct Parameters(usize);

impl Visitor for Parameters {
    type Break = ();

    fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<()> {
        if let ast::Value::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|name| name.parse().ok())
        {
            self.0 = self.0.max(number);
        }
        ControlFlow::Continue(())
    }
}

/// How many columns a key may have: pgjdbc asks before it asks for foreign keys.
const MAX_INDEX_KEYS: &str =
    "select setting from pg_catalog.pg_settings where name='max_index_keys'";

/// Types that users have made, of which there are none: pgjdbc asks for them so.
const TYPES_OF_USERS: &str =
    "n.nspname != 'pg_catalog' and n.nspname != 'pg_toast' and t.typtype in ('c','d')";

/// What no table of weir has, or what is of PostgreSQL's own: its keys, indexes, functions, operators.
const ABSENT: &[&str] = &[
    "pg_aggregate",
    "pg_constraint",
    "pg_conversion",
    "pg_enum",
    "pg_foreign_table",
    "pg_index",
    "pg_indexes",
    "pg_inherits",
    "pg_language",
    "pg_matviews",
    "pg_operator",
    "pg_partitioned_table",
    "pg_policy",
    "pg_proc",
    "pg_rewrite",
    "pg_sequence",
    "pg_statistic_ext",
    "pg_trigger",
];

const AGGREGATES: &[&str] = &[
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "count",
    "every",
    "json_agg",
    "jsonb_agg",
    "max",
    "min",
    "string_agg",
    "sum",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_a_key_or_an_index_has_no_rows() {
        for (sql, columns) in [
            ("SELECT * FROM (SELECT 1) x, pg_index", None),
            (
                "SELECT i.x AS \"A\", c.Relname, count(*) OVER () FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON c.oid = i.indrelid WHERE c.oid = $2",
                Some(vec!["A", "relname", "count"]),
            ),
            ("SELECT a FROM pg_class LEFT JOIN pg_index ON true", None),
            (
                "SELECT a FROM pg_class RIGHT JOIN pg_index ON true",
                Some(vec!["a"]),
            ),
            ("SELECT count(*) FROM pg_index", None),
            (
                "SELECT count(*) FROM pg_index GROUP BY indrelid",
                Some(vec!["count"]),
            ),
            (
                "SELECT r.a FROM (SELECT (information_schema._pg_expandarray(i.indkey)).n AS a FROM pg_index i) r",
                Some(vec!["a"]),
            ),
            (
                "SELECT a FROM pg_index UNION ALL SELECT b FROM pg_class",
                None,
            ),
            (
                "SELECT a FROM pg_index UNION ALL SELECT b FROM pg_proc",
                Some(vec!["a"]),
            ),
            ("SELECT a FROM public.pg_index", None),
            ("SELECT a FROM 'pg_index'", None),
            ("SELECT 1", None),
            ("DELETE FROM pg_index", None),
        ] {
            let told = Told::of(sql);
            let given = told.as_ref().map(|told| &told.columns);
            let expected = columns.map(|columns| columns.into_iter().map(str::to_owned).collect());
            assert_eq!(given, expected.as_ref(), "{sql}");
            let parameters = told.map_or(0, |told| told.parameters);
            assert_eq!(parameters, if sql.contains("$2") { 2 } else { 0 });
        }
        let types = "SELECT t.typname FROM pg_catalog.pg_type t, pg_catalog.pg_namespace n WHERE t.typnamespace = n.oid AND n.nspname != 'pg_catalog' and n.nspname != 'pg_toast' and t.typtype IN ('c','d')";
        assert!(Told::of(types).is_some());
        let told =
            Told::of("SELECT setting FROM pg_catalog.pg_settings\nWHERE name='max_index_keys'");
        assert_eq!(told.unwrap().row, Some(vec!["32".to_owned()]));
    }
}
