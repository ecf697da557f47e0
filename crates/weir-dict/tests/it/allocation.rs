//! Memory is exhausted in the middle of an operation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use weir_dict::{AllocErrorKind, Dict, DictArena};

use crate::hashers::{QUALITIES, State};

thread_local! {
    /// The number of allocations until one fails; 0 when all succeed.
    static FAILS: Cell<u32> = const { Cell::new(0) };
}

/// The system's allocator, which fails where a test requires it. Making a block smaller succeeds, as it does
/// everywhere.
struct Failing;

fn fails() -> bool {
    FAILS
        .try_with(|fails| {
            let left = fails.get();
            fails.set(left.saturating_sub(1));
            left == 1
        })
        .unwrap_or(false)
}

#[allow(unsafe_code)]
// SAFETY: every request is passed to the system's allocator, or refused.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > layout.size() && fails() {
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

#[test]
fn an_insertion_without_memory_changes_nothing() {
    // Under Miri a test takes a thousand times as long.
    let most = if cfg!(miri) { 120 } else { 3_000_u64 };
    for quality in QUALITIES {
        let mut dict = Dict::with_hasher(State(quality));
        let mut failed = 0;
        for key in 0..most {
            let mut attempt = 1;
            loop {
                FAILS.with(|fails| fails.set(attempt));
                let outcome = dict.try_insert(key, key);
                FAILS.with(|fails| fails.set(0));
                match outcome {
                    Ok(old) => {
                        assert_eq!(old, None);
                        break;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), AllocErrorKind::Refused);
                        assert!(error.to_string().starts_with("no memory for "));
                        assert_eq!(dict.len() as u64, key);
                        assert_eq!(dict.get(&key), None);
                        failed += 1;
                        attempt += 1;
                    }
                }
            }
            if key % 250 < 3 && !cfg!(miri) {
                dict.check();
            }
        }
        assert!(failed > 20, "{failed} failures");
        dict.check();
        assert!((0..most).all(|key| dict.get(&key) == Some(&key)));
    }
}

/// Repeats until nothing fails; returns the number of failures.
fn until_it_works<T>(mut attempt: impl FnMut() -> Result<T, weir_dict::AllocError>) -> (T, u32) {
    let mut failed = 0;
    loop {
        FAILS.with(|fails| fails.set(failed + 1));
        let outcome = attempt();
        FAILS.with(|fails| fails.set(0));
        match outcome {
            Ok(done) => return (done, failed),
            Err(error) => {
                assert_eq!(error.kind(), AllocErrorKind::Refused);
                failed += 1;
            }
        }
    }
}

#[test]
fn a_reservation_without_memory_keeps_all_entries() {
    for quality in QUALITIES {
        for (size, more) in [(3, 20), (3, 100), (40, 100), (500, 3_000)] {
            let mut dict = Dict::with_hasher(State(quality));
            dict.extend((0..size).map(|key: u64| (key, key)));
            let ((), failed) = until_it_works(|| {
                let outcome = dict.try_reserve(more);
                dict.check();
                assert_eq!(dict.len() as u64, size);
                outcome
            });
            assert!(failed > 0);
            assert!((0..size).all(|key| dict.get(&key) == Some(&key)));
        }
    }
}

#[test]
fn an_arena_without_memory_keeps_all_entries() {
    let mut arena = DictArena::with_hasher(State(crate::hashers::Quality::Fold));
    let mut failed = 0;
    for number in 0..300_u64 {
        let (id, times) = until_it_works(|| arena.try_add());
        failed += times;
        for key in 0..number % 20 {
            let (old, times) = until_it_works(|| {
                let outcome = arena.try_insert(id, key, number);
                assert_eq!(arena.len(id) as u64, key + u64::from(outcome.is_ok()));
                outcome
            });
            assert_eq!(old, None);
            failed += times;
        }
        assert!((0..number % 20).all(|key| arena.get(id, &key) == Some(&number)));
    }
    assert!(failed > 50, "{failed} failures");
}

/// Returns the number of allocations that `work` makes.
fn allocations(work: impl FnOnce()) -> u32 {
    FAILS.with(|fails| fails.set(u32::MAX));
    work();
    u32::MAX - FAILS.with(|fails| fails.replace(0))
}

/// Lengths of blocks, and of a single segment. There are fewer under Miri, which takes a thousand times as long.
fn lengths() -> impl Iterator<Item = u64> {
    (1..=12).step_by(if cfg!(miri) { 4 } else { 1 })
}

#[test]
fn one_entry_more_and_one_less_by_turns_moves_no_block() {
    for quality in QUALITIES {
        for len in lengths() {
            let mut dict = Dict::with_hasher(State(quality));
            assert!(allocations(|| dict.extend((0..len).map(|key| (key, key)))) > 0);
            dict.insert(len, 0);
            let moved = allocations(|| {
                for turn in 0..if cfg!(miri) { 4 } else { 50 } {
                    assert!(dict.remove(&(turn % (len + 1))).is_some());
                    dict.check();
                    dict.insert(turn % (len + 1), turn);
                }
            });
            assert_eq!(moved, 0, "{len} entries");
            dict.check();
        }
    }
}

#[test]
fn a_removal_without_memory_for_a_smaller_block_keeps_the_rest() {
    for quality in QUALITIES {
        for len in lengths() {
            for first in 0..len {
                let mut dict = Dict::with_hasher(State(quality));
                dict.extend((0..len).map(|key| (key, Box::new(key))));
                for gone in 0..len {
                    let key = (first + gone) % len;
                    FAILS.with(|fails| fails.set(1));
                    let removed = dict.remove(&key);
                    FAILS.with(|fails| fails.set(0));
                    assert_eq!(removed, Some(Box::new(key)));
                    dict.check();
                    for key in 0..len {
                        let is_there = (key + len - first) % len > gone;
                        let value = is_there.then(|| Box::new(key));
                        assert_eq!(dict.get(&key), value.as_ref(), "{key} of {len}");
                    }
                }
                assert_eq!(dict.allocated_bytes(), 0);
            }
        }
    }
}
