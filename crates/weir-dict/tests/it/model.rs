//! Arbitrary sequences of operations, with open walks all the while, compared with a naive map.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use proptest::prelude::*;
use weir_dict::{Cursor, Dict, Entry};

use crate::hashers::{QUALITIES, Quality, State};

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u32),
    Remove(u64),
    Entry(u64, u32),
    InsertRange(u64, u16),
    RemoveRange(u64, u16),
    Upsert(Vec<u64>),
    Get(Vec<u64>),
    Retain(u64),
    OpenWalk,
    StepWalk(usize),
    RetainStep(usize, u64),
    Clone,
    Clear,
    Drain(u16),
}

fn keys() -> impl Strategy<Value = u64> {
    // The keys are few enough to recur, and spread as numbers of all sizes are.
    prop_oneof![
        4 => 0..1_500_u64,
        1 => (0..64_u64).prop_map(|high| high << 58),
        1 => Just(u64::MAX),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (keys(), any::<u32>()).prop_map(|(key, value)| Op::Insert(key, value)),
        8 => keys().prop_map(Op::Remove),
        4 => (keys(), any::<u32>()).prop_map(|(key, value)| Op::Entry(key, value)),
        4 => (keys(), 0..1_200_u16).prop_map(|(key, count)| Op::InsertRange(key, count)),
        3 => (keys(), 0..1_200_u16).prop_map(|(key, count)| Op::RemoveRange(key, count)),
        2 => prop::collection::vec(keys(), 0..100).prop_map(Op::Upsert),
        // New keys come twice in one window.
        1 => prop::collection::vec(keys(), 0..12).prop_map(|keys| Op::Upsert([&keys[..], &keys].concat())),
        2 => prop::collection::vec(keys(), 0..100).prop_map(Op::Get),
        1 => (1..5_u64).prop_map(Op::Retain),
        3 => Just(Op::OpenWalk),
        8 => (0..8_usize).prop_map(Op::StepWalk),
        2 => (0..8_usize, 1..5_u64).prop_map(|(walk, modulus)| Op::RetainStep(walk, modulus)),
        1 => Just(Op::Clone),
        1 => Just(Op::Clear),
        1 => any::<u16>().prop_map(Op::Drain),
    ]
}

/// The entries that an open walk must visit, and those that it has visited.
#[derive(Clone, Debug, Default)]
struct Promise {
    cursor: Cursor,
    /// Entries (by serial number) that have been there since the walk began.
    due: BTreeSet<u64>,
    seen: BTreeSet<u64>,
}

/// A value that counts its copies, with a serial number: another one for each entry that comes in.
#[derive(Clone, Debug)]
struct Value {
    serial: u64,
    payload: u32,
    _alive: Rc<()>,
}

struct World {
    dict: Dict<u64, Value, State>,
    naive: BTreeMap<u64, (u64, u32)>,
    walks: Vec<Promise>,
    serial: u64,
    alive: Rc<()>,
}

impl World {
    fn new(quality: Quality) -> Self {
        Self {
            dict: Dict::with_hasher(State(quality)),
            naive: BTreeMap::new(),
            walks: Vec::new(),
            serial: 0,
            alive: Rc::new(()),
        }
    }

    fn value(&mut self, payload: u32) -> Value {
        self.serial += 1;
        Value {
            serial: self.serial,
            payload,
            _alive: self.alive.clone(),
        }
    }

    fn insert(&mut self, key: u64, payload: u32) {
        // A value that is replaced keeps the serial number of its entry.
        let mut value = self.value(payload);
        if let Some((serial, _)) = self.naive.get(&key) {
            value.serial = *serial;
        }
        let serial = value.serial;
        let old = self.dict.insert(key, value).map(|old| old.payload);
        let own = self.naive.insert(key, (serial, payload));
        assert_eq!(old, own.map(|(_, payload)| payload));
    }

    fn remove(&mut self, key: u64) {
        let value = self.dict.remove(&key).map(|value| value.payload);
        let own = self.naive.remove(&key);
        assert_eq!(value, own.map(|(_, payload)| payload));
        if let Some((serial, _)) = own {
            self.gone(serial);
        }
    }

    fn gone(&mut self, serial: u64) {
        for walk in &mut self.walks {
            walk.due.remove(&serial);
        }
    }

    fn retain_naive(&mut self, keep: impl Fn(u64) -> bool) {
        let gone: Vec<_> = self
            .naive
            .keys()
            .copied()
            .filter(|key| !keep(*key))
            .collect();
        for key in gone {
            if let Some((serial, _)) = self.naive.remove(&key) {
                self.gone(serial);
            }
        }
    }

    fn upsert(&mut self, keys: &[u64]) {
        let first = self.serial + 1;
        let alive = self.alive.clone();
        let mut made = 0;
        let mut results = Vec::new();
        let make = |number: usize| {
            made += 1;
            Value {
                serial: first + number as u64,
                payload: number as u32,
                _alive: alive.clone(),
            }
        };
        self.dict.upsert_batch(keys, make, |number, value| {
            results.push((number, value.payload));
        });
        self.serial += keys.len() as u64;
        for (number, key) in keys.iter().enumerate() {
            let serial = first + number as u64;
            let before = self.naive.len();
            let (_, payload) = *self.naive.entry(*key).or_insert((serial, number as u32));
            made -= self.naive.len() - before;
            assert_eq!(results[number], (number, payload));
        }
        assert_eq!(made, 0);
        assert_eq!(results.len(), keys.len());
    }

    fn step(&mut self, walk: usize, modulus: Option<u64>) {
        let Some(mut promise) = self.walks.get(walk).cloned() else {
            return;
        };
        let mut seen = Vec::new();
        let more = if let Some(modulus) = modulus {
            let mut verdicts = Vec::new();
            let more = self.dict.retain_step(&mut promise.cursor, |key, value| {
                seen.push(value.serial);
                verdicts.push((*key, key % modulus != 0));
                key % modulus != 0
            });
            let gone: BTreeSet<u64> = verdicts
                .iter()
                .filter(|(_, keep)| !keep)
                .map(|(key, _)| *key)
                .collect();
            promise.seen.extend(seen.iter().copied());
            self.walks[walk] = promise.clone();
            self.retain_naive(|key| !gone.contains(&key));
            // The removed entries that were seen no longer count.
            promise.due = self.walks[walk].due.clone();
            promise.seen = &promise.seen - &seen.iter().copied().collect();
            more
        } else {
            match self.dict.walk(&mut promise.cursor) {
                Some(entries) => {
                    seen.extend(entries.map(|(_, value)| value.serial));
                    true
                }
                None => false,
            }
        };
        for serial in seen {
            assert!(promise.seen.insert(serial), "an entry is seen once");
        }
        if more {
            self.walks[walk] = promise;
        } else {
            assert!(promise.cursor.is_done() || !more);
            assert!(
                promise.due.is_subset(&promise.seen),
                "what was there all the time is seen"
            );
            self.walks.remove(walk);
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Insert(key, payload) => self.insert(key, payload),
            Op::Remove(key) => self.remove(key),
            Op::Entry(key, payload) => {
                let value = self.value(payload);
                let serial = value.serial;
                match self.dict.entry(key) {
                    Entry::Occupied(mut entry) => {
                        assert_eq!(entry.key(), &key);
                        assert_eq!(self.naive[&key].1, entry.get().payload);
                        if payload % 2 == 0 {
                            entry.get_mut().payload = payload;
                            self.naive.entry(key).and_modify(|own| own.1 = payload);
                        } else {
                            assert_eq!(entry.remove().payload, self.naive[&key].1);
                            let serial = self.naive.remove(&key).map(|own| own.0);
                            self.gone(serial.unwrap_or_default());
                        }
                    }
                    Entry::Vacant(entry) => {
                        entry.insert(value).payload ^= 1;
                        assert_eq!(self.naive.insert(key, (serial, payload ^ 1)), None);
                    }
                }
            }
            Op::InsertRange(key, count) => {
                for number in 0..u64::from(count) {
                    self.insert(key.wrapping_add(number), number as u32);
                }
            }
            Op::RemoveRange(key, count) => {
                for number in 0..u64::from(count) {
                    self.remove(key.wrapping_add(number));
                }
            }
            Op::Upsert(keys) => self.upsert(&keys),
            Op::Get(keys) => {
                let mut count = 0;
                self.dict.get_batch(&keys, |number, value| {
                    assert_eq!(number, count);
                    let own = self.naive.get(&keys[number]).map(|own| own.1);
                    assert_eq!(value.map(|value| value.payload), own);
                    count += 1;
                });
                assert_eq!(count, keys.len());
            }
            Op::Retain(modulus) => {
                let mut looked_at = 0;
                let before = self.naive.len();
                self.dict.retain(|key, _| {
                    looked_at += 1;
                    key % modulus != 0
                });
                assert_eq!(looked_at, before);
                self.retain_naive(|key| key % modulus != 0);
            }
            Op::OpenWalk => {
                if self.walks.len() < 8 {
                    self.walks.push(Promise {
                        due: self.naive.values().map(|own| own.0).collect(),
                        ..Promise::default()
                    });
                }
            }
            Op::StepWalk(walk) => self.step(walk, None),
            Op::RetainStep(walk, modulus) => self.step(walk, Some(modulus)),
            Op::Clone => {
                let clone = self.dict.clone();
                clone.check();
                // Walks go on in the clone.
                self.dict = clone;
            }
            Op::Clear => {
                self.dict.clear();
                assert_eq!(self.dict.allocated_bytes(), 0);
                self.retain_naive(|_| false);
            }
            Op::Drain(count) => {
                let taken: Vec<_> = self.dict.drain().take(count.into()).collect();
                assert_eq!(taken.len(), self.naive.len().min(count.into()));
                for (key, value) in taken {
                    assert_eq!(self.naive[&key].1, value.payload);
                }
                self.retain_naive(|_| false);
            }
        }
        assert_eq!(self.dict.len(), self.naive.len());
    }

    fn finish(mut self) {
        self.dict.check();
        for (key, (_, payload)) in &self.naive {
            assert_eq!(
                self.dict.get(key).map(|value| value.payload),
                Some(*payload)
            );
        }
        let mut all: Vec<_> = self
            .dict
            .iter()
            .map(|(key, value)| (*key, value.payload))
            .collect();
        all.sort_unstable();
        let own: Vec<_> = self.naive.iter().map(|(key, own)| (*key, own.1)).collect();
        assert_eq!(all, own);
        for value in self.dict.values_mut() {
            value.payload ^= 1;
        }
        for (key, (_, payload)) in &self.naive {
            assert_eq!(self.dict[key].payload, payload ^ 1);
        }
        while !self.walks.is_empty() {
            self.step(0, None);
        }
        assert_eq!(Rc::strong_count(&self.alive), 1 + self.naive.len());
        let half = self.naive.len() / 2;
        let taken: Vec<_> = self.dict.into_iter().take(half).collect();
        assert_eq!(taken.len(), half);
        drop(taken);
        assert_eq!(
            Rc::strong_count(&self.alive),
            1,
            "every value is dropped once"
        );
    }
}

proptest! {
    #![proptest_config(crate::cases(300))]

    #[test]
    fn a_dictionary_does_what_a_naive_map_does(
        quality in prop::sample::select(&QUALITIES[..]),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut world = World::new(quality);
        for op in ops {
            world.apply(op);
        }
        world.finish();
    }
}

/// The dictionary grows to 60,000 entries and shrinks again, through every size of chunk, with open walks.
#[test]
fn large_dictionaries_grow_and_shrink_under_walks() {
    let mut world = World::new(Quality::Fold);
    for key in 0..60_000 {
        world.insert(key, 1);
        if key % 3_000 == 0 {
            world.apply(Op::OpenWalk);
        }
        if key % 200 == 0 {
            world.step((key / 200) as usize % 8, None);
        }
    }
    world.dict.check();
    for key in 0..59_990 {
        world.remove(key);
        if key % 3_000 == 0 {
            world.apply(Op::OpenWalk);
        }
        if key % 500 == 0 {
            world.step((key / 500) as usize % 8, None);
        }
    }
    world.dict.check();
    world.finish();
}
