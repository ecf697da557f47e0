//! Would the engine's groups be faster in weir-dict? The engine's own table, as it is in weir-tables, and
//! a dictionary: rows added to groups, one by one and 128 at a time. The engine's groups keep the order of
//! their first records, which a dictionary does not; "numbered" is a dictionary with what that needs: the
//! number of the group for its value, and the states in a list.
//!
//! ```text
//! cargo bench -p weir-dict --bench groups
//! ```
//!
//! Both take turns; the figures are processor time of the thread, median of nine rounds, nanoseconds a row.

#![allow(dead_code, unused_imports, unsafe_code, clippy::unwrap_used)]

#[path = "../../weir-tables/src/groups.rs"]
mod engine;
#[path = "dict/meter.rs"]
mod meter;

use std::hash::{Hash, Hasher};
use std::hint::black_box;

use engine::Groups;
use meter::{Random, cpu_ns};
use weir_dict::Dict;

const ROWS: usize = 1_000_000;
/// The number of rows that the engine adds together.
const BATCH: usize = 128;
const ROUNDS: usize = 9;

/// A key of whole words; without the length that an array hashes first.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
struct Key<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Hash for Key<WORDS> {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        for word in self.0 {
            state.write_u64(word);
        }
    }
}

/// Adds a row to the count and the sum of a state.
fn add(state: &mut [u64], row: u64) {
    state[0] += 1;
    state[1] += row;
}

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        // `cargo test --benches` only checks that the benchmark starts.
        return;
    }
    println!(
        "{:<40} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "ns a row", "engine", "dict", "ratio", "numbered", "ratio"
    );
    // The key is a port: the engine stores such groups at the place of their key, without hashing.
    let new = || Groups::of_bits(16, vec![0; 2]);
    run::<1>("16 bits", 65_536, new, |number, _| number);
    // The key is about two ports and an address: few bits that differ, at the upper end of each word.
    let words = |number: u64, word: usize| (number >> (8 * word)) << 32 | 443;
    for groups in [500, 150_000] {
        run::<1>("8 bytes", groups, || Groups::new(1, vec![0; 2]), words);
    }
    for groups in [500, 150_000] {
        run::<2>("16 bytes", groups, || Groups::new(2, vec![0; 2]), words);
    }
}

fn run<const WORDS: usize>(
    keys_are: &str,
    count: u64,
    new: impl Fn() -> Groups,
    word: impl Fn(u64, usize) -> u64,
) {
    let mut random = Random(WORDS as u64);
    let mut key = || {
        let number = random.below(count);
        Key(core::array::from_fn(|at| word(number, at)))
    };
    let mut keys: Vec<Key<WORDS>> = Vec::new();
    keys.resize_with(ROWS, &mut key);
    let words: Vec<u64> = keys.iter().flat_map(|key| key.0).collect();
    let names = [
        "building, one by one",
        "building, by 128",
        "all there, one by one",
        "all there, by 128",
    ];
    let mut times: [[Vec<f64>; 3]; 4] = Default::default();
    for _ in 0..ROUNDS {
        for batched in [false, true] {
            let mut groups = new();
            for pass in [0, 2] {
                let time = engine_pass::<WORDS>(&mut groups, &words, batched);
                times[pass + usize::from(batched)][0].push(time);
            }
            let mut dict = Dict::new();
            for pass in [0, 2] {
                let time = dict_pass(&mut dict, &keys, batched);
                times[pass + usize::from(batched)][1].push(time);
            }
            let mut numbered = Numbered::default();
            for pass in [0, 2] {
                let time = numbered_pass(&mut numbered, &keys, batched);
                times[pass + usize::from(batched)][2].push(time);
            }
            assert_eq!(groups.len(), dict.len());
            for key in keys.iter().take(1_000) {
                let (group, _) = groups.find_or_insert(&key.0);
                assert_eq!(groups.state(group), dict[key]);
                assert_eq!(groups.state(group), numbered.states[group]);
            }
        }
    }
    for (name, mut both) in names.into_iter().zip(times) {
        let [engine, dict, numbered] = both.each_mut().map(|times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 2]
        });
        let name = format!("{keys_are}, {count} groups, {name}");
        println!(
            "{name:<40} {engine:>8.1} {dict:>8.1} {:>8.2} {numbered:>8.1} {:>8.2}",
            dict / engine,
            numbered / engine
        );
    }
}

fn engine_pass<const WORDS: usize>(groups: &mut Groups, words: &[u64], batched: bool) -> f64 {
    let start = cpu_ns();
    let mut row = 0;
    if batched {
        let mut numbers = [0; BATCH];
        for words in words.chunks(BATCH * WORDS) {
            let numbers = &mut numbers[..words.len() / WORDS];
            groups.find_many(words, numbers);
            for number in numbers {
                add(groups.state_mut(*number as usize), row);
                row += 1;
            }
        }
    } else {
        let (keys, _) = words.as_chunks::<WORDS>();
        for key in keys {
            let (group, _) = groups.find_or_insert(key);
            add(groups.state_mut(group), row);
            row += 1;
        }
    }
    black_box(&groups);
    (cpu_ns() - start) as f64 / ROWS as f64
}

fn dict_pass<const WORDS: usize>(
    dict: &mut Dict<Key<WORDS>, [u64; 2]>,
    keys: &[Key<WORDS>],
    batched: bool,
) -> f64 {
    let start = cpu_ns();
    if batched {
        for (batch, keys) in keys.chunks(BATCH).enumerate() {
            let first = (batch * BATCH) as u64;
            dict.upsert_batch(keys, |_| [0; 2], |at, state| add(state, first + at as u64));
        }
    } else {
        for (row, key) in keys.iter().enumerate() {
            add(dict.entry(*key).or_default(), row as u64);
        }
    }
    black_box(&dict);
    (cpu_ns() - start) as f64 / ROWS as f64
}

/// Groups in the order of their first rows.
#[derive(Default)]
struct Numbered<const WORDS: usize> {
    numbers: Dict<Key<WORDS>, u32>,
    states: Vec<[u64; 2]>,
}

fn numbered_pass<const WORDS: usize>(
    groups: &mut Numbered<WORDS>,
    keys: &[Key<WORDS>],
    batched: bool,
) -> f64 {
    let start = cpu_ns();
    let Numbered { numbers, states } = groups;
    let mut row = 0;
    let mut found = [0; BATCH];
    for keys in keys.chunks(BATCH) {
        if batched {
            let make = |_| {
                states.push([0; 2]);
                states.len() as u32 - 1
            };
            numbers.upsert_batch(keys, make, |at, number| found[at] = *number);
        } else {
            for (key, found) in keys.iter().zip(&mut found) {
                *found = *numbers.entry(*key).or_insert_with(|| {
                    states.push([0; 2]);
                    states.len() as u32 - 1
                });
            }
        }
        for number in &found[..keys.len()] {
            add(&mut states[*number as usize], row);
            row += 1;
        }
    }
    black_box(&numbers);
    (cpu_ns() - start) as f64 / ROWS as f64
}
