//! Blocks of a few entries of one type, in eight sizes, without an allocation each.
//!
//! Blocks of a size lie in pages of a few kilobytes. A freed block is used again by the next block of its size; each
//! size has a list of its free blocks. Pages are freed with the pool.
//!
//! Invariants:
//!
//! 1. `pages[page]` is an allocation of `PAGE / size` blocks of `size` entries.
//! 2. A [`Block`] that [`Pool::take`] has given and [`Pool::give_back`] has not taken back belongs to
//!    its holder alone; it is not on the list of free ones.

use alloc::alloc::{alloc, dealloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::ptr::NonNull;

use crate::error::AllocError;

/// Entries of a block, at most.
pub(crate) const BLOCK_MAX: usize = 8;
/// The number of blocks in a page.
const PAGE: usize = 128;

/// The number of a block among those of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block(pub(crate) u32);

/// A pool of blocks of one size.
pub(crate) struct Pool<T> {
    size: usize,
    pages: Vec<NonNull<T>>,
    free: Vec<Block>,
    /// The number of blocks that have been allocated at least once.
    used: u32,
}

impl<T> Pool<T> {
    /// Creates a pool of blocks of `size` entries.
    pub(crate) const fn new(size: usize) -> Self {
        Self {
            size,
            pages: Vec::new(),
            free: Vec::new(),
            used: 0,
        }
    }

    pub(crate) const fn allocated_bytes(&self) -> usize {
        self.pages.len() * PAGE * self.size * size_of::<T>()
            + self.pages.capacity() * size_of::<NonNull<T>>()
            + self.free.capacity() * size_of::<Block>()
    }

    fn layout(&self) -> Result<Layout, AllocError> {
        Layout::array::<T>(PAGE * self.size).map_err(|_| AllocError::array::<T>(usize::MAX))
    }

    /// Returns a block without entries in it.
    #[allow(unsafe_code)]
    pub(crate) fn take(&mut self) -> Result<Block, AllocError> {
        if let Some(block) = self.free.pop() {
            return Ok(block);
        }
        let next = Block(self.used);
        if self.used as usize == self.pages.len() * PAGE {
            let layout = self.layout()?;
            let failed = AllocError::array::<NonNull<T>>(self.pages.len() + 1);
            self.pages.try_reserve(1).map_err(|_| failed)?;
            let page = if layout.size() == 0 {
                NonNull::dangling()
            } else {
                // SAFETY: the layout has a size.
                let page = unsafe { alloc(layout) };
                NonNull::new(page.cast()).ok_or(AllocError::refused(layout))?
            };
            self.pages.push(page);
        }
        let last = AllocError::array::<T>(usize::MAX);
        self.used = self.used.checked_add(1).ok_or(last)?;
        Ok(next)
    }

    /// Frees a block whose entries have been moved out. If the list of free blocks cannot grow, the block is lost until
    /// the pool is dropped.
    pub(crate) fn give_back(&mut self, block: Block) {
        if self.free.try_reserve(1).is_ok() {
            self.free.push(block);
        }
    }

    /// The position of the entries of a block. There is room for `size` of them while the pool lives.
    ///
    /// # Panics
    /// When no such block was given.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn start(&self, block: Block) -> NonNull<T> {
        assert!(block.0 < self.used, "the block was given");
        let (page, at) = (block.0 as usize / PAGE, block.0 as usize % PAGE);
        // SAFETY: invariant 1; every block below `used` has a page.
        unsafe { self.pages.get_unchecked(page).add(at * self.size) }
    }
}

#[allow(unsafe_code)]
// SAFETY: the pages lead to memory that the pool owns alone.
unsafe impl<T: Send> Send for Pool<T> {}
#[allow(unsafe_code)]
// SAFETY: a shared pool gives out addresses only.
unsafe impl<T: Sync> Sync for Pool<T> {}

impl<T> Drop for Pool<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Ok(layout) = self.layout()
            && layout.size() > 0
        {
            for page in &self.pages {
                // SAFETY: invariant 1.
                unsafe { dealloc(page.as_ptr().cast(), layout) };
            }
        }
    }
}
