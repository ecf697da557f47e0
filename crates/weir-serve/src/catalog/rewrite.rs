//! The passes that turn statements as PostgreSQL's clients write them into what sessions plan, all on the parsed tree.
//!
//! The rewritten parts are PostgreSQL's own: its schemas, types and operators, which no other statement names. Passes
//! that would change other statements (how columns are called, what `/` is) look first whether the catalog is asked.

mod any;
mod empty;
mod expression;
mod subquery;
mod table;
mod title;
mod type_tree;

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, ObjectNamePart, Query, TableFactor, Value, Visit, Visitor, VisitorMut,
};
use weir_engine::walk;

use super::function;
use super::relation::relation;
use super::table::{INFORMATION, OWN};
use crate::files::CATALOG;

/// The passes, in their order.
pub(super) fn passes() -> Vec<Box<dyn VisitorMut<Break = ()>>> {
    vec![
        Box::new(title::Titles::default()),
        Box::new(type_tree::TypeTree),
        Box::new(empty::Empty::default()),
        Box::new(table::Tables::default()),
        Box::new(expression::Expressions::default()),
        Box::new(any::Lists),
        Box::new(subquery::Subqueries),
    ]
}

/// Whether a statement names what is of the catalog: a relation, a function or a type.
pub(crate) fn asks_catalog(node: &impl Visit) -> bool {
    struct Asks {
        given: HashSet<String>,
    }
    impl Visitor for Asks {
        type Break = ();

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
            let found = match factor {
                TableFactor::Table {
                    name, args: None, ..
                } => relation_parts(name, &self.given).is_some(),
                TableFactor::Table { name, .. } | TableFactor::Function { name, .. } => {
                    is_function(name)
                }
                _ => false,
            };
            found_or_on(found)
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            found_or_on(match expr {
                Expr::Function(function) => is_function(&function.name),
                Expr::Cast { data_type, .. } => {
                    let name = data_type.to_string().to_ascii_lowercase();
                    name.starts_with("reg") || name.starts_with("pg_catalog.")
                }
                _ => false,
            })
        }
    }
    let mut asks = Asks {
        given: given_names(node),
    };
    walk(node, &mut asks).is_break()
}

fn found_or_on(found: bool) -> ControlFlow<()> {
    match found {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    }
}

/// Whether the parts of a name in FROM mean what is of the catalog.
pub(crate) fn is_relation(parts: &[String]) -> bool {
    let lower: Vec<String> = parts.iter().map(|part| part.to_ascii_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    match lower.as_slice() {
        [name] => relation(None, name).is_some_and(|relation| relation.kind != "f"),
        [schema, _] => is_schema(schema),
        [catalog, schema, _] => *catalog == CATALOG && is_schema(schema),
        _ => false,
    }
}

fn is_schema(name: &str) -> bool {
    ["pg_catalog", "information_schema"].contains(&name)
}

/// The schema, in a session, and the name of a relation of the catalog; `given` are the names that a statement gives to
/// queries of its own.
fn relation_parts(name: &ObjectName, given: &HashSet<String>) -> Option<(&'static str, String)> {
    let parts = plain_parts(name)?;
    if !is_relation(&parts) {
        return None;
    }
    let (name, schemas) = parts.split_last()?;
    match schemas.last().map(String::as_str) {
        None if given.contains(name) => None,
        None | Some("pg_catalog") => Some((OWN, name.clone())),
        // DataFusion's own has relations that ours has not: its settings.
        Some(_) => relation(Some("information_schema"), name).map(|_| (INFORMATION, name.clone())),
    }
}

/// The parts of a name in lower case, unless it is a file's in single quotes.
fn plain_parts(name: &ObjectName) -> Option<Vec<String>> {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) if ident.quote_style != Some('\'') => {
            Some(ident.value.to_ascii_lowercase())
        }
        _ => None,
    };
    name.0.iter().map(part).collect()
}

/// Whether a name is that of a function of the catalog.
fn is_function(name: &ObjectName) -> bool {
    match plain_parts(name).unwrap_or_default().as_slice() {
        [name] => function::is_known(name),
        [schema, _] => is_schema(schema),
        _ => false,
    }
}

/// The names that a statement gives to queries of its own.
fn given_names(node: &impl Visit) -> HashSet<String> {
    struct Given(HashSet<String>);
    impl Visitor for Given {
        type Break = ();
        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
                self.0.insert(cte.alias.name.value.to_ascii_lowercase());
            }
            ControlFlow::Continue(())
        }
    }
    let mut given = Given(HashSet::new());
    let _ = walk(node, &mut given);
    given.0
}

/// The parts of a name as PostgreSQL reads it: in lower case where they are not quoted; `None` for what is no name.
pub(super) fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let mut part = String::new();
                let mut quoted = quoted;
                loop {
                    let (before, behind) = quoted.split_once('"')?;
                    part.push_str(before);
                    match behind.strip_prefix('"') {
                        Some(more) => {
                            part.push('"');
                            quoted = more;
                        }
                        None => break (part, behind),
                    }
                }
            }
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                let (part, behind) = rest.split_at_checked(end)?;
                (part.trim_end().to_lowercase(), behind)
            }
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        let behind = behind.trim_start();
        match behind.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if behind.is_empty() => return Some(parts),
            None => return None,
        }
    }
}

/// A call of a function of values.
fn call(name: &str, arguments: Vec<Expr>) -> Expr {
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
fn called(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Function(function) => plain_parts(&function.name)?.pop(),
        _ => None,
    }
}

/// The one argument of a call.
fn argument(expr: &Expr) -> Option<&Expr> {
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

fn number(value: i64) -> Expr {
    Expr::Value(Value::Number(value.to_string(), false).into())
}

fn text(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_owned()).into())
}

fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

fn flag(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

/// The text that an expression is.
fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => Some(text),
            _ => None,
        },
        Expr::Nested(inner) => text_of(inner),
        _ => None,
    }
}

/// The name of an identifier: in lower case, or as it is quoted.
fn ident_name(ident: &Ident) -> String {
    match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests;
