//! quick
use std::collections::HashMap;
use weir_dict::Dict;
#[test]
fn quick() {
    let mut dict = Dict::new();
    let mut naive = HashMap::new();
    let mut x = 1u64;
    for phase in 0..6 {
        for _ in 0..100_000 {
            x = x
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let k = (x >> 33) % 40_000;
            if (x >> 20) % 8 < if phase % 2 == 0 { 6 } else { 1 } {
                assert_eq!(dict.insert(k, x), naive.insert(k, x));
            } else {
                assert_eq!(dict.remove(&k), naive.remove(&k));
            }
            assert_eq!(dict.len(), naive.len());
            let k2 = (x >> 13) % 40_000;
            assert_eq!(dict.get(&k2), naive.get(&k2));
        }
        println!("{} {}", dict.len(), dict.allocated_bytes());
        assert_eq!(dict.iter().count(), naive.len());
        for (k, v) in &dict {
            assert_eq!(naive.get(k), Some(v));
        }
        let c = dict.clone();
        assert_eq!(c, dict);
        assert_eq!(c.into_iter().count(), naive.len());
    }
    dict.retain(|k, _| k % 100 == 0);
    naive.retain(|k, _| k % 100 == 0);
    assert_eq!(dict.len(), naive.len());
    println!("{} {}", dict.len(), dict.allocated_bytes());
    for (k, v) in &naive {
        assert_eq!(dict.get(k), Some(v));
    }
}
