//! The counters of streams.

/// The counters of [`Streams`](super::Streams).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamCounters {
    /// Segments with data taken in.
    pub segments: u64,
    /// Connections begun.
    pub connections: u64,
    /// Bytes given out.
    pub bytes: u64,
    /// Bytes missing in what was given out.
    pub missing_bytes: u64,
    /// Bytes that were captured behind later ones, with which their stream begins, as its SYN was not captured before them.
    pub before_bytes: u64,
    /// Bytes of segments that are farther ahead of their stream than a window reaches, and of which nothing else shows that they are of
    /// the connection: they are not given out.
    pub outlier_bytes: u64,
    /// Bytes that were captured behind the reset of their connection: they are not given out.
    pub behind_reset_bytes: u64,
    /// Connections forgotten because there were too many.
    pub evicted: u64,
    /// Times that something missing was given up because too much waited for it.
    pub overflows: u64,
    /// Most bytes of memory that waited at one time.
    pub held_peak: u64,
}
