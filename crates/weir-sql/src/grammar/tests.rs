//! Every variant of the parser's tree is honoured or refused with one sentence, and what no answer may pass
//! over is refused.

use super::verdict::{BODIES, EXPRESSIONS, FACTORS, JOINS, OPERATORS, STATEMENTS, Verdict};
use crate::statement::Statement;

/// The outcome of a text: the refusal, or nothing.
fn outcome(sql: &str) -> Result<(), String> {
    let statements = Statement::parse(sql).map_err(|error| format!("syntax: {error}"))?;
    let is_scalar = |name: &str| ["lower", "abs"].contains(&name);
    for statement in &statements {
        super::check(statement, &is_scalar).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Each variant has an example, with which happens what its verdict says. What the parser does not read at
/// all is refused by it.
fn walk(verdicts: &[(&str, Verdict)], examples: &[(&str, &str)], whole: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    for (variant, verdict) in verdicts {
        if READ_OTHERWISE.contains(variant) {
            continue;
        }
        let Some((_, example)) = examples.iter().find(|(name, _)| name == variant) else {
            wrong.push(format!("{variant} has no example"));
            continue;
        };
        let sql = whole(example);
        let found = outcome(&sql);
        let is_right = match (verdict, &found) {
            (Verdict::Honoured, Ok(())) => true,
            (Verdict::Refused(what, _), Err(message)) => {
                *message == format!("not supported: {what}") || message.starts_with("syntax: ")
            }
            _ => false,
        };
        if !is_right {
            wrong.push(format!(
                "{variant} is {verdict:?}, and {sql:?} gives {found:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements that this parser reads as others, whose own verdicts apply: `SHOW OBJECTS` as an unknown setting, `RESET` as
/// DataFusion's own statement.
const READ_OTHERWISE: &[&str] = &["ShowObjects", "Reset"];

#[test]
fn every_statement_is_honoured_or_refused() {
    walk(STATEMENTS, STATEMENT_EXAMPLES, str::to_owned);
}

#[test]
fn every_expression_is_honoured_or_refused() {
    walk(EXPRESSIONS, EXPRESSION_EXAMPLES, |expr| {
        format!("SELECT {expr}")
    });
}

#[test]
fn every_body_of_a_query_is_honoured_or_refused() {
    walk(BODIES, BODY_EXAMPLES, str::to_owned);
}

#[test]
fn every_table_factor_is_honoured_or_refused() {
    walk(FACTORS, FACTOR_EXAMPLES, |factor| {
        format!("SELECT * FROM {factor}")
    });
}

#[test]
fn every_join_is_honoured_or_refused() {
    walk(JOINS, JOIN_EXAMPLES, |join| {
        format!("SELECT * FROM a {join}")
    });
}

#[test]
fn every_step_behind_a_pipe_is_honoured_or_refused() {
    walk(OPERATORS, OPERATOR_EXAMPLES, |step| {
        format!("FROM a |> {step}")
    });
}

/// `FOR UPDATE`, `WITH ROLLUP`, `TABLESAMPLE BUCKET` and many more were accepted and ignored.
#[test]
fn clauses_without_an_implementation_are_refused() {
    for (sql, what) in CLAUSES {
        match outcome(sql) {
            Ok(()) => panic!("{sql} is accepted"),
            Err(message) => assert!(
                message.contains(what) || message.starts_with("syntax: "),
                "{sql}: {message}"
            ),
        }
    }
    // The parser itself reads few of them in this dialect, or none: most are refused here.
    let here = CLAUSES
        .iter()
        .filter(|(sql, _)| outcome(sql).is_err_and(|message| !message.starts_with("syntax: ")));
    assert!(here.count() * 10 > CLAUSES.len() * 7);
}

#[test]
fn clauses_that_are_done_are_not_refused() {
    for sql in [
        "SELECT a FROM t ORDER BY a OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY",
        "SELECT DISTINCT ON (a) a, b FROM t ORDER BY a, b",
        "SELECT sum(a) FILTER (WHERE b) OVER w FROM t WINDOW w AS (PARTITION BY c)",
        "SELECT first_value(a) IGNORE NULLS OVER (ORDER BY b) FROM t",
        "SELECT a FROM t AS u (a, b) TABLESAMPLE SYSTEM (5) REPEATABLE (3)",
        "SELECT a FROM t GROUP BY ALL HAVING count(*) > 1 QUALIFY row_number() OVER () = 1",
        "WITH RECURSIVE a AS (SELECT 1) SELECT * EXCLUDE (b) FROM a",
        "SELECT approx_percentile_cont(0.9) WITHIN GROUP (ORDER BY a) FROM t",
        "SELECT 1 UNION BY NAME SELECT 2",
        "SELECT * REPLACE (a + 1 AS a) FROM t, LATERAL (SELECT t.a) u",
    ] {
        assert_eq!(outcome(sql), Ok(()), "{sql}");
    }
}

const CLAUSES: &[(&str, &str)] = &[
    ("SELECT 1 FOR UPDATE", "FOR UPDATE"),
    ("SELECT 1 FOR SHARE NOWAIT", "FOR SHARE"),
    ("SELECT 1 FOR JSON AUTO", "FOR JSON"),
    ("SELECT 1 FROM t SETTINGS a = 1", "SETTINGS"),
    ("SELECT 1 FROM t FORMAT CSV", "FORMAT"),
    ("SELECT 1 FROM t PREWHERE a = 1", "PREWHERE"),
    ("SELECT 1 FROM t LATERAL VIEW explode(a) b", "LATERAL VIEW"),
    ("SELECT 1 FROM t CLUSTER BY a", "CLUSTER BY"),
    ("SELECT 1 FROM t DISTRIBUTE BY a", "DISTRIBUTE BY"),
    ("SELECT 1 FROM t SORT BY a", "SORT BY"),
    ("SELECT TOP 5 a FROM t", "TOP"),
    ("SELECT a FROM t FETCH FIRST 5 ROWS WITH TIES", "WITH TIES"),
    ("SELECT a FROM t FETCH FIRST 5 PERCENT ROWS ONLY", "PERCENT"),
    ("SELECT a FROM t LIMIT 2 FETCH FIRST 5 ROWS ONLY", "FETCH"),
    ("SELECT a FROM t LIMIT 2 BY a", "LIMIT … BY"),
    ("SELECT a FROM t ORDER BY a WITH FILL", "WITH FILL"),
    (
        "SELECT a FROM t ORDER BY a WITH FILL INTERPOLATE",
        "INTERPOLATE",
    ),
    ("SELECT a FROM t GROUP BY a WITH ROLLUP", "WITH ROLLUP"),
    ("SELECT a FROM t GROUP BY ALL WITH TOTALS", "WITH TOTALS"),
    (
        "SELECT a FROM t START WITH a = 1 CONNECT BY PRIOR a = b",
        "CONNECT BY",
    ),
    ("SELECT AS STRUCT 1", "AS STRUCT"),
    ("SELECT a FROM t WITH (NOLOCK)", "NOLOCK"),
    (
        "SELECT a FROM t FOR SYSTEM_TIME AS OF '2020-01-01'",
        "version",
    ),
    ("SELECT a FROM t WITH ORDINALITY", "ORDINALITY"),
    ("SELECT a FROM UNNEST([1]) WITH ORDINALITY", "ORDINALITY"),
    ("SELECT a FROM UNNEST([1]) WITH OFFSET", "OFFSET"),
    ("SELECT a FROM t PARTITION (p)", "PARTITION"),
    ("SELECT a FROM t USE INDEX (i)", "INDEX"),
    ("SELECT a FROM t AS u (a int)", "type"),
    ("SELECT a FROM t GLOBAL JOIN u ON true", "GLOBAL"),
    ("SELECT a FROM t JOIN u", "without ON"),
    ("SELECT a FROM t LEFT JOIN u", "without ON"),
    ("SELECT a FROM t MINUS SELECT b FROM u", "MINUS"),
    ("SELECT 1 EXCEPT BY NAME SELECT 2", "BY NAME"),
    ("SELECT lower(a) FILTER (WHERE b) FROM t", "FILTER of lower"),
    ("SELECT lower(a) OVER () FROM t", "OVER of lower"),
    ("SELECT lower(DISTINCT a) FROM t", "DISTINCT of lower"),
    ("SELECT abs(a ORDER BY b) FROM t", "ORDER BY of abs"),
    (
        "SELECT abs(a) WITHIN GROUP (ORDER BY b) FROM t",
        "WITHIN GROUP of abs",
    ),
    ("SELECT sum(a) IGNORE NULLS FROM t", "NULLS of sum"),
    ("SELECT sum(a) RESPECT NULLS OVER () FROM t", "NULLS of sum"),
    ("SELECT quantile(0.5)(a) FROM t", "before the arguments"),
    ("SELECT array(SELECT 1)", "a query as the arguments"),
    (
        "SELECT sum(a) OVER (w ORDER BY b) FROM t WINDOW w AS (PARTITION BY c)",
        "named one",
    ),
    ("SELECT a FROM t TABLESAMPLE (BUCKET 1 OUT OF 4)", "BUCKET"),
    ("SELECT a FROM t TABLESAMPLE (120 PERCENT)", "0 to 100"),
    ("SELECT a FROM t TABLESAMPLE (-1)", "0 to 100"),
    ("SELECT a FROM t TABLESAMPLE (2.5 ROWS)", "whole number"),
    (
        "SELECT a FROM t TABLESAMPLE BERNOULLI (10 ROWS)",
        "without BERNOULLI",
    ),
    ("SELECT a FROM t TABLESAMPLE (a)", "must be a number"),
    (
        "SELECT a FROM (SELECT 1) TABLESAMPLE (10 PERCENT) REPEATABLE (0.5)",
        "seed",
    ),
    ("SELECT a FROM t SAMPLE 1.5", "0 to 1"),
    ("CREATE TABLE t (a int) COMMENT = 'x'", "CREATE TABLE"),
    ("CREATE MATERIALIZED VIEW v AS SELECT 1", "MATERIALIZED"),
    ("CREATE OR ALTER VIEW v AS SELECT 1", "OR ALTER"),
    ("DROP VIEW v CASCADE", "CASCADE"),
    ("DROP TABLE t RESTRICT", "RESTRICT"),
    ("SET LOCAL TIME ZONE 'UTC'", "LOCAL"),
    ("SET ROLE r", "SET ROLE"),
    ("SET NAMES 'utf8'", "SET NAMES"),
    ("SELECT 1 IN (SELECT 1 FOR UPDATE)", "FOR UPDATE"),
    (
        "WITH a AS (SELECT 1 FROM t PREWHERE b) SELECT * FROM a",
        "PREWHERE",
    ),
    (
        "CREATE VIEW v AS SELECT a FROM t GROUP BY a WITH CUBE",
        "WITH CUBE",
    ),
    ("EXPLAIN SELECT 1 FOR UPDATE", "FOR UPDATE"),
    ("COPY (SELECT 1 FOR UPDATE) TO 'x.csv'", "FOR UPDATE"),
];

const STATEMENT_EXAMPLES: &[(&str, &str)] = &[
    ("Analyze", "ANALYZE TABLE t COMPUTE STATISTICS"),
    ("Set", "SET datafusion.execution.batch_size = 1000"),
    ("Truncate", "TRUNCATE TABLE t"),
    ("Msck", "MSCK REPAIR TABLE t"),
    ("Query", "SELECT 1"),
    ("Insert", "INSERT INTO t VALUES (1)"),
    ("Install", "INSTALL x"),
    ("Load", "LOAD x"),
    ("Directory", "INSERT OVERWRITE DIRECTORY '/x' SELECT 1"),
    ("Case", "CASE WHEN true THEN SELECT 1; END CASE"),
    ("If", "IF true THEN SELECT 1; END IF"),
    ("While", "WHILE 1 = 1 BEGIN SELECT 1; END"),
    ("Raise", "RAISE USING MESSAGE = 1"),
    ("Call", "CALL f(1)"),
    ("Copy", "COPY t FROM 'x'"),
    ("CopyIntoSnowflake", "COPY INTO t FROM @s"),
    ("Open", "OPEN c"),
    ("Close", "CLOSE c"),
    ("Update", "UPDATE t SET a = 1"),
    ("Delete", "DELETE FROM t"),
    ("CreateView", "CREATE VIEW v AS SELECT 1"),
    ("CreateTable", "CREATE TABLE t AS SELECT 1 AS a"),
    ("CreateVirtualTable", "CREATE VIRTUAL TABLE t USING m"),
    ("CreateIndex", "CREATE INDEX i ON t (a)"),
    ("CreateRole", "CREATE ROLE r"),
    ("CreateSecret", "CREATE SECRET s (TYPE x)"),
    ("CreateServer", "CREATE SERVER s FOREIGN DATA WRAPPER w"),
    ("CreatePolicy", "CREATE POLICY p ON t"),
    ("CreateConnector", "CREATE CONNECTOR c TYPE 'x' URL 'y'"),
    ("CreateOperator", "CREATE OPERATOR + (PROCEDURE = f)"),
    (
        "CreateOperatorFamily",
        "CREATE OPERATOR FAMILY f USING btree",
    ),
    (
        "CreateOperatorClass",
        "CREATE OPERATOR CLASS c FOR TYPE int USING btree AS STORAGE int",
    ),
    ("AlterTable", "ALTER TABLE t ADD COLUMN a int"),
    ("AlterSchema", "ALTER SCHEMA s RENAME TO r"),
    ("AlterIndex", "ALTER INDEX i RENAME TO j"),
    ("AlterView", "ALTER VIEW v AS SELECT 1"),
    ("AlterFunction", "ALTER FUNCTION f(int) RENAME TO g"),
    ("AlterType", "ALTER TYPE t RENAME TO u"),
    ("AlterCollation", "ALTER COLLATION c RENAME TO d"),
    ("AlterOperator", "ALTER OPERATOR + (int, int) OWNER TO x"),
    (
        "AlterOperatorFamily",
        "ALTER OPERATOR FAMILY f USING btree RENAME TO g",
    ),
    (
        "AlterOperatorClass",
        "ALTER OPERATOR CLASS c USING btree RENAME TO d",
    ),
    ("AlterRole", "ALTER ROLE r RENAME TO s"),
    ("AlterPolicy", "ALTER POLICY p ON t RENAME TO q"),
    ("AlterConnector", "ALTER CONNECTOR c SET URL 'x'"),
    ("AlterSession", "ALTER SESSION SET a=1"),
    ("AttachDatabase", "ATTACH DATABASE 'x' AS y"),
    ("AttachDuckDBDatabase", "ATTACH 'x' AS y (READ_ONLY)"),
    ("DetachDuckDBDatabase", "DETACH x"),
    ("Drop", "DROP VIEW v"),
    ("DropFunction", "DROP FUNCTION f"),
    ("DropDomain", "DROP DOMAIN d"),
    ("DropProcedure", "DROP PROCEDURE p"),
    ("DropSecret", "DROP SECRET s"),
    ("DropPolicy", "DROP POLICY p ON t"),
    ("DropConnector", "DROP CONNECTOR c"),
    ("Declare", "DECLARE c CURSOR FOR SELECT 1"),
    ("CreateExtension", "CREATE EXTENSION e"),
    ("CreateCollation", "CREATE COLLATION c FROM d"),
    ("DropExtension", "DROP EXTENSION e"),
    ("DropOperator", "DROP OPERATOR + (int, int)"),
    ("DropOperatorFamily", "DROP OPERATOR FAMILY f USING btree"),
    ("DropOperatorClass", "DROP OPERATOR CLASS c USING btree"),
    ("Fetch", "FETCH NEXT FROM c"),
    ("Flush", "FLUSH TABLES"),
    ("Discard", "DISCARD ALL"),
    ("ShowFunctions", "SHOW FUNCTIONS"),
    ("ShowVariable", "SHOW ALL"),
    ("ShowStatus", "SHOW STATUS"),
    ("ShowVariables", "SHOW VARIABLES"),
    ("ShowCreate", "SHOW CREATE TABLE t"),
    ("ShowColumns", "SHOW COLUMNS FROM t"),
    ("ShowCatalogs", "SHOW CATALOGS"),
    ("ShowDatabases", "SHOW DATABASES"),
    ("ShowProcessList", "SHOW PROCESSLIST"),
    ("ShowSchemas", "SHOW SCHEMAS"),
    ("ShowCharset", "SHOW CHARSET"),
    ("ShowObjects", "SHOW OBJECTS"),
    ("ShowTables", "SHOW TABLES"),
    ("ShowViews", "SHOW VIEWS"),
    ("ShowCollation", "SHOW COLLATION"),
    ("Use", "USE x"),
    ("StartTransaction", "START TRANSACTION"),
    ("Comment", "COMMENT ON TABLE t IS 'x'"),
    ("Commit", "COMMIT"),
    ("Rollback", "ROLLBACK"),
    ("CreateSchema", "CREATE SCHEMA s"),
    ("CreateDatabase", "CREATE DATABASE d"),
    (
        "CreateFunction",
        "CREATE FUNCTION f(int) RETURNS int LANGUAGE SQL AS 'SELECT 1'",
    ),
    (
        "CreateTrigger",
        "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    ),
    ("DropTrigger", "DROP TRIGGER x ON t"),
    (
        "CreateProcedure",
        "CREATE PROCEDURE p AS BEGIN SELECT 1; END",
    ),
    ("CreateMacro", "CREATE MACRO m(a) AS a + 1"),
    ("CreateStage", "CREATE STAGE s"),
    ("Assert", "ASSERT 1 = 1"),
    ("Grant", "GRANT SELECT ON t TO u"),
    ("Deny", "DENY SELECT ON t TO u"),
    ("Revoke", "REVOKE SELECT ON t FROM u"),
    ("Deallocate", "DEALLOCATE p"),
    ("Execute", "EXECUTE p(1)"),
    ("Prepare", "PREPARE p AS SELECT $1"),
    ("Kill", "KILL 5"),
    ("ExplainTable", "DESCRIBE 'x.pcap'"),
    ("Explain", "EXPLAIN SELECT 1"),
    ("Savepoint", "SAVEPOINT s"),
    ("ReleaseSavepoint", "RELEASE SAVEPOINT s"),
    (
        "Merge",
        "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE",
    ),
    ("Cache", "CACHE TABLE t"),
    ("UNCache", "UNCACHE TABLE t"),
    ("CreateSequence", "CREATE SEQUENCE s"),
    ("CreateDomain", "CREATE DOMAIN d AS int"),
    ("CreateType", "CREATE TYPE t AS (a int)"),
    ("Pragma", "PRAGMA x"),
    ("Lock", "LOCK TABLE t IN SHARE MODE"),
    ("LockTables", "LOCK TABLES t READ"),
    ("UnlockTables", "UNLOCK TABLES"),
    ("Unload", "UNLOAD (SELECT 1) TO 's3://x'"),
    ("OptimizeTable", "OPTIMIZE TABLE t"),
    ("LISTEN", "LISTEN c"),
    ("UNLISTEN", "UNLISTEN c"),
    ("NOTIFY", "NOTIFY c"),
    ("LoadData", "LOAD DATA INPATH 'x' INTO TABLE t"),
    ("RenameTable", "RENAME TABLE t TO u"),
    ("List", "LIST @s"),
    ("Remove", "REMOVE @s"),
    ("RaisError", "RAISERROR('x', 1, 1)"),
    ("Throw", "THROW"),
    ("Print", "PRINT 'x'"),
    ("WaitFor", "WAITFOR DELAY '1'"),
    ("Return", "RETURN 1"),
    ("ExportData", "EXPORT DATA OPTIONS (uri = 'x') AS SELECT 1"),
    ("CreateUser", "CREATE USER u"),
    ("AlterUser", "ALTER USER u"),
    ("Vacuum", "VACUUM t"),
    ("Reset", "RESET ALL"),
];

const EXPRESSION_EXAMPLES: &[(&str, &str)] = &[
    ("Identifier", "a"),
    ("CompoundIdentifier", "t.a"),
    ("CompoundFieldAccess", "a[1]"),
    ("JsonAccess", "a:b"),
    ("IsFalse", "a IS FALSE"),
    ("IsNotFalse", "a IS NOT FALSE"),
    ("IsTrue", "a IS TRUE"),
    ("IsNotTrue", "a IS NOT TRUE"),
    ("IsNull", "a IS NULL"),
    ("IsNotNull", "a IS NOT NULL"),
    ("IsUnknown", "a IS UNKNOWN"),
    ("IsNotUnknown", "a IS NOT UNKNOWN"),
    ("IsDistinctFrom", "a IS DISTINCT FROM b"),
    ("IsNotDistinctFrom", "a IS NOT DISTINCT FROM b"),
    ("IsNormalized", "a IS NORMALIZED"),
    ("InList", "a IN (1)"),
    ("InSubquery", "a IN (SELECT 1)"),
    ("InUnnest", "a IN UNNEST(b)"),
    ("Between", "a BETWEEN 1 AND 2"),
    ("BinaryOp", "a + 1"),
    ("Like", "a LIKE 'x'"),
    ("ILike", "a ILIKE 'x'"),
    ("SimilarTo", "a SIMILAR TO b"),
    ("RLike", "a RLIKE 'x'"),
    ("AnyOp", "a = ANY (SELECT 1)"),
    ("AllOp", "a = ALL (SELECT 1)"),
    ("UnaryOp", "NOT a"),
    ("Convert", "CONVERT(a, CHAR)"),
    ("Cast", "CAST(a AS int)"),
    ("AtTimeZone", "a AT TIME ZONE 'UTC'"),
    ("Extract", "EXTRACT(year FROM a)"),
    ("Ceil", "CEIL(a)"),
    ("Floor", "FLOOR(a)"),
    ("Position", "POSITION('x' IN a)"),
    ("Substring", "SUBSTRING(a FROM 1)"),
    ("Trim", "TRIM(a)"),
    ("Overlay", "OVERLAY(a PLACING 'x' FROM 1)"),
    ("Collate", "a COLLATE x"),
    ("Nested", "(a)"),
    ("Value", "1"),
    ("Prefixed", "_utf8 'x'"),
    ("TypedString", "DATE '2026-01-01'"),
    ("Function", "f(a)"),
    ("Case", "CASE WHEN a THEN 1 END"),
    ("Exists", "EXISTS (SELECT 1)"),
    ("Subquery", "(SELECT 1)"),
    ("GroupingSets", "a GROUP BY GROUPING SETS ((a))"),
    ("Cube", "a GROUP BY CUBE (a)"),
    ("Rollup", "a GROUP BY ROLLUP (a)"),
    ("Tuple", "(a, b)"),
    ("Struct", "STRUCT(1)"),
    ("Named", "STRUCT(1 AS a)"),
    ("Dictionary", "{'a': 1}"),
    ("Map", "MAP {1: 2}"),
    ("Array", "[1]"),
    ("Interval", "INTERVAL '1 day'"),
    ("MatchAgainst", "MATCH (a) AGAINST ('x')"),
    ("Wildcard", "f(DISTINCT *)"),
    ("QualifiedWildcard", "f(DISTINCT t.*)"),
    ("OuterJoin", "a FROM t WHERE a = b (+)"),
    ("Prior", "a FROM t CONNECT BY PRIOR a = b"),
    ("Lambda", "f(a, x -> x + 1)"),
    ("MemberOf", "a MEMBER OF ('x')"),
];

const FACTOR_EXAMPLES: &[(&str, &str)] = &[
    ("Table", "'x.pcap'"),
    ("Derived", "(SELECT 1) t"),
    ("TableFunction", "TABLE(f(1)) t"),
    ("Function", "LATERAL f(1) t"),
    ("UNNEST", "UNNEST([1]) t"),
    (
        "JsonTable",
        "JSON_TABLE('[]', '$[*]' COLUMNS (a INT PATH '$')) t",
    ),
    ("OpenJsonTable", "OPENJSON('{}') t"),
    ("NestedJoin", "(a JOIN b ON true)"),
    ("Pivot", "t PIVOT (sum(a) FOR b IN ('x'))"),
    ("Unpivot", "t UNPIVOT (a FOR b IN (c, d))"),
    (
        "MatchRecognize",
        "t MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS true)",
    ),
    ("XmlTable", "XMLTABLE('/x' PASSING y COLUMNS a INT)"),
    ("SemanticView", "SEMANTIC_VIEW(m DIMENSIONS a)"),
];

const JOIN_EXAMPLES: &[(&str, &str)] = &[
    ("Join", "JOIN b ON true"),
    ("Inner", "INNER JOIN b ON true"),
    ("Left", "LEFT JOIN b ON true"),
    ("LeftOuter", "LEFT OUTER JOIN b ON true"),
    ("Right", "RIGHT JOIN b ON true"),
    ("RightOuter", "RIGHT OUTER JOIN b ON true"),
    ("FullOuter", "FULL JOIN b ON true"),
    ("CrossJoin", "CROSS JOIN b"),
    ("Semi", "SEMI JOIN b ON true"),
    ("LeftSemi", "LEFT SEMI JOIN b ON true"),
    ("RightSemi", "RIGHT SEMI JOIN b ON true"),
    ("Anti", "ANTI JOIN b ON true"),
    ("LeftAnti", "LEFT ANTI JOIN b ON true"),
    ("RightAnti", "RIGHT ANTI JOIN b ON true"),
    ("CrossApply", "CROSS APPLY b"),
    ("OuterApply", "OUTER APPLY b"),
    ("AsOf", "ASOF JOIN b MATCH_CONDITION (a.t >= b.t)"),
    ("StraightJoin", "STRAIGHT_JOIN b ON true"),
    ("ArrayJoin", "ARRAY JOIN b"),
    ("LeftArrayJoin", "LEFT ARRAY JOIN b"),
    ("InnerArrayJoin", "INNER ARRAY JOIN b"),
];

const BODY_EXAMPLES: &[(&str, &str)] = &[
    ("Select", "SELECT 1"),
    ("Query", "(SELECT 1)"),
    ("SetOperation", "SELECT 1 UNION SELECT 2"),
    ("Values", "VALUES (1)"),
    ("Insert", "WITH a AS (SELECT 1) INSERT INTO t SELECT 1"),
    ("Update", "WITH a AS (SELECT 1) UPDATE t SET b = 1"),
    ("Delete", "WITH a AS (SELECT 1) DELETE FROM t"),
    (
        "Merge",
        "WITH a AS (SELECT 1) MERGE INTO t USING a ON true WHEN MATCHED THEN DELETE",
    ),
    ("Table", "TABLE t"),
];

const OPERATOR_EXAMPLES: &[(&str, &str)] = &[
    ("Limit", "LIMIT 1"),
    ("Where", "WHERE true"),
    ("OrderBy", "ORDER BY a"),
    ("Select", "SELECT a"),
    ("Extend", "EXTEND a AS b"),
    ("Set", "SET a = 1"),
    ("Drop", "DROP a"),
    ("As", "AS b"),
    ("Aggregate", "AGGREGATE count(*) AS n"),
    ("TableSample", "TABLESAMPLE (10 PERCENT)"),
    ("Rename", "RENAME a AS b"),
    ("Union", "UNION ALL (SELECT 1)"),
    ("Intersect", "INTERSECT DISTINCT (SELECT 1)"),
    ("Except", "EXCEPT DISTINCT (SELECT 1)"),
    ("Call", "CALL f(1)"),
    ("Pivot", "PIVOT (sum(a) FOR b IN ('x'))"),
    ("Unpivot", "UNPIVOT (a FOR b IN (c, d))"),
    ("Join", "JOIN b ON true"),
];

#[test]
fn what_sizes_something_has_a_limit() {
    for (sql, message) in [
        (
            "SELECT approx_percentile_cont(v, 0.5, 4294967296) FROM t",
            "argument 3 of",
        ),
        (
            "SELECT \"approx_percentile_cont\"(v, 0.5, 4294967296) FROM t",
            "argument 3 of",
        ),
        (
            "SELECT approx_percentile_cont(v, 0.5, 4294967295 + 1) FROM t",
            "argument 3 of",
        ),
        (
            "SELECT approx_percentile_cont(0.5, 4294967296) WITHIN GROUP (ORDER BY v) FROM t",
            "argument 2 of",
        ),
        (
            "SELECT approx_percentile_cont_with_weight(v, w, 0.5, 10001) FROM t",
            "argument 4 of",
        ),
        (
            "SELECT lag(v, 9223372036854775807) OVER (ORDER BY v) FROM t",
            "argument 2 of",
        ),
        (
            "SELECT lead(v, -(9223372036854775807)) OVER (ORDER BY v) FROM t",
            "argument 2 of",
        ),
        (
            "SELECT nth_value(v, CAST(9223372036854775807 AS BIGINT)) OVER () FROM t",
            "argument 2 of",
        ),
        (
            "SELECT ntile(99999999999999999999) OVER (ORDER BY v) FROM t",
            "argument 1 of",
        ),
        (
            "SELECT sum(v) OVER (ROWS BETWEEN 18446744073709551615 PRECEDING AND CURRENT ROW) FROM t",
            "frame begins",
        ),
        (
            "SELECT sum(v) OVER (ROWS BETWEEN CURRENT ROW AND 18446744073709551615 FOLLOWING) FROM t",
            "frame begins",
        ),
        (
            "SELECT sum(v) OVER w FROM t WINDOW w AS (GROUPS 4294967296 PRECEDING)",
            "frame begins",
        ),
        (
            "SELECT 1 FROM t GROUP BY CUBE (a, b, c, d, e, f, g, h, i, j, k, l, m)",
            "more than 4096 grouping sets",
        ),
        (
            "SELECT 1 FROM t GROUP BY CUBE (a, b, c, d, e, f, g), CUBE (h, i, j, k, l, m)",
            "more than 4096 grouping sets",
        ),
        (
            "SELECT 1 FROM t GROUP BY ROLLUP (a, b, c, d, e, f, g), CUBE (h, i, j, k, l, m, n, o, p, q)",
            "more than 4096 grouping sets",
        ),
        (
            "SELECT CAST(NULL AS INT[2000000000])",
            "has 2000000000 elements, and the limit is 4096",
        ),
        (
            "SELECT NULL::INT[100][][100]",
            "has 10000 elements, and the limit is 4096",
        ),
        (
            "CREATE TABLE t (a INT[5000])",
            "has 5000 elements, and the limit is 4096",
        ),
        (
            "SELECT arrow_cast(NULL, 'FixedSizeList(2000000000, Int64)')",
            "has 2000000000 elements, and the limit is 4096",
        ),
        (
            "SELECT arrow_try_cast(NULL, 'FixedSizeList(5000 x FixedSizeBinary(5000))')",
            "has 25000000 elements, and the limit is 4096",
        ),
    ] {
        let refusal = outcome(sql).expect_err(sql);
        assert!(refusal.contains(message), "{sql}: {refusal}");
    }
    for sql in [
        "SELECT approx_percentile_cont(v, 0.5, 100), approx_percentile_cont(v, 0.5) FROM t",
        "SELECT approx_percentile_cont(0.5, 100) WITHIN GROUP (ORDER BY v) FROM t",
        "SELECT lag(v, 3) OVER (ORDER BY v), sum(v) OVER (ROWS 10 PRECEDING), lag(v, $1) OVER () FROM t",
        "SELECT sum(v) OVER (ORDER BY t RANGE BETWEEN INTERVAL '1 day' PRECEDING AND CURRENT ROW) FROM t",
        "SELECT 1 FROM t GROUP BY CUBE (a, b, c), ROLLUP (d, e), GROUPING SETS ((a), (b, c), ())",
        "SELECT 1 FROM t GROUP BY CUBE (a, b, c, d, e, f, g, h, i, j, k, l)",
        "SELECT CAST(a AS INT[3]), CAST(b AS TEXT[]), arrow_cast(c, 'FixedSizeBinary(16)'), arrow_cast(d, 'FixedSizeList(2, Int64)') FROM t",
    ] {
        assert_eq!(outcome(sql), Ok(()), "{sql}");
    }
}

/// Lists that were planned for minutes: DataFusion compares each of their elements with all others.
#[test]
fn lists_that_are_planned_with_the_square_of_their_length_have_a_limit() {
    let list = |count: usize, element: &str| {
        let all: Vec<String> = (0..count)
            .map(|number| element.replace('#', &number.to_string()))
            .collect();
        all.join(", ")
    };
    let all = |count: usize| vec!["a > b"; count].join(" AND ");
    let several = vec![format!("SELECT {} FROM t", list(1500, "sum(a + #)")); 4];
    for (sql, message) in [
        (
            format!("SELECT {} FROM t", list(2049, "a + #")),
            "too many expressions: 2049 in all and 2049 in one SELECT list,",
        ),
        (
            several.join(" UNION ALL "),
            "too many expressions: 6000 in all and 1500 in one SELECT list,",
        ),
        (
            format!("SELECT a FROM t ORDER BY {}", list(513, "a + #")),
            "too many keys: 513 in all and 513 in one ORDER BY,",
        ),
        (
            format!("SELECT array_agg(a ORDER BY {}) FROM t", list(513, "a + #")),
            "in one ORDER BY, where the limit is",
        ),
        (
            format!(
                "SELECT sum(a) OVER (ORDER BY {}) FROM t",
                list(513, "a + #")
            ),
            "in one ORDER BY, where the limit is",
        ),
        (
            format!(
                "SELECT sum(a) OVER (PARTITION BY {}) FROM t",
                list(65, "a + #")
            ),
            "too many keys: 65 in all and 65 in one PARTITION BY,",
        ),
        (
            format!(
                "SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY {})",
                list(65, "a + #")
            ),
            "in one PARTITION BY, where the limit is",
        ),
        (
            format!(
                "SELECT {} FROM t",
                list(257, "sum(a) OVER (PARTITION BY b + #)")
            ),
            "too many window functions: 257 in all and 257 in one SELECT,",
        ),
        (
            format!(
                "SELECT 1 FROM t GROUP BY ROLLUP ({}), ROLLUP ({})",
                list(60, "a + #"),
                list(60, "b + #")
            ),
            "3721 grouping sets of 120 columns, and the limit is 65536",
        ),
        (
            vec![format!("SELECT a FROM t WHERE {}", all(400)); 4].join(" UNION ALL "),
            "too many conditions: 1600 in all and 400 in one WHERE or ON,",
        ),
    ] {
        let refusal = outcome(&sql).expect_err(&sql);
        assert!(refusal.contains(message), "{sql:.60}: {refusal}");
    }
    for sql in [
        format!("SELECT {} FROM t", list(2000, "a + #")),
        vec![format!("SELECT {} FROM t", list(60, "a + #")); 400].join(" UNION ALL "),
        format!("SELECT a FROM t ORDER BY {}", list(500, "a + #")),
        format!("SELECT a FROM t WHERE {}", all(450)),
        format!(
            "SELECT a FROM t WHERE {}",
            vec!["(a = 1 AND b = 2)"; 400].join(" OR ")
        ),
        format!("SELECT {} FROM t", list(250, "sum(a) OVER (ORDER BY b)")),
        format!(
            "SELECT 1 FROM t GROUP BY GROUPING SETS ({})",
            list(200, "(a + #, b)")
        ),
    ] {
        assert_eq!(outcome(&sql), Ok(()), "{sql:.60}");
    }
}

/// The statement ran, and FROM did not find the table: it looked for a file.
#[test]
fn names_of_files_are_no_names_of_tables() {
    for sql in [
        "CREATE TABLE \"voip.pcap\" AS SELECT 1 AS a",
        "CREATE OR REPLACE VIEW 'day/voip' AS SELECT 1 AS a",
        "CREATE VIEW \"a*\" AS SELECT 1 AS a",
        "CREATE TABLE \"-\" AS SELECT 1 AS a",
    ] {
        let message = outcome(sql).unwrap_err();
        assert!(message.contains("reads a file"), "{sql}: {message}");
    }
    for sql in [
        "CREATE TABLE \"voip pcap\" AS SELECT 1 AS a",
        "CREATE VIEW 'voip' AS SELECT 1 AS a",
        "CREATE TABLE public.voip AS SELECT 1 AS a",
        "DROP TABLE \"voip.pcap\"",
    ] {
        assert_eq!(outcome(sql), Ok(()), "{sql}");
    }
}
