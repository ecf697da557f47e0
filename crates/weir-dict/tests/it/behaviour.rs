//! Types of all sizes, borrowed keys, collections' traits, memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

use weir_dict::{Dict, FoldState};

use crate::hashers::{QUALITIES, State};

/// An entry is found in a block, a single segment, one of many, and where the first hashes of too many collide.
#[test]
fn values_of_tables_of_every_form_are_changed_in_their_place() {
    for quality in QUALITIES {
        for size in [0, 1, 2, 3, 8, 9, 53, 54, 400] {
            let mut dict = Dict::with_hasher(State(quality));
            dict.extend((0..size).map(|key| (key, key)));
            for key in 0..size {
                let value: &mut u64 = dict.get_mut(&key).expect("the key is there");
                assert_eq!(*value, key);
                *value += 1_000;
            }
            assert_eq!(dict.get_mut(&size), None);
            assert!(dict.iter().all(|(key, value)| *value == key + 1_000));
            dict.check();
        }
    }
}

/// Makes the same few thousand insertions and removals for any type of entry.
fn check<K: Hash + Eq + Clone + std::fmt::Debug, V: Clone + PartialEq + std::fmt::Debug>(
    key: impl Fn(u64) -> K,
    value: impl Fn(u64) -> V,
    keys: u64,
) {
    let mut dict = Dict::new();
    let mut naive = HashMap::new();
    for round in 0..3 * keys {
        let own = key(round * 7 % keys);
        assert_eq!(
            dict.insert(own.clone(), value(round)),
            naive.insert(own, value(round))
        );
        let gone = key(round * 5 % keys);
        if round % 3 == 0 {
            assert_eq!(dict.remove(&gone), naive.remove(&gone));
        }
        assert_eq!(dict.get(&gone), naive.get(&gone));
        assert_eq!(dict.len(), naive.len());
    }
    dict.check();
    assert_eq!(dict.clone(), dict);
    assert!(
        dict.iter()
            .all(|(key, value)| naive.get(key) == Some(value))
    );
    dict.retain(|_, _| false);
    assert!(dict.is_empty());
    assert_eq!(dict.allocated_bytes(), 0);
}

#[test]
fn entries_without_a_size() {
    check(|_| (), |_| (), 1);
    check(|key| key, |_| (), 1_000);
}

/// The tables are blocks of every room, a single segment and several, on the way up and down; few enough for Miri.
#[test]
fn entries_that_own_memory_in_tables_of_every_form() {
    for most in [1_u64, 2, 3, 4, 5, 8, 9, 20, 60, 100] {
        let mut dict = Dict::new();
        for key in 0..most {
            assert_eq!(dict.insert(key, Box::new(key)), None);
            assert_eq!(dict.insert(key, Box::new(key + 1)), Some(Box::new(key)));
            **dict.entry(key).or_default() += 1;
            assert_eq!(dict.get(&(key + 1)), None);
        }
        dict.check();
        let copy = dict.clone();
        // Removal begins in the middle, so that last entries move into gaps.
        for at in 0..most {
            let key = (at + most / 2) % most;
            assert_eq!(dict.remove(&key), Some(Box::new(key + 2)));
            assert_eq!(dict.remove(&key), None);
        }
        assert_eq!(dict.allocated_bytes(), 0);
        assert_eq!(copy.len() as u64, most);
        assert!(copy.iter().all(|(key, value)| **value == key + 2));
        let sum: u64 = copy.into_values().map(|value| *value).sum();
        assert_eq!(sum, most * (most - 1) / 2 + 2 * most);
    }
}

#[test]
fn huge_entries() {
    check(|key| key, |value| [value; 512], 400);
}

#[test]
fn entries_of_odd_alignment() {
    #[repr(align(64))]
    #[derive(Clone, Debug, PartialEq)]
    struct Aligned(u8);
    check(|key| key as u16, |value| Aligned(value as u8), 1_000);
    check(
        |key| [key as u8, (key >> 8) as u8, 0],
        |value| value as u8,
        1_000,
    );
    check(u128::from, |value| value as u8, 1_000);
}

#[test]
fn owning_entries_are_found_by_borrowed_keys() {
    check(|key| format!("key {key}"), |value| vec![value], 1_000);
    let mut dict: Dict<String, u32> = Dict::new();
    dict.insert("one".to_owned(), 1);
    assert_eq!(dict.get("one"), Some(&1));
    assert!(dict.contains_key("one"));
    assert_eq!(dict.remove_entry("one"), Some(("one".to_owned(), 1)));
    let texts = ["a", "b", "a"];
    dict.upsert_batch(texts, |number| number as u32, |_, value| *value += 10);
    assert_eq!(dict["a"], 20);
    assert_eq!(dict["b"], 11);
}

#[test]
fn collections_traits() {
    let dict: Dict<u8, u8> = Dict::from([(1, 2), (3, 4)]);
    assert_eq!(format!("{:?}", Dict::from([(1, 2)])), "{1: 2}");
    let mut other: Dict<u8, u8> = Dict::default();
    other.extend(&dict);
    assert_eq!(dict, other);
    other.extend([(1, 5)]);
    assert_ne!(dict, other);
    assert_eq!(dict.iter().len(), 2);
    assert_eq!(dict.keys().map(|key| u32::from(*key)).sum::<u32>(), 4);
    assert_eq!(dict.into_iter().count(), 2);
}

#[test]
fn a_dictionary_can_go_to_another_thread() {
    let dict: Dict<u64, String> = (0..1_000).map(|key| (key, key.to_string())).collect();
    let sum = std::thread::spawn(move || dict.values().map(String::len).sum::<usize>());
    assert_eq!(sum.join().unwrap(), 10 + 180 + 2_700);
}

/// An entry of 48 bytes takes at most 60 bytes, at every size from 1,000, as the documentation states.
#[test]
fn an_entry_of_48_bytes_costs_at_most_60() {
    let state = FoldState::new(0x1234_5678_9abc_def1, 0xfedc_ba98_7654_3211);
    let mut dict = Dict::with_hasher(state);
    for number in 0..300_000_u64 {
        let mut key = [0_u8; 38];
        key[..8].copy_from_slice(&number.to_be_bytes());
        dict.insert(key, number);
        if number % 97 == 0 && number >= 1_000 {
            let bytes = dict.allocated_bytes() as f64 / dict.len() as f64;
            assert!(bytes <= 60.0, "{bytes} bytes at {number}");
        }
    }
}

#[test]
fn mass_removal_gives_memory_back() {
    let mut dict: Dict<u64, u64> = (0..200_000).map(|key| (key, key)).collect();
    for left in [20_000, 2_000, 200, 20, 5, 1] {
        dict.retain(|key, _| *key < left);
        dict.check();
        let fresh: Dict<u64, u64> = (0..left).map(|key| (key, key)).collect();
        let (own, fresh) = (dict.allocated_bytes(), fresh.allocated_bytes());
        assert!(
            own * 2 <= fresh * 3,
            "{own} bytes, {fresh} when fresh, {left} left"
        );
    }
}

#[test]
fn hashes_given_in_advance_are_those_of_the_hasher() {
    let mut dict: Dict<[u8; 4], u32> = Dict::new();
    let keys: Vec<[u8; 4]> = (0..5_000_u32).map(u32::to_be_bytes).collect();
    let hashes: Vec<u64> = keys.iter().map(|key| dict.hash_of(key)).collect();
    let pairs = || keys.iter().zip(hashes.iter().copied());
    let outcome = dict.upsert_batch_hashed(pairs(), |number| number as u32, |_, _| ());
    assert_eq!(outcome, Ok(()));
    let mut found = 0;
    dict.get_batch_hashed(pairs(), |number, value| {
        assert_eq!(value, Some(&(number as u32)));
        found += 1;
    });
    assert_eq!(found, keys.len());
    assert!(keys.iter().all(|key| dict.contains_key(key)));
}

#[test]
fn an_empty_dictionary_is_a_word() {
    assert_eq!(size_of::<Dict<[u8; 38], u64>>(), size_of::<usize>());
    assert_eq!(Dict::<u8, u8>::new().allocated_bytes(), 0);
    let one = Dict::from([([0_u8; 38], 0_u64)]);
    assert_eq!(one.allocated_bytes(), 48);
    assert_ne!(one.hasher().hash_one(1), one.hasher().hash_one(2));
}

#[cfg(feature = "serde")]
#[test]
fn dictionaries_go_through_serde() {
    let dict: Dict<String, u32> = (0..500).map(|key| (key.to_string(), key)).collect();
    let text = serde_json::to_string(&dict).unwrap();
    assert_eq!(
        serde_json::from_str::<Dict<String, u32>>(&text).unwrap(),
        dict
    );
    assert!(serde_json::from_str::<Dict<String, u32>>("[]").is_err());
}

#[test]
fn what_was_reserved_is_grown_before_and_given_back_after() {
    for count in [5_u64, 9, 40, 54, 1_000, 30_000] {
        let mut dict: Dict<u64, u64> = (0..3).map(|key| (key, key)).collect();
        dict.reserve(count as usize);
        dict.check();
        let reserved = dict.allocated_bytes();
        for key in 3..count {
            dict.insert(key, key);
        }
        dict.check();
        let grown = dict.allocated_bytes();
        assert!(grown <= reserved * 3 / 2 + 100, "{grown} after {reserved}");
        dict.reserve(count as usize);
        dict.shrink_to_fit();
        dict.check();
        let bytes = dict.allocated_bytes();
        // The directory has two segments where a single one would have sufficed.
        assert!(bytes <= grown + 250, "{bytes} bytes of {grown}");
        assert!((0..count).all(|key| dict.get(&key) == Some(&key)));
        assert_eq!(Dict::<u64, ()>::with_capacity(10).len(), 0);
    }
    assert!(Dict::<u64, u64>::new().try_reserve(usize::MAX / 2).is_err());
}

#[test]
fn keys_and_values_by_value() {
    let dict: Dict<String, Vec<u32>> = (0..300).map(|key| (key.to_string(), vec![key])).collect();
    let mut keys: Vec<u32> = dict
        .clone()
        .into_keys()
        .map(|key| key.parse().unwrap())
        .collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(0..300));
    assert_eq!(dict.clone().into_values().len(), 300);
    assert_eq!(
        dict.into_values().map(|value| value[0]).sum::<u32>(),
        300 * 299 / 2
    );
}
