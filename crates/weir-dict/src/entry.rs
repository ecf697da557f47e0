//! The place of a key: there or not yet.

use core::hash::{BuildHasher, Hash};

use crate::Dict;
use crate::dict::MapKeys;
use crate::table::Spot;

/// The place of a key, as [`Dict::entry`] has found it.
#[derive(Debug)]
pub enum Entry<'a, K, V, S> {
    /// The key is there.
    Occupied(OccupiedEntry<'a, K, V, S>),
    /// The key is not there.
    Vacant(VacantEntry<'a, K, V, S>),
}

/// The place of a key that is there.
pub struct OccupiedEntry<'a, K, V, S> {
    dict: &'a mut Dict<K, V, S>,
    spot: Spot,
}

/// The place of a key that is not there.
pub struct VacantEntry<'a, K, V, S> {
    dict: &'a mut Dict<K, V, S>,
    hash: u64,
    key: K,
}

/// A spot is found and used under one unique borrow of the dictionary.
const STAYS: &str = "an entry stays where it was found while the dictionary is borrowed";

impl<'a, K: Hash + Eq, V, S: BuildHasher> Entry<'a, K, V, S> {
    /// The value, which is `default` when the key was not there.
    #[inline]
    pub fn or_insert(self, default: V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(default),
        }
    }

    /// The value, which is made by `default` when the key was not there.
    #[inline]
    pub fn or_insert_with(self, default: impl FnOnce() -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => entry.insert(default()),
        }
    }

    /// The value, which is made from the key by `default` when the key was not there.
    #[inline]
    pub fn or_insert_with_key(self, default: impl FnOnce(&K) -> V) -> &'a mut V {
        match self {
            Self::Occupied(entry) => entry.into_mut(),
            Self::Vacant(entry) => {
                let value = default(&entry.key);
                entry.insert(value)
            }
        }
    }

    /// The value, which is the type's default when the key was not there.
    #[inline]
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }

    /// Changes the value of a key that is there.
    #[inline]
    #[must_use]
    pub fn and_modify(mut self, change: impl FnOnce(&mut V)) -> Self {
        if let Self::Occupied(entry) = &mut self {
            change(entry.get_mut());
        }
        self
    }

    /// The key.
    pub fn key(&self) -> &K {
        match self {
            Self::Occupied(entry) => entry.key(),
            Self::Vacant(entry) => entry.key(),
        }
    }
}

impl<'a, K: Hash + Eq, V, S: BuildHasher> OccupiedEntry<'a, K, V, S> {
    pub(crate) const fn new(dict: &'a mut Dict<K, V, S>, spot: Spot) -> Self {
        Self { dict, spot }
    }

    /// The key.
    pub fn key(&self) -> &K {
        &self.dict.table.at(self.spot).expect(STAYS).0
    }

    /// The value.
    pub fn get(&self) -> &V {
        &self.dict.table.at(self.spot).expect(STAYS).1
    }

    /// The value, to change it.
    #[inline]
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.dict.table.at_mut(self.spot).expect(STAYS).1
    }

    /// The value, for as long as the dictionary is borrowed.
    #[inline]
    #[must_use]
    pub fn into_mut(self) -> &'a mut V {
        &mut self.dict.table.at_mut(self.spot).expect(STAYS).1
    }

    /// Replaces the value, and returns the old one.
    pub fn insert(&mut self, value: V) -> V {
        core::mem::replace(self.get_mut(), value)
    }

    /// Removes the entry; returns its value.
    #[must_use]
    pub fn remove(self) -> V {
        self.remove_entry().1
    }

    /// Removes the entry.
    #[must_use]
    pub fn remove_entry(self) -> (K, V) {
        self.dict.table.remove(self.spot).expect(STAYS)
    }
}

impl<'a, K: Hash + Eq, V, S: BuildHasher> VacantEntry<'a, K, V, S> {
    pub(crate) const fn new(dict: &'a mut Dict<K, V, S>, hash: u64, key: K) -> Self {
        Self { dict, hash, key }
    }

    /// The key that would be inserted.
    #[must_use]
    pub const fn key(&self) -> &K {
        &self.key
    }

    /// The key that would be inserted.
    #[must_use]
    pub fn into_key(self) -> K {
        self.key
    }

    /// Inserts as [`Self::insert`], but returns the entry.
    #[inline]
    pub fn insert_entry(self, value: V) -> OccupiedEntry<'a, K, V, S> {
        let Dict { table, state } = &mut *self.dict;
        match table.insert(self.hash, &MapKeys(&*state), (self.key, value)) {
            Ok(spot) => OccupiedEntry::new(self.dict, spot),
            Err(error) => error.abort(),
        }
    }

    /// Inserts the key with a value. Aborts the process when memory is exhausted, as [`Dict::insert`] does.
    #[inline]
    pub fn insert(self, value: V) -> &'a mut V {
        let Dict { table, state } = self.dict;
        match table.insert(self.hash, &MapKeys(&*state), (self.key, value)) {
            Ok(spot) => &mut table.at_mut(spot).expect(STAYS).1,
            Err(error) => error.abort(),
        }
    }
}

impl<K: core::fmt::Debug, V: core::fmt::Debug, S> core::fmt::Debug for OccupiedEntry<'_, K, V, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("OccupiedEntry")
            .field(&self.dict.table.at(self.spot))
            .finish()
    }
}

impl<K: core::fmt::Debug, V, S> core::fmt::Debug for VacantEntry<'_, K, V, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("VacantEntry").field(&self.key).finish()
    }
}
