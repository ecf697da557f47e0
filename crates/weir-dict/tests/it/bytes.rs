//! Byte strings as keys.

use std::collections::BTreeMap;

use proptest::prelude::*;
use weir_dict::BytesDict;

use crate::hashers::{QUALITIES, State};

proptest! {
    #![proptest_config(crate::cases(64))]

    #[test]
    fn byte_strings_do_what_a_naive_map_does(
        quality in prop::sample::select(&QUALITIES[..]),
        ops in prop::collection::vec((0..9_u8, 0..700_u32, any::<u32>()), 1..1_500),
    ) {
        let mut dict = BytesDict::with_hasher(State(quality));
        let mut naive = BTreeMap::new();
        let key = |number: u32| {
            let mut key = number.to_string().into_bytes();
            key.resize(if number.is_multiple_of(97) { 1_500 } else { number as usize % 50 }, b'-');
            key.extend(number.to_le_bytes());
            if number == 5 { Vec::new() } else { key }
        };
        for (action, number, value) in ops {
            let key = key(number);
            match action {
                0..4 => prop_assert_eq!(dict.insert(&key, value), naive.insert(key, value)),
                4..6 => prop_assert_eq!(dict.remove(&key), naive.remove(&key)),
                6 => {
                    let keys: Vec<Vec<u8>> = (number..number + 60).map(|n| [&key[..], &n.to_le_bytes()].concat()).collect();
                    let hashed: Vec<_> = keys.iter().map(|key| (&key[..], dict.hash_of(key))).collect();
                    let mut order = Vec::new();
                    dict.upsert_batch_hashed(hashed, |n| n as u32, |n, value| { order.push(n); *value ^= 1; }).unwrap();
                    prop_assert!(order.into_iter().eq(0..60));
                    for (n, key) in keys.into_iter().enumerate() {
                        *naive.entry(key).or_insert(n as u32) ^= 1;
                    }
                }
                7 if number % 16 == 0 => {
                    dict.retain(|key, value| !(key.len() as u32 + *value).is_multiple_of(3));
                    naive.retain(|key, value| !(key.len() as u32 + *value).is_multiple_of(3));
                }
                _ => {
                    prop_assert_eq!(dict.get(&key), naive.get(&key));
                    prop_assert_eq!(dict.get_mut(&key), naive.get_mut(&key));
                }
            }
            prop_assert_eq!(dict.len(), naive.len());
        }
        let clone = dict.clone();
        let all: BTreeMap<Vec<u8>, u32> = clone.iter().map(|(key, value)| (key.to_vec(), *value)).collect();
        prop_assert_eq!(&all, &naive);
        dict.retain(|_, _| false);
        prop_assert_eq!(dict.allocated_bytes(), 0);
    }
}
