//! Hashers, comparisons and clones that panic: nothing is lost, nothing is dropped twice.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;
use weir_dict::Dict;

thread_local! {
    /// Calls until the next panic; 0 never.
    static FUSE: Cell<u32> = const { Cell::new(0) };
}

fn burn() {
    FUSE.with(|fuse| {
        let left = fuse.get();
        fuse.set(left.saturating_sub(1));
        assert!(left != 1, "the fuse has burnt down");
    });
}

#[derive(Debug)]
struct Key(u64, Rc<()>);

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        burn();
        self.0.hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        burn();
        self.0 == other.0
    }
}

impl Eq for Key {}

impl Clone for Key {
    fn clone(&self) -> Self {
        burn();
        Self(self.0, self.1.clone())
    }
}

/// Runs `action` with a fuse of so many calls; true when it burnt down.
fn with_fuse(calls: u32, action: impl FnOnce()) -> bool {
    FUSE.with(|fuse| fuse.set(calls));
    let outcome = catch_unwind(AssertUnwindSafe(action));
    FUSE.with(|fuse| fuse.set(0));
    outcome.is_err()
}

proptest! {
    #![proptest_config(crate::cases(48))]

    #[test]
    fn a_panic_leaves_the_dictionary_whole(
        size in prop_oneof![0..20_u64, 200..300_u64, 1_000..3_000_u64],
        actions in prop::collection::vec((0..6_u8, 1..400_u32, any::<u64>()), 1..40),
    ) {
        let alive = Rc::new(());
        let mut dict: Dict<Key, u64> = (0..size).map(|key| (Key(key, alive.clone()), key)).collect();
        for (action, calls, seed) in actions {
            let before = dict.len();
            let key = seed % (size + 10);
            let new = size + 100 + seed % 1_000;
            let burnt = match action {
                0 => with_fuse(calls % 8, || {
                    dict.insert(Key(new, alive.clone()), new);
                }),
                1 => with_fuse(calls % 8, || {
                    dict.remove(&Key(key, alive.clone()));
                }),
                // Growing and splitting hash many keys.
                2 => with_fuse(calls, || {
                    for key in new..new + 100 {
                        dict.insert(Key(key, alive.clone()), key);
                    }
                }),
                3 => with_fuse(calls, || {
                    dict.retain(|key, _| key.0 % 3 != seed % 3);
                }),
                4 => with_fuse(calls, || {
                    let clone = dict.clone();
                    assert_eq!(clone.len(), before);
                }),
                _ => with_fuse(calls, || {
                    for key in key..key + 100 {
                        dict.remove(&Key(key, alive.clone()));
                    }
                }),
            };
            if burnt && action == 0 {
                prop_assert_eq!(dict.len(), before, "an insertion that panics does nothing");
            }
            if burnt && action == 1 {
                // The entry may be out already, when the hasher panics while the rest moves together.
                prop_assert!(dict.len() == before || dict.len() + 1 == before);
            }
            dict.check();
            for value in dict.values() {
                prop_assert_eq!(dict.get(&Key(*value, alive.clone())), Some(value));
            }
            prop_assert_eq!(Rc::strong_count(&alive), 1 + dict.len());
        }
        drop(dict);
        prop_assert_eq!(Rc::strong_count(&alive), 1);
    }
}
