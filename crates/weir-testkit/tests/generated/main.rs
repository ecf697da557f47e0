//! What this crate generates, judged by tshark, and the same bytes every time; and the list of captures that tests read.

#![allow(
    clippy::unwrap_used,
    reason = "clippy knows tests by their attribute, and helpers have none"
)]

mod builders;
mod captures;
mod demo_files;
mod oracle;
mod scratch;
mod traces;
