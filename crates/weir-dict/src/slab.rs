//! Where a directory keeps its segments: close together, and without gaps.
//!
//! The index of ten million entries is forty megabytes, which a large cache holds and few pages cover,
//! if it does not lie scattered between the entries. When a segment goes, the last one moves into its
//! place, so the memory is that of the segments there are.
//!
//! Invariants: the blocks hold `len` segments in all, each block but the last is full, and the last is
//! not empty.

use alloc::alloc::{alloc, dealloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::segment::Segment;

/// Segments in a block, at most: 45 kB.
const BLOCK_MAX: usize = 64;

/// Segments without gaps.
pub(crate) struct Slab<T> {
    blocks: Vec<Block<T>>,
    len: usize,
    /// Segments in the last block.
    last_len: usize,
    /// Places for segments in all blocks.
    places: usize,
}

struct Block<T> {
    start: NonNull<Segment<T>>,
    places: usize,
}

impl<T> Slab<T> {
    pub(crate) const fn new() -> Self {
        Self {
            blocks: Vec::new(),
            len: 0,
            last_len: 0,
            places: 0,
        }
    }

    /// How many segments there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn allocated_bytes(&self) -> usize {
        self.places * size_of::<Segment<T>>() + self.blocks.capacity() * size_of::<Block<T>>()
    }

    fn layout(places: usize) -> Result<Layout, AllocError> {
        Layout::array::<Segment<T>>(places).map_err(|_| AllocError::array::<Segment<T>>(places))
    }

    /// Makes room for one segment.
    #[allow(unsafe_code)]
    pub(crate) fn reserve(&mut self) -> Result<(), AllocError> {
        let last_places = self.blocks.last().map_or(0, |block| block.places);
        if self.last_len < last_places {
            return Ok(());
        }
        // At most an eighth of all places is free.
        let places = (self.len / 8).clamp(1, BLOCK_MAX);
        let layout = Self::layout(places)?;
        self.blocks
            .try_reserve(1)
            .map_err(|_| AllocError::array::<Block<T>>(self.blocks.len() + 1))?;
        // SAFETY: a segment has a size.
        let start = unsafe { alloc(layout) }.cast::<Segment<T>>();
        let start = NonNull::new(start).ok_or(AllocError::refused(layout))?;
        self.blocks.push(Block { start, places });
        self.places += places;
        self.last_len = 0;
        Ok(())
    }

    /// Adds a segment, for which [`Self::reserve`] has made room.
    #[allow(unsafe_code)]
    pub(crate) fn push(&mut self, segment: Segment<T>) -> NonNull<Segment<T>> {
        let block = self.blocks.last().expect("there is room");
        assert!(self.last_len < block.places, "there is room");
        // SAFETY: the place lies in the block, and nothing is there yet.
        let place = unsafe {
            let place = block.start.add(self.last_len);
            place.write(segment);
            place
        };
        self.last_len += 1;
        self.len += 1;
        place
    }

    /// Gives back the block that [`Self::reserve`] has made and nobody has used, and those that have
    /// become empty.
    #[allow(unsafe_code)]
    fn trim(&mut self) {
        if self.last_len == 0 {
            if let Some(block) = self.blocks.pop() {
                self.places -= block.places;
                if let Ok(layout) = Self::layout(block.places) {
                    // SAFETY: allocated with this layout, and no segment is in it.
                    unsafe { dealloc(block.start.as_ptr().cast(), layout) };
                }
            }
            self.last_len = self.blocks.last().map_or(0, |block| block.places);
            if self.blocks.capacity() > 4 * self.blocks.len() {
                self.blocks.shrink_to(2 * self.blocks.len());
            }
        }
    }

    /// Takes a segment out. `true` when another segment stands in its place now.
    ///
    /// # Safety
    /// `segment` came from [`Self::push`] and is there, where it was put or where this has moved it.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn remove(&mut self, segment: NonNull<Segment<T>>) -> (Segment<T>, bool) {
        if self.last_len == 0 {
            self.trim();
        }
        let block = self.blocks.last().expect("the segment is in a block");
        // SAFETY: the caller promises that there is a segment; the last place holds one; and the
        // one that is read twice is forgotten at its old place.
        let (gone, moved) = unsafe {
            let last = block.start.add(self.last_len - 1);
            let gone = segment.read();
            if last != segment {
                segment.copy_from_nonoverlapping(last, 1);
            }
            (gone, last != segment)
        };
        self.last_len -= 1;
        self.len -= 1;
        self.trim();
        (gone, moved)
    }
}

impl<T> Drop for Slab<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let mut left = self.len;
        for block in core::mem::take(&mut self.blocks) {
            for at in 0..left.min(block.places) {
                // SAFETY: every block but the last is full, so this place holds a segment.
                unsafe { block.start.add(at).drop_in_place() };
            }
            left -= left.min(block.places);
            if let Ok(layout) = Self::layout(block.places) {
                // SAFETY: allocated with this layout.
                unsafe { dealloc(block.start.as_ptr().cast(), layout) };
            }
        }
    }
}
