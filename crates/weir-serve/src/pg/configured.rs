//! Calls of `set_config`, which set settings of the connection as SET does.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement as DfStatement;
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
    if let DfStatement::Statement(parsed) = statement.parsed() {
        let _ = walk(parsed, &mut calls);
    }
    match calls.has_others {
        false => Ok(calls.constant),
        true => {
            let message = "not supported: set_config with arguments that are no constants";
            let failure = Failure::new(FailureKind::Plan, message);
            Err(failure.with_condition(Condition::NotSupported))
        }
    }
}

#[derive(Default)]
struct Calls {
    constant: Vec<Configured>,
    has_others: bool,
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
            Value::SingleQuotedString(text) => Some(Some(text.clone())),
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
        for sql in [
            "SELECT set_config(a, 'x', false) FROM 'x.csv'",
            "SELECT set_config('a', upper('x'), false)",
            "SELECT set_config('a')",
        ] {
            assert!(found(sql).is_err(), "{sql}");
        }
    }
}
