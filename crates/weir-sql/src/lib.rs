//! Parses and checks the text of SQL statements, before they are planned.
//!
//! ```
//! use weir_sql::Statement;
//!
//! let statements = Statement::parse("FROM 'trace.pcap' LIMIT 3; SELECT 1")?;
//! assert!(statements.iter().all(Statement::is_query));
//! assert_eq!(statements[0].table_factors().len(), 1);
//! # Ok::<(), weir_sql::Error>(())
//! ```
//!
//! A [`Statement`] is a tree of sqlparser's, of a text that is no longer and no deeper than statements may be (`gate`), in
//! a dialect that accepts what PostgreSQL and DuckDB accept (`dialect`). What it cannot mean is refused with one sentence
//! ([`grammar`]), and what it can mean is put into the words that DataFusion plans: names ([`names`], [`meaning`]), prepared
//! statements ([`prepared`]), streams ([`follow`]), comparisons with lists
//! ([`quantified`]), bytes that are written as text ([`bytea`]), zones ([`zones`]), the clause of samples ([`table_sample`]).
//!
//! This crate deliberately has no list of tables, plans no statements and reads no file: it performs no IO.

mod between;
pub mod bytea;
mod copy_options;
mod correlation;
mod dialect;
mod embedded;
pub mod follow;
mod gate;
pub mod grammar;
mod in_list;
mod iso_interval;
mod list_integers;
pub mod meaning;
pub mod names;
pub mod narrow;
mod ordered;
mod path_name;
mod patterns;
pub mod prepared;
pub mod quantified;
mod quote;
mod replaced;
mod reworded;
mod row_in;
mod served;
mod sql_type;
mod statement;
mod syntax;
pub mod table_sample;
mod tokens;
mod walk;
pub mod widths;
pub mod zones;

pub use embedded::Parameter;
pub use path_name::is_path;
pub use quote::{quote_ident, quote_literal};
pub use sql_type::sql_type;
pub use statement::{Made, Recipe, Statement};
pub use tokens::{Token, TokenKind, statements, tokens};
pub use walk::{walk, walk_mut};
pub use weir_functions::{Condition, Error, ErrorKind};
