//! The directory: from the upper bits of a hash to its segment, growing one segment at a time.
//!
//! It is an extendible hash table in two levels. A root points to chunks, a chunk to segments; each
//! level is addressed by the next bits of the hash, and several slots in a row point to the same chunk
//! or segment until more bits are needed to tell them apart. Hashes ascend through it, so a place in a
//! walk over all entries is a hash, whatever has split or merged since.
//!
//! Segments are shared by several slots, which is why this file needs `unsafe`. Its invariants:
//!
//! 1. `root` has `2^(64 - root_shift)` elements, at least 2. The chunk of depth `d` is found in
//!    `2^(root bits - d)` of them, all those whose upper `d` bits are the chunk's.
//! 2. A chunk's `slots` is an allocation of `2^(64 - shift)` pointers, owned by the directory.
//! 3. Each slot points to a live segment in the slab. A segment of depth `d` is found in
//!    all slots whose upper `d` bits are the segment's, and nowhere else.
//! 4. A slot's `entries` is where its segment's entries are.
//! 5. The positions of a segment's groups, at lanes with a tag, are below the number of its entries.

use alloc::alloc::{alloc, dealloc};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

use crate::error::AllocError;
use crate::group::{self, Group, Lane};
use crate::segment::{ENTRIES_MAX, GROUPS, Segment, fit, hash_all, reserve, roomy};
use crate::slab::Slab;

/// Bits of the hash that a chunk looks at, at most: 8 KiB of pointers, which is what the widening of
/// a chunk copies.
const CHUNK_BITS_MAX: u32 = 10;
/// A segment splits while segments of its depth would have more entries than this on average; when
/// they have fewer and one is full all the same, its keys collide.
const AVERAGE_MIN: usize = 24;
/// A segment with fewer entries looks whether its neighbour has few as well.
const FEW: usize = 60;
/// Two neighbours with no more entries than this become one segment.
const MERGED_MAX: usize = 160;

/// Segments by the upper bits of the hash.
pub(crate) struct Directory<T> {
    root: Vec<Chunk<T>>,
    root_shift: u32,
    slab: Slab<T>,
    len: usize,
    /// Slots of all chunks.
    slots: usize,
    /// Bytes that the entries' allocations have.
    entry_bytes: usize,
    owns: PhantomData<T>,
}

/// A segment, and where its entries are: a search that finds something need not read that from the
/// segment, which saves a cache miss.
struct Slot<T> {
    segment: NonNull<Segment<T>>,
    entries: *const T,
}

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slot<T> {}

/// A range of hashes: its segments.
struct Chunk<T> {
    slots: NonNull<Slot<T>>,
    /// Upper bits of the hash that the range shares.
    depth: u32,
    /// 64 less the bits that tell the slots apart.
    shift: u32,
}

impl<T> Clone for Chunk<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Chunk<T> {}

impl<T> Chunk<T> {
    const fn bits(&self) -> u32 {
        64 - self.shift
    }

    #[inline(always)]
    const fn index(&self, hash: u64) -> usize {
        ((hash << self.depth) >> self.shift) as usize
    }

    /// A chunk whose slots come from `slot`.
    #[allow(unsafe_code)]
    fn new(depth: u32, bits: u32, slot: impl Fn(usize) -> Slot<T>) -> Result<Self, AllocError> {
        let layout = Self::layout(bits);
        // SAFETY: the layout has at least one pointer's size.
        let slots = unsafe { alloc(layout) };
        let slots = NonNull::new(slots.cast::<Slot<T>>()).ok_or(AllocError::refused(layout))?;
        for index in 0..1_usize << bits {
            // SAFETY: `index` is below the number of pointers in the allocation.
            unsafe { slots.add(index).write(slot(index)) };
        }
        Ok(Self {
            slots,
            depth,
            shift: 64 - bits,
        })
    }

    fn layout(bits: u32) -> Layout {
        // At most 2^10 pointers: the size of the layout cannot overflow.
        Layout::array::<Slot<T>>(1 << bits).unwrap_or(Layout::new::<usize>())
    }

    /// The pointer in slot `index`, which has to be below `2^bits`.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn get(&self, index: usize) -> Slot<T> {
        debug_assert!(index < 1 << self.bits());
        // SAFETY: invariant 2, and every caller takes `index` from `Self::index` or counts to `2^bits`.
        unsafe { *self.slots.as_ptr().add(index) }
    }

    #[allow(unsafe_code)]
    fn set(&self, index: usize, slot: Slot<T>) {
        debug_assert!(index < 1 << self.bits());
        // SAFETY: as in `get`.
        unsafe { *self.slots.as_ptr().add(index) = slot };
    }

    /// Gives the slots back; no copy of this chunk may be used after.
    #[allow(unsafe_code)]
    fn free(self) {
        // SAFETY: invariant 2: `new` has allocated the slots with this layout.
        unsafe { dealloc(self.slots.as_ptr().cast(), Self::layout(self.bits())) };
    }
}

/// Allocates without ending the program when there is no memory.
#[allow(unsafe_code)]
pub(crate) fn try_box<T>(value: T) -> Result<Box<T>, AllocError> {
    let layout = Layout::new::<T>();
    debug_assert!(layout.size() > 0);
    // SAFETY: segments and directories have a size.
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

impl<T> Directory<T> {
    /// A directory of one segment without entries.
    pub(crate) fn new() -> Result<Self, AllocError> {
        let mut root = Vec::new();
        reserve(&mut root, 2)?;
        let mut slab = Slab::new();
        slab.reserve()?;
        let segment = slab.push(Segment::new(0, 0));
        let slot = Slot {
            segment,
            entries: core::ptr::null(),
        };
        root.resize(2, Chunk::new(0, 1, |_| slot)?);
        Ok(Self {
            root,
            root_shift: 63,
            slab,
            len: 0,
            slots: 2,
            entry_bytes: 0,
            owns: PhantomData,
        })
    }

    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn segments(&self) -> usize {
        self.slab.len()
    }

    /// Bytes of the entries' allocations.
    pub(crate) const fn entry_bytes(&self) -> usize {
        self.entry_bytes
    }

    /// Checks that all slots of a range of hashes are alike and right.
    ///
    /// # Panics
    /// When they are not.
    pub(crate) fn check_slots(&self, start: u64, last: u64) {
        let slot = self.slot(start);
        assert_eq!(slot.entries, self.segment(start).entries.as_ptr());
        let mut next = Some(start);
        let mut chunks = 0;
        while let Some(hash) = next.filter(|hash| *hash <= last) {
            let chunk = self.chunk(hash);
            let own = chunk.get(chunk.index(hash));
            assert_eq!((own.segment, own.entries), (slot.segment, slot.entries));
            next = after_range(hash, chunk.depth + chunk.bits());
            chunks += 1;
        }
        assert!(chunks > 0);
    }

    /// Bytes of all allocations below this value.
    pub(crate) fn allocated_bytes(&self) -> usize {
        self.root.capacity() * size_of::<Chunk<T>>()
            + self.slots * size_of::<Slot<T>>()
            + self.slab.allocated_bytes()
            + self.entry_bytes
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    fn chunk(&self, hash: u64) -> Chunk<T> {
        let index = (hash >> self.root_shift) as usize;
        debug_assert!(index < self.root.len());
        // SAFETY: invariant 1: the index has `64 - root_shift` bits.
        unsafe { *self.root.get_unchecked(index) }
    }

    /// The pointer to the segment in which a hash belongs.
    #[inline(always)]
    fn pointer(&self, hash: u64) -> NonNull<Segment<T>> {
        self.slot(hash).segment
    }

    #[inline(always)]
    fn slot(&self, hash: u64) -> Slot<T> {
        let chunk = self.chunk(hash);
        chunk.get(chunk.index(hash))
    }

    /// Finds an entry; otherwise tells whether the segment has entries elsewhere.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn get(&self, hash: u64, mut is: impl FnMut(&T) -> bool) -> Result<&T, bool> {
        let slot = self.slot(hash);
        // SAFETY: invariant 3; the borrow of `self` keeps the segment from being changed or freed.
        let groups = unsafe { &(*slot.segment.as_ptr()).groups };
        // SAFETY: invariants 4 and 5: the position of a tag is that of an entry behind this pointer.
        let entry = |position: usize| unsafe { &*slot.entries.add(position) };
        group::find(
            groups,
            group::home_of(hash, GROUPS),
            group::tag_of(hash),
            |position| is(entry(position)),
        )
        .map(|lane| entry(lane.position))
    }

    /// The segment in which a hash belongs.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn segment(&self, hash: u64) -> &Segment<T> {
        // SAFETY: invariant 3; the borrow of `self` keeps the segment from being changed or freed.
        unsafe { self.pointer(hash).as_ref() }
    }

    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn segment_mut(&mut self, hash: u64) -> &mut Segment<T> {
        // SAFETY: invariant 3; the unique borrow of `self` covers all segments.
        unsafe { self.pointer(hash).as_mut() }
    }

    #[inline(always)]
    pub(crate) fn find(&self, hash: u64, is: impl FnMut(&T) -> bool) -> Result<Lane, bool> {
        self.segment(hash).find(hash, is)
    }

    /// Makes room for one entry. `false`: the segment is full, and splitting would not help, because
    /// too many hashes begin with the same bits.
    ///
    /// Moves at most [`ENTRIES_MAX`] entries. Nothing has changed when `hash_of` panics or memory ends.
    #[inline]
    pub(crate) fn room(
        &mut self,
        hash: u64,
        hash_of: &impl Fn(&T) -> u64,
    ) -> Result<bool, AllocError> {
        let segment = self.segment_mut(hash);
        let len = segment.entries.len();
        if len < segment.entries.capacity() && len < ENTRIES_MAX {
            Ok(true)
        } else {
            self.make_room(hash, hash_of)
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, hash: u64, hash_of: &impl Fn(&T) -> u64) -> Result<bool, AllocError> {
        loop {
            let entries = &mut self.segment_mut(hash).entries;
            let (len, before) = (entries.len(), bytes_of(entries));
            if len < ENTRIES_MAX {
                if len == entries.capacity() {
                    fit(entries, roomy(len))?;
                    let after = bytes_of(entries);
                    self.entry_bytes = self.entry_bytes + after - before;
                    self.refresh(hash);
                }
                return Ok(true);
            }
            if !self.split(hash, hash_of)? {
                return Ok(false);
            }
        }
    }

    /// Adds an entry for which [`Self::room`] has said yes.
    #[inline(always)]
    pub(crate) fn push(&mut self, hash: u64, entry: T) -> Lane {
        self.len += 1;
        self.segment_mut(hash).parts().push(hash, entry)
    }

    /// Takes the entry at `lane` out. Moves at most one segment's entries.
    pub(crate) fn remove(&mut self, hash: u64, lane: Lane, hash_of: &impl Fn(&T) -> u64) -> T {
        let entry = self.segment_mut(hash).parts().remove(hash, lane, hash_of);
        self.len -= 1;
        let entries = &self.segment_mut(hash).entries;
        let len = entries.len();
        if entries.capacity() > len + len / 3 + 8 {
            self.tighten(hash, hash_of);
        }
        entry
    }

    /// Gives memory back after a removal, where that is cheap.
    #[cold]
    fn tighten(&mut self, hash: u64, hash_of: &impl Fn(&T) -> u64) {
        // What has merged may have few entries still; two rounds are common, and each moves fewer
        // entries than a split.
        let mut has_merged = false;
        while self.segment(hash).entries.len() < FEW && self.merge(hash, hash_of) {
            has_merged = true;
        }
        if has_merged {
            return;
        }
        let entries = &mut self.segment_mut(hash).entries;
        let before = bytes_of(entries);
        entries.shrink_to(roomy(entries.len()));
        let after = bytes_of(entries);
        self.entry_bytes = self.entry_bytes + after - before;
        self.refresh(hash);
    }

    /// Takes the entries out of the segment of `hash` for which `take` is true.
    pub(crate) fn extract(
        &mut self,
        hash: u64,
        hash_of: &impl Fn(&T) -> u64,
        mut take: impl FnMut(&mut T) -> bool,
        mut taken: impl FnMut(T),
    ) {
        let mut at = self.segment(hash).entries.len();
        // From the end: what comes into the gap has been looked at.
        while at > 0 {
            at -= 1;
            let mut parts = self.segment_mut(hash).parts();
            if let Some(entry) = parts.extract(at, hash_of, |_, entry| take(entry)) {
                self.len -= 1;
                taken(entry);
            }
        }
        let entries = &self.segment(hash).entries;
        if entries.capacity() > entries.len() + entries.len() / 3 + 8 {
            self.tighten(hash, hash_of);
        }
    }

    /// Splits the segment of `hash` in two. `false` when that would not spread the entries.
    fn split(&mut self, hash: u64, hash_of: &impl Fn(&T) -> u64) -> Result<bool, AllocError> {
        let depth = self.segment(hash).depth;
        if depth >= 48 || self.len >> depth < AVERAGE_MIN {
            return Ok(false);
        }
        // All that can fail comes first.
        let mut hashes = [0; ENTRIES_MAX];
        hash_all(&self.segment(hash).entries, &mut hashes, hash_of);
        let bit = 1 << (63 - depth);
        let len = self.segment(hash).entries.len();
        let movers = hashes.iter().take(len).filter(|hash| **hash & bit != 0);
        let movers = movers.count();
        let chunk = self.chunk(hash);
        if chunk.depth + chunk.bits() == depth {
            self.widen(hash)?;
        }
        self.slab.reserve()?;
        let prefix = self.segment(hash).prefix | bit;
        let mut upper = Segment::new(prefix, depth + 1);
        reserve(&mut upper.entries, roomy(movers))?;
        if group::is_over(&self.segment(hash).groups) {
            group::set_over(&mut upper.groups);
        }

        let lower = self.segment_mut(hash);
        let before = bytes_of(&lower.entries);
        let mut upper_hashes = [0; ENTRIES_MAX];
        let mut at = 0;
        while at < lower.entries.len() {
            if hashes[at] & bit == 0 {
                at += 1;
                continue;
            }
            upper_hashes[upper.entries.len()] = hashes[at];
            hashes[at] = hashes[lower.entries.len() - 1];
            upper.entries.push(lower.entries.swap_remove(at));
        }
        lower.entries.shrink_to(roomy(lower.entries.len()));
        lower.depth = depth + 1;
        lower.parts().index(&hashes);
        upper.parts().index(&upper_hashes);
        let after = bytes_of(&lower.entries) + bytes_of(&upper.entries);
        self.entry_bytes = self.entry_bytes + after - before;
        let upper = self.slab.push(upper);
        self.point(prefix, depth + 1, upper);
        self.refresh(hash & !bit);
        Ok(true)
    }

    /// Lets all slots of the range of `depth` bits in which `hash` lies point to `segment`.
    #[allow(unsafe_code)]
    fn point(&mut self, hash: u64, depth: u32, segment: NonNull<Segment<T>>) {
        // SAFETY: every caller has the segment from the slab.
        let entries = unsafe { segment.as_ref() }.entries.as_ptr();
        let slot = Slot { segment, entries };
        let chunk = self.chunk(hash);
        let count = 1 << (chunk.depth + chunk.bits() - depth);
        let first = chunk.index(hash) & !(count - 1);
        for index in first..first + count {
            chunk.set(index, slot);
        }
    }

    /// Notes that the entries of the segment of `hash` may lie elsewhere now.
    fn refresh(&mut self, hash: u64) {
        let segment = self.pointer(hash);
        let depth = self.segment(hash).depth;
        self.point(hash, depth, segment);
    }

    /// Makes the chunk of `hash` tell one more bit apart: doubles it or, at its largest, splits it.
    #[cold]
    fn widen(&mut self, hash: u64) -> Result<(), AllocError> {
        let old = self.chunk(hash);
        let bits = old.bits();
        if bits < CHUNK_BITS_MAX {
            let new = Chunk::new(old.depth, bits + 1, |index| old.get(index / 2))?;
            self.replace(hash, old.depth, new);
            self.slots += 1 << bits;
            old.free();
            return Ok(());
        }
        if old.depth == 64 - self.root_shift {
            self.double_root()?;
        }
        let half = 1 << (bits - 1);
        let lower = Chunk::new(old.depth + 1, bits - 1, |index| old.get(index))?;
        let upper = match Chunk::new(old.depth + 1, bits - 1, |index| old.get(half + index)) {
            Ok(upper) => upper,
            Err(error) => {
                lower.free();
                return Err(error);
            }
        };
        let bit = 1 << (63 - old.depth);
        self.replace(hash & !bit, old.depth + 1, lower);
        self.replace(hash | bit, old.depth + 1, upper);
        old.free();
        // The chunk in which the hash now lies has room for the bit.
        self.widen(hash)
    }

    /// Puts `chunk` into the root for the range of `depth` bits in which `hash` lies.
    fn replace(&mut self, hash: u64, depth: u32, chunk: Chunk<T>) {
        let count = 1 << (64 - self.root_shift - depth);
        let first = (hash >> self.root_shift) as usize & !(count - 1);
        for slot in &mut self.root[first..first + count] {
            *slot = chunk;
        }
    }

    fn double_root(&mut self) -> Result<(), AllocError> {
        let mut root = Vec::new();
        reserve(&mut root, self.root.len() * 2)?;
        for chunk in &self.root {
            root.push(*chunk);
            root.push(*chunk);
        }
        self.root = root;
        self.root_shift -= 1;
        Ok(())
    }

    /// Unites the segment of `hash` with its neighbour, if both have few entries. Where memory ends or
    /// a hasher panics, nothing has changed.
    fn merge(&mut self, hash: u64, hash_of: &impl Fn(&T) -> u64) -> bool {
        let depth = self.segment(hash).depth;
        if depth == 0 {
            return false;
        }
        let bit = 1 << (64 - depth);
        let chunk = self.chunk(hash);
        if depth == chunk.depth {
            // The neighbour lies in another chunk: unite the chunks first.
            if !self.merge_chunks(hash) {
                return false;
            }
        }
        let (lower, upper) = (self.segment(hash & !bit), self.segment(hash | bit));
        let len = lower.entries.len() + upper.entries.len();
        if lower.depth != depth || upper.depth != depth || len > MERGED_MAX {
            return false;
        }
        let mut hashes = [0; ENTRIES_MAX];
        let mut upper_hashes = [0; ENTRIES_MAX];
        hash_all(&lower.entries, &mut hashes, hash_of);
        hash_all(&upper.entries, &mut upper_hashes, hash_of);
        let lower_len = lower.entries.len();
        let upper_len = upper.entries.len();
        hashes[lower_len..len].copy_from_slice(&upper_hashes[..upper_len]);
        let is_over = group::is_over(&lower.groups) || group::is_over(&upper.groups);
        let before = bytes_of(&lower.entries) + bytes_of(&upper.entries);
        let mut entries = Vec::new();
        if fit(&mut entries, roomy(len)).is_err() {
            return false;
        }
        let gone = self.pointer(hash | bit);
        entries.append(&mut self.segment_mut(hash & !bit).entries);
        entries.append(&mut self.segment_mut(hash | bit).entries);
        let lower = self.segment_mut(hash & !bit);
        let after = bytes_of(&entries);
        lower.entries = entries;
        lower.depth = depth - 1;
        lower.prefix &= !bit;
        if is_over {
            group::set_over(&mut lower.groups);
        }
        lower.parts().index(&hashes);
        self.entry_bytes = self.entry_bytes + after - before;
        let stays = self.pointer(hash & !bit);
        self.point(hash, depth - 1, stays);
        self.free(gone);
        if self.slab.len() * 4 < self.slots {
            self.narrow(hash);
        }
        true
    }

    /// Frees a segment to which no slot points any more.
    #[allow(unsafe_code)]
    fn free(&mut self, segment: NonNull<Segment<T>>) {
        // SAFETY: the pointer has just been in a slot, so the segment is in the slab (invariant 3).
        let (gone, moved) = unsafe { self.slab.remove(segment) };
        if moved {
            // SAFETY: another segment of the slab stands there now.
            let (prefix, depth) = unsafe { (segment.as_ref().prefix, segment.as_ref().depth) };
            self.point(prefix, depth, segment);
        }
        drop(gone);
    }

    /// Halves the chunk of `hash`, if no two of its slots in a pair differ.
    fn narrow(&mut self, hash: u64) {
        let old = self.chunk(hash);
        let bits = old.bits();
        let pairs = 1_usize << (bits - 1);
        if bits == 1
            || (0..pairs).any(|pair| old.get(2 * pair).segment != old.get(2 * pair + 1).segment)
        {
            return;
        }
        let Ok(new) = Chunk::new(old.depth, bits - 1, |index| old.get(2 * index)) else {
            return;
        };
        self.replace(hash, old.depth, new);
        self.slots -= pairs;
        old.free();
    }

    /// Unites the chunk of `hash` with its neighbour, if one chunk can hold both.
    fn merge_chunks(&mut self, hash: u64) -> bool {
        let own = self.chunk(hash);
        if own.depth == 0 {
            return false;
        }
        let bit = 1 << (64 - own.depth);
        let (lower, upper) = (self.chunk(hash & !bit), self.chunk(hash | bit));
        let bits = lower.bits().max(upper.bits()) + 1;
        if lower.depth != upper.depth || bits > CHUNK_BITS_MAX {
            return false;
        }
        let half = 1_usize << (bits - 1);
        let merged = Chunk::new(own.depth - 1, bits, |index| {
            let (from, index) = if index < half {
                (lower, index)
            } else {
                (upper, index - half)
            };
            from.get(index >> (bits - 1 - from.bits()))
        });
        let Ok(merged) = merged else {
            return false;
        };
        self.replace(hash, own.depth - 1, merged);
        self.slots = self.slots + (1 << bits) - (1 << lower.bits()) - (1 << upper.bits());
        lower.free();
        upper.free();
        self.halve_root();
        true
    }

    fn halve_root(&mut self) {
        let bits = 64 - self.root_shift;
        if self.root.len() > 2 && self.root.iter().all(|chunk| chunk.depth < bits) {
            let mut index = 0;
            self.root.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.root.shrink_to_fit();
            self.root_shift += 1;
        }
    }

    /// Notes that the segment of `hash` has entries elsewhere.
    pub(crate) fn set_over(&mut self, hash: u64) {
        group::set_over(&mut self.segment_mut(hash).groups);
    }

    /// Starts fetching what a search for `hash` reads of the segment: a line of the index.
    #[inline(always)]
    pub(crate) fn prefetch(&self, hash: u64) {
        let segment = self.pointer(hash).as_ptr().cast_const().cast::<u8>();
        let group = group::home_of(hash, GROUPS) * size_of::<Group>();
        prefetch(segment.wrapping_add(group));
    }

    /// Starts fetching the first entry that a search for `hash` compares; needs the index.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(crate) fn prefetch_entry(&self, hash: u64) {
        let slot = self.slot(hash);
        // SAFETY: as in `get`.
        let groups = unsafe { &(*slot.segment.as_ptr()).groups };
        let home = group::home_of(hash, GROUPS);
        if let Some(position) = group::first(groups, home, group::tag_of(hash)) {
            let entry = slot.entries.wrapping_add(position).cast::<u8>();
            prefetch(entry);
            // Most entries lie across two lines.
            prefetch(entry.wrapping_add(size_of::<T>().saturating_sub(1).min(64)));
        }
    }

    /// Indexes `entries`, which [`Self::adopt`] will bring, in a new directory.
    pub(crate) fn fill(&mut self, entries: &[T], hash_of: &impl Fn(&T) -> u64) {
        let mut hashes = [0; ENTRIES_MAX];
        hash_all(entries, &mut hashes, hash_of);
        let segment = self.segment_mut(0);
        for (position, hash) in hashes.iter().take(entries.len()).enumerate() {
            let home = group::home_of(*hash, GROUPS);
            group::insert(&mut segment.groups, home, group::tag_of(*hash), position);
        }
    }

    /// Takes over what [`Self::fill`] has indexed.
    pub(crate) fn adopt(&mut self, entries: Vec<T>) {
        debug_assert_eq!((self.len, self.segments()), (0, 1));
        self.len = entries.len();
        self.entry_bytes = bytes_of(&entries);
        self.segment_mut(0).entries = entries;
        self.refresh(0);
    }

    /// The entries of the only segment; the directory has none after.
    pub(crate) fn take_entries(&mut self) -> Vec<T> {
        debug_assert_eq!(self.segments(), 1);
        let segment = self.segment_mut(0);
        group::clear(&mut segment.groups);
        self.len = 0;
        self.entry_bytes = 0;
        core::mem::take(&mut self.segment_mut(0).entries)
    }

    /// Takes all entries of the segment of `hash` out, and leaves it empty.
    pub(crate) fn take_segment(&mut self, hash: u64) -> Vec<T> {
        let segment = self.segment_mut(hash);
        group::clear(&mut segment.groups);
        let entries = core::mem::take(&mut segment.entries);
        self.len -= entries.len();
        self.entry_bytes -= bytes_of(&entries);
        self.refresh(hash);
        entries
    }

    /// A directory with the same segments.
    pub(crate) fn duplicate(&self) -> Result<Self, AllocError>
    where
        T: Clone,
    {
        let mut new = Self {
            root: Vec::new(),
            root_shift: self.root_shift,
            slab: Slab::new(),
            len: self.len,
            slots: self.slots,
            entry_bytes: 0,
            owns: PhantomData,
        };
        reserve(&mut new.root, self.root.len())?;
        // When cloning an entry panics, dropping `new` frees what is there.
        let mut next = Some(0);
        while let Some(hash) = next {
            let chunk = self.chunk(hash);
            let copy = Chunk::new(chunk.depth, chunk.bits(), |index| chunk.get(index))?;
            let count = 1 << (64 - self.root_shift - chunk.depth);
            new.root.extend(core::iter::repeat_n(copy, count));
            next = after_range(hash, chunk.depth);
        }
        next = Some(0);
        while let Some(hash) = next {
            let segment = copy_segment(self.segment(hash))?;
            new.slab.reserve()?;
            new.entry_bytes += bytes_of(&segment.entries);
            next = after_range(hash, segment.depth);
            let depth = segment.depth;
            let place = new.slab.push(segment);
            new.point(hash, depth, place);
        }
        Ok(new)
    }
}

fn copy_segment<T: Clone>(segment: &Segment<T>) -> Result<Segment<T>, AllocError> {
    let mut copy = Segment::new(segment.prefix, segment.depth);
    reserve(&mut copy.entries, roomy(segment.entries.len()))?;
    copy.entries.extend_from_slice(&segment.entries);
    copy.groups = segment.groups;
    Ok(copy)
}

/// The first hash beyond the range of `depth` bits in which `hash` lies; `None` at the end.
pub(crate) const fn after_range(hash: u64, depth: u32) -> Option<u64> {
    (hash | (u64::MAX >> depth)).checked_add(1)
}

impl<T> Drop for Directory<T> {
    fn drop(&mut self) {
        let mut last = None;
        for chunk in core::mem::take(&mut self.root) {
            if last != Some(chunk.slots) {
                last = Some(chunk.slots);
                chunk.free();
            }
        }
    }
}

// A directory owns its entries and shares nothing.
#[allow(unsafe_code)]
// SAFETY: all pointers lead to memory that the directory owns alone.
unsafe impl<T: Send> Send for Directory<T> {}
#[allow(unsafe_code)]
// SAFETY: a shared directory gives out shared references only.
unsafe impl<T: Sync> Sync for Directory<T> {}

/// Bytes of the allocation behind `entries`.
pub(crate) const fn bytes_of<T>(entries: &Vec<T>) -> usize {
    // Values without a size have a capacity without bounds, and no allocation.
    if size_of::<T>() == 0 {
        0
    } else {
        entries.capacity() * size_of::<T>()
    }
}

/// Asks for a cache line; reads nothing, so any address will do.
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
