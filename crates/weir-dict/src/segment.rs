//! A segment: up to 250 entries without gaps, and the index over them.

use alloc::vec::Vec;

use crate::error::AllocError;
use crate::group::{self, Group, Lane, home_of, tag_of};

/// Groups in the index of a full-size segment: 300 lanes for 250 entries.
pub(crate) const GROUPS: usize = 20;
/// Entries in a segment, at most: a position is a byte, and a split moves half of them.
pub(crate) const ENTRIES_MAX: usize = 250;

/// A full-size segment. A directory has many of them.
///
/// Aligned so that each group lies in one cache line.
#[repr(C, align(64))]
pub(crate) struct Segment<T> {
    pub(crate) groups: [Group; GROUPS],
    pub(crate) entries: Vec<T>,
    /// Upper bits of the hash that all entries share.
    pub(crate) depth: u32,
    /// These bits, and zeros.
    pub(crate) prefix: u64,
}

/// A segment on its own, whose index is as small as its entries allow.
#[repr(align(16))]
pub(crate) struct Single<T> {
    pub(crate) groups: Vec<Group>,
    pub(crate) entries: Vec<T>,
}

/// What both kinds have, to change it.
pub(crate) struct Parts<'a, T> {
    pub(crate) groups: &'a mut [Group],
    pub(crate) entries: &'a mut Vec<T>,
}

impl<T> Segment<T> {
    pub(crate) const fn new(prefix: u64, depth: u32) -> Self {
        Self {
            groups: [Group::EMPTY; GROUPS],
            entries: Vec::new(),
            depth,
            prefix,
        }
    }

    pub(crate) fn parts(&mut self) -> Parts<'_, T> {
        Parts {
            groups: &mut self.groups,
            entries: &mut self.entries,
        }
    }

    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(&T) -> bool) -> Result<Lane, bool> {
        let home = home_of(hash, GROUPS);
        group::find(&self.groups, home, tag_of(hash), |at| {
            self.entries.get(at).is_some_and(&mut is)
        })
    }
}

impl<T> Segment<T> {
    /// The lane of the entry at a position.
    pub(crate) fn find_position(&self, hash: u64, position: usize) -> Result<Lane, bool> {
        let home = home_of(hash, GROUPS);
        group::find(&self.groups, home, tag_of(hash), |own| own == position)
    }
}

impl<T> Single<T> {
    pub(crate) const fn new() -> Self {
        Self {
            groups: Vec::new(),
            entries: Vec::new(),
        }
    }

    pub(crate) fn parts(&mut self) -> Parts<'_, T> {
        Parts {
            groups: &mut self.groups,
            entries: &mut self.entries,
        }
    }

    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, mut is: impl FnMut(&T) -> bool) -> Option<Lane> {
        let home = home_of(hash, self.groups.len());
        group::find(&self.groups, home, tag_of(hash), |at| {
            self.entries.get(at).is_some_and(&mut is)
        })
        .ok()
    }

    /// Makes room for `count` entries in all; fewer than there are make it smaller.
    pub(crate) fn resize(
        &mut self,
        count: usize,
        hash_of: &impl Fn(&T) -> u64,
    ) -> Result<(), AllocError> {
        let count = count.clamp(self.entries.len(), ENTRIES_MAX);
        let groups = count.div_ceil(12).max(1);
        if groups != self.groups.len() {
            let mut hashes = [0; ENTRIES_MAX];
            hash_all(&self.entries, &mut hashes, hash_of);
            let mut new = Vec::new();
            reserve(&mut new, groups)?;
            new.resize(groups, Group::EMPTY);
            for (position, hash) in hashes.iter().take(self.entries.len()).enumerate() {
                group::insert(&mut new, home_of(*hash, groups), tag_of(*hash), position);
            }
            self.groups = new;
        }
        fit(&mut self.entries, count)
    }
}

impl<T> Parts<'_, T> {
    /// Adds an entry, for which there is room.
    #[inline(always)]
    pub(crate) fn push(&mut self, hash: u64, entry: T) -> Lane {
        let position = self.entries.len();
        debug_assert!(position < ENTRIES_MAX);
        let home = home_of(hash, self.groups.len());
        let lane = group::insert(self.groups, home, tag_of(hash), position);
        self.entries.push(entry);
        lane
    }

    /// Takes the entry at `lane` out. The last entry takes its place.
    ///
    /// Nothing has changed when `hash_of` panics.
    #[inline]
    pub(crate) fn remove(&mut self, hash: u64, lane: Lane, hash_of: &impl Fn(&T) -> u64) -> T {
        let count = self.groups.len();
        let last = self.entries.len() - 1;
        if lane.position != last {
            let moved = hash_of(&self.entries[last]);
            let home = home_of(moved, count);
            match group::find(self.groups, home, tag_of(moved), |at| at == last) {
                Ok(moved) => group::set_position(self.groups, moved, lane.position),
                Err(_) => self.repair(last, lane.position),
            }
        }
        group::remove(self.groups, home_of(hash, count), lane);
        self.entries.swap_remove(lane.position)
    }

    /// Takes the entry at a position out, if `take` says so, which gets the hash function along.
    pub(crate) fn extract<H: Fn(&T) -> u64>(
        &mut self,
        at: usize,
        hash_of: &H,
        take: impl FnOnce(&H, &mut T) -> bool,
    ) -> Option<T> {
        let entry = self.entries.get_mut(at)?;
        if !take(hash_of, entry) {
            return None;
        }
        let hash = hash_of(entry);
        let home = home_of(hash, self.groups.len());
        let lane = group::find(self.groups, home, tag_of(hash), |own| own == at).ok()?;
        Some(self.remove(hash, lane, hash_of))
    }

    /// A key whose hash is not what it was when it came in: finds its lane the long way.
    #[cold]
    fn repair(&mut self, from: usize, to: usize) {
        group::move_position(self.groups, from, to);
    }

    /// Builds the index anew from the hashes of the entries.
    pub(crate) fn index(&mut self, hashes: &[u64]) {
        group::clear(self.groups);
        let count = self.groups.len();
        for (position, hash) in hashes.iter().take(self.entries.len()).enumerate() {
            let home = home_of(*hash, count);
            group::insert(self.groups, home, tag_of(*hash), position);
        }
    }
}

/// Writes the hashes of all entries to the front of `hashes`.
pub(crate) fn hash_all<T>(
    entries: &[T],
    hashes: &mut [u64; ENTRIES_MAX],
    hash_of: &impl Fn(&T) -> u64,
) {
    for (hash, entry) in hashes.iter_mut().zip(entries) {
        *hash = hash_of(entry);
    }
}

/// The capacity of a segment that has to take more than `len` entries: one eighth more, so that no
/// more than that is ever unused, and an entry is copied five times until the segment splits.
pub(crate) const fn roomy(len: usize) -> usize {
    let room = len + len / 8 + 3;
    if room < ENTRIES_MAX {
        room
    } else {
        ENTRIES_MAX
    }
}

/// Room for exactly `more` entries more.
pub(crate) fn reserve<T>(entries: &mut Vec<T>, more: usize) -> Result<(), AllocError> {
    entries
        .try_reserve_exact(more)
        .map_err(|_| AllocError::array::<T>(entries.len().saturating_add(more)))
}

/// Makes the capacity `count`, or the number of entries where that is larger.
pub(crate) fn fit<T>(entries: &mut Vec<T>, count: usize) -> Result<(), AllocError> {
    if count > entries.capacity() {
        reserve(entries, count - entries.len())
    } else {
        entries.shrink_to(count);
        Ok(())
    }
}
