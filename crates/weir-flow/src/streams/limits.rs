//! The limits of streams.

use crate::fragment::Overlap;
use crate::key::Scope;

/// Limits of [`Streams`](super::Streams).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamLimits {
    /// The parts of a key besides addresses and ports.
    pub scope: Scope,
    /// The policy for overlapping segments; the first bytes win by default.
    pub overlap: Overlap,
    /// The maximum number of concurrent connections; 65,536 by default. Beyond it the one that is idle for longest, as far as is
    /// known, is forgotten.
    pub connections_max: usize,
    /// Most bytes of memory that wait in one direction of a connection; 1 MiB by default. Missing bytes are given up
    /// when more bytes wait.
    pub direction_bytes_max: usize,
    /// Most bytes of memory that wait in all; 256 MiB by default. The connection that would need
    /// more gives up what it misses.
    pub bytes_max: usize,
    /// The time for which acknowledged bytes that were not captured are waited for, in nanoseconds; 1 second by default, as
    /// captures may have packets in another order than the network. Later data of the receiver wait meanwhile, so that a response
    /// follows its request.
    pub patience_ns: u64,
    /// The idle timeout of connections; 5 minutes by default.
    pub idle_ns: u64,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            scope: Scope::Addresses,
            overlap: Overlap::First,
            connections_max: 1 << 16,
            direction_bytes_max: 1 << 20,
            bytes_max: 256 << 20,
            patience_ns: 1_000_000_000,
            idle_ns: 300_000_000_000,
        }
    }
}
