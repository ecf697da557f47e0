//! Bytes that look like a record of a format.

/// A format as the search for a place where a record begins needs it.
pub(crate) trait Plausible {
    /// The record at the start of `bytes`, when it looks like one; less than the whole of it may be
    /// there, but its header is.
    fn record(&self, bytes: &[u8]) -> Option<Candidate>;

    /// Bytes of a header.
    fn header_len(&self) -> usize;
}

/// A candidate of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) len: usize,
    pub(crate) time_ns: Option<i64>,
}
