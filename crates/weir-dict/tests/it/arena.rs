//! Many small dictionaries in an arena.

use std::collections::HashMap;
use std::rc::Rc;

use proptest::prelude::*;
use weir_dict::DictArena;

use crate::hashers::{QUALITIES, State};

proptest! {
    #![proptest_config(crate::cases(100))]

    #[test]
    fn an_arena_does_what_a_list_of_naive_maps_does(
        quality in prop::sample::select(&QUALITIES[..]),
        ops in prop::collection::vec((0..16_u8, 0..12_usize, 0..14_u64, 0..80_u64), 1..2_000),
    ) {
        let alive = Rc::new(());
        let mut arena = DictArena::with_hasher(State(quality));
        let mut naive = Vec::new();
        for serial in 0..12 {
            naive.push((arena.add(), HashMap::new()));
            prop_assert!(arena.is_empty(naive[serial].0));
        }
        for (action, at, near, far) in ops {
            let (id, map) = &mut naive[at];
            // Some dictionaries stay small, some become large.
            let key = if at < 8 { near } else { far };
            match action {
                0..8 => {
                    let old = arena.insert(*id, key, (far, alive.clone())).map(|value| value.0);
                    prop_assert_eq!(old, map.insert(key, far));
                }
                8..13 => {
                    let old = arena.remove(*id, &key).map(|value| value.0);
                    prop_assert_eq!(old, map.remove(&key));
                }
                13 if far == 0 => {
                    arena.remove_dict(*id);
                    *id = arena.add();
                    map.clear();
                }
                14 if far == 0 => {
                    arena.clear(*id);
                    map.clear();
                }
                _ => {
                    let value = arena.get_mut(*id, &key).map(|value| {
                        value.0 ^= 1;
                        value.0
                    });
                    let own = map.get_mut(&key).map(|own| {
                        *own ^= 1;
                        *own
                    });
                    prop_assert_eq!(value, own);
                }
            }
            prop_assert_eq!(arena.len(*id), map.len());
        }
        let mut total = 0;
        for (id, map) in &naive {
            let all: HashMap<u64, u64> = arena.iter(*id).map(|(key, value)| (*key, value.0)).collect();
            prop_assert_eq!(&all, map);
            prop_assert!(map.iter().all(|(key, own)| arena.get(*id, key).map(|value| value.0) == Some(*own)));
            total += map.len();
        }
        prop_assert_eq!(Rc::strong_count(&alive), 1 + total);
        drop(arena);
        prop_assert_eq!(Rc::strong_count(&alive), 1);
    }
}

#[test]
fn a_small_dictionary_costs_its_entries_and_four_bytes() {
    let mut arena = DictArena::<[u8; 8], u64>::new();
    for number in 0..100_000_u64 {
        let id = arena.add();
        if number % 2 == 0 {
            arena.insert(id, number.to_be_bytes(), number);
        }
    }
    let bytes = arena.allocated_bytes() as f64 / 100_000.0;
    assert!(bytes < 13.0, "{bytes} bytes a dictionary");
}

#[test]
fn values_without_a_size_need_no_pages() {
    let mut arena = DictArena::<(), ()>::new();
    let id = arena.add();
    assert_eq!(arena.insert(id, (), ()), None);
    assert_eq!(arena.insert(id, (), ()), Some(()));
    assert_eq!(arena.remove(id, &()), Some(()));
    assert!(arena.is_empty(id));
}

#[test]
#[should_panic(expected = "the dictionary is there")]
fn a_dictionary_that_was_removed_is_not_there() {
    let mut arena = DictArena::<u8, u8>::new();
    let id = arena.add();
    arena.remove_dict(id);
    let _ = arena.get(id, &1);
}
