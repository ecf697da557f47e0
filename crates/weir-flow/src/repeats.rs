//! Fragments that were captured twice, as at two ports of a mirror.

/// The fragments of the last packets, by hashes of all that they are.
#[derive(Debug, Default)]
pub(crate) struct RepeatedFragments {
    /// Hashes, each at the place that it names, with the time of the fragment. Empty before the first one.
    seen: Vec<(u64, i64)>,
}

/// Hashes that are kept.
const PLACES: usize = 1 << 12;

impl RepeatedFragments {
    /// Notes a fragment, and returns whether it was there before, less than `timeout_ns` ago.
    pub(crate) fn note(&mut self, hash: u64, now_ns: i64, timeout_ns: u64) -> bool {
        if self.seen.is_empty() {
            self.seen = vec![(0, i64::MIN); PLACES];
        }
        let index = hash as usize % PLACES;
        let Some(place) = self.seen.get_mut(index) else {
            return false;
        };
        let (known, time_ns) = std::mem::replace(place, (hash, now_ns));
        let timeout_ns = i64::try_from(timeout_ns).unwrap_or(i64::MAX);
        known == hash && now_ns.saturating_sub(time_ns) < timeout_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_is_there_again_until_its_timeout() {
        let mut repeated = RepeatedFragments::default();
        assert!(!repeated.note(7, 0, 60));
        assert!(repeated.note(7, 59, 60));
        assert!(!repeated.note(8, 60, 60));
        assert!(!repeated.note(7, 119, 60));
        // The same place.
        assert!(!repeated.note(7 + PLACES as u64, 120, 60));
        assert!(!repeated.note(7, 121, 60));
        assert!(!repeated.note(0, 121, 60));
    }
}
