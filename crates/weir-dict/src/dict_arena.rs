//! Many small dictionaries in one place.
//!
//! Invariant: a word of a kind from 1 to 8 leads to a block of so many entries, all of which are initialised, and to
//! which no other word leads.

use alloc::vec::Vec;
use core::borrow::Borrow;
use core::hash::{BuildHasher, Hash};

use crate::Dict;
use crate::block::{BLOCK_MAX, Block, Pool};
use crate::error::AllocError;
use crate::hash::ProcessKey;

/// Many dictionaries, most of them empty or nearly so, without an allocation each.
///
/// A dictionary here is a number and costs four bytes. (The numbers' list is moved when it grows, by an eighth each
/// time; nothing else is.) Its entries, up to eight, lie in a block of exactly their size, beside the blocks of other
/// dictionaries, without an allocator's header and without being hashed; with more entries it becomes a [`Dict`]. All
/// have the same hasher.
///
/// Freed blocks are used by the next dictionary of that size; memory is returned to the allocator when the arena is
/// dropped.
///
/// ```
/// let mut arena = weir_dict::DictArena::<u32, &str>::new();
/// let (one, other) = (arena.add(), arena.add());
/// arena.insert(one, 7, "seven");
/// assert_eq!(arena.get(one, &7), Some(&"seven"));
/// assert_eq!(arena.get(other, &7), None);
/// assert_eq!(arena.len(one), 1);
/// ```
pub struct DictArena<K, V, S = ProcessKey> {
    /// The kind and the position of the entries of each dictionary: see [`Word`].
    words: Vec<Word>,
    pools: [Pool<(K, V)>; BLOCK_MAX],
    large: Vec<Dict<K, V, S>>,
    /// The free places of `large`.
    large_free: Vec<u32>,
    /// The numbers of dictionaries that have been removed.
    free: Vec<DictId>,
    state: S,
}

/// A dictionary of a [`DictArena`].
///
/// The number of a removed dictionary is reused, as an index of a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DictId(u32);

/// The upper four bits are the number of entries, or [`LARGE`]; the rest is the number of the block of that size, or of
/// the large dictionary.
#[derive(Clone, Copy)]
struct Word(u32);

const EMPTY: Word = Word(0);
const LARGE: u32 = 9;
/// A dictionary that has been removed.
const REMOVED: Word = Word(15 << NUMBER_BITS);
const NUMBER_BITS: u32 = 28;

impl Word {
    /// Fails when there are more blocks than can be numbered: 268 million of a size.
    fn new(kind: u32, number: u32) -> Result<Self, AllocError> {
        if number >> NUMBER_BITS == 0 {
            Ok(Self(kind << NUMBER_BITS | number))
        } else {
            Err(AllocError::array::<()>(0))
        }
    }

    const fn kind(self) -> u32 {
        self.0 >> NUMBER_BITS
    }

    const fn number(self) -> u32 {
        self.0 & ((1 << NUMBER_BITS) - 1)
    }
}

impl<K, V> DictArena<K, V> {
    /// An arena without dictionaries, which allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self::with_hasher(ProcessKey)
    }
}

impl<K, V, S: Default> Default for DictArena<K, V, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<K, V, S> DictArena<K, V, S> {
    /// An arena whose dictionaries hash with `state`; see [`Dict::with_hasher`].
    #[must_use]
    pub const fn with_hasher(state: S) -> Self {
        Self {
            words: Vec::new(),
            pools: [
                Pool::new(1),
                Pool::new(2),
                Pool::new(3),
                Pool::new(4),
                Pool::new(5),
                Pool::new(6),
                Pool::new(7),
                Pool::new(8),
            ],
            large: Vec::new(),
            large_free: Vec::new(),
            free: Vec::new(),
            state,
        }
    }

    /// The number of bytes of all allocations: exact, without what keys and values own.
    #[must_use]
    pub fn allocated_bytes(&self) -> usize {
        let pools: usize = self.pools.iter().map(Pool::allocated_bytes).sum();
        let large: usize = self.large.iter().map(Dict::allocated_bytes).sum();
        pools
            + large
            + self.words.capacity() * size_of::<Word>()
            + self.large.capacity() * size_of::<Dict<K, V, S>>()
            + self.large_free.capacity() * size_of::<u32>()
            + self.free.capacity() * size_of::<DictId>()
    }

    /// Adds a dictionary without entries. Aborts the process when memory is exhausted, and after 2^32 dictionaries.
    pub fn add(&mut self) -> DictId {
        self.try_add().unwrap_or_else(|error| error.abort())
    }

    /// Adds as [`Self::add`], but returns an error when memory is exhausted.
    ///
    /// # Errors
    /// [`AllocError`]: the arena is as it was.
    pub fn try_add(&mut self) -> Result<DictId, AllocError> {
        if let Some(id) = self.free.pop() {
            self.words[id.0 as usize] = EMPTY;
            return Ok(id);
        }
        let failed = AllocError::array::<Word>(self.words.len() + 1);
        let id = u32::try_from(self.words.len()).map_err(|_| failed)?;
        // The list grows by an eighth, which leaves less unused than a doubling.
        if self.words.len() == self.words.capacity() {
            let more = self.words.len() / 8 + 16;
            self.words
                .try_reserve_exact(more)
                .map_err(|_| AllocError::array::<Word>(self.words.len() + more))?;
        }
        self.words.push(EMPTY);
        Ok(DictId(id))
    }

    #[inline(always)]
    fn word(&self, id: DictId) -> Word {
        let word = self.words[id.0 as usize];
        assert!(word.kind() <= LARGE, "the dictionary is there");
        word
    }

    /// The number of entries of a dictionary.
    ///
    /// # Panics
    /// As all methods here: when `id` is not of this arena, or has been removed.
    #[must_use]
    pub fn len(&self, id: DictId) -> usize {
        let word = self.word(id);
        if word.kind() == LARGE {
            self.large[word.number() as usize].len()
        } else {
            word.kind() as usize
        }
    }

    /// Whether a dictionary has no entries.
    #[must_use]
    pub fn is_empty(&self, id: DictId) -> bool {
        self.word(id).kind() == 0
    }

    /// All entries of a dictionary, in no particular order.
    pub fn iter(&self, id: DictId) -> impl Iterator<Item = (&K, &V)> {
        let word = self.word(id);
        let large = (word.kind() == LARGE).then(|| self.large[word.number() as usize].iter());
        let small = self.entries(word).iter().map(|(key, value)| (key, value));
        small.chain(large.into_iter().flatten())
    }

    /// The entries of a dictionary that lie in a block.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn entries(&self, word: Word) -> &[(K, V)] {
        let count = word.kind() as usize;
        if count == 0 || word.kind() == LARGE {
            return &[];
        }
        let start = self.pools[count - 1].start(Block(word.number()));
        // SAFETY: a word belongs to one dictionary, its block has as many entries as its size says, and
        // the borrow of `self` keeps them from being changed.
        unsafe { core::slice::from_raw_parts(start.as_ptr(), count) }
    }

    /// The entries as [`Self::entries`], mutable.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn entries_mut(&mut self, word: Word) -> &mut [(K, V)] {
        let count = word.kind() as usize;
        if count == 0 || word.kind() == LARGE {
            return &mut [];
        }
        let start = self.pools[count - 1].start(Block(word.number()));
        // SAFETY: as in `entries`; the borrow of `self` is unique.
        unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), count) }
    }

    /// Moves the entries of a dictionary with fewer than eight into the next larger block, with one more.
    #[allow(unsafe_code)]
    fn push(&mut self, id: DictId, entry: (K, V)) -> Result<(), AllocError> {
        let old = self.word(id);
        let count = old.kind() as usize;
        debug_assert!(count < BLOCK_MAX);
        let block = self.pools[count].take()?;
        let new = match Word::new(old.kind() + 1, block.0) {
            Ok(new) => new,
            Err(error) => {
                self.pools[count].give_back(block);
                return Err(error);
            }
        };
        let to = self.pools[count].start(block);
        let from = self.entries(old).as_ptr();
        // SAFETY: the new block has room for one entry more than the old one has, and is another. The
        // word forgets the old one below, so that each entry is in one place.
        unsafe {
            to.as_ptr().copy_from_nonoverlapping(from, count);
            to.add(count).write(entry);
        }
        self.words[id.0 as usize] = new;
        if count > 0 {
            self.pools[count - 1].give_back(Block(old.number()));
        }
        Ok(())
    }

    /// Removes an entry of a block; the others move into the next smaller one.
    #[allow(unsafe_code)]
    fn take(&mut self, id: DictId, at: usize) -> Result<(K, V), AllocError> {
        let old = self.word(id);
        let count = old.kind() as usize;
        assert!(at < count && count <= BLOCK_MAX, "the entry is there");
        let new = if count == 1 {
            EMPTY
        } else {
            let block = self.pools[count - 2].take()?;
            Word::new(old.kind() - 1, block.0)?
        };
        let from = self.pools[count - 1].start(Block(old.number()));
        // SAFETY: `at` is an entry. The last one takes its place, the others move to the new block, and
        // the word forgets the old one, so that each entry is in one place.
        let entry = unsafe {
            let entry = from.add(at).read();
            from.add(at).copy_from(from.add(count - 1), 1);
            if count > 1 {
                let to = self.pools[count - 2].start(Block(new.number()));
                to.copy_from_nonoverlapping(from, count - 1);
            }
            entry
        };
        self.words[id.0 as usize] = new;
        self.pools[count - 1].give_back(Block(old.number()));
        Ok(entry)
    }

    /// Removes all entries of a dictionary.
    pub fn clear(&mut self, id: DictId) {
        let word = self.word(id);
        if word.kind() == LARGE {
            let number = word.number();
            self.words[id.0 as usize] = EMPTY;
            self.large[number as usize].clear();
            if self.large_free.try_reserve(1).is_ok() {
                self.large_free.push(number);
            }
            return;
        }
        self.words[id.0 as usize] = EMPTY;
        if let Some(size) = (word.kind() as usize).checked_sub(1) {
            // A block whose entries panic when they are dropped is lost.
            self.drop_entries(word);
            self.pools[size].give_back(Block(word.number()));
        }
    }

    /// Removes a dictionary. Its number is reused later.
    pub fn remove_dict(&mut self, id: DictId) {
        self.clear(id);
        self.words[id.0 as usize] = REMOVED;
        if self.free.try_reserve(1).is_ok() {
            self.free.push(id);
        }
    }
}

impl<K: Hash + Eq, V, S: BuildHasher + Clone> DictArena<K, V, S> {
    /// The value of a key of a dictionary.
    #[inline]
    pub fn get<Q: Hash + Eq + ?Sized>(&self, id: DictId, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let word = self.word(id);
        if word.kind() == LARGE {
            return self.large[word.number() as usize].get(key);
        }
        let mut entries = self.entries(word).iter();
        let entry = entries.find(|entry| entry.0.borrow() == key)?;
        Some(&entry.1)
    }

    /// The value of a key of a dictionary, to change it.
    #[inline]
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, id: DictId, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let word = self.word(id);
        if word.kind() == LARGE {
            return self.large[word.number() as usize].get_mut(key);
        }
        let mut entries = self.entries_mut(word).iter_mut();
        let entry = entries.find(|entry| entry.0.borrow() == key)?;
        Some(&mut entry.1)
    }

    /// Inserts a value, and returns the previous one of the key. Aborts the process when memory is exhausted.
    #[inline]
    pub fn insert(&mut self, id: DictId, key: K, value: V) -> Option<V> {
        self.try_insert(id, key, value)
            .unwrap_or_else(|error| error.abort())
    }

    /// Inserts as [`Self::insert`], but returns an error when memory is exhausted.
    ///
    /// # Errors
    /// [`AllocError`]: the dictionary is as it was, and key and value are dropped.
    pub fn try_insert(&mut self, id: DictId, key: K, value: V) -> Result<Option<V>, AllocError> {
        if let Some(old) = self.get_mut(id, &key) {
            return Ok(Some(core::mem::replace(old, value)));
        }
        let word = self.word(id);
        match word.kind() {
            LARGE => self.large[word.number() as usize].try_insert(key, value),
            count if (count as usize) < BLOCK_MAX => self.push(id, (key, value)).map(|()| None),
            _ => self.grow(id, key, value).map(|()| None),
        }
    }

    /// Makes a dictionary with a block of its own out of one whose block is full, with one entry more.
    #[cold]
    fn grow(&mut self, id: DictId, key: K, value: V) -> Result<(), AllocError> {
        let number = match self.large_free.last() {
            Some(number) => *number,
            None => {
                let failed = AllocError::array::<Dict<K, V, S>>(self.large.len() + 1);
                let number = u32::try_from(self.large.len()).map_err(|_| failed)?;
                self.large.try_reserve(1).map_err(|_| failed)?;
                self.large.push(Dict::with_hasher(self.state.clone()));
                self.large_free.try_reserve(1).map_err(|_| failed)?;
                self.large_free.push(number);
                number
            }
        };
        let word = Word::new(LARGE, number)?;
        let mut dict = Dict::with_hasher(self.state.clone());
        // The room is for one more entry than a block holds, so that nothing below allocates.
        dict.try_reserve(BLOCK_MAX + 1)?;
        dict.try_insert(key, value)?;
        let old = self.word(id);
        for at in (0..BLOCK_MAX).rev() {
            let (key, value) = self.read(old, at);
            // There is room, so that nothing fails; if a hasher panics here, entries leak, and are not dropped twice.
            self.words[id.0 as usize] = EMPTY;
            let _ = dict.try_insert(key, value);
        }
        self.words[id.0 as usize] = word;
        self.pools[BLOCK_MAX - 1].give_back(Block(old.number()));
        self.large_free.pop();
        self.large[number as usize] = dict;
        Ok(())
    }

    /// Copies an entry out of a block that no word leads to from here on.
    #[allow(unsafe_code)]
    fn read(&self, word: Word, at: usize) -> (K, V) {
        let entry = core::ptr::from_ref(&self.entries(word)[at]);
        // SAFETY: an entry of the block; `grow`, the only caller, reads each once and forgets the block.
        unsafe { entry.read() }
    }

    /// Removes the entry of a key from a dictionary; returns its value. The other entries move into a smaller block;
    /// aborts the process when there is no memory for that.
    pub fn remove<Q: Hash + Eq + ?Sized>(&mut self, id: DictId, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let word = self.word(id);
        if word.kind() == LARGE {
            let dict = &mut self.large[word.number() as usize];
            let value = dict.remove(key)?;
            if dict.is_empty() {
                self.clear(id);
            }
            return Some(value);
        }
        let mut entries = self.entries(word).iter();
        let at = entries.position(|entry| entry.0.borrow() == key)?;
        match self.take(id, at) {
            Ok(entry) => Some(entry.1),
            Err(error) => error.abort(),
        }
    }
}

impl<K, V, S> Drop for DictArena<K, V, S> {
    fn drop(&mut self) {
        for word in core::mem::take(&mut self.words) {
            if (1..LARGE).contains(&word.kind()) {
                self.drop_entries(word);
            }
        }
    }
}

impl<K, V, S> DictArena<K, V, S> {
    /// Drops the entries of a block that no word leads to any more.
    #[allow(unsafe_code)]
    fn drop_entries(&mut self, word: Word) {
        let entries = core::ptr::from_mut(self.entries_mut(word));
        // SAFETY: the entries are there, and the arena has forgotten them.
        unsafe { entries.drop_in_place() };
    }
}

impl<K: core::fmt::Debug, V: core::fmt::Debug, S> core::fmt::Debug for DictArena<K, V, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "DictArena of {}", self.words.len() - self.free.len())
    }
}
