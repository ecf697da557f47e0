//! The sidecar index: which granules of a log may hold a Call-ID, a user, a time, a method, a status.
//!
//! It never answers by itself: what it points to is read and compared, what it does not cover is
//! scanned, and what does not fit the log is not used.

pub(crate) mod block;
pub(crate) mod build;
pub(crate) mod mark;
pub(crate) mod sidecar;
pub(crate) mod stretch;

/// Records that one entry of the index points to together.
///
/// A lookup reads as many for each granule in which a call has records. With 32 the last bits of the
/// hash lead to a false granule in one block of eight; with 64 to half as many, each twice as long.
pub(crate) const GRANULE_RECORDS: usize = 32;
/// Records of a block at most: eleven bits number its granules.
pub(crate) const BLOCK_RECORDS_MAX: usize = 2046 * GRANULE_RECORDS;
/// Keys of a record: Call-ID, From, To.
pub(crate) const KEYS: usize = 3;
