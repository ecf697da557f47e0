//! The tables that are compared, all with the same hash function.

use std::hash::Hash;

use weir_dict::{Dict, FoldState};

/// The seed's keys.
pub(crate) type Key = [u8; 38];

/// The fast keyed hash function of all tables.
pub(crate) const STATE: FoldState = FoldState::new(0x1234_5678_9abc_def1, 0xfedc_ba98_7654_3211);

/// A table that is measured.
pub(crate) trait Map<K = Key>: Sized {
    fn new() -> Self;
    fn insert(&mut self, key: &K, value: u64);
    fn get(&self, key: &K) -> Option<u64>;
    fn remove(&mut self, key: &K) -> bool;
    fn sum(&self) -> u64;
    /// Looks up many keys at once, where a map can; otherwise one after another.
    fn get_many(&self, keys: &[K]) -> u64 {
        keys.iter()
            .fold(0, |sum, key| sum.wrapping_add(self.get(key).unwrap_or(1)))
    }
}

/// The dictionary of weir-dict, in one word.
pub(crate) type Weir = Dict<Key, u64, Fixed>;

/// A hasher as [`STATE`] that takes no space, as the process's key does.
#[derive(Clone, Copy, Default)]
pub(crate) struct Fixed;

impl std::hash::BuildHasher for Fixed {
    type Hasher = weir_dict::FoldHasher;

    #[inline(always)]
    fn build_hasher(&self) -> weir_dict::FoldHasher {
        STATE.build_hasher()
    }
}

macro_rules! map {
    ($type:ty, $remove:ident $(, $many:item)?) => {
        impl<K: Copy + Hash + Eq> Map<K> for $type {
            fn new() -> Self {
                Self::with_hasher(Fixed)
            }

            #[inline]
            fn insert(&mut self, key: &K, value: u64) {
                let _ = self.insert(*key, value);
            }

            #[inline]
            fn get(&self, key: &K) -> Option<u64> {
                self.get(key).copied()
            }

            #[inline]
            fn remove(&mut self, key: &K) -> bool {
                self.$remove(key).is_some()
            }

            fn sum(&self) -> u64 {
                self.values().fold(0, |sum, value| sum.wrapping_add(*value))
            }

            $($many)?
        }
    };
}

map!(
    Dict<K, u64, Fixed>,
    remove,
    fn get_many(&self, keys: &[K]) -> u64 {
        let mut sum = 0_u64;
        self.get_batch(keys, |_, value| {
            sum = sum.wrapping_add(value.copied().unwrap_or(1));
        });
        sum
    }
);
map!(hashbrown::HashMap<K, u64, Fixed>, remove);
map!(std::collections::HashMap<K, u64, Fixed>, remove);
map!(indexmap::IndexMap<K, u64, Fixed>, swap_remove);
map!(griddle::HashMap<K, u64, Fixed>, remove);
