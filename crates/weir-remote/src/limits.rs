//! The limits of memory and concurrent requests.

/// The limits of memory and concurrent requests.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of concurrent requests of a reader.
    pub ranges_max: usize,
    /// The maximum size of a request, in bytes.
    pub range_bytes_max: u64,
    /// The bytes that all readers of one [`Stores`](crate::Stores) hold together, besides one range each.
    pub ahead_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            ranges_max: 8,
            range_bytes_max: 4 << 20,
            ahead_bytes_max: 256 << 20,
        }
    }
}

impl Limits {
    /// The size of the first request of a reader, which is small: many readers need the beginning only.
    pub(crate) fn first_bytes(&self) -> u64 {
        FIRST_BYTES.min(self.range_bytes_max).max(1)
    }

    /// The size of the request after one of `step` bytes.
    pub(crate) fn step_after(&self, step: u64) -> u64 {
        step.saturating_mul(2).min(self.range_bytes_max).max(1)
    }
}

/// The size of the first request of a reader; each further one has twice the size.
const FIRST_BYTES: u64 = 256 << 10;
/// The unit of the memory that readers share, in bytes.
pub(crate) const SHARE_BYTES: u64 = 4 << 10;
