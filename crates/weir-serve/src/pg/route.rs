//! Which statements are for the catalog, and which for weir?

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as DfStatement;
use datafusion::sql::sqlparser::ast::{self, Expr, Visitor};
use pgwire::api::Type;
use pgwire::api::results::Tag;
use weir_engine::{Statement, walk};

/// Who answers a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The engine.
    Engine,
    /// datafusion-postgres: its catalog, SHOW, and what it knows of SET and transactions.
    Catalog,
    /// Nobody has to do anything: the tag that answers it.
    Nothing(&'static str),
    /// The time zone is for both.
    TimeZone,
}

/// True when the words of a text, outside of quotes and comments, are of PostgreSQL's catalog.
pub(super) fn is_of_catalog(sql: &str) -> bool {
    let mut rest = sql;
    let mut word = String::new();
    let is_catalog = |word: &str| {
        let word = word.to_ascii_lowercase();
        word.starts_with("pg_") || word == "information_schema"
    };
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '\'' => rest
                .get(1..)
                .and_then(|text| text.find('\''))
                .map(|end| end + 2),
            '-' if rest.starts_with("--") => rest.find('\n'),
            '/' if rest.starts_with("/*") => rest.find("*/").map(|end| end + 2),
            _ => Some(0),
        };
        let Some(skipped) = skipped else {
            break;
        };
        if skipped == 0 && (first.is_alphanumeric() || first == '_') {
            word.push(first);
        } else if is_catalog(&word) {
            return true;
        } else {
            word.clear();
        }
        rest = rest
            .get(skipped.max(first.len_utf8())..)
            .unwrap_or_default();
    }
    is_catalog(&word)
}

/// Who answers a statement that the engine's parser understood.
pub(super) fn route(statement: &Statement) -> Route {
    use ast::Statement as S;
    let statement = match statement.parsed() {
        DfStatement::Statement(statement) => statement.as_ref(),
        DfStatement::Reset(_) => return Route::Nothing("RESET"),
        _ => return Route::Engine,
    };
    match statement {
        S::Set(ast::Set::SingleAssignment { variable, .. }) => {
            let name = variable.to_string().to_ascii_lowercase();
            match name.as_str() {
                "timezone" | "datafusion.execution.time_zone" => Route::TimeZone,
                name if name.starts_with("datafusion.") => Route::Engine,
                "statement_timeout" | "datestyle" | "bytea_output" | "intervalstyle"
                | "application_name" | "extra_float_digits" | "search_path" => Route::Catalog,
                // The library would try it on its own session, which all connections share.
                _ => Route::Nothing("SET"),
            }
        }
        S::Set(_) => Route::Nothing("SET"),
        // All settings are the engine's own.
        S::ShowVariable { variable }
            if variable
                .iter()
                .all(|word| word.value.eq_ignore_ascii_case("all")) =>
        {
            Route::Engine
        }
        S::ShowVariable { .. } | S::ShowStatus { .. } | S::ShowCatalogs { .. } => Route::Catalog,
        S::StartTransaction { .. } | S::Commit { .. } | S::Rollback { .. } => Route::Catalog,
        S::Savepoint { .. } => Route::Nothing("SAVEPOINT"),
        S::ReleaseSavepoint { .. } => Route::Nothing("RELEASE"),
        S::Discard { .. } => Route::Nothing("DISCARD ALL"),
        S::LISTEN { .. } => Route::Nothing("LISTEN"),
        S::UNLISTEN { .. } => Route::Nothing("UNLISTEN"),
        S::Query(_) => {
            let mut asks = Asks(false);
            let _ = walk(statement, &mut asks);
            match asks.0 {
                true => Route::Catalog,
                false => Route::Engine,
            }
        }
        _ => Route::Engine,
    }
}

/// Looks for functions that PostgreSQL has for who connects.
struct Asks(bool);

impl Visitor for Asks {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr {
            let name = function.name.to_string().to_ascii_lowercase();
            if OF_CATALOG.contains(&name.as_str()) {
                self.0 = true;
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}

/// Functions of PostgreSQL that tell of the connection and of the catalog.
const OF_CATALOG: &[&str] = &[
    "version",
    "current_schema",
    "current_schemas",
    "current_database",
    "current_catalog",
    "current_user",
    "session_user",
    "user",
    "current_setting",
    "set_config",
    "format_type",
    "obj_description",
    "col_description",
    "shobj_description",
    "has_table_privilege",
    "has_schema_privilege",
    "has_database_privilege",
    "has_any_column_privilege",
    "quote_ident",
    "to_regclass",
    "to_regtype",
    "inet_server_addr",
    "txid_current",
];

/// The types that a statement gives its parameters itself, as `$1::bigint` does.
pub(super) fn cast_parameters(statement: &Statement) -> HashMap<usize, Type> {
    struct Casts(HashMap<usize, Type>);
    impl Visitor for Casts {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Cast {
                expr, data_type, ..
            } = expr
                && let Expr::Value(value) = expr.as_ref()
                && let ast::Value::Placeholder(name) = &value.value
                && let Some(number) = name.strip_prefix('$').and_then(|name| name.parse().ok())
                && let Some(kind) = named_type(&data_type.to_string())
            {
                self.0.insert(number, kind);
            }
            ControlFlow::Continue(())
        }
    }
    let mut casts = Casts(HashMap::new());
    if let DfStatement::Statement(statement) = statement.parsed() {
        let _ = walk(statement, &mut casts);
    }
    casts.0
}

/// A type by its name.
fn named_type(name: &str) -> Option<Type> {
    Some(match name.to_ascii_lowercase().as_str() {
        "bigint" | "int8" | "integer" | "int" | "int4" | "smallint" | "int2" => Type::INT8,
        "double" | "double precision" | "float8" | "real" | "float" => Type::FLOAT8,
        "boolean" | "bool" => Type::BOOL,
        "bytea" => Type::BYTEA,
        "timestamp" | "timestamptz" | "timestamp with time zone" => Type::TIMESTAMPTZ,
        name if name.starts_with("numeric") || name.starts_with("decimal") => Type::NUMERIC,
        _ => return None,
    })
}

/// The tag of a statement that answers with the number of rows that it has written, which is part of its tag here.
pub(super) fn counted(statement: &Statement) -> Option<Tag> {
    match statement.parsed() {
        DfStatement::CopyTo(_) => Some(Tag::new("COPY")),
        // The number in front is of rows with numbers of their own, which nothing has any more.
        DfStatement::Statement(statement) => match statement.as_ref() {
            ast::Statement::Insert(_) => Some(Tag::new("INSERT").with_oid(0)),
            _ => None,
        },
        _ => None,
    }
}

/// True for `COPY table FROM …`.
pub(super) fn copies_in(sql: &str) -> bool {
    let words = weir_engine::tokens(sql);
    let mut words = words.iter().filter_map(|word| sql.get(word.range.clone()));
    if !words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case("copy"))
    {
        return false;
    }
    let mut depth = 0_usize;
    for word in words {
        match word {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ if depth > 0 => {}
            word if word.eq_ignore_ascii_case("from") => return true,
            word if word.eq_ignore_ascii_case("to") => return false,
            _ => {}
        }
    }
    false
}

/// A text in front of `TO STDOUT` of a COPY, and how it is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CopyOut {
    /// The query whose rows are wanted.
    pub(super) query: String,
    pub(super) format: CopyFormat,
    pub(super) header: bool,
    pub(super) delimiter: u8,
    pub(super) null: Option<String>,
}

/// The formats of COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyFormat {
    Text,
    Csv,
    Binary,
}

/// The `COPY … TO STDOUT` that a text is.
///
/// # Errors
/// When it is one, with an option that is not known.
pub(super) fn copy_out(sql: &str) -> Result<Option<CopyOut>, String> {
    let sql = sql.trim().trim_end_matches(';').trim_end();
    let Some((first, rest)) = sql.split_once(|c: char| c.is_whitespace() || c == '(') else {
        return Ok(None);
    };
    if !first.eq_ignore_ascii_case("copy") {
        return Ok(None);
    }
    let rest = sql.get(sql.len() - rest.len() - 1..).unwrap_or_default();
    let lower = rest.to_ascii_lowercase();
    // What stands last is meant: a query may have the words in a text.
    let Some(place) = lower
        .rmatch_indices("stdout")
        .map(|(place, _)| place)
        .find(|place| {
            let before = lower.get(..*place).unwrap_or_default().trim_end();
            before.ends_with("to")
        })
    else {
        return Ok(None);
    };
    let before = rest.get(..place).unwrap_or_default().trim_end();
    let source = before.get(..before.len() - 2).unwrap_or_default().trim();
    let query = match source
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
    {
        Some(inner) => inner.to_owned(),
        None => format!("SELECT * FROM {source}"),
    };
    let mut copy = CopyOut {
        query,
        format: CopyFormat::Text,
        header: false,
        delimiter: b'\t',
        null: None,
    };
    let options = rest
        .get(place + "stdout".len()..)
        .unwrap_or_default()
        .trim();
    let options = options
        .strip_prefix("WITH")
        .or_else(|| options.strip_prefix("with"))
        .unwrap_or(options);
    let options = options.trim();
    let options = options
        .strip_prefix('(')
        .and_then(|inner| inner.strip_suffix(')'))
        .unwrap_or(options);
    let mut delimiter = None;
    for option in options
        .split(',')
        .map(str::trim)
        .filter(|option| !option.is_empty())
    {
        let mut words = option.splitn(2, char::is_whitespace);
        let name = words.next().unwrap_or_default().to_ascii_lowercase();
        let value = words.next().unwrap_or_default().trim();
        let bare = value.trim_matches('\'');
        match (name.as_str(), bare.to_ascii_lowercase().as_str()) {
            ("format", "text") => copy.format = CopyFormat::Text,
            ("format", "csv") | ("csv", "") => copy.format = CopyFormat::Csv,
            ("csv", "header") => (copy.format, copy.header) = (CopyFormat::Csv, true),
            ("format", "binary") | ("binary", "") => copy.format = CopyFormat::Binary,
            ("header", "" | "true" | "on" | "1") => copy.header = true,
            ("header", "false" | "off" | "0") => copy.header = false,
            ("encoding", _) => {}
            ("null", _) => copy.null = Some(bare.to_owned()),
            ("delimiter", _) if bare.len() == 1 => delimiter = bare.bytes().next(),
            _ => return Err(format!("COPY has no option {option} here")),
        }
    }
    copy.delimiter = delimiter.unwrap_or(match copy.format {
        CopyFormat::Csv => b',',
        _ => b'\t',
    });
    Ok(Some(copy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_catalog_are_known_by_their_words() {
        for sql in [
            "SELECT * FROM pg_catalog.pg_class",
            "select c.oid from PG_CLASS c",
            "SELECT table_name FROM information_schema.tables",
            "SELECT pg_backend_pid()",
        ] {
            assert!(is_of_catalog(sql), "{sql}");
        }
        for sql in [
            "SELECT count(*) FROM 'pg_catalog.pcap'",
            "SELECT 1 -- pg_class",
            "SELECT /* pg_class */ 1",
            "SELECT 'it''s pg_class' FROM x",
            "SELECT é.pcap",
            "SELECT 'open pg_",
        ] {
            assert!(!is_of_catalog(sql), "{sql}");
        }
    }

    #[test]
    fn casts_tell_the_types_of_parameters() {
        let engine = weir_engine::Engine::new(&weir_engine::Options::default()).unwrap();
        let statement = engine
            .parse("SELECT $1::bigint + 1, CAST($2 AS double), $3")
            .unwrap()
            .remove(0);
        let casts = cast_parameters(&statement);
        assert_eq!(
            (casts.get(&1), casts.get(&2), casts.get(&3)),
            (Some(&Type::INT8), Some(&Type::FLOAT8), None)
        );
    }

    #[test]
    fn copies_to_the_client_are_understood() {
        let copy = copy_out(
            "COPY (SELECT 'a TO STDOUT', 1 FROM 'x.pcap') TO STDOUT (FORMAT csv, HEADER);",
        );
        let copy = copy.unwrap().unwrap();
        assert_eq!(copy.query, "SELECT 'a TO STDOUT', 1 FROM 'x.pcap'");
        assert_eq!(
            (copy.format, copy.header, copy.delimiter),
            (CopyFormat::Csv, true, b',')
        );
        let copy = copy_out("copy \"x.pcap\" to stdout binary")
            .unwrap()
            .unwrap();
        assert_eq!(
            (copy.query.as_str(), copy.format),
            ("SELECT * FROM \"x.pcap\"", CopyFormat::Binary)
        );
        assert_eq!(copy_out("COPY (SELECT 1) TO 'x.csv'"), Ok(None));
        assert_eq!(copy_out("SELECT 'COPY x TO STDOUT'"), Ok(None));
        assert!(copy_out("COPY x TO STDOUT (FREEZE)").is_err());
        for sql in [
            "COPY t FROM STDIN",
            "copy t (a, b) from stdin",
            "COPY t FROM 'x.csv'",
        ] {
            assert!(copies_in(sql), "{sql}");
        }
        for sql in [
            "COPY (SELECT 1 FROM 'x.pcap') TO STDOUT",
            "COPY t TO 'from.csv'",
            "SELECT 1 FROM t",
        ] {
            assert!(!copies_in(sql), "{sql}");
        }
    }
}
