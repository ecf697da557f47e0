//! The cost of a dictionary, beside hashbrown, indexmap, griddle, the standard library's and the
//! seed's two?
//!
//! ```text
//! cargo bench -p weir-dict --bench dict                     # everything, five to ten minutes
//! cargo bench -p weir-dict --bench dict -- 1000000          # up to a million entries
//! cargo bench -p weir-dict --bench dict -- sizes 100000     # one part of it
//! ```
//!
//! The parts: `sizes`, `small` (the 770,463 dictionaries), `growth` (the longest insertions, iteration,
//! shrinking), `walk` (insertion under an open walk), `flood` (colliding hashes).
//!
//! All use the same keyed hash function on 38-byte keys with 8-byte values, take turns, and are measured
//! in processor time of the thread; the figures are medians of five rounds, and above a million entries,
//! where filling takes the time, of three passes of searches over one table. Lines that begin with `@` are
//! for `cargo xtask bench dict`. absl and boost take part where their headers and a C++ compiler are
//! installed, each table of theirs in a process of its own: see `peers.cpp`.

#![allow(unsafe_code, clippy::unwrap_used)]

mod chained;
mod clustered;
mod maps;
mod meter;
mod peers;

use std::hash::Hash;
use std::hint::black_box;
use std::time::Instant;

use maps::{Fixed, Key, Map, Weir};
use meter::{Counting, Random, bytes, cpu_ns, key};
use peers::Peer;
use weir_dict::{Cursor, Dict, DictArena};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SIZES: [usize; 9] = [
    1, 10, 100, 1_000, 10_000, 100_000, 147_695, 1_000_000, 10_000_000,
];

/// The figures of one table, in the order of [`COLUMNS`].
type Figures = Vec<f64>;

const COLUMNS: [(&str, &str); 7] = [
    ("insert", "ns"),
    ("hit", "ns"),
    ("miss", "ns"),
    ("batch hit", "ns"),
    ("batch miss", "ns"),
    ("remove", "ns"),
    ("memory", "bytes/entry"),
];

macro_rules! for_all {
    ($function:ident($($argument:expr),*)) => {
        [
            ("weir", $function::<Weir>($($argument),*)),
            ("hashbrown", $function::<hashbrown::HashMap<Key, u64, Fixed>>($($argument),*)),
            ("indexmap", $function::<indexmap::IndexMap<Key, u64, Fixed>>($($argument),*)),
            ("griddle", $function::<griddle::HashMap<Key, u64, Fixed>>($($argument),*)),
            ("std", $function::<std::collections::HashMap<Key, u64, Fixed>>($($argument),*)),
            ("chained", $function::<chained::Chained>($($argument),*)),
            ("clustered", $function::<clustered::Clustered>($($argument),*)),
        ]
    };
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--test") {
        // `cargo test --benches` only checks that the benchmark starts.
        return;
    }
    let max = arguments.iter().find_map(|argument| argument.parse().ok());
    let max: usize = max.unwrap_or(10_000_000);
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let parts: Vec<&str> = PARTS
        .into_iter()
        .filter(|part| words.contains(part))
        .collect();
    let peers = peers::compile();
    for part in PARTS {
        if !parts.is_empty() && !parts.contains(&part) {
            continue;
        }
        let start = Instant::now();
        match part {
            "sizes" => sizes(max, &peers),
            "small" => many_small(&peers),
            "growth" => growth(max.min(10_000_000), &peers),
            "walk" => open_walk(max.min(1_000_000)),
            _ => flood(),
        }
        eprintln!("({part}: {} s)", start.elapsed().as_secs());
    }
}

const PARTS: [&str; 5] = ["sizes", "small", "growth", "walk", "flood"];

/// The seed's tables.
fn sizes(max: usize, peers: &[Peer]) {
    for size in SIZES.into_iter().filter(|size| *size <= max) {
        let keys: Vec<Key> = (0..size as u64).map(key).collect();
        let rounds = if size > MANY { 1 } else { 5 };
        let mut all: Vec<(&str, Vec<Figures>)> = Vec::new();
        for round in 0..rounds {
            for (at, (name, figures)) in for_all!(by_size(&keys)).into_iter().enumerate() {
                if round == 0 {
                    all.push((name, Vec::new()));
                }
                all[at].1.push(figures);
            }
        }
        let all: Vec<(&str, Figures)> = all
            .into_iter()
            .map(|(name, rounds)| (name, medians(&rounds)))
            .chain(peers.iter().map(|peer| (peer.name, peer.by_size(size))))
            .collect();
        table(&format!("{size} entries"), &COLUMNS, &all);
    }
}

/// The number of entries above which there is one round.
const MANY: usize = 1_000_000;

fn medians(rounds: &[Figures]) -> Figures {
    (0..rounds[0].len())
        .map(|column| {
            let mut values: Vec<f64> = rounds.iter().map(|figures| figures[column]).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
        .collect()
}

/// Prints figures beside ours, and our ratio to each peer for `cargo xtask bench`.
fn table(title: &str, columns: &[(&str, &str)], all: &[(&str, Figures)]) {
    println!("\n{title}");
    print!("{:<12}", "");
    for (column, unit) in columns {
        print!(" {:>22}", format!("{column} ({unit})"));
    }
    println!();
    let ours = &all[0].1;
    for (name, figures) in all {
        print!("{name:<12}");
        for (own, figure) in ours.iter().zip(figures) {
            // A figure is NaN when the peer cannot do the operation.
            let text = if figure.is_nan() {
                "-".to_owned()
            } else {
                format!("{figure:.1} ({:.2}x)", figure / own)
            };
            print!(" {text:>22}");
        }
        println!();
    }
    for (name, figures) in &all[1..] {
        for ((column, unit), (own, figure)) in columns.iter().zip(ours.iter().zip(figures)) {
            if !figure.is_nan() {
                println!("@{title}, {column}\t{own}\t{figure}\t{name}\t{unit}");
            }
        }
    }
}

/// The seed's table: many dictionaries of one size, none destroyed before the end.
fn by_size<M: Map>(keys: &[Key]) -> Figures {
    let size = keys.len();
    let count = (100_000 / size).max(1);
    let before = bytes();
    let mut maps: Vec<M> = Vec::with_capacity(count);
    let handles = bytes() - before;
    let mut figures = Vec::new();
    let per = |start: u64, operations: usize| (cpu_ns() - start) as f64 / operations as f64;

    let start = cpu_ns();
    for _ in 0..count {
        let mut map = M::new();
        for (value, key) in keys.iter().enumerate() {
            map.insert(key, value as u64);
        }
        maps.push(map);
    }
    figures.push(per(start, count * size));
    let memory = (bytes() - before - handles) as f64 / (count * size) as f64
        + size_of::<M>() as f64 / size as f64;

    let mut random = Random(size as u64);
    let passes: Vec<Figures> = (0..if size > MANY { 3 } else { 1 })
        .map(|_| searches(&maps, size, &mut random))
        .collect();
    figures.extend(medians(&passes));
    let start = cpu_ns();
    for map in &mut maps {
        for key in keys {
            black_box(map.remove(key));
        }
    }
    figures.push(per(start, count * size));
    figures.push(memory);
    figures
}

/// Measures hits and misses one by one, then many at a time: nanoseconds a search.
fn searches<M: Map>(maps: &[M], size: usize, random: &mut Random) -> Figures {
    let lookups = 400_000;
    let mut queries = |from: u64| -> Vec<Key> {
        (0..lookups)
            .map(|_| key(from + random.below(size as u64)))
            .collect()
    };
    let both = [queries(0), queries(size as u64)];
    let mut figures = Vec::new();
    // A dictionary is searched for all of its keys before the next one.
    let turn = size.min(lookups);
    for queries in &both {
        let start = cpu_ns();
        let mut sum = 0_u64;
        for (part, map) in queries.chunks(turn).zip(maps.iter().cycle()) {
            for key in part {
                sum = sum.wrapping_add(map.get(key).unwrap_or(1));
            }
        }
        black_box(sum);
        figures.push((cpu_ns() - start) as f64 / lookups as f64);
    }
    for queries in &both {
        let start = cpu_ns();
        let mut sum = 0_u64;
        for (part, map) in queries.chunks(turn).zip(maps.iter().cycle()) {
            sum = sum.wrapping_add(map.get_many(part));
        }
        black_box(sum);
        figures.push((cpu_ns() - start) as f64 / lookups as f64);
    }
    figures
}

/// The sizes of the 770,463 dictionaries of the seed's largest trace; "8 and more" is taken as 20.
const SMALL: [(usize, usize); 9] = [
    (0, 424_433),
    (1, 303_966),
    (2, 31_444),
    (3, 8_227),
    (4, 775),
    (5, 957),
    (6, 319),
    (7, 27),
    (20, 315),
];

fn many_small(peers: &[Peer]) {
    let columns = [("memory", "MB"), ("random hit", "ns"), ("build", "ns")];
    let mut sizes: Vec<usize> = Vec::new();
    for (size, count) in SMALL {
        sizes.extend(std::iter::repeat_n(size, count));
    }
    let mut random = Random(3);
    for at in (1..sizes.len()).rev() {
        sizes.swap(at, random.below(at as u64 + 1) as usize);
    }
    let mut all = for_all!(build_usual(&sizes)).to_vec();
    all.push(("weir arena", build_arena(&sizes, key)));
    all.extend(peers.iter().map(|peer| (peer.name, peer.small(38))));
    table("770,463 dictionaries", &columns, &all);

    type Eight = [u8; 8];
    let mut all = vec![
        (
            "weir",
            build_small::<_, Dict<Eight, u64, Fixed>>(&sizes, eight),
        ),
        (
            "hashbrown",
            build_small::<_, hashbrown::HashMap<Eight, u64, Fixed>>(&sizes, eight),
        ),
        (
            "indexmap",
            build_small::<_, indexmap::IndexMap<Eight, u64, Fixed>>(&sizes, eight),
        ),
        (
            "griddle",
            build_small::<_, griddle::HashMap<Eight, u64, Fixed>>(&sizes, eight),
        ),
        (
            "std",
            build_small::<_, std::collections::HashMap<Eight, u64, Fixed>>(&sizes, eight),
        ),
        ("weir arena", build_arena(&sizes, eight)),
    ];
    all.extend(peers.iter().map(|peer| (peer.name, peer.small(8))));
    table("770,463 dictionaries, 8-byte keys", &columns, &all);
}

fn eight(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()
}

/// Builds the small dictionaries with the keys of the other measurements.
fn build_usual<M: Map>(sizes: &[usize]) -> Figures {
    build_small::<Key, M>(sizes, key)
}

fn build_small<K, M: Map<K>>(sizes: &[usize], key: fn(u64) -> K) -> Figures {
    let before = bytes();
    let mut maps: Vec<M> = Vec::with_capacity(sizes.len());
    let start = cpu_ns();
    let mut number = 0;
    for size in sizes {
        let mut map = M::new();
        for _ in 0..*size {
            map.insert(&key(number), number);
            number += 1;
        }
        maps.push(map);
    }
    let build = (cpu_ns() - start) as f64 / sizes.len() as f64;
    let memory = (bytes() - before) as f64 / 1e6;
    let hit = search_small(sizes, key, |at, key| maps[at].get(key));
    vec![memory, hit, build]
}

/// Builds the same dictionaries in one arena.
fn build_arena<K: Copy + Hash + Eq>(sizes: &[usize], key: fn(u64) -> K) -> Figures {
    let before = bytes();
    let start = cpu_ns();
    let mut arena = DictArena::<K, u64, Fixed>::default();
    let mut ids = Vec::with_capacity(sizes.len());
    let mut number = 0;
    for size in sizes {
        let id = arena.add();
        for _ in 0..*size {
            arena.insert(id, key(number), number);
            number += 1;
        }
        ids.push(id);
    }
    let build = (cpu_ns() - start) as f64 / sizes.len() as f64;
    // The numbers of dictionaries count as memory, like the handles of the others.
    let memory = (bytes() - before) as f64 / 1e6;
    let hit = search_small(sizes, key, |at, key| arena.get(ids[at], key).copied());
    vec![memory, hit, build]
}

/// Measures a million searches for the first key of a dictionary chosen at random.
fn search_small<K>(
    sizes: &[usize],
    key: fn(u64) -> K,
    get: impl Fn(usize, &K) -> Option<u64>,
) -> f64 {
    let mut random = Random(4);
    let mut firsts = Vec::new();
    let mut number = 0;
    for (at, size) in sizes.iter().enumerate() {
        if *size > 0 {
            firsts.push((at, number));
        }
        number += *size as u64;
    }
    let queries: Vec<(usize, K)> = (0..1_000_000)
        .map(|_| firsts[random.below(firsts.len() as u64) as usize])
        .map(|(at, number)| (at, key(number)))
        .collect();
    let start = cpu_ns();
    let sum = queries.iter().fold(0_u64, |sum, (at, key)| {
        sum.wrapping_add(get(*at, key).unwrap_or(1))
    });
    black_box(sum);
    (cpu_ns() - start) as f64 / queries.len() as f64
}

/// Measures the longest insertions while a dictionary grows, each the shortest of its three repetitions, so that other
/// work of the machine does not count; iteration over the last of these dictionaries, and its memory and speed after
/// all but one in a hundred entries were removed.
fn growth(size: usize, peers: &[Peer]) {
    let columns = [
        ("worst", "us"),
        ("p99.99", "us"),
        ("p99", "us"),
        ("iterate", "ns/entry"),
        ("iterate after removal", "ns/entry"),
        ("memory after removal", "bytes/entry"),
    ];
    let mut all = for_all!(grow_and_shrink(size)).to_vec();
    all.extend(peers.iter().map(|peer| {
        let mut figures = peer.worst(size);
        figures.extend(peer.iterate(size));
        (peer.name, figures)
    }));
    let part = |range: std::ops::Range<usize>| -> Vec<(&str, Figures)> {
        let figures = all.iter();
        figures
            .map(|(name, figures)| (*name, figures[range.clone()].to_vec()))
            .collect()
    };
    let title = format!("insertions up to {size}");
    table(&title, &columns[..3], &part(0..3));
    table(
        &format!("iteration over {size}"),
        &columns[3..],
        &part(3..6),
    );
}

fn grow_and_shrink<M: Map>(size: usize) -> Figures {
    let mut times = vec![u32::MAX; size];
    let before = bytes();
    let mut map = M::new();
    for _ in 0..3 {
        map = M::new();
        let mut last = Instant::now();
        for (number, time) in times.iter_mut().enumerate() {
            map.insert(&key(number as u64), number as u64);
            let now = Instant::now();
            let spent = u32::try_from((now - last).as_nanos()).unwrap_or(u32::MAX);
            *time = spent.min(*time);
            last = now;
        }
    }
    times.sort_unstable();
    let mut figures = [1.0, 0.9999, 0.99]
        .map(|part| f64::from(times[((size - 1) as f64 * part) as usize]) / 1_000.0)
        .to_vec();

    let time = |map: &M, entries: usize| {
        let rounds = (2_000_000 / entries).max(1);
        let start = cpu_ns();
        for _ in 0..rounds {
            black_box(map.sum());
        }
        (cpu_ns() - start) as f64 / (rounds * entries) as f64
    };
    figures.push(time(&map, size));
    for number in 0..size as u64 {
        if number % 100 != 0 {
            map.remove(&key(number));
        }
    }
    let left = size.div_ceil(100);
    figures.push(time(&map, left));
    figures.push((bytes() - before) as f64 / left as f64);
    figures
}

/// Measures the cost of an open walk for an insertion; weir-dict alone.
fn open_walk(size: usize) {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..10 {
        let is_open = round % 2 == 1;
        let mut dict = Weir::default();
        let mut cursor = Cursor::START;
        let mut walking = 0;
        let start = cpu_ns();
        for number in 0..size as u64 {
            dict.insert(key(number), number);
            if is_open && number % 10_000 == 0 {
                let step = cpu_ns();
                match dict.walk(&mut cursor) {
                    Some(entries) => {
                        black_box(entries.count());
                    }
                    None => cursor = Cursor::START,
                }
                walking += cpu_ns() - step;
            }
        }
        times[usize::from(is_open)].push(vec![(cpu_ns() - start - walking) as f64 / size as f64]);
    }
    let [without, with] = times.map(|rounds| medians(&rounds)[0]);
    println!("\ninsertion into {size}: {without:.1} ns, under an open walk {with:.1} ns");
    println!("@insertion under an open walk, {size}\t{with}\t{without}\tweir without\tns");
}

/// Measures the speed when all first hashes collide; weir-dict alone.
fn flood() {
    #[derive(Clone, Copy, Default)]
    struct Constant;
    struct Zero;
    impl std::hash::BuildHasher for Constant {
        type Hasher = Zero;
        fn build_hasher(&self) -> Zero {
            Zero
        }
    }
    impl std::hash::Hasher for Zero {
        fn write(&mut self, _: &[u8]) {}
        fn finish(&self) -> u64 {
            0
        }
    }
    let keys: Vec<Key> = (0..100_000).map(key).collect();
    let mut flooded = Dict::<Key, u64, Constant>::default();
    let mut dict = Weir::default();
    let before = bytes();
    let start = cpu_ns();
    for key in &keys {
        flooded.insert(*key, 0);
    }
    let insert = (cpu_ns() - start) as f64 / keys.len() as f64;
    let memory = (bytes() - before) as f64 / keys.len() as f64;
    let start = cpu_ns();
    for key in &keys {
        black_box(flooded.get(key));
    }
    let hit = (cpu_ns() - start) as f64 / keys.len() as f64;
    let start = cpu_ns();
    for key in &keys {
        dict.insert(*key, 0);
    }
    let own_insert = (cpu_ns() - start) as f64 / keys.len() as f64;
    let start = cpu_ns();
    for key in &keys {
        black_box(dict.get(key));
    }
    let own_hit = (cpu_ns() - start) as f64 / keys.len() as f64;
    println!(
        "\n100000 keys of one hash: insert {insert:.0} ns, hit {hit:.0} ns, {memory:.1} bytes an entry; \
         with the usual hash: insert {own_insert:.0} ns, hit {own_hit:.0} ns"
    );
    println!("@100000 keys of one hash, insert\t{insert}\t{own_insert}\tweir without\tns");
    println!("@100000 keys of one hash, hit\t{hit}\t{own_hit}\tweir without\tns");
}
