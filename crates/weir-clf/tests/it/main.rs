//! Tests of the log as a whole: the RFCs' records, conversion, writing, crashes, searching.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;
mod convert;
mod crash;
mod search;
mod untidy;
mod vectors;
mod writer;
