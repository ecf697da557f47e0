//! Searches for records: the conditions of a query, the segments that are searched, with their sidecars or without.

mod dialog;
mod opened;
mod piece;
mod plan;
mod query;
mod run;

pub use dialog::{Dialog, DialogOptions, dialogs};
pub use plan::{Plan, SegmentPlan};
pub use query::{Condition, Query, Target, Test};
pub use run::{Found, SearchOptions, Searched, Searcher, all_segments};
