//! A small seeded generator, the same on every platform.

/// Seeded pseudo-random numbers: xoshiro256\*\* (Blackman and Vigna), its state filled by
/// splitmix64. Never for secrets.
///
/// ```
/// use weir_samples::Rng;
///
/// let (mut one, mut two) = (Rng::new(7), Rng::new(7));
/// assert_eq!(one.next_u64(), two.next_u64());
/// assert!(one.below(6) < 6);
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    state: [u64; 4],
}

impl Rng {
    /// A generator whose whole sequence follows from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let mut state = [0; 4];
        let mut mix = seed;
        let mut index = 0;
        while index < 4 {
            mix = mix.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = mix;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            state[index] = z ^ (z >> 31);
            index += 1;
        }
        Self { state }
    }

    /// The next 64 random bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let result = self.state[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = self.state[1] << 17;
        self.state[2] ^= self.state[0];
        self.state[3] ^= self.state[1];
        self.state[1] ^= self.state[2];
        self.state[0] ^= self.state[3];
        self.state[2] ^= shifted;
        self.state[3] = self.state[3].rotate_left(45);
        result
    }

    /// The next 32 random bits.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    /// The next 16 random bits.
    #[inline]
    pub const fn next_u16(&mut self) -> u16 {
        (self.next_u64() >> 48) as u16
    }

    /// The next eight random bits.
    #[inline]
    pub const fn next_u8(&mut self) -> u8 {
        (self.next_u64() >> 56) as u8
    }

    /// A number from 0 to `bound - 1`, or 0 when `bound` is 0. The bias of the multiplication is
    /// below `bound / 2^64`, which no test notices.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }

    /// A number from `low` to `high`, both included; `low` when the two are the wrong way round.
    #[inline]
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low.wrapping_add(self.below(high.saturating_sub(low).saturating_add(1)))
    }

    /// True `percent` times in a hundred.
    #[inline]
    pub const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// When `choices` is empty.
    #[inline]
    pub const fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// Overwrites `bytes` with random ones.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let random = self.next_u64().to_le_bytes();
            chunk.copy_from_slice(&random[..chunk.len()]);
        }
    }

    /// `len` random bytes.
    #[must_use]
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn the_sequence_of_a_seed_never_changes() {
        let mut rng = Rng::new(0);
        let first: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        // xoshiro256** after splitmix64(0), as the reference implementations give them.
        assert_eq!(
            first,
            [
                0x99ec_5f36_cb75_f2b4,
                0xbf6e_1f78_4956_452a,
                0x1a5f_849d_4933_e6e0
            ]
        );
    }

    #[test]
    fn bounds_hold() {
        let mut rng = Rng::new(42);
        let mut seen = [0_u32; 6];
        for _ in 0..6_000 {
            seen[rng.below(6) as usize] += 1;
            assert!((3..=5).contains(&rng.between(3, 5)));
        }
        assert!(
            seen.iter().all(|&count| (850..1150).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.bytes(13).len(), 13);
    }
}
