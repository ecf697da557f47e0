//! Statements as clients write them, and what the passes make of them.

use weir_engine::{Statement, walk_mut};

use super::*;

/// A query behind all passes, run `times` times: a statement that was rewritten may be rewritten again.
fn passed(sql: &str, times: usize) -> String {
    use datafusion::sql::parser::Statement as DfStatement;
    let parsed = Statement::parse(sql).or_else(|_| Statement::parse_postgres(sql));
    let parsed = parsed.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let DfStatement::Statement(mut statement) = parsed[0].parsed().clone() else {
        panic!("{sql}");
    };
    for mut pass in (0..times).flat_map(|_| passes()) {
        let _ = walk_mut(statement.as_mut(), pass.as_mut());
    }
    statement.to_string()
}

fn rewritten(sql: &str) -> String {
    passed(sql, 1)
}

#[test]
fn what_postgresql_spells_otherwise_is_rewritten_on_the_tree() {
    for (sql, expected) in [
        ("SELECT version()", "SELECT version() AS \"version\""),
        (
            "SELECT current_user",
            "SELECT current_user() AS \"current_user\"",
        ),
        (
            "SELECT c.relname FROM pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(x)$' COLLATE pg_catalog.default",
            "SELECT c.relname FROM \"pg_catalog\".\"pg_class\" c WHERE c.relname ~ '^(x)$'",
        ),
        (
            "SELECT table_name FROM information_schema.tables",
            "SELECT table_name FROM \"pg_information_schema\".\"tables\" AS \"tables\"",
        ),
        (
            "SELECT 1 AS a FROM pg_class WHERE oid = 'pg_class'::regclass",
            "SELECT 1 AS a FROM \"pg_catalog\".\"pg_class\" AS \"pg_class\" WHERE oid = regclass_oid('pg_class')",
        ),
        (
            "SELECT c.oid::pg_catalog.regclass AS a, c.oid::regclass::text AS b, 'x'::regclass::text AS c FROM pg_class c",
            "SELECT regclass_name(c.oid) AS a, regclass_name(c.oid) AS b, regclass_name(regclass_oid('x')) AS c FROM \"pg_catalog\".\"pg_class\" c",
        ),
        (
            "SELECT typreceive::TEXT AS a FROM pg_type WHERE typreceive != 0 AND typinput = 'pg_catalog.array_in'::regproc",
            "SELECT typreceive::TEXT AS a FROM \"pg_catalog\".\"pg_type\" AS \"pg_type\" WHERE typreceive <> '-' AND typinput = regproc_name('pg_catalog.array_in')",
        ),
        (
            "SELECT 1 AS a FROM pg_class WHERE relkind = ANY('{r,v}') AND relname <> ALL ('{a}'::text[])",
            "SELECT 1 AS a FROM \"pg_catalog\".\"pg_class\" AS \"pg_class\" WHERE relkind IN ('r', 'v') AND relname NOT IN ('a')",
        ),
        (
            "SELECT current_setting('server_version_num')::int/100 AS version",
            "SELECT div(current_setting('server_version_num')::INT, 100) AS version",
        ),
        (
            "SELECT n.oid, n.* FROM pg_namespace n",
            "SELECT n.oid AS \"oid_1\", n.* FROM \"pg_catalog\".\"pg_namespace\" n",
        ),
        (
            "SELECT (SELECT n.nspname FROM pg_namespace n WHERE n.oid = c.relnamespace) AS a FROM pg_class c",
            "SELECT (SELECT first_value(n.nspname) FROM \"pg_catalog\".\"pg_namespace\" n WHERE n.oid = c.relnamespace) AS a FROM \"pg_catalog\".\"pg_class\" c",
        ),
        (
            "SELECT ARRAY(SELECT relname FROM pg_class ORDER BY 1) AS a",
            "SELECT (SELECT array_agg(relname ORDER BY relname) FROM \"pg_catalog\".\"pg_class\" AS \"pg_class\") AS a",
        ),
        // Statements without the catalog stay as they are.
        (
            "SELECT 7 / 2 AS a FROM 'x.pcap' AS x",
            "SELECT 7 / 2 AS a FROM 'x.pcap' AS x",
        ),
        (
            "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE $1 || '%' ESCAPE '/'",
            "SELECT nspname FROM \"pg_catalog\".\"pg_namespace\" AS \"pg_namespace\" WHERE nspname NOT LIKE like_pattern($1 || '%', '/')",
        ),
        (
            "SELECT a FROM 'x.csv' WHERE a = ANY($1::bigint[]) AND b <> ALL ($2) OR c = ANY(ARRAY['x', NULL]::text[])",
            "SELECT a FROM 'x.csv' WHERE a IN ($1::BIGINT) AND b NOT IN ($2) OR c IN ('x', NULL)",
        ),
        (
            "SELECT a = ANY(ARRAY[]::INT[]) AS b, a < ANY($1) AS c, a = ANY(ARRAY[d]) AS d FROM 'x.csv'",
            "SELECT false AS b, a < ANY($1) AS c, a = ANY(ARRAY[d]) AS d FROM 'x.csv'",
        ),
        ("SELECT xmin FROM 'x.csv'", "SELECT xmin FROM 'x.csv'"),
        (
            "WITH pg_class AS (SELECT 1 AS a) SELECT a FROM pg_class",
            "WITH pg_class AS (SELECT 1 AS a) SELECT a FROM pg_class",
        ),
        ("SELECT a FROM 'pg_class'", "SELECT a FROM 'pg_class'"),
    ] {
        assert_eq!(rewritten(sql), expected, "{sql}");
        assert_eq!(passed(sql, 2), expected, "{sql}");
    }
}

/// A function has its name in the catalog, and no number.
#[test]
fn functions_and_roles_are_compared_by_names_and_numbers() {
    for (sql, expected) in [
        (
            "SELECT p.proname AS a FROM pg_type t LEFT JOIN pg_proc p ON p.oid = t.typreceive",
            "SELECT p.proname AS a FROM \"pg_catalog\".\"pg_type\" t LEFT JOIN \"pg_catalog\".\"pg_proc\" p ON p.proname = t.typreceive",
        ),
        (
            "SELECT 'lower'::pg_catalog.regproc::pg_catalog.oid AS a",
            "SELECT regproc_oid('lower') AS a",
        ),
        (
            "SELECT datname FROM pg_database WHERE datdba = current_user::regrole",
            "SELECT datname FROM \"pg_catalog\".\"pg_database\" AS \"pg_database\" WHERE datdba = regrole_oid(current_user())",
        ),
    ] {
        assert_eq!(rewritten(sql), expected, "{sql}");
        assert_eq!(passed(sql, 2), expected, "{sql}");
    }
}

#[test]
fn what_needs_a_key_or_an_index_has_no_rows() {
    for (sql, expected) in [
        (
            "SELECT i.x AS \"A\", c.Relname, count(*) OVER () AS n FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON c.oid = i.indrelid WHERE c.oid = $2",
            Some("SELECT NULL AS \"A\", NULL AS \"relname\", NULL AS n WHERE false"),
        ),
        (
            "SELECT a FROM pg_class RIGHT JOIN pg_index ON true",
            Some("SELECT NULL AS \"a\" WHERE false"),
        ),
        (
            "SELECT count(*) AS n FROM pg_index GROUP BY indrelid",
            Some("SELECT NULL AS n WHERE false"),
        ),
        (
            "SELECT r.a FROM (SELECT (information_schema._pg_expandarray(i.indkey)).n AS a FROM pg_index i) r ORDER BY r.a",
            Some("SELECT NULL AS \"a\" WHERE false"),
        ),
        (
            "SELECT a FROM pg_index UNION ALL SELECT b FROM pg_proc",
            Some("SELECT NULL AS \"a\" WHERE false"),
        ),
        (
            "SELECT EXISTS (SELECT 1 FROM pg_index) AS a, ARRAY(SELECT 1 FROM pg_index) AS b, (SELECT 1 FROM pg_proc) AS c",
            Some("SELECT false AS a, arrow_cast(make_array(), 'List(Utf8)') AS b, NULL AS c"),
        ),
        (
            "SELECT (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal LIMIT 1) AS n FROM pg_class c",
            Some("SELECT 0 AS n FROM \"pg_catalog\".\"pg_class\" c"),
        ),
        ("SELECT a FROM pg_class LEFT JOIN pg_index ON true", None),
        ("SELECT count(*) AS n FROM pg_index", None),
        (
            "SELECT a FROM pg_index UNION ALL SELECT b FROM pg_class",
            None,
        ),
        ("SELECT * FROM pg_index", None),
        ("SELECT a FROM public.pg_index", None),
        ("SELECT a FROM 'pg_index'", None),
        ("SELECT a FROM pg_index, 'x.pcap'", None),
        (
            "WITH pg_index AS (SELECT 1 AS a) SELECT a FROM pg_index",
            None,
        ),
    ] {
        let found = rewritten(sql);
        match expected {
            Some(expected) => assert_eq!(found, expected, "{sql}"),
            None => assert!(!found.contains("WHERE false"), "{sql}: {found}"),
        }
    }
}
