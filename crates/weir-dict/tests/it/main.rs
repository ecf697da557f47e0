//! Tests that compare the dictionary with naive implementations.

mod allocation;
mod arena;
mod behaviour;
mod bytes;
mod expiry;
mod flood;
mod hashers;
mod model;
mod panics;

/// Returns a configuration of `count` cases, or of as many as `PROPTEST_CASES` gives.
fn cases(count: u32) -> proptest::prelude::ProptestConfig {
    let wanted = std::env::var("PROPTEST_CASES").ok();
    proptest::prelude::ProptestConfig {
        cases: wanted.and_then(|cases| cases.parse().ok()).unwrap_or(count),
        failure_persistence: None,
        ..proptest::prelude::ProptestConfig::default()
    }
}
