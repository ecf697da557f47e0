//! The directory: from a hash to its segment, growing one segment at a time.
//!
//! It is a linear hash table. Segments are numbered; the lowest bits of a hash are the number of its segment, and in
//! each sweep the segments split in the order of their numbers, which makes one more bit of the hash significant. The
//! segment of a hash is computed without a look-up. A segment that is full before its turn has a flag, and the entries
//! that do not fit are stored elsewhere.
//!
//! A walk goes by the hashes with their bits reversed: in this order a segment and those that it splits
//! into are one range, so a place in a walk is a reversed hash, whatever has split or merged since.

use alloc::vec::Vec;

use crate::error::AllocError;
use crate::segment::{LANES, Lanes, Segment, Step, tag_of};
use crate::slab::Slab;

/// A sweep begins when the segments have so many entries on average ...
const SWEEP_START: usize = 26;
/// ... and one segment splits with so many insertions. At the end of a sweep, those that have not split
/// yet have 38 on average; six in a thousand of them are full.
const SWEEP_STEP: usize = 12;

/// The number of entries at which the only segment of a directory splits.
const ALONE: usize = 40;

/// A directory of fewer entries than this may have a quarter of its entries' memory unused, others a seventh.
const SPARING_FROM: usize = 800;

/// Segments by the lowest bits of the hash.
pub(crate) struct Directory<T> {
    slab: Slab<T>,
    len: usize,
    /// The number of entries at which a segment splits.
    split_at: usize,
    /// The number of entries below which two segments are merged.
    merge_below: usize,
    /// The number of bytes of the entries' allocations.
    entry_bytes: usize,
}

/// The number of entries at which one of `segments` splits.
const fn split_at(segments: usize) -> usize {
    if segments == 1 {
        return ALONE;
    }
    let half = 1 << segments.ilog2();
    SWEEP_START * half + SWEEP_STEP * (segments - half)
}

/// Returns the number of entries below which there is one segment less: two thirds of what would split it again.
const fn merge_below(segments: usize) -> usize {
    match segments {
        1 => 0,
        2 => ALONE * 9 / 10,
        _ => split_at(segments - 1) / 3 * 2,
    }
}

/// Returns how much room a segment gets that grows or splits, in a directory of `len` entries: less when much is
/// unused.
const fn step<T>(len: usize, entry_bytes: usize) -> Step {
    let used = len * size_of::<T>();
    let part = if len < SPARING_FROM { 4 } else { 7 };
    if entry_bytes < used + used / part {
        Step::Ample
    } else {
        Step::Roomy
    }
}

/// Room for one entry in the segment of a hash.
pub(crate) struct Room<'a, T> {
    segment: &'a mut Segment<T>,
    len: &'a mut usize,
    hash: u64,
}

/// The result of a search for the entry of a key.
pub(crate) enum Place<'a, T> {
    Entry(&'a mut T),
    /// There is no such entry, and there is room for it.
    Room(Room<'a, T>),
    /// There is no such entry, and no room in its segment.
    Full,
    /// If there is such an entry, it is not in its segment.
    Elsewhere,
}

impl<T> Room<'_, T> {
    /// Adds the entry; returns its place in its segment.
    #[inline(always)]
    pub(crate) fn push(self, entry: T) -> usize {
        *self.len += 1;
        self.segment.push(tag_of(self.hash), entry)
    }
}

impl<T> Directory<T> {
    /// A directory of one segment without entries.
    pub(crate) fn new() -> Result<Self, AllocError> {
        Ok(Self {
            slab: Slab::new(Segment::new())?,
            len: 0,
            split_at: split_at(1),
            merge_below: 0,
            entry_bytes: 0,
        })
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn segments(&self) -> usize {
        self.slab.len()
    }

    /// The number of bytes of all allocations below this value.
    pub(crate) const fn allocated_bytes(&self) -> usize {
        self.slab.allocated_bytes() + self.entry_bytes
    }

    /// Finds an entry's place in its segment; otherwise returns whether the segment has entries elsewhere.
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, is: impl FnMut(&T) -> bool) -> Result<usize, bool> {
        self.slab.of(hash).find(tag_of(hash), is)
    }

    /// The segment in which a hash belongs.
    #[inline(always)]
    pub(crate) fn segment(&self, hash: u64) -> &Segment<T> {
        self.slab.of(hash)
    }

    /// The segment as [`Self::segment`], mutable.
    #[inline(always)]
    pub(crate) fn segment_mut(&mut self, hash: u64) -> &mut Segment<T> {
        self.slab.of_mut(hash)
    }

    /// The entries of the segment in which a hash belongs.
    #[inline(always)]
    pub(crate) fn entries_mut(&mut self, hash: u64) -> &mut [T] {
        self.slab.of_mut(hash).entries_mut()
    }

    /// The number of the lowest bits that a hash shares with the others of its segment.
    pub(crate) fn depth(&self, hash: u64) -> u32 {
        self.slab.depth(self.slab.number(hash))
    }

    /// Whether no segment has to split before one more entry is added.
    #[inline(always)]
    pub(crate) const fn is_settled(&self) -> bool {
        self.len < self.split_at
    }

    /// Finds an entry or room for it, with one access to its segment.
    #[inline(always)]
    pub(crate) fn place(&mut self, hash: u64, is: impl FnMut(&T) -> bool) -> Place<'_, T> {
        let Self { slab, len, .. } = self;
        let segment = slab.of_mut(hash);
        match segment.find(tag_of(hash), is) {
            Ok(at) => Place::Entry(&mut segment.entries_mut()[at]),
            Err(true) => Place::Elsewhere,
            Err(false) if segment.has_room() => Place::Room(Room { segment, len, hash }),
            Err(false) => Place::Full,
        }
    }

    /// Makes room for one entry. Returns `None` when its segment is full.
    ///
    /// Moves at most [`LANES`] entries. The directory is unchanged when `hash_of` panics or memory is exhausted.
    #[inline(always)]
    pub(crate) fn room(
        &mut self,
        hash: u64,
        hash_of: &impl Fn(&T) -> u64,
    ) -> Result<Option<Room<'_, T>>, AllocError> {
        if self.len >= self.split_at {
            self.split(hash_of)?;
        }
        let Self {
            slab,
            len,
            entry_bytes,
            ..
        } = self;
        let segment = slab.of_mut(hash);
        if !segment.has_room() && !Self::grow(segment, *len, entry_bytes)? {
            return Ok(None);
        }
        Ok(Some(Room { segment, len, hash }))
    }

    /// Allocates memory for one more entry of a segment of a directory with `len`. Returns `false` when the segment is
    /// full.
    #[cold]
    #[inline(never)]
    fn grow(
        segment: &mut Segment<T>,
        len: usize,
        entry_bytes: &mut usize,
    ) -> Result<bool, AllocError> {
        if segment.len() == LANES {
            return Ok(false);
        }
        let before = segment.bytes();
        segment.grow(step::<T>(len, *entry_bytes))?;
        *entry_bytes = *entry_bytes + segment.bytes() - before;
        Ok(true)
    }

    /// Removes the entry at a place of a segment. Moves the entries of one segment at most.
    #[inline(always)]
    pub(crate) fn remove(&mut self, hash: u64, at: usize) -> T {
        let segment = self.slab.of_mut(hash);
        let entry = segment.swap_remove(at);
        self.len -= 1;
        if segment.capacity() > 2 * segment.len() + 8 || self.len < self.merge_below {
            self.settle(hash);
        }
        entry
    }

    /// Finds an entry and removes it; otherwise returns whether its segment has entries elsewhere. Moves at most one
    /// segment's entries.
    #[inline(always)]
    pub(crate) fn take(&mut self, hash: u64, is: impl FnMut(&T) -> bool) -> Result<T, bool> {
        let segment = self.slab.of_mut(hash);
        let at = segment.find(tag_of(hash), is)?;
        let entry = segment.swap_remove(at);
        self.len -= 1;
        if segment.capacity() > 2 * segment.len() + 8 || self.len < self.merge_below {
            self.settle(hash);
        }
        Ok(entry)
    }

    /// Shrinks the segment of `hash` and merges two others, where a removal has made that due.
    #[cold]
    #[inline(never)]
    fn settle(&mut self, hash: u64) {
        let segment = self.slab.of_mut(hash);
        if segment.capacity() > 2 * segment.len() + 8 {
            self.tighten(hash, Step::Roomy);
        }
        if self.len < self.merge_below {
            self.merge();
        }
    }

    /// Frees memory after removals from the segment of `hash`.
    #[cold]
    #[inline(never)]
    fn tighten(&mut self, hash: u64, step: Step) {
        let segment = self.slab.of_mut(hash);
        let before = segment.bytes();
        segment.shrink(step);
        self.entry_bytes = self.entry_bytes + segment.bytes() - before;
    }

    /// Removes the entries of the segment of `hash` for which `take` is true.
    pub(crate) fn extract(
        &mut self,
        hash: u64,
        take: impl FnMut(&mut T) -> bool,
        mut taken: impl FnMut(T),
    ) {
        let Self { slab, len, .. } = self;
        slab.of_mut(hash).extract(take, |entry| {
            *len -= 1;
            taken(entry);
        });
        self.tighten(hash, Step::Close);
        // There is a merger for every eight removed entries, which makes seven at most.
        while self.len < self.merge_below && self.merge() {}
    }

    /// Splits the segment whose turn it is.
    #[cold]
    #[inline(never)]
    fn split(&mut self, hash_of: &impl Fn(&T) -> u64) -> Result<(), AllocError> {
        let number = self.slab.len();
        let depth = number.ilog2();
        let lower = number - (1 << depth);
        // All that can fail comes first.
        self.slab.reserve()?;
        let step = step::<T>(self.len, self.entry_bytes);
        let segment = self.slab.get_mut(lower);
        let mut moves = 0_u64;
        for (at, entry) in segment.entries().iter().enumerate() {
            moves |= (hash_of(entry) >> depth & 1) << at;
        }
        let before = segment.bytes();
        let upper = segment.split(moves, step)?;
        self.entry_bytes = self.entry_bytes + segment.bytes() + upper.bytes() - before;
        self.slab.push(upper);
        self.set_bounds();
        Ok(())
    }

    /// Updates the numbers of entries at which the number of segments changes again.
    fn set_bounds(&mut self) {
        let count = self.slab.len();
        self.split_at = split_at(count);
        self.merge_below = merge_below(count);
    }

    /// Splits segments until there are as many as `total` entries need, and allocates memory for the average number of
    /// entries in each.
    pub(crate) fn reserve(
        &mut self,
        total: usize,
        hash_of: &impl Fn(&T) -> u64,
    ) -> Result<(), AllocError> {
        // An allocation that is refused in one piece is not tried in many small ones, which some systems grant until
        // they kill the process.
        Vec::<T>::new()
            .try_reserve_exact(total)
            .map_err(|_| AllocError::array::<T>(total))?;
        while self.split_at <= total {
            self.split(hash_of)?;
        }
        let average = total / self.slab.len();
        for number in 0..self.slab.len() {
            let segment = self.slab.get_mut(number);
            let before = segment.bytes();
            segment.grow_to(average, Step::Roomy)?;
            self.entry_bytes = self.entry_bytes + segment.bytes() - before;
        }
        Ok(())
    }

    /// Frees memory that no entry needs.
    pub(crate) fn shrink(&mut self) {
        while self.slab.len() > 1
            && self.len < split_at(self.slab.len() - 1) / 10 * 9
            && self.merge()
        {}
        for number in 0..self.slab.len() {
            let segment = self.slab.get_mut(number);
            let before = segment.bytes();
            segment.shrink_to_fit();
            self.entry_bytes = self.entry_bytes + segment.bytes() - before;
        }
    }

    /// Merges the last segment with the one that it has been split from. Without memory, or when both do not fit into
    /// one, nothing changes. Hashes nothing.
    #[cold]
    #[inline(never)]
    fn merge(&mut self) -> bool {
        let count = self.slab.len();
        if count == 1 {
            return false;
        }
        let number = count - 1;
        let upper_len = self.slab.get_mut(number).len();
        let lower = self.slab.get_mut(number - (1 << number.ilog2()));
        let len = lower.len() + upper_len;
        let before = lower.bytes();
        if len > LANES || (upper_len > 0 && lower.grow_to(len, Step::Close).is_err()) {
            return false;
        }
        self.entry_bytes = self.entry_bytes + lower.bytes() - before;
        let Some(mut upper) = self.slab.pop() else {
            return false;
        };
        self.set_bounds();
        self.entry_bytes -= upper.bytes();
        // The slab may have moved.
        let lower = self.slab.get_mut(number - (1 << number.ilog2()));
        lower.push_all_of(&mut upper);
        if upper.is_over() {
            lower.set_over();
        }
        self.prefetch_pair(number - 1, Segment::prefetch_all);
        self.prefetch_pair(number.saturating_sub(2), Segment::prefetch);
        true
    }

    /// Prefetches what will be merged when segment `number` is the last: in a table that loses entries, the lines are
    /// fetched two mergers ahead, and the entries one.
    fn prefetch_pair(&self, number: usize, prefetch: impl Fn(&Segment<T>)) {
        if number > 0 {
            let lower = number - (1 << number.ilog2());
            self.slab.get(number).into_iter().for_each(&prefetch);
            self.slab.get(lower).into_iter().for_each(&prefetch);
        }
    }

    /// Marks the segment of `hash` as one that has entries elsewhere.
    pub(crate) fn set_over(&mut self, hash: u64) {
        self.slab.of_mut(hash).set_over();
    }

    /// Finds the lanes in its segment of the entries with a hash's tag, and prefetches the first of them; needs the
    /// line.
    #[inline(always)]
    pub(crate) fn prefetch_entry(&self, hash: u64) -> Lanes {
        let segment = self.segment(hash);
        let lanes = segment.lanes(tag_of(hash));
        segment.prefetch_first(lanes);
        lanes
    }

    /// Puts a segment in place of the first, of a directory without entries.
    pub(crate) fn adopt(&mut self, segment: Segment<T>) {
        debug_assert_eq!((self.len, self.segments()), (0, 1));
        self.len = segment.len();
        self.entry_bytes = segment.bytes();
        *self.slab.get_mut(0) = segment;
    }

    /// Removes the only segment; the directory has no entries after.
    pub(crate) fn take_only(&mut self) -> Segment<T> {
        debug_assert_eq!(self.segments(), 1);
        self.len = 0;
        self.entry_bytes = 0;
        core::mem::replace(self.slab.get_mut(0), Segment::new())
    }

    /// Removes all entries of the segment of `hash`, and leaves it empty.
    pub(crate) fn take_entries(&mut self, hash: u64) -> Vec<T> {
        let segment = self.slab.of_mut(hash);
        self.len -= segment.len();
        self.entry_bytes -= segment.bytes();
        segment.take_entries()
    }

    /// A directory with the same segments.
    pub(crate) fn duplicate(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut new = Self::new()?;
        for number in 0..self.slab.len() {
            // A segment's number is a hash that belongs there.
            let segment = self.slab.of(number as u64).duplicate()?;
            new.len += segment.len();
            new.entry_bytes += segment.bytes();
            if number == 0 {
                *new.slab.get_mut(0) = segment;
            } else {
                new.slab.reserve()?;
                new.slab.push(segment);
            }
        }
        new.set_bounds();
        Ok(new)
    }

    /// Checks all invariants.
    ///
    /// # Panics
    /// When one is broken.
    pub(crate) fn check(&self, hash_of: &impl Fn(&T) -> u64) {
        let (mut next, mut len, mut segments, mut bytes) = (Some(0_u64), 0, 0, 0);
        while let Some(start) = next {
            let depth = self.depth(start.reverse_bits());
            let segment = self.segment(start.reverse_bits());
            next = after_range(start, depth);
            let last = next.map_or(u64::MAX, |next| next - 1);
            segment.check(|entry| {
                let hash = hash_of(entry);
                assert!(
                    (start..=last).contains(&hash.reverse_bits()),
                    "an entry is where it belongs"
                );
                hash
            });
            len += segment.len();
            bytes += segment.bytes();
            segments += 1;
        }
        assert_eq!(len, self.len());
        assert_eq!(segments, self.segments());
        assert_eq!(bytes, self.entry_bytes);
        assert_eq!(self.split_at, split_at(segments));
        assert_eq!(self.merge_below, merge_below(segments));
    }
}

/// Returns the first place beyond the range of places around `at` that share `depth` bits; `None` at the end.
pub(crate) const fn after_range(at: u64, depth: u32) -> Option<u64> {
    (at | u64::MAX.unbounded_shr(depth)).checked_add(1)
}

/// Bytes of the allocation behind `entries`.
pub(crate) const fn bytes_of<T>(entries: &Vec<T>) -> usize {
    // Values without a size have a capacity without bounds, and no allocation.
    if size_of::<T>() == 0 {
        0
    } else {
        entries.capacity() * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_begins_where_the_last_one_has_ended_or_later() {
        for segments in 1..10_000 {
            assert!(split_at(segments + 1) > split_at(segments));
            // No merger makes a segment split.
            assert!(merge_below(segments + 1) < split_at(segments));
        }
    }
}
