//! The cost of an operation, in instructions and in time, beside hashbrown and the seed's clustered table.
//!
//! ```text
//! cargo build -p weir-dict --example cost --profile profiling
//! target/profiling/examples/cost all weir,hashbrown,clustered 2,10,100
//! valgrind --tool=callgrind --toggle-collect='*measured*' target/profiling/examples/cost insert weir 10
//! ```
//!
//! Operations are `insert`, `remove`, `hit` and `miss`. As in the benchmark `sizes`, there are many tables of one size,
//! which are filled one after the other and emptied in the order of their keys. Tables take turns, and the time is the
//! shortest of 31 rounds, which a busy machine spoils least. With one operation, one table and one size there is one
//! round, of as many operations as are printed; only they are in the function `measured`.

#![allow(unsafe_code, dead_code)]

#[path = "../benches/dict/clustered.rs"]
mod clustered;
#[path = "../benches/dict/maps.rs"]
mod maps;
#[path = "../benches/dict/meter.rs"]
mod meter;

use std::hint::black_box;

use maps::{Fixed, Key, Map, Weir};
use meter::{Random, cpu_ns, key};

/// The approximate number of operations of a round.
const OPERATIONS: usize = 100_000;
const NAMES: [&str; 4] = ["insert", "remove", "hit", "miss"];
type Hashbrown = hashbrown::HashMap<Key, u64, Fixed>;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [operation, tables, sizes] = arguments.as_slice() else {
        eprintln!("usage: cost all|insert|remove|hit|miss TABLE[,TABLE…] ENTRIES[,ENTRIES…]");
        std::process::exit(2);
    };
    let tables: Vec<&str> = tables.split(',').collect();
    let sizes: Vec<usize> = sizes
        .split(',')
        .filter_map(|size| size.parse().ok())
        .filter(|size| *size > 0)
        .collect();
    let is_one = operation != "all" && tables.len() == 1 && sizes.len() == 1;
    for size in sizes {
        let mut best = vec![[f64::INFINITY; NAMES.len()]; tables.len()];
        for _ in 0..if is_one { 1 } else { 31 } {
            for (table, best) in tables.iter().zip(&mut best) {
                let figures = match *table {
                    "weir" => round::<Weir>(operation, size),
                    "clustered" => round::<clustered::Clustered>(operation, size),
                    _ => round::<Hashbrown>(operation, size),
                };
                for (best, figure) in best.iter_mut().zip(figures) {
                    *best = best.min(figure);
                }
            }
        }
        for (table, best) in tables.iter().zip(best) {
            print!("{size:>8} {table:<10}");
            for (name, best) in NAMES.iter().zip(best) {
                if best.is_finite() {
                    print!(" {name} {best:.1} ns");
                }
            }
            println!(", {} operations", (OPERATIONS / size).max(1) * size);
        }
    }
}

/// Returns the nanoseconds of each measured operation, in the order of [`NAMES`].
fn round<M: Map>(operation: &str, size: usize) -> [f64; NAMES.len()] {
    let keys: Vec<Key> = (0..size as u64).map(key).collect();
    let count = (OPERATIONS / size).max(1);
    let mut maps: Vec<M> = (0..count).map(|_| M::new()).collect();
    NAMES.map(|name| {
        let is_selected = operation == name || operation == "all";
        let operations = count * size;
        let ns = match name {
            "insert" => time(is_selected, || {
                for map in &mut maps {
                    for (value, key) in keys.iter().enumerate() {
                        map.insert(key, value as u64);
                    }
                }
            }),
            "remove" => {
                // Removal empties other tables of the same entries, because searches use the first ones.
                let mut full: Vec<M> = (0..count).map(|_| M::new()).collect();
                for map in &mut full {
                    for (value, key) in keys.iter().enumerate() {
                        map.insert(key, value as u64);
                    }
                }
                time(is_selected, || {
                    for map in &mut full {
                        for key in &keys {
                            black_box(map.remove(key));
                        }
                    }
                })
            }
            _ => {
                let from = if name == "miss" { size as u64 } else { 0 };
                let mut random = Random(size as u64);
                let queries: Vec<Key> = (0..operations)
                    .map(|_| key(from + random.below(size as u64)))
                    .collect();
                time(is_selected, || {
                    let mut sum = 0_u64;
                    for (part, map) in queries.chunks(size).zip(maps.iter().cycle()) {
                        for key in part {
                            sum = sum.wrapping_add(map.get(key).unwrap_or(1));
                        }
                    }
                    black_box(sum);
                })
            }
        };
        if is_selected {
            ns / operations as f64
        } else {
            f64::INFINITY
        }
    })
}

fn time(is_selected: bool, work: impl FnOnce()) -> f64 {
    if is_selected {
        measured(work)
    } else {
        work();
        0.0
    }
}

#[inline(never)]
fn measured(work: impl FnOnce()) -> f64 {
    let start = cpu_ns();
    work();
    (cpu_ns() - start) as f64
}
