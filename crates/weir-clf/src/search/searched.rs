//! The totals of a search.

/// The totals of a search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Searched {
    /// The number of records found.
    pub records: u64,
    /// The number of bytes of log that were read.
    pub bytes_read: u64,
    /// The number of places in them that are no record.
    pub damaged: u64,
}
