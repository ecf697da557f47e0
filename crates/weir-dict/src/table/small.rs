//! Tables of up to eight entries: a block, to which the table's word leads.
//!
//! A block is an allocation of the room that its word gives ([`word`]), the first entries of which are initialised.
//! Where there is room for more than one, tags stand before the entries.

use alloc::alloc::{alloc, dealloc, realloc};
use alloc::vec::Vec;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr;

use super::{Keys, Query, Spot, TAG_MASK, Table, View, ViewMut};
use crate::error::AllocError;
use crate::segment::tag_of;
use crate::word::{self, SMALL_MAX, Tags};

impl<T> Table<T> {
    /// Bytes before the entries of a block that has tags.
    pub(super) const HEAD: usize = {
        let (tags, entry) = (size_of::<Tags>(), align_of::<T>());
        if tags > entry { tags } else { entry }
    };

    /// Returns the number of bytes before the entries of a block with room for `room`.
    #[inline(always)]
    pub(super) const fn head(room: usize) -> usize {
        if word::has_tags(room) { Self::HEAD } else { 0 }
    }

    /// Returns the layout of a block with room for `room`; no block has an alignment below the word's.
    pub(super) fn layout(room: usize) -> Result<Layout, AllocError> {
        Layout::array::<T>(room)
            .and_then(|entries| {
                let align = entries.align().max(TAG_MASK + 1);
                Layout::from_size_align(Self::head(room) + entries.size(), align)
            })
            .map_err(|_| AllocError::array::<T>(usize::MAX))
    }

    /// The first entry of the block.
    #[inline(always)]
    pub(super) fn start(&self) -> *mut T {
        let has_tags = usize::from(word::is_hashed(self.tag()));
        self.pointer().wrapping_add(has_tags * Self::HEAD).cast()
    }

    /// The first entry of a block that has tags.
    #[inline(always)]
    fn tagged_start(&self) -> *mut T {
        debug_assert!(word::has_tags(word::room(self.tag())));
        self.pointer().wrapping_add(Self::HEAD).cast()
    }

    /// The entry of a block without tags.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn only(&self) -> Option<&T> {
        debug_assert!(!word::is_hashed(self.tag()));
        // SAFETY: the word is nothing, or points to a block of one entry, which it owns.
        unsafe { self.pointer().cast::<T>().cast_const().as_ref() }
    }

    /// The entry as [`Self::only`], mutable.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn only_mut(&mut self) -> Option<&mut T> {
        debug_assert!(!word::is_hashed(self.tag()));
        // SAFETY: as above; the borrow of the table is unique.
        unsafe { self.pointer().cast::<T>().as_mut() }
    }

    /// The tags of the block's entries, which it has to have.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn tags(&self) -> Tags {
        debug_assert!(word::has_tags(word::room(self.tag())));
        // SAFETY: such a block begins with them, and every block is aligned to 16.
        unsafe { self.pointer().cast::<Tags>().read() }
    }

    /// Replaces the tags of [`Self::tags`].
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn set_tags(&mut self, tags: Tags) {
        debug_assert!(word::has_tags(word::room(self.tag())));
        // SAFETY: as above; the table owns its block.
        unsafe { self.pointer().cast::<Tags>().write(tags) };
    }

    /// Returns a pointer for entries that have no size.
    pub(super) fn nowhere() -> *mut u8 {
        ptr::without_provenance_mut(align_of::<T>().max(TAG_MASK + 1))
    }

    /// Allocates a block with room for `room`; where it needs no memory, returns a pointer that is never used.
    #[allow(unsafe_code)]
    pub(super) fn allocate(room: usize) -> Result<*mut u8, AllocError> {
        let layout = Self::layout(room)?;
        if layout.size() == 0 {
            return Ok(Self::nowhere());
        }
        // SAFETY: the layout has a size.
        let block = unsafe { alloc(layout) };
        if block.is_null() {
            return Err(AllocError::refused(layout));
        }
        Ok(block)
    }

    /// Finds the index of an entry in a block, which has to have tags.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn find_tagged(&self, hash: u64, query: &impl Query<T>) -> Option<usize> {
        let start = self.tagged_start().cast_const();
        let mut places = self.tags().matching(tag_of(hash));
        places.find(|at| {
            debug_assert!(*at < word::len(self.tag()));
            // SAFETY: where there is a tag, which is never 0, there is an entry of the block.
            query.is(unsafe { &*start.add(*at) })
        })
    }

    /// Finds an entry in a block, which has to have tags.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn get_tagged(&self, hash: u64, query: &impl Query<T>) -> Option<&T> {
        let at = self.find_tagged(hash, query)?;
        // SAFETY: `find_tagged` has just looked at this entry.
        Some(unsafe { &*self.tagged_start().cast_const().add(at) })
    }

    /// The entry of [`Self::get_tagged`], mutable. With [`Self::find_tagged`] an insertion into a block of eight executes
    /// seven instructions fewer, and takes 1.03 of the time.
    #[inline(always)]
    pub(crate) fn find_in_block(&mut self, hash: u64, query: &impl Query<T>) -> Option<&mut T> {
        let View::Small(entries) = self.view() else {
            return None;
        };
        let mut places = self.tags().matching(tag_of(hash));
        let at = places.find(|at| entries.get(*at).is_some_and(|entry| query.is(entry)))?;
        match self.view_mut() {
            ViewMut::Small(entries) => entries.get_mut(at),
            _ => None,
        }
    }

    /// Removes the entry of a block without tags, which is freed.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn take_only(&mut self, query: &impl Query<T>) -> Option<T> {
        let only = self.only().filter(|entry| query.is(entry))?;
        // SAFETY: the block is freed without its entry, which is not read again.
        let entry = unsafe { ptr::from_ref(only).read() };
        self.free_block::<1>();
        Some(entry)
    }

    /// Whether there is a block of as many entries as one can have.
    #[inline(always)]
    pub(crate) fn is_full_block(&self) -> bool {
        self.tag() == SMALL_MAX
    }

    /// Adds an entry to an empty table or to a block of one entry without tags.
    #[inline(always)]
    pub(crate) fn push_unhashed(
        &mut self,
        keys: &impl Keys<T>,
        entry: T,
    ) -> Result<Spot, AllocError> {
        if self.tag() == 0 {
            self.push_moved::<0, 1>(Tags::NONE, entry)
        } else {
            self.push_second(keys, entry)
        }
    }

    /// Adds an entry to a block of one without tags: now both are hashed.
    #[inline(never)]
    fn push_second(&mut self, keys: &impl Keys<T>, entry: T) -> Result<Spot, AllocError> {
        let mut tags = self.tags_of_all(keys);
        tags.push(1, tag_of(keys.first(&entry)));
        self.push_moved::<1, 2>(tags, entry)
    }

    /// Adds an entry to a block that has tags and fewer than eight entries.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn push_small(&mut self, hash: u64, entry: T) -> Result<Spot, AllocError> {
        let kind = self.tag();
        let Some(pushed) = word::pushed(kind) else {
            return self.push_moving(hash, entry);
        };
        let len = word::len(kind);
        let mut tags = self.tags();
        tags.push(len, tag_of(hash));
        self.set_tags(tags);
        // SAFETY: the block has room for one entry more, and nothing is there yet.
        unsafe { self.tagged_start().add(len).write(entry) };
        self.set(self.pointer(), pushed);
        Ok(Spot::Small(len))
    }

    /// Adds an entry to a block without room, all of whose entries move into a larger one. Each room has its own code,
    /// with a constant number of entries to move.
    #[inline(never)]
    fn push_moving(&mut self, hash: u64, entry: T) -> Result<Spot, AllocError> {
        let (mut tags, len) = (self.tags(), self.tag());
        tags.push(len, tag_of(hash));
        if len == 2 {
            self.push_moved::<2, 4>(tags, entry)
        } else {
            self.push_moved::<4, 8>(tags, entry)
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn push_moved<const LEN: usize, const ROOM: usize>(
        &mut self,
        tags: Tags,
        entry: T,
    ) -> Result<Spot, AllocError> {
        debug_assert!(self.tag() == LEN && word::room(LEN) == LEN);
        let block = self.moved::<LEN, LEN, ROOM>()?;
        // The kind of a block that is more than half full is the number of its entries.
        self.set(block, LEN + 1);
        if word::has_tags(ROOM) {
            self.set_tags(tags);
        }
        // SAFETY: the new block has room for one entry more, and nothing is there yet.
        unsafe { self.start().add(LEN).write(entry) };
        Ok(Spot::Small(LEN))
    }

    /// The tags of the block's entries, which are hashed if it has no tags.
    pub(super) fn tags_of_all(&self, keys: &impl Keys<T>) -> Tags {
        let View::Small(entries) = self.view() else {
            return Tags::NONE;
        };
        if word::is_hashed(self.tag()) {
            return self.tags();
        }
        let mut tags = Tags::NONE;
        for (at, entry) in entries.iter().enumerate() {
            tags.push(at, tag_of(keys.first(entry)));
        }
        tags
    }

    /// Returns a block of another size with the first entries of this one, which is freed; the others have been moved
    /// out. The caller sets the word and the tags.
    ///
    /// The entries are copied, as glibc's `realloc` does not use the list of small free blocks and takes four times as
    /// long.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn moved<const LEN: usize, const FROM: usize, const TO: usize>(
        &mut self,
    ) -> Result<*mut u8, AllocError> {
        debug_assert!(word::room(self.tag()) == FROM && LEN <= FROM && LEN <= TO);
        let block = Self::allocate(TO)?;
        if LEN > 0 {
            let from = self.pointer().wrapping_add(Self::head(FROM)).cast::<T>();
            let to = block.wrapping_add(Self::head(TO)).cast::<T>();
            // SAFETY: the new block has room for the entries of the old one, which is forgotten.
            unsafe { to.copy_from_nonoverlapping(from, LEN) };
            self.free_block::<FROM>();
        }
        Ok(block)
    }

    /// Frees the block, which has room for `ROOM`, and whose entries have been moved out; the table is empty after.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn free_block<const ROOM: usize>(&mut self) {
        debug_assert_eq!(word::room(self.tag()), ROOM);
        let block = self.pointer();
        self.word = ptr::null_mut();
        if let Ok(layout) = Self::layout(ROOM)
            && layout.size() > 0
        {
            // SAFETY: the block was allocated with this layout, and its word is overwritten.
            unsafe { dealloc(block, layout) };
        }
    }

    /// Frees any block, as [`Self::free_block`].
    pub(super) fn free_any_block(&mut self) {
        match word::room(self.tag()) {
            1 => self.free_block::<1>(),
            2 => self.free_block::<2>(),
            4 => self.free_block::<4>(),
            8 => self.free_block::<8>(),
            _ => {}
        }
    }

    /// Removes an entry of a block. The last one takes its place.
    #[inline]
    #[allow(unsafe_code)]
    pub(super) fn remove_small(&mut self, at: usize) -> T {
        let kind = self.tag();
        let len = word::len(kind);
        assert!(at < len, "the entry is in the block");
        let start = self.start();
        // SAFETY: `at` and `len - 1` are entries of the block; the one read is overwritten by the last
        // or is the last, which the word forgets below.
        let entry = unsafe {
            let entry = start.add(at).read();
            start.add(at).copy_from(start.add(len - 1), 1);
            entry
        };
        if word::is_hashed(kind) {
            let mut tags = self.tags();
            tags.swap_remove(at, len);
            self.set_tags(tags);
        }
        match word::popped(kind) {
            Some(popped) => self.set(self.pointer(), popped),
            None => self.shrink_small(),
        }
        entry
    }

    /// Moves all but the last entry of a block, which has been moved out, into a block of exactly their size.
    #[inline(never)]
    pub(super) fn shrink_small(&mut self) {
        match (word::room(self.tag()), word::len(self.tag())) {
            (1, 1) => self.free_block::<1>(),
            (2, 1) => self.free_block::<2>(),
            (4, 1) => self.free_block::<4>(),
            (8, 3) => self.shrink_to::<8, 2>(),
            _ => debug_assert!(false, "the other blocks stay"),
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn shrink_to<const FROM: usize, const TO: usize>(&mut self) {
        let tags = self.tags();
        let (block, start) = (self.pointer(), self.start());
        if let Ok(smaller) = self.moved::<TO, FROM, TO>() {
            self.set(smaller, TO);
        } else if let (Ok(old), Ok(new)) = (Self::layout(FROM), Self::layout(TO)) {
            // SAFETY: both places lie in the block, which was allocated with this layout; the new size is not 0, as
            // nothing without a size is refused.
            let smaller = unsafe {
                block
                    .wrapping_add(Self::head(TO))
                    .cast::<T>()
                    .copy_from(start, TO);
                realloc(block, old, new.size())
            };
            // An allocator that cannot make a block smaller is defective.
            assert!(!smaller.is_null(), "a block can become smaller");
            self.set(smaller, TO);
        }
        if word::has_tags(TO) {
            self.set_tags(tags);
        }
    }

    /// Removes all entries of a block.
    #[allow(unsafe_code)]
    pub(crate) fn take_block(&mut self) -> Vec<T> {
        let len = word::len(self.tag());
        let mut entries: Vec<T> = Vec::with_capacity(len);
        // SAFETY: there is room for the entries of the block, which is freed without them.
        unsafe {
            entries
                .as_mut_ptr()
                .copy_from_nonoverlapping(self.start(), len);
            entries.set_len(len);
        }
        self.free_any_block();
        entries
    }

    /// Removes the entries of a block for which `take` is true.
    pub(crate) fn extract_small(
        &mut self,
        mut take: impl FnMut(&mut T) -> bool,
        mut taken: impl FnMut(T),
    ) {
        let mut at = self.tag();
        while at > 0 {
            at -= 1;
            let ViewMut::Small(entries) = self.view_mut() else {
                return;
            };
            if entries.get_mut(at).is_some_and(&mut take) {
                taken(self.remove_small(at));
            }
        }
    }

    /// Checks the tags of a block.
    ///
    /// # Panics
    /// When one is wrong.
    pub(crate) fn check_tags(&self, hash_of: impl Fn(&T) -> u64) {
        let View::Small(entries) = self.view() else {
            return;
        };
        if word::is_hashed(self.tag()) {
            let mut tags = Tags::NONE;
            for (at, entry) in entries.iter().enumerate() {
                tags.push(at, tag_of(hash_of(entry)));
            }
            assert_eq!(self.tags(), tags);
        }
    }
}

/// A block whose memory is freed even when dropping an entry panics.
pub(super) struct FreeOnDrop<T>(
    pub(super) *mut u8,
    pub(super) usize,
    pub(super) PhantomData<T>,
);

impl<T> Drop for FreeOnDrop<T> {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        if let Ok(layout) = Table::<T>::layout(self.1)
            && layout.size() > 0
        {
            // SAFETY: blocks are allocated with this layout.
            unsafe { dealloc(self.0, layout) };
        }
    }
}
