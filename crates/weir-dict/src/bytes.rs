//! Byte strings as keys, stored once and without an allocation each.

use alloc::vec::Vec;
use core::hash::{BuildHasher, Hasher};

use crate::Cursor;
use crate::arena::{Arena, Span};
use crate::batch::Window;
use crate::error::AllocError;
use crate::hash::{ProcessKey, second, spread};
use crate::table::{Keys, Query, Table};

/// A map from byte strings of any length to values.
///
/// Keys lie close together in pages that belong to the dictionary: a key costs its length rounded up to
/// sixteen, and no allocation. Freed keys leave room for others of about their length; pages are given
/// back when the dictionary is empty.
///
/// ```
/// let mut calls = weir_dict::BytesDict::new();
/// *calls.get_or_insert_with(b"a84b4c76e66710@pc33.example.com", || 0) += 1;
/// assert_eq!(calls.get(b"a84b4c76e66710@pc33.example.com"), Some(&1));
/// ```
#[derive(Debug)]
pub struct BytesDict<V, S = ProcessKey> {
    table: Table<(Span, V)>,
    arena: Arena,
    state: S,
}

struct SpanKeys<'a, S> {
    arena: &'a Arena,
    state: &'a S,
}

struct BytesQuery<'a, S> {
    key: &'a [u8],
    hash: u64,
    keys: SpanKeys<'a, S>,
}

fn hash_bytes(state: &impl BuildHasher, key: &[u8]) -> u64 {
    let mut hasher = state.build_hasher();
    hasher.write(key);
    spread(hasher.finish())
}

impl<V, S: BuildHasher> Keys<(Span, V)> for SpanKeys<'_, S> {
    fn first(&self, entry: &(Span, V)) -> u64 {
        hash_bytes(self.state, self.arena.get(entry.0))
    }

    fn second(&self, entry: &(Span, V)) -> u64 {
        second(self.arena.get(entry.0))
    }
}

impl<V, S: BuildHasher> Query<(Span, V)> for BytesQuery<'_, S> {
    #[inline(always)]
    fn first(&self) -> u64 {
        self.hash
    }

    fn second(&self) -> u64 {
        second(self.key)
    }

    #[inline(always)]
    fn is(&self, entry: &(Span, V)) -> bool {
        self.keys.arena.get(entry.0) == self.key
    }
}

impl<V> BytesDict<V> {
    /// A dictionary without entries, which allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_hasher(ProcessKey)
    }
}

impl<V> Default for BytesDict<V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<V, S> BytesDict<V, S> {
    /// A dictionary without entries that hashes with `state`; see
    /// [`Dict::with_hasher`](crate::Dict::with_hasher).
    #[must_use]
    pub const fn with_hasher(state: S) -> Self {
        Self {
            table: Table::new(),
            arena: Arena::new(),
            state,
        }
    }

    /// The number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True without entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes as [`Dict::allocated_bytes`](crate::Dict::allocated_bytes), with the keys.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        self.table.allocated_bytes() + self.arena.allocated_bytes()
    }

    /// Removes all entries and frees all memory.
    pub fn clear(&mut self) {
        self.table.clear();
        self.arena.clear();
    }

    /// All entries, in no particular order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &V)> {
        let mut cursor = Cursor::START;
        core::iter::from_fn(move || {
            let step = self.table.step(cursor)?;
            cursor = step.next;
            Some(step.entries)
        })
        .flatten()
        .map(|(span, value)| (self.arena.get(*span), value))
    }
}

impl<V, S: BuildHasher> BytesDict<V, S> {
    fn query<'a>(&'a self, key: &'a [u8], hash: u64) -> BytesQuery<'a, S> {
        BytesQuery {
            key,
            hash,
            keys: SpanKeys {
                arena: &self.arena,
                state: &self.state,
            },
        }
    }

    /// The hash of a key, for [`Self::upsert_batch_hashed`].
    #[inline]
    pub fn hash_of(&self, key: &[u8]) -> u64 {
        hash_bytes(&self.state, key)
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<&V> {
        let query = self.query(key, self.hash_of(key));
        self.table.get(&query).map(|entry| &entry.1)
    }

    /// The value of a key, to change it.
    #[inline]
    pub fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        let hash = self.hash_of(key);
        let spot = self.table.find(hash, &self.query(key, hash))?;
        self.table.at_mut(spot).map(|entry| &mut entry.1)
    }

    /// Whether the key is there.
    pub fn contains_key(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// Inserts a value, and returns the previous one of the key. Aborts the process when memory is exhausted.
    pub fn insert(&mut self, key: &[u8], value: V) -> Option<V> {
        let mut value = Some(value);
        let place = self.get_or_insert_with(key, || value.take().expect("called once"));
        value.map(|value| core::mem::replace(place, value))
    }

    /// Returns the value of a key, which is made by `make` when the key is not there. Aborts the process when memory is
    /// exhausted.
    #[inline]
    pub fn get_or_insert_with(&mut self, key: &[u8], make: impl FnOnce() -> V) -> &mut V {
        let hash = self.hash_of(key);
        match self.upsert(key, hash, make) {
            Ok(value) => value,
            Err(error) => error.abort(),
        }
    }

    #[inline(always)]
    fn upsert(
        &mut self,
        key: &[u8],
        hash: u64,
        make: impl FnOnce() -> V,
    ) -> Result<&mut V, AllocError> {
        let spot = match self.table.find(hash, &self.query(key, hash)) {
            Some(spot) => spot,
            None => {
                let value = make();
                let span = self.arena.push(key)?;
                let Self {
                    table,
                    arena,
                    state,
                } = self;
                let keys = SpanKeys {
                    arena: &*arena,
                    state: &*state,
                };
                match table.insert(hash, &keys, (span, value)) {
                    Ok(spot) => spot,
                    Err(error) => {
                        arena.remove(span);
                        return Err(error);
                    }
                }
            }
        };
        let entry = self.table.at_mut(spot);
        Ok(&mut entry.expect("an entry stays where it was found").1)
    }

    /// Works as [`Dict::upsert_batch_hashed`](crate::Dict::upsert_batch_hashed).
    ///
    /// # Errors
    /// [`AllocError`] when memory is exhausted. `each` has been called for the keys before.
    pub fn upsert_batch_hashed<'q>(
        &mut self,
        keys: impl IntoIterator<Item = (&'q [u8], u64)>,
        mut make: impl FnMut(usize) -> V,
        mut each: impl FnMut(usize, &mut V),
    ) -> Result<(), AllocError> {
        let mut keys = keys.into_iter();
        let mut window = Window::new();
        let mut number = 0;
        while window.fill(&self.table, &mut keys) {
            while let Some((key, hash, _)) = window.next() {
                let value = self.upsert(key, hash, || make(number))?;
                each(number, value);
                number += 1;
            }
        }
        Ok(())
    }

    /// Removes the entry of a key; returns its value.
    pub fn remove(&mut self, key: &[u8]) -> Option<V> {
        let hash = self.hash_of(key);
        let spot = self.table.find(hash, &self.query(key, hash))?;
        let Self { table, arena, .. } = self;
        let (span, value) = table.remove(spot)?;
        if table.len() == 0 {
            arena.clear();
        } else {
            arena.remove(span);
        }
        Some(value)
    }

    /// Removes the entries of the next step of a walk for which `keep` is false; `false` at the walk's
    /// end. See [`Dict::walk`](crate::Dict::walk).
    pub fn retain_step(
        &mut self,
        cursor: &mut Cursor,
        mut keep: impl FnMut(&[u8], &mut V) -> bool,
    ) -> bool {
        let mut gone = Vec::new();
        let keys = SpanKeys {
            arena: &self.arena,
            state: &self.state,
        };
        let next = self.table.extract_step(
            *cursor,
            &keys,
            |(span, value)| !keep(keys.arena.get(*span), value),
            |(span, _)| gone.push(span),
        );
        for span in gone {
            self.arena.remove(span);
        }
        if self.table.len() == 0 {
            self.arena.clear();
        }
        if let Some(next) = next {
            *cursor = next;
        }
        next.is_some()
    }

    /// Removes the entries for which `keep` is false.
    pub fn retain(&mut self, mut keep: impl FnMut(&[u8], &mut V) -> bool) {
        let mut cursor = Cursor::START;
        while self.retain_step(&mut cursor, &mut keep) {}
    }
}

impl<V: Clone, S: Clone> Clone for BytesDict<V, S> {
    fn clone(&self) -> Self {
        match self.table.duplicate() {
            Ok(table) => Self {
                table,
                arena: self.arena.clone(),
                state: self.state.clone(),
            },
            Err(error) => error.abort(),
        }
    }
}
