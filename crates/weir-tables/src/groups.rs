//! Groups: a hash table from fixed-size binary keys to the state of their aggregates.

use std::hash::{BuildHasher, RandomState};

/// Finds the group of a key. Keys and states are whole 64-bit words, and lie side by side, so that
/// finding a group and adding to it touches one place in memory beside the slot.
///
/// Groups keep the order in which their first record came. What an attacker chooses are keys, not
/// hashes: these are keyed with two words that every table draws anew.
pub(crate) struct Groups {
    key_words: usize,
    stride: usize,
    /// Key and state of each group, in the order of their first records.
    entries: Vec<u64>,
    /// High half of the hash and number of the group plus one; 0 for a free slot.
    slots: Vec<u64>,
    len: usize,
    secrets: [u64; 2],
    /// Where all keys are small, the complement of the group's number in 32 bits at the place of the key,
    /// so that 0 stands for no group: then there are no slots.
    direct: Vec<u64>,
    /// The state of a group that is new.
    fresh: Box<[u64]>,
}

impl Groups {
    /// A table of keys of so many words, with this state for each group that is new.
    pub(crate) fn new(key_words: usize, fresh: Vec<u64>) -> Self {
        let random = RandomState::new();
        Self {
            key_words,
            stride: key_words + fresh.len(),
            entries: Vec::new(),
            slots: vec![0; SLOTS_MIN],
            len: 0,
            secrets: [random.hash_one(0), random.hash_one(1) | 1],
            direct: Vec::new(),
            fresh: fresh.into(),
        }
    }

    /// A table of keys of one word with so many bits at most.
    pub(crate) fn of_bits(bits: u32, fresh: Vec<u64>) -> Self {
        let mut groups = Self::new(1, fresh);
        if bits <= DIRECT_BITS_MAX {
            groups.direct = vec![0; 1 << bits];
        }
        groups
    }

    /// Forgets all groups, and gives back what they had allocated.
    pub(crate) fn reset(&mut self) {
        self.entries = Vec::new();
        self.slots = vec![0; SLOTS_MIN];
        self.direct.fill(0);
        self.len = 0;
    }

    /// How many groups there are.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    /// Bytes allocated.
    pub(crate) fn allocated_bytes(&self) -> usize {
        (self.entries.capacity() + self.slots.capacity() + self.direct.capacity())
            * size_of::<u64>()
    }

    /// Bits of the keys, when they are numbers of a place.
    pub(crate) fn direct_bits(&self) -> Option<u32> {
        let len = self.direct.len();
        (len > 0).then(|| len.trailing_zeros())
    }

    /// The groups at the places of their keys, as the complements of their numbers, and keys and states of all.
    pub(crate) fn spaces(&mut self) -> (&mut [u64], &mut [u64]) {
        (&mut self.direct, &mut self.entries)
    }

    /// The key of a group.
    pub(crate) fn key(&self, group: usize) -> &[u64] {
        let start = group * self.stride;
        self.entries
            .get(start..start + self.key_words)
            .unwrap_or_default()
    }

    /// The state of a group.
    #[inline]
    pub(crate) fn state(&self, group: usize) -> &[u64] {
        let start = group * self.stride;
        self.entries
            .get(start + self.key_words..start + self.stride)
            .unwrap_or_default()
    }

    /// The state of a group, to change.
    #[inline]
    pub(crate) fn state_mut(&mut self, group: usize) -> &mut [u64] {
        let start = group * self.stride;
        self.entries
            .get_mut(start + self.key_words..start + self.stride)
            .unwrap_or_default()
    }

    /// Word `at` of the state of a group, to change.
    #[inline]
    pub(crate) fn word_mut(&mut self, group: u32, at: usize) -> Option<&mut u64> {
        let start = group as usize * self.stride;
        self.entries.get_mut(start + self.key_words + at)
    }

    /// The number of the group with this key, which is made when it is new; and whether it is.
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
            [a] if !self.direct.is_empty() => self.find_direct(a),
            [a] => self.find::<1>(&[a]),
            [a, b] => self.find::<2>(&[a, b]),
            _ => self.find_long(key),
        }
    }

    /// The number of the group of each of the keys, which lie one behind the other; new ones are made
    /// in their order. What many keys wait for in memory, they wait for together: a table that is
    /// larger than the cache costs a third of what it costs key by key.
    pub(crate) fn find_many(&mut self, keys: &[u64], numbers: &mut [u32]) {
        match self.key_words {
            0 => numbers.fill(0),
            1 if !self.direct.is_empty() => {
                for (key, number) in keys.iter().zip(numbers) {
                    *number = self.at_direct(*key);
                    if *number == UNKNOWN {
                        *number = self.find_direct(*key).0 as u32;
                    }
                }
            }
            1 => self.find_chunks::<1>(keys, numbers),
            2 => self.find_chunks::<2>(keys, numbers),
            words => {
                for (key, number) in keys.chunks_exact(words).zip(numbers) {
                    *number = self.find_or_insert(key).0 as u32;
                }
            }
        }
    }

    /// The number of the group with a small key; [`UNKNOWN`] for none.
    #[inline]
    fn at_direct(&self, key: u64) -> u32 {
        !self.direct.get(key as usize).copied().unwrap_or_default() as u32
    }

    fn find_direct(&mut self, key: u64) -> (usize, bool) {
        let group = self.at_direct(key);
        if group != UNKNOWN {
            return (group as usize, false);
        }
        let group = self.len;
        self.insert(&[key]);
        if let Some(place) = self.direct.get_mut(key as usize) {
            // There are no more than 2^DIRECT_BITS_MAX.
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
                    if self.entries.get(start..start + WORDS) == Some(&key[..]) {
                        *number = group;
                    }
                }
            }
            // New keys, and those that do not stand in their first slot.
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
                if self.entries.get(start..start + WORDS) == Some(&key[..]) {
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
        // Fewer groups than 2^32: each is of at least 8 bytes, and 32 GiB are beyond the limit.
        let number = u64::from(u32::try_from(group + 1).unwrap_or(u32::MAX));
        self.slots[slot] = hash & !0xffff_ffff | number;
        if self.len * 2 > self.slots.len() {
            self.grow();
        }
        group
    }

    fn insert(&mut self, key: &[u64]) {
        self.entries.extend_from_slice(key);
        self.entries.extend_from_slice(&self.fresh);
        self.len += 1;
    }

    fn grow(&mut self) {
        let mut slots = vec![0; self.slots.len() * 2];
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

    /// Forgets all groups, and keeps the memory.
    #[cfg(test)]
    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.slots.fill(0);
        self.direct.fill(0);
        self.len = 0;
    }
}

const SLOTS_MIN: usize = 64;
/// Keys of so many bits are numbers of a place: 512 KiB of them, of which only those in use are
/// ever touched.
const DIRECT_BITS_MAX: u32 = 17;
/// Keys that are looked for together.
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
}
