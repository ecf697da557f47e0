//! Calls of `set_config`, which set settings of the connection as SET does.

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement as DfStatement};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, Visitor,
};
use weir_engine::{Condition, Statement, walk};

use crate::error::{Failure, FailureKind};

/// A call of `set_config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Configured {
    pub(super) name: String,
    /// The value; `None` for that with which the connection began.
    pub(super) value: Option<String>,
    pub(super) is_local: bool,
}

/// The calls of `set_config` in a statement, whose parameters have their values.
///
/// # Errors
/// When an argument of one is not a constant: its value is known where the statement runs only.
pub(super) fn configured(statement: &Statement) -> Result<Vec<Configured>, Failure> {
    let mut calls = Calls::default();
    calls.add(statement.parsed());
    match calls.has_others {
        false => Ok(calls.constant),
        true => {
            let message = "not supported: set_config with arguments that are no constants";
            let failure = Failure::new(FailureKind::Plan, message);
            Err(failure.with_condition(Condition::NotSupported))
        }
    }
}

/// Checks that a statement that does not give its own rows to the client has no call of `set_config`: it would set nothing, or later.
///
/// # Errors
/// When it has one.
pub(super) fn check_has_none(statement: &Statement) -> Result<(), Failure> {
    if configured(statement)?.is_empty() {
        return Ok(());
    }
    let message = "not supported: set_config in another statement than a query";
    let failure = Failure::new(FailureKind::Plan, message);
    let failure = failure.with_hint("SELECT set_config('name', 'value', false)");
    Err(failure.with_condition(Condition::NotSupported))
}

#[derive(Default)]
struct Calls {
    constant: Vec<Configured>,
    has_others: bool,
}

impl Calls {
    /// Adds the calls of a statement that is run. EXPLAIN runs one with ANALYZE only.
    fn add(&mut self, parsed: &DfStatement) {
        match parsed {
            DfStatement::Statement(parsed) => {
                let _ = walk(parsed, self);
            }
            DfStatement::Explain(explain) if explain.options.analyze => {
                self.add(&explain.statement);
            }
            DfStatement::CopyTo(copy) => {
                if let CopyToSource::Query(query) = &copy.source {
                    let _ = walk(query, self);
                }
            }
            _ => {}
        }
    }
}

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && is_set_config(function)
        {
            match call(function) {
                Some(call) => self.constant.push(call),
                None => self.has_others = true,
            }
        }
        ControlFlow::Continue(())
    }
}

fn is_set_config(function: &Function) -> bool {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    last.is_some_and(|name| name.value.eq_ignore_ascii_case("set_config"))
}

/// The call, where its arguments are constants.
fn call(function: &Function) -> Option<Configured> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let values = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => constant(expr),
        _ => None,
    });
    let values: Option<Vec<Option<String>>> = values.collect();
    let [name, value, is_local] = <[_; 3]>::try_from(values?).ok()?;
    let is_local = is_local?.to_ascii_lowercase();
    Some(Configured {
        name: name?.to_ascii_lowercase(),
        value,
        is_local: matches!(is_local.as_str(), "true" | "t" | "on" | "yes" | "1"),
    })
}

/// The text of a constant, of which NULL has none.
fn constant(expr: &Expr) -> Option<Option<String>> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Null => Some(None),
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                Some(Some(text.clone()))
            }
            Value::Boolean(_) | Value::Number(..) => Some(Some(value.value.to_string())),
            _ => None,
        },
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => constant(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_set_config_are_found() {
        let found = |sql: &str| {
            let mut statements = Statement::parse(sql).unwrap();
            configured(&statements.remove(0)).map_err(|failure| failure.message)
        };
        let set = |name: &str, value: Option<&str>, is_local: bool| Configured {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            is_local,
        };
        let sql =
            "SELECT set_config('A.b', 'x', false), pg_catalog.set_config('c'::text, NULL, (true))";
        let expected = vec![set("a.b", Some("x"), false), set("c", None, true)];
        assert_eq!(found(sql), Ok(expected));
        assert_eq!(found("SELECT 1"), Ok(Vec::new()));
        let again = vec![set("c", None, true)];
        let analyzed = "EXPLAIN ANALYZE SELECT set_config('c', NULL, true)";
        assert_eq!(found(analyzed), Ok(again));
        assert_eq!(
            found("EXPLAIN SELECT set_config('c', NULL, true)"),
            Ok(Vec::new())
        );
        for sql in [
            "SELECT set_config(a, 'x', false) FROM 'x.csv'",
            "SELECT set_config('a', upper('x'), false)",
            "SELECT set_config('a')",
        ] {
            assert!(found(sql).is_err(), "{sql}");
        }
    }

    /// They set nothing, and gave the value back.
    #[test]
    fn calls_in_other_statements_than_queries_are_refused() {
        let refused = |sql: &str| {
            let mut statements = Statement::parse(sql).unwrap();
            check_has_none(&statements.remove(0)).is_err()
        };
        for sql in [
            "PREPARE p AS SELECT set_config('c', 'x', true)",
            "CREATE VIEW v AS SELECT set_config('c', 'x', true) AS a",
            "CREATE TABLE t AS SELECT set_config('c', 'x', true) AS a",
            "COPY (SELECT set_config('c', 'x', true) AS a) TO 'a.csv'",
        ] {
            assert!(refused(sql), "{sql}");
        }
        assert!(!refused("PREPARE p AS SELECT current_setting('c')"));
    }
}
