//! A segment: up to 53 entries without gaps, and a cache line that leads to them.
//!
//! The line holds all that a search needs: a pointer to the entries, and a tag for each, in their order. The place of a
//! tag is the place of its entry, so a search reads this line and then the entry, and an entry moves without being
//! hashed again.
//!
//! Invariants:
//!
//! 1. `entries` is an allocation of `capacity` entries, or dangling when there is nothing to allocate.
//! 2. The first `len` of them are there, and `len <= capacity <= LANES`.
//! 3. `tags[at]` is not 0 exactly where `at < len`.

use alloc::alloc::{alloc, dealloc, realloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;

/// The number of entries in a segment, at most: as many as the rest of a cache line has octets.
pub(crate) const LANES: usize = LINE - HEAD;
const LINE: usize = 64;
const HEAD: usize = size_of::<NonNull<u8>>() + 3;

/// A block of up to so many bytes is resized by copying its entries to a new block instead of by `realloc`: glibc
/// serves blocks of this size from a list that `realloc` does not use. Longer ones it shortens in place.
const COPIED_MAX: usize = 1_024;

/// A segment, which is one cache line where a slab stores it. A single one is aligned as vector instructions need it:
/// allocators take several times as long for an alignment above their own.
#[repr(C, align(16))]
pub(crate) struct Segment<T> {
    entries: NonNull<T>,
    len: u8,
    capacity: u8,
    /// Entries that belong here are elsewhere.
    is_over: bool,
    tags: [u8; LANES],
}

/// The lanes of a segment with one tag.
#[derive(Clone, Copy)]
pub(crate) struct Lanes(u64);

impl Lanes {
    pub(crate) const NONE: Self = Self(0);
}

/// The tag of a hash: never 0, and of bits that do not lead to the segment.
#[inline(always)]
pub(crate) const fn tag_of(hash: u64) -> u8 {
    let tag = (hash >> 56) as u8;
    // There are 255 tags; the hashes 0 and 1 have the same tag.
    tag + (tag == 0) as u8
}

/// The unused room that a segment gets beyond its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A sixth and four, for a table with memory to spare.
    Ample,
    /// A tenth and three, so that half of that is unused on average, and an entry is copied about three times until its
    /// segment splits.
    Roomy,
    /// A sixteenth and one, in a table that loses entries.
    Close,
}

impl Step {
    /// The capacity of a segment of `len` entries that has room for one more at least, unless it is full.
    const fn capacity(self, len: usize) -> usize {
        let room = match self {
            Self::Ample => len + len / 6 + 4,
            Self::Roomy => len + len / 10 + 3,
            Self::Close => len + len / 16 + 1,
        };
        if room < LANES { room } else { LANES }
    }
}

impl<T> Segment<T> {
    /// A segment without entries, and without memory.
    pub(crate) const fn new() -> Self {
        Self {
            entries: NonNull::dangling(),
            len: 0,
            // Values without a size need no memory.
            capacity: if size_of::<T>() == 0 { LANES as u8 } else { 0 },
            is_over: false,
            tags: [0; LANES],
        }
    }

    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.len as usize
    }

    #[inline(always)]
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// The number of bytes of the entries' allocation.
    pub(crate) const fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }

    /// Whether entries that belong here are elsewhere.
    pub(crate) const fn is_over(&self) -> bool {
        self.is_over
    }

    pub(crate) const fn set_over(&mut self) {
        self.is_over = true;
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) const fn entries(&self) -> &[T] {
        // SAFETY: invariants 1 and 2.
        unsafe { core::slice::from_raw_parts(self.entries.as_ptr(), self.len as usize) }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) const fn entries_mut(&mut self) -> &mut [T] {
        // SAFETY: invariants 1 and 2; the borrow of `self` is unique.
        unsafe { core::slice::from_raw_parts_mut(self.entries.as_ptr(), self.len as usize) }
    }

    /// The lanes whose tag is `tag`, one bit each.
    #[inline(always)]
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    #[allow(unsafe_code)]
    fn matching(&self, tag: u8) -> u64 {
        use core::arch::x86_64::{
            __m128i, _mm_cmpeq_epi8, _mm_load_si128, _mm_movemask_epi8, _mm_set1_epi64x,
        };
        let mut line = core::ptr::from_ref(self).cast::<__m128i>();
        // SAFETY: no instruction, and nothing is read by it. Without it the compiler takes the head, which it reads
        // next, out of the first vector, by way of the stack.
        #[allow(clippy::pointers_in_nomem_asm_block)]
        unsafe {
            core::arch::asm!("/* {} */", inout(reg) line, options(pure, nomem, nostack, preserves_flags));
        }
        let all = u64::from(tag) * 0x0101_0101_0101_0101;
        // SAFETY: every x86-64 processor has SSE2, and the segment is 64 bytes without gaps, aligned to 16. The
        // compared bytes of the head are shifted out.
        let parts = unsafe {
            let tag = _mm_set1_epi64x(all.cast_signed());
            let mask = |part| _mm_movemask_epi8(_mm_cmpeq_epi8(part, tag)).cast_unsigned();
            let part = |at| mask(_mm_load_si128(line.wrapping_add(at)));
            [part(0) | part(1) << 16, part(2) | part(3) << 16]
        };
        (u64::from(parts[0]) | u64::from(parts[1]) << 32) >> HEAD
    }

    /// The lanes whose tag is `tag`, one bit each.
    #[inline(always)]
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    fn matching(&self, tag: u8) -> u64 {
        self.matching_plain(tag)
    }

    /// The result of [`Self::matching`] without vector instructions.
    #[cfg(any(test, not(all(target_arch = "x86_64", not(miri)))))]
    fn matching_plain(&self, tag: u8) -> u64 {
        let lanes = self.tags.iter().enumerate();
        lanes.fold(0, |mask, (lane, own)| mask | u64::from(*own == tag) << lane)
    }

    /// Finds the entry with `tag` for which `is` returns true; otherwise returns whether there are entries elsewhere.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn find(&self, tag: u8, mut is: impl FnMut(&T) -> bool) -> Result<usize, bool> {
        debug_assert!(tag != 0);
        let mut lanes = self.matching(tag);
        while lanes != 0 {
            let at = lanes.trailing_zeros() as usize;
            debug_assert!(at < self.len());
            // SAFETY: invariant 3: where there is a tag, there is an entry.
            if is(unsafe { self.entries.add(at).as_ref() }) {
                return Ok(at);
            }
            lanes &= lanes - 1;
        }
        Err(self.is_over)
    }

    /// The entry of [`Self::find`].
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn get(&self, tag: u8, is: impl FnMut(&T) -> bool) -> Result<&T, bool> {
        let at = self.find(tag, is)?;
        // SAFETY: `find` has just looked at this entry.
        Ok(unsafe { self.entries.add(at).as_ref() })
    }

    /// The entry of [`Self::find`], mutable.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn get_mut(&mut self, tag: u8, is: impl FnMut(&T) -> bool) -> Result<&mut T, bool> {
        let at = self.find(tag, is)?;
        // SAFETY: `find` has just looked at this entry, and the borrow of `self` is unique.
        Ok(unsafe { self.entries.add(at).as_mut() })
    }

    /// The first half of [`Self::find`]: the lanes of the entries with `tag`, one bit each.
    #[inline(always)]
    pub(crate) fn lanes(&self, tag: u8) -> Lanes {
        Lanes(self.matching(tag))
    }

    /// The second half of [`Self::find`]. Does not find entries that were added since the first.
    #[inline(always)]
    pub(crate) fn find_in(
        &self,
        lanes: Lanes,
        mut is: impl FnMut(&T) -> bool,
    ) -> Result<usize, bool> {
        let entries = self.entries();
        let Lanes(mut lanes) = lanes;
        while lanes != 0 {
            let at = lanes.trailing_zeros() as usize;
            if entries.get(at).is_some_and(&mut is) {
                return Ok(at);
            }
            lanes &= lanes - 1;
        }
        Err(self.is_over)
    }

    /// The entry of [`Self::find_in`].
    #[inline(always)]
    pub(crate) fn get_in(&self, lanes: Lanes, is: impl FnMut(&T) -> bool) -> Result<&T, bool> {
        let at = self.find_in(lanes, is)?;
        self.entries().get(at).ok_or(self.is_over)
    }

    /// Starts fetching the line.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        prefetch(core::ptr::from_ref(self).cast());
    }

    /// Starts fetching the entry that a search looks at first.
    #[inline(always)]
    pub(crate) fn prefetch_first(&self, Lanes(lanes): Lanes) {
        if lanes != 0 {
            let at = lanes.trailing_zeros() as usize;
            let entry = self.entries.as_ptr().cast_const().wrapping_add(at);
            prefetch(entry.cast());
            // Most entries lie across two lines.
            let last = size_of::<T>().saturating_sub(1).min(64);
            prefetch(entry.cast::<u8>().wrapping_add(last));
        }
    }

    /// Starts fetching all entries; needs the line.
    pub(crate) fn prefetch_all(&self) {
        let start = self.entries.as_ptr().cast_const().cast::<u8>();
        // The lines are as many as those of an ordinary segment of ordinary entries.
        for at in (0..(self.len() * size_of::<T>()).min(32 * 64)).step_by(64) {
            prefetch(start.wrapping_add(at));
        }
    }

    /// Whether there is room for one more entry in memory.
    #[inline(always)]
    pub(crate) const fn has_room(&self) -> bool {
        self.len < self.capacity
    }

    /// Adds an entry; returns its place.
    ///
    /// # Panics
    /// Without room.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn push(&mut self, tag: u8, entry: T) -> usize {
        assert!(self.has_room(), "room has been made");
        let at = self.len();
        // SAFETY: `at` is below the capacity, and nothing is there yet.
        unsafe { self.entries.add(at).write(entry) };
        self.tags[at] = tag;
        self.len += 1;
        at
    }

    /// Moves entries from `entries` here, one for each of `tags`.
    ///
    /// # Safety
    /// There are so many entries at `entries`, outside this segment, which their owner forgets.
    ///
    /// # Panics
    /// Without room for all of them.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn push_all(&mut self, tags: &[u8], entries: *const T) {
        let (len, count) = (self.len(), tags.len());
        assert!(len + count <= self.capacity(), "room has been made");
        // SAFETY: there is room for them, and the caller promises the rest.
        unsafe {
            self.entries
                .add(len)
                .as_ptr()
                .copy_from_nonoverlapping(entries, count);
        };
        self.tags[len..len + count].copy_from_slice(tags);
        self.len += count as u8;
    }

    /// The tags of the first entries, and 0 where there is no entry.
    pub(crate) const fn first_tags(&self) -> [u8; 8] {
        let [a, b, c, d, e, f, g, h, ..] = self.tags;
        [a, b, c, d, e, f, g, h]
    }

    /// Moves all entries to a place outside this segment.
    ///
    /// # Safety
    /// There is room for so many entries.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn move_all_to(&mut self, place: *mut T) {
        let count = self.len();
        self.tags = [0; LANES];
        self.len = 0;
        // SAFETY: invariant 2; the segment has forgotten them, and the caller promises the rest.
        unsafe { place.copy_from_nonoverlapping(self.entries.as_ptr(), count) };
    }

    /// Moves all entries of `other` here.
    ///
    /// # Panics
    /// Without room for all of them.
    #[allow(unsafe_code)]
    pub(crate) fn push_all_of(&mut self, other: &mut Self) {
        let count = other.len();
        // SAFETY: invariant 2; `other` forgets its entries at once.
        unsafe { self.push_all(&other.tags[..count], other.entries.as_ptr()) };
        other.tags = [0; LANES];
        other.len = 0;
    }

    /// Removes an entry. The last one takes its place.
    ///
    /// # Panics
    /// When there is no such entry.
    #[inline]
    #[allow(unsafe_code)]
    pub(crate) fn swap_remove(&mut self, at: usize) -> T {
        assert!(at < self.len(), "the entry is there");
        let last = self.len() - 1;
        self.tags[at] = self.tags[last];
        self.tags[last] = 0;
        self.len -= 1;
        // SAFETY: both are entries; what is read is overwritten by the last or was the last, which
        // the length forgets.
        unsafe {
            let place = self.entries.add(at);
            let entry = place.read();
            place.copy_from(self.entries.add(last), 1);
            entry
        }
    }

    fn layout(capacity: usize) -> Result<Layout, AllocError> {
        Layout::array::<T>(capacity).map_err(|_| AllocError::array::<T>(usize::MAX))
    }

    /// Allocates memory for one more entry, and some more. There has to be a lane for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn grow(&mut self, step: Step) -> Result<(), AllocError> {
        self.set_capacity(step.capacity(self.len()))
    }

    /// Allocates memory for `len` entries, and some more.
    pub(crate) fn grow_to(&mut self, len: usize, step: Step) -> Result<(), AllocError> {
        self.set_capacity(step.capacity(len).max(self.capacity()))
    }

    /// Frees memory, if much of it is unused. If the allocator cannot make a block smaller, the block stays.
    pub(crate) fn shrink(&mut self, step: Step) {
        let room = if self.len == 0 {
            0
        } else {
            step.capacity(self.len())
        };
        if room < self.capacity() {
            let _ = self.set_capacity(room);
        }
    }

    /// Frees all unused memory. If the allocator cannot make a block smaller, the block stays.
    pub(crate) fn shrink_to_fit(&mut self) {
        let _ = self.set_capacity(self.len());
    }

    #[allow(unsafe_code)]
    fn set_capacity(&mut self, capacity: usize) -> Result<(), AllocError> {
        let capacity = capacity.clamp(self.len(), LANES);
        if size_of::<T>() == 0 || capacity == self.capacity() {
            return Ok(());
        }
        let (old, new) = (Self::layout(self.capacity())?, Self::layout(capacity)?);
        let block = self.entries.as_ptr().cast::<u8>();
        let block = if self.capacity == 0 {
            // SAFETY: the capacity changes from 0, so the layout has a size.
            unsafe { alloc(new) }
        } else if capacity == 0 {
            // SAFETY: invariant 1; there is no entry, and the pointer is forgotten.
            unsafe { dealloc(block, old) };
            NonNull::<T>::dangling().as_ptr().cast()
        } else if new.size().max(old.size()) <= COPIED_MAX {
            // SAFETY: the layout has a size.
            let moved = unsafe { alloc(new) };
            if !moved.is_null() {
                // SAFETY: invariant 1; both have room for the entries, and the old block is forgotten.
                unsafe {
                    moved.copy_from_nonoverlapping(block, self.len() * size_of::<T>());
                    dealloc(block, old);
                }
            }
            moved
        } else {
            // SAFETY: invariant 1; the new size is not 0 and has a layout.
            unsafe { realloc(block, old, new.size()) }
        };
        self.entries = NonNull::new(block.cast()).ok_or(AllocError::refused(new))?;
        self.capacity = capacity as u8;
        Ok(())
    }

    /// Splits the segment: the entries of `lanes`, one bit each, are in the new one after. The segment is unchanged
    /// when memory is exhausted.
    ///
    /// # Panics
    /// When one of them is not there.
    pub(crate) fn split(&mut self, lanes: u64, step: Step) -> Result<Self, AllocError> {
        let mut upper = Self::new();
        upper.is_over = self.is_over;
        if lanes != 0 {
            upper.grow_to(lanes.count_ones() as usize, step)?;
        }
        self.move_to(&mut upper, lanes);
        self.shrink(step);
        Ok(upper)
    }

    /// Moves the entries of `lanes`, one bit each, to `other`.
    ///
    /// # Panics
    /// When one of them is not there, or `other` has no room for all.
    #[allow(unsafe_code)]
    pub(crate) fn move_to(&mut self, other: &mut Self, lanes: u64) {
        let mut lanes = lanes;
        let (mut last, mut to) = (self.len(), other.len());
        let count = lanes.count_ones() as usize;
        assert!(
            lanes.checked_shr(last as u32).unwrap_or(0) == 0 && to + count <= other.capacity(),
            "the entries are there, and room has been made"
        );
        // A panic would come before this: the lengths are right again at the end.
        self.len -= count as u8;
        other.len += count as u8;
        // The lanes are visited from the end, so that an entry that is moved into a gap stays.
        while lanes != 0 {
            let at = lanes.ilog2() as usize;
            lanes ^= 1 << at;
            last -= 1;
            // SAFETY: `at` and `last` are entries, and there is room at `to`; what is read is overwritten by the
            // last one or was the last, which the length has forgotten.
            unsafe {
                let place = self.entries.add(at);
                other.entries.add(to).copy_from_nonoverlapping(place, 1);
                place.copy_from(self.entries.add(last), 1);
            }
            other.tags[to] = self.tags[at];
            self.tags[at] = self.tags[last];
            self.tags[last] = 0;
            to += 1;
        }
    }

    /// Removes the entries for which `take` is true.
    pub(crate) fn extract(
        &mut self,
        mut take: impl FnMut(&mut T) -> bool,
        mut taken: impl FnMut(T),
    ) {
        for at in (0..self.len()).rev() {
            if take(&mut self.entries_mut()[at]) {
                taken(self.swap_remove(at));
            }
        }
    }

    /// Removes all entries and returns them as a list; the segment has no memory after.
    #[allow(unsafe_code)]
    pub(crate) fn take_entries(&mut self) -> Vec<T> {
        let is_over = self.is_over;
        let mut taken = core::mem::replace(self, Self::new());
        self.is_over = is_over;
        let (len, capacity) = (taken.len(), taken.capacity());
        taken.len = 0;
        let taken = core::mem::ManuallyDrop::new(taken);
        // SAFETY: invariants 1 and 2: allocated by the global allocator with the layout of so many
        // entries; what was taken is not dropped.
        unsafe { Vec::from_raw_parts(taken.entries.as_ptr(), len, capacity) }
    }

    /// Returns a segment with the same entries in the same places.
    pub(crate) fn duplicate(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut copy = Self::new();
        copy.is_over = self.is_over;
        if self.len > 0 {
            copy.grow_to(self.len(), Step::Roomy)?;
        }
        for (entry, tag) in self.entries().iter().zip(&self.tags) {
            copy.push(*tag, entry.clone());
        }
        Ok(copy)
    }

    /// Checks the invariants.
    ///
    /// # Panics
    /// When one is broken.
    pub(crate) fn check(&self, mut hash_of: impl FnMut(&T) -> u64) {
        assert!(self.len <= self.capacity && self.capacity() <= LANES);
        for (entry, tag) in self.entries().iter().zip(&self.tags) {
            assert_eq!(tag_of(hash_of(entry)), *tag);
        }
        let rest = self.tags.iter().skip(self.len());
        assert!(rest.clone().all(|tag| *tag == 0));
    }
}

/// Prefetches a cache line; reads nothing, so that any address is valid.
#[inline(always)]
#[allow(unsafe_code)]
fn prefetch(address: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch has no effect that a program could see, whatever the address.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

impl<T> Drop for Segment<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        /// Frees memory even when dropping an entry panics.
        struct FreeOnDrop<T>(NonNull<T>, usize);
        impl<T> Drop for FreeOnDrop<T> {
            fn drop(&mut self) {
                if let Ok(layout) = Segment::<T>::layout(self.1)
                    && layout.size() > 0
                {
                    // SAFETY: invariant 1.
                    unsafe { dealloc(self.0.as_ptr().cast(), layout) };
                }
            }
        }
        let _block = FreeOnDrop(self.entries, self.capacity());
        // SAFETY: invariant 2; the entries are not seen again, as the segment is being dropped.
        unsafe { core::ptr::from_mut(self.entries_mut()).drop_in_place() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_has_the_size_of_a_cache_line_and_the_alignment_of_a_vector() {
        assert_eq!(size_of::<Segment<[u8; 48]>>(), LINE);
        assert_eq!(align_of::<Segment<u8>>(), 16);
        assert_eq!(core::mem::offset_of!(Segment<u8>, tags), HEAD);
    }

    #[test]
    #[cfg_attr(miri, ignore = "there is only the plain search under miri")]
    fn vector_and_plain_search_agree() {
        let mut state = 1_u64;
        let mut segment = Segment::<()>::new();
        for _ in 0..2_000 {
            for tag in &mut segment.tags {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                *tag = (state >> 62) as u8;
            }
            for tag in 0..5 {
                assert_eq!(segment.matching(tag), segment.matching_plain(tag));
            }
        }
    }

    #[test]
    fn entries_of_one_tag_are_distinguished_and_leave_no_trace() {
        let mut segment = Segment::new();
        for entry in 0..LANES {
            if !segment.has_room() {
                segment.grow(Step::Roomy).expect("there is memory");
            }
            assert_eq!(segment.push(7, entry), entry);
        }
        assert_eq!(segment.find(7, |_| false), Err(false));
        for entry in 0..LANES {
            let at = segment.find(7, |own| *own == entry).expect("it is there");
            assert_eq!(segment.swap_remove(at), entry);
            segment.shrink(Step::Roomy);
            segment.check(|_| 7 << 56);
        }
        assert_eq!(segment.capacity(), 0);
    }

    #[test]
    fn a_segment_that_splits_loses_no_entry() {
        for len in [0, 1, 2, 9, 26, LANES] {
            for lanes in [0, u64::MAX, 0x5555_5555_5555_5555, 0xfff, 1 << 52] {
                let lanes = lanes & !(u64::MAX << len);
                // The first room lets the block become shorter; with the second it keeps its length.
                for room in [len, LANES] {
                    let mut lower = Segment::new();
                    lower.set_capacity(room).expect("there is memory");
                    for entry in 0..len {
                        lower.push(entry as u8 + 1, Box::new(entry));
                    }
                    lower.set_over();
                    let upper = lower.split(lanes, Step::Roomy).expect("there is memory");
                    for (segment, bit) in [(&lower, 0), (&upper, 1)] {
                        let mut entries: Vec<usize> =
                            segment.entries().iter().map(|entry| **entry).collect();
                        entries.sort_unstable();
                        let expected = (0..len).filter(|entry| lanes >> entry & 1 == bit);
                        assert!(expected.eq(entries), "{len} {lanes:#x}");
                        assert!(segment.is_over());
                        segment.check(|entry| (**entry as u64 + 1) << 56);
                    }
                    assert!(
                        lower.capacity() <= Step::Roomy.capacity(lower.len()).max(room.min(len))
                    );
                }
            }
        }
    }
}
