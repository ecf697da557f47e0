//! The names in a statement that mean what is of the catalog: its relations and its functions.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, ObjectName, Query, TableFactor, Visit, Visitor};
use weir_engine::walk;

use super::tree::{found_or_on, plain_parts};
use crate::catalog::function;
use crate::catalog::relation::relation;
use crate::catalog::table::{INFORMATION, OWN};
use crate::files::CATALOG;

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

pub(super) fn is_schema(name: &str) -> bool {
    ["pg_catalog", "information_schema"].contains(&name)
}

/// The schema, in a session, and the name of a relation of the catalog; `given` are the names that a statement gives to
/// queries of its own.
pub(super) fn relation_parts(
    name: &ObjectName,
    given: &HashSet<String>,
) -> Option<(&'static str, String)> {
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

/// Whether a name is that of a function of the catalog.
fn is_function(name: &ObjectName) -> bool {
    match plain_parts(name).unwrap_or_default().as_slice() {
        [name] => function::is_known(name),
        [schema, _] => is_schema(schema),
        _ => false,
    }
}

/// The names that a statement gives to queries of its own.
pub(super) fn given_names(node: &impl Visit) -> HashSet<String> {
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
