//! Tests of SQL over captures: `.slt` files of statements and answers, filters that the scan decides against the same filters
//! left to DataFusion, and the guide's queries.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

mod changed;
mod cookbook;
mod copy;
mod distinct;
mod duckdb;
mod filters;
mod first_hour;
mod fused;
mod giving_away;
mod guide;
mod live;
mod numbers;
mod parts;
mod samples;
mod secrets;
mod shared;
mod slt;
mod star;
mod windows;

/// A test for each file of `tests/slt`.
macro_rules! slt_files {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                slt::check(stringify!($name));
            }
        )*

        #[test]
        fn every_file_is_run() {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slt");
            for entry in std::fs::read_dir(folder).unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                let run = [$(stringify!($name)),*];
                assert!(run.iter().any(|run| name == format!("{run}.slt")), "{name} is not run");
            }
        }
    };
}

slt_files!(
    addresses,
    copy,
    damage,
    errors,
    explain,
    flows,
    functions,
    honoured,
    joins,
    names,
    numbers,
    order,
    packed,
    payload,
    pipes,
    prepared,
    records,
    references,
    sets,
    top_k,
    views,
    vocabulary,
    windows,
    meanings,
    moving,
    window_joins,
    zones,
);
