//! Decides by the tree of a statement, and never by words in its text, which part of the server runs it.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::sql::parser::{ResetStatement, Statement as DfStatement};
use datafusion::sql::sqlparser::ast::{self, Expr, Value, Visitor};
use pgwire::api::Type;
use pgwire::api::results::Tag;
use weir_engine::{Statement, walk};

use super::parameter::array_of;
use crate::error::{Failure, FailureKind};
use crate::session::Session;

/// One statement of a text, and the part of the server that runs it.
#[derive(Clone, Debug)]
pub(super) enum RoutedStatement {
    /// The engine.
    Engine(Statement),
    /// The connection itself.
    Connection(Setting),
    /// Removes the prepared statement of this name, or all; those of PREPARE are the engine's.
    Deallocate(Statement, Option<String>),
    /// Removes cursors and prepared statements.
    Discard,
    /// The statement has no effect and is answered by this tag.
    Nothing(&'static str),
}

/// The state of a connection that a statement changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Setting {
    /// Sets a setting, until the end of the transaction where it is local; without a value it is that with which the connection began.
    Set {
        name: String,
        value: Option<String>,
        is_local: bool,
    },
    /// Resets a setting, or all.
    Reset(Option<String>),
    Show(String),
    Begin,
    Commit,
    Rollback,
    /// Keeps the settings as they are now under the name of a savepoint.
    Savepoint(String),
    Release(String),
    /// Undoes what the transaction has set since a savepoint, and the transaction continues.
    RollbackTo(String),
}

/// The statements of a text, each with the part of the server that runs it.
///
/// # Errors
/// When the text is not SQL.
pub(super) fn parts(session: &Session, sql: &str) -> Result<Vec<RoutedStatement>, Failure> {
    let of_all = |statements: Vec<Statement>| {
        let parts = statements.into_iter().map(|statement| {
            let checked = check_set(&statement);
            checked.map(|()| part(session, statement))
        });
        parts.collect::<Result<Vec<RoutedStatement>, Failure>>()
    };
    match session.parse_written(sql) {
        Ok(statements) => of_all(statements),
        // The limits are those of the whole text.
        Err(failure) if failure.kind == FailureKind::Limit => Err(failure),
        // A statement among several may ask the catalog in PostgreSQL's own dialect.
        Err(failure) => {
            let (places, _) = weir_engine::statements(sql);
            let texts: Vec<&str> = places
                .into_iter()
                .filter_map(|place| sql.get(place))
                .collect();
            if texts.len() < 2 {
                return listening(sql).map(|part| vec![part]).ok_or(failure);
            }
            let mut all = Vec::new();
            for text in texts {
                match session.parse_written(text) {
                    Ok(statements) => all.extend(of_all(statements)?),
                    Err(_) => match listening(text) {
                        Some(part) => all.push(part),
                        None => return Err(failure),
                    },
                }
            }
            Ok(all)
        }
    }
}

/// Checks that a SET is of one setting, as in PostgreSQL.
fn check_set(statement: &Statement) -> Result<(), Failure> {
    let DfStatement::Statement(parsed) = statement.parsed() else {
        return Ok(());
    };
    match parsed.as_ref() {
        ast::Statement::Set(
            ast::Set::MultipleAssignments { .. } | ast::Set::ParenthesizedAssignments { .. },
        ) => {
            let failure = Failure::new(FailureKind::Syntax, "SET is of one setting");
            Err(failure.with_hint("SET a = 1; SET b = 2"))
        }
        _ => Ok(()),
    }
}

/// `LISTEN channel`, `UNLISTEN channel` and `UNLISTEN *`, which have no effect: nothing is sent to a channel.
fn listening(sql: &str) -> Option<RoutedStatement> {
    let tokens = weir_engine::tokens(sql);
    let words = tokens
        .iter()
        .filter_map(|token| sql.get(token.range.clone()));
    let words: Vec<&str> = words.filter(|word| *word != ";").collect();
    match words.as_slice() {
        [word, _] if word.eq_ignore_ascii_case("listen") => {
            Some(RoutedStatement::Nothing("LISTEN"))
        }
        [word, _] if word.eq_ignore_ascii_case("unlisten") => {
            Some(RoutedStatement::Nothing("UNLISTEN"))
        }
        _ => None,
    }
}

fn part(session: &Session, statement: Statement) -> RoutedStatement {
    use ast::Statement as S;
    let of_engine = |mut statement: Statement| {
        session.name_files(&mut statement);
        RoutedStatement::Engine(statement)
    };
    let parsed = match statement.parsed() {
        DfStatement::Statement(parsed) => parsed.as_ref(),
        DfStatement::Reset(ResetStatement::Variable(name)) => return reset(&setting_name(name)),
        _ => return of_engine(statement),
    };
    match parsed {
        S::Set(set) => match assigned(set) {
            Some((name, ..)) if name.starts_with("datafusion.") => of_engine(statement),
            Some((name, value, is_local)) => RoutedStatement::Connection(Setting::Set {
                name,
                value,
                is_local,
            }),
            None => RoutedStatement::Nothing("SET"),
        },
        S::ShowVariable { variable } => {
            let words: Vec<String> = variable
                .iter()
                .map(|word| word.value.to_ascii_lowercase())
                .collect();
            // Names in words are those of the standard, and dots join the parts of others.
            let is_of_standard = ["time zone", "transaction isolation level"];
            let name = match words.join(" ") {
                name if is_of_standard.contains(&name.as_str()) => name,
                _ => words.join("."),
            };
            // All settings together, and those of the planner, are the engine's own.
            match name == "all" || name.starts_with("datafusion.") {
                true => of_engine(statement),
                false => RoutedStatement::Connection(Setting::Show(name)),
            }
        }
        S::ShowCatalogs { .. } => RoutedStatement::Connection(Setting::Show("catalogs".to_owned())),
        S::StartTransaction { .. } => RoutedStatement::Connection(Setting::Begin),
        S::Commit { .. } => RoutedStatement::Connection(Setting::Commit),
        S::Rollback { savepoint, .. } => match savepoint {
            None => RoutedStatement::Connection(Setting::Rollback),
            Some(name) => RoutedStatement::Connection(Setting::RollbackTo(folded(name))),
        },
        S::Savepoint { name } => RoutedStatement::Connection(Setting::Savepoint(folded(name))),
        S::ReleaseSavepoint { name } => RoutedStatement::Connection(Setting::Release(folded(name))),
        S::Discard { object_type } => match object_type {
            ast::DiscardObject::ALL => RoutedStatement::Discard,
            ast::DiscardObject::PLANS => RoutedStatement::Nothing("DISCARD PLANS"),
            ast::DiscardObject::SEQUENCES => RoutedStatement::Nothing("DISCARD SEQUENCES"),
            ast::DiscardObject::TEMP => RoutedStatement::Nothing("DISCARD TEMP"),
        },
        S::Deallocate { name, .. } => {
            let name = match name.quote_style {
                Some(_) => Some(name.value.clone()),
                None => Some(name.value.to_ascii_lowercase()).filter(|name| name != "all"),
            };
            RoutedStatement::Deallocate(statement, name)
        }
        _ => of_engine(statement),
    }
}

/// A name, which is in lower case unless it is quoted.
fn folded(name: &ast::Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

/// What a RESET of this name does.
fn reset(name: &str) -> RoutedStatement {
    match name {
        "all" => RoutedStatement::Connection(Setting::Reset(None)),
        "role" | "session.authorization" => RoutedStatement::Nothing("RESET"),
        name => RoutedStatement::Connection(Setting::Reset(Some(name.to_owned()))),
    }
}

/// The name of a setting, in lower case.
fn setting_name(name: &ast::ObjectName) -> String {
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    let parts = parts.map(|part| part.value.to_ascii_lowercase());
    let name = parts.collect::<Vec<_>>().join(".");
    match name.as_str() {
        "datafusion.execution.time_zone" | "time.zone" => "timezone".to_owned(),
        _ => name,
    }
}

/// The setting that a SET is about, its value, `None` for that with which the connection began, and whether it is that of the
/// transaction.
fn assigned(set: &ast::Set) -> Option<(String, Option<String>, bool)> {
    let is_word = |value: &Expr, word: &str| match value {
        Expr::Identifier(ident) => {
            ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case(word)
        }
        _ => false,
    };
    match set {
        ast::Set::SingleAssignment {
            scope,
            variable,
            values,
            ..
        } => {
            let name = setting_name(variable);
            let is_first = values.iter().any(|value| {
                is_word(value, "default") || (name == "timezone" && is_word(value, "local"))
            });
            let value = (!is_first).then(|| written(&name, values));
            Some((name, value, *scope == Some(ast::ContextModifier::Local)))
        }
        ast::Set::SetTimeZone { local, value } => {
            let name = "timezone".to_owned();
            let is_first = is_word(value, "default") || is_word(value, "local");
            let zone = (!is_first).then(|| written(&name, std::slice::from_ref(value)));
            Some((name, zone, *local))
        }
        ast::Set::SetNames { charset_name, .. } => {
            let encoding = Some(charset_name.value.clone());
            Some(("client_encoding".to_owned(), encoding, false))
        }
        ast::Set::SetNamesDefault {} => Some(("client_encoding".to_owned(), None, false)),
        _ => None,
    }
}

/// The values of a SET as text.
fn written(name: &str, values: &[Expr]) -> String {
    fn text(value: &Expr) -> String {
        match value {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => text.clone(),
                other => other.to_string(),
            },
            Expr::Identifier(ident) => ident.value.clone(),
            Expr::Interval(interval) => text(&interval.value),
            other => other.to_string(),
        }
    }
    // Names of a path are shown as they are written in SQL.
    let is_path = name == "search_path";
    let is_plain = |text: &str| {
        let is_letter = |c: char| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit();
        !text.is_empty() && text.chars().all(is_letter)
    };
    let texts = values.iter().map(text).map(|text| match is_path {
        true if !is_plain(&text) => weir_engine::quote_ident(&text),
        _ => text,
    });
    texts.collect::<Vec<_>>().join(", ")
}

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
                && let Value::Placeholder(name) = &value.value
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

/// The parameters that a statement takes lists in without saying of what, as `= ANY($1)` does.
pub(super) fn list_parameters(statement: &Statement) -> HashSet<usize> {
    struct Lists(HashSet<usize>);
    impl Visitor for Lists {
        type Break = ();
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr
                && let Expr::Value(value) = right.as_ref()
                && let Value::Placeholder(name) = &value.value
                && let Some(number) = name.strip_prefix('$').and_then(|name| name.parse().ok())
            {
                self.0.insert(number);
            }
            ControlFlow::Continue(())
        }
    }
    let mut lists = Lists(HashSet::new());
    if let DfStatement::Statement(statement) = statement.parsed() {
        let _ = walk(statement, &mut lists);
    }
    lists.0
}

/// The parameters that say how many rows there are, in LIMIT, OFFSET and FETCH.
pub(super) fn count_parameters(statement: &Statement) -> HashSet<usize> {
    struct Counts(HashSet<usize>);
    impl Visitor for Counts {
        type Break = ();
        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            let (limit, offset) = match &query.limit_clause {
                Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
                    (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
                }
                Some(ast::LimitClause::OffsetCommaLimit { offset, limit }) => {
                    (Some(limit), Some(offset))
                }
                None => (None, None),
            };
            let fetch = query.fetch.as_ref();
            let fetch = fetch.and_then(|fetch| fetch.quantity.as_ref());
            for expr in [limit, offset, fetch].into_iter().flatten() {
                if let Expr::Value(value) = expr
                    && let Value::Placeholder(name) = &value.value
                    && let Some(number) = name.strip_prefix('$').and_then(|name| name.parse().ok())
                {
                    self.0.insert(number);
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut counts = Counts(HashSet::new());
    if let DfStatement::Statement(statement) = statement.parsed() {
        let _ = walk(statement, &mut counts);
    }
    counts.0
}

/// A type by its name.
fn named_type(name: &str) -> Option<Type> {
    let name = name.to_ascii_lowercase();
    let name = name.strip_prefix("pg_catalog.").unwrap_or(&name);
    if let Some(element) = name.strip_suffix("[]") {
        return match element {
            "text" | "name" | "varchar" | "character varying" | "inet" | "uuid" => {
                Some(Type::TEXT_ARRAY)
            }
            element => named_type(element).as_ref().and_then(array_of),
        };
    }
    Some(match name {
        "oid" => Type::OID,
        "regclass" | "regtype" | "regnamespace" | "regrole" | "regproc" => Type::TEXT,
        "bigint" | "int8" | "integer" | "int" | "int4" | "smallint" | "int2" => Type::INT8,
        "double" | "double precision" | "float8" | "real" | "float" => Type::FLOAT8,
        "boolean" | "bool" => Type::BOOL,
        "bytea" => Type::BYTEA,
        "date" => Type::DATE,
        "time" | "time without time zone" => Type::TIME,
        "interval" => Type::INTERVAL,
        "timestamp" | "timestamptz" | "timestamp with time zone" => Type::TIMESTAMPTZ,
        name if name.starts_with("numeric") || name.starts_with("decimal") => Type::NUMERIC,
        _ => return None,
    })
}

/// The tag of a statement that answers with the number of rows that it has written, which is part of its tag here.
pub(super) fn counted(statement: &Statement) -> Option<Tag> {
    match statement.parsed() {
        DfStatement::CopyTo(_) => Some(Tag::new("COPY")),
        // The number in front is the OID of rows, which PostgreSQL has removed.
        DfStatement::Statement(statement) => match statement.as_ref() {
            ast::Statement::Insert(_) => Some(Tag::new("INSERT").with_oid(0)),
            _ => None,
        },
        _ => None,
    }
}

/// True for `COPY table FROM …`.
pub(super) fn copies_in(sql: &str) -> bool {
    let first = sql.trim_start().get(..4);
    if !first.is_some_and(|first| first.eq_ignore_ascii_case("copy")) {
        return false;
    }
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
    // The last occurrence counts: a query may have the words in a string.
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
    fn casts_tell_the_types_of_parameters() {
        let engine = weir_engine::Engine::new(&weir_engine::Options::default()).unwrap();
        let statement = engine
            .parse("SELECT $1::bigint + 1, CAST($2 AS double), $3, $4::float8[], $5::text[], $6::int[][], $7::interval, CAST($8 AS DATE)")
            .unwrap()
            .remove(0);
        let casts = cast_parameters(&statement);
        assert_eq!(
            (casts.get(&4), casts.get(&5), casts.get(&6)),
            (Some(&Type::FLOAT8_ARRAY), Some(&Type::TEXT_ARRAY), None)
        );
        assert_eq!(
            (casts.get(&1), casts.get(&2), casts.get(&3)),
            (Some(&Type::INT8), Some(&Type::FLOAT8), None)
        );
        assert_eq!(
            (casts.get(&7), casts.get(&8)),
            (Some(&Type::INTERVAL), Some(&Type::DATE))
        );
    }

    #[test]
    fn parameters_of_any_are_lists() {
        let engine = weir_engine::Engine::new(&weir_engine::Options::default()).unwrap();
        let sql = "SELECT 1 = ANY($1), 1 <> ALL($3), 1 IN ($2), 1 = ANY($4::bigint[])";
        let statement = engine.parse(sql).unwrap().remove(0);
        assert_eq!(list_parameters(&statement), HashSet::from([1, 3]));
    }

    /// They were described as texts, for which asyncpg takes no number.
    #[test]
    fn parameters_of_limit_are_numbers() {
        let engine = weir_engine::Engine::new(&weir_engine::Options::default()).unwrap();
        let sql = "SELECT $1, a FROM (SELECT 1 AS a LIMIT $2 OFFSET $3) t ORDER BY a LIMIT $4";
        let statement = engine.parse(sql).unwrap().remove(0);
        assert_eq!(count_parameters(&statement), HashSet::from([2, 3, 4]));
    }

    #[test]
    fn channels_are_listened_to_without_an_effect() {
        for (sql, tag) in [
            ("UNLISTEN *", Some("UNLISTEN")),
            ("unlisten a;", Some("UNLISTEN")),
            ("LISTEN \"a b\"", Some("LISTEN")),
            ("NOTIFY a", None),
            ("LISTEN a b", None),
            ("", None),
        ] {
            let found = listening(sql);
            let found = found.as_ref().and_then(|part| match part {
                RoutedStatement::Nothing(tag) => Some(*tag),
                _ => None,
            });
            assert_eq!(found, tag, "{sql}");
        }
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
