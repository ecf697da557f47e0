//! Variant by variant.

use datafusion::sql::sqlparser::ast::{
    Expr, JoinOperator, PipeOperator, SetExpr, Statement, TableFactor,
};
use weir_functions::Error;

use super::refusal;

/// The verdict on a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The variant is planned, here or by DataFusion, which fails where it cannot.
    Honoured,
    /// The variant is refused: its name, and what to write instead.
    Refused(&'static str, &'static str),
}

impl Verdict {
    pub(super) fn outcome(self) -> Result<(), Error> {
        match self {
            Self::Honoured => Ok(()),
            Self::Refused(what, hint) => Err(refusal(what, hint)),
        }
    }
}

const fn refused(what: &'static str, hint: &'static str) -> Verdict {
    Verdict::Refused(what, hint)
}

const fn unknown(what: &'static str) -> Verdict {
    Verdict::Refused(what, "SELECT asks, COPY (SELECT …) TO 'x.parquet' writes")
}

/// A function that returns the verdict of every variant, and a list of all of them.
macro_rules! verdicts {
    ($(#[$doc:meta])* $function:ident, $all:ident, $of:ident, { $($variant:ident => $verdict:expr,)* }) => {
        $(#[$doc])*
        pub(super) const fn $function(node: &$of) -> Verdict {
            match node {
                $($of::$variant { .. } => $verdict,)*
            }
        }

        /// All variants with their verdicts.
        #[cfg(test)]
        pub(super) const $all: &[(&str, Verdict)] = &[$((stringify!($variant), $verdict),)*];
    };
}

verdicts!(
    /// The verdict on a statement.
    statement, STATEMENTS, Statement, {
        Analyze => unknown("ANALYZE"),
        Set => Verdict::Honoured,
        Truncate => unknown("TRUNCATE"),
        Msck => unknown("MSCK"),
        Query => Verdict::Honoured,
        Insert => Verdict::Honoured,
        Install => unknown("INSTALL"),
        Load => unknown("LOAD"),
        Directory => unknown("DIRECTORY"),
        Case => unknown("CASE"),
        If => unknown("IF"),
        While => unknown("WHILE"),
        Raise => unknown("RAISE"),
        Call => unknown("CALL"),
        Copy => unknown("COPY … FROM"),
        CopyIntoSnowflake => unknown("COPY INTO"),
        Open => unknown("OPEN"),
        Close => unknown("CLOSE"),
        Update => unknown("UPDATE"),
        Delete => unknown("DELETE"),
        CreateView => Verdict::Honoured,
        CreateTable => Verdict::Honoured,
        CreateVirtualTable => unknown("CREATE VIRTUAL TABLE"),
        CreateIndex => unknown("CREATE INDEX"),
        CreateRole => unknown("CREATE ROLE"),
        CreateSecret => unknown("CREATE SECRET"),
        CreateServer => unknown("CREATE SERVER"),
        CreatePolicy => unknown("CREATE POLICY"),
        CreateConnector => unknown("CREATE CONNECTOR"),
        CreateOperator => unknown("CREATE OPERATOR"),
        CreateOperatorFamily => unknown("CREATE OPERATOR FAMILY"),
        CreateOperatorClass => unknown("CREATE OPERATOR CLASS"),
        AlterTable => unknown("ALTER TABLE"),
        AlterSchema => unknown("ALTER SCHEMA"),
        AlterIndex => unknown("ALTER INDEX"),
        AlterView => unknown("ALTER VIEW"),
        AlterFunction => unknown("ALTER FUNCTION"),
        AlterType => unknown("ALTER TYPE"),
        AlterCollation => unknown("ALTER COLLATION"),
        AlterOperator => unknown("ALTER OPERATOR"),
        AlterOperatorFamily => unknown("ALTER OPERATOR FAMILY"),
        AlterOperatorClass => unknown("ALTER OPERATOR CLASS"),
        AlterRole => unknown("ALTER ROLE"),
        AlterPolicy => unknown("ALTER POLICY"),
        AlterConnector => unknown("ALTER CONNECTOR"),
        AlterSession => unknown("ALTER SESSION"),
        AttachDatabase => unknown("ATTACH"),
        AttachDuckDBDatabase => unknown("ATTACH"),
        DetachDuckDBDatabase => unknown("DETACH"),
        Drop => Verdict::Honoured,
        DropFunction => unknown("DROP FUNCTION"),
        DropDomain => unknown("DROP DOMAIN"),
        DropProcedure => unknown("DROP PROCEDURE"),
        DropSecret => unknown("DROP SECRET"),
        DropPolicy => unknown("DROP POLICY"),
        DropConnector => unknown("DROP CONNECTOR"),
        Declare => unknown("DECLARE"),
        CreateExtension => unknown("CREATE EXTENSION"),
        CreateCollation => unknown("CREATE COLLATION"),
        DropExtension => unknown("DROP EXTENSION"),
        DropOperator => unknown("DROP OPERATOR"),
        DropOperatorFamily => unknown("DROP OPERATOR FAMILY"),
        DropOperatorClass => unknown("DROP OPERATOR CLASS"),
        Fetch => unknown("FETCH"),
        Flush => unknown("FLUSH"),
        Discard => unknown("DISCARD"),
        ShowFunctions => Verdict::Honoured,
        ShowVariable => Verdict::Honoured,
        ShowStatus => unknown("SHOW STATUS"),
        ShowVariables => unknown("SHOW VARIABLES"),
        ShowCreate => Verdict::Honoured,
        ShowColumns => Verdict::Honoured,
        ShowCatalogs => unknown("SHOW CATALOGS"),
        ShowDatabases => unknown("SHOW DATABASES"),
        ShowProcessList => unknown("SHOW PROCESSLIST"),
        ShowSchemas => unknown("SHOW SCHEMAS"),
        ShowCharset => unknown("SHOW CHARSET"),
        ShowObjects => unknown("SHOW OBJECTS"),
        ShowTables => Verdict::Honoured,
        ShowViews => unknown("SHOW VIEWS"),
        ShowCollation => unknown("SHOW COLLATION"),
        Use => unknown("USE"),
        StartTransaction => unknown("BEGIN"),
        Comment => unknown("COMMENT"),
        Commit => unknown("COMMIT"),
        Rollback => unknown("ROLLBACK"),
        CreateSchema => Verdict::Honoured,
        CreateDatabase => unknown("CREATE DATABASE"),
        CreateFunction => unknown("CREATE FUNCTION"),
        CreateTrigger => unknown("CREATE TRIGGER"),
        DropTrigger => unknown("DROP TRIGGER"),
        CreateProcedure => unknown("CREATE PROCEDURE"),
        CreateMacro => unknown("CREATE MACRO"),
        CreateStage => unknown("CREATE STAGE"),
        Assert => unknown("ASSERT"),
        Grant => unknown("GRANT"),
        Deny => unknown("DENY"),
        Revoke => unknown("REVOKE"),
        Deallocate => Verdict::Honoured,
        Execute => Verdict::Honoured,
        Prepare => Verdict::Honoured,
        Kill => unknown("KILL"),
        ExplainTable => Verdict::Honoured,
        Explain => Verdict::Honoured,
        Savepoint => unknown("SAVEPOINT"),
        ReleaseSavepoint => unknown("RELEASE"),
        Merge => unknown("MERGE"),
        Cache => unknown("CACHE"),
        UNCache => unknown("UNCACHE"),
        CreateSequence => unknown("CREATE SEQUENCE"),
        CreateDomain => unknown("CREATE DOMAIN"),
        CreateType => unknown("CREATE TYPE"),
        Pragma => unknown("PRAGMA"),
        Lock => unknown("LOCK"),
        LockTables => unknown("LOCK TABLES"),
        UnlockTables => unknown("UNLOCK TABLES"),
        Unload => unknown("UNLOAD"),
        OptimizeTable => unknown("OPTIMIZE TABLE"),
        LISTEN => unknown("LISTEN"),
        UNLISTEN => unknown("UNLISTEN"),
        NOTIFY => unknown("NOTIFY"),
        LoadData => unknown("LOAD DATA"),
        RenameTable => unknown("RENAME TABLE"),
        List => unknown("LIST"),
        Remove => unknown("REMOVE"),
        RaisError => unknown("RAISERROR"),
        Throw => unknown("THROW"),
        Print => unknown("PRINT"),
        WaitFor => unknown("WAITFOR"),
        Return => unknown("RETURN"),
        ExportData => unknown("EXPORT DATA"),
        CreateUser => unknown("CREATE USER"),
        AlterUser => unknown("ALTER USER"),
        Vacuum => unknown("VACUUM"),
        Reset => unknown("RESET"),
    }
);

verdicts!(
    /// The verdict on an expression.
    expression, EXPRESSIONS, Expr, {
        Identifier => Verdict::Honoured,
        CompoundIdentifier => Verdict::Honoured,
        CompoundFieldAccess => Verdict::Honoured,
        JsonAccess => refused("a path into JSON", ""),
        IsFalse => Verdict::Honoured,
        IsNotFalse => Verdict::Honoured,
        IsTrue => Verdict::Honoured,
        IsNotTrue => Verdict::Honoured,
        IsNull => Verdict::Honoured,
        IsNotNull => Verdict::Honoured,
        IsUnknown => Verdict::Honoured,
        IsNotUnknown => Verdict::Honoured,
        IsDistinctFrom => Verdict::Honoured,
        IsNotDistinctFrom => Verdict::Honoured,
        IsNormalized => refused("IS NORMALIZED", ""),
        InList => Verdict::Honoured,
        InSubquery => Verdict::Honoured,
        InUnnest => refused("IN UNNEST (…)", "write x = ANY(list)"),
        Between => Verdict::Honoured,
        BinaryOp => Verdict::Honoured,
        Like => Verdict::Honoured,
        ILike => Verdict::Honoured,
        // A literal is a regular expression by now.
        SimilarTo => refused("SIMILAR TO with a pattern that is no literal", "x ~ pattern matches a regular expression"),
        RLike => refused("RLIKE and REGEXP", "x ~ 'pattern' matches a regular expression"),
        AnyOp => Verdict::Honoured,
        AllOp => Verdict::Honoured,
        UnaryOp => Verdict::Honoured,
        Convert => refused("CONVERT", "use CAST(… AS type) to convert a value"),
        Cast => Verdict::Honoured,
        AtTimeZone => Verdict::Honoured,
        Extract => Verdict::Honoured,
        Ceil => Verdict::Honoured,
        Floor => Verdict::Honoured,
        Position => Verdict::Honoured,
        Substring => Verdict::Honoured,
        Trim => Verdict::Honoured,
        Overlay => Verdict::Honoured,
        Collate => refused("COLLATE", "texts are in the order of their bytes, as with COLLATE \"C\"; ORDER BY lower(a) passes over case"),
        Nested => Verdict::Honoured,
        Value => Verdict::Honoured,
        Prefixed => refused("a text with a prefix", "X'0a' is bytes, '…' is text"),
        TypedString => Verdict::Honoured,
        Function => Verdict::Honoured,
        Case => Verdict::Honoured,
        Exists => Verdict::Honoured,
        Subquery => Verdict::Honoured,
        GroupingSets => Verdict::Honoured,
        Cube => Verdict::Honoured,
        Rollup => Verdict::Honoured,
        Tuple => Verdict::Honoured,
        Struct => Verdict::Honoured,
        Named => Verdict::Honoured,
        Dictionary => Verdict::Honoured,
        Map => Verdict::Honoured,
        Array => Verdict::Honoured,
        Interval => Verdict::Honoured,
        MatchAgainst => refused("MATCH … AGAINST", "x LIKE '%text%' or x ~ 'pattern' finds text"),
        Wildcard => Verdict::Honoured,
        QualifiedWildcard => Verdict::Honoured,
        OuterJoin => refused("(+) for an outer join", "LEFT JOIN … ON …"),
        Prior => refused("CONNECT BY", "WITH RECURSIVE asks such questions"),
        Lambda => Verdict::Honoured,
        MemberOf => refused("MEMBER OF", "write x = ANY(list)"),
    }
);

verdicts!(
    /// The verdict on the body of a query.
    body, BODIES, SetExpr, {
        Select => Verdict::Honoured,
        Query => Verdict::Honoured,
        SetOperation => Verdict::Honoured,
        Values => Verdict::Honoured,
        Insert => unknown("INSERT as a query"),
        Update => unknown("UPDATE as a query"),
        Delete => unknown("DELETE as a query"),
        Merge => unknown("MERGE as a query"),
        Table => refused("TABLE as a query", "FROM 'trace.pcap' alone gives all columns"),
    }
);

verdicts!(
    /// The verdict on a table in FROM.
    factor, FACTORS, TableFactor, {
        Table => Verdict::Honoured,
        Derived => Verdict::Honoured,
        TableFunction => refused("TABLE(…) in FROM", "write the function alone: FROM flows('trace.pcap')"),
        Function => Verdict::Honoured,
        UNNEST => Verdict::Honoured,
        JsonTable => refused("JSON_TABLE", ""),
        OpenJsonTable => refused("OPENJSON", ""),
        NestedJoin => Verdict::Honoured,
        Pivot => refused("PIVOT", "use sum(a) FILTER (WHERE b = 'x') for the column of a value"),
        Unpivot => refused("UNPIVOT", "use UNION ALL to turn columns into rows"),
        MatchRecognize => refused("MATCH_RECOGNIZE", "lag, lead and windows look at neighbouring rows"),
        XmlTable => refused("XMLTABLE", ""),
        SemanticView => refused("SEMANTIC_VIEW", ""),
    }
);

verdicts!(
    /// The verdict on a join.
    join, JOINS, JoinOperator, {
        Join => Verdict::Honoured,
        Inner => Verdict::Honoured,
        Left => Verdict::Honoured,
        LeftOuter => Verdict::Honoured,
        Right => Verdict::Honoured,
        RightOuter => Verdict::Honoured,
        FullOuter => Verdict::Honoured,
        CrossJoin => Verdict::Honoured,
        Semi => refused("SEMI JOIN", "use LEFT SEMI JOIN or RIGHT SEMI JOIN"),
        LeftSemi => Verdict::Honoured,
        RightSemi => Verdict::Honoured,
        Anti => refused("ANTI JOIN", "use LEFT ANTI JOIN or RIGHT ANTI JOIN"),
        LeftAnti => Verdict::Honoured,
        RightAnti => Verdict::Honoured,
        CrossApply => refused("CROSS APPLY", "CROSS JOIN LATERAL (SELECT …)"),
        OuterApply => refused("OUTER APPLY", "LEFT JOIN LATERAL (SELECT …) ON true"),
        AsOf => refused("ASOF JOIN", "JOIN … ON a.time BETWEEN b.time - INTERVAL '1 second' AND b.time, and QUALIFY row_number()"),
        StraightJoin => refused("STRAIGHT_JOIN", "JOIN … ON …"),
        ArrayJoin => refused("ARRAY JOIN", "CROSS JOIN UNNEST(list)"),
        LeftArrayJoin => refused("LEFT ARRAY JOIN", "CROSS JOIN UNNEST(list)"),
        InnerArrayJoin => refused("INNER ARRAY JOIN", "CROSS JOIN UNNEST(list)"),
    }
);

verdicts!(
    /// The verdict on a step after `|>`.
    operator, OPERATORS, PipeOperator, {
        Limit => Verdict::Honoured,
        Where => Verdict::Honoured,
        OrderBy => Verdict::Honoured,
        Select => Verdict::Honoured,
        Extend => Verdict::Honoured,
        Set => refused("|> SET", "|> SELECT * REPLACE (a + 1 AS a)"),
        Drop => refused("|> DROP", "|> SELECT * EXCLUDE (a)"),
        As => Verdict::Honoured,
        Aggregate => Verdict::Honoured,
        TableSample => refused("|> TABLESAMPLE", "FROM 'trace.pcap' TABLESAMPLE (10 PERCENT)"),
        Rename => refused("|> RENAME", "|> SELECT a AS b"),
        Union => Verdict::Honoured,
        Intersect => Verdict::Honoured,
        Except => Verdict::Honoured,
        Call => refused("|> CALL", ""),
        Pivot => refused("|> PIVOT", "|> AGGREGATE sum(a) FILTER (WHERE b = 'x')"),
        Unpivot => refused("|> UNPIVOT", "use UNION ALL to turn columns into rows"),
        Join => Verdict::Honoured,
    }
);
