//! The parameters of zlib's levels (`configuration_table` of its deflate).

/// Matches are at least this long (RFC 1951 section 3.2.5).
pub(crate) const MATCH_MIN: usize = 3;
/// Matches are at most this long.
pub(crate) const MATCH_MAX: usize = 258;
/// zlib fills its window when fewer bytes than this lie ahead.
pub(crate) const LOOKAHEAD_MIN: usize = MATCH_MAX + MATCH_MIN + 1;
/// zlib's lazy levels drop a match of three bytes that is farther back than this.
pub(crate) const TOO_FAR: usize = 4096;

/// The four numbers of a level.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    /// The length of a previous match from which on only a quarter of the chain is searched.
    pub(crate) good: usize,
    /// Lazy levels: no search after a match this long. Fast levels: longer matches are not inserted.
    pub(crate) lazy: usize,
    /// The search ends with a match this long.
    pub(crate) nice: usize,
    /// The maximum number of candidates of the hash chain to compare.
    pub(crate) chain: usize,
}

const fn level(good: usize, lazy: usize, nice: usize, chain: usize) -> Level {
    Level {
        good,
        lazy,
        nice,
        chain,
    }
}

/// Levels 1 to 9. The first three take the first match that they find, the others look whether the
/// next position has a longer one.
pub(crate) const LEVELS: [Level; 9] = [
    level(4, 4, 8, 4),
    level(4, 5, 16, 8),
    level(4, 6, 32, 32),
    level(4, 4, 16, 16),
    level(8, 16, 32, 32),
    level(8, 16, 128, 128),
    level(8, 32, 128, 256),
    level(32, 128, 258, 1024),
    level(32, 258, 258, 4096),
];

/// The number of [`LEVELS`] that are not lazy.
pub(crate) const FAST_LEVELS: usize = 3;

/// The largest distance of a match with this many window bits: zlib keeps its lookahead free.
pub(crate) const fn distance_max(window_bits: u8) -> usize {
    (1 << window_bits) - LOOKAHEAD_MIN
}

/// zlib's hash of three bytes, given in the low 24 bits of `three` (first byte lowest).
#[inline(always)]
pub(crate) fn hash(three: u32, mem_level: u32) -> usize {
    let bits = mem_level + 7;
    let shift = bits.div_ceil(3);
    let hash =
        ((three & 0xff) << (2 * shift)) ^ (((three >> 8) & 0xff) << shift) ^ ((three >> 16) & 0xff);
    (hash & ((1 << bits) - 1)) as usize
}
