//! Relations and functions in FROM.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Query,
    Statement, TableAlias, TableAliasColumnDef, TableFactor, VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;

use super::expression::length;
use super::names::{asks_catalog, given_names, relation_parts};
use super::tree::{number, plain_parts};
use crate::catalog::function;
use crate::catalog::table::OWN;

/// Names relations by the schemas that sessions have them in, and makes tables of functions in FROM.
#[derive(Default)]
pub(super) struct Tables {
    is_inside: bool,
    asks_catalog: bool,
    given: HashSet<String>,
}

impl VisitorMut for Tables {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if !std::mem::replace(&mut self.is_inside, true) {
            self.asks_catalog = asks_catalog(query);
            self.given = given_names(query);
        }
        match self.asks_catalog {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table {
            name, alias, args, ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let Some(arguments) = args else {
            if let Some((schema, relation)) = relation_parts(name, &self.given) {
                alias.get_or_insert_with(|| aliased(&relation));
                *name = in_session(schema, &relation);
            }
            return ControlFlow::Continue(());
        };
        let Some(function) = plain_parts(name).and_then(|mut parts| parts.pop()) else {
            return ControlFlow::Continue(());
        };
        match function.as_str() {
            "pg_get_keywords" => {
                alias.get_or_insert_with(|| aliased(&function));
                *name = in_session(OWN, &function);
                *args = None;
            }
            "generate_series" => name_column(name, alias, &function),
            "generate_subscripts" => {
                if let Some(FunctionArg::Unnamed(list)) = arguments.args.first() {
                    let upper = length(list.clone());
                    arguments.args = vec![
                        FunctionArg::Unnamed(number(1).into()),
                        FunctionArg::Unnamed(upper.into()),
                    ];
                    name_column(name, alias, "generate_series");
                }
            }
            function if function == "string_to_array" || function::is_known(function) => {
                let arguments = std::mem::take(&mut arguments.args);
                let alias = alias.take().unwrap_or_else(|| aliased(function));
                if let Some(table) = of_value(function, arguments, alias) {
                    *factor = table;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn in_session(schema: &str, relation: &str) -> ObjectName {
    ObjectName::from(vec![
        Ident::with_quote('"', schema),
        Ident::with_quote('"', relation),
    ])
}

fn aliased(name: &str) -> TableAlias {
    TableAlias {
        explicit: true,
        name: Ident::with_quote('"', name),
        columns: Vec::new(),
        at: None,
    }
}

/// The column of a function in FROM is called as its table.
fn name_column(name: &mut ObjectName, alias: &mut Option<TableAlias>, function: &str) {
    *name = ObjectName::from(vec![Ident::new(function)]);
    let alias = alias.get_or_insert_with(|| aliased(function));
    if alias.columns.is_empty() {
        alias.columns = vec![TableAliasColumnDef {
            name: alias.name.clone(),
            data_type: None,
        }];
    }
}

/// A table of one row, the value of a function.
fn of_value(
    function: &str,
    arguments: Vec<FunctionArg>,
    mut alias: TableAlias,
) -> Option<TableFactor> {
    let value = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(function)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments,
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    });
    let column = alias
        .columns
        .pop()
        .map_or(alias.name.clone(), |column| column.name);
    let sql = format!("SELECT {value} AS {column}");
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, &sql).ok()?;
    let Statement::Query(subquery) = statements.pop()? else {
        return None;
    };
    Some(TableFactor::Derived {
        lateral: false,
        subquery,
        alias: Some(alias),
        sample: None,
    })
}
