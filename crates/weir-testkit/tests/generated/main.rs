//! Tests of the generators (tshark judges their output, which is the same every time) and of the list of captures that tests
//! read.

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
