//! Searches for records: the conditions of a query, the segments that are searched, with their sidecars or without.

mod dialog;
mod opened;
mod options;
mod piece;
mod plan;
mod query;
mod run;
mod searched;

pub use dialog::{Dialog, DialogOptions, dialogs};
pub use options::SearchOptions;
pub use plan::{Plan, SegmentPlan};
pub use query::{Condition, Query, Target, Test};
pub use run::{Found, Searcher, all_segments};
pub use searched::Searched;
