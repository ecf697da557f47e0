//! The hash function: fast, and keyed so that an attacker cannot choose colliding keys.
//!
//! Sixteen bytes at a time go through one multiplication of 64 by 64 bits whose two halves are folded together, as in
//! several well-known fast hashes. It is not a cryptographic function. If the key becomes known all the same, the
//! entries that collide are placed by SipHash-2-4 with another key ([`second`]).

use core::hash::{BuildHasher, Hash, Hasher};
use core::sync::atomic::{AtomicU64, Ordering};

/// Makes [`FoldHasher`]s with a key that each process draws once. Costs no space in a dictionary.
///
/// With the feature `std` the key comes from the operating system. Without it the only randomness is the address at
/// which the program was loaded; give [`FoldState`] a key of your own where attackers matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessKey;

/// Makes [`FoldHasher`]s with a key of the caller's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FoldState {
    first: u64,
    second: u64,
}

/// A fast keyed hash function.
#[derive(Clone, Copy)]
pub struct FoldHasher {
    state: u64,
    first: u64,
    second: u64,
}

static KEYS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

/// Returns one of the four parts of the process's key: two for this function and two for SipHash, so that the first
/// two, if they leak, do not disclose the others.
#[inline(always)]
pub(crate) fn process_key(part: usize) -> u64 {
    let key = KEYS[part & 3].load(Ordering::Relaxed);
    if key != 0 { key } else { draw_key(part) }
}

#[cold]
#[inline(never)]
fn draw_key(part: usize) -> u64 {
    let drawn = entropy(part as u64) | 1;
    // The first thread decides, so that all agree.
    match KEYS[part & 3].compare_exchange(0, drawn, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => drawn,
        Err(other) => other,
    }
}

#[cfg(feature = "std")]
fn entropy(part: u64) -> u64 {
    std::collections::hash_map::RandomState::new().hash_one(part)
}

#[cfg(not(feature = "std"))]
fn entropy(part: u64) -> u64 {
    let code = core::ptr::from_ref(&KEYS).addr() as u64;
    let stack = core::ptr::from_ref(&part).addr() as u64;
    fold(
        code ^ CONSTANTS[0],
        stack.rotate_left(17) ^ part ^ CONSTANTS[1],
    )
}

impl BuildHasher for ProcessKey {
    type Hasher = FoldHasher;

    #[inline(always)]
    fn build_hasher(&self) -> FoldHasher {
        FoldHasher::new(process_key(0), process_key(1))
    }
}

impl FoldState {
    /// Creates a state with this key.
    #[must_use]
    pub const fn new(first: u64, second: u64) -> Self {
        Self { first, second }
    }
}

impl core::fmt::Debug for FoldState {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // The key is a secret.
        f.write_str("FoldState")
    }
}

impl core::fmt::Debug for FoldHasher {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("FoldHasher")
    }
}

impl BuildHasher for FoldState {
    type Hasher = FoldHasher;

    #[inline(always)]
    fn build_hasher(&self) -> FoldHasher {
        FoldHasher::new(self.first, self.second)
    }
}

/// The constants are digits of the fractional parts of the square roots of 2, 3 and 5.
const CONSTANTS: [u64; 3] = [
    0x6a09_e667_f3bc_c909,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
];

/// Multiplies, and folds both halves of the product together.
#[inline(always)]
pub(crate) const fn fold(a: u64, b: u64) -> u64 {
    let product = (a as u128) * (b as u128);
    (product as u64) ^ ((product >> 64) as u64)
}

/// Spreads the hash of a caller's hasher over all bits, because many hashers leave the upper ones alone.
#[inline(always)]
pub(crate) const fn spread(hash: u64) -> u64 {
    fold(hash ^ CONSTANTS[1], CONSTANTS[2] | 1)
}

impl FoldHasher {
    #[inline(always)]
    const fn new(first: u64, second: u64) -> Self {
        Self {
            state: first,
            first: first ^ CONSTANTS[0],
            second: second ^ CONSTANTS[1],
        }
    }

    #[inline(always)]
    fn word(&mut self, word: u64) {
        self.state = fold(self.state ^ word, self.second);
    }

    #[inline(always)]
    fn pair(&mut self, a: u64, b: u64) {
        self.state = fold(a ^ self.first, b ^ self.state);
    }
}

impl Hasher for FoldHasher {
    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        let len = bytes.len();
        // The length goes in first, so that zeros at the end count.
        self.state = self.state.wrapping_add(len as u64).rotate_left(23);
        if len > 16 {
            let mut rest = bytes;
            while let Some((block, after)) = rest.split_first_chunk::<16>() {
                if after.is_empty() {
                    break;
                }
                self.pair(low(block), high(block));
                rest = after;
            }
            // The last sixteen bytes are mixed in, some of them for the second time.
            if let Some(block) = bytes.last_chunk::<16>() {
                self.pair(low(block), high(block));
            }
        } else if let (Some(head), Some(tail)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>())
        {
            self.pair(u64::from_le_bytes(*head), u64::from_le_bytes(*tail));
        } else if let (Some(head), Some(tail)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>())
        {
            self.pair(
                u32::from_le_bytes(*head).into(),
                u32::from_le_bytes(*tail).into(),
            );
        } else if let (Some(&head), Some(&tail)) = (bytes.first(), bytes.last()) {
            let middle = bytes[len / 2];
            self.word(u64::from(head) | u64::from(middle) << 8 | u64::from(tail) << 16);
        }
    }

    #[inline(always)]
    fn write_u8(&mut self, number: u8) {
        self.word(number.into());
    }

    #[inline(always)]
    fn write_u16(&mut self, number: u16) {
        self.word(number.into());
    }

    #[inline(always)]
    fn write_u32(&mut self, number: u32) {
        self.word(number.into());
    }

    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.word(number);
    }

    #[inline(always)]
    fn write_u128(&mut self, number: u128) {
        self.pair(number as u64, (number >> 64) as u64);
    }

    #[inline(always)]
    fn write_usize(&mut self, number: usize) {
        self.word(number as u64);
    }

    #[inline(always)]
    fn finish(&self) -> u64 {
        // The last multiplication has mixed the input; the dictionary multiplies once more.
        self.state ^ self.second
    }
}

#[inline(always)]
const fn low(block: &[u8; 16]) -> u64 {
    u128::from_le_bytes(*block) as u64
}

#[inline(always)]
const fn high(block: &[u8; 16]) -> u64 {
    (u128::from_le_bytes(*block) >> 64) as u64
}

/// Computes SipHash-2-4 with the process's key, for entries whose first hashes collide.
#[cold]
#[allow(deprecated)] // Only std has another one, whose function is not documented.
pub(crate) fn second(key: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = core::hash::SipHasher::new_with_keys(process_key(2), process_key(3));
    key.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    const STATE: FoldState = FoldState::new(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344);

    #[test]
    fn every_length_and_every_byte_counts() {
        let bytes: Vec<u8> = (0..100).collect();
        let mut seen = BTreeSet::new();
        for len in 0..bytes.len() {
            assert!(seen.insert(STATE.hash_one(&bytes[..len])), "{len}");
            for at in 0..len {
                let mut other = bytes[..len].to_vec();
                other[at] ^= 0x80;
                assert!(seen.insert(STATE.hash_one(&other[..])), "{len} {at}");
            }
        }
        let zeros = [0_u8; 64];
        for len in 1..zeros.len() {
            let mut hasher = STATE.build_hasher();
            hasher.write(&zeros[..len]);
            assert!(seen.insert(hasher.finish()), "{len} zeros");
        }
    }

    #[test]
    fn upper_and_lower_bits_are_even_for_small_numbers() {
        for shift in [0, 56] {
            let mut counts = [0_u32; 256];
            for number in 0..256_000_u64 {
                let hash = spread(STATE.hash_one(number)) >> shift;
                counts[usize::from(hash as u8)] += 1;
            }
            // 1,000 are expected, with a standard deviation of 32.
            assert!(counts.iter().all(|count| (800..1_200).contains(count)));
        }
    }

    #[test]
    fn another_key_is_another_function() {
        let other = FoldState::new(0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7345);
        assert_ne!(STATE.hash_one(5_u64), other.hash_one(5_u64));
        assert_eq!(ProcessKey.hash_one(5_u64), ProcessKey.hash_one(5_u64));
    }
}
