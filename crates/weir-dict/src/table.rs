//! The table behind every dictionary: one word that is empty, or leads to a small block, one segment or a directory of
//! segments.
//!
//! The word is a pointer whose lowest four bits, free because everything that it points to is aligned to 16 bytes, give
//! the form and the number of entries of a block: see [`word`]. Blocks have room for one, two, four or eight entries;
//! those of more than two are searched by tags, which stand before the entries.

use alloc::alloc::alloc;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::{self, NonNull};

use crate::directory::{Directory, bytes_of};
use crate::error::AllocError;
use crate::segment::{LANES, Lanes, Segment, Step, tag_of};
use crate::word::{self, LARGE, SINGLE, SMALL_MAX, Tags};

mod small;

use small::FreeOnDrop;

const TAG_MASK: usize = 15;
/// A single segment of so few entries becomes a block again.
const SINGLE_MIN: usize = 4;
/// A large table of one segment with no more entries than this becomes a single segment again.
const LARGE_MIN: usize = 40;

/// The hashes of the entries of a table.
pub(crate) trait Keys<T> {
    /// The hash that places an entry.
    fn first(&self, entry: &T) -> u64;
    /// The hash that places it when too many first hashes collide.
    fn second(&self, entry: &T) -> u64;
}

/// A key that is looked up.
pub(crate) trait Query<T> {
    /// The hash as [`Keys::first`].
    fn first(&self) -> u64;
    /// The hash as [`Keys::second`].
    fn second(&self) -> u64;
    /// Returns true for the entry that has this key.
    fn is(&self, entry: &T) -> bool;
}

/// A set of entries, which are found by their keys.
pub(crate) struct Table<T> {
    word: *mut u8,
    owns: PhantomData<T>,
}

/// A table of several segments.
#[repr(align(16))]
pub(crate) struct Large<T> {
    pub(crate) main: Directory<T>,
    /// Entries that had no room because the first hashes of too many collide.
    pub(crate) deep: Option<Box<Deep<T>>>,
}

/// Entries placed by their second hash; and those whose second hashes collide too, in a list.
pub(crate) struct Deep<T> {
    pub(crate) table: Directory<T>,
    pub(crate) list: Vec<T>,
    /// A number for each entry of the list, ascending, by which walks find their place.
    pub(crate) numbers: Vec<u64>,
    next_number: u64,
}

/// The position of an entry. Valid until the table changes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spot {
    Small(usize),
    /// The entry is in the segment of this hash, or in the single one.
    Main(u64, usize),
    Deep(u64, usize),
    List(usize),
}

/// The form of a table, which decides where an insertion looks for room.
pub(crate) enum Form<'a, T> {
    /// A block, or an empty table that gets one.
    Block,
    /// A single segment, which may become a directory.
    Single(&'a mut Segment<T>),
    /// A directory in which no segment has to split first.
    Settled(&'a mut Directory<T>),
    /// A directory in which a segment has to split, unless the entry exists.
    Unsettled,
}

/// The current form of a table.
pub(crate) enum View<'a, T> {
    Small(&'a [T]),
    Single(&'a Segment<T>),
    Large(&'a Large<T>),
}

/// The current form of a table, mutable.
pub(crate) enum ViewMut<'a, T> {
    Small(&'a mut [T]),
    Single(&'a mut Segment<T>),
    Large(&'a mut Large<T>),
}

impl<T> Table<T> {
    /// A table without entries, and without memory.
    pub(crate) const fn new() -> Self {
        Self {
            word: ptr::null_mut(),
            owns: PhantomData,
        }
    }

    #[inline(always)]
    fn tag(&self) -> usize {
        self.word.addr() & TAG_MASK
    }

    #[inline(always)]
    fn pointer(&self) -> *mut u8 {
        self.word.map_addr(|address| address & !TAG_MASK)
    }

    /// The pointer of a word with this tag: its offsets become those of the word, without a mask.
    #[inline(always)]
    fn tagged<U>(&self, tag: usize) -> *mut U {
        debug_assert_eq!(self.tag(), tag);
        self.word.wrapping_byte_sub(tag).cast()
    }

    #[inline(always)]
    fn set(&mut self, pointer: *mut u8, tag: usize) {
        debug_assert_eq!(pointer.addr() & TAG_MASK, 0);
        self.word = pointer.map_addr(|address| address | tag);
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn view(&self) -> View<'_, T> {
        match self.tag() {
            0 => View::Small(&[]),
            // SAFETY: with these tags the word came from a box of this type, which it owns.
            SINGLE => View::Single(unsafe { &*self.tagged(SINGLE) }),
            // SAFETY: as above.
            LARGE => View::Large(unsafe { &*self.tagged(LARGE) }),
            // SAFETY: with the other tags it points to a block of so many entries, which it owns.
            kind => View::Small(unsafe {
                core::slice::from_raw_parts(self.start().cast_const(), word::len(kind))
            }),
        }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn view_mut(&mut self) -> ViewMut<'_, T> {
        match self.tag() {
            0 => ViewMut::Small(&mut []),
            // SAFETY: with these tags the word came from a box of this type, which it owns.
            SINGLE => ViewMut::Single(unsafe { &mut *self.tagged(SINGLE) }),
            // SAFETY: as above.
            LARGE => ViewMut::Large(unsafe { &mut *self.tagged(LARGE) }),
            // SAFETY: with the other tags it points to a block of so many entries, which it owns.
            kind => ViewMut::Small(unsafe {
                core::slice::from_raw_parts_mut(self.start(), word::len(kind))
            }),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self.view() {
            View::Small(entries) => entries.len(),
            View::Single(single) => single.len(),
            View::Large(large) => large.len(),
        }
    }

    /// The bytes of all allocations, without those of the entries' own.
    pub(crate) fn allocated_bytes(&self) -> usize {
        match self.view() {
            View::Small(_) => {
                let layout = Self::layout(word::room(self.tag()));
                layout.map_or(0, |layout| layout.size())
            }
            View::Single(single) => size_of::<Segment<T>>() + single.bytes(),
            View::Large(large) => {
                let deep = large.deep.as_ref().map_or(0, |deep| {
                    size_of::<Deep<T>>()
                        + deep.table.allocated_bytes()
                        + bytes_of(&deep.list)
                        + bytes_of(&deep.numbers)
                });
                size_of::<Large<T>>() + large.main.allocated_bytes() + deep
            }
        }
    }

    /// Whether the table is searched by hashes: with two entries or room for them.
    #[inline(always)]
    pub(crate) fn is_hashed(&self) -> bool {
        word::is_hashed(self.tag())
    }

    /// The first hash of `query`, or 0 where the table is so small that it is searched without one.
    #[inline(always)]
    pub(crate) fn hash(&self, query: &impl Query<T>) -> u64 {
        if word::is_hashed(self.tag()) {
            query.first()
        } else {
            0
        }
    }

    /// The table of several segments, for which searches look first.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn large(&self) -> Option<&Large<T>> {
        if self.tag() != LARGE {
            return None;
        }
        // SAFETY: with this tag the word came from a box of this type, which it owns.
        Some(unsafe { &*self.tagged(LARGE) })
    }

    /// The single segment.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn single(&self) -> Option<&Segment<T>> {
        if self.tag() != SINGLE {
            return None;
        }
        // SAFETY: with this tag the word came from a box of this type, which it owns.
        Some(unsafe { &*self.tagged(SINGLE) })
    }

    /// The segment in which a hash belongs; `None` where entries lie in a block.
    #[inline(always)]
    fn segment(&self, hash: u64) -> Option<&Segment<T>> {
        match self.large() {
            Some(large) => Some(large.main.segment(hash)),
            None => self.single(),
        }
    }

    /// The segment as [`Self::segment`], mutable.
    #[inline(always)]
    fn segment_mut(&mut self, hash: u64) -> Option<&mut Segment<T>> {
        match self.view_mut() {
            ViewMut::Large(large) => Some(large.main.segment_mut(hash)),
            ViewMut::Single(single) => Some(single),
            ViewMut::Small(_) => None,
        }
    }

    /// Finds an entry.
    ///
    /// A single segment and a large table share their code, so that it is short enough for the compiler to inline it.
    #[inline(always)]
    pub(crate) fn get(&self, query: &impl Query<T>) -> Option<&T> {
        if !word::is_hashed(self.tag()) {
            return self.only().filter(|entry| query.is(entry));
        }
        let hash = query.first();
        let Some(segment) = self.segment(hash) else {
            return self.get_tagged(hash, query);
        };
        match segment.get(tag_of(hash), |entry| query.is(entry)) {
            Ok(entry) => Some(entry),
            Err(false) => None,
            Err(true) => self.get_deep(query),
        }
    }

    /// The entry of [`Self::get`], mutable: with one look for its segment.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn get_mut(&mut self, query: &impl Query<T>) -> Option<&mut T> {
        if !word::is_hashed(self.tag()) {
            return self.only_mut().filter(|entry| query.is(entry));
        }
        let hash = query.first();
        let Some(segment) = self.segment_mut(hash) else {
            return self.find_in_block(hash, query);
        };
        let mut segment = NonNull::from(segment);
        // SAFETY: the segment belongs to the table, whose borrow is unique. Where its entry is returned, the table is not
        // used before that borrow ends; where it has none, the segment is not used any more.
        let found = unsafe { segment.as_mut() };
        match found.get_mut(tag_of(hash), |entry| query.is(entry)) {
            Ok(entry) => Some(entry),
            Err(false) => None,
            Err(true) => {
                let spot = self.find_deep(query)?;
                self.at_mut(spot)
            }
        }
    }

    /// Finds the spot of an entry; `hash` comes from [`Self::hash`].
    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, query: &impl Query<T>) -> Option<Spot> {
        if !word::is_hashed(self.tag()) {
            let only = self.only().filter(|entry| query.is(entry));
            return only.map(|_| Spot::Small(0));
        }
        let Some(segment) = self.segment(hash) else {
            return self.find_tagged(hash, query).map(Spot::Small);
        };
        match segment.find(tag_of(hash), |entry| query.is(entry)) {
            Ok(at) => Some(Spot::Main(hash, at)),
            Err(false) => None,
            Err(true) => self.find_deep(query),
        }
    }

    /// Returns the form of the table for an insertion.
    #[inline(always)]
    pub(crate) fn form(&mut self) -> Form<'_, T> {
        match self.view_mut() {
            ViewMut::Small(_) => Form::Block,
            ViewMut::Large(large) if large.main.is_settled() => Form::Settled(&mut large.main),
            ViewMut::Single(single) => Form::Single(single),
            ViewMut::Large(_) => Form::Unsettled,
        }
    }

    /// Finds an entry that does not stand in its segment.
    #[cold]
    #[inline(never)]
    pub(crate) fn get_deep(&self, query: &impl Query<T>) -> Option<&T> {
        let spot = self.find_deep(query)?;
        self.at(spot)
    }

    /// Finds the spot of an entry that is not in its segment.
    #[cold]
    #[inline(never)]
    pub(crate) fn find_deep(&self, query: &impl Query<T>) -> Option<Spot> {
        let View::Large(large) = self.view() else {
            return None;
        };
        let deep = large.deep.as_ref()?;
        let hash = query.second();
        match deep.table.find(hash, |entry| query.is(entry)) {
            Ok(at) => Some(Spot::Deep(hash, at)),
            Err(false) => None,
            Err(true) => {
                let at = deep.list.iter().position(|entry| query.is(entry));
                at.map(Spot::List)
            }
        }
    }

    /// Finds as [`Self::find`], with the lanes from [`Directory::prefetch_entry`] where the table is large. Does not
    /// find entries that were inserted since then, and is wrong when anything has moved.
    #[inline(always)]
    pub(crate) fn find_in(&self, hash: u64, lanes: Lanes, query: &impl Query<T>) -> Option<Spot> {
        let View::Large(large) = self.view() else {
            return self.find(hash, query);
        };
        let segment = large.main.segment(hash);
        match segment.find_in(lanes, |entry| query.is(entry)) {
            Ok(at) => Some(Spot::Main(hash, at)),
            Err(false) => None,
            Err(true) => self.find_deep(query),
        }
    }

    /// The entry at a spot that has just been found.
    #[inline(always)]
    pub(crate) fn at(&self, spot: Spot) -> Option<&T> {
        match (spot, self.view()) {
            (Spot::Main(hash, at), _) => self.segment(hash)?.entries().get(at),
            (Spot::Small(at), View::Small(entries)) => entries.get(at),
            (Spot::Deep(hash, at), View::Large(large)) => {
                let deep = large.deep.as_ref()?;
                deep.table.segment(hash).entries().get(at)
            }
            (Spot::List(at), View::Large(large)) => large.deep.as_ref()?.list.get(at),
            _ => None,
        }
    }

    /// The entry as [`Self::at`], mutable.
    #[inline(always)]
    pub(crate) fn at_mut(&mut self, spot: Spot) -> Option<&mut T> {
        if let Spot::Main(hash, at) = spot {
            return self.segment_mut(hash)?.entries_mut().get_mut(at);
        }
        match (spot, self.view_mut()) {
            (Spot::Small(at), ViewMut::Small(entries)) => entries.get_mut(at),
            (Spot::Deep(hash, at), ViewMut::Large(large)) => {
                large.deep.as_mut()?.table.entries_mut(hash).get_mut(at)
            }
            (Spot::List(at), ViewMut::Large(large)) => large.deep.as_mut()?.list.get_mut(at),
            _ => None,
        }
    }

    /// Adds an entry that [`Self::find`] has not found; returns its spot. When memory is exhausted or a hasher panics,
    /// the table is as it was, and the entry is dropped.
    #[inline(always)]
    pub(crate) fn insert(
        &mut self,
        hash: u64,
        keys: &impl Keys<T>,
        entry: T,
    ) -> Result<Spot, AllocError> {
        let (is_hashed, is_full_block) = (self.is_hashed(), self.is_full_block());
        match self.view_mut() {
            ViewMut::Large(large) => {
                if let Some(room) = large.main.room(hash, &|entry| keys.first(entry))? {
                    return Ok(Spot::Main(hash, room.push(entry)));
                }
                large.insert_deep(hash, keys, entry)
            }
            ViewMut::Small(_) if !is_hashed => self.push_unhashed(keys, entry),
            ViewMut::Small(_) if !is_full_block => self.push_small(hash, entry),
            ViewMut::Single(single) if single.has_room() => {
                Ok(Spot::Main(hash, single.push(tag_of(hash), entry)))
            }
            _ => self.insert_growing(keys, entry),
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_growing(&mut self, keys: &impl Keys<T>, entry: T) -> Result<Spot, AllocError> {
        // The table may have been so small that no hash was computed yet.
        let hash = keys.first(&entry);
        match self.view_mut() {
            ViewMut::Small(_) => self.become_single(keys)?,
            ViewMut::Single(single) => {
                if single.len() < LANES {
                    single.grow(Step::Roomy)?;
                } else {
                    self.become_large()?;
                }
            }
            ViewMut::Large(_) => {}
        }
        self.insert(hash, keys, entry)
    }

    /// Allocates memory for `additional` entries more, as far as their places can be known.
    pub(crate) fn reserve(
        &mut self,
        additional: usize,
        keys: &impl Keys<T>,
    ) -> Result<(), AllocError> {
        let total = self.len().saturating_add(additional);
        if total <= SMALL_MAX {
            return Ok(());
        }
        if matches!(self.view(), View::Small(_)) {
            self.become_single(keys)?;
        }
        if let ViewMut::Single(single) = self.view_mut() {
            if total <= LANES {
                return single.grow_to(total, Step::Roomy);
            }
            self.become_large()?;
        }
        match self.view_mut() {
            ViewMut::Large(large) => large.main.reserve(total, &|entry| keys.first(entry)),
            _ => Ok(()),
        }
    }

    /// Frees memory that no entry needs.
    pub(crate) fn shrink(&mut self) {
        if let ViewMut::Large(large) = self.view_mut() {
            large.main.shrink();
        }
        self.tighten_more();
        if let ViewMut::Single(single) = self.view_mut() {
            single.shrink_to_fit();
        }
    }

    #[cold]
    #[allow(unsafe_code)]
    fn become_single(&mut self, keys: &impl Keys<T>) -> Result<(), AllocError> {
        let mut single = try_box(Segment::new())?;
        let tags = self.tags_of_all(keys).all();
        single.grow_to(SMALL_MAX + 1, Step::Roomy)?;
        let len = word::len(self.tag());
        // SAFETY: the block's entries are forgotten below.
        unsafe { single.push_all(&tags[..len], self.start()) };
        self.free_any_block();
        self.set(Box::into_raw(single).cast(), SINGLE);
        Ok(())
    }

    #[cold]
    fn become_large(&mut self) -> Result<(), AllocError> {
        let ViewMut::Single(single) = self.view_mut() else {
            return Ok(());
        };
        let main = Directory::new()?;
        let mut large = try_box(Large { main, deep: None })?;
        // All that can fail is done.
        large.main.adopt(core::mem::replace(single, Segment::new()));
        self.replace(Box::into_raw(large).cast(), LARGE);
        Ok(())
    }

    /// Puts another word in place of this one, whose entries have been moved out.
    fn replace(&mut self, pointer: *mut u8, tag: usize) {
        self.free();
        self.set(pointer, tag);
    }

    /// Frees everything; the table is empty after.
    #[allow(unsafe_code)]
    fn free(&mut self) {
        let (pointer, tag) = (self.pointer(), self.tag());
        self.word = ptr::null_mut();
        match tag {
            0 => {}
            // SAFETY: with these tags the word came from a box of this type, and it is forgotten.
            SINGLE => drop(unsafe { Box::from_raw(pointer.cast::<Segment<T>>()) }),
            // SAFETY: as above.
            LARGE => drop(unsafe { Box::from_raw(pointer.cast::<Large<T>>()) }),
            kind => {
                let room = word::room(kind);
                let block = FreeOnDrop::<T>(pointer, room, PhantomData);
                let entries = block.0.wrapping_add(Self::head(room)).cast::<T>();
                // SAFETY: the block has so many entries, which the table has forgotten.
                unsafe { ptr::slice_from_raw_parts_mut(entries, word::len(kind)).drop_in_place() };
            }
        }
    }

    /// Removes the entry of a key. Looks up its segment once, and hashes only the key.
    #[inline(always)]
    pub(crate) fn take(&mut self, query: &impl Query<T>) -> Option<T> {
        if !word::is_hashed(self.tag()) {
            return self.take_only(query);
        }
        let hash = query.first();
        let entry = match self.view_mut() {
            ViewMut::Large(large) => match large.main.take(hash, |entry| query.is(entry)) {
                Ok(entry) if large.main.segments() > 1 && large.deep.is_none() => {
                    return Some(entry);
                }
                Ok(entry) => entry,
                Err(false) => return None,
                Err(true) => return self.take_deep(query),
            },
            ViewMut::Single(single) => {
                let at = single.find(tag_of(hash), |entry| query.is(entry)).ok()?;
                let entry = single.swap_remove(at);
                if !Self::is_loose(single) {
                    return Some(entry);
                }
                entry
            }
            ViewMut::Small(_) => return self.take_of_block(hash, query),
        };
        self.tighten();
        Some(entry)
    }

    /// Removes an entry of a block, which has to have tags.
    #[inline]
    fn take_of_block(&mut self, hash: u64, query: &impl Query<T>) -> Option<T> {
        let at = self.find_tagged(hash, query)?;
        Some(self.remove_small(at))
    }

    /// Removes an entry that is not in its segment.
    #[cold]
    #[inline(never)]
    fn take_deep(&mut self, query: &impl Query<T>) -> Option<T> {
        let spot = self.find_deep(query)?;
        self.remove(spot)
    }

    /// Removes the entry at a spot. Hashes nothing.
    #[inline]
    pub(crate) fn remove(&mut self, spot: Spot) -> Option<T> {
        let entry = match (spot, self.view_mut()) {
            (Spot::Main(hash, at), ViewMut::Large(large)) => {
                let entry = large.main.remove(hash, at);
                if large.main.segments() > 1 && large.deep.is_none() {
                    return Some(entry);
                }
                entry
            }
            (Spot::Small(at), ViewMut::Small(entries)) => {
                return (at < entries.len()).then(|| self.remove_small(at));
            }
            (Spot::Main(_, at), ViewMut::Single(single)) => single.swap_remove(at),
            (Spot::Deep(hash, at), ViewMut::Large(large)) => {
                large.deep.as_mut()?.table.remove(hash, at)
            }
            (Spot::List(at), ViewMut::Large(large)) => {
                let deep = large.deep.as_mut()?;
                deep.numbers.remove(at);
                deep.list.remove(at)
            }
            _ => return None,
        };
        self.tighten();
        Some(entry)
    }

    /// Makes the table smaller after removals, where that is due.
    #[inline]
    pub(crate) fn tighten(&mut self) {
        match self.view_mut() {
            ViewMut::Large(large)
                if large.main.segments() > 1
                    && large.deep.as_ref().is_none_or(|deep| deep.len() > 0) => {}
            ViewMut::Small(_) => {}
            _ => self.tighten_more(),
        }
    }

    /// Returns whether a single segment has so few entries that it is made smaller.
    #[inline(always)]
    const fn is_loose(single: &Segment<T>) -> bool {
        single.len() <= SINGLE_MIN || single.capacity() > 2 * single.len() + 8
    }

    #[cold]
    #[inline(never)]
    fn tighten_more(&mut self) {
        if let ViewMut::Large(large) = self.view_mut() {
            if large.deep.as_ref().is_some_and(|deep| deep.len() == 0) {
                large.deep = None;
            }
            if large.main.segments() > 1
                || large.main.len() > LARGE_MIN
                || large.deep.is_some()
                || !self.become_single_again()
            {
                return;
            }
        }
        if let ViewMut::Single(single) = self.view_mut() {
            let len = single.len();
            if len <= SINGLE_MIN {
                self.become_small();
            } else if single.capacity() > 2 * len + 8 {
                single.shrink(Step::Roomy);
            }
        }
    }

    #[cold]
    #[allow(unsafe_code)]
    fn become_small(&mut self) {
        let ViewMut::Single(single) = self.view_mut() else {
            return;
        };
        let (len, tags) = (single.len(), single.first_tags());
        debug_assert!(len <= SINGLE_MIN);
        let room = word::room(len);
        // Without memory for a block, the table stays a segment.
        let Ok(block) = Self::allocate(room) else {
            return;
        };
        // SAFETY: the block has room for the entries behind its head.
        unsafe { single.move_all_to(block.add(Self::head(room)).cast()) };
        self.free();
        if len > 0 {
            self.set(block, len);
            if word::has_tags(room) {
                self.set_tags(Tags(u64::from_le_bytes(tags)));
            }
        }
    }

    #[cold]
    fn become_single_again(&mut self) -> bool {
        let ViewMut::Large(large) = self.view_mut() else {
            return false;
        };
        let Ok(mut single) = try_box(Segment::new()) else {
            return false;
        };
        *single = large.main.take_only();
        self.replace(Box::into_raw(single).cast(), SINGLE);
        true
    }

    /// Removes all entries and frees all memory.
    pub(crate) fn clear(&mut self) {
        self.free();
    }
}

impl<T> Drop for Table<T> {
    fn drop(&mut self) {
        self.free();
    }
}

impl<T> core::fmt::Debug for Table<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} entries", self.len())
    }
}

#[allow(unsafe_code)]
// SAFETY: the word leads to memory that the table owns alone.
unsafe impl<T: Send> Send for Table<T> {}
#[allow(unsafe_code)]
// SAFETY: a shared table gives out shared references only.
unsafe impl<T: Sync> Sync for Table<T> {}

impl<T> Large<T> {
    pub(crate) fn len(&self) -> usize {
        self.main.len() + self.deep.as_ref().map_or(0, |deep| deep.len())
    }

    #[cold]
    #[inline(never)]
    fn insert_deep(
        &mut self,
        first: u64,
        keys: &impl Keys<T>,
        entry: T,
    ) -> Result<Spot, AllocError> {
        if self.deep.is_none() {
            self.deep = Some(try_box(Deep {
                table: Directory::new()?,
                list: Vec::new(),
                numbers: Vec::new(),
                next_number: 0,
            })?);
        }
        let Some(deep) = self.deep.as_mut() else {
            return Err(AllocError::array::<T>(1));
        };
        let hash = keys.second(&entry);
        if let Some(room) = deep.table.room(hash, &|entry| keys.second(entry))? {
            self.main.set_over(first);
            return Ok(Spot::Deep(hash, room.push(entry)));
        }
        grow(&mut deep.list)?;
        grow(&mut deep.numbers)?;
        self.main.set_over(first);
        deep.table.set_over(hash);
        deep.list.push(entry);
        deep.numbers.push(deep.next_number);
        deep.next_number += 1;
        Ok(Spot::List(deep.list.len() - 1))
    }
}

/// Allocates a box, or returns an error when there is no memory.
#[allow(unsafe_code)]
fn try_box<T>(value: T) -> Result<Box<T>, AllocError> {
    let layout = Layout::new::<T>();
    debug_assert!(layout.size() > 0);
    // SAFETY: segments and large tables have a size.
    let place = unsafe { alloc(layout) }.cast::<T>();
    if place.is_null() {
        return Err(AllocError::refused(layout));
    }
    // SAFETY: freshly allocated by the global allocator for a `T`, which is what a box frees.
    unsafe {
        place.write(value);
        Ok(Box::from_raw(place))
    }
}

/// A list with room for exactly `count` entries.
fn with_room<T>(count: usize) -> Result<Vec<T>, AllocError> {
    let mut list = Vec::new();
    list.try_reserve_exact(count)
        .map_err(|_| AllocError::array::<T>(count))?;
    Ok(list)
}

/// Reserves room for one more element in a list that grows like any vector.
fn grow<T>(list: &mut Vec<T>) -> Result<(), AllocError> {
    list.try_reserve(1)
        .map_err(|_| AllocError::array::<T>(list.len() + 1))
}

impl<T> Deep<T> {
    pub(crate) fn len(&self) -> usize {
        self.table.len() + self.list.len()
    }
}

impl<T: Clone> Table<T> {
    /// A table with the same entries in the same places.
    #[allow(unsafe_code)]
    pub(crate) fn duplicate(&self) -> Result<Self, AllocError> {
        let mut new = Self::new();
        match self.view() {
            View::Small([]) => {}
            View::Small(entries) => {
                // A panic leaves nothing inconsistent yet.
                let mut copies = with_room(entries.len())?;
                copies.extend_from_slice(entries);
                new.set(Self::allocate(word::room(self.tag()))?, self.tag());
                if word::is_hashed(self.tag()) {
                    new.set_tags(self.tags());
                }
                // SAFETY: the new block has the room of the old one, and the list forgets its entries.
                unsafe {
                    new.start()
                        .copy_from_nonoverlapping(copies.as_ptr(), copies.len());
                    copies.set_len(0);
                }
            }
            View::Single(single) => {
                let copy = try_box(single.duplicate()?)?;
                new.set(Box::into_raw(copy).cast(), SINGLE);
            }
            View::Large(large) => {
                let main = large.main.duplicate()?;
                let deep = match &large.deep {
                    Some(deep) => {
                        let mut list = with_room(deep.list.len())?;
                        list.extend_from_slice(&deep.list);
                        let mut numbers = with_room(deep.list.len())?;
                        numbers.extend_from_slice(&deep.numbers);
                        Some(try_box(Deep {
                            table: deep.table.duplicate()?,
                            list,
                            numbers,
                            next_number: deep.next_number,
                        })?)
                    }
                    None => None,
                };
                let copy = try_box(Large { main, deep })?;
                new.set(Box::into_raw(copy).cast(), LARGE);
            }
        }
        Ok(new)
    }
}
