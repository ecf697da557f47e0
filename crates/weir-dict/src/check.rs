//! The invariants of every table, for tests and fuzz targets.

use core::hash::{BuildHasher, Hash};

use crate::Dict;
use crate::dict::MapKeys;
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
            View::Small(_) => self.table.check_tags(|entry| keys.first(entry)),
            View::Single(single) => single.check(|entry| keys.first(entry)),
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
