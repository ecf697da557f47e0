//! Hashers, comparisons and clones that panic: nothing is lost, nothing is dropped twice.

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use proptest::prelude::*;
use weir_dict::{Dict, DictArena};

thread_local! {
    /// The number of calls until the next panic; 0 for never.
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

/// Runs `action` with a fuse of `calls` calls; returns true when it panicked.
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
        actions in prop::collection::vec((0..7_u8, 1..400_u32, any::<u64>()), 1..40),
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
                5 => with_fuse(calls, || {
                    // Some keys are present, some come twice.
                    let keys: Vec<_> = (key..key + 40).chain(new..new + 20).chain(new..new + 20).collect();
                    let keys: Vec<_> = keys.into_iter().map(|key| Key(key, alive.clone())).collect();
                    dict.upsert_batch(&keys, |number| keys[number].0, |number, value| {
                        assert_eq!(*value, keys[number].0);
                    });
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
                // The entry may be out already, when the hasher panics while the rest is merged.
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

/// A dictionary of an arena hashes its keys for the first time when it outgrows its block. A hasher that
/// panics there loses that dictionary's entries; it drops none twice, and the others stay.
#[test]
fn a_panic_while_a_dictionary_of_an_arena_grows_drops_nothing_twice() {
    let alive = Rc::new(());
    for calls in 0..60 {
        let mut arena = DictArena::<Key, u64>::new();
        let (id, other) = (arena.add(), arena.add());
        for key in 0..8 {
            arena.insert(id, Key(key, alive.clone()), key);
            arena.insert(other, Key(key, alive.clone()), key);
        }
        let burnt = with_fuse(calls, || {
            arena.insert(id, Key(8, alive.clone()), 8);
        });
        let left = arena.len(id);
        assert!(left == 9 || (burnt && (left == 8 || left == 0)), "{left}");
        assert_eq!(arena.len(other), 8);
        for key in 0..8 {
            assert_eq!(arena.get(other, &Key(key, alive.clone())), Some(&key));
        }
        for key in 0..20 {
            arena.insert(id, Key(key, alive.clone()), key);
        }
        assert_eq!(arena.len(id), 20);
        assert!(Rc::strong_count(&alive) > 28);
        // An entry that a panic has lost is never dropped.
        drop(arena);
        assert!((1..=9).contains(&Rc::strong_count(&alive)));
        while Rc::strong_count(&alive) > 1 {
            // SAFETY: one count for each key that was lost above.
            #[allow(unsafe_code)]
            unsafe {
                Rc::decrement_strong_count(Rc::as_ptr(&alive));
            }
        }
    }
}

thread_local! {
    /// True while values panic when they are dropped.
    static BRITTLE: Cell<bool> = const { Cell::new(false) };
}

struct Brittle(Rc<()>);

impl Drop for Brittle {
    fn drop(&mut self) {
        assert!(
            !BRITTLE.with(|brittle| brittle.replace(false)),
            "a value breaks"
        );
    }
}

#[test]
fn a_value_that_panics_when_it_is_dropped_is_dropped_once() {
    let alive = Rc::new(());
    for size in [1, 8, 30, 500] {
        let mut dict: Dict<u64, Brittle> = Dict::new();
        for key in 0..size {
            dict.insert(key, Brittle(alive.clone()));
        }
        BRITTLE.with(|brittle| brittle.set(true));
        let outcome = catch_unwind(AssertUnwindSafe(|| drop(dict)));
        assert!(outcome.is_err());
        assert_eq!(
            Rc::strong_count(&alive),
            1,
            "the others are dropped all the same"
        );
        BRITTLE.with(|brittle| brittle.set(false));
        let mut dict = Dict::from([(1, Brittle(alive.clone()))]);
        BRITTLE.with(|brittle| brittle.set(true));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            drop(dict.insert(1, Brittle(alive.clone())));
        }));
        assert!(outcome.is_err());
        assert_eq!(dict.len(), 1);
        assert!(
            dict.get(&1)
                .is_some_and(|value| Rc::ptr_eq(&value.0, &alive))
        );
    }
}
