//! Groups: a hash table from fixed-size binary keys to the state of their aggregates.

// A benchmark of weir-dict reads this file by its path, and this one from here.
#[path = "groups/entries.rs"]
mod entries;

use std::hash::{BuildHasher, RandomState};

use entries::Entries;

/// Finds the group of a key. Keys and states are whole 64-bit words, and lie side by side, so that finding a group and
/// adding to it touches one place in memory beside the slot.
///
/// Groups keep the order in which their first record came. An attacker can choose keys, but not hashes: these are keyed
/// with two random words of each table.
pub(crate) struct Groups {
    key_words: usize,
    stride: usize,
    /// Key and state of each group, in the order of their first records.
    entries: Entries,
    /// The high half of the hash and the number of the group plus one; 0 for a free slot.
    slots: Vec<u64>,
    len: usize,
    secrets: [u64; 2],
    /// The complements of groups' numbers in 32 bits, so that 0 stands for no group, at the places of their keys.
    places: Vec<u64>,
    /// The way in which keys have places.
    place: GroupPlace,
    /// The multiplier of [`PlaceHash`].
    multiplier: u64,
    /// The state of a group that is new.
    fresh: Box<[u64]>,
}

/// The place of a key in a table, by which a compiled program finds its group without a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GroupPlace {
    /// Groups are found in the slots, and have no places.
    None,
    /// The place is the key itself: all keys are small, and there are no slots.
    Key,
    /// The place is a hash of the key. Several keys may share it, and it has the group that was found last; the slots
    /// have all.
    Hash,
    /// Keys have places as with [`GroupPlace::Hash`], but there are too many groups, so that none is at its place.
    Crowded,
}

/// Places for keys of any size: the upper bits of the product of the key and a random odd number, so that an attacker
/// can choose keys, but not places. The words of a key are folded into one, with a product each.
pub(crate) enum PlaceHash {}

impl PlaceHash {
    /// The number of bits of a place: 512 KiB of places stay in the second-level cache of most processors, beside the
    /// groups that are in use.
    pub(crate) const BITS: u32 = 16;
    /// The shift by which a product is folded into itself before the next word is added.
    pub(crate) const FOLD: u32 = 32;
    /// The number of words of a key, at most: each takes a product.
    pub(crate) const WORDS_MAX: usize = 4;
    /// The number of words of all groups above which those in use may not stay in the second-level cache: rows then
    /// wait for each group by itself, where a search in batches waits for many at once.
    const CROWD_WORDS: usize = 1 << 16;

    /// The place of a key, which programs compute likewise.
    #[inline]
    fn of(multiplier: u64, key: &[u64]) -> usize {
        let hash = key.iter().fold(0_u64, |hash, word| {
            (hash ^ hash >> Self::FOLD ^ word).wrapping_mul(multiplier)
        });
        (hash >> (u64::BITS - Self::BITS)) as usize
    }
}

impl Groups {
    /// Creates a table of keys of `key_words` words, with this state for each new group.
    pub(crate) fn new(key_words: usize, fresh: Vec<u64>) -> Self {
        let random = RandomState::new();
        Self {
            key_words,
            stride: key_words + fresh.len(),
            entries: Entries::default(),
            slots: vec![0; SLOTS_MIN],
            len: 0,
            secrets: [random.hash_one(0), random.hash_one(1) | 1],
            places: Vec::new(),
            place: GroupPlace::None,
            multiplier: random.hash_one(2) | 1,
            fresh: fresh.into(),
        }
    }

    /// Creates a table of keys of one word with at most `bits` bits.
    pub(crate) fn of_bits(bits: u32, fresh: Vec<u64>) -> Self {
        let mut groups = Self::new(1, fresh);
        if bits <= DIRECT_BITS_MAX {
            groups.places = vec![0; 1 << bits];
            groups.place = GroupPlace::Key;
        }
        groups
    }

    /// Assigns places to groups by the hash of their keys, unless they have some. Returns the multiplier of the hash; 0
    /// when there are too many groups for places.
    pub(crate) fn hash_places(&mut self) -> u64 {
        match self.place {
            GroupPlace::Key | GroupPlace::Hash => self.multiplier,
            GroupPlace::Crowded => 0,
            GroupPlace::None => {
                // Groups get their places when they are found again.
                self.places = vec![0; 1 << PlaceHash::BITS];
                self.place = GroupPlace::Hash;
                self.multiplier
            }
        }
    }

    /// Stops using places when there are too many groups for them.
    pub(crate) fn give_up_places(&mut self) {
        if self.place == GroupPlace::Hash && self.entries.len() > PlaceHash::CROWD_WORDS {
            self.places.fill(0);
            self.place = GroupPlace::Crowded;
        }
    }

    /// Removes all groups, and frees their memory, except that of the places.
    pub(crate) fn reset(&mut self) {
        self.forget_places();
        self.entries = Entries::default();
        self.slots = vec![0; SLOTS_MIN];
        self.len = 0;
    }

    /// Removes all groups from their places.
    fn forget_places(&mut self) {
        let is_sparse = self.len < self.places.len() / SPARSE;
        match self.place {
            GroupPlace::None => {}
            GroupPlace::Crowded => self.place = GroupPlace::Hash,
            GroupPlace::Key | GroupPlace::Hash if !is_sparse => self.places.fill(0),
            GroupPlace::Key | GroupPlace::Hash => {
                for key in self.entries.words().chunks_exact(self.stride) {
                    let key = key.get(..self.key_words).unwrap_or_default();
                    let place = match (self.place, key) {
                        (GroupPlace::Key, [key]) => *key as usize,
                        _ => PlaceHash::of(self.multiplier, key),
                    };
                    if let Some(place) = self.places.get_mut(place) {
                        *place = 0;
                    }
                }
            }
        }
    }

    /// The number of groups.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// The number of allocated bytes.
    pub(crate) fn allocated_bytes(&self) -> usize {
        (self.entries.capacity() + self.slots.capacity() + self.places.capacity())
            * size_of::<u64>()
    }

    /// The number of bits of the keys, when these are places.
    pub(crate) fn direct_bits(&self) -> Option<u32> {
        (self.place == GroupPlace::Key).then(|| self.places.len().trailing_zeros())
    }

    /// The groups at the places of their keys, as the complements of their numbers, and keys and states of all.
    pub(crate) fn spaces(&mut self) -> (&mut [u64], &mut [u64]) {
        (&mut self.places, self.entries.words_mut())
    }

    /// The key of a group.
    pub(crate) fn key(&self, group: usize) -> &[u64] {
        let start = group * self.stride;
        self.entries.get(start..start + self.key_words)
    }

    /// The state of a group.
    #[inline]
    pub(crate) fn state(&self, group: usize) -> &[u64] {
        let start = group * self.stride;
        self.entries
            .get(start + self.key_words..start + self.stride)
    }

    /// The state of a group, to change.
    #[inline]
    pub(crate) fn state_mut(&mut self, group: usize) -> &mut [u64] {
        let start = group * self.stride;
        self.entries
            .get_mut(start + self.key_words..start + self.stride)
    }

    /// Word `at` of the state of a group, to change.
    #[inline]
    pub(crate) fn word_mut(&mut self, group: u32, at: usize) -> Option<&mut u64> {
        let start = group as usize * self.stride;
        self.entries.word_mut(start + self.key_words + at)
    }

    /// The number of the group with this key, which is added when it is new; and whether it is.
    #[inline]
    pub(crate) fn find_or_insert(&mut self, key: &[u64]) -> (usize, bool) {
        // Common widths have code of their own, without loops.
        match *key {
            [] => {
                let new = self.len == 0;
                if new {
                    self.insert(&[]);
                }
                (0, new)
            }
            [a] if self.place == GroupPlace::Key => self.find_direct(a),
            [a] => self.find::<1>(&[a]),
            [a, b] => self.find::<2>(&[a, b]),
            _ => self.find_long(key),
        }
    }

    /// The number of the group of each of the keys, which lie one behind the other; new ones are added in their order.
    /// The cache misses of many keys overlap: a table that is larger than the cache costs a third of what it costs key
    /// by key.
    pub(crate) fn find_many(&mut self, keys: &[u64], numbers: &mut [u32]) {
        match self.key_words {
            0 => numbers.fill(0),
            1 if self.place == GroupPlace::Key => {
                for (key, number) in keys.iter().zip(&mut *numbers) {
                    *number = self.at_direct(*key);
                    if *number == UNKNOWN {
                        *number = self.find_direct(*key).0 as u32;
                    }
                }
            }
            1 => self.find_chunks::<1>(keys, numbers),
            2 => self.find_chunks::<2>(keys, numbers),
            words => {
                for (key, number) in keys.chunks_exact(words).zip(&mut *numbers) {
                    *number = self.find_or_insert(key).0 as u32;
                }
            }
        }
        if self.place == GroupPlace::Hash {
            for (key, number) in keys.chunks_exact(self.key_words.max(1)).zip(numbers) {
                let place = PlaceHash::of(self.multiplier, key);
                if let Some(place) = self.places.get_mut(place) {
                    *place = u64::from(!*number);
                }
            }
        }
    }

    /// The number of the group with a small key; [`UNKNOWN`] for none.
    #[inline]
    fn at_direct(&self, key: u64) -> u32 {
        !self.places.get(key as usize).copied().unwrap_or_default() as u32
    }

    fn find_direct(&mut self, key: u64) -> (usize, bool) {
        let group = self.at_direct(key);
        if group != UNKNOWN {
            return (group as usize, false);
        }
        let group = self.len;
        self.insert(&[key]);
        if let Some(place) = self.places.get_mut(key as usize) {
            // There are no more groups than 2^DIRECT_BITS_MAX.
            *place = u64::from(!(group as u32));
        }
        (group, true)
    }

    fn find_chunks<const WORDS: usize>(&mut self, keys: &[u64], numbers: &mut [u32]) {
        let (keys, _) = keys.as_chunks::<WORDS>();
        for (keys, numbers) in keys.chunks(CHUNK).zip(numbers.chunks_mut(CHUNK)) {
            let mut hashes = [0; CHUNK];
            let mut found = [0; CHUNK];
            let mask = self.slots.len() - 1;
            for ((hash, found), key) in hashes.iter_mut().zip(&mut found).zip(keys) {
                *hash = self.hash(key);
                *found = self.slots[*hash as usize & mask];
            }
            for (((number, key), hash), found) in
                numbers.iter_mut().zip(keys).zip(&hashes).zip(&found)
            {
                *number = UNKNOWN;
                if *found != 0 && (found ^ hash) >> 32 == 0 {
                    let group = *found as u32 - 1;
                    let start = group as usize * self.stride;
                    if self.entries.get(start..start + WORDS) == key {
                        *number = group;
                    }
                }
            }
            // These are new keys, and those that are not in their first slot.
            for (number, key) in numbers.iter_mut().zip(keys) {
                if *number == UNKNOWN {
                    *number = self.find(key).0 as u32;
                }
            }
        }
    }

    #[inline]
    fn find<const WORDS: usize>(&mut self, key: &[u64; WORDS]) -> (usize, bool) {
        let hash = self.hash(key);
        let (mut slot, mask) = (hash as usize, self.slots.len() - 1);
        loop {
            slot &= mask;
            let found = self.slots[slot];
            if found == 0 {
                return (self.insert_at(slot, hash, key), true);
            }
            if (found ^ hash) >> 32 == 0 {
                let group = (found as u32 - 1) as usize;
                let start = group * self.stride;
                if self.entries.get(start..start + WORDS) == key {
                    return (group, false);
                }
            }
            slot += 1;
        }
    }

    #[inline(never)]
    fn find_long(&mut self, key: &[u64]) -> (usize, bool) {
        let hash = self.hash(key);
        let (mut slot, mask) = (hash as usize, self.slots.len() - 1);
        loop {
            slot &= mask;
            let found = self.slots[slot];
            if found == 0 {
                return (self.insert_at(slot, hash, key), true);
            }
            if (found ^ hash) >> 32 == 0 {
                let group = (found as u32 - 1) as usize;
                if self.key(group) == key {
                    return (group, false);
                }
            }
            slot += 1;
        }
    }

    #[inline]
    fn hash(&self, key: &[u64]) -> u64 {
        let mut hash = self.secrets[0];
        for word in key {
            let product = u128::from(hash ^ word) * u128::from(self.secrets[1]);
            hash = product as u64 ^ (product >> 64) as u64;
        }
        hash
    }

    #[cold]
    fn insert_at(&mut self, slot: usize, hash: u64, key: &[u64]) -> usize {
        let group = self.len;
        self.insert(key);
        // There are fewer groups than 2^32: each has at least 8 bytes, and 32 GiB are beyond the limit.
        let number = u64::from(u32::try_from(group + 1).unwrap_or(u32::MAX));
        self.slots[slot] = hash & !0xffff_ffff | number;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
        group
    }

    fn insert(&mut self, key: &[u64]) {
        self.entries.push(key, &self.fresh);
        self.len += 1;
    }

    fn grow(&mut self) {
        let mut slots = vec![0; self.slots.len() * 2];
        // The system answers the first reading of a page that was never written with one page of zeros for all, and copies it at
        // the first writing, which ends the entry of that page in the address caches of every other thread. A group's place is
        // always read first, so each page is written to here.
        for page in slots.chunks_mut(PAGE_SLOTS) {
            page[0] = std::hint::black_box(0);
        }
        let mask = slots.len() - 1;
        for group in 0..self.len {
            let hash = self.hash(self.key(group));
            let mut slot = hash as usize & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            let number = u64::from(u32::try_from(group + 1).unwrap_or(u32::MAX));
            slots[slot] = hash & !0xffff_ffff | number;
        }
        self.slots = slots;
    }

    /// Removes all groups, and keeps the memory.
    #[cfg(test)]
    pub(crate) fn clear(&mut self) {
        self.forget_places();
        self.entries.clear();
        self.slots.fill(0);
        self.len = 0;
    }
}

const SLOTS_MIN: usize = 64;
/// The slots in a page of memory of 4 KiB.
const PAGE_SLOTS: usize = 512;
/// The number of bits up to which keys are places: a MiB of them, of which only those in use are ever touched.
const DIRECT_BITS_MAX: u32 = 17;
/// The ratio of places to groups from which on each place is cleared by itself.
const SPARSE: usize = 32;
/// The number of keys that are looked up together.
const CHUNK: usize = 32;
/// No group has this number.
const UNKNOWN: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn groups_are_those_of_a_plain_map() {
        for (words, is_small) in [
            (0_usize, false),
            (1, false),
            (1, true),
            (2, false),
            (5, false),
        ] {
            let mut groups = match is_small {
                true => Groups::of_bits(12, vec![7]),
                false => Groups::new(words, vec![7]),
            };
            let mut twin: HashMap<Vec<u64>, u64> = HashMap::new();
            let mut order = Vec::new();
            let mut state = 1_u64;
            for step in 0..20_000_u64 {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(step);
                let key: Vec<u64> = (0..words as u64)
                    .map(|word| (state >> 33) % 3000 * (word + 1))
                    .collect();
                let (group, new) = groups.find_or_insert(&key);
                assert_eq!(new, !twin.contains_key(&key));
                if new {
                    order.push(key.clone());
                }
                groups.state_mut(group)[0] += 1;
                *twin.entry(key).or_insert(7) += 1;
            }
            assert_eq!(groups.len(), twin.len());
            for (group, key) in order.iter().enumerate() {
                assert_eq!(groups.key(group), key);
                assert_eq!(groups.state(group), [twin[key]]);
            }
            // Some groups have places from here on.
            groups.hash_places();
            let keys: Vec<u64> = order.iter().rev().flatten().copied().collect();
            let mut numbers = vec![9; order.len()];
            groups.find_many(&keys, &mut numbers);
            assert!(numbers.iter().rev().copied().eq(0..order.len() as u32));
            groups.clear();
            groups.find_many(&keys, &mut numbers);
            assert!(numbers.iter().copied().eq(0..order.len() as u32));
            groups.clear();
            assert_eq!(groups.find_or_insert(&vec![1; words]), (0, true));
        }
    }

    /// The number of the group at the place of a key.
    fn placed(groups: &mut Groups, key: &[u64]) -> Option<u32> {
        let place = PlaceHash::of(groups.hash_places(), key);
        let number = !groups.spaces().0[place] as u32;
        (number != UNKNOWN).then_some(number)
    }

    #[test]
    fn groups_are_at_the_places_of_their_keys_until_they_are_too_many() {
        for words in [1, 2, 4] {
            let mut groups = Groups::new(words, vec![0]);
            let key = |number: usize| {
                let mut key = vec![0; words];
                // The number is in the upper half of a word, which the product alone would not carry far.
                key[number % words] = (number as u64) << 40;
                key[words - 1] |= 5;
                key
            };
            assert_ne!(groups.hash_places(), 0);
            let mut number = [0];
            for known in 0..300 {
                groups.find_many(&key(known), &mut number);
                assert_eq!(number, [known as u32]);
                assert_eq!(placed(&mut groups, &key(known)), Some(known as u32));
            }
            let at_theirs = |groups: &mut Groups| {
                (0..300)
                    .filter(|known| placed(groups, &key(*known)) == Some(*known as u32))
                    .count()
            };
            // Few groups share a place, and they are too few for places to be given up.
            let kept = at_theirs(&mut groups);
            assert!(kept > 280, "{words}: {kept}");
            groups.give_up_places();
            assert_eq!(at_theirs(&mut groups), kept);
            groups.reset();
            assert!(groups.spaces().0.iter().all(|place| *place == 0));

            for known in 0..=PlaceHash::CROWD_WORDS / (words + 1) {
                groups.find_many(&key(known), &mut number);
            }
            groups.give_up_places();
            groups.find_many(&key(7), &mut number);
            assert_eq!((number, groups.hash_places()), ([7], 0));
            assert!(groups.spaces().0.iter().all(|place| *place == 0));
            groups.reset();
            assert_ne!(groups.hash_places(), 0);
        }
    }
}
