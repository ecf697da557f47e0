//! Walks that survive insertion and removal.
//!
//! Entries are walked in the order of their places: their hashes with the bits reversed. A cursor is a place: all
//! entries below it have been seen, all others have not, whatever segments have split or merged since. Cursors are not
//! registered with the dictionary, so any number of them can be stored for any time.

use core::hash::{BuildHasher, Hash};

use alloc::vec::Vec;

use crate::Dict;
use crate::dict::MapKeys;
use crate::directory::after_range;
use crate::table::{Keys, Large, Table, View, ViewMut};

/// A place in a walk over a dictionary; see [`Dict::walk`].
///
/// It belongs to one dictionary, or to its clones; with another it gives some entries of that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Cursor {
    phase: Phase,
    at: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Phase {
    /// The walk is in the order of the first hash.
    Main,
    /// The walk is in the order of the second hash.
    Deep,
    /// The walk is in the order of numbers.
    List,
    Done,
}

/// Entries of the list in one step, at most.
const LIST_STEP: usize = 250;

/// One step: the entries of a segment.
pub(crate) struct Step<'a, T> {
    pub(crate) entries: &'a [T],
    /// Entries with a lower place have been visited. `None` means that no entry has been.
    from: Option<u64>,
    pub(crate) next: Cursor,
}

/// The entries of one step of a walk; see [`Dict::walk`].
pub struct Walk<'a, K, V, S> {
    entries: core::slice::Iter<'a, (K, V)>,
    filter: Option<(u64, Phase)>,
    keys: MapKeys<'a, S>,
}

impl Cursor {
    /// The position before the first entry.
    pub const START: Self = Self::main(0);
    const DONE: Self = Self {
        phase: Phase::Done,
        at: 0,
    };
    const DEEP: Self = Self::deep(0);

    const fn main(at: u64) -> Self {
        Self {
            phase: Phase::Main,
            at,
        }
    }

    const fn deep(at: u64) -> Self {
        Self {
            phase: Phase::Deep,
            at,
        }
    }

    const fn list(at: u64) -> Self {
        Self {
            phase: Phase::List,
            at,
        }
    }

    /// True after the last entry.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        matches!(self.phase, Phase::Done)
    }
}

impl Default for Cursor {
    fn default() -> Self {
        Self::START
    }
}

impl<K: Hash + Eq, V, S: BuildHasher> Dict<K, V, S> {
    /// Returns the next few entries of a walk over all, about twenty of a large dictionary, or `None` at its end.
    /// Between steps the dictionary may change in any way, and the cursor may be copied, stored, and continued later,
    /// in a clone as well. It may be serialised (feature `serde`) and means the same in another process when the hasher
    /// has the same key there, which [`ProcessKey`](crate::ProcessKey) has not.
    ///
    /// Guarantee: an entry that is there from the first step to the last is seen exactly once. An entry that comes or
    /// goes meanwhile is seen once or not at all. (An entry that is removed and inserted again is another entry.)
    ///
    /// The guarantee requires that the hash of a key stays the same, as every method does.
    ///
    /// ```
    /// use weir_dict::{Cursor, Dict};
    ///
    /// let mut dict: Dict<u32, u32> = (0..1_000).map(|key| (key, 0)).collect();
    /// let (mut cursor, mut seen) = (Cursor::START, 0);
    /// while let Some(entries) = dict.walk(&mut cursor) {
    ///     seen += entries.filter(|(key, _)| **key < 1_000).count();
    ///     let new = dict.len() as u32;
    ///     dict.insert(new, 1);
    /// }
    /// assert_eq!(seen, 1_000);
    /// ```
    pub fn walk(&self, cursor: &mut Cursor) -> Option<Walk<'_, K, V, S>> {
        let phase = cursor.phase;
        let step = self.table.step(*cursor)?;
        *cursor = step.next;
        Some(Walk {
            entries: step.entries.iter(),
            filter: step.from.map(|from| (from, phase)),
            keys: MapKeys(&self.state),
        })
    }
}

impl<'a, K: Hash, V, S: BuildHasher> Iterator for Walk<'a, K, V, S> {
    type Item = (&'a K, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let entry = self.entries.next()?;
            if self
                .filter
                .is_none_or(|(from, phase)| place_in(phase, &self.keys, entry) >= from)
            {
                return Some((&entry.0, &entry.1));
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.entries.len()))
    }
}

fn place_in<T>(phase: Phase, keys: &impl Keys<T>, entry: &T) -> u64 {
    match phase {
        Phase::Main => keys.first(entry).reverse_bits(),
        // Lists are cut at the number itself, and never filtered.
        Phase::Deep | Phase::List | Phase::Done => keys.second(entry).reverse_bits(),
    }
}

impl<T> Table<T> {
    /// The entries from a cursor on, up to the end of their segment. `None` at the end.
    pub(crate) fn step(&self, cursor: Cursor) -> Option<Step<'_, T>> {
        match (cursor.phase, self.view()) {
            (Phase::Main, View::Small(entries)) => Some(Step::all(entries, cursor.at)),
            (Phase::Main, View::Single(single)) => Some(Step::all(single.entries(), cursor.at)),
            (Phase::Main, View::Large(large)) => {
                let hash = cursor.at.reverse_bits();
                let (from, next) = range(cursor.at, large.main.depth(hash));
                Some(Step {
                    entries: large.main.segment(hash).entries(),
                    from,
                    next: next.map_or(Cursor::DEEP, Cursor::main),
                })
            }
            (Phase::Deep, View::Large(large)) => {
                let deep = &large.deep.as_ref()?.table;
                let hash = cursor.at.reverse_bits();
                let (from, next) = range(cursor.at, deep.depth(hash));
                Some(Step {
                    entries: deep.segment(hash).entries(),
                    from,
                    next: next.map_or(Cursor::list(0), Cursor::deep),
                })
            }
            (Phase::List, View::Large(large)) => {
                let deep = large.deep.as_ref()?;
                let (start, end, next) = deep.list_range(cursor.at);
                Some(Step {
                    entries: deep.list.get(start..end)?,
                    from: None,
                    next: next.map_or(Cursor::DONE, Cursor::list),
                })
            }
            _ => None,
        }
    }

    /// A step as [`Self::step`], for a walk during which nothing changes.
    pub(crate) fn step_mut(&mut self, cursor: Cursor) -> Option<(&mut [T], Cursor)> {
        let next = self.step(cursor)?.next;
        let hash = cursor.at.reverse_bits();
        let entries = match (cursor.phase, self.view_mut()) {
            (Phase::Main, ViewMut::Small(entries)) => entries,
            (Phase::Main, ViewMut::Single(single)) => single.entries_mut(),
            (Phase::Main, ViewMut::Large(large)) => large.main.entries_mut(hash),
            (Phase::Deep, ViewMut::Large(large)) => large.deep.as_mut()?.table.entries_mut(hash),
            (Phase::List, ViewMut::Large(large)) => {
                let deep = large.deep.as_mut()?;
                let (start, end, _) = deep.list_range(cursor.at);
                deep.list.get_mut(start..end)?
            }
            _ => return None,
        };
        Some((entries, next))
    }

    /// Removes the entries of a step, leaving a table that can only be walked on in this way.
    pub(crate) fn take_step(&mut self, cursor: Cursor) -> Option<(Vec<T>, Cursor)> {
        let next = self.step(cursor)?.next;
        let hash = cursor.at.reverse_bits();
        let entries = match (cursor.phase, self.view_mut()) {
            (Phase::Main, ViewMut::Small(_)) => self.take_block(),
            (Phase::Main, ViewMut::Single(single)) => single.take_entries(),
            (Phase::Main, ViewMut::Large(large)) => large.main.take_entries(hash),
            (Phase::Deep, ViewMut::Large(large)) => large.deep.as_mut()?.table.take_entries(hash),
            (Phase::List, ViewMut::Large(large)) => {
                let deep = large.deep.as_mut()?;
                let (start, end, _) = deep.list_range(cursor.at);
                deep.numbers.drain(start..end);
                deep.list.drain(start..end).collect()
            }
            _ => return None,
        };
        Some((entries, next))
    }

    /// Removes the entries of the next step for which `take` is true.
    pub(crate) fn extract_step(
        &mut self,
        cursor: Cursor,
        keys: &impl Keys<T>,
        mut take: impl FnMut(&mut T) -> bool,
        mut taken: impl FnMut(T),
    ) -> Option<Cursor> {
        let Step { from, next, .. } = self.step(cursor)?;
        let hash = cursor.at.reverse_bits();
        let phase = cursor.phase;
        let is_due = |entry: &T| from.is_none_or(|from| place_in(phase, keys, entry) >= from);
        match (phase, self.view_mut()) {
            (Phase::Main, ViewMut::Small(_)) => {
                self.extract_small(|entry| is_due(entry) && take(entry), taken);
            }
            (Phase::Main, ViewMut::Single(single)) => {
                single.extract(|entry| is_due(entry) && take(entry), taken);
            }
            (Phase::Main, ViewMut::Large(Large { main, .. })) => {
                main.extract(hash, |entry| is_due(entry) && take(entry), taken);
            }
            (Phase::Deep, ViewMut::Large(large)) => {
                let deep = &mut large.deep.as_mut()?.table;
                deep.extract(hash, |entry| is_due(entry) && take(entry), taken);
            }
            (Phase::List, ViewMut::Large(large)) => {
                let deep = large.deep.as_mut()?;
                let (start, mut at, _) = deep.list_range(cursor.at);
                while at > start {
                    at -= 1;
                    if deep.list.get_mut(at).is_some_and(&mut take) {
                        deep.numbers.remove(at);
                        taken(deep.list.remove(at));
                    }
                }
            }
            _ => return None,
        }
        self.tighten();
        Some(next)
    }
}

impl<'a, T> Step<'a, T> {
    /// Creates the step of a table that has no ranges of places.
    fn all(entries: &'a [T], at: u64) -> Self {
        Self {
            entries,
            from: (at > 0).then_some(at),
            next: Cursor::DEEP,
        }
    }
}

/// Returns, for a cursor within a segment of `depth`, the end of the part to skip, and the beginning of the next
/// segment.
fn range(at: u64, depth: u32) -> (Option<u64>, Option<u64>) {
    let start = at & !u64::MAX.unbounded_shr(depth);
    ((at > start).then_some(at), after_range(at, depth))
}

impl<T> crate::table::Deep<T> {
    /// The list's entries from number `at` on, as positions, and the number after them.
    fn list_range(&self, at: u64) -> (usize, usize, Option<u64>) {
        let start = self.numbers.partition_point(|number| *number < at);
        let end = self.list.len().min(start + LIST_STEP);
        (start, end, self.numbers.get(end).copied())
    }
}
