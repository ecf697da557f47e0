//! The sidecar index: which granules of a log may hold a Call-ID, a user, a time, a method, a status.
//!
//! It never answers by itself: what it points to is read and compared, what it does not cover is
//! scanned, and what does not fit the log is not used.

pub(crate) mod block;
pub(crate) mod build;
pub(crate) mod mark;
pub(crate) mod sidecar;

/// Records that one entry of the index points to together.
pub(crate) const GRANULE_RECORDS: usize = 64;
/// Records of a block at most: ten bits number its granules.
pub(crate) const BLOCK_RECORDS_MAX: usize = 1023 * GRANULE_RECORDS;
/// Keys of a record: Call-ID, From, To.
pub(crate) const KEYS: usize = 3;
