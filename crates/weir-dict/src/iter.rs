//! Iteration over everything, in no particular order.

use alloc::vec::{self, Vec};
use core::hash::{BuildHasher, Hash};
use core::iter::FusedIterator;
use core::marker::PhantomData;

use crate::Dict;
use crate::dict::MapKeys;
use crate::table::Table;
use crate::walk::Cursor;

/// Entries by shared reference; see [`Dict::iter`].
pub struct Iter<'a, K, V> {
    table: &'a Table<(K, V)>,
    cursor: Cursor,
    slice: core::slice::Iter<'a, (K, V)>,
    left: usize,
}

/// Entries with values that can be changed; see [`Dict::iter_mut`].
pub struct IterMut<'a, K, V> {
    table: &'a mut Table<(K, V)>,
    cursor: Cursor,
    slice: core::slice::IterMut<'a, (K, V)>,
    left: usize,
}

/// Entries by value; see [`Dict::into_iter`].
pub struct IntoIter<K, V> {
    table: Table<(K, V)>,
    cursor: Cursor,
    entries: vec::IntoIter<(K, V)>,
    left: usize,
}

/// All entries of a dictionary, which is empty afterwards; see [`Dict::drain`].
pub struct Drain<'a, K, V> {
    entries: IntoIter<K, V>,
    borrows: PhantomData<&'a mut Table<(K, V)>>,
}

/// Keys; see [`Dict::keys`].
pub struct Keys<'a, K, V>(Iter<'a, K, V>);

/// Values; see [`Dict::values`].
pub struct Values<'a, K, V>(Iter<'a, K, V>);

/// Keys by value; see [`Dict::into_keys`].
pub struct IntoKeys<K, V>(IntoIter<K, V>);

/// Values by value; see [`Dict::into_values`].
pub struct IntoValues<K, V>(IntoIter<K, V>);

/// Values that can be changed; see [`Dict::values_mut`].
pub struct ValuesMut<'a, K, V>(IterMut<'a, K, V>);

impl<K, V, S> Dict<K, V, S> {
    /// All entries, in no particular order. Costs three to five nanoseconds an entry.
    #[must_use]
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter {
            table: &self.table,
            cursor: Cursor::START,
            slice: [].iter(),
            left: self.len(),
        }
    }

    /// All entries, with values that can be changed.
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut {
            left: self.len(),
            table: &mut self.table,
            cursor: Cursor::START,
            slice: [].iter_mut(),
        }
    }

    /// All keys.
    #[must_use]
    pub fn keys(&self) -> Keys<'_, K, V> {
        Keys(self.iter())
    }

    /// All values.
    #[must_use]
    pub fn values(&self) -> Values<'_, K, V> {
        Values(self.iter())
    }

    /// All values, to change them.
    pub fn values_mut(&mut self) -> ValuesMut<'_, K, V> {
        ValuesMut(self.iter_mut())
    }

    /// All keys, by value.
    #[must_use]
    pub fn into_keys(self) -> IntoKeys<K, V> {
        IntoKeys(self.into_iter())
    }

    /// All values, by value.
    #[must_use]
    pub fn into_values(self) -> IntoValues<K, V> {
        IntoValues(self.into_iter())
    }

    /// Removes all entries. The dictionary is empty even if the iterator is not run to its end.
    pub fn drain(&mut self) -> Drain<'_, K, V> {
        let table = core::mem::replace(&mut self.table, Table::new());
        Drain {
            entries: IntoIter::new(table),
            borrows: PhantomData,
        }
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Dict<K, V, S> {
    /// Removes the entries for which `keep` is false. Visits each entry exactly once, and becomes smaller on the way.
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        let mut cursor = Cursor::START;
        while self.retain_step(&mut cursor, &mut keep) {}
    }

    /// Retains as [`Self::retain`], for the next step of a walk. Returns `false` when the walk was at its end. See
    /// [`Self::walk`] for the entries that a walk sees when the dictionary changes between steps.
    pub fn retain_step(
        &mut self,
        cursor: &mut Cursor,
        mut keep: impl FnMut(&K, &mut V) -> bool,
    ) -> bool {
        self.extract_step(cursor, |key, value| !keep(key, value), drop)
    }

    /// Removes the entries for which `take` is true in the next step of a walk, and passes them to `taken`. Returns
    /// `false` when the walk was at its end.
    pub fn extract_step(
        &mut self,
        cursor: &mut Cursor,
        mut take: impl FnMut(&K, &mut V) -> bool,
        taken: impl FnMut((K, V)),
    ) -> bool {
        let keys = MapKeys(&self.state);
        let take = |(key, value): &mut (K, V)| take(key, value);
        match self.table.extract_step(*cursor, &keys, take, taken) {
            Some(next) => {
                *cursor = next;
                true
            }
            None => false,
        }
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.slice.next() {
                self.left -= 1;
                return Some((key, value));
            }
            let step = self.table.step(self.cursor)?;
            self.slice = step.entries.iter();
            self.cursor = step.next;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }

    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut each: F) -> B {
        let mut state = init;
        loop {
            for (key, value) in self.slice {
                state = each(state, (key, value));
            }
            let Some(step) = self.table.step(self.cursor) else {
                return state;
            };
            self.slice = step.entries.iter();
            self.cursor = step.next;
        }
    }
}

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);

    #[inline]
    #[allow(unsafe_code)]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.slice.next() {
                self.left -= 1;
                return Some((key, value));
            }
            let (entries, next) = self.table.step_mut(self.cursor)?;
            let entries: *mut [(K, V)] = entries;
            // SAFETY: `self` has the table to itself for `'a` and does not change it, and each step
            // gives other entries than all before, because the cursor only goes on.
            self.slice = unsafe { (*entries).iter_mut() };
            self.cursor = next;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, V> IntoIter<K, V> {
    fn new(table: Table<(K, V)>) -> Self {
        Self {
            left: table.len(),
            table,
            cursor: Cursor::START,
            entries: Vec::new().into_iter(),
        }
    }
}

impl<K, V> Iterator for IntoIter<K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.entries.next() {
                self.left -= 1;
                return Some(entry);
            }
            let (entries, next) = self.table.take_step(self.cursor)?;
            self.entries = entries.into_iter();
            self.cursor = next;
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<K, V> Iterator for Drain<'_, K, V> {
    type Item = (K, V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.entries.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.entries.size_hint()
    }
}

impl<'a, K, V> Iterator for Keys<'a, K, V> {
    type Item = &'a K;

    #[inline]
    fn next(&mut self) -> Option<&'a K> {
        self.0.next().map(|(key, _)| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, K, V> Iterator for Values<'a, K, V> {
    type Item = &'a V;

    #[inline]
    fn next(&mut self) -> Option<&'a V> {
        self.0.next().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<'a, K, V> Iterator for ValuesMut<'a, K, V> {
    type Item = &'a mut V;

    #[inline]
    fn next(&mut self) -> Option<&'a mut V> {
        self.0.next().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> Iterator for IntoKeys<K, V> {
    type Item = K;

    #[inline]
    fn next(&mut self) -> Option<K> {
        self.0.next().map(|(key, _)| key)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> Iterator for IntoValues<K, V> {
    type Item = V;

    #[inline]
    fn next(&mut self) -> Option<V> {
        self.0.next().map(|(_, value)| value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}
impl<K, V> ExactSizeIterator for IntoKeys<K, V> {}
impl<K, V> ExactSizeIterator for IntoValues<K, V> {}
impl<K, V> FusedIterator for IntoKeys<K, V> {}
impl<K, V> FusedIterator for IntoValues<K, V> {}
impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}
impl<K, V> ExactSizeIterator for IntoIter<K, V> {}
impl<K, V> ExactSizeIterator for Drain<'_, K, V> {}
impl<K, V> ExactSizeIterator for Keys<'_, K, V> {}
impl<K, V> ExactSizeIterator for Values<'_, K, V> {}
impl<K, V> ExactSizeIterator for ValuesMut<'_, K, V> {}
impl<K, V> FusedIterator for Iter<'_, K, V> {}
impl<K, V> FusedIterator for IterMut<'_, K, V> {}
impl<K, V> FusedIterator for IntoIter<K, V> {}
impl<K, V> FusedIterator for Drain<'_, K, V> {}
impl<K, V> FusedIterator for Keys<'_, K, V> {}
impl<K, V> FusedIterator for Values<'_, K, V> {}
impl<K, V> FusedIterator for ValuesMut<'_, K, V> {}

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Self {
            slice: self.slice.clone(),
            ..*self
        }
    }
}

impl<'a, K, V, S> IntoIterator for &'a Dict<K, V, S> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;

    fn into_iter(self) -> Iter<'a, K, V> {
        self.iter()
    }
}

impl<'a, K, V, S> IntoIterator for &'a mut Dict<K, V, S> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;

    fn into_iter(self) -> IterMut<'a, K, V> {
        self.iter_mut()
    }
}

impl<K, V, S> IntoIterator for Dict<K, V, S> {
    type Item = (K, V);
    type IntoIter = IntoIter<K, V>;

    fn into_iter(self) -> IntoIter<K, V> {
        IntoIter::new(self.table)
    }
}
