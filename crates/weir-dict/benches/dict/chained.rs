//! The seed's chained dictionary, written from its description: buckets point to dynamic arrays that
//! begin with ten places, these to entries, these to keys; three entries a bucket on average; twice the
//! buckets when there are more, moved a few at a time.

use std::hash::BuildHasher;

use crate::maps::{Key, Map, STATE};

struct Entry {
    hash: u64,
    key: Box<[u8]>,
    value: u64,
}

type Bucket = Option<Box<Vec<Box<Entry>>>>;

/// The chained dictionary of this module.
#[derive(Default)]
pub(crate) struct Chained {
    buckets: Vec<Bucket>,
    /// The buckets that have not moved yet, from the end.
    old: Vec<Bucket>,
    old_count: usize,
    len: usize,
}

const FIRST_BUCKETS: usize = 16;
const LOAD: usize = 3;
const BUCKETS_A_STEP: usize = 4;

impl Chained {
    fn bucket(&self, hash: u64) -> &Bucket {
        let old = (hash as usize) & self.old_count.wrapping_sub(1);
        if old < self.old.len() {
            return &self.old[old];
        }
        &self.buckets[hash as usize & (self.buckets.len() - 1)]
    }

    fn bucket_mut(&mut self, hash: u64) -> &mut Bucket {
        let old = (hash as usize) & self.old_count.wrapping_sub(1);
        if old < self.old.len() {
            return &mut self.old[old];
        }
        let mask = self.buckets.len() - 1;
        &mut self.buckets[hash as usize & mask]
    }

    fn remap(&mut self) {
        for _ in 0..BUCKETS_A_STEP {
            let Some(bucket) = self.old.pop() else {
                return;
            };
            let mask = self.buckets.len() - 1;
            for entry in bucket.into_iter().flat_map(|bucket| *bucket) {
                let at = entry.hash as usize & mask;
                add(&mut self.buckets[at], entry);
            }
        }
    }
}

#[allow(clippy::vec_box)]
fn add(bucket: &mut Bucket, entry: Box<Entry>) {
    bucket
        .get_or_insert_with(|| Box::new(Vec::with_capacity(10)))
        .push(entry);
}

impl Map for Chained {
    fn new() -> Self {
        Self::default()
    }

    fn insert(&mut self, key: &Key, value: u64) {
        let hash = STATE.hash_one(key);
        if self.buckets.is_empty() {
            self.buckets.resize_with(FIRST_BUCKETS, || None);
        }
        if self.len >= self.buckets.len() * LOAD && self.old.is_empty() {
            let count = self.buckets.len();
            self.old = std::mem::take(&mut self.buckets);
            self.old_count = count;
            self.buckets.resize_with(2 * count, || None);
        }
        self.remap();
        let entries = self.bucket_mut(hash);
        for entry in entries.iter_mut().flat_map(|entries| entries.iter_mut()) {
            if entry.hash == hash && *entry.key == *key {
                entry.value = value;
                return;
            }
        }
        add(
            entries,
            Box::new(Entry {
                hash,
                key: Box::from(&key[..]),
                value,
            }),
        );
        self.len += 1;
    }

    fn get(&self, key: &Key) -> Option<u64> {
        let hash = STATE.hash_one(key);
        if self.len == 0 {
            return None;
        }
        let entries = self.bucket(hash).as_ref()?;
        let mut entries = entries.iter();
        let entry = entries.find(|entry| entry.hash == hash && *entry.key == *key)?;
        Some(entry.value)
    }

    fn remove(&mut self, key: &Key) -> bool {
        let hash = STATE.hash_one(key);
        let Some(entries) = self.bucket_mut(hash) else {
            return false;
        };
        let at = entries.iter().position(|entry| *entry.key == *key);
        if let Some(at) = at {
            entries.remove(at);
            self.len -= 1;
        }
        at.is_some()
    }

    fn sum(&self) -> u64 {
        let buckets = self.buckets.iter().chain(&self.old).flatten();
        buckets
            .flat_map(|bucket| bucket.iter())
            .fold(0, |sum, entry| sum.wrapping_add(entry.value))
    }
}
