//! The hash functions of sidecars: XXH64 for checksums, and XXH3 for keys, which are short. Of a
//! Call-ID of 40 bytes it takes a third of the time.

use twox_hash::{XxHash3_64, XxHash64};

/// XXH64 with seed 0.
#[inline]
pub(crate) fn xxh64(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

/// XXH3 of 64 bits with seed 0.
#[inline]
pub(crate) fn xxh3(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_is_the_published_one() {
        assert_eq!(xxh64(b""), 0xef46_db37_51d8_e999);
        assert_eq!(xxh64(b"abc"), 0x44bc_2cf5_ad77_0999);
        assert_eq!(xxh3(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(xxh3(b"abc"), 0x78af_5f94_892f_3950);
    }
}
