//! The parts of a statement's tree that the passes read and make.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, Value,
};

/// The parts of a name in lower case, unless it is a file's in single quotes.
pub(super) fn plain_parts(name: &ObjectName) -> Option<Vec<String>> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) if ident.quote_style != Some('\'') => {
            Some(ident.value.to_ascii_lowercase())
        }
        _ => None,
    };
    name.0.iter().map(part).collect()
}

/// The name of an identifier: in lower case, or as it is quoted.
pub(super) fn ident_name(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

/// A call of a function of values.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let arguments = arguments
        .into_iter()
        .map(|argument| FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// The name of a function that is called, in lower case.
pub(super) fn called(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Function(function) => plain_parts(&function.name)?.pop(),
        _ => None,
    }
}

/// The one argument of a call.
pub(super) fn argument(expr: &Expr) -> Option<&Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(expr))] => Some(expr),
        _ => None,
    }
}

pub(super) fn number(value: i64) -> Expr {
    Expr::Value(Value::Number(value.to_string(), false).into())
}

pub(super) fn text(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_owned()).into())
}

pub(super) fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

pub(super) fn flag(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

/// The text that an expression is.
pub(super) fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            _ => None,
        },
        Expr::Nested(inner) => text_of(inner),
        _ => None,
    }
}

/// Ends a visit where something is found.
pub(super) fn found_or_on(found: bool) -> ControlFlow<()> {
    match found {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}
