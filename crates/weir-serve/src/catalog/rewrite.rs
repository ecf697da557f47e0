//! The passes that turn statements as PostgreSQL's clients write them into what sessions plan, all on the parsed tree.
//!
//! The rewritten parts are PostgreSQL's own: its schemas, types and operators, which no other statement names. Passes
//! that would change other statements (how columns are called, what `/` is) look first whether the catalog is asked.

mod any;
mod empty;
mod expression;
mod names;
mod subquery;
mod table;
mod title;
mod tree;
mod type_tree;

use datafusion::sql::sqlparser::ast::VisitorMut;

pub(crate) use names::{asks_catalog, is_relation};

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

#[cfg(test)]
mod tests;
