//! Any bytes as a sequence of operations on a dictionary.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher};

use weir_dict::{Cursor, Dict, DictArena, DictId, FoldHasher, FoldState};

/// Operations of one input, at most: each may touch a few hundred entries.
const OPERATIONS_MAX: usize = 100;

/// Keeps some bits of a good hash, so that keys collide as often as the input wants.
#[derive(Clone)]
struct Masked(u64);

struct MaskedHasher(FoldHasher, u64);

impl BuildHasher for Masked {
    type Hasher = MaskedHasher;

    fn build_hasher(&self) -> MaskedHasher {
        let state = FoldState::new(0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3211);
        MaskedHasher(state.build_hasher(), self.0)
    }
}

impl Hasher for MaskedHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    fn finish(&self) -> u64 {
        self.0.finish() & self.1
    }
}

/// A walk, and what it still has to see and has seen: serial numbers of entries.
#[derive(Default)]
struct OpenWalk {
    cursor: Cursor,
    due: BTreeSet<u32>,
    seen: BTreeSet<u32>,
}

/// The first byte chooses the hasher; three bytes are an operation.
pub fn run(bytes: &[u8]) {
    let Some((mask, operations)) = bytes.split_first() else {
        return;
    };
    let mask = match mask % 4 {
        0 => u64::MAX,
        1 => u64::from(*mask) << 56,
        2 => 0xff,
        _ => 0,
    };
    arena(operations, mask);
    let mut dict = Dict::with_hasher(Masked(mask));
    let mut naive: BTreeMap<u16, u32> = BTreeMap::new();
    let mut open: Option<OpenWalk> = None;
    let mut serial = 0;
    for operation in operations.chunks_exact(3).take(OPERATIONS_MAX) {
        let key = u16::from_le_bytes([operation[1], operation[2]]) % 2_048;
        let count = u16::from(operation[0] >> 3) * 16;
        match operation[0] % 8 {
            0 => {
                for key in key..key + count + 1 {
                    serial += 1;
                    // A value that is replaced is another entry here, and a new one for walks.
                    assert_eq!(dict.insert(key, serial), naive.insert(key, serial));
                }
            }
            1 => {
                for key in key..key + count + 1 {
                    assert_eq!(dict.remove(&key), naive.remove(&key));
                }
            }
            2 => {
                let keys: Vec<u16> = (0..count + 1).map(|step| key ^ (step * 7)).collect();
                let mut results = Vec::new();
                let first = serial + 1;
                dict.upsert_batch(
                    &keys,
                    |number| first + number as u32,
                    |_, value| results.push(*value),
                );
                for (number, key) in keys.iter().enumerate() {
                    let own = *naive.entry(*key).or_insert(first + number as u32);
                    assert_eq!(results[number], own);
                }
                serial += keys.len() as u32;
            }
            3 => {
                let modulus = u32::from(operation[1] % 7) + 1;
                dict.retain(|_, value| *value % modulus != 0);
                naive.retain(|_, value| *value % modulus != 0);
            }
            4 if open.is_none() => {
                open = Some(OpenWalk {
                    due: naive.values().copied().collect(),
                    ..OpenWalk::default()
                });
            }
            4 | 5 => {
                if let Some(walk) = &mut open
                    && !step(walk, &dict)
                {
                    open = None;
                }
            }
            6 => match operation[0] >> 3 & 3 {
                0 | 1 => dict = dict.clone(),
                2 => dict.reserve(usize::from(key)),
                _ => dict.shrink_to_fit(),
            },
            _ => {
                let entry = dict.entry(key).or_insert(serial + 1);
                assert_eq!(entry, naive.entry(key).or_insert(serial + 1));
                serial += 1;
            }
        }
        if let Some(walk) = &mut open {
            let now: BTreeSet<u32> = naive.values().copied().collect();
            walk.due.retain(|serial| now.contains(serial));
        }
        assert_eq!(dict.len(), naive.len());
    }
    dict.check();
    while let Some(walk) = &mut open {
        if !step(walk, &dict) {
            open = None;
        }
    }
    for key in 0..4_096 {
        assert_eq!(dict.get(&key), naive.get(&key));
    }
    let all: BTreeMap<u16, u32> = dict.into_iter().collect();
    assert_eq!(all, naive);
}

/// The same bytes as operations on dictionaries of an arena.
fn arena(bytes: &[u8], mask: u64) {
    let mut arena = DictArena::with_hasher(Masked(mask));
    let mut naive: Vec<(DictId, BTreeMap<u8, u32>)> = Vec::new();
    for (serial, operation) in bytes.chunks_exact(3).take(OPERATIONS_MAX).enumerate() {
        let serial = serial as u32;
        if naive.is_empty() || operation[0] % 8 == 0 {
            naive.push((arena.add(), BTreeMap::new()));
        }
        let at = usize::from(operation[1]) % naive.len();
        let (id, own) = &mut naive[at];
        let keys = operation[2]..operation[2].saturating_add(operation[0] >> 4);
        match operation[0] % 8 {
            0..4 => {
                for key in keys {
                    assert_eq!(arena.insert(*id, key, serial), own.insert(key, serial));
                }
            }
            4 | 5 => {
                for key in keys {
                    assert_eq!(arena.remove(*id, &key), own.remove(&key));
                }
            }
            6 => {
                arena.clear(*id);
                own.clear();
            }
            _ => {
                arena.remove_dict(*id);
                naive.swap_remove(at);
            }
        }
    }
    for (id, own) in naive {
        let all: BTreeMap<u8, u32> = arena.iter(id).map(|(key, value)| (*key, *value)).collect();
        assert_eq!(all, own);
        assert_eq!(arena.len(id), own.len());
    }
}

/// One step of a walk; false at its end, where it has to have kept its promise.
fn step(walk: &mut OpenWalk, dict: &Dict<u16, u32, Masked>) -> bool {
    let Some(entries) = dict.walk(&mut walk.cursor) else {
        assert!(walk.due.is_subset(&walk.seen));
        return false;
    };
    for (_, value) in entries {
        assert!(walk.seen.insert(*value), "an entry is seen once");
    }
    true
}
