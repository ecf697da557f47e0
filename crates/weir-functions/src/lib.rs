//! The functions of SQL over captures, and the meanings of its operators.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//!
//! let session = SessionContext::new();
//! weir_functions::register(&session, &[], usize::MAX)?;
//! let functions = weir_functions::list::all(&session.state());
//! assert!(functions.iter().any(|function| function.name == "cidr_match"));
//! # Ok::<(), weir_functions::Error>(())
//! ```
//!
//! Functions of addresses (`function`, `networks`, `registries`, `geoip`, `anonymous`), of bytes (`payload`), of JSON
//! (`json`), of lists (`lists`), of texts (`ordered_text`), of numbers (`number`, `units`, `top_k`); and the passes over logical plans ([`pass`](mod@pass)) that give
//! operators the meanings that these have: addresses compare with text ([`address`]), closed vocabularies in any
//! spelling ([`vocabulary`]), arithmetic does not wrap around ([`number`]), texts do not grow beyond memory ([`bounded`]), times may lack seconds ([`minute`]), intervals may be written as PostgreSQL and ISO 8601 write them ([`interval`]), NULLs within lists have their place in the order of these ([`nested`]),
//! instants leave in the zone of the session ([`zone`]); and how large plans may be ([`plan_size`]). [`Error`] is what all that plans SQL here answers with.
//!
//! This crate deliberately has no parser of statements, no list of tables and no scans.

pub mod address;
mod anonymous;
pub mod bounded;
pub mod clock;
mod computed;
pub mod duration;
mod error;
pub mod folded;
pub mod function;
mod geoip;
pub mod interval;
mod json;
pub mod list;
pub mod lists;
pub mod minute;
mod names;
pub mod nested;
mod networks;
pub mod no_row;
pub mod number;
mod ordered_text;
pub mod pass;
mod pattern_size;
pub mod payload;
pub mod plan_size;
pub mod recursion;
mod registries;
mod repeated;
pub mod replacement;
mod scaled;
pub mod similar;
pub mod top_k;
mod units;
pub mod vocabulary;
pub mod zone;

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::prelude::SessionContext;

use duration::UnknownPlanner;
use geoip::Databases;
use json::JsonPlanner;
use payload::PayloadPlanner;

pub use error::{Condition, Error, ErrorKind};
pub use pattern_size::{of_like as like_weight, of_pattern as pattern_weight};

/// Registers the functions in a session. Those of places look addresses up in the databases of MaxMind's format at
/// these paths, and no function makes more than so many bytes of one batch of rows.
///
/// # Errors
/// When a database cannot be read.
pub fn register(
    session: &SessionContext,
    geoip: &[PathBuf],
    values_bytes_max: usize,
) -> Result<(), Error> {
    let functions = function::all().into_iter().chain(payload::all());
    for function in functions.chain(networks::all()) {
        session.register_udf(function);
    }
    let databases = Databases::open(geoip)?;
    for function in registries::all()
        .into_iter()
        .chain(units::all())
        .chain(geoip::all(&databases))
    {
        session.register_udf(function);
    }
    session.register_udf(anonymous::anonymize_ip());
    for function in json::all() {
        session.register_udf(function);
    }
    session.register_udf(number::div());
    session.register_udf(number::decimal_in_room());
    session.register_udf(duration::interval_length());
    session.register_udf(interval::interval_in_words());
    for function in scaled::all() {
        session.register_udf(function);
    }
    session.register_udf(nested::nested_order());
    session.register_udf(clock::instant_of_clock());
    session.register_udf(number::negative());
    session.register_udf(number::to_digits(number::ROUND_DIGITS));
    session.register_udf(number::to_digits(number::TRUNC_DIGITS));
    session.register_udf(lists::unknown_in_list());
    session.register_udf(lists::list_integer());
    session.register_udf(lists::signed_list());
    session.register_udf(lists::value_of_row());
    session.register_udf(no_row::value_or_null());
    session.register_udf(replacement::regexp_replacement());
    session.register_udaf(number::sum());
    session.register_udaf(number::percentile_cont());
    session.register_udaf(ordered_text::string_agg());
    for function in number::sliding().into_iter().chain(number::digests()) {
        session.register_udaf(function);
    }
    session.register_udaf(top_k::approx_top_k());
    bounded::register(session, values_bytes_max);
    Ok(())
}

/// The planners that turn operators into calls of these functions. They come before DataFusion's own.
#[must_use]
pub fn planners() -> Vec<Arc<dyn ExprPlanner>> {
    vec![
        Arc::new(PayloadPlanner),
        Arc::new(JsonPlanner),
        Arc::new(UnknownPlanner),
    ]
}
