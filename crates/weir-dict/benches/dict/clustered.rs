//! The seed's clustered dictionary, written from its description: entries stand in one array, sorted
//! by their home, a cluster being a run of one home; no wrapping around at the end; a key above eight
//! bytes is pointed to; three quarters full at most; twice the size then, and sixteen entries moved with
//! each insertion. (Here the old array stays beside the new one until all have moved.)

use std::hash::BuildHasher;

use crate::maps::{Key, Map, STATE};

struct Entry {
    hash: u64,
    key: Box<Key>,
    value: u64,
}

#[derive(Default)]
struct Array {
    entries: Vec<Option<Entry>>,
    bits: u32,
    len: usize,
}

impl Array {
    fn new(bits: u32) -> Self {
        let mut entries = Vec::new();
        entries.resize_with((1 << bits) + bits as usize, || None);
        Self {
            entries,
            bits,
            len: 0,
        }
    }

    fn home(&self, hash: u64) -> usize {
        hash as usize & ((1 << self.bits) - 1)
    }

    /// Returns the position of the key, or as an error the end of the cluster of its hash.
    fn find(&self, hash: u64, key: &Key) -> Result<usize, usize> {
        let home = self.home(hash);
        let mut at = home;
        while let Some(Some(entry)) = self.entries.get(at) {
            let own = self.home(entry.hash);
            if own > home {
                break;
            }
            if own == home && entry.hash == hash && *entry.key == *key {
                return Ok(at);
            }
            at += 1;
        }
        Err(at)
    }

    fn insert_at(&mut self, mut at: usize, entry: Entry) {
        self.len += 1;
        let mut carried = Some(entry);
        while carried.is_some() {
            if at == self.entries.len() {
                self.entries.push(None);
            }
            std::mem::swap(&mut self.entries[at], &mut carried);
            at += 1;
        }
    }

    fn remove_at(&mut self, mut at: usize) -> Option<Entry> {
        let gone = self.entries[at].take();
        self.len -= 1;
        // Entries that stand behind their home move up.
        while let Some(Some(next)) = self.entries.get(at + 1) {
            if self.home(next.hash) > at {
                break;
            }
            self.entries.swap(at, at + 1);
            at += 1;
        }
        gone
    }
}

/// The clustered dictionary of this module.
#[derive(Default)]
pub(crate) struct Clustered {
    new: Array,
    old: Array,
    /// Places of the old array from here on are empty.
    old_end: usize,
}

impl Clustered {
    fn remap(&mut self) {
        let mut left = 16;
        while self.old.len > 0 && left > 0 {
            self.old_end -= 1;
            if self.old.entries[self.old_end].is_some()
                && let Some(entry) = self.old.remove_at(self.old_end)
            {
                let at = match self.new.find(entry.hash, &entry.key) {
                    Ok(at) | Err(at) => at,
                };
                self.new.insert_at(at, entry);
                left -= 1;
            }
        }
        if self.old.len == 0 && !self.old.entries.is_empty() {
            self.old = Array::default();
        }
    }
}

impl Map for Clustered {
    fn new() -> Self {
        Self::default()
    }

    fn insert(&mut self, key: &Key, value: u64) {
        let hash = STATE.hash_one(key);
        if self.new.entries.is_empty() {
            self.new = Array::new(2);
        }
        let len = self.new.len + self.old.len;
        if len + 1 > (3 << self.new.bits) / 4 && self.old.len == 0 {
            let bits = self.new.bits + 1;
            self.old = std::mem::replace(&mut self.new, Array::new(bits));
            self.old_end = self.old.entries.len();
        }
        if self.old.len > 0 {
            self.remap();
            if self.old.len > 0
                && let Ok(at) = self.old.find(hash, key)
                && let Some(entry) = &mut self.old.entries[at]
            {
                entry.value = value;
                return;
            }
        }
        match self.new.find(hash, key) {
            Ok(at) => {
                if let Some(entry) = &mut self.new.entries[at] {
                    entry.value = value;
                }
            }
            Err(at) => {
                let key = Box::new(*key);
                self.new.insert_at(at, Entry { hash, key, value });
            }
        }
    }

    fn get(&self, key: &Key) -> Option<u64> {
        let hash = STATE.hash_one(key);
        for array in [&self.new, &self.old] {
            if array.len > 0
                && let Ok(at) = array.find(hash, key)
            {
                return array.entries[at].as_ref().map(|entry| entry.value);
            }
        }
        None
    }

    fn remove(&mut self, key: &Key) -> bool {
        let hash = STATE.hash_one(key);
        for array in [&mut self.new, &mut self.old] {
            if array.len > 0
                && let Ok(at) = array.find(hash, key)
            {
                return array.remove_at(at).is_some();
            }
        }
        false
    }

    fn sum(&self) -> u64 {
        let entries = self.new.entries.iter().chain(&self.old.entries).flatten();
        entries.fold(0, |sum, entry| sum.wrapping_add(entry.value))
    }
}
