//! Results of a cluster compared with those of one engine.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod answers;
mod crafted;
mod cuts;
mod deployed;
mod fuzzed;
mod hostile;
mod proof;
mod random;
mod samples;
mod statuses;
mod trusted;
