//! The segments of a directory: numbered, adjacent, and never moved far.
//!
//! Segments lie in chunks of 1,024. The first chunk grows with them, which moves at most 64 kB; the others
//! are allocated whole and written one segment at a time. The number of a hash's segment, and so the
//! address of the line that a search reads, is known without reading any memory but the table of chunks.
//!
//! Invariants:
//!
//! 1. The places `0..len` of the chunks hold segments; `len` is not 0.
//! 2. The first chunk is an allocation of `first` places, the others of [`CHUNK`], and there are no more
//!    of them than `len` and one segment more need.
//! 3. `mask` is one less than the smallest power of two above `len`, and `half` is half of it.
//! 4. `head` is the first of the chunks.

use alloc::alloc::{alloc, dealloc, realloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::segment::Segment;

/// The number of segments in a chunk: 64 kB. With small chunks between the entries, the lines of a large table are on
/// so many pages that a search waits for the page table as well: a miss in ten million entries took 1.75 of hashbrown's
/// time with 16 kB, 1.67 with 64 and 1.59 with 512. Larger ones take longer to move.
const CHUNK: usize = 1_024;

/// An unneeded chunk is freed when so many segments of the one before are gone as well.
const RESERVE: usize = 8;

/// Segments by number.
pub(crate) struct Slab<T> {
    /// The first of `chunks`, so that a search in a table with only one does not read the list of them.
    head: NonNull<Segment<T>>,
    chunks: Vec<NonNull<Segment<T>>>,
    len: usize,
    mask: usize,
    /// `mask` without its highest bit.
    half: usize,
    /// Places of the first chunk.
    first: usize,
}

impl<T> Slab<T> {
    /// One segment, with the number 0.
    pub(crate) fn new(segment: Segment<T>) -> Result<Self, AllocError> {
        let mut slab = Self {
            head: NonNull::dangling(),
            chunks: Vec::new(),
            len: 0,
            mask: 1,
            half: 0,
            first: 0,
        };
        slab.reserve()?;
        slab.push(segment);
        Ok(slab)
    }

    /// The number of segments: at least one.
    #[inline(always)]
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn allocated_bytes(&self) -> usize {
        let places = self.first + self.chunks.len().saturating_sub(1) * CHUNK;
        places * size_of::<Segment<T>>() + self.chunks.capacity() * size_of::<NonNull<Segment<T>>>()
    }

    /// The number of the segment in which a hash belongs: its lowest bits, one bit less where the
    /// segment has not split yet.
    #[inline(always)]
    pub(crate) fn number(&self, hash: u64) -> usize {
        let number = hash as usize & self.mask;
        // Which of them it is cannot be foreseen.
        number & core::hint::select_unpredictable(number < self.len, usize::MAX, self.half)
    }

    /// The number of the lowest bits that the hashes of segment `number` share.
    pub(crate) const fn depth(&self, number: usize) -> u32 {
        let bits = self.mask.count_ones();
        let half = 1 << (bits - 1);
        // These segments have split in this sweep, or are the other halves.
        if number >= half || number + half < self.len {
            bits
        } else {
            bits - 1
        }
    }

    /// The position of a segment. The number has to be below `len`.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn place(&self, number: usize) -> NonNull<Segment<T>> {
        debug_assert!(number < self.len);
        // One chunk's address does not follow from the number, so that a search need not wait for it.
        if self.len <= CHUNK {
            // SAFETY: invariants 1, 2 and 4: the number is that of a segment in the first chunk.
            return unsafe { self.head.add(number) };
        }
        // SAFETY: invariants 1 and 2: the number is that of a segment, so there is a chunk for it.
        unsafe {
            self.chunks
                .get_unchecked(number / CHUNK)
                .add(number % CHUNK)
        }
    }

    /// The position of the segment of a hash.
    #[inline(always)]
    fn place_of(&self, hash: u64) -> NonNull<Segment<T>> {
        // Below `len`: a number of one bit less is at most half of `mask`, which `len` is above.
        self.place(self.number(hash))
    }

    /// The segment in which a hash belongs.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn of(&self, hash: u64) -> &Segment<T> {
        // SAFETY: invariant 1; the borrow of `self` keeps it from being changed.
        unsafe { self.place_of(hash).as_ref() }
    }

    /// The segment as [`Self::of`], mutable.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn of_mut(&mut self, hash: u64) -> &mut Segment<T> {
        // SAFETY: invariant 1; the borrow of `self` is unique.
        unsafe { self.place_of(hash).as_mut() }
    }

    /// A segment by its number; `None` where there is no such one.
    #[allow(unsafe_code)]
    pub(crate) fn get(&self, number: usize) -> Option<&Segment<T>> {
        // SAFETY: invariant 1; the borrow of `self` keeps it from being changed.
        (number < self.len).then(|| unsafe { self.place(number).as_ref() })
    }

    /// A segment by its number.
    ///
    /// # Panics
    /// When there is none.
    #[allow(unsafe_code)]
    pub(crate) fn get_mut(&mut self, number: usize) -> &mut Segment<T> {
        assert!(number < self.len, "there is such a segment");
        // SAFETY: invariant 1; the borrow of `self` is unique.
        unsafe { self.place(number).as_mut() }
    }

    fn layout(places: usize) -> Result<Layout, AllocError> {
        // Each segment lies in one cache line.
        Layout::array::<Segment<T>>(places)
            .and_then(|layout| layout.align_to(size_of::<Segment<T>>()))
            .map_err(|_| AllocError::array::<Segment<T>>(places))
    }

    /// Makes room for one segment more.
    #[allow(unsafe_code)]
    pub(crate) fn reserve(&mut self) -> Result<(), AllocError> {
        if self.len < self.first || (self.len < self.chunks.len() * CHUNK && self.first == CHUNK) {
            return Ok(());
        }
        if self.len == self.first && self.first < CHUNK {
            return self.resize_first((self.len + self.len / 4 + 2).min(CHUNK));
        }
        let failed = AllocError::array::<NonNull<Segment<T>>>(self.chunks.len() + 1);
        self.chunks.try_reserve(1).map_err(|_| failed)?;
        let layout = Self::layout(CHUNK)?;
        // SAFETY: the layout has a size.
        let chunk = unsafe { alloc(layout) }.cast();
        self.chunks
            .push(NonNull::new(chunk).ok_or(AllocError::refused(layout))?);
        Ok(())
    }

    /// Resizes the first chunk to so many places: no fewer than it has segments.
    #[allow(unsafe_code)]
    fn resize_first(&mut self, places: usize) -> Result<(), AllocError> {
        debug_assert!(places >= self.len.min(CHUNK) && places > 0);
        let new = Self::layout(places)?;
        let failed = AllocError::refused(new);
        if let Some(chunk) = self.chunks.first_mut() {
            let old = Self::layout(self.first)?;
            // SAFETY: invariant 2; segments can be moved, and nothing points to them.
            let moved = unsafe { realloc(chunk.as_ptr().cast(), old, new.size()) };
            *chunk = NonNull::new(moved.cast()).ok_or(failed)?;
            self.head = *chunk;
        } else {
            self.chunks
                .try_reserve_exact(1)
                .map_err(|_| AllocError::array::<NonNull<Segment<T>>>(1))?;
            // SAFETY: the layout has a size.
            let chunk = unsafe { alloc(new) };
            self.head = NonNull::new(chunk.cast()).ok_or(failed)?;
            self.chunks.push(self.head);
        }
        self.first = places;
        Ok(())
    }

    /// Adds a segment, for which [`Self::reserve`] has made room.
    #[allow(unsafe_code)]
    pub(crate) fn push(&mut self, segment: Segment<T>) {
        let number = self.len;
        let places = if number < CHUNK { self.first } else { CHUNK };
        assert!(
            number % CHUNK < places && number / CHUNK < self.chunks.len(),
            "there is room"
        );
        // SAFETY: the place lies in a chunk, and nothing is there yet.
        unsafe {
            let chunk = self.chunks.get_unchecked(number / CHUNK);
            chunk.add(number % CHUNK).write(segment);
        }
        self.len += 1;
        self.set_masks();
    }

    /// Updates the masks to the number of segments.
    const fn set_masks(&mut self) {
        self.mask = usize::MAX >> self.len.leading_zeros();
        self.half = self.mask >> 1;
    }

    /// Removes the segment with the highest number. `None` when it is the only one.
    #[allow(unsafe_code)]
    pub(crate) fn pop(&mut self) -> Option<Segment<T>> {
        if self.len == 1 {
            return None;
        }
        let last = self.place(self.len - 1);
        self.len -= 1;
        self.set_masks();
        // SAFETY: invariant 1; the place is beyond `len` now.
        let segment = unsafe { last.read() };
        self.trim();
        Some(segment)
    }

    /// Frees unused chunks, except one in reserve.
    #[allow(unsafe_code)]
    fn trim(&mut self) {
        if self.chunks.len() > 1 {
            if self.len + RESERVE <= (self.chunks.len() - 1) * CHUNK
                && let (Some(chunk), Ok(layout)) = (self.chunks.pop(), Self::layout(CHUNK))
            {
                // SAFETY: invariant 2, and no segment is in it.
                unsafe { dealloc(chunk.as_ptr().cast(), layout) };
            }
            if self.chunks.capacity() > 4 * self.chunks.len() {
                self.chunks.shrink_to(2 * self.chunks.len());
            }
        } else if self.first > self.len + self.len / 2 + RESERVE {
            // If the allocator cannot make the chunk smaller, it stays.
            let _ = self.resize_first(self.len + self.len / 4 + 1);
        }
    }
}

/// The rest of a slab that is dropped; dropping continues when a segment panics.
struct Rest<'a, T>(&'a mut Slab<T>);

impl<T> Rest<'_, T> {
    #[allow(unsafe_code)]
    fn take(&mut self) -> Option<Segment<T>> {
        let number = self.0.len.checked_sub(1)?;
        let last = self.0.place(number);
        self.0.len = number;
        // SAFETY: invariant 1; the place is beyond `len` now.
        Some(unsafe { last.read() })
    }
}

impl<T> Drop for Rest<'_, T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        while let Some(segment) = self.take() {
            drop(segment);
        }
        for (at, chunk) in core::mem::take(&mut self.0.chunks).into_iter().enumerate() {
            if let Ok(layout) = Slab::<T>::layout(if at == 0 { self.0.first } else { CHUNK }) {
                // SAFETY: invariant 2, and no segment is in it.
                unsafe { dealloc(chunk.as_ptr().cast(), layout) };
            }
        }
    }
}

impl<T> Drop for Slab<T> {
    fn drop(&mut self) {
        let mut rest = Rest(self);
        while let Some(segment) = rest.take() {
            drop(segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments are checked while the first chunk moves, beyond it, and on the way back.
    #[test]
    fn every_segment_is_one_cache_line() {
        let mut slab = Slab::new(Segment::<[u8; 48]>::new()).expect("there is memory");
        let is_line = |slab: &Slab<_>, number| slab.place(number).addr().get() % 64 == 0;
        for number in 1..CHUNK + 3 {
            slab.reserve().expect("there is memory");
            slab.push(Segment::new());
            assert!(is_line(&slab, 0) && is_line(&slab, number), "{number}");
        }
        while slab.pop().is_some() {
            assert!(is_line(&slab, 0) && is_line(&slab, slab.len() - 1));
        }
    }
}
