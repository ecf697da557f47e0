//! The dictionary: keys and values.

use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};
use core::ops::Index;

use crate::directory::Place;
use crate::entry::{Entry, OccupiedEntry, VacantEntry};
use crate::error::AllocError;
use crate::hash::{ProcessKey, second, spread};
use crate::segment::tag_of;
use crate::table::{Form, Keys, Query, Table};

/// A map from keys to values that is eight bytes when it is empty and never pauses to grow.
///
/// Its interface is that of the standard library's `HashMap`; what it has beyond that is in
/// [`walk`](Self::walk), [`upsert_batch`](Self::upsert_batch), [`try_insert`](Self::try_insert) and
/// [`allocated_bytes`](Self::allocated_bytes).
///
/// No operation moves more than a few hundred entries, and none initialises more than a few pages, except cloning,
/// clearing and dropping, which have to visit everything.
///
/// ```
/// let mut dict = weir_dict::Dict::new();
/// dict.insert("one", 1);
/// *dict.entry("two").or_insert(0) += 2;
/// assert_eq!(dict.get("two"), Some(&2));
/// assert_eq!(dict.len(), 2);
/// ```
pub struct Dict<K, V, S = ProcessKey> {
    pub(crate) table: Table<(K, V)>,
    pub(crate) state: S,
}

/// Hashes entries by their keys.
pub(crate) struct MapKeys<'a, S>(pub(crate) &'a S);

impl<K: Hash, V, S: BuildHasher> Keys<(K, V)> for MapKeys<'_, S> {
    #[inline(always)]
    fn first(&self, entry: &(K, V)) -> u64 {
        spread(self.0.hash_one(&entry.0))
    }

    #[inline]
    fn second(&self, entry: &(K, V)) -> u64 {
        second(&entry.0)
    }
}

/// A key that is looked up.
pub(crate) struct MapQuery<'a, Q: ?Sized, S> {
    pub(crate) key: &'a Q,
    pub(crate) state: &'a S,
}

impl<K: Borrow<Q>, V, Q: Hash + Eq + ?Sized, S: BuildHasher> Query<(K, V)> for MapQuery<'_, Q, S> {
    #[inline(always)]
    fn first(&self) -> u64 {
        spread(self.state.hash_one(self.key))
    }

    #[inline]
    fn second(&self) -> u64 {
        second(self.key)
    }

    #[inline(always)]
    fn is(&self, entry: &(K, V)) -> bool {
        entry.0.borrow() == self.key
    }
}

impl<K, V> Dict<K, V> {
    /// A dictionary without entries, which allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_hasher(ProcessKey)
    }
}

impl<K: Hash + Eq, V> Dict<K, V> {
    /// Creates a dictionary with memory for `capacity` entries; see [`Self::reserve`].
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        Self::with_capacity_and_hasher(capacity, ProcessKey)
    }
}

impl<K, V, S> Dict<K, V, S> {
    /// A dictionary without entries that hashes with `state`.
    ///
    /// With a hasher without a secret key, an attacker who chooses the keys can make them collide: operations stay
    /// correct, and colliding entries are placed by SipHash with a key of the process.
    #[must_use]
    pub const fn with_hasher(state: S) -> Self {
        Self {
            table: Table::new(),
            state,
        }
    }

    /// The hasher's state.
    #[must_use]
    pub const fn hasher(&self) -> &S {
        &self.state
    }

    /// The number of entries.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True without entries.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of bytes that the dictionary has allocated: exact, without this value itself and without what keys
    /// and values own.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.table.allocated_bytes()
    }

    /// Removes all entries and frees all memory.
    pub fn clear(&mut self) {
        self.table.clear();
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Dict<K, V, S> {
    /// Creates a dictionary as [`Dict::with_capacity`] does, with a hasher.
    #[must_use]
    pub fn with_capacity_and_hasher(capacity: usize, state: S) -> Self {
        let mut dict = Self::with_hasher(state);
        dict.reserve(capacity);
        dict
    }

    /// Grows for `additional` entries more in one go, instead of a little with each. Aborts the process when memory is
    /// exhausted; see [`Self::try_reserve`].
    pub fn reserve(&mut self, additional: usize) {
        if let Err(error) = self.try_reserve(additional) {
            error.abort();
        }
    }

    /// Reserves as [`Self::reserve`], but returns an error when memory is exhausted.
    ///
    /// Costs as much as inserting the entries would in growth. It prepares and does not guarantee: memory is divided by
    /// how many entries each segment will have on average, so some insertions still allocate. [`Self::try_insert`] is
    /// the insertion that does not abort the process. Up to eight entries are never prepared for, because the size of a
    /// block follows from their number.
    ///
    /// # Errors
    /// [`AllocError`]: the entries are as they were, and some memory may have been made.
    ///
    /// ```
    /// let mut dict = weir_dict::Dict::<u64, u64>::new();
    /// assert!(dict.try_reserve(usize::MAX).is_err());
    /// dict.try_reserve(1_000)?;
    /// assert!(dict.is_empty() && dict.allocated_bytes() >= 16_000);
    /// # Ok::<(), weir_dict::AllocError>(())
    /// ```
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), AllocError> {
        self.table.reserve(additional, &MapKeys(&self.state))
    }

    /// Frees memory that no entry needs: visits every segment.
    pub fn shrink_to_fit(&mut self) {
        self.table.shrink();
    }

    /// The value of a key.
    #[inline]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.table.get(&self.query(key)).map(|entry| &entry.1)
    }

    /// A key and its value.
    #[inline]
    pub fn get_key_value<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
    {
        let (key, value) = self.table.get(&self.query(key))?;
        Some((key, value))
    }

    /// The value of a key, to change it.
    #[inline]
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let query = MapQuery {
            key,
            state: &self.state,
        };
        self.table.get_mut(&query).map(|entry| &mut entry.1)
    }

    /// Whether the key is there.
    #[inline]
    pub fn contains_key<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.get(key).is_some()
    }

    /// Inserts a value, and returns the previous one of the key. An existing key stays.
    ///
    /// Aborts the process when memory is exhausted, as other collections do; see [`Self::try_insert`].
    #[inline]
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.try_insert(key, value) {
            Ok(old) => old,
            Err(error) => error.abort(),
        }
    }

    /// Inserts as [`Self::insert`], but returns an error when memory is exhausted.
    ///
    /// # Errors
    /// [`AllocError`]: the dictionary is as it was, and key and value are dropped.
    #[inline]
    pub fn try_insert(&mut self, key: K, value: V) -> Result<Option<V>, AllocError> {
        let query = MapQuery {
            key: &key,
            state: &self.state,
        };
        let keys = MapKeys(&self.state);
        if !self.table.is_hashed() {
            if let Some(entry) = self.table.only_mut().filter(|entry| query.is(entry)) {
                return Ok(Some(core::mem::replace(&mut entry.1, value)));
            }
            return self.table.push_unhashed(&keys, (key, value)).map(|_| None);
        }
        let hash = Query::<(K, V)>::first(&query);
        match self.table.form() {
            Form::Block => {
                if let Some(entry) = self.table.find_in_block(hash, &query) {
                    return Ok(Some(core::mem::replace(&mut entry.1, value)));
                }
                if !self.table.is_full_block() {
                    self.table.push_small(hash, (key, value))?;
                    return Ok(None);
                }
            }
            Form::Single(single) => match single.find(tag_of(hash), |entry| query.is(entry)) {
                Ok(at) => {
                    let entry = &mut single.entries_mut()[at];
                    return Ok(Some(core::mem::replace(&mut entry.1, value)));
                }
                Err(_) if single.has_room() => {
                    single.push(tag_of(hash), (key, value));
                    return Ok(None);
                }
                Err(_) => {}
            },
            Form::Settled(large) => match large.place(hash, |entry| query.is(entry)) {
                Place::Entry(entry) => return Ok(Some(core::mem::replace(&mut entry.1, value))),
                Place::Room(room) => {
                    room.push((key, value));
                    return Ok(None);
                }
                Place::Full => {}
                Place::Elsewhere => return self.insert_cold(hash, key, value, true),
            },
            Form::Unsettled => return self.insert_cold(hash, key, value, false),
        }
        self.insert_new(hash, key, value)?;
        Ok(None)
    }

    /// Inserts as [`Self::try_insert`]; if the segment of the key has been searched, the key is not in it.
    #[cold]
    #[inline(never)]
    fn insert_cold(
        &mut self,
        hash: u64,
        key: K,
        value: V,
        is_searched: bool,
    ) -> Result<Option<V>, AllocError> {
        let query = MapQuery {
            key: &key,
            state: &self.state,
        };
        let spot = if is_searched {
            self.table.find_deep(&query)
        } else {
            self.table.find(hash, &query)
        };
        if let Some(spot) = spot {
            let entry = self.table.at_mut(spot);
            return Ok(entry.map(|entry| core::mem::replace(&mut entry.1, value)));
        }
        self.insert_new(hash, key, value)?;
        Ok(None)
    }

    /// Adds an entry whose key is not there.
    #[inline(always)]
    pub(crate) fn insert_new(&mut self, hash: u64, key: K, value: V) -> Result<(), AllocError> {
        let Self { table, state } = self;
        let keys = MapKeys(&*state);
        table.insert(hash, &keys, (key, value)).map(|_| ())
    }

    /// Removes the entry of a key; returns its value.
    #[inline]
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.remove_entry(key).map(|(_, value)| value)
    }

    /// Removes the entry of a key.
    #[inline]
    pub fn remove_entry<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<(K, V)>
    where
        K: Borrow<Q>,
    {
        let query = MapQuery {
            key,
            state: &self.state,
        };
        self.table.take(&query)
    }

    /// The place of a key, to look and to insert with one search.
    #[inline]
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V, S> {
        let query = MapQuery {
            key: &key,
            state: &self.state,
        };
        let hash = self.table.hash(&query);
        match self.table.find(hash, &query) {
            Some(spot) => Entry::Occupied(OccupiedEntry::new(self, spot)),
            None => Entry::Vacant(VacantEntry::new(self, hash, key)),
        }
    }

    #[inline(always)]
    pub(crate) fn query<'a, Q: ?Sized>(&'a self, key: &'a Q) -> MapQuery<'a, Q, S> {
        MapQuery {
            key,
            state: &self.state,
        }
    }
}

impl<K, V, S: Default> Default for Dict<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K: Clone, V: Clone, S: Clone> Clone for Dict<K, V, S> {
    /// The clone has every entry in the same place, so that nothing is hashed and walks continue in it.
    fn clone(&self) -> Self {
        match self.table.duplicate() {
            Ok(table) => Self {
                table,
                state: self.state.clone(),
            },
            Err(error) => error.abort(),
        }
    }
}

impl<K: Hash + Eq, V: PartialEq, S: BuildHasher> PartialEq for Dict<K, V, S> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self
                .iter()
                .all(|(key, value)| other.get(key).is_some_and(|own| own == value))
    }
}

impl<K: Hash + Eq, V: Eq, S: BuildHasher> Eq for Dict<K, V, S> {}

impl<K: core::fmt::Debug, V: core::fmt::Debug, S> core::fmt::Debug for Dict<K, V, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Hash + Eq + Borrow<Q>, V, Q: Hash + Eq + ?Sized, S: BuildHasher> Index<&Q>
    for Dict<K, V, S>
{
    type Output = V;

    /// # Panics
    /// When the key is not there.
    fn index(&self, key: &Q) -> &V {
        self.get(key).expect("the key is in the dictionary")
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Extend<(K, V)> for Dict<K, V, S> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, K: Hash + Eq + Copy, V: Copy, S: BuildHasher> Extend<(&'a K, &'a V)> for Dict<K, V, S> {
    fn extend<I: IntoIterator<Item = (&'a K, &'a V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(*key, *value);
        }
    }
}

impl<K: Hash + Eq, V, S: BuildHasher + Default> FromIterator<(K, V)> for Dict<K, V, S> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut dict = Self::default();
        dict.extend(entries);
        dict
    }
}

impl<K: Hash + Eq, V, const N: usize> From<[(K, V); N]> for Dict<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}
