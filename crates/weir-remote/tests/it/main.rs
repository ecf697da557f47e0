//! Objects read from servers that fail, and from a stand-in of S3.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod faults;
mod store;

use std::io::Read as _;
use std::sync::Arc;

use weir_capture::Object as _;
use weir_remote::{RemoteObject, StoreOptions, Stores};
use weir_testkit::Rng;

fn stores() -> Stores {
    Stores::new(&StoreOptions::default()).unwrap()
}

fn one(stores: &Stores, address: &str) -> Arc<RemoteObject> {
    let mut found = stores.expand(address).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn whole(object: &RemoteObject) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    object.open(0..u64::MAX)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Bytes that are nowhere alike.
fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        bytes.extend_from_slice(&rng.below(u64::MAX).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}
