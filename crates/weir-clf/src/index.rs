//! The sidecar index: which granules of a log may hold a Call-ID, a user, a time, a method, a status.
//!
//! The index never answers by itself: the places that it gives are read and compared, the parts that it does not cover
//! are scanned, and parts of it that do not fit the log are not used.

pub(crate) mod block;
pub(crate) mod build;
pub(crate) mod mark;
pub(crate) mod sidecar;
pub(crate) mod stretch;

/// The number of records to which one entry of the index points.
///
/// A lookup reads as many for each granule in which a call has records. With 32 the last bits of the hash lead to a
/// false granule in one block of eight; with 64 to half as many, each twice as long.
pub(crate) const GRANULE_RECORDS: usize = 32;
/// The number of records of a block, at most: eleven bits number its granules.
pub(crate) const BLOCK_RECORDS_MAX: usize = 2046 * GRANULE_RECORDS;
/// The number of keys of a record: Call-ID, From, To.
pub(crate) const KEYS: usize = 3;
