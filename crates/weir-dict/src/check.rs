//! What has to be true of every table, for tests and fuzz targets.

use core::hash::{BuildHasher, Hash};

use crate::Dict;
use crate::dict::MapKeys;
use crate::directory::{Directory, after_range, bytes_of};
use crate::group::{self, home_of, tag_of};
use crate::segment::ENTRIES_MAX;
use crate::table::{Keys, View};

impl<K: Hash + Eq, V, S: BuildHasher> Dict<K, V, S> {
    /// Checks all invariants.
    ///
    /// # Panics
    /// When one is broken, which is a fault of this crate, or of a hasher that gives one key two hashes.
    #[doc(hidden)]
    pub fn check(&self) {
        let keys = MapKeys(&self.state);
        match self.table.view() {
            View::Small(_) => {}
            View::Single(single) => {
                assert!(single.entries.len() <= ENTRIES_MAX);
                for (position, entry) in single.entries.iter().enumerate() {
                    let hash = keys.first(entry);
                    let home = home_of(hash, single.groups.len());
                    let lane = group::find(&single.groups, home, tag_of(hash), |p| p == position);
                    assert!(lane.is_ok(), "an entry is in the index");
                }
                assert_eq!(group::count(&single.groups), single.entries.len());
            }
            View::Large(large) => {
                large.main.check(&|entry| keys.first(entry));
                if let Some(deep) = &large.deep {
                    deep.table.check(&|entry| keys.second(entry));
                    assert_eq!(deep.list.len(), deep.numbers.len());
                    assert!(deep.numbers.is_sorted());
                }
            }
        }
        assert_eq!(self.iter().count(), self.len());
    }
}

impl<T> Directory<T> {
    fn check(&self, hash_of: &impl Fn(&T) -> u64) {
        let (mut next, mut len, mut segments, mut bytes) = (Some(0), 0, 0, 0);
        while let Some(start) = next {
            let segment = self.segment(start);
            assert_eq!(segment.prefix, start, "segments follow each other");
            next = after_range(start, segment.depth);
            let last = next.map_or(u64::MAX, |next| next - 1);
            self.check_slots(start, last);
            assert!(segment.entries.len() <= ENTRIES_MAX);
            for (position, entry) in segment.entries.iter().enumerate() {
                let hash = hash_of(entry);
                assert!(
                    (start..=last).contains(&hash),
                    "an entry is where it belongs"
                );
                let lane = segment.find_position(hash, position);
                assert!(lane.is_ok(), "an entry is in the index");
            }
            assert_eq!(group::count(&segment.groups), segment.entries.len());
            len += segment.entries.len();
            bytes += bytes_of(&segment.entries);
            segments += 1;
        }
        assert_eq!(len, self.len());
        assert_eq!(segments, self.segments());
        assert_eq!(bytes, self.entry_bytes());
    }
}
