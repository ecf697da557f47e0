//! Keys chosen to collide.

use weir_dict::Dict;

use crate::hashers::{Quality, State};

/// Colliding keys are found, and memory stays in proportion.
#[test]
fn colliding_keys_are_kept_and_found_in_bounded_memory() {
    for quality in [Quality::Constant, Quality::Sixteen] {
        let mut dict = Dict::with_hasher(State(quality));
        for key in 0..20_000_u64 {
            assert_eq!(dict.insert(key, key), None);
        }
        dict.check();
        let bytes = dict.allocated_bytes() as f64 / 20_000.0;
        assert!(bytes < 32.0, "{bytes} bytes an entry of 16");
        for key in 0..20_000 {
            assert_eq!(dict.get(&key), Some(&key));
            assert_eq!(dict.get(&(key + 20_000)), None);
        }
        for key in 0..20_000 {
            assert_eq!(dict.remove(&key), Some(key));
        }
        assert_eq!(dict.allocated_bytes(), 0);
    }
}

/// Keys that no hash function could distinguish are compared one by one, as in a list.
#[test]
fn keys_that_hash_nothing_are_kept_in_a_list() {
    #[derive(PartialEq, Eq, Clone, Debug)]
    struct Silent(u32);
    impl std::hash::Hash for Silent {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }
    let mut dict: Dict<Silent, u32> = (0..1_500).map(|key| (Silent(key), key)).collect();
    dict.check();
    for key in 0..1_500 {
        assert_eq!(dict.get(&Silent(key)), Some(&key));
    }
    assert_eq!(dict.get(&Silent(1_500)), None);
    assert_eq!(dict.clone(), dict);
    let mut cursor = weir_dict::Cursor::START;
    let mut seen = vec![0; 1_500];
    while let Some(entries) = dict.walk(&mut cursor) {
        for (_, value) in entries {
            seen[*value as usize] += 1;
        }
        let gone = dict.len() as u32 - 1;
        dict.remove(&Silent(gone));
        seen[gone as usize] = 1;
    }
    assert!(seen.iter().all(|times| *times == 1));
    dict.retain(|_, value| *value % 2 == 0);
    dict.check();
    assert!(dict.values().all(|value| value % 2 == 0));
}
