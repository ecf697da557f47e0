//! Entries with deadlines.

use std::collections::HashMap;

use proptest::prelude::*;
use weir_dict::{Expiring, Renewal};

proptest! {
    #![proptest_config(crate::cases(64))]

    #[test]
    fn entries_expire_at_their_deadline_and_reach_the_callback_once(
        renewal in prop::sample::select(&[Renewal::OnAccess, Renewal::OnInsertion][..]),
        lifetime in 1..300_u64,
        ops in prop::collection::vec((0..5_u8, 0..900_u32, 0..3_u64), 1..3_000),
    ) {
        let mut table = Expiring::new(lifetime, renewal);
        // The naive map has the value and the deadline of each key.
        let mut naive: HashMap<u32, (u64, u64)> = HashMap::new();
        let mut now = 0;
        for (serial, (action, key, pause)) in ops.into_iter().enumerate() {
            let serial = serial as u64;
            now += pause;
            match action {
                0 | 1 => {
                    let old = table.insert(key, serial, now);
                    let own = naive.insert(key, (serial, now + lifetime));
                    prop_assert_eq!(old, own.filter(|own| own.1 > now).map(|own| own.0));
                }
                2 => {
                    let found = table.get_mut(&key, now).copied();
                    let own = naive.get_mut(&key).filter(|own| own.1 > now);
                    prop_assert_eq!(found, own.as_ref().map(|own| own.0));
                    if let Some(own) = own
                        && renewal == Renewal::OnAccess
                    {
                        own.1 = now + lifetime;
                    }
                }
                3 => prop_assert_eq!(table.remove(&key), naive.remove(&key).map(|own| own.0)),
                _ => {
                    let mut expired = Vec::new();
                    let count = table.expire(now, 1, |key, value| expired.push((key, value)));
                    prop_assert_eq!(count, expired.len());
                    for (key, value) in expired {
                        let own = naive.remove(&key);
                        prop_assert!(own.is_some_and(|own| own.0 == value && own.1 <= now));
                    }
                }
            }
            prop_assert_eq!(table.len(), naive.len());
        }
        // Two rounds find all expired entries.
        let mut left = naive.values().filter(|own| own.1 <= now).count();
        left -= table.expire(now, 2 * (table.len() / 50 + 4), |_, _| ());
        prop_assert_eq!(left, 0);
        prop_assert_eq!(table.expire_all(now, |_, _| ()), 0);
        prop_assert_eq!(table.expire_all(u64::MAX, |_, _| ()), table.iter().len() + naive.values().filter(|own| own.1 > now).count());
        prop_assert!(table.is_empty());
    }
}

#[test]
fn a_deadline_of_its_own() {
    let mut table = Expiring::<u8, ()>::new(10, Renewal::OnInsertion);
    table.insert(1, (), 0);
    assert!(table.set_deadline(&1, 100));
    assert!(!table.set_deadline(&2, 100));
    assert!(table.get(&1, 99).is_some());
    assert!(table.get(&1, 100).is_none());
}
