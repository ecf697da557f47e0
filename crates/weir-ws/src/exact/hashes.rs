//! zlib's hashes of the strings of a batch, for every memLevel: computed once for all settings.

use super::level::{MATCH_MIN, hash};
use super::links::word;

/// Hashes by memLevel and position.
#[derive(Debug, Default)]
pub(crate) struct Hashes {
    /// The position of the first.
    pub(crate) base: usize,
    by_mem_level: [Vec<u16>; 9],
}

impl Hashes {
    /// Hashes the strings that begin at `from` or later and end at `len` or before, for the
    /// memLevels of `wanted`.
    pub(crate) fn fill(
        &mut self,
        text: &[u8],
        from: usize,
        len: usize,
        wanted: impl Fn(u8) -> bool,
    ) {
        self.base = from;
        let end = (len + 1).saturating_sub(MATCH_MIN).max(from);
        for (mem_level, hashes) in (1..).zip(&mut self.by_mem_level) {
            hashes.clear();
            if wanted(mem_level) {
                let mem_level = u32::from(mem_level);
                hashes.extend((from..end).map(|at| hash(word(text, at) as u32, mem_level) as u16));
            }
        }
    }

    /// The hashes of a memLevel.
    pub(crate) fn of(&self, mem_level: u8) -> &[u16] {
        self.by_mem_level
            .get(usize::from(mem_level).wrapping_sub(1))
            .map_or(&[], Vec::as_slice)
    }
}
