//! Operations on many keys at once, whose cache misses overlap instead of following each other.

use alloc::borrow::ToOwned;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use crate::Dict;
use crate::dict::{MapKeys, MapQuery};
use crate::error::AllocError;
use crate::hash::spread;
use crate::segment::{Lanes, Segment, tag_of};
use crate::table::{Query, Table, View};

/// The number of keys that are in flight at once. More than the processor has line buffers do not help; with fewer the
/// later stages wait.
const WINDOW: usize = 24;

/// A key whose hash is known.
struct HashedQuery<'a, Q: ?Sized, S> {
    hash: u64,
    query: MapQuery<'a, Q, S>,
}

impl<K: Borrow<Q>, V, Q: Hash + Eq + ?Sized, S: BuildHasher> Query<(K, V)>
    for HashedQuery<'_, Q, S>
{
    #[inline(always)]
    fn first(&self) -> u64 {
        self.hash
    }

    fn second(&self) -> u64 {
        Query::<(K, V)>::second(&self.query)
    }

    #[inline(always)]
    fn is(&self, entry: &(K, V)) -> bool {
        self.query.is(entry)
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Dict<K, V, S> {
    /// The hash of a key, for [`Self::get_batch_hashed`] and [`Self::upsert_batch_hashed`]. Another
    /// dictionary with the same hasher gives the same.
    #[inline]
    pub fn hash_of<Q: Hash + ?Sized>(&self, key: &Q) -> u64
    where
        K: Borrow<Q>,
    {
        spread(self.state.hash_one(key))
    }

    /// Looks up many keys. Calls `each` once for each key, in order, with its number and its value.
    ///
    /// Costs about a third of as many calls of [`Self::get`] when the dictionary is larger than the processor's caches,
    /// and the same as these when it is small. Allocates nothing.
    pub fn get_batch<'q, Q: Hash + Eq + ?Sized + 'q>(
        &self,
        keys: impl IntoIterator<Item = &'q Q>,
        each: impl FnMut(usize, Option<&V>),
    ) where
        K: Borrow<Q>,
    {
        let keys = keys.into_iter().map(|key| (key, self.hash_of(key)));
        self.get_batch_hashed(keys, each);
    }

    /// Looks up as [`Self::get_batch`], with the hash of each key from [`Self::hash_of`]. A key with another hash is
    /// not found.
    pub fn get_batch_hashed<'q, Q: Hash + Eq + ?Sized + 'q>(
        &self,
        keys: impl IntoIterator<Item = (&'q Q, u64)>,
        mut each: impl FnMut(usize, Option<&V>),
    ) where
        K: Borrow<Q>,
    {
        let mut keys = keys.into_iter();
        let mut number = 0;
        let mut give = |entry: Option<&(K, V)>| {
            each(number, entry.map(|entry| &entry.1));
            number += 1;
        };
        let query = |key, hash| HashedQuery {
            hash,
            query: self.query(key),
        };
        let View::Large(large) = self.table.view() else {
            return keys.for_each(|(key, hash)| give(self.table.get(&query(key, hash))));
        };
        let mut window = [PendingSearch {
            key: None,
            hash: 0,
            segment: large.main.segment(0),
            lanes: Lanes::NONE,
        }; WINDOW];
        loop {
            let mut count = 0;
            for (search, (key, hash)) in window.iter_mut().zip(&mut keys) {
                search.segment = large.main.segment(hash);
                search.segment.prefetch();
                search.key = Some(key);
                search.hash = hash;
                count += 1;
            }
            let searches = window.get_mut(..count).unwrap_or_default();
            for search in &mut *searches {
                search.lanes = search.segment.lanes(tag_of(search.hash));
                search.segment.prefetch_first(search.lanes);
            }
            for search in searches {
                let Some(key) = search.key else { continue };
                let query = query(key, search.hash);
                give(
                    match search.segment.get_in(search.lanes, |entry| query.is(entry)) {
                        Ok(entry) => Some(entry),
                        Err(false) => None,
                        Err(true) => self.table.get_deep(&query),
                    },
                );
            }
            if count < WINDOW {
                return;
            }
        }
    }

    /// Looks up many keys, inserts those that are missing, and calls `each` once for each key, in order, with its
    /// number and its value. A missing value is made by `make` from the number of its key; a repeated key is inserted
    /// once.
    ///
    /// Keys may be borrowed forms: `[u8; N]` for itself, `str` for `String`. Only keys that are inserted are made
    /// owned. Aborts the process when memory is exhausted, as [`Self::insert`] does.
    ///
    /// ```
    /// let mut groups = weir_dict::Dict::<[u8; 4], u32>::new();
    /// let keys = [*b"sip.", *b"rtp.", *b"sip."];
    /// let mut ids = Vec::new();
    /// let mut next = 0;
    /// groups.upsert_batch(
    ///     &keys,
    ///     |_| { next += 1; next - 1 },
    ///     |_, id| ids.push(*id),
    /// );
    /// assert_eq!(ids, [0, 1, 0]);
    /// ```
    pub fn upsert_batch<'q, Q: Hash + Eq + ToOwned<Owned = K> + ?Sized + 'q>(
        &mut self,
        keys: impl IntoIterator<Item = &'q Q>,
        make: impl FnMut(usize) -> V,
        each: impl FnMut(usize, &mut V),
    ) where
        K: Borrow<Q>,
        S: Clone,
    {
        // The hasher is needed while the dictionary changes.
        let state = self.state.clone();
        let keys = keys
            .into_iter()
            .map(|key| (key, spread(state.hash_one(key))));
        if let Err(error) = self.upsert_batch_hashed(keys, make, each) {
            error.abort();
        }
    }

    /// Works as [`Self::upsert_batch`], with the hash of each key from [`Self::hash_of`].
    ///
    /// An entry that is inserted with another hash is not found by any search.
    ///
    /// # Errors
    /// [`AllocError`] when memory is exhausted. `each` has been called for the keys before.
    pub fn upsert_batch_hashed<'q, Q: Hash + Eq + ToOwned<Owned = K> + ?Sized + 'q>(
        &mut self,
        keys: impl IntoIterator<Item = (&'q Q, u64)>,
        mut make: impl FnMut(usize) -> V,
        mut each: impl FnMut(usize, &mut V),
    ) -> Result<(), AllocError>
    where
        K: Borrow<Q>,
    {
        let mut keys = keys.into_iter();
        let mut window = Window::new();
        let mut number = 0;
        while window.fill(&self.table, &mut keys) {
            // The lookups in advance are valid until an insertion moves entries.
            let mut is_fresh = true;
            while let Some((key, hash, lanes)) = window.next() {
                let query = HashedQuery {
                    hash,
                    query: self.query(key),
                };
                let spot = if is_fresh {
                    self.table.find_in(hash, lanes, &query)
                } else {
                    self.table.find(hash, &query)
                };
                let spot = match spot {
                    Some(spot) => spot,
                    None => {
                        is_fresh = false;
                        let Self { table, state } = self;
                        let entry = (key.to_owned(), make(number));
                        table.insert(hash, &MapKeys(&*state), entry)?
                    }
                };
                if let Some(entry) = self.table.at_mut(spot) {
                    each(number, &mut entry.1);
                }
                number += 1;
            }
        }
        Ok(())
    }
}

/// A search in a large table that is under way.
struct PendingSearch<'t, 'q, T, Q: ?Sized> {
    key: Option<&'q Q>,
    hash: u64,
    segment: &'t Segment<T>,
    lanes: Lanes,
}

impl<T, Q: ?Sized> Clone for PendingSearch<'_, '_, T, Q> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, Q: ?Sized> Copy for PendingSearch<'_, '_, T, Q> {}

/// The keys that are looked up in a table that may change meanwhile: first all lines are fetched, then all entries,
/// then they are compared.
pub(crate) struct Window<'q, Q: ?Sized> {
    keys: [Option<&'q Q>; WINDOW],
    hashes: [u64; WINDOW],
    lanes: [Lanes; WINDOW],
    next: usize,
    count: usize,
}

impl<'q, Q: ?Sized> Window<'q, Q> {
    pub(crate) const fn new() -> Self {
        Self {
            keys: [None; WINDOW],
            hashes: [0; WINDOW],
            lanes: [Lanes::NONE; WINDOW],
            next: 0,
            count: 0,
        }
    }

    /// Fills the window with keys, and prefetches the memory that their searches will read. Returns `false` when there
    /// are no keys.
    #[inline(always)]
    pub(crate) fn fill<T>(
        &mut self,
        table: &Table<T>,
        keys: &mut impl Iterator<Item = (&'q Q, u64)>,
    ) -> bool {
        self.next = 0;
        self.count = 0;
        let large = match table.view() {
            View::Large(large) => Some(&large.main),
            View::Small(_) | View::Single(_) => None,
        };
        let places = self.keys.iter_mut().zip(&mut self.hashes);
        for ((own, own_hash), (key, hash)) in places.zip(keys) {
            if let Some(directory) = large {
                directory.segment(hash).prefetch();
            }
            *own = Some(key);
            *own_hash = hash;
            self.count += 1;
        }
        if let Some(directory) = large {
            for (lanes, hash) in self.lanes.iter_mut().zip(&self.hashes[..self.count]) {
                *lanes = directory.prefetch_entry(*hash);
            }
        }
        self.count > 0
    }

    /// The next key, its hash, and where it may stand: see [`Table::find_in`].
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(&'q Q, u64, Lanes)> {
        let at = self.next;
        if at >= self.count || at >= WINDOW {
            return None;
        }
        self.next += 1;
        self.keys[at].map(|key| (key, self.hashes[at], self.lanes[at]))
    }
}
